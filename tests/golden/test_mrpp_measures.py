"""The measures of Kartal and Li (2020) on their own example, and what they prove about them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.models import EntropyBalance, GBalance, HAffiliation, KAnonymity, LDiversity, PersonKAnonymity, RecordRisk
from tests.models.builders import group_counts
from tests.models.strategies import tables
from tests.naive import models as naive

# Table 3a: the records of two clinics, and the group of each person in table 3b
PATIENTS = {
    "Ashley": (0, ["Asthma", "Reflux"]),
    "Bob": (0, ["Reflux"]),
    "Charlie": (1, ["Pneumonia", "Pneumonia", "Pneumonia", "Gastritis", "Gastritis"]),
    "Diana": (2, ["Ulcer", "Gastritis"]),
    "Edward": (2, ["Pneumonia", "Gastritis"]),
    "Fred": (3, ["Pneumonia"]),
    "Greg": (3, ["Ulcer"]),
    "Harry": (3, ["Asthma", "Bronchitis", "Asthma", "Ulcer", "Ulcer"]),
}
DISEASES = sorted({disease for _, diseases in PATIENTS.values() for disease in diseases})

# The groups of figure 2: by gender first, then the men in two
BY_GENDER = {"Ashley": 0, "Diana": 0} | dict.fromkeys(["Bob", "Charlie", "Edward", "Fred", "Greg", "Harry"], 1)
FINAL = {"Ashley": 0, "Diana": 0, "Charlie": 2, "Harry": 2} | dict.fromkeys(["Bob", "Edward", "Fred", "Greg"], 1)


def clinics(group_of_person: dict[str, int]) -> list[tuple[int, str, int]]:
    return [
        (group_of_person[person], person, DISEASES.index(disease))
        for person, (_, diseases) in PATIENTS.items()
        for disease in diseases
    ]


WHOLE = group_counts(clinics(dict.fromkeys(PATIENTS, 0)))


def test_the_whole_table() -> None:
    assert WHOLE.records.tolist() == [19]
    assert WHOLE.persons.tolist() == [8]
    assert GBalance(g=0).reached(WHOLE)[0] == pytest.approx(0.8199, abs=5e-5)
    assert GBalance(g=0).reached(WHOLE)[0] == 296 / 361
    assert HAffiliation(h=1).reached(WHOLE).tolist() == [0.375]
    assert HAffiliation(h=0.375).holds(WHOLE).tolist() == [True]
    assert HAffiliation(h=0.374).holds(WHOLE).tolist() == [False]


def test_three_anonymous_groups_that_protect_nobody() -> None:
    groups = group_counts(clinics({person: group for person, (group, _) in PATIENTS.items()}))
    assert KAnonymity(k=3).holds(groups).all()
    assert RecordRisk(rho=1).reached(groups).tolist() == [2 / 3, 1.0, 0.5, 5 / 7]  # Charlie for certain, Harry 5/7
    assert LDiversity(l=3, kind="distinct").holds(groups)[2]  # table 4: 3 diseases, yet both have gastritis
    assert HAffiliation(h=1).reached(groups)[2] == 1.0
    assert HAffiliation(h=1).reached(groups)[3] == pytest.approx(0.667, abs=5e-4)  # Greg and Harry have ulcers
    assert PersonKAnonymity(k=2).holds(groups).tolist() == [True, False, True, True]


def test_the_split_by_gender() -> None:
    groups = group_counts(clinics(BY_GENDER))
    assert GBalance(g=0).reached(groups).tolist() == pytest.approx([0.5, 0.747], abs=5e-4)
    assert HAffiliation(h=1).reached(groups).tolist() == [0.5, 0.5]
    weights = groups.records / 19
    change = GBalance(g=0).reached(WHOLE)[0] - (weights * GBalance(g=0).reached(groups)).sum()
    assert change == pytest.approx(0.1252, abs=5e-5)  # equation 4


def test_the_final_groups() -> None:
    groups = group_counts(clinics(FINAL))
    assert GBalance(g=0.5).reached(groups).tolist() == pytest.approx([0.5, 0.72, 0.5], abs=1e-12)
    assert HAffiliation(h=0.5).reached(groups).tolist() == [0.5, 0.5, 0.5]
    assert GBalance(g=0.5).holds(groups).all()
    assert HAffiliation(h=0.5).holds(groups).all()
    assert RecordRisk(rho=0.5).reached(groups).tolist() == [0.5, 0.4, 0.5]
    assert RecordRisk(rho=0.5).reached(groups).mean() == pytest.approx(0.4667, abs=5e-5)  # AvgGIDR


groups_of_counts = st.lists(st.integers(1, 30), min_size=1, max_size=12)


def group_of(records_of_person: list[int]) -> list[tuple[int, int, int]]:
    return [(0, person, person) for person, own in enumerate(records_of_person) for _ in range(own)]


@settings(deadline=None)
@given(groups_of_counts, st.integers(0, 99))
def test_theorem_1_a_balanced_group_has_enough_persons(records_of_person: list[int], percent: int) -> None:
    g = Fraction(percent, 100)
    group = group_counts(group_of(records_of_person))
    if GBalance(g=g).holds(group)[0]:
        assert len(records_of_person) >= 1 / (1 - g)
    reached, _ = naive.g_balance([(person, 0) for _, person, _ in group_of(records_of_person)], g=g)
    assert GBalance(g=g).reached(group)[0] == pytest.approx(reached, abs=1e-14)
    assert reached <= 1 - 1 / len(records_of_person) + 1e-14


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(1, 40))
def test_corollary_1_with_one_record_a_person_g_is_k(n_persons: int, k: int) -> None:
    group = group_counts(group_of([1] * n_persons))
    assert GBalance.for_k(k).holds(group).tolist() == KAnonymity(k=k).holds(group).tolist() == [n_persons >= k]
    assert GBalance.for_k(k).g == 1 - Fraction(1, k)  # equation 3
    assert EntropyBalance(k=k).holds(group).tolist() == [n_persons >= k]


@settings(deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.integers(1, 6))
def test_equation_6_with_one_record_a_person_h_is_l(values: list[int], l: int) -> None:  # noqa: E741
    group = group_counts([(0, person, value) for person, value in enumerate(values)])
    assert HAffiliation.for_l(l).holds(group).tolist() == LDiversity(l=l).holds(group).tolist()


@settings(deadline=None)
@given(tables())
def test_lemma_1_some_part_is_at_least_as_affiliated_as_the_whole(table: list[tuple[int, int, int]]) -> None:
    parts = HAffiliation(h=1).reached(group_counts(table))
    whole = HAffiliation(h=1).reached(group_counts([(0, person, value) for _, person, value in table]))
    assert parts.max() >= whole[0]


@settings(deadline=None)
@given(tables())
def test_a_split_lowers_the_weighted_balance(table: list[tuple[int, int, int]]) -> None:
    groups = group_counts(table)
    parts = GBalance(g=0).reached(groups)
    whole = GBalance(g=0).reached(group_counts([(0, person, value) for _, person, value in table]))
    assert whole[0] >= (parts * groups.records).sum() / groups.records.sum() - 1e-12
