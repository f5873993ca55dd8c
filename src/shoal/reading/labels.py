"""What statistical packages say of columns and codes beside the data: a text for a column, a text for a code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from shoal.errors import SchemaError

Code = int | float | str

LABEL_CHOICES = ("codes", "values")
"""What a coded column is read as: its codes, whose labels are kept beside them, or the labels in their place."""


@dataclass(frozen=True)
class Labels:
    """The labels of a table: of its columns, and of the codes in them."""

    columns: Mapping[str, str] = field(default_factory=dict)
    codes: Mapping[str, Mapping[Code, str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.columns or self.codes)

    def renamed(self, names: Mapping[str, str]) -> Labels:
        """The labels after columns have got other names."""
        return Labels(
            {names.get(column, column): label for column, label in self.columns.items()},
            {names.get(column, column): labels for column, labels in self.codes.items()},
        )

    def of_codes_in(self, published: pl.Series) -> dict[Code, str]:
        """The labels of those codes that can be seen in a published column, and of no others.

        A label of a code that nobody published has would tell what there was: some programs make labels from the data.
        """
        known = self.codes.get(published.name, {})
        if not known:
            return {}
        shown: set[object] = set(published.drop_nulls().unique().to_list())
        if published.dtype in (pl.String, pl.Categorical, pl.Enum):  # ranges and sets of codes
            shown = set().union(*(_codes_in(str(text)) for text in shown))
            return {code: label for code, label in known.items() if str(code) in shown}
        return {code: label for code, label in known.items() if code in shown}


def _codes_in(text: str) -> set[str]:
    """The codes that a masked value names: 1 and 3 in "1-3", "{1, 3}" and "1-3 or missing"."""
    inside = text.removesuffix(" or missing").removeprefix("{").removesuffix("}")
    numbers = re.findall(r"-?\d+(?:\.\d+)?", inside)
    return {inside, *re.split(r", | to ", inside), *numbers, *(number.removeprefix("-") for number in numbers)}


def labels_of_all(labels: Iterable[Labels], names: Sequence[str]) -> Labels:
    """The labels of several sources together.

    Raises
    ------
    SchemaError
        A code has different labels in two sources, so that it means two things.
    """
    columns: dict[str, str] = {}
    codes: dict[str, dict[Code, str]] = {}
    differing = []
    for each in labels:
        for column, label in each.columns.items():
            columns.setdefault(column, label)
        for column, own in each.codes.items():
            known = codes.setdefault(column, {})
            n_differing = sum(known.get(code, label) != label for code, label in own.items())
            if n_differing:
                differing.append(f"'{column}' ({n_differing:,} codes)")
            codes[column] = {**own, **known}
    if differing:
        raise SchemaError(
            f"Codes have different labels in {' and '.join(names)}, in the columns {', '.join(differing)}. Read the "
            "labels in place of the codes (--labels values), or give the codes one meaning in all files."
        )
    return Labels(columns, codes)


def put_labels_for_codes(frame: pl.DataFrame, labels: Labels, name: str) -> tuple[pl.DataFrame, Labels, list[str]]:
    """The frame with labels in the place of codes, the labels that are left, and what to tell about it.

    A column is changed where each code that occurs has a label of its own; in others a number may be a number, such as
    an age of which only 99 is labelled. The categories stand in the order of their codes.
    """
    changed, left = {}, {}
    for column, label_of_code in labels.codes.items():
        codes = frame[column].drop_nulls().unique().sort().to_list()
        texts = [label_of_code.get(code) for code in codes]
        if codes and None not in texts and len(set(texts)) == len(texts):
            kind = pl.Enum([str(text) for text in texts])
            changed[column] = frame[column].replace_strict(codes, texts, return_dtype=kind)
        else:
            left[column] = label_of_code
    notes = []
    if left:
        listed = ", ".join(f"'{column}'" for column in left)
        notes.append(
            f"Codes were left as they are in {len(left):,} of {len(labels.codes):,} labelled columns of {name}, since "
            f"not every code that occurs has a label of its own: {listed}."
        )
    return frame.with_columns(**changed), Labels(labels.columns, left), notes
