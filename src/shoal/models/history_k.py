"""History anonymity: whoever knows some of a person's own records still has k persons to choose from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, get_args

import numpy as np

from shoal.errors import ParameterError
from shoal.models.contract import Model
from shoal.models.counts import HISTORIES, GroupCounts
from shoal.models.exact import BoolArray, FloatArray, IntArray, as_choice, as_count
from shoal.models.histories import Asked, HistoryCounts, Knows
from shoal.models.known_histories import KnownHistories, known
from shoal.models.person_k_anonymity import PersonKAnonymity
from shoal.parts import option

Hidden = Literal["shared", "free"]
"""What is asked of hidden values: that k persons show one where anybody does, or nothing."""


class EnoughPersons(PersonKAnonymity):
    """Groups in which there are enough persons to show the same: what is asked while groups are formed."""

    name: ClassVar[str] = "history-k"


@dataclass(frozen=True, kw_only=True)
class HistoryK(KnownHistories):
    """Whoever knows a person's quasi-identifiers and m of their published values still has at least k persons.

    Every combination of at most m values that one person of a group shows is shown by at least k persons of it. A value
    shown twice counts twice; values of different levels of a hierarchy are different values; a hidden value shows
    nothing. m = 0 is person k-anonymity.

    Parameters
    ----------
    k
        The fewest persons, a whole number of at least 1.
    m
        How many values of a person are known: 0 to 3.
    columns
        The columns of which values are known; None means every sensitive one. The time column stands for the days
        between a person's records, where these are shown.
    with_quasi
        Whether the quasi-identifiers are known too. Without them persons are counted over the whole release.
    knows
        "values": single values. "records": all named columns of a record together. "times": these with the time as
        published. "order": these in the order of their times.
    hidden
        "shared": whoever knows a value that is hidden has k persons as well. Of a group k persons hide m values, or a
        hidden value counts as a value. "free": nothing is asked of hidden values. Unless told it is "shared" where
        shoal hides values, but for knows="times", and "free" where a table is judged as it is.

    Notes
    -----
    Groups are formed with at least k persons; then values are hidden, coarsened or left out until it holds. Monotone:
    who shows something in one part of a merged group shows it in the whole.

    Examples
    --------
    >>> HistoryK(k=5, m=1).sentence()
    'Whoever knows the quasi-identifiers and one value of a person has at least 5 persons to choose from'
    """

    k: int = field(
        metadata=option(
            "Whoever knows M values of a person still has K persons.",
            metavar="K",
        )
    )
    m: int = field(default=1, metadata=known("m", flags="history"))
    columns: Sequence[str] | None = field(default=None, metadata=known("columns", flags="history"))
    with_quasi: bool = field(default=True, metadata=known("with_quasi", flags="history"))
    knows: Knows = field(default="values", metadata=known("knows", flags="history"))
    hidden: Hidden | None = field(
        default=None,
        metadata=option(
            "Whether those who show a hidden value must be K persons too: shared or free.",
            metavar="HOW",
            flag="history-hidden",
        ),
    )
    name: ClassVar[str] = "history-k"
    is_common: ClassVar[bool] = True
    needs: ClassVar[frozenset[str]] = HISTORIES
    monotone: ClassVar[bool] = True
    higher_is_safer: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", as_count(self.k, name="k"))
        self._check_known()
        if self.hidden is not None:
            as_choice(self.hidden, name="hidden", choices=get_args(Hidden))
        if self.hidden == "shared" and self.knows == "times":
            raise ParameterError(
                "hidden='shared' does not go with knows='times': every hidden record shows its own time. Leave it out, "
                "or ask for knows='records'."
            )

    def sentence(self) -> str:
        """What it promises, in plain words."""
        also = ", also where what is known is hidden" if self.hidden == "shared" and self.m else ""
        return f"{self.who} has at least {self.k} persons to choose from{also}"

    @property
    def of_histories(self) -> Asked:
        """What it asks of histories."""
        return Asked(
            k=self.k, m=self.m, columns=self.columns, with_quasi=self.with_quasi, knows=self.knows,
            shares_hidden=self.hidden == "shared",
        )  # fmt: skip

    def when_hiding(self) -> Model:
        """The same with hidden values shared, unless it says otherwise or records are known with their times."""
        return replace(self, hidden="shared") if self.hidden is None and self.knows != "times" else self

    def while_grouping(self) -> Model | None:
        """Groups of at least k persons; without quasi-identifiers nothing is asked of groups."""
        return EnoughPersons(k=self.k) if self.with_quasi else None

    def holds(self, groups: GroupCounts) -> BoolArray:
        """Whether each group meets it; without quasi-identifiers all do or none does."""
        seen = self._seen(groups)
        holds = self._fewest(groups, seen) >= self.k
        if self.hidden == "shared":
            shared = seen.shares_hidden(self.k, self.m, self.columns, self.knows, model=self.name)
            holds &= shared if self.with_quasi else np.repeat(shared, len(groups))
        return holds

    def reached(self, groups: GroupCounts) -> FloatArray:
        """The fewest persons of each group who show any one combination of values that are not hidden."""
        return self._fewest(groups, self._seen(groups)).astype(np.float64)

    def _fewest(self, groups: GroupCounts, seen: HistoryCounts) -> IntArray:
        fewest = seen.fewest(self.m, self.columns, self.knows, model=self.name)
        return fewest if self.with_quasi else np.repeat(fewest, len(groups))
