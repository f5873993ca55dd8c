"""Errors of queries and association rules on the Adult table, as Li and Li (2008) measure them, where it is at hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import shoal
from shoal.attacking.mining.adversary import against_adversary
from shoal.grouping import Anatomy, Buckets
from shoal.masking.anatomize import Anatomize
from shoal.measuring.associations import association_error_of, association_rules
from shoal.measuring.conjunctions import Mining
from shoal.measuring.queries import query_error_of
from shoal.table.table import Table
from studies.census import QUASI, SENSITIVE, schema
from studies.data import MissingDataError, adult

pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def table() -> Table:
    try:
        return Table.from_frame(adult().select(*QUASI, SENSITIVE), schema())
    except MissingDataError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(("min_conviction", "n_rules"), [(1.005, 1305), (1.05, 663), (1.1, 327)])
def test_the_rules_of_the_study(table: Table, min_conviction: float, n_rules: int) -> None:
    rules = association_rules(table, mining=Mining(min_conviction=min_conviction))
    assert len(rules) == n_rules
    best = rules[0]
    records = table.frame
    for item in best.when:
        hierarchy = table.quasi[item.column].source.hierarchy  # type: ignore[union-attr]
        under = [path[0] for path in hierarchy.paths if item.node in path]  # type: ignore[union-attr]
        records = records.filter(records[item.column].is_in(under))
    share = (records[SENSITIVE] == best.then.node).mean()
    assert best.confidence == pytest.approx(share)


@pytest.mark.parametrize("least", [3, 6])
def test_groups_of_similar_persons_keep_more_than_anatomy(table: Table, least: int) -> None:
    facing, models = against_adversary(table, [shoal.MatchingDiversity(l=least)], is_linked=False)
    rng = np.random.default_rng(0)
    similar = Buckets().group(facing, models, rng=rng)
    random = Anatomy().group(table, [shoal.LDiversity(l=least, kind="distinct")], rng=rng)
    errors = []
    for grouping in (similar, random):
        release = SimpleNamespace(table=table, published=Anatomize().publish(table, grouping), mask=Anatomize())
        rules = association_error_of(release)
        counts = query_error_of(release, n=500, seed=1)
        errors.append((rules.confidence, rules.false_negatives, counts.all))
    assert all(own <= other for own, other in zip(*errors, strict=True)), errors
    assert errors[0][0] < errors[1][0]  # type: ignore[operator]
    assert errors[0][2] < errors[1][2]  # type: ignore[operator]
