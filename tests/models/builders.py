"""Counts of groups made from lists that one can check by eye, in plain loops."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from shoal.models.counts import GroupCounts, ValueCounts

Record = tuple[int, object, int]
"""(group, person, value); more values where there are more sensitive attributes."""


def group_counts(records: Sequence[tuple], *, columns: Sequence[str] = ("disease",), lists: bool = True) -> GroupCounts:
    """The counts of groups 0, 1, ... of records; what is counted of a group is what lies in that group.

    The records are the whole table. With `lists=False` the values come as summaries only, as a tree may give them.
    """
    n_groups = max((record[0] for record in records), default=-1) + 1
    own = [list(Counter(person for g, person, *_ in records if g == group).values()) for group in range(n_groups)]
    return GroupCounts(
        persons=whole([len(counts) for counts in own]),
        records=whole([sum(counts) for counts in own]),
        squared_records=whole([sum(c * c for c in counts) for counts in own]),
        most_records=whole([max(counts) for counts in own]),
        log_records=np.array([math.fsum(c * math.log2(c) for c in counts) for counts in own], dtype=np.float64),
        values={
            column: value_counts([(g, person, values[place]) for g, person, *values in records], n_groups, lists=lists)
            for place, column in enumerate(columns)
        },
    )


def value_counts(records: Sequence[Record], n_groups: int, *, lists: bool = True) -> ValueCounts:
    """The values of one attribute, coded by their own numbers."""
    n_values = max((value for *_, value in records), default=-1) + 1
    table = {
        "records_in_table": whole([sum(v == value for *_, v in records) for value in range(n_values)]),
        "persons_in_table": whole([len({p for _, p, v in records if v == value}) for value in range(n_values)]),
    }
    code_of_person = {person: code for code, person in enumerate(dict.fromkeys(person for _, person, _ in records))}
    entries = []  # (group, value, records, persons)
    pairs = []  # (group, person, value)
    for group in range(n_groups):
        inside = [(person, value) for g, person, value in records if g == group]
        for value in sorted({value for _, value in inside}):
            having = [person for person, v in inside if v == value]
            entries.append((group, value, len(having), len(set(having))))
        pairs += [(group, code_of_person[person], value) for person, value in dict.fromkeys(inside)]
    if not lists:
        by_group = [[entry for entry in entries if entry[0] == group] for group in range(n_groups)]
        summaries = {
            "most_records_of_value": whole([max(entry[2] for entry in inside) for inside in by_group]),
            "most_persons_of_value": whole([max(entry[3] for entry in inside) for inside in by_group]),
            "distinct_values": whole([len(inside) for inside in by_group]),
            "person_values": whole([sum(entry[3] for entry in inside) for inside in by_group]),
        }
        return ValueCounts(**table, summaries=summaries)
    return ValueCounts(
        **table,
        start_of_group=starts([entry[0] for entry in entries], n_groups),
        value=whole([entry[1] for entry in entries]),
        records=whole([entry[2] for entry in entries]),
        persons=whole([entry[3] for entry in entries]),
        pair_start_of_group=starts([pair[0] for pair in pairs], n_groups),
        pair_person=whole([pair[1] for pair in pairs]),
        pair_value=whole([pair[2] for pair in pairs]),
    )


def one_group(records_of_person: Sequence[int]) -> GroupCounts:
    """One group of persons with so many records each, all of one value; counts may be far too large to list."""
    return GroupCounts(
        persons=whole([len(records_of_person)]),
        records=whole([sum(records_of_person)]),
        squared_records=whole([sum(own * own for own in records_of_person)]),
        most_records=whole([max(records_of_person)]),
        log_records=np.array([math.fsum(own * math.log2(own) for own in records_of_person)]),
    )


def groups_of_values(counts_by_group: Sequence[Sequence[int]]) -> GroupCounts:
    """Groups in which so many persons, with one record each, have value 0, 1, ...; the groups are the whole table."""
    per_group = [[(value, number) for value, number in enumerate(counts) if number] for counts in counts_by_group]
    entries = [entry for inside in per_group for entry in inside]
    in_table = whole([sum(numbers) for numbers in zip(*counts_by_group, strict=True)])
    size = whole([sum(counts) for counts in counts_by_group])
    number = whole([number for _, number in entries])
    values = ValueCounts(
        records_in_table=in_table,
        persons_in_table=in_table,
        start_of_group=whole(np.cumsum([0] + [len(inside) for inside in per_group]).tolist()),
        value=whole([value for value, _ in entries]),
        records=number,
        persons=number,
    )
    ones = np.ones_like(size)
    return GroupCounts(persons=size, records=size, squared_records=size, most_records=ones, values={"disease": values})


def whole(numbers: Sequence[int]) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


def starts(groups: Sequence[int], n_groups: int) -> np.ndarray:
    return whole([sum(g < group for g in groups) for group in range(n_groups + 1)])
