"""What was tried stays side by side, with the policy and the command that make it again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner, Result

import shoal
from shoal.cli.main import cli
from shoal.errors import InputError, PrivacyNotMetError
from shoal.policy import Policy
from shoal.web import shelf, work
from shoal.web.project import Project
from tests.web.test_work import Heard, made

MODELS = {"models": {"record-risk": "0.3", "h-affiliation": "0.8"}, "usefulness": {"target": "treatment", "queries": 0}}


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project in which two settings were tried, and a release was made of the second."""
    project = made(tmp_path_factory.mktemp("shelf"), MODELS)
    assert work.try_out(project, Heard()) == {"candidate": 1}
    project.update(seen=project.chosen.version, protection={"models": {"person-k-anonymity": 5}, "seed": 3})
    work.protect(project, Heard())
    return project


@pytest.fixture
def run(tried: Project) -> Callable[..., Result]:
    return lambda *arguments: CliRunner().invoke(cli, ["project", str(tried.folder), *map(str, arguments)])


def test_what_was_tried_has_its_numbers_and_wrote_no_release(tried: Project) -> None:
    first, second = shelf.candidates(tried)
    assert (first.run, second.run) == (None, next((tried.folder / "runs").iterdir()).name)
    policy = Policy.load(tried.folder / first.policy_name)
    frame = tried.read().frame
    again = shoal.protect(frame, policy).to_dict()
    for key in ("max_gidr", "max_gsar", "loss", "loss_of_column", "groups"):
        assert first.numbers[key] == again[key]
    assert shelf.strongest_attack(first.numbers) is not None
    assert shelf.kept_of_prediction(first.numbers) == again["usefulness"]["kept"]  # type: ignore[index]
    assert shelf.kept_of_prediction(second.numbers) is None
    assert not shelf.is_now(tried, first)
    assert shelf.is_now(tried, second)


def test_records_stand_beside_the_same_ones_as_they_were(tried: Project) -> None:
    first = shelf.candidates(tried)[0]
    before = shelf.originals_of(tried, 1)
    assert before is not None
    assert len(before["records"]) == len(first.published["records"]) == 20
    table = {tuple(map(str, row)) for row in tried.read().frame.select(before["columns"]).cast(pl.String).iter_rows()}
    at = {name: place for place, name in enumerate(before["columns"])}
    shown_at = {name: place for place, name in enumerate(first.published["columns"])}
    for was, shown in zip(before["records"], first.published["records"], strict=True):
        assert tuple(map(str, was)) in table
        for name in ("disease", "treatment"):  # published as they are
            assert was[at[name]] == shown[shown_at[name]]
        low, _, high = (shown[shown_at["age"]] or "").partition("-")
        if low.isdigit() and was[at["age"]] is not None:
            assert float(low) <= float(was[at["age"]]) <= float(high or low)


def test_the_command_line_lists_and_shows_the_same(tried: Project, run: Callable[..., Result]) -> None:
    listed = run("--json")
    assert listed.exit_code == 0, listed.output
    told = json.loads(listed.stdout)["candidates"]
    assert [each["number"] for each in told] == [1, 2]
    assert json.loads(run("--show", 2, "--json").stdout) == told[1]
    assert "2 candidates" in run().stdout
    text = run("--show", 1).stdout
    assert "Lost of each column" in text
    assert told[0]["command"] in " ".join(text.split())
    records = [cell for each in shelf.candidates(tried) for row in each.published["records"] for cell in row]
    pseudonyms = [cell for cell in records if cell and len(cell) > 12]
    assert pseudonyms
    assert not [cell for cell in pseudonyms if cell in listed.stdout]


def test_a_candidate_is_exported_and_run(tried: Project, run: Callable[..., Result], tmp_path: Path) -> None:
    told = json.loads(run("--export", 1, "-o", tmp_path / "policy.toml", "--json").stdout)
    assert shlex.split(told["command"])[:2] == ["shoal", "protect"]
    exported, own = Policy.load(tmp_path / "policy.toml"), Policy.load(tried.folder / "candidates/1.toml")
    assert exported == own
    assert exported.seed is not None
    ran = run("--run", 1, "-o", tmp_path / "out", "--json")
    assert ran.exit_code == 0, ran.output
    answer = json.loads(ran.stdout)
    first = shelf.candidates(tried)[0]
    assert (answer["groups"], answer["loss"]) == (first.numbers["groups"], first.numbers["loss"])
    assert (tmp_path / "out" / "release.csv").is_file()
    assert run("--run", 1, "-o", tmp_path / "out").exit_code == 2  # it is there already


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--show", 9], "has no candidate 9. There are: 1, 2."),
        (["--show", 1, "--run", 2, "-o", "x"], "do not go together"),
        (["--export", 1], "-o goes with"),
        (["-o", "x"], "-o goes with"),
        (["--note", "one", "text"], "--note takes the number"),
    ],
)
def test_what_cannot_be_asked_is_said(run: Callable[..., Result], arguments: list[Any], said: str) -> None:
    answer = run(*arguments)
    assert answer.exit_code == 2
    assert said in " ".join(answer.stderr.split())


def test_no_project_is_no_project(tmp_path: Path) -> None:
    answer = CliRunner().invoke(cli, ["project", str(tmp_path)])
    assert answer.exit_code == 2
    assert "There is no project" in answer.stderr
    assert list(tmp_path.iterdir()) == []


def test_notes_and_taking_off(tmp_path: Path) -> None:
    project = made(tmp_path, {"models": {"person-k-anonymity": 3}, "seed": 1}, persons=60)
    work.try_out(project, Heard())
    work.try_out(project, Heard())
    assert CliRunner().invoke(cli, ["project", str(project.folder), "--note", "2", " for  the board "]).exit_code == 0
    assert [each.note for each in shelf.candidates(project)] == ["", "for the board"]
    shelf.remove(project, 1)
    assert [each.number for each in shelf.candidates(project)] == [2]
    with pytest.raises(InputError):
        shelf.candidate_called(project, 1)
    (project.folder / "candidates" / "2.json").write_text("{")
    assert shelf.candidates(project) == []  # a damaged one is left out
    work.try_out(project, Heard())
    assert [each.number for each in shelf.candidates(project)] == [3]


def test_a_promise_that_cannot_be_kept_is_no_candidate(tmp_path: Path) -> None:
    project = made(tmp_path, {"models": {"person-k-anonymity": 3}, "budget": {"max_alone": 0}}, persons=60)
    with pytest.raises(PrivacyNotMetError):
        work.try_out(project, Heard())
    assert shelf.candidates(project) == []
