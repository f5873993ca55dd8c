"""Buckets of persons who can stand in for one another. Arrays in, arrays out; no tables, no checks, no randomness.

Persons with the same values who cannot have the same others are of one *kind*. Two kinds are compatible where they
share no value that must differ, and each may have what the other has. l persons of kinds that are compatible in pairs
are a *bucket*: any two of them may have changed places, so each may have l values.

Persons stand at places 0, 1, 2, ...: of equally good ones the earliest is taken. Work is done on kinds, of which there
are few, not on persons.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiling import kernel

NOBODY = -1
RAREST, BALANCED, SIMILAR = 0, 1, 2
"""Whom to take next: who leaves most, who has the commonest value, who stands next."""
NEAR = 512
"""Among so many buckets one is sought for somebody who is left over."""
MOST_ROUNDS = 64
"""How often those left over are exchanged and dealt again at the most."""


class Kinds(NamedTuple):
    """Kinds of persons, and which of them may share a bucket."""

    compatible: NDArray[np.bool_]
    """For each two kinds whether they are compatible; no kind is with itself."""
    may_have: NDArray[np.bool_]
    """For each kind whether it may have what another has; all kinds may have their own."""
    item_start: NDArray[np.int64]
    """The values that must differ of kind k stand at item_start[k]:item_start[k + 1] of `item`."""
    item: NDArray[np.int32]
    n_items: int


class Stock(NamedTuple):
    """Those who are not in a bucket yet; changes as they are taken."""

    place: NDArray[np.int64]
    """The places of the persons of kind 0, then of kind 1, and so on, ascending."""
    head: NDArray[np.int64]
    """Where in `place` the first person who is left of each kind stands."""
    end: NDArray[np.int64]
    n_of_item: NDArray[np.int64]
    """How many of those who are left have each value."""
    clashes: NDArray[np.int64]
    """How many of those who are left are incompatible with each kind."""
    total: NDArray[np.int64]
    """One number: how many are left."""


class Buckets(NamedTuple):
    """Who is in which bucket, as chains of places; changes as those left over join."""

    bucket_at: NDArray[np.int32]
    first: NDArray[np.int64]
    """The place of a member of each bucket; NOBODY where it was merged into another."""
    following: NDArray[np.int64]
    """The place of the next member of the same bucket, or NOBODY."""
    seen: NDArray[np.int64]
    """For each value the last look that has seen it."""
    looks: NDArray[np.int64]
    """One number: how many looks there were."""


def form_buckets(
    kind_at: NDArray[np.int32],
    kinds: Kinds,
    size: int,
    order: int,
) -> tuple[NDArray[np.int32], int, int]:
    """Part persons into buckets: the bucket of each place, how many buckets, and how many persons were left over.

    Those left over have joined buckets that keep every promise with them, merged where none else does; who fits
    nowhere even then has the bucket NOBODY. Buckets are numbered by the mean place of their members.

    Notes
    -----
    After Li and Li (2008), figure 2. Repaired: the first of a bucket that cannot be filled is counted back in once;
    the last l persons still make a bucket; who fits nowhere is told. O(n k) time for n persons of k kinds; "rarest"
    takes O(n k^2 / l).
    """
    bucket_at, n_buckets = deal(kind_at, kinds, size, order)
    if order != RAREST:
        n_buckets = _settle(bucket_at, n_buckets, kind_at, kinds, size)
    n_over = int(np.count_nonzero(bucket_at == NOBODY))
    if n_buckets == 0:
        return bucket_at, 0, n_over
    _number_by_place(bucket_at, n_buckets)
    if n_over:
        n_buckets = join_left_over(bucket_at, n_buckets, kind_at, kinds, size)
    return bucket_at, n_buckets, n_over


def _settle(bucket_at: NDArray[np.int32], n_buckets: int, kind_at: NDArray[np.int32], kinds: Kinds, size: int) -> int:
    """Exchange those left over for members of buckets until they make buckets of their own; how many there are then.

    In rounds, as long as one in ten of those left over is helped.
    """
    members = np.empty((len(kind_at) // size, size), np.int64)
    taken = np.flatnonzero(bucket_at != NOBODY)
    members[:n_buckets] = taken[np.argsort(bucket_at[taken], kind="stable")].reshape(-1, size)
    left_over = np.flatnonzero(bucket_at == NOBODY)
    for _ in range(MOST_ROUNDS):
        if len(left_over) < size or not n_buckets:
            break
        if not exchange(left_over, members[:n_buckets], kind_at, kinds):
            break
        bucket_of_left, n_new = deal(kind_at[left_over], kinds, size, BALANCED)
        found = np.flatnonzero(bucket_of_left != NOBODY)
        order = np.argsort(bucket_of_left[found], kind="stable")
        members[n_buckets : n_buckets + n_new] = left_over[found][order].reshape(-1, size)
        n_buckets += n_new
        n_before, left_over = len(left_over), left_over[bucket_of_left == NOBODY]
        if 10 * len(left_over) > 9 * n_before:
            break
    bucket_at[:] = NOBODY
    bucket_at[members[:n_buckets]] = np.arange(n_buckets, dtype=np.int32)[:, None]
    return n_buckets


def _number_by_place(bucket_at: NDArray[np.int32], n_buckets: int) -> None:
    """Number buckets by the mean place of their members."""
    taken = np.flatnonzero(bucket_at != NOBODY)
    sizes = np.bincount(bucket_at[taken], minlength=n_buckets)
    means = np.bincount(bucket_at[taken], weights=taken, minlength=n_buckets) / sizes
    order = np.argsort(means, kind="stable")
    number = np.empty(n_buckets, np.int32)
    number[order] = np.arange(n_buckets, dtype=np.int32)
    bucket_at[taken] = number[bucket_at[taken]]


# --- dealing -------------------------------------------------------------------------------------------------------


@kernel
def deal(kind_at, kinds, size, order):
    """Fill bucket after bucket while it goes: the bucket of each place, NOBODY for those left over, and how many.

    A bucket begins with a first person and takes a compatible one after the other. Where nobody is compatible the
    others go back; where no other way to fill it is found either, its first person is left over.
    """
    n_kinds = len(kinds.compatible)
    stock = _stock(kind_at, kinds)
    bucket_at = np.full(len(kind_at), NOBODY, np.int32)
    members = np.empty(size, np.int64)
    fits = np.empty(n_kinds, np.bool_)
    lost = np.empty(n_kinds, np.int64)
    is_urgent = np.zeros(n_kinds, np.bool_)
    n_buckets = 0
    while stock.total[0] >= size:
        n_urgent = _mark_urgent(stock, kinds, size, is_urgent) if order == SIMILAR else 0
        members[0] = _first(stock, kinds, order, is_urgent, n_urgent >= size)
        is_full = _fill(stock, kinds, order, is_urgent, members, fits, lost)
        if not is_full and order == BALANCED:
            is_full = _fill(stock, kinds, RAREST, is_urgent, members, fits, lost)
        if not is_full:
            _take(stock, kinds, members[0])
            continue
        for kind in members:
            bucket_at[_take(stock, kinds, kind)] = n_buckets
        n_buckets += 1
    return bucket_at, n_buckets


@kernel
def _stock(kind_at, kinds):
    n_kinds = len(kinds.compatible)
    start = np.zeros(n_kinds + 1, np.int64)
    for kind in kind_at:
        start[kind + 1] += 1
    for kind in range(n_kinds):
        start[kind + 1] += start[kind]
    write = start[:-1].copy()
    place = np.empty(len(kind_at), np.int64)
    for at in range(len(kind_at)):
        place[write[kind_at[at]]] = at
        write[kind_at[at]] += 1
    n_of_item = np.zeros(kinds.n_items, np.int64)
    clashes = np.zeros(n_kinds, np.int64)
    for kind in range(n_kinds):
        count = start[kind + 1] - start[kind]
        for at in range(kinds.item_start[kind], kinds.item_start[kind + 1]):
            n_of_item[kinds.item[at]] += count
        for other in range(n_kinds):
            if not kinds.compatible[kind, other]:
                clashes[other] += count
    total = np.array([len(kind_at)])
    return Stock(place, start[:-1].copy(), start[1:].copy(), n_of_item, clashes, total)


@kernel
def _take(stock, kinds, kind):
    """Take the first person of a kind; give their place."""
    place = stock.place[stock.head[kind]]
    stock.head[kind] += 1
    stock.total[0] -= 1
    for at in range(kinds.item_start[kind], kinds.item_start[kind + 1]):
        stock.n_of_item[kinds.item[at]] -= 1
    compatible = kinds.compatible[kind]
    for other in range(len(compatible)):
        stock.clashes[other] -= not compatible[other]
    return place


@kernel
def _mark_urgent(stock, kinds, size, is_urgent):
    """Mark kinds with a value that every bucket from now on must have, or it is left over; how many such values."""
    n_urgent = 0
    for item in range(kinds.n_items):
        n_urgent += stock.n_of_item[item] * size > stock.total[0] - size
    is_urgent[:] = False
    if n_urgent > 0:
        for kind in range(len(is_urgent)):
            for at in range(kinds.item_start[kind], kinds.item_start[kind + 1]):
                if stock.n_of_item[kinds.item[at]] * size > stock.total[0] - size:
                    is_urgent[kind] = True
    return n_urgent


@kernel
def _first(stock, kinds, order, is_urgent, only_urgent):
    """The kind of the person with whom a bucket begins."""
    best, best_place, best_count, best_clashes = NOBODY, 0, 0, 0
    for kind in range(len(stock.head)):
        if stock.head[kind] == stock.end[kind] or (only_urgent and not is_urgent[kind]):
            continue
        place = stock.place[stock.head[kind]]
        count = _most(stock, kinds, kind) if order == BALANCED else 0
        clashes = stock.clashes[kind] if order != SIMILAR else 0
        is_better = count > best_count or (
            count == best_count and (clashes > best_clashes or (clashes == best_clashes and place < best_place))
        )
        if best == NOBODY or is_better:
            best, best_place, best_count, best_clashes = kind, place, count, clashes
    return best


@kernel
def _most(stock, kinds, kind):
    """How many are left who have the commonest value of a kind."""
    most = 0
    for at in range(kinds.item_start[kind], kinds.item_start[kind + 1]):
        most = max(most, stock.n_of_item[kinds.item[at]])
    return most


@kernel
def _fill(stock, kinds, order, is_urgent, members, fits, lost):
    """Choose the other kinds of a bucket, which is not taken yet; say whether it could be filled."""
    n_kinds = len(fits)
    for kind in range(n_kinds):
        fits[kind] = stock.head[kind] < stock.end[kind]
    if order == RAREST:
        lost[:] = stock.clashes
    for at in range(1, len(members)):
        compatible = kinds.compatible[members[at - 1]]
        if order == RAREST:
            _drop(stock, kinds, compatible, fits, lost)
            best = _fewest_lost(stock, fits, lost)
        elif order == BALANCED:
            best = _commonest(stock, kinds, compatible, fits)
        else:
            best = _earliest(stock, compatible, fits, is_urgent)
        if best == NOBODY:
            return False
        members[at] = best
    return True


@kernel
def _drop(stock, kinds, compatible, fits, lost):
    """Drop the kinds that fit no more; `lost` counts only persons who fitted so far."""
    for kind in range(len(fits)):
        if fits[kind] and not compatible[kind]:
            fits[kind] = False
            count = stock.end[kind] - stock.head[kind]
            row = kinds.compatible[kind]
            for other in range(len(fits)):
                lost[other] -= count * (not row[other])


@kernel
def _fewest_lost(stock, fits, lost):
    """The kind with which the fewest persons become incompatible (line 13 of figure 2)."""
    best, best_place = NOBODY, 0
    for kind in range(len(fits)):
        if fits[kind]:
            place = stock.place[stock.head[kind]]
            if best == NOBODY or lost[kind] < lost[best] or (lost[kind] == lost[best] and place < best_place):
                best, best_place = kind, place
    return best


@kernel
def _commonest(stock, kinds, compatible, fits):
    """The kind whose value most of those left have; of equals the most incompatible one."""
    best, best_place, best_count = NOBODY, 0, 0
    for kind in range(len(fits)):
        if not fits[kind]:
            continue
        if not compatible[kind]:
            fits[kind] = False
            continue
        place = stock.place[stock.head[kind]]
        count = _most(stock, kinds, kind)
        is_better = count > best_count or (
            count == best_count
            and (
                stock.clashes[kind] > stock.clashes[best]
                or (stock.clashes[kind] == stock.clashes[best] and place < best_place)
            )
        )
        if best == NOBODY or is_better:
            best, best_place, best_count = kind, place, count
    return best


@kernel
def _earliest(stock, compatible, fits, is_urgent):
    """The kind whose next person stands first, urgent kinds before others."""
    best, best_place = NOBODY, 0
    for kind in range(len(fits)):
        if not fits[kind]:
            continue
        if not compatible[kind]:
            fits[kind] = False
            continue
        place = stock.place[stock.head[kind]]
        if best == NOBODY or (is_urgent[kind] if is_urgent[kind] != is_urgent[best] else place < best_place):
            best, best_place = kind, place
    return best


# --- exchanging those left over ------------------------------------------------------------------------------------


@kernel
def exchange(left_over, members, kind_at, kinds):
    """Exchange persons left over, in place, for members of buckets who clash with fewer others left over.

    A bucket stays one: who goes is the only one with whom the newcomer clashes, or of all, where there is none, who
    clashes least with those left over. It is the next such bucket behind the newcomer's place. Gives how many were
    exchanged. Kinds that clash with so few that each could have a bucket of their own are let be.
    """
    n_buckets = len(members)
    clashes = _clashes_among(left_over, kind_at, kinds)
    next_free = np.empty(n_buckets + 1, np.int64)
    by_kind = np.argsort(kind_at[left_over], kind="mergesort")
    n_exchanged, kind = 0, NOBODY
    for at in by_kind:
        place = left_over[at]
        if kind_at[place] != kind:
            kind = kind_at[place]
            next_free[:] = np.arange(n_buckets + 1)
        row = kinds.compatible[kind]
        while clashes[kind] * members.shape[1] > len(left_over):
            bucket = _find(next_free, place * n_buckets // len(kind_at))
            if bucket == n_buckets:
                bucket = _find(next_free, 0)
            if bucket == n_buckets:
                break
            next_free[bucket] = bucket + 1
            seat = _seat_for(row, members[bucket], kind_at, clashes)
            if seat == NOBODY:
                continue
            goes = members[bucket, seat]
            gone = kinds.compatible[kind_at[goes]]
            if clashes[kind_at[goes]] - (not row[kind_at[goes]]) >= clashes[kind] - 1:
                continue
            members[bucket, seat], left_over[at] = place, goes
            for other in range(len(clashes)):
                clashes[other] += np.int64(row[other]) - np.int64(gone[other])
            n_exchanged += 1
            break
    return n_exchanged


@kernel
def _clashes_among(places, kind_at, kinds):
    """How many of some persons are incompatible with each kind."""
    n_kinds = len(kinds.compatible)
    n_of_kind = np.zeros(n_kinds, np.int64)
    for place in places:
        n_of_kind[kind_at[place]] += 1
    clashes = np.zeros(n_kinds, np.int64)
    for kind in range(n_kinds):
        if n_of_kind[kind] > 0:
            for other in range(n_kinds):
                clashes[other] += n_of_kind[kind] * (not kinds.compatible[kind, other])
    return clashes


@kernel
def _seat_for(row, bucket, kind_at, clashes):
    """Whom a newcomer can replace: the only one they clash with, or who clashes least; NOBODY where two clash."""
    n_clashing, clashing, best = 0, NOBODY, 0
    for seat in range(len(bucket)):
        if not row[kind_at[bucket[seat]]]:
            n_clashing += 1
            clashing = seat
        if clashes[kind_at[bucket[seat]]] < clashes[kind_at[bucket[best]]]:
            best = seat
    if n_clashing == 0:
        return best
    return clashing if n_clashing == 1 else NOBODY


# --- those left over -----------------------------------------------------------------------------------------------


@kernel
def join_left_over(bucket_at, n_buckets, kind_at, kinds, size):
    """Let those who are left over join buckets, and number buckets anew; gives how many there are.

    A bucket is *clean* for a kind if all its members are compatible with it. It *fits* if l values stay possible for
    the newcomer in it. Persons of a kind join clean buckets, one each, and then those that fit, one each before
    another; of all these, the next behind their own place. Where none fits, some are merged that fit together; who
    would not fit if all were merged stays NOBODY.
    """
    buckets = _chains(bucket_at, n_buckets, kinds.n_items)
    next_free = np.empty(n_buckets + 1, np.int64)
    left_over = np.flatnonzero(bucket_at == NOBODY)
    left_over = left_over[np.argsort(kind_at[left_over], kind="mergesort")]
    at = 0
    while at < len(left_over):
        kind = kind_at[left_over[at]]
        n_same = 1
        while at + n_same < len(left_over) and kind_at[left_over[at + n_same]] == kind:
            n_same += 1
        same = left_over[at : at + n_same]
        n_joined = _join(same, buckets, kind, kind_at, kinds, size, next_free)
        while n_joined < n_same and _join_merged(same[n_joined], buckets, kind, kind_at, kinds, size):
            n_joined += 1
        at += n_same
    return _number_anew(buckets)


@kernel
def _chains(bucket_at, n_buckets, n_items):
    first = np.full(n_buckets, NOBODY, np.int64)
    following = np.full(len(bucket_at), NOBODY, np.int64)
    for place in range(len(bucket_at) - 1, -1, -1):
        if bucket_at[place] != NOBODY:
            following[place] = first[bucket_at[place]]
            first[bucket_at[place]] = place
    seen = np.zeros(n_items, np.int64)
    return Buckets(bucket_at, first, following, seen, np.zeros(1, np.int64))


@kernel
def _join(places, buckets, kind, kind_at, kinds, size, next_free):
    """Let persons of one kind join clean buckets, and then those that fit; how many of them found one."""
    n_buckets = len(buckets.first)
    n_joined, only_clean = 0, True
    alone = np.empty(1, np.int64)
    while n_joined < len(places):
        n_free = 0
        for bucket in range(n_buckets):
            is_free = buckets.first[bucket] != NOBODY
            if is_free and only_clean:
                is_free = _is_clean(bucket, buckets, kind, kind_at, kinds)
            elif is_free:
                alone[0] = bucket
                is_free = _n_left(alone, buckets, kind, kind_at, kinds) >= size - 1
            next_free[bucket] = bucket if is_free else bucket + 1
            n_free += is_free
        next_free[n_buckets] = n_buckets
        if n_free == 0 and not only_clean:
            break
        only_clean = False
        for _ in range(min(n_free, len(places) - n_joined)):
            place = places[n_joined]
            bucket = _find(next_free, place * n_buckets // len(kind_at))
            if bucket == n_buckets:
                bucket = _find(next_free, 0)
            next_free[bucket] = bucket + 1
            buckets.following[place] = buckets.first[bucket]
            buckets.first[bucket] = place
            n_joined += 1
    return n_joined


@kernel
def _find(next_free, bucket):
    """The first free bucket from here on, or the number of buckets."""
    while next_free[bucket] != bucket:
        next_free[bucket] = next_free[next_free[bucket]]
        bucket = next_free[bucket]
    return bucket


@kernel
def _is_clean(bucket, buckets, kind, kind_at, kinds):
    place = buckets.first[bucket]
    while place != NOBODY:
        if not kinds.compatible[kind, kind_at[place]]:
            return False
        place = buckets.following[place]
    return True


@kernel
def _n_left(some, buckets, kind, kind_at, kinds):
    """How many holdings of some buckets a newcomer may have who share no value with each other and the newcomer's.

    Members of a bucket can pass what they have to each other in a circle. So the newcomer may end up with what any of
    them has and they may have, if somebody there may have what the newcomer has.
    """
    buckets.looks[0] += 1
    look = buckets.looks[0]
    for at in range(kinds.item_start[kind], kinds.item_start[kind + 1]):
        buckets.seen[kinds.item[at]] = look
    n_left = 0
    for bucket in some:
        if not _leads_to(bucket, buckets, kind, kind_at, kinds):
            continue
        place = buckets.first[bucket]
        while place != NOBODY:
            other = kind_at[place]
            place = buckets.following[place]
            is_apart = kinds.may_have[kind, other]
            for at in range(kinds.item_start[other], kinds.item_start[other + 1]):
                is_apart = is_apart and buckets.seen[kinds.item[at]] != look
            if is_apart:
                n_left += 1
                for at in range(kinds.item_start[other], kinds.item_start[other + 1]):
                    buckets.seen[kinds.item[at]] = look
    return n_left


@kernel
def _leads_to(bucket, buckets, kind, kind_at, kinds):
    """Whether somebody in a bucket may have what a kind has."""
    place = buckets.first[bucket]
    while place != NOBODY:
        if kinds.may_have[kind_at[place], kind]:
            return True
        place = buckets.following[place]
    return False


@kernel
def _join_merged(place, buckets, kind, kind_at, kinds, size):
    """Let somebody join buckets, merged, in which they fit together: of the near ones those that help most."""
    n_buckets = len(buckets.first)
    start = place * n_buckets // len(kind_at)
    chosen = np.empty(size, np.int64)
    n_chosen, n_left = 0, 0
    while n_left < size - 1:
        best = NOBODY
        for step in range(n_buckets):
            if step >= NEAR and best != NOBODY:
                break
            chosen[n_chosen] = (start + step) % n_buckets
            n_with = _n_left(chosen[: n_chosen + 1], buckets, kind, kind_at, kinds)
            if n_with > n_left:
                best, n_left = chosen[n_chosen], n_with
        if best == NOBODY:
            return False
        chosen[n_chosen] = best
        n_chosen += 1
    into = chosen[0]
    for bucket in chosen[1:n_chosen]:
        last = buckets.first[bucket]
        while buckets.following[last] != NOBODY:
            last = buckets.following[last]
        buckets.following[last] = buckets.first[into]
        buckets.first[into] = buckets.first[bucket]
        buckets.first[bucket] = NOBODY
    buckets.following[place] = buckets.first[into]
    buckets.first[into] = place
    return True


@kernel
def _number_anew(buckets):
    n_buckets = 0
    for bucket in range(len(buckets.first)):
        place = buckets.first[bucket]
        if place == NOBODY:
            continue
        while place != NOBODY:
            buckets.bucket_at[place] = n_buckets
            place = buckets.following[place]
        n_buckets += 1
    return n_buckets
