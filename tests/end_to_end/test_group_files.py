"""Files that --by and --queries read, and the errors about them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from tests.end_to_end.in_process import run_here

QUERIES = [f"q{at}" for at in range(6)]
NO_TABLE = "Texts and groups are read from CSV, TSV, JSON, JSON lines, Parquet or Feather, with a column of ids"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "truth").write_text("".join(f"{query} 0 a 1\n" for query in QUERIES))
    for name in ("x", "y"):
        lines = (f"{query} Q0 {'a' if (at + len(name)) % 2 else name} 1 1 t\n" for at, query in enumerate(QUERIES))
        (tmp_path / f"{name}.trec").write_text("".join(lines))
    return tmp_path


def groups(folder: Path, *words: str) -> dict[str, int]:
    """The number of queries in each group."""
    done = run_here(folder, "evaluate", "truth", "x.trec", "-m", "RR", "--format", "json", *words)
    assert done.returncode == 0, done.stderr
    return {str(group["group"]): group["queries"] for group in json.loads(done.stdout)["groups"]}


def refused(folder: Path, *words: str) -> str:
    """The error, which evaluate and compare share."""
    errors = set()
    for command in (("evaluate", "truth", "x.trec"), ("compare", "truth", "x.trec", "y.trec")):
        done = run_here(folder, *command, "-m", "RR", *words)
        assert (done.returncode, done.stdout) == (2, "")
        errors.add(done.stderr)
    assert len(errors) == 1
    return errors.pop()


def test_the_queries_of_beir_are_read(folder: Path) -> None:
    lines = (json.dumps({"_id": query, "text": "one two"[: 3 + at % 2 * 4]}) for at, query in enumerate(QUERIES))
    (folder / "queries.jsonl").write_text("\n".join(lines))
    found = groups(folder, "--by", "length", "--queries", "queries.jsonl:text")
    assert (found["1"], found["2"]) == (3, 3)


def test_results_are_grouped_by_the_length_of_their_questions(folder: Path) -> None:
    records = ({"query": query, "question": "one two"[: 3 + at % 2 * 4]} for at, query in enumerate(QUERIES))
    lines = [json.dumps({**record, "truth": ["a"], "retrieved": ["a"]}) for record in records]
    (folder / "results.jsonl").write_text("\n".join(lines))
    for words in (("evaluate", "results.jsonl"), ("compare", "results.jsonl", "results.jsonl")):
        done = run_here(folder, *words, "-m", "RR", "--by", "length", "--format", "json")
        assert [(each["group"], each["queries"]) for each in json.loads(done.stdout)["groups"]] == [("1", 3), ("2", 3)]


def test_lengths_of_queries_that_are_not_known_are_an_error_that_names_the_option(folder: Path) -> None:
    error = "karat: grouping by length needs the texts of the queries, but only their ids are known. Add their texts"
    assert refused(folder, "--by", "length").startswith(error)
    assert refused(folder, "--by", "length", "--report", "report.html").startswith(error)
    done = run_here(folder, "report", "truth", "x.trec", "--by", "length", "-o", "report.html")
    assert done.stderr.startswith(error)
    assert not (folder / "report.html").exists()


def test_a_column_is_read_from_an_object_of_each_query(folder: Path) -> None:
    values = {query: {"language": "de" if at % 2 else "en", "year": 2000} for at, query in enumerate(QUERIES)}
    (folder / "queries.json").write_text(json.dumps(values | {"q5": {"year": 2000}}))
    found = groups(folder, "--by", "queries.json:language")
    assert (found["en"], found["de"]) == (3, 2)


TEXTS = {query: "one two"[: 3 + at % 2 * 4] for at, query in enumerate(QUERIES)}
ROWS = TEXTS.items()
FILES = {
    "BEIR": ("queries.jsonl", "".join(json.dumps({"_id": q, "text": t, "metadata": {}}) + "\n" for q, t in ROWS)),
    "MS MARCO": ("queries.tsv", "".join(f"{q}\t{t}\n" for q, t in ROWS)),
    "CSV without a header": ("queries.csv", "".join(f'{q},"{t}"\n' for q, t in ROWS)),
    "PyTerrier": ("topics.csv", "qid,query\n" + "".join(f"{q},{t}\n" for q, t in ROWS)),
    "TSV": ("queries.tsv", "query_id\ttext\tlanguage\n" + "".join(f"{q}\t{t}\ten\n" for q, t in ROWS)),
    "a mapping": ("queries.json", json.dumps(TEXTS)),
    "an array": ("queries.json", json.dumps([{"id": q, "question": t} for q, t in ROWS])),
    "old line ends": ("queries.csv", "qid,text\r" + "".join(f"{q},{t}\r" for q, t in ROWS)),
}


@pytest.mark.parametrize("kind", FILES)
def test_texts_are_read_from_every_format(folder: Path, kind: str) -> None:
    name, content = FILES[kind]
    (folder / name).write_text(content)
    (folder / f"{name}.gz").write_bytes(gzip.compress(content.encode()))
    for file in (name, f"{name}.gz"):
        found = groups(folder, "--by", "length", "--queries", file)
        assert (found["1"], found["2"]) == (3, 3), file


def test_the_columns_that_were_guessed_are_named(folder: Path) -> None:
    words = ("evaluate", "truth", "x.trec", "-m", "RR", "--by", "length", "--queries")
    for kind, note in (
        ("PyTerrier", "note: topics.csv: id is read from the column 'qid' and text from 'query'."),
        ("MS MARCO", "note: queries.tsv: there is no header line; the columns are read as ids and texts."),
    ):
        (folder / FILES[kind][0]).write_text(FILES[kind][1])
        assert note in run_here(folder, *words, FILES[kind][0]).stdout
    (folder / "queries.jsonl").write_text(FILES["BEIR"][1])
    assert "are read" not in run_here(folder, *words, "queries.jsonl").stdout


def test_groups_are_read_from_parquet_feather_and_compressed_files(folder: Path) -> None:
    table = pa.table({"qid": QUERIES, "query": [*TEXTS.values()], "language": ["de", "en", "en", None, "en", "de"]})
    pa.parquet.write_table(table, folder / "queries.parquet")
    pa.feather.write_feather(table, folder / "queries.feather")
    lines = "".join(json.dumps(row) + "\n" for row in table.to_pylist())
    (folder / "queries.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    for name in ("queries.parquet", "queries.feather", "queries.jsonl.gz"):
        assert groups(folder, "--by", f"{name}:language") == {"de": 2, "en": 3, "(none)": 1}


def test_long_texts_without_a_header_are_read(folder: Path) -> None:
    (folder / "queries.tsv").write_text("\n" + "".join(f"{query}\t{'x' * 140_000} y\n" for query in QUERIES))
    assert groups(folder, "--by", "length", "--queries", "queries.tsv") == {"2": 6}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "a,b,c\n1,2,3\n", "a.csv: no columns 'id' and 'text'; the columns are 'a', 'b', 'c'."),
        ("a.csv", "qid,n\n1,2\n", "a.csv: no column 'text'; the columns are 'qid', 'n'. If"),
        ("a.tsv", "q1\tone\nq2\n", "a.tsv:2: the line has 1 column instead of 2: the id and the text"),
        ("a.csv:txet", "qid,text\n1,2\n", "a.csv: no column 'txet'; the columns are 'qid', 'text'. Did you mean text?"),
        ("a.jsonl", '{"_id": "q1", "text": "a"}\n{"text": "b"}\n', "a.jsonl:2: the id is missing"),
        ("a.csv", "qid,text\nq1,a\nq1,b\n", "a.csv:3: query 'q1' has another text here than in a.csv:2"),
        ("a.json", "[]", "a.json: the file contains no records"),
        ("a.json", '{"q1": ', "a.json: not JSON: Expecting value at column 8"),
        ("a.csv", 'qid,text\nq1,"a\n', "a.csv:2: a quotation mark is not closed"),
        ("a.csv", f"q1,{'x' * 140_000}\n", "a.csv:1: a value is longer than 131,072 characters"),
        ("nowhere.csv", "", "nowhere.csv: no such file"),
    ],
)
def test_a_file_without_ids_or_texts_is_an_error_with_its_place(
    folder: Path, name: str, content: str, message: str
) -> None:
    if content:
        (folder / name.partition(":")[0]).write_text(content)
    assert message in refused(folder, "--by", "length", "--queries", name)


WORDS = {"--by": ("--by",), "--queries": ("--by", "length", "--queries")}


@pytest.mark.parametrize("option", WORDS)
class TestErrors:
    @pytest.mark.parametrize("content", ["", "\n \n"])
    def test_a_file_without_queries_is_named(self, option: str, content: str, folder: Path) -> None:
        (folder / "empty.csv").write_text(content)
        error = refused(folder, *WORDS[option], "empty.csv:language")
        assert f"empty.csv: the file is empty. {NO_TABLE}" in error

    def test_what_is_no_table_is_not_called_predicted_answers(self, option: str, folder: Path) -> None:
        error = refused(folder, *WORDS[option], "truth:language")
        assert f"truth:1: the file is neither JSON nor a table. {NO_TABLE}" in error

    def test_values_of_other_queries_are_an_error_that_names_the_option(self, option: str, folder: Path) -> None:
        (folder / "other.csv").write_text("query,language\nq99,en\n")
        error = refused(folder, *WORDS[option], "other.csv:language")
        said = {
            "--by": "by has no value for any of the queries. The query",
            "--queries": "no text found for any of the 6 queries. Their",
        }
        assert f"{said[option]} ids are q0, q1, q2" in error
