"""The suite: every attack that is tried on a release whose original is known, and how they are run.

A new attack is a function that takes a `Setting` and gives its results, or raises `DoesNotApply` with the reason; its
name goes into ATTACKS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from shoal.attacking import anchored_dates, distance, inference, linkage, minimality, skewness, trajectory, two_releases
from shoal.attacking.result import AttackResult, DoesNotApply, NotTried
from shoal.attacking.setting import Setting
from shoal.errors import ParameterError, did_you_mean

Attack = Callable[[Setting], Sequence[AttackResult]]

ATTACKS: Mapping[str, Attack] = {
    linkage.NAME: linkage.attack_linkage,
    distance.NAME: distance.attack_distance,
    skewness.SKEWNESS: skewness.attack_skewness,
    skewness.SIMILARITY: skewness.attack_similarity,
    trajectory.NAME: trajectory.attack_trajectory,
    anchored_dates.NAME: anchored_dates.attack_anchored_dates,
    inference.NAME: inference.attack_inference,
    two_releases.NAME: two_releases.attack_two_releases,
    minimality.NAME: minimality.attack_minimality,
}
"""The attacks by name, in the order in which they are tried and shown."""


@dataclass(frozen=True)
class SuiteResult:
    """What all attacks got, and which could not be tried."""

    results: tuple[AttackResult, ...]
    not_tried: tuple[NotTried, ...]

    @property
    def worst(self) -> AttackResult | None:
        """The result with the highest success."""
        return max(self.results, key=lambda result: result.success, default=None)

    def above(self, limit: float, *, by: str = "success") -> tuple[AttackResult, ...]:
        """The results whose success (the estimate, not an end of its interval) is above a limit.

        Parameters
        ----------
        by
            "success", or "gain": success less blind guessing.
        """
        gain = {"success": 0.0, "gain": 1.0}[by]
        return tuple(result for result in self.results if result.success - gain * result.blind > limit)

    def to_dict(self) -> dict[str, Any]:
        """Plain values: `attacks` and `not_tried`."""
        return {
            "attacks": [asdict(result) for result in self.results],
            "not_tried": [asdict(each) for each in self.not_tried],
        }


def run_attacks(setting: Setting, attacks: Sequence[str] | None = None) -> SuiteResult:
    """Try the attacks named, or all; those that do not apply say why."""
    names = checked_names(attacks)
    results: list[AttackResult] = []
    not_tried: list[NotTried] = []
    for name in names:
        try:
            results += ATTACKS[name](setting)
        except DoesNotApply as why:
            not_tried.append(NotTried(name, str(why)))
    return SuiteResult(tuple(results), tuple(not_tried))


def checked_names(attacks: Sequence[str] | None) -> tuple[str, ...]:
    """The names of attacks that were asked for, in the suite's order; a name that there is not is refused."""
    if attacks is None:
        return tuple(ATTACKS)
    for name in attacks:
        if name not in ATTACKS:
            raise ParameterError(
                f"There is no attack '{name}'. Choose from: {', '.join(ATTACKS)}.{did_you_mean(name, ATTACKS)}"
            )
    return tuple(name for name in ATTACKS if name in attacks)
