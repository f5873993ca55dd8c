from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels.matching import matching_sizes
from tests.naive.matching import matching_size

N_VALUES = 6
groups_of_persons = st.lists(
    st.lists(st.lists(st.integers(0, N_VALUES - 1), min_size=1, max_size=3, unique=True), min_size=1, max_size=6),
    max_size=4,
)


def sizes(groups: list[list[list[int]]], limit: int) -> list[int]:
    persons = [values for group in groups for values in group]
    start_of_group = np.cumsum([0] + [len(group) for group in groups])
    start_of_person = np.cumsum([0] + [len(values) for values in persons])
    value_of_pair = np.array([value for values in persons for value in values], dtype=np.int64)
    return matching_sizes(start_of_group, start_of_person, value_of_pair, N_VALUES, limit).tolist()


@settings(deadline=None, max_examples=300)
@given(groups_of_persons, st.integers(0, N_VALUES + 1))
def test_sizes_equal_trying_everything(groups: list[list[list[int]]], limit: int) -> None:
    assert sizes(groups, limit) == [min(limit, matching_size([set(v) for v in group])) for group in groups]


def test_a_long_chain_of_persons_gives_way() -> None:
    # greedily everyone takes their first value, and the last finds none left
    chain = [[value, value + 1] for value in range(N_VALUES - 1)] + [[0]]
    assert sizes([chain], N_VALUES) == [N_VALUES]


def test_groups_do_not_take_values_from_one_another() -> None:
    assert sizes([[[0]], [[0]], [[0], [0]]], N_VALUES) == [1, 1, 1]
