"""The middle of coded records, as its definition reads. Never optimise this file; never import the package here."""

from __future__ import annotations


def middle_of(codes: list[int], records: list[int]) -> tuple[int, int, int]:
    """The lowest code up to which half of the records lie: the code, records below it, and records up to it."""
    for code in sorted(codes):
        below = sum(count for other, count in zip(codes, records, strict=True) if other < code)
        upto = sum(count for other, count in zip(codes, records, strict=True) if other <= code)
        if 2 * upto >= sum(records):
            return code, below, upto
    raise ValueError("no records")
