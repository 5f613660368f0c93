"""The labels of answers in a report: what an opened query shows of them, and what is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from playwright.sync_api import Locator, Page, expect

from karat import evaluate_verdicts
from karat.cli import demo_data as demo
from karat.cli import program
from karat.report import Provenance, report_content
from tests.report import examples
from tests.report.conftest import OpenPage
from tests.report.test_accessibility import violations

MADE = Provenance(created=examples.CREATED)
HOSTILE = examples.HOSTILE


@pytest.fixture(scope="module")
def labelled() -> dict[str, Any]:
    return examples.labelled_content()


def content_of(*records: dict[str, Any], **options: Any) -> dict[str, Any]:
    return report_content(evaluate_verdicts([{"query": "q", **each} for each in records], **options), provenance=MADE)


def passage(rank: int) -> dict[str, Any]:
    return {"id": f"p{rank}", "type": "passage", "rank": rank}


def label(item: str, against: Any, given: str | None, **fields: Any) -> dict[str, Any]:
    state = {"state": "failed"} if given is None else {}
    return {"task": "support", "item": item, "against": against, "label": given, **state, **fields}


SENTENCE = {"id": "s1", "type": "sentence", "of": "answer", "text": "Gold is soft [1][2][7]."}
CLAIM = {"id": "c1", "type": "claim", "of": "answer", "text": "Gold is soft."}


def items(page: Page, title: str) -> Locator:
    return page.locator("#query .items", has=page.locator("h5", has_text=title)).locator("> ol > li, > ul > li")


def test_an_opened_query_shows_sentences_claims_nuggets_and_passages_with_their_labels(
    open_page: OpenPage, labelled: dict[str, Any]
) -> None:
    page = open_page(labelled, "#query=q01")
    sentences = items(page, "Answer")
    expect(sentences.nth(0).locator(".label")).to_have_text("✓ supported")
    expect(sentences.nth(1).locator(".label")).to_have_text("– no citation")
    claims = items(page, "Claims of the answer")
    assert [text.strip() for text in claims.locator(".line .label").all_text_contents()] == [
        "✓ supported", "✗ not supported", "✗ not supported",
    ]  # fmt: skip
    expect(claims.nth(0)).to_contain_text("flaky hydrated oxides of iron are rust. (human:ann)")
    expect(claims.nth(1).locator(".notes")).to_have_text("supported by no passagegold answer: ✓ says the same")
    expect(items(page, "Nuggets").nth(0)).to_contain_text("vital")
    expect(items(page, "Nuggets").nth(0).locator(".label")).to_have_text("✓ in the answer")
    assert items(page, "Passages").locator(".label").all_inner_texts() == [
        f"relevance {grade} of 3" for grade in "1000"
    ]
    expect(page.locator(".whole")).to_contain_text("correctness ✓ correct")


def test_a_citation_leads_to_its_passage_and_unfolds_it(open_page: OpenPage, labelled: dict[str, Any]) -> None:
    page = open_page(labelled, "#query=q01")
    citation = items(page, "Answer").nth(0).get_by_role("button", name="Passage 1, gold-246: supports this in full")
    citation.focus()
    page.keyboard.press("Enter")
    cited = items(page, "Passages").nth(0)
    expect(cited).to_be_focused()
    expect(cited).to_contain_text("keep it at bay.")
    assert page.locator("#query").is_visible()


def test_a_citation_of_no_passage_is_marked(open_page: OpenPage) -> None:
    cites = ["p1", "p2", "[7]"]
    page = open_page(
        content_of(
            passage(1), passage(2), {**SENTENCE, "cites": cites}, label("s1", ["p1"], "full"),
            label("s1", ["p2"], "none"), label("s1", ["p1", "p2"], "full", why="The first is enough."),
        ),
        "#query=q",
    )  # fmt: skip
    sentence = items(page, "Answer").nth(0)
    assert sentence.locator(".cite").all_text_contents() == ["1 ✓", "2 ✗", "⚠ [7] points to no passage no passage"]
    expect(sentence.locator(".line .label")).to_have_text("✓ supported")
    expect(sentence).to_contain_text("cited passages: full – The first is enough. (human)")


def test_unknown_labels_are_unknown_and_the_measure_has_bounds(open_page: OpenPage, labelled: dict[str, Any]) -> None:
    page = open_page(labelled, "#query=q15")
    expect(page.locator("table.values td").first).to_have_text("– 0.7500 to 1.0000")
    expect(items(page, "Claims of the answer").nth(3).locator(".line .label")).to_have_text("? unknown")
    page.goto(page.url.replace("q15", "q12"))
    expect(page.locator("table.values td").first).to_have_text("– nothing to judge")
    expect(items(page, "Answer").nth(0).locator(".label")).to_have_text("nothing to judge")
    expect(page.locator("#query .items", has_text="It makes no claims.")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("table.results .bounds").first).to_have_text("possible: 0.7562 – 0.7823")


def test_queries_are_filtered_by_what_is_unsupported_and_by_unknown_labels(
    open_page: OpenPage, labelled: dict[str, Any]
) -> None:
    page = open_page(labelled)
    page.select_option("#filter", "unknown")
    names = page.locator("table.queries tbody a").all_inner_texts()
    assert sorted(names) == ["q15", "q40"]
    page.select_option("#filter", "unsupported")
    expect(page.locator("table.queries tbody a").filter(has_text="q01")).to_be_visible()
    assert page.locator("table.queries tbody a").filter(has_text="q02").count() == 0


def test_people_who_disagree_are_named_and_a_tie_is_unknown(open_page: OpenPage) -> None:
    page = open_page(
        content_of(
            passage(1), CLAIM, label("c1", ["p1"], "full", by="human:ann"), label("c1", ["p1"], "none", by="human:ben")
        ),
        "#query=q",
    )
    claim = items(page, "Claims of the answer").nth(0)
    expect(claim.locator(".line .label")).to_have_text("? unknown")
    assert claim.locator(".reasons li").all_inner_texts() == [
        "passage 1: full (human:ann)",
        "passage 1: none (human:ben)",
    ]


def test_rubrics_of_the_user_are_shown(open_page: OpenPage) -> None:
    page = open_page(
        content_of(
            {"record": "task", "name": "tone", "scale": {"rude": 0, "polite": 2}},
            {"task": "tone", "item": "answer", "label": "polite", "why": "It says please."},
            measures="Correctness(task=tone)",
        ),
        "#query=q",
    )
    expect(page.locator(".whole")).to_contain_text("tone polite")
    expect(page.locator(".whole")).to_contain_text("It says please.")


def test_texts_of_labels_are_never_markup(open_page: OpenPage) -> None:
    visible = HOSTILE.replace("\x00", "")  # ids have no control characters
    page = open_page(
        content_of(
            {**passage(1), "id": f"p{visible}", "text": HOSTILE},
            {**SENTENCE, "text": HOSTILE, "cites": [f"p{visible}", f"x{visible}"]},
            {**CLAIM, "text": HOSTILE},
            {"record": "task", "name": f"task{visible}", "scale": {"bad": 0, f"{HOSTILE}good": 1}},
            {"task": f"task{visible}", "item": "answer", "label": f"{HOSTILE}good", "by": f"human:{visible}"},
            label("s1", [f"p{visible}"], "full", why=HOSTILE, by=f"human:{visible}"),
            label("c1", [f"p{visible}"], "none", why=HOSTILE, by=f"human:{visible}"),
        ),
        "#query=q",
    )
    page.locator("#query .cite").first.click()
    assert page.evaluate("window.hacked") is None
    assert page.locator("dialog script, dialog img").count() == 0
    assert not set(page.inner_text("#query")) & set("\x00\u202e\u2028")


@pytest.mark.parametrize(("dark", "width"), [(False, 1280), (True, 390)], ids=["light", "dark"])
def test_axe_finds_no_violation_in_labels_of_two_systems(open_page: OpenPage, dark: bool, width: int) -> None:
    page = open_page(examples.compared_labels_content(), "#query=q05", dark=dark, width=width)
    assert page.locator("#query .grounding").count() == 2
    assert violations(page) == []
    wide = page.evaluate(
        """() => [...document.querySelectorAll("#query .grounding *")]
            .filter((each) => each.getBoundingClientRect().right > innerWidth + 1)
            .map((each) => each.outerHTML)"""
    )
    assert wide == []


def test_the_range_of_unknown_labels_is_a_chart(labelled: dict[str, Any]) -> None:
    rows = labelled["charts"]["label-bounds"]["rows"]
    faithfulness = rows["measure"].index("Faithfulness")
    assert [round(rows[end][faithfulness], 4) for end in ("low", "value", "high")] == [0.7562, 0.7728, 0.7823]


def test_karat_report_reads_labels(tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    words = [
        "report",
        str(demo.GENERATED),
        "--verdicts",
        str(demo.VERDICTS),
        "--author",
        "human:ann",
        "-o",
        str(report),
    ]
    result = CliRunner().invoke(program, [*words, "-m", "Faithfulness"])
    assert result.exit_code == 0, result.output
    assert "possible: 0.7562 – 0.7823" in report.read_text("utf-8")


def test_labels_beyond_the_budget_are_shortened_then_left_out_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("karat.report.budget._PER_QUERY", 0)
    records = [
        record | {"query": f"q{at}"}
        for at in range(4)
        for record in (
            {**CLAIM, "text": "x" * (1_000 if at else 3_000)},
            label("c1", "context", "none" if at == 0 else "full", why="y" * 1_000),
        )
    ]
    scores = evaluate_verdicts(records)
    monkeypatch.setattr("karat.report.budget._LEAST", 3_000 * 10 // 4)
    content = report_content(scores, provenance=MADE)
    kept = content["verdicts"]["labels"]
    texts = [None if each is None else len(each[0]["claims"][0]["text"]) for each in kept]
    assert texts == [201, 1_000, 201, None]
    assert "votes" not in kept[0][0]["claims"][0]
    assert content["cut"] == [
        "The labels of 2 queries are without reasons, and their items shortened.",
        "The labels of 1 query are left out, those of the queries that changed least; a report of fewer queries has"
        " them all.",
    ]


def test_of_many_items_the_first_are_shown_and_the_others_counted() -> None:
    records = [
        record for at in range(250) for record in ({**CLAIM, "id": f"c{at}"}, label(f"c{at}", "context", "full"))
    ]
    shown = content_of(*records)["verdicts"]["labels"][0][0]
    assert len(shown["claims"]) == 200
    assert shown["left_out"] == {"claims": 50}


def test_contradicted_statements_are_shown_as_such_with_the_passages_that_contradict_them(open_page: OpenPage) -> None:
    shown = [passage(1), passage(2), CLAIM, {**CLAIM, "id": "c2"}, {**SENTENCE, "cites": ["p1"]}]
    labels = [label("c1", ["p1"], "contradicts"), label("c1", ["p2"], "none"), label("s1", ["p1"], "contradicts")]
    labels += [label("c2", "context", "contradicts"), {"id": "n1", "type": "nugget", "text": "Soft."}]
    labels += [label("n1", "answer", "contradicts")]
    content = content_of(*shown, *labels)
    assert content["verdicts"]["contradicted"] == [[3]]
    page = open_page(content, "#query=q")
    claims = items(page, "Claims of the answer")
    assert claims.locator(".line .label").all_inner_texts() == ["≠ contradicted", "≠ contradicted"]
    expect(claims.first.locator(".notes")).to_contain_text("supported by no passage, contradicted by 1 ≠")
    expect(items(page, "Answer").first.locator(".line .label")).to_have_text("≠ contradicted")
    expect(items(page, "Nuggets").first.locator(".line .label")).to_have_text("≠ the answer says otherwise")
    expect(claims.first.locator("button.cite")).to_have_attribute("aria-label", "Passage 1, p1: contradicts this")
    assert not violations(page)


def test_queries_with_something_contradicted_can_be_filtered(open_page: OpenPage) -> None:
    records = [{**CLAIM, "query": query} for query in ("q", "r")]
    given = {"q": "none", "r": "contradicts"}
    labels = [{**label("c1", "context", text), "query": query} for query, text in given.items()]
    page = open_page(report_content(evaluate_verdicts([*records, *labels]), provenance=MADE))
    page.select_option("#filter", "contradicted")
    assert page.locator("#queries tbody th").all_inner_texts() == ["r"]


def test_a_grade_of_relevance_is_coloured_and_explained_by_what_it_means(open_page: OpenPage) -> None:
    grades = [{"task": "relevance", "item": f"p{at + 1}", "label": at} for at in range(4)]
    page = open_page(content_of(*(passage(rank) for rank in range(1, 5)), *grades), "#query=q")
    badges = items(page, "Passages").locator(".line .label")
    kinds = [badges.nth(at).get_attribute("class") for at in range(4)]
    assert kinds == ["label other", "label other", "label partial", "label full"]
    expect(badges.nth(1)).to_have_attribute(
        "title", "on the topic, but answers no part of the question; label by human"
    )


def test_what_the_labels_of_a_rubric_mean_is_shown(open_page: OpenPage) -> None:
    scale = {"rude": {"value": 0, "means": "it <b>insults</b> the reader"}, "polite": 1}
    rubric = {"record": "task", "name": "tone", "scale": scale}
    page = open_page(content_of(rubric, {"task": "tone", "item": "answer", "label": "rude"}), "#query=q")
    badge = page.locator(".whole .task .label")
    expect(badge).to_have_attribute("title", "it <b>insults</b> the reader; label by human")
