"""Fuzzy matching against its plain definition: no filter loses a pair, at any threshold and length."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rapidfuzz import fuzz

from karat import evaluate
from karat.matching import fuzzy, similarity, windows
from karat.matching.windows import partial_ratio_of_all_windows, search

ALPHABETS = ("ab", "abc ", "abcdefgh ", "é金ab ", "etaoinshrdlu    ")
LENGTHS = (14, 40, 70, 150, 300)
"""Limits of the lengths of texts. rapidfuzz compares texts of up to 64 characters in another way than longer ones."""


def similar(one: str, other: str, threshold: float) -> bool:
    if min(len(one), len(other)) < 12:
        return bool(one) and one == other
    return fuzz.partial_ratio(one, other) >= threshold


def hits(texts: Sequence[str], golds: Sequence[str], match: Any) -> set[tuple[str, str]]:
    evidence = evaluate({"q": list(golds)}, {"q": list(texts)}, "R", match=match).evidence
    assert evidence is not None
    ranks, found = evidence.judged.hit_rank.tolist(), evidence.judged.hit_gold.tolist()
    return {(texts[rank - 1], evidence.truth.docs[gold]) for rank, gold in zip(ranks, found, strict=True)}


def letters(source: random.Random, alphabet: str, most: int, least: int = 0) -> str:
    return "".join(source.choices(alphabet, k=source.randint(min(least, most), most)))


def with_typos(source: random.Random, text: str, alphabet: str, rate: float) -> str:
    """Leave out, replace, insert and transpose characters."""
    written: list[str] = []
    for at, character in enumerate(text):
        if source.random() >= rate:
            written.append(character)
            continue
        written += source.choice(
            [[], [source.choice(alphabet)], [character, source.choice(alphabet)], [*text[at + 1 : at + 2], character]]
        )
    return "".join(written)


def nearly(source: random.Random, gold: str, alphabet: str, rate: float, most: int) -> str:
    """A piece of a text with typos, some with other characters before or after it, or of the length of the text."""
    start = source.choice([0, source.randint(0, len(gold))])
    stop = source.choice([len(gold), source.randint(start, min(len(gold), start + most))])
    piece = with_typos(source, gold[start:stop], alphabet, rate)
    before, after = (source.choice(["", letters(source, alphabet, 30)]) for _ in range(2))
    whole = before + piece + after
    return source.choice([whole, whole, (whole + letters(source, alphabet, most, most))[: len(gold)]])


@st.composite
def batches(draw: st.DrawFn) -> tuple[list[str], list[str], float]:
    """Texts, golds that some are cut from, and a threshold: any, or the ratio of one of the pairs.

    The rate of typos is about what the threshold allows, so that many ratios are near it. Only the seed is drawn by
    hypothesis: drawing thousands of characters would be slow.
    """
    source = random.Random(draw(st.integers(0, 2**64)))
    alphabet, most = draw(st.sampled_from(ALPHABETS)), draw(st.sampled_from(LENGTHS))
    threshold = draw(
        st.sampled_from([0.0, 50.0, 70.0, 80.0, 89.0, 90.0, 92.0, 95.0, 98.0, 100.0]) | st.floats(1.5, 100)
    )
    sizes = [source.choice([most, most, 4 * most]) for _ in range(source.randint(1, 4))]
    golds = [letters(source, alphabet, size, source.choice([0, 12, size])) for size in sizes]
    rate = (1 - threshold / 100) * source.uniform(0.3, 1.5)
    texts = [nearly(source, source.choice(golds), alphabet, rate, most) for _ in range(source.randint(1, 10))]
    texts.append(letters(source, alphabet, most))
    # Empty documents are not compared.
    texts, golds = list(filter(None, texts)), list(filter(None, golds)) or ["a"]
    if draw(st.booleans()):
        texts, golds = golds, texts
    if draw(st.booleans()):
        ratio = fuzz.partial_ratio(source.choice(texts), source.choice(golds))
        threshold = threshold if 0 < ratio <= 1 else ratio
    return texts, golds, threshold


@given(batch=batches())
@settings(max_examples=300, deadline=None)
@example(batch=(["the cta sat on teh mat"], ["Yesterday the cat sat on the mat again"], 90))
def test_fuzzy_is_the_partial_ratio_compared_with_the_threshold(batch: tuple[list[str], list[str], float]) -> None:
    texts, golds, threshold = batch
    expected = {(text, gold) for text in texts for gold in golds if similar(text, gold, threshold)}
    assert hits(texts, golds, fuzzy(threshold, normalize=())) == expected


def evenly(text: str, count: int, insert: bool) -> str:
    """A text in which `count` characters, as far from each other as possible, are replaced or inserted."""
    places = [(2 * at + 1) * len(text) // (2 * count) for at in range(count)]
    return "".join(
        f"-{character if insert else ''}" if at in places else character for at, character in enumerate(text)
    )


@pytest.mark.parametrize("threshold", [65, 80, 89, 90, 92, 95, 98])
def test_as_many_typos_as_the_threshold_allows_match_wherever_they_are(threshold: int) -> None:
    # Typos that are far from each other leave the fewest runs of characters in common.
    ratio = Fraction(threshold, 100)
    source = random.Random(threshold)
    gold = letters(source, "abcdefghijklmnopqrstuvwxyz", 1500, 1500)
    texts = []
    for size in (30, 80, 130, 260, 400):
        replaced = floor((1 - ratio) * size)
        starts = range(0, len(gold) - size, 61)
        texts += [evenly(gold[start : start + size], replaced, insert=False) for start in starts]
        # Only at an end, rapidfuzz also compares pieces that are shorter than the text.
        common = ceil(ratio * size / (2 - ratio))
        texts += [evenly(piece, size - common, insert=True) for piece in (gold[:common], gold[-common:])]
    assert all(similar(text, gold, threshold) for text in texts)
    assert hits(texts, [gold], fuzzy(threshold)) == {(text, gold) for text in texts}
    assert hits([gold], texts, fuzzy(threshold)) == {(gold, text) for text in texts}


@given(batch=batches())
@settings(max_examples=50, deadline=None)
@example(batch=(["ab" * 60], ["aab" * 60], 80))
@example(batch=(["ab" * 60 + "c"], ["b" + "ab" * 60], 100))
@example(batch=(["a"], ["a"], 50))
@example(batch=(["ab"], ["c\ud800"], 50))
def test_the_best_window_of_long_texts_has_the_partial_ratio(batch: tuple[list[str], list[str], float]) -> None:
    texts, golds, threshold = batch
    short, long = sorted((texts[0], golds[0]), key=len)
    expected = fuzz.partial_ratio(short, long)
    assert partial_ratio_of_all_windows(short, long) == expected
    assert search(short, long, 0, 100) in (expected, None)
    found = search(short, long, threshold - 1e-6, threshold)
    assert found is None or (found >= threshold) == (expected >= threshold)


@pytest.mark.parametrize("comparisons", [0, 3, 128])
def test_long_texts_match_if_the_partial_ratio_reaches_the_threshold(
    comparisons: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # All texts are long, and some ratios equal the threshold.
    monkeypatch.setattr(similarity, "_LONG", 11)
    monkeypatch.setattr(windows, "_COMPARISONS", comparisons)
    source = random.Random(comparisons)
    for alphabet in ALPHABETS:
        golds = [letters(source, alphabet, 100, 12) for _ in range(2)]
        texts = [nearly(source, source.choice(golds), alphabet, 0.2, 100) or "a" for _ in range(5)]
        for threshold in (60, 75, 90, fuzz.partial_ratio(texts[0], golds[0]) or 50):
            expected = {(text, gold) for text in texts for gold in golds if similar(text, gold, threshold)}
            assert hits(texts, golds, fuzzy(threshold, normalize=())) == expected


def test_long_texts_that_repeat_themselves_are_compared_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[str, str]] = []

    def counted(short: str, long: str) -> float:
        compared.append((short, long))
        return partial_ratio_of_all_windows(short, long)

    monkeypatch.setattr(similarity, "partial_ratio_of_all_windows", counted)
    monkeypatch.setattr(windows, "_COMPARISONS", 2)
    text, gold = "ab" * 350, "aab" * 300
    ratio = fuzz.partial_ratio(text, gold)
    assert hits([text], [gold], fuzzy(ratio)) == {(text, gold)}
    assert hits([text], [gold], fuzzy(ratio + 1e-9)) == set()
    assert compared
    assert set(compared) == {(text, gold)}


def test_long_texts_need_few_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    source = random.Random(15)
    gold = letters(source, "etaoinshrdlu    ", 20_000, 20_000)
    text = with_typos(source, gold[5_000:15_000], "etaoinshrdlu    ", 0.1)
    monkeypatch.setattr(similarity, "partial_ratio_of_all_windows", None)
    evaluated = evaluate({"q": [gold]}, {"q": [text]}, "R", match="fuzzy(threshold=80)")
    (row,) = evaluated.explain("q").rows
    ratio = float(row.reason.removeprefix("partial ratio "))
    assert 80 < ratio < 100
    assert hits([text], [gold], fuzzy(ratio - 0.05)) == {(text, gold)}
    assert hits([text], [gold], fuzzy(ratio + 0.05)) == set()


def test_a_note_names_queries_whose_texts_are_slow_to_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "_SLOW", 100_000)
    monkeypatch.setattr(windows, "_COMPARISONS", 2)
    golds, retrieved = {"long": ["aab" * 300], "short": ["aab" * 20]}, {"long": ["ab" * 350], "short": ["ab" * 30]}
    for match in ("fuzzy(threshold=85)", "chunk(threshold=85)"):
        scores = evaluate(golds, retrieved, "R", match=match)
        (finding,) = (finding for finding in scores.findings if finding.code == "long-texts")
        assert finding.queries == ("long",)
        assert str(finding) == (
            "1 query with texts so long that comparing them is slow: long. Split long texts into chunks."
        )
