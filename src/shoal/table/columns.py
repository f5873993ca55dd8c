"""Columns as arrays: numbers in whole units, categories as codes. A missing value has a place of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import SchemaError
from shoal.table.schema import Date, Nominal, Number, Ordered, Quasi, Schema
from shoal.table.spelling import TEXTS, first_alike, n_without_case, spelled, told_of_persons, told_of_values
from shoal.table.times import local_days, refuse_untold

Codes = NDArray[np.int32]
MOST_DECIMALS = 9
LARGEST_WHOLE_NUMBER = 10**18 - 1
"""So that sums and differences of whole numbers stay within 64 bits."""
LineOf = Callable[[int], int | None]


@dataclass(frozen=True)
class Whole:
    """What must be known of a number column in the whole table, where only some of its records are at hand."""

    extent: tuple[int, int]
    """The lowest and the highest unit that is not missing."""
    mean_extent: float | None = None
    """How far the means of persons are apart, in units."""
    deviation: float | None = None
    """The standard deviation over all records, in units."""
    ends: tuple[float, float] | None = None
    """Of floats that stand beside units: the lowest and the highest."""
    has_missing: bool | None = None
    """Whether somebody misses the value."""
    has_dashes: bool | None = None
    """Whether a value is written with a dash, so that ranges need another sign."""


class Laid(NamedTuple):
    """Categories with a hierarchy that are laid on a line."""

    column: CategoryColumn
    place: NDArray[np.int64]
    """Where each code stands, in units."""


@dataclass(frozen=True)
class NumberColumn:
    """A quasi-identifier with an order: numbers, dates, ordered categories, in whole units.

    A number with d decimals is kept as number * 10^d, so that sums are exact and labels carry no float noise. Numbers
    that have more than nine decimals keep their floats beside units on a fine grid.
    """

    name: str
    kind: str
    units: NDArray[np.int64]
    is_missing: NDArray[np.bool_] | None
    decimals: int = 0
    width: int = 0
    """Zero-padded width of codes such as the ZIP 02139; 0 where numbers are not padded."""
    floats: NDArray[np.float64] | None = None
    categories: tuple[str, ...] = ()
    """The ordered categories; empty for numbers and dates."""
    source: Quasi | None = None
    whole: Whole | None = None
    """What holds for the whole table, where this column has only some of its records."""
    laid: Laid | None = None
    """Where it stands for a column with a hierarchy; its units are then the two ends of the line."""

    @property
    def extent(self) -> tuple[int, int]:
        """The lowest and the highest unit that is not missing, of the whole table."""
        if self.whole is not None:
            return self.whole.extent
        present = self.units if self.is_missing is None else self.units[~self.is_missing]
        return (int(present.min()), int(present.max())) if len(present) else (0, 0)

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest value, as numbers: days of dates, places of ordered categories."""
        if self.floats is None:
            low, high = self.extent
            return low / 10.0**self.decimals, high / 10.0**self.decimals
        if self.whole is not None and self.whole.ends is not None:
            return self.whole.ends
        present = self.floats if self.is_missing is None else self.floats[~self.is_missing]
        return (float(present.min()), float(present.max())) if len(present) else (0.0, 0.0)

    @property
    def n_values(self) -> int:
        """How many values there could be, in whole units from the lowest to the highest; missing is one too."""
        low, high = self.extent
        return high - low + 1 + self.has_missing

    @property
    def has_missing(self) -> bool:
        """Whether somebody of the whole table misses the value."""
        if self.whole is not None and self.whole.has_missing is not None:
            return self.whole.has_missing
        return self.is_missing is not None and bool(self.is_missing.any())

    def units_with_missing(self) -> NDArray[np.int64]:
        """Units in which a missing value stands one whole extent below the lowest number."""
        if self.is_missing is None:
            return self.units
        low, high = self.extent
        return np.where(self.is_missing, low - max(high - low, 1), self.units)


@dataclass(frozen=True)
class CategoryColumn:
    """A column of categories: one code per record, categories in order; a missing value has the last code."""

    kind: ClassVar[str] = "nominal"

    name: str
    codes: Codes
    categories: pl.Series
    """The distinct values, sorted, without missing; of values that are one, the first."""
    has_missing: bool
    source: Quasi | None = None
    in_table: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
    """How many records and persons of the whole table have each code, where this column has only some records of it."""
    spelling: str = "exact"
    """What does not tell values apart: those that are one have one code."""
    n_written: int | None = None
    """How many distinct values there are as they are written, where some are one."""
    missing_tells: bool = True
    """Whether a missing value counts as a value; where it does not, records that miss it are left out of counts."""

    @property
    def n_codes(self) -> int:
        """How many codes there are, missing included."""
        return len(self.categories) + self.has_missing

    @property
    def code_left_out(self) -> int | None:
        """The code of missing, where somebody misses the value and that tells nothing."""
        return len(self.categories) if self.has_missing and not self.missing_tells else None

    @property
    def notes(self) -> list[str]:
        """What to tell of values that are spelled in several ways."""
        n = len(self.categories)
        return told_of_values(self.name, self.spelling, n if self.n_written is None else self.n_written, n)


def code_values(values: pl.Series) -> tuple[Codes, pl.Series]:
    """Codes of a series in the order of its sorted distinct values; missing gets the code behind the last.

    The codes depend on the values only, never on the order of the records.
    """
    if values.dtype in (pl.Categorical, pl.Enum):
        return _code_categories(values)
    if values.dtype in (pl.Float32, pl.Float64):
        values = values.fill_nan(None)
    if values.dtype == pl.String:
        distinct = _sorted_texts(values)
        return _positions(values, distinct), distinct
    if values.dtype.is_integer() and len(values) > values.null_count():
        low, high = int(values.min()), int(values.max())  # type: ignore[arg-type]
        if high - low < 4 * len(values) + 1024 and low > -(2**62) and high < 2**62:
            return _code_dense_integers(values, low, high)
    if values.dtype.is_integer() and values.dtype not in (pl.UInt64, pl.Int128, pl.UInt128) and not values.null_count():
        return _code_integers(values)
    distinct = values.drop_nulls().unique().sort()
    codes = (values.rank("dense") - 1).fill_null(len(distinct))
    return codes.cast(pl.Int32).to_numpy(), distinct


def _positions(values: pl.Series, distinct: pl.Series) -> Codes:
    codes = values.cast(pl.Enum(distinct)).to_physical().cast(pl.Int32)
    return codes.fill_null(len(distinct)).to_numpy()


def _code_categories(values: pl.Series) -> tuple[Codes, pl.Series]:
    """Codes of dictionary-encoded texts, without decoding them; categories that no record has get no code."""
    physical = values.to_physical().cast(pl.UInt32)
    used = physical.drop_nulls().unique().sort()
    if isinstance(values.dtype, pl.Enum):
        texts = values.dtype.categories.gather(used)
    else:
        texts = used.cat.to(values.dtype).cast(pl.String)
    order = _order_of_texts(texts)
    missing_at = (int(used[-1]) if len(used) else 0) + 1
    code_of_physical = np.zeros(missing_at + 1, dtype=np.int32)
    code_of_physical[used.gather(order).to_numpy()] = np.arange(len(used), dtype=np.int32)
    code_of_physical[missing_at] = len(used)
    return code_of_physical[physical.fill_null(missing_at).to_numpy()], texts.gather(order)


def _code_dense_integers(values: pl.Series, low: int, high: int) -> tuple[Codes, pl.Series]:
    missing_at = high - low + 1
    offsets = (values.cast(pl.Int64) - low).fill_null(missing_at).to_numpy()
    present = np.zeros(missing_at + 1, dtype=np.bool_)
    present[offsets] = True
    present[missing_at] = False
    code_of_offset = np.cumsum(present, dtype=np.int32) - 1
    code_of_offset[missing_at] = int(present.sum())
    distinct = pl.Series(values.name, np.flatnonzero(present) + low).cast(values.dtype)
    return code_of_offset[offsets], distinct


def _code_integers(values: pl.Series) -> tuple[Codes, pl.Series]:
    from shoal.kernels.counting import number_distinct

    numbers, distinct = number_distinct(values.cast(pl.Int64).to_numpy())
    order = np.argsort(distinct)
    code_of_number = np.empty(len(order), dtype=np.int32)
    code_of_number[order] = np.arange(len(order), dtype=np.int32)
    return code_of_number[numbers], pl.Series(values.name, distinct[order]).cast(values.dtype)


def category_column(values: pl.Series, *, source: Quasi | None = None, spelling: str = "exact") -> CategoryColumn:
    """A column as categories; values that a spelling does not tell apart have one code, that of the first of them."""
    codes, distinct = code_values(values)
    has_missing = bool(codes.max(initial=-1) == len(distinct))
    one = codes_of_one(distinct, spelling)
    if one is None:
        return CategoryColumn(values.name, codes, distinct, has_missing, source, spelling=spelling)
    code_of_written, first = one
    return CategoryColumn(
        values.name, code_of_written[codes], first, has_missing, source, spelling=spelling, n_written=len(distinct)
    )


def sensitive_columns(frame: pl.DataFrame, schema: Schema) -> dict[str, CategoryColumn]:
    """The sensitive attributes of a frame, each counted by its spelling, and missing as the schema says."""
    return {
        name: replace(
            category_column(frame[name], spelling=schema.spelling_of(name)),
            missing_tells=name not in schema.missing_tells_nothing,
        )
        for name in schema.sensitive
    }


def codes_of_one(distinct: pl.Series, spelling: str) -> tuple[Codes, pl.Series] | None:
    """Codes of different values, equal where they are one, and the first of each; None where no two are one.

    A code more, behind the last, is that of a missing value.
    """
    place = first_alike(distinct, spelling)
    if place is None:
        return None
    kept = np.unique(place)
    codes = np.append(np.searchsorted(kept, place), len(kept)).astype(np.int32)
    return codes, distinct.gather(kept)


@dataclass(frozen=True)
class Persons:
    """The person of each record, by their ids in the spelling of the column; missing is the code behind the last."""

    codes: Codes
    n: int
    written: pl.Series
    """The different ids as they are written."""
    code_of_written: Codes | None
    """The person of each of these; None where each is a person of their own."""
    notes: list[str]

    @property
    def person_of_written(self) -> Codes:
        """The person of each of the different ids."""
        return np.arange(self.n, dtype=np.int32) if self.code_of_written is None else self.code_of_written

    @classmethod
    def of(cls, values: pl.Series, spelling: str) -> Persons:
        """Persons are numbered by their ids in the order of these, in the form in which they are told apart."""
        codes, written = code_values(values)
        if written.dtype not in TEXTS or spelling == "exact":
            return cls(codes, len(written), written, None, [])
        forms = spelled(written, spelling)
        code_of_written, n = None, len(written)
        if forms is not written:
            code_of_written, distinct = code_values(forms)
            codes, n = np.append(code_of_written, np.int32(len(distinct)))[codes], len(distinct)
        n_folded = n_without_case(forms) if spelling == "plain" else None
        notes = told_of_persons(values.name, spelling, len(written), n, n_folded)
        return cls(codes, n, written, code_of_written, notes)


def persons_of(frame: pl.DataFrame, schema: Schema) -> tuple[Codes, int]:
    """The person of each record of a frame, and how many there are; each record is one where no column names them."""
    if schema.person is None or schema.person not in frame.columns:
        return np.arange(len(frame), dtype=np.int32), len(frame)
    found = Persons.of(frame[schema.person], schema.spelling_of(schema.person))
    return found.codes, found.n


def quasi_column(
    values: pl.Series, column: Quasi, line_of: LineOf, zone: str | None = None
) -> NumberColumn | CategoryColumn:
    """A quasi-identifier, of the kind that the schema says or the data show; days are those of a zone, where one is."""
    if column.hierarchy is not None and column.kind == "auto":
        column = Nominal(column.name, column.hierarchy)
    match column:
        case Nominal():
            return _nominal(values, column)
        case Number():
            return _number(values, column, line_of)
        case Ordered():
            return _ordered(values, column, line_of)
        case Date():
            return _date(values, column, line_of, zone)
    return _by_the_data(values, column, line_of, zone)


def _by_the_data(values: pl.Series, column: Quasi, line_of: LineOf, zone: str | None) -> NumberColumn | CategoryColumn:
    if values.dtype.is_numeric():
        return _number(values, column, line_of)
    if values.dtype.is_temporal():
        return _date(values, column, line_of, zone)
    if values.dtype in (pl.Boolean, pl.Categorical, pl.Enum):
        return _nominal(values, column)
    present = values.drop_nulls()
    n_numbers = len(present) - present.cast(pl.Float64, strict=False).null_count()
    if len(present) and n_numbers == len(present):
        return _number(values, column, line_of)
    if n_numbers == 0:
        return _nominal(values, column)
    first_other = first_that(values.is_not_null() & values.cast(pl.Float64, strict=False).is_null(), line_of)
    raise SchemaError(
        f"'{column.name}' holds {n_numbers:,} numbers and {len(present) - n_numbers:,} other values ({first_other}). "
        f"Say which kind it is: {column.name}:number, {column.name}:nominal, {column.name}:ordered or "
        f"{column.name}:date."
    )


def first_that(where: pl.Series, line_of: LineOf) -> str:
    """Where the first record is that fits, in words."""
    record = where.arg_max()
    assert record is not None
    line = line_of(record)
    return f"the first in line {line:,}" if line is not None else f"the first in record {record + 1:,}"


def _nominal(values: pl.Series, column: Quasi) -> CategoryColumn:
    if values.dtype.is_float():
        values = values.fill_nan(None)
    if values.dtype not in (pl.String, pl.Categorical, pl.Enum):
        values = values.cast(pl.String)
    coded = category_column(values, source=column)
    if column.hierarchy is not None:
        column.hierarchy.check_covers(coded.categories.cast(pl.String).to_list(), column=column.name)
    return coded


def _missing_mask(values: pl.Series) -> NDArray[np.bool_] | None:
    return values.is_null().to_numpy() if values.null_count() else None


def _number(values: pl.Series, column: Quasi, line_of: LineOf) -> NumberColumn:
    width = 0
    if values.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null):
        values, width = _parse_numbers(values.cast(pl.String), column, line_of)
    elif not values.dtype.is_numeric():
        raise SchemaError(
            f"'{column.name}' is named as a number, but the column is of type {_name_of_type(values)}. Take it as "
            f"nominal or, where it holds dates, as a date: {column.name}:nominal, {column.name}:date."
        )
    is_missing = _missing_mask(values)
    if values.dtype.is_integer():
        _refuse_too_large(values, column, line_of)
        units = values.cast(pl.Int64).fill_null(0).to_numpy()
        return NumberColumn(column.name, "number", units, is_missing, width=width, source=column)
    floats = values.cast(pl.Float64)
    odd = (floats.is_nan() | floats.is_infinite()).fill_null(False)
    if odd.any():
        raise SchemaError(
            f"'{column.name}' has {int(odd.sum()):,} values that are infinite or not a number "
            f"({first_that(odd, line_of)}). Leave them empty, or drop those records."
        )
    return _in_units(floats.fill_null(0.0).to_numpy(), is_missing, column)


def _refuse_too_large(values: pl.Series, column: Quasi, line_of: LineOf) -> None:
    extremes = [int(extreme) for extreme in (values.min(), values.max()) if extreme is not None]  # type: ignore[arg-type]
    if any(abs(extreme) > LARGEST_WHOLE_NUMBER for extreme in extremes):
        too_large = values.cast(pl.Int128, strict=False).fill_null(0).abs() > LARGEST_WHOLE_NUMBER
        raise SchemaError(
            f"'{column.name}' has {int(too_large.sum()):,} whole numbers of 19 digits or more "
            f"({first_that(too_large, line_of)}). Take it as nominal: {column.name}:nominal, or drop it."
        )


def _name_of_type(values: pl.Series) -> str:
    """What a column holds; never with the categories of a type that lists them."""
    return type(values.dtype).__name__.lower()


def _parse_numbers(values: pl.Series, column: Quasi, line_of: LineOf) -> tuple[pl.Series, int]:
    whole = values.cast(pl.Int64, strict=False)
    if whole.null_count() == values.null_count():
        return whole, _padded_width(values)
    numbers = values.cast(pl.Float64, strict=False)
    text = values.is_not_null() & numbers.is_null()
    if text.any():
        raise SchemaError(
            f"'{column.name}' is named as a number, but {int(text.sum()):,} of {len(values):,} values are text "
            f"({first_that(text, line_of)}). Mend them, or take the column as nominal: {column.name}:nominal."
        )
    if values.drop_nulls().str.contains(r"^[+-]?\d+$").all():
        _refuse_too_large(values.cast(pl.Int128, strict=False).fill_null(2**126), column, line_of)
    return numbers, 0


def _padded_width(values: pl.Series) -> int:
    """The common width of codes such as 02139, or 0: they are then written with their zeros."""
    lengths = values.str.len_chars()
    if lengths.min() != lengths.max() or (lengths.max() or 0) < 2:  # type: ignore[operator]
        return 0
    return int(lengths.max()) if values.str.starts_with("0").any() else 0  # type: ignore[arg-type]


def _in_units(floats: NDArray[np.float64], is_missing: NDArray[np.bool_] | None, column: Quasi) -> NumberColumn:
    for decimals in range(MOST_DECIMALS + 1):
        scaled = np.rint(floats * 10.0**decimals)
        if np.abs(scaled).max(initial=0) >= 2**53:
            break
        if (scaled / 10.0**decimals == floats).all():
            units = scaled.astype(np.int64)
            return NumberColumn(column.name, "number", units, is_missing, decimals=decimals, source=column)
    present = floats if is_missing is None else floats[~is_missing]
    low, high = float(present.min()) / 2, float(present.max()) / 2  # halves, whose difference is never infinite
    span = high - low if high > low else 1.0
    grid = np.rint((floats / 2 - low) / span * 2.0**40)
    units = np.where(is_missing, 0, grid).astype(np.int64) if is_missing is not None else grid.astype(np.int64)
    return NumberColumn(column.name, "number", units, is_missing, floats=floats, source=column)


def _ordered(values: pl.Series, column: Ordered, line_of: LineOf) -> NumberColumn:
    order = column.order
    if order is None and isinstance(values.dtype, pl.Enum):
        order = tuple(values.dtype.categories.to_list())
    texts = values.cast(pl.String)
    if order is None:
        numeric = values.dtype.is_numeric()
        distinct = values.drop_nulls().unique().sort().cast(pl.String) if numeric else _sorted_texts(texts)
        order = tuple(distinct.to_list())
    unknown = texts.is_not_null() & ~texts.is_in(list(order))
    if unknown.any():
        raise SchemaError(
            f"'{column.name}' has {int(unknown.sum()):,} values that its order does not name "
            f"({first_that(unknown, line_of)}). Add them to the order."
        )
    codes = _positions(texts, pl.Series(order, dtype=pl.String))
    is_missing = _missing_mask(values)
    units = codes.astype(np.int64)
    return NumberColumn(column.name, "ordered", units, is_missing, categories=order, source=column)


def _sorted_texts(texts: pl.Series) -> pl.Series:
    """Distinct texts in their order."""
    distinct = texts.drop_nulls().unique()
    return distinct.gather(_order_of_texts(distinct))


def _order_of_texts(distinct: pl.Series) -> NDArray[np.int64]:
    """The order of texts: as numbers where all are numbers (a CSV file holds texts only), else as texts."""
    order = distinct.arg_sort().to_numpy()
    numbers = distinct.cast(pl.Float64, strict=False)
    if numbers.null_count() or not len(distinct):
        return order
    return order[np.argsort(numbers.to_numpy()[order], kind="stable")]


def _date(values: pl.Series, column: Quasi, line_of: LineOf, zone: str | None) -> NumberColumn:
    if values.dtype not in (pl.String, pl.Categorical, pl.Enum, pl.Null, pl.Date, pl.Datetime):
        raise SchemaError(
            f"'{column.name}' holds no dates, but is of type {_name_of_type(values)}. Take it as nominal or ordered: "
            f"{column.name}:nominal, {column.name}:ordered."
        )
    days, is_untold = local_days(values, zone)
    wrong = values.is_not_null() & days.is_null()
    if wrong.any():
        raise SchemaError(
            f"'{column.name}' is named as a date, but {int(wrong.sum()):,} of {len(values):,} values are not of "
            f"the form 2024-12-31 ({first_that(wrong, line_of)})."
        )
    refuse_untold(column.name, int(is_untold.sum()))
    units = days.to_physical().cast(pl.Int64).fill_null(0).to_numpy()
    return NumberColumn(column.name, "date", units, _missing_mask(days), source=column)


def has_hierarchy(column: NumberColumn | CategoryColumn) -> bool:
    """Whether the schema gives the column a hierarchy."""
    return column.source is not None and column.source.hierarchy is not None
