"""Parquet files keep their types, or are refused with clear words."""

from datetime import date
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.engines.stream.read import FileSource
from shoal.errors import InputError
from shoal.reading import read, read_parquet


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_parquet(path)
    return str(caught.value)


def test_types_are_kept(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"patient": [1, 2, None], "disease": ["Flu", None, ""], "day": [date(2020, 1, 2)] * 3, "dose": [0.5, None, 2.0]}
    )
    path = tmp_path / "visits.parquet"
    frame.write_parquet(path)
    reading = read_parquet(path)
    assert reading.frame.equals(frame)
    assert reading.frame.schema == frame.schema
    assert (reading.source.format, reading.source.csv) == ("parquet", None)
    assert reading.line_of_record(0) is None
    assert reading.notes == ()


def test_file_names_are_taken_literally(tmp_path: Path) -> None:
    folder = tmp_path / "year=2020"
    folder.mkdir()
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "visits.parquet")
    path = folder / "visits[1]*.parquet"
    pl.DataFrame({"a": [2]}).write_parquet(tmp_path / "other.parquet")
    (tmp_path / "other.parquet").rename(path)
    assert read_parquet(path).frame.to_dict(as_series=False) == {"a": [2]}


def test_every_cut_of_a_file_is_refused(tmp_path: Path) -> None:
    whole = tmp_path / "whole.parquet"
    pl.DataFrame({"a": list(range(50)), "b": ["x"] * 50}).write_parquet(whole)
    content = whole.read_bytes()
    cut = tmp_path / "cut.parquet"
    for length in range(len(content)):
        cut.write_bytes(content[:length])
        assert "'cut.parquet' is" in refusal(cut)


def test_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "damaged.parquet"
    path.write_bytes(b"PAR1" + b"\xff" * 100 + b"PAR1")
    assert "'damaged.parquet' is a damaged Parquet file" in refusal(path)


def test_what_is_no_parquet_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "visits.parquet"
    assert "There is no file" in refusal(path)
    assert "is a folder" in refusal(tmp_path)
    path.write_bytes(b"")
    assert "is empty" in refusal(path)
    path.write_text("a,b\n1,2\n")
    assert "is not a Parquet file" in refusal(path)


def test_columns_that_hold_more_than_a_plain_value_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "visits.parquet"
    pl.DataFrame({"a": [1], "codes": [[1, 2]], "name": [{"first": "x"}], "scan": [b"x"]}).write_parquet(path)
    message = refusal(path)
    assert all(f"'{column}'" in message for column in ("codes", "name", "scan"))
    assert "'a'" not in message


def test_no_records(tmp_path: Path) -> None:
    path = tmp_path / "visits.parquet"
    pl.DataFrame({"a": [], "b": []}, schema={"a": pl.Int64, "b": pl.String}).write_parquet(path)
    assert "2 columns and no records" in refusal(path)


def test_parquet_is_told_by_its_first_bytes_where_the_ending_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "visits"
    pl.DataFrame({"a": [1]}).write_parquet(path)
    assert read([path]).source.format == "parquet"
    path.write_text("a\n1\n")
    assert read([path]).source.format == "csv"


@pytest.mark.parametrize("ending", ["parquet", "arrow", "arrows"])
def test_times_that_no_day_has_are_refused_and_not_missing(tmp_path: Path, ending: str) -> None:
    table = pa.table({"a": [1, 2], "t": pa.array([86_400_000_000, None], pa.time64("us"))})
    path = tmp_path / f"visits.{ending}"
    if ending == "parquet":
        pq.write_table(table, path)
    else:
        with (pa.ipc.new_file if ending == "arrow" else pa.ipc.new_stream)(path, table.schema) as file:
            file.write_table(table)
    with pytest.raises(InputError, match="24:00:00 or later, which no time of a day is: 1 in 't'"):
        read(path)
    assert read(path, dropped=["t"]).frame["a"].to_list() == [1, 2]
    if ending == "parquet":
        with pytest.raises(InputError, match="24:00:00 or later"):
            FileSource.of_parquet(path)


def test_dates_that_no_calendar_has_are_refused_by_both_engines(tmp_path: Path) -> None:
    dates = pl.Series("d", [2**31 - 1, 0, 3_000_000, None], dtype=pl.Int32).cast(pl.Date)
    path = tmp_path / "visits.parquet"
    pl.DataFrame({"age": [1, 2, 3, 4], "d": dates}).write_parquet(path)
    schema = shoal.Schema(quasi=["age"], sensitive=["d"])
    told = r"before the year 1 or after 9999, such as infinity.*2 in 'd'"
    with pytest.raises(InputError, match=told):
        shoal.assess(read(path).frame, schema)
    with pytest.raises(InputError, match=told):
        FileSource.of_parquet(path).refuse_unfit(schema)
