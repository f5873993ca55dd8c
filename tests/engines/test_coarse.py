"""The coarse tree, from counts made in this process: without Spark, and quick."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.demo.benchmark_table import benchmark_table
from shoal.engines.spark.code import Cells, CoarseTree, Grower
from shoal.engines.spark.group import RECORDS, SparkPoints, bins_of, coded, values_of
from shoal.engines.spark.mask import Work, keyed_bytes, protect_cell
from shoal.engines.spark.read import Facts, QuasiFacts, SensitiveFacts
from shoal.masking import Range
from shoal.masking.chosen import choose
from shoal.measuring.utility import utility_of_parts
from shoal.table.columns import Whole
from shoal.table.schema import Nominal, Number
from shoal.table.table import Table

SCHEMA = shoal.Schema(person="person", quasi=["age", "zip", "income", "education", "region"], sensitive=["diagnosis"])


def facts_of(frame: pl.DataFrame) -> Facts:
    """What Spark would have found out of the whole table."""
    whole = Table.from_frame(frame, SCHEMA)
    quasi: dict[str, QuasiFacts] = {}
    for name, column in whole.quasi.items():
        if name == "region":
            quasi[name] = QuasiFacts(Nominal(name), "nominal", False, categories=column.categories)  # type: ignore[union-attr]
        else:
            quasi[name] = QuasiFacts(Number(name), "number", False, whole=Whole(column.extent, has_dashes=False))  # type: ignore[union-attr]
    column = whole.sensitive["diagnosis"]
    _, value, _ = whole.values_of_persons(column)
    persons, records = (np.bincount(codes, minlength=column.n_codes) for codes in (value, column.codes))
    values = SensitiveFacts(column.categories, False, records, persons, "exact")
    return Facts(SCHEMA, quasi, {"diagnosis": values}, len(frame))


def persons_of(frame: pl.DataFrame, facts: Facts) -> pl.DataFrame:
    lines = coded(frame, facts, with_values=True)
    sums = [pl.col(f"x{j}").sum() for j in range(4)]
    return lines.group_by("person", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias(RECORDS), *sums, pl.col("x4").min(), pl.col("v0")
    )


class LocalSource:
    """Counts persons in this process, in two parts that are added up, as Spark does."""

    def __init__(self, persons: pl.DataFrame, points: SparkPoints) -> None:
        self.parts = [persons[: len(persons) // 3], persons[len(persons) // 3 :]]
        self.points = points

    def bins(self, tree: CoarseTree, nodes: Sequence[int]) -> pl.DataFrame:
        rows = pl.concat([bins_of(part, self.points, tree, np.array(nodes)) for part in self.parts])
        others = [name for name in rows.columns if name not in ("node", "attribute", "bin", "most")]
        return rows.group_by("node", "attribute", "bin").agg(pl.col(others).sum(), pl.col("most").max())

    def values(self, tree: CoarseTree, nodes: Sequence[int]) -> pl.DataFrame:
        rows = pl.concat([values_of(part, self.points, tree, np.array(nodes), 1) for part in self.parts])
        return rows.group_by("node", "attribute", "value").agg(pl.col("records", "persons").sum())


def grown(
    frame: pl.DataFrame, models: Sequence[Any], *, cell_persons: int, by_width: bool = False
) -> tuple[Cells, pl.DataFrame, Facts, np.ndarray[Any, Any]]:
    facts = facts_of(frame)
    persons = persons_of(frame, facts)
    points = SparkPoints.of(facts)
    sensitive = facts.sensitive["diagnosis"]
    grower = Grower(
        LocalSource(persons, points), models, is_nominal=points.is_nominal, top=points.top, by_width=by_width,
        cell_persons=cell_persons, in_table={"diagnosis": (sensitive.records, sensitive.persons)},
    )  # fmt: skip
    grower.whole()
    cells = grower.grow()
    return cells, persons, facts, cells.tree.place(points.points(persons))


@pytest.mark.parametrize("by_width", [False, True])
def test_every_cell_meets_every_model_and_holds_whole_persons(by_width: bool) -> None:
    frame = benchmark_table(3_000, seed=4)
    models = [shoal.RecordRisk(rho="0.1"), shoal.HAffiliation(h="0.2"), shoal.TCloseness(t="0.6")]
    cells, persons, _, cell = grown(frame, models, cell_persons=700, by_width=by_width)
    assert len(cells.persons_of_cell) >= 5
    assert dict(zip(*np.unique(cell, return_counts=True), strict=True)) == cells.persons_of_cell
    assert cells.largest <= 700
    shown = frame.join(persons.select("person", pl.Series("cell", cell).cast(pl.String)), on="person")
    as_groups = shoal.Schema(
        person="person",
        quasi=["cell"],
        sensitive=["diagnosis"],
        dropped=["age", "zip", "income", "education", "region"],
    )
    assert shoal.assess(shown, as_groups, models).holds


def test_cells_are_not_cut_where_a_side_would_break_a_model() -> None:
    frame = benchmark_table(400, seed=4)
    cells, _, _, _ = grown(frame, [shoal.PersonKAnonymity(k=150)], cell_persons=50)
    assert cells.largest > 50
    assert min(cells.persons_of_cell.values()) >= 150


def test_a_table_that_the_models_tie_together_is_one_cell() -> None:
    frame = benchmark_table(400, seed=4)
    cells, _, _, cell = grown(frame, [shoal.PersonKAnonymity(k=201)], cell_persons=50)
    assert cells.persons_of_cell == {0: 400}
    assert not cell.any()


def test_cells_together_lose_hardly_more_than_the_whole_table() -> None:
    frame = benchmark_table(6_000, seed=1)
    models = [shoal.RecordRisk(rho="0.2"), shoal.HAffiliation(h="0.5")]
    cells, persons, facts, cell = grown(frame, models, cell_persons=2_500)
    assert len(cells.persons_of_cell) >= 3
    method, mask = choose("balance-tree", Range(), {})
    work = Work(facts, tuple(models), method, mask, b"k" * 32, is_one_cell=False)
    placed = frame.join(persons.select("person", pl.Series("cell", cell)), on="person")
    parts = [protect_cell(own.drop("cell"), int(own["cell"][0]), work) for own in placed.partition_by("cell")]
    published = pl.concat([lines.drop("_shoal_kind", "_shoal_order") for lines, _ in parts])
    assert shoal.verify(published, SCHEMA, models).holds
    assert len(published) == len(frame)
    utility = utility_of_parts([loss for _, loss in parts])
    whole = shoal.protect(frame, SCHEMA, models, measure_input=False)
    assert utility.ane <= 1.03 * whole.utility.ane


def test_a_cell_comes_out_the_same_in_whatever_order_its_records_arrive() -> None:
    frame = benchmark_table(60, seed=5)
    work = Work(
        facts_of(frame), (shoal.PersonKAnonymity(k=5),), choose("mondrian", "range", {})[0], Range(), b"k" * 32, True
    )
    first, _ = protect_cell(frame, 3, work)
    second, _ = protect_cell(frame.sample(fraction=1, shuffle=True, seed=1), 3, work)
    assert first.equals(second)
    elsewhere, _ = protect_cell(frame, 4, work)
    assert not set(first["person"]) & set(elsewhere["person"])


def test_keyed_bytes_differ_by_key_cell_and_draw_and_can_be_drawn_again() -> None:
    draw, again = keyed_bytes(b"a" * 32, 1), keyed_bytes(b"a" * 32, 1)
    drawn = [draw(16), draw(16)]
    assert drawn == [again(16), again(16)]
    others = [keyed_bytes(b"a" * 32, 2)(16), keyed_bytes(b"b" * 32, 1)(16)]
    assert len({*drawn, *others}) == 4
