"""Growing a tree of groups: sweep the cuts of the nodes of a level, then part the sorted orders at the cuts chosen.

An *order* lists persons sorted by one quasi-identifier. A numeric quasi-identifier has one *run*; a nominal one has
a run a category, listing the persons who have it, those with the largest share of it first. A *cut* at a position
puts the persons of its run up to there on the left, all others of the node on the right. Orders stay sorted from the
root to the leaves (as in CART): a node is a segment of each order. The order `by_count` lists persons by their number
of records, most first.

Sums are whole numbers, so that nothing depends on the order of the records or on rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

BALANCE_VARIANCE = 0
WIDEST = 1


class Persons(NamedTuple):
    """What a sweep knows of persons."""

    records: np.ndarray  # (persons) int64: how many records
    logs: np.ndarray  # (persons) float64: c log2 c of that number
    mass: np.ndarray  # (persons, numeric) int64: sum over records of the value on a whole-number grid
    within: np.ndarray  # (persons, numeric) float64: squares around the person's own mean, scaled to [0, 1]
    start: np.ndarray  # (nominal, persons + 1) int64: where the categories of a person start
    category: np.ndarray  # (nominal, pairs) int32
    count: np.ndarray  # (nominal, pairs) int64: records of the person in the category


class Order(NamedTuple):
    """Persons sorted by one quasi-identifier."""

    person: np.ndarray  # int32
    key: np.ndarray  # float64: the mean over the person's records, or the share of them in the category
    run: np.ndarray  # int32: 0, or the category


class Segments(NamedTuple):
    """Where the nodes of a level stand in an order."""

    start: np.ndarray
    end: np.ndarray


class Cuts(NamedTuple):
    """Cuts found by a sweep, with the counts of both sides."""

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


@njit(cache=True, nogil=True)
def _empty_cuts(n):
    return Cuts(
        np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.float64),
        np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64),
        np.empty(n, np.float64), np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64),
        np.empty(n, np.int64), np.empty(n, np.float64),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _first_cuts(cuts, n):
    return Cuts(
        cuts.node[:n], cuts.run_start[:n], cuts.position[:n], cuts.merit[:n], cuts.left_persons[:n],
        cuts.left_records[:n], cuts.left_squared[:n], cuts.left_most[:n], cuts.left_logs[:n], cuts.right_persons[:n],
        cuts.right_records[:n], cuts.right_squared[:n], cuts.right_most[:n], cuts.right_logs[:n],
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _ends_run(order, at, end):
    return at + 1 == end or order.run[at + 1] != order.run[at]


@njit(cache=True, nogil=True)
def _count_cuts(order, segments):
    n_cuts = 0
    for node in range(len(segments.start)):
        for at in range(segments.start[node], segments.end[node]):
            if _ends_run(order, at, segments.end[node]) or order.key[at + 1] != order.key[at]:
                n_cuts += 1
    return n_cuts


@njit(cache=True, nogil=True)
def _add_up(everyone, persons, mass, count_of):
    """Records, squared records and c log2 c of a node; adds up its mass and the records in each category."""
    records = 0
    squared = 0
    logs = 0.0
    mass[:] = 0
    for person in everyone:
        count = persons.records[person]
        records += count
        squared += count * count
        logs += persons.logs[person]
        for j in range(mass.shape[0]):
            mass[j] += persons.mass[person, j]
        for j in range(count_of.shape[0]):
            for pair in range(persons.start[j, person], persons.start[j, person + 1]):
                count_of[j, persons.category[j, pair]] += persons.count[j, pair]
    return records, squared, logs


@njit(cache=True, nogil=True)
def _sum_squares(everyone, persons, count_of, squares):
    """The squared number of records in each category, summed over the categories of each nominal attribute."""
    for j in range(count_of.shape[0]):
        squares[j] = 0
        for person in everyone:
            for pair in range(persons.start[j, person], persons.start[j, person + 1]):
                squares[j] += persons.count[j, pair] * count_of[j, persons.category[j, pair]]


@njit(cache=True, nogil=True)
def _forget(everyone, persons, count_of):
    """Set the counts of all categories that these persons have back to zero."""
    for j in range(count_of.shape[0]):
        for person in everyone:
            for pair in range(persons.start[j, person], persons.start[j, person + 1]):
                count_of[j, persons.category[j, pair]] = 0


@njit(cache=True, nogil=True)
def _squares_around_means(mass, squares, records, mass_scale):
    """Sum over attributes of (sum of values)^2 / records: what the sum of squares inside a group lacks."""
    total = 0.0
    for j in range(mass.shape[0]):
        total += np.float64(mass[j]) * np.float64(mass[j]) * mass_scale
    for j in range(squares.shape[0]):
        total += 0.5 * squares[j]
    return total / records


@njit(cache=True, nogil=True)
def sweep_all_cuts(order, segments, by_count, everyone, persons, n_categories, mass_scale, keep_most):
    """Every cut between two different keys of every node, with the counts of both sides.

    The merit of a cut is what it takes off the sum of squares inside groups, over all quasi-identifiers together
    (nominal ones as zero-one columns, halved so that a two-valued one weighs like a number).
    """
    cuts = _empty_cuts(_count_cuts(order, segments))
    n_numeric = persons.mass.shape[1]
    n_nominal = persons.start.shape[0]
    all_mass = np.zeros(n_numeric, np.int64)
    left_mass = np.zeros(n_numeric, np.int64)
    right_mass = np.zeros(n_numeric, np.int64)
    all_of = np.zeros((n_nominal, n_categories), np.int64)
    left_of = np.zeros((n_nominal, n_categories), np.int64)
    all_squares = np.zeros(n_nominal, np.int64)
    left_squares = np.zeros(n_nominal, np.int64)
    right_squares = np.zeros(n_nominal, np.int64)
    is_left = np.zeros(len(persons.records), np.int32)
    stamp = 0
    found = 0
    for node in range(len(segments.start)):
        here = by_count[everyone.start[node] : everyone.end[node]]
        n_persons = len(here)
        all_records, all_squared, all_logs = _add_up(here, persons, all_mass, all_of)
        _sum_squares(here, persons, all_of, all_squares)
        uncut = _squares_around_means(all_mass, all_squares, all_records, mass_scale)
        run_start = segments.start[node]
        left_persons, left_records, left_squared, left_most, left_logs, heaviest = 0, 0, 0, 0, 0.0, 0
        for at in range(segments.start[node], segments.end[node]):
            if at == run_start:
                stamp += 1
                left_persons, left_records, left_squared, left_most, left_logs, heaviest = 0, 0, 0, 0, 0.0, 0
                left_mass[:] = 0
                left_squares[:] = 0
                right_squares[:] = all_squares
            person = order.person[at]
            count = persons.records[person]
            is_left[person] = stamp
            left_persons += 1
            left_records += count
            left_squared += count * count
            left_logs += persons.logs[person]
            left_most = max(left_most, count)
            for j in range(n_numeric):
                left_mass[j] += persons.mass[person, j]
            for j in range(n_nominal):
                for pair in range(persons.start[j, person], persons.start[j, person + 1]):
                    moved = persons.count[j, pair]
                    category = persons.category[j, pair]
                    on_left = left_of[j, category]
                    left_squares[j] += moved * (2 * on_left + moved)
                    right_squares[j] -= moved * (2 * (all_of[j, category] - on_left) - moved)
                    left_of[j, category] = on_left + moved
            ends = _ends_run(order, at, segments.end[node])
            if left_persons < n_persons and (ends or order.key[at + 1] != order.key[at]):
                for j in range(n_numeric):
                    right_mass[j] = all_mass[j] - left_mass[j]
                right_records = all_records - left_records
                on_left_side = _squares_around_means(left_mass, left_squares, left_records, mass_scale)
                on_right_side = _squares_around_means(right_mass, right_squares, right_records, mass_scale)
                right_most = 0
                if keep_most:
                    while is_left[here[heaviest]] == stamp:
                        heaviest += 1
                    right_most = persons.records[here[heaviest]]
                cuts.node[found] = node
                cuts.run_start[found] = run_start
                cuts.position[found] = at
                cuts.merit[found] = on_left_side + on_right_side - uncut
                cuts.left_persons[found] = left_persons
                cuts.left_records[found] = left_records
                cuts.left_squared[found] = left_squared
                cuts.left_most[found] = left_most
                cuts.left_logs[found] = left_logs
                cuts.right_persons[found] = n_persons - left_persons
                cuts.right_records[found] = right_records
                cuts.right_squared[found] = all_squared - left_squared
                cuts.right_most[found] = right_most
                cuts.right_logs[found] = all_logs - left_logs
                found += 1
            if ends:
                _forget(order.person[run_start : at + 1], persons, left_of)
                run_start = at + 1
        _forget(here, persons, all_of)
    return _first_cuts(cuts, found)


@njit(cache=True, nogil=True)
def _variance(here, persons, records, j, grid):
    """The variance over the records of a node of numeric attribute j, scaled to [0, 1] over the whole table."""
    total = 0
    for person in here:
        total += persons.mass[person, j]
    mean = total / records
    squares = 0.0
    for person in here:
        count = persons.records[person]
        away = (persons.mass[person, j] / count - mean) / grid
        squares += persons.within[person, j] + count * away * away
    return squares / records


@njit(cache=True, nogil=True)
def _fill_cut(cuts, found, order, here, persons, run_start, at, stamp, is_left):
    """Write the counts of both sides of one cut."""
    for person in order.person[run_start : at + 1]:
        is_left[person] = stamp
    cuts.left_persons[found] = cuts.right_persons[found] = 0
    cuts.left_records[found] = cuts.right_records[found] = 0
    cuts.left_squared[found] = cuts.right_squared[found] = 0
    cuts.left_most[found] = cuts.right_most[found] = 0
    cuts.left_logs[found] = cuts.right_logs[found] = 0.0
    for person in here:
        count = persons.records[person]
        if is_left[person] == stamp:
            cuts.left_persons[found] += 1
            cuts.left_records[found] += count
            cuts.left_squared[found] += count * count
            cuts.left_logs[found] += persons.logs[person]
            cuts.left_most[found] = max(cuts.left_most[found], count)
        else:
            cuts.right_persons[found] += 1
            cuts.right_records[found] += count
            cuts.right_squared[found] += count * count
            cuts.right_logs[found] += persons.logs[person]
            cuts.right_most[found] = max(cuts.right_most[found], count)


@njit(cache=True, nogil=True)
def _balance(squared, records):
    return 1.0 - squared / (np.float64(records) * np.float64(records))


@njit(cache=True, nogil=True)
def sweep_median_cuts(order, segments, by_count, everyone, persons, attribute, grid, span, criterion, split_ties):
    """One cut a run of every node: the one whose left side is closest to half of the records.

    The merit is the balance-variance ratio with its sign turned (criterion 0), or the width of the attribute
    (criterion 1). `attribute` is the numeric attribute, or -1 for the runs of a nominal one; `span` is the extent of
    the keys over the whole table.
    """
    n_runs = 0
    for node in range(len(segments.start)):
        for at in range(segments.start[node], segments.end[node]):
            n_runs += _ends_run(order, at, segments.end[node])
    cuts = _empty_cuts(n_runs)
    is_left = np.zeros(len(persons.records), np.int32)
    stamp = 0
    found = 0
    for node in range(len(segments.start)):
        here = by_count[everyone.start[node] : everyone.end[node]]
        records = 0
        squared = 0
        for person in here:
            records += persons.records[person]
            squared += persons.records[person] ** 2
        runs_of_node = 0
        first_of_node = found
        run_start = segments.start[node]
        best, best_away, left_records = -1, 0, 0
        for at in range(segments.start[node], segments.end[node]):
            if at == run_start:
                best, left_records = -1, 0
                runs_of_node += 1
            left_records += persons.records[order.person[at]]
            ends = _ends_run(order, at, segments.end[node])
            if at - run_start + 1 < len(here) and (ends or split_ties or order.key[at + 1] != order.key[at]):
                away = abs(2 * left_records - records)
                if best < 0 or away <= best_away:
                    best, best_away = at, away
            if ends:
                if best >= 0:
                    stamp += 1
                    cuts.node[found] = node
                    cuts.run_start[found] = run_start
                    cuts.position[found] = best
                    _fill_cut(cuts, found, order, here, persons, run_start, best, stamp, is_left)
                    if criterion == BALANCE_VARIANCE:
                        change = _balance(squared, records)
                        change -= cuts.left_records[found] / records * _balance(
                            cuts.left_squared[found], cuts.left_records[found])  # fmt: skip
                        change -= cuts.right_records[found] / records * _balance(
                            cuts.right_squared[found], cuts.right_records[found])  # fmt: skip
                        if attribute >= 0:
                            variance = _variance(here, persons, records, attribute, grid)
                        else:
                            inside = 0.0
                            for back in range(run_start, at + 1):
                                inside += order.key[back] * persons.records[order.person[back]]
                            variance = inside / records * (1.0 - inside / records)
                        cuts.merit[found] = -change / variance if variance > 0 else -np.inf
                    elif attribute >= 0:
                        cuts.merit[found] = (order.key[at] - order.key[run_start]) / span
                    else:
                        cuts.merit[found] = -1e-9 * best_away / records
                    found += 1
                run_start = at + 1
        if criterion == WIDEST and attribute < 0:
            for cut in range(first_of_node, found):
                cuts.merit[cut] += max(runs_of_node - 1, 1) / span
    return _first_cuts(cuts, found)


@njit(cache=True, nogil=True)
def keep_best(cut_of_node, merit_of_node, node, merit, allowed, first_number):
    """Update, for every node, the best allowed cut so far; of equal merits the one that came first stays."""
    for cut in range(len(node)):
        if allowed[cut] and (cut_of_node[node[cut]] < 0 or merit[cut] > merit_of_node[node[cut]]):
            cut_of_node[node[cut]] = first_number + cut
            merit_of_node[node[cut]] = merit[cut]


@njit(cache=True, nogil=True)
def lay_out_sides(persons_of_cut, run_start, position, by_count, everyone, node, n_laid_out, is_left, stamp):
    """List the persons of both sides of chosen cuts of one order, left before right: persons, starts of the sides.

    `persons_of_cut` is the person column of the order that the cuts belong to.
    """
    laid_out = np.empty(n_laid_out, np.int32)
    start = np.zeros(2 * len(node) + 1, np.int64)
    n = 0
    for cut in range(len(node)):
        stamp += 1
        for at in range(run_start[cut], position[cut] + 1):
            laid_out[n] = persons_of_cut[at]
            is_left[persons_of_cut[at]] = stamp
            n += 1
        start[2 * cut + 1] = n
        for at in range(everyone.start[node[cut]], everyone.end[node[cut]]):
            if is_left[by_count[at]] != stamp:
                laid_out[n] = by_count[at]
                n += 1
        start[2 * cut + 2] = n
    return laid_out, start


@njit(cache=True, nogil=True)
def part_order(order, start, end, is_left):
    """Part an order at each node into persons on the left and on the right, both still sorted: the middle of each."""
    middle = np.empty(len(start), np.int64)
    longest = 0
    for node in range(len(start)):
        longest = max(longest, end[node] - start[node])
    person = np.empty(longest, np.int32)
    key = np.empty(longest, np.float64)
    run = np.empty(longest, np.int32)
    for node in range(len(start)):
        write = start[node]
        held = 0
        for at in range(start[node], end[node]):
            if is_left[order.person[at]]:
                order.person[write] = order.person[at]
                order.key[write] = order.key[at]
                order.run[write] = order.run[at]
                write += 1
            else:
                person[held] = order.person[at]
                key[held] = order.key[at]
                run[held] = order.run[at]
                held += 1
        middle[node] = write
        order.person[write : end[node]] = person[:held]
        order.key[write : end[node]] = key[:held]
        order.run[write : end[node]] = run[:held]
    return middle


@njit(cache=True, nogil=True)
def summaries_of_sides(laid_out, start, pair_start, pair_value, pair_records, n_values):
    """For each side: most persons of a value, most records of a value, different values, person-value pairs."""
    n_sides = len(start) - 1
    most_persons = np.zeros(n_sides, np.int64)
    most_records = np.zeros(n_sides, np.int64)
    distinct = np.zeros(n_sides, np.int64)
    pairs = np.zeros(n_sides, np.int64)
    persons_of = np.zeros(n_values, np.int64)
    records_of = np.zeros(n_values, np.int64)
    for side in range(n_sides):
        for i in range(start[side], start[side + 1]):
            person = laid_out[i]
            for pair in range(pair_start[person], pair_start[person + 1]):
                value = pair_value[pair]
                if persons_of[value] == 0:
                    distinct[side] += 1
                persons_of[value] += 1
                records_of[value] += pair_records[pair]
                pairs[side] += 1
                most_persons[side] = max(most_persons[side], persons_of[value])
                most_records[side] = max(most_records[side], records_of[value])
        for i in range(start[side], start[side + 1]):
            person = laid_out[i]
            for pair in range(pair_start[person], pair_start[person + 1]):
                persons_of[pair_value[pair]] = 0
                records_of[pair_value[pair]] = 0
    return most_persons, most_records, distinct, pairs


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def sweep_values(order, segments, by_count, everyone, cut_node, cut_run_start, cut_position,
                 pair_start, pair_value, pair_records, n_values):  # fmt: skip
    """Value summaries of both sides of given cuts of one order, swept in one pass a run.

    The cuts stand in the order of their nodes, runs and positions. Counts on the left only grow; the largest on the
    right only falls, and a count of counts keeps it. Gives two arrays (cuts, 4): most persons of a value, most
    records of a value, different values, person-value pairs; left and right.
    """
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
        for person in by_count[everyone.start[node] : everyone.end[node]]:
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
                    person = order.person[at]
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


@njit(cache=True, nogil=True)
def mark_left(persons_of_order, run_start, position, is_left):
    """Mark the persons on the left of each cut of one order."""
    for cut in range(len(run_start)):
        for at in range(run_start[cut], position[cut] + 1):
            is_left[persons_of_order[at]] = 1


@njit(cache=True, nogil=True)
def spread_of_cuts(persons_of_order, by_count, everyone, cut_node, cut_run_start, cut_position, records, logs):
    """Persons, records, squared records, most records and c log2 c of the left and the right of given cuts.

    The cuts stand in the order of their nodes, runs and positions.
    """
    n_cuts = len(cut_node)
    left = np.zeros((4, n_cuts), np.int64)
    right = np.zeros((4, n_cuts), np.int64)
    left_logs = np.zeros(n_cuts, np.float64)
    right_logs = np.zeros(n_cuts, np.float64)
    is_left = np.zeros(len(records), np.int32)
    stamp = 0
    at, heaviest = 0, 0
    for cut in range(n_cuts):
        node = cut_node[cut]
        first, last = everyone.start[node], everyone.end[node]
        same_node = cut > 0 and cut_node[cut - 1] == node
        same_run = same_node and cut_run_start[cut - 1] == cut_run_start[cut]
        if not same_node:
            all_records, all_squared, all_logs = 0, 0, 0.0
            for person in by_count[first:last]:
                all_records += records[person]
                all_squared += records[person] * records[person]
                all_logs += logs[person]
        if not same_run:
            stamp += 1
            at = cut_run_start[cut]
            heaviest = first
            n_left, left_records, left_squared, left_most, sum_logs = 0, 0, 0, 0, 0.0
        while at <= cut_position[cut]:
            person = persons_of_order[at]
            is_left[person] = stamp
            n_left += 1
            left_records += records[person]
            left_squared += records[person] * records[person]
            left_most = max(left_most, records[person])
            sum_logs += logs[person]
            at += 1
        while is_left[by_count[heaviest]] == stamp:
            heaviest += 1
        left[0, cut], left[1, cut], left[2, cut], left[3, cut] = n_left, left_records, left_squared, left_most
        left_logs[cut] = sum_logs
        right[0, cut] = last - first - n_left
        right[1, cut] = all_records - left_records
        right[2, cut] = all_squared - left_squared
        right[3, cut] = records[by_count[heaviest]]
        right_logs[cut] = all_logs - sum_logs
    lefts = (left[0], left[1], left[2], left[3], left_logs)
    rights = (right[0], right[1], right[2], right[3], right_logs)
    return lefts, rights
