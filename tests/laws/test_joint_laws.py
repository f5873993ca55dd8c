"""Joint diversity and exponential l of every release, by brute force: also of values that are published apart."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import CannotSatisfyError
from shoal.grouping import METHODS, BalanceTree, Mondrian
from shoal.models import Model
from shoal.table.schema import Nominal, Schema
from tests.laws.spanned import is_refused
from tests.naive.covering import Caps, Member, exponential_l, joint_diversity

SENSITIVE = ("disease", "drug")
WAYS = [
    *(cls() for cls in METHODS.values() if cls.keeps_models),
    BalanceTree(cut="median"),
    Mondrian(spread="z-score"),
]


@dataclass(frozen=True)
class Persons:
    """Persons, each with a list of records (age, city, disease, drug)."""

    records_of_person: list[list[tuple[Any, ...]]]

    @property
    def schema(self) -> Schema:
        return Schema(person="person", quasi=["age", Nominal("city")], sensitive=SENSITIVE)

    @property
    def frame(self) -> pl.DataFrame:
        rows = [(f"p{person}", *record) for person, own in enumerate(self.records_of_person) for record in own]
        types = {"person": pl.String, "age": pl.Int64, "city": pl.String, "disease": pl.String, "drug": pl.String}
        return pl.DataFrame(rows, schema=types, orient="row")

    @property
    def members(self) -> list[Member]:
        return [member(record[2:] for record in own) for own in self.records_of_person]


def member(records: Any) -> Member:
    """All values of a person's records: excluding any of them excludes the person."""
    return frozenset((attribute, value) for record in records for attribute, value in enumerate(record))


@st.composite
def persons(draw: st.DrawFn, *, most_records: int) -> Persons:
    chance = random.Random(draw(st.integers(0, 2**32)))
    n_values = [draw(st.integers(2, 6)) for _ in SENSITIVE]
    skew = draw(st.sampled_from([1.0, 2.0]))
    spread = draw(st.sampled_from([2, 60]))

    def record() -> tuple[Any, ...]:
        values = (f"{name}{int(number * chance.random() ** skew)}" for name, number in zip("dt", n_values, strict=True))
        return (chance.randrange(spread), "abc"[chance.randrange(3)], *values)

    n_persons = draw(st.integers(2, 18))
    return Persons([[record() for _ in range(chance.randint(1, most_records))] for _ in range(n_persons)])


caps = st.sampled_from([None, {"drug": 1}, {"drug": 2}, {"drug": 0}, {"disease": 3, "drug": 2}])


def is_unfit(table: Persons, model: Model) -> bool:
    """Whether an attribute that is to be protected is constant, or the caps admit fewer than l values."""
    given_caps = getattr(model, "caps", None) or {}
    protected = [name for name in SENSITIVE if given_caps.get(name) != 0]
    is_constant = any(table.frame[name].n_unique() == 1 for name in protected)
    return is_constant or (set(given_caps) == set(SENSITIVE) and sum(given_caps.values()) < model.asked)


def naive_caps(model: Any) -> Caps:
    return {SENSITIVE.index(name): cap for name, cap in (model.caps or {}).items()}


def groups_of(release: shoal.Release, mask: str) -> list[list[list[tuple[Any, ...]]]]:
    """The records of each person of each group: as published, or as the steward knows them where they are apart."""
    frame = release.data if mask == "range" else release.published.linked
    key = ["age", "city"] if mask == "range" else ["group"]
    person = "person" if mask == "range" else "member"
    found: dict[Any, dict[Any, list[tuple[Any, ...]]]] = {}
    for row in frame.iter_rows(named=True):
        own = found.setdefault(tuple(row[name] for name in key), {}).setdefault(row[person], [])
        own.append(tuple(row[name] for name in SENSITIVE))
    return [list(own.values()) for own in found.values()]


@pytest.mark.parametrize(
    ("mask", "quasi_as", "most_records"),
    [("range", None, 1), ("range", None, 3), ("anatomize", "exact", 1), ("anatomize", "range", 1),
     ("anatomize", "exact", 3), ("anatomize", "range", 3), ("permute", "exact", 1), ("permute", "range", 1)],
)  # fmt: skip
@settings(max_examples=30)
@given(data=st.data(), method=st.sampled_from(WAYS), l=st.integers(1, 4), caps=caps)
def test_every_group_needs_l_values_to_delete_it(
    mask: str,
    quasi_as: str | None,
    most_records: int,
    data: st.DataObject,
    method: Any,
    l: int,  # noqa: E741
    caps: Any,
) -> None:
    table = data.draw(persons(most_records=most_records))
    model = shoal.JointDiversity(l=l, caps=caps)
    options = {} if quasi_as is None else {"quasi_as": quasi_as}
    is_too_low = joint_diversity(table.members, naive_caps(model)) < l
    if is_unfit(table, model) or is_too_low or is_refused(method, table.frame, table.schema, [model]):
        with pytest.raises((CannotSatisfyError, shoal.errors.SchemaError)):
            shoal.protect(table.frame, table.schema, [model], method=method, mask=mask, **options)
        return
    release = shoal.protect(table.frame, table.schema, [model], method=method, mask=mask, **options)
    reached = []
    seen: list[Member] = []
    for group in groups_of(release, mask):
        members = [member(own) for own in group]
        seen += members
        reached.append(joint_diversity(members, naive_caps(model)))
        assert reached[-1] >= l
    assert sorted(map(sorted, seen)) == sorted(map(sorted, table.members)), "nobody's values are lost or exchanged"
    assert len(reached) == release.risk.groups
    (verdict,) = release.verdict.models
    assert verdict.holds
    if verdict.checked_from == "published table, by a bound":
        assert min(reached) >= verdict.reached
    else:
        assert min(reached) == verdict.reached
    kept = {"tables": release.published.tables, "linked": release.published.linked}
    again = shoal.verify(release.data, table.schema, [model], mask=release.mask.name, **kept)
    assert again.verdict == release.verdict


@pytest.mark.parametrize("mask", ["range", "anatomize", "permute"])
@settings(max_examples=30)
@given(table=persons(most_records=1), method=st.sampled_from(WAYS), l=st.integers(1, 3))
def test_every_group_has_l_values_among_those_alike(mask: str, table: Persons, method: Any, l: int) -> None:  # noqa: E741
    model = shoal.ExponentialL(l=l)
    whole = [own[0][2:] for own in table.records_of_person]
    if is_unfit(table, model) or exponential_l(whole) < l or is_refused(method, table.frame, table.schema, [model]):
        with pytest.raises((CannotSatisfyError, shoal.errors.SchemaError)):
            shoal.protect(table.frame, table.schema, [model], method=method, mask=mask)
        return
    release = shoal.protect(table.frame, table.schema, [model], method=method, mask=mask)
    reached = [exponential_l([own[0] for own in group]) for group in groups_of(release, mask)]
    assert min(reached) >= l
    assert release.verdict.models[0].reached == min(reached)
    assert release.verdict.models[0].checked_from == ("published table" if mask == "range" else "steward")


@settings(max_examples=60)
@given(table=persons(most_records=2), l=st.integers(1, 4), caps=caps, data=st.data())
def test_verify_says_what_brute_force_says(table: Persons, l: int, caps: Any, data: st.DataObject) -> None:  # noqa: E741
    """Of any table, whatever made it: each group with its persons and the values of their records there."""
    frame = table.frame.with_columns(age=pl.col("age") % data.draw(st.integers(1, 3)), city=pl.lit("a"))
    model = shoal.JointDiversity(l=l, caps=caps)
    found: dict[Any, dict[Any, list[Any]]] = {}
    for person, age, _, *values in frame.rows():
        found.setdefault(age, {}).setdefault(person, []).append(values)
    reached = [joint_diversity([member(own) for own in group.values()], naive_caps(model)) for group in found.values()]
    (verdict,) = shoal.verify(frame, table.schema, [model]).verdict.models
    assert verdict.reached == min(reached)
    assert verdict.holds == (min(reached) >= l)
    assert verdict.broken_groups == sum(value < l for value in reached)
