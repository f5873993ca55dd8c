"""What an attack is: the one contract that the suite, the command line, the app and the report ask."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from shoal.errors import ParameterError
from shoal.parts import Part

if TYPE_CHECKING:
    from shoal.attacking.setting import Setting
    from shoal.judging.observation import Observation
    from shoal.judging.risk import Risk
    from shoal.measuring.spread import RiskSpread
    from shoal.measuring.statistics import Linkage

NORMAL_95 = 1.959963984540054
"""A standard normal variable stays within this on both sides of 0 with a probability of 95 %."""


@dataclass(frozen=True, kw_only=True)
class AttackResult:
    """How often one way of attacking is right.

    Attributes
    ----------
    attack, name
        The attack, and this way of trying it; the name is unique among the results of a release.
    knows
        What the attacker knows, in one plain sentence.
    aim
        What counts as a success, in a few words.
    success, low, high
        The share of targets for whom the attacker is right (the mean of their chances where these can be computed),
        and a 95 % interval by Wilson's method: the targets are taken as drawn from persons like them.
    blind
        What a guess gets without the release.
    targets
        How many persons were attacked.
    is_exact
        Whether the success is that of this attack. If not it is a bound (`Attack.bound`).
    details
        Further numbers, by name.
    """

    attack: str
    name: str
    knows: str
    aim: str
    success: float
    low: float
    high: float
    blind: float
    targets: int
    is_exact: bool = True
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Remedy:
    """What would lower the success of an attack, and the release as it would then be published, to try it on.

    It leaves groups and what is shown of them as they are: forming others takes another run.
    """

    line: str
    """The line of a policy, under [columns]."""
    says: str
    """What it does, in words that go on after 'to'."""
    setting: Setting


@dataclass(frozen=True)
class NotTried:
    """An attack that does not apply to a release, and why; `give` is the parameter by which it would, if any."""

    attack: str
    why: str
    give: str | None = None


class DoesNotApply(Exception):  # noqa: N818 - it is no error
    """Raised by an attack that cannot be tried on a release; the message says why.

    `give` is the parameter of `attack` that would give what is missing, for doors that call it otherwise.
    """

    def __init__(self, why: str, *, give: str | None = None) -> None:
        super().__init__(why)
        self.give = give


@dataclass(frozen=True)
class Need:
    """Something that an attack cannot do without."""

    why_not: str
    """What is said where it is not there."""
    is_met: Callable[[Setting], bool]
    give: str | None = None
    """The parameter of `attack` that gives it."""


ORIGINAL = Need("It takes the original table.", lambda setting: setting.original is not None, "original")
PERSON_OF_RECORD = Need(
    "Only somebody who knows which person a published record belongs to can tell whether a link is right: keep the "
    "person map when you protect, attack while you protect, or say how else it can be told.",
    lambda setting: setting.origin is not None,
    "whose",
)
OTHER_RELEASE = Need(
    "It takes another release about the same persons.", lambda setting: setting.other is not None, "other"
)
METHOD = Need(
    "It takes the policy by which the release was made.", lambda setting: setting.method is not None, "method"
)
RULES = Need("It takes rules that the adversary knows.", lambda setting: setting.rules is not None, "rules")
SENSITIVE = Need("The schema names no sensitive attribute.", lambda setting: bool(setting.schema.sensitive))
GROUPS = Need("Values are perturbed, so that nobody sees groups.", lambda setting: setting.shows_groups)
LINKED_VALUES = Need(
    "The release does not show which values belong to one person.", lambda setting: not setting.is_apart
)


class Attack(Part, ABC):
    """A way to learn something of the persons of a release, always told beside blind guessing.

    Its options are the fields of its dataclass, each with a default. What an attack does not say of itself is taken in
    the way that is safe: it needs the original, it belongs to the suite, a success that is not exact is taken to be too
    low, and one that gives no result was not tried.
    """

    question: ClassVar[str] = ""
    """What it asks, in plain words: "Whose is this record?"."""
    knows: ClassVar[str] = "It is not said what: take it to be everything."
    """What the attacker knows, in plain words; a result may say it more exactly."""
    unit: ClassVar[str] = "persons"
    """What success is a share of."""
    needs: ClassVar[tuple[Need, ...]] = (ORIGINAL,)
    """What it cannot do without, in the order in which that is looked for."""
    in_suite: ClassVar[bool] = True
    """Whether it is tried wherever a release is attacked, unless told otherwise. One that is not looks at what is
    published alone: it is tried by name, and answers under its own name with `details`."""
    bound: ClassVar[Literal["at least", "at most"]] = "at least"
    """What a success is that is not exact."""
    is_nested: ClassVar[bool] = False
    """Whether each result's attacker knows more than the one before, so that the strongest says it all."""
    too_costly: ClassVar[str | None] = None
    """Why it is left out of a report unless attacks are asked for, where it takes more than a small part of the run."""
    heading: ClassVar[str] = "With the original: how often an attacker is right"
    """What stands above the table of its results; attacks with the same heading share one."""

    def why_not(self, setting: Setting) -> str | None:
        """Why it cannot be tried on a release, in a sentence; None where it can, as far as that is seen beforehand."""
        return next((need.why_not for need in self.needs if not need.is_met(setting)), None)

    @abstractmethod
    def run(self, setting: Setting) -> Sequence[AttackResult]:
        """Try it where its needs are met; `DoesNotApply` where it turns out that it cannot be."""

    def try_on(self, setting: Setting) -> tuple[AttackResult, ...]:
        """Try it on a release, or raise `DoesNotApply` with the reason."""
        why_not = self.why_not(setting)
        if why_not is not None:
            given_by = {need.why_not: need.give for need in self.needs}
            raise DoesNotApply(why_not, give=given_by.get(why_not))
        results = tuple(self.run(setting))
        if not results:
            raise DoesNotApply("It gave no result.")
        return results

    def row(self, result: AttackResult) -> dict[str, str]:
        """What its table has of a result, by heading."""
        return {
            "attack": result.name,
            "success": f"{'' if result.is_exact else f'{self.bound} '}{result.success:.1%}",
            "95 % interval": f"{result.low:.1%} to {result.high:.1%}",
            "blind guess": f"{result.blind:.1%}",
            self.unit: f"{result.targets:,}",
        }

    def remarks(self, results: Sequence[AttackResult]) -> list[str]:
        """What is said below its table, in sentences."""
        return []

    def remedies(self, setting: Setting, result: AttackResult) -> Iterable[Remedy]:
        """What might lower a result of its own and is cheap to try, the likeliest first; nothing unless it says so."""
        return ()

    def findings(self, recounted: Recounted) -> Iterable[Finding]:
        """What it gets from what a recount has seen, for the report; nothing unless it says so."""
        return ()

    @classmethod
    def result(
        cls,
        name: str,
        *,
        knows: str | None = None,
        aim: str,
        successes: float,
        targets: int,
        blind: float,
        is_exact: bool = True,
        details: Mapping[str, Any] | None = None,
    ) -> AttackResult:
        """A result with its interval, from the (expected) number of targets for whom the attacker is right."""
        low, high = wilson(successes, targets)
        return AttackResult(
            attack=cls.name, name=name, knows=knows or cls.knows, aim=aim, success=min(successes / targets, 1.0),
            low=low, high=high, blind=blind, targets=targets, is_exact=is_exact, details=dict(details or {}),
        )  # fmt: skip


def wilson(successes: float, n: int) -> tuple[float, float]:
    """The 95 % interval of a share by Wilson's method (1927).

    `successes` may be a sum of chances: that of outcomes which are 0 or 1 varies most for a given mean, so the interval
    is then wider than needed, never narrower.

    >>> low, high = wilson(5, 10)
    >>> round(low, 4), round(high, 4)
    (0.2366, 0.7634)
    """
    if n < 1:
        raise ParameterError("An interval needs at least one target.")
    share = min(max(successes / n, 0.0), 1.0)
    square = NORMAL_95**2
    centre = (share + square / (2 * n)) / (1 + square / n)
    half = NORMAL_95 * math.sqrt(share * (1 - share) / n + square / (4 * n * n)) / (1 + square / n)
    low = 0.0 if share == 0 else max(centre - half, 0.0)
    return low, 1.0 if share == 1 else min(centre + half, 1.0)


# --- what a report shows without the original ------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Recounted:
    """What a recount has seen of a release, for the attacks that a report tries.

    Attributes
    ----------
    risk, spread, seen
        The release: its risks, how they are spread, and who is published alike with which values. The last two are
        None where what is at hand does not show them.
    quasi
        The quasi-identifiers.
    before, spread_before
        The table as it was, where it was measured.
    linkage
        Of a perturbed release.
    seed
        Governs which groups are drawn where there are too many to try all.
    shows_groups
        Whether persons of a group look alike; not so in a perturbed release.
    has_groups
        Whether there are groups at all; not so where persons are changed one by one.
    """

    risk: Risk
    spread: RiskSpread | None
    seen: Observation | None
    quasi: tuple[str, ...]
    before: Risk | None = None
    spread_before: RiskSpread | None = None
    linkage: Linkage | None = None
    seed: int = 0
    shows_groups: bool = True
    has_groups: bool = True


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One try of an attack, as shares of persons for whom it is right.

    Attributes
    ----------
    label, what
        What was tried, in short and in words.
    success, blind, before
        On the release; without the release; on the table as it was. None where it does not apply or was not tried.
    is_exact
        Whether the success is exact; if not, it is a lower bound.
    """

    label: str
    what: str
    success: float
    blind: float | None
    before: float | None = None
    is_exact: bool = True


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What one attack got from what a recount has seen.

    Attributes
    ----------
    name, knows, does
        What it is called, what the adversary knows, and what they do.
    persons
        How many persons it was tried on.
    """

    name: str
    knows: str
    does: str
    persons: int
    attempts: tuple[Attempt, ...]
