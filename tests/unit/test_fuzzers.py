"""The fuzzers of `make fuzz` find faults that are planted here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any, NoReturn
from unittest.mock import patch

import pytest

from karat import KaratError
from tests.fuzz import files, supervisor
from tests.fuzz.base_calls import BASE_CALLS, namespace
from tests.fuzz.calls import fuzz_call
from tests.fuzz.failure import Failure
from tests.fuzz.files import fuzz_file
from tests.platforms import on_posix


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(files, "_FAILURES", tmp_path / "failures")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    files.prepare_files(scratch)
    return scratch


def fail(*_: Any, **__: Any) -> NoReturn:
    raise IndexError("planted")


def test_base_calls_are_valid(folder: Path) -> None:
    os.chdir(folder)
    names = namespace()
    for call in BASE_CALLS:
        eval(call, dict(names))


def test_a_fault_in_a_public_function_is_found_and_the_call_is_shown(folder: Path) -> None:
    with patch("karat.scores.exports.delimited", fail):
        found = [failure for seed in range(40) if (failure := fuzz_call(Random(seed), str)[1]) is not None]
    failure = next(failure for failure in found if "IndexError at scores/exports" in failure.signature)
    *_, call = failure.text.splitlines()
    assert compile(call, "<call>", "eval")


def test_a_fault_in_reading_a_file_is_found_and_the_smallest_file_is_saved(folder: Path) -> None:
    with patch("karat.evaluation.reading.read_truth", fail):
        failures = (fuzz_file(Random(seed), folder, str)[1] for seed in range(200))
        failure = next(failure for failure in failures if failure is not None and "a damaged truth" in failure.text)
    assert "IndexError at evaluation/" in failure.signature
    assert "\ncd " in failure.text
    damaged = max((folder.parent / "failures").rglob("damaged.*"), key=lambda path: path.stat().st_mtime_ns)
    assert len(damaged.read_bytes()) <= 1  # some commands do not read ground truth that is empty


def test_a_file_that_a_failed_command_wrote_is_found(folder: Path) -> None:
    def write_and_fail(*_: Any, **__: Any) -> NoReturn:
        Path("left.part").write_text("draft")
        raise KaratError("planted")

    with patch("karat.evaluation.reading.read_truth", write_and_fail):
        failures = (fuzz_file(Random(seed), folder, str)[1] for seed in range(100))
        expected = "a draft was left; a failed command wrote a file"  # look and check report it
        assert any(failure is not None and expected in failure.text for failure in failures)


WORKER = """
import json, os, signal
print(json.dumps({"number": 0, "label": "call f", "failure": None}), flush=True)
os.kill(os.getpid(), NUMBER)
"""


@pytest.mark.parametrize(("number", "signature"), [("signal.SIGPROF", "slow call"), ("6", "crash with status -6")])
@on_posix
def test_an_input_that_ends_the_worker_is_found(number: str, signature: str) -> None:
    code = WORKER.replace("NUMBER", number)

    def started(*_: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)

    shown: list[tuple[int, Failure]] = []
    with patch.object(supervisor, "_started", started):
        tried = supervisor.supervise(1, range(100), lambda: bool(shown), 1, lambda *failure: shown.append(failure))
    assert tried.inputs["call f"] > 0
    assert [(number, failure.signature) for number, failure in shown] == [(1, signature)]


@on_posix
def test_as_many_inputs_are_tried_as_asked_for() -> None:
    shown: list[Failure] = []
    tried = supervisor.supervise(1, range(5), lambda: False, 2, lambda _, failure: shown.append(failure))
    assert (tried.inputs.total(), shown) == (5, [])
