"""A process that tries one input after the other, and reports each in a line of JSON.

It is ended by the operating system if one input takes too long, also inside compiled code; a crash ends it as well. The
supervisor sees both, and knows from the reports which input it was.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.fuzz.failure import Failure

CPU_SECONDS = 10
_WALL_SECONDS = 120  # for an input that waits for something that never happens
_MEMORY = 4 << 30
# A call takes less time than a command.
_TURNS = ("call", "call", "call", "file")


def main(seed: int, first: int, step: int, last: int) -> None:
    """Try the inputs `first`, `first + step`, ... up to `last`, or until somebody ends this process."""
    import resource  # not on Windows, where tests import the rest of this module

    reports = os.fdopen(os.dup(1), "w", buffering=1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nothing, standard)
    logging.disable()
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    folder = Path(tempfile.mkdtemp(dir=sys.argv[-1]))
    prepare(folder)
    for number in range(first, last + 1, step):
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        signal.setitimer(signal.ITIMER_REAL, _WALL_SECONDS)
        label, failure = attempt(seed, number, folder)
        report = {"number": number, "label": label, "failure": failure and vars(failure)}
        print(json.dumps(report), file=reports)


def attempt(
    seed: int, number: int, folder: Path, announce: Callable[[str], object] = lambda _: None
) -> tuple[str, Failure | None]:
    """What was tried in one input, and what went wrong. It depends on nothing but the two numbers.

    `announce` gets the input before it is tried, for inputs that never come back.
    """
    from tests.fuzz.calls import fuzz_call
    from tests.fuzz.files import fuzz_file

    random = Random(f"{seed} {number}")
    if kind_of(number) == "call":
        label, failure = fuzz_call(random, announce)
        return f"call {label}", failure
    return fuzz_file(random, folder, announce)


def kind_of(number: int) -> str:
    return _TURNS[number // 2 % len(_TURNS)]  # both of two workers get every kind


def prepare(folder: Path) -> None:
    """Import everything and write the valid files before the first input, whose time is limited."""
    from tests.fuzz.calls import prepare_calls
    from tests.fuzz.files import prepare_files

    os.chdir(folder)
    prepare_files(folder)
    prepare_calls()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:5]))
