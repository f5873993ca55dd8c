"""How well a release keeps association rules: whoever is so often has that value (Li and Li, 2008, section VI-C)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from shoal.attacking.mining.nodes import texts_of_values
from shoal.attacking.mining.rules import Item
from shoal.errors import SchemaError, did_you_mean
from shoal.measuring.conjunctions import Counts, Mining
from shoal.measuring.memberships import NodeColumn, node_columns
from shoal.measuring.shown import Released, view_of
from shoal.table.columns import CategoryColumn
from shoal.table.table import Table


@dataclass(frozen=True)
class Association:
    """That records which satisfy every item of `when` often have the value `then`."""

    when: tuple[Item, ...]
    then: Item
    support: float
    """The share of all records that satisfy both."""
    confidence: float
    """The share of those that satisfy `when`."""
    conviction: float
    """How much more often `when` would go without `then` if the two were independent; infinite without exceptions."""


@dataclass(frozen=True, kw_only=True)
class AssociationError:
    """What becomes of the association rules of a table in a release; None where it has no rules.

    Attributes
    ----------
    confidence
        The mean of |confidence in the release - confidence in the table| / confidence in the table, over the rules of
        the table. Where the release shows nobody who satisfies a rule, it counts as wholly wrong: 1.
    false_positives
        Rules that the release shows and the table does not have, for each rule of the table.
    false_negatives
        Rules of the table that the release does not show, for each rule of the table.
    n_rules, n_shown
        How many rules the table has, and how many the release shows.
    n_unanswered
        Rules of the table that the release shows nobody for.
    """

    confidence: float | None
    false_positives: float | None
    false_negatives: float | None
    n_rules: int
    n_shown: int
    n_unanswered: int


def association_rules(table: Table, column: str | None = None, mining: Mining | None = None) -> tuple[Association, ...]:
    """The association rules of a table, those of the highest conviction first.

    Parameters
    ----------
    column
        The sensitive attribute that rules are about; None for all.

    Notes
    -----
    Records count, not persons. A rule takes one node of each of at most `max_len` quasi-identifiers: a value, a node of
    the hierarchy below its root, an interval of numbers. It is listed beside more general ones that hold too.
    """
    mining = mining or Mining()
    columns = _nodes_of(table, mining)
    counts = {name: Counts.of_table(table, name, columns, mining) for name in _sensitive(table, column)}
    return _listed(table, columns, counts, mining)


def released_rules(
    release: Released, column: str | None = None, mining: Mining | None = None
) -> tuple[Association, ...]:
    """The association rules that a release shows: by the records that are to be expected, as for COUNT queries."""
    mining = mining or Mining()
    table, view = release.table, view_of(release)
    columns = _nodes_of(table, mining)
    counts = {name: Counts.of_view(table, view, name, columns, mining) for name in _sensitive(table, column)}
    return _listed(table, columns, counts, mining)


def association_error_of(
    release: Released, column: str | None = None, mining: Mining | None = None
) -> AssociationError:
    """What becomes of the association rules of a table in a release of it.

    Parameters
    ----------
    column
        The sensitive attribute that rules are about; None for all, whose rules are then taken together.

    Notes
    -----
    A record of a release belongs to a node as far as what it shows does, attributes being independent inside a place;
    where sensitive values are published apart, each of a group's records has each of its values by the share. Persons
    who were left out of the release are not in the rules of the table either. Cost: about (hierarchy levels x
    quasi-identifiers)^max_len passes over the different records, less what min_support prunes.
    """
    mining = mining or Mining()
    table, view = release.table, view_of(release)
    columns = _nodes_of(table, mining)
    relative: list[float] = []
    n_rules, n_shown, n_both, n_unanswered = 0, 0, 0, 0
    for name in _sensitive(table, column):
        original = Counts.of_table(table, name, columns, mining)
        rules = original.rules(mining)
        shown = Counts.of_view(table, view, name, columns, mining, wanted={when for when, _ in rules})
        found = shown.rules(mining)
        n_rules, n_shown, n_both = n_rules + len(rules), n_shown + len(found), n_both + len(rules & found)
        for when, value in rules:
            before, after = original.confidence(when, value), shown.confidence(when, value)
            n_unanswered += after is None
            relative.append(1.0 if after is None else abs(after - before) / before)  # type: ignore[operator]
    return AssociationError(
        confidence=float(np.mean(relative)) if relative else None,
        false_positives=(n_shown - n_both) / n_rules if n_rules else None,
        false_negatives=(n_rules - n_both) / n_rules if n_rules else None,
        n_rules=n_rules,
        n_shown=n_shown,
        n_unanswered=n_unanswered,
    )


def refuse_no_rules(table: Table) -> None:
    """Refuse a table without sensitive attributes, which rules would be about."""
    if not table.sensitive:
        raise SchemaError("Association rules need a sensitive attribute, but the schema names none.")


def _nodes_of(table: Table, mining: Mining) -> list[NodeColumn]:
    return node_columns(table, margin=mining.margin or {}, least_records=mining.min_support * table.n_records)


def _sensitive(table: Table, column: str | None) -> tuple[str, ...]:
    refuse_no_rules(table)
    if column is not None and column not in table.sensitive:
        raise SchemaError(
            f"Association rules are about sensitive attributes, and '{column}' is none."
            f"{did_you_mean(column, table.sensitive)}"
        )
    return tuple(table.sensitive) if column is None else (column,)


def _listed(
    table: Table, columns: list[NodeColumn], counts: Mapping[str, Counts], mining: Mining
) -> tuple[Association, ...]:
    found = []
    for name, counted in counts.items():
        texts = _texts_of(table.sensitive[name])
        for when, value in counted.rules(mining):
            items = tuple(Item(columns[column].column.name, columns[column].tree.labels[node]) for column, node in when)
            support, confidence = counted.support(when, value), counted.confidence(when, value)
            assert confidence is not None
            then = Item(name, texts[value])
            found.append(Association(items, then, support, confidence, counted.conviction(when, value)))
    return tuple(sorted(found, key=lambda rule: (-rule.conviction, -rule.support, rule.when, rule.then)))


def _texts_of(sensitive: CategoryColumn) -> list[str]:
    values = sensitive.categories
    return texts_of_values(values.extend_constant(None, 1) if sensitive.has_missing else values)
