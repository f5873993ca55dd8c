"""What every engine is asked and gives: a job in, a release out, or every reason why not in one message."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

import shoal
from shoal import pipeline
from shoal.engines.contract import Engine, Files, Job, engine_called, refuse_unoffered
from shoal.errors import ParameterError
from shoal.policy import Policy
from shoal.publishing.release import Records, Release, Writing
from tests.pipeline.tables import MODELS, SCHEMA, visits


class Nowhere(Engine):
    """An engine that can do nothing, for two reasons, one of them told twice."""

    name = "nowhere"

    def why_not(self, job: Job) -> list[str]:
        return ["There is no machine.", "Nobody is at home.", "There is no machine."]

    def protect(self, job: Job) -> Release:
        raise NotImplementedError


class Elsewhere(Records):
    """Records that are not in memory."""

    engine = "elsewhere"
    data = groups = None
    tables: ClassVar[dict[str, Any]] = {}
    columns = ("age",)
    lone_extremes: ClassVar[dict[str, int]] = {}

    def write(self, release: Release, writing: Writing) -> Path:
        return writing.folder


def test_every_reason_is_told_once_and_in_one_message() -> None:
    with pytest.raises(ParameterError) as refused:
        refuse_unoffered(Nowhere(), Job.of(visits(), SCHEMA, MODELS))
    assert str(refused.value).count("There is no machine.") == 1
    assert "Nobody is at home." in str(refused.value)
    assert "--" not in str(refused.value)


def test_an_engine_is_found_by_its_name() -> None:
    assert engine_called("memory").name == "memory"
    with pytest.raises(ParameterError, match="Did you mean 'memory'"):
        engine_called("memry")


def test_a_policy_and_keywords_make_the_same_job() -> None:
    policy = Policy.of(SCHEMA, MODELS, mask="mean", max_suppressed=3, seed=5)
    asked = Job.of(visits(), SCHEMA, MODELS, mask="mean", max_suppressed=3, seed=5, queries=2)
    by_policy = Job.of(visits(), policy, queries=2)
    assert (asked.models, asked.method, asked.mask, asked.seed) == (
        by_policy.models, by_policy.method, by_policy.mask, by_policy.seed
    )  # fmt: skip
    assert asked.policy.budget == by_policy.policy.budget
    assert asked.measures == by_policy.measures
    assert asked.schema(visits()) == by_policy.schema(visits()) == SCHEMA
    with pytest.raises(ParameterError, match=r"a schema and models with mask, cut\. Change the policy"):
        Job.of(visits(), policy, mask="suppress", cut="median", max_suppressed=0)


def test_the_engine_in_memory_is_given_tables_and_no_files() -> None:
    with pytest.raises(ParameterError, match="Files are read into a table first"):
        engine_called("memory").protect(Job.of(Files(names=("visits.csv",)), SCHEMA, MODELS))


def test_a_release_is_the_same_whichever_engine_holds_its_records(tmp_path: Path) -> None:
    held = shoal.protect(visits(), SCHEMA, MODELS, seed=1)
    release = replace(held, records=Elsewhere())
    assert (held.engine, release.engine) == ("memory", "elsewhere")
    with_original = {"attacks", "strongest", "not_tried", "safe_harbour"}
    assert release.to_dict().keys() == held.to_dict().keys() - with_original
    assert release.write(tmp_path / "out") == tmp_path / "out"
    for ask in (lambda: release.table, lambda: release.published, release.attack):
        with pytest.raises(ParameterError, match="made by the engine 'elsewhere' does not hold"):
            ask()


@pytest.mark.parametrize("function", [pipeline.assess, pipeline.protect, pipeline.verify])
def test_help_names_every_parameter(function: Any) -> None:
    told = set(re.findall(r"\w+", inspect.getdoc(function) or ""))
    assert set(inspect.signature(function).parameters) - told == set()
