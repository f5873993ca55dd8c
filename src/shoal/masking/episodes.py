"""A person's records cut into episodes, each of which is published under a pseudonym of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import SchemaError
from shoal.grouping.model_check import Judge
from shoal.masking.times import in_order
from shoal.models.contract import Model
from shoal.models.counts import JOINT, VALUE_SUMMARIES, VALUE_TABLES, GroupCounts
from shoal.models.exact import IntArray
from shoal.models.related import Related, RowsView
from shoal.policy.history import Episode, History
from shoal.table.table import Table
from shoal.table.times import local_days


def with_episodes(table: Table, history: History, models: Sequence[Model]) -> Table:
    """The table with its records cut into episodes as asked, and what models ask of these while groups are formed.

    Models of how records are spread hold by episode where they hold by person, since no part of a person's records is
    more than all of them. Models of values are asked of both.
    """
    if history.cut is None:
        return table
    asked = [model for model in models if model.needs & (VALUE_SUMMARIES | VALUE_TABLES | JOINT)]
    cut = replace(table, episode_of_record=episodes_of(table, history.cut))
    return replace(cut, views=lambda whole: Related(views=(_view(whole, asked),))) if asked else cut


def episodes_of(table: Table, episode: Episode) -> NDArray[np.int32]:
    """The episode of each record, numbered from 0 on; each is one person's.

    By time they are so many days each, from the person's first on; records without a time are an episode by themselves.
    By number they follow the person's times, and where there are none the order of the table.
    """
    person = table.person_of_record
    if episode.days is not None:
        days = _days(table)
        by_person = pl.DataFrame({"person": person, "day": days.to_physical().cast(pl.Int64)})
        number = (pl.col("day") - pl.col("day").min().over("person")).floordiv(episode.days).fill_null(-1)
        part = by_person.select(number).to_series().to_numpy()
    else:
        assert episode.records is not None
        part = _places(table) // episode.records
    pairs = np.stack([person.astype(np.int64), part.astype(np.int64)])
    return np.unique(pairs, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int32)


def _days(table: Table) -> pl.Series:
    """The day of each record."""
    name = table.schema.time
    if name is None:
        raise SchemaError(
            "Episodes of so many days follow a person's times, but no time column is named. Name it, or cut by number, "
            "such as episode='5 records'."
        )
    times = in_order(table.frame[name])
    if times.dtype not in (pl.Date, pl.Datetime, pl.Null):
        raise SchemaError(
            f"The time column '{name}' holds no dates, so records cannot be cut into episodes of so many days. Cut by "
            "number, such as episode='5 records'."
        )
    return local_days(table.frame[name], table.schema.zone).days


def _places(table: Table) -> IntArray:
    """Of each record how many of the same person stand before it."""
    times = (
        pl.Series(np.zeros(table.n_records)) if table.schema.time is None else in_order(table.frame[table.schema.time])
    )
    records = pl.DataFrame({"person": table.person_of_record, "time": times}).with_row_index("at")
    order = records.sort("person", "time", "at", nulls_last=True)["at"].to_numpy()
    person = table.person_of_record[order]
    first = np.searchsorted(person, person)
    places = np.empty(table.n_records, np.int64)
    places[order] = np.arange(table.n_records) - first
    return places


class _EpisodeRows:
    """The episodes of sets of persons, as models count persons."""

    def __init__(self, table: Table, models: Sequence[Model]) -> None:
        own = replace(
            table, person_of_record=table.pseudonym_of_record, n_persons=table.n_pseudonyms, episode_of_record=None,
            quasi={}, views=None, _values_of_persons={},
        )  # fmt: skip
        self._judge = Judge(own, models)
        order = np.argsort(table.person_of_pseudonym, kind="stable")
        self._episodes = order.astype(np.int32)
        self._start = np.searchsorted(table.person_of_pseudonym[order], np.arange(table.n_persons + 1))

    @property
    def models(self) -> Sequence[Model]:
        """What episodes must meet."""
        return self._judge.models

    @property
    def table(self) -> Table:
        """The table with episodes in the place of persons."""
        return self._judge.table

    def counts(self, persons: NDArray[Any], start: IntArray) -> GroupCounts:
        """The counts of the episodes of sets of persons."""
        size = np.diff(self._start)[persons]
        first = np.append(0, np.cumsum(size))
        at = np.arange(first[-1]) + np.repeat(self._start[persons] - first[:-1], size)
        return self._judge.counts(self._episodes[at], first[start])


def _view(table: Table, models: Sequence[Model]) -> RowsView:
    return RowsView(
        name="Counted by episode",
        rows=_EpisodeRows(table, models),
        number_of_person=np.arange(table.n_persons),
        part_of_person=np.zeros(table.n_persons, np.int64),
    )
