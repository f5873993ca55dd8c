"""Mask "pram": categories are drawn anew by a transition matrix (Gouweleeuw, Kooiman, Willenborg and de Wolf, 1998)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import ParameterError, SchemaError
from shoal.grouping.per_column import STRATA, Columns, names_in, strata_of
from shoal.masking.changing import Changed, Changing, codes_of, texts_of_codes
from shoal.masking.draws import Draws
from shoal.parts import option
from shoal.table.columns import CategoryColumn
from shoal.table.table import QuasiColumn, Table

SUM = 1e-9
"""How far the chances of a line may be from adding up to 1."""

Matrix = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Pram(Changing):
    """Publish categories that may have been mistaken for others, by chances that are known (post-randomisation).

    Parameters
    ----------
    columns
        The columns that are changed, quasi-identifiers or sensitive ones. None: the quasi-identifiers that are nominal
        or ordered.
    matrix
        "invariant": drawn, and then mended such that every category is to be expected as often as it was. "drawn": the
        chance to stay is drawn for each category, and the rest is spread evenly over the others. "given": as `given`.
    stays
        The least chance to stay from which chances are drawn, up to 1.
    strength
        How much of the matrix is used; the rest is that of no change.
    given
        The matrix of each column, line by line: {"sex": {"F": {"F": 0.9, "M": 0.1}, "M": {"F": 0.2, "M": 0.8}}}, as
        JSON or as the name of a JSON file.
    strata
        Columns inside whose values matrices are drawn and mended, each stratum by itself.
    publish_matrix
        Whether the codebook tells the matrix, so that anybody can correct estimates by it. Else it stays in the
        steward's report.

    Notes
    -----
    With chances p_i from [stays, 1], P has them on its diagonal and the rest of line i spread evenly. With q the shares
    of the categories and Q the chances of what a shown category was, Q[k, j] = P[j, k] q_j / sum_i P[i, k] q_i, the
    invariant matrix is R = P Q: q R = q. What is used is strength * R + (1 - strength) * I.

    One draw per person and column: records of a person that have the same category show the same one, so that nobody
    finds the original by counting. A missing value stays missing. O(n log L) for n records and L categories.
    """

    matrix: Literal["invariant", "drawn", "given"] = field(
        default="invariant", metadata=option("Where the chances come from.")
    )
    stays: float = field(
        default=0.8,
        metadata=option("The least chance of a category to stay, where chances are drawn.", low=0.0, high=1.0),
    )
    strength: float = field(
        default=0.5, metadata=option("How much of the matrix is used; the rest is no change.", low=0.0, high=1.0)
    )
    given: str | Mapping[str, Any] | None = field(
        default=None, metadata=option("With matrix = given: the matrices as JSON, or a JSON file.", metavar="FILE")
    )
    strata: Columns = field(default=None, metadata=STRATA)
    publish_matrix: bool = field(default=False, metadata=option("Tell the matrices in the codebook."))
    name: ClassVar[str] = "pram"
    title: ClassVar[str] = "Categories drawn anew (PRAM)"
    sentence: ClassVar[str] = "Categories are drawn anew, by chances that are known; one draw per person."
    shown_as: ClassVar[str] = "the person's category, or another one by chances that the publisher knows"
    names_columns: ClassVar[tuple[str, ...]] = ("columns", "strata")
    is_of_categories: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "given", _as_json(self.given))
        super().__post_init__()
        if self.strength == 0 or (self.stays == 1 and self.matrix != "given"):
            raise ParameterError("strength = 0 and stays = 1 change nothing. Say stays=0.8, strength=0.5, for example.")
        if (self.matrix == "given") != (self.given is not None):
            raise ParameterError("matrix = 'given' and the matrices (given=) go together.")

    @classmethod
    def takes(cls, column: QuasiColumn) -> bool:
        """Nominal and ordered categories."""
        return isinstance(column, CategoryColumn) or column.kind == "ordered"

    def change(self, table: Table, columns: Sequence[QuasiColumn], draws: Draws) -> Changed:
        """The columns with categories drawn anew."""
        if not columns:
            raise SchemaError("The mask pram changes categories, but no quasi-identifier has such. Choose noise.")
        names = names_in(None if self.strata is None else str(self.strata))
        itself = [column.name for column in columns if column.name in names]
        if itself:
            raise ParameterError(
                f"'{itself[0]}' is changed and is a stratum: inside one of its values nothing can change."
            )
        stratum, n_strata = strata_of(table, names, "mask pram")
        ends = np.cumsum(np.bincount(stratum, minlength=n_strata))[:-1]
        records_of_stratum = np.split(np.argsort(stratum, kind="stable"), ends)
        first = [of[0] for of in records_of_stratum]
        of_stratum = table.frame.select(pl.col(names).cast(pl.String))[first].to_dicts() if names else [{}]
        shown, told = {}, {}
        for column in columns:
            codes, n_codes = codes_of(column)
            chance = draws.uniform(table.n_persons)[table.person_of_record]
            changed, matrices = codes.copy(), []
            for inside, values in zip(records_of_stratum, of_stratum, strict=True):
                of = inside[codes[inside] < n_codes]
                counts = np.bincount(codes[of], minlength=n_codes)
                present = np.flatnonzero(counts)
                matrix = self._matrix(column, present, counts[present], draws)
                changed[of] = drawn_anew(codes[of], present, matrix, chance[of])
                matrices.append(_told(column, present, matrix, values))
            shown[column.name] = texts_of_codes(column, changed).alias(column.name)
            told[column.name] = {"matrices": matrices, "strata": names, "changed": float((changed != codes).mean())}
        book = {name: {"matrices": each["matrices"], "strata": names} for name, each in told.items()}
        return Changed(shown, book if self.publish_matrix else {}, told)

    def _matrix(
        self, column: QuasiColumn, present: NDArray[np.int64], counts: NDArray[np.int64], draws: Draws
    ) -> Matrix:
        """The chances between the categories that there are."""
        if self.matrix == "given":
            return self._given(column, present)
        stay = self.stays + (1 - self.stays) * draws.uniform(len(present))
        matrix = drawn_matrix(stay)
        if self.matrix == "invariant":
            matrix = invariant(matrix, counts / max(counts.sum(), 1))
        return np.asarray(self.strength * matrix + (1 - self.strength) * np.eye(len(present)))

    def _given(self, column: QuasiColumn, present: NDArray[np.int64]) -> Matrix:
        """The chances that were given, for the categories that there are; all of a line must stay among these."""
        lines = json.loads(str(self.given)).get(column.name)
        if not isinstance(lines, Mapping):
            raise ParameterError(f"given has no matrix for '{column.name}', which is to be changed by it.")
        names = texts_of_codes(column, present).cast(pl.String).to_list()
        absent = sum(name not in lines for name in names)
        if absent:
            raise ParameterError(
                f"The matrix of '{column.name}' lacks lines for {absent:,} of its {len(names):,} categories."
            )
        matrix = np.array([[float(lines[a].get(b, 0.0)) for b in names] for a in names])
        wrong = int(((np.abs(matrix.sum(axis=1) - 1) > SUM) | (matrix < 0).any(axis=1)).sum())
        if wrong:
            raise ParameterError(
                f"In the matrix of '{column.name}' the chances of {wrong:,} lines are negative or do not add up to 1 "
                "over the categories that the column has (in every stratum)."
            )
        return matrix


def drawn_matrix(stay: Matrix) -> Matrix:
    """Chances to stay on the diagonal, and the rest of each line spread evenly over the others."""
    n = len(stay)
    if n <= 1:
        return np.eye(n)
    matrix = np.repeat(((1 - stay) / (n - 1))[:, None], n, axis=1)
    np.fill_diagonal(matrix, stay)
    return matrix


def invariant(matrix: Matrix, shares: Matrix) -> Matrix:
    """The matrix R = P Q of two steps, by which every category is to be expected as often as it is: q R = q."""
    joint = matrix * shares[:, None]
    back = joint.T / joint.sum(axis=0)[:, None]
    return np.asarray(matrix @ back)


def drawn_anew(
    codes: NDArray[np.int64], present: NDArray[np.int64], matrix: Matrix, chance: Matrix
) -> NDArray[np.int64]:
    """The category that each is drawn to: where its chance falls in the line of its own."""
    if len(present) <= 1:
        return codes
    line = np.searchsorted(present, codes)
    ends = np.cumsum(matrix, axis=1)
    ends[:, -1] = 1.0
    places = (ends + np.arange(len(present))[:, None]).ravel()
    place = np.searchsorted(places, line + chance, side="right") - line * len(present)
    return np.asarray(present[np.clip(place, 0, len(present) - 1)])


def _told(
    column: QuasiColumn, present: NDArray[np.int64], matrix: Matrix, stratum: Mapping[str, Any]
) -> dict[str, Any]:
    names = texts_of_codes(column, present).cast(pl.String).to_list()
    return {**({"stratum": dict(stratum)} if stratum else {}), "categories": names, "lines": matrix.tolist()}


def _as_json(given: Any) -> Any:
    """Matrices as JSON, read from a file where one is named."""
    if isinstance(given, Mapping):
        return json.dumps(given, sort_keys=True)
    if not isinstance(given, str):
        return given
    try:
        text = given if given.lstrip().startswith("{") else Path(given).read_text(encoding="utf-8")
        return json.dumps(json.loads(text), sort_keys=True)
    except (OSError, ValueError):
        raise ParameterError("given is neither JSON nor the name of a JSON file that can be read.") from None
