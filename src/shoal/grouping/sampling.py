"""Drawing persons by chance: a share or a number of them, by strata; and for how many persons each then stands."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.policy.numbers import fault_of_suppressed
from shoal.table.sample import Sample, refuse_differing
from shoal.table.table import Table

FORM = "sample must be a number of persons, 1 or more, or a share of them such as '10%'."


@dataclass(frozen=True)
class Drawn:
    """Who was drawn, and for how many persons each of them stands."""

    is_drawn: NDArray[np.bool_]
    weight: NDArray[np.float64]
    """Of each person: the persons of their stratum, divided by those of it who were drawn."""
    n_strata: int


def each_by_chance(n_persons: int, chance: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Who is drawn where everybody is by the same chance, whoever else is."""
    return rng.random(n_persons) < chance


def draw_persons(stratum: NDArray[np.integer], asked: int | str, rng: np.random.Generator) -> Drawn:
    """Draw persons without putting them back, from every stratum in proportion, and at least one.

    Within a stratum everybody is drawn by the same chance.
    """
    sizes = np.bincount(stratum)
    quotas = allocated(sizes, n_asked(asked, len(stratum)))
    is_drawn = np.zeros(len(stratum), np.bool_)
    for number, quota in enumerate(quotas.tolist()):
        is_drawn[rng.permutation(np.flatnonzero(stratum == number))[:quota]] = True
    weight = np.divide(sizes, quotas, out=np.zeros(len(sizes)), where=quotas > 0)
    return Drawn(is_drawn, weight[stratum], int((sizes > 0).sum()))


def n_asked(asked: object, n_persons: int) -> int:
    """How many persons are to be drawn, by a number or a share of them."""
    if fault_of_suppressed(asked) is not None or asked == 0:
        raise ParameterError(FORM)
    if isinstance(asked, int):
        n = asked
    else:
        exact = Fraction(str(asked).strip().removesuffix("%").strip()) / 100 * n_persons
        n = int(exact + Fraction(1, 2))
    if not 1 <= n <= n_persons:
        raise ParameterError(f"A sample of {n:,} persons cannot be drawn from {n_persons:,}.", hint=FORM)
    return n


def allocated(sizes: NDArray[np.integer], n: int) -> NDArray[np.int64]:
    """How many are drawn of each stratum: in proportion, by largest remainders, and at least one where there is one."""
    total, some = int(sizes.sum()), sizes > 0
    if n < some.sum():
        raise ParameterError(
            f"A sample of {n:,} persons is too small for {int(some.sum()):,} strata, of which each has one at least. "
            "Ask for more persons, or for fewer strata."
        )
    exact = [Fraction(n * int(size), total) for size in sizes]
    quotas = np.array([max(int(share), int(size > 0)) for share, size in zip(exact, sizes, strict=True)], np.int64)
    while (rest := n - int(quotas.sum())) != 0:
        step = 1 if rest > 0 else -1
        may = [at for at in range(len(sizes)) if (quotas[at] < sizes[at] if step > 0 else quotas[at] > 1)]
        quotas[max(may, key=lambda at: (step * (exact[at] - int(quotas[at])), -at))] += step
    return quotas


def sampled(table: Table, asked: int | str | None, rng: np.random.Generator) -> tuple[Table, dict[str, Any]]:
    """A random sample of the persons of a table, with their weights; and what is told of it.

    A column of weights is multiplied by how many persons of the table each one drawn stands for, also where it is
    published; without one the weights are kept for the steward.
    """
    if asked is None:
        return table, {}
    known = table.sample or Sample()
    stratum = np.zeros(table.n_persons, np.int64)
    if known.stratum is not None:
        refuse_differing(known.stratum, table.person_of_record, ", ".join(table.schema.strata), "stratum")
        stratum[table.person_of_record] = known.stratum
    drawn = draw_persons(stratum, asked, rng)
    n, of = int(drawn.is_drawn.sum()), table.n_persons
    weight = drawn.weight[table.person_of_record] * (1.0 if known.weight is None else known.weight)
    frame, name = table.frame, table.schema.weight
    if name is not None:
        frame = frame.with_columns(pl.Series(name, weight))
    note = (
        f"A random sample was drawn: {n:,} of {of:,} persons"
        + (f", from {drawn.n_strata:,} strata in proportion" if drawn.n_strata > 1 else "")
        + ". How many persons each one stands for is known to the risk of the population."
    )
    whole = replace(table, frame=frame, sample=replace(known, weight=weight))
    smaller = whole.with_records(drawn.is_drawn[table.person_of_record], note)
    told = {"persons": n, "of": of, "share": n / of, "strata": drawn.n_strata}
    return replace(smaller, left_out=table.left_out), {"sampled": told}
