"""What a policy may give up: the fewest persons and records, never more than allowed, and it is said."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import ParameterError
from shoal.grouping.budget import within_budget
from shoal.models import (
    EntropyBalance,
    GBalance,
    HAffiliation,
    KAnonymity,
    LDiversity,
    Model,
    PersonKAnonymity,
    RecordRisk,
)
from shoal.table.schema import Schema
from shoal.table.table import Table
from tests.laws.twins import twin_of

SCHEMA = Schema(person="person", quasi=["age"], sensitive=["disease"])


def table_of(records_of_person: list[int], diseases: list[str] | None = None) -> Table:
    """Persons with so many records each; of one disease each, or of the diseases given a person."""
    rows = [
        (f"p{person}", 20 + person, (diseases or ["flu"] * len(records_of_person))[person])
        for person, own in enumerate(records_of_person)
        for _ in range(own)
    ]
    return Table.from_frame(pl.DataFrame(rows, schema=["person", "age", "disease"], orient="row"), SCHEMA)


def spent(table: Table, models: list[Model], *, max_suppressed: int = 0, max_records: int | None = None) -> Table:
    rng = np.random.default_rng(1)
    return within_budget(table, models, max_suppressed=max_suppressed, max_records=max_records, rng=rng)


def holds(models: list[Model], records_of_person: list[int]) -> bool:
    """By the plain definitions, all persons in one group."""
    group: list[Any] = [(person, 0) for person, own in enumerate(records_of_person) for _ in range(own)]
    return all(twin_of(model)(group, group)[1] for model in models)


def fewest_left_out(models: list[Model], records_of_person: list[int], at_most: int) -> int | None:
    """How many persons must go so that the others (at least two) hold, trying all; None where no choice helps."""
    for n in range(min(at_most, len(records_of_person) - 2) + 1):
        for kept in itertools.combinations(records_of_person, len(records_of_person) - n):
            if holds(models, list(kept)):
                return n
    return None


def fewest_sampled(models: list[Model], records_of_person: list[int], max_records: int) -> int | None:
    """How many persons must be sampled down so that all hold, trying all; None where no choice helps."""
    heavy = [person for person, own in enumerate(records_of_person) if own > max_records]
    for n in range(len(heavy) + 1):
        for sampled in itertools.combinations(heavy, n):
            if holds(models, [max_records if p in sampled else own for p, own in enumerate(records_of_person)]):
                return n
    return None


counts = st.lists(st.one_of(st.integers(1, 4), st.integers(1, 30)), min_size=3, max_size=8)
one_model = st.sampled_from(
    [
        GBalance(g=0.5),
        GBalance(g=0.7),
        RecordRisk(rho=0.4),
        RecordRisk(rho=0.25),
        EntropyBalance(k=2),
        EntropyBalance(k=3),
        KAnonymity(k=12),
        PersonKAnonymity(k=4),
    ]
)
of_values = st.sampled_from(
    [
        [HAffiliation(h=0.5)],
        [LDiversity(l=2)],
        [HAffiliation(h=0.6), GBalance(g=0.6)],
        [LDiversity(l=2, kind="entropy")],
    ]
)


@settings(max_examples=80)
@given(counts, one_model, st.integers(0, 5))
def test_the_fewest_persons_are_left_out(records_of_person: list[int], model: Model, at_most: int) -> None:
    table = spent(table_of(records_of_person), [model], max_suppressed=at_most)
    fewest = fewest_left_out([model], records_of_person, at_most)
    assert table.suppressed_persons <= at_most
    assert table.n_persons + table.suppressed_persons == len(records_of_person)
    if fewest is not None:
        assert table.suppressed_persons == fewest
        assert holds([model], table.records_of_person.tolist())


@settings(max_examples=80)
@given(counts, one_model, st.integers(1, 6))
def test_the_fewest_persons_are_sampled_down(records_of_person: list[int], model: Model, max_records: int) -> None:
    before = table_of(records_of_person)
    table = spent(before, [model], max_records=max_records)
    fewest = fewest_sampled([model], records_of_person, max_records)
    heavy = [own for own in records_of_person if own > max_records]
    changed = Counter(records_of_person) - Counter(table.records_of_person.tolist())
    assert table.n_persons == len(records_of_person), "nobody is left out"
    assert table.suppressed_persons == 0
    assert sum(changed.values()) == (len(heavy) if fewest is None else fewest)
    if fewest is not None:
        assert holds([model], table.records_of_person.tolist())


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(1, 5), st.sampled_from(["flu", "flu", "cold", "asthma"])), min_size=3, max_size=12),
    of_values,
    st.integers(0, 4),
)
def test_never_more_than_allowed(persons: list[tuple[int, str]], models: list[Model], at_most: int) -> None:
    before = table_of([own for own, _ in persons], [disease for _, disease in persons])
    table = spent(before, models, max_suppressed=at_most)
    assert table.suppressed_persons <= at_most
    assert table.n_persons == before.n_persons - table.suppressed_persons >= 1


def test_of_the_commonest_value_the_fewest_are_left_out() -> None:
    """Six of eight persons have flu; h = 0.5 asks for two of four, so four of them go and no other."""
    table = spent(table_of([1] * 8, ["flu"] * 6 + ["cold"] * 2), [HAffiliation(h=0.5)], max_suppressed=8)
    assert table.suppressed_persons == 4
    assert sorted(table.frame["disease"]) == ["cold", "cold", "flu", "flu"]


def test_only_the_model_that_is_broken_says_who_goes() -> None:
    """A model names its column: the commonest value of another column is nobody's business."""
    rows = [(f"p{p}", p, "flu", "x" if p < 5 else "y") for p in range(8)]
    frame = pl.DataFrame(rows, schema=["person", "age", "disease", "drug"], orient="row")
    table = Table.from_frame(frame, Schema(person="person", quasi=["age"], sensitive=["disease", "drug"]))
    table = spent(table, [HAffiliation(h=0.5, column="drug")], max_suppressed=3)
    assert Counter(table.frame["drug"]) == {"x": 3, "y": 3}


def test_nothing_is_given_up_where_nothing_must_be() -> None:
    table = table_of([2, 2, 2, 2])
    kept = spent(table, [GBalance(g=0.5)], max_suppressed=3, max_records=1)
    assert (kept.frame is table.frame, kept.suppressed_persons, kept.may_leave_out) == (True, 0, 3)


def test_the_notes_say_what_was_left_out() -> None:
    table = spent(table_of([30, 2, 2, 2, 2]), [RecordRisk(rho="1/3")], max_records=4)
    assert table.records_of_person.tolist() == [4, 2, 2, 2, 2]
    assert table.notes == ("1 of 5 persons were sampled down to 4 records each: 26 of 38 records were left out.",)


def test_sampling_comes_first_then_persons_are_left_out() -> None:
    """Sampled down to five records, each of the two still has 5 of 20; without both, nobody has over 2 of 10."""
    table = spent(table_of([30, 30, 2, 2, 2, 2, 2]), [RecordRisk(rho=0.22)], max_suppressed=2, max_records=5)
    assert sorted(table.records_of_person.tolist()) == [2, 2, 2, 2, 2]
    assert table.suppressed_persons == 2
    assert len(table.notes) == 1


def test_which_records_are_kept_is_a_matter_of_the_seed() -> None:
    rows = [("p0", 30, f"d{i}") for i in range(40)] + [(f"p{p}", 30, "flu") for p in range(1, 6)]
    table = Table.from_frame(pl.DataFrame(rows, schema=["person", "age", "disease"], orient="row"), SCHEMA)

    def kept(seed: int) -> list[str]:
        rng = np.random.default_rng(seed)
        smaller = within_budget(table, [RecordRisk(rho=0.5)], max_suppressed=0, max_records=3, rng=rng)
        return smaller.frame.filter(pl.col("person") == "p0")["disease"].to_list()

    assert kept(1) == kept(1)
    assert len({tuple(kept(seed)) for seed in range(8)}) > 1
    assert len(kept(1)) == 3


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        ({"max_suppressed": -1}, "max_suppressed"),
        ({"max_suppressed": 1.5}, "max_suppressed"),
        ({"max_suppressed": True}, "max_suppressed"),
        ({"max_records": 0}, "max_records"),
        ({"max_records": 2.5}, "max_records"),
        ({"max_records": True}, "max_records"),
    ],
)
def test_a_budget_is_a_whole_number(budget: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        spent(table_of([1, 2, 3]), [GBalance(g=0.5)], **budget)
