"""The example of Kartal and Li (2016): groups of two records and more, in which three of eight are under-protected."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest

import shoal
from shoal.models import GBalance, HAffiliation, KAnonymity, LDiversity, PersonKAnonymity, RecordRisk
from tests.models.builders import group_counts

# Table 1: for each person the quasi-identifiers of the records (age, gender, ZIP), the diseases, and the group in 1b
PEOPLE: dict[str, tuple[int, str, list[int], list[str], int]] = {
    "Ashley": (32, "f", [23000, 23200], ["Asthma", "Obesity"], 0),
    "Bob": (36, "m", [21750], ["Obesity"], 1),
    "Charlie": (49, "m", [22100] * 5, ["Diabetes", "Diabetes", "Gastritis", "Gastritis", "Diabetes"], 1),
    "Diana": (38, "f", [24200] * 2, ["Ulcer", "Gastritis"], 2),
    "Edward": (36, "m", [23500] * 2, ["Diabetes", "Gastritis"], 2),
    "Fred": (40, "m", [23600], ["Diabetes"], 3),
    "Greg": (41, "m", [24800], ["Ulcer"], 3),
    "Harry": (45, "m", [24050] * 5, ["Ulcer", "Asthma", "Epilepsy", "Asthma", "Ulcer"], 3),
}
DISEASES = sorted({disease for person in PEOPLE.values() for disease in person[3]})
# Table 2, in percent
REIDENTIFIED = {"Ashley": 100.0, "Bob": 16.7, "Charlie": 83.3, "Diana": 50.0, "Edward": 50.0, "Fred": 14.3,
                "Greg": 14.3, "Harry": 71.4}  # fmt: skip
GROUPS = group_counts(
    [
        (group, person, DISEASES.index(disease))
        for person, (*_, diseases, group) in PEOPLE.items()
        for disease in diseases
    ]
)


def visits() -> pl.DataFrame:
    return pl.DataFrame(
        [
            (person, age, gender, zip_code, disease)
            for person, (age, gender, zips, diseases, _) in PEOPLE.items()
            for zip_code, disease in zip(zips, diseases, strict=True)
        ],
        schema=["name", "age", "gender", "zip", "disease"],
        orient="row",
    )


SCHEMA = shoal.Schema(person="name", quasi=["age", shoal.Nominal("gender"), "zip"], sensitive=["disease"])


def test_two_records_a_group_are_no_protection() -> None:
    assert GROUPS.records.tolist() == [2, 6, 4, 7]
    assert KAnonymity(k=2).holds(GROUPS).all()
    worst = [
        max(percent for person, percent in REIDENTIFIED.items() if PEOPLE[person][4] == group) for group in range(4)
    ]
    assert (100 * RecordRisk(rho=1).reached(GROUPS)).tolist() == pytest.approx(worst, abs=0.05)
    assert RecordRisk(rho="0.5").holds(GROUPS).tolist() == [False, False, True, False]  # the starred rows of table 2


def test_every_probability_of_table_2() -> None:
    for person, (*_, diseases, group) in PEOPLE.items():
        share = Fraction(len(diseases), int(GROUPS.records[group]))
        assert float(100 * share) == pytest.approx(REIDENTIFIED[person], abs=0.05)


def test_two_diverse_and_yet_both_values_of_one_person() -> None:
    assert LDiversity(l=2, kind="distinct").holds(GROUPS).all()
    assert HAffiliation(h=1).reached(GROUPS)[0] == 1.0
    assert PersonKAnonymity(k=2).holds(GROUPS).tolist() == [False, True, True, True]  # which Charlie and Harry pass


def test_balance_tells_the_groups_apart_where_counting_persons_does_not() -> None:
    balance = GBalance(g=0).reached(GROUPS)
    assert balance.tolist() == pytest.approx([0.0, 10 / 36, 0.5, 1 - 27 / 49])


def test_the_printed_groups_are_refused_and_the_algorithm_of_table_3_protects_all() -> None:
    models = [shoal.GBalance(g="0.5"), shoal.RecordRisk(rho="0.5")]
    printed = visits().with_columns(
        age=pl.col("name").replace_strict({person: str(PEOPLE[person][4]) for person in PEOPLE}),
        gender=pl.lit("*"),
        zip=pl.lit("*"),
    )
    assert not shoal.verify(printed, SCHEMA, models).verdict.holds
    release = shoal.protect(visits(), SCHEMA, models, method="balance-tree", cut="median")
    assert release.verdict.holds
    assert release.published.frame.height == 19
