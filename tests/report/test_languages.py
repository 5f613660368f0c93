"""Questions, passages, answers, claims, labels and reasons in several languages: from a server into file and report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

import karat
from karat.errors import KaratError
from karat.report import Provenance, report_content
from tests.llm_server import LLMServer, Sent, reply
from tests.report import examples
from tests.report.conftest import OpenPage
from tests.report.test_verdicts import items

# A question, a passage in another language, an answer, its two claims, and the reasons of their labels.
LANGUAGES = {
    "de": (
        "Wie weich ist „reines“ Gold?",
        "纯金非常软，用指甲就能划出痕迹。",
        "Reines Gold ist weich [1]. Es läuft grün an – größtenteils.",
        ["Reines Gold ist weich.", "Gold läuft größtenteils grün an."],
        ["Die Passage sagt „非常软“.", "Über das Anlaufen steht dort nichts; Straße, ẞ, Ä."],
    ),
    "zh": (
        "纯金有多软？",
        "الذهب الخالص لين جدًا، ولا يصدأ أبدًا.",
        "纯金很软。它会生锈。",
        ["纯金很软。", "纯金会生锈。"],
        ["段落说它“非常软”。", "段落说“لا يصدأ”，正好相反：𠮷。"],
    ),
    "ar": (
        "ما مدى ليونة الذهب الخالص؟",
        "Pure gold is so soft that a fingernail marks it.",
        "الذهب الخالص لَيِّن. يُسعَّر في باريس؟",
        ["الذهب الخالص لَيِّن.", "يُسعَّر الذهب في باريس."],
        ["يقول المقطع «so soft».", "لا يذكر المقطع السعر: ١٢٣ (٪٥٠) می\u200cشود."],
    ),
}
LABELS = {"de": ["full", "none"], "zh": ["full", "contradicts"], "ar": ["partial", "none"]}
RESULTS = [
    {"query": f"q-{name}", "question": question, "retrieved": [passage], "answer": answer}
    for name, (question, passage, answer, _, _) in LANGUAGES.items()
]


def by_rule(sent: Sent) -> Any:
    """The claims and labels of a language, as JSON with and without escapes."""
    [name] = [name for name, texts in LANGUAGES.items() if texts[0] == sent.data["question"]]
    _, passage, answer, claims, reasons = LANGUAGES[name]
    if "items" not in sent.data:
        assert sent.data["answer"] == answer
        return reply(json.dumps({"claims": claims}, ensure_ascii=name == "zh"))
    assert [each["text"] for each in sent.data["passages"]] == [passage]
    assert [each["text"] for each in sent.data["items"]] == claims
    rows = [
        {"item": at, "why": why, "label": label}
        for at, (why, label) in enumerate(zip(reasons, LABELS[name], strict=True), 1)
    ]
    return reply(json.dumps({"labels": rows}, ensure_ascii=name == "ar"))


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("languages") / "verdicts.jsonl"
    with LLMServer(by_rule) as server:
        options: Any = {"model": "tester", "base_url": server.url, "api_key_env": None}
        judging = karat.judge(RESULTS, task="faithfulness", verdicts=path, system="rag", **options)
        assert (judging.usage.calls, judging.usage.failed) == (6, 0)
    return path


def test_items_claims_labels_and_reasons_are_in_the_file_as_they_were_written(judged: Path) -> None:
    records = [json.loads(line) for line in judged.read_text("utf-8").splitlines()]
    for name, (_, _, _, claims, reasons) in LANGUAGES.items():
        of_query = [each for each in records if each.get("query") == f"q-{name}"]
        texts = {each["id"]: each.get("text") for each in of_query if each["record"] == "item"}
        assert [texts["claim1"], texts["claim2"]] == claims
        given = [(each["label"], each["why"]) for each in of_query if each["record"] == "verdict"]
        assert given == [*zip(LABELS[name], reasons, strict=True)]
    assert b"\\u" not in b"".join(line for line in judged.read_bytes().splitlines() if b'"record":"call"' not in line)


def test_they_are_evaluated_with_the_results_and_are_those_of_their_texts(judged: Path) -> None:
    scores = karat.evaluate_results(RESULTS, verdicts=judged, name="rag")
    values = {query: (row["Faithfulness"], row["Contradiction"]) for query, row in scores.per_query.items()}
    assert values == {"q-de": (0.5, 0.0), "q-zh": (0.5, 0.5), "q-ar": (0.0, 0.0)}
    changed = [{**row, "answer": str(row["answer"]).replace("。", "!")} for row in RESULTS if row["query"] == "q-zh"]
    with pytest.raises(KaratError, match="about answers that have changed since"):
        karat.evaluate_results(changed, "Faithfulness", verdicts=judged, name="rag")


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_report_shows_them(open_page: OpenPage, judged: Path, name: str) -> None:
    scores = karat.evaluate_results(RESULTS, verdicts=judged, name="rag")
    page = open_page(report_content(scores, provenance=Provenance(created=examples.CREATED)), f"#query=q-{name}")
    question, passage, _, claims, reasons = LANGUAGES[name]
    expect(page.locator("#query-heading")).to_contain_text(question)
    shown = items(page, "Claims of the answer")
    assert shown.locator(".words").all_text_contents() == claims
    for at, why in enumerate(reasons):
        expect(shown.nth(at).locator(".reasons")).to_contain_text(why)
    expect(items(page, "Passages")).to_contain_text(passage)
    direction = shown.first.locator(".words").evaluate("element => getComputedStyle(element).direction")
    assert direction == ("rtl" if name == "ar" else "ltr")
