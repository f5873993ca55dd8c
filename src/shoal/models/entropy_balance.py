"""Entropy balance: a group is as hard to guess in as one of k persons with equally many records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from shoal.errors import ParameterError
from shoal.models.contract import Dial, Model, as_number
from shoal.models.counts import GroupCounts
from shoal.models.entropy import at_least, effective_number
from shoal.models.exact import BoolArray, FloatArray, Threshold, as_fraction
from shoal.parts import option


@dataclass(frozen=True, kw_only=True)
class EntropyBalance(Model):
    """The effective number of persons of every group is at least k: g-balance with entropy in place of Gini's index.

    Kartal and Li (2020, section 4) name entropy as another measure of how evenly records are spread.

    Parameters
    ----------
    k
        The lowest value of 2^H that a group may have, a number of at least 1; H is the entropy, in bits, of the
        persons' shares of the group's records. Where all have equally many records, 2^H is the number of persons.

    Notes
    -----
    Entropies are irrational: equality is decided to twelve digits. A group that holds has at least k persons.
    Monotone: entropy is concave, so the entropy of two merged groups is at least the lower of theirs.

    Examples
    --------
    >>> EntropyBalance(k=2.5).asked
    2.5
    """

    k: Threshold = field(
        metadata=option(
            "The owner of a record is as hard to guess as among K persons with equally many records.", metavar="K"
        )
    )
    name: ClassVar[str] = "entropy-balance"
    needs: ClassVar[frozenset[str]] = frozenset({"persons", "records", "log_records"})
    monotone: ClassVar[bool] = True
    higher_is_safer: ClassVar[bool] = True
    dial: ClassVar[Dial | None] = Dial.count(is_whole=False, is_free=True)

    def __post_init__(self) -> None:
        k = as_fraction(self.k, name="k")
        if k < 1:
            raise ParameterError(f"k must be at least 1, got {float(k):g}. It is an effective number of persons, as 5.")
        object.__setattr__(self, "k", k)

    def sentence(self) -> str:
        """What it promises, in plain words."""
        return f"In every group the owner of a record is as hard to guess as among {as_number(self.k)} persons"

    def holds(self, groups: GroupCounts) -> BoolArray:
        """Whether the effective number of persons is at least k, to twelve digits."""
        return at_least(self.reached(groups), self.asked)

    def reached(self, groups: GroupCounts) -> FloatArray:
        """The effective number of persons of each group."""
        assert groups.log_records is not None
        return effective_number(groups.records, groups.log_records, groups.persons)
