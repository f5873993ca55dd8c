"""Whether a new release, looked at together with earlier ones, still keeps what was asked of it.

Somebody who has several releases about a person knows the person's group in each of them. Whoever is not in all of
these groups cannot be the person, and a value that one of them lacks cannot be the person's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.judging.observation import Observation, number_alike
from shoal.judging.verdict import Answer
from shoal.models.contract import Model, asked_of_groups
from shoal.models.counts import SPREAD, GroupCounts, ValueCounts, ValuesLeft
from shoal.models.exact import BoolArray, IntArray
from shoal.publishing.ledger.accountant import Account
from shoal.table.columns import CategoryColumn, Codes
from shoal.table.table import Table

ABSENT = -1
MOST_PATTERNS = 256
"""Where persons stand in more different selections of releases than this, everybody is taken to know the selection."""
ENTRIES_AT_A_TIME = 5_000_000


class Earlier(NamedTuple):
    """What the ledger knows of the persons of a new release from one earlier release."""

    group_of_person: IntArray
    """The group that each person had there, or ABSENT."""
    records_of_person: IntArray
    values: dict[str, IntArray]
    """For each sensitive attribute of both: group * (codes of the new table) + code, ascending, for each value that a
    group had and the new table has too."""


@dataclass(frozen=True, kw_only=True)
class ModelCheck(Answer):
    """Whether a model still holds once releases are laid over one another.

    Attributes
    ----------
    name, asked
        The model and its threshold.
    by
        "persons": among those who are in all groups of a person. "values": among the values that all groups of a
        person have.
    reached
        The least safe value of anybody.
    broken_persons
        For how many persons it does not hold.
    """

    name: str
    asked: float
    by: str
    reached: float
    broken_persons: int

    @property
    def holds(self) -> bool:
        """Whether it holds for everybody."""
        return self.broken_persons == 0


@dataclass(frozen=True, kw_only=True)
class LedgerCheck(Answer):
    """A new release together with the earlier ones of a ledger.

    Attributes
    ----------
    releases
        How many earlier releases were looked at.
    in_doubt
        How many of them may never have been finished; they count as if they had.
    forgotten
        How many others were forgotten, and are not looked at.
    persons, known_persons
        How many persons the new release has, and how many of them an earlier one has too.
    fewest
        The fewest persons who are in all groups of somebody.
    models
        Each model that was asked for, by persons, and h-affiliation and l-diversity by values too.
    broken_persons
        For how many persons some model does not hold.
    contradicted_persons
        Persons whose groups have no value in common, since values have changed; not counted as broken by values.
    broken_by_absence
        For how many other persons some model does not hold where it is known, besides, who was not in which of the
        earlier releases. A warning only: hardly a release with newcomers in mixed groups is free of it.
    """

    releases: int
    in_doubt: int
    forgotten: int
    persons: int
    known_persons: int
    fewest: int
    models: tuple[ModelCheck, ...] = field(default=())
    broken_persons: int = 0
    contradicted_persons: int = 0
    broken_by_absence: int = 0
    account: Account | None = None
    """What is spent of differential privacy, this release included, where some release promises it."""
    is_overspent: bool = False
    """Whether that is more than the ledger allows."""

    @property
    def holds(self) -> bool:
        """Whether every model still holds for everybody."""
        return all(model.holds for model in self.models) and not self.is_overspent

    def to_dict(self) -> dict[str, Any]:
        """The keys of the JSON contract; counts only."""
        models = [{**asdict(model), "holds": model.holds} for model in self.models]
        return {**asdict(self), "models": models, "holds": self.holds}

    def sentences(self) -> list[str]:
        """What a steward should know, in plain words; none where there is nothing to know."""
        told = []
        if self.account is not None and (self.account.releases > 1 or self.account.without or self.is_overspent):
            told.append(
                self.account.sentence() + (" That is more than the ledger allows." if self.is_overspent else "")
            )
        if self.forgotten:
            told.append(
                f"{self.forgotten:,} releases of the ledger were forgotten. This one was not looked at together with "
                "them: that is right only for what was never handed out."
            )
        if not self.known_persons:
            return told
        told += [
            f"With {self.releases:,} earlier releases of the ledger, {model.name} {model.asked:g} is broken for "
            f"{model.broken_persons:,} of {self.persons:,} persons ({_words(model.by)}; reached: {model.reached:.4g})."
            for model in self.models
            if not model.holds
        ]
        if self.broken_by_absence:
            told.append(
                f"Where it is known besides who was not in which of {self.releases:,} earlier releases, models are "
                f"broken for {self.broken_by_absence:,} other persons."
            )
        if self.contradicted_persons:
            told.append(
                f"The groups of {self.contradicted_persons:,} of {self.persons:,} persons have no sensitive value in "
                "common: values have changed since, or are written in another way. What values tell of these persons "
                "could not be checked."
            )
        if self.in_doubt:
            told.append(
                f"{self.in_doubt:,} releases of the ledger may never have been finished; they count as released until "
                "they are forgotten (`Ledger.forget`, `shoal ledger`)."
            )
        return told


def _words(by: str) -> str:
    return {
        "persons": "among those who share all groups of a person",
        "values": "among the values that all groups of a person have",
    }[by]


def check_release(
    table: Table,
    group_of_person: Codes,
    models: Sequence[Model],
    earlier: Sequence[Earlier],
    *,
    in_doubt: int = 0,
    forgotten: int = 0,
) -> LedgerCheck:
    """Lay a new release over earlier ones and ask the models again.

    Parameters
    ----------
    table, group_of_person
        The persons of the new release and their groups.
    models
        What was asked of the new release.
    earlier
        What is known of the same persons from each earlier release.
    in_doubt, forgotten
        How many of the earlier ones may never have been finished, and how many others are not known any more.

    Notes
    -----
    O(persons and their records) for each selection of releases that somebody stands in; above MOST_PATTERNS of them
    it is taken to be known who stands in which, which is the stricter question.
    """
    places = np.stack([np.asarray(group_of_person, np.int64), *(each.group_of_person for each in earlier)])
    present = places[1:] != ABSENT
    known = int(present.any(axis=0).sum())
    told: dict[str, Any] = {
        "releases": len(earlier), "in_doubt": in_doubt, "forgotten": forgotten, "persons": table.n_persons,
        "known_persons": known,
    }  # fmt: skip
    if not known:
        fewest = int(np.bincount(group_of_person).min())
        return LedgerCheck(**told, fewest=fewest)
    models = asked_of_groups(models)  # histories are hidden within a release, and groups tell nothing of them
    by_persons = _Worst(models, table.n_persons)
    fewest = table.n_persons
    for cells in _cells(places, present):
        counts = cells.counts(table, models)
        fewest = min(fewest, int(counts.persons[: cells.n_cells][cells.is_asked].min()))
        by_persons.ask(counts, cells)
        for number in np.flatnonzero(cells.releases).tolist():
            there = cells.with_own(present[number])
            if there.is_asked.any():
                by_persons.ask_spread(_spread(earlier[number].records_of_person, there), there)
    by_values, is_broken, contradicted = _check_values(table, places, models, earlier)
    is_broken = is_broken | by_persons.is_broken.any(axis=0)
    strict = _Worst(models, table.n_persons)
    strict_cells = _Cells.of(places, np.ones(table.n_persons, np.bool_), np.ones(table.n_persons, np.bool_))
    strict.ask(strict_cells.counts(table, models), strict_cells)
    return LedgerCheck(
        **told,
        fewest=fewest,
        models=(*by_persons.checks("persons"), *by_values),
        broken_persons=int(is_broken.sum()),
        contradicted_persons=contradicted,
        broken_by_absence=int((strict.is_broken.any(axis=0) & ~is_broken).sum()),
    )


# --- by persons ------------------------------------------------------------------------------------------------------


class _Cells(NamedTuple):
    """Persons who have the same groups in some selection of releases, numbered; persons outside it are the rest."""

    cell_of_person: NDArray[np.int32]
    """The last number, n_cells, where a person is not in all releases of the selection."""
    n_cells: int
    is_asked: BoolArray
    """Cells with somebody who is in just this selection of releases."""
    is_own: BoolArray
    """The persons who are in just this selection."""
    releases: BoolArray

    @classmethod
    def of(cls, places: IntArray, members: BoolArray, own: BoolArray, releases: BoolArray | None = None) -> _Cells:
        """The cells of some members by the lines of `places`."""
        columns = [(line[members] + 1, int(line.max()) + 2) for line in places]
        numbers, n_cells = number_alike(columns)
        cell_of_person = np.full(places.shape[1], n_cells, np.int32)
        cell_of_person[members] = numbers
        is_asked = np.bincount(cell_of_person[own], minlength=n_cells + 1)[:n_cells] > 0
        nothing = np.zeros(0, np.bool_)
        return cls(cell_of_person, n_cells, is_asked, own, nothing if releases is None else releases)

    def with_own(self, is_present: BoolArray) -> _Cells:
        """The same cells, asked about those only who are in a release."""
        own = self.is_own & is_present
        is_asked = np.bincount(self.cell_of_person[own], minlength=self.n_cells + 1)[: self.n_cells] > 0
        return self._replace(is_own=own, is_asked=is_asked)

    def counts(self, table: Table, models: Sequence[Model]) -> GroupCounts:
        """The counts of the cells, as the models need them; of the rest too, whose answers are left out."""
        needs: frozenset[str] = frozenset().union(*(model.needs for model in models))
        n_groups = int(self.cell_of_person.max()) + 1
        return Observation.of_groups(table, self.cell_of_person, n_groups).counts(needs)


def _cells(places: IntArray, present: BoolArray) -> Iterator[_Cells]:
    """For each selection of earlier releases that somebody is in: the persons who share all groups with them."""
    patterns, pattern_of_person = np.unique(present, axis=1, return_inverse=True)
    pattern_of_person = pattern_of_person.ravel()
    if patterns.shape[1] > MOST_PATTERNS:
        everybody = np.ones(places.shape[1], np.bool_)
        yield _Cells.of(places, everybody, everybody, np.ones(len(present), np.bool_))
        return
    for number in range(patterns.shape[1]):
        selected = patterns[:, number]
        members = np.asarray(present[selected].all(axis=0))
        lines = places[np.append(True, selected)]
        yield _Cells.of(lines, members, pattern_of_person == number, selected)


def _spread(records_of_person: IntArray, cells: _Cells) -> GroupCounts:
    """How the records of an earlier release are spread over the persons of cells."""
    n = int(cells.cell_of_person.max()) + 1
    records = np.maximum(records_of_person, 0)
    most = np.zeros(n, np.int64)
    np.maximum.at(most, cells.cell_of_person, records)
    sums = [
        np.rint(np.bincount(cells.cell_of_person, weights=weights, minlength=n)).astype(np.int64)
        for weights in (np.ones(len(records)), records, records**2)
    ]
    weights = records * np.log2(np.maximum(records, 1))
    logs = np.asarray(np.bincount(cells.cell_of_person, weights=weights, minlength=n), np.float64)
    return GroupCounts(
        persons=sums[0], records=np.maximum(sums[1], 1), squared_records=sums[2], most_records=most, log_records=logs
    )


class _Worst:
    """For each model the persons for whom it is broken, and the least safe value of anybody."""

    def __init__(self, models: Sequence[Model], n_persons: int) -> None:
        self.models = models
        self.is_broken = np.zeros((len(models), n_persons), np.bool_)
        self.reached = [np.inf if model.higher_is_safer else -np.inf for model in models]

    def ask(self, counts: GroupCounts, cells: _Cells) -> None:
        """Ask every model about cells."""
        for number in range(len(self.models)):
            self._ask(number, counts, cells)

    def ask_spread(self, counts: GroupCounts, cells: _Cells) -> None:
        """Ask the models of records and persons about cells, with the records of an earlier release."""
        for number, model in enumerate(self.models):
            if model.needs <= SPREAD:
                self._ask(number, counts, cells)

    def _ask(self, number: int, counts: GroupCounts, cells: _Cells) -> None:
        model = self.models[number]
        is_broken = np.append(~model.holds(counts)[: cells.n_cells], False)
        self.is_broken[number] |= cells.is_own & is_broken[cells.cell_of_person]
        reached = model.reached(counts)[: cells.n_cells][cells.is_asked]
        pick = min if model.higher_is_safer else max
        self.reached[number] = pick(self.reached[number], float(pick(reached)))

    def checks(self, by: str) -> Iterator[ModelCheck]:
        """The answers."""
        for model, reached, is_broken in zip(self.models, self.reached, self.is_broken, strict=True):
            yield ModelCheck(
                name=model.name, asked=model.asked, by=by, reached=reached, broken_persons=int(is_broken.sum())
            )


# --- by values -------------------------------------------------------------------------------------------------------


def _check_values(
    table: Table, places: IntArray, models: Sequence[Model], earlier: Sequence[Earlier]
) -> tuple[list[ModelCheck], BoolArray, int]:
    """Models that ask of the values that are left: those that all groups of a person have."""
    asked = [model for model in models if model.asks_of_values_left]
    columns_of = [[model.column] if model.column is not None else list(table.sensitive) for model in asked]
    left = {
        name: _values_left(table, places, table.sensitive[name], earlier) for columns in columns_of for name in columns
    }
    checks = []
    some_broken, contradicted = np.zeros((2, table.n_persons), np.bool_)
    for model, columns in zip(asked, columns_of, strict=True):
        is_broken = np.zeros(table.n_persons, np.bool_)
        reached = np.inf if model.higher_is_safer else -np.inf
        for name in columns:
            holds, worst = left[name].ask(model)
            is_broken |= ~holds
            reached = min(reached, worst) if model.higher_is_safer else max(reached, worst)
        some_broken |= is_broken
        n_broken = int(is_broken.sum())
        checks.append(
            ModelCheck(name=model.name, asked=model.asked, by="values", reached=reached, broken_persons=n_broken)
        )
    for name, each in left.items():
        if table.sensitive[name].code_left_out is not None:  # no value in common may be a missing one in common
            continue
        contradicted |= (each.left.distinct == 0)[each.combination_of_person]
    return checks, some_broken, int(contradicted.sum())


class _Left(NamedTuple):
    """For each combination of groups, what the values that all of them have are like in the new release."""

    combination_of_person: IntArray
    left: ValuesLeft

    def ask(self, model: Model) -> tuple[BoolArray, float]:
        """Whether a model holds for each person, and the least safe value; no value in common breaks nothing."""
        some = self.left.distinct > 0
        holds, reached = model.among_values_left(self.left)
        least = reached[some].min(initial=np.inf) if model.higher_is_safer else reached[some].max(initial=-np.inf)
        return (holds | ~some)[self.combination_of_person], float(least)


def _values_left(table: Table, places: IntArray, column: CategoryColumn, earlier: Sequence[Earlier]) -> _Left:
    """The values that all groups of a person have, for each combination of groups that somebody has."""
    combinations, combination_of_person = np.unique(places, axis=1, return_inverse=True)
    group_of_person = places[0].astype(np.int32)
    n_groups = int(group_of_person.max()) + 1
    values = _value_counts(table, group_of_person, n_groups, column)
    start, value, _, persons = values.lists
    pair_start, pair_person, pair_value = values.pairs
    left = ValuesLeft(*np.zeros((3, combinations.shape[1]), np.int64))
    for first, last in _portions(np.diff(pair_start)[combinations[0]]):
        chosen = combinations[:, first:last]
        at, which = _expand(start, chosen[0])
        is_left = _is_left(value[at], chosen, which, earlier, column)
        left.distinct[first:last] = np.bincount(which[is_left], minlength=last - first)
        np.maximum.at(left.most_persons[first:last], which[is_left], persons[at][is_left])
        at, which = _expand(pair_start, chosen[0])
        is_left = _is_left(pair_value[at], chosen, which, earlier, column)
        who = np.unique(which[is_left] * np.int64(table.n_persons) + pair_person[at][is_left]) // table.n_persons
        left.persons[first:last] = np.bincount(who, minlength=last - first)
    return _Left(combination_of_person.ravel(), left)


def _value_counts(
    table: Table, group_of_person: NDArray[np.int32], n_groups: int, column: CategoryColumn
) -> ValueCounts:
    seen = Observation.of_groups(table, group_of_person, n_groups)
    return seen.counts(frozenset({"values_of_group", "values_of_person"})).values[column.name]


def _portions(sizes: IntArray) -> Iterator[tuple[int, int]]:
    """From where to where combinations are taken together, so that little memory is needed."""
    behind = np.cumsum(sizes)
    first = 0
    while first < len(sizes):
        done = int(behind[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(behind, done + ENTRIES_AT_A_TIME, side="right")))
        yield first, last
        first = last


def _expand(start: IntArray, group: IntArray) -> tuple[IntArray, IntArray]:
    """The entries of the group of each combination, one behind the other, and which combination each is of."""
    lengths = start[group + 1] - start[group]
    which = np.repeat(np.arange(len(group)), lengths)
    ends = np.cumsum(lengths)
    return np.arange(int(lengths.sum())) + np.repeat(start[group] - (ends - lengths), lengths), which


def _is_left(
    value: IntArray, chosen: IntArray, which: IntArray, earlier: Sequence[Earlier], column: CategoryColumn
) -> BoolArray:
    """Whether each entry's value stands in all earlier groups of its combination that tell of the attribute."""
    is_left = np.ones(len(value), np.bool_)
    for number, each in enumerate(earlier, start=1):
        known = each.values.get(column.name)
        if known is None:
            continue
        group = chosen[number][which]
        key = group * column.n_codes + value
        at = np.minimum(np.searchsorted(known, key), max(len(known) - 1, 0))
        is_there = known[at] == key if len(known) else np.zeros(len(key), np.bool_)
        is_left &= (group == ABSENT) | is_there
    return is_left
