"""Which labels of statistical packages leave with a release, and what the steward is told of them.

A label is a text that somebody wrote: it may name a person. So the person column has none, ever, and neither have the
codes of a time column, which are not what is published of it. The label of another code leaves where the code itself
can be seen in the release, but not in columns whose labelled codes are mostly those of one person each: they may be
names. The labels of columns leave only where the steward, who is shown them, asks for that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from shoal.masking.publish import Published
from shoal.reading.labels import Code, Labels
from shoal.table.label_sets import listed_in
from shoal.table.schema import Schema
from shoal.table.table import Table

RANGE = re.compile(r"(-?\d+(?:\.\d+)?)(?:-| to )(-?\d+(?:\.\d+)?)")


def labels_that_leave(labels: Labels, table: Table, published: Published, *, column_labels: bool) -> Labels:
    """The labels of columns and codes that may be handed out with a release; those of the person column never."""
    schema = table.schema
    codes = {}
    for name in _may_have_labelled_codes(schema):
        known = labels.codes.get(name, {})
        if not known or _may_name_persons(known, table, name):
            continue
        original = table.frame[name]
        shown = _codes_shown(original, published.frame[name]) if name in table.quasi else _codes(original)
        leaving = {code: label for code, label in known.items() if code in shown}
        if leaving:
            codes[name] = leaving
    columns = {name: label for name, label in labels.columns.items() if _may_have_label(name, schema)}
    return Labels(columns if column_labels else {}, codes)


def _may_have_label(name: str, schema: Schema) -> bool:
    return name in schema.published() and name != schema.person


def _may_have_labelled_codes(schema: Schema) -> tuple[str, ...]:
    return (*schema.quasi_names, *schema.sensitive, *schema.kept)


def _may_name_persons(known: Mapping[Code, str], table: Table, name: str) -> bool:
    """Whether more than half of the labelled codes of a column are those of one person each."""
    if not known:
        return False
    pairs = pl.DataFrame({"code": table.frame[name], "person": table.person_of_record}).drop_nulls().unique()
    persons = [count for code, count in pairs["code"].value_counts().rows() if code in known]
    return 2 * persons.count(1) > len(persons)


def _codes(values: pl.Series) -> set[object]:
    return set(values.drop_nulls().unique().to_list())


def _codes_shown(original: pl.Series, published: pl.Series) -> set[object]:
    """The codes that a published quasi-identifier shows: unchanged, as ends of ranges, or in sets.

    Numbers that are not those of the table, such as means, show no codes.
    """
    codes, shown = _codes(original), _codes(published)
    if published.dtype == original.dtype and shown == codes:
        return codes
    if published.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return set()
    named = set().union(*(_named_in(str(text)) for text in shown))
    return {code for code in codes if _as_shown(code) in named}


def _as_shown(code: Any) -> str:
    return str(int(code)) if isinstance(code, float) and code.is_integer() else str(code)


def _named_in(text: str) -> set[str]:
    """What a masked value names: 1 and 3 in "1-3", "{1, 3}" and "1-3 or missing"; nothing that is part of a word."""
    inside = text.removesuffix(" or missing")
    listed = listed_in(inside)
    if listed is not None:
        return set(listed)
    ends = RANGE.fullmatch(inside)
    return {inside, *(ends.groups() if ends else ())}


def labels_known_from(columns: Sequence[Mapping[str, Any]], labels: Labels) -> Labels:
    """Of a later file's labels those that have left with an earlier release, by the columns of its codebook."""
    texts = {column["name"]: column.get("value_labels", {}) for column in columns}
    codes = {
        name: {code: texts[name][str(code)] for code in of_codes if str(code) in texts[name]}
        for name, of_codes in labels.codes.items()
        if texts.get(name)
    }
    return Labels({column["name"]: column["label"] for column in columns if "label" in column}, codes)


def notes_on_labels(labels: Labels, leaving: Labels, table: Table) -> list[str]:
    """What the steward is told: the labels of columns that leave, word by word, and which others stay."""
    notes = []
    if leaving.columns:
        listed = "; ".join(f"'{name}' is \"{' '.join(label.split())}\"" for name, label in leaving.columns.items())
        notes.append(
            f"The labels of {len(leaving.columns):,} columns leave with the release. Read them before you hand it out: "
            f"{listed}."
        )
    staying = [name for name in labels.columns if _may_have_label(name, table.schema) and name not in leaving.columns]
    if staying:
        notes.append(
            f"{len(staying):,} of the published columns have labels, which stay here, since they may tell of persons: "
            f"{', '.join(map(repr, staying))}. shoal profile shows them; column_labels=True "
            "(in a policy column_labels = true) publishes them."
        )
    single = [name for name in _may_have_labelled_codes(table.schema)
              if _may_name_persons(labels.codes.get(name, {}), table, name)]  # fmt: skip
    if single:
        notes.append(
            f"The labels of codes stay here in {len(single):,} columns, since most of their codes are those of one "
            f"person each, whom they may name: {', '.join(map(repr, single))}."
        )
    return notes
