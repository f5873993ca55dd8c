"""Protecting related tables: one grouping of the persons, every table masked by it, keys replaced alike in all."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from shoal.engines.contract import Job, engine_called
from shoal.errors import ParameterError, SchemaError
from shoal.judging.verdict import not_met
from shoal.masking import MASKS, secrecy
from shoal.models.contract import Model
from shoal.models.counts import BACKGROUND
from shoal.policy import Policy
from shoal.policy.mend import MendChoices
from shoal.publishing.related.read import mended_tables
from shoal.publishing.related.star import ROW, Star, check_tables, join_all
from shoal.publishing.related.verify import verify_star, why_not
from shoal.publishing.related.views import related_rows
from shoal.publishing.release import Assessment, Release
from shoal.table.frames import to_polars
from shoal.table.schema import Schema
from shoal.table.spelling import told_of_persons

JOINED = (
    "Numbers are of all tables joined again: a person has as many records as the longest of their lists needs. The "
    "verdict says of each table by itself what it reaches."
)


@dataclass(frozen=True)
class StarRelease:
    """Related tables as they will be published, and what was counted on them joined again."""

    star: Star
    schema: Schema = field(repr=False)
    tables: Mapping[str, pl.DataFrame] = field(repr=False)
    release: Release = field(repr=False)
    """The release of the tables joined, with its numbers; its own table is not published."""
    assessment: Assessment
    ids: pl.DataFrame = field(repr=False)
    """The ids of persons as they are written in all tables, and the form by which they are told apart."""
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> Any:
        """The verdict on the published tables, joined again."""
        return self.assessment.verdict

    @property
    def pseudonyms(self) -> pl.DataFrame:
        """Which pseudonym is whom; stays with the steward."""
        table, names = self.release.table, self.release.published.pseudonyms
        assert names is not None
        named = table.frame.select(form=self.star.person, pseudonym=names.gather(table.person_of_record)).unique()
        return (
            named.join(self.ids, on="form")
            .sort("form", "written")
            .select(pl.col("written").alias("person"), "pseudonym")
        )

    def to_dict(self) -> dict[str, object]:
        """The keys of the JSON contract; `tables` counts the published rows of each."""
        seen = self.assessment.to_dict()
        counted = {key: value for key, value in seen.items() if key not in ("ane", "seconds")}
        return {
            **self.release.to_dict(),
            **counted,
            "notes": [JOINED, *self.notes],
            "tables": {name: frame.height for name, frame in self.tables.items()},
        }


def protect_star(
    frames: Mapping[str, Any], star: Star, schema: Schema | Policy, models: Sequence[Model] | None = None, **given: Any
) -> StarRelease:
    """Protect related tables so that they keep their shape.

    Parameters
    ----------
    frames
        The tables by name, as the star names them.
    schema, models
        The roles of all columns but keys, and what every group must meet; or a `Policy`. A name that several tables
        have is written `table.column`. The person is the key of the table of persons. The mask is one that shows a
        label per group: range, mean or suppress.
    given
        As for `shoal.protect`.

    Raises
    ------
    PrivacyNotMetError
        A published table, or all of them joined again, breaks a model; nothing is returned then.

    Notes
    -----
    Groups are formed such that every table meets every model by its own rows, and all tables joined meet it too. That
    is recounted from what is published (`verify_star`).
    """
    started = time.perf_counter()
    job = Job.of(frames, schema, models, **{"attacks": 0, **given})  # attacks look at one table
    _refuse(star, frames, job)
    read, mends = mended_tables({name: to_polars(frame)[0] for name, frame in frames.items()}, job.policy.mend)
    job = replace(job, policy=replace(job.policy, mend=MendChoices()), mends=mends)
    tables, notes = check_tables(star, read, job.roles)
    if job.roles.missing_tells_nothing:
        raise SchemaError(
            "In related tables a missing sensitive value is always a value to protect, as a person without a row has "
            "none either. Leave missing_tells_nothing empty."
        )
    if job.roles.coded:
        raise SchemaError("Values of related tables are not coded. Code them in the tables before.")
    form = job.roles.spelling_of(star.person)
    ids = star.ids_of_persons(read, form)
    notes += told_of_persons(star.person, form, len(ids), ids["form"].n_unique(), None)
    joined = join_all(star, tables, job.roles)
    roles = job.schema(joined)
    hidden = [column for column in joined.columns if column.startswith(ROW)]
    roles.check_against([column for column in joined.columns if column not in hidden])
    _refuse_no_quasi(star, tables, roles)
    refuse_keys_as_values(star, tables, roles)
    views = related_rows(star, star.joined_names(tables, roles), roles, job.models)
    inner = replace(roles, dropped=(*roles.dropped, *hidden))
    release = engine_called("memory").protect(replace(job, source=joined, given_schema=inner, views=views))
    published = _published(star, tables, release, roles)
    assessment = verify_star(published, star, roles, job.models, **vars(job.alone_limit))
    if not assessment.holds:
        raise not_met(assessment.verdict, why_not(assessment.verdict))
    left_out = {name: tables[name].height - frame.height for name, frame in published.items()}
    notes += [f"{n:,} rows of '{name}' were left out with their persons." for name, n in left_out.items() if n]
    release = replace(release, seconds=time.perf_counter() - started)
    return StarRelease(star, roles, published, release, assessment, ids, (*notes, *release.notes))


def _refuse(star: Star, frames: Mapping[str, Any], job: Job) -> None:
    if set(frames) != set(star.tables):
        raise SchemaError(f"Tables are expected by the names {', '.join(star.tables)}, got {', '.join(frames)}.")
    if job.roles.person != star.person:
        raise SchemaError(f"The person column must be the key of the table of persons, '{star.person}'.")
    if not job.roles.links_records:
        raise SchemaError("Related tables are joined by the ids of persons: person_ids='none' is for one table.")
    if job.roles.has_episodes or job.policy.history.record_steps is not None:
        raise SchemaError("Episodes and numbers of records in steps are for one table, not for related ones.")
    if not job.mask.has_scheme:
        known = [name for name, offered in MASKS.items() if offered.has_scheme]
        raise ParameterError(f"Related tables keep their shape with the masks {', '.join(known)} only.")
    if job.mask.changes_beside:
        raise ParameterError("Columns are changed person by person (also) in one table, not in related ones.")
    if job.policy.ledger is not None:
        raise ParameterError("Releases of related tables are not kept in a ledger. Leave it out.")
    if job.policy.usefulness is not None:
        raise ParameterError("Usefulness is measured on one table, not on related ones. Leave it out.")
    if job.policy.counts is not None:
        raise ParameterError("Noisy counts are made of one table, not of related ones. Leave them out.")
    if any(model.needs & BACKGROUND for model in job.models):
        raise ParameterError("Models that reckon with an adversary's rules are for one table, not for related ones.")
    named = [model.name for model in job.models if model.is_searched]
    named += [f"{role} = '{name}'" for name, role in job.roles.of_sample()]
    if named:
        raise ParameterError(f"{', '.join(named)}: samples and populations are for one table, not for related ones.")
    histories = [model.name for model in job.models if model.of_histories is not None]
    if histories:
        raise ParameterError(f"{', '.join(histories)}: histories are hidden in one table, not in related ones.")


def _refuse_no_quasi(star: Star, tables: Mapping[str, pl.DataFrame], schema: Schema) -> None:
    names = star.joined_names(tables, schema)[star.root].values()
    if not set(names) & set(schema.quasi_names):
        raise SchemaError(f"At least one quasi-identifier must be a column of the table of persons, '{star.root}'.")


def refuse_keys_as_values(star: Star, tables: Mapping[str, pl.DataFrame], schema: Schema) -> None:
    """Refuse to publish as it is what has the name of a key: a link that nobody declared holds real keys."""
    keys = {column for table in star.tables.values() for column in table.key_columns}
    shown = schema.published()
    faults = [
        f"'{name}.{column}' has the name of a key, but is no link of '{name}', so that it would be published as it is."
        for name, of_table in star.joined_names(tables, schema).items()
        for column, called in of_table.items()
        if column in keys and called in shown
    ]
    if faults:
        raise SchemaError("\n".join([*faults, "Name it under links, or drop it."]))


def _published(
    star: Star, tables: Mapping[str, pl.DataFrame], release: Release, schema: Schema
) -> dict[str, pl.DataFrame]:
    """Each table, with the masked values of one joined record for each of its rows, and keys as pseudonyms."""
    names = star.joined_names(tables, schema)
    joined = release.table.frame[release.published.record_of_published]
    shown = schema.published()
    rows_of: dict[str, pl.DataFrame] = {}
    for name in star.tables:
        rows = joined.select(row=ROW + name).with_row_index("at").drop_nulls("row").unique("row", keep="first")
        rows_of[name] = rows[secrecy.secret_order(rows.height)]
    pseudonym_of = _pseudonyms(star, tables, release, rows_of)
    published = {}
    for name, table in star.tables.items():
        masked = release.published.frame[rows_of[name]["at"].to_numpy()]
        original = tables[name][rows_of[name]["row"].to_numpy()]
        columns: dict[str, pl.Series] = {}
        for column in tables[name].columns:
            if column in table.key_columns:
                target = name if column == table.key else table.links[column]
                keys, names_of_keys = pseudonym_of[target]
                columns[column] = original[column].replace_strict(
                    keys, names_of_keys, default=None, return_dtype=pl.String
                )
            elif names[name][column] in shown:
                columns[column] = masked[names[name][column]]
        published[name] = pl.DataFrame(columns)
    return published


def _pseudonyms(
    star: Star, tables: Mapping[str, pl.DataFrame], release: Release, rows_of: Mapping[str, pl.DataFrame]
) -> dict[str, tuple[pl.Series, pl.Series]]:
    """For each table with a key the keys that are published and their pseudonyms, the same in all tables."""
    found = {}
    for name, table in star.tables.items():
        if table.key is None:
            continue
        keys = tables[name][table.key][rows_of[name]["row"].to_numpy()]
        if name == star.root:
            persons = release.published.frame[star.person][rows_of[name]["at"].to_numpy()].cast(pl.String)
            found[name] = (keys, persons)
        else:
            found[name] = (keys, secrecy.pseudonyms(len(keys)).str.replace("^P", "K"))
    return found
