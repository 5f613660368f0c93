"""Logs that begin unlike others, and files that look like logs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import karat
from karat import KaratError
from karat.reading.bytes.input_file import InputFile
from karat.reading.contents.contents import content_of
from karat.reading.records.results import read_results
from karat.reading.shapes import recognize_records
from tests.end_to_end.in_process import good, mistake

LONG = "Gold is soft. " * 10_000
HIT = {"_id": "d1", "_score": 1.5, "_source": {"kurz": "Gold", "absatz": "Gold is very soft."}}
VESPA = {"root": {"id": "toplevel", "relevance": 1.0, "fields": {"totalCount": 1}, "children": [{"id": "d1"}]}}


@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_a_first_record_may_be_longer_than_what_is_usually_looked_at(suffix: str, tmp_path: Path) -> None:
    record = {"query": "q1", "retrieved": [{"id": "d1", "content": LONG}], "truth": ["d1"]}
    records = [record, {**record, "query": "q2"}]
    path = tmp_path / f"log.{suffix}"
    path.write_text(json.dumps(records) if suffix == "json" else "\n".join(map(json.dumps, records)), "utf-8")
    assert content_of(InputFile.of(str(path))) == "results"
    assert "RR" in good(tmp_path, "evaluate", path.name, "-m", "RR")


@pytest.mark.parametrize("numbers", [{"d1": 1}, {"d1": 0.5, "d2": 2}])
def test_ground_truth_whose_queries_are_called_as_the_fields_of_a_tool_is_ground_truth(
    numbers: dict[str, float], tmp_path: Path
) -> None:
    path = tmp_path / "truth.json"
    path.write_text(json.dumps({"inputs": numbers, "outputs": {"d3": 1}}), "utf-8")
    assert recognize_records([{"inputs": numbers, "outputs": {"d3": 1}}])
    assert content_of(InputFile.of(str(path))).startswith("documents")
    (tmp_path / "run.json").write_text(json.dumps({"inputs": {"d1": 3.5}, "outputs": {"d3": 1.5}}), "utf-8")
    assert "1.0000" in good(tmp_path, "evaluate", "truth.json", "run.json", "-m", "RR(rel=0.5)")


def test_a_response_without_its_query_is_an_error_that_says_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "vespa.json").write_text(json.dumps(VESPA), "utf-8")
    error = mistake(tmp_path, "evaluate", "vespa.json")
    assert "vespa.json: this is a response of Vespa, which does not name its query" in error
    assert 'Write a line for each query: {"query": "How soft is gold?", "response": {"root": ...}}.' in error
    (tmp_path / "search.json").write_text(json.dumps({"took": 3, "hits": {"hits": [HIT]}}), "utf-8")
    assert "the response to a search does not name its query" in mistake(tmp_path, "evaluate", "search.json")


def test_the_longest_text_of_a_hit_is_its_content_if_none_has_a_usual_name() -> None:
    log: list[dict[str, Any]] = [{"query": "q1", "response": {"hits": {"hits": [HIT]}}, "truth": ["d1"]}]
    results = read_results(log)
    assert results.run["q1"][0]["content"] == "Gold is very soft."
    note = "the longest text of _source, such as 'absatz', is the content of a document"
    assert any(f"{note}; --field retrieved.content=_source.NAME reads another one" in each for each in results.notes)
    named = read_results(log, {"retrieved.content": "_source.kurz"})
    assert named.run["q1"][0]["content"] == "Gold"


def test_a_field_of_which_only_some_texts_are_lists_is_named_in_a_note() -> None:
    records = [
        {"query": "q1", "truth": "['d1', 'd2']", "retrieved": "['d1']"},
        {"query": "q2", "truth": "d1", "retrieved": "['d1']"},
    ]
    results = read_results(records)
    assert results.truth == {"q1": ["['d1', 'd2']"], "q2": ["d1"]}
    note = "only some texts of the field 'truth' look like lists, so none of them is read as a list"
    assert f"the results: {note}" in results.notes


def test_gold_answers_in_csv_may_be_lists_in_the_form_of_text(tmp_path: Path) -> None:
    (tmp_path / "gold.csv").write_text("query,answers\nq1,\"['soft', 'very soft']\"\nq2,\"['no']\"\n", "utf-8")
    (tmp_path / "said.csv").write_text("query,answer\nq1,very soft\nq2,yes\n", "utf-8")
    out = good(tmp_path, "answers", "gold.csv", "said.csv", "-m", "EM")
    assert "0.5000" in out
    assert "gold.csv: gold answers that are lists in the form of text are read as lists" in out


def test_errors_about_the_log_of_a_tool_list_its_own_fields() -> None:
    log = [{"user_input": "How soft?", "retrieved_contexts": ["Gold is soft."], "response": "Soft."}]
    with pytest.raises(KaratError) as raised:
        karat.evaluate_results(log)
    assert "the fields are 'user_input', 'retrieved_contexts', 'response'. " in str(raised.value)


GOOD = {"question": "How soft?", "contexts": ["Gold is soft."], "answer": "Soft.", "ground_truth": "Very soft."}
SHORT = {"q": "How soft?", "pred": "Soft.", "docs": ["Gold is soft."], "gt": "It is soft."}


def written(folder: Path, value: object) -> str:
    (folder / "log.json").write_text(json.dumps(value))
    return "log.json"


@pytest.mark.parametrize(
    "outer",
    [{"results": [GOOD]}, {"id": "run 7", "results": [GOOD]}, {"meta": {"notes": LONG}, "results": [GOOD, GOOD][:1]}],
)
def test_an_object_around_records_is_no_record_even_if_their_list_is_named_as_documents_are(
    outer: dict[str, Any], tmp_path: Path
) -> None:
    assert "TokenF1" in good(tmp_path, "evaluate", written(tmp_path, outer))


def test_a_record_whose_documents_have_questions_and_answers_is_a_record() -> None:
    record = {"query": "How soft?", "results": [{"id": "d1", "question": "Soft?", "answer": "Yes."}], "truth": ["d1"]}
    assert karat.evaluate_results([record], "RR")["RR"] == 1


def test_short_names_inside_an_object_are_suggested(tmp_path: Path) -> None:
    path = written(tmp_path, {"run": {"items": [SHORT, {**SHORT, "q": "Does it rust?"}]}, "config": {"k": 3}})
    command = "karat evaluate log.json --field query=q --field answer=pred --field gold_answers=gt"
    assert f"`{command}`" in mistake(tmp_path, "evaluate", path)
    assert "TokenF1" in good(tmp_path, *command.split()[1:])


def test_the_columns_of_a_report_of_haystack_are_read(tmp_path: Path) -> None:
    columns = {
        "questions": ["How soft?"], "contexts": [["Gold is soft."]], "ground_truth_answers": ["Soft."],
        "predicted_answers": ["Soft."], "sas_evaluator": [0.7], "faithfulness": [1.0], "context_relevance": [0.5],
    }  # fmt: skip
    shown = good(tmp_path, "evaluate", written(tmp_path, columns))
    assert "EM(normalize=true)   1.0000" in shown
    assert "sas_evaluator        0.7000" in shown


def test_several_lists_of_records_without_gold_are_named_and_the_command_of_a_judge_names_one(tmp_path: Path) -> None:
    rows = [{"q": "How soft?", "a": "Very soft."}, {"q": "Does it rust?", "a": "It does not."}]
    path = written(tmp_path, {"meta": {"name": "x"}, "train": rows, "test": rows})
    assert "there are records in train and test" in mistake(tmp_path, "evaluate", path)
    command = "karat judge log.json --task answer_relevance --model NAME --verdicts verdicts.jsonl --records train"
    assert command in mistake(tmp_path, "evaluate", path, "--records", "train")


def test_a_frame_in_another_shape_is_the_same_error_with_and_without_a_run(tmp_path: Path) -> None:
    assert "orient='index'" in mistake(tmp_path, "evaluate", written(tmp_path, {"q1": GOOD, "q2": GOOD}))


@pytest.mark.parametrize("query", ["How soft is gold?", "q1", "0"])
def test_a_mapping_of_queries_to_answers_is_named_as_such(query: str, tmp_path: Path) -> None:
    shown = mistake(tmp_path, "evaluate", written(tmp_path, {query: "Soft."}))
    assert "this is a JSON object of queries and their answers, not results" in shown
    assert "karat answers GOLD PREDICTED" in shown


def test_the_command_of_a_judge_names_the_answer_though_an_evaluation_of_documents_does_not_need_it() -> None:
    with pytest.raises(KaratError) as caught:
        karat.evaluate_results([{"prompt_text": "How soft?", "found": [{"text": "Gold."}], "model_output": "Soft."}])
    assert "task='faithfulness'" in str(caught.value)
    assert "'answer': 'model_output'" in str(caught.value)


def test_gold_is_not_suggested_as_a_query_and_every_field_is_listed_once() -> None:
    with pytest.raises(KaratError) as caught:
        karat.evaluate_results([{"talk": [{"role": "user", "content": "How?"}], "ref": "It is so.", "a.b": 1}])
    assert "'gold_answers': 'ref'" in str(caught.value)
    assert str(caught.value).count("'a.b'") == 1


def test_gold_answers_alone_get_answers_from_another_file(tmp_path: Path) -> None:
    (tmp_path / "gold.jsonl").write_text(json.dumps({"question": "How soft?", "ground_truth": "Very soft."}))
    shown = mistake(tmp_path, "evaluate", "gold.jsonl")
    assert "no field 'answer'" in shown
    assert "Answers in another file are added with --answers" in shown
    answers = written(tmp_path, {"How soft?": "Very soft."})
    assert "EM(normalize=true)   1.0000" in good(tmp_path, "evaluate", "gold.jsonl", "--answers", answers)


def test_a_run_alone_is_not_taken_for_ground_truth(tmp_path: Path) -> None:
    (tmp_path / "run.trec").write_text("q1 Q0 d1 1 0.5 run\n")
    assert "run.trec: a run needs ground truth." in mistake(tmp_path, "evaluate", "run.trec")


@pytest.mark.parametrize(("text", "what"), [("\n", "not JSON"), ("[]", "no results found"), ("{}", "no fields")])
@pytest.mark.parametrize("command", ["evaluate", "look"])
def test_a_log_without_records_is_an_error_that_says_so(text: str, what: str, command: str, tmp_path: Path) -> None:
    (tmp_path / "log.json").write_text(text)
    assert f"log.json: {what}" in mistake(tmp_path, command, "log.json")


def test_a_submission_to_trec_rag_without_labels_is_evaluated_by_the_command_of_its_error(tmp_path: Path) -> None:
    sentences = [{"text": "It is soft.", "citations": [0]}]
    path = written(tmp_path, {"run_id": "r", "topic_id": "1", "references": ["d7"], "answer": sentences})
    command = f"karat evaluate {path} --measure CitationValid"
    assert f"`{command}`" in mistake(tmp_path, "evaluate", path)
    assert "CitationValid" in good(tmp_path, *command.split()[1:])


def test_a_screen_shows_no_field_twice_and_no_note_on_what_it_shows() -> None:
    twice = karat.look([GOOD, GOOD])
    assert (twice.paths, twice.unused) == ((), ())
    assert {group.needs for group in twice.measures} == {"gold documents", "labels"}
    assert "read from" not in str(karat.look([GOOD]))
    shown = str(karat.look([{"query": "q1", "answer": "Soft.", "contexts": None, "note": "x"}]))
    assert "not used: " not in shown
    assert shown.count("contexts") == shown.count("'contexts'") + 1


def test_another_task_is_not_suggested_if_it_lacks_the_query_too(tmp_path: Path) -> None:
    rows = [{"Frage": f"Wie weich ist Gold {at}?", "Antwort": f"Sehr weich {at}.", "Notiz": f"n {at}"} for at in (1, 2)]
    (tmp_path / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    shown = mistake(tmp_path, "judge", "log.jsonl", "--task", "faithfulness", "--estimate")
    assert "--field query=NAME" in shown
    assert "does not need it" not in shown


def test_lists_of_gold_documents_are_shown_with_their_fields(tmp_path: Path) -> None:
    (tmp_path / "gold.jsonl").write_text(json.dumps({"qid": "q1", "relevant_docs": ["d1"]}))
    found = karat.look(tmp_path / "gold.jsonl")
    assert [each.path for each in found.read] == ["qid", "relevant_docs", "relevant_docs"]
