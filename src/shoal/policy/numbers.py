"""Numbers in a policy, kept as they were written: 0.8 is the decimal 0.8, never the nearest binary number."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

Number = int | Decimal

_DECIMAL = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d{1,3})?")


_SHARE = re.compile(r"\s*\d{1,3}(\.\d{1,9})?\s*%\s*")


def fault_of_suppressed(value: object) -> str | None:
    """Why something does not say how many persons may be left out; None where it does: a number, or "5%"."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return None
    if isinstance(value, str) and _SHARE.fullmatch(value) and Fraction(value.strip()[:-1].strip()) <= 100:
        return None
    return "must be a whole number of persons, 0 or more, or a share of them such as '5%'."


def persons_or_share(value: Any) -> int | str:
    """What somebody wrote into a field: a share such as "5%" as it is, else a number of persons."""
    return value if isinstance(value, str) and value.strip().endswith("%") else int(value)


def as_number(value: Any) -> Any:
    """A decimal for a decimal, a float or a fraction that has one; anything else stays what it is."""
    if isinstance(value, float):
        return Decimal(str(value))
    return exact_decimal(value) if isinstance(value, Fraction) else value


def exact_decimal(value: Fraction) -> Number | str:
    """A fraction as a whole number or a decimal where it has an end, else as the text '1/3'."""
    if value.denominator == 1:
        return value.numerator
    places = 0
    rest = value.denominator
    for prime in (2, 5):
        power = 0
        while rest % prime == 0:
            rest //= prime
            power += 1
        places = max(places, power)
    if rest > 1 or places > 20:
        return f"{value.numerator}/{value.denominator}"
    return Decimal(value.numerator * 10**places // value.denominator).scaleb(-places)


def number_or_text(written: str) -> Number | str:
    """What a flag holds: a whole number or a decimal where it is one, else the text, such as '2/3'."""
    text = written.strip()
    if not _DECIMAL.fullmatch(text):
        return text
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else Decimal(text)
