"""Values of a column as rules name them: a value, a node of the column's hierarchy, an interval, a month or a year."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.table.columns import CategoryColumn, Codes, NumberColumn, code_values, quasi_column
from shoal.table.hierarchy import Hierarchy
from shoal.table.schema import Quasi

MISSING = "missing"
"""How rules name a missing value, which is a value of its own."""

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_HALF_OPEN = re.compile(rf"\[({_NUMBER}), ({_NUMBER})\)")
_CLOSED = re.compile(rf"({_NUMBER})(?:-| to )({_NUMBER})")


@dataclass(frozen=True)
class Values:
    """The different values of a quasi-identifier: one code per record, and what each code stands for."""

    column: str
    codes: Codes
    texts: tuple[str, ...]
    """The text of each code; that of a missing value, if there is one, is the last."""
    has_missing: bool
    kind: str = "nominal"
    numbers: NDArray[np.float64] | None = None
    """The number of each code, where the column holds numbers; not a number where it is missing."""
    hierarchy: Hierarchy | None = None

    @property
    def naming(self) -> str:
        """How values and nodes of the column are named, for messages."""
        if self.hierarchy is not None:
            return f"the {self.hierarchy.source} has no node of that name (label@level where a label stands at several)"
        forms = {"number": "numbers are named as 21, 20-29 or [1.5, 2.0)", "date": "dates as 2024, 2024-05, 2024-05-31"}
        return forms.get(self.kind, "a value is named as it stands in the table")

    @property
    def n_codes(self) -> int:
        """How many different values there are, missing included."""
        return len(self.texts)

    @cached_property
    def is_missing(self) -> NDArray[np.bool_]:
        """Which code stands for the missing value."""
        return np.arange(self.n_codes) >= self.n_codes - self.has_missing

    @cached_property
    def known(self) -> tuple[str, ...]:
        """The texts of all values that are not missing."""
        return self.texts[: self.n_codes - self.has_missing]

    def covered_by(self, node: str) -> NDArray[np.bool_] | None:
        """Which codes lie under a node; None where neither the hierarchy nor the kind of the column knows it."""
        covered = self._under(node)
        if node != MISSING:
            return covered
        return self.is_missing if covered is None else covered | self.is_missing

    def _under(self, node: str) -> NDArray[np.bool_] | None:
        if self.hierarchy is not None:
            return self._under_in_hierarchy(self.hierarchy, node)
        if self.kind == "number":
            return self._under_interval(node)
        if self.kind == "date":
            return self._under_period(node)
        return self._are(text == node for text in self.known)

    def _under_in_hierarchy(self, hierarchy: Hierarchy, node: str) -> NDArray[np.bool_] | None:
        if hierarchy.intervals is not None:
            ends = _ends_of(node)
            if ends is None or node not in (hierarchy._find_path(plain_number(ends[0])) or ())[:-1]:
                return None
            return self._are(node in hierarchy.path(text)[:-1] for text in self.known)
        values = _named_nodes(hierarchy)[1].get(node)
        return None if values is None else self._are(text in values for text in self.known)

    def _under_interval(self, node: str) -> NDArray[np.bool_] | None:
        ends = _ends_of(node)
        if ends is None:
            return None
        assert self.numbers is not None
        low, high, is_half_open = ends
        return (self.numbers >= low) & ((self.numbers < high) if is_half_open else (self.numbers <= high))

    def _under_period(self, node: str) -> NDArray[np.bool_] | None:
        if not re.fullmatch(r"\d{4}(-\d{2}(-\d{2})?)?", node):
            return None
        return self._are(text.startswith(node) for text in self.known)

    def _are(self, claims: Iterable[bool]) -> NDArray[np.bool_]:
        """One truth value per code, from one for each value that is not missing."""
        return np.append(np.fromiter(claims, dtype=np.bool_), [False] * self.has_missing).astype(np.bool_)


def read_values(values: pl.Series, column: Quasi, zone: str | None = None) -> Values:
    """The different values of a column of records, of the kind that the schema says or the data show."""
    return values_of(quasi_column(values, column, lambda record: None, zone), column.hierarchy)


def values_of(coded: NumberColumn | CategoryColumn, hierarchy: Hierarchy | None) -> Values:
    """The different values of a coded quasi-identifier."""
    if isinstance(coded, CategoryColumn):
        known = coded.categories.cast(pl.String).to_list()
        numbers = _numbers_in(known) if hierarchy is not None else None
        codes, has_missing, kind = coded.codes, coded.has_missing, "nominal"
    else:
        kind = coded.kind
        in_order = coded.units if coded.floats is None else coded.floats
        series = pl.Series(in_order)
        if coded.is_missing is not None:
            series = pl.select(pl.when(pl.Series(~coded.is_missing)).then(series)).to_series()
        codes, distinct = code_values(series)
        has_missing = bool(codes.max(initial=-1) == len(distinct))
        numbers = distinct.to_numpy() / 10.0**coded.decimals if kind == "number" else None
        known = _texts_of(coded, distinct, numbers)
    if hierarchy is not None:
        hierarchy.check_covers(known, column=coded.name)
    if numbers is not None and has_missing:
        numbers = np.append(numbers, np.nan)
    texts = (*known, MISSING) if has_missing else tuple(known)
    return Values(coded.name, codes, texts, has_missing, kind, numbers, hierarchy)


def _numbers_in(texts: Sequence[str]) -> NDArray[np.float64] | None:
    """Texts as numbers, where each of them is one."""
    numbers = pl.Series(texts, dtype=pl.String).cast(pl.Float64, strict=False)
    return None if numbers.null_count() or not numbers.is_finite().all() else numbers.to_numpy()


def _texts_of(column: NumberColumn, distinct: pl.Series, numbers: NDArray[np.float64] | None) -> list[str]:
    if column.categories:
        return pl.Series(column.categories, dtype=pl.String).gather(distinct).to_list()
    if column.kind == "date":
        return distinct.cast(pl.Int32).cast(pl.Date).cast(pl.String).to_list()
    if numbers is None or (column.floats is None and not column.decimals):
        return distinct.cast(pl.String).str.zfill(column.width).to_list()
    return [plain_number(number) for number in numbers.tolist()]


def texts_of_values(values: Sequence[Any] | pl.Series) -> list[str]:
    """Values of a sensitive attribute as rules name them: a missing one as "missing", 3.0 as "3"."""
    series = values if isinstance(values, pl.Series) else pl.Series(values, strict=False)
    if series.dtype.is_float():
        return [MISSING if each is None else plain_number(each) for each in series.fill_nan(None).to_list()]
    return series.cast(pl.String).fill_null(MISSING).to_list()


def plain_number(number: float) -> str:
    """A number in its shortest form, without a needless '.0'."""
    return repr(float(number)).removesuffix(".0")


def _ends_of(node: str) -> tuple[float, float, bool] | None:
    """The ends of an interval written as '20-29', '-5 to -1', '[1.5, 2.0)' or '21', and whether it is half-open."""
    if found := _HALF_OPEN.fullmatch(node):
        return float(found[1]), float(found[2]), True
    if re.fullmatch(_NUMBER, node):
        return float(node), float(node), False
    if found := _CLOSED.fullmatch(node):
        return float(found[1]), float(found[2]), False
    return None


@lru_cache(maxsize=32)
def _named_nodes(hierarchy: Hierarchy) -> tuple[dict[tuple[str, int], str], dict[str, frozenset[str]]]:
    """The name of each (label, level) of a listed hierarchy but for the root, and the values under each name."""
    found: dict[tuple[str, int], set[str]] = {}
    for path in hierarchy.paths:
        for level, label in enumerate(path[:-1]):
            found.setdefault((label, level), set()).add(path[0])
    meanings: dict[str, set[frozenset[str]]] = {}
    for (label, _), values in found.items():
        meanings.setdefault(label, set()).add(frozenset(values))
    names = {(label, level): label if len(meanings[label]) == 1 else f"{label}@{level}" for label, level in found}
    return names, {names[place]: frozenset(values) for place, values in found.items()}


def names_in_path(hierarchy: Hierarchy, value: str) -> list[str]:
    """The names of the nodes above a value, itself first, without the root.

    A node is named by its label. Where one label stands at several levels for different values, its name there is
    label@level, such as 'other@1'; the value itself is level 0.
    """
    path = hierarchy.path(value)[:-1]
    if hierarchy.intervals is not None:
        return list(path)
    names = _named_nodes(hierarchy)[0]
    return [names[label, level] for level, label in enumerate(path)]
