"""The policy: every choice that makes a release, in one object that reads from and writes to one TOML file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    model_validator,
)

from shoal.attacking.mining.expectation import refuse_low_confidence
from shoal.attacking.mining.knowledge import Knowledge
from shoal.attacking.mining.rules import Rule
from shoal.errors import ParameterError, SchemaError, did_you_mean
from shoal.models import Model
from shoal.policy.numbers import Number, as_number
from shoal.table.hierarchy import Hierarchy
from shoal.table.schema import KINDS, NAMED_KINDS, Ordered, Quasi, Schema

if TYPE_CHECKING:
    import polars as pl

DEFAULT_METHOD = "balance-tree"
DEFAULT_MASK = "range"


class Choices(BaseModel):
    """A table of the policy file: frozen, and a key that it does not know is a fault."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


def _as_key(value: Any) -> Any:
    """One name, or a list of names, stands for a key that is called the same in both files."""
    if isinstance(value, str):
        return {value: value}
    return {name: name for name in value} if isinstance(value, list | tuple) else value


def _no_address(file: str) -> str:
    """A file and no address, which might hold a password that a policy must not keep."""
    if "://" in file:
        raise ValueError("must be a file. Tables of a database are joined in its query (--query).")
    return file


class JoinChoices(Choices):
    """A file with one record a person, and the key that it shares with the records."""

    person_file: Annotated[str, AfterValidator(_no_address)]
    on: Annotated[dict[str, str], BeforeValidator(_as_key), Field(min_length=1)]


class SourceChoices(Choices):
    """How the files are written, so far as it cannot be seen in them, and how they become one table."""

    delimiter: str | None = None
    encoding: str = "utf-8"
    quote: str = '"'
    decimal: Literal[".", ","] = "."
    missing: tuple[str, ...] = ("",)
    labels: Literal["codes", "values"] = "codes"
    sheet: str | None = None
    rename: tuple[dict[str, str], ...] = ()
    join: JoinChoices | None = None


class TableChoices(Choices):
    """One of several related tables: its file, its key, and which columns name rows of other tables."""

    file: Annotated[str, AfterValidator(_no_address)]
    key: str | None = None
    links: dict[str, str] = {}


class IntervalChoices(Choices):
    """Intervals of one width over numbers, merged `factor` by `factor`."""

    low: Annotated[Number, BeforeValidator(as_number)]
    width: Annotated[Number, BeforeValidator(as_number)]
    high: Annotated[Number, BeforeValidator(as_number)]
    factor: StrictInt = 2

    @model_validator(mode="after")
    def _is_a_hierarchy(self) -> IntervalChoices:
        self.hierarchy()
        return self

    def hierarchy(self) -> Hierarchy:
        """The hierarchy of these intervals."""
        low, width, high = float(self.low), float(self.width), float(self.high)
        return Hierarchy.of_intervals(low=low, width=width, high=high, factor=self.factor)


def _as_lengths(value: Any) -> Any:
    return () if value is True else value


class HierarchyChoices(Choices):
    """Where the value hierarchy of a column comes from: a file, prefixes, intervals, ICD codes or rows."""

    file: str | None = None
    prefixes: Annotated[tuple[StrictInt, ...] | None, BeforeValidator(_as_lengths)] = None
    """How many characters the levels keep; none listed means one less at each level."""
    intervals: IntervalChoices | None = None
    icd: Literal[True] | None = None
    rows: tuple[tuple[str, ...], ...] | None = None

    @model_validator(mode="after")
    def _is_one_of_them(self) -> HierarchyChoices:
        if len(self.model_fields_set) != 1 or getattr(self, next(iter(self.model_fields_set))) is None:
            raise ValueError(f"give exactly one of: {', '.join(type(self).model_fields)}.")
        return self

    def hierarchy(self, column: str, folder: Path, frame: pl.DataFrame) -> Hierarchy:
        """The hierarchy; prefixes and ICD codes are those of the values that the column holds."""
        if self.file is not None:
            return Hierarchy.read_arx_csv(folder / self.file)
        if self.intervals is not None:
            return self.intervals.hierarchy()
        if self.rows is not None:
            return Hierarchy.from_rows(self.rows)
        if self.prefixes is not None:
            return Hierarchy.of_prefixes(_texts(frame, column), lengths=self.prefixes or None)
        return Hierarchy.of_icd(_texts(frame, column))


def _texts(frame: pl.DataFrame, column: str) -> list[str]:
    import polars as pl

    if column not in frame.columns:
        raise SchemaError(
            f"The policy names '{column}' as quasi-identifier, but the table has no such column.\n"
            f"Its columns are: {', '.join(frame.columns)}.{did_you_mean(column, frame.columns)}"
        )
    return frame[column].cast(pl.String).drop_nulls().unique().sort().to_list()


def _as_quasi(value: Any) -> Any:
    """A quasi-identifier written as a bare name, or as `name:kind`."""
    if not isinstance(value, str):
        return value
    name, _, kind = value.rpartition(":")
    return {"name": name, "kind": kind} if name and kind in NAMED_KINDS else {"name": value}


def _as_hierarchy(value: Any) -> Any:
    return {"file": value} if isinstance(value, str) else value


class QuasiChoices(Choices):
    """A quasi-identifier: its name, its kind unless the data shall say it, its order and its hierarchy."""

    name: str
    kind: Literal["auto", "number", "nominal", "ordered", "date"] = "auto"
    order: Annotated[tuple[Annotated[str, Field(coerce_numbers_to_str=True)], ...] | None, Field(min_length=1)] = None
    hierarchy: Annotated[HierarchyChoices, BeforeValidator(_as_hierarchy)] | None = None

    @model_validator(mode="after")
    def _has_an_order_only_where_ordered(self) -> QuasiChoices:
        if self.order is not None and self.kind not in ("auto", "ordered"):
            raise ValueError("an order goes with kind = 'ordered' only.")
        return self

    def column(self, hierarchy: Hierarchy | None = None) -> Quasi:
        """The quasi-identifier as the schema takes it."""
        if self.order is not None:
            return Ordered(self.name, hierarchy, self.order)
        return KINDS[self.kind](self.name, hierarchy)


class ColumnChoices(Choices):
    """The role of each column."""

    person: str | None = None
    quasi: tuple[Annotated[QuasiChoices, BeforeValidator(_as_quasi)], ...]
    sensitive: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    time: str | None = None
    time_as: Literal["sequence", "shift"] = "sequence"
    time_of_day: Literal["cut", "keep"] = "cut"
    shared_dates: Literal["tell", "hide", "refuse"] = "tell"
    zone: str | None = None
    missing: Literal["value", "refuse", "drop"] = "value"
    person_ids: Literal["pseudonyms", "none"] = "pseudonyms"
    spelling: dict[str, Literal["exact", "plain", "folded"]] = {}

    @model_validator(mode="after")
    def _is_a_schema(self) -> ColumnChoices:
        try:
            misspelled = self.schema_with(lambda _: None).misspelled()
        except SchemaError as error:
            raise ValueError(str(error)) from None
        if misspelled:
            raise ValueError("\n".join(misspelled))
        return self

    def schema_with(self, hierarchy_of: Callable[[QuasiChoices], Hierarchy | None]) -> Schema:
        """The schema, with the hierarchies that the function gives."""
        return Schema(
            person=self.person,
            quasi=[column.column(hierarchy_of(column)) for column in self.quasi],
            sensitive=self.sensitive,
            kept=self.kept,
            dropped=self.dropped,
            time=self.time,
            time_as=self.time_as,
            time_of_day=self.time_of_day,
            shared_dates=self.shared_dates,
            zone=self.zone,
            missing=self.missing,
            person_ids=self.person_ids,
            spelling=self.spelling,
        )


class BudgetChoices(Choices):
    """How many persons may be left out, and how many records a person may keep, so that the models can be met.

    Also how many persons may be alone in their group by what leaves beside the quasi-identifiers.
    """

    max_suppressed: Annotated[StrictInt, Field(ge=0)] = 0
    max_records: Annotated[StrictInt, Field(ge=1)] | None = None
    max_alone: Annotated[StrictInt, Field(ge=0)] | None = None
    allow_alone: StrictBool = False

    @property
    def alone(self) -> dict[str, Any]:
        """Who may be alone by what else leaves, as `protect` and `verify` take it."""
        return {"max_alone": self.max_alone, "allow_alone": self.allow_alone}


def _as_rule(value: Any) -> Any:
    """A rule written as a table with `when` and `never`; what else stands beside them is a fault."""
    if isinstance(value, Rule):
        return value
    form = '{ when = { sex = "male" }, never = { disease = "ovarian cancer" } }'
    if not isinstance(value, Mapping):
        raise ValueError(f"a rule must be a table such as {form}.")
    strangers = [key for key in value if key not in ("when", "never")]
    if strangers:
        raise ValueError(f"a rule has no key '{strangers[0]}'. It is a table such as {form}.")
    try:
        return Rule.from_dict(value)
    except ParameterError as error:
        raise ValueError(str(error)) from None


StatedRule = Annotated[Rule, BeforeValidator(_as_rule)]


class KnowledgeChoices(Choices):
    """What an adversary is taken to know: how rules are mined, which are struck out, and facts besides.

    Keys may be written with dashes, as flags are: min-expectation.
    """

    min_expectation: Annotated[Number | str, BeforeValidator(as_number)] = Decimal("0.9")
    max_len: StrictInt = 1
    margin: dict[str, Annotated[Number, BeforeValidator(as_number)]] = {}
    conjunction: Literal["product", "minimum"] = "product"
    min_confidence: Annotated[Number, BeforeValidator(as_number)] = 1
    strike: tuple[StatedRule, ...] = ()
    facts: tuple[StatedRule, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _without_dashes(cls, given: Any) -> Any:
        return {key.replace("-", "_"): value for key, value in given.items()} if isinstance(given, Mapping) else given

    @model_validator(mode="after")
    def _is_knowledge(self) -> KnowledgeChoices:
        self.knowledge()
        return self

    def knowledge(self) -> Knowledge:
        """The knowledge that the choices make."""
        refuse_low_confidence(self.min_confidence)
        return Knowledge(
            min_expectation=self.min_expectation,  # type: ignore[arg-type]
            max_len=self.max_len,
            margin={column: float(width) for column, width in self.margin.items()},
            conjunction=self.conjunction,
            strike=self.strike,
            facts=self.facts,
        )


class LedgerChoices(Choices):
    """Where it is remembered what was released about whom, and what happens where a release breaks a model with it."""

    file: Annotated[str, AfterValidator(_no_address)]
    key: Annotated[str, AfterValidator(_no_address)] | None = None
    """The file of the key, never the key itself."""
    mode: Literal["warn", "refuse"] = "warn"


Option = str | int | float | bool


def _as_share(value: Any) -> Any:
    """A number from 0 to 1, or nothing."""
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    if value is not None and not (is_number and 0 <= value <= 1):
        raise ValueError("must be a share from 0 to 1, such as 0.05.")
    return value


Share = Annotated[float, BeforeValidator(_as_share)]


@dataclass(frozen=True, kw_only=True)
class Policy:
    """All choices that make a release: roles, models, method, mask, budget, source and seed.

    Parameters
    ----------
    columns
        The role of each column.
    models
        What every group must meet.
    method, method_options
        How groups are formed; the pipeline knows the names.
    mask, mask_options
        What is shown of a group.
    max_linkage
        For a mask that shows no groups: the largest share of persons who may be linked to their original numbers.
    budget
        What may be left out, and who may be alone by what else leaves.
    source
        How the files are read.
    seed
        Governs ties and noise; None draws one.
    safe_cells
        Whether CSV and Excel files get an apostrophe before cells that a spreadsheet would run.
    column_labels
        Whether the labels that SPSS, Stata and SAS files have for their columns leave with the release.
    knowledge
        What an adversary is taken to know, for models that reckon with it; None where the policy does not say.
    tables
        Several related tables by name, where the policy is about more than one.
    ledger
        Where releases are remembered, if anywhere.

    Examples
    --------
    >>> policy = Policy.from_document({"columns": {"quasi": ["age:number"]}, "models": {"g-balance": {"k": 5}}})
    >>> policy.models
    (GBalance(g=Fraction(4, 5)),)
    """

    columns: ColumnChoices
    models: tuple[Model, ...] = ()
    method: str = DEFAULT_METHOD
    method_options: Mapping[str, Option] = field(default_factory=dict)
    mask: str = DEFAULT_MASK
    mask_options: Mapping[str, Option] = field(default_factory=dict)
    max_linkage: float | None = None
    budget: BudgetChoices = field(default_factory=BudgetChoices)
    source: SourceChoices = field(default_factory=SourceChoices)
    seed: int | None = None
    safe_cells: bool = False
    column_labels: bool = False
    knowledge: Knowledge | None = None
    tables: Mapping[str, TableChoices] = field(default_factory=dict)
    ledger: LedgerChoices | None = None
    folder: Path = field(default=Path(), compare=False, repr=False)
    """Where its file stands: files of hierarchies are named from there."""

    @classmethod
    def load(cls, path: str | Path, *, known: Mapping[str, Iterable[str]] | None = None) -> Policy:
        """Read a policy file; all its faults are in one PolicyError. `known` names the methods and masks there are."""
        from shoal.policy.load import policy_from_document, read_document

        policy = policy_from_document(read_document(path), name=f"'{Path(path).name}'", known=known)
        return replace(policy, folder=Path(path).parent)

    def save(self, path: str | Path) -> Path:
        """Write the policy as a TOML file, which names the same files from its new place."""
        path = Path(path)
        path.write_text(self.moved(self.folder, path.parent).to_toml(), encoding="utf-8")
        return path

    @classmethod
    def from_document(
        cls,
        document: Mapping[str, Any],
        *,
        name: str = "The policy",
        known: Mapping[str, Iterable[str]] | None = None,
    ) -> Policy:
        """Make a policy from what a TOML file holds, as nested dicts; all faults are in one PolicyError."""
        from shoal.policy.load import policy_from_document

        return policy_from_document(document, name=name, known=known)

    @classmethod
    def of(
        cls,
        schema: Schema,
        models: Iterable[Model],
        *,
        method: str = DEFAULT_METHOD,
        method_options: Mapping[str, Option] | None = None,
        mask: str = DEFAULT_MASK,
        mask_options: Mapping[str, Option] | None = None,
        max_linkage: float | None = None,
        max_suppressed: int = 0,
        max_records: int | None = None,
        max_alone: int | None = None,
        allow_alone: bool = False,
        seed: int | None = None,
        knowledge: Knowledge | None = None,
    ) -> Policy:
        """The policy of a run that was started from Python, with a schema and models."""
        columns = ColumnChoices(
            person=schema.person,
            quasi=tuple(_choices_of(column) for column in schema.columns),
            sensitive=tuple(schema.sensitive),
            kept=tuple(schema.kept),
            dropped=tuple(schema.dropped),
            time=schema.time,
            time_as=schema.time_as,  # type: ignore[arg-type]
            time_of_day=schema.time_of_day,  # type: ignore[arg-type]
            shared_dates=schema.shared_dates,  # type: ignore[arg-type]
            zone=schema.zone,
            missing=schema.missing,  # type: ignore[arg-type]
            person_ids=schema.person_ids,  # type: ignore[arg-type]
            spelling=dict(schema.spelling),  # type: ignore[arg-type]
        )
        return cls(
            columns=columns,
            models=tuple(models),
            method=method,
            method_options=dict(method_options or {}),
            mask=mask,
            mask_options=dict(mask_options or {}),
            max_linkage=max_linkage,
            budget=BudgetChoices(
                max_suppressed=max_suppressed, max_records=max_records, max_alone=max_alone, allow_alone=allow_alone
            ),
            seed=seed,
            knowledge=knowledge,
        )

    @property
    def options(self) -> dict[str, Any]:
        """The options of method and mask together, as `protect` takes them."""
        return {**self.method_options, **self.mask_options}

    @property
    def choices(self) -> dict[str, Any]:
        """All that `protect` takes besides a table, its schema and the models."""
        return {
            "method": self.method,
            "mask": self.mask,
            "seed": self.seed,
            "max_suppressed": self.budget.max_suppressed,
            "max_records": self.budget.max_records,
            "max_linkage": self.max_linkage,
            **self.budget.alone,
            "knowledge": self.knowledge,
            **self.options,
        }

    def schema(self, folder: str | Path, frame: pl.DataFrame) -> Schema:
        """The schema for a table, with its hierarchies.

        Parameters
        ----------
        folder
            Where the policy file stands: hierarchy files are named from there.
        frame
            The table; hierarchies of prefixes and of ICD codes are made from its values.
        """

        def hierarchy_of(column: QuasiChoices) -> Hierarchy | None:
            if column.hierarchy is None:
                return None
            return column.hierarchy.hierarchy(column.name, Path(folder), frame)

        return self.columns.schema_with(hierarchy_of)

    def schema_of_release(self) -> Schema:
        """The schema for looking at a release: without hierarchies, whose nodes stand in the release already."""
        return self.columns.schema_with(lambda _: None)

    def files(self, folder: str | Path) -> tuple[Path, ...]:
        """The hierarchy files that the policy names, as seen from the folder of the policy file."""
        named = [column.hierarchy.file for column in self.columns.quasi if column.hierarchy is not None]
        return tuple(Path(folder) / file for file in named if file is not None)

    def moved(self, old: str | Path, new: str | Path) -> Policy:
        """The policy as it must read in another folder, for it to name the same files."""

        def moved_file(file: str) -> str:
            if Path(file).is_absolute():
                return file
            try:
                return Path(os.path.relpath(Path(old) / file, new)).as_posix()
            except ValueError:  # another drive
                return str((Path(old) / file).absolute())

        def moved_column(column: QuasiChoices) -> QuasiChoices:
            if column.hierarchy is None or column.hierarchy.file is None:
                return column
            return column.model_copy(
                update={"hierarchy": HierarchyChoices(file=moved_file(column.hierarchy.file))},
            )

        columns = self.columns.model_copy(update={"quasi": tuple(map(moved_column, self.columns.quasi))})
        source = self.source
        if source.join is not None:
            join = source.join.model_copy(update={"person_file": moved_file(source.join.person_file)})
            source = source.model_copy(update={"join": join})
        tables = {
            name: table.model_copy(update={"file": moved_file(table.file)}) for name, table in self.tables.items()
        }
        ledger = self.ledger
        if ledger is not None:
            files = {name: moved_file(file) for name, file in (("file", ledger.file), ("key", ledger.key)) if file}
            ledger = ledger.model_copy(update=files)
        return replace(self, columns=columns, source=source, tables=tables, ledger=ledger)

    def to_document(self) -> dict[str, Any]:
        """The policy as nested dicts, without what has its default; `from_document` reads it back."""
        from shoal.policy.write import document_of

        return document_of(self)

    def to_toml(self) -> str:
        """The policy as a TOML file; reading it gives an equal policy."""
        from shoal.policy.write import toml_of

        return toml_of(self.to_document())


def _choices_of(column: Quasi) -> QuasiChoices:
    hierarchy = None
    if column.hierarchy is not None and column.hierarchy.intervals is not None:
        rule = column.hierarchy.intervals
        low, width, high = (as_number(end) for end in (rule.low, rule.width, rule.high))
        hierarchy = HierarchyChoices(intervals=IntervalChoices(low=low, width=width, high=high, factor=rule.factor))
    elif column.hierarchy is not None:
        hierarchy = HierarchyChoices(rows=column.hierarchy.paths)
    order = column.order if isinstance(column, Ordered) else None
    return QuasiChoices(name=column.name, kind=column.kind, order=order, hierarchy=hierarchy)  # type: ignore[arg-type]
