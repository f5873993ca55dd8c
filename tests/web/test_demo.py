"""The demo project is finished: every step is done, and its release keeps its promises."""

from __future__ import annotations

from pathlib import Path

import shoal
from shoal.web import demo, facts, work
from shoal.web.project import STEPS, Project


def test_every_step_of_the_demo_is_done(tmp_path: Path) -> None:
    project = Project.open(tmp_path / "project")
    demo.fill(project, persons=400)
    assert project.states() == dict.fromkeys(STEPS, "done")
    again = Project.open(tmp_path / "project")
    assert again.states() == dict.fromkeys(STEPS, "done")
    frame = again.read().frame
    assessed = again.result("assess")
    assert assessed is not None
    assert assessed.data["risk"]["unique_persons"] == shoal.assess(
        frame, again.policy().schema(again.folder, frame)
    ).risk.unique_persons  # fmt: skip
    release = again.result("release")
    assert release is not None
    assert work.holds(again, release.data["run"])
    groups = work.groups_of_run(again, release.data["run"])
    assert any(model.name == "record-risk" for model in again.policy().models)
    assert groups[facts.RECORD_RISK].max() <= 0.1
    assert not any(release.data["alone_by"].values()), "the demo greets with nothing alarming"
