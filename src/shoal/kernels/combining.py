"""Combinations of what persons show, and how many persons of a group show each. Arrays in, arrays out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiling import kernel


class Shown(NamedTuple):
    """What persons show, group by group.

    The owners of group g stand at start_of_group[g]:start_of_group[g + 1], the pieces of owner o (their records under
    one pseudonym) at start_of_owner[o]:start_of_owner[o + 1], the items of piece p at start_of_piece[p]:
    start_of_piece[p + 1] of `item`: ascending, or with `moment` ascending by moment.
    """

    start_of_group: NDArray[np.int64]
    start_of_owner: NDArray[np.int64]
    start_of_piece: NDArray[np.int64]
    item: NDArray[np.int64]
    moment: NDArray[np.int64]
    """When each item was; empty where its order tells nothing."""


@kernel
def keys_of_piece(item, moment, first, last, m, base, keys, at):
    """Write a number per combination of at most m items of a piece, duplicates too; give the place behind the last.

    A number has the digits item + 1 of the combination: in ascending order, or where moments count in every order in
    which they can have been. Items of equal moments may have been in either order.
    """
    in_order = len(moment) > 0
    for i in range(first, last):
        one = item[i] + 1
        keys[at] = one
        at += 1
        if m < 2:
            continue
        for j in range(first if in_order else i + 1, last):
            if j == i or (in_order and moment[j] < moment[i]):
                continue
            two = one * base + item[j] + 1
            keys[at] = two
            at += 1
            if m < 3:
                continue
            for k in range(first if in_order else j + 1, last):
                if k in (i, j) or (in_order and moment[k] < moment[j]):
                    continue
                three = two * base + item[k] + 1
                keys[at] = three
                at += 1
                if m < 4:
                    continue
                for n in range(first if in_order else k + 1, last):
                    if n in (i, j, k) or (in_order and moment[n] < moment[k]):
                        continue
                    keys[at] = three * base + item[n] + 1
                    at += 1
    return at


@kernel
def without_repeats(numbers, start, behind):
    """Put the different numbers of a stretch in order at its start; give the place behind the last."""
    own = np.sort(numbers[start:behind])
    behind = start
    for at in range(len(own)):
        if at == 0 or own[at] != own[at - 1]:
            numbers[behind] = own[at]
            behind += 1
    return behind


@kernel
def persons_of_combinations(shown, group, m, base, room):
    """The combinations of at most m items that owners of a group show, ascending, and how many owners show each."""
    found = np.empty(room, np.int64)
    behind = 0
    if m == 0:
        return found[:0], found[:0]
    for owner in range(shown.start_of_group[group], shown.start_of_group[group + 1]):
        start = behind
        for piece in range(shown.start_of_owner[owner], shown.start_of_owner[owner + 1]):
            first, last = shown.start_of_piece[piece], shown.start_of_piece[piece + 1]
            behind = keys_of_piece(shown.item, shown.moment, first, last, m, base, found, behind)
        behind = without_repeats(found, start, behind)
    keys = np.sort(found[:behind])
    persons = np.empty(behind, np.int64)
    n = 0
    for at in range(behind):
        if at == 0 or keys[at] != keys[at - 1]:
            keys[n] = keys[at]
            persons[n] = 0
            n += 1
        persons[n - 1] += 1
    return keys[:n], persons[:n]


@kernel
def fewest_of_groups(shown, m, base, room_of_group, fewest):
    """The fewest owners who show any combination of at most m items, for each group; `fewest` has their sizes."""
    for group in range(len(room_of_group)):
        if room_of_group[group]:
            _, persons = persons_of_combinations(shown, group, m, base, room_of_group[group])
            fewest[group] = min(fewest[group], persons.min())


@kernel
def has_digit(number, digit, base):
    """Whether a number has a digit."""
    while number:
        if number % base == digit:
            return True
        number //= base
    return False


@kernel
def surest_of_groups(shown, m, base, room_of_group, room_of_pairs, part, whole):
    """For each group the combination of at most m items that tells most of another item.

    Writes how many owners show both into `part`, which is 0 at first, and how many show the combination into `whole`,
    which is how many there are. A pair of a combination and another item is a number with one digit more.
    """
    for group in range(len(room_of_group)):
        everybody = whole[group]
        keys, persons = persons_of_combinations(shown, group, m, base, room_of_group[group])
        pairs = np.empty(room_of_pairs[group], np.int64)
        behind = 0
        own = np.empty(room_of_group[group] + 1, np.int64)
        for owner in range(shown.start_of_group[group], shown.start_of_group[group + 1]):
            start = behind
            for piece in range(shown.start_of_owner[owner], shown.start_of_owner[owner + 1]):
                first, last = shown.start_of_piece[piece], shown.start_of_piece[piece + 1]
                own[0] = 0
                n_own = 1
                if m:
                    n_own = keys_of_piece(shown.item, shown.moment, first, last, m, base, own, 1)
                n_own = without_repeats(own, 0, n_own)
                for at in range(first, last):
                    if at > first and shown.item[at] == shown.item[at - 1]:
                        continue
                    for combination in own[:n_own]:
                        if not has_digit(combination, shown.item[at] + 1, base):
                            pairs[behind] = combination * base + shown.item[at] + 1
                            behind += 1
            behind = without_repeats(pairs, start, behind)
        pairs = np.sort(pairs[:behind])
        n = 0
        for at in range(behind):
            n += 1
            if at + 1 == behind or pairs[at + 1] != pairs[at]:
                combination = pairs[at] // base
                among = everybody if combination == 0 else persons[np.searchsorted(keys, combination)]
                if n * whole[group] > part[group] * among:
                    part[group], whole[group] = n, among
                n = 0
