"""Counting inside groups. Arrays in, arrays out; no tables, no checks, no randomness."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _place_of(key, slot_number, key_of_number):
    """The slot of a key in an open hash table: the one that holds it, or the empty one where it belongs."""
    mask = len(slot_number) - 1
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    at = np.int64((mixed ^ (mixed >> np.uint64(32))) >> np.uint64(8)) & mask
    while slot_number[at] >= 0 and key_of_number[slot_number[at]] != key:
        at = (at + 1) & mask
    return at


@njit(cache=True, nogil=True)
def number_more(keys, slot_number, key_of_number, n_distinct):
    """Number a portion of keys after others; new ones get the next numbers.

    `slot_number` and `key_of_number` are what the portion before gave, or empty. Gives the numbers of the keys, both,
    and how many different keys there are now.
    """
    if len(slot_number) == 0:
        slot_number = np.full(1024, -1, dtype=np.int32)
        key_of_number = np.empty(512, dtype=np.int64)
    numbers = np.empty(len(keys), dtype=np.int32)
    for i in range(len(keys)):
        at = _place_of(keys[i], slot_number, key_of_number)
        if slot_number[at] < 0:
            if n_distinct == len(key_of_number):  # the table is half full: make it four times as large
                larger = np.empty(4 * n_distinct, dtype=np.int64)
                larger[:n_distinct] = key_of_number
                key_of_number = larger
                slot_number = np.full(8 * n_distinct, -1, dtype=np.int32)
                for number in range(n_distinct):
                    slot_number[_place_of(key_of_number[number], slot_number, key_of_number)] = number
                at = _place_of(keys[i], slot_number, key_of_number)
            slot_number[at] = n_distinct
            key_of_number[n_distinct] = keys[i]
            n_distinct += 1
        numbers[i] = slot_number[at]
    return numbers, slot_number, key_of_number, n_distinct


@njit(cache=True, nogil=True)
def number_distinct(keys):
    """Number equal keys alike, in the order in which they first appear: the numbers, and the different keys."""
    nothing = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64)
    numbers, _, key_of_number, n_distinct = number_more(keys, nothing[0], nothing[1], 0)
    return numbers, key_of_number[:n_distinct].copy()


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def add_groups_of_persons(group_of_record, person_of_record, group_of_person, is_in_several):
    """Note the group in which each person is seen (-1: in none so far), and who is seen in another one later."""
    for i in range(len(group_of_record)):
        person = person_of_record[i]
        if group_of_person[person] < 0:
            group_of_person[person] = group_of_record[i]
        elif group_of_person[person] != group_of_record[i]:
            is_in_several[person] = True


@njit(cache=True, nogil=True)
def code_of_person(codes, person_of_record, n_persons):
    """The code that all records of a person have, or -1 where they have several."""
    code = np.full(n_persons, -2, dtype=np.int64)
    for i in range(len(codes)):
        person = person_of_record[i]
        if code[person] == -2:
            code[person] = codes[i]
        elif code[person] != codes[i]:
            code[person] = -1
    return code


@njit(cache=True, nogil=True)
def start_of_code(codes, n_codes):
    """Where each code starts when records stand in the order of their codes (one entry more than codes)."""
    start = np.zeros(n_codes + 1, dtype=np.int64)
    for i in range(len(codes)):
        start[codes[i] + 1] += 1
    for code in range(n_codes):
        start[code + 1] += start[code]
    return start


@njit(cache=True, nogil=True)
def order_by_code(codes, n_codes, order):
    """The given order, sorted by code; records of the same code keep their order."""
    position = start_of_code(codes, n_codes)
    sorted_order = np.empty(len(order), dtype=np.int32)
    for i in range(len(order)):
        code = codes[order[i]]
        sorted_order[position[code]] = order[i]
        position[code] += 1
    return sorted_order


@njit(cache=True, nogil=True)
def spread_of_groups(order, group_of_record, person_of_record, n_groups):
    """Persons, records, squared records, most records and the sum of c log2 c of every group.

    `order` has the records sorted by group, and by person inside a group.
    """
    group_at, person_at = group_of_record[order], person_of_record[order]
    persons = np.zeros(n_groups, dtype=np.int64)
    records = np.zeros(n_groups, dtype=np.int64)
    squared = np.zeros(n_groups, dtype=np.int64)
    most = np.zeros(n_groups, dtype=np.int64)
    logs = np.zeros(n_groups, dtype=np.float64)
    at = 0
    while at < len(order):
        group, person, first = group_at[at], person_at[at], at
        while at < len(order) and group_at[at] == group and person_at[at] == person:
            at += 1
        count = at - first
        persons[group] += 1
        records[group] += count
        squared[group] += count * count
        logs[group] += count * np.log2(count)
        most[group] = max(most[group], count)
    return persons, records, squared, most, logs


@njit(cache=True, nogil=True)
def _is_new(at, group_at, value_at):
    return at == 0 or group_at[at] != group_at[at - 1] or value_at[at] != value_at[at - 1]


@njit(cache=True, nogil=True)
def values_of_groups(order, group_of_record, value_of_record, person_of_record, n_groups):
    """For every group its values, ascending, with their records and persons: starts, values, records, persons.

    `order` has the records sorted by group, then value, then person.
    """
    group_at, value_at, person_at = group_of_record[order], value_of_record[order], person_of_record[order]
    n_entries = 0
    for at in range(len(order)):
        n_entries += _is_new(at, group_at, value_at)
    start = np.zeros(n_groups + 1, dtype=np.int64)
    values = np.empty(n_entries, dtype=np.int64)
    records = np.zeros(n_entries, dtype=np.int64)
    persons = np.zeros(n_entries, dtype=np.int64)
    entry = -1
    for at in range(len(order)):
        is_new = _is_new(at, group_at, value_at)
        if is_new:
            entry += 1
            values[entry] = value_at[at]
            start[group_at[at] + 1] += 1
        records[entry] += 1
        persons[entry] += is_new or person_at[at] != person_at[at - 1]
    for group in range(n_groups):
        start[group + 1] += start[group]
    return start, values, records, persons


@njit(cache=True, nogil=True)
def persons_with_own(group_at, value_at, person_at, n_values, n_persons):
    """Whether each person has, in some group, a value that nobody else in it has. Records stand by group."""
    has_own = np.zeros(n_persons, dtype=np.bool_)
    group_of_value = np.full(n_values, -1, dtype=np.int64)
    person_of_value = np.empty(n_values, dtype=np.int64)
    start = 0
    for at in range(len(group_at)):
        group, value, person = group_at[at], value_at[at], person_at[at]
        if group_of_value[value] != group:
            group_of_value[value] = group
            person_of_value[value] = person
        elif person_of_value[value] != person:
            person_of_value[value] = -1
        if at + 1 < len(group_at) and group_at[at + 1] == group:
            continue
        for i in range(start, at + 1):
            owner = person_of_value[value_at[i]]
            if owner >= 0:
                has_own[owner] = True
        start = at + 1
    return has_own


@njit(cache=True, nogil=True)
def pairs_of_groups(order, group_of_record, value_of_record, person_of_record, n_groups):
    """For every group its different (person, value) pairs: starts, persons, values. `order` as in values_of_groups."""
    group_at, value_at, person_at = group_of_record[order], value_of_record[order], person_of_record[order]
    start = np.zeros(n_groups + 1, dtype=np.int64)
    persons = np.empty(len(order), dtype=np.int64)
    values = np.empty(len(order), dtype=np.int64)
    n_pairs = 0
    for at in range(len(order)):
        if not _is_new(at, group_at, value_at) and person_at[at] == person_at[at - 1]:
            continue
        persons[n_pairs] = person_at[at]
        values[n_pairs] = value_at[at]
        start[group_at[at] + 1] += 1
        n_pairs += 1
    for group in range(n_groups):
        start[group + 1] += start[group]
    return start, persons[:n_pairs].copy(), values[:n_pairs].copy()


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def extremes_of_groups(units, is_missing, has_missing, group_of_record, n_groups):
    """The lowest and highest unit of each group, and how many records of it are missing."""
    low = np.full(n_groups, np.iinfo(np.int64).max, dtype=np.int64)
    high = np.full(n_groups, np.iinfo(np.int64).min, dtype=np.int64)
    missing = np.zeros(n_groups, dtype=np.int64)
    add_extremes(units, is_missing, has_missing, group_of_record, low, high, missing)
    return low, high, missing


@njit(cache=True, nogil=True)
def spread_of_person_parts(persons_in_order, start_of_part, records_of_person):
    """Persons, records, squared records, most records and c log2 c of parts that consist of whole persons."""
    n_parts = len(start_of_part) - 1
    persons = np.zeros(n_parts, dtype=np.int64)
    records = np.zeros(n_parts, dtype=np.int64)
    squared = np.zeros(n_parts, dtype=np.int64)
    most = np.zeros(n_parts, dtype=np.int64)
    logs = np.zeros(n_parts, dtype=np.float64)
    for part in range(n_parts):
        for i in range(start_of_part[part], start_of_part[part + 1]):
            count = np.int64(records_of_person[persons_in_order[i]])
            persons[part] += 1
            records[part] += count
            squared[part] += count * count
            logs[part] += count * np.log2(count)
            if count > most[part]:
                most[part] = count
    return persons, records, squared, most, logs
