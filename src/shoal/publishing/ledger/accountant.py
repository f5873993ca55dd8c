"""Differential privacy over several releases: what they spend adds up, whoever is in them.

Basic composition (Dwork and Roth 2014, theorem 3.16): releases that promise epsilon_i and delta_i each promise the sums
together. A release may be about persons whom it does not show, since who is drawn is secret. So every release of a
ledger counts for everybody: the sums are an upper bound for any one person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

Spent = tuple[float, float] | None
"""The epsilon and delta of a release; None where it promises no differential privacy."""


@dataclass(frozen=True, kw_only=True)
class Account:
    """What all releases of a ledger spend together.

    Attributes
    ----------
    epsilon, delta
        The sums over releases with differential privacy, which hold for everybody.
    releases
        How many these are.
    without
        How many other releases there are, which promise nothing of that kind about the persons in them.
    """

    epsilon: float
    delta: float
    releases: int
    without: int

    @classmethod
    def of(cls, spent: Sequence[Spent]) -> Account:
        """Add up; as the decimals that were written, so that ten times 0.1 is 1."""
        pairs = [each for each in spent if each is not None]
        epsilon, delta = (
            float(sum((Fraction(str(pair[at])) for pair in pairs), Fraction(0))) for at in (0, 1)
        )  # fmt: skip
        return cls(epsilon=epsilon, delta=min(delta, 1.0), releases=len(pairs), without=len(spent) - len(pairs))

    def passes(self, max_epsilon: float | None, max_delta: float | None) -> bool:
        """Whether more is spent than may be."""
        too_much = max_epsilon is not None and self.epsilon > max_epsilon
        return too_much or (max_delta is not None and self.delta > max_delta)

    def sentence(self) -> str:
        """In plain words."""
        told = (
            f"Differential privacy over the ledger: {self.releases:,} releases together promise epsilon "
            f"{self.epsilon:g} and delta {self.delta:g}, for everybody."
        )
        if not self.without:
            return told
        return f"{told} {self.without:,} others promise none, and this says nothing about the persons in these."
