"""The attack with background knowledge: somebody who knows a person's group, and rules such as "no man has this".

By *elimination* the adversary strikes the values of the group that the person cannot have. By *matching* they also ask
whether the other values can then still be dealt out to the others, and strike those that cannot (Li and Li, 2008).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.errors import ParameterError
from shoal.models.background import BackgroundCounts
from shoal.models.counts import GroupCounts
from shoal.models.exact import IntArray


@dataclass(frozen=True, kw_only=True)
class BackgroundResult:
    """For whom too few values of a sensitive attribute are left once rules are known.

    Attributes
    ----------
    column, l
        The attribute, and how many values should be left for everybody.
    persons, groups
        How many there are. Who stands in several groups, as in a table that is not protected, counts in each.
    vulnerable_without_rules
        Persons in groups that have fewer than l values, so that no rule is needed.
    vulnerable_by_elimination, vulnerable_by_matching
        Persons with fewer than l possible values.
    share
        The share of persons who are vulnerable by matching.
    known_by_elimination, known_by_matching
        Those of them for whom one value is left, so that it is known.
    vulnerable_groups
        Groups with a person who is vulnerable by matching.
    fewest
        The fewest values that are possible for somebody, by matching.
    persons_of_values
        How many persons have 1, 2, ... possible values, by matching.
    contradicted_persons, contradicted_groups
        Groups in which no way to deal the values out fits the rules. Their adversary finds that some rule is wrong, and
        learns nothing; they are left out of all numbers above but for `persons` and `groups`.
    blind
        What a guess gets without release: the largest share of persons who have one and the same value.
    """

    column: str
    l: int  # noqa: E741 - the paper's name
    persons: int
    groups: int
    vulnerable_without_rules: int
    vulnerable_by_elimination: int
    vulnerable_by_matching: int
    share: float
    known_by_elimination: int
    known_by_matching: int
    vulnerable_groups: int
    fewest: int
    persons_of_values: dict[int, int]
    contradicted_persons: int
    contradicted_groups: int
    blind: float


def attack_background(counts: GroupCounts, column: str, least: int) -> BackgroundResult:
    """Count the persons who are left with fewer than `least` values of an attribute once rules are known.

    Parameters
    ----------
    counts
        Groups with what rules leave for their persons (`background`).
    column
        A sensitive attribute.

    Notes
    -----
    Exact. Where persons have several values, sets of them are dealt out as they are, and the number of values left is
    that of the values which must be excluded to exclude all sets that are possible for a person.
    """
    if least < 1:
        raise ParameterError(f"l must be at least 1, got {least}.")
    if counts.background is None:
        raise ParameterError("Nothing is known of what rules leave for the persons of these groups.")
    background = counts.background
    by_matching = background.values_left(column, by="matching", at_least=least)
    by_elimination = background.values_left(column, by="elimination", at_least=least)
    fits = by_matching > 0  # the values that people have are among those possible, unless a rule is wrong
    is_vulnerable = fits & (by_matching < least)
    group = background.group_of_member
    n_values = np.bincount(by_matching[fits])
    return BackgroundResult(
        column=column,
        l=least,
        persons=len(by_matching),
        groups=len(counts),
        vulnerable_without_rules=int((fits & (_without_rules(background, column, least) < least)).sum()),
        vulnerable_by_elimination=int((fits & (by_elimination < least)).sum()),
        vulnerable_by_matching=int(is_vulnerable.sum()),
        share=float(is_vulnerable.mean()) if len(is_vulnerable) else 0.0,
        known_by_elimination=int((fits & (by_elimination == 1)).sum()),
        known_by_matching=int((by_matching == 1).sum()),
        vulnerable_groups=len(np.unique(group[is_vulnerable])),
        fewest=int(by_matching[fits].min(initial=np.iinfo(np.int64).max)) if fits.any() else 0,
        persons_of_values={int(number): int(n_values[number]) for number in np.flatnonzero(n_values)},
        contradicted_persons=int((~fits).sum()),
        contradicted_groups=len(np.unique(group[~fits])),
        blind=_blind(background, column),
    )


def _without_rules(background: BackgroundCounts, column: str, least: int) -> IntArray:
    """How many values of an attribute are left for each member where nothing is known."""
    return background.without_rules().values_left(column, by="elimination", at_least=least)


def _blind(background: BackgroundCounts, column: str) -> float:
    """The largest share of members who have one and the same value."""
    view = background.view_of(column)
    item_start, item = view.items_of(column)
    holding = view.holding_of_person[background.who]
    members = np.bincount(holding, minlength=len(item_start) - 1)
    of_item = np.bincount(item, weights=np.repeat(members, np.diff(item_start)))
    return float(of_item.max(initial=0.0) / len(holding)) if len(holding) else 0.0
