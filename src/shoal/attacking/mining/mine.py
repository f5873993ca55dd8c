"""Mining negative rules: what quasi-identifiers exclude, as an adversary could find it out too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from shoal.attacking.mining.expectation import as_min_expectation, expectation, refuse_low_confidence
from shoal.attacking.mining.people import People, Targets, people_of, targets_of
from shoal.attacking.mining.rules import Rule, Rules
from shoal.attacking.mining.search import Excluded, most_general
from shoal.attacking.mining.trees import checked_margin
from shoal.errors import ParameterError, SchemaError
from shoal.table.schema import Schema
from shoal.table.table import Table

CONJUNCTIONS = ("product", "minimum")
DEFAULT_MIN_EXPECTATION = 0.9
DEFAULT_MAX_LEN = 1


def mine_rules(
    frame: Any,
    schema: Schema | None = None,
    *,
    min_expectation: float | Fraction = DEFAULT_MIN_EXPECTATION,
    max_len: int = DEFAULT_MAX_LEN,
    columns: Sequence[str] | None = None,
    margin: Mapping[str, float] | None = None,
    conjunction: str = "product",
    min_confidence: float = 1,
) -> Rules:
    """The negative rules that a table shows: "whoever satisfies X never has Y", only the most general ones.

    Parameters
    ----------
    frame, schema
        The table (pandas, polars or pyarrow, or a Table, which brings its schema), and the roles of its columns.
    min_expectation
        How probable it must be that chance alone would have broken the rule: 1 - (1 - P(Y))^C, where C persons satisfy
        X and the share P(Y) of all persons has Y.
    max_len
        How many quasi-identifiers X may combine.
    columns
        The sensitive attributes that rules are about; all by default.
    margin
        For quasi-identifiers of numbers, how far around a node a number still belongs to it in part, in the units of
        the column; such persons count in part, and whoever belongs to X in part and has Y breaks the rule.
    conjunction
        How far a person belongs to several nodes at once: the "product" of the degrees, or the "minimum".
    min_confidence
        1: a rule has no exceptions. Anything else is refused.

    Returns
    -------
    Rules
        By sensitive attribute and value, the best supported first.

    Raises
    ------
    ParameterError
        A parameter is out of range.
    SchemaError
        The schema does not fit, or a hierarchy misses values or runs in a circle.

    Notes
    -----
    Persons count, not records: a person satisfies an item, or has a value, where any of their records does. X takes
    one node of each quasi-identifier's hierarchy; the root means that the quasi-identifier is absent. A rule is left
    out where one with a higher node, or without an item, holds too; this leaves unchanged what is excluded for each
    person. Li and Li (2008), section IV, with counts in place of shares.

    Examples
    --------
    >>> import polars as pl
    >>> patients = pl.DataFrame({"sex": ["m"] * 6 + ["f"] * 3, "cancer": ["lung"] * 6 + ["ovary", "ovary", "lung"]})
    >>> for rule in mine_rules(patients, Schema(quasi=["sex"], sensitive=["cancer"]), min_expectation=0.75):
    ...     print(rule.when, rule.never, rule.support)
    (Item(column='sex', node='m'),) Item(column='cancer', node='ovary') 6
    """
    refuse_low_confidence(min_confidence)
    least = as_min_expectation(min_expectation)
    if isinstance(max_len, bool) or not isinstance(max_len, int) or max_len < 1:
        raise ParameterError(f"max_len must be a whole number of at least 1, got {max_len!r}.")
    if conjunction not in CONJUNCTIONS:
        raise ParameterError(f"conjunction must be one of {', '.join(CONJUNCTIONS)}, got {conjunction!r}.")
    table = table_of(frame, schema)
    targets = targets_of(table, columns, least)
    if not targets.n_values:
        return Rules()
    people = people_of(table, targets, checked_margin(margin))
    found = most_general(people, targets, max_len=max_len, use_minimum=conjunction == "minimum")
    return Rules(tuple(_rules(people, targets, found)))


mine = mine_rules


def table_of(frame: Any, schema: Schema | None) -> Table:
    """A table as it is, or a frame read by its schema."""
    if isinstance(frame, Table):
        return frame
    if not isinstance(schema, Schema):
        raise SchemaError(f"A shoal.Schema is expected, got {type(schema).__name__}.")
    return Table.from_frame(frame, schema)


def _rules(people: People, targets: Targets, found: Iterable[Excluded]) -> Iterator[Rule]:
    """Rules in the order of their values, the best supported first."""

    def place(excluded: Excluded) -> tuple[Any, ...]:
        nodes, value, persons, _ = excluded
        return value, -persons, len(nodes), nodes

    for nodes, value, persons, support in sorted(found, key=place):
        chance = expectation(targets.n_persons, int(targets.persons[value]), support)
        yield Rule(tuple(people.items[node] for node in nodes), targets.items[value], persons, chance, "mined")
