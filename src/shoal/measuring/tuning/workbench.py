"""The table on the bench: read once, grouped under one setting after another, each measured."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from shoal.errors import CannotSatisfyError
from shoal.grouping.feasibility import counts_of_whole
from shoal.grouping.grouping import Grouping, Method, Prepared, without_left_out
from shoal.judging.observation import Observation
from shoal.judging.population_table import PopulationTable
from shoal.judging.risk import NEEDS, Risk, measure_risk
from shoal.judging.sizes import Sizes
from shoal.masking.episodes import with_episodes
from shoal.masking.history import changes_histories, group_with_histories, mask_histories
from shoal.masking.publish import Mask, Published, publish
from shoal.masking.ranges import Range
from shoal.measuring.game import Game
from shoal.measuring.loss import losses_of_histories
from shoal.measuring.statistics import linkage_of
from shoal.measuring.tuning.targets import LINKAGE, PAYOUT, Target, loss_of
from shoal.measuring.utility import Utility, measure_utility, with_columns
from shoal.models.contract import Model, asked_of_groups
from shoal.models.every_table import asked_by_row
from shoal.policy.history import History
from shoal.progress import silent
from shoal.table.table import Table

SEEDS = (0, 1, 2, 3, 4)
"""Five draws of noise are averaged, as Li and Sarkar (2013) do."""


@dataclass(frozen=True)
class Point:
    """One setting, and what it comes to."""

    models: tuple[Model, ...]
    method: Method
    risk: Risk
    utility: Utility
    seconds: float
    loss: float
    """The loss that is kept small."""
    reached: dict[str, float]
    """The targeted risks."""
    meets: bool
    """Whether every target is met."""
    payout: float | None = None
    """What it is worth, where there is a game."""
    linkage: float | None = None
    """The share of persons whose numbers lead to their original ones, averaged over draws of noise, where it is aimed
    at."""

    def setting(self) -> dict[str, float]:
        """The models asked for, with their thresholds; of a model that is asked for twice the stricter one."""
        asked: dict[str, float] = {}
        for model in self.models:
            stricter = max if model.higher_is_safer else min
            asked[_named(model)] = stricter(model.asked, asked.get(_named(model), model.asked))
        return asked

    def to_dict(self) -> dict[str, object]:
        """The point as JSON."""
        return {
            "models": self.setting(),
            "method": self.method.written,
            "minimised": self.loss,
            "reached": self.reached,
            "meets": self.meets,
            **({} if self.payout is None else {"payout": self.payout}),
            **{
                key: value for key, value in self.risk.to_dict().items() if key not in ("alone_by", "population")
            },  # nothing is published
            **asdict(self.utility),
            "seconds": self.seconds,
        }


def _named(model: Model) -> str:
    return model.name if model.column is None else f"{model.name}.{model.column}"


@dataclass
class Workbench:
    """A table, the targets, and every setting tried so far."""

    table: Table
    targets: Sequence[Target]
    minimise: str
    mask: Mask = field(default_factory=Range)
    """What would be shown of the groups."""
    history: History = field(default_factory=History)
    """How histories would be hidden, where models ask for it."""
    game: Game | None = None
    """By which it is told what a setting is worth."""
    population: PopulationTable | None = None
    """The population that the table was drawn from, where a game or a model asks for it."""
    points: list[Point] = field(default_factory=list)
    _prepared: dict[Method, Prepared | None] = field(default_factory=dict)
    _known: dict[tuple[tuple[Model, ...], object], Point | None] = field(default_factory=dict)

    def _cut(self, models: tuple[Model, ...]) -> Table:
        """The table with its records cut into episodes, where they are."""
        return with_episodes(self.table, self.history, models)

    def try_out(self, models: Iterable[Model], method: Method) -> Point | None:
        """Group under a setting and measure; None where the whole table cannot meet it. A setting is tried once."""
        models = tuple(models)
        key = (models, method)
        if key not in self._known:
            self._known[key] = self._tried(models, method)
        return self._known[key]

    def _tried(self, models: tuple[Model, ...], method: Method) -> Point | None:
        started = time.perf_counter()
        table = self._cut(models)
        of_groups = asked_by_row(table, models)
        whole = counts_of_whole(table, of_groups)
        if not all(bool(model.holds(whole).all()) for model in of_groups):
            return None
        try:
            grouping = self._group(models, method)
        except CannotSatisfyError:
            return None
        point = self._measured(models, method, grouping, started)
        self.points.append(point)
        return point

    def would_be_released(self, point: Point, rng: np.random.Generator) -> WouldBeReleased:
        """What a setting would publish."""
        table, grouping = self._left(self._group(point.models, point.method), point.models, point.method)
        shown = table
        if changes_histories(point.models, self.history):
            histories = mask_histories(table, grouping, point.models, self.history)
            table, shown = histories.kept, histories.shown
        return WouldBeReleased(table, publish(shown, grouping, self.mask, rng=rng), self.mask)

    def _group(self, models: tuple[Model, ...], method: Method) -> Grouping:
        """Group by the method; one that can goes on from what it kept of earlier runs."""
        of_groups = asked_of_groups(models)
        if any(model.is_searched for model in models):
            table = self._cut(models)
            asked = asked_by_row(table, models)
            sizes = Sizes(method, self.mask, table, models, asked, self.history, self.population)
            return sizes.group(np.random.default_rng(0))
        if changes_histories(models, self.history):
            table = self._cut(models)
            return group_with_histories(method, table, asked_by_row(table, models), models, self.history)
        if method not in self._prepared:
            self._prepared[method] = method.prepared(self.table)
        prepared = self._prepared[method]
        return method.group(self.table, of_groups, silent) if prepared is None else prepared.group(of_groups)

    def _left(self, grouping: Grouping, models: tuple[Model, ...], method: Method) -> tuple[Table, Grouping]:
        """The table and its groups without those whom the method leaves out."""
        return without_left_out(self._cut(models), grouping, freely=method.leaves_out_freely)

    def _measured(self, models: tuple[Model, ...], method: Method, grouping: Grouping, started: float) -> Point:
        table, grouping = self._left(grouping, models, method)
        histories = None
        if changes_histories(models, self.history):
            histories = mask_histories(table, grouping, models, self.history)
            table = histories.kept
        risk = risk_of_grouping(table, grouping)
        utility = measure_utility(table, grouping, self.mask)
        if histories is not None:
            utility = with_columns(utility, losses_of_histories(histories.did))
        linkage = self._linkage(table, grouping) if any(target.key == LINKAGE for target in self.targets) else None
        payout = None if self.game is None else self._payout(self.game, table, grouping, utility)
        reached = {target.name: target.reached(risk, linkage) for target in self.targets}
        return Point(
            models=models,
            method=method,
            risk=risk,
            utility=utility,
            seconds=time.perf_counter() - started,
            loss=self._lost_worth(payout) if self.minimise == PAYOUT else loss_of(utility, self.minimise),
            reached=reached,
            meets=all(target.is_met(risk, linkage) for target in self.targets),
            linkage=linkage,
            payout=payout,
        )

    def _payout(self, game: Game, table: Table, grouping: Grouping, utility: Utility) -> float:
        """What a setting is worth; who is left out is worth nothing."""
        group = grouping.group_of_person
        fit = np.bincount(group, minlength=grouping.n_groups).astype(np.float64)
        if game.attacker == "journalist":
            fit = self._who_fits(table, grouping)
        return game.payout(np.maximum(fit, 1.0)[group], utility.loss)

    def _who_fits(self, table: Table, grouping: Grouping) -> NDArray[np.float64]:
        """How many persons of the population fit what each group shows: counted in its table, or by the weights."""
        group, n = grouping.group_of_person, grouping.n_groups
        if self.population is not None:
            published = publish(table, grouping, self.mask, rng=np.random.default_rng(0))
            first = np.zeros(n, np.int64)
            first[published.group_of_record[::-1]] = np.arange(len(published.group_of_record))[::-1]
            found, _ = self.population.fitting(published.frame[first], table.schema, form=self.mask.form)
            return found.astype(np.float64)
        assert table.sample is not None
        assert table.sample.weight is not None
        weight = np.zeros(table.n_persons)
        weight[table.person_of_record] = table.sample.weight
        return np.bincount(group, weights=weight, minlength=n).astype(np.float64)

    def _lost_worth(self, payout: float | None) -> float:
        """The share of what the whole table is worth, published unchanged and never attacked, that is lost."""
        assert self.game is not None
        assert payout is not None
        whole = self.game.benefit * (self.table.n_persons + self.table.suppressed_persons)
        return 1 - payout / whole if whole else 0.0

    def _linkage(self, table: Table, grouping: Grouping) -> float:
        """Who can be linked, averaged over a few draws of noise (Li and Sarkar, 2013, section 6.1)."""
        draws = SEEDS if self.mask.form == "noise" else SEEDS[:1]
        masked = (publish(table, grouping, self.mask, rng=np.random.default_rng(seed)) for seed in draws)
        return fmean(linkage_of(table, one).rate for one in masked)


@dataclass(frozen=True)
class WouldBeReleased:
    """What would be published of a grouping, as measures look at it."""

    table: Table
    published: Published
    mask: Mask


def risk_of_grouping(table: Table, grouping: Grouping) -> Risk:
    """The risks of a grouping, counted before anything is masked."""
    seen = Observation.of_groups(table, grouping.group_of_person, grouping.n_groups)
    return measure_risk(seen, seen.counts(NEEDS))
