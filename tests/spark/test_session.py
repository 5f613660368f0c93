"""Sessions, and the progress of their jobs."""

from __future__ import annotations

import logging
import platform
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest

from karat import KaratError
from karat.engines.spark import session as module
from karat.engines.spark.session import job_progress, spark_session
from karat.errors.installing import pip_install
from tests.spark.cluster import wait_for
from tests.spark.toy_work import LEFT, buckets_of, sums, table_of

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


def test_a_master_that_is_not_there_is_an_error_that_names_it(spark: SparkSession) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    message = f"'spark://127.0.0.1:{port}': no Spark master answers there (connection refused). Start it, or check"
    assert message in error_with_master(f"spark://127.0.0.1:{port}")
    assert "(connection refused)" in error_with_master(f"spark://127.0.0.1:{port},127.0.0.1:{port}")
    assert "'spark://none.invalid:7077': no Spark master answers there (its host is unknown)" in error_with_master(
        "spark://none.invalid:7077"
    )


def test_something_else_that_listens_is_not_a_master(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SECONDS_TO_ANSWER", 1)
    with socket.create_server(("127.0.0.1", 0)) as server:  # accepts connections, and says nothing
        master = f"spark://127.0.0.1:{server.getsockname()[1]}"
        assert f"{master!r}: no Spark master answers there (no answer in 1 seconds)" in error_with_master(master)

        def answer() -> None:
            while True:
                connection, _ = server.accept()
                with connection:
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                    connection.recv(100)

        threading.Thread(target=answer, daemon=True).start()
        assert f"{master!r}: no Spark master answers there (" in error_with_master(master)


def error_with_master(master: str) -> str:
    with pytest.raises(KaratError) as raised, spark_session(master=master):
        pass
    return str(raised.value)


def other_python() -> str:
    """A Python of another minor version, or nothing."""
    names = {f"python3.{minor}" for minor in range(8, 20)} - {f"python3.{sys.version_info.minor}"}
    folders = [None, *(str(path) for path in Path(sys.base_prefix).parent.glob("*/bin"))]
    found = (shutil.which(name, path=folder) for folder in folders for name in sorted(names))
    works = (path for path in found if path and subprocess.run([path, "-c", ""], capture_output=True).returncode == 0)
    return next(works, "")


def error_of_python(spark: SparkSession, python: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(spark.sparkContext, "pythonExec", python)
    frame = spark.range(9).selectExpr("cast(id as string) as query", "cast(id as double) as number")
    table = replace(table_of(spark, LEFT), frame=frame, key=frame["query"])
    with pytest.raises(KaratError) as raised:
        buckets_of(sums, table, buckets=1).collect()
    return str(raised.value)


DRIVER = f"the driver runs Python {platform.python_version()} ({sys.executable}). "
SETTING = "PYSPARK_PYTHON (or spark.pyspark.python) to a Python "


def test_executors_without_a_module_are_an_error_that_names_both_pythons(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    python = tmp_path / "venv/bin/python"
    message = error_of_python(spark, str(python), monkeypatch)
    runs = f"it runs Python {platform.python_version()} ({python}, on {platform.node()}), and {DRIVER}"
    assert message.startswith(f"Spark: an executor cannot import a module (No module named 'pyarrow'): {runs}Install ")
    assert f" there, or set {SETTING}" in message


def test_executors_with_another_version_of_python_are_an_error_that_names_both(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not (python := other_python()):
        pytest.skip("there is no other version of Python on this machine")
    message = error_of_python(spark, python, monkeypatch)
    start = "Spark: an executor has another version of Python than the driver: it runs Python 3."
    assert message.startswith(start)
    assert f", on {platform.node()}), and {DRIVER}Set {SETTING}" in message


def test_executors_that_find_no_python_are_an_error_that_names_it(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = error_of_python(spark, "/no/such/python", monkeypatch)
    start = r"Spark: an executor on \S+ cannot start its Python, /no/such/python \(No such file or directory\): "
    assert re.match(start + re.escape(f"{DRIVER}Set {SETTING}"), message)


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
