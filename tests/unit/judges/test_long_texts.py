"""Texts that do not fit into the context window of a model are divided, and what is said about the parts is joined."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import karat
from karat.errors import KaratError
from karat.grounding.judges.compared_texts import ComparedTexts, halves_of
from karat.grounding.judges.plan_requests import STRONGEST_FIRST, LabelSubject, label_steps, stronger
from karat.grounding.judges.prompts import load_prompts
from karat.grounding.judges.replies import LabelReply
from karat.grounding.judges.requests import ModelRequest, RequestOutcome
from karat.grounding.labels.counting import label_status
from karat.grounding.responses.responses import Passage, Response
from karat.grounding.verdict_file.reading import read_verdict_records
from karat.grounding.verdict_file.records import Item
from karat.grounding.verdict_file.tasks import BUILT_IN, NOTHING_TO_JUDGE
from tests.unit.judges.toy_judge import SmallModel, toy_reply

METALS = ("gold is soft", "iron is hard", "lead is heavy", "zinc is grey", "tin is white", "radium glows")
RESULT: dict[str, Any] = {
    "query": "q1",
    "question": "What are metals like?",
    "answer": "Tin is white. Gold is soft. Iron rusts. Lead is heavy and soft.",
    "retrieved": [{"id": f"d{at}", "content": f"{metal.capitalize()}. " * 5} for at, metal in enumerate(METALS)],
}
LABELS = {"Tin is white": "full", "Gold is soft": "full", "Iron rusts": "none", "Lead is heavy and soft": "partial"}
LIMIT = 600
"""characters, of which each passage has 70 to 80, and the items about 220"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "verdicts.jsonl"


def judge(model: Any, path: Path, task: str = "faithfulness", result: Any = RESULT, **options: Any) -> karat.Judging:
    return karat.judge([result], task=task, model=model, verdicts=path, concurrency=1, **options)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def labels(path: Path) -> dict[str, str]:
    """The label, or the state, of each claim: the last ones."""
    texts = {each["id"]: each["text"] for each in lines(path) if each.get("type") == "claim"}
    verdicts = [each for each in lines(path) if each["record"] == "verdict" and each["item"] in texts]
    return {texts[each["item"]]: str(each.get("label", each.get("state"))) for each in verdicts}


def test_passages_that_do_not_fit_are_divided_and_the_strongest_label_counts(path: Path) -> None:
    model = SmallModel(LIMIT)
    judging = judge(model, path)
    assert labels(path) == LABELS
    assert (judging.usage.failed, judging.usage.too_long, judging.usage.calls) == (
        0,
        model.refused,
        len(model.asked) + 1,
    )
    parts = [data for name, data in model.asked if name == "support"]
    ids = [each["id"] for data in parts for each in data["passages"]]
    assert ids == [1, 2, 3, 4, 5, 6]
    assert "1 request was too long, so its texts were divided" in judging.notes
    assert judging.scores()["Faithfulness"] == 0.5


def test_what_is_supported_in_full_is_not_asked_about_again(path: Path) -> None:
    model = SmallModel(LIMIT)
    judge(model, path)
    items = [[each["text"] for each in data["items"]] for name, data in model.asked if name == "support"]
    assert items == [[*LABELS], [each for each in LABELS if each != "Gold is soft"]]


def test_a_label_is_written_with_the_call_that_decided_it_and_the_reason_of_the_part_that_it_is_from(
    path: Path,
) -> None:
    def reply(name: str, data: Mapping[str, Any]) -> Any:
        found = toy_reply(name, data)
        for row in found.get("labels", ()):
            row["why"] = f"of {len(data['passages'])} from {data['passages'][0]['id']}"
        return found

    judge(SmallModel(LIMIT, reply), path)
    refused, first, second = (each for each in lines(path) if each["record"] == "call" and "support" in each["prompt"])
    assert (refused["state"], refused["verdicts"], "reply" in refused) == ("too_long", 0, False)
    assert "maximum context length" in refused["error"]
    assert "after" not in first
    assert second["after"] == {"call": first["key"], "labels": ["none", "none", "partial"]}
    verdicts = {each["item"]: each for each in lines(path) if each["record"] == "verdict"}
    assert [verdicts[f"claim{at}"]["call"] for at in (1, 2, 3, 4)] == [
        second["key"],
        first["key"],
        *[second["key"]] * 2,
    ]
    assert [verdicts[f"claim{at}"]["why"] for at in (1, 2, 4)] == ["of 3 from 4", "of 3 from 1", "of 3 from 1"]
    assert (first["verdicts"], second["verdicts"]) == (1, 3)


def test_nothing_is_asked_or_written_twice_and_a_replay_finds_the_parts(path: Path) -> None:
    done = judge(SmallModel(LIMIT), path)
    before = path.read_bytes()
    model = SmallModel(LIMIT)
    again = judge(model, path)
    assert (again.usage.calls, model.refused, path.read_bytes()) == (0, 0, before)
    assert again.notes == done.notes[-1:]
    judge(None, path, replay=True)
    estimate = karat.estimate_judging([RESULT], task="faithfulness", model=model, verdicts=path)
    assert (estimate.calls, estimate.known) == (0, 4)


@pytest.mark.parametrize("limit", [330, 420])
def test_a_judge_that_is_stopped_after_each_call_ends_with_the_same_labels(path: Path, limit: int) -> None:
    whole = SmallModel(limit)
    judge(whole, path)
    records = [each for each in lines(path) if each["record"] != "call"]
    path.unlink()
    model = SmallModel(limit)
    calls = 0
    while (judging := judge(model, path, max_calls=1)).usage.calls:
        calls += judging.usage.calls
        assert {label for text, label in labels(path).items() if label != LABELS[text]} == set()
    assert (calls, model.asked, model.refused) == (len(model.asked) + model.refused, whole.asked, whole.refused)
    assert [each for each in lines(path) if each["record"] != "call"] == records
    assert labels(path) == LABELS


def test_a_file_that_was_cut_anywhere_leads_to_the_same_labels(path: Path, tmp_path: Path) -> None:
    judge(SmallModel(420), path)
    content = path.read_bytes()
    for end in range(len(content), 0, -len(content) // 16):
        cut = tmp_path / "cut.jsonl"
        cut.write_bytes(content[:end])
        judge(SmallModel(420), cut)
        assert labels(cut) == LABELS, end
        judge(None, cut, replay=True)


def test_a_passage_that_does_not_fit_is_cut_between_sentences(path: Path) -> None:
    text = " ".join(f"{metal.capitalize()}." for metal in METALS)
    model = SmallModel(250)
    judge(model, path, result={**RESULT, "answer": "Tin is white.", "retrieved": [text]})
    parts = [data["passages"] for name, data in model.asked if name == "support"]
    assert {each["id"] for passages in parts for each in passages} == {1}
    assert labels(path) == {"Tin is white": "full"}
    assert "".join(each["text"] for passages in parts for each in passages) == text


@pytest.mark.parametrize("task", ["coverage", "nuggets", "claims", "support", "citations"])
def test_all_comparisons_are_divided(path: Path, tmp_path: Path, task: str) -> None:
    """Whatever the limit, the labels are the same, because none of them needs two sentences at once."""
    answer = "Gold is soft [1]. Tin is white [1][2]."
    result = {**RESULT, "answer": answer, "gold_answers": ["Gold is soft.", "Zinc is grey."]}
    result["retrieved"] = ["Iron is hard. Gold is soft. Lead is heavy.", "Tin is white. Zinc is grey."]
    small, large = SmallModel(190), SmallModel(10**6)
    judge(small, path, task, result)
    judge(large, tmp_path / "large.jsonl", task, result)
    assert small.refused
    texts = [
        {
            (each["query"], each["item"], str(each.get("against")), each["label"])
            for each in lines(file)
            if "label" in each
        }
        for file in (path, tmp_path / "large.jsonl")
    ]
    assert texts[0] == texts[1]


def test_items_are_divided_if_they_are_longer_than_the_texts(path: Path) -> None:
    answer = " ".join(f"Gold is softer than the metal with the long number {at * 10**20}." for at in range(1, 9))
    model = SmallModel(500)
    judge(model, path, result={**RESULT, "answer": answer, "retrieved": ["Gold is soft."]})
    asked = [each["text"] for name, data in model.asked if name == "support" for each in data["items"]]
    assert len(asked) == len({*asked}) == 8
    assert all(
        data["passages"] == [{"id": 1, "text": "Gold is soft."}] for name, data in model.asked if name == "support"
    )
    assert {*labels(path).values()} == {"none"}


def test_what_does_not_fit_alone_is_a_failure_that_says_so(path: Path) -> None:
    model = SmallModel(100)
    judging = judge(model, path, "context")
    assert (judging.usage.failed, judging.usage.too_long) == (6, 0)
    assert any("the request is too long for the model" in note for note in judging.notes)
    model = SmallModel(110)
    long = {**RESULT, "answer": "Gold is soft.", "retrieved": ["gold " * 100, "Gold is soft."]}
    judging = judge(model, path, result=long)
    assert judging.usage.failed == 1
    assert labels(path) == {"Gold is soft": "failed"}
    assert judging.scores().per_query["q1"]["Faithfulness"] is None
    errors = [each["error"] for each in lines(path) if each.get("state") == "failed" and each["record"] == "call"]
    assert errors[-1] == (
        "the request is too long for the model (status 400: This model's maximum context length is 4096 tokens.)"
    )
    refused = model.refused
    assert refused <= 3
    judge(model, path, result=long)
    assert model.refused == refused + 1  # what failed without a reply is asked again


def test_the_claims_of_a_long_answer_are_one_list(path: Path) -> None:
    sentences = [*(f"{metal.capitalize()}." for metal in METALS), "Gold is soft."]
    model = SmallModel(100)
    judge(model, path, result={**RESULT, "answer": " ".join(sentences)}, max_calls=8)
    parts = [data["answer"] for name, data in model.asked if name == "claims"]
    assert len(parts) > 2
    assert "".join(parts) == " ".join(sentences)
    claims = [each for each in lines(path) if each.get("type") == "claim"]
    assert [each["text"] for each in claims] == [metal.capitalize() for metal in METALS]
    assert [each["id"] for each in claims] == [f"claim{at}" for at in range(1, 7)]
    assert len({each["call"] for each in claims}) == 1


def test_a_list_of_claims_is_not_there_before_it_is_complete(path: Path) -> None:
    result = {**RESULT, "answer": " ".join(f"{metal.capitalize()}." for metal in METALS)}
    model = SmallModel(100)
    while not (claims := [each for each in lines(path) if each.get("type") == "claim"] if path.exists() else []):
        judge(model, path, result=result, max_calls=1)
    assert len(claims) == 6
    asked = [data["answer"] for name, data in model.asked if name == "claims"]
    assert len(asked) == len({*asked}) == 2


def test_a_part_whose_claims_are_not_understood_leaves_the_answer_unknown_until_it_is_asked_again(path: Path) -> None:
    answer = " ".join(f"{metal.capitalize()}, as everybody knows." for metal in METALS)
    result = {**RESULT, "answer": answer, "retrieved": [answer]}

    def reply(name: str, data: Mapping[str, Any]) -> Any:
        return "?" if "Lead" in data.get("answer", "") else toy_reply(name, data)

    other = {**RESULT, "query": "q2", "answer": "Gold is soft."}
    judging = karat.judge([result, other], task="faithfulness", model=SmallModel(220, reply), verdicts=path)
    assert judging.scores().per_query["q1"]["Faithfulness"] is None
    assert not [each for each in lines(path) if each.get("type") == "claim" and each["query"] == "q1"]
    model = SmallModel(220)
    judging = judge(model, path, result=result, retry_failed=True)
    assert judging.scores().per_query["q1"]["Faithfulness"] == 1.0
    assert (len([data for name, data in model.asked if name == "claims"]), judging.usage.known) == (2, 1)


def test_of_a_part_with_a_wrong_label_the_others_count_and_are_joined(path: Path) -> None:
    def reply(name: str, data: Mapping[str, Any]) -> Any:
        found = toy_reply(name, data)
        if name == "support" and data["passages"][0]["id"] == 1:
            found["labels"][-1]["label"] = "perhaps"
        return found

    judging = judge(SmallModel(LIMIT, reply), path)
    assert labels(path) == {**LABELS, "Lead is heavy and soft": "failed"}
    before = path.read_bytes()
    assert judge(SmallModel(LIMIT, reply), path).usage.calls == 0
    assert path.read_bytes() == before
    judging = judge(SmallModel(LIMIT), path, retry_failed=True)
    assert (labels(path), judging.usage.calls) == (LABELS, 2)


def test_a_part_that_is_asked_again_and_changes_its_mind_changes_the_joined_label(path: Path) -> None:
    said = ["partial", "none"]

    def reply(name: str, data: Mapping[str, Any]) -> Any:
        found = toy_reply(name, data)
        if name == "support" and data["passages"][0]["id"] == 1:
            found["labels"][2]["label"] = said[0]
            found["labels"][-1]["label"] = "perhaps"
        return found

    judge(SmallModel(LIMIT, reply), path)
    assert labels(path)["Iron rusts"] == "partial"
    said.pop(0)
    judge(SmallModel(LIMIT, reply), path, retry_failed=True)
    assert labels(path)["Iron rusts"] == "none"


def test_a_call_that_failed_before_it_was_found_too_long_is_not_a_failure_any_more(path: Path) -> None:
    """As in a file of a judge that could not divide texts."""
    result = {**RESULT, "answer": " ".join(f"{metal.capitalize()}." for metal in METALS)}

    def broken(messages: Any) -> str:
        raise TypeError(f"{len(messages)} messages are out of order")

    broken.__name__ = "tester"
    judge(broken, path, result=result)
    assert [each["item"] for each in lines(path) if each.get("state") == "failed" and "item" in each] == ["answer"]
    model = SmallModel(100)
    judge(model, path, result=result, max_calls=3)
    model.limit = LIMIT
    judging = judge(model, path, result=result)
    assert judging.scores().per_query["q1"]["Faithfulness"] == 1.0
    assert "failed" not in str(judging.scores())
    records = read_verdict_records(str(path))
    first, *_ = zip(records.labels.item, label_status(records), strict=True)
    assert first == ("answer", "replaced")


def test_a_limit_of_tokens_divides_texts_before_they_are_sent(path: Path) -> None:
    retrieved = [f"{metal.capitalize()}. " * 400 for metal in METALS]
    result = {**RESULT, "retrieved": retrieved}
    model = SmallModel(10**6)
    limit: dict[str, Any] = {"max_input_tokens": 4_000}
    estimate = karat.estimate_judging([result], task="faithfulness", **limit)
    judging = judge(model, path, result=result, **limit)
    assert labels(path) == LABELS
    parts = [data["passages"] for name, data in model.asked if name == "support"]
    assert "".join(each["text"] for passages in parts for each in passages) == "".join(retrieved)
    assert all(call["tokens_in"] <= 4_000 for call in lines(path) if call["record"] == "call")
    assert (model.refused, judging.usage.calls) == (0, estimate.calls)
    assert "requests were too long, so their texts were divided" in judging.notes[-1]
    before = path.read_bytes()
    assert judge(model, path, result=result, **limit).usage.calls == 0
    judge(None, path, result=result, replay=True, **limit)
    assert path.read_bytes() == before


def test_a_limit_of_tokens_that_leaves_no_room_for_texts_is_an_error(path: Path) -> None:
    for ask in (karat.judge, karat.estimate_judging):
        with pytest.raises(KaratError, match="max_input_tokens=200 is too small for the prompt claims/") as caught:
            ask([RESULT], task="faithfulness", model=SmallModel(10**6), verdicts=path, max_input_tokens=200)
        assert "Allow" in str(caught.value)


def test_the_order_of_strength_has_all_labels_of_support_by_their_values() -> None:
    task = BUILT_IN["support"]
    assert sorted(STRONGEST_FIRST) == sorted([*task.scale, NOTHING_TO_JUDGE])
    values = [task.scale[label] for label in STRONGEST_FIRST if label in task.scale]
    assert values == sorted(values, reverse=True)


@given(st.lists(st.sampled_from(STRONGEST_FIRST), min_size=1))
def test_joined_labels_do_not_depend_on_the_order_of_the_parts(found: list[str]) -> None:
    joined = []
    for ordered in (found, found[::-1]):
        label: LabelReply | None = None
        for each in ordered:
            label = stronger(label, LabelReply(each))
        joined.append(label)
    assert joined[0] == joined[1] == LabelReply(min(found, key=STRONGEST_FIRST.index))


@given(st.text() | st.lists(st.sampled_from(["Gold is soft.", " ", "\n", "e.g. [1]", "金。", "x"])).map("".join))
def test_halves_of_a_text_are_the_text(text: str) -> None:
    halves = halves_of(text)
    assert len(halves) in (0, 2)
    assert not halves or "".join(halves) == text
    assert all(half.strip() for half in halves)


def _leaves(texts: ComparedTexts) -> list[ComparedTexts]:
    """The smallest parts, in order."""
    found, parts = [], deque([texts])
    while parts:
        part = parts.popleft()
        parts.extendleft(reversed(part.halves))
        found += [] if part.halves else [part]
    return found


TEXTS = st.lists(st.lists(st.sampled_from(["Gold is soft. ", "Iron rusts.\n", "so so "]), min_size=1).map("".join))


@given(TEXTS)
def test_parts_lose_nothing_and_keep_ids(texts: list[str]) -> None:
    ids = tuple(range(1, len(texts) + 1))
    leaves = _leaves(ComparedTexts("passages", tuple(texts), ids, ids))
    found = dict.fromkeys(ids, "")
    for leaf in leaves:
        assert len(leaf.texts) == len(leaf.ids) == len(leaf.ranks) <= 1
        for name, text in zip(leaf.ids, leaf.texts, strict=True):
            found[int(name)] += text
    assert [*found.values()] == texts
    assert [leaf.ids for leaf in leaves] == sorted(leaf.ids for leaf in leaves)


@given(TEXTS, st.integers(1, 12))
def test_windows_have_every_text_once(texts: list[str], size: int) -> None:
    windows = ComparedTexts("passages", tuple(texts), tuple(range(len(texts)))).windows(size)
    assert [text for window in windows for text in window.texts] == texts
    assert [name for window in windows for name in window.ids] == [*range(len(texts))]
    assert all(len(window.texts) == size for window in windows[:-1])


@given(
    passages=st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=5), min_size=1, max_size=6),
    claims=st.lists(st.integers(0, 12), min_size=1, max_size=14, unique=True),
    limit=st.integers(150, 900),
    samples=st.integers(1, 2),
)
def test_every_item_gets_the_label_of_all_passages_together(
    passages: list[list[int]], claims: list[int], limit: int, samples: int
) -> None:
    """A model that finds a claim in full if a sentence has its number, and in part if a sentence has one more."""
    texts = [" ".join(f"Metal {number} is soft." for number in numbers) for numbers in passages]
    response = Response("q", None, "?", "!", tuple(Passage(f"d{at}", at, text) for at, text in enumerate(texts, 1)))
    items = [Item("q", f"c{number}", "claim", text=f"Metal {number}") for number in claims]
    subjects = [LabelSubject(BUILT_IN["support"], item, against="context") for item in items]
    found: list[tuple[str, int, str]] = []
    for steps in label_steps(subjects, BUILT_IN["support"], response, load_prompts()["support"], samples, 42):
        requests = next(steps)
        with suppress(StopIteration):
            while True:
                outcomes = [_outcome(request, limit) for request in requests]
                found += [(each["item"], one.request.sample, each["label"]) for one in outcomes for each in one.records]
                requests = steps.send(outcomes)
    numbers = {number for each in passages for number in each}
    expected = {f"c{claim}": _label(claim, numbers) for claim in claims}
    assert sorted(found) == sorted(
        (item, sample, label) for item, label in expected.items() for sample in range(samples)
    )


def _outcome(request: ModelRequest, limit: int) -> RequestOutcome:
    content = request.messages[1]["content"]
    if len(content) > limit and request.is_divisible():
        return RequestOutcome(request, content, "too_long")
    data = json.loads(content)
    numbers = {int(number) for each in data["passages"] for number in re.findall(r"\d+", each["text"])}
    rows = [{"item": each["item"], "label": _label(int(each["text"][6:]), numbers)} for each in data["items"]]
    read = request.read({"labels": rows})
    return RequestOutcome(request, content, "done", read.records, draft=read.draft)


def _label(claim: int, numbers: Collection[int]) -> str:
    return "full" if claim in numbers else "partial" if claim - 1 in numbers else "none"


@pytest.mark.parametrize("limit", [250, 400])
def test_systems_share_the_calls_about_parts(path: Path, tmp_path: Path, limit: int) -> None:
    files = [tmp_path / f"{name}.jsonl" for name in "ab"]
    for file in files:
        file.write_text(json.dumps(RESULT))
    model, options = SmallModel(limit), {"task": "faithfulness", "verdicts": path}
    karat.judge(*files, model=model, **options)  # type: ignore[arg-type]
    alone = SmallModel(limit)
    judge(alone, tmp_path / "alone.jsonl")
    assert (len(model.asked), model.refused) == (len(alone.asked), alone.refused)
    for system in "ab":
        assert karat.evaluate_verdicts(path, "Faithfulness", system=system)["Faithfulness"] == 0.5
    before = path.read_bytes()
    karat.judge(*files, replay=True, **options)  # type: ignore[arg-type]
    karat.judge(*files, model=model, **options)  # type: ignore[arg-type]
    assert path.read_bytes() == before
