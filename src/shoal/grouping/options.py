"""Options that several methods have, with one meaning."""

from __future__ import annotations

from typing import Literal

from shoal.parts import option

Nominal = Literal["zero-one", "coded"]

ALPHA = option(
    "The weight of distances beside that of mixing sensitive values; 1 looks at distances only.",
    low=0,
    high=1,
    metavar="A",
)
M = option("The fewest persons of a group; else the larger of k and person-k asked for, or 3.", low=1, metavar="M")
M_OF_VALUES = option(
    "The fewest persons of a group; else, and at least, the l of the models asked for.", low=1, metavar="M"
)
B = option("The persons around an edge whose sensitive values are mixed; else m.", low=2, metavar="B")
NOMINAL = option("Two different categories are 1 apart (zero-one), or each category is a column of 0 and 1 (coded).")

EFFORT = option("How long to look for groups that lose less once everybody has one.")
