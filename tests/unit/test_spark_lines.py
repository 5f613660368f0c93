"""Lines of text files as executors of Spark read them, without Spark: they are read as the local readers read files."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat import KaratError
from karat.engines.spark.columns import Role
from karat.engines.spark.files import SparkFiles
from karat.engines.spark.line_records import LINE, named_file
from karat.engines.spark.lines import FILE, STARTS, LineReader
from karat.engines.spark.shipping import error_from
from karat.engines.spark.text_files import TextTable, text_table
from karat.engines.spark.worker import ROW_ERROR
from karat.grounding.verdict_file.reading import read_verdict_records
from karat.reading.pairs.any_source import read_run, read_truth
from karat.reading.pairs.containers import RankedLists
from karat.reading.records.answers import read_gold_answers, read_predicted_answers

NO_TRUTH = read_truth({"q": ["d"]})


def rows_of(source: Any, role: Role, **options: Any) -> list[tuple[str, str, float]]:
    """The queries, documents and numbers that the local reader reads, sorted; in lists, the rank is the number."""
    if role == "truth":
        truth = read_truth(source, **options)
        of_row = np.repeat(truth.queries, np.diff(truth.offsets)).tolist()
        return sorted(zip(of_row, truth.docs, truth.grades.tolist(), strict=True))
    rows: list[tuple[str, str, float]] = []
    for read in read_run(source, NO_TRUTH, **options).batches():
        batch: Any = read()
        of_query = zip(batch.queries, batch.docs if isinstance(batch, RankedLists) else batch.by_query(), strict=True)
        places = [(query, doc or "", at) for query, docs in of_query for at, doc in enumerate(docs)]
        if isinstance(batch, RankedLists):
            rows += places
        else:
            rows += [(query, doc, score) for (query, doc, _), score in zip(places, batch.scores.tolist(), strict=True)]
    return sorted(rows)


def as_lines(content: bytes, file: str | None = None) -> pa.RecordBatch:
    """Lines as Spark reads them, which knows \n, \r\n and \r, and drops a byte order mark."""
    lines = content.removeprefix(b"\xef\xbb\xbf").splitlines()
    columns = {LINE: pa.array(lines, pa.binary()), STARTS: pa.array([True] * len(lines), pa.bool_())}
    return pa.RecordBatch.from_pydict(columns | ({FILE: pa.array([file] * len(lines), pa.string())} if file else {}))


def tabled(reader: LineReader, *batches: pa.RecordBatch) -> pa.Table:
    """What an executor gets; the error of a line that could not be read."""
    sent = pickle.loads(pickle.dumps(reader))
    found = pa.Table.from_batches([*sent(iter(batches))])
    for text in found[ROW_ERROR].drop_null().to_pylist():
        raise error_from(text)
    return found.drop_columns([ROW_ERROR])


def described(
    content: bytes, role: Role, name: str = "file.txt", given: Any = None, of: str | None = None
) -> TextTable:
    """How a file is read."""
    files = SparkFiles(name, name, named_file(content, name), False)
    number: Any = {"truth": "grade", "run": "score"}.get(role)

    def names(reader: LineReader) -> list[str]:
        return sorted(set(tabled(reader, as_lines(content))["name"].to_pylist()))

    return text_table(files, files.format(of, number), role, given, names)


def received(
    content: bytes, role: Role, name: str = "file.txt", rows: int = 3, **options: Any
) -> tuple[TextTable, Any]:
    """What the local reader gets in an executor, of lines that come in batches of so many rows."""
    text, lines = described(content, role, name, **options), as_lines(content)
    batches = [lines.slice(at, rows) for at in range(0, max(len(lines), 1), rows)]
    table = tabled(text.reader, *batches)
    return text, text.records.source(table) if text.records else table


def rows_in_executor(content: bytes, role: Role) -> list[tuple[str, str, float]]:
    text, source = received(content, role)
    return rows_of(source, role, columns=text.by_role)


QRELS = b"q1 0 d1 1\nq1 0 d2 0\nq2\t0\td\xc3\xa4 2.5\nq3 0 d -1\n"
RUN = b"q1 Q0 d1 1 0.1 tag\nq1 Q0 d2 2 1e-3 tag more\nq2  Q0 d 1 0.30000000000000004 tag\n"
CSV = b'query,doc,score\nq1,"d,1",0.1\nq1,"d ""2""",3\n q2 ,d2,-1e300\n'
PAIRS = b'{"query": "q1", "doc": "d1", "score": 1}\n\n{"query": 2, "doc": "d1", "score": "1.5"}\n'
LISTS = (
    b'{"id": "q1", "docs": ["a", "b"]}\n{"id": "q2", "docs": []}\n{"id": 3, "docs": [{"id": "c", "meta": {"x": 1}}]}\n'
)
FILES: dict[str, tuple[Role, bytes]] = {
    "qrels.trec": ("truth", QRELS),
    "windows.qrels": ("truth", QRELS.replace(b"\n", b"\r\n")),
    "old-mac.qrels": ("truth", QRELS.replace(b"\n", b"\r")),
    "bom.qrels": ("truth", b"\xef\xbb\xbf" + QRELS),
    "comments.txt": ("truth", b"# a comment\n\n" + QRELS + b"\n  \n# end"),
    "run.trec": ("run", RUN),
    "infinite.run": ("run", RUN + b"q3 Q0 x 1 inf t\nq3 Q0 y 2 -Infinity t\n"),
    "run.csv": ("run", CSV),
    "windows.csv": ("run", b"\xef\xbb\xbf" + CSV.replace(b"\n", b"\r\n")),
    "blank-lines.csv": ("run", b"\n \n" + CSV + b"\n\n"),
    "semicolons.csv": ("run", b"qid;docno;sim\nq1;a;1\nq1;b;2\n"),
    "ranks.csv": ("run", b"qid,docno,rank\nq1,a,1\nq1,b,2\n"),
    "inches.tsv": ("run", b'qid\tdocno\tscore\nq1\t5" disk\t1\nq1\tb\t2\n'),
    "headerless.tsv": ("run", b"q1\ta\t0.5\nq1\tb\t0.25\n"),
    "beir.tsv": ("truth", b"query-id\tcorpus-id\tscore\n1\t2\t1\n1\t3\t0\n"),
    "two-columns.csv": ("truth", b"query,doc\nq1,a\nq1,b\n"),
    "true.csv": ("truth", b"query,doc,grade\nq1,a,true\nq1,b,False\n"),
    "misnamed.csv": ("truth", QRELS),
    "pairs.jsonl": ("run", PAIRS),
    "ranks.jsonl": ("run", b'{"qid": "q1", "docno": 7, "rank": 1}\n{"qid": "q1", "docno": 8, "rank": 2}\n'),
    "lists.jsonl": ("run", LISTS),
    "grades.jsonl": ("truth", b'{"query": "q1", "docs": [{"id": "a", "grade": 2}]}\n{"query": "q2", "docs": ["x"]}\n'),
}  # fmt: skip


@pytest.mark.parametrize("rows", [1, 3, 1000])
@pytest.mark.parametrize("name", FILES)
def test_lines_are_read_as_the_file(tmp_path: Path, name: str, rows: int) -> None:
    role, content = FILES[name]
    path = tmp_path / name
    path.write_bytes(content)
    text, source = received(content, role, str(path), rows)
    assert rows_of(source, role, columns=text.by_role) == rows_of(path, role)
    locally: Any = read_truth(path) if role == "truth" else read_run(path, NO_TRUTH)
    [*locally.batches()] if role == "run" else None  # notes on numeric ids are known after reading
    expected = [note for note in locally.notes if isinstance(note, str)]
    assert list(text.notes) == expected


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(), st.floats(allow_nan=False)), min_size=1),
    st.sampled_from(["trec", "csv"]),
)
def test_numbers_in_lines_have_every_bit_of_those_in_the_file(rows: list[tuple[str, int, float]], of: str) -> None:
    line = "{} Q0 {} 1 {} tag" if of == "trec" else "{},{},{}"
    numbered = [line.format(query, f"{at}-{doc}", repr(score)) for at, (query, doc, score) in enumerate(rows)]
    content = "\n".join([*(["query,doc,score"] if of == "csv" else []), *numbered]).encode()
    _, table = received(content, "run", f"run.{of}", of=of)
    found = rows_of(table, "run")
    assert found == sorted((query, f"{at}-{doc}", score) for at, (query, doc, score) in enumerate(rows))
    assert found == rows_of(named_file(content, f"run.{of}"), "run", format=of)


ANSWERS = {
    "gold.jsonl": b'{"query": "q1", "gold_answers": ["a", "b"]}\n{"query": 2, "gold_answers": "c"}\n',
    "guessed.jsonl": b'{"id": "q1", "expected": null, "target": "x"}\n{"id": "q2", "expected": null, "target": "y"}\n',
    "late.jsonl": b"\n".join(json.dumps({"id": f"q{at}", "target": "x"}).encode() for at in range(1100))
    + b'\n{"id": "last", "reference": "y"}\n',
    "gold.csv": b'question,answer\nq1,"a ""b"""\nq2,\n',
    "gold.tsv": b"question\tanswer\nq1\ta\n",
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_in_lines_are_those_in_the_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(ANSWERS[name])
    text, source = received(ANSWERS[name], "gold_answers", str(path), 500)
    golds = read_gold_answers(path)
    assert read_gold_answers(source, text.by_role).by_query == golds.by_query
    assert text.notes == golds.notes
    text, source = received(ANSWERS["gold.csv"], "answer", "answers.csv")
    predicted = read_predicted_answers(source, {}, text.by_role)
    assert predicted.by_query == {"q1": 'a "b"', "q2": None}


def test_verdicts_in_lines_are_those_in_the_file() -> None:
    row = {"record": "verdict", "query": "q", "task": "support", "against": "context", "type": "claim"}
    content = b"\n".join(json.dumps({**row, "item": f"c{at}", "label": "full"}).encode() for at in range(5)) + b"\n"
    text, source = received(content, "verdicts", "labels.jsonl")
    assert text.by_role == {}
    records = read_verdict_records(source)
    assert len(records.labels) == 5
    assert records.items.keys() == read_verdict_records(named_file(content, "labels.jsonl")).items.keys()


WRONG = {
    "number": ("run", RUN + b"q9 Q0 d 1 abc tag\n", "file.txt, line 'q9 Q0 d 1 abc tag': score 'abc' is not a number."),
    "utf-8": ("run", RUN + b"q9 Q0 d\xff 1 1 tag\n", "file.txt, line 'q9 Q0 d\ufffd 1 1 tag': b'd\\xff' is not UTF-8."),
    "columns": ("truth", QRELS + b"q9 0 d\n", "file.txt, line 'q9 0 d': the line has 3 columns."),
    "cell": ("run", CSV + b"q9,d,\n", "file.txt, line 'q9,d,': the score is missing."),
    "width": ("run", CSV + b"q9,d\n", "file.txt, line 'q9,d': the row has 2 columns, but the first row has 3."),
    "line break": ("run", CSV + b'q9,"d\n1",2\n', "file.txt, line 'q9,\"d': a quotation mark is not closed."),
    "apostrophe": ("run", CSV + b"q9,'=d,2\n", "file.txt: an id begins with an apostrophe"),
    "json": ("run", PAIRS + b'{"query": \n', "file.txt, line '{\"query\": ': not JSON"),
    "surrogate": ("run", b'{"query": "\\ud800", "doc": "d", "score": 1}\n', "file.txt:1, query: the id of the query"),
    "object": ("run", PAIRS + b"[1]\n", "file.txt, line '[1]': [1] is not an object."),
}  # fmt: skip


@pytest.mark.parametrize("fault", WRONG)
def test_an_error_names_the_file_and_shows_the_line(fault: str) -> None:
    role, content, message = WRONG[fault]
    assert role in get_args(Role)
    with pytest.raises(KaratError) as raised:
        rows_in_executor(content, role)  # type: ignore[arg-type]  # just checked
    assert str(raised.value).startswith(message)


def test_an_error_about_a_line_says_that_the_format_was_guessed() -> None:
    with pytest.raises(KaratError, match="The file is read as TREC; if it has another format, use run_format"):
        received(RUN + b"q9 Q0 d 1 abc tag\n", "run")


def test_every_file_begins_with_the_same_header() -> None:
    text = described(CSV, "run", "runs")
    more = as_lines(b"\n \nquery,doc,score\nq7,d,7\n", "part-2")
    found = tabled(text.reader, as_lines(CSV, "part-1"), more.slice(0, 1), more.slice(1))
    assert found["query"].to_pylist() == ["q1", "q1", "q2 ", "q7"]
    together = pa.Table.from_batches([as_lines(CSV, "part-1"), more]).combine_chunks().to_batches()
    assert tabled(text.reader, *together).to_pylist() == found.to_pylist()
    with pytest.raises(KaratError, match="part-3, line 'doc,query,score': the header differs from that of other files"):
        tabled(text.reader, as_lines(CSV, "part-1"), as_lines(b"doc,query,score\n1,2,3\n", "part-3"))
    rest = as_lines(b"query,doc,score\n", "part-4").set_column(1, STARTS, pa.array([False]))
    with pytest.raises(KaratError, match="score 'score' is not a number"):
        tabled(text.reader, rest)


@pytest.mark.parametrize("name", ["pairs.jsonl", "lists.jsonl", "grades.jsonl"])
def test_a_bucket_without_lines_is_an_empty_table(name: str) -> None:
    role, content = FILES[name]
    text = described(content, role, name)
    assert text.records is not None
    empty = text.records.source(tabled(text.reader, as_lines(content)).slice(0, 0))
    found: Any = read_run(empty, NO_TRUTH, columns=text.by_role)
    assert role == "truth" or [*found.batches()] == []
    assert isinstance(empty, pa.Table)


def test_a_bucket_with_one_line_is_read_as_all_others() -> None:
    text = described(PAIRS, "run", "run.txt")
    assert text.records is not None
    table = tabled(text.reader, as_lines(PAIRS)).slice(1, 1)
    assert rows_of(text.records.source(table), "run") == [("2", "d1", 1.5)]


def test_an_error_in_a_bucket_shows_the_lines() -> None:
    content = LISTS + b'{"id": "q1", "docs": []}\n'
    text = described(content, "run", "run.jsonl")
    assert text.records is not None
    table = tabled(text.reader, as_lines(content))
    with pytest.raises(KaratError) as raised:
        read_run(text.records.source(table), NO_TRUTH)
    assert str(text.records.show_lines(raised.value, table)) == (
        'run.jsonl, line \'{"id": "q1", "docs": []}\': query \'q1\' was already in run.jsonl, line'
        ' \'{"id": "q1", "docs": ["a", "b"]}\'. List all documents of a query together.'
    )
