"""How histories are hidden where models ask for it: by which ways, with which hierarchies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from shoal.errors import ParameterError, SchemaError, did_you_mean
from shoal.table.hierarchy import Hierarchy
from shoal.table.schema import Schema

Way = Literal["coarsen", "hide", "leave-out"]
WAYS: tuple[Way, ...] = get_args(Way)


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
    """

    ways: Sequence[Way] = ("coarsen", "hide")
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict, hash=False)
    alike: float = 1.0

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

    def refuse_unknown(self, schema: Schema) -> None:
        """Refuse hierarchies of columns that are not sensitive."""
        for name in self.hierarchies:
            if name not in schema.sensitive:
                known = schema.sensitive
                raise SchemaError(
                    f"A hierarchy of histories is named for '{name}', which is not sensitive. Sensitive are: "
                    f"{', '.join(known)}.{did_you_mean(name, known)}"
                )
