"""Epsilon and delta of several releases add up in the ledger, and a limit is kept."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import ParameterError, PrivacyNotMetError, ShoalWarning
from shoal.publishing.ledger.accountant import Account

SCHEMA = shoal.Schema(person="who", quasi=[shoal.Nominal("sex")])


def table() -> pl.DataFrame:
    return pl.DataFrame({"who": range(600), "sex": ["f", "m"] * 300})


def safepub(**how: Any) -> Any:
    return shoal.protect(
        table(), SCHEMA, [], method="safepub", delta=1e-3, levels="sex=0", seed=1, **{"epsilon": 0.7, **how}
    )


spent = st.one_of(
    st.none(), st.tuples(st.integers(1, 50).map(lambda n: n / 10), st.integers(1, 9).map(lambda n: n / 1e6))
)


@given(st.lists(spent, max_size=8))
def test_what_is_spent_adds_up(releases: list[tuple[float, float] | None]) -> None:
    account = Account.of(releases)
    pairs = [each for each in releases if each is not None]
    assert account.epsilon == round(sum(round(epsilon * 10) for epsilon, _ in pairs)) / 10
    assert account.delta == pytest.approx(sum(delta for _, delta in pairs))
    assert (account.releases, account.without) == (len(pairs), len(releases) - len(pairs))


def test_a_ledger_adds_up_what_releases_spend(tmp_path: Path) -> None:
    ledger = shoal.Ledger(tmp_path / "ledger.sqlite")
    safepub().write(tmp_path / "a", format="csv", ledger=ledger)
    assert ledger.found is not None
    assert ledger.found.account == Account(epsilon=0.7, delta=1e-3, releases=1, without=0)
    with pytest.warns(ShoalWarning, match="2 releases together promise epsilon 0.9 and delta 0.002"):
        safepub(epsilon=0.2).write(tmp_path / "b", format="csv", ledger=ledger)
    plain = shoal.protect(table(), SCHEMA, [shoal.PersonKAnonymity(k=5)], seed=1)
    with pytest.warns(ShoalWarning, match="1 others promise none"):
        plain.write(tmp_path / "c", format="csv", ledger=ledger)
    assert [each.epsilon for each in ledger.releases()] == [0.7, 0.2, None]
    ledger.forget(2)  # one that was never handed out
    assert ledger.compare(safepub()).account == Account(epsilon=1.4, delta=2e-3, releases=2, without=1)


def test_more_than_may_be_spent_is_refused(tmp_path: Path) -> None:
    ledger = shoal.Ledger(tmp_path / "ledger.sqlite", mode="refuse", max_epsilon=1.4)
    safepub().write(tmp_path / "a", format="csv", ledger=ledger)
    with pytest.warns(ShoalWarning, match="together"):
        safepub().write(tmp_path / "b", format="csv", ledger=ledger)  # exactly as much as may be
    with pytest.raises(PrivacyNotMetError, match="more than the ledger allows"):
        safepub(epsilon=0.1).write(tmp_path / "c", format="csv", ledger=ledger)
    assert not (tmp_path / "c").exists()
    assert len(ledger.releases()) == 2
    with pytest.raises(ParameterError):
        shoal.Ledger(tmp_path / "ledger.sqlite", max_delta=0)


def test_a_ledger_without_an_account_gets_one(tmp_path: Path) -> None:
    ledger = shoal.Ledger(tmp_path / "ledger.sqlite")
    safepub().write(tmp_path / "a", format="csv", ledger=ledger)
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        for name in ("epsilon", "delta"):
            connection.execute(f"ALTER TABLE releases DROP COLUMN {name}")
    assert ledger.releases()[0].epsilon is None
    assert ledger.compare(safepub()).account == Account(epsilon=0.7, delta=1e-3, releases=1, without=1)
