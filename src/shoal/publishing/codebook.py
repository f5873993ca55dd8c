"""The codebook: what a reader of a release must know of its files, and all that a recount of its promises needs.

It leaves with the release and holds nothing of single persons: no domains, no extremes, no names of dropped columns.
The same file is written by every engine, and read back by `promised` where nobody has the policy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import InputError
from shoal.masking.times import how_times_are_shown
from shoal.publishing.json_file import write_json
from shoal.publishing.manifest import describe_file, differences_of, files_in, listed_paths
from shoal.table.own_columns import GROUP, PERSONS

if TYPE_CHECKING:
    from shoal.judging.alone import AloneLimit
    from shoal.judging.verdict import Verdict
    from shoal.masking import Mask
    from shoal.models.contract import Model
    from shoal.policy import Policy
    from shoal.table.schema import Schema
CODEBOOK = "codebook.json"
CODEBOOK_PAGE = "codebook.html"
DATA_PACKAGE = "datapackage.json"
CODEBOOKS = (CODEBOOK, CODEBOOK_PAGE, DATA_PACKAGE)
"""The codebook in its three forms: for programs that know shoal, for people, and for programs that do not."""
ALONE = "alone"
"""The key of how many persons may be alone in their group by what else leaves."""

FORMAT_VERSION = 1
"""Raised where a reader of an earlier version would misunderstand; keys may be added without it."""

GRAMMAR = {
    "value": "the value as it was",
    "hidden": "the value as it was, or a node of its hierarchy above it; *: hidden",
    "range": "LOW-HIGH, or LOW to HIGH where an end is no number or holds a dash; one value where both ends are equal; "
    "HIGH or less, at least LOW: the other end is hidden; *: any value; ' or missing' behind it: some records of the "
    'group have none; an empty cell: none has one; "A": the category A in quotes, in which two stand for one, where it '
    "could be read otherwise (it holds ' to ', begins with a quote, or looks like one of the above)",
    "set": "{A, B, C}; one value where the group has one only; *: any value; the name missing: some records of the "
    'group have none; an empty cell: none has one; "A": the value A in quotes, in which two stand for one, where it '
    "could be read otherwise (it holds ', ', begins with a quote, has braces around it, or is called missing or *)",
    "node": "a value, or the lowest node of a hierarchy above all values of the group; {A, B}: any value below one of "
    "these nodes; ' or missing' behind it: some records of the group have none; an empty cell: none has one",
    "agreed": "the value that all records of the group have, in quotes where it could be read otherwise, as in "
    "ranges and sets; *: they differ; an empty cell: none has one",
    "mean": "the mean of the group, or its most frequent value; an empty cell: none has one",
    "noise": "the mean of the group and noise, or its most frequent value",
    "changed": "one value, which need not be the person's own: it was changed at random, for each person alike in all "
    "of their records; an empty cell: there is none",
    "label": "what a mask of the publisher's own shows of the group",
    "pseudonym": "a random text, new for this release, the same in all records of a person",
    "episode": "a random text, new for this release, the same in all records of one episode of a person, who may have "
    "several",
    "sequence": "1, 2, 3, ...: the person's own first, second, ... time",
    "shifted": "a date, moved by the same random number of days in all records of a person",
    "permuted": "a value of another record of the group, or of this one",
    "group": "a random number that the rows of a group share",
    "key": "a random text, new for this release; equal texts of two tables belong together",
}
"""How a cell of each form is read."""

HOW_SHOWN = {
    "value": "unchanged",
    "hidden": "the value, a coarser one, or '*', such that nobody is found by their own records",
    "range": "the range of values of a group",
    "set": "the set of values of a group; '*' where every category is covered",
    "node": "the lowest node of the column's hierarchy that covers a group; where that hides nearly everything, a few "
    "nodes below it",
    "agreed": "the value where a whole group has it, else '*'",
    "mean": "the mean of a group; of categories the most frequent one",
    "noise": "the mean of a group and noise; of categories the most frequent one of a group",
    "changed": "changed at random, person by person",
    "label": "a label of a group",
    "pseudonym": "a random pseudonym, new for this release",
    "episode": "a random pseudonym per episode of a person, new for this release; a person may have several",
    "permuted": "permuted inside the group, apart from the other attributes",
    "group": "a random number that the rows of a group share",
    "key": "a random pseudonym, new for this release",
}
OWN_RANGE = "the person's own value, or the range or set of their values"


def codebook_of(
    schema: Schema,
    mask: Mask,
    models: Sequence[Model],
    verdict: Verdict,
    *,
    columns: Sequence[str],
    kinds: Mapping[str, str],
    format: str,
    tables: Mapping[str, Sequence[str]] | None = None,
    more: Mapping[str, Mapping[str, Any]] | None = None,
    limit: AloneLimit,
) -> dict[str, Any]:
    """The codebook of a published table.

    Parameters
    ----------
    columns
        Those of the published table, in their order.
    kinds
        The kind of each quasi-identifier.
    format, tables
        The format of the files, and the columns of sensitive tables that are published beside it, by attribute.
    more
        What is said besides of columns, by name: labels.
    limit
        How many persons may be alone in their group by what else leaves.
    """
    of_persons = any(PERSONS in own for own in (tables or {}).values())
    hidden = hidden_columns(models, schema)
    entries = [
        {
            **_entry(name, schema, mask, kinds, of_persons=of_persons),
            **({"form": "hidden", "shown_as": HOW_SHOWN["hidden"]} if name in hidden else {}),
            **_coded_in(name, schema),
            **(more or {}).get(name, {}),
        }
        for name in columns
    ]
    book: dict[str, Any] = {"made_by": "shoal", "format_version": FORMAT_VERSION, "mask": mask.name}
    if schema.person is not None:
        book |= {"person": schema.person, "person_ids": schema.person_ids}
    book |= {"columns": entries, "models": models_in(models, verdict), "spelling": schema.spellings}
    if schema.missing_tells_nothing:
        book["missing_tells_nothing"] = list(schema.missing_tells_nothing)
    book |= limit_in(limit.max_alone, limit.allow_alone)
    if tables:
        files = files_of_tables(tables, format)
        book["tables"] = [
            {"file": files[name], "attribute": name, "columns": list(own)} for name, own in tables.items()
        ]
    return book | {"grammar": grammar_of(entries)}


def _coded_in(name: str, schema: Schema) -> dict[str, Any]:
    """How the values of a column were coded before they were masked, for programs and for people."""
    coding = schema.codings.get(name)
    return {} if coding is None else {"coded": coding.to_dict(), "coded_as": coding.words()}


def hidden_columns(models: Iterable[Model], schema: Schema) -> set[str]:
    """The columns of which values may be hidden, so that nobody is found by their own records."""
    asked = [each for model in models if (each := model.of_histories) is not None and not each.of_counts]
    return {name for each in asked for name in each.columns or schema.sensitive if name in schema.sensitive}


def limit_in(max_alone: int | None, allow_alone: bool) -> dict[str, Any]:
    """What a codebook says of how many persons may be alone by what else leaves, where that is not the usual."""
    most = {} if max_alone is None else {"max_alone": max_alone}
    return {ALONE: {**most, "allow_alone": allow_alone}} if most or allow_alone else {}


def files_of_tables(attributes: Iterable[str], format: str) -> dict[str, str]:
    """The file of each sensitive table of an anatomized release."""
    names: dict[str, str] = {}
    for number, column in enumerate(attributes, start=1):
        plain = re.sub(r"[^A-Za-z0-9_.]+", "-", column).strip("-.").lower() or str(number)
        names[column] = f"release-{plain}.{format}"
        while list(names.values()).count(names[column]) > 1:
            plain += f"-{number}"
            names[column] = f"release-{plain}.{format}"
    return names


def _entry(name: str, schema: Schema, mask: Mask, kinds: Mapping[str, str], *, of_persons: bool) -> dict[str, Any]:
    """What is said of a column: its role, its kind, and how it is shown, for programs and for people."""
    role = {GROUP: "group", **dict(schema.roles())}[name]
    if role != "quasi":
        form = _form_of_role(role, schema, mask)
        if role == "time":
            told: dict[str, Any] = {"shown_as": how_times_are_shown(schema), "time_of_day": schema.time_of_day}
            told |= {} if schema.gap_days is None else {"round_gaps": schema.gap_days}
            return {"name": name, "role": role, "form": form, **told}
        shown = HOW_SHOWN[form] + ("; a missing one tells nothing" if name in schema.missing_tells_nothing else "")
        return {"name": name, "role": role, "form": form, "shown_as": shown}
    has_hierarchy = any(column.name == name and column.hierarchy is not None for column in schema.columns)
    form = "set" if kinds[name] == "nominal" else "range"
    shown_as = None
    if mask.shows_identities and not of_persons:
        form = "value"
    elif mask.shows_identities:
        shown_as = OWN_RANGE
    elif mask.form != "generalized":
        form = mask.form
    elif has_hierarchy:
        form = "node"
    return {"name": name, "role": role, "kind": kinds[name], "form": form, "shown_as": shown_as or HOW_SHOWN[form]}


def _form_of_role(role: str, schema: Schema, mask: Mask) -> str:
    if role == "time":
        return "shifted" if schema.time_as == "shift" else "sequence"
    if role == "sensitive":
        return "value" if mask.links_values else "permuted"
    if role == "person":
        return "episode" if schema.has_episodes else "pseudonym"
    return "group" if role == "group" else "value"


def grammar_of(entries: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """How cells of the forms that columns have are read."""
    return {form: GRAMMAR[form] for form in dict.fromkeys(entry["form"] for entry in entries)}


def models_in(models: Sequence[Model], verdict: Verdict) -> list[dict[str, Any]]:
    """What a release promises: each model with all its parameters, exactly, and whether it holds."""
    return [
        {"name": judged.name, "asked": judged.asked, "holds": judged.holds, "parameters": _parameters(model)}
        for model, judged in zip(models, verdict.models[: len(models)], strict=True)  # behind them: a limit on linkage
    ]


def _parameters(model: Model) -> dict[str, Any]:
    """The parameters of a model; numbers with decimals as texts, since JSON's are not exact."""
    from shoal.policy.numbers import as_number

    given = {name: as_number(value) for name, value in model.settings().items()}
    return {name: str(value) if isinstance(value, Decimal) else value for name, value in given.items()}


def read_codebook(folder: Path) -> dict[str, Any] | None:
    """The codebook of a folder; None where there is none."""
    try:
        book = json.loads((folder / CODEBOOK).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError):
        raise InputError(f"'{folder / CODEBOOK}' cannot be read as JSON.") from None
    if not isinstance(book, dict) or book.get("made_by") != "shoal":
        raise InputError(f"'{folder / CODEBOOK}' is not a codebook of shoal's.")
    return book


def promised(book: Mapping[str, Any]) -> Policy:
    """The roles, the mask and the models that a codebook names, as a policy to verify a release by.

    Raises
    ------
    InputError
        The codebook is of another version, or does not tell them.
    PolicyError
        What it tells is no schema, or no models.
    """
    from shoal.policy import Policy

    version = book.get("format_version")
    if version != FORMAT_VERSION:
        which = "an earlier" if version is None else "another"
        raise InputError(
            f"The codebook is of {which} version (format_version {version}, not {FORMAT_VERSION}) and does not tell "
            "all that was promised. Name columns and models by flags, or by a policy file."
        )
    try:
        return Policy.from_document(_document(book), name=f"'{CODEBOOK}'")
    except (KeyError, TypeError, AttributeError):
        raise InputError(
            f"'{CODEBOOK}' does not tell the roles of columns and the models that were promised."
        ) from None


def _document(book: Mapping[str, Any]) -> dict[str, Any]:
    """What a policy file would say."""
    named = _columns_in(book)
    of_role = {
        role: [name for name, entry in named.items() if entry["role"] == role] for role in ("sensitive", "kept", "time")
    }
    of_role["sensitive"] += [
        entry["attribute"] for entry in book.get("tables", []) if entry["attribute"] not in of_role["sensitive"]
    ]
    columns: dict[str, Any] = {
        "quasi": [{"name": name, "kind": entry["kind"]} for name, entry in named.items() if entry["role"] == "quasi"],
        "sensitive": of_role["sensitive"],
        "kept": of_role["kept"],
    }
    if "person" in book:
        columns |= {"person": book["person"], "person_ids": book["person_ids"]}
    columns["spelling"] = book["spelling"]
    columns["coded"] = {name: entry["coded"] for name, entry in named.items() if "coded" in entry}
    columns["missing_tells_nothing"] = book.get("missing_tells_nothing", [])
    for name in of_role["time"]:
        time_as = "shift" if named[name]["form"] == "shifted" else "sequence"
        columns |= {"time": name, "time_as": time_as, "time_of_day": named[name]["time_of_day"]}
        columns |= {"round_gaps": named[name]["round_gaps"]} if "round_gaps" in named[name] else {}
    models: dict[str, list[Any]] = {}
    for model in book["models"]:
        models.setdefault(model["name"], []).append(dict(model["parameters"]))
    source = {key: book[key] for key in ("delimiter", "encoding") if key in book}
    budget = book.get(ALONE, {})
    return {"columns": columns, "models": models, "mask": {"name": book["mask"]}, "source": source, "budget": budget}


def _columns_in(book: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The columns by name; of related tables by the names that they have when joined."""
    tables = book["star"].values() if "star" in book else [book]
    entries = [entry for table in tables for entry in table["columns"] if entry["role"] not in ("key", "person")]
    return {entry.get("joined_as", entry["name"]): entry for entry in entries if entry["role"] != "group"}


def write_codebook(book: Mapping[str, Any], folder: Path) -> None:
    """Write the codebook of a folder that holds the published files already: for programs, as a page, as a package."""
    from shoal.publishing.codebook_page import render_codebook
    from shoal.publishing.data_package import data_package

    told = with_files(book, folder)
    write_json(folder / CODEBOOK, told)
    (folder / CODEBOOK_PAGE).write_text(render_codebook(told), encoding="utf-8", newline="\n")
    write_json(folder / DATA_PACKAGE, data_package(told))


def with_files(book: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The codebook with sizes and hashes of the published files, which lie in the folder already."""
    published = [path for path in sorted(files_in(folder)) if not path.startswith("steward/") and path not in CODEBOOKS]
    return {**book, "files": [describe_file(folder, path) for path in published]}


def lists(book: Mapping[str, Any], file: Path) -> bool:
    """Whether a codebook lists a published file, or the parts of it."""
    return any(path.split("/")[0] == file.name for path in listed_paths(book))


def check_files(file: Path, book: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """What is not as the codebook beside a published file says of the files, and what to note where it cannot tell."""
    if lists(book, file):
        return differences_of(file.parent, book, named="codebook"), []
    return [], [f"'{file.name}' is no file that the codebook lists: nobody can tell here whether it was changed."]
