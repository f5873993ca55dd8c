"""Making groups better after a tree: take a few near groups together, cut them anew, move and swap persons.

A *unit* is one person, or several who are alike in every quasi-identifier and in their number of records; they stay
together. A *pool* is what some near groups hold together. What is lost in a group is the sum over its persons of the
distance to the group's centre: for numbers to the mean over its records, for categories the share of its records that
have another one. Arrays in, arrays out; everything is decided in the order in which units stand.

Compiling is most of what a first run costs. So a kernel takes few plain arrays, works in memory that it is given, and
calls no kernel that calls many others: whatever is called is compiled again inside its caller.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiling import inner_kernel, kernel

CUTS_A_SWEEP = 48
"""About how many cuts of a large part are weighed in one direction."""

MOST_PARTNERS = 24
"""With about so many units of a near group a unit may swap; of larger groups every second is asked, or every third."""

LARGE_GROUP = 400
"""Units of larger groups stay where they are: weighing a move looks at all of them."""

TINY = 1e-9
"""What is not above this is nothing."""

PERSONS, COUNT, CATEGORY = range(3)
"""Columns of `Units.counts`: persons of a unit, records of each of them, and from there on categories."""

GROUP_PERSONS, RECORDS, SQUARED, MOST, SECOND, SIZE, MODE = range(7)
"""Columns of what is counted of a group: persons, records, squared records, most and second most records of a unit's
person, units, and from there on the category of each nominal attribute that most records have."""

SPREAD, FALLING = range(4, 6)
"""Rows of what a cut is weighed by: how far a side spreads in each direction, and the same, widest first."""

LOSS, CENTRE = range(2)
"""Columns of what is measured of a group: what it loses, and from there on its centre; then the shares of the modes."""


class Units(NamedTuple):
    """Persons who are alike, one row per unit."""

    numbers: NDArray[np.float64]
    """For each numeric attribute the mean over a person's records, scaled to [0, 1]; then for each how far a person's
    records are from their own mean, on average (the blur)."""
    counts: NDArray[np.int64]
    """How many persons the unit has, how many records each of them has, and for each nominal attribute the category
    that most of a person's records have."""

    @property
    def value(self) -> NDArray[np.float64]:
        """The means."""
        return self.numbers[:, : self.numbers.shape[1] // 2]

    @property
    def category(self) -> NDArray[np.int64]:
        """The categories."""
        return self.counts[:, CATEGORY:]

    @property
    def persons(self) -> NDArray[np.int64]:
        """How many persons each unit has."""
        return self.counts[:, PERSONS]

    @property
    def count(self) -> NDArray[np.int64]:
        """How many records each person of a unit has."""
        return self.counts[:, COUNT]

    def at(self, places: NDArray[np.int64]) -> Units:
        """Some of the units."""
        return Units(self.numbers[places], self.counts[places])


class Ways(NamedTuple):
    """How pools are made better."""

    share_of_room: float  # of the groups that there is room for at best, the share that cuts reckon with
    recuts: bool  # whether pools are cut anew
    passes: int  # how often each unit is asked whether it would be better off elsewhere
    most_near: int  # how many of the nearest groups it is moved or swapped to
    swaps: bool  # whether units are swapped, not only moved


def improve_pools(
    units: Units,
    limits: tuple[int, ...],
    pool_start: NDArray[np.int64],
    group_in_pool: NDArray[np.int64],
    groups_of_pool: NDArray[np.int64],
    turn: NDArray[np.float64],
    ways: Ways,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """For each pool a better grouping of its units, where one is found: groups of units, of pools, and what each gains.

    Units stand pool by pool. Two groupings of a pool are tried: the pool cut anew, in the directions of `turn`, with
    moves and swaps; and the groups as they are with moves and swaps. The first that loses less is taken.
    """
    group_in_pool, groups_of_pool = group_in_pool.copy(), groups_of_pool.copy()
    before = settle_pools(units, limits, pool_start, group_in_pool, groups_of_pool, ways._replace(passes=0))
    gain = np.zeros(len(groups_of_pool))
    is_open = before > TINY
    for recuts in (True, False) if ways.recuts else (False,):
        pools = np.flatnonzero(is_open)
        places, start = _places_of(pool_start, pools)
        some = units.at(places)
        tried, n_tried = group_in_pool[places], groups_of_pool[pools]
        if recuts:
            tried, n_tried = recut_pools(some, _turned(some.value, turn), limits, start, ways.share_of_room)
        lost = settle_pools(some, limits, start, tried, n_tried, ways)
        is_better = lost < before[pools] - TINY * (1.0 + before[pools])
        of_better = np.repeat(is_better, np.diff(start))
        group_in_pool[places[of_better]] = tried[of_better]
        better = pools[is_better]
        groups_of_pool[better] = n_tried[is_better]
        gain[better] = before[better] - lost[is_better]
        is_open[better] = False
    return group_in_pool, groups_of_pool, gain


def _places_of(pool_start: NDArray[np.int64], pools: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places of the units of some pools, and where each of these pools starts among them."""
    sizes = np.diff(pool_start)[pools]
    start = np.concatenate([[0], np.cumsum(sizes)])
    return np.arange(start[-1]) + np.repeat(pool_start[pools] - start[:-1], sizes), start


def _turned(value: NDArray[np.float64], turn: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values in other directions; term by term, so that every machine rounds alike."""
    turned = np.zeros(value.shape)
    for k in range(value.shape[1]):
        turned += value[:, k : k + 1] * turn[k]
    return turned


def recut_pools(
    units: Units,
    turned: NDArray[np.float64],
    limits: tuple[int, ...],
    pool_start: NDArray[np.int64],
    share_of_room: float,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cut the units of each pool as long as both sides keep to the limits: groups of units, groups of pools.

    Cuts are made in the directions of `turned`, by number of records, and by category.
    """
    n_numeric, n_nominal = turned.shape[1], units.category.shape[1]
    most = int(np.diff(pool_start).max(initial=0))
    order = np.empty((n_numeric + 1 + n_nominal, most), np.int64)
    work = np.empty((5, most + 1), np.int64)
    sums = np.empty((6, n_numeric + n_nominal))
    having = np.zeros((n_nominal, _n_codes(units), 4))
    group_in_pool, groups_of_pool = np.empty(len(turned), np.int64), np.empty(len(pool_start) - 1, np.int64)
    cut_pools(
        turned, units.counts, pool_start, limits, share_of_room, order, work, np.empty(most),
        np.zeros(len(turned), np.bool_), sums, having, group_in_pool, groups_of_pool,
    )  # fmt: skip
    return group_in_pool, groups_of_pool


def settle_pools(
    units: Units,
    limits: tuple[int, ...],
    pool_start: NDArray[np.int64],
    group_in_pool: NDArray[np.int64],
    groups_of_pool: NDArray[np.int64],
    ways: Ways,
) -> NDArray[np.float64]:
    """Move units to nearer groups of their pool and swap them, while all keep to the limits and less is lost.

    Changes `group_in_pool`; gives what each pool loses then.
    """
    n_numeric, n_nominal = units.value.shape[1], units.category.shape[1]
    sizes = np.diff(pool_start)
    most_groups = int(groups_of_pool.max(initial=0))
    lost = np.empty(len(groups_of_pool))
    settle(
        units.numbers, units.counts, pool_start, groups_of_pool, limits, ways.passes, ways.swaps,
        np.empty(int(((groups_of_pool + 1) * (sizes + 1)).max(initial=0)), np.int64),
        np.empty((most_groups, MODE + n_nominal), np.int64),
        np.empty((most_groups + 1, CENTRE + n_numeric + n_nominal)), np.empty(len(group_in_pool)),
        np.zeros(_n_codes(units), np.int64), np.empty(ways.most_near + 2, np.int64), np.empty(ways.most_near),
        group_in_pool, lost,
    )  # fmt: skip
    return lost


def _n_codes(units: Units) -> int:
    return int(units.category.max(initial=0)) + 1


@kernel
def keeps(limits, persons, records, squared, most):
    """Whether a group with these counts keeps to the limits."""
    return (
        persons >= limits.least_persons
        and records >= limits.least_records
        and squared * limits.squares_of <= limits.squares * records * records
        and most * limits.share_of <= limits.share * records
    )


@kernel
def room_for(limits, persons, records, squared):
    """About how many groups these persons make at the most: as many as if their records were evenly spread."""
    even = float(records) * records / squared
    room = min(persons / limits.least_persons, records / limits.least_records)
    room = min(room, even * limits.share / limits.share_of)
    return min(room, even * limits.squares / limits.squares_of)


@kernel
def left_over(sums, room):
    """What a person is away from the centre, on average, once a part is cut into `room` boxes as well as can be.

    `sums[SPREAD]` is the distance in each direction before; `sums[FALLING]` is for working in. Cutting direction j into
    g_j slices leaves spread_j / g_j; the least sum with product g_j = room and g_j >= 1 brings the widest directions
    to one level and leaves the others.
    """
    n = sums.shape[1]
    rest = 0.0
    for j in range(n):
        own = sums[SPREAD, j]
        rest += own
        at = j - 1
        while at >= 0 and sums[FALLING, at] < own:
            sums[FALLING, at + 1] = sums[FALLING, at]
            at -= 1
        sums[FALLING, at + 1] = own
    if room <= 1.0:
        return rest
    product = 1.0 / room
    for m in range(n):
        if sums[FALLING, m] <= TINY:
            return 0.0
        product *= sums[FALLING, m]
        rest -= sums[FALLING, m]
        if m + 1 == n or product >= sums[FALLING, m + 1] ** (m + 1):
            return (m + 1) * product ** (1.0 / (m + 1)) + max(rest, 0.0)
    return 0.0


@kernel
def sort_places(key, n, work, place, held):
    """Write the places of the first n numbers to a row of `work`, lowest first, of equals the first.

    Merges by hand, in another row: numpy's sort compiles for seconds.
    """
    for at in range(n):
        work[place, at] = at
    width = 1
    while width < n:
        left, right, middle, end = 0, 0, 0, 0
        for at in range(n):
            if at == end:
                left, middle, end = at, min(at + width, n), min(at + 2 * width, n)
                right = middle
            if right >= end or (left < middle and key[work[place, left]] <= key[work[place, right]]):
                work[held, at] = work[place, left]
                left += 1
            else:
                work[held, at] = work[place, right]
                right += 1
        for at in range(n):
            work[place, at] = work[held, at]
        width *= 2


@kernel
def best_cut(turned, counts, order, start, end, limits, share_of_room, work, sums, having):
    """The cut of a node that leaves least once both sides are cut on: order, first and last place; order -1: none.

    A cut puts the units of an order up to a place on the left; of a nominal order, those of one category. `work`,
    `sums` and `having` are for working in; `having` is all zero, and is so again after.
    """
    n_numeric, n_nominal = turned.shape[1], counts.shape[1] - CATEGORY
    all_sum, all_squares, left_sum, left_squares, spread = 0, 1, 2, 3, SPREAD  # in `sums`
    all_pairs, left_pairs, right_pairs = 0, 1, 2  # in `sums` too, from column n_numeric on
    before, behind = 0, 1  # in `work`
    all_records_of, all_persons_of, left_records_of, left_persons_of = 0, 1, 2, 3  # of a category, in `having`
    for j in range(n_numeric + n_nominal):
        sums[all_sum, j] = sums[all_squares, j] = 0.0
    all_persons, all_records, all_squared = 0, 0, 0
    for at in range(start, end):
        unit = order[0, at]
        persons, count = counts[unit, PERSONS], counts[unit, COUNT]
        own = persons * count
        all_persons += persons
        all_records += own
        all_squared += own * count
        for j in range(n_numeric):
            sums[all_sum, j] += persons * turned[unit, j]
            sums[all_squares, j] += persons * turned[unit, j] ** 2
        for j in range(n_nominal):
            code = counts[unit, CATEGORY + j]
            records_there = having[j, code, all_records_of]
            persons_there = having[j, code, all_persons_of]
            sums[all_pairs, n_numeric + j] += persons_there * own + persons * (records_there + own)
            having[j, code, all_persons_of] = persons_there + persons
            having[j, code, all_records_of] = records_there + own
    step = (end - start) // CUTS_A_SWEEP + 1
    best, best_order, best_first, best_last = np.inf, -1, -1, -1
    for o in range(len(order)):
        nominal = CATEGORY + o - n_numeric - 1
        work[before, 0] = work[behind, end - start] = 0
        for at in range(end - start):
            work[before, at + 1] = max(work[before, at], counts[order[o, start + at], COUNT])
            back = end - start - 1 - at
            work[behind, back] = max(work[behind, back + 1], counts[order[o, start + back], COUNT])
        first = start
        left_most, left_persons, left_records, left_squared = 0, 0, 0, 0
        for at in range(start, end):
            unit = order[o, at]
            if at == first:
                left_most, left_persons, left_records, left_squared = 0, 0, 0, 0
                for j in range(n_numeric):
                    sums[left_sum, j] = sums[left_squares, j] = 0.0
                for j in range(n_numeric, n_numeric + n_nominal):
                    sums[left_pairs, j] = 0.0
                    sums[right_pairs, j] = sums[all_pairs, j]
            persons, count = counts[unit, PERSONS], counts[unit, COUNT]
            own = persons * count
            left_persons += persons
            left_records += own
            left_squared += own * count
            left_most = max(left_most, count)
            for j in range(n_numeric):
                sums[left_sum, j] += persons * turned[unit, j]
                sums[left_squares, j] += persons * turned[unit, j] ** 2
            for j in range(n_nominal):
                code = counts[unit, CATEGORY + j]
                records_there = having[j, code, left_records_of]
                persons_there = having[j, code, left_persons_of]
                sums[left_pairs, n_numeric + j] += persons_there * own + persons * (records_there + own)
                sums[right_pairs, n_numeric + j] -= (having[j, code, all_persons_of] - persons_there) * own
                sums[right_pairs, n_numeric + j] -= persons * (having[j, code, all_records_of] - records_there - own)
                having[j, code, left_records_of] = records_there + own
                having[j, code, left_persons_of] = persons_there + persons
            is_last = at + 1 == end
            is_cut = False
            if o > n_numeric:
                is_last = is_last or counts[order[o, at + 1], nominal] != counts[unit, nominal]
                is_cut = is_last and left_persons < all_persons
            elif is_last:
                pass
            elif o < n_numeric:
                is_cut = turned[order[o, at + 1], o] != turned[unit, o] and (at - start) % step == step - 1
            else:
                is_cut = counts[order[o, at + 1], COUNT] != count
            if is_cut:
                right_persons, right_records = all_persons - left_persons, all_records - left_records
                right_squared = all_squared - left_squared
                right_most = max(work[before, first - start], work[behind, at + 1 - start])
                if keeps(limits, left_persons, left_records, left_squared, left_most) and keeps(
                    limits, right_persons, right_records, right_squared, right_most
                ):
                    left = 0.0
                    for side in range(2):
                        if side == 0:
                            persons, records, squared = left_persons, left_records, left_squared
                        else:
                            persons, records, squared = right_persons, right_records, right_squared
                        for j in range(n_numeric):
                            total, squares = sums[left_sum, j], sums[left_squares, j]
                            if side == 1:
                                total, squares = sums[all_sum, j] - total, sums[all_squares, j] - squares
                            mean = total / persons
                            sums[spread, j] = np.sqrt(max(squares / persons - mean * mean, 0.0))
                        for j in range(n_numeric, n_numeric + n_nominal):
                            alike = sums[left_pairs + side, j] / (float(persons) * records)
                            sums[spread, j] = max(1.0 - alike, 0.0)
                        left += persons * left_over(sums, share_of_room * room_for(limits, persons, records, squared))
                        if left >= best:
                            break
                    if left < best:
                        best, best_order, best_first, best_last = left, o, first, at
            if is_last:
                for place in range(first, at + 1):
                    for j in range(n_nominal):
                        code = counts[order[o, place], CATEGORY + j]
                        having[j, code, left_records_of] = having[j, code, left_persons_of] = 0.0
                first = at + 1
    for at in range(start, end):
        for j in range(n_nominal):
            code = counts[order[0, at], CATEGORY + j]
            having[j, code, all_records_of] = having[j, code, all_persons_of] = 0.0
    return best_order, best_first, best_last


@kernel
def cut_pools(
    turned, counts, pool_start, limits, share_of_room, order, work, key, is_left, sums, having, group_in_pool,
    groups_of_pool,
):  # fmt: skip
    """See `recut_pools`. What lies between `share_of_room` and `group_in_pool` is for working in."""
    n_numeric = turned.shape[1]
    place, held, open_start, open_end = 1, 2, 3, 4  # rows of `work`, of which `best_cut` uses the first two
    for pool in range(len(groups_of_pool)):
        first = pool_start[pool]
        n = pool_start[pool + 1] - first
        for o in range(len(order)):
            for i in range(n):
                if o < n_numeric:
                    key[i] = turned[first + i, o]
                else:  # by number of records, then by each category
                    key[i] = counts[first + i, COUNT + o - n_numeric]
            sort_places(key, n, work, place, held)
            for i in range(n):
                order[o, i] = first + work[place, i]
        work[open_start, 0], work[open_end, 0] = 0, n
        n_open, n_groups = 1, 0
        while n_open:
            n_open -= 1
            start, end = work[open_start, n_open], work[open_end, n_open]
            cut, cut_first, cut_last = best_cut(
                turned, counts, order, start, end, limits, share_of_room, work, sums, having
            )
            if cut < 0:
                for at in range(start, end):
                    group_in_pool[order[0, at]] = n_groups
                n_groups += 1
                continue
            for at in range(start, end):
                is_left[order[cut, at]] = cut_first <= at <= cut_last
            middle = start
            for o in range(len(order)):  # both sides stay sorted
                middle, n_held = start, 0
                for at in range(start, end):
                    unit = order[o, at]
                    if is_left[unit]:
                        order[o, middle] = unit
                        middle += 1
                    else:
                        work[held, n_held] = unit
                        n_held += 1
                for at in range(n_held):
                    order[o, middle + at] = work[held, at]
            work[open_start, n_open], work[open_end, n_open] = middle, end
            work[open_start, n_open + 1], work[open_end, n_open + 1] = start, middle
            n_open += 2
        groups_of_pool[pool] = n_groups


@kernel
def loss_of(numbers, counts, member, first, n, measured, group, records_of):
    """What a group of n listed units loses; its centre is written. `records_of` is zero, and is so again after."""
    n_numeric = numbers.shape[1] // 2
    records = 0
    for j in range(n_numeric):
        measured[group, CENTRE + j] = 0.0
    for at in range(first, first + n):
        unit = member[at]
        own = counts[unit, PERSONS] * counts[unit, COUNT]
        records += own
        for j in range(n_numeric):
            measured[group, CENTRE + j] += own * numbers[unit, j]
    for j in range(n_numeric):
        measured[group, CENTRE + j] /= records
    loss = 0.0
    for at in range(first, first + n):
        unit = member[at]
        away = 0.0
        for j in range(n_numeric):
            away += max(abs(numbers[unit, j] - measured[group, CENTRE + j]), numbers[unit, n_numeric + j])
        loss += counts[unit, PERSONS] * away
    for j in range(CATEGORY, counts.shape[1]):
        for at in range(first, first + n):
            unit = member[at]
            records_of[counts[unit, j]] += counts[unit, PERSONS] * counts[unit, COUNT]
        for at in range(first, first + n):
            unit = member[at]
            loss += counts[unit, PERSONS] * (1.0 - records_of[counts[unit, j]] / records)
        for at in range(first, first + n):
            records_of[counts[member[at], j]] = 0
    return loss


@inner_kernel
def distance(numbers, counts, unit, counted, measured, group):
    """About how far a person of a unit is from a group: as if all categories but the commonest were rare."""
    n_numeric = numbers.shape[1] // 2
    away = 0.0
    for j in range(n_numeric):
        away += max(abs(numbers[unit, j] - measured[group, CENTRE + j]), numbers[unit, n_numeric + j])
    for j in range(counts.shape[1] - CATEGORY):
        away += 1.0
        if counts[unit, CATEGORY + j] == counted[group, MODE + j]:
            away -= measured[group, CENTRE + n_numeric + j]
    return away


@inner_kernel
def _recount(numbers, counts, member, first, counted, measured, group, away, records_of):
    """Count a group anew from its members, once its loss and centre are measured."""
    end = first + counted[group, SIZE]
    persons, records, squared, most, second = 0, 0, 0, 0, 0
    for at in range(first, end):
        own, count = counts[member[at], PERSONS], counts[member[at], COUNT]
        persons += own
        records += own * count
        squared += own * count * count
        if count > most:
            most, second = count, most
        elif count > second:
            second = count
    counted[group, GROUP_PERSONS], counted[group, RECORDS], counted[group, SQUARED] = persons, records, squared
    counted[group, MOST], counted[group, SECOND] = most, second
    for j in range(counts.shape[1] - CATEGORY):
        commonest = 0
        for at in range(first, end):
            code = counts[member[at], CATEGORY + j]
            records_of[code] += counts[member[at], PERSONS] * counts[member[at], COUNT]
            if records_of[code] > commonest:
                commonest = records_of[code]
                counted[group, MODE + j] = code
        measured[group, CENTRE + numbers.shape[1] // 2 + j] = commonest / records
        for at in range(first, end):
            records_of[counts[member[at], CATEGORY + j]] = 0
    for at in range(first, end):
        away[member[at]] = distance(numbers, counts, member[at], counted, measured, group)


@inner_kernel
def _both_keep(counts, limits, counted, here, there, unit, other):
    """Whether two groups keep to the limits when a unit goes from here to there and another (-1: none) comes back."""
    for side in range(2):
        group, leaving, coming = (here, unit, other) if side == 0 else (there, other, unit)
        persons, records, squared = counted[group, GROUP_PERSONS], counted[group, RECORDS], counted[group, SQUARED]
        most = counted[group, MOST]
        if leaving >= 0:
            own, count = counts[leaving, PERSONS], counts[leaving, COUNT]
            persons -= own
            records -= own * count
            squared -= own * count * count
            if count == most:
                most = counted[group, SECOND]
        if coming >= 0:
            own, count = counts[coming, PERSONS], counts[coming, COUNT]
            persons += own
            records += own * count
            squared += own * count * count
            most = max(most, count)
        if not (persons > 0 and keeps(limits, persons, records, squared, most)):
            return False
    return True


@inner_kernel
def _look_around(
    numbers, counts, limits, member, width, counted, measured, away, here, n_groups, unit, number, swaps, near, how_far
):  # fmt: skip
    """The best move and the best swap of a unit, by distances: near[0] is a group, near[1] a unit, or -1.

    `number` is that of the unit in its pool. The nearest groups are listed in `near` from 2 on, and `how_far` they are.
    """
    n_near = 0
    for group in range(n_groups):
        if group == here:
            continue
        there = distance(numbers, counts, unit, counted, measured, group)
        if n_near < len(how_far):
            n_near += 1
        elif there >= how_far[n_near - 1]:
            continue
        at = n_near - 1
        while at > 0 and how_far[at - 1] > there:
            near[2 + at], how_far[at] = near[1 + at], how_far[at - 1]
            at -= 1
        near[2 + at], how_far[at] = group, there
    move_gain, swap_gain = 0.0, 0.0
    near[0], near[1] = -1, -1
    for at in range(n_near):
        group = near[2 + at]
        size = counted[group, SIZE]
        if size > LARGE_GROUP:
            continue
        gain = counts[unit, PERSONS] * (away[unit] - how_far[at])
        step = size // MOST_PARTNERS + 1
        for place in range(number % step - step, size if swaps else 0, step):
            other = member[group * width + place] if place >= 0 else -1
            both = gain
            if other >= 0:
                if gain + counts[other, PERSONS] * away[other] <= swap_gain:
                    continue
                back = distance(numbers, counts, other, counted, measured, here)
                both += counts[other, PERSONS] * (away[other] - back)
            if both > (swap_gain if other >= 0 else move_gain) and _both_keep(
                counts, limits, counted, here, group, unit, other
            ):
                if other >= 0:
                    swap_gain, near[1] = both, other
                else:
                    move_gain, near[0] = both, group


@kernel
def settle(
    numbers, counts, pool_start, groups_of_pool, limits, passes, swaps, member, counted, measured, away, records_of,
    near, how_far, group_in_pool, lost,
):  # fmt: skip
    """See `settle_pools`. What lies between `swaps` and `group_in_pool` is for working in.

    Of each unit the best move and the best swap by distances are weighed exactly; the better is made if it pays.
    """
    spare = len(measured) - 1
    for pool in range(len(groups_of_pool)):
        n_groups, first = groups_of_pool[pool], pool_start[pool]
        width = pool_start[pool + 1] - first + 1  # of the units of a group in `member`
        for group in range(n_groups):
            counted[group, SIZE] = 0
        for unit in range(first, pool_start[pool + 1]):
            group = group_in_pool[unit]
            member[group * width + counted[group, SIZE]] = unit
            counted[group, SIZE] += 1
        for group in range(n_groups):
            listed, n = group * width, counted[group, SIZE]
            measured[group, LOSS] = loss_of(numbers, counts, member, listed, n, measured, group, records_of)
            _recount(numbers, counts, member, listed, counted, measured, group, away, records_of)
        for _ in range(passes if n_groups > 1 and len(how_far) else 0):
            n_changes = 0
            for unit in range(first, pool_start[pool + 1]):
                here = group_in_pool[unit]
                if counted[here, SIZE] > LARGE_GROUP:
                    continue
                _look_around(
                    numbers, counts, limits, member, width, counted, measured, away, here, n_groups, unit,
                    unit - first, swaps, near, how_far,
                )  # fmt: skip
                best, best_group, best_other = TINY, -1, -1
                for is_swap in range(2):
                    if near[is_swap] < 0:
                        continue
                    other = near[1] if is_swap else -1
                    there = group_in_pool[other] if is_swap else near[0]
                    gain = measured[here, LOSS] + measured[there, LOSS]
                    for side in range(2):
                        group, leaving, coming = (here, unit, other) if side == 0 else (there, other, unit)
                        n, listed = 0, n_groups * width  # the last row is for groups that are only weighed
                        for at in range(group * width, group * width + counted[group, SIZE]):
                            if member[at] != leaving:
                                member[listed + n] = member[at]
                                n += 1
                        if coming >= 0:
                            member[listed + n] = coming
                            n += 1
                        gain -= loss_of(numbers, counts, member, listed, n, measured, spare, records_of)
                    if gain > best:
                        best, best_group, best_other = gain, there, other
                if best_group < 0:
                    continue
                n_changes += 1
                for side in range(2):
                    group, leaving, coming = (here, unit, best_other) if side == 0 else (best_group, best_other, unit)
                    n, listed = counted[group, SIZE], group * width
                    if leaving >= 0:
                        for at in range(listed, listed + n):
                            if member[at] == leaving:
                                member[at] = member[listed + n - 1]
                                break
                        n -= 1
                    if coming >= 0:
                        member[listed + n] = coming
                        group_in_pool[coming] = group
                        n += 1
                    counted[group, SIZE] = n
                    measured[group, LOSS] = loss_of(numbers, counts, member, listed, n, measured, group, records_of)
                    _recount(numbers, counts, member, listed, counted, measured, group, away, records_of)
            if n_changes == 0:
                break
        lost[pool] = 0.0
        for group in range(n_groups):
            lost[pool] += measured[group, LOSS]


def pool_groups(
    centre: NDArray[np.float64],
    units_of_group: NDArray[np.int64],
    most_units: int,
    most_groups: int,
    chance: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Near groups in pools: the groups in an order, and where each pool starts.

    Groups are parted by their centres, in the direction in which these spread most (give or take some chance), near
    the middle (give or take), until a part has at most so many units and so many groups.
    """
    n_groups = len(centre)
    work = np.empty((5, n_groups + 1), np.int64)
    is_start = np.zeros(n_groups + 1, np.bool_)
    is_start[n_groups] = True
    part_groups(centre, units_of_group, most_units, most_groups, chance, np.empty(n_groups), work, is_start)
    return work[0, :n_groups].copy(), np.flatnonzero(is_start)


@kernel
def part_groups(centre, units_of_group, most_units, most_groups, chance, key, work, is_start):
    """See `pool_groups`. The order is written to the first row of `work`; `key` and the other rows are to work in."""
    order, place, held, open_start, open_end = 0, 1, 2, 3, 4  # rows of `work`
    n_groups, n_directions = centre.shape
    for at in range(n_groups):
        work[order, at] = at
    work[open_start, 0], work[open_end, 0] = 0, n_groups
    n_open, drawn = 1, 0
    while n_open:
        n_open -= 1
        start, end = work[open_start, n_open], work[open_end, n_open]
        n_units = 0
        for at in range(start, end):
            n_units += units_of_group[work[order, at]]
        if end - start == 1 or (n_units <= most_units and end - start <= most_groups):
            is_start[start] = True
            continue
        widest, direction = -1.0, 0
        for j in range(n_directions):
            total, squares = 0.0, 0.0
            for at in range(start, end):
                total += centre[work[order, at], j]
                squares += centre[work[order, at], j] ** 2
            mean = total / (end - start)
            width = np.sqrt(max(squares / (end - start) - mean * mean, 0.0)) * (0.5 + chance[drawn % len(chance)])
            drawn += 1
            if width > widest:
                widest, direction = width, j
        for at in range(start, end):
            key[at - start] = centre[work[order, at], direction]
        sort_places(key, end - start, work, place, held)
        for at in range(end - start):
            work[held, at] = work[order, start + work[place, at]]
        for at in range(end - start):
            work[order, start + at] = work[held, at]
        share = 0.35 + 0.3 * chance[drawn % len(chance)]
        drawn += 1
        middle = start + max(1, min(end - start - 1, int((end - start) * share)))
        work[open_start, n_open], work[open_end, n_open] = start, middle
        work[open_start, n_open + 1], work[open_end, n_open + 1] = middle, end
        n_open += 2
