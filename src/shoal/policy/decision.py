"""What a review board decided about a release: the table [decision] of a policy, typed by the steward."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from shoal.errors import ParameterError

LONGEST: Final = 240
"""Characters of an entry: all of them together fit one page."""
MOST_SIGNATURES: Final = 4


def _one_line(text: str) -> str:
    """A text on one line; what no reader sees has no place on a page that is signed."""
    plain = " ".join(text.split())
    if not plain.isprintable():
        raise ValueError("must be plain text without control characters.")
    return plain


def _day(given: Any) -> Any:
    """A day, as TOML or a text has it; nothing where none is given."""
    if isinstance(given, str) and not given.strip():
        return ""
    try:
        return (given if isinstance(given, date) else date.fromisoformat(str(given).strip())).isoformat()[:10]
    except ValueError:
        raise ValueError("must be a day such as 2026-11-18.") from None


Entry = Annotated[str, Field(max_length=LONGEST), AfterValidator(_one_line)]
Role = Annotated[str, Field(min_length=1, max_length=60), AfterValidator(_one_line)]


class Decision(BaseModel):
    """What was decided, for whom and by whom; shoal prints it and decides nothing by it.

    An entry that is empty is a line to be filled in by hand.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    purpose: Entry = ""
    recipient: Entry = ""
    legal_basis: Entry = ""
    period: Entry = ""
    conditions: Entry = ""
    decided_by: Entry = ""
    decided_on: Annotated[str, BeforeValidator(_day)] = ""
    signatures: Annotated[tuple[Role, ...], Field(max_length=MOST_SIGNATURES)] = ("Data steward", "For the board")
    """Who signs: one line each."""


LABELS: Final[Mapping[str, str]] = {
    "purpose": "Purpose",
    "recipient": "Recipient",
    "legal_basis": "Legal basis",
    "period": "Period of use",
    "conditions": "Conditions",
    "decided_by": "Decided by",
    "decided_on": "Decided on",
}
"""The entries as the page calls them, in its order."""


def as_decision(given: object) -> Decision | None:
    """What was decided, from a mapping as a policy has it."""
    if given is None or isinstance(given, Decision):
        return given
    try:
        return Decision.model_validate(given)
    except ValidationError as error:
        places = ", ".join(sorted({str(fault["loc"][0]) if fault["loc"] else "decision" for fault in error.errors()}))
        raise ParameterError(
            f"decision must be a mapping with some of: {', '.join(Decision.model_fields)}. Texts have at most "
            f"{LONGEST} characters, and decided_on is a day such as 2026-11-18. Wrong here: {places}."
        ) from None
