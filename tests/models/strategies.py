"""Random tables for Hypothesis, and the checks that every model takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from hypothesis import strategies as st

from shoal.models import Model
from tests.models.builders import group_counts

N_VALUES = 5


@st.composite
def tables(draw: st.DrawFn, *, max_persons: int = 8, max_groups: int = 3) -> list[tuple[int, int, int]]:
    """Records (group, person, value): each person in one group, each group with somebody in it."""
    values_of_person = draw(
        st.lists(
            st.lists(st.integers(0, N_VALUES - 1), min_size=1, max_size=4),
            min_size=max_groups,
            max_size=max_persons,
        )
    )
    n_others = len(values_of_person) - max_groups
    others = draw(st.lists(st.integers(0, max_groups - 1), min_size=n_others, max_size=n_others))
    group_of_person = [*range(max_groups), *others]
    return [
        (group, person, value)
        for person, (group, values) in enumerate(zip(group_of_person, values_of_person, strict=True))
        for value in values
    ]


fractions_to_one = st.one_of(
    st.sampled_from([0.5, 0.8, 0.1, 0.25, 0.75, "1/3", "2/3", 0.6]).map(lambda written: Fraction(str(written))),
    st.fractions(min_value=Fraction(1, 50), max_value=Fraction(49, 50), max_denominator=50),
)
above_one = st.one_of(st.integers(1, 6).map(Fraction), st.fractions(min_value=1, max_value=6, max_denominator=12))
above_zero = st.fractions(min_value=Fraction(1, 12), max_value=4, max_denominator=12)
wholes = st.integers(1, 6)
counts = st.sampled_from(["records", "persons"])

Twin = Callable[[list[tuple[object, int]], list[tuple[object, int]]], tuple[float, bool]]


def assert_equals_twin(model: Model, twin: Twin, table: Sequence[tuple[int, int, int]]) -> None:
    """Every group of the table reaches and holds what the plain definition says."""
    groups = group_counts(table)
    whole_table = [(person, value) for _, person, value in table]
    holds, reached = model.holds(groups), model.reached(groups)
    assert len(holds) == len(reached) == len(groups)
    for group in range(len(groups)):
        value, verdict = twin([(person, v) for g, person, v in table if g == group], whole_table)
        assert math.isclose(reached[group], value, rel_tol=1e-12, abs_tol=1e-12)
        assert bool(holds[group]) == verdict


def assert_merging_keeps(model: Model, table: Sequence[tuple[int, int, int]]) -> None:
    """Where two groups hold, so does the group of both, of the same table."""
    holds = model.holds(group_counts(table))
    if holds[0] and holds[1]:
        merged = [(max(group - 1, 0), person, value) for group, person, value in table]
        assert model.holds(group_counts(merged))[0]
