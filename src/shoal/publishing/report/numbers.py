"""Numbers as a reader of a report reads them."""

from __future__ import annotations

import math
from datetime import date, timedelta

NOT_KNOWN = "–"
"""What stands where there is no number."""


def count(value: float | None) -> str:
    """A whole number: 79,309."""
    return NOT_KNOWN if _is_absent(value) else f"{value:,.0f}"


def share(value: float | None, digits: int = 2) -> str:
    """A share in percent: 31.03 %. One that is only nearly 0 or 1 does not look like it."""
    if value is None or _is_absent(value):
        return NOT_KNOWN
    text = f"{100 * value:.{digits}f}"
    least = 10.0**-digits
    if value > 0 and float(text) == 0:
        text = f"under {least:.{digits}f}"
    elif value < 1 and float(text) == 100:
        text = f"over {100 - least:.{digits}f}"
    elif float(text) in (0.0, 100.0):
        text = f"{float(text):.0f}"
    return f"{text}\N{NO-BREAK SPACE}%"


def number(value: float | None, digits: int = 4) -> str:
    """A number between 0 and 1, or a correlation: 0.0391."""
    if value is None or _is_absent(value):
        return NOT_KNOWN
    text = f"{value:.{digits}f}"
    return f"{0:.{digits}f}" if float(text) == 0 else text.replace("-", "\N{MINUS SIGN}")


def quantity(value: float | None) -> str:
    """A number of any size, with about four digits."""
    if value is None or _is_absent(value):
        return NOT_KNOWN
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return text.replace("-", "\N{MINUS SIGN}")


DAYS_OF_MONTH, DAYS_OF_YEAR = 30.436875, 365.2425


def day(value: float | None) -> str:
    """A date, from days since 1970-01-01."""
    if value is None or _is_absent(value):
        return NOT_KNOWN
    try:
        return (date(1970, 1, 1) + timedelta(days=round(value))).isoformat()
    except OverflowError:
        return NOT_KNOWN


def span(value: float | None) -> str:
    """A span of days as people say it: 12 days, 5.2 months, 7.0 years."""
    if value is None or _is_absent(value):
        return NOT_KNOWN
    for unit, days in (("years", DAYS_OF_YEAR), ("months", DAYS_OF_MONTH)):
        if value >= 2 * days:
            return f"{value / days:.1f} {unit}"
    return f"{value:.1f} days" if value < 10 else f"{value:.0f} days"


def plain(value: float | None) -> str:
    """A threshold as it was written: 0.1, 5, 0.333."""
    return NOT_KNOWN if _is_absent(value) else f"{value:.6g}"


def _is_absent(value: float | None) -> bool:
    return value is None or not math.isfinite(value)
