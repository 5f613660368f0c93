"""Reading citations in sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.grounding.responses.citations import cited_passages, find_citations

PASSAGES = ["d1", "gold-002", "d3"]


def cites(text: str, passages: list[str] = PASSAGES) -> tuple[str, ...]:
    return cited_passages(find_citations(text, passages))


@pytest.mark.parametrize(
    ("written", "passages"),
    [
        ("[1]", "d1"), ("[2, 3]", "gold-002 d3"), ("[2][1]", "gold-002 d1"), ("[1-3]", "d1 gold-002 d3"),
        ("[1–2]", "d1 gold-002"), ("(doc 3)", "d3"), ("(Doc 3, 1)", "d3 d1"), ("(see documents 1 and 3)", "d1 d3"),
        ("【1】", "d1"), ("【2†source】", "gold-002"), ("[^1]", "d1"), ("[[1]]", "d1"), ("[1](https://a.b/c)", "d1"),
        ("[gold-002]", "gold-002"), ("[d1; gold-002]", "d1 gold-002"), ("(d3)", "d3"), ("[Source 2]", "gold-002"),
        ("(see [2])", "gold-002"), ("[1, 1] [d1]", "d1"), ("[٢]", "gold-002"), ("word[1]", "d1"),
        # What points to no passage is kept as it was written.
        ("[7]", "[7]"), ("[0]", "[0]"), ("[2019]", "[2019]"), ("[1, 9]", "d1 [9]"), ("(doc 9)", "[9]"),
        ("[2-9]", "gold-002 d3 [2-9]"), ("[1990-2000]", "[1990-2000]"), ("[3-1]", "[3-1]"),
        ("[1-999999999]", "d1 gold-002 d3 [1-999999999]"),
        ("[gold-999]", "[gold-999]"), ("[7] [7]", "[7]"),
        # Not citations.
        ("[sic]", ""), ("[...]", ""), ("(1)", ""), ("(2019)", ""), ("[0, 1]", ""), ("[x, 1]", ""), ("[p. 4]", ""),
        ("`row[1]`", ""),
        ("```\nrow[1]\n```", ""), ("[read](1)", ""), ("[]", ""), ("[1", ""), ("[1\n]", ""),
        ("[12345678901]", ""), ("[silver-1]", ""),
    ],
)  # fmt: skip
def test_what_is_cited(written: str, passages: str) -> None:
    assert cites(f"Gold is soft {written}.") == tuple(passages.split())


def test_a_number_is_a_rank_before_it_is_an_id() -> None:
    assert cites("[1] [2] [7] [9]", ["2", "7"]) == ("2", "7", "[9]")
    assert cites("(2) (doc 2)", ["2", "7"]) == ("7",)


def test_ranks_count_passages_that_are_listed_twice() -> None:
    assert cites("[2] [3]", ["a", "a", "b"]) == ("a", "b")


def test_ids_with_separators_are_found() -> None:
    assert cites("[Gold, a history] [a;b]", ["Gold, a history", "a;b"]) == ("Gold, a history", "a;b")


@given(st.text("[]()【】 1239,-–^`\ndoc.", max_size=40))
def test_citations_are_in_order_and_do_not_overlap(text: str) -> None:
    found = find_citations(text, PASSAGES)
    ends = [0, *(each.end for each in found)]
    assert all(before <= each.start < each.end for before, each in zip(ends, found, strict=False))
    assert all(each.cites and len({*each.cites}) == len(each.cites) for each in found)
    known = {*PASSAGES}
    assert all(cite in known or cite[0] == "[" for each in found for cite in each.cites)
