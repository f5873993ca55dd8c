"""Showing as much of histories as demands allow. Arrays in, arrays out; no tables, no checks, no randomness.

What persons show is counted in a tree of combinations: a node is a combination of items, its children are those with
one item more, and it counts the persons who show it. The roots are the empty combinations of the groups. A hash table
leads from a node and an item to the child, so that equal keys are equal combinations, never equal hashes.

At first all is hidden. A *bundle* is all records that would show one label of one group; it is lowered to that label
as a whole, and then the records that break a demand are hidden again, one after the other, until none does. With
nothing but `k` at stake that leaves the largest part of a bundle that can be shown, since two parts that can be shown
can be shown together.

Kernels take few plain arrays, which is what makes the first run short (decision 021). Those that most of them take:

| array | shape | what |
|---|---|---|
| `table` | (slots, 2) | key (node and item) and the node below; -1 where the slot is free |
| `nodes` | (room, 3) | `SLOT` (-1 for roots), `COUNT` of persons, `SEEN`: when a sequence was last looked at |
| `state` | (3) | how many nodes there are, whether there was no place for one, the time for `SEEN` |
| `asked` | (demands + 1, 7) | `K` to `SHARES_HIDDEN`, as below; at the end the root of tuples |
| `shares` | (demands, 2) | confidence as a fraction, 0 below where none is asked; None where no demand asks for any |
| `items` | (2, demands, cells) | what persons show, sorted, by record for ORDER; `FORMER`: before a bundle |
| `floor` | (columns) | the level at which all begin; hidden, or the last one that shows what is hidden as an item |
| `level` | (4, columns, records) | levels that records show: `NOW`, `WAS` before a bundle, `NEXT`, `BEST` so far |
| `place` | (columns + 1, records) | where the nodes of a value start in `node`; the last row has ranks of times |
| `node` | | the node of each column, level and value; the last level of a column is hidden, -1 |
| `times` | (records) | ranks of published times; None where no demand is of their order |

Records stand by person, persons by unit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiling import inner_kernel, kernel

VALUES, RECORDS, TIMES, ORDER = 0, 1, 2, 3
"""What an item is: a cell, a record, a record with its time, a record whose place among the others is known."""

FURTHER = np.int64(2**31 - 1)
"""Stands in the tree between a sequence and an item that the same person shows anywhere."""

SLOT, COUNT, SEEN = 0, 1, 2
K, M, DEEPEST, KNOWS, BY_GROUP, ROOT, SHARES_HIDDEN = 0, 1, 2, 3, 4, 5, 6
AT, BEFORE, AFTER, PATH = 0, 1, 2, 3
"""Rows of the room for sets: positions of chosen items, nodes so far without and with an item, the items of the set."""

# of one type, so that what takes them is compiled once
SHOWN, FORMER = np.int64(0), np.int64(1)
NOW, WAS, NEXT, BEST = np.int64(0), np.int64(1), np.int64(2), np.int64(3)
CHECK, MOVE, CHECK_OTHERS = np.int64(0), np.int64(1), np.int64(2)
GAINS, LOSES, STAYS = np.int64(1), np.int64(-1), np.int64(0)
NOTHING = np.int64(-1)


@inner_kernel
def _slot_of(table, node, item):
    """Where the child of a node by an item stands or would stand."""
    key = (np.int64(node) << 32) | np.int64(item)
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    last = len(table) - 1
    at = np.int64(mixed & np.uint64(last))
    while table[at, 1] >= 0 and table[at, 0] != key:
        at = (at + 1) & last
    return at


@inner_kernel
def _child(table, nodes, state, node, item):
    """The combination with one item more; made where there is none."""
    at = _slot_of(table, node, item)
    if table[at, 1] < 0:
        new = state[0]
        if new == len(nodes):
            state[1] = 1  # the caller comes again with more room
            return np.int64(0)
        state[0] = new + 1
        table[at, 0], table[at, 1] = (np.int64(node) << 32) | np.int64(item), new
        nodes[new, SLOT], nodes[new, COUNT], nodes[new, SEEN] = at, 0, 0
    return table[at, 1]


@inner_kernel
def _next(items, which, d, sets, low, size, most, start, stop):
    """Go on to the next multiset of items[start:stop], depth first; sets[AT, low:size] is where they are."""
    position = sets[AT, size - 1] + 1 if size > low else start
    if size < most and position < stop:
        sets[AT, size] = position
        return size + 1
    while size > low:
        size -= 1
        position = sets[AT, size] + 1
        while position < stop and items[which, d, position] == items[which, d, sets[AT, size]]:
            position += 1
        if position < stop:
            sets[AT, size] = position
            return size + 1
    return NOTHING


@inner_kernel
def _tells(table, nodes, shares, d, root, sets, size, count):
    """Whether a set of items, sorted in sets[PATH, :size], tells too much of one of them to who knows the others."""
    for one in range(size):
        item = sets[PATH, one]
        if (one > 0 and item == sets[PATH, one - 1]) or (one + 1 < size and item == sets[PATH, one + 1]):
            continue
        known = root
        for other in range(size):
            if other != one:
                known = table[_slot_of(table, known, sets[PATH, other]), 1]
        if count * shares[d, 1] > shares[d, 0] * nodes[known, COUNT]:
            return True
    return False


@inner_kernel
def _visit(
    table, nodes, state, asked, shares, d, root, items, which, begin, first, behind, end, item, copies, change, sets
):
    """Change the counts of all sets of a person's items[begin:end] that have an item exactly so often.

    Without a change it says whether all of them keep to the demand. The item stands at items[first:behind].
    """
    most = asked[d, DEEPEST] - copies
    if most < 0:
        return True
    size = none = copies * 0
    sets[BEFORE, 0] = root
    while size >= 0:
        if size:
            chosen = items[which, d, sets[AT, size - 1]]
            sets[BEFORE, size] = _child(table, nodes, state, sets[BEFORE, size - 1], chosen)
            sets[PATH, size - 1] = chosen
        counted = sets[BEFORE, size]
        for copy in range(copies):
            counted = _child(table, nodes, state, counted, item)
            sets[PATH, size + copy] = item
        sets[AFTER, size] = counted
        whole = size
        while whole >= 0:
            if whole > size:
                chosen = items[which, d, sets[AT, whole - 1]]
                sets[PATH, whole + copies - 1] = chosen
                sets[AFTER, whole] = _child(table, nodes, state, sets[AFTER, whole - 1], chosen)
            counted = sets[AFTER, whole]
            nodes[counted, COUNT] += change
            count = nodes[counted, COUNT]
            if change == 0 and count:
                if whole + copies <= asked[d, M] and count < asked[d, K]:
                    return False
                if shares is not None and shares[d, 1]:
                    is_told = _tells(table, nodes, shares, d, root, sets, whole + copies, count)
                    if is_told:
                        return False
            whole = _next(items, which, d, sets, size, whole, most, behind, end)
        size = _next(items, which, d, sets, none, size, most, begin, first)
    return True


@inner_kernel
def _visit_further(
    table, nodes, state, shares, d, node, items, which, begin, end, has_item, one, other, change, sets, size
):
    """The same for a sequence and each item that it does not have; see `_visit_sequences`."""
    is_kept = True
    for record in range(begin, end):
        item = np.int64(items[which, d, record])
        is_new = item >= 0
        for i in range(size):
            is_new = is_new and items[which, d, sets[AT, i]] != item
        if is_new and (has_item or item in (one, other)):
            further = _child(table, nodes, state, _child(table, nodes, state, node, FURTHER), item)
            if nodes[further, SEEN] != state[2]:
                nodes[further, SEEN] = state[2]
                nodes[further, COUNT] += change
                if change == 0 and nodes[further, COUNT]:
                    is_sure = nodes[further, COUNT] * shares[d, 1] > shares[d, 0] * nodes[node, COUNT]
                    is_kept = is_kept and not is_sure
    return is_kept


@inner_kernel
def _visit_sequences(
    table, nodes, state, asked, shares, d, root, items, which, times, begin, end, one, other, change, sets
):
    """Change the counts of all sequences of a person's records that have one of two items; see `_visit`.

    Sequences are gone through depth first, record by record; each counts once.
    """
    state[2] += 1
    m = asked[d, M]
    goes_further = asked[d, DEEPEST] > m
    sets[BEFORE, 0] = root
    is_kept = True
    size = begin * 0
    if shares is not None and goes_further:
        is_kept = _visit_further(
            table, nodes, state, shares, d, root, items, which, begin, end, False, one, other, change, sets, size
        )
    position = begin
    while m > 0:
        if position == end:
            if size == 0:
                break
            size -= 1
            position = sets[AT, size] + 1
            continue
        item = np.int64(items[which, d, position])
        is_free = item >= 0 and (size == 0 or times[sets[AT, size - 1]] <= times[position])
        for i in range(size):
            is_free = is_free and sets[AT, i] != position
        if not is_free:
            position += 1
            continue
        sets[AT, size] = position
        has_item = False
        for i in range(size + 1):
            has_item = has_item or items[which, d, sets[AT, i]] == one or items[which, d, sets[AT, i]] == other
        if not has_item and size + 1 == m and not goes_further:
            position += 1
            continue
        node = _child(table, nodes, state, sets[BEFORE, size], item)
        size += 1
        sets[BEFORE, size] = node
        if has_item and nodes[node, SEEN] != state[2]:
            nodes[node, SEEN] = state[2]
            nodes[node, COUNT] += change
            if change == 0:
                is_kept = is_kept and (nodes[node, COUNT] == 0 or nodes[node, COUNT] >= asked[d, K])
        if shares is not None and goes_further:
            is_kept &= _visit_further(
                table, nodes, state, shares, d, node, items, which, begin, end, has_item, one, other, change, sets, size
            )
        if size < m:
            position = begin
        else:
            size -= 1
            position += 1
    return is_kept


@inner_kernel
def _label(asked, n_values, floor, place, node, level, d, column, record, which):
    """The node that a record shows of a column; NOTHING where that is hidden, and the demand does not count it."""
    at = level[which, column, record]
    if at == floor[column] and not asked[d, SHARES_HIDDEN]:
        return NOTHING
    return np.int64(node[place[column, record] + n_values[column] * at])


@inner_kernel
def _item(table, nodes, state, asked, has_column, n_values, floor, place, node, level, d, record, which):
    """The item that a record shows at its levels; NOTHING where all is hidden. Not for VALUES."""
    n_columns, only, is_hidden = 0, NOTHING, True
    for column in range(len(n_values)):
        if has_column[d, column]:
            n_columns += 1
            only = _label(asked, n_values, floor, place, node, level, d, column, record, which)
            is_hidden = is_hidden and only < 0
    has_time = asked[d, KNOWS] == TIMES
    if is_hidden or (n_columns == 1 and not has_time):
        return only if n_columns == 1 else NOTHING
    item = asked[len(has_column), ROOT]  # nodes of the tree stand for tuples; those of demands begin with another step
    for step in range(-1, len(n_values) + has_time):
        if step < 0 or step == len(n_values) or has_column[d, step]:
            label = np.int64(d + 1)
            if step == len(n_values):
                label = np.int64(place[step, record])
            elif step >= 0:
                label = _label(asked, n_values, floor, place, node, level, d, step, record, which) + 1
            item = _child(table, nodes, state, item, label)
    return item


@inner_kernel
def _exchange(
    table, nodes, state, asked, shares, has_column, n_values, floor, place, node, person, start, group, level, items,
    n_items, times, sets, record, was, will, does, first_person, last_person,
):  # fmt: skip
    """A record shows its levels of `will` in place of those of `was`: MOVE counts it.

    CHECK says whether what its person gained and lost by that keeps to the demands, CHECK_OTHERS whether confidence
    holds for those who still show what the record showed.
    """
    n_columns = len(n_values)
    for d in range(len(has_column)):
        if asked[d, DEEPEST] == 0 or (does == CHECK_OTHERS and asked[d, DEEPEST] == asked[d, M]):
            continue
        for column in range(n_columns if asked[d, KNOWS] == VALUES else 1):
            if asked[d, KNOWS] == VALUES:
                if not has_column[d, column] or level[was, column, record] == level[will, column, record]:
                    continue
                old = _label(asked, n_values, floor, place, node, level, d, column, record, was)
                new = _label(asked, n_values, floor, place, node, level, d, column, record, will)
            else:
                old = _item(table, nodes, state, asked, has_column, n_values, floor, place, node, level, d, record, was)
                new = _item(
                    table, nodes, state, asked, has_column, n_values, floor, place, node, level, d, record, will
                )
                if old == new and does != CHECK_OTHERS:
                    continue
            own = np.int64(person[record])
            first_who, last_who = own, own + 1
            if does == CHECK_OTHERS:
                first_who, last_who = first_person, last_person
            for who in range(first_who, last_who):
                root = asked[d, ROOT] + asked[d, BY_GROUP] * group[who]
                if root != asked[d, ROOT] + asked[d, BY_GROUP] * group[own]:
                    continue
                for turn in range(1 if does == CHECK_OTHERS else 2):  # what is lost, then what is gained
                    item = new if turn else old
                    which = FORMER if does == CHECK and turn == 0 else SHOWN
                    change = (2 * turn - 1) * (does == MOVE)
                    if times is not None and asked[d, KNOWS] == ORDER:
                        begin, end = start[who], start[who + 1]
                        one, other = (old, new) if change else (item, item)
                        if change > 0:
                            items[SHOWN, d, record] = new
                        if one < 0 and other < 0:
                            continue
                        is_kept = _visit_sequences(
                            table, nodes, state, asked, shares, d, root, items, which, times, begin, end, one, other,
                            change, sets,
                        )  # fmt: skip
                        if change == 0 and not is_kept:
                            return False
                        continue
                    if item < 0:
                        continue
                    begin = start[who] * n_columns
                    end = begin + n_items[which, d, who]
                    first, behind = begin, end
                    while first < behind:  # the first of them that is not smaller
                        middle = (first + behind) // 2
                        if items[which, d, middle] < item:
                            first = middle + 1
                        else:
                            behind = middle
                    while behind < end and items[which, d, behind] == item:
                        behind += 1
                    if change > 0:
                        for i in range(end, first, -1):
                            items[which, d, i] = items[which, d, i - 1]
                        items[which, d, first] = item
                        behind += 1
                        end += 1
                    for copies in range(behind - first if change else 1, behind - first + 1):
                        is_kept = _visit(
                            table, nodes, state, asked, shares, d, root, items, which, begin, first, behind, end, item,
                            copies, change, sets,
                        )  # fmt: skip
                        if not is_kept:
                            return False
                    if change < 0:
                        for i in range(first, end - 1):
                            items[which, d, i] = items[which, d, i + 1]
                        end -= 1
                    n_items[which, d, who] = end - begin
    if does == MOVE:
        for column in range(n_columns):
            level[NOW, column, record] = level[will, column, record]
    return True


@inner_kernel
def _lower(
    table, nodes, state, asked, shares, has_column, n_values, floor, place, node, person, start, group, level, items,
    n_items, times, sets, moved, record, begin, end, target, bundle, plan, planned, first_person, last_person,
):  # fmt: skip
    """Show record[begin:end] at the target levels of a bundle (-1: as it is) as far as demands allow.

    Says how many could be, and whether others might be able to where these are not: where something else was given up
    for it, or where one record of a person stands in the way of another. With a plan, only records that have the level
    in it are shown.
    """
    n_columns = len(n_values)
    n, last, has_loss, has_several = 0, NOTHING, False, False
    for at in range(begin, end):
        one = record[at]
        is_higher, is_lower = False, False
        for column in range(n_columns):
            now, then = level[NOW, column, one], target[bundle, column]
            if then < 0:
                then = now
            elif planned >= 0:
                is_lower = is_lower or plan[planned, column, one] != then
            level[NEXT, column, one] = then
            is_higher = is_higher or then < now
            is_lower = is_lower or then > now
        if is_lower or not is_higher:
            continue
        who = np.int64(person[one])
        has_several = has_several or who == last
        if who != last:
            last = who
            for d in range(len(has_column)):  # what the person shows before
                n_items[FORMER, d, who] = n_items[SHOWN, d, who]
                from_item, to_item = start[who] * n_columns, start[who] * n_columns + n_items[SHOWN, d, who]
                if asked[d, KNOWS] == ORDER:
                    from_item, to_item = start[who], start[who + 1]
                for i in range(from_item, to_item):
                    items[FORMER, d, i] = items[SHOWN, d, i]
        for column in range(n_columns):
            level[WAS, column, one] = level[NOW, column, one]
            has_loss = has_loss or level[NOW, column, one] < floor[column]
        moved[n] = one
        n += 1
        _exchange(
            table, nodes, state, asked, shares, has_column, n_values, floor, place, node, person, start, group, level,
            items, n_items, times, sets, one, NOW, NEXT, MOVE, first_person, last_person,
        )  # fmt: skip
    left, is_changed = n, True
    while is_changed and left:
        is_changed = False
        for i in range(n):
            if moved[i] >= 0 and not _exchange(
                table, nodes, state, asked, shares, has_column, n_values, floor, place, node, person, start, group,
                level, items, n_items, times, sets, moved[i], WAS, NOW, CHECK, first_person, last_person,
            ):  # fmt: skip
                _exchange(
                    table, nodes, state, asked, shares, has_column, n_values, floor, place, node, person, start, group,
                    level, items, n_items, times, sets, moved[i], NOW, WAS, MOVE, first_person, last_person,
                )  # fmt: skip
                moved[i] = NOTHING
                is_changed = True
                left -= 1
    if shares is not None:
        has_several = True
        is_kept = True
        for i in range(n):
            if has_loss and moved[i] >= 0:
                is_kept = is_kept and _exchange(
                    table, nodes, state, asked, shares, has_column, n_values, floor, place, node, person, start, group,
                    level, items, n_items, times, sets, moved[i], WAS, NOW, CHECK_OTHERS, first_person, last_person,
                )  # fmt: skip
        for i in range(n):
            if not is_kept and moved[i] >= 0:
                _exchange(
                    table, nodes, state, asked, shares, has_column, n_values, floor, place, node, person, start, group,
                    level, items, n_items, times, sets, moved[i], NOW, WAS, MOVE, first_person, last_person,
                )  # fmt: skip
                left = 0
    return left, has_loss or has_several


@kernel
def show_bundles(
    table, nodes, state, asked, shares, has_column, n_values, floor, place, node, loss, person, start, group, level,
    items, n_items, times, sets, moved, record, begin_of_bundle, end_of_bundle, target, order, plan, person_of_unit,
    bundle_of_unit, persons_of_root, is_whole, first_unit, last_unit,
):  # fmt: skip
    """Show as much of units as demands allow, in the order of bundles that loses least.

    Gives the unit that was not finished since the tree has too little room: `last_unit` where all are. A unit is
    worked on by itself: a group, or all. `order` has the orders in which bundles are tried, unit by unit; `plan` the
    levels to begin with in each of them, none or one per order.
    """
    n_columns = len(n_values)
    for unit in range(first_unit, last_unit):
        first, last = person_of_unit[unit], person_of_unit[unit + 1]
        least = np.inf
        for way in range(max(len(order), len(plan))):
            for i in range(state[0]):  # forget all combinations but the roots
                if nodes[i, SLOT] >= 0:
                    table[nodes[i, SLOT], 1] = -1
            for i in range(len(persons_of_root)):
                is_of_unit = not is_whole and 0 < i <= len(has_column)
                nodes[i, SLOT] = -1
                nodes[i, COUNT] = last - first if is_of_unit else persons_of_root[i]
            state[0], state[1] = len(persons_of_root), 0
            for one in range(start[first], start[last]):  # hide all
                for column in range(n_columns):
                    level[NOW, column, one] = level[NEXT, column, one] = floor[column]
                    for d in range(len(has_column)):
                        if has_column[d, column] and asked[d, SHARES_HIDDEN]:
                            level[NOW, column, one] = floor[column] + 1
                for d in range(len(has_column)):
                    if asked[d, KNOWS] == ORDER:
                        items[SHOWN, d, one] = -1
            for who in range(first, last):
                for d in range(len(has_column)):
                    n_items[SHOWN, d, who] = 0
            for one in range(start[first], start[last]):  # what is hidden may be an item
                _exchange(
                    table, nodes, state, asked, shares, has_column, n_values, floor, place, node, person, start, group,
                    level, items, n_items, times, sets, one, NOW, NEXT, MOVE, first, last,
                )  # fmt: skip
            planned = way if len(plan) else NOTHING
            is_changed = True
            while is_changed and not state[1]:
                is_changed = planned >= 0
                for at in range(bundle_of_unit[unit], bundle_of_unit[unit + 1]):
                    bundle = order[way, at]
                    n_targets = 0
                    for column in range(n_columns):
                        n_targets += target[bundle, column] >= 0
                    if planned >= 0 and n_targets != 1:
                        continue
                    begin, end = begin_of_bundle[bundle], end_of_bundle[bundle]
                    n, can_more = 0, True
                    for turn in range(end - begin + 1):  # all together, then one by one
                        low, high = (begin + turn - 1, begin + turn) if turn else (begin, end)
                        n_lowered, can_more = _lower(
                            table, nodes, state, asked, shares, has_column, n_values, floor, place, node, person,
                            start, group, level, items, n_items, times, sets, moved, record, low, high, target, bundle,
                            plan, planned, first, last,
                        )  # fmt: skip
                        n += n_lowered
                        if turn == 0 and (n or not can_more or planned >= 0):
                            break
                    is_changed = is_changed or n > 0
                    if state[1]:
                        break
                planned = NOTHING
            if state[1]:
                return unit
            lost = 0.0
            for column in range(n_columns):
                for one in range(start[first], start[last]):
                    lost += loss[place[column, one] + n_values[column] * level[NOW, column, one]]
            if lost < least:
                least = lost
                for one in range(start[first], start[last]):
                    for column in range(n_columns):
                        level[BEST, column, one] = level[NOW, column, one]
    return last_unit


def fingerprints(value: NDArray[np.int32], time: NDArray[np.int32], start: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A number for what the records of each person are, in the order in which they stand."""
    of_person = np.empty(len(start) - 1, np.uint64)
    mix_prints(value, time, start, of_person)
    return of_person


@kernel
def mix_prints(value, time, start, of_person):
    """Write the fingerprints of persons."""
    n_columns = len(value)
    for person in range(len(of_person)):
        mixed = np.uint64(0x2545F4914F6CDD1D)
        for record in range(start[person], start[person + 1]):
            for column in range(n_columns + 1):
                cell = value[column, record] if column < n_columns else time[record]
                mixed = (mixed ^ np.uint64(cell)) * np.uint64(0x9E3779B97F4A7C15)
                mixed ^= mixed >> np.uint64(29)
        of_person[person] = mixed


def counts_in_steps(counts: NDArray[np.int64], start: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """What is kept of counts so that each number that is kept is kept at least k times, with the least left out.

    Those of a group stand sorted at counts[start[group]:start[group + 1]]. Blocks of k to 2k - 1 neighbours keep the
    least of the block; a group of fewer than k keeps nothing.
    """
    kept = np.zeros(len(counts), np.int64)
    longest = int(np.diff(start).max(initial=0))
    step_counts(counts, start, k, kept, np.empty((longest + 1, 2), np.int64))
    return kept


@kernel
def step_counts(counts, start, k, kept, best):
    """Write what is kept; `best` has the most that the first so many can keep, and where their last block starts."""
    for group in range(len(start) - 1):
        first, n = start[group], start[group + 1] - start[group]
        if n < k:
            continue
        for end in range(n + 1):
            best[end, 0], best[end, 1] = (-1 if end else 0), 0
            for begin in range(max(0, end - 2 * k + 1), end - k + 1):
                if best[begin, 0] >= 0:
                    kept_then = best[begin, 0] + (end - begin) * counts[first + begin]
                    if kept_then > best[end, 0]:
                        best[end, 0], best[end, 1] = kept_then, begin
        end = n
        while end > 0:
            for place in range(best[end, 1], end):
                kept[first + place] = counts[first + best[end, 1]]
            end = best[end, 1]
