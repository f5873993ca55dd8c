"""Counting kinds of persons: each kernel equals its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels import mining

N_NODES = 7
degrees = st.sampled_from([0.25, 0.5, 1.0])
kinds = st.lists(st.dictionaries(st.integers(0, N_NODES - 1), degrees, max_size=N_NODES), min_size=1, max_size=8)
"""For each kind its nodes with their degrees."""


def as_arrays(some: list[dict[int, float]], *, is_fuzzy: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    nodes = [node for kind in some for node in sorted(kind)]
    held = [kind[node] for kind in some for node in sorted(kind)] if is_fuzzy else []
    start = np.concatenate([[0], np.cumsum([len(kind) for kind in some])])
    return start.astype(np.int64), np.array(nodes, np.int32), np.array(held, np.float64)


def as_crisp(some: list[dict[int, float]]) -> list[dict[int, float]]:
    return [dict.fromkeys(kind, 1.0) for kind in some]


@given(st.lists(st.tuples(st.integers(0, 2), st.sets(st.integers(0, 129))), min_size=1, max_size=8))
def test_merge_bits(persons: list[tuple[int, set[int]]]) -> None:
    start = np.concatenate([[0], np.cumsum([len(values) for _, values in persons])]).astype(np.int64)
    values = np.array([value for _, held in persons for value in sorted(held)], np.int64)
    bits = mining.merge_bits(np.array([kind for kind, _ in persons], np.int32), start, values, 3, 3)
    for kind in range(3):
        held = set().union(*(values for other, values in persons if other == kind))
        assert {value for value in range(192) if int(bits[kind, value // 64]) >> value % 64 & 1} == held


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 3)), max_size=12),
    st.sets(st.integers(0, 4)),
)
def test_codes_of_persons(records: list[tuple[int, int, int]], persons: set[int]) -> None:
    codes = np.array([[one for _, one, _ in records], [other for _, _, other in records]], np.int32).reshape(2, -1)
    start, found = mining.codes_of_persons(
        np.array(sorted(persons), np.int64), np.array([person for person, _, _ in records], np.int32), codes,
        np.array([0, 3, 7]), 5,
    )  # fmt: skip
    for place, person in enumerate(sorted(persons)):
        ones = {one for other, one, _ in records if other == person}
        others = {3 + code for other, _, code in records if other == person}
        mine = found[start[place] : start[place + 1]].tolist()
        assert set(mine[: len(ones)]) == ones
        assert set(mine[len(ones) :]) == others
        assert len(mine) == len(ones) + len(others)


@given(kinds, st.lists(st.lists(st.integers(0, 7), min_size=1, max_size=4), min_size=1, max_size=5), st.booleans())
def test_items_of_kinds(codes: list[dict[int, float]], of_kinds: list[list[int]], is_fuzzy: bool) -> None:
    codes = codes if is_fuzzy else as_crisp(codes)
    of_kinds = [[code % len(codes) for code in held] for held in of_kinds]
    start_of_kind = np.concatenate([[0], np.cumsum(list(map(len, of_kinds)))]).astype(np.int64)
    flat = np.array([code for held in of_kinds for code in held], np.int64)
    start, nodes, held = mining.items_of_kinds(start_of_kind, flat, *as_arrays(codes, is_fuzzy=is_fuzzy), N_NODES)
    for kind, its_codes in enumerate(of_kinds):
        best: dict[int, float] = {}
        for code in its_codes:
            for node, degree in codes[code].items():
                best[node] = max(best.get(node, 0.0), degree)
        found = nodes[start[kind] : start[kind + 1]].tolist()
        assert found == sorted(best)
        if is_fuzzy:
            assert held[start[kind] : start[kind + 1]].tolist() == [best[node] for node in found]
    assert len(held) == (len(nodes) if is_fuzzy else 0)


@given(kinds, st.booleans(), st.sets(st.integers(0, N_NODES - 1)))
def test_support_and_keeping_of_nodes(some: list[dict[int, float]], is_fuzzy: bool, kept: set[int]) -> None:
    some = some if is_fuzzy else as_crisp(some)
    start, nodes, held = as_arrays(some, is_fuzzy=is_fuzzy)
    persons = np.arange(1, len(some) + 1)
    support = mining.support_of_nodes(start, nodes, held, persons, N_NODES)
    for node in range(N_NODES):
        assert support[node] == sum(n * kind.get(node, 0.0) for n, kind in zip(persons, some, strict=True))
    new_number = np.array([sorted(kept).index(node) if node in kept else -1 for node in range(N_NODES)])
    smaller = mining.keep_nodes(start, nodes, held, new_number)
    renamed = [{int(new_number[node]): degree for node, degree in kind.items() if node in kept} for kind in some]
    for found, expected in zip(smaller, as_arrays(renamed, is_fuzzy=is_fuzzy), strict=True):
        assert found.tolist() == expected.tolist()


@given(kinds, st.booleans())
def test_kinds_of_nodes(some: list[dict[int, float]], is_fuzzy: bool) -> None:
    some = some if is_fuzzy else as_crisp(some)
    start, members, held = mining.kinds_of_nodes(*as_arrays(some, is_fuzzy=is_fuzzy), N_NODES)
    for node in range(N_NODES):
        having = [number for number, kind in enumerate(some) if node in kind]
        assert members[start[node] : start[node + 1]].tolist() == having
        if is_fuzzy:
            assert held[start[node] : start[node + 1]].tolist() == [some[number][node] for number in having]


@given(kinds, st.booleans(), st.booleans(), st.integers(0, N_NODES - 1), st.integers(0, N_NODES - 1), st.data())
def test_narrow_and_count(
    some: list[dict[int, float]], is_fuzzy: bool, use_minimum: bool, node: int, first: int, data: st.DataObject
) -> None:
    some = some if is_fuzzy else as_crisp(some)
    persons = np.array(data.draw(st.lists(st.integers(1, 5), min_size=len(some), max_size=len(some))), np.int64)
    values = data.draw(st.lists(st.sets(st.integers(0, 99)), min_size=len(some), max_size=len(some)))
    bits = np.zeros((len(some), 2), np.uint64)
    for kind, held in enumerate(values):
        for value in held:
            bits[kind, value // 64] |= np.uint64(1 << value % 64)
    everything = mining.Kinds(*as_arrays(some, is_fuzzy=is_fuzzy), persons, bits)
    weights = np.full(len(some), 0.5 if is_fuzzy else 1.0)
    joint = min if use_minimum else lambda one, other: one * other
    those, weighed = mining.narrow(everything, np.arange(len(some), dtype=np.int32), weights, node, use_minimum)
    having = [kind for kind, nodes in enumerate(some) if node in nodes]
    expected = [joint(weights[kind], some[kind][node]) for kind in having]
    assert those.tolist() == having
    assert weighed.tolist() == expected

    count, crisp = np.zeros(N_NODES), np.zeros(N_NODES, np.int64)
    met, touched = np.zeros((N_NODES, 2), np.uint64), np.empty(N_NODES, np.int64)
    n = mining.count_with(everything, those, weighed, first, use_minimum, count, crisp, met, touched)
    assert sorted(touched[:n].tolist()) == sorted({other for kind in having for other in some[kind] if other >= first})
    for other in touched[:n]:
        degree_of_kind = {
            kind: joint(weight, some[kind][other])
            for kind, weight in zip(having, expected, strict=True)
            if other in some[kind]
        }
        assert count[other] == pytest.approx(sum(persons[kind] * degree for kind, degree in degree_of_kind.items()))
        assert crisp[other] == sum(persons[kind] for kind, degree in degree_of_kind.items() if degree == 1)
        held = set().union(*(values[kind] for kind in degree_of_kind))
        assert {value for value in range(128) if int(met[other, value // 64]) >> value % 64 & 1} == held
