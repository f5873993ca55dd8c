"""A release as whoever received it reads it."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.demo.clinics import clinics
from shoal.masking import MASKS

QUASI = ["age", shoal.Nominal("gender"), "zip"]
SCHEMA = shoal.Schema(person="name", quasi=QUASI, sensitive=["disease"], dropped=["admission"])
MODELS = [shoal.PersonKAnonymity(k=2), shoal.LDiversity(l=2, kind="distinct")]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    release = shoal.protect(clinics(), SCHEMA, MODELS, seed=7)
    return release.write(tmp_path_factory.mktemp("release") / "out", report=False)


def test_ranges_are_two_columns_of_numbers_and_sets_are_lists(written: Path) -> None:
    received = shoal.read_release(written)
    data = received.data
    assert data is not None
    assert data.columns == ["name", "age_lower", "age_upper", "gender", "zip_lower", "zip_upper", "disease"]
    assert data["age_lower"].dtype == data["zip_upper"].dtype == pl.Int64
    assert (data["age_lower"] <= data["age_upper"]).all()
    assert (data["age_lower"].min(), data["age_upper"].max()) == (clinics()["age"].min(), clinics()["age"].max())
    assert data["gender"].dtype == pl.List(pl.String)
    assert set(data["gender"].explode()) <= {"Male", "Female", None}
    assert repr(received) == "Received: mask range\n  data: 19 records of 7 columns"


def test_ranges_are_intervals_or_texts_where_asked(written: Path) -> None:
    apart, together, texts = (shoal.read_release(written, ranges=how).data for how in ("columns", "intervals", "texts"))
    assert apart is not None
    assert together is not None
    assert texts is not None
    assert together["age"].struct.field("upper").equals(apart["age_upper"].alias("upper"))
    assert texts["age"].dtype == pl.String
    assert texts.columns == together.columns


BESIDE = {
    "columns": "noise;pram",
    "noise": "noise:columns=age,zip;pram",
    "pram": "pram:columns=gender;noise",
    "rank-swap": "rank-swap:columns=age,zip;pram",
    "shuffle": "shuffle:columns=age,zip;pram",
    "individual-ranking": "individual-ranking:columns=age,zip;pram",
    "record-swap": "record-swap:columns=gender:region=gender;noise",
}
"""The mask, and one for the columns that it does not take."""


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_every_mask_is_read(mask: str, format: str, tmp_path: Path) -> None:
    frame = clinics().unique("name", maintain_order=True)
    if MASKS[mask].takes_groups:
        release = shoal.protect(frame, SCHEMA, [shoal.PersonKAnonymity(k=4)], mask=MASKS[mask]())
    else:
        release = shoal.protect(frame, SCHEMA, [], mask="columns", by=BESIDE[mask], max_linkage=1.0, seed=1)
    folder = release.write(tmp_path / "out", format=format, report=False)
    received = shoal.read_release(folder)
    assert received.data is not None
    assert received.data.height == len(frame)
    assert set(received.tables) == set(release.tables)
    if mask in ("mean", "perturb"):
        assert received.data["age"].dtype == pl.Float64
    for table in received.tables.values():
        assert table["group"].dtype.is_integer()


def test_what_is_hidden_or_missing_is_told_apart(tmp_path: Path) -> None:
    texts = ["-5 to -2", "7", "9 or less", "at least 3", "*", "1-2.5 or missing", None]
    sets = ["{a, b}", "a", "{a, missing}", "*", None, "b", "b"]
    days = ["2020-01-02", "2020-01-02 to 2020-03-04", None, None, None, None, None]
    frame = pl.DataFrame({"n": texts, "s": sets, "d": days})
    frame.write_parquet(tmp_path / "release.parquet")
    kinds = {"n": ("range", "number"), "s": ("set", "nominal"), "d": ("range", "date")}
    entries = [{"name": name, "role": "quasi", "form": form, "kind": kind} for name, (form, kind) in kinds.items()]
    book = {"made_by": "shoal", "format_version": 1, "mask": "range", "columns": entries}
    (tmp_path / "codebook.json").write_text(json.dumps(book), encoding="utf-8")
    data = shoal.read_release(tmp_path).data
    assert data is not None
    assert data["n_lower"].to_list() == [-5, 7, None, 3, None, 1, None]
    assert data["n_upper"].to_list() == [-2, 7, 9, None, None, 2.5, None]
    assert data["n_or_missing"].to_list() == [False] * 5 + [True, True]
    assert data["s"].to_list() == [["a", "b"], ["a"], ["a", None], None, [], ["b"], ["b"]]
    assert data["d_upper"].to_list()[:2] == [date(2020, 1, 2), date(2020, 3, 4)]


def test_a_folder_without_a_codebook_is_refused(tmp_path: Path) -> None:
    with pytest.raises(shoal.errors.InputError, match=r"holds no 'codebook\.json'"):
        shoal.read_release(tmp_path)


def test_a_codebook_that_names_files_elsewhere_is_refused(tmp_path: Path) -> None:
    book = {"made_by": "shoal", "columns": [], "tables": [{"file": "../secret.csv", "attribute": "disease"}]}
    (tmp_path / "codebook.json").write_text(json.dumps(book), encoding="utf-8")
    (tmp_path / "release.csv").write_text("a\n1\n", encoding="utf-8")
    with pytest.raises(shoal.errors.InputError, match="outside its folder"):
        shoal.read_release(tmp_path)


ODD = ["legs, arms", "legs", "arms", "*", "missing", "{legs, arms}", 'say "no"', '"quoted"', "-", "a-b", "", None]


@pytest.mark.parametrize("format", ["csv", "parquet"])
@given(st.lists(st.sampled_from(ODD), min_size=12, max_size=12), st.integers(2, 4))
@settings(max_examples=15)
def test_sets_of_odd_labels_come_back_as_what_the_group_has(
    tmp_path_factory: pytest.TempPathFactory, format: str, parts: list[str | None], k: int
) -> None:
    parts = [part or None for part in parts] if format == "csv" else parts  # where an empty text is a missing one
    frame = pl.DataFrame({"part": pl.Series(parts, dtype=pl.String), "age": range(12), "sick": ["yes", "no"] * 6})
    schema = shoal.Schema(quasi=[shoal.Nominal("part"), "age"], sensitive=["sick"])
    release = shoal.protect(frame, schema, [shoal.KAnonymity(k=k)], seed=1)
    folder = release.write(tmp_path_factory.mktemp("odd") / "out", format=format, report=False)
    data = shoal.read_release(folder).data
    assert data is not None
    group, origin = release.groups["group"].to_list(), release.published.record_of_published.tolist()
    for row, shown in enumerate(data["part"].to_list()):
        own = {parts[at] for at, other in zip(origin, group, strict=True) if other == group[row]}
        if shown is None:
            assert own == set(parts)
        elif own == {None}:
            assert shown == []
        else:
            assert sorted(map(repr, shown)) == sorted(map(repr, own))


STEPS = ("up to 5", "5 to 10", "10 to 20", "*", "at least 20", '"many"', "all or missing")


@given(st.lists(st.sampled_from([*STEPS, None]), min_size=12, max_size=12))
@settings(max_examples=15)
def test_ranges_of_odd_ordered_labels_come_back_with_both_ends(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str | None]
) -> None:
    frame = pl.DataFrame({"step": pl.Series(steps, dtype=pl.String), "age": range(12), "sick": ["yes", "no"] * 6})
    schema = shoal.Schema(quasi=[shoal.Ordered("step", order=STEPS), "age"], sensitive=["sick"])
    release = shoal.protect(frame, schema, [shoal.KAnonymity(k=2)], seed=1)
    data = shoal.read_release(release.write(tmp_path_factory.mktemp("odd") / "out", report=False)).data
    assert data is not None
    group, origin = release.groups["group"].to_list(), release.published.record_of_published.tolist()
    for row, (low, high) in enumerate(data.select("step_lower", "step_upper").rows()):
        own = [steps[at] for at, other in zip(origin, group, strict=True) if other == group[row]]
        places = sorted(STEPS.index(step) for step in own if step is not None)
        if places and (places[0], places[-1]) != (0, len(STEPS) - 1):
            assert (low, high) == (STEPS[places[0]], STEPS[places[-1]])
        else:
            assert (low, high) == (None, None)
        assert (None in own) == (data["step_or_missing"][row] if "step_or_missing" in data.columns else False)
