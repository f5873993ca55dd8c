"""The game between a publisher and an adversary: what a release is worth once attacks that pay are made.

Wan and others, A game theoretic framework for analyzing re-identification risk, 2015. Every person who is published is
worth `benefit` to the publisher, less by what is lost in the values. An adversary attacks where finding somebody gains
more than an attack costs, and the publisher then loses by whoever is found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.models.contract import listed
from shoal.models.exact import as_choice
from shoal.models.no_attack import ATTACKERS

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Game:
    """The stakes: all in the same money.

    Parameters
    ----------
    gain, cost
        What an adversary gains from a person who is found, and what an attack on one costs.
    benefit, loss
        What a person whose values are published unchanged is worth to the publisher, and what one who is found costs.
    attacker
        "prosecutor" knows who is in the table: the persons of a group fit. "journalist" does not: those of the
        population fit, by a population table or by the weights of a sample.

    Examples
    --------
    >>> game = Game(gain=300, cost=4, benefit=1200, loss=300)
    >>> game.adversary(0.2), game.publisher(0.25, 0.2)
    (56.0, 840.0)
    """

    gain: float
    cost: float
    benefit: float
    loss: float
    attacker: str = "prosecutor"

    def __post_init__(self) -> None:
        as_choice(self.attacker, name="attacker", choices=ATTACKERS)
        for name in ("gain", "cost", "benefit", "loss"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
                raise ParameterError(f"{name} must be a number of at least 0, got {value!r}.")

    @classmethod
    def parse(cls, text: str) -> Game:
        """The stakes as a command line writes them: "gain=300,cost=4,benefit=1200,loss=300"."""
        pairs = [part.partition("=") for part in text.split(",")]
        told: dict[str, Any] = {name.strip(): value.strip() for name, _, value in pairs}
        known = [each.name for each in fields(cls)]
        strangers = [name for name in told if name not in known]
        absent = [name for name in known if name not in told and name != "attacker"]
        if strangers or absent:
            wrong = f"'{strangers[0]}' is none of them" if strangers else f"{listed(absent)} not given"
            raise ParameterError(f"The stakes of a game are gain=, cost=, benefit= and loss=, but {wrong}.")
        for name in told:
            if name != "attacker":
                told[name] = _number(told[name], name)
        return cls(**told)

    @property
    def least_persons(self) -> int | None:
        """The fewest persons who must fit so that no attack pays; None where every attack does."""
        return None if not self.cost else int(Fraction(str(self.gain)) / Fraction(str(self.cost))) + 1

    def adversary(self, chance: float) -> float:
        """What an attack on a person is worth who is found with a chance."""
        return self.gain * chance - self.cost

    def publisher(self, lost: float, chance: float) -> float:
        """What a published person is worth of whose values a share is lost, and who is found with a chance."""
        return self.benefit * (1 - lost) - (self.loss * chance if self.adversary(chance) > 0 else 0.0)

    def payout(self, persons_who_fit: NDArray[np.integer], lost: FloatArray | float = 0.0) -> float:
        """What a release is worth: the sum over its persons.

        Parameters
        ----------
        persons_who_fit
            For every person how many fit what is shown of them: those of the group, or of the population.
        lost
            The share of the values that is lost, of every person or of all.
        """
        chance = 1 / np.asarray(persons_who_fit, np.float64)
        attacked = self.gain * chance - self.cost > 0
        worth = self.benefit * (1 - np.asarray(lost)) - np.where(attacked, self.loss * chance, 0.0)
        return math.fsum(np.broadcast_to(worth, chance.shape).tolist())


def _number(text: str, name: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"{name} must be a number of at least 0, got {text!r}.") from None
