"""The page of what the numbers mean: every value on it is what the run gives, and no number of a report is left out."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.demo.clinics import ten_records

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanations" / "what-the-numbers-mean.md"
ROW = re.compile(
    r"^\| `([\w.]+)`(?: of \*([^*]+)\*)? \| [^|]+\. \| ([^|]+) \| ((?:steward|board|analyst|researcher|, )+) \|$"
)
NOT_NUMBERS = {
    *("seconds", "rounded", "not_tried", "strongest", "notes", "before", "report"),
    *("lone_extremes", "ane_of_column", "safe_harbour"),
}
"""What a report holds that is no number about the release, or the same as another."""


@cache
def numbers() -> dict[str, Any]:
    schema = shoal.Schema(person="person", quasi=["age", "zip"], sensitive=["disease"])
    release = shoal.protect(ten_records(), schema, [shoal.RecordRisk(rho=0.5), shoal.HAffiliation(h=0.5)], seed=1)
    return json.loads(json.dumps(release.to_dict()))


def rows() -> list[tuple[str, str | None, str]]:
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    found = [ROW.match(line) for line in lines]
    assert all(found), [line for line, row in zip(lines, found, strict=True) if not row]
    return [(row[1], row[2], row[3]) for row in found if row]


def value_of(told: Any, key: str, of: str | None) -> Any:
    for part in key.split("."):
        if isinstance(told, list):
            told = next(entry for entry in told if entry["name"] == of)
        told = told[part]
    return told


@pytest.mark.parametrize(("key", "of", "worked"), rows())
def test_a_worked_value_is_what_the_run_gives(key: str, of: str | None, worked: str) -> None:
    values = re.findall(r"(before|after) `([^`]+)`", worked)
    assert values
    for when, text in values:
        value = value_of(numbers() if when == "after" else numbers()["before"], key, of)
        assert (f"{value:.4g}" if isinstance(value, float) else str(value)) == (
            f"{float(text):.4g}" if isinstance(value, float) else text
        )


def test_no_number_is_left_out() -> None:
    assert {key.split(".")[0] for key, _, _ in rows()} | NOT_NUMBERS >= set(numbers())
