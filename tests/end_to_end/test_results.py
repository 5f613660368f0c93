"""RAG results on the command line: evaluation without a run, matching, and explanations."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from karat import KaratError, Scores, evaluate, evaluate_results
from karat.cli import demo_data as demo
from tests.end_to_end.in_process import good, mistake, run_here
from tests.platforms import KARAT

SOFT = "Pure gold is soft: it yields to a fingernail."
HARD = "Alloys with copper are harder."
RECORDS: list[dict[str, Any]] = [
    {"query": "soft", "truth": [SOFT, HARD], "retrieved": ["Iron rusts.", "it yields to", "gold is soft"]},
    {"query": "hard", "truth": [HARD], "retrieved": [{"id": "c7", "content": "copper are harder", "score": 0.9}]},
]


def lines(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "results.jsonl").write_text(lines(RECORDS))
    (tmp_path / "truth.qrels").write_text("soft 0 d1 1\n")
    (tmp_path / "run.trec").write_text("soft Q0 d1::2 1 3 t\nsoft Q0 d9 2 2 t\n")
    return tmp_path


def test_a_file_of_results_is_evaluated_without_a_run(folder: Path) -> None:
    whole = json.loads(
        good(folder, "evaluate", "results.jsonl", "--match", "chunk", "-m", "R", "-m", "RR", "--format", "json")
    )
    assert whole["means"] == {"R": 0.75, "RR": 0.75}
    assert [row["query"] for row in whole["queries"]] == ["soft", "hard"]


def test_the_scores_are_the_same_as_in_python(folder: Path) -> None:
    printed = json.loads(
        good(folder, "evaluate", "results.jsonl", "--match", "overlap(threshold=0.4)", "--format", "json")
    )
    scores = evaluate_results(folder / "results.jsonl", match="overlap(threshold=0.4)")
    assert printed["means"] == scores.means


def test_results_can_be_read_from_standard_input_and_gzip(folder: Path) -> None:
    (folder / "packed.jsonl.gz").write_bytes(gzip.compress(lines(RECORDS).encode()))
    plain = good(folder, "evaluate", "results.jsonl", "--match", "chunk", "--format", "markdown")
    words = [str(KARAT), "evaluate", "-", "--match", "chunk", "--format", "markdown"]
    piped = subprocess.run(words, input=lines(RECORDS), capture_output=True, check=True, text=True).stdout
    packed = good(folder, "evaluate", "packed.jsonl.gz", "--match", "chunk", "--format", "markdown")
    assert plain == piped.replace("stdin", "results") == packed.replace("packed", "results")


def test_several_files_of_results_are_each_evaluated_against_their_own_truth(folder: Path) -> None:
    better = [{**RECORDS[0], "retrieved": [SOFT, HARD]}, RECORDS[1]]
    (folder / "better.jsonl").write_text(lines(better))
    options = ("--match", "chunk", "-m", "R", "--format", "csv")
    table = run_here(folder, "evaluate", "results.jsonl", "better.jsonl", *options).stdout.splitlines()
    assert table == ["run,R", "results,0.75", "better,1.0"]


def test_fields_with_other_names_are_read_with_the_field_option(folder: Path) -> None:
    theirs = [
        {
            "question": "soft",
            "gold": {"docs": [SOFT]},
            "source_nodes": [{"node": {"text": "is soft", "id_": "n1"}, "score": 1}],
        }
    ]
    (folder / "theirs.jsonl").write_text(lines(theirs))
    options = ("--field", "query=question", "--field", "truth=gold.docs", "--field", "retrieved=source_nodes")
    whole = json.loads(
        good(folder, "evaluate", "theirs.jsonl", *options, "--match", "chunk", "-m", "R", "--format", "json")
    )
    assert whole["means"] == {"R": 1.0}


def test_a_missing_field_is_an_error_with_the_option_that_names_it(folder: Path) -> None:
    (folder / "theirs.jsonl").write_text(lines([{"query": "soft", "truth": [SOFT], "response": {"docs": []}}]))
    assert "--field retrieved=response.docs" in mistake(folder, "evaluate", "theirs.jsonl")


def test_the_names_of_fields_can_differ_per_file(folder: Path) -> None:
    (folder / "one.jsonl").write_text(lines([{"query": "soft", "truth": ["a"], "found": ["a"]}]))
    (folder / "two.jsonl").write_text(lines([{"query": "soft", "gold": ["a"], "source_nodes": ["b", "a"]}]))
    words = ("one.jsonl", "two.jsonl", "-m", "RR", "--field", "retrieved=found")
    out = good(folder, "compare", *words)
    assert "two.jsonl: the field 'found' was not found, so the usual names of fields are used" in out
    assert "two.jsonl: truth is read from the field 'gold' and retrieved from 'source_nodes'" in out
    assert "one.jsonl: " not in out
    assert "no field 'fund'" in mistake(folder, "compare", *words[:-1], "retrieved=fund")


@pytest.mark.parametrize("option", ["retrieved", "=x", "retrieved=", "retreived=x"])
def test_a_malformed_field_option_is_an_error(folder: Path, option: str) -> None:
    assert "retrieved" in mistake(folder, "evaluate", "results.jsonl", "--field", option)


def test_a_field_given_twice_is_an_error(folder: Path) -> None:
    message = mistake(folder, "evaluate", "results.jsonl", "--field", "query=a", "--field", "query=b")
    assert "twice" in message


def test_no_match_by_id_prints_a_hint_about_matching_texts(folder: Path) -> None:
    table = good(folder, "evaluate", "results.jsonl", "-m", "R")
    assert "no judged document is in the run" in table
    assert "chunk" in table


def test_the_match_is_noted_under_the_table(folder: Path) -> None:
    assert "note: matched by chunk(normalize=space)." in good(
        folder, "evaluate", "results.jsonl", "--match", "chunk(normalize=space)"
    )
    assert "matched by" not in good(folder, "evaluate", "results.jsonl")


def test_chunk_ids_in_trec_files_are_matched_to_documents_by_prefix(folder: Path) -> None:
    by_id = good(folder, "evaluate", "truth.qrels", "run.trec", "-m", "R", "--format", "json")
    by_prefix = good(folder, "evaluate", "truth.qrels", "run.trec", "-m", "R", "--match", "prefix", "--format", "json")
    assert (json.loads(by_id)["means"], json.loads(by_prefix)["means"]) == ({"R": 0.0}, {"R": 1.0})


@pytest.mark.parametrize("match", ["chunk", "fuzzy", "overlap", "content", "meta.source"])
def test_matching_texts_in_files_of_ids_is_an_error(folder: Path, match: str) -> None:
    assert "only ids" in mistake(folder, "evaluate", "truth.qrels", "run.trec", "--match", match)


@pytest.mark.parametrize(
    ("match", "hint"),
    [
        ("chnk", "Did you mean chunk or"),
        ("fuzzy(treshold=80)", "Did you mean threshold?"),
        ("fuzzy(threshold=many)", "between 0 and 100"),
        ("content(normalize=cases)", "Did you mean case?"),
        ("fuzzy(", "Use id, content"),
        ("", "Use id, content"),
    ],
)
def test_an_invalid_match_is_an_error_with_a_hint(folder: Path, match: str, hint: str) -> None:
    assert hint in mistake(folder, "evaluate", "results.jsonl", "--match", match)


def test_a_truth_without_a_run_and_swapped_files_are_errors(folder: Path) -> None:
    assert "Add a run after it" in mistake(folder, "evaluate", "truth.qrels")
    assert "run.trec: this file contains neither results" in mistake(folder, "evaluate", "results.jsonl", "run.trec")
    assert "--field" in mistake(folder, "evaluate", "truth.qrels", "run.trec", "--field", "query=id")


def test_a_query_is_explained_rank_by_rank(folder: Path) -> None:
    shown = good(folder, "evaluate", "results.jsonl", "--match", "chunk", "--explain", "soft", "-m", "R").splitlines()
    assert [line.split()[0] for line in shown[2:6]] == ["1", "2", "3", "–"]
    assert shown[3].endswith("contained")
    assert shown[4].endswith("contained (repeated)")
    assert shown[5].endswith("not retrieved")
    assert shown[6:] == ["query soft: R 0.5000", "3 retrieved, matched by chunk"]


@pytest.mark.parametrize("form", ["markdown", "latex", "json", "table"])
def test_an_explanation_is_written_in_every_format_that_supports_it(folder: Path, form: str) -> None:
    command = ("evaluate", "results.jsonl", "--match", "chunk", "--explain", "soft", "--format", form)
    printed = good(folder, *command)
    assert good(folder, *command, "-o", "why.txt") == ""
    assert (folder / "why.txt").read_text() == printed
    if form == "json":
        assert json.loads(printed)["rows"][1]["reason"] == "contained"


def test_explanations_of_several_runs_are_titled_with_their_names(folder: Path) -> None:
    (folder / "other.jsonl").write_text(lines(RECORDS))
    shown = good(folder, "evaluate", "results.jsonl", "other.jsonl", "--match", "chunk", "--explain", "hard")
    assert [line for line in shown.splitlines() if line in ("results", "other")] == ["results", "other"]
    both = good(folder, "evaluate", "results.jsonl", "other.jsonl", "--explain", "hard", "--format", "json")
    assert list(json.loads(both)["runs"]) == ["results", "other"]
    drawn = good(folder, "evaluate", "results.jsonl", "other.jsonl", "--explain", "hard", "--format", "markdown")
    assert "results" in drawn
    assert "other" in drawn


def test_a_file_of_a_trec_run_is_read_again_to_explain_it(folder: Path) -> None:
    shown = good(folder, "evaluate", "truth.qrels", "run.trec", "--match", "prefix", "--explain", "soft")
    assert shown.splitlines()[2].split() == ["1", "d1::2", "d1", "1", "id", "begins", "with", "the", "gold", "id"]


def test_an_unknown_query_cannot_be_explained(folder: Path) -> None:
    assert "Did you mean soft" in mistake(folder, "evaluate", "results.jsonl", "--explain", "sofd")
    assert "csv" in mistake(folder, "evaluate", "results.jsonl", "--explain", "soft", "--format", "csv")


def test_a_run_that_changed_since_cannot_be_explained(folder: Path) -> None:
    scores = evaluate(folder / "truth.qrels", folder / "run.trec", "R")
    (folder / "run.trec").write_text("soft Q0 d1 1 3 t\n")
    with pytest.raises(KaratError, match="changed since"):
        scores.explain("soft")


def test_saved_scores_cannot_be_explained(folder: Path) -> None:
    scores = evaluate_results(folder / "results.jsonl", "R", match="chunk")
    scores.to_json(folder / "scores.json")
    with pytest.raises(KaratError, match="no run data"):
        Scores.load(folder / "scores.json").explain("soft")


def test_the_demo_has_results_whose_chunks_are_found_by_prefix_and_by_text() -> None:
    by_prefix = evaluate_results(demo.RESULTS, ["R@10", "nDCG@10"], match="prefix")
    by_text = evaluate_results(demo.RESULTS, ["R@10", "nDCG@10"], match="chunk")
    assert by_prefix.per_query == by_text.per_query
    assert 0.4 < by_text["R@10"] < 0.6


def test_bounds_of_results_are_those_of_the_library_and_answer_measures_share_one_note(tmp_path: Path) -> None:
    printed = good(tmp_path, "evaluate", demo.RESULTS, "--match", "chunk", "--bounds")
    assert printed.splitlines()[2] == "nDCG@10   0.5166   0.4708    0.9376        368"
    assert printed.count("note: answer measures have no bounds.\n") == 1
    document = json.loads(good(tmp_path, "evaluate", demo.RESULTS, "--match", "chunk", "--bounds", "--format", "json"))
    bounds = evaluate_results(demo.RESULTS, "AP", match="chunk").bounds("AP")
    assert document["AP"] == bounds.to_dict()


def test_bounds_of_a_measure_without_bounds_are_an_error_that_lists_the_measures_with_bounds(tmp_path: Path) -> None:
    message = mistake(tmp_path, "evaluate", demo.RESULTS, "-m", "EM", "--bounds")
    assert "karat: answer measures have no bounds. Measures with bounds: P, " in message
