"""Cells are hidden until everybody looks like enough others, by either meaning of a hidden cell, and no others are."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import CannotSatisfyError, ParameterError
from shoal.kernels import wildcards
from tests.naive.wildcards import fewest_by_known, matched

QUASI = ["town", "sex", "age"]
SCHEMA = shoal.Schema(
    person="person", quasi=[shoal.Nominal("town"), shoal.Nominal("sex"), shoal.Nominal("age")], sensitive=["ill"]
)


@st.composite
def tables(draw: st.DrawFn) -> pl.DataFrame:
    """Persons with one or two records, whose values may differ or be missing."""
    rows = [
        {
            "person": person,
            "town": draw(st.sampled_from(["a", "b", "c", None])),
            "sex": draw(st.sampled_from(["f", "m"])),
            "age": draw(st.sampled_from(["1", "2", "3"])),
            "ill": draw(st.sampled_from(["flu", "cold"])),
        }
        for person in range(draw(st.integers(4, 14)))
        for _ in range(draw(st.sampled_from([1, 1, 2])))
    ]
    return pl.DataFrame(rows, schema={"person": pl.Int64, **dict.fromkeys([*QUASI, "ill"], pl.String)})


def protected(frame: pl.DataFrame, meaning: str, k: int = 2, **more: Any) -> Any:
    return shoal.protect(
        frame, SCHEMA, [shoal.PersonKAnonymity(k=k)], method="cell-suppression", missing_matches=meaning, seed=1, **more
    )


@settings(max_examples=40)
@given(tables(), st.sampled_from(["none", "all"]), st.integers(2, 4))
def test_everybody_is_alike_enough_and_cells_are_shown_or_hidden(frame: pl.DataFrame, meaning: str, k: int) -> None:
    release = protected(frame, meaning, k)
    rows = release.data.select(QUASI).rows()
    persons = release.data["person"].to_list()
    if meaning == "all":
        assert min(found[0] for found in matched(rows, persons)) >= k
    else:
        for row in set(rows):
            assert len({person for other, person in zip(rows, persons, strict=True) if other == row}) >= k
    own = frame[release.published.record_of_published.tolist()].select(QUASI).rows()
    assert all(
        cell in ("*", was) for row, before in zip(rows, own, strict=True) for cell, was in zip(row, before, strict=True)
    )
    told = release.to_dict()
    assert told["suppressed_cells"] == sum(cell == "*" for row in rows for cell in row)
    assert told["suppressed_cells"] == sum(told["suppressed_cells_of_column"].values())
    again = shoal.verify(release.data, SCHEMA, list(release.models), mask=release.mask.name)
    assert again.verdict.models == release.verdict.models


@settings(max_examples=40)
@given(st.lists(st.tuples(*[st.integers(-1, 2)] * 3), min_size=1, max_size=12, unique=True), st.data())
def test_matches_are_those_of_the_definition(rows: list[tuple[int, ...]], data: st.DataObject) -> None:
    persons = np.array(data.draw(st.lists(st.integers(1, 4), min_size=len(rows), max_size=len(rows))))
    shown = [
        ["*" if cell < 0 else cell for cell in row] for row, n in zip(rows, persons, strict=True) for _ in range(n)
    ]
    expected = matched(shown, range(len(shown)))
    start = np.append(0, np.cumsum(persons))[:-1]
    found = wildcards.matched(np.array(rows, np.int32), np.column_stack([persons, persons]).astype(np.float64))
    assert found.tolist() == [list(expected[at]) for at in start]


def people(n: int = 40) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "person": range(n),
            "town": ["abc"[i * i % 3] for i in range(n)],
            "sex": ["fm"[i % 2] for i in range(n)],
            "age": [str(i % 5) for i in range(n)],
            "ill": ["flu" if i % 3 else "cold" for i in range(n)],
        }
    )


def test_what_is_important_is_hidden_less_and_limits_are_kept() -> None:
    plain = protected(people(), "all", 3).to_dict()["suppressed_cells_of_column"]
    dear = protected(people(), "all", 3, importance={"town": 9}).to_dict()["suppressed_cells_of_column"]
    assert dear["town"] <= plain["town"]
    most = max(plain, key=plain.get)
    with pytest.raises(CannotSatisfyError, match=f"'{most}' would be hidden in"):
        protected(people(), "all", 3, most_hidden=f"{most}=0")


def test_a_hidden_cell_that_matches_anything_hides_no_more_than_a_strict_one() -> None:
    strict, lenient = (protected(people(), meaning, 3) for meaning in ("none", "all"))
    assert lenient.to_dict()["suppressed_cells"] <= strict.to_dict()["suppressed_cells"]
    assert any("matching anything" in note for note in lenient.verdict.notes)
    assert not shoal.verify(lenient.data, SCHEMA, [shoal.PersonKAnonymity(k=3)]).holds  # strictly it does not


@pytest.mark.parametrize(
    ("options", "models", "told"),
    [
        ({"missing_matches": "all"}, [shoal.HAffiliation(h=0.9)], "groups overlap"),
        ({"missing_matches": "all"}, [shoal.RecordRisk(rho=0.5)], "groups overlap"),
        ({"importance": "town=0"}, [shoal.KAnonymity(k=2)], "above 0"),
        ({"mask": "mean"}, [shoal.KAnonymity(k=2)], "goes with the mask suppress"),
        ({"missing_matches": "some"}, [shoal.KAnonymity(k=2)], "'none' or 'all'"),
    ],
)
def test_what_cannot_be_promised_is_refused(options: dict[str, Any], models: list[Any], told: str) -> None:
    with pytest.raises(ParameterError, match=told):
        shoal.protect(people(), SCHEMA, models, method="cell-suppression", **options)


@settings(max_examples=40)
@given(tables(), st.integers(1, 4), st.integers(2, 4))
def test_whatever_few_columns_are_known_enough_persons_fit(frame: pl.DataFrame, m: int, k: int) -> None:
    asked = [shoal.SubsetK(k=k, m=m)]
    release = shoal.protect(frame, SCHEMA, asked, method="cell-suppression", missing_matches="all", seed=1)
    rows, persons = release.data.select(QUASI).rows(), release.data["person"].to_list()
    fewest = fewest_by_known(rows, persons, m)
    assert min(fewest) >= k
    assert release.verdict.models[0].reached == min(fewest)
    by_all = protected(frame, "all", k)
    assert release.to_dict()["suppressed_cells"] <= by_all.to_dict()["suppressed_cells"] or m < len(QUASI)
    published = frame.with_columns(person=pl.format("p{}", pl.col("person"))).fill_null("?")
    told = shoal.verify(published, SCHEMA, asked, mask="wildcards", allow_alone=True)
    own = fewest_by_known(published.select(QUASI).rows(), published["person"].to_list(), m)
    if published.group_by("person").agg(pl.col(QUASI).n_unique()).select(QUASI).max().row(0) == (1, 1, 1):
        assert told.verdict.models[0].reached == min(own)
        assert told.holds == (min(own) >= k)


def test_other_methods_meet_it_with_groups_of_enough_persons() -> None:
    release = shoal.protect(people(), SCHEMA, [shoal.SubsetK(k=4, m=2)], seed=1)
    assert release.risk.person_k >= 4
    assert "Whoever knows any 2 quasi-identifiers" in shoal.SubsetK(k=4, m=2).sentence()
