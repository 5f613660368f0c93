"""Whatever a server does, no more is spent than the limits allow, and no more is read than memory allows."""

from __future__ import annotations

import gzip
import json
import time
import tracemalloc
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from karat.errors import KaratError
from karat.grounding.judges.asking import carry_out
from karat.grounding.judges.budget import CallBudget, Prices, Usage, most_tokens
from karat.grounding.judges.journal import Journal
from karat.grounding.judges.model import language_model
from karat.grounding.judges.requests import CallError, LanguageModel, ModelReply, ModelSettings, with_schema
from karat.grounding.judges.sending import Asker
from tests.llm_server import LLMServer, Response, Sent, error, reply
from tests.unit.judges.scripted import SETTINGS, plans, request

PRICES = Prices(1.0, 2.0)
GOOD = {"label": 1}
USAGE = {"prompt_tokens": 100, "completion_tokens": 50}


def worst(calls: int) -> tuple[int, float]:
    """The most tokens that so many requests of `plans` can use, and what they cost."""
    asked = request("question 0")
    tokens_in = most_tokens([each["content"] for each in with_schema(asked.messages, asked.schema)])
    return calls * (tokens_in + SETTINGS.max_tokens), calls * PRICES.cost(tokens_in, SETTINGS.max_tokens)


def with_usage(body: dict[str, Any], status: int = 200) -> Response:
    return Response(json.dumps({**body, "usage": USAGE}).encode(), status=status)


NO_USAGE = {
    "no usage": reply(GOOD, tokens=None),
    "usage of zeros": reply(GOOD, tokens=(0, 0)),
    "cut": reply(GOOD, tokens=None, cut=30),
    "half of the JSON": Response(reply(GOOD, tokens=None).body[:40]),
    "no message": Response(b'{"choices": []}'),
    "error object": Response(b'{"error": {"message": "overloaded"}}'),
    "rate limit as an object": Response(b'{"error": {"message": "wait", "code": 429}}'),
    "not JSON": Response(b"<html>"),
    "status 500": error(500, "oops"),
    "status 502": error(502),
    "status 503": error(503, "busy"),
    "status 500 and a time": error(500, headers={"Retry-After": "0.001"}),
    "status 408": error(408),
    "closed": Response(hang_up=True),
    "no room": error(400, "Could not finish the message because max_tokens was reached."),
    "nonsense": reply("?", tokens=None),
}
SAYS_USAGE = {
    "error object": with_usage({"error": {"message": "overloaded"}}),
    "no message": with_usage({"choices": []}),
    "status 500": with_usage({"error": {"message": "oops"}}, 500),
    "usage in the error": Response(json.dumps({"error": {"message": "oops", "usage": USAGE}}).encode(), status=500),
    "usage in a refused request": with_usage({"error": {"message": "too strange"}}, 400),
    "cut": Response(json.dumps({"usage": USAGE, "choices": []}).encode(), cut=85),
    "half of the JSON": Response(json.dumps({"usage": USAGE, "choices": []}).encode()[:-3]),
}


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karat.grounding.judges.sending._FIRST_WAIT", 0.0001)
    monkeypatch.setattr("karat.grounding.judges.sending._MOST_UNANSWERED_FIRST", 10**6)
    monkeypatch.setattr("karat.grounding.judges.sending._MOST_FAILED_FIRST", 10**6)


@pytest.fixture(scope="module")
def server() -> Iterator[LLMServer]:
    with LLMServer() as running:
        yield running


@pytest.fixture(scope="module")
def model(server: LLMServer) -> LanguageModel:
    return language_model("tester", base_url=server.url, api_key_env=None, timeout=5)


def judge(
    server: LLMServer, model: LanguageModel, response: Any, n: int = 12, concurrency: int = 4, **limits: Any
) -> tuple[Usage, Asker]:
    """Ask a server that always gives this response."""
    server.rule = response if callable(response) else lambda _: response
    server.sent.clear()
    budget = CallBudget(**limits, prices=PRICES)
    asker = Asker(model, SETTINGS, Journal(), concurrency=concurrency, budget=budget, timeout=5)
    return carry_out(plans(n, []), asker), asker


@pytest.mark.parametrize("limit", ["max_tokens", "max_cost"])
@pytest.mark.parametrize("kind", NO_USAGE)
def test_a_response_that_does_not_say_what_it_cost_counts_as_the_most_that_it_can_have_cost(
    server: LLMServer, model: LanguageModel, kind: str, limit: str
) -> None:
    tokens, cost = worst(3)
    limits: Any = {limit: tokens if limit == "max_tokens" else cost}
    usage, asker = judge(server, model, NO_USAGE[kind], **limits)
    assert len(server.sent) == usage.requests
    spent = [int(sent.body["max_tokens"]) for sent in server.sent]
    assert sum(spent) <= 3 * SETTINGS.max_tokens
    # One that is asked again with what was wrong is longer; on a busy machine, that is asked for before any other.
    assert 1 <= len(spent) <= 3
    assert usage.not_asked
    assert any("got no answer that says how many tokens were used: the limits count" in note for note in asker.notes)


@pytest.mark.parametrize("kind", SAYS_USAGE)
def test_a_response_that_says_what_it_cost_counts_as_that_whatever_else_it_says(
    server: LLMServer, model: LanguageModel, kind: str
) -> None:
    tokens, _ = worst(1)
    usage, asker = judge(server, model, SAYS_USAGE[kind], max_tokens=tokens + 20 * 150)
    assert len(server.sent) >= 12
    assert (usage.tokens_in, usage.tokens_out) == (100 * usage.requests, 50 * usage.requests)
    assert 150 * usage.requests <= tokens + 20 * 150
    assert not any("the limits count" in note for note in asker.notes)


@pytest.mark.parametrize("response", [error(429, "wait"), error(529), error(503, headers={"Retry-After": "0.001"})])
def test_a_request_that_is_refused_until_later_costs_nothing(
    server: LLMServer, model: LanguageModel, response: Response
) -> None:
    tokens, _ = worst(1)
    usage, asker = judge(server, model, response, n=3, max_tokens=tokens)
    assert (usage.requests, usage.failed) == (3 * 7, 3)
    assert not any("the limits count" in note for note in asker.notes)


def test_a_call_that_was_not_repeated_because_of_a_limit_has_failed_with_its_error(
    server: LLMServer, model: LanguageModel
) -> None:
    usage, asker = judge(server, model, error(500, "oops"), n=1, max_calls=2)
    assert (usage.requests, usage.failed, usage.not_asked) == (2, 1, 0)
    assert "1 call failed: status 500: oops. In the next run, it is made again" in asker.notes


@pytest.mark.parametrize("limit", ["max_tokens_total", "max_cost"])
def test_a_server_that_accepts_no_limit_of_tokens_is_not_asked_if_there_is_a_limit_of_tokens_or_cost(
    server: LLMServer, limit: str, tmp_path: Any
) -> None:
    from karat import judge as judged

    def rule(sent: Sent) -> Any:
        for name in ("max_tokens", "max_completion_tokens"):
            if name in sent.body:
                return error(400, f"Unsupported parameter: '{name}'", param=name)
        return {"label": 3, "why": "It is."}

    server.rule = rule
    server.sent.clear()
    results = [{"query": f"q{at}", "retrieved": [f"Gold {at}."], "answer": "No."} for at in range(9)]
    options: Any = {"base_url": server.url, "api_key_env": None, "price_in": 1.0, "price_out": 1.0}
    limited: Any = {limit: 100_000}
    path = tmp_path / "v.jsonl"
    with pytest.raises(KaratError, match=r"accepts no limit of tokens, neither max_tokens nor .*: max_calls\.$"):
        judged(results, task="context", model="tester", verdicts=path, **options, **limited)
    assert all("max_tokens" in sent.body or "max_completion_tokens" in sent.body for sent in server.sent)
    judging = judged(results, task="context", model="tester", verdicts=path, **options, max_calls=100)
    assert judging.usage.done == 9


def test_after_a_reply_that_is_longer_than_allowed_as_much_is_reserved_for_the_next_ones(
    server: LLMServer, model: LanguageModel
) -> None:
    tokens, _ = worst(1)
    long = reply(GOOD, tokens=(100, 9900))
    usage, asker = judge(server, model, long, concurrency=1, max_tokens=45_000)
    assert (usage.requests, len(asker.notes)) == (4, 1)
    usage, asker = judge(server, model, long, concurrency=1, max_tokens=tokens)
    assert usage.requests == 1
    assert "the limit of tokens was exceeded (10,000), by replies longer than max_tokens allows" in asker.notes


ZEROS = zlib.compressobj(9, zlib.DEFLATED, 31)
BOMB = ZEROS.compress(bytes(2**20)) + ZEROS.flush(zlib.Z_FULL_FLUSH)
MORE = (ZEROS.compress(bytes(2**20)) + ZEROS.flush(zlib.Z_FULL_FLUSH)) * 8


@pytest.mark.parametrize("status", [200, 400, 404, 429, 500])
@pytest.mark.parametrize("kind", ["endless", "compressed", "slow"])
def test_a_body_without_an_end_is_read_in_part(server: LLMServer, status: int, kind: str) -> None:
    limited = language_model("tester", base_url=server.url, api_key_env=None, timeout=0.2 if kind == "slow" else 20)
    responses = {
        "endless": Response(b"Oops. ", status, more=b"x" * 65_536),
        "compressed": Response(BOMB, status, {"Content-Encoding": "gzip"}, more=MORE),
        "slow": Response(b"Oops. ", status, more=b"x", pause=0.02),
    }
    server.first[:], server.endless_bytes = [responses[kind]], 0
    tracemalloc.start()
    started = time.monotonic()
    with pytest.raises(CallError) as caught:
        limited.ask(request().messages, {}, settings=ModelSettings("tester"), sample=0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 60_000_000
    assert server.endless_bytes < 60_000_000
    assert time.monotonic() - started < 15
    if status == 200:
        assert caught.value.may_cost
        assert ("no reply within" if kind == "slow" else "the reply has more than 10,000,000 bytes") in str(
            caught.value
        )
    else:
        assert f"status {status}" in str(caught.value)
        assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_reply_that_is_compressed_although_nobody_asked_for_it_is_read(server: LLMServer, encoding: str) -> None:
    body = reply("yes").body
    content = gzip.compress(body) if encoding == "gzip" else zlib.compress(body)
    server.first[:] = [Response(content, headers={"Content-Encoding": encoding})]
    server.sent.clear()
    asked = language_model("tester", base_url=server.url, api_key_env=None)
    assert asked.ask(request().messages, {}, settings=ModelSettings("tester"), sample=0) == ModelReply("yes", 100, 10)
    assert server.sent[0].headers["accept-encoding"] == "identity"


def test_a_damaged_compression_is_no_reply(server: LLMServer, model: LanguageModel) -> None:
    server.first[:] = [Response(b"not gzip at all", headers={"Content-Encoding": "gzip"})]
    with pytest.raises(CallError, match=r"^the reply is damaged: ") as caught:
        model.ask(request().messages, {}, settings=ModelSettings("tester"), sample=0)
    assert (caught.value.again, caught.value.may_cost) == (True, True)
