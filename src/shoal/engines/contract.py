"""What an engine is asked, and what it gives: a job in, a release out; or every reason why not, in one message."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
import polars as pl

from shoal.errors import ParameterError, SchemaError, did_you_mean
from shoal.grouping import Method
from shoal.judging.alone import AloneLimit
from shoal.judging.verdict import Verdict
from shoal.masking.chosen import choose
from shoal.masking.publish import Mask, refuse_episodes, refuse_groupless, refuse_histories, refuse_visible
from shoal.measuring.aggregates import QUERY_KINDS
from shoal.models.contract import Model
from shoal.models.related import Related
from shoal.policy.history import History
from shoal.policy.policy import DEFAULT_MASK, DEFAULT_METHOD, Policy, check_asked, refuse_no_model, with_episodes
from shoal.progress import Progress, silent
from shoal.publishing.release import Release, Writing
from shoal.reading import CsvOptions, Reading
from shoal.reading.mend import mend
from shoal.table.columns import LineOf
from shoal.table.frames import to_polars
from shoal.table.schema import Schema
from shoal.table.table import Table


@dataclass(frozen=True, kw_only=True)
class Files:
    """Files that an engine reads by itself: their names, or addresses that it knows, and how they are written."""

    names: tuple[str, ...]
    csv: CsvOptions = field(default_factory=CsvOptions)
    found: Mapping[str, Any] | None = None
    """Where not all is told of how CSV files are written: what is. The engine that reads in portions finds the rest."""
    table: str | None = None
    query: str | None = None
    """Of a database, what is read."""


@dataclass(frozen=True, kw_only=True)
class Measures:
    """What is measured of a release beside its risk and what it lost; as `shoal.protect` takes it."""

    measure_input: bool = True
    queries: int = 0
    query_kinds: Sequence[str] = ("count",)
    associations: int = 0
    attacks: int | None = None
    """How many persons are attacked at the most; None leaves it to the report, 0 tries nothing."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "query_kinds", checked_kinds(self.query_kinds))
        if not _is_count(self.associations):
            raise ParameterError("associations must be a whole number: how many quasi-identifiers a rule may combine.")
        if self.attacks is not None and not _is_count(self.attacks):
            raise ParameterError("attacks must be a whole number: how many persons are attacked at the most.")


_CHOICES = (
    "max_suppressed", "max_records", "sample", "max_linkage", "max_alone", "allow_alone", "knowledge", "history",
    "usefulness", "counts",
)  # fmt: skip
"""What a policy has beside columns, models, method and mask."""
_BESIDE = ("progress", "line_of", "views", "writing")
"""Fields of a job that no policy has."""


def _taken(given: dict[str, Any], *names: str) -> dict[str, Any]:
    """What is given under some names, taken out of the rest."""
    return {name: given.pop(name) for name in names if name in given}


def checked_kinds(kinds: object) -> tuple[str, ...]:
    """Kinds of queries, each known and named once."""
    if isinstance(kinds, str) or not isinstance(kinds, Iterable):
        raise ParameterError(f"query_kinds must be a list of {', '.join(QUERY_KINDS)}, not one {type(kinds).__name__}.")
    asked = tuple(dict.fromkeys(str(kind) for kind in kinds))
    for kind in asked:
        if kind not in QUERY_KINDS:
            raise ParameterError(
                f"There is no kind of query '{kind}'. Choose from: {', '.join(QUERY_KINDS)}."
                f"{did_you_mean(kind, QUERY_KINDS)}"
            )
    return asked


def _is_count(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number >= 0


@dataclass(frozen=True, kw_only=True)
class Job:
    """What an engine is asked: the choices of a policy, where the records are, and what to measure.

    Made by `Job.of`.
    """

    policy: Policy
    source: Any
    """Where the records are: a frame, a `Reading`, or `Files`."""
    given_schema: Schema | None = None
    """The roles of the columns where Python gave them, with hierarchies; else those of the policy count."""
    given_history: History | None = None
    """How histories are hidden where Python said it; else as the policy says."""
    method: Method
    mask: Mask
    seed: int
    """The one that was asked for, or 128 random bits."""
    measures: Measures = field(default_factory=Measures)
    progress: Progress = silent
    line_of: LineOf | None = None
    """On which line of its file a record of the frame begins, for messages."""
    views: Callable[[Table], Related] | None = None
    """Where the frame is several tables joined: which rows each person has in each of them."""
    writing: Writing | None = None
    """Where the release goes; the engine writes it there. Without it the release can be written later, but by the
    engine that reads in portions, which writes while it works."""
    kind_of_frame: str | None = None
    """The kind of frame that was given, where it was mended and so is another now."""
    mends: tuple[dict[str, Any], ...] = ()
    """What was mended in a frame."""
    alone_limit: AloneLimit = field(init=False)
    """How many persons may be alone in their group by what else leaves."""

    def __post_init__(self) -> None:
        if self.given_schema is not None and self.given_history is not None and self.given_history.episode is not None:
            object.__setattr__(self, "given_schema", with_episodes(self.given_schema))
        check_asked(self.roles, self.models)
        if self.roles.has_episodes and self.policy.history.episode is None:
            raise SchemaError(
                "person_ids='episodes' publishes a pseudonym per episode, but nothing says how records are cut: say "
                "history=History(episode='90 days'), for example."
            )
        object.__setattr__(self, "alone_limit", AloneLimit(**self.policy.budget.alone))

    @classmethod
    def of(
        cls,
        source: Any,
        asked: Schema | Policy,
        models: Sequence[Model] | None = None,
        *,
        method: str | Method = DEFAULT_METHOD,
        mask: str | Mask = DEFAULT_MASK,
        seed: int | None = None,
        **given: Any,
    ) -> Job:
        """The job of a policy, or of a schema and models: both ways of asking meet here.

        Parameters
        ----------
        asked, models
            A policy, which makes all choices but the seed; or a schema and models.
        method, mask
            Beside a schema, by name or as objects.
        given
            What `shoal.protect` takes by keyword: what is measured, limits and knowledge, options of the method and the
            mask; and other fields of the job.
        """
        measures = Measures(**_taken(given, *(each.name for each in fields(Measures))))
        job: dict[str, Any] = {"source": source, "measures": measures, **_taken(given, *_BESIDE)}
        choices = _taken(given, *_CHOICES)
        if isinstance(asked, Policy):
            _refuse_beside_policy({"models": models, "method": method, "mask": mask, **choices, **given})
            policy, seed = asked, asked.seed if seed is None else seed
            made = choose(policy.method, policy.mask, policy.options)
            if policy.mask != made[1].name and made[0].own_mask is not None:  # what was made is what is kept
                policy = replace(policy, mask=made[1].name, mask_options=made[1].options)
        else:
            made = choose(method, mask, given)
            check_asked(asked, models)
            policy = Policy.of(
                asked, models or (), method=made[0].name, method_options=made[0].options, mask=made[1].name,
                mask_options=made[1].options, **choices,
            )  # fmt: skip
            job["given_schema"], job["given_history"] = asked, choices.get("history")
        own = tuple(model for model in made[0].own_models if model not in policy.models)
        policy = replace(policy, models=(*policy.models, *own))
        return cls(policy=policy, method=made[0], mask=made[1], seed=checked_seed(seed), **job)

    def mended(self) -> Job:
        """The job with its table mended as the policy says, where that was not done when it was read."""
        if not self.policy.mend or (isinstance(self.source, Reading) and self.source.mended is not None):
            return self
        frame, kind = to_polars(self.frame)
        made = mend(frame, self.policy.mend)
        line_of, kept = self.line_of_record, made.kept
        if line_of is not None and kept is not None:
            before = line_of
            line_of = lambda record: before(int(kept[record]))  # noqa: E731
        told = tuple(change.to_dict() for change in made.changes)
        return replace(self, source=made.frame, kind_of_frame=kind, line_of=line_of, mends=told)

    @property
    def what_was_mended(self) -> tuple[dict[str, Any], ...]:
        """Each step of mending with its column, and how many records it changed."""
        return (self.source.mended or ()) if isinstance(self.source, Reading) else self.mends

    @property
    def models(self) -> tuple[Model, ...]:
        """What every group must meet."""
        return self.policy.models

    @property
    def roles(self) -> Schema:
        """The roles of the columns before anything is read: without hierarchies that are made from values."""
        return self.policy.schema_of_release() if self.given_schema is None else self.given_schema

    def schema(self, values: pl.DataFrame) -> Schema:
        """The roles of the columns, with hierarchies; those of prefixes and ICD codes are made from the values."""
        return self.policy.schema(self.policy.folder, values) if self.given_schema is None else self.given_schema

    def history(self, values: pl.DataFrame) -> History:
        """How histories are hidden, with hierarchies; those of prefixes and ICD codes are made from the values."""
        return self.given_history or self.policy.history_of(self.policy.folder, values)

    @property
    def frame(self) -> Any:
        """The table, where it is in memory already."""
        return self.source.frame if isinstance(self.source, Reading) else self.source

    @property
    def line_of_record(self) -> LineOf | None:
        """On which line of its file a record begins, where that is known."""
        return self.source.line_of_record if isinstance(self.source, Reading) else self.line_of


class Engine(ABC):
    """What does the work of a job: in memory, in portions of a file, on a cluster."""

    name: ClassVar[str]

    @abstractmethod
    def why_not(self, job: Job) -> list[str]:
        """Every reason why the engine cannot do a job, in plain sentences, each once; none where it can."""

    @abstractmethod
    def protect(self, job: Job) -> Release:
        """Do a job: a release that meets every model, or an error. What is not offered is refused first."""


_HOMES = {
    "memory": "shoal.engines.memory.run:MemoryEngine",
    "stream": "shoal.engines.stream.run:StreamEngine",
    "spark": "shoal.engines.spark.run:SparkEngine",
}
"""Where each engine lives; it is imported when it is asked for."""

ENGINES = tuple(_HOMES)


def engine_called(name: str, **settings: Any) -> Engine:
    """The engine of a name, with settings of its own."""
    if name not in _HOMES:
        raise ParameterError(
            f"There is no engine '{name}'. Choose one of: {', '.join(ENGINES)}.{did_you_mean(name, ENGINES)}"
        )
    module, _, engine = _HOMES[name].partition(":")
    made: Engine = getattr(import_module(module), engine)(**settings)
    return made


def refuse_unoffered(engine: Engine, job: Job) -> None:
    """Refuse a job that no engine could do, or not this one, with every reason of the engine's in one message."""
    refuse_visible(job.mask, job.models)
    refuse_histories(job.mask, job.models)
    if job.roles.has_episodes or job.policy.history.record_steps is not None:
        refuse_episodes(job.mask, job.models)
    _refuse_max_linkage(job.policy.max_linkage, job.mask)
    refuse_groupless(job.mask, job.models, job.policy.max_linkage)
    if job.mask.takes_groups:
        refuse_no_model(job.models)
    why = list(dict.fromkeys(engine.why_not(job)))
    if why:
        hint = "Choose another engine, or leave it out."
        raise ParameterError(f"The engine '{engine.name}' cannot do this. {' '.join(why)} {hint}", hint=hint)


def counts_of(verdict: Verdict) -> dict[str, int]:
    """What the log is told of a verdict."""
    return {"models": len(verdict.models), "not met": sum(not model.holds for model in verdict.models)}


def checked_seed(seed: object) -> int:
    """The seed that was given, or 128 random bits where none was."""
    if seed is None:
        return secrets.randbits(128)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**128:
        raise ParameterError("seed must be a whole number from 0 to 2^128 - 1.")
    return int(seed)


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
        raise ParameterError(
            f"max_linkage goes with masks that show no groups, such as perturb and noise: {mask.name} shows groups, "
            "which models judge."
        )
