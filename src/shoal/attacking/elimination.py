"""The elimination attack: somebody who knows a person's group, and some values that the person does not have.

A value of a sensitive attribute is an *item*. Whoever excludes an item excludes every member of the group who has it.
When all members who are left share an item, the person is known to have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from shoal.attacking.contract import Attack, AttackResult, Attempt, DoesNotApply, Finding, Recounted
from shoal.attacking.setting import Setting
from shoal.errors import ParameterError, SchemaError
from shoal.grouping.grouping import Grouping
from shoal.judging.observation import Observation
from shoal.judging.recount import mask_meant
from shoal.judging.values_apart import observe_linked
from shoal.masking import mask_called
from shoal.models.counts import JOINT
from shoal.models.exact import BoolArray, IntArray
from shoal.models.joint import JointCounts
from shoal.parts import option
from shoal.policy.policy import check_asked
from shoal.table.frames import to_polars
from shoal.table.schema import Schema
from shoal.table.table import Table

WORK_LIMIT = 2_000
"""Steps that searches in a group may take for each of its persons; beyond them exclusions are chosen greedily."""
MOST_SEARCHED = 100
"""Exclusions for which a search is tried; more are chosen greedily."""
WORK_LIMIT_OF_REPORT = 100
"""The same for a report, which shall not take long."""
MOST_ATTACKED = 20_000
"""Persons whose groups a report searches; of more persons, groups are drawn."""
LARGE_GROUP = 256
"""Persons of a group for which a step counts as one more."""

Items = frozenset[int]


@dataclass(frozen=True)
class EliminationAttack(Attack):
    """The share of persons of whom a value is known for sure once so many values of theirs are excluded.

    A result for 0, 1, ... up to `exclude` excluded values; `details` are those of `EliminationResult`.
    """

    name = "elimination"
    question = "Of whom is a value known once some values are excluded?"
    knows = "The group of the person, and some values that the person does not have."
    needs = ()
    in_suite = False
    is_nested = True
    heading = "Elimination: persons exposed by excluding values"

    exclude: int = field(
        default=2, metadata=option("How many values the adversary can exclude for a person.", low=0, metavar="E")
    )

    def run(self, setting: Setting) -> list[AttackResult]:
        """Try it on the published table; where attributes are published apart, on what the steward keeps."""
        try:
            found = attack_by_exclusion(
                setting.frame, setting.schema, exclude=self.exclude, mask=setting.mask, tables=setting.tables,
                linked=setting.linked,
            )  # fmt: skip
        except SchemaError as refusal:
            raise DoesNotApply(str(refusal)) from None
        return [
            self.result(
                f"elimination, {each.e} excluded",
                aim="a value of the person is known for sure",
                successes=each.exposed_persons,
                targets=each.persons,
                blind=each.blind,
                is_exact=each.is_exact,
                details={name: value for name, value in vars(each).items() if name != "persons"},
            )
            for each in found
        ]

    def row(self, result: AttackResult) -> dict[str, str]:
        """Persons and groups that are exposed."""
        told = result.details
        return {
            "values excluded": f"{told['e']}",
            "persons exposed": f"{told['exposed_persons']:,}" + ("" if result.is_exact else " or more"),
            "share": f"{told['share']:.2%}",
            "groups": f"{told['exposed_groups']:,} of {told['groups']:,}",
            "blind guess": f"{told['blind']:.2%}",
        }

    def findings(self, recounted: Recounted) -> Iterator[Finding]:
        """Exclude values that the person is known not to have."""
        if not recounted.has_groups or recounted.seen is None or recounted.spread is None:
            return
        if not recounted.seen.sensitive:
            return
        joint = some_groups(recounted.seen, recounted.seed).counts(JOINT).joint
        assert joint is not None
        results = [attack_elimination(joint, e, work_limit=WORK_LIMIT_OF_REPORT) for e in range(self.exclude + 1)]
        yield Finding(
            name="exclude values",
            knows="a person’s group, and some values that the person does not have",
            does="excludes all who have these values; where those left share a value, it is the person’s",
            persons=len(joint.who),
            attempts=tuple(
                Attempt(
                    label=f"exclude {_excluded(result.e)}",
                    what=f"a value is known for sure by excluding {_excluded(result.e)}",
                    success=result.share,
                    blind=max(recounted.spread.blind.values()),
                    is_exact=result.is_exact,
                )
                for result in results
            ),
        )


def _excluded(e: int) -> str:
    return {0: "nothing", 1: "one value"}.get(e, f"up to {e} values")


def some_groups(seen: Observation, seed: int) -> Observation:
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


@dataclass(frozen=True, kw_only=True)
class EliminationResult:
    """Who is exposed by excluding at most e values.

    Attributes
    ----------
    e
        How many values may be excluded for a person.
    exposed_persons, share
        Persons whose value of some attribute is then known, and their share of all persons. A person
        who stands in several groups, as in a table that is not protected, counts in each.
    exposed_of_column
        The persons whose value of each attribute is known.
    exposed_groups, groups
        Groups with an exposed person, and all groups.
    persons
        How many persons there are.
    is_exact
        Whether every search was brought to an end. If not, the numbers are lower bounds.
    blind
        What a guess gets without release: the largest share of persons who have one and the same value of an
        attribute.
    blind_of_column
        The same for each attribute.
    """

    e: int
    exposed_persons: int
    share: float
    exposed_of_column: dict[str, int]
    exposed_groups: int
    groups: int
    persons: int
    is_exact: bool
    blind: float
    blind_of_column: dict[str, float]


def attack_by_exclusion(
    frame: Any,
    schema: Schema,
    *,
    exclude: int = 2,
    mask: str | None = None,
    tables: Mapping[str, Any] | None = None,
    linked: Any = None,
) -> list[EliminationResult]:
    """Attack a published table: somebody who knows a person's group and can exclude some values of theirs.

    Gives a result for 0, 1, ... up to `exclude` excluded values. Where attributes are published apart, `linked` (what
    the steward keeps) is attacked as if it were known, which is more than an adversary has.

    Parameters
    ----------
    frame, mask, tables, linked
        As in `verify`.
    exclude
        How many values the adversary can exclude at the most.
    """
    check_asked(schema, [])
    if not schema.sensitive:
        raise SchemaError("The schema names no sensitive attribute, so there is nothing to learn of a person.")
    records, _ = to_polars(frame)
    if mask is not None and not mask_called(mask).takes_groups:
        raise SchemaError(
            f"The mask {mask} changes persons one by one: there are no groups in which values could be excluded. What "
            "is learned of a person is told by the attacks linkage and inference."
        )
    if linked is not None:
        seen = observe_linked(to_polars(linked)[0], schema)
    elif not mask_meant(mask, schema, tables, linked).links_values or not set(schema.sensitive) <= set(records.columns):
        raise SchemaError(
            "The release publishes attributes apart: what the steward keeps (steward/linked.parquet) is needed to tell "
            "who would be exposed."
        )
    elif schema.person is not None and schema.person not in records.columns:
        raise SchemaError(
            "The release does not show which records belong to one person: what the steward keeps "
            "(steward/linked.parquet) is needed to tell who would be exposed."
        )
    else:
        seen = Observation.of_frame(records, schema)
    joint = seen.counts(JOINT).joint
    assert joint is not None
    return [attack_elimination(joint, e) for e in range(exclude + 1)]


def linked_values(table: Table, grouping: Grouping) -> JointCounts:
    """The sensitive values of each person in each group, which `attack_elimination` looks at."""
    joint = Observation.of_groups(table, grouping.group_of_person, grouping.n_groups).counts(JOINT).joint
    assert joint is not None
    return joint


def attack_elimination(joint: JointCounts, e: int, *, work_limit: int = WORK_LIMIT) -> EliminationResult:
    """Count the persons who are exposed by excluding at most e values of any sensitive attributes.

    A person is exposed where at most e items, none of them the person's own, can be excluded so that all members of the
    group who are left share an item. Those left include the person.

    Parameters
    ----------
    joint
        Who has which values, by group: `linked_values`, or the joint counts of an observation.
    e
        How many values the adversary can exclude for one person; 0 asks what the group tells by itself.
    work_limit
        After so many steps for each person of a group its searches are given up: exclusions are then chosen greedily,
        and the result is a lower bound (`is_exact` says so).

    Notes
    -----
    A group has an exposed person exactly if at most e + 1 items delete all its members. So under joint diversity L
    nobody is exposed for e up to L - 2 (Gal, Chen and Gangopadhyay, 2008, theorem 1), and where the smallest number of
    items that deletes a group is c, e = c - 1 exposes somebody in it.

    Groups that cannot be exposed by their counts are passed over. In the others each person's search takes at most
    (values per person)^e steps for each value, with bounds that cut it short.
    """
    if e < 0:
        raise ParameterError(f"e must be at least 0, got {e}.")
    attributes = np.asarray(joint.attribute_of_item)
    n_members = len(joint.who)
    exposed = np.zeros((n_members, len(joint.columns)), dtype=np.bool_)
    is_exact = True
    for number in np.flatnonzero(_may_be_exposed(joint, e)):
        first, last = int(joint.start_of_group[number]), int(joint.start_of_group[number + 1])
        group = _Group.of([_items_of(joint, int(member)) for member in joint.who[first:last]])
        found = _Exposures(group, attributes, e, work_limit)
        for member, item in found.pairs():
            exposed[first + member, attributes[item]] = True
        is_exact &= found.is_exact
    is_exposed = exposed.any(axis=1)
    blind = _blind(joint)
    return EliminationResult(
        e=e,
        exposed_persons=int(is_exposed.sum()),
        share=float(is_exposed.mean()) if n_members else 0.0,
        exposed_of_column=dict(zip(joint.columns, exposed.sum(axis=0).tolist(), strict=True)),
        exposed_groups=len(np.unique(joint.group_of_member[is_exposed])),
        groups=len(joint.start_of_group) - 1,
        persons=n_members,
        is_exact=is_exact,
        blind=max(blind.values(), default=0.0),
        blind_of_column=blind,
    )


def _items_of(joint: JointCounts, member: int) -> Items:
    return frozenset(joint.item[joint.item_start[member] : joint.item_start[member + 1]].tolist())


def _blind(joint: JointCounts) -> dict[str, float]:
    """Of all members, the share who have the most frequent value of each attribute."""
    members = _flat_items(joint)
    counts = np.bincount(members.item, minlength=len(joint.attribute_of_item))
    attributes = np.asarray(joint.attribute_of_item)
    return {
        name: float(counts[attributes == number].max(initial=0) / max(len(joint.who), 1))
        for number, name in enumerate(joint.columns)
    }


class _FlatItems(NamedTuple):
    """Each item of each member, with the number of the member's group."""

    group: IntArray
    item: IntArray


def _flat_items(joint: JointCounts) -> _FlatItems:
    lengths = np.diff(joint.item_start)[joint.who]
    ends = np.cumsum(lengths)
    at = np.arange(int(lengths.sum())) + np.repeat(joint.item_start[joint.who] - (ends - lengths), lengths)
    return _FlatItems(np.repeat(joint.group_of_member, lengths), joint.item[at])


def _may_be_exposed(joint: JointCounts, e: int) -> BoolArray:
    """The groups in which the e + 1 most frequent items have, counted together, at least as many members as there are.

    In all other groups no e + 1 items delete everybody, so that nobody can be exposed.
    """
    n_groups = len(joint.start_of_group) - 1
    members = _flat_items(joint)
    keys, counts = np.unique(members.group * len(joint.attribute_of_item) + members.item, return_counts=True)
    group = keys // max(len(joint.attribute_of_item), 1)
    order = np.lexsort((-counts, group))
    start = np.searchsorted(group, np.arange(n_groups))
    is_largest = np.arange(len(keys)) - start[group] <= e
    reached = np.bincount(group[is_largest], weights=counts[order][is_largest], minlength=n_groups)
    return reached >= np.diff(joint.start_of_group)


@dataclass(frozen=True)
class _Group:
    """A group as sets of members: bit m of a whole number stands for member m."""

    items_of_member: list[Items]
    having: dict[int, int]
    """The members who have each item."""
    everybody: int
    alike_of_member: list[int] = field(repr=False)
    """The members who share an item with each member."""

    @classmethod
    def of(cls, items_of_member: list[Items]) -> _Group:
        having: dict[int, int] = {}
        for member, items in enumerate(items_of_member):
            for item in items:
                having[item] = having.get(item, 0) | 1 << member
        alike = [_union(having[item] for item in items) for items in items_of_member]
        return cls(items_of_member, having, (1 << len(items_of_member)) - 1, alike)

    def without(self, excluded: Iterable[int]) -> int:
        """The members who are left when items are excluded."""
        return self.everybody & ~_union(self.having[item] for item in excluded)


class _Exposures:
    """Who of a group can be exposed, and by which item."""

    def __init__(self, group: _Group, attribute_of_item: IntArray, e: int, work_limit: int) -> None:
        self.group = group
        self.attribute_of_item = attribute_of_item
        self.e = e
        n_members = len(group.items_of_member)
        self.work_left = work_limit * n_members if e <= MOST_SEARCHED else 0
        self.work_of_step = 1 + n_members // LARGE_GROUP

    @property
    def is_exact(self) -> bool:
        """Whether all searches were brought to an end."""
        return self.work_left >= 0

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Each exposed member with each item that becomes known of them."""
        for item, having in self.group.having.items():
            for member in _members(self.exposed_by(item, having)):
                yield member, item

    def exposed_by(self, item: int, having: int) -> int:
        """The members who can be known to have an item: by exclusions that leave only members who have it."""
        lacking = self.group.everybody & ~having
        exposed = self._exposed_by_its_attribute(item, lacking)
        if not having & ~exposed:
            return exposed
        excluded = self.exclusions(lacking, kept=frozenset({item}))
        if excluded is None:  # then it fails for members too, who keep all their items
            return exposed
        exposed |= self.group.without(excluded)
        failed: set[Items] = set()
        for member in _members(having & ~exposed):
            own = self.group.items_of_member[member]
            if exposed >> member & 1 or own in failed:
                continue
            if self.work_left < 0:
                break
            excluded = self.exclusions(lacking, kept=own)
            if excluded is None:
                failed.add(own)
            else:
                exposed |= self.group.without(excluded)
        return exposed

    def _exposed_by_its_attribute(self, item: int, lacking: int) -> int:
        """Who is left when all other values of the item's attribute are excluded, where these are few enough."""
        attribute = self.attribute_of_item[item]
        others = [other for other in self.group.having if self.attribute_of_item[other] == attribute and other != item]
        left = self.group.without(others) if len(others) <= self.e else 0
        return 0 if left & lacking else left

    def exclusions(self, members: int, *, kept: Items) -> list[int] | None:
        """At most e items, none of them kept, that exclude all the members; None where none are found."""
        found = self._search(members, self.e, kept)
        return found if found is not None or self.is_exact else self._choose_greedily(members, kept)

    def _search(self, members: int, budget: int, kept: Items) -> list[int] | None:
        """Branch over the items of the first member left, one of which must be excluded; common items first."""
        if not members:
            return []
        self.work_left -= self.work_of_step
        if self.work_left < 0 or self._needs_more(members, budget):
            return None
        first = (members & -members).bit_length() - 1
        for item in self._commonest(self.group.items_of_member[first] - kept, members):
            rest = self._search(members & ~self.group.having[item], budget - 1, kept)
            if rest is not None:
                return [item, *rest]
        return None

    def _needs_more(self, members: int, budget: int) -> bool:
        """Whether more members than the budget have nothing in common, pair by pair: each needs an item of its own."""
        while members:
            if budget == 0:
                return True
            first = (members & -members).bit_length() - 1
            members &= ~self.group.alike_of_member[first]
            budget -= 1
        return False

    def _choose_greedily(self, members: int, kept: Items) -> list[int] | None:
        """Always the item that most of the members left have."""
        chosen: list[int] = []
        while members:
            candidates = self._commonest(self.group.having.keys() - kept, members)
            if len(chosen) == self.e or not candidates:
                return None
            chosen.append(candidates[0])
            left = members & ~self.group.having[candidates[0]]
            if left == members:
                return None
            members = left
        return chosen

    def _commonest(self, items: Iterable[int], members: int) -> list[int]:
        """Items in the order of how many of the members have them, most first."""
        return sorted(items, key=lambda item: (-(self.group.having[item] & members).bit_count(), item))


def _union(sets: Iterable[int]) -> int:
    union = 0
    for members in sets:
        union |= members
    return union


def _members(members: int) -> Iterator[int]:
    """The members of a set, ascending."""
    while members:
        yield (members & -members).bit_length() - 1
        members &= members - 1
