"""A table that is a sample: the steward names its weights, and reads the risk in the population."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from tests.web.browser import steward
from tests.web.browser.conftest import Served


def survey(folder: Path) -> pl.DataFrame:
    """Sixty persons of a town of some thousands."""
    rng = np.random.default_rng(5)
    frame = pl.DataFrame(
        {"age": rng.integers(20, 60, 60), "sex": rng.choice(["f", "m"], 60), "stands_for": rng.integers(40, 90, 60)}
    )
    frame.write_csv(folder / "survey.csv")
    return frame


@pytest.mark.long
def test_weights_are_named_and_the_risk_in_the_population_is_read(
    serve: Callable[..., Served], open_page: Callable[..., Any], tmp_path: Path
) -> None:
    frame = survey(tmp_path)
    page = open_page(serve())
    steward.upload(page, tmp_path / "survey.csv")
    page.get_by_role("heading", name="The first records").wait_for()
    steward.step(page, "Columns")
    for column, role in (("age", "quasi"), ("sex", "quasi"), ("stands_for", "weight")):
        steward.give_role(page, column, role)
    steward.confirm_roles(page)
    steward.step(page, "Risk")
    page.get_by_text("The table is a sample: risk in the population").wait_for()
    told = {row[0]: row[1] for row in steward.cells(page, "Risk in the population")}
    schema = shoal.Schema(quasi=["age", shoal.Nominal("sex")], weight="stands_for")
    risk = shoal.assess(frame, schema).to_dict()["population"]
    found = told["Persons of the population that they stand for"]
    assert int("".join(filter(str.isdigit, found))) == round(risk["population"])
    expected = float(told["Persons expected to be found in the population"].replace(",", ""))
    assert expected == pytest.approx(risk["expected_reidentifications"], rel=0.01)
    columns = steward.cells(page, "How well columns tell persons apart")
    assert {row[0] for row in columns} == {"age", "sex", "age + sex"}
    classes = steward.cells(page, "Classes of persons who are alike, the largest risk first")
    assert classes[0][:2] == ["1", f"{risk['frequencies'][0]['F']:g}"]
