"""The table: coded columns, and which person each record belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, SchemaError
from shoal.models.background import Background, background_of
from shoal.models.related import Related
from shoal.table import coding
from shoal.table.adversary import Adversary, KnownRules, types_by_rules
from shoal.table.columns import (
    CategoryColumn,
    Codes,
    Laid,
    LineOf,
    NumberColumn,
    Persons,
    code_values,
    codes_of_one,
    first_that,
    quasi_column,
    sensitive_columns,
)
from shoal.table.frames import to_polars
from shoal.table.sample import Sample
from shoal.table.schema import Schema
from shoal.table.times import SharedDates, n_beyond_calendar, refuse_beyond_calendar
from shoal.table.units import Scale

QuasiColumn = NumberColumn | CategoryColumn


@dataclass(frozen=True)
class Table:
    """A table as the stages need it: persons as codes, quasi-identifiers as arrays, sensitive attributes as codes."""

    schema: Schema
    frame: pl.DataFrame
    kind_of_frame: str
    person_of_record: Codes
    n_persons: int
    quasi: Mapping[str, QuasiColumn]
    sensitive: Mapping[str, CategoryColumn]
    notes: tuple[str, ...] = ()
    """What was left out or looked odd when the table was made, in plain sentences with counts."""
    suppressed_persons: int = 0
    """How many persons were left out so that the others can be protected."""
    left_out: int = 0
    """How many records were left out so that the others can be protected."""
    may_leave_out: int = 0
    """How many persons more a method may leave out."""
    adversary: Adversary | None = None
    """What somebody is taken to know of these persons, where a model reckons with it."""
    is_of_several: bool = False
    """Whether this is a part of a table in which persons have several records."""
    views: Callable[[Table], Related] | None = field(default=None, repr=False, compare=False)
    """Where the records are of several tables joined: how to tell which rows each person has in each of them."""
    episode_of_record: Codes | None = None
    """The episode of each record, where a person has a pseudonym per episode: numbers from 0 on, each one person's."""
    sample: Sample | None = None
    """How the records were drawn from a population, where the schema says it."""
    coded: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By column how its values were coded as the schema says, and of how many records and persons."""
    beside: Table | None = field(default=None, repr=False, compare=False)
    """The persons of this table, and behind them those of its population, coded alike; where a method counts both."""
    shared_dates: SharedDates | None = None
    """What the dates of the whole table have in common, where they are shifted and that was counted."""
    _values_of_persons: dict[str, tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]] = field(
        default_factory=dict, repr=False, compare=False
    )
    line_of: LineOf = field(default=lambda record: None, repr=False, compare=False)

    @classmethod
    def from_frame(cls, frame: Any, schema: Schema, *, line_of: LineOf | None = None) -> Table:
        """Read a frame of pandas, polars or pyarrow by a schema; refuse what does not fit."""
        records, kind = to_polars(frame)
        line_of = line_of or (lambda record: None)
        schema.check_against(records.columns)
        if not len(records):
            raise InputError("The table has no records.")
        refuse_unpublishable(records, schema)
        refuse_beyond_calendar({name: n_beyond_calendar(records[name]) for name in dates_published(records, schema)})
        refuse_missing_persons(records, schema, line_of)
        records = _with_plain_floats(records, schema)
        records, notes, line_of = _without_missing(records, schema, line_of)
        person_of_record, n_persons = np.arange(len(records), dtype=np.int32), len(records)
        if schema.person is not None:
            persons = Persons.of(records[schema.person], schema.spelling_of(schema.person))
            person_of_record, n_persons, notes = persons.codes, persons.n, (*notes, *persons.notes)
        records, schema, told = _with_codes(records, schema, person_of_record)
        notes = (*notes, *coding.sentences(told, schema.codings))
        quasi = {
            column.name: quasi_column(records[column.name], column, line_of, schema.zone) for column in schema.columns
        }
        sensitive = sensitive_columns(records, schema)
        notes = (*notes, *(note for column in sensitive.values() for note in column.notes))
        sample = Sample.of(records, schema, person_of_record, line_of)
        return cls(
            schema, records, kind, person_of_record, n_persons, quasi, sensitive, notes, sample=sample, line_of=line_of,
            coded=told,
        )  # fmt: skip

    @property
    def n_records(self) -> int:
        """How many records the table has."""
        return len(self.person_of_record)

    @property
    def pseudonym_of_record(self) -> Codes:
        """Which records share a pseudonym: those of a person, or of an episode of theirs."""
        return self.person_of_record if self.episode_of_record is None else self.episode_of_record

    @cached_property
    def n_pseudonyms(self) -> int:
        """How many pseudonyms are published."""
        return self.n_persons if self.episode_of_record is None else int(self.episode_of_record.max()) + 1

    @cached_property
    def person_of_pseudonym(self) -> NDArray[np.int64]:
        """Whose each pseudonym is."""
        person = np.arange(self.n_pseudonyms)
        if self.episode_of_record is not None:
            person[self.episode_of_record] = self.person_of_record
        return person

    @property
    def one_record_per_person(self) -> bool:
        """Whether nobody has several records, here and in the table that this may be a part of."""
        return self.n_records == self.n_persons and not self.is_of_several

    @cached_property
    def records_of_person(self) -> NDArray[np.int64]:
        """How many records each person has."""
        return np.bincount(self.person_of_record, minlength=self.n_persons)

    @cached_property
    def related(self) -> Related | None:
        """The rows that each person has in several tables, where the records are of several joined."""
        return None if self.views is None else self.views(self)

    def values_of_persons(
        self, column: CategoryColumn
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Which values each person has, ascending, and in how many records: starts, values, records."""
        known = self._values_of_persons.get(column.name)
        if known is not None:
            return known
        from shoal.kernels import counting

        only = self.code_of_person(column)
        if only is not None:
            found = (np.arange(self.n_persons + 1), only, self.records_of_person)
        else:
            everything = np.arange(self.n_records, dtype=np.int32)
            order = counting.order_by_code(self.person_of_record, self.n_persons, everything)
            start, value, records, _ = counting.values_of_groups(
                order, self.person_of_record, column.codes, self.person_of_record, self.n_persons
            )
            found = (start, value, records)
        self._values_of_persons[column.name] = found
        return found

    def code_of_person(self, column: CategoryColumn) -> NDArray[np.int64] | None:
        """The one category of each person, or None where somebody has several."""
        from shoal.kernels import counting

        if self.schema.person is None:
            return column.codes.astype(np.int64)
        code = counting.code_of_person(column.codes, self.person_of_record, self.n_persons)
        return code if code.min() >= 0 else None

    def records_of_code(self, column: CategoryColumn) -> NDArray[np.int64]:
        """How many records have each category."""
        return np.bincount(column.codes, minlength=column.n_codes).astype(np.int64)

    def sums_of_persons(
        self, column: NumberColumn, grid: int, *, with_squares: bool = False
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """For each person the sum of units above the lowest, of steps on the grid, and of squared steps if asked."""
        from shoal.kernels import points

        if column.laid is not None:
            return self.sums_of_laid(column, column.laid, grid)
        scale = self.scale_of(column)
        units, steps = scale.units_of(column), scale.steps_per_unit(grid)
        if self.schema.person is None and not grid:  # one record per person: nothing to add up
            return units - scale.lowest, np.zeros(0, np.int64), np.zeros(0)
        sums, mass = points.sums_of_persons(units, self.person_of_record, self.n_persons, scale.lowest, steps)
        squares = np.zeros(0)
        if with_squares:
            squares = points.squares_of_persons(units, self.person_of_record, self.n_persons, scale.lowest, steps)
        return sums, mass, squares

    def sums_of_laid(
        self, column: NumberColumn, laid: Laid, grid: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """The same of a column with a hierarchy that is laid on a line, from the values of each person."""
        start, value, records = self.values_of_persons(laid.column)
        place = laid.place[value]
        steps = np.rint(place * self.scale_of(column).steps_per_unit(grid))
        by_value = (records * place, (records * steps).astype(np.int64), records * steps * steps)
        if len(value) == self.n_persons:
            return by_value
        sums, mass, squares = (np.add.reduceat(each, start[:-1]) for each in by_value)
        return sums, mass, squares

    def scale_of(self, column: NumberColumn) -> Scale:
        """How the units of a column are added up over the records of a person."""
        return Scale.of(column, int(self.records_of_person.max()))

    def with_records(self, keep: NDArray[np.bool_], note: str) -> Table:
        """The table with only some of its records, and a note that says why."""
        frame = self.frame.filter(pl.Series(keep))
        kept = np.flatnonzero(keep)
        before = self.line_of
        smaller = Table.from_frame(frame, self.schema, line_of=lambda record: before(int(kept[record])))
        notes = (*self.notes, note) if note else self.notes
        smaller = replace(
            smaller, kind_of_frame=self.kind_of_frame, notes=notes, suppressed_persons=self.suppressed_persons,
            left_out=self.left_out + int((~keep).sum()), may_leave_out=self.may_leave_out, views=self.views,
            coded=self.coded, sample=None if self.sample is None else self.sample.taken(kept),
        )  # fmt: skip
        if self.episode_of_record is not None:
            episodes = np.unique(self.episode_of_record[keep], return_inverse=True)[1]
            smaller = replace(smaller, episode_of_record=episodes.astype(np.int32))
        known = self.adversary
        return smaller if known is None else smaller.against(known.rules, is_linked=known.is_linked)

    def against(self, rules: KnownRules, *, is_linked: bool) -> Table:
        """The table against an adversary who knows rules about its persons.

        Parameters
        ----------
        is_linked
            Whether a release will show which values of different attributes belong to one person.
        """
        types = {
            name: types_by_rules(rules, self.frame, self.schema, column) for name, column in self.sensitive.items()
        }
        return replace(self, adversary=Adversary(rules, types, is_linked))

    def background(self) -> Background | None:
        """What an adversary's rules leave for each person, where there are such rules."""
        if self.adversary is None:
            return None
        lists = {}
        for name, column in self.sensitive.items():
            start, value, _ = self.values_of_persons(column)
            lists[name] = (start, value, column.n_codes)
        return background_of(lists, self.adversary.types_of_person, is_linked=self.adversary.is_linked)

    def without_persons(self, leave_out: NDArray[np.bool_]) -> Table:
        """The table without some persons, who are counted."""
        smaller = self.with_records(~leave_out[self.person_of_record], "")
        return replace(smaller, suppressed_persons=self.suppressed_persons + int(leave_out.sum()))


def refuse_unpublishable(records: pl.DataFrame, schema: Schema) -> None:
    """Refuse columns of lists, structures, bytes, durations or objects, which no CSV file can hold as values."""
    published = schema.published()
    odd = [
        name
        for name, dtype in records.schema.items()
        if name in published and not _is_plain(dtype) and not (name == schema.time and dtype == pl.Duration)
    ]
    if odd:
        raise InputError(
            f"Columns of lists, structures, bytes, durations or objects cannot be published: {', '.join(odd)}. "
            "Make them text or numbers, or drop them."
        )


def dates_published(records: pl.DataFrame, schema: Schema) -> list[str]:
    """The columns of dates that will be published."""
    return [
        name for name, kind in records.schema.items() if name in schema.published() and kind in (pl.Date, pl.Datetime)
    ]


def _is_plain(dtype: pl.DataType) -> bool:
    others = (pl.String, pl.Boolean, pl.Categorical, pl.Enum, pl.Date, pl.Datetime, pl.Time, pl.Null)
    return dtype.is_numeric() or dtype in others


def refuse_missing_persons(records: pl.DataFrame, schema: Schema, line_of: LineOf) -> None:
    """Refuse records that do not say whose they are."""
    if schema.person is None:
        return
    persons = records[schema.person]
    missing = persons.is_null()
    if persons.dtype.is_float():
        missing |= persons.is_nan().fill_null(False)
    if missing.any():
        raise SchemaError(
            f"The person column '{schema.person}' is missing in {int(missing.sum()):,} of {len(records):,} "
            f"records, {first_that(missing, line_of)}. Without it their risk cannot be counted: fill it in, or leave "
            "those records out."
        )


def _with_codes(
    records: pl.DataFrame, schema: Schema, person_of_record: Codes
) -> tuple[pl.DataFrame, Schema, dict[str, Any]]:
    """Values coded as the schema says; the schema with what counts of persons settle; and what was coded."""
    if not schema.coded:
        return records, schema, {}
    forms = {name: _forms(records[name], schema.spelling_of(name)) for name in schema.sensitive if name in schema.coded}
    codings = coding.settled(schema.codings, records, person_of_record, forms)
    person = pl.lit(pl.Series(person_of_record))
    told = coding.told_of(codings, records.select(coding.counts(codings, records.schema, person)).row(0, named=True))
    return records.with_columns(coding.coded(codings, records.schema)), replace(schema, coded=codings), told


def _forms(values: pl.Series, spelling: str) -> Codes:
    """Codes in which values of one spelling are one."""
    codes, distinct = code_values(values)
    one = codes_of_one(distinct, spelling)
    return codes if one is None else one[0][codes]


def _with_plain_floats(records: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """Floats that count as one value written as one, since a file would show two: -0.0 as 0.0, NaN as missing."""
    plain = plain_floats(records.schema, schema)
    return records.with_columns(plain) if plain else records


def plain_floats(types: Mapping[str, pl.DataType], schema: Schema) -> list[pl.Expr]:
    """What makes the floats of a table plain: -0.0 to 0.0, NaN to missing.

    A quasi-identifier that should be a number keeps its NaN, which is refused later with its line.
    """
    published_as_they_are = {*schema.sensitive, *schema.kept}
    plain = []
    for name, dtype in types.items():
        if dtype in (pl.Float32, pl.Float64) and name != schema.person:
            column = pl.when(pl.col(name) == 0).then(pl.lit(0, dtype=dtype)).otherwise(pl.col(name))
            plain.append((column.fill_nan(None) if name in published_as_they_are else column).alias(name))
    return plain


def _without_missing(
    records: pl.DataFrame, schema: Schema, line_of: LineOf
) -> tuple[pl.DataFrame, tuple[str, ...], LineOf]:
    """Apply the schema's choice about missing quasi-identifiers."""
    if schema.missing == "value":
        return records, (), line_of
    counts = {name: records[name].null_count() for name in schema.quasi_names}
    named = ", ".join(f"'{name}' in {count:,}" for name, count in counts.items() if count)
    if not named:
        return records, (), line_of
    if schema.missing == "refuse":
        raise SchemaError(f"Missing quasi-identifiers are refused: {named} of {len(records):,} records.")
    complete = ~pl.any_horizontal(pl.col(list(schema.quasi_names)).is_null())
    keep = records.select(complete).to_series()
    kept = np.flatnonzero(keep.to_numpy())
    if not len(kept):
        raise InputError(f"Every record misses a quasi-identifier ({named}); none is left.")
    dropped = len(records) - len(kept)
    note = f"{dropped:,} of {len(records):,} records were left out because a quasi-identifier is missing ({named})."
    return records.filter(keep), (note,), lambda record: line_of(int(kept[record]))
