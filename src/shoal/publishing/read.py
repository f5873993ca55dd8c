"""Reading back what was published."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from shoal.attacking.mining.rules import Rules
from shoal.errors import InputError, ParameterError
from shoal.models import MODELS, Model
from shoal.publishing.cells import without_safe_cells
from shoal.publishing.codebook import CODEBOOK, lists
from shoal.reading import CsvOptions, Reading, format_of, read

LINKED = "steward/linked.parquet"
EXCLUDED = "steward/excluded.parquet"
SAMPLE = "steward/sample.parquet"
RULES = "steward/rules.json"


@dataclass(frozen=True)
class PublishedFiles:
    """The published table, the sensitive tables beside it, and what the steward keeps of them."""

    frame: pl.DataFrame
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    linked: pl.DataFrame | None = None
    excluded: pl.DataFrame | None = None
    """The values that the person of each published record cannot have by the rules."""
    rules: Rules | None = None
    """The rules that an adversary was taken to know."""
    sample: pl.DataFrame | None = None
    """How each published record was drawn from the population."""


def read_published(file: Path, *, csv: CsvOptions) -> PublishedFiles:
    """Read a published file and what belongs to it in its folder, by the codebook there."""
    frame = read_as_published(file, csv=csv).frame
    tables = {name: read_as_published(path, csv=csv).frame for name, path in _files_of_tables(file.parent).items()}
    kept = [file.parent / name for name in (LINKED, EXCLUDED, SAMPLE)]
    linked, excluded, sample = (read(_parts_of(path), csv=csv).frame if path.exists() else None for path in kept)
    rules = file.parent / RULES
    return PublishedFiles(frame, tables, linked, excluded, read_rules(rules) if rules.is_file() else None, sample)


def read_as_published(file: Path, *, csv: CsvOptions) -> Reading:
    """Read a published table, a file or a folder of parts, as its codebook says.

    By its delimiter and encoding, and without apostrophes that were put there.
    """
    told = _cells_in_codebook(file.parent) if format_of(file).runs_in_spreadsheets else {}
    delimiter = told.get("delimiter")
    if csv.delimiter is None and isinstance(delimiter, str) and len(delimiter) == 1:
        csv = replace(csv, delimiter=delimiter)
    encoding = told.get("encoding")
    if isinstance(encoding, str) and lists(told, file):
        csv = replace(csv, encoding=encoding)
    reading = read(_parts_of(file), csv=csv)
    return replace(reading, frame=without_safe_cells(reading.frame)) if told.get("safe_cells") else reading


def _parts_of(file: Path) -> list[Path]:
    """The part files of a table that Spark has written as a folder; of any other the file itself."""
    if not file.is_dir():
        return [file]
    parts = sorted(file.glob("part-*"))
    if not parts:
        raise InputError(f"The folder '{file}' holds no part files of a published table.")
    return parts


def _cells_in_codebook(folder: Path) -> dict[str, object]:
    try:
        book = json.loads((folder / CODEBOOK).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return book if isinstance(book, dict) else {}


def refuse_unreadable(models: Sequence[Model]) -> None:
    """Refuse to write models that `shoal verify` could not read back from the policy of the folder."""
    for model in models:
        own = type(model)
        if MODELS.get(model.name) is not own:
            raise ParameterError(
                f"The model '{model.name}' ({own.__module__}.{own.__qualname__}) is not registered: 'shoal verify' "
                "could not read it back, and nobody could check the release. Offer it in the package that has it, in "
                f'pyproject.toml under [project.entry-points."{MODELS.entry_points}"]: {model.name} = '
                f'"{own.__module__}:{own.__qualname__}"; or, for this process alone, put it into shoal.models.MODELS. '
                "Nothing was written."
            )
        if not _is_made_again(model):
            raise ParameterError(
                f"The model '{model.name}' cannot be made again from what a policy holds of it: a model is a dataclass "
                "that takes its parameters as numbers, texts or tables of them. Nothing was written."
            )


def _is_made_again(model: Model) -> bool:
    """Whether what a policy says of a model makes the same one."""
    from shoal.policy.load import make_model
    from shoal.policy.write import models_table

    written = models_table((model,))
    try:
        return models_table((make_model(model.name, written[model.name]),)) == written
    except (ParameterError, TypeError, ValueError):
        return False


def read_rules(file: Path) -> Rules:
    """Read rules from a JSON file, as `shoal mine --json` writes them or a release folder keeps them."""
    try:
        return Rules.from_json(file.read_bytes())
    except FileNotFoundError:
        raise InputError(f"There is no file of rules '{file}'. Check the name and the folder.") from None
    except OSError as error:
        raise InputError(f"The file of rules '{file}' cannot be read: {error.strerror}.") from None


def lies_in(folder: Path, name: str) -> bool:
    """Whether a name is that of a file in a folder, and not of one elsewhere by a path or a link."""
    try:
        return Path(name).name == name != ".." and (folder / name).resolve().parent == folder.resolve()
    except (ValueError, OSError):
        return False


def _files_of_tables(folder: Path) -> dict[str, Path]:
    """The sensitive tables that the codebook of a folder names."""
    codebook = folder / CODEBOOK
    if not codebook.is_file():
        return {}
    try:
        entries = json.loads(codebook.read_text(encoding="utf-8")).get("tables", [])
        named = {str(entry["attribute"]): str(entry["file"]) for entry in entries}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"'{CODEBOOK}' is not a codebook of shoal's, so the tables beside it are unknown.") from None
    outside = [name for name in named.values() if not lies_in(folder, name)]
    if outside:
        raise InputError(f"'{CODEBOOK}' names {len(outside)} files outside its folder.")
    return {column: folder / name for column, name in named.items()}
