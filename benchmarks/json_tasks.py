"""Benchmark tasks on JSON: a run in one JSON file, and answers in JSON lines, read by karat and by Python's json.

For the run, Python's json only loads the file, which karat also checks and converts to arrays. For the answers, both
read JSON lines into gold and predicted answers: karat from the files, its peer from lists that json.loads returns.
"""

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import answer_tasks
from component_tasks import Means
from sizes import FOLDER, Size

TASKS = ("json", "json-answers")
ANSWERS = 10
"""How many times as many answers are read as the other tasks compare."""


def prepared(library: str, kind: str, size: Size) -> Callable[[], Means]:
    """The function to be timed."""
    if kind == "json":
        path = run_in_json(size)
        return (lambda: loaded_run(path)) if library == "python" else karat_run(path)
    importlib.import_module("karat.reading.records.answers")
    importlib.import_module("orjson")
    paths = answers_in_lines(size)
    return lambda: read_answers(*([*map(records, paths)] if library == "python" else map(str, paths)))


def loaded_run(path: Path) -> Means:
    with path.open() as file:
        run = json.load(file)
    return {"pairs": sum(map(len, run.values()))}


def karat_run(path: Path) -> Callable[[], Means]:
    from karat.reading.pairs.any_source import read_run, read_truth

    importlib.import_module("orjson")
    truth = read_truth({"q": {"d": 1}})

    def read() -> Means:
        run: Any = read_run(str(path), truth)
        return {"pairs": sum(len(batch().scores) for batch in run.batches())}

    return read


def read_answers(gold: Any, predicted: Any) -> Means:
    from karat.reading.records.answers import read_gold_answers, read_predicted_answers

    golds = read_gold_answers(gold)
    return {"answers": len(golds.by_query) + len(read_predicted_answers(predicted, golds.by_query).by_query)}


def records(path: Path) -> list[Any]:
    with path.open() as file:
        return [json.loads(line) for line in file]


def run_in_json(size: Size) -> Path:
    """The run of the other tasks as `{query: {doc: score}}`."""
    path = FOLDER / f"{size.name}.json"
    if not path.exists():
        run: dict[str, dict[str, float]] = {}
        with size.run.open() as file:
            for line in file:
                query, _, doc, _, score, _ = line.split()
                run.setdefault(query, {})[doc] = float(score)
        write(path, json.dumps(run))
    path.read_bytes()
    return path


def answers_in_lines(size: Size) -> list[Path]:
    """Gold and predicted answers, one object per line."""
    paths = [FOLDER / f"{size.name}-{name}.jsonl" for name in ("gold", "predicted")]
    if not all(path.exists() for path in paths):
        gold, predicted = answer_tasks.data(size.answers * ANSWERS)
        for path, name, texts in zip(paths, ("gold_answers", "answer"), (gold, predicted), strict=True):
            write(path, "".join(json.dumps({"query": query, name: text}) + "\n" for query, text in texts.items()))
    for path in paths:
        path.read_bytes()
    return paths


def write(path: Path, text: str) -> None:
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(text)
    unfinished.rename(path)
