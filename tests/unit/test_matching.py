"""What counts as a hit: each matcher against a slow, plain definition, on texts that are likely to match."""

from __future__ import annotations

import json
import logging
import pickle
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from itertools import combinations, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import haystack
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from rapidfuzz import fuzz

import karat.integrations.haystack as in_haystack
from karat import Document, KaratError, Pipeline, Scores, definitions, evaluate, evaluate_results, evaluate_runs
from karat.components.evaluators import (
    DocumentMAPEvaluator,
    DocumentMeasureEvaluator,
    DocumentMRREvaluator,
    DocumentNDCGEvaluator,
    DocumentRecallEvaluator,
)
from karat.data.judged import Judged
from karat.matching import chunk, fuzzy, is_chunk_from_original, matcher_of, overlap, prefix, same

Says = Callable[[Any, Any], bool]
"""Whether a retrieved document is a hit of a gold one."""
Texts = dict[str, tuple[list[str], list[str]]]
"""The gold texts and the retrieved texts of each query."""
Found = list[tuple[str, int, Any]]
"""The query, the rank and the gold of each hit."""


# The definitions, from the specification.

FOLDS = ("unicode", "case", "punctuation", "space")
ALL_FOLDS = [chosen for size in range(len(FOLDS) + 1) for chosen in combinations(FOLDS, size)]
NEARLY = ("unicode", "case", "space")


def folded(text: str, folds: Sequence[str]) -> str:
    while True:
        was = text
        if "unicode" in folds:
            text = unicodedata.normalize("NFKC", text)
        if "case" in folds:
            text = text.casefold()
        if "punctuation" in folds:
            text = "".join(c for c in text if c not in string.punctuation and unicodedata.category(c)[0] != "P")
        if "space" in folds:
            text = " ".join(text.split())
        if text == was:
            return text


def spelled(folds: Sequence[str]) -> str:
    return "+".join(folds) or "none"


def is_same(folds: Sequence[str]) -> Says:
    return lambda retrieved, gold: bool(folded(gold, folds)) and folded(retrieved, folds) == folded(gold, folds)


def belongs(separator: str, folds: Sequence[str] = ()) -> Says:
    def says(retrieved: str, gold: str) -> bool:
        one, other = folded(retrieved, folds), folded(gold, folds)
        # A character is appended before normalization, so that blanks of the separator are not at the end.
        return bool(other) and (one == other or one.startswith(folded(f"{other}{separator}x", folds)[:-1]))

    return says


def without_wrapping(text: str) -> str:
    if text.startswith("Date: "):
        lines = text.split("\n")
        text = "\n".join(lines[1:])
    for speaker in ("user: ", "assistant: "):
        if text.startswith(speaker):
            return text[len(speaker) :]
    return text


def as_it_is(text: str) -> str:
    return text


def escaped(text: str) -> str:
    return json.dumps(text)[1:-1]


def escaped_but_letters(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def is_cut_from(folds: Sequence[str] = (), threshold: float | None = None, keep_bare_prefix: bool = True) -> Says:
    def says(retrieved: str, gold: str) -> bool:
        text = without_wrapping(retrieved)
        if keep_bare_prefix and not folded(text, folds).strip():
            text = retrieved
        if not folded(text, folds).strip():
            return False
        forms = (text, escaped(text), escaped_but_letters(text))
        if any(folded(form, folds) in folded(gold, folds) for form in forms):
            return True
        return threshold is not None and is_nearly(threshold, folds or NEARLY)(text, gold)

    return says


def is_nearly(threshold: float, folds: Sequence[str] = NEARLY) -> Says:
    def says(retrieved: str, gold: str) -> bool:
        one, other = folded(retrieved, folds), folded(gold, folds)
        if min(len(one), len(other)) < 12:
            return bool(one) and one == other
        return fuzz.partial_ratio(one, other) >= threshold

    return says


def words(text: str) -> list[str]:
    """Runs of letters and digits with their combining marks; each Chinese or Japanese character is a word."""
    found: list[str] = []
    inside = False
    for letter in text:
        alone = unicodedata.name(letter, "").startswith(("CJK UNIFIED", "HIRAGANA", "KATAKANA"))
        sign = unicodedata.category(letter).startswith("M")
        if inside and (sign or (re.match(r"\w", letter) and not alone)):
            found[-1] += letter
        elif re.match(r"\w", letter):
            found.append(letter)
            inside = not alone
        else:
            inside = False
    return found


def covers(threshold: float, folds: Sequence[str] = ("unicode", "case")) -> Says:
    def says(retrieved: str, gold: str) -> bool:
        one, other = folded(retrieved, folds), folded(gold, folds)
        wanted = Counter(words(other))
        covered = sum((wanted & Counter(words(one))).values())
        return (bool(other) and one == other) or (bool(wanted) and covered / sum(wanted.values()) >= threshold)

    return says


def expected(texts: Texts, says: Says) -> Found:
    """A double loop over texts and golds. A gold listed twice is one gold, and an empty text never matches."""
    return sorted(
        (query, rank, gold)
        for query, (golds, retrieved) in texts.items()
        for rank, text in enumerate(retrieved, 1)
        for gold in dict.fromkeys(golds)
        if text and gold and says(text, gold)
    )


def judged_of(scores: Scores) -> Judged:
    assert scores.evidence is not None
    return scores.evidence.judged


def found(scores: Scores) -> Found:
    """The hits that were found, after checking their order and that each gold belongs to its query."""
    assert scores.evidence is not None
    judged, truth = scores.evidence.judged, scores.evidence.truth
    rows = list(
        zip(judged.hit_query.tolist(), judged.hit_rank.tolist(), judged.hit_gold.tolist(), strict=True),
    )
    assert rows == sorted(set(rows))
    assert all(gold in truth.golds(query) for query, _, gold in rows)
    assert judged.hit_grade.tolist() == [judged.gold_grade[gold] for _, _, gold in rows]
    return sorted((judged.queries[query], rank, truth.docs[gold]) for query, rank, gold in rows)


def called(match: Any) -> str:
    """The name of a matcher in test ids."""
    return getattr(match, "__name__", None) or str(match)


def run(texts: Texts, match: Any) -> Scores:
    golds = {query: golds for query, (golds, _) in texts.items()}
    return evaluate(golds, {query: retrieved for query, (_, retrieved) in texts.items()}, "R", match=match)


# Texts that are likely to match: cut from golds, mutated, wrapped, escaped, with other white space.

PLAIN = "nothing like it"
WORDS = (
    "gold", "Gold", "GOLD", "is", "soft", "Straße", "STRASSE", "ﬁne", "fine", "é", "e\u0301", "金", "は", "カ", "한",
    "3.5", "°C", "it's", '"quoted"', "back\\slash", "{brace}", "(?P<x>", "a.*b", "[^", "$1", "\0", "\ud800", "\u2028",
    "\U0001f600", "user: ", "assistant: ", "Date: 5\n", ": ",
)  # fmt: skip
SPACES = (" ", " ", " ", "\n", "  ", "\t", "")
# Few letters, so that a piece of one text is nearly contained in the others.
RUNS = ("gold is soft", "gold was soft", "and it melts", "é金 ﬁ", " ", "\0", "\ud800", '"\\n', "ab", "b")


def passages(parts: Sequence[str], spaces: Sequence[str], size: int) -> st.SearchStrategy[str]:
    pair = st.tuples(st.sampled_from(parts), st.sampled_from(spaces))
    return st.lists(pair, min_size=1, max_size=size).map(lambda pairs: "".join(map("".join, pairs)))


PASSAGES = passages(WORDS, SPACES, 8)
LONG = passages(RUNS, ("", " "), 12)


@st.composite
def chunks_of(draw: st.DrawFn, originals: list[str], golds: list[str], other: st.SearchStrategy[str]) -> str:
    text = draw(st.sampled_from([*originals, *golds]))
    start = draw(st.integers(0, len(text) - 1))
    cut = text[start : draw(st.integers(start + 1, len(text)))]
    place = draw(st.integers(0, len(cut) - 1))
    return draw(
        st.sampled_from(
            [
                cut,
                text,
                f"user: {cut}",
                f"assistant: {text}",
                f"Date: 2024-05-01\nuser: {cut}",
                f"Date: 2024-05-01\n{cut}",
                escaped(cut),
                cut[:place] + draw(st.sampled_from(["x", " ", "\n", ""])) + cut[place + 1 :],
                re.sub(r"\s", "\n ", cut),
                cut.swapcase(),
                f" {cut}…",
                cut + draw(st.sampled_from(golds)),
                draw(other),
                "",
                " ",
                "\n",
                "\t\n!",
                "user: ",
                "user: \n",
                "Date: 2024-05-01",
            ]
        )
    )


@st.composite
def meeting(draw: st.DrawFn, passages: st.SearchStrategy[str] = PASSAGES) -> Texts:
    """Two queries with their golds, which may repeat and be escaped, and chunks of them."""
    texts: Texts = {}
    for query in ("q1", "q2"):
        originals = draw(st.lists(passages, min_size=1, max_size=3))
        forms: st.SearchStrategy[Callable[[str], str]] = st.sampled_from(
            [as_it_is, as_it_is, escaped, escaped_but_letters]
        )
        golds = [draw(forms)(text) for text in originals]
        golds += draw(st.lists(st.sampled_from(golds), max_size=1))
        retrieved = draw(st.lists(chunks_of(originals, golds, passages), max_size=6))
        retrieved.insert(draw(st.integers(0, len(retrieved))), PLAIN)
        texts[query] = golds, retrieved
    return texts


folds_asked = st.sampled_from(ALL_FOLDS)


@given(texts=meeting(), folds=folds_asked)
def test_a_chunk_is_a_hit_of_every_gold_that_contains_it(texts: Texts, folds: tuple[str, ...]) -> None:
    scores = run(texts, f"chunk(normalize={spelled(folds)})")
    assert found(scores) == expected(texts, is_cut_from(folds))


@given(texts=meeting())
def test_match_chunk_agrees_with_is_chunk_from_original_where_a_chunk_is_more_than_a_prefix(texts: Texts) -> None:
    whole = {
        query: (golds, [text for text in retrieved if without_wrapping(text).strip()])
        for query, (golds, retrieved) in texts.items()
    }
    assert found(run(whole, "chunk")) == expected(whole, is_chunk_from_original)


THRESHOLDS = st.sampled_from([0.0, 40.0, 75.0, 80.0, 90.0, 95.5, 100.0])


@given(texts=meeting(LONG), threshold=THRESHOLDS, folds=folds_asked)
def test_fuzzy_texts_reach_the_partial_ratio_or_are_equal_if_shorter_than_12_characters(
    texts: Texts, threshold: float, folds: tuple[str, ...]
) -> None:
    assert found(run(texts, fuzzy(threshold))) == expected(texts, is_nearly(threshold))
    assert found(run(texts, fuzzy(threshold, normalize=folds))) == expected(texts, is_nearly(threshold, folds))


@given(texts=meeting(LONG))
def test_a_ratio_equal_to_the_threshold_matches(texts: Texts) -> None:
    golds, retrieved = texts["q1"]
    ratios = {fuzz.partial_ratio(folded(one, NEARLY), folded(gold, NEARLY)) for one in retrieved for gold in golds}
    for threshold in [ratio for ratio in sorted(ratios) if not 0 < ratio <= 1][-3:]:
        assert found(run(texts, fuzzy(threshold))) == expected(texts, is_nearly(threshold))


@given(texts=meeting(LONG), threshold=THRESHOLDS, folds=st.sampled_from([(), ("space",), NEARLY, FOLDS]))
def test_a_chunk_with_a_threshold_is_contained_or_fuzzy(texts: Texts, threshold: float, folds: tuple[str, ...]) -> None:
    scores = run(texts, chunk(normalize=folds, threshold=threshold))
    assert found(scores) == expected(texts, is_cut_from(folds, threshold))


@given(texts=meeting(LONG), threshold=THRESHOLDS)
def test_is_chunk_from_original_takes_a_threshold(texts: Texts, threshold: float) -> None:
    says = is_cut_from(threshold=threshold, keep_bare_prefix=False)
    for golds, retrieved in texts.values():
        for text in retrieved:
            for gold in golds:
                assert is_chunk_from_original(text, gold, threshold=threshold) == says(text, gold)


@given(
    texts=meeting() | meeting(LONG),
    threshold=st.sampled_from([0.01, 1 / 3, 0.5, 2 / 3, 0.75, 1.0]),
    folds=st.sampled_from([("unicode", "case"), *ALL_FOLDS]),
)
def test_overlap_is_the_share_of_the_words_of_a_gold_that_a_chunk_contains(
    texts: Texts, threshold: float, folds: tuple[str, ...]
) -> None:
    assert found(run(texts, overlap(threshold))) == expected(texts, covers(threshold))
    assert found(run(texts, overlap(threshold, normalize=folds))) == expected(texts, covers(threshold, folds))


@given(texts=meeting(), folds=folds_asked)
def test_contents_match_if_they_are_equal_after_normalization(texts: Texts, folds: tuple[str, ...]) -> None:
    scores = run(texts, f"content(normalize={spelled(folds)})")
    assert scores.evidence is not None
    # Golds that are equal after normalization are one gold.
    once = {
        query: ([text for text in dict.fromkeys(folded(gold, folds) for gold in golds) if text], retrieved)
        for query, (golds, retrieved) in texts.items()
    }
    assert found(scores) == expected(once, is_same(folds))
    assert sorted(scores.evidence.truth.docs) == sorted(gold for golds, _ in once.values() for gold in golds)


# Keys of documents of every kind.


def document(kind: str, field: str, value: str | None) -> Any:
    """A document that has this value in its field, and something else in all others."""
    other = {"id": f"id of {value}", "content": f"text of {value}"}
    if kind == "text" and value is not None:
        return value
    if field.startswith("meta."):
        made: dict[str, Any] = {**other, "meta": {"x": value, "y": "same for all"}}
    else:
        made = {**other, field: value, "meta": {"x": "same for all"}}
    if kind == "mapping":
        return made
    if kind == "object":
        return SimpleNamespace(**made)
    return Document(made["content"], id=made["id"], meta=made["meta"])


KINDS = st.sampled_from(["text", "mapping", "object", "document"])
VALUES = st.sampled_from(["a", "A", "a ", "a.", "ﬁ", "fi", "é", "e\u0301", "B", "b", ".", " "])


@st.composite
def documents(draw: st.DrawFn, field: str) -> tuple[list[Any], list[str | None]]:
    values: list[str | None] = draw(st.lists(VALUES | st.none() if field != "id" else VALUES, max_size=5))
    values.append("a")
    return [document(draw(KINDS), field, value) for value in values], values


@pytest.mark.parametrize("field", ["id", "content", "meta.x"])
@given(data=st.data(), folds=folds_asked)
def test_documents_of_any_kind_match_by_a_normalized_field(
    field: str, data: st.DataObject, folds: tuple[str, ...]
) -> None:
    golds, gold_values = data.draw(documents(field))
    retrieved, values = data.draw(documents(field))
    assume(field != "meta.x" or not all(isinstance(each, str) for each in retrieved))
    scores = evaluate({"q": golds}, {"q": retrieved}, "R", match=same(field, normalize=folds))
    once = [text for text in dict.fromkeys(folded(value or "", folds) for value in gold_values) if text]
    assert found(scores) == expected({"q": (once, [value or "" for value in values])}, is_same(folds))
    judged = judged_of(scores)
    assert judged.retrieved.tolist() == [len(retrieved)]
    assert len(judged.gold_grade) == len(once)


@pytest.mark.parametrize("kind", ["mapping", "object", "document"])
@pytest.mark.parametrize("field", ["content", "meta.x", "id"])
@pytest.mark.parametrize("name", ["chunk", "fuzzy", "overlap", "prefix"])
def test_any_matcher_reads_any_field_of_any_document(name: str, field: str, kind: str) -> None:
    golds = [document(kind, field, text) for text in ("Gold is soft and yellow", "Iron rusts in the rain")]
    retrieved = [document(kind, field, text) for text in ("Silver", "Gold is soft and yellow", "Iron rusts in the")]
    scores = evaluate([golds], [retrieved], "R", match=f"{name}(field={field})")
    chunks = [] if name == "prefix" else [("0", 3, "Iron rusts in the rain")]
    assert found(scores) == [("0", 2, "Gold is soft and yellow"), *chunks]


def test_only_the_field_that_is_matched_by_is_read() -> None:
    gold, other = Document("same", id="1", meta={"x": "u"}), Document("same", id="2", meta={"x": "v"})
    for match, hit in (("content", 1), ("chunk", 1), ("id", 0), ("prefix", 0), ("meta.x", 0), ("chunk(field=id)", 0)):
        assert evaluate([[gold]], [[other]], "R", match=match)["R"] == hit, match


# Prefixes of ids.

SEPARATORS = ("::", "#", "/", "-", ".", "|", "\\", "aa", "aba", "é", "^$", " - ", "::chunk", "__", "[", "\n", "'", '"')


@st.composite
def ids(draw: st.DrawFn, separators: Sequence[str] = SEPARATORS, letters: str = "abAé") -> tuple[str, Texts]:
    separator = draw(st.sampled_from(separators))
    parts = st.sampled_from([*letters, separator, separator, separator[0], separator[-1]])
    names = st.lists(parts, min_size=1, max_size=7).map("".join)
    texts: Texts = {}
    for query in ("0", "1"):
        golds = draw(st.lists(names, min_size=1, max_size=4, unique=True))
        rest = st.lists(parts, max_size=3).map("".join)
        chunks = st.builds(lambda gold, end: f"{gold}{separator}{end}", st.sampled_from(golds), rest)
        texts[query] = golds, draw(st.lists(names | chunks, min_size=1, max_size=6, unique=True))
    return separator, texts


@given(case=ids())
@example(
    case=("::", {"0": (["a", "a:", "a::", "b"], ["a:::b", "a::b", "a::::", "a:b", "ab::c", "a"]), "1": (["x"], ["x"])})
)
def test_an_id_belongs_to_the_id_before_a_separator_in_it(case: tuple[str, Texts]) -> None:
    separator, texts = case
    assert found(run(texts, prefix(separator))) == expected(texts, belongs(separator))


@given(case=ids(separators=("::", "#", "A", "é", "\ufb01", "Ⅷ", "ß", "::Chunk-", " - ", ": ", " ")), folds=folds_asked)
def test_ids_and_the_separator_of_prefix_are_normalized_alike(case: tuple[str, Texts], folds: tuple[str, ...]) -> None:
    separator, texts = case
    assume(folded(f"x{separator}x", folds) != "xx")
    scores = run(texts, prefix(separator, normalize=folds))
    once = {
        query: ([text for text in dict.fromkeys(folded(gold, folds) for gold in golds) if text], retrieved)
        for query, (golds, retrieved) in texts.items()
    }
    assert found(scores) == expected(once, belongs(separator, folds))


def test_an_id_may_belong_to_several_golds_and_a_gold_have_several_chunks() -> None:
    golds, retrieved = ["a", "a::b", "a::b::c"], ["a::b::c::d", "a::x", "a::b::c", "a::bb"]
    assert found(run({"q": (golds, retrieved)}, "prefix")) == [
        ("q", 1, "a"), ("q", 1, "a::b"), ("q", 1, "a::b::c"),
        ("q", 2, "a"),
        ("q", 3, "a"), ("q", 3, "a::b"), ("q", 3, "a::b::c"),
        ("q", 4, "a"),
    ]  # fmt: skip


@pytest.mark.parametrize("golds", [["d"], ["d", "e", "d::", "d:"]])
def test_an_id_with_a_million_separators_is_matched_fast(golds: list[str]) -> None:
    retrieved = ["d" + ":" * 1_000_000, ":" * 1_000_000]
    assert found(run({"q": (golds, retrieved)}, "prefix")) == expected({"q": (golds, retrieved)}, belongs("::"))


# A function.


@given(texts=meeting())
def test_a_function_is_called_with_every_pair_of_documents_as_they_were_given(texts: Texts) -> None:
    def says(retrieved: str, gold: str) -> bool:
        return len(retrieved) > 3 and retrieved[0] == gold[0]

    assert functional(run(texts, says)) == expected(texts, says)


def functional(scores: Scores) -> Found:
    """The hits of a function, by the golds as they were given."""
    assert scores.evidence is not None
    judged, truth = scores.evidence.judged, scores.evidence.truth
    rows = zip(judged.hit_query.tolist(), judged.hit_rank.tolist(), judged.hit_gold.tolist(), strict=True)
    golds = truth.original_documents(range(len(judged.gold_grade)))
    hits = [(judged.queries[query], rank, golds[gold]) for query, rank, gold in rows]
    return sorted(hits, key=lambda hit: (hit[0], hit[1], str(hit[2])))


def test_a_function_sees_the_documents_themselves() -> None:
    golds: list[Any] = [Document("a", meta={"page": 7}), Document("b", meta={"page": 9})]
    retrieved: list[Any] = [Document("x", meta={"page": 9}), Document("y", meta={"page": 8}), Document("z")]

    def near(one: Document, other: Document) -> bool:
        assert any(one is each for each in retrieved)
        assert any(other is each for each in golds)
        return bool(abs(one.meta.get("page", 99) - other.meta["page"]) <= 1)

    scores = evaluate([golds], [retrieved], "R", match=near)
    assert [(rank, gold.content) for _, rank, gold in functional(scores)] == [(1, "b"), (2, "a"), (2, "b")]


@pytest.mark.parametrize(
    "make",
    [
        tuple,
        frozenset,
        lambda value: {"any": [value]},
        lambda value: [value],
        lambda value: SimpleNamespace(it=value),
        Path,
    ],
)
def test_a_function_can_match_objects_that_are_not_documents(make: Callable[[str], Any]) -> None:
    golds, retrieved = [make("ab"), make("cd"), make("ab")], [make("x"), make("cd"), make("ab")]
    scores = evaluate([golds], [retrieved], ["R", "NumRel"], match=lambda one, other: one == other)
    assert [rank for _, rank, _ in functional(scores)] == [2, 3]
    # Golds that are equal are one.
    assert dict(scores) == {"R": 1.0, "NumRel": 2.0}


def test_a_function_can_match_vectors() -> None:
    golds, retrieved = [np.array([1.0, 0.0]), np.array([0.0, 1.0])], [np.array([0.9, 0.1]), np.array([-1.0, 0.0])]
    scores = evaluate([golds], [retrieved], ["R", "RR"], match=lambda one, other: bool(one @ other > 0.5))
    assert dict(scores) == {"R": 0.5, "RR": 1.0}
    assert [row.rank for row in scores.explain("0").rows] == [1, 2, None]


def test_a_function_is_not_called_with_none() -> None:
    golds: list[Any] = ["a", None]
    retrieved: list[Any] = [None, "A"]
    scores = evaluate([golds], [retrieved], ["R", "RR"], match=lambda one, other: bool(one.lower() == other.lower()))
    assert dict(scores) == {"R": 1.0, "RR": 0.5}
    assert {"keyless", "keyless-golds"} <= {finding.code for finding in scores.findings}


def test_golds_of_a_function_are_merged_only_if_they_are_equal() -> None:
    golds = [Document("a", id="1"), Document("a", id="2"), Document("a", id="1")]
    scores = evaluate([golds], [["a"]], "NumRel", match=lambda one, other: one == other.content)
    assert scores["NumRel"] == 2


def test_a_function_may_return_a_numpy_bool() -> None:
    def says(one: str, other: str) -> Any:
        return np.bool_(one == other)

    assert evaluate([["a", "b"]], [["b"]], "R", match=says)["R"] == 0.5


@pytest.mark.parametrize("said", [None, 0.5, 1, "yes", np.float64(1), np.array([True]), [True], "", 0])
def test_a_function_that_does_not_return_a_bool_is_rejected(said: Any) -> None:
    def vague(one: str, other: str) -> Any:
        return said

    with pytest.raises(KaratError, match="It must return True if they match, and False if not") as raised:
        evaluate([["gold"]], [["found"]], "R", match=vague)
    message = str(raised.value)
    assert message.startswith("vague returned ")
    assert "'found'" in message
    assert "'gold'" in message
    assert "\n" not in message


def test_the_error_of_a_failing_function_names_both_documents() -> None:
    def broken(one: str, other: str) -> bool:
        raise KeyError("no\nsuch")

    with pytest.raises(KaratError, match="broken failed on 'found' and 'gold': KeyError: ") as raised:
        evaluate([["gold"]], [["found"]], "R", match=broken)
    assert "\n" not in str(raised.value)
    assert "It is called with a retrieved document and a gold document" in str(raised.value)
    assert isinstance(raised.value.__cause__, KeyError)


@pytest.mark.parametrize("wrong", [KeyboardInterrupt, SystemExit])
def test_keyboard_interrupts_and_exits_in_a_function_are_not_caught(wrong: type[BaseException]) -> None:
    def stop(one: str, other: str) -> bool:
        raise wrong

    with pytest.raises(wrong):
        evaluate([["a"]], [["b"]], "R", match=stop)


def test_the_error_for_a_function_with_too_few_parameters_names_it() -> None:
    with pytest.raises(KaratError, match="<lambda> failed on 'b' and 'a': TypeError: "):
        evaluate([["a"]], [["b"]], "R", match=lambda one: bool(one))  # type: ignore[arg-type, misc]


def test_callables_of_any_kind_have_a_name() -> None:
    class Alike:
        def __call__(self, one: str, other: str) -> bool:
            return one == other

    assert str(matcher_of(Alike())) == "Alike"
    assert str(matcher_of(partial(Alike()))) == "partial"
    assert str(matcher_of(Alike().__call__)) == "__call__"
    (first, *_) = evaluate([["a"]], [["a"]], "R", match=Alike()).findings
    assert str(first) == "matched by Alike."


class Counting:
    """Counts its calls."""

    def __init__(self) -> None:
        self.asked: Counter[tuple[Any, Any]] = Counter()

    def __call__(self, retrieved: Any, gold: Any) -> bool:
        self.asked[retrieved, gold] += 1
        return bool(retrieved == gold)


@given(texts=meeting())
def test_each_distinct_pair_of_texts_is_compared_once(texts: Texts) -> None:
    # The same again in other queries, and each text several times in one.
    more = {
        **texts,
        "again": texts["q1"],
        "mixed": (texts["q2"][0] * 2, texts["q1"][1] * 3),
        "empty": (texts["q1"][0], []),
        "goldless": ([], texts["q1"][1]),
    }
    counting = Counting()
    run(more, counting)
    assert counting.asked == {
        (text, gold): 1 for golds, retrieved in more.values() for text in retrieved for gold in golds if text and gold
    }


@pytest.mark.parametrize("form", ["lists", "scored", "frame"])
def test_each_distinct_pair_is_compared_once_in_every_input_format(form: str) -> None:
    truth = {"1": {"a": 1, "b": 1}, "2": {"b": 1, "c": 1}}
    retrieved = {"1": ["x", "a"], "2": ["a", "x"]}
    counting = Counting()
    scores = evaluate(truth, forms_of_run(retrieved)[form], ["RR", "NumRel"], match=counting)
    assert set(counting.asked.values()) == {1}
    assert set(counting.asked) == {(one, other) for one in "xa" for other in "abc"}
    assert scores.per_query == {"1": {"RR": 0.5, "NumRel": 2}, "2": {"RR": 0.0, "NumRel": 2}}


# All input formats give the same result.


def forms_of_run(retrieved: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    rows = [(query, doc, float(-at)) for query, docs in retrieved.items() for at, doc in enumerate(docs)]
    scored: dict[str, dict[str, float]] = {query: {} for query in retrieved}
    for query, doc, score in rows:
        scored[query][doc] = score
    frame = pl.DataFrame(rows, schema=["query", "doc", "score"], orient="row")
    return {"lists": retrieved, "positions": list(retrieved.values()), "scored": scored, "frame": frame}


def forms_of_truth(golds: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    rows = [(query, doc, float(grade)) for query, docs in golds.items() for doc, grade in docs.items()]
    frame = pl.DataFrame(rows, schema=["query", "doc", "grade"], orient="row")
    plain = {query: list(docs) for query, docs in golds.items()}
    return {"graded": golds, "lists": plain, "positions": list(plain.values()), "frame": frame}


def assert_same(one: Scores, other: Scores) -> None:
    mine, theirs = judged_of(one), judged_of(other)
    for field in fields(Judged):
        left, right = getattr(mine, field.name), getattr(theirs, field.name)
        assert np.array_equal(left, right), field.name


MATCHERS: list[tuple[Any, Says]] = [
    ("chunk", is_cut_from()),
    ("chunk(normalize=space+case, threshold=80)", is_cut_from(("case", "space"), 80)),
    ("fuzzy(threshold=70)", is_nearly(70)),
    ("overlap", covers(0.5)),
    (is_cut_from(), is_cut_from()),
]
writable = st.text(alphabet="ab A\néß金\0{(\\\"'", min_size=1, max_size=30)


@st.composite
def once_each(draw: st.DrawFn) -> Texts:
    """Distinct texts that every format can store, in queries numbered as those of lists are."""
    texts: Texts = {}
    for query in ("0", "1"):
        golds = draw(
            st.lists(passages(("gold is ", "Soft ", "é", "\0"), ("", " "), 8), min_size=1, max_size=3, unique=True)
        )
        cuts = st.sampled_from([gold[at : at + size] for gold in golds for at in (0, 3) for size in (5, 20)])
        retrieved = draw(st.lists(cuts | writable | st.sampled_from(golds), min_size=1, max_size=6))
        texts[query] = golds, [text for text in dict.fromkeys(retrieved) if text.strip()] or [PLAIN]
    return texts


@given(texts=once_each())
@settings(max_examples=30)
def test_all_input_formats_of_the_same_texts_give_the_same_hits(texts: Texts) -> None:
    golds = {query: dict.fromkeys(golds, 1.0) for query, (golds, _) in texts.items()}
    truths = forms_of_truth(golds)
    runs = forms_of_run({query: listed for query, (_, listed) in texts.items()})
    for match, says in MATCHERS:
        first = run(texts, match)
        assert (found(first) if isinstance(match, str) else functional(first)) == expected(texts, says), match
        # Tables and mappings of documents to numbers contain ids, which only a function compares as texts.
        forms = {"lists", "positions", *([] if isinstance(match, str) else ["graded", "scored", "frame"])}
        for truth, retrieved in product(
            *([source for form, source in sources.items() if form in forms] for sources in (truths, runs))
        ):
            assert_same(evaluate(truth, retrieved, "R", match=match), first)


# Ids in tables and TREC files are in tests/unit/test_prefix_tables.py.


# How repeats are credited.


def test_two_chunks_of_one_gold_are_credited_once_by_gold_and_twice_by_rank() -> None:
    texts: Texts = {"q": (["Gold is soft.", "Iron rusts."], ["is soft", "Gold", "rusts"])}
    golds, retrieved = ({query: side[at] for query, side in texts.items()} for at in (0, 1))
    scores = evaluate(golds, retrieved, ["R@2", "P@2", "AP", "AP(norm=found, credit=rank)", "nDCG@2"], match="chunk")
    # AP: gold 1 at rank 1, gold 2 at rank 3, as the second credited one: (1/1 + 2/3) / 2.
    assert scores["AP"] == pytest.approx((1 + 2 / 3) / 2)
    assert (scores["R@2"], scores["P@2"], scores["AP(norm=found, credit=rank)"]) == (0.5, 1.0, 1.0)


def test_a_chunk_of_two_golds_is_credited_with_the_larger_grade_and_finds_both() -> None:
    golds = {"q": [Document("Gold is soft.", score=1), Document("Gold is soft. Iron rusts.", score=2)]}
    scores = evaluate(golds, {"q": ["is soft", "Gold"]}, ["R", "RecallAll", "nDCG", "DCG", "P@1"], match="chunk")
    # Rank 1 is credited with the gold of grade 2, rank 2 with the other: 2 + 1 / log2(3), which is the ideal.
    assert scores["DCG"] == pytest.approx(2 + 1 / np.log2(3))
    assert (scores["R"], scores["RecallAll"], scores["nDCG"], scores["P@1"]) == (1.0, 1.0, 1.0, 1.0)


def test_a_gold_listed_twice_counts_once() -> None:
    for match in ("chunk", "fuzzy", "overlap", "content", "prefix", "id", lambda one, other: one == other):
        scores = evaluate(
            {"q": ["Gold is soft", "Gold is soft", "x"]}, {"q": ["Gold is soft"]}, "R NumRel", match=match
        )
        assert dict(scores) == {"R": 0.5, "NumRel": 2.0}, match


@pytest.mark.parametrize("blank", ["", " ", None, "  ", "\n" * 20, "\t \n"])
@pytest.mark.parametrize("match", ["chunk", "chunk(normalize=space)", "chunk(normalize=all, threshold=0)"])
def test_a_chunk_without_text_matches_nothing(match: str, blank: str | None) -> None:
    golds = ["user: Date: 2024-05-01 and  some text of it, \n \t with blanks "]
    scores = evaluate({"q": golds}, {"q": [blank, "some text"]}, "P@2", match=match)
    assert found(scores) == [("q", 2, golds[0])]
    assert judged_of(scores).retrieved.tolist() == [2]


@pytest.mark.parametrize(
    "text",
    [
        "Date: palms grow.", "Date: palms grow.\n", "Date: ", "user: ", "assistant: ", "user: \n",
        "Date: 2024-05-01\nuser: ", "Date: 2024-05-01\nassistant:  \n", "Date: 2024-05-01\n\t",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "match", ["chunk", "chunk(normalize=space)", "chunk(normalize=all)", "chunk(threshold=90)",
              "chunk(normalize=all, threshold=100)"],
)  # fmt: skip
def test_a_chunk_that_is_only_a_prefix_of_a_chat_log_is_compared_as_it_is(match: str, text: str) -> None:
    scores = evaluate({"q": [text, f"x {text}y", "palms"]}, {"q": [text]}, "R", match=match)
    assert found(scores) == [("q", 1, text), ("q", 1, f"x {text}y")]
    assert [row.reason for row in scores.explain("q").rows] == ["the whole text", "contained", "not retrieved"]
    assert not is_chunk_from_original(text, text)


@given(text=PASSAGES | st.sampled_from(["user: …", "Date: .\nuser: !"]), folds=folds_asked)
def test_every_text_is_a_chunk_of_itself_unless_normalization_leaves_nothing(text: str, folds: tuple[str, ...]) -> None:
    for match in (chunk(normalize=folds), chunk(normalize=folds, threshold=100)):
        assert len(found(run({"q": ([text], [text])}, match))) == bool(folded(text, folds).strip())


def test_a_chunk_that_is_only_a_prefix_may_be_similar() -> None:
    golds, retrieved = {"q": ["Date: palms grew, and figs."]}, {"q": ["Date: palms grow."]}
    assert evaluate(golds, retrieved, "R", match="chunk")["R"] == 0
    scores = evaluate(golds, retrieved, "R", match="chunk(threshold=85)")
    ratio = fuzz.partial_ratio("date: palms grow.", "date: palms grew, and figs.")
    assert (scores["R"], scores.explain("q").rows[0].reason) == (1, f"partial ratio {ratio:.1f}")


@pytest.mark.parametrize("match", ["chunk", "fuzzy", "overlap", "content", "id"])
def test_golds_without_text_are_ignored_and_reported(match: str) -> None:
    golds = [Document(""), Document("text of a gold", id="1")] if match != "id" else [None, "text of a gold"]
    scores = evaluate({"q": golds}, {"q": ["text of a gold"]}, "R", match=match)
    assert scores["R"] == 1
    assert "keyless-golds" in [finding.code for finding in scores.findings]


@pytest.mark.parametrize(
    "match", ["chunk", "fuzzy", "fuzzy(threshold=100)", "overlap", "overlap(threshold=1)", "content"]
)
@pytest.mark.parametrize("text", ["a", "!", "Gold is soft.", "金は重い", "\U0001f600", "\0", "\ud800", "a" * 20_000])
def test_a_chunk_that_is_the_whole_document_is_a_hit(match: str, text: str) -> None:
    scores = evaluate({"q": [text, text + "x"]}, {"q": [text]}, "R", match=match)
    assert ("q", 1, text) in found(scores)


HOSTILE = [
    ".*", "(a+)+$", "[", "\\", "\\Q", "(?P<x>a)", "{}", "{x!r}", "%s%n", "${x}", "\0", "a\0b", "\ud800", "\udfff",
    '"', "'", "\\n", "\\u0041", "<script>", "\x1b[2J", "\u202e", "\u2028", "\U0010ffff", "' OR 1=1", "\N{BOM}",
]  # fmt: skip


@pytest.mark.parametrize("hostile", HOSTILE)
def test_markup_and_control_characters_are_matched_as_text(hostile: str) -> None:
    piece = f"before {hostile} after"
    gold = f"Gold is {piece} soft."
    texts: Texts = {"q": ([gold, "Gold is before X after soft."], [piece, hostile, gold])}
    assert found(run(texts, "chunk")) == expected(texts, is_cut_from())
    assert found(run(texts, "fuzzy(threshold=60)")) == expected(texts, is_nearly(60))
    assert found(run(texts, "overlap")) == expected(texts, covers(0.5))
    once: Texts = {"q": (list(dict.fromkeys(folded(gold, FOLDS) for gold in texts["q"][0])), texts["q"][1])}
    assert found(run(texts, "content(normalize=all)")) == expected(once, is_same(FOLDS))
    if not 0xD800 <= ord(hostile[0]) <= 0xDFFF:
        names: Texts = {"q": ([gold], [f"{gold}{hostile}1", gold])}
        assert found(run(names, prefix(hostile))) == [("q", 1, gold), ("q", 2, gold)]


def test_escaped_text_is_found_with_letters_beyond_ascii_or_without() -> None:
    said = 'He said: "Größe"\n\tand\\or 金'
    for gold in (f'{{"text": "{escaped(said)}"}}', f'{{"text": "{escaped_but_letters(said)}"}}', f"<{said}>"):
        assert evaluate([[gold]], [[said]], "R", match="chunk")["R"] == 1
    assert evaluate([[said]], [[escaped(said)]], "R", match="chunk")["R"] == 0


def test_differences_in_white_space_are_ignored_with_normalize_space() -> None:
    gold, cut = "Gold is\n   soft,\tand yellow.", "is soft, and"
    assert evaluate([[gold]], [[cut]], "R", match="chunk")["R"] == 0
    assert evaluate([[gold]], [[cut]], "R", match="chunk(normalize=space)")["R"] == 1
    assert evaluate([[gold]], [[cut.upper()]], "R", match="chunk(normalize=space)")["R"] == 0
    assert evaluate([[gold]], [[cut.upper()]], "R", match="chunk(normalize=space+case)")["R"] == 1


@pytest.mark.parametrize("match", ["chunk", "chunk(normalize=all)", "overlap(threshold=0.0001)", "fuzzy", "content"])
def test_documents_of_a_megabyte_are_compared(match: str) -> None:
    gold = " ".join(f"w{number}é" for number in range(120_000))
    assert len(gold) > 800_000
    texts: Texts = {"q": ([gold, "x" * 1_000_000], [gold[400_000:402_000], "é", gold])}
    assert [rank for _, rank, text in found(run(texts, match)) if text[:1] == "w"] == (
        [3] if match == "content" else [1, 3] if match in ("fuzzy", "overlap(threshold=0.0001)") else [1, 2, 3]
    )


@pytest.mark.parametrize(
    "gold",
    ["a" * 1_000_000, "ab" * 500_000, "(" * 1_000_000, "\\" * 1_000_000, "user: " * 160_000, "\n" * 999_999 + "a"],
)
def test_a_megabyte_of_repetitions_is_searched_fast(gold: str) -> None:
    texts: Texts = {"q": ([gold], [gold[:60] + "b", gold[:5000] + "b", "b" + gold[1:]])}
    assert found(run(texts, "chunk")) == expected(texts, is_cut_from())


MEASURES = [
    f"{definition.name}@{definition.example_at if definition.at != 'k' else k}" if definition.at else definition.name
    for definition in definitions()
    if definition.takes == "judged"
    for k in (2, 5)
]
EVERY_MATCHER: list[Any] = [
    "id", "content(normalize=all)", "prefix(separator=' ')", "chunk", "chunk(normalize=all, threshold=60)",
    "fuzzy(threshold=40)", "overlap(threshold=0.1)", lambda one, other: bool(one) and one[-1] in other,
]  # fmt: skip
MORE_MEASURES = (
    "AP(norm=found, credit=rank)", "nDCG(discount=jk, ideal=retrieved, credit=rank)@3", "nDCG(gain=exp)", "R", "P@1",
)  # fmt: skip


@given(
    texts=meeting(passages(("gold ", "is ", "soft ", "Gold "), ("",), 8)),
    grades=st.lists(st.sampled_from([0, 1, 1, 2, 4])),
)
@settings(max_examples=20)
def test_measures_stay_within_their_bounds_with_every_matcher(texts: Texts, grades: list[int]) -> None:
    worth = iter([*grades, *[1] * 8])
    golds = {query: {gold: next(worth) for gold in dict.fromkeys(golds)} for query, (golds, _) in texts.items()}
    retrieved = {query: [text for text in listed if text] for query, (_, listed) in texts.items()}
    documents = {query: [Document(text, score=grade) for text, grade in docs.items()] for query, docs in golds.items()}
    bounds = {definition.name: definition.bounds for definition in definitions()}
    for match in EVERY_MATCHER:
        scores = evaluate(golds if callable(match) else documents, retrieved, [*MEASURES, *MORE_MEASURES], match=match)
        for name in scores.measures:
            low, high = bounds[re.split(r"[@(]", name)[0]]
            values = scores.column(name).tolist()
            assert all(low - 1e-9 <= value <= high + 1e-9 for value in values), (match, name)


# Explanations.

each_matcher = pytest.mark.parametrize("match", EVERY_MATCHER, ids=called)


@each_matcher
@given(texts=meeting(passages(("gold", "is", "soft", "Gold", "é"), ("",), 4)))
@settings(max_examples=20)
def test_an_explanation_has_every_rank_every_hit_and_every_gold(match: Any, texts: Texts) -> None:
    scores = run(texts, match)
    hits = functional(scores) if callable(match) else found(scores)
    sizes = np.diff(judged_of(scores).gold_offsets).tolist()
    for at, (query, (_, retrieved)) in enumerate(texts.items()):
        explanation = scores.explain(query)
        assert (explanation.query, explanation.retrieved) == (query, len(retrieved))
        assert explanation.scores == scores.per_query[query]
        ranks = [row.rank for row in explanation.rows if row.rank is not None]
        assert ranks == sorted(ranks)
        assert set(ranks) == set(range(1, len(retrieved) + 1))
        # Golds that were not found are last.
        assert [row.rank for row in explanation.rows] == [*ranks, *[None] * (len(explanation.rows) - len(ranks))]
        rows = [row for row in explanation.rows if row.rank is not None and row.gold]
        assert [row.rank for row in rows] == [rank for of, rank, _ in hits if of == query]
        seen: set[str] = set()
        for row in rows:
            assert row.repeated == (row.gold in seen)
            assert row.reason
            assert row.grade == 1
            seen.add(row.gold)
        missed = [row for row in explanation.rows if row.rank is None]
        assert all((row.document, row.reason, row.repeated) == ("", "not retrieved", False) for row in missed)
        assert seen.isdisjoint(row.gold for row in missed)
        assert len(seen) + len(missed) == sizes[at]
        assert explanation.to_dict()["rows"][0]["rank"] == 1


@pytest.mark.parametrize("form", ["scored", "frame"])
@pytest.mark.parametrize("ties", ["trec", "input", "best", "worst"])
@given(data=st.data())
@settings(max_examples=20)
def test_an_explanation_has_the_ranks_of_the_scores_with_every_order_of_ties(
    form: str, ties: Any, data: st.DataObject
) -> None:
    names = data.draw(st.lists(st.sampled_from(["a::1", "a::2", "a", "b", "b::1", "c", "d"]), min_size=1, unique=True))
    scored = {name: float(data.draw(st.integers(0, 2))) for name in names}
    golds = {"q": {"a": 1, "a::1": 3, "b": 2, "b::1": 0, "c": 0, "x": 1}}
    source: Any = {"q": scored}
    if form == "frame":
        source = pl.DataFrame([("q", *row) for row in scored.items()], schema=["query", "doc", "score"], orient="row")
    scores = evaluate(golds, source, "nDCG", match="prefix", ties=ties)
    rows = scores.explain("q").rows
    assert sorted((row.rank, row.gold) for row in rows if row.rank is not None and row.gold) == [
        (rank, gold) for _, rank, gold in found(scores)
    ]
    assert sorted({row.rank: row.document for row in rows if row.rank is not None}.values()) == sorted(names)


def test_an_explanation_shows_the_best_ranked_of_repeated_rows() -> None:
    rows = pl.DataFrame({"query": ["q"] * 3, "doc": ["a", "b", "a"], "score": [1.0, 2.0, 2.0]})
    scores = evaluate({"q": ["a"]}, rows, "RR", duplicates="first", ties="input")
    assert found(scores) == [("q", 2, "a")]
    assert [(row.rank, row.document) for row in scores.explain("q").rows] == [(1, "b"), (2, "a")]


def test_an_explanation_gives_reasons_and_marks_repeated_golds() -> None:
    grades = {"Gold is soft.": 2, "Gold is soft. Iron rusts.": 1, "Silver": 0}
    golds = {"q": [Document(text, score=grade) for text, grade in grades.items()]}
    scores = evaluate(golds, {"q": ["is soft", "blue", "Gold is soft."]}, ["nDCG"], match="chunk")
    rows = scores.explain("q").rows
    assert [(row.rank, row.document, row.gold, row.grade, row.reason, row.repeated) for row in rows] == [
        (1, "is soft", "Gold is soft.", 2.0, "contained", False),
        (1, "is soft", "Gold is soft. Iron rusts.", 1.0, "contained", False),
        (2, "blue", "", None, "", False),
        (3, "Gold is soft.", "Gold is soft.", 2.0, "the whole text", True),
        (3, "Gold is soft.", "Gold is soft. Iron rusts.", 1.0, "contained", True),
        (None, "", "Silver", 0.0, "not retrieved", False),
    ]
    text = str(scores.explain("q"))
    assert text.count("(repeated)") == 2
    assert "matched by chunk" in text
    assert "nDCG 0." in text


@pytest.mark.parametrize(
    ("match", "retrieved", "gold", "how"),
    [
        ("id", "a", "a", "same id"),
        ("content(normalize=case)", "A", "a", "same content (normalize=case)"),
        ("prefix", "a::1", "a", "id begins with the gold id"),
        ("prefix", "a", "a", "same id"),
        ("chunk", 'say "hi"', 'they say \\"hi\\" there', "contained, escaped as in JSON"),
        ("chunk(threshold=80)", "Gold is not so soft", "Gold is not as soft", "partial ratio 94.7"),
        ("fuzzy", "GOLD IS SOFT", "gold  is soft", "the same text"),
        ("overlap", "soft gold", "Gold is soft", "covers 67% of the gold words"),
        (is_cut_from(), "a", "abc", "says returned True"),
    ],
)
def test_each_matcher_gives_the_reason_of_a_match_in_words(match: Any, retrieved: str, gold: str, how: str) -> None:
    (row,) = evaluate([[gold]], [[retrieved]], "R", match=match).explain("0").rows
    assert row.reason == how


def test_an_explanation_shows_the_first_ranks_and_every_hit_below_them() -> None:
    retrieved = [f"d{number}" for number in range(30)]
    scores = evaluate({"q": ["d3", "d27", "none"]}, {"q": retrieved}, "R")
    for k, ranks in ((2, [1, 2, 4, 28, None]), (20, [*range(1, 21), 28, None]), (99, [*range(1, 31), None])):
        assert [row.rank for row in scores.explain("q", k=k).rows] == ranks
    assert [row.rank for row in scores.explain("q").rows] == [*range(1, 21), 28, None]
    assert "30 retrieved" in str(scores.explain("q", k=2))


@pytest.mark.parametrize("k", [None, "5", -1, 1.5, True])
def test_an_invalid_number_of_ranks_is_rejected(k: Any) -> None:
    with pytest.raises(KaratError, match="is not a number of ranks"):
        evaluate([["a"]], [["a"]], "R").explain("0", k=k)


def test_an_unknown_query_is_rejected_with_the_nearest_ones() -> None:
    scores = evaluate({"query-1": ["a"], "query-2": ["a"]}, {"query-1": ["a"], "other": ["a"]}, "R")
    with pytest.raises(KaratError, match=r"query 'qurey-1' is not in the ground truth\. Did you mean query-1"):
        scores.explain("qurey-1")
    with pytest.raises(
        KaratError, match="query 'other' was not evaluated: 1 query in the run but not in the ground truth"
    ):
        scores.explain("other")
    # A query that is not in the run has no documents.
    assert [(row.rank, row.gold) for row in scores.explain("query-2").rows] == [(None, "a")]


def test_a_query_can_be_explained_by_its_number() -> None:
    scores = evaluate([["a"], ["b"]], [["x"], ["b"]], "R")
    assert scores.explain(1).rows == scores.explain("1").rows  # type: ignore[arg-type]


def test_saved_scores_cannot_be_explained_without_their_run(tmp_path: Path) -> None:
    scores = evaluate([["a"]], [["a"]], "R", match="chunk")
    scores.to_json(tmp_path / "scores.json")
    for saved in (Scores.load(tmp_path / "scores.json"), pickle.loads(pickle.dumps(scores)), scores.without_evidence()):
        assert saved.evidence is None
        with pytest.raises(KaratError, match=r"contain no run data to explain them\. Evaluate again"):
            saved.explain("0")


@pytest.mark.parametrize("hostile", HOSTILE)
def test_an_explanation_of_markup_and_control_characters_can_be_printed(hostile: str) -> None:
    gold = f"<b>{hostile} is soft & heavy</b>"
    scores = evaluate({"<i>q</i>": [gold]}, {"<i>q</i>": [hostile + " is soft", "<u>"]}, "R", match="chunk")
    explanation = scores.explain("<i>q</i>")
    assert [row.rank for row in explanation.rows] == [1, 2]
    text = str(explanation)
    text.encode()
    assert all(letter.isprintable() or letter == "\n" for letter in text if letter not in "\u2028\N{BOM}\U0010ffff")
    html = explanation._repr_html_()
    assert not re.search(r"<(b|i|u|script)>", html)
    assert "&lt;u&gt;" in html
    assert json.loads(json.dumps(explanation.to_dict()))["rows"][0]["rank"] == 1


def test_an_explanation_reads_a_file_again(tmp_path: Path) -> None:
    path = tmp_path / "run.trec"
    path.write_text("q Q0 d1::2 1 3 x\nq Q0 d2 2 2 x\nq Q0 d1 3 1 x\n")
    scores = evaluate({"q": {"d1": 1}}, path, "R", match="prefix")
    assert [(row.rank, row.document, row.gold, row.repeated) for row in scores.explain("q").rows] == [
        (1, "d1::2", "d1", False), (2, "d2", "", False), (3, "d1", "d1", True),
    ]  # fmt: skip
    for changed in ("q Q0 d1::2 1 3 x\n", "q Q0 d2 1 3 x\nq Q0 d1::2 2 2 x\nq Q0 d1 3 1 x\n"):
        path.write_text(changed)
        with pytest.raises(KaratError, match=r"the run has changed since it was evaluated\. Evaluate again"):
            scores.explain("q")


# The grammar of matchers.

ANY_TEXT = st.text(min_size=1, max_size=6) | st.text(alphabet="::#,=()'@ \t\n|[]{}\\a", min_size=1, max_size=4)
# A value is quoted by one mark or the other, and cannot contain both.
QUOTABLE = ANY_TEXT.filter(lambda text: not ("'" in text and '"' in text))
FIELDS = st.sampled_from(
    ["id", "content", "meta.x", "meta.a.b", "meta.source_id", "meta.größe", "meta.size (kg)", "meta.(a=b)"]
)
PERCENT = st.floats(1, 100, exclude_min=True) | st.integers(2, 100) | st.just(0)
SHARE = st.floats(0, 1, exclude_min=True)


@given(separator=QUOTABLE, field=FIELDS, folds=folds_asked, percent=PERCENT, part=SHARE)
@settings(max_examples=100)
@example(separator=", ", field="id", folds=(), percent=90, part=0.5)
@example(separator="none", field="id", folds=(), percent=90, part=0.5)
@example(separator='")', field="id", folds=(), percent=90, part=0.5)
def test_a_matcher_parses_back_from_its_text(
    separator: str, field: str, folds: tuple[str, ...], percent: float, part: float
) -> None:
    matchers: list[Any] = [
        same(field),
        same(field, normalize=folds),
        same(field, normalize=folds, gold="id"),
        chunk(field=field),
        chunk(folds, percent, field),
        chunk(normalize=folds),
        fuzzy(percent, folds, field),
        fuzzy(normalize=folds),
        overlap(part, folds, field),
        overlap(part),
    ]
    if folded(f"x{separator}x", folds) != "xx":
        matchers += [prefix(separator), prefix(separator, field, folds), prefix(separator, normalize=folds)]
    for matcher in matchers:
        assert matcher_of(str(matcher)) == matcher
        assert str(matcher_of(str(matcher))) == str(matcher)
        assert matcher_of(matcher) is matcher


@pytest.mark.parametrize(
    ("text", "matcher"),
    [
        ("id", same()),
        ("meta.source", same("meta.source")),
        ("content(normalize=space + case)", same("content", normalize=("case", "space"))),
        ("content()", same("content")),
        (" chunk ( normalize = all ) ", chunk(normalize=FOLDS)),
        ("chunk(threshold=90)", chunk(threshold=90)),
        ("fuzzy(threshold=85.0, normalize=none)", fuzzy(85, normalize=())),
        ("prefix(separator='#')", prefix("#")),
        ('prefix(separator=", ")', prefix(", ")),
        ("prefix(separator=::, field=meta.x)", prefix("::", "meta.x")),
        ("overlap(threshold=1)", overlap(1.0)),
        ("meta.source_id(gold=id)", same("meta.source_id", gold="id")),
    ],
)
def test_texts_parse_to_the_matcher_they_describe(text: str, matcher: Any) -> None:
    assert matcher_of(text) == matcher


def test_default_parameters_are_left_out_of_the_text() -> None:
    assert list(map(str, (same(), prefix(), chunk(), fuzzy(), overlap()))) == [
        "id",
        "prefix",
        "chunk",
        "fuzzy",
        "overlap",
    ]
    assert str(fuzzy("85")) == "fuzzy(threshold=85)"  # type: ignore[arg-type]
    assert str(chunk(normalize=True)) == "chunk(normalize=all)"  # type: ignore[arg-type]
    assert str(prefix(", ")) == 'prefix(separator=", ")'


@pytest.mark.parametrize("kind", [prefix, chunk, fuzzy, overlap, same])
def test_a_matcher_class_can_be_given_without_parentheses(kind: Any) -> None:
    assert matcher_of(kind) == kind()
    assert DocumentMRREvaluator(match=kind).to_dict() == DocumentMRREvaluator(match=kind()).to_dict()


def error_of(match: Any) -> str:
    with pytest.raises(KaratError) as raised:
        evaluate([["Gold is soft"]], [["soft"]], "R", match=match)
    message = str(raised.value)
    assert "\n" not in message
    assert len(message) < 500
    return message


@pytest.mark.parametrize(
    ("match", "hint"),
    [
        ("chunks", "Did you mean chunk"),
        ("Chunk", "Did you mean chunk"),
        ("fuzy", "Did you mean fuzzy"),
        ("prefx", "Did you mean prefix"),
        ("overlaps", "Did you mean overlap"),
        ("contents", "Did you mean content"),
        ("chunks(normalize=space)", "Did you mean chunk"),
        ("source", "meta.source"),
        ("meta", "meta.name"),
        ("meta.", "meta.name"),
        ("", "Use id, content, meta.name, prefix, chunk"),
        ("fuzzy(", "Use id"),
        ("fuzzy)", "Use id"),
        ("fuzzy(90)", "Use id"),
        ("fuzzy(threshold)", "Use id"),
        ("fuzzy(threshold=)", "Use id"),
        ("fuzzy(threshold=90, threshold=80)", "Use id"),
        ("fuzzy@10", "Use id"),
        ("chunk(normalize=space)@10", "takes no cut-off"),
        ("fuzzy(treshold=90)", "Did you mean threshold? It takes threshold, normalize, field."),
        ("fuzy(threshold=90)", "Did you mean fuzzy"),
        ("chunk(separator=::)", "It takes normalize, threshold, field."),
        ("content(case=true)", "It takes normalize"),
        ("chunk(normalize=whitespace)", "Did you mean space? Use any of unicode+case+punctuation+space, or all"),
        ("fuzzy(threshold=high)", "threshold=high is not a number between 0 and 100"),
        ("fuzzy(threshold=101)", "threshold=101 is not a number between 0 and 100"),
        ("fuzzy(threshold=-1)", "is not a number between 0 and 100"),
        ("fuzzy(threshold=nan)", "is not a number between 0 and 100"),
        ("fuzzy(threshold=0.9)", "It is a percentage, from 0 to 100"),
        ("chunk(threshold=0.85)", "It is a percentage, from 0 to 100"),
        ("chunk(threshold=1000)", "is not a number between 0 and 100"),
        ("overlap(threshold=50)", "threshold=50 is not a number between 0 and 1"),
        ("overlap(threshold=0)", "Use a larger one, up to 1."),
        ("prefix(separator='')", "Use id"),
        ("prefix(separator='!', normalize=punctuation)", "removes the separator"),
        ("prefix(separator=::, normalize=punctuation)", "removes the separator"),
        ("chunk(field=text)", "meta.name"),
        ("chunk(field=meta)", "meta.name"),
        (5, "Use id"),
        (None, "Use id"),
        (["chunk"], "Use id"),
        ({"chunk": 1}, "Use id"),
    ],
)  # fmt: skip
def test_an_invalid_match_is_rejected_with_a_hint(match: Any, hint: str) -> None:
    assert hint in error_of(match)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: fuzzy(True), "is not a number between 0 and 100"),
        (lambda: fuzzy(None), "is not a number between 0 and 100"),  # type: ignore[arg-type]
        (lambda: fuzzy([90]), "is not a number between 0 and 100"),  # type: ignore[arg-type]
        (lambda: overlap("half"), "is not a number between 0 and 1"),  # type: ignore[arg-type]
        (lambda: overlap(float("inf")), "is not a number between 0 and 1"),
        (lambda: chunk(threshold="90%"), "is not a number between 0 and 100"),  # type: ignore[arg-type]
        (lambda: chunk(normalize=["cases"]), "Did you mean case?"),  # type: ignore[arg-type]
        (lambda: chunk(normalize=5), "Use any of"),  # type: ignore[arg-type]
        (lambda: chunk(field=None), "meta.name"),  # type: ignore[arg-type]
        (lambda: same("meta..x"), "meta.name"),
        (lambda: same("id", gold="ids"), "Did you mean id"),
        (lambda: prefix(""), 'Use text such as "::".'),
        (lambda: prefix(5), 'Use text such as "::".'),  # type: ignore[arg-type]
        (lambda: prefix("'\""), "both kinds of quotation marks"),
        (lambda: prefix("\ud83d"), "lone surrogate"),
        (lambda: prefix(None), 'Use text such as "::".'),  # type: ignore[arg-type]
    ],
)
def test_an_invalid_parameter_is_rejected_when_a_matcher_is_created(make: Callable[[], Any], what: str) -> None:
    with pytest.raises(KaratError, match=re.escape(what)):
        make()


def test_a_field_that_no_document_has_is_rejected() -> None:
    for match in ("meta.file", "chunk(field=meta.file)", "fuzzy(field=meta.file)", "overlap(field=meta.file)"):
        with pytest.raises(KaratError, match=r"the field 'meta\.file' is missing or empty"):
            evaluate([[Document("a")]], [[Document("a")]], "R", match=match)


def test_a_field_of_retrieved_documents_can_be_matched_with_another_field_of_golds() -> None:
    golds = [Document("Gold is soft", id="7"), Document("Iron rusts", id="8")]
    retrieved = [{"content": "soft", "meta": {"source_id": "7"}}, {"content": "x", "meta": {"source_id": "9"}}]
    scores = evaluate([golds], [retrieved], "R", match="meta.source_id(gold=id)")
    assert found(scores) == [("0", 1, "7")]
    assert scores.explain("0").rows[0].reason == "meta.source_id is the gold id"


@pytest.mark.parametrize("match", ["chunk", "fuzzy", "overlap", "content", "meta.x"])
def test_matching_a_file_of_ids_by_text_is_rejected(match: str, tmp_path: Path) -> None:
    path = tmp_path / "run.trec"
    path.write_text("q Q0 d1 1 3 x\n")
    (tmp_path / "qrels").write_text("q 0 d1 1\n")
    for truth in (tmp_path / "qrels", {"q": ["d1"]}):
        with pytest.raises(KaratError, match=r"a table contains only ids.*Match by id or prefix"):
            evaluate(truth, path, "R", match=match)


@pytest.mark.parametrize("match", ["chunk", "fuzzy", "overlap", "content", "meta.x", "prefix(field=meta.x)"])
def test_matching_bare_ids_by_text_or_metadata_is_rejected(match: str) -> None:
    document = {"id": "d1", "content": "d1", "meta": {"x": "d1"}}
    truths = [{"q": {"d1": 1}}, [("q", "d1", 1)], pd.DataFrame({"query": ["q"], "doc": ["d1"], "grade": [1]})]
    runs = [{"q": {"d1": 1.0}}, [("q", "d1", 1.0)], pd.DataFrame({"query": ["q"], "doc": ["d1"], "score": [1.0]})]
    for truth in truths:
        with pytest.raises(KaratError, match=r"contains only ids, so documents cannot be matched by .*Match by id"):
            evaluate(truth, {"q": [document]}, "R", match=match)
    for run in runs:
        with pytest.raises(KaratError, match=r"contains only ids, so documents cannot be matched by .*Match by id"):
            evaluate({"q": [document]}, run, "R", match=match)
        with pytest.raises(KaratError, match="contains only ids"):
            evaluate_runs({"q": [document]}, {"a": run}, "R", match=match)
    with pytest.raises(KaratError, match="contains only ids"):
        evaluate_results([{"query": "q", "truth": {"d1": 1}, "retrieved": [document]}], "R", match=match)


def test_ids_are_matched_with_the_metadata_of_chunks_if_the_gold_field_is_the_id() -> None:
    run = {"q": [{"content": "x", "meta": {"x": "d1"}}]}
    with pytest.raises(KaratError, match=r"write meta\.x\(gold=id\)"):
        evaluate({"q": {"d1": 1}}, run, "R", match="meta.x")
    assert evaluate({"q": {"d1": 1}}, run, "R", match="meta.x(gold=id)")["R"] == 1


def test_retrieved_texts_have_no_metadata() -> None:
    with pytest.raises(KaratError, match=r"the run, query q: retrieved documents that are texts have no meta\.x"):
        evaluate({"q": ["d1"]}, {"q": ["d1"]}, "R", match="meta.x")


def test_an_empty_mapping_of_a_query_is_valid_with_any_match() -> None:
    assert evaluate({"q": ["Gold is soft"], "r": {}}, {"q": ["is soft"], "r": {}}, "R", match="chunk")["R"] == 0.5


def test_evaluate_runs_and_evaluate_results_take_match() -> None:
    runs = {"good": {"q": ["is soft"]}, "bad": {"q": ["x", "Gold"]}}
    scores = evaluate_runs({"q": ["Gold is soft"]}, runs, "RR", match="chunk")
    assert {name: of_run["RR"] for name, of_run in scores.items()} == {"good": 1.0, "bad": 0.5}
    record = {"query": "How soft?", "truth": ["Gold is soft."], "retrieved": ["Iron rusts.", "is soft"]}
    assert evaluate_results([record], "RR", match="chunk")["RR"] == 0.5
    counted = evaluate_runs({"q": ["ab"]}, runs, "R", match=lambda one, other: other < one)
    assert [of_run["R"] for of_run in counted.values()] == [1.0, 1.0]


def test_scores_report_how_documents_were_matched() -> None:
    for match, said in (("chunk", "chunk"), (fuzzy(80), "fuzzy(threshold=80)"), (is_cut_from(), "says")):
        scores = evaluate([["a"]], [["a"]], "R", match=match)
        assert f"matched by {said}." in [str(finding) for finding in scores.findings]
    assert "matched by" not in str(evaluate([["a"]], [["a"]], "R"))


# Evaluators.

EVALUATORS: list[tuple[Callable[..., Any], float]] = [
    (DocumentMeasureEvaluator, 1 / np.log2(3) / (1 + 1 / np.log2(3))),
    (DocumentRecallEvaluator, 1.0),
    (DocumentMAPEvaluator, 0.5),
    (DocumentMRREvaluator, 0.5),
    (DocumentNDCGEvaluator, 1 / np.log2(3) / (1 + 1 / np.log2(3))),
]
each_evaluator = pytest.mark.parametrize(("make", "score"), EVALUATORS, ids=lambda make: getattr(make, "__name__", ""))
GOLDS = [[Document("Gold is soft."), Document("Iron rusts in the rain.")]]
RETRIEVED = [[Document("Silver"), Document("is soft"), Document("Gold")]]


def same_beginning(retrieved: Document, gold: Document) -> bool:
    return (retrieved.content or "")[:2] in (gold.content or "")


@each_evaluator
@pytest.mark.parametrize("match", ["chunk", chunk(), "chunk(normalize=all)", same_beginning], ids=called)
def test_every_evaluator_takes_match(make: Callable[..., Any], score: float, match: Any) -> None:
    evaluator = make(match=match)
    by_rank = make is DocumentMAPEvaluator
    # By rank, MAP counts both chunks of one gold: (1/2 + 2/3) / 2.
    wanted = (1 / 2 + 2 / 3) / 2 if by_rank else score
    assert evaluator.run(GOLDS, RETRIEVED)["individual_scores"] == pytest.approx([wanted])
    pipeline = Pipeline()
    pipeline.add_component("evaluator", evaluator)
    pipeline.add_component("by content", make())
    result = pipeline.run({"ground_truth_documents": GOLDS, "retrieved_documents": RETRIEVED})
    assert result["evaluator"]["score"] == pytest.approx(wanted)
    assert result["by content"]["score"] == 0


@each_evaluator
@pytest.mark.parametrize(
    "match",
    ["chunk", "fuzzy(threshold=85)", 'prefix(separator=", ")', overlap(0.25), "content(normalize=all)"],
    ids=str,
)
def test_an_evaluator_with_a_matcher_round_trips_through_a_dictionary(
    make: Callable[..., Any], score: float, match: Any
) -> None:
    evaluator = make(match=match)
    data = evaluator.to_dict()
    assert json.loads(json.dumps(data)) == data
    assert data["init_parameters"]["match"] == str(match)
    again = type(evaluator).from_dict(data)
    assert again.to_dict() == data
    assert repr(again) == repr(evaluator)
    assert again.run(GOLDS, RETRIEVED) == evaluator.run(GOLDS, RETRIEVED)


@each_evaluator
def test_match_is_not_saved_if_it_was_not_given(make: Callable[..., Any], score: float) -> None:
    assert "match" not in make().to_dict()["init_parameters"]
    assert make().run([["Gold is soft."]], [["is soft"]])["score"] == 0


@each_evaluator
def test_an_evaluator_with_a_function_runs_but_cannot_be_saved(make: Callable[..., Any], score: float) -> None:
    evaluator = make(match=same_beginning)
    assert "same_beginning" in repr(evaluator)
    with pytest.raises(KaratError, match=r"the function same_beginning cannot be saved\. Use the name of a matcher"):
        evaluator.to_dict()


@each_evaluator
def test_an_unhashable_function_can_be_used_in_a_pipeline(make: Callable[..., Any], score: float) -> None:
    class Alike:
        __hash__ = None  # type: ignore[assignment]  # as in a dataclass

        def __call__(self, retrieved: Document, gold: Document) -> bool:
            return same_beginning(retrieved, gold)

    pipeline = Pipeline()
    pipeline.add_component("one", make(match=Alike()))
    pipeline.add_component("other", make(match=same_beginning))
    results = pipeline.run({"ground_truth_documents": GOLDS, "retrieved_documents": RETRIEVED})
    assert results["one"] == results["other"]


@each_evaluator
def test_match_and_a_comparison_field_cannot_be_combined(make: Callable[..., Any], score: float) -> None:
    for field in ("id", "meta.x"):
        with pytest.raises(KaratError, match=r"cannot be combined\. Pass the field to the matcher"):
            make(document_comparison_field=field, match="chunk")
    assert make(document_comparison_field="content", match="chunk").run(GOLDS, RETRIEVED)["score"] > 0


@each_evaluator
@pytest.mark.parametrize("match", ["chunks", "fuzzy(threshold=0.9)", 5, "chunk(normalize=spaces)"])
def test_an_invalid_match_is_rejected_when_an_evaluator_is_created(
    make: Callable[..., Any], score: float, match: Any
) -> None:
    with pytest.raises(KaratError):
        make(match=match)


@given(texts=meeting(), match=st.sampled_from(["chunk", "fuzzy(threshold=60)", "overlap", "content(normalize=all)"]))
def test_evaluators_and_evaluate_agree_with_every_matcher(texts: Texts, match: str) -> None:
    golds, retrieved = ([side[at] for side in texts.values()] for at in (0, 1))
    measures = {"Success": DocumentRecallEvaluator, "RR": DocumentMRREvaluator, "nDCG": DocumentNDCGEvaluator}
    scores = evaluate(golds, retrieved, list(measures), match=match)
    for measure, make in measures.items():
        result = make(match=match).run(golds, retrieved)["individual_scores"]
        assert result == pytest.approx(scores.column(measure).tolist(), abs=1e-12)


def test_gold_scores_are_grades_with_every_matcher() -> None:
    golds = [[Document("Gold is soft.", score=3), Document("Iron rusts.", score=1)]]
    (score,) = DocumentNDCGEvaluator(match="chunk").run(golds, [["rusts", "soft"]])["individual_scores"]
    assert score == pytest.approx((1 + 3 / np.log2(3)) / (3 + 1 / np.log2(3)))
    assert DocumentRecallEvaluator("multi_hit", match="chunk").run(golds, [["rusts"]])["score"] == 0.5


def test_an_evaluator_with_a_matcher_warns_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        DocumentMRREvaluator(match="chunk").run([[], ["a"], ["a"], [None, "a"]], [["a"], [], [Document()], ["a"]])
    (message,) = caplog.messages
    assert "1 query with empty ground truth (scored 0): 0." in message
    assert "2 queries of the run without documents that can match (scored 0): 1, 2." in message
    assert "1 judged document without content (cannot match)." in message


# In Haystack's pipelines.


@pytest.mark.parametrize(
    ("name", "score"),
    [
        ("DocumentMeasureEvaluator", 1 / np.log2(3) / (1 + 1 / np.log2(3))),
        ("DocumentRecallEvaluator", 1.0),
        ("DocumentMAPEvaluator", (1 / 2) / 2),
        ("DocumentMRREvaluator", 0.5),
        ("DocumentNDCGEvaluator", 1 / np.log2(3) / (1 + 1 / np.log2(3))),
    ],
)
def test_a_haystack_pipeline_runs_saves_and_loads_match(name: str, score: float) -> None:
    pipeline = haystack.Pipeline()
    pipeline.add_component("chunks", getattr(in_haystack, name)(match="chunk"))
    pipeline.add_component("texts", getattr(in_haystack, name)())
    inputs = {
        "ground_truth_documents": [[haystack.Document(content=doc.content) for doc in GOLDS[0]]],
        "retrieved_documents": [[haystack.Document(content=doc.content) for doc in RETRIEVED[0]]],
    }
    loaded = haystack.Pipeline.loads(pipeline.dumps())
    assert loaded.dumps() == pipeline.dumps()
    assert "match: chunk" in pipeline.dumps()
    for each in (pipeline, loaded):
        result = each.run({"chunks": inputs, "texts": inputs})
        assert result["chunks"]["individual_scores"] == pytest.approx([score])
        assert result["texts"]["score"] == 0


def test_a_haystack_component_rejects_what_an_evaluator_rejects() -> None:
    with pytest.raises(KaratError, match="Did you mean chunk"):
        in_haystack.DocumentMRREvaluator(match="chunks")
    with pytest.raises(KaratError, match="cannot be combined"):
        in_haystack.DocumentMRREvaluator("id", match="chunk")
    pipeline = haystack.Pipeline()
    pipeline.add_component("own", in_haystack.DocumentMRREvaluator(match=same_beginning))
    with pytest.raises(KaratError, match="the function same_beginning cannot be saved"):
        pipeline.dumps()
