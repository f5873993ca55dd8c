"""The tables of the comparison: one record per person, six quasi-identifiers, one sensitive attribute.

`python -m benchmarks.peers.tables made-up 100000 table.csv` writes one, for tools that are run by hand.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from shoal.demo.drawing import draw, generator, shuffled, texts, whole_numbers

PROJECT = Path(__file__).resolve().parent.parent.parent
ADULT = Path(os.environ.get("SHOAL_DATA", PROJECT.parent / "shared" / "data")) / "adult"

N_REGIONS = 20
N_DIAGNOSES = 50
MARITAL = ["single", "married", "divorced", "widowed", "separated"]


@dataclass(frozen=True)
class Task:
    """A table's quasi-identifiers and its sensitive attribute."""

    name: str
    numbers: tuple[str, ...]
    nominal: tuple[str, ...]
    sensitive: str

    @property
    def quasi(self) -> list[str]:
        """All quasi-identifiers, numbers first."""
        return [*self.numbers, *self.nominal]


MADE_UP = Task("made-up", ("age", "zip", "income", "education"), ("marital", "region"), "diagnosis")
REAL = Task("adult", ("age",), ("education", "marital-status", "race", "sex", "workclass"), "occupation")
TASKS = {task.name: task for task in (MADE_UP, REAL)}


def is_there(task: Task) -> bool:
    """Whether the table can be made here: Adult has to lie in the folder that SHOAL_DATA names."""
    return task is MADE_UP or (ADULT / "adult_arx.csv").is_file()


def table_of(task: Task, records: int) -> pl.DataFrame:
    """The table of a task with so many records, the same on every machine."""
    return made_up(records) if task is MADE_UP else adult(records)


def made_up(records: int, *, seed: int = 0) -> pl.DataFrame:
    """Persons with one record each, drawn as in `shoal.demo.benchmark_table`, and their marital status besides."""
    rng = generator(seed)
    region = draw(rng, 1.0 / (np.arange(N_REGIONS) + 3), records)
    from_centre = whole_numbers(rng, 0, 1_500, records) + whole_numbers(rng, 0, 1_500, records)
    education = draw(rng, np.array([2, 2, 3, 4, 14, 6, 8, 5, 13, 4, 6, 2, 2], dtype=np.float64), records) + 8
    uniform = rng.random(records)
    income = 100 * (80 + 10 * education + 60.0 * uniform / (1.02 - uniform) * (education / 12)).astype(np.int64)
    diagnosis = draw(rng, 1.0 / (np.arange(N_DIAGNOSES) + 6), records)
    return pl.DataFrame(
        {
            "age": whole_numbers(rng, 18, 60, records) + whole_numbers(rng, 0, 37, records),
            "zip": 10_000 + 4_000 * region + from_centre,
            "income": income,
            "education": education,
            "marital": texts(MARITAL, draw(rng, np.array([30.0, 45.0, 13.0, 7.0, 5.0]), records)),
            "region": texts([f"region{number:02d}" for number in range(1, N_REGIONS + 1)], region),
            "diagnosis": texts([f"D{number:03d}" for number in range(N_DIAGNOSES)], diagnosis),
        }
    )


def adult(records: int, *, seed: int = 0) -> pl.DataFrame:
    """Records of Adult in random order; beyond its 30,162, records drawn from it once more.

    Dashes inside values become underscores, since some tools join values by dashes.
    """
    whole = pl.read_csv(ADULT / "adult_arx.csv", separator=";").select(*REAL.quasi, REAL.sensitive)
    whole = whole.with_columns(pl.col(pl.String).str.replace_all("-", "_"))
    rng = generator(seed)
    first = whole[shuffled(rng, len(whole))]
    again = whole_numbers(rng, 0, len(whole), max(0, records - len(whole)))
    return pl.concat([first, whole[again]]).head(records)


if __name__ == "__main__":
    table_of(TASKS[sys.argv[1]], int(sys.argv[2])).write_csv(sys.argv[3])
