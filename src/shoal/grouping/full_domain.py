"""Full-domain generalization: one level per quasi-identifier for all persons, the levels that lose least."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from shoal.errors import CannotSatisfyError, ParameterError
from shoal.grouping.grouping import Grouping, Method, Rng
from shoal.grouping.lattice import Found, Lattice, Looked, Search, Vector
from shoal.grouping.per_column import PerColumn, by_column, of_columns, written
from shoal.models.contract import Model
from shoal.parts import option
from shoal.progress import Progress, silent
from shoal.table.columns import has_hierarchy
from shoal.table.table import Table

MOST_TOLD = 200
"""Of so many combinations of levels it is told at the most what they lose."""


@dataclass(frozen=True, kw_only=True)
class FullDomain(Method):
    """Show every quasi-identifier at one level of its hierarchy, the same for all; leave out who is too rare there.

    Parameters
    ----------
    weights
        How much what is lost of a column counts, 1 unless told: "age=2,zip=0.5". 0 counts nothing.
    lowest, highest
        The lowest and the highest level at which a column may be shown: "age=1". 0 is the value.
    aggregate
        How what is lost of several columns becomes one number: their "geometric" mean, which ARX takes, or their
        "arithmetic" one, which is 1 less the granularity; or the share of all bits, "entropy", by which ARX counts what
        a release is worth to its publisher.
    time_limit
        After so many seconds the best levels so far are taken. What is told then says how much less could be lost.

    Notes
    -----
    Persons who agree in every quasi-identifier at its level are a cell. A cell that meets every model is a group, the
    persons of others are left out, and levels at which no more than `max_suppressed` persons are left out can be
    published. Of these the ones that lose least are taken, a record that is left out counting as wholly hidden. Levels
    are looked at from those that could lose least (with nobody left out) up, until no others can lose less: so the
    answer is the best there is, unless time runs out. Where models allow it, levels are passed over because higher ones
    leave out too many already.

    Models of samples are asked of the cells themselves: of k-map and delta-presence the persons of the population who
    are in the same cell are counted; for models of the whole table the smallest cells are left out until they hold.

    A person whose records differ in a column at its level is shown there at the lowest node above all of them, which
    then lies higher. A column without a hierarchy is shown as it is or not at all.

    The same table gives the same grouping, in whatever order its records stand, unless time runs out. O(v q d) time for
    v combinations of levels that are looked at, q quasi-identifiers and d different persons.
    """

    weights: PerColumn = field(
        default=None,
        metadata=option("How much what is lost of columns counts, 1 unless told.", metavar="C=X,C=X"),
    )
    lowest: PerColumn = field(
        default=None,
        metadata=option("The lowest levels at which columns may be shown; 0 is the value.", metavar="C=N,C=N"),
    )
    highest: PerColumn = field(
        default=None, metadata=option("The highest levels at which columns may be shown.", metavar="C=N,C=N")
    )
    aggregate: Literal["geometric", "arithmetic", "entropy"] = field(
        default="geometric", metadata=option("The mean by which what is lost of several columns becomes one number.")
    )
    time_limit: float = field(
        default=60.0,
        metadata=option("Seconds after which the best levels so far are taken.", low=0, high=86_400, metavar="S"),
    )
    name: ClassVar[str] = "full-domain"
    title: ClassVar[str] = "One set of classes for all"
    sentence: ClassVar[str] = (
        "Every column is shown at one level of its hierarchy, the same for all; who is too rare there is left out."
    )
    is_in_app: ClassVar[bool] = True
    keeps_models: ClassVar[bool] = True
    is_one_for_all: ClassVar[bool] = True
    asks_of_samples: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("weights", "lowest", "highest"):
            object.__setattr__(self, name, written(getattr(self, name)))
        super().__post_init__()
        for name in ("weights", "lowest", "highest"):
            by_column(name, getattr(self, name))

    def group(self, table: Table, models: Sequence[Model], progress: Progress = silent, *, rng: Rng = None) -> Grouping:
        """Group the persons of a table; no more are left out than the table says may be."""
        progress("grouping", 0.0)
        names = list(table.quasi)
        weights = of_columns("weights", self.weights, names)
        if not any(weights.get(name, 1.0) for name in names):
            raise ParameterError("weights must leave some column a weight above 0.")
        lattice = Lattice(
            table, models, may_leave_out=table.may_leave_out, aggregate=self.aggregate,
            weights=[weights.get(name, 1.0) for name in names],
        )  # fmt: skip
        low, high = self._ends(names, lattice.top)
        search = Search(lattice, lowest=low, highest=high, seconds=self.time_limit)
        found = search.run(lambda done: progress("grouping", done))
        if found.best is None:
            raise _cannot(found, table)
        group_of_person, n_groups = lattice.groups(found.best.vector)
        levels = dict(zip(names, found.best.vector, strict=True))
        return Grouping(
            group_of_person, n_groups, notes=_notes(found, table), levels=levels,
            told={"levels": levels, "lattice": _told(found, names)},
        )  # fmt: skip

    def _ends(self, names: list[str], top: Vector) -> tuple[Vector, Vector]:
        lowest, highest = (of_columns(name, getattr(self, name), names) for name in ("lowest", "highest"))
        for what, given in (("lowest", lowest), ("highest", highest)):
            for name, level in given.items():
                most = top[names.index(name)]
                if level != int(level) or not 0 <= level <= most:
                    raise ParameterError(
                        f"{what} of '{name}' must be a whole number from 0 to {most}, its highest level."
                    )
        low = tuple(int(lowest.get(name, 0)) for name in names)
        high = tuple(int(highest.get(name, most)) for name, most in zip(names, top, strict=True))
        crossed = [name for name, least, most in zip(names, low, high, strict=True) if least > most]
        if crossed:
            raise ParameterError(f"lowest lies above highest for {', '.join(crossed)}.")
        return low, high


def _cannot(found: Found, table: Table) -> CannotSatisfyError:
    fewest = min((looked.left_out for looked in found.explored), default=table.n_persons)
    return CannotSatisfyError(
        f"No levels meet every model with at most {table.may_leave_out:,} of {table.n_persons:,} persons left out: of "
        f"those that were looked at {fewest:,} are the fewest. Ask for less, allow higher levels (highest=), or allow "
        "more persons to be left out (max_suppressed)."
    )


def _notes(found: Found, table: Table) -> tuple[str, ...]:
    assert found.best is not None
    notes = []
    if not found.is_optimal:
        notes.append(
            f"Time ran out after {len(found.explored):,} of {found.n_vectors:,} combinations of levels: the best so "
            f"far loses {found.best.loss:.4f}, and none can lose less than {found.at_least:.4f}. Allow more with "
            "time_limit=."
        )
    bare = [name for name, column in table.quasi.items() if not has_hierarchy(column)]
    if bare:
        notes.append(
            f"Columns without a hierarchy are shown as they are or not at all: {', '.join(bare)}. Give them one to "
            "lose less."
        )
    return tuple(notes)


def _told(found: Found, names: Sequence[str]) -> dict[str, Any]:
    """What was looked at: how many combinations of levels, and what those lose that can be published."""
    assert found.best is not None
    can_be = [looked for looked in found.explored if looked.meets]
    return {
        "nodes": found.n_vectors,
        "looked_at": len(found.explored),
        "ruled_out": found.ruled_out,
        "loss": found.best.loss,
        "at_least": found.at_least,
        "is_optimal": found.is_optimal,
        "columns": list(names),
        "explored": [_line(looked) for looked in can_be[:MOST_TOLD]],
    }


def _line(looked: Looked) -> dict[str, Any]:
    return {
        "levels": list(looked.vector), "left_out": looked.left_out, "loss": looked.loss,
        "granularity": looked.granularity, "max_gidr": looked.max_gidr, "prosecutor_risk": looked.prosecutor_risk,
        "marketer_risk": looked.marketer_risk,
    }  # fmt: skip
