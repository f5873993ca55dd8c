"""A chain of tables as somebody sees it who has the files. Never optimise this file; never import the package here.

Tables are lists of rows (dicts), persons first, each hanging on the one before: `key` names a row, `parent` the row
that it hangs on. A person is a row of the first table.
"""

from __future__ import annotations

from collections import defaultdict

Row = dict[str, object]
Chain = list[list[Row]]
Records = list[tuple[object, dict[str, object]]]
"""Whose a record is, and what it says."""


def own_rows(chain: Chain, depth: int) -> Records:
    """The rows of one table, each with what the rows above it say."""
    records: Records = [(row["key"], row) for row in chain[0]]
    for level in range(1, depth + 1):
        above = {said["key"]: (person, said) for person, said in records}
        records = [
            (above[row["parent"]][0], {**above[row["parent"]][1], **row})
            for row in chain[level]
            if row["parent"] in above
        ]
    return records


def joined(chain: Chain, depth: int) -> Records:
    """Persons with what hangs on them down to one table; who has nothing there has one record that says nothing."""
    records = own_rows(chain, 0)
    for level in range(1, depth + 1):
        below = defaultdict(list)
        for row in chain[level]:
            below[row["parent"]].append(row)
        nothing: Row = {"key": None}
        records = [(person, {**said, **row}) for person, said in records for row in below.get(said["key"], [nothing])]
    return records


def labels(chain: Chain, quasi: list[str]) -> dict[object, tuple[object, ...]]:
    """What all tables together show of each person: for each quasi-identifier what their rows say, or None."""
    shown: dict[object, dict[str, object]] = {row["key"]: {} for row in chain[0]}
    for depth in range(len(chain)):
        for person, said in own_rows(chain, depth):
            shown[person].update({name: said[name] for name in quasi if name in said})
    return {person: tuple(said.get(name) for name in quasi) for person, said in shown.items()}


def is_shown_in_one_way(chain: Chain, quasi: list[str]) -> bool:
    """Whether all rows of a person say the same, so that nobody stands in several groups."""
    said_of: dict[tuple[object, str], set[object]] = defaultdict(set)
    for depth in range(len(chain)):
        for person, said in own_rows(chain, depth):
            for name in quasi:
                if name in said:
                    said_of[person, name].add(said[name])
    return all(len(said) == 1 for said in said_of.values())


def groups(records: Records, label_of: dict[object, tuple[object, ...]]) -> list[Records]:
    """The records of persons who are shown alike."""
    alike = defaultdict(list)
    for person, said in records:
        alike[label_of[person]].append((person, said))
    return list(alike.values())


def views(chain: Chain) -> list[tuple[str, Records]]:
    """All that somebody counts: each table by its own rows, and the joined tables, those without records left out."""
    depths = range(len(chain))
    looked_at = [(f"own {depth}", own_rows(chain, depth)) for depth in depths]
    looked_at += [(f"joined {depth}", joined(chain, depth)) for depth in depths]
    return [(name, records) for name, records in looked_at if records]
