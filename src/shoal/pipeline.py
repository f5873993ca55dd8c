"""The whole method on one screen: assess, protect, verify."""

from __future__ import annotations

import secrets
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import polars as pl

from shoal.attacking.background import BackgroundResult
from shoal.attacking.background import attack_background as attack_on_background
from shoal.attacking.elimination import EliminationResult, attack_elimination
from shoal.attacking.mining.adversary import face
from shoal.attacking.mining.knowledge import Knowledge
from shoal.attacking.mining.rules import Rules
from shoal.attacking.owners import whose_by_ids, whose_by_map, whose_by_order
from shoal.attacking.released import as_texts, in_type_of
from shoal.attacking.setting import MOST_TARGETS, Setting
from shoal.attacking.suite import SuiteResult, run_attacks
from shoal.errors import InputError, ParameterError, PrivacyNotMetError, SchemaError, ShoalWarning, did_you_mean
from shoal.grouping import METHODS, Method
from shoal.grouping.budget import within_budget
from shoal.grouping.feasibility import refuse_excluded, refuse_impossible, refuse_unfit
from shoal.grouping.grouping import as_method
from shoal.judging.alone import HINTS, AloneLimit
from shoal.judging.observation import Observation
from shoal.judging.recount import counts_facing, look_at_release, look_at_table, risk_of_table
from shoal.judging.risk import Risk
from shoal.judging.values_apart import observe_linked
from shoal.judging.verdict import Verdict
from shoal.masking import MASKS
from shoal.masking.parting import linked_values
from shoal.masking.publish import Mask, as_mask, publish
from shoal.masking.secrecy import secret_order
from shoal.masking.times import shared_in
from shoal.measuring.aggregates import aggregate_error_of, checked_kinds, refuse_no_numbers
from shoal.measuring.associations import Mining, association_error_of, refuse_no_rules
from shoal.measuring.queries import query_error_of
from shoal.measuring.spread import SPREAD_NEEDS, RiskSpread, spread_of_risk
from shoal.measuring.statistics import Linkage, linkage_of
from shoal.measuring.utility import measure_utility
from shoal.models.contract import Model
from shoal.models.counts import JOINT, SPREAD_OF_RECORDS
from shoal.models.every_table import EveryTable
from shoal.models.exact import IntArray
from shoal.models.related import Related
from shoal.policy.policy import DEFAULT_MASK, DEFAULT_METHOD, Policy
from shoal.progress import Progress, silent
from shoal.publishing.cells import note_on_cells
from shoal.publishing.release import Assessment, Release
from shoal.table.columns import LineOf
from shoal.table.frames import to_polars
from shoal.table.hierarchy import Hierarchy
from shoal.table.own_columns import GROUP
from shoal.table.schema import Schema
from shoal.table.shared_dates import notes_on_shared, refuse_shared
from shoal.table.spelling import spelled
from shoal.table.table import Table, refuse_missing_persons, refuse_unpublishable


def assess(
    frame: Any,
    schema: Schema,
    models: Sequence[Model] = (),
    *,
    knowledge: Knowledge | None = None,
    line_of: LineOf | None = None,
) -> Assessment:
    """The risk of a table as it is: records with equal quasi-identifiers form a group.

    With models, the verdict says which of them the table meets already. Nothing is refused for failing a model.
    """
    started = time.perf_counter()
    check_asked(schema, models)
    table = Table.from_frame(frame, schema, line_of=line_of)
    table, models = face(table, models, knowledge, is_linked=True)
    known = None if table.adversary is None else table.adversary.known_of(table.person_of_record)
    risk, verdict = look_at_table(table.frame, schema, models, known=known)
    return Assessment(risk, verdict, time.perf_counter() - started, table.notes, ane=0.0)  # nothing is masked yet


def protect(
    frame: Any,
    schema: Schema | Policy,
    models: Sequence[Model] | None = None,
    *,
    method: str | Method = DEFAULT_METHOD,
    mask: str | Mask = DEFAULT_MASK,
    seed: int | None = None,
    max_suppressed: int = 0,
    max_records: int | None = None,
    progress: Progress = silent,
    measure_input: bool = True,
    queries: int = 0,
    query_kinds: Sequence[str] = ("count",),
    associations: int = 0,
    attacks: int = 0,
    max_linkage: float | None = None,
    max_alone: int | None = None,
    allow_alone: bool = False,
    knowledge: Knowledge | None = None,
    line_of: LineOf | None = None,
    views: Callable[[Table], Related] | None = None,
    **options: Any,
) -> Release:
    """Group the persons of a table so that every group meets every model, mask the groups, and verify the result.

    Parameters
    ----------
    frame, schema, models
        The table (pandas, polars or pyarrow), the roles of its columns, and what every group must meet; or the table
        and a `Policy`, which has all choices that make a release; beside it only a seed may be given.
    method, mask
        How groups are formed and what is shown of them, by name; their options are further keyword arguments.
    seed
        Governs ties and samples only; pseudonyms and record order always come from secure randomness.
    max_suppressed, max_records
        How many persons may be left out, and to how many records a person may be sampled down, where the table could
        not be protected otherwise.
    measure_input
        Whether to measure the risk of the input too.
    queries
        How many random queries of each kind to answer on the release: COUNT for `release.query_error`, the others for
        `release.aggregate_error`.
    query_kinds
        Of "count", "sum", "average", "min" and "max"; the last four ask for numeric attributes.
    associations
        Mine association rules of up to this many quasi-identifiers, for `release.association_error`.
    attacks
        Attack the release with the original at hand, on at most so many persons, for `release.attacked`; 0 leaves it.
    max_linkage
        For the mask perturb: the largest share of persons whose masked numbers may be closest or second closest to
        their own original ones. Nothing is released where more are.
    max_alone
        The most persons who may be alone in their group by the kept columns together, by their number of records, by
        any sensitive column or by the time as published (`release.risk.alone_by`). Nothing is released where more are.
    allow_alone
        Whether more than 5 % of the persons may be alone in their group by the kept columns together. Else nothing is
        released then: whoever knows these columns of a person would find them.
    knowledge
        What an adversary is taken to know, for models that reckon with it and bring no rules of their own: how rules
        are mined, which are struck out, and what is known besides.
    views
        Where the frame is several tables joined: which rows each person has in each of them, as
        `shoal.publishing.related` says it.
        Groups are then formed such that every table meets every model by its own rows.

    Raises
    ------
    CannotSatisfyError
        Where the whole table breaks a model, so that no grouping can meet it.
    PrivacyNotMetError
        Where the masked table breaks a model, or more persons than may be are alone by what else leaves; nothing is
        returned then.

    Notes
    -----
    The verdict is recounted from the table as it will be published, not believed from the grouping.
    """
    if isinstance(schema, Policy):
        policy = schema
        given = {
            "models": models, "method": method, "mask": mask, "max_suppressed": max_suppressed,
            "max_records": max_records, "max_linkage": max_linkage, "max_alone": max_alone, "allow_alone": allow_alone,
            "knowledge": knowledge, **options,
        }  # fmt: skip
        _refuse_beside_policy(given)
        return protect(
            frame, policy.schema(policy.folder, to_polars(frame)[0]), policy.models, progress=progress,
            measure_input=measure_input, queries=queries, query_kinds=query_kinds, associations=associations,
            attacks=attacks, line_of=line_of, views=views,
            **{**policy.choices, "seed": policy.seed if seed is None else seed},
        )  # fmt: skip
    started = time.perf_counter()
    chosen_method, chosen_mask = choose(method, mask, options)
    check_asked(schema, models)
    assert models is not None
    refuse_visible(chosen_mask, models)
    _refuse_max_linkage(max_linkage, chosen_mask)
    limit = AloneLimit(max_alone=max_alone, allow_alone=allow_alone)
    kinds_asked = checked_kinds(query_kinds)
    if isinstance(associations, bool) or not isinstance(associations, int) or associations < 0:
        raise ParameterError("associations must be a whole number: how many quasi-identifiers a rule may combine.")
    if isinstance(attacks, bool) or not isinstance(attacks, int) or attacks < 0:
        raise ParameterError("attacks must be a whole number: how many persons are attacked at the most.")
    refuse_no_model(models)
    seed = checked_seed(seed)
    progress("reading", 0.0)
    table = Table.from_frame(frame, schema, line_of=line_of)
    table, models = face(table, models, knowledge, is_linked=chosen_mask.links_values)
    refuse_unfit(table, models)
    asked = [*models, *([] if views is None else [EveryTable()])]
    table = replace(table, views=views)
    if queries:
        refuse_no_numbers(table, kinds_asked)
    if associations:
        refuse_no_rules(table)
    before, spread_before = _measured(table) if measure_input else (None, None)
    rng = np.random.default_rng(seed)
    table = within_budget(table, asked, max_suppressed=max_suppressed, max_records=max_records, rng=rng)
    table = replace(table, shared_dates=shared_in(table))
    refuse_shared(schema, table.shared_dates)
    refuse_excluded(table, models)
    refuse_impossible(table, asked)
    grouping = chosen_method.group(table, asked, progress, rng=rng)
    progress("masking", 0.0)
    published = publish(table, grouping, chosen_mask, rng=rng)
    linkage = None
    if not chosen_mask.shows_groups:
        published = replace(published, linked=linked_values(table, grouping, secret_order(grouping.n_groups) + 1))
        linkage = linkage_of(table, published)
        _refuse_linkage(linkage, max_linkage)
    progress("verifying", 0.0)
    risk, verdict = look_at_release(
        published.frame, schema, models, mask=type(chosen_mask), tables=published.tables, linked=published.linked,
        excluded=published.excluded, limit=limit,
    )  # fmt: skip
    if not verdict.holds:
        raise not_met(verdict)
    release = Release(
        table=table,
        published=published,
        verdict=verdict,
        risk=risk,
        utility=measure_utility(table, grouping, exact_quasi=chosen_mask.shows_identities),
        before=before,
        spread_before=spread_before,
        schema=schema,
        models=tuple(models),
        method=chosen_method,
        mask=chosen_mask,
        max_suppressed=max_suppressed,
        max_records=max_records,
        seed=seed,
        seconds=time.perf_counter() - started,
        notes=(*_notes(table), *grouping.notes, *note_on_cells([published.frame, *published.tables.values()])),
        linkage=linkage,
        max_linkage=max_linkage,
        alone_limit=limit,
        knowledge=knowledge,
    )
    if queries:
        release = _answer(release, queries, kinds_asked)
    if attacks:
        release = replace(release, attacked=release.attack(targets=attacks, seed=release.seed % 2**63))
    if not associations:
        return release
    return replace(release, association_error=association_error_of(release, mining=Mining(max_len=associations)))


def _measured(table: Table) -> tuple[Risk, RiskSpread]:
    """The risk of a table as it is, and how it is spread."""
    seen = Observation.of_frame(table.frame, table.schema)
    counts = seen.counts(SPREAD_NEEDS)
    return risk_of_table(seen, counts, table.frame, table.schema), spread_of_risk(seen, counts)


def _answer(release: Release, n: int, kinds: Sequence[str]) -> Release:
    """The release with the error of n random queries of each kind."""
    seed = release.seed % 2**63
    counted = query_error_of(release, n=n, seed=seed) if "count" in kinds else None
    others = {kind: aggregate_error_of(release, kind=kind, n=n, seed=seed) for kind in kinds if kind != "count"}
    return replace(release, query_error=counted, aggregate_error=others)


def attack_by_exclusion(
    frame: Any,
    schema: Schema,
    *,
    exclude: int = 2,
    mask: str | None = None,
    tables: Mapping[str, Any] | None = None,
    linked: Any = None,
) -> list[EliminationResult]:
    """Attack a published table: somebody who knows a person's group and can exclude some values of theirs.

    Gives a result for 0, 1, ... up to `exclude` excluded values. Where attributes are published apart, `linked` (what
    the steward keeps) is attacked as if it were known, which is more than an adversary has.

    Parameters
    ----------
    frame, mask, tables, linked
        As in `verify`.
    exclude
        How many values the adversary can exclude at the most.
    """
    check_asked(schema, [])
    if not schema.sensitive:
        raise SchemaError("The schema names no sensitive attribute, so there is nothing to learn of a person.")
    records, _ = to_polars(frame)
    if linked is not None:
        seen = observe_linked(to_polars(linked)[0], schema)
    elif not _mask_meant(mask, schema, tables, linked).links_values or not set(schema.sensitive) <= set(
        records.columns
    ):
        raise SchemaError(
            "The release publishes attributes apart: what the steward keeps (steward/linked.parquet) is needed to tell "
            "who would be exposed."
        )
    elif schema.person is not None and schema.person not in records.columns:
        raise SchemaError(
            "The release does not show which records belong to one person: what the steward keeps "
            "(steward/linked.parquet) is needed to tell who would be exposed."
        )
    else:
        seen = Observation.of_frame(records, schema)
    joint = seen.counts(JOINT).joint
    assert joint is not None
    return [attack_elimination(joint, e) for e in range(exclude + 1)]


def attack_background(
    frame: Any,
    schema: Schema,
    rules: Rules | None = None,
    *,
    l: int = 2,  # noqa: E741 - the paper's name
    mask: str | None = None,
    tables: Mapping[str, Any] | None = None,
    linked: Any = None,
    excluded: Any = None,
) -> list[BackgroundResult]:
    """Attack a published table: somebody who knows a person's group, and which values never go with whom.

    Gives a result for each sensitive attribute: how many persons are left with fewer than l possible values.

    Parameters
    ----------
    frame, mask, tables
        As in `verify`.
    rules
        What the adversary knows: rules that were mined from this table or from another, or stated. They are applied to
        exact quasi-identifiers of an anatomized or permuted table with one record a person.
    l
        How many values should be left for everybody.
    linked, excluded
        What the steward keeps of the values that the release's own rules exclude, as in `verify`: for any release
        that was made with matching diversity, where no rules are given.

    Raises
    ------
    SchemaError
        Where the tables do not show whom the rules are about.
    """
    check_asked(schema, [])
    if not schema.sensitive:
        raise SchemaError("The schema names no sensitive attribute, so there is nothing to learn of a person.")
    records, _ = to_polars(frame)
    counts = counts_facing(
        records,
        schema,
        rules,
        mask=_mask_meant(mask, schema, tables, linked),
        tables={name: to_polars(table)[0] for name, table in (tables or {}).items()},
        linked=None if linked is None else to_polars(linked)[0],
        excluded=None if excluded is None else to_polars(excluded)[0],
    )
    return [attack_on_background(counts, column, l) for column in schema.sensitive]


def attack(
    release: Any,
    original: Any = None,
    schema: Schema | None = None,
    *,
    attacks: Sequence[str] | None = None,
    mask: str = "range",
    tables: Mapping[str, Any] | None = None,
    whose: Any = None,
    targets: int = MOST_TARGETS,
    known_values: Sequence[int] = (1, 2, 3, 4),
    similar: Mapping[str, Hierarchy] | None = None,
    seed: int = 0,
    method: str | Method | None = None,
    method_options: Mapping[str, Any] | None = None,
    models: Sequence[Model] = (),
    other: OtherRelease | None = None,
) -> SuiteResult:
    """Try every attack that applies to a release, each with an interval and beside blind guessing.

    Parameters
    ----------
    release, tables
        What `protect` gave, which knows its original and how it was made; or a published table as in `verify`, of any
        origin, such as one that was made k-anonymous by rows.
    original
        The table as it was. Without it only attacks that need no more than the published table are tried.
    schema
        Of a published table: the roles of the original's columns, with the hierarchies that it was masked by.
    attacks
        The names of attacks, of `shoal.attacking.suite.ATTACKS`; all unless told.
    mask
        How quasi-identifiers are shown: "mean" and "perturb" are taken by distance, all others by what fits.
    whose
        How it can be told whose a published record is, for the judge only: a frame with `person` and `pseudonym` (the
        map that the steward may keep), "ids" where the release has the original's ids, or "order" where its records
        are in the order of the original. Without it some results are upper bounds, and distance linkage is not tried.
    targets, seed
        How many persons are attacked at the most, and what governs which are drawn.
    known_values
        How many sensitive values of a person are known, for the attack by trajectories.
    similar
        Hierarchies of sensitive attributes, for the similarity attack.
    method, method_options, models
        How the release's groups were formed, and what was asked of them, for the minimality attack.
    other
        Another release about the same persons, for the attack by two releases.
    """
    if isinstance(release, Release):
        return release.attack(attacks, targets=targets, known_values=known_values, similar=similar, seed=seed)
    check_asked(schema, models)
    assert schema is not None
    if isinstance(targets, bool) or not isinstance(targets, int) or targets < 1:
        raise ParameterError("targets must be a whole number from 1 on.")
    if not known_values or any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in known_values):
        raise ParameterError("known_values must be whole numbers from 1 on, such as [1, 2].")
    records, _ = to_polars(release)
    if not len(records):
        raise InputError("The published table has no records.")
    table = None if original is None else Table.from_frame(original, schema)
    setting = Setting(
        schema=schema,
        frame=_as_in_original(records, table),
        original=table,
        tables={name: _as_in_original(to_polars(each)[0], table) for name, each in (tables or {}).items()},
        mask=mask,
        origin=_whose(records, schema, table, whose),
        most_targets=targets,
        seed=seed,
        similar=dict(similar or {}),
        known_values=tuple(known_values),
        method=None if method is None else choose(method, "range", method_options or {})[0],
        models=tuple(models),
        other=None if other is None else _other_setting(other, original, targets, seed),
    )
    return run_attacks(setting, attacks)


@dataclass(frozen=True, kw_only=True)
class OtherRelease:
    """Another release about the same persons, for `attack`: its table, the roles of its columns, its mask."""

    frame: Any
    schema: Schema
    mask: str = "range"
    tables: Mapping[str, Any] = field(default_factory=dict)


def _other_setting(other: OtherRelease, original: Any, targets: int, seed: int) -> Setting:
    table = None if original is None else Table.from_frame(original, other.schema)
    return Setting(
        schema=other.schema,
        frame=_as_in_original(to_polars(other.frame)[0], table),
        original=table,
        tables={name: _as_in_original(to_polars(each)[0], table) for name, each in other.tables.items()},
        mask=other.mask,
        most_targets=targets,
        seed=seed,
    )


def _as_in_original(published: pl.DataFrame, original: Table | None) -> pl.DataFrame:
    """A published table with sensitive values in the types of the original; where they share none, that is warned of.

    Values that are written in another way would be those of nobody, and every attack on them would seem to fail.
    """
    if original is None:
        return published
    known = [name for name in original.sensitive if name in published.columns]
    read = published.with_columns(in_type_of(published[name], original.frame[name].dtype) for name in known)
    for name in known:
        form = original.sensitive[name].spelling
        shown, own = (spelled(as_texts(frame[name]).unique(), form).drop_nulls() for frame in (read, original.frame))
        if len(shown) and len(own) and not shown.is_in(own.implode()).any():
            warnings.warn(
                f"No value of '{name}' in the release is one of the original's, so that attacks on it find nothing. "
                "They may be written in another way: compare the two.",
                ShoalWarning,
                stacklevel=3,
            )
    return read


def _whose(records: pl.DataFrame, schema: Schema, original: Table | None, whose: Any) -> IntArray | None:
    """The person of each published record, as far as it can be told."""
    if whose is None or original is None:
        return None
    if isinstance(whose, str) and whose not in ("ids", "order"):
        raise ParameterError("whose must be 'ids', 'order', or a frame with person and pseudonym.")
    if isinstance(whose, str):
        return whose_by_ids(records, schema, original) if whose == "ids" else whose_by_order(records, original)
    return whose_by_map(records, schema, original, to_polars(whose)[0])


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
) -> Assessment:
    """Recount a published table, from what it shows alone; the original is not needed.

    Columns that the schema drops must be gone and every column must have a role, else the answer is that the release
    does not hold. A table that breaks a model is answered, not refused.

    Parameters
    ----------
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
    """
    check_asked(schema, models)
    refuse_no_model(models, otherwise="there is nothing to verify")
    limit = AloneLimit(max_alone=max_alone, allow_alone=allow_alone)
    return recounted(frame, schema, models, mask=mask, tables=tables, linked=linked, excluded=excluded, limit=limit)


def recounted(
    frame: Any,
    schema: Schema,
    models: Sequence[Model],
    *,
    mask: str | None = None,
    tables: Mapping[str, Any] | None = None,
    linked: Any = None,
    excluded: Any = None,
    limit: AloneLimit,
) -> Assessment:
    """As `verify`, also for a part of what is published that no model is about: its risk and its problems."""
    started = time.perf_counter()
    records, _ = to_polars(frame)
    sensitive_tables = {name: to_polars(table)[0] for name, table in (tables or {}).items()}
    meant = _mask_meant(mask, schema, tables, linked)
    expected = set(schema.quasi_names) if meant.has_tables else schema.published()
    absent = [name for name in expected if name not in records.columns]
    if absent:
        raise SchemaError(
            f"The published table lacks {len(absent)} of the schema's columns: {', '.join(sorted(absent))}."
            f"{did_you_mean(absent[0], records.columns)}"
        )
    if not meant.links_values and GROUP not in records.columns:
        raise SchemaError(
            f"The published table lacks the column '{GROUP}', by which the mask {meant.name} tells groups."
        )
    if not len(records):
        raise InputError("The published table has no records.")
    refuse_unpublishable(records, schema)
    if not meant.has_tables and schema.person in schema.published():
        refuse_missing_persons(records, schema, lambda record: None)
    kept = None if linked is None else to_polars(linked)[0]
    never = None if excluded is None else to_polars(excluded)[0]
    risk, verdict = look_at_release(
        records, schema, models, mask=meant, tables=sensitive_tables, linked=kept, excluded=never, limit=limit
    )
    return Assessment(risk, verdict, time.perf_counter() - started)


def _mask_meant(mask: str | None, schema: Schema, tables: Mapping[str, Any] | None, linked: Any) -> type[Mask]:
    """The mask that somebody says a release was made by, in words or by what is given beside the table."""
    if mask is None and tables:
        mask = "anatomize"
    elif mask is None:
        mask = "range" if linked is None or not schema.links_records else "perturb"
    meant: type[Mask] = Mask if mask == Mask.name else _named(str(mask), MASKS, "mask") or Mask
    if not meant.links_values and GROUP in {name for name, _ in schema.roles()}:
        raise SchemaError(f"The mask {mask} publishes a column '{GROUP}' of its own: give yours another name.")
    return meant


def _refuse_beside_policy(given: Mapping[str, Any]) -> None:
    """Refuse choices that a policy makes and that were given beside it; which of the two counts would be a guess."""
    usual = {"method": DEFAULT_METHOD, "mask": DEFAULT_MASK, "max_suppressed": 0, "allow_alone": False}
    beside = [name for name, value in given.items() if value is not None and value != usual.get(name)]
    if beside:
        raise ParameterError(
            "A policy makes the choices of a run: give either a policy, or a schema and models with "
            f"{', '.join(beside)}. Change the policy with dataclasses.replace."
        )


def _refuse_max_linkage(max_linkage: object, mask: Mask) -> None:
    """Refuse a limit on linkage that is no share, or that goes with a mask which shows groups."""
    if max_linkage is None:
        return
    if not isinstance(max_linkage, int | float) or isinstance(max_linkage, bool) or not 0 <= max_linkage <= 1:
        raise ParameterError("max_linkage must be a share from 0 to 1, such as 0.05.")
    if mask.shows_groups:
        raise ParameterError("max_linkage goes with the mask perturb: other masks show groups, which models judge.")


def _refuse_linkage(linkage: Linkage, max_linkage: float | None) -> None:
    """Refuse a perturbed release from which too many persons can be linked to their original numbers."""
    if max_linkage is not None and linkage.rate > max_linkage:
        raise PrivacyNotMetError(
            f"{linkage.rate:.1%} of {linkage.n:,} persons are linked to their original numbers as closest or second "
            f"closest; at most {max_linkage:.1%} was asked for. Nothing was written. Ask for larger groups."
        )


def refuse_visible(mask: Mask, models: Sequence[Model]) -> None:
    """Refuse models of how records are spread over persons where exact quasi-identifiers tell who is who."""
    spread = [model.name for model in models if model.needs & SPREAD_OF_RECORDS]
    if spread and mask.shows_identities:
        raise ParameterError(
            f"{', '.join(spread)} cannot be promised with the mask {mask.name}: it publishes "
            "exact quasi-identifiers, so identities are visible. Mask these too with quasi_as='range', or drop the "
            "model."
        )


def not_met(verdict: Verdict, said: str | None = None) -> PrivacyNotMetError:
    """The error of a release whose verdict does not hold; of who is alone by what else leaves it says what to do."""
    hints = [hint for hint in HINTS if any(hint in problem for problem in verdict.problems)]
    return PrivacyNotMetError(said or why_not(verdict), hint=" ".join(hints) or None)


def why_not(verdict: Verdict) -> str:
    """Which models a verdict says are broken, in one message."""
    broken = [
        f"{model.broken_groups:,} of {verdict.n_groups:,} groups break {model.name} {model.asked:g} "
        f"({'lowest' if model.reached < model.asked else 'highest'}: {model.reached:.4g})."
        for model in verdict.models
        if not model.holds
    ]
    return " ".join([*broken, *verdict.problems, "Nothing was written."])


def check_asked(schema: object, models: object) -> None:
    """Refuse what is no schema and what is no list of models, before anything is read."""
    if not isinstance(schema, Schema):
        raise SchemaError(f"A shoal.Schema is expected, got {type(schema).__name__}.")
    if not isinstance(models, Sequence):
        raise ParameterError(f"Models are given as a list, such as [GBalance(g=0.8)], not as {type(models).__name__}.")
    for model in models:
        if not isinstance(model, Model) or isinstance(model, type):
            raise ParameterError(f"A list of models is expected, but it holds a {type(model).__name__}.")


def refuse_no_model(models: Sequence[Model], *, otherwise: str = "nothing would be protected") -> None:
    """Refuse to promise nothing."""
    if not models:
        raise ParameterError(f"No model was asked for, so {otherwise}. Ask for g-balance, for example.")


def choose(method: str | Method, mask: str | Mask, options: Mapping[str, Any]) -> tuple[Method, Mask]:
    """The method and the mask, each made with its own options; an option that neither has is refused."""
    method_class = _named(method, METHODS, "method")
    mask_class = _named(mask, MASKS, "mask")
    known = {*_options_of(method_class), *_options_of(mask_class)}
    unknown = [name for name in options if name not in known]
    if unknown:
        raise ParameterError(
            f"Neither the method nor the mask has an option '{unknown[0]}'. "
            f"Options here are: {', '.join(sorted(known)) or 'none'}.{did_you_mean(unknown[0], known)}"
        )
    return as_method(_made(method, method_class, options)), as_mask(_made(mask, mask_class, options))


def _named(choice: Any, known: Mapping[str, type], what: str) -> type | None:
    if not isinstance(choice, str):
        return None
    if choice not in known:
        raise ParameterError(
            f"There is no {what} '{choice}'. Choose one of: {', '.join(known)}.{did_you_mean(choice, known)}"
        )
    return known[choice]


def _options_of(cls: type | None) -> list[str]:
    return [field.name for field in fields(cls)] if cls is not None else []


def _made(choice: Any, cls: type | None, options: Mapping[str, Any]) -> Any:
    if cls is None:
        return choice
    return cls(**{name: value for name, value in options.items() if name in _options_of(cls)})


def checked_seed(seed: object) -> int:
    """The seed that was given, or 128 random bits where none was."""
    if seed is None:
        return secrets.randbits(128)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**128:
        raise ParameterError("seed must be a whole number from 0 to 2^128 - 1.")
    return int(seed)


def _notes(table: Table) -> tuple[str, ...]:
    """What the steward should know beside the numbers."""
    notes = list(table.notes)
    if table.adversary is not None:
        n_stated = sum(rule.source == "stated" for rule in table.adversary.rules)
        notes.append(
            f"An adversary is taken to know {len(table.adversary.rules):,} rules about sensitive values: "
            f"{len(table.adversary.rules) - n_stated:,} mined from a table, {n_stated:,} stated."
        )
    notes += notes_on_shared(table.schema, table.shared_dates)
    if table.suppressed_persons:
        notes.append(f"{table.suppressed_persons:,} persons were left out so that the others can be protected.")
    return tuple(notes)
