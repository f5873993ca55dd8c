"""Groups of kinds made better by opening new ones. Arrays in, arrays out; no tables, and drawn numbers are given.

A group shows of each attribute the lowest node above its kinds; what the nodes of all attributes cover is its *cover*,
and records times cover its loss. All kernels take the same plain arrays, in this order (docs/decisions/021):

- `node`, `start`: as in `recoding.Kinds`; `size`: (kinds, 4) persons, records, squared records, the most of a person,
- `of_node`, `node_start`: the shares that nodes cover, as in `recoding.Shares`,
- `value`, `value_start`: as in `recoding.Values`,
- `limits`: (6) as in `trees.Limits`,
- `link`: (kinds, 5) the group of a kind, its neighbours in the list of the group, what the group lacks without it, and
  of which version of the group that is known; `relief`: (kinds) by how much the group's loss falls without it,
- `row`: (groups, 7 + attributes + values) the first kind of a group, its sizes, kinds, version, levels and values;
  `cover`: (groups). The last row is worked in, and is no group. A group without a kind can be taken for a new one.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiling import kernel

LEAST = 1e-9
"""A gain below this is none."""

MANY = 64
"""Of groups with more kinds than this it is not asked whether they show more once a single kind has left."""

MOST_MOVES = 512
"""So many kinds may change their group at once."""

GROUP, AFTER, BEFORE, LACKS, KNOWN_AT = range(5)
LINKS = 5
PERSONS, RECORDS, SQUARED, MOST = range(4)
HEAD, SIZE, KINDS, VERSION, LEVEL = 0, 1, 5, 6, 7


@kernel
def _common_place(node, place, one, other):
    """The lowest place of an attribute, from the given one up, at which two kinds are one node."""
    while node[one, place] != node[other, place]:
        place += 1
    return place


@kernel
def _share(node, of_node, node_start, kind, place):
    at = node_start[place] + node[kind, place]
    return of_node[at] if at < node_start[place + 1] else 1.0


@kernel
def offer_neighbours(node, start, of_node, node_start, order, window, near, distance):
    """Offer to every kind those that stand behind it in an order, and it to them; each keeps the nearest it has seen.

    `near` lists kinds from the nearest on, -1 where there is none; `distance` is what the nodes above both cover.
    """
    last = near.shape[1] - 1
    for at in range(len(order)):
        one = order[at]
        for behind in range(at + 1, min(len(order), at + 1 + window)):
            other = order[behind]
            most = max(distance[one, last], distance[other, last])
            apart = 0.0
            for j in range(len(start) - 1):
                apart += _share(node, of_node, node_start, one, _common_place(node, start[j], one, other))
                if apart >= most:
                    break
            if apart < most:
                _offer(near, distance, one, other, apart)
                _offer(near, distance, other, one, apart)


@kernel
def _offer(near, distance, one, other, apart):
    at = near.shape[1] - 1
    if apart >= distance[one, at]:
        return
    for place in range(at + 1):
        if near[one, place] == other:
            return
    while at > 0 and distance[one, at - 1] > apart:
        distance[one, at] = distance[one, at - 1]
        near[one, at] = near[one, at - 1]
        at -= 1
    distance[one, at] = apart
    near[one, at] = other


@kernel
def fill_groups(node, start, size, of_node, node_start, value, value_start, link, row, cover):
    """Make the lists and counts of groups from the group of each kind."""
    for group in range(len(row)):
        row[group, HEAD] = -1
        row[group, VERSION] = 0
    for kind in range(len(link)):
        group = link[kind, GROUP]
        link[kind, KNOWN_AT] = -1
        link[kind, BEFORE] = -1
        link[kind, AFTER] = row[group, HEAD]
        if row[group, HEAD] >= 0:
            link[row[group, HEAD], BEFORE] = kind
        row[group, HEAD] = kind
    for group in range(len(row)):
        _sum_up(node, start, size, of_node, node_start, value, value_start, link, row, cover, group, -1, group)


@kernel
def _sum_up(node, start, size, of_node, node_start, value, value_start, link, row, cover, group, without, to):
    """Write counts, levels, cover and values of a group without one of its kinds (-1: with all) to a row."""
    n_attributes = len(start) - 1
    for at in range(SIZE, VERSION):
        row[to, at] = 0
    for j in range(n_attributes):
        row[to, LEVEL + j] = start[j]
    for at in range(LEVEL + n_attributes, row.shape[1]):
        row[to, at] = -1
    first = -1
    kind = row[group, HEAD]
    while kind >= 0:
        if kind != without:
            if first < 0:
                first = kind
            else:
                for j in range(n_attributes):
                    row[to, LEVEL + j] = _common_place(node, row[to, LEVEL + j], first, kind)
            _count(start, size, value, value_start, row, kind, to)
        kind = link[kind, AFTER]
    covered = 0.0
    if first >= 0:
        for j in range(n_attributes):
            covered += _share(node, of_node, node_start, first, row[to, LEVEL + j])
    cover[to] = covered


@kernel
def _count(start, size, value, value_start, row, kind, to):
    """Count a kind, and its values up to as many as are asked for."""
    for at in range(3):
        row[to, SIZE + at] += size[kind, at]
    row[to, SIZE + MOST] = max(row[to, SIZE + MOST], size[kind, MOST])
    row[to, KINDS] += 1
    values = LEVEL + len(start) - 1
    for attribute in range(len(value_start) - 1):
        end = value_start[attribute + 1]
        for at in range(value_start[attribute], end):
            place = value_start[attribute]
            while place < end and row[to, values + place] >= 0 and row[to, values + place] != value[kind, at]:
                place += 1
            if value[kind, at] < 0 or place == end:
                break
            row[to, values + place] = value[kind, at]


@kernel
def _lack(start, size, value, value_start, limits, row, group, more):
    """How many persons, records or values a group lacks with one kind more (-1: as it is); 0 where it keeps to all."""
    persons, records = row[group, SIZE + PERSONS], row[group, SIZE + RECORDS]
    squared, most = row[group, SIZE + SQUARED], row[group, SIZE + MOST]
    if more >= 0:
        persons += size[more, PERSONS]
        records += size[more, RECORDS]
        squared += size[more, SQUARED]
        most = max(most, size[more, MOST])
    lack = max(limits[0] - persons, limits[1] - records, 0)
    if most * limits[3] > limits[2] * records or squared * limits[5] > limits[4] * records * records:
        lack = max(lack, 1)
    values = LEVEL + len(start) - 1
    for attribute in range(len(value_start) - 1):
        begin, end = value_start[attribute], value_start[attribute + 1]
        held = begin
        while held < end and row[group, values + held] >= 0:
            held += 1
        n_lacking = end - held
        if more >= 0 and n_lacking > 0:
            for at in range(begin, end):
                if value[more, at] < 0:
                    break
                is_new = 1
                for place in range(begin, held):
                    if row[group, values + place] == value[more, at]:
                        is_new = 0
                        break
                n_lacking -= is_new
        lack = max(lack, n_lacking)
    return lack


@kernel
def _loss(row, cover, group):
    return cover[group] * row[group, SIZE + RECORDS]


@kernel
def _rise(node, start, size, of_node, node_start, row, cover, group, kind, most):
    """By how much the loss of a group rises when a kind joins it; infinity once that is seen to be `most` or more."""
    first = row[group, HEAD]
    records = row[group, SIZE + RECORDS] + size[kind, RECORDS]
    most += _loss(row, cover, group)
    covered = cover[group]
    for j in range(len(start) - 1):
        place = row[group, LEVEL + j]
        if node[first, place] != node[kind, place]:
            covered -= _share(node, of_node, node_start, first, place)
            covered += _share(node, of_node, node_start, kind, _common_place(node, place + 1, first, kind))
            if covered * records >= most:
                return np.inf
    return covered * records - _loss(row, cover, group)


@kernel
def _relieve(
    node, start, size, of_node, node_start, value, value_start, limits, link, relief, row, cover, kind
):  # fmt: skip
    """Find by how much the loss of a group falls when a kind leaves it, and what it then lacks.

    That is the smaller of the persons who stay and of those who lack.
    """
    group = link[kind, GROUP]
    if link[kind, KNOWN_AT] == row[group, VERSION]:
        return
    spare = len(row) - 1
    if row[group, KINDS] > MANY and len(value_start) == 1:
        for at in range(3):
            row[spare, SIZE + at] = row[group, SIZE + at] - size[kind, at]
        row[spare, SIZE + MOST] = row[group, SIZE + MOST]
        cover[spare] = cover[group]
    else:
        _sum_up(node, start, size, of_node, node_start, value, value_start, link, row, cover, group, kind, spare)
    relief[kind] = _loss(row, cover, group) - _loss(row, cover, spare)
    lack = _lack(start, size, value, value_start, limits, row, spare, -1)
    link[kind, LACKS] = min(row[spare, SIZE + PERSONS], lack)
    link[kind, KNOWN_AT] = row[group, VERSION]


@kernel
def _move(node, start, size, of_node, node_start, value, value_start, link, row, cover, kind, to):
    """Move a kind to another group; by how much the loss of all rises. Both have a version that was never before."""
    group = link[kind, GROUP]
    rise = -_loss(row, cover, to) - _loss(row, cover, group)
    before, after = link[kind, BEFORE], link[kind, AFTER]
    if before >= 0:
        link[before, AFTER] = after
    else:
        row[group, HEAD] = after
    if after >= 0:
        link[after, BEFORE] = before
    _sum_up(node, start, size, of_node, node_start, value, value_start, link, row, cover, group, -1, group)
    first = row[to, HEAD]
    covered = 0.0
    for j in range(len(start) - 1):
        place = start[j] if first < 0 else _common_place(node, row[to, LEVEL + j], first, kind)
        row[to, LEVEL + j] = place
        covered += _share(node, of_node, node_start, kind, place)
    cover[to] = covered
    link[kind, AFTER] = first
    link[kind, BEFORE] = -1
    if first >= 0:
        link[first, BEFORE] = kind
    row[to, HEAD] = kind
    link[kind, GROUP] = to
    _count(start, size, value, value_start, row, kind, to)
    spare = len(row) - 1
    row[group, VERSION] = row[spare, VERSION] + 1
    row[to, VERSION] = row[spare, VERSION] + 2
    row[spare, VERSION] += 2
    return rise + _loss(row, cover, group) + _loss(row, cover, to)


@kernel
def _best_home(
    node, start, size, of_node, node_start, value, value_start, limits, link, row, cover, near, kind, penalty, most
):  # fmt: skip
    """Of the groups of those who are near, the one whose loss rises least with a kind, and by less than `most`; or -1.

    A group that lacks somebody is one of them where it lacks less with the kind; that counts for it.
    """
    best = -1
    for at in range(near.shape[1]):
        if near[kind, at] < 0:
            break
        group = link[near[kind, at], GROUP]
        if group == link[kind, GROUP] or group == best:
            continue
        lack = _lack(start, size, value, value_start, limits, row, group, -1)
        rise = _rise(node, start, size, of_node, node_start, row, cover, group, kind, most + penalty * lack)
        if rise - penalty * lack < most:
            less = lack - _lack(start, size, value, value_start, limits, row, group, kind)
            if rise - penalty * less < most and less >= (1 if lack > 0 else 0):
                best, most = group, rise - penalty * less
    return best


@kernel
def _next_to_join(
    node, start, size, of_node, node_start, value, value_start, limits, link, relief, row, cover, near, kind, penalty
):  # fmt: skip
    """Who of those near a kind joins its new group at the least rise for each person that it lacks; -1 for nobody.

    Once it lacks nobody, only those join by whom the loss falls, and who leave a group that lacks nobody either.
    """
    opened = link[kind, GROUP]
    lack = _lack(start, size, value, value_start, limits, row, opened, -1)
    best, least = -1, np.inf if lack > 0 else -LEAST
    for at in range(near.shape[1]):
        other = near[kind, at]
        if other < 0:
            break
        group = link[other, GROUP]
        if group == opened:
            continue
        lack_with = _lack(start, size, value, value_start, limits, row, opened, other)
        if lack == 0 and lack_with > 0:
            continue
        filled = max(0.5, lack - lack_with) if lack > 0 else 1.0
        lacked = min(row[group, SIZE + PERSONS], _lack(start, size, value, value_start, limits, row, group, -1))
        most = least * filled + _loss(row, cover, group) + penalty * lacked
        rise = _rise(node, start, size, of_node, node_start, row, cover, opened, other, most)
        if rise >= most:
            continue
        _relieve(node, start, size, of_node, node_start, value, value_start, limits, link, relief, row, cover, other)
        if lack == 0 and link[other, LACKS] > 0:
            continue
        rise = (rise - relief[other] + penalty * (link[other, LACKS] - lacked)) / filled
        if rise < least:
            best, least = other, rise
    return best


@kernel
def _loss_of_lacking(start, size, value, value_start, limits, row, cover, moved, n_joined):
    """The loss of the groups that those who joined a new one have left, and that now lack somebody."""
    loss = 0.0
    for i in range(n_joined):
        group = moved[i, 1]
        is_first = True
        for earlier in range(i):
            if moved[earlier, 1] == group:
                is_first = False
                break
        if is_first and _lack(start, size, value, value_start, limits, row, group, -1) > 0:
            loss += _loss(row, cover, group)
    return loss


@kernel
def _smallest_lacking(start, size, value, value_start, limits, row, moved, n_joined):
    """Of the groups that those who joined a new one have left and that lack somebody, the smallest; -1 for none."""
    best = -1
    for i in range(n_joined):
        group = moved[i, 1]
        is_smaller = best < 0 or row[group, SIZE + PERSONS] < row[best, SIZE + PERSONS]
        if row[group, HEAD] >= 0 and is_smaller:
            best = group if _lack(start, size, value, value_start, limits, row, group, -1) > 0 else best
    return best


@kernel
def open_groups(
    node, start, size, of_node, node_start, value, value_start, limits, link, relief, row, cover,
    near, order, drawn, penalties, heat, spared, moved, free,
):  # fmt: skip
    """Ask each kind of an order whether it is better off in a group near by, or in a new one with those around it.

    Groups that lack somebody by it are dissolved: each of their kinds joins the group near by whose loss rises least.
    What does not lower the loss of all is taken back; with a `heat` above 0 a rise is kept now and then.

    Parameters
    ----------
    near
        For each kind those that are near.
    drawn
        (order, 3) numbers in [0, 1): for the penalty of a person whom a group lacks, for whether a rise is kept, and
        for whether a kind is asked.
    penalties
        The least and the highest penalty.
    spared
        Kinds whose group covers less than this are asked the less often the less it is.
    moved, free
        Memory to work in: (moves, 4), and as long as groups.

    Returns
    -------
    int
        How many times groups were changed.
    """
    n_free = 0
    for group in range(len(row) - 1):
        if row[group, HEAD] < 0:
            free[n_free] = group
            n_free += 1
    n_changed = 0
    for at in range(len(order)):
        kind = order[at]
        group = link[kind, GROUP]
        if cover[group] <= drawn[at, 2] * spared:
            continue
        _relieve(node, start, size, of_node, node_start, value, value_start, limits, link, relief, row, cover, kind)
        if link[kind, LACKS] == 0 and row[group, KINDS] > 1:
            home = _best_home(
                node, start, size, of_node, node_start, value, value_start, limits, link, row, cover,
                near, kind, 0.0, relief[kind] - LEAST,
            )  # fmt: skip
            if home >= 0:
                _move(node, start, size, of_node, node_start, value, value_start, link, row, cover, kind, home)
                n_changed += 1
                continue
        if n_free == 0:
            break
        penalty = penalties[0] + (penalties[1] - penalties[0]) * drawn[at, 0]
        most_rise = -LEAST if heat <= 0 else -heat * np.log(max(drawn[at, 1], 1e-300))
        opened = free[n_free - 1]
        n_moved = 0
        rise = 0.0
        joins = kind
        while joins >= 0 and n_moved < MOST_MOVES:
            moved[n_moved, 0] = joins
            moved[n_moved, 1] = link[joins, GROUP]
            moved[n_moved, 2] = row[link[joins, GROUP], VERSION]
            n_moved += 1
            rise += _move(node, start, size, of_node, node_start, value, value_start, link, row, cover, joins, opened)
            joins = _next_to_join(
                node, start, size, of_node, node_start, value, value_start, limits, link, relief, row, cover,
                near, kind, penalty,
            )  # fmt: skip
        holds = _lack(start, size, value, value_start, limits, row, opened, -1) == 0
        n_joined = n_moved
        if holds:
            lost = _loss_of_lacking(start, size, value, value_start, limits, row, cover, moved, n_joined)
            holds = rise - lost < most_rise
        while holds:
            group = _smallest_lacking(start, size, value, value_start, limits, row, moved, n_joined)
            if group < 0:
                break
            while holds and row[group, HEAD] >= 0:
                leaves = row[group, HEAD]
                home = _best_home(
                    node, start, size, of_node, node_start, value, value_start, limits, link, row, cover,
                    near, leaves, penalty, np.inf,
                )  # fmt: skip
                holds = home >= 0 and n_moved < MOST_MOVES
                if holds:
                    moved[n_moved, 0] = leaves
                    moved[n_moved, 1] = group
                    moved[n_moved, 2] = row[group, VERSION]
                    moved[n_moved, 3] = row[home, VERSION]
                    n_moved += 1
                    rise += _move(
                        node, start, size, of_node, node_start, value, value_start, link, row, cover, leaves, home
                    )
        if holds and rise < most_rise:
            n_changed += 1
            n_free -= 1
            for i in range(n_joined):
                group = moved[i, 1]
                if row[group, HEAD] == -1:
                    free[n_free] = group
                    n_free += 1
                    row[group, HEAD] = -2  # a group is free once
            for i in range(n_joined):
                row[moved[i, 1], HEAD] = max(row[moved[i, 1], HEAD], -1)
            continue
        for i in range(n_moved - 1, -1, -1):
            left = link[moved[i, 0], GROUP]
            _move(
                node, start, size, of_node, node_start, value, value_start, link, row, cover, moved[i, 0], moved[i, 1]
            )
            row[moved[i, 1], VERSION] = moved[i, 2]
            if i >= n_joined:
                row[left, VERSION] = moved[i, 3]
    return n_changed
