"""Persons are known again whichever file names them, and different ones stay different."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.streaming import protect_file
from shoal.table.identifiers import identifiers_of, note_on_identifiers
from tests.naive import identifiers as naive

TEXTS = st.lists(st.none() | st.text("017. \t-e", max_size=5) | st.sampled_from(["7", "7.0", " 7", "7.", "07"]))


@given(TEXTS)
def test_texts_are_those_of_the_reference_and_different_ones_stay_different(texts: list[str | None]) -> None:
    found = identifiers_of(pl.Series(texts, dtype=pl.String)).to_list()
    assert found == naive.identifiers(list(texts))
    pairs = set(zip(texts, found, strict=True))
    assert len({text for _, text in pairs}) == len({text for text, _ in pairs})


@given(st.lists(st.none() | st.integers(-(2**53), 2**53) | st.just(0.5)))
def test_numbers_are_known_again_whichever_type_they_have(numbers: list[float | None]) -> None:
    floats = pl.Series(numbers, dtype=pl.Float64, strict=False)
    assert identifiers_of(floats).to_list() == naive.identifiers([None if n is None else float(n) for n in numbers])
    whole = [number for number in numbers if isinstance(number, int)]
    forms = [pl.Series(whole, dtype=pl.Int64), pl.Series(whole, dtype=pl.Float64),
             pl.Series([f"{number}.0" for number in whole], dtype=pl.String),
             pl.Series([Decimal(number) for number in whole], dtype=pl.Decimal(20, 2))]  # fmt: skip
    assert {tuple(identifiers_of(form).to_list()) for form in forms} == {tuple(map(str, whole))}


def test_half_a_unit_and_minus_nothing() -> None:
    assert identifiers_of(pl.Series([Decimal("7.50"), Decimal("7.00")])).to_list() == ["7.5", "7"]
    assert identifiers_of(pl.Series([-0.0, float("nan"), 1e20])).to_list() == ["0", None, "1" + "0" * 20]


@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical])
def test_names_that_differ_by_white_space_are_noted_by_their_number(dtype: type[pl.DataType]) -> None:
    names = pl.Series("patient", ["ann", "ann ", "bob", "\tbob", "bob", "eve"]).cast(dtype)
    (note,) = note_on_identifiers("patient", names)
    assert "2 of 5 identifiers in 'patient'" in note
    assert "bob" not in note
    assert not note_on_identifiers("patient", pl.Series(["ann", "bob"]))
    assert not note_on_identifiers("patient", pl.Series([1, 2]))
    frame = pl.DataFrame({"patient": names, "age": [1, 1, 1, 1, 1, 1]})
    schema = shoal.Schema(person="patient", quasi=["age"])
    assert note in shoal.assess(frame, schema).notes
    assert note in shoal.protect(frame, schema, [shoal.PersonKAnonymity(k=2)], method="mondrian").notes


def test_values_that_are_spelled_in_several_ways_are_noted_by_their_number(tmp_path: Path) -> None:
    """Two spellings of one disease look like two diseases."""
    frame = pl.DataFrame(
        {"patient": [*map(str, range(7)), "0 "], "age": [1] * 8,
         "disease": ["HIV", "hiv ", "flu", "hiv"] * 2, "score": [1, 2] * 4}
    )  # fmt: skip
    schema = shoal.Schema(person="patient", quasi=["age"], sensitive=["disease", "score"])
    models = [shoal.LDiversity(l=3, kind="distinct", column="disease")]
    notes = shoal.protect(frame, schema, models).notes
    assert [note for note in notes if note.startswith("2 of 4 values of 'disease'")]
    assert not any("score" in note or "hiv" in note.lower() for note in notes)
    frame.write_parquet(tmp_path / "table.parquet")
    streamed = protect_file(tmp_path / "table.parquet", schema, models, tmp_path / "out").notes
    assert streamed[:2] == notes == (*note_on_identifiers("patient", frame["patient"]), notes[1])
