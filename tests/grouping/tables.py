"""Random small tables, as records for the plain definitions and as frames for shoal."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from hypothesis import assume
from hypothesis import strategies as st

from shoal.grouping import Grouping
from shoal.models import Model
from shoal.table.schema import Nominal, Number, Quasi, Schema
from shoal.table.table import Table
from tests.laws.twins import twin_of, twin_told
from tests.naive.trees import Attribute, Groups, Holds, Record

KINDS: dict[str, type[Quasi]] = {"number": Number, "nominal": Nominal}
SENSITIVE = "disease"
TOO_CLOSE = 1e-6
"""Where two cuts are nearly as good, floats may choose the other; such an example says nothing."""


@dataclass(frozen=True)
class Small:
    """A small table; without a person column each record is a person, named by its place."""

    records: list[Record]
    attributes: list[Attribute]
    has_person_column: bool = True
    missing_tells: bool = True

    @classmethod
    def of(cls, frame: pl.DataFrame, attributes: list[Attribute]) -> Small:
        """A frame with a column `person`, quasi-identifiers, and a column `disease`."""
        return cls([(row["person"], row, row[SENSITIVE]) for row in frame.to_dicts()], attributes)

    @property
    def schema(self) -> Schema:
        return Schema(
            person="person" if self.has_person_column else None,
            quasi=[KINDS[kind](name) for name, kind in self.attributes],
            sensitive=[SENSITIVE],
            missing_tells_nothing=[] if self.missing_tells else [SENSITIVE],
        )

    @property
    def frame(self) -> pl.DataFrame:
        types = {name: pl.Int64 if kind == "number" else pl.String for name, kind in self.attributes}
        columns: dict[str, pl.Series] = {
            name: pl.Series(name, [values[name] for _, values, _ in self.records], dtype=dtype)
            for name, dtype in types.items()
        }
        if self.has_person_column:
            columns["person"] = pl.Series("person", [person for person, _, _ in self.records])
        columns[SENSITIVE] = pl.Series(SENSITIVE, [value for *_, value in self.records], dtype=pl.String)
        return pl.DataFrame(columns)

    @property
    def table(self) -> Table:
        return Table.from_frame(self.frame, self.schema)

    def groups(self, grouping: Grouping, table: Table | None = None) -> Groups:
        """A grouping as sets of the persons' names."""
        table = table or self.table
        persons = table.frame["person"].to_list() if self.has_person_column else list(range(table.n_records))
        found: dict[int, set[Any]] = {}
        for person, group in zip(persons, grouping.group_of_record(table), strict=True):
            found.setdefault(int(group), set()).add(person)
        assert sum(len(group) for group in found.values()) == table.n_persons, "each person is in exactly one group"
        assert sorted(found) == list(range(grouping.n_groups)), "groups are numbered without a gap"
        return {frozenset(group) for group in found.values()}

    def holds(self, models: Sequence[Model]) -> Holds:
        """Whether a group meets every model, by the plain definitions."""
        codes = {value: code for code, value in enumerate(sorted({v for *_, v in self.records}, key=missing_last))}
        whole = [(person, codes[value]) for person, _, value in self.records]
        twins = [twin_of(model) if self.missing_tells else twin_told(model, codes.get(None)) for model in models]

        def asked(group: list[Record]) -> bool:
            inside = [(person, codes.get(value, 0)) for person, _, value in group]
            return all(twin(inside, whole)[1] for twin in twins)

        return asked


def missing_last(value: Any) -> tuple[bool, Any]:
    return (value is None, value or "")


@st.composite
def small_tables(
    draw: st.DrawFn,
    *,
    kinds: Sequence[str] = ("number", "nominal", "number", "nominal"),
    max_persons: int = 14,
    n_values: int = 4,
    may_miss: bool = True,
    person_column: bool | None = None,
    may_tell_nothing: bool = False,
) -> Small:
    """Persons with one or several records, values that drift or stay, missing values, constants, duplicates."""
    chosen = draw(st.permutations(kinds))[: draw(st.integers(1, len(kinds)))]
    attributes = [(f"q{place}", kind) for place, kind in enumerate(chosen)]
    n_persons = draw(st.integers(2, max_persons))
    has_person_column = draw(st.sampled_from([True, True, True, False])) if person_column is None else person_column
    most_records = draw(st.sampled_from([1, 2, 4, 7])) if has_person_column else 1
    drifts = draw(st.booleans())
    often = [0.15, 0.5] if may_tell_nothing else [0.15]
    missing = draw(st.sampled_from([0.0, 0.0, *often])) if may_miss else 0.0
    spread_of = {name: draw(st.sampled_from([1, 2, 4, 1000, 100_000])) for name, _ in attributes}
    chance = random.Random(draw(st.integers(0, 2**32)))
    records: list[Record] = []
    for person in range(n_persons):
        first = {name: one_value(chance, kind, spread_of[name], missing) for name, kind in attributes}
        for _ in range(chance.randint(1, most_records)):
            values = dict(first)
            for name, kind in attributes:
                if drifts and chance.random() < 0.3:
                    values[name] = one_value(chance, kind, spread_of[name], missing)
            disease = None if chance.random() < missing else f"d{int(n_values * chance.random() ** 1.5)}"
            records.append((person, values, disease))
    missing_tells = not may_tell_nothing or draw(st.booleans())
    return Small(records, attributes, has_person_column, missing_tells)


def one_value(chance: random.Random, kind: str, spread: int, missing: float) -> Any:
    if chance.random() < missing:
        return None
    return chance.randrange(-spread, spread) if kind == "number" else "abcd"[chance.randrange(min(spread, 4))]


def assume_feasible(small: Small, models: Sequence[Model]) -> None:
    """Trees are asked for only where the whole table meets every model."""
    assume(small.holds(models)(small.records))


def assume_clear(closest: float) -> None:
    assume(closest > TOO_CLOSE)
