"""Columns as arrays: which kind the data show, exact units, and codes that depend on the values alone."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shoal import Date, Hierarchy, Nominal, Number, Ordered
from shoal.errors import SchemaError
from shoal.table.columns import CategoryColumn, NumberColumn, category_column, code_values, quasi_column
from shoal.table.schema import Quasi


def column(values: list[object] | pl.Series, kind: Quasi | None = None, first_line: int | None = None) -> object:
    series = values if isinstance(values, pl.Series) else pl.Series("age", values)
    line_of = (lambda record: None) if first_line is None else (lambda record: first_line + record)
    return quasi_column(series, kind or Quasi("age"), line_of)


def number(values: list[object] | pl.Series, kind: Quasi | None = None) -> NumberColumn:
    made = column(values, kind)
    assert isinstance(made, NumberColumn)
    return made


def nominal(values: list[object] | pl.Series, kind: Quasi | None = None) -> CategoryColumn:
    made = column(values, kind)
    assert isinstance(made, CategoryColumn)
    return made


def refusal(values: list[object] | pl.Series, kind: Quasi | None = None, first_line: int | None = None) -> str:
    with pytest.raises(SchemaError) as refused:
        column(values, kind, first_line)
    return str(refused.value)


class TestKindShownByTheData:
    def test_a_number_where_every_value_is_one(self) -> None:
        assert number([3, 1, 2]).units.tolist() == [3, 1, 2]
        assert number(["3", "1", "-2"]).units.tolist() == [3, 1, -2]
        assert number(["3", None, "1.5"]).units.tolist() == [30, 0, 15]

    def test_nominal_where_none_is(self) -> None:
        assert nominal(["b", "a", "b"]).codes.tolist() == [1, 0, 1]
        assert nominal([True, False]).categories.to_list() == ["false", "true"]
        assert nominal(pl.Series(["1", "2"]).cast(pl.Categorical)).categories.to_list() == ["1", "2"]
        assert nominal(pl.Series(["1", "2"], dtype=pl.Enum(["2", "1"]))).categories.to_list() == ["1", "2"]

    def test_where_some_are_the_kind_is_asked_for_with_counts_and_line(self) -> None:
        message = refusal(["4", "5", None, "unknown", "6", "ancient"], first_line=2)
        assert message.startswith("'age' holds 3 numbers and 2 other values (the first in line 5).")
        for kind in ("age:number", "age:nominal", "age:ordered", "age:date"):
            assert kind in message
        assert "unknown" not in message
        assert "ancient" not in message

    def test_without_lines_the_record_is_named(self) -> None:
        assert "the first in record 2" in refusal(["4", "x"])

    def test_dates_and_date_times_are_dates(self) -> None:
        assert number([dt.date(1970, 1, 3)]).units.tolist() == [2]
        assert number([dt.datetime(1970, 1, 3, 23, 59)]).kind == "date"

    def test_nothing_but_missing_values_is_nominal(self) -> None:
        assert nominal([None, None]).codes.tolist() == [0, 0]
        assert nominal(pl.Series([None], dtype=pl.String)).has_missing

    def test_a_hierarchy_without_a_kind_is_over_categories(self) -> None:
        hierarchy = Hierarchy.of_prefixes(["20375", "20400"])
        assert nominal([20375, 20400], Quasi("age", hierarchy)).categories.to_list() == ["20375", "20400"]


class TestNumbers:
    def test_decimals_are_whole_units_without_float_noise(self) -> None:
        made = number([0.1, 0.2, 0.3, 1.25])
        assert (made.units.tolist(), made.decimals, made.floats) == ([10, 20, 30, 125], 2, None)

    def test_decimal_columns(self) -> None:
        assert number([Decimal("1.10"), Decimal("2.25")]).units.tolist() == [110, 225]

    def test_many_decimals_keep_their_floats(self) -> None:
        made = number([1 / 3, 2 / 3, None, 1.0])
        assert made.floats is not None
        assert made.floats[[0, 1, 3]].tolist() == [1 / 3, 2 / 3, 1.0]
        assert made.units[0] < made.units[1] < made.units[3]

    def test_floats_at_the_ends_of_the_scale_keep_their_order(self) -> None:
        made = number([-1.7e308, 0.1, 1.7e308])
        assert made.units[0] < made.units[1] < made.units[2]

    def test_padded_codes_keep_their_width(self) -> None:
        assert number(["02139", "20375", None]).width == 5
        assert number(["2139", "20375"]).width == 0
        assert number(["10", "20"]).width == 0

    def test_text_in_a_number_column(self) -> None:
        message = refusal(["4", "x", "y", None], Number("age"), first_line=2)
        assert "2 of 4 values are text (the first in line 3)" in message
        assert "age:nominal" in message

    @pytest.mark.parametrize("odd", [float("inf"), float("-inf"), float("nan")])
    def test_infinite_and_undefined_numbers_are_refused_with_counts(self, odd: float) -> None:
        assert "'age' has 2 values that are infinite or not a number" in refusal([1.5, odd, odd])
        assert "(the first in line 11)" in refusal([1.5, odd], first_line=10)

    @pytest.mark.parametrize("odd", ["inf", "NaN", "-Infinity"])
    def test_so_are_they_as_text(self, odd: str) -> None:
        assert "'age' has 1 values that are infinite or not a number" in refusal(["1.5", odd])

    def test_big_whole_numbers(self) -> None:
        largest = 10**18 - 1
        assert number([largest, -largest]).units.tolist() == [largest, -largest]
        with_missing = number([largest, None, -largest])
        assert with_missing.units_with_missing()[1] < -largest

    @pytest.mark.parametrize(
        "values",
        [
            pl.Series("age", [10**18]),
            pl.Series("age", [-(2**63)]),
            pl.Series("age", [2**64 - 1], dtype=pl.UInt64),
            pl.Series("age", [2**100], dtype=pl.Int128),
            pl.Series("age", ["5", "12345678901234567890"]),
            pl.Series("age", ["9" * 60]),
        ],
    )
    def test_larger_ones_are_refused(self, values: pl.Series) -> None:
        assert "'age' has 1 whole numbers of 19 digits or more" in refusal(values)

    @pytest.mark.parametrize("values", [[True], [dt.date(2020, 1, 1)], [dt.time(4)]])
    def test_other_types_are_no_numbers(self, values: list[object]) -> None:
        assert "is named as a number, but the column is of type" in refusal(values, Number("age"))

    def test_the_type_is_named_without_its_categories(self) -> None:
        stages = pl.Series("age", ["secret"], dtype=pl.Enum(["secret"]))
        assert "secret" not in refusal(stages, Date("age"))

    def test_a_missing_value_stands_outside_the_range(self) -> None:
        made = number([5, None, 15])
        assert made.is_missing is not None
        assert made.is_missing.tolist() == [False, True, False]
        assert made.units_with_missing().tolist() == [5, -5, 15]
        assert made.extent == (5, 15)

    @given(st.lists(st.integers(-(10**6), 10**6), min_size=1), st.integers(0, 6))
    def test_units_are_exact(self, units: list[int], decimals: int) -> None:
        made = number([unit / 10**decimals for unit in units])
        assert made.floats is None
        assert [Decimal(int(unit)).scaleb(-made.decimals) for unit in made.units] == [
            Decimal(unit).scaleb(-decimals) for unit in units
        ]


class TestOrdered:
    def test_the_order_given(self) -> None:
        made = number(["mid", "low", None, "high"], Ordered("age", order=("low", "mid", "high")))
        assert (made.units[[0, 1, 3]].tolist(), made.categories) == ([1, 0, 2], ("low", "mid", "high"))

    def test_values_that_the_order_does_not_name(self) -> None:
        message = refusal(["low", "unheard", "of"], Ordered("age", order=("low",)), first_line=2)
        assert "'age' has 2 values that its order does not name (the first in line 3)" in message
        assert "unheard" not in message

    def test_without_an_order_numbers_count_and_texts_spell(self) -> None:
        assert number(["10", "9", "1"], Ordered("age")).categories == ("1", "9", "10")
        assert number([10, 9, 1], Ordered("age")).categories == ("1", "9", "10")
        assert number(["b", "a"], Ordered("age")).categories == ("a", "b")

    def test_a_type_with_an_order_brings_it(self) -> None:
        stages = pl.Series(["high", "low"], dtype=pl.Enum(["low", "high"]))
        assert number(stages, Ordered("age")).units.tolist() == [1, 0]

    def test_nothing_but_missing_values(self) -> None:
        assert number(pl.Series([None, None], dtype=pl.String), Ordered("age")).categories == ()


class TestDates:
    def test_texts_of_the_usual_form(self) -> None:
        texts = ["1970-01-02", "1970-01-03 23:59", "1970-01-04T00:00:01.5", "1970-01-05T00:00:00Z", None]
        assert number(texts, Date("age")).units.tolist() == [1, 2, 3, 4, 0]

    @pytest.mark.parametrize("text", ["01/02/2024", "2024-13-01", "yesterday", "1999"])
    def test_other_forms_are_not_guessed(self, text: str) -> None:
        message = refusal(["2024-01-01", text], Date("age"), first_line=2)
        assert "1 of 2 values are not of the form 2024-12-31 (the first in line 3)" in message
        assert text not in message

    @pytest.mark.parametrize("values", [[5], [1.5], [True], [dt.time(5)], [dt.timedelta(1)]])
    def test_other_types_are_no_dates(self, values: list[object]) -> None:
        assert "holds no dates" in refusal(values, Date("age"))


class TestNominal:
    def test_numbers_as_categories(self) -> None:
        assert nominal([10, 9, 10], Nominal("age")).categories.to_list() == ["9", "10"]

    def test_not_a_number_is_missing(self) -> None:
        made = nominal([1.5, float("nan"), None], Nominal("age"))
        assert made.categories.to_list() == ["1.5"]
        assert made.codes.tolist() == [0, 1, 1]

    def test_a_hierarchy_must_cover_the_values(self) -> None:
        message = refusal(["20375", "99999"], Nominal("age", Hierarchy.of_prefixes(["20375"])))
        assert "misses 1 of 2 different values of column 'age'" in message
        assert "99999" not in message


values_of_any_type = st.one_of(
    st.lists(st.none() | st.integers(-5, 5), min_size=1),
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=1),
    st.lists(st.none() | st.text(max_size=3), min_size=1),
    st.lists(st.none() | st.booleans(), min_size=1),
    st.lists(st.none() | st.dates(), min_size=1),
    st.lists(st.none() | st.floats(allow_nan=False), min_size=1),
)


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def as_series(values: list[object]) -> pl.Series:
    return pl.Series("v", values, strict=False)


class TestCodes:
    @given(values_of_any_type)
    def test_codes_follow_the_sorted_values_and_missing_comes_last(self, values: list[object]) -> None:
        codes, distinct = code_values(as_series(values))
        ordered = sorted({value for value in values if value is not None})  # type: ignore[type-var]
        assume(not (ordered and all(isinstance(value, str) and is_number(value) for value in ordered)))
        assert distinct.to_list() == ordered
        assert codes.tolist() == [len(ordered) if value is None else ordered.index(value) for value in values]

    @given(st.lists(st.none() | st.sampled_from("dbac"), min_size=1), st.sampled_from([pl.Categorical, "enum"]))
    def test_so_do_codes_of_dictionary_encoded_texts(self, values: list[str | None], kind: object) -> None:
        dtype = pl.Enum(["d", "c", "unused", "b", "a"]) if kind == "enum" else pl.Categorical
        codes, distinct = code_values(pl.Series(values, dtype=pl.String).cast(dtype))
        plain_codes, plain_distinct = code_values(pl.Series(values, dtype=pl.String))
        assert distinct.to_list() == plain_distinct.to_list()
        assert codes.tolist() == plain_codes.tolist()

    def test_not_a_number_counts_as_missing(self) -> None:
        codes, distinct = code_values(pl.Series([2.0, float("nan"), None, 1.0]))
        assert (codes.tolist(), distinct.to_list()) == ([1, 2, 2, 0], [1.0, 2.0])

    def test_whole_numbers_of_128_bits(self) -> None:
        codes, distinct = code_values(pl.Series([2**100, 5, 2**100], dtype=pl.Int128))
        assert (codes.tolist(), distinct.to_list()) == ([1, 0, 1], [5, 2**100])

    def test_a_column_knows_whether_values_are_missing(self) -> None:
        assert category_column(pl.Series(["a", None])).has_missing
        assert category_column(pl.Series(["a", None])).n_codes == 2
        assert not category_column(pl.Series(["a", "b"])).has_missing
        assert category_column(pl.Series(["a", "b"])).codes.dtype == np.int32


def test_texts_that_are_all_numbers_are_coded_in_the_order_of_numbers() -> None:
    codes, distinct = code_values(pl.Series(["10", "9", None, "9.5", "100", "9"]))
    assert distinct.to_list() == ["9", "9.5", "10", "100"]
    assert codes.tolist() == [2, 0, 4, 1, 3, 0]
    codes, distinct = code_values(pl.Series(["10", "9", "x"]))
    assert distinct.to_list() == ["10", "9", "x"]
