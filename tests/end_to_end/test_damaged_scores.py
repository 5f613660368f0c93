"""Saved scores that are damaged or made by hand: an error in one line and status 2, never a traceback nor status 1."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import karat
from tests.end_to_end.in_process import run_here

QUERIES = ("q1", "q2", "q3")
TRUTH = {query: {"a": 1} for query in QUERIES}
RUNS = {"one": {query: ["a"] for query in QUERIES}, "two": {query: ["x", "a"] for query in QUERIES}}
SCORES = karat.evaluate_runs(TRUTH, RUNS, "map")
DIGITS = "9" * 5000
# Texts of JSON, because some of them cannot be written from Python.
REPLACEMENTS = (
    "null", "[]", "{}", '"x"', "-1", "true", "1e400", "NaN", DIGITS, '"\\ud800"', "[null]", '{"x": null}',
    "[" * 100_000, "[" * 100_000 + "]" * 100_000, '{"a":' * 100_000 + "1" + "}" * 100_000,
)  # fmt: skip
REMOVED = "removed"


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a value of a document is; of a list, only the first element."""
    yield path
    inner = node.items() if isinstance(node, dict) else enumerate(node[:1]) if isinstance(node, list) else ()
    for key, value in inner:
        yield from places(value, (*path, key))


def changed(node: Any, path: tuple[Any, ...], text: str) -> str:
    """The document as JSON, with another text in one place, or without it."""
    if not path:
        return text
    first, *rest = path
    if isinstance(node, list):
        elements = (
            changed(each, tuple(rest), text) if at == first else json.dumps(each) for at, each in enumerate(node)
        )
        return f"[{', '.join(elements)}]"
    fields = {
        key: changed(value, tuple(rest), text) if key == first else json.dumps(value) for key, value in node.items()
    }
    if text == REMOVED and not rest:
        del fields[first]
    return f"{{{', '.join(f'{json.dumps(key)}: {value}' for key, value in fields.items())}}}"


def damaged_documents() -> Iterator[str]:
    document = SCORES.to_dict()
    for at, path in enumerate(places(document)):
        # Each place gets a few of the replacements, and all of them are used many times.
        for text in (*REPLACEMENTS[at % 7 :: 7], *([REMOVED] if path and isinstance(path[-1], str) else [])):
            yield changed(document, path, text)


def damaged_csv() -> Iterator[bytes]:
    lines = b"run,query,AP\none,q1,0.5\none,q2,0.25\ntwo,q1,1\ntwo,q2,0.5\n"
    for old, new in (
        (b"0.25", DIGITS.encode()), (b"0.25", b"1e400"), (b"0.25", b"1e308"), (b"0.25", b"\0"), (b"0.25", b'"'),
        (b"0.25", b"0.25,1"), (b",0.25", b""), (b"AP", b"query"), (b"AP", b"\xff"),
        (b"AP", b"map" + b"-l1" * 20_000), (b"AP", b'"AP(' + b"," * 20_000 + b')"'),
        (b"q2", b"q1"), (b"q2", b"q" * 200_000), (b"query", b""), (b"\n", b"\r"),
    ):  # fmt: skip
        yield lines.replace(old, new)


def parquet(table: pa.Table, metadata: bytes | None) -> bytes:
    file = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(None if metadata is None else {b"karat": metadata}), file)
    return file.getvalue()


def damaged_parquet() -> Iterator[bytes]:
    table = SCORES.to_arrow(per_query=True)
    about = table.schema.metadata[b"karat"]
    for metadata in (b"", b"\xff", b"[" * 100_000, DIGITS.encode(), b"null", b'{"runs": [1]}', b'{"runs": {"one": 1}}'):
        yield parquet(table, metadata)
    for path in places(json.loads(about)):
        yield parquet(table, changed(json.loads(about), path, REPLACEMENTS[len(path) % 5]).encode())
    rows = len(table)
    for column in ([[1]] * rows, [{"a": 1}] * rows, [b"\xff"] * rows, [None] * rows, [float("inf")] * rows):
        yield parquet(table.set_column(2, "AP", [column]), about)
        yield parquet(table.set_column(1, "query", [column]), None)
    yield parquet(table.select([]), None)
    yield parquet(table.slice(0, 0), None)
    yield parquet(pa.table([table["query"], table["AP"], table["AP"]], names=["query", "AP", "AP"]), None)
    whole = parquet(table, about)
    for at in range(0, len(whole), 397):
        yield whole[:at]
        yield whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :]


@pytest.mark.parametrize(
    ("suffix", "contents"),
    [("json", damaged_documents), ("csv", damaged_csv), ("parquet", damaged_parquet)],
    ids=["json", "csv", "parquet"],
)
def test_damaged_scores_are_read_or_refused_with_status_2(tmp_path: Path, suffix: str, contents: Any) -> None:
    SCORES.save(tmp_path / "whole.json")
    file = f"damaged.{suffix}"
    commands = (
        ("gate", f"{file}:one", "--min", "AP=0"),
        ("compare", file),
        ("gate", "whole.json:one", "--baseline", f"{file}:one", "--max-drop", "AP=1"),
        ("diff", f"{file}:one", "whole.json:two"),
    )
    refused = 0
    for at, content in enumerate(contents()):
        (tmp_path / file).write_bytes(content if isinstance(content, bytes) else content.encode())
        done = run_here(tmp_path, *commands[at % len(commands)])
        assert done.returncode in (0, 2), (done, content[:500])
        assert len(done.stderr) < 4000
        assert done.returncode == 0 or done.stderr.startswith("karat: "), done
        refused += done.returncode == 2
    assert refused > 10


def test_a_long_name_in_a_file_of_groups_is_an_error_at_once(tmp_path: Path) -> None:
    SCORES["one"].save(tmp_path / "whole.json")
    (tmp_path / "groups.json").write_text(json.dumps([{"query": "q1", "x" * 200_000: 1}]))
    done = run_here(tmp_path, "compare", "whole.json", "whole.json", "--by", "groups.json:language")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert len(done.stderr) < 4000
