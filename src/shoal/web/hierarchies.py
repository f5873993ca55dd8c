"""Hierarchies as the page Columns makes them: what to begin with, what their levels look like, own sets."""

from __future__ import annotations

import csv
import hashlib
import io
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from shoal.errors import InputError, ParameterError, PolicyError, SchemaError
from shoal.web.project import ColumnChoice, Project

if TYPE_CHECKING:
    from shoal.table.hierarchy import Hierarchy
N_EXAMPLES = 8
MOST_TO_SORT = 400
"""With more different values than this, nobody sorts them into sets by hand."""
ROOT = "*"


@dataclass(frozen=True)
class ShownLevels:
    """What a hierarchy shows: how many different labels each level has, and the paths of a few values."""

    n_labels: tuple[int, ...]
    examples: tuple[tuple[str, ...], ...]


def values_of(project: Project, column: str) -> list[str]:
    """The different values of a column in their order, without missing."""
    values = project.table().select(pl.col(column)).collect().to_series().drop_nulls().unique()
    texts = values.cast(pl.String)
    numbers = texts.cast(pl.Float64, strict=False)
    if len(texts) and not numbers.null_count():
        return pl.DataFrame({"text": texts, "number": numbers}).sort("number", "text")["text"].to_list()
    return texts.sort().to_list()


def made(project: Project, column: str, choice: Mapping[str, Any]) -> Hierarchy:
    """The hierarchy that a choice makes for a column; an error in words where it makes none or misses values."""
    from shoal.policy import Policy

    document = {"columns": {"quasi": [{"name": column, "hierarchy": dict(choice)}]}}
    try:
        policy = Policy.from_document(document)
    except PolicyError as error:
        raise PolicyError(_without_places(str(error))) from None
    frame = project.table().select(column).collect()
    hierarchy = policy.schema(project.folder, frame).columns[0].hierarchy
    if hierarchy is None:
        raise PolicyError("This makes no hierarchy.")
    return hierarchy


def _without_places(words: str) -> str:
    """Faults of one hierarchy without the place that they would have in a policy file."""
    lines = [re.sub(r"^\s*columns\.quasi\[1\](\.\w+)*: ", "", line) for line in words.split("\n")[1:]]
    return "\n".join(line[:1].upper() + line[1:] for line in lines if line) or words


def levels_of(hierarchy: Hierarchy, values: Sequence[str], column: str) -> ShownLevels:
    """The levels of a hierarchy over the values of a column; SchemaError where it misses some."""
    hierarchy.check_covers(values, column=column)
    nodes, labels = hierarchy.codes(list(values))
    n_labels = tuple(len(set(nodes[:, level].tolist())) for level in range(len(labels)))
    step = max(len(values) / N_EXAMPLES, 1.0)
    shown = list(dict.fromkeys(values[int(place * step)] for place in range(min(N_EXAMPLES, len(values)))))
    return ShownLevels(n_labels, tuple(hierarchy.path(value) for value in shown))


# What to begin with


def first_intervals(values: Sequence[str]) -> dict[str, Any]:
    """Intervals that cut the range of the numbers into about ten, beginning and ending at round numbers.

    Examples
    --------
    >>> first_intervals(["18", "97"])
    {'low': 10, 'width': 10, 'high': 97, 'factor': 2}
    """
    numbers = [float(value) for value in values if _is_number(value)]
    if not numbers:
        return {"low": 0, "width": 10, "high": 100, "factor": 2}
    low, high = min(numbers), max(numbers)
    wide = max(high - low, 1e-9) / 10
    magnitude = 10.0 ** math.floor(math.log10(wide))
    width = next(magnitude * each for each in (1, 2, 5, 10) if magnitude * each >= wide * 0.999)
    if all(number == int(number) for number in numbers):
        width = max(round(width), 1)
    return {"low": _plain(math.floor(low / width) * width), "width": _plain(width), "high": _plain(high), "factor": 2}


def _is_number(value: str) -> bool:
    try:
        return math.isfinite(float(value))
    except ValueError:
        return False


def _plain(number: float) -> int | float:
    rounded = float(f"{number:.10g}")
    return int(rounded) if rounded == int(rounded) else rounded


def first_prefixes(values: Sequence[str]) -> list[int]:
    """How many characters the levels keep: of codes of five 3 and 2, of longer ones a few steps."""
    longest = max(map(len, values), default=0)
    return [length for length in (longest - 2, longest - 3) if length > 0] or [1]


def read_lengths(text: str) -> list[int]:
    """Lengths as they are typed: "3, 2"."""
    parts = [part for part in re.split(r"[,;\s]+", text.strip()) if part]
    if not all(part.isdecimal() for part in parts):
        raise ParameterError("Write the numbers of characters that the levels keep, such as: 3, 2")
    return [int(part) for part in parts]


def read_number(text: str, what: str) -> int | float:
    """A number as it is typed."""
    try:
        number = float(text.strip().replace(",", "."))
    except ValueError:
        raise ParameterError(f"Write a number for {what}.") from None
    if not math.isfinite(number):
        raise ParameterError(f"Write a number for {what}.")
    return _plain(number)


# Own sets


class Sets:
    """Categories sorted into named sets, and these into larger ones: value, set, larger set, ..., everything.

    What is in no set of a level stays itself there. Levels are counted from 1; an item of level 1 is a category, one of
    level 2 a set of level 1 or a category that is in none, and so on.
    """

    def __init__(self, values: Sequence[str], levels: Sequence[Mapping[str, str]] = ()) -> None:
        if len(values) > MOST_TO_SORT:
            raise InputError(
                f"The column has {len(values):,} different values, too many to sort by hand. Load a hierarchy from a "
                "file, or use prefixes or intervals."
            )
        self.values = list(values)
        self.set_of_item: list[dict[str, str]] = []
        """For each level the set of each item that is in one."""
        for level, given in enumerate(levels or [{}], start=1):
            self.set_of_item.append({})
            items = set(self.items(level))
            self.set_of_item[-1] = {item: name for item, name in given.items() if item in items}
        self.names: list[list[str]] = [list(dict.fromkeys(each.values())) for each in self.set_of_item]

    @classmethod
    def of(cls, values: Sequence[str], hierarchy: Hierarchy | None) -> Sets:
        """The sets of a hierarchy that lists its values; none where it is of another form."""
        if hierarchy is None or hierarchy.intervals is not None or hierarchy.n_levels < 3:
            return cls(values)
        levels = [
            {path[level - 1]: path[level] for path in hierarchy.paths if path[level] != path[level - 1]}
            for level in range(1, hierarchy.n_levels - 1)
        ]
        return cls(values, levels)

    @classmethod
    def of_text(cls, values: Sequence[str], text: str) -> tuple[Sets, int]:
        """Sets as they are pasted from a spreadsheet, a line per category; and how many lines name no category."""
        known, lines = set(values), [line for line in text.splitlines() if line.strip()]
        sign = next((each for each in "\t;," if lines and each in lines[0]), "\t")
        rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=sign)]
        rows = [row[:-1] if len(row) > 1 and row[-1] == ROOT else row for row in rows]
        levels: list[dict[str, str]] = [{} for _ in range(max(map(len, rows), default=1) - 1)]
        n_unknown = 0
        for number, row in enumerate(rows, start=1):
            if row[0] not in known:
                n_unknown += 1
                continue
            item = row[0]
            for level, name in zip(levels, row[1:], strict=False):
                if name and name != item and level.setdefault(item, name) != name:
                    raise ParameterError(f"In line {number:,} something stands in another set than in a line before.")
                item = name or item
        return cls(values, levels), n_unknown

    @property
    def n_levels(self) -> int:
        """How many levels of sets there are."""
        return len(self.set_of_item)

    def labels(self, value: str) -> list[str]:
        """What a category is called at each level, itself first."""
        path = [value]
        for level in self.set_of_item:
            path.append(level.get(path[-1], path[-1]))
        return path

    def items(self, level: int = 1) -> list[str]:
        """What can be put into sets of a level."""
        paths = [self.labels(value) for value in self.values]
        return list(dict.fromkeys(path[level - 1] for path in paths))

    def add(self, name: str, level: int = 1) -> None:
        """A new empty set."""
        name = name.strip()
        if not name or name == ROOT:
            raise ParameterError("Give the set a name.")
        if name in self.names[level - 1]:
            raise ParameterError("There is a set of this name already.")
        if name in self.values or name in self.items(level):
            raise ParameterError("A set cannot have the name of one of the values.")
        self.names[level - 1].append(name)

    def remove(self, name: str, level: int = 1) -> None:
        """Dissolve a set; what was in it is in no set then."""
        self.names[level - 1].remove(name)
        of_level = self.set_of_item[level - 1]
        self.set_of_item[level - 1] = {item: each for item, each in of_level.items() if each != name}
        for above in self.set_of_item[level:]:
            above.pop(name, None)

    def move(self, items: Sequence[str], name: str, level: int = 1) -> None:
        """Put items into a set, or with an empty name into none."""
        if name and name not in self.names[level - 1]:
            raise ParameterError("There is no such set any more.")
        known = set(self.items(level))
        for item in items:
            if item in known:
                self.set_of_item[level - 1].pop(item, None)
                if name:
                    self.set_of_item[level - 1][item] = name

    def members(self, name: str, level: int = 1) -> list[str]:
        """The items of a set, or with an empty name those in none."""
        return [item for item in self.items(level) if self.set_of_item[level - 1].get(item, "") == name]

    def add_level(self) -> None:
        """Larger sets, into which the present ones can be put."""
        self.set_of_item.append({})
        self.names.append([])

    def rows(self) -> list[tuple[str, ...]]:
        """One line per category: itself, its set, its larger set, ..., everything."""
        used = max((level for level, each in enumerate(self.set_of_item, start=1) if each), default=0)
        if not used:
            raise SchemaError("No category is in a set yet. Make a set, and move categories into it.")
        return [(*self.labels(value)[: used + 1], ROOT) for value in self.values]

    def text(self) -> str:
        """The same for a spreadsheet: a line per category, its sets beside it."""
        return "\n".join("\t".join(self.labels(value)) for value in self.values)

    def save(self, project: Project, column: str) -> dict[str, str]:
        """Write the hierarchy in ARX's format into the project, and give the choice that names it."""
        return {"file": project.keep_hierarchy(as_arx(self.rows()).encode(), f"{name_for(column)}.csv")}


def as_arx(rows: Sequence[Sequence[str]]) -> str:
    """Lines of a hierarchy in ARX's format."""
    text = io.StringIO()
    csv.writer(text, delimiter=";", lineterminator="\n").writerows(rows)
    return text.getvalue()


def rows_of(hierarchy: Hierarchy, values: Sequence[str]) -> list[tuple[str, ...]]:
    """The lines of any hierarchy for the values of a column."""
    return [hierarchy.path(value) for value in values]


def alone_at(project: Project, column: str, hierarchy: Hierarchy) -> list[int]:
    """For each level how many persons have a label there that nobody else has."""
    from shoal.table.hierarchy_levels import alone_by_level

    person = next(iter(project.chosen.names("person")), None)
    frame = project.table().select([column] if person in (None, column) else [column, person]).collect()
    persons = frame[person] if person is not None else pl.Series("person", range(frame.height))
    return [level.alone for level in alone_by_level(frame[column], persons, hierarchy)]


def name_for(column: str) -> str:
    """What files of a column's sets begin with: a name that any file system takes."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", column).strip("-")[:40]
    return f"{plain or 'column'}-{hashlib.sha256(column.encode()).hexdigest()[:6]}"


def is_of_sets(file: str, column: str) -> bool:
    """Whether a hierarchy file holds the sets that were made for a column."""
    return re.fullmatch(rf"hierarchies/{re.escape(name_for(column))}-[0-9a-f]{{8}}\.csv", file) is not None


def check_column(project: Project, column: ColumnChoice) -> None:
    """Whether a quasi-identifier can be taken as it was chosen; the library's own error where not."""
    from shoal.policy.policy import QuasiChoices
    from shoal.table.columns import quasi_column

    if column.role != "quasi":
        return
    frame = project.table().select(column.name).collect()
    hierarchy = made(project, column.name, column.hierarchy) if column.hierarchy is not None else None
    choices = QuasiChoices(name=column.name, kind=column.kind, order=column.order)  # type: ignore[arg-type]
    quasi_column(frame[column.name], choices.column(hierarchy), lambda record: None, project.chosen.zone)


def remove_unused(project: Project) -> None:
    """Delete hierarchy files that no column names."""
    used = {str((column.hierarchy or {}).get("file", "")) for column in project.chosen.columns}
    of_histories = project.chosen.protection.get("history", {}).get("hierarchies", {})
    used |= {str(each) for each in of_histories.values() if isinstance(each, str)}
    for file in (project.folder / "hierarchies").iterdir():
        if f"hierarchies/{file.name}" not in used and Path(file).is_file():
            file.unlink(missing_ok=True)
