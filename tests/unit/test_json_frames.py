"""Data frames in JSON are read as pandas and polars usually write them, and never as a mapping of queries."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat import KaratError, evaluate, evaluate_answers, evaluate_results
from karat.reading.records.json_frames import frame_in_json
from tests.end_to_end.in_process import run_here

TRUTH = pd.DataFrame({"query": ["1", "1", "2"], "doc": ["7", "8", "9"], "grade": [1, 0, 2]})
RUN = pd.DataFrame({"qid": ["1", "1", "2"], "docno": ["8", "7", "9"], "score": [9.5, 8.5, 5.0], "text": list("abc")})


def in_json(value: Any) -> io.BytesIO:
    return io.BytesIO(json.dumps(value).encode())


@pytest.mark.parametrize("orient", ["columns", "records"])
@pytest.mark.parametrize("kind", [str, int])
def test_the_usual_shapes_of_pandas_are_read_with_ids_that_are_texts_or_numbers(
    orient: Any, kind: type, tmp_path: Path
) -> None:
    truth, run = tmp_path / "truth.json", tmp_path / "run.json"
    TRUTH.astype({"query": kind, "doc": kind}).to_json(truth, orient=orient)
    RUN.astype({"qid": kind, "docno": kind}).to_json(run, orient=orient, indent=2)
    scores = evaluate(truth, run, "RR")
    assert scores.per_query == {"1": {"RR": 0.5}, "2": {"RR": 1.0}}
    shape = f"{run}: the file is read as a data frame (in pandas, orient='{orient}')"
    notes = [finding.message for finding in scores.findings]
    assert (shape in notes) == (orient != "records")
    assert f"{run}: query is read from the field 'qid' and doc from 'docno'" in notes


def test_an_object_of_columns_that_are_lists_is_a_data_frame(tmp_path: Path) -> None:
    truth, run = tmp_path / "truth.json", tmp_path / "run.json"
    for frame, path in ((TRUTH, truth), (RUN, run)):
        path.write_text(json.dumps(frame.to_dict("list")))
    scores = evaluate(truth, run, "RR")
    assert scores["RR"] == evaluate(TRUTH, RUN, "RR")["RR"]
    assert f"{run}: the file is read as a data frame (in pandas, orient='list')" in [
        each.message for each in scores.findings
    ]


@pytest.mark.parametrize("orient", ["index", "split", "table"])
def test_other_shapes_of_pandas_are_an_error_that_says_what_to_write(orient: Any, tmp_path: Path) -> None:
    truth, run = tmp_path / "truth.json", tmp_path / "run.json"
    for frame, path in ((TRUTH, truth), (RUN, run)):
        content = frame.to_json(orient=orient)
        path.write_text(content)
    problem = rf"truth.json: this is a data frame, in a shape that is not read \(in pandas, orient='{orient}'\)\."
    with pytest.raises(KaratError, match=rf"{problem} Write it with to_json\(orient=\"records\"\)"):
        evaluate(truth, run, "RR")
    for words in (("evaluate", "truth.json", "run.json"), ("convert", "truth.json", "t.csv", "--as", "truth")):
        done = run_here(tmp_path, *words)
        assert (done.returncode, f"orient='{orient}'" in done.stderr) == (2, True)
    RUN.to_json(run, orient="records")
    assert "truth.json: this is a data frame" in run_here(tmp_path, "evaluate", "truth.json", "run.json").stderr
    answers = pd.DataFrame({"query": ["q"], "answer": ["a"]})
    text = answers.to_json(orient=orient)
    with pytest.raises(KaratError, match="in a shape that is not read"):
        evaluate_answers({"q": "a"}, io.StringIO(text), "EM")


def test_files_of_polars_and_the_index_in_csv_are_read(tmp_path: Path) -> None:
    frame = pl.from_pandas(RUN)
    frame.write_json(tmp_path / "run.json")
    frame.write_ndjson(tmp_path / "run.jsonl")
    frame.write_csv(tmp_path / "polars.csv")
    RUN.to_csv(tmp_path / "pandas.csv")
    for path in sorted(tmp_path.iterdir()):
        assert evaluate(TRUTH, path, "RR")["RR"] == 0.75, path.name


def test_a_row_without_a_value_is_an_error_that_names_it() -> None:
    frame = {"query": {"0": "1", "1": "1"}, "doc": {"0": "7", "1": None}, "score": {"0": 1.0, "1": 2.0}}
    with pytest.raises(KaratError, match=r"row 1, doc: the id of the document is missing"):
        evaluate(TRUTH, in_json(frame), "RR")


def test_rows_without_names_are_refused_with_a_hint() -> None:
    with pytest.raises(KaratError, match=r"object 1: \['1', '7', 1\] is not an object.*to_json\(orient=\"records\"\)"):
        evaluate(in_json([["1", "7", 1]]), {"1": ["7"]}, "RR")


@pytest.mark.parametrize(
    "value",
    [
        {"q1": {"0": 1, "1": 2}, "q2": {"0": 1, "1": 2}},  # documents that are numbered
        {"query": {"d1": 1}, "doc": {"d2": 1}},  # queries that are words
        {"topic": ["d1", "d2"], "answer": ["d3", "d4"], "gold": ["d5"], "x": ["d1", "d2"], "y": [], "z": []},
        {"columns": ["d1", "d2"], "data": ["d3"]},
        {"columns": ["d1"], "data": [["d3", "d4"]]},
        {"query": "q1", "documents": ["d1"]},
        {},
        [],
        None,
    ],
)
def test_other_values_are_not_data_frames(value: object) -> None:
    assert frame_in_json(value, "here") is None


@settings(max_examples=30)
@given(st.lists(st.tuples(st.text(), st.none() | st.integers(-(2**31), 2**31), st.floats(-1e9, 1e9)), min_size=1))
def test_the_records_of_a_frame_are_those_that_were_written(rows: list[Any]) -> None:
    records = [dict(zip(("query", "doc", "score"), row, strict=True)) for row in rows]
    frame = pd.DataFrame(records, dtype=object)
    found = frame_in_json(json.loads(frame.to_json(double_precision=15)), "here")
    assert found is not None
    assert [{name: row[name] for name in records[0]} for row in found.records] == [
        each | {"score": pytest.approx(each["score"], rel=1e-9, abs=1e-9)} for each in records
    ]


def test_answers_and_results_in_a_frame_are_read(tmp_path: Path) -> None:
    golds = pd.DataFrame([{"query": "q", "gold_answers": ["a"]}, {"query": "r", "gold_answers": ["b", "c"]}])
    answers = pd.DataFrame({"query": ["q", "r"], "answer": ["a", "x"]})
    found = evaluate_answers(io.StringIO(golds.to_json()), io.StringIO(answers.to_json()), "EM")
    assert found.per_query == {"q": {"EM": 1.0}, "r": {"EM": 0.0}}
    results = golds.merge(answers)
    results.to_json(tmp_path / "results.json")
    assert evaluate_results(tmp_path / "results.json", "EM")["EM"] == 0.5
