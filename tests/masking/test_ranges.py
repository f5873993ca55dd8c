"""Mask "range": ranges as the papers write them, sets, ancestors, and missing values that stay visible."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import Date, Hierarchy, Nominal, Number, Ordered
from shoal.errors import ParameterError, SchemaError
from shoal.masking import Range
from tests.masking.showing import shown

RANGES = Range()
CODED = Range(code_extremes=True)


class TestNumbers:
    def test_ranges_are_written_as_the_papers_do_and_a_single_value_stays_itself(self) -> None:
        assert shown(RANGES, [84, 86, 70, 70], [0, 0, 1, 1]) == ["84-86", "70"]

    def test_negative_numbers_are_joined_by_to_in_the_whole_column(self) -> None:
        assert shown(RANGES, [-5, -2, 3, 7], [0, 0, 1, 1]) == ["-5 to -2", "3 to 7"]
        assert shown(RANGES, [-0.5, 2.0], [0, 0]) == ["-0.5 to 2"]

    def test_padded_zips_keep_their_zeros(self) -> None:
        assert shown(RANGES, ["02139", "02140", "20375", "20375"], [0, 0, 1, 1]) == ["02139-02140", "20375"]
        assert shown(RANGES, ["00000", "00501"], [0, 0]) == ["00000-00501"]

    def test_decimals_carry_no_float_noise(self) -> None:
        assert shown(RANGES, [0.1, 0.3, 1.1, 2.2], [0, 0, 1, 1]) == ["0.1-0.3", "1.1-2.2"]
        assert shown(RANGES, ["36.60", "37.1"], [0, 0]) == ["36.6-37.1"]
        assert shown(RANGES, [1e-9, 3e-9, 1000000.5], [0, 0, 1]) == ["0.000000001-0.000000003", "1000000.5"]

    def test_floats_with_many_decimals_show_real_values(self) -> None:
        assert shown(RANGES, [1 / 3, 2 / 3, 2.0, 2.0], [0, 0, 1, 1]) == [f"{1 / 3}-{2 / 3}", "2"]
        assert shown(RANGES, [1.2e-20, 5.3e-20], [0, 0]) == ["1.2e-20 to 5.3e-20"]

    def test_big_numbers_are_exact(self) -> None:
        big = 10**18 - 1
        assert shown(RANGES, [big, big - 1], [0, 0]) == [f"{big - 1}-{big}"]

    @given(st.lists(st.tuples(st.integers(-50, 50) | st.none(), st.integers(0, 3)), min_size=1, max_size=30))
    def test_a_label_covers_exactly_its_group(self, rows: list[tuple[int | None, int]]) -> None:
        numbers = sorted({group for _, group in rows})
        groups = [numbers.index(group) for _, group in rows]
        labels = shown(RANGES, pl.Series([value for value, _ in rows], dtype=pl.Int64), groups, Number("q"))
        joint = " to " if any(value is not None and value < 0 for value, _ in rows) else "-"
        for group, label in enumerate(labels):
            own = [value for (value, _), other in zip(rows, groups, strict=True) if other == group]
            present = [value for value in own if value is not None]
            if not present:
                assert label is None
                continue
            low, high = min(present), max(present)
            expected = str(low) if low == high else f"{low}{joint}{high}"
            assert label == expected + (" or missing" if len(present) < len(own) else "")


class TestOtherOrders:
    def test_dates(self) -> None:
        days = [dt.date(2020, 1, 1), dt.date(2020, 3, 1), dt.date(2021, 5, 5)]
        assert shown(RANGES, days, [0, 0, 1]) == ["2020-01-01 to 2020-03-01", "2021-05-05"]
        assert shown(RANGES, ["1969-12-31", "1970-01-01"], [0, 0], Date("q")) == ["1969-12-31 to 1970-01-01"]

    def test_ordered_categories(self) -> None:
        order = Ordered("q", order=("none", "low", "mid", "high"))
        stages = ["low", "mid", "none", "high", "high", "high"]
        assert shown(RANGES, stages, [0, 0, 1, 1, 2, 2], order) == ["low to mid", "*", "high"]

    def test_an_order_that_is_not_covered_is_not_everything(self) -> None:
        order = Ordered("q", order=("none", "low", "mid", "high"))
        assert shown(RANGES, ["low", "high"], [0, 0], order) == ["low to high"]

    def test_nothing_but_missing_values(self) -> None:
        nothing = pl.Series([None, None], dtype=pl.String)
        for kind in (Ordered("q"), Number("q"), Date("q"), Nominal("q")):
            assert shown(RANGES, nothing, [0, 1], kind) == [None, None]
            assert shown(CODED, nothing, [0, 1], kind) == [None, None]


class TestCategories:
    def test_sets_are_sorted_and_everything_is_a_star(self) -> None:
        labels = shown(RANGES, ["f", "m", "x", "m", "m", "x", "f"], [0, 0, 1, 1, 2, 3, 3])
        assert labels == ["{f, m}", "{m, x}", "m", "{f, x}"]
        assert shown(RANGES, ["f", "m", "x", "f"], [0, 0, 0, 1]) == ["*", "f"]

    def test_a_column_of_one_category_shows_it(self) -> None:
        assert shown(RANGES, ["f", "f"], [0, 0]) == ["f"]

    def test_booleans_and_dictionary_encoded_texts(self) -> None:
        assert shown(RANGES, [True, True, False], [0, 0, 1]) == ["true", "false"]
        categories = pl.Series(["a", "b", "c"], dtype=pl.Enum(["c", "unused", "b", "a"]))
        assert shown(RANGES, categories, [0, 0, 1]) == ["{a, b}", "c"]
        assert shown(RANGES, categories, [0, 0, 0]) == ["*"]  # of the categories that the table has

    def test_numbers_as_categories_keep_their_spelling(self) -> None:
        assert shown(RANGES, ["02139", "2139"], [0, 1], Nominal("q")) == ["02139", "2139"]


class TestMissing:
    def test_a_missing_value_is_shown(self) -> None:
        assert shown(RANGES, [84, None, 86, None], [0, 0, 0, 1]) == ["84-86 or missing", None]
        assert shown(RANGES, ["f", None, "m", None], [0, 0, 1, 2]) == ["{f, missing}", "m", None]

    def test_everything_is_everything_only_with_the_missing_value(self) -> None:
        assert shown(RANGES, ["f", "m", None, "f", "m"], [0, 0, 0, 1, 1]) == ["*", "{f, m}"]

    def test_a_hierarchy_does_not_hide_it(self) -> None:
        zips = ["20375", None, "20376", None]
        hierarchy = Hierarchy.of_prefixes(["20375", "20376"])
        assert shown(RANGES, zips, [0, 0, 0, 1], Nominal("q", hierarchy)) == ["2037* or missing", None]


class TestHierarchies:
    def test_the_lowest_common_ancestor(self) -> None:
        zips = ["20375", "20376", "20400", "20400", "90210", "20375"]
        nominal = Nominal("q", Hierarchy.of_prefixes(zips))
        assert shown(RANGES, zips, [0, 0, 1, 1, 2, 2], nominal) == ["2037*", "20400", "{20375, 90210}"]

    def test_a_node_that_covers_most_gives_way_to_a_few_below_it(self) -> None:
        """Each node is the lowest above the values it stands for, and only what leaves less open is shown."""
        rows = [["a", "ab", "abc", "*"], ["b", "ab", "abc", "*"], ["c", "c", "abc", "*"], ["d", "de", "def", "*"],
                ["e", "de", "def", "*"], ["f", "f", "def", "*"]]  # fmt: skip
        nominal = Nominal("q", Hierarchy.from_rows(rows))
        assert shown(RANGES, list("abd" + "abcdef"), [0] * 3 + [1] * 6, nominal) == ["{ab, d}", "*"]
        assert shown(RANGES, list("abc" + "defc"), [0] * 3 + [1] * 4, nominal) == ["abc", "{c, def}"]
        assert shown(RANGES, ["a", "f", None, "b"], [0, 0, 0, 1], nominal) == ["{a, f} or missing", "b"]

    def test_more_than_four_nodes_are_not_listed(self) -> None:
        nominal = Nominal("q", Hierarchy.from_rows([[letter, "*"] for letter in "abcdefgh"]))
        assert shown(RANGES, list("abcd" + "efghb"), [0] * 4 + [1] * 5, nominal) == ["{a, b, c, d}", "*"]

    @pytest.mark.parametrize(
        "rows",
        [
            [["a, b", "*"], ["c", "*"], ["d", "*"]],  # {a, b, c} could be three values
            [["{a", "*"], ["c", "*"], ["d", "*"]],
            [["a", "x", "*"], ["c", "y", "*"], ["x", "z", "*"]],  # x is a value and a node
        ],
    )
    def test_labels_that_could_be_misread_are_not_listed(self, rows: list[list[str]]) -> None:
        nominal = Nominal("q", Hierarchy.from_rows(rows))
        values = [row[0] for row in rows]
        assert shown(RANGES, [values[0], values[2], values[1]], [0, 0, 1], nominal)[0] == "*"

    def test_intervals_over_numbers(self) -> None:
        ages = Number("q", Hierarchy.of_intervals(low=20, width=5, high=99))
        assert shown(RANGES, [21, 23, 23, 31, 21, 21], [0, 0, 1, 1, 2, 2], ages)[0] == "20-24"
        assert shown(RANGES, [21, 23, 31], [0, 0, 1], ages) == ["20-24", "31"]

    def test_intervals_need_not_cover_what_stands_for_a_missing_value(self) -> None:
        ages = Number("q", Hierarchy.of_intervals(low=20, width=5, high=99))
        assert shown(RANGES, [21, None, 23, None], [0, 0, 0, 1], ages) == ["20-24 or missing", None]

    def test_intervals_over_decimals_and_floats(self) -> None:
        doses = Number("q", Hierarchy.of_intervals(low=0, width=0.5, high=4))
        assert shown(RANGES, [1.5, 1.75, 3.0], [0, 0, 1], doses) == ["[1.5, 2.0)", "3"]
        assert shown(RANGES, [5 / 3, 7 / 4, 3.0], [0, 0, 1], doses) == ["[1.5, 2.0)", "3"]

    def test_numbers_outside_the_intervals_are_counted(self) -> None:
        ages = Number("q", Hierarchy.of_intervals(low=20, width=5, high=29))
        with pytest.raises(SchemaError, match="misses 2 of 3 different values of column 'q'"):
            shown(RANGES, [21, 30, 31], [0, 0, 0], ages)


class TestCodedExtremes:
    def test_an_extreme_of_one_person_is_not_shown(self) -> None:
        ages = [3, 17, 40, 41, 88, 104]
        assert shown(RANGES, ages, [0, 0, 1, 1, 2, 2]) == ["3-17", "40-41", "88-104"]
        assert shown(CODED, ages, [0, 0, 1, 1, 2, 2]) == ["17 or less", "40-41", "at least 88"]

    def test_an_extreme_of_two_persons_stays(self) -> None:
        assert shown(CODED, [3, 3, 40, 104, 104], [0, 0, 0, 1, 1]) == ["3-40", "104"]

    def test_two_records_of_one_person_are_one_person(self) -> None:
        assert shown(CODED, [3, 3, 17, 40, 40], [0, 0, 0, 1, 1], persons=[0, 0, 1, 2, 3]) == ["17 or less", "40"]

    def test_the_neighbour_is_another_persons_value(self) -> None:
        """The lone person's own second value must not become the end of the range."""
        assert shown(CODED, [3, 4, 17, 17], [0, 0, 1, 1], persons=[0, 0, 1, 2]) == ["17 or less", "17"]

    def test_a_group_that_reaches_both_lone_ends_shows_everything(self) -> None:
        assert shown(CODED, [3, 50, 104], [0, 0, 0]) == ["*"]

    def test_decimals_floats_and_dates(self) -> None:
        assert shown(CODED, [0.5, 1.5, 2.5, 2.5], [0, 0, 1, 1]) == ["1.5 or less", "2.5"]
        assert shown(CODED, [1 / 3, 1.5, 2.5, 2.5], [0, 0, 1, 1]) == ["1.5 or less", "2.5"]
        days = [dt.date(2020, 1, 1), dt.date(2020, 3, 1), dt.date(2021, 5, 5), dt.date(2021, 5, 5)]
        assert shown(CODED, days, [0, 0, 1, 1]) == ["2020-03-01 or less", "2021-05-05"]

    def test_missing_values_have_no_extreme(self) -> None:
        assert shown(CODED, [3, None, 17, 40, 40], [0, 0, 0, 1, 1]) == ["17 or less or missing", "40"]

    def test_one_person_with_values_has_no_neighbour(self) -> None:
        assert shown(CODED, [3, None], [0, 1]) == ["3", None]

    @given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 4)), min_size=2, max_size=20))
    def test_no_label_names_a_lone_extreme(self, rows: list[tuple[int, int]]) -> None:
        numbers = sorted({person for _, person in rows})
        persons = [numbers.index(person) for _, person in rows]
        values = [100 + value for value, _ in rows]
        labels = shown(CODED, values, [0] * len(rows), persons=persons)
        for extreme in (min(values), max(values)):
            owners = {person for value, person in zip(values, persons, strict=True) if value == extreme}
            if len(owners) == 1 and len(numbers) > 1:
                assert str(extreme) not in str(labels[0])

    @pytest.mark.parametrize("wrong", ["yes", 1, None])
    def test_the_option_is_a_choice_of_two(self, wrong: object) -> None:
        with pytest.raises(ParameterError, match="code_extremes must be true or false"):
            Range(code_extremes=wrong)  # type: ignore[arg-type]
