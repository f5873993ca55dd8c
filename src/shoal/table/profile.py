"""A first look at a table: what each column holds, and which role it probably has."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal.errors import InputError, SchemaError, did_you_mean
from shoal.short import Short, ShownInShort
from shoal.table.contents import Contents, contents_of

if TYPE_CHECKING:
    from shoal.table.hierarchy_levels import Level

FEWEST_FOR_ID = 10
NAME_WORDS = frozenset({"name", "fullname", "ssn"})
OWN_NUMBERS = ("national number", "insurance number")
OF_SAMPLES = ("weight", "household", "strata")
"""Roles of columns that say how a table was drawn from a population."""
SURENESS = ("sure", "likely", "unsure")


@dataclass(frozen=True)
class ColumnProfile:
    """What a column holds, the role suggested for it, and why."""

    name: str
    kind: str
    """"number", "date", "nominal", or "mixed" where some values are numbers and some are not."""
    distinct: int
    missing: int
    role: str
    reason: str
    sure: str = "unsure"
    """"sure", "likely" or "unsure": what a steward should look at first is unsure."""
    topic: str = ""
    """What it seems to hold: "birth", "postcode", "diagnosis", ... ; empty where nothing tells it."""
    hierarchy: str | None = None
    """The hierarchy that fits it, by the key of a policy: "dates", "numbers", "prefixes", "icd10", "icd9", "atc"."""
    safe_harbour: str | None = None
    """The identifier of HIPAA's safe harbour that it seems to be (`shoal.table.safe_harbour`); None for none."""
    levels: tuple[Level, ...] = ()
    """For each level of that hierarchy how many persons are alone in a node of it; the values themselves first."""

    @property
    def kind_in_schema(self) -> str:
        """The kind to write in a schema: a column that mixes numbers and texts is taken as categories."""
        return "nominal" if self.kind == "mixed" else self.kind


@dataclass(frozen=True, repr=False)
class Profile(ShownInShort):
    """The columns of a table with suggested roles, and limits that the whole table can meet."""

    records: int
    persons: int
    columns: tuple[ColumnProfile, ...]
    record_risk: Fraction
    """A share that no person of the whole table exceeds: at least 0.2."""
    h_affiliation: Fraction | None
    """A share of persons above that of the commonest sensitive value, by a quarter of what is left: at least 0.5.

    None without sensitive values. Groups can meet it that are not the whole table.
    """
    missing_tells_nothing: tuple[str, ...] = ()
    """The sensitive columns of which a missing value was said to tell nothing; it is never suggested."""

    def names(self, role: str) -> tuple[str, ...]:
        """The columns that a role is suggested for."""
        return tuple(column.name for column in self.columns if column.role == role)

    @property
    def is_sample(self) -> bool:
        """Whether columns say how the table was drawn from a population."""
        return any(self.names(role) for role in OF_SAMPLES)

    @property
    def models_of_samples(self) -> dict[str, int]:
        """Of a sample with weights: a model to ask for where nobody knows who is in it, at one in a hundred."""
        return {"expected-reidentifications": max(1, self.persons // 100)} if self.names("weight") else {}

    @property
    def by_doubt(self) -> tuple[ColumnProfile, ...]:
        """The columns, those first whose role is least sure."""
        return tuple(sorted(self.columns, key=lambda column: -SURENESS.index(column.sure)))

    @property
    def person(self) -> str | None:
        """The column that probably names the person."""
        return next(iter(self.names("person")), None)

    def short(self) -> Short:
        """A line for each column, the least sure first: what it holds, and the role that is suggested."""
        rows = [(c.name, c.kind, f"{c.distinct:,}", f"{c.missing:,}", c.role, c.sure, c.reason) for c in self.by_doubt]
        headings = ("column", "kind", "values", "missing", "suggested role", "how sure", "because")
        title = f"Profile: {self.records:,} records of {self.persons:,} persons"
        return Short(title=title, headings=headings, rows=rows)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, without any value of the table."""
        columns = [asdict(column) for column in self.columns]
        told = {"records": self.records, "persons": self.persons, "columns": columns}
        if self.is_sample:
            roles = {role: list(self.names(role)) for role in OF_SAMPLES}
            told["sample"] = {**roles, "models": self.models_of_samples}
        return told


def profile(frame: pl.DataFrame, *, missing_tells_nothing: Sequence[str] = (), person: str | None = None) -> Profile:
    """Look at a table: kinds, distinct and missing values, and a role for each column with the reason.

    Parameters
    ----------
    missing_tells_nothing
        Sensitive columns of which a missing value tells nothing: the limit on values is reckoned without it.
    person
        The column that names the person, where that is known, as of related tables; None finds it.

    Notes
    -----
    Roles are guessed from names, in eight languages, and from what values look like (`shoal.table.roles`): they are a
    start for a steward, who knows the data. Every column gets a role, and there is always a quasi-identifier, so that
    the roles make a schema.
    """
    if not frame.width or not len(frame):
        raise InputError("The table has no records.")
    contents = {name: contents_of(frame[name]) for name in frame.columns}
    columns = [_look_at(name, contents[name], len(frame)) for name in frame.columns]
    columns = _with_person(columns, len(frame)) if person is None else _with_known_person(columns, person)
    columns = _with_one_time(columns)
    columns = _with_sample(columns, frame)
    columns = _with_a_quasi_identifier(columns)
    columns = _with_safe_harbour(columns, contents, len(frame))
    person = next((column.name for column in columns if column.role == "person"), None)
    persons = frame[person] if person is not None else pl.Series(range(len(frame)))
    columns = [_with_hierarchy(column, frame[column.name], contents[column.name], persons) for column in columns]
    sensitive = [column.name for column in columns if column.role == "sensitive"]
    for name in missing_tells_nothing:
        if name not in sensitive:
            raise SchemaError(
                f"A missing '{name}' is said to tell nothing, but '{name}' does not look like a sensitive column. "
                f"Those that do: {', '.join(sensitive) or 'none'}.{did_you_mean(name, sensitive)}"
            )
    return Profile(
        records=len(frame),
        persons=persons.n_unique(),
        columns=tuple(columns),
        record_risk=_largest_share_of_records(persons),
        h_affiliation=_largest_share_of_persons(frame, persons, sensitive, missing_tells_nothing),
        missing_tells_nothing=tuple(missing_tells_nothing),
    )


# What a column holds


def _look_at(name: str, contents: Contents, n_records: int) -> ColumnProfile:
    from shoal.table.roles import suggest

    found = suggest(name, contents, n_records)
    return ColumnProfile(
        name,
        contents.kind,
        contents.distinct,
        contents.missing,
        found.role,
        found.reason,
        found.sure,
        found.topic,
    )


def _with_hierarchy(column: ColumnProfile, values: pl.Series, contents: Contents, persons: pl.Series) -> ColumnProfile:
    """A column with the hierarchy that fits it, and how many persons each level of it leaves alone."""
    from shoal.table.hierarchy_levels import alone_by_level, hierarchy_for

    if column.role not in ("quasi", "sensitive"):
        return column
    found = hierarchy_for(values, contents, column.topic)
    if found is None:
        return column
    choice, hierarchy = found
    return replace(column, hierarchy=choice, levels=alone_by_level(values, persons, hierarchy))


def _with_safe_harbour(
    columns: list[ColumnProfile], contents: Mapping[str, Contents], n_records: int
) -> list[ColumnProfile]:
    """Columns with the identifier of the safe harbour that each seems to be."""
    from shoal.table.safe_harbour import identifiers_among

    found = {each.column: each.identifier for each in identifiers_among(contents, n_records)}
    return [replace(column, safe_harbour=found.get(column.name)) for column in columns]


# Roles that depend on each other


def _with_person(columns: list[ColumnProfile], n_records: int) -> list[ColumnProfile]:
    """Exactly one person column of the candidates, or a direct identifier that repeats, or none."""
    whole = [column for column in columns if not column.missing]
    named = [column for column in whole if column.role == "person?"]
    repeated = [column for column in whole if 1 < column.distinct < n_records]
    by_name = [column for column in repeated if column.role == "dropped" and _names_one_person(column)]
    like_ids = [
        column
        for column in repeated
        if column.role == "unknown" and column.kind in ("nominal", "mixed") and column.distinct >= FEWEST_FOR_ID
        and column.distinct * 20 >= n_records
    ]  # fmt: skip
    named.sort(key=lambda column: (column.distinct == n_records, SURENESS.index(column.sure)))
    best = next(iter([*named, *by_name, *like_ids]), None)
    changed: dict[str, Any] = {"role": "person"}
    if best is not None and best.role != "person?":
        reason = f"it has {best.distinct:,} values in {n_records:,} records, as a column of persons would"
        changed |= {"reason": reason, "sure": "unsure" if best.role == "unknown" else "likely"}
    return [
        replace(column, **changed)
        if column is best
        else replace(column, role="dropped", reason="another column names the person")
        if column.role == "person?"
        else column
        for column in columns
    ]


def _with_known_person(columns: list[ColumnProfile], person: str) -> list[ColumnProfile]:
    known = {"role": "person", "reason": "it is the key of the table of persons", "sure": "sure"}
    other = {"role": "dropped", "reason": "another column names the person"}
    return [
        replace(column, **(known if column.name == person else other if column.role == "person?" else {}))  # type: ignore[arg-type]
        for column in columns
    ]


def _names_one_person(column: ColumnProfile) -> bool:
    """Whether a direct identifier is one that hardly two persons share: a full name, a number of their own."""
    from shoal.table.column_names import words_of

    return column.topic in OWN_NUMBERS or not NAME_WORDS.isdisjoint(words_of(column.name))


def _with_one_time(columns: list[ColumnProfile]) -> list[ColumnProfile]:
    """The first column of times has the role; further ones are dropped."""
    times = [column for column in columns if column.role == "time?"]
    return [
        replace(column, role="time")
        if times and column is times[0]
        else replace(column, role="dropped", reason="another column holds the times")
        if column.role == "time?"
        else column
        for column in columns
    ]


def _with_sample(columns: list[ColumnProfile], frame: pl.DataFrame) -> list[ColumnProfile]:
    """The first column of weights and the first of households whose values can be such; further ones are dropped."""
    person = next((column.name for column in columns if column.role == "person"), None)
    taken: dict[str, str] = {}
    changed = []
    for column in columns:
        if column.role in ("weight", "household"):
            why_not = f"another column is the {column.role}" if column.role in taken else None
            why_not = why_not or _not_of_a_sample(column, frame, person)
            if why_not is None:
                taken[column.role] = column.name
            else:
                column = replace(column, role="dropped", reason=f"{column.reason}, but {why_not}", sure="unsure")
        changed.append(column)
    return changed


def _not_of_a_sample(column: ColumnProfile, frame: pl.DataFrame, person: str | None) -> str | None:
    """Why a column cannot be what its name says of how the table was drawn; None where it can."""
    from shoal.table.columns import code_values
    from shoal.table.sample import Sample
    from shoal.table.schema import Schema

    codes = np.arange(len(frame)) if person is None else code_values(frame[person])[0]
    try:
        Sample.of(frame, Schema(quasi=["-"], **{column.role: column.name}), codes)  # type: ignore[arg-type]
    except SchemaError as error:
        told = str(error).split(". ")[0]
        return told[0].lower() + told[1:]
    return None


def _with_a_quasi_identifier(columns: list[ColumnProfile]) -> list[ColumnProfile]:
    """Columns of unknown role are dropped; where no quasi-identifier was found they are taken for ones."""
    if not any(column.role == "quasi" for column in columns):
        reason = "nothing tells its role, and some quasi-identifier is needed: assume that others may know it"
        unknown: Callable[[ColumnProfile], bool] = lambda column: column.role == "unknown"  # noqa: E731
        for is_taken in (unknown, lambda c: c.role == "dropped", lambda c: c.role == "sensitive", lambda c: True):
            if any(map(is_taken, columns)):
                columns = [
                    replace(column, role="quasi", reason=reason, sure="unsure") if is_taken(column) else column
                    for column in columns
                ]
                break
    return [replace(column, role="dropped") if column.role == "unknown" else column for column in columns]


# Limits that the whole table meets


def _largest_share_of_records(persons: pl.Series) -> Fraction:
    """The share of the heaviest person, rounded up to hundredths, and at least a fifth."""
    heaviest = int(persons.rename("person").value_counts()["count"].max())  # type: ignore[arg-type]
    return max(Fraction(1, 5), _rounded_up(Fraction(heaviest, len(persons))))


def _largest_share_of_persons(
    frame: pl.DataFrame, persons: pl.Series, sensitive: Sequence[str], silent: Sequence[str]
) -> Fraction | None:
    """A share that groups can meet: that of the commonest value of any sensitive attribute, and a quarter of the rest.

    At the share of the whole table itself hardly anything but the whole table would do.
    """
    if not sensitive:
        return None
    share = Fraction(0)
    for name in sensitive:
        pairs = pl.DataFrame({"person": persons, "value": frame[name]}).unique()
        if name in silent:
            pairs = pairs.drop_nulls("value")
        if len(pairs):
            commonest = int(pairs["value"].value_counts()["count"].max())  # type: ignore[arg-type]
            share = max(share, Fraction(commonest, pairs["person"].n_unique()))
    return max(Fraction(1, 2), _rounded_up(share + (1 - share) / 4))


def _rounded_up(share: Fraction) -> Fraction:
    return Fraction(math.ceil(share * 100), 100)
