"""What parts of a run have in common: a name, options that say what they take, the engines that offer them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from types import MappingProxyType, NoneType, UnionType
from typing import Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from shoal.errors import ParameterError, did_you_mean

MethodName = Literal[
    "balance-tree",
    "mondrian",
    "local-recoding",
    "full-domain",
    "cell-suppression",
    "safepub",
    "mdav",
    "spanning-tree",
    "spanning-cells",
    "longest-edge",
    "buckets",
    "anatomy",
    "decomposition",
]
MaskName = Literal[
    "range",
    "mean",
    "suppress",
    "wildcards",
    "perturb",
    "anatomize",
    "permute",
    "noise",
    "pram",
    "rank-swap",
    "record-swap",
    "shuffle",
    "individual-ranking",
    "columns",
]


def option(
    help: str,
    *,
    low: float | None = None,
    high: float | None = None,
    metavar: str | None = None,
    flag: str | None = None,
    is_kept_apart: bool = False,
) -> Mapping[str, Any]:
    """What a field of a part says of itself to doors, as its `metadata`.

    Parameters
    ----------
    help
        What it means, in one sentence.
    low, high
        The least and the largest number that it takes.
    metavar
        What stands for its value where its flag is explained.
    flag
        How its flag is called, where that is not its name.
    is_kept_apart
        Whether policies leave it out.
    """
    return MappingProxyType({
        "help": help, "low": low, "high": high, "metavar": metavar, "flag": flag, "is_kept_apart": is_kept_apart,
    })  # fmt: skip


@dataclass(frozen=True)
class Option:
    """An option of a part: what it takes, what it means, and what it is where nobody says."""

    name: str
    kind: type
    """bool, int, float or str; object where the part alone knows what it takes."""
    help: str
    """What it means; empty where it has no flag."""
    default: Any
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    may_be_open: bool = False
    is_needed: bool = False
    metavar: str = "VALUE"

    def fault(self, value: object) -> str | None:
        """Why a value is none that it takes, in words; None where it is one."""
        if (value is None and self.may_be_open) or self._takes(value):
            return None
        if self.kind in (int, float):
            return f"{self.name} must {self._limits}. {self.help}"
        quoted = [f"'{choice}'" for choice in self.choices]
        known = " or ".join([", ".join(quoted[:-1]), quoted[-1]]) if len(quoted) > 1 else "".join(quoted)
        return f"{self.name} must be {'true or false' if self.kind is bool else known or 'a text'}."

    def _takes(self, value: object) -> bool:
        if self.kind is object:
            return True
        if self.kind is bool or isinstance(value, bool):
            return self.kind is bool and isinstance(value, bool)
        if self.kind is str:
            return isinstance(value, str) and (not self.choices or value in self.choices)
        if not isinstance(value, int if self.kind is int else int | float) or not math.isfinite(value):
            return False
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    @property
    def _limits(self) -> str:
        low, high = (None if end is None else f"{end:,}" for end in (self.low, self.high))
        if self.kind is float and low is not None and high is not None:
            return f"lie in [{low}, {high}]"
        between = f" from {low} to {high}" if low and high else f" of at least {low}" if low else ""
        return f"be a {'whole ' if self.kind is int else ''}number{between}"


_KINDS = (bool, int, float, str)


def options_of(part: Any) -> tuple[Option, ...]:
    """The options that the fields of a part declare, in their order."""
    return _declared(part)


@cache
def _declared(part: Any) -> tuple[Option, ...]:
    if not is_dataclass(part):
        return ()
    try:
        hints = get_type_hints(part)
    except NameError:  # types that are imported for checkers only
        hints = {}
    return tuple(_option_of(field, hints.get(field.name, object)) for field in fields(part) if field.init)


def _option_of(field: Any, hint: Any) -> Option:
    """An option from the type of its field and what the field says of it."""
    told = {**option(""), **field.metadata}
    among = get_args(hint) if get_origin(hint) in (Union, UnionType) else ()
    kinds = [kind for kind in (hint, *among) if kind in _KINDS or get_origin(kind) is Literal]
    choices = get_args(kinds[0]) if kinds and get_origin(kinds[0]) is Literal else ()
    kind = str if choices else kinds[0] if kinds else object
    usual = {int: "N", float: "X"}.get(kind, "|".join(choices) or "VALUE")
    return Option(
        name=field.name,
        kind=kind,
        help=told["help"],
        default=None if field.default is MISSING else field.default,
        choices=choices,
        low=told["low"],
        high=told["high"],
        may_be_open=NoneType in get_args(hint),
        is_needed=field.default is MISSING and field.default_factory is MISSING,
        metavar=told["metavar"] or usual,
    )


class Part:
    """A part of a run that is chosen by its name and its options: a dataclass whose fields are these.

    What a part does not say of itself is taken in the way that is safe: only the engine in memory offers it, and the
    web app lists it last.
    """

    name: ClassVar[str] = "custom"
    """What policies, flags and reports call it."""
    title: ClassVar[str] = ""
    """What the web app calls it, in a few words."""
    sentence: ClassVar[str] = ""
    """What it does, in plain words."""
    engines: ClassVar[frozenset[str]] = frozenset({"memory"})
    """The engines that offer it: "memory", "stream", "spark"."""
    is_in_app: ClassVar[bool] = False
    """Whether the web app lists it among the first; others stand below."""

    def __post_init__(self) -> None:
        """Refuse a value that an option does not take."""
        for each in options_of(type(self)):
            fault = each.fault(getattr(self, each.name))
            if fault is not None:
                raise ParameterError(fault)

    @classmethod
    def faults(cls, given: Mapping[str, object]) -> dict[str, str]:
        """What is wrong with options that somebody gives, by their names; "" is about several together."""
        known = {each.name: each for each in options_of(cls)}
        faults = {
            name: f"{cls.name} has no option '{name}'. Its options are: {', '.join(known) or 'none'}."
            f"{did_you_mean(name, known)}"
            for name in given
            if name not in known
        }
        wrong = {name: each.fault(given[name]) for name, each in known.items() if name in given}
        faults |= {name: fault for name, fault in wrong.items() if fault is not None}
        make: Any = cls
        if not faults:
            try:
                make(**given)
            except ParameterError as error:
                return {"": str(error)}
        return faults

    @property
    def options(self) -> dict[str, Any]:
        """Its options as they are, those that were left open left out."""
        given = {each.name: getattr(self, each.name) for each in options_of(type(self))}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def written(self) -> str:
        """Its name with the options that differ from their defaults: "balance-tree:cut=median"."""
        usual = {each.name: each.default for each in options_of(type(self))}
        changed = [f"{name}={value}" for name, value in self.options.items() if value != usual[name]]
        return ":".join([self.name, *changed])

    def why_not_on(self, engine: str) -> list[str]:
        """Why an engine that offers the part does not offer these options of it, in plain sentences."""
        return []
