"""A real cluster, of which a part is lost, or runs another Python."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.cluster import Cluster, Server, wait_for


@pytest.mark.parametrize(("program", "parts"), [("waiting_sums", 12), ("waiting_ranges", 6)])
def test_a_worker_that_is_killed_in_the_middle_changes_nothing(
    cluster: Cluster, tmp_path: Path, program: str, parts: int
) -> None:
    """All buckets, or ranges of a file, wait until the worker is killed, so that it is lost in the middle."""
    lost, kept = cluster.two_workers()

    def parts_on(worker: Server) -> int:
        folder = str(worker.log.parent)
        return sum(path.read_text().startswith(folder) for path in tmp_path.iterdir())

    with cluster.driver("-m", f"tests.spark.{program}", cluster.master, str(tmp_path)) as driver:
        try:
            wait_for(lambda: driver.poll() is not None or (parts_on(lost) and parts_on(kept)))
            lost.kill()
            (tmp_path / "go").touch()
            output, errors = driver.communicate(timeout=240)
        finally:
            driver.kill()
    assert (output, errors) == ("right\n", "")
    assert parts_on(lost) == 1
    assert parts_on(kept) >= parts, "the part that was lost was computed again"


def test_files_that_only_the_driver_finds_are_an_error_that_names_the_executor(
    cluster: Cluster, tmp_path: Path
) -> None:
    """The run is in a folder that is mounted for the process of the driver only."""
    within = ["unshare", "--map-root-user", "--mount"]
    if not shutil.which("unshare") or subprocess.run([*within, "true"], capture_output=True).returncode:
        pytest.skip("this system does not let a process have mounts of its own")
    files, mounted = tmp_path / "files", tmp_path / "mounted"
    files.mkdir()
    mounted.mkdir()
    (tmp_path / "truth.qrels").write_text("q1 0 d1 1\n")
    (files / "run.trec").write_text("q1 Q0 d1 1 1.5 run\n")
    within += ["sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"', str(files), str(mounted)]
    words = ["-m", "karat", "evaluate", tmp_path / "truth.qrels", mounted / "run.trec", "-m", "AP", "--engine", "spark"]
    with cluster.driver(*map(str, words), "--master", cluster.master, within=within) as driver:
        try:
            output, errors = driver.communicate(timeout=240)
        finally:
            driver.kill()
    assert (output, driver.returncode) == ("", 2)
    assert errors == (
        f"karat: {mounted / 'run.trec'}: an executor (on {platform.node()}) does not find this file, which the driver"
        " has found. Put it where all machines can read it, such as s3://bucket/folder, hdfs://host/folder or a shared"
        " disk.\n"
    )


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
