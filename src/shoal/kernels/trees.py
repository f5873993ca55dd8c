"""Growing a tree of groups: sweep the cuts of the nodes of a level, then part the sorted orders at the cuts chosen.

An *order* lists persons sorted by one quasi-identifier. A numeric quasi-identifier has one *run*; a nominal one has
one run per category, listing the persons who have it, those with the largest share of it first. A *cut* at a position
puts the persons of its run up to there on the left, all others of the node on the right. Orders stay sorted from the
root to the leaves (as in CART): a node is a segment of each order. All orders stand in one array, one behind the
other; the last, `by_count`, lists persons by their number of records, most first.

Sums are whole numbers, so that nothing depends on the order of the records or on rounding. What a sweep reads of a
person stands in one row, so that a step costs one cache line.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiling import inner_kernel, kernel

BLOCK = 128
"""How many rows are fetched at a time: fetching alone keeps many cache misses under way, the sweep then finds them."""

BALANCE_VARIANCE = 0
WIDEST = 1
SEVERAL = -1


class Persons(NamedTuple):
    """What a sweep knows of persons."""

    row: np.ndarray
    """(persons, 1 + numeric + nominal) float64, all whole numbers: the number of records; for each numeric attribute
    the sum over records of the value on a whole-number grid; for each nominal one the category, or SEVERAL."""
    n_numeric: int
    within: np.ndarray  # (persons, numeric) float64: squares around the person's own mean, scaled to [0, 1]
    start: np.ndarray  # (nominal, persons + 1) int64: where the categories of a person start
    category: np.ndarray  # (nominal, pairs) int32
    count: np.ndarray  # (nominal, pairs) int64: records of the person in the category


class Orders(NamedTuple):
    """Persons sorted by each quasi-identifier, one order behind the other."""

    person: np.ndarray  # uint32
    key: np.ndarray  # float64: the mean over the person's records, or the share of them in the category
    run: np.ndarray  # int32: 0, or the category


class Segments(NamedTuple):
    """Where the nodes of a level stand in each order, (orders, nodes); the last order is `by_count`."""

    start: np.ndarray
    end: np.ndarray


class Cuts(NamedTuple):
    """Cuts found by a sweep, with the counts of both sides, sorted by node, order, run and position."""

    node: np.ndarray
    run_start: np.ndarray
    position: np.ndarray
    merit: np.ndarray
    left_persons: np.ndarray
    left_records: np.ndarray
    left_squared: np.ndarray
    left_most: np.ndarray
    left_logs: np.ndarray
    right_persons: np.ndarray
    right_records: np.ndarray
    right_squared: np.ndarray
    right_most: np.ndarray
    right_logs: np.ndarray


class Limits(NamedTuple):
    """What both sides of a cut must keep to; the two shares as whole numbers over whole numbers."""

    least_persons: int
    least_records: int
    share: int
    share_of: int
    squares: int
    squares_of: int


def _empty_cuts(n: int) -> tuple[Cuts, NDArray[np.int32], NDArray[np.int64], NDArray[np.float64]]:
    """Room for cuts; and the same in three arrays: where, whole numbers of the left and of the right, real numbers."""
    where, whole, real = np.empty((3, n), np.int32), np.empty((8, n), np.int64), np.empty((3, n))
    return Cuts(*where, real[0], *whole[:4], real[1], *whole[4:], real[2]), where, whole, real


def _first_cuts(cuts: Cuts, n: int) -> Cuts:
    return Cuts(*(array[:n] for array in cuts))


@kernel
def _ends_run(orders, at, end):
    return at + 1 == end or orders.run[at + 1] != orders.run[at]


def sweep_all_cuts(
    orders: Orders,
    segments: Segments,
    nodes: NDArray[np.int64],
    persons: Persons,
    n_categories: int,
    mass_scale: float,
    limits: Limits,
    only_best: bool,
    keep_most: bool,
    keep_logs: bool,
) -> Cuts:
    """Cuts between two different keys of some nodes whose two sides keep to the limits, with the counts of the sides.

    The merit of a cut is what it takes off the sum of squares inside groups, over all quasi-identifiers together
    (nominal ones as zero-one columns, halved so that a two-valued one weighs like a number). With `only_best` one
    cut a node: that of most merit, of equals the first.
    """
    start, end = segments.start.take(nodes, axis=1), segments.end.take(nodes, axis=1)
    n = len(nodes) if only_best else count_cuts(orders.key, orders.run, start, end)
    n_nominal = len(persons.start)
    cuts, where, whole, real = _empty_cuts(n)
    found = sweep_cuts(
        orders.person, orders.key, orders.run, start, end, nodes, persons.row, persons.n_numeric, persons.start,
        persons.category, persons.count, mass_scale, limits, only_best, keep_most, keep_logs,
        np.empty((BLOCK, persons.row.shape[1])), np.zeros((2, persons.n_numeric)), np.zeros((3, n_nominal), np.int64),
        np.zeros((n_nominal, n_categories, 2), np.int64), np.zeros(len(persons.row) if keep_most else 1, np.int32),
        where, whole, real,
    )  # fmt: skip
    return _first_cuts(cuts, found)


@kernel
def count_cuts(key_at, run_at, start, end):
    """How many cuts some nodes have between two different keys."""
    n_cuts = 0
    for order in range(start.shape[0] - 1):
        for node in range(start.shape[1]):
            last = end[order, node] - 1
            for at in range(start[order, node], last + 1):
                if at == last or run_at[at + 1] != run_at[at] or key_at[at + 1] != key_at[at]:
                    n_cuts += 1
    return n_cuts


@inner_kernel
def _forget(person_at, start, end, row, nominal, pair_start, pair_category, count_of, side):
    """Set the counts of a side of all categories that some persons have back to zero."""
    if end - start > count_of.shape[1]:
        for j in range(count_of.shape[0]):
            for category in range(count_of.shape[1]):
                count_of[j, category, side] = 0
        return
    for j in range(count_of.shape[0]):
        for at in range(start, end):
            person = person_at[at]
            category = np.int64(row[person, nominal + j])
            if category != SEVERAL:
                count_of[j, category, side] = 0
                continue
            for pair in range(pair_start[j, person], pair_start[j, person + 1]):
                count_of[j, pair_category[j, pair], side] = 0


@kernel
def sweep_cuts(
    person_at, key_at, run_at, starts, ends, nodes, row, n_numeric, pair_start, pair_category, pair_count, mass_scale,
    limits, only_best, keep_most, keep_logs, block, mass, squares, count_of, is_left, where, whole, real,
):  # fmt: skip
    """See `sweep_all_cuts`. From `block` on: what is worked in, all zero, and what is written; gives how many cuts.

    Of masses, of squares and of the counts of categories the first row is of all persons of the node, the second of
    those on the left, the third of those on the right.
    """
    n_orders = starts.shape[0] - 1
    n_nominal = pair_start.shape[0]
    nominal = 1 + n_numeric
    width = row.shape[1]
    stamp = 0
    found = 0
    for which in range(len(nodes)):
        here = starts[n_orders, which]
        n_persons = ends[n_orders, which] - here
        if n_persons < 2 * limits.least_persons:
            continue
        all_records, all_squared, all_logs = 0, 0, 0.0
        for j in range(n_numeric):
            mass[0, j] = 0.0
        for j in range(n_nominal):
            squares[0, j] = 0
        for i in range(n_persons):
            if i % BLOCK == 0:
                for ahead in range(min(BLOCK, n_persons - i)):
                    for j in range(width):
                        block[ahead, j] = row[person_at[here + i + ahead], j]
            count = np.int64(block[i % BLOCK, 0])
            all_records += count
            all_squared += count * count
            if keep_logs:
                all_logs += count * np.log2(count)
            for j in range(n_numeric):
                mass[0, j] += block[i % BLOCK, 1 + j]
            for j in range(n_nominal):
                category = np.int64(block[i % BLOCK, nominal + j])
                if category != SEVERAL:
                    squares[0, j] += count * (2 * count_of[j, category, 0] + count)
                    count_of[j, category, 0] += count
                else:
                    person = person_at[here + i]
                    for pair in range(pair_start[j, person], pair_start[j, person + 1]):
                        moved = pair_count[j, pair]
                        squares[0, j] += moved * (2 * count_of[j, pair_category[j, pair], 0] + moved)
                        count_of[j, pair_category[j, pair], 0] += moved
        uncut = 0.0
        for j in range(n_numeric):
            uncut += mass[0, j] * mass[0, j] * mass_scale
        for j in range(n_nominal):
            uncut += 0.5 * squares[0, j]
        uncut /= all_records
        best = -np.inf
        for order in range(n_orders):
            start, end = starts[order, which], ends[order, which]
            run_start = start
            left_persons, left_records, left_squared, left_most, left_logs, heaviest = 0, 0, 0, 0, 0.0, 0
            for at in range(start, end):
                fetched = (at - start) % BLOCK
                if fetched == 0:
                    for ahead in range(min(BLOCK, end - at)):
                        for j in range(width):
                            block[ahead, j] = row[person_at[at + ahead], j]
                if at == run_start:
                    stamp += 1
                    left_persons, left_records, left_squared, left_most, left_logs, heaviest = 0, 0, 0, 0, 0.0, 0
                    for j in range(n_numeric):
                        mass[1, j] = 0.0
                    for j in range(n_nominal):
                        squares[1, j], squares[2, j] = 0, squares[0, j]
                person = person_at[at]
                count = np.int64(block[fetched, 0])
                left_persons += 1
                left_records += count
                left_squared += count * count
                if keep_most:
                    is_left[person] = stamp
                    left_most = max(left_most, count)
                if keep_logs:
                    left_logs += count * np.log2(count)
                for j in range(n_numeric):
                    mass[1, j] += block[fetched, 1 + j]
                for j in range(n_nominal):
                    category = np.int64(block[fetched, nominal + j])
                    if category != SEVERAL:
                        on_left = count_of[j, category, 1]
                        squares[1, j] += count * (2 * on_left + count)
                        squares[2, j] -= count * (2 * (count_of[j, category, 0] - on_left) - count)
                        count_of[j, category, 1] = on_left + count
                    else:
                        for pair in range(pair_start[j, person], pair_start[j, person + 1]):
                            moved = pair_count[j, pair]
                            category = np.int64(pair_category[j, pair])
                            on_left = count_of[j, category, 1]
                            squares[1, j] += moved * (2 * on_left + moved)
                            squares[2, j] -= moved * (2 * (count_of[j, category, 0] - on_left) - moved)
                            count_of[j, category, 1] = on_left + moved
                ends_run = at + 1 == end or run_at[at + 1] != run_at[at]
                right_persons = n_persons - left_persons
                if right_persons > 0 and (ends_run or key_at[at + 1] != key_at[at]):
                    right_most = 0
                    if keep_most:
                        while is_left[person_at[here + heaviest]] == stamp:
                            heaviest += 1
                        right_most = np.int64(row[person_at[here + heaviest], 0])
                    right_records = all_records - left_records
                    right_squared = all_squared - left_squared
                    if (
                        left_persons >= limits.least_persons
                        and right_persons >= limits.least_persons
                        and left_records >= limits.least_records
                        and right_records >= limits.least_records
                        and left_squared * limits.squares_of <= limits.squares * left_records * left_records
                        and right_squared * limits.squares_of <= limits.squares * right_records * right_records
                        and left_most * limits.share_of <= limits.share * left_records
                        and right_most * limits.share_of <= limits.share * right_records
                    ):
                        on_left_side, on_right_side = 0.0, 0.0
                        for j in range(n_numeric):
                            mass_there = mass[0, j] - mass[1, j]
                            on_left_side += mass[1, j] * mass[1, j]
                            on_right_side += mass_there * mass_there
                        on_left_side *= mass_scale
                        on_right_side *= mass_scale
                        for j in range(n_nominal):
                            on_left_side += 0.5 * squares[1, j]
                            on_right_side += 0.5 * squares[2, j]
                        merit = on_left_side / left_records + on_right_side / right_records - uncut
                        if not only_best or merit > best:
                            if only_best and best > -np.inf:
                                found -= 1
                            best = merit
                            where[0, found], where[1, found], where[2, found] = nodes[which], run_start, at
                            whole[0, found], whole[1, found] = left_persons, left_records
                            whole[2, found], whole[3, found] = left_squared, left_most
                            whole[4, found], whole[5, found] = right_persons, right_records
                            whole[6, found], whole[7, found] = right_squared, right_most
                            real[0, found], real[1, found], real[2, found] = merit, left_logs, all_logs - left_logs
                            found += 1
                if ends_run:
                    _forget(
                        person_at, run_start, at + 1, row, nominal, pair_start, pair_category, count_of, np.int64(1)
                    )
                    run_start = at + 1
        _forget(person_at, here, here + n_persons, row, nominal, pair_start, pair_category, count_of, np.int64(0))
    return found


@kernel
def keep_to_limits(cuts, limits):
    """Whether both sides of each cut keep to the limits, in whole numbers as in the sweep."""
    keeps = np.zeros(len(cuts.node), np.bool_)
    for cut in range(len(keeps)):
        left, right = cuts.left_records[cut], cuts.right_records[cut]
        keeps[cut] = (
            cuts.left_persons[cut] >= limits.least_persons
            and cuts.right_persons[cut] >= limits.least_persons
            and left >= limits.least_records
            and right >= limits.least_records
            and cuts.left_squared[cut] * limits.squares_of <= limits.squares * left * left
            and cuts.right_squared[cut] * limits.squares_of <= limits.squares * right * right
            and cuts.left_most[cut] * limits.share_of <= limits.share * left
            and cuts.right_most[cut] * limits.share_of <= limits.share * right
        )
    return keeps


@kernel
def sums_of_keys(person_at, start, end, key_of_person):
    """The sum, modulo 2^64, of the keys of the persons of each node: the same persons give the same sum."""
    sums = np.zeros(len(start), np.uint64)
    for node in range(len(start)):
        for at in range(start[node], end[node]):
            sums[node] += key_of_person[person_at[at]]
    return sums


@kernel
def _variance(here, persons, records, j, grid):
    """The variance over the records of a node of numeric attribute j, scaled to [0, 1] over the whole table."""
    total = 0.0
    for person in here:
        total += persons.row[person, 1 + j]
    mean = total / records
    squares = 0.0
    for person in here:
        count = np.int64(persons.row[person, 0])
        away = (persons.row[person, 1 + j] / count - mean) / grid
        squares += persons.within[person, j] + count * away * away
    return squares / records


@kernel
def _write_cut(cuts, found, orders, here, persons, run_start, at, stamp, is_left):
    """Write one cut and the counts of its two sides."""
    cuts.run_start[found] = run_start
    cuts.position[found] = at
    for person in orders.person[run_start : at + 1]:
        is_left[person] = stamp
    cuts.left_persons[found] = cuts.right_persons[found] = 0
    cuts.left_records[found] = cuts.right_records[found] = 0
    cuts.left_squared[found] = cuts.right_squared[found] = 0
    cuts.left_most[found] = cuts.right_most[found] = 0
    cuts.left_logs[found] = cuts.right_logs[found] = 0.0
    for person in here:
        count = np.int64(persons.row[person, 0])
        if is_left[person] == stamp:
            cuts.left_persons[found] += 1
            cuts.left_records[found] += count
            cuts.left_squared[found] += count * count
            cuts.left_logs[found] += count * np.log2(count)
            cuts.left_most[found] = max(cuts.left_most[found], count)
        else:
            cuts.right_persons[found] += 1
            cuts.right_records[found] += count
            cuts.right_squared[found] += count * count
            cuts.right_logs[found] += count * np.log2(count)
            cuts.right_most[found] = max(cuts.right_most[found], count)


@kernel
def _balance_change(cuts, found):
    """How much of the node's g-balance the cut takes: definition 2, written so that the sides can change places."""
    left, right = cuts.left_records[found], cuts.right_records[found]
    squared = cuts.left_squared[found] + cuts.right_squared[found]
    on_sides = cuts.left_squared[found] / left + cuts.right_squared[found] / right
    return (on_sides - squared / (left + right)) / (left + right)


def sweep_median_cuts(
    orders: Orders,
    segments: Segments,
    nodes: NDArray[np.int64],
    persons: Persons,
    numeric_of_order: NDArray[np.int64],
    grid: float,
    span_of_order: NDArray[np.float64],
    criterion: int,
    split_ties: bool,
) -> Cuts:
    """One cut per run of some nodes: the one whose left side is closest to half of the records.

    The merit is the balance-variance ratio with its sign turned (BALANCE_VARIANCE), or the width of the attribute
    (WIDEST). `numeric_of_order` has the numeric attribute of each order, or -1 for a nominal one; `span_of_order` the
    extent of its keys over the whole table, or the number of its categories less one.
    """
    cuts, *_ = _empty_cuts(count_runs(orders, segments, nodes))
    found = write_median_cuts(
        orders, segments, nodes, persons, numeric_of_order, grid, span_of_order, criterion, split_ties, cuts
    )
    return _first_cuts(cuts, found)


@kernel
def count_runs(orders, segments, nodes):
    """How many runs some nodes have."""
    n_runs = 0
    for order in range(segments.start.shape[0] - 1):
        for node in nodes:
            for at in range(segments.start[order, node], segments.end[order, node]):
                n_runs += _ends_run(orders, at, segments.end[order, node])
    return n_runs


@kernel
def write_median_cuts(
    orders, segments, nodes, persons, numeric_of_order, grid, span_of_order, criterion, split_ties, cuts
):  # fmt: skip
    """See `sweep_median_cuts`; gives how many cuts were written."""
    n_orders = segments.start.shape[0] - 1
    is_left = np.zeros(len(persons.row), np.int32)
    stamp = 0
    found = 0
    for node in nodes:
        here = orders.person[segments.start[n_orders, node] : segments.end[n_orders, node]]
        records = 0
        for person in here:
            records += np.int64(persons.row[person, 0])
        for order in range(n_orders):
            end = segments.end[order, node]
            run_start = segments.start[order, node]
            numeric = numeric_of_order[order]
            first_of_order, runs_here = found, 0
            best, best_away, left_records = -1, 0, 0
            for at in range(segments.start[order, node], end):
                if at == run_start:
                    best, left_records = -1, 0
                    runs_here += 1
                left_records += np.int64(persons.row[orders.person[at], 0])
                ends = _ends_run(orders, at, end)
                is_cut = ends or split_ties or orders.key[at + 1] != orders.key[at]
                if is_cut and at - run_start + 1 < len(here):
                    away = abs(2 * left_records - records)
                    if best < 0 or away <= best_away:
                        best, best_away = at, away
                if ends and best >= 0:
                    stamp += 1
                    cuts.node[found] = node
                    _write_cut(cuts, found, orders, here, persons, run_start, best, stamp, is_left)
                    if criterion == BALANCE_VARIANCE:
                        if numeric >= 0:
                            variance = _variance(here, persons, records, numeric, grid)
                        else:
                            inside = 0.0
                            for back in range(run_start, at + 1):
                                inside += np.rint(orders.key[back] * persons.row[orders.person[back], 0])
                            variance = inside * (records - inside) / (np.float64(records) * records)
                        cuts.merit[found] = -_balance_change(cuts, found) / variance if variance > 0 else -np.inf
                    elif numeric >= 0:
                        cuts.merit[found] = (orders.key[at] - orders.key[run_start]) / span_of_order[order]
                    else:  # the most even of equally wide cuts first
                        cuts.merit[found] = -1e-9 * best_away / records
                    found += 1
                if ends:
                    run_start = at + 1
            if criterion == WIDEST and numeric < 0:
                for cut in range(first_of_order, found):
                    cuts.merit[cut] += max(runs_here - 1, 1) / span_of_order[order]
    return found


@kernel
def keep_best(best_of_node, merit_of_node, node, merit, allowed):
    """Update, for every node, the best allowed cut so far; of equal merits the one that came first stays."""
    for cut in range(len(node)):
        if allowed[cut] and (best_of_node[node[cut]] < 0 or merit[cut] > merit_of_node[node[cut]]):
            best_of_node[node[cut]] = cut
            merit_of_node[node[cut]] = merit[cut]


@kernel
def mark_left(person_at, run_start, position, is_left):
    """Mark the persons on the left of each cut."""
    for cut in range(len(run_start)):
        for at in range(run_start[cut], position[cut] + 1):
            is_left[person_at[at]] = True


def lay_out_sides(
    orders: Orders, segments: Segments, nodes: NDArray[np.int64], is_left: NDArray[np.bool_]
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """List the persons of both sides of some nodes, left before right: persons, and where each side starts."""
    first, last = segments.start[-1, nodes], segments.end[-1, nodes]
    laid_out, start = np.empty(int((last - first).sum()), np.uint32), np.zeros(2 * len(nodes) + 1, np.int64)
    lay_out(orders.person, first, last, is_left, laid_out, start)
    return laid_out, start


@kernel
def lay_out(person_at, first, last, is_left, laid_out, start):
    """See `lay_out_sides`."""
    n = 0
    for side in range(len(start) - 1):
        for at in range(first[side // 2], last[side // 2]):
            person = person_at[at]
            if is_left[person] == (side % 2 == 0):
                laid_out[n] = person
                n += 1
        start[side + 1] = n


def part_orders(orders: Orders, segments: Segments, nodes: NDArray[np.int64], is_left: NDArray[np.bool_]) -> Segments:
    """Part every order at some nodes into persons on the left and on the right, both still sorted.

    Gives the segments of the sides: of each node the left one, then the right one.
    """
    first, last = segments.start.take(nodes, axis=1), segments.end.take(nodes, axis=1)
    longest = int((last - first).max(initial=0))
    middle = np.empty(first.shape, np.int64)
    part(*orders, first, last, is_left, np.empty(longest, np.uint32), np.empty(longest), np.empty(longest, np.int32),
         middle)  # fmt: skip
    sides = (len(first), 2 * len(nodes))
    return Segments(np.stack([first, middle], axis=2).reshape(sides), np.stack([middle, last], axis=2).reshape(sides))


@kernel
def part(person_at, key_at, run_at, first, last, is_left, person, key, run, middle):
    """See `part_orders`. `person`, `key` and `run` hold the right side for the while; writes where it starts."""
    for order in range(first.shape[0]):
        for node in range(first.shape[1]):
            write, held = first[order, node], 0
            for at in range(write, last[order, node]):
                if is_left[person_at[at]]:
                    person_at[write], key_at[write], run_at[write] = person_at[at], key_at[at], run_at[at]
                    write += 1
                else:
                    person[held], key[held], run[held] = person_at[at], key_at[at], run_at[at]
                    held += 1
            middle[order, node] = write
            for at in range(held):
                person_at[write + at], key_at[write + at], run_at[write + at] = person[at], key[at], run[at]


def summaries_of_sides(
    laid_out: NDArray[np.uint32],
    start: NDArray[np.int64],
    pair_start: NDArray[np.int64],
    pair_value: NDArray[np.integer],
    pair_records: NDArray[np.integer],
    n_values: int,
) -> tuple[NDArray[np.int64], ...]:
    """For each side: most persons of a value, most records of a value, different values, person-value pairs."""
    summaries = np.zeros((4, len(start) - 1), np.int64)
    summarise(laid_out, start, pair_start, pair_value, pair_records, np.zeros((n_values, 2), np.int64), summaries)
    return tuple(summaries)


@kernel
def summarise(laid_out, start, pair_start, pair_value, pair_records, count_of, summaries):
    """See `summaries_of_sides`. `count_of` has persons and records of each value, all zero before and after."""
    for side in range(len(start) - 1):
        for i in range(start[side], start[side + 1]):
            for pair in range(pair_start[laid_out[i]], pair_start[laid_out[i] + 1]):
                value = pair_value[pair]
                if count_of[value, 0] == 0:
                    summaries[2, side] += 1
                count_of[value, 0] += 1
                count_of[value, 1] += pair_records[pair]
                summaries[3, side] += 1
                summaries[0, side] = max(summaries[0, side], count_of[value, 0])
                summaries[1, side] = max(summaries[1, side], count_of[value, 1])
        for i in range(start[side], start[side + 1]):
            for pair in range(pair_start[laid_out[i]], pair_start[laid_out[i] + 1]):
                count_of[pair_value[pair], 0] = count_of[pair_value[pair], 1] = 0


@kernel
def values_of_sides(laid_out, start, pair_start, pair_value, pair_records, n_values):
    """For each side its values, ascending, with records and persons, and its person-value pairs."""
    n_sides = len(start) - 1
    n_pairs = 0
    for person in laid_out:
        n_pairs += pair_start[person + 1] - pair_start[person]
    entry_start = np.zeros(n_sides + 1, np.int64)
    entry_value = np.empty(n_pairs, np.int64)
    entry_records = np.empty(n_pairs, np.int64)
    entry_persons = np.empty(n_pairs, np.int64)
    side_pair_start = np.zeros(n_sides + 1, np.int64)
    side_pair_person = np.empty(n_pairs, np.int64)
    side_pair_value = np.empty(n_pairs, np.int64)
    persons_of = np.zeros(n_values, np.int64)
    records_of = np.zeros(n_values, np.int64)
    n_entries = 0
    n_pairs = 0
    for side in range(n_sides):
        first = n_entries
        for i in range(start[side], start[side + 1]):
            person = laid_out[i]
            for pair in range(pair_start[person], pair_start[person + 1]):
                value = pair_value[pair]
                if persons_of[value] == 0:
                    entry_value[n_entries] = value
                    n_entries += 1
                persons_of[value] += 1
                records_of[value] += pair_records[pair]
                side_pair_person[n_pairs] = person
                side_pair_value[n_pairs] = value
                n_pairs += 1
        entry_value[first:n_entries].sort()
        for entry in range(first, n_entries):
            value = entry_value[entry]
            entry_records[entry] = records_of[value]
            entry_persons[entry] = persons_of[value]
            records_of[value] = 0
            persons_of[value] = 0
        entry_start[side + 1] = n_entries
        side_pair_start[side + 1] = n_pairs
    lists = (entry_start, entry_value[:n_entries], entry_records[:n_entries], entry_persons[:n_entries])
    return lists, (side_pair_start, side_pair_person, side_pair_value)


@kernel
def sweep_values(orders, segments, cut_node, cut_run_start, cut_position, pair_start, pair_value, pair_records,
                 n_values):  # fmt: skip
    """Value summaries of both sides of given cuts, swept in one pass per run.

    The cuts stand in the order of their nodes, runs and positions. Counts on the left only grow; the largest on the
    right only falls, and a count of counts keeps it. Gives two arrays (cuts, 4): most persons of a value, most
    records of a value, different values, person-value pairs; left and right.
    """
    everyone = segments.start.shape[0] - 1
    n_cuts = len(cut_node)
    left = np.zeros((n_cuts, 4), np.int64)
    right = np.zeros((n_cuts, 4), np.int64)
    all_persons = np.zeros(n_values, np.int64)
    all_records = np.zeros(n_values, np.int64)
    left_persons = np.zeros(n_values, np.int64)
    left_records = np.zeros(n_values, np.int64)
    right_persons = np.zeros(n_values, np.int64)
    right_records = np.zeros(n_values, np.int64)
    values_here = np.empty(n_values, np.int64)
    cut = 0
    while cut < n_cuts:
        node = cut_node[cut]
        n_here, all_pairs, most_persons, most_records = 0, 0, 0, 0
        for at in range(segments.start[everyone, node], segments.end[everyone, node]):
            person = orders.person[at]
            for pair in range(pair_start[person], pair_start[person + 1]):
                value = pair_value[pair]
                if all_persons[value] == 0:
                    values_here[n_here] = value
                    n_here += 1
                all_persons[value] += 1
                all_records[value] += pair_records[pair]
                most_persons = max(most_persons, all_persons[value])
                most_records = max(most_records, all_records[value])
                all_pairs += 1
        values_with_persons = np.zeros(most_persons + 1, np.int64)
        values_with_records = np.zeros(most_records + 1, np.int64)
        while cut < n_cuts and cut_node[cut] == node:
            run_start = cut_run_start[cut]
            values_with_persons[:] = 0
            values_with_records[:] = 0
            for value in values_here[:n_here]:
                right_persons[value] = all_persons[value]
                right_records[value] = all_records[value]
                left_persons[value] = 0
                left_records[value] = 0
                values_with_persons[all_persons[value]] += 1
                values_with_records[all_records[value]] += 1
            right_most_persons, right_most_records = most_persons, most_records
            left_most_persons, left_most_records, left_distinct, left_pairs = 0, 0, 0, 0
            right_distinct = n_here
            at = run_start
            while cut < n_cuts and cut_node[cut] == node and cut_run_start[cut] == run_start:
                while at <= cut_position[cut]:
                    person = orders.person[at]
                    for pair in range(pair_start[person], pair_start[person + 1]):
                        value = pair_value[pair]
                        values_with_persons[right_persons[value]] -= 1
                        values_with_records[right_records[value]] -= 1
                        right_persons[value] -= 1
                        right_records[value] -= pair_records[pair]
                        values_with_persons[right_persons[value]] += 1
                        values_with_records[right_records[value]] += 1
                        right_distinct -= right_persons[value] == 0
                        left_distinct += left_persons[value] == 0
                        left_persons[value] += 1
                        left_records[value] += pair_records[pair]
                        left_most_persons = max(left_most_persons, left_persons[value])
                        left_most_records = max(left_most_records, left_records[value])
                        left_pairs += 1
                    at += 1
                while right_most_persons > 0 and values_with_persons[right_most_persons] == 0:
                    right_most_persons -= 1
                while right_most_records > 0 and values_with_records[right_most_records] == 0:
                    right_most_records -= 1
                left[cut, 0] = left_most_persons
                left[cut, 1] = left_most_records
                left[cut, 2] = left_distinct
                left[cut, 3] = left_pairs
                right[cut, 0] = right_most_persons
                right[cut, 1] = right_most_records
                right[cut, 2] = right_distinct
                right[cut, 3] = all_pairs - left_pairs
                cut += 1
        for value in values_here[:n_here]:
            all_persons[value] = 0
            all_records[value] = 0
    return left, right


@kernel
def spread_of_cuts(orders, segments, cut_node, cut_run_start, cut_position, persons):
    """Persons, records, squared records, most records and c log2 c of the left and the right of given cuts.

    The cuts stand in the order of their nodes, runs and positions.
    """
    everyone = segments.start.shape[0] - 1
    n_cuts = len(cut_node)
    left = np.zeros((4, n_cuts), np.int64)
    right = np.zeros((4, n_cuts), np.int64)
    left_logs = np.zeros(n_cuts, np.float64)
    right_logs = np.zeros(n_cuts, np.float64)
    is_left = np.zeros(len(persons.row), np.int32)
    stamp, at, heaviest = 0, 0, 0
    all_records, all_squared, all_logs = 0, 0, 0.0
    n_left, left_records, left_squared, left_most, sum_logs = 0, 0, 0, 0, 0.0
    for cut in range(n_cuts):
        node = cut_node[cut]
        here = orders.person[segments.start[everyone, node] : segments.end[everyone, node]]
        if cut == 0 or cut_node[cut - 1] != node:
            all_records, all_squared, all_logs = 0, 0, 0.0
            for person in here:
                count = np.int64(persons.row[person, 0])
                all_records += count
                all_squared += count * count
                all_logs += count * np.log2(count)
        if cut == 0 or cut_node[cut - 1] != node or cut_run_start[cut - 1] != cut_run_start[cut]:
            stamp += 1
            at, heaviest = cut_run_start[cut], 0
            n_left, left_records, left_squared, left_most, sum_logs = 0, 0, 0, 0, 0.0
        while at <= cut_position[cut]:
            person = orders.person[at]
            count = np.int64(persons.row[person, 0])
            is_left[person] = stamp
            n_left += 1
            left_records += count
            left_squared += count * count
            left_most = max(left_most, count)
            sum_logs += count * np.log2(count)
            at += 1
        while is_left[here[heaviest]] == stamp:
            heaviest += 1
        left[0, cut], left[1, cut], left[2, cut], left[3, cut] = n_left, left_records, left_squared, left_most
        left_logs[cut] = sum_logs
        right[0, cut] = len(here) - n_left
        right[1, cut] = all_records - left_records
        right[2, cut] = all_squared - left_squared
        right[3, cut] = np.int64(persons.row[here[heaviest], 0])
        right_logs[cut] = all_logs - sum_logs
    lefts = (left[0], left[1], left[2], left[3], left_logs)
    rights = (right[0], right[1], right[2], right[3], right_logs)
    return lefts, rights


@kernel
def number_final(person_at, first, last, group_of_person, n_groups):
    """Give each final node of a level the next group number."""
    for node in range(len(first)):
        for at in range(first[node], last[node]):
            group_of_person[person_at[at]] = n_groups + node


@kernel
def gather_lists(start, value, count, persons):
    """The lists of some persons (starts, values, counts), in a new order of persons."""
    new_start = np.zeros(len(persons) + 1, np.int64)
    for i in range(len(persons)):
        new_start[i + 1] = new_start[i] + start[persons[i] + 1] - start[persons[i]]
    new_value = np.empty(new_start[-1], value.dtype)
    new_count = np.empty(new_start[-1], count.dtype)
    for i in range(len(persons)):
        first = start[persons[i]]
        for k in range(new_start[i + 1] - new_start[i]):
            new_value[new_start[i] + k] = value[first + k]
            new_count[new_start[i] + k] = count[first + k]
    return new_start, new_value, new_count


@kernel
def renumber(persons_in_orders, new_of_old):
    """Give every entry of the orders its person's new number."""
    for at in range(len(persons_in_orders)):
        persons_in_orders[at] = new_of_old[persons_in_orders[at]]
