"""The folder of a release that has grown: all records, the scheme they share, and what the steward keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from shoal.publishing.cells import CELLS, how_cells_are_written
from shoal.publishing.codebook import ALONE, limit_in, models_in, write_codebook
from shoal.publishing.folder import replacing_folder
from shoal.publishing.json_file import finite
from shoal.publishing.labels import labels_known_from
from shoal.publishing.later.apply import Applied
from shoal.publishing.manifest import EARLIER_INPUTS, MANIFEST_PATH, sha256_of_file, write_manifest
from shoal.publishing.pages import write_pages_from
from shoal.publishing.tables import write_table
from shoal.reading import CsvOptions, Labels
from shoal.reading.csv import csv_that_holds
from shoal.reading.formats import written_format


def write_applied(
    applied: Applied,
    folder: str | Path,
    *,
    overwrite: bool = False,
    format: str | None = None,
    inputs: Sequence[Path] = (),
    sources: Sequence[str] = (),
    labels: Labels | None = None,
    started: datetime | None = None,
    numbers_of: Callable[[Path], Mapping[str, Any]] | None = None,
) -> Path:
    """Write the release folder of old and new records together; in one step, as a first release is.

    `folder` may be that of the earlier release, with `overwrite`. Reports are made from the numbers that `numbers_of`
    counts in the filled folder, before it takes its place; None makes no reports.
    """
    stored = applied.stored
    format = written_format(format or stored.format).name
    earlier = sha256_of_file(stored.folder / MANIFEST_PATH)
    policy_text = stored.policy.moved(stored.folder / "steward", Path(folder) / "steward").to_toml()
    asked = CsvOptions(delimiter=stored.policy.source.delimiter, encoding=stored.policy.source.encoding or "utf-8")
    csv = csv_that_holds([applied.frame], asked)
    book = {
        **{key: value for key, value in stored.codebook.items() if key not in (*CELLS, ALONE)},
        **limit_in(**stored.policy.budget.alone),
        **how_cells_are_written(format, csv, safe_cells=stored.policy.safe_cells),
        "models": models_in(stored.policy.models, applied.together.verdict),
    }
    with replacing_folder(folder, overwrite=overwrite, inputs=inputs) as new:
        steward = new / "steward"
        steward.mkdir(mode=0o700)
        write_table(applied.frame, new / f"release.{format}", format, csv=csv,
                    labels=labels_known_from(book["columns"], labels or Labels()),
                    safe_cells=stored.policy.safe_cells)  # fmt: skip
        write_codebook(book, new)
        (steward / "policy.toml").write_text(policy_text, encoding="utf-8")
        groups = pl.DataFrame({"group": applied.group_of_record, "is_new": applied.is_new})
        groups.with_row_index("record").write_parquet(steward / "groups.parquet")
        stored.scheme.write_parquet(steward / "scheme.parquet")
        if applied.pseudonyms is not None:
            applied.pseudonyms.write_parquet(steward / "persons.parquet")
        write_manifest(
            new, inputs=inputs, policy_text=policy_text, seed=stored.seed, started=started or datetime.now(UTC),
            finished=datetime.now(UTC),
            extra={
                "verdict": finite(applied.together.verdict.to_dict()),
                "format": format,
                "earlier_release": earlier,
                EARLIER_INPUTS: list(stored.inputs),
                **({"sources": list(sources)} if sources else {}),
            },
        )  # fmt: skip
        if numbers_of is not None:
            write_pages_from(new, numbers_of(new))
    return Path(folder)
