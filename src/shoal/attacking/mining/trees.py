"""The nodes of a quasi-identifier that rules may name, each with the node above it, and which values lie under them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shoal.attacking.mining.nodes import MISSING, Values, names_in_path
from shoal.errors import ParameterError, SchemaError
from shoal.table.hierarchy import Hierarchy

INTERVALS = 16
"""About how many intervals of the smallest width a column of numbers gets that has no hierarchy."""
TINY, HUGE = 1e-290, 1e290
"""Numbers that span less, or lie farther from 0, have no intervals above them."""
ABSENT = -1
"""In `parent`: the root stands above, which says nothing. In `node_of_code`: no node at this level."""


@dataclass(frozen=True)
class ValueTree:
    """The nodes of a column but for the root; a node has a smaller number than those in the columns after it."""

    column: str
    labels: tuple[str, ...]
    parent: NDArray[np.int64]
    node_of_code: NDArray[np.int64]
    """For each value the nodes above it, the lowest first."""

    @property
    def n_nodes(self) -> int:
        """How many nodes there are."""
        return len(self.labels)

    def memberships(
        self, numbers: NDArray[np.float64] | None, margin: float
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """For each value the nodes it belongs to, as lists: starts, nodes and degrees of membership.

        With a margin, a number outside a node belongs to it with 1 - d / margin, where d is the distance to the
        nearest value of the table inside it: a trapezoid with the node as its top.
        """
        n_codes = len(self.node_of_code)
        if not margin or numbers is None:
            code, level = np.nonzero(self.node_of_code != ABSENT)
            node = self.node_of_code[code, level]
            degree = np.ones(len(code))
        else:
            code, node, degree = _fuzzy(self.node_of_code, self.n_nodes, numbers, margin)
        order = np.lexsort((node, code))
        start = np.concatenate([[0], np.cumsum(np.bincount(code, minlength=n_codes))])
        return start, node[order], degree[order]


def _fuzzy(
    node_of_code: NDArray[np.int64], n_nodes: int, numbers: NDArray[np.float64], margin: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    codes, nodes, degrees = [], [], []
    code_at, level_at = np.nonzero(node_of_code != ABSENT)
    node_at = node_of_code[code_at, level_at]
    order = np.argsort(node_at, kind="stable")
    start = np.searchsorted(node_at[order], np.arange(n_nodes + 1))
    for node in range(n_nodes):
        inside = code_at[order[start[node] : start[node + 1]]]
        degree = np.zeros(len(numbers))
        known = np.sort(numbers[inside])
        known = known[~np.isnan(known)]
        if len(known):
            after = np.searchsorted(known, numbers)
            below = np.abs(numbers - known[np.maximum(after - 1, 0)])
            above = np.abs(known[np.minimum(after, len(known) - 1)] - numbers)
            degree = np.maximum(np.nan_to_num(1 - np.minimum(below, above) / margin, nan=0.0), 0.0)
        degree[inside] = 1.0
        belongs = np.flatnonzero(degree > 0)
        codes.append(belongs)
        nodes.append(np.full(len(belongs), node))
        degrees.append(degree[belongs])
    return np.concatenate(codes), np.concatenate(nodes), np.concatenate(degrees)


def tree_of(values: Values, *, is_enough: NDArray[np.bool_] | None = None) -> ValueTree:
    """The nodes of a column: those of its hierarchy, intervals of numbers, months and years of dates, or its values.

    Parameters
    ----------
    is_enough
        Which values of a column of numbers without hierarchy are worth a node of their own; all by default.
    """
    if values.hierarchy is not None:
        return _tree_of_chains(values, _chains_in(values.hierarchy, values.known, values.column))
    if values.kind == "number":
        return _tree_of_numbers(values, is_enough)
    if values.kind == "date":
        return _tree_of_chains(values, ([text, text[:7], text[:4]] for text in values.known))
    return _tree_of_chains(values, ([text] for text in values.known))


def _chains_in(hierarchy: Hierarchy, texts: Sequence[str], column: str) -> Iterator[list[str]]:
    """The names of the nodes above each value, the lowest first, without the root; each name once."""
    circular = 0
    for text in texts:
        chain = list(dict.fromkeys(names := names_in_path(hierarchy, text)))
        labels = [name for place, name in enumerate(names) if place == 0 or name != names[place - 1]]
        circular += len(labels) > len(chain)
        yield chain
    if circular:
        raise SchemaError(
            f"The {hierarchy.source} of '{column}' runs in a circle: for {circular:,} values a label stands above "
            "another that stands above it. Give each label one place."
        )


def _tree_of_chains(values: Values, chains: Iterator[list[str]] | Sequence[list[str]]) -> ValueTree:
    named: dict[str, int] = {}
    above: dict[str, str | None] = {}
    found = list(chains) + [[MISSING]] * values.has_missing
    for chain in found:
        for place, name in enumerate(chain):
            named.setdefault(name, len(named))
            above[name] = chain[place + 1] if place + 1 < len(chain) else None
    parent = np.array([ABSENT if above[name] is None else named[above[name]] for name in named], dtype=np.int64)  # type: ignore[index]
    node_of_code = np.full((len(found), max(map(len, found), default=1)), ABSENT, dtype=np.int64)
    for code, chain in enumerate(found):
        node_of_code[code, : len(chain)] = [named[name] for name in chain]
    return ValueTree(values.column, tuple(named), parent, node_of_code)


# Numbers without a hierarchy


def _tree_of_numbers(values: Values, is_enough: NDArray[np.bool_] | None) -> ValueTree:
    """Values, then intervals of one width, merged two by two while more than one is left."""
    assert values.numbers is not None
    worth = np.ones(values.n_codes, np.bool_) if is_enough is None else is_enough | values.is_missing
    number_of_label = {text: number for number, text in enumerate(np.array(values.texts, dtype=object)[worth])}
    parent = dict.fromkeys(range(len(number_of_label)), ABSENT)
    top = np.where(worth, np.cumsum(worth) - 1, ABSENT)
    levels = [top]
    n_known = values.n_codes - values.has_missing
    for labels, place in _intervals(values.numbers[:n_known]):
        numbers = np.array([number_of_label.setdefault(label, len(number_of_label)) for label in labels])
        node = np.append(numbers[place], np.full(int(values.has_missing), ABSENT))
        is_new = (node != ABSENT) & (node != top)  # the last interval may be no wider than the one below it
        parent.update(dict.fromkeys(map(int, numbers), ABSENT) | parent)
        below, above = top[is_new & (top != ABSENT)], node[is_new & (top != ABSENT)]
        parent.update(zip(below.tolist(), above.tolist(), strict=True))
        levels.append(np.where(is_new, node, ABSENT))
        top = np.where(is_new, node, top)
    above_node = np.array([parent[number] for number in range(len(number_of_label))], dtype=np.int64)
    return ValueTree(values.column, tuple(number_of_label), above_node, np.stack(levels, axis=1))


def _intervals(numbers: NDArray[np.float64]) -> Iterator[tuple[list[str], NDArray[np.int64]]]:
    """For each width the labels of the intervals that hold a number, and the interval of each number."""
    if not len(numbers) or not math.isfinite(numbers.max() - numbers.min()) or numbers.max() == numbers.min():
        return
    if numbers.max() - numbers.min() < TINY or max(numbers.max(), -numbers.min()) > HUGE:
        return  # nearly what floats cannot hold, where ends of intervals would not be apart
    is_whole = bool((numbers == np.floor(numbers)).all())
    width = _round_width(float(numbers.max() - numbers.min()) / INTERVALS)
    width = max(width, Fraction(2)) if is_whole else width
    low = math.floor(Fraction(repr(float(numbers.min()))) / (4 * width)) * 4 * width
    n_intervals = math.floor((Fraction(repr(float(numbers.max()))) - low) / width) + 1
    end = low + n_intervals * width
    ends = np.array([float(low + step * width) for step in range(n_intervals + 1)])
    step_of_number = np.searchsorted(ends, numbers, side="right") - 1
    steps = np.unique(step_of_number)
    while len(steps) > 1:
        lower = [low + int(step) * width for step in steps]
        names = [_label(start, min(start + width, end), is_whole, low < 0) for start in lower]
        yield names, np.searchsorted(steps, step_of_number)
        step_of_number, width = step_of_number // 2, width * 2
        steps = np.unique(step_of_number)


def _round_width(least: float) -> Fraction:
    """The smallest of ..., 0.5, 1, 2, 5, 10, ... that is not below."""
    power = math.floor(math.log10(least))
    return next(width for digit in (1, 2, 5, 10) if (width := Fraction(f"{digit}e{power}")) >= least)


def _label(lower: Fraction, upper: Fraction, is_whole: bool, spaced: bool) -> str:
    if is_whole:
        return f"{lower} to {upper - 1}" if spaced else f"{lower}-{upper - 1}"
    return f"[{float(lower)!r}, {float(upper)!r})"


def checked_margin(margin: Mapping[str, float] | None) -> dict[str, float]:
    """Margins by column; refused where one is no number of at least 0."""
    if margin is not None and not isinstance(margin, Mapping):
        raise ParameterError("A margin is given by column, in its units, such as {'age': 2}.")
    for column, width in (margin or {}).items():
        if isinstance(width, bool) or not isinstance(width, int | float) or not math.isfinite(width) or width < 0:
            raise ParameterError(f"The margin of '{column}' must be a number of at least 0, in its units.")
    return {str(column): float(width) for column, width in (margin or {}).items()}


def check_margin(values: Sequence[Values], margin: Mapping[str, float]) -> None:
    """Refuse margins of columns that hold no numbers."""
    with_numbers = [each.column for each in values if each.numbers is not None]
    strangers = [column for column in margin if column not in with_numbers]
    if strangers:
        listed = ", ".join(with_numbers) or "none"
        raise ParameterError(
            f"A margin goes with a quasi-identifier of numbers, not with '{strangers[0]}'. These are: {listed}."
        )
