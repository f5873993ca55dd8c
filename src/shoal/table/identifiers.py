"""Identifiers of persons as the texts by which they are known again, and what is spelled in several ways."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

WHOLE_WITH_DECIMALS = r"^([+-]?\d+)\.0*$"
"""Whole numbers as other programs write them: 7.0, 7.00 and 7. are 7."""
WHITE_SPACE = r"^\s+|\s+$"


def identifiers_of(values: pl.Series) -> pl.Series:
    """Different values as texts: 7, 7.0, "7", "7.0" and " 7" are one identifier, "007" is another.

    Where several of the values would become one text each keeps its own, so that different values stay different.
    """
    if values.dtype.is_float():
        values = values.fill_nan(None)
        whole = values.cast(pl.Int128, strict=False)
        is_whole = (whole.cast(values.dtype) == values).fill_null(False)
        exact = whole.cast(pl.String).zip_with(is_whole, values.cast(pl.String))
    else:
        exact = values.cast(pl.String)
    if values.dtype.is_decimal():
        exact = exact.str.replace(r"(\.\d*?)0+$", "${1}")
    plain = exact.str.strip_chars().str.replace(WHOLE_WITH_DECIMALS, "${1}")
    both = pl.DataFrame({"exact": exact, "plain": plain})
    is_alone = both.select(pl.col("exact").n_unique().over("plain") == 1).to_series()
    return plain.zip_with(is_alone, exact).alias(values.name)


def note_on_identifiers(name: str, persons: pl.Series) -> list[str]:
    """What to tell where persons are named alike but for white space: they may be one, and count as several."""
    if persons.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return []
    texts = persons.unique().cast(pl.String) if persons.dtype != pl.String else persons
    if (texts.str.strip_chars() == texts).all():  # as nearly always, and quickly told
        return []
    return told_of_identifiers(name, texts.n_unique(), texts.str.strip_chars().n_unique())


def told_of_identifiers(name: str, n_different: int, n_without_spaces: int) -> list[str]:
    """The same, where it has been counted how many identifiers there are, with and without white space."""
    if n_different == n_without_spaces:
        return []
    return [
        f"{n_different - n_without_spaces:,} of {n_different:,} identifiers in '{name}' are another one but for white "
        "space at their ends. They count as different persons, so that the risk looks lower than it is where they are "
        "the same. Mend them."
    ]


def notes_on_spelling(values_of: Mapping[str, pl.Series]) -> list[str]:
    """What to tell where values of sensitive attributes are spelled in several ways: they count as several.

    Parameters
    ----------
    values_of
        The different values of each attribute.
    """
    notes = []
    for name, values in values_of.items():
        if values.dtype not in (pl.String, pl.Categorical, pl.Enum):
            continue
        plain = values.cast(pl.String).str.strip_chars().str.to_lowercase()
        n_others = len(values) - plain.n_unique()
        if n_others:
            notes.append(
                f"{n_others:,} of {len(values):,} values of '{name}' are another one but for capitals or white space "
                "at their ends. They count as different values, so that groups look more diverse than they are where "
                "they are the same. Mend them."
            )
    return notes
