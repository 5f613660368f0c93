"""A real cluster, of which a part is lost, or runs another Python."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.cluster import Cluster, wait_for


def test_a_worker_that_is_killed_in_the_middle_changes_nothing(cluster: Cluster, tmp_path: Path) -> None:
    """All buckets wait until the worker is killed, so that it is lost in the middle at any speed."""
    lost, kept = (str(worker.log.parent) for worker in cluster.workers)

    def buckets_on(folder: str) -> int:
        return sum(path.read_text().startswith(folder) for path in tmp_path.iterdir())

    with cluster.driver("-m", "tests.spark.waiting_sums", cluster.master, str(tmp_path)) as driver:
        try:
            wait_for(lambda: driver.poll() is not None or (buckets_on(lost) and buckets_on(kept)))
            cluster.workers[0].kill()
            (tmp_path / "go").touch()
            output, errors = driver.communicate(timeout=240)
        finally:
            driver.kill()
    assert (output, errors) == ("right\n", "")
    assert buckets_on(lost) == 1
    assert buckets_on(kept) >= 12, "the bucket that was lost was computed again"


def test_a_new_session_uses_the_python_of_the_driver_and_an_error_names_another_one(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program works with the driver's Python, and then lets the executors run one without pyarrow."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    python, version = tmp_path / "venv/bin/python", platform.python_version()
    monkeypatch.delenv("PYSPARK_PYTHON")
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path / "venv/bin"), os.environ["PATH"]]))  # has a python3
    with cluster.driver("-m", "tests.spark.two_pythons", cluster.master, str(python)) as driver:
        try:
            output, errors = driver.communicate(timeout=240)
        finally:
            driver.kill()
    assert errors == ""
    right, message = output.splitlines()
    assert right == "right"
    runs = f"it runs Python {version} ({python}, on {platform.node()}), and the driver runs Python {version} "
    start = "Spark: an executor cannot import a module (No module named 'pyarrow'): "
    assert message.startswith(f"{start}{runs}({sys.executable}). ")
