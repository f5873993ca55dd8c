"""Tables joined by key around persons, and the one table that they make together.

Each table but that of persons hangs on another by a link: encounters on persons, conditions on encounters. Joined
again, a person has as many records as the longest of their lists needs; a shorter list beside it starts anew, so that
every person has just the values that they have, and a list without records is a missing value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from shoal.errors import InputError, SchemaError
from shoal.table.schema import Schema
from shoal.table.spelling import spelled

ROW = "\0row of "
"""How columns are named that say from which row of a table a joined record is; no file can hold this beginning."""


@dataclass(frozen=True, kw_only=True)
class StarTable:
    """How a table hangs together with the others.

    Parameters
    ----------
    key
        The column that names its rows, where others link to them.
    links
        Columns that name rows of other tables, by column. The first is the one that the table hangs on.
    """

    key: str | None = None
    links: Mapping[str, str] = field(default_factory=dict)

    @property
    def parent(self) -> str | None:
        """The table that this one hangs on; None for the table of persons."""
        return next(iter(self.links.values()), None)

    @property
    def parent_key(self) -> str | None:
        """The column that names the row of the parent."""
        return next(iter(self.links), None)

    @property
    def key_columns(self) -> set[str]:
        """The columns that are keys and links, and are replaced by pseudonyms."""
        return {*self.links, *([self.key] if self.key is not None else [])}


@dataclass(frozen=True)
class Star:
    """The tables by name, that of persons among them: the only one without links."""

    tables: Mapping[str, StarTable]

    def __post_init__(self) -> None:
        roots = [name for name, table in self.tables.items() if not table.links]
        if len(roots) != 1:
            raise SchemaError(
                f"Of related tables just one is that of persons and links to no other, but {len(roots)} have no links: "
                f"{', '.join(roots) or 'none'}."
            )
        faults = []
        for name, table in self.tables.items():
            for column, target in table.links.items():
                if target not in self.tables or target == name:
                    faults.append(f"'{name}.{column}' links to '{target}', which is no other table here.")
                elif self.tables[target].key is None:
                    faults.append(f"'{name}.{column}' links to '{target}', which has no key.")
        if self.tables[roots[0]].key is None:
            faults.append(f"The table of persons, '{roots[0]}', needs a key: the column that names a person.")
        if faults:
            raise SchemaError("\n".join(faults))
        for name in self.tables:
            self.path(name)

    @property
    def root(self) -> str:
        """The table of persons."""
        return next(name for name, table in self.tables.items() if not table.links)

    @property
    def person(self) -> str:
        """The column that names a person."""
        return str(self.tables[self.root].key)

    def columns_of_persons(self, name: str) -> list[str]:
        """The columns of a table that name persons: the key of theirs, and links to it."""
        if name == self.root:
            return [self.person]
        return [column for column, target in self.tables[name].links.items() if target == self.root]

    def ids_of_persons(self, frames: Mapping[str, pl.DataFrame], form: str) -> pl.DataFrame:
        """`written`, `form`: the different ids of persons in all tables, and the form by which they are told apart."""
        columns = [frames[name][column] for name in self.tables for column in self.columns_of_persons(name)]
        written = pl.concat([spelled(column.drop_nulls().unique(), "exact").alias("written") for column in columns])
        written = written.unique().sort()
        return pl.DataFrame([written, spelled(written, form).alias("form")])

    def children(self, name: str) -> list[str]:
        """The tables that hang on a table."""
        return [child for child, table in self.tables.items() if table.parent == name]

    def path(self, name: str) -> list[str]:
        """The tables from that of persons down to a table."""
        path = [name]
        while (parent := self.tables[path[0]].parent) is not None:
            if parent in path:
                raise SchemaError(f"The tables {', '.join(path)} hang on one another in a circle.")
            path.insert(0, parent)
        return path

    def joined_names(self, frames: Mapping[str, pl.DataFrame], schema: Schema) -> dict[str, dict[str, str]]:
        """What the columns of each table but keys are called when joined: `table.column` where the schema says so."""
        roles = {name for name, _ in schema.roles()}
        names = {
            name: {
                column: f"{name}.{column}" if f"{name}.{column}" in roles else column
                for column in frames[name].columns
                if column not in table.key_columns
            }
            for name, table in self.tables.items()
        }
        every = [called for of_table in names.values() for called in of_table.values()] + [self.person]
        twice = sorted({called for called in every if every.count(called) > 1})
        if twice:
            raise SchemaError(
                f"Several tables have a column {', '.join(map(repr, twice))}. Name them by their tables: "
                f"'{self.root}.{twice[0]}', for example."
            )
        return names


def check_tables(
    star: Star, frames: Mapping[str, pl.DataFrame], schema: Schema
) -> tuple[dict[str, pl.DataFrame], list[str]]:
    """The tables with keys as texts and without rows that belong to nobody, and what was left out.

    Ids of persons are written in the form by which the schema tells them apart, in all tables.

    Raises
    ------
    SchemaError
        A key or link is absent, a key is missing or occurs twice, or two links of a row lead to different persons.
    """
    absent = [f"'{name}' has no column '{column}'." for name, table in star.tables.items()
              for column in sorted(table.key_columns) if column not in frames[name].columns]  # fmt: skip
    if absent:
        raise SchemaError("\n".join(absent))
    form = schema.spelling_of(star.person)
    checked: dict[str, pl.DataFrame] = {}
    notes: list[str] = []
    for name in _downwards(star):
        table = star.tables[name]
        keys = sorted(table.key_columns)
        of_persons = star.columns_of_persons(name)
        frame = frames[name].with_columns(
            spelled(frames[name][key], form if key in of_persons else "exact") for key in keys
        )
        if table.key is not None and (frame[table.key].null_count() or frame[table.key].n_unique() < frame.height):
            n_again = frames[name][table.key].n_unique() - frame[table.key].n_unique()
            otherwise = f", {n_again:,} of them in another spelling" if n_again else ""
            raise SchemaError(
                f"The key '{table.key}' of '{name}' must name each row, but it is missing in "
                f"{frame[table.key].null_count():,} and {frame.height - frame[table.key].n_unique():,} rows repeat "
                f"one{otherwise}."
            )
        if table.parent is not None and table.parent_key is not None:
            parent = checked[table.parent]
            known = parent[str(star.tables[table.parent].key)].to_list()
            belongs = frame[table.parent_key].is_in(known).fill_null(False)
            n_orphans = frame.height - int(belongs.sum())
            if n_orphans:
                notes.append(
                    f"{n_orphans:,} of {frame.height:,} rows of '{name}' belong to no row of '{table.parent}' and were "
                    "left out."
                )
            frame = frame.filter(belongs)
        checked[name] = frame
    if not checked[star.root].height:
        raise InputError(f"The table of persons, '{star.root}', has no records.")
    _refuse_two_persons(star, checked)
    return checked, notes


def _downwards(star: Star) -> list[str]:
    return sorted(star.tables, key=lambda name: len(star.path(name)))


def persons_of_rows(star: Star, frames: Mapping[str, pl.DataFrame], name: str) -> pl.Series:
    """The person that each row of a table belongs to, by the links it hangs on."""
    table = star.tables[name]
    if table.parent is None:
        return frames[name][star.person]
    parent = star.tables[table.parent]
    persons = persons_of_rows(star, frames, table.parent)
    above = pl.DataFrame({"key": frames[table.parent][str(parent.key)], "person": persons})
    own = frames[name].select(key=pl.col(str(table.parent_key)))
    return own.join(above, on="key", how="left", maintain_order="left")["person"]


def _refuse_two_persons(star: Star, frames: Mapping[str, pl.DataFrame]) -> None:
    """Refuse rows whose other links lead to another person than the one they hang on."""
    for name, table in star.tables.items():
        own = persons_of_rows(star, frames, name)
        for column, target in list(table.links.items())[1:]:
            keys = frames[target][str(star.tables[target].key)]
            other = pl.DataFrame({"key": keys, "other": persons_of_rows(star, frames, target)})
            linked = frames[name].select(key=pl.col(column))
            found = linked.join(other, on="key", how="left", maintain_order="left")["other"]
            n_differ = int((found.is_not_null() & (found != own)).sum())
            n_lost = int((frames[name][column].is_not_null() & found.is_null()).sum())
            if n_differ or n_lost:
                raise SchemaError(
                    f"'{name}.{column}' leads to another person than the row belongs to in {n_differ:,} rows of "
                    f"{frames[name].height:,}, and to no row of '{target}' in {n_lost:,}. Mend or leave out these rows."
                )


def join_all(
    star: Star, frames: Mapping[str, pl.DataFrame], schema: Schema, only: list[str] | None = None
) -> pl.DataFrame:
    """One table of all (or of a path of tables): the person, all columns but keys, and which rows they are from."""
    names = star.joined_names(frames, schema)
    wanted = set(star.tables) if only is None else set(only)
    joined = _joined(star, frames, star.root, names, wanted)
    return joined.rename({_key_of(star.root): star.person}).drop([_key_of(name) for name in star.tables], strict=False)


def _key_of(name: str) -> str:
    return f"\0key of {name}"


def _joined(
    star: Star, frames: Mapping[str, pl.DataFrame], name: str, names: Mapping[str, Mapping[str, str]], wanted: set[str]
) -> pl.DataFrame:
    """A table with all that hangs on it beside it."""
    table = star.tables[name]
    own = frames[name].with_row_index(ROW + name).select(
        ROW + name,
        *([pl.col(table.key).alias(_key_of(name))] if table.key is not None else []),
        *([pl.col(table.parent_key).alias("\0parent")] if table.parent_key is not None else []),
        *(pl.col(column).alias(joined) for column, joined in names[name].items()),
    )  # fmt: skip
    below = [_numbered(_joined(star, frames, child, names, wanted)) for child in star.children(name) if child in wanted]
    if not below:
        return own
    lengths = pl.concat([child.group_by("\0parent").agg(n=pl.len()) for child in below]).group_by("\0parent").max()
    own = own.join(lengths, left_on=_key_of(name), right_on="\0parent", how="left", maintain_order="left")
    own = own.with_columns(pl.col("n").fill_null(1)).with_columns(at=pl.int_ranges(pl.col("n"))).explode("at").drop("n")
    for child in below:
        counts = child.group_by("\0parent").agg(n=pl.len())
        own = own.join(counts, left_on=_key_of(name), right_on="\0parent", how="left", maintain_order="left")
        own = own.with_columns((pl.col("at") % pl.col("n").cast(pl.Int64)).alias("\0at")).drop("n")
        own = own.join(child, left_on=[_key_of(name), "\0at"], right_on=["\0parent", "\0at"], how="left",
                       maintain_order="left").drop("\0at")  # fmt: skip
    return own.drop("at")


def _numbered(child: pl.DataFrame) -> pl.DataFrame:
    """The rows of a table, numbered under the row that they hang on."""
    return child.with_columns((pl.int_range(pl.len()).over("\0parent")).alias("\0at"))
