"""Ground truth and runs in JSON files and JSON lines, in every shape, give the scores of the mapping they mean."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat import KaratError, evaluate
from karat.reading.pairs import json_files, tables
from karat.reading.pairs.any_source import read_run, read_truth
from tests.block_size import block_size

Write = Callable[..., str]

TRUTH = {"q1": {"d1": 2.0, "d2": 0.0, "d4": 1.0}, "q2": {"d3": 1.0}}
RUN = {"q1": {"d2": 3.5, "d1": 2.0, "d9": 1.0}, "q2": {"d3": 0.5, "d8": 0.25}}
PAIRS = [(query, doc, number) for query, docs in RUN.items() for doc, number in docs.items()]
MEASURES = ["nDCG@10", "AP", "R@2", "Judged@3"]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(content: object, name: str = "file.json") -> str:
        if isinstance(content, list) and name.endswith("jsonl"):
            content = lines(*content)
        data = content if isinstance(content, str | bytes) else json.dumps(content)
        (tmp_path / name).write_bytes(data if isinstance(data, bytes) else data.encode())
        return str(tmp_path / name)

    return write


def lines(*objects: object) -> str:
    return "".join(f"{json.dumps(each)}\n" for each in objects)


def error_of(read: Callable[..., Any], *arguments: Any, **options: Any) -> KaratError:
    with pytest.raises(KaratError) as raised:
        read(*arguments, **options)
    return raised.value


def truth_of(path: str, **options: Any) -> Mapping[str, Mapping[str, float]]:
    truth = read_truth(path, **options)
    return {
        query: {truth.docs[gold]: float(truth.grades[gold]) for gold in truth.golds(at)}
        for at, query in enumerate(truth.queries)
    }


RUNS = {
    "a mapping of mappings": ("json", RUN),
    "a mapping over lines": ("json", json.dumps(RUN, indent=2)),
    "a mapping of lists": ("json", {query: list(docs) for query, docs in RUN.items()}),
    "a list of pairs": ("json", [{"query_id": q, "doc_id": d, "score": s} for q, d, s in PAIRS]),
    "a list of queries": ("json", [{"query": q, "retrieved": list(docs)} for q, docs in RUN.items()]),
    "lines of pairs": ("jsonl", [{"qid": q, "docno": d, "score": s, "rank": 1} for q, d, s in PAIRS]),
    "lines of pairs with ranks": (
        "jsonl",
        [{"qid": q, "docno": d, "rank": at + 1} for q, docs in RUN.items() for at, d in enumerate(docs)][::-1],
    ),
    "lines of pairs, not grouped": (
        "jsonl",
        [{"query": q, "pid": d, "score": s} for q, d, s in PAIRS[::2] + PAIRS[1::2]],
    ),
    "lines of pairs with numbers as texts": ("jsonl", [{"query": q, "doc": d, "score": str(s)} for q, d, s in PAIRS]),
    "lines of queries": ("jsonl", [{"query": q, "documents": list(docs)} for q, docs in RUN.items()]),
    "lines of queries with scores by id": ("jsonl", [{"id": q, "results": docs} for q, docs in RUN.items()]),
    "lines of objects, ranked by their order": (
        "jsonl",
        [{"query": q, "docs": [{"id": d, "score": -s} for d, s in docs.items()]} for q, docs in RUN.items()],
    ),
    "lines of hits": (
        "jsonl",
        [{"query": q, "hits": {"hits": [{"_id": d, "_score": s} for d, s in docs.items()]}} for q, docs in RUN.items()],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_a_run_of_any_shape_has_the_scores_of_its_mapping(name: str, write: Write) -> None:
    kind, content = RUNS[name]
    path = write(content, f"run.{kind}")
    assert evaluate(TRUTH, path, MEASURES).per_query == evaluate(TRUTH, RUN, MEASURES).per_query
    truth = write(TRUTH, "truth.json")
    assert evaluate(truth, path, MEASURES).per_query == evaluate(TRUTH, RUN, MEASURES).per_query


def test_a_single_record_is_a_run_of_one_query(write: Write) -> None:
    expected = evaluate(TRUTH, {"q1": ["d2", "d1"]}, MEASURES).per_query
    for name in ("run.json", "run.jsonl"):
        path = write('{"query": "q1", "documents": ["d2", "d1"]}', name)
        assert evaluate(TRUTH, path, MEASURES).per_query == expected


TRUTHS = {
    "a mapping": ("json", TRUTH),
    "lines of pairs": ("jsonl", [
        {"query-id": q, "corpus-id": d, "score": grade} for q, docs in TRUTH.items() for d, grade in docs.items()
    ]),
    "lines of queries with grades by id": ("jsonl", [{"query": q, "relevant": docs} for q, docs in TRUTH.items()]),
    "lines of graded documents": ("jsonl", [
        {"query": q, "documents": [{"docno": d, "relevance": g} for d, g in docs.items()]} for q, docs in TRUTH.items()
    ]),
}  # fmt: skip


@pytest.mark.parametrize("name", TRUTHS)
def test_ground_truth_of_any_shape_has_the_grades_of_its_mapping(name: str, write: Write) -> None:
    kind, content = TRUTHS[name]
    assert truth_of(write(content, f"truth.{kind}")) == TRUTH


def test_listed_gold_documents_have_grade_1_and_their_scores_are_for_graded_measures(write: Write) -> None:
    documents = ["d1", {"id": "d2"}]
    assert truth_of(write([{"query": 7, "truth": documents}], "truth.jsonl")) == {"7": {"d1": 1.0, "d2": 1.0}}
    scored = read_truth(write([{"query": "q", "truth": [{"id": "d1", "score": 3}]}], "truth.jsonl"))
    assert repr([scored.grades, scored.scores]) == "[array([1.]), array([3.])]"


def test_documents_with_a_content_can_be_matched_by_it(write: Write) -> None:
    truth = write([{"query": "q1", "truth": ["gold is soft and heavy"]}], "truth.jsonl")
    hit = {"_id": "d1", "_score": 2, "_source": {"text": "gold is soft"}}
    run = write([{"query": "q1", "documents": [{"id": "x", "content": "iron"}, hit]}], "run.jsonl")
    assert evaluate(truth, run, ["RR"], match="chunk").means == {"RR": 0.5}


def test_fields_with_other_names_can_be_given_and_guessed_ones_are_noted(write: Write) -> None:
    path = write([{"key": "q1", "found": ["d1"], "documents": ["d9"]}], "run.jsonl")
    scores = evaluate({"q1": ["d1"]}, path, ["RR"], run_columns={"query": "key", "doc": "found"})
    assert (scores.means, scores.findings) == ({"RR": 1.0}, ())
    guessed = evaluate({"q1": ["d1"]}, write([{"qid": "q1", "hits": ["d1"]}], "run.jsonl"), ["RR"])
    assert "query is read from the field 'qid' and doc from 'hits'" in str(guessed.findings)


RESPONSE = {
    "metric_score": 0.4,
    "details": {
        query: {"metric_score": 0.5, "unrated_docs": [], "hits": [
            {"hit": {"_index": "wiki", "_type": "_doc", "_id": doc, "_score": score}, "rating": None}
            for doc, score in docs.items()]}
        for query, docs in RUN.items()
    },
    "failures": {},
}  # fmt: skip


REQUEST = {"metric": {"precision": {}}, "requests": [
    {"id": q, "request": {"query": {}}, "ratings": [
        {"_index": "wiki", "_id": d, "rating": g} for d, g in docs.items()]}
    for q, docs in TRUTH.items()]}  # fmt: skip


def test_requests_and_responses_of_elasticsearch_are_an_error_that_says_what_they_are(write: Write) -> None:
    search = {"took": 3, "timed_out": False, "hits": {"hits": [{"_id": "d1", "_score": 1.5}]}}
    kinds: dict[str, tuple[Any, ...]] = {
        "this is a request of Elasticsearch's _rank_eval, which is not read": (REQUEST,),
        "this is a response of Elasticsearch's _rank_eval, which is not read": (RESPONSE, {"rank_eval": RESPONSE}),
        "the response to a search does not name its query": (search, {"responses": [search]}),
    }
    for what, values in kinds.items():
        for value in (*values, *map(write, values)):
            for error in (error_of(evaluate, value, RUN), error_of(evaluate, TRUTH, value)):
                assert (error.what, str(error.hint)[:6]) == (what, "Write ")


@pytest.mark.parametrize("queries", [{"rank_eval": ["d1"]}, {"rank_eval": {"details": 1}}, {"rank_eval": {}}])
def test_a_query_may_be_named_rank_eval(queries: Any) -> None:
    assert evaluate(queries, {"rank_eval": ["d1"]}, "NumRet")["NumRet"] == 1


def test_queries_named_like_the_fields_of_elasticsearch_are_queries(write: Write) -> None:
    run = {"requests": ["d1"], "details": ["d2"], "hits": ["d1"], "took": ["d1"], "responses": ["d3"]}
    scores = evaluate({query: ["d1"] for query in run}, write(run), ["RR"])
    assert scores["RR"] == pytest.approx(3 / 5)


@pytest.mark.parametrize("content", ["", " \n"])
def test_an_empty_file_is_not_called_invalid_json(content: str, write: Write) -> None:
    assert error_of(evaluate, {"q1": ["d1"]}, write(content, "run.json")).what == "the run is empty"
    assert error_of(evaluate, write(content, "truth.json"), {"q1": ["d1"]}).what == "the ground truth is empty"


@pytest.mark.parametrize(
    "content",
    [
        '{"q1": {"d1": 1e999, "d2": 1e998}}',
        '[{"query": "q1", "doc": "d1", "score": 1e999}]',
        '{"query": "q1", "documents": {"d1": -1e999}}',
    ],
)
def test_scores_beyond_doubles_are_an_error_and_not_a_tie(content: str, write: Write) -> None:
    assert "inf is not a finite number" in error_of(evaluate, {"q1": ["d1"]}, write(content, "run.json")).what


@pytest.mark.parametrize("size", [4, 50, 100, 1000])
@pytest.mark.parametrize("name", ["lines of pairs", "lines of pairs, not grouped", "lines of queries"])
def test_blocks_of_any_size_give_the_same_scores(name: str, size: int, write: Write) -> None:
    path = write("\ufeff\n" + lines(*RUNS[name][1]) + "\n \n", "run.jsonl")
    with block_size(size):
        assert evaluate(TRUTH, path, MEASURES).per_query == evaluate(TRUTH, RUN, MEASURES).per_query


DOCS = st.dictionaries(st.text(min_size=1, max_size=3), st.floats(allow_nan=False, allow_infinity=False), min_size=1)


@settings(max_examples=30)
@given(st.dictionaries(st.text(min_size=1, max_size=3), DOCS, min_size=1, max_size=4))
def test_any_mapping_is_read_from_json_and_lines_as_it_was_written(truth: dict[str, dict[str, float]]) -> None:
    import io

    def opened(text: str) -> io.BytesIO:
        return io.BytesIO(text.encode())

    pairs = [{"query": q, "doc": d, "grade": g} for q, docs in truth.items() for d, g in docs.items()]
    assert truth_of(opened(json.dumps(truth)), format="json") == truth  # type: ignore[arg-type]
    assert truth_of(opened(json.dumps(pairs)), format="json") == truth  # type: ignore[arg-type]
    assert truth_of(opened(lines(*pairs)), format="jsonl") == truth  # type: ignore[arg-type]


PAIR = {"query": "q1", "doc": "d1", "score": 1.5}
LISTED = {"query": "q1", "documents": ["d1"]}
BAD = {
    "a number": ("json", 3, "this file contains 3", ""),
    "an empty list": ("json", [], "the run is empty", ""),
    "no lines": ("jsonl", " \n", "the run is empty", ""),
    "a number of a query": ("json", {"q1": 3}, "3 is not a list or an object of documents", ", 'q1'"),
    "mixed values": ("json", {"q1": ["d1"], "q2": 3}, "3 is not a list or an object of documents", ", 'q2'"),
    "lists of lists": ("json", [["q1", "d1", 1]], "['q1', 'd1', 1] is not an object", ", object 1"),
    "several runs": ("json", {"bm25": RUN}, "score {'d2': 3.5, 'd1': 2.0, 'd9': 1.0} is not a number", ", query bm25"),
    "a text as score": ("json", {"q1": {"d1": "high"}}, "score 'high' is not a number", ", query q1, document d1"),
    "a number beyond doubles": ("json", '{"q1": {"d1": 1' + "0" * 400 + "}}", "is too large", ", query q1"),
    "a repeated query": ("json", '{"q1": {"d1": 1}, "q1": {}}', "the key 'q1' appears twice in one object", ""),
    "a repeated document": ("json", '{"q1": {"d1": 1, "d1": 1}}', "the key 'd1' appears twice in one object", ""),
    "a repeated field": ("jsonl", lines(PAIR) + '{"query": "q", "x": {"a": 1, "a": 2}}', "'a' appears twice", ":2"),
    "a search": ("json", {"took": 3, "hits": {"hits": []}}, "the response to a search does not name its query", ""),
    "several searches": ("json", {"responses": [{"hits": {}}]}, "does not name its query", ""),
    "no field of a document": ("jsonl", [{"query": "q1", "score": 1}], "no field 'doc'; the fields are", ":1"),
    "a pair among lists": ("jsonl", [LISTED, PAIR], "this object has a single document, but the first", ":2"),
    "a list among pairs": ("jsonl", [PAIR, LISTED], "this object has the documents of a query, but the first", ":2"),
    "a field that is missing": ("jsonl", [PAIR, {"query": "q1", "doc": "d2"}], "the score is missing", ":2"),
    "a score that is null": ("jsonl", [PAIR, {**PAIR, "score": None}], "the score is missing", ":2"),
    "a score that is text": ("jsonl", [PAIR, {**PAIR, "score": "high"}], "score 'high' is not a number", ":2"),
    "an id that is a fraction": ("jsonl", [PAIR, {**PAIR, "doc": 1.5}], "1.5 is not an id", ":2"),
    "an empty id": ("jsonl", [PAIR, {**PAIR, "doc": ""}], "the id of the document is empty", ":2"),
    "a line that is not JSON": ("jsonl", lines(PAIR) + "{'query'}\n", "not JSON", ":2"),
    "a line cut short": ("jsonl", lines(PAIR) + '{"query": "q', "not JSON: Unterminated string", ":2"),
    "a list as line": ("jsonl", lines(PAIR, [1]), "[1] is not an object", ":2"),
    "a pair twice": ("jsonl", [PAIR, LISTED | {"documents": None} | PAIR], "document d1 is listed twice", ":1 and "),
    "a query twice": ("jsonl", [LISTED, {**LISTED, "query": "q2"}, LISTED], "query 'q1' was already in", ":3"),
    "no query": ("jsonl", [LISTED, {"documents": []}], "the field 'query' is missing", ":2"),
    "documents that are null": ("jsonl", [LISTED, {"query": "q2", "documents": None}], "'documents' is None", ":2"),
    "documents that are a number": ("jsonl", [LISTED, {"query": "q2", "documents": 3}], "'documents' is 3", ":2"),
    "a document without id": ("jsonl", [{"query": "q", "documents": [{"title": "t"}]}], "neither an id nor a", ":1"),
}  # fmt: skip


@pytest.mark.parametrize("small", [5_000, 0])
@pytest.mark.parametrize("name", BAD)
def test_a_bad_run_is_one_error_with_its_place_and_a_hint(
    name: str, small: int, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_files, "_FEW_OBJECTS", small)
    monkeypatch.setattr(tables, "SMALL_FILE", small)
    kind, content, what, place = BAD[name]
    path = write(content, f"run.{kind}")
    error = error_of(evaluate, TRUTH, path, MEASURES)
    assert what in error.what
    assert (str(error.place) or "").startswith(path + place)
    assert error.hint or "id" in name


@pytest.mark.parametrize(
    ("documents", "what"),
    [
        ([{"id": "d1", "grade": 1}, {"id": "d2"}], "1 of 2 gold documents have no grade"),
        ([{"id": "d1", "grade": 1}, {"id": "d1", "grade": 2}], "document d1 is judged twice"),
        ([{"id": "d1", "grade": "x"}], "grade 'x' is not a number"),
    ],
)
def test_bad_grades_are_one_error_with_their_place(documents: list[Any], what: str, write: Write) -> None:
    path = write([{"query": "q1", "documents": documents}], "truth.jsonl")
    error = error_of(read_truth, path)
    assert (error.what, (str(error.place) or "").startswith(path)) == (what, True)


def test_names_of_columns_do_not_fit_a_mapping(write: Write) -> None:
    error = error_of(read_run, write(RUN), read_truth(TRUTH), columns={"doc": "docno"})
    assert error.what == "a mapping of queries to documents has no names of columns"


# As ranx 0.3.21 saves this ground truth and this run.
RANX = {
    "qrels.json": b'{\n  "q1": {\n    "d1": 2,\n    "d4": 1,\n    "d2": 0\n  },\n  "q2": {\n    "d3": 1\n  }\n}',
    "qrels.trec": b"q1 0 d1 2\nq1 0 d4 1\nq1 0 d2 0\nq2 0 d3 1",
    "run.json": b'{\n  "q1": {\n    "d2": 3.5,\n    "d1": 2.0,\n    "d9": 1.0\n  },\n  "q2": {\n    "d3": 0.5,\n'
    b'    "d8": 0.25\n  }\n}',
    "run.trec": b"q1 Q0 d2 1 3.5 bm25\nq1 Q0 d1 2 2.0 bm25\nq1 Q0 d9 3 1.0 bm25\nq2 Q0 d3 1 0.5 bm25\n"
    b"q2 Q0 d8 2 0.25 bm25",
    "run.lz4": b'\x04"M\x18@@\xc0L\x00\x00\x00\x82\x04"M\x18h@E\x00\x01\x00\xf00\x8d6\x00\x00\x00\xc1\xa2bq1\xa3'
    b"bd2\xfb@\x0c\x00\x01\x00dbd1\xfb@\x00\x0c\x00C9\xfb?\xf0\x0c\x00\x94q2\xa2bd3\xfb?\xe0\x1c\x00\xa08\xfb?\xd0"
    + b"\0" * 14,
}  # fmt: skip


@pytest.mark.parametrize("kind", ["json", "trec"])
def test_files_of_ranx_are_read_as_they_are(kind: str, write: Write) -> None:
    truth, run = (write(RANX[name], name) for name in (f"qrels.{kind}", f"run.{kind}"))
    assert evaluate(truth, run, MEASURES).per_query == evaluate(TRUTH, RUN, MEASURES).per_query


def test_the_lz4_files_of_ranx_are_an_error_that_says_what_to_save(write: Write) -> None:
    error = str(error_of(evaluate, TRUTH, write(RANX["run.lz4"], "run.lz4"), MEASURES))
    assert "as ranx saves runs" in error
    assert "run.json" in error


@pytest.mark.parametrize(
    "record",
    [
        {"query": "q1", "doc": ["d2", "d1"], "score": [1, 2]},
        {"query": "q1", "document": {"id": "d1"}, "score": 1},
    ],
)
def test_a_list_in_the_field_of_one_document_is_an_error_because_its_scores_would_be_lost(record: Any) -> None:
    assert "is not an id" in str(error_of(evaluate, TRUTH, [record], MEASURES))
