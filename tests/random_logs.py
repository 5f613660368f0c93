"""Random logs of RAG systems, in which fields are missing, named in other ways, or wrong."""

from __future__ import annotations

import json
from random import Random
from typing import Any

TEXTS = ["gold is soft", "it is a metal", "Paris, France", "née Müller", "13", "", "['a', 'b']", "how soft is it"]
NAMES = {
    "query": ["query", "id", "question", "ask"],
    "truth": ["truth", "ground_truth", "gold_docs"],
    "retrieved": ["retrieved", "contexts", "docs"],
    "gold_answers": ["gold_answers", "reference", "ground_truth"],
    "answer": ["answer", "response"],
}
SIZES = [0, 1, 3, 20, 60]


def random_log(random: Random, with_faults: bool = False) -> str:
    """JSON lines; a field may be in the first or in the last records only."""
    names = {field: random.choice(of_field) for field, of_field in NAMES.items()}
    texts_as_truth = random.random() < 0.5
    records = [_record(random, at, names, texts_as_truth) for at in range(random.choice(SIZES))]
    if random.random() < 0.3:
        half = records[: len(records) // 2] if random.random() < 0.5 else records[len(records) // 2 :]
        dropped = random.choice([*names.values()])
        for record in half:
            record.pop(dropped, None)
    if with_faults and records:
        _spoil(random, random.choice(records), names)
    lines = [json.dumps(record, ensure_ascii=random.random() < 0.5) for record in records]
    if random.random() < 0.2:
        lines.insert(random.randrange(len(lines) + 1), random.choice(["", "   "]))
    if with_faults and random.random() < 0.2:
        lines.insert(random.randrange(len(lines) + 1), random.choice(["{bad", "[1]", '"x"']))
    return "\n".join(lines) + random.choice(["\n", ""])


def _record(random: Random, at: int, names: dict[str, str], texts_as_truth: bool) -> dict[str, Any]:
    record: dict[str, Any] = {names["query"]: at if random.random() < 0.05 else f"q{at}"}
    if random.random() < 0.8:
        ids = [f"d{doc}" for doc in random.sample(range(8), random.randrange(3))]
        record[names["truth"]] = ids if texts_as_truth else [{"id": each, "content": "gold"} for each in ids]
    if random.random() < 0.8:
        record[names["retrieved"]] = [_document(random, doc) for doc in random.sample(range(8), random.randrange(6))]
    if random.random() < 0.7:
        record[names["gold_answers"]] = random.choice(
            [random.choice(TEXTS), [random.choice(TEXTS) for _ in "ab"], None]
        )
    if random.random() < 0.7:
        record[names["answer"]] = random.choice([*TEXTS, None])
    if random.random() < 0.7:
        record["latency"] = random.choice([1.5, 2, 3, None, "4"])
    if random.random() < 0.1:
        record["cost"] = random.random()
    if random.random() < 0.3:
        record["note"] = random.choice(TEXTS)
    return record


def _document(random: Random, doc: int) -> Any:
    if random.random() < 0.1:
        return f"d{doc}"
    document = {"id": f"d{doc}", "content": f"{random.choice(TEXTS)} {random.randrange(4)}"}
    return document | ({"score": random.choice([1, 2.5, "0.5", None, 3])} if random.random() < 0.7 else {})


def _spoil(random: Random, record: dict[str, Any], names: dict[str, str]) -> None:
    """Make one of the fields of a record wrong."""
    name, value = random.choice(
        [
            ("latency", random.choice(["abc", 1e305, True])),
            (names["answer"], {"text": "x"}),
            (names["retrieved"], random.choice([3, "x", [None], {"a": 1}])),
            (names["query"], random.choice(["q0", None, ["q"]])),
        ]
    )
    record[name] = value
