"""A starter policy: what a first look at a table suggests, with the reasons as comments. It runs as it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal

from shoal.policy.numbers import exact_decimal
from shoal.policy.presets import Preset
from shoal.policy.write import value_text
from shoal.table.profile import ColumnProfile, Profile

MOST_ALIKE = 5
"""Among how many persons nobody is found by their own records, where there are enough."""
CODES = ("icd10", "icd9", "icd", "atc")
"""Hierarchies of codes, by which values of histories are made coarser."""

TOLD_OF_SAMPLES = {
    "weight": "How many persons of the population one stands for; not published.",
    "household": "Who lives together; not published.",
    "strata": "From which part of the population persons were drawn; not published.",
}


def starter_policy(
    profile: Profile, *, table_name: str, labels: Mapping[str, str] | None = None, preset: Preset | None = None
) -> str:
    """The text of a policy file for a table that was looked at.

    The roles are suggestions; the limits are ones that the whole table can meet, so that the policy runs as it is.
    `labels` are those that the file has for its columns: the steward reads them here before they decide. With a
    `preset` the limits are its own, whether the table can meet them or not.
    """
    lines = [
        f"# A policy to start from, for {_comment(table_name)}:",
        f"# {profile.records:,} records of {profile.persons:,} persons.",
        "# Roles were guessed from names and contents; each line says how sure that is. You know the data: read each",
        "# line, and change what is wrong.",
        *_unsure(profile),
        "# Then run: shoal protect FILE --policy THIS_FILE -o out",
        "",
        *_preset(preset),
        *_labels(labels or {}),
        "[columns]",
        *_person(profile),
        *_list("quasi", "What others may know of a person; masked.", profile, with_kind=True),
        *_list("sensitive", "What nobody may learn of a person; published as it is, within the limits below.", profile),
        *_list("kept", "Published unchanged: only what tells nothing of a person.", profile),
        *_list("dropped", "Not published.", profile),
        "# Columns of e-mail addresses, national or account numbers leave only where they are named here as well.",
        "confirmed = []",
        *_time(profile),
        *_sample(profile),
        "# The ends of ranges are rounded outwards, so that they are nobody's own value; or 'off'.",
        'round = "auto"',
        '# A missing quasi-identifier is a value of its own; or "refuse" the table, or "drop" the record.',
        'missing = "value"',
        *_silent(profile),
        "",
        "[models]",
        *_limits(profile, preset),
        *_model_of_samples(profile),
    ]
    if profile.h_affiliation is not None:
        lines += [
            "# No sensitive value may belong to more than this share of the persons of any group. Lower is safer, and "
            "loses more.",
            f"h-affiliation = {value_text(exact_decimal(profile.h_affiliation))}",
        ]
    lines += [
        *_histories(profile),
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


def _histories(profile: Profile) -> list[str]:
    """Models of histories, where persons have several records, and by which hierarchies values are made coarser."""
    if profile.person is None or profile.persons == profile.records:
        return []
    k = max(2, min(MOST_ALIKE, profile.persons // 10))
    sensitive = [column for column in profile.columns if column.role == "sensitive"]
    asked = {"k": k, "m": 1} if len(sensitive) < 2 else {"k": k, "m": 1, "knows": "records"}
    coarser = {column.name: {column.hierarchy: True} for column in sensitive if column.hierarchy in CODES}
    lines = [
        "# Persons have several records. Whoever knows one of a person's own, or how many they have, still has so many",
        "# persons to choose from: values are made coarser or hidden, and records left out, until that holds.",
        *([f"history-k = {value_text(asked)}"] if sensitive else []),
        f"count-k = {k}",
    ]
    return [*lines, "", "[history]", f"hierarchies = {value_text(coarser)}"] if coarser else lines


def _preset(preset: Preset | None) -> list[str]:
    if preset is None:
        return []
    return [
        f"# {preset.title}. {preset.means}",
        f"# Made for: {preset.made_for}",
        *(f"# {source}" for source in preset.sources),
        f"preset = {value_text(preset.name)}",
        "",
    ]


def _limits(profile: Profile, preset: Preset | None) -> list[str]:
    """The limits on who is in a group: those of a preset, or one that the whole table can meet."""
    if preset is not None:
        told = [f"{name} = {value_text(asked)}" for name, asked in preset.models.items()]
        risk = preset.models.get("record-risk")
        if risk is not None and profile.record_risk > max(risk, Decimal("0.2")):  # the share of the heaviest person
            told.append("# One person has so many of all records that no grouping meets this: see [budget].")
        return told
    return [
        "# Nobody may own more than this share of the records of any group. Lower is safer, and loses more.",
        f"record-risk = {value_text(exact_decimal(profile.record_risk))}",
    ]


def _unsure(profile: Profile) -> list[str]:
    names = [_comment(column.name) for column in profile.columns if column.sure == "unsure"]
    return [f"# Least sure, so look at these first: {', '.join(names)}."] if names else []


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
        is_in_classes = with_kind and column.hierarchy is not None and column.kind_in_schema == "nominal"
        yield f"    {_along_hierarchy(column) if is_in_classes else shown},  # {_why(column)}"
        if with_kind and column.hierarchy is not None:
            yield f"    # {'' if is_in_classes else f'or in classes: {_along_hierarchy(column)}; '}{_alone(column)}"
    yield "]"


def _along_hierarchy(column: ColumnProfile) -> str:
    """A quasi-identifier with the hierarchy that fits it."""
    hierarchy = {str(column.hierarchy): True}
    return value_text({"name": column.name, "kind": column.kind_in_schema, "hierarchy": hierarchy})


def _alone(column: ColumnProfile) -> str:
    counts = ", ".join(f"{level.alone:,}" for level in column.levels)
    return f"persons alone from the values up: {counts}"


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


def _sample(profile: Profile) -> list[str]:
    """How the table was drawn from a population, where columns say it."""
    lines = []
    for column in profile.columns:
        if column.role in ("weight", "household"):
            lines += [f"# {TOLD_OF_SAMPLES[column.role]} {_why(column)}", f"{column.role} = {value_text(column.name)}"]
    strata = list(profile.names("strata"))
    return [*lines, f"# {TOLD_OF_SAMPLES['strata']}", f"strata = {value_text(strata)}"] if strata else lines


def _model_of_samples(profile: Profile) -> list[str]:
    """A model of samples, to be taken where nobody knows who is in the table; that is the steward's to judge."""
    return [
        line
        for name, asked in profile.models_of_samples.items()
        for line in (
            "# The table seems to be a sample. Where nobody knows who is in it, take the # away: then at most so",
            "# many of all persons are expected to be found in the population.",
            f"# {name} = {asked}",
        )
    ]


def _silent(profile: Profile) -> list[str]:
    """What a missing sensitive value is, where there are some; that it tells nothing is for the steward to say."""
    gaps = [
        f"{_comment(column.name)} {column.missing / profile.records:.1%}"
        for column in profile.columns
        if column.role == "sensitive" and column.missing
    ]
    if not gaps:
        return []
    return [
        f"# Sensitive values that are missing: {', '.join(gaps)} of the records. A missing one is a value to protect,",
        "# and counts as one, unless the column is named here: then it tells nothing, and counts leave it out.",
        f"missing_tells_nothing = {value_text(list(profile.missing_tells_nothing))}",
    ]


def _why(column: ColumnProfile) -> str:
    missing = f", {column.missing:,} missing" if column.missing else ""
    return f"{column.distinct:,} values{missing}; {column.sure}: {_comment(column.reason)}"


def _comment(text: str) -> str:
    """A text that stays inside its comment line."""
    return " ".join(text.split())
