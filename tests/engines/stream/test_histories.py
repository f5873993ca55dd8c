"""Models of histories are checked in portions as in memory; nothing is hidden there, and what is not met is refused."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.engines.contract import Job, engine_called
from shoal.engines.stream import protect_file, verify_file
from shoal.errors import ParameterError, PrivacyNotMetError, SchemaError
from shoal.models import Model
from shoal.reading import read
from tests.engines.stream.tables import flat

SCHEMA = shoal.Schema(person="person", quasi=["age"], sensitive=["one", "two"], time="time")
MADE = [shoal.HistoryK(k=2, m=1), shoal.CountK(k=2)]
ASKED: list[list[Model]] = [
    [shoal.HistoryK(k=2, m=1), shoal.CountK(k=2), shoal.HAffiliation(h="0.7", column="one")],
    [shoal.HistoryK(k=2, m=2, knows="records"), shoal.GBalance(g="0.4")],
    [shoal.HistoryK(k=2, m=2, knows="order"), shoal.HistoryK(k=2, m=1, knows="times"), shoal.PersonKAnonymity(k=3)],
    [shoal.HistoryConfidence(c="0.6", m=1), shoal.CountK(k=4)],
]


def table(seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(16), rng.integers(1, 5, 16))
    return pl.DataFrame({
        "person": person, "age": 20 + 3 * person, "one": rng.choice(["a", "b", "c"], len(person), p=[0.6, 0.3, 0.1]),
        "two": rng.integers(0, 2, len(person)), "time": rng.integers(0, 4, len(person)),
    })  # fmt: skip


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 1000), st.sampled_from(ASKED), st.sampled_from(["parquet", "csv"]), st.sampled_from([5, 1000]))
def test_a_file_is_judged_as_in_memory(seed: int, asked: list[Model], ending: str, portion: int) -> None:
    made = shoal.protect(table(seed), SCHEMA, MADE, seed=1, attacks=0)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"release.{ending}")
        made.data.write_parquet(file) if ending == "parquet" else made.data.write_csv(file)
        held = shoal.verify(read(file).frame, SCHEMA, asked)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("shoal.reading.csv.BLOCK_BYTES", 40 * portion)
            found = verify_file(file, SCHEMA, asked, portion=portion)
        assert found.verdict.to_dict() == held.verdict.to_dict()
        assert flat(found.risk) == pytest.approx(flat(held.risk), rel=1e-12)  # sums of averages differ in the last bit


PLAIN = replace(SCHEMA, time=None, dropped=["time"])


def test_what_is_met_without_hiding_is_released_and_else_refused(tmp_path: Path) -> None:
    alike = table(1).with_columns(one=pl.lit("a"), two=1)
    alike.write_parquet(tmp_path / "alike.parquet")
    asked = [shoal.HistoryK(k=3, m=2, columns=["one"]), shoal.PersonKAnonymity(k=3)]
    once = alike.unique("person")
    once.write_parquet(tmp_path / "once.parquet")
    made = protect_file(tmp_path / "once.parquet", PLAIN, [*asked, shoal.CountK(k=3)], tmp_path / "out", seed=1)
    assert made.verdict.holds
    assert {model.checked_from for model in made.verdict.models} == {"published table"}
    table(1).write_parquet(tmp_path / "other.parquet")
    with pytest.raises(PrivacyNotMetError, match="hidden in memory only: choose the engine 'memory'"):
        protect_file(tmp_path / "other.parquet", PLAIN, asked, tmp_path / "none", seed=1)
    assert not (tmp_path / "none").exists()


def test_what_cannot_be_checked_in_portions_is_refused_by_name(tmp_path: Path) -> None:
    whole: list[Any] = [shoal.HistoryK(k=2, with_quasi=False)]
    beside: list[Any] = [shoal.CountK(k=2), shoal.TCloseness(t="0.4", column="one")]
    for asked, told in ((whole, "whole release"), (beside, "t-closeness beside models of histories")):
        with pytest.raises(ParameterError, match=told):
            verify_file(tmp_path / "x.parquet", SCHEMA, asked)
        for engine in ("stream", "spark"):
            assert any(told in why for why in engine_called(engine).why_not(Job.of(None, PLAIN, asked)))
    marked = table(1).with_columns(one=pl.lit("*"))
    marked.write_parquet(tmp_path / "marked.parquet")
    with pytest.raises(SchemaError, match="stands for a hidden one"):
        protect_file(tmp_path / "marked.parquet", PLAIN, [shoal.CountK(k=2)], tmp_path / "out", seed=1)
    with pytest.raises(SchemaError, match="stands for a hidden one"):
        shoal.protect(marked, PLAIN, [shoal.CountK(k=2)])
