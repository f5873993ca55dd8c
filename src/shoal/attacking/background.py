"""The attack with background knowledge: somebody who knows a person's group, and rules such as "no man has this".

By *elimination* the adversary strikes the values of the group that the person cannot have. By *matching* they also ask
whether the other values can then still be dealt out to the others, and strike those that cannot (Li and Li, 2008).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from shoal.attacking.contract import RULES, Attack, AttackResult, Attempt, Finding, Recounted
from shoal.attacking.elimination import some_groups
from shoal.attacking.mining.adversary import items_of_nobody
from shoal.attacking.mining.rules import Rules
from shoal.attacking.setting import Setting
from shoal.errors import ParameterError, SchemaError, ShoalWarning
from shoal.judging.recount import counts_by_rules, mask_meant
from shoal.models.background import BackgroundCounts
from shoal.models.counts import BACKGROUND, GroupCounts
from shoal.models.exact import IntArray
from shoal.parts import option
from shoal.policy.policy import check_asked
from shoal.table.frames import to_polars
from shoal.table.schema import Schema

USUAL_L = 2
"""How many values should be left for everybody, where nobody says."""


@dataclass(frozen=True)
class BackgroundAttack(Attack):
    """The share of persons who are left with fewer than l possible values once rules are known, by matching.

    A result per sensitive attribute; `details` are those of `BackgroundResult`, with the number of `rules`.
    """

    name = "background"
    question = "Who is left with too few possible values once rules are known?"
    knows = "The group of the person, and rules about who cannot have which values."
    needs = (RULES,)
    in_suite = False
    heading = "Background knowledge: persons left with too few values by rules"

    l: int | None = field(  # noqa: E741 - the paper's name
        default=None,
        metadata=option(
            "Somebody with fewer than L possible values is vulnerable to background knowledge (default: as the "
            "policy's matching-diversity says, else 2).",
            low=1,
            metavar="L",
        ),
    )

    def run(self, setting: Setting) -> list[AttackResult]:
        """Try it; where a release hides whom its own rules are about, by what the steward keeps."""
        assert setting.rules is not None
        asked = [int(model.asked) for model in setting.models if model.needs & BACKGROUND]
        found = _found(setting, setting.rules, self.l or max(asked, default=USUAL_L))
        return [
            self.result(
                f"background, {each.column}",
                aim=f"the person has fewer than {each.l} possible values of '{each.column}'",
                successes=each.vulnerable_by_matching,
                targets=each.persons,
                blind=each.blind,
                details={"rules": len(setting.rules), **asdict(each)},
            )
            for each in found
        ]

    def row(self, result: AttackResult) -> dict[str, str]:
        """Persons with too few values left, without rules, by elimination and by matching."""
        told = result.details
        return {
            "attribute": told["column"],
            "rules": f"{told['rules']:,}",
            "fewer than": f"{told['l']:,} values",
            "without rules": f"{told['vulnerable_without_rules']:,}",
            "by elimination": f"{told['vulnerable_by_elimination']:,}",
            "by matching": f"{told['vulnerable_by_matching']:,}",
            "share": f"{told['share']:.2%}",
            "known": f"{told['known_by_matching']:,}",
            "blind guess": f"{told['blind']:.2%}",
        }

    def remarks(self, results: Sequence[AttackResult]) -> list[str]:
        """Where rules contradict the release."""
        return [
            f"In {told['contradicted_groups']:,} groups with {told['contradicted_persons']:,} persons no way to deal "
            f"the values of '{told['column']}' out fits the rules: some rule is wrong, and they are not counted."
            for told in (result.details for result in results)
            if told["contradicted_groups"]
        ]

    def findings(self, recounted: Recounted) -> Iterator[Finding]:
        """Strike values that rules exclude, for a release that was made against them."""
        if recounted.seen is None or recounted.seen.known is None:
            return
        counts = some_groups(recounted.seen, recounted.seed).counts(BACKGROUND)
        results = [count_vulnerable(counts, name, USUAL_L) for name in recounted.seen.known.types_of_record]
        yield Finding(
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


def _found(setting: Setting, rules: Rules, least: int) -> list[BackgroundResult]:
    """What rules tell; where they are the release's own and it hides whom they are about, what the steward keeps."""
    kept: dict[str, Any] = {
        "mask": setting.mask,
        "tables": setting.tables,
        "linked": setting.linked,
        "excluded": setting.excluded,
    }
    try:
        results = attack_background(setting.frame, setting.schema, rules, l=least, **kept)
        of_nobody = items_of_nobody(rules, setting.frame, setting.schema)
        if of_nobody and setting.are_own_rules:  # then some rules would not be used
            raise SchemaError("Rules of the release name what nobody in it has.")
        if of_nobody:
            warnings.warn(
                f"{of_nobody:,} quasi-identifiers that the rules name are those of nobody here.",
                ShoalWarning,
                stacklevel=2,
            )
        return results
    except SchemaError:
        if not setting.are_own_rules:
            raise
    return attack_background(setting.frame, setting.schema, l=least, **kept)


@dataclass(frozen=True, kw_only=True)
class BackgroundResult:
    """For whom too few values of a sensitive attribute are left once rules are known.

    Attributes
    ----------
    column, l
        The attribute, and how many values should be left for everybody.
    persons, groups
        How many there are. A person in several groups, as in a table that is not protected, counts in each.
    vulnerable_without_rules
        Persons in groups that have fewer than l values, so that no rule is needed.
    vulnerable_by_elimination, vulnerable_by_matching
        Persons with fewer than l possible values.
    share
        The share of persons who are vulnerable by matching.
    known_by_elimination, known_by_matching
        Those of them for whom one value is left, so that it is known.
    vulnerable_groups
        Groups with a person who is vulnerable by matching.
    fewest
        The fewest values that are possible for somebody, by matching.
    persons_of_values
        How many persons have 1, 2, ... possible values, by matching.
    contradicted_persons, contradicted_groups
        Groups in which no way to deal the values out fits the rules. Their adversary finds that some rule is wrong, and
        learns nothing; they are left out of all numbers above but for `persons` and `groups`.
    blind
        What a guess gets without release: the largest share of persons who have one and the same value.
    """

    column: str
    l: int  # noqa: E741 - the paper's name
    persons: int
    groups: int
    vulnerable_without_rules: int
    vulnerable_by_elimination: int
    vulnerable_by_matching: int
    share: float
    known_by_elimination: int
    known_by_matching: int
    vulnerable_groups: int
    fewest: int
    persons_of_values: dict[int, int]
    contradicted_persons: int
    contradicted_groups: int
    blind: float


def attack_background(
    frame: Any,
    schema: Schema,
    rules: Rules | None = None,
    *,
    l: int = 2,  # noqa: E741 - the paper's name
    mask: str | None = None,
    tables: Mapping[str, Any] | None = None,
    linked: Any = None,
    excluded: Any = None,
) -> list[BackgroundResult]:
    """Attack a published table: somebody who knows a person's group, and which values never go with whom.

    Gives a result for each sensitive attribute: how many persons are left with fewer than l possible values.

    Parameters
    ----------
    frame, mask, tables
        As in `verify`.
    rules
        What the adversary knows: rules that were mined from this table or from another, or stated. They are applied to
        exact quasi-identifiers of an anatomized or permuted table with one record per person.
    l
        How many values should be left for everybody.
    linked, excluded
        What the steward keeps of the values that the release's own rules exclude, as in `verify`: for any release
        that was made with matching diversity, where no rules are given.

    Raises
    ------
    SchemaError
        Where the tables do not show whom the rules are about.
    """
    check_asked(schema, [])
    if not schema.sensitive:
        raise SchemaError("The schema names no sensitive attribute, so there is nothing to learn of a person.")
    records, _ = to_polars(frame)
    counts = counts_by_rules(
        records,
        schema,
        rules,
        mask=mask_meant(mask, schema, tables, linked),
        tables={name: to_polars(table)[0] for name, table in (tables or {}).items()},
        linked=None if linked is None else to_polars(linked)[0],
        excluded=None if excluded is None else to_polars(excluded)[0],
    )
    return [count_vulnerable(counts, column, l) for column in schema.sensitive]


def count_vulnerable(counts: GroupCounts, column: str, least: int) -> BackgroundResult:
    """Count the persons who are left with fewer than `least` values of an attribute once rules are known.

    Parameters
    ----------
    counts
        Groups with what rules leave for their persons (`background`).
    column
        A sensitive attribute.

    Notes
    -----
    Exact. Where persons have several values, sets of them are dealt out as they are, and the number of values left is
    that of the values which must be excluded to exclude all sets that are possible for a person.
    """
    if least < 1:
        raise ParameterError(f"l must be at least 1, got {least}.")
    if counts.background is None:
        raise ParameterError("Nothing is known of what rules leave for the persons of these groups.")
    background = counts.background
    by_matching = background.values_left(column, by="matching", at_least=least)
    by_elimination = background.values_left(column, by="elimination", at_least=least)
    fits = by_matching > 0  # the values that people have are among those possible, unless a rule is wrong
    is_vulnerable = fits & (by_matching < least)
    group = background.group_of_member
    n_values = np.bincount(by_matching[fits])
    return BackgroundResult(
        column=column,
        l=least,
        persons=len(by_matching),
        groups=len(counts),
        vulnerable_without_rules=int((fits & (_without_rules(background, column, least) < least)).sum()),
        vulnerable_by_elimination=int((fits & (by_elimination < least)).sum()),
        vulnerable_by_matching=int(is_vulnerable.sum()),
        share=float(is_vulnerable.mean()) if len(is_vulnerable) else 0.0,
        known_by_elimination=int((fits & (by_elimination == 1)).sum()),
        known_by_matching=int((by_matching == 1).sum()),
        vulnerable_groups=len(np.unique(group[is_vulnerable])),
        fewest=int(by_matching[fits].min(initial=np.iinfo(np.int64).max)) if fits.any() else 0,
        persons_of_values={int(number): int(n_values[number]) for number in np.flatnonzero(n_values)},
        contradicted_persons=int((~fits).sum()),
        contradicted_groups=len(np.unique(group[~fits])),
        blind=_blind(background, column),
    )


def _without_rules(background: BackgroundCounts, column: str, least: int) -> IntArray:
    """How many values of an attribute are left for each member where nothing is known."""
    return background.without_rules().values_left(column, by="elimination", at_least=least)


def _blind(background: BackgroundCounts, column: str) -> float:
    """The largest share of members who have one and the same value."""
    view = background.view_of(column)
    item_start, item = view.items_of(column)
    holding = view.holding_of_person[background.who]
    members = np.bincount(holding, minlength=len(item_start) - 1)
    of_item = np.bincount(item, weights=np.repeat(members, np.diff(item_start)))
    return float(of_item.max(initial=0.0) / len(holding)) if len(holding) else 0.0
