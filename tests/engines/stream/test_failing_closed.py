"""What goes wrong in portions leaves nothing behind, and nothing is told that the published file does not show."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.engines.stream import protect_file, verify_file
from shoal.engines.stream.mask import DiskBuckets, Publisher
from shoal.errors import CannotSatisfyError, InputError, OutputError, ParameterError, PrivacyNotMetError, SchemaError
from tests.engines.stream.tables import schema, table

MODELS = [shoal.PersonKAnonymity(k=3)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "in" / "table.parquet"
    path.parent.mkdir()
    table(1).write_parquet(path)
    return path


def left_beside(out: Path) -> list[str]:
    return sorted(path.name for path in out.parent.iterdir() if path.name.startswith("."))


def spoilt(monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
    """Publish other records than the groups would show."""
    real = Publisher.records

    def records(self: Publisher, bucket: pl.DataFrame) -> tuple[pl.DataFrame, Any]:
        frame, group = real(self, bucket)
        return change(frame), group

    monkeypatch.setattr(Publisher, "records", records)


def test_a_published_file_that_breaks_a_model_is_not_released(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spoilt(monkeypatch, lambda frame: frame.with_columns(age=pl.col("who")))
    out = file.parent.parent / "out"
    with pytest.raises(PrivacyNotMetError, match="Nothing was written"):
        protect_file(file, schema(), MODELS, out, portion=20)
    assert not out.exists()
    assert left_beside(out) == []


def test_a_person_in_two_groups_is_found(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = pl.int_range(pl.len()) == 0
    other = pl.when(first).then(pl.lit("elsewhere")).otherwise(pl.col("age")).alias("age")
    spoilt(monkeypatch, lambda frame: frame.with_columns(other))
    with pytest.raises(PrivacyNotMetError, match="more than one group"):
        protect_file(file, schema(), [shoal.KAnonymity(k=1)], file.parent.parent / "out", portion=1000)


def test_a_record_that_was_lost_is_missed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spoilt(monkeypatch, lambda frame: frame.slice(1))
    with pytest.raises(PrivacyNotMetError, match="records are in the file"):
        protect_file(
            file, schema(), [shoal.KAnonymity(k=1)], file.parent.parent / "out", portion=1000, allow_alone=True
        )


def test_a_model_that_the_whole_table_breaks_is_refused_as_in_memory(file: Path) -> None:
    models = [shoal.HAffiliation(h="0.2"), shoal.TCloseness(t="0.1"), shoal.KAnonymity(k=10_000)]
    with pytest.raises(CannotSatisfyError) as in_memory:
        shoal.protect(pl.read_parquet(file), schema(), models)
    with pytest.raises(CannotSatisfyError) as in_portions:
        protect_file(file, schema(), models, file.parent.parent / "out", portion=20)
    assert str(in_portions.value) == str(in_memory.value)
    assert left_beside(file.parent.parent / "out") == []


def test_records_lie_in_a_folder_that_only_the_owner_sees(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, int]] = []
    real = DiskBuckets.bucket

    def bucket(self: DiskBuckets, number: int) -> pl.DataFrame:
        work = self.parts[0].parent
        seen.append((stat.S_IMODE(work.stat().st_mode), stat.S_IMODE(work.parent.stat().st_mode) & 0o077))
        return real(self, number)

    monkeypatch.setattr(DiskBuckets, "bucket", bucket)
    out = file.parent.parent / "out"
    protect_file(file, schema(), MODELS, out, portion=20, allow_alone=True)
    assert set(seen) == {(0o700, 0)}
    assert not (out / "work").exists()
    assert left_beside(out) == []


def test_neither_order_nor_pseudonyms_tell_anything(tmp_path: Path) -> None:
    """Records of the input are numbered in a kept column; their places in two releases have nothing to do with it."""
    frame = table(6, 400, with_missing=False).with_row_index("place").with_columns(pl.col("place").cast(pl.Int64))
    frame.write_parquet(tmp_path / "t.parquet")
    quasi = shoal.Schema(person="who", quasi=["age"], kept=["place"],
                         dropped=[name for name in frame.columns if name not in ("who", "age", "place")])  # fmt: skip
    for out in ("one", "two"):
        with pytest.raises(PrivacyNotMetError, match=r"400 of 400 persons \(100.0%\) .* by the kept column 'place'"):
            protect_file(tmp_path / "t.parquet", quasi, MODELS, tmp_path / out, portion=100, seed=1)
        protect_file(tmp_path / "t.parquet", quasi, MODELS, tmp_path / out, portion=100, seed=1, allow_alone=True)
    one, two = (pl.read_parquet(tmp_path / out / "release.parquet") for out in ("one", "two"))
    n = len(frame)
    for places in (one["place"].to_numpy(), two["place"].to_numpy()):
        assert sorted(places) == list(range(n))
        assert abs(np.corrcoef(places, np.arange(n))[0, 1]) < 0.2
        halves = places[: n // 2] < n // 2
        assert 0.35 < halves.mean() < 0.65
    assert (one["place"] != two["place"]).mean() > 0.9
    assert not set(one["who"]) & set(two["who"])


def test_cells_that_a_spreadsheet_would_run_are_counted_as_in_memory(tmp_path: Path) -> None:
    frame = table(6).with_columns(note=pl.lit("=1+1")).rename({"note": "=note"})
    frame.write_parquet(tmp_path / "t.parquet")
    columns = shoal.Schema(person="who", quasi=["age"], kept=["=note"],
                           dropped=[name for name in frame.columns if name not in ("who", "age", "=note")])  # fmt: skip
    held = shoal.protect(frame, columns, MODELS)
    streamed = protect_file(tmp_path / "t.parquet", columns, MODELS, tmp_path / "out", portion=20)
    assert any("'=note'" in note for note in held.notes)
    assert streamed.notes[: len(held.notes)] == held.notes


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"method": "mdav"}, "mdav"),
        ({"method": "mondrian", "spread": "z-score"}, "z-score"),
        ({"alpha": 0.5}, "alpha"),
        ({"mask": "permute"}, "permute"),
        ({"code_extremes": True}, "code_extremes"),
        ({"format": "xlsx"}, "xlsx"),
    ],
)
def test_what_needs_the_whole_table_is_refused_by_name(file: Path, options: dict[str, Any], named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        protect_file(file, schema(), MODELS, file.parent.parent / "out", **options)
    assert left_beside(file.parent.parent / "out") == []


def test_models_and_columns_that_need_the_whole_table_are_refused(file: Path) -> None:
    with pytest.raises(ParameterError, match="joint-diversity"):
        protect_file(file, schema(), [shoal.JointDiversity(l=2)], file.parent.parent / "out")
    names = [name for name in table(1).columns if name not in ("who", "age")]
    unlinked = shoal.Schema(person="who", quasi=["age"], dropped=names, person_ids="none")
    with pytest.raises(ParameterError, match="person_ids"):
        protect_file(file, unlinked, MODELS, file.parent.parent / "out")
    with pytest.raises(SchemaError, match="which records are one person's"):
        verify_file(file, unlinked, MODELS)
    with_time = shoal.Schema(person="who", quasi=["age"], time="born",
                             dropped=[n for n in table(1).columns if n not in ("who", "age", "born")])  # fmt: skip
    with pytest.raises(ParameterError, match="'born'"):
        protect_file(file, with_time, MODELS, file.parent.parent / "out")


@pytest.mark.parametrize(
    ("change", "error", "told"),
    [
        ({"who": pl.when(pl.int_range(pl.len()) == 5).then(None).otherwise(pl.col("who"))}, SchemaError, "record 6"),
        ({"age": pl.when(pl.int_range(pl.len()) == 3).then(pl.lit("x")).otherwise(pl.lit("7"))}, SchemaError, "text"),
        ({"age": pl.lit(float("inf"))}, SchemaError, "infinite"),
        ({"born": pl.lit("31.12.2020")}, SchemaError, "2024-12-31"),
    ],
)
def test_a_column_that_does_not_fit_is_refused_with_counts_of_the_whole(
    file: Path, change: dict[str, pl.Expr], error: type[Exception], told: str
) -> None:
    frame = pl.read_parquet(file).with_columns(**change)
    frame.write_parquet(file)
    columns = schema(shoal.Number("age"), shoal.Date("born"))
    with pytest.raises(error, match=told) as in_memory:
        shoal.protect(frame, columns, MODELS)
    with pytest.raises(error) as in_portions:
        protect_file(file, columns, MODELS, file.parent.parent / "out", portion=7)
    assert str(in_portions.value) == str(in_memory.value)


def test_a_damaged_file_is_refused(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[200:1200] = bytes(1000)
    file.write_bytes(data)
    with pytest.raises(InputError, match=r"table\.parquet"):
        protect_file(file, schema(), MODELS, file.parent.parent / "out")


def test_a_disk_without_room_is_told_before(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.engines.stream.run.shutil.disk_usage", lambda _: type("Usage", (), {"free": 1000})())
    with pytest.raises(OutputError, match="GB free"):
        protect_file(file, schema(), MODELS, file.parent.parent / "out")


def test_verify_file_answers_about_what_others_published(file: Path) -> None:
    frame = pl.read_parquet(file).with_columns(who=pl.format("P{}XYZ", pl.col("who")))
    frame.drop("extra", "weight", "ratio", "stage", "region", "zip").write_parquet(file)
    answer = verify_file(file, schema(), MODELS, portion=9)
    held = shoal.verify(pl.read_parquet(file), schema(), MODELS)
    assert not answer.holds
    assert answer.risk == held.risk
    assert answer.verdict == held.verdict
    assert "more than one group" in answer.problems[0]
    with pytest.raises(SchemaError, match="lacks 1"):
        verify_file(file, schema("age", "weight"), MODELS)
