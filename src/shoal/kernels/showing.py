"""Showing as much of histories as can be where at most two values of a person are known, and k is all that is asked.

A *cell* is a record in a column; the cells of a person stand together, and so do those of a unit (a group, or all).
`label` has what a cell would show at each level, numbered inside its unit; `level` is where it is shown, and `hidden`
where it is not. Counted are persons: `one` who show a label, `two` who show two labels together, or one of them twice.
A *bundle* is all cells of a unit that would show one label. `floor` is where the cells of a column begin, which shows
as little as can be: hidden, or where what is hidden counts as a label like any other, the last level. Where two values
may be known, hidden values are shared otherwise: so many persons have two of them, who may have any two values, and
these cells are *pinned*. Arrays in, arrays out; no tables, no checks, no randomness.

`hiding` does the same for all else that can be asked, with a tree of combinations instead of a table of pairs.
"""

from __future__ import annotations

from shoal.kernels.compiling import plain_kernel

TINY = 1e-9
"""What is not above this is nothing."""

TICK, N_LABELS, HIDDEN, HAS_PAIRS, BY_PLAN = range(5)
"""What stands in `state`: a number that grows, how many labels a unit has, the level that shows nothing, whether two
labels are asked about, and whether cells are lowered by plan."""


@plain_kernel
def count(item, step, first, end, label, level, one, two, seen, state):
    """A person, whose cells are first to end, shows an item once more (step 1), or showed it so (step -1)."""
    hidden, n_labels = state[HIDDEN], state[N_LABELS]
    copies = 0
    for cell in range(first, end):
        if level[cell] < hidden and label[cell, level[cell]] == item:
            copies += 1
    if copies == 0:
        one[item] += step
    if copies > 1 or not state[HAS_PAIRS]:
        return
    if copies == 1:
        two[item * n_labels + item] += step
        return
    state[TICK] += 1
    for cell in range(first, end):
        if level[cell] < hidden:
            other = label[cell, level[cell]]
            if seen[other] != state[TICK]:
                seen[other] = state[TICK]
                two[item * n_labels + other] += step
                two[other * n_labels + item] += step


@plain_kernel
def show(cell, to, start, person, label, level, one, two, seen, state):
    """Show a cell at another level."""
    first, end = start[person[cell]], start[person[cell] + 1]
    was = level[cell]
    level[cell] = state[HIDDEN]
    if was < state[HIDDEN]:
        count(label[cell, was], -1, first, end, label, level, one, two, seen, state)
    if to < state[HIDDEN]:
        count(label[cell, to], 1, first, end, label, level, one, two, seen, state)
    level[cell] = to


@plain_kernel
def keeps(cell, level, gone, first, end, column, label, k_one, k_two, one, two, state):
    """Whether enough persons show what a cell shows at its level, alone and with what its person shows beside it.

    With `gone` the levels are those from before: what nobody shows any more is kept to as well.
    """
    hidden, n_labels = state[HIDDEN], state[N_LABELS]
    if level[cell] == hidden:
        return True
    item = label[cell, level[cell]]
    if one[item] < k_one[column[cell]]:
        return gone and one[item] == 0
    if not state[HAS_PAIRS]:
        return True
    for other in range(first, end):
        if other != cell and level[other] < hidden:
            n = two[item * n_labels + label[other, level[other]]]
            if n < k_two[column[cell], column[other]] and not (gone and n == 0):
                return False
    return True


@plain_kernel
def count_more(open_cells, n, to, start, person, label, level, more, seen, state):
    """For each label beside open cells, how many persons would show it with the label that all of these would show.

    No fewer than would, since what open cells show now is counted, too. The cells of a person stand together.
    """
    for at in range(n):
        cell = open_cells[at]
        more[label[cell, to]] = 0
        for other in range(start[person[cell]], start[person[cell] + 1]):
            if level[other] < state[HIDDEN]:
                more[label[other, level[other]]] = 0
    last = -1
    for at in range(n):
        cell = open_cells[at]
        first, end = start[person[cell]], start[person[cell] + 1]
        if person[cell] == last:
            first = end
            if seen[label[cell, to]] != state[TICK]:
                seen[label[cell, to]] = state[TICK]
                more[label[cell, to]] += 1
        else:
            state[TICK] += 1
        last = person[cell]
        for other in range(first, end):
            if other != cell and level[other] < state[HIDDEN]:
                beside = label[other, level[other]]
                if seen[beside] != state[TICK]:
                    seen[beside] = state[TICK]
                    more[beside] += 1


@plain_kernel
def has_hope(cell, to, n_more, first, end, column, label, k_one, k_two, level, one, two, more, state):
    """Whether enough persons would show a cell at a level if so many more showed it, and `more` of them beside others.

    What else its person may come to show at the same label is not asked about.
    """
    hidden, n_labels = state[HIDDEN], state[N_LABELS]
    item = label[cell, to]
    if one[item] + n_more < k_one[column[cell]]:
        return False
    if not state[HAS_PAIRS]:
        return True
    for other in range(first, end):
        if other != cell and level[other] < hidden and (level[other] <= to or label[other, to] != item):
            beside = label[other, level[other]]
            if two[item * n_labels + beside] + more[beside] < k_two[column[cell], column[other]]:
                return False
    return True


@plain_kernel
def has_hope_alone(cell, to, first, end, column, label, k_one, k_two, level, one, two, state):
    """Whether enough persons would show a cell at a lower level if nobody else came to show it there."""
    hidden, n_labels = state[HIDDEN], state[N_LABELS]
    item = label[cell, to]
    if level[cell] <= to or one[item] + 1 < k_one[column[cell]]:
        return False
    if not state[HAS_PAIRS]:
        return True
    for other in range(first, end):
        if other != cell and level[other] < hidden:
            n = two[item * n_labels + label[other, level[other]]]
            if n + 1 < k_two[column[cell], column[other]]:
                return False
    return True


@plain_kernel
def with_hope(open_cells, n, to, start, person, column, label, k_one, k_two, level, one, two, more, seen, state):
    """Keep of the open cells those that could be shown at a level if all of these were; gives how many they are."""
    is_changed = True
    while is_changed and n > 0:
        if state[HAS_PAIRS]:
            count_more(open_cells, n, to, start, person, label, level, more, seen, state)
        left = 0
        for at in range(n):
            cell = open_cells[at]
            if has_hope(
                cell, to, n, start[person[cell]], start[person[cell] + 1], column, label, k_one, k_two, level, one,
                two, more, state,
            ):  # fmt: skip
                open_cells[left] = cell
                left += 1
        is_changed, n = left < n, left
    return n


@plain_kernel
def lower(
    cells, begin, behind, to, start, person, column, label, floor, plan, pinned, k_one, k_two, level, was, one, two,
    more, seen, open_cells, state,
):  # fmt: skip
    """Show the cells[begin:behind] at a level as far as k allows; gives how many could be, and whether others might be.

    Others might where something else is given up for these, or where cells of one person stand in each other's way.
    `was` has the levels from before, of all cells. By plan only cells are shown that have the level in it.
    """
    n, last, has_others = 0, -1, False
    for at in range(begin, behind):
        cell = cells[at]
        if level[cell] > to and pinned[cell] % 2 == 0 and (not state[BY_PLAN] or plan[0, cell] == to):
            has_others = has_others or level[cell] < floor[column[cell]] or person[cell] == last
            last = person[cell]
            open_cells[n] = cell
            n += 1
    left = with_hope(open_cells, n, to, start, person, column, label, k_one, k_two, level, one, two, more, seen, state)
    for at in range(left):
        show(open_cells[at], to, start, person, label, level, one, two, seen, state)
    is_changed = True
    while is_changed and left > 0:
        is_changed = False
        n, left = left, 0
        for at in range(n):
            cell = open_cells[at]
            first, end = start[person[cell]], start[person[cell] + 1]
            if keeps(cell, level, False, first, end, column, label, k_one, k_two, one, two, state) and keeps(
                cell, was, True, first, end, column, label, k_one, k_two, one, two, state
            ):
                open_cells[left] = cell
                left += 1
            else:
                show(cell, was[cell], start, person, label, level, one, two, seen, state)
                is_changed = True
    for at in range(left):
        was[open_cells[at]] = to
    return left, has_others


@plain_kernel
def lower_all(
    order, first_bundle, last_bundle, bundle_start, bundle_end, bundle_level, cells, start, person, column, label,
    floor, plan, pinned, k_one, k_two, level, was, one, two, more, seen, open_cells, state,
):  # fmt: skip
    """Lower bundles again and again until none can be lowered further, nor one of its cells."""
    n_in_vain, at = 0, first_bundle
    while n_in_vain < last_bundle - first_bundle:
        bundle = order[at]
        at = at + 1 if at + 1 < last_bundle else first_bundle
        begin, behind, to = bundle_start[bundle], bundle_end[bundle], bundle_level[bundle]
        n, has_others = lower(
            cells, begin, behind, to, start, person, column, label, floor, plan, pinned, k_one, k_two, level, was, one,
            two, more, seen, open_cells, state,
        )  # fmt: skip
        if n == 0 and has_others:
            for place in range(begin, behind):
                cell = cells[place]
                if has_hope_alone(
                    cell, to, start[person[cell]], start[person[cell] + 1], column, label, k_one, k_two, level, one,
                    two, state,
                ):  # fmt: skip
                    n += lower(
                        cells, place, place + 1, to, start, person, column, label, floor, plan, pinned, k_one, k_two,
                        level, was, one, two, more, seen, open_cells, state,
                    )[0]  # fmt: skip
        n_in_vain = 0 if n > 0 else n_in_vain + 1


@plain_kernel
def force(cells, begin, behind, to, start, person, column, label, floor, k_two, level, one, two, seen, state):
    """Show the cells[begin:behind] at a level, and hide what their persons show beside it and too few show with it."""
    hidden, n_labels = state[HIDDEN], state[N_LABELS]
    for at in range(begin, behind):
        if level[cells[at]] != to:
            show(cells[at], to, start, person, label, level, one, two, seen, state)
    for at in range(begin, behind):
        cell = cells[at]
        item = label[cell, to]
        for other in range(start[person[cell]], start[person[cell] + 1]):
            if other != cell and level[cell] < hidden and level[other] < hidden:
                beside = label[other, level[other]]
                if two[item * n_labels + beside] < k_two[column[cell], column[other]]:
                    goes = cell if beside == item else other
                    show(goes, floor[column[goes]], start, person, label, level, one, two, seen, state)


@plain_kernel
def most_to_gain(
    order, first_bundle, last_bundle, bundle_start, bundle_end, bundle_level, cells, loss, level, tried, state
):
    """The bundle that would save most if all of it were shown, of those that were not tried; -1 where none would."""
    most, found = TINY, -1
    for at in range(first_bundle, last_bundle):
        bundle = order[at]
        to = bundle_level[bundle]
        if tried[bundle] == 0:
            gain = 0.0
            for place in range(bundle_start[bundle], bundle_end[bundle]):
                cell = cells[place]
                if level[cell] > to:
                    gain += (loss[cell, level[cell]] if level[cell] < state[HIDDEN] else 1.0) - loss[cell, to]
            if gain > most:
                most, found = gain, bundle
    return found


@plain_kernel
def hide_broken(first, end, start, person, column, label, floor, k_one, k_two, level, one, two, seen, state):
    """Hide cells until enough persons show what is left; what is at its floor waits for what stands beside it."""
    is_changed = True
    while is_changed:
        is_changed = False
        for cell in range(first, end):
            begin, behind, least = start[person[cell]], start[person[cell] + 1], floor[column[cell]]
            if level[cell] != least and not keeps(
                cell, level, False, begin, behind, column, label, k_one, k_two, one, two, state
            ):
                show(cell, least, start, person, label, level, one, two, seen, state)
                is_changed = True


@plain_kernel
def hidden_least(begin, behind, column, hides, level, hidden):
    """The fewest hidden cells that a person has in any column whose hidden values are shared, and the fewest cells."""
    fewest, fewest_cells = behind - begin, behind - begin
    for each in range(len(hides)):
        if hides[each]:
            n, n_cells = 0, 0
            for cell in range(begin, behind):
                if column[cell] == each:
                    n_cells += 1
                    n += level[cell] == hidden
            fewest, fewest_cells = min(fewest, n), min(fewest_cells, n_cells)
    return fewest, fewest_cells


@plain_kernel
def hide_more(begin, behind, start, person, column, label, loss, hides, most, pinned, level, one, two, seen, state):
    """Let a person have so many hidden cells in each column of `hides`, those first that lose least by it."""
    hidden = state[HIDDEN]
    for each in range(len(hides)):
        n = 0
        for cell in range(begin, behind):
            if hides[each] and column[cell] == each and level[cell] == hidden:
                pinned[cell] = 1
                n += 1
        while hides[each] and n < most:
            found = -1
            for cell in range(begin, behind):
                is_open = column[cell] == each and level[cell] < hidden
                if is_open and (found < 0 or loss[cell, level[cell]] > loss[found, level[found]]):
                    found = cell
            show(found, hidden, start, person, label, level, one, two, seen, state)
            pinned[found] = 1
            n += 1


@plain_kernel
def cover(first, end, start, person, column, label, loss, hides, k, most, pinned, level, one, two, seen, state):
    """Let k persons of a unit have as many hidden cells as are known together, where any cell is hidden.

    `most` are known together, or as many as anybody of the unit has records. Of those who have enough records those are
    taken first who have most hidden cells already, then those who lose least. Says whether anything was hidden for it.
    """
    hidden, has_hidden = state[HIDDEN], False
    first_person, last_person = person[first], person[end - 1] + 1
    many = 0
    for who in range(first_person, last_person):
        fewest, n_cells = hidden_least(start[who], start[who + 1], column, hides, level, hidden)
        many = max(many, n_cells)
    for cell in range(first, end):
        has_hidden = has_hidden or (hides[column[cell]] and level[cell] == hidden)
    most, n_done, n_hidden = min(most, many), 0, 0
    while has_hidden and n_done < k:
        best, found = -1.0, -1
        for who in range(first_person, last_person):
            fewest, n_cells = hidden_least(start[who], start[who + 1], column, hides, level, hidden)
            if n_cells < most or pinned[start[who]] >= 2:
                continue
            worth = 0.0
            for cell in range(start[who], start[who + 1]):
                if hides[column[cell]]:
                    worth = max(worth, loss[cell, level[cell]] if level[cell] < hidden else 1.0)
            worth = min(fewest, most) + 0.5 * worth
            if worth > best:
                best, found = worth, who
        if found < 0:
            return False
        if hidden_least(start[found], start[found + 1], column, hides, level, hidden)[0] < most:
            n_hidden += 1
        hide_more(
            start[found], start[found + 1], start, person, column, label, loss, hides, most, pinned, level, one, two,
            seen, state,
        )  # fmt: skip
        pinned[start[found]] += 2
        n_done += 1
    return n_hidden > 0


@plain_kernel
def lost(first, end, level, loss, hidden):
    """What is lost in cells."""
    total = 0.0
    for cell in range(first, end):
        total += loss[cell, level[cell]] if level[cell] < hidden else 1.0
    return total


@plain_kernel
def go_to(target, first, end, start, person, label, level, was, one, two, seen, state):
    """Show all cells at given levels."""
    for cell in range(first, end):
        if level[cell] != target[cell]:
            show(cell, target[cell], start, person, label, level, one, two, seen, state)
        was[cell] = target[cell]


@plain_kernel
def number_labels(first, end, label, place_of_node, one, two, state):
    """Number the labels of a unit, and forget what was counted."""
    n = 0
    for cell in range(first, end):
        for at in range(label.shape[1]):
            if place_of_node[label[cell, at]] < 0:
                place_of_node[label[cell, at]] = n
                one[n] = label[cell, at]
                n += 1
    for cell in range(first, end):
        for at in range(label.shape[1]):
            label[cell, at] = place_of_node[label[cell, at]]
    for at in range(n):
        place_of_node[one[at]] = -1
        one[at] = 0
    for at in range(n * n if state[HAS_PAIRS] else 0):
        two[at] = 0
    state[N_LABELS] = n


@plain_kernel
def show_units(
    units, unit_start, bundle_of_unit, orders, bundle_start, bundle_end, bundle_level, cells, start, person, column,
    label, loss, floor, plan, k_one, k_two, most_forced, hides, covered, tried, pinned, level, was, best, place_of_node,
    one, two, more, seen, open_cells, state,
):  # fmt: skip
    """Show as much of units as k allows, from `units[0]` to before `units[1]`; `best` has the levels.

    Bundles are lowered from the floor in each order, where there is a plan first by that; what loses least counts. Then
    bundles are forced one after the other, what is hidden for it and what else can be shown is lowered again, and that
    stays where less is lost.

    Parameters
    ----------
    unit_start, start
        Where the cells of each unit and of each person start.
    orders, bundle_of_unit
        Bundles in the orders in which they are tried, unit by unit, and where those of each unit start and end.
    bundle_start, bundle_end, cells, bundle_level
        The cells of each bundle, and the level at which they show its label.
    person, column, label, loss
        Of each cell: its person, its column, and its labels (numbered over all units; changed) with what they lose.
    floor
        For each column the level at which cells begin.
    plan
        (plans, cells): levels that are tried first; none or one.
    k_one, k_two
        How many persons must show a label of a column, and two labels of two columns.
    most_forced
        So many bundles are forced at most in each unit.
    hides, covered
        Of which columns hidden values are shared; how many persons must hide how many of them. 0 where that is not
        asked.
    tried, pinned
        0 for every bundle, and for every cell. What is behind it, but for `best`, is for working in.
    """
    hidden = state[HIDDEN]
    for unit in range(units[0], units[1]):
        first, end = unit_start[unit], unit_start[unit + 1]
        first_bundle, last_bundle = bundle_of_unit[0, unit], bundle_of_unit[1, unit]
        number_labels(first, end, label, place_of_node, one, two, state)
        for cell in range(first, end):
            level[cell], was[cell], best[cell] = hidden, hidden, hidden
        least = float(end - first) + 1.0
        for way in range(len(orders)):
            for cell in range(first, end):
                was[cell] = floor[column[cell]]
            go_to(was, first, end, start, person, label, level, was, one, two, seen, state)
            for by_plan in range(len(plan), -1, -1):
                state[BY_PLAN] = by_plan
                lower_all(
                    orders[way], first_bundle, last_bundle, bundle_start, bundle_end, bundle_level, cells, start,
                    person, column, label, floor, plan, pinned, k_one, k_two, level, was, one, two, more, seen,
                    open_cells, state,
                )  # fmt: skip
            now = lost(first, end, level, loss, hidden)
            if now < least - TINY:
                least = now
                for cell in range(first, end):
                    best[cell] = level[cell]
        go_to(best, first, end, start, person, label, level, was, one, two, seen, state)
        n_forced = 0
        while n_forced < most_forced[unit]:
            bundle = most_to_gain(
                orders[0], first_bundle, last_bundle, bundle_start, bundle_end, bundle_level, cells, loss, level, tried,
                state,
            )  # fmt: skip
            if bundle < 0:
                break
            tried[bundle] = 1
            n_forced += 1
            force(
                cells, bundle_start[bundle], bundle_end[bundle], bundle_level[bundle], start, person, column, label,
                floor, k_two, level, one, two, seen, state,
            )  # fmt: skip
            hide_broken(first, end, start, person, column, label, floor, k_one, k_two, level, one, two, seen, state)
            for cell in range(first, end):
                was[cell] = level[cell]
            lower_all(
                orders[n_forced % len(orders)], first_bundle, last_bundle, bundle_start, bundle_end, bundle_level,
                cells, start, person, column, label, floor, plan, pinned, k_one, k_two, level, was, one, two, more,
                seen, open_cells, state,
            )  # fmt: skip
            now = lost(first, end, level, loss, hidden)
            if now < least - TINY:
                least = now
                for cell in range(first, end):
                    best[cell] = level[cell]
                for at in range(first_bundle, last_bundle):
                    tried[orders[0, at]] = 0
                tried[bundle] = 1
            else:
                go_to(best, first, end, start, person, label, level, was, one, two, seen, state)
        if covered[0] > 1 and first < end and cover(
            first, end, start, person, column, label, loss, hides, covered[0], covered[1], pinned, level, one, two,
            seen, state,
        ):  # fmt: skip
            hide_broken(first, end, start, person, column, label, floor, k_one, k_two, level, one, two, seen, state)
            for cell in range(first, end):
                was[cell] = level[cell]
            lower_all(
                orders[0], first_bundle, last_bundle, bundle_start, bundle_end, bundle_level, cells, start, person,
                column, label, floor, plan, pinned, k_one, k_two, level, was, one, two, more, seen, open_cells, state,
            )  # fmt: skip
            for cell in range(first, end):
                best[cell] = level[cell]
