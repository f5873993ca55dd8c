"""Top and bottom codes and rare categories: equal to the definitions, in every mask, engine and door."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.engines.stream import protect_file
from shoal.errors import ParameterError, SchemaError
from shoal.masking import MASKS
from shoal.policy import Policy
from shoal.table.coding import Coding, n_beyond
from shoal.table.table import Table
from tests.naive import coding as naive

records_of_persons = st.lists(
    st.tuples(st.integers(0, 8), st.one_of(st.none(), st.integers(-5, 9))), min_size=1, max_size=30
)
records_of_jobs = st.lists(
    st.tuples(st.integers(0, 8), st.one_of(st.none(), st.sampled_from(["a", "b", "c", "d", "other"]))),
    min_size=1, max_size=30,
)  # fmt: skip


def coded_table(records: list[tuple[int, Any]], coding: dict[str, Any], dtype: Any = None) -> Table:
    frame = pl.DataFrame(
        {"who": [person for person, _ in records], "value": pl.Series([v for _, v in records], dtype=dtype),
         "sex": ["f"] * len(records)}
    )  # fmt: skip
    schema = shoal.Schema(person="who", quasi=["sex"], kept=["value"], coded={"value": coding})
    return Table.from_frame(frame, schema)


@given(records_of_persons, st.integers(1, 4), st.booleans())
def test_codes_are_the_farthest_that_enough_persons_pass(records: list[tuple[int, Any]], k: int, as_text: bool) -> None:
    top, bottom = naive.top_code(records, k), naive.bottom_code(records, k)
    given_records = [(person, None if value is None else str(value)) for person, value in records]
    dtype = pl.String if as_text else pl.Int64
    for coding, low, high in (({"top": f"k={k}"}, None, top), ({"bottom": f"k={k}"}, bottom, None)):
        if top is None:
            with pytest.raises(SchemaError, match="Ask for fewer"):
                coded_table(given_records if as_text else records, coding, dtype)
            continue
        table = coded_table(given_records if as_text else records, coding, dtype)
        expected = [naive.coded(value, low, high) for _, value in records]
        assert table.frame["value"].cast(pl.Int64).to_list() == expected
        changed = [before != after for (_, before), after in zip(records, expected, strict=True)]
        persons = {person for (person, _), is_so in zip(records, changed, strict=True) if is_so}
        told = table.coded["value"]
        assert (told["records"], told["persons"]) == (sum(changed), len(persons))


@given(records_of_jobs, st.integers(1, 5))
def test_rare_categories_are_put_together(records: list[tuple[int, Any]], k: int) -> None:
    shown = naive.shown_categories(records, k, "other")
    table = coded_table(records, {"rare": f"k={k}"}, pl.String)
    expected = [value if value is None or value in shown else "other" for _, value in records]
    assert table.frame["value"].to_list() == expected


def test_shares_count_persons_and_not_records() -> None:
    records = [(person, person) for person in range(100)] + [(99, 99)] * 500
    assert coded_table(records, {"top": "98%"}).frame["value"].max() == 98  # two of a hundred are there or beyond
    assert coded_table(records, {"bottom": "2.5%"}).frame["value"].min() == 2
    assert coded_table([(p, "ab"[p == 0]) for p in range(100)], {"rare": "2%"}).frame["value"].n_unique() == 1


def test_days_are_coded_as_days() -> None:
    days = [date(1900 + year, 1, 1) for year in range(50)]
    for values in (days, [str(day) for day in days]):
        table = coded_table(list(enumerate(values)), {"bottom": "k=3", "top": "1940-06-30"})
        assert {str(table.frame["value"].min()), str(table.frame["value"].max())} == {"1902-01-01", "1940-06-30"}
        assert table.schema.codings["value"] == Coding(bottom="1902-01-01", top="1940-06-30")


@pytest.mark.parametrize(
    ("coding", "words"),
    [
        ({}, "by top, bottom or both"),
        ({"top": 5, "rare": "k=5"}, "by top, bottom or both"),
        ({"top": "5 or so"}, "must be a number"),
        ({"top": "120%"}, "must be a number"),
        ({"rare": 5}, "how many persons a category needs"),
        ({"top": 5, "bottom": 9}, "must lie below"),
        ({"top": 5, "bottom": "2020-01-01"}, "both be numbers"),
        ({"topp": 5}, "say some of"),
    ],
)
def test_what_is_no_coding_is_refused(coding: dict[str, Any], words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        shoal.Schema(quasi=["age"], coded={"age": coding})


@pytest.mark.parametrize(
    ("column", "coding", "words"),
    [
        (shoal.Nominal("age"), {"top": 5}, "only numbers and dates"),
        (shoal.Number("age"), {"rare": "k=5"}, "only categories"),
        (shoal.Nominal("age", shoal.Hierarchy.from_rows([["1", "*"]])), {"rare": "k=5"}, "has a hierarchy"),
    ],
)
def test_codings_go_with_the_kind_of_a_column(column: Any, coding: dict[str, Any], words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        shoal.Schema(quasi=[column], coded={"age": coding})


def test_values_that_are_no_numbers_are_not_left_as_they_are() -> None:
    with pytest.raises(SchemaError, match="'value' in 1 records") as told:
        coded_table([(1, "5"), (2, "much"), (3, "7")], {"top": 6})
    assert "much" not in str(told.value)
    with pytest.raises(SchemaError, match="whole numbers"):
        coded_table([(1, 5)], {"top": 4.5})
    with pytest.raises(SchemaError, match="must lie below"):
        coded_table([(1, 5), (2, 6)], {"top": "k=2", "bottom": "k=2"})


def test_only_columns_that_are_published_are_coded() -> None:
    schema = shoal.Schema(person="who", quasi=["sex"], coded={"who": {"top": 5}})
    with pytest.raises(SchemaError, match="'who' is no quasi-identifier"):
        schema.check_against(["who", "sex"])


# --- in a release -----------------------------------------------------------------------------------------------------


@pytest.fixture
def patients() -> pl.DataFrame:
    """Sixty persons with two records each: ages up to 99, three of them above 90, and two jobs that few have."""
    person = [p for p in range(60) for _ in range(2)]
    age = [20 + p % 40 if p < 56 else 85 + 4 * (p - 56) for p in person]
    job = ["clerk" if p < 30 else "nurse" if p < 57 else "judge" if p < 59 else "pope" for p in person]
    return pl.DataFrame(
        {"who": person, "age": age, "job": job, "income": [1000 + 10 * p for p in person], "flu": ["yes", "no"] * 60}
    )


CODED = {"age": {"top": "k=5"}, "job": {"rare": "k=3"}, "income": {"top": 1500, "bottom": 1100}}


def schema_of(coded: dict[str, Any]) -> shoal.Schema:
    quasi = [shoal.Number("age"), shoal.Nominal("job")]
    return shoal.Schema(person="who", quasi=quasi, sensitive=["flu"], kept=["income"], coded=coded)


OF_JOBS = {
    "columns": "noise;pram",
    "pram": "pram:columns=job;noise",
    "record-swap": "record-swap:columns=job:region=job;noise",
}
"""Masks without groups that do not take the column age by themselves, and what takes it beside them."""


@pytest.mark.parametrize("mask", [name for name, cls in MASKS.items() if cls.links_values and not cls.matches_anything])
def test_every_mask_shows_nothing_beyond_a_code(mask: str, patients: pl.DataFrame) -> None:
    if MASKS[mask].takes_groups:
        how: dict[str, Any] = {"models": [shoal.PersonKAnonymity(k=3)], "mask": mask}
    else:
        by = OF_JOBS.get(mask, f"{mask}:columns=age;pram")
        how = {"models": [], "mask": "columns", "by": by, "max_linkage": 1.0}
    release = shoal.protect(patients, schema_of(CODED), seed=1, allow_alone=True, **how)
    settled = release.schema.codings
    assert settled["age"] == Coding(top=59)  # the fifth person from above
    assert settled["job"].shown == ("clerk", "nurse")
    assert (release.data["income"].min(), release.data["income"].max()) == (1100, 1500)
    shown = " ".join(release.data["job"].drop_nulls().unique().to_list())
    assert "judge" not in shown
    assert "pope" not in shown
    if MASKS[mask].form != "noise":
        assert not n_beyond(release.data["age"], settled["age"], is_masked=True, is_rounded=False)
    assert release.to_dict()["coded"]["income"]["records"] == 2 * (10 + 9)
    assert any("1500 stands for 1500 and more" in note for note in release.notes)


@pytest.mark.parametrize("how", ["kind=additive", "kind=multiplicative", "kind=additive:round_to_domain=true"])
def test_noise_stops_at_the_codes_also_of_sensitive_numbers_and_of_days(how: str, tmp_path: Path) -> None:
    n = 80
    frame = pl.DataFrame(
        {"who": range(n), "age": [20 + p % 60 for p in range(n)], "weight": [50 + p / 7.0 for p in range(n)],
         "born": [date(1940 + p % 60, 3, 1) for p in range(n)], "pay": [f"{1000 + 10 * p}" for p in range(n)]}
    )  # fmt: skip
    coded = {
        "age": {"top": "k=5", "bottom": 30}, "weight": {"top": "95%", "bottom": 52.123456789},
        "born": {"top": "1990-01-01"}, "pay": {"bottom": 1100, "top": 1500},
    }  # fmt: skip
    schema = shoal.Schema(person="who", quasi=["age", "weight", "born"], sensitive=["pay"], coded=coded)
    by = f"noise:columns=age,weight,pay:{how};noise:columns=born"
    release = shoal.protect(frame, schema, [], mask="columns", by=by, max_linkage=1.0, seed=1)
    for name, coding in release.schema.codings.items():
        assert not n_beyond(release.data[name], coding, is_masked=False, is_rounded=False)
        if "round" not in how:  # six digits of a code are another number
            cells = {str(cell).removesuffix(".0") for cell in release.data[name]}
            assert {str(code) for code in (coding.top, coding.bottom) if code is not None} <= cells
    folder = release.write(tmp_path / "out", format="csv", report=False)
    assert not shoal.verify(shoal.read(folder / "release.csv").frame, release.schema, [], mask="columns").problems


@pytest.mark.parametrize("mask", ["mean", "individual-ranking"])
def test_means_of_many_digits_are_not_rounded_beyond_a_code(mask: str) -> None:
    frame = pl.DataFrame({"who": range(40), "weight": [50 + p / 7 for p in range(40)], "flu": ["yes", "no"] * 20})
    takes_groups = MASKS[mask].takes_groups
    models = [shoal.PersonKAnonymity(k=3)] if takes_groups else []
    how: dict[str, Any] = {"models": models, "max_linkage": None if takes_groups else 1.0}
    for top in ("k=5", 53.123456789):
        coded = {"weight": {"top": top, "bottom": 51.1234567891}}
        schema = shoal.Schema(person="who", quasi=["weight"], sensitive=["flu"], coded=coded)
        release = shoal.protect(frame, schema, mask=mask, seed=1, **how)
        assert not n_beyond(release.data["weight"], release.schema.codings["weight"], is_masked=True, is_rounded=False)


@pytest.mark.parametrize("step", [None, 5])
def test_ranges_that_reach_a_code_are_open_there(step: int | None, patients: pl.DataFrame) -> None:
    schema = shoal.Schema(
        person="who", quasi=[shoal.Number("age", round=step)], sensitive=["flu"], dropped=["job", "income"],
        coded={"age": {"top": 58, "bottom": 22}},
    )  # fmt: skip
    release = shoal.protect(patients, schema, [shoal.PersonKAnonymity(k=3)], seed=1)
    labels = release.data["age"].unique().to_list()
    assert sum(label.startswith("at least ") for label in labels) >= 1
    assert sum(label.endswith(" or less") for label in labels) >= 1
    for label in labels:
        if "-" in label:
            low, high = map(int, label.split("-"))
            assert low <= 58 or not step
            assert step or (low > 22 and high < 58)
    assert shoal.verify(release.data, release.schema, release.models).holds


def test_verify_refuses_a_value_beyond_its_code(patients: pl.DataFrame) -> None:
    release = shoal.protect(patients, schema_of(CODED), [shoal.PersonKAnonymity(k=3)], seed=1, allow_alone=True)
    wrong: list[tuple[str, Callable[[pl.Expr], pl.Expr]]] = [
        ("income", lambda column: column + 1),
        ("income", lambda column: column - 1),
        ("age", lambda column: column.str.replace("at least .*", "98")),
        ("age", lambda column: column.str.replace("at least .*", "57-61 or missing")),
        ("job", lambda column: column.str.replace("other", "pope")),
        ("job", lambda column: column.str.replace(".*", "{clerk, pope}")),
    ]
    for name, change in wrong:
        frame = release.data.with_columns(change(pl.col(name)).alias(name))
        answer = shoal.verify(frame, release.schema, release.models, allow_alone=True)
        assert not answer.holds
        assert any(f"'{name}'" in problem and "beyond its code" in problem for problem in answer.problems)


def test_a_folder_keeps_what_counts_were_settled_to(tmp_path: Path, patients: pl.DataFrame) -> None:
    """Later records are coded alike, though by themselves they would be coded otherwise; and verify knows the codes."""
    release = shoal.protect(patients, schema_of(CODED), [shoal.PersonKAnonymity(k=3)], seed=1, allow_alone=True)
    release.write(tmp_path / "out", format="parquet")
    policy = Policy.load(tmp_path / "out" / "steward" / "policy.toml")
    assert policy.columns.coded == release.schema.codings
    assert Policy.from_document(policy.to_document()) == policy
    book = json.loads((tmp_path / "out" / "codebook.json").read_text(encoding="utf-8"))
    told = {entry["name"]: entry.get("coded") for entry in book["columns"]}
    assert told["age"] == {"top": 59}
    assert "59 stands for 59 and more" in (tmp_path / "out" / "codebook.html").read_text(encoding="utf-8")
    later = pl.DataFrame(
        {"who": [900, 901, 902], "age": [97, 98, 99], "job": ["pope", "king", "pope"], "income": [9, 9000, 1200],
         "flu": ["no", "yes", "no"]}
    )  # fmt: skip
    applied = shoal.apply(tmp_path / "out", later, all_new=True, max_suppressed=0)
    added = applied.frame.filter(pl.Series(applied.is_new))
    assert sorted(added["income"].to_list()) == [1100, 1200, 1500]
    assert not added["job"].str.contains("pope|king").any()


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_in_portions_values_are_coded_as_in_memory(tmp_path: Path, patients: pl.DataFrame, form: str) -> None:
    coded = {"age": {"top": 58, "bottom": 22}, "job": {"shown": ["clerk"]}, "income": {"top": 1500}}
    file = tmp_path / f"table.{form}"
    patients.write_csv(file) if form == "csv" else patients.write_parquet(file)
    models = [shoal.PersonKAnonymity(k=3)]
    made = protect_file(file, schema_of(coded), models, tmp_path / "out", portion=17, allow_alone=True)
    whole = shoal.protect(shoal.read(file), schema_of(coded), models, seed=1, allow_alone=True)
    assert made.told["coded"] == whole.told["coded"]
    shown = [
        shoal.read(tmp_path / "out" / f"release.{form}").frame if each is None else each.data
        for each in (None, whole)
    ]  # fmt: skip
    for name in ("age", "job", "income"):
        assert [sorted(map(str, frame[name].to_list())) for frame in shown][:1] == [
            sorted(map(str, frame[name].to_list())) for frame in shown
        ][1:]
    file_made = tmp_path / "out" / f"release.{form}"
    from shoal.engines.stream import verify_file

    assert verify_file(file_made, made.schema, models, allow_alone=True).holds
    stricter = schema_of({**coded, "income": {"top": 1400}})
    assert "beyond its code" in verify_file(file_made, stricter, models, allow_alone=True).problems[0]


def test_counts_of_persons_are_refused_in_portions_by_name(tmp_path: Path, patients: pl.DataFrame) -> None:
    patients.write_csv(tmp_path / "table.csv")
    with pytest.raises(ParameterError, match="The coding of 'age' and 'job' counts persons"):
        protect_file(tmp_path / "table.csv", schema_of(CODED), [shoal.PersonKAnonymity(k=3)], tmp_path / "out")
