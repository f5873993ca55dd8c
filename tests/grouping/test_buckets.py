"""Buckets and Anatomy: persons who could have changed places, groups that meet every model, nobody lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal import MatchingDiversity, Nominal, Schema
from shoal.attacking.mining import Item, Rule, Rules
from shoal.attacking.mining.adversary import against_adversary
from shoal.errors import CannotSatisfyError, ParameterError, SchemaError
from shoal.grouping import Anatomy, Buckets, buckets
from shoal.grouping.grouping import Grouping
from shoal.grouping.likeness import at_random, in_a_row
from shoal.grouping.model_check import Judge
from shoal.measuring.asking import random_queries
from shoal.measuring.associations import association_error_of
from shoal.measuring.queries import estimated_counts, query_error, query_error_of, true_counts
from shoal.models import GBalance, HAffiliation, JointDiversity, KAnonymity, LDiversity, Model, TCloseness
from shoal.table.hierarchy import Hierarchy
from shoal.table.schema import Number
from shoal.table.table import Table
from studies.data import MissingDataError, adult, data_file
from tests.grouping.tables import Small, assume_feasible, small_tables
from tests.naive.buckets import Person, are_compatible, fewest_values, may_have

MODELS: list[list[Model]] = [
    [LDiversity(l=2)],
    [LDiversity(l=3, kind="distinct")],
    [LDiversity(l="1.5"), KAnonymity(k=5)],
    [LDiversity(l=2, kind="distinct", count="persons"), GBalance(g=0.5)],
    [HAffiliation(h=0.6)],
    [TCloseness(t=0.5), LDiversity(l=2)],
]
ORDERS = ("similar", "balanced", "rarest")
WAYS = [*(Buckets(order=order, m=2) for order in ORDERS), Buckets(m=1), Anatomy(m=2)]


def groups_of(grouping: Grouping) -> list[list[int]]:
    found: dict[int, list[int]] = {}
    for person, group in enumerate(grouping.group_of_person.tolist()):
        found.setdefault(group, []).append(person)
    assert sorted(found) == list(range(grouping.n_groups)), "groups are numbered without a gap"
    return list(found.values())


@settings(max_examples=120)
@given(small_tables(max_persons=30, may_tell_nothing=True), st.sampled_from(WAYS), st.sampled_from(MODELS))
def test_every_group_meets_every_model(small: Small, method: Any, models: list[Model]) -> None:
    assume_feasible(small, models)
    holds = small.holds(models)
    for group in small.groups(method.group(small.table, models)):
        assert holds([record for record in small.records if record[0] in group])


# --- what an adversary knows -----------------------------------------------------------------------------------------

CITIES = ["east", "north", "south", "west"]


@st.composite
def known_persons(draw: st.DrawFn, *, most_values: int = 1) -> tuple[pl.DataFrame, Rules, list[Person]]:
    """Persons of some cities, in each of which some diseases do not occur, and that is known."""
    chance = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_values = draw(st.integers(2, 5))
    never = {city: {v for v in range(n_values) if chance.random() < 0.2} for city in CITIES}
    rows, persons = [], []
    for name in range(draw(st.integers(2, 12))):
        city = CITIES[chance.integers(4)]
        allowed = [v for v in range(n_values) if v not in never[city]]
        if not allowed:
            continue
        own = {int(chance.choice(allowed)) for _ in range(chance.integers(1, most_values + 1))}
        rows += [(f"p{name:02}", city, int(chance.integers(20, 60)), f"d{value}") for value in sorted(own)]
        persons.append(Person(frozenset(own), frozenset(never[city])))
    rules = [Rule((Item("city", city),), Item("disease", f"d{v}")) for city in CITIES for v in sorted(never[city])]
    frame = pl.DataFrame(rows, schema=["person", "city", "age", "disease"], orient="row")
    return frame, Rules(tuple(rules)), persons


SCHEMA = Schema(person="person", quasi=[Nominal("city"), "age"], sensitive=["disease"])


@settings(max_examples=120)
@given(known_persons(most_values=2))
def test_kinds_are_compatible_as_their_persons_are(drawn: tuple[pl.DataFrame, Rules, list[Person]]) -> None:
    frame, rules, persons = drawn
    if not persons:
        return
    table = Table.from_frame(frame, SCHEMA).against(rules, is_linked=False)
    kind_of_person, kinds = buckets.kinds_of(table, ("disease",), by_rules=True)
    for a, one in zip(kind_of_person, persons, strict=True):
        assert kinds.item_start[a + 1] - kinds.item_start[a] == len(one.has)
        for b, other in zip(kind_of_person, persons, strict=True):
            assert kinds.may_have[a, b] == may_have(one, other)
            assert kinds.compatible[a, b] == are_compatible(one, other)


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=40)
@given(drawn=known_persons(most_values=2), l=st.integers(1, 3))
def test_everybody_may_have_l_values_or_the_table_is_refused(
    order: str,
    drawn: tuple[pl.DataFrame, Rules, list[Person]],
    l: int,  # noqa: E741
) -> None:
    frame, rules, persons = drawn
    if len(persons) < 2 or len(persons) > 8:
        return
    table, models = against_adversary(
        Table.from_frame(frame, SCHEMA), [MatchingDiversity(l=l, rules=rules)], is_linked=False
    )
    if fewest_values(persons) < l:
        with pytest.raises(CannotSatisfyError, match="as one group"):
            Buckets(order=order).group(table, models)
        return
    for group in groups_of(Buckets(order=order).group(table, models)):
        assert fewest_values([persons[person] for person in group]) >= l


def test_one_bucket_holds_no_man_where_somebody_has_a_womens_disease() -> None:
    n = 60
    rows = [
        (20 + i % 7, "f" if i % 2 else "m", ["ovary", "flu", "cold", "gout"][(i * 7 + i // 4) % 4]) for i in range(n)
    ]
    frame = pl.DataFrame(rows, schema=["age", "sex", "disease"], orient="row")
    frame = frame.filter((pl.col("sex") == "f") | (pl.col("disease") != "ovary"))
    rules = Rules((Rule((Item("sex", "m"),), Item("disease", "ovary")),))
    schema = Schema(quasi=["age", Nominal("sex")], sensitive=["disease"])
    release = shoal.protect(
        frame, schema, [MatchingDiversity(l=3, rules=rules)], method="buckets", mask="anatomize", seed=4
    )
    of_group = release.data.group_by("group").agg(pl.col("sex"))
    for group, sexes in of_group.rows():
        values = release.published.tables["disease"].filter(pl.col("group") == group)["disease"].to_list()
        assert len(values) - ("ovary" in values and "m" in sexes) >= 3


# --- nobody is lost, and the order of records does not matter --------------------------------------------------------


def patients(n: int = 400, seed: int = 3) -> pl.DataFrame:
    """People whose disease goes with their age and city."""
    chance = np.random.default_rng(seed)
    age, city = chance.integers(20, 80, n), chance.integers(4, size=n)
    disease = (age // 12 + city * 2 + chance.integers(0, 5, n)) % 10
    columns = {"age": age, "city": np.array(CITIES)[city], "disease": [f"d{v}" for v in disease]}
    return pl.DataFrame(columns)


PATIENTS = Schema(quasi=["age", Nominal("city")], sensitive=["disease"])


@pytest.mark.parametrize("method", [*(Buckets(order=order) for order in ORDERS), Anatomy()])
@pytest.mark.parametrize("has_persons", [True, False])
def test_the_order_of_records_does_not_matter(method: Any, has_persons: bool) -> None:
    frame = patients().with_columns(pl.Series("name", [f"n{i}" for i in range(400)]))
    schema = (
        PATIENTS if not has_persons else Schema(person="name", quasi=["age", Nominal("city")], sensitive=["disease"])
    )
    frame = frame if has_persons else frame.drop("name")
    shuffled = frame[np.random.default_rng(1).permutation(400)]

    def seen(records: pl.DataFrame) -> Counter[tuple[Any, ...]]:
        table = Table.from_frame(records, schema)
        grouping = method.group(table, [LDiversity(l=3)], rng=np.random.default_rng(9))
        rows = records.with_columns(pl.Series("group", grouping.group_of_record(table))).sort(pl.all())
        groups = rows.group_by("group").agg(pl.exclude("group").sort_by(pl.struct(pl.exclude("group")))).drop("group")
        return Counter(tuple(map(str, row)) for row in groups.rows())

    assert seen(frame) == seen(shuffled)


def test_other_draws_give_other_groups() -> None:
    table = Table.from_frame(patients(), PATIENTS)
    for method in (Buckets(), Buckets(order="balanced"), Buckets(order="rarest"), Anatomy()):
        one, same, other = (
            method.group(table, [LDiversity(l=3)], rng=np.random.default_rng(seed)).group_of_person.tolist()
            for seed in (1, 1, 2)
        )
        assert one == same
        assert one != other
        assert method.group(table, [LDiversity(l=3)]).n_groups > 100, "without a generator it draws by itself"


def test_a_release_follows_its_seed() -> None:
    def shown(seed: int) -> list[Any]:
        release = shoal.protect(patients(), PATIENTS, [LDiversity(l=3)], method="buckets", seed=seed)
        return release.data.sort(pl.all()).rows()

    assert shown(5) == shown(5)
    assert shown(5) != shown(6)


def test_everybody_is_in_a_group_of_different_values() -> None:
    table = Table.from_frame(patients(), PATIENTS)
    found = Buckets().bucketize(table, [LDiversity(l=4)], rng=np.random.default_rng(0))
    assert (found.n_left_over, found.n_merged, found.n_kinds, found.grouping.n_groups) == (0, 0, 10, 100)
    assert found.grouping.notes == ()
    codes = table.sensitive["disease"].codes
    for group in groups_of(found.grouping):
        assert len(set(codes[group].tolist())) == len(group) == 4


def test_who_is_left_over_is_told_to_the_steward() -> None:
    release = shoal.protect(patients(403), PATIENTS, [LDiversity(l=4)], method="buckets", mask="anatomize", seed=1)
    assert any("3 of 403 persons found no bucket of their own" in note for note in release.notes)
    assert release.risk.k == 4


def test_buckets_are_merged_for_other_models() -> None:
    table = Table.from_frame(patients(), PATIENTS)
    models: list[Model] = [LDiversity(l=4), KAnonymity(k=10)]
    found = Buckets().bucketize(table, models, rng=np.random.default_rng(0))
    sizes = np.bincount(found.grouping.group_of_person)
    assert sizes.min() >= 10
    assert sizes.max() <= 20
    assert found.n_merged == 100 - found.grouping.n_groups
    assert f"{found.n_merged} buckets were merged with others" in found.grouping.notes[0]


def test_several_attributes_differ_all() -> None:
    chance = np.random.default_rng(8)
    frame = patients().with_columns(pl.Series("drug", [f"t{v}" for v in chance.integers(0, 7, 400)]))
    schema = Schema(quasi=["age", Nominal("city")], sensitive=["disease", "drug"])
    table = Table.from_frame(frame, schema)
    for model in (LDiversity(l=3), JointDiversity(l=3)):
        grouping = Buckets().group(table, [model], rng=chance)
        for group in groups_of(grouping):
            for column in table.sensitive.values():
                assert len(set(column.codes[group].tolist())) >= 3
    only = Buckets().group(table, [LDiversity(l=3, column="drug")], rng=chance)
    assert all(len(set(table.sensitive["drug"].codes[group].tolist())) >= 3 for group in groups_of(only))


def test_an_attribute_of_few_values_is_left_to_the_models() -> None:
    frame = patients().with_columns(pl.Series("alive", ["yes", "no"] * 200))
    table = Table.from_frame(frame, Schema(quasi=["age", Nominal("city")], sensitive=["disease", "alive"]))
    models: list[Model] = [JointDiversity(l=4, caps={"alive": 1})]
    assert buckets.columns_to_differ(table, models, 4) == ("disease",)
    judge = Judge(table, models)
    for group in groups_of(Buckets().group(table, models)):
        assert judge.holds(np.array(group, np.int32), np.array([0, len(group)])).all()


def test_where_no_bucket_can_be_formed_alike_persons_are_gathered() -> None:
    # everybody has both values, so that no two persons differ; the model of records can be met all the same
    rows = [(f"p{i:02}", i, value) for i in range(12) for value in ("a", "b")]
    frame = pl.DataFrame(rows, schema=["name", "age", "disease"], orient="row")
    table = Table.from_frame(frame, Schema(person="name", quasi=["age"], sensitive=["disease"]))
    found = Buckets(m=3).bucketize(table, [LDiversity(l=2)])
    assert found.n_left_over == 12
    assert sorted(map(len, groups_of(found.grouping))) == [3, 3, 3, 3]


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["buckets", "anatomy"])
def test_how_many_values_must_be_said(method: str) -> None:
    with pytest.raises(
        ParameterError, match=rf"The method {method} must know how many different values[\s\S]*l-diversity"
    ):
        shoal.protect(patients(), PATIENTS, [KAnonymity(k=3)], method=method)
    assert shoal.protect(patients(), PATIENTS, [KAnonymity(k=3)], method=method, m=3).risk.k >= 3


@pytest.mark.parametrize("m", [0, -1, True, 2.0, "3"])
def test_an_odd_number_of_persons_is_refused(m: Any) -> None:
    for cls in (Buckets, Anatomy):
        with pytest.raises(ParameterError, match="whole number of at least 1"):
            cls(m=m)


def test_an_unknown_order_is_refused() -> None:
    with pytest.raises(ParameterError, match="order must be 'similar', 'balanced' or 'rarest'"):
        Buckets(order="random")


def test_more_persons_than_there_are_is_refused() -> None:
    with pytest.raises(ParameterError, match="m = 500 persons per bucket were asked for, but there are 400 persons"):
        shoal.protect(patients(), PATIENTS, [LDiversity(l=2)], method="buckets", m=500)


def test_a_table_without_sensitive_attribute_is_refused() -> None:
    schema = Schema(quasi=["age", Nominal("city")], dropped=["disease"])
    with pytest.raises(SchemaError, match="no sensitive attribute is named"):
        shoal.protect(patients(), schema, [KAnonymity(k=2)], method="buckets", m=2)


def test_too_many_kinds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "MOST_KINDS", 9)
    with pytest.raises(SchemaError, match="There are 10 kinds of persons by their values of disease"):
        shoal.protect(patients(), PATIENTS, [LDiversity(l=2)], method="buckets")


# --- persons in a row ------------------------------------------------------------------------------------------------


def test_neighbours_in_the_row_are_alike() -> None:
    chance = np.random.default_rng(2)
    n = 2000
    frame = pl.DataFrame(
        {
            "age": chance.integers(20, 80, n),
            "income": chance.normal(size=n).round(4),
            "sex": chance.choice(["f", "m"], n),
            "city": chance.choice(CITIES, n),
            "disease": chance.choice(["a", "b", "c"], n),
        }
    )
    schema = Schema(quasi=["age", "income", Nominal("city"), Nominal("sex")], sensitive=["disease"])
    table = Table.from_frame(frame, schema)

    def steps(row: np.ndarray) -> dict[str, float]:
        ordered = frame[row]
        apart = {name: (ordered[name] != ordered[name].shift()).mean() for name in ("sex", "city")}
        return apart | {
            name: ordered[name].rank().diff().abs().mean() / n  # type: ignore[operator]
            for name in ("age", "income")
        }

    alike = steps(in_a_row(table, chance, window=1))
    anyhow = steps(at_random(table, chance))
    assert alike["sex"] <= 2 / n, "the column with the fewest categories changes once"
    assert alike["city"] <= 8 / n
    assert max(alike["age"], alike["income"]) < 0.1
    assert min(anyhow["age"], anyhow["income"]) > 0.3


def test_equal_persons_stand_in_random_order_and_nobody_is_moved_far() -> None:
    n = 1000
    frame = pl.DataFrame({"age": [30] * n, "disease": ["a"] * (n // 2) + ["b"] * (n // 2)})
    table = Table.from_frame(frame, Schema(quasi=["age"], sensitive=["disease"]))
    row = in_a_row(table, np.random.default_rng(0), window=1)
    assert abs(np.flatnonzero(row < n // 2).mean() - n / 2) < 40, "the order tells nothing of the values"
    apart = Table.from_frame(pl.DataFrame({"age": range(n), "disease": ["a"] * n}), table.schema)
    moved = np.abs(in_a_row(apart, np.random.default_rng(0), window=20) - np.arange(n))
    assert 0 < moved.max() <= 20


# --- against Anatomy -------------------------------------------------------------------------------------------------


def mean_error(table: Table, groupings: Sequence[Grouping], *, n: int = 400) -> float:
    queries = random_queries(table, n, seed=11)
    true = true_counts(table, queries)
    errors = [
        query_error(true, estimated_counts(table, grouping, queries, shown="group"), table.n_records).all
        for grouping in groupings
    ]
    return float(np.mean([error for error in errors if error is not None]))


@pytest.mark.slow
def test_alike_persons_answer_queries_better_than_persons_drawn_at_random() -> None:
    table = Table.from_frame(patients(3000), PATIENTS)
    models = [LDiversity(l=3)]
    drawn = [Anatomy().group(table, models, rng=np.random.default_rng(seed)) for seed in range(3)]
    alike = [Buckets().group(table, models, rng=np.random.default_rng(seed)) for seed in range(3)]
    assert mean_error(table, alike) < 0.7 * mean_error(table, drawn)


ADULT_QUASI = ("workclass", "education", "marital-status", "race", "sex")


def adult_table() -> tuple[pl.DataFrame, Schema]:
    """The paper's six quasi-identifiers, with hierarchies, and the occupation."""
    try:
        frame = adult().select("age", *ADULT_QUASI, "occupation").with_columns(pl.col("age").cast(pl.Int64))
        trees = {
            name: Hierarchy.read_arx_csv(data_file("adult", "hierarchies_arx", f"adult_hierarchy_{name}.csv"))
            for name in ("age", *ADULT_QUASI)
        }
    except MissingDataError as missing:
        pytest.skip(str(missing))
    quasi = [Number("age", hierarchy=trees["age"]), *(Nominal(name, hierarchy=trees[name]) for name in ADULT_QUASI)]
    return frame, Schema(quasi=quasi, sensitive=["occupation"])


@pytest.mark.data
@pytest.mark.long
@pytest.mark.parametrize("l", [3, 4, 5, 6])
def test_on_adult_nobody_is_vulnerable_and_less_is_lost_than_by_anatomy(l: int) -> None:  # noqa: E741
    frame, schema = adult_table()
    asked: dict[str, Any] = {"mask": "anatomize", "seed": 1, "measure_input": False}
    made = shoal.protect(frame, schema, [MatchingDiversity(l=l)], method="buckets", **asked)
    drawn = shoal.protect(frame, schema, [LDiversity(l=l)], method="anatomy", **asked)
    (of_made,) = shoal.attacking.attack_background(made.data, schema, made.rules, l=l, tables=made.published.tables)
    (of_drawn,) = shoal.attacking.attack_background(drawn.data, schema, made.rules, l=l, tables=drawn.published.tables)
    assert of_made.vulnerable_by_matching == 0
    assert of_drawn.vulnerable_by_matching > 300
    table, models = against_adversary(Table.from_frame(frame, schema), [MatchingDiversity(l=l)], is_linked=False)
    assert Buckets().bucketize(table, models, rng=np.random.default_rng(1)).n_left_over < 0.001 * len(frame)
    for release in (made, drawn):
        assert release.risk.groups > 0.99 * len(frame) / l
    wrong = {release.method.name: query_error_of(release, n=600, seed=3).all for release in (made, drawn)}
    assert wrong["buckets"] < 0.95 * wrong["anatomy"]
    lost = {release.method.name: association_error_of(release).confidence for release in (made, drawn)}
    assert lost["buckets"] < 0.97 * lost["anatomy"]
