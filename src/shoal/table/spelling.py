"""Spelling: which texts name one person, and which are one sensitive value.

A form says what does not tell texts apart. "exact": nothing. "plain": Unicode forms (NFKC), characters that format and
are not seen (category Cf), white space but for one space between words, and the decimals of a whole number: 7.0 is 7.
"folded": case as well, and numbers are numbers: 1.50 is 1.5. A text with a zero before another digit is a code, which
no form changes: 007 is not 7.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable

import numpy as np
import polars as pl
from numpy.typing import NDArray

FORMS = ("exact", "plain", "folded")
OF_PERSONS, OF_VALUES = "plain", "folded"
"""The forms by which persons and sensitive values are told apart unless the schema says otherwise."""

TEXTS = (pl.String, pl.Categorical, pl.Enum)
NOT_PLAIN = r"[^ -~]|^ | $|  "
"""Finds texts that may not be plain: signs beyond ASCII's, spaces at the ends, several spaces. Others are plain."""
WHOLE_WITH_DECIMALS = r"^([+-]?[0-9]+)\.0*$"
"""Whole numbers as other programs write them: 7.0, 7.00 and 7. are 7."""
NUMBER = r"^[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)$"
MOST_ROUNDS = 4
"""So often a text is folded and composed at the most until it stays as it is; two are enough for all known signs."""


def spelled(values: pl.Series, form: str) -> pl.Series:
    """Values as texts in a form: those that are one have equal texts, whichever file and type they come from.

    Numbers are written alike: 7, 7.0 and "7" are "7", also in the form "exact" where they are no texts. A series of
    texts that are all written in the form already is returned itself.
    """
    texts = _texts_of(values)
    if form == "exact":
        return texts
    texts = _mapped(texts, NOT_PLAIN, plain_text)
    if texts.str.contains(WHOLE_WITH_DECIMALS).any():
        texts = texts.str.replace(WHOLE_WITH_DECIMALS, "${1}")
    return texts if form == "plain" else _folded(texts)


def spelled_texts(texts: Iterable[str | None], form: str) -> list[str | None]:
    """The same of a list of texts."""
    return spelled(pl.Series(list(texts), dtype=pl.String), form).to_list()


def plain_text(text: str) -> str:
    """A text without what cannot be seen: NFKC, without format characters, one space between words, none at the ends.

    Examples
    --------
    >>> plain_text("  Ann   Lee ")
    'Ann Lee'
    """
    if not text.isprintable():  # format characters are not
        text = "".join(sign for sign in text if unicodedata.category(sign) != "Cf")
    return " ".join(unicodedata.normalize("NFKC", text).split())


def folded_text(text: str) -> str:
    """A plain text without case."""
    for _ in range(MOST_ROUNDS):
        folded = text.casefold()
        if folded == text:
            break
        text = plain_text(folded)
    return text


def first_alike(distinct: pl.Series, form: str) -> NDArray[np.int32] | None:
    """The place of the first value that each different value is one with; None where no two are one."""
    if form == "exact" or distinct.dtype not in TEXTS:
        return None
    forms = spelled(distinct, form)
    if forms is distinct or forms.n_unique() == len(forms):
        return None
    places = forms.to_frame("form").with_row_index("place").select(pl.col("place").min().over("form"))
    return places.to_series().cast(pl.Int32).to_numpy()


def n_without_case(forms: pl.Series) -> int | None:
    """How many of different plain texts are different without case too; None where case tells none of them apart."""
    return _folded(forms).n_unique() if may_differ_by_case(letters_in(forms)) else None


def letters_in(texts: pl.Series) -> set[str]:
    """Which letters there are: "small" and "capital" ones of ASCII's, "other" signs."""
    has = {
        "other": (texts.str.len_bytes() != texts.str.len_chars()).any(),
        "capital": texts.str.contains("[A-Z]").any(),
        "small": texts.str.contains("[a-z]").any(),
    }
    return {kind for kind, is_there in has.items() if is_there}


def may_differ_by_case(letters: set[str]) -> bool:
    """Whether texts of such letters may be equal but for case: not where ASCII's are all small, or all capitals."""
    return "other" in letters or {"capital", "small"} <= letters


def told_of_persons(name: str, form: str, n_written: int, n_persons: int, n_folded: int | None) -> list[str]:
    """What to tell of identifiers that are taken as one, or that only their case tells apart: how many, never which.

    Parameters
    ----------
    n_written, n_persons, n_folded
        How many there are as they are written, in their form, and without case, where that is asked.
    """
    notes = []
    if n_persons < n_written:
        notes.append(
            f"{n_written - n_persons:,} of {n_written:,} identifiers in '{name}' are another one but for "
            f"{BUT_FOR[form]}. Such identifiers name one person, with one pseudonym. Where they are different persons, "
            f"say that the spelling of '{name}' is 'exact'."
        )
    if n_folded is not None and n_folded < n_persons:
        notes.append(
            f"{n_persons - n_folded:,} of {n_persons:,} persons in '{name}' are named as another one but for capitals. "
            "They count as different persons, so that the risk looks lower than it is where they are the same. Then "
            f"say that the spelling of '{name}' is 'folded'."
        )
    return notes


def told_of_values(name: str, form: str, n_written: int, n_values: int) -> list[str]:
    """What to tell of sensitive values that are spelled in several ways: how many, never which."""
    if n_values == n_written:
        return []
    return [
        f"{n_written - n_values:,} of {n_written:,} values of '{name}' are another one but for {BUT_FOR[form]}. Such "
        "values count as one, and are published as they are. Where they are different values, say that the spelling of "
        f"'{name}' is 'exact'."
    ]


BUT_FOR = {
    "plain": "Unicode forms, invisible characters, white space or the decimals of a whole number",
    "folded": "capitals, Unicode forms, invisible characters, white space or the way a number is written",
}


def _texts_of(values: pl.Series) -> pl.Series:
    """Values as texts; numbers of all types in one way, without decimals that say nothing."""
    if values.dtype.is_float():
        values = values.fill_nan(None)
        whole = values.cast(pl.Int128, strict=False)
        is_whole = (whole.cast(values.dtype) == values).fill_null(False)
        texts = whole.cast(pl.String).zip_with(is_whole, values.cast(pl.String))
        return _mapped(texts, "e", lambda text: f"{_as_decimal(text):f}")
    if values.dtype.is_decimal():
        texts = values.cast(pl.String)
        return texts.str.replace(r"(\.\d*?)0+$", "${1}").str.strip_suffix(".")
    return values if values.dtype == pl.String else values.cast(pl.String)


def _as_decimal(text: str) -> object:
    from decimal import Decimal

    return Decimal(text)


def _mapped(texts: pl.Series, where: str, change: Callable[[str], str]) -> pl.Series:
    """Texts, those that a pattern finds changed; each different one is changed once."""
    is_found = texts.str.contains(where)
    if not is_found.any():
        return texts
    found = texts.filter(is_found.fill_null(False)).unique()
    changed = pl.Series([change(text) for text in found.to_list()], dtype=pl.String)
    is_other = found != changed
    return texts.replace(found.filter(is_other), changed.filter(is_other)) if is_other.any() else texts


def _folded(texts: pl.Series) -> pl.Series:
    """Plain texts without case, and numbers written in one way."""
    is_wide = texts.str.len_bytes() != texts.str.len_chars()
    if is_wide.any():
        texts = _mapped(texts, "[^ -~]", folded_text)
    if texts.str.contains("[A-Z]").any():
        texts = texts.zip_with(is_wide.fill_null(True), texts.str.to_lowercase())
    is_number = texts.str.contains(NUMBER) & texts.str.contains(r"^[+-]|\.")
    if not is_number.any():
        return texts
    numbers = texts.str.strip_prefix("+").str.replace(r"^(-?)\.", "${1}0.")
    numbers = numbers.str.replace(r"(\.[0-9]*?)0+$", "${1}").str.strip_suffix(".").str.replace("^-0$", "0")
    return numbers.zip_with(is_number.fill_null(False), texts)
