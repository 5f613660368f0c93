"""Labels are read into columns of distinct values and codes, and are the same as if each record were read alone."""

from __future__ import annotations

import json
from collections import Counter
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.data.verdicts import Verdicts
from karat.errors import KaratError, Place
from karat.evaluation.verdicts import evaluate_verdicts
from karat.grounding.verdict_file.categorical import CategoricalBuilder
from karat.grounding.verdict_file.reading import read_verdict_records

FIELDS: dict[str, list[Any]] = {
    "query": ["q1", "q2", 7, "7", "é"],
    "item": ["c1", 1, "1"],
    "system": ["a", "b", None],
    "by": ["human:ann", None, "m"],
    "against": [["p1"], ["p2", "p1"], ["p1", "p2", "p1"], [1], ["1"], "context", None, ("p1",)],
    "task, label, state": [
        ("support", "full", None), ("support", " full ", "labelled"), ("support", None, "failed"),
        ("relevance", 1, None), ("relevance", 1.0, None), ("relevance", "1", None),
    ],
    "sample": [None, 0, 3],
    "why": [None, "because"],
    "digest": [None, "5fd496ce85ce7540"],
    "call": [None, "k1"],
}  # fmt: skip


def label(**fields: Any) -> dict[str, Any]:
    return {"query": "q", "item": "c1", "task": "support", "against": "context", "label": "full", **fields}


@st.composite
def labels(draw: st.DrawFn) -> dict[str, Any]:
    found: dict[str, Any] = {"record": "verdict"}
    for names, values in FIELDS.items():
        value = draw(st.sampled_from(values))
        found |= dict(zip(names.split(", "), value if ", " in names else (value,), strict=True))
    return {name: value for name, value in found.items() if value is not None or draw(st.booleans())}


def expected(record: dict[str, Any]) -> dict[str, Any]:
    """What the columns of a record are, from the definition of each field."""
    against, given = record.get("against"), record.get("label")
    return {
        "query": str(record["query"]),
        "item": str(record["item"]),
        "system": record.get("system"),
        "by": record.get("by") or "human",
        "against": tuple(sorted({str(each) for each in against})) if isinstance(against, list | tuple) else against,
        "task": record["task"],
        "label": None if given is None else "1" if record["task"] == "relevance" else given.strip(),
        "state": record.get("state") or "labelled",
        "sample": record.get("sample") or 0,
        **{name: record.get(name) for name in ("why", "digest", "call")},
    }


@given(st.lists(labels(), min_size=1, max_size=12), st.integers(1, 5))
def test_columns_are_those_of_records_read_one_by_one(records: list[dict[str, Any]], at_once: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("karat.reading.records.records._LINES_AT_ONCE", at_once)
        lines = b"\n".join(json.dumps(record).encode() for record in records)
        columns = [read_verdict_records(records).labels, read_verdict_records(BytesIO(lines)).labels]
    for each in columns:
        assert len(each) == len(records)
        for name in expected(records[0]):
            assert list(getattr(each, name)) == [expected(record)[name] for record in records]


@pytest.mark.parametrize("field", ["query", "item", "system", "by", "against", "label"])
def test_true_is_not_taken_for_the_number_1_that_was_read_before(field: str, tmp_path: Path) -> None:
    one, true = ([1], [True]) if field == "against" else (1, True)
    task = {"task": "relevance"} if field == "label" else {}
    rows = [label(label=2, **task) if task else label(), label(**{**task, field: one}), label(**{**task, field: true})]
    (tmp_path / "verdicts.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for source, place in ((rows, "the verdicts, row 2"), (tmp_path / "verdicts.jsonl", "verdicts.jsonl:3")):
        with pytest.raises(KaratError, match="True") as caught:
            read_verdict_records(source)
        assert place in str(caught.value)


@given(st.lists(st.lists(st.sampled_from(["a", "b", "", None, ("a",), ("a", "b")]), max_size=9), max_size=4))
def test_a_column_has_each_value_once_in_the_order_of_appearance(blocks: list[list[Any]]) -> None:
    builder = CategoricalBuilder[Any]()
    for block in blocks:
        builder.add(block, lambda row: Place("rows", row=row), lambda values, _: values)
    rows, column = [each for block in blocks for each in block], builder.column()
    assert list(column) == rows == [column[at] for at in range(len(column))]
    assert list(column.categories) == list(dict.fromkeys(rows))
    chosen = np.flatnonzero(np.arange(len(rows)) % 3)
    some = [rows[at] for at in chosen]
    assert list(column.take(chosen).counts().items()) == list(Counter(some).items())
    mapped = column.map(lambda each: len(each or ""))
    assert list(mapped) == column.numbers(lambda each: len(each or "")).tolist() == [len(each or "") for each in rows]
    assert list(mapped.categories) == list(dict.fromkeys(mapped))
    assert column.where(lambda each: each is None).tolist() == [each is None for each in rows]


def test_labels_against_the_whole_context_need_no_pairs_with_passages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(Verdicts, "pairs")
    passages = [{"query": "q", "id": f"p{rank}", "type": "passage", "rank": rank} for rank in (1, 2)]
    claims = [label(item=f"c{at}", type="claim", label=each) for at, each in enumerate(("full", "none"))]
    assert evaluate_verdicts([*passages, *claims], ["Faithfulness"]).means == {"Faithfulness": 0.5}
