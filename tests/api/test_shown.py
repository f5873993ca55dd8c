"""What is printed, and what a notebook shows: short tables, in which nothing runs."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.demo.clinics import clinics
from shoal.short import MOST_ROWS, Short

SCHEMA = shoal.Schema(person="name", quasi=["age", "zip"], sensitive=["disease"], dropped=["admission", "gender"])
MODELS = [shoal.PersonKAnonymity(k=2)]


@pytest.fixture(scope="module")
def answers() -> dict[str, object]:
    frame = clinics()
    release = shoal.protect(frame, SCHEMA, MODELS, seed=7)
    return {
        "Release: holds": release,
        "Assessment: does NOT hold": shoal.assess(frame, SCHEMA, MODELS),
        "Verdict: holds": release.verdict,
        "Attacks: ": shoal.attack(release, attacks=["linkage"]),
        "Profile: 19 records": shoal.profile(frame),
        "Tuning under max_gidr": shoal.tune(frame, SCHEMA, MODELS, targets={"max_gidr": 0.5}, points=3),
        "Comparison of 1 settings": shoal.compare(frame, SCHEMA, MODELS, methods=["mondrian"]),
    }


def test_answers_are_printed_as_short_tables(answers: dict[str, object]) -> None:
    for start, answer in answers.items():
        assert repr(answer).startswith(start)
        assert len(repr(answer)) < 2_000
        assert str(answer) == repr(answer)


def test_notebooks_show_the_same_with_charts_and_nothing_that_runs(answers: dict[str, object]) -> None:
    for start, answer in answers.items():
        html = answer._repr_html_()  # type: ignore[attr-defined]
        assert start.split(":")[0] in html
        assert "<table>" in html
        assert not re.search(r"<script|\bon\w+=|<style", html)
    drawn = answers["Release: holds"]._repr_html_()  # type: ignore[attr-defined]
    (image,) = re.findall(r"data:image/svg\+xml;base64,([^\"]+)", drawn)
    svg = base64.b64decode(image).decode("utf-8")
    assert svg.startswith("<svg")
    assert "record risk, highest" in svg


def test_names_are_escaped_and_many_rows_are_cut() -> None:
    short = Short(title="<b>", headings=("<i>", "n"), rows=[("<script>alert(1)</script>", "x" * 500)] * 100)
    assert "<script>" not in short.html()
    assert "&lt;script&gt;" in short.html()
    assert f"... and {100 - MOST_ROWS} more" in short.text()
    assert len(short.text()) < 5_000


def test_a_profile_is_made_of_a_frame_or_a_file(tmp_path: Path) -> None:
    clinics().write_csv(tmp_path / "clinics.csv")
    of_file, of_frame = shoal.profile(tmp_path / "clinics.csv"), shoal.profile(clinics().to_pandas())
    assert [column.role for column in of_file.columns] == [column.role for column in of_frame.columns]


def test_later_records_are_applied_to_a_folder(tmp_path: Path) -> None:
    frame = clinics()
    first = shoal.protect(frame, SCHEMA, MODELS, seed=7).write(tmp_path / "first", keep_person_map=True, report=False)
    later = frame.with_columns(disease=pl.lit("Flu"))
    grown = shoal.apply(first, later)
    assert repr(grown).startswith("Applied: holds")
    second = grown.write(tmp_path / "second")
    data = shoal.read_release(second).data
    assert data is not None
    assert data.height == 2 * len(frame)
