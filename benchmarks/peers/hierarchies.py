"""Hierarchies for tools that cannot choose ranges themselves: each node is named by the range or set that it covers.

`python -m benchmarks.peers.hierarchies made-up table.csv folder` writes them as ARX reads them, a file a column.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import polars as pl

from benchmarks.peers.tables import ADULT, REAL, TASKS, Task

PARTS = (64, 16, 4)
"""Numbers: that many equal parts of the range, level by level, then `*`."""

BLOCKS = (4,)
"""Categories without a hierarchy: in blocks of so many by name, then `*`."""


def hierarchies_of(task: Task, table: pl.DataFrame) -> dict[str, list[list[str]]]:
    """For each quasi-identifier one line per value: the value, and its nodes from the bottom to the top."""
    lines = {name: _of_numbers(table[name]) for name in task.numbers}
    for name in task.nominal:
        lines[name] = _published(table[name], name) if task is REAL else _of_names(table[name])
    return lines


def _of_numbers(column: pl.Series) -> list[list[str]]:
    values = column.unique().sort().to_list()
    low, high = values[0], values[-1]
    lines = [[str(value)] for value in values]
    for parts in PARTS:
        part_of = [min(parts - 1, (value - low) * parts // (high - low)) for value in values]
        ends: dict[int, list[int]] = {}
        for value, part in zip(values, part_of, strict=True):
            ends.setdefault(part, []).append(value)
        for line, part in zip(lines, part_of, strict=True):
            line.append(f"{ends[part][0]}-{ends[part][-1]}")
    return [[*line, "*"] for line in lines]


def _of_names(column: pl.Series) -> list[list[str]]:
    values = column.unique().sort().to_list()
    lines = [[value] for value in values]
    for block in BLOCKS:
        for position, line in enumerate(lines):
            first = position // block * block
            line.append(",".join(values[first : first + block]))
    return [[*line, "*"] for line in lines]


def _published(column: pl.Series, name: str) -> list[list[str]]:
    """The hierarchy that ARX brings for Adult; a node becomes the set of values under it."""
    with (ADULT / "hierarchies_arx" / f"adult_hierarchy_{name}.csv").open(encoding="utf-8") as file:
        rows = [[cell.strip().replace("-", "_") for cell in row] for row in csv.reader(file, delimiter=";") if row]
    present = set(column.unique().to_list())
    rows = [row for row in rows if row[0] in present]
    lines = [[row[0]] for row in rows]
    for level in range(1, len(rows[0]) - 1):
        under: dict[str, list[str]] = {}
        for row in rows:
            under.setdefault(row[level], []).append(row[0])
        for line, row in zip(lines, rows, strict=True):
            line.append(",".join(sorted(under[row[level]])))
    return [[*line, "*"] for line in lines]


if __name__ == "__main__":
    for column, levels in hierarchies_of(TASKS[sys.argv[1]], pl.read_csv(sys.argv[2])).items():
        with (Path(sys.argv[3]) / f"{column}.csv").open("w", encoding="utf-8", newline="") as out:
            csv.writer(out, delimiter=";").writerows(levels)
