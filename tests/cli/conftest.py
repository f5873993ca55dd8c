"""Running the command as a user would, in a folder of its own with the paper's tables in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from shoal.cli.main import cli
from shoal.demo.clinics import clinics, franklin_center, lexington_clinic

COLUMNS = [
    "--person", "name", "--quasi", "age,gender:nominal,zip", "--sensitive", "disease", "--drop", "admission",
]  # fmt: skip
MODELS = ["--g-balance", "0.5", "--h-affiliation", "0.5"]

POLICY = """
[columns]
person = "name"
quasi = ["age", "gender:nominal", "zip"]
sensitive = ["disease"]
dropped = ["admission"]

[models]
g-balance = 0.5
h-affiliation = 0.5

[method]
name = "balance-tree"
cut = "median"
"""


@dataclass(frozen=True)
class Answer:
    """What a command said and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The answer to --json: one object on one line, and nothing else."""
        assert self.code in (0, 3), self.err
        return self._one_object()

    @property
    def error(self) -> dict[str, Any]:
        """The error that a command tells under --json, in the one object on stdout."""
        assert self.code != 0, self.out
        answer = self._one_object()
        assert answer.keys() == {"error"}, self.out
        assert answer["error"].keys() == {"kind", "message", "hint"}, self.out
        return dict(answer["error"])

    def _one_object(self) -> dict[str, Any]:
        assert self.out.count("\n") == 1, self.out
        assert self.out.endswith("\n")

        def refuse(constant: str) -> None:
            raise AssertionError(f"{constant} is not JSON")

        answer = json.loads(self.out, parse_constant=refuse)
        assert isinstance(answer, dict)
        return answer


Shoal = Callable[..., Answer]


@pytest.fixture
def shoal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shoal:
    """Run `shoal` in a folder that holds clinics.csv, franklin.csv, lexington.csv and policy.toml."""
    monkeypatch.chdir(tmp_path)
    clinics().write_csv("clinics.csv")
    franklin_center().write_csv("franklin.csv")
    lexington_clinic().write_csv("lexington.csv")
    Path("policy.toml").write_text(POLICY, encoding="utf-8")

    def run(*arguments: object) -> Answer:
        result = CliRunner().invoke(cli, [str(argument) for argument in arguments], prog_name="shoal")
        return Answer(result.exit_code, result.stdout, result.stderr)

    return run
