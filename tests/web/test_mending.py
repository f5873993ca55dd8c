"""Suggestions to mend are right, name their records, and do what they say; each can be undone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

pytest.importorskip("nicegui", reason="the extra 'web' is not installed")

from shoal.errors import InputError, ParameterError
from shoal.policy import Policy
from shoal.reading.mend import mend
from shoal.reading.to_mend import Suggestion, suggestions, taken
from shoal.table.profile import profile
from shoal.web.files import refuse_ending, refuse_other_content
from shoal.web.hierarchies import Sets
from shoal.web.mending import steps_of, undone
from shoal.web.pages.mending import typed

TABLE = pl.DataFrame({
    "patient": [f"p{number // 2}" for number in range(40)],
    "sex": ["m", "M", "w", "w"] * 9 + ["k.A.", "W", "m", "w"],
    "age": [str(20 + number) for number in range(38)] + ["999", "250"],
    "weight": ["80.5", "71", "66", "9999"] + ["70", "64", "58.5", "91"] * 9,
    "ward": [" north", "south", "south", "north"] * 10,
    "born": ["1970-01-02", "1981-05-06"] * 20,
    "admission": ["2023-03-04", "2023-11-30"] * 20,
    "diagnosis": ["C50.4", "C50.9", "I10.0", "J45.1"] * 10,
})  # fmt: skip


def offered() -> dict[tuple[str, str], Suggestion]:
    return {(each.column, next(iter(each.mend))): each for each in suggestions(TABLE, profile(TABLE))}


def mended(document: Any) -> pl.DataFrame:
    return mend(TABLE, Policy.from_document({"columns": {"quasi": ["-"]}, "mend": document}).mend).frame


def test_what_is_wrong_is_suggested_with_its_records() -> None:
    found = offered()
    assert found["weight", "missing"].words.startswith("‘9999’ stands in 1 record")
    assert found["sex", "missing"].mend == {"missing": {"sex": ["k.A."]}}
    assert found["ward", "map"].words == "‘ north’ and ‘north’ look alike: 10 and 10 records."
    assert found["ward", "map"].does == "Make them all ‘north’"
    assert found["diagnosis", "code"].about == "coarser"
    assert ("patient", "map") not in found


def test_what_goes_elsewhere_has_counts_and_no_values() -> None:
    for each in suggestions(TABLE, profile(TABLE)):
        assert "\u2018" not in each.without_values
        assert not any(str(value) in each.without_values for value in ("k.A.", "9999", "north", "2023-11-30"))
    assert offered()["sex", "missing"].without_values.startswith("A mark stands in 1 record, and seems to mean")


def test_taking_all_of_them_mends_the_table() -> None:
    document: dict[str, Any] = {}
    for each in suggestions(TABLE, profile(TABLE)):
        document = taken(document, each.mend)
    frame = mended(document)
    assert set(frame["sex"].drop_nulls()) == {"m", "w"}
    assert set(frame["ward"]) == {"north", "south"}
    assert "9999" not in frame["weight"].to_list()
    assert set(frame["diagnosis"]) == {"C50", "I10", "J45"}
    again = suggestions(frame, profile(frame))
    assert not [each for each in again if each.about == "wrong" and each.column in ("sex", "ward", "weight")]


def test_words_that_a_letter_is_short_for_become_the_letter() -> None:
    frame = pl.DataFrame({"sex": ["H", "h", "Homme", "F", "femme"] * 4, "age": range(20)})
    found = suggestions(frame, profile(frame))
    document: dict[str, Any] = {}
    for each in found:
        document = taken(document, each.mend)
    choices = Policy.from_document({"columns": {"quasi": ["-"]}, "mend": document}).mend
    assert set(mend(frame, choices).frame["sex"]) == {"H", "F"}
    assert all("omme" not in each.without_values for each in found)
    unclear = pl.DataFrame({"sex": ["M", "masculino", "mujer"] * 4, "age": range(12)})
    assert suggestions(unclear, profile(unclear)) == [], "a letter that is short for two words says nothing"


def test_numbers_of_days_are_offered_as_dates_where_the_column_is_called_so() -> None:
    days = list(range(45_000, 45_040))
    for values in (days, [str(day) for day in days]):
        frame = pl.DataFrame({"Aufnahmedatum": values, "Kosten": values})
        (offer,) = suggestions(frame, profile(frame))
        assert (offer.column, offer.mend) == ("Aufnahmedatum", {"dates": {"Aufnahmedatum": "excel"}})
        choices = Policy.from_document({"columns": {"quasi": ["-"]}, "mend": offer.mend}).mend
        assert mend(frame, choices).frame["Aufnahmedatum"][0] == "2023-03-15"
    years = pl.DataFrame({"Geburtsdatum": [1950 + n for n in range(40)]})
    assert suggestions(years, profile(years)) == []


def test_every_step_can_be_undone_by_itself() -> None:
    document: dict[str, Any] = {"filter": [{"column": "ward", "values": ["north"]}]}
    for each in suggestions(TABLE, profile(TABLE)):
        document = taken(document, each.mend)
    steps = steps_of(document)
    assert len({words for _, words in steps}) == len(steps)
    for place, words in steps:
        left = undone(document, place)
        assert words not in {each for _, each in steps_of(left)}
        assert len(steps_of(left)) == len(steps) - 1
        mended(left)
    for place, _ in reversed(steps):
        document = undone(document, place)
    assert document == {}


@pytest.mark.parametrize(
    ("step", "text", "expected"),
    [
        ("map", "m = male, w = female", {"map": {"sex": {"m": "male", "w": "female"}}}),
        ("missing", "9999, k.A.", {"missing": {"sex": ["9999", "k.A."]}}),
        ("code", "3", {"code": {"sex": {"keep": 3}}}),
        ("code", ".", {"code": {"sex": {"before": "."}}}),
        ("range", "0 to 120", {"range": {"sex": {"low": 0.0, "high": 120.0}}}),
        ("filter", "a, b", {"filter": [{"column": "sex", "values": ["a", "b"]}]}),
        ("filter", "2018 to 2022", {"filter": [{"column": "sex", "low": 2018.0, "high": 2022.0}]}),
    ],
)
def test_what_is_typed_becomes_a_step_that_the_policy_takes(step: str, text: str, expected: dict[str, Any]) -> None:
    assert typed("sex", step, text) == expected
    assert Policy.from_document({"columns": {"quasi": ["sex"]}, "mend": expected}).mend


@pytest.mark.parametrize(("step", "text"), [("map", "male"), ("missing", ""), ("range", "high"), ("case", "big")])
def test_what_says_nothing_is_refused(step: str, text: str) -> None:
    with pytest.raises(ParameterError):
        typed("sex", step, text)


@pytest.mark.parametrize(
    ("name", "start"),
    [("a.xlsx", b"PK\x03\x04"), ("a.sav", b"$FL2"), ("a.csv.gz", b"\x1f\x8b"), ("a.zip", b"PK\x03\x04"),
     ("a.arrow", b"ARROW1"), ("a.dta", b"<stata_dta>")],
)  # fmt: skip
def test_every_format_of_the_command_line_is_taken_by_its_first_bytes(tmp_path: Path, name: str, start: bytes) -> None:
    refuse_ending(name)
    (tmp_path / "part").write_bytes(start + b"x" * 50)
    refuse_other_content(tmp_path / "part", name)
    (tmp_path / "part").write_bytes(b"no such file" * 5)
    with pytest.raises(InputError, match="is not"):
        refuse_other_content(tmp_path / "part", name)


def test_sets_have_levels_and_come_back_from_a_spreadsheet() -> None:
    sets = Sets(["baker", "cook", "nurse", "teacher"])
    sets.add("food")
    sets.move(["baker", "cook"], "food")
    sets.add_level()
    sets.add("work", level=2)
    sets.move(["food", "nurse"], "work", level=2)
    assert sets.rows()[0] == ("baker", "food", "work", "*")
    assert sets.rows()[3] == ("teacher", "teacher", "teacher", "*")
    assert sets.members("", level=2) == ["teacher"]
    again, n_unknown = Sets.of_text(sets.values, sets.text() + "\nstranger\tx\ty")
    assert (again.rows(), n_unknown) == (sets.rows(), 1)
    sets.remove("food")
    assert sets.rows()[0] == ("baker", "baker", "baker", "*")
    with pytest.raises(ParameterError, match="In line 2"):
        Sets.of_text(["a", "b"], "a\tx\tone\nb\tx\ttwo")
