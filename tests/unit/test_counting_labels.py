"""Which of several labels counts: one rule for evaluations, summaries, agreement, explanations and imports."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat import KaratError, evaluate_verdicts
from karat.evaluation.label_agreement import label_agreement
from karat.grounding.labels.counting import counting_rows, label_key, label_keys, label_status, replaces
from karat.grounding.labels.summary import summarize
from karat.grounding.verdict_file.categorical import joint_codes
from karat.grounding.verdict_file.reading import VerdictRecords, read_verdict_records
from karat.grounding.verdict_file.records import text_digest
from tests.random_verdicts import Record, labelled_by_several

SOFT, HARD = "Gold is soft.", "Gold is hard."
CLAIM = {"record": "item", "query": "q", "id": "c", "type": "claim", "text": SOFT}


def _label(label: str | None, by: str = "human:ann", text: str = SOFT, **more: Any) -> Record:
    row = {"record": "verdict", "query": "q", "item": "c", "task": "support", "against": "context", "by": by}
    state = {"state": "failed"} if label is None else {}
    return {**row, "label": label, "digest": text_digest(text), **state, **more}


def _read(*records: Record) -> VerdictRecords:
    return read_verdict_records([CLAIM, *records])


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans())))
def test_of_labels_with_one_key_the_last_current_one_counts_then_a_stale_one_then_a_failure(
    rows: list[tuple[int, bool, bool]],
) -> None:
    keys = np.array([key for key, *_ in rows], np.int64)
    failed, stale = (np.array([row[at] for row in rows], bool) for at in (1, 2))
    expected = []
    for key, *_ in rows:
        same = [at for at, row in enumerate(rows) if row[0] == key]
        current = [at for at in same if not failed[at] and not stale[at]]
        outdated = [at for at in same if not failed[at]]
        expected.append((current or outdated or same)[-1])
    assert counting_rows(keys, failed, stale).tolist() == expected


@given(st.lists(st.tuples(*[st.sampled_from([0, 1, 7, 10**9, 2**40])] * 4), min_size=1))
def test_rows_have_one_number_if_they_have_the_same_values_however_large(rows: list[tuple[int, ...]]) -> None:
    codes = joint_codes(*np.array(rows).T).tolist()
    assert len(set(codes)) == len(set(rows)) == len(set(zip(codes, rows, strict=True)))


def test_the_key_of_a_record_is_that_of_the_label_that_is_read() -> None:
    for seed in range(30):
        written = [each for each in labelled_by_several(Random(seed)) if "task" in each]
        records = labelled_by_several(Random(seed))
        try:
            labels = read_verdict_records(records).labels
        except KaratError:
            continue
        assert [*map(label_key, written)] == [*label_keys(labels, np.arange(len(labels)))]


def test_a_failure_replaces_failures_only() -> None:
    label, failure = _label("full"), _label(None)
    assert [replaces(*pair) for pair in ((label, label), (label, failure), (failure, failure))] == [True] * 3
    assert not replaces(failure, label)


def test_a_label_of_another_text_does_not_replace_one_of_the_text_that_is_there() -> None:
    rows = [_label("full"), _label("none", text=HARD)]
    assert label_status(_read(*rows)) == ["counts", "stale"]
    assert label_status(_read(*rows[::-1])) == ["replaced", "counts"]
    assert evaluate_verdicts(_read(*rows)).means == {"Faithfulness": 1.0}
    assert [(each.label, each.number) for each in summarize(_read(*rows)).labels] == [("none", 1), ("full", 1)]
    agreement = label_agreement(_read(*rows, _label("full", "a-model")))
    assert [(each.pairs, each.equal) for each in agreement.tasks] == [(1, 1.0)]


def test_people_have_no_samples() -> None:
    rows = [_label("none", sample=0), _label("full", sample=1), _label("none", "human:ben"), _label("full", "human:cy")]
    assert label_status(_read(*rows)) == ["replaced", "counts", "counts", "counts"]
    assert evaluate_verdicts(_read(*rows)).means == {"Faithfulness": 1.0}
    agreement = label_agreement(_read(*rows, _label("full", "a-model")))
    assert [(each.pairs, each.equal, each.tied) for each in agreement.tasks] == [(1, 1.0, 0)]
    doubts = [_label("full", "human:ben"), *(_label(None, state="nothing_to_judge", sample=each) for each in (0, 1))]
    assert evaluate_verdicts(_read(*doubts)).means == {"Faithfulness": 1.0}  # one of two people, not two of three


def test_an_explanation_shows_the_labels_that_count() -> None:
    rows = [_label("none"), _label("full", why="It says so."), _label(None), _label("none", text=HARD)]
    rows += [_label(None, "human:ben", why="first"), _label(None, "human:ben", why="last")]
    shown = evaluate_verdicts(_read(*rows), "Faithfulness").verdicts
    assert shown is not None
    found = [(each.by, each.label, each.state, each.why) for each in shown.rows("q", ["Faithfulness"])]
    assert found == [("human:ann", "full", "labelled", "It says so."), ("human:ben", None, "failed", "last")]


def test_a_last_line_that_is_whole_but_wrong_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    for wrong in ('{"record": "item", "rank": NaN}', '{"record": "item", "id": "a", "id": "b"}', '"a text"'):
        path.write_text("\n".join([*map(json.dumps, [CLAIM, _label("full")]), wrong]), encoding="utf-8")
        with pytest.raises(KaratError, match=r"verdicts\.jsonl:3"):
            read_verdict_records(path)
