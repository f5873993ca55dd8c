"""shoal protect --engine: files in portions, as a user would, and what is told where memory does not do."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import COLUMNS, MODELS, Shoal

STREAM = [*COLUMNS, *MODELS, "--engine", "stream"]


def test_the_engines_publish_the_same(shoal: Shoal) -> None:
    streamed = shoal("protect", "clinics.csv", *STREAM, "-o", "portions", "--json").json
    held = shoal("protect", "clinics.csv", *COLUMNS, *MODELS, "--engine", "memory", "-o", "memory", "--json").json
    # these need the original at hand
    others = ("seconds", "folder", "engine", "attacks", "not_tried", "strongest", "safe_harbour")
    counted = ("values_before", "values_after", "hidden", "changed")
    for column in held["changes"].values():
        assert column["values_before"] > 0
        for name in counted:
            column.pop(name, None)
    assert {key: value for key, value in streamed.items() if key not in others} == {
        key: value for key, value in held.items() if key not in others
    }
    assert streamed["engine"] == "stream"
    one, two = (pl.read_csv(f"{out}/release.csv", infer_schema=False).drop("name") for out in ("portions", "memory"))
    assert one.sort(one.columns).equals(two.sort(two.columns))


def test_a_release_made_in_portions_is_verified_and_reported_as_any_other(shoal: Shoal) -> None:
    answer = shoal("protect", "clinics.csv", *STREAM, "-o", "out")
    assert answer.code == 0
    assert "May be handed out" in answer.out
    assert "The report, for a review board" in answer.out
    first = Path("out/steward/report.html").read_bytes()
    assert "before" in answer.out
    assert shoal("verify", "out", "--json").json["verdict"]["holds"]
    assert shoal("report", "out").code == 0
    assert Path("out/steward/report.html").read_bytes() == first
    again = shoal("protect", "clinics.csv", *STREAM, "-o", "out")
    assert (again.code, "--overwrite" in again.err) == (2, True)
    assert shoal("protect", "clinics.csv", *STREAM, "-o", "out", "--overwrite", "--no-report").code == 0
    assert not Path("out/steward/report.json").exists()


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (["--method", "mdav"], "mdav"),
        (["--mask", "permute"], "permute"),
        (["--queries", "5"], "--queries"),
        (["--attack", "5"], "--attack"),
        (["--max-suppressed", "2"], "--max-suppressed"),
        (["--format", "xlsx"], "xlsx"),
        (["--encoding", "latin-1"], "latin-1"),
        (["--joint-l", "2"], "joint-diversity"),
        (["--into", "sqlite:///x.db", "--into-table", "t"], "--into"),
    ],
)
def test_what_cannot_be_done_in_portions_is_refused_by_name(shoal: Shoal, flags: list[str], named: str) -> None:
    answer = shoal("protect", "clinics.csv", *STREAM, *flags, "-o", "out")
    assert answer.code == 2
    assert named in answer.err
    assert not Path("out").exists()


@pytest.mark.parametrize("engine", ["stream", "spark"])
def test_every_reason_is_named_at_once_and_each_once(shoal: Shoal, engine: str) -> None:
    flags = ["--method", "mdav", "--mask", "perturb", "--queries", "5", "--attack", "--max-suppressed", "2"]
    answer = shoal("protect", "clinics.csv", *COLUMNS, *MODELS, *flags, "--engine", engine, "-o", "out")
    assert answer.code == 2
    for part in ("mdav", "mask perturb", "--queries", "--attack", "--max-suppressed"):
        assert answer.err.count(part) == 1, part
    assert "Traceback" not in answer.err


def test_several_files_are_refused(shoal: Shoal) -> None:
    answer = shoal("protect", "franklin.csv", "clinics.csv", *STREAM, "-o", "out")
    assert (answer.code, "several files" in answer.err) == (2, True)


def test_too_little_memory_is_told_before_anything_is_read(shoal: Shoal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.engines.memory_needed.memory_there_is", lambda: 2_000_000)
    answer = shoal("protect", "clinics.csv", *COLUMNS, *MODELS, "-o", "out")
    assert answer.code == 2
    for part in ("NotEnoughMemoryError", "needs about 0.4 GB of memory", "there are 0.0 GB", "portions"):
        assert part in answer.err
    assert not Path("out").exists()
    assert shoal("protect", "clinics.csv", *COLUMNS, *MODELS, "-o", "out", "--engine", "memory").code == 0


def test_a_file_that_does_not_fit_is_protected_in_portions_by_itself(
    shoal: Shoal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoal.engines.memory_needed.needed_in_memory", lambda size, schema: 10**15)
    shoal("protect", "clinics.csv", *COLUMNS, *MODELS, "-o", "out")
    assert json.loads(Path("out/steward/manifest.json").read_text())["engine"] == "stream"


@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_a_release_that_does_not_fit_is_verified_in_portions(
    shoal: Shoal, monkeypatch: pytest.MonkeyPatch, format_: str
) -> None:
    shoal("protect", "clinics.csv", *COLUMNS, *MODELS, "-o", "out", "--format", format_)
    held = shoal("verify", "out", "--json").json
    monkeypatch.setattr("shoal.engines.memory_needed.needed_in_memory", lambda size, schema: 10**15)
    monkeypatch.delattr("shoal.pipeline.verify")
    in_portions = shoal("verify", "out", "--json").json
    assert {**in_portions, "seconds": 0} == {**held, "seconds": 0}
    assert shoal("verify", "out", "--g-balance", "0.99", "--json").code == 3


def test_running_out_of_memory_is_a_message(shoal: Shoal, monkeypatch: pytest.MonkeyPatch) -> None:
    def give_up(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("shoal.engines.memory.run.MemoryEngine.protect", give_up)
    answer = shoal("protect", "clinics.csv", *COLUMNS, *MODELS, "-o", "out")
    assert answer.code == 2
    assert "too little memory" in answer.err
    assert "Nothing was written" in answer.err


def test_hierarchies_go_with_portions_where_they_are_nominal(shoal: Shoal) -> None:
    pl.read_csv("clinics.csv", infer_schema=False).write_parquet("clinics.parquet")
    policy = Path("policy.toml").read_text()
    nominal = policy.replace('"zip"', '{ name = "zip", hierarchy = { prefixes = true } }')
    Path("prefixes.toml").write_text(nominal)
    assert shoal("protect", "clinics.parquet", "--policy", "prefixes.toml", "--engine", "stream", "-o", "one").code == 0
    assert shoal("protect", "clinics.parquet", "--policy", "prefixes.toml", "-o", "two").code == 0
    one, two = (pl.read_parquet(f"{out}/release.parquet").drop("name").cast(pl.String) for out in ("one", "two"))
    assert one.sort(one.columns).equals(two.sort(two.columns))
    refused = shoal("protect", "clinics.csv", "--policy", "prefixes.toml", "--engine", "stream", "-o", "three")
    assert (refused.code, "'zip'" in refused.err) == (2, True)


def test_other_commands_tell_before_they_read_what_does_not_fit(shoal: Shoal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.engines.memory_needed.memory_there_is", lambda: 1000)
    answer = shoal("assess", "clinics.csv", *COLUMNS)
    assert answer.code == 2
    assert "NotEnoughMemoryError" in answer.err
    assert "records alone need about" in answer.err
