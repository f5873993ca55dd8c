"""Starting Spark."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from shoal.errors import InputError
from shoal.reading.extras import imported

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SETTINGS = {
    "spark.app.name": "shoal",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
}
CASE_SENSITIVE = "spark.sql.caseSensitive"


@contextmanager
def session(master: str | None, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """A session on a master such as local[2] or spark://host:7077; one that runs already is taken as it is, and left.

    Raises
    ------
    InputError
        pyspark is not installed, or Spark cannot be started.
    """
    imported("pyspark", extra="spark", what="The engine spark")
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master or "local[*]")
    for name, value in {**SETTINGS, **settings}.items():
        builder = builder.config(name, value)
    try:
        spark = builder.getOrCreate()
    except Exception as error:  # of Java, of Py4J, of the network
        raise InputError(
            f"Spark could not be started ({type(error).__name__}). It needs Java 17 or newer (JAVA_HOME, or java on "
            "the path), and a master that can be reached."
        ) from None
    try:
        yield spark
    finally:
        spark.stop()


@contextmanager
def case_sensitive(spark: SparkSession) -> Iterator[None]:
    """Let names of columns that differ by case be different names, as they are in files."""
    before = spark.conf.get(CASE_SENSITIVE)
    spark.conf.set(CASE_SENSITIVE, "true")
    try:
        yield
    finally:
        spark.conf.set(CASE_SENSITIVE, before or "false")


@contextmanager
def persisted(frame: DataFrame) -> Iterator[DataFrame]:
    """A frame that executors keep once they have made it, in memory or on their disks."""
    from pyspark import StorageLevel

    frame = frame.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield frame
    finally:
        frame.unpersist()
