from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.attacking.mining.mine import mine_rules
from shoal.attacking.mining.rules import Item, Rule, Rules
from shoal.errors import ParameterError, SchemaError
from shoal.judging.observation import Observation
from shoal.models import MatchingDiversity, Model
from shoal.models.contract import worst_of
from shoal.models.counts import BACKGROUND, GroupCounts
from shoal.table.adversary import Known
from shoal.table.columns import category_column
from shoal.table.schema import Nominal, Schema
from tests.models.refusals import NOT_COUNTS, NOT_NUMBERS
from tests.naive.matching_diversity import values_left

N_VALUES, N_TYPES = 4, 3
NAMES = ("disease", "drug")


class Person(NamedTuple):
    """A type and a set of values, for each attribute; the values are those of the person's records."""

    types: tuple[int, ...]
    own: tuple[frozenset[int], ...]


class Drawn(NamedTuple):
    """Groups of persons, and for each attribute what the types may have."""

    groups: list[list[Person]]
    allowed: list[np.ndarray]

    def counts(self, *, is_linked: bool) -> GroupCounts:
        """The counts as an observation makes them; every combination of a person's values is a record."""
        group, person, values, types = [], [], [], []
        everyone = [(number, each) for number, members in enumerate(self.groups) for each in members]
        for name, (number, each) in enumerate(everyone):
            longest = max(map(len, each.own))
            for record in range(longest):
                group.append(number)
                person.append(name)
                values.append([sorted(own)[record % len(own)] for own in each.own])
                types.append(each.types)
        columns = {
            name: category_column(pl.Series(name, [f"v{own[a]}" for own in values], dtype=pl.String))
            for a, name in enumerate(NAMES[: len(self.allowed)])
        }
        known = {}
        for a, (name, column) in enumerate(columns.items()):
            shown = [int(text[1:]) for text in column.categories]
            known[name] = np.array([own[a] for own in types], dtype=np.int32), self.allowed[a][:, shown]
        seen = Observation(
            np.array(group, np.int32), len(self.groups), np.array(person, np.int32), len(everyone), columns,
            Known(known, is_linked),
        )  # fmt: skip
        return seen.counts(BACKGROUND)

    def left(self, members: Sequence[Person], *, together: bool) -> list[list[int]]:
        may = [[set(np.flatnonzero(self.allowed[a][kind])) for a, kind in enumerate(each.types)] for each in members]
        return values_left(may, [each.own for each in members], together=together)


@st.composite
def groups(
    draw: st.DrawFn, *, n_attributes: int = 1, most_values: int = 1, is_true: bool = True, n_groups: int = 3
) -> Drawn:
    sets = st.frozensets(st.integers(0, N_VALUES - 1), min_size=1, max_size=most_values)
    a_person = st.builds(
        Person,
        st.tuples(*[st.integers(0, N_TYPES - 1)] * n_attributes),
        st.tuples(*[sets] * n_attributes),
    )
    drawn = draw(st.lists(st.lists(a_person, min_size=1, max_size=5), min_size=1, max_size=n_groups))
    allowed = []
    for a in range(n_attributes):
        cells = draw(st.lists(st.booleans(), min_size=N_TYPES * N_VALUES, max_size=N_TYPES * N_VALUES))
        own = np.array(cells, np.bool_).reshape(N_TYPES, N_VALUES)
        if is_true:
            for each in (each for members in drawn for each in members):
                own[each.types[a], sorted(each.own[a])] = True
        allowed.append(own)
    return Drawn(drawn, allowed)


def test_it_keeps_the_contract() -> None:
    model = MatchingDiversity(l=3, column="disease")
    assert isinstance(model, Model)
    assert model.monotone
    assert model.needs == BACKGROUND
    assert model.asked == 3.0
    assert hash(model) == hash(MatchingDiversity(l=3, column="disease"))
    assert "rules" not in repr(model)
    assert MatchingDiversity(l=2, min_expectation="0.95").min_expectation == Fraction(19, 20)


@pytest.mark.parametrize("wrong", [*NOT_COUNTS, 10**9])
def test_an_l_that_cannot_be_is_refused(wrong: Any) -> None:
    with pytest.raises(ParameterError, match="l must be"):
        MatchingDiversity(l=wrong)


@pytest.mark.parametrize("wrong", [*(each for each in NOT_NUMBERS if each is not None), 0, 1, -0.5, 2])
def test_an_expectation_that_cannot_be_is_refused(wrong: Any) -> None:
    with pytest.raises(ParameterError, match="min_expectation must"):
        MatchingDiversity(l=2, min_expectation=wrong)


@pytest.mark.parametrize("wrong", [-1, 1.5, "2", True])
def test_a_length_that_cannot_be_is_refused(wrong: Any) -> None:
    with pytest.raises(ParameterError, match="max_len must be"):
        MatchingDiversity(l=2, max_len=wrong)


def test_what_are_no_rules_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"shoal\.mine"):
        MatchingDiversity(l=2, rules=[])


@pytest.mark.parametrize("is_linked", [True, False])
@settings(max_examples=80)
@given(drawn=groups(), l=st.integers(1, 4))
def test_it_counts_what_every_way_to_deal_values_out_leaves(drawn: Drawn, l: int, is_linked: bool) -> None:  # noqa: E741
    model = MatchingDiversity(l=l)
    counts = drawn.counts(is_linked=is_linked)
    fewest = [min(left for (left,) in drawn.left(members, together=False)) for members in drawn.groups]
    assert model.reached(counts).tolist() == fewest
    assert model.holds(counts).tolist() == [each >= l for each in fewest]
    everyone = [left < l for members in drawn.groups for (left,) in drawn.left(members, together=False)]
    assert model.members_below(counts).tolist() == everyone


@pytest.mark.parametrize("is_linked", [True, False])
@settings(max_examples=50)
@given(drawn=groups(n_attributes=2, most_values=3), l=st.integers(1, 4))
def test_several_attributes_and_several_values(drawn: Drawn, l: int, is_linked: bool) -> None:  # noqa: E741
    """Side by side a person's values are dealt out together; published apart, each attribute on its own."""
    counts = drawn.counts(is_linked=is_linked)
    left = [drawn.left(members, together=is_linked) for members in drawn.groups]
    for a, column in [(0, "disease"), (1, "drug"), (None, None)]:
        model = MatchingDiversity(l=l, column=column)
        places = [0, 1] if a is None else [a]
        fewest = [min(own[place] for own in members for place in places) for members in left]
        assert model.holds(counts).tolist() == [each >= l for each in fewest]
        assert model.reached(counts).tolist() == fewest


@settings(max_examples=50)
@given(drawn=groups(n_attributes=2, most_values=2))
def test_values_side_by_side_are_never_safer_than_apart(drawn: Drawn) -> None:
    together, apart = (drawn.counts(is_linked=is_linked) for is_linked in (True, False))
    model = MatchingDiversity(l=1)
    assert (model.reached(together) <= model.reached(apart)).all()


@settings(max_examples=80)
@given(drawn=groups(n_attributes=2, most_values=2, n_groups=2), is_linked=st.booleans(), l=st.integers(1, 3))
def test_merging_groups_keeps_it(drawn: Drawn, is_linked: bool, l: int) -> None:  # noqa: E741
    """With the same rules, which hold in the data: two assignments side by side are one of both groups."""
    model = MatchingDiversity(l=l)
    apart = drawn.counts(is_linked=is_linked)
    merged = Drawn([[each for members in drawn.groups for each in members]], drawn.allowed).counts(is_linked=is_linked)
    assert model.reached(merged)[0] >= model.reached(apart).min()
    if model.holds(apart).all():
        assert model.holds(merged).all()
    for column in NAMES:  # of each person, not of the least safe only
        assert apart.background is not None
        assert merged.background is not None
        assert (merged.background.values_left(column) >= apart.background.values_left(column)).all()


def test_somebody_against_whom_a_rule_is_wrong_can_take_values_from_others() -> None:
    """Why rules must hold in the data: else a group that grows may leave fewer values to those who are in it."""
    allowed = [np.array([[True, True, False, False], [True, False, False, False]])]
    two = [Person((0,), (frozenset({0}),)), Person((0,), (frozenset({1}),))]
    joins = Person((1,), (frozenset({1}),))  # has what a rule excludes
    before = Drawn([two], allowed).counts(is_linked=False)
    after = Drawn([[*two, joins]], allowed).counts(is_linked=False)
    model = MatchingDiversity(l=2)
    assert model.reached(before).tolist() == [2]
    assert model.reached(after).tolist() == [1]


def test_somebody_who_joins_need_not_find_l_values() -> None:
    """The paper's remark that a group stays diverse when tuples are added is about those who are in it already."""
    allowed = [np.array([[True, True, False, False], [False, False, True, False]])]
    two = [Person((0,), (frozenset({0}),)), Person((0,), (frozenset({1}),))]
    joins = Person((1,), (frozenset({2}),))
    model = MatchingDiversity(l=2)
    counts = Drawn([[*two, joins]], allowed).counts(is_linked=False)
    assert counts.background is not None
    assert counts.background.values_left("disease").tolist() == [2, 2, 1]
    assert not model.holds(counts).any()


def test_rules_that_are_mined_anew_need_not_be_the_same() -> None:
    """Two tables without a rule; together they are large enough for one. So rules are mined once, before grouping."""
    half = pl.DataFrame({"sex": ["m"] * 3 + ["f"] * 2, "cancer": ["lung"] * 3 + ["ovary", "lung"]})
    schema = Schema(quasi=[Nominal("sex")], sensitive=["cancer"])
    assert len(mine_rules(half, schema, min_expectation=0.7)) == 0
    assert len(mine_rules(pl.concat([half, half]), schema, min_expectation=0.7)) == 1


@settings(max_examples=80)
@given(drawn=groups(is_true=False))
def test_where_rules_fit_no_way_to_deal_values_out_nothing_is_promised(drawn: Drawn) -> None:
    counts = drawn.counts(is_linked=False)
    left = [drawn.left(members, together=False) for members in drawn.groups]
    assert MatchingDiversity(l=1).reached(counts).tolist() == [min(own for (own,) in members) for members in left]
    assert MatchingDiversity(l=1).holds(counts).tolist() == [all(own for (own,) in members) for members in left]


def test_a_value_that_everybody_has_is_known_whatever_else_they_have() -> None:
    """Three possible values each, and yet flu is sure: counting values alone would call this 3-diverse."""
    allowed = [np.ones((1, N_VALUES), np.bool_)]
    everyone = [Person((0,), (frozenset({0, other}),)) for other in (1, 2, 3)]
    counts = Drawn([everyone], allowed).counts(is_linked=True)
    assert MatchingDiversity(l=1).reached(counts).tolist() == [1]


def test_the_rule_on_one_attribute_tells_of_another_where_values_stand_side_by_side() -> None:
    """A man is not the one who gets the drug for pregnant women, so he does not have what she has."""
    allowed = [np.ones((2, 2), np.bool_), np.array([[True, True], [True, False]])]
    woman, man = Person((0, 0), (frozenset({0}), frozenset({1}))), Person((1, 1), (frozenset({1}), frozenset({0})))
    drawn = Drawn([[woman, man]], [np.pad(own, ((0, 0), (0, 2)), constant_values=True) for own in allowed])
    model = MatchingDiversity(l=2, column="disease")
    assert model.reached(drawn.counts(is_linked=True)).tolist() == [1]
    assert model.reached(drawn.counts(is_linked=False)).tolist() == [2]


def test_no_groups_give_no_verdicts() -> None:
    nothing = Drawn([[Person((0,), (frozenset({0}),))]], [np.ones((1, N_VALUES), np.bool_)]).counts(is_linked=False)
    assert nothing.background is not None
    model = MatchingDiversity(l=2)
    empty = GroupCounts(
        persons=np.zeros(0, np.int64), records=np.zeros(0, np.int64), squared_records=np.zeros(0, np.int64),
        most_records=np.zeros(0, np.int64),
        background=type(nothing.background)(
            start_of_group=np.zeros(1, np.int64), who=np.zeros(0, np.int64), background=nothing.background.background
        ),
    )  # fmt: skip
    assert model.holds(empty).tolist() == []
    assert model.reached(empty).tolist() == []
    assert np.isnan(worst_of(model, model.reached(empty)))


def test_an_attribute_that_is_none_and_a_table_without_rules_are_refused() -> None:
    counts = Drawn([[Person((0,), (frozenset({0}),))]], [np.ones((1, N_VALUES), np.bool_)]).counts(is_linked=False)
    with pytest.raises(SchemaError, match="Did you mean 'disease'"):
        MatchingDiversity(l=2, column="diseases").holds(counts)
    bare = GroupCounts(
        persons=counts.persons, records=counts.records, squared_records=counts.squared_records,
        most_records=counts.most_records,
    )  # fmt: skip
    with pytest.raises(ParameterError, match="rules are not known"):
        MatchingDiversity(l=2).holds(bare)


def test_rules_bind_to_a_model_and_do_not_show_in_it() -> None:
    rules = Rules((Rule((Item("sex", "male"),), Item("disease", "ovarian cancer")),))
    model = MatchingDiversity(l=2, rules=rules)
    assert model.rules == rules
    assert "ovarian" not in repr(model)
