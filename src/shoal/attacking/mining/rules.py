"""Rules: whoever is so never has that value, or is more or less likely to. And what they leave to each person."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Literal, overload

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.attacking.mining.nodes import MISSING, plain_number, read_values, texts_of_values
from shoal.errors import InputError, ParameterError, SchemaError, did_you_mean
from shoal.table.columns import Codes, persons_of
from shoal.table.schema import Nominal, Schema
from shoal.table.spelling import spelled_texts

Source = Literal["mined", "stated"]
SOURCES = ("mined", "stated")
BITS = 64


@dataclass(frozen=True, order=True)
class Item:
    """A value of a column, or a node of its hierarchy, by its label; of numbers an interval such as '20-29'."""

    column: str
    node: str

    def __post_init__(self) -> None:
        for name in ("column", "node"):
            if not isinstance(getattr(self, name), str):
                raise ParameterError(f"The {name} of an item must be text, not {type(getattr(self, name)).__name__}.")


@dataclass(frozen=True)
class Rule:
    """A person who satisfies every item of `when` never has a value, or has it more or less often than others.

    Parameters
    ----------
    when
        What is known of the person: items of different quasi-identifiers.
    never
        A value of a sensitive attribute: they never have it, where `lift` is 0.
    support
        How many persons satisfy `when`.
    expectation
        How probable it is that, if values were dealt out at random, one of these persons would have the value all the
        same; None for a rule that was stated, not mined.
    source
        "mined" from a table, or "stated" by the steward.
    lift
        How many times as likely they are to have the value as anybody is; 0 says never.
    chance
        The probability that was stated, of which `lift` is made once the table is known; None for other rules.
    """

    when: tuple[Item, ...]
    never: Item
    support: int = 0
    expectation: float | None = None
    source: Source = "stated"
    lift: float = 0.0
    chance: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "when", tuple(self.when))
        columns = [item.column for item in self.when]
        if not columns:
            raise ParameterError(f"A rule about '{self.never.column}' does not say whom it is about. Name an item.")
        if len(set(columns)) < len(columns):
            raise ParameterError("A rule may name each column once only: a person has no two values at a time.")
        if self.never.column in columns:
            raise ParameterError(f"A rule cannot say of '{self.never.column}' what follows from itself.")
        if self.source not in SOURCES:
            raise ParameterError(f"The source of a rule must be one of {', '.join(SOURCES)}.")
        if not 0 <= self.lift < math.inf:
            raise ParameterError("The lift of a rule must be a number of at least 0.")
        if self.chance is not None and not 0 <= self.chance <= 1:
            raise ParameterError("The chance of a value must be a number from 0 to 1.")

    @property
    def is_never(self) -> bool:
        """Whether it excludes the value, and does not only make it more or less likely."""
        return self.lift == 0 and self.chance is None

    @property
    def claim(self) -> tuple[frozenset[Item], Item, bool]:
        """What the rule is about, whatever the order of its items and wherever it comes from."""
        return frozenset(self.when), self.never, self.is_never

    def to_dict(self) -> dict[str, Any]:
        """The rule as plain dicts, as they stand in JSON."""
        when = {item.column: item.node for item in self.when}
        about = {self.never.column: self.never.node}
        told: dict[str, Any] = {"when": when, "never" if self.is_never else "value": about}
        told |= {} if self.chance is None else {"chance": self.chance}
        told |= {"lift": self.lift} if self.lift else {}
        return told | {"support": self.support, "expectation": self.expectation, "source": self.source}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Rule:
        """A rule from plain dicts; what is told of a stated one may be `when` and `never`, or `value` and `chance`."""
        when, never = told.get("when"), told.get("never", told.get("value"))
        if not isinstance(when, Mapping) or not isinstance(never, Mapping) or len(never) != 1:
            raise ParameterError("A rule needs `when`, a table of columns and values, and `never`, one of them.")
        chance, lift = told.get("chance"), told.get("lift", 0)
        if ("value" in told) != (chance is not None or bool(lift)) or {"value", "never"} <= told.keys():
            raise ParameterError("A rule says `never` of a value, or of a `value` the `chance` that somebody has it.")
        ((column, node),) = never.items()
        return cls(
            tuple(Item(str(each), as_node(value)) for each, value in when.items()),
            Item(str(column), as_node(node)),
            int(told.get("support") or 0),
            None if told.get("expectation") is None else float(told["expectation"]),
            told.get("source", "stated"),
            float(lift),
            None if chance is None else float(chance),
        )


def as_node(value: Any) -> str:
    """A value that somebody wrote, as rules name it: a text, a number, true or false, a date; None is missing."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | date():
            return str(value)
        case float() | Decimal():
            return plain_number(float(value))
        case None:
            return MISSING
    raise ParameterError(f"A rule names a value by a text, a number or a date, not by a {type(value).__name__}.")


@dataclass(frozen=True)
class Allowed:
    """Which values each person can have once the rules are known; persons of whom they say the same are of one type."""

    type_of_person: NDArray[np.int32]
    weight: NDArray[np.float64]
    """For each type and each value how many times as likely somebody of the type is to have it; 0 says never."""

    @property
    def n_types(self) -> int:
        """How many types there are."""
        return len(self.weight)

    @property
    def allowed(self) -> NDArray[np.bool_]:
        """For each type and each value whether somebody of the type can have it."""
        return self.weight > 0


@dataclass(frozen=True)
class Rules(Sequence[Rule]):
    """A sequence of rules.

    Examples
    --------
    >>> rules = Rules((Rule((Item("sex", "male"),), Item("disease", "ovarian cancer")),))
    >>> Rules.from_json(rules.to_json()) == rules
    True
    """

    rules: tuple[Rule, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", tuple(self.rules))

    def __len__(self) -> int:
        return len(self.rules)

    @overload
    def __getitem__(self, place: int) -> Rule: ...
    @overload
    def __getitem__(self, place: slice) -> Rules: ...
    def __getitem__(self, place: int | slice) -> Rule | Rules:
        return Rules(self.rules[place]) if isinstance(place, slice) else self.rules[place]

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def about(self, column: str) -> Rules:
        """The rules about one sensitive attribute."""
        return Rules(tuple(rule for rule in self if rule.never.column == column))

    def to_dict(self) -> dict[str, Any]:
        """The rules as plain lists and dicts: {"rules": [...]}."""
        return {"rules": [rule.to_dict() for rule in self]}

    def to_json(self) -> str:
        """The rules as the text of a JSON file."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, told: str | bytes | Mapping[str, Any]) -> Rules:
        """Rules from the text of a JSON file, or from what it holds."""
        try:
            document = json.loads(told) if isinstance(told, str | bytes) else told
            return cls(tuple(map(Rule.from_dict, document["rules"])))
        except (ParameterError, ValueError, TypeError, KeyError, AttributeError) as error:
            why = str(error) if isinstance(error, ParameterError) else "it must read {'rules': [...]}."
            raise InputError(f"The rules cannot be read: {why}") from None

    def allowed(self, frame: pl.DataFrame, schema: Schema, column: str, values: Sequence[Any] | pl.Series) -> Allowed:
        """Which of the values each person can have, if every rule about the column is known.

        Parameters
        ----------
        frame, schema
            The records and the roles of their columns. Persons come in the order of the table's person numbers; in a
            frame without the person column each record is a person.
        column, values
            The sensitive attribute, and its values in the order of their codes; None is the missing value.

        Raises
        ------
        SchemaError
            A rule names a column that is no quasi-identifier of the frame, or a node that its hierarchy or kind does
            not know. (A value of a column without hierarchy that no record has is satisfied by nobody.)

        Notes
        -----
        A person satisfies an item where any of their records does. O(records x columns + types x rules) time.
        """
        person_of_record, n_persons = _persons(frame, schema)
        if column not in schema.sensitive:
            raise SchemaError(
                f"Rules are about sensitive attributes, and '{column}' is none.{did_you_mean(column, schema.sensitive)}"
            )
        form = schema.spelling_of(column)
        texts = np.array(spelled_texts(texts_of_values(values), form), dtype=object)
        rules = self.about(column)
        if not len(rules):
            return Allowed(np.zeros(n_persons, np.int32), np.ones((1, len(texts))))
        items = sorted({item for rule in rules for item in rule.when})
        signature = _items_of_persons(items, frame, schema, person_of_record, n_persons)
        kind_of_person, kinds = _number_rows(signature)
        weights = _weights(rules, {item: place for place, item in enumerate(items)}, kinds, texts, form)
        weight, type_of_kind = np.unique(weights, axis=0, return_inverse=True)
        return Allowed(type_of_kind.reshape(-1).astype(np.int32)[kind_of_person], weight)


def persons_satisfying(rule: Rule, frame: pl.DataFrame, schema: Schema) -> NDArray[np.bool_]:
    """Which persons satisfy every item of a rule, each in any of their records."""
    person_of_record, n_persons = _persons(frame, schema)
    satisfied = np.ones(n_persons, dtype=np.bool_)
    for item in rule.when:
        satisfied &= _items_of_persons([item], frame, schema, person_of_record, n_persons)[:, 0] == 1
    return satisfied


def _persons(frame: pl.DataFrame, schema: Schema) -> tuple[Codes, int]:
    codes, n_persons = persons_of(frame, schema)
    return codes, int(codes.max(initial=n_persons - 1)) + 1


def _items_of_persons(
    items: Sequence[Item], frame: pl.DataFrame, schema: Schema, person_of_record: Codes, n_persons: int
) -> NDArray[np.uint64]:
    """For each person one bit per item: whether any of their records satisfies it."""
    n_words = -(-len(items) // BITS)
    of_records = np.zeros((len(frame), n_words), dtype=np.uint64)
    for name in dict.fromkeys(item.column for item in items):
        codes, bits_of_code = _bits_of_codes(name, items, frame, schema)
        of_records |= bits_of_code[codes]
    if n_persons == len(frame):
        of_persons = np.empty_like(of_records)
        of_persons[person_of_record] = of_records
        return of_persons
    order = np.argsort(person_of_record, kind="stable")
    first = np.flatnonzero(np.diff(person_of_record[order], prepend=-1))
    found: NDArray[np.uint64] = np.bitwise_or.reduceat(of_records[order], first, axis=0)
    return found


def _bits_of_codes(
    name: str, items: Sequence[Item], frame: pl.DataFrame, schema: Schema
) -> tuple[Codes, NDArray[np.uint64]]:
    """The code of each record in a column, and which items each code satisfies."""
    columns = {column.name: column for column in schema.columns}
    if name == schema.person and name in frame.columns:
        columns[name] = Nominal(name)  # a fact about one person, by the name that the table has for them
    if name not in columns or name not in frame.columns:
        known = [column for column in columns if column in frame.columns]
        raise SchemaError(
            f"A rule names '{name}', which is no quasi-identifier of the table. "
            f"These are: {', '.join(known)}.{did_you_mean(name, known)}"
        )
    values = read_values(frame[name], columns[name], schema.zone)
    bits = np.zeros((values.n_codes, -(-len(items) // BITS)), dtype=np.uint64)
    for place, item in enumerate(items):
        if item.column == name:
            covered = values.covered_by(item.node)
            if covered is None:
                raise SchemaError(f"A rule names a value that '{name}' cannot have: {values.naming}.")
            bits[covered, place // BITS] |= np.uint64(1 << place % BITS)
    return values.codes, bits


def _number_rows(rows: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """The number of each row among the different ones, and these."""
    named = pl.DataFrame({str(word): rows[:, word] for word in range(rows.shape[1])})
    distinct = named.unique(maintain_order=True).with_row_index("number")
    numbers = named.join(distinct, on=list(named.columns), how="left", maintain_order="left")["number"]
    return numbers.cast(pl.Int64).to_numpy(), distinct.drop("number").to_numpy().astype(np.uint64)


def _weights(
    rules: Rules, place_of_item: Mapping[Item, int], kinds: NDArray[np.uint64], texts: NDArray[Any], form: str
) -> NDArray[np.float64]:
    """For each kind of person, told by the items they satisfy, how likely rules make each value, by its spelling.

    Of mined rules with exceptions about one value and the same columns, the one counts that is about fewest persons;
    others are taken together as if they had nothing to do with each other.
    """
    weight = np.ones((len(texts), len(kinds)))
    mined: dict[tuple[str, ...], NDArray[np.float64]] = {}
    values_of_text = {text: np.flatnonzero(texts == text) for text in dict.fromkeys(texts)}
    wide_first = sorted(rules, key=lambda rule: -rule.support)
    nodes = spelled_texts([rule.never.node for rule in wide_first], form)
    for rule, node in zip(wide_first, nodes, strict=True):
        satisfied = np.ones(len(kinds), dtype=np.bool_)
        for item in rule.when:
            word, bit = divmod(place_of_item[item], BITS)
            satisfied &= (kinds[:, word] >> np.uint64(bit)) & np.uint64(1) == 1
        for value in values_of_text.get(node, ()):
            if rule.source == "mined" and not rule.is_never:
                columns = tuple(sorted(item.column for item in rule.when))
                mined.setdefault(columns, np.ones_like(weight))[value, satisfied] = rule.lift
            else:
                weight[value, satisfied] *= rule.lift
    for lifts in mined.values():
        weight *= lifts
    return weight.T
