"""Answers that a model judged: its failures with their reasons, its samples, its prompts, and what it was asked."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

import karat
from karat.report import report_content
from tests.report import examples
from tests.report.conftest import OpenPage
from tests.report.test_accessibility import violations
from tests.report.test_verdicts import CLAIM, HOSTILE, SENTENCE, content_of, items, label, passage


def test_samples_that_differ_are_counted_also_those_that_failed(open_page: OpenPage) -> None:
    claims = [label("c1", "context", given, by="judge", sample=at) for at, given in enumerate(["full", "none", "full"])]
    cited = [label("s1", ["p1"], given, by="judge", sample=at) for at, given in enumerate(["full", None, "full"])]
    by_passage = [
        label("c2", ["p1"], given, by="judge", sample=at) for at, given in enumerate(["none", "none", "full"])
    ]
    shown = [passage(1), CLAIM, {**CLAIM, "id": "c2"}, {**SENTENCE, "cites": ["p1"]}]
    page = open_page(content_of(*shown, *claims, *cited, *by_passage), "#query=q")
    assert items(page, "Claims").locator(".line .label").all_inner_texts() == [
        "≈ supported 2×, not supported 1×",
        "≈ not supported 2×, supported 1×",
    ]
    expect(items(page, "Answer").first.locator(".line .label")).to_have_text("≈ supported 2×, failed 1×")
    expect(items(page, "Claims").first.locator(".reasons")).to_contain_text("all passages: full (judge, sample 1)")
    expect(page.locator(".grounding .head")).to_contain_text("labels by judge, 3 samples")


def failing(error: str, reply: str | None, **call: Any) -> list[dict[str, Any]]:
    """Two claims whose labels are from a call that failed, and one with a label."""
    made = {"record": "call", "key": "k1", "model": "judge", "prompt": "support/1", "state": "failed", **call}
    return [
        {**made, "error": error, "reply": reply, "tokens_in": 1200, "tokens_out": 34},
        {**made, "key": "k2", "state": "done", "reply": "{}", "tokens_in": 300, "tokens_out": 6},
        *({**CLAIM, "id": f"c{at}"} for at in (1, 2, 3)),
        *(label(f"c{at}", "context", None, by="judge", call="k1") for at in (1, 2)),
        label("c3", "context", "full", by="judge", call="k2"),
    ]


def test_a_failed_call_is_shown_with_its_error_and_its_reply_behind_a_disclosure(open_page: OpenPage) -> None:
    page = open_page(content_of(*failing("the reply is not JSON", "Sure! Here are the labels:")), "#query=q")
    failures = page.locator("#query .failures")
    expect(failures.locator("p")).to_have_text("2 labels failed: the reply is not JSON (judge, support/1)")
    reply = failures.locator("pre")
    assert not reply.is_visible()
    failures.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(reply).to_have_text("Sure! Here are the labels:")
    labels = items(page, "Claims").locator(".line .label").all_inner_texts()
    assert labels == ["⚠ failed", "⚠ failed", "✓ supported"]
    expect(page.locator(".grounding .head")).to_contain_text("labels by judge with support/1")
    page.keyboard.press("Escape")
    cells = page.locator("#made .calls tbody tr").locator("th, td").all_inner_texts()
    assert cells == ["judge", "support/1", "2", "1", "1,500", "40"]


def test_calls_for_grades_of_documents_are_shown_too_and_counted_once_for_several_runs() -> None:
    call = {"record": "call", "key": "k", "model": "judge", "prompt": "relevance/1", "tokens_in": 300, "tokens_out": 6}
    grade = {"query": "q", "type": "document", "item": "d2", "task": "relevance", "label": 2, "by": "judge"}
    runs = {"one": {"q": ["d1", "d2"]}, "two": {"q": ["d2", "d1"]}}
    systems = karat.evaluate_runs({"q": {"d1": 1}}, runs, "P@2", verdicts=[grade, call])
    [made] = report_content(systems)["made"]["calls"]
    assert (made["model"], made["prompt"], made["calls"], made["tokens_in"]) == ("judge", "relevance/1", 1, 300)


def test_a_claim_that_the_passages_do_not_support_names_no_passage_whose_label_failed(open_page: OpenPage) -> None:
    failed, none = label("c1", ["p1"], None, by="judge"), label("c1", ["p2"], "none", by="judge")
    whole = label("c1", "context", "none", by="judge")
    known = items(open_page(content_of(passage(1), passage(2), CLAIM, failed, none, whole), "#query=q"), "Claims")
    expect(known.locator(".line .label")).to_have_text("✗ not supported")
    expect(known.locator(".notes")).to_have_text("supported by no passage")
    unknown = items(open_page(content_of(passage(1), passage(2), CLAIM, failed, none), "#query=q"), "Claims")
    expect(unknown.locator(".notes")).to_have_text("supported by 1 ?")


def test_a_failure_without_items_is_shown_too() -> None:
    call = {
        "record": "call",
        "key": "k",
        "model": "judge",
        "prompt": "nuggets/1",
        "state": "failed",
        "error": "Stopped",
    }
    lists = [label(item, "answer", None, by="judge", call="k") for item in ("question", "answer")]
    content = content_of(call, *lists, {**call, "state": "reused"}, CLAIM, label("c1", "context", "full", by="judge"))
    assert content["verdicts"]["labels"][0][0]["failures"] == [
        {"labels": 2, "by": 0, "sample": 0, "prompt": "nuggets/1", "error": "Stopped", "length": 0}
    ]


def test_a_failure_that_was_asked_again_is_not_shown() -> None:
    records = [*failing("busy", None), *(label(f"c{at}", "context", "none", by="judge", call="k2") for at in (1, 2))]
    found = content_of(*records)["verdicts"]
    assert found["labels"][0][0]["failures"] == []
    assert found["failed"] == [[0]]


def test_items_that_were_extracted_in_another_try_are_not_failed() -> None:
    call = {"record": "call", "key": "k", "model": "judge", "prompt": "claims/1"}
    failed = label("answer", "context", None, by="judge", call="k")
    records = [failed, {**call, "state": "failed", "error": "busy"}, CLAIM, {**call, "state": "done", "reply": "{}"}]
    labelled = label("c1", "context", "full", by="judge")
    assert content_of(*records[:2], CLAIM, labelled)["verdicts"]["failed"] == [[1]]
    assert content_of(*records, labelled)["verdicts"]["failed"] == [[0]]


def test_queries_are_filtered_by_failed_labels_and_the_table_counts_them(open_page: OpenPage) -> None:
    content = examples.judged_content()
    failed = {
        query: n for query, n in zip(content["queries"]["id"], content["verdicts"]["failed"][0], strict=True) if n
    }
    page = open_page(content, width=390, dark=True)
    page.locator("#filter").focus()
    for _ in range(page.locator("#filter option[value=failures]").evaluate("option => option.index")):
        page.keyboard.press("ArrowDown")
    expect(page.get_by_role("status").first).to_contain_text(f"{len(failed)} of 50 queries")
    rows = page.locator("table.queries tbody tr")
    counts = zip(rows.locator("a").all_inner_texts(), rows.locator("td.failures").all_inner_texts(), strict=True)
    assert {query: int(count) for query, count in counts} == failed
    assert violations(page) == []
    rows.locator("a").filter(has_text="q24").click()
    assert page.locator("#query .failures li").count() >= 1
    page.locator("#query .failures summary").first.click()
    assert violations(page) == []
    rights = page.locator("#query .failures *").evaluate_all("all => all.map((e) => e.getBoundingClientRect().right)")
    assert max(rights) <= 390
    page.keyboard.press("Escape")
    assert "filter=failures" in page.url
    page.select_option("#filter", "unsupported")
    expect(page.get_by_role("status").first).to_contain_text(" of 50 queries")


def test_an_unsupported_sample_is_enough_for_the_filter() -> None:
    samples = [label("c1", "context", given, by="judge", sample=at) for at, given in enumerate(["full", "none"])]
    assert content_of(CLAIM, *samples)["verdicts"]["unsupported"] == [[1]]


def test_items_that_one_sample_leaves_out_are_shown_with_the_labels_of_the_others() -> None:
    nothing = [label(item, "context", None, by="judge", state="nothing_to_judge") for item in ("c1", "p1")]
    samples = [label("c1", against, "none", by="judge", sample=at) for at in (1, 2) for against in ("context", ["p1"])]
    grades = [{"task": "relevance", "item": "p1", "label": 2, "by": "judge", "sample": at} for at in (1, 2)]
    others = [label("c2", "context", "full", by="judge", sample=at) for at in range(3)]
    second = {**CLAIM, "id": "c2", "text": "Gold is dense."}
    content = content_of(CLAIM, second, passage(1), passage(2), *nothing, *samples, *grades, *others)
    [[shown]] = content["verdicts"]["labels"]
    assert [claim["id"] for claim in shown["claims"]] == ["c1", "c2"]
    assert [each["id"] for each in shown["passages"]] == ["p1", "p2"]
    assert shown["claims"][0]["tally"] == {"context": [None, "none", "none"]}
    assert content["verdicts"]["unsupported"] == [[1]]


def test_items_that_all_samples_leave_out_are_shown_as_such() -> None:
    nothing = [label("answer", None, None, by="judge", sample=at, state="nothing_to_judge") for at in (0, 1)]
    labelled = label("c1", "context", "full", by="judge", sample=2)
    others = [{**label("c1", "context", "full", by="judge", sample=at), "query": "r"} for at in range(3)]
    content = content_of(CLAIM, {**CLAIM, "query": "r"}, *nothing, labelled, *others)
    claims = [claims for each in content["verdicts"]["labels"] for shown in each for claims in shown["claims"]]
    assert [claim.get("dropped", False) for claim in claims] == [True, False]


def test_an_answer_without_anything_to_judge_has_its_reason(open_page: OpenPage) -> None:
    nothing = {"task": "support", "item": "answer", "label": None, "state": "nothing_to_judge", "why": "It refuses."}
    nothing |= {"by": "judge", "call": "k"}
    call = {"record": "call", "key": "k", "model": "judge", "reply": "{}"}
    other = {**label("c1", "context", "full", by="judge"), "type": "claim", "query": "other"}
    page = open_page(content_of(nothing, call, other), "#query=q")
    expect(page.locator("#query .whole")).to_contain_text("nothing to judge – It refuses. (judge)")


def test_replies_and_errors_are_never_markup_and_are_cut(open_page: OpenPage) -> None:
    records = failing(HOSTILE * 100, HOSTILE + "x" * 1_000_000, model=HOSTILE, prompt=HOSTILE)
    content = content_of(*records)
    (shown,) = content["verdicts"]["labels"][0][0]["failures"]
    assert (len(shown["error"]), len(shown["reply"]), shown["length"]) == (501, 2_000, len(HOSTILE) + 1_000_000)
    page = open_page(content, "#query=q")
    page.locator("#query .failures summary").click()
    assert page.evaluate("window.hacked") is None
    assert page.locator("dialog script, dialog img, #made img").count() == 0
    assert not (set(page.inner_text("#query")) | set(page.inner_text("#made"))) & set("\x00\u202e\u2028")
    expect(page.locator("#query .failures summary")).to_contain_text("Reply (1,000,096 characters)")


def test_replies_beyond_the_budget_are_left_out_and_that_is_said(
    open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("karat.report.budget._PER_QUERY", 0)
    monkeypatch.setattr("karat.report.budget._LEAST", 2_500)
    page = open_page(content_of(*failing("not JSON", "y" * 1_500)), "#query=q")
    expect(page.locator("#query .failures p")).to_contain_text(
        "(judge, support/1; its reply is left out of the report)"
    )


def test_of_many_failed_calls_the_first_are_shown_and_the_others_counted() -> None:
    calls = [{"record": "call", "key": f"k{at}", "state": "failed"} for at in range(25)]
    claims = [{**CLAIM, "id": f"c{at}"} for at in range(25)]
    labels = [label(f"c{at}", "context", None, by="judge", call=f"k{at}") for at in range(25)]
    shown = content_of(*calls, *claims, *labels)["verdicts"]["labels"][0][0]["failures"]
    assert len(shown) == 21
    assert shown[-1] == {"more": 5}
