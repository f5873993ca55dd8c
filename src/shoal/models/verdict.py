"""The verdict: model by model, what was asked, what was reached, and whether it holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.models.contract import Model, worst_of
from shoal.models.counts import GroupCounts

PUBLISHED_TABLE = "published table"
TABLE = "table"


@dataclass(frozen=True)
class ModelVerdict:
    """What one model asked, and what the groups reached."""

    name: str
    asked: float
    reached: float
    holds: bool
    checked_from: str
    broken_groups: int = 0

    def to_dict(self) -> dict[str, object]:
        """The entry of the JSON contract."""
        return {
            "name": self.name, "asked": self.asked, "reached": self.reached, "holds": self.holds,
            "checked_from": self.checked_from,
        }  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """Whether every model holds in every group."""

    models: tuple[ModelVerdict, ...]
    n_groups: int
    problems: tuple[str, ...] = ()
    """What else is wrong with a release, in plain sentences; a release with a problem does not hold."""

    @property
    def holds(self) -> bool:
        """Whether every model holds and nothing else is wrong."""
        return all(model.holds for model in self.models) and not self.problems

    def to_dict(self) -> dict[str, object]:
        """The verdict of the JSON contract."""
        verdict: dict[str, object] = {"holds": self.holds, "models": [model.to_dict() for model in self.models]}
        if self.problems:
            verdict["problems"] = list(self.problems)
        return verdict


def judge(models: Sequence[Model], counts: GroupCounts, *, checked_from: str, problems: Sequence[str] = ()) -> Verdict:
    """Ask every model about every group."""
    verdicts = []
    for model in models:
        holds = model.holds(counts)
        reached = worst_of(model, model.reached(counts))
        broken = int(np.count_nonzero(~holds))
        verdicts.append(ModelVerdict(model.name, model.asked, reached, broken == 0, checked_from, broken))
    return Verdict(tuple(verdicts), len(counts), tuple(problems))
