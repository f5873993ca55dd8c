"""The engine for tables that one machine does not hold: the same method on Apache Spark.

Imported only when it is used, since pyspark is an extra: pip install 'shoal[spark]'.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.engines.spark.run import protect
__all__ = ["protect"]


def __getattr__(name: str) -> Any:  # executors import the parts they need, and not the whole pipeline
    if name == "protect":
        from shoal.engines.spark.run import protect

        return protect
    raise AttributeError(f"module 'shoal.engines.spark' has no attribute '{name}'")
