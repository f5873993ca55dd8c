"""Which texts are one, written to be read."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal


def plain(text: str) -> str:
    """Without what cannot be seen: format characters, Unicode forms, white space, decimals of a whole number."""
    seen = [sign for sign in text if unicodedata.category(sign) != "Cf"]
    words = unicodedata.normalize("NFKC", "".join(seen)).split()
    text = " ".join(words)
    whole = re.fullmatch(r"([+-]?[0-9]+)\.0*", text)
    return whole[1] if whole else text


def folded(text: str) -> str:
    """Without case as well; a number is what it is worth, but for codes with leading zeros."""
    text = plain(text)
    while (without_case := plain(text.casefold())) != text:
        text = without_case
    if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)", text) and not re.match(r"[+-]?0[0-9]", text):
        worth = Decimal(text)
        text = f"{worth.normalize():f}" if worth else "0"
    return text


def spelled(value: object, form: str) -> str | None:
    """A value as the text by which it is known again."""
    if value is None or value != value:
        return None
    if isinstance(value, float):
        text = f"{Decimal(repr(value)):f}"
        value = str(int(value)) if value == int(value) else text
    return {"exact": str, "plain": plain, "folded": folded}[form](str(value))


def persons(ids: list[object], form: str) -> int:
    """How many persons there are."""
    return len({spelled(each, form) for each in ids})
