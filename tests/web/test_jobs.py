"""Long work runs in another process, tells how far it is, can be ended, and fails in words without values."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from shoal.web.jobs import Jobs, WebJob, told_without_values
from shoal.web.project import Project

WORK = "tests.web.slow_work"
SECONDS = 120


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project.open(tmp_path / "project")


@pytest.fixture
def jobs(project: Project) -> Iterator[Jobs]:
    jobs = Jobs(project)
    yield jobs
    jobs.end()


def has_partials(job: WebJob) -> bool:
    end = time.monotonic() + SECONDS
    while not job.partials and time.monotonic() < end:
        time.sleep(0.01)
    return bool(job.partials)


def test_work_is_done_elsewhere_and_told(jobs: Jobs, project: Project) -> None:
    job = jobs.start("add", f"{WORK}:add", {"numbers": [1, 2, 3]}, keep_as="sum", depends_on="data")
    assert job.wait(SECONDS)
    assert (job.state, job.error) == ("done", None)
    assert job.result is not None
    assert job.result["sum"] == 6
    assert job.result["process"] != os.getpid()
    assert job.partials == [{"number": 1}, {"number": 2}, {"number": 3}]
    assert job.done == 1.0
    assert job.notes == ["one to look at"]
    assert job.seconds_left is None
    assert jobs.running() == []
    assert jobs.latest("add") is job
    kept = project.result("sum")
    assert kept is not None
    assert kept.data["sum"] == 6
    assert not kept.is_stale


def test_there_is_one_job_of_a_kind(jobs: Jobs, tmp_path: Path) -> None:
    arguments = {"until": str(tmp_path / "go")}
    first = jobs.start("wait", f"{WORK}:wait", arguments)
    assert jobs.start("wait", f"{WORK}:wait", arguments) is first
    other = jobs.start("other", f"{WORK}:wait", arguments)
    assert other is not first
    replaced = jobs.start("wait", f"{WORK}:wait", arguments, replace=True)
    assert replaced is not first
    assert first.state == "cancelled"
    (tmp_path / "go").touch()
    assert replaced.wait(SECONDS)
    assert other.wait(SECONDS)
    assert (replaced.state, other.state) == ("done", "done")


@pytest.mark.parametrize("stubborn", [False, True])
def test_cancelling_ends_the_process_and_keeps_what_was_found(
    jobs: Jobs, project: Project, tmp_path: Path, stubborn: bool
) -> None:
    arguments = {"until": str(tmp_path / "never"), "stubborn": stubborn}
    job = jobs.start("wait", f"{WORK}:wait", arguments, keep_as="found")
    assert has_partials(job)
    assert (job.stage, job.done) == ("Waiting", 0.25)
    assert job.seconds_left is not None
    process = job.partials[0]["process"]
    job.cancel()
    assert job.wait(SECONDS)
    assert job.state == "cancelled"
    assert job.error is None
    assert not psutil.pid_exists(process)
    kept = project.result("found")
    assert kept is not None
    assert kept.data == {"partials": [{"process": process}], "is_cancelled": True}
    job.cancel()  # again: nothing to do


def test_cancelling_does_not_replace_a_fresh_result(jobs: Jobs, project: Project, tmp_path: Path) -> None:
    project.put_result("found", {"whole": True}, depends_on="columns")
    job = jobs.start("wait", f"{WORK}:wait", {"until": str(tmp_path / "never")}, keep_as="found")
    assert has_partials(job)
    job.cancel()
    kept = project.result("found")
    assert kept is not None
    assert kept.data == {"whole": True}


def test_ending_the_server_ends_the_work(project: Project, tmp_path: Path) -> None:
    jobs = Jobs(project)
    started = [jobs.start(kind, f"{WORK}:wait", {"until": str(tmp_path / "never")}) for kind in ("a", "b")]
    assert all(map(has_partials, started))
    jobs.end()
    assert not any(psutil.pid_exists(job.partials[0]["process"]) for job in started)


def test_a_result_belongs_to_the_choices_that_it_was_made_from(jobs: Jobs, project: Project, tmp_path: Path) -> None:
    job = jobs.start("wait", f"{WORK}:wait", {"until": str(tmp_path / "go")}, keep_as="found")
    assert has_partials(job)
    project.update(seen=project.chosen.version, missing="drop")
    (tmp_path / "go").touch()
    assert job.wait(SECONDS)
    kept = project.result("found")
    assert kept is not None
    assert kept.data == {"missing": "value"}
    assert kept.is_stale


def test_work_is_done_for_the_choices_at_its_start(jobs: Jobs, project: Project, tmp_path: Path) -> None:
    """Another tab may change them before the process has begun."""
    (tmp_path / "go").touch()
    job = jobs.start("wait", f"{WORK}:wait", {"until": str(tmp_path / "go")}, keep_as="found")
    project.update(seen=project.chosen.version, missing="drop")
    assert job.wait(SECONDS)
    kept = project.result("found")
    assert kept is not None
    assert kept.data == {"missing": "value"}
    assert kept.is_stale


def test_an_error_on_purpose_is_told_in_its_own_words(jobs: Jobs, project: Project) -> None:
    job = jobs.start("refuse", f"{WORK}:refuse", keep_as="refused")
    assert job.wait(SECONDS)
    assert (job.state, job.error) == ("failed", "No grouping of this table meets it. Ask for less.")
    assert project.result("refused") is None


@pytest.mark.parametrize("work", ["stumble", "unsendable", "absent"])
def test_an_unexpected_error_is_told_without_values(jobs: Jobs, capfd: pytest.CaptureFixture[str], work: str) -> None:
    job = jobs.start(work, f"{WORK}:{work}")
    assert job.wait(SECONDS)
    assert job.state == "failed"
    assert job.error is not None
    assert "This is a fault in shoal." in job.error
    assert "secretitis" not in job.error
    told = "".join(capfd.readouterr())
    assert "secretitis" not in told
    assert "Traceback" not in told


def test_a_process_that_is_killed_is_told(jobs: Jobs) -> None:
    job = jobs.start("die", f"{WORK}:die")
    assert job.wait(SECONDS)
    assert job.state == "failed"
    assert job.error is not None
    assert "signal 9" in job.error
    assert job.partials == [{"found": 1}]


def test_where_an_error_came_up_is_told() -> None:
    try:
        Project.open("\0")
    except ValueError as error:
        told = told_without_values(error)
    assert told.startswith("An unexpected ValueError at open in project.py.")
    assert "not enough memory" in told_without_values(MemoryError("secretitis"))
