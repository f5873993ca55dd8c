"""For each column what was done to it, in words, with counts before and after: what a mask did, whatever mask it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal.publishing.write import codebook
from shoal.table.columns import CategoryColumn, Codes, code_values
from shoal.table.label_sets import EVERYTHING

if TYPE_CHECKING:
    from shoal.publishing.release import Release
    from shoal.table.table import Table

NOT_PUBLISHED = "not published"
APART = "counted by group, in a table of its own"


def changes_of(release: Release) -> dict[str, dict[str, Any]]:
    """By column its role, what was done in words, and where the original is at hand how much of it changed.

    `values_before` and `values_after` are how many different values there are, `changed` the share of published records
    whose cell is not what it was, and `hidden` the share whose cell shows nothing.
    """
    entries = {str(entry["name"]): entry for entry in codebook(release)["columns"]}
    found = {}
    for name, role in release.schema.roles():
        entry = entries.get(name)
        apart = release.mask.has_tables and role == "sensitive"
        told: dict[str, Any] = {"role": role, "done": APART if apart else NOT_PUBLISHED}
        if entry is not None:
            told = {"role": role, "done": "; ".join(_steps(name, entry, release.told))}
        found[name] = {**told, **_counts(release, name, is_shown=entry is not None)}
    return found


def _steps(name: str, entry: Mapping[str, Any], told: Mapping[str, Any]) -> list[str]:
    """What was done to a column, one after the other."""
    coded, steps = told.get("coded", {}).get(name), []
    if coded is not None:
        steps.append(f"{coded['records']:,} values of {coded['persons']:,} persons were coded: {entry['coded_as']}")
    level = told.get("levels", {}).get(name)
    if level is not None:
        steps.append(f"shown at level {level} of its hierarchy, for everybody" if level else "shown as it is, for all")
    steps.append(str(entry["shown_as"]))
    if "rounded_to" in entry:
        steps.append(f"ends rounded to {entry['rounded_to']}")
    return steps


def _counts(release: Release, name: str, *, is_shown: bool) -> dict[str, Any]:
    """How many values there were and are, and how many cells changed; nothing where the original is not at hand."""
    if not release.records.holds_original or name not in release.table.frame.columns:
        return {}
    order = release.published.record_of_published
    codes, values = _as_it_was(release.table, name)
    told: dict[str, Any] = {"values_before": len(values)}
    coded = release.told.get("coded", {})
    if isinstance(coded, Mapping) and name in coded:
        told["values_before"] = coded[name]["values_before"]
    if not is_shown:
        return told
    shown, labels = _shown(release, name)
    texts = labels.cast(pl.String)
    records = np.bincount(shown, minlength=len(labels) + 1)
    hidden = records[:-1][(texts == EVERYTHING).to_numpy()]
    told |= {"values_after": len(labels), "hidden": int(hidden.sum()) / max(len(shown), 1)}
    if release.mask.has_tables:  # rows of the published table stand in an order of their own
        return told
    own = pl.DataFrame({"text": values.cast(pl.String), "code": np.arange(len(values))}).unique("text")
    code_of_label = texts.to_frame("text").join(own, on="text", how="left", maintain_order="left")["code"]
    same = np.append(code_of_label.fill_null(-1).to_numpy(), len(values)).astype(np.int32)  # missing stays missing
    return {**told, "changed": int((same[shown] != codes[order]).sum()) / max(len(shown), 1)}


def _as_it_was(table: Table, name: str) -> tuple[Codes, pl.Series]:
    """The different values of a column before, and which each record has; missing has the number behind them."""
    before = table.frame[name]
    if name == table.schema.person:
        first = np.empty(table.n_persons, np.int64)
        first[table.person_of_record] = np.arange(table.n_records)
        ids = before.gather(first)
        if (ids.gather(table.person_of_record) == before).all():  # nobody is written in two ways
            return table.person_of_record, ids
    coded = table.sensitive.get(name, table.quasi.get(name))
    if isinstance(coded, CategoryColumn) and coded.n_written is None:
        return coded.codes, coded.categories
    return code_values(before)


def _shown(release: Release, name: str) -> tuple[Codes, pl.Series]:
    """The different values of a published column, and which each record shows; missing has the number behind them."""
    published = release.published
    if name == release.schema.person and published.pseudonyms is not None:
        return release.table.pseudonym_of_record[published.record_of_published], published.pseudonyms
    return code_values(published.frame[name])
