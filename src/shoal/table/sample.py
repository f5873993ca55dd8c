"""How a table was drawn from a population: weights, households and strata of its records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import SchemaError
from shoal.table.columns import LineOf, code_values, first_that

if TYPE_CHECKING:
    from shoal.table.schema import Schema

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Sample:
    """What every record says of how the table was drawn; None for what is not known.

    All records of a person say the same.
    """

    weight: NDArray[np.float64] | None = None
    """How many persons of the population the person of each record stands for."""
    household: Codes | None = None
    """The number of the household of each record."""
    stratum: Codes | None = None
    """The number of the stratum of each record, in the order of `strata`."""
    strata: tuple[str, ...] = ()
    """What the strata are called."""

    @staticmethod
    def is_told(frame: pl.DataFrame, schema: Schema) -> bool:
        """Whether a table has columns that say how it was drawn."""
        return any(name in frame.columns for name in (schema.weight, schema.household, *schema.strata))

    @classmethod
    def of(
        cls, frame: pl.DataFrame, schema: Schema, person_of_record: NDArray[np.integer], line_of: LineOf | None = None
    ) -> Sample | None:
        """What a table says of it, as far as it has the columns; None where it says nothing.

        Raises
        ------
        SchemaError
            Weights are missing, no numbers, not above 0, differ inside a person, or add up to fewer persons than there
            are; a person has two households.
        """
        line_of = line_of or (lambda record: None)
        weight = household = stratum = None
        strata: tuple[str, ...] = ()
        if schema.weight is not None and schema.weight in frame.columns:
            weight = weights_of(frame[schema.weight], schema.weight, line_of)
            refuse_differing(weight, person_of_record, schema.weight, "weight")
            refuse_scaled(weight, person_of_record, schema.weight)
        if schema.household is not None and schema.household in frame.columns:
            household = _households(frame[schema.household], person_of_record)
            refuse_differing(household, person_of_record, schema.household, "household")
        if schema.strata and all(name in frame.columns for name in schema.strata):
            named = frame.select(pl.concat_str([pl.col(name).cast(pl.String).fill_null("missing")
                                                for name in schema.strata], separator=", "))  # fmt: skip
            codes, distinct = code_values(named.to_series())
            stratum, strata = codes.astype(np.int64), tuple(distinct.to_list())
        if weight is None and household is None and stratum is None:
            return None
        return cls(weight, household, stratum, strata)

    @classmethod
    def kept(cls, frame: pl.DataFrame, n_records: int) -> Sample:
        """As `to_frame` keeps it for the steward, record by published record."""
        if len(frame) != n_records:
            raise SchemaError(
                f"What the steward keeps of how the records were drawn has {len(frame):,} records, and the table "
                f"{n_records:,}."
            )
        weight = frame["weight"].to_numpy().astype(np.float64) if "weight" in frame.columns else None
        household = frame["household"].to_numpy().astype(np.int64) if "household" in frame.columns else None
        if "stratum" not in frame.columns:
            return cls(weight, household)
        codes, distinct = code_values(frame["stratum"])
        return cls(weight, household, codes.astype(np.int64), tuple(distinct.to_list()))

    def to_frame(self) -> pl.DataFrame:
        """What is known, record by record, for the steward."""
        columns: dict[str, object] = {}
        if self.weight is not None:
            columns["weight"] = self.weight
        if self.household is not None:
            columns["household"] = np.unique(self.household, return_inverse=True)[1].reshape(-1)
        if self.stratum is not None:
            columns["stratum"] = pl.Series(self.strata).gather(self.stratum)
        return pl.DataFrame(columns)

    def taken(self, records: NDArray[np.integer]) -> Sample:
        """The same of some of the records, in the order given."""
        parts = (None if part is None else part[records] for part in (self.weight, self.household, self.stratum))
        weight, household, stratum = parts
        return Sample(weight, household, stratum, self.strata)


def weights_of(column: pl.Series, name: str, line_of: LineOf) -> NDArray[np.float64]:
    """Weights as numbers above 0, or what is wrong with them."""
    n = len(column)
    numbers = (
        column.cast(pl.Float64, strict=False) if column.dtype != pl.Boolean else pl.Series([None] * n, dtype=pl.Float64)
    )
    faults = (
        (column.is_null() | numbers.is_nan().fill_null(False), "is missing"),
        (column.is_not_null() & numbers.is_null(), "is no number"),
        ((numbers == 0).fill_null(False), "is 0"),
        ((numbers < 0).fill_null(False), "is negative"),
        (numbers.is_infinite().fill_null(False), "is infinite"),
    )
    refuse_faults(
        name,
        [
            f"{what} in {int(is_wrong.sum()):,} of {n:,} records, {first_that(is_wrong, line_of)}"
            for is_wrong, what in faults
            if is_wrong.any()
        ],
    )
    return numbers.to_numpy().astype(np.float64)


def refuse_faults(name: str, told: list[str]) -> None:
    """Refuse weights of which something is told that is wrong."""
    if told:
        raise SchemaError(
            f"The weight column '{name}' {'; it '.join(told)}. A weight says how many persons of the population one "
            "stands for: complete it, or leave those records out."
        )


def _households(column: pl.Series, person_of_record: NDArray[np.integer]) -> Codes:
    """Numbers of households; who has none lives alone."""
    codes, distinct = code_values(column)
    n = len(distinct)
    return np.where(codes == n, n + person_of_record, codes).astype(np.int64)


def refuse_differing(values: NDArray[np.generic], person: NDArray[np.integer], name: str, role: str) -> None:
    """Refuse what should be one per person and is not."""
    n_persons = int(person.max(initial=-1)) + 1
    first = np.zeros(n_persons, values.dtype)
    first[person[::-1]] = values[::-1]
    differs = np.zeros(n_persons, np.bool_)
    differs[person[first[person] != values]] = True
    refuse_those_who_differ(int(differs.sum()), n_persons, name, role)


def refuse_those_who_differ(n_differing: int, n_persons: int, name: str, role: str) -> None:
    """Refuse a column in which some persons have several of what should be one."""
    if n_differing:
        raise SchemaError(
            f"The {role} column '{name}' differs between the records of {n_differing:,} of {n_persons:,} "
            f"persons. A person has one {role}: give every record that of its person."
        )


def refuse_scaled(weight: NDArray[np.float64], person: NDArray[np.integer], name: str) -> None:
    """Refuse weights that say that the population is smaller than the sample: they were scaled."""
    of_person = np.zeros(int(person.max(initial=-1)) + 1)
    of_person[person] = weight
    refuse_too_small(float(of_person.sum()), len(of_person), name)


def refuse_too_small(total: float, n_persons: int, name: str) -> None:
    """Refuse a population, by weights that add up to it, of fewer persons than the sample has."""
    if total < n_persons * (1 - 1e-9):
        raise SchemaError(
            f"The weights in '{name}' add up to {total:,.6g}, fewer than the {n_persons:,} persons of the "
            "table. They seem to be scaled: give weights that add up to the population."
        )


class PersonWeights:
    """The weight of every person, as records are seen portion by portion."""

    def __init__(self, name: str) -> None:
        self.name, self.n_records = name, 0
        self._weight, self._differs = np.zeros(0), np.zeros(0, np.bool_)

    def see(self, values: pl.Series, person: NDArray[np.integer]) -> None:
        """See the weights of a portion, and whose they are."""
        before = self.n_records
        weight = weights_of(values, self.name, lambda record: before + record + 1)
        more = int(person.max(initial=-1)) + 1 - len(self._weight)
        if more > 0:
            more = max(more, len(self._weight) // 2)
            self._weight = np.append(self._weight, np.zeros(more))
            self._differs = np.append(self._differs, np.zeros(more, np.bool_))
        is_new = self._weight[person] == 0
        self._weight[person[is_new]] = weight[is_new]
        self._differs[person[self._weight[person] != weight]] = True
        self.n_records += len(values)

    def of_persons(self, n_persons: int) -> NDArray[np.float64]:
        """The weight of each person, or what is wrong with them."""
        refuse_those_who_differ(int(self._differs.sum()), n_persons, self.name, "weight")
        refuse_too_small(float(self._weight[:n_persons].sum()), n_persons, self.name)
        return self._weight[:n_persons]
