"""What runs beside the pages gives the library's numbers, and hands out nothing that does not hold."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.demo.patients import made_up_patients
from shoal.measuring import tuning
from shoal.policy import Policy
from shoal.web import facts, goal, shelf, work
from shoal.web.project import ColumnChoice, Project
from tests.web.serving import as_saved

ROLES = {
    "patient": ("person", "auto"),
    "visit_date": ("time", "auto"),
    "age": ("quasi", "number"),
    "gender": ("quasi", "nominal"),
    "zip": ("quasi", "number"),
    "education": ("quasi", "number"),
    "disease": ("sensitive", "auto"),
    "treatment": ("sensitive", "auto"),
}
MODELS = {"record-risk": "0.1", "h-affiliation": "0.5"}


class Heard:
    """Stands for the pipe to the page."""

    def __init__(self) -> None:
        self.stages: list[tuple[str, float]] = []
        self.partials: list[dict[str, Any]] = []

    def __call__(self, stage: str, done: float) -> None:
        self.stages.append((stage, done))

    def partial(self, found: Mapping[str, Any]) -> None:
        json.dumps(found, allow_nan=False)
        self.partials.append(dict(found))


def made(folder: Path, protection: Mapping[str, Any] | None = None, persons: int = 400) -> Project:
    project = Project.open(folder)
    file = folder.parent / "visits.csv"
    made_up_patients(persons).write_csv(file)
    source = project.copy_file(file)
    project.update(
        seen=project.chosen.version,
        sources=(source,),
        columns=tuple(ColumnChoice(name, role, kind, is_confirmed=True) for name, (role, kind) in ROLES.items()),
        protection=dict(protection if protection is not None else {"models": MODELS, "seed": 7}),
    )
    return project


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, dict[str, Any]]:
    project = made(tmp_path_factory.mktemp("work") / "project")
    return project, work.protect(as_saved(project.folder), Heard())  # type: ignore[arg-type]


def schema_and_frame(project: Project) -> tuple[shoal.Schema, pl.DataFrame]:
    frame = project.read().frame
    return project.policy().schema(project.folder, frame), frame


def test_assess_has_the_numbers_of_the_library(tmp_path: Path) -> None:
    project, heard = made(tmp_path / "project"), Heard()
    told = work.assess(project, heard)  # type: ignore[arg-type]
    json.dumps(told, allow_nan=False)
    schema, frame = schema_and_frame(project)
    risk = shoal.assess(frame, schema).risk
    for key in ("records", "persons", "groups", "max_gidr", "avg_gidr", "max_gsar", "unique_persons", "k", "person_k"):
        assert told["risk"][key] == getattr(risk, key)
    assert told["combinations"][-1]["persons"] == risk.unique_persons
    assert heard.stages[-1][1] > 0.9


def test_the_kept_table_is_used_where_there_is_one(tmp_path: Path) -> None:
    project = made(tmp_path / "project")
    first = work.assess(project, Heard())  # type: ignore[arg-type]
    project.read().frame.head(50).write_parquet(project.table_file)
    second = work.assess(project, Heard())  # type: ignore[arg-type]
    assert (first["risk"]["records"] > 50, second["risk"]["records"]) == (True, 50)


def test_tune_hands_over_every_point_and_chooses_as_the_library_does(tmp_path: Path) -> None:
    project, heard = made(tmp_path / "project", {}), Heard()
    targets = {"max_gidr": "0.2", "max_gsar.disease": "0.5"}
    told = work.tune(project, heard, targets=targets, points=6, beside={"models": {"person-k-anonymity": 3}, "seed": 7})  # type: ignore[arg-type]
    schema, frame = schema_and_frame(project)
    found = tuning.tune(
        frame, schema, [shoal.PersonKAnonymity(k=3)], targets=targets, points=6, seed=7
    )  # fmt: skip
    assert len(told["points"]) == len(found.points) == len(heard.partials)
    assert [point["minimised"] for point in told["points"]] == [point.loss for point in found.points]
    assert found.chosen is not None
    chosen = told["points"][told["chosen"]]
    assert chosen["minimised"] == found.chosen.loss
    assert heard.partials[told["chosen"]]["minimised"] == chosen["minimised"]
    assert chosen["asked"]["targets"] == targets  # a page that asks for something else does not take it for its own
    document = {**project.document(), "models": chosen["policy_models"]}
    assert shoal.policy.Policy.from_document(document).models == found.chosen.models


def test_compare_has_a_row_for_each_method_and_says_why_one_cannot_be_used(tmp_path: Path) -> None:
    project, heard = made(tmp_path / "project", {}, persons=120), Heard()
    told = work.compare(
        project, heard, target="max_gidr", limit="0.3", by=["record-risk"],
        methods=["balance-tree", "mondrian", "no-such-method"], beside={},
    )  # type: ignore[arg-type]  # fmt: skip
    assert [row["method"] for row in told["rows"]] == ["balance-tree", "mondrian", "no-such-method"]
    assert "no-such-method" in told["rows"][2]["error"]
    schema, frame = schema_and_frame(project)
    found = tuning.compare(
        frame, schema, methods=["balance-tree", "mondrian"], at=[tuning.Target("max_gidr", "0.3")], by=["record-risk"]
    )  # type: ignore[arg-type]
    for row, ours in zip(found.rows, told["rows"], strict=False):
        assert row.point is not None
        assert ours["minimised"] == row.point.loss
    assert heard.partials == told["rows"]


def test_protect_writes_a_run_with_the_policy_of_the_command_line(released: tuple[Project, dict[str, Any]]) -> None:
    project, told = released
    json.dumps(told, allow_nan=False)
    schema, frame = schema_and_frame(project)
    release = shoal.protect(frame, schema, project.policy().models, seed=7)
    for key in ("max_gidr", "max_gsar", "groups", "persons", "ane", "person_k"):
        assert told[key] == release.to_dict()[key]
    run = project.folder / "runs" / told["run"]
    kept = shoal.policy.Policy.load(run / "steward" / "policy.toml")
    assert kept.models == project.policy().models
    assert told["verdict"]["holds"]
    assert len(told["published"]["records"]) == facts.MOST_SHOWN
    assert "patient" in told["published"]["columns"]
    assert len(told["promises"]) == 2


def test_what_leaves_and_what_stays_are_two_zips(released: tuple[Project, dict[str, Any]]) -> None:
    project, told = released
    leaving = zipfile.ZipFile(work.zip_of_run(project, told["run"], leaving=True)).namelist()
    staying = zipfile.ZipFile(work.zip_of_run(project, told["run"], leaving=False)).namelist()
    assert "release.csv" in leaving
    assert "summary.html" in leaving
    assert not [name for name in leaving if "steward" in name]
    assert "steward/report.html" in staying
    assert all(name.startswith("steward/") for name in staying)


def test_clicking_twice_gives_two_whole_zips(released: tuple[Project, dict[str, Any]]) -> None:
    project, told = released
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: work.zip_of_run(project, told["run"], leaving=True), range(32)))
    with zipfile.ZipFile(made[0]) as archive:
        assert archive.testzip() is None
    assert not list(made[0].parent.glob("*.part"))


def test_groups_are_those_of_the_release_also_when_the_kept_ones_are_gone(
    released: tuple[Project, dict[str, Any]],
) -> None:
    project, told = released
    kept = work.groups_of_run(project, told["run"])
    work.groups_file(project, told["run"]).unlink()
    again = work.groups_of_run(project, told["run"])
    by = [facts.PERSONS, facts.RECORDS, facts.RECORD_RISK]
    assert kept.sort(*by).select(by).equals(again.sort(*by).select(by))
    assert len(kept) == told["groups"]
    assert kept[facts.RECORD_RISK].max() == told["max_gidr"]


def test_attacks_are_those_of_the_library(released: tuple[Project, dict[str, Any]]) -> None:
    project, told = released
    found = work.attack(project, Heard(), run=told["run"], exclude=1)  # type: ignore[arg-type]
    policy, published = work._published(project, told["run"])
    ours = shoal.attacking.attack_by_exclusion(published.frame, policy.schema_of_release(), exclude=1)
    assert [row["share"] for row in found["rows"]] == [each.share for each in ours]


def test_a_changed_release_is_not_handed_out(tmp_path: Path) -> None:
    project = made(tmp_path / "project", persons=150)
    told = work.protect(project, Heard())  # type: ignore[arg-type]
    file = project.file_of_run(told["run"], "release.csv")
    file.write_bytes(file.read_bytes() + b"one more\n")
    with pytest.raises(shoal.errors.InputError, match="handed out"):
        work.zip_of_run(project, told["run"], leaving=True)


def test_a_promise_that_cannot_be_kept_leaves_no_run(tmp_path: Path) -> None:
    project = made(tmp_path / "project", {"models": {"h-affiliation": "0.01"}}, persons=60)
    with pytest.raises(shoal.errors.CannotSatisfyError):
        work.protect(project, Heard())  # type: ignore[arg-type]
    assert not any((project.folder / "runs").iterdir())


def test_nothing_promised_is_nothing_released(tmp_path: Path) -> None:
    project = made(tmp_path / "project", {}, persons=60)
    with pytest.raises(shoal.errors.InputError, match="promised"):
        work.protect(project, Heard())  # type: ignore[arg-type]
    assert not any((project.folder / "runs").iterdir())


def test_the_command_names_the_files_and_the_policy(released: tuple[Project, dict[str, Any]]) -> None:
    project, _ = released
    assert work.command_of(project) == "shoal protect sources/visits.csv --policy policy.toml -o release"
    named = replace(project.chosen, sources=(replace(project.chosen.sources[0], name="two words.csv"),))
    assert "'sources/two words.csv'" in work.command_of(Project(project.folder, named))


def test_a_ledger_remembers_releases_of_the_app(tmp_path: Path) -> None:
    protection = {"models": {"person-k-anonymity": 5}, "ledger": {"file": "kept.sqlite", "mode": "warn"}}
    project = made(tmp_path / "project", protection, persons=80)
    work.protect(project, Heard())
    work.protect(project, Heard())
    assert [release.persons for release in shoal.Ledger(project.folder / "kept.sqlite").releases()] == [80, 80]


def test_later_records_are_masked_by_the_groups_of_a_release(tmp_path: Path) -> None:
    project = made(tmp_path / "project", {"models": {"person-k-anonymity": 5}}, persons=80)
    told = work.protect(project, Heard(), keep_person_map=True)
    part = project.folder / "sources" / ".later.part"
    project.read().frame.head(30).write_csv(part)
    file = project.add_file(part, "later.csv", folder="later")
    added = work.later(project, Heard(), run=told["run"], files=[file.name])
    assert added["records"] == told["records"] + 30
    assert added["persons"] == told["persons"]
    assert added["verdict"]["holds"]
    assert work.holds(project, added["run"])
    assert work.numbers_of_run(project, added["run"])["records"] == added["records"]


def test_a_decision_is_entered_in_a_release_of_the_app(tmp_path: Path) -> None:
    project = made(tmp_path / "project", {"models": {"person-k-anonymity": 5}}, persons=80)
    told = work.protect(project, Heard())
    before = work.numbers_of_run(project, told["run"])
    project.update(seen=project.chosen.version, decision={"purpose": "Waiting times"})
    result = project.result("release")
    assert result is None or not result.is_stale
    work.enter_decision(project, told["run"])
    report = project.file_of_run(told["run"], "steward/report.html").read_text(encoding="utf-8")
    assert "Waiting times" in report
    assert work.numbers_of_run(project, told["run"]) == before
    assert Policy.load(project.folder / "policy.toml").decision == Policy.from_document(project.document()).decision
    work.zip_of_run(project, told["run"], leaving=True)  # the manifest knows the new pages


@pytest.mark.parametrize("mask", ["perturb", "anatomize", "permute"])
def test_every_mask_is_tried_and_shown_beside_the_originals(tmp_path: Path, mask: str) -> None:
    project = made(tmp_path / "project", {"models": {"person-k-anonymity": 5}, "mask": {"name": mask}}, persons=80)
    roles = {"anatomize": ("time",), "permute": ("time", "person")}.get(mask, ())  # permute: one record per person
    columns = tuple(replace(each, role="dropped") if each.role in roles else each for each in project.chosen.columns)
    project.update(seen=project.chosen.version, columns=columns)
    if mask == "perturb":
        project.update(seen=project.chosen.version, missing="drop")
    number = work.try_out(project, Heard())["candidate"]
    shown, before = shelf.candidate_called(project, number).published, shelf.originals_of(project, number)
    assert before is not None
    assert len(shown["records"]) == len(before["records"]) == 20


def test_persons_are_changed_one_by_one_where_a_limit_on_linkage_is_all_that_is_promised(tmp_path: Path) -> None:
    asked = goal.starting_goal(["disease", "treatment"], None, {})
    asked["options"] |= {"mask": "columns", "mask_options": {"by": "noise:amount=0.7; pram"}, "max_linkage": 0.9}
    assert goal.models_of_sliders(asked) == {}  # whatever is ticked
    protection = goal.protection_with(asked, {}, {"seed": 7})
    assert protection["mask"] == {"name": "columns", "by": "noise:amount=0.7; pram", "max_linkage": 0.9}
    project = made(tmp_path / "project", protection, persons=80)
    assert len(shelf.candidate_called(project, work.try_out(project, Heard())["candidate"]).published["records"]) == 20  # type: ignore[arg-type]
    told = work.protect(project, Heard())  # type: ignore[arg-type]
    assert told["run"]
