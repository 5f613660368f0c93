"""The table of queries: order, filters, search and export."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.report import contents
from tests.report.conftest import OpenPage


def ids(page: Page) -> list[str]:
    return page.locator("table.queries tbody a").all_inner_texts()


def test_the_worst_loss_comes_first(open_page: OpenPage) -> None:
    content = contents.small()
    page = open_page(content)
    before, after = (content["queries"]["values"][system][0] for system in (1, 2))
    expected = sorted(range(12), key=lambda at: (round(after[at] - before[at], 9), at))
    assert ids(page) == [f"q{at + 1}" for at in expected]


def test_of_a_measure_of_which_less_is_better_the_largest_rise_is_the_worst_loss(open_page: OpenPage) -> None:
    content = contents.small()
    content["measures"][0]["higher"] = False
    page = open_page(content)
    before, after = (content["queries"]["values"][system][0] for system in (1, 0))
    worst = max(range(12), key=lambda at: after[at] - before[at])
    assert ids(page)[0] == f"q{worst + 1}"
    page.select_option("#filter", "worse")
    assert len(ids(page)) == sum(b > a for a, b in zip(before, after, strict=True))


def test_a_click_on_a_heading_sorts_the_queries(open_page: OpenPage) -> None:
    page = open_page(contents.small())
    page.locator("table.queries thead").get_by_role("button", name="Query").click()
    assert ids(page) == [f"q{at + 1}" for at in range(12)]
    expect(page.locator("table.queries th.query[scope=col]")).to_have_attribute("aria-sort", "ascending")
    expect(page.locator("table.queries thead").get_by_role("button", name="Query")).to_be_focused()
    page.locator("table.queries thead").get_by_role("button", name="Query").click()
    assert ids(page)[0] == "q12"


def test_filters_search_and_slices_select_queries_and_the_count_says_so(open_page: OpenPage) -> None:
    content = contents.small()
    page = open_page(content)
    before, after = (content["queries"]["values"][system][0] for system in (1, 2))
    worse = {f"q{at + 1}" for at in range(12) if after[at] < before[at]}
    page.select_option("#filter", "worse")
    assert set(ids(page)) == worse
    expect(page.get_by_role("status").first).to_contain_text(f"{len(worse)} of 12 queries")
    page.select_option("#filter", "failed")
    first = content["queries"]["first"][2]
    assert set(ids(page)) == {f"q{at + 1}" for at in range(12) if first[at] is None or first[at] > 10}
    page.select_option("#filter", "unjudged")
    unjudged = content["queries"]["unjudged"]
    assert set(ids(page)) == {f"q{at + 1}" for at in range(12) if unjudged[1][at] or unjudged[2][at]}
    page.select_option("#filter", "all")
    page.select_option("#slice", label="how-to")
    assert set(ids(page)) == {f"q{at}" for at in range(2, 13, 2)}
    page.select_option("#slice", label="all")
    page.fill("#search", "GOLD rust")
    assert set(ids(page)) == {"q1", "q7"}
    page.fill("#search", "nothing like this")
    page.get_by_role("button", name="Show all queries").click()
    assert len(ids(page)) == 12


def test_another_measure_and_another_pair_change_the_table(open_page: OpenPage) -> None:
    content = contents.small()
    page = open_page(content)
    page.select_option("#choose-measure", label="RR")
    page.select_option("#choose-a", label="overlap")
    values = content["queries"]["values"]
    expected = sorted(range(12), key=lambda at: (round(values[2][1][at] - values[0][1][at], 9), at))
    assert ids(page) == [f"q{at + 1}" for at in expected]
    page.get_by_role("button", name="Swap A and B").click()
    assert ids(page) == [f"q{at + 1}" for at in reversed(expected)]
    page.select_option("#choose-a", label="overlap")  # which is B: they change places
    assert page.input_value("#choose-b") == "2"


def test_only_a_hundred_queries_are_drawn_until_more_are_asked_for(open_page: OpenPage) -> None:
    page = open_page(contents.small(230))
    assert len(ids(page)) == 100
    page.get_by_role("button", name="Show 100 more").click()
    assert len(ids(page)) == 200
    expect(page.locator("table.queries tbody a").nth(100)).to_be_focused()


def test_the_selected_queries_are_exported_without_formulas(open_page: OpenPage, tmp_path: Path) -> None:
    content = contents.small()
    content["queries"]["id"][0] = '=HYPERLINK("http://example.com"),\n1'
    content["queries"]["values"][0][0][0] = -0.5
    page = open_page(content)
    page.fill("#search", "gold rust")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export as CSV").click()
    download.value.save_as(tmp_path / "queries.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "queries.csv").read_bytes().decode("utf-8"), newline="")))
    assert {row["query"] for row in rows} == {"'" + content["queries"]["id"][0], "q7"}
    row = next(row for row in rows if row["query"] != "q7")
    assert row["question"] == content["queries"]["text"][0]
    assert row["overlap nDCG@10"] == "-0.5"
    assert row["dense RR"] == str(content["queries"]["values"][2][1][0])
    assert row["kind"] == "fact"
