"""Presets: each has a source and a meaning, a policy that names one keeps it, and profile writes one."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.cli.profile import profile as command
from shoal.errors import PolicyError
from shoal.models import MODELS
from shoal.policy.load import make_model
from shoal.policy.presets import LOWER_IS_SAFER, PRESETS
from shoal.policy.starter import starter_policy
from shoal.table.profile import profile

COLUMNS = {"columns": {"quasi": ["age"]}}


@pytest.mark.parametrize("name", PRESETS)
def test_each_says_what_it_means_for_whom_and_where_it_comes_from(name: str) -> None:
    preset = PRESETS[name]
    assert preset.name == name
    assert "person" in preset.means or "Nobody" in preset.means
    assert preset.made_for
    assert preset.sources
    assert all(source.startswith("http") for source in preset.sources)
    for model, asked in preset.models.items():
        assert model in MODELS
        assert make_model(model, asked).asked == pytest.approx(float(asked))
    page = Path("docs/how-to/choose-thresholds.md")
    assert not page.is_file() or all(source in page.read_text() for source in preset.sources)


def test_the_thresholds_are_exact() -> None:
    (model,) = shoal.Policy.from_document({"preset": "ema-health-canada", **COLUMNS}).models
    assert model == shoal.RecordRisk(rho=Fraction(9, 100))
    (model,) = shoal.Policy.from_document({"preset": "cms-cell-size", **COLUMNS}).models
    assert model == shoal.PersonKAnonymity(k=11)


@pytest.mark.parametrize("name", PRESETS)
def test_a_policy_that_names_one_keeps_it(name: str) -> None:
    policy = shoal.Policy.from_document({"preset": name, **COLUMNS})
    again = shoal.Policy.from_document(tomllib.loads(policy.to_toml(), parse_float=Decimal))
    assert again == policy
    assert again.preset == name
    for model, asked in PRESETS[name].models.items():
        looser = asked * 2 if model in LOWER_IS_SAFER else asked - 1
        with pytest.raises(PolicyError, match=f"preset '{name}' asks for"):
            shoal.Policy.from_document({"preset": name, **COLUMNS, "models": {model: looser}})
        stricter = asked / 2 if model in LOWER_IS_SAFER else asked + 1
        assert len(shoal.Policy.from_document({"preset": name, **COLUMNS, "models": {model: stricter}}).models) == 1


def test_one_that_there_is_not_is_refused() -> None:
    with pytest.raises(PolicyError, match=r"no preset 'cms-cell'.*Did you mean 'cms-cell-size'"):
        shoal.Policy.from_document({"preset": "cms-cell", **COLUMNS})


@pytest.mark.parametrize("name", PRESETS)
def test_a_starter_policy_has_it_with_its_source(name: str) -> None:
    frame = pl.DataFrame(
        {"patient": range(60), "age": [20 + n % 40 for n in range(60)], "disease": ["a", "b", "c"] * 20}
    )
    text = starter_policy(profile(frame), table_name="x", preset=PRESETS[name])
    policy = shoal.Policy.from_document(tomllib.loads(text, parse_float=Decimal))
    assert policy.preset == name
    assert {*PRESETS[name].models, "h-affiliation"} == {model.name for model in policy.models}
    assert all(source in text for source in PRESETS[name].sources)


def test_a_person_with_too_many_records_is_told_of() -> None:
    frame = pl.DataFrame({"patient": [0] * 50 + list(range(1, 51)), "age": range(100)})
    assert "no grouping meets this" in starter_policy(
        profile(frame), table_name="x", preset=PRESETS["ema-health-canada"]
    )


def test_the_flag_names_every_preset() -> None:
    (flag,) = (param for param in command.params if param.name == "preset")
    told = str(getattr(flag, "help", ""))
    assert all(name in told for name in PRESETS)
