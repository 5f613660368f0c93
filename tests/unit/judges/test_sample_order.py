"""Further samples read passages and items in another order, and what they say is about the same things."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import karat
from karat.grounding.judges.compared_texts import ComparedTexts, SampleOrder
from karat.grounding.judges.plan_requests import LabelSubject, label_steps
from karat.grounding.judges.prompts import load_prompts
from karat.grounding.judges.requests import RequestOutcome
from karat.grounding.responses.responses import Passage, Response
from karat.grounding.verdict_file.records import Item
from karat.grounding.verdict_file.tasks import BUILT_IN
from tests.unit.judges.toy_judge import SmallModel, toy_reply

METALS = [f"Metal {at} is number {at}." for at in range(1, 13)]
RESULT: dict[str, Any] = {
    "query": "q1",
    "question": "What are metals like?",
    "answer": " ".join(METALS[:8]),
    "retrieved": METALS[4:10],
}
ORDERS = st.builds(SampleOrder, st.integers(0, 2**32), st.text(), st.integers(0, 5))
TEXTS = st.lists(st.text(max_size=3), max_size=8)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "verdicts.jsonl"


def judge(model: Any, path: Path, result: Any = RESULT, **options: Any) -> karat.Judging:
    return karat.judge([result], task="faithfulness", model=model, verdicts=path, concurrency=1, samples=4, **options)


def comparisons(model: SmallModel) -> list[dict[str, Any]]:
    return [data for name, data in model.asked if name == "support"]


def verdicts(path: Path) -> list[dict[str, Any]]:
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [each for each in records if each["record"] == "verdict"]


def test_the_first_sample_has_the_order_of_the_results_and_others_have_their_own(path: Path) -> None:
    model = SmallModel(10**6)
    judge(model, path)
    first, *others = comparisons(model)
    assert [each["text"] for each in first["passages"]] == METALS[4:10]
    assert [each["id"] for each in first["passages"]] == [*range(1, 7)]
    assert [each["text"] for each in first["items"]] == [metal.removesuffix(".") for metal in METALS[:8]]
    for field in ("passages", "items"):
        orders = {tuple(each["text"] for each in data[field]) for data in (first, *others)}
        assert len(orders) == 4
        assert len({tuple(sorted(order)) for order in orders}) == 1
    assert all([each["item"] for each in data["items"]] == [*range(1, 9)] for data in others)


def test_all_samples_say_the_same_if_the_judge_reads_all_texts(path: Path) -> None:
    judge(SmallModel(10**6), path)
    by_sample = [[each["label"] for each in _sorted(path, sample)] for sample in range(4)]
    assert by_sample == [by_sample[0]] * 4
    assert by_sample[0].count("full") == 4


def _sorted(path: Path, sample: int) -> list[dict[str, Any]]:
    found = [each for each in verdicts(path) if each.get("sample", 0) == sample]
    return sorted(found, key=lambda each: each["item"])


def test_names_of_passages_say_nothing_about_ranks_and_reasons_name_them_by_rank(path: Path) -> None:
    names: set[str] = set()

    def reply(name: str, data: Any) -> Any:
        found = toy_reply(name, data)
        for row, item in zip(found.get("labels", ()), data.get("items", ()), strict=True):
            same = [each["id"] for each in data["passages"] if each["text"].startswith(item["text"])]
            names.update(map(str, same))
            row["why"] = f"Passage {same[0]} says so, and {str(same[0]).upper()}." if same else "Nothing says so."
        return found

    judge(SmallModel(10**6, reply), path)
    words = {name for name in names if not name.isdecimal()}
    assert len(words) == 4 * 3
    assert all(len(word) == 4 and word.isalpha() for word in words)
    for sample in range(4):
        whys = [each["why"] for each in _sorted(path, sample)]
        assert whys == ["Nothing says so."] * 4 + [f"Passage {rank} says so, and {rank}." for rank in (1, 2, 3, 4)]


def test_nothing_is_asked_twice_and_samples_can_be_added(path: Path) -> None:
    karat.judge([RESULT], task="faithfulness", model=SmallModel(10**6), verdicts=path)
    model = SmallModel(10**6)
    assert judge(model, path).usage.calls == 3
    before = path.read_bytes()
    assert judge(model, path).usage.calls == 0
    assert path.read_bytes() == before
    judge(None, path, replay=True)
    assert judge(model, path, seed=7).usage.calls == 4  # the seed is part of the key of every call


def test_systems_that_found_the_same_passages_in_another_order_share_the_further_samples(path: Path) -> None:
    model = SmallModel(10**6)
    judge(model, path, system="a")
    usage = judge(model, path, {**RESULT, "retrieved": METALS[4:10][::-1]}, system="b").usage
    assert (usage.calls, usage.known) == (1, 4)  # the claims are known, and the first sample has another order


def test_passages_of_a_rubric_and_gold_answers_are_in_the_order_of_the_sample(path: Path) -> None:
    rubric = {"name": "style", "question": "Is it well written?", "scale": {"poor": 0, "fair": 1}}
    model = SmallModel(10**6)
    result = {**RESULT, "gold_answers": METALS[:6]}
    karat.judge([result], rubric=rubric, model=model, verdicts=path, samples=3, concurrency=1)
    for field, text in (("passages", lambda each: each["text"]), ("gold_answers", str)):
        orders = [[text(each) for each in data[field]] for _, data in model.asked]
        assert len({*map(tuple, orders)}) == 3
        assert len({tuple(sorted(order)) for order in orders}) == 1
    empty = {**result, "retrieved": []}
    karat.judge([empty], rubric=rubric, model=model, verdicts=path, samples=3)
    assert model.asked[-1][1]["passages"] == []


def test_parts_of_long_texts_are_in_the_order_of_the_sample(path: Path) -> None:
    model = SmallModel(700)
    judge(model, path)
    assert model.refused
    by_sample = [[each["label"] for each in _sorted(path, sample)] for sample in range(4)]
    assert by_sample == [by_sample[0]] * 4


@given(ORDERS, TEXTS)
def test_an_order_is_a_permutation_that_is_the_same_each_time(order: SampleOrder, texts: list[str]) -> None:
    found = order.ordered(texts, str)
    assert found == order.ordered(texts, str)
    assert sorted(found) == sorted(texts)
    assert order.sample or found == texts
    assert not order.sample or order.ordered(texts[::-1], str) == found


@given(ORDERS, TEXTS.filter(bool))
def test_each_passage_has_a_code_of_its_own_that_stands_for_its_rank(order: SampleOrder, texts: list[str]) -> None:
    codes = order.codes(texts)
    assert len({*codes}) == len(texts) == len(codes)
    passages = [Passage(f"d{at}", at, text) for at, text in enumerate(texts, 1)]
    compared = ComparedTexts.of_passages(passages, order)
    assert {*zip(compared.ranks, compared.texts, strict=True)} == {*enumerate(texts, 1)}
    for name, rank in zip(compared.ids, compared.ranks, strict=True):
        stands_for = 1 if len(texts) == 1 else rank
        assert compared.with_ranks(f"See {name}, not x{name}.") == f"See {stands_for}, not x{name}."


@settings(max_examples=50)
@given(st.permutations(range(12)), st.integers(0, 3), st.integers(0, 100))
def test_shuffling_and_mapping_back_is_the_identity_on_labels(labelled: list[int], sample: int, seed: int) -> None:
    """A model that labels each item by its text gives each item its own label, whatever the order."""
    truth = {f"Claim {number}": ("none", "partial", "full")[at % 3] for at, number in enumerate(labelled)}
    items = [Item("q", f"c{at}", "claim", text=text) for at, text in enumerate(truth)]
    subjects = [LabelSubject(BUILT_IN["support"], item, against="context") for item in items]
    response = Response("q", None, "What?", "A.", tuple(Passage(f"d{at}", at, f"Text {at}") for at in range(1, 5)))
    records: list[Any] = []
    for steps in label_steps(subjects, BUILT_IN["support"], response, load_prompts()["support"], sample + 1, seed):
        [request] = next(steps)
        data = json.loads(request.messages[1]["content"])
        rows = [{"item": each["item"], "why": "-", "label": truth[each["text"]]} for each in data["items"]]
        read = request.read({"labels": rows})
        records += read.records if request.sample == sample else ()
        with pytest.raises(StopIteration):
            steps.send([RequestOutcome(request, "", "done", read.records, draft=read.draft)])
    assert {each["item"]: each["label"] for each in records} == {item.id: truth[item.text or ""] for item in items}
