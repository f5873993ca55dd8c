"""Trajectory: somebody knows a few sensitive values of a person and looks for the person by them.

Two films and their ratings were enough to find most subscribers of a film service among pseudonyms (Narayanan and
Shmatikov, 2008). Quasi-identifiers are not needed; models that group quasi-identifiers promise nothing against it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.attacking.candidates import Candidates
from shoal.attacking.contract import LINKED_VALUES, SENSITIVE, Attack, AttackResult, DoesNotApply, Remedy
from shoal.attacking.remedies import no_ids
from shoal.attacking.setting import Setting
from shoal.errors import ParameterError
from shoal.judging.observation import number_equal
from shoal.kernels import counting
from shoal.models.exact import BoolArray, FloatArray, IntArray
from shoal.models.histories import HIDDEN
from shoal.parts import option
from shoal.table.columns import code_values
from shoal.table.spelling import TEXTS

MOST_TARGETS = 2_000
COMMON, MOST_LISTED = 64, 500
"""An item that more than one in so many kinds of persons have, and more than so many, is looked up in a table."""
LARGEST_STEP = 5_000_000
"""Published persons that are looked through at once."""


@dataclass(frozen=True)
class TrajectoryAttack(Attack):
    """The chance to find a person by 1, 2, ... of their records' sensitive values, without and with quasi-identifiers.

    A value here is what one record shows of all sensitive attributes together, such as a film and its rating. Those
    known are drawn from the person's own; targets are persons who have more different ones, so that something is left
    to learn. The chance is one over the number of published persons who have all that is known. With quasi-identifiers
    the attacker also knows the group of each record known. Where persons have a pseudonym per episode, what is known is
    of one episode, and the chance is that of taking any of the person's.

    Where records are not linked to persons (`person ids: none`), nobody can be found with all their records. What is
    counted then is the chance that a further record, taken by chance from those that fit, is the person's.
    """

    name = "trajectory"
    question = "Who is the person of whom a few sensitive values are known?"
    knows = "Some sensitive values of the person, as records show them."
    needs = (LINKED_VALUES, SENSITIVE)
    bound = "at most"

    known_values: tuple[int, ...] = field(
        default=(1, 2, 3, 4), metadata=option("How many sensitive values of a person are known.", metavar="N,...")
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.known_values or any(
            isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in self.known_values
        ):
            raise ParameterError("known_values must be whole numbers from 1 on, such as [1, 2].")

    def run(self, setting: Setting) -> list[AttackResult]:
        """Try it."""
        absent = [name for name in setting.schema.sensitive if name not in setting.frame.columns]
        if absent:
            raise DoesNotApply(f"The published table lacks {', '.join(absent)}.")
        found = list((_among_persons if setting.shows_persons else _among_records)(setting, self.known_values))
        if not found:
            raise DoesNotApply("Nobody has two records with different sensitive values.")
        return found

    def remedies(self, setting: Setting, result: AttackResult) -> Iterator[Remedy]:
        """Publish no person ids, so that nobody sees which records belong together."""
        return no_ids(setting)


def _among_persons(setting: Setting, known_values: Sequence[int]) -> Iterator[AttackResult]:
    released = setting.view
    is_shown = ~are_hidden(setting.frame, setting.schema.sensitive)
    person = released.person_of_row.astype(np.int64)[is_shown]
    whose = None  # episodes of one person are one aim
    if setting.schema.has_episodes and setting.origin is not None:
        whose = np.zeros(released.n_persons, np.int64)
        whose[released.person_of_row] = setting.origin
    if not len(person):
        return
    sensitive, quasi = tuple(setting.schema.sensitive), setting.schema.quasi_names
    tries = {"": _items_shown(setting, sensitive)}
    if setting.shows_groups:  # else nobody sees groups
        tries[" and quasi-identifiers"] = _items_shown(setting, (*sensitive, *quasi))
    held = {
        also: _Holdings.of(person, item[is_shown], n_items, whose).in_order_of_items()
        for also, (item, n_items) in tries.items()
    }
    for n_known in known_values:
        for also, holdings in held.items():
            target, known = _drawn(holdings, n_known, setting)
            if not len(target):
                continue
            chance = holdings.count_own(target, known) / holdings.count_having(known)
            yield TrajectoryAttack.result(
                f"trajectory, {n_known} known{also}",
                knows=_knows(n_known, also),
                aim="the episode taken is one of the person's"
                if whose is not None
                else "the published person taken is the person, with all their records",
                successes=float(chance.sum()),
                targets=len(target),
                blind=1 / released.n_persons,
                details={"certain": int((chance == 1).sum()), "persons_with_more": holdings.n_with_more(n_known)},
            )


def are_hidden(frame: pl.DataFrame, columns: Iterable[str]) -> BoolArray:
    """Which records show nothing of some columns, since all their values are hidden."""
    hidden = np.ones(len(frame), np.bool_)
    for name in columns:
        is_text = frame[name].dtype in TEXTS
        hidden &= (frame[name].cast(pl.String) == HIDDEN).fill_null(False).to_numpy() if is_text else False
    return hidden


def _items_shown(setting: Setting, columns: Sequence[str]) -> tuple[IntArray, int]:
    """What each row shows in some columns, numbered in the order of the values, and how many items there are.

    Neither pseudonyms nor the order of rows move a number, so that the same is drawn whatever these are.
    """
    number, n_items = np.zeros(len(setting.frame), np.int64), 1
    for name in columns:
        codes, distinct = code_values(setting.frame[name])
        number, n_items = _numbered(number * (len(distinct) + 1) + codes)
    return number, n_items


def _numbered(keys: IntArray) -> tuple[IntArray, int]:
    """Keys numbered in their order, and how many different ones there are."""
    found, distinct = counting.number_distinct(keys)
    number = np.empty(len(distinct), np.int64)
    number[np.argsort(distinct)] = np.arange(len(distinct))
    return number[found], len(distinct)


def _knows(n_known: int, also: str) -> str:
    if n_known == 1:
        group = ", and the quasi-identifiers of that record" if also else ""
        return f"One sensitive value of the person, as a record shows it{group}."
    group = ", and the quasi-identifiers of those records" if also else ""
    return f"{n_known} different sensitive values of the person, as {n_known} records show them{group}."


class _Holdings:
    """Which items each published person has, as a list of items by person; where these are episodes, also whose."""

    def __init__(self, start: IntArray, item: IntArray, n_items: int, whose: IntArray | None = None) -> None:
        self.start, self.item, self.n_items, self.whose = start, item, n_items, whose

    @classmethod
    def of(cls, person: IntArray, item: IntArray, n_items: int, whose: IntArray | None = None) -> _Holdings:
        """From the person and the item of each record."""
        key = np.sort(person * n_items + item)
        key = key[np.append(True, key[1:] != key[:-1])]
        start = np.searchsorted(key // n_items, np.arange(int(person.max()) + 2))
        return cls(start, key % n_items, n_items, None if whose is None else whose[: len(start) - 1])

    @property
    def sizes(self) -> IntArray:
        """How many items each person has."""
        return np.diff(self.start)

    def n_with_more(self, n_known: int) -> int:
        """How many persons have more items than are known."""
        return int((self.sizes > n_known).sum())

    @cached_property
    def kind(self) -> NDArray[np.uint64]:
        """A number per person, the same for persons with the same items.

        It is the sum of one random word per item; those of different items differ but with negligible chance.
        """
        words = np.random.default_rng(7).integers(0, 2**64, self.n_items, dtype=np.uint64)
        sums = np.append(np.uint64(0), np.cumsum(words[self.item], dtype=np.uint64))
        return sums[self.start[1:]] - sums[self.start[:-1]]

    def in_order_of_items(self) -> _Holdings:
        """The same with persons in an order that their items alone give; those with the same items are alike anyway."""
        order = np.lexsort((np.zeros(len(self.kind)) if self.whose is None else self.whose, self.kind))
        size = self.sizes[order]
        start = np.append(0, np.cumsum(size))
        item = self.item[np.arange(int(size.sum())) + np.repeat(self.start[order] - start[:-1], size)]
        return _Holdings(start, item, self.n_items, None if self.whose is None else self.whose[order])

    def count_own(self, target: IntArray, known: IntArray) -> IntArray:
        """How many have all items of each line of `known` and are of the person of the target: the target at least."""
        own = np.ones(len(target), np.int64)
        if self.whose is None:
            return own
        order = np.argsort(self.whose, kind="stable")
        first, behind = (
            np.searchsorted(self.whose[order], self.whose[target], side=side) for side in ("left", "right")
        )
        for line, items in enumerate(known):
            episodes = order[first[line] : behind[line]].tolist()
            own[line] = sum(np.isin(items, self.item[self.start[at] : self.start[at + 1]]).all() for at in episodes)
        return own

    @cached_property
    def alike(self) -> tuple[IntArray, IntArray]:
        """Persons with the same items once: one person of each kind, and how many there are of it."""
        _, first, count = np.unique(self.kind, return_index=True, return_counts=True)
        return first.astype(np.int64), count

    @cached_property
    def _by_item(self) -> tuple[IntArray, IntArray, IntArray]:
        """Kinds of persons and their items: as pairs in order, the kinds by item, and where those of an item start."""
        somebody, _ = self.alike
        length = self.sizes[somebody]
        kind = np.repeat(np.arange(len(somebody)), length)
        item = self.item[np.arange(int(length.sum())) + np.repeat(
            self.start[somebody] - np.append(0, np.cumsum(length)[:-1]), length)]  # fmt: skip
        order = counting.order_by_code(item, self.n_items, np.arange(len(item), dtype=np.int32))
        return np.sort(kind * self.n_items + item), kind[order], counting.start_of_code(item, self.n_items)

    def count_having(self, known: IntArray) -> IntArray:
        """How many persons have all items of each line of `known`."""
        (somebody, count), (pairs, by_item, start_of_item) = self.alike, self._by_item
        n_having = np.diff(start_of_item)
        rarest = known[np.arange(len(known)), n_having[known].argmin(axis=1)]
        found = np.zeros(len(known), np.int64)
        is_common = n_having[rarest] > max(len(somebody) // COMMON, MOST_LISTED)
        found[is_common] = self._count_common(known[is_common], by_item, start_of_item, count)
        for some in _steps(np.where(is_common, 0, n_having[rarest])):
            size = np.where(is_common, 0, n_having[rarest])[some]
            line = np.repeat(some, size)
            first = np.repeat(start_of_item[rarest[some]] - np.append(0, np.cumsum(size)[:-1]), size)
            candidate = by_item[np.arange(int(size.sum())) + first]
            has_all = np.ones(len(line), np.bool_)
            for column in known.T:
                has_all &= _is_in(candidate * self.n_items + column[line], pairs)
            found += np.bincount(line[has_all], weights=count[candidate[has_all]], minlength=len(known)).astype(
                np.int64
            )
        return found

    def _count_common(self, known: IntArray, by_item: IntArray, start: IntArray, count: IntArray) -> IntArray:
        """How many persons have all items of each line, of which each is one that many have."""
        items, number = np.unique(known, return_inverse=True)
        has = np.zeros((len(items), len(count)), np.bool_)
        for line, item in enumerate(items.tolist()):
            has[line, by_item[start[item] : start[item + 1]]] = True
        lines = number.reshape(known.shape)
        return np.array([count[has[line].all(axis=0)].sum() for line in lines], np.int64)


def _steps(sizes: IntArray) -> Iterator[IntArray]:
    """Lines some by some, such that their sizes together stay small."""
    step = np.cumsum(sizes) // LARGEST_STEP
    for number in np.unique(step):
        yield np.flatnonzero(step == number)


def _is_in(wanted: IntArray, ascending: IntArray) -> BoolArray:
    at = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    return np.asarray(ascending[at] == wanted)


def _drawn(holdings: _Holdings, n_known: int, setting: Setting) -> tuple[IntArray, IntArray]:
    """Targets who have more items than are known, and items of theirs drawn by chance."""
    rng = np.random.default_rng([setting.seed, n_known])
    target = np.flatnonzero(holdings.sizes > n_known)
    most = min(MOST_TARGETS, setting.most_targets)
    if len(target) > most:
        target = np.sort(rng.choice(target, most, replace=False))
    known = np.empty((len(target), n_known), np.int64)
    for at, person in enumerate(target.tolist()):
        own = holdings.item[holdings.start[person] : holdings.start[person + 1]]
        known[at] = rng.choice(own, n_known, replace=False)
    return target, known


# --- records that are not linked --------------------------------------------------------------------------------------


def _among_records(setting: Setting, known_values: Sequence[int]) -> Iterator[AttackResult]:
    """The chance that a further record is the person's, where nobody sees which records belong together."""
    original = setting.known_original
    value, n_values = number_equal([original.frame[name] for name in setting.schema.sensitive])
    holdings = _Holdings.of(original.person_of_record.astype(np.int64), value.astype(np.int64), n_values)
    records = original.records_of_person
    targets = {n_known: _drawn(holdings, n_known, setting)[0] for n_known in known_values}
    everybody = np.unique(np.concatenate(list(targets.values())))
    fitting = _rows_that_fit(setting, everybody) if setting.shows_groups and len(everybody) else None
    for n_known, target in targets.items():
        if not len(target):
            continue
        everywhere = np.full(len(target), float(len(setting.frame)))
        for also, rows in (("", everywhere), (" and quasi-identifiers", None if fitting is None else fitting[target])):
            if rows is None:
                continue
            chance = np.clip((records[target] - n_known) / np.maximum(rows - n_known, 1), 0.0, 1.0)
            yield TrajectoryAttack.result(
                f"trajectory, {n_known} known{also}",
                knows=_knows(n_known, also),
                aim="a further record taken for the person's is theirs",
                successes=float(chance.sum()),
                targets=len(target),
                blind=float(records[target].mean() / len(setting.frame)),
                is_exact=False,
                details={"upper_bound": "all records of the person are taken to be among those that fit"},
            )


def _rows_that_fit(setting: Setting, persons: IntArray) -> FloatArray:
    """How many rows fit all records of each person; all rows where none does."""
    candidates = Candidates.of(setting)
    released = setting.view
    rows = np.full(setting.known_original.n_persons, float(len(setting.frame)))
    sizes = pl.DataFrame({"place": np.arange(released.n_places), "rows": released.rows_of_place})
    for block in candidates.blocks(persons):
        n_points = block.known.group_by("target").len("points")
        fits = block.known.join(block.fits, on="point").group_by("target", "place").len("fitting")
        whole = fits.join(n_points, on="target").filter(pl.col("fitting") == pl.col("points")).join(sizes, on="place")
        found = whole.group_by("target").agg(pl.col("rows").sum())
        rows[found["target"].to_numpy()] = found["rows"].to_numpy()
    return rows
