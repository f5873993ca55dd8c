"""Anatomized tables: the counts are those of the groups, and nothing in the tables tells whose a value is."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal import Nominal, Schema
from shoal.errors import ParameterError, SchemaError
from shoal.grouping.grouping import Grouping
from shoal.masking.anatomize import Anatomize
from shoal.masking.publish import Published
from shoal.table.table import Table
from tests.masking.patients import ONE_RECORD, patients

AGES = Schema(person="p", quasi=["age"], sensitive=["disease"])


def anatomized(
    frame: pl.DataFrame, schema: Schema, *, n_groups: int = 7, quasi_as: str = "exact"
) -> tuple[Published, Table, list[int]]:
    """A release of groups of persons chosen by lot, its table, and the group of each record."""
    table = Table.from_frame(frame, schema)
    lot = np.random.default_rng(2).permutation(table.n_persons) % n_groups
    grouping = Grouping(lot.astype(np.int32), n_groups)
    return Anatomize(quasi_as=quasi_as).publish(table, grouping), table, grouping.group_of_record(table).tolist()


def counted(frame: pl.DataFrame, group_of_record: list[int], column: str) -> Counter[Any]:
    """For each group: how many persons and records have which value; as a bag, since group numbers are not told."""
    groups: dict[int, dict[Any, list[Any]]] = {}
    for group, person, value in zip(group_of_record, frame["patient"], frame[column], strict=True):
        groups.setdefault(group, {}).setdefault(value, []).append(person)
    return Counter(
        frozenset((value, len(set(persons)), len(persons)) for value, persons in values.items())
        for values in groups.values()
    )


def published_counts(table: pl.DataFrame, column: str) -> Counter[Any]:
    groups: dict[int, set[Any]] = {}
    for row in table.to_dicts():
        entry = (row[column], row.get("count", row.get("persons")), row.get("count", row.get("records")))
        assert entry not in groups.setdefault(row["group"], set()), "a value stands once in a group"
        groups[row["group"]].add(entry)
    return Counter(map(frozenset, groups.values()))


@pytest.mark.parametrize("quasi_as", ["exact", "range"])
@pytest.mark.parametrize("most_records", [1, 4])
@pytest.mark.parametrize("missing", [(), ("disease", "age")])
def test_sensitive_tables_count_the_values_of_each_group(
    quasi_as: str, most_records: int, missing: tuple[str, ...]
) -> None:
    """Records are counted where quasi-identifiers are masked: beside exact ones they would link."""
    frame = patients(most_records=most_records, missing=missing)
    published, _, group_of_record = anatomized(frame, ONE_RECORD, quasi_as=quasi_as)
    expected = {"exact": ["persons"], "range": ["persons", "records"]}[quasi_as] if most_records > 1 else ["count"]
    for column in ("disease", "treatment"):
        own = published.tables[column]
        assert own.columns == ["group", column, *expected]
        truth = counted(frame, group_of_record, column)
        if expected == ["persons"]:
            truth = Counter(frozenset((value, n, None) for value, n, _ in group) for group in truth.elements())
        assert published_counts(own, column) == truth


def test_numbers_of_records_link_nobody() -> None:
    """One value of one person in 37 records beside exact ages: whoever comes that often has it."""
    rows = [("a", 31, "hiv")] * 37 + [("b", 45, "flu"), ("c", 52, "flu"), ("d", 67, "gout"), ("d", 67, "gout")]
    frame = pl.DataFrame(rows, schema=["p", "age", "disease"], orient="row")
    models = [shoal.PersonKAnonymity(k=4), shoal.KAnonymity(k=4), shoal.LDiversity(l=1, kind="entropy")]
    exact = shoal.protect(frame, AGES, models, mask="anatomize")
    assert exact.published.tables["disease"].columns == ["group", "disease", "persons"]
    assert (exact.risk.records, exact.risk.k) == (41, 41), "the steward knows"
    assert [model.checked_from for model in exact.verdict.models] == [
        "published table", "published table, by a bound", "steward"]  # fmt: skip
    alone = shoal.verify(exact.data, AGES, models, tables=exact.tables)
    assert [model.holds for model in alone.verdict.models] == [True, True, False]
    assert (alone.risk.records, alone.risk.k) == (4, 4)
    assert "the fewest that there can be" in " ".join(alone.verdict.notes)
    by_persons = [shoal.LDiversity(l=2, kind="entropy", count="persons"), shoal.TCloseness(t=0.1, count="persons")]
    answer = shoal.verify(exact.data, AGES, by_persons, tables=exact.tables)
    assert [(model.holds, model.checked_from) for model in answer.verdict.models] == [(True, "published table")] * 2
    told = exact.published.tables["disease"].with_columns(records=pl.Series([1, 2, 3]))
    linking = shoal.verify(exact.data, AGES, models, tables={"disease": told})
    assert not linking
    assert any("count records, though quasi-identifiers differ" in problem for problem in linking.problems)


def test_what_numbers_of_records_tell_is_measured() -> None:
    rows = [("a", 31, "hiv")] * 37 + [("b", 45, "flu"), ("c", 52, "flu"), ("d", 67, "gout"), ("d", 67, "ulcer")]
    frame = pl.DataFrame(rows, schema=["p", "age", "disease"], orient="row")
    release = shoal.protect(frame, AGES, [shoal.PersonKAnonymity(k=4)], mask="anatomize", quasi_as="range")
    note = release.verdict.notes[0]
    assert "of 'disease' counts records: 3 values of groups are one person's each, of at most 3 of 4 persons" in note


def test_tables_belong_together_by_group() -> None:
    """The rows of a group in the quasi-identifier table are the persons whose values the sensitive tables count."""
    frame = patients()
    published, _, group_of_record = anatomized(frame, ONE_RECORD)
    expected: Counter[Any] = Counter()
    for group in set(group_of_record):
        own = frame.filter(pl.Series(group_of_record) == group)
        shown = tuple(sorted(own.select("age", "sex").rows()))
        expected[shown, *(tuple(sorted(Counter(own[name]).items())) for name in ONE_RECORD.sensitive)] += 1
    found: Counter[Any] = Counter()
    for group in published.frame["group"].unique():
        own = published.frame.filter(pl.col("group") == group)
        counts = (
            tuple(sorted(published.tables[name].filter(pl.col("group") == group).select(name, "count").rows()))
            for name in ONE_RECORD.sensitive
        )
        found[tuple(sorted(own.select("age", "sex").rows())), *counts] += 1
    assert found == expected


def test_several_records_give_one_row_a_person_that_tells_no_number() -> None:
    frame = pl.DataFrame(
        [
            ("a", 30, "flu"),
            ("a", 34, "cold"),
            ("a", 30, "flu"),
            ("b", 40, "flu"),
            ("b", 40, "cold"),
            ("c", None, "flu"),
        ],
        schema=["p", "age", "disease"],
        orient="row",
    )
    published, *_ = anatomized(frame, AGES, n_groups=1)
    assert published.frame.columns == ["age", "group"]
    assert sorted(published.frame["age"].to_list(), key=str) == ["30-34", "40", None]
    assert sorted(published.tables["disease"].rows()) == [(1, "cold", 2), (1, "flu", 3)]


def test_no_other_column_is_published() -> None:
    frame = patients()
    published, *_ = anatomized(frame, ONE_RECORD)
    assert published.frame.columns == ["age", "sex", "group"]
    assert published.pseudonyms is None
    told = published.frame.write_csv() + "".join(table.write_csv() for table in published.tables.values())
    assert "555-" not in told
    assert "patient" not in told


def test_kept_columns_stay_with_their_person_where_each_has_one_record() -> None:
    frame = patients().with_columns(ward=pl.col("age") * 2)
    published, *_ = anatomized(frame, replace(ONE_RECORD, kept=["ward"]))
    assert (published.frame["ward"] == published.frame["age"] * 2).all()
    with pytest.raises(SchemaError, match="cannot keep columns of records: ward"):
        anatomized(patients(most_records=3).with_columns(ward=pl.lit(1)), replace(ONE_RECORD, kept=["ward"]))


def test_group_numbers_and_the_order_of_rows_are_drawn_anew() -> None:
    frame = patients(400).with_columns(age=pl.int_range(400))
    first, table, _ = anatomized(frame, ONE_RECORD, n_groups=40)
    second, *_ = anatomized(frame, ONE_RECORD, n_groups=40)
    number_of_age = [dict(each.frame.select("age", "group").rows()) for each in (first, second)]
    assert number_of_age[0] != number_of_age[1]
    assert sorted(first.frame["group"].unique()) == list(range(1, 41))
    assert first.frame["age"].to_list() != second.frame["age"].to_list()
    assert not first.frame["age"].is_sorted()
    for column in ONE_RECORD.sensitive:
        assert first.tables[column].rows() != second.tables[column].rows()
        groups = first.tables[column]["group"]
        assert (groups.diff() == 0).sum() < len(groups) / 4, "rows of a group stand apart, one in forty by chance"
    assert table.n_persons == 400


def test_the_order_of_sensitive_tables_does_not_follow_the_quasi_identifiers() -> None:
    """Where every value is unique, a table in the order of the persons would tell each person's value."""
    frame = patients(300).with_columns(
        age=pl.int_range(300), disease=pl.int_range(300).cast(pl.String).str.pad_start(3, "0")
    )
    published, *_ = anatomized(frame, ONE_RECORD, n_groups=3)
    in_place = 0
    for group in (1, 2, 3):
        ages = published.frame.filter(pl.col("group") == group)["age"].to_list()
        values = published.tables["disease"].filter(pl.col("group") == group)["disease"].cast(pl.Int64).to_list()
        in_place += sum(age == value for age, value in zip(ages, values, strict=True))
    assert in_place < 20, "three are expected by chance"


def test_what_the_steward_keeps_tells_persons_apart_and_not_who_they_are() -> None:
    frame = patients(most_records=3)
    published, _, group_of_record = anatomized(frame, ONE_RECORD)
    linked = published.linked
    assert linked is not None
    assert linked.columns == ["group", "member", "disease", "treatment"]

    def bags(persons: pl.Series, records: pl.DataFrame) -> Counter[Any]:
        own: dict[Any, list[Any]] = {}
        for person, record in zip(persons, records.select("disease", "treatment").rows(), strict=True):
            own.setdefault(person, []).append(record)
        return Counter(tuple(sorted(records)) for records in own.values())

    assert bags(linked["member"], linked) == bags(frame["patient"], frame)
    assert linked["group"].n_unique() == len(set(group_of_record))
    assert linked.group_by("member").agg(pl.col("group").n_unique())["group"].max() == 1


def test_ranges_are_those_of_the_group() -> None:
    frame = patients()
    published, _, group_of_record = anatomized(frame, ONE_RECORD, quasi_as="range")
    labels = published.frame.select("group", "age", "sex").unique()
    assert len(labels) == published.frame["group"].n_unique(), "a group shows one thing"
    expected = Counter(
        f"{own['age'].min()}-{own['age'].max()}"
        for own in (frame.filter(pl.Series(group_of_record) == group) for group in set(group_of_record))
    )
    assert Counter(labels["age"].cast(pl.String)) == expected
    assert not Anatomize(quasi_as="range").shows_identities
    assert Anatomize().shows_identities


def test_categories_that_nobody_published_has_are_not_named() -> None:
    frame = patients().with_columns(sex=pl.col("sex").cast(pl.Enum(["f", "m", "secret"])))
    published, *_ = anatomized(frame, ONE_RECORD)
    dtype = published.frame["sex"].dtype
    assert isinstance(dtype, pl.Enum)
    assert dtype.categories.to_list() == ["f", "m"]


@pytest.mark.parametrize("name", ["count", "persons", "records", "member"])
def test_attributes_called_as_its_own_columns_are_refused(name: str) -> None:
    frame = patients().rename({"disease": name})
    with pytest.raises(SchemaError, match=f"called {name}"):
        anatomized(frame, replace(ONE_RECORD, sensitive=[name, "treatment"]))


@pytest.mark.parametrize("role", ["kept", "dropped", "sensitive"])
def test_a_column_called_group_is_refused(role: str) -> None:
    frame = patients().with_columns(group=pl.lit(1))
    roles = {role: [*getattr(ONE_RECORD, role), "group"]}
    with pytest.raises(SchemaError, match="'group' of its own"):
        shoal.protect(frame, replace(ONE_RECORD, **roles), [shoal.PersonKAnonymity(k=3)], mask="anatomize")


def test_times_and_tables_without_sensitive_attributes_are_refused() -> None:
    frame = patients()
    with pytest.raises(SchemaError, match="name 'phone' as dropped"):
        anatomized(frame, replace(ONE_RECORD, dropped=[], time="phone"))
    with pytest.raises(SchemaError, match="none is named"):
        anatomized(frame, replace(ONE_RECORD, sensitive=[], dropped=["phone", "disease", "treatment"]))


def test_identities_are_told_to_be_visible_and_models_of_them_refused() -> None:
    schema = Schema(
        person="patient", quasi=["age", Nominal("sex")], sensitive=["disease"], dropped=["phone", "treatment"]
    )
    models = [shoal.PersonKAnonymity(k=5)]
    exact = shoal.protect(patients(), schema, models, mask="anatomize")
    assert any("identities are visible" in note for note in exact.verdict.notes)
    masked = shoal.protect(patients(), schema, models, mask="anatomize", quasi_as="range")
    assert not any("identities are visible" in note for note in masked.verdict.notes)
    with pytest.raises(ParameterError, match="record-risk cannot be promised"):
        shoal.protect(patients(), schema, [shoal.RecordRisk(rho=0.3)], mask="anatomize")
    several = patients(most_records=3)
    release = shoal.protect(several, schema, [shoal.RecordRisk(rho=0.3)], mask="anatomize", quasi_as="range")
    assert [model.checked_from for model in release.verdict.models] == ["steward"]
    with pytest.raises(ParameterError, match="quasi_as"):
        Anatomize(quasi_as="blurred")


def test_there_is_no_person_map_without_pseudonyms(tmp_path: Any) -> None:
    schema = replace(ONE_RECORD, sensitive=["disease"], dropped=["phone", "treatment"])
    release = shoal.protect(patients(), schema, [shoal.PersonKAnonymity(k=5)], mask="anatomize")
    with pytest.raises(ParameterError, match="no person map"):
        release.write(tmp_path / "out", keep_person_map=True)
    assert not (tmp_path / "out").exists()
