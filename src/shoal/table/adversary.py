"""What an adversary knows of the persons of a table: by rules, which values each of them cannot have.

The rules are those of `shoal.attacking.mining`; here it is enough that they tell which values each person can have. A
release that hides the quasi-identifiers hides whom the rules are about, so that the steward keeps, person by person,
the values that they exclude: as a JSON list of texts, in a column for each sensitive attribute.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import SchemaError
from shoal.models.background import Types
from shoal.table.columns import CategoryColumn, Codes, code_values
from shoal.table.schema import Schema
from shoal.table.spelling import spelled_texts

NEVER = "never "
"""Stands before the name of a sensitive attribute in the name of the column that lists what somebody cannot have."""

LIKELY = "likely "
"""The same for the column that says how likely each value is for somebody, where rules with exceptions say so."""

BY_RULES = "by rules"
"""The column that says by which rules, as a fingerprint of them."""


class KnownRules(Protocol):
    """Rules that say of persons, by their quasi-identifiers, which sensitive values they cannot have."""

    def __iter__(self) -> Iterator[Any]: ...

    def __len__(self) -> int: ...

    def allowed(self, frame: pl.DataFrame, schema: Schema, column: str, values: Any) -> Any:
        """The type of each person, and which of the values each type can have."""
        ...


@dataclass(frozen=True)
class Known:
    """For each sensitive attribute the type of each record's person, and which values each type can have."""

    types_of_record: Mapping[str, Types]
    is_linked: bool
    """Whether it can be seen which values of different attributes belong to one person."""
    by_rules: str | None = None
    """The fingerprint of the rules, where the steward keeps what they leave."""

    def only_by(self, rules: KnownRules | None) -> Known | None:
        """The same if it is by these rules, else nothing: what other rules leave is no answer."""
        return self if rules is not None and self.by_rules == fingerprint(rules) else None


@dataclass(frozen=True)
class Adversary:
    """Somebody who knows rules about the persons of a table: which values these leave for each person."""

    rules: KnownRules
    types_of_person: Mapping[str, Types]
    is_linked: bool
    """Whether it can be seen which values of different attributes belong to one person."""

    def known_of(self, person_of_record: Codes) -> Known:
        """The same record by record."""
        types = {name: (types[person_of_record], allowed) for name, (types, allowed) in self.types_of_person.items()}
        return Known(types, self.is_linked)

    def never_columns(
        self, sensitive: Mapping[str, CategoryColumn], person_of_row: NDArray[Any]
    ) -> dict[str, pl.Series]:
        """For each sensitive attribute the values that the person of each row cannot have, for the steward to keep."""
        by_rules = pl.Series(BY_RULES, [fingerprint(self.rules)]).new_from_index(0, len(person_of_row))
        columns = {BY_RULES: by_rules}
        for name, (type_of_person, weight) in self.types_of_person.items():
            texts = _texts_of_codes(sensitive[name])
            told: dict[str, list[list[Any]]] = {}
            told[NEVER] = [[texts[code] for code in np.flatnonzero(row == 0)] for row in weight]
            if not np.isin(weight, (0, 1)).all():
                told[LIKELY] = [[[texts[code], row[code]] for code in np.flatnonzero(row)] for row in weight.tolist()]
            for kind, lists in told.items():
                written = [json.dumps(each, ensure_ascii=False) for each in lists]
                of_type = pl.Series(f"{kind}{name}", written, dtype=pl.String)
                columns[of_type.name] = of_type.gather(type_of_person[person_of_row])
        return columns


def fingerprint(rules: KnownRules) -> str:
    """The SHA-256 of what rules claim, whatever their order and wherever they come from."""
    claims = sorted(
        [
            sorted([item.column, item.node] for item in rule.when),
            [rule.never.column, rule.never.node],
            *([repr(rule.lift)] if rule.lift else []),
        ]
        for rule in rules
    )
    return hashlib.sha256(json.dumps(claims).encode("utf-8")).hexdigest()


def types_by_rules(
    rules: KnownRules, frame: pl.DataFrame, schema: Schema, column: CategoryColumn, *, are_own: bool = False
) -> Types:
    """The type of each person of a frame by rules, and which values of an attribute each type can have.

    Raises
    ------
    SchemaError
        The rules do not fit the frame. Or they are its own, but some that were mined are about values that it does not
        have, as where a file writes values in another way: they would exclude nothing.
    """
    values = _named_as_in(rules, column)
    found = rules.allowed(frame, schema, column.name, values)
    if are_own and (lost := _lost(rules, column, values)):
        raise SchemaError(
            f"{lost:,} mined rules are about values of '{column.name}' that were not published: they may be of another "
            "release."
        )
    return np.asarray(found.type_of_person, np.int32), np.asarray(found.weight, np.float64)


def known_by_steward(kept: pl.DataFrame, sensitive: Mapping[str, CategoryColumn], *, is_linked: bool) -> Known | None:
    """The type of each row by what the steward keeps, or None where it does not tell.

    Raises
    ------
    SchemaError
        It names values that the published attribute does not have, so that it is not of this release.
    """
    if BY_RULES not in kept.columns or kept[BY_RULES].n_unique() != 1:
        return None
    types = {}
    for name, column in sensitive.items():
        never = f"{NEVER}{name}"
        if never not in kept.columns or kept[never].dtype != pl.String or kept[never].null_count():
            return None
        likely = f"{LIKELY}{name}"
        if likely in kept.columns:
            types[name] = _types_by_chances(kept[likely], column)
            continue
        number, distinct = code_values(kept[never])
        lists = [_texts_in(text, name) for text in distinct.to_list()]
        code_of_text = _codes_of_texts(column, [text for texts in lists for text in texts])
        weight = np.ones((len(lists), column.n_codes))
        for row, texts in zip(weight, lists, strict=True):
            row[[code_of_text[text] for text in texts]] = 0
        types[name] = number, weight
    return Known(types, is_linked, str(kept[BY_RULES][0]))


def _types_by_chances(kept: pl.Series, column: CategoryColumn) -> Types:
    """The type of each row, and how likely each makes a value, by what the steward keeps; 0 where it names none."""
    number, distinct = code_values(kept)
    try:
        lists = [[(text, float(lift)) for text, lift in json.loads(each)] for each in distinct.to_list()]
    except (ValueError, TypeError, RecursionError):
        raise SchemaError(f"What the steward keeps of the chances of '{column.name}' is no list of values.") from None
    code_of_text = _codes_of_texts(column, [text for each in lists for text, _ in each])
    weight = np.zeros((len(lists), column.n_codes))
    for row, each in zip(weight, lists, strict=True):
        for text, lift in each:
            row[code_of_text[text]] = lift
    return number, weight


def _texts_in(text: str, column: str) -> list[str | None]:
    """The texts of a JSON list."""
    try:
        texts = json.loads(text)
    except (ValueError, RecursionError):
        texts = None
    if not isinstance(texts, list) or not all(each is None or isinstance(each, str) for each in texts):
        raise SchemaError(f"What the steward keeps of the values that persons cannot have of '{column}' is no list.")
    return texts


def _texts_of_codes(column: CategoryColumn) -> list[str | None]:
    """The value of each code as text; None is the missing value."""
    return [*column.categories.cast(pl.String).to_list(), *([None] if column.has_missing else [])]


def _codes_of_texts(column: CategoryColumn, texts: Sequence[str | None]) -> dict[str | None, int]:
    """The code of each text, also where it is spelled otherwise, or a file writes an empty text as missing."""
    codes: dict[str | None, int] = {text: code for code, text in enumerate(_texts_of_codes(column))}
    if None in codes and None not in texts:
        codes.setdefault("", codes[None])
    numbers = {_as_number(text): code for text, code in codes.items()}
    code_of_form = dict(zip(spelled_texts(codes, column.spelling), codes.values(), strict=True))
    for text, form in zip(texts, spelled_texts(texts, column.spelling), strict=True):
        if text in codes:
            continue
        if form in code_of_form:
            codes[text] = code_of_form[form]
        elif (number := _as_number(text)) is not None and number in numbers:
            codes[text] = numbers[number]
    strange = len({text for text in texts if text not in codes})
    if strange:
        raise SchemaError(
            f"What the steward keeps names {strange:,} values of '{column.name}' that were not published: it is of "
            "another release."
        )
    return codes


def _named_as_in(rules: KnownRules, column: CategoryColumn) -> list[Any] | pl.Series:
    """The values of an attribute by code; numbers and empty texts that a file writes otherwise, as rules name them."""
    values = column.categories.extend_constant(None, 1) if column.has_missing else column.categories
    if column.categories.dtype != pl.String:
        return values
    texts = values.to_list()
    nodes = {rule.never.node for rule in rules if rule.never.column == column.name}
    node_of_number = {_as_number(node): node for node in nodes - set(texts)}
    node_of_number.pop(None, None)
    if None in texts and "" in nodes - set(texts):
        texts[texts.index(None)] = ""
    return [text if text in nodes else node_of_number.get(_as_number(text), text) for text in texts]


def _lost(rules: KnownRules, column: CategoryColumn, values: list[Any] | pl.Series) -> int:
    """How many mined rules about an attribute are about none of its values."""
    texts = values if isinstance(values, list) else values.cast(pl.String).to_list()
    shown = set(spelled_texts(texts, column.spelling))
    is_number = isinstance(values, pl.Series) and values.dtype.is_numeric()
    numbers = {_as_number(text) for text in shown} if is_number else set()
    mined = [rule.never.node for rule in rules if rule.never.column == column.name and rule.source == "mined"]
    nodes = spelled_texts(mined, column.spelling)
    missing = "missing" if None in shown else None
    return sum(node not in shown and node != missing and _as_number(node) not in numbers - {None} for node in nodes)


def _as_number(text: str | None) -> float | None:
    try:
        return float(text) if text is not None else None
    except ValueError:
        return None
