"""Stage 2: which persons are published alike."""

from shoal.grouping.balance_tree import BalanceTree
from shoal.grouping.decomposition import Decomposition
from shoal.grouping.grouping import Grouping, Method
from shoal.grouping.mdav import Mdav
from shoal.grouping.mondrian import Mondrian

METHODS: dict[str, type] = {cls.name: cls for cls in (BalanceTree, Mondrian, Mdav, Decomposition)}

__all__ = ["METHODS", "BalanceTree", "Decomposition", "Grouping", "Mdav", "Method", "Mondrian"]
