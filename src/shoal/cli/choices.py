"""What the flags and the policy file say together, as one Policy; and the table that it is about."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from shoal.cli.options import ENGINES, dest_of_model_flag, part_flags
from shoal.errors import ParameterError

if TYPE_CHECKING:
    from shoal.models.contract import Flag, Model
    from shoal.policy import Policy
    from shoal.publishing.read import PublishedFiles
    from shoal.reading import CsvOptions, Reading
    from shoal.registry import Registry
    from shoal.table.schema import Schema
Flags = Mapping[str, Any]

SINGLE_FLAGS = (
    "person", "person_ids", "time", "time_as", "time_of_day", "shared_dates", "round_gaps", "zone", "missing", "weight",
    "household",
)  # fmt: skip
COLUMN_FLAGS = {
    "quasi": "quasi", "sensitive": "sensitive", "keep": "kept", "drop": "dropped", "confirm": "confirmed",
    "missing_tells_nothing": "missing_tells_nothing", "strata": "strata",
}  # fmt: skip

HISTORY_FLAGS = ("episode", "record_steps")
BUDGET_FLAGS = ("max_suppressed", "max_records", "sample", "max_alone", "allow_alone")


def chosen_policy(
    flags: Flags, *, default_file: Path | None = None, codebook: Mapping[str, Any] | None = None
) -> tuple[Policy, Path]:
    """The policy of the file with the flags laid over it, and the folder from which its files are named.

    Without a file it is what a codebook promises, if one is given.
    """
    from shoal.policy import Policy

    _refuse_columns_as_files(flags)
    given = flags.get("policy_file")
    file = Path(given) if given is not None else default_file
    known = _known_ways(flags)
    read = {table: names for table, names in known.items() if flags.get(table) is None}
    document: dict[str, Any] = {}
    name = None
    if file is not None:
        document, name = Policy.load(file, known=read).to_document(), file.name
    elif codebook is not None:
        from shoal.publishing.codebook import CODEBOOK, promised

        document, name = promised(codebook).to_document(), CODEBOOK
    folder = file.parent if file is not None else Path()
    lay_over(document, flags, folder)
    if name is not None:
        return Policy.from_document(document, name=f"'{name}' with the flags", known=known), folder
    if "quasi" not in document.get("columns", {}):
        raise click.UsageError(
            "Name the quasi-identifiers with --quasi (and --person, --sensitive), or a policy file with --policy. "
            "'shoal profile FILE' writes one to start from."
        )
    return Policy.from_document(document, known=known), folder


def _known_ways(flags: Flags) -> dict[Literal["method", "mask"], Registry[Any]]:
    """The methods and masks that there are, for commands that use them."""
    if "method" not in flags:
        return {}
    from shoal.grouping import METHODS
    from shoal.masking import MASKS

    return {"method": METHODS, "mask": MASKS}


def _refuse_columns_as_files(flags: Flags) -> None:
    """Refuse columns that a space parts from their flag, so that they stand among the files."""
    files = flags.get("files", ())
    absent = [file for file in files if not {".", "/", "\\"} & set(file) and not Path(file).exists()]
    if absent and len(files) > 1 and any(flags.get(flag) for flag in COLUMN_FLAGS):
        raise click.UsageError(
            f"There is no file '{absent[0]}'. Columns are separated by commas, without spaces: --quasi age,gender,zip"
        )


def lay_over(document: dict[str, Any], flags: Flags, folder: Path) -> None:
    """Put what the flags say in the place of what the document says."""
    _lay_columns(document, flags, folder)
    _lay_source(document, flags, folder)
    _lay_models(document, flags)
    _lay_named(document, "method", flags)
    _lay_named(document, "mask", flags)
    _lay_values(document, "mask", {"max_linkage": flags.get("max_linkage")})
    _lay_values(document, "budget", {key: flags.get(key) for key in BUDGET_FLAGS})
    _lay_values(document, "history", {key: flags.get(key) for key in HISTORY_FLAGS})
    _lay_ledger(document, flags, folder)
    _lay_usefulness(document, flags.get("useful_for"))
    _lay_counts(document, flags)
    _lay_population(document, flags, folder)
    if flags.get("seed") is not None:
        document["seed"] = flags["seed"]
    if flags.get("safe_cells"):
        document["safe_cells"] = True
    if flags.get("column_labels"):
        document["column_labels"] = True


def _lay_usefulness(document: dict[str, Any], target: str | None) -> None:
    """A column named by flag; the kind of another one is left behind with it."""
    before = document.get("usefulness", {})
    if target is not None and before.get("target") != target:
        document["usefulness"] = {**{key: value for key, value in before.items() if key != "kind"}, "target": target}


def _lay_counts(document: dict[str, Any], flags: Flags) -> None:
    """Noisy counts by flags, as the policy would ask for them."""
    of, epsilon = flags.get("counts"), flags.get("counts_epsilon")
    if of is None and epsilon is not None and "counts" not in document:
        raise click.UsageError("--counts-epsilon needs the tables that are counted: --counts 'sex;age:1+sex'.")
    if of is not None:
        document["counts"] = {"epsilon": 1.0, **document.get("counts", {})}
        document["counts"]["of"] = [part.strip() for part in of.split(";") if part.strip()]
    if epsilon is not None:
        document["counts"]["epsilon"] = epsilon


def _lay_population(document: dict[str, Any], flags: Flags, folder: Path) -> None:
    """A population named by flag, as the policy would name it; what is said of another one is left behind."""
    file = flags.get("population")
    beside = {key: flags.get(f"population_{key}") for key in ("table", "query")}
    named = [text.partition("=") for text in flags.get("population_columns") or ()]
    if not all(ours and theirs for ours, _, theirs in named):
        raise click.UsageError("--population-columns takes two names: --population-columns age=AGE_YEARS")
    columns = {ours: theirs for ours, _, theirs in named} or None
    if file is None and "population" not in document and (columns or any(beside.values())):
        raise click.UsageError("Flags of a population table, query or columns need the population: --population FILE.")
    if file is not None:
        document["population"] = {"file": file if "://" in file else _seen_from(folder, file)}
    _lay_values(document, "population", {**beside, "columns": columns})


def _lay_ledger(document: dict[str, Any], flags: Flags, folder: Path) -> None:
    """A ledger named by flag, as the policy would name it; the key of another is left behind with it."""
    files = {key: flags.get(flag) for key, flag in (("file", "ledger"), ("key", "ledger_key"))}
    if (
        flags.get("ledger") is None
        and "ledger" not in document
        and (flags.get("ledger_key") or flags.get("ledger_mode"))
    ):
        raise click.UsageError("--ledger-key and --ledger-mode are about a ledger: name it with --ledger.")
    if flags.get("ledger") is not None and "key" in document.get("ledger", {}):
        document["ledger"] = {key: value for key, value in document["ledger"].items() if key != "key"}
    given = {key: None if file is None else _seen_from(folder, file) for key, file in files.items()}
    _lay_values(document, "ledger", {**given, "mode": flags.get("ledger_mode")})


def _lay_values(document: dict[str, Any], table: str, values: Mapping[str, Any]) -> None:
    given = {key: value for key, value in values.items() if value is not None}
    if given:
        document[table] = {**document.get(table, {}), **given}


def _lay_columns(document: dict[str, Any], flags: Flags, folder: Path) -> None:
    lists = {key: list(flags[flag]) for flag, key in COLUMN_FLAGS.items() if flags.get(flag)}
    single = {key: flags.get(key) for key in SINGLE_FLAGS}
    laid = {"spelling": _spelling(document, flags), "coded": _codings(document, flags)}
    _lay_values(document, "columns", {**single, **lists, **laid})
    for text in flags.get("hierarchy") or ():
        column, is_given, file = text.partition("=")
        if not is_given or not column or not file:
            raise click.UsageError("--hierarchy takes a column and a file: --hierarchy zip=zip.csv")
        _lay_on_column(document, column, "hierarchy", _seen_from(folder, file))
    for text in flags.get("round") or ():
        column, is_of_column, step = text.rpartition("=")
        if is_of_column:
            _lay_on_column(document, column, "round", _step(step))
        elif text in ("auto", "off"):
            _lay_values(document, "columns", {"round": text})
        else:
            raise click.UsageError("--round takes auto, off, or a column and its step: --round age=5 --round born=year")


def _spelling(document: dict[str, Any], flags: Flags) -> dict[str, str] | None:
    """The spelling of columns by flag, over what the document says."""
    given = [text.rpartition("=") for text in flags.get("spelling") or ()]
    if not all(column and form for column, _, form in given):
        raise click.UsageError("--spelling takes a column and a form: --spelling disease=exact")
    known = document.get("columns", {}).get("spelling", {})
    return {**known, **{column: form for column, _, form in given}} if given else None


def _codings(document: dict[str, Any], flags: Flags) -> dict[str, dict[str, Any]] | None:
    """The codes of columns by flag, over what the document says."""
    given: dict[str, dict[str, Any]] = {}
    for key in ("top", "bottom", "rare"):
        for text in flags.get(key) or ():
            column, _, code = text.partition("=")
            if not column or not code:
                raise click.UsageError(f"--{key} takes a column and its code: --{key} age=k=5")
            given.setdefault(column, {})[key] = code if key == "rare" else _step(code)
    known = {name: dict(each) for name, each in document.get("columns", {}).get("coded", {}).items()}
    return {**known, **{name: {**known.get(name, {}), **each} for name, each in given.items()}} if given else None


def _step(text: str) -> Any:
    """A step as the policy would write it: a number, or a word."""
    from decimal import Decimal, InvalidOperation

    try:
        return Decimal(text)
    except InvalidOperation:
        return text


def _lay_on_column(document: dict[str, Any], column: str, key: str, value: Any) -> None:
    from shoal.table.schema import NAMED_KINDS

    quasi = list(document.get("columns", {}).get("quasi", []))
    for position, entry in enumerate(quasi):
        table = dict(entry) if isinstance(entry, Mapping) else {"name": entry}
        name, _, kind = table["name"].rpartition(":")
        if name and kind in NAMED_KINDS and not isinstance(entry, Mapping):
            table = {"name": name, "kind": kind}
        if table["name"] == column:
            quasi[position] = {**table, key: value}
            document["columns"] = {**document["columns"], "quasi": quasi}
            return
    if key == "hierarchy" and column in document.get("columns", {}).get("sensitive", ()):  # by which histories coarsen
        known = document.get("history", {})
        document["history"] = {**known, "hierarchies": {**known.get("hierarchies", {}), column: value}}
        return
    raise click.UsageError(f"--{key} names '{column}', which is not among the quasi-identifiers.")


def _seen_from(folder: Path, file: str) -> str:
    """A file given by flag, as the policy would name it from its own folder."""
    if Path(file).is_absolute() or folder == Path():
        return file
    return Path(os.path.relpath(file, folder)).as_posix()


def _lay_source(document: dict[str, Any], flags: Flags, folder: Path) -> None:
    values: dict[str, Any] = {key: flags.get(key) for key in ("delimiter", "encoding", "quote", "decimal", "thousands",
                                                             "header", "member", "labels", "sheet")}  # fmt: skip
    if values["delimiter"] in ("\\t", "tab"):
        values["delimiter"] = "\t"
    if flags.get("missing_text"):
        values["missing"] = list(dict.fromkeys(["", *flags["missing_text"]]))
    if flags.get("date_format"):
        values["date_format"] = _forms_of_dates(document, flags["date_format"])
    if flags.get("rename"):
        values["rename"] = _renamed(flags["rename"], flags.get("files", ()))
    if flags.get("join"):
        if not flags.get("on"):
            raise click.UsageError("--join needs the key: --join persons.csv --on patient_id")
        keys = [key.partition("=") for key in flags["on"]]
        values["join"] = {
            "person_file": _seen_from(folder, flags["join"]),
            "on": {record: person if is_given else record for record, is_given, person in keys},
        }
    elif flags.get("on"):
        raise click.UsageError("--on is the key of --join: name the person file with --join too.")
    _lay_values(document, "source", values)


def _forms_of_dates(document: dict[str, Any], texts: Sequence[str]) -> dict[str, str]:
    """Forms of dates by flag, for a column or for all, over what the document says."""
    known = document.get("source", {}).get("date_format", {})
    known = {"": known} if isinstance(known, str) else known
    given = [text.rpartition("=") for text in texts]
    return {**known, **{column: form for column, _, form in given}}


def _renamed(texts: Sequence[str], files: Sequence[str]) -> list[dict[str, str]]:
    """For each file the names that --rename gives: by the file as typed, or by its name alone."""
    renamed: list[dict[str, str]] = [{} for _ in files]
    for text in texts:
        left, is_given, new = text.rpartition("=")
        owners = [place for place, file in enumerate(files) if left.startswith(f"{file}:")]
        owners = owners or [place for place, file in enumerate(files) if left.startswith(f"{Path(file).name}:")]
        if not owners and len(files) == 1 and ":" not in left:
            owners, old = [0], left
        elif owners:
            file = files[owners[0]]
            old = left.removeprefix(f"{file}:" if left.startswith(f"{file}:") else f"{Path(file).name}:")
        if not is_given or not owners or not old or not new:
            raise click.UsageError("--rename takes one of the FILEs and two names: --rename clinic.csv:sex=gender")
        for place in owners:
            renamed[place][old] = new
    return renamed


def _lay_models(document: dict[str, Any], flags: Flags) -> None:
    from shoal.models import MODELS

    asked: dict[str, dict[str, Any]] = {}
    for model in MODELS.values():
        for flag in model.flags():
            given = flags.get(dest_of_model_flag(flag.name))
            if given is not None:
                asked.setdefault(model.name, {}).update(_parameters_given(flag, given))
    for name, parameters in asked.items():
        document.setdefault("models", {})
        document["models"][name] = _laid(document["models"].get(name, {}), parameters, MODELS[name])


def _parameters_given(flag: Flag, given: str) -> dict[str, Any]:
    """What a flag of a model says: its one parameter, another that is named ("k=5"), a list of columns, or several."""
    from shoal.policy.numbers import number_or_text

    if len(flag.parameters) > 1:
        parts = given.split(",")
        if len(parts) != len(flag.parameters):
            raise click.UsageError(f"--{flag.name} takes {len(flag.parameters)} values: --{flag.name} {flag.example}")
        return dict(zip(flag.parameters, map(number_or_text, parts), strict=True))
    (parameter,) = flag.parameters
    if flag.metavar.startswith("C=N"):
        return {parameter: _numbers_of_columns(flag, given)}
    name, is_named, value = given.partition("=")
    return {name.strip(): number_or_text(value)} if is_named else {parameter: number_or_text(given)}


def _numbers_of_columns(flag: Flag, given: str) -> dict[str, Any]:
    """Numbers written as column=number, separated by commas."""
    from shoal.policy.numbers import number_or_text

    numbers = {}
    for part in given.split(","):
        column, _, number = part.rpartition("=")
        if not column.strip():
            raise click.UsageError(f"--{flag.name} takes columns with a number: --{flag.name} treatment=2,disease=4")
        numbers[column.strip()] = number_or_text(number)
    return numbers


def _laid(before: Any, parameters: dict[str, Any], model: type[Model]) -> dict[str, Any]:
    """Parameters of a model from the flags over those of the policy file."""
    if isinstance(before, list):
        return parameters
    table = dict(before) if isinstance(before, Mapping) else {model.threshold(): before}
    alike = {model.threshold(), *model.stand_ins}  # which say the same thing in several ways
    replaced = alike if alike & parameters.keys() else set()
    return {**{key: value for key, value in table.items() if key not in replaced}, **parameters}


def _lay_named(document: dict[str, Any], table: Literal["method", "mask"], flags: Flags) -> None:
    """A method or mask with its options; those of another one are left behind with it."""
    name = flags.get(table)
    if name is not None and document.get(table, {}).get("name") != name:
        document[table] = {"name": name}
    if any(key.startswith(f"{table}_") for key in flags):
        _lay_values(document, table, {flag.option: flags.get(flag.dest) for flag in part_flags(table)})


def mask_said(policy: Policy, flags: Flags, published: PublishedFiles, *, is_told: bool) -> str:
    """The mask of a release as flag or policy say it; where neither is given, sensitive tables beside it say anatomize.

    One of a policy that is not known here, such as somebody's own, is taken in the way that is safe.

    Parameters
    ----------
    is_told
        Whether the policy is that of the release or what its codebook promises, and not made of flags alone.
    """
    from shoal.masking import mask_called

    if flags.get("mask") is not None:
        return str(flags["mask"])
    is_told = is_told or flags.get("policy_file") is not None
    return "anatomize" if published.tables and not is_told else mask_called(policy.mask).name


def chosen_engine(engine: str, known: Sequence[str] = ENGINES) -> str:
    """The engine of a name; one that does not exist, or not for a command, is refused."""
    engine = "memory" if engine == "local" else engine
    if engine not in known:
        raise ParameterError(f"There is no engine '{engine}' here. Choose one of: {', '.join(known)}.")
    return engine


def csv_options(policy: Policy) -> CsvOptions:
    """How the policy says that CSV files are written; what it does not say is as usual."""
    from shoal.reading import CsvOptions

    return CsvOptions(**policy.source.csv)


def csv_options_of_release(policy: Policy, flags: Flags) -> CsvOptions:
    """How a release is written: as its input was, but for quotes, decimals and missing values.

    Those shoal writes in its own way. Flags win, for a table that was written by others.
    """
    from dataclasses import replace

    from shoal.reading import CsvOptions

    given = {key: flags[key] for key in ("quote", "decimal") if flags.get(key) is not None}
    if flags.get("missing_text"):
        given["missing"] = policy.source.missing or ("",)
    return replace(CsvOptions(delimiter=policy.source.delimiter, encoding=policy.source.encoding or "utf-8"), **given)


def read_table(
    files: Sequence[str], policy: Policy, folder: Path, flags: Flags, *, checks_memory: bool = True
) -> Reading:
    """The table that the files make together, as the policy says; of a database the table or query of the flags.

    With `checks_memory` files that are larger than the memory there is are refused before they are read.
    """
    from shoal.reading import Join, read
    from shoal.reading.detect import refuse_unanswered
    from shoal.reading.mend import mended_reading

    if checks_memory:
        from shoal.engines.memory_needed import refuse_too_large

        refuse_too_large(files, csv_options(policy))
    join = None
    if policy.source.join is not None:
        join = Join(person_file=folder / policy.source.join.person_file, on=dict(policy.source.join.on))
    reading = read(
        list(files),
        csv=policy.source.csv,
        rename=list(policy.source.rename) or None,
        join=join,
        labels=policy.source.labels,
        sheet=policy.source.sheet,
        table=flags.get("table"),
        query=flags.get("query"),
        dropped=policy.columns.dropped,
    )
    refuse_unanswered(reading.source.name, reading.findings, policy.columns.dropped)
    return mended_reading(reading, policy.mend) if policy.mend else reading


def population_of(policy: Policy, folder: Path, schema: Schema) -> Any:
    """The population table that the policy names, read; None where it names none."""
    from shoal.judging.population_table import population_for

    return population_for((), policy.population, schema, folder=folder)


def with_findings(policy: Policy, reading: Reading) -> Policy:
    """The policy with what was found of how its one file is written, where that is not as usual: a run repeats."""
    from dataclasses import replace

    from shoal.reading.detect import found_of

    own = {name: value for name, value in found_of(reading).items() if name not in policy.source.csv}
    return replace(policy, source=policy.source.model_copy(update=own)) if own else policy
