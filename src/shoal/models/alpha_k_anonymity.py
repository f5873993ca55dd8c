"""(alpha, k)-anonymity: k records in every group, and no sensitive value in too many of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from shoal.errors import ParameterError
from shoal.models.contract import OnSensitive, as_share
from shoal.models.counts import GroupCounts, ValueCounts
from shoal.models.exact import BoolArray, FloatArray, Threshold, as_count, as_fraction, ratio_at_most, share
from shoal.parts import option


@dataclass(frozen=True, kw_only=True)
class AlphaKAnonymity(OnSensitive):
    """Every group has k records and no sensitive value in more than a share alpha of them (Wong and others, 2006).

    Parameters
    ----------
    alpha
        The largest share of a group's records that may have the same value, in (0, 1].
    k
        The fewest records, a whole number of at least 1.
    column
        The sensitive attribute; None asks it of each one.

    Notes
    -----
    `asked` and `reached` are about alpha; a group holds where both parts do. It counts records: where persons have
    many, h-affiliation with person k-anonymity is the safer choice. Monotone: records add up, and the share of a
    value in a merged group lies between its shares in the parts.

    Examples
    --------
    >>> AlphaKAnonymity(alpha=0.5, k=4).asked
    0.5
    """

    alpha: Threshold = field(metadata=option("The largest share of a value.", metavar="A"))
    k: int = field(metadata=option("The fewest records.", metavar="K"))
    column: str | None = None
    name: ClassVar[str] = "alpha-k-anonymity"
    needs: ClassVar[frozenset[str]] = frozenset({"records", "most_records_of_value"})
    monotone: ClassVar[bool] = True
    higher_is_safer: ClassVar[bool] = False
    flag: ClassVar[str | None] = "alpha-k"
    shared_flag: ClassVar[tuple[str, str, str] | None] = ("A,K", "(alpha,k)-anonymity", "0.5,5")

    def __post_init__(self) -> None:
        alpha = as_fraction(self.alpha, name="alpha")
        if not 0 < alpha <= 1:
            raise ParameterError(
                f"alpha must lie in (0, 1], got {float(alpha):g}. alpha = 0.5 keeps every value to half of the records."
            )
        object.__setattr__(self, "alpha", alpha)
        object.__setattr__(self, "k", as_count(self.k, name="k"))

    def sentence(self) -> str:
        """What it promises, in plain words."""
        return (
            f"Every group has at least {self.k} records, and no {self.value_in_words} in more than "
            f"{as_share(self.alpha)} of them"
        )

    def holds(self, groups: GroupCounts) -> BoolArray:
        """Whether each group has k records and no value in more than a share alpha of them."""
        return super().holds(groups) & (groups.records >= self.k)

    def _holds_on(self, attribute: ValueCounts, groups: GroupCounts) -> BoolArray:
        return ratio_at_most(attribute.most_records, groups.records, self.alpha)  # type: ignore[arg-type]

    def _reached_on(self, attribute: ValueCounts, groups: GroupCounts) -> FloatArray:
        return share(attribute.most_records, groups.records)
