"""Ids that are numbers are joined with ids that are texts, and a note says so; ranks are whole numbers."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import karat
from karat import KaratError, evaluate

TEXT_TRUTH = pd.DataFrame({"query": ["1", "2"], "doc": ["7", "8"], "grade": [1, 1]})
NUMERIC_TRUTH = TEXT_TRUTH.astype({"query": int, "doc": int})
NUMERIC_RUN = pd.DataFrame({"query": [1, 2], "pid": [7, 9], "score": [0.5, 0.5]})


def notes(truth: object, run: object) -> list[str]:
    scores = karat.evaluate(truth, run, "AP")
    assert scores["AP"] == 0.5
    return [finding.message for finding in scores.findings if "are numbers" in finding.message]


def test_numbers_on_one_side_are_joined_with_texts_on_the_other_and_a_note_says_so(tmp_path: Path) -> None:
    (tmp_path / "truth.qrels").write_text("1 0 7 1\n2 0 8 1\n")
    (tmp_path / "run.csv").write_text("1,7,0.5\n2,9,0.5\n")
    path = tmp_path / "run.parquet"
    NUMERIC_RUN.to_parquet(path)
    text = "query and document ids are numbers, read as texts"
    assert notes(TEXT_TRUTH, NUMERIC_RUN) == [f"the run: {text}"]
    assert notes(str(tmp_path / "truth.qrels"), str(path)) == [f"{path}: {text}"]
    assert notes(NUMERIC_TRUTH, str(tmp_path / "run.csv")) == [f"the ground truth: {text}"]


def test_numbers_on_both_sides_need_no_note(tmp_path: Path) -> None:
    path = tmp_path / "run.parquet"
    NUMERIC_RUN.to_parquet(path)
    assert notes(NUMERIC_TRUTH, str(path)) == []


def test_decimal_ids_are_read_as_whole_numbers_if_they_are(tmp_path: Path) -> None:
    run = NUMERIC_RUN.astype({"pid": float})
    path = tmp_path / "run.feather"
    run.to_feather(path)
    for source, name in ((run, "the run"), (str(path), str(path))):
        found = karat.evaluate(TEXT_TRUTH, source, "AP")
        assert found["AP"] == 0.5
        assert f"{name}: ids in the column 'pid' are decimal numbers, read as whole numbers" in [
            finding.message for finding in found.findings
        ]
    with pytest.raises(KaratError, match=r"the run, column pid, row 1: 7.5 is not an id"):
        karat.evaluate(TEXT_TRUTH, run.assign(pid=[7.0, 7.5]), "AP")


@pytest.mark.parametrize("rank", [1.5, -1.0, float("inf")])
def test_ranks_are_whole_numbers_in_every_source(rank: float, tmp_path: Path) -> None:
    frame = pd.DataFrame({"query": ["1", "2"], "doc": ["7", "8"], "rank": [1.0, rank]})
    frame.to_parquet(tmp_path / "run.parquet")
    for run in (frame, str(tmp_path / "run.parquet"), frame.to_dict("records")):
        with pytest.raises(KaratError, match=rf"row 1: rank {rank} is not a whole number from 0. If these are"):
            karat.evaluate(TEXT_TRUTH, run, "AP")


def test_a_rank_in_json_is_a_whole_number(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text(
        '{"query": "1", "doc": "7", "rank": 1}\n{"query": "1", "doc": "8", "rank": 1.5}\n'
    )
    with pytest.raises(KaratError, match=r"run.jsonl:2, rank: rank 1.5 is not a whole number from 0"):
        karat.evaluate(TEXT_TRUTH, str(tmp_path / "run.jsonl"), "AP")


def _json(content: Any) -> Any:
    return io.BytesIO(json.dumps(content).encode())


NUMBERS: dict[str, tuple[set[str], Callable[[], Any]]] = {
    "rows": ({"query", "document"}, lambda: [(1, 7, 1), (2, 8, 1)]),
    "a mapping of mappings": ({"query", "document"}, lambda: {1: {7: 1}, 2: {8: 1}}),
    "a mapping of lists": ({"query", "document"}, lambda: {1: [7], 2: [8]}),
    "queries only": ({"query"}, lambda: {1: ["7"], 2: ["8"]}),
    "documents only": ({"document"}, lambda: {"1": ["7"], "2": [8]}),
    "JSON with an object per pair": (
        {"query", "document"},
        lambda: _json([{"query": q, "doc": d, "score": 1} for q, d in ((1, 7), (2, 8))]),
    ),
    "JSON with an object per query": (
        {"query", "document"},
        lambda: _json([{"query": 1, "documents": ["7"]}, {"query": 2, "documents": [8]}]),
    ),
    "a mapping in JSON": ({"document"}, lambda: _json({"1": [7], "2": ["8"]})),
    "texts": (set(), lambda: {"1": {"7": 1}, "2": {"8": 1}}),
}


@pytest.mark.parametrize("run", NUMBERS)
@pytest.mark.parametrize("truth", NUMBERS)
def test_a_note_on_each_side_names_the_ids_that_are_numbers_there_and_texts_on_the_other_side(
    truth: str, run: str
) -> None:
    (of_truth, truth_source), (of_run, run_source) = NUMBERS[truth], NUMBERS[run]
    scores = evaluate(truth_source(), run_source(), "RR")
    assert scores["RR"] == 1
    named = [found.message.partition(": ")[2] for found in scores.findings if "are numbers" in found.message]
    expected = [" and ".join(sorted(kinds, reverse=True)) for kinds in (of_truth - of_run, of_run - of_truth) if kinds]
    assert named == [f"{kinds} ids are numbers, read as texts" for kinds in expected]


def test_a_number_far_down_in_json_pairs_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karat.reading.pairs.json_files._OBJECTS_AT_ONCE", 2)
    queries: list[str | int] = ["1", "1", "1", "1", 2]
    pairs = [{"query": query, "doc": f"d{at}", "score": at} for at, query in enumerate(queries)]
    for run in (pairs, [{**each, "doc": at} for at, each in enumerate(pairs)]):
        scores = evaluate({"1": {"d3": 1, "3": 1}, "2": {"d4": 1, "4": 1}}, _json(run), "RR")
        kinds = "query" if run is pairs else "query and document"
        assert f"{kinds} ids are numbers, read as texts" in str(scores)


def test_decimal_ids_in_json_and_python_are_read_as_whole_numbers_too() -> None:
    for truth in ({1.0: ["7"]}, {"1": {7.0: 1}}, [(1.0, "7", 1)], _json([{"query": 1.0, "doc": "7", "grade": 1}])):
        scores = evaluate(truth, {"1": ["7"]}, "RR")
        assert scores["RR"] == 1
        assert "ids are numbers, read as texts" in str(scores)
    for half in ({1.5: ["7"]}, {"1": {7.5: 1}}, [(1.5, "7", 1)], _json([{"query": 1.5, "doc": "7", "grade": 1}])):
        with pytest.raises(KaratError, match=r"[17]\.5 is not an id\. Ids are text or whole numbers"):
            evaluate(half, {"1": ["7"]}, "RR")


def test_ids_in_csv_that_all_end_with_0_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    pd.DataFrame({"query": [1, None], "doc": [7, 8], "score": 1}).dropna().to_csv(path, index=False)
    scores = evaluate([("1.0", "7", 1)], path, "RR")
    assert scores["RR"] == 1
    assert f"{path}: ids in 'query' end with .0, so that 7.0 does not match an id 7" in str(scores)
    path.write_text("query,doc,score\n1.0,7,1\n1.1,7,1\n")
    assert "end with .0" not in str(evaluate([("1.0", "7", 1)], path, "RR"))
