"""Related tables in the app: keys are suggested, roles are of all tables, and every table is released."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

from shoal.cli.main import cli
from shoal.errors import InputError, PolicyError
from shoal.web import looking, shelf, work
from shoal.web.demo import Silent
from shoal.web.files import put_into
from shoal.web.project import Project

TELL: Any = Silent()


def hospital(n: int = 60) -> dict[str, pl.DataFrame]:
    """Persons, their encounters, and what was found at these; made up."""
    persons = pl.DataFrame({
        "person_id": [f"P{i:03d}" for i in range(n)], "birth_year": [1940 + i for i in range(n)],
        "sex": [("m", "w", "M")[i % 3] for i in range(n)],
    })  # fmt: skip
    encounters = pl.DataFrame({
        "encounter_id": [f"E{i}" for i in range(2 * n)], "person_id": [f"P{i % n:03d}" for i in range(2 * n)],
        "ward": [("A", "B")[i % 2] for i in range(2 * n)],
    })  # fmt: skip
    conditions = pl.DataFrame({
        "encounter_id": [f"E{i % (2 * n)}" for i in range(3 * n)],
        "person_id": [f"P{i % (2 * n) % n:03d}" for i in range(3 * n)],
        "icd": [("I10", "E11", "J45", "M54", "K21")[i % 5] for i in range(3 * n)],
    })  # fmt: skip
    return {"person": persons, "encounter": encounters, "condition": conditions}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project.open(tmp_path / "project")
    for name, frame in hospital().items():
        file = tmp_path / f"{name}.csv"
        frame.write_csv(file, separator=";")
        put_into(project, project.copy_file(file), "records")
    return project


def related(project: Project) -> Project:
    found = looking.relate(project, TELL)["tables"]
    project.update(seen=project.chosen.version, tables=found)
    project.put_result("look", looking.look(project, TELL), depends_on="data")
    looking.take_suggestions(project)
    return project


def with_roles(project: Project) -> Project:
    roles = {"person_id": "person", "birth_year": "quasi", "sex": "quasi", "icd": "sensitive", "ward": "kept"}
    columns = tuple(replace(each, role=roles[each.name], kind="auto", is_confirmed=True)
                    for each in project.chosen.columns)  # fmt: skip
    protection = {"models": {"person-k-anonymity": 3}, "seed": 1, "budget": {"allow_alone": True}}
    project.update(seen=project.chosen.version, columns=columns, protection=protection)
    return project


def test_keys_and_links_are_suggested(project: Project) -> None:
    assert looking.relate(project, TELL)["tables"] == {
        "person": {"file": "person.csv", "key": "person_id"},
        "encounter": {"file": "encounter.csv", "key": "encounter_id", "links": {"person_id": "person"}},
        "condition": {"file": "condition.csv", "links": {"encounter_id": "encounter", "person_id": "person"}},
    }


def test_the_columns_of_all_tables_are_looked_at_and_the_key_names_the_person(project: Project) -> None:
    look = related(project).result("look")
    assert look is not None
    assert look.data["persons"] == 60
    assert look.data["table_of"] == {"birth_year": "person", "sex": "person", "ward": "encounter", "icd": "condition"}
    assert project.chosen.names("person") == ("person_id",)
    assert {column.name for column in project.chosen.columns} == {"person_id", "birth_year", "sex", "ward", "icd"}
    columns = tuple(replace(each, role="dropped" if each.name == "person_id" else each.role)
                    for each in project.chosen.columns)  # fmt: skip
    project.update(seen=project.chosen.version, columns=columns)
    with pytest.raises(PolicyError, match="the key of the table of persons names the person"):
        project.policy()


def test_every_table_is_released_and_the_command_makes_the_same(project: Project, tmp_path: Path) -> None:
    with_roles(related(project))
    project.update(seen=project.chosen.version, mend={"map": {"sex": {"M": "m"}}})
    assert work.assess(project, TELL)["risk"]["persons"] == 60
    told = work.protect(project, TELL)
    project.put_result("release", told, depends_on="protect")
    assert told["verdict"]["holds"]
    assert told["tables"] == {"person": 60, "encounter": 120, "condition": 180}
    assert set(told["published_tables"]) == {"person", "encounter", "condition"}
    assert {"step": "map", "column": "sex", "records": 20} in told["mended"]
    with zipfile.ZipFile(work.zip_of_run(project, told["run"], leaving=True)) as archive:
        assert {"release-person.csv", "release-encounter.csv", "release-condition.csv"} < set(archive.namelist())
    folder = project.folder / "runs" / told["run"]
    assert "Related tables (person: 60 rows" in (folder / "summary.html").read_text(encoding="utf-8")
    assert "all tables joined again" in (folder / "steward" / "report.html").read_text(encoding="utf-8")
    assert work.groups_of_run(project, told["run"]).height == told["groups"]
    (candidate,) = shelf.candidates(project)
    assert candidate.command() == "shoal protect --policy candidates/1.toml -o release"
    assert work.command_of(project) == "shoal protect --policy policy.toml -o release"
    again = run("protect", "--policy", str(project.folder / "policy.toml"), "-o", str(tmp_path / "again"), "--json")
    assert (again["k"], again["groups"], again["tables"]) == (told["k"], told["groups"], told["tables"])
    assert again["mended"] == told["mended"]
    assert run("verify", str(project.folder / "runs" / told["run"]), "--json")["verdict"]["holds"]
    published = pl.read_csv(tmp_path / "again" / "release-person.csv", separator=";")
    assert not any("M" in str(value) for value in published["sex"]), "values are mended in the table that they are of"


def run(*words: str) -> Any:
    found = CliRunner().invoke(cli, list(words))
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)


def test_another_file_asks_anew_how_they_belong_together(project: Project, tmp_path: Path) -> None:
    related(project)
    (tmp_path / "drug.csv").write_text("person_id;atc\nP000;A01\n")
    put_into(project, project.copy_file(tmp_path / "drug.csv"), "records")
    assert project.chosen.tables == {}
    with pytest.raises(InputError):
        project.table()
