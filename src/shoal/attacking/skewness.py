"""Skewness and similarity: what a group tells of its members' values though none of them is certain.

A group whose values are unlike those of the table changes what is believed of its members (*skewness*), and one whose
values mean nearly the same tells what all of them have (*similarity*). Li, Li and Venkatasubramanian (2007).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import polars as pl

from shoal.attacking.attackers_view import AttackersView, GroupValues
from shoal.attacking.contract import (
    GROUPS,
    SENSITIVE,
    Attack,
    AttackResult,
    Attempt,
    DoesNotApply,
    Finding,
    Recounted,
)
from shoal.attacking.setting import Setting
from shoal.errors import SchemaError
from shoal.models.exact import FloatArray, IntArray
from shoal.parts import option
from shoal.table.hierarchy import Hierarchy

WINDOW = 0.1
"""Numbers are close that lie within this share of the attribute's extent."""


class SkewnessAttack(Attack):
    """The chance that the value of a record drawn from a person's group is a value of theirs, beside the whole table's.

    With P_gv of the P_g persons of a group g and R_gv of its R_g records having value v, the chance is the mean over
    persons of sum_v (P_gv / P_g) (R_gv / R_g); blind guessing draws from the table instead.

    `details`: `largest_gain`, by which factor a value is more frequent among the persons of some group than in the
    table; `farthest` and `mean_distance`, the total variation distance between the records of a group and of the table,
    which is what t-closeness limits.
    """

    name = "skewness"
    question = "What is believed of a person once their group is known?"
    knows = "The group of the person."
    needs = (SENSITIVE, GROUPS)

    def run(self, setting: Setting) -> list[AttackResult]:
        """Try it."""
        return list(_skewness(setting))

    def findings(self, recounted: Recounted) -> Iterator[Finding]:
        """Guess the value that most persons of the group have."""
        spread, before = recounted.spread, recounted.spread_before
        if spread is None or not spread.guessed:
            return
        yield Finding(
            name="guess a value",
            knows="a person’s group",
            does="guesses the value that most persons of the group have",
            persons=recounted.risk.persons,
            attempts=tuple(
                Attempt(
                    label=f"guess ‘{name}’",
                    what=f"the person has that value of ‘{name}’",
                    success=success,
                    blind=spread.blind[name],
                    before=None if before is None else before.guessed.get(name),
                )
                for name, success in spread.guessed.items()
            ),
        )


def _skewness(setting: Setting) -> Iterator[AttackResult]:
    for name, values in setting.view.values.items():
        counts = _Counts.of(setting.view, values)
        if not counts.n_persons or not len(counts.value):  # nobody has a value that is shown
            continue
        table = counts.of_table()
        chance = counts.mean_chance(counts.share_of_records)
        gain = counts.share_of_persons / (table.persons / counts.persons_of_group.sum())[counts.value]
        distance = counts.distances(table.records / table.records.sum())
        yield SkewnessAttack.result(
            f"skewness, {name}",
            aim=f"the '{name}' of a record drawn from the person's group is one of theirs",
            successes=chance * counts.n_persons,
            targets=counts.n_persons,
            blind=counts.mean_chance((table.records / table.records.sum())[counts.value]),
            details={
                "largest_gain": float(gain.max()),
                "farthest": float(distance.max()),
                "mean_distance": float(np.average(distance, weights=counts.persons_of_group)),
            },
        )


@dataclass(frozen=True)
class SimilarityAttack(Attack):
    """The share of persons with a value close to the closest-knit values of their group.

    The attacker names the values close together that have the most records in the group: numbers within a tenth of the
    attribute's extent, or values with the same parent in a hierarchy that is given for the attribute.
    """

    name = "similarity"
    question = "Which values that are close together does a person have one of?"
    knows = "The group of the person."
    needs = (SENSITIVE, GROUPS)
    bound = "at most"

    similar: Mapping[str, Hierarchy | str] = field(
        default_factory=dict,
        metadata=option(
            "The value hierarchy of a sensitive attribute, in ARX's CSV format; C=icd for ICD codes.", metavar="C=FILE"
        ),
    )
    """Hierarchies of sensitive attributes, or the files that hold them; "icd" for ICD codes."""

    def run(self, setting: Setting) -> list[AttackResult]:
        """Try it."""
        found = list(_similarity(setting, self.similar))
        if not found:
            raise DoesNotApply(
                "Closeness is known of numbers and of values in a hierarchy; no sensitive attribute is all numbers, "
                "and no hierarchy was given.",
                give="similar",
            )
        return found


def _similarity(setting: Setting, similar: Mapping[str, Hierarchy | str]) -> Iterator[AttackResult]:
    hierarchies = {name: _hierarchy_of(setting, name, given) for name, given in similar.items()}
    for name, values in setting.view.values.items():
        bands = _bands(values, hierarchies.get(name))
        if bands is None:
            continue
        counts = _Counts.of(setting.view, values)
        if not counts.n_persons or not len(counts.value):
            continue
        inside = bands.best(counts.group, counts.value, counts.records)
        whole = np.zeros(len(counts.group), np.int64)
        inside_table = bands.best(whole, counts.value, counts.records)
        right, blind = (counts.persons_with(each, setting, name) for each in (inside, inside_table))
        yield SimilarityAttack.result(
            f"similarity, {name}",
            aim=f"the person has a '{name}' among the values close together that most records of the group have",
            successes=float(min(right, counts.n_persons)),
            targets=counts.n_persons,
            blind=min(blind / counts.n_persons, 1.0),
            is_exact=not setting.tables,
            details={"closeness": bands.what},
        )


def _hierarchy_of(setting: Setting, name: str, given: Hierarchy | str) -> Hierarchy:
    """The hierarchy of a sensitive attribute: as it is, from its file, or that of ICD codes."""
    if isinstance(given, Hierarchy):
        return given
    if given.lower() != "icd":
        return Hierarchy.read_arx_csv(given)
    table = setting.tables.get(name, setting.frame)
    if name not in table.columns:
        raise SchemaError(f"similar names '{name}', but the release has no such column.")
    return Hierarchy.of_icd(table[name].drop_nulls().unique().to_list())


class _InTable(NamedTuple):
    persons: FloatArray
    records: FloatArray


class _Counts(NamedTuple):
    """The lines of the counts of an attribute as arrays, and the sizes of the groups."""

    group: IntArray
    value: IntArray
    persons: IntArray
    records: IntArray
    persons_of_group: IntArray
    records_of_group: FloatArray
    n_codes: int
    released: AttackersView

    @classmethod
    def of(cls, released: AttackersView, values: GroupValues) -> _Counts:
        group, value, persons, records = (
            values.counts[column].to_numpy() for column in ("group", "value", "persons", "records")
        )
        of_group = np.bincount(group, weights=records, minlength=released.n_groups).astype(np.float64)
        told = released.persons_of_group if values.persons_told is None else values.persons_told
        return cls(group, value, persons, records, told, of_group, values.n_codes, released)

    @property
    def n_persons(self) -> int:
        """Persons in groups; a person in several groups counts in each."""
        return int(self.persons_of_group.sum())

    @property
    def share_of_records(self) -> FloatArray:
        return np.asarray(self.records / self.records_of_group[self.group])

    @property
    def share_of_persons(self) -> FloatArray:
        return np.asarray(self.persons / self.persons_of_group[self.group])

    def of_table(self) -> _InTable:
        persons, records = (
            np.bincount(self.value, weights=counts, minlength=self.n_codes).astype(np.float64)
            for counts in (self.persons, self.records)
        )
        return _InTable(persons, records)

    def mean_chance(self, said: FloatArray) -> float:
        """The mean over persons of the chance that a value said with these chances, line by line, is theirs."""
        return float((self.persons * said).sum() / self.n_persons)

    def distances(self, in_table: FloatArray) -> FloatArray:
        """The total variation distance of each group's records from the table's."""
        n_groups = self.released.n_groups
        shared = np.minimum(self.share_of_records, in_table[self.value])
        return np.asarray((self.records_of_group > 0) - np.bincount(self.group, weights=shared, minlength=n_groups))

    def persons_with(self, is_named: FloatArray, setting: Setting, name: str) -> int:
        """How many persons, group by group, have a value on a line that is named."""
        if setting.is_apart:
            sums = np.bincount(self.group, weights=self.persons * is_named, minlength=self.released.n_groups)
            return int(np.minimum(sums, self.persons_of_group).sum())
        named = pl.DataFrame({"group": self.group, "value": self.value}).filter(pl.Series(is_named.astype(np.bool_)))
        rows = pl.DataFrame(
            {
                "group": self.released.group_of_place[self.released.place_of_row],
                "value": self.released.values[name].codes_of(setting.frame[name]),
                "published": self.released.person_of_row,
            }
        )
        return len(rows.join(named, on=["group", "value"], how="semi").unique(["group", "published"]))


class _Bands(NamedTuple):
    """Which values are close together: by a place on a line of length 1, or by a node."""

    what: str
    place_of_value: FloatArray | None
    node_of_value: IntArray | None

    def best(self, group: IntArray, value: IntArray, records: IntArray) -> FloatArray:
        """Line by line 1 where the value belongs to the values close together with the most records of its group."""
        if self.node_of_value is not None:
            node = self.node_of_value[value]
            sums = pl.DataFrame({"group": group, "node": node, "records": records}).with_columns(
                total=pl.col("records").sum().over("group", "node")
            )
            best = sums.sort("total", "node", descending=[True, False]).group_by("group").agg(
                pl.col("node").first().alias("best")
            )  # fmt: skip
            return (sums.join(best, on="group", how="left", maintain_order="left")["best"].to_numpy() == node).astype(
                np.float64
            )
        assert self.place_of_value is not None
        place = self.place_of_value[value]
        is_there = ~np.isnan(place)
        order = np.flatnonzero(is_there)[np.lexsort((place[is_there], group[is_there]))]
        key = group[order] * 2.0 + place[order]
        before = np.append(0, np.cumsum(records[order]))
        end = np.searchsorted(key, key + WINDOW * (1 + 1e-9), side="right")
        inside = before[end] - before[np.arange(len(order))]
        windows = pl.DataFrame({"group": group[order], "at": np.arange(len(order)), "end": end, "inside": inside})
        best_of = windows.sort("inside", "at", descending=[True, False]).group_by("group").agg(pl.all().first())
        named = np.zeros(len(group))
        first, last = best_of["at"].to_numpy(), best_of["end"].to_numpy()
        marks = np.zeros(len(order) + 1, np.int64)
        np.add.at(marks, first, 1)
        np.add.at(marks, last, -1)
        named[order] = np.cumsum(marks)[:-1] > 0
        return named


def _bands(values: GroupValues, hierarchy: Hierarchy | None) -> _Bands | None:
    """Which values are close; None where nothing tells it."""
    if hierarchy is not None:
        texts = values.categories.to_list()
        hierarchy.check_covers(texts)
        number: dict[str, int] = {}
        nodes = [number.setdefault(hierarchy.path(text)[min(1, hierarchy.n_levels - 1)], len(number)) for text in texts]
        return _Bands("the same parent in the hierarchy", None, np.array([*nodes, len(number)], np.int64))
    numbers = values.categories.cast(pl.Float64, strict=False)
    if not len(numbers) or numbers.null_count():
        return None
    low, high = float(numbers.min()), float(numbers.max())  # type: ignore[arg-type]
    scaled = (numbers.to_numpy() - low) / ((high - low) or 1.0)
    return _Bands(f"numbers within {WINDOW:.0%} of the extent", np.append(scaled, np.nan), None)
