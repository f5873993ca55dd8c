"""Sweeping and parting the orders of a tree: each kernel equals its definition on persons made by hand or by chance."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels import trees
from shoal.kernels.trees import Limits, Orders, Persons, Segments
from tests.naive import counting as naive

ANYTHING = Limits(1, 1, 1, 1, 1, 1)


@dataclass
class Level:
    """Persons with an x and a city for each record, and the nodes of a level of a tree over them."""

    points: list[list[tuple[int, int]]]  # of each person: (x, city) of each record
    values: list[list[int]]  # of each person: the sensitive value of each record
    node_of_person: list[int]
    n_cities: int

    @property
    def n_nodes(self) -> int:
        return max(self.node_of_person) + 1

    def mean(self, person: int) -> float:
        return sum(x for x, _ in self.points[person]) / len(self.points[person])

    def share(self, person: int, city: int) -> float:
        return sum(c == city for _, c in self.points[person]) / len(self.points[person])

    def laid_out(self) -> tuple[Orders, Segments]:
        """Orders by x, by city and by number of records, each node a stretch of each."""
        orders, starts, ends = [], [], []
        for order in range(3):
            starts.append([])
            ends.append([])
            for node in range(self.n_nodes):
                starts[-1].append(len(orders))
                inside = [person for person, own in enumerate(self.node_of_person) if own == node]
                if order == 0:
                    orders += sorted([(person, self.mean(person), 0) for person in inside], key=lambda entry: entry[1])
                elif order == 1:
                    having = [(p, self.share(p, city), city) for city in range(self.n_cities) for p in inside]
                    orders += sorted([e for e in having if e[1] > 0], key=lambda entry: (entry[2], -entry[1]))
                else:
                    orders += [(p, 0.0, 0) for p in sorted(inside, key=lambda p: -len(self.points[p]))]
                ends[-1].append(len(orders))
        person, key, run = zip(*orders, strict=True)
        return (
            Orders(np.array(person, np.uint32), np.array(key), np.array(run, np.int32)),
            Segments(np.array(starts), np.array(ends)),
        )

    def persons(self) -> Persons:
        start, category, count, rows = [0], [], [], []
        for own in self.points:
            cities = sorted(Counter(city for _, city in own).items())
            category += [city for city, _ in cities]
            count += [number for _, number in cities]
            start.append(len(category))
            rows.append([len(own), sum(x for x, _ in own), cities[0][0] if len(cities) == 1 else trees.SEVERAL])
        within = [[sum((x - self.mean(p)) ** 2 for x, _ in own)] for p, own in enumerate(self.points)]
        return Persons(
            np.array(rows, np.float64), 1, np.array(within),
            np.array([start]), np.array([category], np.int32), np.array([count], np.int64),
        )  # fmt: skip

    def pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        start, value, records = [0], [], []
        for own in self.values:
            for one, number in sorted(Counter(own).items()):
                value.append(one)
                records.append(number)
            start.append(len(value))
        return np.array(start), np.array(value), np.array(records)

    def sides(self, orders: Orders, node: int, run_start: int, position: int) -> tuple[list[int], list[int]]:
        left = orders.person[run_start : position + 1].tolist()
        return left, [p for p, own in enumerate(self.node_of_person) if own == node and p not in set(left)]

    def spread(self, side: list[int]) -> tuple[int, int, int, int, float]:
        return naive.spread([len(self.points[person]) for person in side])

    def squares(self, side: list[int]) -> float:
        """What lies inside a side: the squares around the mean of x, and half of R - sum n_c^2 / R for the city."""
        xs = [x for person in side for x, _ in self.points[person]]
        cities = Counter(city for person in side for _, city in self.points[person])
        middle = sum(xs) / len(xs)
        nominal = len(xs) - sum(number**2 for number in cities.values()) / len(xs)
        return math.fsum((x - middle) ** 2 for x in xs) + 0.5 * nominal


def made_up(chance: random.Random, *, n_persons: int, n_nodes: int, n_cities: int = 3) -> Level:
    points, values = [], []
    for _ in range(n_persons):
        n_records = chance.randint(1, 4)
        home, x = chance.randrange(n_cities), chance.randrange(6)
        moves = chance.random() < 0.4
        points.append([(x, chance.randrange(n_cities)) if moves else (x, home) for _ in range(n_records)])
        if moves:
            points[-1] = [(chance.randrange(6), city) for _, city in points[-1]]
        values.append([chance.randrange(5) for _ in range(n_records)])
    node_of_person = [*range(n_nodes), *(chance.randrange(n_nodes) for _ in range(n_persons - n_nodes))]
    return Level(points, values, node_of_person, n_cities)


levels = st.builds(
    lambda seed, n_persons, n_nodes: made_up(random.Random(seed), n_persons=n_persons, n_nodes=n_nodes),
    st.integers(0, 2**32), st.integers(3, 12), st.integers(1, 3),
)  # fmt: skip


def all_cuts(level: Level, orders: Orders, segments: Segments) -> list[tuple[int, int, int]]:
    """(node, run start, position) of every cut between two different keys that leaves somebody on the right."""
    found = []
    for node in range(level.n_nodes):
        size = level.node_of_person.count(node)
        for order in range(2):
            first, last = segments.start[order, node], segments.end[order, node]
            run_start = first
            for at in range(first, last):
                ends = at + 1 == last or orders.run[at + 1] != orders.run[at]
                if (ends or orders.key[at + 1] != orders.key[at]) and at - run_start + 1 < size:
                    found.append((node, int(run_start), at))
                if ends:
                    run_start = at + 1
    return found


def swept(level: Level, *, limits: Limits = ANYTHING, only_best: bool = False) -> tuple[Orders, Segments, trees.Cuts]:
    orders, segments = level.laid_out()
    nodes = np.arange(level.n_nodes)
    cuts = trees.sweep_all_cuts(
        orders, segments, nodes, level.persons(), level.n_cities, 1.0, limits, only_best, True, True
    )
    return orders, segments, cuts


def assert_sides_are_right(level: Level, orders: Orders, cuts: trees.Cuts) -> None:
    for i in range(len(cuts.node)):
        sides = level.sides(orders, cuts.node[i], cuts.run_start[i], cuts.position[i])
        for name, side in zip(("left", "right"), sides, strict=True):
            fast = [getattr(cuts, f"{name}_{what}")[i] for what in ("persons", "records", "squared", "most", "logs")]
            assert fast[:4] == list(level.spread(side)[:4])
            assert fast[4] == pytest.approx(level.spread(side)[4], abs=1e-9)


def assert_merits_are_right(level: Level, orders: Orders, cuts: trees.Cuts) -> None:
    for i in range(len(cuts.node)):
        left, right = level.sides(orders, cuts.node[i], cuts.run_start[i], cuts.position[i])
        taken = level.squares(left + right) - level.squares(left) - level.squares(right)
        assert cuts.merit[i] == pytest.approx(taken, abs=1e-7)


@given(levels)
def test_the_sweep_finds_every_cut_with_the_counts_of_its_sides(level: Level) -> None:
    orders, segments, cuts = swept(level)
    found = list(zip(cuts.node.tolist(), cuts.run_start.tolist(), cuts.position.tolist(), strict=True))
    assert found == all_cuts(level, orders, segments)
    assert_sides_are_right(level, orders, cuts)
    assert_merits_are_right(level, orders, cuts)


def test_the_sweep_of_many_persons() -> None:
    """More persons in a node than are fetched at a time."""
    level = made_up(random.Random(1), n_persons=700, n_nodes=2)
    orders, segments, cuts = swept(level)
    found = list(zip(cuts.node.tolist(), cuts.run_start.tolist(), cuts.position.tolist(), strict=True))
    assert found == all_cuts(level, orders, segments)
    assert_sides_are_right(level, orders, cuts)
    assert_merits_are_right(level, orders, cuts)


limits_of_sides = st.builds(
    Limits, st.integers(1, 3), st.integers(1, 5), st.integers(1, 3), st.just(3), st.integers(1, 4), st.just(4)
)


@given(levels, limits_of_sides)
def test_the_best_cut_within_limits(level: Level, limits: Limits) -> None:
    orders, _, best = swept(level, limits=limits, only_best=True)
    _, _, every = swept(level)

    def is_within(i: int) -> bool:
        for side in level.sides(orders, every.node[i], every.run_start[i], every.position[i]):
            persons, records, squared, most, _ = level.spread(side)
            if persons < limits.least_persons or records < limits.least_records:
                return False
            if most * limits.share_of > limits.share * records:
                return False
            if squared * limits.squares_of > limits.squares * records**2:
                return False
        return True

    within = [i for i in range(len(every.node)) if is_within(i)]
    expected = []
    for node in range(level.n_nodes):
        here = [i for i in within if every.node[i] == node]
        if here:
            first = max(here, key=lambda i: every.merit[i])
            expected.append((node, every.run_start[first], every.position[first], every.merit[first]))
    assert list(zip(best.node, best.run_start, best.position, best.merit, strict=True)) == expected
    _, _, allowed = swept(level, limits=limits)
    assert allowed.position.tolist() == [every.position[i] for i in within]
    assert allowed.run_start.tolist() == [every.run_start[i] for i in within]


def some_cuts(level: Level, orders: Orders, segments: Segments, keep: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Not every cut: those that a test struck are not swept."""
    cuts = all_cuts(level, orders, segments)
    kept = [cut for place, cut in enumerate(cuts) if keep == 1 or place % keep] or cuts
    node, run_start, position = (np.array(part, np.int32) for part in zip(*kept, strict=True)) if kept else ([], [], [])
    return node, run_start, position


@given(levels, st.sampled_from([1, 2, 3]))
def test_values_and_spread_of_given_cuts(level: Level, keep: int) -> None:
    orders, segments = level.laid_out()
    node, run_start, position = some_cuts(level, orders, segments, keep)
    if not len(node):
        return
    values = trees.sweep_values(orders, segments, node, run_start, position, *level.pairs(), 5)
    spread = trees.spread_of_cuts(orders, segments, node, run_start, position, level.persons())
    for i in range(len(node)):
        for side, persons in enumerate(level.sides(orders, node[i], run_start[i], position[i])):
            having = [(person, value) for person in persons for value in level.values[person]]
            assert tuple(values[side][i]) == naive.summary_of_values(having)
            fast = [part[i] for part in spread[side]]
            assert fast[:4] == list(level.spread(persons)[:4])
            assert fast[4] == pytest.approx(level.spread(persons)[4], abs=1e-9)


@given(levels)
def test_values_of_both_sides_of_chosen_cuts(level: Level) -> None:
    orders, segments = level.laid_out()
    chosen = {node: (run_start, position) for node, run_start, position in all_cuts(level, orders, segments)}
    nodes = np.array(sorted(chosen), np.int64)
    is_left = np.zeros(len(level.points), np.bool_)
    where = np.array([chosen[node] for node in nodes.tolist()], np.int32).reshape(-1, 2)
    trees.mark_left(orders.person, where[:, 0], where[:, 1], is_left)
    laid_out, start = trees.lay_out_sides(orders, segments, nodes, is_left)
    sides = [side for node in nodes.tolist() for side in level.sides(orders, node, *chosen[node])]
    assert [sorted(laid_out[a:b].tolist()) for a, b in itertools.pairwise(start)] == [sorted(s) for s in sides]

    summaries = trees.summaries_of_sides(laid_out, start, *level.pairs(), 5)
    lists, pairs = trees.values_of_sides(laid_out, start, *level.pairs(), 5)
    for i, side in enumerate(sides):
        having = [(person, value) for person in side for value in level.values[person]]
        assert tuple(part[i] for part in summaries) == naive.summary_of_values(having)
        entries = slice(lists[0][i], lists[0][i + 1])
        in_side = [(0, person, value) for person, value in having]
        assert list(zip(*(part[entries] for part in lists[1:]), strict=True)) == naive.values_of_group(in_side, 0)
        listed = slice(pairs[0][i], pairs[0][i + 1])
        assert sorted(zip(pairs[1][listed], pairs[2][listed], strict=True)) == sorted(set(having))


@given(levels)
def test_parting_keeps_every_order_sorted(level: Level) -> None:
    orders, segments = level.laid_out()
    before = Orders(*(part.copy() for part in orders))
    chosen = {node: (run_start, position) for node, run_start, position in all_cuts(level, orders, segments)}
    nodes = np.array(sorted(chosen), np.int64)
    is_left = np.zeros(len(level.points), np.bool_)
    for node in nodes.tolist():
        is_left[level.sides(orders, node, *chosen[node])[0]] = True
    sides = trees.part_orders(orders, segments, nodes, is_left)
    for order in range(3):
        for i, node in enumerate(nodes.tolist()):
            stretch = slice(segments.start[order, node], segments.end[order, node])
            entries = list(zip(*(part[stretch].tolist() for part in before), strict=True))
            for side, wanted in enumerate((True, False)):
                part = slice(sides.start[order, 2 * i + side], sides.end[order, 2 * i + side])
                found = list(zip(*(array[part].tolist() for array in orders), strict=True))
                assert found == [entry for entry in entries if is_left[entry[0]] == wanted]


@settings(max_examples=50)
@given(levels, st.randoms(use_true_random=False))
def test_lists_of_persons_in_another_order(level: Level, chance: random.Random) -> None:
    order = list(range(len(level.points)))
    chance.shuffle(order)
    start, value, records = level.pairs()
    new_start, new_value, new_records = trees.gather_lists(start, value, records, np.array(order, np.uint32))
    for new, old in enumerate(order):
        theirs, mine = slice(start[old], start[old + 1]), slice(new_start[new], new_start[new + 1])
        assert new_value[mine].tolist() == value[theirs].tolist()
        assert new_records[mine].tolist() == records[theirs].tolist()


def test_the_first_of_equal_merits_stays() -> None:
    best, merit_of_node = np.full(2, -1), np.full(2, -np.inf)
    node, merit = np.array([0, 0, 1, 0, 1]), np.array([1.0, 3.0, -np.inf, 3.0, 7.0])
    trees.keep_best(best, merit_of_node, node, merit, np.array([True, True, True, True, False]))
    assert best.tolist() == [1, 2]
