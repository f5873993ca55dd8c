"""Adding up the records of persons."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels import points

records = st.lists(st.tuples(st.integers(0, 4), st.integers(-1000, 1000)), min_size=1, max_size=30)


@given(records, st.sampled_from([1.0, 0.25, 2.0**29 / 2000, 8.0]))
def test_sums_of_persons(person_units: list[tuple[int, int]], steps_per_unit: float) -> None:
    person = np.array([p for p, _ in person_units], dtype=np.int32)
    units = np.array([unit for _, unit in person_units], dtype=np.int64)
    lowest = int(units.min())
    sums, mass = points.sums_of_persons(units, person, 5, lowest, steps_per_unit)
    squares = points.squares_of_persons(units, person, 5, lowest, steps_per_unit)
    for place in range(5):
        own = [unit for p, unit in person_units if p == place]
        steps = [round((unit - lowest) * steps_per_unit) for unit in own]
        assert mass[place] == sum(steps)
        assert sums[place] == sum(unit - lowest for unit in own)
        assert squares[place] == pytest.approx(sum(step**2 for step in steps), rel=1e-12)


def test_sums_of_large_units_stay_exact() -> None:
    """Numbers far from zero but close to each other, as admission numbers are, do not add up beyond 64 bits."""
    far = 2**62 - 10
    units = np.array([far, far + 3, far + 5, far + 9, far + 9], dtype=np.int64)
    sums, _ = points.sums_of_persons(units, np.array([0, 0, 0, 0, 1], dtype=np.int32), 2, far, 1.0)
    assert sums.tolist() == [17, 9]


@given(records, st.integers(0, 30))
def test_portions_add_up_to_the_whole(person_units: list[tuple[int, int]], first: int) -> None:
    person = np.array([p for p, _ in person_units], dtype=np.int32)
    units = np.array([unit for _, unit in person_units], dtype=np.int64)
    sums, squares = np.zeros((5, 2), np.int64), np.zeros(5)
    for part in (slice(None, first), slice(first, None)):
        points.add_sums(units[part], person[part], -1000, 0.25, sums)
        points.add_squares(units[part], person[part], -1000, 0.25, squares)
    whole, mass = points.sums_of_persons(units, person, 5, -1000, 0.25)
    assert np.array_equal(sums, np.stack([whole, mass], axis=1))
    assert np.array_equal(squares, points.squares_of_persons(units, person, 5, -1000, 0.25))
