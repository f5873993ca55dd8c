"""Starting Spark, and the tables that it reads: CSV and Parquet, files or folders."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import InputError, ParameterError
from shoal.reading import CsvOptions
from shoal.reading.extras import imported
from shoal.reading.read import FORMAT_OF_ENDING
from shoal.reading.source import refuse_pipe
from shoal.spark.reading import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SETTINGS = {
    "spark.app.name": "shoal",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
}
READABLE = ("csv", "parquet")


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


def read_tables(spark: SparkSession, paths: Sequence[str], *, csv: CsvOptions) -> DataFrame:
    """The table that CSV or Parquet files, or folders of them, make together.

    All fields of CSV files are read as texts, as the engine in memory does; a field that is one of the missing texts is
    missing. A field may not hold a line break: such a file is refused by its lines of the wrong length.

    Raises
    ------
    InputError
        A path is of another format, or Spark cannot read it.
    """
    from pyspark.errors import PySparkException

    formats = {path: format_of(path) for path in paths}
    if len(set(formats.values())) > 1:
        raise InputError("Spark reads files of one format at a time: all CSV, or all Parquet.")
    format = formats[paths[0]]
    try:
        if format == "parquet":
            return spark.read.parquet(*paths)
        return _read_csv(spark, paths, csv)
    except PySparkException as error:
        raise InputError(
            f"Spark cannot read {', '.join(repr(Path(path).name) for path in paths)} ({type(error).__name__}). Check "
            "the names, and that the executors can reach them too."
        ) from None


def _read_csv(spark: SparkSession, paths: Sequence[str], csv: CsvOptions) -> DataFrame:
    from pyspark.sql import functions

    if csv.decimal != ".":
        raise ParameterError(
            "Spark reads numbers with a decimal point: write the file with one, or protect it in memory."
        )
    reader = spark.read.option("header", True).option("sep", csv.delimiter or ",").option("encoding", csv.encoding)
    reader = reader.option("quote", csv.quote or "\u0000").option("escape", csv.quote or "\u0000")
    reader = reader.option("mode", "FAILFAST").option("enforceSchema", False).option("inferSchema", False)
    frame = reader.csv(list(paths))
    texts = [text for text in csv.missing if text]
    columns = [quoted(name) for name in frame.columns]
    if texts:
        columns = [
            functions.when(~column.isin(texts), column).alias(name)
            for name, column in zip(frame.columns, columns, strict=True)
        ]
    return frame.select(*columns)


def format_of(path: str) -> str:
    """The format of a file or a folder of files, by its ending or by those of the files in it."""
    ending = Path(path.rstrip("/")).suffix.lower()
    inside = Path(path)
    refuse_pipe(inside)
    if ending not in FORMAT_OF_ENDING and inside.is_dir():
        endings = {part.suffix.lower() for part in inside.iterdir() if not part.name.startswith(("_", "."))}
        ending = endings.pop() if len(endings) == 1 else ending
    format = FORMAT_OF_ENDING.get(ending)
    if format not in READABLE:
        raise InputError(
            f"Spark reads CSV and Parquet, files or folders of them; which '{Path(path).name}' is cannot be told from "
            "its ending. Let it end with .csv or .parquet, or protect it in memory."
        )
    return format
