"""What a table shows: groups are equal quasi-identifiers, and a missing value equals missing values only."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import Schema
from shoal.judging.observation import Observation, number_alike, number_equal
from shoal.models.counts import SPREAD, VALUE_SUMMARIES, VALUE_TABLES
from shoal.table.table import Table

SCHEMA = Schema(person="p", quasi=["a", "b"], sensitive=["s"])
NEEDS = SPREAD | VALUE_SUMMARIES | VALUE_TABLES

records = st.lists(
    st.tuples(
        st.integers(0, 5), st.none() | st.sampled_from(["x", "y"]), st.none() | st.integers(0, 2),
        st.none() | st.sampled_from(["flu", "ulcer", "gout"]),
    ),
    min_size=1,
    max_size=40,
)  # fmt: skip


def frame(rows: list[tuple[object, ...]]) -> pl.DataFrame:
    types = {"p": pl.Int64, "a": pl.String, "b": pl.Int64, "s": pl.String}
    return pl.DataFrame(rows, schema=types, orient="row")


def by_group(rows: list[tuple[object, ...]]) -> dict[object, list[tuple[object, object]]]:
    groups: dict[object, list[tuple[object, object]]] = {}
    for person, a, b, value in rows:
        groups.setdefault((a, b), []).append((person, value))
    return groups


def summary(members: list[tuple[object, object]]) -> tuple[int, ...]:
    persons = [person for person, _ in members]
    counts = [persons.count(person) for person in set(persons)]
    pairs = set(members)
    values = {value for _, value in members}
    return (
        len(counts), len(persons), sum(count**2 for count in counts), max(counts), len(values), len(pairs),
        max(sum(value == other for _, other in pairs) for value in values),
        max(sum(value == other for _, other in members) for value in values),
    )  # fmt: skip


@given(records)
def test_groups_and_their_counts_are_those_of_plain_counting(rows: list[tuple[object, ...]]) -> None:
    seen = Observation.of_frame(frame(rows), SCHEMA)
    counts = seen.counts(NEEDS)
    values = counts.values["s"]
    found = zip(
        counts.persons, counts.records, counts.squared_records, counts.most_records, values.distinct,
        values.person_values, values.most_persons, values.most_records, strict=True,
    )  # fmt: skip
    expected = [summary(members) for members in by_group(rows).values()]
    assert sorted(tuple(map(int, entry)) for entry in found) == sorted(expected)
    assert (seen.n_records, seen.n_persons) == (len(rows), len({person for person, *_ in rows}))


@given(records, st.randoms())
def test_the_order_of_the_records_changes_nothing(rows: list[tuple[object, ...]], random: object) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = (Observation.of_frame(frame(given), SCHEMA).counts(NEEDS) for given in (rows, shuffled))
    for name in ("persons", "records", "squared_records", "most_records"):
        assert sorted(getattr(one, name)) == sorted(getattr(other, name))


@given(records)
def test_a_missing_value_never_makes_a_group_larger(rows: list[tuple[object, ...]]) -> None:
    """Taking the records with missing values away leaves the other groups as they were."""
    complete = [row for row in rows if row[1] is not None and row[2] is not None]
    if not complete:
        return
    sizes = sorted(Observation.of_frame(frame(complete), SCHEMA).counts(SPREAD).records)
    groups = by_group(rows)
    assert sizes == sorted(len(members) for key, members in groups.items() if None not in key)  # type: ignore[operator]


@given(records)
def test_persons_in_several_groups_are_counted(rows: list[tuple[object, ...]]) -> None:
    groups_of_person: dict[object, set[object]] = {}
    for person, a, b, _ in rows:
        groups_of_person.setdefault(person, set()).add((a, b))
    expected = sum(len(groups) > 1 for groups in groups_of_person.values())
    assert Observation.of_frame(frame(rows), SCHEMA).persons_in_several_groups == expected


@given(records)
def test_persons_alone_are_counted_once(rows: list[tuple[object, ...]]) -> None:
    seen = Observation.of_frame(frame(rows), SCHEMA)
    alone = {members[0][0] for members in by_group(rows).values() if len({person for person, _ in members}) == 1}
    assert seen.persons_alone(seen.counts(SPREAD).persons == 1) == len(alone)


def test_the_whole_table_as_one_group() -> None:
    rows = [(1, "x", 1, "flu"), (1, "y", 2, "flu"), (2, "x", 1, None)]
    table = Table.from_frame(frame(rows), SCHEMA)
    counts = Observation.of_whole(table).counts(NEEDS)
    assert (counts.persons.tolist(), counts.records.tolist(), counts.squared_records.tolist()) == ([2], [3], [5])
    assert counts.values["s"].distinct.tolist() == [2]


def test_without_a_person_column_each_record_is_a_person() -> None:
    schema = Schema(quasi=["a", "b"], sensitive=["s"], dropped=["p"])
    seen = Observation.of_frame(frame([(1, "x", 1, "flu"), (1, "x", 1, "flu")]), schema)
    assert seen.counts(SPREAD).persons.tolist() == [2]


def test_persons_are_told_apart_whatever_their_names_are() -> None:
    rows = pl.DataFrame({"a": ["x"] * 6, "b": [1] * 6, "s": ["flu"] * 6})
    for names in (
        ["P0000001", "P0000002", "P0000001", "P0000003", "P0000004", "P0000005"],  # as long as our pseudonyms
        ["\0\0\0\0\0\0\0\0", "\0\0\0\0\0\0\0\1", "\0\0\0\0\0\0\0\0", "aaaaaaaa", "bbbbbbbb", "cccccccc"],
        ["a", "bb", "a", "ccc", "", "é"],
    ):
        for dtype in (pl.String, pl.Categorical):
            seen = Observation.of_frame(rows.with_columns(p=pl.Series(names).cast(dtype)), SCHEMA)
            counts = seen.counts(SPREAD)
            assert (seen.n_persons, counts.persons.tolist(), counts.most_records.tolist()) == (5, [5], [2])


@given(st.lists(st.lists(st.integers(0, 3), min_size=6, max_size=6), min_size=1, max_size=30))
def test_many_columns_are_numbered_alike_where_their_product_exceeds_64_bits(rows: list[list[int]]) -> None:
    sparse = np.array([0, 1, 2**28, 2**30], dtype=np.int32)  # 2^31 codes a column: products far above 2^63
    columns = [(sparse[np.array(codes)], 2**31) for codes in zip(*rows, strict=True)]
    alike, n_alike = number_alike(columns)
    keys = [tuple(row) for row in rows]
    assert n_alike == len(set(keys))
    assert [[one == other for other in alike] for one in alike] == [[one == other for other in keys] for one in keys]


COMPARED = {
    "text": ["a", "b", "", None, "é"],
    "number": [0, 1, -5, None, 2**40],
    "float": [0.0, -0.0, float("nan"), None, 1.5],
    "yes": [True, False, None, True, False],
}


def mixed_records(rows: list[tuple[int, ...]], dtype: type[pl.DataType]) -> list[pl.Series]:
    columns = [
        pl.Series(name, [values[row[place]] for row in rows], strict=False)
        for place, (name, values) in enumerate(COMPARED.items())
    ]
    return [columns[0].cast(dtype), *columns[1:]]


def seen_alike(row: tuple[int, ...]) -> tuple[object, ...]:
    """Zeros are equal whatever their sign; what is not a number is missing."""
    values = [own[place] for own, place in zip(COMPARED.values(), row, strict=True)]
    return tuple(None if value is None or value != value else (value,) for value in values)


records_of_all_kinds = st.lists(st.tuples(*[st.integers(0, 4)] * 4), min_size=1, max_size=30)


@given(records_of_all_kinds, st.sampled_from([pl.String, pl.Categorical]), st.booleans())
def test_records_are_numbered_alike_where_every_value_is_equal(
    rows: list[tuple[int, ...]], dtype: type[pl.DataType], hashes_clash: bool
) -> None:
    """Also where records that differ have the same hash."""
    with pytest.MonkeyPatch.context() as patch:
        if hashes_clash:
            patch.setattr(pl.Expr, "hash", lambda column: column.is_null().cast(pl.UInt64) * 0)
        numbers, n_numbers = number_equal(mixed_records(rows, dtype))
    keys = [seen_alike(row) for row in rows]
    assert n_numbers == len(set(keys))
    pairs = [(one, other) for one in range(len(rows)) for other in range(one)]
    assert [numbers[one] == numbers[other] for one, other in pairs] == [
        keys[one] == keys[other] for one, other in pairs
    ]
