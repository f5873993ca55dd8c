"""A pipeline can follow a run by a log and by a callback, neither of which shows values."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest

import shoal
from shoal.demo.clinics import clinics
from shoal.engines.stream import protect_file

SCHEMA = shoal.Schema(person="name", quasi=["age", "zip"], sensitive=["disease"], dropped=["admission", "gender"])


def test_each_stage_is_one_line_of_the_log_with_counts(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="shoal"):
        shoal.protect(clinics(), SCHEMA, [shoal.PersonKAnonymity(k=2)])
    lines = [record.getMessage() for record in caplog.records if record.name == "shoal"]
    assert [line.split(":")[0] for line in lines] == ["reading", "grouping", "masking", "verifying"]
    assert lines[0].endswith("19 records, 8 persons")
    values = {str(value) for column in clinics().drop("age").get_columns() for value in column}
    assert not [value for value in values if value in " ".join(lines)]


def test_nothing_is_logged_to_the_screen_unless_asked(capsys: pytest.CaptureFixture[str]) -> None:
    shoal.protect(clinics(), SCHEMA, [shoal.PersonKAnonymity(k=2)])
    assert capsys.readouterr() == ("", "")
    assert any(isinstance(handler, logging.NullHandler) for handler in logging.getLogger("shoal").handlers)


def test_progress_is_told_the_stage_and_the_share() -> None:
    told: list[tuple[str, float]] = []
    shoal.protect(
        clinics(), SCHEMA, [shoal.PersonKAnonymity(k=2)], progress=lambda stage, done: told.append((stage, done))
    )
    stages = list(dict.fromkeys(stage for stage, _ in told))
    assert stages == ["reading", "grouping", "improving", "masking", "verifying"]
    assert all(0 <= done <= 1 for _, done in told)


def test_in_portions_the_log_has_the_same_stages_and_counts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    clinics().write_parquet(tmp_path / "clinics.parquet")
    with caplog.at_level(logging.INFO, logger="shoal"):
        shoal.protect(clinics(), SCHEMA, [shoal.PersonKAnonymity(k=2)], seed=1)
        protect_file(tmp_path / "clinics.parquet", SCHEMA, [shoal.PersonKAnonymity(k=2)], tmp_path / "out", seed=1)
    lines = [re.sub(r"\d+\.\d+ s", "", record.getMessage()) for record in caplog.records if record.name == "shoal"]
    assert lines[:4] == lines[4:]
