"""Showing as much of histories as demands allow. Arrays in, arrays out; no tables, no checks, no randomness.

What persons show is counted in a tree of combinations: a node is a combination of items, its children are those with
one item more, and it counts the persons who show it. The roots are the empty combinations of the groups. A hash table
leads from a node and an item to the child, so that equal keys are equal combinations, never equal hashes.

At first all is hidden. A *bundle* is all records that would show one label of one group; it is lowered to that label
as a whole, and then the records that break a demand are hidden again, one after the other, until none does. With
nothing but `k` at stake that leaves the largest part of a bundle that can be shown, since two parts that can be shown
can be shown together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

VALUES, RECORDS, TIMES, ORDER = 0, 1, 2, 3
"""What an item is: a cell, a record, a record with its time, a record whose place among the others is known."""

FURTHER = np.int64(2**31 - 1)
"""Stands in the tree between a sequence and an item that the same person shows anywhere."""

_inner = njit(cache=True, nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""What only kernels call; without a way in from Python it compiles in a fraction of the time."""


class Tree(NamedTuple):
    """Combinations and how many persons show them."""

    key: np.ndarray  # (slots) uint64: node and item
    child: np.ndarray  # (slots) int32: the node below; -1 where the slot is free
    slot: np.ndarray  # (nodes) int64: where a node stands; -1 for roots
    count: np.ndarray  # (nodes) int32: persons
    seen: np.ndarray  # (nodes) int64: when a sequence was last looked at
    state: np.ndarray  # how many nodes there are, whether there was no place for one, the time for `seen`


class Cells(NamedTuple):
    """What records can show and what they show. Records stand by person, persons by unit."""

    value: np.ndarray  # (columns, records) int32
    time: np.ndarray  # (records) int32: ranks of published times
    node: np.ndarray  # the nodes of all columns, levels and values, one behind the other; unique over columns
    node_start: np.ndarray  # (columns): where those of a column start
    loss: np.ndarray  # what showing each of them loses
    n_values: np.ndarray  # (columns)
    n_levels: np.ndarray  # (columns): this level is hidden
    person: np.ndarray  # (records) int32
    start: np.ndarray  # (persons + 1): where the records of a person start
    group: np.ndarray  # (persons) int32
    is_closed: np.ndarray  # (persons) bool: shows nothing, since the group is too small
    level: np.ndarray  # (columns, records) int8: what is shown
    items: np.ndarray  # (demands, records times columns) int32: what persons show, sorted; by record for ORDER
    n_items: np.ndarray  # (demands, persons) int32
    former: np.ndarray  # the items before a bundle was lowered, of persons who are in it
    n_former: np.ndarray


class Demands(NamedTuple):
    """What is asked, one entry per demand."""

    k: np.ndarray
    m: np.ndarray
    share: np.ndarray  # confidence as a fraction, share / share_of; share_of is 0 where none is asked
    share_of: np.ndarray
    knows: np.ndarray
    by_group: np.ndarray  # bool: whether groups are told apart inside a unit
    has_column: np.ndarray  # (demands, columns) bool
    root: np.ndarray  # the node of the empty combination, of the first group; at the end that of tuples of labels


class Bundles(NamedTuple):
    """Records that would show the same label."""

    order: np.ndarray  # (orders, bundles): orders in which they are tried, unit by unit; that which loses least counts
    start: np.ndarray
    end: np.ndarray
    record: np.ndarray
    target: np.ndarray  # (bundles, columns) int8: the levels that they would show; -1 as it is
    plan: np.ndarray  # (plans, columns, records) int8: levels to begin with in each order; none, or one per order


class Units(NamedTuple):
    """Persons who are worked on by themselves: a group, or all."""

    person: np.ndarray  # (units + 1): where the persons of a unit start
    bundle: np.ndarray  # (units + 1): where the bundles of a unit start


class Scratch(NamedTuple):
    """Room for combinations while they are gone through."""

    at: np.ndarray  # positions of chosen items
    before: np.ndarray  # nodes of the combination so far
    after: np.ndarray
    path: np.ndarray  # items of the combination
    new: np.ndarray  # (columns) levels that a record is about to show
    moved: np.ndarray  # (records) which records of a bundle were lowered
    was: np.ndarray  # (columns, records) the levels that they had
    is_open: np.ndarray  # (records) whether they still are lowered
    best: np.ndarray  # (columns, records) the levels that lose least so far


@_inner
def _slot_of(tree, node, item):
    """Where the child of a node by an item stands or would stand."""
    key = (np.uint64(node) << np.uint64(32)) | np.uint64(item)
    mixed = key * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    last = np.uint64(len(tree.key) - 1)
    at = np.int64(mixed & last)
    while tree.child[at] >= 0 and tree.key[at] != key:
        at = (at + 1) & np.int64(last)
    return key, at


@_inner
def _child(tree, node, item):
    """The combination with one item more; made where there is none."""
    key, at = _slot_of(tree, node, item)
    if tree.child[at] < 0:
        new = tree.state[0]
        if new == len(tree.count):
            tree.state[1] = 1  # the caller comes again with more room
            return np.int64(0)
        tree.state[0] += 1
        tree.key[at], tree.child[at], tree.slot[new] = key, new, at
        tree.count[new], tree.seen[new] = 0, 0
    return np.int64(tree.child[at])


@_inner
def _child_if_any(tree, node, item):
    """The combination with one item more; -1 where there is none."""
    _, at = _slot_of(tree, node, item)
    return np.int64(tree.child[at])


@_inner
def _clear(tree, persons_of_root):
    """Forget all combinations but the roots."""
    for node in range(tree.state[0]):
        if tree.slot[node] >= 0:
            tree.child[tree.slot[node]] = -1
    n_roots = len(persons_of_root)
    tree.slot[:n_roots] = -1
    tree.count[:n_roots] = persons_of_root
    tree.state[0], tree.state[1] = n_roots, 0


@_inner
def _next(items, at, low, size, most, start, stop):
    """Go on to the next multiset of items[start:stop], depth first; at[low:size] has its positions. -1: no more."""
    position = at[size - 1] + 1 if size > low else start
    if size < most and position < stop:
        at[size] = position
        return size + 1
    while size > low:
        size -= 1
        position = at[size] + 1
        while position < stop and items[position] == items[at[size]]:
            position += 1
        if position < stop:
            at[size] = position
            return size + 1
    return -1


@_inner
def _keeps(tree, demands, d, root, node, path, size):
    """Whether a combination of a demand, the sorted items path[:size], is shown by nobody or as the demand asks."""
    count = np.int64(tree.count[node])
    if count == 0:
        return True
    if size <= demands.m[d] and count < demands.k[d]:
        return False
    if demands.share_of[d] == 0:
        return True
    for one in range(size):
        if (one > 0 and path[one] == path[one - 1]) or (one + 1 < size and path[one] == path[one + 1]):
            continue
        known = root
        for other in range(size):
            if other != one:
                known = _child_if_any(tree, known, path[other])
        if count * demands.share_of[d] > demands.share[d] * np.int64(tree.count[known]):
            return False
    return True


@_inner
def _visit(tree, demands, d, root, items, begin, end, item, copies, change, scratch):
    """Change the counts of all combinations of items[begin:end] that have an item exactly so often.

    Says whether all of them keep to the demand then. The copies of the item need not be among the items.
    """
    deepest = demands.m[d] + (1 if demands.share_of[d] else 0)
    most = deepest - copies
    if most < 0:
        return True
    first = begin + np.searchsorted(items[begin:end], item)
    behind = first
    while behind < end and items[behind] == item:
        behind += 1
    at, before, after, path = scratch.at, scratch.before, scratch.after, scratch.path
    size = 0
    before[0] = root
    while size >= 0:
        if size:
            before[size] = _child(tree, before[size - 1], items[at[size - 1]])
            path[size - 1] = items[at[size - 1]]
        node = before[size]
        for copy in range(copies):
            node = _child(tree, node, item)
            path[size + copy] = item
        after[size] = node
        whole = size
        while whole >= 0:
            if whole > size:
                path[whole + copies - 1] = items[at[whole - 1]]
                after[whole] = _child(tree, after[whole - 1], items[at[whole - 1]])
            tree.count[after[whole]] += change
            if change == 0 and not _keeps(tree, demands, d, root, after[whole], path, whole + copies):
                return False
            whole = _next(items, at, size, whole, most, behind, end)
        size = _next(items, at, 0, size, most, begin, first)
    return True


@_inner
def _touch(tree, node, change, tick):
    """Change a count once per tick."""
    if tree.seen[node] == tick:
        return False
    tree.seen[node] = tick
    tree.count[node] += change
    return True


@_inner
def _visit_further(tree, demands, d, node, items, begin, end, has_item, one, other, change, tick, scratch, size):
    """The same for a sequence and each item that it does not have; see `_visit_sequences`."""
    is_kept = True
    for record in range(begin, end):
        item = items[record]
        is_new = item >= 0
        for i in range(size):
            is_new = is_new and items[scratch.at[i]] != item
        if is_new and (has_item or item in (one, other)):
            further = _child(tree, _child(tree, node, FURTHER), item)
            if _touch(tree, further, change, tick) and change == 0 and tree.count[further]:
                count, known = np.int64(tree.count[further]), np.int64(tree.count[node])
                is_kept = is_kept and count * demands.share_of[d] <= demands.share[d] * known
    return is_kept


@_inner
def _visit_sequences(tree, demands, d, root, items, time, begin, end, one, other, change, scratch):
    """Change the counts of all sequences of a person's records that have one of two items; see `_visit`.

    Sequences are gone through depth first, record by record; each counts once.
    """
    tree.state[2] += 1
    tick = tree.state[2]
    m = demands.m[d]
    at, nodes = scratch.at, scratch.before
    nodes[0] = root
    is_kept = True
    if demands.share_of[d]:
        is_kept = _visit_further(tree, demands, d, root, items, begin, end, False, one, other, change, tick, scratch, 0)
    size = 0
    position = begin
    while m > 0:
        if position == end:
            if size == 0:
                break
            size -= 1
            position = at[size] + 1
            continue
        is_free = items[position] >= 0 and (size == 0 or time[at[size - 1]] <= time[position])
        for i in range(size):
            is_free = is_free and at[i] != position
        if not is_free:
            position += 1
            continue
        at[size] = position
        has_item = False
        for i in range(size + 1):
            has_item = has_item or items[at[i]] == one or items[at[i]] == other
        if not has_item and size + 1 == m and not demands.share_of[d]:
            position += 1
            continue
        size += 1
        nodes[size] = _child(tree, nodes[size - 1], items[position])
        if has_item and _touch(tree, nodes[size], change, tick) and change == 0:
            is_kept = is_kept and (tree.count[nodes[size]] == 0 or tree.count[nodes[size]] >= demands.k[d])
        if demands.share_of[d]:
            is_kept &= _visit_further(
                tree, demands, d, nodes[size], items, begin, end, has_item, one, other, change, tick, scratch, size
            )
        if size < m:
            position = begin
        else:
            size -= 1
            position += 1
    return is_kept


@_inner
def _shown(cells, column, record, level):
    """The node that a cell shows at a level; -1 where that is hidden."""
    if level >= cells.n_levels[column]:
        return np.int64(-1)
    place = cells.node_start[column] + np.int64(level) * cells.n_values[column] + cells.value[column, record]
    return np.int64(cells.node[place])


@_inner
def _item(tree, cells, demands, d, record, levels):
    """The item that a record shows at the given levels of the columns; -1 where all is hidden. Not for VALUES."""
    n_columns, only = 0, np.int64(-1)
    is_hidden = True
    for column in range(len(levels)):
        if demands.has_column[d, column]:
            n_columns += 1
            only = _shown(cells, column, record, levels[column])
            is_hidden = is_hidden and only < 0
    if is_hidden or (n_columns == 1 and demands.knows[d] != TIMES):
        return only if n_columns == 1 else np.int64(-1)
    item = np.int64(d + 1)  # nodes of the tree stand for tuples; those of demands are told apart by the first step
    item = _child(tree, demands.root[len(demands.k)], item)
    for column in range(len(levels)):
        if demands.has_column[d, column]:
            item = _child(tree, item, _shown(cells, column, record, levels[column]) + 1)
    if demands.knows[d] == TIMES:
        item = _child(tree, item, np.int64(cells.time[record]))
    return item


@_inner
def _root(cells, demands, d, person):
    """The empty combination of a person's group."""
    return demands.root[d] + (np.int64(cells.group[person]) if demands.by_group[d] else 0)


@_inner
def _copies(items, begin, end, item):
    """How often an item is among sorted items, and where it starts."""
    first = begin + np.searchsorted(items[begin:end], item)
    behind = first
    while behind < end and items[behind] == item:
        behind += 1
    return first, behind - first


@_inner
def _exchange(tree, cells, demands, d, record, old, new, scratch):
    """A person shows one item in place of another; -1 is nothing."""
    person = cells.person[record]
    root = _root(cells, demands, d, person)
    items = cells.items[d]
    if demands.knows[d] == ORDER:
        begin, end = cells.start[person], cells.start[person + 1]
        _visit_sequences(tree, demands, d, root, items, cells.time, begin, end, old, new, -1, scratch)
        items[record] = new
        _visit_sequences(tree, demands, d, root, items, cells.time, begin, end, old, new, 1, scratch)
        return
    begin = cells.start[person] * len(cells.n_levels)
    end = begin + cells.n_items[d, person]
    if old >= 0:
        first, copies = _copies(items, begin, end, old)
        _visit(tree, demands, d, root, items, begin, end, old, copies, -1, scratch)
        for i in range(first, end - 1):
            items[i] = items[i + 1]
        end -= 1
    if new >= 0:
        first, copies = _copies(items, begin, end, new)
        for i in range(end, first, -1):
            items[i] = items[i - 1]
        items[first] = new
        end += 1
        _visit(tree, demands, d, root, items, begin, end, new, copies + 1, 1, scratch)
    cells.n_items[d, person] = end - begin


@_inner
def _move(tree, cells, demands, record, levels, scratch):
    """Show a record at other levels."""
    for d in range(len(demands.k)):
        if demands.m[d] == 0 and demands.share_of[d] == 0:
            continue
        if demands.knows[d] == VALUES:
            for column in range(len(levels)):
                if demands.has_column[d, column] and levels[column] != cells.level[column, record]:
                    old = _shown(cells, column, record, cells.level[column, record])
                    new = _shown(cells, column, record, levels[column])
                    _exchange(tree, cells, demands, d, record, old, new, scratch)
        else:
            old = _item(tree, cells, demands, d, record, cells.level[:, record])
            new = _item(tree, cells, demands, d, record, levels)
            if old != new:
                _exchange(tree, cells, demands, d, record, old, new, scratch)
    for column in range(len(levels)):
        cells.level[column, record] = levels[column]


@_inner
def _shows_well(tree, cells, demands, d, person, items, n_items, item, scratch):
    """Whether all combinations with an item that a person shows, or showed before, keep to a demand."""
    root = _root(cells, demands, d, person)
    if demands.knows[d] == ORDER:
        begin, end = cells.start[person], cells.start[person + 1]
        return _visit_sequences(tree, demands, d, root, items, cells.time, begin, end, item, item, 0, scratch)
    begin = cells.start[person] * len(cells.n_levels)
    end = begin + n_items
    _, copies = _copies(items, begin, end, item)
    n = 1
    while n <= copies and _visit(tree, demands, d, root, items, begin, end, item, n, 0, scratch):
        n += 1
    return n > copies


@_inner
def _item_fits(tree, cells, demands, d, record, old, new, scratch):
    """Whether what a person gained with an item and lost with another keeps to a demand."""
    person = cells.person[record]
    if new >= 0 and not _shows_well(
        tree, cells, demands, d, person, cells.items[d], cells.n_items[d, person], new, scratch
    ):
        return False
    return old < 0 or _shows_well(
        tree, cells, demands, d, person, cells.former[d], cells.n_former[d, person], old, scratch
    )


@_inner
def _fits(tree, cells, demands, record, former, scratch):
    """Whether a record that was shown at former levels can be shown as it is now."""
    for d in range(len(demands.k)):
        if demands.m[d] == 0 and demands.share_of[d] == 0:
            continue
        if demands.knows[d] == VALUES:
            for column in range(len(former)):
                if demands.has_column[d, column] and former[column] != cells.level[column, record]:
                    old = _shown(cells, column, record, former[column])
                    new = _shown(cells, column, record, cells.level[column, record])
                    if not _item_fits(tree, cells, demands, d, record, old, new, scratch):
                        return False
        else:
            old = _item(tree, cells, demands, d, record, former)
            new = _item(tree, cells, demands, d, record, cells.level[:, record])
            if old != new and not _item_fits(tree, cells, demands, d, record, old, new, scratch):
                return False
    return True


@_inner
def _remember(cells, demands, person):
    """Keep what a person shows before a bundle is lowered."""
    width = len(cells.n_levels)
    for d in range(len(demands.k)):
        if demands.knows[d] == ORDER:
            begin, end = cells.start[person], cells.start[person + 1]
        else:
            begin = cells.start[person] * width
            end = begin + cells.n_items[d, person]
        for i in range(begin, end):
            cells.former[d, i] = cells.items[d, i]
        cells.n_former[d, person] = cells.n_items[d, person]


@_inner
def _others_keep(tree, cells, demands, record, former, first_person, last_person, scratch):
    """Whether confidence holds for those who still show what a record showed at former levels."""
    for d in range(len(demands.k)):
        if demands.share_of[d] == 0:
            continue
        for column in range(len(former)):
            if demands.knows[d] == VALUES:
                if not demands.has_column[d, column] or former[column] == cells.level[column, record]:
                    continue
                old = _shown(cells, column, record, former[column])
            elif column == 0:
                old = _item(tree, cells, demands, d, record, former)
            else:
                break
            if old < 0:
                continue
            root = _root(cells, demands, d, cells.person[record])
            for person in range(first_person, last_person):
                if _root(cells, demands, d, person) == root and not _shows_well(
                    tree, cells, demands, d, person, cells.items[d], cells.n_items[d, person], old, scratch
                ):
                    return False
    return True


@_inner
def _take_back(tree, cells, demands, scratch, i):
    """Show a lowered record as before."""
    scratch.is_open[i] = False
    for column in range(len(scratch.new)):
        scratch.new[column] = scratch.was[column, i]
    _move(tree, cells, demands, scratch.moved[i], scratch.new, scratch)


@_inner
def _lower(tree, cells, demands, records, target, first_person, last_person, scratch):
    """Show records at target levels (-1: as it is) as far as demands allow; says how many could be.

    Says too whether others might be able to where these are not: where something else was given up for it, or where
    one record of a person stands in the way of another.
    """
    n, last, has_loss, has_several = 0, -1, False, False
    for record in records:
        person = cells.person[record]
        if cells.is_closed[person]:
            continue
        is_higher, is_lower = False, False
        for column in range(len(target)):
            scratch.new[column] = cells.level[column, record] if target[column] < 0 else target[column]
            is_higher = is_higher or scratch.new[column] < cells.level[column, record]
            is_lower = is_lower or scratch.new[column] > cells.level[column, record]
        if is_lower or not is_higher:
            continue
        has_several = has_several or person == last
        if person != last:
            _remember(cells, demands, person)
            last = person
        scratch.moved[n], scratch.is_open[n] = record, True
        for column in range(len(target)):
            scratch.was[column, n] = cells.level[column, record]
            has_loss = has_loss or cells.level[column, record] < cells.n_levels[column]
        _move(tree, cells, demands, record, scratch.new, scratch)
        n += 1
    left, is_changed = n, True
    while is_changed and left:
        is_changed = False
        for i in range(n):
            if scratch.is_open[i] and not _fits(tree, cells, demands, scratch.moved[i], scratch.was[:, i], scratch):
                _take_back(tree, cells, demands, scratch, i)
                is_changed = True
                left -= 1
    if left and has_loss and demands.share_of.any():
        is_kept = True
        for i in range(n):
            is_kept = is_kept and (
                not scratch.is_open[i]
                or _others_keep(
                    tree, cells, demands, scratch.moved[i], scratch.was[:, i], first_person, last_person, scratch
                )
            )
        if not is_kept:
            for i in range(n):
                if scratch.is_open[i]:
                    _take_back(tree, cells, demands, scratch, i)
            left = 0
    return left, has_loss or has_several or demands.share_of.any()


@_inner
def _begin(tree, cells, demands, units, unit, persons_of_root, is_whole):
    """Hide all that the persons of a unit show."""
    first, last = units.person[unit], units.person[unit + 1]
    begin, end = cells.start[first], cells.start[last]
    if not is_whole:
        persons_of_root[1 : len(demands.k) + 1] = last - first
    _clear(tree, persons_of_root)
    for column in range(len(cells.n_levels)):
        cells.level[column, begin:end] = cells.n_levels[column]
    for d in range(len(demands.k)):
        cells.n_items[d, first:last] = 0
        if demands.knows[d] == ORDER:
            cells.items[d, begin:end] = -1


@_inner
def _lower_all(tree, cells, demands, bundles, order, first, last, scratch):
    """Lower bundles again and again until none can be lowered further."""
    is_changed = True
    while is_changed and not tree.state[1]:
        is_changed = False
        for bundle in order:
            records = bundles.record[bundles.start[bundle] : bundles.end[bundle]]
            target = bundles.target[bundle]
            n, can_more = _lower(tree, cells, demands, records, target, first, last, scratch)
            if n == 0 and can_more:
                for i in range(len(records)):
                    n += _lower(tree, cells, demands, records[i : i + 1], target, first, last, scratch)[0]
            is_changed = is_changed or n > 0
            if tree.state[1]:
                break


@_inner
def _lower_as_planned(tree, cells, demands, bundles, order, plan, first, last, scratch):
    """Lower of each bundle of one column the records that a plan has at this level."""
    for bundle in order:
        records = bundles.record[bundles.start[bundle] : bundles.end[bundle]]
        target = bundles.target[bundle]
        column = np.argmax(target)
        if (target >= 0).sum() == 1:
            records = records[plan[column][records] == target[column]]
            _lower(tree, cells, demands, records, target, first, last, scratch)


@_inner
def _loss(cells, begin, end):
    """What is lost in records."""
    loss = 0.0
    for column in range(len(cells.n_levels)):
        for record in range(begin, end):
            level = np.int64(cells.level[column, record])
            if level < cells.n_levels[column]:
                place = cells.node_start[column] + level * cells.n_values[column] + cells.value[column, record]
                loss += cells.loss[place]
            else:
                loss += 1.0
    return loss


@njit(cache=True, nogil=True)
def show_bundles(tree, cells, demands, bundles, units, scratch, persons_of_root, is_whole, first_unit, last_unit):
    """Show as much of units as demands allow, in the order of bundles that loses least.

    Gives the unit that was not finished since the tree has too little room: `last_unit` where all are.
    """
    for unit in range(first_unit, last_unit):
        first, last = units.person[unit], units.person[unit + 1]
        begin, end = cells.start[first], cells.start[last]
        least = np.inf
        for way in range(max(len(bundles.order), len(bundles.plan))):
            _begin(tree, cells, demands, units, unit, persons_of_root, is_whole)
            order = bundles.order[way, units.bundle[unit] : units.bundle[unit + 1]]
            if len(bundles.plan):
                _lower_as_planned(tree, cells, demands, bundles, order, bundles.plan[way], first, last, scratch)
            _lower_all(tree, cells, demands, bundles, order, first, last, scratch)
            if tree.state[1]:
                return unit
            loss = _loss(cells, begin, end)
            if loss < least:
                least = loss
                scratch.best[:, begin:end] = cells.level[:, begin:end]
        cells.level[:, begin:end] = scratch.best[:, begin:end]
    return last_unit


@njit(cache=True, nogil=True)
def fingerprints(value, time, start):
    """A number for what the records of each person are, in the order in which they stand."""
    n_columns = len(value)
    of_person = np.zeros(len(start) - 1, np.uint64)
    for person in range(len(of_person)):
        mixed = np.uint64(0x2545F4914F6CDD1D)
        for record in range(start[person], start[person + 1]):
            for column in range(n_columns + 1):
                cell = value[column, record] if column < n_columns else time[record]
                mixed = (mixed ^ np.uint64(cell)) * np.uint64(0x9E3779B97F4A7C15)
                mixed ^= mixed >> np.uint64(29)
        of_person[person] = mixed
    return of_person


@njit(cache=True, nogil=True)
def counts_in_steps(counts, k):
    """What is kept of sorted counts so that each number that is kept is kept at least k times, with the least left out.

    Blocks of k to 2k - 1 neighbours keep the least of the block; `counts` has at least k entries.
    """
    n = len(counts)
    kept_best = np.full(n + 1, -1, np.int64)  # the most that the first so many can keep
    start_of = np.zeros(n + 1, np.int64)
    kept_best[0] = 0
    for end in range(k, n + 1):
        for start in range(max(0, end - 2 * k + 1), end - k + 1):
            if kept_best[start] >= 0:
                kept = kept_best[start] + (end - start) * counts[start]
                if kept > kept_best[end]:
                    kept_best[end], start_of[end] = kept, start
    kept_of = np.empty(n, np.int64)
    end = n
    while end:
        kept_of[start_of[end] : end] = counts[start_of[end]]
        end = start_of[end]
    return kept_of
