"""One system with many measures: a row per measure in the tables, and all measures in the charts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

from karat import Scores, evaluate_results, evaluate_runs
from karat.cli import demo_data as demo
from karat.report import report_content
from karat.report.rendering import render_page
from tests.report.conftest import OpenPage

NAMES = ["nDCG@10", "AP", "RR", "P@10", "R@100", "Success@1", "latency"]


def scores_of(names: list[str]) -> Scores:
    values = {name: np.linspace(0.1, 0.6, 8) * (300 if name == "latency" else 1) for name in names}
    return Scores(tuple(f"q{at}" for at in range(8)), values, name="system", lower_is_better=frozenset({"latency"}))


@pytest.mark.parametrize("width", [1280, 390])
def test_more_than_six_measures_of_one_system_are_rows(open_page: OpenPage, width: int) -> None:
    page = open_page(report_content(scores_of(NAMES)), width=width)
    table = page.locator("table.results")
    assert [text.splitlines()[0] for text in table.locator("tbody th").all_inner_texts()] == [
        *NAMES[:-1],
        "latency lower is better",
    ]
    expect(table.locator("thead th")).to_have_text(["Measure", "system"])
    assert table.locator("tbody td strong").all_inner_texts()[0] == "0.3500"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    box, frame = table.bounding_box(), page.locator("#table .scroll").bounding_box()
    assert box is not None
    assert frame is not None
    assert box["width"] <= frame["width"] + 1


def test_six_measures_are_columns_and_so_are_those_of_two_systems() -> None:
    for content in (
        report_content(scores_of(NAMES[:6])),
        report_content({"one": scores_of(NAMES), "two": scores_of(NAMES)}),
    ):
        assert not content["table"]["by_measure"]
        assert '<table class="results">' in render_page(content)


def test_an_opened_query_has_a_row_per_measure_and_each_can_be_chosen(open_page: OpenPage) -> None:
    page = open_page(report_content(scores_of(NAMES)), "#query=q7")
    table = page.locator("#query table.values")
    expect(table.locator("tbody tr")).to_have_count(7)
    table.get_by_role("button", name="RR").click()
    expect(page.locator("#choose-measure")).to_have_value("2")
    expect(table.locator("tr:has(.chosen)")).to_have_count(1)
    expect(table.locator("tr:has(.chosen) td")).to_have_text("0.6000")


def test_the_charts_of_one_system_show_all_measures_each_unit_on_an_axis_of_its_own(open_page: OpenPage) -> None:
    content = report_content(scores_of(NAMES))
    page = open_page(content)
    figure = page.locator("figure[data-kind=intervals]")
    figure.scroll_into_view_if_needed()
    expect(figure.locator("h4")).to_have_text(["from 0 to 1", "latency"])
    figure.locator("summary").click()
    expect(figure.locator("table tbody tr")).to_have_count(7)
    page.select_option("#choose-measure", "2")
    expect(figure.locator("table tbody tr")).to_have_count(7)
    expect(figure.locator("figcaption")).to_have_text("The mean on each measure, with its 95% confidence interval.")


def test_intervals_of_shares_are_drawn_from_0_to_1_and_those_of_others_on_their_own_scale() -> None:
    page = render_page(report_content(scores_of(NAMES)))
    assert "those of values between 0 and 1 are drawn from 0 to 1" in page
    assert page.count('cx="35.0%"') == 6
    assert page.count('cx="50.') == 1


def test_the_unjudged_share_and_the_missing_queries_are_rows_too() -> None:
    runs = demo.runs()
    short = {"bm25": {query: list(docs) for query, docs in ranked(str(runs["bm25"])).items() if query != "q01"}}
    scores = evaluate_runs(str(demo.TRUTH), short, ["nDCG@10", "AP", "RR", "P@10", "R@100", "P@5", "R@5"])
    page = render_page(report_content(scores))
    assert "Unjudged <span" in page
    assert "Missing <span" in page


def ranked(path: str) -> dict[str, list[str]]:
    rows: dict[str, list[str]] = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            query, _, document, *_ = line.split()
            rows.setdefault(query, []).append(document)
    return rows


def test_of_one_query_the_text_above_the_table_does_not_speak_of_intervals() -> None:
    page = render_page(report_content(Scores(("q",), {"AP": np.array([0.25])}, name="system")))
    assert '<p class="note">Means.</p>' in page


# Captions stand under the measures that they are about.


def labelled_and_judged() -> dict[str, Any]:
    """Two queries with unjudged documents, labels and answers, and a number that the log has."""
    rows = [
        {
            "query": query,
            "truth": {"d1": 1, "d9": 0},
            "retrieved": ["d2", "d1"],
            "answer": "Gold.",
            "gold_answers": ["Gold."],
        }
        for query in ("q1", "q2")
    ]
    scores = evaluate_results(rows, ["TokenF1", "AP"], name="system")
    values = {**scores.values, "cost": np.array([0.5, 0.25])}
    return report_content(replace(scores, values=values))


def test_a_sentence_about_unjudged_documents_is_only_about_measures_of_documents() -> None:
    content = labelled_and_judged()
    assert content["measures"][0]["name"] != "AP"
    assert not any("unjudged" in sentence for sentence in content["answer"])


def test_columns_and_filters_of_unjudged_documents_go_with_measures_of_documents(open_page: OpenPage) -> None:
    content = labelled_and_judged()
    page = open_page(content)
    names = [measure["name"] for measure in content["measures"]]
    for name in names:
        page.select_option("#choose-measure", str(names.index(name)))
        expected = 1 if name == "AP" else 0
        expect(page.locator("table.queries thead").get_by_role("button", name="Unjudged")).to_have_count(expected)
        expect(page.locator("#filter option[value=unjudged]")).to_have_count(expected)


def test_the_range_of_unjudged_documents_is_not_shown_for_other_measures(open_page: OpenPage) -> None:
    assert set(labelled_and_judged()["charts"]["bounds"]["rows"]["measure"]) == {"AP"}
    truth = {"q1": {"d1": 1, "d9": 0}, "q2": {"d1": 1, "d9": 0}}
    runs = {"one": {"q1": ["d1", "d2"], "q2": ["d2", "d1"]}, "two": {"q1": ["d2"], "q2": ["d1"]}}
    systems = evaluate_runs(truth, runs, ["AP", "NumRet"])
    page = open_page(report_content(systems))
    figure = page.locator("figure[data-kind=bounds]")
    expect(figure).to_be_visible()
    expect(figure.locator("figcaption")).to_contain_text("AP of each system, with unjudged documents counted")
    page.select_option("#choose-measure", "1")
    expect(figure).to_be_hidden()
    page.select_option("#choose-measure", "0")
    expect(figure).to_be_visible()


def test_a_number_that_a_log_has_is_said_to_be_as_it_was_read() -> None:
    page = render_page(labelled_and_judged())
    assert page.count("karat does not know this measure; its values are as they were read.") == 1


def test_a_log_with_nothing_but_numbers_is_not_called_saved_scores() -> None:
    content = report_content(evaluate_results([{"query": "Who?", "cost": 0.5}, {"query": "What?", "cost": 1.0}]))
    assert [measure["name"] for measure in content["measures"]] == ["cost"]
    assert "come without the documents and answers" in content["answer"][1]


def test_the_text_above_the_table_speaks_of_columns_only_if_there_are_several_systems() -> None:
    one, two = report_content(scores_of(["AP"])), report_content({"a": scores_of(["AP"]), "b": scores_of(["AP"])})
    assert '<p class="note">Means with 95% confidence intervals.</p>' in render_page(one)
    assert "in each column, all intervals are drawn on the same scale" in render_page(two)


def test_the_name_of_a_measure_breaks_before_its_parameters(open_page: OpenPage) -> None:
    page = open_page(report_content(scores_of(["Faithfulness(unit=sentences)"])), width=390)
    heading = page.locator("table.results thead th").nth(1).locator("button")
    assert heading.evaluate("button => [...button.childNodes].map((node) => node.textContent)") == [
        "Faithfulness",
        "",
        "(unit=sentences)",
    ]


def test_a_chart_of_one_system_and_one_measure_does_not_speak_of_each_system() -> None:
    chart = report_content(scores_of(["AP"]))["charts"]["intervals"]
    assert chart["about"] == "The mean on {measure}, with its 95% confidence interval."
