"""Who is alone in their group by what else leaves: counted, said, and refused where too many are."""

from __future__ import annotations

import datetime as dt
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.judging.alone import Alone, AloneLimit, together
from shoal.judging.verdict import Verdict
from tests.naive import measures as naive

MODELS = [shoal.PersonKAnonymity(k=2)]
SCHEMA = shoal.Schema(
    person="who", quasi=[shoal.Nominal("q")], sensitive=["disease"], kept=["site", "ward"], time="visit"
)

one_record = st.fixed_dictionaries(
    {
        "who": st.sampled_from(["A", "B", "C", "D", "E"]),
        "q": st.sampled_from(["x", "y"]),
        "disease": st.sampled_from(["flu", "gout", None]),
        "site": st.sampled_from([0.0, -0.0, 1.5, None]),
        "ward": st.sampled_from(["north", "south"]),
        "visit": st.integers(1, 3),
    }
)


def frame_of(records: list[dict[str, Any]]) -> pl.DataFrame:
    types = {"who": pl.String, "q": pl.String, "disease": pl.String, "site": pl.Float64, "ward": pl.String}
    return pl.DataFrame(records, schema={**types, "visit": pl.Int64})


def badges(n: int = 40, **columns: Any) -> pl.DataFrame:
    """One record per person in groups of ten; nobody is alone by the disease."""
    return pl.DataFrame({"who": range(n), "q": [f"g{i // 10}" for i in range(n)], "disease": ["flu", "gout"] * (n // 2),
                         **columns})  # fmt: skip


def schema_of(**roles: Any) -> shoal.Schema:
    return shoal.Schema(**{"person": "who", "quasi": [shoal.Nominal("q")], "sensitive": ["disease"], **roles})


# --- counting ---------------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(st.lists(one_record, min_size=1, max_size=25))
def test_a_release_is_counted_as_defined(records: list[dict[str, Any]]) -> None:
    roles = {"sensitive": ("disease",), "kept": ("site", "ward"), "time": "visit"}
    answer = shoal.verify(frame_of(records), SCHEMA, MODELS)
    assert answer.risk.alone_by == naive.alone_by(records, ["q"], person="who", **roles)
    assert shoal.assess(frame_of(records), SCHEMA).risk.alone_by == answer.risk.alone_by
    rows = shoal.Schema(quasi=[shoal.Nominal("q")], sensitive=["disease"], kept=["site", "ward"], dropped=["who"],
                        time="visit")  # fmt: skip
    by_row = shoal.verify(frame_of(records).drop("who"), rows, MODELS)
    assert by_row.risk.alone_by == naive.alone_by(records, ["q"], **roles)


def test_by_hand() -> None:
    """In group x: A has two records, B and C one each; only C has gout, only A is in ward 2."""
    records = pl.DataFrame(
        {"who": ["A", "A", "B", "C"], "q": ["x"] * 4, "disease": ["flu", "flu", "flu", "gout"], "ward": [1, 2, 1, 1]}
    )
    alone = shoal.verify(records, schema_of(kept=["ward"]), MODELS).risk.alone_by
    assert alone == {"kept": 1, "count": 1, "disease": 1}


def test_shifted_dates_count_from_a_persons_first_day_on() -> None:
    day = dt.date(2024, 5, 1)
    frame = badges(20).with_columns(seen=pl.Series([day + dt.timedelta(days=i) for i in range(20)]))
    twice = pl.concat([frame, frame.with_columns(pl.col("seen") + pl.duration(days=7))])
    schema = schema_of(time="seen", time_as="shift")
    release = shoal.protect(twice, schema, [shoal.PersonKAnonymity(k=5)])
    assert release.risk.alone_by["time"] == 0  # everybody comes again after a week
    other = twice.with_row_index().with_columns(seen=pl.when(index=20).then(day + dt.timedelta(days=3))
                                                 .otherwise("seen"))  # fmt: skip
    assert shoal.protect(other.drop("index"), schema, [shoal.PersonKAnonymity(k=5)]).risk.alone_by["time"] == 1
    assert release.before is not None
    assert release.before.alone_by["time"] == 20  # of dates as they are


def test_the_sequence_of_the_longest_tells() -> None:
    frame = pl.DataFrame({"who": [*"AABBCCC"], "q": ["x"] * 7, "disease": ["flu"] * 7, "seen": [1, 2, 1, 5, 1, 2, 3]})
    release = shoal.protect(frame, schema_of(time="seen"), MODELS)
    assert release.risk.alone_by == {"count": 1, "disease": 0, "time": 1}


@pytest.mark.parametrize("mask", ["anatomize", "permute"])
def test_groups_of_values_published_apart_are_those_of_their_column(mask: str) -> None:
    frame = badges(40, ward=["a"] * 39 + ["b"], age=range(40)).with_columns(
        disease=pl.Series(["ulcer"] + ["flu", "gout"] * 19 + ["flu"])
    )
    schema = schema_of(quasi=["age"], kept=["ward"], dropped=["q"])
    models = [shoal.PersonKAnonymity(k=8)]
    release = shoal.protect(frame, schema, models, mask=mask)
    assert release.risk.alone_by["kept"] == 1
    assert release.risk.alone_by["disease"] >= 1
    assert "count" not in release.risk.alone_by
    rows = [*release.published.frame.to_dicts()]
    if mask == "permute":
        assert release.risk.alone_by == naive.alone_by(rows, ["group"], sensitive=("disease",), kept=("ward",))
    again = shoal.verify(release.data, schema, models, mask=mask, tables=release.tables)
    assert again.risk.alone_by == release.risk.alone_by


def test_an_anatomized_table_of_several_records_gives_a_bound() -> None:
    frame = pl.DataFrame({"who": [*"AABB"], "age": [1, 1, 2, 2], "disease": ["flu", "gout", "ulcer", "asthma"]})
    release = shoal.protect(frame, shoal.Schema(person="who", quasi=["age"], sensitive=["disease"]),
                            [shoal.PersonKAnonymity(k=2)], mask="anatomize")  # fmt: skip
    assert release.risk.alone_by == {"disease": 2}  # of four values that one person has
    assert "at most 2 by 'disease'" in release.verdict.notes[-1]


def test_where_no_groups_are_visible_the_whole_table_is_the_crowd() -> None:
    frame = badges(40, age=range(40), ward=["a", "b"] * 20).with_columns(disease=pl.Series(["ulcer"] + ["flu"] * 39))
    schema = schema_of(quasi=["age"], kept=["ward"], dropped=["q"])
    release = shoal.protect(frame, schema, [shoal.PersonKAnonymity(k=4)], mask="perturb", seed=1)
    assert release.risk.alone_by == {"kept": 0, "count": 0, "disease": 1}
    assert "alone in the whole table, which shows no groups, by" in release.verdict.notes[-1]


def test_records_are_counted_where_nobody_sees_whose_they_are() -> None:
    frame = pl.concat([badges(20), badges(20)]).with_columns(ward=pl.Series([*range(3), *[9] * 37]))
    release = shoal.protect(frame, schema_of(kept=["ward"], person_ids="none"), MODELS, allow_alone=True)
    assert release.risk.alone_by == {"kept": 3, "disease": 0}
    assert "Of 40 records some are alone in their group by what else leaves: 3 by" in release.verdict.notes[-1]


def test_a_sensitive_column_called_as_one_of_our_keys_has_a_key_of_its_own() -> None:
    frame = badges(20, count=range(20))
    release = shoal.protect(frame, schema_of(sensitive=["disease", "count"]), MODELS)
    assert release.risk.alone_by == {"count": 0, "disease": 0, "sensitive count": 20}


# --- saying it --------------------------------------------------------------------------------------------------------


def test_a_sensitive_column_that_is_unique_to_everybody_is_said() -> None:
    release = shoal.protect(badges(40, ssn=range(40)), schema_of(sensitive=["disease", "ssn"]), MODELS)
    assert release.risk.alone_by["ssn"] == 40
    assert release.verdict.notes == (
        "Of 40 persons some are alone in their group by what else leaves: 40 by 'ssn'. Whoever knows that of a person "
        "finds them.",
    )
    assert release.to_dict()["alone_by"] == {"count": 0, "disease": 0, "ssn": 40}


def test_where_nobody_is_alone_nothing_is_said() -> None:
    assert shoal.protect(badges(40), schema_of(), MODELS).verdict.notes == ()


# --- the gate ---------------------------------------------------------------------------------------------------------


def two_columns() -> pl.DataFrame:
    """Neither column is anybody's own, and together they are everybody's, but for a row of ten of the four groups."""
    return badges(40, day=[i % 5 for i in range(40)], month=[i % 10 // 5 for i in range(40)])


def test_two_kept_columns_that_single_out_together_are_refused() -> None:
    schema = schema_of(kept=["day", "month"])
    with pytest.raises(shoal.errors.PrivacyNotMetError) as refusal:
        shoal.protect(two_columns(), schema, MODELS)
    said = str(refusal.value)
    assert said.startswith("40 of 40 persons (100.0%) are alone in their group by the kept columns 'day', 'month' ")
    assert "(most by 'day' alone: 0): whoever knows these of a person finds them." in said
    assert "Drop or coarsen what singles out, name it as quasi-identifier, or allow it (allow_alone)." in said
    assert said.endswith("Nothing was written.")
    release = shoal.protect(two_columns(), schema, MODELS, allow_alone=True)
    assert release.risk.alone_by["kept"] == 40
    assert not shoal.verify(release.data, schema, MODELS).holds
    assert shoal.verify(release.data, schema, MODELS, allow_alone=True).holds


@pytest.mark.parametrize(("n_own", "is_refused"), [(2, False), (3, True)])
def test_one_in_twenty_may_be_alone_by_kept_columns(n_own: int, is_refused: bool) -> None:
    frame = badges(40, ward=[*range(1, n_own + 1), *[0] * (40 - n_own)])
    schema = schema_of(kept=["ward"])
    if not is_refused:
        assert shoal.protect(frame, schema, MODELS).risk.alone_by["kept"] == n_own
        return
    with pytest.raises(
        shoal.errors.PrivacyNotMetError, match=r"3 of 40 persons \(7.5%\) .* by the kept column 'ward': who"
    ):
        shoal.protect(frame, schema, MODELS)


def test_nobody_need_be_alone_by_anything() -> None:
    frame = badges(40, ssn=range(40))
    schema = schema_of(sensitive=["disease", "ssn"])
    assert shoal.protect(frame, schema, MODELS, max_alone=40).risk.alone_by["ssn"] == 40
    with pytest.raises(
        shoal.errors.PrivacyNotMetError, match=r"40 of 40 persons .* by 'ssn'; at most 39 may be \(max_alone\)"
    ):
        shoal.protect(frame, schema, MODELS, max_alone=39)
    published = shoal.protect(frame, schema, MODELS).data
    assert shoal.verify(published, schema, MODELS, max_alone=40).holds
    assert shoal.verify(published, schema, MODELS, max_alone=39).problems


def test_a_limit_that_is_none_is_refused() -> None:
    for wrong in (-1, 0.5, True, "3"):
        with pytest.raises(shoal.errors.ParameterError, match="max_alone"):
            AloneLimit(max_alone=wrong)  # type: ignore[arg-type]
    with pytest.raises(shoal.errors.ParameterError, match="allow_alone"):
        AloneLimit(allow_alone="yes")  # type: ignore[arg-type]


def test_parts_of_a_table_are_one_table() -> None:
    parts = [Alone({"kept": 1}, 30, {"a": 1, "b": 0}), Alone({"kept": 2}, 30, {"a": 0, "b": 2})]
    assert together(parts) == Alone({"kept": 3}, 60, {"a": 1, "b": 2})
    limit = AloneLimit(max_alone=2)
    judged = limit.judged(Verdict((), 1), together(parts), schema_of(kept=["a", "b"]))
    assert not judged.holds
    (said,) = judged.problems
    assert said.startswith(
        "3 of 60 persons are alone in their group by the kept columns 'a', 'b' together (most by 'b'"
    )
