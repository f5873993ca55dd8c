"""Noisy counts of persons, beside a release: tables of a few columns with differential privacy for persons.

Cells are those that hierarchies list, whether anybody is in them or not; everybody counts in a few cells at the most;
and discrete Laplace noise is added to each. Noise and choices come from the system's secure randomness, never from the
seed. Counts are of the table as it came, before anybody is left out or drawn: who is left out depends on others.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
import polars as pl

from shoal.errors import ParameterError, SchemaError, did_you_mean
from shoal.policy.policy import CountChoices
from shoal.table.hierarchy import Hierarchy
from shoal.table.schema import Schema
from shoal.table.table import Table

PERSONS = "persons"
ALL, ELSE = "(all)", "(missing or not listed)"
"""What a table shows of a column that it does not count by, and of a value that the hierarchy does not list."""
MOST_CELLS = 1_000_000


@dataclass(frozen=True)
class NoisyCounts:
    """Noisy counts, and what they promise."""

    frame: pl.DataFrame = field(repr=False)
    """One row per cell: the value of each column, or that it was not counted by, and the noisy number of persons."""
    epsilon: float
    """What all tables together spend."""
    of: tuple[str, ...]
    cells_of_person: int
    scale: float
    """The scale of the noise; its standard deviation is about 1.4 times as much."""
    drawn_by: str

    def to_dict(self) -> dict[str, Any]:
        """What is told of them: no counts."""
        return {
            "epsilon": self.epsilon, "of": list(self.of), "cells_of_person": self.cells_of_person, "scale": self.scale,
            "cells": len(self.frame), "drawn_by": self.drawn_by,
        }  # fmt: skip

    def note(self) -> str:
        """What they promise, in plain words."""
        return (
            f"Noisy counts of persons by {', '.join(self.of)} have differential privacy for persons with epsilon "
            f"{self.epsilon:g}: {len(self.frame):,} cells, noise of scale {self.scale:g}. It holds as long as the "
            "hierarchies were not made from the data; what the release itself promises is another matter."
        )


def noisy_counts(table: Table, asked: CountChoices, *, made_from_values: Collection[str] = ()) -> NoisyCounts:
    """Count persons by the columns asked for, with noise.

    Parameters
    ----------
    made_from_values
        Columns whose hierarchies were made from the values of the table, which would tell who is in it.

    Raises
    ------
    SchemaError
        A column is no quasi-identifier, or has no hierarchy by which its values are known without the data.
    """
    epsilon = Fraction(str(asked.epsilon))
    tables = [_read(each, table.schema, made_from_values) for each in asked.of]
    scale = Fraction(asked.cells) * len(tables) / epsilon
    columns = list(dict.fromkeys(name for each in tables for name, _, _ in each))
    parts = []
    draw, drawn_by = _drawing(scale)
    for each in tables:
        domain = list(itertools.product(*(_labels(hierarchy, level) for _, level, hierarchy in each)))
        if len(domain) > MOST_CELLS:
            raise SchemaError(
                f"A table of {' + '.join(name for name, _, _ in each)} has {len(domain):,} cells, more than "
                f"{MOST_CELLS:,}. Count by fewer columns, or at higher levels."
            )
        counted = _counted(table, each, domain, asked.cells)
        names = [name for name, _, _ in each]
        shown = {
            column: [cell[names.index(column)] if column in names else ALL for cell in domain] for column in columns
        }
        parts.append(pl.DataFrame({**shown, PERSONS: draw(counted)}))
    return NoisyCounts(pl.concat(parts), float(epsilon), tuple(asked.of), asked.cells, float(scale), drawn_by)


Counted = tuple[str, int, Hierarchy]


def _read(text: str, schema: Schema, made_from_values: Collection[str] = ()) -> list[Counted]:
    """The columns of a table, "age:1+sex", with their levels and hierarchies."""
    found: list[Counted] = []
    by_name = {column.name: column for column in schema.columns}
    for part in text.split("+"):
        name, _, level = part.strip().partition(":")
        if name not in by_name:
            raise SchemaError(
                f"Counts are asked for by '{name}', which is no quasi-identifier.{did_you_mean(name, list(by_name))}"
            )
        hierarchy = by_name[name].hierarchy
        if hierarchy is None or name in made_from_values:
            raise SchemaError(
                f"Noisy counts by '{name}' need its values to be known without the table: give it a hierarchy that is "
                "not made from its values (a file, or intervals)."
            )
        usual = 0 if hierarchy.intervals is None else 1
        if level and (not level.isdigit() or not usual <= int(level) < hierarchy.n_levels):
            raise ParameterError(
                f"The level of '{name}' must be a whole number from {usual} to {hierarchy.n_levels - 1}."
            )
        found.append((name, int(level) if level else usual, hierarchy))
    return found


def _labels(hierarchy: Hierarchy, level: int) -> list[str]:
    """The labels of a level, in the order of the hierarchy, and one for what it does not list."""
    rule = hierarchy.intervals
    if rule is None:
        return [*dict.fromkeys(path[level] for path in hierarchy.paths), ELSE]
    starts = (rule.low + number * rule.width for number in range(rule.n_intervals))
    paths = (rule.path(str(int(start) if start.denominator == 1 else float(start))) for start in starts)
    return [*dict.fromkeys(path[level] for path in paths if path is not None), ELSE]


def _counted(table: Table, by: Sequence[Counted], domain: Sequence[tuple[str, ...]], most: int) -> list[int]:
    """How many persons are in each cell; who is in more than may be counts in some of them, drawn at random."""
    shown = []
    for name, level, hierarchy in by:
        texts = table.frame[name].cast(pl.String)
        label_of = {value: _label(hierarchy, value, level) for value in texts.unique().to_list()}
        shown.append([label_of[value] for value in texts.to_list()])
    number = {cell: at for at, cell in enumerate(domain)}
    cell_of_record = np.array([number[cell] for cell in zip(*shown, strict=True)], np.int64)
    pairs = np.unique(np.stack([table.person_of_record.astype(np.int64), cell_of_record], axis=1), axis=0)
    start = np.searchsorted(pairs[:, 0], np.arange(table.n_persons + 1))
    counts = np.zeros(len(domain), np.int64)
    random = secrets.SystemRandom()
    for first, last in itertools.pairwise(start.tolist()):
        own = pairs[first:last, 1].tolist()
        for cell in own if len(own) <= most else random.sample(own, most):
            counts[cell] += 1
    return [int(count) for count in counts]


def _label(hierarchy: Hierarchy, value: str | None, level: int) -> str:
    path = hierarchy.path(value) if value is not None and not hierarchy.missing_from([value]) else None
    return ELSE if path is None else path[level]


# --- noise -----------------------------------------------------------------------------------------------------------


class Random(Protocol):
    """Where bits come from."""

    def randrange(self, stop: int, /) -> int:
        """A whole number from 0 to below `stop`, each as likely."""


def _drawing(scale: Fraction) -> tuple[Callable[[list[int]], list[int]], str]:
    """How noise is added to counts, and by whom: OpenDP where it is installed, else an exact sampler of our own."""
    if find_spec("opendp") is not None:
        import opendp.prelude as dp

        dp.enable_features("contrib")
        counts = dp.vector_domain(dp.atom_domain(T="i64"))
        mechanism = dp.m.make_laplace(counts, dp.l1_distance(T="i64"), scale=float(scale))
        return lambda given: list(mechanism(given)), "opendp"
    random = secrets.SystemRandom()
    return lambda given: [count + discrete_laplace(scale, random) for count in given], "shoal"


def discrete_laplace(scale: Fraction, random: Random) -> int:
    """A whole number with a chance in proportion to e^(-|x| / scale), exactly.

    Canonne, Kamath and Steinke (2020), algorithm 2: whole numbers only, so that no rounding tells anything.
    """
    t, s = scale.numerator, scale.denominator
    while True:
        u = random.randrange(t)
        if not _with_chance_exp(u, t, random):
            continue
        v = 0
        while _with_chance_exp(1, 1, random):
            v += 1
        size = (u + t * v) // s
        is_below = random.randrange(2) == 1
        if not (is_below and size == 0):
            return -size if is_below else size


def _with_chance_exp(numerator: int, denominator: int, random: Random) -> bool:
    """True with a chance of e^(-numerator / denominator), for a share of at most 1."""
    k = 1
    while random.randrange(denominator * k) < numerator:
        k += 1
    return k % 2 == 1
