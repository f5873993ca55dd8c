"""The page that may leave with the data: what was promised and measured, nothing of single groups or persons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.judging.alone import is_about_alone
from shoal.publishing.report import words
from shoal.publishing.report.markup import Content, el
from shoal.publishing.report.numbers import count, plain, share
from shoal.publishing.report.page import page, table

Numbers = Mapping[str, Any]
FEWEST_TOLD = 10
"""Fewer persons left out than this are not counted out."""

MEASURED = (
    ("max_gidr", "Record risk, highest: the largest share of a group’s records that is one person’s"),
    ("avg_gidr", "Record risk, mean over groups"),
    ("max_gsar", "Value risk of {}, highest: the largest share of a group’s persons with one value"),
    ("avg_gsar", "Value risk of {}, mean over groups"),
)


def render_summary(numbers: Numbers, manifest: Numbers, codebook: Numbers) -> str:
    """The whole page.

    Parameters
    ----------
    numbers, manifest
        What `steward/report.json` and `steward/manifest.json` hold; little of it is told.
    codebook
        What `codebook.json` holds.

    Notes
    -----
    Neither the table as it was, nor columns that were dropped, nor the seed, names and hashes of inputs, nor single
    groups and what only the steward knows of them are on it.
    """
    promises = numbers["report"]["asked"]["promises"]
    kept = [
        [words.typeset(sentence), plain(model["asked"]), "met" if model["holds"] else "NOT met"]
        for sentence, model in zip(promises, numbers["verdict"]["models"], strict=True)
    ]
    body: list[Content] = [
        el("p", "Data release", class_="kicker"),
        el("h1", "What this release promises"),
        el("p", f"{_how_many(numbers)} of {words.persons(numbers['persons'])}, published on "
                f"{str(manifest.get('finished', ''))[:10]}, protected with shoal.",
           class_="lead"),
        el("h2", "Promised"),
        el("p", "A group is the persons whom the release shows alike. Each promise holds for every group; it was "
                "counted before the release was written."),
        table(["Promise", "Threshold", "Verdict"], kept, numeric=(1,)),
        [el("p", words.typeset(note)) for note in numbers["verdict"].get("notes", ()) if not is_about_alone(note)],
        el("h2", "Measured"),
        table(["", "Value"], _measured(numbers), numeric=(1,)),
        [el("p", sentence) for sentence in _left_out(numbers)],
        el("h2", "Attacked"),
        _attacked(numbers),
        el("h2", "The columns"),
        table(["Column", "Role", "Published as"], _columns(codebook)),
        el("h2", "Not promised"),
        el("p", words.not_promised(numbers)),
        _outside(numbers),
        el("p", "Whoever uses this release must not try to find persons in it."),
    ]  # fmt: skip
    return page("What this release promises", body)


def _how_many(numbers: Numbers) -> str:
    """How many records there are; of related tables each has its own."""
    tables = numbers.get("tables")
    if not isinstance(tables, Mapping):
        return f"{count(numbers['records'])} records"
    return "Related tables (" + ", ".join(f"{name}: {count(rows)} rows" for name, rows in tables.items()) + ")"


def _measured(numbers: Numbers) -> Sequence[Sequence[Content]]:
    rows: list[list[Content]] = []
    if words.is_perturbed(numbers):
        if numbers.get("linkage"):
            rows.append(["Persons whose exact numbers lead to them, as closest or second closest",
                         share(numbers["linkage"]["rate"], 1)])  # fmt: skip
    else:
        rows.append(["Groups", count(numbers["groups"])])
        rows.append(["Fewest persons of a group", count(numbers["person_k"])])
        for key, label in MEASURED:
            values = numbers.get(key)
            if isinstance(values, Mapping):
                rows += [[label.format(f"‘{name}’"), share(value, 1)] for name, value in values.items()]
            elif values is not None:
                rows.append([label, share(values, 1)])
    if numbers.get("loss") is not None:
        rows.append(["Lost in what is shown, on average over columns (0 % nothing, 100 % everything)",
                     share(numbers["loss"], 1)])  # fmt: skip
        rows += [[f"Lost of ‘{name}’", share(value, 1)] for name, value in numbers["loss_of_column"].items()]
    return rows


def _attacked(numbers: Numbers) -> Content:
    """Of each attack that was tried with the original at hand, the way that is furthest above blind guessing."""
    strongest: dict[str, Numbers] = {}
    for result in (numbers["report"].get("suite") or {}).get("attacks") or ():
        best = strongest.get(result["attack"], result)
        strongest[result["attack"]] = max(best, result, key=lambda each: each["success"] - each["blind"])
    if not strongest:
        return el("p", "No attack was tried with the original at hand.")
    rows: list[list[Content]] = [
        [[words.typeset(each["knows"]), " ", el("span", f"Right where {words.typeset(each['aim'])}.", class_="soft")],
         share(each["success"], 1), share(each["blind"], 1)]
        for each in strongest.values()
    ]  # fmt: skip
    said = "Before the release was written it was attacked by somebody who is taken to know this of a person."
    return [el("p", said), table(["The attacker knows", "Right for", "Blind guessing"], rows, numeric=(1, 2))]


def _outside(numbers: Numbers) -> Content:
    told = words.about_outside(numbers)
    return [el("p", "Outside every promise:"), el("ul", [el("li", f"{each}.") for each in told])] if told else []


def _left_out(numbers: Numbers) -> list[str]:
    suppressed = numbers.get("suppressed_persons") or 0
    if not suppressed:
        return []
    many = f"fewer than {FEWEST_TOLD}" if suppressed < FEWEST_TOLD else count(suppressed)
    return [f"So that the others can be protected, {many} persons were left out."]


def _named(codebook: Numbers) -> list[tuple[str, Numbers]]:
    """The columns of a codebook with their names; of related tables with the table before them."""
    if "star" not in codebook:
        return [(str(column["name"]), column) for column in codebook["columns"]]
    tables = codebook["star"].items()
    return [(f"{name}.{column['name']}", column) for name, table in tables for column in table["columns"]]


def _columns(codebook: Numbers) -> list[list[Content]]:
    roles = {"quasi": "quasi-identifier", "sensitive": "sensitive attribute"}
    rows: list[list[Content]] = [
        [name, roles.get(column["role"], column["role"]), words.typeset(column["shown_as"])]
        for name, column in _named(codebook)
    ]
    rows += [
        [entry["attribute"], roles["sensitive"], f"counted by group, in {entry['file']}"]
        for entry in codebook.get("tables", ())
    ]
    return rows
