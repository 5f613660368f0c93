"""What a user writes, with a type on every line that has one: pyright checks it in strict mode, and pytest runs it.

`make test-typing` shows what a type checker sees of karat from outside. If a call has to be ignored, or a result is of
an unknown type, a user sees that, too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import karat
from karat import Document, KaratError, Pipeline, Scores, SystemScores, demo
from karat.components.evaluators import DocumentMAPEvaluator, DocumentRecallEvaluator
from karat.measures import nDCG
from karat.pooled import RetrievalRecall
from karat.testing import assert_scores


def evaluated() -> SystemScores:
    scores: Scores = karat.evaluate(
        {"q1": {"d1": 1}}, {"q1": {"d1": 0.9, "d2": 0.4}}, ["nDCG@10", nDCG(gain="exp") @ 5]
    )
    mean: float | None = scores["nDCG@10"]
    values: Mapping[str, Mapping[str, float | None]] = scores.per_query
    print(mean, values, scores.to_text(digits=2))
    for finding in scores.findings:
        print(finding.code, finding.message, *finding.queries)
    systems = karat.evaluate_runs(demo.TRUTH, demo.runs(), ["nDCG@10", "RR"], ties="best", missing="skip")
    means: Mapping[str, Mapping[str, float | None]] = systems.means
    low, high = systems.systems["bm25"].interval("RR", level=0.9)
    print(means["bm25"]["RR"], low, high)
    return systems


def compared(systems: SystemScores) -> Sequence[str]:
    comparison = karat.compare(systems.systems, baseline="bm25", measures=["nDCG@10"], test="t")
    rows: Sequence[karat.ComparisonRow] = comparison.differences
    better = [row.system for row in rows if (row.difference or 0) > 0 and comparison.significant(row)]
    power: karat.Power = comparison.power("nDCG@10", "bm25-rm3")
    print(comparison, better, power.queries_needed(0.05))
    return better


def gated(systems: SystemScores, folder: Path) -> bool:
    path = folder / "baseline.json"
    systems.systems["bm25"].save(path)
    result: karat.Gate = karat.gate(systems.systems["bm25-rm3"], baseline=path, max_drop={"RR": 0.01}, significant=True)
    for outcome in result.outcomes:
        print(outcome.value, outcome.passed, outcome.sentence)
    assert_scores(systems.systems["bm25"], min={"nDCG@10": 0.1})
    return result.passed


def answered() -> Scores:
    return karat.evaluate_answers({"q1": ["Au", "gold"]}, {"q1": "gold"}, ["EM", "TokenF1"])


def grounded(folder: Path) -> Mapping[str, float | None]:
    def model(messages: Sequence[Mapping[str, str]]) -> str:
        return json.dumps({"label": 3, "why": f"{len(messages)} messages say so."})

    results = [{"query": "How hard is gold?", "retrieved": ["Gold is soft."], "answer": "Not very."}]
    judging = karat.judge(results, task="context", model=model, verdicts=folder / "verdicts.jsonl")
    return judging.scores().means


def with_components() -> Mapping[str, object]:
    pipeline = Pipeline()
    pipeline.add_component("recall", DocumentRecallEvaluator(mode="multi_hit"))
    pipeline.add_component("map", DocumentMAPEvaluator())
    gold, found = [[Document("Au")]], [[Document("Ag"), Document("Au")]]
    inputs = {"ground_truth_documents": gold, "retrieved_documents": found}
    outputs = pipeline.run({"recall": inputs, "map": inputs})
    pooled = RetrievalRecall().calculate_metric_scores([["Au"]], [["Ag", "Au"]], k_list=[1, 2])
    return {**outputs["recall"], "pooled": pooled}


def main(folder: Path) -> int:
    try:
        systems = evaluated()
        compared(systems)
        print(gated(systems, folder), answered().means, grounded(folder), with_components())
        print(karat.check(demo.TRUTH, demo.runs()["bm25"]).errors)
    except KaratError as error:
        print(error.what, error.place, error.hint)
        return 2
    return 0
