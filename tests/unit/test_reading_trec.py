"""TREC files give the right scores or one clear error."""

from __future__ import annotations

import gzip
import io
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import karat
from karat import KaratError
from karat.errors import Place
from karat.options import Ties
from karat.reading.bytes import input_file
from karat.reading.bytes.blocks import Block
from karat.reading.bytes.input_file import InputFile
from karat.reading.pairs import trec, trec_blocks
from karat.reading.pairs.any_source import read_truth
from karat.reading.pairs.tables import Columns, TableRun
from tests.block_size import block_size
from tests.platforms import PIPES, on_posix
from tests.standard_input import piped

Grades = dict[str, dict[str, float]]
Write = Callable[..., str]

TIES: tuple[Ties, ...] = ("trec", "input", "best", "worst")
MEASURES = ("AP", "nDCG", "RR", "P@2", "NumRet", "NumRel", "NumRelRet")
TRUTH = "q1 0 a 1\nq1 0 b 0\nq2 0 c 2\n"
RUN = "q1 Q0 x 1 3 t\nq1 Q0 a 2 2 t\nq2 Q0 c 1 1 t\n"
TRUTH_MAPPING: Grades = {"q1": {"a": 1, "b": 0}, "q2": {"c": 2}}
RUN_MAPPING: Grades = {"q1": {"x": 3, "a": 2}, "q2": {"c": 1}}

BACKSLASH_N, RETURN_N, RETURN = "\n", "\r\n", "\r"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A function that writes a file and returns its path."""

    def write(data: str | bytes, name: str = "file") -> str:
        path = tmp_path / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return str(path)

    return write


def per_query(truth: object, run: object, **options: object) -> dict[str, dict[str, float | None]]:
    return karat.evaluate(truth, run, MEASURES, **options).per_query  # type: ignore[arg-type]  # options vary


def error_of(truth: object, run: object, **options: object) -> KaratError:
    with pytest.raises(KaratError) as caught:
        per_query(truth, run, **options)
    return caught.value


EXPECTED = {
    "q1": {"AP": 0.5, "nDCG": 1 / np.log2(3), "RR": 0.5, "P@2": 0.5, "NumRet": 2, "NumRel": 1, "NumRelRet": 1},
    "q2": {"AP": 1, "nDCG": 1, "RR": 1, "P@2": 0.5, "NumRet": 1, "NumRel": 1, "NumRelRet": 1},
}


def test_files_and_mappings_give_the_scores_computed_expected_rows(write: Write) -> None:
    for found in (per_query(write(TRUTH, "t"), write(RUN, "r")), per_query(TRUTH_MAPPING, RUN_MAPPING)):
        assert {query: pytest.approx(values) for query, values in found.items()} == EXPECTED


# The same file in different formatting.

FORMATTED: dict[str, Callable[[str], str | bytes]] = {
    "tabs": lambda text: text.replace(" ", "\t"),
    "several spaces": lambda text: text.replace(" ", "   "),
    "tabs and spaces": lambda text: text.replace(" ", " \t "),
    "a tab in some places": lambda text: text.replace(" ", "\t", 3),
    "vertical tabs and form feeds": lambda text: text.replace(" ", "\v", 2).replace(" ", "\f", 2),
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "lone CR": lambda text: text.replace("\n", "\r"),
    "all line ends mixed": lambda text: text.replace("\n", "\r\n", 1).replace("\n", "\r", 2),
    "no final newline": lambda text: text.removesuffix("\n"),
    "CRLF and no final newline": lambda text: text.replace("\n", "\r\n").removesuffix("\r\n"),
    "blank lines": lambda text: "\n\n" + text.replace("\n", "\n\n \n\t\n"),
    "leading blanks": lambda text: "".join(f" \t{line}" for line in text.splitlines(keepends=True)),
    "trailing blanks": lambda text: text.replace("\n", " \t\n"),
    "BOM": lambda text: "\ufeff" + text,
    "BOM and a comment": lambda text: "\ufeff# from Windows\r\n" + text,
    "a comment first": lambda text: "# query Q0 doc\n" + text,
    "a comment of four words": lambda text: "# 0 a 1\n" + text.replace("\n", "\n#q1 0 b 1\n"),
    "a comment of six words": lambda text: "# Q0 a 1 9 t\n" + text.replace("\n", "\n#q1 Q0 a 1 9 t\n"),
    "an indented comment": lambda text: "  # Q0 a 1 9 t\n\t#q1 0 c 1\n" + text,
    "a comment last, without an end": lambda text: text + "# 0 a 1",
    "an empty comment": lambda text: "#\n" + text,
    "a comment in another encoding": lambda text: text.encode() + b"# caf\xe9 cr\xe8me br\xfbl\xe9e\n",
}


@pytest.mark.parametrize("name", FORMATTED)
@pytest.mark.parametrize("size", [1, 8, 40, 1 << 20])
def test_differently_formatted_files_give_the_same_scores(name: str, size: int, write: Write) -> None:
    expected = per_query(TRUTH_MAPPING, RUN_MAPPING)
    with block_size(size):
        assert per_query(write(FORMATTED[name](TRUTH), "t"), write(FORMATTED[name](RUN), "r")) == expected


@pytest.mark.parametrize("size", [3, 16, 1 << 20])
@pytest.mark.parametrize("name", ["run.trec.gz", "run.trec", "run"])
def test_gzip_is_recognised_by_its_first_bytes_and_not_by_its_name(name: str, size: int, write: Write) -> None:
    with block_size(size):
        found = per_query(
            write(gzip.compress(TRUTH.encode()), f"truth-{name}"), write(gzip.compress(RUN.encode()), name)
        )
    assert found == per_query(TRUTH_MAPPING, RUN_MAPPING)


@pytest.mark.parametrize("size", [3, 16, 1 << 20])
def test_gzip_with_several_members_is_read_to_the_end(size: int, write: Write) -> None:
    members = b"".join(gzip.compress(line.encode()) for line in RUN.splitlines(keepends=True))
    with block_size(size):
        assert per_query(TRUTH_MAPPING, write(members + gzip.compress(b""))) == per_query(TRUTH_MAPPING, RUN_MAPPING)


def test_a_byte_order_mark_inside_gzip_is_not_part_of_the_first_query(write: Write) -> None:
    packed = gzip.compress(("\ufeff" + RUN).encode())
    assert per_query(TRUTH_MAPPING, write(packed)) == per_query(TRUTH_MAPPING, RUN_MAPPING)


def test_an_uncompressed_file_named_gz_is_read_as_text(write: Write) -> None:
    assert per_query(TRUTH_MAPPING, write(RUN, "run.gz")) == per_query(TRUTH_MAPPING, RUN_MAPPING)


def test_words_after_the_tag_of_a_run_are_ignored_as_in_trec_eval(write: Write) -> None:
    run = RUN.replace("t\n", "my system, second try # best\n")
    assert per_query(TRUTH_MAPPING, write(run)) == per_query(TRUTH_MAPPING, RUN_MAPPING)


@pytest.mark.parametrize("size", [1, 20, 1 << 20])
def test_the_lines_of_a_query_need_not_be_together(size: int, write: Write) -> None:
    run = "q1 Q0 x 1 3 t\nq2 Q0 c 1 1 t\nq1 Q0 a 2 2 t\n"
    truth = "q1 0 a 1\nq2 0 c 2\nq1 0 b 0\n"
    with block_size(size):
        assert per_query(write(truth, "t"), write(run, "r")) == per_query(TRUTH_MAPPING, RUN_MAPPING)


ODD_IDS = [
    "007", "7", "7.0", "+7", "1e5", "nan", "null", "NA", "None", "true", "é", "e\u0301", "日本語", "😀", "a#b", "a#",
    '"', '"a', "'a'", "a,b", ",", "{a}", "[a]", "\\", "\\n", "%s", "$HOME", "a:b", "a=b", "-", "--", "a\u00a0b",
    "a\u2028b", "a\x85b", "a\x1fb", "\x7f", "a\ufeff", "a\x1b[31m", "x" * 10_000, "é" * 5_000, "x" * 4095, "x" * 4096,
]  # fmt: skip


@pytest.mark.parametrize("separator", [" ", "\t", "  "])
@pytest.mark.parametrize("odd", ODD_IDS, ids=lambda odd: ascii(odd)[:20])
def test_an_id_is_read_exactly_as_it_is_in_the_file(odd: str, separator: str, write: Write) -> None:
    truth = f"{odd} 0 {odd} 1\n{odd} 0 {odd}! 1\nz 0 {odd} 1\n".replace(" ", separator)
    run = f"{odd} Q0 {odd}? 1 3 t\n{odd} Q0 {odd} 2 2 t\nz Q0 {odd} 1 1 t\n".replace(" ", separator)
    found = per_query(write(truth, "t"), write(run, "r"))
    assert list(found) == [odd, "z"]
    assert found == per_query(
        {odd: {odd: 1, f"{odd}!": 1}, "z": {odd: 1}}, {odd: {f"{odd}?": 3, odd: 2}, "z": {odd: 1}}
    )


def test_ids_that_look_alike_are_different_ids(write: Write) -> None:
    alike = ["7", "07", "007", "7.0", "é", "e\u0301", "É", "a", "A"]
    truth = "".join(f"q 0 {doc} {grade}\n" for grade, doc in enumerate(alike))
    judged = read_truth(write(truth))
    assert dict(zip(judged.docs, judged.grades.tolist(), strict=True)) == {doc: at for at, doc in enumerate(alike)}


def test_a_line_that_begins_with_a_hash_sign_is_a_comment_but_a_document_may_begin_with_it(write: Write) -> None:
    assert list(read_truth(write("#q 0 a 1\nq 0 #a 1\n")).docs) == ["#a"]


@pytest.mark.parametrize("size", [1, 10, 64, 1 << 20])
def test_a_byte_order_mark_inside_a_file_is_part_of_an_id_for_any_block_size(size: int, write: Write) -> None:
    truth = "a 0 d 1\n\ufeffb 0 d 1\n\ufeffc 0 d 1\n"
    with block_size(size):
        assert read_truth(write(truth)).queries == ("a", "\ufeffb", "\ufeffc")


@pytest.mark.parametrize("size", [1, 10, 64, 1 << 20])
def test_only_one_byte_order_mark_is_removed_from_the_start_of_a_file(size: int, write: Write) -> None:
    with block_size(size):
        assert read_truth(write("\ufeff\ufeffa 0 d 1\n")).queries == ("\ufeffa",)


# Numbers.


@pytest.mark.parametrize(
    ("text", "number"),
    [("1e-5", 1e-5), ("1E5", 1e5), ("+1.5", 1.5), (".5", 0.5), ("5.", 5.0), ("-0", -0.0), ("-.5e+1", -5.0),
     ("007", 7.0), ("inf", np.inf), ("-inf", -np.inf), ("+Infinity", np.inf), ("1e-400", 0.0),
     ("0.1", 0.1), ("9007199254740993", 9007199254740992.0), ("3.14159265358979323846264338327950288", np.pi)],
)  # fmt: skip
@pytest.mark.parametrize("comment", ["", "# slow way\n"])
def test_a_score_is_a_double_in_any_decimal_notation(text: str, number: float, comment: str, write: Write) -> None:
    run = TableRun(trec.TrecTable(InputFile(write(f"{comment}q Q0 a 1 {text} t\nq Q0 b 2 0.25 t\n")), "score"))
    (batch,) = run.grouped_batches()
    assert batch().scores.tolist() == [number, 0.25]


def test_an_infinite_score_ranks_first_and_a_negatively_infinite_one_last(write: Write) -> None:
    run = "q Q0 a 1 -inf t\nq Q0 b 2 0 t\nq Q0 c 3 inf t\nq Q0 d 4 -1e308 t\n"
    ranks = {doc: 1 / karat.evaluate({"q": {doc: 1}}, write(run), "RR")["RR"] for doc in "abcd"}
    assert ranks == {"c": 1, "b": 2, "d": 3, "a": 4}


def test_the_rank_column_is_ignored(write: Write) -> None:
    run = "q Q0 a 99 2 t\nq Q0 b abc 3 t\nq Q0 c nan 1 t\n"
    ranks = {doc: 1 / karat.evaluate({"q": {doc: 1}}, write(run), "RR")["RR"] for doc in "abc"}
    assert ranks == {"b": 1, "a": 2, "c": 3}


def test_grades_may_be_negative_and_fractional(write: Write) -> None:
    judged = read_truth(write("q 0 a -1\nq 0 b 0.5\nq 0 c +2\nq 0 d 1e1\nq 0 e -0.25\n"))
    assert judged.grades.tolist() == [-1, 0.5, 2, 10, -0.25]


# Property: the formatting of a file does not change its data.

IDS = st.text(st.sampled_from("ab07#,\"'{é😀"), min_size=1, max_size=3).filter(lambda text: not text.startswith("#"))
NUMBERS = st.sampled_from([0.0, 1.0, 2.0, -1.0, 0.5, 1e-5, 1e10, 0.1])
DATA = st.dictionaries(IDS, st.dictionaries(IDS, NUMBERS, min_size=1, max_size=6), min_size=1, max_size=5)
BLANKS = st.sampled_from([" ", "\t", "  ", " \t", "\t\t", "\v "])
EDGES = st.sampled_from(["", "", "", " ", "\t ", "\f"])
ENDS = st.sampled_from(["\n", "\n", "\r\n", "\r"])
ASIDES = st.sampled_from(["", " ", "\t", "# note", "#q1 Q0 a 1 2 t", "  # 0 a 1", "# \"é 'x", "#"])
PLAIN = (st.just(" "), st.just(""), st.just("\n"))


@st.composite
def texts(draw: st.DrawFn, data: Mapping[str, Mapping[str, float]], columns: str) -> bytes:
    """The data as a file: any white space, any order of queries, any line ends, with comments and blank lines."""
    rows = [(query, doc, number) for query, docs in data.items() for doc, number in docs.items()]
    if draw(st.booleans()):
        rows = scattered(draw, rows)
    blanks, edges, ends = (BLANKS, EDGES, ENDS) if draw(st.booleans()) else PLAIN
    asides = draw(st.booleans())
    text = draw(st.sampled_from(["", "\ufeff"]))
    for query, doc, number in rows:
        if asides and draw(st.booleans()):
            text += draw(ASIDES) + draw(ends)
        tokens = columns.format(query=query, doc=doc, number=repr(number)).split("|")
        text += (
            draw(edges) + tokens[0] + "".join(draw(blanks) + token for token in tokens[1:]) + draw(edges) + draw(ends)
        )
    if draw(st.booleans()):
        text = text.rstrip("\r\n")
    data_of_file = text.encode()
    return gzip.compress(data_of_file, 1) if draw(st.integers(0, 5)) == 0 else data_of_file


def scattered(draw: st.DrawFn, rows: list[tuple[str, str, float]]) -> list[tuple[str, str, float]]:
    """The rows in another order that keeps the order of queries and the order of documents within each query."""
    first = list(dict.fromkeys(query for query, _, _ in rows))
    waiting = {query: [row for row in rows if row[0] == query] for query in first}
    mixed, begun = [], 0
    while any(waiting.values()):
        query = draw(st.sampled_from([query for query in first[: begun + 1] if waiting[query]]))
        begun += first[begun : begun + 1] == [query]
        mixed.append(waiting[query].pop(0))
    return mixed


@given(st.data())
def test_a_file_in_any_formatting_gives_exactly_the_scores_of_the_mappings(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    truth, run = data.draw(DATA), data.draw(DATA)
    run = {**run, next(iter(truth)): next(iter(run.values()))}  # at least one query is in both
    folder = tmp_path_factory.getbasetemp()
    (folder / "truth").write_bytes(data.draw(texts(truth, "{query}|0|{doc}|{number}")))
    (folder / "run").write_bytes(data.draw(texts(run, "{query}|Q0|{doc}|1|{number}|t")))
    ties = data.draw(st.sampled_from(TIES))
    expected = karat.evaluate(truth, run, MEASURES, ties=ties)
    with block_size(data.draw(st.sampled_from([4, 7, 30, 100, 1 << 20]))):
        found = karat.evaluate(folder / "truth", folder / "run", MEASURES, ties=ties)
    assert list(found.per_query.items()) == list(expected.per_query.items())
    assert set(found.findings) == set(expected.findings)


WORDS = st.text(st.sampled_from('ab1#.-é"\ufeff\x1f'), min_size=1, max_size=3)
SCORES = st.sampled_from(["1", "-2.5", ".5", "1e-5", "+1", "inf", "7", "0"])


@st.composite
def run_lines(draw: st.DrawFn) -> bytes:
    lines = []
    for _ in range(draw(st.integers(1, 6))):
        if draw(st.integers(0, 4)) == 0:
            lines.append(draw(ASIDES) + draw(ENDS))
            continue
        query, doc = draw(WORDS), draw(WORDS)
        blanks = [draw(st.one_of(st.just(" "), BLANKS)) for _ in range(5)]
        more = draw(st.sampled_from(["", "", " and more"]))
        tokens = [query, "Q0", doc, "1", draw(SCORES), f"t{more}"]
        line = "".join(token + blank for token, blank in zip(tokens, [*blanks, ""], strict=True))
        lines.append(draw(EDGES) + line + draw(EDGES) + draw(ENDS))
    return "".join(lines).encode()


def rows_of(columns: Columns) -> list[tuple[str, str, float]]:
    return list(zip(columns.query.to_pylist(), columns.doc.to_pylist(), columns.number.tolist(), strict=True))


@given(run_lines(), st.sampled_from([1, 2, 7, 1 << 17]))
@example(b"\xef\xbb\xbfa Q0 b 1 1 t\n", 1)
@example(b"# Q0 a 1 1 t\nb Q0 c 1 1 t\n", 1)
def test_the_three_parsers_agree_on_every_block_that_they_can_read(data: bytes, piece: int) -> None:
    block = Block(memoryview(data), InputFile("file"), 0)
    pairs = trec.parse_lines(block, trec.RUN)
    expected_rows = list(zip(pairs.queries, pairs.docs, pairs.numbers.tolist(), strict=True))
    with patch.object(trec_blocks, "_PIECE", piece):
        separator = trec_blocks._single_separator(block.data)
    assert separator == _only_separator(data)
    as_is = trec_blocks._parse_with_arrow(block.data, separator, trec.RUN) if separator else None
    collapsed = trec_blocks._parse_with_arrow(trec_blocks._collapse_white_space(data), " ", trec.RUN)
    assert as_is is None or rows_of(as_is) == expected_rows
    assert collapsed is None or rows_of(collapsed) == expected_rows
    assert rows_of(trec_blocks.read_block(block, trec.RUN)) == expected_rows


def _only_separator(data: bytes) -> str | None:
    """The separator of lines whose white space is single spaces, or single tabs, and the ends of lines."""
    blanks = re.findall(rb"[\x00-\x20]+", data)
    separators = [blank for blank in blanks if blank != b"\n"]
    is_inside = data[0] > 32 and (data[-1] > 32 or data.endswith(b"\n"))
    if not is_inside or not {*separators} <= ({b"\t"} if b"\t" in data else {b" "}):
        return None
    return "\t" if b"\t" in data else " "


@pytest.mark.parametrize("size", [1, 5, 64, 1000, 1 << 20])
@pytest.mark.parametrize("end", [BACKSLASH_N, RETURN_N, RETURN])
@pytest.mark.parametrize("packed", [False, True])
def test_the_blocks_of_a_file_add_up_to_the_file(size: int, end: str, packed: bool, write: Write) -> None:
    text = "".join(f"q{query} Q0 d{doc} 1 1 t{end}" for query in range(9) for doc in range(query * 3)).encode()
    source = InputFile(write(gzip.compress(text) if packed else text))
    with block_size(size):
        parts = list(source.blocks())
    assert b"".join(bytes(part.data) for part in parts) == text
    before = b""
    for part in parts:
        assert part.place(0) == Place(source.name, line=len(before.splitlines()) + 1)
        before += bytes(part.data)


# Standard input and pipes.


PRINT_AP = "import sys, karat; print(karat.evaluate(sys.argv[1], sys.argv[2], 'AP')['AP'])"


@pytest.mark.parametrize("name", PIPES)
@pytest.mark.parametrize("run", [RUN, "q1 Q0 x 1 3 t\nq2 Q0 c 1 1 t\nq1 Q0 a 2 2 t\n"], ids=["grouped", "scattered"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_run_can_be_read_from_a_pipe(name: str, run: str, packed: bool, write: Write) -> None:
    data = gzip.compress(run.encode()) if packed else run.encode()
    with piped(data):
        assert karat.evaluate(write(TRUTH, "t"), name, "AP")["AP"] == 0.75


@pytest.mark.parametrize("name", PIPES)
def test_ground_truth_can_be_read_from_a_pipe(name: str, write: Write) -> None:
    with piped(TRUTH.encode()):
        assert karat.evaluate(name, write(RUN, "r"), "AP")["AP"] == 0.75


@on_posix
def test_a_named_pipe_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    scattered_run = "q1 Q0 x 1 3 t\nq2 Q0 c 1 1 t\nq1 Q0 a 2 2 t\n"
    writer = threading.Thread(target=path.write_text, args=(scattered_run,), daemon=True)
    writer.start()
    assert per_query(TRUTH_MAPPING, path) == per_query(TRUTH_MAPPING, RUN_MAPPING)
    writer.join()


def test_an_error_on_standard_input_names_it_and_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"q1 Q0 a 1 1 t\nq1 Q0 b 1 oops t\n")))
    assert str(error_of(TRUTH_MAPPING, "-").place) == "standard input:2"


def test_an_endless_line_in_a_pipe_is_an_error_before_the_pipe_ends(write: Write) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", PRINT_AP, write(TRUTH, "t"), "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    with process:
        assert process.stdin is not None
        written = 0
        with suppress(BrokenPipeError):
            while written < 128:
                written += process.stdin.write(b"x" * (1 << 20)) >> 20
        process.kill()
    assert written < 128


# Invalid input. Each is a KaratError with the file, the line if there is one, and a hint.

BAD_RUN_LINES = {
    "one column": b"q1",
    "five columns": b"q1 Q0 a 1 2",
    "a score that is not a number": b"q1 Q0 a 1 abc t",
    "a NaN": b"q1 Q0 a 1 nan t",
    "a signed NaN": b"q1 Q0 a 1 -NaN t",
    "a comma for a point": b"q1 Q0 a 1 1,5 t",
    "underscores": b"q1 Q0 a 1 1_000 t",
    "a hexadecimal": b"q1 Q0 a 1 0x1p3 t",
    "digits that are not ASCII": "q1 Q0 a 1 ١ t".encode(),
    "a NUL byte in a document": b"q1 Q0 a\0b 1 1 t",
    "a NUL byte in a query": b"q\0 Q0 a 1 1 t",
    "only NUL bytes": b"\0" * 100,
    "Latin-1": b"q1 Q0 caf\xe9 1 1 t",
    "a cut UTF-8 sequence": b"q1 Q0 \xf0\x9f\x98 1 1 t",
    "a surrogate": b"q1 Q0 \xed\xa0\x80 1 1 t",
    "binary junk": bytes(range(1, 10)) + bytes(range(14, 32)) + bytes(range(128, 256)),
}
BAD_TRUTH_LINES = {
    "one column": b"q1",
    "three columns": b"q1 0 a",
    "five columns": b"q1 0 a 1 more",
    "a comment after a grade": b"q1 0 a 1 # more",
    "a grade that is not a number": b"q1 0 a yes",
    "a NaN": b"q1 0 a nan",
    "an infinite grade": b"q1 0 a inf",
    "a NUL byte": b"q1 0 a\0 1",
    "Latin-1": b"caf\xe9 0 a 1",
}


def bad(kind: str, name: str) -> tuple[bytes, bytes]:
    """A template of a valid line, and the invalid line."""
    return (b"q%d Q0 d 1 1 t", BAD_RUN_LINES[name]) if kind == "run" else (b"q%d 0 d 1", BAD_TRUTH_LINES[name])


def error_in(kind: str, path: str) -> KaratError:
    return error_of(TRUTH_MAPPING, path) if kind == "run" else error_of(path, RUN_MAPPING)


BAD = [("run", name) for name in BAD_RUN_LINES] + [("truth", name) for name in BAD_TRUTH_LINES]


@pytest.mark.parametrize(("kind", "name"), BAD)
def test_an_invalid_line_is_an_error_with_its_place_and_a_hint(kind: str, name: str, write: Write) -> None:
    good, line = bad(kind, name)
    path = write(b"%s\n%s\n%s\n" % (good % 1, line, good % 2))
    error = error_in(kind, path)
    assert str(error.place) == f"{path}:2"
    assert error.hint
    assert "\n" not in str(error)
    assert len(str(error)) < 400
    assert str(error).isprintable()


@pytest.mark.parametrize("end", [BACKSLASH_N, RETURN_N, RETURN])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("size", [4, 16, 57, 1 << 20])
@pytest.mark.parametrize("kind", ["run", "truth"])
def test_the_line_number_is_right_near_the_end_of_a_file(
    kind: str, size: int, packed: bool, end: str, write: Write
) -> None:
    good, line = bad(kind, "one column")
    lines = [b"\xef\xbb\xbf# a note", b"", *(good % at for at in range(30)), b"  # another", b" ", line, good % 99]
    data = end.encode().join(lines)
    path = write(gzip.compress(data) if packed else data)
    with block_size(size):
        assert str(error_in(kind, path).place) == f"{path}:35"


@pytest.mark.parametrize("packed", [False, True])
def test_the_line_number_is_right_in_the_third_block_of_the_default_size(packed: bool, write: Write) -> None:
    line = b"q%07d Q0 document 1 1.5 t\r\n"
    lines = [line % at for at in range(2 * input_file.BLOCK_SIZE // len(line % 0) + 1000)]
    data = b"".join(lines)
    # Shift the text until a line end straddles the boundary at which lines are counted.
    shift = (input_file.BLOCK_SIZE - 1 - data.rfind(b"\r", 0, input_file.BLOCK_SIZE)) % len(lines[0])
    data = b"#" * (shift - 2) + b"\r\n" + data if shift >= 2 else data
    expected = data.count(b"\n") + 1
    path = write((gzip.compress(data + b"oops\r\n", 1)) if packed else data + b"oops\r\n")
    assert str(error_of(TRUTH_MAPPING, path).place) == f"{path}:{expected}"


def test_the_first_invalid_line_is_reported_although_threads_read_ahead(write: Write) -> None:
    lines = [f"q{at} Q0 d 1 1 t" for at in range(400)]
    lines[150] = lines[350] = "oops"
    path = write("\n".join(lines))
    with block_size(16):
        assert {str(error_of(TRUTH_MAPPING, path).place) for _ in range(5)} == {f"{path}:151"}


@pytest.mark.parametrize("kind", ["run", "truth"])
@pytest.mark.parametrize(
    "data",
    [b"", b"\n", b"\r\n \t\n", b"# nothing\n# here", b"\xef\xbb\xbf", gzip.compress(b""), gzip.compress(b"# none\n")],
    ids=["empty", "a line end", "blank lines", "comments", "a BOM", "empty gzip", "gzip of comments"],
)  # fmt: skip
def test_a_file_without_data_is_an_error(kind: str, data: bytes, write: Write) -> None:
    path = write(data)
    error = error_in(kind, path)
    assert str(error.place) == path
    assert "empty" in error.what
    assert error.hint


@pytest.mark.parametrize("kind", ["run", "truth"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_utf_16_file_is_an_error_that_says_so(kind: str, encoding: str, write: Write) -> None:
    path = write((RUN if kind == "run" else TRUTH).encode(encoding))
    error = error_in(kind, path)
    assert str(error.place) == str(path)
    assert f"text in {encoding[:6].upper()}" in str(error)


def damaged_gzips(line: str) -> dict[str, bytes]:
    whole = gzip.compress("".join(line.format(at, at * 7919) for at in range(2000)).encode(), mtime=0)
    middle = len(whole) // 2
    return {
        "cut in the middle": whole[:middle],
        "without its last byte": whole[:-1],
        "cut in its header": whole[:5],
        "only its first two bytes": whole[:2],
        "a wrong checksum": whole[:-8] + b"\0\0\0\0" + whole[-4:],
        "an unknown method": whole[:2] + b"\x07" + whole[3:],
        "junk after the end": whole + b"junk",
        "a second member cut": whole + whole[:middle],
        "a broken block": whole[:10] + b"\xff" * 20 + whole[30:],
    }


DAMAGED = {"run": damaged_gzips("q{} Q0 d{} 1 1 t\n"), "truth": damaged_gzips("q{} 0 d{} 1\n")}


@pytest.mark.parametrize("kind", ["run", "truth"])
@pytest.mark.parametrize("name", DAMAGED["run"])
def test_damaged_gzip_is_an_error(kind: str, name: str, write: Write) -> None:
    path = write(DAMAGED[kind][name])
    error = error_in(kind, path)
    assert str(error.place) == path
    assert "gzip" in error.what
    assert error.hint


@pytest.mark.parametrize("kind", ["run", "truth"])
def test_a_folder_instead_of_a_file_is_an_error(kind: str, tmp_path: Path) -> None:
    error = error_in(kind, str(tmp_path))
    assert str(error.place) == str(tmp_path)
    assert "folder" in error.what
    assert error.hint


@pytest.mark.parametrize("kind", ["run", "truth"])
def test_a_missing_file_is_an_error_that_suggests_a_similar_name(kind: str, write: Write, tmp_path: Path) -> None:
    write(RUN, "bm25.trec")
    missing = str(tmp_path / "bm52.trec")
    error = error_in(kind, missing)
    assert str(error.place) == missing
    assert "bm25.trec" in str(error.hint)


def test_a_missing_folder_is_an_error_without_a_suggestion(tmp_path: Path) -> None:
    error = error_of(TRUTH_MAPPING, tmp_path / "nowhere" / "run.trec")
    assert str(error.place) == str(tmp_path / "nowhere" / "run.trec")


def test_a_missing_file_in_a_folder_that_cannot_be_listed_is_still_a_missing_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path) -> Iterator[Path]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    monkeypatch.setattr(os, "listdir", refuse)
    monkeypatch.setattr(os, "scandir", refuse)
    assert str(error_of(TRUTH_MAPPING, tmp_path / "run.trec").place) == str(tmp_path / "run.trec")


def test_a_file_without_read_permission_is_an_error(write: Write) -> None:
    path = write(RUN)
    os.chmod(path, 0)
    if os.access(path, os.R_OK):
        pytest.skip("root may read anything")
    error = error_of(TRUTH_MAPPING, path)
    assert str(error.place) == path


def test_an_invalid_path_is_an_error() -> None:
    error_of(TRUTH_MAPPING, "run\0.trec")
    error_of(TRUTH_MAPPING, "x" * 100_000)


def test_a_run_given_as_ground_truth_is_recognised(write: Write) -> None:
    path = write(RUN)
    error = error_of(path, path)
    assert str(error.place) == f"{path}:1"
    assert "looks like a run" in str(error.hint)


def test_ground_truth_given_as_a_run_is_recognised(write: Write) -> None:
    path = write(TRUTH)
    error = error_of(path, path)
    assert str(error.place) == f"{path}:1"
    assert "looks like ground truth" in str(error.hint)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("megabytes", [2, 20])
@pytest.mark.parametrize("before", [b"", b"q1 Q0 a 1 1 t\nq2 Q0 a 1 1 t\n"], ids=["first", "third"])
def test_a_line_longer_than_a_megabyte_is_an_error(megabytes: int, packed: bool, before: bytes, write: Write) -> None:
    data = before + b"x" * (megabytes << 20)
    path = write(gzip.compress(data, 1) if packed else data)
    error = error_of(TRUTH_MAPPING, path)
    assert str(error.place) == f"{path}:{before.count(10) + 1}"
    assert error.hint
    assert len(str(error)) < 400


# Duplicates.


@pytest.mark.parametrize("size", [1, 20, 1 << 20])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("end", [BACKSLASH_N, RETURN_N, RETURN])
@pytest.mark.parametrize("grouped", [True, False])
def test_a_document_twice_in_a_query_is_an_error_that_names_both_lines(
    size: int, packed: bool, end: str, grouped: bool, write: Write
) -> None:
    lines = ["# note", "q0 Q0 a 1 9 t", "q1 Q0 a 1 9 t", "q1 Q0 b 2 8 t", "q1 Q0 a 3 7 t", "q2 Q0 c 1 1 t"]
    if not grouped:
        lines[2], lines[5] = lines[5], lines[2]
    first, second = (3, 5) if grouped else (5, 6)
    data = end.join(lines).encode()
    path = write(gzip.compress(data) if packed else data)
    with block_size(size):
        error = error_of(TRUTH_MAPPING, path)
    assert str(error.place) == f"{path}:{first} and {second}"
    assert "document a" in error.what
    assert "query q1" in error.what
    assert "duplicates='first'" in str(error.hint)


@pytest.mark.parametrize("size", [1, 20, 1 << 20])
@pytest.mark.parametrize("grouped", [True, False])
def test_the_best_ranked_of_a_repeated_document_can_be_kept(size: int, grouped: bool, write: Write) -> None:
    lines = ["q1 Q0 a 1 1 t", "q1 Q0 b 2 5 t", "q1 Q0 a 3 7 t", "q1 Q0 a 4 3 t", "q2 Q0 c 1 1 t", "q2 Q0 c 1 1 t"]
    if not grouped:
        lines[2], lines[5] = lines[5], lines[2]
    path = write("\n".join(lines))
    with block_size(size):
        scores = karat.evaluate(TRUTH_MAPPING, path, MEASURES, duplicates="first")
    expected = karat.evaluate(TRUTH_MAPPING, {"q1": {"a": 7, "b": 5}, "q2": {"c": 1}}, MEASURES)
    assert scores.per_query == expected.per_query
    assert {finding.code: finding.count for finding in scores.findings}["duplicates"] == 3


@pytest.mark.parametrize("size", [1, 12, 1 << 20])
@pytest.mark.parametrize("text", ["q1 0 a 1\nq1 0 b 1\nq1 0 a 1\n", "q1 0 a 1\nq2 0 a 1\nq1 0 a 0\n"])
def test_a_document_judged_twice_is_an_error_that_names_both_lines(size: int, text: str, write: Write) -> None:
    path = write(text)
    with block_size(size):
        error = error_of(path, RUN_MAPPING)
    assert str(error.place) == f"{path}:1 and 3"
    assert error.hint


def test_the_same_document_in_two_queries_is_not_a_duplicate(write: Write) -> None:
    run = "a Q0 b 1 1 t\nb Q0 a 1 1 t\nab Q0 b 1 1 t\na Q0 bb 1 0 t\n"
    assert karat.evaluate({"a": ["b"], "b": ["a"]}, write(run), "NumRet")["NumRet"] == 3


def test_an_invalid_line_is_reported_before_a_duplicate(write: Write) -> None:
    path = write("q1 Q0 a 1 2 t\nq1 Q0 b 2 oops t\nq1 Q0 a 3 1 t\n")
    assert str(error_of(TRUTH_MAPPING, path).place) == f"{path}:2"


def test_control_characters_in_ids_are_escaped_in_errors(write: Write) -> None:
    line = "q\x1b[2J Q0 a\x1b]0;x\x07 1 1 t\n"
    assert str(error_of(TRUTH_MAPPING, write(line + line))).isprintable()
    assert str(error_of(TRUTH_MAPPING, write("q Q0 a 1 \x1b[2J t\n"))).isprintable()


@pytest.mark.parametrize("data", [RUN.encode(), gzip.compress(RUN.encode())], ids=["plain", "gzip"])
def test_progress_increases_up_to_the_size_of_the_file(data: bytes, write: Write) -> None:
    reports: list[tuple[int, int]] = []
    with block_size(8):
        karat.evaluate(TRUTH_MAPPING, write(data), "AP", progress=lambda done, total: reports.append((done, total)))
    assert reports[-1] == (len(data), len(data))
    assert reports == sorted(reports)


def test_reading_a_short_gzip_file_allocates_little(tmp_path: Path) -> None:
    import gzip
    import tracemalloc

    path = tmp_path / "gold.json.gz"
    path.write_bytes(gzip.compress(b"{}"))
    tracemalloc.start()
    try:
        assert InputFile(str(path)).read_all() == b"{}"
        assert tracemalloc.get_traced_memory()[1] < 1 << 25
    finally:
        tracemalloc.stop()
