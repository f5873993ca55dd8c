from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels.reachability import (
    NOBODY,
    Members,
    assign_holdings,
    count_allowed,
    count_possible,
    members_with_values,
    possible_holdings,
    valid_values,
    valid_values_of_groups,
)
from tests.naive.matching_diversity import (
    assignments,
    left_by_elimination,
    valid_by_costs,
    valid_by_matching,
    valid_by_trying,
)

N_TYPES, N_VALUES = 4, 5


class Dealt(NamedTuple):
    """A group: the type and the value of each person, and what the types may have."""

    types: list[int]
    values: list[int]
    allowed: np.ndarray

    @property
    def may_have(self) -> list[set[int]]:
        return [set(np.flatnonzero(self.allowed[kind]).tolist()) for kind in self.types]


@st.composite
def groups(draw: st.DrawFn, *, most: int = 6, is_true: bool = True) -> Dealt:
    """A few persons; where rules are true of them, everybody may have what they have."""
    n_persons = draw(st.integers(1, most))
    types = draw(st.lists(st.integers(0, N_TYPES - 1), min_size=n_persons, max_size=n_persons))
    values = draw(st.lists(st.integers(0, N_VALUES - 1), min_size=n_persons, max_size=n_persons))
    cells = draw(st.lists(st.booleans(), min_size=N_TYPES * N_VALUES, max_size=N_TYPES * N_VALUES))
    allowed = np.array(cells, dtype=np.bool_).reshape(N_TYPES, N_VALUES)
    if is_true:
        allowed[types, values] = True
    return Dealt(types, values, allowed)


def as_codes(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.int32)


@settings(deadline=None, max_examples=150)
@given(groups())
def test_valid_values_equal_trying_everything(group: Dealt) -> None:
    counts = valid_values(as_codes(group.types), as_codes(group.values), group.allowed)
    valid = valid_by_trying(group.may_have, group.values)
    assert counts.tolist() == [len(own) for own in valid]
    assert valid == valid_by_matching(group.may_have, group.values)


@settings(deadline=None, max_examples=30)
@given(groups(most=14))
def test_valid_values_of_larger_groups_equal_matching(group: Dealt) -> None:
    counts = valid_values(as_codes(group.types), as_codes(group.values), group.allowed)
    valid = valid_by_costs(group.may_have, group.values)
    assert counts.tolist() == [len(own) for own in valid]
    assert valid == valid_by_matching(group.may_have, group.values)


@settings(deadline=None, max_examples=100)
@given(st.lists(groups(), min_size=1, max_size=4))
def test_groups_are_counted_on_their_own(several: list[Dealt]) -> None:
    allowed = np.concatenate([group.allowed for group in several])
    types = np.concatenate([as_codes(g.types) + N_TYPES * place for place, g in enumerate(several)]).astype(np.int32)
    values = np.concatenate([as_codes(group.values) for group in several])
    start = np.cumsum([0] + [len(group.types) for group in several])
    together = valid_values_of_groups(start, types, values, allowed)
    alone = [valid_values(as_codes(g.types), as_codes(g.values), g.allowed) for g in several]
    assert together.tolist() == np.concatenate(alone).tolist()


@settings(deadline=None, max_examples=150)
@given(groups(is_true=False))
def test_an_assignment_is_found_where_there_is_one(group: Dealt) -> None:
    members = members_with_values(
        np.array([0, len(group.types)]), as_codes(group.types), as_codes(group.values), group.allowed
    )
    dealt = assign_holdings(members).tolist()
    some = next(assignments(group.may_have, group.values), None)
    if some is None:
        assert dealt == [NOBODY] * len(group.types)
        return
    assert sorted(dealt) == sorted(group.values)
    assert all(value in may for value, may in zip(dealt, group.may_have, strict=True))
    anew = members._replace(holding_of_member=as_codes(dealt))
    counts = count_possible(anew, np.arange(N_VALUES, dtype=np.int32), N_VALUES)
    assert counts.tolist() == [len(own) for own in valid_by_trying(group.may_have, group.values)]


def test_many_persons_of_few_types_are_moved_at_a_time() -> None:
    """Two types in the wrong places, 2,000 persons each: a way through a third type has room for all of them."""
    n = 2_000
    allowed = np.array([[False, True, False], [False, True, True], [True, False, True]])
    types = np.repeat([0, 1, 2], n).astype(np.int32)
    values = np.repeat([0, 1, 2], n).astype(np.int32)
    members = members_with_values(np.array([0, 3 * n]), types, values, allowed)
    dealt = assign_holdings(members)
    assert dealt.tolist() == [1] * n + [2] * n + [0] * n
    anew = members._replace(holding_of_member=dealt)
    assert set(count_possible(anew, np.arange(3, dtype=np.int32), 3).tolist()) == {1}


@settings(deadline=None, max_examples=100)
@given(groups(is_true=False))
def test_what_elimination_leaves(group: Dealt) -> None:
    members = members_with_values(
        np.array([0, len(group.types)]), as_codes(group.types), as_codes(group.values), group.allowed
    )
    counts = count_allowed(members, np.arange(N_VALUES, dtype=np.int32), N_VALUES)
    assert counts.tolist() == [len(left) for left in left_by_elimination(group.may_have, group.values)]


@st.composite
def groups_of_sets(draw: st.DrawFn) -> tuple[list[int], list[frozenset[int]], np.ndarray]:
    """Persons with one value or several each."""
    n_persons = draw(st.integers(1, 5))
    types = draw(st.lists(st.integers(0, N_TYPES - 1), min_size=n_persons, max_size=n_persons))
    own = draw(
        st.lists(
            st.frozensets(st.integers(0, N_VALUES - 1), min_size=1, max_size=3), min_size=n_persons, max_size=n_persons
        )
    )
    cells = draw(st.lists(st.booleans(), min_size=N_TYPES * N_VALUES, max_size=N_TYPES * N_VALUES))
    allowed = np.array(cells, dtype=np.bool_).reshape(N_TYPES, N_VALUES)
    for kind, values in zip(types, own, strict=True):
        allowed[kind, sorted(values)] = True
    return types, own, allowed


@settings(deadline=None, max_examples=100)
@given(groups_of_sets())
def test_persons_with_several_values_pass_them_on_together(
    drawn: tuple[list[int], list[frozenset[int]], np.ndarray],
) -> None:
    types, own, allowed = drawn
    distinct = sorted(set(own), key=sorted)
    members = Members(
        np.array([0, len(types)]),
        as_codes(types),
        as_codes([distinct.index(values) for values in own]),
        np.cumsum([0] + [len(values) for values in distinct]),
        as_codes([value for values in distinct for value in sorted(values)]),
        allowed,
    )
    family_of_member, start, holding = possible_holdings(members, False)
    listed = [{distinct[h] for h in holding[start[f] : start[f + 1]]} for f in family_of_member]
    may_have = [{values for values in distinct if allowed[kind, sorted(values)].all()} for kind in types]
    assert listed == valid_by_trying(may_have, own)
    assert (np.diff(start) > 0).all(), "everybody may have what they have"
    family_of_member, start, holding = possible_holdings(members, True)
    listed = [{distinct[h] for h in holding[start[f] : start[f + 1]]} for f in family_of_member]
    assert listed == left_by_elimination(may_have, own)


def test_one_female_and_three_males() -> None:
    """The paper's example in section V-A, l = 3: who counts what each may have finds 4, 3, 3 and 3 values."""
    female, male = 0, 1
    allowed = np.array([[True, True, True, True], [False, True, True, True]])
    types, values = as_codes([female, male, male, male]), as_codes([0, 1, 2, 3])
    members = members_with_values(np.array([0, 4]), types, values, allowed)
    assert count_allowed(members, np.arange(4, dtype=np.int32), 4).tolist() == [4, 3, 3, 3]
    assert valid_values(types, values, allowed).tolist() == [1, 3, 3, 3]


def test_a_long_circle_is_followed() -> None:
    """Everybody may have their own value or the next: all can move on together, or nobody."""
    n = 300
    allowed = np.zeros((n, n), np.bool_)
    allowed[np.arange(n), np.arange(n)] = True
    allowed[np.arange(n), (np.arange(n) + 1) % n] = True
    everyone = np.arange(n, dtype=np.int32)
    assert set(valid_values(everyone, everyone, allowed).tolist()) == {2}
    allowed[n - 1, 0] = False
    assert set(valid_values(everyone, everyone, allowed).tolist()) == {1}
