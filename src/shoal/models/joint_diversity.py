"""Joint diversity: deleting a group takes at least l values, from all sensitive attributes together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError, SchemaError
from shoal.models.contract import Model, attributes_together, listed, not_sensitive
from shoal.models.counts import GroupCounts, ValueCounts
from shoal.models.exact import LARGEST_L, BoolArray, FloatArray, IntArray, as_count
from shoal.parts import option

if TYPE_CHECKING:
    from shoal.kernels.covering import Members

WORK_LIMIT = 4_000_000
"""How much a search may look at before a group is called not diverse: some hundredths of a second."""
TOTAL_LIMIT = 200_000_000
"""How much all searches together may look at to show a value above l: about a second."""


@dataclass(frozen=True, kw_only=True)
class JointDiversity(Model):
    """At least l values must be deleted to delete everybody in a group (Gal, Chen and Gangopadhyay, 2008).

    A value is a value of one sensitive attribute; deleting it deletes every person who has it in any of their records.
    So an adversary who can exclude up to l - 2 values, of whichever attributes, is left with two values or more of
    each.

    Parameters
    ----------
    l
        The fewest values, a whole number of at least 1 (definition 6).
    caps
        For an attribute with few values: how many of the deleted values may be of it, by column (definition 7). A
        column without a cap is not limited. A cap of 0 leaves the attribute unprotected: its values are never deleted.
        Where no set of values that the caps admit deletes everybody, a group has no limit and holds.

    Notes
    -----
    Deciding it is a minimum hitting set. Groups are decided by the first check that can, the cheap ones first, and
    `proof` tells which. A yes is always proved. A no is proved as well, but for groups where a search of bounded work
    found no answer: these count as not diverse. Monotone, since a set that deletes two groups together deletes each
    of them; the bounded search may nevertheless give up on a merged group ("limit") where it proved both parts.

    Examples
    --------
    >>> JointDiversity(l=10, caps={"treatment": 2}).asked
    10.0
    """

    l: int = field(  # noqa: E741 - the paper's name
        metadata=option(
            "joint diversity: excluding fewer than L values, of any sensitive attributes, leaves somebody in every "
            "group.",
            metavar="L",
        )
    )
    caps: Mapping[str, int] | None = field(
        default=None,
        hash=False,
        metadata=option(
            "For joint diversity: at most N of the excluded values are of attribute C; 0 leaves it unprotected.",
            metavar="C=N,...",
            flag="joint-caps",
        ),
    )
    name: ClassVar[str] = "joint-diversity"
    needs: ClassVar[frozenset[str]] = frozenset({"joint_values"})
    monotone: ClassVar[bool] = True
    higher_is_safer: ClassVar[bool] = True
    flag: ClassVar[str | None] = "joint-l"
    is_diversity: ClassVar[bool] = True
    has_bound: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", as_count(self.l, name="l", at_most=LARGEST_L))
        object.__setattr__(self, "caps", _checked_caps(self.caps))

    def sentence(self) -> str:
        """What it promises, in plain words."""
        promise = f"Excluding fewer than {self.l} values, of any sensitive attributes, leaves somebody in every group"
        caps = [f"{cap} of '{column}'" for column, cap in (self.caps or {}).items() if cap]
        unprotected = [f"'{column}'" for column, cap in (self.caps or {}).items() if not cap]
        limits = f", where at most {listed(caps)} are excluded" if caps else ""
        return promise + limits + (f"; {listed(unprotected)} is left unprotected" if unprotected else "")

    def gave_up(self, groups: GroupCounts) -> BoolArray:
        """Whether a search for a smaller set of values was given up in each group."""
        return self.proof(groups) == "limit"

    def holds(self, groups: GroupCounts) -> BoolArray:
        """Whether at least l values are proved to be needed to delete each group."""
        return self._prove(groups) > 0

    def proof(self, groups: GroupCounts) -> NDArray[np.str_]:
        """What decided each group.

        "greedy" (l members share no value), "frequency" (so do l of those with the rarest values, figure 6), "bound"
        (the commonest values are too few, figure 7 repaired), "weights" (the same with members weighted), "exact" (a
        smaller set of values was found, or a search has excluded it) or "limit" (a search was given up: not diverse).
        """
        from shoal.kernels import covering

        words = {
            covering.GREEDY: "greedy", covering.FREQUENCY: "frequency", covering.BOUND: "bound",
            covering.WEIGHTS: "weights", covering.SEARCHED: "exact", covering.DELETED: "exact", covering.LIMIT: "limit",
        }  # fmt: skip
        return np.array([words[code] for code in self._prove(groups).tolist()], dtype=np.str_)

    def reached(self, groups: GroupCounts) -> FloatArray:
        """The most values that are proved to be needed to delete each group; infinite where none that caps admit do.

        Exact for groups that a search of bounded work can settle, and otherwise a lower bound. It is at least l just
        where the group holds.
        """
        from shoal.kernels.covering import NO_LIMIT, largest_proved

        largest = largest_proved(self._members(groups), self.l, WORK_LIMIT, TOTAL_LIMIT)
        return np.where(largest == NO_LIMIT, np.inf, largest.astype(np.float64))

    def holds_by_bound(self, groups: GroupCounts) -> BoolArray:
        """Whether each group is proved to hold from the counts of each attribute alone.

        For attributes that are published apart, so that nobody can see who has which values together: if the l - 1
        commonest values that caps admit have fewer persons than the group, l are needed however they are joined. A
        no means that these counts do not prove it.
        """
        return self.reached_by_bound(groups) >= self.l

    def reached_by_bound(self, groups: GroupCounts) -> FloatArray:
        """The most values that the counts of each attribute alone prove to be needed to delete each group."""
        cap_of_column = self._cap_of_column(groups.values)
        group, persons = _commonest_entries(groups.values, cap_of_column)
        order = np.lexsort((-persons, group))
        group, persons = group[order], persons[order]
        size = groups.persons
        summed = np.cumsum(persons)
        total = np.bincount(group, weights=persons, minlength=len(size)).astype(np.int64)
        before = np.concatenate(([0], np.cumsum(total)[:-1])) if len(size) else total
        too_few = summed - before[group] < size[group]
        needed = np.bincount(group[too_few], minlength=len(size)) + 1.0
        return np.where(total < size, np.inf, np.where(size == 0, 0.0, needed))

    def _prove(self, groups: GroupCounts) -> NDArray[np.int8]:
        from shoal.kernels.covering import prove_groups  # here, since numba is slow to import

        return np.asarray(prove_groups(self._members(groups), self.l, WORK_LIMIT))

    def _members(self, groups: GroupCounts) -> Members:
        from shoal.kernels.covering import Members

        joint = attributes_together(self, groups)
        cap_of_column = self._cap_of_column(joint.columns)
        return Members(
            start_of_group=np.ascontiguousarray(joint.start_of_group, dtype=np.int64),
            who=np.ascontiguousarray(joint.who, dtype=np.int64),
            item_start=np.ascontiguousarray(joint.item_start, dtype=np.int64),
            item=np.ascontiguousarray(joint.item, dtype=np.int32),
            attribute_of_item=np.ascontiguousarray(joint.attribute_of_item, dtype=np.int32),
            cap=np.array([cap_of_column[column] for column in joint.columns], dtype=np.int64),
        )

    def _cap_of_column(self, columns: Iterable[str]) -> dict[str, int]:
        """How many values of each sensitive attribute may be deleted; caps that fit no attribute are refused."""
        known = self.columns_among(columns)
        caps = self.caps or {}
        for column in caps:
            if column not in known:
                raise not_sensitive(f"{self.name} caps '{column}'", column, known)
        if all(caps.get(column) == 0 for column in known):
            raise SchemaError(
                f"{self.name} has a cap of 0 on every sensitive attribute ({', '.join(known)}), so it protects none. "
                "Leave out at least one cap, or raise it."
            )
        return {column: min(caps.get(column, LARGEST_L), LARGEST_L) for column in known}


def _checked_caps(caps: object) -> dict[str, int] | None:
    """The caps as whole numbers by column, or None where there are none."""
    if caps is None:
        return None
    if not isinstance(caps, Mapping) or not all(isinstance(column, str) for column in caps):
        raise ParameterError(f'caps must be numbers by column, such as {{"treatment": 2}}, got {caps!r}.')
    return {column: as_count(cap, name=f"the cap of '{column}'", at_least=0) for column, cap in caps.items()} or None


def _commonest_entries(values: Mapping[str, ValueCounts], cap_of_column: dict[str, int]) -> tuple[IntArray, IntArray]:
    """The group of each value that caps admit to delete, the commonest of each attribute first, and its persons."""
    groups: list[IntArray] = []
    counts: list[IntArray] = []
    for column, attribute in values.items():
        start, _, _, persons = attribute.lists
        group = attribute.group_of_entry
        order = np.lexsort((-persons, group))
        rank = np.arange(len(group)) - start[group]
        kept = rank < cap_of_column[column]
        groups.append(group[kept])
        counts.append(persons[order][kept])
    return np.concatenate(groups), np.concatenate(counts)
