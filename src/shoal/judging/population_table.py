"""The population that a table was drawn from, as a table: how many of its persons fit what a release shows.

It is read where it is, is never written anywhere, and shares the hierarchies of the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, ParameterError, SchemaError, did_you_mean
from shoal.judging.observation import Observation, number_alike
from shoal.judging.population import of_persons
from shoal.masking.shown_labels import labels_of_rows
from shoal.models.contract import Model
from shoal.models.counts import IN_POPULATION, WEIGHTS, GroupCounts, PopulationCounts
from shoal.reading import read
from shoal.table.columns import code_values, quasi_column
from shoal.table.frames import to_polars
from shoal.table.sample import Sample
from shoal.table.schema import Schema
from shoal.table.table import Table

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class _Shown:
    """One quasi-identifier: the value of each point of the population, and which values fit what each group shows."""

    value_of_point: IntArray
    label_of_group: IntArray
    fits: NDArray[np.bool_]
    """Whether a value (row) fits a label (line)."""


@dataclass(frozen=True)
class PopulationTable:
    """The persons of a population by the quasi-identifiers that a table has."""

    frame: pl.DataFrame

    @classmethod
    def of(
        cls,
        source: Any,
        schema: Schema,
        *,
        columns: Mapping[str, str] | None = None,
        table: str | None = None,
        query: str | None = None,
    ) -> PopulationTable:
        """A population from a frame, a file, or a table or query of a database.

        Parameters
        ----------
        columns
            How the population calls columns of the table that it names otherwise.
        """
        if isinstance(source, PopulationTable):
            return source
        if isinstance(source, str | Path):
            frame = read([str(source)], table=table, query=query).frame
        else:
            frame = to_polars(source)[0]
        called = dict(columns or {})
        wanted = [*schema.quasi_names, *([schema.person] if schema.person is not None else [])]
        strangers = [name for name in called if name not in wanted]
        if strangers:
            raise SchemaError(
                f"A column of the population is named for '{strangers[0]}', which is neither a quasi-identifier nor "
                f"the person column.{did_you_mean(strangers[0], wanted)}"
            )
        found = {name: called.get(name, name) for name in wanted if called.get(name, name) in frame.columns}
        absent = [name for name in schema.quasi_names if name not in found]
        if absent:
            raise SchemaError(
                f"The population table lacks {len(absent)} of the quasi-identifiers: {', '.join(absent)}. Its columns "
                f"are: {', '.join(frame.columns)}. Say how it calls them (columns)."
            )
        if not len(frame):
            raise InputError("The population table has no records.")
        return cls(frame.select([pl.col(theirs).alias(ours) for ours, theirs in found.items()]))

    def persons(self, schema: Schema) -> tuple[IntArray, int]:
        """The person of each record; each record is one where no person column is known."""
        if schema.person is None or schema.person not in self.frame.columns:
            return np.arange(len(self.frame)), len(self.frame)
        codes, distinct = code_values(self.frame[schema.person])
        return codes.astype(np.int64), len(distinct) + 1

    def beside(self, table: Table) -> Table:
        """A table and behind its persons those of the population, coded alike."""
        names = table.schema.quasi_names
        try:
            own = table.frame.select(names)
            frame = pl.concat([own, self.frame.select(pl.col(name).cast(own.schema[name]) for name in names)])
        except pl.exceptions.PolarsError:
            raise SchemaError(
                "The population table does not fit the table: some of its quasi-identifiers are of another kind."
            ) from None
        person, n_persons = self.persons(table.schema)
        quasi = {
            column.name: quasi_column(frame[column.name], column, lambda record: None, table.schema.zone)
            for column in table.schema.columns
        }
        both = np.concatenate([table.person_of_record, person + table.n_persons]).astype(np.int32)
        return Table(table.schema, frame, "polars", both, table.n_persons + n_persons, quasi, {})

    def fitting(self, shown: pl.DataFrame, schema: Schema, *, form: str) -> tuple[IntArray, int]:
        """How many persons fit each row of what is shown, and how many fit none of them.

        Parameters
        ----------
        shown
            What each group shows, one row per group.
        form
            That of the mask (`Mask.form`).
        """
        coded = []
        read_labels = []
        for column in schema.columns:
            own = quasi_column(self.frame[column.name], column, lambda record: None, schema.zone)
            try:
                labels, label_of_group = labels_of_rows(own, shown[column.name], form=form)
            except SchemaError as unread:
                raise SchemaError(f"The population table does not fit what is shown: {unread}") from None
            distinct, first, codes = np.unique(labels.values, return_index=True, return_inverse=True)
            coded.append((codes.reshape(-1).astype(np.int32), len(distinct)))
            fits = labels.fits(labels.values[first][None, :], np.arange(labels.n_labels)[:, None])
            read_labels.append((label_of_group, fits))
        point, n_points = number_alike(coded)
        at = np.zeros(n_points, np.int64)
        at[point] = np.arange(len(point))
        columns = [
            _Shown(codes[at].astype(np.int64), label, fits)
            for (codes, _), (label, fits) in zip(coded, read_labels, strict=True)
        ]
        return _Counted(point.astype(np.int64), n_points, *self.persons(schema)).fitting(columns, len(shown))


@dataclass(frozen=True)
class _Counted:
    """Which persons have which points: combinations of quasi-identifiers."""

    point_of_record: IntArray
    n_points: int
    person_of_record: IntArray
    n_persons: int

    @cached_property
    def by_point(self) -> tuple[IntArray, IntArray]:
        """The persons of each point, each once, and where those of each start."""
        pairs = np.unique(self.point_of_record * self.n_persons + self.person_of_record)
        start = np.searchsorted(pairs, np.arange(self.n_points + 1) * self.n_persons)
        return pairs % self.n_persons, start

    def fitting(self, columns: Sequence[_Shown], n_groups: int) -> tuple[IntArray, int]:
        """How many persons have a point that fits each group, and how many have none that fits any."""
        person_at, start = self.by_point
        n_of_point = np.diff(start)
        is_one_each = len(person_at) == len(np.unique(person_at))
        leading, *others = sorted(columns, key=lambda column: float(column.fits.mean()))
        points_of: dict[int, IntArray] = {}
        found, covered = np.zeros(n_groups, np.int64), np.zeros(self.n_points, np.bool_)
        for group in range(n_groups):
            label = int(leading.label_of_group[group])
            if label not in points_of:
                points_of[label] = np.flatnonzero(leading.fits[label][leading.value_of_point])
            points = points_of[label]
            for other in others:
                points = points[other.fits[other.label_of_group[group]][other.value_of_point[points]]]
            covered[points] = True
            if is_one_each or len(points) < 2:
                found[group] = n_of_point[points].sum()
            else:
                who = np.concatenate([person_at[start[point] : start[point + 1]] for point in points])
                found[group] = len(np.unique(who))
        inside = np.unique(person_at[np.repeat(covered, n_of_point)])
        return found, len(np.unique(person_at)) - len(inside)


def population_for(
    models: Sequence[Model], given: Any, schema: Schema, *, folder: str | Path = "."
) -> PopulationTable | None:
    """The one population of models and what is given beside them; None where there is none.

    Parameters
    ----------
    given
        A population table, a frame, the name of a file, or what a policy says of it.
    folder
        From where a policy names files.
    """
    brought = [model.population for model in models if model.population is not None]
    if len({id(each) if not isinstance(each, str) else each for each in brought}) > 1:
        raise ParameterError("Two models bring different populations. A table is drawn from one.")
    if given is None and not brought:
        return None
    if brought and given is None:
        return PopulationTable.of(brought[0], schema)
    if isinstance(given, PopulationTable) or not hasattr(given, "as_source"):
        return PopulationTable.of(given, schema)
    return PopulationTable.of(schema=schema, **given.as_source(Path(folder)))


def with_their_population(
    models: Sequence[Model], given: Any, schema: Schema, *, is_drawn: bool = False
) -> tuple[tuple[Model, ...], PopulationTable | None]:
    """Models with the population that they count, which is read once, and that population.

    Raises
    ------
    ParameterError
        Of a population that a model needs nothing is known.
    """
    population = population_for(models, given, schema)
    refuse_unknown_population(models, schema, population, is_drawn=is_drawn)
    counting = tuple(
        replace(model, population=population) if model.needs & IN_POPULATION else model  # type: ignore[type-var]
        for model in models
    )
    return counting, population


def refuse_unknown_population(
    models: Sequence[Model], schema: Schema, population: PopulationTable | None, *, is_drawn: bool = False
) -> None:
    """Refuse models of a population of which nothing is known, before groups are formed.

    Where persons are drawn from the table (`is_drawn`) their weights are known.
    """
    for model in models:
        if model.needs & IN_POPULATION and population is None:
            raise ParameterError(
                f"{model.name} counts persons of the population, and none is given. Give a population table "
                "(population=), or for k-map an estimator.",
                hint="Give a population table.",
            )
        if model.needs & WEIGHTS and schema.weight is None and not is_drawn:
            raise ParameterError(
                f"{model.name} needs to know how many persons of the population each one stands for. Name the column "
                "of weights (weight=).",
                hint="Name the column of weights.",
            )


def with_population(
    counts: GroupCounts,
    seen: Observation,
    frame: pl.DataFrame,
    schema: Schema,
    population: PopulationTable | None,
    *,
    form: str,
) -> GroupCounts:
    """The counts with the persons of a population table who fit each group."""
    if population is None:
        return counts
    first = np.zeros(seen.n_groups, np.int64)
    first[seen.group_of_record[::-1]] = np.arange(seen.n_records)[::-1]
    persons, outside = population.fitting(frame[first], schema, form=form)
    known = counts.population or PopulationCounts()
    return replace(
        counts, population=replace(known, persons=persons, outside=outside), known=counts.known | IN_POPULATION
    )


def with_weights(counts: GroupCounts, seen: Observation, sample: Sample | None) -> GroupCounts:
    """The counts with the weights of the persons of each group."""
    weight = None if sample is None else of_persons(sample.weight, seen)
    if weight is None:
        return counts
    group, person = (each[seen.start_of_member] for each in seen.in_order)
    weights = np.bincount(group, weights=weight[person], minlength=seen.n_groups).astype(np.float64)
    return counts.with_weights(weights)
