"""Unknown labels in scores: beside the mean stands what it could be, in tables and in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from karat import KaratError, Scores, SystemScores, evaluate_verdicts
from karat.analysis.slices import slices
from karat.comparison.gate import Rule, gate_by_rules

ROW = {"type": "claim", "task": "support", "against": "context"}
# q1: half of the claims are supported; q2: one is unknown; q3: no claims.
LABELS: list[dict[str, Any]] = [
    {**ROW, "query": "q1", "item": "c1", "label": "full"},
    {**ROW, "query": "q1", "item": "c2", "label": "none"},
    {**ROW, "query": "q2", "item": "c1", "label": "full"},
    {**ROW, "query": "q2", "item": "c2", "state": "failed"},
    {"query": "q3", "item": "answer", "task": "support", "against": "context", "state": "nothing_to_judge"},
]
SCORES = evaluate_verdicts(LABELS, name="rag")


def test_the_table_shows_what_the_mean_could_be() -> None:
    assert str(SCORES).splitlines() == [
        "measure           rag           possible   unknown",
        "──────────────────────────────────────────────────",
        "Faithfulness   0.5000   0.5000 to 0.7500         1",
        "3 queries; unknown: queries that lack labels, left out; possible: the mean with them, whatever the labels",
        "note: queries with nothing to judge (left out): 1 for Faithfulness.",
    ]


def test_a_table_without_unknown_labels_has_no_column_for_them() -> None:
    assert "possible" not in str(SCORES.take([0, 2]))
    assert "1 for Faithfulness" in str(SCORES.take([0, 2]))


def test_tables_of_several_systems_have_a_line_per_measure() -> None:
    several = SystemScores({"a": SCORES, "b": SCORES.take([1, 2])})
    lines = str(several).splitlines()
    topic = "possible Faithfulness, whatever the missing labels are"
    assert f"note: {topic}: a 0.5000 to 0.7500 (1 query), b 0.5000 to 1.0000 (1 query)." in lines
    assert sum("note" in line for line in lines) == 2


def test_groups_of_queries_show_what_their_means_could_be() -> None:
    rated = [
        {"query": query, "item": "answer", "task": "correctness", "label": "correct"} for query in ("q1", "q2", "q3")
    ]
    scores = evaluate_verdicts([*LABELS, *rated], ["Faithfulness", "Correctness"])
    groups = slices(scores, {"q1": "a", "q2": "b", "q3": "b"}, level=None)
    assert str(groups).splitlines() == [
        "group   queries   Faithfulness           possible   unknown   Correctness",
        "─────────────────────────────────────────────────────────────────────────",
        "a             1         0.5000                                     1.0000",
        "b             2              –   0.5000 to 1.0000         1        1.0000",
        "all           3         0.5000   0.5000 to 0.7500         1        1.0000",
        "3 queries in 2 groups; unknown: queries that lack labels, left out; possible: the mean with them, whatever the"
        " labels",
        "note: queries with nothing to judge (left out): 1 for Faithfulness.",
    ]
    first, second = (group["scores"]["Faithfulness"] for group in groups.to_dict()["groups"])
    assert first == {"mean": 0.5, "low": None, "high": None, "lowest": 0.5, "highest": 0.5, "unknown": 0}
    assert (second["lowest"], second["highest"], second["unknown"]) == (0.5, 1.0, 1)
    assert "lowest" not in groups.to_dict()["all"]["scores"]["Correctness"]


def test_bounds_are_those_of_each_query_and_of_the_mean() -> None:
    bounds = SCORES.bounds("Faithfulness")
    assert bounds.mean == (0.5, 0.75)
    assert bounds.per_query["q1"] == (0.5, 0.5)
    assert bounds.per_query["q2"] == (0.5, 1.0)
    assert np.isnan(bounds.per_query["q3"]).all()
    assert bounds.to_dict()["queries"][1] == {
        "query": "q2", "value": None, "low": 0.5, "high": 1.0, "unknown": 1, "exact": True,
    }  # fmt: skip
    assert str(bounds).splitlines()[-2:] == [
        "all     0.5000   0.5000    0.7500         1",
        "Faithfulness whatever the missing labels of 1 query are",
    ]


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
@pytest.mark.parametrize("names", ["canonical", "asked"])
def test_saved_scores_keep_their_bounds(tmp_path: Path, suffix: str, names: Any) -> None:
    path = tmp_path / f"scores{suffix}"
    evaluate_verdicts(LABELS, "faithfulness", name="rag").save(path, names=names)
    loaded = Scores.load(path)
    assert str(loaded) == str(SCORES)
    assert str(loaded.bounds("Faithfulness")) == str(SCORES.bounds("Faithfulness"))


def test_the_plot_of_bounds_needs_no_run_data() -> None:
    pytest.importorskip("altair")
    values = SCORES.plot("bounds").to_dict()["datasets"].values()
    (row,) = next(iter(values))
    assert (row["value"], row["low"], row["high"], row["unknown"]) == (0.5, 0.5, 0.75, 1)


def test_scores_without_bounds_say_how_to_get_them() -> None:
    skipped = evaluate_verdicts(LABELS, unknown="skip")
    assert "possible" not in str(skipped)
    assert "2 queries without a value for Faithfulness (left out): q2, q3" in str(skipped)
    with pytest.raises(KaratError, match=r"no bounds of Faithfulness\. Evaluate again with unknown='bounds'"):
        skipped.bounds("Faithfulness")


def test_damaged_bounds_are_an_error(tmp_path: Path) -> None:
    document = SCORES.to_dict()
    damages: list[Any] = [[], {"Faithfulness": {"queries": [{"query": "q2", "low": "x"}]}}, {"Faithfulness": 1}]
    for damaged in damages:
        (tmp_path / "scores.json").write_text(json.dumps({**document, "bounds": damaged}))
        with pytest.raises(KaratError, match="its bounds are damaged"):
            Scores.load(tmp_path / "scores.json")


def test_a_table_of_means_has_the_lowest_and_the_highest() -> None:
    assert SystemScores({"rag": SCORES}).to_csv().splitlines() == [
        "run,Faithfulness,Faithfulness lowest,Faithfulness highest",
        "rag,0.5,0.5,0.75",
    ]


def wrong(labels: list[dict[str, Any]]) -> Scores:
    """Hallucination of claims that no gold answer supports: 1 minus faithfulness."""
    golds = [{**label, "against": "gold", "label": "none", "state": "labelled"} for label in labels[:4]]
    return evaluate_verdicts([*labels, *golds], "Hallucination")


@pytest.mark.parametrize(
    ("scores", "rule", "by_mean", "by_worst"),
    [
        (SCORES.take([0, 1]), Rule("min", "Faithfulness", 0.5), True, True),
        (SCORES.take([0, 1]), Rule("max", "Faithfulness", 0.6), True, False),
        (wrong(LABELS), Rule("max", "Hallucination", 0.5), True, True),
        (wrong(LABELS), Rule("min", "Hallucination", 0.4), True, False),
    ],
    ids=["lowest is enough", "highest is too much", "lower is better", "lowest is too low"],
)
def test_a_gate_can_decide_by_the_worst_that_missing_labels_allow(
    scores: Scores, rule: Rule, by_mean: bool, by_worst: bool
) -> None:
    assert gate_by_rules(scores, [rule]).passed == by_mean
    found = gate_by_rules(scores, [rule], unknown="worst")
    assert found.passed == by_worst
    assert any("that missing labels allow." in note for note in found.notes)


def test_a_gate_says_that_the_worst_case_is_an_outer_bound() -> None:
    passages = [{"query": "q", "id": f"p{at}", "type": "passage", "rank": at + 1} for at in range(20)]
    labels: list[dict[str, Any]] = [
        {"query": "q", "task": "relevance", "item": f"p{at}", "state": "failed"} for at in range(19)
    ]
    labels += [{"query": "q", "task": "relevance", "item": "p19", "label": 1}]
    labels += [{**each, "query": "r"} for each in (passages[0], {**labels[-1], "item": "p0"})]
    scores = evaluate_verdicts([*passages, *labels], "ContextPrecision")
    assert str(scores.bounds("ContextPrecision")).count("~") == 5  # in two rows, and what it means
    found = gate_by_rules(scores, [Rule("min", "ContextPrecision", 0.1)], unknown="worst")
    assert [note for note in found.notes if "outer" in note] == [
        "note: of ContextPrecision, this is an outer bound: the worst possible value may be better, but not worse."
    ]


def test_the_worst_drop_is_from_the_best_of_the_baseline() -> None:
    known = SCORES.take([0, 2])
    drop = Rule("max-drop", "Faithfulness", 0.2)
    before = SCORES.take([1, 0])
    assert gate_by_rules(SCORES.take([1, 0]), [drop], before).passed
    (outcome,) = gate_by_rules(SCORES.take([1, 0]), [drop], before, unknown="worst").outcomes
    assert (outcome.passed, outcome.value, outcome.baseline) == (False, 0.5, 0.75)
    assert gate_by_rules(known, [drop], known, unknown="worst").passed
    (outcome,) = gate_by_rules(
        SCORES.take([1, 0]), [Rule("non-inferior", "Faithfulness", 0.2)], before, unknown="worst"
    ).outcomes
    assert (outcome.passed, outcome.value, outcome.baseline) == (False, 0.5, 0.75)


def _refusals(**refused: str) -> Scores:
    """Abstention of unanswerable questions, by what is known: r refused, a answered, ? unknown; then the question."""
    labels = {"r": {"label": "refused"}, "a": {"label": "answered"}, "?": {"state": "failed"}}
    row = {"task": "abstention"}
    records = [
        {**row, "query": query, "item": item, **labels[each]}
        for query, known in refused.items()
        for item, each in zip(("answer", "gold"), known, strict=True)
    ]
    return evaluate_verdicts(records, "Abstention(questions=unanswerable)")


UNANSWERABLE = "Abstention(questions=unanswerable)"


def test_the_bounds_of_the_mean_are_the_same_in_tables_in_plots_and_for_gates() -> None:
    scores = _refusals(q1="rr", q2="ar", q3="r?", q4="a?")
    # q3 counts 1 and q4 counts 0, if their questions cannot be answered; otherwise they do not count.
    assert "0.3333 to 0.6667" in str(scores)
    bounds = scores.bounds(UNANSWERABLE)
    assert bounds.mean == scores.label_bounds[UNANSWERABLE].mean == (1 / 3, 2 / 3)
    assert (bounds.to_dict()["low"], bounds.to_dict()["high"]) == (1 / 3, 2 / 3)
    assert str(bounds).splitlines()[-2].split() == ["all", "0.5000", "0.3333", "0.6667", "2"]
    rules = [Rule("min", UNANSWERABLE, 0.34), Rule("max", UNANSWERABLE, 0.66)]
    outcomes = gate_by_rules(scores, rules, unknown="worst").outcomes
    assert [(each.passed, each.value) for each in outcomes] == [(False, 1 / 3), (False, 2 / 3)]


def test_the_largest_drop_leaves_out_what_may_have_nothing_to_judge() -> None:
    baseline, run = _refusals(q1="rr", q2="rr", q3="rr"), _refusals(q1="rr", q2="ar", q3="r?")
    (outcome,) = gate_by_rules(run, [Rule("max-drop", UNANSWERABLE, 0.1)], baseline, unknown="worst").outcomes
    assert outcome.drop == 0.5  # with q3, it would be a third


def test_a_measure_without_anything_to_judge_has_no_bounds_of_its_mean() -> None:
    assert SCORES.take([2]).label_bounds["Faithfulness"].mean == (None, None)
    assert json.loads(SCORES.take([2]).to_json())["bounds"]["Faithfulness"]["low"] is None


def test_a_gate_needs_bounds_for_the_worst_case_and_may_refuse_missing_labels() -> None:
    rule = Rule("min", "Faithfulness", 0.1)
    with pytest.raises(KaratError, match="1 query of Faithfulness lacks labels"):
        gate_by_rules(SCORES, [rule], unknown="error")
    with pytest.raises(KaratError, match="these scores have no bounds"):
        gate_by_rules(evaluate_verdicts(LABELS, unknown="skip"), [rule], unknown="worst")
