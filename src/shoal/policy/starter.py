"""A starter policy: what a first look at a table suggests, with the reasons as comments. It runs as it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shoal.policy.numbers import exact_decimal
from shoal.policy.write import value_text
from shoal.table.profile import ColumnProfile, Profile


def starter_policy(profile: Profile, *, table_name: str, labels: Mapping[str, str] | None = None) -> str:
    """The text of a policy file for a table that was looked at.

    The roles are suggestions; the limits are ones that the whole table can meet, so that the policy runs as it is.
    `labels` are those that the file has for its columns: the steward reads them here before they decide.
    """
    lines = [
        f"# A policy to start from, for {_comment(table_name)}:",
        f"# {profile.records:,} records of {profile.persons:,} persons.",
        "# Roles were guessed from names and counts. You know the data: read each line, and change what is wrong.",
        "# Then run: shoal protect FILE --policy THIS_FILE -o out",
        "",
        *_labels(labels or {}),
        "[columns]",
        *_person(profile),
        *_list("quasi", "What others may know of a person; masked.", profile, with_kind=True),
        *_list("sensitive", "What nobody may learn of a person; published as it is, within the limits below.", profile),
        *_list("kept", "Published unchanged: only what tells nothing of a person.", profile),
        *_list("dropped", "Not published.", profile),
        *_time(profile),
        '# A missing quasi-identifier is a value of its own; or "refuse" the table, or "drop" the record.',
        'missing = "value"',
        "",
        "[models]",
        "# Nobody may own more than this share of the records of any group. Lower is safer, and loses more.",
        f"record-risk = {value_text(exact_decimal(profile.record_risk))}",
    ]
    if profile.h_affiliation is not None:
        lines += [
            "# No sensitive value may belong to more than this share of the persons of any group. Lower is safer, and "
            "loses more.",
            f"h-affiliation = {value_text(exact_decimal(profile.h_affiliation))}",
        ]
    lines += [
        "",
        "[method]",
        'name = "balance-tree"',
        "",
        "[mask]",
        'name = "range"',
        "",
        "[budget]",
        "# How many persons may be left out where the models cannot be met otherwise.",
        "max_suppressed = 0",
    ]
    return "\n".join(lines) + "\n"


def _labels(labels: Mapping[str, str]) -> list[str]:
    if not labels:
        return []
    return [
        "# The labels of columns in the file. Whoever wrote them may have written down a person, so they stay here:",
        *(f"#     {_comment(name)}: {_comment(label)}" for name, label in labels.items()),
        "# Write true to publish those of published columns; that of the person column never leaves.",
        "column_labels = false",
        "",
    ]


def _person(profile: Profile) -> list[str]:
    if profile.person is None:
        return ["# No column seems to name the person: each record is a person of its own.", '# person = "..."']
    (column,) = (column for column in profile.columns if column.role == "person")
    return [f"# The column that names the person; published as a random pseudonym. {_why(column)}",
            f"person = {value_text(column.name)}"]  # fmt: skip


def _list(role: str, what: str, profile: Profile, *, with_kind: bool = False) -> Iterable[str]:
    columns = [column for column in profile.columns if column.role == role]
    yield f"# {what}"
    if not columns:
        yield f"{role} = []"
        return
    yield f"{role} = ["
    for column in columns:
        shown = _with_kind(column) if with_kind else value_text(column.name)
        yield f"    {shown},  # {_why(column)}"
    yield "]"


def _with_kind(column: ColumnProfile) -> str:
    if ":" in column.name:
        return value_text({"name": column.name, "kind": column.kind_in_schema})
    return value_text(f"{column.name}:{column.kind_in_schema}")


def _time(profile: Profile) -> list[str]:
    if not profile.names("time"):
        return []
    (name,) = profile.names("time")
    return [
        '# For following a person over time: published as the person\'s own 1, 2, 3, or with dates moved ("shift").',
        f"time = {value_text(name)}",
        'time_as = "sequence"',
    ]


def _why(column: ColumnProfile) -> str:
    missing = f", {column.missing:,} missing" if column.missing else ""
    return f"{column.distinct:,} values{missing}: {_comment(column.reason)}"


def _comment(text: str) -> str:
    """A text that stays inside its comment line."""
    return " ".join(text.split())
