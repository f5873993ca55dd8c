"""What statistical packages say of columns and codes beside the data: a text for a column, a text for a code."""

from __future__ import annotations

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
            "labels in place of the codes (labels='values'), or give the codes one meaning in all files."
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
