"""Episodes, numbers of records in steps and rounded gaps through the doors: flags, policies, files, words."""

from __future__ import annotations

import json
import shutil
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal as library
from shoal.engines.contract import Job, engine_called, refuse_unoffered
from shoal.errors import ParameterError, PolicyError, SchemaError
from shoal.judging.verdict import BOTH
from shoal.masks import History
from shoal.policy import Policy
from shoal.policy.explain import explain
from shoal.publishing.later.stored import read_stored
from tests.cli.conftest import Shoal
from tools import recount

COLUMNS = ["--person", "patient", "--quasi", "age", "--sensitive", "code", "--time", "day"]


def visits(n: int = 24) -> pl.DataFrame:
    rng = np.random.default_rng(4)
    rows = [
        (
            f"p{person}",
            20 + person,
            "abc"[int(rng.integers(3))],
            date(2024, 1, 1) + timedelta(days=int(rng.integers(400))),
        )
        for person in range(n)
        for _ in range(int(rng.integers(1, 7)))
    ]
    return pl.DataFrame(rows, schema=["patient", "age", "code", "day"], orient="row")


def test_episodes_from_flags_to_what_a_recipient_sees(shoal: Shoal, capsys: pytest.CaptureFixture[str]) -> None:
    visits().write_csv("visits.csv")
    made = shoal("protect", "visits.csv", *COLUMNS, "--person-k", "3", "--count-k", "2", "--episode", "100 days",
                 "--keep-person-map", "-o", "out", "--json").json  # fmt: skip
    cut = made["history"]["episodes"]
    assert cut["cut"] == "100 days"
    assert cut["episodes"] > cut["persons"] == made["persons"] == 24
    assert {model["checked_from"] for model in made["verdict"]["models"]} == {BOTH}
    published = pl.read_csv("out/release.csv")
    assert published["patient"].n_unique() == cut["episodes"]
    persons = pl.read_parquet("out/steward/persons.parquet")
    assert persons["pseudonym"].n_unique() == cut["episodes"]
    assert persons["person"].n_unique() == 24
    assert 'episode = "100 days"' in Path("out/steward/policy.toml").read_text()
    assert "persons from what the steward keeps" in Path("out/steward/report.html").read_text()
    steward = shoal("verify", "out", "--json")
    assert steward.code == 0
    assert steward.json["verdict"]["models"] == made["verdict"]["models"]
    book = json.loads(Path("out/codebook.json").read_text())
    assert book["person_ids"] == "episodes"
    assert {entry["role"]: entry["form"] for entry in book["columns"]}["person"] == "episode"
    shutil.copytree("out", "received", ignore=shutil.ignore_patterns("steward"))
    recipient = shoal("verify", "received", "--json")
    assert recipient.code == 3
    assert recipient.json["not_recounted"] == ["person-k-anonymity", "count-k"]
    assert recount.main(["received"]) != 0
    assert "episodes" in capsys.readouterr().err
    attacked = shoal("attack", "out", "--original", "visits.csv", "--attacks", "linkage,trajectory", "--json")
    names = [result["name"] for result in attacked.json["attacks"]]
    assert any("number of an episode" in name for name in names)
    with pytest.raises(ParameterError, match=r"episodes|histories"):
        read_stored("out")


def test_steps_and_gaps_by_flag(shoal: Shoal) -> None:
    visits().write_csv("visits.csv")
    made = shoal("protect", "visits.csv", *COLUMNS, "--person-k", "3", "--record-steps", "1,2,4", "--time-as", "shift",
                 "--round-gaps", "week", "-o", "out", "--json").json  # fmt: skip
    assert made["history"]["record_steps"] == [1, 2, 4]
    published = pl.read_csv("out/release.csv", try_parse_dates=True)
    assert set(published["patient"].value_counts()["count"]) <= {1, 2, 4}
    gaps = published.select((pl.col("day") - pl.col("day").min().over("patient")).dt.total_days() % 7)["day"]
    assert set(gaps) == {0}
    shutil.copytree("out", "received", ignore=shutil.ignore_patterns("steward"))
    assert shoal("verify", "received").code == 0
    assert json.loads(Path("out/codebook.json").read_text())["columns"][-1]["round_gaps"] == 7
    assert shoal("protect", "visits.csv", *COLUMNS, "--person-k", "3", "--record-steps", "a,b", "-o", "x").code == 2
    wrong = shoal("protect", "visits.csv", *COLUMNS, "--person-k", "3", "--episode", "5", "-o", "x")
    assert wrong.code == 2
    assert "90 days" in wrong.err


POLICY = {
    "columns": {"person": "patient", "quasi": ["age"], "sensitive": ["code"], "time": "day"},
    "models": {"person-k-anonymity": 3},
    "history": {"episode": "at most 4 records", "record_steps": [1, 2, 4]},
}


def test_a_policy_keeps_what_it_says_of_episodes() -> None:
    policy = Policy.from_document(POLICY)
    assert policy.schema_of_release().has_episodes
    assert Policy.from_document(policy.to_document()) == policy
    assert library.protect(visits(), policy, seed=1).schema.person_ids == "episodes"
    told = explain(policy)
    assert "pseudonym per episode (at most 4 records each, in their order)" in told
    assert "The records of an episode are 1, 2 and 4" in told
    with pytest.raises(PolicyError, match="record_steps"):
        Policy.from_document({**POLICY, "history": {"record_steps": [3, 2]}})


SCHEMA = library.Schema(person="patient", quasi=["age"], sensitive=["code"], time="day")
K = [library.PersonKAnonymity(k=3)]


def test_what_cannot_be_done_with_episodes_is_refused_by_name() -> None:
    cut = History(episode="5 records", record_steps=[1, 2, 5])
    for engine, told in (("stream", "Episodes are cut in memory"), ("spark", "brought to steps in memory")):
        with pytest.raises(ParameterError, match=told):
            refuse_unoffered(engine_called(engine), Job.of(None, SCHEMA, K, history=cut))
    gaps = library.Schema(person="patient", quasi=["age"], time="day", time_as="shift", round_gaps=7)
    with pytest.raises(ParameterError, match="round_gaps"):
        refuse_unoffered(engine_called("spark"), Job.of(None, gaps, K))
    for mask in ("anatomize", "perturb"):
        with pytest.raises(ParameterError, match="side by side"):
            library.protect(visits(), SCHEMA, K, history=cut, mask=mask)  # type: ignore[arg-type]
    none = library.Schema(person="patient", quasi=["age"], sensitive=["code"], dropped=["day"], person_ids="none")
    with pytest.raises(SchemaError, match="leave one of the two out"):
        library.protect(visits(), none, K, history=cut)
    nobody = library.Schema(quasi=["age"], sensitive=["code"], dropped=["patient"], time="day")
    with pytest.raises(SchemaError, match="no person column"):
        library.protect(visits(), nobody, K, history=cut)
    timeless = library.Schema(person="patient", quasi=["age"], sensitive=["code"], dropped=["day"])
    with pytest.raises(SchemaError, match="no time column"):
        library.protect(visits(), timeless, K, history=History(episode="90 days"))
    numbers = visits().with_columns(day=pl.lit(3))
    with pytest.raises(SchemaError, match="holds no dates"):
        library.protect(numbers, SCHEMA, K, history=History(episode="90 days"))
    with pytest.raises(SchemaError, match="how records are cut"):
        library.protect(visits(), library.Schema(person="patient", quasi=["age"], sensitive=["code"], time="day",
                                                 person_ids="episodes"), K)  # fmt: skip
    with pytest.raises(SchemaError, match="time_as='shift'"):
        library.Schema(person="patient", quasi=["age"], time="day", round_gaps=7)
    rules = [library.MatchingDiversity(l=2)]
    with pytest.raises(ParameterError, match="rules about persons"):
        library.protect(visits(), SCHEMA, rules, history=cut)
