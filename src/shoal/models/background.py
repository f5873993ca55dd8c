"""Which values persons may have once an adversary knows some rules, for models that reckon with such knowledge.

Persons who can have the same values are of one *type*. What a person has is their *holding*: one value, or a set of
values where they have several. A release hides who of a group has which of its holdings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.models.exact import BoolArray, FloatArray, IntArray
from shoal.models.joint import join_lists

if TYPE_CHECKING:
    from shoal.kernels.covering import Members as Covered
    from shoal.kernels.reachability import Members
    from shoal.models.counts import GroupCounts

WORK_LIMIT = 4_000_000
"""How much a search for persons with several values may look at, as in joint diversity."""
TOTAL_LIMIT = 200_000_000
"""How much all searches together may look at to show a value above l."""

Lists = tuple[IntArray, IntArray, int]
"""The values of one attribute of each person: starts, values, and how many values there are."""
Types = tuple[NDArray[np.int32], FloatArray]
"""The type of each person, and for each type and value of one attribute how many times as likely as anybody somebody of
the type is to have it; 0 where they cannot."""
By = Literal["matching", "elimination"]


@dataclass(frozen=True, kw_only=True)
class HoldingView:
    """Holdings that are dealt out together: of one attribute, or of all where a release shows them side by side."""

    columns: tuple[str, ...]
    type_of_person: NDArray[np.int32]
    holding_of_person: NDArray[np.int32]
    item_start: IntArray
    """The items of holding h stand at item_start[h]:item_start[h + 1] of `item`; an item is a value of an attribute."""
    item: NDArray[np.int32]
    attribute_of_item: NDArray[np.int32]
    weight: FloatArray
    """For each type and item how likely somebody of the type is to have it, beside others; 0 where they cannot."""

    @cached_property
    def allowed(self) -> BoolArray:
        """For each type and item whether somebody of the type can have it."""
        return self.weight > 0

    def without_chances(self) -> HoldingView:
        """The same with as few types as tell which items persons can have, whatever their chances."""
        allowed, type_of_type = np.unique(self.allowed, axis=0, return_inverse=True)
        types = type_of_type.reshape(-1).astype(np.int32)[self.type_of_person]
        return replace(self, type_of_person=types, weight=allowed.astype(np.float64))

    def in_order(self, order: NDArray[np.uint32]) -> HoldingView:
        """The same persons numbered in another order."""
        return replace(self, type_of_person=self.type_of_person[order], holding_of_person=self.holding_of_person[order])

    def items_of(self, column: str) -> tuple[IntArray, NDArray[np.int32]]:
        """The items of one attribute of each holding: starts and items."""
        if len(self.columns) == 1:
            return self.item_start, self.item
        is_own = self.attribute_of_item[self.item] == self.columns.index(column)
        return np.append(0, np.cumsum(is_own))[self.item_start], self.item[is_own]


@dataclass(frozen=True, kw_only=True)
class Background:
    """What an adversary's rules leave possible for the persons of a table, and what these persons have."""

    views: tuple[HoldingView, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The sensitive attributes."""
        return tuple(column for view in self.views for column in view.columns)

    def in_order(self, order: NDArray[np.uint32]) -> Background:
        """The same persons numbered in another order."""
        return Background(views=tuple(view.in_order(order) for view in self.views))


@dataclass(frozen=True, kw_only=True)
class BackgroundCounts:
    """Groups of persons against whom an adversary has rules."""

    start_of_group: IntArray
    """The members of group g stand at start[g]:start[g + 1] of `who`."""
    who: NDArray[Any]
    background: Background

    @property
    def group_of_member(self) -> IntArray:
        """The group of each member."""
        return np.repeat(np.arange(len(self.start_of_group) - 1), np.diff(self.start_of_group))

    def view_of(self, column: str) -> HoldingView:
        """The view that an attribute is seen in."""
        return next(view for view in self.background.views if column in view.columns)

    def without_rules(self) -> BackgroundCounts:
        """The same groups as they look to somebody who knows no rules."""
        views = tuple(
            replace(view, type_of_person=np.zeros_like(view.type_of_person), weight=np.ones_like(view.weight[:1]))
            for view in self.background.views
        )
        return replace(self, background=Background(views=views))

    def values_left(self, column: str, *, by: By = "matching", at_least: int = 1) -> IntArray:
        """How many values of an attribute each member may have, by what an adversary can find out.

        Parameters
        ----------
        by
            "elimination": the values of the group that the rules leave for the member alone. "matching": those of them
            that leave a way to deal all others out too (Li and Li, 2008, definition 1). None where there is no such
            way at all, because the rules do not fit the group.
        at_least
            Where members have several values, the number of them that must be excluded to exclude all that is
            possible for a member; up to `at_least` it is settled by a longer search, beyond it may be a lower bound.
        """
        from shoal.kernels.covering import largest_proved

        view, members, kept = self._members(column, by)
        left = np.zeros(len(self.who), np.int64)
        counted = _counted(view, members, column, by)
        if counted is None:
            family_of_member, families = self._families(view, members, column, by)
            proved = np.asarray(largest_proved(families, at_least, WORK_LIMIT, TOTAL_LIMIT), np.int64)
            proved[np.diff(families.start_of_group) == 0] = 0
            counted = proved[family_of_member]
        left[kept] = counted
        return left

    def has_left(self, column: str, least: int) -> BoolArray:
        """Whether each member may have at least so many values of an attribute, by matching."""
        from shoal.kernels.covering import prove_groups

        view, members, kept = self._members(column, "matching")
        has_left = np.zeros(len(self.who), np.bool_)
        counted = _counted(view, members, column, "matching")
        if counted is None:
            family_of_member, families = self._families(view, members, column, "matching")
            has_left[kept] = np.asarray(prove_groups(families, least, WORK_LIMIT) > 0)[family_of_member]
        else:
            has_left[kept] = counted >= least
        return has_left

    def highest_posterior(self, column: str) -> FloatArray:
        """For each member how probable the value of an attribute is that they have most probably, or a bound above it.

        By the chances that rules give everybody, over all ways to deal out the holdings of a group. Exact where these
        ways are few, and never too low.
        """
        from shoal.kernels import dealing

        view = self.view_of(column)
        own_start, own = view.items_of(column)
        dealt = dealing.Dealt(
            np.ascontiguousarray(self.start_of_group, dtype=np.int64),
            np.ascontiguousarray(view.type_of_person[self.who]),
            np.ascontiguousarray(view.holding_of_person[self.who]),
            np.ascontiguousarray(view.item_start, dtype=np.int64),
            np.ascontiguousarray(view.item, dtype=np.int32),
            np.ascontiguousarray(view.weight, dtype=np.float64),
            np.ascontiguousarray(own_start, dtype=np.int64),
            np.ascontiguousarray(own, dtype=np.int32),
        )
        return np.asarray(dealing.highest_probabilities(dealt, dealing.MOST_STATES, dealing.MOST_ENTRIES))

    def by_group(self, of_member: IntArray) -> IntArray:
        """The least over the members of each group; 0 for a group without members."""
        start = self.start_of_group
        least = np.zeros(len(start) - 1, np.int64)
        some = np.diff(start) > 0
        if some.any():
            least[some] = np.minimum.reduceat(of_member, start[:-1][some])
        return least

    def _members(self, column: str, by: By) -> tuple[HoldingView, Members, BoolArray]:
        """Members with holdings that they may have, and which members of all they are: those whom the rules fit."""
        from shoal.kernels import reachability

        view = self.view_of(column)
        members = reachability.Members(
            np.ascontiguousarray(self.start_of_group, dtype=np.int64),
            np.ascontiguousarray(view.type_of_person[self.who]),
            np.ascontiguousarray(view.holding_of_person[self.who]),
            view.item_start,
            view.item,
            view.allowed,
        )
        kept = np.ones(len(self.who), np.bool_)
        if by == "elimination":
            return view, members, kept
        assigned = np.asarray(reachability.assign_holdings(members))
        kept = assigned != reachability.NOBODY
        if not kept.all():
            start = np.append(0, np.cumsum(kept))[members.start_of_group]
            members = members._replace(start_of_group=start, type_of_member=members.type_of_member[kept])
        return view, members._replace(holding_of_member=assigned[kept]), kept

    def _families(self, view: HoldingView, members: Members, column: str, by: By) -> tuple[IntArray, Covered]:
        """The sets of values that are possible for each member, as groups of which a hitting set is sought."""
        from shoal.kernels.covering import NO_CAP
        from shoal.kernels.covering import Members as Covered
        from shoal.kernels.reachability import possible_holdings

        family_of_member, start, holding = possible_holdings(members, by == "elimination")
        item_start, item = view.items_of(column)
        families = Covered(
            start_of_group=start,
            who=holding.astype(np.int64),
            item_start=np.ascontiguousarray(item_start, dtype=np.int64),
            item=np.ascontiguousarray(item, dtype=np.int32),
            attribute_of_item=np.zeros(len(view.attribute_of_item), np.int32),
            cap=np.array([NO_CAP], np.int64),
        )
        return family_of_member, families


def known_counts(name: str, groups: GroupCounts) -> BackgroundCounts:
    """What a model of this name reckons with: who is in each group, and what the rules leave them."""
    if groups.background is None:
        raise ParameterError(
            f"{name} was asked of a table whose rules are not known. Mine them with shoal.mine, or protect "
            "the table with shoal.protect, which does it by itself."
        )
    return groups.background


def background_of(lists: Mapping[str, Lists], types: Mapping[str, Types], *, is_linked: bool) -> Background:
    """What rules leave possible for persons who have some values.

    Parameters
    ----------
    lists
        The values of each sensitive attribute of each person.
    types
        For each attribute what the rules leave.
    is_linked
        Whether a release shows which values of different attributes belong to one person. Then an adversary who
        excludes one of them excludes them all, and they are dealt out together.
    """
    if is_linked and len(lists) > 1:
        return Background(views=(_together(lists, types),))
    return Background(views=tuple(_alone(column, lists[column], types[column]) for column in lists))


def _alone(column: str, own: Lists, types: Types) -> HoldingView:
    """The view of one attribute."""
    start, value, n_values = own
    holding_of_person, item_start, item = _holdings(start, value, n_values)
    return HoldingView(
        columns=(column,),
        type_of_person=np.ascontiguousarray(types[0], dtype=np.int32),
        holding_of_person=holding_of_person,
        item_start=item_start,
        item=item,
        attribute_of_item=np.zeros(n_values, np.int32),
        weight=np.ascontiguousarray(types[1], dtype=np.float64),
    )


def _together(lists: Mapping[str, Lists], types: Mapping[str, Types]) -> HoldingView:
    """The view of all attributes side by side."""
    items = join_lists(list(lists.values()))
    type_of_person = np.zeros(len(items.start) - 1, np.int64)
    for column in lists:
        type_of_person = type_of_person * len(types[column][1]) + types[column][0]
        type_of_person = np.unique(type_of_person, return_inverse=True)[1].reshape(-1)
    _, first = np.unique(type_of_person, return_index=True)
    weight = np.concatenate([types[column][1][types[column][0][first]] for column in lists], axis=1)
    holding_of_person, item_start, item = _holdings(items.start, items.item, len(items.attribute_of_item))
    return HoldingView(
        columns=tuple(lists),
        type_of_person=type_of_person.astype(np.int32),
        holding_of_person=holding_of_person,
        item_start=item_start,
        item=item,
        attribute_of_item=items.attribute_of_item,
        weight=np.ascontiguousarray(weight, dtype=np.float64),
    )


def _holdings(
    start: IntArray, value: NDArray[np.int64] | NDArray[np.int32], n_values: int
) -> tuple[NDArray[np.int32], IntArray, NDArray[np.int32]]:
    """Persons with equal lists have one holding: its number for each person, and the starts and values of holdings."""
    length = np.diff(start)
    if (length == 1).all():
        return value.astype(np.int32), np.arange(n_values + 1), np.arange(n_values, dtype=np.int32)
    number = _numbered_lists(start, value, n_values)
    _, first, holding_of_person = np.unique(number, return_index=True, return_inverse=True)
    item_start = np.append(0, np.cumsum(length[first]))
    at = np.repeat(start[:-1][first] - item_start[:-1], length[first]) + np.arange(item_start[-1])
    return holding_of_person.reshape(-1).astype(np.int32), item_start, value[at].astype(np.int32)


def _numbered_lists(start: IntArray, value: NDArray[np.int64] | NDArray[np.int32], n_values: int) -> IntArray:
    """A number for each list, equal where lists are: value by value, what was equal so far stays so or parts."""
    number = np.zeros(len(start) - 1, np.int64)
    length = np.diff(start)
    n_numbers = 1
    for place in range(int(length.max(initial=0))):
        longer = np.flatnonzero(length > place)
        key = number[longer] * n_values + value[start[:-1][longer] + place]
        distinct, numbered = np.unique(key, return_inverse=True)
        number[longer] = n_numbers + numbered.reshape(-1)
        n_numbers += len(distinct)
    return number


def _counted(view: HoldingView, members: Members, column: str, by: By) -> IntArray | None:
    """How many values of an attribute each member may have; None where somebody has several of it."""
    from shoal.kernels import reachability

    item_start, value_of_holding = view.items_of(column)
    if not (np.diff(item_start) == 1).all():
        return None
    count = reachability.count_possible if by == "matching" else reachability.count_allowed
    return np.asarray(count(members, value_of_holding, len(view.attribute_of_item)))
