"""Saved scores are read like every other file: by their content, compressed, from pipes and from open files."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import karat
from karat import KaratError, Scores, SystemScores
from karat.testing import assert_scores
from tests.compressions import COMPRESS
from tests.end_to_end.in_process import printed, refused, run_here

TRUTH = {f"q{at}": {"a": 1} for at in range(6)}
RUNS = {"one": {query: ["x", "a"] for query in TRUTH}, "two": {query: ["a"] for query in TRUTH}}
SYSTEMS = karat.evaluate_runs(TRUTH, RUNS, ["RR", "P@1"])
TABLE = SYSTEMS.to_arrow(per_query=True)


def _written(write: Callable[[pa.Table, io.BytesIO], object]) -> bytes:
    file = io.BytesIO()
    write(TABLE, file)
    return file.getvalue()


def _stream(table: pa.Table, file: io.BytesIO) -> None:
    with pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)


CSV = SYSTEMS.to_csv(per_query=True)
LINES = "".join(
    f'{{"run": "{row["run"]}", "query": "{row["query"]}", "RR": {row["RR"]}}}\n' for row in TABLE.to_pylist()
)
CONTENTS = {
    "json": SYSTEMS.to_json().encode(),
    "json lines": LINES.encode(),
    "csv": CSV.encode(),
    "csv with a byte order mark": f"\ufeff{CSV}".encode(),
    "semicolons": CSV.replace(",", ";").encode(),
    "tsv": CSV.replace(",", "\t").encode(),
    "parquet": _written(pq.write_table),
    "feather": _written(feather.write_feather),
    "arrow stream": _written(_stream),
}


@pytest.mark.parametrize("name", ["scores", "scores.json", "scores.csv", "scores.parquet"])
@pytest.mark.parametrize("content", CONTENTS)
def test_the_content_decides_on_the_format_whatever_the_name_is(content: str, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(CONTENTS[content])
    loaded = SystemScores.load(tmp_path / name)
    assert {system: scores["RR"] for system, scores in loaded.items()} == {"one": 0.5, "two": 1}


@pytest.mark.parametrize("compression", COMPRESS)
def test_compressed_scores_are_read_whatever_the_name_is(compression: str, tmp_path: Path) -> None:
    for content in CONTENTS.values():
        (tmp_path / "scores.json").write_bytes(COMPRESS[compression](content))
        assert SystemScores.load(tmp_path / "scores.json")["one"]["RR"] == 0.5
        assert "two is significantly better" in printed(run_here(tmp_path, "compare", "scores.json", "-m", "RR"))


@pytest.mark.parametrize("content", CONTENTS)
def test_scores_are_read_from_open_files(content: str) -> None:
    data = CONTENTS[content]
    assert SystemScores.load(io.BytesIO(data))["two"]["RR"] == 1
    if content not in ("parquet", "feather", "arrow stream"):
        assert SystemScores.load(io.StringIO(data.decode()))["two"]["RR"] == 1


def test_a_system_without_a_name_is_named_after_its_file(tmp_path: Path) -> None:
    content = b"query,RR\nq1,1\n"
    (tmp_path / "bm25.csv.gz").write_bytes(COMPRESS["gzip"](content))
    assert list(SystemScores.load(tmp_path / "bm25.csv.gz")) == ["bm25"]
    with (tmp_path / "bm25.csv.gz").open("rb") as file:
        assert list(SystemScores.load(file)) == ["bm25"]
    assert list(SystemScores.load(io.BytesIO(content))) == ["the file object"]


def test_the_baseline_of_an_assertion_is_an_open_file() -> None:
    baseline = io.BytesIO(SYSTEMS["one"].to_json().encode())
    assert assert_scores(SYSTEMS["two"], max_drop={"RR": 0}, baseline=baseline).passed
    with pytest.raises(KaratError, match="baseline: 3 is not a Scores object"):
        assert_scores(SYSTEMS["two"], max_drop={"RR": 0}, baseline=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("content", ["json", "csv", "parquet"])
def test_every_command_reads_scores_from_a_pipe(content: str, tmp_path: Path) -> None:
    (tmp_path / "all").write_bytes(CONTENTS[content])
    SYSTEMS["one"].save(tmp_path / f"one.{content}")
    pipe = COMPRESS["zstd"]((tmp_path / f"one.{content}").read_bytes())
    assert printed(run_here(tmp_path, "compare", "-", "-m", "RR", stdin=CONTENTS[content])) == printed(
        run_here(tmp_path, "compare", "all", "-m", "RR")
    )
    for words in (
        ("diff", "ONE", "all:two", "-m", "RR"),
        ("diff", "all:two", "ONE", "-m", "RR", "--query", "q1"),
        ("gate", "all:two", "--min", "RR=0.9", "--max-drop", "RR=0", "--baseline", "ONE"),
        ("gate", "ONE", "--min", "RR=0.5"),
    ):
        of_pipe, of_file = ([each.replace("ONE", name) for each in words] for name in ("-", f"one.{content}"))
        expected = printed(run_here(tmp_path, *of_file))
        assert printed(run_here(tmp_path, *of_pipe, stdin=pipe)).replace("stdin", "one").split() == expected.split()
    error = refused(run_here(tmp_path, "gate", "-", "--min", "RR=0", stdin=CONTENTS[content]))
    assert "standard input: one system is needed, and this file contains one and two. Save it as a file" in error


def test_the_only_measure_of_a_pipe_is_shown_by_a_diff(tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("query,cost\nq1,3\n")
    assert "cost" in printed(run_here(tmp_path, "diff", "-", "new.csv", stdin=b"query;cost\nq1;2\n"))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "the file is empty"),
        (b"\xef\xbb\xbf \n", "the file is empty"),
        (COMPRESS["gzip"](b""), "the file is empty"),
        (COMPRESS["gzip"](b"query,RR\nq1,1\n")[:-5], "the gzip data is damaged or cut short"),
        (COMPRESS["gzip"](COMPRESS["gzip"](b"query,RR\nq1,1\n")), "compressed twice"),
        (CONTENTS["json"][:-30], "not JSON"),
        (CONTENTS["json lines"][:-9], "saved:12: not JSON"),
        (CONTENTS["csv"][:-9], "saved:13: this line has 2 columns, but the header has 4"),
        (CONTENTS["parquet"][:-9], "the Parquet data is damaged or cut short"),
        (CONTENTS["feather"][:-9], "the Arrow data is damaged or cut short"),
        (CONTENTS["arrow stream"][:-9], "the Arrow data is damaged or cut short"),
        (b"PK\x03\x04" + bytes(30), "this file is a ZIP archive"),
        (b"query,RR\nq1,\xff\n", "saved:2: b'.xff' is not UTF-8"),
        (b"q1 Q0 a 1 2.5 x\n", "no column 'query'; the columns are"),
    ],
    ids=[
        "empty", "blank", "empty gzip", "cut gzip", "gzip in gzip", "cut JSON", "cut JSON lines", "cut CSV",
        "cut Parquet", "cut Feather", "cut stream", "ZIP", "not UTF-8", "TREC",
    ],
)  # fmt: skip
def test_scores_that_cannot_be_read_are_one_clear_error(content: bytes, problem: str, tmp_path: Path) -> None:
    (tmp_path / "saved").write_bytes(content)
    with pytest.raises(KaratError, match=problem) as raised:
        Scores.load(tmp_path / "saved")
    assert "\n" not in str(raised.value)
    (tmp_path / "other.csv").write_text("query,RR\nq1,1\n")
    refused(run_here(tmp_path, "compare", "saved", "other.csv"))
    refused(run_here(tmp_path, "gate", "other.csv", "--max-drop", "RR=0", "--baseline", "saved"))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("run.parquet", "Parquet"),
        ("run.arrow", "Feather"),
        ("run.trec.gz", "gzip"),
        ("a.zst", "zstd"),
        ("a.lz4", "lz4"),
    ],
)
def test_rubbish_is_not_what_the_name_of_its_file_says(name: str, kind: str, tmp_path: Path) -> None:
    rubbish = b"\tab," + random.Random(1).randbytes(300) + b"\n\0,"
    (tmp_path / name).write_bytes(rubbish)
    message = f"the name of the file says {kind}, but its content is neither {kind} nor text"
    for read in (Scores.load, lambda path: karat.evaluate({"q": ["a"]}, path), lambda path: karat.evaluate(path, {})):
        with pytest.raises(KaratError, match=message):
            read(tmp_path / name)
    (tmp_path / name).write_bytes(COMPRESS["gzip"](rubbish))
    if kind in ("Parquet", "Feather"):
        with pytest.raises(KaratError, match=message):
            Scores.load(tmp_path / name)
    (tmp_path / name).write_text("query,RR\nq1,1\n")
    assert Scores.load(tmp_path / name)["RR"] == 1
