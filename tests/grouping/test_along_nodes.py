"""Trees know hierarchies: what a tree of values holds together lies close, and groups along nodes are kept."""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shoal
from shoal.grouping import BalanceTree, LocalRecoding, Method, Mondrian, balance_tree
from shoal.grouping.along_nodes import AlongNodes
from shoal.grouping.person_space import person_space
from shoal.grouping.tree import what_is_counted
from shoal.measuring.utility import measure_utility
from shoal.models import GBalance, HAffiliation, KAnonymity, LDiversity, Model, PersonKAnonymity, TCloseness
from shoal.table.columns import NumberColumn
from shoal.table.hierarchy import Hierarchy
from shoal.table.lines import LENGTH, on_lines
from shoal.table.schema import Nominal, Number, Schema
from shoal.table.table import Table
from tests.grouping.tables import SENSITIVE, Small, assume_feasible, small_tables

PROJECT = Path(__file__).resolve().parents[2]
ADULT = PROJECT / os.environ.get("SHOAL_DATA", "../shared/data") / "adult"

LETTERS = Hierarchy.from_rows([["a", "ab", "*"], ["c", "cd", "*"], ["b", "ab", "*"], ["d", "cd", "*"]])
NUMBERS = Hierarchy.of_intervals(low=-100_000, width=10, high=100_000, factor=10)
METHODS: list[Method] = [
    BalanceTree(),
    BalanceTree(effort="low"),
    BalanceTree(cut="median"),
    BalanceTree(alpha=0.5),
    Mondrian(),
    Mondrian(spread="z-score"),
]
MODELS: list[list[Model]] = [
    [PersonKAnonymity(k=2)],
    [KAnonymity(k=3)],
    [GBalance(g=0.5), HAffiliation(h=0.8)],
    [LDiversity(l=2, kind="distinct"), PersonKAnonymity(k=2)],
    [TCloseness(t=0.5)],
]


class Layered(Small):
    """A small table in which every second quasi-identifier has a hierarchy, the first among them."""

    @property
    def schema(self) -> Schema:
        kinds = {"number": (Number, NUMBERS), "nominal": (Nominal, LETTERS)}
        quasi = [
            kinds[kind][0](name, kinds[kind][1] if place % 2 == 0 else None)
            for place, (name, kind) in enumerate(self.attributes)
        ]
        return Schema(person="person" if self.has_person_column else None, quasi=quasi, sensitive=[SENSITIVE])


layered = small_tables().map(lambda small: Layered(small.records, small.attributes, small.has_person_column))


def table_of(letters: str, **columns: list[int]) -> Table:
    frame = pl.DataFrame({"letter": list(letters), **columns}).with_columns(s=pl.lit("x"))
    return Table.from_frame(frame, Schema(quasi=[Nominal("letter", LETTERS), *columns], sensitive=["s"]))


def test_neighbours_on_the_line_are_as_far_apart_as_the_node_above_them_reaches() -> None:
    """a and b have a third of the other values between them, as c and d have; b and c have all."""
    laid = on_lines(table_of("abcd")).quasi["letter"]
    assert isinstance(laid, NumberColumn)
    assert laid.laid is not None
    assert laid.laid.place.tolist() == [round(LENGTH * place / 5) for place in (0, 1, 4, 5)]


def test_a_missing_value_stands_apart_on_the_line() -> None:
    frame = pl.DataFrame({"letter": ["a", "b", None]}).with_columns(s=pl.lit("x"))
    laid = on_lines(Table.from_frame(frame, Schema(quasi=[Nominal("letter", LETTERS)], sensitive=["s"])))
    column = laid.quasi["letter"]
    assert isinstance(column, NumberColumn)
    assert column.laid is not None
    assert column.laid.place.tolist() == [0, LENGTH / 4, LENGTH]


def test_a_table_without_hierarchies_is_grouped_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the table itself that is cut, and no cells are looked for."""
    frame = pl.DataFrame({"age": list(range(20)), "s": ["x", "y"] * 10})
    table = Table.from_frame(frame, Schema(quasi=["age"], sensitive=["s"]))
    assert on_lines(table) is table
    monkeypatch.setattr(balance_tree, "AlongNodes", None)
    assert BalanceTree().group(table, [KAnonymity(k=5)]).n_groups == 4


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_a_tree_does_not_part_what_a_node_holds_together(method: Method) -> None:
    """Flat categories would be cut a against the rest first: two of the four would then be published as '*'."""
    frame = pl.DataFrame({"letter": list("aaabbbcccddd"), "s": ["x", "y"] * 6})
    table = Table.from_frame(frame, Schema(quasi=[Nominal("letter", LETTERS)], sensitive=["s"]))
    grouping = method.group(table, [KAnonymity(k=6)])
    assert grouping.n_groups == 2
    assert grouping.group_of_person[[0, 3, 6, 9]].tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])


@settings(max_examples=60, deadline=None)
@given(layered, st.sampled_from(METHODS), st.sampled_from(MODELS), st.randoms(use_true_random=False))
def test_groups_meet_the_models_in_whatever_order_records_stand(
    small: Layered, method: Method, models: list[Model], chance: random.Random
) -> None:
    assume_feasible(small, models)
    assume(len({disease for *_, disease in small.records}) > 1)  # else there is nothing to mix
    groups = small.groups(method.group(small.table, models))
    asked = small.holds(models)
    for group in groups:
        assert asked([record for at, record in enumerate(small.records) if _name(small, at) in group])
    if small.has_person_column:
        shuffled = Layered(chance.sample(small.records, len(small.records)), small.attributes)
        assert shuffled.groups(method.group(shuffled.table, models)) == groups


def _name(small: Small, at: int) -> object:
    return small.records[at][0] if small.has_person_column else at


@settings(max_examples=40, deadline=None)
@given(small_tables(kinds=("nominal", "nominal"), person_column=False, max_persons=30), st.sampled_from(MODELS))
def test_a_balance_tree_shows_no_less_than_local_recoding(small: Small, models: list[Model]) -> None:
    assume_feasible(small, models)
    table = Layered(small.records, small.attributes, has_person_column=False).table
    tree, recoding = (
        measure_utility(table, method.group(table, models)).granularity
        for method in (BalanceTree(effort="low"), LocalRecoding(effort="low"))
    )
    assert tree >= recoding - 1e-9


@settings(max_examples=40, deadline=None)
@given(small_tables(person_column=False, may_miss=False), st.integers(0, 100))
def test_groups_are_priced_by_what_they_would_show(small: Small, seed: int) -> None:
    """With one record per person the price is what granularity leaves of 1."""
    table = Layered(small.records, small.attributes, has_person_column=False).table
    laid = on_lines(table)
    group = np.random.default_rng(seed).integers(0, 3, table.n_persons).astype(np.int32)
    _, group = np.unique(group, return_inverse=True)
    grouping = shoal.grouping.Grouping(group.astype(np.int32), int(group.max()) + 1)
    along = AlongNodes(laid, person_space(laid, **what_is_counted([])))
    assert along.loss(grouping) == pytest.approx(1 - measure_utility(table, grouping).granularity, abs=1e-6)


@settings(max_examples=30, deadline=None)
@given(layered, st.lists(st.sampled_from(MODELS[:4]), min_size=1, max_size=3), st.sampled_from(["low", "normal"]))
def test_a_tree_with_memory_is_the_tree_without(small: Layered, asked: list[list[Model]], effort: str) -> None:
    table, method = small.table, BalanceTree(effort=effort)
    prepared = method.prepared(table)
    assert prepared is not None
    for models in asked:
        assume_feasible(small, models)
        assert (prepared.group(models).group_of_person == method.group(table, models).group_of_person).all()


def test_a_tree_that_goes_on_from_parts_keeps_them_apart() -> None:
    table = table_of("abcd" * 10, age=list(range(40)))
    space = person_space(on_lines(table), with_variance=False, **what_is_counted([]))
    part = (np.arange(40) % 3).astype(np.int32)
    grouping = balance_tree._grown(space.parted(part, 3), [KAnonymity(k=3)], lambda stage, done: None)
    parts_of_group = {(group, of) for group, of in zip(grouping.group_of_person.tolist(), part.tolist(), strict=True)}
    assert len(parts_of_group) == grouping.n_groups > 3


@pytest.mark.data
@pytest.mark.skipif(not ADULT.is_dir(), reason="the table Adult is not in the folder that SHOAL_DATA names")
def test_adult_with_the_hierarchies_of_arx() -> None:
    """ARX 3.9.2 has 0.9671 in its example setting, run beside it."""
    frame = pl.read_csv(ADULT / "adult_arx.csv", separator=";", infer_schema=False)
    quasi = [
        Nominal(name, Hierarchy.read_arx_csv(ADULT / "hierarchies_arx" / f"adult_hierarchy_{name}.csv"))
        for name in frame.columns
        if name != "occupation"
    ]
    table = Table.from_frame(frame, Schema(quasi=quasi, sensitive=["occupation"]))
    reached = {
        method.name: measure_utility(table, method.group(table, [KAnonymity(k=5)])).granularity
        for method in (BalanceTree(), Mondrian())
    }
    assert reached["balance-tree"] >= 0.9671
    assert reached["mondrian"] >= 0.91
