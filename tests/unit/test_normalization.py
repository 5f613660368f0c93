"""Normalization: what each step changes, what it leaves alone, and how the option is written."""

from __future__ import annotations

import string
import unicodedata
from itertools import combinations
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from karat import KaratError, evaluate
from karat.documents.normalization import FOLDS, Folds, format_folds, normalized, parse_folds

SUBSETS: list[Folds] = [chosen for size in range(len(FOLDS) + 1) for chosen in combinations(FOLDS, size)]
ANY_FOLDS = st.sampled_from(SUBSETS)
# Characters that one step turns into input of another, and look-alikes.
TRICKY = "ǰŉẞßſKÅΐΰİıſtﬁ①½…‥“”—–¿¡´¨\u00a0\u2003\u3000\u2028\u0085\x1c\u200b\u0301\u0345ͅᾳᾼǅ㎏℃アｱﾞガ한글\ud800\U0001f600"
TEXTS = st.one_of(st.text(), st.text(alphabet=TRICKY + "aA .,\n\t"), st.text(alphabet=st.characters(max_codepoint=127)))


def slow_definition(text: str, folds: Folds) -> str:
    """The definition: apply all steps, and repeat until nothing changes."""
    while True:
        folded = text
        if "unicode" in folds:
            folded = unicodedata.normalize("NFKC", folded)
        if "case" in folds:
            folded = folded.casefold()
        if "punctuation" in folds:
            folded = "".join(
                letter
                for letter in folded
                if letter not in string.punctuation and not unicodedata.category(letter).startswith("P")
            )
        if "space" in folds:
            folded = " ".join(folded.split())
        if folded == text:
            return text
        text = folded


@given(text=TEXTS, folds=ANY_FOLDS)
def test_normalizing_applies_all_steps_until_nothing_changes(text: str, folds: Folds) -> None:
    assert normalized(text, folds) == slow_definition(text, folds)


@given(text=TEXTS, folds=ANY_FOLDS)
@example(text="J̌", folds=("unicode", "case"))
@example(text="\u00b4 a", folds=("unicode", "space"))
@example(text="a\u2025 .b", folds=FOLDS)
def test_normalizing_twice_changes_nothing(text: str, folds: Folds) -> None:
    once = normalized(text, folds)
    assert normalized(once, folds) == once


@given(text=TEXTS)
def test_each_step_removes_every_difference_it_is_for(text: str) -> None:
    assert unicodedata.is_normalized("NFKC", normalized(text, ("unicode",)))
    assert (lowered := normalized(text, ("case",))) == lowered.casefold()
    bare = normalized(text, ("punctuation",))
    assert not [letter for letter in bare if unicodedata.category(letter)[0] == "P" or letter in string.punctuation]
    spaced = normalized(text, ("space",))
    assert spaced.split(" ") == spaced.split() or not spaced


@given(text=TEXTS, folds=ANY_FOLDS)
def test_steps_that_are_not_requested_are_not_applied(text: str, folds: Folds) -> None:
    folded = normalized(text, folds)
    if "case" not in folds and "unicode" not in folds:
        assert set(folded) <= {*text, " "}
    if "punctuation" not in folds and "unicode" not in folds:
        assert sum(map(folded.count, string.punctuation)) == sum(map(text.count, string.punctuation))
    if not folds:
        assert folded is text


@pytest.mark.parametrize(
    ("fold", "text", "folded"),
    [
        ("unicode", "ﬁrst ① ½ ㎏", "first 1 1⁄2 kg"),
        ("unicode", "e\u0301", "é"),
        ("unicode", "ｶﾞ Ａ", "ガ A"),
        ("unicode", "a\u00a0b\u3000c", "a b c"),
        ("unicode", "Case, kept!\n", "Case, kept!\n"),
        ("case", "GOLD Straße ΣΊΣΥΦΟΣ", "gold strasse σίσυφοσ"),
        ("case", "ﬁ ①,  \n", "fi ①,  \n"),
        ("punctuation", "it's (3.5) kg!", "its 35 kg"),
        ("punctuation", "“Gold” — ¿qué? …", "Gold  qué "),
        ("punctuation", "$1 + <2> = ~3^4`|", "1  2  34"),
        ("punctuation", "5 € at 20 °C", "5 € at 20 °C"),
        ("punctuation", "Case  Kept\n", "Case  Kept\n"),
        ("space", "  a \t\n b\r\nc\u00a0\u3000d\x0b", "a b c d"),
        ("space", "\n", ""),
        ("space", "a\u200bb", "a\u200bb"),
        ("space", "Case, Kept.", "Case, Kept."),
    ],
)
def test_each_step_alone_gives_the_expected_text(fold: str, text: str, folded: str) -> None:
    assert normalized(text, parse_folds(fold)) == folded


@pytest.mark.parametrize(
    ("folds", "text", "folded"),
    [
        ("all", " The ﬁrst\n“Straße”… ", "the first strasse"),
        ("punctuation+space", "a - b", "a b"),
        ("punctuation+space", " . ", ""),
        ("unicode+punctuation", "a…b", "ab"),
        ("unicode+space", "a\u00b4b", "a \u0301b"),
        ("unicode+case", "Ⅷ", "viii"),
        ("case+space", "\tA  B ", "a b"),
        ("none", " As\tit is. ", " As\tit is. "),
    ],
)
def test_several_steps_together_give_the_expected_text(folds: str, text: str, folded: str) -> None:
    assert normalized(text, parse_folds(folds)) == folded


@pytest.mark.parametrize(
    ("one", "other"), [("J̌", "ǰ"), ("ΐ", "Ϊ́"), ("İ", "i̇"), ("K", "k"), ("ſ", "S"), ("ﬀ", "FF"), ("ẞ", "ss")]
)
def test_letters_with_equal_upper_or_lower_case_are_equal_after_case_folding(one: str, other: str) -> None:
    assert normalized(one, ("unicode", "case")) == normalized(other, ("unicode", "case"))


def test_a_long_text_is_normalized_quickly() -> None:
    text = "“Ein ﬁ, Straße.”\n" * 60_000
    assert normalized(text, FOLDS) == " ".join(["ein fi strasse"] * 60_000)


# How the option is written.


@given(folds=ANY_FOLDS)
def test_parsing_a_formatted_option_gives_the_same_steps(folds: Folds) -> None:
    assert parse_folds(format_folds(folds)) == folds
    assert parse_folds(list(reversed(folds))) == folds
    assert parse_folds(" + ".join(reversed(folds))) == folds


@pytest.mark.parametrize(
    ("given_", "folds"),
    [
        (None, ()), (False, ()), ("none", ()), ("false", ()), ("", ()), ([], ()), ((), ()),
        (True, FOLDS), ("all", FOLDS), ("true", FOLDS), (FOLDS, FOLDS), (set(FOLDS), FOLDS),
        ("case", ("case",)), (["space", "case", "space"], ("case", "space")), ({"case"}, ("case",)),
    ],
)  # fmt: skip
def test_the_option_may_be_text_a_list_or_a_boolean(given_: Any, folds: Folds) -> None:
    assert parse_folds(given_) == folds


def test_all_and_none_are_formatted_as_one_word() -> None:
    assert format_folds(FOLDS) == "all"
    assert format_folds(()) == "none"
    assert format_folds(("case", "space")) == "case+space"


@pytest.mark.parametrize(
    ("given_", "hint"),
    [
        ("whitespace", "Did you mean space?"),
        ("Case", "Did you mean case?"),
        (["unicodes"], "Did you mean unicode?"),
        ("case,space", "Use any of unicode+case+punctuation+space, or all, or none."),
        ("case+", "Use any of"),
        (5, "Use any of"),
        ([None], "Use any of"),
        ("NFKC", "Use any of"),
    ],
)
def test_an_unknown_step_is_an_error_that_lists_the_known_ones(given_: Any, hint: str) -> None:
    with pytest.raises(KaratError, match="is not a normalization") as raised:
        parse_folds(given_)
    assert hint in str(raised.value)


@pytest.mark.parametrize(
    ("fold", "one", "other"),
    [("unicode", "① ", "1 "), ("case", "Fine", "fINE"), ("punctuation", "f-ine", "fine."), ("space", "a  b", "a\nb")],
)
def test_a_difference_is_ignored_only_if_its_step_is_requested(fold: str, one: str, other: str) -> None:
    for folds in SUBSETS:
        match = f"content(normalize={format_folds(folds)})"
        assert evaluate([[one]], [[other]], "R", match=match)["R"] == (fold in folds)


@given(st.text("a\u0301\u0323\u0344\u0f73\u0591\u20d0é…", min_size=40, max_size=100))
def test_many_combining_marks_are_normalized_to_the_form_that_unicode_defines(text: str) -> None:
    assert normalized(text, ("unicode",)) == slow_definition(text, ("unicode",))


def test_a_letter_with_thousands_of_combining_marks_is_normalized() -> None:
    text = "e" + 100_000 * "\u0301\u0323"
    assert normalized(text, ("unicode",)) == "\u1eb9" + 99_999 * "\u0323" + 100_000 * "\u0301"
