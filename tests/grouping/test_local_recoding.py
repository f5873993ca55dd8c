"""Local recoding gives the groups of its plain definition, and what it publishes are nodes of hierarchies."""

from __future__ import annotations

import itertools
import random

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.grouping import LocalRecoding, local_recoding
from shoal.models import GBalance, HAffiliation, KAnonymity, LDiversity, Model, PersonKAnonymity, RecordRisk, TCloseness
from shoal.table.hierarchy import Hierarchy
from shoal.table.levels import levels_of
from shoal.table.schema import Nominal, Number, Schema
from shoal.table.table import Table
from tests.grouping.tables import Small, assume_feasible, small_tables
from tests.naive import recoding as naive

MODELS: list[list[Model]] = [
    [PersonKAnonymity(k=2)],
    [KAnonymity(k=3)],
    [GBalance(g=0.5)],
    [RecordRisk(rho=0.5), KAnonymity(k=3)],
    [HAffiliation(h=0.5), GBalance(g=0.4)],
    [LDiversity(l=2, kind="distinct"), PersonKAnonymity(k=2)],
    [LDiversity(l=2, kind="entropy")],
    [TCloseness(t=0.4)],
]
JOBS = Hierarchy.from_rows(
    [["nurse", "care", "health", "*"], ["doctor", "cure", "health", "*"], ["cook", "kitchen", "kitchen", "*"],
     ["baker", "kitchen", "kitchen", "*"], ["judge", "law", "law", "*"]]
)  # fmt: skip
AGES = Hierarchy.of_intervals(low=0, width=5, high=99)


def trees_of(small: Small) -> dict[str, naive.Tree]:
    trees = {}
    for name, kind in small.attributes:
        values = list({values[name] for _, values, _ in small.records})
        trees[name] = naive.tree_of_numbers(values) if kind == "number" else naive.tree_of_categories(values)
    return trees


def test_a_higher_level_may_lose_less() -> None:
    """Where the records of many persons differ they show nothing, but lie in one node of a higher level."""
    rows = [
        (0, 0, "a", None), (1, 0, "a", 68_141), (1, 0, "a", 83_367), (1, -1, "a", 68_141), (2, -1, "a", -17_339),
        (3, None, "a", -52_205), *[(4, -1, "a", -2_217)] * 4, *[(5, -1, "a", None)] * 2, (5, -1, None, None),
        (6, -1, None, 84_906), (6, 0, None, 54_483), (6, 0, "a", 62_682), (6, -1, None, 54_483),
    ]  # fmt: skip
    records = [(person, {"age": age, "city": city, "pay": pay}, "flu") for person, age, city, pay in rows]
    small = Small(records, [("age", "number"), ("city", "nominal"), ("pay", "number")])
    expected = {frozenset({1, 6}), frozenset({2, 4}), frozenset({0, 3, 5})}
    assert small.groups(LocalRecoding(effort="low").group(small.table, [PersonKAnonymity(k=2)])) == expected


@settings(max_examples=150)
@given(small_tables(), st.sampled_from(MODELS))
def test_it_gives_the_groups_of_its_definition(small: Small, models: list[Model]) -> None:
    assume_feasible(small, models)
    expected = naive.recoded(small.records, trees_of(small), small.holds(models))
    assert small.groups(LocalRecoding(effort="low").group(small.table, models)) == expected


@settings(max_examples=40)
@given(small_tables(person_column=True), st.sampled_from(MODELS), st.randoms(use_true_random=False))
def test_the_order_of_records_does_not_matter(small: Small, models: list[Model], chance: random.Random) -> None:
    assume_feasible(small, models)
    shuffled = Small(chance.sample(small.records, len(small.records)), small.attributes)
    for effort in ("low", "normal"):
        method = LocalRecoding(effort=effort)
        assert shuffled.groups(method.group(shuffled.table, models)) == small.groups(method.group(small.table, models))


@settings(max_examples=60, deadline=None)
@given(small_tables(max_persons=30), st.sampled_from(MODELS))
def test_looking_on_loses_no_more_and_keeps_every_model(small: Small, models: list[Model]) -> None:
    """By the plain definitions of the models and of what groups cover; persons of equal values stay together."""
    assume_feasible(small, models)
    trees, holds = trees_of(small), small.holds(models)
    before, after = (small.groups(LocalRecoding(effort=each).group(small.table, models)) for each in ("low", "normal"))
    assert naive.covered_by(small.records, trees, after) <= naive.covered_by(small.records, trees, before) + 1e-9
    for group in after:
        assert holds([record for record in small.records if record[0] in group])
    assert sorted(person for group in after for person in group) == sorted({record[0] for record in small.records})
    assert naive.keeps_kinds_together(small.records, trees, after)


def test_looking_on_closes_most_of_the_gap_to_the_best_of_all_groupings() -> None:
    """The plain twin finds the best by trying every grouping of whole kinds."""
    models: list[Model] = [PersonKAnonymity(k=2)]
    totals = {"low": 0.0, "high": 0.0, "best": 0.0}
    for seed in range(12):
        chance = random.Random(seed)
        records = [
            (place, {"age": chance.randrange(40), "job": chance.choice("ab"), "town": chance.choice("xyz")}, "flu")
            for place in range(7)
        ]
        small = Small(records, [("age", "number"), ("job", "nominal"), ("town", "nominal")], has_person_column=False)
        trees = trees_of(small)
        for effort in ("low", "high"):
            found = small.groups(LocalRecoding(effort=effort).group(small.table, models))
            totals[effort] += naive.covered_by(records, trees, found)
        totals["best"] += naive.least_covered(records, trees, small.holds(models))
    assert totals["best"] <= totals["high"] < totals["low"]
    assert totals["high"] - totals["best"] < 0.25 * (totals["low"] - totals["best"])


def workers(n: int, *, seed: int = 3) -> pl.DataFrame:
    chance = random.Random(seed)
    jobs = [*JOBS.values, *JOBS.values[:2] * 3]
    return pl.DataFrame(
        {
            "age": [chance.randrange(18, 70) for _ in range(n)],
            "job": [chance.choice(jobs) for _ in range(n)],
            "disease": [chance.choice(["flu", "gout", "none"]) for _ in range(n)],
        }
    )


SCHEMA = Schema(quasi=[Number("age", hierarchy=AGES), Nominal("job", hierarchy=JOBS)], sensitive=["disease"])


def test_persons_alike_at_the_lowest_levels_are_published_there() -> None:
    """Five cooks of 40 are as they are; a nurse and a doctor of one age band need one more level each."""
    frame = pl.DataFrame(
        {"age": [40] * 5 + [21, 23], "job": ["cook"] * 5 + ["nurse", "doctor"], "disease": ["flu"] * 7}
    )
    release = shoal.protect(frame, SCHEMA, [KAnonymity(k=2)], method="local-recoding", seed=1)
    seen = set(release.data.select("age", "job").cast(pl.String).unique().rows())
    assert seen == {("40", "cook"), ("20-24", "health")}


def test_with_hierarchies_a_balance_tree_loses_no_more_and_mondrian_loses_more() -> None:
    frame = workers(600)
    granularity = {
        method: shoal.protect(frame, SCHEMA, [KAnonymity(k=3)], method=method, seed=1).utility.granularity
        for method in ("local-recoding", "balance-tree", "mondrian")
    }
    assert granularity["balance-tree"] >= granularity["local-recoding"] > granularity["mondrian"]


def _node_above(hierarchy: shoal.Hierarchy, label: str) -> str:
    """The lowest node above all members of a set that is shown, or the node that is shown."""
    if not label.startswith("{"):
        return label
    paths = [hierarchy.path(member.partition("-")[0]) for member in label.strip("{}").split(", ")]
    return next(nodes[0] for nodes in zip(*paths, strict=True) if len(set(nodes)) == 1)


def test_granularity_is_what_the_published_nodes_cover() -> None:
    frame = workers(300)
    release = shoal.protect(frame, SCHEMA, [KAnonymity(k=4)], method="local-recoding", seed=1)
    n_values = {"care": 1, "cure": 1, "health": 2, "kitchen": 2, "law": 1, "*": 5}
    jobs, ages = [], []
    for label in release.data["job"].cast(pl.String):  # a set of nodes is shown where the node above it is the root
        jobs.append(
            (n_values["*" if label.startswith("{") else label] - 1) / 4 if label[0] in "{*" or label in n_values else 0
        )
    for label in release.data["age"].cast(pl.String):
        label = _node_above(AGES, label)
        low, _, high = label.partition("-")
        ages.append(1.0 if label == "*" else (int(high or low) - int(low)) / 99)
    assert release.utility.granularity == pytest.approx(1 - (np.mean(jobs) + np.mean(ages)) / 2, abs=1e-12)


@pytest.mark.parametrize("models", [[KAnonymity(k=7)], [KAnonymity(k=2), LDiversity(l=3, kind="distinct")]])
def test_nobody_is_left_out_and_every_model_is_met(models: list[Model]) -> None:
    release = shoal.protect(workers(101), SCHEMA, models, method="local-recoding", seed=1)
    assert release.verdict.holds
    assert len(release.data) == 101


def test_those_who_are_left_over_join_the_group_whose_loss_rises_least() -> None:
    frame = pl.DataFrame({"age": [20] * 4 + [60] * 4 + [22], "job": ["cook"] * 9, "disease": ["flu"] * 9})
    table = Table.from_frame(frame, SCHEMA)
    grouping = LocalRecoding().group(table, [KAnonymity(k=4)])
    assert grouping.n_groups == 2
    assert grouping.group_of_person[8] == grouping.group_of_person[0]


def test_vectors_come_from_the_least_loss_to_the_most_and_each_once() -> None:
    losses = [[(0, 0.0), (2, 0.3), (3, 1.0)], [(0, 0.0), (1, 1.0)], [(0, 0.0), (1, 0.3), (4, 0.9)]]
    found = list(local_recoding.vectors_of(losses, 1000))
    loss_of = [dict(own) for own in losses]
    order = [round(sum(loss_of[j][level] for j, level in enumerate(vector)), 12) for vector in found]
    assert order == sorted(order)
    every = {tuple(vector) for vector in itertools.product(*([level for level, _ in own] for own in losses))}
    assert len(found) == len(every) == len({tuple(vector) for vector in found})


def test_where_there_are_too_many_vectors_a_last_way_up_ends_at_everything() -> None:
    losses = [[(0, 0.0), (1, 0.1 * (j + 1))] for j in range(6)]
    found = list(local_recoding.vectors_of(losses, 10))
    assert len(found) == 10 + 6
    assert found[-1] == [1] * 6
    assert all(sum(np.abs(np.subtract(one, other))) == 1 for one, other in itertools.pairwise(found[10:]))


def test_levels_are_thinned_by_what_they_lose_least() -> None:
    losses = [[(0, 0.0), (1, 0.01), (2, 0.5), (3, 1.0)], [(0, 0.0), (1, 0.3), (2, 1.0)]]
    assert local_recoding.thinned(losses, 9) == [[(0, 0.0), (2, 0.5), (3, 1.0)], losses[1]]
    assert local_recoding.thinned(losses, 1) == [[(0, 0.0), (3, 1.0)], [(0, 0.0), (2, 1.0)]]


@pytest.mark.slow
def test_many_quasi_identifiers_still_end() -> None:
    chance = random.Random(1)
    frame = pl.DataFrame({f"q{j}": [chance.choice("ab") for _ in range(60)] for j in range(16)})
    table = Table.from_frame(frame, Schema(quasi=[Nominal(name) for name in frame.columns]))
    grouping = LocalRecoding().group(table, [PersonKAnonymity(k=3)])
    assert np.bincount(grouping.group_of_person).min() >= 3


def test_levels_of_a_number_and_of_what_is_missing() -> None:
    table = Table.from_frame(pl.DataFrame({"age": [10, 73, None, 11]}), Schema(quasi=["age"]))
    levels = levels_of(table.quasi["age"])
    assert levels.node[levels.code_of_record].tolist() == [
        [1, 0, 0, 0, 0], [3, 63, 15, 3, 0], [0, 64, 16, 4, 0], [2, 1, 0, 0, 0],
    ]  # fmt: skip
    assert levels.share[levels.code_of_record][2].tolist() == [0, 0, 0, 0, 1]
    shares = levels.share_of_groups(np.array([0, 1, 1, 0], np.int32), 2)
    assert shares.tolist() == [1 / 16, 1.0]
