"""Mask "columns": each column is changed by a mask of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from shoal.errors import ParameterError
from shoal.masking.changing import Changed, Changing, changed_by
from shoal.masking.draws import Draws
from shoal.masking.publish import Published
from shoal.parts import option, options_of
from shoal.registry import Registry
from shoal.table.table import QuasiColumn, Table

HOW = "Write steps as mask:option=value:…, separated by semicolons: 'noise:columns=age:amount=0.5; pram:columns=sex'."


@dataclass(frozen=True, kw_only=True)
class ByColumn(Changing):
    """Change each column by a mask of its own: noise for one, PRAM for another, in one release.

    Parameters
    ----------
    columns
        Not used: each step names its own.
    by
        The steps: "noise:columns=age,income:amount=0.5; pram:columns=sex". In Python also a list of masks. A step that
        names no columns takes the quasi-identifiers of its kinds that no other step names.

    Notes
    -----
    Every column is changed by one step, from its original values; the order of steps does not matter but for the draws.
    """

    by: str | Sequence[Any] = field(
        default="", metadata=option("A mask for each column, such as 'noise:columns=age; pram:columns=sex'.")
    )
    name: ClassVar[str] = "columns"
    title: ClassVar[str] = "Each column in its own way"
    sentence: ClassVar[str] = "Each column is changed by a mask of its own."

    def __post_init__(self) -> None:
        by: Any = self.by
        if isinstance(by, Changing):
            by = [by]
        if not isinstance(by, str) and isinstance(by, Sequence):
            by = "; ".join(step.written if isinstance(step, Changing) else str(step) for step in by)
        object.__setattr__(self, "by", by)
        super().__post_init__()
        if self.columns is not None:
            raise ParameterError("The mask columns takes no columns of its own: each of its steps names some.")
        self.masks  # noqa: B018 - what is not understood is refused here

    @property
    def masks(self) -> list[Changing]:
        """The steps, each a mask."""
        return [_made(text) for text in str(self.by).split(";") if text.strip()]

    @classmethod
    def takes(cls, column: QuasiColumn) -> bool:
        """What its steps take."""
        return True

    def steps(self, table: Table) -> list[tuple[Changing, list[QuasiColumn]]]:
        """The columns of each step; one that names none takes what is left of its kinds."""
        masks = self.masks
        if not masks:
            raise ParameterError(f"The mask columns needs a step for every quasi-identifier. {HOW}")
        named = {column.name for mask in masks if mask.columns is not None for column in mask.chosen(table)}
        left = [column for column in table.quasi.values() if column.name not in named]
        steps: list[tuple[Changing, list[QuasiColumn]]] = []
        for mask in masks:
            own = mask.chosen(table) if mask.columns is not None else [each for each in left if mask.takes(each)]
            left = [each for each in left if each not in own]
            if not own:
                raise ParameterError(
                    f"The step '{mask.written}' of the mask columns has nothing to change: no quasi-identifier of a "
                    "kind that it takes is left by the other steps. Name its columns (columns=), or leave the step out."
                )
            steps.append((mask, own))
        return steps

    def steps_beside(self, table: Table) -> list[tuple[Changing, list[QuasiColumn]]]:
        """The columns of each step where quasi-identifiers are shown by groups: sensitive ones, each named once."""
        steps = []
        seen: set[str] = set()
        for mask in self.masks:
            if mask.columns is None:
                raise ParameterError(f"The step '{mask.written}' beside groups must name its columns (columns=).")
            own = mask.chosen(table)
            wrong = [each.name for each in own if each.name in table.quasi or each.name in seen]
            if wrong:
                raise ParameterError(
                    f"'{wrong[0]}' is a quasi-identifier, which groups show, or is named by two steps. Beside groups "
                    "sensitive columns are changed, each by one step."
                )
            seen |= {each.name for each in own}
            steps.append((mask, own))
        return steps

    def change(self, table: Table, columns: Sequence[QuasiColumn], draws: Draws) -> Changed:
        """Its steps change, not the mask itself."""
        raise NotImplementedError("The mask columns changes columns by its steps.")


def changed_beside(published: Published, table: Table, also: str, rng: np.random.Generator | None) -> Published:
    """A release by groups in which sensitive columns are changed too, person by person, as steps say."""
    steps = ByColumn(by=also).steps_beside(table)
    done = changed_by(steps, table, rng)
    order = published.record_of_published
    shown = [series.gather(order).alias(name) for name, series in done.columns.items()]
    return replace(published, frame=published.frame.with_columns(shown), book=done.book, told=done.told)


def _made(text: str) -> Changing:
    """A mask from its text, "noise:columns=age:amount=0.5"."""
    from shoal.masking import MASKS

    known: Registry[Any] = MASKS
    name, *given = (part.strip() for part in text.split(":"))
    made = known[name]
    if not issubclass(made, Changing) or made is ByColumn:
        changing = [each for each, mask in known.items() if issubclass(mask, Changing) and mask is not ByColumn]
        raise ParameterError(f"The mask {name} does not change single columns. Those that do: {', '.join(changing)}.")
    options = dict(_option(part, made) for part in given)
    faults = made.faults(options)
    if faults:
        raise ParameterError(f"A step of the mask columns is wrong. {next(iter(faults.values()))}")
    step: Changing = made(**options)
    return step


def _option(part: str, made: type[Changing]) -> tuple[str, Any]:
    """An option of a step, in the kind that the mask takes."""
    name, equals, value = part.partition("=")
    if not equals:
        raise ParameterError(f"A step of the mask columns has an option without a value. {HOW}")
    kind: Mapping[str, type] = {each.name: each.kind for each in options_of(made)}
    name, value = name.strip(), value.strip()
    truths = {"true": True, "yes": True, "false": False, "no": False}
    try:
        if kind.get(name) is bool:
            return name, truths.get(value.lower(), value)
        return name, kind[name](value) if kind.get(name) in (int, float) else value
    except ValueError:
        return name, value  # the mask says what it takes
