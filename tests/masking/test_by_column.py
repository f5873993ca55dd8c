"""Each column by a mask of its own: steps find their columns, or say why they have none."""

from __future__ import annotations

import polars as pl
import pytest

import shoal
from shoal.attacking.elimination import attack_by_exclusion
from shoal.errors import ParameterError, SchemaError
from shoal.publishing.report.build import report_of

SCHEMA = shoal.Schema(quasi=["age", shoal.Nominal("sex")], sensitive=["ill"])


def people(n: int = 60) -> pl.DataFrame:
    ages, ills = [20 + i % 40 for i in range(n)], ["a", "b", "c"] * (n // 3)
    return pl.DataFrame({"age": ages, "sex": ["f", "m"] * (n // 2), "ill": ills})


@pytest.mark.parametrize(
    "by", ["noise:columns=age; noise; pram", "pram:columns=sex; noise; individual-ranking", "pram; shuffle; noise"]
)
def test_a_step_that_has_no_column_left_says_so(by: str) -> None:
    with pytest.raises(ParameterError, match="has nothing to change: no quasi-identifier of a kind that it takes"):
        shoal.protect(people(), SCHEMA, [], mask="columns", by=by, max_linkage=1.0, seed=1)


def test_where_persons_are_changed_one_by_one_there_are_no_groups_to_exclude_values_in() -> None:
    release = shoal.protect(people(), SCHEMA, [], mask="columns", by="noise; pram", max_linkage=1.0, seed=1)
    with pytest.raises(SchemaError, match="there are no groups"):
        attack_by_exclusion(release.data, SCHEMA, mask="columns")
    told = report_of(release, columns=[], policy=None)
    assert "exclude values" not in [found["name"] for found in told["attacks"]]
    grouped = shoal.protect(people(), SCHEMA, [shoal.KAnonymity(k=3)], seed=1)
    found = report_of(grouped, columns=[], policy=None)["attacks"]
    assert "exclude values" in [each["name"] for each in found]
