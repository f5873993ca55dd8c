"""How histories are hidden where models ask for it: by which ways, with which hierarchies."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, get_args

from shoal.errors import ParameterError, SchemaError, did_you_mean
from shoal.table.hierarchy import Hierarchy
from shoal.table.schema import Schema
from shoal.table.times import days_in

Way = Literal["coarsen", "hide", "leave-out"]
WAYS: tuple[Way, ...] = get_args(Way)
_RECORDS = re.compile(r"(?:at most )?(\d+) records?")


@dataclass(frozen=True)
class Episode:
    """How a person's records are cut into episodes, each published under a pseudonym of its own.

    Either by time, in so many days from the person's first record on, or by number, in their order.
    """

    days: int | None = None
    records: int | None = None

    @classmethod
    def of(cls, text: object) -> Episode:
        """From words such as "90 days", "12 weeks", "5 records" or "at most 5 records"."""
        found = _RECORDS.fullmatch(text.strip().lower()) if isinstance(text, str) else None
        if found is not None and int(found[1]):
            return cls(records=int(found[1]))
        days = days_in(text) if isinstance(text, str) else None
        if days is None:
            raise ParameterError("episode must be a time or a number of records, such as '90 days' or '5 records'.")
        return cls(days=days)

    @property
    def written(self) -> str:
        """As a policy writes it."""
        if self.records is not None:
            return f"{self.records} record{'s' if self.records > 1 else ''}"
        return f"{self.days} day{'s' if self.days != 1 else ''}"

    def sentence(self) -> str:
        """What is done, in plain words."""
        if self.records is not None:
            return f"at most {self.records:,} records each, in their order"
        return f"{self.days:,} days each, from the person's first record on"


@dataclass(frozen=True, kw_only=True)
class History:
    """How histories are brought to what models of them ask.

    Parameters
    ----------
    ways
        "coarsen": a value is shown as a node of its hierarchy where that is enough; "hide": it is shown as `*`;
        "leave-out": a record of which nothing is shown any more is left out, but for the last of a person. Values that
        cannot be coarsened are hidden in any case.
    hierarchies
        The hierarchy of a sensitive column, by name, for coarser values.
    alike
        How much groups are formed by histories beside quasi-identifiers: 0 not at all, 1 as much as by one of these.
    episode
        How a person's records are cut into episodes, each under a pseudonym of its own: "90 days" or "5 records". What
        is known of one episode then does not lead to another. None publishes one pseudonym per person.
    record_steps
        Numbers of records, ascending from 1 on: everybody who has another number is sampled down to the step below.
    """

    ways: Sequence[Way] = ("coarsen", "hide")
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict, hash=False)
    alike: float = 1.0
    episode: str | None = None
    record_steps: Sequence[int] | None = None

    def __post_init__(self) -> None:
        ways: Any = self.ways
        if isinstance(ways, str) or not isinstance(ways, Sequence):
            raise ParameterError(f"ways must be a list of {', '.join(WAYS)}.")
        for way in ways:
            if way not in WAYS:
                raise ParameterError(
                    f"There is no way '{way}' to hide histories. Choose from: {', '.join(WAYS)}."
                    f"{did_you_mean(str(way), WAYS)}"
                )
        object.__setattr__(self, "ways", tuple(dict.fromkeys(ways)))
        alike: Any = self.alike
        if isinstance(alike, bool) or not isinstance(alike, int | float) or not 0 <= alike <= 10:
            raise ParameterError("alike must be a number from 0 to 10, such as 0.3.")
        if self.episode is not None:
            object.__setattr__(self, "episode", Episode.of(self.episode).written)
        if self.record_steps is not None:
            object.__setattr__(self, "record_steps", checked_steps(self.record_steps))

    @property
    def cut(self) -> Episode | None:
        """How records are cut into episodes; None where they are not."""
        return None if self.episode is None else Episode.of(self.episode)

    def refuse_unknown(self, schema: Schema) -> None:
        """Refuse hierarchies of columns that are not sensitive."""
        for name in self.hierarchies:
            if name not in schema.sensitive:
                known = schema.sensitive
                raise SchemaError(
                    f"A hierarchy of histories is named for '{name}', which is not sensitive. Sensitive are: "
                    f"{', '.join(known)}.{did_you_mean(name, known)}"
                )


def checked_steps(steps: object) -> tuple[int, ...]:
    """Numbers of records in steps: whole, ascending, the first of them 1, so that nobody is left without records."""
    found = tuple(steps) if isinstance(steps, Sequence) and not isinstance(steps, str) else ()
    whole = all(isinstance(step, int) and not isinstance(step, bool) for step in found)
    if not whole or found[:1] != (1,) or any(one >= other for one, other in pairwise(found)):
        raise ParameterError("record_steps must be whole numbers, ascending from 1 on, such as [1, 2, 3, 5, 10, 20].")
    return found
