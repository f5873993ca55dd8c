"""A format of somebody else: used as shoal's own, and what it does not say is taken in the way that is safe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.cli.main import cli
from shoal.errors import InputError, OutputError, ParameterError
from shoal.reading import FORMATS, Format, Reading, ReadOptions, Source, WriteOptions, read
from shoal.reading.formats import format_of_ending
from shoal.reading.laws import check_format
from shoal.web.files import refuse_ending
from tests.conftest import Installed
from tests.pipeline.tables import MODELS, SCHEMA, visits


class JsonLines(Format):
    """A record per line; says no more than it must."""

    name: ClassVar[str] = "jsonl"
    title: ClassVar[str] = "JSON Lines"
    endings: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson")
    is_written: ClassVar[bool] = True
    engines: ClassVar[frozenset[str]] = frozenset({"memory", "stream", "spark"})  # more than it can know

    @classmethod
    def read(cls, path: Path, options: ReadOptions) -> Reading:
        try:
            return Reading(pl.read_ndjson(path, infer_schema_length=None), Source((path,), cls.name))
        except (pl.exceptions.PolarsError, UnicodeDecodeError):
            raise InputError(f"'{path.name}' is no file of JSON lines.") from None

    @classmethod
    def write(cls, frame: pl.DataFrame, path: Path, options: WriteOptions) -> None:
        frame.write_ndjson(path)


class Punched(JsonLines):
    """Is read and not written, which is what a format has to say nothing for."""

    name: ClassVar[str] = "punched"
    title: ClassVar[str] = "Punched"
    endings: ClassVar[tuple[str, ...]] = (".punched",)
    is_written: ClassVar[bool] = False
    write = Format.write


class Cut(JsonLines):
    """Keeps one letter of a text, and does not say so."""

    name: ClassVar[str] = "cut"
    title: ClassVar[str] = "Cut"
    endings: ClassVar[tuple[str, ...]] = (".cut",)

    @classmethod
    def write(cls, frame: pl.DataFrame, path: Path, options: WriteOptions) -> None:
        frame.with_columns(pl.col(pl.String).str.head(1)).write_ndjson(path)


class Other(Punched):
    """Claims an ending that another claims too."""

    name: ClassVar[str] = "other"
    endings: ClassVar[tuple[str, ...]] = (".jsonl", ".csv")


@pytest.fixture
def offered(installed: Installed) -> None:
    parts = {"jsonl": "JsonLines", "punched": "Punched", "cut": "Cut"}
    installed("lines", "shoal.formats", {name: f"{__name__}:{part}" for name, part in parts.items()})


FLAGS = ["--person", "name", "--quasi", "age,gender", "--sensitive", "disease", "--drop", "zip", "--k", "2"]


@pytest.fixture
def people(tmp_path: Path) -> Path:
    frame = pl.DataFrame(
        {
            "name": [f"p{n}" for n in range(24)],
            "age": [20 + n for n in range(24)],
            "gender": ["f", "m"] * 12,
            "disease": ["flu", None, "asthma"] * 8,
            "zip": ["1"] * 24,
        }
    )
    frame.write_ndjson(tmp_path / "people.jsonl")
    return tmp_path / "people.jsonl"


def run(*words: object) -> str:
    answer = CliRunner().invoke(cli, [str(word) for word in words])
    assert answer.exit_code == 0, answer.output
    return answer.output


@pytest.mark.usefixtures("offered")
def test_it_is_read_protected_released_and_verified(tmp_path: Path, people: Path) -> None:
    run("protect", people, *FLAGS, "-o", tmp_path / "out", "--no-report")
    lines = (tmp_path / "out" / "release.jsonl").read_text().splitlines()
    assert len(lines) == 24
    assert set(json.loads(lines[0])) == {"name", "age", "gender", "disease"}
    assert json.loads((tmp_path / "out" / "steward" / "manifest.json").read_text())["format"] == "jsonl"
    assert "keeps its promises" in run("verify", tmp_path / "out")
    people.rename(people.with_suffix(".csv"))
    pl.read_ndjson(people.with_suffix(".csv")).write_csv(people.with_suffix(".csv"))
    run("protect", people.with_suffix(".csv"), *FLAGS, "-o", tmp_path / "more", "--no-report", "--format", "jsonl")
    assert (tmp_path / "more" / "release.jsonl").is_file()


@pytest.mark.usefixtures("offered")
def test_what_it_does_not_say_is_taken_in_the_way_that_is_safe(tmp_path: Path, people: Path) -> None:
    streamed = CliRunner().invoke(
        cli, ["protect", str(people), *FLAGS, "-o", str(tmp_path / "out"), "--engine", "stream"]
    )
    assert "Files of jsonl are read and written whole; CSV and Parquet are not." in streamed.output
    with pytest.raises(InputError, match="Save the table as CSV"):
        refuse_ending(people.name)
    people.rename(people.with_suffix(".punched"))
    assert read(people.with_suffix(".punched")).source.written_as == "parquet"
    made = shoal.protect(visits(), SCHEMA, MODELS, seed=11)
    with pytest.raises(ParameterError, match=r"format must be one of csv, .*, xpt, cut, jsonl"):
        made.write(tmp_path / "out", format="punched")
    with pytest.raises(OutputError, match="Cut files cannot hold 4 of the columns as they are: patient, disease"):
        made.write(tmp_path / "out", format="cut")
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("offered")
def test_the_laws_of_formats_are_offered_to_it(tmp_path: Path) -> None:
    check_format(FORMATS["jsonl"], tmp_path)
    check_format(FORMATS["punched"], tmp_path)
    with pytest.raises(OutputError, match="cannot hold 2 of the columns as they are: text, quoted"):
        check_format(FORMATS["cut"], tmp_path)


@pytest.mark.usefixtures("offered")
def test_an_ending_belongs_to_one_format(installed: Installed) -> None:
    installed("others", "shoal.formats", {"other": f"{__name__}:Other"})
    assert format_of_ending("visits.csv") is FORMATS["csv"]
    with pytest.raises(InputError, match=r"files that end with '\.jsonl': jsonl, other"):
        format_of_ending("visits.JSONL")
