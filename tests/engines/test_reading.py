"""One law over the engines: what memory reads all read, to the last sign; what it refuses all refuse in its words."""

from __future__ import annotations

import gzip
from datetime import date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.engines.stream.read import FileSource
from shoal.errors import ShoalError
from shoal.reading import CsvOptions, read
from tests.tiers import long_but_for

pytestmark = pytest.mark.spark

LATIN = CsvOptions(encoding="latin-1")
CSV: dict[str, tuple[dict[str, bytes], CsvOptions]] = {
    "line breaks inside quotes": ({"t.csv": b'p,note\n1,"a\nb"\n2,"c\r\nd,e"\n3,"""x""\n"\n'}, CsvOptions()),
    "a long line": ({"t.csv": b"p,q\n1,2\n1,2,3\n"}, CsvOptions()),
    "a short line": ({"t.csv": b"p,q\n1,2\n1\n"}, CsvOptions()),
    "a blank line": ({"t.csv": b"p,q\n1,2\n\n3,4\n"}, CsvOptions()),
    "blank lines at the end": ({"t.csv": b"p,q\n1,2\n\n\n"}, CsvOptions()),
    "blank lines of one column": ({"t.csv": b"p\n1\n\n2\n"}, CsvOptions()),
    "Latin-1 as UTF-8": ({"t.csv": b"p,q\n1,M\xfcller\n"}, CsvOptions()),
    "Latin-1 as asked for": ({"t.csv": b"p,q\n1,M\xfcller\n"}, LATIN),
    "UTF-8 with a mark as Latin-1": ({"t.csv": b"\xef\xbb\xbfp,q\n1,2\n"}, LATIN),
    "UTF-16": ({"t.csv": "p,q\n1,é\n".encode("utf-16")}, CsvOptions(encoding="utf-16")),
    "a mark": ({"t.csv": b"\xef\xbb\xbfp,q\n1,2\n"}, CsvOptions()),
    "quotes in the middle": ({"t.csv": b'p,q\n1,5" pipe\n2,a "b" c\n'}, CsvOptions()),
    "text behind a closing quote": ({"t.csv": b'p,q\n1,"a" b\n'}, CsvOptions()),
    "a quote that is never closed": ({"t.csv": b'p,q\n1,"a\n2,b\n'}, CsvOptions()),
    "another quote": ({"t.csv": b"p,q\n1,'a,b'\n2,\"x\n"}, CsvOptions(quote="'")),
    "no quote": ({"t.csv": b'p,q\n1,"a\n'}, CsvOptions(quote="")),
    "a NUL byte": ({"t.csv": b"p,q\n1,a\0b\n"}, CsvOptions()),
    "carriage returns alone": ({"t.csv": b"p,q\r1,2\r3,4\r"}, CsvOptions()),
    "carriage returns alone and quotes": ({"t.csv": b'p,q\r1,"a\rb"\r3,4\r'}, CsvOptions()),
    "line ends of two kinds": ({"t.csv": b"p,q\n1,2\r3,4\n"}, CsvOptions()),
    "white space": ({"t.csv": b" p ,q\n 1 , a b \n2,\t\n"}, CsvOptions()),
    "texts that mean missing": ({"t.csv": b"p,q\n1,NA\n2,\n.,na\n"}, CsvOptions(missing=("NA", "."))),
    "texts that mean missing in one": ({"t.csv": b"p,q\n1,NA\nNA,\n.,x\n"}, CsvOptions(missing_in={"q": ("NA",)})),
    "decimal commas": ({"t.csv": b"p;q;r\n1;2,5;3,5\n2;1;x,y\n"}, CsvOptions(decimal=",")),
    "commas that are not asked for": ({"t.csv": b"p;q\n1;2,5\n2;1,5\n"}, CsvOptions()),
    "a delimiter that is found": ({"t.csv": b"p|q\n1|2,3\n"}, CsvOptions()),
    "names of all kinds": ({"t.csv": b'q,Q,a.b,`c`,"d ""e"",f",g h,\xc3\xa9\n1,2,3,4,5,6,7\n'}, CsvOptions()),
    "a name twice": ({"t.csv": b"p,p\n1,2\n"}, CsvOptions()),
    "no name": ({"t.csv": b"p,\n1,2\n"}, CsvOptions()),
    "packed": ({"t.csv.gz": gzip.compress(b'p,q\n1,"a\nb"\n')}, CsvOptions()),
    "packed and cut short": ({"t.csv.gz": gzip.compress(b"p,q\n1,2\n" * 99)[:-9]}, CsvOptions()),
    "empty": ({"t.csv": b""}, CsvOptions()),
    "no records": ({"t.csv": b"p,q\n"}, CsvOptions()),
    "a folder with an empty file": ({"a.csv": b"p,q\n1,2\n", "b.csv": b""}, CsvOptions()),
    "a folder in which columns change places": ({"a.csv": b"p,q\n1,2\n", "b.csv": b"q,p\n3,4\n\n"}, CsvOptions()),
    "a folder of other columns": ({"a.csv": b"p,q\n1,2\n", "b.csv": b"p,w\n3,4\n"}, CsvOptions()),
    "a folder of several delimiters": ({"a.csv": b"p,q\n1,2\n", "b.csv": b"p;q\n3;4\n"}, CsvOptions()),
    "a folder of which one is broken": ({"a.csv": b"p,q\n1,2\n", "b.csv": b"p,q\n3\n"}, CsvOptions()),
}  # fmt: skip

IN_BLOCKS = ("line breaks inside quotes", "blank lines at the end", "a mark", "quotes in the middle", "a NUL byte")
"""Read in the smallest blocks too."""

NOON = datetime(2020, 5, 1, 12)
PARQUET: dict[str, dict[str, pl.DataFrame]] = {
    "plain types": {
        "t.parquet": pl.DataFrame({
            "i": pl.Series([1, None, -3], dtype=pl.Int8), "u": pl.Series([1, 2, 2**32 - 1], dtype=pl.UInt32),
            "f": [0.1, None, float("nan")], "b": [True, None, False], "t": ["a", "", None], "d": [date(1500, 1, 1)] * 3,
            "m": pl.Series([NOON, None, NOON], dtype=pl.Datetime("ms")), "z": pl.Series([None] * 3, dtype=pl.Null),
            "c": pl.Series(["1", "2", None], dtype=pl.Categorical),
            "x": pl.Series(["1.50", "2", None]).cast(pl.Decimal(9, 2)),
        }),
    },
    "whole numbers beyond 63 bits": {
        "t.parquet": pl.DataFrame({"u": pl.Series([1, 2**64 - 1, None], dtype=pl.UInt64)}),
    },
    "whole numbers of 64 bits that fit": {"t.parquet": pl.DataFrame({"u": pl.Series([1, 5], dtype=pl.UInt64)})},
    "names of all kinds": {
        "t.parquet": pl.DataFrame({"q": [1], "Q": [2], "a.b": [3], "`c`": [4], 'd "e",f': [5], " g h ": [6], "": [7]})
    },
    "columns that change places": {
        "a.parquet": pl.DataFrame({"p": [1], "q": ["x"]}), "b.parquet": pl.DataFrame({"q": ["y"], "p": [2]}),
    },
    "columns that some files lack": {
        "a.parquet": pl.DataFrame({"p": [1], "q": ["x"]}), "b.parquet": pl.DataFrame({"p": [2]}),
    },
    "types that go together": {
        "a.parquet": pl.DataFrame({"p": pl.Series([1], dtype=pl.Int32), "u": pl.Series([2**64 - 1], dtype=pl.UInt64)}),
        "b.parquet": pl.DataFrame({"p": [2.5], "u": [-1]}),
    },
    "whole numbers that no float holds": {
        "a.parquet": pl.DataFrame({"p": [2**53 + 1]}), "b.parquet": pl.DataFrame({"p": [2.5]}),
    },
    "types that do not go together": {
        "a.parquet": pl.DataFrame({"p": [1]}), "b.parquet": pl.DataFrame({"p": ["x"]}),
    },
    "lists": {"t.parquet": pl.DataFrame({"p": [[1, 2]]})},
    "no records": {"t.parquet": pl.DataFrame({"p": [1]}).clear()},
}  # fmt: skip


def told_by(read: Any) -> Any:
    """The records and the notes, or the kind and the words of the refusal."""
    try:
        frame, notes = read()
    except ShoalError as error:
        return type(error).__name__, str(error)
    return frame.columns, sorted(map(repr, frame.rows())), list(notes)


def in_memory(folder: Path, options: CsvOptions) -> Any:
    reading = read(sorted(folder.iterdir()), csv=options)
    return reading.frame, reading.notes


def on_spark(spark: Any, folder: Path, options: CsvOptions) -> Any:
    from shoal.engines.spark.errors import explained
    from shoal.engines.spark.files import read_tables
    from shoal.engines.spark.read import frame_of
    from shoal.engines.spark.session import case_sensitive

    with case_sensitive(spark), explained():
        tables = read_tables(spark, [str(folder)], csv=options)
        found = frame_of(tables.frame.toArrow())
    return found.with_columns(pl.col(pl.Decimal(38, 0)).cast(pl.Int128)), tables.notes


def in_portions(folder: Path, options: CsvOptions, work: Path) -> Any:
    (path,) = folder.iterdir()
    work.mkdir()
    source = FileSource.of_csv(path, options, work) if ".csv" in path.name else FileSource.of_parquet(path)
    source.refuse_unfit(shoal.Schema(quasi=[source.schema.names()[0]], dropped=source.schema.names()[1:]))
    return source.collected(source.scan), source.notes


def csv_files(tmp_path: Path, case: str) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    for name, content in CSV[case][0].items():
        (folder / name).write_bytes(content)
    return folder


def parquet_files(tmp_path: Path, case: str) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    for name, frame in PARQUET[case].items():
        frame.write_parquet(folder / name)
    return folder


@pytest.mark.parametrize("case", [case for case, (files, _) in CSV.items() if len(files) == 1])
def test_csv_files_are_read_in_portions_as_in_memory_or_refused_in_its_words(tmp_path: Path, case: str) -> None:
    folder, options = csv_files(tmp_path, case), CSV[case][1]
    expected = told_by(lambda: in_memory(folder, options))
    assert told_by(lambda: in_portions(folder, options, tmp_path / "work")) == expected


@pytest.mark.parametrize("case", [case for case, files in PARQUET.items() if len(files) == 1])
def test_parquet_files_are_read_in_portions_as_in_memory_or_refused_in_its_words(tmp_path: Path, case: str) -> None:
    folder = parquet_files(tmp_path, case)
    expected = told_by(lambda: in_memory(folder, CsvOptions()))
    assert told_by(lambda: in_portions(folder, CsvOptions(), tmp_path / "work")) == expected


@pytest.mark.parametrize("case", long_but_for(("a folder of which one is broken", *IN_BLOCKS), CSV))
def test_csv_files_are_read_as_in_memory_or_refused_in_its_words(
    spark: Any, tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, options = csv_files(tmp_path, case), CSV[case][1]
    expected = told_by(lambda: in_memory(folder, options))
    assert told_by(lambda: on_spark(spark, folder, options)) == expected
    if case in IN_BLOCKS:
        monkeypatch.setattr("shoal.engines.spark.files.BLOCK_BYTES", 1)
        assert told_by(lambda: on_spark(spark, folder, options)) == expected


@pytest.mark.parametrize("case", long_but_for(("plain types", "types that go together"), PARQUET))
def test_parquet_files_are_read_as_in_memory_or_refused_in_its_words(
    spark: Any, tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = parquet_files(tmp_path, case)
    monkeypatch.setattr("shoal.engines.spark.files.RECORDS_PER_PIECE", 2)
    expected = told_by(lambda: in_memory(folder, CsvOptions()))
    assert told_by(lambda: on_spark(spark, folder, CsvOptions())) == expected


def nasty_table(n: int = 24) -> pl.DataFrame:
    """Persons whose dropped notes have line breaks, in columns whose names need quotes."""
    return pl.DataFrame({
        "p.id": [f"p{i % (n // 2)}" for i in range(n)], "q": [20 + i % 7 for i in range(n)],
        "Q": [f"{i % 3}x" for i in range(n)], "`c d`": [f" {'äb'[i % 2]}, " for i in range(n)],
        "note": [f'said\n"p{i + 900}";99;1x; z\r\nand left' if i % 2 else "nothing" for i in range(n)],
        'k "x"': [2**64 - 1 - i // 5 for i in range(n)], "f": [(-0.0, 0.0, 1.5, float("nan"))[i % 4] for i in range(n)],
    }, schema_overrides={'k "x"': pl.UInt64})  # fmt: skip


COLUMNS = ["--person", "p.id", "--quasi", "q,Q", "--sensitive", "`c d`", "--drop", "note", "--keep", 'k "x",f']
AS_WRITTEN = ("--missing-text", "none")
"""So that no mark of missing values is looked for, which Spark takes only where it is told."""
MODELS = ["--person-k", "3", "--g-balance", "0.5", "--seed", "1", "--no-report", "--allow-alone"]


def released(folder: Path, file: Path, engine: str, *flags: str) -> Any:
    """What an engine publishes of a file, without pseudonyms and order, and how it says so."""
    import json

    from click.testing import CliRunner

    from shoal.cli.main import cli
    from shoal.publishing.read import read_as_published
    from tests.engines.test_engines import canonical

    out = folder / engine
    arguments = ["protect", str(file), *COLUMNS, *MODELS, *flags, "--engine", engine, "-o", str(out), "--json"]
    done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    verified = CliRunner().invoke(cli, ["verify", str(out)], catch_exceptions=False)
    assert verified.exit_code == 0, verified.output
    (release,) = out.glob("release.*")
    options = CsvOptions(delimiter=";", encoding="latin-1" if "latin-1" in flags else "utf-8")
    frame = read_as_published(release, csv=options).frame
    decimals = pl.col(pl.Decimal(38, 0))
    told = {name: answer[name] for name in ("records", "persons", "groups", "max_gidr", "k", "verdict")}
    return frame.columns, canonical(frame.with_columns(decimals.cast(pl.UInt64)), "p.id"), told


@pytest.mark.long
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_every_engine_publishes_the_same_of_a_nasty_file(spark: Any, tmp_path: Path, form: str) -> None:
    frame = nasty_table()
    file = tmp_path / f"t.{form}"
    if form == "parquet":
        frame.write_parquet(file)
        flags = ("--format", "parquet")
    else:
        file.write_bytes(frame.write_csv(separator=";").encode("latin-1"))
        flags = ("--encoding", "latin-1", "--delimiter", ";", *AS_WRITTEN)
    expected = released(tmp_path, file, "memory", *flags)
    assert expected[2]["persons"] == 12
    assert released(tmp_path, file, "spark", *flags) == expected
    if form == "csv":
        frame.write_csv(file, separator=";")
        assert released(tmp_path, file, "stream", *AS_WRITTEN)[:2] == expected[:2]
    else:
        assert released(tmp_path, file, "stream", *flags) == expected


@pytest.mark.long
def test_files_that_only_spark_can_reach_are_read_alike(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shoal.engines.spark.files import read_tables
    from shoal.engines.spark.read import frame_of
    from shoal.errors import InputError

    (tmp_path / "a b.csv").write_bytes(b'p,q\n1,"x\ny"\n')
    (tmp_path / "c.csv").write_bytes(b"q;p\nz;2\n")
    expected = in_memory(tmp_path, CsvOptions())
    monkeypatch.setattr("shoal.engines.spark.files._local", lambda path: None)
    address = tmp_path.as_uri() + "/*.csv"
    tables = read_tables(spark, [address])
    assert frame_of(tables.frame.toArrow()).sort("p").equals(expected[0])
    assert tables.notes == expected[1]
    (tmp_path / "c.csv").write_bytes(b"q;p\nz\n")
    with pytest.raises(InputError, match=r"'c.csv', line 2: 1 field"):
        read_tables(spark, [address])
    monkeypatch.setattr("shoal.engines.spark.files.MOST_BYTES", 5)
    with pytest.raises(InputError, match="GB at the most"):
        read_tables(spark, [address])


def test_links_are_followed_and_folders_inside_folders_refused(spark: Any, tmp_path: Path) -> None:
    from shoal.engines.spark.files import read_tables
    from shoal.engines.spark.read import frame_of
    from shoal.errors import InputError

    (tmp_path / "t.csv").write_bytes(b"p,q\n1,2\n")
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "link.csv").symlink_to(tmp_path / "t.csv")
    (folder / "_SUCCESS").touch()
    assert frame_of(read_tables(spark, [str(folder)]).frame.toArrow()).rows() == [("1", "2")]
    (folder / "gone.csv").symlink_to(tmp_path / "absent.csv")
    with pytest.raises(InputError, match="There is no file"):
        read_tables(spark, [str(folder)])
    (folder / "gone.csv").unlink()
    (folder / "year=2024").mkdir()
    with pytest.raises(InputError, match="1 folders inside"):
        read_tables(spark, [str(folder)])
