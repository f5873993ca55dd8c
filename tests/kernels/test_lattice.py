"""Rolling cells up equals counting them anew."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.lattice import lost_with, rolled_up


@given(st.data(), st.integers(1, 30), st.integers(1, 3))
def test_cells_that_become_alike_are_merged(data: st.DataObject, n: int, n_attributes: int) -> None:
    node = np.array(
        data.draw(st.lists(st.lists(st.integers(0, 4), min_size=n_attributes, max_size=n_attributes), min_size=n,
                           max_size=n)), np.int32,
    )  # fmt: skip
    up = np.array(
        data.draw(st.lists(st.integers(0, 4), min_size=5 * n_attributes, max_size=5 * n_attributes)), np.int32
    )
    counts = np.array(data.draw(st.lists(st.lists(st.integers(1, 9), min_size=4, max_size=4), min_size=n, max_size=n)))
    start = 5 * np.arange(n_attributes)
    cell_of, higher, sums = rolled_up(node, up, start, counts)
    expected: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for i in range(n):
        expected[tuple(int(up[5 * j + node[i, j]]) for j in range(n_attributes))].append(i)
    assert [tuple(row) for row in higher.tolist()] == list(expected)
    for cell, members in enumerate(expected.values()):
        assert {int(cell_of[i]) for i in members} == {cell}
        assert sums[cell, :3].tolist() == counts[members, :3].sum(axis=0).tolist()
        assert sums[cell, 3] == counts[members, 3].max()


def test_who_is_left_out_loses_what_was_still_shown() -> None:
    node, records = np.array([[0, 1], [1, 0]], np.int32), np.array([3, 5])
    share, start = np.array([0.0, 0.5, 0.25, 1.0]), np.array([0, 2])
    lost = lost_with(node, records, np.array([True, False]), share, start)
    assert lost.tolist() == [3 * 1.0, 0.0]
