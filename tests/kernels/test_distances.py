"""Distances between records and what stands for their group."""

from __future__ import annotations

from collections import Counter
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels import distances

records = st.lists(
    st.tuples(st.integers(0, 2), st.integers(-50, 50), st.floats(0, 1, allow_subnormal=False)), min_size=1, max_size=30
)
"""(group, unit, weight)"""


def arrays(rows: list[tuple[int, int, float]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    group, unit, weight = zip(*rows, strict=True)
    return np.array(group, np.int32), np.array(unit, np.int64), np.array(weight)


@given(records, st.sampled_from([1.0, 100.0]))
def test_errors_of_persons(rows: list[tuple[int, int, float]], span: float) -> None:
    group, unit, weight = arrays(rows)
    mean = {g: fmean(u for other, u, _ in rows if other == g) for g in set(group.tolist())}
    error, squares, squares_of_all = distances.errors_of_persons(unit, group, 3, weight, span)
    assert error == pytest.approx(sum(w * abs(u - mean[g]) / span for g, u, w in rows), abs=1e-9)
    assert squares == pytest.approx(sum(((u - mean[g]) / span) ** 2 for g, u, _ in rows), abs=1e-9)
    middle = fmean(u for _, u, _ in rows)
    assert squares_of_all == pytest.approx(sum(((u - middle) / span) ** 2 for _, u, _ in rows), abs=1e-9)


@given(records)
def test_differences_of_persons(rows: list[tuple[int, int, float]]) -> None:
    rows = [(group, unit % 5, weight) for group, unit, weight in rows]
    group, code, weight = arrays(rows)
    start, codes_of_group, differs = [0], [], []
    for place in range(3):
        inside = Counter(c for g, c, _ in rows if g == place)
        codes_of_group += sorted(inside)
        differs += [1 - inside[c] / inside.total() for c in sorted(inside)]
        start.append(len(codes_of_group))
    fast = distances.differences_of_persons(
        code, group, np.array(start), np.array(codes_of_group), np.array(differs), weight
    )
    plain = sum(w * fmean(c != other for g2, other, _ in rows if g2 == g) for g, c, w in rows)
    assert fast == pytest.approx(plain, abs=1e-9)
