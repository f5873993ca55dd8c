"""Pseudonyms, order and shifts come from the system's secure randomness: no seed repeats them, nothing is derived."""

from __future__ import annotations

import re

import numpy as np
import pytest

from shoal.masking import secrecy


def test_pseudonyms_are_different_and_of_one_form() -> None:
    names = secrecy.pseudonyms(5000)
    assert names.n_unique() == 5000
    assert all(re.fullmatch(rf"P[0-9A-HJKMNP-TV-Z]{{{secrecy.PSEUDONYM_LENGTH - 1}}}", name) for name in names)


def test_pseudonyms_are_new_each_time_and_in_no_order() -> None:
    first, second = secrecy.pseudonyms(500).to_list(), secrecy.pseudonyms(500).to_list()
    assert not set(first) & set(second)
    for spelled in (first, [name[::-1] for name in first]):  # from either end
        rank = np.argsort(np.argsort(spelled))
        assert abs(np.corrcoef(np.arange(500), rank)[0, 1]) < 0.31  # seven standard deviations


def test_pseudonyms_that_were_drawn_twice_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = secrecy.secret_words
    calls = []

    def poor_words(n: int) -> np.ndarray:
        calls.append(n)
        return np.zeros(n, np.uint64) if len(calls) == 1 else drawn(n)

    monkeypatch.setattr(secrecy, "secret_words", poor_words)
    assert secrecy.pseudonyms(50).n_unique() == 50


@pytest.mark.parametrize("n", [0, 1, 2, 1000])
def test_an_order_has_each_record_once(n: int) -> None:
    assert sorted(secrecy.secret_order(n)) == list(range(n))
    assert len(secrecy.pseudonyms(n)) == n


def test_every_order_of_three_is_about_equally_likely() -> None:
    counts: dict[tuple[int, ...], int] = {}
    for _ in range(6000):
        order = tuple(map(int, secrecy.secret_order(3)))
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 6
    chi_square = sum((count - 1000) ** 2 / 1000 for count in counts.values())
    assert chi_square < 36  # five degrees of freedom: once in a million


def test_records_do_not_stay_near_their_place() -> None:
    n = 20_000
    order = secrecy.secret_order(n)
    correlation = np.corrcoef(np.arange(n), order)[0, 1]
    assert abs(correlation) < 0.05  # seven standard deviations


def test_numpys_seed_governs_neither_order_nor_names_nor_shifts() -> None:
    made = []
    for _ in range(2):
        np.random.seed(1)
        made.append(
            (secrecy.secret_order(50).tolist(), secrecy.pseudonyms(50).to_list(), list(secrecy.days_shifted(50)))
        )
    for first, second in zip(*made, strict=True):
        assert first != second


def test_shifts_reach_a_year_back_and_on_and_are_never_none() -> None:
    days = secrecy.days_shifted(100_000)
    assert set(days.tolist()) == {*range(-365, 0), *range(1, 366)}
