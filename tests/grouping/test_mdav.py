"""Mdav: groups of near persons that meet every model, whatever the order of records."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shoal import Nominal, Schema
from shoal.errors import CannotSatisfyError, ParameterError, SchemaError, ShoalWarning
from shoal.grouping import mdav
from shoal.grouping.grouping import Grouping
from shoal.grouping.mdav import Mdav, merge_broken, person_points
from shoal.grouping.spanning_tree import classes_of_persons
from shoal.models import GBalance, HAffiliation, KAnonymity, LDiversity, Model, PersonKAnonymity, RecordRisk, TCloseness
from shoal.table.table import Table
from tests.grouping.tables import Small, assume_feasible, small_tables
from tests.naive import mdav as naive

MODELS: list[list[Model]] = [
    [PersonKAnonymity(k=2)],
    [GBalance(g=0.5)],
    [RecordRisk(rho=0.5), KAnonymity(k=3)],
    [HAffiliation(h=0.5), GBalance(g=0.4)],
    [LDiversity(l=2, kind="entropy")],
    [TCloseness(t=0.5), PersonKAnonymity(k=2)],
]
WAYS = [Mdav(), Mdav(m=2), Mdav(m=2, variable=True), Mdav(variable=True, gamma=1.1), Mdav(m=2, distance="gower")]
MIXING = [Mdav(m=2, alpha=0.5), Mdav(alpha=0.0), Mdav(m=2, alpha=0.8, variable=True)]
pytestmark = pytest.mark.filterwarnings("ignore:.*too few for two groups")


def has_several_values(small: Small) -> bool:
    """Whether there are sensitive values to mix."""
    return len({record[-1] for record in small.records}) > 1


@settings(max_examples=80)
@given(small_tables(max_persons=40), st.sampled_from([*WAYS, *MIXING]), st.sampled_from(MODELS))
def test_every_group_meets_every_model(small: Small, method: Mdav, models: list[Model]) -> None:
    assume_feasible(small, models)
    assume(method.alpha == 1 or has_several_values(small))
    if (method.m or 0) > small.table.n_persons:
        return
    holds = small.holds(models)
    for group in small.groups(method.group(small.table, models)):
        assert holds([record for record in small.records if record[0] in group])


@settings(max_examples=60)
@given(
    small_tables(person_column=True, max_persons=30),
    st.sampled_from([*WAYS, *MIXING]),
    st.randoms(use_true_random=False),
)
def test_the_order_of_records_does_not_matter(small: Small, method: Mdav, chance: random.Random) -> None:
    models = [GBalance(g=0.4)]
    assume_feasible(small, models)
    assume(method.alpha == 1 or has_several_values(small))
    shuffled = Small(chance.sample(small.records, len(small.records)), small.attributes)
    assert shuffled.groups(method.group(shuffled.table, models)) == small.groups(method.group(small.table, models))


@settings(max_examples=60)
@given(
    small_tables(person_column=False, max_persons=30),
    st.sampled_from([*WAYS, *MIXING]),
    st.randoms(use_true_random=False),
)
def test_without_persons_groups_hold_the_same_records(small: Small, method: Mdav, chance: random.Random) -> None:
    """Records that are equal in everything cannot be told apart, so groups are compared by what they hold."""
    models = [HAffiliation(h=0.9)]
    assume_feasible(small, models)
    assume(method.alpha == 1 or has_several_values(small))
    order = chance.sample(range(len(small.records)), len(small.records))
    renamed = [(new, *small.records[old][1:]) for new, old in enumerate(order)]
    shuffled = Small(renamed, small.attributes, has_person_column=False)

    def held(table: Small) -> list[list[str]]:
        groups = table.groups(method.group(table.table, models))
        return sorted(sorted(str(table.records[i][1:]) for i in group) for group in groups)

    assert held(shuffled) == held(small)


@settings(max_examples=60)
@given(small_tables(max_persons=30), st.integers(1, 4), st.booleans(), st.sampled_from(["euclidean", "gower"]))
def test_without_need_to_merge_it_is_the_definition(small: Small, m: int, variable: bool, distance: Any) -> None:
    table = small.table
    if m > table.n_persons:
        return
    apart = naive.straight if distance == "gower" else naive.squared
    points = person_points(table, is_straight=distance == "gower")
    order = mdav._order_of_persons(points, table)
    rows = [tuple(row) for row in points[order].tolist()]
    expected = naive.variable_size(rows, m, 0.2, apart=apart) if variable else naive.fixed_size(rows, m, apart=apart)
    grouping = Mdav(m=m, variable=variable, distance=distance).group(table, [PersonKAnonymity(k=1)])
    found = [set(np.flatnonzero(grouping.group_of_person == group).tolist()) for group in range(grouping.n_groups)]
    assert found == [set(order[group].tolist()) for group in expected]


def test_distances_by_hand() -> None:
    """Numbers scaled to [0, 1]; two different categories are 1 apart; persons are the mean of their records."""
    frame = pl.DataFrame(
        {
            "person": ["a", "a", "b", "c"],
            "age": [10, 20, 30, 50],
            "sex": ["f", "f", "m", "f"],
            "city": ["x", "y", "y", "z"],
        }
    )
    table = Table.from_frame(frame, Schema(person="person", quasi=["age", Nominal("sex"), Nominal("city")]))
    points = person_points(table) / 2.0**mdav.MOST_GRID_BITS

    def squared(i: int, j: int) -> float:
        return float(((points[i] - points[j]) ** 2).sum())

    assert squared(0, 1) == pytest.approx((15 / 40) ** 2 + 1 + (0.5**2 + 0.5**2) / 2)
    assert squared(1, 2) == pytest.approx((20 / 40) ** 2 + 1 + 1)
    assert squared(0, 2) == pytest.approx((35 / 40) ** 2 + (0.5**2 + 0.5**2 + 1) / 2)


def line_of(values: list[int], diseases: list[str] | None = None) -> Table:
    frame = pl.DataFrame({"x": values, "disease": diseases or ["flu"] * len(values)})
    return Table.from_frame(frame, Schema(quasi=["x"], sensitive=["disease"]))


def groups_of(grouping: Grouping) -> list[list[int]]:
    return [np.flatnonzero(grouping.group_of_person == group).tolist() for group in range(grouping.n_groups)]


def test_clusters_are_found() -> None:
    table = line_of([1, 2, 3, 50, 51, 52, 100, 101, 102])
    assert sorted(groups_of(Mdav().group(table, []))) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]


def test_variable_size_keeps_clusters_of_different_sizes_together() -> None:
    table = line_of([1, 2, 3, 4, 100, 101, 102, 103, 104])
    assert sorted(groups_of(Mdav(variable=True, gamma=1.1).group(table, []))) == [[0, 1, 2, 3], [4, 5, 6, 7, 8]]
    assert sorted(map(len, groups_of(Mdav().group(table, [])))) == [3, 3, 3]


def test_m_is_the_larger_of_k_and_person_k_else_three() -> None:
    table = line_of(list(range(40)))
    for models, m in [
        ([], 3),
        ([GBalance(g=0.5)], 3),
        ([KAnonymity(k=4), PersonKAnonymity(k=7)], 7),
        ([KAnonymity(k=8), PersonKAnonymity(k=2)], 8),
        ([PersonKAnonymity(k=2)], 2),
    ]:
        assert min(map(len, groups_of(Mdav().group(table, models)))) == m
    assert min(map(len, groups_of(Mdav(m=5).group(table, [PersonKAnonymity(k=2)])))) == 5
    assert min(map(len, groups_of(Mdav(m=2).group(table, [PersonKAnonymity(k=4)])))) == 4


def test_a_broken_group_joins_the_nearest() -> None:
    diseases = ["flu", "flu", "flu", "flu", "cold", "asthma", "cold", "flu", "asthma"]
    table = line_of([1, 2, 3, 20, 21, 22, 100, 101, 102], diseases)
    grouping = Mdav().group(table, [LDiversity(l=2, kind="distinct")])
    assert sorted(groups_of(grouping)) == [[0, 1, 2, 3, 4, 5], [6, 7, 8]]


@settings(max_examples=60)
@given(small_tables(max_persons=40), st.sampled_from(MODELS))
def test_merging_leaves_groups_whole_and_those_that_hold_in_place(small: Small, models: list[Model]) -> None:
    assume_feasible(small, models)
    table = small.table
    points = person_points(table)
    start = Grouping((np.arange(table.n_persons) // 2).astype(np.int32), (table.n_persons + 1) // 2)
    merged = merge_broken(start, points, table, models)
    assert set(merged.group_of_person.tolist()) == set(range(merged.n_groups))
    for group in range(start.n_groups):
        assert len(set(merged.group_of_person[start.group_of_person == group].tolist())) == 1
    before = mdav._holds(start.group_of_person, start.n_groups, table, models)
    if before.all():
        assert (merged.group_of_person == start.group_of_person).all()


def test_too_few_persons_for_two_groups_are_one_and_told() -> None:
    with pytest.warns(ShoalWarning, match="5 persons are too few for two groups of 3"):
        assert Mdav().group(line_of([1, 2, 3, 4, 5]), []).n_groups == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Mdav().group(line_of([1, 2, 3, 4, 5, 6]), []).n_groups == 2
    with pytest.raises(ParameterError, match="m = 6 persons"):
        Mdav(m=6).group(line_of([1, 2, 3, 4, 5]), [])


def test_a_constant_column_and_duplicates() -> None:
    grouping = Mdav().group(line_of([7] * 3001), [])
    sizes = np.bincount(grouping.group_of_person)
    assert sizes.min() == 3
    assert sizes.max() <= 5


def test_too_many_categories_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mdav, "MOST_COORDINATES", 20)
    frame = pl.DataFrame({"city": list("abcdefgh")})
    with pytest.raises(SchemaError, match="'city' has 8 categories"):
        Mdav().group(Table.from_frame(frame, Schema(quasi=["city"])), [])


def test_classes_are_mixed_where_near_persons_share_one() -> None:
    """Two lines of neighbours, each of one disease: with alpha a group takes from both."""
    values = [*range(60), *range(60)]
    table = line_of(values, ["flu"] * 60 + ["cold"] * 60)
    groups = groups_of(Mdav(m=4, alpha=0.5).group(table, []))
    assert all(sum(person < 60 for person in group) == len(group) / 2 for group in groups)
    apart = line_of([value + 1000 * (at >= 60) for at, value in enumerate(values)], ["flu"] * 60 + ["cold"] * 60)
    assert all(len({p < 60 for p in group}) == 1 for group in groups_of(Mdav(m=4).group(apart, [])))
    mixed = groups_of(Mdav(m=4, alpha=0.1).group(apart, []))
    assert sum(len({person < 60 for person in group}) == 2 for group in mixed) > len(mixed) / 2


@settings(max_examples=60)
@given(small_tables(max_persons=30), st.integers(1, 4), st.booleans(), st.sampled_from([0.0, 0.5, 0.9]))
def test_mixing_classes_is_the_definition(small: Small, m: int, variable: bool, alpha: float) -> None:
    table = small.table
    assume(m <= table.n_persons and has_several_values(small))
    points = person_points(table)
    order = mdav._order_of_persons(points, table)
    classes = classes_of_persons(table)
    counts = classes.counts_of_kind[classes.kind_of_person]
    a_unit = 1.0 / (mdav._grid(table) * len(table.quasi))
    mixed = naive.Mixed(alpha, a_unit, counts[order].tolist(), classes.whole.tolist())
    rows = [tuple(row) for row in points[order].tolist()]
    expected = naive.variable_size(rows, m, 0.2, mixed) if variable else naive.fixed_size(rows, m, mixed)
    grouping = Mdav(m=m, variable=variable, alpha=alpha).group(table, [PersonKAnonymity(k=1)])
    found = [set(np.flatnonzero(grouping.group_of_person == group).tolist()) for group in range(grouping.n_groups)]
    assert found == [set(order[group].tolist()) for group in expected]


def test_without_classes_to_mix_alpha_is_refused() -> None:
    with pytest.raises(SchemaError, match=r"mdav is asked to mix sensitive values .* 'disease' has the same value"):
        Mdav(alpha=0.5).group(line_of([1, 2, 3, 4, 5, 6]), [])
    table = Table.from_frame(pl.DataFrame({"x": [1, 2, 3, 4, 5, 6]}), Schema(quasi=["x"]))
    with pytest.raises(SchemaError, match="no sensitive attribute is named"):
        Mdav(alpha=0.5).group(table, [])


@pytest.mark.parametrize(
    "options",
    [{"m": 0}, {"m": True}, {"m": 2.5}, {"variable": "yes"}, {"gamma": -1.0}, {"alpha": 1.1}, {"alpha": "half"}],
)
def test_options_are_checked(options: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        Mdav(**options)  # type: ignore[arg-type]


def test_progress_ends_at_everyone() -> None:
    told: list[tuple[str, float]] = []
    Mdav().group(line_of(list(range(9))), [], lambda stage, done: told.append((stage, done)))
    assert told[-1] == ("grouping", 1.0)


def test_gower_weighs_kinds_alike_by_hand() -> None:
    """Two columns: half an extent of age is half of a different sex, and not a quarter as squares have it."""
    frame = pl.DataFrame({"age": [0, 50, 100, 100], "sex": ["f", "f", "f", "m"], "job": ["a", "b", "c", "d"]})
    table = Table.from_frame(frame, Schema(quasi=["age", Nominal("sex"), Nominal("job")]))
    points = person_points(table, is_straight=True)
    apart = np.abs(points[:, None] - points[None]).sum(axis=2) / np.abs(points[2] - points[3]).sum() * 2
    assert apart[0].tolist() == [0.0, 1.5, 2.0, 3.0]  # ages and jobs differ, at the end sexes too


def test_strata_are_grouped_apart() -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"age": rng.integers(0, 90, 60), "land": ["x", "y", "z"] * 20})
    table = Table.from_frame(frame, Schema(quasi=["age"], kept=["land"]))
    grouping = Mdav(m=4, strata=["land"]).group(table, [PersonKAnonymity(k=4)])
    lands = frame.with_columns(pl.Series("group", grouping.group_of_person)).group_by("group")
    assert lands.agg(pl.col("land").n_unique())["land"].max() == 1
    assert grouping.n_groups == 15
    assert not grouping.notes
    with pytest.raises(CannotSatisfyError, match="3 of 3 strata have fewer than the 21 persons"):
        Mdav(m=21, strata="land").group(table, [PersonKAnonymity(k=2)])
    merged = Mdav(m=4, strata="land").group(table, [PersonKAnonymity(k=30)])
    assert "persons of several strata" in merged.notes[0]
    with pytest.raises(ParameterError, match="no such column"):
        Mdav(strata="lnad").group(table, [PersonKAnonymity(k=2)])
