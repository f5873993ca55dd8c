"""History anonymity: whoever knows some of a person's own records still has k persons to choose from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import comb
from typing import ClassVar

import numpy as np

from shoal.errors import ParameterError
from shoal.models.contract import Model
from shoal.models.counts import HISTORIES, GroupCounts
from shoal.models.exact import BoolArray, FloatArray, IntArray, as_choice, as_count
from shoal.models.histories import BUDGET, KNOWS, MOST_KNOWN, Asked, HistoryCounts, Knows
from shoal.models.person_k_anonymity import PersonKAnonymity
from shoal.parts import option


def known_in_words(m: int, knows: Knows, columns: Sequence[str] | None) -> str:
    """What somebody knows of a person's records, in plain words."""
    thing = "value" if knows == "values" else "record"
    how = {"times": " with their times" if m > 1 else " with its time", "order": " in their order" if m > 1 else ""}
    number = {1: "one", 2: "two", 3: "three"}[m]
    of = f" ({', '.join(columns)})" if columns else ""
    return f"{number} {thing}{'s' if m > 1 else ''} of a person{how.get(knows, '')}{of}"


class EnoughPersons(PersonKAnonymity):
    """Groups in which there are enough persons to show the same: what is asked while groups are formed."""

    name: ClassVar[str] = "history-k"


@dataclass(frozen=True, kw_only=True)
class HistoryK(Model):
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
    m: int = field(
        default=1, metadata=option("How many values of a person are known, 0 to 3.", metavar="M", flag="history-m")
    )
    columns: Sequence[str] | None = field(
        default=None,
        metadata=option("The columns of which values are known.", metavar="C,...", flag="history-columns"),
    )
    with_quasi: bool = field(
        default=True,
        metadata=option("Whether quasi-identifiers are known too.", metavar="yes|no", flag="history-with-quasi"),
    )
    knows: Knows = field(
        default="values",
        metadata=option("What is known: values, records, times or order.", metavar="WHAT", flag="history-knows"),
    )
    name: ClassVar[str] = "history-k"
    is_common: ClassVar[bool] = True
    needs: ClassVar[frozenset[str]] = HISTORIES
    monotone: ClassVar[bool] = True
    higher_is_safer: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", as_count(self.k, name="k"))
        object.__setattr__(self, "m", checked_m(self.m))
        object.__setattr__(self, "columns", checked_columns(self.columns))
        object.__setattr__(self, "with_quasi", checked_answer(self.with_quasi, name="with_quasi"))
        as_choice(self.knows, name="knows", choices=KNOWS)

    def sentence(self) -> str:
        """What it promises, in plain words."""
        quasi = "the quasi-identifiers" if self.with_quasi else ""
        known = known_in_words(self.m, self.knows, self.columns) if self.m else "of a person" if quasi else "nothing"
        told = f"{quasi}{' and ' if quasi and self.m else ' '}{known}".strip()
        return f"Whoever knows {told} has at least {self.k} persons to choose from"

    @property
    def of_histories(self) -> Asked:
        """What it asks of histories."""
        return Asked(k=self.k, m=self.m, columns=self.columns, with_quasi=self.with_quasi, knows=self.knows)

    def while_grouping(self) -> Model | None:
        """Groups of at least k persons; without quasi-identifiers nothing is asked of groups."""
        return EnoughPersons(k=self.k) if self.with_quasi else None

    def holds(self, groups: GroupCounts) -> BoolArray:
        """Whether each group meets it; without quasi-identifiers all do or none does."""
        return self._fewest(groups) >= self.k

    def reached(self, groups: GroupCounts) -> FloatArray:
        """The fewest persons of each group who show any one combination."""
        return self._fewest(groups).astype(np.float64)

    def _fewest(self, groups: GroupCounts) -> IntArray:
        seen = histories_of(groups, with_quasi=self.with_quasi)
        fewest = seen.fewest(self.m, self.columns, self.knows, model=self.name)
        return fewest if self.with_quasi else np.repeat(fewest, len(groups))


def histories_of(groups: GroupCounts, *, with_quasi: bool) -> HistoryCounts:
    """The histories of groups, or of the whole release where nobody knows the quasi-identifiers."""
    assert groups.histories is not None
    return groups.histories if with_quasi else groups.histories.as_one_group


def checked_m(m: object) -> int:
    """How many values are known; more than three are refused."""
    known = as_count(m, name="m", at_least=0)
    if known > MOST_KNOWN:
        raise ParameterError(
            f"m must be at most {MOST_KNOWN}, got {known:,}. At most {BUDGET:,} combinations are looked at, and a "
            f"person with 60 records alone has {comb(60, MOST_KNOWN + 1):,} of {MOST_KNOWN + 1}."
        )
    return known


def checked_columns(columns: object) -> tuple[str, ...] | None:
    """Columns as a list, or as a text in which commas part them; None where all are meant."""
    if columns is None:
        return None
    parts = columns.split(",") if isinstance(columns, str) else columns
    if not isinstance(parts, Sequence):
        raise ParameterError(f"columns must be a list of columns, not one {type(columns).__name__}.")
    named = tuple(str(each).strip() for each in parts)
    if not named or not all(named):
        raise ParameterError("columns must name at least one column; leave it out to mean every sensitive one.")
    return tuple(dict.fromkeys(named))


def checked_answer(value: object, *, name: str) -> bool:
    """Yes or no, also in words."""
    words = {"yes": True, "true": True, "no": False, "false": False}
    answer = words.get(value.lower()) if isinstance(value, str) else value
    if not isinstance(answer, bool):
        raise ParameterError(f"{name} must be True or False.")
    return answer
