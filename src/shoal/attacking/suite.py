"""The suite: the attacks by name, and how they are tried on a release."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from shoal.attacking.anchored_dates import AnchoredDatesAttack
from shoal.attacking.background import BackgroundAttack
from shoal.attacking.contract import Attack, AttackResult, DoesNotApply, Finding, NotTried, Recounted, Remedy
from shoal.attacking.distance import DistanceAttack
from shoal.attacking.elimination import EliminationAttack
from shoal.attacking.inference import InferenceAttack
from shoal.attacking.kept_columns import KeptColumnsAttack
from shoal.attacking.linkage import LinkageAttack
from shoal.attacking.minimality import MinimalityAttack
from shoal.attacking.mining.rules import Rules
from shoal.attacking.setting import MOST_TARGETS, Setting, as_in_original, person_of_row
from shoal.attacking.skewness import SimilarityAttack, SkewnessAttack
from shoal.attacking.trajectory import TrajectoryAttack
from shoal.attacking.two_releases import TwoReleasesAttack
from shoal.errors import InputError, ParameterError, did_you_mean
from shoal.grouping.grouping import Method
from shoal.masking.chosen import choose
from shoal.models.contract import Model
from shoal.parts import options_of
from shoal.policy.policy import check_asked
from shoal.registry import Registry
from shoal.short import Short, ShownInShort
from shoal.table.frames import to_polars
from shoal.table.schema import Schema
from shoal.table.table import Table

ATTACKS: Registry[Attack] = Registry(
    what="attack",
    contract=Attack,
    own=(
        LinkageAttack,
        DistanceAttack,
        SkewnessAttack,
        SimilarityAttack,
        EliminationAttack,
        BackgroundAttack,
        TrajectoryAttack,
        KeptColumnsAttack,
        AnchoredDatesAttack,
        InferenceAttack,
        TwoReleasesAttack,
        MinimalityAttack,
    ),
    entry_points="shoal.attacks",
)
"""Every attack by its name, in the order in which they are tried and shown."""


IN_REPORT = {"known_values": (1, 2)}
"""Options of attacks in a report that nobody asked attacks for."""
FEWEST_TARGETS, RECORDS_PER_TARGET, MOST_IN_REPORT = 100, 2_000, 1_000


def targets_in_report(n_records: int) -> int:
    """How many persons a report attacks unless told: so few that it takes a small part of a run on so many records.

    >>> targets_in_report(19), targets_in_report(80_000), targets_in_report(10_000_000)
    (100, 140, 1000)
    """
    return min(FEWEST_TARGETS + n_records // RECORDS_PER_TARGET, MOST_IN_REPORT)


@dataclass(frozen=True)
class Lowered:
    """What an attack gets with a line of the policy changed, as it was tried.

    `success` is None where the attack cannot be tried any more; else that of the same way, or of the strongest left.
    """

    line: str
    says: str
    success: float | None


@dataclass(frozen=True, repr=False)
class SuiteResult(ShownInShort):
    """What all attacks got, and which could not be tried."""

    results: tuple[AttackResult, ...]
    not_tried: tuple[NotTried, ...]
    lowered: tuple[Lowered, ...] = ()
    """What was tried against the strongest."""

    def short(self) -> Short:
        """Each attack with its success beside blind guessing."""
        rows = [
            (each.name, f"{each.success:.1%}", f"{each.low:.1%} to {each.high:.1%}", f"{each.blind:.1%}")
            for each in self.results
        ]
        not_tried = ", ".join(each.attack for each in self.not_tried)
        lines = [f"not tried: {not_tried}"] if not_tried else []
        headings = ("attack", "success", "95 % interval", "blind guess")
        return Short(title=f"Attacks: {len(rows):,} tried", headings=headings, rows=rows, lines=lines)

    @property
    def worst(self) -> AttackResult | None:
        """The result with the highest success."""
        return max(self.results, key=lambda result: result.success, default=None)

    @property
    def strongest(self) -> AttackResult | None:
        """The result of the suite that is furthest above blind guessing."""
        return max((each for each in self.results if _in_suite(each.attack)), key=_gain, default=None)

    def of(self, attack: str) -> tuple[AttackResult, ...]:
        """The results of one attack."""
        return tuple(result for result in self.results if result.attack == attack)

    def above(self, limit: float, *, by: str = "success") -> tuple[AttackResult, ...]:
        """The results whose success (the estimate, not an end of its interval) is above a limit.

        Of an attack whose results are nested the strongest stands for all.

        Parameters
        ----------
        by
            "success", or "gain": success less blind guessing, of the attacks of the suite.
        """
        gain = {"success": 0.0, "gain": 1.0}[by]
        found: list[AttackResult] = []
        for name in dict.fromkeys(result.attack for result in self.results):
            attack = ATTACKS.get(name, Attack)
            of_blind = gain if attack.in_suite else 0.0
            above = [result for result in self.of(name) if result.success - of_blind * result.blind > limit]
            found += [max(reversed(above), key=lambda result: result.success)] if attack.is_nested and above else above
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """Plain values: `attacks` and `not_tried` of the suite, and what others answer under their own names."""
        asked = [*(result.attack for result in self.results), *(each.attack for each in self.not_tried)]
        own = dict.fromkeys(name for name in asked if not _in_suite(name))
        return {
            **{name: [dict(result.details) for result in self.of(name)] for name in own},
            "attacks": [asdict(result) for result in self.results if _in_suite(result.attack)],
            "not_tried": [
                {"attack": each.attack, "why": each.why} for each in self.not_tried if _in_suite(each.attack)
            ],
            **self._strongest(),
        }

    def _strongest(self) -> dict[str, Any]:
        if self.strongest is None:
            return {}
        return {"strongest": {"name": self.strongest.name, "tried": [asdict(each) for each in self.lowered]}}


def _gain(result: AttackResult) -> float:
    return result.success - result.blind


def _in_suite(name: str) -> bool:
    attack: type[Attack] = ATTACKS.get(name, Attack)
    return attack.in_suite


def attack_for_report(setting: Setting) -> SuiteResult:
    """Try the attacks of the suite that are quick, and what would lower the strongest; others are named with a reason.

    The same release and seed give the same targets and results.
    """
    setting = replace(setting, most_targets=targets_in_report(len(setting.frame)), guesses_values=False)
    suite = run_attacks(setting, None, IN_REPORT, quick=True)
    return replace(suite, lowered=tuple(_lowered(setting, suite)))


def _lowered(setting: Setting, suite: SuiteResult) -> Iterator[Lowered]:
    """What the strongest attack gets with each remedy of its own."""
    if suite.strongest is None:
        return
    (attack,) = chosen_attacks([suite.strongest.attack], {})
    for remedy in attack.remedies(setting, suite.strongest):
        yield Lowered(remedy.line, remedy.says, _success_with(remedy, suite.strongest))


def _success_with(remedy: Remedy, strongest: AttackResult) -> float | None:
    left = run_attacks(remedy.setting, [strongest.attack], IN_REPORT)
    same = [each for each in left.results if each.name == strongest.name]
    return max(same or left.results, key=_gain).success if left.results else None


def run_attacks(
    setting: Setting,
    attacks: Sequence[str | Attack] | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    quick: bool = False,
) -> SuiteResult:
    """Try the attacks named, or those of the suite; those that do not apply say why.

    Parameters
    ----------
    attacks
        Names, or attacks with options of their own; tried in the order of the registry.
    options
        Options of the attacks that are given by name: each attack takes those that it has.
    quick
        Whether attacks that are too costly for every run are left out, with the reason.
    """
    results: list[AttackResult] = []
    not_tried: list[NotTried] = []
    for attack in chosen_attacks(attacks, options or {}):
        if quick and attack.too_costly is not None and attack.why_not(setting) is None:
            not_tried.append(NotTried(attack.name, attack.too_costly))
            continue
        try:
            results += attack.try_on(setting)
        except DoesNotApply as why:
            not_tried.append(NotTried(attack.name, str(why), why.give))
    return SuiteResult(tuple(results), tuple(not_tried))


def chosen_attacks(attacks: Sequence[str | Attack] | None, options: Mapping[str, Any]) -> list[Attack]:
    """The attacks that were asked for, made with their options; a name or an option that there is not is refused."""
    asked = [name for name, attack in ATTACKS.items() if attack.in_suite] if attacks is None else attacks
    classes = {each: ATTACKS[each] for each in asked if isinstance(each, str)}
    has = {name: {option.name for option in options_of(attack)} for name, attack in ATTACKS.items()}
    known = {name for names in has.values() for name in names}
    for name in options:
        if name not in known:
            raise ParameterError(
                f"No attack has an option '{name}'. Options are: {', '.join(sorted(known))}.{did_you_mean(name, known)}"
            )
    made = [
        cls(**{option: value for option, value in options.items() if option in has[name]})
        for name, cls in classes.items()
    ]
    places = {name: place for place, name in enumerate(ATTACKS)}
    own = [each for each in asked if isinstance(each, Attack)]
    return sorted([*made, *own], key=lambda attack: places.get(attack.name, len(places)))


def findings(recounted: Recounted) -> list[Finding]:
    """What every attack gets from what a recount has seen, for the report."""
    return [finding for attack in ATTACKS.values() for finding in attack().findings(recounted)]


class Attackable(ABC):
    """What can be attacked as it is, since it knows its original and how it was made: a release."""

    @abstractmethod
    def setting(self) -> Setting:
        """The release, its original, and the person of each published record."""

    def attack(
        self,
        attacks: Sequence[str | Attack] | None = None,
        *,
        targets: int = MOST_TARGETS,
        seed: int = 0,
        **options: Any,
    ) -> SuiteResult:
        """Try every attack that applies, knowing the person of each published record; as `shoal.attack`."""
        return run_attacks(replace(self.setting(), most_targets=targets, seed=seed), attacks, options)


@dataclass(frozen=True, kw_only=True)
class OtherRelease:
    """Another release about the same persons, for `attack`: its table, the roles of its columns, its mask."""

    frame: Any
    schema: Schema
    mask: str = "range"
    tables: Mapping[str, Any] = field(default_factory=dict)


def attack(
    release: Any,
    original: Any = None,
    schema: Schema | None = None,
    *,
    attacks: Sequence[str | Attack] | None = None,
    mask: str = "range",
    tables: Mapping[str, Any] | None = None,
    whose: Any = None,
    targets: int = MOST_TARGETS,
    seed: int = 0,
    method: str | Method | None = None,
    method_options: Mapping[str, Any] | None = None,
    models: Sequence[Model] = (),
    other: OtherRelease | None = None,
    rules: Rules | None = None,
    are_own_rules: bool = False,
    linked: Any = None,
    excluded: Any = None,
    **options: Any,
) -> SuiteResult:
    """Try every attack that applies to a release, each with an interval and beside blind guessing.

    Parameters
    ----------
    release, tables
        What `protect` gave, which knows its original and how it was made; or a published table as in `verify`, of any
        origin, such as one that was made k-anonymous by rows.
    original
        The table as it was. Without it only attacks that need no more than the published table are tried.
    schema
        Of a published table: the roles of the original's columns, with the hierarchies that it was masked by.
    attacks
        The names of attacks, of `shoal.attacking.suite.ATTACKS`, or attacks with options of their own; those of the
        suite unless told.
    mask
        How quasi-identifiers are shown: "mean" and "perturb" are taken by distance, all others by what fits.
    whose
        How the person of a published record can be told, for the judge only: a frame with `person` and `pseudonym` (the
        map that the steward may keep), "ids" where the release has the original's ids, or "order" where its records
        are in the order of the original. Without it some results are upper bounds, and distance linkage is not tried.
    targets, seed
        How many persons are attacked at the most, and what governs which are drawn.
    method, method_options, models
        How the release's groups were formed, and what was asked of them, for the minimality attack.
    other
        Another release about the same persons, for the attack by two releases.
    rules, are_own_rules
        Rules that say who cannot have which values, known to the adversary, for the attack by background knowledge,
        and whether the release was made against these rules.
    linked, excluded
        What the steward keeps of a release that publishes attributes apart or was made against rules, as in `verify`.
    options
        Options of attacks by their names: `known_values` of trajectory, `similar` of similarity, `exclude` of
        elimination, `l` of background.
    """
    if isinstance(release, Attackable):
        return release.attack(attacks, targets=targets, seed=seed, **options)
    check_asked(schema, models)
    assert schema is not None
    records, _ = to_polars(release)
    if not len(records):
        raise InputError("The published table has no records.")
    setting = _setting(records, schema, mask, tables or {}, original, most_targets=targets, seed=seed)
    setting = replace(
        setting,
        origin=person_of_row(records, schema, setting.original, whose),
        method=None if method is None else choose(method, "range", method_options or {})[0],
        models=tuple(models),
        other=None
        if other is None
        else _setting(other.frame, other.schema, other.mask, other.tables, original, most_targets=targets, seed=seed),
        rules=rules,
        are_own_rules=are_own_rules,
        linked=None if linked is None else to_polars(linked)[0],
        excluded=None if excluded is None else to_polars(excluded)[0],
    )
    return run_attacks(setting, attacks, options)


def _setting(frame: Any, schema: Schema, mask: str, tables: Mapping[str, Any], original: Any, **draws: Any) -> Setting:
    """What a release shows, beside the original as its schema sees it."""
    table = None if original is None else Table.from_frame(original, schema)
    return Setting(
        schema=schema,
        frame=as_in_original(to_polars(frame)[0], table),
        original=table,
        tables={name: as_in_original(to_polars(each)[0], table) for name, each in tables.items()},
        mask=mask,
        **draws,
    )
