"""What a policy mends: by column, counted, and without a word of values."""

from __future__ import annotations

import tomllib
from datetime import date
from typing import Any

import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import InputError, PolicyError, SchemaError
from shoal.policy import Policy
from shoal.policy.mend import MendChoices
from shoal.reading.mend import Mended, lookalikes, mend


def mended(values: dict[str, Any], **steps: Any) -> Mended:
    return mend(pl.DataFrame(values), MendChoices.model_validate(steps))


def counts(made: Mended) -> list[tuple[str, str, int]]:
    return [(change.step, change.column, change.records) for change in made.changes]


def test_trim_case_and_map() -> None:
    values = {"sex": ["m", " M", "male", "W", None]}
    made = mended(values, trim=["sex"], case={"sex": "lower"}, map={"sex": {"male": "m"}})
    assert made.frame["sex"].to_list() == ["m", "m", "m", "w", None]
    assert counts(made) == [("trim", "sex", 1), ("case", "sex", 2), ("map", "sex", 1)]
    assert not any("male" in note for note in made.notes)


def test_marks_of_texts_and_numbers_become_missing() -> None:
    values = {"a": ["k.A.", "x", None], "b": [9999, -9, 5], "c": [1.5, -9.0, None]}
    made = mended(values, missing={"a": ["k.A."], "b": [9999, -9], "c": [-9]})
    assert made.frame.rows() == [(None, None, 1.5), ("x", None, None), (None, 5, None)]
    assert counts(made) == [("missing", "a", 1), ("missing", "b", 2), ("missing", "c", 1)]


def test_forms_of_dates_and_numbers() -> None:
    made = mended(
        {"d": ["30.01.2024", None], "n": ["1.234,5", "7"]}, dates={"d": "dd.mm.yyyy"}, numbers={"n": "n.nnn,n"}
    )
    assert made.frame.rows() == [("2024-01-30", "1234.5"), (None, "7")]
    with pytest.raises(InputError, match=r"1 value of 'd' cannot be read as dates written as dd\.mm") as raised:
        mended({"d": ["soon"]}, dates={"d": "dd.mm.yyyy"})
    assert "soon" not in str(raised.value)
    already = mended({"d": ["2024-01-30", "31.01.2024"]}, dates={"d": "dd.mm.yyyy"})
    assert already.frame["d"].to_list() == ["2024-01-30", "2024-01-31"], "the reader finds many forms by itself"
    with pytest.raises(InputError, match="cannot be read as dates written as yyyy-dd-mm"):
        mended({"d": ["2024-01-30"]}, dates={"d": "yyyy-dd-mm"})
    with pytest.raises(InputError, match="cannot be read as numbers written as n,n"):
        mended({"n": ["1.5"]}, numbers={"n": "n,n"})


def test_codes_are_cut() -> None:
    made = mended(
        {"a": ["C50.4", "I10", None], "b": ["C50.4", "I1", None]}, code={"a": {"before": "."}, "b": {"keep": 3}}
    )
    assert made.frame.rows() == [("C50", "C50"), ("I10", "I1"), (None, None)]
    assert counts(made) == [("code", "a", 1), ("code", "b", 1)]


def test_ranges_make_missing_or_refuse() -> None:
    made = mended({"age": ["20", "200", "-1", None]}, range={"age": {"low": 0, "high": 120}})
    assert made.frame["age"].to_list() == ["20", None, None, None]
    assert counts(made) == [("range", "age", 2)]
    with pytest.raises(InputError, match="2 values of 'age' cannot be taken, by the range") as raised:
        mended({"age": [20, 200, -1]}, range={"age": {"low": 0, "high": 120, "outside": "refuse"}})
    assert "200" not in str(raised.value)


@given(born=st.dates(date(1900, 1, 1), date(2030, 1, 1)), on=st.dates(date(1990, 1, 1), date(2030, 1, 1)))
def test_age_is_how_often_the_birthday_has_come(born: date, on: date) -> None:
    expected = on.year - born.year - ((on.month, on.day) < (born.month, born.day))
    for values in ([born], [born.isoformat()], [f"{born} 10:30"]):
        made = mended({"born": values}, age={"age": {"born": "born", "on": on.isoformat()}})
        assert made.frame["age"].to_list() == [expected if expected >= 0 else None]


def test_filters_keep_records_and_their_lines() -> None:
    values = {"year": ["2018", "2019", "2020", None], "test": ["no", "yes", "no", "no"]}
    made = mended(values, filter=[{"column": "year", "low": 2018}, {"column": "test", "without": ["yes"]}])
    assert made.frame.rows() == [("2018", "no"), ("2020", "no")]
    assert made.kept is not None
    assert made.kept.tolist() == [0, 2]
    assert counts(made) == [("filter", "year", 1), ("filter", "test", 1)]
    assert mended(values, filter=[{"column": "year", "values": [2019]}]).frame.height == 1
    with pytest.raises(InputError, match="no record is left"):
        mended(values, filter=[{"column": "year", "values": ["1"]}])


def test_columns_that_are_absent_or_taken_are_refused() -> None:
    with pytest.raises(SchemaError, match="Did you mean 'sex'"):
        mended({"sex": ["m"]}, trim=["sxe"])
    with pytest.raises(SchemaError, match="which the table has"):
        mended({"born": ["2000-01-01"], "age": [1]}, age={"age": {"born": "born", "on": "2020-01-01"}})


DOCUMENT: dict[str, Any] = {
    "columns": {"quasi": ["age:number", "sex:nominal"], "dropped": ["born"]},
    "models": {"record-risk": "1/2"},
    "mend": {
        "case": {"sex": "lower"}, "map": {"sex": {"male": "m"}}, "missing": {"sex": ["k.A.", 9]},
        "age": {"age": {"born": "born", "on": "2024-01-01"}}, "range": {"age": {"low": 0, "high": 120}},
        "filter": [{"column": "sex", "values": ["m", "w"]}], "trim": ["sex"], "code": {"sex": {"keep": 5}},
    },
}  # fmt: skip


def test_a_policy_carries_it_to_its_file_and_back() -> None:
    policy = Policy.from_document(DOCUMENT)
    assert Policy.from_document(policy.to_document()) == policy
    assert Policy.from_document(tomllib.loads(policy.to_toml())) == policy


@pytest.mark.parametrize(
    "wrong",
    [
        {"range": {"a": {}}}, {"code": {"a": {}}}, {"code": {"a": {"keep": 1, "before": "."}}},
        {"dates": {"a": "soon"}},
        {"age": {"a": {"born": "b", "on": "soon"}}}, {"filter": [{"column": "a"}]},
        {"case": {"a": "Title"}}, {"cut": {}},
    ],
)  # fmt: skip
def test_faults_are_told_with_their_place(wrong: dict[str, Any]) -> None:
    with pytest.raises(PolicyError, match=r"mend\."):
        Policy.from_document({**DOCUMENT, "mend": wrong})


@pytest.mark.parametrize("kind", ["polars", "pandas"])
def test_protect_mends_frames_and_counts(kind: str) -> None:
    values = {"sex": [" m", "M", "male", "k.A.", "w", "W"] * 3, "born": ["1980-05-01"] * 18}
    frame = pl.DataFrame(values) if kind == "polars" else pd.DataFrame(values)
    release = shoal.protect(frame, Policy.from_document(DOCUMENT))
    assert type(release.data) is type(frame)
    assert len(release.data) == 15
    told = release.to_dict()["mended"]
    assert {"step": "filter", "column": "sex", "records": 3} in told  # type: ignore[operator]
    assert any(note.startswith("Mended: 3 records were left out") for note in release.notes)
    assert not any("k.A." in note for note in release.notes)


def test_values_that_look_alike_are_counted_the_most_frequent_first() -> None:
    frame = pl.DataFrame({"sex": ["m", "M", "m", " w", "w", "w", None], "id": list("abcdefg")})
    assert lookalikes(frame) == {"sex": [{"m": 2, "M": 1}, {"w": 2, " w": 1}]}
    many = pl.DataFrame({"name": [f"n{i}" for i in range(60)] + ["N1"]})
    assert lookalikes(many) == {}
