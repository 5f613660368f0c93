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
    text = "ids in the columns 'query' and 'pid' are numbers, read as texts"
    assert notes(TEXT_TRUTH, NUMERIC_RUN) == [f"the run: {text}"]
    assert notes(str(tmp_path / "truth.qrels"), str(path)) == [f"{path}: {text}"]
    assert notes(NUMERIC_TRUTH, str(tmp_path / "run.csv")) == [f"the ground truth: {text.replace('pid', 'doc')}"]


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
        with pytest.raises(KaratError, match=rf"row 1: rank {rank} is not a whole number from 0. If this column"):
            karat.evaluate(TEXT_TRUTH, run, "AP")


def test_a_rank_in_json_is_a_whole_number(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text(
        '{"query": "1", "doc": "7", "rank": 1}\n{"query": "1", "doc": "8", "rank": 1.5}\n'
    )
    with pytest.raises(KaratError, match=r"run.jsonl:2: rank 1.5 is not a whole number from 0"):
        karat.evaluate(TEXT_TRUTH, str(tmp_path / "run.jsonl"), "AP")


def _json(content: Any) -> Any:
    return io.BytesIO(json.dumps(content).encode())


NUMBERS: dict[str, Callable[[], Any]] = {
    "rows": lambda: [(1, 7, 1), (2, 8, 1)],
    "a mapping of mappings": lambda: {1: {7: 1}, 2: {8: 1}},
    "a mapping of lists": lambda: {1: [7], 2: [8]},
    "queries only": lambda: {1: ["7"], 2: ["8"]},
    "documents only": lambda: {"1": ["7"], "2": [8]},
    "JSON with an object per pair": lambda: _json([{"query": q, "doc": d, "score": 1} for q, d in ((1, 7), (2, 8))]),
    "JSON with an object per query": lambda: _json([{"query": 1, "documents": ["7"]}, {"query": 2, "documents": [8]}]),
    "a mapping in JSON": lambda: _json({"1": [7], "2": ["8"]}),
}


@pytest.mark.parametrize("run", NUMBERS)
@pytest.mark.parametrize("truth", NUMBERS)
def test_ids_that_are_numbers_on_both_sides_need_no_note(truth: str, run: str) -> None:
    scores = evaluate(NUMBERS[truth](), NUMBERS[run](), "RR")
    assert scores["RR"] == 1
    assert not [found for found in scores.findings if "are numbers" in found.message]


@pytest.mark.parametrize("numbers", NUMBERS)
def test_ids_that_are_numbers_on_one_side_are_joined_and_one_note_says_so(numbers: str) -> None:
    texts = {"1": {"7": 1}, "2": {"8": 1}}
    for truth, run in ((NUMBERS[numbers](), texts), (texts, NUMBERS[numbers]())):
        scores = evaluate(truth, run, "RR")
        assert scores["RR"] == 1
        assert len([found for found in scores.findings if "ids are numbers, read as texts" in found.message]) == 1
