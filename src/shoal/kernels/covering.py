"""How many values must be deleted to delete a group. Arrays in, arrays out; no tables, no checks, no randomness.

An *item* is one value of one attribute. Deleting it deletes every member of the group who has it. The smallest
number of items that deletes everybody is a minimum hitting set, so the checks go from cheap to dear: members who share
nothing, the figures 6 and 7 of the paper, a deletion set found greedily, weights on members, and a search. A
group is said to need l items only where that is proved.
"""

# l is the paper's name; numba knows no generator expressions
# ruff: noqa: E741, SIM110

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiling import kernel

# What decided: yes by one of the first five, no by the last two
GREEDY, BOUND, WEIGHTS, FREQUENCY, SEARCHED, DELETED, LIMIT = 1, 2, 3, 4, 5, -1, -2

NO_CAP = 2**31 - 1
"""A cap that never binds."""
NO_LIMIT = 2**31 - 1
"""The diversity of a group that no admissible set of items deletes."""

_UNIT = 2**24  # a weight of one, in whole numbers
_ROUNDS = 16  # of raising weights
_LIGHTEST = 1e-30  # so that no weight vanishes
_MOST_WORDS = 2**20  # of bits that a search may hold


class Members(NamedTuple):
    """The groups, as `shoal.models.joint` describes them, and the cap of each attribute."""

    start_of_group: NDArray[np.int64]
    who: NDArray[np.int64]
    item_start: NDArray[np.int64]
    item: NDArray[np.int32]
    attribute_of_item: NDArray[np.int32]
    cap: NDArray[np.int64]


class Group(NamedTuple):
    """One group on its own: items numbered from zero, without those that caps forbid to delete."""

    start: NDArray[np.int64]
    """The items of member m stand at start[m]:start[m + 1] of `item`."""
    item: NDArray[np.int32]
    count: NDArray[np.int64]
    """How many members have each item."""
    attribute: NDArray[np.int32]
    cap: NDArray[np.int64]


class Search(NamedTuple):
    """What a search looks at: members and items that matter, and who has which item as bits."""

    start: NDArray[np.int64]
    item: NDArray[np.int32]
    bits: NDArray[np.uint64]
    attribute: NDArray[np.int32]
    cap: NDArray[np.int64]
    weight: NDArray[np.int64]
    """Of members; no item weighs more than one unit."""


# --- many groups ---------------------------------------------------------------------------------------------------


@kernel
def prove_groups(members, l, work_limit):
    """What decides whether at least l items must be deleted to delete each group: positive for yes, else no.

    Notes
    -----
    A yes is always proved. A no is either proved (DELETED: a set of fewer items deletes everybody) or stands for a
    search that was given up after a work of `work_limit` (LIMIT). Most groups cost one look at some of their members.
    """
    n_groups = len(members.start_of_group) - 1
    proof = np.empty(n_groups, dtype=np.int8)
    seen = np.zeros(len(members.attribute_of_item), dtype=np.int64)
    number = np.empty(len(members.attribute_of_item), dtype=np.int32)
    for group in range(n_groups):
        if _has_disjoint_members(members, group, l, seen, 2 * group + 1):
            proof[group] = GREEDY
        else:
            proof[group] = _prove(_gather(members, group, seen, number, 2 * group + 2), l, work_limit)[0]
    return proof


@kernel
def largest_proved(members, l, work_limit, total_limit):
    """The largest number of items that is proved to be needed for each group; at least l just where l is proved.

    Notes
    -----
    Beyond deciding l, the searches of all groups together may take a work of `total_limit`; groups whose turn comes
    later get what the cheap checks prove.
    """
    n_groups = len(members.start_of_group) - 1
    largest = np.empty(n_groups, dtype=np.int64)
    seen = np.zeros(len(members.attribute_of_item), dtype=np.int64)
    number = np.empty(len(members.attribute_of_item), dtype=np.int32)
    for group in range(n_groups):
        is_plain = _has_disjoint_members(members, group, l, seen, 2 * group + 1)
        own = _gather(members, group, seen, number, 2 * group + 2)
        largest[group], work = _largest(own, l, is_plain, work_limit, total_limit)
        total_limit = max(total_limit - work, 0)
    return largest


@kernel
def _has_disjoint_members(members, group, l, seen, mark):
    """Whether the members, as they come, include l of whom no two share an item that may be deleted."""
    picked = 0
    for place in range(members.start_of_group[group], members.start_of_group[group + 1]):
        who = members.who[place]
        first, last = members.item_start[who], members.item_start[who + 1]
        shares = False
        for at in range(first, last):
            item = members.item[at]
            if seen[item] == mark and members.cap[members.attribute_of_item[item]] > 0:
                shares = True
                break
        if not shares:
            picked += 1
            if picked >= l:
                return True
            for at in range(first, last):
                seen[members.item[at]] = mark
    return False


@kernel
def _gather(members, group, seen, number, mark):
    """One group on its own; the cost is that of its items, however many there are in the table."""
    first, last = members.start_of_group[group], members.start_of_group[group + 1]
    n_entries = 0
    for place in range(first, last):
        n_entries += members.item_start[members.who[place] + 1] - members.item_start[members.who[place]]
    start = np.empty(last - first + 1, dtype=np.int64)
    items = np.empty(n_entries, dtype=np.int32)
    count = np.zeros(n_entries, dtype=np.int64)
    attributes = np.empty(n_entries, dtype=np.int32)
    last_place = np.full(n_entries, -1, dtype=np.int64)  # of a member with the item, so that none counts twice
    n_items = 0
    n_entries = 0
    for place in range(first, last):
        start[place - first] = n_entries
        who = members.who[place]
        for at in range(members.item_start[who], members.item_start[who + 1]):
            item = members.item[at]
            attribute = members.attribute_of_item[item]
            if members.cap[attribute] == 0:
                continue
            if seen[item] != mark:
                seen[item] = mark
                number[item] = n_items
                attributes[n_items] = attribute
                n_items += 1
            own = number[item]
            if last_place[own] != place:
                last_place[own] = place
                items[n_entries] = own
                count[own] += 1
                n_entries += 1
    start[last - first] = n_entries
    return Group(start, items[:n_entries], count[:n_items], attributes[:n_items], members.cap)


# --- one group -----------------------------------------------------------------------------------------------------


@kernel
def _prove(group, l, work_limit):
    """What decides whether the group needs l items; the size of a deletion set if one was found; work of searching."""
    n_members = len(group.start) - 1
    if n_members == 0:
        return LIMIT, NO_LIMIT, 0
    if _has_undeletable(group):
        return BOUND, NO_LIMIT, 0
    order = order_by_frequency(group)
    picked, n_picked = disjoint_members(group, order, l)
    if n_picked >= l:
        return FREQUENCY, NO_LIMIT, 0
    if proved_by_weights(group, np.ones(n_members, dtype=np.int64), l) >= l:
        return BOUND, NO_LIMIT, 0
    if _is_capped(group, l) and grow_with_caps(group, order, picked, n_picked, l)[-1] >= l:
        return BOUND, NO_LIMIT, 0
    size = deletion_set_size(group, l - 1)
    if size < l:
        return DELETED, size, 0
    if not _fits(group, work_limit):
        weight = raised_weights(group.start, group.item, len(group.count))
        return (WEIGHTS if proved_by_weights(group, weight, l) >= l else LIMIT), NO_LIMIT, 0
    reduced = _reduced(group, l - 1)
    if proved_by_weights(reduced, reduced.weight, l) >= l:
        return WEIGHTS, NO_LIMIT, 0
    size, work = _search(reduced, min(l - 1, n_members), work_limit)
    if size < 0:
        return LIMIT, NO_LIMIT, work
    return (DELETED if size < l else SEARCHED), size, work


@kernel
def _largest(group, l, is_plain, work_limit, total_limit):
    """The largest diversity proved, and the work of searching for it beyond deciding l."""
    n_members = len(group.start) - 1
    if n_members == 0:
        return 0, 0
    if _has_undeletable(group):
        return NO_LIMIT, 0
    least, most = l, deletion_set_size(group, NO_LIMIT - 1)
    if not is_plain:
        proof, size, _ = _prove(group, l, work_limit)
        if proof < 0:  # then no more than l - 1 may be said, whatever a longer search would find
            least, most = 1, min(most, size, l - 1)
    least = max(least, min(_cheaply_proved(group, most), most))
    work = 0
    if least < most == NO_LIMIT:  # perhaps no set that caps admit deletes everybody
        size, work = smallest_by_search(group, n_members, min(work_limit, total_limit))
        if size > 0:
            most = size
            if size == NO_LIMIT:
                least = NO_LIMIT
    while least < most:
        size, used = smallest_by_search(group, least, min(work_limit, total_limit - work))
        work += used
        if size <= least:  # a set, or given up
            break
        least += 1
    return least, work


@kernel
def _cheaply_proved(group, most):
    """The largest diversity that the checks without a search prove, asked for no more than `most`."""
    ones = np.ones(len(group.start) - 1, dtype=np.int64)
    largest = max(1, proved_by_weights(group, ones, most))
    largest = max(largest, proved_by_weights(group, raised_weights(group.start, group.item, len(group.count)), most))
    order = order_by_frequency(group)
    picked, n_picked = disjoint_members(group, order, most)
    largest = max(largest, n_picked)
    if _is_capped(group, most):
        largest = max(largest, grow_with_caps(group, order, picked, n_picked, most)[-1])
    return largest


@kernel
def _has_undeletable(group):
    """Whether a member has only items that caps forbid to delete."""
    for member in range(len(group.start) - 1):
        if group.start[member] == group.start[member + 1]:
            return True
    return False


@kernel
def _is_capped(group, l):
    """Whether a cap can bind for deletions of fewer than l items."""
    for item in range(len(group.attribute)):
        if group.cap[group.attribute[item]] < l - 1:
            return True
    return False


# --- proofs of yes -------------------------------------------------------------------------------------------------


@kernel
def proved_by_weights(group, weight, most):
    """The diversity that weights on members prove, asked for no more than `most`.

    Whoever deletes everybody deletes their whole weight, and an item deletes at most the weight of those who have it.
    So if the heaviest t items that caps admit together weigh less than everybody, more than t items are needed. With
    equal weights this is theorem 6 of the paper, repaired.
    """
    load = np.empty(len(group.attribute), dtype=np.int64)
    _weigh_items(group.start, group.item, weight, load)
    total = weight.sum()
    left = group.cap.copy()
    n_taken = 0
    while n_taken + 1 < most:
        heaviest = -1
        for item in range(len(load)):
            if left[group.attribute[item]] > 0 and (heaviest < 0 or load[item] > load[heaviest]):
                heaviest = item
        if heaviest < 0 or load[heaviest] == 0:
            return NO_LIMIT  # all that caps admit are too few
        left[group.attribute[heaviest]] -= 1
        n_taken += 1
        total -= load[heaviest]
        load[heaviest] = 0
        if total <= 0:
            return n_taken
    return most


@kernel
def raised_weights(start, item, n_items):
    """Weights on members, in units of 2^-24, that weigh much in all while no item weighs more than about one unit.

    Members who have heavy items become lighter in every round, the more the heavier; then each weight is divided by
    that of the member's heaviest item, which leaves every item at one or less. The best such weights would be the
    solution of a linear program; these come close and cost `_ROUNDS` looks at the group. Whatever they are, what
    `proved_by_weights` makes of them is true.
    """
    n_members = len(start) - 1
    weight = np.ones(n_members, dtype=np.float64)
    load = np.empty(n_items, dtype=np.float64)
    for _ in range(_ROUNDS):
        _weigh_items(start, item, weight, load)
        heaviest = load.max()
        for number in range(n_items):
            load[number] = (load[number] / heaviest) ** 2
        for member in range(n_members):
            price = _LIGHTEST
            for at in range(start[member], start[member + 1]):
                price += load[item[at]] * load[item[at]]
            weight[member] = max(weight[member] / np.sqrt(price), _LIGHTEST)
        weight /= weight.max()
    for _ in range(2):
        _weigh_items(start, item, weight, load)
        for member in range(n_members):
            heaviest = _LIGHTEST
            for at in range(start[member], start[member + 1]):
                heaviest = max(heaviest, load[item[at]])
            weight[member] /= heaviest
    whole = np.empty(n_members, dtype=np.int64)
    for member in range(n_members):
        whole[member] = np.int64(min(weight[member], 1.0) * _UNIT)
    return whole


@kernel
def _weigh_items(start, item, weight, load):
    """The summed weights of those who have each item, written to `load`."""
    load[:] = 0
    for member in range(len(start) - 1):
        for at in range(start[member], start[member + 1]):
            load[item[at]] += weight[member]


@kernel
def order_by_frequency(group):
    """The members by ascending sum of their items' counts, ties as they come (figure 6, lines 1 to 3)."""
    n_members = len(group.start) - 1
    frequency = np.zeros(n_members, dtype=np.int64)
    for member in range(n_members):
        for at in range(group.start[member], group.start[member + 1]):
            frequency[member] += group.count[group.item[at]]
    return np.argsort(frequency, kind="mergesort")


@kernel
def disjoint_members(group, order, l):
    """Up to l members of whom no two share an item, taken greedily in the given order (figure 6, lines 4 to 10).

    Returns
    -------
    tuple
        Whether each member was picked, and how many were.
    """
    picked = np.zeros(len(order), dtype=np.bool_)
    is_used = np.zeros(len(group.count), dtype=np.bool_)
    n_picked = 0
    for member in order:
        if n_picked >= l:
            break
        shares = False
        for at in range(group.start[member], group.start[member + 1]):
            shares |= is_used[group.item[at]]
        if not shares:
            picked[member] = True
            n_picked += 1
            for at in range(group.start[member], group.start[member + 1]):
                is_used[group.item[at]] = True
    return picked, n_picked


@kernel
def grow_with_caps(group, order, picked, n_picked, l):
    """Figure 7, repaired: add members to those picked while their diversity stays proved, and raise it where it can be.

    The members C are x-diverse if the x - 1 most frequent items that caps admit have, together, fewer than |C|
    members. As printed, the figure compares x items with |C|, also where there are fewer than x items to take.

    Returns
    -------
    array
        x at the start and after each member tried; up to l.
    """
    ranked = _ranked(len(group.count), len(order))
    for member in range(len(order)):
        if picked[member]:
            _count_member(group, member, 1, ranked)
    diversity = n_picked
    trace = np.empty(len(order) - n_picked + 1, dtype=np.int64)
    trace[0] = diversity
    size, step = n_picked, 0
    for member in order:
        if picked[member]:
            continue
        if diversity >= l:
            break
        _count_member(group, member, 1, ranked)
        size += 1
        step += 1
        heaviest, n_heaviest = _heaviest(group, ranked, diversity - 1)
        if heaviest >= size:
            _count_member(group, member, -1, ranked)
            size -= 1
        while diversity < l:
            heaviest, n_heaviest = _heaviest(group, ranked, diversity)
            if heaviest >= size:
                break
            diversity = diversity + 1 if n_heaviest == diversity else l  # where all that caps admit are too few
        trace[step] = diversity
    return trace[: step + 1]


class Ranked(NamedTuple):
    """Items kept in descending order of a count that goes up and down by one."""

    count: NDArray[np.int64]
    item_at: NDArray[np.int64]
    place_of: NDArray[np.int64]
    first_place: NDArray[np.int64]
    """The first place of an item with each count; items with higher counts stand before it."""


@kernel
def _ranked(n_items, largest):
    """All items, each with the count zero; counts may rise to `largest`."""
    places = np.arange(n_items)
    return Ranked(np.zeros(n_items, np.int64), places, places.copy(), np.zeros(largest + 2, np.int64))


@kernel
def _count_member(group, member, change, ranked):
    """Count the items of a member once more, or once less, and keep the order."""
    for at in range(group.start[member], group.start[member + 1]):
        item = group.item[at]
        count = ranked.count[item]
        if change > 0:
            place = ranked.first_place[count]
            ranked.first_place[count] += 1
        else:
            ranked.first_place[count - 1] -= 1
            place = ranked.first_place[count - 1]
        other = ranked.item_at[place]
        was = ranked.place_of[item]
        ranked.item_at[was], ranked.place_of[other] = other, was
        ranked.item_at[place], ranked.place_of[item] = item, place
        ranked.count[item] += change


@kernel
def _heaviest(group, ranked, n_wanted):
    """The summed counts of the `n_wanted` most frequent items that caps admit, or of all of them; and how many."""
    left = group.cap.copy()
    total, n_taken = 0, 0
    for item in ranked.item_at:
        if n_taken == n_wanted or ranked.count[item] == 0:
            break
        if left[group.attribute[item]] > 0:
            left[group.attribute[item]] -= 1
            total += ranked.count[item]
            n_taken += 1
    return total, n_taken


# --- proofs of no --------------------------------------------------------------------------------------------------


@kernel
def deletion_set_size(group, most):
    """The size of a deletion set that is found quickly, or NO_LIMIT where none of at most `most` items is."""
    size = _smallest_attribute(group, most)
    return min(size, _greedy_deletion(group, min(most, size - 1)))


@kernel
def _smallest_attribute(group, most):
    """The number of values of the attribute that has fewest, if deleting them all is admitted and deletes everybody."""
    n_values = np.zeros(len(group.cap), dtype=np.int64)
    for item in range(len(group.attribute)):
        n_values[group.attribute[item]] += 1
    smallest = NO_LIMIT
    for attribute in range(len(group.cap)):
        is_admitted = 0 < n_values[attribute] <= min(most, group.cap[attribute], smallest - 1)
        if is_admitted and _everybody_has(group, attribute):
            smallest = n_values[attribute]
    return smallest


@kernel
def _everybody_has(group, attribute):
    """Whether every member has a value of the attribute."""
    for member in range(len(group.start) - 1):
        has = False
        for at in range(group.start[member], group.start[member + 1]):
            if group.attribute[group.item[at]] == attribute:
                has = True
                break
        if not has:
            return False
    return True


@kernel
def _greedy_deletion(group, most):
    """The size of the set made by always deleting the item that most remaining members have, or NO_LIMIT."""
    n_members = len(group.start) - 1
    member_start, member_of_entry = _members_of_items(group)
    count = group.count.copy()
    left = group.cap.copy()
    is_deleted = np.zeros(n_members, dtype=np.bool_)
    n_deleted = 0
    size = 0
    while n_deleted < n_members:
        best = -1
        for item in range(len(count)):
            if left[group.attribute[item]] > 0 and count[item] > 0 and (best < 0 or count[item] > count[best]):
                best = item
        if best < 0 or size >= most:
            return NO_LIMIT
        size += 1
        left[group.attribute[best]] -= 1
        for entry in range(member_start[best], member_start[best + 1]):
            member = member_of_entry[entry]
            if not is_deleted[member]:
                is_deleted[member] = True
                n_deleted += 1
                for at in range(group.start[member], group.start[member + 1]):
                    count[group.item[at]] -= 1
    return size


@kernel
def _members_of_items(group):
    """Who has each item: those of item i stand at start[i]:start[i + 1], ascending."""
    start = np.zeros(len(group.count) + 1, dtype=np.int64)
    start[1:] = np.cumsum(group.count)
    place = start[:-1].copy()
    member_of_entry = np.empty(len(group.item), dtype=np.int32)
    for member in range(len(group.start) - 1):
        for at in range(group.start[member], group.start[member + 1]):
            item = group.item[at]
            member_of_entry[place[item]] = member
            place[item] += 1
    return start, member_of_entry


# --- the search ----------------------------------------------------------------------------------------------------


@kernel
def smallest_by_search(group, most, work_limit):
    """The size of an admitted deletion set of at most `most` items; NO_LIMIT where there is none; -1 where given up.

    Also the work: words of bits and items looked at. The set found need not be the smallest.
    """
    if not _fits(group, work_limit):
        return -1, 0
    return _search(_reduced(group, most), min(most, len(group.start) - 1), work_limit)


@kernel
def _fits(group, work_limit):
    """Whether the group is small enough to be held as bits and looked at."""
    return len(group.count) * ((len(group.start) + 62) // 64) <= min(_MOST_WORDS, work_limit)


@kernel
def _reduced(group, most):
    """The group without items that another can stand for, and members who are deleted whenever another is."""
    n_members, n_items = len(group.start) - 1, len(group.count)
    member_start, member_of_entry = _members_of_items(group)
    bits = np.zeros((n_items, (n_members + 63) // 64), dtype=np.uint64)
    for item in range(n_items):
        for entry in range(member_start[item], member_start[item + 1]):
            _set_bit(bits[item], member_of_entry[entry])
    keeps_item = np.ones(n_items, dtype=np.bool_)
    keeps_member = np.ones(n_members, dtype=np.bool_)
    changed = True
    while changed:
        changed = _drop_items(group, bits, keeps_item, keeps_member, member_start, member_of_entry, most)
        if changed:
            changed = _drop_members(group, keeps_item, keeps_member, member_start, member_of_entry)
    return _compacted(group, keeps_item, keeps_member)


@kernel
def _drop_items(group, bits, keeps_item, keeps_member, member_start, member_of_entry, most):
    """Drop items whose members all have one other item that may be deleted in its place; say if any was dropped."""
    n_words = bits.shape[1]
    remaining = np.zeros(n_words, dtype=np.uint64)
    for member in range(len(keeps_member)):
        if keeps_member[member]:
            _set_bit(remaining, member)
    changed = False
    for item in range(len(keeps_item)):
        if not keeps_item[item]:
            continue
        first = -1
        for entry in range(member_start[item], member_start[item + 1]):
            if keeps_member[member_of_entry[entry]]:
                first = member_of_entry[entry]
                break
        if first < 0:
            keeps_item[item] = False
            continue
        attribute = group.attribute[item]
        for at in range(group.start[first], group.start[first + 1]):  # only they can have all members of the item
            other = group.item[at]
            if other == item or not keeps_item[other]:
                continue
            if group.attribute[other] != attribute and group.cap[group.attribute[other]] < most:
                continue
            if _is_within(bits[item], bits[other], remaining):
                keeps_item[item] = False
                changed = True
                break
    return changed


@kernel
def _drop_members(group, keeps_item, keeps_member, member_start, member_of_entry):
    """Drop members who have all the items of another one; say if any was dropped."""
    has = np.full(len(keeps_item), -1, dtype=np.int64)
    changed = False
    for member in range(len(keeps_member)):
        if not keeps_member[member]:
            continue
        rarest, n_own = -1, 0
        for at in range(group.start[member], group.start[member + 1]):
            item = group.item[at]
            if keeps_item[item]:
                has[item] = member
                n_own += 1
                if rarest < 0 or group.count[item] < group.count[rarest]:
                    rarest = item
        if rarest < 0:
            continue
        for entry in range(member_start[rarest], member_start[rarest + 1]):
            other = member_of_entry[entry]
            if other == member or not keeps_member[other]:
                continue
            n_shared = 0
            for at in range(group.start[other], group.start[other + 1]):
                if keeps_item[group.item[at]] and has[group.item[at]] == member:
                    n_shared += 1
            if n_shared == n_own:
                keeps_member[other] = False
                changed = True
    return changed


@kernel
def _compacted(group, keeps_item, keeps_member):
    """What a search looks at, numbered anew."""
    number = np.full(len(keeps_item), -1, dtype=np.int32)
    attributes = np.empty(len(keeps_item), dtype=np.int32)
    n_items = 0
    for item in range(len(keeps_item)):
        if keeps_item[item]:
            number[item] = n_items
            attributes[n_items] = group.attribute[item]
            n_items += 1
    n_members = np.count_nonzero(keeps_member)
    start = np.zeros(n_members + 1, dtype=np.int64)
    items = np.empty(len(group.item), dtype=np.int32)
    bits = np.zeros((n_items, (n_members + 63) // 64), dtype=np.uint64)
    own, n_entries = 0, 0
    for member in range(len(keeps_member)):
        if not keeps_member[member]:
            continue
        for at in range(group.start[member], group.start[member + 1]):
            item = number[group.item[at]]
            if item >= 0:
                items[n_entries] = item
                n_entries += 1
                _set_bit(bits[item], own)
        own += 1
        start[own] = n_entries
    items = items[:n_entries]
    return Search(start, items, bits, attributes[:n_items], group.cap, _packed_weights(start, items, n_items))


@kernel
def _packed_weights(start, item, n_items):
    """Raised weights, scaled in whole numbers so that no item weighs more than one unit."""
    weight = raised_weights(start, item, n_items)
    load = np.empty(n_items, dtype=np.int64)
    _weigh_items(start, item, weight, load)
    heaviest = load.max()
    if heaviest > _UNIT:
        for member in range(len(weight)):
            weight[member] = weight[member] * _UNIT // heaviest
    return weight


@kernel
def _search(search, most, work_limit):
    """Depth first: delete the items of the member who has fewest left, the commonest first, and never one twice.

    Each level holds who remains, the branches still to try, and the items that its earlier branches have settled.
    """
    n_members, n_items = len(search.start) - 1, len(search.attribute)
    n_words = (n_members + 63) // 64
    widest = 0
    for member in range(n_members):
        widest = max(widest, search.start[member + 1] - search.start[member])
    remaining = np.zeros((most + 1, n_words), dtype=np.uint64)
    for member in range(n_members):
        _set_bit(remaining[0], member)
    branch = np.empty((most + 1, widest), dtype=np.int32)
    n_branches = np.zeros(most + 1, dtype=np.int64)
    next_branch = np.zeros(most + 1, dtype=np.int64)
    is_settled = np.zeros(n_items, dtype=np.bool_)
    left = search.cap.copy()
    count = np.empty(n_items, dtype=np.int64)
    depth, work = 0, 0
    opening = True
    while depth >= 0:
        if opening:
            work += len(search.item) + n_items * n_words
            if work > work_limit:
                return -1, work
            state = _open(search, remaining[depth], most - depth, is_settled, left, count, branch[depth])
            if state < 0:
                return depth, work
            n_branches[depth], next_branch[depth] = state, 0
        at = next_branch[depth]
        if at > 0:  # take back the branch tried last; it stays settled for its siblings
            left[search.attribute[branch[depth, at - 1]]] += 1
        if at == n_branches[depth]:
            for tried in range(at):
                is_settled[branch[depth, tried]] = False
            depth -= 1
            opening = False
            continue
        item = branch[depth, at]
        next_branch[depth] = at + 1
        is_settled[item] = True
        left[search.attribute[item]] -= 1
        for word in range(n_words):
            remaining[depth + 1, word] = remaining[depth, word] & ~search.bits[item, word]
        depth += 1
        opening = True
    return NO_LIMIT, work


@kernel
def _open(search, remaining, n_left, is_settled, left, count, branch):
    """The branches of a node, written to `branch`: how many; 0 where it leads nowhere; -1 where nobody remains."""
    n_remaining = 0
    for word in range(len(remaining)):
        n_remaining += _n_bits(remaining[word])
    if n_remaining == 0:
        return -1
    if n_left == 0:
        return 0
    for item in range(len(count)):
        count[item] = 0
        if not is_settled[item] and left[search.attribute[item]] > 0:
            for word in range(len(remaining)):
                count[item] += _n_bits(remaining[word] & search.bits[item, word])
    chosen = _narrowest_member(search, remaining, count, n_left)
    if chosen < 0 or _commonest(search, count, left, n_left) < n_remaining:
        return 0
    n_branches = 0
    for at in range(search.start[chosen], search.start[chosen + 1]):
        item = search.item[at]
        if count[item] > 0:
            place = n_branches
            while place > 0 and count[branch[place - 1]] < count[item]:
                branch[place] = branch[place - 1]
                place -= 1
            branch[place] = item
            n_branches += 1
    return n_branches


@kernel
def _commonest(search, count, left, n_left):
    """The summed counts of the `n_left` commonest items that caps admit."""
    place = np.zeros(count.max() + 2, dtype=np.int64)  # of the first item with each count, commonest first
    for item in range(len(count)):
        place[count[item]] += 1
    for number in range(len(place) - 2, -1, -1):
        place[number] += place[number + 1]
    ordered = np.empty(len(count), dtype=np.int32)
    for item in range(len(count)):
        ordered[place[count[item] + 1]] = item
        place[count[item] + 1] += 1
    left = left.copy()
    total = 0
    for item in ordered:
        if n_left == 0 or count[item] == 0:
            break
        if left[search.attribute[item]] > 0:
            left[search.attribute[item]] -= 1
            total += count[item]
            n_left -= 1
    return total


@kernel
def _narrowest_member(search, remaining, count, n_left):
    """The remaining member with the fewest items to delete; -1 where `n_left` items cannot delete all who remain.

    An item weighs at most one unit, so those who remain weigh at most `n_left` units where that many items delete
    them. Members weigh what the search began with; also one over the count of their commonest item.
    """
    chosen, fewest, least = -1, NO_CAP, NO_CAP
    total, given = 0, 0
    for member in range(len(search.start) - 1):
        if not _has_bit(remaining, member):
            continue
        own, commonest = 0, 0
        for at in range(search.start[member], search.start[member + 1]):
            number = count[search.item[at]]
            if number > 0:
                own += 1
                commonest = max(commonest, number)
        if own == 0:
            return -1
        total += _UNIT // commonest
        given += search.weight[member]
        if max(total, given) > n_left * _UNIT:
            return -1
        if own < fewest or (own == fewest and commonest < least):
            chosen, fewest, least = member, own, commonest
    return chosen


# --- bits ----------------------------------------------------------------------------------------------------------


@kernel
def _set_bit(words, number):
    words[number >> 6] |= np.uint64(1) << np.uint64(number & 63)


@kernel
def _has_bit(words, number):
    return (words[number >> 6] >> np.uint64(number & 63)) & np.uint64(1) == np.uint64(1)


@kernel
def _is_within(some, others, among):
    """Whether those among `among` who are in `some` are all in `others`."""
    for word in range(len(some)):
        if some[word] & ~others[word] & among[word] != np.uint64(0):
            return False
    return True


@kernel
def _n_bits(word):
    """How many bits of a word are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    word = word + (word >> np.uint64(8))
    word = word + (word >> np.uint64(16))
    word = word + (word >> np.uint64(32))
    return np.int64(word & np.uint64(127))
