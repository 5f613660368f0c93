"""Queries that are named by their questions, as in a log without ids: these are texts, and not ids."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from karat import evaluate_results
from karat.report import report_content
from tests.report.conftest import OpenPage

LONG = "why " * 600
QUESTIONS = ["Who was Midas?", "黄金的熔点是多少", "ما هي درجة انصهار الذهب؟", "gold", f"{LONG}?"]


def content_of(questions: list[str], **arguments: Any) -> dict[str, Any]:
    records = [
        {"query": question, "retrieved": ["d1", f"d{at}"], "truth": [f"d{at}"], "answer": "Yes."}
        for at, question in enumerate(questions, 2)
    ]
    return report_content(evaluate_results(records, ["RR"], name="system"), **arguments)


def font(element: Locator) -> str:
    return str(element.evaluate("element => getComputedStyle(element).fontFamily"))


def test_questions_that_serve_as_ids_are_set_as_texts_in_the_table_and_in_the_heading(open_page: OpenPage) -> None:
    page = open_page(content_of(QUESTIONS))
    links = page.locator("table.queries tbody a")
    assert {text.strip() for text in links.all_inner_texts()} == {text.strip() for text in QUESTIONS}
    assert {font(links.nth(at).locator("span.question")) for at in range(5)} == {font(page.locator("body"))}
    assert page.locator("table.queries .id").count() == 0
    expect(page.locator("#search")).to_have_attribute("placeholder", "words of the question")
    links.filter(has_text="Midas").press("Enter")  # which needs no place: charts above may still be drawn
    heading = page.locator("#query-heading")
    expect(heading).to_have_text("Who was Midas?")
    assert font(heading.locator(".question")) == font(page.locator("body"))


def test_a_long_question_is_cut_in_the_table_and_whole_in_its_heading(open_page: OpenPage) -> None:
    content = content_of(QUESTIONS)
    assert not any("shortened" in sentence for sentence in content["cut"])
    page = open_page(content)
    link = page.locator("table.queries tbody a").filter(has_text="why why")
    box = link.bounding_box()
    assert box is not None
    assert box["height"] < 100
    link.press("Enter")
    expect(page.locator("#query-heading")).to_have_text(f"{LONG}?")


def test_a_long_question_is_whole_in_the_exported_file(open_page: OpenPage) -> None:
    page = open_page(content_of(QUESTIONS))
    with page.expect_download() as download:
        page.press("#export", "Enter")
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text("utf-8"))))
    assert {row["query"] for row in rows} == set(QUESTIONS)
    assert list(rows[0]) == ["query", "system RR", "system first relevant rank"]


def test_the_tooltip_of_a_chart_has_a_question_once(open_page: OpenPage) -> None:
    records = [
        {"query": question, "retrieved": ["d1", "d2"], "truth": ["d2"]}
        for question in ["Who was Midas?", "What is it?"]
    ]
    others = [{**record, "retrieved": ["d2"]} for record in records]
    systems = {name: evaluate_results(each, ["RR"], name=name) for name, each in {"a": records, "b": others}.items()}
    page = open_page(report_content(systems))
    chart = page.locator("figure[data-kind=differences] canvas")
    chart.scroll_into_view_if_needed()
    chart.hover(position={"x": 80, "y": 60})
    expect(page.locator("#tooltip")).to_be_visible()
    assert (
        page.locator("#tooltip").inner_text().count("Midas") + page.locator("#tooltip").inner_text().count("What is it")
        == 1
    )


@pytest.mark.parametrize("questions", [["q1", "q2", "q 3"], ["17", "19"]])
def test_ids_stay_in_monospace(open_page: OpenPage, questions: list[str]) -> None:
    page = open_page(content_of(questions))
    assert "mono" in font(page.locator("table.queries tbody a .id").first)
    page.locator("table.queries tbody a").first.press("Enter")
    assert "mono" in font(page.locator("#query-heading .id"))


def test_names_beside_texts_are_ids_even_if_they_have_spaces(open_page: OpenPage) -> None:
    names = ["topic 1", "topic 2"]
    page = open_page(content_of(names, queries={"topic 1": "Who was Midas?", "topic 2": "What is gold?"}))
    row = page.locator("table.queries tbody tr").filter(has_text="Midas")
    assert "mono" in font(row.locator(".id"))
    expect(row.locator("a")).to_have_text("topic 1")


def test_a_value_on_a_phone_names_its_side_only_if_there_are_two(open_page: OpenPage) -> None:
    page = open_page(content_of(QUESTIONS), width=390)
    label = "element => getComputedStyle(element, '::before').content"
    assert page.locator("td.a").first.evaluate(label) == "none"
    assert page.locator("td.first").first.evaluate(label) == '"first relevant "'
