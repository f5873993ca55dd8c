"""The attack with background knowledge on Adult, with the paper's rules: with matching diversity, and without."""

from __future__ import annotations

import polars as pl
import pytest

import shoal
from tests.golden.test_inject_mining import adult, schema  # noqa: F401 - fixtures


@pytest.mark.data
@pytest.mark.parametrize("least", [3, 6])
@pytest.mark.parametrize("method", ["balance-tree", "mondrian"])
def test_nobody_on_adult_is_vulnerable_and_without_it_some_are(
    adult: pl.DataFrame,  # noqa: F811
    schema: shoal.Schema,  # noqa: F811
    method: str,
    least: int,
) -> None:
    """24 rules at a minimum expectation of 0.9, as the paper's adversary finds them in the table itself."""
    released = shoal.protect(adult, schema, [shoal.MatchingDiversity(l=least)], method=method, mask="anatomize")
    assert released.rules is not None
    assert len(released.rules) == 24
    assert released.verdict.models[0].checked_from == "published table"
    tables = released.published.tables
    (found,) = shoal.attacking.attack_background(released.data, schema, released.rules, l=least, tables=tables)
    assert (found.vulnerable_by_matching, found.vulnerable_by_elimination, found.fewest) == (0, 0, least)
    diverse = shoal.protect(adult, schema, [shoal.LDiversity(l=least, kind="distinct")], method=method, mask="permute")
    (exposed,) = shoal.attacking.attack_background(diverse.data, schema, released.rules, l=least, mask="permute")
    assert exposed.vulnerable_without_rules == 0
    assert exposed.vulnerable_by_matching >= exposed.vulnerable_by_elimination > 0
