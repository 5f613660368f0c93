"""The counts of labels beside a score: they say why it has its value."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from karat import evaluate_verdicts
from karat.report import report_content
from tests.report.conftest import OpenPage
from tests.report.test_verdicts import CLAIM, SENTENCE, label, passage


def content_of(*records: dict[str, Any], measures: str = "Faithfulness") -> dict[str, Any]:
    """The content of labels, beside a query of which a claim is supported."""
    supported = [{**CLAIM, "query": "r"}, {**label("c1", "context", "full"), "query": "r"}]
    made = [{"query": "q", **record} for record in (*supported, *records)]
    return report_content(evaluate_verdicts(made, measures))


def claims(*labels: str | None) -> list[dict[str, Any]]:
    items = [{**CLAIM, "id": f"c{at}"} for at in range(len(labels))]
    return [*items, *(label(f"c{at}", "context", given) for at, given in enumerate(labels) if given)]


CASES = {
    "all supported": (claims("full", "full"), "1.0000", "2 of 2 claims supported"),
    "none supported": (claims("none", "contradicts"), "0.0000", "0 of 2 claims supported"),
    "in part": (claims("partial", "partial"), "0.0000", "0 of 2 claims supported, 2 in part"),
    "mixed": (claims("partial", "none", "full"), "0.3333", "1 of 3 claims supported, 1 in part, 1 not"),
    "unknown": (claims("full", None), "– 0.5000 to 1.0000", "1 of 2 claims supported, 1 unknown"),
    "no labels": (claims(None, None), "– 0.0000 to 1.0000", "0 of 2 claims supported, 2 unknown"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_counts_of_labels_say_why_an_answer_has_its_value(open_page: OpenPage, case: str) -> None:
    records, value, words = CASES[case]
    page = open_page(content_of(*records))
    row = page.locator("table.queries tbody tr").filter(has=page.locator("a", has_text="q"))
    expect(row.locator("td.a")).to_have_text(value)
    expect(row.locator("td.support")).to_have_text(words)


def test_an_answer_without_claims_says_so(open_page: OpenPage) -> None:
    nothing = {"item": "answer", "task": "support", "against": "context", "label": None, "state": "nothing_to_judge"}
    page = open_page(content_of({**nothing, "by": "human:ann", "type": "answer"}))
    row = page.locator("table.queries tbody tr").filter(has=page.locator("a", has_text="q"))
    expect(row.locator("td.a")).to_have_text("– nothing to judge")
    expect(row.locator("td.support")).to_have_text("no claims")


def test_what_is_supported_in_part_counts_as_the_measure_says(open_page: OpenPage) -> None:
    page = open_page(content_of(*claims("partial"), measures="Faithfulness"))
    expect(page.locator("#queries-table .legend")).to_have_text("What is supported in part counts 0 in Faithfulness.")
    page.locator("table.queries tbody a", has_text="q").press("Enter")
    expect(page.locator("#query .legend")).to_contain_text("What is supported in part counts 0 in Faithfulness.")
    half = open_page(content_of(*claims("partial"), measures="Faithfulness(partial=0.5)"))
    expect(half.locator("#queries-table .legend")).to_contain_text("counts 0.5 in Faithfulness(partial=0.5).")


def test_there_is_no_note_on_partial_support_if_nothing_is_supported_in_part(open_page: OpenPage) -> None:
    page = open_page(content_of(*claims("full")))
    assert page.locator("#queries-table .legend").count() == 0


def test_sentences_that_are_labelled_against_their_citations_are_counted_apart(open_page: OpenPage) -> None:
    sentence = {**SENTENCE, "cites": ["p1"]}
    page = open_page(
        content_of(passage(1), sentence, label("s1", ["p1"], "none"), *claims("full"), measures="CitationRecall")
    )
    row = page.locator("table.queries tbody tr").filter(has=page.locator("a", has_text="q"))
    expect(row.locator("td.support div")).to_have_text(
        ["1 of 1 claim supported", "0 of 1 sentence supported by citations"]
    )


def test_samples_that_differ_are_counted_as_such() -> None:
    samples = [label("c1", "context", given, by="judge", sample=at) for at, given in enumerate(["full", "none"])]
    others = [{**label("c1", "context", "full", by="judge", sample=at), "query": "r"} for at in (0, 1)]
    made = [{"query": "q", **each} for each in (CLAIM, {**CLAIM, "query": "r"}, *samples, *others)]
    content = report_content(evaluate_verdicts(made, "Faithfulness"))
    counts = dict(zip(content["queries"]["id"], content["verdicts"]["support"][0], strict=True))
    assert counts == {"q": {"claims context": [0, 0, 0, 1, 0]}, "r": {"claims context": [1, 0, 0, 0, 0]}}


def test_the_legend_speaks_of_the_numbers_of_passages_only_if_there_are_any(open_page: OpenPage) -> None:
    words = "Click on the number of a passage to see it."
    page = open_page(content_of(*claims("full")), "#query=q")
    expect(page.locator("#query .legend")).not_to_contain_text(words)
    linked = open_page(content_of(passage(1), CLAIM, label("c1", ["p1"], "full")), "#query=q")
    expect(linked.locator("#query .legend")).to_contain_text(words)
