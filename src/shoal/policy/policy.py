"""The policy: every choice that makes a release, in one object that reads from and writes to one TOML file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    ValidationError,
    model_validator,
)

from shoal.attacking.mining.expectation import refuse_low_confidence
from shoal.attacking.mining.knowledge import Knowledge
from shoal.attacking.mining.rules import Rule
from shoal.errors import ParameterError, SchemaError, did_you_mean
from shoal.models.contract import Model
from shoal.parts import Part
from shoal.policy.decision import Decision, as_decision
from shoal.policy.history import History, Way
from shoal.policy.mend import MendChoices
from shoal.policy.numbers import Number, as_number, fault_of_suppressed
from shoal.registry import Registry
from shoal.table.coding import Coding
from shoal.table.date_forms import check_form
from shoal.table.hierarchy import FROM_VALUES, Hierarchy
from shoal.table.schema import KINDS, NAMED_KINDS, Ordered, Quasi, Schema

if TYPE_CHECKING:
    import polars as pl

Known = Mapping[Literal["method", "mask"], Registry[Any]]
"""The methods and masks that there are, where a policy is checked against them."""
CSV_OPTIONS = (
    "delimiter", "encoding", "quote", "decimal", "missing", "missing_in", "thousands", "date_format", "header",
    "member",
)  # fmt: skip
"""The keys of [source] that say how CSV files are written."""
DEFAULT_METHOD: Final = "balance-tree"
DEFAULT_MASK: Final = "range"


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
        raise ValueError("must be a file. Tables of a database are joined in its query (query=).")
    return file


class JoinChoices(Choices):
    """A file with one record per person, and the key that it shares with the records."""

    person_file: Annotated[str, AfterValidator(_no_address)]
    on: Annotated[dict[str, str], BeforeValidator(_as_key), Field(min_length=1)]


def _as_forms(value: Any) -> Any:
    """One form of dates stands for all columns that are so written."""
    return {"": value} if isinstance(value, str) else value


def _forms(forms: dict[str, str]) -> dict[str, str]:
    try:
        return {column: check_form(form) for column, form in forms.items()}
    except ParameterError as error:
        raise ValueError(str(error)) from None


class SourceChoices(Choices):
    """How the files are written, so far as it is not to be found in them, and how they become one table."""

    delimiter: str | None = None
    encoding: str | None = None
    quote: str | None = None
    decimal: Literal[".", ","] | None = None
    missing: tuple[str, ...] | None = None
    missing_in: dict[str, tuple[str, ...]] | None = None
    thousands: Literal["", ".", ",", "'", " "] | None = None
    date_format: Annotated[dict[str, str], BeforeValidator(_as_forms), AfterValidator(_forms)] | None = None
    header: StrictBool | None = None
    member: str | None = None
    labels: Literal["codes", "values"] = "codes"
    sheet: str | None = None
    rename: tuple[dict[str, str], ...] = ()
    join: JoinChoices | None = None

    @property
    def csv(self) -> dict[str, Any]:
        """What is told of how CSV files are written, by the names of the options; the rest is found in them."""
        told = {name: getattr(self, name) for name in CSV_OPTIONS}
        return {name: value for name, value in told.items() if value is not None}


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
    decimals: StrictBool = False

    @model_validator(mode="after")
    def _is_a_hierarchy(self) -> IntervalChoices:
        self.hierarchy()
        return self

    def hierarchy(self) -> Hierarchy:
        """The hierarchy of these intervals."""
        low, width, high = float(self.low), float(self.width), float(self.high)
        return Hierarchy.of_intervals(low=low, width=width, high=high, factor=self.factor, decimals=self.decimals)


def _as_list(value: Any) -> Any:
    return () if value is True else value


class HierarchyChoices(Choices):
    """Where the value hierarchy of a column comes from: a file, rows, intervals, or the values of the column."""

    file: str | None = None
    prefixes: Annotated[tuple[StrictInt, ...] | None, BeforeValidator(_as_list)] = None
    """How many characters the levels keep; none listed means one less at each level."""
    intervals: IntervalChoices | None = None
    numbers: Literal[True] | None = None
    """Intervals that fit the numbers of the column."""
    dates: Annotated[tuple[Literal["month", "quarter", "year", "decade"], ...] | None, BeforeValidator(_as_list)] = None
    """Which levels days have; none listed means all."""
    icd: Literal[True] | None = None
    icd10: Literal[True] | None = None
    icd9: Literal[True] | None = None
    atc: Literal[True] | None = None
    rows: tuple[tuple[str, ...], ...] | None = None

    @model_validator(mode="after")
    def _is_one_of_them(self) -> HierarchyChoices:
        if len(self.model_fields_set) != 1 or getattr(self, next(iter(self.model_fields_set))) is None:
            raise ValueError(f"give exactly one of: {', '.join(type(self).model_fields)}.")
        return self

    @property
    def is_made_from_values(self) -> bool:
        """Whether the values that a column holds are needed to make it."""
        return self.file is None and self.intervals is None and self.rows is None

    def hierarchy(self, column: str, folder: Path, frame: pl.DataFrame) -> Hierarchy:
        """The hierarchy; what is made from values is made from those that the column holds."""
        if self.file is not None:
            return Hierarchy.read_arx_csv(folder / self.file)
        if self.intervals is not None:
            return self.intervals.hierarchy()
        if self.rows is not None:
            return Hierarchy.from_rows(self.rows)
        if self.prefixes:
            return Hierarchy.of_prefixes(_texts(frame, column), lengths=self.prefixes)
        if self.dates:
            return Hierarchy.of_dates(_texts(frame, column), levels=self.dates)
        (name,) = self.model_fields_set
        return FROM_VALUES[name](_texts(frame, column))


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
    round: Annotated[Number, BeforeValidator(as_number)] | str | None = None
    """To what the ends of ranges are rounded: a number, a unit of the calendar, "auto" or "off"."""

    @model_validator(mode="after")
    def _has_an_order_only_where_ordered(self) -> QuasiChoices:
        if self.order is not None and self.kind not in ("auto", "ordered"):
            raise ValueError("an order goes with kind = 'ordered' only.")
        return self

    def column(self, hierarchy: Hierarchy | None = None, *, usual_round: str = "off") -> Quasi:
        """The quasi-identifier as the schema takes it."""
        is_range = hierarchy is None and self.order is None and self.kind in ("auto", "number", "date")
        step = self.round if self.round is not None else usual_round if is_range else "off"
        rounding = None if step == "off" else step if isinstance(step, str) else float(step)
        if self.order is not None:
            return Ordered(self.name, hierarchy, self.order, round=rounding)
        return KINDS[self.kind](self.name, hierarchy, round=rounding)


def _as_names(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _as_codings(value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise ValueError("must say by column how it is coded, such as age = { top = 90 }.")
    try:
        return {str(name): Coding.of(each, str(name)) for name, each in value.items()}
    except SchemaError as error:
        raise ValueError(str(error)) from None


class ColumnChoices(Choices):
    """The role of each column."""

    person: str | None = None
    round: Literal["auto", "off"] = "off"
    """Whether the ends of ranges are rounded where a quasi-identifier does not say it itself."""
    quasi: tuple[Annotated[QuasiChoices, BeforeValidator(_as_quasi)], ...]
    sensitive: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    time: str | None = None
    time_as: Literal["sequence", "shift"] = "sequence"
    time_of_day: Literal["cut", "keep"] = "cut"
    shared_dates: Literal["tell", "hide", "refuse"] = "tell"
    round_gaps: StrictInt | str | None = None
    zone: str | None = None
    missing: Literal["value", "refuse", "drop"] = "value"
    missing_tells_nothing: tuple[str, ...] = ()
    person_ids: Literal["pseudonyms", "episodes", "none"] = "pseudonyms"
    spelling: dict[str, Literal["exact", "plain", "folded"]] = {}
    coded: Annotated[dict[str, Coding], BeforeValidator(_as_codings)] = {}
    """How extremes and rare categories are coded before anything else, by column."""
    confirmed: tuple[str, ...] = ()
    """Published columns that hold direct identifiers, and that leave nevertheless."""
    weight: str | None = None
    household: str | None = None
    strata: Annotated[tuple[str, ...], BeforeValidator(_as_names)] = ()
    """How the table was drawn from a population, where it is a sample."""

    @model_validator(mode="after")
    def _is_a_schema(self) -> ColumnChoices:
        try:
            misnamed = self.schema_with(lambda _: None).misnamed()
        except SchemaError as error:
            raise ValueError(str(error)) from None
        if misnamed:
            raise ValueError("\n".join(misnamed))
        return self

    @property
    def asked_about(self) -> list[str]:
        """The quasi-identifiers and sensitive attributes, by name."""
        return [*(column.name for column in self.quasi), *self.sensitive]

    def schema_with(self, hierarchy_of: Callable[[QuasiChoices], Hierarchy | None]) -> Schema:
        """The schema, with the hierarchies that the function gives."""
        others = {name: getattr(self, name) for name in type(self).model_fields if name not in ("quasi", "round")}
        quasi = [column.column(hierarchy_of(column), usual_round=self.round) for column in self.quasi]
        return Schema(quasi=quasi, **others)


def _as_suppressed(value: Any) -> Any:
    fault = fault_of_suppressed(value)
    if fault is not None:
        raise ValueError(fault)
    return value


def _as_sample(value: Any) -> Any:
    if value is not None and (fault_of_suppressed(value) is not None or value == 0):
        raise ValueError("must be a number of persons, 1 or more, or a share of them such as '10%'.")
    return value


class BudgetChoices(Choices):
    """How many persons may be left out, and how many records a person may keep, so that the models can be met.

    Also how many persons may be alone in their group by what leaves beside the quasi-identifiers.
    """

    max_suppressed: Annotated[int | str, BeforeValidator(_as_suppressed)] = 0
    max_records: Annotated[StrictInt, Field(ge=1)] | None = None
    sample: Annotated[int | str | None, BeforeValidator(_as_sample)] = None
    """Of how many persons a random sample is published, as a number or a share."""
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
    strangers = [key for key in value if key not in ("when", "never", "value", "chance", "lift")]
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
    chances: StrictBool = False

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
            chances=self.chances,
        )


def _no_password(address: str) -> str:
    """A file, or the address of a database without user and password, which a policy must not keep."""
    if "://" in address and "@" in address.split("://", 1)[1].split("/", 1)[0]:
        raise ValueError("must not name a user or a password. Give them as the driver's own variables do (PGUSER).")
    return address


class PopulationChoices(Choices):
    """Where the population table is that the table was drawn from, and how it calls the columns."""

    file: Annotated[str, AfterValidator(_no_password)]
    table: str | None = None
    query: str | None = None
    """Of a database, what is read."""
    columns: dict[str, str] = {}
    """By the names of the table, how the population calls columns that it names otherwise."""

    def as_source(self, folder: Path) -> dict[str, Any]:
        """As a population table is made from it; a file is named from the folder of the policy."""
        source = self.file if "://" in self.file else str(folder / self.file)
        return {"source": source, "table": self.table, "query": self.query, "columns": self.columns}


def _as_weight(value: Any) -> Any:
    """A number that is not negative."""
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= 10:
        raise ValueError("must be a number from 0 to 10, such as 0.3.")
    return float(value)


class HistoryChoices(Choices):
    """How histories are brought to what models of them ask: by which ways, with which hierarchies.

    `alike` says how much groups are formed by histories beside quasi-identifiers, `episode` how a person's records are
    cut into episodes, and `record_steps` to which numbers of records persons are sampled down.
    """

    ways: tuple[Way, ...] = ("coarsen", "hide")
    hierarchies: dict[str, Annotated[HierarchyChoices, BeforeValidator(_as_hierarchy)]] = {}
    alike: Annotated[float, BeforeValidator(_as_weight)] = 1.0
    episode: str | None = None
    record_steps: tuple[StrictInt, ...] | None = None

    @model_validator(mode="after")
    def _is_a_history(self) -> HistoryChoices:
        try:
            self.history({})
        except ParameterError as error:
            raise ValueError(str(error)) from None
        return self

    def history(self, hierarchies: Mapping[str, Hierarchy]) -> History:
        """How histories are hidden, with the hierarchies of a table."""
        return History(
            ways=self.ways, hierarchies=hierarchies, alike=self.alike, episode=self.episode,
            record_steps=self.record_steps,
        )  # fmt: skip


class LedgerChoices(Choices):
    """Where it is remembered what was released about whom, and what happens where a release breaks a model with it."""

    file: Annotated[str, AfterValidator(_no_address)]
    key: Annotated[str, AfterValidator(_no_address)] | None = None
    """The file of the key, never the key itself."""
    mode: Literal["warn", "refuse"] = "warn"
    max_epsilon: Annotated[float, Field(gt=0)] | None = None
    max_delta: Annotated[float, Field(gt=0)] | None = None
    """How much of differential privacy all releases of the ledger may spend together."""

    @property
    def rules(self) -> dict[str, Any]:
        """What it refuses or warns of, as a ledger takes it."""
        return {"mode": self.mode, "max_epsilon": self.max_epsilon, "max_delta": self.max_delta}


USUAL_QUERIES = 1000
"""Random counts that are asked of a release whose usefulness is to be told, unless a policy says otherwise."""


class UsefulnessChoices(Choices):
    """What an analyst wants to do with the release: which column to predict, and how many random counts to ask."""

    target: str
    kind: Literal["classes", "number"] | None = None
    """Whether the target is one of several classes or a number; None leaves it to its values."""
    queries: Annotated[StrictInt, Field(ge=0)] = USUAL_QUERIES


class CountChoices(Choices):
    """Noisy counts of persons beside the release, with differential privacy: by which columns, and what they spend."""

    epsilon: Annotated[float, Field(gt=0, le=20)]
    of: Annotated[list[str], Field(min_length=1)]
    """The tables: columns joined by a plus, each maybe with the level of its hierarchy behind a colon, "age:1+sex"."""
    cells: Annotated[StrictInt, Field(ge=1)] = 1
    """In how many cells of a table a person counts at the most."""


def as_counts(given: object) -> CountChoices | None:
    """Which noisy counts are asked for, from a mapping."""
    if given is None or isinstance(given, CountChoices):
        return given
    try:
        return CountChoices.model_validate(given)
    except ValidationError as error:
        places = ", ".join(sorted({str(fault["loc"][0]) if fault["loc"] else "counts" for fault in error.errors()}))
        raise ParameterError(
            "counts must be a mapping with epsilon (above 0, at most 20), of (a list such as ['sex', 'age:1+sex']) and "
            f"perhaps cells (a whole number). Wrong here: {places}."
        ) from None


def as_usefulness(given: object) -> UsefulnessChoices | None:
    """What usefulness is asked for, from the name of a column or from a mapping."""
    if given is None or isinstance(given, UsefulnessChoices):
        return given
    document = {"target": given} if isinstance(given, str) else given
    try:
        return UsefulnessChoices.model_validate(document)
    except ValidationError as error:
        places = ", ".join(sorted({str(fault["loc"][0]) if fault["loc"] else "usefulness" for fault in error.errors()}))
        raise ParameterError(
            "usefulness must be the name of a column, or a mapping with target, and perhaps kind ('classes', 'number') "
            f"and queries (a whole number). Wrong here: {places}."
        ) from None


def refuse_unknown_target(target: str, columns: Sequence[str]) -> None:
    """Refuse to ask what is neither a quasi-identifier nor a sensitive attribute how useful a release is for it."""
    if target not in columns:
        raise SchemaError(
            f"Usefulness is asked for '{target}', which is neither a quasi-identifier nor a sensitive attribute. These "
            f"are: {', '.join(columns)}.{did_you_mean(target, columns)}"
        )


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
        How groups are formed; the pipeline knows the names. An object of `shoal.methods` stands for both.
    mask, mask_options
        What is shown of a group; likewise of `shoal.masks`.
    max_linkage
        For a mask that shows no groups: the largest share of persons who may be linked to their original numbers.
    budget
        What may be left out, and who may be alone by what else leaves.
    source
        How the files are read.
    mend
        What is mended in the table before it is protected.
    seed
        Governs ties and noise; None draws one.
    preset
        The name of the preset whose thresholds the models keep (`shoal.policy.presets`), if any.
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
    history
        How histories are hidden where models ask for it.
    usefulness
        For which column it is told what can still be done with the release; None for none.
    population
        The population table that the table was drawn from, where there is one.
    decision
        What a review board decided, for the first page of the report: purpose, recipient, legal basis, period, who
        decided and when. A mapping as a policy file has it, or None.

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
    mend: MendChoices = field(default_factory=MendChoices)
    seed: int | None = None
    preset: str | None = None
    safe_cells: bool = False
    column_labels: bool = False
    knowledge: Knowledge | None = None
    tables: Mapping[str, TableChoices] = field(default_factory=dict)
    ledger: LedgerChoices | None = None
    history: HistoryChoices = field(default_factory=HistoryChoices)
    usefulness: UsefulnessChoices | None = None
    counts: CountChoices | None = None
    population: PopulationChoices | None = None
    decision: Decision | None = None
    folder: Path = field(default=Path(), compare=False, repr=False)
    """Where its file stands: files of hierarchies are named from there."""

    def __post_init__(self) -> None:
        for what in ("method", "mask"):
            chosen = getattr(self, what)
            if isinstance(chosen, Part):  # an object says its options too
                object.__setattr__(self, what, chosen.name)
                object.__setattr__(self, f"{what}_options", chosen.options)
        object.__setattr__(self, "usefulness", as_usefulness(self.usefulness))
        object.__setattr__(self, "counts", as_counts(self.counts))
        object.__setattr__(self, "decision", as_decision(self.decision))
        if self.usefulness is not None:
            refuse_unknown_target(self.usefulness.target, self.columns.asked_about)

    @classmethod
    def load(cls, path: str | Path, *, known: Known | None = None) -> Policy:
        """Read a policy file; all its faults are in one PolicyError. `known` has the methods and masks there are."""
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
        known: Known | None = None,
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
        method: str | Part = DEFAULT_METHOD,
        method_options: Mapping[str, Option] | None = None,
        mask: str | Part = DEFAULT_MASK,
        mask_options: Mapping[str, Option] | None = None,
        max_linkage: float | None = None,
        max_suppressed: int | str = 0,
        max_records: int | None = None,
        sample: int | str | None = None,
        max_alone: int | None = None,
        allow_alone: bool = False,
        seed: int | None = None,
        knowledge: Knowledge | None = None,
        history: History | None = None,
        usefulness: str | Mapping[str, Any] | UsefulnessChoices | None = None,
        counts: Mapping[str, Any] | CountChoices | None = None,
    ) -> Policy:
        """The policy of a run that was started from Python, with a schema and models.

        Method and mask are given by name, with their options, or as objects of `shoal.methods` and `shoal.masks`.
        """
        for what, chosen, beside in (("method", method, method_options), ("mask", mask, mask_options)):
            if isinstance(chosen, Part) and beside:
                raise ParameterError(f"A {what} that is given as an object has its options: leave {what}_options out.")
        return cls(
            columns=columns_of(schema),
            models=tuple(models),
            method=method,  # type: ignore[arg-type]  # objects become names when the policy is made
            method_options=dict(method_options or {}),
            mask=mask,  # type: ignore[arg-type]
            mask_options=dict(mask_options or {}),
            max_linkage=max_linkage,
            budget=BudgetChoices.model_construct(
                max_suppressed=max_suppressed,
                max_records=max_records,
                sample=sample,
                max_alone=max_alone,
                allow_alone=allow_alone,
            ),
            seed=seed,
            knowledge=knowledge,
            history=HistoryChoices() if history is None else history_choices(history),
            usefulness=as_usefulness(usefulness),
            counts=as_counts(counts),
        )

    @property
    def options(self) -> dict[str, Any]:
        """The options of method and mask together, as `protect` takes them."""
        return {**self.method_options, **self.mask_options}

    @property
    def choices(self) -> dict[str, Any]:
        """All that makes a release besides a table, its schema and the models, as `protect` and `tune` take it."""
        return {
            "method": self.method,
            "mask": self.mask,
            "max_linkage": self.max_linkage,
            **self.table_choices,
            **self.budget.alone,
            **self.options,
        }

    @property
    def table_choices(self) -> dict[str, Any]:
        """What of it is about the table rather than about how groups are formed and shown, as `compare` takes it."""
        return {
            "seed": self.seed,
            "max_suppressed": self.budget.max_suppressed,
            "max_records": self.budget.max_records,
            "sample": self.budget.sample,
            "knowledge": self.knowledge,
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

        return self._with_ids(self.columns.schema_with(hierarchy_of))

    def history_of(self, folder: str | Path, frame: pl.DataFrame) -> History:
        """How histories are hidden, with the hierarchies of a table; parameters as of `schema`."""
        absent = [name for name in self.history.hierarchies if name not in frame.columns]
        if absent:
            raise SchemaError(
                f"history.hierarchies names '{absent[0]}', but the table has no such column."
                f"{did_you_mean(absent[0], frame.columns)}"
            )
        hierarchies = {
            name: choices.hierarchy(name, Path(folder), frame) for name, choices in self.history.hierarchies.items()
        }
        return self.history.history(hierarchies)

    def schema_of_release(self) -> Schema:
        """The schema for looking at a release: without hierarchies, whose nodes stand in the release already."""
        return self._with_ids(self.columns.schema_with(lambda _: None))

    def _with_ids(self, schema: Schema) -> Schema:
        """The schema with person ids as they are published."""
        return schema if self.history.episode is None else with_episodes(schema)

    def files(self, folder: str | Path) -> tuple[Path, ...]:
        """The hierarchy files that the policy names, as seen from the folder of the policy file."""
        named = [column.hierarchy.file for column in self.columns.quasi if column.hierarchy is not None]
        named += [hierarchy.file for hierarchy in self.history.hierarchies.values()]
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

        def moved_hierarchy(hierarchy: HierarchyChoices) -> HierarchyChoices:
            return hierarchy if hierarchy.file is None else HierarchyChoices(file=moved_file(hierarchy.file))

        def moved_column(column: QuasiChoices) -> QuasiChoices:
            if column.hierarchy is None:
                return column
            return column.model_copy(update={"hierarchy": moved_hierarchy(column.hierarchy)})

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
        hierarchies = {name: moved_hierarchy(each) for name, each in self.history.hierarchies.items()}
        history = self.history.model_copy(update={"hierarchies": hierarchies})
        population = self.population
        if population is not None and "://" not in population.file:
            population = population.model_copy(update={"file": moved_file(population.file)})
        return replace(
            self, columns=columns, source=source, tables=tables, ledger=ledger, history=history, population=population
        )

    def to_document(self) -> dict[str, Any]:
        """The policy as nested dicts, without what has its default; `from_document` reads it back."""
        from shoal.policy.write import document_of

        return document_of(self)

    def to_toml(self) -> str:
        """The policy as a TOML file; reading it gives an equal policy."""
        from shoal.policy.write import toml_of

        return toml_of(self.to_document())


def history_choices(history: History) -> HistoryChoices:
    """How histories are hidden, as a policy has it."""
    rows = {
        name: HierarchyChoices.model_construct(rows=hierarchy.paths) for name, hierarchy in history.hierarchies.items()
    }
    return HistoryChoices.model_construct(
        ways=tuple(history.ways), hierarchies=rows, alike=history.alike, episode=history.episode,
        record_steps=None if history.record_steps is None else tuple(history.record_steps),
    )  # fmt: skip


def with_episodes(schema: Schema) -> Schema:
    """The schema of a release in which persons have a pseudonym per episode."""
    if schema.person is None:
        raise SchemaError("A person's records are cut into episodes, but no person column is named.")
    if not schema.links_records:
        raise SchemaError("person_ids='none' links no records, so there are no episodes: leave one of the two out.")
    return replace(schema, person_ids="episodes")


def columns_of(schema: Schema) -> ColumnChoices:
    """The roles of a schema, as a policy has them."""
    others = {name: getattr(schema, name) for name in ColumnChoices.model_fields if name not in ("quasi", "round")}
    return ColumnChoices.model_construct(quasi=tuple(map(_choices_of, schema.columns)), **others)


def _choices_of(column: Quasi) -> QuasiChoices:
    hierarchy = None
    if column.hierarchy is not None and column.hierarchy.intervals is not None:
        rule = column.hierarchy.intervals
        low, width, high = (as_number(end) for end in (rule.low, rule.width, rule.high))
        steps = IntervalChoices(low=low, width=width, high=high, factor=rule.factor, decimals=rule.decimals)
        hierarchy = HierarchyChoices(intervals=steps)
    elif column.hierarchy is not None:
        hierarchy = HierarchyChoices.model_construct(rows=column.hierarchy.paths)
    order = column.order if isinstance(column, Ordered) else None
    step = column.round if column.round is None or isinstance(column.round, str) else as_number(column.round)
    return QuasiChoices.model_construct(
        name=column.name, kind=column.kind, order=order, hierarchy=hierarchy, round=step
    )


def check_asked(schema: object, models: object) -> None:
    """Refuse what is no schema and what is no list of models, before anything is read."""
    if not isinstance(schema, Schema):
        raise SchemaError(f"A shoal.Schema is expected, got {type(schema).__name__}.")
    if not isinstance(models, Sequence):
        raise ParameterError(f"Models are given as a list, such as [GBalance(g=0.8)], not as {type(models).__name__}.")
    for model in models:
        if not isinstance(model, Model) or isinstance(model, type):
            raise ParameterError(f"A list of models is expected, but it holds a {type(model).__name__}.")


def refuse_no_model(models: Sequence[Model], *, otherwise: str = "nothing would be protected") -> None:
    """Refuse to promise nothing."""
    if not models:
        raise ParameterError(f"No model was asked for, so {otherwise}. Ask for g-balance, for example.")
