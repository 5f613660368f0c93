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
