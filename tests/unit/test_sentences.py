"""Splitting answers into sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.grounding.responses.sentences import split_sentences

PASSAGES = ["d1", "d2", "gold-003"]


@pytest.mark.parametrize(
    "sentences",
    [
        ["Gold is soft.", "It is yellow!", "Is it?", "Yes"],
        ["Gold is soft.[1]", "It is yellow [2].", "It melts. [1][2]", "It shines. (doc 2)", "It does.[gold-003]"],
        ["It is soft. [1], [2]", "It is not!"],
        ["Gold is soft.", "[1] shows it.", "It is yellow.", "[1] and [2] report this."],
        ["Dr. Smith of the U.S. Army met J. R. R. Tolkien, e.g. in No. 5.", "The end."],
        [
            "See Fig. 3, Eq. (2) and Smith et al. (2019) for approx. 5 values.",
            "He moved to the U.S.",
            "The rest stayed.",
        ],
        ["Apple Inc. CEO Cook spoke.", "He works at Apple Inc.", "The firm grew.", "So does vitamin C.", "It is sour."],
        ["Gold (z. B. Schmuck) ist weich.", "Er kostet 3.50 bzw. 4.00 Euro."],
        [
            "It costs $1,234.56.",
            "It melts at 1064.18 °C.",
            "Gold is 5 V.",
            "Lead is not.",
            "5 people saw it at 5 p.m.",
            "They left.",
        ],
        ["Well... gold is soft.", "Well...", "Gold is soft…", "Yes [...] and (?) Maybe."],
        ['He said "Gold is soft."', '"Why?" he asked.', "(It is.)", "**It is bold.**", "«Oui.»"],
        ["See https://karat.dev/a?b=C.D or mail a.b@c.de.", "Then use Node.js, README.md or v2.0.1."],
        ["金は柔らかい。", "黄色い！", "本当？", "「はい。」", "そう"],
        ["सोना नरम है।", "यह पीला है।"],
        ["هل الذهب لين؟", "نعم."],
        ["Three uses: 1. Jewellery.", "2. Coins.", "3. Plugs."],
        ["pH is 5.", "pH is 6.", "iPhones contain gold."],
        ["Run `a. B` now.", "Then stop."],
    ],
    ids=lambda sentences: sentences[0].encode("ascii", "replace").decode(),
)
def test_sentences_of_a_paragraph(sentences: list[str]) -> None:
    assert split_sentences(" ".join(sentences), PASSAGES) == sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        (" \n\t ", []),
        ("# Uses\nGold is\nsoft and\r\nyellow. Yes", ["# Uses", "Gold is\nsoft and\r\nyellow.", "Yes"]),
        ("Uses:\n- Coins\n- Plugs. Also rings\n\n1. First. More\n2) Second",
         ["Uses:", "- Coins", "- Plugs.", "Also rings", "1. First.", "More", "2) Second"]),
        ("| a | b |\n| c | d |\n> Soft.", ["| a | b |", "| c | d |", "> Soft."]),
        ("Gold is soft.\n[1]\nIt is yellow.\n[2] [1]", ["Gold is soft.\n[1]", "It is yellow.\n[2] [1]"]),
        ("Run:\n```python\nx = 1. \nY. Z\n```\nThen stop.", ["Run:", "```python\nx = 1. \nY. Z\n```", "Then stop."]),
        ("Run ```x. Y\nnot closed. Z", ["Run", "```x. Y\nnot closed. Z"]),
        ("gold is soft. it is yellow.", ["gold is soft.", "it is yellow."]),
        ("Gold is soft.\nit is yellow", ["Gold is soft.", "it is yellow"]),
        ("金は柔らかい。黄色い！そう", ["金は柔らかい。", "黄色い！", "そう"]),
        ("Gold is soft.It is yellow!Yes it is.[1]And soft.Gold is",
         ["Gold is soft.", "It is yellow!", "Yes it is.[1]", "And soft.", "Gold is"]),
        ("In System.Collections.Generic is numpy.array", ["In System.Collections.Generic is numpy.array"]),
        ("As in [Doc. 2] Gold. [Doc. 1] And", ["As in [Doc. 2] Gold. [Doc. 1]", "And"]),
        ("...", ["..."]),
    ],
)  # fmt: skip
def test_sentences_of_a_text(text: str, sentences: list[str]) -> None:
    assert split_sentences(text, PASSAGES) == sentences


PARTS = [
    "Gold", "is", "e.g", "U.S", "1", ".", "!", "?", "…", "。", " ", "  ", "\n", "\r\n", "\n\n", "[1]", "[9]", "(doc 2)",
    "[", "]", "(", ")", '"', "`", "```", "- ", "# ", "a", "Z", ",", "\x00", "\u2028", "\ud800", "\x1f",
]  # fmt: skip


@given(st.lists(st.sampled_from(PARTS) | st.text(max_size=3), max_size=30).map("".join))
def test_the_sentences_and_the_white_space_between_them_are_the_text(text: str) -> None:
    rest = text
    for sentence in split_sentences(text, PASSAGES):
        white, rest = rest[: len(rest) - len(rest.lstrip())], rest.lstrip()
        assert not white.strip()
        assert sentence == sentence.strip() != ""
        assert rest.startswith(sentence)
        rest = rest[len(sentence) :]
    assert not rest.strip()


@pytest.mark.parametrize(
    "part",
    ["a", ".", ". ", "[", "]", "(doc ", "`", "\n ", "Dr. ", "[1] ", "x.[1] ", "1. ", '."', "A.", "[1,",
     "X. \t", "ab.Ab"],
)  # fmt: skip
def test_many_characters_of_one_kind_are_split(part: str) -> None:
    text = part * (20_000 // len(part))
    assert "".join("".join(split_sentences(text, PASSAGES)).split()) == "".join(text.split())
