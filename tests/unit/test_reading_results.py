"""Results files of RAG systems give ground truth and a run, or one clear error."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import karat
from karat import KaratError
from karat.cli import demo_data as demo
from karat.errors.suggestions import SuggestedCall
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.line_ends import LONGEST_LINE
from karat.reading.records.records import FIELDS
from karat.reading.records.results import Results, read_results
from tests.platforms import PIPES, on_posix
from tests.standard_input import piped

Write = Callable[..., str]
Json = dict[str, Any]

RECORDS: list[Json] = [
    {"query": "q1", "truth": ["a", "b"], "retrieved": [{"id": "b", "content": "B", "score": 0.5}, {"id": "x"}]},
    {"query": "q2", "truth": {"c": 2, "d": 0.5}, "retrieved": {"d": 3, "c": -1.5}, "answer": "é"},
]
INCOMPRESSIBLE: list[Json] = [
    {"query": hashlib.sha256(bytes([at % 256, at // 256])).hexdigest(), "truth": ["a"], "retrieved": ["a"]}
    for at in range(2000)
]
GOOD = '{"query": "q0", "truth": ["a"], "retrieved": ["a"]}\n'


@pytest.mark.parametrize(
    "rows",
    [
        [{"query": "q1", "truth": ["a", "b"], "retrieved": ["b"]}, {"query": "q2", "truth": ["a"], "retrieved": []}],
        [
            {"query": "q1", "gold_answers": ["a", "b"], "answer": "b"},
            {"query": "q2", "gold_answers": [], "answer": "c"},
        ],
    ],
)
def test_lists_that_pandas_wrote_to_csv_as_text_are_read_as_lists(rows: list[Json], tmp_path: Path) -> None:
    path = tmp_path / "frame.csv"
    pd.DataFrame(rows).to_csv(path)
    wanted = read_results(rows)
    for source in (str(path), pd.read_csv(path).to_dict("records")):
        results = read_results(source)
        assert (results.truth, results.run) == (wanted.truth, wanted.run)
        assert (results.gold_answers, results.answers) == (wanted.gold_answers, wanted.answers)
        assert any("are read as lists" in note for note in results.notes)


def test_gold_answers_in_a_file_of_their_own_may_be_lists_written_as_text(tmp_path: Path) -> None:
    path = tmp_path / "frame.csv"
    pd.DataFrame([{"query": "q1", "gold_answers": ["a", "b"]}, {"query": "q2", "gold_answers": ["c"]}]).to_csv(path)
    assert karat.evaluate_answers(str(path), {"q1": "b", "q2": "b"}, "EM").means == {"EM": 0.5}


def test_a_text_in_brackets_is_an_answer() -> None:
    records = [{"query": "q1", "gold_answers": "[MASK]", "answer": "['a']"}]
    assert karat.evaluate_results(records, "EM").means == {"EM": 0}
    assert karat.evaluate_answers({"q1": "['a']"}, {"q1": "['a']"}, "EM").means == {"EM": 1}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A function that writes a file and returns its path."""

    def write(data: str | bytes | Iterable[Json], name: str = "results.jsonl") -> str:
        if not isinstance(data, str | bytes):
            data = lines(data)
        path = tmp_path / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return str(path)

    return write


def lines(records: Iterable[Json], ascii_only: bool = False) -> str:
    return "".join(json.dumps(record, ensure_ascii=ascii_only) + "\n" for record in records)


def both(results: Results) -> tuple[Json, Json]:
    return results.truth, results.run


def error_of(source: Any, fields: dict[str, str] | None = None) -> KaratError:
    with pytest.raises(KaratError) as caught:
        read_results(source, fields)
    return caught.value


EXPECTED = ({r["query"]: r["truth"] for r in RECORDS}, {r["query"]: r["retrieved"] for r in RECORDS})


# The same results in different formatting.

FORMATTED: dict[str, Callable[[str], str | bytes]] = {
    "as it is": lambda text: text,
    "only ASCII": lambda text: lines(map(json.loads, text.splitlines()), ascii_only=True),
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "no final newline": lambda text: text.removesuffix("\n"),
    "blank lines": lambda text: "\n \r\n\t\n" + text.replace("\n", "\n\n"),
    "blanks around": lambda text: "".join(f" \t{line} \n" for line in text.splitlines()),
    "BOM": lambda text: "\ufeff" + text,
    "BOM and a blank line": lambda text: "\ufeff\r\n" + text,
    "gzip": lambda text: gzip.compress(text.encode()),
    "gzip with a BOM": lambda text: gzip.compress(("\ufeff" + text).encode()),
    "gzip in two members": lambda text: gzip.compress(text[:30].encode()) + gzip.compress(text[30:].encode()),
}


@pytest.mark.parametrize("name", FORMATTED)
def test_differently_formatted_files_give_the_same_results(name: str, write: Write) -> None:
    path = write(FORMATTED[name](lines(RECORDS)))
    assert both(read_results(path)) == EXPECTED


def test_paths_input_files_and_lists_of_records_give_the_same_results(write: Write) -> None:
    path = write(RECORDS)
    sources: list[Any] = [path, Path(path), InputFile(path), RECORDS, tuple(RECORDS)]
    assert [both(read_results(source)) for source in sources] == [EXPECTED] * 5
    assert [read_results(source).name for source in sources] == [path] * 3 + ["the results"] * 2


def test_results_that_were_read_can_be_evaluated(write: Write) -> None:
    results = read_results(write(RECORDS))
    assert karat.evaluate(results.truth, results.run, "R@1").per_query == {"q1": {"R@1": 0.5}, "q2": {"R@1": 0.0}}


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
DOCUMENT = st.one_of(TEXTS, st.integers(), st.fixed_dictionaries({"id": TEXTS, "content": TEXTS}))
DOCUMENTS = st.one_of(
    st.lists(DOCUMENT, max_size=5), st.dictionaries(TEXTS, st.floats(allow_nan=False, allow_infinity=False))
)


@given(st.dictionaries(TEXTS, st.tuples(DOCUMENTS, DOCUMENTS), min_size=1), st.booleans(), st.booleans())
def test_results_survive_a_round_trip_through_a_file(
    tmp_path_factory: pytest.TempPathFactory, queries: dict[str, tuple[Any, Any]], packed: bool, ascii_only: bool
) -> None:
    records = [{"query": query, "truth": truth, "retrieved": run} for query, (truth, run) in queries.items()]
    data = lines(records, ascii_only).encode()
    path = tmp_path_factory.getbasetemp() / "round trip"
    path.write_bytes(gzip.compress(data) if packed else data)
    expected = {q: truth for q, (truth, _) in queries.items()}, {q: run for q, (_, run) in queries.items()}
    assert both(read_results(path)) == expected
    assert both(read_results(records)) == expected


@given(st.binary(max_size=60))
def test_any_bytes_are_read_as_results_or_raise_a_karat_error(
    tmp_path_factory: pytest.TempPathFactory, junk: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "junk"
    for data in (junk, GOOD.encode() + junk, b'{"query": ' + junk + b"}"):
        path.write_bytes(data)
        with suppress(KaratError):
            read_results(path)


# Fields.


def test_queries_are_text_or_whole_numbers() -> None:
    records = [{"query": query, "truth": ["a"], "retrieved": ["a"]} for query in ("why?", 7, "007", "")]
    assert list(read_results(records).truth) == ["why?", "7", "007", ""]


def test_a_line_with_only_truth_or_only_retrieved_is_read_into_that_part_only(write: Write) -> None:
    results = read_results(
        write(
            [
                {"query": "neither"},
                {"query": "absent", "retrieved": ["a"]},
                {"query": "null", "retrieved": ["b"], "truth": None},
                {"query": "gone", "truth": ["c"]},
                {"query": "lost", "truth": ["d"], "retrieved": None},
                {"query": "empty", "truth": [], "retrieved": []},
            ]
        )
    )
    assert results.truth == {"gone": ["c"], "lost": ["d"], "empty": []}
    assert results.run == {"absent": ["a"], "null": ["b"], "empty": []}


def test_fields_gives_other_names_and_a_dot_reads_an_inner_object(write: Write) -> None:
    path = write([{"question": 1, "gold": ["a"], "response": {"docs": {"all": ["b"]}, "x.y": ["c"]}, "x.y": ["d"]}])
    fields = {"query": "question", "truth": "gold"}
    for name, docs in {"response.docs.all": ["b"], "response.x.y": ["c"], "x.y": ["d"]}.items():
        assert both(read_results(path, {**fields, "retrieved": name})) == ({"1": ["a"]}, {"1": docs})


def test_a_key_that_contains_a_dot_takes_precedence_over_an_inner_object() -> None:
    record = {"query": "q", "truth": ["a"], "out.docs": ["literal"], "out": {"docs": ["inside"]}}
    assert read_results([record], {"retrieved": "out.docs"}).run == {"q": ["literal"]}


@pytest.mark.parametrize("path", ["truth.docs", "query.docs", "none.docs", "out.none", ".", "out.", "\ud800"])
def test_a_dotted_name_without_a_value_is_a_missing_field(path: str, write: Write) -> None:
    records = [{"query": "q", "truth": ["a"], "out": {"docs": ["b"]}}]
    for source in (records, write(records)):
        assert error_of(source, {"retrieved": path}).what.startswith(f"no field {path!r}; the fields are ")


def test_an_unknown_field_suggests_the_most_similar_one(write: Write) -> None:
    error = error_of(write(RECORDS), {"retreived": "docs"})
    assert str(error) == (
        "'retreived' is not a field of results. Did you mean retrieved? "
        "The fields are query, truth, retrieved, gold_answers, answer."
    )


@pytest.mark.parametrize("name", ["", None, 7, ["docs"]])
def test_the_name_of_a_field_must_be_text(name: Any) -> None:
    assert "is not the name of a field" in error_of(RECORDS, {"retrieved": name}).what


@pytest.mark.parametrize("role", FIELDS)
def test_every_field_can_be_renamed(role: str) -> None:
    records = [{("other" if name == role else name): value for name, value in RECORDS[0].items()}]
    fields = {role: "other"} if "other" in records[0] else {}
    assert read_results(records, fields).truth == {"q1": ["a", "b"]}


def test_a_name_that_no_line_has_is_an_error_although_the_field_is_not_needed() -> None:
    record = {"query": "q", "truth": ["a"], "retrieved": ["a"], "answer": "a", "gold_answers": ["a"]}
    assert error_of([record], {"answer": "nope"}).what.startswith("no field 'nope'; the fields are 'query', 'truth', ")
    assert error_of([record], {"gold_answers": "truth.nope"}).what.startswith("no field 'truth.nope'; ")
    assert read_results([{**record, "nope": None}], {"answer": "nope"}).answers == {}


# A field that no line has.


def test_a_field_that_no_line_has_is_an_error_with_the_option_that_renames_it(write: Write) -> None:
    path = write([{"query": "q1", "truth": ["a"], "contexts": "a"}])
    assert str(error_of(path)) == (
        f"{path}: no field 'retrieved'; the fields are 'query', 'truth', 'contexts'. "
        "If it has another name, use fields={'retrieved': 'contexts'}. karat.look(...) shows what is in it."
    )


@pytest.mark.parametrize(
    ("record", "note"),
    [
        ({"question": "q", "truth": [1], "retrieved": [1]}, "query is read from the field 'question'"),
        ({"query": "q", "truth": [1], "Retrieved": [1]}, "retrieved is read from the field 'Retrieved'"),
        (
            {"question": "q", "reference_contexts": [1], "retrieved_contexts": [1]},
            "query is read from the field 'question', truth from 'reference_contexts' and retrieved from"
            " 'retrieved_contexts'",
        ),
        (
            {"query": "q", "truth": [1], "contexts": [1], "source_nodes": [1]},
            "retrieved is read from the field 'source_nodes' rather than 'contexts'",
        ),
        ({"query": "q", "gold": {"a": 1}, "retrieved": []}, "truth is read from the field 'gold'"),
        ({"query": "q", "expected": ["a"], "retrieved": ["a"]}, "truth is read from the field 'expected'"),
        ({"query": "q", "expected": ["a"], "answer": "a"}, "gold_answers is read from the field 'expected'"),
        (
            {"query": "q", "ground_truth": "a", "answer": "a", "retrieved": ["a"]},
            "gold_answers is read from the field 'ground_truth'",
        ),
        (
            {"query": "q", "gold": [{"id": 1, "text": "a"}], "ground_truth": "a", "answer": "a", "retrieved": ["a"]},
            "truth is read from the field 'gold' and gold_answers from 'ground_truth'",
        ),
        (
            {"query": "q", "gold_docs": ["a"], "ground_truth": ["a"], "answer": "a", "retrieved": ["a"]},
            "truth is read from the field 'gold_docs' and gold_answers from 'ground_truth'",
        ),
    ],
)
def test_fields_with_usual_names_are_read_and_a_note_says_so(record: Json, note: str) -> None:
    assert read_results([record]).notes == (f"the results: {note}",)


def test_karats_own_names_need_no_note_and_other_fields_are_ignored() -> None:
    record = {"query": "q", "truth": ["a"], "retrieved": ["b"], "id": 7, "docs": ["b"], "latency": 0.5}
    results = read_results([record])
    assert (results.truth, results.run, results.notes) == ({"q": ["a"]}, {"q": ["b"]}, ())


def test_texts_that_may_be_gold_documents_or_gold_answers_are_an_error_with_both_options() -> None:
    error = error_of([{"query": "q", "ground_truth": ["a"], "retrieved": ["a"], "answer": "a"}])
    assert error.what == "no field 'truth'; the fields are 'query', 'ground_truth', 'retrieved', 'answer'"
    assert "use fields={'truth': 'ground_truth'}." in (error.hint or "")
    assert "If ground_truth contains gold answers, use fields={'gold_answers': 'ground_truth'}." in (error.hint or "")


def test_a_given_name_that_is_missing_is_an_error_although_there_is_a_usual_one() -> None:
    record = {"query": "q", "truth": ["a"], "docs": ["a"]}
    what = "no field 'found'; the fields are 'query', 'truth', 'docs'"
    assert error_of([record], {"retrieved": "found"}).what == what


def test_the_first_fault_of_a_file_is_reported(write: Write) -> None:
    path = write('{"query": 1}\n{"query": 1}\n{"query"\n')
    assert f"{path}:2: query '1' was already in" in str(error_of(path))
    assert f"{path}:2: not JSON" in str(error_of(write('{"query": 1}\n{"query"\n{"query": 1}\n')))


@pytest.mark.parametrize(
    ("record", "fields", "option"),
    [
        ({"query": "q", "truth": [], "contexts": "a b", "found": []}, {}, "retrieved=contexts"),
        ({"query": "q", "truth": [], "found": [{"text": "a b"}]}, {}, "retrieved=found"),
        ({"query": "q", "truth": [], "passages_found": []}, {}, "retrieved=passages_found"),
        ({"query": "q", "truth": [], "response": {"source_nodes": []}}, {}, "retrieved=response.source_nodes"),
        ({"query": "q", "truths": [], "retrieved": []}, {}, "truth=truths"),
        ({"query": "q", "truth": [], "my nodes": []}, {"retrieved": "my node"}, "retrieved=my nodes"),
        ({"query": "q", "truth": [], "my_nodes": [], "docs": []}, {"retrieved": "my_node"}, "retrieved=my_nodes"),
        ({"query": "q", "truth": [], "docs": []}, {"retrieved": "xyz"}, "retrieved=docs"),
    ],
)
def test_the_hint_suggests_the_most_likely_field(record: Json, fields: dict[str, str], option: str) -> None:
    error = error_of([record], fields)
    field, _, name = option.partition("=")
    assert SuggestedCall.again(fields={field: name}) in error.hint_parts


def test_a_field_for_which_nothing_fits_is_named_as_such() -> None:
    error = error_of([{"id": "q", "gold": [], "docs": []}], {"query": "id", "truth": "docs"})
    name = "If one is there, use fields={'query': 'id', 'truth': 'docs', 'retrieved': 'NAME'}."
    assert (
        error.hint
        == f"No field looks like retrieved documents (retrieved). {name} karat.look(...) shows what is in it."
    )
    error = error_of([{"query": "q", "truth": ["a"], "documents": 7}])
    assert "No field looks like retrieved documents (retrieved): documents is 7." in str(error)


def test_every_field_of_every_line_is_listed_in_order_and_long_lists_are_cut(write: Write) -> None:
    error = error_of(write([{"query": 1, "truth": []}, {"query": 2, "b": 1}, {"a": 1, "query": 3}]))
    assert error.what == "no field 'retrieved'; the fields are 'query', 'truth', 'b', 'a'"
    error = error_of([{"query": "q", "truth": [], "x" * 100: 1, **{f"f{at}": 1 for at in range(30)}}])
    assert f", '{'x' * 58}…, 'f0', " in str(error)
    assert ", 'f16' and 13 more. " in str(error)


def test_a_field_that_is_null_on_every_line_is_an_error(write: Write) -> None:
    error = error_of(write([{"query": 1, "truth": None, "retrieved": ["a"]}] * 1))
    assert error.what == "the field 'truth' is null on every line; the other fields are 'query', 'retrieved'"
    error = error_of(write([{"query": 1, "truth": None, "retrieved": None}]))
    assert error.what == "the fields 'truth' and 'retrieved' are null on every line; the other fields are 'query'"
    error = error_of(write([{"query": 1, "truth": None}]))
    assert error.what == "no field 'retrieved'; the fields are 'query', 'truth'"


def test_objects_without_any_field_are_an_error(write: Write) -> None:
    expected = "no fields 'query', 'truth' and 'retrieved'; the fields are none. No field looks like a query (query),"
    assert expected in str(error_of(write("{}\n{}\n")))


def test_a_line_without_a_query_is_an_error_with_that_line(write: Write) -> None:
    good, bad = GOOD, '{"query": null, "truth": ["a"], "retrieved": [1.5]}\n'
    for text, line in ((good + bad, 2), (bad + good, 1), ("\n" + bad + bad + good, 2), (good + bad + bad, 2)):
        path = write(text)
        assert str(error_of(path)) == f"{path}:{line}: the field 'query' is missing. Every line needs a query."


# Queries.


def test_the_same_query_on_two_lines_is_an_error_that_names_both(write: Write) -> None:
    path = write([{"query": "7", "truth": ["a"]}, {"query": "x"}, {"query": 7, "retrieved": ["a"]}])
    assert str(error_of(path)) == (
        f"{path}:3: query '7' was already in {path}:1. Keep one line per query, or use another field for the query: "
        "fields={'query': 'NAME'}."
    )


@pytest.mark.parametrize("query", [1.5, True, ["q"], {"text": "q"}])
def test_a_query_must_not_be_a_float_or_an_object(query: Any, write: Write) -> None:
    error = error_of(write(GOOD + lines([{"query": query, "truth": [], "retrieved": []}])))
    assert error.place is not None
    assert str(error.place).endswith("results.jsonl:2")


def test_a_lone_surrogate_is_an_error_in_a_query_and_allowed_in_texts(write: Write) -> None:
    path = write(lines([{"query": "q", "truth": ["\ud800"], "retrieved": ["\udfff"]}], ascii_only=True))
    assert both(read_results(path)) == ({"q": ["\ud800"]}, {"q": ["\udfff"]})
    path = write(GOOD + lines([{"query": "q\ud800", "truth": [], "retrieved": []}], ascii_only=True))
    assert str(error_of(path)).startswith(f"{path}:2: an id is not valid Unicode: surrogates not allowed.")


# Documents.


@pytest.mark.parametrize(
    ("value", "documents"),
    [
        ("a text", ["a text"]),
        ("", [""]),
        ([], []),
        ({}, {}),
        (["a", 7, {"id": "b"}], ["a", 7, {"id": "b"}]),
        ({"content": "a", "score": 1}, [{"content": "a", "score": 1}]),
        ({"a": 1, "b": -0.5}, {"a": 1, "b": -0.5}),
        ([{"page_content": "a", "metadata": {}}], [{"page_content": "a", "metadata": {}}]),
        ([{"node": {"id_": "n", "text": "a"}, "score": 0.8}], [{"id_": "n", "text": "a", "score": 0.8}]),
        ([{"node": {"id_": "n", "score": 7}, "score": None}], [{"id_": "n", "score": None}]),
        ([{"node": {"id_": "n"}}], [{"id_": "n"}]),
        ({"node": {"text": "a"}, "score": 1}, [{"text": "a", "score": 1}]),
        ([{"node": "n1", "id": "a"}], [{"node": "n1", "id": "a"}]),
        ([{"lc": 1, "id": ["Document"], "kwargs": {"page_content": "a"}}], [{"page_content": "a"}]),
    ],
)
def test_documents_may_be_given_in_several_forms(value: Any, documents: Any, write: Write) -> None:
    records = [{"query": "q", "truth": value, "retrieved": value}]
    for source in (records, write(records)):
        assert both(read_results(source)) == ({"q": documents}, {"q": documents})


def test_documents_of_other_frameworks_are_matched_by_their_text(write: Write) -> None:
    from langchain_core.documents import Document as LangChainDocument
    from langchain_core.load import dumpd
    from llama_index.core.schema import Document as LlamaDocument
    from llama_index.core.schema import NodeWithScore, TextNode

    retrieved = [
        NodeWithScore(node=TextNode(text="one"), score=0.9).to_dict(),
        NodeWithScore(node=LlamaDocument(text="two"), score=0.8).to_dict(),
        LangChainDocument(page_content="three").model_dump(),
        dumpd(LangChainDocument(page_content="four")),
        karat.Document(content="five").to_dict(),
    ]
    results = read_results(write([{"query": "q", "truth": "one two three four five".split(), "retrieved": retrieved}]))
    assert karat.evaluate(results.truth, results.run, "R", match="content")["R"] == 1


def test_records_in_memory_may_contain_objects() -> None:
    document = karat.Document(content="a")
    assert read_results([{"query": "q", "truth": [document], "retrieved": ("a", document)}]).run["q"][1] is document


@pytest.mark.parametrize("role", ["truth", "retrieved"])
@pytest.mark.parametrize("value", [7, 1.5, True, False])
def test_a_value_that_is_not_a_list_of_documents_is_an_error_with_its_place(
    role: str, value: Any, write: Write
) -> None:
    path = write(GOOD + "\n" + lines([{"query": "q", role: value}]))
    assert str(error_of(path)) == (
        f"{path}:3, {role}: {value!r} is not a list of documents. "
        "Use a list of texts, ids or documents, or {document: number}."
    )


@pytest.mark.parametrize("role", ["truth", "retrieved"])
@pytest.mark.parametrize("item", [None, 1.5, True, [], ["a"], [["a"]]])
def test_a_value_that_is_not_a_document_is_an_error_with_its_place(role: str, item: Any, write: Write) -> None:
    path = write(GOOD + lines([{"query": "q", role: ["a", {"id": "b"}, item]}]))
    assert str(error_of(path).place) == f"{path}:2, {role}[2]"
    assert (
        str(error_of([{"query": "q", "truth": ["a"], "retrieved": ["a"], role: [item]}]).place)
        == f"the results[0], {role}[0]"
    )


def test_errors_use_the_name_that_a_field_has_in_the_file(write: Write) -> None:
    path = write([{"query": "q", "truth": ["a"], "out": {"docs": [None]}}])
    assert str(error_of(path, {"retrieved": "out.docs"}).place) == f"{path}:1, out.docs[0]"


def test_true_and_false_are_not_grades(write: Write) -> None:
    path = write([{"query": "q", "truth": {"a": 1, "b": True}, "retrieved": ["a"]}])
    assert str(error_of(path)) == (
        f"{path}:1, truth: the grade or score of document 'b' is True. Grades and scores are numbers: write 1 and 0."
    )


# Bad lines. Each is a KaratError with the file, the line and a hint.

BAD_LINES: dict[str, tuple[bytes, str]] = {
    "no JSON": (b"q1 0 a 1", "not JSON: "),
    "a text": (b'"query"', "'query' is not an object"),
    "a number": (b"7", "7 is not an object"),
    "null": (b"null", "None is not an object"),
    "a list": (b'[{"query": 1}]', "is not an object"),
    "cut short": (b'{"query": "q", "truth": ["a', "not JSON: Unterminated string starting at column 26"),
    "two objects": (b"{}{}", "not JSON: Extra data at column 3"),
    "single quotes": (b"{'query': 1}", "not JSON: Expecting property name enclosed in double quotes at column 2"),
    "after blanks": (b"  {'query': 1}", "at column 4"),
    "a tab in a text": (b'{"query": "\t"}', "not JSON: Invalid control character at column 12"),
    "a BOM in the middle": (b'\xef\xbb\xbf{"query": 1}', "not JSON: Expecting value at column 1"),
    "NaN": (b'{"query": 1, "truth": {"a": NaN}}', "not JSON: NaN is not a JSON number"),
    "Infinity": (b'{"query": 1, "x": {"y": [Infinity]}}', "not JSON: Infinity is not a JSON number"),
    "-Infinity": (b'{"query": 1, "retrieved": {"a": -Infinity}}', "not JSON: -Infinity is not a JSON number"),
    "Latin-1": (b'{"query": "caf\xe9"}', r"not UTF-8: b'\xe9' at column 15"),
    "a cut UTF-8 sequence": (b'{"query": "\xf0\x9f\x98"}', "not UTF-8: "),
    "an encoded surrogate": (b'{"query": "\xed\xa0\x80"}', "not UTF-8: "),
    "a NUL byte": (b'{"query": "a\0b"}', "a NUL byte at column"),
    "UTF-16": ('{"query": 1}'.encode("utf-16-le"), "a NUL byte at column"),
    "gzip in the middle": (gzip.compress(b"{}"), ""),
    "deep lists": (b'{"query": ' + b"[" * 200_000, "objects are nested too deeply"),
    "deep objects": (b'{"query": 1, "x": ' + b'{"a":' * 200_000, "objects are nested too deeply"),
    "many digits": (b'{"query": ' + b"7" * 10_000 + b"}", "a number has thousands of digits"),
    "many digits somewhere": (b'{"query": 1, "x": [' + b"7" * 10_000 + b"]}", "a number has thousands"),
    "the query twice": (b'{"query": 1, "truth": [], "query": 2}', "the key 'query' appears twice in one object"),
    "the truth twice": (b'{"truth": ["a"], "query": 1, "truth":[]}', "the key 'truth' appears twice in one object"),
    "retrieved twice": (b'{"retrieved" :[], "query": 1, "retrieved": []}', "the key 'retrieved' appears twice"),
}


@pytest.mark.parametrize("name", BAD_LINES)
@pytest.mark.parametrize("packed", [False, True])
def test_a_bad_line_is_one_clear_error_with_its_place(name: str, packed: bool, write: Write) -> None:
    bad, what = BAD_LINES[name]
    data = GOOD.encode() + b"\r\n" + bad + b"\n" + GOOD.replace("q0", "q9").encode()
    path = write(gzip.compress(data) if packed else data)
    error = error_of(path)
    assert (str(error.place), bool(error.hint)) == (f"{path}:3", True)
    assert what in error.what
    assert len(str(error)) < 400


def test_names_of_fields_may_also_appear_in_texts_and_inside_documents(write: Write) -> None:
    document = {"id": "a", "content": '{"query": "\\"query\\"", "truth"', "meta": {"query": "query", "truth": "truth"}}
    record = {"query": "query", "truth": ["truth", document], "retrieved": [document, "retrieved"]}
    results = read_results(write([record]))
    assert both(results) == ({"query": record["truth"]}, {"query": record["retrieved"]})


def test_a_dotted_field_that_appears_twice_is_an_error(write: Write) -> None:
    path = write('{"query": 1, "truth": [], "out": {"docs": ["a"], "docs": []}}')
    assert "the key 'docs' appears twice" in error_of(path, {"retrieved": "out.docs"}).what


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("before", ["", "\ufeff", "\n \n"])
def test_a_file_with_a_single_list_of_records_is_read(indent: int | None, before: str, write: Write) -> None:
    path = write(before + json.dumps(RECORDS, indent=indent), "results.json")
    assert read_results(path).run == read_results(RECORDS).run


def test_a_file_with_one_object_on_several_lines_is_read(write: Write) -> None:
    assert read_results(write(json.dumps(RECORDS[0], indent=1))).run == read_results(RECORDS[:1]).run


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_utf_16_file_is_an_error_that_says_so(encoding: str, write: Write) -> None:
    path = write(lines(RECORDS).encode(encoding))
    assert str(error_of(path)) == (
        f"{path}: this file is text in {encoding[:6].upper()}; text in UTF-8 is read here, plain or compressed."
        " Save it as text in UTF-8."
    )


@pytest.mark.parametrize(
    "data", [b"", b"\n", b" \r\n\t\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n", gzip.compress(b"", mtime=0)]
)
def test_an_empty_file_is_an_error(data: bytes, write: Write) -> None:
    path = write(data)
    assert str(error_of(path)).startswith(f"{path}: no results found. Each line is one object: ")


def test_a_source_that_is_not_a_path_or_a_list_is_an_error() -> None:
    for source in (None, 7, b"results.jsonl", RECORDS[0]):
        hint = "Pass a path, an open file, records in a list or from an iterator, or a data frame."
        assert error_of(source).hint == hint
    assert str(error_of([])).startswith("the results: no results found")
    assert str(error_of([RECORDS[0], "q2"])).startswith(
        "the results[1]: 'q2' is not a record. A record is a dictionary,"
    )


@pytest.mark.parametrize("at", range(100, 1000, 50))
def test_damaged_gzip_is_reported_even_if_it_decompresses_to_invalid_lines(at: int, write: Write) -> None:
    packed = gzip.compress(lines(INCOMPRESSIBLE[:50]).encode())
    path = write(packed[:at] + bytes([packed[at] ^ 1]) + packed[at + 1 :], "bad.gz")
    error = error_of(path)
    assert (str(error.place), error.what[:24]) == (path, "the gzip data is damaged")


def test_files_that_cannot_be_read_are_reported_as_for_every_format(write: Write, tmp_path: Path) -> None:
    packed = gzip.compress(lines(INCOMPRESSIBLE[:50]).encode())
    for path, what in {
        str(tmp_path / "none.jsonl"): "no such file",
        str(tmp_path): "this is a folder, not a file",
        write(packed[:500], "cut.gz"): "the gzip data is damaged or cut short",
        write(packed[:-8] + b"????" + packed[-4:], "bad.gz"): "the gzip data is damaged or cut short",
    }.items():
        error = error_of(path)
        assert (str(error.place), error.what.startswith(what)) == (path, True)
    write(RECORDS, "results.jsonl")
    with pytest.raises(KaratError, match=r"Did you mean results\.jsonl\?"):
        read_results(tmp_path / "result.jsonl")


# Long lines, pipes, and detecting the format of a file.


def long_record(size: int) -> Json:
    return {"query": "long", "truth": ["a"], "retrieved": ["a " * (size // 2)], "contexts": []}


@pytest.mark.parametrize("packed", [False, True])
def test_a_line_may_have_megabytes(packed: bool, write: Write) -> None:
    record = long_record(5 << 20)
    data = (GOOD + lines([record]) + GOOD.replace("q0", "q9")).encode()
    results = read_results(write(gzip.compress(data, 1) if packed else data))
    assert results.run == {"q0": ["a"], "long": record["retrieved"], "q9": ["a"]}


@pytest.mark.parametrize("name", PIPES)
@pytest.mark.parametrize("form", ["plain", "gzip", "BOM"])
def test_results_from_a_pipe_may_have_lines_longer_than_a_block(name: str, form: str) -> None:
    data = lines([long_record(12 << 20), {"query": "q", "truth": [], "retrieved": ["abc"]}]).encode()
    data = {"plain": data, "gzip": gzip.compress(data, 1), "BOM": b"\xef\xbb\xbf\n " + data}[form]
    with piped(data):
        source = InputFile(name)
        assert source.first_byte() == b"{"
        assert [len(docs[0]) for docs in read_results(source).run.values()] == [12 << 20, 3]


def test_a_list_of_any_length_in_a_pipe_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    data = json.dumps([long_record(9 << 20)]).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert len(read_results("-").queries) == 1


def test_a_long_line_in_a_pipe_that_is_not_json_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x" * 2 * LONGEST_LINE)))
    assert "the line is longer than 1 MB" in str(error_of("-"))


def test_an_error_on_standard_input_names_it_and_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(GOOD.encode() + b"oops\n")))
    assert str(error_of("-").place) == "standard input:2"


@on_posix
def test_a_named_pipe_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(lines(RECORDS), "utf-8"), daemon=True)
    writer.start()
    source = InputFile(str(path))
    assert source.first_byte() == b"{"
    assert both(read_results(source)) == EXPECTED
    writer.join()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"{", True),
        (b"\xef\xbb\xbf{", True),
        (b" \n\t\r\n  {", True),
        (b"\n" * 10_000 + b'{"query": 1}', True),
        (b"\xef\xbb\xbf" + b" " * 4093 + b"{", True),
        (b"q1 0 {a} 1\n", False),
        (b"# a comment\n{}\n", False),
        (b"[{}]", False),
        (b"\n" * 10_000, False),
        (b"\0{", False),
    ],
)
def test_the_first_byte_of_a_file_is_no_blank_and_no_byte_order_mark(data: bytes, expected: bool, write: Write) -> None:
    assert (InputFile(write(data)).first_byte() == b"{") is expected
    assert (InputFile(write(gzip.compress(data))).first_byte() == b"{") is expected


def test_only_the_beginning_of_a_file_is_read_to_detect_its_format(write: Write) -> None:
    # The end of the file is damaged, but is not read.
    path = write(gzip.compress(lines(INCOMPRESSIBLE).encode())[:50_000], "results.gz")
    assert InputFile(path).first_byte() == b"{"
    assert "damaged or cut short" in error_of(path).what


def test_lines_are_numbered_from_one_and_stripped_of_line_ends(write: Write) -> None:
    source = InputFile(write(b"\xef\xbb\xbf a\r\n\n\xef\xbb\xbfb \t\n\rc\rd"))
    assert list(source.lines()) == [(1, b" a"), (2, b""), (3, b"\xef\xbb\xbfb"), (4, b"\rc\rd")]
    assert list(InputFile(write(b"")).lines()) == []


# The results of the demo.


def test_the_results_of_the_demo_are_read_and_contain_chunks_of_its_passages() -> None:
    results = read_results(demo.RESULTS)
    assert list(results.truth) == list(results.run) == [question["query"] for question in demo.questions()]
    content = {passage["id"]: passage["content"] for passage in demo.corpus()}
    for documents in results.truth.values():
        assert all(content[document["id"]] == document["content"] for document in documents)
    for documents in results.run.values():
        assert all(document["content"] in content[document["id"].partition("::")[0]] for document in documents)
        assert [document["score"] for document in documents] == sorted((d["score"] for d in documents), reverse=True)


@pytest.mark.parametrize("name", ["part-0.parquet", "", "*.parquet"])
def test_a_fault_in_parquet_is_named_with_its_row(name: str, tmp_path: Path) -> None:
    file = tmp_path / "part-0.parquet"
    pq.write_table(pa.table({"query": ["q1", "q1"], "answer": ["a", "b"], "gold_answers": [["a"], ["b"]]}), file)
    with pytest.raises(KaratError, match=r"'q1' was already in .*row 0") as error:
        read_results(str(tmp_path / name))
    assert str(error.value.place) == f"{file}, row 1"
