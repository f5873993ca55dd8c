"""What comes out: an assessment of a table, a verification, a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal.attacking.mining.adversary import rules_known
from shoal.attacking.mining.knowledge import Knowledge
from shoal.attacking.mining.rules import Rules
from shoal.attacking.setting import MOST_TARGETS, Setting
from shoal.attacking.suite import SuiteResult, run_attacks
from shoal.errors import ParameterError
from shoal.grouping.grouping import Method
from shoal.judging.alone import AloneLimit
from shoal.judging.risk import Risk
from shoal.judging.verdict import Answer, Verdict
from shoal.masking.publish import Mask, Published
from shoal.masking.ranges import lone_extremes
from shoal.measuring.aggregates import AggregateError
from shoal.measuring.associations import AssociationError
from shoal.measuring.queries import QueryError
from shoal.measuring.spread import RiskSpread
from shoal.measuring.statistics import Linkage, moments
from shoal.measuring.utility import Utility
from shoal.models.contract import Model
from shoal.table.columns import NumberColumn
from shoal.table.frames import like_the_given
from shoal.table.hierarchy import Hierarchy
from shoal.table.schema import Schema
from shoal.table.table import Table

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from shoal.publishing.write import Ledger
    from shoal.reading import CsvOptions, Labels


def told_in_lines(kind: str, verdict: Verdict, risk: Risk, more: Mapping[str, str]) -> str:
    """An answer in a few short lines, for who prints it."""
    state = "no model was asked" if not verdict.models else "holds" if verdict.holds else "does NOT hold"
    models = [
        f"  {model.name} {model.asked:g}: {model.reached:.4g}, {'met' if model.holds else 'NOT met'}"
        for model in verdict.models
    ]
    numbers = {
        "records": f"{risk.records:,}", "persons": f"{risk.persons:,}", "groups": f"{risk.groups:,}",
        "max_gidr": f"{risk.max_gidr:.4g}", "person_k": f"{risk.person_k:,}", **more,
    }  # fmt: skip
    problems = [f"  problem: {problem}" for problem in verdict.problems]
    return "\n".join([f"{kind}: {state}", *models, *problems, "  " + ", ".join(f"{n} {v}" for n, v in numbers.items())])


@dataclass(frozen=True, repr=False)
class Assessment(Answer):
    """The risk of a table as it is seen; also what `verify` answers about a published table."""

    risk: Risk
    verdict: Verdict
    seconds: float
    notes: tuple[str, ...] = ()
    """What was left out of the count, in plain sentences."""
    ane: float | None = None
    """What is lost: 0 for a table as it is; None for a published one, since only the original could tell."""

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

    def __repr__(self) -> str:
        """A short table: the models, and the risks that a steward looks at first."""
        return told_in_lines("Assessment", self.verdict, self.risk, {})

    def to_dict(self) -> dict[str, object]:
        """The keys of the JSON contract."""
        answer = {**asdict(self.risk), "ane": self.ane, "seconds": self.seconds, "verdict": self.verdict.to_dict()}
        return {**answer, "notes": list(self.notes)} if self.notes else answer


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """A protected table, its verdict, its numbers, and what is needed to repeat the run.

    Two releases are equal where they are the same one. A release holds the original table, so that it is not pickled.
    """

    table: Table = field(repr=False)
    published: Published = field(repr=False)
    verdict: Verdict
    risk: Risk
    utility: Utility
    before: Risk | None
    schema: Schema = field(repr=False)  # a hierarchy may list values of the table
    models: tuple[Model, ...]
    method: Method
    mask: Mask
    max_suppressed: int
    max_records: int | None
    seed: int
    seconds: float
    notes: tuple[str, ...]
    query_error: QueryError | None = None
    """How far random COUNT queries on the release are off, where they were asked for."""
    aggregate_error: Mapping[str, AggregateError] = field(default_factory=dict)
    """How far random SUM, AVERAGE, MIN and MAX queries are off, by kind, for those that were asked for."""
    association_error: AssociationError | None = None
    """What becomes of the table's association rules in the release, where they were asked for."""
    max_linkage: float | None = None
    """The largest linkage that was asked for, of a release in which no groups are visible."""
    alone_limit: AloneLimit = field(default_factory=AloneLimit)
    """How many persons might be alone in their group by what else leaves."""
    linkage: Linkage | None = None
    """Of a perturbed release, how many persons can be linked to their original numbers."""
    spread_before: RiskSpread | None = field(default=None, repr=False)
    """How the risk of the input is spread over persons, values and groups, where it was measured."""
    knowledge: Knowledge | None = None
    """What was said of an adversary's knowledge, for models that reckon with it."""
    attacked: SuiteResult | None = None
    """What the attacks that know the original got, where they were asked for."""

    def __repr__(self) -> str:
        """A short table: what was promised and reached, and what it cost."""
        return told_in_lines("Release", self.verdict, self.risk, {"ANE": f"{self.utility.ane:.4f}"})

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

    @cached_property
    def data(self) -> Any:
        """The published table, as the kind of frame that was given; masked quasi-identifiers are plain texts.

        Its records stand in a secret order, which is not that of the original, so that their places tell nothing: never
        put its columns beside those of the original by position.
        """
        frame = self.published.frame
        coded = [name for name in self.schema.quasi_names if frame.schema.get(name) in (pl.Categorical,)]
        return like_the_given(frame.with_columns(pl.col(coded).cast(pl.String)), self.table.kind_of_frame)

    @cached_property
    def tables(self) -> dict[str, Any]:
        """The sensitive tables that are published beside `data`, by attribute, of an anatomized release; else empty."""
        tables = self.published.tables.items()
        return {name: like_the_given(table, self.table.kind_of_frame) for name, table in tables}

    @cached_property
    def groups(self) -> Any:
        """The group of each published record, in the order of `data`; stays with the steward."""
        frame = pl.DataFrame({"group": self.published.group_of_record})
        return like_the_given(frame, self.table.kind_of_frame)

    @cached_property
    def lone_extremes(self) -> dict[str, int]:
        """For each quasi-identifier shown as ranges, how many of its two extremes only one person has.

        Range ends are real values, so such an extreme is that person's own value; the option `code_extremes` of the
        mask "range" hides it.
        """
        return {
            name: lone_extremes(column, self.table)
            for name, column in self.table.quasi.items()
            if isinstance(column, NumberColumn) and (column.source is None or column.source.hierarchy is None)
        }

    def to_dict(self) -> dict[str, object]:
        """The keys of the JSON contract; those of the input stand under "before"."""
        before = None if self.before is None else {**asdict(self.before), "ane": 0.0}
        return {
            **asdict(self.risk),
            **asdict(self.utility),
            "seconds": self.seconds,
            "suppressed_persons": self.table.suppressed_persons,
            "lone_extremes": self.lone_extremes,
            **({} if self.table.shared_dates is None else {"shared_dates": self.table.shared_dates.to_dict()}),
            **self._perturbed(),
            **({"query_error": self.query_error.to_dict()} if self.query_error is not None else {}),
            **self._aggregated(),
            **self._against(),
            **({} if self.attacked is None else self.attacked.to_dict()),
            "notes": list(self.notes),
            "verdict": self.verdict.to_dict(),
            "before": before,
        }

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
        moved = moments(self.table, self.published)
        return {
            "linkage": {**asdict(self.linkage), "rate": self.linkage.rate},
            "moments": {name: part.tolist() if hasattr(part, "tolist") else part for name, part in vars(moved).items()},
        }

    def attack(
        self,
        attacks: Sequence[str] | None = None,
        *,
        targets: int = MOST_TARGETS,
        known_values: Sequence[int] = (1, 2, 3, 4),
        similar: Mapping[str, Hierarchy] | None = None,
        seed: int = 0,
    ) -> SuiteResult:
        """Try every attack that applies, knowing whose each published record is; as `shoal.attack`."""
        at = self.published.record_of_published
        person = at if self.published.tables else self.table.person_of_record[at]  # sensitive tables: one row a person
        setting = Setting(
            schema=self.schema, frame=self.published.frame, original=self.table, tables=self.published.tables,
            mask=self.mask.name, origin=person.astype(np.int64), most_targets=targets,
            seed=seed, similar=dict(similar or {}), known_values=tuple(known_values),
            method=self.method, models=self.models,
        )  # fmt: skip
        return run_attacks(setting, attacks)

    def write(
        self,
        folder: str | Path,
        *,
        overwrite: bool = False,
        format: str | None = None,
        report: bool = True,
        keep_person_map: bool = False,
        policy_text: str | None = None,
        inputs: Sequence[Path] = (),
        csv: CsvOptions | None = None,
        started: datetime | None = None,
        labels: Labels | None = None,
        sources: Sequence[str] = (),
        into: str | None = None,
        into_table: str | None = None,
        ledger: Ledger | None = None,
        safe_cells: bool = False,
        column_labels: bool = False,
    ) -> Path:
        """Write the release folder: what may leave (release.*, codebook.json, summary.html) and what stays (steward/).

        Parameters
        ----------
        folder
            Where to; it must be absent, empty, or with `overwrite` an earlier release.
        format
            "csv", "parquet", "arrow", "xlsx", "sav", "dta" or "xpt"; None takes that of the first of `inputs`, and CSV
            where there is none.
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
        from shoal.publishing.write import write_release

        return write_release(
            self, folder, overwrite=overwrite, format=format, report=report, keep_person_map=keep_person_map,
            policy_text=policy_text, inputs=inputs, csv=csv, started=started, labels=labels,
            sources=sources, into=into, into_table=into_table, ledger=ledger, safe_cells=safe_cells,
            column_labels=column_labels,
        )  # fmt: skip
