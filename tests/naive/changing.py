"""What masks that change persons one by one do, written to be read."""

from __future__ import annotations

from collections.abc import Sequence


def spread_evenly(stay: Sequence[float]) -> list[list[float]]:
    """Each category stays by its chance; what is left goes to all others alike."""
    n = len(stay)
    return [[stay[i] if i == j else (1 - stay[i]) / (n - 1) for j in range(n)] for i in range(n)]


def invariant(matrix: Sequence[Sequence[float]], shares: Sequence[float]) -> list[list[float]]:
    """First a category is drawn by the matrix; then, from what is seen, one by the chances of what it was."""
    n = len(shares)
    seen = [sum(shares[i] * matrix[i][k] for i in range(n)) for k in range(n)]
    back = [[shares[j] * matrix[j][k] / seen[k] for j in range(n)] for k in range(n)]
    return [[sum(matrix[i][k] * back[k][j] for k in range(n)) for j in range(n)] for i in range(n)]


def drawn(line: Sequence[float], chance: float) -> int:
    """Where a chance falls when the line is laid out from 0 to 1."""
    end = 0.0
    for place, width in enumerate(line):
        end += width
        if chance < end:
            return place
    return len(line) - 1


def swap_near(n: int, farthest: int, chance: Sequence[float]) -> list[int]:
    """From the lowest rank on: a random one in reach, or the next free one above that, or the next free one at all."""
    partner = list(range(n))
    free = set(range(n))
    for rank in range(n):
        last = min(rank + farthest, n - 1)
        if rank not in free or last == rank:
            continue
        free.remove(rank)
        wanted = rank + 1 + int(chance[rank] * (last - rank))
        reach = [other for other in range(rank + 1, last + 1) if other in free]
        reach = [other for other in reach if other >= wanted] + [other for other in reach if other < wanted]
        if reach:
            free.remove(reach[0])
            partner[rank], partner[reach[0]] = reach[0], rank
    return partner


def swap_apart(
    classes: Sequence[int],
    region: Sequence[int],
    turn: Sequence[int],
    n_first: int,
    quota: int,
    chance: Sequence[float],
) -> list[int]:
    """Each in turn takes the next free one of its class, from a random place on and around, that lives elsewhere."""
    partner = list(range(len(region)))
    free = {place for place in range(len(region)) if region[place] >= 0}
    for served, place in enumerate(turn):
        n_swapped = sum(other != own for own, other in enumerate(partner))
        if served >= n_first and n_swapped >= quota:
            break
        if place not in free:
            continue
        own = [other for other in range(len(region)) if classes[other] == classes[place]]
        first = int(chance[served] * len(own))
        for other in own[first:] + own[:first]:
            if other in free and region[other] != region[place]:
                free -= {place, other}
                partner[place], partner[other] = other, place
                break
    return partner


def ranked_groups(values: Sequence[float], stratum: Sequence[int], size: int) -> list[set[int]]:
    """In each stratum, from the lowest on, so many at a time; who is left joins the last."""
    groups: list[set[int]] = []
    for one in sorted(set(stratum)):
        order = sorted((place for place, own in enumerate(stratum) if own == one), key=lambda place: values[place])
        n_groups = max(len(order) // size, 1)
        for at in range(n_groups):
            groups.append(set(order[at * size : (at + 1) * size if at < n_groups - 1 else None]))
    return groups


def rank_of(values: Sequence[float]) -> list[int]:
    """The place of each value from the lowest on."""
    order = sorted(range(len(values)), key=lambda place: values[place])
    ranks = [0] * len(values)
    for rank, place in enumerate(order):
        ranks[place] = rank
    return ranks
