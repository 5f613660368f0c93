"""`python -m tests.fuzz` tries hostile inputs and the property tests for some time.

With `--inputs NUMBER`, it tries exactly so many hostile inputs, the same ones on every machine, and no property tests;
with `--repeat NUMBER`, one input of a seed again.
"""

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
from tests.fuzz.supervisor import Tried, supervise
from tests.fuzz.worker import attempt, prepare

# The numbers of the inputs that are tried beside the property tests, and after them.
_DURING, _AFTER = range(1_000_000_000), range(1_000_000_000, 2_000_000_000)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="number of processes")
    parser.add_argument("--inputs", type=int, metavar="NUMBER", help="try so many inputs, instead of for some time")
    parser.add_argument("--repeat", type=int, metavar="NUMBER", help="try only this input")
    chosen = parser.parse_args()
    if chosen.repeat is not None:
        return _repeat(chosen.seed, chosen.repeat)

    def show(number: int, failure: Failure) -> None:
        repeat = f"make fuzz SEED={chosen.seed} REPEAT={number}"
        print(f"\nFAILURE: {failure.signature}\n{failure.text}\nrepeat: {repeat}", flush=True)

    if chosen.inputs is not None:
        return _summarize(supervise(chosen.seed, range(chosen.inputs), lambda: False, chosen.jobs, show), Counter())
    end = time.monotonic() + chosen.seconds
    # Property tests take the place of the last worker for a third of the time.
    with (
        tempfile.TemporaryFile("w+") as output,
        start_properties(chosen.seed, chosen.seconds / 3, output) as properties,
    ):
        tried = supervise(chosen.seed, _DURING, lambda: properties.poll() is not None, max(1, chosen.jobs - 1), show)
        output.seek(0)
        *lines, examples = output.read().splitlines()
    if properties.returncode != 0:
        print("\nFAILURE: a property test, with this seed", *lines, sep="\n", flush=True)
        tried.failures["property test"] += 1
    more = supervise(chosen.seed, _AFTER, lambda: time.monotonic() > end, chosen.jobs, show)
    both = Tried(tried.inputs + more.inputs, tried.failures + more.failures)
    return _summarize(both, Counter(json.loads(examples)))


def _summarize(tried: Tried, examples: Counter[str]) -> int:
    """Print what was tried and what failed; the status of the program."""
    calls = Counter({label: count for label, count in tried.inputs.items() if label.startswith("call ")})
    print(f"\n{calls.total():,} calls of {len(calls)} functions")
    for title, counts in (("damaged files", tried.inputs - calls), ("examples of property tests", examples)):
        if counts:
            print(
                f"{counts.total():,} {title}:", ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items()))
            )
    for signature, count in tried.failures.most_common():
        print(f"{count:>9,}  {signature}")
    print(f"{len(tried.failures)} kinds of failures" if tried.failures else "no failures")
    return 1 if tried.failures else 0


def _repeat(seed: int, number: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        label, failure = attempt(seed, number, Path(folder), print)
    print(label, failure.text if failure else "no failure", sep="\n")
    return 1 if failure else 0


if __name__ == "__main__":
    sys.exit(main())
