"""Buckets: persons with different values who could have changed places, for all that an adversary knows."""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import CannotSatisfyError, ParameterError, SchemaError
from shoal.grouping.grouping import Grouping, Method, Rng
from shoal.grouping.likeness import at_random, in_a_row
from shoal.grouping.model_check import Judge
from shoal.grouping.options import M_OF_VALUES
from shoal.models.background import Background, HoldingView, background_of
from shoal.models.contract import Model
from shoal.parts import option
from shoal.progress import Progress, silent
from shoal.table.table import Table

if TYPE_CHECKING:
    from shoal.kernels.bucketing import Kinds
WINDOW = 8
"""Buckets over which somebody's place in the row is shuffled."""
MOST_KINDS = 10_000
"""So many kinds of persons are compared in pairs."""


@dataclass(frozen=True)
class Bucketing:
    """Groups, and how they came about."""

    grouping: Grouping
    n_kinds: int
    """How many kinds of persons there were: by their values and by those that rules exclude."""
    n_left_over: int
    """How many persons no bucket of their own was left for, so that they joined others."""
    n_merged: int
    """How many buckets were merged into others, for these persons or for a model."""


@dataclass(frozen=True, kw_only=True)
class Buckets(Method):
    """Gather l persons with different values, each of whom may have what each of the others has (Li and Li, 2008).

    Parameters
    ----------
    order
        Who is taken next. "similar": the next in a row of similar persons, so that quasi-identifiers and values stay
        together. "balanced": somebody with the commonest value that is left. "rarest": whoever is incompatible with
        most others, as in the paper (figure 2).
    m
        The fewest persons per bucket. None: the l of the models asked for (matching diversity, l-diversity, joint
        diversity), which it is at least.

    Notes
    -----
    What each person may have comes from the rules of matching diversity, where it is asked for. The persons of a
    bucket differ in every sensitive attribute that these models are about; somebody with several values shares none
    of them. Whoever is left over joins a bucket in which l values stay possible. Buckets that break another model
    are merged with neighbours until every model holds. Random draws, which the seed governs, keep anybody from
    replaying the method on the published quasi-identifiers. O(n log n + n k) time for k kinds of persons.
    """

    order: Literal["similar", "balanced", "rarest"] = field(
        default="similar",
        metadata=option(
            "Who is taken next: similar persons, those with the commonest value, or those who fit the fewest."
        ),
    )
    m: int | None = field(default=None, metadata=M_OF_VALUES)
    name: ClassVar[str] = "buckets"
    starts_from_whole: ClassVar[bool] = False
    title: ClassVar[str] = "Buckets of different values"
    sentence: ClassVar[str] = "Persons with different values, each of whom may have those of the others, are gathered."
    keeps_models: ClassVar[bool] = True

    def group(self, table: Table, models: Sequence[Model], progress: Progress = silent, *, rng: Rng = None) -> Grouping:
        """Group the persons of a table; the whole table must meet every model."""
        return self.bucketize(table, models, progress, rng=rng).grouping

    def bucketize(
        self, table: Table, models: Sequence[Model], progress: Progress = silent, *, rng: Rng = None
    ) -> Bucketing:
        """Group the persons of a table, and tell how it went."""
        size = size_of_buckets(self.m, table, models, self.name)
        return form(table, models, size=size, order=self.order, by_rules=True, rng=rng, progress=progress)


def form(
    table: Table,
    models: Sequence[Model],
    *,
    size: int,
    order: str,
    by_rules: bool,
    rng: np.random.Generator | None,
    progress: Progress = silent,
) -> Bucketing:
    """Form buckets in one of the orders, and merge those that break a model.

    Parameters
    ----------
    by_rules
        Whether to reckon with what rules exclude. Buckets that turn out too weak for a model are merged in any case.
    """
    from shoal.kernels import bucketing

    progress("grouping", 0.0)
    rng = np.random.default_rng(secrets.randbits(128)) if rng is None else rng
    columns = columns_to_differ(table, models, size)
    kind_of_person, kinds = kinds_of(table, columns, by_rules=by_rules)
    row = in_a_row(table, rng, window=WINDOW * size) if order == "similar" else at_random(table, rng)
    how = {"similar": bucketing.SIMILAR, "balanced": bucketing.BALANCED, "rarest": bucketing.RAREST}[order]
    progress("grouping", 0.3)
    group_at, n_buckets, n_left_over = bucketing.form_buckets(kind_of_person[row], kinds, size, how)
    fits_nowhere = np.flatnonzero(group_at == bucketing.NOBODY)
    n_chunks = -(-len(fits_nowhere) // size)
    group_at[fits_nowhere] = n_buckets + np.arange(len(fits_nowhere)) // size
    group_of_person = np.empty(table.n_persons, np.int32)
    group_of_person[row] = group_at
    progress("grouping", 0.6)
    proved = by_rules and not len(fits_nowhere)
    open_models = [model for model in models if not (proved and _is_kept(model, table, columns, size))]
    grouping = merge_neighbours(Grouping(group_of_person, n_buckets + n_chunks), row, table, open_models)
    n_formed = (table.n_persons - n_left_over) // size
    found = Bucketing(grouping, len(kinds.compatible), n_left_over, max(n_formed - grouping.n_groups, 0))
    progress("grouping", 1.0)
    return replace(found, grouping=replace(grouping, notes=_notes(found, table)))


def _notes(found: Bucketing, table: Table) -> tuple[str, ...]:
    """What the steward should know: how many persons and buckets went another way than planned."""
    told = []
    if found.n_left_over:
        told.append(
            f"{found.n_left_over:,} of {table.n_persons:,} persons found no bucket of their own and joined others."
        )
    if found.n_merged:
        told.append(f"{found.n_merged:,} buckets were merged with others, so that every model holds.")
    return tuple(told)


def size_of_buckets(m: int | None, table: Table, models: Sequence[Model], method: str) -> int:
    """The persons per bucket: as many as the models ask for different values, and at least as many as asked for."""
    asked = [math.ceil(model.asked) for model in models if model.is_diversity]
    if m is None and not asked:
        raise ParameterError(
            f"The method {method} must know how many different values a bucket should have. Ask for matching "
            "diversity, l-diversity or joint diversity, or give m."
        )
    if m is not None and m > table.n_persons:
        raise ParameterError(f"m = {m:,} persons per bucket were asked for, but there are {table.n_persons:,} persons.")
    return max([*asked, m or 1])


def columns_to_differ(table: Table, models: Sequence[Model], size: int) -> tuple[str, ...]:
    """The sensitive attributes in which the persons of a bucket must differ.

    Those that the models of diversity are about; without such a model, all. Attributes that have fewer values than a
    bucket has persons, who cannot differ then, are left to the models where there are others.
    """
    if not table.sensitive:
        raise SchemaError("Buckets have persons with different sensitive values, but no sensitive attribute is named.")
    about: set[str] = set()
    asked = [model for model in models if model.is_diversity]
    for model in asked:
        caps = model.caps or {}
        uncapped = {name for name in table.sensitive if caps.get(name) != 0}
        about |= {model.column} if model.column is not None else uncapped
    names = tuple(name for name in table.sensitive if name in about or not asked)
    return tuple(name for name in names if table.sensitive[name].n_codes >= size) or names


def kinds_of(table: Table, columns: Sequence[str], *, by_rules: bool) -> tuple[NDArray[np.int32], Kinds]:
    """The kind of each person, and which kinds may share a bucket.

    Two kinds may not that share a value of a column in `columns`, or where rules exclude that one has what the other
    has.
    """
    from shoal.kernels.bucketing import Kinds

    views = _views(table, columns, by_rules=by_rules)
    kind_of_person, n_kinds = np.zeros(table.n_persons, np.int64), 1
    for view in views:
        for code, n_codes in ((view.type_of_person, len(view.allowed)), (view.holding_of_person, len(view.item_start))):
            distinct, number = np.unique(kind_of_person * n_codes + code, return_inverse=True)
            kind_of_person, n_kinds = number.reshape(-1), len(distinct)
    if n_kinds > MOST_KINDS:
        raise SchemaError(
            f"There are {n_kinds:,} kinds of persons by their values of {', '.join(columns)} and by the rules; buckets "
            f"compare at most {MOST_KINDS:,} in pairs. Gather rare values, or choose the method balance-tree."
        )
    _, first = np.unique(kind_of_person, return_index=True)
    shares, may_have = np.zeros((n_kinds, n_kinds), np.bool_), np.ones((n_kinds, n_kinds), np.bool_)
    item_lists, n_items = [], 0
    for view in views:
        type_of_kind, holding_of_kind = view.type_of_person[first], view.holding_of_person[first]
        shares |= _shares(view, columns, holding_of_kind)
        may_have &= _may_have(view, type_of_kind, holding_of_kind)
        for start, item in _items_to_differ(view, columns):
            own = [item[start[holding] : start[holding + 1]] + n_items for holding in holding_of_kind]
            item_lists.append(own)
        n_items += len(view.attribute_of_item)
    lists = [np.concatenate(parts) for parts in zip(*item_lists, strict=True)]
    item_start = np.append(0, np.cumsum([len(items) for items in lists]))
    compatible = may_have & may_have.T & ~shares
    items = item_start.astype(np.int64), np.concatenate(lists).astype(np.int32), n_items
    return kind_of_person.astype(np.int32), Kinds(compatible, may_have, *items)


def _views(table: Table, columns: Sequence[str], *, by_rules: bool) -> list[HoldingView]:
    """What persons hold and may hold: by the rules where there are any, else anybody anything."""
    background: Background | None = table.background() if by_rules else None
    if background is None:
        lists, types = {}, {}
        for name in columns:
            start, value, _ = table.values_of_persons(table.sensitive[name])
            n_codes = table.sensitive[name].n_codes
            lists[name] = (start, value, n_codes)
            types[name] = (np.zeros(table.n_persons, np.int32), np.ones((1, n_codes)))
        background = background_of(lists, types, is_linked=False)
    return [view.without_chances() for view in background.views if any(name in columns for name in view.columns)]


def _items_to_differ(view: HoldingView, columns: Sequence[str]) -> list[tuple[NDArray[np.int64], NDArray[np.int32]]]:
    return [view.items_of(name) for name in view.columns if name in columns]


def _shares(view: HoldingView, columns: Sequence[str], holding_of_kind: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which kinds share a value that must differ."""
    differs = np.isin(np.array(view.columns)[view.attribute_of_item], list(columns))
    own = _has(view)[:, np.flatnonzero(differs)][holding_of_kind]
    shares: NDArray[np.bool_] = (own @ own.T).toarray() > 0
    return shares


def _may_have(
    view: HoldingView, type_of_kind: NDArray[np.int32], holding_of_kind: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """For each kind, by its type, whether the rules let it have what another has."""
    excluded = (_has(view) @ (~view.allowed.T).astype(np.int32)) > 0  # holdings by types
    may_have: NDArray[np.bool_] = ~excluded[holding_of_kind][:, type_of_kind].T
    return may_have


def _has(view: HoldingView) -> Any:
    """Which values each holding has, as a sparse table."""
    from scipy.sparse import csr_array

    shape = len(view.item_start) - 1, len(view.attribute_of_item)
    return csr_array((np.ones(len(view.item), np.int32), view.item, view.item_start), shape=shape)


def _is_kept(model: Model, table: Table, columns: Sequence[str], size: int) -> bool:
    """Whether buckets keep a model by the way they are formed: any two members may change places."""
    if model.name != "matching-diversity" or table.adversary is None:
        return False
    about = set(table.sensitive) if model.column is None else {model.column}
    return model.asked <= size and about <= set(columns)


def merge_neighbours(grouping: Grouping, row: NDArray[np.int64], table: Table, models: Sequence[Model]) -> Grouping:
    """Merge groups that break a model with their neighbours in the row, until every group meets every model.

    Goes in rounds: each broken group joins the groups behind it, or before it, until it has twice as many persons; a
    group that has changed is looked at again in the next round.
    """
    group_of_person, n_groups = _by_mean_place(grouping.group_of_person, row)
    judge = Judge(table, models)
    while models:
        order = np.argsort(group_of_person, kind="stable").astype(np.int32)
        sizes = np.bincount(group_of_person, minlength=n_groups)
        broken = np.flatnonzero(~judge.holds(order, np.append(0, np.cumsum(sizes))))
        if not len(broken):
            break
        if n_groups == 1:
            raise CannotSatisfyError(
                f"{', '.join(model.name for model in models)} cannot be met by all {table.n_persons:,} persons as one "
                "group. Ask for less."
            )
        number = _joined(broken, sizes)
        group_of_person = number[group_of_person]
        n_groups = int(number.max()) + 1
    return Grouping(group_of_person, n_groups)


def _joined(broken: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int32]:
    """One round: the new number of each group, where runs of neighbours have become one."""
    n_groups = len(sizes)
    is_first = np.ones(n_groups, np.bool_)  # of a run that will be one group
    until = 0  # groups before this one have had their turn
    for group in broken.tolist():
        if group < until:
            continue
        first, last, persons = group, group + 1, int(sizes[group])
        while persons < 2 * sizes[group] and last < n_groups:
            persons += int(sizes[last])
            last += 1
        while persons < 2 * sizes[group] and first > 0:  # at the end of the row: join those before
            first -= 1
            persons += int(sizes[first])
        is_first[first + 1 : last] = False
        until = last
    return (np.cumsum(is_first) - 1).astype(np.int32)


def _by_mean_place(group_of_person: NDArray[np.int32], row: NDArray[np.int64]) -> tuple[NDArray[np.int32], int]:
    """The groups numbered by the mean place of their persons in the row, and how many there are."""
    group_at = group_of_person[row]
    sizes = np.bincount(group_at)
    means = np.bincount(group_at, weights=np.arange(len(row))) / sizes
    number = np.empty(len(sizes), np.int32)
    number[np.argsort(means, kind="stable")] = np.arange(len(sizes), dtype=np.int32)
    return number[group_of_person], len(sizes)
