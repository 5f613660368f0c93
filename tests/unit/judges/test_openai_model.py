"""The real openai package with a real server: what is sent, what is read, and what every kind of failure means."""

from __future__ import annotations

import functools
import json
import logging
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from karat.errors import KaratError
from karat.errors.installing import pip_install
from karat.grounding.judges.model import language_model
from karat.grounding.judges.openai_model import OpenAIModel, _Protocol
from karat.grounding.judges.requests import (
    AskAgainError,
    CallError,
    LanguageModel,
    LateReplyError,
    Message,
    ModelReply,
    ModelSettings,
    RequestTooLongError,
    ServerBusyError,
    UnreachableError,
)
from tests.llm_server import LLMServer, Response, Sent, completion, error, reply

KEY = "sk-proj-Zm9vYmFyYmF6cXV4"
MESSAGES: list[Message] = [{"role": "system", "content": "Judge."}, {"role": "user", "content": '{"question": "Who?"}'}]
FULL = {"remaining": "0", "limit": "60", "reset": "1m0s"}
SCHEMA = {"type": "object", "properties": {"label": {"type": "integer"}}}


@pytest.fixture(scope="module", autouse=True)
def key() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUDGE_ACCESS", KEY)
        for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(scope="module")
def server() -> Iterator[LLMServer]:
    with LLMServer() as running:
        yield running


@pytest.fixture(scope="module")
def models(server: LLMServer) -> Callable[[float], OpenAIModel]:
    """Models by their time limit: to make one takes a while."""

    @functools.cache
    def model(timeout: float) -> OpenAIModel:
        made = language_model("tester", base_url=server.url, api_key_env="JUDGE_ACCESS", timeout=timeout)
        assert isinstance(made, OpenAIModel)
        return made

    return model


Serve = Callable[..., LanguageModel]


@pytest.fixture
def serve(server: LLMServer, models: Callable[[float], OpenAIModel]) -> Serve:
    """A model on a server that sends these responses first, and then good replies."""

    def serving(*first: Any, timeout: float = 5.0) -> LanguageModel:
        server.sent.clear()
        server.first[:] = first
        model = models(timeout)
        model.notes.clear()
        model._protocol = _Protocol()
        return model

    return serving


def ask(model: LanguageModel, *, sample: int = 0, max_tokens: int = 2048) -> ModelReply:
    return model.ask(MESSAGES, SCHEMA, settings=ModelSettings("tester", max_tokens=max_tokens), sample=sample)


def ask_until_accepted(model: LanguageModel) -> ModelReply:
    while True:
        try:
            return ask(model)
        except AskAgainError:
            pass


def failure(model: LanguageModel) -> CallError:
    with pytest.raises(CallError) as caught:
        ask(model)
    return caught.value


def test_a_request_has_the_schema_and_the_settings(serve: Serve, server: LLMServer) -> None:
    model = serve(reply({"label": 1}))
    assert ask(model, sample=3) == ModelReply('{"label": 1}', 100, 10)
    (sent,) = server.sent
    assert (sent.path, sent.headers["authorization"]) == ("/v1/chat/completions", f"Bearer {KEY}")
    assert sent.body == {
        "model": "tester",
        "messages": MESSAGES,
        "response_format": {"type": "json_schema", "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True}},
        "temperature": 0.0,
        "seed": 45,
        "max_tokens": 2048,
    }


def test_a_server_without_schemas_is_asked_for_json_and_then_in_words(serve: Serve, server: LLMServer) -> None:
    model = serve(
        error(400, "'response_format' of type json_schema is not supported"),
        error(422, "json_object is not supported", param="response_format"),
    )
    ask_until_accepted(model)
    ask(model)
    schema, json_object, words, after = (sent.body for sent in server.sent)
    assert schema["response_format"]["type"] == "json_schema"
    assert json_object["response_format"] == {"type": "json_object"}
    assert "response_format" not in words
    assert words == after
    assert words["messages"][0]["content"].startswith("Judge.\n\nReply with one JSON object")
    assert words["messages"][0]["content"].endswith(json.dumps(SCHEMA))
    assert words["messages"][1:] == MESSAGES[1:]
    assert model.notes == [
        "the server refuses JSON schemas: it was asked for JSON instead",
        "the server refuses response_format: it was asked for JSON in words only",
    ]


def test_refused_parameters_are_left_out_from_then_on(serve: Serve, server: LLMServer) -> None:
    model = serve(
        error(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", param="max_tokens"),
        error(400, "Unsupported value: 'temperature' does not support 0.0 with this model.", param="temperature"),
        Response(json.dumps({"detail": [{"loc": ["body", "seed"], "msg": "extra fields"}]}).encode(), status=422),
        error(400, "max_completion_tokens is not permitted"),
    )
    ask_until_accepted(model)
    ask(model)
    assert [len(sent.body) for sent in server.sent] == [6, 6, 5, 4, 3, 3]
    assert server.sent[1].body["max_completion_tokens"] == 2048
    assert set(server.sent[-1].body) == {"model", "messages", "response_format"}
    assert model.notes == [
        "the server refuses max_tokens: it was sent max_completion_tokens instead",
        "the server refuses temperature: it was left out",
        "the server refuses seed: it was left out",
        "the server refuses a limit of tokens: replies can have any length",
    ]


TOO_LONG = [
    (400, "This model's maximum context length is 8192 tokens. However, your messages resulted in 9321 tokens."),
    (400, "'max_tokens' is too large: 2048. This model's maximum context length is 4096 tokens."),
    (400, "Your input exceeds the context window of this model. Please adjust your response_format."),
    (400, "prompt is too long: 210000 tokens > 200000 maximum"),
    (400, "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000"),
    (400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096."),
    (400, "the request exceeds the available context size, try increasing it"),
    (500, "input is too large to process. increase the physical batch size"),
    (422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096."),
    (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
    (400, "Prompt contains 40000 tokens, too large for model with 32768 maximum context length"),
    (400, "Please reduce the length of the messages or completion."),
    (400, "Input is too long for requested model."),
    (413, "Request Entity Too Large"),
    (429, "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000."),
]


@pytest.mark.parametrize(("status", "message"), TOO_LONG, ids=[message[:30] for _, message in TOO_LONG])
def test_a_request_that_is_too_long_is_told_from_other_errors_and_nothing_is_left_out(
    serve: Serve, status: int, message: str
) -> None:
    model = serve(error(status, message))
    problem = failure(model)
    assert isinstance(problem, RequestTooLongError)
    assert (problem.again, problem.fatal) == (False, False)
    assert str(problem) == f"the request is too long for the model (status {status}: {message})"
    assert not model.notes


@pytest.mark.parametrize(
    "message",
    [
        "max_tokens is too large: 8192. This model supports at most 4096 completion tokens.",
        "Rate limit reached on tokens per min (TPM): Limit 30000, Used 29000, Requested 3000.",
        "The seed of wrath: your messages are strange.",
    ],
)
def test_other_mistakes_leave_everything_as_it_is(serve: Serve, message: str) -> None:
    param = "messages" if "strange" in message else None
    model = serve(error(400, message, param=param))
    problem = failure(model)
    assert (problem.again, problem.fatal, str(problem)) == (False, False, f"status 400: {message}")
    assert not model.notes


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (reply("yes", tokens=None), ModelReply("yes")),
        (reply("yes", finish="length"), ModelReply("yes", 100, 10, is_cut=True)),
        (
            completion({"role": "assistant", "content": None, "refusal": "I cannot."}),
            ModelReply("I cannot.", 100, 10, is_refusal=True),
        ),
        (reply("", finish="content_filter"), ModelReply("", 100, 10, is_refusal=True)),
        (completion({"role": "assistant", "content": None}), ModelReply("", 100, 10)),
        (completion({"content": [{"type": "text", "text": "a"}, {"type": "x"}, "b"]}), ModelReply("ab", 100, 10)),
        (error(400, "Could not finish the message because max_tokens was reached."), ModelReply("", is_cut=True)),
        (reply("ä\u2028🙂", tokens=(True, -1)), ModelReply("ä\u2028🙂")),
    ],
    ids=["no usage", "cut off", "refusal", "filter", "null", "parts", "no room for a reply", "strange usage"],
)
def test_replies_of_all_forms_are_read(serve: Serve, response: Response, expected: ModelReply) -> None:
    assert ask(serve(response)) == expected


@pytest.mark.parametrize(
    ("response", "message"),
    [
        (
            Response(b"<html>Sign in</html>"),
            "the server replied with something other than JSON: '<html>Sign in</html>'",
        ),
        (Response(b"\xff\x00"), "the server replied with something other than JSON: '\ufffd\\x00'"),
        (Response(b""), "the server replied with something other than JSON: ''"),
        (Response(b"[" * 100_000), "the server replied with something other than JSON"),
        (Response(b"null"), "the server replied without a message: 'null'"),
        (Response(b'{"choices": []}'), "the server replied without a message"),
        (Response(b'{"choices": [{"message": null}]}'), "the server replied without a message"),
        (Response(b'{"error": {"message": "overloaded"}}'), "an error instead of a reply: overloaded"),
        (error(500, "Oops."), "status 500: Oops."),
        (error(502), "status 502"),
        (Response(b"<html>Gateway</html>", status=504), "status 504: <html>Gateway</html>"),
        (Response(hang_up=True), "the connection failed: Server disconnected without sending a response."),
        (reply("x" * 100, cut=30), "the connection failed: peer closed connection without sending complete message"),
    ],
    ids=lambda value: None if isinstance(value, Response) else value[:60].encode("ascii", "replace").decode(),
)
def test_what_is_no_reply_may_succeed_another_time(serve: Serve, response: Response, message: str) -> None:
    problem = failure(serve(response))
    assert str(problem).startswith(message)
    assert (problem.again, problem.fatal) == (True, False)


@pytest.mark.parametrize(
    ("response", "message"),
    [
        (error(401, f"Incorrect API key provided: {KEY}"), "the server refuses the API key (status 401: "),
        (error(403, "Not in your country."), "the server refuses access (status 403: Not in your country.)"),
        (error(402, "Pay first."), "the server wants to be paid first (status 402: Pay first.)"),
        (error(404, "no such model", code="model_not_found"), "the server does not know the model, or the address"),
        (error(400, "The model `x` does not exist"), "the server does not know the model, or the address is wrong"),
        (error(429, "You exceeded your quota", code="insufficient_quota"), "the quota is used up (status 429"),
        (error(429, "Your credit balance is too low"), "the quota is used up (status 429"),
    ],
    ids=["key", "country", "payment", "model", "model by message", "quota", "balance"],
)
def test_what_no_request_can_succeed_with_is_fatal(serve: Serve, response: Response, message: str) -> None:
    problem = failure(serve(response))
    assert str(problem).startswith(message)
    assert problem.fatal


@pytest.mark.parametrize(
    ("status", "headers", "wait"),
    [
        (429, {"Retry-After": "7"}, 7.0),
        (503, {"Retry-After": "0.5"}, 0.5),
        (529, {}, None),
        (429, {"Retry-After": "soon"}, None),
        (429, {"Retry-After": "-5"}, 0.0),
        (429, {"Retry-After": "nan"}, None),
        (429, {"Retry-After": "inf"}, None),
        (429, {"Retry-After": "1e308"}, 1e10),
        (429, {"retry-after-ms": "1e308"}, 1e7),
        (429, {"Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"}, 0.0),
        (429, {"Retry-After": "Fri, 31 Dec 99999 23:59:59 GMT"}, None),
        (429, {"retry-after-ms": "250", "Retry-After": "1"}, 0.25),
        (500, {"Retry-After": "2"}, 2.0),
    ],
)
def test_a_busy_server_is_waited_for_as_it_asks(
    serve: Serve, status: int, headers: dict[str, str], wait: float | None
) -> None:
    with pytest.raises(ServerBusyError) as caught:
        ask(serve(error(status, "Slow down.", headers=headers)))
    assert (str(caught.value), caught.value.wait) == (f"status {status}: Slow down.", wait)


@pytest.mark.parametrize(
    ("message", "wait"),
    [
        ("Rate limit reached: Limit 3 per min. Please try again in 20s. Visit /account/billing to raise it.", 20.0),
        ("You exceeded your current quota. Please retry in 23.5s.", 23.5),
        ("Please try again in 1m2s", 62.0),
        ("Please try again in 6ms.", 0.006),
        ("Please try again in a while.", None),
        (f"Please try again in {'9' * 400}d", 864e12),
    ],
)
def test_a_rate_limit_may_say_in_words_how_long_to_wait(serve: Serve, message: str, wait: float | None) -> None:
    with pytest.raises(ServerBusyError) as caught:
        ask(serve(error(429, message)))
    assert caught.value.wait == wait


def test_a_date_in_retry_after_is_by_the_clock_of_the_server(serve: Serve) -> None:
    with pytest.raises(ServerBusyError) as caught:
        ask(
            serve(
                error(
                    429,
                    headers={"Retry-After": format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)},
                )
            )
        )
    assert caught.value.wait == pytest.approx(90, abs=2)


def test_a_server_that_sends_a_byte_now_and_then_is_given_up_on(serve: Serve) -> None:
    problem = failure(serve(reply("yes", pause=0.02), timeout=0.1))
    assert (str(problem), problem.again, problem.may_cost) == ("no reply within 0.1 seconds", True, True)


def test_the_error_about_a_late_reply_says_one_second() -> None:
    assert str(LateReplyError(1.0)) == "no reply within 1 second"


def test_a_server_that_sends_nothing_is_given_up_on(serve: Serve) -> None:
    problem = failure(serve(reply("yes", delay=5), timeout=0.1))
    assert (str(problem), problem.again, problem.may_cost) == ("no reply within 0.1 seconds", True, True)


def test_a_server_that_is_not_there_is_named_as_such() -> None:
    problem = failure(language_model("tester", base_url="http://127.0.0.1:9/v1", timeout=5))
    assert isinstance(problem, UnreachableError)
    assert str(problem).startswith("no connection to the server: ")


@pytest.mark.parametrize(
    "echo",
    [
        error(400, f"You sent {KEY} to me."),
        error(401, f"You sent {KEY[:12]}*****{KEY[-4:]} to me."),
        Response(f"<pre>{KEY}</pre>".encode()),
        Response(json.dumps({"error": [KEY]}).encode(), status=500),
        Response(("x" * 495 + KEY).encode(), status=500),
        error(429, f"Authorization: Bearer {KEY}"),
    ],
    ids=range(6),
)
def test_the_key_is_in_no_message_even_if_the_server_repeats_it(serve: Serve, echo: Response) -> None:
    model = serve(echo)
    with pytest.raises((CallError, ServerBusyError)) as caught:
        ask(model)
    text = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + repr(model) + repr(vars(model))
    context = caught.value.__context__
    assert KEY[:12] not in f"{text} {context} {vars(context) if context else ''}"


def test_the_key_is_not_in_a_reply_that_repeats_it(serve: Serve) -> None:
    assert ask(serve(reply(f"The key is {KEY}."))).text == "The key is [key]."


@pytest.mark.parametrize("key", ["c2VjcmV0/c2VjcmV0", 'c2Vj"cmV0\\c2VjcmV0'])
def test_a_key_with_signs_that_json_escapes_is_not_in_a_reply(
    serve: Serve, server: LLMServer, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_ACCESS", key)
    model = language_model("tester", base_url=server.url, api_key_env="JUDGE_ACCESS")
    content = reply(f"It is {key}.").body
    for body in (content, content.replace(b"/", b"\\/")):
        serve(Response(body))
        assert ask(model).text == "It is [key]."
    serve(error(400, f"It is {key}."))
    assert str(failure(model)) == "status 400: It is [key]."
    model.close()


def test_the_key_is_in_no_log(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        ask(serve())
        failure(serve(error(401)))
    assert caplog.records
    assert not any(KEY in f"{record.getMessage()} {vars(record)}" for record in caplog.records)


def test_a_key_is_needed_only_for_a_server_that_is_not_given(
    serve: Serve, server: LLMServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(KaratError, match=r"^the environment variable NO_SUCH_KEY is not set"):
        language_model("tester", api_key_env="NO_SUCH_KEY")
    serve()
    ask(language_model("tester", base_url=server.url, api_key_env="NO_SUCH_KEY"))
    assert server.sent[0].headers["authorization"] == "Bearer not-needed"
    monkeypatch.setenv("NO_SUCH_KEY", f" {KEY}\n")
    ask(language_model("tester", base_url=server.url, api_key_env="NO_SUCH_KEY"))
    assert server.sent[1].headers["authorization"] == f"Bearer {KEY}"
    monkeypatch.setenv("NO_SUCH_KEY", f"{KEY}\n{KEY}")
    with pytest.raises(KaratError, match="NO_SUCH_KEY has characters that a key cannot have"):
        language_model("tester", api_key_env="NO_SUCH_KEY")


def test_a_wrong_key_names_the_variable(serve: Serve) -> None:
    assert failure(serve(error(401))).hint == "The key is read from the environment variable JUDGE_ACCESS."


@pytest.mark.parametrize("base_url", ["localhost:8000/v1", "", "ftp://server", "http://"])
def test_an_address_without_a_protocol_is_refused(base_url: str) -> None:
    with pytest.raises(KaratError, match=r"^base_url=.* is not an address\. It begins with http:// or https://\.$"):
        language_model("tester", base_url=base_url)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(KaratError, match=re.escape(f"needs the openai package. {pip_install('llm')}")):
        language_model("tester")


def test_texts_that_cannot_be_sent_are_no_connection_problem(serve: Serve) -> None:
    model = serve()
    with pytest.raises(CallError) as caught:
        model.ask([{"role": "user", "content": "\ud800"}], {}, settings=ModelSettings("tester"), sample=0)
    assert not caught.value.again


def test_without_a_schema_the_messages_stay_as_they_are(serve: Serve, server: LLMServer) -> None:
    model = serve()
    model.ask(MESSAGES[1:], {}, settings=ModelSettings("tester"), sample=0)
    assert server.sent[0].body["messages"] == MESSAGES[1:]
    assert "response_format" not in server.sent[0].body


def test_data_is_what_the_user_message_says() -> None:
    assert Sent(0, "", {}, {"messages": MESSAGES}).data == {"question": "Who?"}
