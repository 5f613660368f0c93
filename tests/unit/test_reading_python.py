"""Mappings, lists and data frames give the right scores or one clear error."""

from __future__ import annotations

import math
import types
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import karat
from karat import KaratError, Scores, evaluate, evaluate_runs
from karat.errors import plural

MEASURES = ("AP", "nDCG", "RR", "P@2", "Judged@2", "NumRet", "NumRel", "NumRelRet")
TRUTH: dict[str, dict[str, float]] = {"q1": {"a": 1, "b": 0}, "q2": {"c": 2}}
RUN: dict[str, dict[str, float]] = {"q1": {"x": 3, "a": 2}, "q2": {"c": 1}}
# One connection for all tests, because connecting takes longer than the rest of a test.
DUCKDB = duckdb.connect()


def per_query(truth: object, run: object, **options: Any) -> dict[str, dict[str, float | None]]:
    return karat.evaluate(truth, run, MEASURES, **options).per_query


def error_of(truth: object, run: object, **options: Any) -> KaratError:
    with pytest.raises(KaratError) as caught:
        per_query(truth, run, **options)
    error = caught.value
    assert "\n" not in str(error)
    assert len(str(error)) < 500
    return error


EXPECTED = per_query(TRUTH, RUN)


# Mappings.


def test_the_scores_of_mappings_equal_values_computed_by_hand() -> None:
    assert EXPECTED["q1"] == pytest.approx(
        {"AP": 0.5, "nDCG": 1 / np.log2(3), "RR": 0.5, "P@2": 0.5, "Judged@2": 0.5, "NumRet": 2, "NumRel": 1,
         "NumRelRet": 1}
    )  # fmt: skip


@pytest.mark.parametrize(
    "number",
    [np.float64, np.float32, np.float16, np.int8, np.int64, np.uint16, int, Decimal, Fraction, lambda x: np.array(x)],
    ids=["float64", "float32", "float16", "int8", "int64", "uint16", "int", "Decimal", "Fraction", "0-d array"],
)  # fmt: skip
def test_numbers_of_any_type_are_accepted(number: Callable[[float], object]) -> None:
    def of(data: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, object]]:
        return {query: {doc: number(value) for doc, value in docs.items()} for query, docs in data.items()}

    assert per_query(of(TRUTH), of(RUN)) == EXPECTED


def test_one_score_that_is_a_text_does_not_change_how_others_are_read() -> None:
    *_, (query, docs) = RUN.items()
    *_, (doc, score) = docs.items()
    assert per_query(TRUTH, {**RUN, query: {**docs, doc: str(score)}}) == EXPECTED


def test_a_boolean_grade_means_relevant_or_not_relevant() -> None:
    assert per_query({"q": {"a": True, "b": False}}, {"q": ["b", "a"]})["q"]["AP"] == 0.5


@pytest.mark.parametrize("integer", [int, np.int64, np.int32, np.uint8])
def test_whole_numbers_become_ids_of_their_digits(integer: Callable[[int], object]) -> None:
    numbered = per_query({integer(1): {integer(7): 1}}, {integer(1): {integer(7): 1.0, integer(8): 2.0}})
    assert numbered == per_query({"1": {"7": 1}}, {"1": {"7": 1.0, "8": 2.0}})
    assert per_query({"1": ["7"]}, {1: [integer(8), integer(7)]}) == per_query({"1": ["7"]}, {"1": ["8", "7"]})


def test_an_id_keeps_its_leading_zeros() -> None:
    assert per_query({"q": {"007": 1}}, {"q": {7: 1}})["q"]["NumRelRet"] == 0
    assert per_query({"q": {"007": 1}}, {"q": ["007"]})["q"]["NumRelRet"] == 1


def test_numpy_strings_are_ids() -> None:
    ids = np.array(["x", "a"])
    assert per_query({np.str_("q1"): {np.str_("a"): 1}}, {"q1": ids}) == per_query({"q1": {"a": 1}}, {"q1": ["x", "a"]})


@pytest.mark.parametrize("wrap", [OrderedDict, types.MappingProxyType, lambda docs: defaultdict(float, docs)])
def test_any_type_of_mapping_is_accepted(wrap: Callable[[object], object]) -> None:
    truth = {query: wrap(docs) for query, docs in TRUTH.items()}
    run = {query: wrap(docs) for query, docs in RUN.items()}
    assert per_query(wrap(truth), wrap(run)) == EXPECTED


def test_evaluating_does_not_change_the_data() -> None:
    truth = {"q": {"a": 1, "b": 0}}
    run: dict[str, object] = {"q": {"q": 3.0, "a": 2.0}, "r": ["a", None]}
    before = repr((truth, run))
    per_query(truth, run, ignore_identical_ids=True)
    assert repr((truth, run)) == before


def test_the_order_of_a_mapping_with_scores_does_not_matter() -> None:
    assert per_query(TRUTH, {"q2": {"c": 1}, "q1": {"a": 2, "x": 3}}) == EXPECTED


@pytest.mark.parametrize("missing", [None, float("nan"), np.float32("nan"), pd.NA, "abc", "", [], {}, 1j, object()])
@pytest.mark.parametrize("what", ["score", "grade"])
def test_a_value_that_is_not_a_number_is_an_error_that_names_query_and_document(what: str, missing: object) -> None:
    bad = {"q1": {"a": 1.0}, "q2": {"b": 1.0, "c": missing}}
    error = error_of(TRUTH, bad) if what == "score" else error_of(bad, RUN)
    assert str(error.place).endswith(", query q2, document c")


@pytest.mark.parametrize("huge", [10**400, -(10**400), 10**5000], ids=["10^400", "-10^400", "10^5000"])
@pytest.mark.parametrize("what", ["score", "grade"])
def test_a_number_too_large_for_a_double_is_an_error(what: str, huge: int) -> None:
    bad = {"q1": {"a": huge}}
    error = error_of(TRUTH, bad) if what == "score" else error_of(bad, RUN)
    assert "query q1, document a" in str(error.place)


def test_an_id_with_thousands_of_digits_is_an_error() -> None:
    error_of(TRUTH, {"q1": {10**5000: 1.0}})


@pytest.mark.parametrize("grade", [float("inf"), float("-inf"), np.inf])
def test_an_infinite_grade_is_an_error(grade: float) -> None:
    assert "document a" in str(error_of({"q1": {"a": grade}}, RUN).place)


def test_infinite_scores_rank_first_and_last_without_a_warning() -> None:
    run = {"q": {"a": float("-inf"), "b": 0.0, "c": float("inf"), "d": -1e308}}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranks = {doc: 1 / karat.evaluate({"q": {doc: 1}}, run, "RR")["RR"] for doc in "abcd"}
    assert ranks == {"c": 1, "b": 2, "d": 3, "a": 4}


def test_scores_that_are_equal_as_doubles_are_a_tie() -> None:
    run = {"q": {"a": 2**53, "b": 2**53 + 1}}
    assert per_query({"q": {"a": 1}}, run)["q"]["RR"] == 0.5
    assert per_query({"q": {"b": 1}}, run)["q"]["RR"] == 1


@pytest.mark.parametrize("truth", [{}, [], pd.DataFrame({"query": ["q"], "doc": ["a"], "grade": [1]})[:0]])
def test_empty_ground_truth_is_an_error(truth: object) -> None:
    assert "empty" in str(error_of(truth, RUN))


EMPTY_FRAMES = {
    "pandas": pd.DataFrame(columns=["query", "doc", "score"]),
    "pandas, filtered": pd.DataFrame({"query": ["q"], "doc": ["a"], "score": [1.0]}).query("score > 2"),
    "polars": pl.DataFrame(schema={"query": pl.String, "doc": pl.String, "score": pl.Float64}),
    "pyarrow": pa.schema({"query": pa.string(), "doc": pa.string(), "score": pa.float64()}).empty_table(),
}  # fmt: skip


@pytest.mark.parametrize("run", [{}, *EMPTY_FRAMES.values()], ids=["mapping", *EMPTY_FRAMES])
def test_an_empty_run_scores_zero_and_reports_all_queries_as_missing(run: object) -> None:
    scores = karat.evaluate(TRUTH, run, "AP")
    assert scores["AP"] == 0
    assert {finding.code: finding.queries for finding in scores.findings}["missing-queries"] == ("q1", "q2")


@pytest.mark.parametrize("nothing", [{}, [], ()])
def test_a_query_that_retrieved_nothing_is_not_missing(nothing: object) -> None:
    scores = karat.evaluate(TRUTH, {"q1": nothing, "q2": ["c"]}, "AP", missing="skip")
    assert scores.per_query == {"q1": {"AP": 0}, "q2": {"AP": 1}}
    assert "nothing-retrieved" in {finding.code for finding in scores.findings}


@pytest.mark.parametrize("nothing", [{}, [], ()])
def test_a_query_without_judged_documents_scores_zero_and_is_reported(nothing: object) -> None:
    scores = karat.evaluate({"q1": nothing, "q2": ["c"]}, {"q1": ["a"], "q2": ["c"]}, "AP")
    assert scores.per_query == {"q1": {"AP": 0}, "q2": {"AP": 1}}
    assert {finding.code: finding.queries for finding in scores.findings}["empty-truths"] == ("q1",)


WRONG = {
    "nothing": None, "a number": 5, "a set": {"a"}, "bytes": b"abc", "a generator": (docs for docs in (["a"], ["c"])),
    "a class": dict, "a mapping of numbers": {"q1": 5}, "a mapping of texts": {"q1": "a"},
    "a mapping of nothing": {"q1": None}, "a mapping of bytes": {"q1": b"a"}, "a flat list": ["a", "b"],
    "a list of numbers": [1, 2], "a list of nothing": [None, None], "a series": pd.Series([1, 2]),
    "a polars series": pl.Series([1, 2]), "an array": np.array([1, 2]), "an array of two": np.array([["a"], ["c"]]),
    "tuples": {"q1": [("a", 1.0)]}, "a float for an id": {"q1": {1.5: 1}}, "a float for a query": {1.5: {"a": 1}},
    "a flag for an id": {"q1": [True]}, "nothing for a query": {None: ["a"]}, "nothing for an id": {"q1": {None: 1}},
    "lists in lists": {"q1": [["a"]]}, "bytes for ids": {"q1": [b"a"]},
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("side", ["truth", "run"])
def test_data_of_the_wrong_shape_is_an_error_with_a_hint(side: str, name: str) -> None:
    error = error_of(WRONG[name], RUN) if side == "truth" else error_of(TRUTH, WRONG[name])
    assert error.hint


@pytest.mark.parametrize("side", ["truth", "run"])
def test_an_id_given_as_text_and_as_a_number_is_an_error(side: str) -> None:
    for twice in ({"7": {"a": 1}, 7: {"b": 1}}, {"q1": {"7": 1, 7: 2}}):
        error = error_of(twice, RUN) if side == "truth" else error_of(TRUTH, twice)
        assert "7 appears twice" in error.what


@pytest.mark.parametrize("truth", [{"q1": {"a\ud800": 1}}, {"q\ud800": {"a": 1}}])
def test_lone_surrogates_give_scores_or_a_clear_error(truth: object) -> None:
    for run in (RUN, frames(RUN, "score")["pandas"]):
        try:
            found = per_query(truth, run)
        except KaratError:
            continue
        assert [values["NumRelRet"] for values in found.values()] == [0]


# Lists.


def test_lists_are_ranked_in_their_order() -> None:
    assert per_query([["a"], ["c"]], [["x", "a"], ["c"]])["0"]["RR"] == 0.5


def test_lists_equal_a_mapping_of_their_positions_to_lists() -> None:
    truth, run = [["a", "b"], [], ["c"]], [["x", "b"], ["a"], []]
    assert per_query(truth, run) == per_query(dict(enumerate(truth)), dict(enumerate(run)))


def test_lists_are_matched_by_position_with_ground_truth_that_has_query_ids() -> None:
    assert per_query(TRUTH, [["x", "a"], ["c"]]) == per_query(TRUTH, {"q1": ["x", "a"], "q2": ["c"]})


@pytest.mark.parametrize("several", [list, tuple, iter, lambda docs: (doc for doc in docs), np.array, pd.Series])
def test_documents_may_be_in_any_ordered_iterable(several: Callable[[list[str]], object]) -> None:
    assert per_query({"q": several(["a", "b"])}, {"q": several(["x", "b", "a"])}) == per_query(
        {"q": ["a", "b"]}, {"q": ["x", "b", "a"]}
    )


def test_the_keys_and_values_of_a_mapping_keep_their_order() -> None:
    expected = per_query({"q": ["a"]}, {"q": ["x", "a"]})
    assert per_query({"q": ["a"]}, {"q": {1: "x", 2: "a"}.values()}) == expected
    assert per_query({"q": ["a"]}, {"q": {"x": 1, "a": 2}.keys()}) == expected


def test_gold_documents_may_be_given_as_a_set() -> None:
    assert per_query({"q": {"a", "b"}}, {"q": ["b"]}) == per_query({"q": ["a", "b"]}, {"q": ["b"]})
    assert per_query({"q": frozenset("ab")}, {"q": ["b"]}) == per_query({"q": ["a", "b"]}, {"q": ["b"]})


def test_only_the_first_occurrence_of_a_repeated_document_counts() -> None:
    found = per_query({"q": ["a", "b"]}, {"q": ["a", "a", "b", "a"]})["q"]
    assert found["AP"] == pytest.approx((1 + 2 / 3) / 2)
    assert found["NumRet"] == 4


def test_a_gold_document_listed_twice_counts_once() -> None:
    assert per_query({"q": ["a", "a", "b"]}, {"q": ["a"]}) == per_query({"q": ["a", "b"]}, {"q": ["a"]})


@dataclass
class Document:
    """A document like those of other frameworks."""

    id: str | int | None = None
    content: str | None = None
    meta: dict[str, object] = field(default_factory=dict)


def test_documents_are_matched_by_id_whether_they_are_texts_mappings_or_objects() -> None:
    expected = per_query({"q": ["a", "b"]}, {"q": ["x", "b"]})
    forms: list[Callable[[str], object]] = [str, lambda doc: {"id": doc}, lambda doc: Document(id=doc)]
    for of_truth in forms:
        for of_run in forms:
            truth = {"q": [of_truth("a"), of_truth("b")]}
            assert per_query(truth, {"q": [of_run("x"), of_run("b")]}) == expected


def test_a_document_without_an_id_is_matched_by_its_content() -> None:
    assert per_query({"q": ["text"]}, {"q": [Document(content="text")]})["q"]["RR"] == 1
    assert per_query({"q": ["text"]}, {"q": [{"content": "text"}]})["q"]["RR"] == 1


def test_documents_can_be_matched_by_content_or_a_field_of_their_meta() -> None:
    gold, same = Document("1", "text", {"source": "s"}), Document("2", "text", {"source": "s"})
    assert per_query([[gold]], [[same]])["0"]["RR"] == 0
    assert per_query([[gold]], [[same]], match="content")["0"]["RR"] == 1
    assert per_query([[gold]], [[same]], match="meta.source")["0"]["RR"] == 1
    assert per_query([[vars(gold)]], [[vars(same)]], match="meta.source")["0"]["RR"] == 1


@pytest.mark.parametrize("empty", [None, "", {"id": None}, {"id": ""}, Document(), Document(content="")])
def test_a_document_without_a_key_occupies_a_rank_and_matches_nothing(empty: object) -> None:
    found = per_query({"q": [empty, "a"]}, {"q": [empty, "a", empty]})["q"]
    assert found["RR"] == 0.5
    assert found["NumRet"] == 3
    assert found["NumRel"] == 1


def test_the_whole_number_zero_is_an_id() -> None:
    assert per_query({"q": [0]}, {"q": [0]})["q"]["RR"] == 1
    assert per_query({"q": [Document(id=0)]}, {"q": [{"id": 0}]})["q"]["RR"] == 1


@pytest.mark.parametrize("lists", [[], [["a"]], [["a"], ["b"], ["c"]]])
def test_a_wrong_number_of_lists_is_an_error(lists: list[list[str]]) -> None:
    error = error_of([["a"], ["b"]], lists)
    assert plural(len(lists), "list") in error.what
    assert error.hint


def test_a_run_may_mix_queries_with_scores_and_queries_with_lists() -> None:
    assert per_query(TRUTH, {"q1": ["x", "a"], "q2": {"c": 1}}) == EXPECTED


# Data frames.


def columns_of(data: Mapping[str, Mapping[str, float]], number: str) -> dict[str, list[Any]]:
    rows = [(query, doc, value) for query, docs in data.items() for doc, value in docs.items()]
    return {name: [row[at] for row in rows] for at, name in enumerate(("query", "doc", number))}


def frames(data: Mapping[str, Mapping[str, float]], number: str) -> dict[str, Any]:
    """The same data in every type of data frame."""
    columns = columns_of(data, number)
    table = pa.table(columns)
    return {
        "pandas": pd.DataFrame(columns),
        "pandas, Arrow types": pd.DataFrame(columns).convert_dtypes(dtype_backend="pyarrow"),
        "pandas, nullable types": pd.DataFrame(columns).convert_dtypes(),
        "pandas, objects": pd.DataFrame(columns).astype({"query": object, "doc": object}),
        "pandas, categories": pd.DataFrame(columns).astype({"query": "category", "doc": "category"}),
        "pandas, query as index": pd.DataFrame(columns).set_index("query"),
        "pandas, another index": pd.DataFrame(columns, index=range(5, 5 + len(table))),
        "polars": pl.DataFrame(columns),
        "polars, categories": pl.DataFrame(columns).with_columns(pl.col("query", "doc").cast(pl.Categorical)),
        "polars, enums": pl.DataFrame(columns).with_columns(
            pl.col("query").cast(pl.Enum(list(data))), pl.col("doc").cast(pl.Enum(sorted(set(columns["doc"]))))
        ),
        "pyarrow": table,
        "pyarrow, in chunks": pa.concat_tables([table.slice(at, 1) for at in range(len(table))]),
        "pyarrow, sliced": pa.concat_tables([table, table]).combine_chunks().slice(len(table)),
        "pyarrow, dictionaries": table.set_column(1, "doc", table["doc"].dictionary_encode()),
        "pyarrow, string views": table.set_column(1, "doc", table["doc"].cast(pa.string_view())),
        "pyarrow, large strings": table.set_column(1, "doc", table["doc"].cast(pa.large_string())),
        "pyarrow, a reader": table.to_reader(),
        "duckdb": DUCKDB.from_arrow(table),
        "duckdb, enums": DUCKDB.from_arrow(table).select(f"query, doc, {number}::DECIMAL(9, 2) AS {number}"),
    }  # fmt: skip


KINDS = list(frames(TRUTH, "grade"))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_frame_gives_the_scores_of_the_mapping(kind: str) -> None:
    assert per_query(frames(TRUTH, "grade")[kind], frames(RUN, "score")[kind]) == EXPECTED


def test_columns_may_have_other_names_and_extra_columns_are_ignored() -> None:
    truth = pd.DataFrame(columns_of(TRUTH, "grade")).rename(columns={"query": "qid", "grade": "label"})
    run = pl.DataFrame(columns_of(RUN, "score")).rename({"doc": "docno"}).with_columns(more=pl.lit("x"))
    found = per_query(truth, run, truth_columns={"query": "qid", "grade": "label"}, run_columns={"doc": "docno"})
    assert found == EXPECTED


def test_a_column_of_whole_numbers_is_read_as_text() -> None:
    frame = pd.DataFrame({"query": [1, 1, 2], "doc": [7, 10**18, 7], "score": [3, 2, 1]})
    expected = per_query({"1": {str(10**18): 1}, "2": {"7": 1}}, {"1": {"7": 3, str(10**18): 2}, "2": {"7": 1}})
    truth = {1: {10**18: 1}, 2: {7: 1}}
    assert per_query(truth, frame) == expected
    assert per_query(truth, frame.astype("category")[["query", "doc"]].assign(score=[3, 2, 1])) == expected
    assert per_query(truth, pl.DataFrame(frame).with_columns(pl.col("doc").cast(pl.UInt64))) == expected


def test_unsigned_and_negative_whole_numbers_are_ids() -> None:
    frame = pl.DataFrame({"query": [-1, -1], "doc": [1, 2], "score": [1.0, 2.0]}, schema_overrides={"doc": pl.UInt8})
    assert per_query({"-1": ["2"]}, frame)["-1"]["RR"] == 1


def test_strings_of_digits_keep_their_leading_zeros() -> None:
    frame = pl.DataFrame({"query": ["01"], "doc": ["007"], "score": [1.0]})
    assert per_query({"01": ["007"]}, frame)["01"]["RR"] == 1
    assert per_query({"01": ["7"]}, frame)["01"]["RR"] == 0


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "duckdb"])
@pytest.mark.parametrize("column", ["query", "doc"])
def test_floats_that_are_not_whole_are_not_accepted_as_ids(kind: str, column: str) -> None:
    frame = frames(RUN, "score")["pandas"].assign(**{column: [1.0, 2.5, 3.0]})
    error = error_of(TRUTH, {"pandas": frame, "polars": pl.DataFrame(frame), "pyarrow": pa.table(frame),
                             "duckdb": DUCKDB.from_arrow(pa.table(frame))}[kind])  # fmt: skip
    assert str(error).startswith(f"the run, column {column}, row 1: 2.5 is not an id. Ids are text or whole numbers")


@pytest.mark.parametrize("column", ["query", "doc", "score"])
@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "duckdb"])
def test_a_null_is_an_error_that_names_its_row(kind: str, column: str) -> None:
    columns = columns_of(RUN, "score")
    columns[column][1] = None
    make: dict[str, Callable[[], object]] = {
        "pandas": lambda: pd.DataFrame(columns),
        "polars": lambda: pl.DataFrame(columns),
        "pyarrow": lambda: pa.table(columns),
        "duckdb": lambda: DUCKDB.from_arrow(pa.table(columns)),
    }
    error = error_of(TRUTH, make[kind]())
    missing = {"query": "the id of the query", "doc": "the id of the document", "score": "the score"}[column]
    assert str(error).startswith(f"the run, column {column}, row 1: {missing} is missing")


def test_a_null_in_a_category_is_an_error() -> None:
    frame = pd.DataFrame({"query": ["q1", "q1"], "doc": pd.Categorical(["a", None]), "score": [1.0, 2.0]})
    assert "row 1: the id of the document is missing" in str(error_of(TRUTH, frame))


@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
def test_a_nan_is_an_error_that_names_its_row(kind: str) -> None:
    columns = columns_of(RUN, "score")
    columns["score"] = [1.0, float("nan"), 2.0]
    error = error_of(TRUTH, pl.DataFrame(columns) if kind == "polars" else pa.table(columns))
    assert "row 1: score nan is not a number" in str(error)


def test_an_infinite_grade_in_a_frame_is_an_error_that_names_its_row() -> None:
    truth = pl.DataFrame({"query": ["q1", "q1"], "doc": ["a", "b"], "grade": [1.0, float("inf")]})
    assert "row 1" in str(error_of(truth, RUN).place)


@pytest.mark.parametrize("column", ["query", "doc"])
def test_an_empty_id_is_an_error_that_names_its_row(column: str) -> None:
    columns = columns_of(RUN, "score")
    columns[column][2] = ""
    kind = "query" if column == "query" else "document"
    assert f"row 2: the id of the {kind} is empty" in str(error_of(TRUTH, pa.table(columns)))


def test_a_column_of_texts_that_contain_numbers_is_read() -> None:
    frame = frames(RUN, "score")["pandas"]
    texts = frame.assign(score=frame["score"].map(str))
    assert karat.evaluate(TRUTH, texts, "RR").per_query == karat.evaluate(TRUTH, frame, "RR").per_query
    error = error_of(TRUTH, texts.assign(score=["1", "high", "2"]))
    assert str(error).startswith("the run, column score, row 1: score 'high' is not a number")


@pytest.mark.parametrize("score", [[[1], [2], [3]], [b"1", b"2", b"3"], pd.to_datetime([1, 2, 3])])
def test_a_score_column_that_is_not_numeric_is_an_error(score: object) -> None:
    error = error_of(TRUTH, frames(RUN, "score")["pandas"].assign(score=score))
    assert "column score" in str(error.place)
    assert error.hint


def test_a_missing_column_is_an_error_that_suggests_the_most_similar_name() -> None:
    error = error_of(TRUTH, pd.DataFrame({"query": ["q1"], "docs": ["a"], "score": [1.0]}))
    assert "no column 'doc'" in error.what
    assert "docs" in str(error.hint)
    assert "run_columns" in str(error.hint)


def test_a_ground_truth_frame_given_as_run_is_an_error_that_lists_its_columns() -> None:
    error = error_of(TRUTH, frames(TRUTH, "grade")["pandas"])
    assert "'score'" in error.what
    assert "'grade'" in error.what


def test_two_columns_of_the_same_name_are_an_error() -> None:
    names = ["query", "doc", "doc", "score"]
    assert "more than one column" in str(error_of(TRUTH, pa.table([["q1"], ["a"], ["a"], [1.0]], names=names)))
    assert "doc" in str(error_of(TRUTH, pd.DataFrame([["q1", "a", "a", 1.0]], columns=names)))


def test_a_column_of_mixed_types_is_an_error_that_names_it() -> None:
    error = error_of(TRUTH, pd.DataFrame({"query": ["q1", 2], "doc": ["a", "b"], "score": [1.0, 2.0]}))
    assert "query" in str(error)


@pytest.mark.parametrize("names", [{"score": "s"}, {"docs": "doc"}, {"doc": 1}, {"doc": None}])
def test_a_wrong_name_for_a_column_is_an_error(names: dict[str, str]) -> None:
    error_of(frames(TRUTH, "grade")["pandas"], RUN, truth_columns=names)


@pytest.mark.parametrize("kind", KINDS)
def test_a_document_twice_in_a_frame_is_an_error_that_names_both_rows(kind: str) -> None:
    twice = pa.concat_tables(
        [pa.table(columns_of(RUN, "score")), pa.table({"query": ["q1"], "doc": ["a"], "score": [9]})]
    )
    scattered = {"query": twice["query"], "doc": twice["doc"], "score": twice["score"]}
    error = error_of(TRUTH, pa.table(scattered) if kind.startswith("pyarrow") else pd.DataFrame(twice.to_pydict()))
    assert "rows 1 and 3" in str(error.place)
    judged = pd.DataFrame({"query": ["q1", "q2", "q1"], "doc": ["a", "a", "a"], "grade": [1, 1, 1]})
    assert "rows 0 and 2" in str(error_of(judged, RUN).place)


def test_the_best_ranked_of_a_repeated_document_in_a_frame_can_be_kept() -> None:
    frame = pl.DataFrame(
        {"query": ["q1", "q2", "q1", "q1"], "doc": ["a", "c", "x", "a"], "score": [1.0, 1.0, 2.0, 3.0]}
    )
    found = per_query(TRUTH, frame, duplicates="first")
    assert found == per_query(TRUTH, {"q1": {"a": 3, "x": 2}, "q2": {"c": 1}})


# The same data from any source gives the same Scores.

IDS = st.one_of(
    st.text(st.sampled_from("ab07#,\"'é😀"), min_size=1, max_size=3).filter(lambda text: not text.startswith("#")),
    st.sampled_from(["d1", "d2", "d3", "d10", "D1"]),
)
DOCS = st.dictionaries(IDS, st.sampled_from([0.0, 1.0, 2.0, -1.0, 0.5]), min_size=1, max_size=8)
DATA = st.dictionaries(IDS, DOCS, min_size=1, max_size=4)


# An example needs twenty evaluations, so failing examples are not shrunk. Twenty examples cover all kinds of ties and
# frames in many orders; runs are shuffled here because runs in order are tested above.
@settings(max_examples=20, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(DATA, DATA, st.sampled_from(["trec", "input", "best", "worst"]), st.randoms())
def test_the_same_data_from_any_source_gives_identical_scores(
    tmp_path_factory: pytest.TempPathFactory, truth: Any, run: Any, ties: Any, chance: Any
) -> None:
    run = {**run, next(iter(truth)): next(iter(run.values()))}  # at least one query is in both
    folder = tmp_path_factory.getbasetemp()
    truth_file, run_file = folder / "same.qrels", folder / "same.trec"
    write(truth_file, "{} 0 {} {!r}\n", truth)
    write(run_file, "{} Q0 {} 1 {!r} tag\n", run)
    shuffled = {query: run[query] for query in chance.sample(list(run), len(run))}
    expected = karat.evaluate(truth, run, MEASURES, ties=ties)
    truths = [truth, truth_file, *frames(truth, "grade").values()]
    chance.shuffle(truths)  # each with another kind of run in each example
    runs = [run_file, shuffled, *frames(shuffled, "score").values()]
    for of_truth, of_run in zip(truths, runs, strict=True):
        assert same(karat.evaluate(of_truth, of_run, MEASURES, ties=ties), expected)


@settings(max_examples=50)
@given(DATA, DATA)
def test_a_run_sorted_into_lists_gives_identical_scores(truth: Any, run: Any) -> None:
    run = {**run, next(iter(truth)): next(iter(run.values()))}  # at least one query is in both
    lists = {
        query: [doc for _, doc in sorted(((score, doc) for doc, score in docs.items()), reverse=True)]
        for query, docs in run.items()
    }
    assert same(karat.evaluate(truth, lists, MEASURES), karat.evaluate(truth, run, MEASURES))


def write(path: Path, line: str, data: Mapping[str, Mapping[str, float]]) -> None:
    rows = (line.format(query, doc, value) for query, docs in data.items() for doc, value in docs.items())
    path.write_text("".join(rows), "utf-8")


def same(found: Scores, expected: Scores) -> bool:
    """Whether all values, the order of queries, the means and the findings are identical."""
    assert found.queries == expected.queries
    assert found.per_query == expected.per_query
    assert found.means == expected.means
    assert {(finding.code, finding.count) for finding in found.findings} == {
        (finding.code, finding.count) for finding in expected.findings
    }
    return True


def test_a_match_field_that_no_document_has_is_an_error() -> None:
    truth, run = {"q": [{"content": "a", "meta": {"s": 1}}]}, {"q": [{"content": "a"}]}
    with pytest.raises(KaratError, match=r"the ground truth: the field 'meta\.x' is missing or empty in all documents"):
        evaluate(truth, run, "RR", match="meta.x")
    with pytest.raises(KaratError, match=r"dense: the field 'meta\.s' is missing or empty in all documents"):
        evaluate_runs(truth, {"dense": run}, "RR", match="meta.s")


def test_the_scores_of_listed_gold_documents_are_their_grades_in_graded_measures() -> None:
    truth = {"q": [{"id": "a", "score": 3}, {"id": "b", "score": 1}], "r": ["c"]}
    scores = evaluate(truth, {"q": ["b", "a"], "r": ["c"]}, ["nDCG", "AP(rel=1)"])
    assert scores.per_query["q"]["nDCG"] == pytest.approx((1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3)))
    assert scores.per_query["r"]["nDCG"] == 1
    assert scores["AP"] == 1
    only_q = evaluate(truth, {"q": ["b", "a"]}, "nDCG", missing="skip")
    assert only_q["nDCG"] == scores.per_query["q"]["nDCG"]


def test_scores_that_are_invalid_grades_are_an_error_only_for_graded_measures() -> None:
    truth = {"q": [{"id": "a", "score": -1}]}
    assert evaluate(truth, {"q": ["a"]}, "RR")["RR"] == 1
    with pytest.raises(KaratError, match="the ground truth, query q: a gold document has the score -1"):
        evaluate(truth, {"q": ["a"]}, "nDCG")


def test_gold_documents_keep_their_scores_in_lists_sets_and_iterators() -> None:
    class Gold(NamedTuple):
        id: str
        score: float

    golds = [Gold(f"d{at}", at + 1) for at in range(20)]
    run = {"q": [gold.id for gold in golds]}
    in_a_list = evaluate({"q": golds}, run, "nDCG")["nDCG"]
    assert in_a_list < 1
    assert evaluate({"q": set(golds)}, run, "nDCG")["nDCG"] == in_a_list
    assert evaluate({"q": iter(golds)}, run, "nDCG")["nDCG"] == in_a_list


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("q1 Q0 d1 1 1 x\nq1 Q0 d2 2 0.5 x\n", r"is a text, not the path of a file\. .* pass io\.StringIO\(text\)"),
        ('{"q1": {"d1": 1}}', r"is a text, not the path of a file"),
        ("x" * 5000, r"x….* is a text, not the path of a file"),
        (b"q1 Q0 d1 1 1 x\n", r"is neither a path nor an open file\. .* pass io\.BytesIO\(content\)"),
        (["a.parquet", "b.parquet"], r"'a\.parquet' is not a list .* Several files are evaluated with evaluate_runs"),
    ],
)
def test_what_is_neither_a_path_nor_a_list_of_documents_is_an_error_that_says_so(source: Any, message: str) -> None:
    for truth, run in (({"q1": ["d1"]}, source), (source, {"q1": ["d1"]})):
        with pytest.raises(KaratError, match=message):
            karat.evaluate(truth, run)


def test_a_list_of_records_with_the_documents_of_a_query_is_read_by_query() -> None:
    truth = [{"query": "q1", "truth": ["a"]}, {"query": "q2", "truth": {"b": 2}}]
    run = [{"qid": 2, "hits": ["x", {"_id": "b", "_score": 1}]}, {"qid": 1, "hits": {"y": 1, "a": 0.5}}]
    renamed = [{**record, "qid": f"q{record['qid']}"} for record in run]
    for records in (renamed, iter(renamed), pd.DataFrame(renamed).to_dict("records")):
        scores = evaluate(truth, records, "RR")
        assert scores.means == {"RR": 0.5}
        assert "the run: query is read from the field 'qid' and doc from 'hits'" in str(scores.findings)
    given = {"query": "qid", "doc": "hits"}
    assert evaluate([{"query": 1, "truth": ["a"]}], run, "RR", run_columns=given)["RR"] == 0.5
    with pytest.raises(KaratError, match=r"the run, row 1: 3 is not a record\."):
        evaluate(truth, [renamed[0], 3], "RR")
    # One mapping of documents to scores per query, whatever they are called.
    assert evaluate([["a"], ["b"]], [{1: 0.5, "a": 2}, {"query": 1, "hits": 2}], "RR")["RR"] == 0.5
