"""How a release writes sets and ranges of labels, and reads them again: {A, B}, A to B, one label alone, * for any.

A label that could be read as something else stands in quotes, in which "" is a quote.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

EVERYTHING = "*"
MISSING = "missing"
BETWEEN = ", "
AT_LEAST, BEHIND = "at least ", (" or less", f" or {MISSING}")
"""What stands before and behind the end of a range that is open, or may be missing."""
TO = " to "
IN_QUOTES = r'"(?:[^"]|"")*"'
ENDS = re.compile(rf"({IN_QUOTES}|.+?)(?:{TO}({IN_QUOTES}|.+))?", re.DOTALL)
QUOTED = re.compile(r'"((?:[^"]|"")*)"(?=, |\Z)')


def as_set(labels: Iterable[str | None]) -> str:
    """Several labels as a set, None for missing.

    >>> as_set(["flu", "cold", None]), as_set(["legs, arms", "missing"])
    ('{flu, cold, missing}', '{"legs, arms", "missing"}')
    """
    return "{" + BETWEEN.join(MISSING if label is None else _in_set(label) for label in labels) + "}"


def as_one(label: str) -> str:
    """A label that stands alone.

    >>> as_one("legs, arms"), as_one("*"), as_one("{a}")
    ('legs, arms', '"*"', '"{a}"')
    """
    is_odd = label == EVERYTHING or label.startswith('"') or _has_braces(label)
    return _quoted(label) if is_odd else label


def as_end(label: str) -> str:
    """A label that stands alone in a column of ranges, or at an end of one.

    >>> as_end("low"), as_end("10 to 20")
    ('low', '"10 to 20"')
    """
    looks_open = label == EVERYTHING or label.startswith(AT_LEAST) or label.endswith(BEHIND)
    is_odd = looks_open or label.startswith('"') or TO in f" {label} "
    return _quoted(label) if is_odd else label


def ends_in(text: str) -> list[str]:
    """The label that stands alone, or both ends of a range.

    >>> ends_in("low to high"), ends_in('"10 to 20" to "20 to 30"')
    (['low', 'high'], ['10 to 20', '20 to 30'])
    """
    found = ENDS.fullmatch(text)
    ends = [text] if found is None else [end for end in found.groups() if end is not None]
    return [_unquoted(quoted) if (quoted := QUOTED.fullmatch(end)) else end for end in ends]


def labels_in(text: str) -> list[str | None] | None:
    """The labels that a cell names, None among them for missing; None for any.

    >>> labels_in('{"legs, arms", "missing", missing}'), labels_in("legs, arms"), labels_in("*")
    (['legs, arms', 'missing', None], ['legs, arms'], None)
    """
    if text == EVERYTHING:
        return None
    if not _has_braces(text):
        quoted = QUOTED.fullmatch(text)
        return [_unquoted(quoted) if quoted else text]
    inside, found, at = text[1:-1], list[str | None](), 0
    while True:
        quoted = QUOTED.match(inside, at)
        end = quoted.end() if quoted else inside.find(BETWEEN, at)
        plain = inside[at:] if end < 0 else inside[at:end]
        found.append(_unquoted(quoted) if quoted else None if plain == MISSING else plain)
        if end < 0 or end == len(inside):
            return found
        at = end + len(BETWEEN)


def listed_in(text: str) -> list[str] | None:
    """The labels of a set that has no missing values beside them; None where a text is no set."""
    return [MISSING if label is None else label for label in labels_in(text) or []] if _has_braces(text) else None


def _has_braces(text: str) -> bool:
    return text.startswith("{") and text.endswith("}")


def _in_set(label: str) -> str:
    is_odd = BETWEEN in label or label.startswith('"') or label == MISSING
    return _quoted(label) if is_odd else label


def _quoted(label: str) -> str:
    doubled = label.replace('"', '""')
    return f'"{doubled}"'


def _unquoted(quoted: re.Match[str]) -> str:
    return quoted[1].replace('""', '"')
