"""Input that nobody would write on purpose: no crash, no hang, no model that is not met."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.grouping import METHODS
from shoal.masking import MASKS
from shoal.models import MODELS
from tests.tiers import long_but_for
from tests.weather.sizes import CASES, READER_RUNS
from tools.fuzz.readers import READERS, SEEDS
from tools.fuzz.run import run_cases
from tools.fuzz.tables import CHANGING, MODEL_MAKERS, case_of

ROOT = Path(__file__).resolve().parents[2]
PARTS = 8


@pytest.mark.grows
@pytest.mark.parametrize("part", range(PARTS))
def test_random_tables_are_released_and_verified_or_refused_in_words(part: int) -> None:
    tally = run_cases(range(part * CASES // PARTS, (part + 1) * CASES // PARTS))
    told = [f"python -m tools.fuzz --case {number}  {what}" for number, what in tally.failures]
    assert not told, "\n".join(told)
    # few, since some parts are refused with most others: models that are sought, safepub, cells that match anything
    assert tally.released > tally.cases / 10, tally.told()
    assert tally.verified_files > tally.cases / 25, tally.told()


@pytest.mark.nightly
def test_tables_that_were_never_drawn_before() -> None:
    """Other numbers each night; a failure prints its own."""
    first = 10**9 + date.today().toordinal() * 10_000
    failures = run_cases(range(first, first + 5_000)).failures
    assert not failures, "\n".join(f"python -m tools.fuzz --case {number}  {what}" for number, what in failures)


def test_every_model_is_drawn() -> None:
    assert set(MODEL_MAKERS) == set(MODELS), "tell tools/fuzz/tables.py how to draw it"


def test_every_method_and_mask_is_drawn() -> None:
    """Each in few cases, every pair in more; a mask that takes no groups with options of its own."""
    few = [case_of(number) for number in range(2 * len(MASKS))]
    assert ({case.method for case in few}, {case.mask for case in few}) == (set(METHODS), set(MASKS))
    all_pairs = {(case.method, case.mask) for case in map(case_of, range(len(METHODS) * len(MASKS)))}
    assert len(all_pairs) == len(METHODS) * len(MASKS)
    groupless = {name for name, mask in MASKS.items() if not mask.takes_groups}
    assert set(CHANGING) == groupless, "tell tools/fuzz/tables.py how to draw it"


def test_a_number_gives_the_same_case_again() -> None:
    one, again = case_of(4711), case_of(4711)
    assert one.told() == again.told()
    assert one.frame.equals(again.frame, null_equal=True)


def test_a_broken_promise_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fuzzer itself: were less promised than was asked for, cases would fail."""
    asked = (case_of(number) for number in range(2000))
    numbers = [case.number for case in asked if any(model.name == "person-k-anonymity" for model in case.models)][:120]
    protect = shoal.protect

    def promise_less(frame: Any, schema: Any, models: Any, **options: Any) -> Any:
        return protect(frame, schema, [shoal.KAnonymity(k=1)], **options)

    monkeypatch.setattr("tools.fuzz.run.shoal.protect", promise_less)
    failures = run_cases(iter(numbers)).failures
    assert any("person-k-anonymity is broken by a plain count" in what for _, what in failures)


def _atheris_or_skip() -> None:
    try:
        import atheris  # noqa: F401
    except ImportError:
        pytest.skip("atheris exists for Linux on x86_64 and Python before 3.14 only")


@pytest.mark.grows
@pytest.mark.parametrize("name", long_but_for(["csv"], READERS))
def test_bytes_led_by_coverage_are_read_or_refused_in_words(name: str, tmp_path: Path) -> None:
    _atheris_or_skip()
    ran = subprocess.run(
        [sys.executable, "-m", "tools.fuzz.readers", name, "--runs", str(READER_RUNS), "--keep", str(tmp_path)],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    kept = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert ran.returncode == 0, (kept, ran.stderr[-3000:], ran.stdout[-1000:])
    assert f"Done {READER_RUNS} runs" in ran.stderr
    assert not kept


@pytest.mark.parametrize("name", READERS)
def test_the_first_inputs_of_a_reader_are_read_or_refused_in_words(name: str, tmp_path: Path) -> None:
    """Where atheris does not exist these at least are tried."""
    for seed in SEEDS[name]:
        for end in range(len(seed) + 1):
            READERS[name](seed[:end], tmp_path / "input")
