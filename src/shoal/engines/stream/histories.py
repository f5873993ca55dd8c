"""Models of histories asked of a published file in portions: the records of a group are brought together on disk."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from shoal.engines.stream.alone import MIXED_BY, Pass
from shoal.engines.stream.mask import DiskBucketing
from shoal.judging.observation import Observation, ShownTimes
from shoal.judging.risk import NEEDS, Risk, risk_of_counts, risks_together
from shoal.judging.verdict import PUBLISHED_TABLE, ModelVerdict, judge, judged_together
from shoal.models.contract import Model
from shoal.table.columns import sensitive_columns
from shoal.table.schema import Schema

GROUP_OF_RECORD, PERSON_OF_RECORD = "_shoal_group", "_shoal_person"


def look_by_group(
    look: Pass, schema: Schema, models: Sequence[Model], n_records: int, portion: int
) -> tuple[Risk, tuple[ModelVerdict, ...]]:
    """The risk and what the models say of all groups, some of them at a time; every group is counted as a whole.

    Published records are all that is written to disk; they are removed at the end.
    """
    needs = NEEDS.union(*(model.needs for model in models))
    columns = [*schema.sensitive, *([] if schema.time is None else [schema.time])]
    risks, verdicts = [], []
    with tempfile.TemporaryDirectory(prefix="shoal-") as work:
        buckets = DiskBucketing(Path(work), n_records, portion, "groups")
        for part in look(columns):
            numbers = [pl.Series(GROUP_OF_RECORD, part.group), pl.Series(PERSON_OF_RECORD, part.person)]
            words = (part.group.astype(np.uint64) + np.uint64(1)) * MIXED_BY
            buckets.put(pl.DataFrame([*numbers, *(part.frame[name] for name in columns)]), words)
        for frame in filter(len, map(buckets.filled().bucket, range(2**buckets.bits))):
            counts = _seen(frame, schema).counts(needs)
            risks.append(risk_of_counts(counts))
            verdicts.append(judge(models, counts, checked_from=PUBLISHED_TABLE).models)
    return risks_together(risks), judged_together(models, verdicts, PUBLISHED_TABLE)


def _seen(frame: pl.DataFrame, schema: Schema) -> Observation:
    """The groups of a bucket, and what their records show."""
    groups, group = np.unique(frame[GROUP_OF_RECORD].to_numpy(), return_inverse=True)
    persons, person = np.unique(frame[PERSON_OF_RECORD].to_numpy(), return_inverse=True)
    return Observation(
        group.astype(np.int32), len(groups), person.astype(np.int32), len(persons), sensitive_columns(frame, schema),
        times=ShownTimes.of(frame, schema),
    )  # fmt: skip
