"""TOML to Policy: every fault of a file in one message, each with its place."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, ValidationError, model_validator

from shoal.errors import ParameterError, PolicyError, SchemaError, did_you_mean
from shoal.models import MODELS, Model
from shoal.parts import Part, options_of
from shoal.policy.decision import Decision
from shoal.policy.mend import MendChoices
from shoal.policy.policy import (
    DEFAULT_MASK,
    DEFAULT_METHOD,
    BudgetChoices,
    Choices,
    ColumnChoices,
    CountChoices,
    HistoryChoices,
    KnowledgeChoices,
    Known,
    LedgerChoices,
    Option,
    Policy,
    PopulationChoices,
    Share,
    SourceChoices,
    TableChoices,
    UsefulnessChoices,
    refuse_unknown_target,
)
from shoal.registry import Registry

Document = Mapping[str, Any]


class _Named(BaseModel):
    """The table of a method or a mask: its name, and options that the pipeline checks."""

    model_config = ConfigDict(extra="allow", frozen=True)
    name: str | None = None


class _Mask(_Named):
    """The table of the mask, with what is asked of a release in which no groups are visible."""

    max_linkage: Share | None = None

    @model_validator(mode="before")
    @classmethod
    def _without_dashes(cls, given: Any) -> Any:
        return {key.replace("-", "_"): value for key, value in given.items()} if isinstance(given, Mapping) else given


class _File(Choices):
    """A policy file but for its models, which are made one by one."""

    columns: ColumnChoices
    source: SourceChoices = SourceChoices()
    mend: MendChoices = MendChoices()
    method: _Named = _Named()
    mask: _Mask = _Mask()
    budget: BudgetChoices = BudgetChoices()
    knowledge: KnowledgeChoices | None = None
    tables: dict[str, TableChoices] = Field(default_factory=dict)
    ledger: LedgerChoices | None = None
    history: HistoryChoices = HistoryChoices()
    usefulness: UsefulnessChoices | None = None
    counts: CountChoices | None = None
    population: PopulationChoices | None = None
    decision: Decision | None = None
    preset: str | None = None
    seed: StrictInt | None = None
    safe_cells: StrictBool = False
    column_labels: StrictBool = False


def read_document(path: str | Path) -> dict[str, Any]:
    """What a TOML file holds, as nested dicts; decimals stay exact."""
    path = Path(path)
    name = f"'{path.name}'"
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise PolicyError(f"There is no policy file '{path}'. Check the name and the folder.") from None
    except OSError as error:
        raise PolicyError(f"The policy file '{path}' cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise PolicyError(f"The policy file {name} is not encoded in UTF-8. Save it as UTF-8.") from None
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except (tomllib.TOMLDecodeError, ArithmeticError, RecursionError) as error:
        raise PolicyError(f"The policy file {name} is not valid TOML: {error}.") from None


def policy_from_document(document: Document, *, name: str = "The policy", known: Known | None = None) -> Policy:
    """A policy from nested dicts.

    Parameters
    ----------
    known
        The methods and masks that there are, by "method" and "mask", where they are to be checked too.

    Raises
    ------
    PolicyError
        Lists every fault with the place of each: unknown and missing keys, wrong types, thresholds out of range.
    """
    faults: list[str] = []
    models = _models(document.get("models", {}), faults)
    rest = {key: value for key, value in document.items() if key != "models"}
    file = None
    try:
        file = _File.model_validate(rest)
    except ValidationError as error:
        faults = [*_said(error), *faults]
    if file is not None and file.usefulness is not None:
        try:
            refuse_unknown_target(file.usefulness.target, file.columns.asked_about)
        except SchemaError as error:
            faults.append("usefulness.target: " + str(error).replace("\n", " "))
    for table, parts in (known or {}).items():
        chosen = None if file is None else {"method": file.method, "mask": file.mask}[table]
        faults += _of_part(chosen, table, parts)
    if file is not None and file.preset is not None:
        models += _of_preset(file.preset, models, faults)
    if faults or file is None:
        listed = "\n".join(f"  {fault}" for fault in faults)
        raise PolicyError(f"{name} has {'a fault' if len(faults) == 1 else f'{len(faults)} faults'}:\n{listed}")
    return Policy(
        columns=file.columns,
        models=tuple(models),
        method=file.method.name or DEFAULT_METHOD,
        method_options=_options(file.method),
        mask=file.mask.name or DEFAULT_MASK,
        mask_options=_options(file.mask),
        max_linkage=file.mask.max_linkage,
        budget=file.budget,
        source=file.source,
        mend=file.mend,
        seed=file.seed,
        preset=file.preset,
        safe_cells=file.safe_cells,
        column_labels=file.column_labels,
        knowledge=None if file.knowledge is None else file.knowledge.knowledge(),
        tables=file.tables,
        ledger=file.ledger,
        history=file.history,
        usefulness=file.usefulness,
        counts=file.counts,
        population=file.population,
        decision=file.decision,
    )


def _options(named: _Named) -> dict[str, Option]:
    given = named.model_extra or {}
    return {
        name.replace("-", "_"): float(value) if isinstance(value, Decimal) else value for name, value in given.items()
    }


# Models


def _of_part(chosen: _Named | None, table: str, parts: Registry[Any]) -> Iterator[str]:
    """The faults of a method or a mask: that there is none of its name, or what is wrong with its options."""
    name = chosen.name if chosen is not None else None
    if chosen is None or name is None:
        return
    try:
        part: type[Part] | None = parts.get(name)
    except ParameterError as error:
        yield f"{table}.name: {error}"
        return
    if part is None:
        names = list(parts)
        yield f"{table}.name: there is no {table} '{name}'. Choose one of: {', '.join(names)}.{_hint(name, names)}"
        return
    for option, fault in part.faults(_options(chosen)).items():
        yield f"{table}{f'.{option}' if option else ''}: {fault}"


def _models(table: Any, faults: list[str]) -> list[Model]:
    if not isinstance(table, Mapping):
        faults.append("models: must be a table such as [models] with the line g-balance = 0.8.")
        return []
    models: list[Model] = []
    for name, value in table.items():
        for place, parameters in _each(f"models.{name}", value):
            try:
                if name not in MODELS:
                    known = ", ".join(MODELS)
                    faults.append(f"models.{name}: there is no such model. These are: {known}.{_hint(name, MODELS)}")
                    break
                models.append(make_model(name, parameters))
            except ParameterError as error:
                faults.append(f"{place}: {error}")
    return models


def models_of(table: Any) -> list[Model]:
    """The models of a table [models]; a PolicyError lists its faults."""
    faults: list[str] = []
    models = _models(table, faults)
    if faults:
        raise PolicyError("\n".join(faults))
    return models


def _of_preset(name: str, models: list[Model], faults: list[str]) -> list[Model]:
    """The models of a preset that the policy does not name itself; one that asks for less is a fault."""
    from shoal.policy.presets import missing_models, preset_called, weaker_than

    try:
        preset = preset_called(name)
    except ParameterError as error:
        faults.append(f"preset: {error}")
        return []
    faults += weaker_than(preset, models)
    return [make_model(model, asked) for model, asked in missing_models(preset, models).items()]


def _each(place: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The models of one name: one, or a list of them."""
    if isinstance(value, list | tuple):
        yield from ((f"{place}[{position}]", each) for position, each in enumerate(value, start=1))
    else:
        yield place, value


def make_model(name: str, value: Any) -> Model:
    """A model from what a policy says of it: its threshold, or a table of its parameters.

    A parameter that the model stands for by an equation (`g-balance = { k = 5 }`) is turned into its own.

    Examples
    --------
    >>> make_model("h-affiliation", {"l": 4, "column": "disease"})
    HAffiliation(h=Fraction(1, 4), column='disease')
    """
    model = MODELS[name]
    make: Callable[..., Model] = model
    known = [each.name for each in options_of(model)]
    needed = [each.name for each in options_of(model) if each.is_needed]
    given = {model.threshold(): value} if not isinstance(value, Mapping) else dict(value)
    given = {parameter: _plain(each) for parameter, each in given.items()}
    stand_ins = [parameter for parameter in given if parameter not in known and parameter in model.stand_ins]
    if len(stand_ins) == 1 and not set(needed) & given.keys():
        (parameter,) = needed = stand_ins
        make = partial(model.by_stand_in, parameter, given[parameter])
        known = [parameter, *(other for other in known if other == "column")]
    strangers = [parameter for parameter in given if parameter not in known]
    absent = [parameter for parameter in needed if parameter not in given]
    if strangers:
        raise ParameterError(
            f"{name} has no parameter {_listed(strangers)} here. It takes: {', '.join(known)}."
            f"{_hint(strangers[0], known)}"
        )
    if absent:
        form = ", ".join(f"{parameter} = ..." for parameter in needed)
        raise ParameterError(f"{name} needs {_listed(absent)}. Write it as {name} = {{ {form} }}.")
    return make(**{key: each for key, each in given.items() if key not in stand_ins})


def _plain(value: Any) -> Any:
    """A decimal as a whole number where it is one, else as its text, which models take exactly."""
    if not isinstance(value, Decimal):
        return value
    is_whole = value.is_finite() and value.adjusted() < 18 and value == value.to_integral_value()
    return int(value) if is_whole else str(value)


# Faults in words


def _said(error: ValidationError) -> Iterator[str]:
    for fault in error.errors(include_url=False, include_input=False):
        place = _place(fault["loc"])
        if fault["type"] == "extra_forbidden":
            known = _keys_beside(fault["loc"])
            told = f"there is no such key. Known here: {', '.join(known)}.{_hint(str(fault['loc'][-1]), known)}"
        elif fault["type"] == "missing":
            told = "this is needed."
            if fault["loc"][-1] in ("columns", "quasi"):
                told += " Name the quasi-identifiers: what an adversary may know of a person."
        else:
            told = _in_our_words(fault["type"], fault.get("ctx", {})) or fault["msg"].removeprefix("Value error, ")
            told = told if told.endswith((".", "?")) else f"{told}."
        yield f"{place}: {told}" if place else told


def _in_our_words(fault: str, context: Mapping[str, Any]) -> str | None:
    """What pydantic calls a tuple is a list to whoever writes a policy."""
    words = {
        "tuple_type": 'must be a list such as ["age", "zip"]',
        "dict_type": "must be a table",
        "model_type": "must be a table",
        "string_type": "must be a text in quotes",
        "int_type": "must be a whole number",
        "bool_type": "must be true or false",
        "literal_error": "must be {expected}",
        "greater_than_equal": "must be at least {ge}",
        "string_too_long": "must have at most {max_length} characters",
    }
    return words[fault].format(**context) if fault in words else None


def _place(location: tuple[int | str, ...]) -> str:
    """columns.quasi[2].kind: keys by dots, positions counted from 1."""
    place = ""
    for part in location:
        place += f"[{part + 1}]" if isinstance(part, int) else f".{part}"
    return place.removeprefix(".")


def _keys_beside(location: tuple[int | str, ...]) -> list[str]:
    """The keys that the table at this place knows."""
    shape: Any = _File
    for part in location[:-1]:
        if isinstance(part, str) and part in shape.model_fields:
            shape = _shape_in(shape.model_fields[part].annotation) or shape
    keys = list(shape.model_fields)
    return [*keys, "models"] if shape is _File else keys


def _shape_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (_shape_in(argument) for argument in getattr(annotation, "__args__", ()))
    return next((shape for shape in inner if shape is not None), None)


def _hint(name: str, known: Any) -> str:
    return did_you_mean(name, known).replace("\n", " ")


def _listed(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
