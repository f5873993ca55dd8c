"""Planned levels: each label has enough cells, and no other plan loses less."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels import coarsening
from tests.naive import histories as naive

PATHS = [("a", "ab", "abcd"), ("b", "ab", "abcd"), ("c", "cd", "abcd"), ("d", "cd", "abcd"), ("e", "e'", "e''")]
NUMBER = {label: at for at, label in enumerate(sorted({label for path in PATHS for label in path}))}
LOSSES = [(0.0, 0.25, 0.6), (0.0, 0.5, 0.5), (0.0, 0.1, 0.9)]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 4), max_size=6), min_size=1, max_size=3),
    st.integers(1, 4),
    st.integers(1, 3),
    st.sampled_from(LOSSES),
)
def test_no_plan_loses_less(values_of_unit: list[list[int]], k: int, n_levels: int, loss: tuple[float, ...]) -> None:
    ordered = [sorted(values, key=lambda value: PATHS[value][n_levels - 1 :: -1]) for values in values_of_unit]
    values = [value for of_unit in ordered for value in of_unit]
    path = np.array([[NUMBER[PATHS[value][at]] for value in values] for at in range(n_levels)], np.int32)
    losses = np.array([[loss[at]] * len(values) for at in range(n_levels)])
    unit_start = np.append(0, np.cumsum([len(of_unit) for of_unit in ordered]))
    person, weight = np.arange(len(values)), np.ones(len(values), np.int64)
    levels = coarsening.planned_levels(
        path.reshape(n_levels, -1), losses, person, weight, unit_start, len(values), k, 1
    )
    for unit, of_unit in enumerate(ordered):
        shown = tuple(levels[unit_start[unit] : unit_start[unit + 1]].tolist())
        assert is_shared(of_unit, shown, n_levels, k)
        least = min(
            lost(loss[:n_levels], each)
            for each in product(range(n_levels + 1), repeat=len(of_unit))
            if is_shared(of_unit, each, n_levels, k)
        )
        assert abs(lost(loss[:n_levels], shown) - least) < 1e-9


def lost(loss: tuple[float, ...], levels: tuple[int, ...]) -> float:
    """What levels lose together; behind the last level all is lost."""
    return sum(loss[level] if level < len(loss) else 1.0 for level in levels)


def is_shared(values: list[int], levels: tuple[int, ...], n_levels: int, k: int) -> bool:
    """Whether each label that is shown is shown by k."""
    labels = Counter(PATHS[value][level] for value, level in zip(values, levels, strict=True) if level < n_levels)
    return all(n >= k for n in labels.values())


def test_a_common_value_gives_up_one_so_that_rare_neighbours_are_shown() -> None:
    values = [0, 0, 0, 0, 1, 1]  # four of a, two of b: with k = 3 one a joins both b as ab
    path = np.array([[NUMBER[PATHS[value][at]] for value in values] for at in range(2)], np.int32)
    losses = np.array([[0.0] * 6, [0.25] * 6])
    levels = coarsening.planned_levels(path, losses, np.arange(6), np.ones(6, np.int64), np.array([0, 6]), 6, 3, 1)
    assert Counter(levels[:4].tolist()) == {0: 3, 1: 1}
    assert levels[4:].tolist() == [1, 1]


def test_persons_who_give_up_a_value_are_new_to_the_label_above() -> None:
    """Persons 0 and 1 have the rare value too; one of the others joins them."""
    values, person = [0, 0, 0, 0, 0, 1, 1], np.array([0, 1, 2, 3, 4, 0, 1])
    path = np.array([[NUMBER[PATHS[value][at]] for value in values] for at in range(2)], np.int32)
    losses = np.array([[0.0] * 7, [0.25] * 7])
    levels = coarsening.planned_levels(path, losses, person, np.ones(7, np.int64), np.array([0, 7]), 5, 3, 1)
    records = [(0, int(each), "ab" if level else "a" if value == 0 else "b", 0)
               for each, level, value in zip(person, levels, values, strict=True)]  # fmt: skip
    assert Counter(levels.tolist()) == {0: 4, 1: 3}
    assert naive.holds(records, k=3, m=1, columns=(0,))
