"""Benchmark task on labels: a verdict file to all measures of claims; the peer reads it and computes one of them.

Each question has ten claims of the answer, labelled against each of ten passages and against the gold answer, and one
claim of the gold answer, labelled against each passage and against the answer.
"""

import importlib
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from component_tasks import Means
from sizes import FOLDER, FULL, Size

TASKS = ("verdicts",)
CLAIMS, PASSAGES, GOLD_CLAIMS = 10, 10, 1
LABELS = ("none", "none", "partial", "full")
MEASURES = (
    "Faithfulness", "ContextRecall", "ClaimPrecision", "ClaimRecall", "ClaimF1", "ContextUtilization",
    "NoiseSensitivity", "NoiseSensitivity(passages=irrelevant)", "Hallucination", "SelfKnowledge",
)  # fmt: skip
SEED = 20_240_601


def prepared(library: str, size: Size) -> Callable[[], Means]:
    """The function to be timed."""
    path = verdict_file(questions(size))
    path.read_bytes()
    return (lambda: plain_faithfulness(path)) if library == "python" else evaluated(path)


def questions(size: Size) -> int:
    return 10_000 if size is FULL else 1_000


def evaluated(path: Path) -> Callable[[], Means]:
    module = importlib.import_module("karat")
    label = {"query": "q", "item": "answer", "task": "correctness", "label": "correct"}
    module.evaluate_verdicts([label])  # imports
    importlib.import_module("orjson")

    def evaluate() -> Means:
        scores = module.evaluate_verdicts(str(path), list(MEASURES))
        return {"Faithfulness": scores["Faithfulness"]}

    return evaluate


def plain_faithfulness(path: Path) -> Means:
    supported: dict[str, dict[str, bool]] = {}
    with path.open() as file:
        for line in file:
            record = json.loads(line)
            if record["record"] == "verdict" and record["item"][0] == "c" and type(record["against"]) is list:
                claims = supported.setdefault(record["query"], {})
                claims[record["item"]] = claims.get(record["item"], False) or record["label"] == "full"
    shares = [sum(claims.values()) / len(claims) for claims in supported.values()]
    return {"Faithfulness": sum(shares) / len(shares)}


def verdict_file(number: int) -> Path:
    """A file with this many questions, written once."""
    path = FOLDER / f"verdicts-{number}.jsonl"
    if not path.exists():
        FOLDER.mkdir(exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        with unfinished.open("w") as file:
            file.writelines(json.dumps(record) + "\n" for record in records(number))
        unfinished.rename(path)
    return path


def records(number: int) -> Iterator[dict[str, Any]]:
    source = random.Random(SEED)
    passages = [f"p{rank}" for rank in range(1, PASSAGES + 1)]
    yield {"record": "file", "version": 1}
    for at in range(number):
        own = {"query": f"q{at}", "system": "a"}
        for rank, passage in enumerate(passages, 1):
            yield {"record": "item", **own, "id": passage, "type": "passage", "rank": rank}
        for of, count, whole in (("answer", CLAIMS, "gold"), ("gold", GOLD_CLAIMS, "answer")):
            for claim in (f"{'c' if of == 'answer' else 'g'}{number}" for number in range(count)):
                text = f"Claim {claim} of the {of} to question {at}."
                yield {"record": "item", **own, "id": claim, "type": "claim", "of": of, "text": text}
                label = {"record": "verdict", **own, "task": "support", "item": claim, "by": "model"}
                for against in (*([passage] for passage in passages), whole):
                    yield {**label, "against": against, "label": source.choice(LABELS)}
