"""Counting inside groups. Arrays in, arrays out; no tables, no checks, no randomness.

Functions without a decorator lay arrays out for a kernel, so that it is compiled once for all kinds of arrays, or do
with numpy what that does as fast.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiling import kernel

Spread = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
"""Persons, records, squared records, most records and the sum of c log2 c."""

ValuesOfGroups = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
"""Where the values of each group start, the values, their records and their persons."""

FIRST_ROOM = 512
"""For how many different keys a hash table has room at first."""


def _fixed(array: NDArray, dtype: type) -> NDArray:
    """The array with entries side by side, not to be written to: one kind for a kernel, whatever it was before."""
    fixed = np.ascontiguousarray(array, dtype).view()
    fixed.flags.writeable = False
    return fixed


def number_more(
    keys: NDArray[np.int64], slot_number: NDArray[np.int32], key_of_number: NDArray[np.int64], n_distinct: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], int]:
    """Number a portion of keys after others; new ones get the next numbers.

    `slot_number` and `key_of_number` are what the portion before gave, or empty. Gives the numbers of the keys, both,
    and how many different keys there are now.
    """
    if len(slot_number) == 0:
        slot_number, key_of_number = np.full(2 * FIRST_ROOM, -1, np.int32), np.empty(FIRST_ROOM, np.int64)
    keys, numbers, at = _fixed(keys, np.int64), np.empty(len(keys), np.int32), 0
    while True:
        at, n_distinct = number_while_room(keys, at, slot_number, key_of_number, n_distinct, numbers)
        if at == len(keys):
            return numbers, slot_number, key_of_number, n_distinct
        known = _fixed(key_of_number, np.int64)  # the table is half full: make it four times as large
        slot_number, key_of_number = np.full(8 * n_distinct, -1, np.int32), np.empty(4 * n_distinct, np.int64)
        number_while_room(known, 0, slot_number, key_of_number, 0, np.empty(n_distinct, np.int32))


@kernel
def number_while_room(keys, at, slot_number, key_of_number, n_distinct, numbers):
    """Number keys from a place on by an open hash table, until there is no room: the place, and how many different."""
    mask = len(slot_number) - 1
    while at < len(keys):
        key = keys[at]
        mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
        slot = np.int64((mixed ^ (mixed >> np.uint64(32))) >> np.uint64(8)) & mask
        while slot_number[slot] >= 0 and key_of_number[slot_number[slot]] != key:
            slot = (slot + 1) & mask
        if slot_number[slot] < 0:
            if n_distinct == len(key_of_number):
                break
            slot_number[slot] = n_distinct
            key_of_number[n_distinct] = key
            n_distinct += 1
        numbers[at] = slot_number[slot]
        at += 1
    return at, n_distinct


def number_distinct(keys: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Number equal keys alike, in the order in which they first appear: the numbers, and the different keys."""
    numbers, _, key_of_number, n_distinct = number_more(keys, np.empty(0, np.int32), np.empty(0, np.int64), 0)
    return numbers, key_of_number[:n_distinct].copy()


@kernel
def runs_of_keys(keys):
    """The different keys of a sorted list, and how often each occurs."""
    n_distinct = 0
    for i in range(len(keys)):
        n_distinct += i == 0 or keys[i] != keys[i - 1]
    distinct = np.empty(n_distinct, dtype=np.int64)
    counts = np.zeros(n_distinct, dtype=np.int32)
    at = -1
    for i in range(len(keys)):
        if i == 0 or keys[i] != keys[i - 1]:
            at += 1
            distinct[at] = keys[i]
        counts[at] += 1
    return distinct, counts


@kernel
def merge_runs(first_keys, first_counts, second_keys, second_counts):
    """Two lists of different keys, each sorted, with their counts, as one."""
    keys = np.empty(len(first_keys) + len(second_keys), dtype=np.int64)
    counts = np.empty(len(keys), dtype=np.int32)
    i, j, at = 0, 0, 0
    while i < len(first_keys) or j < len(second_keys):
        if j == len(second_keys) or (i < len(first_keys) and first_keys[i] < second_keys[j]):
            keys[at], counts[at] = first_keys[i], first_counts[i]
            i += 1
        elif i == len(first_keys) or second_keys[j] < first_keys[i]:
            keys[at], counts[at] = second_keys[j], second_counts[j]
            j += 1
        else:
            keys[at], counts[at] = first_keys[i], first_counts[i] + second_counts[j]
            i += 1
            j += 1
        at += 1
    return keys[:at], counts[:at]


@kernel
def add_groups_of_persons(group_of_record, person_of_record, group_of_person, is_in_several):
    """Note the group in which each person is seen (-1: in none so far), and who is seen in another one later."""
    for i in range(len(group_of_record)):
        person = person_of_record[i]
        if group_of_person[person] < 0:
            group_of_person[person] = group_of_record[i]
        elif group_of_person[person] != group_of_record[i]:
            is_in_several[person] = True


def code_of_person(
    codes: NDArray[np.integer], person_of_record: NDArray[np.int32], n_persons: int
) -> NDArray[np.int64]:
    """The code that all records of a person have, or -1 where they have several."""
    code = np.full(n_persons, -2, np.int64)
    note_codes(_fixed(codes, np.int32), _fixed(person_of_record, np.int32), code)
    return code


@kernel
def note_codes(codes, person_of_record, code_of_person):
    """Note the code of each person (-2: none so far); -1 where there is another."""
    for i in range(len(codes)):
        person = person_of_record[i]
        if code_of_person[person] == -2:
            code_of_person[person] = codes[i]
        elif code_of_person[person] != codes[i]:
            code_of_person[person] = -1


def start_of_code(codes: NDArray[np.integer], n_codes: int) -> NDArray[np.int64]:
    """Where each code starts when records stand in the order of their codes (one entry more than codes)."""
    start = np.zeros(n_codes + 1, np.int64)
    np.cumsum(np.bincount(codes, minlength=n_codes), out=start[1:])
    return start


def order_by_code(codes: NDArray[np.integer], n_codes: int, order: NDArray[np.int32]) -> NDArray[Any]:
    """The given order, sorted by code; records of the same code keep their order."""
    sorted_order = np.empty(len(order), np.int32)
    lay_by_code(_fixed(codes, np.int32), start_of_code(codes, n_codes), _fixed(order, np.int32), sorted_order)
    return sorted_order


def order_by_start(codes: NDArray[np.integer], start_of_code: NDArray[np.int64]) -> NDArray[np.int32]:
    """The records as they stand where those of each code start at a place of its own."""
    everything, order = np.arange(len(codes), dtype=np.int32), np.empty(len(codes), np.int32)
    lay_by_code(_fixed(codes, np.int32), start_of_code.copy(), _fixed(everything, np.int32), order)
    return order


@kernel
def lay_by_code(codes, position, order, sorted_order):
    """Lay records down where their code stands, in the given order; `position` moves on."""
    for i in range(len(order)):
        code = codes[order[i]]
        sorted_order[position[code]] = order[i]
        position[code] += 1


def spread_of_groups(
    order: NDArray[np.int32], group_of_record: NDArray[np.integer], person_of_record: NDArray[np.integer], n_groups: int
) -> Spread:
    """Persons, records, squared records, most records and the sum of c log2 c of every group.

    `order` has the records sorted by group, and by person inside a group.
    """
    group_at = group_of_record[order]
    return spread_in_order(starts_of_runs(group_at, person_of_record[order]), group_at, n_groups)


def spread_in_order(first_of_member: NDArray[np.int64], group_at: NDArray[np.integer], n_groups: int) -> Spread:
    """As `spread_of_groups`, by where the records of each person in each group start."""
    records = np.diff(first_of_member, append=len(group_at))
    return _spread(records, start_of_code(group_at[first_of_member], n_groups))


def starts_of_runs(*at: NDArray[np.integer]) -> NDArray[np.int64]:
    """Where an entry differs from the one before it in one of some arrays; the first does."""
    return np.flatnonzero(_is_new(*at))


def _spread(count: NDArray[np.int64], start_of_part: NDArray[np.int64]) -> Spread:
    n_parts = len(start_of_part) - 1
    whole, logs = np.zeros((4, n_parts), np.int64), np.zeros(n_parts)
    add_spread(count, start_of_part, whole, logs)
    return whole[0], whole[1], whole[2], whole[3], logs


@kernel
def add_spread(count, start_of_part, whole, logs):
    """Add the records of persons, part by part, to persons, records, squared records, most records and c log2 c."""
    for part in range(len(logs)):
        for i in range(start_of_part[part], start_of_part[part + 1]):
            whole[0, part] += 1
            whole[1, part] += count[i]
            whole[2, part] += count[i] * count[i]
            whole[3, part] = max(whole[3, part], count[i])
            logs[part] += count[i] * np.log2(count[i])


def _is_new(*at: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Whether an entry differs from the one before it in one of some arrays; the first does."""
    is_new = np.zeros(len(at[0]), np.bool_)
    is_new[:1] = True
    for array in at:
        is_new[1:] |= array[1:] != array[:-1]
    return is_new


def values_of_groups(
    order: NDArray[np.int32],
    group_of_record: NDArray[np.integer],
    value_of_record: NDArray[np.integer],
    person_of_record: NDArray[np.integer],
    n_groups: int,
) -> ValuesOfGroups:
    """For every group its values, ascending, with their records and persons: starts, values, records, persons.

    `order` has the records sorted by group, and by person inside a group.
    """
    start_of_group = start_of_code(group_of_record, n_groups)
    return values_in_order(start_of_group, value_of_record[order], person_of_record[order])


def values_in_order(
    start_of_group: NDArray[np.int64], value_at: NDArray[np.integer], person_at: NDArray[np.integer]
) -> ValuesOfGroups:
    """As `values_of_groups`, of records that stand by group, and by person inside a group."""
    value_at, person_at = _fixed(value_at, np.int32), _fixed(person_at, np.int32)
    notes = np.full((3, int(value_at.max(initial=-1)) + 1), -1, np.int32)
    start = np.zeros(len(start_of_group), np.int64)
    count_values(start_of_group, value_at, notes[0], start)
    np.cumsum(start, out=start)
    counts = np.zeros((3, start[-1]), np.int64)
    list_values(start_of_group, value_at, person_at, notes[1:], start, counts)
    return start, counts[0], counts[1], counts[2]


@kernel
def count_values(start_of_group, value_at, seen_in, n_values):
    """How many different values each group has, behind the entry of the group before."""
    for group in range(len(start_of_group) - 1):
        for at in range(start_of_group[group], start_of_group[group + 1]):
            value = value_at[at]
            if seen_in[value] != group:
                seen_in[value] = group
                n_values[group + 1] += 1


@kernel
def list_values(start_of_group, value_at, person_at, notes, start, counts):
    """The values of each group, ascending, their records and their persons; `notes` are two per value, -1 at first."""
    place, last_person = notes[0], notes[1]
    for group in range(len(start) - 1):
        first, last = start_of_group[group], start_of_group[group + 1]
        values = counts[0, start[group] : start[group + 1]]
        n_listed = 0
        for at in range(first, last):
            value = value_at[at]
            if place[value] < start[group]:  # not seen in this group
                place[value] = start[group]
                last_person[value] = -1
                values[n_listed] = value
                n_listed += 1
        gap = 1
        while gap < n_listed // 3:
            gap = 3 * gap + 1
        while gap > 0:  # values are sorted by exchanging far ones first (Shell)
            for i in range(gap, n_listed):
                value, j = values[i], i
                while j >= gap and values[j - gap] > value:
                    values[j] = values[j - gap]
                    j -= gap
                values[j] = value
            gap //= 3
        for i in range(n_listed):
            place[values[i]] = start[group] + i
        for at in range(first, last):
            value = value_at[at]
            counts[1, place[value]] += 1
            if last_person[value] != person_at[at]:
                last_person[value] = person_at[at]
                counts[2, place[value]] += 1


def persons_with_own(
    group_at: NDArray[np.integer],
    value_at: NDArray[np.integer],
    person_at: NDArray[np.integer],
    n_values: int,
    n_persons: int,
) -> NDArray[np.bool_]:
    """Whether each person has, in some group, a value that nobody else in it has. Records stand by group."""
    has_own = np.zeros(n_persons, np.bool_)
    seen = np.full((n_values, 2), -1, np.int64)
    note_own(*(_fixed(array, np.int32) for array in (group_at, value_at, person_at)), seen, has_own)
    return has_own


@kernel
def note_own(group_at, value_at, person_at, seen, has_own):
    """See `persons_with_own`. `seen` is the group in which a value was seen last, and whose it was (-1: several's)."""
    start = 0
    for at in range(len(group_at)):
        group, value, person = group_at[at], value_at[at], person_at[at]
        if seen[value, 0] != group:
            seen[value, 0] = group
            seen[value, 1] = person
        elif seen[value, 1] != person:
            seen[value, 1] = -1
        if at + 1 < len(group_at) and group_at[at + 1] == group:
            continue
        for i in range(start, at + 1):
            owner = seen[value_at[i], 1]
            if owner >= 0:
                has_own[owner] = True
        start = at + 1


def pairs_of_groups(
    order: NDArray[np.int32],
    group_of_record: NDArray[np.integer],
    value_of_record: NDArray[np.integer],
    person_of_record: NDArray[np.integer],
    n_groups: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """For every group its different (person, value) pairs: starts, persons, values.

    `order` has the records sorted by group, then value, then person.
    """
    group_at, value_at, person_at = group_of_record[order], value_of_record[order], person_of_record[order]
    first = starts_of_runs(group_at, value_at, person_at)
    return start_of_code(group_at[first], n_groups), person_at[first].astype(np.int64), value_at[first].astype(np.int64)


@kernel
def add_extremes(units, is_missing, has_missing, group_of_record, low, high, missing):
    """Add a portion of records to the extremes of their groups and to how many are missing."""
    for i in range(len(units)):
        group = group_of_record[i]
        if has_missing and is_missing[i]:
            missing[group] += 1
            continue
        if units[i] < low[group]:
            low[group] = units[i]
        if units[i] > high[group]:
            high[group] = units[i]


def extremes_of_groups(
    units: NDArray[np.int64],
    is_missing: NDArray[np.bool_],
    has_missing: bool,
    group_of_record: NDArray[np.int32],
    n_groups: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The lowest and highest unit of each group, and how many records of it are missing."""
    low = np.full(n_groups, np.iinfo(np.int64).max, np.int64)
    high = np.full(n_groups, np.iinfo(np.int64).min, np.int64)
    missing = np.zeros(n_groups, np.int64)
    add_extremes(units, is_missing, has_missing, group_of_record, low, high, missing)
    return low, high, missing


def spread_of_person_parts(
    persons_in_order: NDArray[np.integer], start_of_part: NDArray[np.int64], records_of_person: NDArray[np.number]
) -> Spread:
    """Persons, records, squared records, most records and c log2 c of parts that consist of whole persons."""
    return _spread(records_of_person[persons_in_order].astype(np.int64), np.ascontiguousarray(start_of_part, np.int64))
