"""Mask "suppress": a value only where the whole group has it."""

from __future__ import annotations

import datetime as dt

from shoal import Hierarchy, Nominal, Number
from shoal.masking import Suppress
from tests.masking.showing import shown

SUPPRESS = Suppress()


def test_numbers_dates_and_categories() -> None:
    assert shown(SUPPRESS, [5, 5, 6, 7], [0, 0, 1, 1]) == ["5", "*"]
    assert shown(SUPPRESS, ["a", "a", "b", "c"], [0, 0, 1, 1]) == ["a", "*"]
    assert shown(SUPPRESS, [dt.date(2020, 1, 1)] * 2, [0, 0]) == ["2020-01-01"]
    assert shown(SUPPRESS, [1 / 3, 1 / 3, 2 / 3, 1.0], [0, 0, 1, 1]) == [str(1 / 3), "*"]


def test_a_missing_value_agrees_with_missing_values_only() -> None:
    assert shown(SUPPRESS, [5, None, None, None], [0, 0, 1, 1]) == ["*", None]
    assert shown(SUPPRESS, ["a", None, None, None], [0, 0, 1, 1]) == ["*", None]


def test_a_hierarchy_shows_no_ancestors() -> None:
    zips = ["20375", "20376", "20400", "20400"]
    assert shown(SUPPRESS, zips, [0, 0, 1, 1], Nominal("q", Hierarchy.of_prefixes(zips))) == ["*", "20400"]
    ages = Number("q", Hierarchy.of_intervals(low=20, width=5, high=99))
    assert shown(SUPPRESS, [21, 22, 23, 23], [0, 0, 1, 1], ages) == ["*", "23"]
