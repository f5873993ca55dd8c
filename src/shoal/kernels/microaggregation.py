"""Groups of near points, by MDAV and V-MDAV. Arrays in, arrays out; no tables, no checks, no randomness.

Points that are grouped have whole numbers as coordinates, so that sums are exact and a mean does not depend on who left
first. Of equal distances the point with the lowest number wins. The points that are in no group yet stand in a tree of
boxes, which shrink as points leave, so that a search looks at few of them.

Distances are squared Euclidean ones, or else straight: the sum of the differences, column by column, which Gower's are.

A group may be asked to have the classes of the whole table: who joins it is then chosen by the composite distance of Li
and Sarkar, alpha * length + (1 - alpha) * divergence of the group's classes with those of the newcomer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.compiling import kernel
from shoal.kernels.spanning import divergence_of

POINTS_A_LEAF = 8
NOBODY = 2**62

CANDIDATES = 16
"""With classes to mix, the m points of a group are chosen among so many times m that are nearest."""

ROUNDING = 1e-12
"""By what share rounding may spoil the bound on how far a node reaches."""


class Left(NamedTuple):
    """The points that are left, in a binary tree: the children of node i are 2i + 1 and 2i + 2."""

    point: np.ndarray  # by place
    number: np.ndarray  # the number of the point at each place
    place: np.ndarray  # the place of each number
    leaf: np.ndarray  # the leaf of each place
    start: np.ndarray  # the first place of each node
    size: np.ndarray  # how many points each leaf has left, which stand in front; of the first node, how many there are
    low: np.ndarray  # the box of each node: its lowest corner
    high: np.ndarray  # and its highest
    first: np.ndarray  # the lowest number that each node has left, or NOBODY
    centre: np.ndarray  # the mean of all points
    square: np.ndarray  # by place: the distance from the centre, as distances are
    reach: np.ndarray  # the largest of those that each node has left
    straight: bool  # whether distances are sums of differences, and not of their squares
    most: np.ndarray  # of straight distances: the most that columns up to one add, -1 where more follow; or nothing


class Mixing(NamedTuple):
    """How much the classes of a group count beside distances, and who has which classes."""

    alpha: float  # the weight of the length; with 1 classes do not count
    a_unit: float  # what one step of the points' grid is in length
    kind: np.ndarray  # of each point
    classes: np.ndarray  # (kinds, classes): how many records of each class a point of the kind has
    whole: np.ndarray  # the share of each class in the whole table


@kernel
def _between(one, other, straight):
    """The distance of two points: the sum of the differences, or of their squares."""
    if straight:
        return np.abs(one - other).sum()
    return ((one - other) ** 2).sum()


@kernel
def length_of(distance, straight):
    """What adds up along a way: a straight distance itself, the root of a squared one."""
    return distance if straight else np.sqrt(distance)


@kernel
def _fit_box(left, node, n_inner):
    """Recount the box, the lowest number and the reach of a node from its children, or from its points."""
    left.first[node] = NOBODY
    left.reach[node] = -1.0
    left.low[node, :] = np.inf
    left.high[node, :] = -np.inf
    n_columns = left.point.shape[1]
    if node < n_inner:
        for child in (2 * node + 1, 2 * node + 2):
            left.first[node] = min(left.first[node], left.first[child])
            left.reach[node] = max(left.reach[node], left.reach[child])
            for j in range(n_columns):
                left.low[node, j] = min(left.low[node, j], left.low[child, j])
                left.high[node, j] = max(left.high[node, j], left.high[child, j])
    else:
        for place in range(left.start[node], left.start[node] + left.size[node]):
            left.first[node] = min(left.first[node], left.number[place])
            left.reach[node] = max(left.reach[node], left.square[place])
            for j in range(n_columns):
                left.low[node, j] = min(left.low[node, j], left.point[place, j])
                left.high[node, j] = max(left.high[node, j], left.point[place, j])


NO_BLOCKS = np.zeros(0)


def all_points(points, straight=False, most=NO_BLOCKS):
    """A tree of all points: nodes are halved across their widest column."""
    return _all_points(points, straight, most)


@kernel
def _all_points(points, straight, most):
    n, n_columns = points.shape
    n_leaves = 1
    while n_leaves * POINTS_A_LEAF < n:
        n_leaves *= 2
    n_inner = n_leaves - 1
    n_nodes = 2 * n_leaves - 1
    number = np.arange(n)
    start = np.zeros(n_nodes, np.int64)
    size = np.zeros(n_nodes, np.int64)
    size[0] = n
    for node in range(n_inner):
        here = number[start[node] : start[node] + size[node]].copy()
        widest, width = 0, -1.0
        for j in range(n_columns):
            low, high = np.inf, -np.inf
            for i in here:
                low = min(low, points[i, j])
                high = max(high, points[i, j])
            if high - low > width:
                widest, width = j, high - low
        keys = np.empty(len(here))
        for at in range(len(here)):
            keys[at] = points[here[at], widest]
        number[start[node] : start[node] + size[node]] = here[np.argsort(keys, kind="mergesort")]
        half = size[node] // 2
        start[2 * node + 1], size[2 * node + 1] = start[node], half
        start[2 * node + 2], size[2 * node + 2] = start[node] + half, size[node] - half
    place = np.empty(n, np.int64)
    point = np.empty_like(points)
    leaf = np.empty(n, np.int64)
    centre = np.zeros(n_columns)
    for at in range(n):
        place[number[at]] = at
        point[at] = points[number[at]]
        centre += point[at] / n
    square = np.empty(n)
    for at in range(n):
        square[at] = _between(point[at], centre, straight)
    left = Left(
        point, number, place, leaf, start, size,
        np.empty((n_nodes, n_columns)), np.empty((n_nodes, n_columns)), np.empty(n_nodes, np.int64),
        centre, square, np.empty(n_nodes), straight, most,
    )  # fmt: skip
    for node in range(n_nodes - 1, -1, -1):
        if node >= n_inner:
            leaf[start[node] : start[node] + size[node]] = node
        _fit_box(left, node, n_inner)
    return left


@kernel
def _holds_up(left, node, place):
    """Whether a node would be smaller without the point at a place: in its box, its lowest number or its reach."""
    if left.first[node] == left.number[place] or left.reach[node] == left.square[place]:
        return True
    for j in range(left.point.shape[1]):
        value = left.point[place, j]
        if value == left.low[node, j] or value == left.high[node, j]:
            return True
    return False


@kernel
def remove(left, number):
    """Take a point out of the tree."""
    n_inner = len(left.size) // 2
    place = left.place[number]
    node = left.leaf[place]
    last = left.start[node] + left.size[node] - 1
    other = left.number[last]
    for j in range(left.point.shape[1]):
        left.point[place, j], left.point[last, j] = left.point[last, j], left.point[place, j]
    left.square[place], left.square[last] = left.square[last], left.square[place]
    left.number[place], left.number[last] = other, number
    left.place[other], left.place[number] = place, last
    left.size[node] -= 1
    if node > 0:
        left.size[0] -= 1
    while _holds_up(left, node, last):
        _fit_box(left, node, n_inner)
        if node == 0:
            break
        node = (node - 1) // 2


@kernel
def _distance(left, place, where):
    total = 0.0
    if left.straight:
        for j in range(len(where)):
            total += abs(left.point[place, j] - where[j])
        return total
    for j in range(len(where)):
        away = left.point[place, j] - where[j]
        total += away * away
    return total


@kernel
def _least(left, node, where):
    """No point of a node is nearer than this; computed as distances are, so that rounding cannot reverse it."""
    total = 0.0
    for j in range(len(where)):
        away = max(left.low[node, j] - where[j], where[j] - left.high[node, j], 0.0)
        total += away if left.straight else away * away
    return total


@kernel
def _most(left, node, where, from_centre, own):
    """No point of a node is farther than this.

    The points lie in the node's box, and in the ball around the centre that its reach gives. With q = `from_centre`, of
    square `own`, and y a point seen from the centre, (y - q)^2 is at most its value at the box's far corner. It is also
    q^2 + y^2 - 2qy, and for any p >= 0, since y^2 is at most the reach r, at most q^2 + (1 + p) r + max (-2qy - p y^2)
    over the box, column by column. The p at which the ball alone is touched is a good one. Straight distances add up
    instead: no point is farther than by way of the centre; and the columns of one quasi-identifier, of which each says
    whether it is one category, add no more than two different categories differ.
    """
    to_corner, inside = 0.0, 0.0
    reach = left.reach[node]
    if left.straight:
        together = 0.0
        for j in range(len(where)):
            together += max(where[j] - left.low[node, j], left.high[node, j] - where[j])
            if len(left.most) == 0 or left.most[j] >= 0.0:
                to_corner += together if len(left.most) == 0 else min(together, left.most[j])
                together = 0.0
        return min(to_corner, (own + reach) * (1.0 + ROUNDING))
    pull = np.sqrt(own / reach) if reach > 0.0 else 0.0
    for j in range(len(where)):
        low, high = left.low[node, j], left.high[node, j]
        away = max(where[j] - low, high - where[j])
        to_corner += away * away
        at = -from_centre[j] / pull if pull > 0.0 else 0.0
        at = min(max(at, low - left.centre[j]), high - left.centre[j])
        inside -= at * (2.0 * from_centre[j] + pull * at)
    in_ball = own + (1.0 + pull) * reach + inside
    return min(to_corner, in_ball + ROUNDING * (1.0 + own + reach))


@kernel
def nearest(left, where, distances, numbers):
    """The nearest points that are left, nearest first, as many as `numbers` holds; gives how many there are."""
    n_inner = len(left.size) // 2
    wanted, found = len(numbers), 0
    nodes, bounds = np.empty(128, np.int64), np.empty(128, np.float64)
    nodes[0], bounds[0] = 0, 0.0
    depth = 1 if left.size[0] else 0
    while depth:
        depth -= 1
        node, bound = nodes[depth], bounds[depth]
        if found == wanted and not _before(bound, left.first[node], distances[found - 1], numbers[found - 1]):
            continue
        if node < n_inner:
            one, two = 2 * node + 1, 2 * node + 2
            bound_one = _least(left, one, where) if left.first[one] != NOBODY else np.inf
            bound_two = _least(left, two, where) if left.first[two] != NOBODY else np.inf
            if _before(bound_one, left.first[one], bound_two, left.first[two]):
                one, two, bound_one, bound_two = two, one, bound_two, bound_one
            if left.first[one] != NOBODY:
                nodes[depth], bounds[depth] = one, bound_one
                depth += 1
            if left.first[two] != NOBODY:
                nodes[depth], bounds[depth] = two, bound_two
                depth += 1
            continue
        for place in range(left.start[node], left.start[node] + left.size[node]):
            distance, number = _distance(left, place, where), left.number[place]
            if found < wanted:
                found += 1
            elif not _before(distance, number, distances[found - 1], numbers[found - 1]):
                continue
            at = found - 1
            while at > 0 and _before(distance, number, distances[at - 1], numbers[at - 1]):
                distances[at], numbers[at] = distances[at - 1], numbers[at - 1]
                at -= 1
            distances[at], numbers[at] = distance, number
    return found


@kernel
def _before(distance, number, other_distance, other_number):
    return distance < other_distance or (distance == other_distance and number < other_number)


@kernel
def farthest(left, where):
    """The point that is left and farthest; of equally far ones that of the lowest number."""
    n_inner = len(left.size) // 2
    best, best_number = -1.0, NOBODY
    from_centre = where - left.centre
    own = _between(where, left.centre, left.straight)
    nodes, bounds = np.empty(128, np.int64), np.empty(128, np.float64)
    nodes[0], bounds[0] = 0, np.inf
    depth = 1
    while depth:
        depth -= 1
        node, bound = nodes[depth], bounds[depth]
        if not _before(-bound, left.first[node], -best, best_number):
            continue
        if node < n_inner:
            one, two = 2 * node + 1, 2 * node + 2
            bound_one = _most(left, one, where, from_centre, own) if left.first[one] != NOBODY else -1.0
            bound_two = _most(left, two, where, from_centre, own) if left.first[two] != NOBODY else -1.0
            if _before(-bound_one, left.first[one], -bound_two, left.first[two]):
                one, two, bound_one, bound_two = two, one, bound_two, bound_one
            if left.first[one] != NOBODY:
                nodes[depth], bounds[depth] = one, bound_one
                depth += 1
            if left.first[two] != NOBODY:
                nodes[depth], bounds[depth] = two, bound_two
                depth += 1
            continue
        for place in range(left.start[node], left.start[node] + left.size[node]):
            distance, number = _distance(left, place, where), left.number[place]
            if _before(-distance, number, -best, best_number):
                best, best_number = distance, number
    return best_number


@kernel
def count_closer(points, records_of_point, where, own, same):
    """For each place: how many records lie closer than its own distance, and how many as close.

    Distances that differ by less than the share `same` are equal. A search ends when two records are closer: the
    counts are then no more than that.
    """
    left = _all_points(points, False, np.zeros(0))
    n_inner = len(left.size) // 2
    closer, as_close = np.zeros(len(where), np.int64), np.zeros(len(where), np.int64)
    nodes = np.empty(128, np.int64)
    for i in range(len(where)):
        inner, outer = (own[i] * (1 - same)) ** 2, (own[i] * (1 + same)) ** 2
        nodes[0] = 0
        depth = 1
        while depth and closer[i] < 2:
            depth -= 1
            node = nodes[depth]
            if _least(left, node, where[i]) > outer:
                continue
            if node < n_inner:
                one, two = 2 * node + 1, 2 * node + 2
                if _least(left, one, where[i]) < _least(left, two, where[i]):
                    one, two = two, one
                nodes[depth], nodes[depth + 1] = one, two
                depth += 2
                continue
            for place in range(left.start[node], left.start[node] + left.size[node]):
                distance = _distance(left, place, where[i])
                if distance < inner:
                    closer[i] += records_of_point[left.number[place]]
                elif distance <= outer:
                    as_close[i] += records_of_point[left.number[place]]
    return closer, as_close


@kernel
def _choose(left, points, around, mixing, members):
    """Take out of the tree a point and those that join it, as many as `members` holds; gives how many there are.

    With alpha = 1 the nearest join. Else, of the CANDIDATES * m nearest, always the one that has the smallest composite
    distance from the point, given the classes of those who have joined already; of equals the nearest.
    """
    m = len(members)
    wanted = m if mixing.alpha == 1.0 else CANDIDATES * m
    distances, numbers = np.empty(wanted), np.empty(wanted, np.int64)
    n_found = nearest(left, points[around], distances, numbers)
    if mixing.alpha < 1.0:
        _mixed_first(distances[:n_found], numbers[:n_found], m, mixing, left.straight)
    n_found = min(n_found, m)
    for at in range(n_found):
        members[at] = numbers[at]
        remove(left, numbers[at])
    return n_found


@kernel
def _mixed_first(distances, numbers, m, mixing, straight):
    """Move to the front, behind the first of some points, the m - 1 that join it by composite distance."""
    n_classes = len(mixing.whole)
    classes, together = np.zeros(n_classes, np.int64), np.empty(n_classes, np.int64)
    for joined in range(1, min(m, len(numbers))):
        classes += mixing.classes[mixing.kind[numbers[joined - 1]]]
        best, best_at = np.inf, joined
        for at in range(joined, len(numbers)):
            together[:] = classes
            together += mixing.classes[mixing.kind[numbers[at]]]
            length = length_of(distances[at], straight) * mixing.a_unit
            composite = mixing.alpha * length + (1.0 - mixing.alpha) * divergence_of(together, mixing.whole)
            if composite < best:
                best, best_at = composite, at
        distance, number = distances[best_at], numbers[best_at]
        for at in range(best_at, joined, -1):  # the others stay nearest first
            distances[at], numbers[at] = distances[at - 1], numbers[at - 1]
        distances[joined], numbers[joined] = distance, number


@kernel
def _take(left, points, sums, around, m, mixing, group, group_of_point):
    """Put m points in a group: one, and those that join it."""
    members = np.empty(m, np.int64)
    found = _choose(left, points, around, mixing, members)
    for number in members[:found]:
        group_of_point[number] = group
        for j in range(points.shape[1]):
            sums[j] -= points[number, j]


@kernel
def spots_of(points):
    """Where each run of equal points starts, and the end: equal points that stand together are one spot."""
    start = np.empty(len(points) + 1, np.int64)
    n_spots = 0
    for i in range(len(points)):
        if i == 0 or (points[i] != points[i - 1]).any():
            start[n_spots] = i
            n_spots += 1
    start[n_spots] = len(points)
    return start[: n_spots + 1].copy()


@kernel
def _sink(keys, spots, size, at):
    """Restore a heap, largest key first, whose entry `at` may be too small."""
    key, spot = keys[at], spots[at]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and keys[child + 1] > keys[child]:
            child += 1
        if keys[child] <= key:
            break
        keys[at], spots[at] = keys[child], spots[child]
        at = child
    keys[at], spots[at] = key, spot


@kernel
def _rise(keys, spots, at):
    """Restore a heap whose entry `at` may be too large."""
    key, spot = keys[at], spots[at]
    while at > 0 and keys[(at - 1) // 2] < key:
        keys[at], spots[at] = keys[(at - 1) // 2], spots[(at - 1) // 2]
        at = (at - 1) // 2
    keys[at], spots[at] = key, spot


@kernel
def _farthest_from_mean(left, mean, moved, slack, keys, spots, size, start, next_of_spot, group_of_point):
    """The point that is left and farthest from a mean that moves a little at a time; and how many spots are left.

    A spot is at most as far as when it was last looked at, and as the mean has moved since: keys are the distance then
    less all that the mean had moved by then, so that they need no change as it moves on.
    """
    best, best_number = -1.0, NOBODY
    reach = -np.inf
    n_spots = size  # those that were looked at stand behind the heap
    while size and keys[0] + moved >= reach - slack:
        spot = spots[0]
        size -= 1
        keys[0], spots[0] = keys[size], spots[size]
        _sink(keys, spots, size, 0)
        while next_of_spot[spot] < start[spot + 1] and group_of_point[next_of_spot[spot]] >= 0:
            next_of_spot[spot] += 1
        number = next_of_spot[spot]
        if number == start[spot + 1]:  # nobody is left there: the last of those looked at fills the gap
            n_spots -= 1
            keys[size], spots[size] = keys[n_spots], spots[n_spots]
            continue
        distance = _distance(left, left.place[number], mean)
        keys[size], spots[size] = length_of(distance, left.straight) - moved, spot
        if _before(-distance, number, -best, best_number):
            best, best_number = distance, number
            reach = length_of(best, left.straight)
    for at in range(size, n_spots):
        _rise(keys, spots, at)
    return best_number, n_spots


def fixed_size(points, m, mixing, straight=False, most=NO_BLOCKS):
    """Groups of m points, see `_fixed_size`."""
    return _fixed_size(points, m, mixing, straight, most)


@kernel
def _fixed_size(points, m, mixing, straight, most):
    """MDAV: the group of each point, and how many groups there are; all but the last have m points, that m to 2m - 1.

    While 3m points are left: the one farthest from the mean of all that are left, with the m - 1 nearest to it, is a
    group; the one farthest from it, with the m - 1 nearest to that, another. Of 2m or more the one farthest from the
    mean takes m; what is left is the last group. With classes to mix, those join that have the smallest composite
    distance, one by one. Points that are equal should stand together.
    """
    n = len(points)
    group_of_point = np.full(n, -1, np.int32)
    left = _all_points(points, straight, most)
    sums = np.zeros(points.shape[1])
    for i in range(n):
        sums += points[i]
    start = spots_of(points)
    next_of_spot = start[:-1].copy()
    size = len(next_of_spot)
    spots = np.arange(size)
    keys = np.full(size, np.inf)
    slack = 1e-9 * (1.0 + np.abs(points).max()) * (points.shape[1] if straight else 1)
    before = sums / n
    moved, n_groups = 0.0, 0
    while left.size[0] >= 2 * m:
        mean = sums / left.size[0]
        moved += length_of(_between(mean, before, straight), straight)
        before = mean
        one, size = _farthest_from_mean(
            left, mean, moved, slack, keys, spots, size, start, next_of_spot, group_of_point
        )
        takes_two = left.size[0] >= 3 * m
        other = farthest(left, points[one]) if takes_two else one
        _take(left, points, sums, one, m, mixing, n_groups, group_of_point)
        n_groups += 1
        if takes_two:
            if group_of_point[other] >= 0:  # it has joined the first
                other = farthest(left, points[one])
            _take(left, points, sums, other, m, mixing, n_groups, group_of_point)
            n_groups += 1
    group_of_point[group_of_point < 0] = n_groups
    return group_of_point, n_groups + 1


@kernel
def _nearest_to_members(left, points, members, distances, numbers):
    """The point that is left and nearest to a member of a group, and how far it is."""
    best, best_number = np.inf, NOBODY
    for member in members:
        nearest(left, points[member], distances[:1], numbers[:1])
        if _before(distances[0], numbers[0], best, best_number):
            best, best_number = distances[0], numbers[0]
    return best, best_number


@kernel
def _raises_divergence(members, number, mixing):
    """Whether the classes of a group are farther from those of the table with one more point."""
    classes = np.zeros(len(mixing.whole), np.int64)
    for member in members:
        classes += mixing.classes[mixing.kind[member]]
    before = divergence_of(classes, mixing.whole)
    classes += mixing.classes[mixing.kind[number]]
    return divergence_of(classes, mixing.whole) > before


def variable_size(points, m, gamma, mixing, straight=False, most=NO_BLOCKS):
    """Groups of m points and those that lie near, see `_variable_size`."""
    return _variable_size(points, m, gamma, mixing, straight, most)


@kernel
def _variable_size(points, m, gamma, mixing, straight, most):
    """V-MDAV: the group of each point, and how many groups there are.

    The point farthest from the mean of all points, with the m - 1 nearest to it, is a group, which takes up to m - 1
    more: always the nearest to one of its members, as long as it is gamma times nearer to the group than to any point
    that is left and, with classes to mix, does not raise the divergence of the group. Fewer than m points that are left
    over go to the group with the nearest mean.
    """
    n, n_columns = points.shape
    group_of_point = np.full(n, -1, np.int32)
    left = _all_points(points, straight, most)
    sums = np.zeros(n_columns)
    for i in range(n):
        sums += points[i]
    mean = sums / n
    away = np.empty(n)
    for i in range(n):
        away[i] = -_distance(left, left.place[i], mean)
    members = np.empty(2 * m, np.int64)
    distances, numbers = np.empty(2), np.empty(2, np.int64)
    n_groups = 0
    for seed in np.argsort(away, kind="mergesort"):
        if left.size[0] < m:
            break
        if group_of_point[seed] >= 0:
            continue
        size = _choose(left, points, seed, mixing, members[:m])
        while left.size[0] and size < 2 * m - 1:
            inside, number = _nearest_to_members(left, points, members[:size], distances, numbers)
            if nearest(left, points[number], distances, numbers) == 2:
                at = 1 if numbers[0] == number else 0
                if inside >= (gamma if straight else gamma * gamma) * distances[at]:
                    break
            if mixing.alpha < 1.0 and _raises_divergence(members[:size], number, mixing):
                break
            members[size] = number
            size += 1
            remove(left, number)
        group_of_point[members[:size]] = n_groups
        n_groups += 1
    if n_groups == 0:
        group_of_point[:] = 0
        return group_of_point, 1
    _join_nearest(points, group_of_point, n_groups, straight)
    return group_of_point, n_groups


@kernel
def _join_nearest(points, group_of_point, n_groups, straight):
    """Points without a group join the one whose mean is nearest."""
    n, n_columns = points.shape
    means, sizes = np.zeros((n_groups, n_columns)), np.zeros(n_groups)
    for i in range(n):
        if group_of_point[i] >= 0:
            means[group_of_point[i]] += points[i]
            sizes[group_of_point[i]] += 1
    for group in range(n_groups):
        means[group] /= sizes[group]
    for i in range(n):
        if group_of_point[i] >= 0:
            continue
        best, best_group = np.inf, 0
        for group in range(n_groups):
            distance = 0.0
            for j in range(n_columns):
                away = abs(points[i, j] - means[group, j])
                distance += away if straight else away * away
            if distance < best:
                best, best_group = distance, group
        group_of_point[i] = best_group
