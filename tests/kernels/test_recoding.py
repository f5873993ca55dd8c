"""Cells at given levels, and what it costs to join a group, equal their definitions."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels import recoding
from shoal.kernels.trees import Limits

LIMITS = [Limits(2, 1, 1, 1, 1, 1), Limits(1, 6, 1, 1, 1, 1), Limits(1, 1, 1, 2, 1, 1), Limits(1, 1, 1, 1, 2, 3)]
N_LEVELS = 3


def drawn_kinds(seed: int, n: int) -> tuple[recoding.Kinds, recoding.Shares, list[list[int]]]:
    """Two attributes of three levels: four values, two nodes, everything; records of the persons of each kind."""
    chance = random.Random(seed)
    values = [(chance.randrange(4), chance.randrange(4)) for _ in range(n)]
    node = np.array([[a, a // 2, 0, b, b // 2, 0] for a, b in values], np.int32)
    own = [[chance.randint(1, 4) for _ in range(chance.randint(1, 3))] for _ in range(n)]
    counts = [np.array([sum(count**power for count in counts) for counts in own], np.int64) for power in (0, 1, 2)]
    most = np.array([max(counts) for counts in own], np.int64)
    kinds = recoding.Kinds(node, np.array([0, N_LEVELS, 2 * N_LEVELS]), *counts, most)
    of_node = np.array([0, 0, 0, 0, 0.25, 0.5, 1] * 2, np.float64)
    shares = recoding.Shares(of_node, np.array([0, 4, 6, 7, 11, 13, 14]))
    return kinds, shares, own


def keeps(limits: Limits, counts: list[int]) -> bool:
    total = sum(counts)
    return (
        len(counts) >= limits.least_persons
        and total >= limits.least_records
        and max(counts) * limits.share_of <= limits.share * total
        and sum(count**2 for count in counts) * limits.squares_of <= limits.squares * total**2
    )


@given(st.integers(0, 2**32), st.integers(1, 40), st.sampled_from(LIMITS), st.integers(0, 2), st.integers(0, 2),
       st.sampled_from([0, 2]))  # fmt: skip
def test_cells_of_kinds(seed: int, n: int, limits: Limits, first: int, second: int, different: int) -> None:
    """A cell keeps to the limits, and has so many different values as are asked for."""
    kinds, _, own = drawn_kinds(seed, n)
    chance = random.Random(seed)
    held = [chance.sample(range(3), chance.randint(1, 2)) for _ in range(n)]
    of_kind = np.array([[*values, -1][:different] for values in held], np.int32).reshape(n, different)
    values = recoding.Values(of_kind, np.array([0, different] if different else [0]))
    left = np.array(sorted(random.Random(seed).sample(range(n), (n + 1) // 2)), np.int32)
    places = np.array([first, N_LEVELS + second])
    cell_of_left, kept = recoding.cells_of_kinds(kinds, places, left, limits, values)
    cells: dict[tuple[int, ...], list[int]] = {}
    for kind in left.tolist():
        cells.setdefault(tuple(kinds.node[kind, places].tolist()), []).append(kind)
    assert [
        [int(kind) for kind, cell in zip(left, cell_of_left, strict=True) if cell == which]
        for which in range(len(kept))
    ] == list(cells.values())
    assert kept.tolist() == [
        keeps(limits, [count for kind in members for count in own[kind]])
        and len({value for kind in members for value in held[kind]}) >= different
        for members in cells.values()
    ]


def covered(kinds: recoding.Kinds, shares: recoding.Shares, members: list[int]) -> tuple[list[int], float]:
    """The lowest common level of each attribute, and the sum of what the nodes there cover."""
    levels, total = [], 0.0
    for j in (0, N_LEVELS):
        level = next(level for level in range(N_LEVELS) if len({int(kinds.node[m, j + level]) for m in members}) == 1)
        levels.append(level)
        total += float(shares.of_node[shares.start[j + level] + kinds.node[members[0], j + level]])
    return levels, total


@given(st.integers(0, 2**32), st.integers(3, 25), st.integers(1, 4))
def test_levels_and_rises(seed: int, n: int, n_groups: int) -> None:
    kinds, shares, _ = drawn_kinds(seed, n)
    group = np.array([i % n_groups if i < n - 1 else -1 for i in range(n)], np.int32)
    n_groups = int(group.max()) + 1
    level, member = recoding.levels_of_groups(kinds, group, n_groups)
    members = [np.flatnonzero(group == which).tolist() for which in range(n_groups)]
    records = np.array([kinds.records[own].sum() for own in members])
    rise = recoding.rises_of_groups(kinds, shares, level, member, records, n - 1)
    for which, own in enumerate(members):
        levels, before = covered(kinds, shares, own)
        joined, after = covered(kinds, shares, [*own, n - 1])
        assert level[which].tolist() == levels
        expected = (records[which] + kinds.records[n - 1]) * after - records[which] * before
        assert rise[which] == pytest.approx(expected, abs=1e-9)
        recoding.raise_levels(kinds, level, member, which, n - 1)
        assert level[which].tolist() == joined
