from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.curves import hilbert_places


@pytest.mark.parametrize(("n_columns", "bits"), [(1, 5), (2, 1), (2, 4), (3, 3), (4, 2), (7, 1)])
def test_the_curve_visits_every_cell_once_and_goes_on_to_a_neighbour(n_columns: int, bits: int) -> None:
    cells = np.array(list(itertools.product(range(2**bits), repeat=n_columns)), dtype=np.int64)
    places = hilbert_places(cells, bits)
    assert sorted(places.tolist()) == list(range(len(cells)))
    steps = np.abs(np.diff(cells[np.argsort(places)], axis=0))
    assert (steps.sum(axis=1) == 1).all()


@given(st.data(), st.integers(1, 4), st.integers(1, 6))
def test_a_coarser_grid_visits_the_same_blocks_in_the_same_order(data: st.DataObject, columns: int, bits: int) -> None:
    numbers = st.integers(0, 2 ** (bits + 1) - 1)
    points = data.draw(st.lists(st.tuples(*[numbers] * columns), min_size=1, max_size=30))
    fine = np.array(points, dtype=np.int64)
    places = hilbert_places(fine, bits + 1)
    blocks = [tuple(point) for point in (fine[np.argsort(places, kind="stable")] >> 1).tolist()]
    runs = [block for block, _ in itertools.groupby(blocks)]
    assert len(runs) == len(set(runs)), "a block is left once only"
