"""The attacks that a report tries on a release, each beside blind guessing.

A new attack is a function that takes what is known of a release and gives a finding, or None where it does not apply;
its name goes into ATTACKS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from shoal.attacking.background import attack_background
from shoal.attacking.elimination import attack_elimination
from shoal.judging.observation import Observation
from shoal.judging.risk import Risk
from shoal.measuring.spread import RiskSpread
from shoal.measuring.statistics import Linkage
from shoal.models.counts import BACKGROUND, JOINT

MOST_EXCLUDED = 2
"""How many values an adversary excludes at the most."""
MOST_ATTACKED = 20_000
"""Persons whose groups are searched for exclusions; of more persons, groups are drawn."""
WORK_LIMIT = 100
"""Steps that a search may take for each person of a group."""


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
    """What one attack got.

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


@dataclass(frozen=True, kw_only=True)
class Attacked:
    """What attacks may look at.

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


def find_the_person(known: Attacked) -> Finding | None:
    """Take one of those who look alike for the person looked for."""
    if not known.shows_groups:
        return None
    return Finding(
        name="find the person",
        knows=f"a person’s {_listed(known.quasi)}, and that they are in the table",
        does="picks one of the persons whose published values fit",
        persons=known.risk.persons,
        attempts=(
            Attempt(
                label="find the person",
                what="the right person is picked",
                success=known.risk.marketer_risk,
                blind=1 / known.risk.persons,
                before=None if known.before is None else known.before.marketer_risk,
            ),
        ),
    )


def take_a_record(known: Attacked) -> Finding | None:
    """Take any record of the person's group for theirs."""
    if not known.shows_groups or known.spread is None or not np.isfinite(known.risk.max_gidr):
        return None
    before = known.spread_before
    return Finding(
        name="take a record",
        knows="a person’s group",
        does="takes one of the group’s records for theirs",
        persons=known.risk.persons,
        attempts=(
            Attempt(
                label="take a record",
                what="the record is the person’s",
                success=known.spread.mean_record_risk,
                blind=1 / known.risk.persons,
                before=None if before is None else before.mean_record_risk,
            ),
        ),
    )


def guess_a_value(known: Attacked) -> Finding | None:
    """Guess the value that most persons of the group have."""
    if known.spread is None or not known.spread.guessed:
        return None
    before = known.spread_before
    return Finding(
        name="guess a value",
        knows="a person’s group",
        does="guesses the value that most persons of the group have",
        persons=known.risk.persons,
        attempts=tuple(
            Attempt(
                label=f"guess ‘{name}’",
                what=f"the person has that value of ‘{name}’",
                success=success,
                blind=known.spread.blind[name],
                before=None if before is None else before.guessed.get(name),
            )
            for name, success in known.spread.guessed.items()
        ),
    )


def exclude_values(known: Attacked) -> Finding | None:
    """Exclude values that the person is known not to have (`shoal.attacking.elimination`)."""
    if known.seen is None or known.spread is None or not known.seen.sensitive:
        return None
    seen = _some_groups(known.seen, known.seed)
    joint = seen.counts(JOINT).joint
    assert joint is not None
    results = [attack_elimination(joint, e, work_limit=WORK_LIMIT) for e in range(MOST_EXCLUDED + 1)]
    return Finding(
        name="exclude values",
        knows="a person’s group, and some values that the person does not have",
        does="excludes all who have these values; where those left share a value, it is the person’s",
        persons=len(joint.who),
        attempts=tuple(
            Attempt(
                label=f"exclude {_excluded(result.e)}",
                what=f"a value is known for sure by excluding {_excluded(result.e)}",
                success=result.share,
                blind=max(known.spread.blind.values()),
                is_exact=result.is_exact,
            )
            for result in results
        ),
    )


def use_rules(known: Attacked) -> Finding | None:
    """Strike values that rules exclude, for a release that was made against them (`shoal.attacking.background`)."""
    if known.seen is None or known.seen.known is None:
        return None
    counts = _some_groups(known.seen, known.seed).counts(BACKGROUND)
    results = [attack_background(counts, name, 2) for name in known.seen.known.types_of_record]
    return Finding(
        name="use rules",
        knows="a person’s group, and the rules that the release was made against",
        does="strikes the values that the rules exclude, and those that would leave the others without one",
        persons=results[0].persons,
        attempts=tuple(
            Attempt(
                label=f"rules on ‘{result.column}’",
                what=f"a value of ‘{result.column}’ is known for sure",
                success=result.known_by_matching / result.persons,
                blind=result.blind,
            )
            for result in results
        ),
    )


def link_numbers(known: Attacked) -> Finding | None:
    """Link perturbed numbers to the original ones that are closest."""
    if known.linkage is None:
        return None
    n = known.linkage.n
    return Finding(
        name="link numbers",
        knows="a person’s exact numbers",
        does="takes the published person whose numbers are closest, or second closest",
        persons=n,
        attempts=(
            Attempt(
                label="link to the closest",
                what="the closest is the person",
                success=known.linkage.linked / n,
                blind=1 / n,
            ),
            Attempt(
                label="link to one of two",
                what="the closest or second closest is",
                success=known.linkage.rate,
                blind=min(2 / n, 1.0),
            ),
        ),
    )


Attack = Callable[[Attacked], Finding | None]
ATTACKS: tuple[Attack, ...] = (find_the_person, take_a_record, guess_a_value, exclude_values, use_rules, link_numbers)
"""The attacks in the order in which the report has them."""


def findings(known: Attacked) -> Iterator[Finding]:
    """What every attack that applies got."""
    for attack in ATTACKS:
        found = attack(known)
        if found is not None:
            yield found


def _excluded(e: int) -> str:
    return {0: "nothing", 1: "one value"}.get(e, f"up to {e} values")


def _some_groups(seen: Observation, seed: int) -> Observation:
    """What is seen, or some of its groups drawn at random with about MOST_ATTACKED persons."""
    if seen.n_persons <= MOST_ATTACKED:
        return seen
    persons = seen.counts(frozenset()).persons
    order = np.random.default_rng(seed).permutation(seen.n_groups)
    drawn = order[: int(np.searchsorted(np.cumsum(persons[order]), MOST_ATTACKED)) + 1]
    number = np.full(seen.n_groups, -1, dtype=np.int32)
    number[drawn] = np.arange(len(drawn), dtype=np.int32)
    records = np.flatnonzero(number[seen.group_of_record] >= 0)
    person, person_of_record = np.unique(seen.person_of_record[records], return_inverse=True)
    return Observation(
        number[seen.group_of_record[records]],
        len(drawn),
        person_of_record.astype(np.int32),
        len(person),
        {name: replace(column, codes=column.codes[records]) for name, column in seen.sensitive.items()},
        None if seen.known is None else replace(seen.known, types_of_record={
            name: (types[records], allowed) for name, (types, allowed) in seen.known.types_of_record.items()
        }),
    )  # fmt: skip


def _listed(names: tuple[str, ...]) -> str:
    quoted = [f"‘{name}’" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"
