"""What every format must keep, as a check for whoever writes one."""

from __future__ import annotations

from contextlib import suppress
from datetime import date, datetime
from pathlib import Path

import polars as pl

from shoal.errors import InputError, OutputError
from shoal.reading.contract import Format, ReadOptions, WriteOptions
from shoal.reading.formats import came_back, write_file
from shoal.reading.labels import Labels

PLAIN = pl.DataFrame(
    {
        "text": ["a", "b c", "日本", None],
        "quoted": ['say "no"', "1,5;7", "=1+1", "'x"],
        "whole": [1, None, -3, 2**40],
        "share": [0.1, None, -2.5, 1e20],
        "day": [date(2020, 1, 2), None, date(1950, 1, 1), date(2199, 12, 31)],
        "moment": [datetime(2020, 1, 2, 3, 4, 5), None, datetime(1960, 1, 1), datetime(2000, 1, 1, 23, 59)],
    }
)
"""What every format that is written must hold."""

ODD = pl.DataFrame(
    {
        "spaced": ["a", " a", "a ", "a  "],
        "lines": ["a\nb", "a\r\nb", "a\tb", "ab"],
        "looks_missing": ["NA", "null", "NaN", None],
        "looks_whole": ["1", "01", "1.0", "1e0"],
        "empty": ["", None, "x", "y"],
        "large": [2**53, 2**53 + 1, 2**63 - 1, None],
        "fine": [1e-300, 1e300, 0.1 + 0.2, 0.3],
        "early": [date(1, 1, 1), date(1582, 10, 15), date(9999, 12, 31), None],
        "yes": [True, False, None, True],
    }
)
"""What a format may refuse, but never change."""


def check_format(format: type[Format], folder: Path) -> None:
    """Check that a format keeps what every format must keep; what it breaks is told by an AssertionError.

    Parameters
    ----------
    folder
        An empty folder for files that are written on the way.
    """
    _says_what_it_is(format)
    _refuses_rubbish(format, folder)
    if not format.is_written:
        return
    _comes_back(format, PLAIN, folder)
    for column in (*PLAIN.iter_columns(), *ODD.iter_columns()):
        with suppress(OutputError):
            _comes_back(format, column.to_frame(), folder)
    _keeps_labels(format, folder)


def _says_what_it_is(format: type[Format]) -> None:
    assert format.name, "A format has a name."
    assert format.title, f"{format.name}: people call it by a title."
    assert format.endings, f"{format.name}: its files have endings."
    for ending in format.endings:
        assert ending.startswith("."), f"{format.name}: an ending begins with a dot, not '{ending}'."
        assert ending == ending.lower(), f"{format.name}: endings are written in small letters, not '{ending}'."
    assert "memory" in format.engines, f"{format.name}: the engine in memory offers every format."
    known = f".{format.name}" in format.endings or not format.is_written
    assert known, f"{format.name}: a release ends with .{format.name}, which is none of its endings."


def _refuses_rubbish(format: type[Format], folder: Path) -> None:
    rubbish = folder / f"rubbish{format.endings[0]}"
    for content in (b"", b"\0\xff\xfe\0" * 64):
        rubbish.write_bytes(content)
        try:
            format.read(rubbish, ReadOptions())
        except InputError:
            continue
        raise AssertionError(f"{format.name}: what is no such file is refused with an InputError.")


def _comes_back(format: type[Format], frame: pl.DataFrame, folder: Path) -> None:
    path = folder / f"release.{format.name}"
    write_file(frame, path, format, WriteOptions())
    reading = format.read(path, ReadOptions())
    assert reading.source.format == format.name, f"{format.name}: a reading says of which format it is."
    back = reading.frame
    assert back.columns == frame.columns, f"{format.name}: columns come back by name and in their order."
    assert back.height == frame.height, f"{format.name}: every record comes back."
    if format.is_text:
        assert set(back.dtypes) == {pl.String()}, f"{format.name}: a format of texts reads texts."
    fitted = format.fitted(frame)
    for column in fitted.iter_columns():
        name = column.name
        assert came_back(column, back[name]), f"{format.name}: '{name}' comes back as it was written, or is refused."
        if format.keeps_empty_texts and column.dtype == pl.String:
            assert back[name].equals(column, null_equal=True), f"{format.name}: an empty text in '{name}' is kept."


def _keeps_labels(format: type[Format], folder: Path) -> None:
    path = folder / f"labels.{format.name}"
    labels = Labels({"sex": "Sex of the patient"}, {"sex": {1: "male", 2: "female"}})
    write_file(pl.DataFrame({"sex": [1, 2, 2]}), path, format, WriteOptions(labels=labels))
    back = format.read(path, ReadOptions()).labels
    for kind, kept, given in (("columns", back.columns, labels.columns), ("codes", back.codes, labels.codes)):
        expected = given if kind in format.keeps_labels else {}
        assert kept == expected, f"{format.name}: it keeps the labels of {kind} where it says so, and only there."
