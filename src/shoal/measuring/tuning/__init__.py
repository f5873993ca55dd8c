"""Finding settings: the least loss under a risk that may not be exceeded, and methods side by side at the same risk."""

from __future__ import annotations

from shoal.measuring.tuning.comparison import Comparison, ComparisonRow, compare
from shoal.measuring.tuning.frontier import Tuning, tune
from shoal.measuring.tuning.targets import Target, parse_targets
from shoal.measuring.tuning.workbench import Point

__all__ = ["Comparison", "ComparisonRow", "Point", "Target", "Tuning", "compare", "parse_targets", "tune"]
