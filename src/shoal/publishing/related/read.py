"""Related tables from their files: read as any other, mended table by table, and joined to be looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import PolicyError, SchemaError, did_you_mean
from shoal.policy import Policy
from shoal.policy.mend import MendChoices
from shoal.publishing.related.star import ROW, Star, StarTable, check_tables, join_all
from shoal.reading import Reading
from shoal.reading.mend import columns_of, mend
from shoal.reading.read import read_each
from shoal.table.schema import Schema


def star_of(policy: Policy) -> Star:
    """How the tables of a policy hang together."""
    return Star({name: StarTable(key=table.key, links=table.links) for name, table in policy.tables.items()})


def read_tables(policy: Policy, folder: Path) -> dict[str, Reading]:
    """The tables that a policy names, as they stand in their files.

    Raises
    ------
    PolicyError
        The policy says how files become one table, which related tables do not.
    """
    asked = {"rename": any(policy.source.rename), "join": policy.source.join is not None}
    unheard = [name for name, is_asked in asked.items() if is_asked]
    if unheard:
        raise PolicyError(
            f"[source] {' and '.join(unheard)}: for files that become one table. Related tables are read as they are; "
            "name their keys and links under [tables]."
        )
    source = policy.source
    readings = read_each(
        [folder / table.file for table in policy.tables.values()], csv=source.csv, labels=source.labels,
        sheet=source.sheet, dropped=policy.columns.dropped,
    )  # fmt: skip
    return dict(zip(policy.tables, readings, strict=True))


# Mending


def mended_tables(
    frames: Mapping[str, pl.DataFrame], choices: MendChoices
) -> tuple[dict[str, pl.DataFrame], tuple[dict[str, Any], ...]]:
    """Each table mended by the steps that name its columns (`column`, or `table.column`), and what was changed."""
    if not choices:
        return dict(frames), ()
    known = [*choices.age, *(each for name, frame in frames.items() for column in frame.columns
                             for each in (column, f"{name}.{column}"))]  # fmt: skip
    absent = sorted(columns_of(choices) - set(known))
    if absent:
        raise SchemaError(f"[mend] names '{absent[0]}', which no table has.{did_you_mean(absent[0], known)}")
    made, told = {}, []
    for name, frame in frames.items():
        mended = mend(frame, _of_table(choices, name, frame.columns))
        made[name] = mended.frame
        told += [change.to_dict() for change in mended.changes]
    return made, tuple(told)


def _of_table(choices: MendChoices, name: str, columns: list[str]) -> MendChoices:
    """The steps that are about columns of one table."""
    ages = {new: each for new, each in choices.age.items() if _own(each.born, name) in columns}
    here = {*columns, *ages}
    own: dict[str, Any] = {}
    for step, each in choices.model_dump(exclude_defaults=True).items():
        if step == "age":
            own[step] = {new: {**each[new], "born": _own(given.born, name)} for new, given in ages.items()}
        elif step == "trim":
            own[step] = [_own(column, name) for column in each if _own(column, name) in here]
        elif step == "filter":
            own[step] = [{**entry, "column": _own(entry["column"], name)} for entry in each
                         if _own(entry["column"], name) in here]  # fmt: skip
        else:
            own[step] = {_own(column, name): value for column, value in each.items() if _own(column, name) in here}
    return MendChoices.model_validate(own)


def _own(column: str, table: str) -> str:
    return column.removeprefix(f"{table}.")


# One table to look at


def joined_to_look_at(
    star: Star, frames: Mapping[str, pl.DataFrame], *, spelling: str = "plain"
) -> tuple[pl.DataFrame, dict[str, str], list[str]]:
    """All tables as one, the table of each of its columns, and what was left out.

    A name that several tables have is written `table.column`.
    """
    names = Counter(
        column for name, table in star.tables.items() for column in frames[name].columns
        if column not in table.key_columns
    )  # fmt: skip
    twice = [f"{name}.{column}" for name, table in star.tables.items() for column in frames[name].columns
             if column not in table.key_columns and (names[column] > 1 or column == star.person)]  # fmt: skip
    one = next(iter(names), None)
    if one is None:
        raise SchemaError("The tables have keys and links only, so there is nothing to publish.")
    quasi = f"{star.root}.{one}" if names[one] > 1 else one
    schema = Schema(
        person=star.person, quasi=[quasi], dropped=[name for name in twice if name != quasi],
        spelling={star.person: spelling},
    )  # fmt: skip
    checked, notes = check_tables(star, frames, schema)
    joined = join_all(star, checked, schema)
    table_of = {called: name for name, own in star.joined_names(checked, schema).items() for called in own.values()}
    return joined.drop([name for name in joined.columns if name.startswith(ROW)]), table_of, notes
