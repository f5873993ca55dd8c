"""A model of somebody's own: a release by it is written only where `shoal verify` can read the model back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.cli.main import cli
from shoal.engines.stream import protect_file
from shoal.errors import ParameterError
from shoal.models import Model
from shoal.models.counts import GroupCounts
from tests.conftest import Installed

FRAME = pl.DataFrame({"p": range(40), "q": [f"{n // 4}" for n in range(40)]})
SCHEMA = shoal.Schema(person="p", quasi=["q"])


@dataclass(frozen=True, kw_only=True)
class EvenGroups(Model):
    """Every group has an even number of persons, and at least as many as asked."""

    least: int
    name: ClassVar[str] = "even-groups"
    monotone: ClassVar[bool] = True
    higher_is_safer: ClassVar[bool] = True
    needs: ClassVar[frozenset[str]] = frozenset({"persons"})

    @property
    def asked(self) -> float:
        return self.least

    def holds(self, groups: GroupCounts) -> Any:
        return (groups.persons % 2 == 0) & (groups.persons >= self.least)

    def reached(self, groups: GroupCounts) -> Any:
        return np.where(groups.persons % 2 == 0, groups.persons, 0).astype(float)


class Looser(shoal.GBalance):
    """Goes by the name of a model that asks for more."""


class Closed(EvenGroups):
    """Cannot be made from its parameters."""

    def __init__(self) -> None:
        object.__setattr__(self, "least", 4)


def released(model: Any) -> shoal.Release:
    return shoal.protect(FRAME, SCHEMA, [model], method="mondrian", seed=1)


@pytest.mark.parametrize("model", [EvenGroups(least=4), Looser(g="0.5")])
def test_what_verify_could_not_read_back_is_not_written(tmp_path: Path, model: Any) -> None:
    release = released(model)
    assert release.verdict
    with pytest.raises(ParameterError) as refusal:
        release.write(tmp_path / "out")
    assert f"The model '{model.name}' (tests.publishing.test_own_models.{type(model).__name__})" in str(refusal.value)
    assert '[project.entry-points."shoal.models"]' in str(refusal.value)
    assert f'{model.name} = "tests.publishing.test_own_models:{type(model).__name__}"' in str(refusal.value)
    FRAME.write_parquet(tmp_path / "in.parquet")
    with pytest.raises(ParameterError, match="is not registered"):
        protect_file(tmp_path / "in.parquet", SCHEMA, [model], output=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_one_that_a_package_offers_is_written_and_verified(tmp_path: Path, installed: Installed) -> None:
    installed("even", "shoal.models", {"even-groups": f"{__name__}:EvenGroups"})
    released(EvenGroups(least=4)).write(tmp_path / "out")
    answer = CliRunner().invoke(cli, ["verify", str(tmp_path / "out")])
    assert answer.exit_code == 0, answer.output
    assert "even-groups" in answer.output


def test_one_that_cannot_be_made_again_is_not_written(tmp_path: Path, installed: Installed) -> None:
    installed("closed", "shoal.models", {"even-groups": f"{__name__}:Closed"})
    with pytest.raises(ParameterError, match="cannot be made again"):
        released(Closed()).write(tmp_path / "out")
    assert not (tmp_path / "out").exists()
