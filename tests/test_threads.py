from __future__ import annotations

import threading

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.grouping import METHODS, balance_tree, improve, mondrian
from shoal.table.table import Table
from shoal.threads import SETTING, fair_parts, n_threads, side_by_side


def test_the_environment_says_how_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, "3")
    assert n_threads() == 3
    monkeypatch.delenv(SETTING)
    assert n_threads() >= 1


@pytest.mark.parametrize("asked", ["0", "-1", "two", "1.5"])
def test_what_is_no_number_of_threads_is_refused(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, asked)
    with pytest.raises(shoal.errors.ParameterError, match=SETTING):
        n_threads()


@pytest.mark.parametrize("threads", ["1", "3"])
def test_results_come_in_the_order_of_the_parts(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, threads)
    assert list(side_by_side(lambda part: part * part, range(20))) == [part * part for part in range(20)]


def test_parts_are_worked_on_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, "2")
    both = threading.Barrier(2, timeout=60)
    assert list(side_by_side(lambda part: both.wait() >= 0, range(2))) == [True, True]


@pytest.mark.parametrize("threads", ["1", "2"])
def test_what_fails_in_a_part_fails_the_whole(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, threads)

    def fail_at_three(part: int) -> int:
        if part == 3:
            raise ValueError("the third")
        return part

    with pytest.raises(ValueError, match="the third"):
        list(side_by_side(fail_at_three, range(6)))


@given(st.lists(st.integers(0, 50), max_size=40), st.integers(1, 30), st.integers(1, 6))
def test_fair_parts_are_the_whole_in_order(weights: list[int], least: int, threads: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SETTING, str(threads))
        parts = fair_parts(np.array(weights, np.int64), least)
    assert [place for part in parts for place in range(part.start, part.stop)] == list(range(len(weights)))
    assert len(parts) <= max(1, min(threads, sum(weights) // least))


def patients(n: int) -> pl.DataFrame:
    chance = np.random.default_rng(5)
    person = np.sort(chance.integers(0, n // 3, n))
    return pl.DataFrame(
        {
            "patient": person,
            "age": chance.normal(50, 20, n).round(),
            "zip": chance.integers(0, 5_000, n)[person],
            "sex": np.array(["f", "m", "x"])[chance.integers(0, 3, n)[person]],
            "disease": chance.integers(0, 12, n),
        }
    )


SCHEMA = shoal.Schema(person="patient", quasi=["age", "zip", shoal.Nominal("sex")], sensitive=["disease"])
SCHEMES = {
    "balance-tree": [shoal.RecordRisk(rho=0.2)],
    "balance-tree with values": [shoal.GBalance(g=0.6), shoal.HAffiliation(h=0.6)],
    "mondrian": [shoal.PersonKAnonymity(k=3)],
}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_number_of_threads_changes_nothing(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for part in (balance_tree, mondrian):
        monkeypatch.setattr(part, "PERSONS_PER_THREAD", 10)
    monkeypatch.setattr(improve, "UNITS_PER_THREAD", 10)
    frame = patients(1_500)
    groups = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv(SETTING, threads)
        table = Table.from_frame(frame, SCHEMA)
        method = METHODS[scheme.split()[0]]()
        groups.append(method.group(table, SCHEMES[scheme]))
    assert groups[0].n_groups > 10
    for others in groups[1:]:
        assert (others.group_of_person == groups[0].group_of_person).all()
