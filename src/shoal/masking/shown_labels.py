"""Reading what a release shows of a quasi-identifier: which values of the original a label stands for.

ShownLabels are those that our masks write ("84-86", "-5 to -2 or missing", "at least 90", "{a, b}", "*", nodes of a
hierarchy, single values) and what is common elsewhere: "[20, 30)", "[20, 30[", ">=90", "<18", "90+", "139**".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import polars as pl

from shoal.errors import SchemaError
from shoal.models.exact import BoolArray, FloatArray, IntArray
from shoal.table.columns import CategoryColumn, NumberColumn, code_values, has_hierarchy
from shoal.table.label_sets import EVERYTHING, MISSING, ends_in, labels_in, listed_in
from shoal.table.levels import texts_in_hierarchy
from shoal.table.spelling import TEXTS
from shoal.table.table import QuasiColumn

OR_MISSING = f" or {MISSING}"
POINTS = ("mean", "noise", "changed")
"""The forms in which a cell shows one value that need not be the record's own."""
LARGEST_MATRIX = 50_000_000
"""ShownLabels times values for which a table of what fits is made."""

NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
DATE = r"\d{4}-\d{2}-\d{2}"


class ShownLabels(Protocol):
    """The labels of a column, and which values fit them. Values are numbers, NaN where missing, or codes."""

    values: FloatArray | IntArray
    """The value of each record of the original."""

    @property
    def n_labels(self) -> int:
        """How many different labels there are."""
        ...

    def fits(self, values: FloatArray | IntArray, labels: IntArray) -> BoolArray:
        """Whether values fit labels, element by element of arrays that are broadcast."""
        ...


@dataclass(frozen=True)
class RangeLabels:
    """ShownLabels of numbers, dates and ordered categories: from low to high, and perhaps missing."""

    values: FloatArray
    low: FloatArray
    high: FloatArray
    missing: BoolArray

    @property
    def n_labels(self) -> int:
        """How many different labels there are."""
        return len(self.low)

    def fits(self, values: FloatArray | IntArray, labels: IntArray) -> BoolArray:
        """Whether values fit labels, element by element."""
        inside = (self.low[labels] <= values) & (values <= self.high[labels])
        return np.where(np.isnan(values), self.missing[labels], inside)


@dataclass(frozen=True)
class SetLabels:
    """ShownLabels of categories: which codes each stands for; the code behind the last category is missing."""

    values: IntArray
    n_codes: int
    start: IntArray
    """Where the codes of each label start in `codes`; one entry more than labels."""
    codes: IntArray
    """Ascending inside a label."""

    @property
    def n_labels(self) -> int:
        """How many different labels there are."""
        return len(self.start) - 1

    def fits(self, values: FloatArray | IntArray, labels: IntArray) -> BoolArray:
        """Whether codes fit labels, element by element."""
        keys = np.repeat(np.arange(self.n_labels), np.diff(self.start)) * self.n_codes + self.codes
        wanted = labels * self.n_codes + values.astype(np.int64)
        if self.n_labels * self.n_codes <= LARGEST_MATRIX:
            is_member = np.zeros(self.n_labels * self.n_codes, np.bool_)
            is_member[keys] = True
            return np.asarray(is_member[wanted])
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.asarray(keys[at] == wanted)


def read_labels(column: QuasiColumn, texts: Sequence[str | None], *, form: str) -> RangeLabels | SetLabels:
    """Read the different labels of a column; refuse where some cannot be values of the original.

    Parameters
    ----------
    column
        The column of the original.
    texts
        Its different labels, None for one that is missing.
    form
        That of the mask: "agreed" shows `*` also for missing values, and points are no nodes of a hierarchy.
    """
    if has_hierarchy(column) and form not in POINTS:
        return _nodes(column, texts, hides_missing=form == "agreed")
    if isinstance(column, CategoryColumn):
        return _sets(column, texts, is_plain=form in POINTS)
    return _ranges(column, texts, hides_missing=form == "agreed", is_point=form in POINTS)


def labels_of_rows(column: QuasiColumn, shown: pl.Series, *, form: str) -> tuple[RangeLabels | SetLabels, IntArray]:
    """The different labels of a published column, read, and which of them each row shows."""
    codes, distinct = code_values(shown if shown.dtype in TEXTS else as_texts(shown))
    texts = [*distinct.to_list(), None]
    n_labels = len(texts) if codes.max(initial=-1) == len(distinct) else len(distinct)
    return read_labels(column, texts[:n_labels], form=form), codes.astype(np.int64)


def as_texts(values: pl.Series) -> pl.Series:
    """Values as texts, so that those of files of different formats compare; whole floats without decimals."""
    if values.dtype.is_float():
        return values.fill_nan(None).cast(pl.String).str.replace(r"\.0$", "")
    return values.cast(pl.String)


def _refuse_unread(column: QuasiColumn, unread: int, n_labels: int) -> None:
    if unread:
        raise SchemaError(
            f"{unread:,} of {n_labels:,} labels of '{column.name}' in the release cannot be read as values, ranges or "
            "sets of the original's values, so that nobody can tell whom they fit."
        )


# --- numbers, dates, ordered categories -------------------------------------------------------------------------------


def numbers_of(column: NumberColumn) -> FloatArray:
    """The value of each record: numbers, days of dates, places of ordered categories; NaN where missing."""
    values = column.floats if column.floats is not None else column.units / 10.0**column.decimals
    return np.asarray(values if column.is_missing is None else np.where(column.is_missing, np.nan, values))


def _ranges(column: NumberColumn, texts: Sequence[str | None], *, hides_missing: bool, is_point: bool) -> RangeLabels:
    place = {name: place for place, name in enumerate(column.categories or ())}
    low, high = np.full(len(texts), np.inf), np.full(len(texts), -np.inf)
    missing = np.zeros(len(texts), np.bool_)
    unread = 0
    plain = _plain_ranges(column, texts)
    is_plain = ~np.isnan(plain[0])
    low[is_plain], high[is_plain], missing[is_plain] = plain[0][is_plain], plain[1][is_plain], plain[2][is_plain]
    for at in np.flatnonzero(~is_plain).tolist():
        text = texts[at]
        if text is None:
            missing[at] = True
            continue
        shown = text.removesuffix(OR_MISSING).strip()
        missing[at] = shown != text.strip() or (hides_missing and shown == EVERYTHING)
        ends = (float(place[shown]),) * 2 if is_point and shown in place else _ends(column, shown, place)
        if ends is None:
            unread += 1
        else:
            low[at], high[at] = ends
    _refuse_unread(column, unread, len(texts))
    return RangeLabels(numbers_of(column), low, high, missing)


def _plain_ranges(column: NumberColumn, texts: Sequence[str | None]) -> tuple[FloatArray, FloatArray, BoolArray]:
    """The labels that are values or ranges as our masks write them, all at once: low (else NaN), high, missing."""
    if column.categories:
        return np.full(len(texts), np.nan), np.full(len(texts), np.nan), np.zeros(len(texts), np.bool_)
    value = DATE if column.kind == "date" else NUMBER
    labels = pl.Series("label", texts, dtype=pl.String)
    parts = labels.str.extract_groups(f"^({value})(?:(?: to |-)({value}))?({OR_MISSING})?$").struct.unnest()
    if column.kind == "date":
        read = [part.str.to_date("%Y-%m-%d", strict=False).cast(pl.Int32).cast(pl.Float64) for part in parts[:, :2]]
        is_odd = parts["1"].is_not_null() & (read[0].is_null() | (parts["2"].is_not_null() & read[1].is_null()))
        read[0] = read[0].set(is_odd, None)
    else:
        read = [part.cast(pl.Float64, strict=False) for part in parts[:, :2]]
    low, high = read[0], read[1].fill_null(read[0])
    nan = float("nan")
    return low.fill_null(nan).to_numpy(), high.fill_null(nan).to_numpy(), parts["3"].is_not_null().to_numpy()


def _ends(column: NumberColumn, shown: str, place: Mapping[str, int]) -> tuple[float, float] | None:
    """The ends of a range as a label writes it."""
    if shown == EVERYTHING:
        return -np.inf, np.inf
    if column.categories:
        return _ends_in_order(place, shown)
    value = DATE if column.kind == "date" else NUMBER
    for pattern, ends in (
        (rf"({value})", lambda a: (a, a)),
        (rf"({value})(?: to |-|\.\.| - )({value})", lambda a, b: (a, b)),
        (rf"({value}) or less", lambda a: (-np.inf, a)),
        (rf"at least ({value})", lambda a: (a, np.inf)),
        (rf"\[({value})\s*[,;-]\s*({value})\]", lambda a, b: (a, b)),
        (rf"\[({value})\s*[,;-]\s*({value})[)\[]", lambda a, b: (a, np.nextafter(b, -np.inf))),
        (rf"[(\]]({value})\s*[,;-]\s*({value})\]", lambda a, b: (np.nextafter(a, np.inf), b)),
        (rf"[(\]]({value})\s*[,;-]\s*({value})[)\[]", lambda a, b: (np.nextafter(a, np.inf), np.nextafter(b, -np.inf))),
        (rf"(?:>=|≥)\s*({value})", lambda a: (a, np.inf)),
        (rf"({value})\+", lambda a: (a, np.inf)),
        (rf"(?:<=|≤)\s*({value})", lambda a: (-np.inf, a)),
        (rf">\s*({value})", lambda a: (np.nextafter(a, np.inf), np.inf)),
        (rf"<\s*({value})", lambda a: (-np.inf, np.nextafter(a, -np.inf))),
    ):
        found = re.fullmatch(pattern, shown)
        if found:
            numbers = [_number(part, column.kind) for part in found.groups()]
            return None if None in numbers else ends(*numbers)
    return _ends_of_stars(shown)


def _number(text: str, kind: str) -> float | None:
    if kind != "date":
        return float(text)
    try:
        return float(np.datetime64(text, "D").astype(np.int64))
    except ValueError:
        return None


def _ends_of_stars(shown: str) -> tuple[float, float] | None:
    """Whole numbers of which the last digits are hidden: 139** stands for 13900 to 13999."""
    found = re.fullmatch(r"(\d+)(\*+)", shown)
    if not found:
        return None
    hidden = 10 ** len(found[2])
    return float(int(found[1]) * hidden), float(int(found[1]) * hidden + hidden - 1)


def _ends_in_order(place: Mapping[str, int], shown: str) -> tuple[float, float] | None:
    """Ordered categories: one, or "low to high"; releases of others write no quotes."""
    ends = ends_in(shown)
    if all(end in place for end in ends):
        return float(place[ends[0]]), float(place[ends[-1]])
    if shown in place:
        return float(place[shown]), float(place[shown])
    for between in re.finditer(" to ", shown):
        low, high = shown[: between.start()], shown[between.end() :]
        if low in place and high in place:
            return float(place[low]), float(place[high])
    return None


# --- categories and hierarchies ---------------------------------------------------------------------------------------


def _sets(column: CategoryColumn, texts: Sequence[str | None], *, is_plain: bool) -> SetLabels:
    """ShownLabels that are sets, or (`is_plain`) categories as they are."""
    names = column.categories.cast(pl.String).to_list()
    code_of = {name: code for code, name in enumerate(names)}
    everything = list(range(column.n_codes))  # missing is one of them only where somebody misses the value
    members: list[list[int]] = []
    unread = 0
    for text in texts:
        plain = code_of.get(str(text)) if is_plain else None
        codes = _codes_of_set(text, code_of, everything) if plain is None else [plain]
        unread += codes is None
        members.append(sorted(codes or []))
    _refuse_unread(column, unread, len(texts))
    return _set_labels(column.codes.astype(np.int64), len(names) + 1, members)


def _codes_of_set(text: str | None, code_of: Mapping[str, int], everything: list[int]) -> list[int] | None:
    n = len(code_of)
    if text is None:
        return [n]
    labels = labels_in(text)
    if labels is None:
        return everything
    if all(label is None or label in code_of for label in labels):
        return [n if label is None else code_of[label] for label in labels]
    if text in code_of:
        return [code_of[text]]
    if text.endswith(OR_MISSING):
        without = _codes_of_set(text.removesuffix(OR_MISSING), code_of, everything)
        return None if without is None else [*without, n]
    if text.startswith("{") and text.endswith("}"):
        return _codes_listed(text[1:-1], {**code_of, MISSING: code_of.get(MISSING, n)})
    hidden = re.fullmatch(r"([^*]+)(\*+)", text)
    if hidden:
        return [code for name, code in code_of.items() if len(name) == len(text) and name.startswith(hidden[1])]
    return None


def _codes_listed(listed: str, code_of: Mapping[str, int]) -> list[int] | None:
    """The codes of names that are joined by ", ", which may stand in a name as well."""
    parts = listed.split(", ")
    if all(part in code_of for part in parts):
        return [code_of[part] for part in parts]
    ends: dict[int, list[int]] = {0: []}
    for first in range(len(parts)):
        if first not in ends:
            continue
        for last in range(first + 1, len(parts) + 1):
            name = ", ".join(parts[first:last])
            if name in code_of and last not in ends:
                ends[last] = [*ends[first], code_of[name]]
    return ends.get(len(parts))


def _nodes(column: QuasiColumn, texts: Sequence[str | None], *, hides_missing: bool) -> SetLabels:
    """ShownLabels that are nodes of the column's hierarchy, or sets of nodes: the values below them."""
    assert column.source is not None
    assert column.source.hierarchy is not None
    hierarchy = column.source.hierarchy
    values, code_of_record = texts_in_hierarchy(column)
    known = [value for value in values if value is not None]
    below: dict[str, set[int]] = {}
    for code, value in enumerate(known):
        for node in (value, *hierarchy.path(value)):
            below.setdefault(node, set()).add(code)
    root = hierarchy.root
    members: list[list[int]] = []
    unread = 0
    for text in texts:
        shown = None if text is None else text.removesuffix(OR_MISSING)
        codes = set() if shown is None else below.get(shown)
        listed = None if shown is None or codes is not None else listed_in(shown)
        if listed is not None and all(node in below for node in listed):
            codes = set().union(*(below[node] for node in listed))
        if codes is None and shown is not None and (shown in (EVERYTHING, root)):
            codes = set(range(len(known)))
        unread += codes is None
        has_missing = shown != text or text is None or (hides_missing and shown in (EVERYTHING, root))
        members.append(sorted((codes or set()) | ({len(known)} if has_missing else set())))
    _refuse_unread(column, unread, len(texts))
    return _set_labels(np.asarray(code_of_record, np.int64), len(known) + 1, members)


def _set_labels(values: IntArray, n_codes: int, members: list[list[int]]) -> SetLabels:
    start = np.append(0, np.cumsum([len(codes) for codes in members])).astype(np.int64)
    codes = np.array([code for listed in members for code in listed], np.int64)
    return SetLabels(values, n_codes, start, codes)
