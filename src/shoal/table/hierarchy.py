"""Value hierarchies: trees over the values of a column, for masks that show a common ancestor.

A hierarchy lists the path of every value: the value itself, what it is part of, and so on up to one root. It is read
from ARX's CSV format, or generated for numbers (intervals), for dates and for codes (prefixes such as ZIP, ICD, ATC).
"""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from shoal.errors import InputError, ParameterError, SchemaError
from shoal.table.code_systems import (
    DATE_LEVELS,
    ROOT,
    atc_path,
    date_path,
    icd_9_path,
    icd_10_path,
    paths_of,
    steps_that_fit,
)

IntArray = npt.NDArray[np.int64]

MOST_LINES = 1_000_000
"""Of intervals of whole numbers no more lines than these are written without being asked for."""
COUNTLESS = 2**40
"""How many numbers with decimals a range is taken to have."""


@dataclass(frozen=True)
class Hierarchy:
    """A tree over the values of a column; level 0 is the value itself, the last level is the root '*'.

    Nodes are told apart by their level and label together, so the same label may stand at several levels. A hierarchy
    read from a file keeps the file's own word for the root. Hierarchies are made by `from_rows`, `read_arx_csv`,
    `of_intervals`, `of_numbers`, `of_dates`, `of_prefixes`, `of_icd`, `of_icd10`, `of_icd9` and `of_atc`.

    Parameters
    ----------
    paths
        One path for each listed value: the value, its parent, ..., the root.
    source
        What messages call the hierarchy: a file name, or how it was generated.
    intervals
        For numbers: the rule that gives the path of any number in the range, where no paths are listed.
    """

    paths: tuple[tuple[str, ...], ...]
    source: str = "hierarchy"
    intervals: Intervals | None = None

    def __post_init__(self) -> None:
        if self.intervals is None:
            _check_paths(self.paths, lines=range(1, len(self.paths) + 1), source=self.source)
        elif self.paths:
            raise ParameterError("A hierarchy either lists its paths or follows a rule for numbers, not both.")

    @classmethod
    def from_rows(cls, rows: Sequence[Sequence[str]], *, source: str = "hierarchy") -> Hierarchy:
        """A hierarchy from one line per value: the value, its parent, ..., the root.

        Raises SchemaError where lines differ in length, a value is listed twice, a node has two parents, the last
        level is not one single root, or there is no line at all.
        """
        return cls(tuple(tuple(row) for row in rows), source=source)

    @classmethod
    def read_arx_csv(cls, path: str | Path, *, delimiter: str | None = None, encoding: str = "utf-8") -> Hierarchy:
        """Read a hierarchy in ARX's format: no header, one line per value, the value first and the root last.

        Parameters
        ----------
        path
            The file; its name (not its folder) stands in messages.
        delimiter
            What separates the fields; by default ';' where the first line has one, else ','.
        encoding
            How the text is encoded. A byte order mark is skipped.

        Raises
        ------
        InputError
            The file cannot be read, or not in this encoding.
        SchemaError
            The lines make no tree (see `from_rows`); the message gives the first line number.
        """
        path = Path(path)
        source = f"hierarchy file '{path.name}'"
        text = _read_text(path, encoding=encoding, source=source)
        numbered = list(_split_lines(text, delimiter=delimiter, source=source))
        paths = tuple(tuple(fields) for _, fields in numbered)
        _check_paths(paths, lines=[line for line, _ in numbered], source=source)
        return cls(paths, source=source)

    @classmethod
    def of_intervals(
        cls, *, low: float, width: float, high: float, factor: int = 2, decimals: bool = False
    ) -> Hierarchy:
        """Intervals over numbers: [low, low + width) and so on, then merged `factor` by `factor`, up to '*'.

        Every number from `low` to `high`, both included, lies in an interval. Where `low` and `width` are whole
        numbers the column must hold whole numbers, and labels name both ends as ranges do: '20-24' ('-5 to -1' where
        `low` is negative). Otherwise, and with `decimals`, labels read '[1.5, 2.0)'. Ends are exact decimals as
        written, so 0.3 lies in [0.3, 0.4).

        Examples
        --------
        >>> ages = Hierarchy.of_intervals(low=0, width=5, high=99)
        >>> ages.label("23", 1), ages.label("23", 2), ages.label("23", ages.n_levels - 1)
        ('20-24', '20-29', '*')
        """
        rule = Intervals.between(low=low, width=width, high=high, factor=factor, decimals=decimals)
        return cls((), source="hierarchy of intervals", intervals=rule)

    @classmethod
    def of_prefixes(cls, values: Iterable[str], *, lengths: Sequence[int] | None = None, fill: str = "*") -> Hierarchy:
        """Prefixes of codes such as ZIP: 20375, 2037*, 203**, 20***, 2****, '*'.

        Parameters
        ----------
        values
            The codes of the column; repeated ones count once. Short codes are filled up to the longest.
        lengths
            How many characters the levels keep; by default one less at each level.
        fill
            The character that stands for what was cut off.
        """
        codes = list(dict.fromkeys(values))
        longest = max(map(len, codes), default=0)
        kept_lengths = _kept_lengths(lengths, longest)
        if len(fill) != 1:
            raise ParameterError(f"fill must be one character, got {len(fill)}.")

        def path(code: str) -> tuple[str, ...]:
            filled = code.ljust(longest, fill)
            return (code, *(filled[:kept].ljust(longest, fill) for kept in kept_lengths), ROOT)

        return cls(tuple(map(path, codes)), source="hierarchy of prefixes")

    @classmethod
    def of_icd(cls, values: Iterable[str]) -> Hierarchy:
        """Diagnosis codes: the code, its category, its first character, '*' (E11.9, E11, E**, '*').

        The category is what stands before the dot, or the first three characters of a code without one; so ICD-9
        (250.00, 250, 2**) works as ICD-10 does, with or without dots. Case and outer blanks are ignored above level 0.
        """

        def path(code: str) -> tuple[str, ...]:
            tidy = code.strip().upper()
            category = tidy.split(".")[0] if "." in tidy else tidy[:3]
            return (code, category, category[:1].ljust(3, "*"), ROOT)

        return cls(tuple(map(path, dict.fromkeys(values))), source="hierarchy of ICD codes")

    @classmethod
    def of_dates(cls, values: Iterable[str], *, levels: Sequence[str] = DATE_LEVELS) -> Hierarchy:
        """Days: the day, its month, quarter, year and decade, '*' (2024-03-05, 2024-03, 2024-Q1, 2024, 2020s, '*').

        Days are written as 2024-03-05, also with a time behind them, or as 05.03.2024. `levels` names those that are
        wanted of month, quarter, year and decade. A day with a time behind it also counts without it.
        """
        given = list(values)
        days = (value.strip()[:10] for value in given if value.strip()[4:5] == "-")
        return cls(paths_of([*given, *days], date_path(levels), what="dates"), source="hierarchy of dates")

    @classmethod
    def of_icd10(cls, values: Iterable[str]) -> Hierarchy:
        """ICD-10 codes: the code, its category, its chapter, '*' (E11.9, E11, E00-E90, '*')."""
        return cls(paths_of(values, icd_10_path, what="ICD-10 codes"), source="hierarchy of ICD-10 codes")

    @classmethod
    def of_icd9(cls, values: Iterable[str]) -> Hierarchy:
        """ICD-9 codes: the code, its category, its chapter, '*' (250.00, 250, 240-279, '*')."""
        return cls(paths_of(values, icd_9_path, what="ICD-9 codes"), source="hierarchy of ICD-9 codes")

    @classmethod
    def of_atc(cls, values: Iterable[str]) -> Hierarchy:
        """ATC codes of drugs by their four groups (A10BA02, A10BA, A10B, A10, A, '*')."""
        return cls(paths_of(values, atc_path, what="ATC codes"), source="hierarchy of ATC codes")

    @classmethod
    def of_numbers(cls, values: Iterable[str]) -> Hierarchy:
        """Intervals whose ends and widths fit the numbers of a column: round ones, about twenty at the first level."""
        distinct = list(dict.fromkeys(values))
        numbers = [number for number in map(_number_in, distinct) if number is not None]
        if len(numbers) < len(distinct) or not numbers:
            raise SchemaError(
                f"{len(distinct) - len(numbers):,} of {len(distinct):,} different values are no numbers, so that no "
                "steps fit them. Correct them, declare them missing, or choose another hierarchy."
            )
        low, width, high = map(float, steps_that_fit(numbers))
        decimals = any(number.denominator > 1 for number in numbers)
        return cls.of_intervals(low=low, width=width, high=high, decimals=decimals)

    def write_arx_csv(
        self, path: str | Path, *, values: Iterable[str] | None = None, delimiter: str = ";", encoding: str = "utf-8"
    ) -> Path:
        """Write the hierarchy in ARX's format, which `read_arx_csv` reads: one line per value, the root last.

        Parameters
        ----------
        path
            The file; one that is there is replaced.
        values
            Which values get a line; by default those that are listed. Intervals list none: without `values` every
            whole number of their range gets a line.
        delimiter, encoding
            How the file is written.
        """
        if values is None and self.intervals is not None:
            if not self.intervals.is_whole or self.intervals.n_whole_numbers > MOST_LINES:
                raise ParameterError("Intervals list no values: say which ones get a line (values=).")
            low = int(self.intervals.low)
            values = map(str, range(low, int(self.intervals.high) + 1))
        paths = self.paths if values is None else [self.path(value) for value in dict.fromkeys(values)]
        path = Path(path)
        with path.open("w", encoding=encoding, newline="") as file:
            if self.n_levels == 1:  # no delimiter would show which one it is
                csv.writer(file, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(paths)
            else:
                csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows(paths)
        return path

    @property
    def n_levels(self) -> int:
        """The number of levels, the values and the root included."""
        return len(self.paths[0]) if self.intervals is None else self.intervals.n_levels

    @property
    def root(self) -> str:
        """The label above all values, usually '*'."""
        return self.paths[0][-1] if self.intervals is None else ROOT

    @property
    def n_values(self) -> int:
        """How many values it has: those it lists, or the whole numbers of its range; of other numbers, countless."""
        if self.intervals is None:
            return len(self.paths)
        return self.intervals.n_whole_numbers if self.intervals.is_whole else COUNTLESS

    @property
    def values(self) -> tuple[str, ...]:
        """The listed values in their order; none for intervals, which take any number in their range."""
        return tuple(path[0] for path in self.paths)

    @cached_property
    def _path_of_value(self) -> dict[str, tuple[str, ...]]:
        return {path[0]: path for path in self.paths}

    @cached_property
    def _find_path(self) -> Callable[[str], tuple[str, ...] | None]:
        return self._path_of_value.get if self.intervals is None else self.intervals.path

    def missing_from(self, values: Iterable[str]) -> list[str]:
        """Those of the given values that the hierarchy does not cover, each once, in their order.

        These are values of the table: show their number, not the list.
        """
        return [value for value in dict.fromkeys(values) if self._find_path(value) is None]

    def check_covers(self, values: Iterable[str], *, column: str | None = None) -> None:
        """Raise SchemaError, with counts, where the hierarchy misses some of the values."""
        distinct = dict.fromkeys(values)
        missing = self.missing_from(distinct)
        if missing:
            where = f" of column '{column}'" if column else ""
            advice = "Widen low and high" if self.intervals else "Add a line for each"
            raise SchemaError(
                f"The {self.source} misses {len(missing):,} of {len(distinct):,} different values{where}. "
                f"{advice}, or choose another hierarchy."
            )

    def path(self, value: str) -> tuple[str, ...]:
        """The value and all its ancestors, the root last."""
        found = self._find_path(value)
        if found is None:
            raise SchemaError(f"The {self.source} misses the value that was asked for.")
        return found

    def label(self, value: str, level: int) -> str:
        """What is shown of a value at a level: itself at level 0, the root at the last."""
        if not 0 <= level < self.n_levels:
            raise ParameterError(f"level must lie in 0 to {self.n_levels - 1} for the {self.source}, got {level}.")
        return self.path(value)[level]

    def lowest_common_ancestor(self, values: Iterable[str]) -> str:
        """The label of the lowest node above all the values; of one value, the value itself."""
        distinct = list(dict.fromkeys(values))
        if not distinct:
            raise ParameterError("The lowest common ancestor of no values is not defined.")
        self.check_covers(distinct)
        paths = [self.path(value) for value in distinct]
        level = next(level for level in range(self.n_levels) if len({path[level] for path in paths}) == 1)
        return paths[0][level]

    def codes(self, categories: Sequence[str | None]) -> tuple[IntArray, list[list[str | None]]]:
        """The nodes above each category as integers, level by level.

        Parameters
        ----------
        categories
            The values of a coded column. None stands for the missing value: a value of its own that hangs directly
            under the root and keeps None as its label.

        Returns
        -------
        node_of_category, labels_of_level
            `labels_of_level[level][node_of_category[category, level]]` is the label of the category at the level.
        """
        paths = self._paths_of(categories)
        node_of_category = np.empty((len(paths), self.n_levels), dtype=np.int64)
        labels_of_level: list[list[str | None]] = []
        for level in range(self.n_levels):
            node_of_label: dict[str | None, int] = {}
            for category, path in enumerate(paths):
                node_of_category[category, level] = node_of_label.setdefault(path[level], len(node_of_label))
            labels_of_level.append(list(node_of_label))
        return node_of_category, labels_of_level

    def shares(self, categories: Sequence[str | None]) -> npt.NDArray[np.float64]:
        """Which share of the domain the nodes above each category cover, level by level.

        A node above c of the n values that the hierarchy lists covers (c - 1) / (n - 1), as ARX counts granularity:
        0 for a value, 1 for the root. Intervals cover by their width. A missing value covers nothing below the root.
        """
        paths = self._paths_of(categories)
        share = np.zeros((len(paths), self.n_levels))
        counts = [Counter(path[level] for path in self.paths) for level in range(self.n_levels)]
        for category, path in enumerate(paths):
            for level in range(self.n_levels - 1):
                if categories[category] is None:
                    continue
                if self.intervals is not None:
                    share[category, level] = self.intervals.share(level)
                else:
                    share[category, level] = (counts[level][path[level] or ""] - 1) / max(len(self.paths) - 1, 1)
        if self.n_levels > 1:
            share[:, -1] = 1.0
        return share

    def common_ancestor_of_groups(
        self,
        categories: Sequence[str | None],
        group_of_record: npt.NDArray[np.integer],
        code_of_record: npt.NDArray[np.integer],
        n_groups: int,
        *,
        lowest: int = 0,
    ) -> list[str | None]:
        """For each group the label of the lowest node above all its records.

        Parameters
        ----------
        categories
            The values of the coded column; None is the missing value (see `codes`).
        group_of_record, code_of_record
            For each record its group, and its position in `categories`.
        n_groups
            The number of groups; one without records gets the root.
        lowest
            The lowest level that a node may have.

        Returns
        -------
        list
            One label per group; None where every record of the group has the missing value. A group with missing and
            other values gets the root: a missing value is never hidden under a narrower label.

        Notes
        -----
        O(records + groups x levels) time. With the categories in the order of a walk through the tree, the ancestor
        of a set is the ancestor of its first and its last member.
        """
        node_of_category, labels_of_level = self.codes(categories)
        walk = np.lexsort(node_of_category.T)
        place_of_category = np.empty(len(walk), dtype=np.int64)
        place_of_category[walk] = np.arange(len(walk))
        first, last = ends_of_groups(place_of_category[code_of_record], group_of_record, n_groups)

        ancestors = np.full(n_groups, self.root, dtype=object)
        unsettled = np.flatnonzero(last >= 0)
        for level, labels in list(enumerate(labels_of_level))[lowest:]:
            nodes = node_of_category[walk, level]
            first_node, last_node = nodes[first[unsettled]], nodes[last[unsettled]]
            agrees = first_node == last_node
            ancestors[unsettled[agrees]] = np.array(labels, dtype=object)[first_node[agrees]]
            unsettled = unsettled[~agrees]
        return list(ancestors)

    def _paths_of(self, categories: Sequence[str | None]) -> list[tuple[str | None, ...]]:
        path_of_missing = (*[None] * (self.n_levels - 1), self.root)
        paths = [path_of_missing if category is None else self._find_path(category) for category in categories]
        known = [path for path in paths if path is not None]
        if len(known) < len(paths):
            self.check_covers(category for category in categories if category is not None)
        return known


FROM_VALUES: dict[str, Callable[[Iterable[str]], Hierarchy]] = {
    "prefixes": Hierarchy.of_prefixes,
    "numbers": Hierarchy.of_numbers,
    "dates": Hierarchy.of_dates,
    "icd": Hierarchy.of_icd,
    "icd10": Hierarchy.of_icd10,
    "icd9": Hierarchy.of_icd9,
    "atc": Hierarchy.of_atc,
}
"""Hierarchies that are made from the values of a column, by the key of a policy."""


@dataclass(frozen=True)
class Intervals:
    """The rule of a hierarchy of numbers: `n_intervals` of one `width` from `low`, merged `factor` by `factor`."""

    low: Fraction
    width: Fraction
    high: Fraction
    factor: int
    decimals: bool = False
    """Whether numbers with decimals lie in them, though they begin and end at whole numbers."""

    @classmethod
    def between(cls, *, low: float, width: float, high: float, factor: int, decimals: bool = False) -> Intervals:
        """The rule for ends given as ordinary numbers, taken as the decimals they are written as."""
        if not all(map(math.isfinite, (low, width, high))):
            raise ParameterError("low, width and high must be finite numbers.")
        if width <= 0:
            raise ParameterError(f"width must be above 0, got {width}.")
        if high < low:
            raise ParameterError(f"high must not lie below low, got low {low} and high {high}.")
        if factor < 2:
            raise ParameterError(f"factor must be at least 2, got {factor}: intervals are merged factor by factor.")
        return cls(_as_written(low), _as_written(width), _as_written(high), factor, decimals)

    @cached_property
    def n_intervals(self) -> int:
        """How many intervals it takes so that `high` lies in the last one."""
        return math.floor((self.high - self.low) / self.width) + 1

    @cached_property
    def n_levels(self) -> int:
        """The value, the intervals, their merged forms while more than one is left, the root."""
        levels, left = 2, self.n_intervals
        while left > 1:
            levels, left = levels + 1, -(-left // self.factor)
        return levels

    @property
    def n_whole_numbers(self) -> int:
        """How many whole numbers lie in all intervals together."""
        return int(self.n_intervals * self.width)

    def share(self, level: int) -> float:
        """Which share of all intervals an interval of a level covers: of whole numbers the others that it has."""
        if level == 0:
            return 0.0
        width = min(self.factor ** (level - 1), self.n_intervals) * self.width
        whole = self.n_intervals * self.width
        if self.is_whole:
            return float((width - 1) / (whole - 1)) if whole > 1 else 0.0
        return float(width / whole)

    @cached_property
    def is_whole(self) -> bool:
        """Whether intervals are of whole numbers, so that labels can name both ends."""
        return not self.decimals and self.low.denominator == 1 and self.width.denominator == 1

    def path(self, value: str) -> tuple[str, ...] | None:
        """The value, the intervals it lies in, the root; None for what is no number of the range."""
        try:
            number = float(value)
        except ValueError:
            return None
        if not math.isfinite(number):
            return None
        exact = _as_written(number)
        if not self.low <= exact <= self.high or (self.is_whole and exact.denominator != 1):
            return None
        interval = math.floor((exact - self.low) / self.width)
        if interval not in self._ancestors_of_interval:
            self._ancestors_of_interval[interval] = (*self._merge(interval), ROOT)
        return (value, *self._ancestors_of_interval[interval])

    @cached_property
    def _ancestors_of_interval(self) -> dict[int, tuple[str, ...]]:
        return {}

    def _merge(self, interval: int) -> Iterator[str]:
        for level in range(self.n_levels - 2):
            merged = self.factor**level
            start = interval // merged * merged
            yield self._label(start, min(start + merged, self.n_intervals))

    def _label(self, start: int, end: int) -> str:
        lower, upper = self.low + start * self.width, self.low + end * self.width
        if not self.is_whole:
            return f"[{float(lower)!r}, {float(upper)!r})"
        if upper - lower == 1:
            return str(lower)
        return f"{lower} to {upper - 1}" if self.low < 0 else f"{lower}-{upper - 1}"


def _number_in(text: str) -> Fraction | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return _as_written(number) if math.isfinite(number) else None


def _as_written(number: float) -> Fraction:
    """The decimal that a number is written as: 0.1 is 1/10."""
    if isinstance(number, int) or float(number).is_integer():
        return Fraction(int(number))
    return Fraction(repr(float(number)))


def _kept_lengths(lengths: Sequence[int] | None, longest: int) -> list[int]:
    """The prefix lengths of the levels between the code and the root, longest first."""
    if lengths is None:
        return list(range(longest - 1, 0, -1))
    if any(length < 1 for length in lengths) or len(set(lengths)) < len(lengths):
        raise ParameterError(f"lengths must be different whole numbers of at least 1, got {list(lengths)}.")
    return sorted(lengths, reverse=True)


def _read_text(path: Path, *, encoding: str, source: str) -> str:
    is_utf8 = encoding.lower().replace("_", "-") in {"utf-8", "utf8"}
    if path.is_fifo() or path.is_char_device():
        raise InputError(f"The {source} is a pipe or a device, and is read more than once. Put it into a file.")
    try:
        with path.open(encoding="utf-8-sig" if is_utf8 else encoding, newline="") as file:
            return file.read()
    except FileNotFoundError:
        raise InputError(f"The {source} does not exist.") from None
    except OSError as error:
        raise InputError(f"The {source} cannot be read: {error.strerror}.") from None
    except UnicodeError:
        raise InputError(f"The {source} is not {encoding} text. Give its encoding, such as latin-1.") from None
    except LookupError:
        raise InputError(f"There is no encoding '{encoding}'. Well-known ones are utf-8 and latin-1.") from None


def _split_lines(text: str, *, delimiter: str | None, source: str) -> Iterator[tuple[int, list[str]]]:
    """The fields of each line that is not blank, with its line number."""
    if delimiter is None:
        first_line = next((line for line in io.StringIO(text, newline="") if line.strip()), "")
        delimiter = ";" if ";" in first_line else ","
    elif len(delimiter) != 1:
        raise ParameterError(f"delimiter must be one character, got {len(delimiter)}.")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for fields in reader:
            if any(field.strip() for field in fields):
                yield reader.line_num, fields
    except csv.Error:
        raise SchemaError(
            f"The {source} cannot be taken apart in line {reader.line_num:,}. Check its quotation marks."
        ) from None


def ends_of_groups(
    place_of_record: IntArray, group_of_record: npt.NDArray[np.integer], n_groups: int
) -> tuple[IntArray, IntArray]:
    """The first and last place among the records of each group; a group without records gets -1 as its last."""
    first = np.full(n_groups, np.iinfo(np.int64).max, dtype=np.int64)
    last = np.full(n_groups, -1, dtype=np.int64)
    np.minimum.at(first, group_of_record, place_of_record)
    np.maximum.at(last, group_of_record, place_of_record)
    return first, last


def _check_paths(paths: Sequence[Sequence[str]], *, lines: Sequence[int], source: str) -> None:
    """Refuse paths that make no tree, naming counts and the first line, never a value."""
    if not paths:
        raise SchemaError(f"The {source} is empty. It needs one line per value: the value, its parent, ..., the root.")
    _check_lengths(paths, lines=lines, source=source)
    _check_leaves(paths, lines=lines, source=source)
    _check_parents(paths, lines=lines, source=source)
    n_roots = len({path[-1] for path in paths})
    if n_roots > 1:
        first = next(line for line, path in zip(lines, paths, strict=True) if path[-1] != paths[0][-1])
        raise SchemaError(
            f"The last level of the {source} has {n_roots:,} different labels (the second in line {first:,}), but must "
            "be one single root. End every line with the same label, such as '*'."
        )


def _check_lengths(paths: Sequence[Sequence[str]], *, lines: Sequence[int], source: str) -> None:
    expected = len(paths[0])
    odd = [line for line, path in zip(lines, paths, strict=True) if len(path) != expected]
    if odd:
        raise SchemaError(
            f"{len(odd):,} of {len(paths):,} lines of the {source} do not have {expected} fields as the first line has "
            f"(first: line {odd[0]:,}). Every line needs one field per level."
        )
    if expected < 1:
        raise SchemaError(f"The lines of the {source} have no fields. Each needs a value, its parent, ..., the root.")


def _check_leaves(paths: Sequence[Sequence[str]], *, lines: Sequence[int], source: str) -> None:
    seen: set[str] = set()
    repeated = []
    for line, path in zip(lines, paths, strict=True):
        if path[0] in seen:
            repeated.append(line)
        seen.add(path[0])
    if repeated:
        raise SchemaError(
            f"The {source} lists {len(repeated):,} values again that it already has (first: line {repeated[0]:,}). "
            "Keep one line for each value."
        )


def _check_parents(paths: Sequence[Sequence[str]], *, lines: Sequence[int], source: str) -> None:
    for level in range(1, len(paths[0]) - 2):
        parent_of_node: dict[str, str] = {}
        torn: dict[str, int] = {}
        for line, path in zip(lines, paths, strict=True):
            if parent_of_node.setdefault(path[level], path[level + 1]) != path[level + 1]:
                torn.setdefault(path[level], line)
        if torn:
            raise SchemaError(
                f"In the {source}, {len(torn):,} labels of level {level} have two different parents (first: line "
                f"{min(torn.values()):,}; the value itself is level 0). Give such a label one and the same parent, "
                "or make two labels of it."
            )
