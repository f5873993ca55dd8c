"""Posterior: equal to the definition over all ways to deal out; mined and stated chances; a release is verified."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.attacking.mining import Item, Knowledge, Rule, Rules
from shoal.attacking.mining.chances import mine_chances
from shoal.attacking.mining.knowledge import knowledge_rules
from shoal.cli.main import cli
from shoal.errors import CannotSatisfyError, ParameterError, PolicyError
from shoal.judging.observation import Observation
from shoal.models.counts import BACKGROUND
from shoal.policy import Policy
from shoal.policy.explain import explain
from shoal.policy.write import document_of, toml_of
from shoal.table.adversary import Known
from shoal.table.columns import category_column
from shoal.table.table import Table
from tests.naive.posterior import posteriors, unusual_rules

SCHEMA = shoal.Schema(person="who", quasi=[shoal.Nominal("sex"), "age"], sensitive=["disease"])


def patients(n: int = 120, seed: int = 3) -> pl.DataFrame:
    """Women have migraine three times as often as men; young persons have gout seldom."""
    draw = np.random.default_rng(seed)
    sex, age = draw.choice(["f", "m"], n), draw.integers(20, 60, n)
    chances = [[0.45 if s == "f" else 0.15, 0.05 if a < 40 else 0.25, 0.3, 0.3] for s, a in zip(sex, age, strict=True)]
    disease = [draw.choice(["migraine", "gout", "flu", "cold"], p=np.array(p) / sum(p)) for p in chances]
    return pl.DataFrame({"who": [f"p{i}" for i in range(n)], "sex": sex, "age": age, "disease": disease})


def likely(when: dict[str, str], value: str, chance: float) -> Rule:
    return Rule(tuple(Item(*item) for item in when.items()), Item("disease", value), chance=chance)


# --- the definition ------------------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=9),
    st.lists(st.sampled_from([0.2, 0.5, 1.0, 3.0]), min_size=12, max_size=12),
    st.fractions(Fraction(1, 10), 1, max_denominator=20),
)
@settings(deadline=None, max_examples=80)
def test_equal_to_the_definition(persons: list[tuple[int, int, int]], cells: list[float], c: Fraction) -> None:
    """Persons are (group, type, value)."""
    persons = [(sorted({g for g, _, _ in persons}).index(group), kind, value) for group, kind, value in persons]
    weight = np.array(cells).reshape(3, 4)
    column = category_column(pl.Series("disease", [f"v{value}" for _, _, value in persons]))
    shown = [int(text[1:]) for text in column.categories]
    groups = np.array([group for group, _, _ in persons], np.int32)
    known = Known({"disease": (np.array([kind for _, kind, _ in persons], np.int32), weight[:, shown])}, False)
    n = len(persons)
    seen = Observation(groups, int(groups.max()) + 1, np.arange(n, dtype=np.int32), n, {"disease": column}, known)
    counts = seen.counts(BACKGROUND)
    told = []
    for group in range(int(groups.max()) + 1):
        members = [(kind, value) for own, kind, value in persons if own == group]
        found = posteriors([list(weight[kind]) for kind, _ in members], [(value,) for _, value in members])
        told.append(max(max(each.values()) for each in found))
    model = shoal.Posterior(c=c)
    np.testing.assert_allclose(model.reached(counts), [float(each) for each in told], atol=1e-12)
    assert model.holds(counts).tolist() == [float(each) <= float(c) + 1e-9 for each in told]
    assert model.members_below(counts).any() == (not model.holds(counts).all())


def test_without_rules_it_is_the_share_of_a_value() -> None:
    table = patients().with_columns(sex=pl.lit("f"), age=pl.lit(30))
    share = table["disease"].value_counts()["count"].max() / len(table)
    release = shoal.protect(table, SCHEMA, [shoal.Posterior(c=0.5, rules=Rules())], seed=1)
    assert release.verdict.models[0].reached >= share - 1e-9
    with pytest.raises(CannotSatisfyError, match="is not met by the whole table"):
        shoal.protect(table, SCHEMA, [shoal.Posterior(c=0.2, rules=Rules())], seed=1)


@pytest.mark.parametrize("c", [0, -0.5, 1.5, "much"])
def test_a_limit_is_a_probability(c: object) -> None:
    with pytest.raises(ParameterError):
        shoal.Posterior(c=c)  # type: ignore[arg-type]


def test_methods_that_gather_need_not_meet_it_with_the_whole_table() -> None:
    """Merging may break it: what many men have is nearly all taken to be that of the women beside them."""
    others = ["flu", "cold", "gout", "ulcer", "asthma"]
    diseases = [*["migraine"] * 5, *others * 3, *["migraine"] * 10, *others * 2]
    table = pl.DataFrame({"sex": ["f"] * 20 + ["m"] * 20, "disease": diseases})
    schema = shoal.Schema(quasi=[shoal.Nominal("sex")], sensitive=["disease"])
    believed = Rules((Rule((Item("sex", "f"),), Item("disease", "migraine"), lift=16.0),))
    asked = [shoal.Posterior(c=0.55, rules=believed)]
    with pytest.raises(CannotSatisfyError, match="is not met by the whole table"):
        shoal.protect(table, schema, asked, seed=1)
    gathered = shoal.protect(table, schema, asked, method="mdav", m=20, seed=1)
    assert gathered.risk.groups == 2
    assert gathered.verdict.models[0].reached == pytest.approx(0.5)


# --- rules with exceptions -----------------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.sampled_from(["0.6", "0.9", "0.99"]))
@settings(deadline=None, max_examples=30)
def test_unusual_chances_are_mined_by_their_definition(seed: int, least: str) -> None:
    table = patients(40, seed=seed).drop("age")
    schema = shoal.Schema(person="who", quasi=[shoal.Nominal("sex")], sensitive=["disease"])
    mined = mine_chances(Table.from_frame(table, schema), min_expectation=Fraction(least))
    found = {(rule.when[0].node, rule.never.node, rule.support, pytest.approx(rule.lift).expected) for rule in mined}
    told = unusual_rules([{d} for d in table["disease"]], [{s} for s in table["sex"]], Fraction(least))
    assert {(n, v, s) for n, v, s, _ in found} == {(n, v, s) for n, v, s, _ in told}
    lift_of = {(n, v): float(lift) for n, v, _, lift in told}
    assert all(lift == pytest.approx(lift_of[n, v]) for n, v, _, lift in found)


def test_the_narrowest_rule_of_a_column_counts_and_columns_multiply() -> None:
    mined = {"source": "mined", "expectation": 0.9}
    rules = Rules((
        Rule((Item("age", "20-39"),), Item("disease", "flu"), 60, lift=2.0, **mined),
        Rule((Item("age", "20-29"),), Item("disease", "flu"), 30, lift=4.0, **mined),
        Rule((Item("sex", "f"),), Item("disease", "flu"), 50, lift=0.5, **mined),
        likely({"sex": "m"}, "gout", 0.0),
    ))  # fmt: skip
    people = pl.DataFrame({"who": ["a", "b", "c"], "sex": ["f", "m", "m"], "age": [25, 35, 50]})
    told = Rules((*rules[:3], Rule((Item("sex", "m"),), Item("disease", "gout")))).allowed(
        people, SCHEMA, "disease", ["flu", "gout"]
    )
    assert told.weight[told.type_of_person].tolist() == [[2.0, 1.0], [2.0, 0.0], [1.0, 0.0]]


def test_rules_with_chances_are_kept_as_json() -> None:
    mined = Rule((Item("sex", "f"),), Item("disease", "flu"), 12, 0.95, "mined", 1.25)
    rules = Rules((mined, likely({"sex": "m"}, "gout", 0.25), Rule((Item("sex", "m"),), Item("disease", "flu"))))
    assert Rules.from_json(rules.to_json()) == rules
    with pytest.raises(ParameterError, match="never"):
        Rule.from_dict({"when": {"sex": "f"}, "value": {"disease": "flu"}})


# --- stated chances ------------------------------------------------------------------------------------------------


def weights_of(table: pl.DataFrame, *facts: Rule) -> dict[tuple[str, str], float]:
    """The weight of each value for persons of each sex, by facts alone."""
    rules = knowledge_rules(table, SCHEMA, Knowledge(max_len=0, facts=facts))
    values = ["migraine", "gout", "flu", "cold"]
    told = rules.allowed(table, SCHEMA, "disease", values)
    of_person = told.weight[told.type_of_person]
    return {(sex, v): of_person[i, j] for i, sex in enumerate(table["sex"]) for j, v in enumerate(values)}


def test_a_stated_chance_is_the_prior_that_it_says() -> None:
    """Summary statistics and positive rules: a third of all women have migraine, to whom the adversary listens."""
    table = patients()
    share = {row["disease"]: row["count"] / len(table) for row in table["disease"].value_counts().to_dicts()}
    weight = weights_of(table, likely({"sex": "f"}, "migraine", 1 / 3))
    prior = {value: share[value] * weight["f", value] for value in share}
    assert prior["migraine"] / sum(prior.values()) == pytest.approx(1 / 3)
    assert {weight["m", value] for value in share} == {1.0}


def test_what_is_sure_must_be_so() -> None:
    table = patients()
    with pytest.raises(PolicyError, match="contradict a chance of 1"):
        weights_of(table, likely({"sex": "f"}, "flu", 1))
    with pytest.raises(PolicyError, match="contradict a chance of 0"):
        weights_of(table, likely({"sex": "f"}, "flu", 0))
    always = table.with_columns(disease=pl.when(pl.col("sex") == "f").then(pl.lit("flu")).otherwise("disease"))
    weight = weights_of(always, likely({"sex": "f"}, "flu", 1))
    assert [weight["f", value] for value in ("migraine", "gout", "flu", "cold")] == [0, 0, 1, 0]


def test_a_fact_of_one_person_is_about_nobody_else() -> None:
    table = patients()
    own = table["disease"][7]
    knowledge = Knowledge(max_len=0, facts=(likely({"who": "p7"}, own, 0.9),))
    rules = knowledge_rules(table, SCHEMA, knowledge)
    told = rules.allowed(table, SCHEMA, "disease", ["migraine", "gout", "flu", "cold"])
    number = int(Table.from_frame(table, SCHEMA).person_of_record[7])
    assert (told.weight[told.type_of_person] != 1).any(axis=1).nonzero()[0].tolist() == [number]
    with pytest.raises(PolicyError, match="no record has the value"):
        knowledge_rules(table, SCHEMA, Knowledge(max_len=0, facts=(likely({"who": "nobody"}, own, 0.9),)))


# --- releases ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mask", ["range", "anatomize"])
@pytest.mark.parametrize("about", [{"sex": "f"}, {"who": "p7"}], ids=["rule", "person"])
def test_a_release_is_verified_from_what_is_written(mask: str, about: dict[str, str], tmp_path: Path) -> None:
    table = patients()
    knowledge = Knowledge(facts=(likely(about, "migraine", 0.6),))
    models = [shoal.Posterior(c=0.9), shoal.PersonKAnonymity(k=3)]
    release = shoal.protect(table, SCHEMA, models, mask=mask, knowledge=knowledge, seed=1)
    assert release.verdict.holds
    assert release.rules is not None
    assert any(not rule.is_never for rule in release.rules)
    release.write(tmp_path / "out")
    answered = CliRunner().invoke(cli, ["verify", str(tmp_path / "out"), "--json"])
    assert answered.exit_code == 0, answered.output
    recounted = {model["name"]: model for model in json.loads(answered.stdout)["verdict"]["models"]}
    reached = {model.name: model.reached for model in release.verdict.models}
    assert recounted["posterior"]["reached"] == pytest.approx(reached["posterior"])


def test_mined_chances_are_listed_and_can_be_struck_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    patients().write_csv("patients.csv")
    columns = '[columns]\nperson = "who"\nquasi = ["sex:nominal", "age:number"]\nsensitive = ["disease"]\n'
    Path("patients.toml").write_text(f"{columns}[knowledge]\nchances = true\n", encoding="utf-8")
    mining = ["mine", "patients.csv", "--policy", "patients.toml", "--csv", "rules.csv"]
    listed = CliRunner().invoke(cli, mining)
    assert listed.exit_code == 0, listed.output
    rows = pl.read_csv("rules.csv")
    likely_rows = rows.filter(pl.col("lift") > 0)
    assert len(likely_rows)
    line = likely_rows["rule"][0]
    assert line in listed.stdout
    Path("patients.toml").write_text(f"{columns}[knowledge]\nchances = true\nstrike = [{line}]\n", encoding="utf-8")
    again = CliRunner().invoke(cli, [*mining, "--overwrite"])
    assert again.exit_code == 0, again.output
    assert len(pl.read_csv("rules.csv")) == len(rows) - 1


def test_a_policy_says_all_of_it(tmp_path: Path) -> None:
    text = """
[columns]
person = "who"
quasi = ["sex", "age"]
sensitive = ["disease"]
[models]
posterior = 0.9
[knowledge]
facts = [{ when = { sex = "f" }, value = { disease = "migraine" }, chance = 0.6 }]
"""
    (tmp_path / "patients.toml").write_text(text, encoding="utf-8")
    policy = Policy.load(tmp_path / "patients.toml")
    assert policy.knowledge is not None
    assert policy.knowledge.facts[0].chance == 0.6
    (tmp_path / "again.toml").write_text(toml_of(document_of(policy)), encoding="utf-8")
    assert Policy.load(tmp_path / "again.toml").knowledge == policy.knowledge
    assert "with a chance of 0.6" in " ".join(explain(policy).split())
    assert shoal.protect(patients(), policy, seed=1).verdict.holds
