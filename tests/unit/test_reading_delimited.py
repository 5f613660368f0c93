"""CSV and TSV files of ground truth and runs: the same rows from every way of writing them, or one clear error."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from karat import KaratError, evaluate
from karat.reading.bytes.input_file import InputFile
from karat.reading.pairs import delimited_blocks
from karat.reading.pairs.any_source import read_truth
from karat.reading.pairs.delimited import DelimitedTable
from karat.reading.pairs.delimited_layout import layout_of, looks_delimited, separator_of
from tests.block_size import block_size

Rows = list[tuple[str, str, float]]
Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(data: str | bytes, name: str = "file.csv") -> str:
        (tmp_path / name).write_bytes(data.encode() if isinstance(data, str) else data)
        return str(tmp_path / name)

    return write


def table_of(
    data: str | bytes, number: Literal["grade", "score"] = "score", columns: dict[str, str] | None = None
) -> DelimitedTable:
    file = InputFile("file.csv", _content=data.encode() if isinstance(data, str) else data)
    return DelimitedTable(file, number, layout_of(file, "csv", number, columns))


def rows_in_blocks(table: DelimitedTable, *, whole_queries: bool = False) -> Rows:
    return [
        row
        for part in (part() for part in table.parts(whole_queries=whole_queries))
        for row in zip(part.query.to_pylist(), part.doc.to_pylist(), part.number.tolist(), strict=True)
    ]


def rows_of(data: str | bytes, number: Literal["grade", "score"] = "score", **columns: str) -> Rows:
    """The rows of a file, which are the same in plain Python and with Arrow."""
    table = table_of(data, number, columns)
    small = table.small()
    rows = rows_in_blocks(table)
    assert small is not None
    assert [(query, doc, number) for query, docs in small.items() for doc, number in docs.items()] == rows
    return rows


def error_of(data: str | bytes, number: Literal["grade", "score"] = "score", **columns: str) -> str:
    """The error, which is the same in plain Python and with Arrow."""
    with pytest.raises(KaratError) as with_arrow:
        rows_in_blocks(table_of(data, number, columns))
    with pytest.raises(KaratError) as in_python:
        table_of(data, number, columns).small()
    assert str(in_python.value) == str(with_arrow.value)
    return str(in_python.value)


ONE: Rows = [("q1", "d1", 0.5)]


# What is read.


@pytest.mark.parametrize(
    "data",
    [
        "query,doc,score\nq1,d1,0.5\n",
        "query;doc;score\r\nq1;d1;0.5\r\n",
        "query\tdoc\tscore\rq1\td1\t5e-1",
        '"query","doc","score"\n"q1","d1","0.5"\n',
        "\ufeffquery,doc,score\nq1,d1,0.5\n",
        "\n\nquery,doc,score\n\nq1,d1,0.5\n \n",
        "\t\nquery,doc,score\nq1,d1,0.5\n",
        "query, doc, score\nq1, d1, 0.5\n",
        "score,text,doc,query\n0.5,\"two\nlines, and a \"\"mark\"\"\",d1,q1\n",
        'text,query,doc,score\n5" disk,q1,d1,0.5\n',
        ",qid,docno,score\n0,q1,d1,0.5\n",
        ",".join([*map(str, range(100)), "doc", "query", "score"]) + "\n" + "x," * 100 + "d1,q1,.5\n",
        "q1,d1,0.5\n",
        "q1,d1,1,0.5\nq1,d2,2,0.25\n",
        "q1;Q0;d1;1;0.5;tag\n",
    ],
)  # fmt: skip
def test_a_run_is_read_however_it_is_written(data: str) -> None:
    assert rows_of(data)[:1] == ONE


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        ("query-id\tcorpus-id\tscore\nq1\td1\t2\n", [("q1", "d1", 2.0)]),
        ("1\t0\t7\t1\n2\t0\t8\t1\n", [("1", "7", 1.0), ("2", "8", 1.0)]),
        ("q1\td1\nq2\td2\n", [("q1", "d1", 1.0), ("q2", "d2", 1.0)]),
        ("query,doc\nq1,d1\n", [("q1", "d1", 1.0)]),
        ("q1,d1,-1\n", [("q1", "d1", -1.0)]),
        ("qid,docno,label\nq1,d1,True\nq1,d2,False\n", [("q1", "d1", 1.0), ("q1", "d2", 0.0)]),
    ],
)
def test_ground_truth_is_read_in_the_layouts_that_are_in_use(data: str, rows: Rows) -> None:
    assert rows_of(data, "grade") == rows


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("query;answer (short, plain)\nq1;a\nq2;b\n", ";"),
        ("1\twhat is a, b, c?\n", "\t"),
        ("query,answer\nq1,a; b\n", ","),
    ],
)
def test_the_separator_is_the_one_with_which_rows_are_equally_wide(text: str, separator: str) -> None:
    assert separator_of(text) == separator


def test_ids_are_texts_and_keep_their_zeros_blanks_inside_and_quotation_marks() -> None:
    data = 'query,doc,score\n007,"a ""b"", c",1\n007,"\n",2\n007,Ünï 1.0,3\n007," x",4\n'
    assert [doc for _, doc, _ in rows_of(data)] == ['a "b", c', "\n", "Ünï 1.0", " x"]
    assert {query for query, _, _ in rows_of(data)} == {"007"}


def test_the_guard_of_safe_csv_is_not_part_of_an_id() -> None:
    assert rows_of("query,doc,score\n'=q,d,1\nq2,'@d,2\n") == [("=q", "d", 1.0), ("q2", "@d", 2.0)]
    unsafe = "query,doc,score\n'=q,d,1\n=q2,'d,2\n"
    assert rows_of(unsafe) == [("'=q", "d", 1.0), ("=q2", "'d", 2.0)]


def test_columns_can_be_given_by_name_or_by_number_from_1() -> None:
    assert rows_of("a,b,c,d\nq1,x,d1,0.5\n", query="a", doc="3", score="d") == ONE
    assert rows_of("x,q1,d1,0.5,y,z,w\n", query="2", doc="3", score="4") == ONE
    assert rows_of("q1,d1,7\nq1,d2,9\n", score="3") == [("q1", "d1", 7.0), ("q1", "d2", 9.0)]


def test_ranks_without_scores_are_an_order() -> None:
    expected = [("q1", "d2", -1.0), ("q1", "d1", -2.0)]
    assert rows_of("query,doc,rank\nq1,d2,1\nq1,d1,2.0\n") == expected
    assert rows_of("q1\td2\t1\nq1\td1\t2\n") == expected
    assert rows_of("q1\td2\t5\nq1\td1\t7\n", rank="3") == [("q1", "d2", -5.0), ("q1", "d1", -7.0)]
    assert rows_of("query,doc,rank,score\nq1,d1,1,0.5\n") == ONE


def test_what_was_assumed_about_a_file_is_a_note() -> None:
    assert table_of("query,doc,score\nq,d,1\n").notes == ()
    assert table_of("q,d,1\nq,e,2\n").notes == (
        "file.csv: the file has no header; its columns are read as query, doc and rank",
    )
    assert (
        table_of("q,d\n", "grade").notes[1] == "file.csv: the file has no grades, so every document in it has grade 1"
    )
    assert table_of("q,d,1\n", columns={"query": "1", "doc": "2", "score": "3"}).notes == ()


@pytest.mark.parametrize("text", ["x" * 200_000, "a line\n" * 30_000])
def test_long_texts_in_other_columns_do_not_matter(text: str) -> None:
    table = table_of(f'query,doc,score,text\nq1,d1,0.5,"{text}"\n')
    assert table.small() in (None, {"q1": {"d1": 0.5}})
    assert rows_in_blocks(table) == ONE


# Python's csv module writes a carriage return without quoting it.
CELLS = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0\r"), min_size=1, max_size=5) | (
    st.sampled_from(['"', 'a"b', '""', "a,b", "a;b", "a\tb", "a\nb", "a\r\nb", "007", "ü", "q 1", "#1", "1e5"])
)


@st.composite
def files(draw: st.DrawFn) -> tuple[bytes, Rows]:
    """A file as Python's csv module writes it, in many dialects, and its rows."""
    pairs = draw(st.lists(st.tuples(CELLS, CELLS), unique=True, min_size=1, max_size=12))
    numbers = st.floats(allow_nan=False, allow_infinity=False)
    rows = [(query.strip() or "q", doc.strip() or "d", draw(numbers)) for query, doc in pairs]
    rows = [row for row in rows if row[0][0] not in "'\ufeff" and row[1][0] != "'"]
    rows = (
        sorted({row[:2]: row for row in rows}.values())
        if draw(st.booleans())
        else list({r[:2]: r for r in rows}.values())
    )
    quoting: Any = draw(st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC]))
    order = draw(st.permutations(range(4)))
    text = io.StringIO(newline="")
    writer = csv.writer(
        text,
        delimiter=draw(st.sampled_from(",;\t")),
        quoting=quoting,
        lineterminator=draw(st.sampled_from(["\n", "\r\n"])),
    )
    for row in [("query", "doc", "score", "text"), *((*row, draw(CELLS)) for row in rows)]:
        writer.writerow([row[at] for at in order])
    return text.getvalue().encode(), rows


@given(files(), st.integers(1, 40), st.booleans())
def test_every_dialect_gives_the_rows_that_were_written(
    file: tuple[bytes, Rows], size: int, whole_queries: bool
) -> None:
    data, rows = file
    table = table_of(data)
    with block_size(size):
        assert rows_in_blocks(table, whole_queries=whole_queries) == rows
    small = table.small()
    assert small is not None
    assert {(query, doc): number for query, docs in small.items() for doc, number in docs.items()} == {
        (query, doc): number for query, doc, number in rows
    }


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 99)), min_size=1, unique=True).map(sorted),
    st.integers(1, 64),
)
def test_blocks_end_where_the_query_changes_whatever_column_it_is_in(pairs: list[tuple[str, int]], size: int) -> None:
    text = "n,text,query,doc,score\n" + "".join(f'{at},"x\n,{q}""",{q},d{d},1\n' for at, (q, d) in enumerate(pairs))
    for data in (text, text.replace('"x\n,', "x").replace('""",', ",")):
        with block_size(size):
            parts = [{*part().query.to_pylist()} for part in table_of(data).parts()]
        assert [query for queries in parts for query in sorted(queries)] == sorted({query for query, _ in pairs})


# Errors.


@pytest.mark.parametrize(
    ("row", "line", "error"),
    [
        ("q1,d1", 3, "the row has 2 columns, but the first row has 3. Put values that contain a comma"),
        ("q1,d1,1,", 3, "the row has 4 columns, but the first row has 3. Put values that contain a comma"),
        ("q1,d1,0,5", 3, "the row has 4 columns, but the first row has 3. Put values that contain a comma"),
        ("q1,d1,x", 3, "score 'x' is not a number. If it is in another column, use run_columns="),
        ("q1,d1,", 3, "the score is missing"),
        ("q1,d1,nan", 3, "score 'nan' is not a number"),
        ("q1,d1,1e999", 3, "score '1e999' is too large"),
        ('q1,d1,"1,000"', 3, "score '1,000' is not a number. Write numbers with a decimal point"),
        ("q1,d1,1_0", 3, "score '1_0' is not a number"),
        (",d1,1", 3, "the id of the query is empty"),
        ('q1,"",1', 3, "the id of the document is empty"),
        ('q1,"d1,1', 3, "a quotation mark is not closed"),
        ('q1,"d"1,1', 3, "a closing quotation mark is not followed by a comma"),
        ('q1,"d\n1",2\nq1,d2,x', 5, "score 'x' is not a number"),
        (b"q1,d\xe9,1", 3, r"b'd\xe9' is not UTF-8. Save the file as UTF-8."),
        (b"q1,d\0,1", 3, "the line contains a NUL byte"),
    ],
)  # fmt: skip
def test_a_row_that_cannot_be_read_is_an_error_that_names_its_line(row: str | bytes, line: int, error: str) -> None:
    data = b"query,doc,score\nq0,d0,1\n" + (row.encode() if isinstance(row, str) else row) + b"\n"
    assert error_of(data).startswith(f"file.csv:{line}: {error}")
    assert error_of(b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n")).startswith(f"file.csv:{line}: {error}")


@pytest.mark.parametrize(("rank", "fault"), [("1.5", "'1.5'"), ("-1", "'-1'"), ("inf", "'inf'")])
def test_a_rank_is_a_whole_number_from_0(rank: str, fault: str) -> None:
    assert f"file.csv:2: rank {fault} is" in error_of(f"query,doc,rank\nq1,d1,{rank}\n")


def test_a_decimal_comma_is_an_error() -> None:
    assert error_of("q1;d1;1,5\n", "grade") == (
        "file.csv:1: grade '1,5' is not a number. Write numbers with a decimal point, and without separators of"
        " thousands: 1234.5."
    )


@pytest.mark.parametrize(
    ("data", "number", "error"),
    [
        ("", "score", "the run is empty"),
        ("\n \n", "grade", "the ground truth is empty"),
        ("hello\n", "score", "the first line has only one column: 'hello'"),
        ("frage,dok\na,1\n", "score", "no columns 'query', 'doc' and 'score'; the columns are 'frage', 'dok'"),
        ("query,doc,doc,score\nq,d,e,1\n", "score", "more than one column 'doc'"),
        ("q1,d1\n", "score", "a run has a query, a document, and a score or a rank"),
        ("q1,d1,2\nq1,d2,3\nq1,d3,1\n", "score", "the file has no header, and the numbers in its third column may be"),
        ("q1,d1,3\nq1,d2,8\n", "score", "the file has no header, and the numbers in its third column may be ranks or"),
        ("q1,0,d1,1\n", "score", "the rows are those of ground truth, not of a run. Are ground truth and run in the"),
        ("q1,Q0,d1,1,2.5,t\n", "grade", "the rows are those of a run, not of ground truth"),
        ("1,2,3,4,5,6,7\n", "grade", "the file has no header, and the meaning of its 7 columns is not known. Give"),
        ("0,q1,d1,2.5\n", "score", "the file has no header, and the meaning of its 4 columns is not known"),
    ],
)  # fmt: skip
def test_a_file_that_is_not_understood_is_an_error(data: str, number: Literal["grade", "score"], error: str) -> None:
    with pytest.raises(KaratError) as caught:
        table_of(data, number)
    place = "file.csv:1" if "first line" in error else "file.csv"
    assert str(caught.value).startswith(f"{place}: {error}")


def test_a_header_without_rows_is_an_empty_file(write: Write) -> None:
    with pytest.raises(KaratError, match="the ground truth is empty"):
        read_truth(write("query,doc,grade\n"), format="csv")


def test_a_name_of_a_column_needs_a_header() -> None:
    with pytest.raises(KaratError, match=r"the file has no header, and so no column 'docno'. Give columns by"):
        table_of("q1,d1,0.5\n", columns={"doc": "docno"})


def test_a_document_that_is_listed_twice_is_an_error_that_names_both_lines(write: Write) -> None:
    data = 'query,doc,grade\nq1,"a\n""b""",1\nq2,c,1\nq1,"a\n""b""",0\n'
    with pytest.raises(KaratError, match=r"file.csv:2 and 5: document a\\n\"b\" is judged twice for query q1"):
        read_truth(write(data), format="csv")


def test_a_quotation_mark_that_is_never_closed_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited_blocks, "_LONGEST_ROW", 100)
    data = 'query,doc,score\nq1,"d0,1\n' + "".join(f"q{at // 9},d{at},1\n" for at in range(1000))
    with block_size(64), pytest.raises(KaratError, match=r"file.csv:2: a quotation mark is not closed"):
        rows_in_blocks(table_of(data))


@example(b'query,doc,score\n"a"", ",d,1\n')
@given(
    st.binary(max_size=60).map(lambda end: b"query,doc,score\nq1,d1,1\n" + end)
    | st.text('q,"1\r\n \t;', max_size=40).map(str.encode)
)
def test_damaged_files_are_read_in_the_same_way_in_python_and_with_arrow(data: bytes) -> None:
    def outcome(read: Callable[[DelimitedTable], Rows]) -> object:
        try:
            return sorted(read(table_of(data)))
        except KaratError as error:
            return str(error)

    def small(table: DelimitedTable) -> Rows:
        found = table.small()
        if found is None:
            return rows_in_blocks(table)
        return [(query, doc, number) for query, docs in found.items() for doc, number in docs.items()]

    assert outcome(small) == outcome(rows_in_blocks)


# Formats.


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (b"query-id\tcorpus-id\tscore\nq1\td\t1\n", "tsv"),
        (b",qid,docno,score\n0,q,d,1.0\n", "csv"),
        (b'"query";"doc";"score"\n"a";"b\nc";1\n', "csv"),
        (b"frage,dokument,wert\na,b,1\n", "csv"),
        (b"q1\td1\t1\nq1\td2\t2\n", "tsv"),
        (b"1\t5\t1\t0.4\n1\t7\t2\t0.3\n", "tsv"),
        (b"what is it,d1,0.5\n", "csv"),
        (b"q1 0 d,1 1\n", None),
        (b"q1 Q0 d1 1 0,5 t\n", None),
        (b"q1\t0\td1\t1\n", None),
        (b"q1\tQ0\td1\t1\t0.5\ttag\n", None),
        (b"# made by us, today\nq1 0 d1 1\n", None),
        (b'{"q1": {"d1": 1, "d2": 2}}\n', None),
        (b"", None),
        (b"text\n", None),
    ],
)
def test_csv_and_tsv_are_told_apart_from_other_formats(start: bytes, expected: str | None) -> None:
    assert looks_delimited(start) == expected


@pytest.mark.parametrize("first", ['"q0,d0,1', 'q0,"d0,1', 'q0,d0,"1'])
def test_a_quotation_mark_that_is_not_closed_is_an_error_after_bounded_work(
    first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delimited_blocks, "_LONGEST_ROW", 1 << 12)
    sizes: list[int] = []
    row_ends = delimited_blocks._row_ends

    def counted(data: bytearray, separator: str) -> Any:
        sizes.append(len(data))
        return row_ends(data, separator)

    monkeypatch.setattr(delimited_blocks, "_row_ends", counted)
    path = tmp_path / "run.csv"
    rows = "".join(f"q{at // 100},d{at % 100},{at}\n" for at in range(40_000))
    path.write_text(f"query,doc,score\n{first}\n{rows}")
    with block_size(1 << 10), pytest.raises(KaratError, match=r"run\.csv:2: a quotation mark is not closed"):
        evaluate({"q1": ["d1"]}, path, "RR")
    assert max(sizes) < 1 << 14
    assert sum(sizes) < 1 << 17  # of 500,000 bytes


def test_a_quotation_mark_in_the_header_that_is_not_closed_is_an_error(tmp_path: Path) -> None:
    for size, problem in ((3, "a quotation mark is not closed"), (40_000, "a value is longer than 131,072 characters")):
        (tmp_path / "run.csv").write_text('query,"doc,score\n' + "q1,d1,1\n" * size)
        with pytest.raises(KaratError, match=f"run.csv:1: {problem}"):
            evaluate({"q1": ["d1"]}, tmp_path / "run.csv", "RR", run_format="csv")
