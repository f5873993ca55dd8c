"""What was asked, what was done, and the verdict model by model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shoal.publishing.report import words
from shoal.publishing.report.markup import Content, el
from shoal.publishing.report.numbers import count, plain, share
from shoal.publishing.report.page import cell, table

Numbers = Mapping[str, Any]
COUNTED: Mapping[str, Callable[[Any], str]] = {
    "values_before": count, "values_after": count, "changed": share, "hidden": share,
}  # fmt: skip
"""What is counted of what was done to a column, and how it is written."""


def asked(numbers: Numbers) -> Content:
    """The policy in plain words, and the columns."""
    report = numbers["report"]
    roles = {"quasi": "quasi-identifier", "sensitive": "sensitive attribute"}
    rows = [
        [
            column["name"],
            roles.get(column["role"], column["role"]),
            column.get("kind", ""),
            words.typeset(column["shown_as"]),
        ]
        for column in report["columns"]
    ]
    return [
        el("p", "The policy in plain words:"),
        el("ul", [el("li", words.typeset(sentence)) for sentence in report["asked"]["policy"]]),
        table(["Column", "Role", "Kind", "Published as"], rows, caption="The columns and what becomes of them"),
    ]


def done(numbers: Numbers) -> Content:
    """What was done, step by step."""
    how, before = numbers["report"]["done"], numbers.get("before")
    told = [
        f"{words.persons(numbers['persons'])} with {count(numbers['records'])} records were put into "
        f"{count(numbers['groups'])} groups by the method {how['method']}{_options(how['method_options'])}.",
        f"What a group shows was made by the mask {how['mask']}{_options(how['mask_options'])}.",
        "Records were put in a random order; order and pseudonyms come from the system’s secure randomness, so that no "
        "seed gives them back.",
        "Then the published table was read as a stranger would, and every model counted in every group; had one not "
        "been met, nothing would have been written.",
    ]
    rules = numbers.get("rules")
    if rules:
        told.append(
            f"An adversary was taken to know {count(rules['mined'])} rules that were mined from the table, and "
            f"{count(rules['stated'])} that were stated, on which values never go with which quasi-identifiers."
        )
    suppressed = numbers.get("suppressed_persons", 0)
    if before is not None and before["records"] != numbers["records"]:
        told.append(
            f"The table as it was had {words.persons(before['persons'])} with {count(before['records'])} records; "
            f"{count(suppressed)} persons and {count(before['records'] - numbers['records'])} records were left out."
        )
    told.append(f"That took {numbers['seconds']:.1f} seconds.")
    return [el("ol", [el("li", sentence) for sentence in told]), column_by_column(numbers)]


def column_by_column(numbers: Numbers) -> Content:
    """For each column what was done to it, and how much of it changed."""
    changes = numbers.get("changes")
    if not changes:
        return None
    rows: list[list[Content]] = [
        [
            name,
            words.typeset(told["done"]),
            *(_counted(f"changes.{name}.{key}", told.get(key), shown) for key, shown in COUNTED.items()),
        ]
        for name, told in changes.items()
    ]  # fmt: skip
    return [
        el("p", "Column by column: different values before and after, published records whose cell is not what it was, "
                "and those whose cell shows nothing. What was coded is told in words, and counted as it is coded."),
        table(["Column", "What was done", "Values before", "Values after", "Changed", "Hidden"], rows,
              numeric=(2, 3, 4, 5), caption="What was done to each column"),
    ]  # fmt: skip


def _counted(key: str, value: Any, shown: Callable[[Any], str]) -> Content:
    return "" if value is None else cell(key, value, shown(value))


def _options(options: Numbers) -> str:
    shown = [f"{name} = {_option(value)}" for name, value in options.items() if value not in (None, "")]
    return f" ({', '.join(shown)})" if shown else ""


def _option(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def verdict(numbers: Numbers) -> Content:
    """Every promise with what was asked and reached."""
    said, promises = numbers["verdict"], numbers["report"]["asked"]["promises"]
    rows = []
    for at, model in enumerate(said["models"]):
        sentence = promises[at] if at < len(promises) else model["name"]
        key = f"verdict.models.{at}"
        rows.append(
            [
                [el("strong", _called(model)), el("br"), words.typeset(sentence)],
                cell(f"{key}.asked", model["asked"], plain(model["asked"])),
                cell(f"{key}.reached", model["reached"], plain(model["reached"])),
                el("td", "met" if model["holds"] else "NOT met", class_="met" if model["holds"] else "not-met",
                   data_key=f"{key}.holds", data_value=str(model["holds"])),
                words.CHECKED_FROM.get(model["checked_from"], model["checked_from"]),
            ]
        )  # fmt: skip
    notes = [*said.get("problems", ()), *said.get("notes", ())]
    return [
        el("p", f"{words.verdict_in_words(numbers)} “Reached” is the value of the least safe group. A threshold counts "
                "as the fraction that was written, and equality passes."),
        table(["Promise", "Asked", "Reached", "Verdict", "Counted from"], rows, numeric=(1, 2)),
        el("ul", [el("li", words.typeset(note)) for note in notes]) if notes else None,
    ]  # fmt: skip


def _called(model: Mapping[str, Any]) -> str:
    """A model by its name, and the column that it is about, where it names one."""
    return f"{model['name']} of ‘{model['column']}’" if model.get("column") else str(model["name"])
