"""How a text file is written, found in the whole file: each finding with its reason and its doubt.

Encoding, delimiter, quote and header are found in the bytes; the decimal sign, what stands between thousands, forms of
dates and texts that mean missing in the values of all records. What one value decides is decided (30.01.2024 is in no
thirtieth month). Where nothing decides (01/02/2024), the column stays as it is, and the finding asks.
"""

from __future__ import annotations

import csv as standard
import io
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import InputError, ParameterError
from shoal.reading.csv import DELIMITERS, SAMPLE_BYTES, Texts, texts_of, values_of
from shoal.reading.encoding import as_utf8
from shoal.reading.find_encoding import find_encoding
from shoal.reading.forms import on_lines
from shoal.reading.lines import counted
from shoal.reading.packed import unpacked
from shoal.reading.shapes import COMMA, POINT, SEPARATORS, THOUSANDS, YEAR_FIRST, ColumnLook, shapes_of
from shoal.reading.source import CsvOptions, Finding, Reading, read_bytes
from shoal.table.date_forms import TEXT, WEEK, as_iso

FOUND = frozenset(each.name for each in fields(CsvOptions)) - {"member"}
"""The options that are found where they are not told."""
SAMPLE_VALUES = 500
FEWEST_COMPACT = 10
"""So many values of eight digits are taken for dates where each of them is one."""
NEARLY = 0.9


@dataclass(frozen=True)
class Told:
    """What is told of how files are written; the rest is found."""

    csv: CsvOptions
    found: frozenset[str]

    @classmethod
    def of(cls, given: CsvOptions | Mapping[str, Any] | None) -> Told:
        """All of it as `CsvOptions` say, or some of it as a mapping says, or nothing."""
        if isinstance(given, CsvOptions):
            return cls(given, frozenset())
        known = {each.name for each in fields(CsvOptions)}
        told = {name: value for name, value in (given or {}).items() if value is not None}
        strangers = sorted(set(told) - known)
        if strangers:
            raise ParameterError(f"csv has no option '{strangers[0]}'. These are: {', '.join(sorted(known))}.")
        if "missing" in told and not isinstance(told["missing"], str):
            told["missing"] = tuple(told["missing"])
        if isinstance(told.get("date_format"), str):
            told["date_format"] = {"": told["date_format"]}
        by_column = {"date_format"} if "" not in told.get("date_format", {"": ""}) else set()  # others are still found
        by_column |= {"missing_in"} if "missing" not in told else set()
        return cls(CsvOptions(**told), FOUND - {*told, "missing_in"} | by_column)


def read_detected(path: Path, csv: CsvOptions, found: Collection[str]) -> Reading:
    """Read a CSV file as `read_csv` does, with all that is in `found` found in the file.

    Raises
    ------
    InputError
        As `read_csv`; and where the encoding or the delimiter cannot be told.
    """
    name = f"'{path.name}'"
    content = unpacked(path, read_bytes(path), csv.member)
    findings: list[Finding] = []
    if "encoding" in found:
        findings.append(find_encoding(name, content))
        csv = replace(csv, encoding=findings[-1].reading)
    data = as_utf8(name, content, csv.encoding)
    del content
    if "quote" in found:
        findings += (quote := find_quote(data, csv.delimiter))
        csv = replace(csv, quote=quote[0].reading if quote else csv.quote)
    texts = texts_of(name, data, csv)
    del data
    if csv.delimiter is None:
        reason = f"The header and all {texts.frame.height:,} records have {counted(texts.frame.width, 'field')} by it."
        findings.append(Finding(what="delimiter", reading=texts.delimiter, reason=reason))
    look = Look(csv, frozenset(found), texts.delimiter)
    look.at(texts.frame)
    csv, of_values = look.found()
    findings += of_values
    if "header" in found and csv.header:
        findings += find_header(texts.frame, look.columns)
    reading = values_of(texts, path, csv)
    notes = (*_notes(name, findings, csv), *reading.notes, *_notes_on_nearly_dates(texts, look))
    return replace(reading, notes=notes, findings=tuple(findings))


def found_of(reading: Reading) -> dict[str, Any]:
    """How the one file of a table is written, so far as it is not as usual: what a policy records of it."""
    found = reading.source.csv
    if found is None or len(reading.source.paths) > 1:
        return {}
    usual = CsvOptions(delimiter=",")
    own = {each.name: getattr(found, each.name) for each in fields(CsvOptions)}
    return {name: value for name, value in own.items() if value != getattr(usual, name)}


def questions(findings: Iterable[Finding], dropped: Collection[str] = ()) -> list[Finding]:
    """The findings that somebody must decide, but for columns that are not published."""
    return [each for each in findings if each.is_asked and each.column not in dropped]


def refuse_unanswered(name: str, findings: Iterable[Finding], dropped: Collection[str] = ()) -> None:
    """Ask what nothing in a file decides, all of it in one message."""
    asked = questions(findings, dropped)
    if asked:
        raise InputError(
            f"{name} can be read in more than one way:\n" + "\n".join(f"  {each.reason}" for each in asked)
        )


def _notes(name: str, findings: Sequence[Finding], csv: CsvOptions) -> list[str]:
    """What there is to tell of findings that are not what every file has; conversions tell of themselves."""
    usual = {"encoding": "utf-8", "quote": '"'}
    notes = [
        f"{name} was read with {each.what} {each.reading}: {each.reason}"
        for each in findings
        if each.what in usual and each.reading != usual[each.what]
    ]
    notes += [f"{name}, '{each.column}': {each.reason}" for each in findings if each.what == "missing_in"]
    notes += [f"{name}: {each.reason}" for each in findings if each.is_asked]
    return notes


# Quotes


def find_quote(data: bytes, delimiter: str | None) -> list[Finding]:
    """The sign around fields, where it is an apostrophe: by all first records, which then have no such sign left."""
    sample = data[:SAMPLE_BYTES].decode(errors="ignore")
    if "'" not in sample or re.search(r'(^|[,;\t|\n])"', sample):
        return []
    for sign in [delimiter] if delimiter else DELIMITERS:
        plain, quoted = (_records(sample, sign, quote) for quote in ('"', "'"))
        if len(quoted) < 3 or len(quoted[0]) < 2 or len({*map(len, quoted)}) > 1:
            continue
        is_whole = [all(len(field) > 1 and field[0] == field[-1] == "'" for field in column if field)
                    and any(column) for column in zip(*plain, strict=False)]  # fmt: skip
        if len({*map(len, plain)}) > 1 or sum(is_whole) > 1:
            n = sum(is_whole)
            reason = f"Apostrophes stand around all values of {counted(n, 'column')}." if n else (
                "Only by it all first records have as many fields as the header."
            )  # fmt: skip
            return [Finding(what="quote", reading="'", reason=reason)]
    return []


def _records(sample: str, delimiter: str, quote: str) -> list[list[str]]:
    records: list[list[str]] = []
    with suppress(standard.Error):
        lines = io.StringIO(sample[: sample.rfind("\n") + 1] or sample, newline="")
        records += [each for each in islice(standard.reader(lines, delimiter=delimiter, quotechar=quote), 100) if each]
    return records


# Values


@dataclass
class Look:
    """A look at the values of a file, portion by portion, that ends with findings."""

    csv: CsvOptions
    find: frozenset[str]
    delimiter: str
    columns: dict[str, ColumnLook] = field(default_factory=dict)

    def at(self, texts: pl.DataFrame) -> None:
        """Look at some more records."""
        for column in texts.iter_columns():
            seen = self.columns.setdefault(column.name, ColumnLook())
            if not seen.is_text:
                self._at_column(column, seen)

    def _at_column(self, column: pl.Series, seen: ColumnLook) -> None:
        known = column.filter(~column.is_in(self.csv.means_missing(column.name))).drop_nulls()
        if not seen.n_values and len(known):
            first = known.head(SAMPLE_VALUES).rename("text")
            shapes = Counter(
                shapes_of(pl.DataFrame({"text": first, "count": pl.Series([1]).new_from_index(0, len(first))}))[0]
            )
            seen.is_text = shapes["text"] * 2 > sum(shapes.values()) > 0
        if seen.is_text:
            seen.shapes, seen.marks = Counter({"text": 1}), Counter()
            return
        counts = known.rename("text").value_counts()
        shapes, marks = shapes_of(counts)
        seen.shapes += shapes
        seen.marks += marks

    def found(self) -> tuple[CsvOptions, list[Finding]]:
        """How the values are written, with all findings."""
        findings: list[Finding] = []
        csv = self.csv
        if "date_format" in self.find or "" in csv.date_format:
            dates = self._dates()
            findings += dates
            own = {each.column: each.reading for each in dates if each.column and not each.is_asked}
            csv = replace(csv, date_format={**own, **csv.date_format})
        if self.find & {"decimal", "thousands"}:
            csv, numbers = self._numbers(csv)
            findings += numbers
        asked = {each.column: TEXT for each in findings if each.is_asked and each.column}
        csv = replace(csv, date_format={**csv.date_format, **asked})  # what is in doubt stays as it is
        if "missing_in" in self.find:
            csv, marks = self._missing(csv)
            findings += marks
        return csv, findings

    # dates

    def _dates(self) -> list[Finding]:
        """The forms of columns of dates; where one column decides between two orders, it does for those in doubt."""
        findings = [found for name, seen in self.columns.items() if (found := self._date(name, seen)) is not None]
        decided = {each.reading for each in findings if not each.is_asked}
        return [self._by_others(each, decided) if each.is_asked else each for each in findings]

    def _by_others(self, asked: Finding, decided: Collection[str]) -> Finding:
        fitting = [each for each in asked.alternatives if each in decided]
        if len(fitting) != 1:
            return asked
        reason = "Either order of day and month fits, and other columns of the file decide it."
        return replace(asked, reading=fitting[0], reason=reason, alternatives=asked.alternatives, is_asked=False)

    def _date(self, name: str, seen: ColumnLook) -> Finding | None:
        told = self.csv.date_format
        if name in told or not seen.n_values:
            return None
        n = seen.n_values
        for sign in SEPARATORS:
            if seen.dates(sign) == n:
                return self._day_and_month(name, seen, sign)
        for form in (*YEAR_FIRST.values(), WEEK, "yyyymmdd"):
            if seen.shapes[form] == n and (form != "yyyymmdd" or n >= FEWEST_COMPACT):
                return Finding(
                    what="date_format", column=name, reading=form, reason=f"All {n:,} values are dates of that form."
                )
        if seen.shapes["dd.mm.yy"] == n and told.get("") is None:
            return Finding(
                what="date_format", column=name, reading=TEXT, alternatives=("dd.mm.yy", "mm.dd.yy"), is_asked=True,
                reason=f"All {n:,} values of '{name}' are dates with years of two digits, whose century is not told. "
                "Say their form with date_format=, which takes 69 to 99 for the last century, or text for no dates.",
            )  # fmt: skip
        return None

    def _day_and_month(self, name: str, seen: ColumnLook, sign: str) -> Finding | None:
        day_first, month_first = f"dd{sign}mm{sign}yyyy", f"mm{sign}dd{sign}yyyy"
        days, months, either, never = (
            seen.shapes[f"date{sign}{which}"] for which in ("day", "month", "either", "never")
        )
        n = seen.n_values
        if never or (days and months):
            return None  # no order fits; the note on columns that are nearly dates tells of it
        told = self.csv.date_format.get("")
        if told in (day_first, month_first):
            return None  # all columns of that form are read so
        if days or months:
            reading = day_first if days else month_first
            reason = f"{days or months:,} of {n:,} values can be read in this order only."
            return Finding(what="date_format", column=name, reading=reading, reason=reason)
        if sign == ".":
            reason = f"All {either:,} values fit either order of day and month; with points the day stands first."
            return Finding(
                what="date_format", column=name, reading=day_first, reason=reason, alternatives=(month_first,)
            )
        return Finding(
            what="date_format", column=name, reading=TEXT, alternatives=(day_first, month_first), is_asked=True,
            reason=f"All {either:,} values of '{name}' are dates as {day_first} and as {month_first} alike: no day is "
            f"beyond 12. Say which it is with date_format=, or text for no dates.",
        )  # fmt: skip

    # numbers

    def _numbers(self, csv: CsvOptions) -> tuple[CsvOptions, list[Finding]]:
        columns = {name: seen for name, seen in self.columns.items() if seen.is_number and name not in csv.date_format}
        by_comma = {name for name, seen in columns.items() if seen.shapes.keys() & COMMA}
        by_point = {name for name, seen in columns.items() if seen.shapes.keys() & POINT}
        both = by_comma & by_point
        for name in both:
            del columns[name]
        by_comma, by_point = by_comma - both, by_point - both
        findings: list[Finding] = []
        decimal = csv.decimal
        in_doubt = [name for name, seen in columns.items() if name not in by_comma | by_point
                    and seen.shapes.keys() & {"n,nnn", "n.nnn"}]  # fmt: skip
        if "decimal" in self.find:
            decimal = "," if by_comma else "."
            is_decided = bool(by_comma) != bool(by_point)
            asked = [] if is_decided else [name for name in in_doubt if self._is_asked(columns[name])]
            findings += [self._asked_number(name, columns[name]) for name in asked]
            for name in asked:
                del columns[name]
            findings += self._decimal(decimal, by_comma, by_point, columns)
        thousands = csv.thousands
        if "thousands" in self.find:
            read = [seen for name, seen in columns.items() if name not in (by_point if decimal == "," else by_comma)]
            thousands, more = _thousands(decimal, read)
            findings += more
        return replace(csv, decimal=decimal, thousands=thousands), findings

    def _is_asked(self, seen: ColumnLook) -> bool:
        """Whether n.nnn or n,nnn is in doubt; n.nnn is not where the comma parts fields, as it does in English."""
        return not (self.delimiter == "," and not seen.shapes["n,nnn"])

    def _asked_number(self, name: str, seen: ColumnLook) -> Finding:
        shape = "n,nnn" if seen.shapes["n,nnn"] else "n.nnn"
        sign = shape[1]
        other = "." if sign == "," else ","
        return Finding(
            what="decimal", column=name, reading=TEXT, alternatives=(sign, other), is_asked=True,
            reason=f"{seen.shapes[shape]:,} values of '{name}' have the shape {shape}, which is a whole number of "
            f"thousands or one with three decimals. Say which it is: decimal='{other}' for thousands, decimal='{sign}' "
            "for decimals.",
        )  # fmt: skip

    def _decimal(
        self, decimal: str, by_comma: Collection[str], by_point: Collection[str], columns: Mapping[str, ColumnLook]
    ) -> list[Finding]:
        own = by_comma if decimal == "," else by_point
        if not own:
            return []
        signs = COMMA if decimal == "," else POINT
        n = sum(columns[name].shapes[shape] for name in own for shape in signs)
        reason = f"{n:,} values of {counted(len(own), 'column')} can be read so only."
        return [Finding(what="decimal", reading=decimal, reason=reason)]

    # missing

    def _missing(self, csv: CsvOptions) -> tuple[CsvOptions, list[Finding]]:
        """Known marks in columns that hold numbers or dates besides: there, and there only, they can mean nothing else.

        Columns whose marks are told have no others. A column of few numbers and many marks is taken so where another
        column has the same ones.
        """
        measured = {name: seen for name, seen in self.columns.items()
                    if seen.n_marks and name not in csv.missing_in and self._is_measured(name, seen, csv)}  # fmt: skip
        sure = {mark for seen in measured.values() if not seen.is_mostly_marks for mark in seen.marks}
        own = {name: seen for name, seen in measured.items()
               if not seen.is_mostly_marks or name in csv.date_format or seen.marks.keys() <= sure}  # fmt: skip
        findings = [
            Finding(
                what="missing_in", column=name, reading=f"{len(seen.marks):,}",
                reason=f"{counted(len(seen.marks), 'text')} that usually {'means' if len(seen.marks) == 1 else 'mean'} "
                f"missing stand{'s' if len(seen.marks) == 1 else ''} {seen.n_marks:,} times among nothing but numbers "
                "or dates.",
            )
            for name, seen in own.items()
        ]  # fmt: skip
        found = {name: tuple(sorted(seen.marks)) for name, seen in own.items()}
        return replace(csv, missing_in={**csv.missing_in, **found}), findings

    def _is_measured(self, name: str, seen: ColumnLook, csv: CsvOptions) -> bool:
        if not seen.n_values:
            return False
        return seen.is_number or csv.date_format.get(name, TEXT) != TEXT or seen.shapes["iso"] == seen.n_values


def _thousands(decimal: str, columns: Sequence[ColumnLook]) -> tuple[str, list[Finding]]:
    counts = {
        sign: sum(seen.shapes[shape] for seen in columns for shape in shapes)
        for sign, shapes in THOUSANDS[decimal].items()
    }
    sign = max(counts, key=lambda each: counts[each])
    if not counts[sign]:
        return "", []
    others = tuple(each for each, n in counts.items() if n and each != sign)
    reason = f"{counts[sign]:,} values have it between thousands."
    return sign, [Finding(what="thousands", reading=sign, reason=reason, alternatives=others)]


# The header, and columns that are nearly dates


def find_header(texts: pl.DataFrame, columns: Mapping[str, ColumnLook]) -> list[Finding]:
    """A doubt where the first line looks like the records: numbers above numbers, known texts above texts."""
    n_like = 0
    for name, seen in columns.items():
        (shapes, _) = shapes_of(pl.DataFrame({"text": [name], "count": [1]}))
        if not seen.is_text and seen.n_values and "text" not in seen.shapes:
            alike = next(iter(shapes), "text") in seen.shapes or (seen.is_number and ColumnLook(shapes).is_number)
            n_like += alike
        else:
            alike = bool((texts[name] == name).any())
        if not alike:
            return []
    if not n_like:
        return []
    reason = (
        f"The first line may be a record and no names: {counted(n_like, 'field')} of {len(columns):,} look like the "
        "numbers or dates below. Say header=True where it names the columns, or header=False where it does not."
    )
    return [Finding(what="header", reading="names", reason=reason, alternatives=("a record",), is_asked=True)]


def _notes_on_nearly_dates(texts: Texts, look: Look) -> list[str]:
    """Columns of which nearly all values are dates, and some are not; by lines and counts."""
    notes = []
    for name, seen in look.columns.items():
        for sign in SEPARATORS:
            form = f"dd{sign}mm{sign}yyyy"
            if seen.shapes[f"date{sign}month"] > seen.shapes[f"date{sign}day"]:
                form = f"mm{sign}dd{sign}yyyy"
            n_dates = seen.dates(sign)
            if name in look.csv.date_format or not n_dates or n_dates < NEARLY * seen.n_values:
                continue
            column = texts.frame[name]
            known = ~column.is_in([*look.csv.means_missing(name), *seen.marks])
            is_wrong = known & texts.frame.select(as_iso(name, form).is_null()).to_series()
            count = int(is_wrong.sum())
            if count:
                where = [int(texts.lines[at]) for at in is_wrong.arg_true().head(5).to_list()]
                notes.append(
                    f"{texts.name}: '{name}' was left as text. {seen.n_values - count:,} values are dates written as "
                    f"{form}, and {count:,} are not{on_lines(where, count)}."
                )
    return notes
