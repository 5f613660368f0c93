"""Sessions, and the progress of their jobs."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest

from karat import KaratError
from karat.engines.spark import session as module
from karat.engines.spark.session import job_progress, spark_session
from karat.errors.installing import pip_install
from tests.spark.cluster import wait_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GROUP = "spark.jobGroup.id"
SEND = "py4j.clientserver.ClientServerConnection.send_command"


def test_a_session_that_is_there_is_used_and_stays(spark: SparkSession) -> None:
    another = spark.newSession()
    frame = another.range(1)
    for given, sources, expected in ((another, (), another), (None, (frame,), another), (None, ("a.parquet",), spark)):
        with spark_session(given, *sources) as found:
            assert found is expected
    assert frame.count() == 1
    with pytest.raises(KaratError, match="session='local' is not a session of Spark"), spark_session("local"):
        pass


def test_ctrl_c_in_a_call_of_java_writes_no_trace(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "_new_session", lambda _: Mock())
    with spark_session(master="local"):
        with monkeypatch.context() as patch:
            patch.setattr(SEND, Mock(side_effect=KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                spark.range(1)
        logging.getLogger().warning("another message")
    assert [each.getMessage() for each in caplog.records] == ["another message"]


def test_without_java_an_error_says_so(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with (
        pytest.raises(KaratError, match=r"^Spark: Java was not found\. Spark needs Java 17"),
        spark_session(master="local"),
    ):
        pass
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(KaratError, match="which contains no Java"), spark_session(master="local"):
        pass


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        ('WARN x\nException in thread "main" org.apache.X: Master must be y\n\tat z', "Master must be y"),
        ("ERROR StandaloneSchedulerBackend: All masters are unresponsive! Giving up.", "no master answers there"),
        (
            "java.lang.UnsupportedClassVersionError: org/apache/x",
            "this Java is too old, and Spark needs Java 17 or newer",
        ),
        ("", "it failed"),
    ],
)
def test_what_java_wrote_tells_why_spark_did_not_start(log: str, reason: str) -> None:
    assert module._reason(RuntimeError("org.apache.X: it failed\n\tat z"), log) == reason


def test_an_old_pyspark_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import pyspark

    monkeypatch.setattr(pyspark, "__version__", "3.5.6")
    with (
        pytest.raises(KaratError, match=rf"pyspark 3\.5\.6 is too old.*{re.escape(pip_install('spark'))}"),
        spark_session(),
    ):
        pass


@pytest.mark.parametrize("group", [None, "a notebook's cell"])
def test_progress_counts_the_tasks_of_the_jobs_that_are_started_meanwhile(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, group: str | None
) -> None:
    shown: list[tuple[int, int]] = []

    @contextmanager
    def bar(unit: str) -> Iterator[Any]:
        yield lambda done, total: shown.append((done, total))

    monkeypatch.setattr(module, "progress_bar", bar)
    monkeypatch.setattr(module, "_SECONDS", 0.02)
    context = spark.sparkContext
    context.setLocalProperty(GROUP, group)
    try:
        spark.range(10, numPartitions=5).count()  # not counted
        with job_progress(spark, True):
            assert spark.range(4, numPartitions=4).collect()
            wait_for(lambda: (4, 4) in shown)  # Spark's tracker may learn of it later
        assert context.getLocalProperty(GROUP) == group, "the jobs of the caller belong to the same group as before"
    finally:
        context.setLocalProperty(GROUP, None)
    assert {total for _, total in shown} <= {0, 4}
