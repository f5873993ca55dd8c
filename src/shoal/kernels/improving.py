"""Making groups better after a tree: take a few near groups together, cut them anew, move and swap persons.

A *unit* is one person, or several who are alike in every quasi-identifier and in their number of records; they stay
together. A *pool* is what some near groups hold together. What is lost in a group is the sum over its persons of the
distance to the group's centre: for numbers to the mean over its records, for categories the share of its records that
have another one. Arrays in, arrays out; everything is decided in the order in which units stand.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

CUTS_A_SWEEP = 48
"""About how many cuts of a large part are weighed in one direction."""

MOST_PARTNERS = 24
"""With about so many units of a near group a unit may swap; of larger groups every second is asked, or every third."""

LARGE_GROUP = 400
"""Units of larger groups stay where they are: weighing a move looks at all of them."""

TINY = 1e-9
"""What is not above this is nothing."""


class Units(NamedTuple):
    """Persons who are alike, one entry a unit."""

    value: np.ndarray  # (units, numeric) float64: the mean over a person's records, scaled to [0, 1]
    blur: np.ndarray  # (units, numeric) float64: how far a person's records are from their own mean, on average
    category: np.ndarray  # (units, nominal) int32: the category that most of a person's records have
    persons: np.ndarray  # int64: how many persons the unit has
    count: np.ndarray  # int64: how many records each of them has


class Ways(NamedTuple):
    """How pools are made better."""

    share_of_room: float  # of the groups that there is room for at best, the share that cuts reckon with
    recuts: bool  # whether pools are cut anew
    passes: int  # how often each unit is asked whether it would be better off elsewhere
    most_near: int  # how many of the nearest groups it is moved or swapped to
    swaps: bool  # whether units are swapped, not only moved


class Groups(NamedTuple):
    """The groups of a pool."""

    group_of_unit: np.ndarray
    member: np.ndarray  # (groups, units) int32: the units of each group, in its first `size` entries
    size: np.ndarray
    spread: np.ndarray  # (groups, 5) int64: persons, records, squared records, most and second most of a unit's person
    centre: np.ndarray  # (groups, numeric) float64
    mode: np.ndarray  # (groups, nominal) int32: the category that most records have
    mode_share: np.ndarray  # (groups, nominal) float64: their share
    loss: np.ndarray
    away: np.ndarray  # (units) how far a person of the unit is from the centre of their group


@njit(cache=True, nogil=True)
def keeps(limits, persons, records, squared, most):
    """Whether a group with these counts keeps to the limits."""
    return (
        persons >= limits.least_persons
        and records >= limits.least_records
        and squared * limits.squares_of <= limits.squares * records * records
        and most * limits.share_of <= limits.share * records
    )


@njit(cache=True, nogil=True)
def room_for(limits, persons, records, squared):
    """About how many groups these persons make at the most: as many as if their records were evenly spread."""
    even = float(records) * records / squared
    room = min(persons / limits.least_persons, records / limits.least_records)
    room = min(room, even * limits.share / limits.share_of)
    return min(room, even * limits.squares / limits.squares_of)


@njit(cache=True, nogil=True)
def left_over(spread, room, falling):
    """What a person is away from the centre, on average, once a part is cut into `room` boxes as well as can be.

    `spread` is the distance in each direction before. Cutting direction j into g_j slices leaves spread_j / g_j; the
    least sum with product g_j = room and g_j >= 1 brings the widest directions to one level and leaves the others.
    """
    n = len(spread)
    rest = 0.0
    for j in range(n):
        rest += spread[j]
        at = j - 1
        while at >= 0 and falling[at] < spread[j]:
            falling[at + 1] = falling[at]
            at -= 1
        falling[at + 1] = spread[j]
    if room <= 1.0:
        return rest
    product = 1.0 / room
    for m in range(n):
        if falling[m] <= TINY:
            return 0.0
        product *= falling[m]
        rest -= falling[m]
        if m + 1 == n or product >= falling[m + 1] ** (m + 1):
            return (m + 1) * product ** (1.0 / (m + 1)) + max(rest, 0.0)
    return 0.0


@njit(cache=True, nogil=True)
def places_sorted(key):
    """The places of numbers, lowest first; of equals the first. Merges by hand: numpy's sort compiles for seconds."""
    n = len(key)
    place, merged = np.arange(n), np.empty(n, np.int64)
    width = 1
    while width < n:
        for start in range(0, n, 2 * width):
            middle, end = min(start + width, n), min(start + 2 * width, n)
            left, right = start, middle
            for at in range(start, end):
                if right >= end or (left < middle and key[place[left]] <= key[place[right]]):
                    merged[at] = place[left]
                    left += 1
                else:
                    merged[at] = place[right]
                    right += 1
        place, merged = merged, place
        width *= 2
    return place


@njit(cache=True, nogil=True)
def _sort_orders(turned, units):
    """Units by each turned direction, by their number of records, and by each category."""
    n, n_numeric = turned.shape
    n_nominal = units.category.shape[1]
    order = np.empty((n_numeric + 1 + n_nominal, n), np.int64)
    key = np.empty(n, np.float64)
    for o in range(len(order)):
        for i in range(n):
            if o < n_numeric:
                key[i] = turned[i, o]
            elif o == n_numeric:
                key[i] = units.count[i]
            else:
                key[i] = units.category[i, o - n_numeric - 1]
        order[o] = places_sorted(key)
    return order


@njit(cache=True, nogil=True)
def _part(order, start, end, is_left, held):
    """Part every order of a node into units on the left and on the right, both still sorted; where right starts."""
    middle = start
    for o in range(len(order)):
        middle, n_held = start, 0
        for at in range(start, end):
            unit = order[o, at]
            if is_left[unit]:
                order[o, middle] = unit
                middle += 1
            else:
                held[n_held] = unit
                n_held += 1
        order[o, middle:end] = held[:n_held]
    return middle


@njit(cache=True, nogil=True)
def best_cut(turned, units, order, start, end, limits, share_of_room):
    """The cut of a node that leaves least once both sides are cut on: order, first and last place; order -1: none.

    A cut puts the units of an order up to a place on the left; of a nominal order, those of one category. Categories
    are numbered from 0 on, so that there are no more of them than units.
    """
    count, persons, category = units.count, units.persons, units.category
    n_numeric, n_nominal = turned.shape[1], category.shape[1]
    n = len(count)
    all_sum, all_squares = np.zeros(n_numeric), np.zeros(n_numeric)
    all_pairs, all_records_of, all_persons_of = np.zeros(n_nominal), np.zeros((n_nominal, n)), np.zeros((n_nominal, n))
    left_records_of, left_persons_of = np.zeros((n_nominal, n)), np.zeros((n_nominal, n))
    left_sum, left_squares = np.zeros(n_numeric), np.zeros(n_numeric)
    left_pairs, right_pairs = np.zeros(n_nominal), np.zeros(n_nominal)
    left_spread, right_spread = np.zeros(n_numeric + n_nominal), np.zeros(n_numeric + n_nominal)
    falling = np.zeros(n_numeric + n_nominal)
    most_before, most_behind = np.zeros(end - start + 1, np.int64), np.zeros(end - start + 1, np.int64)
    all_persons, all_records, all_squared = 0, 0, 0
    for at in range(start, end):
        unit = order[0, at]
        own = persons[unit] * count[unit]
        all_persons += persons[unit]
        all_records += own
        all_squared += own * count[unit]
        for j in range(n_numeric):
            all_sum[j] += persons[unit] * turned[unit, j]
            all_squares[j] += persons[unit] * turned[unit, j] ** 2
        for j in range(n_nominal):
            code = category[unit, j]
            all_pairs[j] += all_persons_of[j, code] * own + persons[unit] * (all_records_of[j, code] + own)
            all_persons_of[j, code] += persons[unit]
            all_records_of[j, code] += own
    step = (end - start) // CUTS_A_SWEEP + 1
    best, best_order, best_first, best_last = np.inf, -1, -1, -1
    for o in range(len(order)):
        is_nominal = o > n_numeric
        for at in range(start, end):
            most_before[at - start + 1] = max(most_before[at - start], count[order[o, at]])
        for at in range(end - 1, start - 1, -1):
            most_behind[at - start] = max(most_behind[at - start + 1], count[order[o, at]])
        first = start
        left_most, left_persons, left_records, left_squared = 0, 0, 0, 0
        for at in range(start, end):
            unit = order[o, at]
            if at == first:
                left_most, left_persons, left_records, left_squared = 0, 0, 0, 0
                left_sum[:] = 0
                left_squares[:] = 0
                left_pairs[:] = 0
                right_pairs[:] = all_pairs
            own = persons[unit] * count[unit]
            left_persons += persons[unit]
            left_records += own
            left_squared += own * count[unit]
            left_most = max(left_most, count[unit])
            for j in range(n_numeric):
                left_sum[j] += persons[unit] * turned[unit, j]
                left_squares[j] += persons[unit] * turned[unit, j] ** 2
            for j in range(n_nominal):
                code = category[unit, j]
                records_there, persons_there = left_records_of[j, code], left_persons_of[j, code]
                left_pairs[j] += persons_there * own + persons[unit] * (records_there + own)
                right_pairs[j] -= (all_persons_of[j, code] - persons_there) * own
                right_pairs[j] -= persons[unit] * (all_records_of[j, code] - records_there - own)
                left_records_of[j, code] = records_there + own
                left_persons_of[j, code] = persons_there + persons[unit]
            is_last = at + 1 == end
            if is_nominal:
                is_last = is_last or category[order[o, at + 1], o - n_numeric - 1] != category[unit, o - n_numeric - 1]
                is_cut = is_last and left_persons < all_persons
            elif is_last:
                is_cut = False
            elif o < n_numeric:
                is_cut = turned[order[o, at + 1], o] != turned[unit, o] and (at - start) % step == step - 1
            else:
                is_cut = count[order[o, at + 1]] != count[unit]
            if is_cut:
                right_persons, right_records = all_persons - left_persons, all_records - left_records
                right_squared = all_squared - left_squared
                right_most = max(most_before[first - start], most_behind[at + 1 - start])
                if keeps(limits, left_persons, left_records, left_squared, left_most) and keeps(
                    limits, right_persons, right_records, right_squared, right_most
                ):
                    for j in range(n_numeric):
                        mean = left_sum[j] / left_persons
                        left_spread[j] = np.sqrt(max(left_squares[j] / left_persons - mean * mean, 0.0))
                        mean = (all_sum[j] - left_sum[j]) / right_persons
                        square = (all_squares[j] - left_squares[j]) / right_persons
                        right_spread[j] = np.sqrt(max(square - mean * mean, 0.0))
                    for j in range(n_nominal):
                        alike = left_pairs[j] / (float(left_persons) * left_records)
                        left_spread[n_numeric + j] = max(1.0 - alike, 0.0)
                        alike = right_pairs[j] / (float(right_persons) * right_records)
                        right_spread[n_numeric + j] = max(1.0 - alike, 0.0)
                    room = share_of_room * room_for(limits, left_persons, left_records, left_squared)
                    left = left_persons * left_over(left_spread, room, falling)
                    if left < best:
                        room = share_of_room * room_for(limits, right_persons, right_records, right_squared)
                        left += right_persons * left_over(right_spread, room, falling)
                        if left < best:
                            best, best_order, best_first, best_last = left, o, first, at
            if is_last:
                for place in range(first, at + 1):
                    for j in range(n_nominal):
                        left_records_of[j, category[order[o, place], j]] = 0
                        left_persons_of[j, category[order[o, place], j]] = 0
                first = at + 1
    return best_order, best_first, best_last


@njit(cache=True, nogil=True)
def grow(turned, units, limits, share_of_room, group_of_unit):
    """Cut the units of a pool as long as both sides keep to the limits; gives the number of groups.

    Cuts are made in the directions of `turned`, by number of records, and by category.
    """
    n = len(units.count)
    order = _sort_orders(turned, units)
    node = np.empty((n + 1, 2), np.int64)
    node[0, 0], node[0, 1] = 0, n
    is_left = np.zeros(n, np.bool_)
    held = np.empty(n, np.int64)
    n_open, n_groups = 1, 0
    while n_open:
        n_open -= 1
        start, end = node[n_open]
        cut, first, last = best_cut(turned, units, order, start, end, limits, share_of_room)
        if cut < 0:
            for at in range(start, end):
                group_of_unit[order[0, at]] = n_groups
            n_groups += 1
            continue
        is_left[order[0, start:end]] = False
        is_left[order[cut, first : last + 1]] = True
        middle = _part(order, start, end, is_left, held)
        node[n_open, 0], node[n_open, 1] = middle, end
        node[n_open + 1, 0], node[n_open + 1, 1] = start, middle
        n_open += 2
    return n_groups


@njit(cache=True, nogil=True)
def loss_of(units, listed, centre, records_of):
    """What a group of the listed units loses; its centre is written. `records_of` is zero, and is so again after."""
    n_numeric = len(centre)
    records = 0
    centre[:] = 0
    for unit in listed:
        own = units.persons[unit] * units.count[unit]
        records += own
        for j in range(n_numeric):
            centre[j] += own * units.value[unit, j]
    for j in range(n_numeric):
        centre[j] /= records
    loss = 0.0
    for unit in listed:
        away = 0.0
        for j in range(n_numeric):
            away += max(abs(units.value[unit, j] - centre[j]), units.blur[unit, j])
        loss += units.persons[unit] * away
    for j in range(units.category.shape[1]):
        for unit in listed:
            records_of[units.category[unit, j]] += units.persons[unit] * units.count[unit]
        for unit in listed:
            loss += units.persons[unit] * (1.0 - records_of[units.category[unit, j]] / records)
        for unit in listed:
            records_of[units.category[unit, j]] = 0
    return loss


@njit(cache=True, nogil=True)
def distance(units, unit, groups, group):
    """About how far a person of a unit is from a group: as if all categories but the commonest were rare."""
    away = 0.0
    for j in range(units.value.shape[1]):
        away += max(abs(units.value[unit, j] - groups.centre[group, j]), units.blur[unit, j])
    for j in range(units.category.shape[1]):
        away += 1.0
        if units.category[unit, j] == groups.mode[group, j]:
            away -= groups.mode_share[group, j]
    return away


@njit(cache=True, nogil=True)
def _recount(units, groups, group, records_of):
    """Count a group anew from its members."""
    listed = groups.member[group, : groups.size[group]]
    persons, records, squared, most, second = 0, 0, 0, 0, 0
    for unit in listed:
        count = units.count[unit]
        persons += units.persons[unit]
        records += units.persons[unit] * count
        squared += units.persons[unit] * count * count
        if count > most:
            most, second = count, most
        elif count > second:
            second = count
    groups.spread[group, 0], groups.spread[group, 1], groups.spread[group, 2] = persons, records, squared
    groups.spread[group, 3], groups.spread[group, 4] = most, second
    groups.loss[group] = loss_of(units, listed, groups.centre[group], records_of)
    for j in range(units.category.shape[1]):
        commonest = 0
        for unit in listed:
            code = units.category[unit, j]
            records_of[code] += units.persons[unit] * units.count[unit]
            if records_of[code] > commonest:
                commonest = records_of[code]
                groups.mode[group, j] = code
        groups.mode_share[group, j] = commonest / records
        for unit in listed:
            records_of[units.category[unit, j]] = 0
    for unit in listed:
        groups.away[unit] = distance(units, unit, groups, group)


@njit(cache=True, nogil=True)
def lay_out(units, group_of_unit, n_groups, records_of):
    """The groups of a pool, counted."""
    n, n_numeric = units.value.shape
    n_nominal = units.category.shape[1]
    groups = Groups(
        group_of_unit, np.empty((n_groups, n), np.int32), np.zeros(n_groups, np.int64),
        np.zeros((n_groups, 5), np.int64), np.zeros((n_groups, n_numeric)), np.zeros((n_groups, n_nominal), np.int32),
        np.zeros((n_groups, n_nominal)), np.zeros(n_groups), np.zeros(n),
    )  # fmt: skip
    for unit in range(n):
        group = group_of_unit[unit]
        groups.member[group, groups.size[group]] = unit
        groups.size[group] += 1
    for group in range(n_groups):
        _recount(units, groups, group, records_of)
    return groups


@njit(cache=True, nogil=True)
def _would_keep(units, limits, groups, group, leaving, coming):
    """Whether a group keeps to the limits when a unit leaves it and another comes; -1 is none."""
    persons, records, squared = groups.spread[group, 0], groups.spread[group, 1], groups.spread[group, 2]
    most = groups.spread[group, 3]
    if leaving >= 0:
        count = units.count[leaving]
        persons -= units.persons[leaving]
        records -= units.persons[leaving] * count
        squared -= units.persons[leaving] * count * count
        if count == most:
            most = groups.spread[group, 4]
    if coming >= 0:
        count = units.count[coming]
        persons += units.persons[coming]
        records += units.persons[coming] * count
        squared += units.persons[coming] * count * count
        most = max(most, count)
    return persons > 0 and keeps(limits, persons, records, squared, most)


@njit(cache=True, nogil=True)
def _loss_after(units, groups, group, leaving, coming, listed, centre, records_of):
    """What a group loses when a unit leaves it and another comes; -1 is none."""
    n = 0
    for at in range(groups.size[group]):
        if groups.member[group, at] != leaving:
            listed[n] = groups.member[group, at]
            n += 1
    if coming >= 0:
        listed[n] = coming
        n += 1
    return loss_of(units, listed[:n], centre, records_of)


@njit(cache=True, nogil=True)
def _exchange(groups, group, leaving, coming):
    """Let a unit leave a group and another come; -1 is none."""
    n = groups.size[group]
    if leaving >= 0:
        for at in range(n):
            if groups.member[group, at] == leaving:
                groups.member[group, at] = groups.member[group, n - 1]
                break
        n -= 1
    if coming >= 0:
        groups.member[group, n] = coming
        groups.group_of_unit[coming] = group
        n += 1
    groups.size[group] = n


@njit(cache=True, nogil=True)
def _nearest(units, groups, unit, near, how_far):
    """The groups nearest to a unit, but for its own, and how far they are; gives how many there are."""
    n_near = 0
    for group in range(len(groups.size)):
        if group == groups.group_of_unit[unit]:
            continue
        away = distance(units, unit, groups, group)
        if n_near < len(near):
            n_near += 1
        elif away >= how_far[n_near - 1]:
            continue
        at = n_near - 1
        while at > 0 and how_far[at - 1] > away:
            near[at], how_far[at] = near[at - 1], how_far[at - 1]
            at -= 1
        near[at], how_far[at] = group, away
    return n_near


@njit(cache=True, nogil=True)
def _both_keep(units, limits, groups, here, there, unit, other):
    """Whether two groups keep to the limits when a unit goes from here to there and another (-1: none) comes back."""
    for side in range(2):
        group, leaving, coming = (here, unit, other) if side == 0 else (there, other, unit)
        if not _would_keep(units, limits, groups, group, leaving, coming):
            return False
    return True


@njit(cache=True, nogil=True)
def _look_around(units, limits, groups, unit, swaps, near, how_far, found):
    """The best move and the best swap of a unit, by distances: found[0] is a group, found[1] a unit, or -1."""
    here = groups.group_of_unit[unit]
    move_gain, swap_gain = 0.0, 0.0
    found[0], found[1] = -1, -1
    for at in range(_nearest(units, groups, unit, near, how_far)):
        there = near[at]
        if groups.size[there] > LARGE_GROUP:
            continue
        gain = units.persons[unit] * (groups.away[unit] - how_far[at])
        step = groups.size[there] // MOST_PARTNERS + 1
        for place in range(unit % step - step, groups.size[there] if swaps else 0, step):
            other = groups.member[there, place] if place >= 0 else -1
            both = gain
            if other >= 0:
                if gain + units.persons[other] * groups.away[other] <= swap_gain:
                    continue
                both += units.persons[other] * (groups.away[other] - distance(units, other, groups, here))
            if both > (swap_gain if other >= 0 else move_gain) and _both_keep(
                units, limits, groups, here, there, unit, other
            ):
                if other >= 0:
                    swap_gain, found[1] = both, other
                else:
                    move_gain, found[0] = both, there


@njit(cache=True, nogil=True)
def settle(units, limits, groups, ways, records_of):
    """Move units to nearer groups and swap them, while all keep to the limits and less is lost; gives what is lost.

    Of each unit the best move and the best swap by distances are weighed exactly; the better is made if it pays.
    """
    n, n_numeric = units.value.shape
    near = np.empty(min(ways.most_near, len(groups.size) - 1), np.int64)
    how_far = np.empty(len(near))
    listed = np.empty(n + 1, np.int64)
    centre = np.empty(n_numeric)
    found = np.empty(2, np.int64)
    for _ in range(ways.passes if len(near) else 0):
        n_changes = 0
        for unit in range(n):
            here = groups.group_of_unit[unit]
            if groups.size[here] > LARGE_GROUP:
                continue
            _look_around(units, limits, groups, unit, ways.swaps, near, how_far, found)
            best, best_group, best_other = TINY, -1, -1
            for is_swap in range(2):
                if found[is_swap] < 0:
                    continue
                other = found[1] if is_swap else -1
                there = groups.group_of_unit[other] if is_swap else found[0]
                gain = groups.loss[here] + groups.loss[there]
                for side in range(2):
                    group, leaving, coming = (here, unit, other) if side == 0 else (there, other, unit)
                    gain -= _loss_after(units, groups, group, leaving, coming, listed, centre, records_of)
                if gain > best:
                    best, best_group, best_other = gain, there, other
            if best_group >= 0:
                n_changes += 1
                for side in range(2):
                    group, leaving, coming = (here, unit, best_other) if side == 0 else (best_group, best_other, unit)
                    _exchange(groups, group, leaving, coming)
                    _recount(units, groups, group, records_of)
        if n_changes == 0:
            break
    return groups.loss.sum()


@njit(cache=True, nogil=True)
def pool_groups(centre, units_of_group, most_units, most_groups, chance):
    """Near groups in pools: the groups in an order, and where each pool starts.

    Groups are parted by their centres, in the direction in which these spread most (give or take some chance), near
    the middle (give or take), until a part has at most so many units and so many groups.
    """
    n_groups, n_directions = centre.shape
    order = np.arange(n_groups)
    key = np.empty(n_groups)
    sorted_part = np.empty(n_groups, np.int64)
    is_start = np.zeros(n_groups + 1, np.bool_)
    node = np.empty((n_groups + 1, 2), np.int64)
    node[0, 0], node[0, 1] = 0, n_groups
    n_open, drawn = 1, 0
    while n_open:
        n_open -= 1
        start, end = node[n_open]
        n_units = 0
        for at in range(start, end):
            n_units += units_of_group[order[at]]
        if end - start == 1 or (n_units <= most_units and end - start <= most_groups):
            is_start[start] = True
            continue
        widest, direction = -1.0, 0
        for j in range(n_directions):
            total, squares = 0.0, 0.0
            for at in range(start, end):
                total += centre[order[at], j]
                squares += centre[order[at], j] ** 2
            mean = total / (end - start)
            width = np.sqrt(max(squares / (end - start) - mean * mean, 0.0)) * (0.5 + chance[drawn % len(chance)])
            drawn += 1
            if width > widest:
                widest, direction = width, j
        for at in range(start, end):
            key[at - start] = centre[order[at], direction]
        for at, place in enumerate(places_sorted(key[: end - start])):
            sorted_part[at] = order[start + place]
        order[start:end] = sorted_part[: end - start]
        share = 0.35 + 0.3 * chance[drawn % len(chance)]
        drawn += 1
        middle = start + max(1, min(end - start - 1, int((end - start) * share)))
        node[n_open, 0], node[n_open, 1] = start, middle
        node[n_open + 1, 0], node[n_open + 1, 1] = middle, end
        n_open += 2
    return order, np.append(np.flatnonzero(is_start[:n_groups]), n_groups)


@njit(cache=True, nogil=True)
def _turned(value, turn):
    """Values in other directions; by hand, so that every machine rounds alike."""
    turned = np.zeros(value.shape)
    for i in range(value.shape[0]):
        for j in range(value.shape[1]):
            for k in range(value.shape[1]):
                turned[i, j] += value[i, k] * turn[k, j]
    return turned


@njit(cache=True, nogil=True)
def _units_at(units, listed, n):
    """The first n listed units; their categories are numbered anew, from 0 on."""
    n_numeric, n_nominal = units.value.shape[1], units.category.shape[1]
    here = Units(
        np.empty((n, n_numeric)), np.empty((n, n_numeric)), np.empty((n, n_nominal), np.int32), np.empty(n, np.int64),
        np.empty(n, np.int64),
    )  # fmt: skip
    key = np.empty(n)
    for at in range(n):
        unit = listed[at]
        here.persons[at], here.count[at] = units.persons[unit], units.count[unit]
        for j in range(n_numeric):
            here.value[at, j], here.blur[at, j] = units.value[unit, j], units.blur[unit, j]
    for j in range(n_nominal):
        for at in range(n):
            key[at] = units.category[listed[at], j]
        last, code = -1.0, -1
        for at in places_sorted(key):
            if key[at] != last:
                last = key[at]
                code += 1
            here.category[at, j] = code
    return here


@njit(cache=True, nogil=True)
def improve_pool(units, limits, group_of_unit, n_groups, turn, ways):
    """A better grouping of the units of a pool: the number of groups, and how much less is lost.

    Two are tried: the groups as they are with moves and swaps; and the pool cut anew, in the directions of `turn`,
    with moves and swaps. Where one loses less it is written to `group_of_unit`.
    """
    n = len(group_of_unit)
    records_of = np.zeros(n, np.int64)
    centre = np.empty(units.value.shape[1])
    before = 0.0
    for group in range(n_groups):
        before += loss_of(units, np.flatnonzero(group_of_unit == group), centre, records_of)
    if before <= TINY:
        return n_groups, 0.0
    tried = np.empty(n, np.int32)
    n_tried = 0
    if ways.recuts:
        n_tried = grow(_turned(units.value, turn), units, limits, ways.share_of_room, tried)
    for is_old in range(0 if ways.recuts else 1, 2):
        if is_old:
            tried[:] = group_of_unit
            n_tried = n_groups
        groups = lay_out(units, tried, n_tried, records_of)
        lost = settle(units, limits, groups, ways, records_of)
        if lost < before - TINY * (1.0 + before):
            group_of_unit[:] = tried
            return n_tried, before - lost
    return n_groups, 0.0


@njit(cache=True, nogil=True)
def improve_pools(units, limits, member, member_start, pool_order, pool_start, turn, ways, group_in_pool):
    """For each pool of groups a better grouping of its units, where one is found (see `improve_pool`).

    Group g has the units member[member_start[g]:member_start[g + 1]]. Gives for each pool the number of its groups,
    and how much less is lost (0: it stays as it is); writes for each unit of the pools the number of its group inside
    its pool. Pools have no units in common, so that several calls may write side by side.
    """
    n_pools = len(pool_start) - 1
    groups_of_pool = np.zeros(n_pools, np.int64)
    gain_of_pool = np.zeros(n_pools)
    most_units = 0
    for pool in range(n_pools):
        n = 0
        for at in range(pool_start[pool], pool_start[pool + 1]):
            n += member_start[pool_order[at] + 1] - member_start[pool_order[at]]
        most_units = max(most_units, n)
    listed = np.empty(most_units, np.int64)
    for pool in range(n_pools):
        n, n_old = 0, pool_start[pool + 1] - pool_start[pool]
        for at in range(n_old):
            group = pool_order[pool_start[pool] + at]
            for place in range(member_start[group], member_start[group + 1]):
                listed[n] = member[place]
                group_in_pool[member[place]] = at
                n += 1
        listed[:n].sort()
        group_of_unit = np.empty(n, np.int32)
        for at in range(n):
            group_of_unit[at] = group_in_pool[listed[at]]
        here = _units_at(units, listed, n)
        groups_of_pool[pool], gain_of_pool[pool] = improve_pool(here, limits, group_of_unit, n_old, turn, ways)
        for at in range(n):
            group_in_pool[listed[at]] = group_of_unit[at]
    return groups_of_pool, gain_of_pool
