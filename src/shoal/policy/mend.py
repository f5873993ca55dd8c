"""What is mended in a table before it is protected: the table [mend] of a policy."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StrictInt, model_validator

from shoal.errors import ParameterError
from shoal.policy.numbers import Number, as_number
from shoal.table.date_forms import check_form

Text = Annotated[str, Field(coerce_numbers_to_str=True)]
Limit = Annotated[Number, BeforeValidator(as_number)]


class MendTable(BaseModel):
    """A table in [mend]: frozen, and a key that it does not know is a fault."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _form(form: str) -> str:
    try:
        return check_form(form)
    except ParameterError as error:
        raise ValueError(str(error)) from None


def _day(text: Any) -> Any:
    if isinstance(text, date):
        return text.isoformat()
    try:
        date.fromisoformat(str(text))
    except ValueError:
        raise ValueError("must be a day such as 2024-12-31.") from None
    return text


class RangeChoices(MendTable):
    """The numbers that a column may hold, and what happens to others."""

    low: Limit | None = None
    high: Limit | None = None
    outside: Literal["missing", "refuse"] = "missing"

    @model_validator(mode="after")
    def _has_an_end(self) -> RangeChoices:
        if self.low is None and self.high is None:
            raise ValueError("give low, high, or both.")
        return self


class CodeChoices(MendTable):
    """What is kept of codes: the first characters, or all before a sign."""

    keep: Annotated[StrictInt, Field(ge=1)] | None = None
    before: Annotated[str, Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _is_one_of_them(self) -> CodeChoices:
        if (self.keep is None) == (self.before is None):
            raise ValueError('give keep, a number of characters, or before, a sign such as ".".')
        return self


class AgeChoices(MendTable):
    """The age in whole years on a day, from a column of birth dates."""

    born: str
    on: Annotated[str, BeforeValidator(_day)]


class FilterChoices(MendTable):
    """Which records are kept, by one column. A missing value is none of `values` and not within limits."""

    column: str
    values: tuple[Text, ...] | None = None
    without: tuple[Text, ...] | None = None
    low: Limit | None = None
    high: Limit | None = None

    @model_validator(mode="after")
    def _says_something(self) -> FilterChoices:
        if len(self.model_fields_set) < 2:
            raise ValueError("give values, without, low or high.")
        return self


class MendChoices(MendTable):
    """What is mended, in this order; by column."""

    trim: tuple[str, ...] = ()
    case: dict[str, Literal["lower", "upper"]] = {}
    missing: dict[str, tuple[Text, ...]] = {}
    map: dict[str, dict[str, Text]] = {}
    dates: dict[str, Annotated[str, AfterValidator(_form)]] = {}
    numbers: dict[str, Literal["n,n", "n.nnn,n", "n nnn,n", "n'nnn,n", "n,nnn.n", "n nnn.n", "n'nnn.n"]] = {}
    code: dict[str, CodeChoices] = {}
    age: dict[str, AgeChoices] = {}
    range: dict[str, RangeChoices] = {}
    filter: tuple[FilterChoices, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.model_dump(exclude_defaults=True))
