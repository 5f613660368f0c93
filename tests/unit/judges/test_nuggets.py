"""Nuggets: from ten passages at a time, with the list so far, and then how important each of them is."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import karat
from karat.grounding.judges.compared_texts import ComparedTexts
from karat.grounding.judges.extractions import MOST_PASSAGES, NuggetExtraction, merged
from karat.grounding.judges.prompts import load_prompts
from karat.grounding.judges.replies import UnreadableReplyError
from tests.unit.judges.toy_judge import SmallModel, toy_reply

PASSAGES = [f"Metal {at} is gold." for at in range(1, 24)]
RESULT: dict[str, Any] = {
    "query": "q1", "question": "Which are gold?", "answer": "Metal 3 is gold.", "retrieved": PASSAGES
}  # fmt: skip
WHOLE = 10**6


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "verdicts.jsonl"


def judge(model: Any, path: Path, result: Any = RESULT, task: str = "nuggets", **options: Any) -> karat.Judging:
    return karat.judge([result], task=task, model=model, verdicts=path, **options)


def nuggets(path: Path) -> dict[str, str]:
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return {each["text"]: each["importance"] for each in records if each.get("type") == "nugget"}


def asked(model: SmallModel, name: str) -> list[dict[str, Any]]:
    return [data for prompt, data in model.asked if prompt == name]


def weighs(name: str, data: Mapping[str, Any]) -> Any:
    """Even numbers are okay, and there is at most one nugget for every second passage."""
    if name == "importance":
        return {"labels": [{"item": each["item"], "label": _importance(each["text"])} for each in data["items"]]}
    if name == "nuggets":
        return {"nuggets": toy_reply(name, data)["nuggets"][:14]}
    return toy_reply(name, data)


def _importance(text: str) -> str:
    return "vital" if int(text.split()[1]) % 2 else "okay"


def test_nuggets_come_from_ten_passages_at_a_time_with_the_list_so_far(path: Path) -> None:
    model = SmallModel(WHOLE)
    judge(model, path)
    windows = asked(model, "nuggets")
    assert [[each["text"] for each in data["passages"]] for data in windows] == [
        PASSAGES[:10],
        PASSAGES[10:20],
        PASSAGES[20:],
    ]
    assert [data["passages"][0]["id"] for data in windows] == [1, 11, 21]
    assert [data.get("nuggets") for data in windows] == [None, PASSAGES[:10], PASSAGES[:20]]
    assert [len(data["items"]) for data in asked(model, "importance")] == [10, 10, 3]
    assert [*nuggets(path)] == PASSAGES[:20]


def test_nuggets_from_gold_answers_take_one_call_and_one_for_their_importance(path: Path) -> None:
    model = SmallModel(WHOLE)
    judge(model, path, {**RESULT, "gold_answers": ["Metal 1 is gold.", "Metal 2 is gold."]})
    assert Counter(name for name, _ in model.asked) == {"nuggets": 1, "importance": 1, "support": 1}
    assert asked(model, "nuggets") == [
        {"question": "Which are gold?", "gold_answers": ["Metal 1 is gold.", "Metal 2 is gold."]}
    ]


def test_vital_nuggets_come_first(path: Path) -> None:
    model = SmallModel(WHOLE, weighs)
    judge(model, path)
    assert [*nuggets(path).values()] == ["vital"] * 7 + ["okay"] * 7
    assert all(importance == _importance(text) for text, importance in nuggets(path).items())


def test_most_passages_are_a_hundred(path: Path) -> None:
    model = SmallModel(WHOLE)
    judge(model, path, {**RESULT, "retrieved": [f"Metal {at} is gold." for at in range(130)]})
    assert len(asked(model, "nuggets")) == MOST_PASSAGES / 10 == 10
    assert max(len(data.get("nuggets", ())) for data in asked(model, "nuggets")) == 30


@pytest.mark.parametrize("task", ["nuggets", "coverage"])
def test_an_estimate_is_what_is_asked_at_most(path: Path, task: str) -> None:
    model = SmallModel(WHOLE)
    estimate = karat.estimate_judging([RESULT], task=task)
    usage = judge(model, path, task=task).usage
    assert (estimate.calls, usage.tokens_in <= estimate.tokens_in * 1.1) == (usage.calls, True)
    frugal = SmallModel(WHOLE, weighs)
    assert judge(frugal, path.with_name("frugal.jsonl"), task=task).usage.calls < estimate.calls
    assert karat.estimate_judging([RESULT], task=task, model=model, verdicts=path).calls == 0


def test_nothing_is_asked_or_written_twice_and_everything_can_be_replayed(path: Path) -> None:
    judge(SmallModel(WHOLE), path)
    before = path.read_bytes()
    assert judge(SmallModel(WHOLE), path).usage.calls == 0
    assert path.read_bytes() == before
    judge(None, path, replay=True)


def test_a_list_is_not_there_before_it_is_complete(path: Path) -> None:
    whole = SmallModel(WHOLE)
    judge(whole, path, concurrency=1)
    content = path.read_text()
    path.unlink()
    model = SmallModel(WHOLE)
    for calls in range(1, len(whole.asked) + 1):
        judge(model, path, concurrency=1, max_calls=1)
        assert len(nuggets(path)) == (20 if calls >= 6 else 0)  # three windows, and three batches
    assert model.asked == whole.asked
    assert path.read_text() == content


@pytest.mark.parametrize("is_answered", [False, True])
def test_if_the_importance_is_not_known_the_list_is_not_extracted_again(path: Path, is_answered: bool) -> None:
    """A call without a reply is made again; one that was not understood is, with retry_failed."""

    def reply(name: str, data: Mapping[str, Any]) -> Any:
        if name != "importance" or len(data["items"]) == 1:
            return toy_reply(name, data)
        if not is_answered:
            raise TypeError("out of order")
        return {"labels": []}

    other = {**RESULT, "query": "q2", "gold_answers": ["Metal 7 is gold."]}
    judging = karat.judge([RESULT, other], task="nuggets", model=SmallModel(WHOLE, reply), verdicts=path)
    assert judging.usage.failed == 2  # of the first batches, so that the last one is not asked
    assert [*nuggets(path)] == ["Metal 7 is gold."]
    scores = karat.evaluate_verdicts(path, "NuggetRecall")
    assert scores.per_query["q1"]["NuggetRecall"] is None
    model = SmallModel(WHOLE)
    judge(model, path, retry_failed=is_answered)
    assert Counter(name for name, _ in model.asked) == {"importance": 3, "support": 2}
    assert len(nuggets(path)) == 20  # of which one is also that of the other question
    assert karat.evaluate_verdicts(path, "NuggetRecall").per_query["q1"]["NuggetRecall"] is not None


def test_a_window_that_does_not_fit_is_divided(path: Path) -> None:
    model = SmallModel(400, weighs)
    judge(model, path)
    seen = [each["text"] for data in asked(model, "nuggets") for each in data["passages"]]
    assert model.refused
    assert seen == PASSAGES


def test_an_empty_list_adds_nothing_and_is_written_only_if_all_are(path: Path) -> None:
    def reply(name: str, data: Mapping[str, Any]) -> Any:
        texts = [each["text"] for each in data.get("passages", ()) if each["text"] in kept]
        return {"nuggets": texts} if name == "nuggets" else toy_reply(name, data)

    kept = {PASSAGES[3]}
    judge(SmallModel(WHOLE, reply), path)
    assert nuggets(path) == {PASSAGES[3]: "vital"}
    kept.clear()
    path.unlink()
    model = SmallModel(WHOLE, reply)
    judge(model, path, task="coverage")
    assert Counter(name for name, _ in model.asked) == {"nuggets": 3}
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [each["item"] for each in records if each.get("state") == "nothing_to_judge"] == ["question"]


def extraction() -> NuggetExtraction:
    return NuggetExtraction("What?", "q1", ComparedTexts("gold_answers", ("A",)), set(), load_prompts())


@pytest.mark.parametrize(
    ("reply", "problem", "texts"),
    [
        ({"nuggets": ["A", "b", " a. ", "B"]}, None, ("A", "b")),
        ({"nuggets": [{"text": "A", "importance": "vital"}]}, None, ("A",)),
        ({"nuggets": [" "]}, "has an empty text in it", None),
        ({"nuggets": [None, "A"]}, "has null in it where a text should be", None),
        (["A"], None, ("A",)),
        ({"nuggets": [str(at) for at in range(50)]}, None, tuple(map(str, range(30)))),
    ],
)
def test_how_a_list_is_read(reply: Any, problem: str | None, texts: Any) -> None:
    found = extraction().request(ComparedTexts("gold_answers", ("A",))).read(reply)
    assert (found.records, found.draft) == ((), texts)
    assert (problem or "") in (found.problem or "")
    assert (problem is None) == (found.problem is None)


@pytest.mark.parametrize(
    ("reply", "problem", "importance"),
    [
        ({"labels": [{"item": 2, "label": "Okay."}, {"item": 1, "label": "vital"}]}, None, ["vital", "okay"]),
        (["okay", "vital"], None, ["vital", "okay"]),
        ({"labels": [{"item": 1, "label": "high"}, {"item": 2, "label": "okay"}]}, "is not one of vital, okay", []),
        ({"labels": [{"item": 1, "label": "vital"}]}, "Item 2 has no label", []),
    ],
)
def test_how_importance_is_read(reply: Any, problem: str | None, importance: list[str]) -> None:
    found = extraction().importance_request(["A", "B"], {}).read(reply)
    assert [each["importance"] for each in found.records] == importance
    assert (problem or "") in (found.problem or "")


def test_a_question_without_nuggets_has_nothing_to_judge() -> None:
    [record] = extraction().request(ComparedTexts("gold_answers", ("A",))).read({"nuggets": None}).records
    assert (record["item"], record["state"]) == ("question", "nothing_to_judge")
    with pytest.raises(UnreadableReplyError, match="The field nuggets is missing"):
        extraction().request(ComparedTexts("gold_answers", ("A",))).read({})


@given(st.lists(st.sampled_from(["Gold is soft", "gold is soft.", "GOLD  is soft", "Gold melts", "."])))
def test_of_texts_that_differ_in_case_and_punctuation_the_first_stays(texts: list[str]) -> None:
    once = merged(texts)
    assert merged(once) == once
    assert set(once) <= {*texts}
    assert len(once) == len({text.casefold().replace("  ", " ").rstrip(".") for text in texts})
