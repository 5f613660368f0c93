"""Responses are read record by record, and kept in a temporary file: they are the same as if all were in memory."""

import copy
import gc
import json
import multiprocessing
import pickle
import warnings
from collections.abc import Hashable
from io import FileIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat.errors import KaratError
from karat.labels import stored_responses
from karat.labels.responses import Passage, Response, Sentence
from karat.labels.results import read_responses
from karat.labels.stored_responses import StoredResponses
from karat.sources.places import RereadPlaces

TEXTS = st.text(st.characters() | st.sampled_from('\ud800\0\n"\\'), max_size=8)
CITES = st.lists(TEXTS, max_size=2).map(tuple)
RESPONSES = st.builds(
    Response,
    TEXTS,
    st.none() | TEXTS,
    TEXTS,
    st.none() | TEXTS,
    st.lists(st.builds(Sentence, TEXTS, CITES), max_size=2).map(tuple),
    st.lists(st.builds(Passage, TEXTS, st.integers(1, 9), st.none() | TEXTS), max_size=2).map(tuple),
    st.none() | st.lists(TEXTS, max_size=2).map(tuple),
)


@settings(max_examples=40)
@given(st.lists(RESPONSES, max_size=4), st.integers(-5, 5), st.integers(-5, 5), st.sampled_from([1, 100, 200, 9999]))
def test_stored_responses_are_those_that_were_stored(
    responses: list[Response], start: int, end: int, in_memory: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored_responses, "_IN_MEMORY", in_memory)
        stored = StoredResponses(iter(responses))
    assert [*stored] == responses == [stored[at] for at in range(len(stored))]
    assert stored[start:end] == responses[start:end]
    assert copy.deepcopy(stored) == pickle.loads(pickle.dumps(stored)) == tuple(responses)
    with pytest.raises(IndexError):
        stored[len(responses)]


WORDS = ("d1", "d2", "soft", "Gold is soft.")
RECORDS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "retrieved": st.lists(st.sampled_from(WORDS), max_size=2, unique=True),
            "answer": st.none() | st.sampled_from(("Yes.", "", "No [1].")),
            "gold_answers": st.lists(st.sampled_from(("Yes", "No")), max_size=2, unique=True),
            "text": st.sampled_from(("Is it soft?", "", "text")),
        },
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=60)
@given(RECORDS, st.booleans())
def test_what_depends_on_all_records_is_decided_before_the_first_response(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, Any]], are_questions: bool
) -> None:
    lines = [{"query": f"Is {at} soft?" if are_questions else f"q{at}", **each} for at, each in enumerate(records)]
    file = tmp_path_factory.getbasetemp() / "results.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    found = read_responses(file, needed=()).responses
    strings = [text for each in lines for text in each.get("retrieved", ())]
    are_ids = bool(strings) and all(" " not in text for text in strings)
    has_answers = any(each.get("answer") is not None for each in lines)
    assert [(each.query, each.answer, each.gold_answers) for each in found] == [
        (each["query"], (each.get("answer") or "") if has_answers else None, _gold(each)) for each in lines
    ]
    assert [each.question for each in found] == [
        each["query"] if are_questions else each.get("text") or each["query"] for each in lines
    ]
    assert [[passage.id if are_ids else passage.text for passage in each.passages] for each in found] == [
        each.get("retrieved", []) for each in lines
    ]
    assert [each.passages and each.passages[0].text is None for each in found if each.passages] == [
        are_ids for each in found if each.passages
    ]


def _gold(record: dict[str, Any]) -> tuple[str, ...] | None:
    return tuple(record["gold_answers"]) or ("",) if "gold_answers" in record else None


def test_the_first_error_is_the_one_of_the_first_field(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    lines = [
        {"query": "q1", "answer": 1, "gold_answers": ["a"], "retrieved": []},
        {"query": "q2", "answer": "a", "gold_answers": 2, "retrieved": []},
        {"query": "q3", "answer": "a", "gold_answers": ["a"], "retrieved": 3},
    ]
    for at, field in enumerate(("retrieved", "gold_answers", "answer")):
        file.write_text("\n".join(map(json.dumps, lines[: 3 - at])))
        with pytest.raises(KaratError) as error:
            read_responses(file)
        assert str(error.value.place) == f"{file}:{3 - at}, {field}"


def test_a_query_that_comes_twice_names_both_places(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    file.write_text("\n".join(json.dumps({"query": query, "answer": "Yes."}) for query in ("q1", "q2", "q3", "q2")))
    with pytest.raises(KaratError, match=r"'q2' was already in .*results.jsonl:2") as error:
        read_responses(file)
    assert str(error.value.place) == f"{file}:4"


class _Colliding(str):
    __slots__ = ()

    def __hash__(self) -> int:
        return 7


def test_keys_with_the_same_hash_are_not_taken_for_the_same() -> None:
    records = [(f"line {at}", {"key": key}) for at, key in enumerate("abc")]
    key: Hashable
    places = RereadPlaces(records, lambda record, _: _Colliding(record["key"]))
    for key in map(_Colliding, "abc"):
        assert key not in places
        places[key] = "not kept"
    assert [places[_Colliding(key)] for key in "abc"] == ["line 0", "line 1", "line 2"]
    assert _Colliding("d") not in places


def test_many_responses_are_in_a_temporary_file_that_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_responses, "_IN_MEMORY", 1)
    responses = [Response(f"q{at}", None, "?", "Yes.") for at in range(3)]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        stored = StoredResponses(responses)
        assert [*stored] == responses
        del stored
        gc.collect()


def test_processes_after_a_fork_read_the_same_responses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_responses, "_IN_MEMORY", 100)
    responses = [Response(f"q{at}", None, "?", "Yes. " * at) for at in range(300)]
    stored = StoredResponses(responses)
    with multiprocessing.get_context("fork").Pool(2, _serve, (stored,)) as pool:
        assert pool.map(_queries_of_served, range(10)) == [[each.query for each in responses]] * 10
    assert [*stored] == responses


_served: list[StoredResponses] = []


def _serve(stored: StoredResponses) -> None:
    _served.append(stored)


def _queries_of_served(_: int) -> list[str]:
    return [each.query for each in _served[0]]


def test_a_disk_that_is_full_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_responses, "_IN_MEMORY", 1)
    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: FileIO("/dev/full", "r+"))
    with pytest.raises(KaratError, match="the temporary file for answers cannot be used: No space left on device"):
        read_responses([{"query": "q1", "answer": "Yes."}])


def test_a_temporary_folder_that_cannot_be_used_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(stored_responses, "_IN_MEMORY", 1)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    with pytest.raises(KaratError, match="the temporary file for answers cannot be used: No such file") as error:
        read_responses([{"query": "q1", "answer": "Yes."}])
    assert "TMPDIR" in str(error.value.hint)
