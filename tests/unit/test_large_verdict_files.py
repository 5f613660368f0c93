"""Large verdict files are evaluated in parts: scores, notes and errors are those of the whole files."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import karat
from karat import KaratError, Scores
from karat.evaluation import verdict_files, verdicts
from karat.grounding.verdict_file import file_lines, file_parts
from karat.grounding.verdict_file.reading import VerdictRecords
from tests.block_size import block_size
from tests.random_verdicts import Record, labelled_by_several
from tests.unit.test_verdict_parts import ALL_MEASURES, outcome


@contextmanager
def in_parts(size: int = 1, block: int = 2_000) -> Iterator[list[Scores]]:
    """Evaluate all files in parts of about so many bytes, and list the scores that were computed so."""
    computed = []

    def scores_of_files(*args: Any, **options: Any) -> Scores:
        computed.append(compute(*args, **options))
        return computed[-1]

    compute = verdict_files.scores_of_files
    with block_size(block), pytest.MonkeyPatch.context() as patch:
        patch.setattr(verdict_files, "scores_of_files", scores_of_files)
        patch.setattr(file_lines, "LARGE", 0)
        patch.setattr(file_parts, "_PART", size)
        yield computed


def lines_of(random: Random, records: list[Record]) -> bytes:
    """Records as lines, written in different ways, some with a blank line after them."""
    lines = []
    for record in records:
        kinds = {"record": "verdict" if "label" in record else "item" if "type" in record else record.get("record")}
        named = {**kinds, **record} if "query" in record and random.random() < 0.8 else record
        text = json.dumps(named, separators=random.choice([None, (",", ":")]))
        lines += [text, ""] if random.random() < 0.05 else [text]
    return "\n".join(lines).encode() + random.choice([b"", b"\n"])


def file_outcome(compute: Any) -> Any:
    """What an evaluation returns, with its queries in order, or its error with the line."""
    try:
        scores: Scores = compute()
    except KaratError as error:
        return str(error)
    return scores.queries, outcome(lambda: scores)


def whole_outcome(*args: Any, **options: Any) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verdicts, "are_large", lambda _: False)
        return file_outcome(lambda: karat.evaluate_verdicts(*args, **options))


@settings(max_examples=15)
@given(
    seed=st.integers(0, 10**6),
    size=st.sampled_from([1, 1_000, 1 << 20]),
    measures=st.none() | st.lists(st.sampled_from(ALL_MEASURES), min_size=1, max_size=4, unique=True),
    author=st.sampled_from([None, "human", "model"]),
    files=st.sampled_from([1, 1, 2]),
    scattered=st.booleans(),
)
def test_scores_of_a_large_file_are_those_of_the_whole_file(
    seed: int,
    size: int,
    measures: list[str] | None,
    author: str | None,
    files: int,
    scattered: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    random = Random(seed)
    records = labelled_by_several(random)
    if scattered:
        random.shuffle(records)
    folder = tmp_path_factory.mktemp("files")
    cut = len(records) // files
    paths = [folder / f"{at}.jsonl" for at in range(files)]
    for at, path in enumerate(paths):
        path.write_bytes(lines_of(random, records[at * cut : None if at == files - 1 else (at + 1) * cut]))
    whole = whole_outcome(paths, measures, author=author)
    with in_parts(size) as computed:
        assert file_outcome(lambda: karat.evaluate_verdicts(paths, measures, author=author)) == whole
    assert bool(computed) != isinstance(whole, str)


LABEL = {"record": "verdict", "query": "q", "task": "correctness", "item": "answer", "label": "correct", "by": "human"}


def written(path: Path, *records: Any) -> Path:
    path.write_text("".join(each if isinstance(each, str) else json.dumps(each) + "\n" for each in records), "utf-8")
    return path


def test_a_query_is_the_same_however_it_is_written(tmp_path: Path) -> None:
    later = {**LABEL, "label": "wrong", "by": "human"}
    lines = [{**LABEL, "query": "7"}, {**LABEL, "query": "ü"}, {**LABEL, "query": 7, "label": "incorrect"}]
    escaped = json.dumps({**later, "query": "ü", "label": "incorrect"}, ensure_ascii=True) + "\n"
    path = written(tmp_path / "v.jsonl", *lines, escaped)
    with in_parts() as computed:
        assert karat.evaluate_verdicts(path).per_query == {"7": {"Correctness": 0.0}, "ü": {"Correctness": 0.0}}
    assert len(computed) == 1


@pytest.mark.parametrize(
    "line",
    [
        "{no json\n",
        "[1]\n",
        json.dumps({**LABEL, "label": "sort of"}) + "\n",
        json.dumps({**LABEL, "task": "tone"}) + "\n",
        json.dumps({**LABEL, "query": None}) + "\n",
        json.dumps({**LABEL, "query": [1]}) + "\n",
        json.dumps({"record": "call", "key": 1.5}) + "\n",
        json.dumps({**LABEL, "item": "c9", "task": "support", "against": "context", "label": "full"}) + "\n",
        '{"query": "q", "query": "r", "task": "correctness", "item": "answer", "label": "correct"}\n',
    ],
)
def test_an_error_in_a_large_file_names_its_line(tmp_path: Path, line: str) -> None:
    path = written(tmp_path / "v.jsonl", *[{**LABEL, "query": f"q{at}"} for at in range(5)], line, LABEL)
    whole = whole_outcome(path)
    assert "v.jsonl:6" in whole
    with in_parts():
        assert file_outcome(lambda: karat.evaluate_verdicts(path)) == whole


def test_a_last_line_that_is_cut_short_is_left_out_of_a_large_file_with_a_note(tmp_path: Path) -> None:
    path = written(tmp_path / "v.jsonl", LABEL, json.dumps({**LABEL, "query": "r"})[:40])
    with in_parts():
        scores = karat.evaluate_verdicts(path)
    assert scores.queries == ("q",)
    assert [each.message for each in scores.findings] == [f"{path}:2: the last line is cut short and was left out"]


def test_large_files_may_be_compressed_or_open(tmp_path: Path) -> None:
    lines = [{**LABEL, "query": f"q{at}"} for at in range(30)]
    path = written(tmp_path / "v.jsonl", *lines)
    compressed = tmp_path / "v.jsonl.gz"
    compressed.write_bytes(gzip.compress(path.read_bytes()))
    with in_parts() as computed, path.open("rb") as file:
        for source in (compressed, file):
            assert karat.evaluate_verdicts(source).queries == tuple(f"q{at}" for at in range(30))
    assert len(computed) == 2


def test_labels_of_a_large_file_are_explained_without_reading_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = {"record": "item", "id": "c1", "type": "claim", "of": "answer", "text": "Gold is soft."}
    label = {"record": "verdict", "item": "c1", "task": "support", "against": "context", "label": "full", "by": "human"}
    queries = [f"q{at}" for at in range(20)]
    path = written(tmp_path / "v.jsonl", *({**each, "query": query} for each in (claim, label) for query in queries))
    whole = karat.evaluate_verdicts(path)
    with in_parts() as computed:
        scores = karat.evaluate_verdicts(path)
    assert len(computed) == 1

    def refuse(*_: object) -> VerdictRecords:
        raise AssertionError

    with monkeypatch.context() as patch:
        patch.setattr(verdict_files, "read_sources", refuse)
        assert scores.explain("q7") == whole.explain("q7")
        assert [row.item for row in scores.explain("q7").labels or ()] == ["c1"]
    assert scores.verdicts is not None
    assert scores.verdicts.selected.facts.relations == whole.verdicts.selected.facts.relations  # type: ignore[union-attr]


def test_failed_extractions_in_a_large_file_are_found_with_the_errors_of_their_calls(tmp_path: Path) -> None:
    failed = {
        "record": "verdict",
        "item": "answer",
        "task": "support",
        "against": "context",
        "state": "failed",
        "by": "m",
    }
    records = [{**failed, "query": f"q{at}", "call": f"k{at}"} for at in range(9)]
    calls = [{"record": "call", "key": f"k{at}", "state": "failed", "error": "too busy"} for at in range(9)]
    calls.append({"record": "call", "key": "k3", "state": "done"})
    path = written(
        tmp_path / "v.jsonl", *[{**LABEL, "by": "m", "query": f"q{at}"} for at in range(9)], *records, *calls
    )
    whole = whole_outcome(path)
    with in_parts() as computed:
        assert file_outcome(lambda: karat.evaluate_verdicts(path)) == whole
    assert "8 queries, most often with this error: too busy" in str(computed[0].findings)
