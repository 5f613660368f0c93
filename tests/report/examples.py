"""Contents of reports for tests and for looking at the page: `python tests/report/examples.py FOLDER` writes them."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from karat import compare, evaluate, evaluate_results, evaluate_runs, evaluate_verdicts
from karat.cli import demo_data as demo
from karat.report import Provenance, report_content, subject_of_systems

MEASURES = ("nDCG@10", "AP", "RR", "P@10", "R@100")
JUDGE = "gpt-4.1-mini"
CREATED = "2026-01-01T00:00:00+00:00"


def demo_content(by: Mapping[str, str] = {"length": "length"}) -> dict[str, Any]:
    """Three systems on the 50 questions of the demo, with all texts."""
    runs = {system: str(path) for system, path in demo.runs().items()}
    comparison = compare(evaluate_runs(str(demo.TRUTH), runs, MEASURES))
    command = "karat report truth.qrels runs/overlap.trec runs/bm25.trec runs/bm25-rm3.trec -o report.html"
    made = Provenance(command, (str(demo.TRUTH), *runs.values()), created=CREATED)
    questions = {each["query"]: each["text"] for each in demo.questions()}
    return report_content(
        comparison,
        queries=questions,
        corpus=demo.corpus(),
        by=by,
        title="Questions about gold",
        provenance=made,
    )


def rag_content() -> dict[str, Any]:
    """A RAG system with chunks and answers, and a variant of it that retrieves and answers worse."""
    records = [json.loads(line) for line in demo.RESULTS.read_text("utf-8").splitlines()]
    questions = {record["query"]: record["question"] for record in records}
    chance = random.Random(7)
    worse = []
    for at, record in enumerate(records):
        retrieved = list(record["retrieved"])
        if at % 3:
            chance.shuffle(retrieved)
        answer = record.get("answer")
        worse.append({**record, "retrieved": retrieved, "answer": answer if at % 4 else "It is not known."})
    measures = ["R@5", "nDCG@10", "RR", "TokenF1", "Contains"]
    systems = {
        name: evaluate_results(of_system, measures, match="chunk", name=name)
        for name, of_system in {"first": records, "second": worse}.items()
    }
    made = Provenance("karat report first.jsonl second.jsonl --match chunk -o report.html", created=CREATED)
    return report_content(
        subject_of_systems(systems, "first"), queries=questions, provenance=made, title="Answers about gold"
    )


def labelled_content() -> dict[str, Any]:
    """The answers of the demo with their labels."""
    measures = ["Faithfulness", "CitationRecall", "CitationPrecision", "NuggetRecall", "Correctness"]
    scores = evaluate_results(
        str(demo.GENERATED), measures, verdicts=str(demo.VERDICTS), author="human:ann", name="generated"
    )
    command = f"karat report generated.jsonl --verdicts verdicts.jsonl --author human:ann -m {','.join(measures)}"
    made = Provenance(f"{command} -o report.html", (str(demo.GENERATED), str(demo.VERDICTS)), created=CREATED)
    return report_content(scores, title="Answers about gold", provenance=made)


def compared_labels_content() -> dict[str, Any]:
    """The labelled answers of the demo, and those of a system that cites worse, labelled by two people."""
    records = [json.loads(line) for line in demo.VERDICTS.read_text("utf-8").splitlines()]
    worse = [{**record, "system": "second"} for record in records if record.get("system")]
    for at, record in enumerate(worse):
        if record.get("label") == "full" and at % 3 == 0:
            record["label"] = "none"
        elif record.get("against") and at % 50 == 0:
            record |= {"label": None, "state": "failed"}
        elif record.get("cites") and at % 2:
            record["cites"] = [*record["cites"], "[9]"]
    systems = {
        "generated": evaluate_verdicts(str(demo.VERDICTS), author="human"),
        "second": evaluate_verdicts([*records, *worse], author="human", system="second"),
    }
    return report_content(systems, provenance=Provenance(created=CREATED), title="Two ways to answer")


def judged_records() -> list[dict[str, Any]]:
    """The labels of the demo as if a model had given them, asked three times about support: with calls and failures."""
    people = [json.loads(line) for line in demo.VERDICTS.read_text("utf-8").splitlines()]
    chance = random.Random(19)
    records = [record for record in people if record["record"] != "verdict"]
    asked: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for record in people:
        if record["record"] == "verdict" and record["by"] == "human:ann" and record.get("state") != "nothing_to_judge":
            for sample in range(3 if record["item"].startswith(("a", "s")) else 1):
                about = record["task"] if record["task"] != "support" else str(record["against"])
                asked.setdefault((record["query"], about, sample), []).append(record)
        elif record["record"] == "verdict" and record["by"] == "human:ann":
            records.append({**record, "by": JUDGE})
    for at, ((*_, sample), given) in enumerate(asked.items()):
        key = f"{at:032x}"
        has_failed = chance.random() < 0.02
        error = chance.choice(["the reply is not JSON", "the reply has 2 labels for 4 items", "no reply in 60 s"])
        reply = "" if "no reply" in error else '{"labels": [{"item": 1, "label": "full", "why": "Passage 1 says'
        reply = reply if has_failed else "{}"
        records.append({
            "record": "call", "key": key, "model": JUDGE, "prompt": f"{given[0]['task']}/1", "reply": reply or None,
            "tokens_in": chance.randint(400, 900), "tokens_out": chance.randint(20, 200), "verdicts": len(given),
            "state": "failed" if has_failed else "done", **({"error": error} if has_failed else {}),
        })  # fmt: skip
        for record in given:
            label = record["label"]
            if label in ("full", "none") and chance.random() < 0.04:
                label = "none" if label == "full" else "partial"
            given_now = {"label": None, "state": "failed"} if has_failed else {"label": label}
            records.append({**record, "by": JUDGE, "sample": sample, "call": key, **given_now})
    return records


def judged_content() -> dict[str, Any]:
    """The answers of the demo as judged by a model, with failures and samples that differ."""
    measures = ["Faithfulness", "CitationRecall", "NuggetRecall", "Correctness"]
    scores = evaluate_results(str(demo.GENERATED), measures, verdicts=judged_records(), name="generated")
    made = Provenance("karat report generated.jsonl --verdicts judged.jsonl -o report.html", created=CREATED)
    return report_content(scores, title="Answers about gold, judged by a model", provenance=made)


def one_system_content() -> dict[str, Any]:
    """One system without any texts."""
    scores = evaluate(str(demo.TRUTH), str(demo.runs()["bm25"]), MEASURES, name="bm25")
    return report_content(scores, provenance=Provenance(created=CREATED))


def saved_content() -> dict[str, Any]:
    """Saved scores of three systems: no documents."""
    runs = {system: str(path) for system, path in demo.runs().items()}
    systems = evaluate_runs(str(demo.TRUTH), runs, MEASURES).without_evidence()
    return report_content(systems, provenance=Provenance(created=CREATED))


HOSTILE = (
    "</script><script>window.hacked=1</script><!-- <img src=x onerror=window.hacked=1> \" ' ` ${x} \u202e\x00\u2028"
)


def hostile_content() -> dict[str, Any]:
    """Markup, quotation marks, control and bidi characters wherever a name or a text is shown."""
    queries = [f"q{at} {HOSTILE}" for at in range(12)]
    truth = {query: [{"id": f"d{HOSTILE}", "content": f"gold {HOSTILE}"}] for query in queries}
    other = {"id": "x", "content": HOSTILE}
    runs = {
        f"one {HOSTILE}": {query: [other] * (at % 2) + truth[query] for at, query in enumerate(queries)},
        "javascript:alert(1)": truth,
    }
    systems = evaluate_runs(truth, runs, ["RR", "P@5"])
    made = Provenance(f"karat report {HOSTILE}", created=CREATED)
    return report_content(systems, queries=dict.fromkeys(queries, HOSTILE), title=HOSTILE, provenance=made)


def large_content(queries: int = 7_000, systems: int = 3, depth: int = 100, words: int = 60) -> dict[str, Any]:
    """Synthetic runs with texts: by default 7,000 queries of three systems."""
    chance = random.Random(3)
    vocabulary = ["".join(chance.choices("abcdefghijklmnoprstuvwy", k=chance.randint(2, 9))) for _ in range(5_000)]
    corpus = {f"doc{at:06}": " ".join(chance.choices(vocabulary, k=words)) for at in range(10 * queries)}
    names = list(corpus)
    truth: dict[str, dict[str, int]] = {}
    runs: dict[str, dict[str, dict[str, float]]] = {f"system {at + 1}": {} for at in range(systems)}
    for at in range(queries):
        pool = chance.sample(names, 2 * depth)
        truth[f"query{at}"] = {doc: chance.choice((0, 0, 1, 2)) for doc in pool[:15]}
        for system, run in enumerate(runs.values()):
            likely = {doc: chance.random() + 0.3 * (at % 5 > system) for doc in pool[:15]}
            others = {doc: chance.random() for doc in chance.sample(pool[15:], depth - 15)}
            run[f"query{at}"] = likely | others
    texts = {query: " ".join(chance.choices(vocabulary, k=7)) for query in truth}
    scores = evaluate_runs(truth, runs, MEASURES)
    return report_content(
        scores, queries=texts, corpus=corpus, title="Synthetic", provenance=Provenance(created=CREATED)
    )


EXAMPLES: dict[str, Callable[[], dict[str, Any]]] = {
    "demo": demo_content,
    "rag": rag_content,
    "labelled": labelled_content,
    "compared-labels": compared_labels_content,
    "judged": judged_content,
    "one": one_system_content,
    "saved": saved_content,
    "hostile": hostile_content,
    "large": large_content,
}

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or EXAMPLES:
        text = json.dumps(EXAMPLES[name](), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        (folder / f"{name}.json").write_text(text, "utf-8", errors="backslashreplace")
        print(f"{folder / name}.json: {len(text) / 1e6:.2f} MB")
