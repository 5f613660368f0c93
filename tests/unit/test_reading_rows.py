"""Ground truth and runs as rows: tuples, named tuples, mappings and objects, in a list or from an iterator."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat import KaratError, evaluate
from karat.components.evaluators import DocumentRecallEvaluator
from karat.pooled import RetrievalRecallAll


class Qrel(NamedTuple):
    """As in ir_measures and ir_datasets."""

    query_id: str
    doc_id: str
    relevance: int
    iteration: str = "0"


class ScoredDoc(NamedTuple):
    """As in ir_measures."""

    query_id: str
    doc_id: str
    score: float


IDS = st.sampled_from(["a", "B", "ä", "007", "x y", "金"])
TABLE = st.dictionaries(IDS, st.dictionaries(IDS, st.integers(-1, 3), min_size=1, max_size=3), min_size=2, max_size=4)


def rows_of(table: dict[str, dict[str, int]]) -> list[tuple[str, str, int]]:
    return [(query, doc, value) for query, docs in table.items() for doc, value in docs.items()]


@given(TABLE, TABLE, st.randoms())
def test_rows_in_any_order_give_the_scores_of_the_mapping(
    truth: dict[str, dict[str, int]], run: dict[str, dict[str, int]], chance: Any
) -> None:
    run = {**run, next(iter(truth)): next(iter(run.values()))}  # at least one query is in both
    judgments, retrieved = rows_of(truth), rows_of(run)
    chance.shuffle(judgments)
    chance.shuffle(retrieved)
    assert evaluate(judgments, retrieved, ["AP", "nDCG"]).means == evaluate(truth, run, ["AP", "nDCG"]).means


def test_named_tuples_are_read_by_their_fields() -> None:
    truth = [Qrel("q", "a", 1), Qrel("r", "b", 2)]
    assert evaluate(truth, [ScoredDoc("r", "b", 0.5), ScoredDoc("q", "x", 0.1)], "RR").per_query == {
        "q": {"RR": 0.0},
        "r": {"RR": 1.0},
    }
    frame = pd.DataFrame({"label": [1, 0], "qid": [7, 7], "docno": [1, 2]})
    rows = list(frame.itertuples(index=False))
    assert evaluate(rows, {"7": ["2", "1"]}, "RR")["RR"] == 0.5


def test_mappings_with_these_fields_are_rows_and_other_mappings_the_documents_of_a_query() -> None:
    truth = [{"query": 1, "doc": 7, "grade": 1}, {"query_id": 1, "doc_id": 8, "relevance": 0, "iteration": "0"}]
    run = pd.DataFrame({"qid": [1, 1], "docno": [8, 7], "score": [2, 1], "rank": [1, 2]}).to_dict("records")
    assert evaluate(truth, run, "RR").per_query == {"1": {"RR": 0.5}}
    assert evaluate([{"a": 1}, {"b": 1}], [{"a": 0.5}, {"x": 2, "b": 1}], "RR")["RR"] == 0.75


@dataclass
class Judgment:
    query_id: int
    doc_id: str
    rating: Decimal
    _private: str = ""

    @property
    def grade(self) -> int:
        raise AssertionError("only attributes that are stored are read")


@dataclass(slots=True)
class Hit:
    query: str
    doc: str
    rank: int


def test_objects_are_read_by_their_attributes_and_ranks_are_an_order() -> None:
    truth = [Judgment(1, "a", Decimal("2.0")), Judgment(1, "b", Decimal(0))]
    run = [Hit("1", "b", 1), Hit("1", "a", 2)]
    scores = evaluate(truth, run, ["RR", "nDCG"])
    assert scores["RR"] == 0.5
    assert (
        "the ground truth: query is read from the field 'query_id', doc from 'doc_id' and grade from 'rating'"
        in str(scores.findings)
    )


def test_fields_with_other_names_are_given_as_columns() -> None:
    run = [{"frage": "q", "text": "a", "wert": 1.5}]
    columns = {"query": "frage", "doc": "text", "score": "wert"}
    assert evaluate({"q": ["a"]}, run, "RR", run_columns=columns)["RR"] == 1
    assert evaluate({"q": ["a"]}, iter(run), "RR", run_columns=columns)["RR"] == 1
    with pytest.raises(KaratError, match=r"row 0: no field 'werte'; the fields are 'frage', 'text', 'wert'"):
        evaluate({"q": ["a"]}, run, "RR", run_columns={**columns, "score": "werte"})
    with pytest.raises(KaratError, match="has no names of fields"):
        evaluate({"q": ["a"]}, [("q", "a", 1.0)], "RR", run_columns={"doc": "docno"})


def test_whole_numbers_are_valid_ids_of_queries_and_documents() -> None:
    assert evaluate({"1": {"2": 1}}, [(1, 2, 0.5)], "RR")["RR"] == 1
    assert evaluate([(1, 5, 1), (1, 6, 0)], [(1, 6, 2), (1, 5, 1)], "RR")["RR"] == 0.5
    assert evaluate([(np.int64(1), np.str_("5"), np.int8(1))], [("1", 5, np.float32(0.5))], "RR")["RR"] == 1


@pytest.mark.parametrize("score", [Decimal("0.5"), Fraction(1, 2), np.float16(0.5), 1, math.inf, "0.5"])
def test_scores_are_numbers_of_any_type(score: Any) -> None:
    assert evaluate([("q", "a", 1)], [("q", "a", score), ("q", "b", -math.inf)], "P@1")["P@1"] == 1


def test_an_iterator_of_rows_is_read_once() -> None:
    truth = [("q", "a", 1), ("r", "b", 1)]
    run = [("q", "x", 2.0), ("q", "a", 1.0), ("r", "b", 1.0)]
    expected = evaluate(truth, run, ["RR", "nDCG"]).per_query
    assert evaluate((row for row in truth), map(tuple, run), ["RR", "nDCG"]).per_query == expected
    assert evaluate(iter(truth), ({"qid": q, "docno": d, "score": s} for q, d, s in run), "RR").means == {"RR": 0.75}
    assert evaluate(iter([["a"], ["b"]]), iter([["x", "a"], ["b"]]), "RR")["RR"] == 0.75


def test_an_iterator_that_was_read_already_is_an_error() -> None:
    rows = iter([("q", "a", 1)])
    with pytest.raises(
        KaratError, match=r"the run: this iterator has nothing left\. An iterator can be read only once"
    ):
        evaluate(rows, rows, "RR")
    with pytest.raises(KaratError, match="the ground truth: this iterator has nothing left"):
        evaluate(iter(()), {"q": ["a"]}, "RR")


def test_the_error_of_a_generator_comes_through() -> None:
    def rows() -> Iterator[tuple[str, str, float]]:
        yield "q", "a", 1.0
        raise ConnectionError("the index is down")

    with pytest.raises(ConnectionError, match="the index is down"):
        evaluate({"q": ["a"]}, rows(), "RR")


def test_rows_of_many_types_give_the_scores_of_the_tuples() -> None:
    rows = [(f"q{at % 7}", f"d{at}", float(at % 11)) for at in range(5000)]
    truth = {f"q{at}": {f"d{at + 70}": 1, f"d{at + 700}": 2} for at in range(7)}
    expected = evaluate(truth, rows, ["AP", "nDCG"]).per_query
    named: list[Any] = [ScoredDoc(*row) for row in rows]
    assert evaluate(truth, named, ["AP", "nDCG"]).per_query == expected
    mixed = [
        [row, ScoredDoc(*row), {"query": row[0], "doc": row[1], "score": row[2]}][at % 3] for at, row in enumerate(rows)
    ]
    assert evaluate(truth, mixed, ["AP", "nDCG"]).per_query == expected
    assert evaluate(truth, [*rows[:-1], (*rows[-1][:2], Decimal(rows[-1][2]))], ["AP", "nDCG"]).per_query == expected


def test_evaluators_take_tuples_of_documents() -> None:
    evaluator = DocumentRecallEvaluator(document_comparison_field="content")
    for chunks in ([("gold is soft", "iron")], [["gold is soft", "iron"]]):
        assert evaluator.run(chunks, [("iron", "x")])["score"] == 1.0
    assert RetrievalRecallAll().calculate_metric_scores([("gold is soft",)], [("gold", "x")], k_list=[1])[0] == {
        "Recall_all@1": 1.0
    }


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        ([("a", "b", "c"), ("d",)], "row 0: grade 'c' is not a number"),
        (
            [("d",), ("a", "b")],
            "row 0: ('d',) is not a row. Each row is a tuple (query, doc, grade). Pass documents as",
        ),
        ([["a", "b"], ("c", "d")], "row 0: ['a', 'b'] is not a row"),
        ([("q", "a", 1), ["b"]], "row 1: ['b'] is not a row. Each row is a tuple (query, doc, grade)"),
        ([("q", "a", 1), ("b", "c")], "row 1: ('b', 'c') is not a row"),
        ([("q", "0", "a", 1)], "row 0: ('q', '0', 'a', 1) is not a row"),
        ([("q", 0.5, 1)], "row 0: 0.5 is not an id"),
        ([("q", "", 1)], "row 0: the id of the document is empty"),
        ([("q", "a", float("nan"))], "row 0: grade nan is not a number"),
        ([("q", "a", 1), ("q", "b", -(10**400))], "row 1: grade -1000"),
        ([("q", "a", None)], "row 0: the grade is missing. Each row is a tuple (query, doc, grade)"),
        ([(None, "a", 1)], "row 0: the id of the query is missing"),
        ([("q", "a", Decimal("sNaN"))], "row 0: grade Decimal('sNaN') is not a number"),
        ([("q", "a", 1j)], "row 0: grade 1j is not a number"),
        ([("q", True, 1)], "row 0: True is not an id"),
        ([("q", b"a", 1)], "row 0: b'a' is not an id"),
        ([("q", "a", 1)] * 5000 + [("q", "a")], "row 5000: ('q', 'a') is not a row"),
        ([["q", "a", 1], ["q", "b", 0]], "row 0: ['q', 'a', 1] may be a row or documents. Write rows as tuples"),
        ([{"query": "q", "doc": "a", "grade": None}], "row 0: the grade is missing. Every row needs a grade."),
        ([{"query": "q", "doc": "a", "grade": 1}, {"query": "q"}], "row 1: {'query': 'q'} is not a row"),
        ([{"query": "q", "docno": "a"}], "row 0: no field 'grade'; the fields are 'query', 'docno'"),
        ([("q", "a", 1), ("q", "\ud800", 1)], "row 1: the id of the document is not valid Unicode"),
        ([("q", "a", 1), ("r", "a", 1), ("q", "a", 0)], "rows 0 and 2: document a is judged twice for query q"),
    ],
)
def test_what_may_be_rows_but_is_not_is_an_error_that_names_the_row(truth: Any, message: str) -> None:
    with pytest.raises(KaratError) as raised:
        evaluate(truth, {"q": ["a"]}, "RR")
    assert str(raised.value).startswith("the ground truth")
    assert message in str(raised.value)


def test_a_document_twice_in_a_query_is_treated_as_in_other_tables() -> None:
    run = [("q", "a", 1.0), ("q", "b", 2.0), ("q", "a", 3.0)]
    with pytest.raises(KaratError, match=r"the run, rows 0 and 2: document a is listed twice for query q"):
        evaluate({"q": {"a": 1}}, run, "RR")
    assert evaluate({"q": {"a": 1}}, run, "RR", duplicates="first")["RR"] == 1


def test_a_note_says_that_ids_are_numbers_unless_they_are_numbers_on_both_sides() -> None:
    truth, run = [("1", "5", 1)], [(1, 5, 0.5)]
    assert "the run: query and document ids are numbers, read as texts" in str(evaluate(truth, run, "RR"))
    assert "ids are numbers" not in str(evaluate([(1, 5, 1)], run, "RR"))
    assert "ids are numbers" not in str(
        evaluate([(1, 5, 1)], pd.DataFrame(run, columns=["query", "doc", "score"]), "RR")
    )
