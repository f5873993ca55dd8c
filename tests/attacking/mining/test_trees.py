"""The nodes of a column: each value lies under the nodes that cover it, and parents cover what their children do."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shoal.attacking.mining.nodes import Values, read_values
from shoal.attacking.mining.trees import ABSENT, ValueTree, tree_of
from shoal.table.hierarchy import Hierarchy
from shoal.table.schema import Date, Nominal, Number, Quasi


def covered(tree: ValueTree, node: int) -> np.ndarray:
    return (tree.node_of_code == node).any(axis=1)


def check(values: Values, tree: ValueTree) -> None:
    """What the tree says of a node is what the label says, and a parent has all that its children have."""
    assert len(set(tree.labels)) == tree.n_nodes
    for node, label in enumerate(tree.labels):
        by_label = values.covered_by(label)
        assert by_label is not None
        assert by_label.tolist() == covered(tree, node).tolist()
        if tree.parent[node] != ABSENT:
            assert (covered(tree, tree.parent[node]) >= covered(tree, node)).all()
    for code in range(values.n_codes):
        chain = [node for node in tree.node_of_code[code] if node != ABSENT]
        assert chain
        assert [tree.parent[node] for node in chain] == [*chain[1:], ABSENT]


whole = st.lists(st.none() | st.integers(-2000, 2000), min_size=1, max_size=30)
decimals = st.lists(st.none() | st.integers(-2000, 2000).map(lambda n: n / 100), min_size=1, max_size=30)
floats = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20)


@given(whole | decimals | floats)
def test_intervals_of_numbers(numbers: list[Any]) -> None:
    assume(any(number is not None for number in numbers))
    values = read_values(pl.Series("q", numbers), Number("q"))
    check(values, tree_of(values))


@given(st.lists(st.none() | st.dates(), min_size=1, max_size=20))
def test_months_and_years_of_dates(dates: list[Any]) -> None:
    values = read_values(pl.Series("q", dates, dtype=pl.Date), Date("q"))
    check(values, tree_of(values))


@given(st.lists(st.integers(0, 99), min_size=1, max_size=20))
def test_a_hierarchy_of_intervals(numbers: list[int]) -> None:
    values = read_values(pl.Series("q", numbers), Number("q", Hierarchy.of_intervals(low=0, width=5, high=99)))
    check(values, tree_of(values))


@given(st.lists(st.sampled_from(["02139", "02140", "90210", "x", None]), min_size=1, max_size=9))
def test_a_listed_hierarchy(codes: list[str | None]) -> None:
    rows = [["02139", "021", "0", "*"], ["02140", "021", "0", "*"], ["90210", "902", "9", "*"], ["x", "x", "9", "*"]]
    values = read_values(pl.Series("q", codes, dtype=pl.String), Nominal("q", Hierarchy.from_rows(rows)))
    check(values, tree_of(values))


@given(st.lists(st.sampled_from(["a", "b", None]), min_size=1, max_size=9))
def test_values_alone(codes: list[str | None]) -> None:
    values = read_values(pl.Series("q", codes, dtype=pl.String), Nominal("q"))
    tree = tree_of(values)
    check(values, tree)
    assert (tree.parent == ABSENT).all()


def test_ages_by_five_ten_and_twenty_years() -> None:
    values = read_values(pl.Series("age", [17, 18, 45, 90]), Quasi("age"))
    assert tree_of(values).labels == (
        "17", "18", "45", "90",
        "15-19", "45-49", "90-94", "10-19", "40-49", "0-19", "40-59", "80-94", "0-39", "40-79", "0-79",
    )  # fmt: skip


def test_rare_numbers_may_go_without_a_node_of_their_own() -> None:
    values = read_values(pl.Series("age", [17, 17, 45, None]), Quasi("age"))
    tree = tree_of(values, is_enough=np.array([True, False, False]))
    assert "17" in tree.labels
    assert "45" not in tree.labels
    assert "missing" in tree.labels
    assert tree.parent[tree.labels.index("17")] == tree.labels.index("16-17")


@pytest.mark.parametrize(
    ("margin", "degree"), [(0.0, [0, 1, 0, 0]), (2.0, [0.5, 1, 0.5, 0]), (4.0, [0.75, 1, 0.75, 0.25])]
)
def test_a_margin_is_a_trapezoid_around_a_node(margin: float, degree: list[float]) -> None:
    rows = [[str(age), "*"] for age in range(20, 25)]
    values = read_values(pl.Series("age", [20, 21, 22, 24]), Number("age", Hierarchy.from_rows(rows)))
    tree = tree_of(values)
    start, nodes, degrees = tree.memberships(values.numbers, margin)
    found = np.zeros((values.n_codes, tree.n_nodes))
    for code in range(values.n_codes):
        found[code, nodes[start[code] : start[code + 1]]] = degrees[start[code] : start[code + 1]]
    assert found[:, tree.labels.index("21")].tolist() == degree


@pytest.mark.parametrize("numbers", [[0.0, 5e-324], [0.0, 1.7e308], [-1.7e308, 1.7e308], [1e-310, 2e-310, 3e-310]])
def test_numbers_at_the_edge_of_floats_have_no_intervals(numbers: list[float]) -> None:
    from shoal.attacking.mining.trees import _intervals

    assert list(_intervals(np.array(numbers))) == []
