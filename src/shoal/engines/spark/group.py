"""Persons as one line each, by aggregation, and the cells they are grouped in, from counts that executors make."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.engines.spark.code import COUNTED, MASS_GRID, CoarseTree
from shoal.engines.spark.read import Facts, frame_of, mapped, quoted
from shoal.models.entropy import times_log2
from shoal.table.columns import NumberColumn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

STEPS = 2**39
"""Steps from the lowest to the highest value of a number, in which persons' records are added up."""

PERSONS_PER_COUNT = 200_000
"""About how many persons are counted at a time."""

PERSON, RECORDS, CELL = "person", "records", "cell"


@dataclass(frozen=True)
class SparkPoints:
    """How lines of persons become points: a number between 0 and `top` for each quasi-identifier."""

    is_nominal: NDArray[np.bool_]
    top: NDArray[np.float64]

    @classmethod
    def of(cls, facts: Facts) -> SparkPoints:
        """The points of a table's persons."""
        nominal, top = [], []
        for column in facts.quasi.values():
            nominal.append(column.kind == "nominal")
            if column.categories is not None:
                top.append(len(column.categories) + column.has_missing - 1.0)
            else:
                top.append(2.0 if column.has_missing else 1.0)
        return cls(np.array(nominal), np.array(top))

    def points(self, rows: pl.DataFrame) -> NDArray[np.float64]:
        """One point per person: the mean over their records, the lowest of their categories."""
        records = rows[RECORDS].to_numpy()
        columns = [
            rows[f"x{j}"].to_numpy() if self.is_nominal[j] else rows[f"x{j}"].to_numpy() / records / STEPS
            for j in range(len(self.is_nominal))
        ]
        return np.stack(columns, axis=1).astype(np.float64)


def coded(frame: pl.DataFrame, facts: Facts, *, with_values: bool) -> pl.DataFrame:
    """Records as whole numbers: steps above the lowest value for numbers, codes for categories and sensitive values."""
    columns: dict[str, Any] = {}
    if facts.schema.person is not None:
        columns[PERSON] = frame[facts.schema.person]
    for j, (name, quasi) in enumerate(facts.quasi.items()):
        column = quasi.column(frame[name])
        if isinstance(column, NumberColumn):
            low, high = column.extent
            lowest = low - max(high - low, 1) if quasi.has_missing else low
            above = (column.units_with_missing() - lowest) / float(max(high - low, 1))
            columns[f"x{j}"] = np.rint(above * STEPS).astype(np.int64)
        else:
            columns[f"x{j}"] = column.codes.astype(np.int64)
    for i, (name, attribute) in enumerate(facts.sensitive.items() if with_values else ()):
        columns[f"v{i}"] = attribute.column(frame[name]).codes
    return pl.DataFrame(columns)


def persons_of(frame: DataFrame, facts: Facts, *, with_values: bool) -> DataFrame:
    """One line per person: number of records, sums of their values, and where asked the sensitive values they have."""
    from pyspark.sql import functions
    from pyspark.sql.types import ArrayType, IntegerType, LongType, StructField, StructType

    person = facts.schema.person
    places = [f"x{j}" for j in range(len(facts.quasi))]
    values = [f"v{i}" for i in range(len(facts.sensitive))] if with_values else []
    fields = [StructField(PERSON, frame.schema[person].dataType)] if person is not None else []
    fields += [StructField(name, LongType()) for name in places]
    named = [*facts.schema.quasi_names, *([person] if person is not None else [])]
    named += facts.schema.sensitive if with_values else ()
    used = frame.select(*map(quoted, named))
    if person is None:
        fields = [StructField(RECORDS, LongType()), *fields]
        fields += [StructField(name, ArrayType(IntegerType())) for name in values]
        return mapped(used, _coding(facts, StructType(fields), with_values, alone=True), StructType(fields))
    fields += [StructField(name, IntegerType()) for name in values]
    records = mapped(used, _coding(facts, StructType(fields), with_values, alone=False), StructType(fields))
    is_nominal = SparkPoints.of(facts).is_nominal
    summed = [
        (functions.min if is_nominal[j] else functions.sum)(name).cast("long").alias(name)
        for j, name in enumerate(places)
    ]
    lists = [functions.collect_list(name).alias(name) for name in values]
    return records.groupBy(PERSON).agg(functions.count(functions.lit(1)).alias(RECORDS), *summed, *lists)


def _coding(facts: Facts, schema: Any, with_values: bool, *, alone: bool) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What an executor does to batches of records: code them; where each is a person, as lines of persons at once."""

    def code(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            rows = coded(frame_of(batch), facts, with_values=with_values)
            if alone:
                values = [pl.concat_list(name).alias(name) for name in rows.columns if name.startswith("v")]
                rows = rows.with_columns(pl.lit(1, pl.Int64).alias(RECORDS), *values)
            yield from in_batches(rows, schema)

    return code


def in_batches(rows: pl.DataFrame, schema: Any) -> Iterator[Any]:
    """A polars frame as Arrow batches of just the types that Spark was told."""
    yield from as_arrow(rows, schema).to_batches()


def as_arrow(rows: pl.DataFrame, schema: Any) -> Any:
    """A polars frame as an Arrow table of just the types that Spark was told."""
    from pyspark.sql.pandas.types import to_arrow_schema

    wanted = to_arrow_schema(schema)
    table = rows.select(wanted.names).to_arrow()
    return table.cast(wanted)


def in_portions(batches: Iterator[Any]) -> Iterator[pl.DataFrame]:
    """Batches put together until there are enough persons to count at a time."""
    waiting: list[pl.DataFrame] = []
    for batch in batches:
        waiting.append(frame_of(batch))
        if sum(map(len, waiting)) >= PERSONS_PER_COUNT:
            yield pl.concat(waiting)
            waiting = []
    if waiting:
        yield pl.concat(waiting)


class SparkSource:
    """Counts the persons of nodes with Spark; nothing but counts comes to the driver.

    Sensitive values of persons are gathered only when they are first asked for: often bounds decide without them.
    """

    def __init__(self, frame: DataFrame, persons: DataFrame, facts: Facts) -> None:
        self.frame = frame
        self.persons = persons
        self.facts = facts
        self.points = SparkPoints.of(facts)
        self._with_values: DataFrame | None = None

    def close(self) -> None:
        """Let go of what was gathered."""
        if self._with_values is not None:
            self._with_values.unpersist()

    def bins(self, tree: CoarseTree, nodes: Sequence[int]) -> pl.DataFrame:
        """The bins of nodes: persons, records, squares, most, logarithms and masses."""
        from pyspark.sql import functions

        masses = [f"m{j}" for j in range(len(self.points.is_nominal))]
        points, wanted = self.points, np.array(nodes)

        def count(batches: Iterator[Any]) -> Iterator[Any]:
            for rows in in_portions(batches):
                yield from _own_batches(bins_of(rows, points, tree, wanted), BIN_TYPES, masses)

        form = ", ".join(
            [*(f"{name} {kind}" for name, kind in BIN_TYPES.items()), *(f"{name} long" for name in masses)]
        )
        counted = self.persons.drop(PERSON).mapInArrow(count, form)
        sums = [functions.sum(name).alias(name) for name in ("persons", "records", "squared", "logs", *masses)]
        summed = counted.groupBy("node", "attribute", "bin").agg(*sums, functions.max("most").alias("most"))
        return frame_of(summed.toArrow())

    def values(self, tree: CoarseTree, nodes: Sequence[int]) -> pl.DataFrame:
        """The sensitive values of nodes: how many records and persons have each."""
        from pyspark import StorageLevel
        from pyspark.sql import functions

        if self._with_values is None:
            gathered = persons_of(self.frame, self.facts, with_values=True)
            self._with_values = gathered.persist(StorageLevel.MEMORY_AND_DISK)
        points, wanted, n_attributes = self.points, np.array(nodes), len(self.facts.sensitive)

        def count(batches: Iterator[Any]) -> Iterator[Any]:
            for rows in in_portions(batches):
                yield from _own_batches(values_of(rows, points, tree, wanted, n_attributes), VALUE_TYPES, [])

        form = ", ".join(f"{name} {kind}" for name, kind in VALUE_TYPES.items())
        counted = self._with_values.drop(PERSON).mapInArrow(count, form)
        summed = counted.groupBy("node", "attribute", "value").agg(
            functions.sum("records").alias("records"), functions.sum("persons").alias("persons")
        )
        return frame_of(summed.toArrow())


BIN_TYPES = {
    "node": "long", "attribute": "int", "bin": "int", "persons": "long", "records": "long", "squared": "long",
    "most": "long", "logs": "double",
}  # fmt: skip
VALUE_TYPES = {"node": "long", "attribute": "int", "value": "long", "records": "long", "persons": "long"}
ARROW_TYPES = {"long": pl.Int64, "int": pl.Int32, "double": pl.Float64}


def _own_batches(rows: pl.DataFrame, types: dict[str, str], longs: Sequence[str]) -> Iterator[Any]:
    kinds = {**types, **dict.fromkeys(longs, "long")}
    yield from rows.select(pl.col(name).cast(ARROW_TYPES[kind]) for name, kind in kinds.items()).to_arrow().to_batches()


def bins_of(rows: pl.DataFrame, points: SparkPoints, tree: CoarseTree, nodes: NDArray[np.int64]) -> pl.DataFrame:
    """The bins of some persons: of each node, quasi-identifier and bin that has any."""
    where = points.points(rows)
    node = tree.place(where)
    is_wanted = np.isin(node, nodes)
    where, node = where[is_wanted], node[is_wanted]
    records = rows[RECORDS].to_numpy()[is_wanted]
    mass = np.zeros((len(node), where.shape[1]), np.int64)
    numeric = ~points.is_nominal
    mass[:, numeric] = np.rint(where[:, numeric] * records[:, None] * MASS_GRID).astype(np.int64)
    logs = times_log2(records)
    order = np.argsort(node, kind="stable")
    starts = np.searchsorted(node[order], nodes), np.searchsorted(node[order], nodes, side="right")
    found = []
    for number, first, last in zip(nodes.tolist(), *(start.tolist() for start in starts), strict=True):
        own = order[first:last]
        if not len(own):
            continue
        counts = records[own]
        shared = {"persons": np.ones(len(own), np.int64), "records": counts, "squared": counts**2}
        shared |= {f"m{j}": mass[own, j] for j in range(where.shape[1])}
        for attribute in range(where.shape[1]):
            bin_of_person = tree.bin_of(number, attribute, where[own, attribute])
            found.append(_bins(number, attribute, bin_of_person, shared, counts, logs[own]))
    names = [*COUNTED[:3], "most", "logs", *(f"m{j}" for j in range(where.shape[1]))]
    if not found:
        return pl.DataFrame({name: [] for name in ("node", "attribute", "bin", *names)})
    return pl.concat(found)


def _bins(
    node: int,
    attribute: int,
    bin_of_person: NDArray[np.int64],
    sums: dict[str, NDArray[np.int64]],
    records: NDArray[np.int64],
    logs: NDArray[np.float64],
) -> pl.DataFrame:
    n_bins = int(bin_of_person.max()) + 1
    most = np.zeros(n_bins, np.int64)
    np.maximum.at(most, bin_of_person, records)
    columns = {
        name: np.bincount(bin_of_person, weights=counted, minlength=n_bins).astype(np.int64)
        for name, counted in sums.items()
    }
    has_any = np.flatnonzero(columns["persons"])
    return pl.DataFrame(
        {
            "node": np.full(len(has_any), node), "attribute": np.full(len(has_any), attribute), "bin": has_any,
            **{name: counts[has_any] for name, counts in columns.items()}, "most": most[has_any],
            "logs": np.bincount(bin_of_person, weights=logs, minlength=n_bins)[has_any],
        }
    )  # fmt: skip


def values_of(
    rows: pl.DataFrame, points: SparkPoints, tree: CoarseTree, nodes: NDArray[np.int64], n_attributes: int
) -> pl.DataFrame:
    """The sensitive values of some persons, by node: how many records and persons have each."""
    node = tree.place(points.points(rows))
    parts = []
    for attribute in range(n_attributes):
        pairs = rows.select(pl.Series("node", node), pl.int_range(pl.len()).alias("row"), pl.col(f"v{attribute}"))
        pairs = pairs.filter(pl.col("node").is_in(nodes.tolist())).explode(f"v{attribute}")
        of_person = pairs.group_by("node", "row", pl.col(f"v{attribute}").alias("value")).len("records")
        counted = of_person.group_by("node", "value").agg(pl.col("records").sum(), pl.len().alias("persons"))
        parts.append(counted.with_columns(pl.lit(attribute).alias("attribute")))
    return pl.concat(parts)


def cells_of_persons(persons: DataFrame, points: SparkPoints, tree: CoarseTree) -> DataFrame:
    """Which cell each person is in."""
    from pyspark.sql.types import LongType, StructField, StructType

    schema = StructType([StructField(PERSON, persons.schema[PERSON].dataType), StructField(CELL, LongType())])

    def place(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            rows = frame_of(batch)
            cell = pl.Series(CELL, tree.place(points.points(rows)))
            yield from in_batches(rows.select(PERSON).with_columns(cell), schema)

    return persons.mapInArrow(place, schema)


def records_in_cells(
    frame: DataFrame, persons: DataFrame, facts: Facts, points: SparkPoints, tree: CoarseTree
) -> DataFrame:
    """The records with the cell of their person; dropped columns stay behind."""
    from pyspark.sql.types import LongType, StructField, StructType

    published = facts.schema.published()
    kept = [field for field in frame.schema.fields if field.name in published]
    records = frame.select(*(quoted(field.name) for field in kept))
    if facts.schema.person is not None:
        cells = cells_of_persons(persons, points, tree)
        renamed = cells.withColumnRenamed(PERSON, OWN_PERSON).withColumnRenamed(CELL, OWN_CELL)
        return records.join(renamed, quoted(facts.schema.person) == renamed[OWN_PERSON]).drop(OWN_PERSON)
    schema = StructType([*kept, StructField(OWN_CELL, LongType())])

    def place(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            rows = frame_of(batch)
            lines = coded(rows, facts, with_values=False).with_columns(pl.lit(1, pl.Int64).alias(RECORDS))
            yield from in_batches(rows.with_columns(pl.Series(OWN_CELL, tree.place(points.points(lines)))), schema)

    return mapped(records, place, schema)


OWN_PERSON, OWN_CELL = "_shoal_person", "_shoal_cell"
"""Columns of our own beside the user's."""


def with_extents(facts: Facts, persons: DataFrame) -> Facts:
    """The facts with how far the means of persons are apart in the whole table, for its parts."""
    from pyspark.sql import functions

    numbers = [(j, name) for j, (name, column) in enumerate(facts.quasi.items()) if column.whole is not None]
    if not numbers:
        return facts
    ends = []
    for j, _ in numbers:
        mean = functions.col(f"x{j}") / functions.col(RECORDS)
        ends += [functions.min(mean), functions.max(mean)]
    found = persons.agg(*ends).first()
    assert found is not None
    quasi = dict(facts.quasi)
    for place, (_, name) in enumerate(numbers):
        whole = quasi[name].whole
        assert whole is not None
        units = max(whole.extent[1] - whole.extent[0], 1) / STEPS
        extent = float(found[2 * place + 1] - found[2 * place]) * units
        quasi[name] = replace(quasi[name], whole=replace(whole, mean_extent=extent))
    return replace(facts, quasi=quasi)
