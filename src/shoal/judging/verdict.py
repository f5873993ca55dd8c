"""The verdict: model by model, what was asked, what was reached, and whether it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import Protocol

import numpy as np

from shoal.errors import PrivacyNotMetError, SchemaError
from shoal.models.contract import Model, worst_of
from shoal.models.counts import JOINT, GroupCounts
from shoal.short import Short, ShownInShort

PUBLISHED_TABLE = "published table"
BOUND = "published table, by a bound"
STEWARD = "steward"
NOT_SHOWN = "not shown by the published table"
BOTH = "persons by the steward, episodes by the published table"
TABLE = "table"
ORIGINAL = "original table"
LINKAGE = "max-linkage"
"""What the verdict calls a limit on who may be linked to their original values, where no model can be promised."""

ALLOW_IT = "Drop or coarsen what singles out, name it as quasi-identifier, or allow it (allow_alone)."
LOWER_IT = "Drop or coarsen what makes them so, or ask for larger groups."
HINTS = (ALLOW_IT, LOWER_IT)
"""What to do where more are alone than may be."""


class _Holds(Protocol):
    @property
    def holds(self) -> bool: ...


class Answer:
    """An answer that holds or does not: `assert verify(…)` asks what it says, not whether there is one."""

    def __bool__(self: _Holds) -> bool:
        """Whether it holds."""
        return self.holds


@dataclass(frozen=True)
class ModelVerdict(Answer):
    """What one model asked, and what the groups reached."""

    name: str
    asked: float
    reached: float
    holds: bool
    checked_from: str
    broken_groups: int = 0
    column: str | None = None
    """The sensitive attribute that it is about, where the model names one."""

    @property
    def told(self) -> str:
        """The model by its name, and the column that it is about, where it names one."""
        return self.name if self.column is None else f"{self.name} of '{self.column}'"

    def to_dict(self) -> dict[str, object]:
        """The entry of the JSON contract."""
        about = {} if self.column is None else {"column": self.column}
        return {
            "name": self.name, **about, "asked": self.asked, "reached": self.reached, "holds": self.holds,
            "checked_from": self.checked_from,
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TableVerdict:
    """What one of several related tables shows by its own rows."""

    name: str
    rows: int
    persons: int
    """How many persons have rows in it."""
    groups: int
    """How many groups have rows in it."""
    persons_per_group: tuple[int, float, int] | None
    """How many persons have rows in it, in each group that has some: fewest, median, most; None without rows."""
    models: tuple[ModelVerdict, ...]
    alone_by: Mapping[str, int]
    """How many persons are alone in their group by what its rows show, and those that they hang on, beside
    quasi-identifiers."""

    def to_dict(self) -> dict[str, object]:
        """The entry of the JSON contract."""
        spread = self.persons_per_group
        per_group = None if spread is None else dict(zip(("fewest", "median", "most"), spread, strict=True))
        return {
            "name": self.name, "rows": self.rows, "persons": self.persons, "groups": self.groups,
            "persons_per_group": per_group, "alone_by": dict(self.alone_by),
            "models": [model.to_dict() for model in self.models],
        }  # fmt: skip


@dataclass(frozen=True, repr=False)
class Verdict(Answer, ShownInShort):
    """Whether every model holds in every group; where none was asked, nothing was promised, and nothing holds."""

    models: tuple[ModelVerdict, ...]
    n_groups: int
    problems: tuple[str, ...] = ()
    """What else is wrong with a release, in plain sentences; a release with a problem does not hold."""
    notes: tuple[str, ...] = ()
    """What the verdict does not say by itself, such as that identities are visible."""
    tables: tuple[TableVerdict, ...] = ()
    """What each of several related tables shows by itself."""

    @property
    def holds(self) -> bool:
        """Whether there are models, every one of them holds, and nothing else is wrong."""
        return bool(self.models) and all(model.holds for model in self.models) and not self.problems

    @property
    def state(self) -> str:
        """Whether it holds, in words."""
        return "no model was asked" if not self.models else "holds" if self.holds else "does NOT hold"

    def short(self) -> Short:
        """Model by model, what was asked and reached, and what else is wrong."""
        rows = [
            (model.told, f"{model.asked:g}", f"{model.reached:.4g}", "met" if model.holds else "NOT met")
            for model in self.models
        ]
        problems = [f"problem: {problem}" for problem in self.problems]
        return Short(
            title=f"Verdict: {self.state}", headings=("model", "asked", "reached", ""), rows=rows, lines=problems
        )

    def to_dict(self) -> dict[str, object]:
        """The verdict of the JSON contract."""
        verdict: dict[str, object] = {"holds": self.holds, "models": [model.to_dict() for model in self.models]}
        if self.problems:
            verdict["problems"] = list(self.problems)
        if self.notes:
            verdict["notes"] = list(self.notes)
        if self.tables:
            verdict["tables"] = [table.to_dict() for table in self.tables]
        return verdict


def judge(
    models: Sequence[Model],
    counts: GroupCounts,
    *,
    checked_from: str,
    problems: Sequence[str] = (),
    notes: Sequence[str] = (),
    steward: GroupCounts | None = None,
) -> Verdict:
    """Ask every model about every group.

    Where the counts do not show what a model needs, a bound of the model's that is safe is tried on what they show,
    then what the steward keeps; a model that can be checked by neither does not hold. Nor does a model of all sensitive
    attributes together that these attributes do not fit, and why is a problem.
    """
    verdicts, misfits = [], []
    for model in models:
        try:
            verdicts.append(_judged(model, counts, checked_from, steward))
        except SchemaError as misfit:
            if not model.needs & JOINT:
                raise
            misfits.append(str(misfit))
            verdicts.append(_unproved(model, counts, checked_from))
    return Verdict(tuple(verdicts), len(counts), (*problems, *misfits), tuple(notes))


def with_linkage(verdict: Verdict, *, asked: float = nan, reached: float = nan) -> Verdict:
    """The verdict with a limit on who may be linked; where nobody measured it with the original, it does not hold."""
    gate = ModelVerdict(LINKAGE, asked, reached, reached <= asked, NOT_SHOWN if isnan(reached) else ORIGINAL)
    return replace(verdict, models=(*verdict.models, gate))


def judge_episodes(
    models: Sequence[Model],
    episodes: GroupCounts,
    persons: GroupCounts | None,
    *,
    shown: frozenset[str],
    problems: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Verdict:
    """Ask every model twice: about episodes, which a published table shows, and about persons, whom the steward knows.

    A model holds where it holds in both; the worse of the two is what is reached. Without what the steward keeps one of
    persons does not hold, whatever episodes show, since several of them may be one person's.

    Parameters
    ----------
    shown
        The counts that are the same for both, so that a published table alone is enough.
    """
    verdicts = []
    for model in models:
        seen = _asked(model, episodes, PUBLISHED_TABLE)
        if model.needs <= shown:
            verdicts.append(seen)
        elif persons is None:
            verdicts.append(_unproved(model, episodes, NOT_SHOWN))
        else:
            kept = _asked(model, persons, BOTH)
            worse = min if model.higher_is_safer else max
            verdicts.append(
                replace(
                    kept, reached=worse(kept.reached, seen.reached), holds=kept.holds and seen.holds,
                    broken_groups=max(kept.broken_groups, seen.broken_groups),
                )
            )  # fmt: skip
    return Verdict(tuple(verdicts), len(episodes), tuple(problems), tuple(notes))


WORST_FIRST = (NOT_SHOWN, STEWARD, BOUND)
"""From what a model was checked, the weakest first."""


def judged_together(
    models: Sequence[Model],
    parts: Sequence[Sequence[ModelVerdict]],
    checked_from: str,
    *,
    groups: GroupCounts | None = None,
) -> tuple[ModelVerdict, ...]:
    """What models say of all groups, from what they say of some at a time; no group is in two parts.

    Parameters
    ----------
    groups
        How many persons each group of all parts has: models of the whole table are asked of all of them.
    """
    verdicts = []
    for place, model in enumerate(models):
        own = [part[place] for part in parts]
        if model.is_of_whole_table and groups is not None and all(part.checked_from != NOT_SHOWN for part in own):
            verdicts.append(_judged(model, groups, checked_from, None))
            continue
        reached = [part.reached for part in own]
        worst = (min if model.higher_is_safer else max)(reached) if not any(map(isnan, reached)) else nan
        origin = next((name for name in WORST_FIRST if any(part.checked_from == name for part in own)), checked_from)
        broken = sum(part.broken_groups for part in own)
        holds = all(part.holds for part in own)
        verdicts.append(ModelVerdict(model.name, model.asked, worst, holds, origin, broken, model.column))
    return tuple(verdicts)


def _judged(model: Model, counts: GroupCounts, checked_from: str, steward: GroupCounts | None) -> ModelVerdict:
    if model.needs <= counts.known:
        return _asked(model, counts, checked_from)
    if _holds_by_bound(model, counts):
        return ModelVerdict(model.name, model.asked, model.asked, True, BOUND, column=model.column)
    if steward is not None and model.needs <= steward.known:
        return _asked(model, steward, STEWARD)
    return _unproved(model, counts, NOT_SHOWN)


def _unproved(model: Model, counts: GroupCounts, checked_from: str) -> ModelVerdict:
    return ModelVerdict(model.name, model.asked, float("nan"), False, checked_from, len(counts), model.column)


def _asked(model: Model, counts: GroupCounts, checked_from: str) -> ModelVerdict:
    holds = model.holds(counts)
    broken = int(np.count_nonzero(~holds))
    reached = worst_of(model, model.reached(counts))
    return ModelVerdict(model.name, model.asked, reached, broken == 0, checked_from, broken, model.column)


def _holds_by_bound(model: Model, counts: GroupCounts) -> bool:
    return len(counts) > 0 and bool(model.holds_by_bound(counts).all())


def not_met_unhidden(verdict: Verdict, models: Sequence[Model]) -> PrivacyNotMetError:
    """As `not_met`, of an engine that checks histories and does not hide them."""
    if all(
        judged.holds for model, judged in zip(models, verdict.models, strict=True) if model.of_histories is not None
    ):
        return not_met(verdict)
    hint = "Histories are hidden in memory only: choose the engine 'memory'."
    return PrivacyNotMetError(f"{why_not(verdict)} {hint}", hint=hint)


def not_met(verdict: Verdict, said: str | None = None) -> PrivacyNotMetError:
    """The error of a release whose verdict does not hold; where persons are alone by what else leaves, with a hint."""
    hints = [hint for hint in HINTS if any(hint in problem for problem in verdict.problems)]
    return PrivacyNotMetError(said or why_not(verdict), hint=" ".join(hints) or None)


def why_not(verdict: Verdict) -> str:
    """Which models a verdict says are broken, in one message."""
    broken = [
        f"{model.broken_groups:,} of {verdict.n_groups:,} groups break {model.told} {model.asked:g} "
        f"({'lowest' if model.reached < model.asked else 'highest'}: {model.reached:.4g})."
        for model in verdict.models
        if not model.holds
    ]
    return " ".join([*broken, *verdict.problems, "Nothing was written."])
