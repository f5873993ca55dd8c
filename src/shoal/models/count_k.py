"""Count anonymity: nobody is found by how many records they have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from shoal.models.contract import Model
from shoal.models.counts import HISTORIES, GroupCounts
from shoal.models.exact import BoolArray, FloatArray, as_count
from shoal.models.histories import Asked
from shoal.models.known_histories import histories_of
from shoal.models.person_k_anonymity import PersonKAnonymity
from shoal.parts import option


class EnoughToCount(PersonKAnonymity):
    """Groups in which there are enough persons to have as many records: what is asked while groups are formed."""

    name: ClassVar[str] = "count-k"


@dataclass(frozen=True, kw_only=True)
class CountK(Model):
    """In every group each number of records that a pseudonym shows is that of at least k persons.

    Parameters
    ----------
    k
        The fewest persons, a whole number of at least 1.

    Notes
    -----
    Groups are formed with at least k persons; then persons are sampled down to numbers of records that enough others
    have. Monotone: who has a number of records in one part of a merged group has it in the whole.

    Examples
    --------
    >>> CountK(k=5).sentence()
    'In every group each number of records is that of at least 5 persons'
    """

    k: int = field(
        metadata=option(
            "count anonymity: each number of records in a group is that of at least K persons.", metavar="K"
        )
    )
    name: ClassVar[str] = "count-k"
    needs: ClassVar[frozenset[str]] = HISTORIES
    monotone: ClassVar[bool] = True
    higher_is_safer: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", as_count(self.k, name="k"))

    def sentence(self) -> str:
        """What it promises, in plain words."""
        return f"In every group each number of records is that of at least {self.k} persons"

    @property
    def of_histories(self) -> Asked:
        """What it asks of histories."""
        return Asked(k=self.k, of_counts=True)

    def while_grouping(self) -> Model:
        """Groups of at least k persons."""
        return EnoughToCount(k=self.k)

    def holds(self, groups: GroupCounts) -> BoolArray:
        """Whether each number of records is that of enough persons."""
        return histories_of(groups, with_quasi=True).fewest_by_count() >= self.k

    def reached(self, groups: GroupCounts) -> FloatArray:
        """The fewest persons of each group who have any one number of records."""
        return histories_of(groups, with_quasi=True).fewest_by_count().astype(np.float64)
