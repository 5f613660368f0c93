"""Conversion between formats: what is written is read back as the same data."""

from __future__ import annotations

import json
import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat import KaratError, convert, evaluate
from karat.options import Ties
from karat.reading.bytes.names import Format
from karat.reading.contents.contents import kind_of_columns

FORMATS = get_args(Format)
RUN = {"q1": {"d1": 1.5, "d2": 2.0, "d3": 1.5}, "q2": {"d9": -0.25}}
MEASURES = ["nDCG", "AP", "RR", "P@2"]

without_blanks = st.text('ab019.-=,;:"\\éß日#\u200b', min_size=1, max_size=3).filter(lambda text: text[0] != "#")
any_ids = st.text('ab 01,;:"\\é\n\r\t日#=', min_size=1, max_size=3)
scores = st.one_of(st.sampled_from([0.0, -0.0, 1.0, 2.5]), st.floats(allow_nan=False, allow_infinity=False))


def mappings(ids: st.SearchStrategy[str], numbers: st.SearchStrategy[float]) -> st.SearchStrategy[Any]:
    return st.dictionaries(ids, st.dictionaries(ids, numbers, min_size=1, max_size=5), min_size=1, max_size=4)


def values(truth: Any, run: Any, ties: Ties) -> dict[str, list[float]]:
    """The score of each query and measure."""
    scores_of_run = evaluate(truth, run, MEASURES, ties=ties)
    return {measure: scores_of_run.values[measure].tolist() for measure in scores_of_run.measures}


@settings(max_examples=25)
@given(data=st.data(), first=st.sampled_from(FORMATS), second=st.sampled_from(FORMATS))
def test_a_converted_run_and_ground_truth_have_the_same_scores(data: st.DataObject, first: str, second: str) -> None:
    ids = without_blanks if "trec" in (first, second) else any_ids
    run = data.draw(mappings(ids, scores), label="run")
    truth = data.draw(mappings(ids, st.floats(-2, 4)), label="truth")
    for query, docs in run.items():  # some documents of the run are judged
        truth.setdefault(query, {}).update(dict.fromkeys(list(docs)[::2], 0.5))
    with TemporaryDirectory() as folder:
        for kind, mapping in (("run", run), ("truth", truth)):
            convert(mapping, f"{folder}/{kind}1.{first}", kind=kind)
            convert(f"{folder}/{kind}1.{first}", f"{folder}/{kind}2.{second}", kind=kind)
        for ties in get_args(Ties):
            assert values(f"{folder}/truth2.{second}", f"{folder}/run2.{second}", ties) == values(truth, run, ties)


@settings(max_examples=30)
@given(numbers=st.lists(st.floats(allow_nan=False), min_size=1, max_size=20), form=st.sampled_from(FORMATS))
def test_numbers_are_read_back_to_the_last_bit(numbers: list[float], form: str) -> None:
    finite = [number for number in numbers if math.isfinite(number) or not form.startswith("json")]
    run = {"q": {f"d{at}": number for at, number in enumerate(finite)}} if finite else RUN
    with TemporaryDirectory() as folder:
        convert(run, f"{folder}/run.{form}", kind="run")
        convert(f"{folder}/run.{form}", f"{folder}/again.parquet", kind="run")
        read = pq.read_table(f"{folder}/again.parquet")
    wanted = [(query, doc, number.hex()) for query, docs in run.items() for doc, number in docs.items()]
    assert [(row["query"], row["doc"], row["score"].hex()) for row in read.to_pylist()] == wanted


@pytest.mark.parametrize("form", FORMATS)
def test_ranked_lists_keep_their_order(tmp_path: Path, form: str) -> None:
    run = {"q1": ["c", "a", "b"], "q2": ["b"]}
    converted = convert(run, tmp_path / f"run.{form}", kind="run")
    truth = {"q1": {"a": 1}, "q2": {"b": 1}}
    assert values(truth, str(tmp_path / f"run.{form}"), "trec") == values(truth, run, "trec")
    has_note = any("scores that end with 1" in note for note in converted.notes)
    assert has_note == (form == "trec")


def test_a_trec_run_from_lists_has_positive_scores(tmp_path: Path) -> None:
    convert({"q1": ["c", "a"], "q2": ["b"]}, tmp_path / "run.trec", kind="run", tag="mine")
    text = (tmp_path / "run.trec").read_text()
    assert text == "q1 Q0 c 1 2 mine\nq1 Q0 a 2 1 mine\nq2 Q0 b 1 1 mine\n"


def test_ranks_stay_ranks_in_tables_and_become_positive_scores_elsewhere(tmp_path: Path) -> None:
    table = "query,doc,rank\nq1,b,2\nq1,a,1\nq1,c,9\nq2,d,0\n"
    (tmp_path / "run.csv").write_text(table)
    convert(tmp_path / "run.csv", tmp_path / "run.parquet")
    convert(tmp_path / "run.parquet", tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text() == table
    convert(tmp_path / "again.csv", tmp_path / "run.json")
    assert json.loads((tmp_path / "run.json").read_text()) == {"q1": {"b": 8, "a": 9, "c": 1}, "q2": {"d": 1}}


def test_lists_stay_lists_in_json(tmp_path: Path) -> None:
    convert({"q1": ["c", "c"], "q2": []}, tmp_path / "run.json", kind="run")
    assert json.loads((tmp_path / "run.json").read_text()) == {"q1": ["c", "c"], "q2": []}


def test_queries_without_documents_are_named_where_they_cannot_be_written(tmp_path: Path) -> None:
    converted = convert({"q1": {"d": 1}, "q2": {}}, tmp_path / "run.csv", kind="run")
    assert converted.notes == ("1 query without documents cannot be written as csv: q2",)
    assert convert({"q1": {"d": 1}, "q2": {}}, tmp_path / "run.json", kind="run").notes == ()


@pytest.mark.parametrize(
    ("run", "name", "message"),
    [
        ({"q1": {"a b": 1}}, "run.trec", r"the document id 'a b' contains a blank, which a TREC file cannot contain"),
        ({"q\n1": {"a": 1}}, "run.trec", r"the query id 'q\\n1' contains a line end"),
        ({"#q1": {"a": 1}}, "run.trec", r"the query id '#q1' begins with '#'"),
        ({"q1": {"": 1}}, "run.csv", r"the id of the document is empty"),
        ({"q1": {"a\0": 1}}, "run.tsv", r"contains a NUL character, which CSV and TSV cannot contain"),
        (
            {"q1": {"a": math.inf}},
            "run.json",
            r"the score of document a for query q1 is inf",
        ),
        ([("q1", "a", 1.0), ("q1", "a", 2.0)], "run.jsonl", r"document a is listed twice for query q1"),
        ({}, "run.csv", r"there is nothing to convert"),
        ({"q1": {"a": 1}}, "run.xls", r"the format of .xls files is not known"),
        ({"q1": [{"content": "text"}]}, "run.csv", r"a document has no id"),
    ],
)
def test_what_a_format_cannot_contain_is_an_error_and_nothing_is_written(
    tmp_path: Path, run: Any, name: str, message: str
) -> None:
    with pytest.raises(KaratError, match=message):
        convert(run, tmp_path / name, kind="run")
    assert list(tmp_path.iterdir()) == []


def test_what_a_source_contains_is_asked_for_unless_the_output_says_it(tmp_path: Path) -> None:
    with pytest.raises(KaratError, match="cannot tell whether this is a run, ground truth"):
        convert({"q1": {"d1": 1}}, tmp_path / "out.csv")
    assert convert({"q1": {"d1": 1}}, tmp_path / "out.qrels").kind == "truth"
    assert convert({"q1": {"d1": 1}}, tmp_path / "out.run").kind == "run"
    with pytest.raises(KaratError, match="'runs' is not a kind of content"):
        convert({"q1": {"d1": 1}}, tmp_path / "out.csv", kind="runs")


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        ("query doc score", "run"),
        ("qid docno rank", "run"),
        ("query_id doc_id relevance", "truth"),
        ("query doc label", "truth"),
        ("query-id corpus-id score", None),
        ("query doc score label", None),
        ("query answer", "answers"),
        ("query gold_answers answer", "results"),
        ("query truth retrieved", "results"),
        ("question ground_truth contexts", "results"),
        ("_id text", "texts"),
        ("_id title text", "texts"),
        ("query text gold_answers", None),
        ("a b c", None),
    ],
)
def test_what_a_table_contains_is_told_by_its_columns(columns: str, kind: str | None) -> None:
    assert kind_of_columns(columns.split()) == kind


def test_data_frames_are_told_by_their_columns(tmp_path: Path) -> None:
    frame = pd.DataFrame({"query": ["q1"], "doc": ["d1"], "grade": [2]})
    assert convert(frame, tmp_path / "truth.csv").kind == "truth"
    assert (tmp_path / "truth.csv").read_text() == "query,doc,grade\nq1,d1,2\n"


@pytest.mark.parametrize("form", ["csv", "tsv", "json", "jsonl", "parquet", "feather"])
def test_a_lone_surrogate_in_a_text_is_an_error_and_nothing_is_written(form: str, tmp_path: Path) -> None:
    records = [{"query": "q1", "text": "a\ud800"}]
    with pytest.raises(KaratError, match=r"a text contains the lone surrogate '\\ud800', which is not valid Unicode"):
        convert(records, tmp_path / f"out.{form}", kind="results")
    assert not list(tmp_path.iterdir())


def test_answers_and_texts_are_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "predicted.csv").write_text("qid,prediction\nq1,soft\n")
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "How soft is gold?"}\n')
    for name, kind in (("predicted.csv", "answers"), ("queries.jsonl", "texts")):
        message = f"{name}: {kind} are not converted. Runs, ground truth and results are."
        with pytest.raises(KaratError, match=message):
            convert(tmp_path / name, tmp_path / "out.json")
    for kind in ("answers", "texts"):
        with pytest.raises(KaratError, match=f"{kind} are not converted"):
            convert({"q1": "soft"}, tmp_path / "out.json", kind=kind)


RESULTS: list[dict[str, Any]] = [
    {"query": "q1", "truth": ["a"], "retrieved": [{"id": "a", "score": 0.1}], "answer": None, "n": 2**53},
    {"query": "q2", "truth": [], "retrieved": [{"id": "b", "score": 1.0}], "answer": "x"},
]


@pytest.mark.parametrize("form", ["json", "jsonl", "parquet", "feather"])
def test_results_are_the_same_in_every_format(tmp_path: Path, form: str) -> None:
    assert convert(RESULTS, tmp_path / f"results.{form}", kind="results").rows == 2
    converted = convert(tmp_path / f"results.{form}", tmp_path / "last.jsonl")
    assert converted.kind == "results"
    read = [json.loads(line) for line in (tmp_path / "last.jsonl").read_text().splitlines()]
    # A column of a table has a value in every row.
    assert [{name: value for name, value in record.items() if value is not None} for record in read] == [
        {name: value for name, value in record.items() if value is not None} for record in RESULTS
    ]


def test_fields_of_other_types_in_some_records_are_an_error_in_parquet(tmp_path: Path) -> None:
    mixed = [{"query": "q1", "retrieved": ["a"]}, {"query": "q2", "retrieved": {"a": 1}}]
    with pytest.raises(KaratError, match="parquet files have values of one type in each field"):
        convert(mixed, tmp_path / "results.parquet", kind="results")
    assert list(tmp_path.iterdir()) == []


def test_the_output_is_never_the_input(tmp_path: Path) -> None:
    (tmp_path / "run.trec").write_text("q1 Q0 d1 1 1 t\n")
    (tmp_path / "link.trec").symlink_to(tmp_path / "run.trec")
    with pytest.raises(KaratError, match="the output file is also an input"):
        convert(tmp_path / "run.trec", tmp_path / "link.trec")
    assert (tmp_path / "run.trec").read_text() == "q1 Q0 d1 1 1 t\n"


def test_a_folder_of_parts_is_one_table(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    for at in (1, 2):
        convert({f"q{at}": {"d": at}}, tmp_path / "parts" / f"{at}.parquet", kind="run")
    convert(tmp_path / "parts", tmp_path / "run.csv")
    assert (tmp_path / "run.csv").read_text() == "query,doc,score\nq1,d,1\nq2,d,2\n"


@pytest.mark.parametrize("field", ["retrieved", "truth"])
def test_records_with_documents_and_answers_are_results_even_if_a_field_is_missing(field: str, tmp_path: Path) -> None:
    record = {"query": "q1", field: ["d1"], "answer": "gold"}
    (tmp_path / "in.jsonl").write_text(json.dumps(record))
    assert convert(tmp_path / "in.jsonl", tmp_path / "out.json").kind == "results"
    assert json.loads((tmp_path / "out.json").read_text()) == [record]
