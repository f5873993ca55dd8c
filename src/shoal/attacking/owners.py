"""Whose is a published record: what the judge of an attack knows, and the attacker does not."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.attacking.released import as_texts
from shoal.errors import SchemaError
from shoal.models.exact import IntArray
from shoal.table.schema import Schema
from shoal.table.spelling import spelled
from shoal.table.table import Table


def whose_by_map(frame: pl.DataFrame, schema: Schema, original: Table, person_map: pl.DataFrame) -> IntArray:
    """The person of each published record by the map of pseudonyms that the steward keeps: `person`, `pseudonym`."""
    absent = [name for name in ("person", "pseudonym") if name not in person_map.columns]
    if absent or schema.person is None or schema.person not in frame.columns:
        raise SchemaError("The person map must have the columns person and pseudonym, and the release pseudonyms.")
    persons = spelled(person_map["person"], schema.spelling_of(schema.person))
    return _codes(frame, schema, original, pl.DataFrame({"name": as_texts(person_map["pseudonym"]), "person": persons}))


def whose_by_ids(frame: pl.DataFrame, schema: Schema, original: Table) -> IntArray:
    """The person of each record of a table that was published with the original's own ids."""
    if schema.person is None or schema.person not in frame.columns:
        raise SchemaError("The release has no person column, so ids do not tell whose a record is.")
    ids = as_texts(frame[schema.person]).unique()
    persons = spelled(ids, schema.spelling_of(schema.person))
    return _codes(frame, schema, original, pl.DataFrame({"name": ids, "person": persons}))


def whose_by_order(frame: pl.DataFrame, original: Table) -> IntArray:
    """The person of each record of a table that was published in the order of the original."""
    if len(frame) != original.n_records:
        raise SchemaError(
            f"The release has {len(frame):,} records and the original {original.n_records:,}, so that their order does "
            "not tell whose a record is."
        )
    return original.person_of_record.astype(np.int64)


def _codes(frame: pl.DataFrame, schema: Schema, original: Table, person_of_name: pl.DataFrame) -> IntArray:
    assert schema.person is not None
    ids = spelled(original.frame[schema.person], schema.spelling_of(schema.person))
    persons = pl.DataFrame({"person": ids, "code": original.person_of_record.astype(np.int64)}).unique()
    named = pl.DataFrame({"name": as_texts(frame[schema.person])})
    found = named.join(person_of_name.unique(), on="name", how="left", maintain_order="left").join(
        persons, on="person", how="left", maintain_order="left"
    )
    unknown = found["code"].null_count()
    if unknown or len(found) != len(frame):
        raise SchemaError(f"Of {unknown:,} of {len(frame):,} published records the person is not in the original.")
    return found["code"].to_numpy()
