"""What can be looked at in related tables: the rows of each table by themselves, and the tables joined."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.grouping.model_check import Judge
from shoal.models.contract import Model
from shoal.models.counts import JOINT, VALUE_SUMMARIES, VALUE_TABLES
from shoal.models.related import Related, RowsView
from shoal.publishing.related.star import ROW, Star, persons_of_rows
from shoal.table.schema import Schema
from shoal.table.table import Table

ALL = "all tables joined"


class TableView(NamedTuple):
    """Some records of all tables joined, and some of their columns, that somebody can look at."""

    name: str
    """What messages call it."""
    table: str | None
    """The table of which these are the rows, each once and nothing else; None where tables are joined."""
    path: tuple[str, ...]
    """The tables that its columns are from."""
    records: NDArray[np.int64]

    @property
    def is_whole(self) -> bool:
        """Whether these are all tables joined."""
        return self.name == ALL

    def columns(self, names: Mapping[str, Mapping[str, str]]) -> set[str]:
        """The columns that it shows, by what they are called when joined."""
        return {called for table in self.path for called in names[table].values()}


def views_of(star: Star, joined: pl.DataFrame) -> list[TableView]:
    """All tables joined, then each table as it leaves, and with those it hangs on where some have no rows in it.

    A table as it leaves has its own rows and no others, each with the columns of the rows that it hangs on: nobody
    without a row counts there. A table without rows is no view.
    """
    views = [TableView(ALL, None, tuple(star.tables), np.arange(joined.height))]
    rows = joined.select(pl.col(f"^{ROW}.*$")).with_row_index("\0at")
    for name in star.tables:
        path = tuple(star.path(name))
        with_parents = rows.unique([ROW + each for each in path], keep="first", maintain_order=True)
        own = with_parents.drop_nulls(ROW + name)
        if own.height:
            views.append(TableView(f"'{name}'", name, path, own["\0at"].to_numpy().astype(np.int64)))
        if own.height < with_parents.height and len(path) < len(star.tables):
            together = " and ".join(f"'{each}'" for each in path)
            views.append(TableView(f"{together} joined", None, path, with_parents["\0at"].to_numpy().astype(np.int64)))
    return views


def asked_of(view: TableView, columns: set[str], schema: Schema, models: Sequence[Model]) -> list[Model]:
    """The models as far as they are about a view with some columns.

    Models of several attributes together are asked about all tables joined, where these stand side by side: with fewer
    attributes it never takes fewer values to exclude everybody.
    """
    asked = []
    for model in models:
        column = model.column
        is_elsewhere = column is not None and column not in columns
        is_about_nothing = model.needs & (VALUE_SUMMARIES | VALUE_TABLES) and not columns & set(schema.sensitive)
        if not (is_elsewhere or is_about_nothing or (model.needs & JOINT and not view.is_whole)):
            asked.append(model)
    return asked


def tables_with_quasi(star: Star, names: Mapping[str, Mapping[str, str]], schema: Schema) -> dict[str, list[str]]:
    """The quasi-identifiers of each table that hangs on another, of those that have some."""
    found = {
        name: [called for called in names[name].values() if called in schema.quasi_names]
        for name in star.tables
        if name != star.root
    }
    return {name: quasi for name, quasi in found.items() if quasi}


def with_labels(
    star: Star, joined: pl.DataFrame, names: Mapping[str, Mapping[str, str]], schema: Schema
) -> pl.DataFrame:
    """All tables joined, with what a table shows of a person in each of their records, since it is known of them.

    Somebody without a row in a table shows nothing there.
    """
    shown = []
    for name, quasi in tables_with_quasi(star, names, schema).items():
        is_own = pl.col(ROW + name).is_not_null()
        for called in quasi:
            of_person = pl.col(called).filter(is_own).first().over(star.person)
            shown.append(pl.when(is_own).then(pl.col(called)).otherwise(of_person).alias(called))
    return joined.with_columns(shown)


def persons_alone_by_rows(star: Star, tables: Mapping[str, pl.DataFrame], joined: pl.DataFrame, schema: Schema) -> int:
    """How many persons nobody of their group equals in how many rows hang on which: encounters, conditions of each.

    Parameters
    ----------
    joined
        All tables joined, with what they show of each person (`with_labels`).
    """
    shape = joined.select(star.person, *schema.quasi_names).unique(star.person, keep="first")
    for name, table in star.tables.items():
        if table.parent_key is None:
            continue
        rows = pl.DataFrame({star.person: persons_of_rows(star, tables, name), "\0on": tables[name][table.parent_key]})
        lengths = rows.group_by(star.person, "\0on").len().group_by(star.person).agg(pl.col("len").sort())
        told = lengths.select(star.person, pl.col("len").cast(pl.List(pl.String)).list.join(" ").alias(ROW + name))
        shape = shape.join(told, on=star.person, how="left")
    return shape.group_by(pl.exclude(star.person)).len().filter(pl.col("len") == 1).height


def related_rows(
    star: Star, names: Mapping[str, Mapping[str, str]], schema: Schema, models: Sequence[Model]
) -> Callable[[Table], Related]:
    """How to tell of a table that is several joined which rows each person has in each, and what these must meet.

    Parameters
    ----------
    names
        What the columns of each table are called when joined.
    """

    def related(table: Table) -> Related:
        part_of_person = np.zeros(table.n_persons, np.int64)
        for name in tables_with_quasi(star, names, schema):
            has_rows = np.zeros(table.n_persons, np.int64)
            has_rows[table.person_of_record[table.frame[ROW + name].is_not_null().to_numpy()]] = 1
            part_of_person = 2 * part_of_person + has_rows
        return Related(
            views=tuple(
                _counted(view, view.columns(names), table, part_of_person, schema, models)
                for view in views_of(star, table.frame)
                if not view.is_whole or part_of_person.any()  # the groups are formed on all joined in any case
            )
        )

    return related


def _counted(
    view: TableView, columns: set[str], table: Table, part_of_person: NDArray[np.int64], schema: Schema,
    models: Sequence[Model],
) -> RowsView:  # fmt: skip
    """A view, with the persons who have records in it numbered by themselves."""
    persons, person_of_record = np.unique(table.person_of_record[view.records], return_inverse=True)
    number_of_person = np.full(table.n_persons, -1, np.int64)
    number_of_person[persons] = np.arange(len(persons))
    sensitive = {
        name: replace(column, codes=column.codes[view.records])
        for name, column in table.sensitive.items()
        if name in columns
    }
    own = replace(
        table, frame=table.frame[view.records], person_of_record=person_of_record.astype(np.int32),
        n_persons=len(persons), quasi={}, sensitive=sensitive, views=None, _values_of_persons={},
    )  # fmt: skip
    rows = Judge(own, asked_of(view, columns, schema, models))
    return RowsView(name=view.name, rows=rows, number_of_person=number_of_person, part_of_person=part_of_person)
