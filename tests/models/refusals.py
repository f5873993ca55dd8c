"""What no threshold may be."""

from __future__ import annotations

from decimal import Decimal

NOT_NUMBERS = [
    float("nan"),
    float("inf"),
    float("-inf"),
    Decimal("NaN"),
    Decimal("Infinity"),
    True,
    False,
    None,
    "",
    "high",
    "1/0",
    "nan",
    "1e999999999",
    [0.5],
]
NOT_COUNTS = [*NOT_NUMBERS, 2.5, 0, -1, "5"]
