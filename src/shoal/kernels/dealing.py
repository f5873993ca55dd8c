"""How probable it is that somebody has a value, where the values of a group are dealt out by weights.

A way to deal out has the product of its weights: who is likely to have a value weighs more on it. The probability that
a person has a value is the share of the ways in which they do, by weight: a ratio of permanents.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiling import inner_kernel, kernel

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

MOST_STATES = 4096
"""Up to so many ways to have dealt out a part of a group's holdings, probabilities are computed exactly."""
LEVELS = 6
"""How often a bound is sharpened by what it says of the others."""
MOST_ENTRIES = 4_000_000
"""Up to so many pairs of holdings times types, a bound looks at each of them."""


class Dealt(NamedTuple):
    """Members of groups with types and holdings, the items of holdings, and the weight of each type on each item."""

    start_of_group: IntArray
    type_of_member: NDArray[np.int32]
    holding_of_member: NDArray[np.int32]
    item_start: IntArray
    item: NDArray[np.int32]
    weight: FloatArray
    own_start: IntArray
    """The items whose probabilities are asked for, of each holding: own_start and own."""
    own: NDArray[np.int32]


@kernel
def highest_probabilities(dealt: Dealt, most_states: int, most_entries: int) -> FloatArray:
    """For each member the probability of the item that they have most probably, or an upper bound on it.

    It is 1 where no way to deal out has a weight.
    """
    highest = np.ones(len(dealt.type_of_member))
    for group in range(len(dealt.start_of_group) - 1):
        first, end = dealt.start_of_group[group], dealt.start_of_group[group + 1]
        if end == first:
            continue
        types, number_of_type, members_of_type = _numbered(dealt.type_of_member[first:end])
        holdings, _, copies = _numbered(dealt.holding_of_member[first:end])
        weight = _weights(dealt, types, holdings)
        states = 1
        for count in copies:
            states = min(states * (count + 1), most_states + 1)
        if states <= most_states:
            chance = exact(weight, members_of_type, copies, states)
        elif len(holdings) * len(holdings) * len(types) <= most_entries:
            chance = bounded(weight, members_of_type, copies)
        else:
            chance = bounded_roughly(weight, members_of_type, copies)
        of_type = _highest_item(dealt, holdings, chance)
        for place in range(end - first):
            highest[first + place] = of_type[number_of_type[place]]
    return highest


@inner_kernel
def _numbered(codes: NDArray[np.int32]) -> tuple[IntArray, IntArray, IntArray]:
    """The different codes, the number of each place among them, and how many places have each."""
    order = np.argsort(codes, kind="mergesort")
    number = np.empty(len(codes), np.int64)
    distinct = np.empty(len(codes), np.int64)
    counts = np.zeros(len(codes), np.int64)
    n = 0
    for place in order:
        if n == 0 or codes[place] != distinct[n - 1]:
            distinct[n] = codes[place]
            n += 1
        number[place] = n - 1
        counts[n - 1] += 1
    return distinct[:n], number, counts[:n]


@inner_kernel
def _weights(dealt: Dealt, types: IntArray, holdings: IntArray) -> FloatArray:
    """The weight of each type on each holding, the product of those of its items; the largest of a type is 1."""
    weight = np.ones((len(types), len(holdings)))
    for row in range(len(types)):
        most = 0.0
        for column in range(len(holdings)):
            holding = holdings[column]
            for place in range(dealt.item_start[holding], dealt.item_start[holding + 1]):
                weight[row, column] *= dealt.weight[types[row], dealt.item[place]]
            most = max(most, weight[row, column])
        if most > 0.0:
            weight[row] /= most
    return weight


@kernel
def exact(weight: FloatArray, members_of_type: IntArray, copies: IntArray, n_states: int) -> FloatArray:
    """The probability of each holding for each type, over all ways to deal out; all 1 where none has a weight.

    A state is how many copies of each holding are left. Forwards: the weight of all ways to come to a state by the
    first members; backwards: that of all ways to go on from it.
    """
    n_types, n_holdings = weight.shape
    n = members_of_type.sum()
    type_of_member = np.repeat(np.arange(n_types), members_of_type)
    stride = np.ones(n_holdings, np.int64)
    for holding in range(1, n_holdings):
        stride[holding] = stride[holding - 1] * (copies[holding - 1] + 1)
    ahead = np.zeros((n + 1, n_states))
    ahead[0, n_states - 1] = 1.0
    behind = np.zeros((n + 1, n_states))
    behind[n, 0] = 1.0
    for member in range(n):
        row = weight[type_of_member[member]]
        for state in range(n_states):
            if ahead[member, state] > 0.0:
                for holding in range(n_holdings):
                    if (state // stride[holding]) % (copies[holding] + 1) > 0:
                        ahead[member + 1, state - stride[holding]] += ahead[member, state] * row[holding]
    for back in range(n):
        member = n - 1 - back
        row = weight[type_of_member[member]]
        for state in range(n_states):
            for holding in range(n_holdings):
                if (state // stride[holding]) % (copies[holding] + 1) > 0:
                    behind[member, state] += row[holding] * behind[member + 1, state - stride[holding]]
    total = behind[0, n_states - 1]
    chance = np.ones((n_types, n_holdings))
    if total <= 0.0:
        return chance
    member = 0
    for number in range(n_types):
        for holding in range(n_holdings):
            found = 0.0
            for state in range(n_states):
                if ahead[member, state] > 0.0 and (state // stride[holding]) % (copies[holding] + 1) > 0:
                    found += ahead[member, state] * behind[member + 1, state - stride[holding]]
            chance[number, holding] = found * weight[number, holding] / total
        member += members_of_type[number]
    return chance


@kernel
def bounded(weight: FloatArray, members_of_type: IntArray, copies: IntArray) -> FloatArray:
    """An upper bound on the probability of each holding for each type.

    Let somebody have u. Swapping with another member who has t gives a way in which they have t, and its weight is
    w(t) / w(u) times w'(u) / w'(t) that of the first. Each way in which they have something else comes about by as
    many swaps as there are copies of u. So P(u) R <= copies of u (1 - P(u)), where R is the least that the ratios of
    all others can come to on average. The others, too, have each t with bounded probability once one member and one
    holding are gone: level k holds in every group from which up to k members and holdings are taken.
    """
    n_types, n_holdings = weight.shape
    order = np.empty((n_holdings, n_holdings, n_types), np.int64)
    for u in range(n_holdings):
        for t in range(n_holdings):
            ratio = np.empty(n_types)
            for number in range(n_types):
                can = weight[number, t] > 0.0
                ratio[number] = weight[number, u] / weight[number, t] if can else np.inf
            order[u, t] = np.argsort(ratio)
    chance = np.ones((n_types, n_holdings))
    for level in range(LEVELS, -1, -1):
        sharper = np.zeros((n_types, n_holdings))
        for u in range(n_holdings):
            swapped = np.zeros(n_holdings)
            for t in range(n_holdings):
                if t != u:
                    mass = float(max(copies[t] - level, 0))
                    swapped[t] = _least(order[u, t], weight, u, t, chance, members_of_type, mass)
            for number in range(n_types):
                if weight[number, u] > 0.0:
                    ratios = 0.0
                    for t in range(n_holdings):
                        ratios += weight[number, t] / weight[number, u] * swapped[t]
                    sharper[number, u] = copies[u] / (copies[u] + ratios)
        chance = sharper
    return chance


@inner_kernel
def _least(
    order: IntArray, weight: FloatArray, u: int, t: int, chance: FloatArray, members_of_type: IntArray, mass: float
) -> float:
    """The least sum of w(u) / w(t) over members who share so many copies of t, nobody more than their chance of it."""
    total = 0.0
    for number in order:
        if mass <= 0.0 or weight[number, t] <= 0.0:
            break
        taken = min(mass, chance[number, t] * members_of_type[number])
        total += taken * weight[number, u] / weight[number, t]
        mass -= taken
    return total


@kernel
def bounded_roughly(weight: FloatArray, members_of_type: IntArray, copies: IntArray) -> FloatArray:
    """The same bound at once and without levels, for groups of very many holdings and types: weights are at most 1."""
    n_types, n_holdings = weight.shape
    chance = np.zeros((n_types, n_holdings))
    for u in range(n_holdings):
        mass = float(members_of_type.sum() - copies[u])
        swapped = 0.0
        for number in np.argsort(weight[:, u]):
            taken = min(mass, float(members_of_type[number]))
            swapped += taken * weight[number, u]
            mass -= taken
        for number in range(n_types):
            if weight[number, u] > 0.0:
                least = np.inf
                for t in range(n_holdings):
                    if t != u:
                        least = min(least, weight[number, t])
                ratios = least / weight[number, u] * swapped if n_holdings > 1 else 0.0
                chance[number, u] = copies[u] / (copies[u] + ratios)
    return chance


@inner_kernel
def _highest_item(dealt: Dealt, holdings: IntArray, chance: FloatArray) -> FloatArray:
    """For each type the probability of the item that they have most probably: the sum over holdings with it."""
    n_types = len(chance)
    most = 0
    for holding in holdings:
        for place in range(dealt.own_start[holding], dealt.own_start[holding + 1]):
            most = max(most, dealt.own[place] + 1)
    highest = np.zeros(n_types)
    of_item = np.zeros((n_types, most))
    for column in range(len(holdings)):
        for place in range(dealt.own_start[holdings[column]], dealt.own_start[holdings[column] + 1]):
            for number in range(n_types):
                of_item[number, dealt.own[place]] += chance[number, column]
    for number in range(n_types):
        for item in range(most):
            highest[number] = max(highest[number], of_item[number, item])
        highest[number] = min(highest[number], 1.0)
    return highest
