"""What every privacy model offers, and all that others ask of it: flags, plain words, the dial for tuning."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from shoal.errors import SchemaError, did_you_mean
from shoal.models.counts import SPREAD, GroupCounts, ValueCounts, ValuesLeft
from shoal.models.exact import BoolArray, FloatArray
from shoal.models.histories import Asked
from shoal.models.joint import JointCounts


@dataclass(frozen=True)
class Dial:
    """How the threshold of a model is turned from loose to strict.

    `size_of` and `threshold_of` translate between the threshold and the effective size that it stands for (persons that
    share the records, values that hide each other): sizes are what a ladder steps through evenly, by factors.
    """

    threshold_of: Callable[[float], float]
    size_of: Callable[[float], float]
    is_whole: bool = False
    of_values: bool = False
    """Whether it moves what is learned of values, and not who is found."""
    digits_from_one: bool = False
    """Whether digits count from 1: 0.98 and 0.985 are far apart."""
    is_free: bool = False
    """Whether `tune` may turn it where a policy asks for the model; others are floors that stay as they are."""

    @classmethod
    def share(cls, *, of_values: bool = False, is_free: bool = False) -> Dial:
        """The dial of a share that falls as it gets stricter: 1/size."""
        return cls(lambda size: 1 / size, lambda share: 1 / share, of_values=of_values, is_free=is_free)

    @classmethod
    def count(cls, *, is_whole: bool = True, of_values: bool = False, is_free: bool = False) -> Dial:
        """The dial of a number that is the size itself."""
        return cls(float, float, is_whole=is_whole, of_values=of_values, is_free=is_free)

    @property
    def loose_is_high(self) -> bool:
        """Whether a higher threshold asks for less."""
        return self.threshold_of(2.0) < self.threshold_of(1.0)


@dataclass(frozen=True)
class Flag:
    """A flag of the command line and the parameters of a model that it gives."""

    name: str
    parameters: tuple[str, ...]
    metavar: str
    help: str
    example: str | None = None


class Model(ABC):
    """A promise about every group of a release: a frozen dataclass whose first field is its threshold.

    What a model does not say of itself is taken in the way that is safe: that it is not monotone, that no limits say
    the same, that nothing but its own counts proves it.
    """

    name: ClassVar[str]
    """What policies and reports call it."""
    is_common: ClassVar[bool] = False
    """Whether help that fits one screen explains it."""
    flag: ClassVar[str | None] = None
    """The flag of its threshold, where that is not its name."""
    shared_flag: ClassVar[tuple[str, str, str] | None] = None
    """The metavar, help and example of one flag that takes all parameters without a default, separated by commas."""
    monotone: ClassVar[bool] = False
    """Whether groups that hold still hold when merged."""
    higher_is_safer: ClassVar[bool]
    """Which way `reached` runs."""
    is_diversity: ClassVar[bool] = False
    """Whether it asks for different values among persons, so that buckets of persons who differ meet it."""
    asks_of_values_left: ClassVar[bool] = False
    """Whether it can be asked of the values left to a person once some are excluded (`among_values_left`)."""
    has_bound: ClassVar[bool] = False
    """Whether `holds_by_bound` can prove it from less than it needs."""
    leaves_out_missing: ClassVar[bool] = False
    """Whether it can be asked of the records alone that have a value, where a missing one tells nothing."""
    stand_ins: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Parameters that say the threshold in another way, and the class methods that turn them into it."""
    dial: ClassVar[Dial | None] = None

    @property
    @abstractmethod
    def needs(self) -> frozenset[str]:
        """Names of the counts that the model reads (`shoal.models.counts`)."""

    @property
    def asked(self) -> float:
        """The threshold, as a number to show."""
        return float(getattr(self, self.threshold()))

    @abstractmethod
    def holds(self, groups: GroupCounts) -> BoolArray:
        """Whether each group meets the model; exact at the threshold."""

    @abstractmethod
    def reached(self, groups: GroupCounts) -> FloatArray:
        """The value that each group reaches, to show beside `asked`."""

    @property
    def column(self) -> str | None:
        """The one sensitive attribute that it is about; None where that is each, or where it is about none."""
        return None

    def columns_among(self, sensitive: Iterable[str]) -> list[str]:
        """The sensitive attributes that it is about: its own column, or each of them."""
        known = list(sensitive)
        if not known:  # a promise about nothing would hold, and look like safety
            raise SchemaError(f"{self.name} asks about sensitive attributes, but none is named. Name at least one.")
        if self.column is None:
            return known
        if self.column not in known:
            raise not_sensitive(f"{self.name} names '{self.column}'", self.column, known)
        return [self.column]

    @property
    def holds_with_more(self) -> bool:
        """Whether a group that holds still holds with anybody beside, also with those who break it by themselves."""
        return False

    @property
    def least_values(self) -> int | None:
        """How many different values of its attributes a group must have, where that is all it asks; None elsewhere."""
        return None

    @property
    def caps(self) -> Mapping[str, int] | None:
        """How many values of each attribute may be excluded at the most, where a model has such caps."""
        return None

    @property
    def limits(self) -> SpreadLimits | None:
        """The model said as limits on records and persons; None where it cannot be said so."""
        return None

    @property
    def of_histories(self) -> Asked | None:
        """What it asks of the histories that persons show, where it is met by hiding parts of them."""
        return None

    def while_grouping(self) -> Model | None:
        """What it asks of groups while they are formed; None where that is nothing.

        Models that are met by hiding what groups show ask for less then, and are judged by what is shown.
        """
        return self

    def when_hiding(self) -> Model:
        """What it asks of a release in which shoal hides values itself."""
        return self

    def largest_share_of_a_value(self) -> float | None:
        """The largest share of a group's persons that it leaves to one value, where it says so."""
        return None

    @property
    def rules(self) -> Any:
        """The rules that an adversary is taken to know, where it brings some."""
        return None

    def knowing(self, rules: Any) -> Model:
        """The same, reckoning with rules that an adversary knows."""
        return self

    @property
    def knowledge(self) -> Mapping[str, Any]:
        """What it says of the rules that an adversary is taken to mine, by the names of `Knowledge`."""
        return {}

    @property
    def is_searched(self) -> bool:
        """Whether groups are formed without it: sizes of groups are tried until the release meets it."""
        return False

    is_of_whole_table: ClassVar[bool] = False
    """Whether it is about the whole table: it holds in every group or in none."""

    @property
    def enough_persons(self) -> int | None:
        """How many persons of every group prove it, whatever else is the case, where so many do."""
        return None

    @property
    def known_columns(self) -> int | None:
        """How many quasi-identifiers an adversary is taken to know at the most; None for all."""
        return None

    @property
    def population(self) -> Any:
        """The population table that it brings, where it does: a frame, or the name of a file."""
        return None

    def holds_by_bound(self, groups: GroupCounts) -> BoolArray:
        """Whether each group is proved to hold by counts that show less than the model needs; a no proves nothing."""
        return np.zeros(len(groups), np.bool_)

    def gave_up(self, groups: GroupCounts) -> BoolArray:
        """Whether each group counts as broken only because a search for a proof was given up."""
        return np.zeros(len(groups), np.bool_)

    def among_values_left(self, left: ValuesLeft) -> tuple[BoolArray, FloatArray]:
        """Whether it holds among the values that are left to somebody, and what is reached there.

        A model that is asked and does not say how holds nowhere.
        """
        n = len(left.distinct)
        return np.zeros(n, np.bool_), np.full(n, -np.inf if self.higher_is_safer else np.inf)

    def members_below(self, groups: GroupCounts) -> BoolArray | None:
        """Which members of the groups, in their order, break it by themselves; None where it is about groups."""
        return None

    def sentence(self) -> str:
        """What it promises, with its threshold, in plain words and without the full stop."""
        return (type(self).__doc__ or self.name).strip().splitlines()[0].rstrip(".")

    def settings(self) -> dict[str, Any]:
        """Its parameters that are not open, by name; without what is kept apart from a policy, such as rules."""
        shown = [field for field in fields(self) if not field.metadata.get("is_kept_apart")]  # type: ignore[arg-type]
        return {field.name: value for field in shown if (value := getattr(self, field.name)) is not None}

    def parameters(self) -> dict[str, Any]:
        """Its settings without those that are defaults."""
        usual = {field.name: field.default for field in fields(self)}  # type: ignore[arg-type]
        return {name: value for name, value in self.settings().items() if value != usual[name]}

    @classmethod
    def takes(cls, parameter: str) -> bool:
        """Whether it has a parameter of that name."""
        return parameter in {field.name for field in fields(cls)}  # type: ignore[arg-type]

    @classmethod
    def threshold(cls) -> str:
        """The parameter that a bare number stands for."""
        return fields(cls)[0].name  # type: ignore[arg-type]  # models are dataclasses

    @classmethod
    def by_stand_in(cls, parameter: str, value: object, **others: Any) -> Model:
        """The model whose threshold is said by a parameter that stands in for it."""
        made: Model = getattr(cls, cls.stand_ins[parameter])(value, **others)
        return made

    @classmethod
    def made(cls, threshold: object, column: str | None = None) -> Model:
        """The model at a threshold, on one attribute where it can be."""
        about = {"column": column} if cls.takes("column") else {}
        return cls(**{cls.threshold(): threshold, **about})

    @classmethod
    def flags(cls) -> tuple[Flag, ...]:
        """The flags of the command line, in the order of the parameters."""
        own = cls.flag or cls.name
        if cls.shared_flag is not None:
            metavar, help, example = cls.shared_flag
            together = tuple(field.name for field in fields(cls) if field.metadata.get("help"))  # type: ignore[arg-type]
            return (Flag(own, together, metavar, f"{help}: {example}.", example),)
        made = []
        for field in fields(cls):  # type: ignore[arg-type]
            if field.metadata.get("help"):
                name = own if field.name == cls.threshold() else field.metadata["flag"] or f"{own}-{field.name}"
                made.append(Flag(name, (field.name,), field.metadata["metavar"], field.metadata["help"]))
        return tuple(made)


def not_sensitive(said: str, column: str, sensitive: Sequence[str]) -> SchemaError:
    """What to raise where a model says something of a column that is not a sensitive attribute."""
    known = f"These are: {', '.join(sensitive)}.{did_you_mean(column, sensitive)}"
    return SchemaError(f"{said}, but that is not a sensitive attribute. {known}")


def as_share(value: Any) -> str:
    """A fraction in percent, without more digits than it needs."""
    return f"{float(100 * Fraction(value)):.4g} %"


def listed(words: Sequence[str]) -> str:
    """Words as a sentence lists them: a, b and c."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def as_number(value: Any) -> str:
    """A number, without more digits than it needs."""
    return f"{float(value):.4g}"


class OnSensitive(Model):
    """The part that models of sensitive attributes share: one `column`, or (None) each sensitive attribute.

    Where a missing value tells nothing, the model is asked of the records that have a value and of the persons of
    these; a group in which nobody has one holds.
    """

    leaves_out_missing: ClassVar[bool] = True

    @property
    def value_in_words(self) -> str:
        """What a value is called in its sentence."""
        return f"value of '{self.column}'" if self.column is not None else "sensitive value"

    def _attributes(self, groups: GroupCounts) -> Iterator[ValueCounts]:
        return (groups.values[column] for column in self.columns_among(groups.values))

    def holds(self, groups: GroupCounts) -> BoolArray:
        """Whether each group meets the model on its attribute, or on every sensitive attribute."""
        result = np.ones(len(groups), dtype=np.bool_)
        for attribute in self._attributes(groups):
            told, among, some = attribute.among_told(groups)
            result[some] &= self._holds_on(told, among)
        return result

    def reached(self, groups: GroupCounts) -> FloatArray:
        """The least safe value over the attributes, for each group."""
        worst = np.full(len(groups), np.inf if self.higher_is_safer else 0.0)
        keep = np.minimum if self.higher_is_safer else np.maximum
        for attribute in self._attributes(groups):
            told, among, some = attribute.among_told(groups)
            worst[some] = keep(worst[some], self._reached_on(told, among))
        return worst

    @abstractmethod
    def _holds_on(self, attribute: ValueCounts, groups: GroupCounts) -> BoolArray: ...

    @abstractmethod
    def _reached_on(self, attribute: ValueCounts, groups: GroupCounts) -> FloatArray: ...


def attributes_together(model: Model, groups: GroupCounts) -> JointCounts:
    """The counts of all sensitive attributes together; refused where there is none."""
    model.columns_among(groups.joint.columns if groups.joint is not None else ())
    assert groups.joint is not None
    return groups.joint


def worst_of(model: Model, reached: FloatArray) -> float:
    """The least safe of the values that groups reached."""
    if len(reached) == 0:
        return float("nan")
    return float(reached.min() if model.higher_is_safer else reached.max())


@dataclass(frozen=True, kw_only=True)
class SpreadLimits:
    """What a group must keep to, exactly; a model whose property `limits` gives one holds where all are kept."""

    least_persons: int = 1
    least_records: int = 1
    largest_share: Fraction = Fraction(1)
    """Of the records of a group, the share of the person who has most."""
    largest_squares: Fraction = Fraction(1)
    """The sum over the persons of a group of their squared shares of its records."""

    def and_also(self, other: SpreadLimits) -> SpreadLimits:
        """Both limits in one."""
        return SpreadLimits(
            least_persons=max(self.least_persons, other.least_persons),
            least_records=max(self.least_records, other.least_records),
            largest_share=min(self.largest_share, other.largest_share),
            largest_squares=min(self.largest_squares, other.largest_squares),
        )

    @property
    def in_whole_numbers(self) -> tuple[int, int, int, int, int, int]:
        """Persons, records, and both fractions as numerator and denominator: in the order that kernels take."""
        share, squares = self.largest_share.as_integer_ratio(), self.largest_squares.as_integer_ratio()
        return self.least_persons, self.least_records, *share, *squares

    def fits(self, n_records: int) -> bool:
        """Whether deciding the limits for groups of up to `n_records` stays within 64 bits."""
        _, _, *factors = self.in_whole_numbers
        return n_records**2 * max(factors) < 2**62


def asked_of_groups(models: Iterable[Model]) -> tuple[Model, ...]:
    """What models ask of groups while these are formed."""
    return tuple(asked for model in models if (asked := model.while_grouping()) is not None)


def limits_of(models: Sequence[Model]) -> SpreadLimits | None:
    """The limits that say the same as all models of records and persons, or None where one cannot be said so."""
    limits = SpreadLimits()
    for model in models:
        if model.needs <= SPREAD:
            own = model.limits
            if own is None:
                return None
            limits = limits.and_also(own)
    return limits
