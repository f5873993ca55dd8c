"""What methods and masks have in common: a name, options, the engines that offer them."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, ClassVar


class Part:
    """A part of a run that is chosen by its name and its options.

    What a part does not say of itself is taken in the way that is safe: only the engine in memory offers it.
    """

    name: ClassVar[str] = "custom"
    """What policies, flags and reports call it."""
    engines: ClassVar[frozenset[str]] = frozenset({"memory"})
    """The engines that offer it: "memory", "stream", "spark"."""

    @property
    def options(self) -> dict[str, Any]:
        """Its options as they are, those that were left open left out."""
        named = [field.name for field in fields(self)] if is_dataclass(self) else list[str]()
        given = {name: getattr(self, name) for name in named}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def written(self) -> str:
        """Its name with the options that differ from their defaults: "balance-tree:cut=median"."""
        usual = {field.name: field.default for field in fields(self)} if is_dataclass(self) else dict[str, Any]()
        changed = [f"{name}={value}" for name, value in self.options.items() if value != usual[name]]
        return ":".join([self.name, *changed])

    def why_not_on(self, engine: str) -> list[str]:
        """Why an engine that offers the part does not offer these options of it, in plain sentences."""
        return []
