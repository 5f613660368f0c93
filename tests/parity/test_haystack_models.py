"""Evaluators that ask a language model, inside Haystack: its pipelines, its chat generators, and what it has saved."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
from collections.abc import Iterator
from typing import Any

import haystack
import pytest
from haystack.components.evaluators import FaithfulnessEvaluator as TheirFaithfulness
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.components.joiners import ListJoiner
from haystack.utils import Secret

import karat
import karat.integrations.haystack
from karat import KaratError
from karat.components import evaluators
from karat.integrations.haystack import ContextRelevanceEvaluator, FaithfulnessEvaluator, LLMEvaluator
from tests.llm_server import LLMServer, Sent

KEY = "sk-a-key-that-nobody-must-see"
QUESTIONS = ['Who said "no"?', "{{ 7 * 7 }} {% raw %}", "bad", "line\none"]
INPUTS: dict[str, Any] = {
    "questions": QUESTIONS,
    "contexts": [["Gold is soft.", each] for each in QUESTIONS],
    "predicted_answers": QUESTIONS,
}
CONTEXTS = {name: INPUTS[name] for name in ("questions", "contexts")}
OWN: dict[str, Any] = {
    "instructions": "How long?",
    "inputs": [("predicted_answers", list[str])],
    "outputs": ["length"],
    "examples": [{"inputs": {"predicted_answers": "abc"}, "outputs": {"length": 3}}],
}


def reply(sent: Sent) -> Any:
    data = json.loads(sent.body["messages"][1]["content"])
    if data.get("questions") == "bad":
        return "?"
    if "questions" not in data:
        return {"length": len(data["predicted_answers"])}
    if "predicted_answers" in data:
        return {"statements": ["a", "b", "c"], "statement_scores": [1, 0, 0]}
    return {"relevant_statements": ["Gold is soft."]}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LLMServer]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with LLMServer(reply) as server:
        yield server


def pipeline_of(model: Any) -> haystack.Pipeline:
    """Evaluators whose contexts come from a component of Haystack; `model` makes the parameters that name it."""
    pipeline = haystack.Pipeline()
    pipeline.add_component("contexts", ListJoiner(list[list[str]]))
    pipeline.add_component("faithful", FaithfulnessEvaluator(raise_on_failure=False, **model()))
    pipeline.add_component("relevant", ContextRelevanceEvaluator(raise_on_failure=False, **model()))
    pipeline.add_component("own", LLMEvaluator(**OWN, **model()))
    pipeline.connect("contexts.values", "faithful.contexts")
    pipeline.connect("contexts.values", "relevant.contexts")
    return pipeline


GIVEN = {
    "contexts": {"values": INPUTS["contexts"]},
    "faithful": {"questions": QUESTIONS, "predicted_answers": QUESTIONS},
    "relevant": {"questions": QUESTIONS},
    "own": {"predicted_answers": ["a", "abc"]},
}


@pytest.mark.parametrize("kind", ["generator", "name"])
def test_a_pipeline_of_haystack_asks_saves_and_loads(server: LLMServer, kind: str) -> None:
    def model() -> dict[str, Any]:
        if kind == "name":
            return {"model": "tester", "base_url": server.url}
        return {"chat_generator": OpenAIChatGenerator(model="tester", api_base_url=server.url)}

    pipeline = pipeline_of(model)
    saved = pipeline.dumps()
    assert KEY not in saved
    loaded = haystack.Pipeline.loads(saved)
    assert loaded == pipeline
    results = loaded.run(GIVEN)
    faithful, relevant = results["faithful"], results["relevant"]
    assert faithful["individual_scores"] == [1 / 3, 1 / 3, None, 1 / 3]
    assert (faithful["score"], relevant["score"]) == (1 / 3, 1.0)
    assert [each["status"] for each in relevant["results"]] == ["evaluated", "evaluated", "error", "evaluated"]
    assert [each and each["usage"]["total_tokens"] for each in faithful["meta"]] == [110, 110, None, 110]
    assert results["own"]["results"] == [{"length": 1}, {"length": 3}]
    assert asyncio.run(loaded.run_async(GIVEN)) == results
    data = [json.loads(each.body["messages"][1]["content"]) for each in server.sent]
    for at in (0, 1, 3):
        assert {name: values[at] for name, values in INPUTS.items()} in data
    for name in ("faithful", "relevant", "own"):
        evaluator: Any = loaded.get_component(name)
        asyncio.run(evaluator.close_async())


def test_scores_and_usage_are_those_of_haystacks_evaluator(server: LLMServer) -> None:
    good = {name: [values[at] for at in (0, 3)] for name, values in INPUTS.items()}
    generator = OpenAIChatGenerator(model="tester", api_base_url=server.url)
    server.rule = lambda _: {"statements": ["a", "b", "c"], "statement_scores": [1, 0, 0]}
    theirs = TheirFaithfulness(chat_generator=generator, progress_bar=False).run(**good)
    evaluator = FaithfulnessEvaluator(chat_generator=generator)
    ours = evaluator.run(**good)
    evaluator.close()
    for each, other in zip(ours.pop("meta"), theirs.pop("meta"), strict=True):
        assert each["usage"].items() <= other["usage"].items()
    assert ours == theirs


def test_a_question_that_cannot_be_judged_is_an_error_by_default(server: LLMServer) -> None:
    evaluator = FaithfulnessEvaluator(chat_generator=OpenAIChatGenerator(model="tester", api_base_url=server.url))
    with pytest.raises(KaratError, match=r"^question 2 could not be judged: The reply is not JSON\."):
        evaluator.run(**INPUTS)
    evaluator.close()


@pytest.mark.parametrize("name", ["LLMEvaluator", "FaithfulnessEvaluator", "ContextRelevanceEvaluator"])
def test_a_component_is_a_karat_evaluator_that_can_be_copied_and_pickled(name: str) -> None:
    kind = getattr(karat.integrations.haystack, name)
    evaluator = kind(**OWN) if name == "LLMEvaluator" else kind()
    assert isinstance(evaluator, getattr(evaluators, name))
    for again in (copy.deepcopy(evaluator), pickle.loads(pickle.dumps(evaluator)), kind.from_dict(evaluator.to_dict())):
        assert type(again) is kind
        assert again.to_dict() == evaluator.to_dict()
        sockets = again.__haystack_input__._sockets_dict
        assert {socket: each.type for socket, each in sockets.items()} == dict(evaluator.inputs)
        assert all(each.is_mandatory for each in sockets.values())


def test_a_chat_generator_is_saved_as_haystack_does_and_loaded_by_both(server: LLMServer) -> None:
    generator = OpenAIChatGenerator(model="tester", api_base_url=server.url, timeout=5)
    for kind in (FaithfulnessEvaluator, evaluators.FaithfulnessEvaluator):
        saved = kind(chat_generator=generator).to_dict()
        assert saved["init_parameters"]["chat_generator"] == generator.to_dict()
    pipeline = karat.Pipeline()
    pipeline.add_component("faithful", evaluators.FaithfulnessEvaluator(chat_generator=generator))
    with pytest.raises(KaratError, match="reads 'OPENAI_API_KEY' from the environment and sends it to"):
        karat.Pipeline.loads(pipeline.dumps())
    loaded = karat.Pipeline.loads(pipeline.dumps(), allowed_env_vars=["OPENAI_API_KEY"]).get_component("faithful")
    assert isinstance(loaded.chat_generator, OpenAIChatGenerator)
    assert loaded.chat_generator.to_dict() == generator.to_dict()


def test_a_chat_generator_that_is_not_imported_is_not_loaded() -> None:
    saved = evaluators.FaithfulnessEvaluator().to_dict()
    for kind in ("os.system", "haystack.components.generators.chat.unknown.Unknown", None, ["x"]):
        saved["init_parameters"] = {"chat_generator": {"type": kind, "init_parameters": {}}}
        with pytest.raises(KaratError, match="is not a chat generator that is imported"):
            evaluators.FaithfulnessEvaluator.from_dict(saved)
    known = "haystack.components.generators.chat.openai.OpenAIChatGenerator"
    saved["init_parameters"] = {"chat_generator": {"type": known, "init_parameters": {"wrong": 1}}}
    with pytest.raises(KaratError, match=rf"^the chat generator {known} cannot be loaded: "):
        evaluators.FaithfulnessEvaluator.from_dict(saved, allowed_env_vars=["OPENAI_API_KEY"])


def test_what_haystack_saved_by_default_is_loaded_without_haystack() -> None:
    theirs = haystack.Pipeline()
    theirs.add_component("faithful", TheirFaithfulness(progress_bar=False))
    loaded = karat.Pipeline.from_dict(theirs.to_dict()).get_component("faithful")
    assert loaded.to_dict()["init_parameters"] == {
        "examples": loaded.examples, "progress_bar": False, "raise_on_failure": True, "model": "gpt-5-mini",
    }  # fmt: skip
    key = Secret.from_env_var("MY_KEY")
    generator = OpenAIChatGenerator(key, "other", api_base_url="http://127.0.0.1:1/v1", timeout=7.0)
    theirs.add_component("other", TheirFaithfulness(chat_generator=generator))
    with pytest.raises(KaratError, match="component other: the saved component reads 'MY_KEY' from the environment"):
        karat.Pipeline.from_dict(theirs.to_dict())
    other = karat.Pipeline.from_dict(theirs.to_dict(), allowed_env_vars=["MY_KEY"]).get_component("other")
    assert (other.model, other.base_url, other.api_key_env) == ("other", "http://127.0.0.1:1/v1", "MY_KEY")
    assert (other.chat_generator, other.timeout) == (None, 7.0)
    # What only Haystack knows stays with Haystack.
    generator = OpenAIChatGenerator(generation_kwargs={"reasoning_effort": "low"})
    theirs.add_component("tuned", TheirFaithfulness(chat_generator=generator))
    tuned = karat.Pipeline.from_dict(theirs.to_dict(), allowed_env_vars=["MY_KEY"]).get_component("tuned")
    assert isinstance(tuned.chat_generator, OpenAIChatGenerator)
