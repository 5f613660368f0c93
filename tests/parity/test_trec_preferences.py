"""Preferences and judgment groups have the values that trec_eval's C code computes, to the last digit printed."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from karat import KaratError
from karat.compat.measures import Judgments
from karat.compat.trec_eval import TrecOptions, run_trec_eval
from tests.parity.test_trec_command import printed

CASES = 100
COUNTS = "prefs_num_"


@pytest.fixture(scope="module")
def library() -> str:
    """The library of pytrec-eval-terrier."""
    found = importlib.util.find_spec("pytrec_eval_ext")
    if found is None or found.origin is None or sys.platform == "win32":
        pytest.skip("pytrec-eval-terrier is not installed here: run tests/parity/install_peers.py")
    return found.origin


def lines_of_truth(random: Random, judgments: Judgments, documents: list[str]) -> list[str]:
    """Judgments of a few groups. Some contradict each other; without subgroups, no document is listed twice."""
    choices: list[list[float]] = [[0, 1], [0, 0, 0, 1], [0, 1, 2, 3], [1, 2, 3], [0], [0, 0, 0, 0, 2, 1]]
    if judgments != "qrels_jg":
        choices.append([0, 0.5, 1.5, 3])
    grades, contradictions = random.choice(choices), random.choice([0, 0, 0.05])
    lines = []
    for query in range(random.randint(1, 4)):
        for group in range(random.choice([1, 1, 2, 3])):
            levels = {document: random.choice(grades) for document in documents}
            for subgroup in range(random.choice([1, 2, 4]) if judgments == "prefs" else 1):
                for document in random.sample(documents, random.randint(1, len(documents))):
                    level = random.choice(grades) if random.random() < contradictions else levels[document]
                    name = f" s{subgroup}" if judgments == "prefs" else ""
                    lines.append(f"q{query} g{group}{name} {document} {level}\n")
    random.shuffle(lines)
    return lines


def write_case(folder: Path, seed: int) -> list[Any]:
    random = Random(seed)
    judgments: Judgments = random.choice(["prefs", "prefs", "qrels_prefs", "qrels_jg"])
    documents = [f"d{at}" for at in range(random.choice([2, 3, 5, 8, 15, 40]))]
    truth, run = folder / f"{seed}.truth", folder / f"{seed}.run"
    truth.write_text("".join(lines_of_truth(random, judgments, documents)))
    scores = random.choice([[7.0], [1.0, 0.5], [random.random() for _ in range(30)]])
    listed = [*documents, "unjudged", "unknown"]
    run.write_text("".join(
        f"q{query} Q0 {document} 0 {random.choice(scores)!r} t\n"
        for query in range(4) for document in random.sample(listed, random.randint(1, len(listed)))
    ))  # fmt: skip
    depth = random.choice([None, None, 1, 3, 10])
    return [judgments, str(truth), str(run), random.choice([1, 1, 2]), depth, random.random() < 0.25]


def expected_lines(library: str, cases: list[list[Any]]) -> list[dict[tuple[str, str], str] | None]:
    """What trec_eval prints for each query of each case; None where it refuses a file."""
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("trec_eval_library.py"), library],
        input=json.dumps(cases), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [
        values and {
            (query, name): f"{value:.0f}" if name.startswith(COUNTS) else f"{value:6.4f}"
            for query, of_query in values.items() for name, value in of_query.items()
        }
        for values in json.loads(done.stdout)
    ]  # fmt: skip


def options_of(judgments: Judgments, **more: Any) -> TrecOptions:
    measures = ("qrels_jg",) if judgments == "qrels_jg" else ("all_prefs",)
    return TrecOptions(measures, per_query=True, summary=False, judgments=judgments, **more)


def test_every_line_has_the_value_of_trec_eval(library: str, tmp_path: Path) -> None:
    cases = [write_case(tmp_path, seed) for seed in range(CASES)]
    refused = 0
    for seed, (case, expected) in enumerate(zip(cases, expected_lines(library, cases), strict=True)):
        judgments, truth, run, level, depth, judged_only = case
        options = options_of(judgments, level=level, depth=depth, judged_only=judged_only, version=9)
        try:
            found = printed(run_trec_eval(truth, run, options).text)
        except KaratError:
            assert expected is None, seed
            refused += 1
            continue
        assert found == expected, seed
    assert 0 < refused < CASES / 3


@pytest.mark.parametrize("judgments", ["qrels_prefs", "qrels_jg"])
def test_the_qrels_of_trec_eval_have_its_values_in_other_formats(
    conformance: Path, library: str, judgments: Judgments
) -> None:
    paths = str(conformance / "qrels.test"), str(conformance / "results.test")
    (expected,) = expected_lines(library, [[judgments, *paths, 1, None, False]])
    assert printed(run_trec_eval(*paths, options_of(judgments)).text) == expected
