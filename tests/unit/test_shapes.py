"""Logs of other tools are read without options. Most samples beside the shapes are from the tools' own classes."""

import json
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import karat
from karat import KaratError
from karat.errors import Place
from karat.grounding.responses.results import read_responses
from karat.reading import shapes as folder_of_shapes
from karat.reading.bytes.input_file import InputFile
from karat.reading.contents.contents import content_of
from karat.reading.records.paths import field_value
from karat.reading.records.results import read_results
from karat.reading.shapes import recognize, recognize_records, shapes

FOLDER = Path(folder_of_shapes.__file__).parent
SAMPLES = sorted(path for path in FOLDER.iterdir() if path.suffix in (".json", ".jsonl", ".csv"))
ANSWERS = {
    "How soft is gold?": "Gold is so soft that a fingernail marks it.",
    "What is 18-karat gold?": "It is 75% gold.",
    "Does gold rust?": "No, gold does not rust.",
}
PASSAGES = {
    "How soft is gold?": ["Pure gold is very soft: a fingernail marks it.", "Silver is harder than gold."],
    "What is 18-karat gold?": ["18-karat gold is 75% gold.", "A karat is a twenty-fourth part."],
    "Does gold rust?": ["Iron rusts in wet air.", "Gold does not react with oxygen."],
}
GOLD = {
    "How soft is gold?": "Gold is very soft.",
    "What is 18-karat gold?": "An alloy with 75% gold.",
    "Does gold rust?": "No.",
}
WITH_GOLD_ANSWERS = {"ragas", "deepeval", "mlflow", "promptfoo", "inspect"}


def tool_of(sample: Path) -> str:
    return sample.stem.partition("-")[0]


def test_every_shape_has_a_sample_and_every_sample_a_shape() -> None:
    assert (
        {tool_of(sample) for sample in SAMPLES}
        == {shape.tool for shape in shapes()}
        == {path.stem for path in FOLDER.glob("*.toml")}
    )


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_the_sample_of_a_tool_is_read_without_options(sample: Path) -> None:
    read = read_responses(str(sample), needed=())
    assert {response.question for response in read.responses} == {*ANSWERS}
    for response in read.responses:
        assert [passage.text for passage in response.passages] == PASSAGES[response.question]
        assert response.answer == (None if tool_of(sample) == "search" else ANSWERS[response.question])
        if tool_of(sample) in WITH_GOLD_ANSWERS and "traces" not in sample.name:
            assert response.gold_answers == (GOLD[response.question],)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_a_note_says_which_tool_was_recognized(sample: Path) -> None:
    [note, *_] = read_responses(str(sample), needed=()).notes
    assert note.startswith(f"{sample}: this is read as ")
    assert len(note.removeprefix(str(sample))) < 260


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_the_command_line_knows_that_a_log_has_results(sample: Path) -> None:
    assert content_of(InputFile.of(str(sample))) == "results"


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_a_sample_is_that_of_one_tool_only(sample: Path) -> None:
    if sample.suffix == ".csv":
        return  # the same names as in JSON
    text = sample.read_text("utf-8")
    records = (
        [(Place(""), json.loads(line)) for line in text.splitlines()]
        if sample.suffix == ".jsonl"
        else [(Place(""), json.loads(text))]
    )
    fitting = {shape.tool for shape in shapes() if shape.fits_any(records)}
    assert fitting == {tool_of(sample)}
    assert getattr(recognize(records), "tool", None) == tool_of(sample)


def test_ids_of_documents_are_read() -> None:
    [first, *_] = read_responses(str(FOLDER / "phoenix.jsonl")).responses
    assert [passage.id for passage in first.passages] == ["d1", "d7"]


def test_gold_documents_and_gold_answers_of_a_log_are_evaluated() -> None:
    scores = karat.evaluate_results(str(FOLDER / "deepeval-run.json"), ["RR", "TokenF1"])
    assert scores.means["RR"] == pytest.approx(5 / 6)
    assert scores.means["TokenF1"] == pytest.approx(4 / 9)


def test_records_with_karats_own_names_are_not_taken_for_those_of_a_tool() -> None:
    record: dict[str, Any] = {"query": "q1", "retrieved": ["a"], "truth": ["a"], "input": "x", "actual_output": "y"}
    assert recognize_records([record]) is None
    assert recognize_records([]) is None


def test_a_name_that_the_caller_gives_counts_before_that_of_the_tool() -> None:
    record = {"input": "q1", "actual_output": "a", "my_answer": "b", "expected_output": "b"}
    scores = karat.evaluate_results([record], "EM", fields={"answer": "my_answer"})
    assert scores.means == {"EM": 1}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("a.b", 1),
        ("c.0", "x"),
        ("c.-1", "y"),
        ("c.2", None),
        ("c.*", ["x", "y"]),
        ("d.*.n", [1, 2, 3]),
        ("d[n=2].0.t", "two"),
        ("d[t=null].0.n", 3),
        ("d[n=9].0.t", None),
        ("d[n!=2].*.n", [1, 3]),
        ("d[t!=null].*.n", [1, 2]),
        ("d.after[n=2].*.n", [3]),
        ("d.after[n=9].*.n", [1, 2, 3]),
        ("e.f.g", 7),
        ("h.json().k.0", 5),
        ("h.json()", {"k": [5]}),
        ("i.json()", "not json"),
        ("j.*.l.last()", [2]),
        ("j.*.l.first().0", 1),
        ("j.*.l.*", [1, 2]),
        ("nothing.at.all", None),
        ("c.x", None),
        ("a.b.c", None),
    ],
)
def test_a_path_leads_through_mappings_lists_and_texts_in_json(path: str, value: object) -> None:
    record = {
        "a": {"b": 1}, "c": ["x", "y"], "d": [{"n": 1, "t": "one"}, {"n": 2, "t": "two"}, {"n": 3}], "e": {"f.g": 7},
        "h": '{"k": [5]}', "i": "not json", "j": {"one": {"l": [1]}, "two": {"l": [2]}},
    }  # fmt: skip
    assert field_value(record, path) == value


def test_a_key_with_dots_is_found_before_what_is_inside() -> None:
    assert field_value({"a.b": 1, "a": {"b": 2}}, "a.b") == 1


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("['a' 'b']", "no commas between its texts: it is an array of NumPy"),
        ("[__import__('os').system('true')]", "is not a list in the form of Python or JSON"),
        ("[" * 200 + "'a'" + "]" * 200, "is not a list in the form of Python or JSON"),
        ("['a', ]]", "is not a list in the form of Python or JSON"),
    ],
)
def test_a_list_written_as_text_is_parsed_and_never_evaluated(text: str, what: str) -> None:
    records = [{"query": "q1", "gold_answers": "a", "answer": "a", "contexts": text}]
    with pytest.raises(KaratError) as caught:
        read_responses(records)
    assert what in caught.value.what
    assert "contexts" in str(caught.value.place)


def test_a_value_that_is_no_list_after_a_thousand_lists_is_an_error_with_its_place() -> None:
    records = [{"query": f"q{at}", "contexts": "['a b']", "answer": "a"} for at in range(1001)]
    records[1000]["contexts"] = "a b"
    with pytest.raises(KaratError, match=r"\[1000\].*is not a list, unlike the values before it"):
        read_responses(records)


NAMES = (
    "messages", "role", "content", "inputs", "outputs", "spans", "trace_id", "samples", "input", "vars", "response",
    "results", "documents", "replies", "resourceSpans", "scopeSpans", "attributes", "key", "value", "hits", "query",
)  # fmt: skip
NUMBERS = st.none() | st.booleans() | st.integers() | st.floats()
LEAVES = NUMBERS | st.text(max_size=4) | st.sampled_from(["user", "[]", "{"])
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=12,
)


@given(records=st.lists(st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=5), max_size=3))
def test_whatever_records_contain_a_shape_reads_them_or_does_not_fit(records: list[dict[str, Any]]) -> None:
    source = [(Place("log"), record) for record in records]
    for shape in shapes():
        with suppress(KaratError):
            for place, record in shape.records_of(source):
                shape.fits(record)
                assert shape.read(record, place).keys() >= record.keys()
    with suppress(KaratError):
        read_responses(records, needed=())


def test_the_spans_of_a_trace_are_one_record_in_whatever_order_they_come() -> None:
    lines = (FOLDER / "langsmith.jsonl").read_text("utf-8").splitlines()
    spans = [json.loads(line) for line in reversed(lines)]
    assert {response.question for response in read_responses(spans).responses} == {*ANSWERS}


def test_records_inside_an_object_are_found_or_named() -> None:
    record = {"question": "How soft?", "answer": "Soft.", "gold_answers": ["Soft."]}
    source = [{"run": {"id": 3, "items": [record]}, "tags": [{"name": "x"}]}]
    assert karat.evaluate_results(source, "EM").means == {"EM": 1}
    assert karat.evaluate_results(source, "EM", records="run.items").means == {"EM": 1}
    with pytest.raises(KaratError, match=r"there are no records in run\.tags"):
        karat.evaluate_results(source, "EM", records="run.tags")


def test_a_path_of_records_is_not_a_field() -> None:
    with pytest.raises(KaratError, match=r"use records='run\.items'"):
        karat.evaluate_results([], fields={"records": "run.items"})
    with pytest.raises(KaratError, match="the path of the records is empty"):
        karat.evaluate_results([{"query": "q"}], records="")
    with pytest.raises(KaratError, match="records must be text"):
        karat.evaluate_results([{"query": "q"}], records=3)  # type: ignore[arg-type]


def test_the_parts_of_documents_can_be_named() -> None:
    documents = [{"uri": "d2", "snippet": "Iron rusts."}, {"uri": "d1", "snippet": "Gold is soft."}]
    records = [{"query": "q1", "truth": ["d1"], "retrieved": documents}]
    assert karat.evaluate_results(records, "RR", fields={"retrieved.id": "uri"}).means == {"RR": 0.5}
    gold = [{"query": "q1", "truth": ["Gold is soft."], "docs": documents}]
    fields = {"retrieved.content": "snippet", "retrieved": "docs"}
    assert karat.evaluate_results(gold, "RR", fields=fields, match="content").means == {"RR": 0.5}


@pytest.mark.parametrize(
    ("record", "task"),
    [
        ({"answer": "Soft.", "retrieved": ["Gold is soft."]}, "faithfulness"),
        ({"answer": "Soft."}, "answer_relevance"),
        ({"retrieved": ["Gold is soft."]}, "context"),
    ],
)
def test_an_error_about_a_log_without_gold_names_the_judge_and_a_task_that_needs_none(
    record: dict[str, Any], task: str, tmp_path: Path
) -> None:
    path = tmp_path / "a log.jsonl"
    path.write_text(json.dumps({"query": "How soft?", **record}))
    with pytest.raises(KaratError) as caught:
        karat.evaluate_results(str(path))
    call = f"karat.judge(..., task='{task}', model='NAME', verdicts='verdicts.jsonl')"
    assert f"A language model can judge what has no gold: {call}." in str(caught.value)


def test_a_tool_can_be_named_as_the_format_of_a_log() -> None:
    path = str(FOLDER / "deepeval.jsonl")
    assert karat.evaluate_results(path, "RR", input_format="deepeval").means == karat.evaluate_results(path, "RR").means
    with pytest.raises(KaratError, match="this is not a log of ragas"):
        karat.evaluate_results(path, "RR", input_format="ragas")
    with pytest.raises(KaratError, match=r"'ragaz' is not a format\. Did you mean ragas\?"):
        karat.evaluate_results(path, "RR", input_format="ragaz")


def test_the_error_about_an_archive_of_inspect_names_the_command_that_converts_it(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("_journal/start.json", "{}")
        archive.writestr("samples/q0_epoch_1.json", "{}")
    with pytest.raises(KaratError, match="Convert it: inspect log convert FILE --to json --output-dir FOLDER"):
        karat.evaluate_results(str(path))


def test_arrays_of_numpy_are_lists_as_pandas_reads_them_from_parquet() -> None:
    contexts = np.array(["Gold is soft.", "Iron rusts."], dtype=object)
    [response] = read_responses(
        [{"user_input": "How soft?", "retrieved_contexts": contexts, "response": "!"}]
    ).responses
    assert [passage.text for passage in response.passages] == [*contexts]
    run = {"inputs": {"question": "How soft?"}, "trace_id": "t", "run_type": "chain", "parent_run_id": float("nan")}
    documents = {"documents": np.array([{"page_content": "Gold is soft."}], dtype=object)}
    retriever = {"inputs": {}, "trace_id": "t", "run_type": "retriever", "parent_run_id": "r", "outputs": documents}
    [response] = read_responses([run, retriever], needed=()).responses
    assert [passage.text for passage in response.passages] == ["Gold is soft."]


def test_an_answer_with_karats_own_name_is_read_from_the_log_of_a_tool() -> None:
    nodes = [{"node": {"text": "Gold is soft.", "id_": "d1"}, "score": 1}]
    [response] = read_responses([{"question": "How soft?", "source_nodes": nodes, "answer": "Very."}]).responses
    assert response.answer == "Very."


def runs_of_langsmith() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / "langsmith.jsonl").read_text("utf-8").splitlines()]


def test_spans_without_the_id_of_a_trace_are_not_taken_for_one_trace() -> None:
    runs = runs_of_langsmith()
    for run in runs[:6]:
        del run["trace_id"]
    with pytest.raises(KaratError, match=r"\[1\]: the field 'query' is missing"):
        read_responses(runs)


def test_a_log_is_recognized_if_the_root_of_a_trace_comes_after_many_runs() -> None:
    root, *inner = runs_of_langsmith()[:3]
    [response] = read_responses([*inner[1:] * 30, *inner, root]).responses
    assert response.question == "How soft is gold?"


def test_a_question_that_was_asked_twice_is_read_by_the_id_of_its_trace() -> None:
    runs = runs_of_langsmith()[:3]
    again = [{**run, "trace_id": "again"} for run in runs]
    with pytest.raises(KaratError, match="was already in"):
        read_responses([*runs, *again])
    responses = read_responses([*runs, *again], fields={"query": "trace_id"}).responses
    assert [response.question for response in responses] == ["How soft is gold?"] * 2
    assert responses[1].query == "again"


def test_a_field_that_the_caller_names_is_not_replaced_by_that_of_the_tool() -> None:
    record = {"query": "q1", "query_id": "7", "hits": {"hits": [{"_id": "d1", "_score": 1.0}]}, "gold_docs": ["d1"]}
    fields = {"query": "query", "truth": "gold_docs"}
    assert read_results([record], fields).queries == ("q1",)


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        ([{"runs": 3}], r"log\.jsonl:2: there are no records in testCases"),
        ([{"testCases": [5]}], r"log\.jsonl:2, testCases\.0: 5 is not a record"),
    ],
)
def test_nothing_in_a_log_is_skipped_silently(lines: list[Any], what: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    run = {"testCases": [{"input": "How soft?", "actualOutput": "Very."}]}
    path.write_text("".join(f"{json.dumps(line)}\n" for line in [run, *lines]))
    with pytest.raises(KaratError, match=what):
        read_responses(str(path))


@pytest.mark.parametrize("attributes", [5, "x", {"a": 1}, [5], [{"key": "a.0." * 3000 + "b", "value": {}}], None])
def test_attributes_of_spans_may_be_anything(attributes: Any) -> None:
    span = {"spanId": "1", "traceId": "t", "attributes": attributes}
    with pytest.raises(KaratError, match="no fields 'query' and 'answer'; the fields are 'trace_id', 'spans"):
        read_responses([{"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}], needed=("answer",))


@pytest.mark.parametrize("path", ["a..b", "a.b.", ".a", "a[", "[", "a]b", "c[0]", "a[b]", "a[=]", "*", "json()", "-1"])
def test_what_is_not_a_path_leads_nowhere(path: str) -> None:
    record = {"a": {"b": "x"}, "c": ["y"]}
    assert field_value(record, path) is None
    assert field_value({**record, path: "z"}, path) == "z"


def test_any_path_leads_to_a_value_or_nowhere() -> None:
    assert field_value({"a": [{"*.b": 5}]}, "a.*.*.b") == []


def test_cells_may_be_empty_and_lists_in_text_have_spaces_around_them() -> None:
    texts = [" ['Gold is soft.'] ", "", None, float("nan"), "[]"]
    records = [{"query": f"q{at}", "contexts": text, "answer": "a"} for at, text in enumerate(texts)]
    passages = [response.passages for response in read_responses(records).responses]
    assert [[passage.text for passage in of_query] for of_query in passages] == [["Gold is soft."], [], [], [], []]


def test_gold_that_was_added_to_a_log_is_read_beside_the_names_of_the_tool() -> None:
    record = {"input": "How soft?", "context": [{"page_content": "Gold is soft.", "id": "d1"}], "answer": "Very."}
    results = read_results([{**record, "truth": ["d1"], "gold_answers": ["Very soft."]}])
    assert results.parts == ("documents", "answers")
    case = {"input": "How soft?", "actual_output": "Very.", "context": ["Iron rusts."], "retrieval_context": ["d1"]}
    assert read_results([{**case, "truth": ["d1"]}]).truth == {"How soft?": ["d1"]}


def test_a_response_of_llamaindex_may_be_an_object_in_a_field() -> None:
    nodes = [{"node": {"text": "Gold is soft.", "id_": "d1"}, "score": 1}]
    record = {"query": "How soft?", "response": {"response": "Very.", "source_nodes": nodes}}
    [response] = read_responses([record]).responses
    assert (response.answer, [passage.text for passage in response.passages]) == ("Very.", ["Gold is soft."])


@pytest.mark.parametrize("serialized", [True, False])
def test_answers_that_haystack_builds_have_their_question_and_documents(serialized: bool) -> None:
    answer = {"data": "Very.", "query": "How soft?", "documents": [{"id": "d1", "content": "Gold is soft."}]}
    answers = [{"init_parameters": answer, "type": "GeneratedAnswer"} if serialized else answer]
    [response] = read_responses([{"answer_builder": {"answers": answers}}]).responses
    assert (response.question, response.answer) == ("How soft?", "Very.")
    assert [passage.text for passage in response.passages] == ["Gold is soft."]


def test_a_chat_is_read_from_its_last_question_on() -> None:
    turn = [
        {"role": "user", "content": "How soft?"}, {"role": "tool", "content": "Gold is soft."},
        {"role": "assistant", "content": "Very."},
    ]  # fmt: skip
    parts = [{**message, "content": [{"type": "text", "text": f"{message['content']} 2"}]} for message in turn]
    chats = [{"id": "whole", "messages": [*turn, *parts]}, {"id": "unanswered", "messages": [*turn, parts[0]]}]
    whole, unanswered = read_responses(chats).responses
    assert (whole.question, whole.answer) == ("How soft? 2", "Very. 2")
    assert [passage.text for passage in whole.passages] == ["Gold is soft. 2"]
    assert (unanswered.question, unanswered.answer, unanswered.passages) == ("How soft? 2", "", ())


def test_all_retrievers_of_a_trace_give_documents_except_those_inside_another_retriever() -> None:
    root, retriever, _ = runs_of_langsmith()[:3]
    first, second = retriever["outputs"]["documents"]

    def search(name: str, parent: str, *documents: Any) -> dict[str, Any]:
        return {**retriever, "id": name, "parent_run_id": parent, "outputs": {"documents": [*documents]}}

    failed = {**search("failed", root["id"]), "outputs": None}
    inner = [search("inner", "first", second), search("again", "first", first)]
    runs = [root, search("first", root["id"], first), *inner, failed, search("second", root["id"], second)]
    [response] = read_responses(runs).responses
    assert [passage.text for passage in response.passages] == PASSAGES["How soft is gold?"]


@pytest.mark.parametrize("is_otlp", [True, False])
def test_the_question_and_the_answer_of_a_chain_may_be_in_json(is_otlp: bool) -> None:
    values = {
        "openinference.span.kind": "CHAIN", "input.value": json.dumps({"input": "How soft?", "history": []}),
        "output.value": json.dumps({"input": "How soft?", "answer": "Very."}),
    }  # fmt: skip
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]
    otlp = {"traceId": "t", "spanId": "s", "attributes": attributes}
    phoenix = {"context": {"trace_id": "t", "span_id": "s"}, "parent_id": None, "attributes": values}
    record = {"resourceSpans": [{"scopeSpans": [{"spans": [otlp]}]}]} if is_otlp else phoenix
    [response] = read_responses([record], needed=()).responses
    assert (response.question, response.answer) == ("How soft?", "Very.")


@pytest.mark.parametrize("is_logged", [True, False])
def test_the_outermost_span_of_a_trace_may_be_that_of_a_server(is_logged: bool) -> None:
    spans = [json.loads(line) for line in (FOLDER / "phoenix.jsonl").read_text("utf-8").splitlines()]
    servers = [
        {
            "span_kind": "UNKNOWN",
            "parent_id": None,
            "context.span_id": "1",
            "context.trace_id": span["context.trace_id"],
        }
        for span in spans
        if span["parent_id"] is None
    ]
    inner = [{**span, "parent_id": span["parent_id"] or "1"} for span in spans]
    responses = read_responses([*servers, *inner] if is_logged else inner).responses
    assert {response.question: response.answer for response in responses} == ANSWERS


def test_the_note_names_the_fields_of_all_records_and_not_only_of_the_first() -> None:
    cases = [{"input": "How soft?", "actual_output": "Very."}, {"input": "Rust?", "retrieval_context": ["Iron rusts."]}]
    [note] = read_responses(cases).notes
    assert note.endswith("query from input, retrieved from retrieval_context and answer from actual_output")


def test_examples_of_langsmith_are_not_taken_for_answers_of_a_system() -> None:
    assert recognize_records([{"dataset_id": "1", "inputs": {"question": "?"}, "outputs": {"answer": "gold"}}]) is None


def test_ids_that_were_added_to_a_log_are_the_queries() -> None:
    case = {"query": "q7", "input": "How soft?", "actual_output": "Very.", "truth": ["d1"], "retrieval_context": ["d1"]}
    results = read_results([case])
    assert (results.truth, results.run, results.questions) == ({"q7": ["d1"]}, {"q7": ["d1"]}, {"q7": "How soft?"})
    assert "deepeval: query, retrieved from retrieval_context" in results.notes[0]


def test_a_run_with_a_column_of_a_tool_is_still_a_run(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(
        json.dumps({"query": "q1", "doc": "d1", "score": 1, "messages": [{"role": "user", "content": "?"}]})
    )
    assert content_of(InputFile.of(str(path))) == "documents"


def test_a_record_that_contains_itself_is_read_as_far_as_it_is_needed() -> None:
    record: dict[str, Any] = {"query": "q1", "gold_answers": "a", "answer": "a"}
    record["itself"] = record
    assert karat.evaluate_results([record], "EM").means == {"EM": 1}


def test_the_parts_of_a_document_that_are_not_named_are_read_as_they_are() -> None:
    documents = [{"uri": "d1", "content": "Gold is soft."}]
    records = [{"query": "q1", "truth": ["Gold is soft."], "retrieved": documents}]
    scores = karat.evaluate_results(records, "RR", fields={"retrieved.id": "uri"}, match="content")
    assert scores.means == {"RR": 1}
