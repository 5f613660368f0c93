"""Gold documents, gold answers and predicted answers in another source than the log: what they are joined by."""

from __future__ import annotations

import io
import json
import unicodedata
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import karat
from karat import KaratError, evaluate, evaluate_results
from karat.grounding.responses.results import read_responses
from karat.reading.records.joining import JoinedSources

Json = dict[str, Any]

LOG: list[Json] = [
    {"query": "q1", "question": "How soft is gold?", "retrieved": ["d9", "d1"], "answer": "Very soft"},
    {"query": "q2", "question": "Who found radium?", "retrieved": ["d2"], "answer": "The Curies"},
]
GRADES = {"q1": {"d1": 2, "d9": 0}, "q2": {"d2": 1, "d3": 2}}
GOLDS = {"q1": "Very soft", "q2": ["Marie Curie", "The Curies"]}


def lines(records: list[Json]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def digests(scores: karat.Scores) -> dict[str, str]:
    assert scores.fingerprint is not None
    return dict(scores.fingerprint.truths["judged"])


def notes(scores: karat.Scores) -> str:
    return "\n".join(str(finding) for finding in scores.findings)


DOCUMENTS: dict[str, tuple[str, str]] = {
    "qrels": ("gold.qrels", "".join(f"{q} 0 {d} {g}\n" for q, docs in GRADES.items() for d, g in docs.items())),
    "csv": ("gold.csv", "query,doc,grade\nq1,d1,2\nq1,d9,0\nq2,d2,1\nq2,d3,2\n"),
    "mapping": ("gold.json", json.dumps(GRADES)),
    "rows": (
        "gold.jsonl",
        lines([{"query": q, "doc": d, "grade": g} for q, docs in GRADES.items() for d, g in docs.items()]),
    ),
    "records": ("gold.jsonl", lines([{"query": q, "truth": docs} for q, docs in GRADES.items()])),
    "bom": ("gold.csv", "\ufeffquery,doc,grade\nq1,d1,2\nq1,d9,0\nq2,d2,1\nq2,d3,2\n"),
}


@pytest.mark.parametrize("form", DOCUMENTS)
def test_gold_documents_of_any_form_count_with_their_grades(form: str, tmp_path: Path) -> None:
    name, text = DOCUMENTS[form]
    (tmp_path / name).write_text(text)
    scores = evaluate_results(LOG, ["nDCG@5", "RR"], truth=tmp_path / name)
    run = {record["query"]: record["retrieved"] for record in LOG}
    assert scores.means == evaluate(GRADES, run, ["nDCG@5", "RR"]).means
    assert digests(scores) == digests(evaluate(GRADES, run, ["RR"]))


ANSWERS: dict[str, tuple[str, str]] = {
    "mapping": ("gold.json", json.dumps(GOLDS)),
    "records": ("gold.jsonl", lines([{"query": q, "gold_answers": gold} for q, gold in GOLDS.items()])),
    "csv": ("gold.csv", "query,answer\nq1,Very soft\nq2,Marie Curie\nq2,The Curies\n"),
    "squad": (
        "gold.json",
        json.dumps({"data": [{"paragraphs": [{"qas": [
            {"id": "q1", "question": "?", "answers": [{"text": "Very soft"}]},
            {"id": "q2", "question": "?", "answers": [{"text": "The Curies"}]},
        ]}]}]}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", ANSWERS)
def test_gold_answers_of_any_form_count(form: str, tmp_path: Path) -> None:
    name, text = ANSWERS[form]
    (tmp_path / name).write_text(text)
    assert evaluate_results(LOG, truth=tmp_path / name)["EM(normalize=true)"] == 1.0


@pytest.mark.parametrize(
    "truth",
    [
        GRADES,
        [("q1", "d1", 2), ("q1", "d9", 0), ("q2", "d2", 1), ("q2", "d3", 2)],
        pd.DataFrame({"query": ["q1", "q2"], "doc": ["d1", "d2"], "grade": [2, 1]}),
        [["d1"], ["d2"]],
        (record for record in [{"qid": "q1", "truth": ["d1"]}, {"qid": "q2", "truth": ["d2"]}]),
        io.StringIO("q1 0 d1 1\nq2 0 d2 1\n"),
    ],
)
def test_gold_documents_may_be_python_objects(truth: Any) -> None:
    assert evaluate_results(LOG, "RR", truth=truth)["RR"] == 0.75


@pytest.mark.parametrize(
    "truth",
    [
        GOLDS,
        ["Very soft", ["The Curies"]],
        pd.DataFrame({"query": ["q1", "q2"], "answer": ["Very soft", "The Curies"]}),
    ],
)
def test_gold_answers_may_be_python_objects(truth: Any) -> None:
    assert evaluate_results(LOG, "EM", truth=truth)["EM"] == 1.0


def test_one_file_may_have_gold_documents_and_gold_answers() -> None:
    gold = [{"query": "q1", "truth": ["d1"], "gold_answers": ["soft"]}, {"query": "q2", "truth": ["d2"]}]
    scores = evaluate_results(LOG, ["RR", "Contains"], truth=gold)
    assert scores.per_query == {"q1": {"RR": 0.5, "Contains": 1.0}, "q2": {"RR": 1.0, "Contains": None}}


def test_predicted_answers_are_joined_to_a_log_that_has_only_documents(tmp_path: Path) -> None:
    log = [{name: value for name, value in record.items() if name != "answer"} for record in LOG]
    (tmp_path / "predictions.json").write_text(json.dumps({"q2": "Marie Curie", "q1": "hard"}))
    scores = evaluate_results(log, "EM", truth=GOLDS, answers=tmp_path / "predictions.json")
    assert scores.per_query == {"q1": {"EM": 0.0}, "q2": {"EM": 1.0}}


def test_the_answers_may_be_in_the_log_of_another_tool() -> None:
    log = [{"query": "How soft is gold?", "retrieved": ["d1"]}]
    ragas = [{"user_input": "How soft is gold?", "retrieved_contexts": ["x"], "response": "Very"}]
    assert evaluate_results(log, "EM", truth={"How soft is gold?": "Very"}, answers=ragas)["EM"] == 1.0


def test_a_log_and_gold_are_joined_by_the_text_of_the_question_if_their_ids_differ() -> None:
    gold = [{"id": 7, "question": "Who found radium?", "gold_answers": "The Curies"}]
    scores = evaluate_results(LOG, "EM", truth=gold, missing="skip")
    assert scores.per_query == {"q2": {"EM": 1.0}}
    said = "the results and the ground truth are joined by 'question': 1 of 2 queries of the results is not in the"
    assert f"{said} ground truth, such as 'How soft is gold?'" in notes(scores)


def test_ids_in_one_and_texts_in_the_other_are_joined_by_a_field_beside_the_query() -> None:
    log = [{"query": record["question"], "retrieved": record["retrieved"]} for record in LOG]
    gold = [{"query": "q1", "question": "How soft is gold?", "truth": ["d1"]}]
    scores = evaluate_results(log, "RR", truth=gold)
    assert scores.per_query == {"How soft is gold?": {"RR": 0.5}}
    assert "the results and the ground truth are joined by 'query' = 'question'" in notes(scores)


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_texts_are_also_joined_without_regard_to_case_white_space_and_unicode_form(form: Any) -> None:
    log = [{"query": "Wie weich  ist Münzgold?", "retrieved": ["d1"]}]
    text = unicodedata.normalize(form, "wie weich ist münzgold? ")
    scores = evaluate_results(log, "RR", truth={text: ["d1"]})
    assert scores["RR"] == 1.0
    assert "(1 query without regard to case, white space and Unicode form)" in notes(scores)


def test_case_matters_in_ids() -> None:
    log = [{"query": "a", "retrieved": ["d1"]}, {"query": "A", "retrieved": ["d2"]}]
    scores = evaluate_results(log, "RR", truth={"a": ["d1"]})
    assert scores.queries == ("a",)


def test_numbers_and_their_digits_are_the_same_id() -> None:
    log = [{"query": 1, "retrieved": ["d1"]}, {"query": "2", "retrieved": ["d2"]}]
    gold = [{"query": "1", "truth": ["d1"]}, {"query": 2, "truth": ["d2"]}]
    assert evaluate_results(log, "RR", truth=gold)["RR"] == 1.0
    with pytest.raises(KaratError, match=r"query '1\.0'"):
        evaluate_results(log, "RR", truth={"1.0": ["d1"]})
    with pytest.raises(KaratError, match=r"1.0 is not an id. Ids are text or whole numbers: write 1"):
        evaluate_results(log, "RR", truth=[{"query": 1.0, "truth": ["d1"]}])


def test_a_note_counts_the_queries_that_are_in_one_of_the_two_with_an_example_of_each() -> None:
    scores = evaluate_results(LOG, "RR", truth={"q2": ["d2"], "q3": ["d1"], "q4": ["d1"]})
    assert (
        "the results and the ground truth are joined by 'query': 1 of 2 queries of the results is not in the ground"
        " truth, such as 'q1'; 2 of 3 queries of the ground truth are not in the results, such as 'q3'"
    ) in notes(scores)
    assert scores.per_query == {"q2": {"RR": 1.0}, "q3": {"RR": 0.0}, "q4": {"RR": 0.0}}
    assert evaluate_results(LOG, "RR", truth={"q2": ["d2"], "q3": ["d1"]}, missing="skip").queries == ("q2",)


def test_nothing_in_common_is_an_error_that_shows_a_key_of_each_side() -> None:
    with pytest.raises(KaratError, match=r"query 'q1' and question 'How soft is gold\?'.*\(query 'x1'\)"):
        evaluate_results(LOG, truth={"x1": ["d1"]})


def test_the_same_ids_with_other_questions_are_noted() -> None:
    gold = [{"query": "q1", "question": "Who found iron?", "truth": ["d1"]}, {**LOG[1], "truth": ["d2"]}]
    said = "the questions of 1 query differ, such as 'q1': are their ids the same?"
    assert said in notes(evaluate_results(LOG, "RR", truth=gold))
    assert "differ" not in notes(evaluate_results(LOG, "RR", truth=[{**record, "truth": ["d1"]} for record in LOG]))


def test_ids_that_all_have_other_questions_are_not_the_same_ids() -> None:
    log = [{"id": at, "question": f"What is {at}?", "retrieved": [f"d{at}"]} for at in range(4)]
    gold = [
        {"id": at + 2, "question": record["question"], "truth": record["retrieved"]} for at, record in enumerate(log)
    ]
    scores = evaluate_results(log, "RR", truth=gold)
    assert scores.column("RR").tolist() == [1.0] * 4
    assert "are joined by 'question': all queries are in both" in notes(scores)


def test_a_query_that_only_the_gold_has_is_called_as_the_log_would_call_it() -> None:
    log = [{"query": record["question"], "retrieved": record["retrieved"]} for record in LOG]
    gold = [{"id": at, "question": text, "truth": ["d1"]} for at, text in enumerate(["How soft is gold?", "Why gold?"])]
    scores = evaluate_results(log, "RR", truth=gold)
    assert scores.per_query == {"How soft is gold?": {"RR": 0.5}, "Why gold?": {"RR": 0.0}}


def test_the_questions_of_a_beir_folder_are_read_if_the_log_has_no_ids(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n7\td1\t1\n")
    (tmp_path / "queries.jsonl").write_text(lines([{"_id": "7", "text": "How soft is gold?"}]))
    log = [{"query": "How soft is gold?", "retrieved": ["d1"]}]
    assert evaluate_results(log, "RR", truth=str(tmp_path))["RR"] == 1.0
    assert evaluate_results(log, "RR", truth=tmp_path / "qrels" / "test.tsv")["RR"] == 1.0


def test_an_error_in_the_gold_names_the_file_of_the_gold(tmp_path: Path) -> None:
    (tmp_path / "gold.json").write_text(json.dumps({"q1": {"d1": "high"}}))
    (tmp_path / "log.jsonl").write_text(lines(LOG))
    with pytest.raises(KaratError, match=r"gold\.json, query q1, document d1: grade 'high' is not") as error:
        evaluate_results(tmp_path / "log.jsonl", "RR", truth=tmp_path / "gold.json")
    assert "log.jsonl" not in str(error.value)


def test_grades_may_be_texts_as_in_any_ground_truth() -> None:
    assert evaluate_results(LOG, "RR", truth={"q1": {"d1": "1"}, "q2": {"d2": "0"}})["RR"] == 0.25


def test_two_questions_with_the_same_text_and_different_gold_are_an_error_that_names_both(tmp_path: Path) -> None:
    gold = [{"id": at, "question": "Who found radium?", "gold_answers": [f"{at}"]} for at in range(2)]
    (tmp_path / "gold.jsonl").write_text(lines(gold))
    with pytest.raises(KaratError, match=r"gold.jsonl:2: the question 'Who found radium\?'.*gold.jsonl:1"):
        evaluate_results(LOG, truth=tmp_path / "gold.jsonl")
    (tmp_path / "gold.jsonl").write_text(lines([{**each, "gold_answers": ["x"]} for each in gold]))
    assert evaluate_results(LOG, "EM", truth=tmp_path / "gold.jsonl", missing="skip")["EM"] == 0.0


def test_a_query_that_gold_has_twice_is_an_error_if_its_gold_differs(tmp_path: Path) -> None:
    (tmp_path / "gold.jsonl").write_text(lines([{"query": "q1", "truth": ["d1"]}, {"query": "q1", "truth": ["d2"]}]))
    with pytest.raises(KaratError, match=r"gold.jsonl:2: query 'q1' has another gold in .*gold.jsonl:1"):
        evaluate_results(LOG, truth=tmp_path / "gold.jsonl")


def test_a_query_with_two_predicted_answers_is_an_error() -> None:
    answers = [{"query": "q1", "answer": answer} for answer in ("Soft", "Hard")]
    with pytest.raises(KaratError, match="query 'q1' has another answer in"):
        evaluate_results(LOG, "EM", truth=GOLDS, answers=answers)


def test_rows_with_one_gold_document_each_are_a_list_but_not_beside_a_list(tmp_path: Path) -> None:
    gold = tmp_path / "gold.csv"
    gold.write_text("query,truth\nq1,d8\nq1,d1\nq2,d2\n")
    assert evaluate_results(LOG, "R", truth=gold).column("R").tolist() == [0.5, 1.0]
    for values in (["a", ["b"]], [["a"], "b"]):
        rows = [{"query": "q1", "gold_answers": value} for value in values]
        with pytest.raises(KaratError, match="query 'q1' has another gold"):
            evaluate_results(LOG, "EM", truth=rows)


def test_hints_about_gold_that_is_missing_do_not_name_the_option_that_is_given() -> None:
    said = "There are none in the ground truth, either."
    assert said in notes(evaluate_results(LOG, truth={"q1": {"d1": 1}}))
    with pytest.raises(KaratError, match=said) as caught:
        evaluate_results(LOG, "EM", truth={"q1": {"d1": 1}})
    assert "truth='GOLD'" not in str(caught.value)


def test_gold_of_the_log_is_not_used_if_other_gold_is_given_and_a_note_says_so() -> None:
    log = [{**record, "ground_truth": ["d9"], "gold_answers": ["x"]} for record in LOG]
    scores = evaluate_results(log, ["RR", "EM"], truth={"q1": {"d1": 1}, "q2": {"d2": 1}})
    assert scores.means == {"RR": 0.75, "EM": 0.0}
    assert "the results: the field 'ground_truth' is not used: what is in the ground truth counts" in notes(scores)


def test_gold_in_the_log_of_a_tool_that_is_not_used_has_the_name_that_the_tool_gives_it() -> None:
    log = [{"user_input": "How soft is gold?", "retrieved_contexts": ["x"], "response": "y", "reference": "z"}]
    scores = evaluate_results(log, "EM", truth={"How soft is gold?": "y"})
    assert scores["EM"] == 1.0
    assert "the field 'reference' is not used" in notes(scores)


@pytest.mark.parametrize("gold", [[["d1"], ["d2"]], ["Very soft", "The Curies"]])
def test_lists_are_joined_by_position_also_from_a_file_and_the_note_says_so(gold: Any, tmp_path: Path) -> None:
    (tmp_path / "gold.json").write_text(json.dumps(gold))
    for truth, name in ((gold, "the ground truth"), (tmp_path / "gold.json", tmp_path / "gold.json")):
        scores = evaluate_results(LOG, truth=truth)
        assert f"the results and {name} are joined by position: all queries are in both" in notes(scores)


def test_lists_of_texts_are_gold_for_what_the_log_has() -> None:
    gold = {"q1": ["Very soft"], "q2": ["The Curies"]}
    only_answers = [{"query": record["query"], "answer": record["answer"]} for record in LOG]
    assert evaluate_results(only_answers, truth=gold)["EM(normalize=true)"] == 1.0
    assert evaluate_results(LOG, "EM", truth=gold)["EM"] == 1.0
    assert "lists of texts are read as gold documents" in notes(evaluate_results(LOG, truth={"q1": ["d1"]}))


def test_fields_may_name_those_of_the_log_and_those_of_the_gold() -> None:
    log = [{"qq": record["query"], "found": record["retrieved"]} for record in LOG]
    gold = [{"key": "q1", "docs": ["d1"]}, {"key": "q2", "docs": ["d2"]}]
    fields = {"retrieved": "found", "query": "qq", "truth": "docs"}
    with pytest.raises(KaratError, match="no field 'nonsense'; the fields are 'key', 'docs'"):
        evaluate_results(log, "RR", truth=gold, fields={**fields, "truth": "nonsense"})
    named = [{"qq": each["key"], "docs": each["docs"]} for each in gold]
    assert evaluate_results(log, "RR", truth=named, fields=fields)["RR"] == 0.75


@pytest.mark.parametrize(
    ("gold", "message"),
    [
        ("", "is empty"),
        (lines([{"query": "q1", "retrieved": ["d1"], "answer": "x"}]), "neither gold documents nor gold answers"),
        ("q1 Q0 d1 1 0.5 bm25\nq1 Q0 d2 2 0.4 bm25\n", "run"),
        ("[]", "empty"),
        ("{}", "empty"),
        ('{"query": "q1"}\n{"truth": ["d1"]}\n', "missing"),
    ],
)
def test_what_is_not_gold_is_an_error_that_names_it(gold: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "gold.txt").write_text(gold)
    with pytest.raises(KaratError, match=message) as error:
        evaluate_results(LOG, truth=tmp_path / "gold.txt")
    assert "gold.txt" in str(error.value)


def test_a_corpus_has_the_texts_of_gold_that_is_known_by_id() -> None:
    log = [{"query": "q1", "retrieved": [{"content": "Iron rusts."}, {"content": "is soft"}]}]
    scores = evaluate_results(log, "RR", truth={"q1": {"d1": 1}}, corpus={"d1": "Gold is soft."}, match="chunk")
    assert scores["RR"] == 0.5
    with pytest.raises(KaratError, match="a corpus is for gold that is in another file"):
        evaluate_results(LOG, "RR", corpus={"d1": "Gold is soft."}, match="chunk")


def test_responses_have_joined_gold_answers_and_no_response_is_made_up() -> None:
    joins = JoinedSources.of({"q2": "The Curies", "q7": "x"}, None, None)
    read = read_responses(LOG, joins=joins)
    assert [(each.query, each.gold_answers) for each in read.responses] == [("q1", None), ("q2", ("The Curies",))]


def test_gold_answers_are_joined_to_a_submission_to_trec_rag() -> None:
    answer = [{"text": "It is soft.", "citations": [0]}]
    log = [{"metadata": {"narrative_id": 12, "run_id": "r"}, "references": ["d1"], "answer": answer}]
    read = read_responses(log, joins=JoinedSources.of({"12": "soft"}, None, None))
    assert [each.gold_answers for each in read.responses] == [("soft",)]


def test_ten_thousand_queries_are_joined() -> None:
    log = [{"query": f"q{at}", "retrieved": ["d1"]} for at in range(10_000)]
    gold = [{"question": f"q{at}", "truth": ["d1"]} for at in reversed(range(10_000))]
    assert evaluate_results(log, "RR", truth=gold)["RR"] == 1.0


words = st.text("aàbçß ", min_size=1, max_size=8).map(str.strip).filter(bool)
records = st.lists(
    st.tuples(
        words,
        st.lists(st.sampled_from("abcd"), unique=True, max_size=3),
        st.lists(st.sampled_from("abcd"), unique=True, max_size=4),
        st.lists(words, min_size=1, max_size=2),
        words,
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda record: " ".join(unicodedata.normalize("NFKC", record[0]).casefold().split()),
)


@settings(max_examples=60, deadline=None)
@given(records, st.randoms(use_true_random=False), st.booleans())
def test_a_log_and_its_gold_in_two_files_have_the_scores_of_the_whole_log(
    rows: list[Any], random: Any, by_text: bool
) -> None:
    names = ("question", "truth", "retrieved", "gold_answers", "answer")
    whole = [{"query": f"id{at}", **dict(zip(names, row, strict=True))} for at, row in enumerate(rows)]
    log = [{name: record[name] for name in ("query", "question", "retrieved", "answer")} for record in whole]
    gold = [{name: record[name] for name in ("query", "question", "truth", "gold_answers")} for record in whole]
    if by_text:
        gold = [{**record, "query": f"other{at}"} for at, record in enumerate(gold)]
    random.shuffle(log)
    random.shuffle(gold)
    measures = ["nDCG@3", "RR", "EM", "TokenF1"]
    joined = evaluate_results(log, measures, truth=gold)
    complete = evaluate_results(whole, measures)
    assert joined.per_query == {query: complete.per_query[query] for query in joined.queries}
    assert {*joined.queries} == {*complete.queries}
    assert digests(joined) == digests(complete)


def test_a_hint_names_the_field_that_may_be_gold_if_there_is_only_one() -> None:
    log = [{"query": "q1", "retrieved": ["d1"]}]
    with pytest.raises(KaratError, match="neither gold documents nor gold answers") as error:
        evaluate_results(log, "RR", truth=[{"query": "q1", "verified": ["d1"]}])
    assert "fields={'truth': 'verified'}" in str(error.value).replace('"', "'")
    with pytest.raises(KaratError, match="neither gold documents nor gold answers") as error:
        evaluate_results(log, "RR", truth=[{"query": "q1", "verified": ["d1"], "checked": ["d2"]}])
    assert "fields={'truth': '...'}" in str(error.value).replace('"', "'")
