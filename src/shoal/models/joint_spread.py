"""Joint spread: after some values are excluded, those of every attribute are still well spread among who is left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from typing import ClassVar

import numpy as np

from shoal.errors import ParameterError
from shoal.models.contract import Model, as_number, attributes_together
from shoal.models.counts import GroupCounts
from shoal.models.entropy import at_least, effective_number, times_log2
from shoal.models.exact import (
    BoolArray,
    FloatArray,
    IntArray,
    Threshold,
    as_choice,
    as_count,
    as_fraction,
)
from shoal.models.joint import JointCounts
from shoal.parts import option

KINDS = ("entropy", "recursive")
WORK_LIMIT = 2_000_000
"""Members times sets of values that are looked at in one group; beyond that a bound decides."""


@dataclass(frozen=True, kw_only=True)
class JointSpread(Model):
    """Whichever few values are excluded, the values of each attribute stay well spread among the persons left.

    The joint form of entropy and recursive l-diversity, which Gal, Chen and Gangopadhyay (2008) leave for later: an
    adversary excludes up to `excluded` values of any sensitive attributes, and with a value everybody who has it.

    Parameters
    ----------
    l
        How well: a number of at least 1, whole for the kind "recursive".
    kind
        "entropy": the effective number of values, 2^H, of every attribute is at least l. "recursive": with counts
        r1 >= r2 >= ... >= rm of every attribute, r1 < c (rl + ... + rm).
    c
        The factor of the kind "recursive", above 0; the other kind has none.
    excluded
        How many values, of any attributes, an adversary may exclude; 0 asks it of each attribute as it is.

    Notes
    -----
    A value counts once for each person who has it. Groups in which all sets of excluded values can be looked at are
    decided exactly; larger ones by a bound that is proved: excluding takes away no more persons than the commonest
    values together have, and of all ways to take away so many counts, taking them from the rarest values spreads the
    rest least. A yes is always proved; a large group may be called not spread though it is. Monotone as a definition:
    who is left of two merged groups is who is left of either, and both kinds of l-diversity are monotone.

    Examples
    --------
    >>> JointSpread(l=2, kind="entropy", excluded=1).asked
    2.0
    """

    l: Threshold = field(  # noqa: E741 - the papers' name
        metadata=option("joint spread: values stay L-diverse whichever few are excluded.", metavar="L")
    )
    kind: str = field(default="entropy", metadata=option("entropy (default) or recursive.", metavar="KIND"))
    c: Threshold | None = field(default=None, metadata=option("The factor of the kind recursive.", metavar="C"))
    excluded: int = field(
        default=1, metadata=option("How many values, of any attributes, may be excluded.", metavar="N")
    )
    name: ClassVar[str] = "joint-spread"
    needs: ClassVar[frozenset[str]] = frozenset({"joint_values"})
    monotone: ClassVar[bool] = True
    higher_is_safer: ClassVar[bool] = True
    is_diversity: ClassVar[bool] = True

    def __post_init__(self) -> None:
        as_choice(self.kind, name="kind of joint spread", choices=KINDS)
        l = as_count(self.l, name="l") if self.kind == "recursive" else as_fraction(self.l, name="l")  # noqa: E741
        if l < 1:
            raise ParameterError(f"l must be at least 1, got {float(l):g}.")
        object.__setattr__(self, "l", l)
        object.__setattr__(self, "excluded", as_count(self.excluded, name="excluded", at_least=0))
        if (self.c is None) == (self.kind == "recursive"):
            raise ParameterError("c belongs to kind='recursive', which asks for it: r1 < c (rl + ... + rm).")
        if self.c is not None:
            object.__setattr__(self, "c", as_fraction(self.c, name="c"))
            if as_fraction(self.c, name="c") <= 0:
                raise ParameterError("c must be above 0. A usual choice is c=3.")

    def sentence(self) -> str:
        """What it promises, in plain words."""
        who = f"Whichever {self.excluded} values somebody excludes" if self.excluded else "In every group"
        if self.kind == "entropy":
            return f"{who}, guessing a sensitive value is as hard as among {as_number(self.l)} equally common ones"
        return f"{who}, the commonest sensitive value stays below {as_number(self.c)} times the rare ones"

    def holds(self, groups: GroupCounts) -> BoolArray:
        """Whether each group is proved to stay spread."""
        return at_least(self.reached(groups), float(self.l)) if len(groups) else np.zeros(0, dtype=np.bool_)

    def reached(self, groups: GroupCounts) -> FloatArray:
        """The largest l that each group is proved to keep, exact where all sets can be looked at; 0 for nobody."""
        joint = attributes_together(self, groups)
        start = joint.start_of_group
        return np.array(
            [self._reached_by(_members(joint, int(start[g]), int(start[g + 1])), joint) for g in range(len(groups))]
        )

    def _reached_by(self, has: BoolArray, joint: JointCounts) -> float:
        """For one group, by who has which of the values."""
        if not has.size or not has.any():
            return 0.0
        there = np.flatnonzero(has.any(axis=0))
        has, attribute = has[:, there], joint.attribute_of_item[there]
        n_sets = sum(comb(len(there), n) for n in range(min(self.excluded, len(there)) + 1))
        if n_sets * len(has) > WORK_LIMIT:
            return self._bound(has, attribute)
        return min(self._spread(has[~_anyone(has, chosen)], attribute) for chosen in _sets(len(there), self.excluded))

    def _spread(self, has: BoolArray, attribute: IntArray) -> float:
        """The l of the least spread attribute among those who are left."""
        if not len(has):
            return 0.0
        counts = has.sum(axis=0)
        return min(self._l_of(counts[attribute == one], 0) for one in np.unique(attribute))

    def _bound(self, has: BoolArray, attribute: IntArray) -> float:
        """An l that is kept whichever values are excluded, from counts alone."""
        counts = has.sum(axis=0)
        removed = int(np.sort(counts)[::-1][: self.excluded].sum())
        lowest = np.inf
        for one in np.unique(attribute):
            of_one = attribute == one
            most_own = int(has[:, of_one].sum(axis=1).max())
            lowest = min(lowest, self._l_of(counts[of_one], removed * most_own))
        return float(lowest)

    def _l_of(self, counts: IntArray, removed: int) -> float:
        """The l that counts keep when any `removed` of them are taken away."""
        descending = np.sort(counts[counts > 0])[::-1].astype(np.int64)
        total = int(descending.sum()) - removed
        if total <= 0:
            return 0.0
        if self.kind == "entropy":
            before = np.concatenate(([0], np.cumsum(descending)[:-1]))
            left = np.clip(total - before, 0, descending)
            left = left[left > 0]
            return float(effective_number(left.sum(), times_log2(left).sum(), np.asarray(len(left))))
        tails = total - np.concatenate(([0], np.cumsum(descending)[:-1]))
        c = as_fraction(self.c, name="c")  # type: ignore[arg-type]
        return float(sum(int(descending[0]) * c.denominator < c.numerator * int(tail) for tail in tails))


def _members(joint: JointCounts, start: int, end: int) -> BoolArray:
    """Who of a group has which item."""
    who = joint.who[start:end].astype(np.int64)
    first, n_own = joint.item_start[who], joint.item_start[who + 1] - joint.item_start[who]
    has = np.zeros((len(who), len(joint.attribute_of_item)), dtype=np.bool_)
    member = np.repeat(np.arange(len(who)), n_own)
    place = np.arange(int(n_own.sum())) - np.repeat(np.cumsum(n_own) - n_own, n_own)
    has[member, joint.item[np.repeat(first, n_own) + place]] = True
    return has


def _anyone(has: BoolArray, chosen: tuple[int, ...]) -> BoolArray:
    """Who has any of some values."""
    whoever: BoolArray = np.any(has[:, list(chosen)], axis=1)
    return whoever


def _sets(n_values: int, most: int) -> Iterator[tuple[int, ...]]:
    for size in range(min(most, n_values) + 1):
        yield from combinations(range(n_values), size)
