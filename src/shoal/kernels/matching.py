"""Matching persons with values of their own. Arrays in, arrays out; no tables, no checks, no randomness."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiling import kernel

IntArray = NDArray[np.int64]


@kernel
def matching_sizes(
    start_of_group: IntArray, start_of_person: IntArray, value_of_pair: IntArray, n_values: int, limit: int
) -> IntArray:
    """How many persons of each group can each be given a different value of their own, counted up to `limit`.

    The persons of group i are `start_of_group[i]:start_of_group[i + 1]`, the values of person j stand at
    `start_of_person[j]:start_of_person[j + 1]` of `value_of_pair`, and are codes below `n_values`.

    Notes
    -----
    First every person takes a free value, then augmenting paths are sought from the persons who got none, those of
    one round sharing the values they have tried (Pothen and Fan, 1990). O(pairs) for most groups, at worst
    O(matched persons x pairs) of a group.
    """
    n_groups = len(start_of_group) - 1
    n_persons = len(start_of_person) - 1
    sizes = np.zeros(n_groups, dtype=np.int64)
    person_of_value = np.full(n_values, -1, dtype=np.int64)
    round_of_value = np.full(n_values, -1, dtype=np.int64)  # the last round that tried a value
    has_value = np.zeros(n_persons, dtype=np.bool_)
    next_pair = start_of_person[:-1].copy()
    path = np.empty(n_values + 1, dtype=np.int64)
    this_round = 0
    for group in range(n_groups):
        first, last = start_of_group[group], start_of_group[group + 1]
        most = min(limit, last - first)
        matched = 0
        for person in range(first, last):
            if matched == most:
                break
            for pair in range(start_of_person[person], start_of_person[person + 1]):
                value = value_of_pair[pair]
                if person_of_value[value] == -1:
                    person_of_value[value] = person
                    has_value[person] = True
                    matched += 1
                    break
        progress = True
        while matched < most and progress:
            progress = False
            this_round += 1
            for person in range(first, last):
                if matched == most:
                    break
                if not has_value[person] and _find_path(
                    person, this_round, start_of_person, value_of_pair, person_of_value, round_of_value, next_pair, path
                ):
                    has_value[person] = True
                    matched += 1
                    progress = True
        sizes[group] = matched
        for pair in range(start_of_person[first], start_of_person[last]):
            person_of_value[value_of_pair[pair]] = -1
    return sizes


@kernel
def _find_path(
    person: int,
    this_round: int,
    start_of_person: IntArray,
    value_of_pair: IntArray,
    person_of_value: IntArray,
    round_of_value: IntArray,
    next_pair: IntArray,
    path: IntArray,
) -> bool:
    """Give `person` a value by moving others along a path of values that this round has not tried; say if it worked."""
    path[0] = person
    next_pair[person] = start_of_person[person]
    depth = 0
    while depth >= 0:
        here = path[depth]
        if next_pair[here] == start_of_person[here + 1]:
            depth -= 1
            continue
        value = value_of_pair[next_pair[here]]
        next_pair[here] += 1
        if round_of_value[value] == this_round:
            continue
        round_of_value[value] = this_round
        if person_of_value[value] == -1:
            for step in range(depth + 1):
                person_of_value[value_of_pair[next_pair[path[step]] - 1]] = path[step]
            return True
        depth += 1
        path[depth] = person_of_value[value]
        next_pair[path[depth]] = start_of_person[path[depth]]
    return False
