"""A release as an attacker sees it: what is shown alike, who is in it, and which values go with what is shown."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shoal.attacking.contract import DoesNotApply
from shoal.judging.observation import code_of_hidden, number_equal, number_persons
from shoal.judging.values_apart import names_of_counts
from shoal.masking.shown_labels import as_texts
from shoal.models.exact import IntArray
from shoal.table.columns import CategoryColumn, category_column, code_values, persons_of
from shoal.table.own_columns import GROUP
from shoal.table.spelling import spelled
from shoal.table.times import in_zone, written_times

if TYPE_CHECKING:
    from shoal.attacking.setting import Setting


@dataclass(frozen=True)
class GroupValues:
    """How many persons and records of each group have each value of a sensitive attribute.

    Where a release counts no records, a person has one with each of their values, as far as somebody can see.

    Attributes
    ----------
    counts
        A line for each group and value: `group`, `value` (a code), `persons`, `records`; none for missing where that
        tells nothing.
    categories
        The values that the codes stand for, as texts; the code behind the last is missing.
    spelling
        What does not tell values apart.
    """

    counts: pl.DataFrame
    categories: pl.Series
    spelling: str
    persons_told: IntArray | None = None
    """How many published persons of each group have a value, where a missing one tells nothing."""

    @property
    def n_codes(self) -> int:
        """How many codes there are, missing included."""
        return len(self.categories) + 1

    @cached_property
    def texts(self) -> pl.Series:
        """The texts by which values are known again, whichever table they come from."""
        return spelled(self.categories, self.spelling)

    def codes_of(self, values: pl.Series) -> IntArray:
        """The codes of values from elsewhere; those that the release does not show get the code n_codes."""
        texts = spelled(as_texts(values), self.spelling)
        codes = texts.replace_strict(
            self.texts, pl.Series(np.arange(len(self.categories))), default=self.n_codes, return_dtype=pl.Int64
        )
        return np.where(texts.is_null().to_numpy(), len(self.categories), codes.fill_null(self.n_codes).to_numpy())


@dataclass(frozen=True)
class AttackersView:
    """The rows of a published table by place (rows with equal quasi-identifiers), person, and group.

    The group of a place is where its sensitive values are counted: the place itself, or what the column `group` says
    where attributes are published apart. Where the table has no person column each row stands for itself.
    """

    setting: Setting
    place_of_row: IntArray
    n_places: int
    person_of_row: IntArray
    n_persons: int
    group_of_place: IntArray
    n_groups: int

    @classmethod
    def of(cls, setting: Setting) -> AttackersView:
        """Look at what is published."""
        frame, schema = setting.frame, setting.schema
        absent = [name for name in schema.quasi_names if name not in frame.columns]
        if absent:
            raise DoesNotApply(f"The published table lacks the quasi-identifiers {', '.join(absent)}.")
        shown = [frame[name] for name in schema.quasi_names]
        place, n_places = number_equal([*shown, frame[GROUP]] if setting.is_apart else shown)
        person, n_persons = np.arange(len(frame)), len(frame)
        if setting.shows_persons and schema.person is not None:
            names = frame[schema.person]
            is_whole = not names.null_count()  # which person is which number does not matter
            codes, n_persons = (
                number_persons(names, schema.spelling_of(schema.person)) if is_whole else persons_of(frame, schema)
            )
            person = codes.astype(np.int64)
        group_of_place, n_groups = np.arange(n_places), n_places
        if setting.is_apart:
            codes, distinct = code_values(frame[GROUP].cast(pl.String))
            group_of_place = np.empty(n_places, np.int64)
            group_of_place[place] = codes
            n_groups = len(distinct)
        return cls(setting, place.astype(np.int64), n_places, person, n_persons, group_of_place, n_groups)

    @cached_property
    def rows_of_place(self) -> IntArray:
        """How many rows each place has."""
        return np.bincount(self.place_of_row, minlength=self.n_places)

    @cached_property
    def rows_of_group(self) -> IntArray:
        """How many rows each group has."""
        return np.bincount(self.group_of_place, weights=self.rows_of_place, minlength=self.n_groups).astype(np.int64)

    @cached_property
    def rows_of_person(self) -> IntArray:
        """How many rows each published person has."""
        return np.bincount(self.person_of_row, minlength=self.n_persons)

    @cached_property
    def stays(self) -> pl.DataFrame:
        """Each published person in each place: `place`, `published`, `rows`."""
        rows = pl.DataFrame({"place": self.place_of_row, "published": self.person_of_row})
        return rows.group_by("place", "published").len("rows").with_columns(pl.col("rows").cast(pl.Int64))

    def own_names(self, origin: IntArray) -> pl.DataFrame:
        """The pseudonyms of each person of the original: `published`, `target`; several where there are episodes."""
        return pl.DataFrame({"published": self.person_of_row, "target": origin}).unique()

    @cached_property
    def keeps_together(self) -> bool:
        """Whether every published person stands in one place."""
        return len(self.stays) == self.n_persons

    @cached_property
    def persons_of_place(self) -> IntArray:
        """How many published persons each place has."""
        return np.bincount(self.stays["place"].to_numpy(), minlength=self.n_places)

    @cached_property
    def persons_of_group(self) -> IntArray:
        """How many published persons each group has; a person in several places of it counts in each."""
        return np.bincount(self.group_of_place, weights=self.persons_of_place, minlength=self.n_groups).astype(np.int64)

    @cached_property
    def values(self) -> dict[str, GroupValues]:
        """The counts of each sensitive attribute by group."""
        return {name: self._values_of(name) for name in self.setting.schema.sensitive}

    @cached_property
    def held(self) -> dict[str, pl.DataFrame]:
        """Of each sensitive attribute that stands in the table: `published`, `value`, each pair once."""
        held = {
            name: pl.DataFrame(
                {"published": self.person_of_row, "value": self.values[name].codes_of(self.setting.frame[name])}
            ).unique()
            for name in self.setting.schema.sensitive
            if name in self.setting.frame.columns
        }
        for name in self.setting.schema.missing_tells_nothing:
            held[name] = held[name].filter(pl.col("value") != len(self.values[name].categories))
        return held

    def _values_of(self, name: str) -> GroupValues:
        frame, tables = self.setting.frame, self.setting.tables
        if name in tables:
            return self._values_of_table(name)
        if name not in frame.columns:
            raise DoesNotApply(f"The published table lacks the sensitive attribute '{name}'.")
        column = self._coded(name, frame)
        rows = pl.DataFrame(
            {
                "group": self.group_of_place[self.place_of_row],
                "value": column.codes.astype(np.int64),
                "published": self.person_of_row,
            }
        )
        counts = rows.group_by("group", "value").agg(
            pl.col("published").n_unique().cast(pl.Int64).alias("persons"), pl.len().cast(pl.Int64).alias("records")
        )
        hidden = code_of_hidden(column)
        if hidden is not None:  # nobody guesses that a value is hidden
            counts = counts.filter(pl.col("value") != hidden)
        if name not in self.setting.schema.missing_tells_nothing:
            return GroupValues(counts, as_texts(column.categories), column.spelling)
        is_value = pl.col("value") != len(column.categories)
        told = rows.filter(is_value).unique(["group", "published"])
        persons_told = np.bincount(told["group"].to_numpy(), minlength=self.n_groups)
        return GroupValues(counts.filter(is_value), as_texts(column.categories), column.spelling, persons_told)

    def _coded(self, name: str, frame: pl.DataFrame) -> CategoryColumn:
        return category_column(frame[name], spelling=self.setting.schema.spelling_of(name))

    def _values_of_table(self, name: str) -> GroupValues:
        table = self.setting.tables[name]
        column = self._coded(name, table)
        _, groups = code_values(self.setting.frame[GROUP].cast(pl.String))
        number = pl.DataFrame({GROUP: groups, "number": np.arange(len(groups))})
        persons, records = names_of_counts(table.columns)
        counts = (
            table.with_columns(pl.col(GROUP).cast(pl.String), value=pl.Series(column.codes.astype(np.int64)))
            .join(number, on=GROUP)
            .group_by(pl.col("number").alias("group"), "value")
            .agg(
                pl.col(persons).cast(pl.Int64).sum().alias("persons"),
                pl.col(records).cast(pl.Int64).sum().alias("records"),
            )
        )
        return GroupValues(counts, as_texts(column.categories), column.spelling)


def in_type_of(values: pl.Series, like: pl.DataType) -> pl.Series:
    """Published values in the type that they have in the original, where all of them can be read so.

    A CSV file writes the float 1 as 1.0 and times in a form of its own; taken as texts they would be nobody's.
    """
    if values.dtype == like or like in (pl.String, pl.Categorical, pl.Enum):
        return values
    is_text = values.dtype in (pl.String, pl.Categorical, pl.Enum)
    try:
        if is_text and like in (pl.Date, pl.Datetime):
            clock, offset = written_times(values.cast(pl.String))
            read = (clock if offset is None else in_zone(clock, offset, "UTC")).cast(like)
        elif is_text and like == pl.Time:
            read = values.cast(pl.String).str.to_time(strict=False)
        else:
            read = values.cast(pl.String if is_text else values.dtype).cast(like, strict=False)
        is_same = is_text or read.cast(values.dtype).equals(values, null_equal=True)
    except pl.exceptions.PolarsError:
        return values
    return read if is_same and read.null_count() == values.null_count() else values
