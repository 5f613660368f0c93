"""Ground truth and runs as lists of tuples: rows of a table, or a tuple of documents per query."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, NamedTuple

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat import KaratError, evaluate


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


def test_whole_numbers_are_valid_ids_where_the_score_is_not_a_whole_number() -> None:
    assert evaluate({"1": {"2": 1}}, [(1, 2, 0.5)], "RR")["RR"] == 1


def test_tuples_of_texts_are_the_documents_of_a_query() -> None:
    scores = evaluate([("a", "b", "c"), ("d",)], [("x", "a"), ["d"]], "RR")
    assert scores.per_query == {"0": {"RR": 0.5}, "1": {"RR": 1.0}}
    assert evaluate([(1, 2), (3,)], [(2,), (3, 4)], "RR")["RR"] == 1


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        ([(1, 2, 3)], "tuples of three numbers may be rows or documents"),
        ([("q", "a", "1"), ("q", "b", "0")], "row 0: the grade of ('q', 'a', '1') is text. Convert each grade"),
        ([("q", "a", 1), ["b"]], "row 1: ['b'] is not a row. Each row is a tuple (query, doc, grade)"),
        ([("q", "a", 1), ("b", "c")], "row 1: ('b', 'c') is not a row"),
        ([("q", "0", "a", 1)], "row 0: ('q', '0', 'a', 1) is not a row"),
        ([("q", 0.5, 1)], "row 0: ('q', 0.5, 1) is not a row"),
        ([("q", "", 1)], "row 0: an id is empty"),
        ([("q", "a", float("nan"))], "row 0: grade nan is not a number"),
        ([("q", "a", 10**400)], "row 0: grade 1000"),
        ([("q", "a", Decimal(1))], "row 0: ('q', 'a', Decimal('1')) is not a row"),
        ([["q", "a", 1], ["q", "b", 0]], "row 0: ['q', 'a', 1] may be a row or documents. Write rows as tuples"),
        ([{"query": "q", "doc": "a", "grade": None}], "row 0: {'query': 'q', 'doc': 'a', 'grade': None} is not a row"),
        ([{"query": "q", "doc": "a", "grade": 1}, {"query": "q"}], "row 1: {'query': 'q'} is not a row"),
        ([("q", "\ud800", 1)], "not valid Unicode"),
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


def test_an_iterator_is_an_error_that_says_how_to_make_a_list() -> None:
    with pytest.raises(KaratError, match=r"is not ground truth\. Wrap it in list"):
        evaluate(iter([("q", "a", 1)]), {"q": ["a"]}, "RR")
