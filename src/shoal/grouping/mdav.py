"""MDAV: groups of a fixed number of near persons (Domingo-Ferrer and Torra, 2005), and V-MDAV: of a variable number."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import CannotSatisfyError, ParameterError, SchemaError, ShoalWarning
from shoal.grouping.grouping import Grouping, Method, Rng
from shoal.grouping.mixing import classes_to_mix
from shoal.grouping.options import ALPHA, M
from shoal.grouping.per_column import STRATA, Columns, names_in, strata_of, written_names
from shoal.judging.observation import Observation
from shoal.models.contract import Model
from shoal.parts import option
from shoal.progress import Progress, silent
from shoal.table.columns import CategoryColumn, NumberColumn
from shoal.table.table import Table

if TYPE_CHECKING:
    from shoal.kernels.microaggregation import Mixing
FEWEST = 3
MOST_GRID_BITS = 29
MOST_COORDINATES = 2**28
"""Persons times columns of their points: beyond this a nominal quasi-identifier has too many categories."""
FAR_APART = 1e3
"""How far groups of different strata are from each other where broken ones are merged, in extents of a column."""
NEIGHBOURS = 8
"""How many near groups a broken group looks at for one that has not changed in the same round."""

OF_SIZE = ("k-anonymity", "person-k-anonymity", "subset-k")
"""Models that say how many persons a group has."""


@dataclass(frozen=True, kw_only=True)
class Mdav(Method):
    """Take the person farthest from the mean with the m - 1 nearest to them, then the one farthest from that; go on.

    Parameters
    ----------
    m
        Persons per group. None: the larger of k and person-k asked for, else 3.
    variable
        Whether a group may take up to m - 1 more persons who are near to it (V-MDAV, Solanas and Martinez-Balleste,
        2006).
    gamma
        With `variable`: a person is taken who is nearer to the group than gamma times the distance to anybody else
        who is left. The authors use 0.2 where persons lie scattered and 1.1 where they form clusters.
    alpha
        The weight of the distance, in [0, 1]; the rest is that of the class divergence, so that groups keep the
        sensitive values of the table (what Li and Sarkar, 2013, section 8, ask for). 1 looks at distances only; 0.5 is
        their choice for spanning trees.
    distance
        "euclidean": the root of the sum of squared differences. "gower": the mean of the differences, each between 0
        and 1, so that columns of different kinds weigh alike (Gower, 1971).
    strata
        Columns inside whose values groups are formed. A person whose records are of several strata is in the first.
        Only where a stratum breaks a model as a whole are its groups merged with those of another, and a note says so.

    Notes
    -----
    Persons are points: the mean of their records, numbers scaled to [0, 1], categories as 0 or 1 such that two
    different ones are 1 apart. With alpha below 1 a person is joined, one after the other, by those of the 16m nearest
    who have the smallest alpha * length + (1 - alpha) * divergence: the length is the distance over the number of
    quasi-identifiers, the divergence (Jensen-Shannon, in bits) that of the classes of the group, the newcomer among
    them, from those of the table. Groups that break a model are merged with near groups until every model holds. The
    result does not depend on the order of records. Near-linear time in a few columns, O(n^2) in many.
    """

    m: int | None = field(default=None, metadata=M)
    variable: bool = field(default=False, metadata=option("Groups of variable size, which take near persons in."))
    gamma: float = field(
        default=0.2,
        metadata=option("With groups of variable size: how near a person must be to join.", low=0, metavar="G"),
    )
    alpha: float = field(default=1.0, metadata=ALPHA)
    distance: Literal["euclidean", "gower"] = field(
        default="euclidean", metadata=option("How far persons are apart over several columns.")
    )
    strata: Columns = field(default=None, metadata=STRATA)
    name: ClassVar[str] = "mdav"
    starts_from_whole: ClassVar[bool] = False
    title: ClassVar[str] = "MDAV microaggregation"
    sentence: ClassVar[str] = "The person farthest from the mean is grouped with the nearest ones, again and again."
    is_in_app: ClassVar[bool] = True
    keeps_models: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "strata", written_names(self.strata))
        super().__post_init__()

    def group(self, table: Table, models: Sequence[Model], progress: Progress = silent, *, rng: Rng = None) -> Grouping:
        """Group the persons of a table; the whole table must meet every model."""
        progress("grouping", 0.0)
        is_straight = self.distance == "gower"
        points = person_points(table, is_straight=is_straight)
        most = _most_apart(table)
        order = _order_of_persons(points, table)
        m = self._size(table, models)
        stratum, n_strata = self._strata(table, m)
        group_of_person = np.empty(table.n_persons, np.int32)
        n_groups = 0
        for number in range(n_strata):
            inside = order[stratum[order] == number]
            mixing = self._mixing(table, inside)
            group_of_person[inside], n_more = self._grouped(points[inside], m, mixing, is_straight, most)
            group_of_person[inside] += n_groups
            n_groups += n_more
        apart = np.column_stack([points, stratum * (FAR_APART * _grid(table))]) if n_strata > 1 else points
        grouping = merge_broken(Grouping(group_of_person, n_groups), apart, table, models)
        progress("grouping", 1.0)
        return _told_of_strata(grouping, stratum)

    def _grouped(
        self, points: NDArray[np.float64], m: int, mixing: Mixing, is_straight: bool, most: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], int]:
        """The groups of persons in their order, and how many there are."""
        from shoal.kernels import microaggregation

        if self.variable:
            groups, n = microaggregation.variable_size(points, m, float(self.gamma), mixing, is_straight, most)
        else:
            groups, n = microaggregation.fixed_size(points, m, mixing, is_straight, most)
        return groups, int(n)

    def _strata(self, table: Table, m: int) -> tuple[NDArray[np.int64], int]:
        """The stratum of each person; one of fewer persons than a group has is refused."""
        names = names_in(None if self.strata is None else str(self.strata))
        of_record, n_strata = strata_of(table, names, "method mdav")
        stratum = of_record[np.unique(table.person_of_record, return_index=True)[1]]
        persons = np.bincount(stratum, minlength=n_strata)
        if n_strata > 1 and persons.min() < m:
            raise CannotSatisfyError(
                f"{int((persons < m).sum()):,} of {n_strata:,} strata have fewer than the {m:,} persons of a group (at "
                f"least one has {int(persons.min()):,}). Ask for smaller groups, or for coarser strata."
            )
        return stratum, n_strata

    def _mixing(self, table: Table, order: NDArray[np.int64]) -> Mixing:
        """The classes of persons, in the order in which persons are grouped."""
        from shoal.kernels.microaggregation import Mixing

        a_unit = 1.0 / (_grid(table) * len(table.quasi))
        if self.alpha == 1:
            return Mixing(1.0, a_unit, np.zeros(0, np.int32), np.zeros((0, 0), np.int64), np.zeros(0))
        classes = classes_to_mix(table, "mdav")
        kind = classes.kind_of_person[order]
        return Mixing(float(self.alpha), a_unit, kind, classes.counts_of_kind, classes.whole)

    def _size(self, table: Table, models: Sequence[Model]) -> int:
        """The persons per group; warns where there are too few for two groups."""
        asked = [
            int(model.asked) for model in models if model.name in ("k-anonymity", "person-k-anonymity", "subset-k")
        ]
        m = self.m if self.m is not None else max(asked, default=FEWEST)
        if self.m is not None and m > table.n_persons:
            raise ParameterError(
                f"m = {m:,} persons per group were asked for, but there are {table.n_persons:,} persons."
            )
        if table.n_persons < 2 * m:
            warnings.warn(
                f"{table.n_persons:,} persons are too few for two groups of {m:,}: they are one group.",
                ShoalWarning,
                stacklevel=3,
            )
        return min(m, table.n_persons)


def _told_of_strata(grouping: Grouping, stratum: NDArray[np.int64]) -> Grouping:
    """The grouping, with a note where groups of several strata had to be merged."""
    low, high = np.full(grouping.n_groups, stratum.max(initial=0)), np.zeros(grouping.n_groups, np.int64)
    np.minimum.at(low, grouping.group_of_person, stratum)
    np.maximum.at(high, grouping.group_of_person, stratum)
    n_mixed = int((low < high).sum())
    if not n_mixed:
        return grouping
    note = f"{n_mixed:,} of {grouping.n_groups:,} groups have persons of several strata, since a model asked for it."
    return replace(grouping, notes=(*grouping.notes, note))


def person_points(table: Table, *, is_straight: bool = False) -> NDArray[np.float64]:
    """Persons as points on a whole-number grid: numbers scaled to [0, 1], categories such that different are 1 apart.

    A missing number lies one whole extent below the lowest; a missing category is a category. A person's records are
    represented by their mean. Sums over all persons are exact. Where distances are straight, categories are 1 apart by
    the sum of differences, and else by the sum of their squares.
    """
    grid = _grid(table)
    widths = [_width(column) for column in table.quasi.values()]
    if table.n_persons * sum(widths) > MOST_COORDINATES:
        widest = max(table.quasi.values(), key=_width)
        raise SchemaError(
            f"'{widest.name}' has {_width(widest):,} categories, too many for distances between {table.n_persons:,} "
            "persons. Take it as a number or as ordered, drop it, or choose the method balance-tree."
        )
    points = np.empty((table.n_persons, sum(widths)))
    at = 0
    for column, width in zip(table.quasi.values(), widths, strict=True):
        if isinstance(column, NumberColumn):
            points[:, at] = _scaled_means(column, table, grid)
        else:
            points[:, at : at + width] = _shares(column, table, grid, is_straight=is_straight)
        at += width
    return points


def _grid(table: Table) -> float:
    """How many steps the grid has from the lowest to the highest value, such that sums over all records are exact."""
    return 2.0 ** min(MOST_GRID_BITS, 51 - int(table.n_records).bit_length())


def _width(column: NumberColumn | CategoryColumn) -> int:
    """How many columns of points a quasi-identifier takes; of two categories one says it all."""
    return 1 if isinstance(column, NumberColumn) or column.n_codes <= 2 else column.n_codes


def _most_apart(table: Table) -> NDArray[np.float64]:
    """How far apart the columns of points of each quasi-identifier are together at the most, at the last of them."""
    most: list[float] = []
    for column in table.quasi.values():
        width = _width(column)
        rounded = _grid(table) + width  # every share is rounded to the grid
        most += [-1.0] * (width - 1) + [np.inf if isinstance(column, NumberColumn) else rounded]
    return np.array(most)


def _scaled_means(column: NumberColumn, table: Table, grid: float) -> NDArray[np.float64]:
    low, high = column.extent
    units = column.units_with_missing()
    steps = np.rint((units - low) / max(high - low, 1) * grid)
    sums = np.bincount(table.person_of_record, weights=steps, minlength=table.n_persons)
    return np.rint(sums / table.records_of_person)


def _shares(column: CategoryColumn, table: Table, grid: float, *, is_straight: bool) -> NDArray[np.float64]:
    """The share of a person's records that has each category."""
    start, value, records = table.values_of_persons(column)
    person = np.repeat(np.arange(table.n_persons), np.diff(start))
    shares = np.zeros((table.n_persons, column.n_codes))
    shares[person, value] = records / table.records_of_person[person]
    if column.n_codes <= 2:
        return np.rint(shares[:, -1:] * grid)
    return np.rint(shares * (grid * (0.5 if is_straight else np.sqrt(0.5))))


def _order_of_persons(points: NDArray[np.float64], table: Table) -> NDArray[np.int64]:
    """Persons by their points, equal ones by name or else by sensitive values, so that no order of records matters."""
    keys = list(points.T[::-1])
    if table.schema.person is None:
        keys = [*(column.codes for column in reversed([*table.sensitive.values()])), *keys]
    return np.lexsort(keys)


def merge_broken(grouping: Grouping, points: NDArray[np.float64], table: Table, models: Sequence[Model]) -> Grouping:
    """Merge groups that break a model with near groups, until every group meets every model.

    Goes in rounds: every broken group, the smallest first, joins the nearest group (by the means of points) that has
    not changed in the round; groups with no such neighbour wait for the next. The whole table must meet every model.
    O(n) per round.
    """
    group_of_person, n_groups = grouping.group_of_person, grouping.n_groups
    while n_groups > 1:
        broken = np.flatnonzero(~_holds(group_of_person, n_groups, table, models))
        if not len(broken):
            break
        group_of_person, n_groups = _join(group_of_person, n_groups, points, broken)
    return Grouping(group_of_person.astype(np.int32), n_groups)


def _holds(
    group_of_person: NDArray[np.int32], n_groups: int, table: Table, models: Sequence[Model]
) -> NDArray[np.bool_]:
    seen = Observation.of_groups(table, group_of_person, n_groups)
    counts = seen.counts(frozenset().union(*(model.needs for model in models)))
    holds = np.ones(n_groups, np.bool_)
    for model in models:
        holds &= model.holds(counts)
    return holds


def _join(
    group_of_person: NDArray[np.int32], n_groups: int, points: NDArray[np.float64], broken: NDArray[np.int64]
) -> tuple[NDArray[np.int32], int]:
    """One round: join broken groups with near ones; groups keep the order of their lowest number."""
    from scipy.spatial import KDTree

    sizes = np.bincount(group_of_person, minlength=n_groups)
    sums = [np.bincount(group_of_person, weights=column, minlength=n_groups) for column in points.T]
    means = np.stack(sums, axis=1) / sizes[:, None]
    n_near = min(NEIGHBOURS + 1, n_groups)
    _, near = KDTree(means).query(means[broken], k=n_near)
    joined_to = np.arange(n_groups)
    has_changed = np.zeros(n_groups, np.bool_)
    for at in np.lexsort((broken, sizes[broken])):
        group = broken[at]
        free = [other for other in near[at].tolist() if other != group and not has_changed[other]]
        if has_changed[group] or not free:
            continue
        joined_to[max(group, free[0])] = min(group, free[0])
        has_changed[[group, free[0]]] = True
    kept, number = np.unique(joined_to, return_inverse=True)
    return number.astype(np.int32)[group_of_person], len(kept)
