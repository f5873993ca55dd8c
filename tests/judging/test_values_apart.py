"""Tables published apart, read as anybody may have changed them: answered with what is wrong, never believed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal import Schema
from shoal.errors import SchemaError
from shoal.models import Model
from tests.masking.patients import ONE_RECORD, patients

MODELS: list[Model] = [shoal.JointDiversity(l=3), shoal.HAffiliation(h=0.6), shoal.PersonKAnonymity(k=4)]
Tables = dict[str, pl.DataFrame]


@pytest.fixture(scope="module", params=[1, 3], ids=["one record each", "several records"])
def release(request: pytest.FixtureRequest) -> shoal.Release:
    return shoal.protect(patients(most_records=request.param), ONE_RECORD, MODELS, mask="anatomize")


def verified(
    release: shoal.Release,
    *,
    frame: pl.DataFrame | None = None,
    tables: Tables | None = None,
    linked: pl.DataFrame | None = None,
    schema: Schema = ONE_RECORD,
    models: Sequence[Model] = MODELS,
) -> Any:
    """What verify answers of the release with some of its tables exchanged."""
    published = release.published
    return shoal.verify(
        release.data if frame is None else frame,
        schema,
        models,
        tables={**published.tables, **(tables or {})},
        linked=published.linked if linked is None else linked,
    )


def test_an_unchanged_release_holds(release: shoal.Release) -> None:
    answer = verified(release)
    assert answer.holds
    assert answer.verdict == release.verdict
    assert answer.risk.groups == release.risk.groups


def person_column(table: pl.DataFrame) -> str:
    return "count" if "count" in table.columns else "persons"


def one_more(table: pl.DataFrame, by: int) -> pl.DataFrame:
    """The count of the first row changed by so many."""
    counts = [name for name in ("count", "persons", "records") if name in table.columns]
    return table.with_columns(pl.when(pl.int_range(pl.len()) == 0).then(pl.col(counts) + by).otherwise(pl.col(counts)))


CHANGES: dict[str, tuple[Callable[[pl.DataFrame], pl.DataFrame], str]] = {
    "a group is missing": (lambda t: t.filter(pl.col("group") != 1), "does not count every person"),
    "no rows": (lambda t: t.head(0), "does not count every person"),
    "a group that nobody has": (
        lambda t: pl.concat([t, t.head(1).with_columns(group=pl.lit(10**6, t["group"].dtype))]),
        "1 rows of the sensitive table of 'disease' name a group that has no persons",
    ),
    "a row without a group": (
        lambda t: t.with_columns(group=pl.when(pl.int_range(pl.len()) > 0).then("group")),
        "name a group that has no persons",
    ),
    "a count is too large": (lambda t: one_more(t, 1000), "counts that cannot be"),
    "a count of nobody": (lambda t: one_more(t, -1000), "counts that cannot be"),
    "a count is missing": (
        lambda t: t.with_columns(pl.when(pl.int_range(pl.len()) > 0).then(person_column(t)).alias(person_column(t))),
        "counts that cannot be",
    ),
    "counts are texts": (
        lambda t: t.with_columns(pl.lit("many").alias(person_column(t))),
        "counts that cannot be",
    ),
    "counts are parts": (
        lambda t: t.with_columns((pl.col(person_column(t)) + 0.5).alias(person_column(t))),
        "counts that cannot be",
    ),
    "groups are texts": (lambda t: t.with_columns(group=pl.lit("first")), "name a group that has no persons"),
    "a value twice": (lambda t: pl.concat([t, t.head(1)]), "count a value once more"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changed_sensitive_tables_do_not_hold(release: shoal.Release, change: str) -> None:
    tamper, told = CHANGES[change]
    answer = verified(release, tables={"disease": tamper(release.published.tables["disease"])})
    assert not answer.holds
    assert any(told in problem for problem in answer.problems), answer.problems
    assert not any("disease 1" in problem for problem in answer.problems), "a value was told"


def test_a_count_too_small_does_not_hold(release: shoal.Release) -> None:
    table = release.published.tables["disease"]
    of_several = table.filter(pl.col(person_column(table)) > 1)
    assert len(of_several)
    changed = pl.concat([one_more(of_several, -1), table.filter(pl.col(person_column(table)) == 1)])
    assert not verified(release, tables={"disease": changed}).holds


def test_a_value_split_into_two_rows_does_not_look_rarer() -> None:
    """Two rows of half the persons each would halve the risk of the commonest value."""
    frame = pl.DataFrame({"age": [30, 31, 32, 33], "disease": ["a", "a", "a", "b"], "treatment": list("wxyz")})
    schema = Schema(quasi=["age"], sensitive=["disease", "treatment"])
    models: list[Model] = [shoal.HAffiliation(h=0.75)]
    release = shoal.protect(frame, schema, models, mask="anatomize")
    table = release.published.tables["disease"]
    halves = [{"group": 1, "disease": "a", "count": 1}, {"group": 1, "disease": "a", "count": 2}]
    split = pl.concat([table.filter(pl.col("disease") == "b"), pl.DataFrame(halves, schema=table.schema)])
    answer = shoal.verify(release.data, schema, models, tables={**release.published.tables, "disease": split})
    assert not answer.holds
    assert answer.risk.max_gsar["disease"] == 0.75


def test_the_quasi_identifier_table_must_fit_too(release: shoal.Release) -> None:
    shorter = verified(release, frame=release.data.slice(1))
    assert not shorter.holds
    torn = release.data.with_columns(group=pl.when(pl.int_range(pl.len()) > 0).then("group"))
    answer = verified(release, frame=torn)
    assert not answer.holds
    assert "1 rows of the quasi-identifier table have no group." in answer.problems


def test_what_stands_beside_the_quasi_identifiers_is_a_problem(release: shoal.Release) -> None:
    for name in ("disease", "patient", "phone", "row_number"):
        answer = verified(release, frame=release.data.with_columns(pl.lit("x").alias(name)))
        assert not answer.holds
        assert any(f"'{name}' is published" in problem for problem in answer.problems)


def test_a_table_of_another_attribute_is_a_problem(release: shoal.Release) -> None:
    phones = release.published.tables["disease"].rename({"disease": "phone"})
    answer = verified(release, tables={"phone": phones})
    assert not answer.holds
    assert any("table of 'phone' is published" in problem for problem in answer.problems)


def test_tables_that_are_none_are_refused(release: shoal.Release) -> None:
    table = release.published.tables["disease"]
    with pytest.raises(SchemaError, match="must have the columns"):
        verified(release, tables={"disease": table.with_columns(patient=pl.lit("x"))})
    with pytest.raises(SchemaError, match="lacks the column 'group'"):
        verified(release, frame=release.data.drop("group"))
    with pytest.raises(SchemaError, match="no single values"):
        verified(release, tables={"disease": table.with_columns(disease=pl.concat_list("disease"))})
    with pytest.raises(SchemaError, match="lacks the sensitive table of: treatment"):
        shoal.verify(release.data, ONE_RECORD, MODELS, tables={"disease": table})


def test_what_the_steward_keeps_must_be_what_was_published(release: shoal.Release) -> None:
    """Else a release could be proved with the values of another one."""
    linked = release.published.linked
    assert linked is not None
    by_steward = [model for model in release.verdict.models if model.checked_from == "steward"]
    assert [model.name for model in by_steward] == ["joint-diversity"]
    others = {
        "lacks the columns: member": linked.drop("member"),
        "without group or person": linked.with_columns(member=pl.lit(None, pl.Int64)),
        "other groups than were published": linked.slice(len(linked) // 2),
        "of 'disease' is not what was published": linked.with_columns(disease=pl.lit("disease 1")),
    }
    for told, other in others.items():
        answer = verified(release, linked=other)
        assert not answer.holds
        assert any(told in problem for problem in answer.problems), told
        assert answer.verdict.models[0].checked_from == "not shown by the published table"


def test_without_the_steward_joint_diversity_is_bounded_or_not_shown() -> None:
    """Eight values each once: no two values have the eight persons, so three are needed however they are joined."""
    frame = pl.DataFrame({"age": range(8), "disease": list("abcdefgh"), "treatment": list("stuvstuv")})
    schema = Schema(quasi=["age"], sensitive=["disease", "treatment"])
    models: list[Model] = [shoal.PersonKAnonymity(k=8), shoal.JointDiversity(l=4)]
    release = shoal.protect(frame, schema, models, mask="anatomize")
    assert release.verdict.models[1].checked_from == "published table, by a bound"
    alone = shoal.verify(release.data, schema, models, tables=release.published.tables)
    assert alone.verdict == release.verdict
    pairs = frame.with_columns(disease=pl.Series(list("aabbccdd")))
    release = shoal.protect(pairs, schema, models, mask="anatomize")
    assert release.verdict.models[1].checked_from == "published table, by a bound"
    rare = frame.with_columns(disease=pl.Series(list("aaaaabcd")), treatment=pl.Series(list("stuvwwww")))
    models = [shoal.PersonKAnonymity(k=8), shoal.JointDiversity(l=3)]
    with pytest.raises(shoal.errors.CannotSatisfyError, match="reach 2"):  # a and w delete all eight
        shoal.protect(rare, schema, models, mask="anatomize")
    alike = rare.with_columns(treatment=pl.Series(list("wwwwstuv")))
    release = shoal.protect(alike, schema, models, mask="anatomize")
    assert release.verdict.models[1].checked_from == "steward"
    alone = shoal.verify(release.data, schema, models, tables=release.published.tables)
    assert not alone.holds
    assert alone.verdict.models[1].checked_from == "not shown by the published table"


@settings(max_examples=40)
@given(data=st.data())
def test_whatever_the_tables_hold_is_answered(data: st.DataObject) -> None:
    """Rows by chance: answered, and never said to hold unless they count every person of every group."""
    n_persons = data.draw(st.integers(1, 6))
    group = st.one_of(st.integers(1, 3), st.none())
    row = st.tuples(group, st.sampled_from(["a", "b", None]), st.one_of(st.integers(-1, 3), st.none()))
    frame = pl.DataFrame(
        {"age": range(n_persons), "group": data.draw(st.lists(group, min_size=n_persons, max_size=n_persons))},
        schema_overrides={"group": pl.Int64},
    )
    rows = data.draw(st.lists(row, max_size=6))
    table = pl.DataFrame(rows, schema={"group": pl.Int64, "disease": pl.String, "count": pl.Int64}, orient="row")
    schema = Schema(quasi=["age"], sensitive=["disease"])
    answer = shoal.verify(frame, schema, [shoal.LDiversity(l=1), shoal.JointDiversity(l=1)], tables={"disease": table})
    persons_of_group = {number: frame["group"].to_list().count(number) for number in frame["group"]}
    counted: dict[Any, int] = dict.fromkeys(persons_of_group, 0)
    is_right = None not in persons_of_group and len({(g, v) for g, v, _ in rows}) == len(rows)
    for number, _, count in rows:
        is_right = is_right and number in counted and (count or 0) >= 1
        counted[number] = counted.get(number, 0) + (count or 0)
    assert answer.holds == (is_right and counted == persons_of_group)


def test_caps_that_do_not_fit_are_answered(release: shoal.Release) -> None:
    for caps, told in (({"drug": 1}, "'drug'"), ({"disease": 0, "treatment": 0}, "cap of 0 on every")):
        model = shoal.JointDiversity(l=2, caps=caps)
        for answer in (
            verified(release, models=[model]),
            shoal.verify(release.data, ONE_RECORD, [model], tables=release.published.tables),
        ):
            assert not answer.holds
            assert not answer.verdict.models[0].holds
            assert any(told in problem for problem in answer.problems)


def test_persons_with_several_values_are_answered_by_exponential_l() -> None:
    frame = patients(most_records=3)
    answer = shoal.assess(frame, ONE_RECORD, [shoal.ExponentialL(l=1)])
    assert not answer.holds
    assert any("one record per person" in problem for problem in answer.problems)


def test_a_schema_without_the_attributes_is_answered() -> None:
    schema = replace(ONE_RECORD, sensitive=[], dropped=["phone", "disease", "treatment"])
    answer = shoal.assess(patients(), schema, [shoal.JointDiversity(l=2)])
    assert not answer.holds
