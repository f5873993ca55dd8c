"""Every table that leaves is counted by its own rows: releases of random chains against a plain reference."""

from __future__ import annotations

from fractions import Fraction
from statistics import median
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import CannotSatisfyError
from shoal.grouping import METHODS
from shoal.models.contract import Model
from shoal.publishing.related import Star, StarRelease, StarTable, protect_star, verify_star
from tests.naive import models as naive
from tests.naive import related

STAR = Star(
    {
        "person": StarTable(key="id"),
        "encounter": StarTable(key="encounter_id", links={"id": "person"}),
        "condition": StarTable(links={"encounter_id": "encounter"}),
    }
)
MODELS = [
    (shoal.RecordRisk(rho="0.6"), lambda records: naive.record_risk(records, rho=Fraction(3, 5)), False),
    (shoal.GBalance(g="0.5"), lambda records: naive.g_balance(records, g=Fraction(1, 2)), False),
    (shoal.KAnonymity(k=3), lambda records: (len(records), len(records) >= 3), False),
    (shoal.PersonKAnonymity(k=2), lambda records: (0, len({person for person, _ in records}) >= 2), False),
    (shoal.HAffiliation(h="0.8"), lambda records: naive.h_affiliation(records, h=Fraction(4, 5)), True),
]
Frames = dict[str, pl.DataFrame]


@st.composite
def chains(draw: Any) -> tuple[Frames, shoal.Schema]:
    """Persons with encounters and conditions: none, few, all of one person, or of nobody."""
    n = draw(st.integers(2, 12))
    owners = st.one_of(st.integers(0, n - 1), st.just(0))
    encounters = draw(st.lists(st.tuples(owners, st.integers(0, 2)), max_size=14))
    n_places = len(encounters)
    places = st.integers(0, n_places - 1) if n_places else st.nothing()
    conditions = draw(st.lists(st.tuples(places, st.sampled_from("abc")), max_size=20 if n_places else 0))
    persons = draw(st.lists(st.integers(20, 26), min_size=n, max_size=n))
    frames = {
        "person": pl.DataFrame({"id": [f"p{number}" for number in range(n)], "age": persons}),
        "encounter": pl.DataFrame(
            {
                "encounter_id": [f"e{place}" for place in range(n_places)],
                "id": [f"p{owner}" for owner, _ in encounters],
                "ward": [ward for _, ward in encounters],
            },
            schema={"encounter_id": pl.String, "id": pl.String, "ward": pl.Int64},
        ),
        "condition": pl.DataFrame(
            {"encounter_id": [f"e{place}" for place, _ in conditions], "icd": [icd for _, icd in conditions]},
            schema={"encounter_id": pl.String, "icd": pl.String},
        ),
    }
    roles = draw(st.sampled_from([{"quasi": ["age", "ward"]}, {"quasi": ["age"], "kept": ["ward"]}]))
    return frames, shoal.Schema(person="id", sensitive=["icd"], **roles)


def as_chain(tables: Any, quasi: tuple[str, ...]) -> related.Chain:
    """Published tables as the reference takes them."""
    person = [{"key": row["id"], "age": row["age"]} for row in tables["person"].iter_rows(named=True)]
    encounter = [
        {"key": row["encounter_id"], "parent": row["id"], **({"ward": row["ward"]} if "ward" in quasi else {})}
        for row in tables["encounter"].iter_rows(named=True)
    ]
    condition = [
        {"key": number, "parent": row["encounter_id"], "value": row["icd"]}
        for number, row in enumerate(tables["condition"].iter_rows(named=True))
    ]
    return [person, encounter, condition]


def naive_holds(chain: related.Chain, quasi: tuple[str, ...], judged: Any, *, is_about_values: bool) -> bool:
    """Whether every group of every view meets a model, none is one person's, and nobody stands in several."""
    if not related.is_shown_in_one_way(chain, list(quasi)):
        return False
    label_of = related.labels(chain, list(quasi))
    for name, records in related.views(chain):
        if is_about_values and not name.endswith("2"):
            continue
        for group in related.groups(records, label_of):
            if name.startswith("own") and len({person for person, _ in group}) < 2:
                return False
            if not judged([(person, said.get("value")) for person, said in group])[1]:
                return False
    return True


@pytest.mark.parametrize(("model", "judged", "is_about_values"), MODELS, ids=[each[0].name for each in MODELS])
@settings(max_examples=40, deadline=None)
@given(drawn=chains())
def test_random_chains_are_counted_as_they_leave(
    model: Model, judged: Any, is_about_values: bool, drawn: tuple[Frames, shoal.Schema]
) -> None:
    """What is released holds by the reference; what is refused could not be met by one group of all."""
    frames, schema = drawn
    raw = as_chain(frames, schema.quasi_names)
    answer = verify_star(frames, STAR, schema, [model], allow_alone=True)
    assert answer.holds == naive_holds(raw, schema.quasi_names, judged, is_about_values=is_about_values)
    for row in [row for table in raw for row in table]:
        row.update({name: "all" for name in schema.quasi_names if name in row})
    as_one_group = naive_holds(raw, schema.quasi_names, judged, is_about_values=is_about_values)
    try:
        release = protect_star(frames, STAR, schema, [model], seed=1, allow_alone=True)
    except CannotSatisfyError:
        assert not as_one_group
        return
    assert as_one_group
    published = as_chain(release.tables, schema.quasi_names)
    assert [len(rows) for rows in published] == [len(rows) for rows in raw]
    assert naive_holds(published, schema.quasi_names, judged, is_about_values=is_about_values)
    check_persons_per_group(release, published, schema)
    check_who_is_alone_by_rows(release, published, schema)


def rows_on_each(published: related.Chain) -> dict[object, tuple[Any, ...]]:
    """How many encounters each person has, and how many conditions each of these has."""
    return {
        person["key"]: tuple(
            sorted(sum(below["parent"] == row["key"] for below in published[2])
                   for row in published[1] if row["parent"] == person["key"])
        )
        for person in published[0]
    }  # fmt: skip


def check_who_is_alone_by_rows(release: StarRelease, published: related.Chain, schema: shoal.Schema) -> None:
    label_of = related.labels(published, list(schema.quasi_names))
    shapes = [(label_of[person], shape) for person, shape in rows_on_each(published).items()]
    n_alone = sum(shapes.count(shape) == 1 for shape in shapes)
    told = [note for note in release.verdict.notes if "alone in their group by how many rows" in note]
    assert len(told) == (n_alone > 0)
    assert all(note.startswith(f"{n_alone} of {len(shapes)} persons") for note in told)


def check_persons_per_group(release: StarRelease, published: related.Chain, schema: shoal.Schema) -> None:
    """What the verdict tells of each table is what the reference counts."""
    told = {table.name: table for table in release.verdict.tables}
    label_of = related.labels(published, list(schema.quasi_names))
    for depth, name in enumerate(STAR.tables):
        rows = related.own_rows(published, depth)
        persons = sorted(len({person for person, _ in group}) for group in related.groups(rows, label_of))
        assert (told[name].rows, told[name].groups) == (len(rows), len(persons))
        per_group = (persons[0], median(persons), persons[-1]) if rows else None
        assert told[name].persons_per_group == per_group


# One person owns all rows of a table, though many persons are there to be counted

VISITS = Star({"person": StarTable(key="id"), "visit": StarTable(links={"id": "person"})})
VISITS_SCHEMA = shoal.Schema(person="id", quasi=["age"], sensitive=["icd"])
ASKED = [shoal.RecordRisk(rho="0.6"), shoal.GBalance(g="0.6"), shoal.KAnonymity(k=10), shoal.PersonKAnonymity(k=5)]


def one_owner() -> Frames:
    """20 persons; all 10 visits are of one of them."""
    return {
        "person": pl.DataFrame({"id": range(20), "age": range(20, 40)}),
        "visit": pl.DataFrame({"id": [7] * 10, "icd": [f"C{number % 7}" for number in range(10)]}),
    }


@pytest.mark.parametrize("model", ASKED, ids=[model.name for model in ASKED])
def test_visits_that_are_all_of_one_person_are_not_released(model: Model) -> None:
    frames = one_owner()
    asked = f"'visit': {model.name} .*all 10 rows are those of one of 20 persons"
    with pytest.raises(CannotSatisfyError, match=asked):
        protect_star(frames, VISITS, VISITS_SCHEMA, [model], seed=1)
    alike = {**frames, "person": frames["person"].with_columns(age=pl.lit("20-39"))}
    answer = verify_star(alike, VISITS, VISITS_SCHEMA, [model])
    assert not answer.holds
    assert "In 1 of the 1 groups that have rows of 'visit' all of these rows are one person's." in answer.problems
    release = protect_star(frames, VISITS, VISITS_SCHEMA, [model], seed=1, max_suppressed=1)
    assert {name: table.height for name, table in release.tables.items()} == {"person": 19, "visit": 0}
    assert release.verdict.to_dict()["tables"][1] == {
        "name": "visit", "rows": 0, "persons": 0, "groups": 0, "persons_per_group": None, "alone_by": {},
        "models": [],
    }  # fmt: skip


def few_visitors(n: int = 120) -> Frames:
    """Every fourth person has visits, one to three of them."""
    rng = np.random.default_rng(5)
    owners = np.repeat(np.arange(0, n, 4), rng.integers(1, 4, len(range(0, n, 4))))
    return {
        "person": pl.DataFrame({"id": range(n), "age": rng.integers(20, 80, n), "income": rng.normal(size=n).round(2)}),
        "visit": pl.DataFrame({"id": owners, "icd": rng.choice(list("abcdef"), len(owners))}),
    }


@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if method.keeps_models])
def test_every_method_forms_groups_that_hold_in_every_table(method: str) -> None:
    """Not one group of all: a coarser grouping is found where a finer one leaves too few visitors in a group."""
    schema = shoal.Schema(person="id", quasi=["age", "income"], sensitive=["icd"])
    models = [shoal.PersonKAnonymity(k=3), shoal.RecordRisk(rho="0.5")]
    options = {"m": 3} if method in ("buckets", "anatomy") else {}
    release = protect_star(few_visitors(), VISITS, schema, models, seed=1, method=method, **options)
    person, visit = release.verdict.tables
    least = 1 if METHODS[method].is_one_for_all else 2  # levels of columns that have no hierarchy: shown or not
    assert person.groups == release.assessment.groups >= least
    assert visit.persons_per_group is not None
    assert visit.persons_per_group[0] >= 3
    assert all(model.holds for model in visit.models)


def test_a_budget_of_records_is_for_every_table() -> None:
    """Somebody with most of the visits is sampled down, though all tables joined would let them be."""
    frames = few_visitors()
    heavy = pl.DataFrame({"id": [0] * 60, "icd": ["a", "b"] * 30})
    frames["visit"] = pl.concat([frames["visit"], heavy])
    schema = shoal.Schema(person="id", quasi=["age", "income"], sensitive=["icd"])
    models = [shoal.RecordRisk(rho="0.4")]
    with pytest.raises(CannotSatisfyError, match=r"'visit': record-risk 0\.4 cannot be met by any grouping: all"):
        protect_star(frames, VISITS, schema, models, seed=1)
    release = protect_star(frames, VISITS, schema, models, seed=1, max_records=4)
    assert release.tables["visit"].group_by("id").len()["len"].max() == 4
    assert release.verdict.tables[1].models[0].reached <= 0.4
