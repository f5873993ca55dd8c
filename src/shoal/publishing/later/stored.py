"""What a release folder keeps that later records can be masked by."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import InputError, ParameterError
from shoal.models.counts import BACKGROUND
from shoal.policy import Policy
from shoal.publishing.manifest import inputs_of, read_manifest
from shoal.publishing.pages import refuse_changed
from shoal.publishing.read import read_as_published
from shoal.reading import FORMATS, CsvOptions, Reading
from shoal.table.spelling import spelled

SCHEME = "steward/scheme.parquet"
GROUPS = "steward/groups.parquet"
PERSONS = "steward/persons.parquet"


@dataclass(frozen=True)
class Stored:
    """A release as its folder holds it: the published table, its groups, their scheme, and who is who."""

    folder: Path
    policy: Policy
    published: Reading
    format: str
    group_of_record: pl.Series
    scheme: pl.DataFrame
    pseudonyms: pl.DataFrame | None
    """The person map, columns `person` (as text) and `pseudonym`; None where it was not kept."""
    codebook: dict[str, Any]
    seed: int
    inputs: tuple[str, ...] = ()
    """The SHA-256 of every file that the release was made of, those of the releases before it included."""


def read_stored(folder: str | Path, policy: Policy | None = None) -> Stored:
    """Read a release folder, whose files must be those that were written.

    Raises
    ------
    InputError
        The folder is no release of shoal's, or a file of it has changed, or it has no scheme.
    ParameterError
        Its models reckon with rules about persons, or its mask shows no label per group.
    """
    folder = Path(folder)
    refuse_changed(folder, "Later records are added to a whole release only")
    policy = policy or Policy.load(folder / "steward" / "policy.toml")
    if policy.tables:
        raise ParameterError(
            "Later records are added to a release of one table, not of related ones. Make a new release of all records."
        )
    if policy.mask_options.get("also"):
        raise ParameterError(
            "The release changes columns person by person (also), and later records could not be changed alike. Make a "
            "new release of all records."
        )
    if not (folder / SCHEME).is_file():
        raise ParameterError(
            f"The release has no '{SCHEME}', so later records cannot be masked by its groups. The masks range, mean "
            f"and suppress keep one, not {policy.mask}. A release of an older version is to be made anew."
        )
    if any(model.needs & BACKGROUND for model in policy.models):
        raise ParameterError(
            "The release was made against rules that an adversary may know, which are about the records that it has. "
            "Make a new release of all records."
        )
    if any(model.is_searched for model in policy.models):
        raise ParameterError(
            "The release meets models of a whole table or of a population, which later records would change. Make a "
            "new release of all records."
        )
    if policy.budget.sample is not None:
        raise ParameterError(
            "The release is a random sample of persons: later records of everybody would not be. Make a new release of "
            "all records."
        )
    if any(model.of_histories is not None for model in policy.models):
        raise ParameterError(
            "The release hides histories by the records that it has: later records would show what was hidden. Make a "
            "new release of all records."
        )
    if policy.history.episode is not None or policy.history.record_steps is not None:
        raise ParameterError(
            "The release cuts persons' records into episodes, or brings their numbers to steps, by the records that it "
            "has: later ones would not fit. Make a new release of all records."
        )
    manifest = read_manifest(folder) or {}
    format = str(manifest.get("format"))
    if format not in FORMATS or not FORMATS[format].is_written:
        raise InputError("The manifest does not say which format the release has.")
    csv = CsvOptions(delimiter=policy.source.delimiter, encoding=policy.source.encoding or "utf-8")
    published = read_as_published(folder / f"release.{format}", csv=csv)
    groups = pl.read_parquet(folder / GROUPS).sort("record")["group"]
    if len(groups) != published.frame.height:
        raise InputError(
            f"'{GROUPS}' does not have a group for each of the {published.frame.height:,} published records."
        )
    persons = folder / PERSONS
    pseudonyms = pl.read_parquet(persons) if persons.is_file() else None
    if pseudonyms is not None:
        pseudonyms = pseudonyms.with_columns(spelled(pseudonyms["person"], "exact"))
    codebook = json.loads((folder / "codebook.json").read_text(encoding="utf-8"))
    return Stored(
        folder, policy, published, format, groups, pl.read_parquet(folder / SCHEME), pseudonyms, codebook,
        int(str(manifest.get("seed", 0))), inputs_of(manifest),
    )  # fmt: skip
