"""A model can be a name, a function or a Haystack chat generator; concurrent requests learn from each other."""

from __future__ import annotations

import functools
import json
import os
import signal
import threading
import time
from typing import Any

import pytest

from karat.errors import KaratError
from karat.grounding.judges.asking import carry_out
from karat.grounding.judges.budget import CallBudget, Prices, most_tokens
from karat.grounding.judges.journal import Journal
from karat.grounding.judges.model import language_model
from karat.grounding.judges.requests import (
    CallError,
    LanguageModel,
    Message,
    ModelReply,
    ModelSettings,
    ServerBusyError,
    with_schema,
)
from karat.grounding.judges.sending import Asker
from tests.llm_server import LLMServer, Response, Sent, error, reply
from tests.platforms import on_posix
from tests.unit.judges.scripted import SETTINGS, plans, request

MESSAGES: list[Message] = [{"role": "system", "content": "Judge."}, {"role": "user", "content": '"Who?"'}]
SCHEMA = {"type": "object"}


def ask(model: LanguageModel) -> ModelReply:
    return model.ask(MESSAGES, SCHEMA, settings=ModelSettings("tester"), sample=0)


def my_model(messages: list[Message]) -> str:
    return json.dumps([message["content"] for message in messages])


class OwnModel:
    def __call__(self, messages: list[Message]) -> str:
        return str(len(messages))


def test_a_function_is_asked_for_the_schema_in_words() -> None:
    system, user = json.loads(ask(language_model(my_model)).text)
    wanted = "Reply with one JSON object that matches this JSON schema, and with nothing else:"
    assert system == f"Judge.\n\n{wanted}\n{json.dumps(SCHEMA)}"
    assert user == '"Who?"'


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (my_model, "my_model"),
        (lambda _: "yes", "function"),
        (OwnModel(), "OwnModel"),
        (functools.partial(my_model), "partial"),
    ],
    ids=["function", "lambda", "object", "partial"],
)
def test_the_name_of_a_function_is_the_same_each_time(function: Any, name: str) -> None:
    assert language_model(function).name == name


@pytest.mark.parametrize("model", [None, "", "  ", 7, OwnModel, ["gpt"]])
def test_what_is_not_a_model_is_refused(model: Any) -> None:
    with pytest.raises(KaratError, match="Pass the name of a model, a Haystack chat generator, or a function"):
        language_model(model)


@pytest.mark.parametrize(
    ("raised", "again"),
    [
        (ConnectionError("reset"), True),
        (RuntimeError("overloaded"), True),
        (KeyError("choices"), False),
        (TypeError("x"), False),
    ],
    ids=["connection", "any error", "mistake", "another mistake"],
)
def test_errors_of_a_function_may_be_temporary_unless_they_are_mistakes(raised: Exception, again: bool) -> None:
    def fails(messages: list[Message]) -> str:
        raise raised

    with pytest.raises(CallError, match=f"^{type(raised).__name__}: ") as caught:
        ask(language_model(fails))
    assert caught.value.again == again


def test_a_function_can_say_itself_that_it_is_busy() -> None:
    def busy(messages: list[Message]) -> str:
        raise ServerBusyError("wait", 3.0)

    with pytest.raises(ServerBusyError):
        ask(language_model(busy))


def test_a_function_that_does_not_return_a_text_stops_everything() -> None:
    with pytest.raises(CallError, match=r"^the model function returned 7$") as caught:
        ask(language_model(lambda _: 7))
    assert caught.value.fatal


def test_keys_in_the_environment_are_not_in_errors_of_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_TOKEN", "correct-horse-battery")

    def fails(messages: list[Message]) -> str:
        raise RuntimeError(f"refused: {os.environ['MY_API_TOKEN']}")

    with pytest.raises(CallError, match=r"^RuntimeError: refused: \[key\]$"):
        ask(language_model(fails))


def test_a_chat_generator_is_asked_with_its_own_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    from haystack.components.generators.chat import OpenAIChatGenerator
    from haystack.utils import Secret

    monkeypatch.setenv("JUDGE_ACCESS", "sk-proj-Zm9vYmFyYmF6cXV4")
    key = Secret.from_env_var("JUDGE_ACCESS")
    busy = error(429, "Slow down.", headers={"Retry-After": "7"})
    with LLMServer(first=[reply("yes"), busy, error(401, "sk-proj-Zm9vYmFyYmF6cXV4 is wrong")]) as server:
        model = language_model(OpenAIChatGenerator(key, model="tester", api_base_url=server.url, max_retries=0))
        assert model.name == "tester"
        assert ask(model) == ModelReply("yes", 100, 10)
        assert [message["role"] for message in server.sent[0].body["messages"]] == ["system", "user"]
        with pytest.raises(ServerBusyError) as caught:
            ask(model)
        assert caught.value.wait == 7.0
        with pytest.raises(CallError, match=r"\[key\] is wrong") as fatal:
            ask(model)
        assert fatal.value.fatal


def test_a_chat_generator_without_a_reply_is_asked_again() -> None:
    class Silent:
        def run(self, messages: list[Any]) -> dict[str, Any]:
            return {"replies": messages[:0]}

    model = language_model(Silent())
    assert model.name == "Silent"
    with pytest.raises(CallError) as caught:
        ask(model)
    assert caught.value.again


def test_functions_are_not_called_more_often_at_a_time_than_asked_for() -> None:
    lock = threading.Lock()
    now = most = 0

    def count(messages: list[Message]) -> str:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        with lock:
            now -= 1
        return '{"label": 1}'

    usage = carry_out(plans(100, []), Asker(language_model(count), SETTINGS, Journal(), concurrency=2))
    assert (usage.done, most <= 2) == (100, True)


def test_many_requests_learn_once_what_the_server_refuses() -> None:
    def rule(sent: Sent) -> Any:
        for name in ("seed", "temperature", "response_format"):
            if name in sent.body:
                return error(400, f"unsupported parameter: {name}", param=name)
        return {"label": 1}

    with LLMServer(rule, wait_for=2) as server:
        asker = Asker(language_model("tester", base_url=server.url), SETTINGS, Journal(), concurrency=8)
        usage = carry_out(plans(40, []), asker)
        assert (usage.done, usage.failed) == (40, 0)
        assert len(asker.notes) == 4  # response_format twice
        assert len(server.sent) <= 40 + 4 * 8
        assert server.most_at_once > 1


def test_requests_that_reach_no_end_do_not_hold_up_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karat.grounding.judges.sending._FIRST_WAIT", 0.001)
    monkeypatch.setattr("karat.grounding.judges.sending._GRACE", 0.1)
    bad = [
        Response(hang_up=True),
        error(500),
        reply({"label": 1}, cut=20),
        error(503, headers={"Retry-After": "0.01"}),
        reply({"label": 1}, delay=5.0),
        error(500, "x" * 100, pause=0.02),
        reply("not what was asked for"),
    ]
    with LLMServer(lambda _: {"label": 1}, first=bad) as server:
        model = language_model("tester", base_url=server.url, timeout=0.3)
        usage = carry_out(plans(20, []), Asker(model, SETTINGS, Journal(), timeout=0.3))
    assert (usage.done, usage.failed) == (20, 0)
    assert usage.requests >= 27


@pytest.mark.parametrize("concurrency", [1, 2, 5])
def test_no_more_requests_than_allowed_are_at_the_server_at_a_time(
    concurrency: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("karat.grounding.judges.sending._FIRST_WAIT", 0.001)
    first = [error(500), error(429, headers={"Retry-After": "0"}), reply("what?"), Response(hang_up=True)]
    with LLMServer(lambda _: {"label": 1}, first=first * 3, delay=0.01, wait_for=concurrency) as server:
        model = language_model("tester", base_url=server.url)
        usage = carry_out(plans(60, []), Asker(model, SETTINGS, Journal(), concurrency=concurrency))
    assert (usage.done + usage.failed, server.most_at_once) == (60, concurrency)


def test_nothing_is_sent_before_the_time_that_the_server_asks_to_wait_for() -> None:
    times: list[float] = []

    def rule(sent: Sent) -> Any:
        times.append(time.monotonic())
        return error(429, headers={"Retry-After": "1"}) if not sent.number else {"label": 1}

    with LLMServer(rule) as server:
        model = language_model("tester", base_url=server.url)
        assert carry_out(plans(5, []), Asker(model, SETTINGS, Journal(), concurrency=1)).requests == 6
    assert times[1] - times[0] >= 1.0


@pytest.mark.parametrize("response", [error(500), error(429), Response(hang_up=True)], ids=["error", "busy", "closed"])
def test_the_client_repeats_nothing_by_itself(response: Response) -> None:
    with LLMServer(first=[response]) as server:
        with pytest.raises(CallError):
            ask(language_model("tester", base_url=server.url))
        assert len(server.sent) == 1


@pytest.mark.parametrize("limit", ["max_calls", "max_tokens", "max_cost"])
def test_attempts_without_a_reply_are_booked_too(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection breaks, so that the model may have replied: each attempt counts with all that it may cost."""
    monkeypatch.setattr("karat.grounding.judges.sending._FIRST_WAIT", 0.001)
    most = most_tokens([each["content"] for each in with_schema(request("question 0").messages, SCHEMA)])
    limits = {"max_calls": 4, "max_tokens": 4 * (most + 2048), "max_cost": 4 * (most + 2048) / 1e6}
    budget = CallBudget(**{limit: limits[limit]}, prices=Prices(1.0, 1.0))  # type: ignore[arg-type]
    with LLMServer(lambda _: Response(hang_up=True)) as server:
        model = language_model("tester", base_url=server.url)
        usage = carry_out(plans(5, []), Asker(model, SETTINGS, Journal(), concurrency=2, budget=budget))
        assert len(server.sent) == usage.requests == 4
    assert usage.not_asked + usage.failed == 5
    assert 1 <= usage.failed <= 2  # those that were sent


def test_no_more_requests_than_allowed_reach_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karat.grounding.judges.sending._FIRST_WAIT", 0.001)
    with LLMServer(lambda _: {"label": 1}, first=[error(500), error(429), reply("what?")]) as server:
        model = language_model("tester", base_url=server.url)
        asker = Asker(model, SETTINGS, Journal(), concurrency=16, budget=CallBudget(max_calls=10))
        usage = carry_out(plans(50, []), asker)
        assert len(server.sent) == usage.requests == 10
        assert (usage.done, usage.not_asked + usage.failed) == (7, 43)


@on_posix
def test_ctrl_c_ends_at_once_although_the_server_does_not_answer() -> None:
    main = threading.main_thread().ident
    assert main is not None

    def rule(sent: Sent) -> Any:
        if sent.number:
            signal.pthread_kill(main, signal.SIGINT)
            return reply({"label": 1}, delay=30)
        return {"label": 1}

    with LLMServer(rule) as server:
        journal = Journal()
        asker = Asker(language_model("tester", base_url=server.url), SETTINGS, journal, concurrency=1)
        with pytest.raises(KeyboardInterrupt):
            carry_out(plans(5, []), asker)
        assert journal.has_replies
        assert len(server.sent) == 2


def test_a_call_has_the_same_key_whatever_the_server_refuses() -> None:
    def rule(sent: Sent) -> Any:
        if sent.body["messages"][0]["role"] == "system":
            return error(400, "System role not supported")
        return {"label": 1}

    with LLMServer(rule) as server, Journal() as journal:
        model = language_model("tester", base_url=server.url)
        assert carry_out(plans(5, []), Asker(model, SETTINGS, journal)).done == 5
        usage = carry_out(plans(5, []), Asker(language_model("tester", base_url=server.url), SETTINGS, journal))
        assert (usage.known, usage.requests) == (5, 0)


def test_a_chat_generator_that_says_that_a_filter_stopped_it_has_refused() -> None:
    class Message:
        text, meta = "", {"finish_reason": "content_filter", "usage": {"prompt_tokens": 7, "completion_tokens": 0}}

    class Filtered:
        def run(self, messages: list[Any]) -> dict[str, Any]:  # noqa: ARG002
            return {"replies": [Message()]}

    assert ask(language_model(Filtered())) == ModelReply("", 7, 0, is_refusal=True)
