"""Evaluating answers, alone or with documents: measures, missing answers, findings and errors."""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import karat
from karat import Finding, KaratError, Scores, evaluate, evaluate_answers, evaluate_results
from karat.evaluation import DEFAULT_ANSWER_MEASURES
from karat.measures import answers
from karat.measures.answers import EM, TokenF1

Record = dict[str, Any]

TRUTH: dict[str, Any] = {"q2": ["9", "nine"], "q1": "the Eiffel Tower", "später": "1889", "unknown": None}
OF_SHORT_LISTS = ("nDCG@5", "AP", "RR", "P@5", "R@5")
AS_TEXT = "Answers are text: put the value in quotes, or convert it with str(...)."
PREDICTIONS: dict[str, str | None] = {"q1": "Eiffel Tower in Paris", "q2": "Nine.", "später": None, "other": "x"}


def error_of(call: Any, *args: Any, **options: Any) -> KaratError:
    with pytest.raises(KaratError) as caught:
        call(*args, **options)
    return caught.value


def findings_by_code(scores: Scores) -> dict[str, Finding]:
    return {finding.code: finding for finding in scores.findings}


# evaluate_answers


def test_the_default_measures_are_exact_match_word_f1_rouge_l_and_contains() -> None:
    scores = evaluate_answers(TRUTH, PREDICTIONS)
    assert scores.measures == DEFAULT_ANSWER_MEASURES == ("EM(normalize=true)", "TokenF1", "RougeL", "Contains")
    assert list(scores.per_query["q2"].values()) == [1.0, 1.0, 1.0, 1.0]
    assert list(scores.per_query["q1"].values()) == [0.0, 2 / 3, 4 / 7, 1.0]


def test_questions_are_in_the_order_of_the_truth() -> None:
    assert evaluate_answers(TRUTH, PREDICTIONS).queries == ("q2", "q1", "später")
    assert evaluate_answers(dict(reversed(TRUTH.items())), PREDICTIONS).queries == ("später", "q1", "q2")


def test_measures_are_given_as_one_text_a_list_or_objects() -> None:
    expected = {"EM": 0.0, "TokenF1": (1 + 2 / 3) / 3}
    for measures in ("EM, F1", ["EM", "TokenF1", "f1"], [EM, TokenF1], (each for each in ("em", TokenF1))):
        assert evaluate_answers(TRUTH, PREDICTIONS, measures).means == pytest.approx(expected)
    assert evaluate_answers(TRUTH, PREDICTIONS, TokenF1).measures == ("TokenF1",)


@pytest.mark.parametrize(
    "predictions", [PREDICTIONS, {query: text for query, text in PREDICTIONS.items() if text is not None}]
)
def test_a_question_without_an_answer_scores_0_and_is_a_finding(predictions: Mapping[str, str | None]) -> None:
    scores = evaluate_answers(TRUTH, predictions)
    assert set(scores.per_query["später"].values()) == {0.0}
    found = findings_by_code(scores)["missing-answers"]
    assert (found.count, found.queries) == (1, ("später",))
    assert found.message == "1 question without an answer (scored 0): später"
    assert 'missing="skip"' in found.hint


def test_with_missing_skip_a_question_without_an_answer_is_left_out_and_still_a_finding() -> None:
    scores = evaluate_answers(TRUTH, PREDICTIONS, "TokenF1", missing="skip")
    assert scores.per_query == {"q2": {"TokenF1": 1.0}, "q1": {"TokenF1": 2 / 3}}
    found = findings_by_code(scores)["missing-answers"]
    assert (found.count, found.queries) == (1, ("später",))
    assert found.message == "1 question without an answer (left out): später"
    assert scores["TokenF1"] == pytest.approx(5 / 6)
    assert scores.answers is not None
    assert scores.answers.queries == ("q2", "q1")


@pytest.mark.parametrize("missing", ["zero", "skip"])
def test_predictions_that_share_no_question_with_the_gold_answers_are_an_error_with_ids_of_both(missing: str) -> None:
    error = error_of(evaluate_answers, {"1": "a", "2": "b"}, {"q1": "a", "q2": "b"}, missing=missing)
    assert str(error) == (
        "the predictions: no question is in both the ground truth and the predictions: the ground truth has 1, 2;"
        " the predictions have q1, q2. Ids differ in the prefix 'q': '1' in the ground truth is 'q1' in the"
        " predictions. Write them alike."
    )


def test_predictions_without_any_question_score_0() -> None:
    scores = evaluate_answers({"1": "a", "2": "b"}, {})
    assert set(scores.means.values()) == {0.0}
    assert str(findings_by_code(scores)["missing-answers"]) == "2 questions without an answer (scored 0): 1, 2."


@pytest.mark.parametrize(("name", "place"), [("", "the predictions"), ("gpt", "gpt")])
def test_leaving_out_every_question_is_an_error(name: str, place: str) -> None:
    error = error_of(evaluate_answers, {"1": "a"}, {"q1": "a", "1": None}, missing="skip", name=name)
    assert (error.what, str(error.place)) == ("no question of the ground truth has a predicted answer", place)
    assert error.hint == "To score them 0, use missing='zero'."


def test_questions_without_a_gold_answer_are_ignored_and_a_finding() -> None:
    scores = evaluate_answers(TRUTH, {**PREDICTIONS, "unknown": "y"})
    assert "unknown" not in scores.queries
    assert "other" not in scores.queries
    found = findings_by_code(scores)["unknown-answers"]
    assert (found.count, found.queries) == (2, ("other", "unknown"))
    assert found.message == "2 questions without a gold answer (ignored): other, unknown"


def test_a_truth_with_only_none_is_an_error() -> None:
    error = error_of(evaluate_answers, {"q": None}, {"q": "a"})
    assert (error.what, str(error.place)) == ("no question has a gold answer", "the ground truth")
    assert error.hint == "Pass at least one that is not None."


def test_complete_data_has_no_findings() -> None:
    assert evaluate_answers({"q": "a"}, {"q": "b"}).findings == ()


def test_findings_are_shown_with_the_scores() -> None:
    text = str(evaluate_answers(TRUTH, PREDICTIONS))
    assert "3 queries" in text
    assert "note K053: 1 question without an answer (scored 0): später." in text
    assert "note K054: 2 questions without a gold answer (ignored): other, unknown." in text


def test_two_empty_answers_match_and_none_matches_nothing() -> None:
    truth = {"empty": "", "none": [], "said": "", "not said": "", "full": "x"}
    scores = evaluate_answers(truth, {"empty": "", "none": "", "said": "x", "not said": None, "full": ""})
    for measure in DEFAULT_ANSWER_MEASURES:
        assert scores.column(measure).tolist() == [1.0, 1.0, 0.0, 0.0, 0.0]


def test_the_best_of_several_gold_answers_counts_for_each_measure() -> None:
    scores = evaluate_answers({"q": ["red", "green apple", "x y z"]}, {"q": "green apple pie"}, "TokenF1, TokenRecall")
    assert scores.per_query == {"q": {"TokenF1": 0.8, "TokenRecall": 1.0}}


def test_true_and_false_may_be_in_any_case_in_measure_names() -> None:
    assert evaluate_answers({"q": "a"}, {"q": "A"}, "EM(normalize=True), EM(normalize=TRUE)").means == {
        "EM(normalize=true)": 1.0
    }
    assert evaluate_answers({"q": "a"}, {"q": "A"}, "TokenF1(normalize=False)").means == {"TokenF1(normalize=false)": 0}


@pytest.mark.parametrize(
    "golds", [["x", "p q"], ("x", "p q"), {"x", "p q"}, {"text": ["x", "p q"]}, [{"text": "x"}, {"text": "p q"}],
              {"text": "p q", "answer_start": 3}],
)  # fmt: skip
def test_the_functions_take_the_same_gold_answers_as_evaluate_answers(golds: Any) -> None:
    scores = evaluate_answers({"q": golds}, {"q": "p q r"}, "TokenF1, TokenPrecision, TokenRecall, RougeL, Contains")
    functions = (answers.f1, answers.precision, answers.recall, answers.rouge_l, answers.contains)
    assert [function(golds, "p q r") for function in functions] == list(scores.means.values())
    assert answers.f1(golds, "p q r") == pytest.approx(0.8)
    assert answers.exact_match(golds, "p q") == 1


@pytest.mark.parametrize("golds", [[], (), set(), {"text": []}])
def test_an_empty_list_of_gold_answers_is_the_empty_answer_for_the_functions_too(golds: Any) -> None:
    assert answers.f1(golds, "") == answers.exact_match(golds, "") == 1
    assert answers.f1(golds, "x") == answers.exact_match(golds, "x") == answers.f1(None, "") == 0


@pytest.mark.parametrize("missing", ["nope", None, "ZERO"])
def test_an_unknown_missing_option_is_an_error(missing: Any) -> None:
    assert (
        error_of(evaluate_answers, TRUTH, PREDICTIONS, missing=missing).what
        == f"missing={missing!r} is not one of zero, skip"
    )


def test_an_empty_list_of_measures_and_an_unknown_measure_are_errors() -> None:
    assert error_of(evaluate_answers, TRUTH, PREDICTIONS, []).what == "no measures were given"
    error = error_of(evaluate_answers, TRUTH, PREDICTIONS, "EMM")
    assert error.what == "unknown measure 'EMM'"
    assert (error.hint or "").startswith("Did you mean EM?")


@pytest.mark.parametrize("measure", ["nDCG@10", "AP", "F", "SpanIoU", karat.measures.RR])
def test_measures_of_documents_are_rejected_with_a_hint_to_evaluate(measure: Any) -> None:
    error = error_of(evaluate_answers, TRUTH, PREDICTIONS, ["EM", measure])
    assert error.what.endswith("measures documents, not answers")
    assert error.hint == "Use evaluate (`karat evaluate`)."


@pytest.mark.parametrize("measure", ["EM", "TokenF1", "em(normalize=true)", "Contains", EM])
def test_evaluate_rejects_measures_of_answers_with_a_hint_to_evaluate_answers(measure: Any) -> None:
    error = error_of(evaluate, {"q": ["a"]}, {"q": ["a"]}, ["RR", measure])
    assert error.what.endswith("measures answers, not documents")
    assert "evaluate_answers (`karat answers`)" in (error.hint or "")


@pytest.mark.parametrize(
    ("name", "of_documents", "of_answers"),
    [("F1", "F", "TokenF1"), ("f1", "F", "TokenF1"), ("recall", "R", "TokenRecall"), ("Recall", "R", "TokenRecall")],
)
def test_an_ambiguous_name_means_the_measure_that_fits_the_data(name: str, of_documents: str, of_answers: str) -> None:
    assert evaluate({"q": ["a"]}, {"q": ["a"]}, name).measures == (of_documents,)
    assert evaluate_answers({"q": "a"}, {"q": "a"}, name).measures == (of_answers,)


# Scores of answers have all features of Scores.


def test_a_column_is_found_by_any_name_of_its_measure() -> None:
    scores = evaluate_answers(TRUTH, PREDICTIONS)
    assert scores["F1"] == scores["TokenF1"] == scores[TokenF1] == pytest.approx(5 / 9)
    assert scores["EM(normalize=true)"] == scores["exact_match(normalize=true)"] == pytest.approx(1 / 3)
    assert "F1" in scores
    assert "EM" not in scores
    assert "F" not in scores
    error = error_of(scores.__getitem__, "EM")
    assert error.what == "these scores have no 'EM'"
    assert "EM(normalize=true), TokenF1" in (error.hint or "")


def test_an_interval_contains_the_mean_and_is_reproducible() -> None:
    truth = {str(at): "a" for at in range(40)}
    scores = evaluate_answers(truth, {str(at): "a" if at % 4 else "b" for at in range(40)}, "EM")
    low, high = scores.interval("EM")
    assert 0.5 < low < scores["EM"] == 0.75 < high < 0.95
    assert scores.interval("EM") == (low, high)


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_scores_of_answers_are_saved_and_loaded(suffix: str, tmp_path: Path) -> None:
    scores = evaluate_answers(TRUTH, PREDICTIONS, name="gpt")
    path = tmp_path / f"scores.{suffix}"
    scores.to_json(path) if suffix == "json" else scores.to_parquet(path)
    loaded = Scores.load(path)
    assert loaded.queries == scores.queries
    assert loaded.per_query == scores.per_query
    assert loaded.findings == scores.findings
    assert loaded.name == "gpt"
    assert loaded.answers is None
    assert loaded["F1"] == scores["F1"]


def test_scores_of_answers_become_data_frames() -> None:
    scores = evaluate_answers(TRUTH, PREDICTIONS, "EM, F1")
    frame = scores.to_pandas()
    assert frame["query"].tolist() == ["q2", "q1", "später"]
    assert frame["TokenF1"].tolist() == scores.to_polars()["TokenF1"].to_list() == [1.0, 2 / 3, 0.0]


def test_the_given_name_is_the_name_of_the_scores() -> None:
    assert evaluate_answers(TRUTH, PREDICTIONS).name == ""
    assert evaluate_answers(TRUTH, PREDICTIONS, name="gpt").name == "gpt"


def test_scores_keep_the_answers_unless_saved_without_evidence_or_pickled() -> None:
    scores = evaluate_answers(TRUTH, PREDICTIONS)
    assert scores.answers is not None
    assert scores.answers.queries == ("q2", "q1", "später")
    assert list(scores.answers.golds) == [("9", "nine"), ("the Eiffel Tower",), ("1889",)]
    assert list(scores.answers.predicted) == ["Nine.", "Eiffel Tower in Paris", None]
    for without in (scores.without_evidence(), pickle.loads(pickle.dumps(scores))):
        assert without.answers is None
        assert without.per_query == scores.per_query
        assert without.findings == scores.findings
    assert scores.answers is not None


# Results with documents, answers or both.

DOCUMENTS: Record = {"query": "q", "truth": ["a"], "retrieved": ["x", "a"]}
ANSWERS: Record = {"query": "q", "gold_answers": ["the cat", "a dog"], "answer": "dog!"}
BOTH: Record = {**DOCUMENTS, **ANSWERS}
MIXED: list[Record] = [
    {"query": "both", "truth": ["a"], "retrieved": ["a"], "gold_answers": "one", "answer": "one"},
    {"query": "answers", "gold_answers": ["two", "three"], "answer": "three"},
    {"query": "documents", "truth": ["b"], "retrieved": ["x", "b"]},
    {"query": "neither was found", "truth": ["c"], "gold_answers": "four"},
    {"query": "no truth", "retrieved": ["d"], "answer": "five"},
    {"query": "nothing"},
]


def test_results_with_documents_and_answers_get_the_default_measures_of_both() -> None:
    scores = evaluate_results([BOTH])
    assert scores.measures == (*OF_SHORT_LISTS, *DEFAULT_ANSWER_MEASURES)
    assert scores["RR"] == 0.5
    assert scores["EM(normalize=true)"] == 1.0
    assert [finding.message for finding in scores.findings] == [
        "the cut-offs are 5, because no list has more than 2 documents"
    ]


def test_results_with_answers_only_get_the_default_measures_of_answers() -> None:
    scores = evaluate_results([ANSWERS])
    assert scores.measures == DEFAULT_ANSWER_MEASURES
    assert scores.per_query == evaluate_answers({"q": ANSWERS["gold_answers"]}, {"q": "dog!"}).per_query


@pytest.mark.parametrize("answer", ["text", {"text": "an object"}, ["a", "list"], 7, True])
def test_results_with_documents_only_get_the_default_measures_of_documents(answer: Any) -> None:
    alone, scores = evaluate_results([DOCUMENTS]), evaluate_results([{**DOCUMENTS, "answer": answer}])
    assert scores.measures == alone.measures == OF_SHORT_LISTS
    assert scores.per_query == alone.per_query


def test_an_answer_that_is_not_text_does_not_matter_if_only_measures_of_documents_are_named() -> None:
    assert evaluate_results([{**BOTH, "answer": {"text": "x"}, "gold_answers": 7}], "RR")["RR"] == 0.5


INSIDE = "Use the text in it: fields={{'{0}': '{0}.{1}'}}. karat.look(...) shows what is in it."
INSIDE_OF_FINDING = 'Use the text in it: --field {0}={0}.{1} (in Python fields={{"{0}": "{0}.{1}"}}).'
UNREADABLE: dict[str, tuple[Record, str, str, str]] = {
    # the field; the message, the end of the place, and the hint
    "a number": ({"answer": 7}, "7 is not text", "answer", AS_TEXT),
    "an object without a text": ({"answer": {"a": 1}}, "{'a': 1} is not text", "answer", AS_TEXT),
    "an object": ({"answer": {"text": "a"}}, "{'text': 'a'} is not text", "answer", INSIDE.format("answer", "text")),
    "another object": ({"answer": {"n": 1, "said": "a"}}, "{'n': 1, 'said': 'a'} is not text", "answer",
                       INSIDE.format("answer", "said")),
    "a number among gold answers": ({"gold_answers": ["x", 7]}, "7 is not text", "gold_answers[1]", AS_TEXT),
    "an object as gold answer": ({"gold_answers": {"is": "x"}}, "{'is': 'x'} is not a gold answer", "gold_answers",
                                 INSIDE.format("gold_answers", "is")),
}  # fmt: skip


@pytest.mark.parametrize("name", UNREADABLE)
@pytest.mark.parametrize("measures", ["EM", ["RR", "EM"]])
def test_an_answer_that_is_not_text_is_an_error_if_a_measure_of_answers_is_named(name: str, measures: Any) -> None:
    field, what, place, hint = UNREADABLE[name]
    error = error_of(evaluate_results, [{**BOTH, "query": "first"}, {**BOTH, **field}], measures)
    assert (error.what, str(error.place), error.hint) == (what, f"the results[1], {place}", hint)


@pytest.mark.parametrize("name", UNREADABLE)
def test_an_answer_that_is_not_text_is_an_error_if_there_are_no_documents(name: str) -> None:
    field, what, place, hint = UNREADABLE[name]
    error = error_of(evaluate_results, [{**ANSWERS, "query": "first"}, {**ANSWERS, **field}])
    assert (error.what, str(error.place), error.hint) == (what, f"the results[1], {place}", hint)


@pytest.mark.parametrize("name", UNREADABLE)
def test_an_answer_that_is_not_text_is_a_finding_if_no_measure_is_named(name: str) -> None:
    field, what, place, hint = UNREADABLE[name]
    scores = evaluate_results([{**BOTH, "query": "first"}, {**BOTH, **field}])
    alone = evaluate_results([{**DOCUMENTS, "query": "first"}, DOCUMENTS])
    assert scores.measures == OF_SHORT_LISTS
    assert scores.per_query == alone.per_query
    [unscored] = scores.findings[len(alone.findings) :]
    assert (unscored.message, unscored.count) == (f"answers not scored: the results[1], {place}: {what}", 2)
    if "fields=" in hint:
        inside = hint.partition("'")[2].partition("'")[0], hint.rpartition(".")[0].partition("'}")[0].rpartition(".")[2]
        hint = INSIDE_OF_FINDING.format(*inside)
    assert unscored.hint == hint
    assert scores.findings == (*alone.findings, unscored)


def test_answers_without_gold_answers_are_a_finding_unless_measures_are_named() -> None:
    records = [{**DOCUMENTS, "answer": "x"}, {**DOCUMENTS, "query": "r", "answer": None}]
    records.append({**DOCUMENTS, "query": "s", "answer": ""})
    found = findings_by_code(evaluate_results(records))["unscored"]
    assert found.count == 2
    assert found.message == "answer of 2 queries not scored: no line has a field gold_answers"
    assert found.hint.startswith("No field looks like gold answers (gold_answers). Gold in another file is added with")
    assert "unscored" not in findings_by_code(evaluate_results(records, "RR"))
    assert "unscored" not in findings_by_code(evaluate_results([DOCUMENTS]))
    assert "unscored" not in findings_by_code(evaluate_results([BOTH]))


@pytest.mark.parametrize(("there", "lacking"), [("truth", "retrieved"), ("retrieved", "truth")])
def test_a_truth_without_retrieved_documents_is_a_finding_next_to_answers(there: str, lacking: str) -> None:
    record = {name: value for name, value in BOTH.items() if name != lacking}
    scores = evaluate_results([record])
    assert scores.measures == DEFAULT_ANSWER_MEASURES
    assert (
        findings_by_code(scores)["unscored"].message == f"{there} of 1 query not scored: no line has a field {lacking}"
    )


@pytest.mark.parametrize("name", ["F1@5", "recall@5", "precision@3"])
def test_names_given_for_answers_mean_answer_measures(name: str) -> None:
    assert "takes no cut-off" in error_of(evaluate_answers, TRUTH, PREDICTIONS, name).what


def test_names_given_for_documents_mean_document_measures() -> None:
    assert evaluate({"q": ["a"]}, {"q": ["a", "b"]}, "precision").means == {"SetP": 0.5}
    assert "no parameter 'normalize'" in error_of(evaluate, {"q": ["a"]}, {"q": ["a"]}, "F1(normalize=false)").what


@pytest.mark.parametrize("name", ["ground_truth", "reference", "gold_answer", "expected_output"])
def test_gold_answers_are_read_from_a_field_with_a_usual_name(name: str) -> None:
    asked: list[Any] = ["EM", ["RR", EM]]
    for measures in asked:
        scores = evaluate_results([{**DOCUMENTS, "answer": "x", name: "y"}], measures)
        assert scores["EM"] == 0.0
        note = f"the results: gold_answers is read from the field '{name}'"
        assert [found.message for found in scores.findings if found.code == "reading"] == [note]
        error = error_of(evaluate_results, [{**DOCUMENTS, "answer": "x", name: 1}], measures)
        assert (error.what.partition(";")[0], str(error.place)) == ("no field 'gold_answers'", "the results")
        assert f"No field looks like gold answers (gold_answers): {name} is 1." in (error.hint or "")


def test_a_measure_of_answers_without_answers_is_an_error_that_suggests_a_field() -> None:
    error = error_of(evaluate_results, [{**DOCUMENTS, "gold_answers": "x", "response": {"text": "y"}}], "EM")
    assert error.what.startswith("no field 'answer'; the fields are ")
    assert "fields={'answer': 'response.text'}" in (error.hint or "")
    records = [{**DOCUMENTS, "gold_answers": "x", "response": {"text": "x"}}]
    assert evaluate_results(records, "EM", fields={"answer": "response.text"})["EM"] == 1.0


def test_a_measure_of_documents_without_documents_is_an_error() -> None:
    for measures in ("RR", ["EM", "RR"]):
        error = error_of(evaluate_results, [{**ANSWERS, "documents": "a", "truth": ["a"]}], measures)
        assert error.what.startswith("no field 'retrieved'; the fields are ")
        assert "fields={'retrieved': 'documents'}" in (error.hint or "")


@pytest.mark.parametrize(
    ("record", "lacking"),
    [
        ({"query": "q", "answer": "a"}, "gold_answers"),
        ({"query": "q", "gold_answers": "a"}, "answer"),
        ({"query": "q", "truth": ["a"]}, "retrieved"),
        ({"query": "q", "retrieved": ["a"]}, "truth"),
    ],
)
def test_results_with_nothing_to_evaluate_are_an_error_that_names_the_missing_field(
    record: Record, lacking: str
) -> None:
    error = error_of(evaluate_results, [record])
    assert error.what.startswith(f"no field '{lacking}'; the fields are ")
    assert f"({lacking})" in (error.hint or "")


def test_f1_means_the_measure_that_fits_the_results() -> None:
    assert evaluate_results([DOCUMENTS], "F1").means == {"F": pytest.approx(2 / 3)}
    assert evaluate_results([ANSWERS], "F1").means == {"TokenF1": 1.0}
    assert evaluate_results([ANSWERS], "F1, EM").measures == ("TokenF1", "EM")
    assert evaluate_results([DOCUMENTS], "RR, F1").measures == ("RR", "F")


@pytest.mark.parametrize("measures", ["F1", "RR, F1", "f1", ["F1", "EM"]])
def test_f1_is_an_error_if_results_have_documents_and_answers(measures: Any) -> None:
    error = error_of(evaluate_results, [BOTH], measures)
    assert error.what.lower() == "f1 is ambiguous: it can mean f of documents or tokenf1 of answers"
    assert error.hint == "Write F or TokenF1."


def test_f1_is_not_ambiguous_if_its_parameters_fit_only_one_measure() -> None:
    assert evaluate_results([BOTH], "F1@1, F1(normalize=false)").measures == ("F@1", "TokenF1(normalize=false)")
    assert evaluate_results([BOTH], ["F", "TokenF1"]).means == {"F": pytest.approx(2 / 3), "TokenF1": 1.0}


def test_a_query_has_null_for_the_measures_that_it_lacks_the_data_for() -> None:
    scores = evaluate_results(MIXED, ["EM", "RR"])
    assert scores.per_query == {
        "both": {"EM": 1.0, "RR": 1.0},
        "answers": {"EM": 1.0, "RR": None},
        "documents": {"EM": None, "RR": 0.5},
        "neither was found": {"EM": 0.0, "RR": 0.0},
    }
    assert np.isnan(scores.column("RR")).tolist() == [False, True, False, False]
    assert scores.nulls("EM") == scores.nulls("RR") == 1
    assert scores["EM"] == pytest.approx(2 / 3)
    assert scores["RR"] == 0.5


def test_missing_values_are_shown_and_exported_as_null(tmp_path: Path) -> None:
    scores = evaluate_results(MIXED, ["EM", "RR"])
    assert [line for line in str(scores).splitlines() if "without a value" in line] == [
        "note: 1 query without a value for EM (left out): documents.",
        "note: 1 query without a value for RR (left out): answers.",
    ]
    assert json.loads(scores.to_json(tmp_path / "scores.json"))["queries"][1] == {
        "query": "answers",
        "EM": 1.0,
        "RR": None,
    }
    assert Scores.load(tmp_path / "scores.json").per_query == scores.per_query
    assert scores.to_polars()["RR"].null_count() == 1


def test_measures_without_a_value_for_the_same_queries_share_a_note() -> None:
    records = [*MIXED[:3], {**MIXED[2], "query": "more documents"}]
    notes = [line for line in str(evaluate_results(records, ["EM", "RR", "TokenF1"])).splitlines() if "value" in line]
    assert sorted(notes) == [
        "note: 1 query without a value for RR (left out): answers.",
        "note: 2 queries without a value for EM and TokenF1 (left out): documents, more documents.",
    ]


@pytest.mark.parametrize("measures", [None, "RR", "EM", ["EM", "RR"]])
def test_records_with_only_a_query_are_a_finding_whatever_is_evaluated(measures: Any, tmp_path: Path) -> None:
    records = [{"query": "a"}, BOTH, {"query": "b", "comment": "x"}]
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    for source in (records, path):
        scores = evaluate_results(source, measures)
        assert scores.queries == ("q",)
        found = findings_by_code(scores)["empty-lines"]
        assert found.message == "2 queries with nothing to evaluate (ignored): a, b"
        assert (found.count, found.queries) == (2, ("a", "b"))
    assert "empty-lines" not in findings_by_code(evaluate_results([BOTH], measures))


@pytest.mark.parametrize("measures", [None, "Correctness", ["Correctness", "EM"]])
def test_records_with_only_a_query_are_not_ignored_if_they_have_labels(measures: Any) -> None:
    label = {"item": "answer", "task": "correctness", "label": "correct"}
    labels = [{**label, "query": query} for query in ("q", "a", "b")]
    scores = evaluate_results([{"query": "a"}, BOTH, {"query": "b"}], measures, verdicts=labels)
    assert scores.values["Correctness"].tolist() == [1.0, 1.0, 1.0]
    assert "ignored" not in str(scores)
    assert ("2 queries without a value for " in str(scores)) == (measures != "Correctness")


def test_the_finding_about_one_empty_record_is_in_the_singular() -> None:
    assert findings_by_code(evaluate_results(MIXED))["empty-lines"].message == (
        "1 query with nothing to evaluate (ignored): nothing"
    )


def test_an_interval_is_over_the_queries_that_have_a_value() -> None:
    scores = evaluate_results(MIXED, ["EM", "RR"])
    alone = evaluate_results(MIXED, "EM")
    assert scores.interval("EM") == alone.interval("EM")
    assert scores.intervals() == {"EM": alone.interval("EM"), "RR": evaluate_results(MIXED, "RR").interval("RR")}


def test_missing_documents_and_missing_answers_are_findings() -> None:
    found = findings_by_code(evaluate_results(MIXED, ["EM", "RR"]))
    assert found["missing-queries"].queries == found["missing-answers"].queries == ("neither was found",)
    assert found["unknown-queries"].queries == found["unknown-answers"].queries == ("no truth",)


def test_with_missing_skip_queries_are_left_out_of_documents_and_answers() -> None:
    scores = evaluate_results([*MIXED, {**BOTH, "query": "half", "answer": None}], ["EM", "RR"], missing="skip")
    assert scores.per_query == {
        "both": {"EM": 1.0, "RR": 1.0},
        "answers": {"EM": 1.0, "RR": None},
        "documents": {"EM": None, "RR": 0.5},
        "half": {"EM": None, "RR": 0.5},
    }
    found = findings_by_code(scores)
    assert found["missing-queries"].queries == ("neither was found",)
    assert found["missing-answers"].queries == ("half", "neither was found")
    assert "(left out)" in found["missing-answers"].message


def test_leaving_out_every_answer_is_an_error() -> None:
    records = [{"query": "q", "gold_answers": "a"}, {"query": "r", "answer": "a"}]
    error = error_of(evaluate_results, records, missing="skip")
    assert (error.what.partition(":")[0], str(error.place)) == (
        "no question is in both the ground truth and the predictions",
        "the results",
    )


def test_columns_are_in_the_given_order_without_repetitions() -> None:
    measures = ["TokenF1", "RR", "EM", "AP", "RR", "token_f1"]
    assert evaluate_results([BOTH], measures).measures == ("TokenF1", "RR", "EM", "AP")


def test_rel_does_not_apply_to_answer_measures() -> None:
    assert evaluate_results([BOTH], ["EM", "AP"], rel=2).measures == ("EM", "AP(rel=2)")


def test_rows_are_in_the_order_of_the_results() -> None:
    records = [MIXED[2], MIXED[1], MIXED[0]]
    assert evaluate_results(records, ["EM", "RR"]).queries == ("documents", "answers", "both")


def test_results_in_a_file_are_evaluated_like_those_in_a_list(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in MIXED), "utf-8")
    assert evaluate_results(path).per_query == evaluate_results(MIXED).per_query
    assert evaluate_results(path).findings == evaluate_results(MIXED).findings


def test_an_answer_in_a_file_that_is_not_text_is_an_error_or_a_finding_that_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(json.dumps(BOTH) + "\n" + json.dumps({**BOTH, "query": "r", "answer": 1889}) + "\n", "utf-8")
    assert str(error_of(evaluate_results, path, "EM").place) == f"{path}:2, answer"
    found = findings_by_code(evaluate_results(path))["unscored"]
    assert found.message == f"answers not scored: {path}:2, answer: 1889 is not text"


def test_scores_keep_documents_and_answers_unless_saved_without_evidence_or_pickled() -> None:
    scores = evaluate_results(MIXED, ["EM", "RR"])
    assert scores.evidence is not None
    assert scores.answers is not None
    assert scores.answers.queries == ("both", "answers", "neither was found")
    for without in (scores.without_evidence(), pickle.loads(pickle.dumps(scores))):
        assert without.answers is None
        assert without.evidence is None
        assert without.per_query == scores.per_query
        assert without.findings == scores.findings
    assert evaluate_results(MIXED, "EM").evidence is None
    assert evaluate_results(MIXED, "RR").answers is None


def test_the_documents_of_a_query_are_explained_with_all_its_scores() -> None:
    assert "query both: EM 1.0000, RR 1.0000" in str(evaluate_results(MIXED, ["EM", "RR"]).explain("both"))


TEXT = st.sampled_from(["", "a", "Paris", "paris.", "the Paris in France", "北京", "1889"])
IDS = st.lists(st.sampled_from("abcde"), unique=True)
RECORD = st.fixed_dictionaries(
    {},
    optional={
        "truth": IDS,
        "retrieved": IDS,
        "gold_answers": st.one_of(TEXT, st.lists(TEXT, max_size=3)),
        "answer": TEXT,
    },
)


@given(st.lists(RECORD, min_size=1, max_size=8), st.sampled_from(["zero", "skip"]), st.booleans())
def test_evaluate_results_equals_evaluate_and_evaluate_answers_merged(
    fields: list[Record], missing: Literal["zero", "skip"], answers_first: bool
) -> None:
    records = [{"query": f"q{at}", **record} for at, record in enumerate(fields)]
    truth, run, golds, predictions = (
        {record["query"]: record[role] for record in records if role in record}
        for role in ("truth", "retrieved", "gold_answers", "answer")
    )
    assume(truth.keys() & run.keys() and golds.keys() & predictions.keys())
    of_documents, of_answers = ["RR", "AP", "nDCG@2"], ["EM", "TokenF1", "Contains"]
    measures = [*of_answers, *of_documents] if answers_first else [*of_documents, *of_answers]
    together = evaluate_results(records, measures, missing=missing)
    documents = evaluate(truth, run, of_documents, missing=missing)
    answered = evaluate_answers(golds, predictions, of_answers, missing=missing)
    assert together.measures == tuple(measures)
    assert together.means == {**documents.means, **answered.means}
    empty_lines = [record["query"] for record in records if len(record) == 1]
    ignored = findings_by_code(together).get("empty-lines")
    assert (list(ignored.queries) if ignored else []) == empty_lines
    assert together.findings == (*documents.findings, *answered.findings, *([ignored] if ignored else []))
    rows = {*documents.queries, *answered.queries}
    assert together.queries == tuple(record["query"] for record in records if record["query"] in rows)
    empty = dict.fromkeys(measures)
    assert together.per_query == {
        query: {**empty, **documents.per_query.get(query, {}), **answered.per_query.get(query, {})}
        for query in together.queries
    }
    for alone, names in ((documents, of_documents), (answered, of_answers)):
        assert evaluate_results(records, names, missing=missing).per_query == alone.per_query
