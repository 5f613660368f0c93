"""A local session of Spark, and a cluster of processes on this machine."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.spark.cluster import Cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Executors are processes of their own. They import the functions of these tests, and the same karat.
os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
)
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"


@pytest.fixture(scope="module", autouse=True)
def small_files_have_several_ranges(tiny_ranges: None) -> None:
    """Otherwise, files of some hundred rows would be one range."""


def pytest_runtest_setup() -> None:
    if not (shutil.which("java") or os.environ.get("JAVA_HOME") or os.environ.get("CI")):
        pytest.skip("Spark needs Java, which was not found: install openjdk-17-jre-headless, for example")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session in this process, with two threads; a failed task is tried again."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2,4]").appName("karat's tests")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1g",
        # Java would take longer to optimize the code than the tests take to run it.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of processes on this machine. This process has a session already: `cluster.driver` is another one."""
    started = Cluster(tmp_path_factory.mktemp("cluster"))
    yield started
    started.stop()
