"""`karat convert`: what it writes, says and refuses."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from karat.cli import demo_data as demo
from tests.end_to_end.in_process import run_here

RUN = "q1 Q0 d1 1 2.5 bm25\nq1 Q0 d2 2 0.1 bm25\nq2 Q0 d1 1 1e-07 bm25\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "run.trec").write_text(RUN)
    (tmp_path / "truth.qrels").write_text("q1 0 d1 2\nq1 0 d2 0.5\nq2 0 d3 -1\n")
    return tmp_path


def test_says_in_one_line_what_was_written(folder: Path) -> None:
    done = run_here(folder, "convert", "run.trec", "run.csv")
    assert done.returncode == 0
    assert (done.stdout, done.stderr) == ("", "wrote run.csv: 3 rows of 2 queries, 47 B\n")
    assert (folder / "run.csv").read_text() == "query,doc,score\nq1,d1,2.5\nq1,d2,0.1\nq2,d1,1e-7\n"


def test_the_file_to_write_may_be_given_with_an_option_instead(folder: Path) -> None:
    done = run_here(folder, "convert", "run.trec", "-o", "run.csv")
    assert (done.returncode, done.stderr) == (0, "wrote run.csv: 3 rows of 2 queries, 47 B\n")
    to_output = run_here(folder, "convert", "run.trec", "-o", "-", "--output-format", "csv")
    assert (to_output.stdout, to_output.stderr) == ((folder / "run.csv").read_text(), "")
    twice = run_here(folder, "convert", "run.trec", "run.tsv", "-o", "run.csv")
    assert twice.stderr == "karat: the file to write is given twice, as OUT and with -o. Leave one out.\n"
    missing = run_here(folder, "convert", "run.trec")
    assert missing.stderr == "karat: the file to write is missing. Name it: karat convert IN OUT, or -o OUT.\n"
    over_input = run_here(folder, "convert", "run.trec", "-o", "run.trec")
    assert "the output file is also an input" in over_input.stderr


def test_ground_truth_is_recognized_by_its_four_columns(folder: Path) -> None:
    assert run_here(folder, "convert", "truth.qrels", "truth.tsv").returncode == 0
    assert (folder / "truth.tsv").read_text() == "query\tdoc\tgrade\nq1\td1\t2\nq1\td2\t0.5\nq2\td3\t-1\n"


def test_standard_output_has_the_data_and_nothing_else(folder: Path) -> None:
    done = run_here(folder, "convert", "-", "-", "--output-format", "jsonl", stdin=RUN.encode())
    assert done.stdout.splitlines()[1] == '{"query": "q2", "documents": {"d1": 1e-7}}'
    assert done.stderr == ""


def test_rows_that_are_not_grouped_by_query_are_grouped_where_the_format_needs_it(folder: Path) -> None:
    (folder / "mixed.trec").write_text("q1 Q0 a 1 1 t\nq2 Q0 b 1 1 t\nq1 Q0 c 1 3 t\n")
    for target in ("out.trec", "-"):
        done = run_here(folder, "convert", "mixed.trec", target, "--output-format", "trec", "--tag", "mine")
        text = done.stdout if target == "-" else (folder / target).read_text()
        assert text == "q1 Q0 a 2 1 mine\nq1 Q0 c 1 3 mine\nq2 Q0 b 1 1 mine\n"
    run_here(folder, "convert", "mixed.trec", "out.csv")
    assert (folder / "out.csv").read_text() == "query,doc,score\nq1,a,1\nq2,b,1\nq1,c,3\n"


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz", "zst", "lz4"])
def test_a_second_suffix_compresses_the_output(folder: Path, suffix: str) -> None:
    run_here(folder, "convert", "run.trec", f"run2.trec.{suffix}")
    assert b"q1" not in (folder / f"run2.trec.{suffix}").read_bytes()[:8]
    done = run_here(folder, "convert", f"run2.trec.{suffix}", "-", "--output-format", "csv")
    assert done.stdout == "query,doc,score\nq1,d1,2.5\nq1,d2,0.1\nq2,d1,1e-7\n"


def test_the_same_input_gives_the_same_bytes(folder: Path) -> None:
    for target in ("one.csv.gz", "two.csv.gz"):
        run_here(folder, "convert", "run.trec", target)
    assert (folder / "one.csv.gz").read_bytes() == (folder / "two.csv.gz").read_bytes()
    assert gzip.decompress((folder / "one.csv.gz").read_bytes()).startswith(b"query,doc,score\n")


def test_parquet_has_plain_columns_that_other_tools_read(folder: Path) -> None:
    done = run_here(folder, "convert", demo.TRUTH, "truth.parquet")
    table = pq.read_table(folder / "truth.parquet")
    assert [str(kind) for kind in table.schema.types] == ["string", "string", "double"]
    assert table.column_names == ["query", "doc", "grade"]
    assert done.stderr.startswith(f"wrote truth.parquet: {len(table)} rows of 50 queries, ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run.trec", "run.xyz"), "run.xyz: the format of .xyz files is not known. Choose one with --output-format"),
        (("run.trec", "run.parquet.gz"), "run.parquet.gz: parquet files are compressed already. Leave out .gz."),
        (("run.trec", "./run.trec"), "./run.trec: the output file is also an input: run.trec. Write to another file."),
        (("run.trec", "-"), "the format of standard output is not known. Choose one with --output-format."),
        (("run.trec", "-", "--output-format", "parquet"), "parquet cannot be written to standard output. Name a file."),
        (("no.trec", "run.csv"), "no.trec: no such file"),
        (("run.trec", "no/run.csv"), "no/run.csv: cannot be written: No such file or directory"),
        (("run.trec", "a.csv", "--tag", "two words"), "the tag 'two words' is not one word."),
        (("bad.trec", "a.csv"), "bad.trec:2: score 'x' is not a number."),
        (("empty.trec", "a.csv"), "empty.trec: the file is empty"),
        (("truth.qrels", "a.run"), "a.run: the file is named as a run, but this is ground truth. Use the suffix .trec"),
        (("map.json", "a.csv"), "map.json: cannot tell whether this is a run, ground truth or results."),
    ],
)
def test_what_cannot_be_converted_is_one_clear_error(folder: Path, words: tuple[str, ...], message: str) -> None:
    (folder / "bad.trec").write_text("q1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 x t\n")
    (folder / "empty.trec").write_text("")
    (folder / "map.json").write_text('{"q1": {"d1": 1}}')
    before = sorted(path.name for path in folder.iterdir())
    done = run_here(folder, "convert", *words)
    assert done.returncode == 2
    assert done.stderr.startswith(f"karat: {message}")
    assert done.stderr.count("\n") == 1
    assert sorted(path.name for path in folder.iterdir()) == before


def test_columns_formats_and_splits_are_given_as_for_evaluate(folder: Path) -> None:
    (folder / "run.dat").write_text("topic;hit;quality\nq1;d1;0.5\n")
    words = ("--input-format", "csv", "--column", "query=topic", "--column", "doc=hit", "--column", "score=quality")
    assert run_here(folder, "convert", "run.dat", "out.csv", *words).returncode == 0
    assert (folder / "out.csv").read_text() == "query,doc,score\nq1,d1,0.5\n"
    (folder / "beir" / "qrels").mkdir(parents=True)
    (folder / "beir" / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\n")
    done = run_here(folder, "convert", "beir", "out.qrels", "--split", "dev")
    assert (folder / "out.qrels").read_text() == "q1 0 d1 2\n", done.stderr
    assert "note: " in done.stderr


def test_a_column_whose_name_is_not_utf8_is_an_error_of_every_command(folder: Path) -> None:
    run_here(folder, "convert", "run.trec", "run.parquet")
    path = folder / "bad.parquet"
    path.write_bytes((folder / "run.parquet").read_bytes().replace(b"score", b"\xff\xfeore"))
    for words in (("convert", path, "out.csv"), ("evaluate", "truth.qrels", path)):
        done = run_here(folder, *words)
        assert done.returncode == 2
        assert "the Parquet data is damaged or cut short ('utf-8' codec can't decode" in done.stderr


@pytest.mark.parametrize("form", ["parquet", "feather"])
def test_converted_results_are_evaluated_like_the_originals(folder: Path, form: str) -> None:
    record = '{"query": "%s", "truth": ["d1"], "retrieved": [{"id": "%s", "content": "text"}]}\n'
    (folder / "results.jsonl").write_text(record % ("q1", "d1") + record % ("q2", "d2"))
    done = run_here(folder, "convert", "results.jsonl", f"results.{form}")
    assert done.returncode == 0, done.stderr
    done = run_here(folder, "evaluate", f"results.{form}", "-m", "RR", "--format", "csv")
    assert (done.returncode, done.stdout.splitlines()[1].split(",")[1]) == (0, "0.5"), done.stderr


@pytest.mark.parametrize("text", ['{"q1": {"d1": 1, "d2"', '[{"query": "q1", "doc"'])
def test_json_that_is_cut_short_is_named_as_such(text: str, tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text(text)
    done = run_here(tmp_path, "convert", "in.json", "out.trec")
    assert done.returncode == 2
    assert done.stderr.startswith("karat: in.json: not JSON: ")


def test_the_help_of_convert_names_no_sides() -> None:
    done = run_here(Path(), "convert", "--help")
    assert "truth=" not in done.stdout
    assert "truth.doc" not in done.stdout
