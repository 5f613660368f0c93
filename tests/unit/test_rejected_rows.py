"""Rows that cannot be read are left out, and their errors collected, if whoever reads a file asks for that."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from karat import KaratError
from karat.errors import Place
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.json_decoding import STRICT_UP_TO, decode_json, decode_with_faults
from karat.reading.bytes.rejected_rows import MOST_ERRORS, RejectedRows
from karat.reading.pairs import tables, trec, trec_blocks
from karat.reading.pairs.any_source import Truth, read_run, read_truth
from karat.reading.pairs.containers import RankedLists, ScoredMappings, ScoredRows
from karat.reading.pairs.pair_checks import InvalidNumberError
from karat.reading.pairs.tables import RepeatedJudgments
from tests.block_size import block_size

Pair = tuple[str, str, float]


def pairs_of_run(source: Any, rejected: RejectedRows | None = None, **options: Any) -> list[Pair]:
    """All rows of a run; documents in lists have the score 0."""
    pairs: list[Pair] = []
    for load in read_run(source, Truth.empty(), rejected=rejected, **options).batches():
        batch = load()
        if isinstance(batch, ScoredMappings):
            for query, docs in zip(batch.queries, batch.docs, strict=True):
                pairs += [(query, doc, float(score)) for doc, score in docs.items()]
        elif isinstance(batch, ScoredRows):
            docs, scores = batch.docs.to_pylist(), batch.scores.tolist()
            for at, query in enumerate(batch.queries):
                span = slice(batch.offsets[at], batch.offsets[at + 1])
                pairs += [(query, doc, score) for doc, score in zip(docs[span], scores[span], strict=True)]
        else:
            assert isinstance(batch, RankedLists)
            pairs += [
                (query, str(doc), 0.0) for query, docs in zip(batch.queries, batch.docs, strict=True) for doc in docs
            ]
    return pairs


def pairs_of_truth(source: Any, rejected: RejectedRows | None = None, **options: Any) -> list[Pair]:
    """All judgments of ground truth."""
    truth = read_truth(source, rejected=rejected, **options)
    docs, grades = list(truth.docs), truth.grades.tolist()
    return [(query, docs[gold], grades[gold]) for at, query in enumerate(truth.queries) for gold in truth.golds(at)]


def lines_in(rejected: RejectedRows) -> list[Any]:
    return [error.place and error.place.line for error in rejected.errors]


# Any format


@dataclass(frozen=True)
class Form:
    """How rows are written in a format: valid ones, and those that are wrong, whose number may be what is wrong."""

    format: str
    row: str
    wrong: Mapping[str, bool]
    number: Literal["grade", "score"] = "score"
    header: str = ""
    skipped: Sequence[str] = ("",)


_OBJECT = '{"query": "%s", "doc": "%s", "score": %s}'
FORMS = [
    Form(
        "trec", "%s Q0 %s 1 %s tag",
        {"q1 Q0 d": False, "q1 Q0 d 1 x tag": True, "q1 Q0 d 1 nan tag": True, "q1\tQ0 d 1 1e999 tag": True,
         "q1 Q0 d\0 1 1 tag": False, "q1 Q0 d\udcff 1 1 tag": False, "x": False},
        skipped=("", "  ", "# a comment"),
    ),
    Form(
        "trec", "%s 0 %s %s", {"q1 0 d": False, "q1 0 d x": True, "q1 0 d inf": True, "q1 0 d 1 1": False},
        number="grade", skipped=("", "# a comment"),
    ),
    Form(
        "csv", '%s,"%s",%s',
        {"q1,d": False, "q1,d,1,1": False, "q1,d,x": True, "q1,d,": True, "q1,,1": False, '"q"1,d,1': False,
         'q1,"d,1': False, "q1,d\udcff,1": False},
        header="query,doc,score", skipped=("", " "),
    ),
    Form(
        "csv", "%s,a text,%s,%s", {"q1,a,d": False, 'q1,"a,d,1': False, "q1,a,d,true": True},
        header="query,text,doc,score",
    ),
    Form("csv", '%s,"two\nlines, ""quoted""",%s,%s', {"q1,a,d": False, "q1,a,d,x": True},
         header="query,text,doc,score"),
    Form("tsv", "%s\t%s\t%s", {"q1\td": False, "q1\td\tx": True, "\td\t1": False}, number="grade",
         header="query-id\tcorpus-id\tscore"),
    Form(
        "jsonl", _OBJECT,
        {_OBJECT % ("q1", "d", '"x"'): True, _OBJECT % ("q1", "d", "null"): True, _OBJECT % ("", "d", "1"): False,
         '{"query": "q1", "doc"': False, "[1, 2]": False, "5": False,
         '{"query": "q1", "score": 1}': False, _OBJECT % ("q1", "d\udcff", "1"): False,
         '{"query": "q1", "doc": "d", "doc": "e", "score": 1}': False},
    ),
]  # fmt: skip
NUMBERS = ["0", "1", "2.5", "-3", "1e2"]


@dataclass(frozen=True)
class File:
    """A file with rows that are wrong, and what is to be read from it."""

    form: Form
    data: bytes
    pairs: list[Pair]
    wrong: dict[int, bool]
    """by line: whether it is only the number that is wrong"""

    @contextmanager
    def written(self, folder: Path) -> Iterator[str]:
        path = folder / "file"
        path.write_bytes(self.data)
        yield str(path)

    def read(self, path: str, rejected: RejectedRows | None = None) -> list[Pair]:
        read = pairs_of_truth if self.form.number == "grade" else pairs_of_run
        return read(path, rejected, format=self.form.format)


@st.composite
def files(draw: st.DrawFn) -> File:
    """Valid rows, among them wrong ones at any position, with blank lines, comments and any line ends."""
    form = draw(st.sampled_from(FORMS))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    wrong_rows = st.sampled_from([*form.wrong])
    kinds = draw(st.lists(st.sampled_from(["valid"] * 4 + ["wrong"] * 2 + ["skipped"]), max_size=25))
    kinds.insert(draw(st.integers(0, len(kinds))), "valid")
    text, line = (form.header + end, 2) if form.header else ("", 1)
    pairs, wrong = [], {}
    for at, kind in enumerate(kinds):
        row = draw(st.sampled_from(form.skipped))
        if kind == "valid":
            query, number = draw(st.sampled_from(["q1", "q2", "é"])), draw(st.sampled_from(NUMBERS))
            pairs.append((query, f"d{at}", float(number)))
            row = form.row % (query, f"d{at}", number)
        elif kind == "wrong":
            row = draw(wrong_rows)
            wrong[line] = form.wrong[row]
        text += row + end
        line += 1 + row.count("\n")
    data = (draw(st.sampled_from(["", "\ufeff"])) + text).encode("utf-8", "surrogateescape")
    return File(form, gzip.compress(data) if draw(st.booleans()) else data, pairs, wrong)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files(), st.sampled_from([None, 1, 50, 1 << 20]))
def test_wrong_rows_are_left_out_and_their_lines_are_named(tmp_path: Path, file: File, size: int | None) -> None:
    rejected = RejectedRows()
    with file.written(tmp_path) as path, block_size(size) if size else nullcontext():
        assert sorted(file.read(path, rejected)) == sorted(file.pairs)
        found = {error.place.line: isinstance(error, InvalidNumberError) for error in rejected.errors if error.place}
        assert (found, list(found), rejected.count) == (file.wrong, sorted(file.wrong), len(file.wrong))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files(), st.sampled_from([None, 50]))
def test_without_a_collector_the_first_wrong_row_is_an_error(tmp_path: Path, file: File, size: int | None) -> None:
    with file.written(tmp_path) as path, block_size(size) if size else nullcontext():
        if not file.wrong:
            assert sorted(file.read(path)) == sorted(file.pairs)
            return
        with pytest.raises(KaratError) as raised:
            file.read(path)
        assert raised.value.place is not None
        # Of JSON lines, those that are no objects come first.
        assert raised.value.place.line in ([*file.wrong] if file.form.format == "jsonl" else [min(file.wrong)])


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files())
def test_a_row_counts_once_however_often_the_file_is_read(tmp_path: Path, file: File) -> None:
    rejected = RejectedRows()
    with file.written(tmp_path) as path:
        for _ in range(2):
            file.read(path, rejected)
        with block_size(30):
            file.read(path, rejected)
    assert rejected.count == len(rejected.errors) == len(file.wrong)


# Tables in columns


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["q1", "q2", "q2", None, ""]),
        st.sampled_from(["a", "b", "c", "d", "e", None]),
        st.sampled_from([1.0, 0.5, 0.25, None, float("nan")]),
    ),
    min_size=1,
    max_size=30,
)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ROWS, st.sampled_from(["parquet", "feather", "frame", "json"]), st.integers(1, 40))
def test_wrong_rows_of_a_table_are_left_out_and_their_numbers_are_known(
    tmp_path: Path, rows: list[tuple[str | None, str | None, float | None]], form: str, group: int
) -> None:
    rows = [(query, doc and f"{doc}{at}", number) for at, (query, doc, number) in enumerate(rows)]
    rows.append(("q1", "z", 1.0))
    valid = [at for at, (query, doc, number) in enumerate(rows) if query and doc and number == number and number]
    names = ("query", "doc", "score")
    table = pa.table({name: [row[at] for row in rows] for at, name in enumerate(names)})
    path = str(tmp_path / f"run.{form}")
    if form == "parquet":
        pq.write_table(table, path, row_group_size=group)
    elif form == "feather":
        feather.write_feather(table, path, chunksize=group)
    elif form == "json":
        rows = [(*row[:2], None if row[2] != row[2] else row[2]) for row in rows]  # JSON has no NaN
        Path(path).write_text(json.dumps([dict(zip(names, row, strict=True)) for row in rows]))
    rejected = RejectedRows()
    assert sorted(pairs_of_run(table if form == "frame" else path, rejected)) == sorted(rows[at] for at in valid)
    places = [error.place for error in rejected.errors if error.place]
    wrong = sorted({*range(len(rows))} - {*valid})
    if form == "json":
        assert {place.field.split(",")[0] for place in places} == {f"object {at + 1}" for at in wrong}
    else:
        assert [place.row for place in places] == wrong
    assert rejected.count == len(wrong)


@pytest.mark.parametrize("form", ["parquet", "frame", "rows"])
def test_a_duplicate_among_wrong_rows_is_located_by_the_numbers_of_all_rows(tmp_path: Path, form: str) -> None:
    rows: list[Any] = [("q", None, 1), ("q", "a", 1), ("q", "b", None), ("q", "b", 1), (None, "a", 1), ("q", "a", 0)]
    table = pa.table({name: [row[at] for row in rows] for at, name in enumerate(("query", "doc", "grade"))})
    path = str(tmp_path / "truth.parquet")
    pq.write_table(table, path, row_group_size=4)
    source: Any = {"parquet": path, "frame": table, "rows": rows}[form]
    with pytest.raises(KaratError, match="rows 1 and 5: document a is judged twice for query q"):
        read_truth(source, rejected=RejectedRows())


class _CountedRejectedRows(RejectedRows):
    """Rejected rows that count how often one looks a row up."""

    looked_up = 0

    def __contains__(self, place: Place) -> bool:
        self.looked_up += 1
        return super().__contains__(place)


@pytest.mark.parametrize("form", ["parquet", "frame"])
def test_the_rows_of_a_table_are_numbered_once_for_all_duplicates(tmp_path: Path, form: str) -> None:
    n = 300
    docs = ["wrong", *(f"d{at % n}" for at in range(2 * n))]
    table = pa.table({"query": ["q"] * len(docs), "doc": docs, "grade": [None, *[1.0] * (2 * n)]})
    path = str(tmp_path / "truth.parquet")
    pq.write_table(table, path)
    rejected, repeated = _CountedRejectedRows(), RepeatedJudgments()
    assert len(read_truth(path if form == "parquet" else table, rejected=rejected, repeated=repeated).docs) == n
    assert [str(each.place).partition(", ")[2] for each in repeated.judgments] == [
        f"rows {at + 1} and {at + 1 + n}" for at in range(n)
    ]
    assert rejected.looked_up < 10 * len(docs)


def test_a_duplicate_among_wrong_lines_is_located_by_the_lines_that_were_read(tmp_path: Path) -> None:
    path = tmp_path / "truth"
    path.write_text("q 0 a x\nq 0 a 1\nq 0 a 0\n")
    with pytest.raises(KaratError, match="truth:2 and 3: document a is judged twice"):
        read_truth(path, rejected=RejectedRows())
    objects = [{"query": "q", "doc": "a", "grade": grade} for grade in ("x", 1, None, 0)]
    for text, place in [(json.dumps(objects), "object 2.*object 4"), ("\n".join(map(json.dumps, objects)), ":2 and 4")]:
        path.write_text(text)
        with pytest.raises(KaratError, match=f"{place}: document a is judged twice"):
            read_truth(path, rejected=RejectedRows())
    path.write_text("query,doc,grade\nq,a,x\nq,a,1\nq\nq,a,0\n")
    with pytest.raises(KaratError, match="truth:3 and 5: document a is judged twice"):
        read_truth(path, rejected=RejectedRows())


def test_wrong_rows_of_a_table_in_several_files_are_named_with_their_file(tmp_path: Path) -> None:
    for at, score in enumerate((1.0, None)):
        table = pa.table({"query": ["q", "q"], "doc": [f"a{at}", f"b{at}"], "score": [0.5, score]})
        pq.write_table(table, tmp_path / f"part-{at}.parquet")
    rejected = RejectedRows()
    assert [doc for _, doc, _ in pairs_of_run(str(tmp_path), rejected)] == ["a0", "b0", "a1"]
    assert [error.place for error in rejected.errors] == [
        Place(str(tmp_path / "part-1.parquet"), row=1, column="score")
    ]


def test_many_quotation_marks_that_are_not_closed_are_an_error_of_the_file(tmp_path: Path) -> None:
    # From each of these lines, a value goes on to the end of the file.
    path = tmp_path / "truth.csv"
    path.write_text("query,doc,grade\nq,a,1\n" + 'b",x,"c\n' * 20)
    rejected = RejectedRows()
    assert list(read_truth(path, rejected=rejected).docs) == ["a"]
    assert [error.place.line for error in rejected.errors if error.place] == list(range(3, 23))
    path.write_text("query,doc,grade\nq,a,1\n" + 'b",x,"c\n' * 21)
    with pytest.raises(KaratError, match=r"truth.csv:23: a quotation mark is not closed"):
        read_truth(path, rejected=RejectedRows())


# Mappings and lists


@pytest.mark.parametrize("in_file", [True, False])
def test_wrong_documents_of_a_mapping_are_left_out(tmp_path: Path, in_file: bool) -> None:
    mapping = {"q1": {"a": 1, "b": "x", "": 1}, "q2": ["a", {}], "": {"a": 1}, "q3": ["c"]}
    path = tmp_path / "run.json"
    path.write_text(json.dumps(mapping))
    name = str(path) if in_file else "the run"
    rejected = RejectedRows()
    assert pairs_of_run(path if in_file else mapping, rejected) == [("q1", "a", 1), ("q3", "c", 0)]
    assert [(str(error.place), type(error)) for error in rejected.errors] == [
        (f"{name}, query ''", KaratError),
        (f"{name}, query q2", KaratError),
        (f"{name}, query q1, document b", InvalidNumberError),
        (f"{name}, query q1, document ''", KaratError),
    ]


@pytest.mark.parametrize("in_file", [True, False])
def test_a_list_of_gold_documents_with_an_id_that_is_not_unicode_is_left_out(tmp_path: Path, in_file: bool) -> None:
    mapping = {"q1": ["a", "b\ud800"], "q2": {"c": 1, "d\ud800": 1}, "q3": ["e"]}
    path = tmp_path / "truth.json"
    path.write_text(json.dumps(mapping))
    rejected = RejectedRows()
    truth = read_truth(path if in_file else mapping, rejected=rejected)
    assert (truth.queries, list(truth.docs)) == (("q2", "q3"), ["c", "e"])
    assert [error.place.query for error in rejected.errors if error.place] == ["q1", "q2"]


def test_queries_without_documents_are_left_out_of_a_mapping(tmp_path: Path) -> None:
    path = tmp_path / "truth.json"
    path.write_text('{"q1": {"a": 2}, "q2": 5, "q3": null}')
    rejected = RejectedRows()
    assert pairs_of_truth(path, rejected) == [("q1", "a", 2)]
    assert [error.place and error.place.field for error in rejected.errors] == ["'q2'", "'q3'"]


def test_wrong_objects_with_lists_of_documents_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(
        '{"query": "q1", "documents": ["a"]}\n'
        '{"query": "q2", "documents": 5}\n'
        "\n"
        '{"query": "q1", "documents": ["b"]}\n'
        '{"documents": ["c"]}\n'
        '{"query": "q3", "documents": [{"id": "d", "score": 1}, {}]}\n'
        "{\n"
        '{"query": "q4", "documents": ["e"]}\n'
    )
    rejected = RejectedRows()
    assert pairs_of_run(path, rejected) == [("q1", "a", 0), ("q4", "e", 0)]
    assert lines_in(rejected) == [2, 4, 5, 6, 7]


def test_wrong_lists_of_documents_in_a_table_are_left_out(tmp_path: Path) -> None:
    lists = {"query": ["q1", "q2", None, "q3"], "documents": [["a"], [None], ["b"], ["c"]]}
    pq.write_table(pa.table(lists), tmp_path / "run.parquet")
    for source in (tmp_path / "run.parquet", pa.table(lists)):
        rejected = RejectedRows()
        assert [doc for _, doc, _ in pairs_of_run(source, rejected)] == ["a", "c"]
        assert [error.place and error.place.row for error in rejected.errors] == [1, 2]


def test_wrong_rows_in_a_list_are_left_out() -> None:
    rejected = RejectedRows()
    rows = [("q", "a", 1), ("q", "b"), ("q", "c", "x"), ("q", "d", 0), 5]
    assert pairs_of_truth(iter(rows), rejected) == [("q", "a", 1), ("q", "d", 0)]
    assert [error.place and error.place.row for error in rejected.errors] == [1, 2, 4]


def test_entries_that_are_no_objects_are_left_out_of_a_list_in_json(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text('[5, {"query": "q", "doc": "a", "score": 1}, [], {"query": "q", "doc": "b", "score": 2}]')
    rejected = RejectedRows()
    assert pairs_of_run(path, rejected) == [("q", "a", 1), ("q", "b", 2)]
    assert [error.place and error.place.field for error in rejected.errors] == ["object 1", "object 3"]


# What is wrong with the whole file


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("run.json", b'[["q", "a", 1], ["q", "b", 2]]', "is not an object"),
        ("run.json", b'{"q": 1}', "is not a list or an object of documents"),
        ("run.jsonl", b'[\n{"query": "q",\n', "not JSON|one list"),
        ("run.csv", b"query,doc,text\nq,a,x\nq,b,y\n", "no column"),
        ("run.trec", "q Q0 a 1 1 t".encode("utf-16"), "UTF-16"),
        ("run.trec.gz", gzip.compress(b"q Q0 a 1 1 t\n" * 99, mtime=0)[:-20], "damaged|incomplete|ends"),
        ("run.trec", b"q Q0 a 1 1 t\n" + b"x" * (1 << 21), "longer than 1 MB"),
    ],
)
def test_what_is_wrong_with_the_whole_file_is_an_error(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with block_size(1 << 20), pytest.raises(KaratError, match=message):
        pairs_of_run(tmp_path / name, RejectedRows())


def test_ground_truth_without_a_readable_row_is_empty(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q 0 a x\nq 0 b y\n")
    rejected = RejectedRows()
    with pytest.raises(KaratError, match="the ground truth is empty"):
        read_truth(tmp_path / "qrels", rejected=rejected)
    assert lines_in(rejected) == [1, 2]


def test_a_long_value_of_another_column_is_not_wrong(tmp_path: Path) -> None:
    text = "x" * 200_000  # more than Python's csv module reads
    (tmp_path / "run.csv").write_text(f"query,doc,score,text\nq,a,1,{text}\nq,b,2,y\n")
    rejected = RejectedRows()
    assert pairs_of_run(tmp_path / "run.csv", rejected) == [("q", "a", 1), ("q", "b", 2)]
    assert rejected.count == 0


# The collector


@pytest.mark.parametrize("size", [None, 1 << 12])
def test_only_the_first_errors_are_kept_and_all_are_counted(tmp_path: Path, size: int | None) -> None:
    wrong = 3 * MOST_ERRORS
    (tmp_path / "run").write_text("q Q0 a 1 1 t\n" + "q Q0 b 1\n" * wrong + "q Q0 c 1 1 t\n")
    rejected = RejectedRows()
    with block_size(size) if size else nullcontext():
        assert len(pairs_of_run(tmp_path / "run", rejected, format="trec")) == 2
    assert rejected.count == wrong
    assert lines_in(rejected) == [*range(2, MOST_ERRORS + 2)]


def test_what_can_be_read_once_is_read_without_the_collector_afterwards() -> None:
    file = InputFile.of(io.BytesIO(b"q 0 a 1\nq 0 b x\n"))
    rejected = RejectedRows()
    assert pairs_of_truth(file, rejected) == [("q", "a", 1)]
    with pytest.raises(InvalidNumberError) as raised:
        read_truth(file)
    assert [(error.what, error.place) for error in rejected.errors] == [(raised.value.what, raised.value.place)]


def test_a_wrong_row_does_not_make_its_block_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[int] = []

    def parse_lines(block: Any, layout: Any) -> Any:
        parsed.append(len(block.data))
        return read(block, layout)

    read = trec.parse_lines
    monkeypatch.setattr(trec_blocks, "parse_lines", parse_lines)
    lines = [f"q{at // 1000} Q0 d{at} 1 {at} tag" for at in range(100_000)]
    lines[40_000] = "q40 Q0"
    (tmp_path / "run").write_text("\n".join(lines))
    monkeypatch.setattr(tables, "SMALL_FILE", -1)
    rejected = RejectedRows()
    assert len(pairs_of_run(tmp_path / "run", rejected)) == 99_999
    assert lines_in(rejected) == [40_001]
    assert sum(parsed) < 1 << 17


# JSON that Python and JavaScript write, although it is none


def of_json(path: Path, text: str, kind: str) -> tuple[list[tuple[str, str, Any]], list[tuple[str, str]]]:
    """The pairs of a run or of ground truth in JSON, and the types and places of the errors."""
    path.write_text(text)
    rejected = RejectedRows()
    pairs = (pairs_of_run if kind == "run" else pairs_of_truth)(path, rejected)
    errors = [(type(error).__name__, str(error.place).removeprefix(str(path))) for error in rejected.errors]
    return pairs, errors


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("kind", ["run", "truth"])
@pytest.mark.parametrize("size", [0, STRICT_UP_TO])
def test_a_constant_in_a_mapping_is_a_wrong_number_of_its_document(
    tmp_path: Path, constant: str, kind: str, size: int
) -> None:
    padding = " " * size
    found = of_json(tmp_path / "pairs.json", f'{{"q": {{"a": {constant}, "b": 2}}, "r": {{"a": 1}}{padding}}}', kind)
    assert found == ([("q", "b", 2), ("r", "a", 1)], [("InvalidNumberError", ", query q, document a")])


@pytest.mark.parametrize(
    ("kind", "second", "error"),
    [
        ("run", 1, "ListedTwiceError"),
        ("run", 2, "ListedTwiceError"),
        ("truth", 1, "RepeatedJudgmentError"),
        ("truth", 2, "ContradictingJudgmentsError"),
    ],
)
def test_a_document_that_appears_twice_in_a_mapping_keeps_its_first_number(
    tmp_path: Path, kind: str, second: int, error: str
) -> None:
    text = f'{{"q": {{"a": 1, "b": 3, "a": {second}}}, "r": {{"a": 1}}}}'
    found = of_json(tmp_path / "pairs.json", text, kind)
    assert found == ([("q", "a", 1), ("q", "b", 3), ("r", "a", 1)], [(error, ", query q, document a")])


def test_a_query_that_appears_twice_in_a_mapping_keeps_its_first_documents(tmp_path: Path) -> None:
    found = of_json(tmp_path / "run.json", '{"q": {"a": 1}, "r": {"a": 1}, "q": {"b": 1}}', "run")
    assert found == ([("q", "a", 1), ("r", "a", 1)], [("KaratError", ", query q")])


def test_a_constant_elsewhere_in_a_mapping_leaves_out_its_query(tmp_path: Path) -> None:
    found = of_json(tmp_path / "run.json", '{"q": [{"id": "a", "score": NaN}], "r": ["a"], "s": NaN}', "run")
    assert found == ([("r", "a", 0)], [("KaratError", ", query q"), ("KaratError", ", 's'")])


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_a_constant_in_an_object_is_a_wrong_number_if_it_is_the_number_that_is_read(tmp_path: Path, form: str) -> None:
    objects = [
        '{"query": "q", "doc": "a", "score": NaN}',
        '{"query": "q", "doc": "b", "score": 2, "seconds": NaN}',
        '{"query": "q", "doc": "c", "doc": "d", "score": 2}',
        '{"query": "q", "doc": "e", "score": 1}',
    ]
    places = [f":{at}" if form == "jsonl" else f", object {at}" for at in (1, 2, 3)]
    text = "\n".join(objects) if form == "jsonl" else f"[{','.join(objects)}]"
    pairs, errors = of_json(tmp_path / f"run.{form}", text, "run")
    assert pairs == [("q", "e", 1)]
    assert sorted(errors, key=lambda error: error[1]) == [
        ("InvalidNumberError", f"{places[0]}, score"),
        ("KaratError", places[1]),
        ("KaratError", places[2]),
    ]


def test_a_constant_in_the_documents_of_an_object_is_a_wrong_number_of_its_document(tmp_path: Path) -> None:
    lines = ['{"query": "q", "documents": {"a": NaN, "b": 1}}', '{"query": "r", "documents": [{"id": "a", "x": NaN}]}']
    lines += ['{"query": "s", "documents": {"a": 1}}']
    found = of_json(tmp_path / "run.jsonl", "\n".join(lines), "run")
    assert found == (
        [("q", "b", 1), ("s", "a", 1)],
        [("InvalidNumberError", ", query q, document a"), ("KaratError", ":2")],
    )


JSON_KEYS = st.sampled_from(["a", "b", "c"])
JSON_VALUES = st.recursive(
    st.sampled_from(["1", "NaN", "-Infinity", "1e999", '"t"', "null"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda parts: f"[{', '.join(parts)}]"),
        st.lists(st.tuples(JSON_KEYS, inner), max_size=4).map(
            lambda pairs: f"{{{', '.join(f'{json.dumps(key)}: {value}' for key, value in pairs)}}}"
        ),
    ),
    max_leaves=12,
)


@given(JSON_VALUES)
def test_json_has_faults_exactly_if_it_is_refused_where_rows_are_not_left_out(text: str) -> None:
    value, faults = decode_with_faults(text.encode(), "x", "")
    with pytest.raises(KaratError) if faults else nullcontext():
        assert repr(decode_json(text.encode(), "x", "")) == repr(value)
    for fault in faults:
        found = value
        for step in fault.path:
            found = found[step]
        assert not fault.is_constant or repr(found) == repr(fault.value)


@given(JSON_VALUES, st.sampled_from(["run", "truth"]))
def test_a_json_file_with_faults_that_wrong_rows_are_left_out_of_has_an_error(text: str, kind: str) -> None:
    data = text.encode()
    rejected = RejectedRows()
    read = pairs_of_run if kind == "run" else pairs_of_truth
    try:
        read(InputFile.of(io.BytesIO(data)), None, format="json")
    except KaratError:
        pass
    else:
        return
    with suppress(KaratError):
        read(InputFile.of(io.BytesIO(data)), rejected, format="json")
        assert rejected.errors


@pytest.mark.parametrize("first", [0, 1])
def test_the_first_errors_of_each_type_are_kept_and_the_others_counted(
    monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    monkeypatch.setattr("karat.reading.bytes.rejected_rows.MOST_ERRORS", 5)
    rejected = RejectedRows()
    for line in [*range(100)][:: -1 if first else 1]:
        kind = InvalidNumberError if line < 90 else KaratError
        rejected.add(kind("wrong", place=Place("run", line=line)))
    assert lines_in(rejected) == [*range(5), *range(90, 95)]
    assert rejected.others() == {InvalidNumberError: 85, KaratError: 5}
