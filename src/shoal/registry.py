"""Where parts are found by their names: those of shoal, and those that installed packages offer by entry points."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, MutableMapping
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from inspect import isabstract
from typing import Any, TypeVar, cast

from shoal.errors import ParameterError, ShoalWarning, did_you_mean
from shoal.parts import options_of

Part = TypeVar("Part")


class Registry(MutableMapping[str, type[Part]]):
    """Parts of one kind by name.

    Entry points are read only where a name is not one of shoal's own, or where all names are asked for. What a package
    offers is checked: it must meet the contract, under a name of its own. Asking for one that does not is an error;
    where all are listed it is left out with a warning.

    Parameters
    ----------
    what
        What a part is called in messages: "mask".
    contract
        The class that every part is a subclass of.
    own
        The parts of shoal, in the order in which they are listed.
    entry_points
        The group of entry points by which packages offer parts: "shoal.masks".

    Examples
    --------
    >>> from shoal.masking import MASKS
    >>> MASKS["mean"]
    <class 'shoal.masking.mean.Mean'>
    """

    def __init__(self, *, what: str, contract: type[Any], own: tuple[type[Part], ...], entry_points: str) -> None:
        self.what = what
        self.entry_points = entry_points
        self._contract = contract
        self._own = {str(self._name_of(part)): part for part in own}
        self._added: dict[str, type[Part]] = {}
        self._loaded: dict[str, type[Part]] = {}
        self._offers: dict[str, list[EntryPoint]] = {}
        self._offers_on: list[str] | None = None

    def __getitem__(self, name: str) -> type[Part]:
        found = self.get(name)
        if found is None:
            raise ParameterError(
                f"There is no {self.what} '{name}'. Choose one of: {', '.join(self)}.{did_you_mean(name, self)}"
            )
        return found

    def get(self, name: str, default: Any = None) -> Any:
        """The part of a name, or the default where there is none; one that is offered but not fit is an error."""
        for known in (self._own, self._added):
            if name in known:
                return known[name]
        if name in self._offered() and name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded.get(name, default)

    def made(self, name: str, **options: Any) -> Part:
        """A part with options, by a name that need not be one of shoal's own; type checkers take it wherever parts go.

        >>> from shoal.grouping import METHODS
        >>> METHODS.made("mdav", m=5)
        Mdav(m=5, variable=False, gamma=0.2, alpha=1.0, distance='euclidean', strata=None)
        """
        part: Any = self[name]
        known = [option.name for option in options_of(part)]
        for unknown in options.keys() - known:
            raise ParameterError(
                f"The {self.what} '{name}' has no option '{unknown}'. Its options are: {', '.join(known) or 'none'}."
                f"{did_you_mean(unknown, known)}"
            )
        return cast(Part, part(**options))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        yield from {**self._own, **self._added}
        for name in sorted(self._offered().keys() - self._added.keys()):
            try:
                self._refuse_taken(name)
                self.get(name)
            except ParameterError as error:
                warnings.warn(f"{error} It is left out.", ShoalWarning, stacklevel=2)
            else:
                yield name

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __setitem__(self, name: str, part: type[Part]) -> None:
        """Add a part for this process alone."""
        self._refuse_taken(name)
        self._refuse_unfit(name, part)
        self._added[name] = part

    def __delitem__(self, name: str) -> None:
        del self._added[name]

    def __repr__(self) -> str:
        return f"Registry({', '.join(self)})"

    def _offered(self) -> dict[str, list[EntryPoint]]:
        """What installed packages offer, by name, read again where Python looks in other folders for them."""
        if self._offers_on != sys.path:
            self._offers_on, self._offers, self._loaded = list(sys.path), {}, {}
            for entry in _entry_points_on(tuple(sys.path)).select(group=self.entry_points):
                self._offers.setdefault(entry.name, []).append(entry)
        return self._offers

    def _load(self, name: str) -> type[Part]:
        offers = {entry.value: entry for entry in self._offered()[name]}
        if len(offers) > 1:
            raise ParameterError(
                f"{_packages(offers.values())} offer a {self.what} '{name}' each. Uninstall all but one of them."
            )
        (entry,) = offers.values()
        told = f"{_packages([entry])} offers"
        try:
            part = entry.load()
        except Exception as error:  # whatever a package of somebody else does on import
            raise ParameterError(
                f"{told} the {self.what} '{name}', but {entry.value} cannot be imported ({type(error).__name__})."
            ) from error
        self._refuse_unfit(name, part, told)
        fit: type[Part] = part
        return fit

    def _refuse_taken(self, name: str) -> None:
        if name in self._own:
            told = f"{_packages(offers)} offers" if (offers := self._offered().get(name)) else "This is"
            raise ParameterError(
                f"{told} a {self.what} by '{name}', which is one of shoal's own: it needs another name."
            )

    def _refuse_unfit(self, name: str, part: Any, told: str = "This is") -> None:
        """Refuse what is no part of this kind, or calls itself otherwise."""
        if not isinstance(part, type) or not issubclass(part, self._contract) or isabstract(part):
            kind = f"{self._contract.__module__}.{self._contract.__qualname__}"
            raise ParameterError(
                f"{told} no {self.what} by '{name}': it must be a subclass of {kind} that can be made."
            )
        called = self._name_of(part)
        if called != name:
            otherwise = "has no name" if called is None else f"calls itself '{called}'"
            raise ParameterError(f"{told} a {self.what} by '{name}' that {otherwise}: both names must be the same.")

    def _name_of(self, part: type[Any]) -> str | None:
        """What a part calls itself; a name that it has from the contract is none."""
        named = [vars(cls)["name"] for cls in part.__mro__ if "name" in vars(cls) and issubclass(cls, self._contract)]
        return named[0] if named and named[0] != vars(self._contract).get("name") else None


@lru_cache(maxsize=1)
def _entry_points_on(path: tuple[str, ...]) -> Any:
    """The entry points of all packages in the folders where Python looks for them, read once for all registries."""
    return entry_points()


def _packages(entries: Iterable[EntryPoint]) -> str:
    """Who offers something: "The package stars"."""
    names = sorted({entry.dist.name if entry.dist else entry.module for entry in entries})
    return f"The package{'s' if len(names) > 1 else ''} {' and '.join(names)}"
