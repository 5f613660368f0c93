"""Spans of documents: how they are read, and how many characters the measures count."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner
from haystack import Document as HaystackDocument
from haystack.components.preprocessors import DocumentSplitter
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document as LangChainDocument
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import Document as LlamaIndexDocument
from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

from karat import Document, KaratError, evaluate, evaluate_results, evaluate_runs, parse
from karat.data.spans import Spans
from karat.measures import R, SpanIoU, SpanPrecision, SpanRecall, definitions
from karat.reading.records.spans import SpansWithDocuments, read_spans
from tests.invariants.collections import judged_of

Span = tuple[str, int, int]
BOUND = 2**62


def values(measure: str, truth: Any, run: Any) -> list[float]:
    return list(map(float, parse(measure).compute(read_spans(truth, run).spans)))


def value(measure: str, gold: list[Any], retrieved: list[Any]) -> float:
    (only,) = values(measure, {"q": gold}, {"q": retrieved})
    return only


def one(span: object) -> Span:
    """The document, start and end that are read from a single span of the run."""
    read = read_spans({"q": []}, {"q": [span]})
    ((document,),) = read.retrieved_documents.values()
    return document, int(read.spans.retrieved_start[0]), int(read.spans.retrieved_end[0])


def error_of(truth: object, run: object) -> KaratError:
    with pytest.raises(KaratError) as caught:
        read_spans(truth, run)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500
    return caught.value


# The measures.


def slow_definition(measure: str, gold: list[Span], retrieved: list[Span]) -> float:
    """The definition: characters as sets."""
    golds, found = (
        {(document, at) for document, start, end in spans for at in range(start, end)} for spans in (gold, retrieved)
    )
    whole = {"SpanRecall": golds, "SpanPrecision": found, "SpanIoU": golds | found}[measure]
    return len(golds & found) / len(whole) if whole else 0.0


def spans_within(last: int) -> st.SearchStrategy[Span]:
    positions = st.tuples(st.integers(0, last), st.integers(0, last)).map(sorted)
    return st.builds(lambda document, ends: (document, *ends), st.sampled_from(["a", "b", "ä", "7"]), positions)


lists = st.lists(spans_within(12), max_size=6)
queries = st.lists(st.tuples(lists, lists), min_size=1, max_size=4)
cutoffs = st.none() | st.integers(1, 8)
each_measure = pytest.mark.parametrize("measure", [SpanRecall, SpanPrecision, SpanIoU], ids=str)


@each_measure
@given(queries=queries, k=cutoffs)
def test_span_measures_agree_with_their_slow_definition(measure: Any, queries: list[Any], k: int | None) -> None:
    spans = read_spans([gold for gold, _ in queries], [found for _, found in queries]).spans
    expected = [slow_definition(measure.name, gold, found[:k]) for gold, found in queries]
    assert measure(k=k).compute(spans).tolist() == expected


@each_measure
@given(queries=queries, k=cutoffs)
def test_the_score_of_a_query_does_not_depend_on_other_queries(measure: Any, queries: list[Any], k: int) -> None:
    together = read_spans([gold for gold, _ in queries], [found for _, found in queries]).spans
    alone = [measure(k=k).compute(read_spans([gold], [found]).spans)[0] for gold, found in queries]
    assert measure(k=k).compute(together).tolist() == alone


@each_measure
@given(gold=lists, found=lists, order=st.randoms(use_true_random=False))
def test_without_a_cutoff_the_order_of_spans_does_not_matter(
    measure: Any, gold: list[Span], found: list[Span], order: Any
) -> None:
    shuffled = order.sample(found, len(found))
    assert value(str(measure), gold, found) == value(str(measure), gold[::-1], shuffled)


def merged(spans: list[Span]) -> int:
    """The number of characters in Python integers: each span counts from the end of the spans before it."""
    total, last = 0, ("", 0)
    for document, start, end in sorted(spans):
        start = max(start, last[1]) if document == last[0] else start
        total += max(end - start, 0)
        last = (document, max(end, start))
    return total


@given(gold=st.lists(spans_within(BOUND), max_size=5), found=st.lists(spans_within(BOUND), max_size=5))
def test_positions_of_any_size_are_counted_exactly(gold: list[Span], found: list[Span]) -> None:
    characters = read_spans([gold], [found]).spans.characters()
    golds, retrieved, either = merged(gold), merged(found), merged(gold + found)
    exact = golds, retrieved, golds + retrieved - either
    assert tuple(float(number[0]) for number in characters) == tuple(map(float, exact))


def test_a_few_characters_at_the_largest_positions_are_not_lost_to_rounding() -> None:
    gold = [("a", BOUND - 4, BOUND), ("b", 2**53, 2**53 + 3)]
    assert value("SpanRecall", gold, [("a", BOUND - 3, BOUND), ("b", 2**53 + 1, 2**53 + 2)]) == 4 / 7


def test_many_documents_of_the_largest_size_do_not_overflow() -> None:
    gold = [(f"d{at}", 0, BOUND) for at in range(10)]
    assert value("SpanRecall", gold, gold[:5]) == 0.5
    assert value("SpanIoU", gold, gold) == 1.0


def test_span_measures_equal_values_computed_by_hand() -> None:
    gold, found = [("a", 10, 20), ("b", 0, 10)], [("a", 15, 30), ("c", 0, 10), ("b", 5, 10)]
    assert value("SpanRecall", gold, found) == 10 / 20
    assert value("SpanPrecision", gold, found) == 10 / 30
    assert value("SpanIoU", gold, found) == 10 / 40


def test_the_cutoff_counts_retrieved_spans_of_all_documents() -> None:
    gold, found = [("a", 0, 10)], [("b", 0, 10), ("a", 0, 5), ("a", 5, 10)]
    assert [value(f"SpanRecall@{k}", gold, found) for k in (1, 2, 3, 100)] == [0.0, 0.5, 1.0, 1.0]
    assert [value(f"SpanPrecision@{k}", gold, found) for k in (1, 2, 3)] == [0.0, 5 / 15, 10 / 20]
    assert [value(f"SpanIoU@{k}", gold, found) for k in (1, 2, 3)] == [0.0, 5 / 20, 10 / 20]


def test_characters_in_overlapping_chunks_count_once() -> None:
    gold, found = [("a", 0, 20)], [("a", 0, 10), ("a", 5, 15), ("a", 2, 8)]
    assert value("SpanRecall", gold, found) == 15 / 20
    assert value("SpanPrecision", gold, found) == 1.0
    assert value("SpanIoU", gold, found) == 15 / 20


def test_characters_in_overlapping_gold_spans_count_once() -> None:
    assert value("SpanRecall", [("a", 0, 10), ("a", 5, 15)], [("a", 5, 10)]) == 5 / 15


@each_measure
def test_a_repeated_span_does_not_change_the_score(measure: Any) -> None:
    gold, found = [("a", 0, 10)], [("a", 5, 20)]
    assert value(str(measure), gold * 2, found * 3) == value(str(measure), gold, found)


@each_measure
def test_equal_positions_in_different_documents_are_different_characters(measure: Any) -> None:
    assert value(str(measure), [("a", 0, 10)], [("b", 0, 10)]) == 0.0


@each_measure
def test_adjacent_spans_share_no_characters(measure: Any) -> None:
    assert value(str(measure), [("a", 0, 10)], [("a", 10, 20)]) == 0.0


@each_measure
def test_an_empty_span_has_no_characters(measure: Any) -> None:
    assert value(str(measure), [("a", 5, 5)], [("a", 5, 5)]) == 0.0
    assert value(str(measure), [("a", 0, 10), ("b", 3, 3)], [("a", 0, 10), ("a", 5, 5)]) == 1.0


def test_an_empty_span_occupies_a_rank() -> None:
    assert value("SpanRecall@1", [("a", 0, 10)], [("a", 5, 5), ("a", 0, 10)]) == 0.0


@each_measure
@pytest.mark.parametrize(("gold", "found"), [([], []), ([("a", 0, 1)], []), ([], [("a", 0, 1)])])
def test_without_gold_or_retrieved_characters_the_value_is_zero(measure: Any, gold: Any, found: Any) -> None:
    assert value(str(measure), gold, found) == 0.0
    assert value(f"{measure}@3", gold, found) == 0.0


def test_a_query_that_is_missing_in_the_run_scores_zero() -> None:
    truth = {"q1": [("a", 0, 1)], "q2": [("a", 0, 1)]}
    assert values("SpanIoU", truth, {"q2": [("a", 0, 1)]}) == [0.0, 1.0]


def test_no_queries_give_no_values() -> None:
    nothing = np.array([], np.int64)
    assert SpanIoU.compute(Spans((), *[nothing] * 9)).tolist() == []


def test_the_arrays_are_read_only() -> None:
    spans = read_spans([[("a", 0, 1)]], [[]]).spans
    with pytest.raises(ValueError, match="read-only"):
        spans.gold_end[0] = 5


def test_a_measure_given_the_wrong_kind_of_data_raises_an_error_that_names_the_right_one() -> None:
    with pytest.raises(KaratError, match=r"^SpanRecall reads spans \(document, start, end\)"):
        SpanRecall.compute(judged_of([]))
    with pytest.raises(KaratError, match=r"^R reads judged documents"):
        R.compute(read_spans([[]], [[]]).spans)


def test_span_measures_are_registered_with_their_kind_of_data() -> None:
    assert [each.name for each in definitions() if each.takes == "spans"] == ["SpanRecall", "SpanPrecision", "SpanIoU"]
    assert str(SpanIoU @ 5) == "SpanIoU@5" == str(parse("SpanIoU(k=5)"))


def test_the_command_line_explains_span_measures_and_their_kind_of_data() -> None:
    from karat.cli import program

    explained = CliRunner().invoke(program, ["measures", "SpanRecall"]).output
    for word in ("SpanRecall[@k]", "|G ∩ C| / |G|", "input", "(document, start, end)", ">>>"):
        assert word in explained
    assert "input  " not in CliRunner().invoke(program, ["measures", "R"]).output


# Reading spans.


class Named(NamedTuple):
    end: int
    start: int
    doc_id: str


@dataclass
class Plain:
    doc: str
    start_index: int
    end_index: int


def node(**fields: Any) -> TextNode:
    source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id="d")}
    return TextNode(text="12345", relationships=source, **fields)


FORMS: dict[str, Any] = {
    "a tuple": ("d", 3, 8),
    "a list": ["d", 3, 8],
    "numpy's integers": ("d", np.int64(3), np.uint8(8)),
    "a mapping": {"document": "d", "start": 3, "end": 8},
    "another mapping": OrderedDict(doc="d", start_index=3, end_index=8),
    "LangChain's dictionary": {"page_content": "12345", "metadata": {"source": "d", "start_index": 3}},
    "Haystack's dictionary": {"content": "12345", "meta": {"source_id": "d", "split_idx_start": 3}},
    "Haystack's flat dictionary": HaystackDocument(
        content="12345", meta={"source_id": "d", "split_idx_start": 3}
    ).to_dict(),
    "a dictionary with LlamaIndex's names": {"ref_doc_id": "d", "start_char_idx": 3, "end_char_idx": 8},
    "an object": SimpleNamespace(document="d", start=3, end=8),
    "an object with metadata": SimpleNamespace(metadata={"doc_id": "d", "start": 3, "end": 8}),
    "a dataclass": Plain("d", 3, 8),
    "a named tuple in another order": Named(8, 3, "d"),
    "a row of pandas": next(pd.DataFrame({"doc": ["d"], "start": [3], "end": [8]}).itertuples()),
    "LangChain's Document": LangChainDocument(page_content="12345", metadata={"source": "d", "start_index": 3}),
    "LangChain's Document with an end": LangChainDocument(
        page_content="a summary", id="x", metadata={"doc_id": "d", "start_index": 3, "end_index": 8}
    ),
    "Haystack's Document": HaystackDocument(content="12345", meta={"source_id": "d", "split_idx_start": 3}),
    "karat's Document": Document("12345", meta={"source": "d", "start": 3}),
    "LlamaIndex's TextNode": node(start_char_idx=3, end_char_idx=8),
    "LlamaIndex's TextNode without an end": node(start_char_idx=3),
    "LlamaIndex's TextNode with another source": node(start_char_idx=3, metadata={"source": "web", "doc_id": "x"}),
    "LlamaIndex's TextNode with metadata only": TextNode(text="", metadata={"source": "d", "start": 3, "end": 8}),
    "LlamaIndex's NodeWithScore": NodeWithScore(node=node(start_char_idx=3, end_char_idx=8), score=0.5),
}


@pytest.mark.parametrize("span", FORMS.values(), ids=FORMS)
def test_a_span_is_read_from_tuples_mappings_and_objects(span: object) -> None:
    assert one(span) == ("d", 3, 8)
    assert value("SpanIoU", [span], [("d", 3, 8)]) == 1.0


@pytest.mark.parametrize("document", ["document", "doc", "doc_id", "source_id", "ref_doc_id", "source"])
@pytest.mark.parametrize("start", ["start", "start_index", "start_char_idx", "split_idx_start"])
@pytest.mark.parametrize("end", ["end", "end_index", "end_char_idx"])
def test_the_parts_of_a_span_may_have_several_names(document: str, start: str, end: str) -> None:
    parts = {document: "d", start: 3, end: 8}
    for span in (parts, {"meta": parts}, {"metadata": parts}, SimpleNamespace(**parts), SimpleNamespace(meta=parts)):
        assert one(span) == ("d", 3, 8)


@pytest.mark.parametrize("content", ["content", "page_content", "text"])
def test_a_chunk_without_an_end_is_as_long_as_its_text(content: str) -> None:
    assert one({"doc": "d", "start": 3, content: "äöü€𝄞"}) == ("d", 3, 8)
    assert one({"doc": "d", "start": 3, content: ""}) == ("d", 3, 3)
    assert one({"doc": "d", "start": 3, "end": 4, content: "longer"}) == ("d", 3, 4)


def test_the_fields_of_a_chunk_take_precedence_over_its_metadata() -> None:
    assert one({"source": "d", "start": 3, "end": 8, "meta": {"document": "x", "start": 0, "end": 1}}) == ("d", 3, 8)


def test_a_part_that_is_none_counts_as_missing() -> None:
    assert one({"document": None, "doc": "d", "start": 0, "end": None, "end_index": 2}) == ("d", 0, 2)


@pytest.mark.parametrize("name", ["ä/ö.txt", "文書", "a b\tc", "🦊", "'\"", "x" * 10_000])
def test_the_id_of_a_document_may_be_any_text(name: str) -> None:
    assert one((name, 0, 1)) == (name, 0, 1)
    assert value("SpanIoU", [(name, 0, 1)], [(name, 0, 1), (name, 0, 1)]) == 1.0


def test_a_number_as_document_id_is_read_as_its_digits() -> None:
    assert value("SpanIoU", [(7, 0, 1), (np.int64(8), 0, 1)], [("7", 0, 1), ("8", 0, 1)]) == 1.0


# No sentence appears twice, because splitters search the text for their chunks.
TEXT = "".join(f"Gold number {at} is soft. It does not rust for {at} years. " for at in range(20))


def chunks_of_haystack() -> list[Any]:
    splitter = DocumentSplitter(split_by="word", split_length=12, split_overlap=4)
    return splitter.run([HaystackDocument(content=TEXT, id="d")])["documents"]


def chunks_of_llama_index() -> list[Any]:
    splitter = SentenceSplitter(chunk_size=60, chunk_overlap=20)
    nodes = splitter.get_nodes_from_documents([LlamaIndexDocument(text=TEXT, id_="d")])
    return [NodeWithScore(node=each, score=1.0) for each in nodes]


def chunks_of_langchain() -> list[Any]:
    # As made by langchain-text-splitters with add_start_index=True; the package is not installed here.
    starts = range(0, len(TEXT), 70)
    return [
        LangChainDocument(page_content=TEXT[start : start + 100], metadata={"source": "d", "start_index": start})
        for start in starts
    ]


@pytest.mark.parametrize("chunks", [chunks_of_haystack, chunks_of_llama_index, chunks_of_langchain])
def test_overlapping_chunks_of_a_splitter_cover_their_document_once(chunks: Callable[[], Any]) -> None:
    made = chunks()
    texts = [getattr(each, "page_content", None) or getattr(each, "text", None) or each.content for each in made]
    read = read_spans([[("d", 0, len(TEXT))]], [made])
    starts, ends = read.spans.retrieved_start.tolist(), read.spans.retrieved_end.tolist()
    assert [TEXT[start:end] for start, end in zip(starts, ends, strict=True)] == texts
    assert sum(map(len, texts)) > len(TEXT) + 100
    # LlamaIndex drops spaces between its chunks.
    assert len(TEXT) - len(made) <= read.spans.characters().retrieved[0] <= len(TEXT)
    assert read.retrieved_documents == {"0": ["d"] * len(made)}


# Ground truth and runs.


def read_all(truth: object, run: object) -> tuple[Any, ...]:
    read: SpansWithDocuments = read_spans(truth, run)
    return read.spans.queries, read.gold_documents, read.retrieved_documents


def test_documents_are_listed_by_query_in_rank_order() -> None:
    truth = {"q1": [("b", 0, 1), ("a", 0, 1), ("b", 2, 3)], "q2": []}
    run = {"q2": [("x", 0, 1)], "q1": [("y", 0, 1), ("a", 0, 1), ("y", 5, 6)]}
    assert read_all(truth, run) == (
        ("q1", "q2"),
        {"q1": ["b", "a", "b"], "q2": []},
        {"q1": ["y", "a", "y"], "q2": ["x"]},
    )


def test_queries_are_those_of_the_ground_truth_in_its_order() -> None:
    truth, run = {"q2": [("a", 0, 1)], "q1": []}, {"q3": [("z", 0, 1)], "q2": []}
    read = read_spans(truth, run)
    assert read.spans.queries == ("q2", "q1")
    assert read.retrieved_documents == {"q3": ["z"], "q2": []}
    assert len(read.spans.retrieved_query) == 0


def test_ranks_count_from_one_within_each_query() -> None:
    spans = read_spans([[], [], []], [[("a", 0, 1)] * 2, [], [("b", 0, 1)] * 3]).spans
    assert spans.retrieved_query.tolist() == [0, 0, 2, 2, 2]
    assert spans.retrieved_rank.tolist() == [1, 2, 1, 2, 3]


def test_lists_are_matched_with_queries_by_position() -> None:
    gold, found = [[("a", 0, 1)], [("b", 0, 1)]], [[], [("b", 0, 1)]]
    assert read_all(gold, found) == (("0", "1"), {"0": ["a"], "1": ["b"]}, {"0": [], "1": ["b"]})
    assert read_all(tuple(gold), {"1": found[1]}) == (("0", "1"), {"0": ["a"], "1": ["b"]}, {"1": ["b"]})
    assert read_all({"x": gold[0], "y": gold[1]}, found)[2] == {"x": [], "y": ["b"]}


def test_numbers_as_query_ids_are_read_as_their_digits() -> None:
    assert read_all({1: []}, {"1": [("a", 0, 1)]})[2] == {"1": ["a"]}


def test_spans_may_be_in_any_iterable() -> None:
    def generated() -> Iterator[Span]:
        yield from [("a", 0, 1), ("b", 0, 1)]

    assert read_all([generated()], [(("a", 0, 1), ["b", 0, 1])])[1:] == ({"0": ["a", "b"]}, {"0": ["a", "b"]})


def test_gold_spans_may_be_a_set_but_retrieved_spans_may_not() -> None:
    golds = {("b", 0, 1), ("a", 0, 1)}
    assert read_all([golds], [[]])[1] == {"0": ["a", "b"]}
    assert "a set has no order" in str(error_of([[]], [golds]))


# Invalid spans.

INVALID_POSITIONS: dict[str, Any] = {
    "a fraction": 1.5,
    "a float": 1.0,
    "NaN": float("nan"),
    "infinity": float("inf"),
    "a bool": True,
    "numpy's bool": np.True_,
    "None": None,
    "text": "1",
    "bytes": b"1",
    "a list": [1],
    "an array": np.array([1]),
    "a complex number": 1j,
    "a method": "x".upper,
    "negative": -1,
    "very negative": -(2**70),
    "beyond 2**62": 2**62 + 1,
    "huge": 10**5000,
}


@pytest.mark.parametrize("position", INVALID_POSITIONS.values(), ids=INVALID_POSITIONS)
@pytest.mark.parametrize("part", ["start", "end"])
def test_an_invalid_position_is_an_error_that_names_its_place(position: object, part: str) -> None:
    span = ("d", position, BOUND) if part == "start" else ("d", 0, position)
    error = error_of({"q1": [("a", 0, 1)]}, {"q1": [("a", 0, 1), ("a", 0, 1), span]})
    assert str(error.place) == "the run, query q1, rank 3"
    assert f"the {part} of a span" in error.what
    assert error.hint
    named = dict(zip(("document", "start", "end"), span, strict=True))
    assert str(error_of({"q1": [("a", 0, 1), named]}, {}).place) == "the ground truth, query q1, span 2"


def test_a_start_of_minus_one_is_an_error_that_mentions_langchain() -> None:
    chunk = LangChainDocument(page_content="lost", metadata={"source": "d", "start_index": -1})
    assert "LangChain uses -1" in str(error_of([[]], [[chunk]]))


def test_an_end_before_its_start_is_an_error() -> None:
    error = error_of([[]], [[("d", 8, 3)]])
    assert error.what == "a span ends at 3, before its start at 8"
    assert str(error.place) == "the run, query 0, rank 1"


INVALID_DOCUMENTS: dict[str, Any] = {
    "None": None, "a float": 1.0, "a bool": True, "bytes": b"d", "a list": ["d"], "a document": Document("d"),
    "empty": "", "a lone surrogate": "\ud800", "huge": 10**5000,
}  # fmt: skip


@pytest.mark.parametrize("document", INVALID_DOCUMENTS.values(), ids=INVALID_DOCUMENTS)
def test_a_document_without_a_valid_id_is_an_error_that_names_its_place(document: object) -> None:
    assert str(error_of([[]], [[(document, 0, 1)]]).place) == "the run, query 0, rank 1"
    assert str(error_of([[{"doc": document, "start": 0, "end": 1}]], [[]]).place) == "the ground truth, query 0, span 1"


INVALID_SPANS: dict[str, Any] = {
    "None": None, "text": "d", "a number": 5, "an empty tuple": (), "a pair": ("d", 3), "four": ("d", 1, 2, 3),
    "a document with its score": (Document("d"), 0.5), "an empty mapping": {}, "an object": object(),
    "no document": {"start": 3, "end": 8}, "no start": {"doc": "d", "end": 8}, "no end": {"doc": "d", "start": 3},
    "a content that is not text": {"doc": "d", "start": 3, "content": None},
    "a chunk without a start": LangChainDocument(page_content="text", metadata={"source": "d"}),
    "a node without a document": TextNode(text="text", start_char_idx=3, end_char_idx=7),
    "metadata that is text": {"meta": "d"}, "a range": range(3, 8), "a slice": slice(3, 8),
}  # fmt: skip


@pytest.mark.parametrize("span", INVALID_SPANS.values(), ids=INVALID_SPANS)
def test_a_value_that_is_not_a_span_is_an_error_that_shows_the_accepted_forms(span: object) -> None:
    error = error_of({"q": []}, {"q": [("a", 0, 1), span]})
    assert str(error.place) == "the run, query q, rank 2"
    assert "is not a span" in error.what
    assert "(document, start, end)" in (error.hint or "")


@pytest.mark.parametrize("part", ["document", "start", "end"])
def test_the_error_names_the_missing_part_of_a_span(part: str) -> None:
    span = {"document": "d", "start": 3, "end": 8}
    del span[part]
    assert f"it has no {part}" in str(error_of([[]], [[span]]))


@pytest.mark.parametrize("listed", ["a", b"a", 5, None, {"a": 1}, {"document": "a", "start": 0, "end": 1}])
def test_a_value_that_is_not_a_list_of_spans_is_an_error(listed: object) -> None:
    assert str(error_of({"q": listed}, {}).place) == "the ground truth, query q"
    assert "not a list of spans" in str(error_of({"q": []}, {"q": listed}))
    assert "not a list of spans" in str(error_of([[], []], [[], listed]))


def test_a_span_that_is_not_in_a_list_is_an_error() -> None:
    assert str(error_of({"q": ("a", 0, 1)}, {}).place) == "the ground truth, query q, span 1"


FRAME = {"query": ["q"], "document": ["d"], "start": [0], "end": [1]}


@pytest.mark.parametrize(
    "source", ["spans.json", b"spans", Path("spans.json"), pd.DataFrame(FRAME), pl.DataFrame(FRAME), None, 5, object(),
               iter([]), np.array([1])]
)  # fmt: skip
def test_spans_must_be_in_mappings_or_lists(source: object) -> None:
    for error, name in ((error_of(source, {}), "the ground truth"), (error_of({"q": []}, source), "the run")):
        assert str(error.place) == name
        assert "Spans are given as mappings or lists" in str(error)


def test_lists_of_different_lengths_are_an_error_with_both_lengths() -> None:
    assert "the ground truth has 2 queries and the run has 3 lists" in str(error_of([[], []], [[], [], []]))
    assert "the ground truth has 1 query and the run has 0 lists" in str(error_of({"q": []}, []))


@pytest.mark.parametrize("truth", [{}, [], ()])
def test_empty_ground_truth_is_an_error(truth: object) -> None:
    assert "the ground truth is empty" in str(error_of(truth, {"q": []}))


@pytest.mark.parametrize("query", [None, 1.5, True, ("q",), "\ud800"])
def test_a_query_without_a_valid_id_is_an_error(query: object) -> None:
    assert str(error_of({query: []}, {}).place) == "the ground truth"
    assert str(error_of({"q": []}, {query: []}).place) == "the run"


def test_a_query_given_as_text_and_as_a_number_is_an_error() -> None:
    assert "query 1 appears twice" in str(error_of({1: [], "1": []}, {}))


def test_spans_of_a_query_without_ground_truth_are_checked_too() -> None:
    assert str(error_of({"q": []}, {"other": [("a", 5, 1)]}).place) == "the run, query other, rank 1"


def test_errors_use_the_given_names_of_ground_truth_and_run() -> None:
    with pytest.raises(KaratError, match=r"^gold, query q, span 1"):
        read_spans({"q": [5]}, {}, ("gold", "bm25"))
    with pytest.raises(KaratError, match=r"^bm25, query q, rank 1"):
        read_spans({"q": []}, {"q": [5]}, ("gold", "bm25"))
    with pytest.raises(KaratError, match=r"the ground truth has 1 query and bm25 has 2 lists"):
        read_spans([[]], [[], []], ("gold", "bm25"))


def test_spans_may_be_given_as_iterators() -> None:
    span = ("a", 0, 10)
    once = {"q": iter([span])}
    both = evaluate_runs(once, {"one": {"q": [span]}, "other": {"q": iter([span])}}, ["SpanRecall", "R"])
    assert [dict(scores) for scores in both.values()] == [{"SpanRecall": 1.0, "R": 1.0}] * 2


def test_spans_of_documents_with_the_id_of_their_query_can_be_left_out() -> None:
    run = {"q": [("q", 0, 10), ("a", 0, 10)]}
    scores = evaluate({"q": [("a", 0, 10)]}, run, ["SpanPrecision", "SpanRecall@1", "P@1"], ignore_identical_ids=True)
    assert dict(scores) == {"SpanPrecision": 1.0, "SpanRecall@1": 1.0, "P@1": 1.0}
    assert "identical-ids" in {finding.code for finding in scores.findings}


def test_spans_in_results_are_lists_of_three_elements() -> None:
    record = {"query": "q", "truth": [["a", 0, 10]], "retrieved": [["a", 5, 15]]}
    assert evaluate_results([record], "SpanRecall")["SpanRecall"] == 0.5


def test_missing_queries_can_be_skipped_for_spans() -> None:
    truth = {"q": [("a", 0, 10)], "r": [("a", 0, 10)]}
    scores = evaluate(truth, {"r": [("a", 0, 5)]}, ["SpanRecall", "R"], missing="skip")
    assert scores.per_query == {"r": {"SpanRecall": 0.5, "R": 1.0}}


@pytest.mark.parametrize("columns", [None, {"query": "query", "doc": "documents"}])
def test_spans_in_the_lists_of_a_data_frame_are_those_of_a_mapping(columns: dict[str, str] | None) -> None:
    truth = {"q": [{"document": "a", "start": 0, "end": 10, "content": "x"}], "r": []}
    run = {"q": [{"document": "a", "start": 5, "content": "y"}], "s": [{"document": "b", "start": 0, "content": "z"}]}
    golds, found = (pa.table({"query": list(each), "documents": list(each.values())}) for each in (truth, run))
    for match in ("id", "content"):
        expected = evaluate(truth, run, ["SpanRecall", "R"], match=match)
        scores = evaluate(golds, found, ["SpanRecall", "R"], match=match, truth_columns=columns, run_columns=columns)
        assert (scores.per_query, scores.findings) == (expected.per_query, expected.findings)


def test_a_note_says_which_columns_of_spans_were_read() -> None:
    frame = pa.table({"qid": ["q"], "documents": [[{"document": "a", "start": 0, "end": 10}]]})
    [finding] = evaluate(frame, {"q": []}, ["SpanRecall"]).findings[:1]
    assert finding.code == "reading"
    assert "'qid'" in finding.message
