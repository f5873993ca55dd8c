"""What somebody knows of a person's own records: what models of histories have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb
from typing import Any

from shoal.errors import ParameterError
from shoal.models.contract import Model
from shoal.models.counts import GroupCounts
from shoal.models.exact import as_choice, as_count
from shoal.models.histories import BUDGET, KNOWS, MOST_KNOWN, HistoryCounts, Knows
from shoal.parts import option


class KnownHistories(Model):
    """A model about who knows m values of a person, of some columns, with quasi-identifiers or without.

    Models name these as fields behind their threshold, which say of themselves what `known` says.
    """

    m: int
    columns: Sequence[str] | None
    with_quasi: bool
    knows: Knows

    def _check_known(self) -> None:
        """Check what is known, and write it in one way."""
        object.__setattr__(self, "m", checked_m(self.m))
        object.__setattr__(self, "columns", checked_columns(self.columns))
        object.__setattr__(self, "with_quasi", checked_answer(self.with_quasi, name="with_quasi"))
        as_choice(self.knows, name="knows", choices=KNOWS)

    @property
    def who(self) -> str:
        """Who is reckoned with, in plain words."""
        quasi = "the quasi-identifiers" if self.with_quasi else ""
        known = known_in_words(self.m, self.knows, self.columns) if self.m else "of a person" if quasi else "nothing"
        both = " and " if quasi and self.m else " " if quasi else ""
        return f"Whoever knows {quasi}{both}{known}"

    def _seen(self, groups: GroupCounts) -> HistoryCounts:
        return histories_of(groups, with_quasi=self.with_quasi)


def known(name: str, *, flags: str, most: int = MOST_KNOWN) -> Mapping[str, Any]:
    """What `m`, `columns`, `with_quasi` or `knows` say of themselves, as fields of a model.

    Parameters
    ----------
    flags
        How the flags begin.
    most
        How many values may be known at the most.
    """
    help, metavar = {
        "m": (f"How many values of a person are known, 0 to {most}.", "M"),
        "columns": ("The columns of which values are known.", "C,..."),
        "with_quasi": ("Whether quasi-identifiers are known too.", "yes|no"),
        "knows": ("What is known: values, records, times or order.", "WHAT"),
    }[name]
    return option(help, metavar=metavar, flag=f"{flags}-{name.replace('_', '-')}")


def known_in_words(m: int, knows: Knows, columns: Sequence[str] | None) -> str:
    """What somebody knows of a person's records, in plain words."""
    thing = "value" if knows == "values" else "record"
    how = {"times": " with their times" if m > 1 else " with its time", "order": " in their order" if m > 1 else ""}
    number = {1: "one", 2: "two", 3: "three"}[m]
    of = f" ({', '.join(columns)})" if columns else ""
    return f"{number} {thing}{'s' if m > 1 else ''} of a person{how.get(knows, '')}{of}"


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
