"""What engines cannot do, and why: the one place that says it, in plain sentences that every door can show."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shoal.engines.contract import Files, Job
from shoal.grouping import METHODS
from shoal.masking import MASKS
from shoal.models.contract import Model, asked_of_groups, listed
from shoal.models.counts import BACKGROUND, IN_POPULATION, JOINT, VALUE_TABLES, WEIGHTS
from shoal.models.person_k_anonymity import PersonKAnonymity
from shoal.parts import Part
from shoal.reading import FORMATS, format_of, formats_on, is_address
from shoal.reading.formats import is_on
from shoal.table.schema import AUTO, Schema

STREAM, SPARK = "stream", "spark"


def why_not_in_portions(job: Job) -> list[str]:
    """Why a job needs the whole table in memory; nothing where it does not."""
    why = _part(job.method, METHODS, STREAM, "The method {} does not work on sums by person; {} do.")
    why += _part(job.mask, MASKS, STREAM, "The mask {} is not made group by group; {} are.")
    why += models_in_memory(job.models)
    if not job.roles.links_records:
        why.append("person_ids='none': the person of every record is kept for the steward and counted in memory.")
    why += _histories_changed(job)
    why += _missing(job)
    why += _sample(job)
    counted = [name for name, each in job.roles.codings.items() if not each.is_settled]
    if counted:
        why.append(
            f"The coding of {_quoted(counted)} counts persons, which is done in memory. Name values: top = 90, or "
            "the categories that stay (shown)."
        )
    if job.roles.time is not None:
        why.append(f"The time column '{job.roles.time}' is published by the order of a person's records.")
    why += _hierarchies(job)
    asked = {**_asked(job), "A limit on linkage with max_linkage=": job.policy.max_linkage is not None}
    why += _files_in_portions(job)
    return why + [f"{what} needs the whole table." for what, is_asked in asked.items() if is_asked]


def models_in_memory(models: Sequence[Model], *, verified: Schema | None = None) -> list[str]:
    """Which models are counted in memory only, where a release is made, or `verified` with these roles."""
    together = [model.name for model in models if model.needs & (JOINT | BACKGROUND)]
    unknown = IN_POPULATION if verified is not None and verified.weight is not None else IN_POPULATION | WEIGHTS
    why = _searched(models if verified is None else [model for model in models if model.needs & unknown])
    if together:
        why.append(f"{', '.join(together)}: models of several attributes together, or of rules, are counted in memory.")
    return why + histories_in_memory(models)


def histories_in_memory(models: Sequence[Model]) -> list[str]:
    """Which models of histories, and which beside them, cannot even be checked some groups at a time."""
    asked = [(model, model.of_histories) for model in models if model.of_histories is not None]
    why = []
    of_all = [model.name for model, each in asked if not each.with_quasi]
    if of_all:
        why.append(
            f"{', '.join(of_all)} with with_quasi=False counts persons of the whole release, which is done in memory."
        )
    beside = [model.name for model in models if model.needs & VALUE_TABLES]
    if asked and beside:
        why.append(
            f"{', '.join(beside)} beside models of histories: hidden values are left out of what groups are compared "
            "with, which is counted in memory."
        )
    of_whole = [model.name for model in models if model.is_of_whole_table]
    if asked and of_whole:
        why.append(f"{', '.join(of_whole)} beside models of histories is counted over all groups, in memory.")
    return why


def why_not_on_spark(job: Job) -> list[str]:
    """Why Spark does not do a job; nothing where it does."""
    from shoal.engines.spark.code import has_bound

    method = "The method {} looks at all persons at once, which no executor can. On Spark there are {}."
    mask = (
        "The mask {} is not offered on Spark: perturb adds noise by the covariance of the whole table, and suppress "
        "says less than range at the same risk. There are {}."
    )
    why = [*_part(job.method, METHODS, SPARK, method), *_part(job.mask, MASKS, SPARK, mask)]
    why += histories_in_memory(job.models)
    why += _searched(job.models)
    unproved = [
        model.name
        for model in job.models
        if model.of_histories is None and not model.is_searched and (not model.monotone or not has_bound(model))
    ]
    if unproved:
        why.append(
            f"{', '.join(unproved)}: asks who has which values together, and no counts of parts of a table can prove "
            "it. Ask for h-affiliation, l-diversity or joint-diversity."
        )
    if any(column.round == AUTO for column in job.roles.columns):
        why.append(
            "round = 'auto' chooses a step by the groups of the whole table, which no executor sees. Name the steps, "
            "such as 5 or 'year', or switch rounding off."
        )
    why += _missing(job)
    why += _sample(job)
    if job.roles.coded:
        why.append(
            f"The coding of {_quoted(job.roles.coded)} is done in memory or in portions. Code the columns before, or "
            "leave it out."
        )
    if not job.roles.links_records:
        why.append(
            "person_ids='none' is not offered on Spark: which records belong to one person would have to be kept row "
            "by row for the steward."
        )
    why += _histories_changed(job)
    if job.roles.gap_days is not None:
        why.append("round_gaps counts from the first date of each person, and is done in memory.")
    if job.writing is not None and job.writing.format is not None and not is_on(SPARK, job.writing.format):
        why.append(f"Spark writes {formats_on(SPARK)}.")
    asked = {
        **_asked(job, can_several=True),
        "A sheet of a workbook with sheet=": job.policy.source.sheet is not None,
        "A person map with keep_person_map=": job.writing is not None and job.writing.keep_person_map,
    }  # fmt: skip
    return [*why, *(f"{what} needs the whole table on one machine." for what, is_so in asked.items() if is_so)]


def _histories_changed(job: Job) -> list[str]:
    """Why records are cut into episodes and numbers of records brought to steps in memory."""
    why = []
    if job.policy.history.episode is not None:
        why.append("Episodes are cut in memory, where all records of a person are at hand, and kept for the steward.")
    if job.policy.history.record_steps is not None:
        why.append("Numbers of records are brought to steps in memory, where all records of a person are at hand.")
    return why


def _missing(job: Job) -> list[str]:
    """Why sensitive attributes of which a missing value tells nothing need the whole table."""
    silent = job.roles.missing_tells_nothing
    if not silent:
        return []
    return [f"A missing {_quoted(silent)} tells nothing: who has a value is counted in memory."]


def _quoted(names: Iterable[str]) -> str:
    return listed([f"'{name}'" for name in names])


def _searched(models: Sequence[Model]) -> list[str]:
    """Why models of a whole table or a population need memory."""
    sought = [model.name for model in models if model.is_searched and model.enough_persons is None]
    return [f"{', '.join(sought)}: sizes of groups are tried for it, in memory."] if sought else []


def asked_without_search(models: Sequence[Model]) -> tuple[Model, ...]:
    """What engines that try no sizes ask of groups: for models of the whole table as many persons as prove them."""
    sizes = [model.enough_persons for model in models if model.is_searched]
    proving = [PersonKAnonymity(k=size) for size in sizes if size is not None]
    return (*asked_of_groups(models), *proving)


def _sample(job: Job) -> list[str]:
    """Why a table that is a sample needs memory."""
    named = [f"{role} = '{name}'" for name, role in job.roles.of_sample() if role != "weight"]
    why = [f"{', '.join(named)}: the risk of households and strata is counted in memory."] if named else []
    weight = job.roles.weight
    if weight is not None and weight not in job.roles.kept:
        why.append(
            f"weight = '{weight}' is not published, and in memory alone the steward keeps it beside the release. Keep "
            "it too (kept), so that what is published decides."
        )
    if weight is not None and not job.mask.links_values:
        why.append(f"weight = '{weight}' with the mask {job.mask.name} is counted in memory.")
    return why


def _names(job: Job) -> tuple[str, ...]:
    return job.source.names if isinstance(job.source, Files) else ()


def _part(part: Part, known: Mapping[str, type[Part]], engine: str, sentence: str) -> list[str]:
    """Why an engine does not offer a method or a mask, or these options of it."""
    if engine in part.engines:
        return part.why_not_on(engine)
    return [sentence.format(part.name, listed([name for name, each in known.items() if engine in each.engines]))]


def _asked(job: Job, *, can_several: bool = False) -> dict[str, Any]:
    """What is done in memory only, by name, and whether it is asked for."""
    policy, source, writing = job.policy, job.policy.source, job.writing
    files = job.source if isinstance(job.source, Files) else None
    return {
        "Answering queries with queries=": job.measures.queries,
        "Mining associations with associations=": job.measures.associations,
        "Attacking the release with attacks=": job.measures.attacks,
        "Telling what can still be done with the release with usefulness=": policy.usefulness is not None,
        "Noisy counts with counts=": policy.counts is not None,
        "A budget with max_suppressed= or max_records=": policy.budget.max_suppressed
        or policy.budget.max_records is not None,
        "A random sample of persons with sample=": policy.budget.sample is not None,
        "Knowledge of an adversary": policy.knowledge is not None,
        "A policy with related tables": policy.tables,
        "A ledger with ledger=": policy.ledger is not None or (writing is not None and writing.ledger is not None),
        "Making cells safe for spreadsheets with safe_cells=": policy.safe_cells
        or (writing is not None and writing.safe_cells),
        "Writing to a database with into=": writing is not None and writing.into is not None,
        "A table or query of a database with table= or query=": files is not None and (files.table or files.query),
        "Putting several files under one another": not can_several and len(_names(job)) > 1,
        "Joining a file of persons with join=": source.join is not None,
        "Renaming columns with rename=": any(source.rename),
    }


def _hierarchies(job: Job) -> list[str]:
    """Hierarchies that do not go with portions."""
    why = []
    reads_text = any(format_of(name).is_text for name in _names(job))
    for column in job.policy.columns.quasi:
        if column.hierarchy is None:
            continue
        if column.kind in ("number", "ordered", "date") or column.order is not None:
            why.append(f"The hierarchy of '{column.name}', which is not nominal, lists all its values.")
        elif reads_text and column.hierarchy.is_made_from_values:
            why.append(f"The hierarchy of '{column.name}' is made from all values of a CSV file; name a file with it.")
    return why


def _files_in_portions(job: Job) -> list[str]:
    """Why files, or how they are written, do not go with portions."""
    names = _names(job)
    if not names and not job.policy.tables:
        return ["A file is read in portions, and no frame."]
    if any(is_address(name) for name in names):
        return ["A database needs the whole table."]
    formats = {format_of(name).name for name in names}
    if job.writing is not None and job.writing.format is not None:
        formats.add(job.writing.format)
    others = sorted(name for name in formats if not is_on(STREAM, name))
    why = [f"Files of {', '.join(others)} are read and written whole; {formats_on(STREAM)} are not."] if others else []
    encoding = job.source.csv.encoding if names else "utf-8"
    is_plain = codecs.lookup(encoding).name in ("utf-8", "utf-8-sig", "ascii")
    if not is_plain and any(FORMATS[name].is_text for name in formats):
        why.append(f"CSV files in {encoding} are decoded whole; those in UTF-8 are not.")
    return why
