#!/usr/bin/env python3
"""Write ``generated.jsonl`` and ``verdicts.jsonl`` of the demo data set: generated answers, and labels about them.

Both come from ``scripts/generated.toml``, which has a table per question:

* ``run``, ``passages``: the system and the number of its first passages that the answer was written from
  (``bm25-rm3`` and 5 unless given);
* ``sentences``: the answer. ``[2]`` cites the second passage;
* ``support``: a word per sentence that says how far the passages that it cites support it: all of them together; if
  there are several, each of them alone; if there are more than two, also all without the first, without the second...;
* ``claims``: the claims of the answer: text, support by each passage, support by the gold answers;
* ``gold``: the claims of the gold answers: text, support by each passage, support by the answer;
* ``nuggets``: text, importance, support by each passage, support by the answer;
* ``relevance``: the grade of each passage;
* ``correctness``, ``abstention``: labels of the answer;
* ``nothing_to_judge``: sentences that say nothing about the subject;
* ``why``: reasons, for labels that are not obvious. ``"a2 1"`` is the second claim against the first passage; ``s1``,
  ``g1`` and ``n1`` are a sentence, a claim of the gold answers and a nugget; ``"s1 1+2"`` is against two passages;
* ``ben``: labels by a second person, with the same keys; of nuggets, only the support by the answer.

Support is f (full), p (partial), - (none), ! (the person could not decide) or ? (not labelled).

Usage::

    python scripts/build_generated.py            # write the files
    python scripts/build_generated.py --check    # write nothing; exit 1 if a file on disk is not up to date
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from up_to_date import main

HERE = Path(__file__).resolve().parent
DEMO = HERE.parent / "src" / "karat" / "cli" / "demo_data"
SYSTEM = "generated"
SUPPORT = {"f": "full", "p": "partial", "-": "none", "!": None}
NOT_LABELLED = "?"

Record = dict[str, Any]
Label = tuple[str, str, list[str] | str | None, str]  # task, item, what it is compared with, and the label


def read_jsonl(name: str) -> list[Record]:
    """The objects of a file of the demo."""
    return [json.loads(line) for line in (DEMO / name).read_text("utf-8").splitlines()]


def retrieved(query: str, run: str, passages: int) -> list[str]:
    """The first passages of a run for one question."""
    lines = (line.split() for line in (DEMO / "runs" / f"{run}.trec").read_text("utf-8").splitlines())
    return [line[2] for line in lines if line[0] == query][:passages]


def results(source: dict[str, Record]) -> Iterator[Record]:
    """One record per question: the passages and the answer."""
    content = {passage["id"]: passage["content"] for passage in read_jsonl("corpus.jsonl")}
    for question in read_jsonl("questions.jsonl"):
        query = question["query"]
        table = source[query]
        names = retrieved(query, table.get("run", "bm25-rm3"), table.get("passages", 5))
        yield {
            "query": query,
            "question": question["text"],
            "gold_answers": question["gold_answers"],
            "retrieved": [{"id": name, "content": content[name]} for name in names],
            "answer": " ".join(table["sentences"]),
        }


def cited(sentence: str, passages: list[str]) -> list[str]:
    """The passages that a sentence cites, each once; what points to no passage, as it is written."""
    numbers = [int(number) for group in re.findall(r"\[([\d, ]+)\]", sentence) for number in group.split(",")]
    names = (passages[number - 1] if number <= len(passages) else f"[{number}]" for number in numbers)
    return list(dict.fromkeys(names))


def digest(text: str) -> str:
    """What identifies a text."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


def items(table: Record, result: Record) -> Iterator[Record]:
    """The items of a question. Passages are without their texts: these are in generated.jsonl."""
    passages = [passage["id"] for passage in result["retrieved"]]
    own = {"query": result["query"], "system": SYSTEM}
    answer, gold = digest(result["answer"]), digest("\n".join(sorted(result["gold_answers"])))
    yield {**own, "id": "answer", "type": "answer", "digest": answer}
    yield {"query": result["query"], "id": "gold", "type": "answer", "digest": gold}
    for rank, passage in enumerate(result["retrieved"], start=1):
        yield {**own, "id": passage["id"], "type": "passage", "rank": rank, "digest": digest(passage["content"])}
    for at, text in enumerate(table["sentences"], start=1):
        cites = {"cites": names} if (names := cited(text, passages)) else {}
        yield {**own, "id": f"s{at}", "type": "sentence", "of": "answer", "text": text} | cites
    for at, (text, *_) in enumerate(table.get("claims", ()), start=1):
        yield {**own, "id": f"a{at}", "type": "claim", "of": "answer", "text": text, "of_digest": answer}
    for at, (text, *_) in enumerate(table["gold"], start=1):
        claim = {"query": result["query"], "id": f"g{at}", "type": "claim", "of": "gold"}
        yield {**claim, "text": text, "of_digest": gold}
    for at, (text, importance, *_) in enumerate(table["nuggets"], start=1):
        nugget = {"query": result["query"], "id": f"n{at}", "type": "nugget", "importance": importance}
        yield {**nugget, "text": text, "of_digest": gold}


def labels(table: Record, sentences: list[str], passages: list[str]) -> Iterator[Label]:
    """The labels that one person gave to one question."""
    for at, (sentence, support) in enumerate(zip(sentences, table["support"], strict=True), start=1):
        for some, label in zip(citations(sentence, passages), support, strict=True):
            yield "support", f"s{at}", some, label
    for item, key, whole in (("a", "claims", "gold"), ("g", "gold", "answer"), ("n", "nuggets", "answer")):
        for at, row in enumerate(table.get(key, ()), start=1):
            by_passage = zip(passages, row[-2], strict=True) if len(row) > 1 else ()
            for name, label in by_passage:
                yield "support", f"{item}{at}", [name], label
            yield "support", f"{item}{at}", whole, row[-1]
    for name, label in zip(passages, table["relevance"], strict=True):
        yield "relevance", name, "question", label
    for task in ("correctness", "abstention"):
        if task in table:
            yield task, "answer", None, table[task]


def citations(sentence: str, passages: list[str]) -> list[list[str]]:
    """The sets of cited passages that a sentence is judged against: all, each alone, and all but one."""
    names = [name for name in cited(sentence, passages) if name in passages]
    together = [names] if names else []
    alone = [[name] for name in names] if len(names) > 1 else []
    others = [[other for other in names if other != name] for name in names] if len(names) > 2 else []
    return together + alone + others


def verdicts(table: Record, sentences: list[str], passages: list[str], by: str) -> Iterator[Record]:
    """The verdicts of one person on one question, with the reasons."""
    reasons = dict(table.get("why", {}))
    rank = {name: str(at) for at, name in enumerate(passages, start=1)}
    for task, item, against, label in labels(table, sentences, passages):
        if label == NOT_LABELLED:
            continue
        value = SUPPORT[label] if task == "support" else int(label) if task == "relevance" else label
        verdict: Record = {"task": task, "item": item, "against": against, "label": value}
        if against is None:
            del verdict["against"]
        if value is None:
            verdict["state"] = "failed"
        verdict["by"] = by
        compared = "+".join(rank[name] for name in against) if isinstance(against, list) else against
        key = f"{item} {compared}" if task == "support" else f"{rank.get(item, item)} {task}"
        if key in reasons:
            verdict["why"] = reasons.pop(key)
        yield verdict
    empty = ["answer"] if table.get("claims") == [] else []
    for item in [*empty, *table.get("nothing_to_judge", ())]:
        verdict = {"task": "support", "item": item, "label": None, "state": "nothing_to_judge", "by": by}
        yield verdict | ({"why": reasons.pop(item)} if item in reasons else {})
    if reasons:
        raise ValueError(f"reasons without a label: {', '.join(reasons)}")


def records(source: dict[str, Record], answers: Iterable[Record]) -> Iterator[Record]:
    """All records of verdicts.jsonl: the items and labels of each question, then those of the second person."""
    yield {"record": "file", "version": 1}
    second: list[Record] = []
    for result in answers:
        table, passages = source[result["query"]], [passage["id"] for passage in result["retrieved"]]
        own = {"query": result["query"], "system": SYSTEM}
        for item in items(table, result):
            yield {"record": "item"} | item | ({"digest": digest(item["text"])} if "text" in item else {})
        for verdict in verdicts(table, table["sentences"], passages, "human:ann"):
            yield {"record": "verdict"} | own | verdict
        if "ben" in table:
            found = verdicts(table["ben"], table["sentences"], passages, "human:ben")
            second += [{"record": "verdict"} | own | verdict for verdict in found]
    yield from second


def lines(objects: Iterable[Record]) -> str:
    """JSON Lines."""
    return "".join(json.dumps(each, ensure_ascii=False, separators=(",", ":")) + "\n" for each in objects)


def build() -> dict[Path, str]:
    """The files and what they should contain."""
    source = tomllib.loads((HERE / "generated.toml").read_text("utf-8"))
    answers = list(results(source))
    return {DEMO / "generated.jsonl": lines(answers), DEMO / "verdicts.jsonl": lines(records(source, answers))}


if __name__ == "__main__":
    sys.exit(main(__file__, "Write the generated answers of the demo data set and their labels.", build().items()))
