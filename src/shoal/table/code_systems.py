"""Paths of dates and of codes by their own structure: what a day, a diagnosis or a drug is part of.

Chapters of the classifications of diseases are given by their ranges of codes. Where the World Health Organization's
edition and the clinical modification used in the United States end a chapter at different codes, the later one stands.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from fractions import Fraction

from shoal.errors import ParameterError, SchemaError

ROOT = "*"
DATE_LEVELS = ("month", "quarter", "year", "decade")
ICD_10_CHAPTERS = (
    "A00-B99", "C00-D49", "D50-D89", "E00-E90", "F00-F99", "G00-G99", "H00-H59", "H60-H95", "I00-I99", "J00-J99",
    "K00-K95", "L00-L99", "M00-M99", "N00-N99", "O00-O99", "P00-P96", "Q00-Q99", "R00-R99", "S00-T98", "U00-U99",
    "V00-Y99", "Z00-Z99",
)  # fmt: skip
ICD_9_CHAPTERS = (
    "001-139", "140-239", "240-279", "280-289", "290-319", "320-389", "390-459", "460-519", "520-579", "580-629",
    "630-679", "680-709", "710-739", "740-759", "760-779", "780-799", "800-999",
)  # fmt: skip
ICD_9_BESIDE = {"E": "E000-E999", "V": "V01-V91"}
"""The two supplementary classifications of ICD-9, by their letter."""
ATC_LENGTHS = (5, 4, 3, 1)
"""Chemical subgroup, pharmacological subgroup, therapeutic subgroup, anatomical main group."""

MOST_INTERVALS = 20
Path = tuple[str, ...]


def paths_of(values: Iterable[str], path: Callable[[str], Path | None], *, what: str) -> tuple[Path, ...]:
    """The path of each different value; values that have none are refused, by their number."""
    distinct = list(dict.fromkeys(values))
    found = [path(value) for value in distinct]
    known = tuple(each for each in found if each is not None)
    if len(known) < len(distinct):
        raise SchemaError(
            f"{len(distinct) - len(known):,} of {len(distinct):,} different values are no {what}, so that they have no "
            "place in the hierarchy. Correct them, declare them missing, or choose another hierarchy."
        )
    return known


# Dates


def date_path(levels: Sequence[str]) -> Callable[[str], Path | None]:
    """From a day (2024-03-05, also with a time behind it, or 05.03.2024) to its month, quarter, year and decade."""
    unknown = [level for level in levels if level not in DATE_LEVELS]
    if unknown or not levels or len(set(levels)) < len(levels):
        raise ParameterError(f"levels of dates must be different ones of: {', '.join(DATE_LEVELS)}.")
    ordered = [level for level in DATE_LEVELS if level in levels]

    def path(value: str) -> Path | None:
        day = _day_of(value)
        return None if day is None else (value, *(_label_of_day(day, level) for level in ordered), ROOT)

    return path


def _day_of(value: str) -> date | None:
    iso = re.fullmatch(r"(\d{4})-(\d{2})-(\d{2})(?:[T ].*)?", value.strip())
    dotted = re.fullmatch(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(?: .*)?", value.strip())
    try:
        if iso is not None:
            return date(int(iso[1]), int(iso[2]), int(iso[3]))
        return None if dotted is None else date(int(dotted[3]), int(dotted[2]), int(dotted[1]))
    except ValueError:
        return None


def _label_of_day(day: date, level: str) -> str:
    match level:
        case "month":
            return f"{day.year:04d}-{day.month:02d}"
        case "quarter":
            return f"{day.year:04d}-Q{(day.month + 2) // 3}"
        case "year":
            return f"{day.year:04d}"
    return f"{day.year // 10 * 10:04d}s"


# Codes


def icd_10_path(code: str) -> Path | None:
    """E11.9, E11, E00-E90, '*'."""
    category = code.strip().upper().split(".")[0][:3]
    if re.fullmatch(r"[A-Z]\d[0-9A-Z]", category) is None:
        return None
    place = bisect_right([chapter[:3] for chapter in ICD_10_CHAPTERS], category) - 1
    return (code, category, ICD_10_CHAPTERS[place], ROOT)


def icd_9_path(code: str) -> Path | None:
    """250.00, 250, 240-279, '*'; codes of the supplementary classifications begin with E or V."""
    found = re.fullmatch(r"(E\d{3}|V\d{2}|\d{3})\.?\d{0,2}", code.strip().upper())
    if found is None or found[1] == "000":
        return None
    category = found[1]
    if category[0] in ICD_9_BESIDE:
        return (code, category, ICD_9_BESIDE[category[0]], ROOT)
    place = bisect_right([chapter[:3] for chapter in ICD_9_CHAPTERS], category) - 1
    return (code, category, ICD_9_CHAPTERS[place], ROOT)


def atc_path(code: str) -> Path | None:
    """A10BA02, A10BA, A10B, A10, A, '*'; a code of a higher level stays itself up to there."""
    tidy = code.strip().upper()
    if re.fullmatch(r"[A-Z](?:\d{2}(?:[A-Z](?:[A-Z](?:\d{2})?)?)?)?", tidy) is None:
        return None
    return (code, *(tidy[:length] for length in ATC_LENGTHS), ROOT)


# Numbers


def steps_that_fit(numbers: Iterable[Fraction]) -> tuple[Fraction, Fraction, Fraction]:
    """Lower end, width and upper end of intervals for numbers: round ones, outwards, and at most MOST_INTERVALS or so.

    Whole numbers get whole widths. Widths are 1, 2 or 5 times a power of ten; the lower end is a multiple of four
    widths, so that merged intervals begin at round numbers too.
    """
    numbers = list(numbers)
    low, high = min(numbers), max(numbers)
    is_whole = all(number.denominator == 1 for number in numbers)
    size = float(max(high - low, abs(high), Fraction(1, 10**9)))
    smallest = Fraction(1) if is_whole else Fraction(10) ** (math.floor(math.log10(size)) - 4)
    width = next(width for width in _round_widths(smallest) if (high - low) / width <= MOST_INTERVALS)
    low = Fraction(math.floor(low / (4 * width))) * 4 * width
    n_intervals = math.floor((high - low) / width) + 1
    end = low + n_intervals * width
    return low, width, end - 1 if is_whole else end


def _round_widths(smallest: Fraction) -> Iterator[Fraction]:
    while True:
        yield from (smallest, 2 * smallest, 5 * smallest)
        smallest *= 10
