"""Hierarchies made from the values of a column: dates, numbers, codes; written for ARX; persons alone at each level."""

from __future__ import annotations

import math
import string
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import ParameterError, SchemaError
from shoal.policy.policy import HierarchyChoices
from shoal.table.hierarchy import FROM_VALUES, Hierarchy
from shoal.table.hierarchy_levels import alone_by_level
from shoal.table.profile import profile
from tests.naive import code_systems as naive

# Dates


@given(st.dates())
def test_a_day_lies_in_its_month_quarter_year_and_decade(day: date) -> None:
    month, year = f"{day.year:04d}-{day.month:02d}", f"{day.year:04d}"
    above = (month, f"{year}-Q{naive.quarter(day.month)}", year, f"{year[:3]}0s", "*")
    hierarchy = Hierarchy.of_dates([day.isoformat(), f"{day.day}.{day.month}.{year}"])
    assert hierarchy.path(day.isoformat()) == (day.isoformat(), *above)
    assert hierarchy.path(f"{day.day}.{day.month}.{year}")[1:] == above


def test_levels_of_dates_are_chosen_and_a_time_behind_them_is_no_matter() -> None:
    hierarchy = Hierarchy.of_dates(["2024-03-05 10:30:00"], levels=["decade", "year"])
    assert hierarchy.path("2024-03-05 10:30:00") == ("2024-03-05 10:30:00", "2024", "2020s", "*")
    assert hierarchy.path("2024-03-05")[1] == "2024"
    for levels in (["week"], [], ["year", "year"]):
        with pytest.raises(ParameterError, match="month, quarter, year, decade"):
            Hierarchy.of_dates(["2024-03-05"], levels=levels)


@pytest.mark.parametrize("wrong", ["2024-02-30", "yesterday", "03/05/2024", ""])
def test_what_is_no_day_is_counted_and_not_shown(wrong: str) -> None:
    with pytest.raises(SchemaError, match="1 of 2 different values are no dates") as refused:
        Hierarchy.of_dates(["2024-03-05", wrong])
    assert not wrong or wrong not in str(refused.value)


# Codes


@given(st.sampled_from(string.ascii_uppercase), st.integers(0, 99), st.sampled_from(["", ".9", "9", ".91"]))
def test_icd_10_codes_lie_in_their_chapters(letter: str, number: int, rest: str) -> None:
    category = f"{letter}{number:02d}"
    path = Hierarchy.of_icd10([category + rest]).path(category + rest)
    assert (path[0], path[1], path[3]) == (category + rest, category, "*")
    chapter = naive.icd_10_chapter(category)
    assert path[2] == chapter or (chapter is None and path[2][0] == letter)  # codes that no edition has given out


@given(st.integers(1, 999), st.sampled_from(["", ".1", "10", ".10"]))
def test_icd_9_codes_lie_in_their_chapters(category: int, rest: str) -> None:
    code = f"{category:03d}{rest}"
    assert Hierarchy.of_icd9([code]).path(code) == (code, f"{category:03d}", naive.icd_9_chapter(category), "*")


def test_supplementary_codes_of_icd_9() -> None:
    assert Hierarchy.of_icd9(["E880.0"]).path("E880.0") == ("E880.0", "E880", "E000-E999", "*")
    assert Hierarchy.of_icd9(["V10.3"]).path("V10.3") == ("V10.3", "V10", "V01-V91", "*")


def test_atc_codes_lie_in_their_groups() -> None:
    drugs = Hierarchy.of_atc(["A10BA02", "a10", "C09"])
    assert drugs.path("A10BA02") == ("A10BA02", "A10BA", "A10B", "A10", "A", "*")
    assert drugs.path("a10") == ("a10", "A10", "A10", "A10", "A", "*")
    assert drugs.lowest_common_ancestor(["A10BA02", "a10"]) == "A10"


@pytest.mark.parametrize(
    ("choice", "wrong"), [("icd10", "250.00"), ("icd9", "E11.9"), ("atc", "10BA"), ("numbers", "x")]
)
def test_what_is_no_code_is_counted_and_not_shown(choice: str, wrong: str) -> None:
    with pytest.raises(SchemaError, match="1 of 1 different values are no") as refused:
        FROM_VALUES[choice]([wrong])
    assert f"'{wrong}'" not in str(refused.value)


# Numbers

NUMBERS = st.one_of(
    st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=40),
    st.lists(st.decimals(-1000, 1000, places=2).map(float), min_size=1, max_size=40),
)


@given(NUMBERS)
def test_steps_cover_all_numbers_and_are_round(numbers: list[float]) -> None:
    texts = [str(number) for number in numbers]
    hierarchy = Hierarchy.of_numbers(texts)
    assert not hierarchy.missing_from(texts)
    rule = hierarchy.intervals
    assert rule is not None
    assert rule.n_intervals <= 26  # about twenty, and what rounding outwards adds
    leading = rule.width / 10 ** math.floor(math.log10(rule.width))
    assert round(float(leading), 6) in (1.0, 2.0, 5.0)
    assert (rule.low / (4 * rule.width)).denominator == 1


def test_ages_get_intervals_of_five_years() -> None:
    ages = Hierarchy.of_numbers(map(str, range(18, 97)))
    assert ages.path("37") == ("37", "35-39", "30-39", "20-39", "0-39", "0-79", "*")


# ARX's CSV

LABELS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs"], exclude_characters="\r\n\0"), min_size=1, max_size=5
)


@given(st.lists(LABELS.filter(lambda text: text.strip()), min_size=1, max_size=8, unique=True), st.sampled_from(";,"))
def test_what_is_written_for_arx_is_read_again(values: list[str], delimiter: str) -> None:
    hierarchy = Hierarchy.from_rows([(value, f"group {len(value)}", "*") for value in values])
    with tempfile.TemporaryDirectory() as folder:
        file = hierarchy.write_arx_csv(Path(folder) / "h.csv", delimiter=delimiter)
        assert Hierarchy.read_arx_csv(file, delimiter=delimiter).paths == hierarchy.paths
        if delimiter == ";":
            assert Hierarchy.read_arx_csv(file).paths == hierarchy.paths


def test_intervals_are_written_for_the_values_that_are_named(tmp_path: Path) -> None:
    ages = Hierarchy.of_intervals(low=0, width=5, high=9)
    lines = ages.write_arx_csv(tmp_path / "ages.csv").read_text().splitlines()
    assert (len(lines), lines[7]) == (10, "7;5-9;*")
    assert ages.write_arx_csv(tmp_path / "ages.csv", values=["3"]).read_text() == "3;0-4;*\n"
    with pytest.raises(ParameterError, match="values="):
        Hierarchy.of_intervals(low=0, width=0.5, high=9).write_arx_csv(tmp_path / "halves.csv")


# In a policy


@pytest.mark.parametrize("choice", [{"dates": True}, {"dates": ["year", "decade"]}, {"numbers": True}, {"icd10": True},
                                    {"icd9": True}, {"atc": True}, {"prefixes": True}])  # fmt: skip
def test_a_policy_names_it_and_reads_what_it_writes(choice: dict[str, Any]) -> None:
    document = {"columns": {"quasi": [{"name": "a", "hierarchy": choice}]}, "models": {"record-risk": "0.5"}}
    policy = shoal.Policy.from_document(document)
    assert shoal.Policy.from_document(policy.to_document()) == policy
    written = policy.columns.quasi[0].hierarchy
    assert isinstance(written, HierarchyChoices)
    assert written.is_made_from_values
    assert f"{next(iter(choice))} =" in policy.to_toml()


def test_a_release_shows_what_a_policy_names() -> None:
    frame = pl.DataFrame({"born": [date(1960 + n % 3, 1 + n % 12, 1 + n % 28) for n in range(60)],
                          "code": [f"E1{n % 9}.9" for n in range(60)]})  # fmt: skip
    quasi = [{"name": "born", "kind": "date", "hierarchy": {"dates": ["year", "decade"]}},
             {"name": "code", "hierarchy": {"icd10": True}}]  # fmt: skip
    policy = shoal.Policy.from_document({"columns": {"quasi": quasi}, "models": {"k-anonymity": 15}})
    shown = shoal.protect(frame, policy).data
    assert set(shown["born"]) <= {"1960", "1961", "1962", "1960s"}
    assert shown["code"].str.contains("E").all()


# Persons alone at each level


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["E11.9", "E11.8", "E12.0", "I10.0", None])), min_size=1,
                max_size=25))  # fmt: skip
def test_persons_alone_are_those_of_the_definition(records: list[tuple[int, str | None]]) -> None:
    values = pl.Series("code", [code for _, code in records], dtype=pl.String)
    persons = pl.Series("person", [person for person, _ in records])
    hierarchy = Hierarchy.of_icd10(["E11.9", "E11.8", "E12.0", "I10.0"])
    for found in alone_by_level(values, persons, hierarchy):
        above = [None if code is None else hierarchy.label(code, found.level) for _, code in records]
        if found.level == hierarchy.n_levels - 1:
            above = ["*"] * len(above)
        assert found.alone == naive.persons_alone(persons.to_list(), above)
        assert found.nodes == len(set(above))


def test_profile_tells_how_many_persons_each_level_leaves_alone() -> None:
    frame = pl.DataFrame(
        {"patient": range(40), "zip": [f"AB{n:02d} {n % 9 + 1}CD" for n in range(40)], "age": range(20, 60)}
    )
    told = {column["name"]: column for column in profile(frame).to_dict()["columns"]}
    assert (told["zip"]["hierarchy"], told["age"]["hierarchy"]) == ("prefixes", "numbers")
    assert [level["alone"] for level in told["age"]["levels"]][:2] == [40, 0]
    assert told["zip"]["levels"][0] == {"level": 0, "nodes": 40, "alone": 40}
    assert told["zip"]["levels"][-1] == {"level": len(told["zip"]["levels"]) - 1, "nodes": 1, "alone": 0}
    assert (told["patient"]["hierarchy"], told["patient"]["levels"]) == (None, ())
