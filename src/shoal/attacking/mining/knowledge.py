"""What an adversary is taken to know: rules mined from the table, without those struck out, and stated facts."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from shoal.attacking.mining.chances import mine_chances
from shoal.attacking.mining.expectation import as_min_expectation
from shoal.attacking.mining.mine import CONJUNCTIONS, DEFAULT_MAX_LEN, DEFAULT_MIN_EXPECTATION, mine_rules, table_of
from shoal.attacking.mining.nodes import read_values, texts_of_values
from shoal.attacking.mining.rules import Item, Rule, Rules, persons_satisfying
from shoal.attacking.mining.trees import checked_margin
from shoal.errors import ParameterError, PolicyError, ShoalWarning, did_you_mean
from shoal.table.schema import Nominal, Schema
from shoal.table.spelling import spelled_texts
from shoal.table.table import Table


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """How rules are mined, which of them are struck out, and what is known besides.

    Parameters
    ----------
    min_expectation, max_len, margin, conjunction
        As in `mine_rules`; with a `max_len` of 0 nothing is mined.
    strike
        Mined rules that nobody is taken to know. With a rule goes all that follows from it.
    facts
        Rules that are known whether or not the table shows them. Those that say never must hold in it; those with a
        chance are what an adversary believes. One about the person column is about that person alone.
    chances
        Whether rules with exceptions are mined too, as the model posterior has it.
    """

    min_expectation: Fraction = Fraction(str(DEFAULT_MIN_EXPECTATION))
    max_len: int = DEFAULT_MAX_LEN
    margin: Mapping[str, float] = field(default_factory=dict)
    conjunction: str = "product"
    strike: tuple[Rule, ...] = ()
    facts: tuple[Rule, ...] = ()
    chances: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "min_expectation", as_min_expectation(self.min_expectation))
        if isinstance(self.max_len, bool) or not isinstance(self.max_len, int) or self.max_len < 0:
            raise ParameterError(f"max_len must be a whole number of at least 0, got {self.max_len!r}.")
        if self.conjunction not in CONJUNCTIONS:
            raise ParameterError(f"conjunction must be one of {', '.join(CONJUNCTIONS)}, got {self.conjunction!r}.")
        object.__setattr__(self, "margin", checked_margin(self.margin))
        for name in ("strike", "facts"):
            rules: Any = tuple(getattr(self, name))
            if not all(isinstance(rule, Rule) for rule in rules):
                raise ParameterError(f"'{name}' must be a list of rules.")
            object.__setattr__(self, name, rules)


def knowledge_rules(
    table: Any,
    schema: Schema | None = None,
    knowledge: Knowledge | None = None,
    *,
    columns: Sequence[str] | None = None,
) -> Rules:
    """The rules that an adversary is taken to know of a table: facts first, then mined rules that are not struck out.

    Parameters
    ----------
    table, schema
        A Table, or a frame and the roles of its columns.
    knowledge
        How to mine, what to strike and what to add; the defaults where it is None.
    columns
        The sensitive attributes that rules are mined about; all by default.

    Raises
    ------
    PolicyError
        Facts name what the table does not have, or some persons contradict them; all faults, with counts.

    Warns
    -----
    ShoalWarning
        Rules are struck out that were not mined.
    """
    knowledge = Knowledge() if knowledge is None else knowledge
    table = table_of(table, schema)
    facts = _checked_facts(table, knowledge.facts)
    mined = Rules()
    if knowledge.max_len:
        mined = mine_rules(
            table,
            min_expectation=knowledge.min_expectation,
            max_len=knowledge.max_len,
            columns=columns,
            margin=knowledge.margin,
            conjunction=knowledge.conjunction,
        )
        if knowledge.chances:
            likely = mine_chances(table, min_expectation=knowledge.min_expectation, columns=columns)
            mined = Rules((*mined, *likely))
    struck = {rule.claim for rule in knowledge.strike}
    absent = len(struck - {rule.claim for rule in mined})
    if absent:
        warnings.warn(
            f"{absent:,} of {len(struck):,} rules that are struck out were not mined, so striking them changes "
            "nothing. shoal.mine gives those that were.",
            ShoalWarning,
            stacklevel=2,
        )
    left_out = struck | {rule.claim for rule in facts}
    return Rules((*facts, *(rule for rule in mined if rule.claim not in left_out)))


def _checked_facts(table: Table, facts: Sequence[Rule]) -> tuple[Rule, ...]:
    """Facts with the number of persons they are about; all that does not fit the table in one error."""
    faults: list[str] = []
    checked = []
    for place, fact in enumerate(facts, start=1):
        unfit = [*_unknown_items(table, fact), *_unknown_value(table, fact.never)]
        if not unfit:
            about = persons_satisfying(fact, table.frame, table.schema)
            against = int((about & _having(table, fact.never)).sum())
            if against and fact.is_never:
                unfit = [
                    f"{against:,} of the {int(about.sum()):,} persons that it is about contradict it. Mend the fact, "
                    "or the records."
                ]
            elif fact.chance is not None:
                unfit = _unlike(table, fact, about)
            stated = replace(fact, support=int(about.sum()), expectation=None, source="stated")
            checked += [stated] if fact.chance is None else [] if unfit else _with_chance(table, stated)
        faults += [f"  facts[{place}]: {fault}" for fault in unfit]
    if faults:
        n_faults = "a fault" if len(faults) == 1 else f"{len(faults)} faults"
        raise PolicyError("\n".join([f"What is stated as known has {n_faults}:", *faults]))
    return tuple({fact.claim: fact for fact in checked}.values())


def _unlike(table: Table, fact: Rule, about: Any) -> list[str]:
    """What is wrong with a chance of 0 or 1 where the table says otherwise, or with that of a value everybody has."""
    having = _having(table, fact.never)
    if having.all():
        return [f"everybody has the value that it names of '{fact.never.column}', so that no chance of it is known."]
    against = int((about & (having if fact.chance == 0 else ~having)).sum()) if fact.chance in (0, 1) else 0
    several = fact.chance == 1 and int((about & _having_others(table, fact.never)).sum())
    if against or several:
        return [
            f"{against or several:,} of the {int(about.sum()):,} persons that it is about contradict a chance of "
            f"{fact.chance:g}. Mend the fact, or the records."
        ]
    return []


def _with_chance(table: Table, fact: Rule) -> list[Rule]:
    """Rules for a stated chance: how it moves the odds that anybody has the value. What is sure excludes values."""
    assert fact.chance is not None
    if fact.chance == 0:
        return [replace(fact, chance=None)]
    if fact.chance == 1:
        others = [Item(fact.never.column, text) for text in _texts_of(table, fact.never.column)]
        form = table.sensitive[fact.never.column].spelling
        own = spelled_texts([fact.never.node], form)[0]
        return [
            replace(fact, never=other, chance=None)
            for other, text in zip(others, spelled_texts([item.node for item in others], form), strict=True)
            if text != own
        ]
    share = float(_having(table, fact.never).mean())
    return [replace(fact, lift=fact.chance / (1 - fact.chance) * (1 - share) / share)]


def _unknown_items(table: Table, fact: Rule) -> list[str]:
    columns = {column.name: column for column in table.schema.columns}
    if table.schema.person is not None:
        columns[table.schema.person] = Nominal(table.schema.person)
    faults = []
    for item in fact.when:
        if item.column not in columns:
            faults.append(
                f"'{item.column}' is no quasi-identifier. These are: {', '.join(columns)}."
                f"{did_you_mean(item.column, columns)}".replace("\n", " ")
            )
            continue
        values = read_values(table.frame[item.column], columns[item.column], table.schema.zone)
        covered = values.covered_by(item.node)
        if covered is None:
            faults.append(f"'{item.column}' can have no such value: {values.naming}.")
        elif not covered.any() and values.hierarchy is None and values.kind not in ("number", "date"):
            faults.append(f"no record has the value that it names of '{item.column}'.")
    return faults


def _unknown_value(table: Table, never: Item) -> list[str]:
    if never.column not in table.sensitive:
        named = ", ".join(table.sensitive) or "none"
        hint = did_you_mean(never.column, table.sensitive).replace("\n", " ")
        return [f"'{never.column}' is no sensitive attribute. These are: {named}.{hint}"]
    if not _having(table, never).any():
        return [f"no record has the value that it names of '{never.column}'."]
    return []


def _having(table: Table, never: Item) -> Any:
    """Which persons have a value of a sensitive attribute in any of their records."""
    return _persons_with(table, _is_it(table, never), never.column)


def _having_others(table: Table, never: Item) -> Any:
    """Which persons have another value of it in any of their records."""
    return _persons_with(table, ~_is_it(table, never), never.column)


def _persons_with(table: Table, are_these: Any, column: str) -> Any:
    having = np.zeros(table.n_persons, dtype=np.bool_)
    having[table.person_of_record[are_these[table.sensitive[column].codes]]] = True
    return having


def _is_it(table: Table, never: Item) -> Any:
    """Which codes of a sensitive attribute are a value, by its spelling."""
    named, *shown = spelled_texts([never.node, *_texts_of(table, never.column)], table.sensitive[never.column].spelling)
    return np.array([text == named for text in shown], dtype=np.bool_)


def _texts_of(table: Table, name: str) -> list[str]:
    """The value of each code of a sensitive attribute, as rules name it."""
    column = table.sensitive[name]
    missing = pl.Series([None] * column.has_missing, dtype=column.categories.dtype)
    return list(texts_of_values(pl.concat([column.categories, missing])))
