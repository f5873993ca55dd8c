"""Frames of pandas, polars and pyarrow become the same table; no record vanishes, no person is made up."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shoal import Nominal, Ordered, Schema
from shoal.errors import InputError, SchemaError
from shoal.table.columns import CategoryColumn, NumberColumn
from shoal.table.frames import like_the_given, to_polars
from shoal.table.table import Table

SCHEMA = Schema(person="patient", quasi=["age", "gender"], sensitive=["disease"])
VISITS = {
    "patient": ["c", "a", "b", "a"],
    "age": [40, 30, None, 31],
    "gender": ["m", "f", None, "f"],
    "disease": ["flu", "flu", None, "ulcer"],
}


def visits() -> pl.DataFrame:
    return pl.DataFrame(VISITS)


def in_pandas() -> pd.DataFrame:
    return pd.DataFrame({**VISITS, "age": pd.array(VISITS["age"], dtype="Int64")})


FRAMES = {
    "polars": visits,
    "lazy": lambda: visits().lazy(),
    "pandas": in_pandas,
    "pandas floats": lambda: pd.DataFrame(VISITS),
    "pandas objects": lambda: pd.DataFrame(VISITS, dtype=object),
    "pandas strings": lambda: in_pandas().astype({"patient": "string", "gender": "string", "disease": "string"}),
    "pandas categories": lambda: in_pandas().astype({"gender": "category", "disease": "category"}),
    "pandas arrow": lambda: in_pandas().convert_dtypes(dtype_backend="pyarrow"),
    "pandas odd index": lambda: in_pandas().set_index(pd.Index([7, -1, 3, 0])),
    "pandas repeated index": lambda: in_pandas().set_index(pd.Index([5, 5, 5, 5])),
    "pandas two-level index": lambda: in_pandas().set_index(pd.MultiIndex.from_product([[1, 2], ["x", "y"]])),
    "pandas named index": lambda: in_pandas().set_index(pd.Index([1, 2, 3, 4], name="patient")),
    "pyarrow": lambda: pa.table(VISITS),
    "pyarrow dictionary": lambda: pa.table({**VISITS, "gender": pa.array(VISITS["gender"]).dictionary_encode()}),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_every_kind_of_frame_gives_the_same_table(kind: str) -> None:
    table = Table.from_frame(FRAMES[kind](), SCHEMA)
    assert table.person_of_record.tolist() == [2, 0, 1, 0]
    assert table.n_persons == 3
    assert table.records_of_person.tolist() == [2, 1, 1]
    age, gender = table.quasi["age"], table.quasi["gender"]
    assert isinstance(age, NumberColumn)
    assert isinstance(gender, CategoryColumn)
    assert age.is_missing is not None
    assert (age.units[[0, 1, 3]].tolist(), age.is_missing.tolist()) == ([40, 30, 31], [False, False, True, False])
    assert gender.codes.tolist() == [1, 0, 2, 0]
    assert table.sensitive["disease"].codes.tolist() == [0, 0, 2, 1]


def test_a_shuffled_index_moves_no_record() -> None:
    frame = in_pandas().sample(frac=1.0, random_state=3)
    in_order = Table.from_frame(frame.reset_index(drop=True), SCHEMA)
    shuffled = Table.from_frame(frame, SCHEMA)
    assert shuffled.person_of_record.tolist() == in_order.person_of_record.tolist()
    assert shuffled.frame.equals(in_order.frame)


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
def test_what_comes_out_is_of_the_kind_that_went_in(kind: str) -> None:
    given = FRAMES[kind]()
    assert type(like_the_given(*to_polars(given))) is type(given)


def test_a_pandas_frame_comes_out_with_a_fresh_index() -> None:
    out = like_the_given(*to_polars(in_pandas().set_index(pd.Index([7, -1, 3, 0], name="secret"))))
    assert out.index.equals(pd.RangeIndex(-1, -5, -1))
    assert out.index.name != "secret"
    assert "secret" not in out.columns


def test_an_order_of_pandas_categories_is_kept() -> None:
    stages = pd.Categorical(["high", "low", "mid"], categories=["low", "mid", "high", "unheard"], ordered=True)
    frame = pd.DataFrame({"stage": stages, "bare": pd.Categorical(["b", "a", "b"])})
    table = Table.from_frame(frame, Schema(quasi=[Ordered("stage"), "bare"]))
    stage = table.quasi["stage"]
    assert isinstance(stage, NumberColumn)
    assert stage.units.tolist() == [2, 0, 1]
    assert isinstance(table.quasi["bare"], CategoryColumn)


def test_pandas_columns_of_several_types_are_text_as_in_a_file() -> None:
    frame = pd.DataFrame({"patient": [1, "A2", 1, None], "age": [30, "31", 32.5, True]})[:3]
    table = Table.from_frame(frame, Schema(person="patient", quasi=[Nominal("age")]))
    assert table.n_persons == 2
    assert table.frame["age"].to_list() == ["30", "31", "32.5"]
    with pytest.raises(SchemaError, match="'age' holds 1 numbers and 1 other values"):
        Table.from_frame(pd.DataFrame({"age": [30, "old"]}), Schema(quasi=["age"]))


def test_repeated_column_names_are_refused() -> None:
    columns = [[1], [2], [3]]
    for frame in (
        pd.DataFrame([[1, 2, 3]], columns=["age", "age", "zip"]),
        pd.DataFrame([[1, 2, 3]], columns=["1", 1, "zip"]),
        pa.table(columns, names=["age", "age", "zip"]),
    ):
        with pytest.raises(InputError, match=r"1 column names occur more than once: (age|1)\."):
            Table.from_frame(frame, Schema(quasi=["age", "zip"]))


@pytest.mark.parametrize("name", ["*", "^a.*$"])
def test_names_that_stand_for_several_columns_are_refused(name: str) -> None:
    columns = {"age": [1, 2], name: [3, 4]}
    for frame in (pl.DataFrame(columns), pl.LazyFrame(columns), pd.DataFrame(columns), pa.table(columns)):
        with pytest.raises(InputError, match=rf"are read as patterns for names: '{re.escape(name)}'\. Rename them"):
            Table.from_frame(frame, Schema(quasi=["age"]))


@pytest.mark.parametrize("not_a_frame", [None, 5, {"age": [1]}, [[1]], "visits.csv", pd.Series([1]), np.eye(2)])
def test_what_is_no_frame_is_refused(not_a_frame: object) -> None:
    with pytest.raises(InputError, match="pandas, polars or pyarrow frame is expected"):
        Table.from_frame(not_a_frame, Schema(quasi=["age"]))


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"age": [1, 2], "odd": [1 + 2j, 3j]}),
        pd.DataFrame({"age": [1, 2], "odd": [{"a"}, 5]}),
        pd.DataFrame({"age": [1, 2], "odd": [object(), object()]}),
        pd.DataFrame({"age": [1, 2], "odd": pd.arrays.SparseArray([0, 1])}),
    ],
)
def test_pandas_columns_that_cannot_be_read_are_named(frame: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="cannot be read: odd"):
        Table.from_frame(frame, Schema(quasi=["age"], kept=["odd"]))


@pytest.mark.parametrize(
    "odd",
    [
        pl.Series([[1], [2]]),
        pl.Series([{"a": 1}, {"a": 2}]),
        pl.Series([b"x", b"y"]),
        pl.Series([object(), object()], dtype=pl.Object),
        pl.Series([dt.timedelta(1), dt.timedelta(2)]),
    ],
)
@pytest.mark.parametrize("role", ["quasi", "sensitive", "kept", "person"])
def test_columns_that_hold_no_plain_values_are_refused(odd: pl.Series, role: str) -> None:
    frame = pl.DataFrame({"age": [1, 2]}).with_columns(odd=odd)
    named: dict[str, Any] = (
        {"quasi": ["age"], role: ["odd"]} if role != "person" else {"quasi": ["age"], "person": "odd"}
    )
    if role == "quasi":
        named = {"quasi": ["age", Nominal("odd")]}
    with pytest.raises(InputError, match=r"cannot be published: odd\."):
        Table.from_frame(frame, Schema(**named))
    assert Table.from_frame(frame, Schema(quasi=["age"], dropped=["odd"])).n_records == 2


def test_tables_without_records_are_refused() -> None:
    for frame in (visits().head(0), in_pandas().head(0), pa.table(VISITS).slice(0, 0)):
        with pytest.raises(InputError, match="has no records"):
            Table.from_frame(frame, SCHEMA)


def test_a_frame_without_columns_lacks_what_the_schema_names() -> None:
    with pytest.raises(SchemaError, match="names 'patient' as person, but the table has no such column"):
        Table.from_frame(pd.DataFrame(), SCHEMA)


class TestPersons:
    def test_missing_persons_are_refused_with_count_and_line(self) -> None:
        frame = visits().with_columns(patient=pl.Series(["a", None, "b", None]))
        with pytest.raises(SchemaError, match="'patient' is missing in 2 of 4 records, the first in record 2"):
            Table.from_frame(frame, SCHEMA)
        with pytest.raises(SchemaError, match="the first in line 1,003"):
            Table.from_frame(frame, SCHEMA, line_of=lambda record: 1002 + record)

    def test_not_a_number_is_a_missing_person(self) -> None:
        frame = visits().with_columns(patient=pl.Series([1.0, float("nan"), 2.0, None]))
        with pytest.raises(SchemaError, match="'patient' is missing in 2 of 4 records, the first in record 2"):
            Table.from_frame(frame, SCHEMA)

    @pytest.mark.parametrize(
        "persons",
        [
            [7, 1, 3, 1],
            [2**60, -5, 0, -5],
            [2.5, 1.5, 2.0, 1.5],
            [dt.date(2020, 1, 3), dt.date(2020, 1, 1), dt.date(2020, 1, 2), dt.date(2020, 1, 1)],
        ],
    )
    def test_any_plain_type_names_persons(self, persons: list[object]) -> None:
        table = Table.from_frame(visits().with_columns(patient=pl.Series(persons)), SCHEMA)
        assert (table.n_persons, table.records_of_person.max()) == (3, 2)
        assert table.person_of_record[1] == table.person_of_record[3]

    def test_without_a_person_column_each_record_is_a_person(self) -> None:
        table = Table.from_frame(visits(), Schema(quasi=["age", "gender"], sensitive=["disease"], dropped=["patient"]))
        assert (table.n_persons, table.records_of_person.tolist()) == (4, [1, 1, 1, 1])


class TestMissing:
    def test_a_missing_value_is_a_value_of_its_own(self) -> None:
        table = Table.from_frame(visits(), SCHEMA)
        assert (table.n_records, table.notes) == (4, ())

    def test_refuse_names_columns_and_counts(self) -> None:
        refusing = Schema(person="patient", quasi=["age", "gender"], sensitive=["disease"], missing="refuse")
        with pytest.raises(SchemaError, match=r"refused: 'age' in 1, 'gender' in 1 of 4 records\."):
            Table.from_frame(visits(), refusing)
        assert Table.from_frame(visits().filter(pl.col("age").is_not_null()), refusing).n_records == 3

    def test_drop_counts_what_is_left_out(self) -> None:
        dropping = Schema(person="patient", quasi=["age", "gender"], sensitive=["disease"], missing="drop")
        table = Table.from_frame(visits(), dropping, line_of=lambda record: 2 + record)
        assert (table.n_records, table.n_persons) == (3, 2)
        assert table.notes == (
            "1 of 4 records were left out because a quasi-identifier is missing ('age' in 1, 'gender' in 1).",
        )
        assert [table.line_of(record) for record in range(3)] == [2, 3, 5]

    def test_drop_looks_at_quasi_identifiers_only(self) -> None:
        dropping = Schema(person="patient", quasi=["age"], sensitive=["disease", "gender"], missing="drop")
        frame = visits().with_columns(age=pl.lit(5), disease=pl.lit(None, pl.String))
        assert Table.from_frame(frame, dropping).n_records == 4

    def test_dropping_everything_is_refused(self) -> None:
        dropping = Schema(quasi=["age"], dropped=["patient", "gender", "disease"], missing="drop")
        with pytest.raises(InputError, match=r"Every record misses a quasi-identifier \('age' in 4\)"):
            Table.from_frame(visits().with_columns(age=pl.lit(None, pl.Int64)), dropping)


class TestSmallerTables:
    def test_persons_left_out_are_counted(self) -> None:
        table = Table.from_frame(visits(), SCHEMA).without_persons(np.array([True, False, False]))
        assert (table.n_records, table.n_persons, table.suppressed_persons) == (2, 2, 1)
        again = table.without_persons(np.array([False, True]))
        assert (again.n_persons, again.suppressed_persons) == (1, 2)

    def test_records_left_out_are_noted_and_lines_stay_right(self) -> None:
        table = Table.from_frame(in_pandas(), SCHEMA, line_of=lambda record: 2 + record)
        smaller = table.with_records(np.array([True, False, False, True]), "Two records were left out.")
        assert smaller.notes == ("Two records were left out.",)
        assert [smaller.line_of(record) for record in range(2)] == [2, 5]
        assert smaller.kind_of_frame == "pandas"
