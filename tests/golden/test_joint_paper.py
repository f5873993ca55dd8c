"""The examples of Gal, Chen and Gangopadhyay (2008), and what their figures 5 and 7 get wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shoal.kernels import covering
from shoal.models import JointDiversity, LDiversity
from tests.models.test_joint_diversity import joint_groups, one_record_each
from tests.naive import covering as naive

COLUMNS = ("disease", "treatment")

# Figure 1: heart, heart, flu, stomach; medicine, surgery, intravenous, intravenous
FIGURE_1 = [(0, 0), (0, 1), (1, 2), (2, 2)]
# Figure 4: six diseases, three treatments
FIGURE_4 = [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (5, 2)]


def groups_of(records):
    columns = COLUMNS[: len(records[0])]
    return joint_groups([one_record_each(*records)], columns=columns)


def smallest(records, caps=None):
    """What the model reaches, which is also what trying all sets of values gives."""
    reached = JointDiversity(l=1, caps=caps).reached(groups_of(records))[0]
    numbered = {COLUMNS.index(column): cap for column, cap in (caps or {}).items()}
    assert reached == naive.joint_diversity(naive.members_of(records), numbered)
    return reached


def trace_of_figure_7(records, *, l, caps):  # noqa: E741
    """x after each step of the figure as shoal repairs it."""
    members = JointDiversity(l=l, caps=caps)._members(groups_of(records))
    n_items = len(members.attribute_of_item)
    group = covering._gather(members, 0, np.zeros(n_items, np.int64), np.empty(n_items, np.int32), 1)
    order = covering.order_by_frequency(group)
    picked, n_picked = covering.disjoint_members(group, order, l)
    return covering.grow_with_caps(group, order, picked, n_picked, l).tolist()


# --- figures 1, 4, 6 and 8 -----------------------------------------------------------------------------------------


def test_figure_1_is_diverse_in_each_attribute_but_not_in_both() -> None:
    groups = groups_of(FIGURE_1)
    assert LDiversity(l=3, kind="distinct").holds(groups).tolist() == [True]
    assert JointDiversity(l=3).holds(groups).tolist() == [False]
    assert JointDiversity(l=2).holds(groups).tolist() == [True]
    assert smallest(FIGURE_1) == 2


def test_figure_6_on_figure_1_picks_the_first_and_the_third_patient() -> None:
    members = naive.members_of(FIGURE_1)
    assert naive.members_without_common_items(members)[0] == [members[0], members[2]]
    assert naive.figure_6(members, 2)
    assert not naive.figure_6(members, 3)


@pytest.mark.parametrize(
    ("caps", "expected"),
    [
        (None, 3),
        ({"disease": 4, "treatment": 2}, 4),
        ({"disease": 4, "treatment": 1}, 5),
        ({"disease": 3, "treatment": 1}, math.inf),
    ],
)
def test_figure_4_with_and_without_caps(caps: dict[str, int] | None, expected: float) -> None:
    assert smallest(FIGURE_4, caps) == expected
    holds = [bool(JointDiversity(l=l, caps=caps).holds(groups_of(FIGURE_4))[0]) for l in range(1, 8)]  # noqa: E741
    assert holds == [expected >= l for l in range(1, 8)]  # noqa: E741


def test_theorem_2_caps_never_lower_the_diversity() -> None:
    caps = [{"disease": d, "treatment": t} for d in range(5) for t in range(5) if d + t]
    assert all(smallest(FIGURE_4, each) >= smallest(FIGURE_4) for each in caps)


def test_figure_8_goes_3_3_4() -> None:
    start, *steps = trace_of_figure_7(FIGURE_4, l=4, caps={"disease": 4, "treatment": 2})
    assert start == 3
    assert steps == [3, 3, 4]
    assert naive.figure_7_repaired(naive.members_of(FIGURE_4), 4, {0: 4, 1: 2}) == [start, *steps]
    assert naive.figure_7_as_printed(naive.members_of(FIGURE_4), 4, {0: 4, 1: 2})  # here it is right


def test_without_caps_figure_8_stays_at_3() -> None:
    assert trace_of_figure_7(FIGURE_4, l=4, caps=None)[-1] == 3


def test_theorem_1_after_excluding_l_minus_2_values_two_of_each_attribute_remain() -> None:
    diverse = [(0, 0), (1, 1), (2, 2), (3, 3), (0, 1)]
    l = int(smallest(diverse))  # noqa: E741
    assert l == 4
    items = {item for member in naive.members_of(diverse) for item in member}
    for excluded in naive.combinations(sorted(items), l - 2):
        remaining = [member for member in naive.members_of(diverse) if not member & set(excluded)]
        for attribute in range(2):
            assert len({value for member in remaining for a, value in member if a == attribute}) >= 2


# --- what figure 7 gets wrong --------------------------------------------------------------------------------------

COUNTEREXAMPLES = [
    pytest.param([(1,), (2,), (3,), (1,)], 4, {}, 3, id="three values cannot be deleted four times"),
    pytest.param([(2, 1), (0, 1), (1, 2)], 3, {"disease": 1, "treatment": 1}, 2, id="caps admit two values only"),
]


@pytest.mark.parametrize(("records", "l", "caps", "true"), COUNTEREXAMPLES)
def test_figure_7_as_printed_says_yes_wrongly_and_shoal_says_no(records, l, caps, true) -> None:  # noqa: E741
    numbered = {COLUMNS.index(column): cap for column, cap in caps.items()}
    members = naive.members_of(records)
    assert naive.figure_7_as_printed(members, l, numbered)
    assert naive.joint_diversity(members, numbered) == true < l
    model = JointDiversity(l=l, caps=caps)
    assert model.holds(groups_of(records)).tolist() == [False]
    assert model.reached(groups_of(records)).tolist() == [true]
    assert trace_of_figure_7(records, l=l, caps=caps)[-1] == true
    assert model.holds_by_bound(groups_of(records)).tolist() == [False]


# --- what figure 5 gets wrong --------------------------------------------------------------------------------------


def is_2_diverse(group: list[naive.Record]) -> bool:
    return len(group) >= 2 and naive.figure_6([member for _, member in group], 2)


def patients(*ages_and_diseases):
    return [((age,), frozenset({(0, disease)})) for age, disease in ages_and_diseases]


def test_figure_5_as_printed_loses_the_side_that_fails() -> None:
    # those up to 40 have two diseases, those above have one: they are in no group of the partition
    records = patients((30, "flu"), (40, "asthma"), (50, "ulcer"), (60, "ulcer"))
    published = [record for group in naive.figure_5_as_printed(records, is_2_diverse) for record in group]
    assert published == records[:2]


def test_figure_5_as_printed_never_ends_where_the_median_is_the_largest_value() -> None:
    records = patients((30, "flu"), (40, "asthma"), (40, "ulcer"), (40, "flu"))
    with pytest.raises(RecursionError):
        naive.figure_5_as_printed(records, is_2_diverse)


def test_figure_5_as_printed_stops_where_another_attribute_could_be_cut() -> None:
    # age is the widest after z-scoring and its halves have one disease each; cutting by sex would do
    young = [(10, 0, "flu"), (20, 1, "flu"), (30, 0, "flu")]
    old = [(70, 1, "ulcer"), (80, 0, "ulcer"), (99, 1, "ulcer")]
    records = [((float(age), float(sex)), frozenset({(0, disease)})) for age, sex, disease in young + old]
    assert naive.z_range([values[0] for values, _ in records]) > naive.z_range([values[1] for values, _ in records])
    assert naive.figure_5_as_printed(records, is_2_diverse) == [records]
    assert all(is_2_diverse([record for record in records if record[0][1] == sex]) for sex in (0.0, 1.0))
