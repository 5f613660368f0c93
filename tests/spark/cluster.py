"""A cluster of Spark in standalone mode: a master and workers as processes on this machine."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SETTINGS = {
    "spark.executor.memory": "450m",  # Spark refuses less
    "spark.driver.memory": "512m",
    "spark.shuffle.io.maxRetries": "1",  # what a lost executor had is computed again soon
    "spark.shuffle.io.retryWait": "200ms",
}


@dataclass(frozen=True)
class Server:
    """A process of Spark, with everything that it writes in a file. Its executors are in its process group."""

    process: subprocess.Popen[bytes]
    log: Path

    @classmethod
    def started(cls, name: str, folder: Path, *arguments: str) -> Server:
        import pyspark

        command = [str(Path(pyspark.__path__[0], "bin", "spark-class")), f"org.apache.spark.deploy.{name}"]
        command += ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0", *arguments]
        environment = {**os.environ, "SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_DIRS": str(folder)}
        folder.mkdir()
        log = folder / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output, env=environment, start_new_session=True)
        return cls(process, log)

    def says(self, pattern: str, times: int = 1) -> str:
        """Wait until something is in the log, and return it."""
        found = wait_for(lambda: re.findall(pattern, self.log.read_text("utf-8", "replace"))[times - 1 :])
        return str(found[0])

    def kill(self) -> None:
        """Kill the process and its executors, if they are still there."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class Cluster:
    """A master and two workers with one core each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workers: list[Server] = []
        with ExitStack() as stack:
            self._master = Server.started("master.Master", folder / "master")
            stack.callback(self._master.kill)
            self.master = self._master.says(r"Starting Spark master at (spark://\S+)")
            stack.callback(self._kill_workers)
            self.two_workers()
            self._stop = stack.pop_all()

    def two_workers(self) -> list[Server]:
        """Workers that are running; those that were killed are replaced."""
        running = [worker for worker in self.workers if worker.process.poll() is None]
        while len(running) < 2:
            work = self.folder / f"worker{len(self.workers)}"
            size = ["--cores", "1", "--memory", "500m", "--work-dir", str(work / "work")]
            self.workers.append(Server.started("worker.Worker", work, *size, self.master))
            running.append(self.workers[-1])
        self._master.says("Registering worker", len(self.workers))
        return running

    def stop(self) -> None:
        self._stop.close()

    def _kill_workers(self) -> None:
        for worker in self.workers:
            worker.kill()

    def driver(self, *arguments: str, within: Sequence[str] = ()) -> subprocess.Popen[str]:
        """A Python process whose session of Spark is on this cluster, if it asks for this master.

        `within` is the beginning of a command that runs it.
        """
        options = [f"--conf {name}={value}" for name, value in SETTINGS.items()]
        environment = {**os.environ, "PYSPARK_SUBMIT_ARGS": " ".join([*options, "pyspark-shell"])}
        pipes: Mapping[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen([*within, sys.executable, *arguments], env=environment, **pipes)


def wait_for(found: Callable[[], Any], seconds: float = 240) -> Any:
    """What a function returns, as soon as that is true."""
    end = time.monotonic() + seconds
    while not (result := found()):
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.05)
    return result
