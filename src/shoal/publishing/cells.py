"""Cells that a spreadsheet would run: counted always, and made harmless where that is asked for.

A text that begins with =, +, - or @ is a formula to a spreadsheet that opens a CSV file; so it is in full width, which
some turn into the usual signs, and behind white space and format characters, which some trim. A text that begins with a
tab or a line end may be parted there. An apostrophe before it makes it text again. Numbers are no formulas, and neither
are ranges of them: -5, and -5 to -2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from shoal.reading import FORMATS, CsvOptions

SIGNS = "=+\\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b"
"""The four signs, in full width, and small."""
BEGINNING = rf"([\t\r\n\x0b\x0c]|[\s\p{{Cf}}\p{{Cc}}]*[{SIGNS}])"
RUNS = rf"^{BEGINNING}"
SAFE = rf"^'+{BEGINNING}"
"""Texts that begin with apostrophes and then like a formula: they get one more, so that none becomes another."""
NUMBERS = r"^ *[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?( to [+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?)? *$"
CELLS = ("delimiter", "encoding", "decimal", "dates", "missing", "safe_cells")
"""What a codebook says of the cells of its files, by key."""
WRITTEN_AS = {"decimal": ".", "dates": "YYYY-MM-DD", "missing": "an empty cell"}
"""How text files write numbers, dates and missing values, whatever the input had."""
HOW_SAFE = (
    "an apostrophe was put before texts that a spreadsheet would run, and before those that already had one there"
)


def how_cells_are_written(format: str, csv: CsvOptions | None, *, safe_cells: bool) -> dict[str, str]:
    """What a codebook says of the cells of its files: how CSV files part them, and of apostrophes."""
    csv = csv or CsvOptions()
    kind = FORMATS[format]
    parted = {"delimiter": csv.delimiter or ",", "encoding": csv.encoding, **WRITTEN_AS} if kind.is_text else {}
    return {**parted, **({"safe_cells": HOW_SAFE} if safe_cells and kind.runs_in_spreadsheets else {})}


def cells_that_run(frame: pl.DataFrame) -> dict[str, int]:
    """How many cells of each column a spreadsheet would run, its name counted too; columns without any are left out."""
    found = {}
    for column in frame.iter_columns():
        n_cells = int(_is_name_that_runs(column.name))
        if _is_text(column):
            n_cells += _n_that_run(column)
        if n_cells:
            found[column.name] = n_cells
    return found


def _n_that_run(column: pl.Series) -> int:
    """How many cells a spreadsheet would run; of categories each is looked at once."""
    if column.dtype == pl.String:
        return int(_runs(column).sum())
    counts = column.rename("text").value_counts(name="n")
    return int(counts["n"].filter(_runs(counts["text"].cast(pl.String))).sum())


def note_on_cells(frames: Iterable[pl.DataFrame]) -> list[str]:
    """What to tell of cells that a spreadsheet would run: one sentence with counts by column, or nothing."""
    total: dict[str, int] = {}
    for frame in frames:
        for name, count in cells_that_run(frame).items():
            total[name] = total.get(name, 0) + count
    return note_on_counts(total)


def note_on_counts(total: Mapping[str, int]) -> list[str]:
    """The same, where cells have been counted by column."""
    if not total:
        return []
    listed = ", ".join(f"{count:,} in '{name}'" for name, count in total.items())
    return [
        f"A spreadsheet would run {sum(total.values()):,} cells as formulas, since they begin with =, +, - or @: "
        f"{listed}. CSV and Excel files that are written with safe_cells=True (in a policy safe_cells = true) have "
        "an apostrophe before them; others do not."
    ]


def with_safe_cells(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with an apostrophe before each cell that a spreadsheet would run, names of columns included.

    Different texts stay different: what already has apostrophes there gets one more. `without_safe_cells` undoes it.
    """
    safe = frame.with_columns(
        pl.when(_runs_or_is_safe(pl.col(column.name).cast(pl.String)))
        .then("'" + pl.col(column.name).cast(pl.String))
        .otherwise(pl.col(column.name).cast(pl.String))
        .alias(column.name)
        for column in frame.iter_columns()
        if _is_text(column)
    )
    return safe.rename({name: f"'{name}" for name in frame.columns if _is_name_that_runs(name.lstrip("'"))})


def without_safe_cells(frame: pl.DataFrame) -> pl.DataFrame:
    """The table that `with_safe_cells` was given."""
    plain = frame.with_columns(
        pl.when(pl.col(column.name).str.contains(SAFE)).then(pl.col(column.name).str.slice(1)).otherwise(column.name)
        .alias(column.name)
        for column in frame.iter_columns()
        if column.dtype == pl.String
    )  # fmt: skip
    return plain.rename(
        {name: name[1:] for name in frame.columns if name[:1] == "'" and _is_name_that_runs(name.lstrip("'"))}
    )


def _is_text(column: pl.Series) -> bool:
    return column.dtype in (pl.String, pl.Categorical, pl.Enum)


def _runs(texts: pl.Series) -> pl.Series:
    begins = texts.str.contains(RUNS).fill_null(False)
    if not begins.any():
        return begins
    return begins & ~texts.str.contains(NUMBERS).fill_null(False)


def _runs_or_is_safe(text: pl.Expr) -> pl.Expr:
    return (text.str.contains(RUNS) & ~text.str.contains(NUMBERS)) | text.str.contains(SAFE)


def _is_name_that_runs(name: str) -> bool:
    return bool(_runs(pl.Series([name]))[0])
