"""A project keeps what was chosen, says what is stale, and never hands out what lies outside of it."""

from __future__ import annotations

import json
import os
import shutil
import stat
import threading
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from shoal.cli.main import cli
from shoal.demo.clinics import clinics
from shoal.errors import InputError, PolicyError, ShoalError
from shoal.policy import Policy
from shoal.web.hierarchies import remove_unused
from shoal.web.looking import take_suggestions
from shoal.web.project import STEPS, ChangedMeanwhile, Chosen, ColumnChoice, Project, safe_name

COLUMNS = (
    ColumnChoice("name", "person"),
    ColumnChoice("age", "quasi", "number", hierarchy={"intervals": {"low": 0, "width": 10, "high": 99}}),
    ColumnChoice("gender", "quasi", "nominal"),
    ColumnChoice("zip", "quasi", "number", hierarchy={"prefixes": [3, 2]}),
    ColumnChoice("disease", "sensitive"),
    ColumnChoice("admission", "dropped"),
)
COLUMNS = tuple(replace(column, is_confirmed=True) for column in COLUMNS)
PROTECTION = {"models": {"record-risk": "0.5", "h-affiliation": "0.5"}, "seed": 7}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    file = tmp_path / "clinics.csv"
    clinics().write_csv(file)
    return file


@pytest.fixture
def project(tmp_path: Path, table: Path) -> Project:
    project = Project.open(tmp_path / "project")
    source = project.copy_file(table)
    project.update(seen=0, sources=(source,), columns=COLUMNS, protection=PROTECTION)
    return project


def test_the_folder_is_for_its_owner_alone(project: Project) -> None:
    parts = [project.folder, *(path for path in project.folder.iterdir() if path.is_dir())]
    assert {stat.S_IMODE(part.stat().st_mode) for part in parts} == {0o700}
    files = [path for path in project.folder.rglob("*") if path.is_file()]
    assert {file.parent.name for file in files} == {project.folder.name, "sources", "history"}
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_the_spelling_of_columns_is_kept(project: Project, tmp_path: Path) -> None:
    columns = [replace(column, spelling="folded" if column.role == "person" else "exact") for column in COLUMNS]
    project.update(seen=project.chosen.version, columns=tuple(columns))
    assert project.document()["columns"]["spelling"] == {"name": "folded", "disease": "exact"}
    again = Project.open(tmp_path / "again")
    again.adopt(Policy.load(project.folder / "policy.toml"), project.folder)
    assert again.document()["columns"]["spelling"] == {"name": "folded", "disease": "exact"}
    assert again.fingerprint("columns") != Project.open(tmp_path / "other").fingerprint("columns")


def test_a_folder_that_others_may_read_is_closed(project: Project) -> None:
    os.chmod(project.folder, 0o755)
    Project.open(project.folder)
    assert stat.S_IMODE(project.folder.stat().st_mode) == 0o700


def test_opening_again_loses_nothing(project: Project) -> None:
    project.put_result("assess", {"persons": 8}, depends_on="columns")
    again = Project.open(project.folder)
    assert again.chosen == project.chosen
    assert again.chosen.version == 1
    assert again.states() == project.states()
    found = again.result("assess")
    assert found is not None
    assert found.data == {"persons": 8}


def test_a_folder_with_other_things_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(InputError, match="not empty"):
        Project.open(tmp_path)
    with pytest.raises(InputError, match="is a file"):
        Project.open(tmp_path / "mine.txt")


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"chosen": {"columns": [{"role": "quasi"}]}}'])
def test_a_damaged_project_is_refused(project: Project, content: str) -> None:
    (project.folder / "project.json").write_text(content)
    with pytest.raises(InputError, match="cannot be read"):
        Project.open(project.folder)


def test_saving_over_a_newer_version_is_refused_and_changes_nothing(project: Project) -> None:
    seen = project.chosen.version
    project.update(seen=seen, missing="drop")
    with pytest.raises(ChangedMeanwhile, match="another tab"):
        project.update(seen=seen, missing="refuse")
    assert project.chosen.missing == "drop"
    assert Project.open(project.folder).chosen.missing == "drop"


def test_of_many_tabs_that_save_at_once_one_succeeds(project: Project) -> None:
    seen, saved = project.chosen.version, []

    def save(number: int) -> None:
        try:
            project.update(seen=seen, title=str(number))
            saved.append(number)
        except ChangedMeanwhile:
            pass

    tabs = [threading.Thread(target=save, args=(number,)) for number in range(8)]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()
    assert len(saved) == 1
    assert project.chosen.title == str(saved[0])


def test_a_save_that_fails_leaves_what_was_there(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (project.folder / "project.json").read_bytes()

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(ShoalError, match="cannot be saved: No space left"):
        project.update(seen=project.chosen.version, title="x")
    assert project.chosen.title == ""
    assert (project.folder / "project.json").read_bytes() == before
    assert not list(project.folder.rglob("*.part"))


# The policy


def test_the_policy_is_the_one_that_the_command_line_reads(project: Project, tmp_path: Path) -> None:
    policy = Policy.load(project.folder / "policy.toml")
    assert policy == project.policy()
    assert policy.columns.person == "name"
    assert [column.name for column in policy.columns.quasi] == ["age", "gender", "zip"]
    source = str(project.folder / "sources" / "clinics.csv")
    run = CliRunner().invoke(
        cli, ["protect", source, "--policy", str(project.folder / "policy.toml"), "-o", str(tmp_path / "out"), "--json"]
    )
    assert run.exit_code == 0, run.stderr
    assert json.loads(run.stdout)["verdict"]["holds"]


def test_what_to_predict_goes_with_its_column(project: Project) -> None:
    asked = {**PROTECTION, "usefulness": {"target": "disease"}}
    project.update(seen=project.chosen.version, protection=asked)
    usefulness = project.policy().usefulness
    assert usefulness is not None
    assert usefulness.target == "disease"
    others = tuple(each if each.name != "disease" else ColumnChoice("disease", "dropped") for each in COLUMNS)
    models = {"models": {"record-risk": "0.5"}, "usefulness": {"target": "disease"}}
    project.update(seen=project.chosen.version, columns=others, protection=models)
    assert project.policy().usefulness is None


def test_a_column_without_a_role_is_refused_and_leaves_no_policy(project: Project) -> None:
    columns = (*COLUMNS[:-1], ColumnChoice("admission"))
    project.update(seen=project.chosen.version, columns=columns)
    assert not (project.folder / "policy.toml").exists()
    assert project.states()["columns"] == "open"
    with pytest.raises(PolicyError, match=r"1 column has no role: admission\. Say for each what it is"):
        project.policy()


def test_what_is_missing_is_told_all_together(project: Project) -> None:
    columns = (ColumnChoice("a", "person"), ColumnChoice("b", "person"), ColumnChoice("c"))
    project.update(seen=project.chosen.version, columns=columns)
    faults = project.faults()
    assert len(faults) == 3
    assert "1 column has no role: c" in faults[0]
    assert "Only one column can name the person, but these are chosen: a, b." in faults[1]
    assert "No column is chosen as known to others" in faults[2]


def test_a_policy_that_was_edited_by_hand_holds_when_the_project_is_opened(project: Project) -> None:
    file = project.folder / "policy.toml"
    text = file.read_text().replace("record-risk = 0.5", "record-risk = 0.25").replace('"disease"', "").replace(
        '"admission"', '"admission", "disease"'
    )  # fmt: skip
    text = text.replace("h-affiliation = 0.5\n", "")
    file.write_text(text)
    again = Project.open(project.folder)
    assert again.chosen.protection["models"] == {"record-risk": "0.25"}
    assert again.chosen.column("disease").role == "dropped"
    assert again.policy() == Policy.from_document({**again.document()})
    assert [column.name for column in again.chosen.columns] == [column.name for column in COLUMNS]


def test_a_policy_file_is_taken_over_with_its_hierarchy_files(tmp_path: Path, project: Project) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "sex.csv").write_text("Male;*\nFemale;*\n")
    (elsewhere / "given.toml").write_text(
        '[columns]\nperson = "name"\nquasi = ["age:number", { name = "gender", hierarchy = "sex.csv" }]\n'
        'sensitive = ["disease"]\ndropped = ["zip"]\nmissing = "refuse"\n'
        'person_ids = "none"\n[models]\ng-balance = { k = 5 }\n'
    )
    project.adopt(Policy.load(elsewhere / "given.toml"), elsewhere)
    kept = project.chosen.column("gender").hierarchy
    assert kept is not None
    assert kept["file"].startswith("hierarchies/sex-")
    assert (project.folder / kept["file"]).read_text().startswith("Male;*")
    assert project.chosen.column("zip").role == "dropped"
    assert project.chosen.column("admission").role == "dropped"  # not named by the policy: what it was before
    assert project.chosen.missing == "refuse"
    assert project.chosen.person_ids == "none"
    policy = Policy.load(project.folder / "policy.toml")
    assert policy.models == Policy.load(elsewhere / "given.toml").models
    assert policy.columns.person_ids == "none"
    frame = pl.read_csv(project.source_paths()[0])
    assert policy.schema(project.folder, frame).columns[1].hierarchy is not None


def test_hierarchies_of_histories_are_copied_with_a_policy(tmp_path: Path, project: Project) -> None:
    (tmp_path / "icd.csv").write_text("flu;lungs;*\n")
    project.adopt(
        Policy.from_document(
            {
                "columns": {"person": "name", "quasi": ["age"], "sensitive": ["disease"], "dropped": ["zip", "gender"]},
                "models": {"history-k": {"k": 2}},
                "history": {"hierarchies": {"disease": "icd.csv"}, "episode": "90 days"},
            }
        ),
        tmp_path,
    )
    kept = Policy.load(project.folder / "policy.toml").history
    file = kept.hierarchies["disease"].file
    assert file is not None
    assert file.startswith("hierarchies/icd-")
    assert kept.episode == "90 days"
    remove_unused(project)
    assert (project.folder / file).read_text().startswith("flu;lungs")


def test_hierarchy_files_of_one_name_do_not_take_each_others_place(tmp_path: Path, project: Project) -> None:
    for folder, text in (("a", "Male;*\nFemale;*\n"), ("b", "1;low;*\n2;low;*\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "levels.csv").write_text(text)
    quasi = [{"name": "gender", "hierarchy": "a/levels.csv"}, {"name": "zip", "hierarchy": "b/levels.csv"}]
    project.adopt(Policy.from_document({"columns": {"person": "name", "quasi": quasi}}), tmp_path)
    kept = [project.chosen.column(name).hierarchy for name in ("gender", "zip")]
    assert [(project.folder / each["file"]).read_text()[:4] for each in kept if each] == ["Male", "1;lo"]
    again = project.keep_hierarchy(b"Male;*\nFemale;*\n", Path(kept[0]["file"]).name)  # type: ignore[index]
    assert again == kept[0]["file"]  # type: ignore[index]


def test_the_table_of_persons_is_named_from_the_policy(project: Project, tmp_path: Path) -> None:
    (tmp_path / "persons.csv").write_text("who,height\nAdam,180\n")
    source = project.copy_file(tmp_path / "persons.csv")
    columns = (*COLUMNS, ColumnChoice("height", "quasi", "number"))
    project.update(seen=project.chosen.version, person_file=source, join_on={"name": "who"}, columns=columns)
    policy = Policy.load(project.folder / "policy.toml")
    assert policy.source.join is not None
    assert (project.folder / policy.source.join.person_file).read_text().startswith("who,height")
    assert project.join() is not None


# Results


def test_a_result_is_stale_when_what_it_depends_on_changes(project: Project) -> None:
    project.put_result("look", {}, depends_on="data")
    project.put_result("assess", {}, depends_on="columns")
    project.put_result("release", {}, depends_on="protect")
    assert project.states() == {"data": "done", "columns": "done", "risk": "done", "protect": "done", "release": "open"}
    project.update(seen=project.chosen.version, protection={"models": {"record-risk": "0.4"}})
    assert [project.states()[step] for step in STEPS] == ["done", "done", "done", "stale", "open"]
    project.update(seen=project.chosen.version, missing="drop")
    assert [project.states()[step] for step in STEPS] == ["done", "done", "stale", "stale", "open"]
    project.update(seen=project.chosen.version, csv={"delimiter": ";"})
    assert [project.states()[step] for step in STEPS] == ["stale", "done", "stale", "stale", "open"]


def test_going_back_to_the_former_choice_makes_a_result_fresh_again(project: Project) -> None:
    project.put_result("assess", {}, depends_on="columns")
    for missing, is_stale in (("drop", True), ("value", False)):
        project.update(seen=project.chosen.version, missing=missing)
        result = project.result("assess")
        assert result is not None
        assert result.is_stale is is_stale


def test_goal_and_title_make_nothing_stale(project: Project) -> None:
    before = [project.fingerprint(step) for step in STEPS]
    project.update(seen=project.chosen.version, goal={"words": "x"}, title="y")
    assert [project.fingerprint(step) for step in STEPS] == before


def test_another_file_of_the_same_name_is_another_table(project: Project, table: Path) -> None:
    before = project.fingerprint("data")
    table.write_text(table.read_text().replace("Franklin", "Franklyn") + "\n")
    project.update(seen=project.chosen.version, sources=(project.copy_file(table),))
    assert project.fingerprint("data") != before


# Suggestions


def a_look(*columns: tuple[str, str]) -> dict[str, object]:
    seen = [{"name": name, "kind": "number", "role": role} for name, role in columns]
    return {"columns": seen, "record_risk": "0.2", "h_affiliation": None}


def roles_of(project: Project) -> list[tuple[str, str]]:
    return [(column.name, column.role) for column in project.chosen.columns]


def test_suggestions_fill_only_what_was_not_chosen(project: Project) -> None:
    look = a_look(("name", "quasi"), ("new", "quasi"), ("number", "person"), ("when", "time"))
    project.put_result("look", look, depends_on="data")
    assert take_suggestions(project) == ["age", "gender", "zip", "disease", "admission"]
    assert roles_of(project) == [("name", "person"), ("new", "quasi"), ("number", ""), ("when", "time")]
    assert project.chosen.protection == PROTECTION
    version = project.chosen.version
    assert take_suggestions(project) == []
    assert project.chosen.version == version


def test_a_new_table_gets_new_suggestions_and_limits(project: Project) -> None:
    project.put_result("look", a_look(("x", "quasi"), ("y", "dropped")), depends_on="data")
    take_suggestions(project)
    assert roles_of(project) == [("x", "quasi"), ("y", "dropped")]
    assert project.chosen.protection["models"] == {"record-risk": "0.2"}


def test_a_column_that_a_given_policy_does_not_name_is_left_to_the_steward(project: Project) -> None:
    project.adopt(project.policy(), project.folder)
    project.put_result("look", a_look(("name", "person"), ("age", "quasi"), ("new", "quasi")), depends_on="data")
    take_suggestions(project)
    assert roles_of(project) == [("name", "person"), ("age", "quasi"), ("new", "")]
    with pytest.raises(PolicyError, match="1 column has no role: new"):
        project.policy()


# Paths


@pytest.mark.parametrize(
    "name",
    ["", " ", "..", ".", ".hidden", "a/b.csv", "/etc/passwd", "a\\b.csv", "a\0.csv", "a\n.csv", "C:x", "x" * 201, " a"],
)
def test_names_with_paths_in_them_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="must not have folders"):
        safe_name(name)


@pytest.mark.parametrize("name", ["visits 2024.csv", "données.csv", "a-b_c(1).csv", "x..y.csv"])
def test_ordinary_names_pass(name: str) -> None:
    assert safe_name(name) == name


def test_only_files_of_a_run_are_handed_out(project: Project) -> None:
    run = project.new_run()
    (run / "steward").mkdir(parents=True)
    (run / "release.csv").write_text("a")
    (run / "steward" / "report.html").write_text("b")
    (run / "link").symlink_to(project.folder / "project.json")
    assert project.file_of_run(run.name, "release.csv").read_text() == "a"
    assert project.file_of_run(run.name, "steward/report.html").read_text() == "b"
    outside = ["../../project.json", "/etc/passwd", "steward", "", ".", "link", "absent", "a\0b"]
    for name in outside:
        with pytest.raises(InputError, match="no such file"):
            project.file_of_run(run.name, name)
    for name in ("..", ".", "", "../runs", f"{run.name}/steward"):
        with pytest.raises(InputError, match="no such file"):
            project.file_of_run(name, "release.csv")


def test_runs_have_names_of_their_own(project: Project) -> None:
    names = {project.new_run().name for _ in range(20)}
    assert len(names) > 1


def test_removing_leaves_nothing(project: Project) -> None:
    project.remove()
    assert not project.folder.exists()


def test_a_key_of_another_version_is_left_out(project: Project) -> None:
    file = project.folder / "project.json"
    document = json.loads(file.read_text())
    document["chosen"]["invented_later"] = 1
    file.write_text(json.dumps(document))
    assert Project.open(project.folder).chosen == project.chosen


def test_nothing_chosen_is_said_in_words(tmp_path: Path) -> None:
    project = Project.open(tmp_path / "new")
    assert project.chosen == Chosen()
    assert project.faults() == ["Choose the files on the page Data first."]
    with pytest.raises(InputError, match="not read yet"):
        project.table()
    with pytest.raises(InputError, match="No file was chosen yet"):
        project.read()


def test_a_sample_and_its_population_are_part_of_the_policy(project: Project, table: Path) -> None:
    from shoal.web.files import put_into
    from shoal.web.work import assess

    frame = pl.read_csv(table).with_columns(w=pl.lit(9.0), home=pl.int_range(pl.len()) * 0 + 1)
    frame = frame.with_columns(home=pl.col("name").rank("dense").cast(pl.Int64))
    frame.write_csv(table)
    source = project.copy_file(table)
    beside = (ColumnChoice("w", "weight", is_confirmed=True), ColumnChoice("home", "household", is_confirmed=True))
    project.update(seen=project.chosen.version, sources=(source,), columns=(*project.chosen.columns, *beside))
    part = project.folder / "sources" / "part"
    shutil.copyfile(table, part)
    put_into(project, project.add_file(part, "town.csv", folder="population"), "population")
    policy = project.policy()
    assert (policy.columns.weight, policy.columns.household) == ("w", "home")
    assert policy.population is not None
    assert policy.population.file == "population/town.csv"
    told = assess(project, lambda *_: None)["risk"]["population"]
    assert told["population"] == 9 * told["persons"]
    assert told["households"]["households"] == told["persons"]
    assert told["journalist"]["highest"] == 1
    other = Project.open(project.folder.parent / "other")
    other.update(seen=other.chosen.version, sources=(other.copy_file(table),))
    other.adopt(policy, project.folder)
    assert other.chosen.column("w").role == "weight"
    assert (other.folder / other.chosen.population["file"]).resolve() == project.folder / "population" / "town.csv"
    two = replace(other.chosen.column("home"), role="weight")
    columns = tuple(two if column.name == "home" else column for column in other.chosen.columns)
    other.update(seen=other.chosen.version, columns=columns)
    assert any("Only one column can hold the weight" in fault for fault in other.faults())
