"""One Spark session for all tests of the engines, and a cluster of processes for one of them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engines.clusters import Cluster

SOURCE = Path(__file__).resolve().parent.parent.parent / "src"


def java() -> None:
    """Skip where there is no Java, and say so; CI allows no skip."""
    if os.environ.get("JAVA_HOME") is None and shutil.which("java") is None:
        pytest.skip("Java is not installed (Debian: apt install openjdk-17-jre-headless)")


@pytest.fixture(scope="session")
def environment() -> Iterator[None]:
    """What the processes of Spark take over from this one: its Python, and where shoal lies."""
    java()
    before = dict(os.environ)
    paths = [str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ |= {
        "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONPATH": os.pathsep.join(paths), "POLARS_MAX_THREADS": "1",
    }  # fmt: skip
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="session")
def spark(environment: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session in one process, on two cores."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("shoal tests")
    settings = {
        "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "2", "spark.sql.session.timeZone": "UTC", "spark.driver.memory": "1g",
        "spark.local.dir": str(tmp_path_factory.mktemp("spark")), "spark.driver.host": "127.0.0.1",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")), "spark.sql.adaptive.enabled": "false",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # compiling pays on long runs only
    }  # fmt: skip
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def cluster(environment: None, tmp_path: Path) -> Iterator[Cluster]:
    """A master and two workers on loopback, each a process of its own; all are ended by their number."""
    started = Cluster.start(tmp_path, workers=2)
    yield started
    started.end()
