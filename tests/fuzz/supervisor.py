"""Runs workers for some time, starts one anew that crashed, and collects what was tried and what failed."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz.failure import Failure
from tests.fuzz.worker import CPU_SECONDS, kind_of

_ROOT = Path(__file__).parents[2]
_MEMORY_FOLDER = Path("/dev/shm")  # where writing files costs nothing, if the system has it


@dataclass
class Tried:
    """What all workers tried so far."""

    inputs: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)

    def add(self, label: str, failure: Failure | None) -> bool:
        """Count an input; whether its failure is the first of its kind."""
        self.inputs[label] += 1
        if failure is None:
            return False
        self.failures[failure.signature] += 1
        return self.failures[failure.signature] == 1


@dataclass
class Worker:
    """A running worker, and the number of the input that it is trying."""

    process: subprocess.Popen[bytes]
    number: int
    unfinished: bytes = b""
    """the beginning of a report"""

    def reports(self) -> list[dict[str, Any]] | None:
        """What it has reported since the last time; None if it has ended."""
        assert self.process.stdout is not None
        received = os.read(self.process.stdout.fileno(), 1 << 16)
        if not received:
            return None
        *lines, self.unfinished = (self.unfinished + received).split(b"\n")
        return list(map(json.loads, lines))

    def end(self) -> None:
        """End it before its last input."""
        self.process.kill()
        with self.process:
            self.process.wait()


def supervise(
    seed: int, inputs: range, is_over: Callable[[], bool], jobs: int, show: Callable[[int, Failure], None]
) -> Tried:
    """Try the inputs until all are tried or it is over. Each kind of failure is shown when it first happens."""
    tried = Tried()
    parent = _MEMORY_FOLDER if os.access(_MEMORY_FOLDER, os.W_OK) else None

    with tempfile.TemporaryDirectory(dir=parent) as folder, selectors.DefaultSelector() as selector:

        def start(first: int) -> None:
            if first in inputs:
                worker = Worker(_started(seed, first, jobs, inputs[-1], folder), first)
                selector.register(worker.process.stdout or 0, selectors.EVENT_READ, worker)

        for first in inputs[:jobs]:
            start(first)
        while selector.get_map() and not is_over():
            for key, _ in selector.select(timeout=0.1):
                worker: Worker = key.data
                if _collect(worker, tried, jobs, show):
                    continue
                selector.unregister(key.fileobj)
                if crash := _crash(worker):
                    if tried.add(f"{kind_of(worker.number)} that ended the worker", crash):
                        show(worker.number, crash)
                    start(worker.number + jobs)
        for key in selector.get_map().values():
            key.data.end()
    return tried


def _collect(worker: Worker, tried: Tried, step: int, show: Callable[[int, Failure], None]) -> bool:
    """Count what a worker has reported; False if it has ended."""
    reports = worker.reports()
    for each in reports or ():
        failure = Failure(**each["failure"]) if each["failure"] else None
        if tried.add(each["label"], failure) and failure:
            show(each["number"], failure)
        worker.number = each["number"] + step
    return reports is not None


def _started(seed: int, first: int, step: int, last: int, folder: str) -> subprocess.Popen[bytes]:
    # The order of sets, and with it what a call does, must be the same each time. Arrow's own memory pool reserves
    # gigabytes of addresses that it does not use, and the limit of a worker counts them.
    environment = os.environ | {
        "PYTHONHASHSEED": "0",
        "OPENBLAS_NUM_THREADS": "1",
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        "HAYSTACK_TELEMETRY_ENABLED": "False",
    }
    words = [sys.executable, "-m", "tests.fuzz.worker", str(seed), str(first), str(step), str(last), folder]
    return subprocess.Popen(words, cwd=_ROOT, stdout=subprocess.PIPE, env=environment)


def _crash(worker: Worker) -> Failure | None:
    """Why a worker ended, unless it had tried its last input."""
    with worker.process:
        status = worker.process.wait()
    if status == 0:
        return None
    if status in (-signal.SIGPROF, -signal.SIGALRM):
        return Failure(f"slow {kind_of(worker.number)}", f"took more than {CPU_SECONDS} seconds")
    return Failure(f"crash with status {status}", f"the process ended with status {status}")
