"""Record risk: no person has too large a share of a group's records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from shoal.errors import ParameterError
from shoal.models.contract import Dial, Model, SpreadLimits, as_share
from shoal.models.counts import GroupCounts
from shoal.models.exact import BoolArray, FloatArray, Threshold, as_fraction, ratio_at_most, share
from shoal.parts import option


@dataclass(frozen=True, kw_only=True)
class RecordRisk(Model):
    """No person has more than a share rho of a group's records.

    It bounds what Kartal and Li (2020, section 7) report as the group's individual-record disclosure risk: the
    chance that a record of the group, picked blindly, belongs to a given person.

    Parameters
    ----------
    rho
        The largest share, in (0, 1].

    Notes
    -----
    A group that holds has at least 1 / rho persons. Monotone: the heaviest person of two merged groups had at most a
    share rho of their own group, and the merged group has no fewer records.

    Examples
    --------
    >>> RecordRisk(rho=0.1).rho
    Fraction(1, 10)
    """

    rho: Threshold = field(
        metadata=option("Nobody owns more than this share of a group's records: 0.1.", metavar="RHO")
    )
    name: ClassVar[str] = "record-risk"
    is_common: ClassVar[bool] = True
    needs: ClassVar[frozenset[str]] = frozenset({"records", "most_records"})
    monotone: ClassVar[bool] = True
    higher_is_safer: ClassVar[bool] = False
    dial: ClassVar[Dial | None] = Dial.share(is_free=True)

    def __post_init__(self) -> None:
        rho = as_fraction(self.rho, name="rho")
        if not 0 < rho <= 1:
            raise ParameterError(
                f"rho must lie in (0, 1], got {float(rho):g}. rho = 0.1 lets nobody have over a tenth of the records."
            )
        object.__setattr__(self, "rho", rho)

    def sentence(self) -> str:
        """What it promises, in plain words."""
        return f"Nobody may own more than {as_share(self.rho)} of the records of any group"

    @property
    def limits(self) -> SpreadLimits:
        """The model said as limits."""
        return SpreadLimits(largest_share=self.rho)  # type: ignore[arg-type]

    def holds(self, groups: GroupCounts) -> BoolArray:
        """Whether the person with most records has at most a share rho of them."""
        return ratio_at_most(groups.most_records, groups.records, self.rho)  # type: ignore[arg-type]

    def reached(self, groups: GroupCounts) -> FloatArray:
        """The largest share of each group's records that belongs to one person."""
        return share(groups.most_records, groups.records)
