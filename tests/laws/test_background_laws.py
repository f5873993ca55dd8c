"""Matching diversity of every release, by brute force; and nobody in it is vulnerable to what it was made against."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.attacking.mining.rules import Item, Rule, Rules
from shoal.errors import CannotSatisfyError, SchemaError
from shoal.grouping import METHODS, BalanceTree, Mondrian
from shoal.masking import MASKS
from shoal.table.schema import Nominal, Schema
from tests.laws.spanned import SPANNED
from tests.naive.matching_diversity import values_left

SENSITIVE = ("disease", "drug")
WAYS = [
    *(cls() for cls in METHODS.values() if cls.keeps_models),
    BalanceTree(cut="median"),
    Mondrian(spread="z-score"),
]
APART = [name for name, cls in MASKS.items() if not getattr(cls, "links_values", True)]
MANNERS = [
    *(
        (name, {}, most)
        for name, mask in MASKS.items()
        if name not in APART and mask.takes_groups and not mask.matches_anything
        for most in (1, 2)
    ),
    *((mask, {"quasi_as": shown}, 1) for mask in APART for shown in ("exact", "range")),
    *(("anatomize", {"quasi_as": shown}, 2) for shown in ("exact", "range")),
]
"""Every mask of groups that do not overlap, its ways to show quasi-identifiers, and the most records of a person."""

Person = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Small:
    """Persons, each with records (age, city, disease, drug), and rules that hold of them."""

    persons: list[Person]
    rules: Rules

    @property
    def schema(self) -> Schema:
        return Schema(person="person", quasi=["age", Nominal("city")], sensitive=SENSITIVE)

    @property
    def frame(self) -> pl.DataFrame:
        rows = [(f"p{person}", *record) for person, own in enumerate(self.persons) for record in own]
        types = {"person": pl.String, "age": pl.Int64, "city": pl.String, "disease": pl.String, "drug": pl.String}
        return pl.DataFrame(rows, schema=types, orient="row")

    def fewest_left(self, persons: list[Person], *, together: bool) -> int:
        """The fewest values of an attribute that somebody of a group may have, by trying everything."""
        codes = [sorted({record[2 + a] for own in self.persons for record in own}) for a in range(2)]
        own = [[frozenset(codes[a].index(r[2 + a]) for r in each) for a in range(2)] for each in persons]
        may = [
            [
                {c for c, v in enumerate(codes[a]) if not is_excluded(self.rules, each, SENSITIVE[a], v)}
                for a in range(2)
            ]
            for each in persons
        ]
        return min(min(left) for left in values_left(may, own, together=together))


def is_excluded(rules: Rules, person: Person, column: str, value: str) -> bool:
    """Whether a rule says of a person, by any of their records for each item, that they do not have a value."""
    satisfied = {("city", record[1]) for record in person} | {("age", str(record[0])) for record in person}
    return any(
        rule.never == Item(column, value) and all((item.column, item.node) in satisfied for item in rule.when)
        for rule in rules
    )


@st.composite
def small_tables(draw: st.DrawFn, *, most_records: int) -> Small:
    """A few persons in few cities; some of what no person of a city, or of an age, has is known never to be."""
    chance = random.Random(draw(st.integers(0, 2**32)))
    n_values = [draw(st.integers(2, 4)) for _ in SENSITIVE]

    def record() -> tuple[Any, ...]:
        values = (f"{name}{chance.randrange(number)}" for name, number in zip("dt", n_values, strict=True))
        return (chance.randrange(4), "ab"[chance.randrange(2)], *values)

    persons = [[record() for _ in range(chance.randint(1, most_records))] for _ in range(draw(st.integers(4, 7)))]
    rules = []
    for a, column in enumerate(SENSITIVE):
        for value in sorted({r[2 + a] for own in persons for r in own}):
            for place, name in ((1, "city"), (0, "age")):
                for node in sorted({r[place] for own in persons for r in own}, key=str):
                    about = [own for own in persons if any(r[place] == node for r in own)]
                    if all(r[2 + a] != value for own in about for r in own) and chance.random() < 0.5:
                        rules.append(Rule((Item(name, str(node)),), Item(column, value)))
    return Small(persons, Rules(tuple(rules)))


def groups_of(release: shoal.Release, small: Small) -> list[list[Person]]:
    """The persons of each group, by what the grouping was; those whose groups show alike are one group."""
    table = release.table
    names = table.frame["person"].to_list()
    record_of_person = {}
    for published, record in enumerate(release.published.record_of_published.tolist()):
        group = int(release.published.group_of_record[published])
        person = (
            int(names[record][1:])
            if len(release.published.group_of_record) == table.n_records
            else int(sorted(set(names))[record][1:])  # anatomized: one row per person
        )
        record_of_person[person] = group
    found: dict[int, list[Person]] = {}
    for person, group in record_of_person.items():
        found.setdefault(group, []).append(small.persons[person])
    return list(found.values())


@pytest.mark.parametrize(("mask", "options", "most_records"), MANNERS)
@settings(max_examples=20)
@given(data=st.data(), method=st.sampled_from(WAYS), l=st.integers(1, 3))
def test_everybody_may_have_l_values(
    mask: str,
    options: dict[str, str],
    most_records: int,
    data: st.DataObject,
    method: Any,
    l: int,  # noqa: E741
) -> None:
    small = data.draw(small_tables(most_records=most_records))
    if mask == "permute" and len(small.frame) > len(small.persons):
        return
    model = shoal.MatchingDiversity(l=l, rules=small.rules)
    together = mask not in APART
    can_be_met = small.fewest_left(small.persons, together=together) >= l
    try:
        release = shoal.protect(small.frame, small.schema, [model], method=method, mask=mask, **options)
    except (CannotSatisfyError, SchemaError):
        assert not can_be_met or method.name in SPANNED, "what the whole table meets is refused by some methods only"
        return
    assert can_be_met, "what the whole table breaks is refused"
    for group in groups_of(release, small):
        assert small.fewest_left(group, together=together) >= l
    kept = {
        "mask": mask,
        "tables": release.published.tables,
        "linked": release.published.linked,
        "excluded": release.published.excluded,
    }
    again = shoal.verify(release.data, small.schema, release.models, **kept)
    assert again.verdict == release.verdict
    for found in shoal.attacking.attack_background(release.data, small.schema, l=l, **kept):
        assert (found.vulnerable_by_matching, found.vulnerable_by_elimination) == (0, 0)
        assert (found.persons, found.contradicted_persons) == (len(small.persons), 0)
    if release.verdict.models[0].checked_from == "published table":
        shown = {"mask": mask, "tables": release.published.tables}
        for found in shoal.attacking.attack_background(release.data, small.schema, small.rules, l=l, **shown):
            assert (found.vulnerable_by_matching, found.vulnerable_by_elimination) == (0, 0)
    without_rules = shoal.verify(release.data, small.schema, [shoal.MatchingDiversity(l=l)], **kept)
    assert not without_rules.holds
    assert without_rules.verdict.models[0].checked_from == "not shown by the published table"
