"""Models of records and persons said as limits, so that a sweep can decide them at every step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from shoal.models.contract import Model
from shoal.models.counts import SPREAD


@dataclass(frozen=True, kw_only=True)
class SpreadLimits:
    """What a group must keep to, exactly; a model whose property `limits` gives one holds where all are kept."""

    least_persons: int = 1
    least_records: int = 1
    largest_share: Fraction = Fraction(1)
    """Of the records of a group, the share of the person who has most."""
    largest_squares: Fraction = Fraction(1)
    """The sum over the persons of a group of their squared shares of its records."""

    def and_also(self, other: SpreadLimits) -> SpreadLimits:
        """Both limits in one."""
        return SpreadLimits(
            least_persons=max(self.least_persons, other.least_persons),
            least_records=max(self.least_records, other.least_records),
            largest_share=min(self.largest_share, other.largest_share),
            largest_squares=min(self.largest_squares, other.largest_squares),
        )

    @property
    def in_whole_numbers(self) -> tuple[int, int, int, int, int, int]:
        """Persons, records, and both fractions as numerator and denominator: in the order that kernels take."""
        share, squares = self.largest_share.as_integer_ratio(), self.largest_squares.as_integer_ratio()
        return self.least_persons, self.least_records, *share, *squares

    def fits(self, n_records: int) -> bool:
        """Whether deciding the limits for groups of up to `n_records` stays within 64 bits."""
        _, _, *factors = self.in_whole_numbers
        return n_records**2 * max(factors) < 2**62


def limits_of(models: Sequence[Model]) -> SpreadLimits | None:
    """The limits that say the same as all models of records and persons, or None where one cannot be said so."""
    limits = SpreadLimits()
    for model in models:
        if model.needs <= SPREAD:
            own = model.limits
            if own is None:
                return None
            limits = limits.and_also(own)
    return limits
