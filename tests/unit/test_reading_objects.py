"""Ground truth and runs in the objects of other libraries: each gives the scores of the mapping with the same data."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from karat import KaratError, evaluate

TRUTH = [("q1", "d1", 1), ("q1", "d2", 2), ("q2", "d3", 1), ("q2", "d4", 0)]
RUN = [("q1", "d5", 3.5), ("q1", "d2", 2.5), ("q2", "d3", 0.5), ("q1", "d1", 0.25)]
MEASURES = ["nDCG", "AP", "RR"]
EXPECTED = evaluate(
    {"q1": {"d1": 1, "d2": 2}, "q2": {"d3": 1, "d4": 0}},
    {"q1": {"d5": 3.5, "d2": 2.5, "d1": 0.25}, "q2": {"d3": 0.5}},
    MEASURES,
).per_query


def columns(rows: list[tuple[str, str, Any]], number: str) -> dict[str, list[Any]]:
    return {name: [row[at] for row in rows] for at, name in enumerate(("query_id", "doc_id", number))}


def structured_array(rows: list[tuple[str, str, Any]], number: str) -> Any:
    return np.array(rows, [("query", "U2"), ("doc", "S2"), (number, "f8")])


def series(rows: list[tuple[str, str, Any]], number: str) -> Any:
    return pd.DataFrame(columns(rows, number)).groupby(["query_id", "doc_id"])[number].max()


def series_without_names(rows: list[tuple[str, str, Any]], number: str) -> Any:
    return pd.Series({row[:2]: row[2] for row in rows})


def relation(rows: list[tuple[str, str, Any]], number: str) -> Any:
    table = pa.table(columns(rows, number))
    return duckdb.connect().from_arrow(table).filter("doc_id <> ''")


def selected_dataset(rows: list[tuple[str, str, Any]], number: str) -> Any:
    others = [("q1", "d1", 9), ("q3", "d2", 9)]
    dataset = datasets.Dataset.from_dict(columns([*others, *rows], number))
    return dataset.select(range(2, 2 + len(rows))).with_format("numpy")


def streamed_dataset(rows: list[tuple[str, str, Any]], number: str) -> Any:
    return datasets.Dataset.from_dict(columns(rows, number)).to_iterable_dataset()


@pytest.mark.parametrize(
    "convert",
    [
        lambda rows, number: pd.DataFrame(columns(rows, number)),
        lambda rows, number: pl.DataFrame(columns(rows, number)),
        lambda rows, number: pa.table(columns(rows, number)).to_reader(),
        structured_array,
        series,
        series_without_names,
        relation,
        selected_dataset,
        streamed_dataset,
    ],
)
def test_objects_of_other_libraries_give_the_scores_of_the_mapping(
    convert: Callable[[list[tuple[str, str, Any]], str], Any],
) -> None:
    assert evaluate(convert(TRUTH, "relevance"), convert(RUN, "score"), MEASURES).per_query == EXPECTED


def test_a_shuffled_and_filtered_dataset_gives_the_rows_that_are_left_in_their_order() -> None:
    rows = [("q1", f"d{at}", 1.0) for at in range(20)]
    shuffled = (
        datasets.Dataset.from_dict(columns(rows, "score")).shuffle(seed=1).filter(lambda row: row["doc_id"] != "d7")
    )
    order = shuffled["doc_id"][:]
    expected = {f"d{at}": 1 / (order.index(f"d{at}") + 1) for at in range(20) if at != 7}
    for doc, reciprocal_rank in expected.items():
        assert evaluate({"q1": [doc]}, shuffled, "RR", ties="input")["RR"] == reciprocal_rank
    assert evaluate({"q1": ["d7"]}, shuffled, "RR")["RR"] == 0


def test_a_dictionary_of_datasets_is_an_error_that_names_its_splits() -> None:
    splits = datasets.DatasetDict(
        {split: datasets.Dataset.from_dict(columns(TRUTH, "score")) for split in ("dev", "test")}
    )
    with pytest.raises(
        KaratError, match=r"a DatasetDict with 2 splits: 'dev' and 'test'\. Pass one of them, such as dataset\['dev'\]"
    ):
        evaluate(splits, {"q1": ["d1"]}, "RR")


class Qrels:
    """As in ranx: a mapping of Numba, which is not a dict."""

    def __init__(self, qrels: dict[str, dict[str, float]]) -> None:
        self.qrels = UserDict({query: UserDict(docs) for query, docs in qrels.items()})
        self.name = "test"


class Run:
    """As in ranx."""

    def __init__(self, run: dict[str, dict[str, float]]) -> None:
        self.run = UserDict({query: UserDict(docs) for query, docs in run.items()})


def test_qrels_and_run_of_ranx_are_mappings_in_an_attribute() -> None:
    truth, run = Qrels({"q": {"a": 1, "b": 0}}), Run({"q": {"b": 0.5, "a": 0.25}})
    assert evaluate(truth, run, "RR")["RR"] == 0.5
    with pytest.raises(
        KaratError, match=r"the ground truth: this is a Run of ranx\. Pass the ground truth \(Qrels\) first"
    ):
        evaluate(run, truth, "RR")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (pl.LazyFrame(columns(TRUTH, "grade")), "Call its collect() first."),
        (pd.Series([1, 2]), "the ground truth: this Series has 1 level of index. Its index must have two levels"),
        (np.zeros((2, 2), [("query", "U2"), ("doc", "U2"), ("grade", "f8")]), "an array with 2 dimensions is not"),
        (np.array([("q", "d")], [("query", "U2"), ("doc", "U2")]), "no column 'grade'; the columns are 'query', 'doc'"),
        (np.array([(b"\xff", "d", 1)], [("query", "S1"), ("doc", "U2"), ("grade", "f8")]), "is not UTF-8"),
        (np.array([("q", "\udcff", 1)], [("query", "U1"), ("doc", "U2"), ("grade", "f8")]), "is not UTF-8"),
        (np.array([("q", "d", 1)], [("query", "U1"), ("\udcff", "U2"), ("grade", "f8")]), "is not UTF-8"),
        (datasets.Dataset.from_dict({"id": ["a"]}), "no columns 'query' and 'grade'; the columns are 'id'"),
        ({("q", "a", 1)}, "A set has no order."),
        (object(), "is not ground truth"),
    ],
)
def test_objects_that_are_not_ground_truth_are_an_error_that_says_why(source: Any, message: str) -> None:
    with pytest.raises(KaratError) as raised:
        evaluate(source, {"q": ["a"]}, "RR")
    assert message in str(raised.value)


def test_the_generators_of_ir_measures_are_read_as_they_are(tmp_path: Path) -> None:
    ir_measures = pytest.importorskip("ir_measures", reason="needs ir_measures (see tests/parity/install_peers.py)")
    truth, run = tmp_path / "truth.qrels", tmp_path / "run.trec"
    truth.write_text("".join(f"{query} 0 {doc} {grade}\n" for query, doc, grade in TRUTH))
    run.write_text("".join(f"{query} Q0 {doc} 0 {score} x\n" for query, doc, score in RUN))
    read = evaluate(ir_measures.read_trec_qrels(str(truth)), ir_measures.read_trec_run(str(run)), MEASURES)
    assert read.per_query == EXPECTED
