"""The numbers of a report, counted from the published files of a folder and what the steward keeps of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal import pipeline
from shoal.attacking.mining.adversary import bound_to
from shoal.errors import ShoalError
from shoal.masking import mask_called
from shoal.policy import Policy
from shoal.publishing.json_file import finite
from shoal.publishing.manifest import read_manifest
from shoal.publishing.read import read_published
from shoal.publishing.report.build import report_of_published
from shoal.reading import CsvOptions

if TYPE_CHECKING:
    import polars as pl

    from shoal.attacking.mining.rules import Rules
    from shoal.table.schema import Schema


def counted_again(folder: Path, file: Path, policy: Policy, place: Path, csv: CsvOptions) -> dict[str, Any]:
    """What `steward/report.json` holds, as far as published files show it by themselves.

    Parameters
    ----------
    folder, file
        The release folder, and its published file.
    policy, place
        What was asked, and the folder from which its files are named.
    csv
        How the file is written, where it is a CSV file.
    """
    published = read_published(file, csv=csv)
    verification = pipeline.verify(
        published.frame,
        schema_for(policy, place, published.frame, published.rules),
        bound_to(policy.models, published.rules),
        mask=mask_called(policy.mask).name,
        tables=published.tables,
        linked=published.linked,
        excluded=published.excluded,
        **policy.budget.alone,
    )
    manifest: dict[str, Any] = read_manifest(folder) or {}
    codebook = json.loads((folder / "codebook.json").read_text(encoding="utf-8"))
    told = report_of_published(
        published.frame,
        policy,
        verification.risk,
        linked=published.linked,
        columns=codebook["columns"],
        seed=int(manifest.get("seed", 0)),
    )
    answer = {**verification.to_dict(), "ane": None, "notes": [], "before": None, "report": told}
    numbers: dict[str, Any] = finite(answer)
    return numbers


def schema_for(policy: Policy, folder: Path, frame: pl.DataFrame, rules: Rules | None) -> Schema:
    """The schema for looking at a release; with hierarchies where rules or a population are compared."""
    is_compared = rules is not None or policy.population is not None
    if is_compared and any(column.hierarchy is not None for column in policy.columns.quasi):
        try:
            return policy.schema(folder, frame)
        except ShoalError:  # then rules that name their nodes do not fit, and are checked by what the steward keeps
            pass
    return policy.schema_of_release()
