"""The minimality attack: a tree stops cutting where a cut would break a model, and that tells of the values.

After Wong, Fu, Wang and Pei (2007): somebody who knows the method, the policy, and the quasi-identifiers and numbers of
records of everybody in a group, knows which cuts the method would have made had both sides met the models. It made none
of them, so whoever deals the group's values out to its persons need only think of ways in which each of these cuts has
a side that breaks a model. What share of these ways gives a person a value is the probability that they have it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from shoal.attacking.contract import GROUPS, LINKED_VALUES, METHOD, ORIGINAL, Attack, AttackResult, DoesNotApply
from shoal.attacking.linkage import commonest
from shoal.attacking.setting import Setting
from shoal.errors import ParameterError
from shoal.grouping.grouping import Grouping, Method
from shoal.grouping.stopping import cuts_at_the_median, stopped_at
from shoal.models.contract import Model
from shoal.models.counts import SPREAD, VALUE_SUMMARIES, VALUE_TABLES, GroupCounts, ValueCounts
from shoal.models.exact import BoolArray, FloatArray, IntArray
from shoal.table.table import Table

COUNTED = SPREAD | VALUE_SUMMARIES | (VALUE_TABLES - {"values_of_person"})
"""What models may need for the ways to be judged."""
MOST_WAYS = 2_000
"""Ways to deal values out to cells that are counted one by one; where there may be more, they are drawn."""
ENOUGH = 1_000
"""Draws that fit after which no more are drawn."""
LEAST = 100
"""Draws that fit with which drawing alone is believed; with fewer, chains are walked from them."""
MOST_DRAWN = 1_000_000
"""Persons to whom types are dealt, over all draws, before a group is given up."""
N_CHAINS, FEWEST_CHAINS = 100, 10
NUMBERS_AT_A_TIME = 2_000_000
MOST_GROUPS = 300
"""Groups in which cuts failed by values that are looked at; of more, so many are drawn."""
SURELY = 3.0
"""A probability is surely above another where it is by so many standard errors."""


NOTABLE = 0.1
"""A rise of a probability that is counted."""


class Posterior(NamedTuple):
    """What is known of the persons of one group once it is known that no cut was made.

    Persons of one cell cannot be told apart: they have as many records, and are on the same side of every cut.
    """

    persons: IntArray
    cell_of_person: IntArray
    of_type: FloatArray
    """(cells, types): the probability that a person of the cell has the values of each type."""
    error: FloatArray
    """(cells, types): its standard error; 0 where all ways were counted."""
    before: FloatArray
    """(cells, types): the probability where nothing is known of cuts."""
    how: str
    """"free" (no cut failed by values), "counted", "drawn", "walked", or "unsettled": too few draws fit to tell, and
    the probabilities are those without knowledge of cuts."""


@dataclass(frozen=True)
class _Types:
    """The persons of a group and their values: persons of one type have the same values in as many records each."""

    type_of_person: IntArray
    class_of_person: IntArray
    """Persons with the same number of records; types are dealt out inside a class."""
    has: Mapping[str, Any]
    """For each attribute (types, values of the group), sparse: 1 where the type has the value."""
    records: Mapping[str, Any]
    codes: Mapping[str, IntArray]
    """For each attribute the codes of the group's values."""

    @property
    def n_types(self) -> int:
        """How many types there are."""
        return int(self.type_of_person.max()) + 1


@dataclass(frozen=True)
class Minimality:
    """What the minimality attack needs to know of a release that a tree has made.

    Parameters
    ----------
    table, grouping, method, models
        The persons, their groups, and how and for what these were formed.

    Raises
    ------
    DoesNotApply
        Where cuts are not at the median, or a model cannot be judged from counts of values.
    """

    table: Table
    grouping: Grouping
    method: Method
    models: tuple[Model, ...]

    def __post_init__(self) -> None:
        if not cuts_at_the_median(self.method):
            raise DoesNotApply(
                "It is known for trees that cut at the median: mondrian, and balance-tree with cut = 'median'."
            )
        if not self.value_models:
            raise DoesNotApply("No model asks about sensitive values, so that where the tree stopped tells nothing.")
        strange = [model.name for model in self.value_models if not model.needs <= COUNTED]
        if strange:
            raise DoesNotApply(f"It is not known for {', '.join(strange)}, which asks who has what.")
        if any(column.code_left_out is not None for column in self.table.sensitive.values()):
            raise DoesNotApply("It is not known where a missing value tells nothing.")

    @property
    def value_models(self) -> tuple[Model, ...]:
        """The models that ask about sensitive values."""
        return tuple(model for model in self.models if not model.needs <= SPREAD)

    def posteriors(self, groups: IntArray | None = None, *, seed: int = 0) -> Iterator[tuple[int, _Types, Posterior]]:
        """What is known of the persons of some groups, or of all."""
        stopped = stopped_at(self.table, self.method, self.models, self.grouping)
        cuts_of = np.argsort(stopped.group, kind="stable")
        start = np.searchsorted(stopped.group[cuts_of], np.arange(self.grouping.n_groups + 1))
        members = np.argsort(self.grouping.group_of_person, kind="stable")
        ends = np.cumsum(np.bincount(self.grouping.group_of_person, minlength=self.grouping.n_groups))
        for group in range(self.grouping.n_groups) if groups is None else groups.tolist():
            first = int(ends[group - 1]) if group else 0
            persons = members[first : int(ends[group])]
            is_left = np.zeros((len(persons), int(start[group + 1] - start[group])), np.bool_)
            for column, cut in enumerate(cuts_of[start[group] : start[group + 1]].tolist()):
                is_left[:, column] = np.isin(persons, stopped.left_of(cut))
            types = self._types(persons)
            rng = np.random.default_rng([seed, group])
            yield group, types, _posterior(persons, types, self._judge(types, is_left), is_left, rng)

    def constrained_groups(self) -> IntArray:
        """The groups in which some cut failed by a model of values."""
        return np.unique(stopped_at(self.table, self.method, self.models, self.grouping).group)

    def _types(self, persons: IntArray) -> _Types:
        from scipy.sparse import csr_array  # here, since scipy is slow to import

        held: list[list[tuple[int, ...]]] = [[] for _ in persons]
        lists = {}
        for name, column in self.table.sensitive.items():
            start, value, records = self.table.values_of_persons(column)
            lists[name] = (start, value, records)
            for number, person in enumerate(persons.tolist()):
                at = slice(int(start[person]), int(start[person + 1]))
                held[number].append((*value[at].tolist(), -1, *records[at].tolist()))
        numbers: dict[tuple[tuple[int, ...], ...], int] = {}
        type_of_person = np.array([numbers.setdefault(tuple(each), len(numbers)) for each in held])
        one_of_type = np.empty(len(numbers), np.int64)
        one_of_type[type_of_person] = persons
        has, counted, codes = {}, {}, {}
        for name, (start, value, records) in lists.items():
            of_types = [slice(int(start[person]), int(start[person + 1])) for person in one_of_type.tolist()]
            codes[name] = np.unique(np.concatenate([value[at] for at in of_types]))
            lengths = [at.stop - at.start for at in of_types]
            place = np.searchsorted(codes[name], np.concatenate([value[at] for at in of_types]))
            entries = np.concatenate([records[at] for at in of_types]).astype(np.float64)
            shape = (len(numbers), len(codes[name]))
            start_of_type = np.concatenate([[0], np.cumsum(lengths)])
            counted[name] = csr_array((entries, place, start_of_type), shape=shape)
            has[name] = csr_array((np.ones(len(entries)), place, start_of_type), shape=shape)
        _, classes = np.unique(self.table.records_of_person[persons], return_inverse=True)
        return _Types(type_of_person, classes.ravel(), has, counted, codes)

    def _judge(self, types: _Types, is_left: BoolArray) -> Callable[[FloatArray], BoolArray]:
        """A function that says of ways, given as types of persons on the left of cuts, whether no cut would be made.

        It takes how many persons of each type are on the left: (ways, cuts, types).
        """
        total = np.bincount(types.type_of_person, minlength=types.n_types)
        records = self._records(types)
        sizes = [is_left.sum(axis=0), (~is_left).sum(axis=0)]
        spread = [self._spread(types, is_left, records), self._spread(types, ~is_left, records)]

        def fits(left: FloatArray) -> BoolArray:
            made = np.ones(left.shape[:2], np.bool_)
            for number, on_side in enumerate((left, total - left)):
                counts = self._counts(types, on_side.reshape(-1, types.n_types), spread[number], len(left))
                holds = np.ones(len(counts.persons), np.bool_)
                for model in self.value_models:
                    holds &= model.holds(counts)
                made &= holds.reshape(left.shape[:2]) & (sizes[number] > 0)
            return np.asarray(~made.any(axis=1))

        return fits

    def _records(self, types: _Types) -> IntArray:
        """How many records a person of each type has."""
        first = next(iter(types.records.values()))
        return np.asarray(first.sum(axis=1)).ravel().astype(np.int64)

    def _spread(self, types: _Types, on_side: BoolArray, records: IntArray) -> tuple[IntArray, ...]:
        """Persons, records, their squares and the most of a person on one side of each cut, and sums of c log c."""
        of_person = records[types.type_of_person][:, None] * on_side
        logs = (of_person * np.log2(np.maximum(of_person, 1))).sum(axis=0)
        most = of_person.max(axis=0, initial=0)
        return on_side.sum(axis=0), of_person.sum(axis=0), (of_person**2).sum(axis=0), most, logs

    def _counts(self, types: _Types, on_side: FloatArray, spread: tuple[IntArray, ...], n_ways: int) -> GroupCounts:
        """The counts of sides as models need them, from how many persons of each type they have."""
        values = {}
        for name, column in self.table.sensitive.items():
            persons, records = (
                np.asarray(on_side @ part[name]).astype(np.int64) for part in (types.has, types.records)
            )
            side, at = np.nonzero(persons)
            start = np.concatenate([[0], np.cumsum(np.bincount(side, minlength=len(on_side)))])
            in_records, in_persons = self._in_table[name]
            values[name] = ValueCounts(
                records_in_table=in_records, persons_in_table=in_persons, start_of_group=start,
                value=types.codes[name][at], records=records[side, at], persons=persons[side, at],
            )  # fmt: skip
            assert column.n_codes == len(in_records)
        n_persons, n_records, squared, most, logs = (np.tile(part, n_ways) for part in spread)
        return GroupCounts(
            persons=n_persons, records=n_records, squared_records=squared, most_records=most,
            log_records=logs.astype(np.float64), values=values,
        )  # fmt: skip

    @cached_property
    def _in_table(self) -> dict[str, tuple[IntArray, IntArray]]:
        """How many records and persons of the table have each value of each attribute."""
        known = {}
        for name, column in self.table.sensitive.items():
            _, value, _ = self.table.values_of_persons(column)
            records, persons = (np.bincount(codes, minlength=column.n_codes) for codes in (column.codes, value))
            known[name] = (records.astype(np.int64), persons.astype(np.int64))
        return known


# --- the ways that fit -----------------------------------------------------------------------------------------------


def _posterior(
    persons: IntArray,
    types: _Types,
    fits: Callable[[FloatArray], BoolArray],
    is_left: BoolArray,
    rng: np.random.Generator,
) -> Posterior:
    """The probability of each type for each person: among all ways, or where cuts failed among those that fit."""
    cell_of_person, cells = _cells(types, is_left)
    before = _before_cuts(types)[cells.class_of_cell]

    def known(share: FloatArray, error: FloatArray, how: str) -> Posterior:
        return Posterior(persons, cell_of_person, share, error, before, how)

    nothing = np.zeros_like(before)
    if not is_left.shape[1]:
        return known(before, nothing, "free")
    ways = _all_ways(types, cells)
    if ways is not None:
        return known(_counted(ways, cells, fits), nothing, "counted")
    found, kept, n_fit = _drawn(types, cell_of_person, fits, cells, rng)
    if n_fit >= LEAST:
        share = found / n_fit / cells.size[:, None]
        return known(share, np.sqrt(share * (1 - share) / n_fit), "drawn")
    if n_fit >= FEWEST_CHAINS:
        return known(*_walked(types, cell_of_person, fits, cells, np.stack(kept), rng), "walked")
    return known(before, nothing, "unsettled")


def _before_cuts(types: _Types) -> FloatArray:
    """The share of each type in each class: its probability where nothing is known of cuts."""
    n_classes = int(types.class_of_person.max()) + 1
    counts = np.zeros((n_classes, types.n_types))
    np.add.at(counts, (types.class_of_person, types.type_of_person), 1)
    share: FloatArray = counts / counts.sum(axis=1, keepdims=True)
    return share


class _PersonCells(NamedTuple):
    """Persons of one class on the same sides of all cuts: nobody can tell them apart."""

    size: IntArray
    class_of_cell: IntArray
    is_left: BoolArray
    """(cells, cuts)"""


def _cells(types: _Types, is_left: BoolArray) -> tuple[IntArray, _PersonCells]:
    """The cell of each person, and the cells."""
    lines = np.column_stack([types.class_of_person, is_left])
    distinct, cell_of_person = np.unique(lines, axis=0, return_inverse=True)
    cell_of_person = cell_of_person.ravel()
    cells = _PersonCells(np.bincount(cell_of_person), distinct[:, 0].astype(np.int64), distinct[:, 1:].astype(np.bool_))
    return cell_of_person, cells


def _all_ways(types: _Types, cells: _PersonCells) -> IntArray | None:
    """Every way to deal types out to cells, (ways, cells, types); None where there may be more than MOST_WAYS."""
    counts = np.zeros((int(cells.class_of_cell.max()) + 1, types.n_types), np.int64)
    np.add.at(counts, (types.class_of_person, types.type_of_person), 1)
    n_most = 1
    for number, of_types in enumerate(counts):
        n_cells = int((cells.class_of_cell == number).sum())
        for count in of_types[of_types > 0].tolist():
            n_most *= math.comb(count + n_cells - 1, n_cells - 1)
        if n_most > 50 * MOST_WAYS:
            return None
    ways: list[IntArray] = [np.zeros((len(cells.size), types.n_types), np.int64)]
    for number, of_types in enumerate(counts):
        own = np.flatnonzero(cells.class_of_cell == number)
        for kind in np.flatnonzero(of_types).tolist():
            ways = [
                dealt
                for way in ways
                for dealt in _dealt(way, kind, int(of_types[kind]), own, cells.size[own] - way[own].sum(axis=1))
            ]
            if len(ways) > MOST_WAYS:
                return None
    return np.stack(ways)


def _dealt(way: IntArray, kind: int, count: int, own: IntArray, room: IntArray) -> Iterator[IntArray]:
    """All ways to deal `count` persons of a type out to some cells that have room for them."""
    for share in _shares(count, room.tolist()):
        dealt = way.copy()
        dealt[own, kind] = share
        yield dealt


def _shares(count: int, room: Sequence[int]) -> Iterator[list[int]]:
    if len(room) == 1:
        if count <= room[0]:
            yield [count]
        return
    for here in range(max(0, count - sum(room[1:])), min(count, room[0]) + 1):
        for rest in _shares(count - here, room[1:]):
            yield [here, *rest]


def _left(ways: IntArray, cells: _PersonCells) -> FloatArray:
    """How many persons of each type are on the left of each cut: (ways, cuts, types)."""
    left: FloatArray = np.matmul(cells.is_left.T.astype(np.float64), ways.astype(np.float64))
    return left


def _counted(ways: IntArray, cells: _PersonCells, fits: Callable[[FloatArray], BoolArray]) -> FloatArray:
    """The share of each type in each cell, over all ways that fit, each counted as often as persons can have it."""
    fitting = ways[fits(_left(ways, cells))]
    if not len(fitting):
        raise ParameterError("No way to deal the values out fits the cuts: the groups are not those of this policy.")
    factorial = np.array([math.lgamma(n + 1) for n in range(int(cells.size.max()) + 1)])
    logs = -factorial[fitting].sum(axis=(1, 2))
    weight = np.exp(logs - logs.max())
    mean: FloatArray = np.einsum("w,wct->ct", weight, fitting) / weight.sum()
    return mean / cells.size[:, None]


def _as_ways(type_of_person: IntArray, cell_of_person: IntArray, n_cells: int, n_types: int) -> IntArray:
    """Types of persons, one line per way, as counts of types in cells: (ways, cells, types)."""
    n_ways = len(type_of_person)
    key = (np.arange(n_ways)[:, None] * n_cells + cell_of_person) * n_types + type_of_person
    return np.bincount(key.ravel(), minlength=n_ways * n_cells * n_types).reshape(n_ways, n_cells, n_types)


def _at_a_time(types: _Types, cells: _PersonCells) -> int:
    """How many ways are looked at together, so that little memory is needed."""
    n_values = sum(part.shape[1] for part in types.has.values())
    size = len(cells.size) * types.n_types + cells.is_left.shape[1] * (types.n_types + 2 * n_values)
    return int(np.clip(NUMBERS_AT_A_TIME // max(size, 1), 8, ENOUGH))


def _drawn(
    types: _Types,
    cell_of_person: IntArray,
    fits: Callable[[FloatArray], BoolArray],
    cells: _PersonCells,
    rng: np.random.Generator,
) -> tuple[FloatArray, list[IntArray], int]:
    """Deal types out by chance until enough ways fit.

    Gives how often each type was dealt to each cell by ways that fit, some of these ways (types of persons), and how
    many they are.
    """
    step = _at_a_time(types, cells)
    found = np.zeros((len(cells.size), types.n_types))
    kept: list[IntArray] = []
    n_fit = n_drawn = 0
    classes = [np.flatnonzero(types.class_of_person == each) for each in range(int(types.class_of_person.max()) + 1)]
    most = max(int(MOST_DRAWN / len(types.type_of_person)), LEAST)
    while n_drawn < most and n_fit < ENOUGH:
        dealt = np.tile(types.type_of_person, (step, 1))
        for own in classes:
            dealt[:, own] = rng.permuted(dealt[:, own], axis=1)
        ways = _as_ways(dealt, cell_of_person, len(cells.size), types.n_types)
        is_fitting = fits(_left(ways, cells))
        found += ways[is_fitting].sum(axis=0)
        kept += list(dealt[is_fitting][: N_CHAINS - len(kept)])
        n_fit += int(is_fitting.sum())
        n_drawn += step
    return found, kept, n_fit


def _walked(
    types: _Types,
    cell_of_person: IntArray,
    fits: Callable[[FloatArray], BoolArray],
    cells: _PersonCells,
    started: IntArray,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Chains that change two persons' types where the way still fits: shares of types in cells, standard errors.

    Each chain starts from a way that was drawn and fits, so that it needs no time to settle, whether or not changes
    lead from every such way to every other; the error is told by how far chains differ.
    """  # fmt: skip
    now = started.copy()
    n_chains, n = now.shape
    n_steps = int(np.clip(MOST_DRAWN / (n_chains * n), 1, min(5 * n, 1_000)))
    chain = np.arange(n_chains)
    found = np.zeros((n_chains, len(cells.size), types.n_types))
    for _ in range(n_steps):
        one, other = rng.integers(n, size=(2, n_chains))
        moved = now.copy()
        moved[chain, one], moved[chain, other] = now[chain, other], now[chain, one]
        ways = _as_ways(moved, cell_of_person, len(cells.size), types.n_types)
        may = types.class_of_person[one] == types.class_of_person[other]
        may &= fits(_left(ways, cells))
        now[may] = moved[may]
        found += _as_ways(now, cell_of_person, len(cells.size), types.n_types)
    share = found / n_steps / cells.size[:, None]
    return share.mean(axis=0), share.std(axis=0, ddof=1) / math.sqrt(n_chains)


# --- the attack ------------------------------------------------------------------------------------------------------


class MinimalityAttack(Attack):
    """How often the likeliest value is right once it is known where the tree would have cut.

    Notes
    -----
    Exact where a group has few ways; else by drawing, with the largest standard error under `details`. Cuts that failed
    further up the tree tell more, which is not used here. Groups are drawn where cuts failed by values in more than
    MOST_GROUPS of them.
    """

    name = "minimality"
    question = "Which values are likely, since the method did not cut a group further?"
    knows = (
        "The quasi-identifiers and the number of records of everybody in the group, the method, and the policy: where "
        "the tree would have cut."
    )
    needs = (ORIGINAL, METHOD, GROUPS)
    too_costly = (
        "It deals the values of many groups out in all ways, which takes too long for every run. "
        "It is tried where attacks are asked for."
    )

    def run(self, setting: Setting) -> list[AttackResult]:
        """Try it."""
        known = minimality_of(setting)
        table, grouping = known.table, known.grouping
        constrained = known.constrained_groups()
        rng = np.random.default_rng(setting.seed)
        looked_at = (
            constrained if len(constrained) <= MOST_GROUPS else np.sort(rng.choice(constrained, MOST_GROUPS, False))
        )
        if not len(looked_at):
            raise DoesNotApply("No group has a cut that failed by a model of values, so that nothing is learned.")
        gains = {name: _Gain() for name in table.sensitive}
        hows: dict[str, int] = {}
        for _, types, posterior in known.posteriors(looked_at, seed=setting.seed):
            hows[posterior.how] = hows.get(posterior.how, 0) + 1
            for name, gain in gains.items():
                gain.add(name, types, posterior, known.models)
        in_constrained = int(np.isin(grouping.group_of_person, constrained).sum())
        return [
            self.result(
                f"minimality, value of {name}",
                aim=f"a value of '{name}' that is said of the person is theirs",
                successes=gain.right,
                targets=gain.persons,
                blind=commonest(setting, name),
                details={
                    "success_without_cuts": gain.right_before / gain.persons,
                    **gain.details(),
                    "groups": grouping.n_groups,
                    "groups_with_failed_cuts": len(constrained),
                    "persons_in_them": in_constrained,
                    "groups_looked_at": len(looked_at),
                    "groups_by_way": hows,
                },
            )
            for name, gain in gains.items()
        ]


def minimality_of(setting: Setting) -> Minimality:
    """Group the original again as the policy says; refuse where the release shows other groups."""
    table = setting.known_original
    assert setting.method is not None
    many = table.n_records > table.n_persons
    if many and (setting.is_apart or not setting.shows_persons):
        raise DoesNotApply(LINKED_VALUES.why_not)
    method, models = setting.method, tuple(setting.models)
    Minimality(table, Grouping(np.zeros(table.n_persons, np.int32), 1), method, models)  # refuse before the work
    if len(setting.frame) != (table.n_persons if setting.tables else table.n_records):
        raise DoesNotApply("Some records of the original are not in the release, so that its groups are not known.")
    grouping = method.group(table, models, lambda stage, done: None)
    if grouping.left_out.any() or setting.view.n_groups > grouping.n_groups:
        raise DoesNotApply("The policy gives other groups than the release shows.")
    return Minimality(table, grouping, method, models)


class _Gain:
    """What is gained over some persons: how often the likeliest value is right, before and after."""

    def __init__(self) -> None:
        self.persons = 0
        self.right = self.right_before = 0.0
        self.highest = self.highest_before = self.largest_error = 0.0
        self.rises: list[FloatArray] = []
        self.surely_up = 0
        self.above_promise: list[int] | None = None

    def add(self, name: str, types: _Types, posterior: Posterior, models: Sequence[Model]) -> None:
        """Count the persons of a group."""
        has = types.has[name]
        cell, size = posterior.cell_of_person, np.bincount(posterior.cell_of_person)
        before, after = (np.asarray(part @ has) for part in (posterior.before, posterior.of_type))
        error = np.sqrt(np.asarray(posterior.error**2 @ has))
        self.persons += len(cell)
        self.right += _chance_of_likeliest(after, types, has, cell)
        self.right_before += _chance_of_likeliest(before, types, has, cell)
        self.highest = max(self.highest, float(after.max()))
        self.highest_before = max(self.highest_before, float(before.max()))
        self.largest_error = max(self.largest_error, float(error.max()))
        self.rises.append((after - before).max(axis=1)[cell])
        self.surely_up += int(size[(after - before - SURELY * error).max(axis=1) > NOTABLE].sum())
        promised = _promised(models, name)
        if promised is not None:
            limit = promised + SURELY * error + 1e-9
            above = [int(size[(each > limit).any(axis=1)].sum()) for each in (before, after)]
            self.above_promise = [n + more for n, more in zip(self.above_promise or [0, 0], above, strict=True)]

    def details(self) -> dict[str, Any]:
        """Further numbers, by name."""
        rises = np.concatenate(self.rises)
        told = {
            "highest_probability": self.highest,
            "highest_probability_before": self.highest_before,
            "mean_rise": float(rises.mean()),
            "largest_rise": float(rises.max()),
            f"persons_with_rise_above_{NOTABLE:g}": self.surely_up,
            "largest_standard_error": self.largest_error,
        }
        if self.above_promise is None:
            return told
        before, after = self.above_promise
        return {**told, "persons_above_promise": after, "persons_above_promise_before": before}


def _chance_of_likeliest(probability: FloatArray, types: _Types, has: Any, cell_of_person: IntArray) -> float:
    """How many persons have the value that is likeliest for them, of equally likely ones by chance."""
    top = (probability >= probability.max(axis=1, keepdims=True) - 1e-9).astype(np.float64)
    chance = np.asarray(top @ has.T) / top.sum(axis=1, keepdims=True)  # (cells, types)
    return float(chance[cell_of_person, types.type_of_person].sum())


def _promised(models: Sequence[Model], name: str) -> float | None:
    """The largest share of persons that the models leave to a value of an attribute, where one says it."""
    shares = [model.largest_share_of_a_value() for model in models if model.column in (None, name)]
    return min((share for share in shares if share is not None), default=None)
