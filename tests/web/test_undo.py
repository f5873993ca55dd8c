"""Every choice of a project can be taken back and made again, also by the next server."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import InputError
from shoal.web.project import ChangedMeanwhile, Chosen, ColumnChoice, Project
from shoal.web.undo import MOST_STEPS, Way


def choices(project: Project) -> dict[str, object]:
    return asdict(replace(project.chosen, version=0))


@given(st.lists(st.sampled_from(["choose", "undo", "redo"]), max_size=14))
@settings(max_examples=25)
def test_going_back_and_forward_is_as_in_a_list(tmp_path_factory: pytest.TempPathFactory, acts: list[str]) -> None:
    project = Project.open(tmp_path_factory.mktemp("undo") / "project")
    states, at = [choices(project)], 0
    for number, act in enumerate(acts):
        seen = project.chosen.version
        if act == "choose":
            project.update(seen=seen, goal={"number": number})
            states, at = [*states[: at + 1], choices(project)], at + 1
        elif act == "undo" and at:
            project.undo(seen=seen)
            at -= 1
        elif act == "redo" and at + 1 < len(states):
            project.redo(seen=seen)
            at += 1
        else:
            with pytest.raises(InputError):
                (project.undo if act == "undo" else project.redo)(seen=seen)
            continue
        assert project.chosen.version == seen + 1  # other tabs notice
        project = Project.open(project.folder)  # as the next server does
        assert choices(project) == states[at]
        assert (project.can_undo() != "") == (at > 0)
        assert (project.can_redo() != "") == (at + 1 < len(states))
    kept = {int(file.stem) for file in (project.folder / "history").iterdir()}
    assert kept == project._way.versions


def test_it_says_what_it_is_about(tmp_path: Path) -> None:
    project = Project.open(tmp_path / "project")
    project.update(seen=0, columns=(ColumnChoice("age", "quasi"),))
    project.update(seen=1, protection={"models": {"k-anonymity": 3}}, goal={"way": "models"})
    assert project.can_undo() == "what is promised"
    project.undo(seen=2)
    assert project.can_undo() == "roles of columns"
    assert project.can_redo() == "what is promised"
    project.update(seen=3, missing="drop")
    assert project.can_undo() == "roles of columns"
    assert project.can_redo() == ""


def test_a_stale_tab_takes_nothing_back(tmp_path: Path) -> None:
    project = Project.open(tmp_path / "project")
    project.update(seen=0, title="one")
    with pytest.raises(ChangedMeanwhile):
        project.undo(seen=0)
    assert project.chosen.title == "one"


def test_a_file_that_was_replaced_is_not_gone_back_to(tmp_path: Path) -> None:
    project = Project.open(tmp_path / "project")
    file = tmp_path / "visits.csv"
    for text in ("age\n1\n", "age\n2\n"):
        file.write_text(text)
        project.update(seen=project.chosen.version, sources=(project.copy_file(file),))
    before = project.chosen
    with pytest.raises(InputError, match="was replaced since"):
        project.undo(seen=before.version)
    assert project.chosen == before


def test_results_of_a_choice_hold_again_when_it_is_taken_back(tmp_path: Path) -> None:
    project = Project.open(tmp_path / "project")
    project.update(seen=0, protection={"models": {"k-anonymity": 3}})
    project.put_result("release", {"run": "x"}, depends_on="protect")
    project.update(seen=1, protection={"models": {"k-anonymity": 4}})
    assert project.states()["protect"] == "stale"
    project.undo(seen=2)
    assert project.states()["protect"] == "done"


def test_old_choices_are_forgotten() -> None:
    way = Way()
    for version in range(MOST_STEPS + 5):
        way = way.with_step(version)
    assert way.past == tuple(range(5, MOST_STEPS + 5))
    assert Way.of({"way": way.to_dict()}) == way
    assert Way.of({}) == Way()
    assert Chosen().version == 0
