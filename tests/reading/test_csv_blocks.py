"""CSV files block by block: the same records as of the whole file, or the same refusal."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import InputError
from shoal.reading import CsvOptions, read_csv
from shoal.reading.csv import read_csv_blocks
from shoal.reading.forms import decimal_commas

field = st.text(st.sampled_from('ab,"\n\r é'), max_size=5).filter(lambda text: "\r" not in text or '"' not in text)


def blocks(path: Path, block_bytes: int, options: CsvOptions | None = None) -> pl.DataFrame:
    read = read_csv_blocks(path, options, block_bytes=block_bytes)
    return pl.concat(list(read.frames))


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in ',"\n\r') else text


@given(
    rows=st.lists(st.tuples(field, field, st.just("z")), min_size=1, max_size=12),
    block=st.integers(1, 60),
    end=st.sampled_from(["\n", "\r\n"]),
    blank=st.integers(0, 3),
    mark=st.booleans(),
)
@settings(deadline=None, max_examples=150)
def test_blocks_hold_what_the_whole_file_holds(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, ...]], block: int, end: str, blank: int, mark: bool
) -> None:
    path = tmp_path_factory.mktemp("blocks") / "t.csv"
    text = end.join(["first,second,last", *(",".join(map(quoted, row)) for row in rows)]) + end * blank
    path.write_bytes((b"\xef\xbb\xbf" if mark else b"") + text.encode())
    options = CsvOptions(delimiter=",")
    assert blocks(path, block, options).equals(read_csv(path, options).frame)


def test_a_file_of_at_most_one_block_is_one_block_and_asks_no_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'a,b\r\n1,"x\r\ny"\r\n2,z\r\n\r\n')
    monkeypatch.setitem(sys.modules, "shoal.kernels.lines", None)
    size = path.stat().st_size
    (block,) = read_csv_blocks(path, block_bytes=size).cut()
    assert (block.content, block.start, block.line) == (b'1,"x\r\ny"\r\n2,z', 0, 2)
    assert read_csv_blocks(path, block_bytes=size).names == ["a", "b"]
    with pytest.raises(ImportError):
        list(read_csv_blocks(path, block_bytes=size - 1).cut())


@pytest.mark.parametrize("block", [1, 7, 10_000])
def test_faults_are_told_with_their_line(tmp_path: Path, block: int) -> None:
    path = tmp_path / "t.csv"
    for body, line in (("a,b\n1,2\n3\n4,5\n", 3), ("a,b\n1,2\n\n3,4\n", 3), ('a,b\n"x\ny",2\n1,2,3\n', 4)):
        path.write_text(body)
        with pytest.raises(InputError) as whole:
            read_csv(path)
        with pytest.raises(InputError) as told:
            blocks(path, block)
        assert f"line {line}" in str(told.value)
        assert str(told.value) == str(whole.value)


def told_by(read: Any) -> Any:
    """The records and notes, or the words of the refusal."""
    try:
        return read()
    except InputError as error:
        return str(error)


def whole(path: Path, options: CsvOptions) -> Any:
    reading = read_csv(path, options)
    return reading.frame.rows(), list(reading.notes)


def in_blocks(path: Path, options: CsvOptions, block_bytes: int) -> Any:
    read = read_csv_blocks(path, options, block_bytes=block_bytes)
    frame = pl.concat(list(read.frames))
    changed, notes = decimal_commas(f"'{path.name}'", frame.lazy(), options.decimal)
    return frame.with_columns(changed).rows(), [*read.notes(), *notes]


NASTY = [
    b'a,b\n5" pipe,2\n1,2\n', b'a,b\n1,"x" y\n1,2\n', b'a,b\n1,"x\n2,3\n', b'"a\nx",b\n1,2\n\n\n', b'"a,b\n1,2\n',
    b"a,b\r1,2\r3,4\r", b'a,b\r1,"x\ry"\r3,4\r\r', b"a,b\r1,2\n3,4\n", b"a,b\n1,2\r3,4\n", b'a;b\n"1,5";2\n"2,5";3\n',
    b"a,b\n1,\0\n", b"a,b\n1,2\n3,\xff\n", b"a,b\n1,\xc3", b"a,b\n1,\xe9\xe8\n", b"\xff\xfea\0,\0b\0\n\0",
    b"", b"\n\n", b"a,b\n", b"a,b", b"a,b\n1,2\n\n3,4\n", b"a\n1\n\n2\n\n\n", b"a,b\n1,2,3\n", b" a ,b\n 1, 2\n",
    b"\xef\xbb\xbfa,b\n1,2", b"a,b\n\xef\xbb\xbf1,2\n", b"a,a\n1,2\n", b"a,\n1,2\n",
    b"a\n1\r\r\n2\n", b"a\n1\n2\r\r\n",
]  # fmt: skip


@pytest.mark.parametrize("block", [1, 3, 10_000])
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16"])
def test_nasty_files_are_told_in_the_same_words(tmp_path: Path, block: int, encoding: str) -> None:
    path = tmp_path / "t.csv"
    for body in NASTY:
        path.write_bytes(body)
        for decimal in (".", ","):
            options = CsvOptions(encoding=encoding, decimal=decimal)
            expected = told_by(lambda options=options: whole(path, options))
            assert told_by(lambda options=options: in_blocks(path, options, block)) == expected, body


@given(
    body=st.lists(st.sampled_from([*b'aa,,"\n\n\r \xc3\xa9', b"\r\n", b'"",']), max_size=24), block=st.integers(1, 12)
)
@settings(deadline=None, max_examples=300)
def test_any_bytes_are_read_alike_or_refused_by_both(
    tmp_path_factory: pytest.TempPathFactory, body: list[int | bytes], block: int
) -> None:
    path = tmp_path_factory.mktemp("bytes") / "t.csv"
    path.write_bytes(b"a,b\n" + b"".join(part if isinstance(part, bytes) else bytes([part]) for part in body))
    options = CsvOptions(delimiter=",")
    expected = told_by(lambda: whole(path, options))
    found = told_by(lambda: in_blocks(path, options, block))
    assert found == expected or isinstance(found, str)  # of two faults either, and line ends of two kinds never
    if found != expected and not isinstance(expected, str):
        assert "a line end of another kind" in found


def test_a_record_that_never_ends_is_refused_before_it_fills_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoal.reading.csv.MOST_BYTES_PER_RECORD", 1_000_000)
    path = tmp_path / "t.csv"
    path.write_bytes(b'a,b\n1,2\n1,"' + b"x,y\n" * 1_000_000)
    with pytest.raises(InputError, match="line 3: a record does not end within 1 MB"):
        blocks(path, 65_536)


def test_an_open_quote_is_never_taken_for_the_end(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('a,b\n1,"never\n2,closed\n')
    with pytest.raises(InputError, match="never closed"):
        blocks(path, 5)


def test_packed_files_are_read_block_by_block_too(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 500))
    assert blocks(path, 64).equals(read_csv(path).frame)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="cut short"):
        blocks(path, 64)


def test_texts_that_mean_missing_and_other_delimiters(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1;NA\nNA;2\n")
    options = CsvOptions(missing=("", "NA"))
    read = read_csv_blocks(path, options, block_bytes=6)
    assert pl.concat(list(read.frames)).rows() == [("1", None), (None, "2")]
    assert read.options().delimiter == ";"
