"""Trees that go on from earlier trees are the trees that grow by themselves."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.grouping.balance_tree import BalanceTree
from shoal.grouping.feasibility import counts_of_whole
from shoal.grouping.memory import Memory, PreparedTree, RememberedSweep
from shoal.grouping.person_space import person_space
from shoal.models import Model
from shoal.table.table import Table

SCHEMA = shoal.Schema(person="p", quasi=["a", "b", shoal.Nominal("c")], sensitive=["s"])


def table_of(seed: int, n_persons: int) -> Table:
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(n_persons), rng.integers(1, 5, n_persons))
    n = len(person)
    frame = pl.DataFrame(
        {
            "p": person,
            "a": rng.integers(0, 12, n_persons)[person],
            "b": rng.integers(0, 9, n),
            "c": rng.choice(["x", "y", "z"], n),
            "s": rng.choice(["u", "v", "w", "t"], n),
        }
    )
    return Table.from_frame(frame, SCHEMA)


asked: st.SearchStrategy[list[Model]] = st.lists(
    st.one_of(
        st.integers(1, 9).map(lambda tenths: shoal.RecordRisk(rho=f"0.{tenths}")),
        st.integers(1, 9).map(lambda tenths: shoal.GBalance(g=f"0.{tenths}")),
        st.integers(1, 8).map(lambda k: shoal.PersonKAnonymity(k=k)),
        st.integers(1, 12).map(lambda k: shoal.KAnonymity(k=k)),
        st.integers(4, 9).map(lambda tenths: shoal.HAffiliation(h=f"0.{tenths}")),
        st.integers(1, 5).map(lambda k: shoal.EntropyBalance(k=k)),
    ),
    min_size=1,
    max_size=3,
)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 20), st.integers(2, 60), st.lists(asked, min_size=1, max_size=6), st.sampled_from(["low", "normal"])
)  # fmt: skip
def test_a_tree_with_memory_is_the_tree_without(
    seed: int, n_persons: int, settings_: list[list[Model]], effort: str
) -> None:
    table, method = table_of(seed, n_persons), BalanceTree(effort=effort)
    prepared = PreparedTree(method, table)
    for models in settings_:
        whole = counts_of_whole(table, models)
        if not all(model.holds(whole).all() for model in models):
            continue
        remembered, alone = prepared.group(models), method.group(table, models)
        assert remembered.n_groups == alone.n_groups
        assert (remembered.group_of_person == alone.group_of_person).all()


def test_nodes_are_not_swept_again_where_their_cut_stays_feasible() -> None:
    table = table_of(1, 400)
    models = [shoal.RecordRisk(rho="0.2")]
    prepared = PreparedTree(BalanceTree(effort="low"), table)
    prepared.group(models)
    swept = len(prepared._memory.entries.node)
    prepared.group(models)
    assert len(prepared._memory.entries.node) == swept
    first = prepared._memory.entries.generation.copy()
    prepared.group([shoal.RecordRisk(rho="0.19")])
    again = np.count_nonzero(prepared._memory.entries.generation == 1)
    assert 0 < again < len(first)


def test_looser_limits_do_not_rely_on_what_stricter_ones_found() -> None:
    table = table_of(2, 100)
    memory = Memory()
    space = person_space(table, with_variance=False, with_values=False)
    strict, loose = ([shoal.RecordRisk(rho=rho)] for rho in ("0.1", "0.5"))
    first = RememberedSweep(space, strict, memory).generation
    second = RememberedSweep(space, loose, memory).generation
    assert memory.usable(second).tolist() == [False, True]
    assert memory.usable(first).tolist() == [True, True]
