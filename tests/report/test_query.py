"""An opened query, its link, and the keys."""

from __future__ import annotations

from itertools import pairwise

from playwright.sync_api import Page, expect

from tests.report import contents
from tests.report.conftest import OpenPage


def opened(page: Page) -> str:
    return page.inner_text("#query-heading .id")


def test_a_click_opens_a_query_with_lists_answers_and_contributions(open_page: OpenPage) -> None:
    content = contents.small()
    page = open_page(content)
    page.locator("table.queries tbody tr", has_text="What is known about gold rust (1)?").click()
    assert opened(page) == "q1"
    expect(page.locator("#query-heading")).to_be_focused()
    expect(page.locator("#query-heading")).to_contain_text("What is known about gold rust (1)?")
    lists = page.locator("#query .list")
    assert lists.locator("h4").all_inner_texts() == ["A bm25", "B dense", "overlap"]
    for at, system in enumerate([1, 2, 0]):
        docs = content["lists"][system][0]["docs"]
        assert lists.nth(at).locator("ol li .id").all_inner_texts() == [f"d{doc}" for doc in docs]
    assert page.locator("#query .card p.text mark").first.inner_text() == "Aqua regia"
    contributions = page.locator("table.contributions tbody tr")
    assert contributions.count() == 3
    expect(contributions.nth(1)).to_contain_text("not retrieved")
    expect(contributions.nth(1)).to_contain_text("+0.1000")


def test_contributions_say_from_which_system_to_which(open_page: OpenPage) -> None:
    content = contents.small()
    content["moves"]["1>2"]["nDCG@10"]["0"].append(["number of documents retrieved", None, None, 0.00001])
    page = open_page(content, "#query=q1&a=dense&b=bm25")
    table = page.locator("table.contributions")
    assert table.locator("thead th").all_inner_texts()[2:4] == ["bm25", "dense"]
    cells = [row.locator("th, td").all_inner_texts() for row in table.locator("tbody tr").all()]
    assert [text.strip() for text in cells[0][2:]] == ["rank 3", "rank 1", "+0.2500"]
    assert [text.strip() for text in cells[3]] == ["number of documents retrieved", "", "", "", "+1e−05"]
    expect(page.locator("#query")).to_contain_text("when the document moves from bm25 to dense, one document at a time")


def test_grades_unjudged_documents_and_missed_gold_are_marked_in_words(open_page: OpenPage) -> None:
    content = contents.small()
    gold = content["golds"][0]["docs"]
    content["lists"][1][0] = {
        "docs": [gold[0], gold[3], 39],
        "total": 3,
        "hits": [[0, 0, "same id", None], [1, 3, "same id", None]],
        "below": [[57, 2]],
    }
    page = open_page(content, "#query=q1")
    column = page.locator("#query .list").first
    badges = column.locator("ol .grade")
    assert [text.split()[-1] for text in badges.all_text_contents()] == ["relevant", "relevant", "unjudged"]
    assert "not relevant" in badges.all_text_contents()[1]
    assert column.locator(".missed li .id").all_inner_texts() == [f"d{doc}" for doc in gold[1:3]]
    assert column.locator(".missed li .move").all_inner_texts() == ["not retrieved", "at rank 57"]


def test_a_document_that_matches_several_gold_documents_finds_them_all(open_page: OpenPage) -> None:
    content = contents.small()
    hits = [[0, 0, "contained", None], [0, 1, "contained", None], [1, 1, "contained", None], [2, 0, "contained", None]]
    content["lists"][1][0] = {"docs": [37, 38, 39], "total": 3, "hits": hits, "below": []}
    content["documents"]["id"][37] = None
    page = open_page(content, "#query=q1")
    column = page.locator("#query .list").first
    assert column.locator(".missed li .id").all_inner_texts() == [f"d{content['golds'][0]['docs'][2]}"]
    assert ["repeated" in text for text in column.locator("ol li").all_inner_texts()] == [False, True, True]
    assert column.locator("ol li .id").all_inner_texts() == ["d38", "d39"]
    assert column.locator("ol .grade").first.get_attribute("title") == "relevant, grade 2 (contained)"


def test_a_document_of_the_pool_that_nobody_judged_is_unjudged(open_page: OpenPage) -> None:
    content = contents.small()
    content["golds"][0].update(grades=[2, 1, 1, 0, -1])
    content["lists"][1][0] = {"docs": [content["golds"][0]["docs"][4]], "total": 1, "hits": [[0, 4, "same id", None]]}
    page = open_page(content, "#query=q1")
    assert page.locator("#query .list").first.locator("ol .grade").all_text_contents() == ["? unjudged"]


def test_what_a_cut_list_does_not_show_is_not_called_new(open_page: OpenPage) -> None:
    content = contents.small()
    relevant = content["golds"][0]["docs"][0]
    hit = [0, 0, "same id", None]
    content["lists"][2][0] = {"docs": [relevant, 39], "total": 2, "hits": [hit]}
    for total, expected in ((57, ["▲ up 56", "not in the top 1 of A"]), (1, ["new", "new"])):
        below = [[57, 0]] if total > 1 else []
        content["lists"][1][0] = {"docs": [38], "total": total, "hits": [], "below": below}
        page = open_page(content, "#query=q1")
        assert page.locator("#query .list").nth(1).locator("ol .move").all_text_contents() == expected


def test_a_list_that_is_missing_says_so(open_page: OpenPage) -> None:
    page = open_page(contents.small(), "#query=q12")
    expect(page.locator("#query .list").last).to_contain_text("This system returned nothing for this query.")


def test_of_many_systems_the_chosen_ones_are_shown_and_a_few_others(open_page: OpenPage) -> None:
    content = contents.small()
    table, queries = content["table"], content["queries"]
    columns = [table[key] for key in ("rows", "unjudged", "missing")]
    columns += [queries[key] for key in ("values", "first", "unjudged", "missing")]
    for column in columns:
        column.extend(column[0] for _ in range(97))
    content["systems"] += [f"system {at}" for at in range(97)]
    content["lists"] += [content["lists"][0]] * 97
    content["answers"]["predicted"] += [content["answers"]["predicted"][0]] * 97
    page = open_page(content, "#query=q1&b=system 50")
    assert page.locator("#query .list h4").all_inner_texts() == [
        "A bm25",
        "B system 50",
        "overlap",
        "dense",
        "system 0",
        "system 1",
    ]
    assert page.locator("#query .card:not(.gold) h4").count() == 6
    expect(page.locator("#query")).to_contain_text("94 other systems not shown: choose them as A or B.")


def test_one_system_has_no_sides(open_page: OpenPage) -> None:
    page = open_page(contents.alone(), "#query=q1")
    assert page.locator(".side:visible, #choose-a, #choose-b").count() == 0


def test_lines_connect_the_same_document_in_neighbouring_lists(open_page: OpenPage) -> None:
    content = contents.small()
    page = open_page(content, "#query=q1")
    lists = [content["lists"][system][0]["docs"] for system in (1, 2, 0)]
    common = sum(len(set(left) & set(right)) for left, right in pairwise(lists))
    expect(page.locator("#query .lines path")).to_have_count(common)


def test_a_long_text_unfolds(open_page: OpenPage) -> None:
    content = contents.small()
    page = open_page(content, "#query=q1")
    text = page.locator("#query .list details").first
    assert not text.locator("p").is_visible()
    text.locator("summary").click()
    assert text.locator("p").inner_text() == content["documents"]["text"][content["lists"][1][0]["docs"][0]].strip()


def test_a_chunk_is_highlighted_inside_its_gold_document_by_code_points(open_page: OpenPage) -> None:
    content = contents.small()
    gold = content["golds"][0]["docs"][0]
    content["documents"]["text"][gold] = "𝔊𝔬𝔩𝔡 does not rust. It is noble."
    for system, span in ((1, [5, 19]), (2, [0, 4])):
        content["lists"][system][0] = {"docs": [39], "total": 1, "hits": [[0, 0, "contained", span]]}
    page = open_page(content, "#query=q1")
    card = page.locator("#query section", has_text="Chunks in their gold documents").locator(".card")
    assert card.locator("mark").all_inner_texts() == ["𝔊𝔬𝔩𝔡", "does not rust."]
    assert card.locator(".text .side").all_inner_texts() == ["B 1", "A 1"]


def test_a_link_leads_to_a_query_with_measure_and_pair(open_page: OpenPage) -> None:
    page = open_page(contents.small(), "#query=q5&measure=RR&a=overlap&b=bm25&filter=unjudged&search=q&sort=-first")
    assert opened(page) == "q5"
    chosen = page.evaluate(
        "['measure', 'a', 'b'].map((name) => document.querySelector(`#choose-${name} option:checked`).text)"
    )
    assert chosen == ["RR", "overlap", "bm25"]
    assert page.input_value("#filter") == "unjudged"
    assert page.input_value("#search") == "q"
    expect(page.locator("th.first[aria-sort=descending]")).to_have_count(1)


def test_a_link_with_names_that_the_report_does_not_have_opens_the_overview(open_page: OpenPage) -> None:
    page = open_page(contents.small(), "#query=no&measure=no&a=no&filter=no&sort=no&slice=__proto__&group=1")
    assert not page.locator("#query").is_visible()
    assert page.locator("table.queries tbody tr").count() == 12


def test_back_and_forward_lead_through_what_was_opened(open_page: OpenPage) -> None:
    page = open_page(contents.small())
    page.select_option("#choose-measure", label="RR")
    page.locator("a[data-query='4']").click()
    assert "query=q5" in page.url
    page.get_by_role("button", name="Close").click()
    assert "query" not in page.url
    page.go_back()
    assert opened(page) == "q5"
    page.go_back()
    expect(page.locator("#query")).to_be_hidden()
    page.go_back()
    expect(page.locator("#choose-measure option:checked")).to_have_text("nDCG@10")
    page.go_forward()
    page.go_forward()
    assert opened(page) == "q5"


def test_everything_can_be_done_with_the_keyboard(open_page: OpenPage) -> None:
    page = open_page(contents.small())
    order = page.locator("table.queries tbody a").all_inner_texts()
    press = page.keyboard.press
    press("j")
    press("j")
    press("ArrowDown")
    press("k")
    press("Enter")
    assert opened(page) == order[1]
    press("j")
    press("ArrowRight")
    press("k")
    assert opened(page) == order[2]
    press("Escape")
    expect(page.locator("#query")).to_be_hidden()
    expect(page.locator("table.queries tbody a").nth(2)).to_be_focused()
    press("/")
    page.keyboard.type("q12 jk?")
    assert page.input_value("#search") == "q12 jk?"
    press("Escape")
    expect(page.locator("#search")).not_to_be_focused()
    assert page.input_value("#search") == "q12 jk?"
    press("?")
    expect(page.locator("#help")).to_be_visible()
    press("Escape")
    expect(page.locator("#help")).to_be_hidden()


def test_the_focus_stays_in_an_open_query(open_page: OpenPage) -> None:
    page = open_page(contents.small(), "#query=q1")
    for _ in range(60):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('main, .top') === null")
