"""`python -m tests.fuzz` tries hostile inputs for some time; with `--repeat NUMBER`, one input of a seed again."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.fuzz.failure import Failure
from tests.fuzz.properties import start_properties
from tests.fuzz.supervisor import supervise
from tests.fuzz.worker import attempt, prepare

LATER = 1_000_000_000  # the first number of the inputs that are tried after the property tests


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="number of processes")
    parser.add_argument("--repeat", type=int, metavar="NUMBER", help="try only this input")
    chosen = parser.parse_args()
    if chosen.repeat is not None:
        return _repeat(chosen.seed, chosen.repeat)

    def show(number: int, failure: Failure) -> None:
        repeat = f"make fuzz SEED={chosen.seed} REPEAT={number}"
        print(f"\nFAILURE: {failure.signature}\n{failure.text}\nrepeat: {repeat}", flush=True)

    end = time.monotonic() + chosen.seconds
    # Property tests take the place of the last worker for a third of the time.
    with (
        tempfile.TemporaryFile("w+") as output,
        start_properties(chosen.seed, chosen.seconds / 3, output) as properties,
    ):
        tried = supervise(chosen.seed, 0, lambda: properties.poll() is not None, max(1, chosen.jobs - 1), show)
        output.seek(0)
        *lines, examples = output.read().splitlines()
    if properties.returncode != 0:
        print("\nFAILURE: a property test, with this seed", *lines, sep="\n", flush=True)
        tried.failures["property test"] += 1
    more = supervise(chosen.seed, LATER, lambda: time.monotonic() > end, chosen.jobs, show)
    _print_counts(tried.inputs + more.inputs, Counter(json.loads(examples)))
    failures = tried.failures + more.failures
    for signature, count in failures.most_common():
        print(f"{count:>9,}  {signature}")
    print(f"{len(failures)} kinds of failures" if failures else "no failures")
    return 1 if failures else 0


def _print_counts(inputs: Counter[str], examples: Counter[str]) -> None:
    calls = Counter({label: count for label, count in inputs.items() if label.startswith("call ")})
    print(f"\n{calls.total():,} calls of {len(calls)} functions")
    for title, counts in (("damaged files", inputs - calls), ("examples of property tests", examples)):
        print(
            f"{counts.total():,} {title}:", ", ".join(f"{label} {count:,}" for label, count in sorted(counts.items()))
        )


def _repeat(seed: int, number: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        label, failure = attempt(seed, number, Path(folder), print)
    print(label, failure.text if failure else "no failure", sep="\n")
    return 1 if failure else 0


if __name__ == "__main__":
    sys.exit(main())
