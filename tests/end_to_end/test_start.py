"""What each command loads on small files: everything else would only make it slower to start."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from karat.cli import demo_data as demo

TRUTH, (ONE, TWO, *_) = str(demo.TRUTH), map(str, demo.runs().values())
RESULTS, CORPUS = str(demo.RESULTS), str(demo.HERE / "corpus.jsonl")
BASELINE = ("--baseline", ONE, "--max-drop", "nDCG@10=0.9")

COMMAND_LINE = {"click"}
EVALUATION = {*COMMAND_LINE, "numpy"}
# Modules that are slow to import, or belong to a feature that few calls use; third-party packages are watched anyway.
SLOW = {
    "concurrent.futures", "hashlib", "karat.analysis.bounds", "karat.analysis.diff", "karat.analysis.explain",
    "karat.analysis.slices", "karat.measures.answers.models", "karat.comparison", "karat.comparison.gate",
    "karat.components", "karat.evaluation", "karat.evaluation.eval_run_result", "karat.reading.pairs.delimited_blocks",
    "karat.reading.pairs.trec_blocks", "karat.reading.records.spans", "karat.scores",
    "logging", "numpy.ma", "numpy.random", "statistics",
}  # fmt: skip
EVALUATING = {*EVALUATION, "karat.evaluation", "karat.scores"}
# Scores are compared only if they have the same digests of the ground truth.
COMPARING = {*EVALUATING, "karat.comparison", "hashlib"}
CHECKING = {*EVALUATING, "hashlib", "numpy.ma"}
ARROW = {"pyarrow", "cloudpickle", "concurrent.futures", "logging"}  # cloudpickle, if it is installed, loads the others
RESAMPLING = {"hashlib", "numpy.ma", "numpy.random", "statistics"}

MAY_LOAD = {
    ("--version",): COMMAND_LINE,
    ("--help",): COMMAND_LINE,
    ("evaluate", "--no-such-option"): COMMAND_LINE,
    ("measures",): EVALUATION,
    ("evaluate", TRUTH, ONE, TWO): EVALUATING,
    ("evaluate", RESULTS, "-m", "TokenF1", "-m", "AP"): {*EVALUATING, "orjson"},
    ("look", RESULTS): {*EVALUATING, "orjson", "hashlib"},
    ("look", TRUTH, ONE): EVALUATING,
    ("check", "--explain", "K030"): {*EVALUATION, "karat.scores"},
    ("check", TRUTH, ONE, TWO): CHECKING,
    ("check", TRUTH, ONE, "--corpus", CORPUS): CHECKING | ARROW | {"orjson"},  # ids of texts are columns of Arrow
    ("check", RESULTS): {*CHECKING, "orjson"},
    ("evaluate", TRUTH, ONE, "--ci"): EVALUATING | RESAMPLING,
    ("compare", TRUTH, ONE, TWO): COMPARING | RESAMPLING,
    ("diff", TRUTH, ONE, TWO): {*COMPARING, "karat.analysis.diff", "karat.analysis.explain"},
    ("gate", TRUTH, ONE, "--min", "nDCG@10=0.1"): {*COMPARING, "karat.comparison.gate"},
    ("trec", TRUTH, ONE): EVALUATION,
    ("trec", "-c", "-q", "-m", "all_trec", "--trec-eval", "9", TRUTH, ONE): EVALUATION,
    ("convert", ONE, os.devnull, "--output-format", "csv"): {
        *EVALUATION,
        *ARROW,
        "hashlib",
        "karat.reading.pairs.delimited_blocks",
        "karat.reading.pairs.trec_blocks",
        "karat.scores",
    },
    ("gate", TRUTH, TWO, *BASELINE): COMPARING | RESAMPLING | {"karat.comparison.gate"},
}


@pytest.mark.parametrize("words", MAY_LOAD, ids=lambda words: " ".join(Path(word).name for word in words))
def test_a_command_on_small_files_loads_only_what_it_needs(words: tuple[str, ...]) -> None:
    environment = {**os.environ, "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "karat", *words], capture_output=True, text=True, env=environment
    )
    names = [line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")]
    # What is loaded before karat, such as plugins of the environment, is not its doing.
    loaded = names[names.index("karat") :]
    packages = {name.partition(".")[0] for name in loaded} - set(sys.stdlib_module_names) - {"karat"}
    found = {name for name in packages if find_spec(name) and "_sysconfigdata" not in name} | SLOW.intersection(loaded)
    assert found <= MAY_LOAD[words]
    assert found >= {"click", "numpy"} & MAY_LOAD[words], done.stderr
