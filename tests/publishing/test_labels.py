"""Labels of statistical packages: what leaves of them, and that no person is named by one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.errors import ShoalWarning
from shoal.policy import Policy
from shoal.publishing.labels import labels_that_leave
from shoal.publishing.later import apply, read_stored, write_applied
from shoal.reading import Labels, Reading, Source, read

pytest.importorskip("pyreadstat")

N = 40
NAMES = {code: f"Canary Person {code}" for code in range(1, N + 1)}
VISITS = pl.DataFrame(
    {
        "patient": [code for code in range(1, N + 1) for _ in range(2)],
        "age": [20 + code for code in range(1, N + 1) for _ in range(2)],
        "sex": [1 + code % 2 for code in range(1, N + 1) for _ in range(2)],
        "disease": [1 + (code + visit) % 4 for code in range(1, N + 1) for visit in range(2)],
        "visit": [1 + visit for _ in range(1, N + 1) for visit in range(2)],
        "doctor": [code for code in range(1, N + 1) for _ in range(2)],
        "phone": list(range(2 * N)),
    }
)
SCHEMA = shoal.Schema(
    person="patient", quasi=["age", shoal.Nominal("sex")], sensitive=["disease"], time="visit", kept=["doctor"],
    dropped=["phone"],
)  # fmt: skip
MODELS = [shoal.RecordRisk(rho=0.25)]
LABELS = Labels(
    {"patient": "Canary column", "sex": "Sex of the person", "phone": "Canary phone", "visit": "Visit"},
    {
        "patient": NAMES,
        "visit": {1: "Canary time 1", 2: "Canary time 2"},
        "doctor": NAMES,
        "sex": {1: "male", 2: "female", 3: "Canary sex"},
        "disease": {1: "flu", 2: "cold", 3: "gout", 4: "mumps", 5: "Canary disease"},
    },
)
COLUMNS = {"sex": "Sex of the person", "visit": "Visit"}
CODES = {"sex": {1: "male", 2: "female"}, "disease": {1: "flu", 2: "cold", 3: "gout", 4: "mumps"}}


@pytest.fixture(scope="module")
def release() -> shoal.Release:
    return shoal.protect(VISITS, SCHEMA, MODELS, seed=1, allow_alone=True)


def book_of(folder: Path) -> dict[str, dict[str, Any]]:
    return {column["name"]: column for column in json.loads((folder / "codebook.json").read_text())["columns"]}


def refuse_canaries(folder: Path) -> None:
    for path in folder.rglob("*"):
        assert not path.is_file() or b"Canary" not in path.read_bytes(), path.name


@pytest.mark.parametrize("format", ["sav", "dta", "csv"])
def test_no_label_names_a_person_and_none_is_of_the_absent(tmp_path: Path, release: shoal.Release, format: str) -> None:
    with pytest.warns(ShoalWarning) as told:
        folder = release.write(tmp_path / "out", format=format, labels=LABELS)
    refuse_canaries(folder)
    book = book_of(folder)
    assert not any("label" in column for column in book.values())
    labels = {name: column["value_labels"] for name, column in book.items() if "value_labels" in column}
    assert labels == {name: {str(code): text for code, text in of_codes.items()} for name, of_codes in CODES.items()}
    if format != "csv":
        file = read(folder / f"release.{format}").labels
        assert (file.columns, file.codes) == ({}, {"disease": CODES["disease"]})
    said = " ".join(str(warning.message) for warning in told)
    assert "2 of the published columns have labels, which stay here" in said
    assert "one person each, whom they may name: 'doctor'" in said
    assert "Canary" not in said


@pytest.mark.parametrize("format", ["sav", "dta", "xpt"])
def test_labels_of_columns_are_shown_where_they_leave(tmp_path: Path, release: shoal.Release, format: str) -> None:
    with pytest.warns(ShoalWarning) as told:
        folder = release.write(tmp_path / "out", format=format, labels=LABELS, column_labels=True)
    assert any("'sex' is \"Sex of the person\"; 'visit' is \"Visit\"" in str(warning.message) for warning in told)
    refuse_canaries(folder)
    assert {name: column["label"] for name, column in book_of(folder).items() if "label" in column} == COLUMNS
    assert read(folder / f"release.{format}").labels.columns == COLUMNS
    assert Policy.load(folder / "steward" / "policy.toml").column_labels
    assert "Sex of the person" in (folder / "steward" / "report.json").read_text()


def test_codes_are_those_that_can_be_seen(release: shoal.Release) -> None:
    """In sets and at the ends of ranges; never inside of words, nor where numbers are no codes."""
    labels = Labels({}, {"sex": {1: "male", 2: "female", 3: "x"}, "age": {21: "a", 25: "b", 30: "c"}})

    def codes(name: str, shown: list[Any]) -> dict[Any, str]:
        frame = pl.DataFrame({"age": pl.Series([None], dtype=pl.Int64), "sex": pl.Series([None], dtype=pl.Int64)})
        frame = pl.DataFrame({**{one: frame[one].new_from_index(0, len(shown)) for one in frame.columns}, name: shown})
        published = replace(release.published, frame=frame.with_columns(disease=1, doctor=1))
        return dict(labels_that_leave(labels, doubled, published, column_labels=False).codes.get(name, {}))

    frame = release.table.frame.with_columns(pl.col("age") // 2 * 2 + 1)  # every age is that of two persons
    doubled = replace(release.table, frame=frame)
    assert codes("sex", [1, 2]) == {1: "male", 2: "female"}
    assert codes("sex", ["{1, 2}", "1"]) == {1: "male", 2: "female"}
    assert codes("sex", ["2 or missing"]) == {2: "female"}
    assert codes("sex", ["*", "13", "f1", "patient 2"]) == {}
    assert codes("age", ["21-25", "27 or missing"]) == {21: "a", 25: "b"}
    assert codes("age", ["21 to 25"]) == {21: "a", 25: "b"}
    assert codes("age", ["a21-25"]) == {}
    assert codes("age", [21.0, 25.0]) == {}, "a mean is no code"


def test_later_records_bring_no_new_labels(tmp_path: Path, release: shoal.Release) -> None:
    with pytest.warns(ShoalWarning):
        release.write(tmp_path / "one", format="sav", labels=LABELS, keep_person_map=True)
    stored = read_stored(tmp_path / "one")
    new = VISITS.with_columns(disease=pl.lit(5))
    labels = replace(LABELS, codes={**LABELS.codes, "disease": {**LABELS.codes["disease"], 1: "Canary words"}})
    applied = apply(stored, Reading(new, Source((), "sav")), SCHEMA)
    folder = write_applied(applied, tmp_path / "two", labels=labels)
    refuse_canaries(folder)
    assert read(folder / "release.sav").labels == Labels({}, {"disease": CODES["disease"]})
