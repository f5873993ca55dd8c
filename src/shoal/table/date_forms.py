"""Forms in which texts write dates, such as dd.mm.yyyy, and what makes yyyy-mm-dd of them."""

from __future__ import annotations

import re
from datetime import datetime

import polars as pl

from shoal.errors import ParameterError

ISO = "yyyy-mm-dd"
TEXT = "text"
"""The form of a column that is left as it is."""
WEEK, EXCEL, EXCEL_1904 = "iso-week", "excel", "excel-1904"
FIRST_DAY = {EXCEL: datetime(1899, 12, 30), EXCEL_1904: datetime(1904, 1, 1)}
LAST_SERIAL = 2_958_465
HOURS = r"(?:[ T](?P<t>\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?))?"
VALID_HOURS = r"^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?$"
LARGEST_OF_2000 = 68
"""Years of two digits up to this one are of this century, all others of the last: as most programs take them."""
_PARTS = re.compile(r"dd|mm|yyyy|yy")
_HOURS_OF_FORM = re.compile(r"[ T]hh:mm(:ss)?$", re.IGNORECASE)


def check_form(form: object) -> str:
    """The form of dates without its hours, which may always be there; one that nobody knows is refused."""
    plain = _HOURS_OF_FORM.sub("", form) if isinstance(form, str) else ""
    parts = _PARTS.findall(plain)
    known = (["dd", "mm", "yyyy"], ["dd", "mm", "yy"], ["mm", "yyyy"], ["yyyy"])
    is_form = sorted(parts) in map(sorted, known) and not re.search(r"[A-Za-z0-9]", _PARTS.sub("", plain))
    if plain in (TEXT, WEEK, EXCEL, EXCEL_1904) or is_form:
        return plain
    raise ParameterError(
        "A form of dates is written with dd, mm and yyyy, such as 'dd.mm.yyyy', 'mm/dd/yyyy' or 'yyyymmdd', or is one "
        f"of {WEEK}, {EXCEL}, {EXCEL_1904} and {TEXT}."
    )


def pattern_of(form: str) -> str:
    """The pattern of texts in a form, with groups y, m, d and t for the hours."""
    if form == WEEK:
        return r"^(?P<y>\d{4})-?W(?P<w>\d{2})(?:-?(?P<d>[1-7]))?$"
    is_apart = bool(re.search(r"[^a-z]", form))  # digits of days and months may be single where something parts them
    two = r"\d{1,2}" if is_apart else r"\d{2}"
    digits = {"dd": f"(?P<d>{two})", "mm": f"(?P<m>{two})", "yyyy": r"(?P<y>\d{4})", "yy": r"(?P<y>\d{2})"}
    made = "".join(digits.get(part) or re.escape(part) for part in re.split(r"(dd|mm|yyyy|yy)", form))
    return f"^{made}{HOURS if 'dd' in form else ''}$"


def as_iso(column: str, form: str) -> pl.Expr:
    """The dates of a column as yyyy-mm-dd, with hours where they have some; missing where a text is none in the form.

    Of months it is the first day, of years the first of January, of weeks without a day the Monday.
    """
    text = pl.col(column)
    if form in FIRST_DAY:
        return _from_serial(text, FIRST_DAY[form])
    groups = text.str.extract_groups(pattern_of(form))
    if form == WEEK:
        day = groups.struct.field("d").fill_null("1")
        week = pl.concat_str([groups.struct.field("y"), pl.lit("-W"), groups.struct.field("w"), pl.lit("-"), day])
        return week.str.to_date("%G-W%V-%u", strict=False).dt.strftime("%Y-%m-%d")
    year = groups.struct.field("y")
    if "yyyy" not in form:
        is_old = year.cast(pl.Int32, strict=False) > LARGEST_OF_2000
        year = pl.when(is_old).then(pl.concat_str([pl.lit("19"), year])).otherwise(pl.concat_str([pl.lit("20"), year]))
    month, day = (groups.struct.field(part).str.zfill(2) if name in form else pl.lit("01")
                  for part, name in (("m", "mm"), ("d", "dd")))  # fmt: skip
    date = pl.concat_str([year, month, day], separator="-")
    is_date = date.str.to_date("%Y-%m-%d", strict=False).is_not_null()
    if "dd" not in form:
        return pl.when(is_date).then(date)
    hours = groups.struct.field("t").str.replace(r"^(\d):", "0$1:")
    is_hours = hours.is_null() | hours.str.contains(VALID_HOURS)
    whole = pl.when(hours.is_null()).then(date).otherwise(pl.concat_str([date, pl.lit(" "), hours]))
    return pl.when(is_date & is_hours).then(whole)


def _from_serial(text: pl.Expr, first: datetime) -> pl.Expr:
    """Days since a first one, with hours as parts of a day, as spreadsheets count them."""
    number = text.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    number = pl.when(number.is_between(1, LAST_SERIAL, closed="both")).then(number)
    seconds = (number * 86_400).round(0).cast(pl.Int64)
    moment = pl.lit(first) + pl.duration(seconds=seconds)
    is_day = seconds % 86_400 == 0
    return pl.when(is_day).then(moment.dt.strftime("%Y-%m-%d")).otherwise(moment.dt.strftime("%Y-%m-%d %H:%M:%S"))
