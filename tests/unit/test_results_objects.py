"""Results of RAG systems as Python objects: attributes, iterators, data frames and data sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

import datasets
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from llama_index.core.base.response.schema import Response
from llama_index.core.schema import NodeWithScore, TextNode
from pydantic import BaseModel

from karat import KaratError, evaluate_results

RECORDS = [
    {"query": "q1", "truth": ["a", "b"], "retrieved": ["x", "a"], "gold_answers": ["soft"], "answer": "soft"},
    {"query": "q2", "truth": ["c"], "retrieved": ["c"], "gold_answers": ["hard"], "answer": None},
]
MEASURES = ["R@5", "RR", "EM"]
EXPECTED = evaluate_results(RECORDS, MEASURES).per_query


@dataclass(slots=True)
class DataRecord:
    query: str
    truth: list[str]
    retrieved: list[str]
    gold_answers: list[str]
    answer: str | None


class TupleRecord(NamedTuple):
    query: str
    truth: list[str]
    retrieved: list[str]
    gold_answers: list[str]
    answer: str | None


class Model(BaseModel):
    query: str
    truth: list[str]
    retrieved: list[str]
    gold_answers: list[str]
    answer: str | None


@pytest.mark.parametrize(
    "convert",
    [
        iter,
        lambda records: (dict(record) for record in records),
        lambda records: [DataRecord(**record) for record in records],
        lambda records: [TupleRecord(**record) for record in records],
        lambda records: [Model(**record) for record in records],
        lambda records: [SimpleNamespace(**record) for record in records],
        pd.DataFrame,
        pl.DataFrame,
        pa.Table.from_pylist,
        datasets.Dataset.from_list,
        lambda records: datasets.Dataset.from_list([{**records[0], "query": "q0"}, *records]).select([1, 2]),
        lambda records: datasets.Dataset.from_list(records).to_iterable_dataset(),
    ],
)
def test_records_of_any_kind_give_the_scores_of_the_dictionaries(convert: Callable[[Any], Any]) -> None:
    assert evaluate_results(convert(RECORDS), MEASURES).per_query == EXPECTED


def test_a_dot_reads_the_attributes_of_a_response_of_llama_index() -> None:
    nodes = [NodeWithScore(node=TextNode(text=text, id_=text), score=0.5) for text in ("iron", "gold is soft")]
    record = {"question": "How soft?", "gold": ["gold is soft"], "response": Response("Very soft.", source_nodes=nodes)}
    fields = {"query": "question", "truth": "gold", "retrieved": "response.source_nodes", "answer": "response.response"}
    fields["gold_answers"] = "gold.0"
    scores = evaluate_results([record], ["RR", "TokenRecall"], fields=fields, match="content")
    assert scores.means == {"RR": 0.5, "TokenRecall": pytest.approx(1 / 3)}


class Lazy:
    def __init__(self) -> None:
        self.query = "q"
        self.truth = ["a"]

    @property
    def retrieved(self) -> list[str]:
        raise AssertionError("a property is only read if its name is given")

    @property
    def found(self) -> list[str]:
        return ["a"]

    @property
    def broken(self) -> list[str]:
        raise ConnectionError("the index is down")


def test_properties_are_read_only_if_their_names_are_given() -> None:
    with pytest.raises(KaratError, match=r"no field 'retrieved'; the fields are 'query', 'truth'\."):
        evaluate_results([Lazy()], "RR")
    assert evaluate_results([Lazy()], "RR", fields={"retrieved": "found"})["RR"] == 1
    with pytest.raises(KaratError, match=r"the results\[0\]: the attribute 'broken' cannot be read: the index is down"):
        evaluate_results([Lazy()], "RR", fields={"retrieved": "broken"})


@dataclass
class Inner:
    text: str = "soft"
    items: list[Any] = field(default_factory=lambda: [{"id": "a"}])

    def method(self) -> None:
        raise AssertionError("methods are not called")


NOWHERE = "inner.texts inner.text.upper inner.items.1 inner.items.x inner.items.0.b none.text inner.items.99999999999"


@pytest.mark.parametrize("path", NOWHERE.split())
def test_a_path_that_leads_nowhere_is_a_missing_field(path: str) -> None:
    record = {"query": "q", "truth": ["a"], "inner": Inner(), "none": None}
    with pytest.raises(KaratError, match=f"no field '{path}'; "):
        evaluate_results([record], "RR", fields={"retrieved": path})


def test_all_missing_fields_are_named_in_one_error() -> None:
    records = [{"my_query": 7, "truth": ["a"], "found": {"docs": ["a"]}, "x": 1}]
    with pytest.raises(KaratError) as raised:
        evaluate_results(records, "RR")
    assert str(raised.value).startswith(
        "the results: no fields 'query' and 'retrieved'; the fields are 'my_query', 'truth', 'found.docs', 'x'."
        " If they have other names, use fields={'query': 'my_query', 'retrieved': 'found.docs'}."
    )


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([("q", ["a"])], "the results[0]: ('q', ['a']) is not a record. A record is a dictionary, or an object with"),
        (["text"], "the results[0]: 'text' is not a record"),
        ([None], "the results[0]: None is not a record"),
        (iter(()), "the results: no results found"),
        (7, "results cannot be read from 7"),
        (datasets.DatasetDict({"test": datasets.Dataset.from_list(RECORDS)}), "a DatasetDict with 1 split: 'test'"),
        (pd.DataFrame({"query": ["q", "r"], "truth": ["a", ["b"]]}), "cannot be read as a table"),
    ],
)
def test_what_is_not_results_is_an_error_that_says_so(source: Any, message: str) -> None:
    with pytest.raises(KaratError) as raised:
        evaluate_results(source, "RR")
    assert message in str(raised.value)
