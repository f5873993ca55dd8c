"""A coarse tree on the driver: which persons are grouped together on one executor.

It grows from counts alone. A node is cut at the edge of a bin of one quasi-identifier, and only where both sides meet
every model; bins are counted exactly, so that what is decided here is decided by whole numbers. Where the counts come
from (Spark, or a simulation) the tree does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.models.contract import Model
from shoal.models.counts import JOINT, SPREAD, VALUE_SUMMARIES, VALUE_TABLES, GroupCounts, ValueCounts

BINS = 128
"""Into how many bins the values of a node are counted, quasi-identifier by quasi-identifier."""

LEAST_SHARE = 0.125
"""Cuts that leave a side fewer of the node's persons than this are taken only where there is no other."""

MOST_TRIES = 4
"""How many cuts of a node are tried with models of sensitive values before the node becomes a cell."""

MASS_GRID = 2**19
"""Steps from the lowest to the highest value of a quasi-identifier in which squares are reckoned."""

UNEVEN = 1e18
"""By so much an uneven cut is worth less than any other."""

OUTWEIGHS = 1e6

BOUNDED = frozenset({"most_persons_of_value", "most_records_of_value"})
"""Counts that are never larger in a part than in the whole: a model that holds with those of the whole holds."""

COUNTED = ("persons", "records", "squared", "most", "logs")


class SparkSource(Protocol):
    """Counts the persons of nodes."""

    def bins(self, tree: CoarseTree, nodes: Sequence[int]) -> pl.DataFrame:
        """For each node, quasi-identifier and bin that has persons: the columns of `COUNTED`, and masses m0, m1, ..."""
        ...

    def values(self, tree: CoarseTree, nodes: Sequence[int]) -> pl.DataFrame:
        """For each node, sensitive attribute and value: how many records and persons have it."""
        ...


@dataclass
class CoarseTree:
    """Cuts, and where they lead; a node without a cut is a cell."""

    is_nominal: NDArray[np.bool_]
    """Which quasi-identifiers are nominal: cut one category against the rest."""
    edges: dict[int, list[NDArray[np.float64]]]
    """Of nodes that are being counted, the edges of the bins of each quasi-identifier, the outermost included."""
    attribute: list[int] = field(default_factory=lambda: [-1])
    threshold: list[float] = field(default_factory=lambda: [0.0])
    left: list[int] = field(default_factory=lambda: [-1])
    right: list[int] = field(default_factory=lambda: [-1])

    @classmethod
    def over(cls, is_nominal: NDArray[np.bool_], top: NDArray[np.float64]) -> CoarseTree:
        """A tree without cuts, whose quasi-identifiers lie between 0 and their `top`."""
        return cls(is_nominal, {0: [np.linspace(0.0, float(highest), BINS + 1) for highest in top]})

    def place(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        """The node without a cut in which each point lies; points have a column for each quasi-identifier."""
        attribute, threshold = np.array(self.attribute), np.array(self.threshold)
        left, right = np.array(self.left), np.array(self.right)
        node = np.zeros(len(points), np.int64)
        moving = np.arange(len(points))
        while len(moving):
            moving = moving[attribute[node[moving]] >= 0]
            at = node[moving]
            own = attribute[at]
            value = points[moving, own]
            is_left = np.where(self.is_nominal[own], value == threshold[at], value < threshold[at])
            node[moving] = np.where(is_left, left[at], right[at])
        return node

    def bin_of(self, node: int, attribute: int, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """The bin of each value of a node, which reaches its lower edge; of a nominal quasi-identifier its code."""
        if self.is_nominal[attribute]:
            return values.astype(np.int64)
        return np.searchsorted(self.edges[node][attribute][1:-1], values, side="right")

    def cut(self, node: int, attribute: int, threshold: float) -> tuple[int, int]:
        """Cut a node in two; gives the numbers of its sides."""
        first = len(self.attribute)
        self.attribute[node], self.threshold[node] = attribute, threshold
        self.left[node], self.right[node] = first, first + 1
        self.attribute += [-1, -1]
        self.threshold += [0.0, 0.0]
        self.left += [-1, -1]
        self.right += [-1, -1]
        return first, first + 1

    def uncut(self, node: int) -> None:
        """Take a cut back; its sides stay behind as nodes that nothing leads to."""
        self.attribute[node], self.left[node], self.right[node] = -1, -1, -1


@dataclass(frozen=True)
class _Counted:
    """Counts of the parts of a node, a column each: persons, records, squared records, most records; and logarithms."""

    whole: NDArray[np.int64]
    logs: NDArray[np.float64]

    @classmethod
    def of(cls, rows: pl.DataFrame) -> _Counted:
        return cls(np.stack([rows[name].to_numpy() for name in COUNTED[:4]]).astype(np.int64), rows["logs"].to_numpy())

    @property
    def persons(self) -> NDArray[np.int64]:
        return self.whole[0]

    @property
    def records(self) -> NDArray[np.int64]:
        return self.whole[1]

    def at(self, place: int) -> _Counted:
        return _Counted(self.whole[:, place : place + 1], self.logs[place : place + 1])

    def groups(self, values: dict[str, ValueCounts]) -> GroupCounts:
        persons, records, squared, most = self.whole
        return GroupCounts(
            persons=persons, records=records, squared_records=squared, most_records=most, log_records=self.logs,
            values=values,
        )  # fmt: skip

    def sides(self) -> tuple[_Counted, _Counted]:
        """What stands left and right of each edge between bins."""
        left, left_logs = np.cumsum(self.whole, axis=1)[:, :-1], np.cumsum(self.logs)[:-1]
        right = self.whole.sum(axis=1, keepdims=True) - left
        left[3] = np.maximum.accumulate(self.whole[3])[:-1]
        right[3] = np.maximum.accumulate(self.whole[3][::-1])[::-1][1:]
        return _Counted(left, left_logs), _Counted(right, self.logs.sum() - left_logs)

    def rest(self) -> _Counted:
        """What is left without each bin."""
        rest = self.whole.sum(axis=1, keepdims=True) - self.whole
        order = np.argsort(self.whole[3])
        rest[3] = self.whole[3][order[-1]]
        rest[3][order[-1]] = self.whole[3][order[-2]]
        return _Counted(rest, self.logs.sum() - self.logs)


@dataclass(frozen=True)
class _Cut:
    attribute: int
    threshold: float
    merit: float
    left: _Counted
    right: _Counted


@dataclass(frozen=True)
class Cells:
    """A tree that is grown, and how many persons its cells have."""

    tree: CoarseTree
    persons_of_cell: dict[int, int]
    n_levels: int

    @property
    def largest(self) -> int:
        """The persons of the largest cell."""
        return max(self.persons_of_cell.values())


class Grower:
    """Grows a coarse tree level by level: one pass over the persons per level, and more where values are counted."""

    def __init__(
        self,
        source: SparkSource,
        models: Sequence[Model],
        *,
        is_nominal: NDArray[np.bool_],
        top: NDArray[np.float64],
        cell_persons: int,
        by_width: bool,
        in_table: dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]],
    ) -> None:
        self.source = source
        self.spread_models = [model for model in models if model.needs <= SPREAD]
        self.value_models = [model for model in models if not model.needs <= SPREAD]
        self.is_bounded = all(model.needs <= SPREAD | BOUNDED for model in self.value_models)
        self.cell_persons = cell_persons
        self.by_width = by_width
        self.in_table = in_table
        self.top = top
        self.tree = CoarseTree.over(is_nominal, top)
        self._first = pl.DataFrame()

    def whole(self) -> GroupCounts:
        """The whole table as one group."""
        self._first = self.source.bins(self.tree, [0])
        own = self._first.filter(pl.col("attribute") == 0).select(COUNTED)
        summed = own.select(pl.all().exclude("most").sum(), pl.col("most").max())
        return _Counted.of(summed).groups({name: _whole_values(*counts) for name, counts in self.in_table.items()})

    def grow(self, told: Callable[[int, int], None] = lambda level, cells: None) -> Cells:
        """Cut until every cell has at most `cell_persons` persons, or no cut has two sides that meet every model.

        The whole table must meet every model.
        """
        persons_of_cell: dict[int, int] = {}
        bins: pl.DataFrame | None = self._first
        open_nodes, level = [0], 0
        while open_nodes:
            if bins is None:
                bins = self.source.bins(self.tree, open_nodes)
            own_bins = bins.partition_by("node", as_dict=True)
            proposed = {node: self._cuts(node, own_bins[(node,)]) for node in open_nodes}
            persons_of_cell |= {node: _persons(own_bins[(node,)]) for node in open_nodes}
            taken = self._taken(proposed)
            open_nodes = []
            for node, (cut, pair) in taken.items():
                del persons_of_cell[node]
                sizes = (int(cut.left.persons[0]), int(cut.right.persons[0]))
                persons_of_cell |= dict(zip(pair, sizes, strict=True))
                for side, persons in enumerate(sizes):
                    if persons > self.cell_persons:
                        open_nodes.append(pair[side])
                        self.tree.edges[pair[side]] = self._edges_of(node, cut, side, own_bins[(node,)])
            for node in proposed:
                del self.tree.edges[node]
            level += 1
            told(level, len(persons_of_cell))
            bins = None
        return Cells(self.tree, persons_of_cell, level)

    def _edges_of(self, node: int, cut: _Cut, side: int, bins: pl.DataFrame) -> list[NDArray[np.float64]]:
        """The edges of the bins of a side: about equally many persons in each, as far as the node's bins tell."""
        found = []
        for attribute, old in enumerate(self.tree.edges[node]):
            if self.tree.is_nominal[attribute]:
                found.append(old)
                continue
            own = bins.filter(pl.col("attribute") == attribute)
            persons = np.zeros(len(old) - 1)
            persons[own["bin"].to_numpy()] = own["persons"].to_numpy()
            if attribute == cut.attribute:
                is_left = old[:-1] < cut.threshold
                persons[is_left if side else ~is_left] = 0
            up_to = np.concatenate([[0.0], np.cumsum(persons)])
            first, last = np.flatnonzero(persons)[[0, -1]]
            even = np.interp(np.linspace(0.0, up_to[-1], BINS + 1)[1:-1], up_to, old)
            inner = even[(even > old[first]) & (even < old[last + 1])]
            found.append(np.unique(np.concatenate([[old[first]], inner, [old[last + 1]]])))
        return found

    def _cuts(self, node: int, bins: pl.DataFrame) -> list[_Cut]:
        """The best cuts of a node whose sides meet every model of records and persons, the best first."""
        if _persons(bins) <= self.cell_persons:
            return []
        found = []
        for attribute in range(len(self.tree.is_nominal)):
            own = bins.filter(pl.col("attribute") == attribute).sort("bin")
            if len(own) > 1:
                found += self._cuts_of(node, attribute, own)
        found.sort(key=lambda cut: -cut.merit)
        return found[:MOST_TRIES]

    def _cuts_of(self, node: int, attribute: int, own: pl.DataFrame) -> list[_Cut]:
        """The best cut of a node in one quasi-identifier, if any; of a nominal one a category against the rest."""
        is_nominal = bool(self.tree.is_nominal[attribute])
        counted = _Counted.of(own)
        masses = own.select(pl.col("^m\\d+$")).to_numpy().astype(np.float64) / MASS_GRID
        if is_nominal:
            left, right, left_mass = counted, counted.rest(), masses
        else:
            left, right = counted.sides()
            left_mass = np.cumsum(masses, axis=0)[:-1]
        if self.by_width:
            merit = self._width(node, attribute, own) - np.abs(left.records - right.records) / counted.records.sum()
        else:
            merit = _merit(left.records, right.records, left_mass, masses.sum(axis=0))
            merit += _nominal_merit(counted.records) if is_nominal else 0.0
        allowed = self._holds(left) & self._holds(right)
        if not allowed.any():
            return []
        even = allowed & (np.minimum(left.persons, right.persons) >= LEAST_SHARE * counted.persons.sum())
        best = int(np.argmax(np.where(even if even.any() else allowed, merit, -np.inf)))
        at = int(own["bin"][best])
        threshold = float(at) if is_nominal else float(self.tree.edges[node][attribute][at + 1])
        worth = float(merit[best]) - (0.0 if even.any() else UNEVEN)
        return [_Cut(attribute, threshold, worth, left.at(best), right.at(best))]

    def _width(self, node: int, attribute: int, own: pl.DataFrame) -> float:
        """How much of a quasi-identifier's extent a node covers, times a number that outweighs how even a cut is."""
        if self.tree.is_nominal[attribute]:
            return OUTWEIGHS * (len(own) - 1) / max(self.top[attribute], 1)
        edges = self.tree.edges[node][attribute]
        return OUTWEIGHS * float(edges[int(own["bin"][-1]) + 1] - edges[int(own["bin"][0])])

    def _holds(self, sides: _Counted) -> NDArray[np.bool_]:
        counts = sides.groups({})
        holds = np.ones(len(counts), np.bool_)
        for model in self.spread_models:
            holds &= model.holds(counts)
        return holds

    def _taken(self, proposed: dict[int, list[_Cut]]) -> dict[int, tuple[_Cut, tuple[int, int]]]:
        """Cut nodes at the first of their cuts whose sides meet every model of values too; the cuts and their sides."""
        taken: dict[int, tuple[_Cut, tuple[int, int]]] = {}
        waiting = {node: cuts for node, cuts in proposed.items() if cuts}
        for turn in range(MOST_TRIES):
            trying = {node: cuts[turn] for node, cuts in waiting.items() if len(cuts) > turn}
            if not trying:
                break
            sides = {node: self.tree.cut(node, cut.attribute, cut.threshold) for node, cut in trying.items()}
            fails = self._failing(trying, sides) if self.value_models else set()
            for node in fails:
                self.tree.uncut(node)
            taken |= {node: (cut, sides[node]) for node, cut in trying.items() if node not in fails}
            waiting = {node: waiting[node] for node in fails}
        return taken

    def _failing(self, trying: dict[int, _Cut], sides: dict[int, tuple[int, int]]) -> set[int]:
        """The nodes of which a side breaks a model of sensitive values."""
        if self.is_bounded:
            sides = self._doubtful(trying, sides)
            trying = {node: trying[node] for node in sides}
        if not sides:
            return set()
        nodes = [side for pair in sides.values() for side in pair]
        values = self._values_of(nodes)
        parts = [part for cut in trying.values() for part in (cut.left, cut.right)]
        counted = _Counted(np.hstack([part.whole for part in parts]), np.concatenate([part.logs for part in parts]))
        counts = counted.groups(values)
        holds = np.ones(len(nodes), np.bool_)
        for model in self.value_models:
            holds &= surely_holds(model, counts)
        return {node for node, pair in zip(sides, holds.reshape(-1, 2), strict=True) if not pair.all()}

    def _doubtful(self, trying: dict[int, _Cut], sides: dict[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
        """The cuts of which a side would break a model if it had the commonest value as often as the table has."""
        parts = [part for cut in trying.values() for part in (cut.left, cut.right)]
        counted = _Counted(np.hstack([part.whole for part in parts]), np.concatenate([part.logs for part in parts]))
        values = {}
        for name, (records, persons) in self.in_table.items():
            most = {
                "most_persons_of_value": np.minimum(counted.persons, persons.max()),
                "most_records_of_value": np.minimum(counted.records, records.max()),
            }
            values[name] = ValueCounts(records_in_table=records, persons_in_table=persons, summaries=most)
        counts = counted.groups(values)
        holds = np.ones(len(counts), np.bool_)
        for model in self.value_models:
            holds &= model.holds(counts)
        is_sure = holds.reshape(-1, 2)
        return {node: sides[node] for node, pair in zip(sides, is_sure, strict=True) if not pair.all()}

    def _values_of(self, nodes: Sequence[int]) -> dict[str, ValueCounts]:
        rows = self.source.values(self.tree, nodes)
        place = pl.DataFrame({"node": nodes, "place": np.arange(len(nodes))}, schema_overrides={"node": pl.Int64})
        rows = rows.join(place, on="node").sort("place", "value")
        counts = {}
        for number, (name, (records, persons)) in enumerate(self.in_table.items()):
            own = rows.filter(pl.col("attribute") == number)
            start = np.concatenate([[0], np.cumsum(np.bincount(own["place"].to_numpy(), minlength=len(nodes)))])
            counts[name] = ValueCounts(
                records_in_table=records, persons_in_table=persons, start_of_group=start.astype(np.int64),
                value=own["value"].to_numpy(), records=own["records"].to_numpy(), persons=own["persons"].to_numpy(),
            )  # fmt: skip
        return counts


def is_countable(model: Model) -> bool:
    """Whether counts that can be added up over parts of a table decide a model."""
    return model.needs <= SPREAD | VALUE_SUMMARIES | (VALUE_TABLES - {"values_of_person"})


def has_bound(model: Model) -> bool:
    """Whether such counts can at least prove that a model holds."""
    return is_countable(model) or "values_of_person" in model.needs or model.has_bound


def surely_holds(model: Model, counts: GroupCounts) -> NDArray[np.bool_]:
    """Whether counts of values prove that each group meets a model; a no is not certain where counts cannot decide."""
    if is_countable(model):
        return model.holds(counts)
    if model.needs & JOINT:
        return model.holds_by_bound(counts)
    return _has_many_holders(model, counts)


def _has_many_holders(model: Model, counts: GroupCounts) -> NDArray[np.bool_]:
    """Whether l values have l persons each, so that l persons can be found who each have another of them."""
    column = model.column
    holds = np.ones(len(counts), np.bool_)
    for name, attribute in counts.values.items():
        if column is None or column == name:
            enough = (attribute.lists[3] >= model.asked).astype(np.int64)
            holds &= attribute.sum_by_group(enough) >= model.asked
    return holds


def _whole_values(records: NDArray[np.int64], persons: NDArray[np.int64]) -> ValueCounts:
    """The values of the whole table as one group."""
    has_any = records > 0
    return ValueCounts(
        records_in_table=records, persons_in_table=persons, start_of_group=np.array([0, np.count_nonzero(has_any)]),
        value=np.flatnonzero(has_any), records=records[has_any], persons=persons[has_any],
    )  # fmt: skip


def _persons(bins: pl.DataFrame) -> int:
    return int(bins.filter(pl.col("attribute") == 0)["persons"].sum())


def _merit(
    n_left: NDArray[np.int64], n_right: NDArray[np.int64], left_mass: NDArray[np.float64], mass: NDArray[np.float64]
) -> NDArray[np.float64]:
    """By how much each cut lowers the sum of squares inside its sides, over all numbers together."""
    squares = left_mass**2 / n_left[:, None] + (mass - left_mass) ** 2 / n_right[:, None]
    merit: NDArray[np.float64] = (squares - mass**2 / (n_left + n_right)[:, None]).sum(axis=1)
    return merit


def _nominal_merit(records: NDArray[np.int64]) -> NDArray[np.float64]:
    """By how much parting each category from the rest lowers the differences inside."""
    shares = records.astype(np.float64)
    whole, squares = shares.sum(), (shares**2).sum()
    before = whole - squares / whole
    after = (whole - shares) - (squares - shares**2) / np.maximum(whole - shares, 1)
    gain: NDArray[np.float64] = 0.5 * (before - after)
    return gain
