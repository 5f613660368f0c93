"""Ctrl-C and SIGTERM at chosen moments, and standard streams that cannot be written."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.in_process import plain_environment
from tests.platforms import on_posix

pytestmark = on_posix

# Runs karat, which gets a signal while it imports a module, deletes an object, or has just called a function of os.
INTERRUPTED = """
import os, sys
from karat.__main__ import main

def interrupt(*_):
    os.kill(os.getpid(), int(number))

class Finder:
    @staticmethod
    def find_spec(name, *_):
        if name == moment:
            interrupt()

class Deleted:
    def __del__(self):
        interrupt()

class Imported:
    @staticmethod
    def find_spec(name, *_):
        if name == "click":
            Deleted()

number, moment, *sys.argv[1:] = sys.argv[1:]
if moment in ("open", "fsync", "replace"):
    real = getattr(os, moment)
    def during(*words):
        result = real(*words)
        interrupt()
        interrupt()
        return result
    setattr(os, moment, during)
else:
    sys.meta_path.insert(0, Imported if moment == "deletion" else Finder)
main()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "truth.qrels").write_text("q 0 a 1\n")
    (tmp_path / "run.trec").write_text("q Q0 b 1 2 t\nq Q0 a 2 1 t\n")
    return tmp_path


def interrupted(folder: Path, number: signal.Signals, moment: str) -> tuple[int, bytes, bytes]:
    """The status, the output and the errors of a command that gets a signal at a moment."""
    words = ["evaluate", "truth.qrels", "run.trec", "-o", "scores.json"]
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(int(number)), moment, *words], cwd=folder, capture_output=True,
        check=False, env=plain_environment(),
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("number", "moment"), [(signal.SIGINT, "karat.cli"), (signal.SIGTERM, "numpy"), (signal.SIGINT, "deletion")]
)
def test_a_signal_during_imports_ends_silently(number: signal.Signals, moment: str, folder: Path) -> None:
    assert interrupted(folder, number, moment) == (128 + number, b"", b"")
    assert not (folder / "scores.json").exists()


@pytest.mark.parametrize(
    ("number", "moment"), [(signal.SIGINT, "open"), (signal.SIGTERM, "fsync"), (signal.SIGINT, "replace")]
)
def test_a_signal_while_a_file_is_written_leaves_no_draft(number: signal.Signals, moment: str, folder: Path) -> None:
    (folder / "scores.json").write_text("old")
    assert interrupted(folder, number, moment) == (128 + number, b"", b"")
    assert ((folder / "scores.json").read_text() == "old") == (moment != "replace")
    assert sorted(path.name for path in folder.iterdir()) == ["run.trec", "scores.json", "truth.qrels"]


def test_a_signal_that_is_ignored_stays_ignored(folder: Path) -> None:
    command = f"trap '' INT; {sys.executable} -c '{INTERRUPTED}' 2 fsync evaluate truth.qrels run.trec -o scores.json"
    done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, check=False, env=plain_environment())
    assert (done.returncode, done.stderr) == (0, b"wrote scores.json: 1 system, 1 query, 5 measures\n")
    assert (folder / "scores.json").exists()


def test_the_library_leaves_signals_alone() -> None:
    code = "import signal, karat, karat.cli; karat.evaluate({'q': ['a']}, {'q': ['a']}, 'R')\n" \
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n" \
        "assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL"  # fmt: skip
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("words", "stderr", "status"),
    [
        ("evaluate truth.qrels run.trec --format csv", "2>/dev/full", 0),  # prints notes
        ("gate truth.qrels run.trec --min RR=0.9", "2>&-", 1),
        ("evaluate truth.qrels missing.trec", "2>/dev/full", 2),
        ("evaluate truth.qrels missing.trec", "<&- 2>&-", 2),
    ],
)
def test_a_closed_or_full_standard_error_keeps_the_status(words: str, stderr: str, status: int, folder: Path) -> None:
    (folder / "truth.qrels").write_text("q 0 a 1\nr 0 a 1\n")
    command = f"{sys.executable} -m karat {words} {stderr}"
    done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, check=False, env=plain_environment())
    assert done.returncode == status
    assert bool(done.stdout) == (status < 2)


@pytest.mark.parametrize(
    ("words", "environment"),
    [
        ("--version", {}),
        ("evaluate --help", {}),
        ("", {"_KARAT_COMPLETE": "zsh_source"}),
        ("", {"_KARAT_COMPLETE": "bash_complete", "COMP_WORDS": "karat e", "COMP_CWORD": "1"}),
    ],
)
def test_a_text_about_karat_that_cannot_be_written_is_an_error(words: str, environment: dict[str, str]) -> None:
    command = f"{sys.executable} -m karat {words} >/dev/full"
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=False, env=plain_environment(environment))
    assert done.returncode == 2
    assert done.stderr == b"karat: standard output: cannot be written: No space left on device\n"
