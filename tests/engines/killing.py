"""The run whose executors are killed: says at which stage it is, and writes the folder."""

from __future__ import annotations

import sys
from pathlib import Path


def main(master: str, folder: str) -> None:
    """Protect visits.parquet of a folder on a master."""
    from pyspark.sql import SparkSession

    import shoal
    from shoal.engines.spark import protect
    from shoal.engines.spark.files import read_tables

    settings = {
        "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "WARN",
        "spark.driver.memory": "2g", "spark.executor.memory": "1700m", "spark.executor.cores": "1",
        "spark.driver.host": "127.0.0.1", "spark.sql.shuffle.partitions": "8", "spark.sql.session.timeZone": "UTC",
        "spark.executor.extraJavaOptions": "-XX:+UseSerialGC",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }  # fmt: skip
    builder = SparkSession.builder.master(master).appName("shoal cluster test")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    schema = shoal.Schema(
        person="person", quasi=["age", "zip", "income", "education", "region"], sensitive=["diagnosis"]
    )
    print("looking", flush=True)
    tables = read_tables(spark, [str(Path(folder) / "visits.parquet")], schema)
    models = [shoal.RecordRisk(rho="0.1"), shoal.PersonKAnonymity(k=15)]
    release = protect(
        tables.frame, schema, models, method="mondrian",
        measure_input=False, cell_persons=20_000, progress=lambda stage, share: print(stage, share, flush=True),
    )  # fmt: skip
    print("writing", flush=True)
    release.write(Path(folder) / "out", inputs=["visits.parquet"])
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
