"""A grouping: which persons are published alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.errors import CannotSatisfyError, ParameterError
from shoal.models.contract import Model
from shoal.parts import Part
from shoal.progress import Progress, silent
from shoal.table.table import Table

Rng = np.random.Generator | None
"""Where random numbers come from; None: from the system's secure randomness."""


@dataclass(frozen=True)
class Grouping:
    """The group of each person; each person is in exactly one.

    A method may leave out as many persons as the table says (`Table.may_leave_out`): their group is -1.
    """

    group_of_person: NDArray[np.int32]
    n_groups: int
    notes: tuple[str, ...] = ()
    """What the steward should know of how the groups were formed, in plain sentences."""
    levels: Mapping[str, int] = field(default_factory=dict)
    """The level of its hierarchy at which a quasi-identifier is shown for all, where it is; of one without a hierarchy
    0 is its values and 1 nothing. A person whose records differ there is shown at the lowest node above them."""
    hidden: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    """For quasi-identifiers of which groups hide cells: which groups do, also where all their records agree."""
    told: Mapping[str, Any] = field(default_factory=dict)
    """What is told of how the groups were formed, as further keys of the JSON contract."""

    @property
    def left_out(self) -> NDArray[np.bool_]:
        """Who is in no group, and so is not published: the persons whose group is -1."""
        return self.group_of_person < 0

    def group_of_record(self, table: Table) -> NDArray[np.int32]:
        """The group of each record: that of its person."""
        return self.group_of_person[table.person_of_record]


def everybody(table: Table) -> Grouping:
    """All persons as one group, where nobody is grouped."""
    return Grouping(np.zeros(table.n_persons, np.int32), 1)


def without_left_out(table: Table, grouping: Grouping, *, freely: bool = False) -> tuple[Table, Grouping]:
    """The table and its groups without those whom the method leaves out; refused where more are than may be.

    Parameters
    ----------
    freely
        Whether any number may be (`Method.leaves_out_freely`).
    """
    out = grouping.left_out
    n_out = int(out.sum())
    if not n_out:
        return table, grouping
    if (n_out > table.may_leave_out and not freely) or n_out == table.n_persons:
        raise CannotSatisfyError(
            f"{n_out:,} of {table.n_persons:,} persons would be left out, but {table.may_leave_out:,} may be. Ask for "
            f"less, or allow more with max_suppressed={n_out + table.suppressed_persons}."
        )
    smaller = replace(table.without_persons(out), may_leave_out=max(table.may_leave_out - n_out, 0))
    group_of_person = np.empty(smaller.n_persons, np.int32)
    kept = ~out[table.person_of_record]
    group_of_person[smaller.person_of_record] = grouping.group_of_person[table.person_of_record[kept]]
    return smaller, replace(grouping, group_of_person=group_of_person)


class Prepared(Protocol):
    """A method that has looked at a table already."""

    def group(self, models: Sequence[Model], progress: Progress = silent) -> Grouping:
        """Group the persons of the table."""
        ...


class Method(Part, ABC):
    """How groups are formed: table and models in, grouping out; each group meets each model."""

    sentence: ClassVar[str] = "Groups are formed in a way of its own."
    starts_from_whole: ClassVar[bool] = True
    """Whether it cuts the whole table, so that this must meet every model, also one that merging groups may break."""
    keeps_models: ClassVar[bool] = False
    """Whether each of its groups meets each model; the verdict is recounted in any case."""
    asks_of_samples: ClassVar[bool] = False
    """Whether it asks models of samples and populations by itself; for others sizes of groups are tried."""
    is_one_for_all: ClassVar[bool] = False
    """Whether groups follow from classes that are the same for all, so that nobody can be moved to another."""
    draws_persons: ClassVar[bool] = False
    """Whether it publishes a random sample of persons, by which it promises something."""
    leaves_out_freely: ClassVar[bool] = False
    """Whether it publishes some persons only, however few may be left out: a sample. It says how many these are."""
    cuts_by_width: ClassVar[bool] = False
    """Whether the widest quasi-identifier is cut, and not the one that loses least."""

    @property
    def needs_squares(self) -> bool:
        """Whether it asks for the sums of squares of persons, where it works on sums."""
        return True

    @property
    def spends(self) -> tuple[float, float] | None:
        """The epsilon and delta of differential privacy that a release by it spends; None where it promises none."""
        return None

    @property
    def own_models(self) -> tuple[Model, ...]:
        """What it promises by itself, beside the models that are asked for."""
        return ()

    @property
    def own_mask(self) -> str | None:
        """The one mask that shows its groups as they are meant; None where any does."""
        return None

    def prepared(self, table: Table) -> Prepared | None:
        """The method with what it can keep of a table between runs for different models; None where that is nothing."""
        return None

    def quick(self) -> Method:
        """The same without what it does at length once groups are formed."""
        return self

    @abstractmethod
    def group(self, table: Table, models: Sequence[Model], progress: Progress = silent, *, rng: Rng = None) -> Grouping:
        """Group the persons of a table; where a method draws, the numbers come from `rng`, which the seed governs."""


class OwnMethod(Method):
    """A method of somebody's own that says nothing but how it groups."""

    def __init__(self, own: Any) -> None:
        self._own = own

    def group(self, table: Table, models: Sequence[Model], progress: Progress = silent, *, rng: Rng = None) -> Grouping:
        """What it gives."""
        grouping: Grouping = self._own.group(table, models, progress)
        return grouping


def as_method(given: Any) -> Method:
    """A method as it is, or one of somebody's own by the contract; what is neither is refused."""
    if isinstance(given, Method):
        return given
    if isinstance(given, type) or not callable(getattr(given, "group", None)):
        raise ParameterError(
            f"A method is expected by its name or as an object with 'group', not {type(given).__name__}."
        )
    return OwnMethod(given)
