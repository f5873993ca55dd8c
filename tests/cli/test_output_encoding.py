"""A release is UTF-8, whatever its input was, unless another encoding is asked for."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from tests.cli.conftest import Shoal


def test_a_release_is_utf_8_unless_asked(shoal: Shoal) -> None:
    frame = pl.read_csv("clinics.csv", infer_schema=False).with_columns(pl.col("disease") + " é")
    Path("dressed.csv").write_bytes(frame.write_csv(separator=";").encode("latin-1"))
    how = ("protect", "dressed.csv", "--policy", "policy.toml", "--encoding", "latin-1")
    assert shoal(*how, "-o", "out").code == 0
    assert " é" in Path("out/release.csv").read_text(encoding="utf-8")
    assert json.loads(Path("out/codebook.json").read_text())["encoding"] == "utf-8"
    assert 'encoding = "latin-1"' in Path("out/steward/policy.toml").read_text()
    assert shoal("verify", "out").code == 0
    assert shoal(*how, "-o", "old", "--output-encoding", "latin-1").code == 0
    assert " é" in Path("old/release.csv").read_text(encoding="latin-1")
    assert shoal("verify", "old").code == 0
    assert shoal(*how, "-o", "bad", "--output-encoding", "klingon").code == 2
