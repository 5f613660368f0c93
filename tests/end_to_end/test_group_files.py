"""Files that --by and --texts read, and the errors about them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.end_to_end.in_process import run_here

QUERIES = [f"q{at}" for at in range(6)]
NO_TABLE = "A value for each query is read from CSV, TSV, JSON or JSON lines with a column of query ids"


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
    found = groups(folder, "--by", "length", "--texts", "queries.jsonl:text")
    assert (found["1"], found["2"]) == (3, 3)


def test_a_column_is_read_from_an_object_of_each_query(folder: Path) -> None:
    values = {query: {"language": "de" if at % 2 else "en", "year": 2000} for at, query in enumerate(QUERIES)}
    (folder / "queries.json").write_text(json.dumps(values | {"q5": {"year": 2000}}))
    found = groups(folder, "--by", "queries.json:language")
    assert (found["en"], found["de"]) == (3, 2)


WORDS = {"--by": ("--by",), "--texts": ("--by", "length", "--texts")}


@pytest.mark.parametrize("option", WORDS)
class TestErrors:
    @pytest.mark.parametrize("content", ["", "\n \n"])
    def test_a_file_without_queries_is_named(self, option: str, content: str, folder: Path) -> None:
        (folder / "empty.csv").write_text(content)
        error = refused(folder, *WORDS[option], "empty.csv:language")
        assert f"empty.csv: the file contains no queries. {NO_TABLE}" in error

    def test_what_is_no_table_is_not_called_predicted_answers(self, option: str, folder: Path) -> None:
        error = refused(folder, *WORDS[option], "truth:language")
        assert f"truth:1: the file is neither JSON nor a table. {NO_TABLE}" in error

    def test_values_of_other_queries_are_an_error_that_names_the_option(self, option: str, folder: Path) -> None:
        (folder / "other.csv").write_text("query,language\nq99,en\n")
        error = refused(folder, *WORDS[option], "other.csv:language")
        assert f"karat: {option} has no value for any of the queries. The query ids are q0, q1, q2" in error
