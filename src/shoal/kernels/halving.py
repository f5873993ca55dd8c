"""Mondrian on persons who lie together in memory: halve the widest quasi-identifier, then the halves.

A person is one row of 32-bit codes, and the rows of a node lie side by side: a cut swaps rows until the left side
comes first. Medians are found by counting codes, never by sorting. Codes keep the order of the values, so that a
number's code is compared and a category's code is counted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.compiling import kernel

BUCKETS = 1024
"""Into how many parts the codes of a node are counted at a time when their median is looked for."""

MOST_WAITING = 80
"""Nodes that wait to be cut: the smaller side of a cut goes first, so that there are never more than log2(persons)."""


class Attributes(NamedTuple):
    """What the codes of each quasi-identifier stand for."""

    n_categories: np.ndarray
    """How many categories a nominal one has; 0 for a number."""
    span: np.ndarray
    """The extent of a number's keys over the whole table; of a nominal its number of categories, less one."""
    key: np.ndarray
    """The key of each code of each number, one attribute behind the other."""
    key_start: np.ndarray
    """Where an attribute's keys start, or -1 where its codes are its keys."""


class Scratch(NamedTuple):
    """Memory to work in, for one thread."""

    code: np.ndarray
    records: np.ndarray
    bucket: np.ndarray
    counts: np.ndarray
    """Persons, records, squared records and most records of each category: all zero between two nodes."""
    present: np.ndarray
    low: np.ndarray
    high: np.ndarray
    merit: np.ndarray
    category: np.ndarray


@kernel
def _key_of(attributes, j, code):
    if attributes.key_start[j] < 0:
        return np.float64(code)
    return attributes.key[attributes.key_start[j] + code]


@kernel
def middle_of(code, records, n, low, high, bucket):
    """The lowest code up to which half of the records lie: the code, records below it, and records up to it.

    The first n codes lie in low to high; both arrays are used up. Codes are counted in buckets, and those of the
    bucket in which half is reached are counted again in finer ones.
    """
    total = 0
    for i in range(n):
        total += records[i]
    below = 0
    while low < high:
        shift = 0
        while (high - low) >> shift >= BUCKETS or (shift < 30 and (high - low) >> shift > 4 * n + 8):
            shift += 1
        for i in range(((high - low) >> shift) + 1):
            bucket[i] = 0
        for i in range(n):
            bucket[(code[i] - low) >> shift] += records[i]
        reached = 0
        while 2 * (below + bucket[reached]) < total:
            below += bucket[reached]
            reached += 1
        if shift == 0:
            return low + reached, below, below + bucket[reached]
        first = low + (reached << shift)
        last = first + (1 << shift) - 1
        low, high = last, first
        kept = 0
        for i in range(n):
            if first <= code[i] <= last:
                code[kept] = code[i]
                records[kept] = records[i]
                low = min(low, np.int64(code[i]))
                high = max(high, np.int64(code[i]))
                kept += 1
        n = kept
    upto = below
    for i in range(n):
        upto += records[i]
    return low, below, upto


@kernel
def _keeps(persons, records, squared, most, limits):
    """Whether a side keeps to the limits, in whole numbers."""
    return (
        persons >= limits.least_persons
        and records >= limits.least_records
        and squared * limits.squares_of <= limits.squares * records * records
        and most * limits.share_of <= limits.share * records
    )


@kernel
def _number_keeps(row, start, end, j, code, left_records, n_quasi, all_alone, limits):
    """Whether both sides of a cut of a number, codes up to `code` and those above, keep to the limits."""
    if all_alone:
        right = end - start - left_records
        return _keeps(left_records, left_records, left_records, 1, limits) and _keeps(right, right, right, 1, limits)
    left_persons, left_records, left_squared, left_most = 0, 0, 0, 0
    right_persons, right_records, right_squared, right_most = 0, 0, 0, 0
    for i in range(start, end):
        count = np.int64(row[i, n_quasi])
        if row[i, j] <= code:
            left_persons += 1
            left_records += count
            left_squared += count * count
            left_most = max(left_most, count)
        else:
            right_persons += 1
            right_records += count
            right_squared += count * count
            right_most = max(right_most, count)
    return _keeps(left_persons, left_records, left_squared, left_most, limits) and _keeps(
        right_persons, right_records, right_squared, right_most, limits
    )


@kernel
def _most_even_category(row, start, end, j, n_quasi, all_alone, limits, span, counts, present):
    """The category that is cut from the rest most evenly among those whose cut keeps to the limits, and its merit.

    `counts` has persons, records, squared records and most records of each category, all zero before and after. Gives
    -1 where no category can be cut off.
    """
    n_present = 0
    for i in range(start, end):
        category = row[i, j]
        if counts[category, 0] == 0:
            present[n_present] = category
            n_present += 1
        counts[category, 0] += 1
        if not all_alone:
            count = np.int64(row[i, n_quasi])
            counts[category, 1] += count
            counts[category, 2] += count * count
            counts[category, 3] = max(counts[category, 3], count)
    persons, records, squared, most, second = end - start, 0, 0, 0, 0
    for i in range(n_present):
        own = counts[present[i]]
        if all_alone:
            own[1] = own[2] = own[0]
            own[3] = 1
        records += own[1]
        squared += own[2]
        second = max(second, min(most, own[3]))
        most = max(most, own[3])
    best, best_merit = -1, -np.inf
    for i in range(n_present):
        own = counts[present[i]]
        others_most = second if own[3] == most else most
        if (
            n_present > 1
            and _keeps(own[0], own[1], own[2], own[3], limits)
            and _keeps(persons - own[0], records - own[1], squared - own[2], others_most, limits)
        ):
            merit = -1e-9 * abs(2 * own[1] - records) / records  # the most even of equally wide cuts first
            merit += max(n_present - 1, 1) / span
            if merit > best_merit or (merit == best_merit and present[i] < best):
                best, best_merit = np.int64(present[i]), merit
    for i in range(n_present):
        counts[present[i]] = 0
    return best, best_merit


@kernel
def _median_code(row, start, end, j, n_quasi, low, high, code, records, bucket):
    """The cut of a number that is closest to half of the records, of two equally close the later.

    Gives the highest code on its left side, and the records there.
    """
    n = end - start
    total = 0
    for i in range(n):
        code[i] = row[start + i, j]
        records[i] = row[start + i, n_quasi]
        total += records[i]
    middle, below, upto = middle_of(code, records, n, low, high, bucket)
    if middle < high and (middle == low or abs(2 * upto - total) <= abs(2 * below - total)):
        return middle, upto
    return middle - 1, below


@kernel
def _part(row, word, start, end, j, code, is_category):
    """Swap rows until the left side comes first; gives where the right side starts."""
    first, last = start, end - 1
    while True:
        while first <= last and (row[first, j] == code if is_category else row[first, j] <= code):
            first += 1
        while first <= last and (row[last, j] != code if is_category else row[last, j] > code):
            last -= 1
        if first >= last:
            return first
        for i in range(word.shape[1]):
            held = word[first, i]
            word[first, i] = word[last, i]
            word[last, i] = held
        first += 1
        last -= 1


@kernel
def scratch_for(attributes, most_rows):
    """Memory to work in, for nodes of up to so many rows."""
    n_quasi = len(attributes.span)
    most_categories = max(1, attributes.n_categories.max())
    return Scratch(
        np.empty(most_rows, np.int32), np.empty(most_rows, np.int32), np.empty(BUCKETS + 1, np.int64),
        np.zeros((most_categories, 4), np.int64), np.empty(most_categories, np.int32),
        np.empty(n_quasi, np.int32), np.empty(n_quasi, np.int32), np.empty(n_quasi, np.float64),
        np.empty(n_quasi, np.int64),
    )  # fmt: skip


@kernel
def cut_node(row, word, attributes, limits, all_alone, scratch, start, end):
    """Cut one node: its rows are swapped until the left side comes first. Gives where the right side starts, or -1.

    A node is cut at the median of its widest quasi-identifier, a nominal one category against the rest; where a side
    would break the limits, of the next widest; of equally wide ones the first.

    Parameters
    ----------
    row, word
        (persons, width) int32: the codes, the number of records, the number of the person; and the same memory in
        words of 64 bits, in which rows are swapped.
    all_alone
        Whether every person has one record.
    start, end
        The rows of the node.
    """
    if end - start < 2 * limits.least_persons:
        return -1
    n_quasi = len(attributes.span)
    n_categories = attributes.n_categories
    low, high, merit, category = scratch.low, scratch.high, scratch.merit, scratch.category
    for j in range(n_quasi):
        low[j] = high[j] = row[start, j]
    for i in range(start + 1, end):
        for j in range(n_quasi):
            low[j] = min(low[j], row[i, j])
            high[j] = max(high[j], row[i, j])
    for j in range(n_quasi):
        merit[j] = -np.inf
        if high[j] == low[j]:
            continue
        if n_categories[j]:
            category[j], merit[j] = _most_even_category(
                row, start, end, j, n_quasi, all_alone, limits, attributes.span[j], scratch.counts, scratch.present
            )
        else:
            merit[j] = (_key_of(attributes, j, high[j]) - _key_of(attributes, j, low[j])) / attributes.span[j]
    while True:
        j = 0
        for other in range(1, n_quasi):
            if merit[other] > merit[j]:
                j = other
        if merit[j] == -np.inf:
            return -1
        at = category[j]
        if n_categories[j] == 0:
            at, left = _median_code(
                row, start, end, j, n_quasi, low[j], high[j], scratch.code, scratch.records, scratch.bucket
            )
            if not _number_keeps(row, start, end, j, at, left, n_quasi, all_alone, limits):
                merit[j] = -np.inf
                continue
        return _part(row, word, start, end, j, at, n_categories[j] > 0)


@kernel
def halve(row, word, attributes, limits, all_alone, start, end, group_of_person):
    """Cut a node (see `cut_node`), and its sides, until no side can be cut; gives the number of groups.

    Groups are numbered from 0: those of the smaller side of a cut first. Only what belongs to the node's persons is
    written, so that nodes which have no persons in common may be halved side by side.
    """
    n_quasi = len(attributes.span)
    scratch = scratch_for(attributes, end - start)
    waiting_start, waiting_end = np.empty(MOST_WAITING, np.int64), np.empty(MOST_WAITING, np.int64)
    waiting_start[0], waiting_end[0] = start, end
    n_waiting, n_groups = 1, 0
    while n_waiting:
        n_waiting -= 1
        start, end = waiting_start[n_waiting], waiting_end[n_waiting]
        cut = cut_node(row, word, attributes, limits, all_alone, scratch, start, end)
        if cut < 0:
            for i in range(start, end):
                group_of_person[row[i, n_quasi + 1]] = n_groups
            n_groups += 1
            continue
        larger_is_left = cut - start > end - cut
        for left in (larger_is_left, not larger_is_left):  # the larger waits below the smaller
            waiting_start[n_waiting] = start if left else cut
            waiting_end[n_waiting] = cut if left else end
            n_waiting += 1
    return n_groups


@kernel
def number_from(first, row, n_quasi, start, end, group_of_person):
    """Raise the numbers of the groups of a node's persons by `first`."""
    for i in range(start, end):
        group_of_person[row[i, n_quasi + 1]] += first
