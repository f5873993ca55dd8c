"""Published files read back: what protect wrote, what others have changed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal import Schema
from shoal.errors import InputError
from shoal.models import Model
from shoal.publishing.codebook import CODEBOOKS
from shoal.publishing.read import read_published
from shoal.reading import CsvOptions
from tests.masking.patients import ONE_RECORD, patients

MODELS: list[Model] = [shoal.JointDiversity(l=3), shoal.PersonKAnonymity(k=4)]
ODD = ["x-3", "x", "X", "Überweisung, Art", "a/b", "a:b", "..", "Disease", "disease", "äöü", 'dis"ease', "new\nline"]
"""Names that no file may have, that a CSV file must quote, or that give the same file."""


def written(
    folder: Path,
    *,
    sensitive: Sequence[str] = ("disease", "treatment"),
    mask: str = "anatomize",
    frame: pl.DataFrame | None = None,
    **options: Any,
) -> tuple[shoal.Release, Schema]:
    frame = patients() if frame is None else frame
    others = [name for name in ("disease", "treatment", "phone") if name in frame.columns and name not in sensitive]
    schema = Schema(person="patient", quasi=["age", shoal.Nominal("sex")], sensitive=sensitive, dropped=others)
    release = shoal.protect(frame, schema, MODELS, mask=mask)
    release.write(folder, **options)
    return release, schema


def holds(file: Path, schema: Schema, csv: CsvOptions | None = None, mask: str = "anatomize") -> bool:
    read = read_published(file, csv=csv or CsvOptions())
    return bool(shoal.verify(read.frame, schema, MODELS, mask=mask, tables=read.tables, linked=read.linked).holds)


def texts(frame: pl.DataFrame) -> list[tuple[Any, ...]]:
    """The rows as a CSV file holds them."""
    return frame.cast(pl.String).rows()


@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize("mask", ["anatomize", "permute"])
def test_what_was_written_is_read_and_holds(tmp_path: Path, format: str, mask: str) -> None:
    release, schema = written(tmp_path / "out", format=format, mask=mask)
    file = tmp_path / "out" / f"release.{format}"
    read = read_published(file, csv=CsvOptions())
    assert texts(read.frame) == texts(release.data)
    assert set(read.tables) == ({"disease", "treatment"} if mask == "anatomize" else set())
    for name, table in read.tables.items():
        assert texts(table) == texts(release.published.tables[name])
    assert read.linked is not None
    assert holds(file, schema, mask=mask)
    (tmp_path / "out" / "steward" / "linked.parquet").unlink()
    assert read_published(file, csv=CsvOptions()).linked is None


def test_other_delimiters_and_encodings_are_read_as_they_were_written(tmp_path: Path) -> None:
    csv = CsvOptions(delimiter=";", encoding="latin-1")
    frame = patients().with_columns(pl.col("disease").str.replace("disease", "maladie é; "))
    release, schema = written(tmp_path / "out", frame=frame, csv=csv)
    read = read_published(tmp_path / "out" / "release.csv", csv=csv)
    assert texts(read.tables["disease"]) == texts(release.published.tables["disease"])
    assert holds(tmp_path / "out" / "release.csv", schema, csv)


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_odd_names_of_attributes_each_get_a_file(tmp_path: Path, format: str) -> None:
    frame = patients(200).drop("treatment")
    frame = frame.with_columns(
        (pl.col("age") * (place + 2) % 23).cast(pl.String).alias(name) for place, name in enumerate(ODD)
    )
    release, schema = written(tmp_path / "out", frame=frame, sensitive=ODD, format=format)
    files = [path.name for path in (tmp_path / "out").iterdir() if path.name.startswith("release-")]
    assert len({name.lower() for name in files}) == len(ODD), "also where files are told apart by letters only"
    read = read_published(tmp_path / "out" / f"release.{format}", csv=CsvOptions())
    assert list(read.tables) == ODD
    for name in ODD:
        assert read.tables[name].columns == release.published.tables[name].columns
    assert holds(tmp_path / "out" / f"release.{format}", schema)


def test_only_the_steward_has_what_links_values(tmp_path: Path) -> None:
    written(tmp_path / "out", keep_person_map=False)
    leaving = sorted(path.name for path in (tmp_path / "out").iterdir() if path.is_file())
    assert leaving == sorted(
        [*CODEBOOKS, "release-disease.csv", "release-treatment.csv", "release.csv", "summary.html"]
    )
    assert (tmp_path / "out" / "steward" / "linked.parquet").is_file()
    book = (tmp_path / "out" / "codebook.json").read_text(encoding="utf-8")
    assert "linked" not in book
    assert "disease 1" not in book


@pytest.mark.parametrize(
    "content",
    ["", "[]", '"text"', "{", '{"tables": 1}', '{"tables": [1]}', '{"tables": [{"file": "release-disease.csv"}]}',
     '{"tables": [{"attribute": "disease"}]}', '{"tables": null}'],
)  # fmt: skip
def test_a_codebook_that_is_none_is_refused(tmp_path: Path, content: str) -> None:
    written(tmp_path / "out")
    (tmp_path / "out" / "codebook.json").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"codebook\.json' is not a codebook"):
        read_published(tmp_path / "out" / "release.csv", csv=CsvOptions())


@pytest.mark.parametrize("file", ["../secret.csv", "steward/linked.parquet", "/etc/passwd", "..", "", ".", "a\x00b"])
def test_a_codebook_that_names_a_file_outside_is_refused(tmp_path: Path, file: str) -> None:
    written(tmp_path / "out")
    (tmp_path / "secret.csv").write_text("group,disease,count\n1,x,1\n")
    book = tmp_path / "out" / "codebook.json"
    content = json.loads(book.read_text(encoding="utf-8"))
    content["tables"][0]["file"] = file
    book.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError, match="outside its folder") as refusal:
        read_published(tmp_path / "out" / "release.csv", csv=CsvOptions())
    assert "secret" not in str(refusal.value)


def test_a_link_to_a_file_outside_is_refused(tmp_path: Path) -> None:
    written(tmp_path / "out")
    table = tmp_path / "out" / "release-disease.csv"
    table.rename(tmp_path / "secret.csv")
    table.symlink_to(tmp_path / "secret.csv")
    with pytest.raises(InputError, match="outside its folder"):
        read_published(tmp_path / "out" / "release.csv", csv=CsvOptions())


def test_a_table_that_is_gone_is_told(tmp_path: Path) -> None:
    written(tmp_path / "out")
    (tmp_path / "out" / "release-disease.csv").unlink()
    with pytest.raises(InputError, match=r"release-disease\.csv"):
        read_published(tmp_path / "out" / "release.csv", csv=CsvOptions())


def test_what_the_steward_keeps_and_is_none_is_refused(tmp_path: Path) -> None:
    written(tmp_path / "out")
    (tmp_path / "out" / "steward" / "linked.parquet").write_bytes(b"PAR1 torn")
    with pytest.raises(InputError, match=r"linked\.parquet"):
        read_published(tmp_path / "out" / "release.csv", csv=CsvOptions())


def test_a_file_without_a_codebook_is_read_alone(tmp_path: Path) -> None:
    patients().write_csv(tmp_path / "received.csv")
    read = read_published(tmp_path / "received.csv", csv=CsvOptions())
    assert (len(read.frame), read.tables, read.linked) == (120, {}, None)


def test_values_like_numbers_and_dates_are_read_back(tmp_path: Path) -> None:
    frame = patients().with_columns(
        disease=pl.col("age") % 7, treatment=pl.date(2020, 1, 1) + pl.duration(days=pl.col("age") % 6)
    )
    _, schema = written(tmp_path / "out", frame=frame)
    assert holds(tmp_path / "out" / "release.csv", schema)
    assert ONE_RECORD.sensitive == schema.sensitive
