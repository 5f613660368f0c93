"""Where a chunk is in its gold document, compared with a slow definition."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from karat.documents.normalization import FOLDS, Folds, normalized, original_span
from karat.matching.containment import locator
from karat.matching.matchers import matcher_of

LETTERS = st.text("aAbß ﬁ.-\n\t①é", max_size=9)


def slow_span(gold: str, folds: Folds, form: str) -> tuple[int, int]:
    """The shortest part that contains the form when it is normalized, among those that end first."""
    end = next(end for end in range(len(gold) + 1) if form in normalized(gold[:end], folds))
    start = next(start for start in range(end, -1, -1) if form in normalized(gold[start:end], folds))
    return start, end


@given(LETTERS, LETTERS, LETTERS, st.sets(st.sampled_from(FOLDS)))
def test_a_chunk_is_found_where_the_gold_text_as_given_contains_it(
    before: str, chunk: str, after: str, chosen: set[str]
) -> None:
    folds = tuple(fold for fold in FOLDS if fold in chosen)
    gold = before + chunk + after
    form = normalized(chunk, folds)
    document = normalized(gold, folds)
    assume(form.strip() and form in document)
    at = document.index(form)
    assert original_span(gold, folds, at, at + len(form)) == slow_span(gold, folds, form)
    locate = locator(matcher_of(f"chunk(normalize={'+'.join(folds) or 'none'})"))
    assert locate is not None
    assert locate(chunk, gold) == slow_span(gold, folds, form)


@pytest.mark.parametrize(
    ("match", "chunk", "gold", "part"),
    [
        ("chunk", "user: I said: hello", "He wrote: I said: hello, twice.", "I said: hello"),
        ("chunk", 'a "b"', 'x a \\"b\\" y', 'a \\"b\\"'),
        ("chunk(normalize=unicode)", "caf\u00e9", "un cafe\u0301!", "cafe\u0301"),
        ("chunk(normalize=unicode)", "\uac01", "x\u1100\u1161\u11a8x", "\u1100\u1161\u11a8"),
        (
            "chunk(threshold=80)",
            "the cta sat on teh mat",
            "Yesterday the cat sat on the mat again",
            "the cat sat on the mat",
        ),
        ("fuzzy", "Yesterday the cat sat on the mat", "the  CAT sat on", "the  CAT sat on"),
    ],
)
def test_the_place_of_a_chunk_is_a_part_of_the_text_as_given(match: str, chunk: str, gold: str, part: str) -> None:
    locate = locator(matcher_of(match))
    assert locate is not None
    span = locate(chunk, gold)
    assert span is not None
    assert gold[slice(*span)] == part


def test_a_long_text_that_is_only_similar_has_a_place_where_it_is_similar() -> None:
    words = [f"{at * at % 977:b}" for at in range(300)]
    gold = " ".join(words)
    chunk = " ".join([*words[100:150], "gold", *words[151:200]])
    assert len(chunk) > 600
    for match in ("fuzzy(threshold=95)", "chunk(threshold=95)"):
        locate = locator(matcher_of(match))
        assert locate is not None
        span = locate(chunk, gold)
        assert span is not None
        part = " ".join(words[100:200])
        assert abs(span[0] - gold.index(part)) <= 8
        assert span[1] - span[0] == len(chunk)
        assert locate("x" + "other words " * 60, gold) is None


def test_matchers_that_do_not_search_in_the_gold_text_know_no_place() -> None:
    assert locator(matcher_of("overlap")) is None
    assert locator(matcher_of("content")) is None
