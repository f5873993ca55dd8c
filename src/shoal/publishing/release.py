"""What comes out: an assessment of a table, a verification, a release."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal

import numpy as np

from shoal.attacking.mining.adversary import rules_known
from shoal.attacking.mining.rules import Rules
from shoal.attacking.setting import Setting
from shoal.attacking.suite import Attackable, SuiteResult, attack_for_report
from shoal.errors import ParameterError
from shoal.grouping.grouping import Method
from shoal.judging.alone import AloneLimit
from shoal.judging.population_table import PopulationTable
from shoal.judging.risk import Risk
from shoal.judging.verdict import Answer, Verdict
from shoal.masking import MASKS
from shoal.masking.history import HistoryShown
from shoal.masking.publish import Mask, Published
from shoal.measuring.aggregates import AggregateError
from shoal.measuring.associations import AssociationError
from shoal.measuring.estimates import Estimates, estimates_of
from shoal.measuring.kept_statistics import KeptStatistics
from shoal.measuring.queries import QueryError
from shoal.measuring.spread import RiskSpread
from shoal.measuring.statistics import Linkage, has_numbers, moments
from shoal.measuring.usefulness import Usefulness, usefulness_of
from shoal.measuring.utility import Utility
from shoal.models.contract import Model
from shoal.policy.policy import USUAL_QUERIES, Policy
from shoal.publishing.noisy_counts import NoisyCounts
from shoal.short import Short, ShownInShort
from shoal.table.safe_harbour import Identifier, safe_harbour
from shoal.table.schema import Schema
from shoal.table.table import Table
from shoal.table.times import SharedDates

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    FrameT = TypeVar("FrameT", default=Any)
else:
    from typing import TypeVar

    FrameT = TypeVar("FrameT")

if TYPE_CHECKING:
    from datetime import datetime

    from shoal.publishing.write import AnyLedger
    from shoal.reading import CsvOptions, Labels


def short_of(kind: str, verdict: Verdict, risk: Risk, more: Mapping[str, str]) -> Short:
    """An answer in a few lines: the models, and the risks that a steward looks at first."""
    numbers = {
        "records": f"{risk.records:,}", "persons": f"{risk.persons:,}", "groups": f"{risk.groups:,}",
        "max_gidr": f"{risk.max_gidr:.4g}", "person_k": f"{risk.person_k:,}", **more,
    }  # fmt: skip
    told = verdict.short()
    lines = [*told.lines, ", ".join(f"{name} {value}" for name, value in numbers.items())]
    return replace(told, title=f"{kind}: {verdict.state}", lines=lines)


def drawn_risks(before: Risk | None, after: Risk | None) -> str:
    """The risks that are shares, before and after, as a picture."""
    from shoal.publishing.report.charts import dumbbell_chart, standing_alone

    shown = [{} if risk is None else _shares(risk) for risk in (before, after)]
    labels = list(shown[0] | shown[1])
    was, now = ([shares.get(label) for label in labels] for shares in shown)
    return standing_alone(
        dumbbell_chart(
            labels, was, now, title="Risk", description="Risks before and after.", low=0, high=1, across="chance, of 1"
        )
    )


def _shares(risk: Risk) -> dict[str, float]:
    values = {f"a value of {name}, highest": share for name, share in risk.max_gsar.items()}
    return {"record risk, highest": risk.max_gidr, "record risk, average": risk.avg_gidr, **values}


@dataclass(frozen=True, repr=False)
class Assessment(Answer, ShownInShort):
    """The risk of a table as it is seen; also what `verify` answers about a published table."""

    risk: Risk
    verdict: Verdict
    seconds: float
    notes: tuple[str, ...] = ()
    """What was left out of the count, in plain sentences."""
    ane: float | None = None
    """What is lost: 0 for a table as it is; None for a published one, since only the original could tell."""
    safe_harbour: tuple[Identifier, ...] | None = None
    """Columns that seem to hold identifiers of HIPAA's safe harbour; None where nobody looked."""

    def __getattr__(self, name: str) -> Any:
        """The risk measures are attributes of the assessment too: `assessment.max_gidr`."""
        if name.startswith("_") or name == "risk":
            raise AttributeError(name)
        return getattr(self.risk, name)

    @property
    def holds(self) -> bool:
        """Whether every model holds, and some was asked."""
        return self.verdict.holds

    @property
    def problems(self) -> tuple[str, ...]:
        """What else is wrong with a release, in plain sentences."""
        return self.verdict.problems

    def short(self) -> Short:
        """The models, and the risks that a steward looks at first."""
        return short_of("Assessment", self.verdict, self.risk, {})

    def drawn(self) -> str:
        """Its risks."""
        return drawn_risks(self.risk, None)

    def to_dict(self) -> dict[str, object]:
        """The keys of the JSON contract."""
        lost = {"loss": self.ane, "ane": self.ane}
        answer = {**self.risk.to_dict(), **lost, "seconds": self.seconds, "verdict": self.verdict.to_dict()}
        if self.safe_harbour is not None:
            answer["safe_harbour"] = [asdict(each) for each in self.safe_harbour]
        return {**answer, "notes": list(self.notes)} if self.notes else answer


@dataclass(frozen=True, kw_only=True)
class Writing:
    """Where a release goes and how it is written; as `Release.write` takes it."""

    folder: Path
    overwrite: bool = False
    format: str | None = None
    report: bool = True
    keep_person_map: bool = False
    policy_text: str | None = None
    inputs: Sequence[str | Path] = ()
    csv: CsvOptions | None = None
    started: datetime | None = None
    labels: Labels | None = None
    sources: Sequence[str] = ()
    into: str | None = None
    into_table: str | None = None
    ledger: AnyLedger | None = None
    safe_cells: bool = False
    column_labels: bool = False


class Records(ABC):
    """How the records of a release are held: by a frame in memory, by files that were written, by a frame on Spark."""

    engine: ClassVar[str]
    """The engine that made them."""
    holds_original: ClassVar[bool] = False
    """Whether `table` and `published` are at hand, side by side."""

    @property
    @abstractmethod
    def data(self) -> Any:
        """The published table, as the engine holds it; `Release.data` says of what kind it is."""

    @property
    @abstractmethod
    def tables(self) -> Mapping[str, Any]:
        """The sensitive tables that are published beside it, by attribute."""

    @property
    @abstractmethod
    def groups(self) -> Any:
        """The groups, as far as the engine keeps them for the steward."""

    @property
    @abstractmethod
    def columns(self) -> Sequence[str]:
        """The names of the published columns, in their order."""

    @property
    @abstractmethod
    def lone_extremes(self) -> Mapping[str, int]:
        """As `Release.lone_extremes`."""

    @property
    def columns_of_tables(self) -> Mapping[str, Sequence[str]]:
        """The names of the columns of each sensitive table."""
        return {}

    @property
    def table(self) -> Table:
        """The original table; only the engine in memory keeps it."""
        raise ParameterError(
            f"A release that was made by the engine '{self.engine}' does not hold the original table, which is asked "
            "for here. Protect the table in memory for that."
        )

    @property
    def published(self) -> Published:
        """The published table with all that only the steward may know of it; as `table`."""
        raise ParameterError(
            f"A release that was made by the engine '{self.engine}' does not hold its records in memory, where they "
            "are asked for here. Read the files that it wrote."
        )

    @abstractmethod
    def write(self, release: Release, writing: Writing) -> Path:
        """Write the release folder."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Release(Attackable, ShownInShort, Generic[FrameT]):
    """A protected table, its verdict, its numbers, and what is needed to repeat the run.

    It is the same whichever engine made it. Two releases are equal where they are the same one. A release holds the
    original table, so that it is not pickled.
    """

    records: Records = field(repr=False)
    """How its records are held; `data`, `tables`, `groups` and `write` are of them."""
    policy: Policy = field(repr=False)
    """The choices that were asked for."""
    verdict: Verdict
    risk: Risk
    utility: Utility
    before: Risk | None = None
    """The risk of the input, where it was measured."""
    schema: Schema = field(repr=False)  # a hierarchy may list values of the table
    models: tuple[Model, ...]
    method: Method
    mask: Mask
    seed: int
    seconds: float
    notes: tuple[str, ...]
    kinds: Mapping[str, str]
    """The kind of each quasi-identifier: "number", "nominal", "ordered", "date"."""
    rounded: Mapping[str, float | str] = field(default_factory=dict)
    """To what the ends of ranges are rounded, for each quasi-identifier of which they are."""
    book: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """What the codebook says besides of columns that were changed person by person, by column."""
    lone_ends: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """For each quasi-identifier shown as ranges how many `ends` are published, and how many of them are `lone`: the own
    value of exactly one person of the group. Empty where an engine does not count it."""
    suppressed_persons: int = 0
    """How many persons were left out so that the others can be protected."""
    shared_dates: SharedDates | None = None
    """Dates that many persons share: they would give away by how much dates were shifted."""
    told: Mapping[str, object] = field(default_factory=dict)
    """What an engine tells besides, as further keys of the JSON contract."""
    query_error: QueryError | None = None
    """How far random COUNT queries on the release are off, where they were asked for."""
    aggregate_error: Mapping[str, AggregateError] = field(default_factory=dict)
    """How far random SUM, AVERAGE, MIN and MAX queries are off, by kind, for those that were asked for."""
    association_error: AssociationError | None = None
    """What becomes of the table's association rules in the release, where they were asked for."""
    history: HistoryShown | None = None
    """What was hidden, coarsened and left out of histories, where models of them were asked for."""
    useful: Usefulness | None = field(default=None, repr=False)
    """What can still be done with the release, where the policy asks for it; `usefulness` measures it at any time."""
    linkage: Linkage | None = None
    """Of a perturbed release, how many persons can be linked to their original numbers."""
    statistics: KeptStatistics | None = None
    """Of a release that shows numbers, what they keep of means, deviations and correlations, and how classes mix."""
    spread_before: RiskSpread | None = field(default=None, repr=False)
    """How the risk of the input is spread over persons, values and groups, where it was measured."""
    spread: RiskSpread | None = field(default=None, repr=False)
    """How the risk of the release is spread, where an engine counted it that does not hold its records."""
    population: PopulationTable | None = field(default=None, repr=False)
    """The population that the table was drawn from, where a table of it was given; it is never written."""
    counts: NoisyCounts | None = field(default=None, repr=False)
    """Noisy counts of persons that leave beside the release, where they were asked for."""
    attacked_persons: int | None = None
    """How many persons are attacked at the most, for `attacked`: 0 tries nothing, None as many as cost little."""

    def short(self) -> Short:
        """What was promised and reached, and what it cost."""
        return short_of("Release", self.verdict, self.risk, {"loss": f"{self.utility.loss:.4f}"})

    def drawn(self) -> str:
        """Its risks, and those of the input."""
        return drawn_risks(self.before, self.risk)

    def __getstate__(self) -> object:
        """Refuse to be pickled: whoever opened the file would have the original table."""
        raise ParameterError(
            "A release holds the original table, so it is not pickled. Write it with release.write(folder), and read "
            "what was published from there."
        )

    @property
    def rules(self) -> Rules | None:
        """The rules that an adversary was taken to know, where a model reckons with them."""
        return rules_known(self.models)

    @property
    def engine(self) -> str:
        """The engine that made it: "memory", "stream" or "spark"."""
        return self.records.engine

    @property
    def alone_limit(self) -> AloneLimit:
        """How many persons might be alone in their group by what else leaves."""
        return AloneLimit(**self.policy.budget.alone)

    @property
    def data(self) -> FrameT:
        """The published table, as the kind of frame that was given; masked quasi-identifiers are plain texts.

        Its records stand in a secret order, which is not that of the original, so that their places tell nothing: never
        put its columns beside those of the original by position. In pandas their index is -1, -2, ..., which no table
        that is numbered 0, 1, ... shares.
        """
        shown: FrameT = self.records.data
        return shown

    @property
    def tables(self) -> Mapping[str, Any]:
        """The sensitive tables that are published beside `data`, by attribute, of an anatomized release; else empty."""
        return self.records.tables

    @property
    def groups(self) -> Any:
        """The group of each published record, in the order of `data`; stays with the steward."""
        return self.records.groups

    @property
    def lone_extremes(self) -> dict[str, int]:
        """For each quasi-identifier shown as ranges, how many of its two extremes only one person has.

        Range ends are real values, so such an extreme is that person's own value; the option `code_extremes` of the
        mask "range" hides it.
        """
        return dict(self.records.lone_extremes)

    @property
    def table(self) -> Table:
        """The original table with its columns coded; refused where the engine does not keep it in memory."""
        return self.records.table

    @property
    def published(self) -> Published:
        """The published table and what only the steward may know of it; refused where it is not in memory."""
        return self.records.published

    @property
    def _can_be_read(self) -> bool:
        """Whether original and release are side by side, and others than its maker can read what the mask shows."""
        return self.records.holds_original and type(self.mask) in MASKS.values()

    @cached_property
    def estimates(self) -> Estimates | None:
        """Of a sample with weights: means, totals and tables that are estimated for the population, before and after.

        None without weights, and where the engine does not hold original and release side by side.
        """
        return estimates_of(self) if self._can_be_read and not self.published.tables else None

    @cached_property
    def safe_harbour(self) -> tuple[Identifier, ...] | None:
        """Columns that seem to hold identifiers of HIPAA's safe harbour, and how they leave; None without a table."""
        return safe_harbour(self.table.frame, self.schema) if self.records.holds_original else None

    @cached_property
    def attacked(self) -> SuiteResult | None:
        """What attacks got that have the original at hand, tried when it is first asked for, as a report does.

        None where none was to be tried, where the engine does not hold original and release side by side, and where
        only its maker can read what the mask shows.
        """
        if self.attacked_persons == 0 or not self._can_be_read:
            return None
        seed = self.seed % 2**63
        if self.attacked_persons is not None:
            return self.attack(targets=self.attacked_persons, seed=seed)
        return attack_for_report(replace(self._setting_in_order(), seed=seed))

    def usefulness(
        self, target: str | None = None, *, kind: Literal["classes", "number"] | None = None, queries: int | None = None
    ) -> Usefulness:
        """What can still be done with the release: predict a column, see marginals and associations, count records.

        Parameters
        ----------
        target
            The column to predict, a quasi-identifier or a sensitive attribute; unless told that of the policy.
        kind
            Whether it is one of several "classes" or a "number"; unless told its values say it.
        queries
            How many random counts are asked; 0 for none.

        Notes
        -----
        Who is kept apart is drawn by the seed of the release. Needs the original, which the engine in memory keeps.
        """
        asked = self.policy.usefulness
        if target is None and asked is None:
            raise ParameterError(
                "Name the column that somebody wants to predict: release.usefulness(target='...'). The policy names "
                "none."
            )
        if asked is not None and target in (None, asked.target):
            target, kind = asked.target, kind or asked.kind
            queries = asked.queries if queries is None else queries
        queries = USUAL_QUERIES if queries is None else queries
        return usefulness_of(self, str(target), kind=kind, queries=queries, seed=self.seed % 2**63)

    def _setting_in_order(self) -> Setting:
        """As `setting`, in the order of the original: a seed draws the same targets whatever the secret order is."""
        setting, at = self.setting(), self.published.record_of_published
        order = np.empty(len(at), np.int64)
        order[at] = np.arange(len(at))
        assert setting.origin is not None
        return replace(setting, frame=setting.frame[order], origin=setting.origin[order])

    def to_dict(self, *, with_changes: bool = True) -> dict[str, object]:
        """The keys of the JSON contract; those of the input stand under "before".

        Without `changes`, which compare every published cell with the original, where nobody is shown them.
        """
        before = None if self.before is None else {**self.before.to_dict(), "loss": 0.0, "ane": 0.0}
        return {
            **self.risk.to_dict(),
            **asdict(self.utility),
            "seconds": self.seconds,
            "suppressed_persons": self.suppressed_persons,
            "lone_extremes": self.lone_extremes,
            "lone_ends": {name: dict(counted) for name, counted in self.lone_ends.items()},
            "rounded": dict(self.rounded),
            **self.told,
            **({"changes": self.changes} if with_changes else {}),
            **({} if self.shared_dates is None else {"shared_dates": self.shared_dates.to_dict()}),
            **({} if self.history is None else {"history": self.history.to_dict()}),
            **self._perturbed(),
            **({} if self.statistics is None else {"statistics": self.statistics.to_dict()}),
            **({"query_error": self.query_error.to_dict()} if self.query_error is not None else {}),
            **self._aggregated(),
            **({} if self.estimates is None else {"estimates": asdict(self.estimates)}),
            **({} if self.safe_harbour is None else {"safe_harbour": [asdict(each) for each in self.safe_harbour]}),
            **({} if self.useful is None else {"usefulness": self.useful.to_dict()}),
            **({} if self.counts is None else {"counts": self.counts.to_dict()}),
            **self._against(),
            **({} if self.attacked is None else self.attacked.to_dict()),
            "notes": list(self.notes),
            "verdict": self.verdict.to_dict(),
            "before": before,
        }

    @property
    def spends(self) -> tuple[float, float] | None:
        """The epsilon and delta of differential privacy that the release and its counts spend; None for none."""
        own = self.method.spends
        if self.counts is None:
            return own
        epsilon, delta = own or (0.0, 0.0)
        return float(Fraction(str(epsilon)) + Fraction(str(self.counts.epsilon))), delta

    @cached_property
    def changes(self) -> dict[str, dict[str, Any]]:
        """For each column what was done to it, in words, and how much of it changed."""
        from shoal.publishing.column_changes import changes_of

        return changes_of(self)

    def _aggregated(self) -> dict[str, object]:
        """The errors of queries other than COUNT and of association rules, where they were asked for."""
        errors = {kind: error.to_dict() for kind, error in self.aggregate_error.items()}
        rules = {} if self.association_error is None else {"association_error": asdict(self.association_error)}
        return {**({"aggregate_error": errors} if errors else {}), **rules}

    def _against(self) -> dict[str, object]:
        """How many rules an adversary was taken to know, where a model reckons with them."""
        if self.rules is None:
            return {}
        n_stated = sum(rule.source == "stated" for rule in self.rules)
        return {"rules": {"mined": len(self.rules) - n_stated, "stated": n_stated}}

    def _perturbed(self) -> dict[str, object]:
        """What a report says of perturbed numbers: linkage, and moments before and after."""
        if self.linkage is None:
            return {}
        told: dict[str, object] = {"linkage": {**asdict(self.linkage), "rate": self.linkage.rate}}
        if has_numbers(self.table):
            moved = vars(moments(self.table, self.published))
            told["moments"] = {name: part.tolist() if hasattr(part, "tolist") else part for name, part in moved.items()}
        return told

    def setting(self) -> Setting:
        """The release as attacks look at it, with the person of each published record."""
        at = self.published.record_of_published
        # beside sensitive tables there is one row per person
        person = at if self.published.tables else self.table.person_of_record[at]
        return Setting(
            schema=self.schema, frame=self.published.frame, original=self.table, tables=self.published.tables,
            mask=self.mask.name, origin=person.astype(np.int64), method=self.method, models=self.models,
            rules=self.rules, linked=self.published.linked, excluded=self.published.excluded,
        )  # fmt: skip

    def write(
        self,
        folder: str | Path,
        *,
        overwrite: bool = False,
        format: str | None = None,
        report: bool = True,
        keep_person_map: bool = False,
        policy_text: str | None = None,
        inputs: Sequence[str | Path] = (),
        csv: CsvOptions | None = None,
        started: datetime | None = None,
        labels: Labels | None = None,
        sources: Sequence[str] = (),
        into: str | None = None,
        into_table: str | None = None,
        ledger: AnyLedger | None = None,
        safe_cells: bool = False,
        column_labels: bool = False,
    ) -> Path:
        """Write the release folder: what may leave and what stays (steward/).

        What may leave is release.*, codebook.*, datapackage.json and summary.html.
        The files have the order of `data`, which is a secret one and not that of the original.

        Parameters
        ----------
        folder
            Where to; it must be absent, empty, or with `overwrite` an earlier release.
        format
            The name of a format that is written, such as "csv" or "parquet"; None takes that of the first of `inputs`,
            and CSV where there is none.
        report
            Whether to write the reports: steward/report.html, steward/report.json and summary.html.
        keep_person_map
            Whether to write steward/persons.parquet, which says who has which pseudonym.
        labels
            Those of columns and codes that came with the table (`reading.labels`), for codebook.json and for formats
            that hold labels. Of codes those leave that can be seen in the release and that two persons have.
        sources
            What the manifest calls inputs that are no files (`reading.source.shown`).
        into, into_table
            The address of a database and the name of a table in it, to write the release there too, in one transaction.
            An earlier release there is replaced with `overwrite`, another table never. Neither user nor password of the
            address is kept.
        ledger
            Remembers what is released about whom (`shoal.Ledger`), and warns or refuses where this release breaks a
            model together with earlier ones.
        safe_cells
            Whether CSV and Excel files get an apostrophe before cells that a spreadsheet would run as formulas.
        column_labels
            Whether the labels of columns leave too, that of the person column excepted. Read them first: whoever wrote
            them may have written down a person. A warning shows those that leave.

        Raises
        ------
        OutputError
            Where the release cannot be written; then nothing is.
        PrivacyNotMetError
            Where a ledger refuses the release; then nothing is written.
        """
        writing = Writing(
            folder=Path(folder), overwrite=overwrite, format=format, report=report, keep_person_map=keep_person_map,
            policy_text=policy_text, inputs=inputs, csv=csv, started=started, labels=labels, sources=sources, into=into,
            into_table=into_table, ledger=ledger, safe_cells=safe_cells, column_labels=column_labels,
        )  # fmt: skip
        return self.records.write(self, writing)
