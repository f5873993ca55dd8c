"""A random order from given random words."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels import shuffling
from tests.naive import counting as naive

words = st.lists(st.integers(0, 2**64 - 1), max_size=50)


def shuffled(random_words: list[int]) -> list[int]:
    return shuffling.shuffled(np.array(random_words, dtype=np.uint64)).tolist()


@given(words)
def test_it_is_the_shuffle_of_fisher_and_yates(random_words: list[int]) -> None:
    order = shuffled(random_words)
    assert sorted(order) == list(range(len(random_words)))
    assert order == naive.shuffled(random_words)


def test_the_largest_word_chooses_the_last_place() -> None:
    assert shuffled([2**64 - 1] * 6) == list(range(6))
    assert shuffled([0] * 4) == naive.shuffled([0] * 4)


def test_every_order_of_three_things_occurs_equally_often() -> None:
    sixths = [int(2**64 * (i + 0.5) / 6) for i in range(6)]
    found = [tuple(shuffled([0, second, third])) for second, third in itertools.product(sixths, sixths)]
    assert {order: found.count(order) for order in found} == dict.fromkeys(itertools.permutations(range(3)), 6)
