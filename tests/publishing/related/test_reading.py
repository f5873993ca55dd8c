"""Keys and links are suggested by names and contents; each table is mended by what names its columns."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import ParameterError, SchemaError
from shoal.policy import Policy
from shoal.policy.mend import MendChoices
from shoal.publishing.related import Star, StarTable, mended_tables, protect_star, suggested_tables


@st.composite
def related(draw: st.DrawFn) -> tuple[dict[str, pl.DataFrame], dict[str, StarTable]]:
    """Tables that hang on one another at random, and how they do."""
    names = ["person", "visit", "drug", "note"][: draw(st.integers(2, 4))]
    frames: dict[str, pl.DataFrame] = {}
    told: dict[str, StarTable] = {}
    for place, name in enumerate(names):
        n = draw(st.integers(4, 9)) * (place + 1)
        columns: dict[str, list[str]] = {f"{name}_id": [f"{name}{row}" for row in range(n)]}
        links = {}
        if place:
            parent = draw(st.sampled_from(names[:place]))
            keys = frames[parent][f"{parent}_id"].to_list()
            columns[f"{parent}_id"] = [keys[draw(st.integers(0, len(keys) - 1))] for _ in range(n - 1)] + [keys[0]]
            columns[f"{parent}_id"][0] = keys[0]  # twice, so that it names no rows here
            links = {f"{parent}_id": parent}
        columns["value"] = [str(row % 3) for row in range(n)]
        frames[name], told[name] = pl.DataFrame(columns), StarTable(key=f"{name}_id", links=links)
    linked = {parent for table in told.values() for parent in table.links.values()} | {"person"}
    plain = {
        name: StarTable(key=table.key if name in linked else None, links=table.links) for name, table in told.items()
    }
    return frames, plain


@given(related(), st.randoms(use_true_random=False))
def test_what_hangs_together_is_found(
    made: tuple[dict[str, pl.DataFrame], dict[str, StarTable]], random: object
) -> None:
    frames, told = made
    names = list(frames)
    random.shuffle(names)  # type: ignore[attr-defined]
    assert suggested_tables({name: frames[name] for name in names}) == told


def test_a_link_needs_a_name_and_values_and_the_deepest_comes_first() -> None:
    persons = pl.DataFrame({"id": ["1", "2", "3"], "age": [1, 2, 3]})
    visits = pl.DataFrame(
        {"number": ["a", "b", "c", "d"], "person": ["1", "1", "2", "3"], "room": ["1", "2", "3", "1"]}
    )
    found = suggested_tables({"persons": persons, "visit": visits.rename({"person": "persons"})})
    assert found == {"persons": StarTable(key="id"), "visit": StarTable(links={"persons": "persons"})}
    others = suggested_tables({"persons": persons, "visit": visits.with_columns(person=pl.lit("9"))})
    assert not others["visit"].links, "the name alone is not enough, and values under another name are none"
    notes = pl.DataFrame({"persons": ["1", "2"], "number": ["a", "c"], "text": ["x", "y"]})
    three = {"notes": notes, "persons": persons, "visit": visits.rename({"person": "persons"})}
    assert list(suggested_tables(three)["notes"].links.values()) == ["visit", "persons"]


# Mending

IDS = [str(number) for number in range(12)]
FRAMES = {
    "person": pl.DataFrame({"id": IDS, "sex": ["m", "M", "w"] * 4, "born": ["1950-03-01"] * 12}),
    "visit": pl.DataFrame({"id": IDS * 2, "sex": ["k.A.", "M"] * 12, "icd": ["C50.4", "I10"] * 12}),
}
STAR = Star({"person": StarTable(key="id"), "visit": StarTable(links={"id": "person"})})


def mended(choices: Mapping[str, object]) -> tuple[dict[str, pl.DataFrame], list[tuple[str, str, int]]]:
    frames, told = mended_tables(FRAMES, MendChoices.model_validate(choices))
    return frames, [(each["step"], each["column"], each["records"]) for each in told]


def test_a_table_is_mended_by_what_names_its_columns() -> None:
    frames, told = mended({
        "case": {"person.sex": "lower"}, "missing": {"visit.sex": ["k.A."]}, "code": {"icd": {"keep": 3}},
        "age": {"age": {"born": "born", "on": "2020-06-01"}}, "range": {"age": {"high": 120}},
        "filter": [{"column": "icd", "without": ["I10"]}],
    })  # fmt: skip
    assert frames["person"]["sex"].unique().sort().to_list() == ["m", "w"]
    assert frames["person"]["age"].to_list() == [70] * 12
    assert frames["visit"]["sex"].unique().to_list() == [None]
    assert frames["visit"]["icd"].unique().to_list() == ["C50"]
    assert frames["visit"].height == 12
    assert ("filter", "icd", 12) in told
    both, _ = mended({"case": {"sex": "lower"}})
    assert "M" not in both["person"]["sex"].to_list() + both["visit"]["sex"].to_list()
    with pytest.raises(SchemaError, match=r"names 'vist\.sex', which no table has"):
        mended({"case": {"vist.sex": "lower"}})


def test_a_policy_mends_related_tables_before_they_are_protected() -> None:
    document = {
        "columns": {
            "person": "id", "quasi": ["person.sex:nominal"], "sensitive": ["icd"], "dropped": ["born", "visit.sex"],
        },
        "models": {"person-k-anonymity": 2}, "mend": {"case": {"person.sex": "lower"}, "code": {"icd": {"keep": 3}}},
        "budget": {"allow_alone": True}, "seed": 1,
    }  # fmt: skip
    release = protect_star(FRAMES, STAR, Policy.from_document(document))
    assert set(release.tables["visit"]["icd"]) == {"C50", "I10"}
    assert not any("M" in str(value) for value in release.tables["person"]["sex"])
    assert any("Mended: 12 values of 'icd'" in note for note in release.notes)
    assert {"step": "code", "column": "icd", "records": 12} in release.to_dict()["mended"]
    with pytest.raises(ParameterError, match="ledger"):
        protect_star(FRAMES, STAR, Policy.from_document({**document, "ledger": {"file": "l"}}))
