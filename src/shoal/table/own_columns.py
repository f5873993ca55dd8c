"""The columns that a release has of its own where sensitive attributes are published apart."""

from __future__ import annotations

GROUP = "group"
"""The column that says which group a row belongs to, where quasi-identifiers do not."""

MEMBER = "member"
"""The column of what the steward keeps that tells persons apart."""

COUNT, PERSONS, RECORDS = "count", "persons", "records"
"""The columns of sensitive tables that count: the first where each person has one record, else the second, and the
third where it does not link."""


def what_is_counted(*, one_record_per_person: bool, shows_identities: bool) -> tuple[str, ...]:
    """The columns of sensitive tables that count; beside exact quasi-identifiers numbers of records would link."""
    if one_record_per_person:
        return (COUNT,)
    return (PERSONS,) if shows_identities else (PERSONS, RECORDS)
