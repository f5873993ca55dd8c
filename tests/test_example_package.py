"""The package of examples/ is installed, and its parts are used in every door."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.attacking import ATTACKS
from shoal.cli.main import cli
from shoal.masking import MASKS
from shoal.models import MODELS
from shoal.testing import check_attack, check_mask, check_model

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "shoal-spread"
POLICY = """
[columns]
person = "person"
quasi = ["age"]
sensitive = ["disease"]

[models]
value-range = 2

[mask]
name = "rounded-mean"
digits = 1
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the package was installed as anybody would, without a network."""
    folder = tmp_path_factory.mktemp("installed")
    source = shutil.copytree(EXAMPLE, folder / "source")
    has_pip = importlib.util.find_spec("pip") is not None  # an environment that uv made has none
    installer = [sys.executable, "-m", "pip"] if has_pip else ["uv", "pip"]
    into = [] if has_pip else ["--python", sys.executable]
    done = subprocess.run(
        [*installer, "install", *into, "--quiet", "--no-deps", "--no-build-isolation", "--no-index",
         "--target", str(folder / "site"), str(source)],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "site"


@pytest.fixture
def spread(site: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """As where the package is installed, in a folder with a table and a policy."""
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.chdir(tmp_path)
    persons = range(60)
    frame = pl.DataFrame(
        {
            "person": persons,
            "age": [20 + who // 2 for who in persons],
            "disease": [f"{who % 7}" for who in persons],
        }
    )
    frame.write_csv("visits.csv")
    Path("policy.toml").write_text(POLICY)
    return tmp_path


def run(*words: str) -> str:
    answer = CliRunner().invoke(cli, list(words))
    assert answer.exit_code == 0, answer.output
    return " ".join(answer.output.split())


def test_its_parts_keep_the_laws(spread: Path) -> None:
    check_model(MODELS.made("value-range", least=1))
    check_mask(MASKS.made("rounded-mean", digits=1), [shoal.PersonKAnonymity(k=2)])
    check_attack(ATTACKS["largest-group"]())


def test_it_is_used_from_python(spread: Path) -> None:
    schema = shoal.Schema(person="person", quasi=["age"], sensitive=["disease"])
    model = MODELS.made("value-range", least=2)
    release = shoal.protect(pl.read_csv("visits.csv"), schema, [model], mask="rounded-mean", digits=1)
    assert release.verdict.holds
    assert all(age == round(age, 1) for age in release.data["age"])


def test_it_is_used_by_flags_and_by_keys_of_a_policy(spread: Path) -> None:
    assert "--value-range N Values of a group" in run("protect", "--help", "value-range")
    assert "--digits N" in run("protect", "--help", "rounded-mean")
    run("protect", "visits.csv", "--policy", "policy.toml", "-o", "by_key", "--seed", "1")
    run("protect", "visits.csv", "--person", "person", "--quasi", "age", "--sensitive", "disease", "--value-range", "2",
        "--mask", "rounded-mean", "--digits", "1", "-o", "by_flag", "--no-report")  # fmt: skip
    for folder in ("by_key", "by_flag"):
        assert "value-range" in run("verify", folder)
    report = Path("by_key/steward/report.html").read_text()
    assert "lie at least 2 places apart (value-range least = 2)" in " ".join(report.split())
    assert "A group shows the rounded mean" in " ".join(report.split())
    assert "largest-group, value of disease" in run("attack", "by_key", "--attacks", "largest-group")
    wrong = CliRunner().invoke(cli, ["protect", "visits.csv", "--policy", "policy.toml", "--digits", "9", "-o", "no"])
    assert wrong.exit_code == 2
