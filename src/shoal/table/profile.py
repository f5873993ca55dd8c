"""A first look at a table: what each column holds, and which role it probably has."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import polars as pl

from shoal.errors import InputError

FEWEST_FOR_ID = 10


@dataclass(frozen=True)
class ColumnProfile:
    """What a column holds, the role suggested for it, and why."""

    name: str
    kind: str
    """"number", "date", "nominal", or "mixed" where some values are numbers and some are not."""
    distinct: int
    missing: int
    role: str
    reason: str

    @property
    def kind_in_schema(self) -> str:
        """The kind to write in a schema: a column that mixes numbers and texts is taken as categories."""
        return "nominal" if self.kind == "mixed" else self.kind


@dataclass(frozen=True)
class Profile:
    """The columns of a table with suggested roles, and limits that the whole table can meet."""

    records: int
    persons: int
    columns: tuple[ColumnProfile, ...]
    record_risk: Fraction
    """A share that no person of the whole table exceeds: at least 0.2."""
    h_affiliation: Fraction | None
    """A share of persons above that of the commonest sensitive value, by a quarter of what is left: at least 0.5.

    None without sensitive values. Groups can meet it that are not the whole table.
    """

    def names(self, role: str) -> tuple[str, ...]:
        """The columns that a role is suggested for."""
        return tuple(column.name for column in self.columns if column.role == role)

    @property
    def person(self) -> str | None:
        """The column that probably names the person."""
        return next(iter(self.names("person")), None)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, without any value of the table."""
        columns = [
            {
                "name": column.name,
                "kind": column.kind,
                "distinct": column.distinct,
                "missing": column.missing,
                "role": column.role,
                "reason": column.reason,
            }
            for column in self.columns
        ]
        return {"records": self.records, "persons": self.persons, "columns": columns}


def profile(frame: pl.DataFrame) -> Profile:
    """Look at a table: kinds, distinct and missing values, and a role for each column with the reason.

    Notes
    -----
    Roles are guessed from names and counts: they are a start for a steward, who knows the data. Every column gets a
    role, and there is always a quasi-identifier, so that the roles make a schema.
    """
    if not frame.width or not len(frame):
        raise InputError("The table has no records.")
    columns = [_look_at(frame[name]) for name in frame.columns]
    columns = _with_person(columns, len(frame))
    columns = _with_one_time(columns)
    columns = _with_a_quasi_identifier(columns)
    person = next((column.name for column in columns if column.role == "person"), None)
    persons = frame[person] if person is not None else pl.Series(range(len(frame)))
    sensitive = [column.name for column in columns if column.role == "sensitive"]
    return Profile(
        records=len(frame),
        persons=persons.n_unique(),
        columns=tuple(columns),
        record_risk=_largest_share_of_records(persons),
        h_affiliation=_largest_share_of_persons(frame, persons, sensitive),
    )


# What a column holds


def _look_at(values: pl.Series) -> ColumnProfile:
    distinct = values.drop_nulls().n_unique()
    bare = ColumnProfile(values.name, _kind(values), distinct, values.null_count(), "", "")
    role, reason = _role_by_name(bare, len(values))
    return replace(bare, role=role, reason=reason)


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
    return "date" if not present.str.to_date("%Y-%m-%d", strict=False).null_count() else "nominal"


# Roles by name

PERSON_WORDS = frozenset({
    "patient", "person", "subject", "member", "client", "customer", "user", "beneficiary", "participant",
    "individual", "respondent", "employee", "student", "pupil", "resident", "citizen", "mrn", "pid", "dupersid",
    "personid", "patientid", "subjectid", "userid", "memberid", "customerid",
})  # fmt: skip
ID_WORDS = frozenset({
    "id", "ident", "identifier", "key", "no", "nr", "number", "num", "code", "index",
})  # fmt: skip
RECORD_WORDS = frozenset({
    "record", "row", "visit", "admission", "encounter", "case", "event", "transaction", "order", "claim", "stay",
    "episode", "entry", "sample", "hadm", "line",
})  # fmt: skip
DIRECT_WORDS = frozenset({
    "name", "surname", "firstname", "lastname", "forename", "fullname", "phone", "telephone", "mobile", "fax",
    "email", "mail", "address", "street", "ssn", "passport", "licence", "license", "iban", "account", "url", "ip",
    "username", "physician", "doctor", "gp", "nurse", "provider", "insurer", "policyno",
})  # fmt: skip
QUASI_WORDS = frozenset({
    "age", "sex", "gender", "zip", "zipcode", "zcta", "postcode", "postal", "plz", "region", "county", "state",
    "city", "town", "district", "country", "nationality", "birth", "born", "dob", "birthday", "birthdate", "yob",
    "race", "ethnicity", "ethnic", "marital", "married", "education", "schooling", "degree", "occupation", "job",
    "profession", "workclass", "religion", "language", "household", "children", "height", "weight",
})  # fmt: skip
SENSITIVE_WORDS = frozenset({
    "disease", "diagnosis", "diagnoses", "dx", "icd", "icd9", "icd10", "condition", "illness", "disorder",
    "treatment", "procedure", "drug", "medication", "medicine", "prescription", "therapy", "symptom", "allergy",
    "salary", "income", "wage", "pay", "earnings", "debt", "balance", "credit", "verdict", "offence", "crime",
    "party", "vote", "rating", "result", "test", "lab", "hiv", "outcome",
})  # fmt: skip
TIME_WORDS = frozenset({
    "date", "time", "timestamp", "datetime", "day", "month", "year", "when", "admitted", "discharged", "visited",
})  # fmt: skip

NAME_WORDS = frozenset({"name", "fullname", "ssn"})

_RULES: list[tuple[frozenset[str], str, str]] = [
    (QUASI_WORDS, "quasi", "by its name others may know it of a person"),
    (SENSITIVE_WORDS, "sensitive", "by its name nobody should learn it of a person"),
    (DIRECT_WORDS, "dropped", "by its name a direct identifier"),
]


def words_of(name: str) -> list[str]:
    """The words of a column name in lower case: `zip_code` and `zipCode` are zip, code."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    words = [word for word in re.split(r"[^A-Za-z0-9]+", apart.lower()) if word]
    return [*words, "".join(words)] if len(words) > 1 else words


def _role_by_name(column: ColumnProfile, n_records: int) -> tuple[str, str]:
    words = words_of(column.name)
    if any(word in PERSON_WORDS for word in words) and not any(word in RECORD_WORDS for word in words):
        return "person?", "by its name it tells persons apart"
    is_time = column.kind == "date" or _has(words, TIME_WORDS)
    if (
        not is_time
        and any(word in RECORD_WORDS for word in words)
        and (column.distinct == n_records or _has(words, ID_WORDS))
    ):
        return "dropped", "by its name a number of the record"
    for known, role, reason in _RULES:
        if _has(words, known):
            return role, reason
    if is_time:
        return "time?", "it holds times"
    if _has(words, ID_WORDS):
        repeats = column.distinct + column.missing < n_records
        return ("person?", "by its name a number, and it repeats") if repeats else (
            "dropped", "by its name a number, and every record has another one"
        )  # fmt: skip
    return "unknown", "nothing tells its role: dropped until you decide"


def _has(words: Sequence[str], known: Collection[str]) -> bool:
    return any(word in known for word in words)


# Roles that depend on each other


def _with_person(columns: list[ColumnProfile], n_records: int) -> list[ColumnProfile]:
    """Exactly one person column of the candidates, or a direct identifier that repeats, or none."""
    whole = [column for column in columns if not column.missing]
    named = [column for column in whole if column.role == "person?"]
    repeated = [column for column in whole if 1 < column.distinct < n_records]
    by_name = [column for column in repeated if column.role == "dropped" and _has(words_of(column.name), NAME_WORDS)]
    like_ids = [
        column
        for column in repeated
        if column.role == "unknown" and column.kind in ("nominal", "mixed") and column.distinct >= FEWEST_FOR_ID
        and column.distinct * 20 >= n_records
    ]  # fmt: skip
    best = next(iter([*sorted(named, key=lambda column: column.distinct == n_records), *by_name, *like_ids]), None)
    reason = None
    if best is not None and best.role != "person?":
        reason = f"it has {best.distinct:,} values in {n_records:,} records, as a column of persons would"
    return [
        replace(column, role="person", reason=reason or column.reason)
        if column is best
        else replace(column, role="dropped", reason="another column names the person")
        if column.role == "person?"
        else column
        for column in columns
    ]


def _with_one_time(columns: list[ColumnProfile]) -> list[ColumnProfile]:
    """The first column of times has the role; further ones are dropped."""
    times = [column for column in columns if column.role == "time?"]
    return [
        replace(column, role="time")
        if times and column is times[0]
        else replace(column, role="dropped", reason="another column holds the times")
        if column.role == "time?"
        else column
        for column in columns
    ]


def _with_a_quasi_identifier(columns: list[ColumnProfile]) -> list[ColumnProfile]:
    """Columns of unknown role are dropped; where no quasi-identifier was found they are taken for ones."""
    if not any(column.role == "quasi" for column in columns):
        reason = "nothing tells its role, and some quasi-identifier is needed: assume that others may know it"
        unknown: Callable[[ColumnProfile], bool] = lambda column: column.role == "unknown"  # noqa: E731
        for is_taken in (unknown, lambda c: c.role == "dropped", lambda c: c.role == "sensitive", lambda c: True):
            if any(map(is_taken, columns)):
                columns = [
                    replace(column, role="quasi", reason=reason) if is_taken(column) else column for column in columns
                ]
                break
    return [replace(column, role="dropped") if column.role == "unknown" else column for column in columns]


# Limits that the whole table meets


def _largest_share_of_records(persons: pl.Series) -> Fraction:
    """The share of the heaviest person, rounded up to hundredths, and at least a fifth."""
    heaviest = int(persons.rename("person").value_counts()["count"].max())  # type: ignore[arg-type]
    return max(Fraction(1, 5), _rounded_up(Fraction(heaviest, len(persons))))


def _largest_share_of_persons(frame: pl.DataFrame, persons: pl.Series, sensitive: Sequence[str]) -> Fraction | None:
    """A share that groups can meet: that of the commonest value of any sensitive attribute, and a quarter of the rest.

    At the share of the whole table itself hardly anything but the whole table would do.
    """
    if not sensitive:
        return None
    n_persons = persons.n_unique()
    commonest = 0
    for name in sensitive:
        pairs = pl.DataFrame({"person": persons, "value": frame[name]}).unique()
        commonest = max(commonest, int(pairs["value"].value_counts()["count"].max()))  # type: ignore[arg-type]
    share = Fraction(commonest, n_persons)
    return max(Fraction(1, 2), _rounded_up(share + (1 - share) / 4))


def _rounded_up(share: Fraction) -> Fraction:
    return Fraction(math.ceil(share * 100), 100)
