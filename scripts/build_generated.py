#!/usr/bin/env python3
"""Write ``generated.jsonl``, the generated answers of the demo data set, from ``scripts/generated.toml``.

One table per question:

* ``run``, ``passages``: the system and the number of its first passages that the answer was written from
  (``bm25-rm3`` and 5 unless given);
* ``sentences``: the answer. ``[2]`` cites the second passage.

Usage::

    python scripts/build_generated.py            # write the file
    python scripts/build_generated.py --check    # write nothing; exit 1 if the file on disk is not up to date
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from up_to_date import main

HERE = Path(__file__).resolve().parent
DEMO = HERE.parent / "src" / "karat" / "demo"

Record = dict[str, Any]


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


def build() -> dict[Path, str]:
    """The file and what it should contain."""
    source = tomllib.loads((HERE / "generated.toml").read_text("utf-8"))
    lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in results(source)]
    return {DEMO / "generated.jsonl": "".join(lines)}


if __name__ == "__main__":
    sys.exit(main(__file__, "Write the generated answers of the demo data set.", build().items()))
