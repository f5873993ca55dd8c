"""Which values a person may have, once some are known to be impossible. Arrays in, arrays out; no tables, no checks.

The members of a group have *holdings*: one value each, or several. Who has which is hidden, but a member of a type
cannot have every holding. An *assignment* deals the holdings of a group out again, one to each member, such that
everybody may have theirs. A holding is possible for a member if some assignment deals it to them.

One assignment tells all the others: from it members can pass holdings on in a circle. Let a type point to the holdings
that it may have, and a holding to the types of the members who have it. A type may end up with a holding exactly if the
two point to each other by some way round, which is that they lie in the same strongly connected part.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiling import kernel

NOBODY = -1
"""Stands for the holding of a member of a group that has no assignment."""


class Members(NamedTuple):
    """Groups of members, what they hold, and what a type of member may hold."""

    start_of_group: NDArray[np.int64]
    """The members of group g stand at start[g]:start[g + 1]."""
    type_of_member: NDArray[np.int32]
    holding_of_member: NDArray[np.int32]
    item_start: NDArray[np.int64]
    """The values of holding h stand at item_start[h]:item_start[h + 1] of `item`."""
    item: NDArray[np.int32]
    allowed: NDArray[np.bool_]
    """Whether members of a type may have a value (types, items); a holding is allowed where all its values are."""


class Here(NamedTuple):
    """One group: its types and its holdings numbered from zero, and who has which."""

    types: NDArray[np.int32]
    holdings: NDArray[np.int32]
    type_of_member: NDArray[np.int32]
    holding_of_member: NDArray[np.int32]


# --- one value per person ------------------------------------------------------------------------------------------


def valid_values(
    type_of_person: NDArray[np.int32], value_of_person: NDArray[np.int32], allowed: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """How many values each person of one group may have.

    Parameters
    ----------
    type_of_person, value_of_person
        Codes. Each person must be allowed to have their own value.
    allowed
        Whether persons of a type may have a value (types, values).
    """
    start = np.array([0, len(type_of_person)], dtype=np.int64)
    return valid_values_of_groups(start, type_of_person, value_of_person, allowed)


def valid_values_of_groups(
    start_of_group: NDArray[np.int64],
    type_of_person: NDArray[np.int32],
    value_of_person: NDArray[np.int32],
    allowed: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """How many values each person may have, for many groups: their persons stand at start[g]:start[g + 1].

    Notes
    -----
    O(persons + types x values) for each group, of the types and values that it has.
    """
    members = members_with_values(start_of_group, type_of_person, value_of_person, allowed)
    return count_possible(members, np.arange(allowed.shape[1], dtype=np.int32), allowed.shape[1])


def members_with_values(
    start_of_group: NDArray[np.int64],
    type_of_person: NDArray[np.int32],
    value_of_person: NDArray[np.int32],
    allowed: NDArray[np.bool_],
) -> Members:
    """Members who hold one value each."""
    return Members(
        np.ascontiguousarray(start_of_group, dtype=np.int64),
        np.ascontiguousarray(type_of_person, dtype=np.int32),
        np.ascontiguousarray(value_of_person, dtype=np.int32),
        np.arange(allowed.shape[1] + 1, dtype=np.int64),
        np.arange(allowed.shape[1], dtype=np.int32),
        np.ascontiguousarray(allowed, dtype=np.bool_),
    )


# --- many groups ---------------------------------------------------------------------------------------------------


@kernel
def count_possible(members, value_of_holding, n_values):
    """How many different values the holdings that are possible for each member have.

    Every member must be allowed to have their own holding; `value_of_holding` are codes below `n_values`.
    """
    counts = np.zeros(len(members.type_of_member), np.int64)
    seen_at = np.full(n_values, -1, np.int64)
    number_of_type, number_of_holding = _no_numbers(members)
    stamp = 0
    for group in range(len(members.start_of_group) - 1):
        first = members.start_of_group[group]
        here = _look_at(members, group, number_of_type, number_of_holding)
        part = _parts(members, here)
        count_of_type = np.zeros(len(here.types), np.int64)
        for t in range(len(here.types)):
            for h in range(len(here.holdings)):
                value = value_of_holding[here.holdings[h]]
                if part[len(here.types) + h] != part[t] or seen_at[value] == stamp:
                    continue
                if _may_have(members, here.types[t], here.holdings[h]):
                    seen_at[value] = stamp
                    count_of_type[t] += 1
            stamp += 1
        for i in range(len(here.type_of_member)):
            counts[first + i] = count_of_type[here.type_of_member[i]]
    return counts


@kernel
def count_allowed(members, value_of_holding, n_values):
    """How many different values the holdings of its group that each member may have by itself have.

    Somebody who strikes what a member cannot have, and does not ask what is then left for the others.
    """
    counts = np.zeros(len(members.type_of_member), np.int64)
    seen_at = np.full(n_values, -1, np.int64)
    number_of_type, number_of_holding = _no_numbers(members)
    stamp = 0
    for group in range(len(members.start_of_group) - 1):
        first = members.start_of_group[group]
        here = _look_at(members, group, number_of_type, number_of_holding)
        count_of_type = np.zeros(len(here.types), np.int64)
        for t in range(len(here.types)):
            for h in range(len(here.holdings)):
                value = value_of_holding[here.holdings[h]]
                if seen_at[value] != stamp and _may_have(members, here.types[t], here.holdings[h]):
                    seen_at[value] = stamp
                    count_of_type[t] += 1
            stamp += 1
        for i in range(len(here.type_of_member)):
            counts[first + i] = count_of_type[here.type_of_member[i]]
    return counts


@kernel
def possible_holdings(members, by_itself):
    """The holdings that are possible for each type of each group, as families: family of member, starts, holdings.

    Every member must be allowed to have their own holding. With `by_itself` those that a type may have by itself, as
    `count_allowed` counts them. Members of a group who are of one type share a family.
    """
    n_families, n_listed = 0, 0
    number_of_type, number_of_holding = _no_numbers(members)
    n_groups = len(members.start_of_group) - 1
    for group in range(n_groups):
        here = _look_at(members, group, number_of_type, number_of_holding)
        n_families += len(here.types)
        n_listed += len(here.types) * len(here.holdings)
    family_of_member = np.empty(len(members.type_of_member), np.int64)
    start = np.zeros(n_families + 1, np.int64)
    holding = np.empty(n_listed, np.int32)
    n_families, n_listed = 0, 0
    for group in range(n_groups):
        first = members.start_of_group[group]
        here = _look_at(members, group, number_of_type, number_of_holding)
        for i in range(len(here.type_of_member)):
            family_of_member[first + i] = n_families + here.type_of_member[i]
        part = np.zeros(len(here.types) + len(here.holdings), np.int32) if by_itself else _parts(members, here)
        for t in range(len(here.types)):
            for h in range(len(here.holdings)):
                is_near = part[len(here.types) + h] == part[t]
                if is_near and _may_have(members, here.types[t], here.holdings[h]):
                    holding[n_listed] = here.holdings[h]
                    n_listed += 1
            n_families += 1
            start[n_families] = n_listed
    return family_of_member, start, holding[:n_listed]


@kernel
def assign_holdings(members):
    """An assignment of each group: the holding of each member, NOBODY for all members of a group that has none.

    What members hold already is taken as the holdings that the group has, in any order.

    Notes
    -----
    A flow from types to holdings: those who may have what they hold keep it, the others find a way by members who pass
    theirs on (Ford and Fulkerson, 1956), as many persons at a time as the way has room for.
    """
    assigned = np.empty(len(members.type_of_member), np.int32)
    number_of_type, number_of_holding = _no_numbers(members)
    for group in range(len(members.start_of_group) - 1):
        first, last = members.start_of_group[group], members.start_of_group[group + 1]
        here = _look_at(members, group, number_of_type, number_of_holding)
        n_wrong = 0
        for i in range(last - first):
            t, h = here.types[here.type_of_member[i]], here.holdings[here.holding_of_member[i]]
            n_wrong += not _may_have(members, t, h)
        if n_wrong == 0:
            assigned[first:last] = members.holding_of_member[first:last]
            continue
        flow = _flow(members, here)
        if flow.sum() < last - first:
            assigned[first:last] = NOBODY
            continue
        next_holding = np.zeros(len(here.types), np.int64)
        for i in range(last - first):
            t = here.type_of_member[i]
            while flow[t, next_holding[t]] == 0:
                next_holding[t] += 1
            flow[t, next_holding[t]] -= 1
            assigned[first + i] = here.holdings[next_holding[t]]
    return assigned


# --- one group -----------------------------------------------------------------------------------------------------


@kernel
def _no_numbers(members):
    """Room for numbering the types and the holdings of one group after the other."""
    number_of_type = np.full(members.allowed.shape[0], -1, np.int32)
    return number_of_type, np.full(len(members.item_start) - 1, -1, np.int32)


@kernel
def _look_at(members, group, number_of_type, number_of_holding):
    """A group on its own; the room for numbers is left as it was found."""
    first, last = members.start_of_group[group], members.start_of_group[group + 1]
    types = np.empty(last - first, np.int32)
    holdings = np.empty(last - first, np.int32)
    type_of_member = np.empty(last - first, np.int32)
    holding_of_member = np.empty(last - first, np.int32)
    n_types, n_holdings = 0, 0
    for i in range(last - first):
        t, h = members.type_of_member[first + i], members.holding_of_member[first + i]
        if number_of_type[t] < 0:
            number_of_type[t] = n_types
            types[n_types] = t
            n_types += 1
        if number_of_holding[h] < 0:
            number_of_holding[h] = n_holdings
            holdings[n_holdings] = h
            n_holdings += 1
        type_of_member[i] = number_of_type[t]
        holding_of_member[i] = number_of_holding[h]
    for t in types[:n_types]:
        number_of_type[t] = -1
    for h in holdings[:n_holdings]:
        number_of_holding[h] = -1
    return Here(types[:n_types], holdings[:n_holdings], type_of_member, holding_of_member)


@kernel
def _may_have(members, kind, holding):
    for at in range(members.item_start[holding], members.item_start[holding + 1]):
        if not members.allowed[kind, members.item[at]]:
            return False
    return True


@kernel
def _members_by_holding(here):
    """The types of the members who have each holding: starts and types."""
    start = np.zeros(len(here.holdings) + 1, np.int64)
    for h in here.holding_of_member:
        start[h + 1] += 1
    for h in range(len(here.holdings)):
        start[h + 1] += start[h]
    write = start[:-1].copy()
    types = np.empty(len(here.holding_of_member), np.int32)
    for i in range(len(here.holding_of_member)):
        h = here.holding_of_member[i]
        types[write[h]] = here.type_of_member[i]
        write[h] += 1
    return start, types


@kernel
def _parts(members, here):
    """The strongly connected part of each type and, behind them, of each holding (Tarjan, 1972)."""
    n_types = len(here.types)
    n_nodes = n_types + len(here.holdings)
    owner_start, owner = _members_by_holding(here)
    part = np.full(n_nodes, -1, np.int32)
    reached = np.full(n_nodes, -1, np.int32)
    lowest = np.zeros(n_nodes, np.int32)
    next_arc = np.zeros(n_nodes, np.int64)
    path = np.empty(n_nodes, np.int32)
    waiting = np.empty(n_nodes, np.int32)
    n_reached, n_waiting, n_parts = 0, 0, 0
    for root in range(n_types):
        if reached[root] >= 0:
            continue
        depth = 0
        path[0] = root
        while depth >= 0:
            node = path[depth]
            if reached[node] < 0:
                reached[node] = lowest[node] = n_reached
                n_reached += 1
                waiting[n_waiting] = node
                n_waiting += 1
            own = node - n_types
            n_arcs = n_nodes - n_types if own < 0 else owner_start[own + 1] - owner_start[own]
            is_deeper = False
            while next_arc[node] < n_arcs:
                at = next_arc[node]
                next_arc[node] += 1
                if own < 0:
                    other = n_types + at
                    if part[other] >= 0 or (reached[other] >= 0 and reached[other] >= lowest[node]):
                        continue  # it would change nothing
                    if not _may_have(members, here.types[node], here.holdings[at]):
                        continue
                else:
                    other = owner[owner_start[own] + at]
                if reached[other] < 0:
                    depth += 1
                    path[depth] = other
                    is_deeper = True
                    break
                if part[other] < 0:
                    lowest[node] = min(lowest[node], reached[other])
            if is_deeper:
                continue
            if lowest[node] == reached[node]:
                while part[node] < 0:
                    n_waiting -= 1
                    part[waiting[n_waiting]] = n_parts
                n_parts += 1
            depth -= 1
            if depth >= 0:
                lowest[path[depth]] = min(lowest[path[depth]], lowest[node])
    return part


@kernel
def _flow(members, here):
    """As many members as can be given a holding that they may have: how many of each type have which."""
    n_types, n_holdings = len(here.types), len(here.holdings)
    can = np.empty((n_types, n_holdings), np.bool_)
    for t in range(n_types):
        for h in range(n_holdings):
            can[t, h] = _may_have(members, here.types[t], here.holdings[h])
    flow = np.zeros((n_types, n_holdings), np.int64)
    without = np.zeros(n_types, np.int64)
    left = np.zeros(n_holdings, np.int64)
    for i in range(len(here.type_of_member)):
        t, h = here.type_of_member[i], here.holding_of_member[i]
        if can[t, h]:
            flow[t, h] += 1
        else:
            without[t] += 1
            left[h] += 1
    for t in range(n_types):
        for h in range(n_holdings):
            if can[t, h]:
                dealt = min(without[t], left[h])
                flow[t, h] += dealt
                without[t] -= dealt
                left[h] -= dealt
    for t in range(n_types):
        while without[t] > 0 and _find_way(t, can, flow, without, left):
            pass
    return flow


@kernel
def _find_way(root, can, flow, without, left):
    """Give members of a type holdings that are left, by others who pass theirs on; say whether there was a way."""
    n_types, n_holdings = can.shape
    type_before = np.full(n_holdings, -1, np.int32)
    holding_before = np.full(n_types, -1, np.int32)
    is_reached = np.zeros(n_types, np.bool_)
    queue = np.empty(n_types, np.int32)
    queue[0] = root
    is_reached[root] = True
    done, n_queued = 0, 1
    while done < n_queued:
        t = queue[done]
        done += 1
        for h in range(n_holdings):
            if type_before[h] >= 0 or not can[t, h]:
                continue
            type_before[h] = t
            if left[h] > 0:
                _pass_on(root, h, type_before, holding_before, flow, without, left)
                return True
            for other in range(n_types):
                if flow[other, h] > 0 and not is_reached[other]:
                    is_reached[other] = True
                    holding_before[other] = h
                    queue[n_queued] = other
                    n_queued += 1
    return False


@kernel
def _pass_on(root, last, type_before, holding_before, flow, without, left):
    """Pass holdings on along a way, as many as it has room for."""
    room = min(without[root], left[last])
    t = type_before[last]
    while t != root:
        room = min(room, flow[t, holding_before[t]])
        t = type_before[holding_before[t]]
    without[root] -= room
    left[last] -= room
    h = last
    while True:
        t = type_before[h]
        flow[t, h] += room
        if t == root:
            break
        h = holding_before[t]
        flow[t, h] -= room
