"""Contents of reports, written by hand: what the page is given when karat is not asked for it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

MakeContent = Callable[[], dict[str, Any]]
SUBJECTS = ["gold rust", "aqua regia", "karat of a ring", "gold leaf", "placer mining", "assay by touchstone"]
HOSTILE = (
    "<script>window.hacked=1</script></script><!-- <img src=x onerror=window.hacked=1> javascript:window.hacked=1"
    " \"'`${window.hacked=1} {{7*7}} \u202egnp.exe\u2066 \x00\x1b[2J\u2028 \ud800 =1+1"
)


def small(queries: int = 12) -> dict[str, Any]:
    """Three systems, two measures, documents with texts, chunks, answers and contributions."""
    rng = random.Random(7)
    systems, measures = ["overlap", "bm25", "dense"], ["nDCG@10", "RR"]
    ids = [f"q{at + 1}" for at in range(queries)]
    texts = [f"What is known about {SUBJECTS[at % len(SUBJECTS)]} ({at + 1})?" for at in range(queries)]
    documents = [f"d{at}" for at in range(40)]
    values = [[[round(rng.random(), 4) for _ in ids] for _ in measures] for _ in systems]
    values[2][0][-1] = values[1][0][-1] = 0.5
    golds: list[dict[str, Any]] = [
        {"docs": rng.sample(range(40), 5), "grades": [2, 1, 1, 0, 0], "relevant": 3} for _ in ids
    ]
    lists: list[list[dict[str, Any] | None]] = []
    for _ in systems:
        ranked: list[dict[str, Any] | None] = []
        for gold in golds:
            docs = rng.sample(range(40), 10)
            hits = [[docs.index(doc), at, "same id", [5, 25]] for at, doc in enumerate(gold["docs"]) if doc in docs]
            below = [[57, 0]] if gold["docs"][0] not in docs else []
            ranked.append({"docs": docs, "total": 100, "hits": sorted(hits), "below": below})
        lists.append(ranked)
    lists[0][-1] = None
    rows = []
    for at, _ in enumerate(systems):
        cells = []
        for measure in range(2):
            mean = sum(values[at][measure]) / queries
            against = None if at == 1 else 1
            cells.append({
                "mean": round(mean, 4), "low": round(mean - 0.08, 4), "high": round(mean + 0.07, 4), "best": at == 2,
                "difference": None if against is None else round(mean - sum(values[1][measure]) / queries, 4),
                "p": None if against is None else 0.01234, "significant": None if against is None else at == 2,
                "against": against,
            })  # fmt: skip
        rows.append(cells)
    answer = "Aqua regia dissolves gold and platinum."
    shared = [[0, [[0, 10]], [[2, 12]]]]
    return {
        "title": "Questions about gold",
        "answer": ["dense is best on nDCG@10, significantly better than bm25.", "12 queries; 32% unjudged."],
        "systems": systems,
        "baseline": 1,
        "measures": [
            {"name": "nDCG@10", "higher": True, "count": False, "takes": "judged", "formula": "DCG@k / ideal DCG@k",
             "definition": "Normalized discounted cumulative gain.", "reference": "Järvelin and Kekäläinen 2002"},
            {"name": "RR", "higher": True, "count": False, "takes": "judged",
             "formula": "1 / rank of the first relevant document", "definition": "Reciprocal rank.", "reference": ""},
        ],
        "people": [
            {
                "heading": "Corrected means",
                "sentences": ["dense is not corrected."],
                "tables": [
                    {
                        "header": ["run", "measure", "corrected", "queries labelled by people"],
                        "labels": 2,
                        "rows": [[["dense", ""], ["RR", ""], ["0.5120 [0.4120, 0.6120]", "°"], ["40 of 300", ""]]],
                        "notes": ["° fewer than 50 queries labelled by people", "values by gpt, corrected by human"],
                    }
                ],
            }
        ],
        "table": {"rows": rows, "by_model": None, "by_measure": False, "level": 0.95, "alpha": 0.05,
                  "test": "the paired randomization test (exact)",
                  "intervals": "intervals of differences are at 95%, not corrected", "correction": "Holm-corrected",
                  "unjudged": [0.4, 0.32, 0.38], "unjudged_at": 10, "missing": [1, 0, 0]},
        "findings": ["overlap: 1 query is missing and scores 0.", "38% of the top 10 is unjudged."],
        "queries": {
            "id": ids, "are_texts": False, "text": texts, "values": values,
            "first": [[rng.choice([1, 2, 3, 12, None]) for _ in ids] for _ in systems],
            "unjudged": [[rng.choice([0, 0, 2]) for _ in ids] for _ in systems],
            "missing": [[at == queries - 1 and system == 0 for at in range(queries)] for system in range(3)],
            "groups": {"kind": ["how-to", "fact"]},
            "slices": {"kind": [("fact", "how-to")[at % 2] for at in range(queries)]},
        },
        "documents": {"id": documents, "title": [f"Title of {doc}" for doc in documents],
                      "text": [f"Gold {doc} is a metal that does not rust. " * 12 for doc in documents]},
        "lists": lists,
        "golds": golds,
        "moves": {"1>2": {"nDCG@10": {"0": [[0, 3, 1, 0.25], [1, None, 4, 0.1], [2, 2, None, -0.2]]}}},
        "answers": {"gold": [["An aqua regia mixture"] for _ in ids],
                    "predicted": [[answer for _ in ids] for _ in systems],
                    "shared": [[shared for _ in ids] for _ in systems]},
        "charts": {},
        "made": {"command": "karat report truth.qrels a.trec b.trec", "created": "2026-11-16 08:00 UTC", "karat": "0.1",
                 "python": "3.12", "packages": {"numpy": "2.3"}, "options": {"missing": "zero"}, "seed": 1,
                 "calls": [{"model": "judge", "prompt": "support/1", "calls": 2, "failed": 1, "without_tokens": 2,
                            "tokens_in": None, "tokens_out": None}],
                 "files": [{"name": "truth.qrels", "bytes": 1234, "sha256": "ab" * 32}]},
        "cut": ["Lists are cut at 10 documents."],
    }  # fmt: skip


def hostile(text: str = HOSTILE) -> dict[str, Any]:
    """The small content with a hostile text at the start of every text that comes from a user's file."""
    content: dict[str, Any] = _texts_replaced(small(), lambda original: f"{text}{original}")
    content["answer"] = [f"{text} is best", text]
    return content


def alone() -> dict[str, Any]:
    """One system, one measure, one query, and nothing else that could be left out."""
    content = small(1)
    content.update(systems=["only"], baseline=None, measures=content["measures"][:1], lists=[[None]], golds=[None])
    content.update(
        documents={"id": [], "title": None, "text": None}, moves={}, people=[], answers=None, findings=[], cut=[]
    )
    cell = {"mean": 0.0, "low": None, "high": None, "best": True, "difference": None, "p": None, "significant": None}
    content["table"].update(rows=[[{**cell, "against": None}]], test=None, correction=None, unjudged=None, missing=[0])
    content["queries"].update(text=None, values=[[[0.0]]], first=[[None]], unjudged=None, missing=None, slices={})
    return content


def _texts_replaced(value: Any, replace: Callable[[str], str], key: str = "") -> Any:
    if isinstance(value, str):
        return value if key == "takes" or not value else replace(value)
    if isinstance(value, list):
        return [_texts_replaced(item, replace, key) for item in value]
    if isinstance(value, dict):
        names_from_files = key in ("packages", "options", "groups", "slices")
        return {
            replace(name) if names_from_files else name: _texts_replaced(item, replace, name)
            for name, item in value.items()
        }
    return value
