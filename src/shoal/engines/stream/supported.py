"""What can be done with files that are larger than memory, and why the rest cannot."""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence

from shoal.errors import ParameterError
from shoal.grouping import METHODS, Method
from shoal.masking import MASKS, Mask
from shoal.models.contract import Model, listed
from shoal.models.counts import BACKGROUND, JOINT
from shoal.parts import Part
from shoal.reading import CsvOptions
from shoal.table.schema import Date as DateKind
from shoal.table.schema import Number, Ordered, Schema

ENGINE = "stream"
FORMATS = ("parquet", "csv")


def why_not_streamed(
    schema: Schema | None,
    models: Sequence[Model],
    method: Method,
    mask: Mask,
    *,
    formats: Sequence[str] = (),
    csv: CsvOptions | None = None,
    max_suppressed: int = 0,
    max_records: int | None = None,
    asked: Sequence[str] = (),
) -> list[str]:
    """Why a run needs the whole table in memory, in plain sentences; none where it does not.

    Parameters
    ----------
    formats
        The formats of the inputs and of the release.
    asked
        What else is asked for that needs the table, by name.
    """
    why = [*_method(method), *_mask(mask), *_models(models)]
    if schema is not None:
        why += _columns(schema)
    if max_suppressed or max_records is not None:
        why.append("A budget (max_suppressed, max_records) leaves out records of a table that is in memory.")
    others = sorted({format for format in formats if format not in FORMATS})
    if others:
        why.append(f"Files of {', '.join(others)} are read and written whole; Parquet and CSV are not.")
    if "csv" in formats and csv is not None:
        why += _csv(csv)
    return why + [f"{name} needs the whole table." for name in asked]


def refuse_models(models: Sequence[Model]) -> None:
    """Refuse models that are counted in memory only."""
    why = _models(models)
    if why:
        raise ParameterError(" ".join(why))


def _method(method: Method) -> list[str]:
    if ENGINE in method.engines:
        return method.why_not_on(ENGINE)
    return [f"The method {method.name} does not work on sums by person; {_offered(METHODS)} do."]


def _mask(mask: Mask) -> list[str]:
    if ENGINE in mask.engines:
        return mask.why_not_on(ENGINE)
    return [f"The mask {mask.name} is not made group by group; {_offered(MASKS)} are."]


def _offered(parts: Mapping[str, type[Part]]) -> str:
    return listed([name for name, part in parts.items() if ENGINE in part.engines])


def _models(models: Sequence[Model]) -> list[str]:
    together = [model.name for model in models if model.needs & (JOINT | BACKGROUND)]
    if not together:
        return []
    return [f"{', '.join(together)}: models of several attributes together, or of rules, are counted in memory."]


def _columns(schema: Schema) -> list[str]:
    why = []
    if not schema.links_records:
        why.append("person_ids = 'none': the person of every record is kept for the steward and counted in memory.")
    if schema.time is not None:
        why.append(f"The time column '{schema.time}' is published by the order of a person's records.")
    layered = [c.name for c in schema.columns if c.hierarchy is not None and isinstance(c, Number | Ordered | DateKind)]
    if layered:
        why.append(f"Hierarchies of numbers, dates and ordered columns ({', '.join(layered)}) list all their values.")
    return why


def _csv(options: CsvOptions) -> list[str]:
    why = []
    if codecs.lookup(options.encoding).name not in ("utf-8", "utf-8-sig", "ascii"):
        why.append(f"CSV files in {options.encoding} are decoded whole; those in UTF-8 are not.")
    return why
