"""Exponential l: each sensitive attribute has l values among those who are alike on all the others; a baseline."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from shoal.errors import SchemaError
from shoal.models.contract import Model, attributes_together
from shoal.models.counts import GroupCounts
from shoal.models.exact import BoolArray, FloatArray, IntArray, as_count
from shoal.models.joint import JointCounts
from shoal.parts import option


@dataclass(frozen=True, kw_only=True)
class ExponentialL(Model):
    """Each sensitive attribute has at least l values among the persons of a group who are alike on all the others.

    It extends l-diversity to several sensitive attributes as Machanavajjhala, Gehrke, Kifer and Venkitasubramaniam
    (2006) do. With m attributes a group has at least l^m persons, so hardly any table can be split: it is here to
    compare `JointDiversity` with.

    Parameters
    ----------
    l
        The fewest values, a whole number of at least 1.

    Notes
    -----
    Defined for one value of each attribute per person. Monotone: those alike in a merged group are those alike in
    either part. With one sensitive attribute it is distinct l-diversity.

    Examples
    --------
    >>> ExponentialL(l=3).asked
    3.0
    """

    l: int = field(  # noqa: E741 - the paper's name
        metadata=option(
            "Each attribute has L values among records equal on all others (a baseline for study).", metavar="L"
        )
    )
    name: ClassVar[str] = "exponential-l"
    needs: ClassVar[frozenset[str]] = frozenset({"joint_values"})
    monotone: ClassVar[bool] = True
    higher_is_safer: ClassVar[bool] = True
    is_diversity: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", as_count(self.l, name="l"))

    def sentence(self) -> str:
        """What it promises, in plain words."""
        return (
            f"In every group each sensitive attribute has at least {self.l} values among persons alike on all the "
            "others"
        )

    def holds(self, groups: GroupCounts) -> BoolArray:
        """Whether each group has l values of each attribute wherever persons are alike on the others."""
        return self.reached(groups) >= self.l

    def reached(self, groups: GroupCounts) -> FloatArray:
        """The fewest values that an attribute of each group has among persons who are alike on the others."""
        joint = attributes_together(self, groups)
        group_of_member = joint.group_of_member
        values = self._values_of_members(joint)
        fewest = np.full(len(groups), np.iinfo(np.int64).max)
        for attribute in range(values.shape[1]):
            alike = group_of_member
            for other in range(values.shape[1]):
                if other != attribute:
                    alike = _numbered(alike, values[:, other])
            np.minimum.at(fewest, group_of_member, _distinct_among(alike, values[:, attribute])[alike])
        fewest[np.diff(joint.start_of_group) == 0] = 0
        return fewest.astype(np.float64)

    def _values_of_members(self, joint: JointCounts) -> IntArray:
        """One value of each attribute for each member of each group; several are refused."""
        n_attributes = len(joint.columns)
        first = joint.item_start[joint.who]
        n_own = joint.item_start[joint.who.astype(np.int64) + 1] - first
        several = int(np.count_nonzero(n_own != n_attributes))
        if not several:
            items = joint.item[first[:, None] + np.arange(n_attributes)]
            attributes = np.sort(joint.attribute_of_item[items], axis=1)
            several = int(np.count_nonzero((attributes != np.arange(n_attributes)).any(axis=1)))
        if several:
            raise SchemaError(
                f"{self.name} is defined for one record per person, but {several:,} of {len(first):,} persons have "
                "several values of a sensitive attribute, or none. Use joint-diversity, which counts persons."
            )
        by_attribute = np.argsort(joint.attribute_of_item[items], axis=1)
        return np.take_along_axis(items, by_attribute, axis=1).astype(np.int64)


def _numbered(first: IntArray, second: IntArray) -> IntArray:
    """Pairs as numbers from zero: equal pairs, equal numbers."""
    pair = first * (int(second.max(initial=0)) + 1) + second
    return np.unique(pair, return_inverse=True)[1].astype(np.int64)


def _distinct_among(alike: IntArray, values: IntArray) -> IntArray:
    """How many different values those with each number have."""
    n_values = int(values.max(initial=0)) + 1
    return np.bincount(np.unique(alike * n_values + values) // n_values)
