"""Files that earlier releases wrote are read: `tests/releases` has some of each release, with the values it computed.

Those of 0.1.0 are labels of answers by a judge (`verdicts.jsonl`, about `rag.jsonl`), all scores by these
(`complete.json`), scores saved while labels were missing (`incomplete.json`, `incomplete.parquet`), and scores of
`run.trec` for which `hole@10`, today's Unjudged@10, was asked (`hole.json`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import karat
from karat import KaratError, Scores, evaluate_results, evaluate_verdicts, gate
from tests.end_to_end.in_process import refused, run_here

FILES = Path(__file__).parents[1] / "releases" / "0.1.0"
RESULTS: list[dict[str, Any]] = [json.loads(line) for line in (FILES / "rag.jsonl").read_text("utf-8").splitlines()]
COMPLETE = Scores.load(FILES / "complete.json")
OF_LABELS = [name for name in COMPLETE.measures if karat.parse(name).definition.takes == "verdicts"]


def judged(results: list[dict[str, Any]]) -> Scores:
    """Results evaluated by the labels of 0.1.0."""
    return evaluate_results(results, OF_LABELS, name="rag", verdicts=FILES / "verdicts.jsonl")


def test_labels_of_a_judge_count_for_the_passages_and_gold_answers_that_they_were_given_for() -> None:
    scores = judged(RESULTS)
    assert scores.per_query == COMPLETE.only(OF_LABELS).per_query
    assert scores.findings == ()


def test_labels_of_a_judge_count_for_passages_that_are_known_by_their_texts() -> None:
    results = [{**row, "retrieved": [passage["content"] for passage in row["retrieved"]]} for row in RESULTS]
    assert judged(results).per_query == COMPLETE.only(OF_LABELS).per_query


def test_labels_of_a_judge_count_without_results() -> None:
    scores = evaluate_verdicts(FILES / "verdicts.jsonl", OF_LABELS)
    assert scores.per_query == COMPLETE.only(OF_LABELS).per_query


def _with_other_passage(row: dict[str, Any]) -> None:
    row["retrieved"][0]["content"] += " And shiny."


def _with_other_gold(row: dict[str, Any]) -> None:
    row["gold_answers"] = row["gold_answers"][1:]


@pytest.mark.parametrize(
    ("change", "measure"), [(_with_other_passage, "Faithfulness"), (_with_other_gold, "ClaimPrecision")]
)
def test_labels_of_a_judge_do_not_count_for_other_texts(change: Callable[[dict[str, Any]], None], measure: str) -> None:
    results = json.loads(json.dumps(RESULTS))
    change(results[0])
    scores = judged(results)
    assert [scores.value_of(query, measure) is None for query in scores.queries] == [True, False]
    assert any("not used" in finding.message for finding in scores.findings)


@pytest.mark.parametrize("name", ["incomplete.json", "incomplete.parquet"])
def test_saved_bounds_are_read(name: str) -> None:
    scores = Scores.load(FILES / name)
    saved = json.loads((FILES / "incomplete.json").read_text("utf-8"))
    assert scores.means == saved["means"]
    assert scores.label_bounds.keys() == saved["bounds"].keys()
    for measure, bounds in scores.label_bounds.items():
        before = saved["bounds"][measure]
        assert bounds.mean == (before["low"], before["high"])
        per_query = {query: list(bounds.per_query[query]) for query in before["queries"]}
        assert (per_query, int(bounds.unknown.sum())) == (before["queries"], before["unknown"])
        assert bool(bounds.exact.all()) is before["exact"]
        assert bool(bounds.nullable.any()) is bool(before["nullable"])
    assert scores.fingerprint is not None
    assert scores.fingerprint.options == {"author": "tester"}


def test_saved_bounds_may_be_estimated_or_nullable(tmp_path: Path) -> None:
    saved = json.loads((FILES / "incomplete.json").read_text("utf-8"))
    saved["bounds"]["ClaimF1"] |= {"estimated": ["q1"], "nullable": ["q2"]}
    path = tmp_path / "scores.json"
    path.write_text(json.dumps(saved), "utf-8")
    bounds = Scores.load(path).label_bounds["ClaimF1"]
    assert (bounds.exact.tolist(), bounds.nullable.tolist()) == ([False, True], [False, True])
    del saved["bounds"]["ClaimF1"]["nullable"]
    path.write_text(json.dumps(saved), "utf-8")
    with pytest.raises(KaratError, match=r"its bounds are damaged\. Save the scores again\."):
        Scores.load(path)


def test_a_baseline_in_which_hole_had_another_meaning_is_an_error() -> None:
    scores = karat.evaluate(FILES / "qrels.trec", FILES / "run.trec", ["hole@10", "Unjudged@10"])
    baseline = FILES / "hole.json"
    problem = r"the systems have different measures: baseline has Unjudged@10; run has Hole@10\. Evaluate both"
    with pytest.raises(KaratError, match=problem):
        gate(scores, max_drop={"hole@10": 0.1}, baseline=baseline)
    assert gate(scores, max_drop={"Unjudged@10": 0.1}, baseline=baseline).passed
    words = ["gate", "qrels.trec", "run.trec", "--baseline", "hole.json", "--max-drop", "hole@10=0.1"]
    assert "baseline has Unjudged@10; run has Hole@10" in refused(run_here(FILES, *words))
