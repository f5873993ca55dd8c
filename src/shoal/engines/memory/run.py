"""The whole method in memory, in the order in which the data flow: code, group, mask, recount, measure."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from shoal.engines.contract import Engine, Files, Job, Measures, counts_of, refuse_unoffered
from shoal.engines.memory.code import code_table, notes_on
from shoal.engines.memory.write import InMemory
from shoal.errors import PrivacyNotMetError
from shoal.grouping.grouping import Grouping, everybody, without_left_out
from shoal.judging.recount import look_at_release
from shoal.judging.sizes import Sizes, sample_of
from shoal.judging.verdict import not_met, with_linkage
from shoal.masking.grouped import GroupedRecords
from shoal.masking.history import changes_histories, mask_histories
from shoal.masking.parting import linked_values
from shoal.masking.publish import Published, hidden_cells, publish
from shoal.masking.ranges import lone_ends, steps_shown
from shoal.masking.secrecy import secret_order
from shoal.measuring.aggregates import aggregate_error_of
from shoal.measuring.associations import association_error_of
from shoal.measuring.conjunctions import Mining
from shoal.measuring.kept_statistics import statistics_of
from shoal.measuring.linking import linkage_by_all
from shoal.measuring.loss import losses_of_histories
from shoal.measuring.queries import query_error_of
from shoal.measuring.statistics import Linkage, linkage_of
from shoal.measuring.utility import measure_utility, with_columns
from shoal.progress import stage
from shoal.publishing.cells import note_on_cells
from shoal.publishing.release import Release
from shoal.reading.mend import sentences
from shoal.table.table import Table


class MemoryEngine(Engine):
    """Everything at once, on one machine."""

    name = "memory"

    def why_not(self, job: Job) -> list[str]:
        """What is not a table in memory yet."""
        if isinstance(job.source, Files):
            return ["Files are read into a table first (shoal.read)."]
        return []

    def protect(self, job: Job) -> Release:
        """Group, mask, and recount from the table as it will be published."""
        started = time.perf_counter()
        refuse_unoffered(self, job)
        job = job.mended()
        rng = np.random.default_rng(job.seed)
        with stage("reading", job.progress) as told:
            coded = code_table(job, rng)
            table = coded.table
            told.counts = {"records": table.n_records, "persons": table.n_persons}
        with stage("grouping", job.progress) as told:
            history = coded.history
            sizes = Sizes(
                job.method, job.mask, table, coded.models, coded.of_groups, history, coded.population, job.progress
            )
            grouping = sizes.group(rng) if job.mask.takes_groups else everybody(table)
            table, grouping = without_left_out(table, grouping, freely=job.method.leaves_out_freely)
            told.counts = {"groups": grouping.n_groups}
        hidden = None
        if changes_histories(coded.models, history):
            with stage("hiding", job.progress):
                hidden = mask_histories(table, grouping, coded.models, history, job.progress)
                table = hidden.kept
        with stage("masking", job.progress):
            published, linkage = _mask(job, table if hidden is None else hidden.shown, grouping, rng)
        with stage("verifying", job.progress) as told:
            risk, verdict = look_at_release(
                published.frame, table.schema, coded.models, mask=type(job.mask), tables=published.tables,
                linked=published.linked, excluded=published.excluded, limit=job.alone_limit,
                sample=sample_of(table, published), population=coded.population,
            )  # fmt: skip
            if linkage is not None and not job.mask.takes_groups:
                verdict = with_linkage(verdict, asked=job.policy.max_linkage or 0.0, reached=linkage.rate)
            told.counts = counts_of(verdict)
        if not verdict.holds:
            raise not_met(verdict)
        utility, grouped = measure_utility(table, grouping, job.mask, published), GroupedRecords.of(table, grouping)
        notes_on_hidden: list[str] = []
        if hidden is not None:
            utility, notes_on_hidden = with_columns(utility, losses_of_histories(hidden.did)), hidden.did.notes()
        release = Release(
            records=InMemory(table, published),
            policy=job.policy,
            verdict=verdict,
            risk=risk,
            utility=utility,
            before=coded.before,
            spread_before=coded.spread_before,
            schema=table.schema,
            models=coded.models,
            method=job.method,
            mask=job.mask,
            seed=job.seed,
            seconds=time.perf_counter() - started,
            told={
                **({"mended": list(job.what_was_mended)} if job.policy.mend or job.mends else {}),
                **({"coded": dict(table.coded)} if table.coded else {}),
                **coded.told,
                **grouping.told,
                **hidden_cells(published, table, job.mask),
                **({"changed": dict(published.told)} if published.told else {}),
            },
            notes=(
                *sentences(job.what_was_mended),
                *notes_on(table),
                *grouping.notes,
                *notes_on_hidden,
                *note_on_cells([published.frame, *published.tables.values()]),
                *([] if coded.counts is None else [coded.counts.note()]),
            ),
            kinds={name: column.kind for name, column in table.quasi.items()},
            rounded=steps_shown(table.quasi, grouped, job.mask),
            book=published.book,
            lone_ends=lone_ends(table, grouped, job.mask),
            suppressed_persons=table.suppressed_persons,
            shared_dates=table.shared_dates,
            linkage=linkage,
            history=None if hidden is None else hidden.did,
            population=coded.population,
            counts=coded.counts,
        )
        release = _measured(release, job.measures)
        if job.policy.usefulness is not None:
            with stage("measuring usefulness", job.progress):
                release = replace(release, useful=release.usefulness())
        if job.writing is not None:
            release.records.write(release, job.writing)
        return release


def _mask(job: Job, table: Table, grouping: Grouping, rng: np.random.Generator) -> tuple[Published, Linkage | None]:
    """The published table; where it shows no groups, also who can be linked to their original numbers."""
    published = publish(table, grouping, job.mask, rng=rng)
    if job.mask.shows_groups:
        return published, None
    if job.mask.takes_groups:
        published = replace(published, linked=linked_values(table, grouping, secret_order(grouping.n_groups) + 1))
        linkage = linkage_of(table, published)
    else:
        linkage = linkage_by_all(table, published)
    most = job.policy.max_linkage
    if most is not None and linkage.rate > most:
        raise PrivacyNotMetError(
            f"{linkage.rate:.1%} of {linkage.n:,} persons are linked to their original "
            f"{'numbers' if job.mask.takes_groups else 'values'} as closest or second closest; at most {most:.1%} was "
            f"asked for. Nothing was written. Ask for {'larger groups' if job.mask.takes_groups else 'more change'}."
        )
    return published, linkage


def _measured(release: Release, measures: Measures) -> Release:
    """The release with what was to be measured on it and the original side by side."""
    seed, n, kinds = release.seed % 2**63, measures.queries, measures.query_kinds
    release = replace(release, statistics=statistics_of(release))
    if n:
        counted = query_error_of(release, n=n, seed=seed) if "count" in kinds else None
        others = {kind: aggregate_error_of(release, kind=kind, n=n, seed=seed) for kind in kinds if kind != "count"}
        release = replace(release, query_error=counted, aggregate_error=others)
    release = replace(release, attacked_persons=measures.attacks)
    if measures.associations:
        mining = Mining(max_len=measures.associations)
        release = replace(release, association_error=association_error_of(release, mining=mining))
    return release
