"""Every exception and warning that shoal raises on purpose.

Messages say what happened, with names and numbers, and then what to do. They name columns, counts and lines,
never cell values: messages end up in logs, outside our protection.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable

_SUGGESTION = re.compile(r"Did you mean '.*?'\?")
_CHOICE = re.compile(r"(?<![\w?&.(\[])([a-z][a-z_]*)=(?:'([^']*)'|(True|False|[0-9][0-9.]*(?<!\.)))?")


class ShoalError(Exception):
    """Base of all errors that shoal raises on purpose; the command line exits with `exit_code`.

    Parameters
    ----------
    message
        What happened, with names and numbers, and then what to do: all of it.
    hint
        The part of it that says what to do, for doors that show it by itself. Where none is given it is the question
        of the message ("Did you mean 'zip'?"), if it has one.

    Notes
    -----
    What could be chosen otherwise is written as Python takes it, `max_suppressed=3`; `changes` names it, and doors
    spell it in their own way by `spelled_by`.
    """

    exit_code = 2

    def __init__(self, message: str = "", *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint: str | None = hint or " ".join(_SUGGESTION.findall(message)) or None

    @property
    def changes(self) -> tuple[str, ...]:
        """The choices that the message names: `max_suppressed` of "allow max_suppressed=3"."""
        return tuple(dict.fromkeys(found[1] for found in _CHOICE.finditer(str(self))))


class InputError(ShoalError):
    """A file or frame cannot be read as a table: empty, cut short, wrong encoding, ragged lines."""


class SchemaError(ShoalError):
    """The schema and the table do not fit: a column is absent, has no role or two, or is of another kind."""


class ParameterError(ShoalError, ValueError):
    """A parameter of a model, method or mask is out of range."""


class PolicyError(ShoalError):
    """A policy file has faults; all of them are listed in one message."""


class NotEnoughMemoryError(ShoalError):
    """The table does not fit the memory there is; found before it was read."""


class OutputError(ShoalError):
    """The release cannot be written where it was asked to go; nothing was written."""


class CannotSatisfyError(ShoalError):
    """No grouping of this table can meet a model."""

    exit_code = 3


class PrivacyNotMetError(ShoalError):
    """A release was made that does not meet a model; nothing was written."""

    exit_code = 3


class ShoalWarning(UserWarning):
    """Something a steward should look at, though it breaks no model."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The line "Did you mean 'x'?" for the known name closest to a mistyped one, or an empty string."""
    known = list(known)
    lowered = {candidate.lower(): candidate for candidate in reversed(known)}
    close = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.6)
    return f"\nDid you mean '{lowered[close[0]]}'?" if close else ""


def spelled_by(text: str, spell: Callable[[str, str], str | None]) -> str:
    """A text with its choices as a door spells them.

    Parameters
    ----------
    text
        A message or a note, whose choices are written as Python takes them.
    spell
        From the name of a choice and its value, which may be empty, to the words of the door; None leaves it as it is.

    Examples
    --------
    >>> spelled_by("Use encoding='utf-16'.", lambda name, value: f"--{name} {value}")
    'Use --encoding utf-16.'
    """
    return _CHOICE.sub(lambda found: spell(found[1], found[2] or found[3] or "") or found[0], text)


def without_credentials(text: str) -> str:
    """A text in which addresses have lost their user, password and parameters.

    Examples
    --------
    >>> without_credentials("postgresql://me:secret@host/clinic?password=secret")
    'postgresql://host/clinic'
    """
    without_users = re.sub(r"([A-Za-z][A-Za-z0-9+.-]*:/{1,2})[^\s'\"]*@", r"\1", text)
    return re.sub(r"([A-Za-z][A-Za-z0-9+.-]*:/{1,3}[^\s'\"?]*)\?[^\s'\"]*", r"\1", without_users)
