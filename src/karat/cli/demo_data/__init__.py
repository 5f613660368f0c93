"""The demo data set: 50 questions about gold with their ground truth, the runs of three systems, and answers.

`TRUTH` is the file of the ground truth, `RESULTS` that of a RAG system, `GENERATED` that of generated answers and
`VERDICTS` that of their labels. `PAIRS` is the file of `pairs`, and `SYSTEMS` are the names in `runs`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["GENERATED", "PAIRS", "RESULTS", "SYSTEMS", "TRUTH", "VERDICTS", "corpus", "pairs", "questions", "runs"]

HERE = Path(__file__).parent
TRUTH = HERE / "truth.qrels"
RESULTS = HERE / "results.jsonl"
GENERATED = HERE / "generated.jsonl"
VERDICTS = HERE / "verdicts.jsonl"
PAIRS = HERE / "pairs.jsonl"
SYSTEMS = ("overlap", "bm25", "bm25-rm3")


def runs() -> dict[str, Path]:
    """The run file of each system, from weakest to strongest.

    >>> from karat import demo, evaluate
    >>> scores = evaluate(demo.TRUTH, demo.runs()["bm25"], ["nDCG@10"])
    >>> f"{scores['nDCG@10']:.4f}"
    '0.4358'
    """
    return {system: HERE / "runs" / f"{system}.trec" for system in SYSTEMS}


def questions() -> list[dict[str, Any]]:
    """The questions: `query`, `text` and `gold_answers`.

    >>> len(questions()), questions()[0]["text"]
    (50, 'Why does gold not rust?')
    """
    return _lines("questions.jsonl")


def corpus() -> list[dict[str, Any]]:
    """The passages: `id`, `title` and `content`.

    >>> len(corpus()), corpus()[0]["title"]
    (247, 'Gold in the periodic table')
    """
    return _lines("corpus.jsonl")


def pairs() -> list[dict[str, Any]]:
    """Ten answers that show how answer measures differ: `query`, `question`, `gold_answers`, `answer` and `right`.

    >>> len(pairs()), pairs()[0]["gold_answers"], pairs()[0]["answer"], pairs()[0]["right"]
    (10, ['330 metres'], '330 metres.', True)
    """
    return _lines("pairs.jsonl")


def _lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / name).read_text("utf-8").splitlines()]
