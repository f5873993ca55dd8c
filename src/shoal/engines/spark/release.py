"""What comes out: a protected Spark frame, its verdict, its numbers, and what is needed to repeat the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from shoal.grouping.grouping import Method
from shoal.judging.alone import AloneLimit
from shoal.judging.risk import Risk
from shoal.judging.verdict import Verdict
from shoal.masking.publish import Mask
from shoal.measuring.utility import Utility
from shoal.models.contract import Model
from shoal.reading import CsvOptions
from shoal.table.schema import Schema
from shoal.table.shared_dates import SharedDates

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class SparkRelease:
    """A protected table on Spark.

    Attributes
    ----------
    data
        The published table, as a Spark frame in a random order. It is the same to the last bit whenever it is computed.
    tables
        The sensitive tables of an anatomized release, by attribute.
    linked
        What the steward keeps of a release that publishes attributes apart.
    groups
        One line a group: what it shows, its persons and records.
    verdict, risk, utility
        Recounted from `data`; measured in the cells.
    before
        The risk of the input, where it was measured.
    n_cells
        In how many cells the persons were grouped.
    """

    data: DataFrame
    tables: Mapping[str, DataFrame]
    linked: DataFrame | None
    verdict: Verdict
    risk: Risk
    utility: Utility
    before: Risk | None
    schema: Schema = field(repr=False)
    models: tuple[Model, ...]
    method: Method
    mask: Mask
    alone_limit: AloneLimit
    kinds: Mapping[str, str]
    seed: int
    n_cells: int
    largest_cell: int
    seconds: float
    notes: tuple[str, ...]
    shared_dates: SharedDates | None = None
    _kept: tuple[DataFrame, ...] = field(default=(), repr=False)

    @property
    def groups(self) -> DataFrame:
        """One line a group: what it shows, how many persons and records it has."""
        from pyspark.sql import functions

        from shoal.engines.spark.read import quoted
        from shoal.table.own_columns import GROUP

        every = functions.count(functions.lit(1))
        if self.linked is not None:
            return self.data.groupBy(quoted(GROUP)).agg(every.alias("persons"))
        person = self.schema.person
        persons = every if person is None else functions.count_distinct(quoted(person))
        taken = self.schema.quasi_names
        names = [f"n_{name}" if name in taken else name for name in ("persons", "records")]
        shown = self.data.groupBy(*map(quoted, taken))
        return shown.agg(persons.alias(names[0]), every.alias(names[1]))

    def unpersist(self) -> None:
        """Let go of what executors keep on their disks; `data` is then computed anew where it is asked for."""
        for frame in self._kept:
            frame.unpersist()

    def to_dict(self) -> dict[str, object]:
        """The keys of the JSON contract; those of the input stand under "before"."""
        before = None if self.before is None else {**asdict(self.before), "ane": 0.0}
        return {
            **asdict(self.risk),
            **asdict(self.utility),
            "seconds": self.seconds,
            "suppressed_persons": 0,
            "engine": "spark",
            "cells": self.n_cells,
            "largest_cell": self.largest_cell,
            **({} if self.shared_dates is None else {"shared_dates": self.shared_dates.to_dict()}),
            "notes": list(self.notes),
            "verdict": self.verdict.to_dict(),
            "before": before,
        }

    def write(
        self,
        folder: str | Path,
        *,
        overwrite: bool = False,
        format: str = "parquet",
        csv: CsvOptions | None = None,
        policy_text: str | None = None,
        inputs: Sequence[str] = (),
        started: datetime | None = None,
    ) -> Path:
        """Write the release folder, for a folder that the executors reach under the same path.

        Parameters
        ----------
        folder
            Where to; it must be absent, empty, or with `overwrite` an earlier release.
        format
            "parquet" or "csv": release.parquet and release.csv are folders of part files.
        csv
            Of a CSV release, the delimiter; it is always in UTF-8.
        inputs
            What the manifest calls the inputs.

        Raises
        ------
        PrivacyNotMetError
            The files that were written break a model; nothing is left of them.
        OutputError
            The release cannot be written; then nothing is.
        """
        from shoal.engines.spark.write import write_release

        return write_release(
            self,
            folder,
            overwrite=overwrite,
            format=format,
            csv=csv or CsvOptions(),
            policy_text=policy_text,
            inputs=inputs,
            started=started,
        )
