"""Nothing is dropped silently: findings count and name what was ignored or guessed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from karat import KaratError, Scores, evaluate, evaluate_results, evaluate_runs
from karat.options import Missing
from karat.scores.finding import Finding
from karat.scores.summary import notes

TRUTH = {"q": {"a": 1, "b": 0}, "r": {"c": 1}, "s": {}, "t": {"d": 0}}


def found(**options: object) -> dict[str, str]:
    run = {"q": ["a", "x", "b", "y"], "r": [], "s": ["a"], "unknown": ["a"]}
    scores = evaluate(TRUTH, run, ["P@2", "AP", "nDCG@4"], **options)  # type: ignore[arg-type]  # options are free here
    return {finding.code: str(finding) for finding in scores.findings}


def test_queries_missing_from_the_run_are_listed_with_how_they_are_treated() -> None:
    assert found()["missing-queries"].startswith("1 query missing from the run (scored 0): t.")
    assert "no-relevant" not in found(missing="skip")
    assert found(missing="skip")["missing-queries"] == "1 query missing from the run (left out): t."


def test_queries_of_the_run_that_are_not_in_the_truth_are_listed() -> None:
    assert found()["unknown-queries"] == "1 query in the run but not in the ground truth (ignored): unknown."


def test_queries_with_an_empty_truth_or_without_retrieved_documents_are_listed() -> None:
    assert found()["empty-truths"] == "1 query with empty ground truth (scored 0): s."
    assert found()["nothing-retrieved"] == "1 query of the run without documents (scored 0): r."


def test_queries_without_a_document_that_reaches_the_threshold_are_listed() -> None:
    assert found()["no-relevant"] == "1 query without a document of positive grade (scored 0): t."
    assert found(rel=2)["no-relevant"] == "3 queries without a document of grade 2 or more (scored 0): q, r, t."


def test_the_share_of_unjudged_documents_is_given_at_each_cutoff() -> None:
    assert found()["unjudged"] == "67% of the documents in the top 2 and 60% in the top 4 are unjudged."


def test_of_many_cutoffs_the_share_of_unjudged_documents_is_given_at_the_lowest_and_the_highest() -> None:
    (finding,) = evaluate({"q": {"a": 1}}, {"q": ["a", "x", "y", "z"]}, "P@1,2,3,4").findings
    assert str(finding) == "75% of the documents in the top 4 are unjudged."
    (finding,) = evaluate({"q": {"a": 1}}, {"q": ["x", "a", "y", "z"]}, "P@1,2,3,4").findings
    assert str(finding) == "100% of the documents in the top 1 and 75% in the top 4 are unjudged."


def test_measures_of_judged_documents_only_need_no_share_of_unjudged_documents() -> None:
    assert not evaluate({"q": {"a": 1}}, {"q": ["a", "x"]}, "P(judged_only=true)@1, AP(judged_only=true)").findings


def test_without_a_cutoff_the_share_of_unjudged_documents_is_over_the_whole_run() -> None:
    (finding,) = evaluate({"q": {"a": 1}}, {"q": ["a", "x", "y", "z"]}, ["AP"]).findings
    assert str(finding) == "75% of the documents are unjudged."


@pytest.mark.parametrize(("judged", "share"), [(1, ">99%"), (999, "<1%")])
def test_a_share_is_never_rounded_to_0_or_100_per_cent(judged: int, share: str) -> None:
    docs = [str(number) for number in range(1000)]
    (finding,) = evaluate({"q": dict.fromkeys(docs[:judged], 1)}, {"q": docs}, ["AP"]).findings
    assert share in str(finding)


def test_if_only_relevant_documents_are_listed_the_share_of_unjudged_ones_is_not_shown() -> None:
    run = {"q": ["a", "x", "y"]}
    unlisted: list[Any] = [{"q": ["a"]}, [["a"]], {"q": [{"id": "a", "score": 2}]}]
    assert [evaluate(truth, run if isinstance(truth, dict) else [run["q"]], "AP").findings for truth in unlisted] == [
        (), (), (),
    ]  # fmt: skip
    record = {"query": "q", "truth": ["a"], "retrieved": ["a", "x"]}
    assert evaluate_results([record], "AP").findings == ()
    assert evaluate({"q": ["a"]}, run, "AP").bounds("AP").mean[1] == 1.0
    for graded in ({"q": {"a": 1}}, {"q": [{"id": "a", "score": 1}, {"id": "b", "score": 0}]}):
        assert [finding.code for finding in evaluate(graded, run, "AP").findings] == ["unjudged"]


def test_a_finding_of_several_systems_is_one_line_with_the_number_of_each() -> None:
    truth = {f"q{at}": {"a": 1, "b": 0} for at in range(4)}
    runs = {f"s{at}": {f"q{query}": ["a", *"xyz"[: at % 4]] for query in range(at % 3 + 1)} for at in range(12)}
    lines = notes(evaluate_runs(truth, runs, ["P@1", "P@2"]))
    assert lines == [
        "note K030: queries missing from the run (scored 0): s0 3, s1 2, s2 1, s3 3, s4 2, s5 1, s6 3, s7 2, s8 1,"
        ' s9 3, s10 2, s11 1. To leave them out, use missing="skip" (--missing skip).',
        "note K032: s1, s2, s3, s5, s6, s7, s9, s10, s11: 50% of the documents in the top 2 are unjudged.",
    ]


def test_shares_of_unjudged_documents_that_differ_are_one_line() -> None:
    truth = {"q": {"a": 1, "b": 0}}
    runs = {"one": {"q": ["a", "x"]}, "two": {"q": ["x", "a"]}, "three": {"q": ["a", "b"]}}
    assert notes(evaluate_runs(truth, runs, ["P@1", "P@2"])) == [
        "note K032: unjudged documents in the top 1 and in the top 2: one 0% and 50%, two 100% and 50%."
    ]


def test_nulls_are_named_by_query_for_measures_with_the_same_ones() -> None:
    first, second = np.array([np.nan, 1, 2]), np.array([1, np.nan, 2])
    scores = Scores(("a", "b", "c"), {"X": first, "Y": second, "Z": first.copy()})
    assert notes({"": scores}) == [
        "note: 1 query without a value for X and Z (left out): a.",
        "note: 1 query without a value for Y (left out): b.",
    ]


def test_a_perfect_data_set_has_no_findings() -> None:
    assert evaluate({"q": {"a": 1}}, {"q": ["a"]}, ["AP", "P@1"]).findings == ()


def test_many_queries_are_counted_and_the_first_three_listed() -> None:
    truth = {f"q{number:04}": {"a": 1} for number in range(2000)}
    (finding,) = evaluate(truth, {}, ["AP"]).findings
    assert "2,000 queries missing from the run" in finding.message
    assert finding.message.endswith("q0000, q0001, q0002 and 1,997 more")
    assert len(finding.queries) == 2000


def test_graded_measures_list_queries_without_a_positive_grade() -> None:
    scores = evaluate({"q": {"a": 0}, "r": {"b": 1}}, {"q": ["a"], "r": ["b"]}, "nDCG")
    codes = {finding.code: finding for finding in scores.findings}
    assert codes["no-relevant"].queries == ("q",)


NO_COMMON_QUERY = (
    "no query is in both the ground truth and the run: the ground truth has q1, q2; the run has 1, 2, 3, …"
    " Ids differ in the prefix 'q': 'q1' in the ground truth is '1' in the run. Write them alike."
)


@pytest.mark.parametrize("missing", ["zero", "skip"])
def test_a_run_that_shares_no_query_with_the_ground_truth_is_an_error_with_ids_of_both(missing: Missing) -> None:
    truth = {"q1": {"a": 1}, "q2": {"b": 1}}
    run = {str(at): {"a": 1.0} for at in range(1, 6)}
    with pytest.raises(KaratError) as raised:
        evaluate(truth, run, "AP", missing=missing)
    assert str(raised.value) == f"the run: {NO_COMMON_QUERY}"
    with pytest.raises(KaratError) as raised:
        evaluate_runs(truth, {"good": {"q1": ["a"]}, "bad": run}, "AP", missing=missing)
    assert str(raised.value) == f"bad: {NO_COMMON_QUERY}"


def test_an_empty_run_in_memory_scores_0_and_its_queries_are_listed() -> None:
    scores = evaluate({"q": {"a": 1}}, {}, "AP")
    assert scores["AP"] == 0
    assert [str(finding) for finding in scores.findings] == ["1 query missing from the run (scored 0): q."]
    with pytest.raises(KaratError, match="the run contains no query"):
        evaluate({"q": {"a": 1}}, {}, "AP", missing="skip")


def test_documents_without_the_field_to_match_by_are_counted_on_both_sides() -> None:
    truth = {"q": [{"content": "a"}, {"content": None}, {"content": ""}]}
    scores = evaluate(truth, {"q": [{"content": None}, {"content": "a"}]}, "RR", match="content")
    assert scores["RR"] == 0.5
    messages = {finding.code: finding.message for finding in scores.findings}
    assert messages["keyless-golds"] == "2 judged documents without content (cannot match)"
    assert messages["keyless"] == "1 retrieved document without content (cannot match)"


def test_a_query_is_listed_if_none_of_its_retrieved_documents_has_the_field_to_match_by() -> None:
    run = {"q": [{"content": None}], "r": [{"content": "b"}]}
    scores = evaluate({"q": ["a"], "r": ["b"]}, run, "RR", match="content")
    messages = {finding.code: finding.message for finding in scores.findings}
    assert messages["nothing-retrieved"] == "1 query of the run without documents that can match (scored 0): q"


@pytest.mark.parametrize(
    ("asked", "note"),
    [
        ("recall", "recall is R of all retrieved documents; in trec_eval, it is recall_5,10,15,20,30,100,200,500,1000"),
        ("recall(rel=2)", "recall is R(rel=2) of all retrieved documents; in trec_eval, it is recall_5,10,15,20,30,"),
        ("success", "success is Success of all retrieved documents; in trec_eval, it is success_1,5,10"),
    ],
)
def test_a_name_that_means_several_cutoffs_in_trec_eval_is_said_to_mean_something_else(asked: str, note: str) -> None:
    scores = evaluate({"q": {"a": 1}}, {"q": ["a"]}, ["AP", asked])
    (finding,) = (finding for finding in scores.findings if finding.code == "names")
    assert finding.message.startswith(note)
    assert f"note: {note}" in str(scores)
    systems = evaluate_runs({"q": {"a": 1}}, {"one": {"q": ["a"]}, "two": {"q": ["x"]}}, [asked])
    assert str(systems).count(note) == 1
    record = {"query": "q", "truth": ["a"], "retrieved": ["a"]}
    assert "names" in {finding.code for finding in evaluate_results([record], asked, match="content").findings}


@pytest.mark.parametrize(
    "asked", ["R", "recall_5", "recall@5", "success_1", "hit_rate", "R@5", "Recall", "recall_5,10"]
)
def test_a_name_that_means_the_same_in_trec_eval_has_no_note(asked: str) -> None:
    assert "names" not in {each.code for each in evaluate({"q": {"a": 1}}, {"q": ["a"]}, asked).findings}


NANOSECONDS = 1_752_537_600_000_000_000
"""a time as it is today: 256 of them are one double"""
TIMES = {
    "q": {"a": NANOSECONDS + 1, "x": NANOSECONDS + 2, "b": NANOSECONDS + 3, "y": NANOSECONDS + 5000},
    "r": {"c": 2**53, "d": 2**53 + 1, "e": -(2**53), "f": -(2**53) - 1, "g": 2**53 - 1, "h": 5, "i": 5},
    "unknown": {"a": NANOSECONDS, "b": NANOSECONDS},
}
LARGE_TIES = "7 documents tied at a score of 2^53 or more. Scores are doubles, in which larger whole numbers, such as"


def rows_of(run: dict[str, dict[str, int]]) -> list[tuple[str, str, int]]:
    return [(query, doc, score) for query, docs in run.items() for doc, score in docs.items()]


def run_as(kind: str, folder: Path) -> Any:
    path = folder / f"run.{kind}"
    if kind == "mapping":
        return TIMES
    frame = pd.DataFrame(rows_of(TIMES), columns=["query", "doc", "score"])
    assert frame["score"].dtype == np.int64
    match kind:
        case "trec":
            path.write_text("".join(f"{query} Q0 {doc} 1 {score} tag\n" for query, doc, score in rows_of(TIMES)))
        case "json":
            path.write_text(json.dumps(TIMES))
        case "jsonl":
            frame.to_json(path, orient="records", lines=True)
        case "csv":
            frame.to_csv(path, index=False)
        case "parquet":
            frame.to_parquet(path)
        case "scattered.csv":
            frame.sort_values("score").to_csv(path, index=False)
    return frame if kind == "frame" else frame.to_dict("records") if kind == "rows" else path


@pytest.mark.parametrize("with_arrow", [False, True])
@pytest.mark.parametrize(
    "kind", ["mapping", "trec", "json", "jsonl", "csv", "scattered.csv", "parquet", "frame", "rows"]
)
def test_whole_numbers_that_become_equal_doubles_are_counted_whatever_the_source(
    kind: str, with_arrow: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if with_arrow:
        monkeypatch.setattr("karat.reading.pairs.tables.SMALL_FILE", -1)
    scores = evaluate({"q": {"a": 1}, "r": {"c": 1}}, run_as(kind, tmp_path), "AP")
    (finding,) = (finding for finding in scores.findings if finding.code == "large-ties")
    assert str(finding).startswith(LARGE_TIES)
    assert finding.count == 7


def test_large_scores_that_are_not_tied_and_ties_of_smaller_scores_are_not_mentioned() -> None:
    run = {"q": {"a": 2.0**53, "b": 2.0**53 + 2, "c": 1, "d": 1}, "r": {"a": 2.0**53, "b": float("inf"), "c": 1e300}}
    for each in (run, {"q": run["q"], "r": {"a": float("inf"), "b": float("inf")}}):
        scores = evaluate({"q": {"a": 1}, "r": {"a": 1}}, each, "AP")
        assert "large-ties" not in {finding.code for finding in scores.findings}


def test_a_finding_that_ends_with_a_question_has_no_full_stop_after_it() -> None:
    assert str(Finding("c", "1 question without an answer: How soft?", 1, "Skip it.")).endswith("How soft? Skip it.")
