"""The spanning tree and the longest edge as methods: what they keep to, what they refuse, what they say."""

from __future__ import annotations

import itertools
import math
import random
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import config

from shoal.errors import CannotSatisfyError, ParameterError, SchemaError, ShoalWarning
from shoal.grouping import person_points
from shoal.grouping.grouping import Grouping
from shoal.grouping.longest_edge import LongestEdge
from shoal.grouping.person_points import points_of_persons
from shoal.grouping.spanning_tree import SpanningTree, classes_of_persons
from shoal.grouping.tree_cutting import fewest_persons
from shoal.judging.observation import Observation
from shoal.models import (
    GBalance,
    HAffiliation,
    JointDiversity,
    KAnonymity,
    LDiversity,
    Model,
    PersonKAnonymity,
    RecordRisk,
    TCloseness,
)
from shoal.table.schema import Nominal, Schema
from shoal.table.table import Table
from tests.grouping.tables import Small, assume_clear, small_tables
from tests.naive import spanning as naive

METHODS = [SpanningTree(), SpanningTree(alpha=1, repair=False), LongestEdge()]
MANY = 300 if config.DISABLE_JIT else 6000
PLAIN = Schema(person="person", quasi=["age", "height"], sensitive=["disease"])


def frame_of(n: int, *, seed: int = 0, records: int = 1, steps: int = 40, n_classes: int = 3) -> pl.DataFrame:
    chance = random.Random(seed)
    rows = []
    for person in range(n):
        age, height = chance.randrange(steps), chance.randrange(steps)
        for _ in range(chance.randint(1, records)):
            rows.append((person, age + chance.randrange(3), height, f"d{int(n_classes * chance.random() ** 1.5)}"))
    return pl.DataFrame(rows, schema=["person", "age", "height", "disease"], orient="row")


def quietly(method: Any, table: Table, models: Sequence[Model] = ()) -> Grouping:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShoalWarning)
        grouping: Grouping = method.group(table, list(models))
    return grouping


def sets_of(grouping: Grouping) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(grouping.group_of_person == g).tolist()) for g in range(grouping.n_groups)}


def all_hold(table: Table, grouping: Grouping, models: Sequence[Model]) -> bool:
    seen = Observation(
        grouping.group_of_record(table), grouping.n_groups, table.person_of_record, table.n_persons, table.sensitive
    )
    counts = seen.counts(frozenset().union(*(model.needs for model in models)))
    return all(bool(model.holds(counts).all()) for model in models)


def class_counts(table: Table) -> list[list[int]]:
    found = classes_of_persons(table)
    counts: list[list[int]] = found.counts_of_kind[found.kind_of_person].tolist()
    return counts


def closeness(classes: naive.Classes, t: float) -> naive.Holds:
    """Whether the classes of a group are within t of those of the table, by total variation."""
    whole = naive.distribution(classes)

    def is_close(group: frozenset[int]) -> bool:
        counts = naive.added([classes[v] for v in group])
        return sum(abs(count / sum(counts) - share) for count, share in zip(counts, whole, strict=True)) / 2 <= t

    return is_close


MODELS: list[list[Model]] = [
    [],
    [KAnonymity(k=4)],
    [PersonKAnonymity(k=3), TCloseness(t="0.3")],
    [HAffiliation(h="0.9")],
    [GBalance(g="0.6")],
    [LDiversity(l=2, kind="distinct"), KAnonymity(k=2)],
    [JointDiversity(l=2)],
    [RecordRisk(rho="0.4"), HAffiliation(h="0.95", column="disease")],
]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: f"{method.name}-{getattr(method, 'alpha', '')}")
@pytest.mark.parametrize("models", MODELS, ids=lambda models: "+".join(model.name for model in models) or "none")
def test_every_group_has_m_persons_and_meets_every_model(method: Any, models: list[Model]) -> None:
    table = Table.from_frame(frame_of(90, records=3), PLAIN)
    grouping = quietly(method, table, models)
    assert np.bincount(grouping.group_of_person).min() >= fewest_persons(None, models)
    assert grouping.n_groups > 1
    assert not models or all_hold(table, grouping, models)


@given(small_tables(kinds=("number", "number"), max_persons=22, may_miss=False), st.sampled_from([2, 3]), st.booleans())
@settings(max_examples=40)
def test_methods_equal_the_plain_definition_under_a_model(small: Small, m: int, longest: bool) -> None:
    """The tree of persons with all their records, cut while both sides meet t-closeness too."""
    table = small.table
    if table.n_persons < 2 * m or table.sensitive["disease"].n_codes < 2:
        return
    points, classes = points_of_persons(table).points.tolist(), class_counts(table)
    start = int(table.person_of_record[0])
    edges = naive.grow(points, classes, alpha=1 if longest else 0.5, b=m, start=start)
    expected = naive.cut(edges, classes, m=m, longest=longest, holds=closeness(classes, 0.4001))
    method = LongestEdge(m=m) if longest else SpanningTree(m=m, repair=False)
    assert sets_of(quietly(method, table, [TCloseness(t="0.4001")])) == expected


def test_a_person_stands_at_the_mean_of_their_records_with_all_their_classes() -> None:
    frame = pl.DataFrame(
        {"person": [7, 7, 3, 5], "age": [10, 30, 10, 50], "height": [1.5, 1.5, 2.5, 2.0], "disease": list("abab")}
    )
    table = Table.from_frame(frame, PLAIN)
    assert points_of_persons(table).points.tolist() == [[0.0, 1.0], [1.0, 0.5], [0.25, 0.0]]
    classes = classes_of_persons(table)
    assert classes.counts_of_kind[classes.kind_of_person].tolist() == [[1, 0], [0, 1], [1, 1]]
    assert classes.whole.tolist() == [0.5, 0.5]


def test_several_sensitive_attributes_are_one_compound_class() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "a": ["x", "x", "y", "y"], "b": ["p", "q", "p", "p"]})
    classes = classes_of_persons(Table.from_frame(frame, Schema(quasi=["age"], sensitive=["a", "b"])))
    assert classes.kind_of_person.tolist() == [0, 1, 2, 2]
    assert classes.whole.tolist() == [0.25, 0.25, 0.5]


NOMINAL = pl.DataFrame({"sex": list("fmfm"), "city": list("nswn"), "age": [0, 10, 5, 10], "d": list("abab")})
WITH_NOMINAL = Schema(quasi=[Nominal("sex"), Nominal("city"), "age"], sensitive=["d"])


def test_coded_nominal_quasi_identifiers_are_columns_of_0_and_1() -> None:
    located = points_of_persons(Table.from_frame(NOMINAL, WITH_NOMINAL), nominal="coded")
    assert located.points.tolist() == [[0, 1, 0, 0, 0], [1, 0, 1, 0, 1], [0, 0, 0, 1, 0.5], [1, 1, 0, 0, 1]]
    assert located.n_columns == 5
    (said,) = located.warnings
    assert "'sex' (2 categories), 'city' (3 categories) are nominal, coded as 0 and 1" in said
    assert "each category is a column of its own" in said


def test_two_different_categories_are_one_apart() -> None:
    located = points_of_persons(Table.from_frame(NOMINAL, WITH_NOMINAL))
    assert located.n_columns == 3
    for (i, one), (j, two) in itertools.combinations(enumerate(NOMINAL.rows()), 2):
        apart = (one[0] != two[0]) + (one[1] != two[1]) + ((one[2] - two[2]) / 10) ** 2
        assert ((located.points[i] - located.points[j]) ** 2).sum() == pytest.approx(apart, abs=1e-12)
    assert "two different categories are 1 apart" in located.warnings[0]


@pytest.mark.parametrize("nominal", ["zero-one", "coded"])
def test_persons_with_several_categories_stand_at_their_shares(nominal: str) -> None:
    frame = pl.DataFrame({"who": [1, 1, 2, 3], "city": ["n", "s", "s", "w"], "d": list("abab")})
    table = Table.from_frame(frame, Schema(person="who", quasi=[Nominal("city")], sensitive=["d"]))
    points = points_of_persons(table, nominal=nominal).points
    far, half = ((points[1] - points[2]) ** 2).sum(), ((points[0] - points[1]) ** 2).sum()
    assert far == pytest.approx(1 if nominal == "zero-one" else 2)
    assert half == pytest.approx(far / 4)


@pytest.mark.parametrize("method", [SpanningTree, LongestEdge])
def test_the_way_of_nominal_quasi_identifiers_matters_and_is_said(method: Any) -> None:
    frame = frame_of(80).with_columns(pl.Series("city", [f"c{number % 9}" for number in range(80)]))
    schema = Schema(person="person", quasi=["age", "height", Nominal("city")], sensitive=["disease"])
    table = Table.from_frame(frame, schema)
    found = []
    for nominal in ("zero-one", "coded"):
        with pytest.warns(ShoalWarning, match=r"'city' \(9 categories\) is nominal, coded as 0 and 1"):
            grouping = method(nominal=nominal).group(table, [])
        assert any("is nominal" in note for note in grouping.notes)
        found.append(sets_of(grouping))
    assert method is LongestEdge or found[0] != found[1]


def test_too_many_categories_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(person_points, "MOST_COORDINATES", 100)
    frame = frame_of(40).with_columns(pl.Series("city", [f"c{number}" for number in range(40)]))
    schema = Schema(person="person", quasi=["age", "height", Nominal("city")], sensitive=["disease"])
    with pytest.raises(SchemaError, match="'city' has 40 categories, too many"):
        SpanningTree().group(Table.from_frame(frame, schema), [])


@pytest.mark.parametrize("method", [SpanningTree(), LongestEdge()], ids=lambda method: method.name)
def test_a_constant_column_does_not_count_and_it_is_said(method: Any) -> None:
    frame = frame_of(40).with_columns(pl.lit(5).alias("floor"), pl.lit("x").alias("ward"))
    quasi = ["age", "floor", Nominal("ward"), "height"]
    table = Table.from_frame(frame, Schema(person="person", quasi=quasi, sensitive=["disease"]))
    with pytest.warns(ShoalWarning, match="'floor', 'ward' have one value only and do not count"):
        grouping = method.group(table, [])
    assert "'floor', 'ward' have one value only and do not count in distances." in grouping.notes
    plain = quietly(method, Table.from_frame(frame.drop("floor", "ward"), PLAIN))
    assert sets_of(grouping) == sets_of(plain)


def test_columns_of_any_extent_are_scaled() -> None:
    most = np.finfo(np.float64).max
    frame = pl.DataFrame({"far": [-most, most, 0.0, most / 3], "near": [1e-300, 2e-300, 3e-300, 1.7e-300]})
    table = Table.from_frame(frame, Schema(quasi=["far", "near"]))
    points = points_of_persons(table).points
    assert points[:, 0] == pytest.approx([0, 1, 0.5, 2 / 3])
    assert points[:, 1] == pytest.approx([0, 0.5, 1, 0.35])


@pytest.mark.parametrize("method", METHODS, ids=lambda method: f"{method.name}-{getattr(method, 'alpha', '')}")
def test_a_table_at_one_point_is_one_group(method: Any) -> None:
    frame = frame_of(MANY).with_columns(pl.lit(1).alias("age"), pl.lit(2).alias("height"))
    assert quietly(method, Table.from_frame(frame, PLAIN)).n_groups == 1


@pytest.mark.parametrize("method", METHODS, ids=lambda method: f"{method.name}-{getattr(method, 'alpha', '')}")
def test_duplicates_in_thousands_do_not_hang(method: Any) -> None:
    grouping = quietly(method, Table.from_frame(frame_of(MANY, steps=3), PLAIN))
    assert np.bincount(grouping.group_of_person).min() >= 3


@pytest.mark.parametrize("models", [[], [TCloseness(t="0.3")]], ids=["none", "t-closeness"])
@pytest.mark.parametrize("method", METHODS, ids=lambda method: f"{method.name}-{getattr(method, 'alpha', '')}")
def test_thousands_at_one_point_among_others_stay_together(method: Any, models: list[Model]) -> None:
    frame = frame_of(MANY + 300, steps=200)
    at_one_point = pl.col("person") < MANY
    columns = [pl.when(at_one_point).then(77).otherwise(name).alias(name) for name in ("age", "height")]
    table = Table.from_frame(frame.with_columns(columns), PLAIN)
    grouping = quietly(method, table, models)
    assert grouping.n_groups > 1
    assert np.bincount(grouping.group_of_person).min() >= 3
    assert len(set(grouping.group_of_person[:MANY].tolist())) == 1
    assert not models or all_hold(table, grouping, models)


def test_m_is_the_larger_of_k_and_person_k_else_three() -> None:
    assert fewest_persons(None, []) == 3
    assert fewest_persons(None, [KAnonymity(k=4), PersonKAnonymity(k=6), TCloseness(t="0.5")]) == 6
    assert fewest_persons(2, [KAnonymity(k=4)]) == 2


def test_a_smaller_m_than_k_still_meets_k() -> None:
    table = Table.from_frame(frame_of(60, records=3), PLAIN)
    grouping = quietly(SpanningTree(m=2), table, [KAnonymity(k=8)])
    assert np.bincount(grouping.group_of_record(table)).min() >= 8


@given(small_tables(kinds=("number", "number"), max_persons=24, may_miss=False), st.sampled_from([2, 3]), st.booleans())
@settings(max_examples=40)
def test_repair_equals_the_plain_definition(small: Small, m: int, with_model: bool) -> None:
    table = small.table
    if table.n_persons < 2 * m or table.sensitive["disease"].n_codes < 2:
        return
    points, classes = points_of_persons(table).points.tolist(), class_counts(table)
    models = [TCloseness(t="0.4001")] if with_model else []
    before = sets_of(quietly(SpanningTree(m=m, repair=False), table, models))
    holds = closeness(classes, 0.4001) if with_model else lambda group: True
    expected, closest = naive.repair(before, points, classes, m=m, holds=holds)
    assume_clear(closest)
    assert sets_of(quietly(SpanningTree(m=m), table, models)) == expected


def test_repair_says_what_it_has_changed() -> None:
    table = Table.from_frame(frame_of(400, steps=300), PLAIN)
    before, after = (quietly(SpanningTree(m=5, repair=repair), table) for repair in (False, True))
    largest = [int(np.bincount(grouping.group_of_person).max()) for grouping in (before, after)]
    said = (
        f"Groups of 10 or more persons, which the tree left, were parted: {before.n_groups:,} groups became "
        f"{after.n_groups:,}, and the largest, of {largest[0]:,} persons, one of {largest[1]:,}."
    )
    assert any(note.startswith(said) for note in after.notes)
    assert not any("parted" in note for note in before.notes)


def test_repair_parts_oversized_groups_and_only_those() -> None:
    table = Table.from_frame(frame_of(400, steps=300), PLAIN)
    before, after = (sets_of(quietly(SpanningTree(m=5, repair=repair), table)) for repair in (False, True))
    assert any(len(group) >= 10 for group in before)
    assert {group for group in before if len(group) < 10} <= after
    assert max(map(len, after)) < max(map(len, before))
    assert all(any(part <= group for group in before) for part in after)
    assert min(map(len, after)) >= 5


def test_repair_keeps_the_models() -> None:
    table = Table.from_frame(frame_of(400, steps=300), PLAIN)
    models = [TCloseness(t="0.3")]
    assert all_hold(table, quietly(SpanningTree(m=5), table, models), models)


def test_the_start_can_be_chosen_and_matters() -> None:
    table = Table.from_frame(frame_of(60), PLAIN)
    found = {frozenset(sets_of(quietly(SpanningTree(start=start), table))) for start in range(8)}
    assert len(found) > 1
    with pytest.raises(ParameterError, match="start names record 60, but the table has 60 records"):
        SpanningTree(start=60).group(table, [])


def test_groups_in_which_one_person_has_a_class_are_counted() -> None:
    """Also a person who has it in several records."""
    table = Table.from_frame(frame_of(60, records=3), PLAIN)
    with pytest.warns(ShoalWarning, match="groups hold a class of one person only"):
        grouping = SpanningTree().group(table, [])
    has = np.array(class_counts(table)) > 0
    groups = [has[grouping.group_of_person == group].sum(axis=0) for group in range(grouping.n_groups)]
    n_single = sum(bool((persons == 1).any()) for persons in groups)
    assert any(note.startswith(f"{n_single:,} of {grouping.n_groups:,} groups hold") for note in grouping.notes)


def test_nothing_is_said_where_every_class_is_shared() -> None:
    frame = pl.DataFrame({"age": range(16), "disease": list("aabb") * 4})
    table = Table.from_frame(frame, Schema(quasi=["age"], sensitive=["disease"]))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ShoalWarning)
        grouping = SpanningTree(m=8, repair=False).group(table, [])
    assert grouping.notes == ()


def test_lengths_over_the_root_of_columns_weigh_more() -> None:
    table = Table.from_frame(frame_of(80), PLAIN)
    points, classes = points_of_persons(table).points.tolist(), class_counts(table)
    edges = naive.grow(points, classes, alpha=0.5, b=3, start=0, divisor=math.sqrt(2))
    expected = naive.cut(edges, classes, m=3)
    assert sets_of(quietly(SpanningTree(length="root", repair=False), table)) == expected
    assert sets_of(quietly(SpanningTree(repair=False), table)) != expected


def test_the_neighbourhood_can_be_chosen_and_matters() -> None:
    table = Table.from_frame(frame_of(60), PLAIN)
    found = [sets_of(quietly(SpanningTree(b=b, repair=False), table)) for b in (2, 3, 6, None)]
    assert found[1] == found[3], "by default it is m"
    assert found[0] != found[1] != found[2]


def test_many_classes_give_the_same_tree_as_few() -> None:
    """With more kinds than trees one search goes over all of them."""
    table = Table.from_frame(frame_of(50, n_classes=20, records=2), PLAIN)
    classes = classes_of_persons(table)
    counts = classes.counts_of_kind[classes.kind_of_person].tolist()
    edges = naive.grow(points_of_persons(table).points.tolist(), counts, alpha=0.5, b=4, start=0)
    assert len(classes.counts_of_kind) > 12
    assert sets_of(quietly(SpanningTree(m=4, repair=False), table)) == naive.cut(edges, counts, m=4)


@pytest.mark.parametrize("method", [SpanningTree(m=5), LongestEdge(m=5)], ids=lambda method: method.name)
def test_too_few_persons_are_refused(method: Any) -> None:
    with pytest.raises(CannotSatisfyError, match="9 persons are too few for groups of at least 5"):
        method.group(Table.from_frame(frame_of(9), PLAIN), [])


@pytest.mark.parametrize("method", METHODS, ids=lambda method: f"{method.name}-{getattr(method, 'alpha', '')}")
def test_a_missing_number_is_refused(method: Any) -> None:
    frame = frame_of(40).with_columns(pl.when(pl.col("person") >= 2).then(pl.col("age")).alias("age"))
    with pytest.raises(SchemaError, match=r"'age' in 2 of 40 records"):
        method.group(Table.from_frame(frame, PLAIN), [])


def test_one_class_is_refused_by_the_spanning_tree_only() -> None:
    table = Table.from_frame(frame_of(40, n_classes=1), PLAIN)
    with pytest.raises(SchemaError, match="'disease' has the same value in all 40 records"):
        SpanningTree().group(table, [])
    assert LongestEdge().group(table, []).n_groups > 1


def test_no_sensitive_attribute_is_refused_by_the_spanning_tree_only() -> None:
    schema = Schema(person="person", quasi=["age", "height"], dropped=["disease"])
    table = Table.from_frame(frame_of(40), schema)
    with pytest.raises(SchemaError, match="none is named"):
        SpanningTree().group(table, [])
    assert LongestEdge().group(table, []).n_groups > 1


@pytest.mark.parametrize(
    "wrong",
    [{"alpha": -0.1}, {"alpha": 1.1}, {"alpha": float("nan")}, {"alpha": "half"}, {"alpha": True}, {"b": 1}, {"m": 0},
     {"m": 2.5}, {"start": -1}, {"start": None}, {"repair": 1}, {"repair": "no"}, {"nominal": "dummy"}, {"length": 2}],
    ids=str,
)  # fmt: skip
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        SpanningTree(**wrong)
    if next(iter(wrong)) in ("m", "nominal"):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            LongestEdge(**wrong)
