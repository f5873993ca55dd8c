"""Anchored dates: somebody knows days of the table and tells from them by how many days a person's dates were shifted.

All dates of a person are shifted by one number of days. The day on which a study began, the days between which the
table lies, or how busy each day was, are known to many; each leaves only some shifts possible, and once the shift is
known so are all dates of the person.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from shoal.attacking.contract import ORIGINAL, PERSON_OF_RECORD, Attack, AttackResult, DoesNotApply, Need, Remedy
from shoal.attacking.setting import Setting
from shoal.masking.secrecy import MOST_DAYS_SHIFTED
from shoal.models.exact import BoolArray, FloatArray, IntArray
from shoal.table.times import local_days

SHIFTED_DATES = Need(
    "No times are published as shifted dates.",
    lambda setting: setting.schema.time is not None and setting.schema.time_as == "shift",
)
HALF = 0.5
"""A day that nobody else has counts as that of half a person: it is unlikely, and not impossible."""


class AnchoredDatesAttack(Attack):
    """How often the days by which a person's dates were shifted are found, by three things that may be known.

    The first and the last day of the table; besides, the day that most persons have, of which the attacker takes a
    person to have it wherever one of their dates can be it; besides, how many other persons have each day. Of the
    shifts that are likeliest by that the attacker takes one by chance.
    """

    name = "anchored-dates"
    question = "By how many days were somebody's dates shifted?"
    knows = "Days of the table: its first and its last, the one that most persons have, how many have each."
    needs = (SHIFTED_DATES, ORIGINAL, PERSON_OF_RECORD)

    def run(self, setting: Setting) -> list[AttackResult]:
        """Try it."""
        if setting.schema.time not in setting.frame.columns:
            raise DoesNotApply(f"The published table lacks '{setting.schema.time}'.")
        dates = _Dates.of(setting)
        target = np.intersect1d(setting.targets, dates.person)
        if not len(target):
            raise DoesNotApply("Nobody has a date in the release.")
        return list(_tried(dates, np.searchsorted(dates.person, target)))

    def remedies(self, setting: Setting, result: AttackResult) -> Iterator[Remedy]:
        """Publish numbers of the order rather than dates."""
        in_order = replace(setting, schema=replace(setting.schema, time_as="sequence"))
        yield Remedy('time_as = "sequence"', "publish each person's order of records rather than dates", in_order)


@dataclass(frozen=True)
class _Dates:
    """The different days of each person as they are published, and by how many days they were shifted."""

    person: IntArray
    """The persons who have a day, ascending."""
    start: IntArray
    day: IntArray
    """The published days of the person at place i, ascending: day[start[i] : start[i + 1]]."""
    shift: IntArray

    @classmethod
    def of(cls, setting: Setting) -> _Dates:
        original, name, zone = setting.known_original, str(setting.schema.time), setting.schema.zone
        shown = _days(setting.origin, local_days(setting.frame[name], zone).days)
        own = _days(original.person_of_record.astype(np.int64), local_days(original.frame[name], zone).days)
        shift = _shifts(shown, own)
        shown = shown.join(shift, on="person", how="semi").sort("person", "day")
        person, count = np.unique(shown["person"].to_numpy(), return_counts=True)
        return cls(
            person, np.append(0, np.cumsum(count)), shown["day"].to_numpy(), shift.sort("person")["shift"].to_numpy()
        )

    @property
    def real(self) -> IntArray:
        """Of each published day which one it was."""
        return self.day - np.repeat(self.shift, np.diff(self.start))


def _days(person: IntArray | None, days: pl.Series) -> pl.DataFrame:
    frame = pl.DataFrame({"person": person, "day": days.to_physical()}).drop_nulls()
    return frame.select(pl.col("person", "day").cast(pl.Int64)).unique()


def _shifts(shown: pl.DataFrame, own: pl.DataFrame) -> pl.DataFrame:
    """By how many days each person was shifted: the difference that most of their published days have to their own."""
    ends = [pl.col("day").min().alias("first"), pl.col("day").max().alias("last"), pl.len().alias("n")]
    both = shown.group_by("person").agg(*ends).join(own.group_by("person").agg(*ends), on="person", suffix="_own")
    both = both.with_columns(shift=pl.col("first") - pl.col("first_own"))
    is_plain = (pl.col("n") == pl.col("n_own")) & (pl.col("last") - pl.col("last_own") == pl.col("shift"))
    plain = both.filter(is_plain).select("person", "shift")
    pairs = shown.join(both.filter(~is_plain), on="person", how="semi").join(own, on="person", suffix="_own")
    counted = pairs.group_by("person", shift=pl.col("day") - pl.col("day_own")).len()
    likeliest = counted.sort("len", pl.col("shift").abs(), descending=[True, False]).unique("person", keep="first")
    return pl.concat([plain, likeliest.select("person", "shift")])


def _tried(dates: _Dates, places: IntArray) -> Iterator[AttackResult]:
    real = dates.real
    first, last = int(real.min()), int(real.max())
    calendar = _Calendar(dates, real)
    most = max(MOST_DAYS_SHIFTED, int(np.abs(dates.shift).max()))
    shifts = np.arange(-most, most + 1)
    if not (dates.shift == 0).any():
        shifts = shifts[shifts != 0]
    shared = calendar.most_shared
    ways: list[tuple[str, str, Callable[[IntArray, IntArray], FloatArray]]] = [
        ("first and last day", "The first and the last day of the table.", lambda days, _: np.zeros(days.shape[1])),
        ("shared date", "The first and the last day of the table, and the day that most persons have.",
         lambda days, _: (days == shared).any(axis=0).astype(np.float64)),
        ("calendar", "How many other persons have each day of the table.", calendar.likelihood),
    ]  # fmt: skip
    for name, knowledge, likelihood in ways:
        chance = np.zeros(len(places))
        for at, place in enumerate(places.tolist()):
            own = slice(dates.start[place], dates.start[place + 1])
            days = dates.day[own][:, None] - shifts[None, :]
            is_inside = (days[0] >= first) & (days[-1] <= last)
            likely = np.where(is_inside, likelihood(days, real[own]), -np.inf)
            best = shifts[likely == likely.max()]
            chance[at] = (dates.shift[place] == best).any() / len(best)
        has_shared = calendar.has_most_shared[places]
        details: dict[str, float] = {"certain": int((chance == 1).sum())}
        if name == "shared date":
            details |= {"persons_sharing": int(has_shared.sum()),
                        "right_of_sharing": float(chance[has_shared].mean()) if has_shared.any() else 0.0}  # fmt: skip
        yield AnchoredDatesAttack.result(
            f"anchored-dates, {name}",
            knows=knowledge,
            aim="the number of days by which the person's dates were shifted",
            successes=float(chance.sum()),
            targets=len(places),
            blind=1 / len(shifts),
            details=details,
        )


class _Calendar:
    """How many persons have each day."""

    def __init__(self, dates: _Dates, real: IntArray) -> None:
        self.first = int(real.min())
        self.persons = np.bincount(real - self.first)
        self.most_shared = self.first + int(self.persons.argmax())
        is_shared: BoolArray = real == self.most_shared
        self.has_most_shared = np.logical_or.reduceat(is_shared, dates.start[:-1])

    def likelihood(self, days: IntArray, own: IntArray) -> FloatArray:
        """Of each shift how likely the days are by those of others; rounded, so that equal sums are equal."""
        at = np.clip(days - self.first, 0, len(self.persons) - 1)
        counts = self.persons[at] - np.isin(days, own)
        return np.round(np.log(counts + HALF).sum(axis=0), 9)
