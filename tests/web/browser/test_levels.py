"""The lattice of levels on the page Release: other combinations are shown, and one click takes one."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shoal.web import looking, work
from shoal.web.demo import Silent
from shoal.web.project import ColumnChoice, Project
from tests.web.browser.conftest import Served
from tests.web.serving import as_saved


def town(project: Project) -> None:
    """A project with a release at one set of levels."""
    file = project.folder / "cache" / "town.csv"
    people = range(240)
    pl.DataFrame({"who": people, "age": [20 + p % 40 for p in people], "flu": ["yes", "no"] * 120}).write_csv(file)
    ages = {"intervals": {"low": 20, "width": 5, "high": 59, "factor": 2}}
    project.update(
        seen=project.chosen.version,
        sources=(project.copy_file(file),),
        columns=(
            ColumnChoice("who", "person", is_confirmed=True),
            ColumnChoice("age", "quasi", "nominal", hierarchy=ages, is_confirmed=True),
            ColumnChoice("flu", "sensitive", is_confirmed=True),
        ),
        protection={"seed": 1, "models": {"person-k-anonymity": 5}, "method": {"name": "full-domain"}},
    )
    tell: Any = Silent()
    project.put_result("look", looking.look(project, tell), depends_on="data")
    project.put_result("assess", work.assess(project, tell), depends_on="columns")
    project.put_result("release", work.protect(project, tell), depends_on="protect")


@pytest.mark.long
def test_a_click_takes_other_levels(
    serve: Callable[..., Served], open_page: Callable[..., Any], tmp_path: Path
) -> None:
    town(Project.open(tmp_path / "project"))
    served = serve(project=tmp_path / "project")
    page = open_page(served, "/release")
    page.get_by_role("tab", name="Levels").click()
    page.get_by_text("The level of each column").first.wait_for()
    others = page.get_by_role("button", name=re.compile("persons left out, .* lost: age "))
    assert others.count() >= 2
    level = others.last.inner_text().strip().rpartition(" ")[2]
    others.last.click()
    page.wait_for_url(re.compile("/protect$"))
    method = as_saved(served.project).chosen.protection["method"]
    assert method["name"] == "full-domain"
    assert method["lowest"] == method["highest"] == f"age={level}"
