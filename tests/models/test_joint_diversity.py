# l is the paper's name
# ruff: noqa: E741

from __future__ import annotations

import copy
import math
import os
import pickle
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import ParameterError, SchemaError
from shoal.models import JointDiversity, LDiversity, Model
from shoal.models import joint_diversity as module
from shoal.models.counts import JOINT, GroupCounts
from shoal.models.joint import JointCounts
from tests.models.builders import group_counts, whole
from tests.models.refusals import NOT_COUNTS
from tests.naive import covering as naive

COLUMNS = ("disease", "treatment", "stay")
N_VALUES = 4

records_of_person = st.lists(st.tuples(*[st.integers(0, N_VALUES - 1)] * len(COLUMNS)), min_size=1, max_size=2)
groups_of_persons = st.lists(st.lists(records_of_person, min_size=1, max_size=6), min_size=1, max_size=3)
some_caps = st.dictionaries(st.sampled_from(COLUMNS), st.integers(0, 3)).filter(
    lambda caps: any(caps.get(column) != 0 for column in COLUMNS)
)


def joint_groups(
    groups: Sequence[Sequence[Sequence[Sequence[int]]]], columns: Sequence[str] = COLUMNS, dtype: type = np.uint32
) -> GroupCounts:
    """The counts of groups of persons, each a list of records, each with one value per attribute."""
    persons = [person for group in groups for person in group]
    n_values = 1 + max((value for person in persons for record in person for value in record), default=0)
    lists = [
        sorted({a * n_values + value for record in person for a, value in enumerate(record)}) for person in persons
    ]
    records = [
        (g, (g, number), *record)
        for g, group in enumerate(groups)
        for number, own in enumerate(group)
        for record in own
    ]
    marginal = group_counts(records, columns=columns)
    joint = JointCounts(
        start_of_group=whole(np.cumsum([0] + [len(group) for group in groups]).tolist()),
        who=np.arange(len(persons), dtype=dtype),
        item_start=whole(np.cumsum([0] + [len(own) for own in lists]).tolist()),
        item=np.array([item for own in lists for item in own], dtype=np.int32),
        attribute_of_item=np.repeat(np.arange(len(columns)), n_values),
        columns=tuple(columns),
    )
    return GroupCounts(
        persons=marginal.persons,
        records=marginal.records,
        squared_records=marginal.squared_records,
        most_records=marginal.most_records,
        values=marginal.values,
        joint=joint,
    )


def members_of(group: Sequence[Sequence[Sequence[int]]]) -> list[naive.Member]:
    """Each person with the values of all their records."""
    return [frozenset(item for record in person for item in enumerate(record)) for person in group]


def caps_by_number(caps: dict[str, int]) -> dict[int, int]:
    return {COLUMNS.index(column): cap for column, cap in caps.items()}


def one_record_each(*records: Sequence[int]) -> list[list[Sequence[int]]]:
    return [[record] for record in records]


# --- parameters ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("l", NOT_COUNTS)
def test_a_threshold_out_of_range_is_refused(l: object) -> None:
    with pytest.raises(ParameterError, match="l must be"):
        JointDiversity(l=l)


def test_a_threshold_out_of_reason_is_refused() -> None:
    with pytest.raises(ParameterError, match="l must be at most 1,000,000"):
        JointDiversity(l=10**30)


@pytest.mark.parametrize("cap", [bad for bad in NOT_COUNTS if not (bad == 0 and bad is not False)])
def test_a_cap_out_of_range_is_refused(cap: object) -> None:
    with pytest.raises(ParameterError, match="the cap of 'treatment' must be a whole number of at least 0"):
        JointDiversity(l=2, caps={"treatment": cap})


@pytest.mark.parametrize("caps", [["treatment"], "treatment=2", 2, {1: 2}])
def test_caps_that_are_no_numbers_by_column_are_refused(caps: object) -> None:
    with pytest.raises(ParameterError, match="caps must be numbers by column"):
        JointDiversity(l=2, caps=caps)


def test_the_model_keeps_the_contract() -> None:
    model = JointDiversity(l=3, caps={"treatment": 2})
    assert isinstance(model, Model)
    assert model.needs == JOINT
    assert model.asked == 3.0
    assert hash(model) == hash(JointDiversity(l=3, caps={"treatment": 2}))
    assert model == pickle.loads(pickle.dumps(model)) == copy.deepcopy(model)
    assert JointDiversity(l=3, caps={}) == JointDiversity(l=3)
    assert model != JointDiversity(l=3)


def test_the_caps_given_are_copied() -> None:
    caps = {"treatment": 2}
    model = JointDiversity(l=3, caps=caps)
    caps["treatment"] = 0
    assert model.caps == {"treatment": 2}


def test_a_cap_on_no_sensitive_attribute_is_refused() -> None:
    groups = joint_groups([one_record_each((0, 0, 0), (1, 1, 1))])
    model = JointDiversity(l=2, caps={"treatmnt": 1})
    for ask in (model.holds, model.reached, model.proof, model.holds_by_bound):
        with pytest.raises(SchemaError, match=r"(?s)caps 'treatmnt', but that is not.*Did you mean 'treatment'"):
            ask(groups)


def test_caps_that_leave_nothing_protected_are_refused() -> None:
    groups = joint_groups([one_record_each((0, 0, 0), (1, 1, 1))])
    model = JointDiversity(l=2, caps=dict.fromkeys(COLUMNS, 0))
    for ask in (model.holds, model.reached, model.holds_by_bound):
        with pytest.raises(SchemaError, match="protects none"):
            ask(groups)


def test_a_table_without_sensitive_attributes_is_not_called_safe() -> None:
    groups = group_counts([(0, "a"), (0, "b")], columns=())
    model = JointDiversity(l=2)
    for ask in (model.holds, model.reached, model.holds_by_bound):
        with pytest.raises(SchemaError, match="none is named"):
            ask(groups)


def test_no_groups_give_no_verdicts() -> None:
    nothing = joint_groups([])
    model = JointDiversity(l=2)
    assert model.holds(nothing).tolist() == model.reached(nothing).tolist() == model.proof(nothing).tolist() == []
    assert model.holds_by_bound(nothing).tolist() == []


# --- the definition ------------------------------------------------------------------------------------------------


@settings(max_examples=200)
@given(groups_of_persons, some_caps, st.integers(1, 6))
def test_it_equals_the_definition(groups, caps, l) -> None:
    model = JointDiversity(l=l, caps=caps)
    counts = joint_groups(groups)
    smallest = [naive.joint_diversity(members_of(group), caps_by_number(caps)) for group in groups]
    assert model.holds(counts).tolist() == [size >= l for size in smallest]
    assert model.reached(counts).tolist() == smallest


@settings(max_examples=200)
@given(groups_of_persons, some_caps, st.integers(1, 6))
def test_bounded_work_never_says_yes_wrongly(groups, caps, l) -> None:
    model = JointDiversity(l=l, caps=caps)
    counts = joint_groups(groups)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "WORK_LIMIT", 0)
        patch.setattr(module, "TOTAL_LIMIT", 0)
        holds, reached, proof = model.holds(counts), model.reached(counts), model.proof(counts)
    smallest = [naive.joint_diversity(members_of(group), caps_by_number(caps)) for group in groups]
    for size, is_held, value, word in zip(smallest, holds, reached, proof, strict=True):
        assert size >= l or not is_held
        assert value <= size
        assert (value >= l) == is_held
        if word == "limit":
            assert not is_held
        else:
            assert is_held == (size >= l)


@given(groups_of_persons.filter(lambda groups: len(groups) >= 2), some_caps, st.integers(1, 5))
def test_merging_keeps_it(groups, caps, l) -> None:
    model = JointDiversity(l=l, caps=caps)
    if model.holds(joint_groups(groups))[:2].any():
        assert model.holds(joint_groups([[*groups[0], *groups[1]]]))[0]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=12), st.integers(1, 6))
def test_with_one_attribute_it_is_distinct_diversity(values, l) -> None:
    groups = joint_groups([one_record_each(*[(value,) for value in values])], columns=("disease",))
    distinct = LDiversity(l=l, kind="distinct")
    model = JointDiversity(l=l)
    assert model.holds(groups).tolist() == distinct.holds(groups).tolist()
    assert model.reached(groups).tolist() == distinct.reached(groups).tolist()


def test_a_person_is_deleted_with_any_of_their_values() -> None:
    # three records that share nothing are one person's: one value deletes them
    alone = joint_groups([[[(0, 0, 0), (1, 1, 1), (2, 2, 2)]]])
    assert JointDiversity(l=2).reached(alone).tolist() == [1.0]
    # the second has flu in one of two records, so that excluding flu excludes both
    both = joint_groups([[[(0, 0, 0)], [(1, 1, 1), (0, 2, 2)]]])
    assert JointDiversity(l=2).holds(both).tolist() == [False]


def test_the_order_of_persons_does_not_matter() -> None:
    rng = np.random.default_rng(5)
    records = (np.minimum(rng.zipf(1.6, size=(60, 3)), 8) - 1).tolist()
    model = JointDiversity(l=6)
    reached = {
        float(model.reached(joint_groups([one_record_each(*[records[n] for n in rng.permutation(60)])]))[0])
        for _ in range(5)
    }
    assert len(reached) == 1


@pytest.mark.parametrize("dtype", [np.uint32, np.int32, np.int64])
def test_members_may_be_numbered_in_any_type(dtype: type) -> None:
    groups = joint_groups([one_record_each((0, 0, 0), (1, 1, 1), (2, 2, 2))], dtype=dtype)
    assert JointDiversity(l=3).reached(groups).tolist() == [3.0]


def test_an_attribute_with_a_cap_of_0_is_unprotected() -> None:
    # all have the same treatment; counted, deleting it deletes everybody
    groups = joint_groups([one_record_each((0, 0, 0), (1, 0, 1), (2, 0, 2))])
    assert JointDiversity(l=3).holds(groups).tolist() == [False]
    assert JointDiversity(l=3, caps={"treatment": 0}).holds(groups).tolist() == [True]
    assert JointDiversity(l=3, caps={"treatment": 0}).reached(groups).tolist() == [3.0]


def test_a_group_that_no_admitted_set_deletes_has_no_limit() -> None:
    groups = joint_groups([one_record_each((0, 0, 0), (1, 1, 1))])
    capped = JointDiversity(l=2, caps={"disease": 1, "treatment": 0, "stay": 0})
    assert capped.holds(groups).tolist() == [True]
    assert capped.reached(groups).tolist() == [math.inf]


def test_the_proof_tells_what_decided() -> None:
    sides = [(0, 1), (1, 2), (0, 2)]
    triangle = [[(a, 9), (b, 9)] for a, b in sides]  # each person has two of three diseases; two must be deleted
    groups = joint_groups(
        [
            one_record_each((0, 0), (1, 1)),
            one_record_each((0, 0), (0, 1), (1, 2), (2, 0)),
            [*triangle, *triangle],
            one_record_each((0, 0), (0, 1)),
        ],
        columns=("disease", "treatment"),
    )
    without = {"treatment": 0}
    assert JointDiversity(l=2).proof(groups).tolist() == ["greedy", "greedy", "exact", "exact"]
    assert JointDiversity(l=2, caps=without).proof(groups).tolist() == ["greedy", "greedy", "bound", "exact"]
    assert JointDiversity(l=2, caps=without).holds(groups).tolist() == [True, True, True, False]


def test_the_order_of_frequency_finds_what_the_given_order_misses() -> None:
    # as they come the first blocks all others; those with rarer values share nothing
    groups = joint_groups([one_record_each((0, 0, 0), (0, 1, 1), (1, 0, 2), (2, 2, 0))])
    assert JointDiversity(l=3).proof(groups).tolist() == ["frequency"]


# --- the bound from counts of each attribute -----------------------------------------------------------------------


@settings(max_examples=200)
@given(groups_of_persons, some_caps, st.integers(1, 6))
def test_the_bound_never_says_yes_wrongly(groups, caps, l) -> None:
    model = JointDiversity(l=l, caps=caps)
    counts = joint_groups(groups)
    holds, reached = model.holds_by_bound(counts), model.reached_by_bound(counts)
    for group, is_held, value in zip(groups, holds, reached, strict=True):
        assert value <= naive.joint_diversity(members_of(group), caps_by_number(caps))
        assert is_held == (value >= l)
        members = members_of(group)
        commonest = naive.most_frequent(members, l - 1, caps_by_number(caps))
        assert is_held == (sum(commonest) < len(members))


def test_the_bound_needs_no_joint_values() -> None:
    counts = group_counts(
        [(0, person, person % 3, person % 4) for person in range(12)], columns=("disease", "treatment")
    )
    assert counts.joint is None
    # 4 persons have each disease and 3 each treatment: two values delete at most 8 of 12
    assert JointDiversity(l=3).holds_by_bound(counts).tolist() == [True]
    assert JointDiversity(l=4).holds_by_bound(counts).tolist() == [False]
    assert JointDiversity(l=4, caps={"disease": 1}).holds_by_bound(counts).tolist() == [True]


# --- real groups ---------------------------------------------------------------------------------------------------

ADULT = Path(__file__).resolve().parents[2] / os.environ.get("SHOAL_DATA", "../shared/data") / "adult" / "adult.data"
OCCUPATION, EDUCATION, HOURS = 6, 3, 12


@pytest.mark.data
@pytest.mark.skipif(not ADULT.is_file(), reason="the table Adult is not in the folder that SHOAL_DATA names")
@pytest.mark.parametrize("caps", [{}, {"education": 2}, {"occupation": 3, "education": 1, "hours": 4}])
def test_groups_of_adult_agree_with_integer_programming(caps: dict[str, int]) -> None:
    from tests.kernels.test_covering import smallest_by_milp

    columns = ("occupation", "education", "hours")
    lines = [line.split(", ") for line in ADULT.read_text(encoding="utf-8").splitlines() if line]
    by_age = sorted(lines, key=lambda fields: (int(fields[0]), fields))[::7]
    rows = [tuple(fields[at] for at in (OCCUPATION, EDUCATION, HOURS)) for fields in by_age]
    codes = [{value: code for code, value in enumerate(sorted(set(column)))} for column in zip(*rows, strict=True)]
    records = [tuple(code[value] for code, value in zip(codes, row, strict=True)) for row in rows]
    groups = [one_record_each(*records[at : at + 50]) for at in range(0, len(records) - 50, 50)][::3]
    counts = joint_groups(groups, columns=columns)
    numbered = {columns.index(column): cap for column, cap in caps.items()}
    smallest = np.array([smallest_by_milp(members_of(group), numbered) for group in groups])
    assert len(groups) > 25
    for l in (4, 6, 8, 10):
        model = JointDiversity(l=l, caps=caps)
        assert model.holds(counts).tolist() == (smallest >= l).tolist()
        assert model.reached(counts).tolist() == smallest.tolist()
        assert not (model.proof(counts) == "limit").any()
