"""Tables of databases in the web app: read once, kept as a file, released; their address turns up nowhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shoal.demo.patients import made_up_patients
from shoal.errors import InputError
from shoal.publishing.sql import write_database
from shoal.web import looking, work
from shoal.web.demo import ROLES, Silent
from shoal.web.files import put_into
from shoal.web.project import Project, SourceFile
from tests.databases.servers import PASSWORD
from tests.databases.test_databases import database

pytestmark = pytest.mark.database
__all__ = ["database"]
TELL: Any = Silent()


@pytest.mark.parametrize("how", [{"table": "visits"}, {"query": "SELECT * FROM visits WHERE age >= 18"}])
def test_a_table_of_a_database_is_released_in_the_app(database: str, how: dict[str, str], tmp_path: Path) -> None:
    visits = made_up_patients(200, seed=3)
    write_database({"visits": visits}, database, overwrite=False)
    project = Project.open(tmp_path / "project")
    kept = looking.read_database_into(project, TELL, address=database, **how)
    put_into(project, SourceFile(**kept), "records")
    project.put_result("look", looking.look(project, TELL), depends_on="data")
    looking.take_suggestions(project)
    assert pl.read_parquet(project.source_paths()[0]).height == visits.height
    columns = tuple(replace(each, role=ROLES[each.name][0], kind=ROLES[each.name][1], is_confirmed=True)
                    for each in project.chosen.columns)  # fmt: skip
    protection = {"models": {"person-k-anonymity": 5}, "budget": {"allow_alone": True}, "seed": 1}
    project.update(seen=project.chosen.version, columns=columns, protection=protection)
    told = work.protect(project, TELL)
    assert told["verdict"]["holds"]
    assert (project.folder / "runs" / told["run"] / "release.parquet").is_file()
    texts = [path for path in project.folder.rglob("*") if path.suffix in (".json", ".toml", ".html")]
    assert texts
    assert not any(PASSWORD in path.read_text(encoding="utf-8") or database in path.read_text(encoding="utf-8")
                   for path in texts)  # fmt: skip


def test_what_a_database_does_not_have_is_said_in_words(database: str, tmp_path: Path) -> None:
    write_database({"visits": made_up_patients(20, seed=3)}, database, overwrite=False)
    project = Project.open(tmp_path / "project")
    with pytest.raises(InputError) as refused:
        looking.read_database_into(project, TELL, address=database, table="vists")
    assert PASSWORD not in str(refused.value)
    assert not list((project.folder / "sources").iterdir())
