"""What masks have in common that change persons one by one, column by column, and show no groups."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as with_more
from functools import partial
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import ParameterError, SchemaError, did_you_mean
from shoal.grouping.grouping import Grouping
from shoal.grouping.per_column import Columns, names_in, written_names
from shoal.masking.draws import Draws
from shoal.masking.publish import Mask, Published, published_with
from shoal.parts import option
from shoal.table.coding import within_codes
from shoal.table.columns import CategoryColumn, NumberColumn, quasi_column
from shoal.table.schema import Quasi
from shoal.table.table import QuasiColumn, Table
from shoal.table.units import texts_of_units

COLUMNS = option("The columns that are changed: quasi-identifiers or sensitive ones.", metavar="C,C")
FORM = "changed"


@dataclass(frozen=True)
class Changed:
    """Columns as they are published, records in the order of the table, and what is told of each."""

    columns: Mapping[str, pl.Series]
    book: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What readers are told besides, in the codebook."""
    told: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What only the steward is told."""


@dataclass(frozen=True, kw_only=True)
class Changing(Mask):
    """A mask that changes values of persons and shows no groups.

    Nothing is promised of such a release but what is measured of it: at most `max_linkage` of the persons are linked to
    their original values. Every quasi-identifier must be changed. A person's records change alike, by one draw per
    person, so that nobody finds the original by averaging over them.
    """

    columns: Columns = field(default=None, metadata=COLUMNS)
    form: ClassVar[str] = FORM
    shows_groups: ClassVar[bool] = False
    takes_groups: ClassVar[bool] = False
    changes_numbers: ClassVar[bool] = True
    names_columns: ClassVar[tuple[str, ...]] = ("columns",)
    """Its options that name columns."""
    is_of_categories: ClassVar[bool] = False
    """Whether a sensitive attribute is taken as categories, also where it has numbers."""
    shown_as: ClassVar[str] = "changed at random"
    """How a column is shown, for readers."""

    def __post_init__(self) -> None:
        for name in self.names_columns:
            object.__setattr__(self, name, written_names(getattr(self, name)))
        super().__post_init__()

    @classmethod
    @abstractmethod
    def takes(cls, column: QuasiColumn) -> bool:
        """Whether it can change a column of this kind."""

    @abstractmethod
    def change(self, table: Table, columns: Sequence[QuasiColumn], draws: Draws) -> Changed:
        """These columns of a table, changed."""

    def steps(self, table: Table) -> list[tuple[Changing, list[QuasiColumn]]]:
        """Which columns are changed by which mask."""
        return [(self, self.chosen(table))]

    def chosen(self, table: Table) -> list[QuasiColumn]:
        """The columns that it changes: those named, or else the quasi-identifiers that it takes."""
        if self.columns is None:
            chosen = [column for column in table.quasi.values() if self.takes(column)]
        else:
            names = dict.fromkeys(names_in(str(self.columns)))
            chosen = [any_column(table, name, self.name, as_categories=self.is_of_categories) for name in names]
            for column in chosen:
                if not self.takes(column):
                    raise SchemaError(
                        f"The mask {self.name} does not change columns of the kind '{column.kind}', which "
                        f"'{column.name}' has. Choose another mask for it."
                    )
        return chosen

    def publish(self, table: Table, grouping: Grouping, *, rng: np.random.Generator | None = None) -> Published:
        """The changed table; draws from `rng`, or else from the system's secure randomness."""
        if not table.schema.links_records:
            raise SchemaError(
                f"The mask {self.name} changes all records of a person alike, by which they could be put together "
                "again: with person_ids='none' choose range, mean or suppress."
            )
        steps = self.steps(table)
        self._refuse_unchanged(table, steps)
        done = changed_by(steps, table, rng)
        shown = {name: partial(_in_order, series) for name, series in done.columns.items()}
        published = published_with(table, np.zeros(table.n_records, np.int32), shown)
        return with_more(published, book=done.book, told=done.told)

    def _refuse_unchanged(self, table: Table, steps: Sequence[tuple[Changing, Sequence[QuasiColumn]]]) -> None:
        """Refuse a quasi-identifier that would be published as it is, or that two masks would change."""
        by = [column.name for _, columns in steps for column in columns]
        twice = [name for name in dict.fromkeys(by) if by.count(name) > 1]
        if twice:
            raise ParameterError(f"'{twice[0]}' is changed by more than one mask. Name each column once.")
        exact = [name for name in table.quasi if name not in by]
        if exact:
            raise SchemaError(
                f"The mask {self.name} would publish {', '.join(repr(name) for name in exact)} as "
                f"{'it is' if len(exact) == 1 else 'they are'}. Give every quasi-identifier a mask that changes it "
                "(mask 'columns', with a step for each), or do not publish it."
            )


def changed_by(
    steps: Sequence[tuple[Changing, Sequence[QuasiColumn]]], table: Table, rng: np.random.Generator | None
) -> Changed:
    """What steps change, each its own columns."""
    changed: dict[str, pl.Series] = {}
    book: dict[str, Mapping[str, Any]] = {}
    told: dict[str, Mapping[str, Any]] = {}
    for mask, columns in steps:
        done = mask.change(table, columns, Draws(rng))
        changed |= done.columns
        for name in done.columns:
            book[name] = {"form": FORM, "shown_as": mask.shown_as, **done.book.get(name, {})}
            told[name] = {"by": mask.written, **done.told.get(name, {})}
    return Changed(within_codes(changed, table.schema.codings), book, told)


def _in_order(series: pl.Series, order: NDArray[np.int32]) -> pl.Series:
    return series.gather(order)


def any_column(table: Table, name: str, what: str, *, as_categories: bool = False) -> QuasiColumn:
    """A quasi-identifier, or a sensitive attribute: by the kind that its values have, or as categories."""
    if name in table.quasi:
        return table.quasi[name]
    if name not in table.sensitive:
        known = [*table.quasi, *table.sensitive]
        raise ParameterError(
            f"The mask {what} names '{name}', which is neither a quasi-identifier nor sensitive. These are: "
            f"{', '.join(known)}.{did_you_mean(name, known)}"
        )
    if as_categories:
        return table.sensitive[name]
    return quasi_column(table.frame[name], Quasi(name), table.line_of, table.schema.zone)


def present(column: QuasiColumn) -> NDArray[np.bool_]:
    """Which records have a value."""
    if isinstance(column, CategoryColumn):
        return np.asarray(column.codes < len(column.categories))
    return np.ones(len(column.units), np.bool_) if column.is_missing is None else ~column.is_missing


def codes_of(column: QuasiColumn) -> tuple[NDArray[np.int64], int]:
    """The categories of a nominal or ordered column as codes, and how many there are; missing has the code behind."""
    if isinstance(column, CategoryColumn):
        return column.codes.astype(np.int64), len(column.categories)
    n = len(column.categories)
    return np.where(present(column), column.units, n), n


def texts_of_codes(column: QuasiColumn, codes: NDArray[np.int64]) -> pl.Series:
    """Categories by their codes; the code behind the last is a missing one."""
    names = column.categories if isinstance(column.categories, pl.Series) else pl.Series(column.categories)
    places = pl.Series(codes)
    return names.gather(pl.select(pl.when(places < len(names)).then(places)).to_series())


@dataclass(frozen=True)
class Units:
    """The different values of each person in a column: all records in which a person has the same one are one unit."""

    n: int
    person: NDArray[np.int64]
    """Whose each unit is."""
    value: NDArray[np.int64]
    """Its value, in units of the column."""
    record: NDArray[np.int64]
    """The first record that has it."""
    unit_of_record: NDArray[np.int64]
    """The unit of each record that has a value; 0 for the others."""
    is_present: NDArray[np.bool_]

    @classmethod
    def of(cls, column: NumberColumn, table: Table) -> Units:
        """The units of a column."""
        is_present = present(column)
        at = np.flatnonzero(is_present)
        distinct, rank = np.unique(column.units[at], return_inverse=True)
        person = table.person_of_record[at].astype(np.int64)
        key = person * max(len(distinct), 1) + rank.reshape(-1)
        _, first, unit = np.unique(key, return_index=True, return_inverse=True)
        of_record = np.zeros(table.n_records, np.int64)
        of_record[at] = unit.reshape(-1)
        return cls(len(first), person[first], column.units[at][first], at[first], of_record, is_present)

    def records_from(self, giver: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each record the one whose value it gets, where each unit gets that of its giver."""
        if not self.n:
            return np.arange(len(self.is_present))
        return np.where(self.is_present, self.record[giver][self.unit_of_record], np.arange(len(self.is_present)))


def values_at(column: NumberColumn, table: Table, record: NDArray[np.int64]) -> pl.Series:
    """The values that records have in a column, as the table has them; dates and ordered categories in one spelling."""
    if column.kind in ("date", "ordered"):
        units = np.where(present(column), column.units, column.extent[0])
        return texts_of_units(column, units[record]).alias(column.name)
    return table.frame[column.name].gather(record)


def with_missing(shown: pl.Series, is_present: NDArray[np.bool_]) -> pl.Series:
    """The same, missing where there is no value."""
    if is_present.all():
        return shown
    return pl.select(pl.when(pl.Series(is_present)).then(shown)).to_series()


def is_number(column: QuasiColumn) -> bool:
    """Whether a column is of numbers or dates."""
    return isinstance(column, NumberColumn) and column.kind != "ordered"
