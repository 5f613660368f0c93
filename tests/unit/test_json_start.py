"""JSON and JSON lines are told apart by how a file begins."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.json_decoding import json_or_jsonl

RECORD = '{"query": "q1", "documents": ["d1"]}'
LONG = {"q1": {f"d{at}": 1.5 for at in range(10_000)}}
MANY = [f"d{at}" for at in range(10_000)]

JSON = {
    "a mapping on one line": '{"q1": {"d1": 1}}',
    "a mapping over lines": '{\n  "q1": {"d1": 1},\n  "q2": {}\n}\n',
    "a mapping that begins in the first line": '{"q1": {"d1": 1},\n"q2": {}}',
    "an array": '[{"query": "q1", "doc": "d1"}]\n',
    "an array with a record per line": '[{"query": "q1", "doc": "d1"},\n{"query": "q2", "doc": "d1"}]',
    "a long mapping": json.dumps(LONG),
    "a long mapping of lists": json.dumps({"q1": MANY}),
    "a long array": json.dumps([MANY]),
    "one record": RECORD,
    "blank lines around a value": f"\n\n{RECORD}\n\n",
    "cut short": '{"q1": {"d1": 1',
    "nested": "[" * 100_000,
    "nested over lines": "[" * 100 + "\n" + "[" * 100_000,
}
LINES = {
    "records": f"{RECORD}\n{RECORD}\n",
    "records with blank lines": f"\n{RECORD}\n\n{RECORD}",
    "Windows line ends": f"{RECORD}\r\n{RECORD}\r\n",
    "a long first record": json.dumps({"query": "q1", "documents": MANY}) + "\n" + RECORD,
    "a damaged first line": f'{{"query": "q1" "documents": ["d1"]}}\n{RECORD}\n',
    "a first line that was cut short": f'{{"query": "q1"\n{RECORD}\n',
    "lists in lines": '["q1", "d1"]\n["q2", "d1"]\n',
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(pytest.param(text, "json", id=name) for name, text in JSON.items()),
        *(pytest.param(text, "jsonl", id=name) for name, text in LINES.items()),
    ],
)
def test_the_first_bytes_tell_json_from_json_lines(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "file.txt"
    path.write_bytes(text.encode())
    assert json_or_jsonl(InputFile(str(path))) == expected


@pytest.mark.parametrize("name", ["run.jsonl", "run.ndjson", "run.JSONL.gz"])
def test_a_single_line_is_json_lines_if_the_name_says_so(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(RECORD)
    assert json_or_jsonl(InputFile(str(tmp_path / name))) == "jsonl"
