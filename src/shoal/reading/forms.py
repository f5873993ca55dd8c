"""Forms in which texts of a file write numbers and dates, and what turns them into those that shoal reads.

A number becomes one with a decimal point and nothing between thousands, a date becomes yyyy-mm-dd, with hours where it
has some. A column is changed as a whole or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from shoal.errors import InputError
from shoal.reading.lines import counted
from shoal.reading.source import CsvOptions
from shoal.table.date_forms import TEXT, as_iso

SAMPLE_RECORDS = 100
DECIMAL_COMMA = r"^[+-]?(\d+(,\d*)?|,\d+)([eE][+-]?\d+)?$"
DECIMAL_POINT = r"^[+-]?(\d+(\.\d*)?|\.\d+|\d{1,3}(\.\d{3})+(,\d+)?)([eE][+-]?\d+)?$"
SIGNS_OF_THOUSANDS = {".": r"\.", ",": ",", "'": "['\u2019]", " ": "[ \u00a0\u202f]"}
"""What may stand between thousands, each with all signs that are meant by it."""

# What is changed


def changes(
    name: str, texts: pl.LazyFrame, csv: CsvOptions, lines: Sequence[int] | None = None
) -> tuple[list[pl.Expr], list[str]]:
    """What turns the texts of a file into numbers and dates that shoal reads, and what there is to tell of it.

    Raises
    ------
    InputError
        A column has values that are not of the form that was chosen for it; by their lines and their number.
    """
    dates = _forms_of_columns(texts, csv.date_format)
    _refuse_others(name, texts, dates, lines)
    told = {column: form for column, form in dates.items() if form != TEXT}
    of_dates = [as_iso(column, form).alias(column) for column, form in told.items()]
    rest = texts.drop(list(dates))
    of_numbers, notes = grouped_numbers(name, rest, csv) if csv.thousands else decimal_commas(name, rest, csv.decimal)
    return [*of_dates, *of_numbers], [*_notes_on_dates(name, told), *notes]


def _notes_on_dates(name: str, forms: Mapping[str, str]) -> list[str]:
    notes = []
    for form in dict.fromkeys(forms.values()):
        own = [column for column, each in forms.items() if each == form]
        notes.append(
            f"Dates in {counted(len(own), 'column')} of {name} written as {form} became yyyy-mm-dd: {_listed(own)}."
        )
    return notes


# Numbers


def decimal_commas(name: str, texts: pl.LazyFrame, decimal: str) -> tuple[list[pl.Expr], list[str]]:
    """What turns decimal commas into points, where that was asked for, and what there is to tell about commas.

    Only columns that hold nothing else than such numbers are changed. Where the decimal point was asked for they stay
    texts: 1,234 may be a thousand.
    """
    commas = _columns_of_numbers(texts, ",", DECIMAL_COMMA)
    if decimal == ".":
        return [], _notes_on_commas_kept(name, commas)
    doubtful = _columns_of_numbers(texts, ".", DECIMAL_POINT)
    notes = []
    if commas:
        notes.append(f"Decimal commas in {counted(len(commas), 'column')} of {name} became points: {_listed(commas)}.")
    if doubtful:
        notes.append(
            f"{counted(len(doubtful), 'column')} of {name} hold numbers with a point although the decimal comma was "
            f"asked for, and were left as they are: {_listed(doubtful)}."
        )
    return [pl.col(commas).str.replace(",", ".", literal=True)], notes


def number_pattern(decimal: str, thousands: str) -> str:
    """The pattern of numbers with a decimal sign and one between thousands, if any."""
    sign, between = re.escape(decimal), SIGNS_OF_THOUSANDS.get(thousands)
    whole = r"\d+" if between is None else rf"(\d+|[1-9]\d{{0,2}}({between}\d{{3}})+)"
    return rf"^[+-]?({whole}({sign}\d*)?|{sign}\d+)([eE][+-]?\d+)?$"


def grouped_numbers(name: str, texts: pl.LazyFrame, csv: CsvOptions) -> tuple[list[pl.Expr], list[str]]:
    """What takes out the signs between thousands, and turns decimal commas into points."""
    between, form = SIGNS_OF_THOUSANDS[csv.thousands], number_pattern(csv.decimal, csv.thousands)
    signs = between if csv.decimal == "." else rf"{between}|,"
    found = _columns_of_numbers(texts, signs, form, is_pattern=True)
    if not found:
        return [], []
    plain = pl.col(found).str.replace_all(between, "")
    plain = plain.str.replace(",", ".", literal=True) if csv.decimal == "," else plain
    note = (
        f"Numbers in {counted(len(found), 'column')} of {name} lost the signs between thousands, and decimals became "
        f"points: {_listed(found)}."
    )
    return [plain], [note]


def _notes_on_commas_kept(name: str, columns: Sequence[str]) -> list[str]:
    if not columns:
        return []
    return [
        f"Nothing but numbers with a comma is in {counted(len(columns), 'column')} of {name}, read as texts: "
        f"{_listed(columns)}. Where it is the decimal sign, say decimal=','."
    ]


def _columns_of_numbers(texts: pl.LazyFrame, sign: str, form: str, *, is_pattern: bool = False) -> list[str]:
    """The columns that hold nothing but numbers of a form, and its sign at least once; most fall out at first sight."""
    likely = _columns_where(texts.head(SAMPLE_RECORDS), pl.all().str.contains(form).all())
    has_sign = _columns_where(texts.select(likely), pl.all().str.contains(sign, literal=not is_pattern).any())
    return _columns_where(texts.select(has_sign), pl.all().str.contains(form).all())


def _columns_where(texts: pl.LazyFrame, is_wanted: pl.Expr) -> list[str]:
    found = texts.select(is_wanted).collect(engine="streaming")
    return [column for column, wanted in found.row(0, named=True).items() if wanted] if found.width else []


# Dates


def _forms_of_columns(texts: pl.LazyFrame, dates: Mapping[str, str]) -> dict[str, str]:
    """The form of each column: what is said of it, or of all, where all its values are of that form."""
    if not dates:
        return {}
    names = texts.collect_schema().names()
    forms = {column: form for column, form in dates.items() if column in names}
    common = dates.get("")
    if common is None or common == TEXT:
        return forms
    rest = texts.drop(list(forms))

    def fits(column: str) -> pl.Expr:
        return (as_iso(column, common).is_not_null() | pl.col(column).is_null()).all() & pl.col(column).count().gt(0)

    likely = rest.collect_schema().names()
    for part in (rest.head(SAMPLE_RECORDS), rest):
        found = part.select(fits(column).alias(column) for column in likely).collect(engine="streaming")
        row = found.row(0, named=True) if found.width else {}
        missing = [] if part is rest else _all_missing(part, likely)
        likely = [column for column in likely if row.get(column) or column in missing]
    return {**forms, **dict.fromkeys(likely, common)}


def _all_missing(texts: pl.LazyFrame, columns: Sequence[str]) -> list[str]:
    return _columns_where(texts.select(columns), pl.all().count() == 0) if columns else []


def _refuse_others(name: str, texts: pl.LazyFrame, forms: Mapping[str, str], lines: Sequence[int] | None) -> None:
    """Refuse columns with values that are not of the form chosen for them."""
    wrong = [
        (as_iso(column, form).is_null() & pl.col(column).is_not_null()).alias(column)
        for column, form in forms.items()
        if form != TEXT
    ]
    if not wrong:
        return
    asked = [expr.sum() for expr in wrong]
    counts = texts.select(asked).collect(engine="streaming").row(0, named=True)
    for column, count in counts.items():
        if count:
            (expr,) = (each for each in wrong if each.meta.output_name() == column)
            where = texts.select(expr.arg_true()).head(5).collect().to_series().to_list() if lines is not None else []
            raise not_of_form(name, column, forms[column], count, [int(lines[at]) for at in where] if lines else [])


def not_of_form(name: str, column: str, form: str, count: int, lines: Sequence[int]) -> InputError:
    """The error for values that are not of the form chosen for their column."""
    return InputError(
        f"{name}: {counted(count, 'value')} of '{column}' {'is' if count == 1 else 'are'} no date written as {form}"
        f"{on_lines(lines, count)}. Correct them, say which texts mean missing, or leave the column as text: "
        "date_format= takes text for it."
    )


def on_lines(lines: Sequence[int], count: int) -> str:
    """Where values stand, in words: ", on line 5" or ", on lines 5, 8 and others"."""
    if not len(lines):
        return ""
    listed = ", ".join(f"{line:,}" for line in lines)
    return f", on line {listed}" if count == 1 else f", on lines {listed}{' and others' if count > len(lines) else ''}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
