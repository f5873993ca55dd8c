"""Full-domain generalization equals its definition, and does what its page says."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import CannotSatisfyError, ParameterError
from shoal.grouping.grouping import Grouping, without_left_out
from shoal.grouping.lattice import Lattice, Search
from shoal.judging.population_table import PopulationTable
from shoal.table.table import Table
from tests.laws.twins import twin_of
from tests.naive.full_domain import Best, Record, Tree, at_levels, full_domain, least_loss_of_a_sample

PATHS = [
    ("a1", "a", "ab", "*"), ("a2", "a", "ab", "*"), ("b1", "b", "ab", "*"), ("c1", "c", "cd", "*"),
    ("c2", "c", "cd", "*"), ("d1", "d", "cd", "*"),
]  # fmt: skip
TOWNS = shoal.Hierarchy.from_rows(PATHS)
SEXES = ["f", "m"]
MODELS = [
    shoal.KAnonymity(k=2), shoal.KAnonymity(k=4), shoal.PersonKAnonymity(k=2), shoal.PersonKAnonymity(k=3),
    shoal.HAffiliation(h="0.7"), shoal.RecordRisk(rho="0.6"), shoal.LDiversity(l=2, kind="distinct"),
]  # fmt: skip


def town_tree() -> Tree:
    values = [path[0] for path in PATHS]
    tree: Tree = {}
    for path in PATHS:
        below = [sum(other[level] == path[level] for other in PATHS) for level in range(4)]
        tree[path[0]] = (list(path), [(n - 1) / (len(values) - 1) for n in below])
    return {**tree, None: ([None, None, None, "*"], [0.0, 0.0, 0.0, 1.0])}


TREES: dict[str, Tree] = {
    "town": town_tree(),
    "sex": {value: ([value, "*"], [0.0, 1.0]) for value in [*SEXES, None]},
    "age": {value: ([value, "*"], [0.0, 1.0]) for value in range(3)},
}
SCHEMA = shoal.Schema(
    person="person", quasi=[shoal.Nominal("town", TOWNS), shoal.Nominal("sex"), shoal.Number("age")], sensitive=["ill"]
)


@st.composite
def tables(draw: st.DrawFn) -> list[Record]:
    """Persons with one to three records; towns and sexes may be missing, and may differ inside a person."""
    records: list[Record] = []
    for person in range(draw(st.integers(2, 9))):
        for _ in range(draw(st.integers(1, 3))):
            values = {
                "town": draw(st.sampled_from([path[0] for path in PATHS] + [None])),
                "sex": draw(st.sampled_from([*SEXES, None])),
                "age": draw(st.integers(0, 2)),
            }
            records.append((person, values, draw(st.sampled_from(["flu", "cold"]))))
    return records


def frame_of(records: list[Record]) -> pl.DataFrame:
    rows = [{"person": person, **values, "ill": ill} for person, values, ill in records]
    return pl.DataFrame(
        rows, schema={"person": pl.Int64, "town": pl.String, "sex": pl.String, "age": pl.Int64, "ill": pl.String}
    )


def holds_of(models: list[Any], records: list[Record]) -> Any:
    codes = {value: code for code, value in enumerate(sorted({ill for *_, ill in records}))}
    whole = [(person, codes[ill]) for person, _, ill in records]
    return lambda group: all(
        twin_of(model)([(person, codes[ill]) for person, _, ill in group], whole)[1] for model in models
    )


def found_by(records: list[Record], models: list[Any], may_leave_out: int, **ends: Any) -> Any:
    table = Table.from_frame(frame_of(records), SCHEMA)
    lattice = Lattice(table, models, may_leave_out=may_leave_out, weights=ends.get("weights"))
    search = Search(lattice, lowest=ends.get("lowest", (0, 0, 0)), highest=ends.get("highest", lattice.top), seconds=60)
    return table, lattice, search.run(lambda done: None)


@settings(max_examples=60)
@given(tables(), st.lists(st.sampled_from(MODELS), min_size=1, max_size=2, unique=True), st.integers(0, 4))
def test_the_best_levels_are_those_of_the_definition(
    records: list[Record], models: list[Any], may_leave_out: int
) -> None:
    table, lattice, found = found_by(records, models, may_leave_out)
    expected = full_domain(records, TREES, holds_of(models, records), may_leave_out=may_leave_out)
    assert (found.best is None) == (expected is None)
    if expected is None:
        return
    assert found.is_optimal
    assert found.best.loss == pytest.approx(expected.loss, abs=1e-8)
    there = at_levels(records, TREES, found.best.vector, holds_of(models, records), {})  # another that loses as little
    assert there.loss == pytest.approx(expected.loss, abs=1e-8)
    assert found.best.left_out == len(there.left_out) <= may_leave_out
    assert groups_of(table, *lattice.groups(found.best.vector)) == there.groups


def groups_of(table: Table, group_of_person: Any, n_groups: int) -> set[frozenset[Any]]:
    groups: list[set[Any]] = [set() for _ in range(n_groups)]
    for person, group in zip(table.frame["person"], group_of_person[table.person_of_record], strict=True):
        if group >= 0:
            groups[group].add(person)
    return {frozenset(group) for group in groups}


@settings(max_examples=25)
@given(tables(), st.sampled_from([(0, 1, 0), (1, 0, 1), (2, 1, 0)]), st.sampled_from([(3, 1, 1), (2, 1, 1)]))
def test_weights_and_ends_of_levels_are_kept(
    records: list[Record], lowest: tuple[int, ...], highest: tuple[int, ...]
) -> None:
    weights = {"town": 3.0, "sex": 0.5, "age": 1.0}
    models = [shoal.PersonKAnonymity(k=2)]
    _, _, found = found_by(records, models, 2, weights=list(weights.values()), lowest=lowest, highest=highest)
    expected = full_domain(
        records, TREES, holds_of(models, records), may_leave_out=2, weights=weights,
        lowest=dict(zip(TREES, lowest, strict=True)), highest=dict(zip(TREES, highest, strict=True)),
    )  # fmt: skip
    assert (found.best is None) == (expected is None)
    if expected is not None:
        assert found.best.loss == pytest.approx(expected.loss, abs=1e-8)
        assert all(low <= at <= high for low, at, high in zip(lowest, found.best.vector, highest, strict=True))


def a_town(n: int = 60) -> pl.DataFrame:
    towns = [path[0] for path in PATHS]
    return pl.DataFrame(
        {
            "person": [str(i) for i in range(n)],
            "town": [towns[(i * i) % 6] for i in range(n)],
            "sex": [SEXES[i % 7 % 2] for i in range(n)],
            "age": [i % 3 for i in range(n)],
            "ill": ["flu" if i % 4 else "cold" for i in range(n)],
        }
    )


def best_of(release: Any) -> Best:
    records = [(row["person"], row, row["ill"]) for row in a_town().to_dicts()]
    best = full_domain(
        records, TREES, holds_of(list(release.models), records), may_leave_out=release.suppressed_persons
    )
    assert best is not None
    return best


def test_a_release_shows_one_level_for_all_and_tells_it() -> None:
    release = shoal.protect(
        a_town(), SCHEMA, [shoal.PersonKAnonymity(k=5)], method="full-domain", max_suppressed="10%", seed=1
    )
    told = release.to_dict()
    assert told["levels"] == dict(zip(TREES, best_of(release).levels, strict=True))
    assert told["suppressed_persons"] == release.suppressed_persons <= 6
    assert told["lattice"]["loss"] == pytest.approx(best_of(release).loss)
    assert told["granularity"] == pytest.approx(told["lattice"]["explored"][0]["granularity"])
    assert told["lattice"]["is_optimal"]
    assert told["lattice"]["nodes"] == 16
    for key in ("max_gidr", "prosecutor_risk", "marketer_risk"):
        assert told["lattice"]["explored"][0][key] == pytest.approx(told[key])
    other = next(line for line in told["lattice"]["explored"] if line["max_gidr"] != told["max_gidr"])
    at = dict(zip(told["lattice"]["columns"], other["levels"], strict=True))
    there = shoal.protect(
        a_town(), SCHEMA, [shoal.PersonKAnonymity(k=5)], method="full-domain", max_suppressed="10%", seed=1,
        lowest=at, highest=at,
    ).to_dict()  # fmt: skip
    assert [other[key] for key in ("max_gidr", "prosecutor_risk", "marketer_risk")] == pytest.approx(
        [there[key] for key in ("max_gidr", "prosecutor_risk", "marketer_risk")]
    )
    level = told["levels"]["town"]
    assert set(release.data["town"]) <= {path[level] for path in PATHS}
    assert told["loss_of_column"]["town"] >= 0


def test_the_order_of_records_and_columns_of_others_change_nothing() -> None:
    models = [shoal.PersonKAnonymity(k=5)]
    once = shoal.protect(a_town(), SCHEMA, models, method="full-domain", max_suppressed=6)
    again = shoal.protect(
        a_town().sample(fraction=1, shuffle=True, seed=3), SCHEMA, models, method="full-domain", max_suppressed=6
    )
    assert (once.told["levels"], once.risk, once.utility.loss) == (
        again.told["levels"], again.risk, pytest.approx(again.utility.loss),
    )  # fmt: skip


def test_where_time_runs_out_it_says_how_far_from_the_best_it_may_be() -> None:
    models = [shoal.PersonKAnonymity(k=5)]
    best = shoal.protect(a_town(), SCHEMA, models, method="full-domain", max_suppressed=6).told["lattice"]
    hasty = shoal.protect(a_town(), SCHEMA, models, method="full-domain", max_suppressed=6, time_limit=0.0)
    lattice = hasty.told["lattice"]
    assert lattice["at_least"] <= best["loss"] <= lattice["loss"]
    assert not lattice["is_optimal"]
    assert any("Time ran out" in note for note in hasty.notes)


def test_later_records_are_masked_by_the_same_classes(tmp_path: Path) -> None:
    release = shoal.protect(
        a_town(), SCHEMA, [shoal.PersonKAnonymity(k=5)], method="full-domain", max_suppressed=6, lowest="town=1", seed=1
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release.write(tmp_path / "out", report=False)
    later = a_town(12).with_columns(pl.col("person") + "new")
    applied = shoal.apply(tmp_path / "out", later, SCHEMA, all_new=True, max_suppressed=12)
    level = release.told["levels"]["town"]
    label_of = {path[0]: path[level] for path in PATHS}
    before, after = set(release.data["town"]), applied.frame.filter(pl.Series(applied.is_new))
    assert applied.new_persons > 0
    assert set(after["town"]) <= before
    assert after["town"].value_counts().height <= len(set(label_of.values()))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"weights": "tow=1"}, "Did you mean 'town'"),
        ({"weights": "town"}, "column=number"),
        ({"weights": {"town": 0, "sex": 0, "age": 0}}, "some column"),
        ({"lowest": "town=4"}, "from 0 to 3"),
        ({"lowest": {"town": 2}, "highest": {"town": 1}}, "lowest lies above highest"),
    ],
)
def test_options_that_say_nothing_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ParameterError, match=told):
        shoal.protect(a_town(), SCHEMA, [shoal.KAnonymity(k=2)], method="full-domain", **options)


def test_levels_that_cannot_be_published_are_refused_with_what_it_would_take() -> None:
    with pytest.raises(CannotSatisfyError, match="max_suppressed"):
        shoal.protect(
            a_town(), SCHEMA, [shoal.PersonKAnonymity(k=30)], method="full-domain", highest={"town": 0, "age": 0}
        )


def test_a_method_leaves_out_no_more_than_it_may() -> None:
    table = Table.from_frame(a_town(6), SCHEMA)
    grouping = Grouping(Table.from_frame(a_town(6), SCHEMA).person_of_record * 0 - 1 + (table.person_of_record > 0), 1)
    with pytest.raises(CannotSatisfyError, match="1 of 6 persons would be left out"):
        without_left_out(table, grouping)


@pytest.mark.parametrize("share", ["5", "-1%", "101%", "5 percent", True, 1.5])
def test_a_budget_is_a_number_of_persons_or_a_share(share: Any) -> None:
    with pytest.raises(shoal.errors.ShoalError, match="such as '5%'"):
        shoal.protect(a_town(), SCHEMA, [shoal.KAnonymity(k=2)], max_suppressed=share)


PEOPLE = st.lists(
    st.fixed_dictionaries({"town": st.sampled_from([path[0] for path in PATHS]), "sex": st.sampled_from(SEXES)}),
    min_size=2, max_size=14,
)  # fmt: skip


@settings(max_examples=60)
@given(PEOPLE, PEOPLE, st.integers(1, 5), st.sampled_from([1.0, 0.6, 0.4]), st.integers(0, 4))
def test_the_best_levels_of_a_sample_are_those_of_the_definition(
    sample: list[dict[str, str]], others: list[dict[str, str]], k: int, mean_risk: float, may_leave_out: int
) -> None:
    schema = shoal.Schema(quasi=[shoal.Nominal("town", TOWNS), shoal.Nominal("sex")])
    table = Table.from_frame(pl.DataFrame(sample), schema)
    population = [*sample, *others]
    table = replace(table, beside=PopulationTable.of(pl.DataFrame(population), schema).beside(table))
    lattice = Lattice(table, [shoal.KMap(k=k), shoal.AverageRisk(r=str(mean_risk))], may_leave_out=may_leave_out)
    found = Search(lattice, lowest=(0, 0), highest=lattice.top, seconds=60).run(lambda done: None)
    trees = {"town": TREES["town"], "sex": TREES["sex"]}
    expected = least_loss_of_a_sample(
        sample, population, trees, k=k, mean_risk=mean_risk, may_leave_out=may_leave_out
    )  # fmt: skip
    assert (found.best is None) == (expected is None)
    if found.best is not None:
        assert found.best.loss == pytest.approx(expected, abs=1e-8)


def test_other_methods_lose_no_promise_that_this_one_keeps() -> None:
    rng = np.random.default_rng(2)
    town = pl.DataFrame({"town": rng.choice([path[0] for path in PATHS], 400), "sex": rng.choice(SEXES, 400)})
    schema = shoal.Schema(quasi=[shoal.Nominal("town", TOWNS), shoal.Nominal("sex")], weight="w")
    drawn = town.gather_every(8).with_columns(w=pl.lit(8.0))
    for model in (
        shoal.KMap(k=60, population=town), shoal.KMap(k=60, estimator="weights"), shoal.AverageRisk(r="0.1"),
        shoal.ExpectedReidentifications(n=0.5), shoal.PopulationUniqueness(share="0.001"),
        shoal.NoAttack(gain=59, cost=1, attacker="journalist", population=town),
    ):  # fmt: skip
        release = shoal.protect(drawn, schema, [model], method="full-domain", max_suppressed="10%", seed=1)
        assert release.verdict.holds
        assert release.to_dict()["lattice"]["is_optimal"]
