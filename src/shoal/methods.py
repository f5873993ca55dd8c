"""How groups are formed: every method with its options, for `protect(..., method=shoal.methods.Mdav(m=5))`.

The name of a method, `method="mdav"`, is short for it; its options are then further keyword arguments.
"""

from shoal.grouping import (
    METHODS,
    Anatomy,
    BalanceTree,
    Buckets,
    CellSuppression,
    Decomposition,
    FullDomain,
    LocalRecoding,
    LongestEdge,
    Mdav,
    Method,
    Mondrian,
    SafePub,
    SpanningCells,
    SpanningTree,
)

__all__ = [
    "METHODS",
    "Anatomy",
    "BalanceTree",
    "Buckets",
    "CellSuppression",
    "Decomposition",
    "FullDomain",
    "LocalRecoding",
    "LongestEdge",
    "Mdav",
    "Method",
    "Mondrian",
    "SafePub",
    "SpanningCells",
    "SpanningTree",
]
