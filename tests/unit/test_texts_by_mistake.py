"""Runs, ground truth and results that are given as the texts of queries or of documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from karat import KaratError
from karat.cli import demo_data as demo
from karat.reading.texts.entries import Text
from karat.reading.texts.texts import read_texts
from tests.end_to_end.in_process import run_here

RUN = {"q1": {"d1": 0.9, "d2": 0.5}, "q2": {"d1": 0.7}}
ROWS = [(query, doc, score) for query, docs in RUN.items() for doc, score in docs.items()]
RECORDS = [{"query": query, "doc": doc, "score": score} for query, doc, score in ROWS]
RESULT = {"query": "q1", "truth": ["d1"], "retrieved": ["d1", "d2"]}


def lines(pattern: str) -> str:
    return "".join(pattern.format(*row) + "\n" for row in ROWS)


FILES = {
    "run.trec": (lines("{} Q0 {} 1 {} t"), "a run"),
    "tabs.trec": (lines("{}\tQ0\t{}\t1\t{}\tt"), "a run"),
    "truth.qrels": (lines("{} 0 {} 1"), "ground truth"),
    "tabs.qrels": (lines("{}\t0\t{}\t1"), "ground truth"),
    "run.json": (json.dumps(RUN), "ground truth or a run"),
    "lists.json": (json.dumps({query: list(docs) for query, docs in RUN.items()}), "ground truth or a run"),
    "named.json": ('{"q1": {"text": 1, "title": 0}}', "ground truth or a run"),
    "runs.json": (json.dumps({"bm25": RUN, "dense": RUN}), "ground truth or a run"),
    "records.json": (json.dumps(RECORDS), "a run"),
    "run.jsonl": ("".join(json.dumps(record) + "\n" for record in RECORDS), "a run"),
    "queries.jsonl": (json.dumps({"query": "q1", "documents": {"d1": 1}}), "ground truth or a run"),
    "results.jsonl": (json.dumps(RESULT), "results"),
    "run.csv": ("query,doc,score\n" + lines("{},{},{}"), "a run"),
    "graded.csv": ("topic,docno,relevance\n" + lines("{},{},1"), "ground truth"),
    "bare.csv": (lines("{},{},{}"), "ground truth or a run"),
    "beir.tsv": ("query-id\tcorpus-id\tscore\n" + lines("{}\t{}\t1"), "ground truth or a run"),
    "run.parquet": (None, "a run"),
    "run.feather": (None, "a run"),
}


def write(folder: Path, name: str) -> Path:
    path = folder / name
    if (text := FILES[name][0]) is not None:
        path.write_text(text)
    elif name.endswith("parquet"):
        pa.parquet.write_table(pa.Table.from_pylist(RECORDS), path)
    else:
        pa.feather.write_feather(pa.Table.from_pylist(RECORDS), path)
    return path


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_pairs_or_results_is_refused_as_texts(name: str, tmp_path: Path) -> None:
    path = write(tmp_path, name)
    verb = "these are" if FILES[name][1] == "results" else "this is"
    for content, noun in (("queries", "queries"), ("corpus", "documents")):
        with pytest.raises(KaratError, match=f"{name}: {verb} {FILES[name][1]}, not the texts of {noun}. Each"):
            read_texts(path, ["q1", "d1"], content)  # type: ignore[arg-type]


@pytest.mark.parametrize("at", range(5))
def test_a_python_object_of_pairs_or_results_is_refused_as_texts(at: int) -> None:
    source: Any = [RUN, {"q1": ["d1"]}, RECORDS, pd.DataFrame(RECORDS), [RESULT]][at]
    with pytest.raises(KaratError, match=r"the queries: (this is|these are) .*, not the texts of queries"):
        read_texts(source, ["q1"], "queries")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("run.csv", "qid,query,docno,score,rank\nq,how soft,d,0.5,1\n"),
        ("results.jsonl", json.dumps({**RESULT, "query": "q", "question": "how soft"})),
        ("years.csv", "qid,text,2020\nq,how soft,5\n"),
        ("ranked.csv", "qid,text,rank\nq,how soft,5\n"),
        ("views.json", '{"q": {"views": 5, "text": "how soft"}}'),
    ],
)
def test_texts_beside_other_columns_are_read(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    assert dict(read_texts(tmp_path / name, ["q"], "queries")) == {"q": Text("how soft")}


def test_a_run_with_the_texts_of_its_documents_is_a_corpus_but_not_queries() -> None:
    frame = pd.DataFrame({"qid": ["q1", "q2"], "docno": ["d1", "d2"], "score": [1, 2], "text": ["Gold", "Iron"]})
    assert dict(read_texts(frame, ["d1"])) == {"d1": Text("Gold")}
    with pytest.raises(KaratError, match="the queries: this is a run, not the texts of queries"):
        read_texts(frame, ["q1"], "queries")


def test_a_text_beyond_the_beginning_of_a_file_is_found(tmp_path: Path) -> None:
    record = {"query": "q", "doc": "d", "score": 1, "text": "x" * 100_000}
    for name, value in {
        "long.jsonl": record,
        "long.json": [record],
        "object.json": {"d": {"views": 1, **record}},
    }.items():
        (tmp_path / name).write_text(json.dumps(value))
        assert len(read_texts(tmp_path / name, ["d"])["d"].text) == 100_000


def test_texts_that_are_empty_are_missing_but_no_sign_of_a_wrong_file() -> None:
    texts = read_texts(
        [{"_id": "d1", "text": ""}, {"_id": "d2", "text": None}, {"_id": "d3", "text": "x"}], ["d1", "d2"]
    )
    assert (dict(texts), texts.missing) == ({}, ("d1", "d2"))
    assert texts.notes == ("the corpus: no text for 2 of 2 documents (d1, d2)",)


def test_a_named_column_is_read_whatever_the_file_looks_like(tmp_path: Path) -> None:
    (tmp_path / "truth.qrels").write_text("q1 0 d1 1\n")
    (tmp_path / "run.csv").write_text("query,doc,score,snippet\nq1,d1,1,Gold is soft.\n")
    words = ("--explain", "q1", "-m", "RR", "--corpus", "run.csv:snippet")
    done = run_here(tmp_path, "evaluate", "truth.qrels", "run.csv", *words)
    assert "d1: Gold is soft." in done.stdout, done.stderr


@pytest.mark.parametrize("option", ["--queries", "--corpus"])
def test_a_wrong_file_is_refused_before_any_work_even_if_no_text_is_needed(option: str, tmp_path: Path) -> None:
    run = next(iter(demo.runs().values()))
    words = ("report", demo.RESULTS, "--match", "chunk", "-o", "report.html", option, run)
    done = run_here(tmp_path, *map(str, words))
    assert "this is a run, not the texts of" in done.stderr
    assert (done.returncode, list(tmp_path.iterdir())) == (2, [])
