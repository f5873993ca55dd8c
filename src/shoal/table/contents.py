"""What the values of a column look like: e-mail addresses, numbers with check digits, codes of diagnoses, free text.

Shapes are looked for in the different values, at most MOST_LOOKED_AT of them, spread over the column. What is given
names shapes and counts, never a value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import polars as pl

from shoal.table.check_digits import ACCOUNT_NUMBERS, PERSON_NUMBERS, Checked, loinc

MOST_LOOKED_AT = 2_000
FEWEST = 3
"""Fewer different values are not enough to tell a shape by."""
FEWEST_CHECKED = 8
"""So many different values that pass a check digit are no chance: one in a hundred million columns of numbers."""
NEARLY_ALL = 0.95
WORDS_OF_FREE_TEXT = 4.0
SIGNS_OF_FREE_TEXT = 30.0

UNIT = (
    r"(?:m|µ|u|n|p|k)?(?:g|mol|l|U|IU|kat|mol)(?:/(?:d|m|µ|u|n)?[lL])?|%|mmHg|bpm|/µl|/ul|°C|kg/m2|G/l|T/l|x10\^?\d*/l"
)
CURRENCY = "€|\\$|£|EUR|USD|GBP|PLN|CHF|zł"
SHAPES: dict[str, tuple[str, tuple[str, ...]]] = {
    "e-mail": ("e-mail addresses", (r"[^@\s,;]+@[^@\s,;]+\.[A-Za-z]{2,}",)),
    "online name": ("addresses of the web", (r"https?://\S+", r"\d{1,3}(?:\.\d{1,3}){3}")),
    "social security": ("US social security numbers", (r"[0-8]\d\d-\d\d-\d{4}",)),
    "phone": (
        "phone numbers",
        (
            r"(?:\+|00)[1-9]\d{0,2}[\s./()-]*(?:\d[\s./()-]*){6,12}",
            r"\(?0\d{1,4}\)?[\s/.-]+(?:\d[\s./-]*){4,10}",
            r"\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}",
        ),
    ),
    "coordinates": ("pairs of coordinates", (r"-?\d{1,2}\.\d{2,}\s*[,; ]\s*-?\d{1,3}\.\d{2,}",)),
    "atc": ("ATC codes", (r"[A-DGHJLMNPRSV]\d{2}[A-Z]{2}\d{2}",)),
    "icd-10": ("ICD-10 codes", (r"[A-TV-Z]\d[0-9AB](?:\.[0-9A-Z]{1,4}|[0-9]{0,4})[-+*!]?",)),
    "icd-9": ("ICD-9 codes", (r"(?:\d{3}|V\d{2}|E\d{3})\.\d{1,2}",)),
    "ops": ("OPS codes", (r"[1-9]-\d{2}[0-9a-z](?:\.[0-9a-z]{1,3})?",)),
    "loinc": ("LOINC codes", (r"\d{1,5}-\d",)),
    "postcode": (
        "postcodes",
        (
            r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}",
            r"\d{4} ?[A-Z]{2}",
            r"[A-Z]\d[A-Z] ?\d[A-Z]\d",
            r"\d{2}-\d{3}",
            r"\d{4}-\d{3}",
            r"[A-Z]{1,2}-\d{4,5}",
        ),
    ),
    "money": ("sums of money", (rf"(?:{CURRENCY})\s?-?[\d.,' ]+", rf"-?[\d.,' ]+\s?(?:{CURRENCY})")),
    "laboratory": ("numbers with units of a laboratory", (rf"[<>]?\s?-?\d+(?:[.,]\d+)?\s?(?:{UNIT})",)),
    "day": (
        "dates",
        (
            r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}.*)?",
            r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}(?: \d{1,2}:\d{2}.*)?",
            r"(?:18|19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])",
        ),
    ),
    "plain postcode": ("texts of four or five digits", (r"\d{4,5}",)),
    "short number": ("whole numbers", (r"\d{1,9}",)),
}
"""How values of each shape look, and what a column of them is said to hold."""


DAY_AND_HOURS = r"^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?$"
"""Dates as the reader writes them: with hours or without, and no time zone."""


@dataclass(frozen=True)
class Contents:
    """What a column looks like: its kind, the shapes of nearly all of its values, and whether it is free text."""

    kind: str
    distinct: int
    missing: int
    shapes: frozenset[str] = frozenset()
    numbers: tuple[str, ...] = ()
    """The numberings of persons and accounts whose check digit nearly all values pass, in words."""
    words: float = 0.0
    """Of texts: how many words a value has on average."""
    is_free_text: bool = False
    low: float | None = field(default=None, repr=False)
    high: float | None = field(default=None, repr=False)

    @property
    def is_time(self) -> bool:
        """Whether it holds dates, in whatever way they are written."""
        return self.kind == "date" or "day" in self.shapes

    @property
    def is_date_or_year(self) -> bool:
        """Whether it holds dates or years."""
        is_year = self.low is not None and self.high is not None and self.low >= 1850 and self.high <= 2100
        return self.is_time or is_year


def contents_of(values: pl.Series) -> Contents:
    """What a column looks like."""
    present = values.drop_nulls()
    distinct = (
        present.unique(maintain_order=True) if _is_text(values) or values.dtype.is_numeric() else present.unique()
    )
    kind, low, high = _kind(values), None, None
    if kind == "number" and len(distinct):
        numbers = distinct.cast(pl.Float64, strict=False).fill_nan(None).drop_nulls()
        if len(numbers):
            low, high = float(numbers.min()), float(numbers.max())  # type: ignore[arg-type]
    looked_at = _texts(distinct)
    return Contents(
        kind=kind,
        distinct=len(distinct),
        missing=values.null_count(),
        shapes=frozenset(_shapes(looked_at)),
        numbers=tuple(checked.told for checked in (*PERSON_NUMBERS, *ACCOUNT_NUMBERS) if _passes(looked_at, checked)),
        words=_words_in(looked_at),
        is_free_text=_is_free_text(looked_at, len(distinct), len(present)),
        low=low,
        high=high,
    )


def _kind(values: pl.Series) -> str:
    if values.dtype.is_numeric():
        return "number"
    if values.dtype.is_temporal():
        return "date"
    if values.dtype != pl.String:
        return "nominal"
    present = values.drop_nulls()
    if not len(present):
        return "nominal"
    n_numbers = len(present) - present.cast(pl.Float64, strict=False).null_count()
    if n_numbers:
        return "number" if n_numbers == len(present) else "mixed"
    days = present.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    return "date" if not days.null_count() and present.str.contains(DAY_AND_HOURS).all() else "nominal"


def _is_text(values: pl.Series) -> bool:
    return values.dtype in (pl.String, pl.Categorical, pl.Enum)


def _texts(distinct: pl.Series) -> pl.Series:
    """Some of the different values as texts without outer blanks; none of what has no texts of its own."""
    step = max(1, -(-len(distinct) // MOST_LOOKED_AT))
    some = distinct.gather_every(step)
    if _is_text(distinct):
        texts = some.cast(pl.String).str.strip_chars()
        return texts.filter(texts != "")
    return some.cast(pl.String) if distinct.dtype.is_integer() else pl.Series(distinct.name, [], dtype=pl.String)


def _shapes(texts: pl.Series) -> Iterator[str]:
    if len(texts) < FEWEST:
        return
    forms_of = {shape: f"^(?:{'|'.join(forms)})$" for shape, (_, forms) in SHAPES.items()}
    text = pl.col("text")
    shares = (
        texts.alias("text")
        .to_frame()
        .select(text.str.contains(form).mean().alias(shape) for shape, form in forms_of.items())
    )
    for shape, share in shares.row(0, named=True).items():
        if share >= NEARLY_ALL and (
            shape != "loinc" or _all_are(texts.filter(texts.str.contains(forms_of[shape])), loinc)
        ):
            yield shape


def _all_are(texts: pl.Series, is_right: object) -> bool:
    return len(texts) >= FEWEST and all(is_right(text) for text in texts)  # type: ignore[operator]


def _passes(texts: pl.Series, checked: Checked) -> bool:
    """Whether nearly all of enough different values are such numbers."""
    if len(texts) < FEWEST_CHECKED:
        return False
    wrong = 0
    for text in texts:
        wrong += not checked.fits(text)
        if wrong > len(texts) * (1 - NEARLY_ALL):
            return False
    return True


def _is_free_text(texts: pl.Series, n_distinct: int, n_present: int) -> bool:
    """Whether values are sentences: of several words, long, and hardly ever the same."""
    if len(texts) < FEWEST or n_distinct * 2 < n_present:
        return False
    signs = float(texts.str.len_chars().mean())  # type: ignore[arg-type]
    return _words_in(texts) >= WORDS_OF_FREE_TEXT and signs >= SIGNS_OF_FREE_TEXT


def _words_in(texts: pl.Series) -> float:
    return float(texts.str.count_matches(r"\S+").mean()) if len(texts) else 0.0  # type: ignore[arg-type]
