"""CSV files block by block: the same records as of the whole file, or the same refusal."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import InputError
from shoal.reading import CsvOptions, read_csv
from shoal.reading.csv import read_csv_blocks

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


def test_what_only_whole_files_tell_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for body in (b'a,b\n5" pipe,2\n1,2\n', b"a,b\r1,2\r", b"a,b\n1,\0\n", b"a,b\n1,\xff\n", b"", b"a,b\n"):
        path.write_bytes(body)
        with pytest.raises(InputError):
            blocks(path, 100)


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
