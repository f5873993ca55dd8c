"""Two releases about the same persons: whoever knows a person finds their group in both, and keeps what both allow.

The persons who fit both groups are the candidates (the intersection attack); a value that one of the groups lacks is
not the person's, unless it has changed in between.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.attacking.candidates import Candidates
from shoal.attacking.contract import GROUPS, ORIGINAL, OTHER_RELEASE, Attack, AttackResult, DoesNotApply
from shoal.attacking.linkage import commonest, most_frequent, own_values, who_has_value
from shoal.attacking.setting import Setting
from shoal.models.exact import FloatArray, IntArray

MOST_PAIRS = 5_000_000
"""Pairs of a target and a candidate that are looked at together."""


@dataclass(frozen=True)
class _Fits:
    """Of one release the groups that fit each person, and who fits each group."""

    setting: Setting
    pairs: pl.DataFrame
    """`person`, `group`."""

    @classmethod
    def of(cls, setting: Setting) -> _Fits:
        if not setting.shows_groups:
            raise DoesNotApply(GROUPS.why_not)
        candidates = Candidates.of(setting)
        everybody = np.arange(candidates.original.n_persons)
        group_of_place = pl.DataFrame({"place": np.arange(setting.view.n_places), "group": setting.view.group_of_place})
        parts = []
        for block in candidates.blocks(everybody):
            if block.whole is not None:
                fitting = block.whole
            else:
                one = block.known.join(block.fits, on="point")
                n_points = block.known.group_by("target").len("points")
                met = one.group_by("target", "place").agg(pl.col("point").n_unique().alias("fitting"))
                fitting = met.join(n_points, on="target").filter(pl.col("fitting") == pl.col("points"))
            parts.append(fitting.join(group_of_place, on="place").select(person="target", group="group").unique())
        return cls(setting, pl.concat(parts))

    @property
    def persons(self) -> IntArray:
        """Who fits some group."""
        return self.pairs["person"].unique().to_numpy()

    @property
    def sizes(self) -> pl.DataFrame:
        """`group`, `len`: how many persons fit each group."""
        return self.pairs.group_by("group").len()

    def candidates_of(self, targets: pl.DataFrame) -> pl.DataFrame:
        """`target`, `person`: who fits a group that fits the target."""
        groups = targets.join(self.pairs.rename({"person": "target"}), on="target")
        return groups.join(self.pairs, on="group").select("target", "person").unique()

    def values_of(self, targets: pl.DataFrame, name: str) -> pl.DataFrame:
        """`target`, `text`, `weight`: the values of the groups that fit a target, by how many persons have them."""
        values = self.setting.view.values[name]
        groups = targets.join(self.pairs.rename({"person": "target"}), on="target")
        counts = groups.join(values.counts, on="group").group_by("target", "value").agg(pl.col("persons").sum())
        texts = pl.concat([values.texts, pl.Series([None], dtype=pl.String)])
        named = pl.DataFrame({"text": texts, "value": np.arange(len(texts))})
        return counts.with_columns(pl.col("value").cast(pl.Int64)).join(named, on="value").select(
            "target", "text", weight=pl.col("persons").cast(pl.Float64)
        )  # fmt: skip


class TwoReleasesAttack(Attack):
    """How often a person, and their values, are right once both releases are known.

    Notes
    -----
    C(p) are the persons who fit a group that fits p, in both releases; the attacker takes one of them by chance. For
    values the attacker says the one that is likeliest by both: the number of persons who have it in the groups of the
    one release, times that in the other. Values of one release only are not the person's.

    Targets are persons who fit a group in both releases: whoever fits none in one of them is not in it, and to count
    them as failures would make the attack look weaker than it is.
    """

    name = "two-releases"
    question = "Who is it, and what are their values, by what two releases allow together?"
    knows = (
        "The quasi-identifiers of everybody in both releases, and that the person is in both; for values, that these "
        "have not changed in between."
    )
    needs = (OTHER_RELEASE, ORIGINAL)

    def run(self, setting: Setting) -> list[AttackResult]:
        """Try it."""
        other = setting.other
        assert other is not None
        if setting.known_original.n_persons != other.known_original.n_persons:
            raise DoesNotApply("The policies of the two releases do not take the same persons from the original.")
        first, second = _Fits.of(setting), _Fits.of(other)
        everybody = setting.targets
        targets = everybody[np.isin(everybody, first.persons) & np.isin(everybody, second.persons)]
        if not len(targets):
            raise DoesNotApply("Nobody of the original fits what both releases show.")
        n_others = len(everybody) - len(targets)
        return [_on_persons(first, second, targets, n_others), *_on_values(first, second, targets)]


def _on_persons(first: _Fits, second: _Fits, targets: IntArray, n_others: int) -> AttackResult:
    """The chance to point at the person among those who fit both releases; others are not in both, and told."""
    both, one, other = (np.zeros(len(targets)) for _ in range(3))
    for some in _portions(first, second, targets):
        at = np.searchsorted(targets, some["target"].to_numpy())
        found = [fits.candidates_of(some) for fits in (first, second)]
        shared = found[0].join(found[1], on=["target", "person"])
        for counts, pairs in ((both, shared), (one, found[0]), (other, found[1])):
            sizes = some.join(pairs.group_by("target").len(), on="target", how="left", maintain_order="left")
            counts[at] = sizes["len"].fill_null(0).to_numpy()
    chance = _chance(both)
    return TwoReleasesAttack.result(
        "two releases, person",
        aim="the person pointed at is the person",
        successes=float(chance.sum()),
        targets=len(targets),
        blind=1 / first.setting.known_original.n_persons,
        details={
            "success_with_the_first_alone": float(_chance(one).mean()),
            "success_with_the_second_alone": float(_chance(other).mean()),
            "mean_candidates": float(both.mean()),
            "fewest_candidates": int(both.min()),
            "certain": int((both == 1).sum()),
            **({"persons_not_in_both": n_others} if n_others else {}),
        },
    )


def _chance(n_candidates: FloatArray) -> FloatArray:
    return np.asarray(1 / n_candidates)  # everybody is a candidate for themselves


def _portions(first: _Fits, second: _Fits, targets: IntArray) -> list[pl.DataFrame]:
    """Targets some by some, so that their candidates fit in memory."""
    n_pairs = np.zeros(first.setting.known_original.n_persons)
    for fits in (first, second):
        sized = fits.pairs.join(fits.sizes, on="group")
        np.add.at(n_pairs, sized["person"].to_numpy(), sized["len"].to_numpy())
    portion = (np.cumsum(n_pairs[targets]) // MOST_PAIRS).astype(np.int64)
    return [pl.DataFrame({"target": targets[portion == number]}) for number in np.unique(portion)]


def _on_values(first: _Fits, second: _Fits, everybody: IntArray) -> list[AttackResult]:
    """The chance to say a value of the person, for each sensitive attribute of both releases."""
    setting = first.setting
    results = []
    for name in setting.schema.sensitive:
        if name not in second.setting.schema.sensitive:
            continue
        targets = everybody[who_has_value(setting, name, everybody)]
        if not len(targets):
            continue
        everyone = pl.DataFrame({"target": targets})
        one, other = first.values_of(everyone, name), second.values_of(everyone, name)
        both = one.join(other, on=["target", "text"], nulls_equal=True, suffix="_there")
        both = both.with_columns(weight=pl.col("weight") * pl.col("weight_there"))
        n_left = np.zeros(len(targets), np.int64)
        counted = both.group_by("target").len()
        n_left[np.searchsorted(targets, counted["target"].to_numpy())] = counted["len"].to_numpy()
        details: dict[str, Any] = {
            "success_with_the_first_alone": _right(setting, one, name, targets) / len(targets),
            "success_with_the_second_alone": _right(setting, other, name, targets) / len(targets),
            "mean_values_left": float(n_left.mean()),
            "one_value_left": int((n_left == 1).sum()),
            "no_value_left": int((n_left == 0).sum()),
        }
        results.append(
            TwoReleasesAttack.result(
                f"two releases, value of {name}",
                aim=f"a value of '{name}' that is said of the person is theirs",
                successes=_right(setting, both, name, targets),
                targets=len(targets),
                blind=commonest(setting, name),
                details=details,
            )
        )
    return results


def _right(setting: Setting, counts: pl.DataFrame, name: str, targets: IntArray) -> float:
    """How many targets have the value of the largest weight, of equal ones by chance."""
    codes = setting.view.values[name].codes_of(counts["text"])
    coded = counts.select("target", "weight").with_columns(value=pl.Series(codes).cast(pl.Int64))
    own = own_values(setting, name, targets).with_columns(pl.col("target", "value").cast(pl.Int64))
    return math.fsum(most_frequent(coded, own, ["target"])["chance"])  # whatever the order in which they come
