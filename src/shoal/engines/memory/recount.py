"""Recounting a published table in memory, from what it shows alone."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, SchemaError, did_you_mean
from shoal.judging.alone import AloneLimit
from shoal.judging.observation import number_persons
from shoal.judging.population_table import population_for
from shoal.judging.recount import look_at_release, mask_meant
from shoal.judging.verdict import with_linkage
from shoal.models.contract import Model
from shoal.publishing.release import Assessment
from shoal.table.frames import to_polars
from shoal.table.own_columns import GROUP
from shoal.table.sample import Sample
from shoal.table.schema import Schema
from shoal.table.table import refuse_missing_persons, refuse_unpublishable


def recounted(
    frame: Any,
    schema: Schema,
    models: Sequence[Model],
    *,
    mask: str | None = None,
    tables: Mapping[str, Any] | None = None,
    linked: Any = None,
    excluded: Any = None,
    limit: AloneLimit,
    population: Any = None,
    sample: Any = None,
) -> Assessment:
    """As `verify`, also for a part of what is published that no model is about: its risk and its problems."""
    started = time.perf_counter()
    records, _ = to_polars(frame)
    sensitive_tables = {name: to_polars(table)[0] for name, table in (tables or {}).items()}
    meant = mask_meant(mask, schema, tables, linked)
    expected = set(schema.quasi_names) if meant.has_tables else schema.published()
    absent = [name for name in expected if name not in records.columns]
    if absent:
        raise SchemaError(
            f"The published table lacks {len(absent)} of the schema's columns: {', '.join(sorted(absent))}."
            f"{did_you_mean(absent[0], records.columns)}"
        )
    if not meant.links_values and GROUP not in records.columns:
        raise SchemaError(
            f"The published table lacks the column '{GROUP}', by which the mask {meant.name} tells groups."
        )
    if not len(records):
        raise InputError("The published table has no records.")
    refuse_unpublishable(records, schema)
    if not meant.has_tables and schema.person in schema.published():
        refuse_missing_persons(records, schema, lambda record: None)
    kept = None if linked is None else to_polars(linked)[0]
    never = None if excluded is None else to_polars(excluded)[0]
    drawn = None
    if not meant.has_tables:
        if Sample.is_told(records, schema):
            drawn = Sample.of(records, schema, _persons(records, schema))
        drawn = Sample.kept(to_polars(sample)[0], len(records)) if sample is not None else drawn
    risk, verdict = look_at_release(
        records, schema, models, mask=meant, tables=sensitive_tables, linked=kept, excluded=never, limit=limit,
        sample=drawn, population=population_for(models, population, schema),
    )  # fmt: skip
    if not meant.takes_groups:
        verdict = with_linkage(verdict)
    return Assessment(risk, verdict, time.perf_counter() - started)


def _persons(records: pl.DataFrame, schema: Schema) -> NDArray[np.integer]:
    """The person of each published record, as far as it is shown."""
    if schema.person is None or schema.person not in schema.published():
        return np.arange(len(records))
    return number_persons(records[schema.person], schema.spelling_of(schema.person))[0]
