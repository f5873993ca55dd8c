"""The codebook as a Frictionless Data package: a descriptor that other tools read without knowing shoal.

What it says is what the codebook says: names, types, roles and forms of columns, how files are written, their sizes and
hashes. Nothing of single persons, no extremes, no values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PROFILE = "tabular-data-package"
TYPE_OF_FORM = {"sequence": "integer", "group": "integer"}
OF_NUMBERS = ("mean", "noise")
MEDIA_TYPES = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}


def data_package(book: Mapping[str, Any]) -> dict[str, Any]:
    """The descriptor of a release whose codebook lists its files."""
    resources = [_resource(book, file) for file in book["files"] if _is_data(file["path"])]
    return {
        "profile": PROFILE if "delimiter" in book else "data-package",
        "name": "release",
        "title": "A release protected with shoal",
        "description": "Masked person-level data. The forms of cells are described in codebook.json and codebook.html.",
        "resources": resources,
    }


def _is_data(path: str) -> bool:
    return path.split("/")[0].startswith("release")


def _resource(book: Mapping[str, Any], file: Mapping[str, Any]) -> dict[str, Any]:
    path = str(file["path"])
    ending = path.rsplit(".", 1)[-1]
    resource: dict[str, Any] = {
        "name": path.replace("/", "-").rsplit(".", 1)[0].lower(),
        "path": path,
        "format": ending,
        "bytes": file["bytes"],
        "hash": f"sha256:{file['sha256']}",
    }
    if ending in MEDIA_TYPES:
        resource["mediatype"] = MEDIA_TYPES[ending]
    if "delimiter" in book:
        resource |= {
            "profile": "tabular-data-resource",
            "encoding": book["encoding"],
            "dialect": {"delimiter": book["delimiter"], "quoteChar": '"', "doubleQuote": True, "header": True},
        }
    entries = _columns_of(book, path)
    if entries is not None:
        resource["schema"] = {"fields": [_field(entry) for entry in entries], "missingValues": [""]}
    return resource


def _columns_of(book: Mapping[str, Any], path: str) -> list[Mapping[str, Any]] | None:
    """The columns of a file; of the sensitive tables of an anatomized release their names alone are known."""
    first = path.split("/")[0]
    if "star" in book:
        return next((list(table["columns"]) for table in book["star"].values() if table["file"] == first), None)
    beside = {table["file"]: table["columns"] for table in book.get("tables", ())}
    if first in beside:
        return [{"name": name} for name in beside[first]]
    return list(book["columns"])


def _field(entry: Mapping[str, Any]) -> dict[str, Any]:
    form, kind = entry.get("form"), entry.get("kind")
    of_form = "number" if form in OF_NUMBERS and kind == "number" else TYPE_OF_FORM.get(str(form), "string")
    field: dict[str, Any] = {"name": entry["name"], "type": "any" if form in ("value", None, "shifted") else of_form}
    if "label" in entry:
        field["title"] = entry["label"]
    if "shown_as" in entry:
        field["description"] = f"{entry['role']}; published as: {entry['shown_as']}"
    return field
