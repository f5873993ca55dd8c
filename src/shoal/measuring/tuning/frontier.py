"""The least loss under a risk that may not be exceeded, and the frontier between the two."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar, Unpack

import numpy as np

from shoal import pipeline
from shoal.attacking.mining.adversary import against_adversary
from shoal.attacking.mining.knowledge import Knowledge
from shoal.engines.contract import checked_seed
from shoal.errors import CannotSatisfyError, ParameterError, PrivacyNotMetError
from shoal.grouping import Method
from shoal.grouping.budget import within_budget
from shoal.grouping.feasibility import refuse_impossible, refuse_unfit
from shoal.grouping.sampling import sampled
from shoal.judging.population_table import PopulationTable, with_their_population
from shoal.masking.chosen import choose
from shoal.masking.publish import Mask
from shoal.measuring.game import Game
from shoal.measuring.statistics import linkage_of
from shoal.measuring.tuning.dials import TurnedModel, dial_for, dial_named, is_free, model_of_target
from shoal.measuring.tuning.targets import (
    LINKAGE,
    OF_VALUES,
    Target,
    checked_loss,
    parse_targets,
    refuse_linkage_of,
)
from shoal.measuring.tuning.workbench import Point, Workbench
from shoal.models.contract import Model, asked_of_groups
from shoal.models.exact import as_count
from shoal.models.person_k_anonymity import PersonKAnonymity
from shoal.options import Options
from shoal.parts import MaskName, MethodName
from shoal.policy.history import History
from shoal.progress import Progress, silent
from shoal.publishing.release import Release
from shoal.short import Short, ShownInShort
from shoal.table.columns import LineOf
from shoal.table.schema import Schema
from shoal.table.table import Table

TIMES_AROUND = 5
"""The frontier runs from so many times the target's risk to so many times less, as far as the table allows."""

MOST_IMPROVED = 3
"""Of the settings that were tried with less effort, how many are tried with the method's own until one meets."""

HALVINGS = 7
"""How often the interval is halved in which the loosest threshold that meets the targets lies."""

ANYTHING = (Target("prosecutor_risk", Fraction(1)),)
"""What is aimed at where a game alone decides: every release meets it."""
OnPoint = Callable[[Point], None]
P = TypeVar("P")


def undominated(points: Iterable[P], cost: Callable[[P], tuple[float, float]]) -> list[P]:
    """The points that no other beats in both the risk and the loss, from the least risk on."""
    kept: list[P] = []
    for point in sorted(points, key=cost):
        if not kept or cost(point)[1] < cost(kept[-1])[1]:
            kept.append(point)
    return kept


@dataclass(frozen=True, repr=False)
class Tuning(ShownInShort):
    """What was tried, and the setting that loses least among those that meet every target."""

    targets: tuple[Target, ...]
    minimise: str
    points: tuple[Point, ...]
    """Every setting that was tried, in the order of the trials, each with the method it was tried with."""
    chosen: Point | None
    """None only where the search was stopped before a setting met the targets."""
    release: Release | None = field(repr=False)
    """The table protected with the chosen setting, its risk counted from what would be published."""
    stopped: bool = False
    """Whether the search was interrupted: what was found until then is kept."""

    @property
    def frontier(self) -> tuple[Point, ...]:
        """The points that no other beats in both the first target's risk and the loss, from safe to risky.

        Of those with the method of the first: what was tried with more effort is another frontier.
        """
        first = self.targets[0]
        sign = -1.0 if first.at_least else 1.0
        alike = [point for point in self.points if point.method == self.points[0].method]
        return tuple(undominated(alike, lambda point: (sign * point.reached[first.name], point.loss)))

    def short(self) -> Short:
        """The frontier, and which of its settings was chosen."""
        targets = ", ".join(map(str, self.targets))
        found = "no setting was found" if self.chosen is None else f"least {self.minimise} {self.chosen.loss:.4g}"
        rows = [
            (
                ", ".join(f"{name} {asked:g}" for name, asked in point.setting().items()),
                ", ".join(f"{name} {value:.4g}" for name, value in point.reached.items()),
                f"{point.loss:.4g}",
                "chosen" if point is self.chosen else "",
            )
            for point in {id(each): each for each in (self.chosen, *self.frontier) if each is not None}.values()
        ]
        headings = ("models", "reached", self.minimise, "")
        return Short(title=f"Tuning under {targets}: {found}", headings=headings, rows=rows)

    def drawn(self) -> str:
        """Risk against loss."""
        from shoal.measuring.tuning.chart import frontier_svg

        return frontier_svg(self) if self.points else ""

    def to_dict(self) -> dict[str, object]:
        """What was found, as JSON."""
        on_frontier = {id(point) for point in self.frontier}
        return {
            "targets": {target.name: float(target.limit) for target in self.targets},
            "minimise": self.minimise,
            "chosen": None if self.chosen is None else self.chosen.to_dict(),
            "frontier": [point.to_dict() for point in self.frontier],
            "points": [{**point.to_dict(), "on_frontier": id(point) in on_frontier} for point in self.points],
            "stopped": self.stopped,
            **({} if self.release is None else {"release": self.release.to_dict()}),
        }


def tune(
    frame: Any,
    schema: Schema,
    models: Sequence[Model] = (),
    *,
    targets: Mapping[str, Any] | Iterable[Target] = (),
    minimise: str = "loss",
    method: MethodName | Method = "balance-tree",
    mask: MaskName | Mask = "range",
    points: int = 20,
    seed: int | None = None,
    max_suppressed: int | str = 0,
    max_records: int | None = None,
    sample: int | str | None = None,
    max_linkage: float | None = None,
    max_alone: int | None = None,
    allow_alone: bool = False,
    progress: Progress = silent,
    on_point: OnPoint | None = None,
    knowledge: Knowledge | None = None,
    history: History | None = None,
    line_of: LineOf | None = None,
    game: Game | None = None,
    population: Any = None,
    **options: Unpack[Options],
) -> Tuning:
    """Find the thresholds that lose least while every target is met, and draw the frontier on the way.

    Parameters
    ----------
    frame, schema, method, mask, seed, max_suppressed, max_records, sample, max_linkage, max_alone, allow_alone,
    progress, knowledge, history, line_of
        As in `protect`.
    cut, ties, effort, alpha, spread, m, variable, gamma, distance, b, start, repair, nominal, length, cell, moves,
    order, weights, lowest, highest, aggregate, time_limit, missing_matches, importance, most_hidden,
    epsilon, delta, degree, levels
        Options of a method that is given by its name.
    code_extremes, also, noise, distribution, round_to_domain, quasi_as, columns, kind, amount, correction,
    only_outliers, matrix, stays, strength, given, strata, publish_matrix, within, region, similar, rate, at_risk,
    beside, size, by
        Options of a mask that is given by its name.
    models
        What every group must meet besides. Where a target governs the same risk, the thresholds of g-balance, record
        risk, entropy balance (risks of records) and h-affiliation (risks of values, where all attributes that it is
        about are aimed at) are turned; other models stay as they are.
    targets
        Risks that may not be exceeded: `{"max_gidr": 0.1, "max_gsar.disease": 0.2}`.
    minimise
        What to keep small: loss (of published cells), ane, within_variance, discernability, average_group_size; or
        granularity or payout, which are kept large.
    game, population
        For payout: what publisher and adversary win and lose (`shoal.measuring.game.Game`), and for a journalist the
        population, unless weights stand for it. Targets may then be left out; sizes of groups are tried besides. Models
        that count persons of a population and bring none take this one.
    points, on_point
        How many settings the frontier tries, and who is told of each as it is measured.

    Raises
    ------
    CannotSatisfyError
        Where no setting meets the targets; the message says what could be met.

    Notes
    -----
    Settings are tried from loose to strict and measured on their groupings; a balance tree draws the frontier with
    effort "low", and the best settings are tried with its own. The one that loses least is protected for real, and its
    targets are checked on what would be published; else the next best is taken. Ctrl-C keeps what was found.
    """
    models, register = with_their_population(models, population, schema, is_drawn=sample is not None)
    aims = ANYTHING if game is not None and not targets else parse_targets(targets)
    minimise = checked_loss(minimise, with_game=game is not None)
    points, seed = as_count(points, name="points", at_least=2), checked_seed(seed)
    chosen_method, chosen_mask = choose(method, mask, options)
    table = Table.from_frame(frame, schema, line_of=line_of)
    table, models = against_adversary(table, models, knowledge, is_linked=chosen_mask.links_values)
    refuse_unfit(table, models)
    _refuse_without_values(aims, schema)
    refuse_linkage_of(chosen_mask, aims)
    rng = np.random.default_rng(seed)
    table, _ = sampled(table, sample, rng)
    search = _Search(table, aims, tuple(models), chosen_method, points)
    search.keep_to(max_suppressed=max_suppressed, max_records=max_records, rng=rng)
    bench = Workbench(
        search.table, aims, minimise, chosen_mask, history or History(), game=game,
        population=_population_of(game, register, schema, chosen_mask),
    )  # fmt: skip
    stopped = search.run(bench, progress, on_point)
    ranked = sorted((point for point in bench.points if point.meets), key=lambda point: (point.loss, point.seconds))
    found = Tuning(aims, minimise, tuple(bench.points), ranked[0] if ranked else None, None, stopped)
    if stopped:
        return found
    if not ranked:
        raise CannotSatisfyError(_out_of_reach(bench.points, aims))
    progress("protecting", 0.0)
    protected = partial(
        pipeline.protect, frame, schema, mask=chosen_mask, seed=seed, line_of=line_of, max_suppressed=max_suppressed,
        max_records=max_records, sample=sample, max_linkage=max_linkage, max_alone=max_alone, allow_alone=allow_alone,
        history=history, measure_input=False,
    )  # fmt: skip
    return replace(found, **_best_as_published(ranked, protected, aims))


def _population_of(
    game: Game | None, population: PopulationTable | None, schema: Schema, mask: Mask
) -> PopulationTable | None:
    """The population that models count, or that a journalist looks up; refused where nothing stands for it."""
    if game is None or game.attacker != "journalist":
        return population
    if population is None and schema.weight is None:
        raise ParameterError(
            "A game against a journalist needs a population table (population=), or weights (weight=)."
        )
    if population is not None and not mask.shows_groups:
        raise ParameterError(f"The mask {mask.name} shows no groups, so that nobody of a population fits one.")
    return population


def _best_as_published(
    ranked: Sequence[Point], protected: Callable[..., Release], targets: Sequence[Target]
) -> dict[str, Any]:
    """The first of the settings whose release meets the targets, and its release."""
    why = ""
    for point in ranked:
        try:
            release = protected(point.models, method=point.method)
        except PrivacyNotMetError as refusal:
            why = why or f" Of the one that loses least: {refusal}"
            continue
        aimed_at = any(target.key == LINKAGE for target in targets)
        linkage = linkage_of(release.table, release.published).rate if aimed_at else None
        if all(target.is_met(release.risk, linkage) for target in targets):
            return {"chosen": point, "release": release}
    raise CannotSatisfyError(
        f"{len(ranked):,} settings meet the targets as groupings, but none does as it would be published with the mask."
        f"{why}"
    )


def _refuse_without_values(targets: Sequence[Target], schema: Schema) -> None:
    for target in targets:
        if target.key in OF_VALUES and not schema.sensitive:
            raise ParameterError(f"{target.key} is a risk of sensitive attributes, but none is named.")


def _out_of_reach(tried: Sequence[Point], targets: Sequence[Target]) -> str:
    said = [f"No setting of {len(tried):,} tried meets every target."]
    for target in targets:
        reached = [point.reached[target.name] for point in tried]
        best = max(reached) if target.at_least else min(reached)
        said.append(f"{target}: the {'highest' if target.at_least else 'lowest'} reached is {best:.4g}.")
    said.append("Ask for less, or allow persons to be left out (max_suppressed).")
    return " ".join(said)


@dataclass
class _Search:
    """Which settings are tried, in which order."""

    table: Table
    targets: tuple[Target, ...]
    models: tuple[Model, ...]
    method: Method
    n_points: int

    def __post_init__(self) -> None:
        self.free = [model for model in self.models if is_free(model) and self._is_aimed_at(model)]
        self.kept = tuple(model for model in self.models if model not in self.free)

    def _is_aimed_at(self, model: Model) -> bool:
        """Whether the targets govern all that a model is about: a floor of another attribute stays."""
        if not dial_named(model.name).dial.of_values:
            return any(target.key not in OF_VALUES for target in self.targets)
        columns = [target.column for target in self.targets if target.key in OF_VALUES]
        about = set(self.table.sensitive) if model.column is None else {model.column}
        return bool(columns) and (None in columns or about <= set(columns))

    def at_target(self) -> list[Model]:
        """The models that are the targets themselves, beside those that stay."""
        direct = (model_of_target(target) for target in self.targets)
        return [*self.kept, *(model for model in direct if model is not None)]

    def keep_to(self, *, max_suppressed: int | str, max_records: int | None, rng: np.random.Generator) -> None:
        """Leave out what the budget allows, so that the targets can be met; refuse a table that cannot meet them."""
        asked = asked_of_groups(self.at_target())
        self.table = within_budget(self.table, asked, max_suppressed=max_suppressed, max_records=max_records, rng=rng)
        refuse_impossible(self.table, asked)

    def run(self, bench: Workbench, progress: Progress, on_point: OnPoint | None) -> bool:
        """Try all settings; whether it was interrupted."""
        dials = [dial_named(model.name) for model in self.free]
        indirect = [target for target in self.targets if model_of_target(target) is None]
        n_all = self.n_points + HALVINGS * (len(dials) + len(indirect))
        done = 0

        def tried(models: Iterable[Model], method: Method | None = None) -> Point | None:
            nonlocal done
            progress("tuning", min(done / n_all, 1.0))
            before = len(bench.points)
            point = bench.try_out(models, method or self.method)
            done += 1
            if on_point is not None and point is not None and len(bench.points) > before:
                on_point(point)
            return point

        try:
            quick = self.method.quick()
            self._draw_frontier(lambda models: tried(models, quick))
            for target in indirect:
                self._search(dial_for(target), [target], tried)
            for model, dial in zip(self.free, dials, strict=True):
                governed = [target for target in self.targets if (target.key in OF_VALUES) == dial.dial.of_values]
                self._search(dial, governed, tried, column=model.column)
            if bench.game is not None:
                self._try_sizes(bench.game, lambda models: tried(models, quick))
            if quick != self.method:
                self._improve(bench, tried)
        except KeyboardInterrupt:
            return True
        return False

    def _draw_frontier(self, tried: Callable[[Iterable[Model]], Point | None]) -> None:
        """Turn the first target's dial from loose to strict, the other targets held where they are."""
        first, *others = self.targets
        beside = [*self.kept, *(model for model in map(model_of_target, others) if model is not None)]
        if model_of_target(first) is None:
            dial = dial_for(first)
            strictest = dial.strictest(self.table)
            for size in np.geomspace(1.0, strictest, self.n_points):
                tried([*beside, dial.model(float(size), first.column, strictest=strictest)])
            return
        for level in self._levels(first):
            model = model_of_target(replace(first, limit=level))
            if model is not None:
                tried([*beside, model])

    def _try_sizes(self, game: Game, tried: Callable[[Iterable[Model]], Point | None]) -> None:
        """Try groups from one person up to a few times as many as it takes that no attack pays."""
        enough = min(self.table.n_persons, game.least_persons or self.table.n_persons)
        largest = min(self.table.n_persons, TIMES_AROUND * enough)
        sizes = {1, enough, *np.geomspace(1, largest, self.n_points).round().astype(int).tolist()}
        for size in sorted(sizes):
            tried([*self.at_target(), PersonKAnonymity(k=size)])

    def _improve(self, bench: Workbench, tried: Callable[[Iterable[Model]], Point | None]) -> None:
        """Try the best settings of the frontier with the method's own effort, until one meets the targets."""
        meeting = [point for point in bench.points if point.meets and point.method != self.method]
        for best in sorted(meeting, key=lambda point: point.loss)[:MOST_IMPROVED]:
            point = tried(best.models)
            if point is not None and point.meets:
                return

    def _levels(self, target: Target) -> list[Fraction]:
        """Bounds around the target's own, which is one of them, from loose to strict."""
        middle = float(target.limit)
        looser, stricter = middle * TIMES_AROUND, middle / TIMES_AROUND
        if target.at_least:
            looser, stricter = stricter, looser
        if target.key == "g_balance":  # what is left to 1 is what counts
            looser, stricter = (1 - min(1.0, (1 - middle) * times) for times in (TIMES_AROUND, 1 / TIMES_AROUND))
        n_looser = self.n_points // 2
        loose = _between(looser, middle, n_looser + 1, target)[:-1]
        strict = _between(middle, stricter, self.n_points - n_looser, target)[1:]
        return list(dict.fromkeys([*loose, target.limit, *strict]))

    def _search(
        self,
        dial: TurnedModel,
        governed: Sequence[Target],
        tried: Callable[[Iterable[Model]], Point | None],
        *,
        column: str | None = None,
    ) -> None:
        """Halve the interval between the loosest and the strictest threshold until the targets are just met.

        Targets of the other kind of risk stay met by their own models.
        """
        others = [target for target in self.targets if target not in governed]
        same_kind = [
            model for model in self.free if column is not None and model.name == dial.name and model.column != column
        ]
        beside = [*self.kept, *same_kind, *(model for model in map(model_of_target, others) if model is not None)]
        strictest = dial.strictest(self.table)
        low, high = 1.0, strictest
        for _ in range(HALVINGS):
            middle = (low * high) ** 0.5
            point = tried([*beside, dial.model(middle, column, strictest=strictest)])
            if point is not None and point.meets:
                high = middle
            else:
                low = middle


def _between(start: float, end: float, n: int, target: Target) -> list[Fraction]:
    """Bounds that step by equal factors from one to another, in few digits; whole where the risk is a count."""
    if target.key == "g_balance":
        rests = np.geomspace(max(1 - start, 1e-9), max(1 - end, 1e-9), n)
        return [1 - _brief(float(rest)) for rest in rests]
    steps = np.geomspace(max(start, 1e-9), max(end, 1e-9), n)
    if target.at_least or target.key == "unique_persons":
        return [Fraction(max(1, round(float(step)))) for step in steps]
    return [min(Fraction(1), _brief(float(step))) for step in steps]


def _brief(value: float) -> Fraction:
    return Fraction(f"{value:.3g}")
