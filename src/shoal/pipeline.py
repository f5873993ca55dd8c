"""The whole method on one screen: assess a table, protect it, verify what is published, attack it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from shoal.attacking.mining.adversary import against_adversary
from shoal.attacking.mining.knowledge import Knowledge
from shoal.attacking.suite import attack
from shoal.engines.contract import Job, engine_called
from shoal.engines.memory.recount import recounted
from shoal.grouping import Method
from shoal.judging.alone import AloneLimit
from shoal.judging.population_table import population_for
from shoal.judging.recount import look_at_table
from shoal.masking import mask_called
from shoal.masking.publish import Mask
from shoal.models.contract import Model
from shoal.options import Options
from shoal.parts import MaskName, MethodName
from shoal.policy.history import History
from shoal.policy.policy import DEFAULT_MASK, DEFAULT_METHOD, Policy, check_asked, refuse_no_model
from shoal.progress import Progress, silent
from shoal.publishing.release import Assessment, FrameT, Release
from shoal.table.columns import LineOf
from shoal.table.safe_harbour import safe_harbour
from shoal.table.schema import Schema
from shoal.table.table import Table

__all__ = ["assess", "attack", "protect", "verify"]


def assess(
    frame: Any,
    schema: Schema,
    models: Sequence[Model] = (),
    *,
    knowledge: Knowledge | None = None,
    line_of: LineOf | None = None,
    population: Any = None,
) -> Assessment:
    """The risk of a table as it is: records with equal quasi-identifiers form a group.

    Nothing is refused for failing a model.

    Parameters
    ----------
    frame, schema, models
        The table (pandas, polars or pyarrow), the roles of its columns, and models, of which the verdict says which the
        table meets already.
    knowledge, line_of
        As in `protect`.
    population
        The population that the table was drawn from, where models bring none: a frame, or the name of a file.
    """
    started = time.perf_counter()
    check_asked(schema, models)
    table = Table.from_frame(frame, schema, line_of=line_of)
    table, models = against_adversary(table, models, knowledge, is_linked=True)
    known = None if table.adversary is None else table.adversary.known_of(table.person_of_record)
    risk, verdict = look_at_table(
        table.frame, schema, models, known=known, sample=table.sample,
        population=population_for(models, population, schema),
    )  # fmt: skip
    return Assessment(
        risk, verdict, time.perf_counter() - started, table.notes, ane=0.0,  # nothing is masked yet
        safe_harbour=safe_harbour(table.frame, schema),
    )  # fmt: skip


def protect(
    frame: FrameT,
    schema: Schema | Policy,
    models: Sequence[Model] | None = None,
    *,
    method: MethodName | Method = DEFAULT_METHOD,
    mask: MaskName | Mask = DEFAULT_MASK,
    seed: int | None = None,
    max_suppressed: int | str = 0,
    max_records: int | None = None,
    sample: int | str | None = None,
    progress: Progress = silent,
    measure_input: bool = True,
    queries: int = 0,
    query_kinds: Sequence[str] = ("count",),
    associations: int = 0,
    attacks: int | None = None,
    max_linkage: float | None = None,
    max_alone: int | None = None,
    allow_alone: bool = False,
    knowledge: Knowledge | None = None,
    history: History | None = None,
    usefulness: str | Mapping[str, Any] | None = None,
    counts: Mapping[str, Any] | None = None,
    line_of: LineOf | None = None,
    **options: Unpack[Options],
) -> Release[FrameT]:
    """Group the persons of a table so that every group meets every model, mask the groups, and verify the result.

    The verdict is recounted from the table as it will be published, not believed from the grouping.

    Parameters
    ----------
    frame, schema, models
        The table (pandas, polars or pyarrow), the roles of its columns, and what every group must meet; or the table
        and a `Policy`, which has all choices that make a release; beside it only a seed may be given.
    method, mask
        How groups are formed and what is shown of them: by name, or with their options as an object of `shoal.methods`
        and `shoal.masks`.
    cut, ties, effort, alpha, spread, m, variable, gamma, distance, b, start, repair, nominal, length, cell, moves,
    order, weights, lowest, highest, aggregate, time_limit, missing_matches, importance, most_hidden,
    epsilon, delta, degree, levels
        Options of a method that is given by its name.
    code_extremes, also, noise, distribution, round_to_domain, quasi_as, columns, kind, amount, correction,
    only_outliers, matrix, stays, strength, given, strata, publish_matrix, within, region, similar, rate, at_risk,
    beside, size, by
        Options of a mask that is given by its name.
    seed
        Governs ties and samples only; pseudonyms and record order always come from secure randomness.
    max_suppressed, max_records
        How many persons may be left out, as a number or as a share such as "5%", and to how many records a person may
        be sampled down, where the table could not be protected otherwise. The method full-domain leaves out whoever is
        too rare at its levels, as far as this allows.
    sample
        Of how many persons a random sample is published, as a number or as a share such as "10%"; by the schema's
        strata where it has some. The risk of the population reckons with it.
    progress
        Called with the stage that is under way and how much of it is done, from 0 to 1.
    measure_input, queries, query_kinds
        Whether to measure the risk of the input too; how many random queries of each kind to answer on the release:
        "count" for `query_error`, "sum", "average", "min" and "max" of numeric attributes for `aggregate_error`.
    associations, attacks
        Up to how many quasi-identifiers association rules combine, for `association_error` (0 leaves it), and how many
        persons are attacked at the most with the original at hand, for `attacked`. Unless told, a report and `to_dict`
        have the attacks that are quick, on as many persons as cost a small part of the run; 0 tries nothing.
    max_linkage
        For masks that show no groups: the largest share of persons whose masked numbers may be closest or second
        closest to their own original ones. Nothing is released where more are. Masks that take no groups at all (noise
        and what else changes persons one by one) need it, since no model can be promised of them; they are linked by
        all quasi-identifiers.
    max_alone, allow_alone
        The most persons who may be alone in their group by the kept columns together, by their number of records, by
        any sensitive column or by the time as published (`release.risk.alone_by`), and whether more than 5 % may be by
        the kept columns together, whom whoever knows these columns would find. Nothing is released where more are.
    knowledge
        What an adversary is taken to know, for models that reckon with it and bring no rules of their own: how rules
        are mined, which are struck out, and what is known besides.
    history
        How histories are hidden where `HistoryK`, `HistoryConfidence` or `CountK` ask for it (`shoal.masks.History`).
    usefulness
        The column that an analyst wants to predict: it is measured how well that can still be learned from the release,
        for `release.useful`. Or a mapping with `target`, `kind` and `queries`, as in a policy.
    counts
        Noisy counts of persons that leave beside the release, with differential privacy: a mapping with `epsilon`, `of`
        (such as ["sex", "age:1+sex"], by columns that have hierarchies) and perhaps `cells`, as in a policy.
    line_of
        From the place of a record in the frame to the line of its file, for messages; `reading.line_of_record`.

    Raises
    ------
    CannotSatisfyError
        Where the whole table breaks a model, so that no grouping can meet it.
    PrivacyNotMetError
        Where the masked table breaks a model, or more persons than may be are alone by what else leaves.
    """
    job = Job.of(
        frame, schema, models, method=method, mask=mask, seed=seed, max_suppressed=max_suppressed,
        max_records=max_records, sample=sample, progress=progress, measure_input=measure_input, queries=queries,
        query_kinds=query_kinds, associations=associations, attacks=attacks, max_linkage=max_linkage,
        max_alone=max_alone, allow_alone=allow_alone, knowledge=knowledge, history=history,
        usefulness=usefulness, counts=counts, line_of=line_of, **options,
    )  # fmt: skip
    return engine_called("memory").protect(job)


def verify(
    frame: Any,
    schema: Schema,
    models: Sequence[Model],
    *,
    mask: str | None = None,
    tables: Mapping[str, Any] | None = None,
    linked: Any = None,
    excluded: Any = None,
    max_alone: int | None = None,
    allow_alone: bool = False,
    population: Any = None,
    sample: Any = None,
) -> Assessment:
    """Recount a published table, from what it shows alone; the original is not needed.

    Columns that the schema drops must be gone and every column must have a role, else the answer is that the release
    does not hold. A table that breaks a model is answered, not refused.

    Parameters
    ----------
    frame, schema, models
        The published table, the roles of its columns, and what every group must meet.
    mask
        The mask by which it was made. Of "anatomize" and "permute" only the column `group` is believed to say where
        sensitive values are counted; to all others it is a column like any other. Unless told it is "range", with
        `tables` "anatomize", and with `linked` "perturb" where person ids are published.
    tables
        The sensitive tables of an anatomized release, by attribute; `frame` is its quasi-identifier table.
    linked
        What the steward keeps of a release that publishes attributes apart (steward/linked.parquet), for models that
        the published tables do not show.
    excluded
        What the steward keeps of the values that are excluded for each person (steward/excluded.parquet), for models
        that reckon with an adversary's rules where quasi-identifiers are masked. Models bring the rules themselves.
    max_alone, allow_alone
        As in `protect`: a release in which more persons than may be are alone by what else leaves does not hold.
    population
        The population that the table was drawn from, where models bring none: a frame, or the name of a file.
    sample
        What the steward keeps of how the records were drawn (steward/sample.parquet), for models that need weights
        which are not published.
    """
    check_asked(schema, models)
    if mask is None or mask_called(mask).takes_groups:
        refuse_no_model(models, otherwise="there is nothing to verify")
    limit = AloneLimit(max_alone=max_alone, allow_alone=allow_alone)
    return recounted(
        frame, schema, models, mask=mask, tables=tables, linked=linked, excluded=excluded, limit=limit,
        population=population, sample=sample,
    )  # fmt: skip
