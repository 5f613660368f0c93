"""Every record of a verdict file, damaged in every field: an error with file and line, or a right result."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from karat.errors import KaratError
from karat.evaluation.verdicts import evaluate_verdicts

RECORDS: list[dict[str, Any]] = [
    {"record": "file", "version": 1},
    {"record": "task", "name": "tone", "question": "How polite is it?", "scale": {"rude": 0, "polite": 1}},
    {"record": "item", "query": "q", "system": "a", "id": "p1", "type": "passage", "rank": 1, "text": "Gold is soft."},
    {"record": "item", "query": "q", "system": "a", "id": "p2", "type": "passage", "rank": 2, "text": "Gold is rare."},
    {
        "record": "item", "query": "q", "system": "a", "id": "s1", "type": "sentence", "of": "answer",
        "text": "Soft [1].", "cites": ["p1"], "digest": "441ce56bd3f4a6a3",
    },
    {"record": "item", "query": "q", "id": "n1", "type": "nugget", "text": "soft", "importance": "vital"},
    {
        "record": "verdict", "query": "q", "system": "a", "task": "support", "item": "s1", "against": ["p1"],
        "label": "full", "state": "labelled", "by": "human:ann", "sample": 0, "why": "It says so.",
        "digest": "441ce56bd3f4a6a3", "call": "k1",
    },
    {"record": "verdict", "query": "q", "task": "support", "item": "n1", "against": "answer", "label": "full"},
    {"record": "verdict", "query": "q", "system": "a", "task": "tone", "item": "answer", "label": "rude"},
    {
        "record": "call", "key": "k1", "model": "m", "settings": {"temperature": 0}, "reply": "full", "tokens_in": 9,
        "tokens_out": 2, "state": "done", "verdicts": 1, "error": "slow",
    },
    {
        "record": "sample", "query": "q", "system": "a", "recipe": "support", "number": 1, "drawn": 2, "population": 3,
        "population_digest": "0123456789abcdef", "seed": 7,
    },
]  # fmt: skip
HOSTILE: list[Any] = [None, 0, 1.5, [], [[]], {}, "", "\ud800", "\0", "x" * 9000]
MORE_HOSTILE = [
    True, -1, math.inf, math.nan, 10**30, [None], ["p1", 3], {"a": {}}, {"": None}, " ", 'a "quoted"\nname',
    ["\ud800"], {"\ud800": 1, "b": 2}, object(),
]  # fmt: skip
ACCEPTED = {
    "file": {"record"},
    "task": {"record", "question"},
    "item": {"record", "query", "id", "of", "text", "importance", "digest", "cites"},
    "verdict": {"record", "query", "system", "state", "by", "sample", "why", "digest", "call"},
    "call": {"record", "key", "model", "settings", "reply", "tokens_in", "tokens_out", "verdicts", "error"},
    "sample": {"query", "system", "recipe", "population", "population_digest", "seed"},
}
"""fields that may have some other value, or none"""
IDS = ("query", "system", "id", "item", "task", "by", "name")


def _damaged(values: list[Any]) -> Iterator[tuple[int, str, Any, list[dict[str, Any]]]]:
    for at, record in enumerate(RECORDS):
        for field in record:
            for value in values:
                yield at, field, value, [*RECORDS[:at], {**record, field: value}, *RECORDS[at + 1 :]]


def _fault(source: Any) -> KaratError | None:
    """What is wrong with verdicts; every other exception fails the test."""
    try:
        evaluate_verdicts(source, "SupportRecall")
    except KaratError as error:
        str(error).encode()
        return error
    return None


def test_the_undamaged_records_are_right() -> None:
    assert evaluate_verdicts(RECORDS, "SupportRecall").per_query["q"] == {"SupportRecall": 1.0}


def test_a_damaged_field_of_a_file_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    for at, field, value, records in _damaged(HOSTILE):
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        fault, kind = _fault(path), RECORDS[at]["record"]
        assert fault is not None or field in ACCEPTED[kind] or value is None, (kind, field, value)
        assert fault is None or (str(fault.place) or "").startswith(str(path)), (kind, field, value)
        if value in ("", "\ud800") and field in IDS:
            assert fault is not None, (kind, field, value)
            assert (str(fault.place) or "").startswith(f"{path}:{at + 1}"), (kind, field, value)


def test_a_damaged_field_of_a_list_is_an_error_that_names_its_row() -> None:
    for at, field, value, records in _damaged(HOSTILE + MORE_HOSTILE):
        fault, kind = _fault(records), RECORDS[at]["record"]
        is_gap = value is None or value != value
        assert fault is not None or field in ACCEPTED[kind] or is_gap, (kind, field, value)


@pytest.mark.parametrize(
    "value", [pd.NA, np.array([1, 2]), 10**5000, pd.Series([1])], ids=lambda value: type(value).__name__
)
@pytest.mark.parametrize("field", ["query", "system", "item", "task", "by", "label", "state", "against", "digest"])
def test_a_value_that_cannot_be_compared_or_written_is_an_error(field: str, value: Any) -> None:
    label = {"query": "q1", "task": "correctness", "item": "answer", "label": "correct", "by": "gpt"}
    with suppress(KaratError):  # anything else would fail this test
        evaluate_verdicts([label, {**label, "query": "q2", field: value}, {**label, "query": "q3"}])


def test_a_data_frame_is_not_a_kind_of_record() -> None:
    row = {"query": "q1", "task": "correctness", "item": "answer", "label": "correct"}
    with pytest.raises(KaratError, match="row 0: an object of type DataFrame is not a kind of record"):
        evaluate_verdicts([{**row, "record": pl.DataFrame({"a": [1]})}])


def test_a_last_line_that_is_cut_short_anywhere_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    last = json.dumps({**RECORDS[8], "why": "höööööööflich"}, ensure_ascii=False).encode()
    whole = b"".join(json.dumps(record).encode() + b"\n" for record in RECORDS[:8])
    for length in range(1, len(last), 7):
        path.write_bytes(whole + last[:length])
        scores = evaluate_verdicts(path, "SupportRecall")
        assert scores.per_query["q"] == {"SupportRecall": 1.0}
        assert [finding.message for finding in scores.findings] == [
            f"{path}:9: the last line is cut short and was left out"
        ]


def test_two_records_on_the_last_line_are_an_error_because_neither_was_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    *lines, last = [json.dumps(record) for record in RECORDS[:9]]
    for end in ("", "\n", "\r\n"):
        path.write_text("\n".join([*lines[:-1], lines[-1] + last]) + end, encoding="utf-8", newline="")
        with pytest.raises(KaratError, match=r"verdicts\.jsonl:8: not JSON: Extra data"):
            evaluate_verdicts(path, "SupportRecall")


def test_a_line_that_is_cut_short_before_the_last_one_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    lines = [json.dumps(record) for record in RECORDS]
    path.write_text("\n".join([*lines[:5], lines[5][:20], *lines[6:]]), encoding="utf-8")
    with pytest.raises(KaratError, match=r"verdicts\.jsonl:6"):
        evaluate_verdicts(path)


@pytest.mark.parametrize(
    "text", ["\"quoted\" and 'quoted'", "two\nlines\r\n", "\0", "\u2028", "\ud800", "=1+1"], ids=ascii
)
def test_texts_may_have_any_characters(tmp_path: Path, text: str) -> None:
    path = tmp_path / "verdicts.jsonl"
    records = [{**record, "text": text} if record["record"] == "item" else record for record in RECORDS]
    records = [{**record, "why": text} if record["record"] == "verdict" else record for record in records]
    path.write_text("".join(json.dumps({**each, "digest": None}) + "\n" for each in records), encoding="utf-8")
    assert evaluate_verdicts(path, "SupportRecall").per_query["q"] == {"SupportRecall": 1.0}
