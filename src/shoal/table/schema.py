"""The schema: which column has which role, and of which kind the quasi-identifiers are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar, Protocol, TypeVar

from shoal.errors import SchemaError, did_you_mean
from shoal.table.coding import Coding
from shoal.table.hierarchy import Hierarchy
from shoal.table.spelling import FORMS, OF_PERSONS, OF_VALUES
from shoal.table.times import days_in, refuse_unknown_zone

MISSING_CHOICES = ("value", "refuse", "drop")
TIME_CHOICES = ("sequence", "shift")
TIME_OF_DAY_CHOICES = ("cut", "keep")
SHARED_DATE_CHOICES = ("tell", "hide", "refuse")
PERSON_ID_CHOICES = ("pseudonyms", "episodes", "none")
AUTO = "auto"
CALENDAR = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
"""To what the ends of ranges of dates are rounded, in months."""

Each = TypeVar("Each", covariant=True)


class Several(Protocol[Each]):
    """A list or tuple, and not a text, of which types say that it is a sequence of texts too."""

    def __contains__(self, value: object, /) -> bool: ...

    def __iter__(self) -> Iterator[Each]: ...

    def __len__(self) -> int: ...

    def __getitem__(self, place: int, /) -> Each: ...


def refuse_wrong_step(name: str, kind: str, step: object) -> None:
    """Refuse what is no step of a column's kind."""
    if step is None or step == AUTO:
        return
    is_number = isinstance(step, int | float | Decimal | Fraction) and not isinstance(step, bool) and step > 0
    if kind in ("nominal", "ordered"):
        raise SchemaError(f"'{name}' is {kind}: only ends of ranges of numbers and dates are rounded.")
    if isinstance(step, str) and step not in CALENDAR:
        raise SchemaError(
            f"'{name}' is rounded to a number, to 'auto', or if it is a date to one of: {', '.join(CALENDAR)}."
        )
    if not isinstance(step, str) and not is_number:
        raise SchemaError(f"'{name}' is rounded to a number above 0, such as 5, or to 'auto'.")
    if (kind == "date" and is_number) or (kind == "number" and isinstance(step, str)):
        raise SchemaError(
            f"'{name}' is a date: round it to one of: {', '.join(CALENDAR)}."
            if kind == "date"
            else f"'{name}' is a number: round it to a number, such as 5."
        )


@dataclass(frozen=True)
class Quasi:
    """A quasi-identifier whose kind the data show: a number where every value is one, nominal where none is."""

    name: str
    hierarchy: Hierarchy | None = None
    round: float | str | None = field(default=None, kw_only=True, repr=False)
    """To what the ends of ranges are rounded outwards: numbers to a step, dates to "month", "quarter", "year" or
    "decade"; "auto" takes the coarsest that loses less than 1 % more. None leaves them as they are."""
    kind: ClassVar[str] = "auto"

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", str(self.name))
        hierarchy: object = self.hierarchy
        if hierarchy is not None and not isinstance(hierarchy, Hierarchy):
            raise SchemaError(
                f"The hierarchy of '{self.name}' must be a Hierarchy, not {type(hierarchy).__name__}. Make one with "
                "Hierarchy.read_arx_csv, .of_intervals, .of_dates, .of_prefixes, .of_icd10 or .from_rows."
            )
        refuse_wrong_step(self.name, self.kind, self.round)


@dataclass(frozen=True)
class Number(Quasi):
    """A quasi-identifier of numbers; shown as ranges."""

    kind: ClassVar[str] = "number"


@dataclass(frozen=True)
class Nominal(Quasi):
    """A quasi-identifier of categories without an order; shown as sets, or as nodes of its hierarchy."""

    kind: ClassVar[str] = "nominal"


@dataclass(frozen=True)
class Ordered(Quasi):
    """A quasi-identifier of categories in the `order` given (alphabetical where none is); shown as ranges."""

    order: tuple[str, ...] | None = None
    kind: ClassVar[str] = "ordered"

    def __post_init__(self) -> None:
        super().__post_init__()
        given: object = self.order
        if given is None:
            return
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise SchemaError(
                f"The order of '{self.name}' must be a list of categories, not one {type(given).__name__}."
            )
        order = tuple(str(value) for value in given)
        if len(set(order)) < len(order):
            raise SchemaError(f"The order of '{self.name}' names {len(order) - len(set(order)):,} categories twice.")
        object.__setattr__(self, "order", order)


@dataclass(frozen=True)
class Date(Quasi):
    """A quasi-identifier of dates; shown as ranges of dates."""

    kind: ClassVar[str] = "date"


KINDS: dict[str, type[Quasi]] = {cls.kind: cls for cls in (Quasi, Number, Nominal, Ordered, Date)}
NAMED_KINDS = tuple(kind for kind in KINDS if kind != Quasi.kind)
"""The kinds that may follow a name and a colon."""


def quasi_as_written(text: str) -> Quasi:
    """A quasi-identifier written as a bare name, or as `name:kind`.

    Examples
    --------
    >>> quasi_as_written("age:number")
    Number(name='age', hierarchy=None)
    """
    name, _, kind = text.rpartition(":")
    return KINDS[kind](name) if name and kind in NAMED_KINDS else Quasi(text)


HIDDEN_ROLES = frozenset({"dropped", "weight", "household", "strata"})
"""Roles of columns that are not published."""
MAY_BE_BESIDE = {
    "weight": (None, "kept", "dropped"),
    "household": (None, "dropped"),
    "strata": (None, "quasi", "sensitive", "kept", "dropped"),
}
"""Which role a column may have that says how the table was drawn."""


@dataclass(frozen=True, kw_only=True)
class Schema:
    """Which column has which role; a column without a role is refused.

    Parameters
    ----------
    person
        The column that names the person; None where each record is a person of its own.
    quasi
        Quasi-identifiers: what an adversary may know of a person. A bare name takes its kind from the data; `Number`,
        `Nominal`, `Ordered` and `Date` say it, as do names with a kind behind a colon: "age:number".
    sensitive
        Sensitive attributes: what nobody may learn of a person. Published as they are.
    kept
        Columns published unchanged.
    dropped
        Columns not published.
    time
        A column for following a person over time; published as `time_as` says, never as it is.
    time_as
        "sequence": the person's own first, second, ... time; "shift": dates moved by a number of days drawn per person.
    time_of_day
        Of times that are shifted: "cut" publishes days, "keep" the time of day too, which is not shifted.
    shared_dates
        Of dates that are shifted and that an unlikely number of persons share, by which the shift could be told:
        "tell" says how many there are, "hide" publishes them as missing, "refuse" publishes nothing.
    round_gaps
        Of dates that are shifted: to how many days the time since the first one of the same pseudonym is rounded, so
        that the days between records show less: 7, or in words "week". None leaves them as they are.
    zone
        The time zone in which days are counted, such as "Europe/Berlin", for times that are given in UTC or with an
        offset. Without it a time is on the day that the clock showed there, and one in UTC has no day.
    person_ids
        "pseudonyms": a person's records share a random name, so that they can be followed. "episodes": a person has a
        random name per episode (`History.episode` says how records are cut). "none": the person column is not
        published, and nobody sees which records belong to one person; whoever knows some of a person's sensitive values
        cannot find the others by them.
    missing
        What a missing quasi-identifier is: "value" (a value of its own), "refuse" (an error), or "drop" (the record is
        left out and counted).
    missing_tells_nothing
        Sensitive attributes of which a missing value tells nothing: models, guesses and risks leave out records that
        miss it. Of all others a missing value is a value to protect, as that somebody has no diagnosis may be.
    spelling
        Of the person column and of sensitive ones, by name: what does not tell two texts apart. "exact": nothing.
        "plain", as persons are told apart by default: Unicode forms, invisible characters, white space, and the
        decimals of a whole number. "folded", as sensitive values are counted by default: case and the way a number is
        written as well. Values are published as they are.
    confirmed
        Published columns that hold direct identifiers, and that leave nevertheless. One that is not
        confirmed is refused.
    coded
        By column, how extremes or rare categories are coded before anything else (`Coding`, or a mapping with its
        keys): {"age": {"top": 90}, "income": {"top": "99%"}, "job": {"rare": "k=10"}}. For quasi-identifiers, sensitive
        and kept columns.
    weight
        Where the table is a sample: the column of sampling weights, how many persons of the population each person (or
        each record, where no person is named) stands for. It is published only where it is named as kept too.
    household
        The column that names who lives together, for the risk of households. It is never published.
    strata
        The columns by which the sample was drawn, for figures of each stratum. Such a column may have a role besides;
        one that has none is not published.

    Examples
    --------
    >>> Schema(person="patient", quasi=["age", Nominal("gender")], sensitive=["disease"]).quasi_names
    ('age', 'gender')
    """

    quasi: Several[str | Quasi]
    person: str | None = None
    sensitive: Several[str] = ()
    kept: Several[str] = ()
    dropped: Several[str] = ()
    time: str | None = None
    time_as: str = "sequence"
    time_of_day: str = "cut"
    shared_dates: str = "tell"
    round_gaps: int | str | None = None
    zone: str | None = None
    missing: str = "value"
    missing_tells_nothing: Several[str] = ()
    person_ids: str = "pseudonyms"
    spelling: Mapping[str, str] = field(default_factory=dict, hash=False)
    confirmed: Several[str] = ()
    coded: Mapping[str, Coding | Mapping[str, object]] = field(default_factory=dict, hash=False)
    weight: str | None = None
    household: str | None = None
    strata: str | Several[str] = ()

    def __post_init__(self) -> None:
        if isinstance(self.strata, str):
            object.__setattr__(self, "strata", (self.strata,))
        for role in ("quasi", "sensitive", "kept", "dropped", "confirmed", "missing_tells_nothing", "strata"):
            named_columns = getattr(self, role)
            if isinstance(named_columns, str | Quasi) or not isinstance(named_columns, Iterable):
                raise SchemaError(f"'{role}' must be a list of columns, not one {type(named_columns).__name__}.")
        named = tuple(column if isinstance(column, Quasi) else quasi_as_written(str(column)) for column in self.quasi)
        object.__setattr__(self, "quasi", named)
        for role in ("sensitive", "kept", "dropped", "confirmed", "missing_tells_nothing", "strata"):
            object.__setattr__(self, role, tuple(_name_in(role, column) for column in getattr(self, role)))
        for role in ("person", "time", "weight", "household"):
            if getattr(self, role) is not None:
                object.__setattr__(self, role, _name_in(role, getattr(self, role)))
        if not named:
            raise SchemaError("The schema names no quasi-identifier. Name what an adversary may know of a person.")
        for name, choices in (
            ("missing", MISSING_CHOICES), ("time_as", TIME_CHOICES), ("time_of_day", TIME_OF_DAY_CHOICES),
            ("shared_dates", SHARED_DATE_CHOICES),
        ):  # fmt: skip
            if getattr(self, name) not in choices:
                raise SchemaError(f"{name} must be one of {', '.join(choices)}.")
        refuse_unknown_zone(self.zone)
        self._refuse_gaps()
        self._refuse_spelling()
        self._read_codings()
        self._refuse_two_roles()
        self._refuse_ids()

    @property
    def columns(self) -> tuple[Quasi, ...]:
        """The quasi-identifiers, each with its kind."""
        return self.quasi  # type: ignore[return-value]

    @property
    def quasi_names(self) -> tuple[str, ...]:
        """The names of the quasi-identifiers."""
        return tuple(column.name for column in self.columns)

    def spelling_of(self, name: str) -> str:
        """What does not tell texts of a column apart: the form by which persons and sensitive values are counted."""
        return self.spelling.get(name, OF_PERSONS if name == self.person else OF_VALUES)

    @property
    def spellings(self) -> dict[str, str]:
        """The spelling of the person column and of every sensitive one."""
        counted = [*([self.person] if self.person is not None else []), *self.sensitive]
        return {name: self.spelling_of(name) for name in counted}

    def roles(self) -> list[tuple[str, str]]:
        """Every (column, role) that the schema names, in a fixed order."""
        named = [(self.person, "person")] if self.person is not None else []
        named += [(name, "quasi") for name in self.quasi_names]
        named += [(name, "sensitive") for name in self.sensitive]
        named += [(self.time, "time")] if self.time is not None else []
        named += [(name, "kept") for name in self.kept]
        named += [(name, "dropped") for name in self.dropped]
        others = {name for name, _ in named}
        return named + [(name, role) for name, role in self.of_sample() if name not in others]

    def of_sample(self) -> list[tuple[str, str]]:
        """Every (column, role) that says how the table was drawn from a population, whatever else the column is."""
        named = [(self.weight, "weight")] if self.weight is not None else []
        named += [(self.household, "household")] if self.household is not None else []
        return named + [(name, "strata") for name in self.strata]

    @property
    def hidden(self) -> dict[str, str]:
        """The columns that a release must not have, each with its role: dropped ones, and how the table was drawn."""
        return {name: role for name, role in self.roles() if role in HIDDEN_ROLES}

    def published(self) -> set[str]:
        """The columns that a release has."""
        hidden = HIDDEN_ROLES if self.links_records else HIDDEN_ROLES | {"person"}
        return {name for name, role in self.roles() if role not in hidden}

    @property
    def links_records(self) -> bool:
        """Whether a release shows which records belong to one person, or to one episode of theirs."""
        return self.person_ids != "none"

    @property
    def has_episodes(self) -> bool:
        """Whether a person has a pseudonym per episode, so that a release does not show how many persons there are."""
        return self.person_ids == "episodes"

    def check_against(self, columns: Iterable[str]) -> None:
        """Refuse a table whose columns do not fit, naming all that is wrong in one error."""
        columns = list(columns)
        absent = [(name, role) for name, role in self.roles() if name not in columns]
        problems = [
            _no_such_kind(name)
            if role == "quasi" and name.rpartition(":")[0] in columns
            else f"The schema names '{name}' as {role}, but the table has no such column.{did_you_mean(name, columns)}"
            for name, role in absent
        ]
        problems += self.misnamed()
        named = {name for name, _ in self.roles()}
        meant = {name.rpartition(":")[0] for name, role in absent if role == "quasi"}
        without = [name for name in columns if name not in named | meant]
        if without:
            problems.append(
                f"{len(without)} of {len(columns)} columns have no role: {', '.join(without)}. "
                "Give each a role: person=, quasi=, sensitive=, time=, kept= or dropped=; of a sample also weight=, "
                "household= or strata=."
            )
        if problems:
            if absent:
                problems.append(f"The table's columns are: {', '.join(columns)}.")
            raise SchemaError("\n".join(problems))

    def misnamed(self) -> list[str]:
        """What is wrong with columns of which something is said that is not of their role.

        Spelling is of persons and of sensitive values, and so is what a missing value tells of the latter.
        """
        counted = self.spellings
        return (
            [
                f"The spelling of '{name}' is named, but '{name}' is neither the person column nor sensitive."
                f"{did_you_mean(name, counted)}"
                for name in self.spelling
                if name not in counted
            ]
            + [
                f"A missing '{name}' is said to tell nothing, but '{name}' is not sensitive."
                f"{did_you_mean(name, self.sensitive)}"
                for name in self.missing_tells_nothing
                if name not in self.sensitive
            ]
            + [
                f"The coding of '{name}' is named, but '{name}' is no quasi-identifier, and neither sensitive nor kept."
                f"{did_you_mean(name, self.may_be_coded)}"
                for name in self.coded
                if name not in self.may_be_coded
            ]
        )

    @property
    def may_be_coded(self) -> tuple[str, ...]:
        """The columns whose values may be coded: all that are published and tell something of a person."""
        return (*self.quasi_names, *self.sensitive, *self.kept)

    @property
    def codings(self) -> dict[str, Coding]:
        """How values are coded before anything else, by column."""
        return {name: Coding.of(each, name) for name, each in self.coded.items()}

    def _read_codings(self) -> None:
        """Refuse codings that say nothing, and such as a hierarchy would say better."""
        given: object = self.coded
        if not isinstance(given, Mapping):
            raise SchemaError(f"'coded' must say a coding by column, not one {type(given).__name__}.")
        object.__setattr__(self, "coded", {str(name): Coding.of(each, str(name)) for name, each in given.items()})
        for column in self.columns:
            coding = self.codings.get(column.name)
            if coding is not None and coding.is_of_categories and column.hierarchy is not None:
                raise SchemaError(
                    f"'{column.name}' has a hierarchy: put its rare categories together there, and not by rare."
                )
            if coding is not None and not coding.is_of_categories and column.kind in ("nominal", "ordered"):
                raise SchemaError(f"'{column.name}' is {column.kind}: only numbers and dates have a top and a bottom.")
            if coding is not None and coding.is_of_categories and column.kind not in ("auto", "nominal"):
                raise SchemaError(f"'{column.name}' is {column.kind}: only categories without an order can be rare.")

    def _refuse_spelling(self) -> None:
        given: object = self.spelling
        if not isinstance(given, Mapping):
            raise SchemaError(f"'spelling' must say a form by column, not one {type(given).__name__}.")
        object.__setattr__(self, "spelling", {str(name): form for name, form in given.items()})
        wrong = [name for name, form in self.spelling.items() if form not in FORMS]
        if wrong:
            raise SchemaError(f"The spelling of '{wrong[0]}' must be one of {', '.join(FORMS)}.")

    @property
    def gap_days(self) -> int | None:
        """To how many days the times between a person's records are rounded; None where they are not."""
        return None if self.round_gaps is None else int(self.round_gaps)

    def _refuse_gaps(self) -> None:
        """Refuse gaps that are no days, or where no days are shown."""
        given: object = self.round_gaps
        if given is None:
            return
        days = days_in(given) if isinstance(given, str) else given
        if isinstance(days, bool) or not isinstance(days, int) or days < 2:
            raise SchemaError("round_gaps must be a number of days of at least 2, such as 7, or words such as 'week'.")
        if self.time is None or self.time_as != "shift" or self.time_of_day != "cut":
            raise SchemaError(
                "round_gaps rounds the days between a person's shifted dates: it goes with a time column, "
                "time_as='shift' and time_of_day='cut'."
            )
        object.__setattr__(self, "round_gaps", days)

    def _refuse_ids(self) -> None:
        """Refuse person ids that are neither, and what would tell a person's records without them."""
        if self.person_ids not in PERSON_ID_CHOICES:
            raise SchemaError(f"person_ids must be one of {', '.join(PERSON_ID_CHOICES)}.")
        if self.has_episodes and self.person is None:
            raise SchemaError("person_ids='episodes' cuts the records of persons, but no person column is named.")
        if self.links_records:
            return
        if self.person is None:
            raise SchemaError("person_ids='none' leaves the person column out of the release, but none is named.")
        if self.time is not None:
            raise SchemaError(
                f"With person_ids='none' nobody is followed over time: name '{self.time}' as dropped, or publish "
                "pseudonyms."
            )

    def _refuse_two_roles(self) -> None:
        seen: dict[str, str] = {}
        twice = []
        for name, role in self.roles():
            if name in seen:
                twice.append(f"'{name}' is named as {seen[name]} and as {role}")
            seen.setdefault(name, role)
        sampled: dict[str, str] = {}
        for name, role in self.of_sample():
            before = sampled.get(name) or seen.get(name)
            if before != role and before not in MAY_BE_BESIDE[role]:
                twice.append(f"'{name}' is named as {before} and as {role}")
            sampled[name] = role
        if twice:
            raise SchemaError(f"A column can have one role only: {'; '.join(twice)}.")


def _no_such_kind(text: str) -> str:
    """What to say of a name with a kind behind a colon that there is not."""
    name, _, kind = text.rpartition(":")
    return (
        f"'{name}' is named with the kind '{kind}'. The kinds are: {', '.join(NAMED_KINDS)}."
        f"{did_you_mean(kind, NAMED_KINDS)}"
    )


def _name_in(role: str, column: object) -> str:
    """The name of a column; kinds and hierarchies go with quasi-identifiers only."""
    if isinstance(column, Quasi) or (isinstance(column, Iterable) and not isinstance(column, str)):
        raise SchemaError(f"A column named as {role} is named by its name, not by a {type(column).__name__}.")
    return str(column)
