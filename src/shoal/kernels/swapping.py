"""Pairs of things that exchange what they have. Arrays in, arrays out; random numbers come in with the arrays."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiling import kernel


@kernel
def _next_free(after, place):
    """The first place from this one on that nobody has taken; paths are halved on the way."""
    while after[place] != place:
        after[place] = after[after[place]]
        place = after[place]
    return place


@kernel
def swap_near(n, farthest, chance):
    """For each of n ranks the one that it is swapped with, at most `farthest` away; itself where none is left.

    From the lowest rank on, each that is free takes the first free rank from a random one on, as far as it may reach;
    or else the first free one above it.
    """
    partner = np.arange(n)
    after = np.arange(n + 1)
    for rank in range(n):
        if after[rank] != rank:
            continue
        last = min(rank + farthest, n - 1)
        if last == rank:
            continue
        after[rank] = rank + 1
        other = _next_free(after, rank + 1 + int(chance[rank] * (last - rank)))
        if other > last:
            other = _next_free(after, rank + 1)
        if other > last:
            continue
        after[other] = other + 1
        partner[rank], partner[other] = other, rank
    return partner


@kernel
def swap_apart(start, end, region, turn, n_first, quota, chance):
    """For each place the one that it is swapped with, in its own class and in another region; itself where none is.

    Parameters
    ----------
    start, end
        Of each place where its class begins and ends; classes stand together.
    region
        The region of each place, -1 where it may not be swapped.
    turn, n_first
        The places in the order in which they are served; the first `n_first` always are, the others until `quota`
        places have been swapped.
    """
    n = len(region)
    partner = np.arange(n)
    after = np.arange(n + 1)
    for place in range(n):
        if region[place] < 0:
            after[place] = place + 1
    n_swapped = 0
    for served in range(len(turn)):
        if served >= n_first and n_swapped >= quota:
            break
        place = turn[served]
        if after[place] != place:
            continue
        first = start[place] + int(chance[served] * (end[place] - start[place]))
        found = -1
        for low, high in ((first, end[place]), (start[place], first)):
            other = _next_free(after, low)
            while other < high:
                if region[other] != region[place]:
                    found = other
                    break
                other = _next_free(after, other + 1)
            if found >= 0:
                break
        if found < 0:
            continue
        after[place], after[found] = place + 1, found + 1
        partner[place], partner[found] = found, place
        n_swapped += 2
    return partner
