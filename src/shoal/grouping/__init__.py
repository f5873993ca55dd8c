"""Stage 2: which persons are published alike."""

from shoal.grouping.anatomy import Anatomy
from shoal.grouping.balance_tree import BalanceTree
from shoal.grouping.buckets import Buckets
from shoal.grouping.cell_suppression import CellSuppression
from shoal.grouping.decomposition import Decomposition
from shoal.grouping.full_domain import FullDomain
from shoal.grouping.grouping import Grouping, Method
from shoal.grouping.local_recoding import LocalRecoding
from shoal.grouping.longest_edge import LongestEdge
from shoal.grouping.mdav import Mdav
from shoal.grouping.mondrian import Mondrian
from shoal.grouping.safepub import SafePub
from shoal.grouping.spanning_cells import SpanningCells
from shoal.grouping.spanning_tree import SpanningTree
from shoal.registry import Registry

METHODS: Registry[Method] = Registry(
    what="method",
    contract=Method,
    own=(
        BalanceTree,
        Mondrian,
        LocalRecoding,
        FullDomain,
        CellSuppression,
        SafePub,
        Mdav,
        SpanningTree,
        SpanningCells,
        LongestEdge,
        Buckets,
        Anatomy,
        Decomposition,
    ),
    entry_points="shoal.methods",
)
"""Every method by its name."""

__all__ = [
    "METHODS",
    "Anatomy",
    "BalanceTree",
    "Buckets",
    "CellSuppression",
    "Decomposition",
    "FullDomain",
    "Grouping",
    "LocalRecoding",
    "LongestEdge",
    "Mdav",
    "Method",
    "Mondrian",
    "SafePub",
    "SpanningCells",
    "SpanningTree",
]
