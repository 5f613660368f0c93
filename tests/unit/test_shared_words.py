"""The parts of two answers that have the words they share."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.data.answers import Answers
from karat.measures.answers.normalizers import NORMALIZERS
from karat.measures.answers.overlap import word_overlap
from karat.measures.answers.shared_words import Spans, shared_words

TEXTS = st.text("ab AThe,-. \n金é", max_size=25) | st.lists(
    st.sampled_from(["the", "Gold,", "gold", "is", "soft", "金は", "重い", "o.k.", "-"]), max_size=7
).map(" ".join)


def words_in(text: str, spans: Spans, normalize: str) -> Counter[str]:
    normalizer = NORMALIZERS[normalize]
    lines = normalizer.to_lines([text[start:end] for start, end in spans])
    return Counter(word for line in lines for word in normalizer.words(line))


@given(TEXTS, TEXTS, st.sampled_from(["true", "neutral"]))
def test_both_parts_have_only_shared_words_in_order_and_apart(gold: str, predicted: str, normalize: str) -> None:
    shared = words_in(gold, [(0, len(gold))], normalize) & words_in(predicted, [(0, len(predicted))], normalize)
    for text, spans in zip((predicted, gold), shared_words(gold, predicted, normalize), strict=True):
        assert words_in(text, spans, normalize) <= shared
        ends = [end for span in spans for end in span]
        assert ends == sorted(set(ends))


@given(TEXTS, TEXTS)
def test_as_many_words_are_shared_as_the_measures_count(gold: str, predicted: str) -> None:
    """With SQuAD's normalization, each part between blanks is one word at most."""
    (counted,) = word_overlap(Answers(("q",), [[gold]], [predicted]), "true").shared.tolist()
    for text, spans in zip((predicted, gold), shared_words(gold, predicted), strict=True):
        assert words_in(text, spans, "true").total() == counted


@pytest.mark.parametrize(
    ("gold", "predicted", "normalize", "parts"),
    [
        ("the Eiffel Tower", "It is the Eiffel Tower!", "true", (["Eiffel Tower!"], ["Eiffel Tower"])),
        ("gold gold", "Gold", "true", (["Gold"], ["gold"])),
        ("金は重い", "金は軽い", "neutral", (["金は", "い"], ["金は", "い"])),
        ("", "nothing", "true", ([], [])),
    ],
)
def test_shared_words_are_parts_of_the_texts_as_given(
    gold: str, predicted: str, normalize: str, parts: tuple[list[str], list[str]]
) -> None:
    in_predicted, in_gold = shared_words(gold, predicted, normalize)
    assert ([predicted[slice(*span)] for span in in_predicted], [gold[slice(*span)] for span in in_gold]) == parts
