"""Plans are carried out: replies are written before they count, and failures are asked again, then marked."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from karat.errors import KaratError
from karat.grounding.judges.asking import carry_out, carry_out_async
from karat.grounding.judges.budget import CallBudget, Prices, Usage
from karat.grounding.judges.journal import Journal
from karat.grounding.judges.requests import (
    AskAgainError,
    CallError,
    ModelReply,
    Plan,
    Record,
    RequestOutcome,
    ServerBusyError,
    UnreachableError,
)
from karat.grounding.judges.sending import Asker, NoReplyError
from tests.unit.judges.scripted import SETTINGS, FakeClock, ScriptedModel, ask, plan, plans, request

GOOD = '{"label": 1}'


class RecordingJournal(Journal):
    """Remembers what was written."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[tuple[Record | None, Sequence[Record]]] = []

    def write(self, call: Record | None, records: Sequence[Record]) -> list[Record]:
        self.written.append((call, records))
        return super().write(call, records)


def asker_for(answers: Any, **options: Any) -> tuple[Asker, ScriptedModel, RecordingJournal]:
    """An asker whose model gives these answers in turn, the last one for ever, or those of a function."""
    model = ScriptedModel(answers if callable(answers) else lambda number, *_: answers[min(number, len(answers) - 1)])
    journal = RecordingJournal()
    return Asker(model, SETTINGS, journal, clock=FakeClock(), **options), model, journal


def test_a_reply_becomes_records_with_author_and_call_and_is_written_with_its_call() -> None:
    asker, _, journal = asker_for([GOOD])
    outcome = ask(asker, request())
    (record,) = outcome.records
    assert outcome.state == "done"
    verdict = {"record": "verdict", "query": "Who?", "task": "relevance", "item": "p1"}
    assert record == {**verdict, "label": 1, "by": "tester", "call": outcome.key}
    call = {
        "record": "call", "key": outcome.key, "model": "tester", "prompt": "test/1",
        "settings": {"temperature": 0.0, "seed": 42, "max_tokens": 2048},
        "reply": GOOD, "tokens_in": 100, "tokens_out": 10, "state": "done", "verdicts": 1,
    }  # fmt: skip
    assert journal.written == [(call, outcome.records)]


def test_samples_are_other_calls_and_their_labels_name_the_sample() -> None:
    asker, model, _ = asker_for([GOOD])
    first, second = ask(asker, request()), ask(asker, request(sample=2))
    assert first.key != second.key
    assert [record.get("sample") for record in first.records + second.records] == [None, 2]
    assert [sample for _, _, sample in model.asked] == [0, 2]


def test_a_known_reply_is_read_again_and_not_asked_for() -> None:
    asker, model, _ = asker_for([GOOD])
    first, second = ask(asker, request()), ask(asker, request())
    assert (len(model.asked), second.records) == (1, first.records)


def test_the_same_request_in_several_plans_is_sent_once() -> None:
    outcomes: list[RequestOutcome] = []
    asker, model, _ = asker_for([GOOD])
    usage = carry_out([plan([request(), request()], outcomes), plan([request()], outcomes)], asker)
    assert [outcome.state for outcome in outcomes] == ["done"] * 3
    assert (len(model.asked), usage.calls, usage.done, usage.known) == (1, 1, 1, 0)


def test_what_fails_is_not_asked_again_for_the_same_request_of_another_plan() -> None:
    outcomes: list[RequestOutcome] = []
    asker, model, _ = asker_for(["?"])
    asker.journal = Journal(retry_failed=True)
    carry_out([plan([request()], outcomes) for _ in range(3)], asker)
    assert [outcome.state for outcome in outcomes] == ["failed"] * 3
    assert len(model.asked) == 2


def test_an_unreadable_reply_is_asked_for_again_once_with_the_error() -> None:
    asker, model, _ = asker_for(["nonsense", GOOD])
    outcome = ask(asker, request())
    assert (outcome.state, outcome.tokens_in, outcome.tokens_out) == ("done", 200, 20)
    *same, reply, error = model.asked[1][0]
    assert tuple(same) == request().messages
    assert reply == {"role": "assistant", "content": "nonsense"}
    assert json.loads(error["content"])["error"] == "The reply is not JSON."


def test_a_reply_with_a_lone_surrogate_is_kept_without_it() -> None:
    asker, model, _ = asker_for(["no \ud800", '{"label": 1, "why": "\ud800"}'])
    assert ask(asker, request()).reply == '{"label": 1, "why": "?"}'
    assert model.asked[1][0][2]["content"] == "no ?"


def test_what_is_never_understood_is_failed_and_the_raw_reply_is_kept() -> None:
    asker, model, journal = asker_for(["nonsense", '{"label": 5}', GOOD])
    outcome = ask(asker, request())
    assert (outcome.state, outcome.reply, outcome.error) == ("failed", '{"label": 5}', "The label is not 0 or 1.")
    assert [record["state"] for record in outcome.records] == ["failed"]
    assert journal.written[0][0] is not None
    assert journal.written[0][0]["error"] == "The label is not 0 or 1."
    assert len(model.asked) == 2


def test_a_reply_that_is_cut_off_is_asked_for_once_more_with_four_times_the_tokens() -> None:
    cut = ModelReply('{"label"', 100, 2048, is_cut=True)
    asker, model, _ = asker_for([cut, GOOD])
    assert ask(asker, request()).state == "done"
    assert [settings.max_tokens for _, settings, _ in model.asked] == [2048, 8192]
    assert model.asked[1][0] == request().messages
    asker, model, _ = asker_for([cut])
    assert ask(asker, request()).error == "The reply was cut off at the limit of tokens."
    assert len(model.asked) == 2


def test_requests_without_a_reply_are_repeated_six_times_and_then_failed() -> None:
    outcomes: list[RequestOutcome] = []
    asker, model, _ = asker_for([GOOD, CallError("status 500", again=True)], concurrency=1)
    carry_out(plans(2, outcomes), asker)
    assert (outcomes[1].state, outcomes[1].error, len(model.asked)) == ("failed", "status 500", 1 + 7)
    assert outcomes[1].reply is None
    asker, model, _ = asker_for([ServerBusyError("status 429", 3)] * 6 + [GOOD])
    before = asker.clock.now()
    assert ask(asker, request()).state == "done"
    assert asker.clock.now() - before >= 18


def test_all_wait_as_long_as_the_server_asks_one_of_them_to() -> None:
    times: list[float] = []

    def rule(number: int, *_: Any) -> Any:
        times.append(asker.clock.now())
        return ServerBusyError("status 429", 7.0) if not number else GOOD

    asker, _, _ = asker_for(rule, concurrency=1)
    carry_out(plans(3, []), asker)
    assert [round(time - times[0]) for time in times] == [0, 7, 7, 7]


def test_waits_double_up_to_half_a_minute_and_are_spread() -> None:
    waits: list[float] = []

    class ListingClock(FakeClock):
        def wait(self, seconds: float, end: threading.Event) -> None:
            waits.append(seconds)
            super().wait(seconds, end)

    for _ in range(2):
        model = ScriptedModel(lambda number, *_: CallError("status 500", again=True) if number else GOOD)
        carry_out(plans(2, []), Asker(model, SETTINGS, Journal(), concurrency=1, clock=ListingClock()))
    assert waits[:6] == waits[6:]  # in the same way each time
    for wait, about in zip(waits, [1, 2, 4, 8, 16, 30], strict=False):
        assert wait == pytest.approx(about, rel=0.25)
        assert wait != about


def test_requests_that_cannot_succeed_are_failed_at_once() -> None:
    asker, model, _ = asker_for([CallError("the text is too long", again=False)])
    assert (ask(asker, request()).error, len(model.asked)) == ("the text is too long", 1)
    asker, model, _ = asker_for([RuntimeError("oops")])
    assert (ask(asker, request()).error, len(model.asked)) == ("oops", 1)


def test_a_request_is_sent_again_at_once_without_a_refused_parameter() -> None:
    asker, _, _ = asker_for([AskAgainError(), AskAgainError(), GOOD])
    before = asker.clock.now()
    assert ask(asker, request()).state == "done"
    assert asker.clock.now() == before


def test_a_fatal_error_stops_everything_and_what_was_written_stays() -> None:
    def rule(number: int, *_: Any) -> Any:
        return GOOD if number < 3 else CallError("the key is wrong", again=False, fatal=True, hint="Set KEY.")

    asker, model, journal = asker_for(rule, concurrency=1)
    with pytest.raises(KaratError, match=r"^the key is wrong\. Set KEY\.$"):
        carry_out(plans(100, []), asker)
    assert (len(model.asked), len(journal.written)) == (4, 3)


@pytest.mark.parametrize(
    ("judged", "kept"), [(0, ""), (1, ". What was judged so far is kept: run the same again to go on from there.")]
)
def test_an_error_that_stops_everything_says_that_the_file_keeps_what_was_judged_if_anything_was(
    tmp_path: Path, judged: int, kept: str
) -> None:
    wrong = CallError("the key is wrong", again=False, fatal=True)
    model = ScriptedModel(lambda number, *_: GOOD if number < judged else wrong)
    with Journal(tmp_path / "verdicts.jsonl") as file, pytest.raises(KaratError) as raised:
        carry_out(plans(3, []), Asker(model, SETTINGS, file, concurrency=1))
    assert str(raised.value) == f"the key is wrong{kept}"


def test_a_server_that_is_gone_stops_everything_after_some_requests() -> None:
    asker, _, journal = asker_for([GOOD, CallError("the connection failed", again=True)])
    with pytest.raises(NoReplyError, match="the last 20 calls got no reply: the connection failed"):
        carry_out(plans(1000, []), asker)
    assert 20 <= len(journal.written) <= 21


def test_a_server_that_never_gave_a_reply_is_not_asked_on() -> None:
    asker, model, journal = asker_for([CallError("status 500: oops", again=True)], concurrency=4)
    before = asker.clock.now()
    with pytest.raises(NoReplyError, match=r"^the server has not given a single reply: status 500: oops$") as raised:
        carry_out(plans(1000, []), asker)
    assert raised.value.exit_status == 1
    assert len(model.asked) <= 4 * 3 + 4
    assert asker.clock.now() - before < 4 * 4
    assert len(journal.written) <= 4


def test_a_call_that_always_fails_does_not_stop_those_after_it() -> None:
    asker, model, _ = asker_for([CallError("status 500", again=True)] * 3 + [GOOD], concurrency=1)
    usage = carry_out(plans(5, []), asker)
    assert (usage.failed, usage.done, len(model.asked)) == (1, 4, 3 + 4)


def test_a_slow_first_reply_is_waited_for_while_others_get_errors() -> None:
    """As of a server that has two slots, and no queue."""
    slow = threading.Event()

    def rule(number: int, *_: Any) -> Any:
        if number >= 12:
            slow.set()
        if number < 2:
            slow.wait(30)
        return GOOD if number < 2 or number > 12 else CallError("status 500", again=True)

    asker, _, _ = asker_for(rule, concurrency=4)
    usage = carry_out(plans(10, []), asker)
    assert usage.done + usage.failed == 10
    assert usage.done >= 2


def test_a_rate_limit_is_no_reason_to_give_up_on_a_server_that_gave_no_reply_yet() -> None:
    asker, model, _ = asker_for([ServerBusyError("status 429", 3)] * 6 + [GOOD], concurrency=1)
    assert carry_out(plans(2, []), asker).done == 2
    asker, model, _ = asker_for([ServerBusyError("status 503", may_cost=True)], concurrency=1)
    with pytest.raises(NoReplyError, match="has not given a single reply: status 503"):
        carry_out(plans(2, []), asker)
    assert len(model.asked) == 2 * 3


def test_a_server_that_is_away_is_not_given_up_on_soon_if_the_file_has_replies(tmp_path: Path) -> None:
    """The last open questions may be those that it cannot process."""
    outcomes: list[RequestOutcome] = []
    model = ScriptedModel(lambda number, *_: CallError("status 500", again=True) if number else GOOD)
    with Journal(tmp_path / "verdicts.jsonl") as file:
        carry_out(plans(1, []), Asker(model, SETTINGS, file, clock=FakeClock()))
        usage = carry_out(plans(6, outcomes), Asker(model, SETTINGS, file, concurrency=1, clock=FakeClock()))
    assert (usage.known, usage.done, usage.failed, len(model.asked)) == (1, 1, 5, 1 + 5 * 3)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(CallError("status 400: no", again=False), "status 400: no"), ("?", r"The reply is not JSON\.")],
)
def test_if_none_of_the_first_calls_succeeds_the_others_are_not_made(answer: Any, reason: str) -> None:
    asker, _, journal = asker_for([answer])
    with pytest.raises(NoReplyError, match=f"^none of the first 20 calls succeeded: {reason}"):
        carry_out(plans(1000, []), asker)
    assert 19 <= len(journal.written) <= 20


def test_a_refusal_is_called_one_and_is_not_asked_for_again() -> None:
    asker, model, _ = asker_for([ModelReply("I cannot help with that.", 100, 10, is_refusal=True)])
    outcome = ask(asker, request())
    assert (outcome.state, outcome.error, outcome.reply) == (
        "failed",
        "The model refused to reply.",
        "I cannot help with that.",
    )
    assert len(model.asked) == 1
    again = ask(asker, request())
    assert (again.error, len(model.asked)) == ("The model refused to reply.", 1)
    asker, _, _ = asker_for([ModelReply(GOOD, 100, 10, is_refusal=True)])
    assert ask(asker, request()).state == "done"


def test_a_server_that_was_never_reached_stops_everything_soon() -> None:
    asker, _, journal = asker_for([UnreachableError("connection refused")], concurrency=1)
    before = asker.clock.now()
    with pytest.raises(KaratError, match=r"^no connection to the server: connection refused\. Check that"):
        carry_out(plans(1000, []), asker)
    assert asker.clock.now() - before < 5
    assert not journal.written


def test_a_server_that_was_reached_may_be_away_for_a_while() -> None:
    asker, _, _ = asker_for([GOOD] + [UnreachableError("connection refused")] * 6 + [GOOD], concurrency=1)
    assert carry_out(plans(2, []), asker).done == 2


def test_a_server_that_asks_to_wait_for_an_hour_is_not_waited_for() -> None:
    asker, _, _ = asker_for([ServerBusyError("come back later", 3600)])
    with pytest.raises(NoReplyError, match="asks to wait for 60 minutes: come back later"):
        ask(asker, request())


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(601, "10 minutes"), (86_400, "24 hours"), (10 * 86_400, "10 days"), (1e308, "more than a year")],
)
def test_a_long_wait_is_worded_shortly_and_nobody_waits_for_it(seconds: float, words: str) -> None:
    asker, _, _ = asker_for([ServerBusyError("status 429", seconds)])
    before = asker.clock.now()
    with pytest.raises(NoReplyError, match=f"^the server asks to wait for {words}: status 429$"):
        carry_out(plans(20, []), asker)
    assert asker.clock.now() == before


def test_some_failures_do_not_disturb_the_others() -> None:
    def rule(number: int, messages: Any, *_: Any) -> Any:
        wrong = messages[1]["content"].endswith(('3"', '7"'))
        return CallError("status 500", again=True) if wrong else json.dumps({"label": 1})

    outcomes: list[RequestOutcome] = []
    asker, _, journal = asker_for(rule)
    usage = carry_out(plans(50, outcomes), asker)
    assert (usage.done, usage.failed, usage.calls, usage.requests) == (40, 10, 50, 40 + 70)
    assert {outcome.request.messages[1]["content"][-2] for outcome in outcomes if outcome.state == "failed"} == {
        "3",
        "7",
    }
    assert len(journal.written) == 50


def test_plans_go_on_with_the_outcomes_of_their_requests_in_order() -> None:
    received: list[list[str]] = []

    def steps() -> Plan:
        first = yield [request("a"), request("b"), request("c")]
        received.append([outcome.request.messages[1]["content"] for outcome in first])
        nothing = yield []
        received.append([outcome.state for outcome in nothing])
        (last,) = yield [request("d")]
        received.append([last.state])

    asker, _, _ = asker_for([GOOD])
    carry_out([steps()], asker)
    assert received == [['"a"', '"b"', '"c"'], [], ["done"]]


@pytest.mark.parametrize("concurrency", [1, 3])
def test_no_more_than_so_many_requests_are_under_way_whatever_happens(concurrency: int) -> None:
    together = threading.Barrier(concurrency)

    def rule(number: int, *_: Any) -> Any:
        if number < concurrency:
            together.wait(10)
        return [GOOD, GOOD, ServerBusyError("wait", number % 3), CallError("status 500", again=True), "?"][number % 5]

    asker, model, _ = asker_for(rule, concurrency=concurrency)
    usage = carry_out(plans(100, []), asker)
    assert usage.done + usage.failed == 100
    assert model.most_at_once == concurrency


def test_a_request_that_was_given_up_on_counts_until_it_ends() -> None:
    """A function that hangs cannot be stopped, and is not called again meanwhile if only one call is allowed."""
    released = threading.Event()
    model = ScriptedModel(lambda *_: released.wait(30) and GOOD)
    asker = Asker(model, SETTINGS, Journal(), concurrency=1, timeout=-0.9, clock=FakeClock())
    with pytest.raises(KaratError, match=r"^no request has ended for 0 seconds, and no more may be sent at a time"):
        ask(asker, request())
    assert len(model.asked) == 1
    released.set()


def test_only_some_plans_are_open_at_a_time() -> None:
    opened = ended = most = 0

    def one(number: int) -> Plan:
        nonlocal opened, ended, most
        opened += 1
        most = max(most, opened - ended)
        yield [request(str(number))]
        yield [request(f"{number} again")]
        ended += 1

    asker, _, _ = asker_for([GOOD])
    carry_out(map(one, range(200)), asker)
    assert (opened, ended) == (200, 200)
    assert most <= 16  # twice as many as requests


def test_progress_says_what_was_done_so_far() -> None:
    seen: list[tuple[int, Usage]] = []
    asker, _, _ = asker_for([GOOD], budget=CallBudget(prices=Prices(1.0, 10.0)))
    usage = carry_out(plans(3, []), asker, lambda ended, usage: seen.append((ended, usage)))
    assert seen[-1] == (3, usage)
    assert usage.cost == pytest.approx(0.0006)
    assert usage == Usage(calls=3, done=3, tokens_in=300, tokens_out=30, cost=usage.cost, requests=3)


def test_nothing_is_asked_when_the_budget_is_spent_and_nothing_is_written() -> None:
    outcomes: list[RequestOutcome] = []
    asker, model, journal = asker_for([GOOD], budget=CallBudget(max_calls=5))
    usage = carry_out(plans(20, outcomes), asker)
    assert (len(model.asked), len(journal.written), usage.not_asked) == (5, 5, 15)
    assert [outcome.state for outcome in outcomes].count("not_asked") == 15
    assert asker.notes == ["not everything was asked: another request may exceed the limit of calls"]
    again = carry_out(plans(20, []), asker)
    assert (again.known, again.not_asked) == (5, 15)


def test_a_reply_that_cannot_be_asked_for_again_within_the_budget_is_kept() -> None:
    asker, _, journal = asker_for(["nonsense"], budget=CallBudget(max_calls=1))
    assert (ask(asker, request()).state, journal.written[0][0] and journal.written[0][0]["reply"]) == (
        "failed",
        "nonsense",
    )


def test_in_a_replay_nothing_is_asked() -> None:
    asker, model, journal = asker_for([GOOD])
    journal.replay = True
    assert ask(asker, request()).state == "not_asked"
    assert not model.asked


def test_tokens_are_counted_here_if_the_model_does_not_say_how_many() -> None:
    asker, _, _ = asker_for([ModelReply(GOOD)])
    outcome = ask(asker, request())
    assert (outcome.tokens_in, outcome.tokens_out) == (5, 5)
    assert asker.notes == ["the model does not say how many tokens it used: they were counted roughly"]


def test_a_model_that_hangs_is_given_up_on() -> None:
    released = threading.Event()

    def rule(number: int, *_: Any) -> str:
        if not number:
            released.wait(30)
        return GOOD

    model = ScriptedModel(rule)
    asker = Asker(model, SETTINGS, Journal(), timeout=-0.9)  # with the time in which it can end by itself: 0.1 s
    assert ask(asker, request()).state == "done"
    assert len(model.asked) == 2
    released.set()


def test_an_interruption_ends_at_once_and_loses_no_reply_that_has_arrived() -> None:
    released = threading.Event()

    def rule(number: int, *_: Any) -> str:
        if number:
            released.wait(30)
        return GOOD

    def interrupted(ended: int, usage: Usage) -> None:
        raise KeyboardInterrupt

    asker, _, journal = asker_for(rule)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        carry_out(plans(20, []), asker, interrupted)
    assert time.monotonic() - start < 10  # and not 30
    assert len(journal.written) == 1
    released.set()


def test_it_works_within_a_running_event_loop() -> None:
    async def main() -> tuple[Usage, Usage]:
        asker, _, _ = asker_for([GOOD])
        return carry_out(plans(3, []), asker), await carry_out_async(plans(5, []), asker)

    blocking, awaited = asyncio.run(main())
    assert (blocking.calls, awaited.calls, awaited.known) == (3, 2, 3)


def test_cancelling_a_task_stops_asking() -> None:
    released = threading.Event()
    started = threading.Event()

    def rule(number: int, *_: Any) -> str:
        started.set()
        released.wait(30)
        return GOOD

    async def main() -> None:
        asker, _, _ = asker_for(rule)
        task = asyncio.create_task(carry_out_async(plans(10**6, []), asker))
        await asyncio.to_thread(started.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    start = time.monotonic()
    asyncio.run(main())  # which waits for its threads
    assert time.monotonic() - start < 10
    released.set()


def test_a_note_has_the_most_frequent_error_of_new_and_known_calls() -> None:
    asker, _, _ = asker_for(lambda _, messages, *__: "?" if "rare" in messages[1]["content"] else '{"no": "label"}')
    carry_out([plan([request("rare"), request("a"), request("b")], [])], asker)
    [note] = asker.notes
    assert note.startswith("3 calls failed, 2 of them with this error: ")
    assert note.endswith(". With --retry-failed (in Python retry_failed=True), they are made again")
    ask(asker, request("a"))
    assert asker.notes[0].startswith("4 calls failed, 3 of them")


def test_a_note_about_failures_has_a_limit_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karat.grounding.judges.sending._MOST_ERRORS", 2)
    asker, _, _ = asker_for([GOOD])
    for error in ("a", "b", "c", "d", "e", "b", None):
        asker.add_failure("support/1", error)
    assert asker.notes == [
        "7 calls failed, 4 of them with this error: another error. With --retry-failed (in Python retry_failed=True),"
        " they are made again"
    ]


def test_a_call_that_waits_for_the_budget_also_waits_for_the_end_of_a_pause() -> None:
    sent: list[float] = []

    def rule(number: int, *_: Any) -> Any:
        sent.append(time.monotonic())
        if not number:
            time.sleep(0.2)  # so that the other call waits for the budget
        return GOOD if number else ServerBusyError("status 429", 0.5)

    budget = CallBudget(max_tokens=SETTINGS.max_tokens + 400)  # enough for one call at a time
    with Journal() as journal:
        asker = Asker(ScriptedModel(rule), SETTINGS, journal, concurrency=2, budget=budget, timeout=5)
        carry_out(plans(2, []), asker)
    assert len(sent) == 3
    assert sent[1] - sent[0] > 0.6


def test_a_run_in_which_requests_end_is_not_given_up_because_others_hang() -> None:
    hang = threading.Event()

    def rule(number: int, *_: Any) -> Any:
        if number < 2:
            hang.wait(20)
        time.sleep(0.6)
        return GOOD

    outcomes: list[Any] = []
    with Journal() as journal:
        asker = Asker(ScriptedModel(rule), SETTINGS, journal, concurrency=3, budget=CallBudget(), timeout=1.2)
        try:
            carry_out(plans(6, outcomes), asker)
        finally:
            hang.set()
    assert len(outcomes) == 6
