"""The format of a file is detected by its content first and its name second; BEIR folders; several runs in files."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat import KaratError, evaluate, evaluate_runs
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.names import Format
from karat.reading.contents.formats import contradiction, detect
from karat.reading.contents.samples import Sample, sample
from karat.reading.pairs.paths import named_runs
from karat.reading.pairs.tables import Number

CONTENTS: dict[str, tuple[str, Format]] = {
    "qrels": ("q1 0 d1 1\nq1 0 d2 0\n", "trec"),
    "qrels with tabs": ("q1\t0\td1\t1\nq1\t0\td2\t0\n", "trec"),
    "qrels with commas in ids": ("q1 0 a,b,c 1\nq1 0 d,e,f 0\n", "trec"),
    "a run": ("q1 Q0 d1 1 0.5 tag\n", "trec"),
    "a run with words after the tag": ("q1 Q0 d1 1 0.5 tag and more\n", "trec"),
    "comments before a run": ("# made by x\n\nq1 Q0 d1 1 0.5 tag\n", "trec"),
    "one line of the wrong length": ("q1 Q0 d1 1 0.5 tag\nq1 Q0 d2\nq1 Q0 d3 3 0.3 tag\n", "trec"),
    "BEIR's qrels": ("query-id\tcorpus-id\tscore\nq1\td1\t1\n", "tsv"),
    "a header over four columns": ("qid\titer\tdocno\tlabel\nq1\t0\td1\t1\n", "tsv"),
    "MS MARCO's run": ("1\t100\t1\n1\t101\t2\n", "tsv"),
    "CSV": ("query,doc,score\nq1,d1,0.5\n", "csv"),
    "CSV without a header": ("q1,d1,0.5\nq1,d2,0.4\n", "csv"),
    "CSV with blanks after commas": ("q1, d1, 3, 0.5\nq1, d2, 4, 0.4\n", "csv"),
    "semicolons": ("query;doc;score\nq1;d1;0.5\n", "csv"),
    "a mapping": ('{"q1": {"d1": 0.5}}', "json"),
    "a mapping over several lines": ('{\n  "q1": {\n    "d1": 0.5}}', "json"),
    "an array": ('[{"query": "q1", "doc": "d1", "score": 1}]', "json"),
    "objects on lines": ('{"query": "q1", "doc": "d1"}\n{"query": "q1", "doc": "d2"}\n', "jsonl"),
}


@pytest.mark.parametrize("content", CONTENTS)
def test_the_content_of_a_file_tells_its_format_whatever_its_name(content: str, tmp_path: Path) -> None:
    text, expected = CONTENTS[content]
    for name in ("file", "file.csv", "file.txt", "file.trec", "file.json", "file.parquet"):
        path = tmp_path / name
        path.write_text(text)
        assert detect(InputFile(str(path))) == expected, name


IDS = st.text(st.sampled_from("ab17#,;\"'{é\x1f"), min_size=1, max_size=3).filter(lambda text: text[0] != "#")
BLANKS = st.sampled_from([" ", "\t", "  ", " \t", "\t\t", "\v "])
EDGES = st.sampled_from(["", "", " ", "\t"])
ENDS = st.sampled_from(["\n", "\r\n", "\r", "\n# a, b, c\n", "\n\n"])


@given(
    st.lists(st.tuples(IDS, IDS, st.sampled_from(["1", "0", "2.5", "1e-3", "-1"])), min_size=1, max_size=5), st.data()
)
def test_a_valid_trec_file_is_detected_whatever_its_white_space_and_its_ids(
    rows: list[tuple[str, str, str]], data: st.DataObject
) -> None:
    text_of: dict[Number, str] = {"grade": "", "score": ""}
    for query, doc, value in rows:
        iteration = data.draw(st.sampled_from(["0", "1", "x"]))
        columns: dict[Number, list[str]] = {
            "grade": [query, iteration, doc, value],
            "score": [query, "Q0", doc, "1", value, "tag"],
        }
        for number, tokens in columns.items():
            line = "".join(token + data.draw(BLANKS) for token in tokens[:-1]) + tokens[-1]
            text_of[number] += data.draw(EDGES) + line + data.draw(EDGES) + data.draw(ENDS)
    start, is_stripped = data.draw(st.sampled_from(["", "\n", "# note\n"])), data.draw(st.booleans())
    for number, lines in text_of.items():
        text = start + (lines.rstrip("\r\n") if is_stripped else lines)
        assert detect(InputFile.of(BytesIO(text.encode())), number) == "trec", number


def test_four_columns_with_tabs_are_ground_truth_in_trec_or_a_run_with_ranks(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("1\t5\t1\t0.4\n1\t7\t2\t0.3\n")
    assert detect(InputFile(str(path)), "score") == "tsv"
    path.write_text("q1\t1\t1\t0\nq1\t2\t2\t1\n")
    assert detect(InputFile(str(path)), "grade") == "trec"


@pytest.mark.parametrize("given", ["json", "jsonl", "parquet", "feather"])
def test_an_error_says_what_a_file_looks_like_that_does_not_have_the_given_format(given: str, tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text("query,doc,score\nq1,d1,0.5\n")
    with pytest.raises(KaratError, match=r"looks like CSV.*run_format='csv'"):
        evaluate({"q1": {"d1": 1}}, path, run_format=given)


def test_an_error_says_that_a_file_of_no_known_format_is_read_as_trec(tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_text("q1 d1 1\n")
    with pytest.raises(KaratError, match=r"run.txt:1: .*read as TREC.*run_format"):
        evaluate({"q1": {"d1": 1}}, path)


@pytest.mark.parametrize(
    ("name", "text", "place", "read_as"),
    [
        ("run.txt", "q1\td1\t1.5\nq1\td2\tabc\n", ":2", "TSV"),
        ("run.txt", "query,doc,score\nq1,d1,1\nq1,d2\n", ":3", "CSV"),
        ("run.csv", "hello\n", ":1", "CSV"),
        (
            "run.json",
            '{"query":"q1","doc":"d1","score":1}\n{"query":"q1","doc":"d2","score":"x"}\n',
            ":2, score",
            "JSON lines",
        ),
        ("run", '{"q1": {"d1": 1}', "", "JSON"),
    ],
)
def test_an_error_about_a_row_names_the_format_that_was_guessed(
    name: str, text: str, place: str, read_as: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(KaratError) as error:
        evaluate({"q1": {"d1": 1}}, path)
    assert str(error.value.place) == f"{path}{place}"
    hint = f"The file is read as {read_as}; if it has another format, use run_format."
    assert str(error.value).endswith(hint)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("run.tsv", "q1\td1\t1.5\nq1\td2\tabc\n"),
        ("run.jsonl", '{"query":"q1","doc":"d1","score":1}\n{"query":"q1","doc":"d2","score":"x"}\n'),
        ("run.trec", "q1 Q0 d1 1 0.5 x\nq1 Q0 d2 2 abc x\n"),
    ],
)
def test_an_error_does_not_name_a_format_on_which_the_name_and_the_content_agree(
    name: str, text: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(KaratError, match=r":2(, score)?: score .* is not a number") as error:
        evaluate({"q1": {"d1": 1}}, tmp_path / name)
    assert "run_format" not in str(error.value)


@pytest.mark.parametrize(
    ("given", "text", "looks_like"),
    [
        ("csv", "q1 Q0 d1 1 0.5 x\n", "TREC"),
        ("tsv", "q1 Q0 d1 1 0.5 x\n", "TREC"),
        ("tsv", "query,doc,score\nq1,d1,1\n", "CSV"),
        ("csv", '{"q1": {"d1": 1}}', "JSON"),
        ("tsv", '{"q1": {"d1": 1}}', "JSON"),
        ("trec", '{"q1": {"d1": 1}}', "JSON"),
    ],
)
def test_a_given_format_that_contradicts_the_content_is_refused(
    given: str, text: str, looks_like: str, tmp_path: Path
) -> None:
    (tmp_path / "run").write_text(text)
    with pytest.raises(KaratError, match=f"was to be read as {given.upper()}, but it looks like {looks_like}"):
        evaluate({"q1": {"d1": 1}}, tmp_path / "run", run_format=given)


def test_the_columns_of_an_arrow_stream_are_known(tmp_path: Path) -> None:
    table = pa.table({"query": ["q1"], "doc": ["d1"], "score": [1.0]})
    with pa.OSFile(str(tmp_path / "run.arrow"), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    assert sample(InputFile(str(tmp_path / "run.arrow"))).names == ("query", "doc", "score")


def test_the_name_decides_where_the_content_leaves_a_choice(tmp_path: Path) -> None:
    for name, text, expected in (
        ("one.jsonl", '{"query": "q1", "documents": ["d1"]}', "jsonl"),
        ("one.json", '{"query": "q1", "documents": ["d1"]}', "json"),
        ("empty.csv", "", "csv"),
        ("empty.jsonl", " \n", "jsonl"),
        ("empty", "", "trec"),
        ("words.txt", "no known format\n", "trec"),
    ):
        path = tmp_path / name
        path.write_text(text)
        assert detect(InputFile(str(path))) == expected, name


def test_white_space_and_brackets_without_end_are_read_at_once(tmp_path: Path) -> None:
    # In quadratic time, each of these would take ten seconds.
    path = tmp_path / "run.txt"
    path.write_text("\n" * 70_000 + "q1 Q0 d1 1 1 t\n")
    assert detect(InputFile(str(path))) == "trec"
    path.write_text('{"q1": ["d1"]' + "[" * 70_000)
    assert sample(InputFile(str(path))) == Sample("json", is_cut=True)


def test_a_note_says_that_the_name_of_a_file_contradicts_its_content() -> None:
    assert contradiction(InputFile("run.csv"), "jsonl") == ("run.csv is read as JSON lines: its content is not CSV",)
    for path, detected in (("run.json", "jsonl"), ("run.csv.gz", "csv"), ("run.txt", "csv"), ("qrels.tsv", "trec")):
        assert not contradiction(InputFile(path), detected)  # type: ignore[arg-type]


def test_several_runs_in_files_are_named_after_the_files(tmp_path: Path) -> None:
    paths = [tmp_path / "bm25.trec", tmp_path / "dense.run.gz"]
    assert list(named_runs(paths)) == ["bm25", "dense"]
    for path in paths:
        path.write_text("q1 Q0 d1 1 0.5 tag\n")
    scores = evaluate_runs({"q1": ["d1"]}, [str(path) for path in paths], "RR")
    assert {name: each["RR"] for name, each in scores.items()} == {"bm25": 1.0, "dense": 1.0}


def test_a_list_that_is_not_of_paths_is_not_a_list_of_runs() -> None:
    mistakes: list[Any] = [[], [1], "", {}, {1: {}}, ["a", {}]]
    for runs in mistakes:
        with pytest.raises(KaratError):
            evaluate_runs({"q1": ["d1"]}, runs, "RR")


@pytest.fixture
def data_set(tmp_path: Path) -> Path:
    """A BEIR data set whose splits are in TREC's format, with three splits."""
    folder = tmp_path / "scifact"
    (folder / "qrels").mkdir(parents=True)
    for at, split in enumerate(("dev", "test", "train")):
        (folder / "qrels" / f"{split}.tsv").write_text(f"q1 0 d{at} 1\n")
    return folder


@pytest.mark.parametrize(("split", "expected"), [(None, 0.5), ("dev", 1.0), ("train", 1 / 3)])
def test_the_ground_truth_of_a_data_set_is_that_of_a_split_and_test_by_default(
    data_set: Path, split: str | None, expected: float
) -> None:
    run = {"q1": ["d0", "d1", "d2"]}
    assert evaluate(data_set, run, "RR", split=split)["RR"] == expected
    assert evaluate_runs(str(data_set), {"a": run}, "RR", split=split)["a"]["RR"] == expected


def test_the_only_split_of_a_data_set_is_the_default(data_set: Path) -> None:
    for split in ("test", "train"):
        (data_set / "qrels" / f"{split}.tsv").unlink()
    assert evaluate(data_set, {"q1": ["d0"]}, "RR")["RR"] == 1.0


def test_a_split_that_cannot_be_found_is_an_error_that_lists_the_splits(data_set: Path, tmp_path: Path) -> None:
    run = {"q1": ["d0"]}
    with pytest.raises(KaratError, match=r"the data set has no split 'tset'. Did you mean test\?.*dev, test and train"):
        evaluate(data_set, run, split="tset")
    (data_set / "qrels" / "test.tsv").unlink()
    with pytest.raises(KaratError, match=r"the data set has the splits dev and train. Choose one with split='dev'"):
        evaluate(data_set, run)
    for file in (data_set / "qrels").iterdir():
        file.unlink()
    with pytest.raises(KaratError, match="the folder qrels contains no ground truth"):
        evaluate(data_set, run)
    with pytest.raises(KaratError, match="this is a folder, not a file"):
        evaluate(tmp_path, run)
    with pytest.raises(KaratError, match="split is for the folder of a BEIR data set only"):
        evaluate(run, run, split="test")
    with pytest.raises(KaratError, match="not the folder of a BEIR data set"):
        evaluate(tmp_path / "qrels.tsv", run, split="test")
