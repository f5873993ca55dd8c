"""Coding of values: extremes beyond a value become that value, rare categories become one, as the schema says.

What is coded is coded before anything is counted or grouped, for all records of a person alike. A rule that counts
persons ("k=5", "1%") is settled once by a whole table; what it is settled to is a plain value or a list of categories,
by which portions of a file, later records and published tables are coded and checked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from math import ceil
from numbers import Real
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import SchemaError
from shoal.table.label_sets import EVERYTHING, labels_in

Limit = int | float | str
"""A number or a day (2024-12-31); "k=5": so that at least 5 persons are there or beyond; "99%": by share of persons."""
OTHER = "other"


@dataclass(frozen=True, kw_only=True)
class Coding:
    """How the values of a column are coded before anything else.

    Parameters
    ----------
    top, bottom
        Values beyond become this value, a number or a day such as "2020-12-31". "k=5": the farthest value such that at
        least 5 persons have it or one beyond; "99%" for the top (or "1%" for the bottom): the farthest such that at
        least 1 % of the persons have it or one beyond.
    rare
        Categories that fewer persons have become one: "k=5", or "1%" of the persons who have a value. Where that one
        would itself have fewer, the next rarest join it.
    other
        What that category is called.
    shown
        The categories that stay, where that is settled; all others become one.
    """

    top: Limit | None = None
    bottom: Limit | None = None
    rare: str | None = None
    other: str = OTHER
    shown: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("top", "bottom"):
            object.__setattr__(self, name, _limit(name, getattr(self, name)))
        given: object = self.rare
        if given is not None and (not isinstance(given, str) or _counted(given) is None):
            raise SchemaError("rare says how many persons a category needs: 'k=5', or a share such as '1%'.")
        if not isinstance(self.other, str) or not self.other:
            raise SchemaError("other must be a text: what rare categories are called together.")
        if self.shown is not None:
            object.__setattr__(self, "shown", tuple(str(value) for value in self.shown))
        has_limits = self.top is not None or self.bottom is not None
        if has_limits == (self.rare is not None or self.shown is not None):
            raise SchemaError("A column is coded by top, bottom or both, or else by rare.")
        if self.is_settled and self.top is not None and self.bottom is not None:
            self._refuse_crossed(self.bottom, self.top)

    @classmethod
    def of(cls, given: Any, column: str) -> Coding:
        """A coding as it is, or from what a policy says of a column."""
        if isinstance(given, Coding):
            return given
        known = [each.name for each in fields(cls)]
        if not isinstance(given, Mapping) or any(key not in known for key in given):
            raise SchemaError(f"The coding of '{column}' must be a Coding, or say some of: {', '.join(known)}.")
        try:
            return cls(**given)
        except SchemaError as error:
            raise SchemaError(f"'{column}': {error}") from None

    @property
    def is_settled(self) -> bool:
        """Whether it says values and categories, and nothing is left to count."""
        return self.shown is not None or (self.rare is None and not any(map(_counted, (self.top, self.bottom))))

    @property
    def is_of_categories(self) -> bool:
        """Whether rare categories are put together; else extremes are cut."""
        return self.rare is not None or self.shown is not None

    def to_dict(self) -> dict[str, Any]:
        """As a policy says it, without what is usual."""
        said = {each.name: getattr(self, each.name) for each in fields(self)}
        said["shown"] = None if self.shown is None else list(self.shown)
        usual = {"other": OTHER}
        return {name: value for name, value in said.items() if value is not None and value != usual.get(name)}

    def words(self) -> str:
        """What was done, in plain words, where it is settled."""
        if self.shown is not None:
            return f"rare categories are called '{self.other}'"
        ends = [] if self.bottom is None else [f"{self.bottom} stands for {self.bottom} and less"]
        ends += [] if self.top is None else [f"{self.top} stands for {self.top} and more"]
        return ", ".join(ends)

    def asked(self) -> str:
        """What is asked, in plain words."""
        if self.rare is not None:
            return f"categories of fewer than {_in_words(self.rare)} become '{self.other}'"
        if self.shown is not None:
            return f"all but {len(self.shown):,} categories become '{self.other}'"
        ends = []
        for limit, beyond in ((self.bottom, "below"), (self.top, "above")):
            if limit is not None and _counted(limit) is None:
                ends.append(f"values {beyond} {limit} become {limit}")
            elif limit is not None:
                n = _in_words(str(limit), of_top=beyond == "above")
                ends.append(f"values {beyond} the farthest that {n} have or pass become that value")
        return " and ".join(ends)

    @staticmethod
    def _refuse_crossed(bottom: Limit, top: Limit) -> None:
        if isinstance(bottom, str) != isinstance(top, str):
            raise SchemaError("The bottom and the top code must both be numbers, or both days.")
        if bottom >= top:  # type: ignore[operator]
            raise SchemaError("The bottom code must lie below the top code. Ask for fewer persons beyond them.")


def _limit(name: str, given: Any) -> Limit | None:
    """A limit that can be read; decimals and fractions as plain numbers."""
    if isinstance(given, date):
        given = given.isoformat()[:10]
    if given is None or (isinstance(given, str) and (_counted(given) is not None or _day(given) is not None)):
        return given
    is_number = isinstance(given, Real | Decimal) and given is not True and given is not False
    if is_number and np.isfinite(float(given)):
        return int(float(given)) if float(given).is_integer() and abs(float(given)) < 2**53 else float(given)
    raise SchemaError(
        f"{name} must be a number, a day such as '2020-12-31', 'k=5' (so many persons are there or beyond), or a share "
        f"of persons such as '{'99%' if name == 'top' else '1%'}'."
    )


def _counted(limit: Any) -> re.Match[str] | None:
    """The parts of a rule that counts persons."""
    found = re.fullmatch(r"k=([1-9]\d*)|(\d+(?:\.\d+)?)%", limit) if isinstance(limit, str) else None
    return None if found is not None and found[2] is not None and not 0 < Fraction(found[2]) < 100 else found


def _in_words(rule: str, *, of_top: bool = False) -> str:
    found = _counted(rule)
    assert found is not None
    if found[1] is not None:
        return f"{int(found[1]):,} persons"
    share = 100 - Fraction(found[2]) if of_top else Fraction(found[2])
    return f"{float(share):g} % of the persons"


def _least(rule: str, n_persons: int, *, of_top: bool = False) -> int:
    """How many persons a rule asks for."""
    found = _counted(rule)
    assert found is not None
    if found[1] is not None:
        return int(found[1])
    share = Fraction(found[2]) / 100
    return max(ceil((1 - share if of_top else share) * n_persons), 1)


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        return None


Codings = Mapping[str, Coding]


def settled(codings: Codings, frame: pl.DataFrame, person_of_record: NDArray[Any], forms: Mapping[str, Any]) -> Codings:
    """Codings in which nothing is left to count, by the persons of a whole table.

    Parameters
    ----------
    forms
        By column, the codes of its records in which values of one spelling are one; for columns that are counted so.
    """
    return {
        name: each if each.is_settled else _settled(each, frame[name], person_of_record, forms.get(name))
        for name, each in codings.items()
    }


def _settled(coding: Coding, values: pl.Series, person: NDArray[Any], codes: NDArray[Any] | None) -> Coding:
    if coding.rare is not None:
        return replace(coding, rare=None, shown=_shown(coding, values, person, codes))
    units = _ordered(values, coding)
    with_value = pl.DataFrame({"person": person, "value": units}).drop_nulls()
    by_person = with_value.group_by("person").agg(low=pl.col("value").min(), high=pl.col("value").max())
    found: dict[str, Any] = {}
    for name, of_person in (("bottom", by_person["low"].sort()), ("top", by_person["high"].sort(descending=True))):
        rule = getattr(coding, name)
        if _counted(rule) is None:
            continue
        least = _least(rule, len(of_person), of_top=name == "top")
        if least > len(of_person):
            raise SchemaError(
                f"'{values.name}' has a value for {len(of_person):,} persons; its {name} code asks for {least:,} who "
                "are there or beyond. Ask for fewer."
            )
        reached = of_person[least - 1]
        found[name] = reached.isoformat() if isinstance(reached, date) else reached
    try:
        return replace(coding, **found)
    except SchemaError as error:
        raise SchemaError(f"'{values.name}': {error}") from None


def _shown(coding: Coding, values: pl.Series, person: NDArray[Any], codes: NDArray[Any] | None) -> tuple[str, ...]:
    """The categories that enough persons have, such that the others have enough together."""
    assert coding.rare is not None
    texts = values.cast(pl.String)
    form = texts if codes is None else pl.Series(codes)
    records = pl.DataFrame({"person": person, "form": form, "text": texts}).filter(pl.col("text").is_not_null())
    least = _least(coding.rare, records["person"].n_unique())
    by_form = records.group_by("form").agg(pl.col("text").unique().sort(), pl.col("person").unique())
    own = by_form.filter(pl.col("text").list.contains(coding.other))["person"].to_list()
    kept, together = [], {person for persons in own for person in persons}
    rarest_first = by_form.sort(pl.col("person").list.len(), pl.col("text").list.first())
    for texts_of_one, persons in rarest_first.select("text", "person").iter_rows():
        is_rare = len(persons) < least or coding.other in texts_of_one
        if is_rare or 0 < len(together) < least:
            together |= set(persons)
        else:
            kept += texts_of_one
    return tuple(sorted(kept))


def _ordered(values: pl.Series, coding: Coding) -> pl.Series:
    """Values in an order: numbers, or days; what is neither is refused."""
    as_days = values.dtype.is_temporal() or any(
        isinstance(end, str) and _day(end) is not None for end in (coding.top, coding.bottom)
    )
    if not as_days and values.dtype in (pl.String, pl.Categorical, pl.Enum):
        texts = values.cast(pl.String).drop_nulls()
        n_numbers = len(texts) - texts.cast(pl.Float64, strict=False).null_count()
        as_days = n_numbers == 0 and len(texts) > 0
    column = values.to_frame().select(_units(values.name, values.dtype, as_days=as_days)).to_series()
    refuse_unordered({values.name: column.null_count() - values.null_count() + _n_nan(values)})
    return column


def _n_nan(values: pl.Series) -> int:
    return -int(values.is_nan().sum()) if values.dtype.is_float() else 0


def refuse_unordered(unread: Mapping[str, int]) -> None:
    """Refuse columns whose extremes are to be coded and that hold what is neither a number nor a day."""
    wrong = {name: n for name, n in unread.items() if n > 0}
    if wrong:
        told = ", ".join(f"'{name}' in {n:,} records" for name, n in wrong.items())
        raise SchemaError(
            f"Extremes are coded of numbers, or of days such as 2024-12-31, but {told} holds something else. Mend "
            "these values, or do not code the column."
        )


def _units(name: str, dtype: pl.DataType, *, as_days: bool) -> pl.Expr:
    """A column as numbers or as days; missing where a value is neither."""
    column = pl.col(name)
    if as_days:
        if dtype == pl.Date:
            return column
        return (
            column.dt.date() if dtype == pl.Datetime else column.cast(pl.String).str.to_date("%Y-%m-%d", strict=False)
        )
    if dtype.is_numeric():
        return column.fill_nan(None) if dtype.is_float() else column
    text = column.cast(pl.String)
    return text.cast(pl.Float64, strict=False).fill_nan(None)


def _unread(name: str, dtype: pl.DataType, coding: Coding) -> pl.Expr:
    """Which values could not be coded, since they are neither numbers nor days as the codes are."""
    column = pl.col(name)
    if coding.is_of_categories:
        return pl.lit(False)
    missing = column.is_null() | column.is_nan() if dtype.is_float() else column.is_null()
    return _units(name, dtype, as_days=_is_of_days(coding)).is_null() & ~missing


def coded(codings: Codings, types: Mapping[str, pl.DataType]) -> list[pl.Expr]:
    """What codes the columns of a table, by codings that are settled."""
    made = []
    for name, each in codings.items():
        if name not in types:
            continue
        column = pl.col(name) if not _is_text(types[name]) else pl.col(name).cast(pl.String)
        if each.is_of_categories:
            text = pl.col(name).cast(pl.String)
            stays = text.is_null() | text.is_in(list(each.shown or ()))
            made.append(pl.when(stays).then(text).otherwise(pl.lit(each.other)).alias(name))
            continue
        units = _units(name, types[name], as_days=_is_of_days(each))
        for end, is_beyond in ((each.bottom, units.lt), (each.top, units.gt)):
            if end is not None:
                beyond = is_beyond(_as_unit(end, name, types[name])).fill_null(False)
                column = pl.when(beyond).then(_written(end, types[name])).otherwise(column)
        made.append(column.alias(name))
    return made


def within_codes(columns: Mapping[str, pl.Series], codings: Codings) -> dict[str, pl.Series]:
    """Columns of values that a mask made, in which none passes its code: noise, or rounding, might carry it there."""
    frame = pl.DataFrame({name: series.alias(name) for name, series in columns.items()})
    return {column.name: column for column in frame.with_columns(coded(codings, frame.schema))}


def counts(codings: Codings, types: Mapping[str, pl.DataType], person: pl.Expr) -> list[pl.Expr]:
    """What is counted of a table before it is coded; `told_of` reads the one row that it gives."""
    made = []
    for (name, each), after in zip(codings.items(), coded(codings, types), strict=True):
        changed = pl.col(name).cast(pl.String).ne_missing(after.cast(pl.String))
        unread = _unread(name, types[name], each)
        made += [
            changed.sum().alias(f"{name}\0records"),
            person.filter(changed).n_unique().alias(f"{name}\0persons"),
            unread.sum().alias(f"{name}\0unread"),
            pl.col(name).drop_nulls().n_unique().alias(f"{name}\0values_before"),
            after.drop_nulls().n_unique().alias(f"{name}\0values"),
        ]
    return made


def told_of(codings: Codings, counted: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """By column how it was coded, in how many records and of how many persons; categories are counted, not named.

    Raises
    ------
    SchemaError
        Some values are neither numbers nor days, as the codes of their column are.
    """
    refuse_unordered({name: counted[f"{name}\0unread"] for name in codings})
    keys = ("records", "persons", "values_before", "values")
    return {
        name: {
            **{key: value for key, value in each.to_dict().items() if key != "shown"},
            **{key: counted[f"{name}\0{key}"] for key in keys},
        }
        for name, each in codings.items()
    }


def sentences(told: Mapping[str, Mapping[str, Any]], codings: Codings) -> list[str]:
    """What was coded, in words."""
    return [
        f"Coded: {each['records']:,} values of '{name}', of {each['persons']:,} persons: {codings[name].words()}."
        for name, each in told.items()
    ]


def _is_of_days(coding: Coding) -> bool:
    return any(isinstance(end, str) for end in (coding.top, coding.bottom))


def _is_text(dtype: pl.DataType) -> bool:
    return dtype in (pl.Categorical, pl.Enum)


def _as_unit(end: Limit, name: str, dtype: pl.DataType) -> Any:
    if isinstance(end, str):
        return pl.lit(_day(end))
    if dtype.is_temporal():
        raise SchemaError(f"'{name}' holds dates: give its codes as days, such as '2020-12-31'.")
    if dtype.is_integer() and end != int(end):
        raise SchemaError(f"'{name}' holds whole numbers: its codes must be whole numbers too.")
    return pl.lit(end)


def _written(end: Limit, dtype: pl.DataType) -> pl.Expr:
    """A code as the column writes it."""
    if isinstance(end, str):
        day = pl.lit(_day(end))
        if isinstance(dtype, pl.Datetime):
            return day.cast(pl.Datetime(dtype.time_unit)).dt.replace_time_zone(dtype.time_zone)
        return day if dtype == pl.Date else pl.lit(end)
    return pl.lit(end, dtype=dtype) if dtype.is_numeric() else pl.lit(str(end))


# --- what a published table shows -------------------------------------------------------------------------------------

_NUMBER, _DAY = r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", r"\d{4}-\d{2}-\d{2}"


def n_beyond(cells: pl.Series, coding: Coding, *, is_masked: bool, is_rounded: bool) -> int:
    """How many published cells show a value beyond its code, or a category that should be coded.

    Parameters
    ----------
    is_masked
        Whether cells may be ranges ("84-86", "at least 90", "17 or less") and sets ("{a, b}"), as those of
        quasi-identifiers are; what is read as none of these shows no value.
    is_rounded
        Whether ends of ranges are rounded outwards: one end may pass the code then, but not the whole range.
    """
    if not coding.is_settled:
        return 0
    counts = cells.cast(pl.String).rename("cell").drop_nulls().value_counts(name="n")
    if coding.is_of_categories:
        may = {*(coding.shown or ()), coding.other, EVERYTHING, None}
        named = [labels_in(cell) or () if is_masked else (cell,) for cell in counts["cell"].to_list()]
        is_beyond = pl.Series([any(label not in may for label in labels) for labels in named], dtype=pl.Boolean)
    else:
        low, high = _ends_shown(counts["cell"], as_days=_is_of_days(coding))
        is_beyond = pl.repeat(False, len(counts), eager=True)
        if coding.top is not None:
            is_beyond |= ((low if is_rounded else high) > _comparable(coding.top)).fill_null(False)
        if coding.bottom is not None:
            is_beyond |= ((high if is_rounded else low) < _comparable(coding.bottom)).fill_null(False)
    return int(counts.filter(is_beyond)["n"].sum())


def _comparable(end: Limit) -> Any:
    return _day(end) if isinstance(end, str) else end


def _ends_shown(cells: pl.Series, *, as_days: bool) -> tuple[pl.Series, pl.Series]:
    """The ends of what cells show, missing where they are read as no value and no range."""
    value = _DAY + r"(?:[ T][\d:.]+)?" if as_days else _NUMBER
    parts = cells.str.extract_groups(f"^(?:at least )?({value})(?:(?: to |-)({value}))?(?: or less)?(?: or missing)?$")
    ends = [parts.struct.field(at) for at in ("1", "2")]
    read = [
        end.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False) if as_days else end.cast(pl.Float64, strict=False)
        for end in ends
    ]
    return read[0], read[1].fill_null(read[0])
