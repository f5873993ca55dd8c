"""Protecting a table against somebody who knows rules: mine them, bind models to them, and hold them to the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from shoal.attacking.mining.knowledge import Knowledge, knowledge_rules
from shoal.attacking.mining.rules import Rule, Rules, persons_satisfying
from shoal.errors import ParameterError, SchemaError
from shoal.models.contract import Model
from shoal.models.counts import BACKGROUND
from shoal.table.adversary import BY_RULES, LIKELY, NEVER
from shoal.table.schema import Schema
from shoal.table.table import Table


def against_adversary(
    table: Table, models: Sequence[Model], knowledge: Knowledge | None = None, *, is_linked: bool
) -> tuple[Table, tuple[Model, ...]]:
    """The table against an adversary, and the models bound to what the adversary knows.

    Where no model reckons with an adversary nothing changes. Where models bring no rules, these are mined from the
    table.

    Parameters
    ----------
    knowledge
        How to mine, what to strike out and what is known besides, for models that bring no rules.
    is_linked
        Whether a release will show which values of different attributes belong to one person.

    Raises
    ------
    ParameterError
        Models reckon with different rules; or persons have values that the rules exclude.
    """
    if not any(model.needs & BACKGROUND for model in models):
        return table, tuple(models)
    kept = {BY_RULES, *(f"{kind}{other}" for kind in (NEVER, LIKELY) for other in table.sensitive)}
    taken = [name for name in table.sensitive if name in kept]
    if taken:
        raise SchemaError(
            f"What persons cannot have is kept in columns of which one is called '{taken[0]}': give your sensitive "
            "attribute of that name another one."
        )
    rules = rules_known(models)
    if rules is None:
        rules = knowledge_rules(table, knowledge=_mining(models, knowledge))
    elif knowledge is not None and knowledge.facts:
        raise ParameterError("Facts are stated beside rules that a model brings. Put them together.")
    table = table.against(rules, is_linked=is_linked)
    _refuse_contradictions(table, rules)
    return table, bound_to(models, rules)


def bound_to(models: Sequence[Model], rules: Rules | None) -> tuple[Model, ...]:
    """The models, those that reckon with an adversary bound to rules, unless they bring some."""
    if rules is None:
        return tuple(models)
    return tuple(
        model.knowing(rules) if model.needs & BACKGROUND and model.rules is None else model for model in models
    )


def rules_known(models: Sequence[Model]) -> Rules | None:
    """The rules that models reckon with, or None where they bring none; an adversary knows all or nothing of them."""
    asked = [model for model in models if model.needs & BACKGROUND]
    brought = [model.rules for model in asked if model.rules is not None]
    if any(rules != brought[0] for rules in brought) or (brought and len(brought) < len(asked)):
        raise ParameterError(
            f"{len(asked)} models reckon with different rules, but there is one adversary, who knows all of them. "
            "Give each model the same rules."
        )
    return brought[0] if brought else None


def items_of_nobody(rules: Rules, frame: pl.DataFrame, schema: Schema) -> int:
    """How many items of mined rules nobody in a table satisfies.

    Rules that were mined from a table are about somebody in it, so that in a release of that table there are none: it
    shows that quasi-identifiers were masked, or that the hierarchy whose nodes the rules name is absent.
    """
    items = {item: rule.never for rule in rules for item in rule.when if rule.source == "mined"}
    values = {name: frame.select(name).unique() for name in {item.column for item in items} if name in frame.columns}
    return sum(
        item.column not in values or not persons_satisfying(Rule((item,), never), values[item.column], schema).any()
        for item, never in items.items()
    )


def _mining(models: Sequence[Model], knowledge: Knowledge | None) -> Knowledge:
    """How rules are mined: as the models say, and else as is said of the adversary."""
    knowledge = Knowledge() if knowledge is None else knowledge
    asked = [model.knowledge for model in models if model.needs & BACKGROUND]
    for name in ("min_expectation", "max_len", "chances"):
        said = {own[name] for own in asked if name in own}
        if len(said) > 1:
            raise ParameterError(f"{len(asked)} models have rules mined with a different {name}. Give all the same.")
        if said:
            knowledge = replace(knowledge, **{name: said.pop()})
    return knowledge


def _refuse_contradictions(table: Table, rules: Rules) -> None:
    """Refuse rules that the data break: an adversary who believes them is wrong, and nobody is safer for it."""
    assert table.adversary is not None
    for name, (type_of_person, weight) in table.adversary.types_of_person.items():
        start, value, _ = table.values_of_persons(table.sensitive[name])
        person = np.repeat(np.arange(table.n_persons), np.diff(start))
        against = np.unique(person[weight[type_of_person[person], value] == 0])
        if len(against):
            raise ParameterError(
                f"{len(against):,} of {table.n_persons:,} persons have a value of '{name}' that one of the "
                f"{len(rules.about(name)):,} rules about it excludes for them. Rules must hold in the table: mine them "
                "from it, or mend what is stated."
            )
