"""Methods side by side, under the same models or at the same risk: which of them loses least."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from shoal.attacking.mining.adversary import against_adversary
from shoal.attacking.mining.knowledge import Knowledge
from shoal.engines.contract import checked_seed
from shoal.errors import CannotSatisfyError, ParameterError
from shoal.grouping import Method
from shoal.grouping.budget import within_budget
from shoal.grouping.feasibility import refuse_impossible, refuse_unfit
from shoal.grouping.sampling import sampled
from shoal.judging.population_table import PopulationTable, with_their_population
from shoal.masking.chosen import choose
from shoal.masking.ranges import Range
from shoal.measuring.prediction import Prediction, prediction_of
from shoal.measuring.tuning.dials import TurnedModel, dial_named, is_free, model_of_target
from shoal.measuring.tuning.targets import Target, checked_loss, parse_targets, refuse_linkage_of
from shoal.measuring.tuning.workbench import Point, Workbench
from shoal.models.contract import Model, asked_of_groups
from shoal.policy.history import History
from shoal.policy.policy import UsefulnessChoices, as_usefulness, check_asked, refuse_unknown_target
from shoal.progress import Progress, silent
from shoal.short import Short, ShownInShort
from shoal.table.columns import LineOf
from shoal.table.schema import Schema
from shoal.table.table import Table

HALVINGS = 12
"""How often the interval is halved in which the loosest threshold that meets a bound lies."""

DEFAULT_MODELS = ("k-anonymity", "person-k-anonymity", "g-balance", "record-risk")
"""What Kartal and Li compare (Tables 10 to 12), and the risk itself as a model."""


@dataclass(frozen=True)
class ComparisonRow:
    """What one method loses: under the models as they are, or the least with one model under one bound on the risk."""

    method: str
    model: str | None
    """The model whose threshold was turned; None where the models were taken as they are."""
    target: Target | None
    """The bound that it was turned to; None where there is none."""
    point: Point | None
    """None where no threshold meets the bound, or where the method cannot meet the models."""
    seconds: float
    prediction: Prediction | None = None
    """How well a column is predicted from what would be released, where that was asked for."""

    def to_dict(self) -> dict[str, object]:
        """The row as JSON."""
        row: dict[str, object] = {
            "method": self.method,
            "model": self.model,
            "target": None if self.target is None else {self.target.name: float(self.target.limit)},
            "met": self.point is not None,
            "seconds": self.seconds,
        }
        if self.point is None:
            return row
        threshold = None if self.model is None else self.point.models[-1].asked
        return {
            **row, "models": self.point.setting(), "threshold": threshold, "minimised": self.point.loss,
            "reached": self.point.reached, **self.point.risk.to_dict(), **asdict(self.point.utility),
            **({} if self.prediction is None else {"usefulness": self.prediction.to_dict()}),
        }  # fmt: skip


@dataclass(frozen=True, repr=False)
class Comparison(ShownInShort):
    """A row for each method, or for each method, model and bound."""

    minimise: str
    rows: tuple[ComparisonRow, ...]
    stopped: bool = False

    def short(self) -> Short:
        """A line for each row."""
        rows = [
            (
                row.method,
                row.model or "",
                "" if row.target is None else str(row.target),
                "not met" if row.point is None else f"{row.point.loss:.4g}",
                *self.predicted(row),
                f"{row.seconds:.2g} s",
            )
            for row in self.rows
        ]
        headings = ("method", "model", "bound", self.minimise, *self.predictions, "time")
        return Short(title=f"Comparison of {len(rows):,} settings", headings=headings, rows=rows)

    @property
    def predictions(self) -> tuple[str, ...]:
        """The names of what is compared of predictions: with the release, and with the original; none unless asked."""
        asked = [row.prediction for row in self.rows if row.prediction is not None]
        measure = next((each.measure for each in asked if each.measure is not None), "prediction")
        return (f"{measure} of {asked[0].target}", "with the original") if asked else ()

    def predicted(self, row: ComparisonRow) -> tuple[str, ...]:
        """What a row says under these names."""
        told, measure = row.prediction, None if row.prediction is None else row.prediction.measure
        values = (None, None) if told is None or measure is None else (told.release[measure], told.original[measure])
        return tuple("-" if value is None else f"{value:.3f}" for value in values) if self.predictions else ()

    def to_dict(self) -> dict[str, object]:
        """The comparison as JSON."""
        return {"minimise": self.minimise, "rows": [row.to_dict() for row in self.rows], "stopped": self.stopped}


def compare(
    frame: Any,
    schema: Schema,
    models: Sequence[Model] = (),
    *,
    methods: Iterable[str | Method] = ("balance-tree", "mondrian"),
    at: str | Mapping[str, Any] | Iterable[Target] = (),
    by: Iterable[str] = DEFAULT_MODELS,
    minimise: str = "loss",
    seed: int | None = None,
    max_suppressed: int | str = 0,
    max_records: int | None = None,
    sample: int | str | None = None,
    progress: Progress = silent,
    knowledge: Knowledge | None = None,
    history: History | None = None,
    usefulness: str | Mapping[str, Any] | UsefulnessChoices | None = None,
    population: Any = None,
    line_of: LineOf | None = None,
) -> Comparison:
    """Compare methods under the models asked for; or, with bounds, methods and models at the same risk.

    Parameters
    ----------
    frame, schema
        The table and the roles of its columns.
    models
        What every group must meet. With bounds those whose threshold is turned (g-balance, record risk, entropy
        balance, h-affiliation) are left out, since the bound takes their place.
    methods
        By name, with options behind a colon: "balance-tree", "balance-tree:cut=median", "mdav".
    at
        The bounds, as "max_gidr=0.10,0.05" or {"max_gidr": 0.10}: each row says what is lost when the risk stays
        within one of them. Without bounds a row says what its method loses under the models as they are.
    by
        With bounds, the models whose threshold is turned until a bound is just met, by the name of the model or of its
        flag.
    minimise
        The loss that is compared, as in `tune`.
    seed, max_suppressed, max_records, sample, knowledge, history
        As in `protect`: what may be left out so that the models, or a bound, can be met, and how histories are hidden.
    usefulness
        The column that somebody wants to predict: each row says how well it is predicted from what would be released.
    population
        The population that the table was drawn from, where models count its persons and bring none: a frame, or the
        name of a file.

    Notes
    -----
    For models of a sample or a population each method tries sizes of groups until what would be published meets them,
    as a release does.
    """
    check_asked(schema, models)
    models, register = with_their_population(models, population, schema, is_drawn=sample is not None)
    minimise = checked_loss(minimise)
    targets = parse_levels(at) if isinstance(at, str) else list(parse_targets(at)) if at else []
    refuse_linkage_of(Range(), targets)
    named = [_method(method) for method in methods]
    dials = [dial_named(name) for name in by]
    if not named or not (dials if targets else models):
        raise ParameterError(
            "A comparison needs at least one method and one model; or a bound on a risk, such as max_gidr=0.10, to "
            "which models are turned."
        )
    table = Table.from_frame(frame, schema, line_of=line_of)
    table, models = against_adversary(table, models, knowledge, is_linked=True)
    seed = checked_seed(seed)
    useful = as_usefulness(usefulness)
    if useful is not None:
        refuse_unknown_target(useful.target, [*table.quasi, *table.sensitive])
    predicting = Predicting(useful, seed)

    def allowed(asked: Sequence[Model]) -> Table:
        rng = np.random.default_rng(seed)
        drawn, _ = sampled(table, sample, rng)
        return within_budget(
            drawn, asked_of_groups(asked), max_suppressed=max_suppressed, max_records=max_records, rng=rng
        )

    if not targets:
        refuse_unfit(table, models)
        bench = Workbench(allowed(models), (), minimise, history=history or History(), population=register)
        return _under(bench, named, models, progress, predicting)
    kept = tuple(model for model in models if not is_free(model))
    tables = {target: allowed(_at_target(target, kept)) for target in targets}
    rows: list[ComparisonRow] = []
    ways = [(method, dial) for method in named for dial in dials]
    try:
        for number, ((name, method), dial) in enumerate(ways):
            progress("comparing", number / len(ways))
            rows += _rows(tables, name, method, dial, kept, minimise, history or History(), register, predicting)
    except KeyboardInterrupt:
        return Comparison(minimise, tuple(rows), stopped=True)
    return Comparison(minimise, tuple(rows))


@dataclass(frozen=True)
class Predicting:
    """Which column is predicted from what would be released, if any."""

    asked: UsefulnessChoices | None
    seed: int

    def of(self, bench: Workbench, point: Point | None) -> Prediction | None:
        """How well it is predicted with a setting."""
        if self.asked is None or point is None:
            return None
        shown = bench.would_be_released(point, np.random.default_rng(self.seed))
        return prediction_of(shown, self.asked.target, kind=self.asked.kind, seed=self.seed % 2**63)


def _under(
    bench: Workbench,
    named: Sequence[tuple[str, Method]],
    models: Sequence[Model],
    progress: Progress,
    predicting: Predicting,
) -> Comparison:
    """What each method loses under the models as they are; where the whole table breaks one, no method is tried."""
    refuse_impossible(bench.table, asked_of_groups(models))
    minimise = bench.minimise
    rows: list[ComparisonRow] = []
    try:
        for number, (name, method) in enumerate(named):
            progress("comparing", number / len(named))
            started = time.perf_counter()
            point = bench.try_out(models, method)
            seconds = time.perf_counter() - started
            rows.append(ComparisonRow(name, None, None, point, seconds, predicting.of(bench, point)))
    except KeyboardInterrupt:
        return Comparison(minimise, tuple(rows), stopped=True)
    return Comparison(minimise, tuple(rows))


def _rows(
    tables: Mapping[Target, Table],
    name: str,
    method: Method,
    dial: TurnedModel,
    kept: tuple[Model, ...],
    minimise: str,
    history: History,
    population: PopulationTable | None,
    predicting: Predicting,
) -> Iterable[ComparisonRow]:
    """What a method with a model loses under each bound. What was tried for one bound serves others on its table."""
    benches: dict[int, Workbench] = {}
    for target, table in tables.items():
        started = time.perf_counter()
        made = Workbench(table, list(tables), minimise, history=history, population=population)
        bench = benches.setdefault(id(table), made)
        try:
            strictest = dial.strictest(table)
        except CannotSatisfyError:
            strictest = 1.0
        _search(bench, dial, strictest, method, target, kept)
        meeting = [point for point in bench.points if target.is_met(point.risk, point.linkage)]
        best = min(meeting, key=lambda point: point.loss, default=None)
        seconds = time.perf_counter() - started
        yield ComparisonRow(name, dial.name, target, best, seconds, predicting.of(bench, best))


def _at_target(target: Target, kept: Sequence[Model]) -> list[Model]:
    """The model that is the bound itself, where there is one, beside those that stay."""
    itself = model_of_target(target)
    return [*kept, *([] if itself is None else [itself])]


def _search(
    bench: Workbench, dial: TurnedModel, strictest: float, method: Method, target: Target, kept: tuple[Model, ...]
) -> None:
    """Halve the interval of thresholds, starting from the strictest: where that fails, nothing meets the bound."""
    low, high = 1.0, strictest
    strict = bench.try_out([*kept, dial.model(strictest, strictest=strictest)], method)
    if strict is None or not target.is_met(strict.risk, strict.linkage):
        return
    itself = model_of_target(target)
    if itself is not None and itself.name == dial.name:  # the bound, as a model: no search is needed
        bench.try_out([*kept, itself], method)
        return
    for _ in range(HALVINGS):
        middle = (low * high) ** 0.5
        model = dial.model(middle, strictest=strictest)
        point = bench.try_out([*kept, model], method)
        if point is not None and target.is_met(point.risk, point.linkage):
            high = middle
        else:
            low = middle
        if dial.dial.is_whole and high - low < 1:
            break


def _method(given: str | Method) -> tuple[str, Method]:
    """A method by its name and options, such as "balance-tree:cut=median"."""
    if not isinstance(given, str):
        return getattr(given, "name", type(given).__name__), given
    name, _, written = given.partition(":")
    options = {}
    for each in filter(None, written.split(":")):
        option, equals, value = each.partition("=")
        if not equals:
            raise ParameterError(f"An option of a method is written as name=value, such as '{name}:cut=median'.")
        options[option.strip().replace("-", "_")] = _value(value.strip())
    method, _ = choose(name.strip(), "range", options)
    return given, method


def _value(text: str) -> str | int | float | bool:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def parse_levels(written: str) -> list[Target]:
    """Bounds from "max_gidr=0.10,0.05"."""
    name, equals, levels = written.partition("=")
    if not equals or not levels.strip():
        raise ParameterError("Bounds are written as a risk and its levels, such as max_gidr=0.10,0.05.")
    key, _, column = name.strip().partition(".")
    return [Target(key, level.strip(), column or None) for level in levels.split(",") if level.strip()]  # type: ignore[arg-type]
