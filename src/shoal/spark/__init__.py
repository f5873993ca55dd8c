"""The engine for tables that one machine does not hold: the same method on Apache Spark.

Imported only when it is used, since pyspark is an extra: pip install 'shoal[spark]'.
"""

from shoal.spark.protect import protect
from shoal.spark.release import SparkRelease

__all__ = ["SparkRelease", "protect"]
