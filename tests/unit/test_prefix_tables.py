"""Prefixes and normalized ids in tables and TREC files: the same hits as in lists, ranked by every option of ties."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from karat import KaratError, Scores, evaluate
from karat.data.judged import Judged
from karat.matching import joiner, matcher_of, overlap, prefix, same
from karat.options import Ties
from tests.block_size import block_size

Says = Callable[[str, str], bool]
Golds = dict[str, dict[str, float]]
Ranked = dict[str, dict[str, float]]

SEPARATORS = ("::", "#", "/", "-", ".", "|", "\\", "aa", "aba", "é", "^$", "(", "[a]", "\\1", "::chunk", "'", '"')


def belongs(separator: str) -> Says:
    return lambda retrieved, gold: retrieved == gold or retrieved.startswith(gold + separator)


def in_order(docs: Mapping[str, float], golds: Mapping[str, float], says: Says, ties: Ties) -> list[str]:
    """By score; equal scores by id, descending, in input order, or with relevant documents first or last."""
    grade = {doc: max([golds[gold] for gold in golds if says(doc, gold)], default=0.0) for doc in docs}
    names = list(docs)
    if ties != "input":
        names.sort(reverse=True)
    if ties in ("best", "worst"):
        names.sort(key=lambda doc: max(grade[doc], 0.0), reverse=ties == "best")
    return sorted(names, key=lambda doc: docs[doc], reverse=True)


def expected(golds: Golds, ranked: Ranked, says: Says, ties: Ties) -> list[tuple[str, int, str]]:
    return sorted(
        (query, rank, gold)
        for query in golds
        for rank, doc in enumerate(in_order(ranked.get(query, {}), golds[query], says, ties), 1)
        for gold in golds[query]
        if says(doc, gold)
    )


def judged_of(scores: Scores) -> Judged:
    assert scores.evidence is not None
    return scores.evidence.judged


def found(scores: Scores) -> list[tuple[str, int, str]]:
    assert scores.evidence is not None
    judged, docs = scores.evidence.judged, scores.evidence.truth.docs
    rows = zip(judged.hit_query.tolist(), judged.hit_rank.tolist(), judged.hit_gold.tolist(), strict=True)
    return sorted((judged.queries[query], rank, docs[gold]) for query, rank, gold in rows)


def assert_same(one: Scores, other: Scores) -> None:
    for field in fields(Judged):
        left, right = getattr(judged_of(one), field.name), getattr(judged_of(other), field.name)
        assert np.array_equal(left, right), field.name


def frame(data: Golds | Ranked, number: str) -> pl.DataFrame:
    rows = [(query, doc, float(value)) for query, docs in data.items() for doc, value in docs.items()]
    return pl.DataFrame(rows, schema=["query", "doc", number], orient="row")


def trec(folder: str, golds: Golds, ranked: Ranked) -> tuple[Path, Path]:
    truth, run = Path(folder, "qrels"), Path(folder, "run")
    judgments = (f"{query} 0 {doc} {grade}\n" for query, docs in golds.items() for doc, grade in docs.items())
    truth.write_text("".join(judgments), newline="\n")
    rows = (f"{query} Q0 {doc} 0 {score!r} x\n" for query, docs in ranked.items() for doc, score in docs.items())
    run.write_text("".join(rows), newline="\n")
    return truth, run


@st.composite
def cases(
    draw: st.DrawFn, separators: tuple[str, ...] = SEPARATORS, letters: str = "abAé金"
) -> tuple[str, Golds, Ranked]:
    """A separator, and ids of golds and chunks that contain it often, also in part and overlapping."""
    separator = draw(st.sampled_from(separators))
    parts = st.sampled_from([*letters, separator, separator, separator[0], separator[-1]])
    names = st.lists(parts, min_size=1, max_size=6).map("".join)
    golds: Golds = {}
    ranked: Ranked = {}
    for query in ("0", "1", "2"):
        listed = draw(st.lists(names, min_size=1, max_size=4, unique=True))
        golds[query] = {gold: draw(st.sampled_from([1.0, 1.0, 2.0, 0.0, -1.0])) for gold in listed}
        rest = st.lists(parts, max_size=3).map("".join)
        chunks = st.builds(lambda gold, end: f"{gold}{separator}{end}", st.sampled_from(listed), rest)
        docs = draw(st.lists(names | chunks, min_size=1, max_size=8, unique=True))
        ranked[query] = {doc: float(draw(st.integers(0, 2))) for doc in docs}
    return separator, golds, ranked


ties_asked = st.sampled_from(["trec", "input", "best", "worst"])


@given(case=cases(), ties=ties_asked)
@settings(max_examples=40)
@example(
    case=("::", {"0": {"a": 1.0, "a:": 2.0}}, {"0": {"a:::b": 1.0, "a::b": 1.0, "a::::": 1.0, "b": 1.0}}), ties="best"
)
@example(case=("aba", {"0": {"a": 1.0, "aab": 2.0}}, {"0": {"aababa": 1.0, "aabab": 1.0, "aab": 1.0}}), ties="worst")
def test_ids_with_a_gold_prefix_have_the_same_rank_in_every_input_format(
    case: tuple[str, Golds, Ranked], ties: Ties
) -> None:
    separator, golds, ranked = case
    match = prefix(separator)
    first = evaluate(golds, ranked, "R", match=match, ties=ties)
    assert found(first) == expected(golds, ranked, belongs(separator), ties)
    lists = {query: in_order(docs, golds[query], belongs(separator), ties) for query, docs in ranked.items()}
    assert_same(evaluate(golds, lists, "R", match=match), first)
    assert_same(evaluate(frame(golds, "grade"), frame(ranked, "score"), "R", match=match, ties=ties), first)
    with tempfile.TemporaryDirectory() as folder:
        truth, run = trec(folder, golds, ranked)
        assert_same(evaluate(truth, run, "R", match=match, ties=ties), first)
        assert_same(evaluate(golds, run, "R", match=match, ties=ties), first)
        with block_size(40):
            assert_same(evaluate(truth, run, "R", match=match, ties=ties), first)


FOLDED: dict[str, Callable[[str], str]] = {
    "case": str.casefold,
    "punctuation": lambda text: "".join(letter for letter in text if letter not in "-._:#"),
}


@given(case=cases(separators=("-", ".", "::"), letters="aAbBéÉ"), ties=ties_asked, fold=st.sampled_from(sorted(FOLDED)))
@settings(max_examples=40)
def test_normalized_ids_have_the_same_rank_in_every_input_format(
    case: tuple[str, Golds, Ranked], ties: Ties, fold: str
) -> None:
    _, golds, ranked = case
    how = FOLDED[fold]
    once: Golds = {}
    for query, docs in golds.items():
        once[query] = {}
        for gold, grade in docs.items():
            if name := how(gold):
                once[query][name] = max(grade, once[query].get(name, grade))
    assume(all(once.values()))
    match = f"id(normalize={fold})"
    first = evaluate(golds, ranked, "R", match=match, ties=ties)
    assert found(first) == expected(once, ranked, lambda doc, gold: how(doc) == gold, ties)
    assert judged_of(first).gold_grade.tolist() == [grade for docs in once.values() for grade in docs.values()]
    assert_same(evaluate(frame(golds, "grade"), frame(ranked, "score"), "R", match=match, ties=ties), first)
    with tempfile.TemporaryDirectory() as folder:
        truth, run = trec(folder, golds, ranked)
        with block_size(40):
            assert_same(evaluate(truth, run, "R", match=match, ties=ties), first)


@given(case=cases(separators=("::", "-Chunk", "É")), ties=ties_asked)
@settings(max_examples=40)
def test_prefixes_can_be_normalized_in_every_input_format(case: tuple[str, Golds, Ranked], ties: Ties) -> None:
    separator, golds, ranked = case
    assume(all(len({gold.casefold() for gold in docs}) == len(docs) for docs in golds.values()))

    def says(doc: str, gold: str) -> bool:
        return belongs(separator.casefold())(doc.casefold(), gold)

    once = {query: {gold.casefold(): grade for gold, grade in docs.items()} for query, docs in golds.items()}
    match = prefix(separator, normalize=("case",))
    first = evaluate(golds, ranked, "R", match=match, ties=ties)
    assert found(first) == expected(once, ranked, says, ties)
    assert_same(evaluate(frame(golds, "grade"), frame(ranked, "score"), "R", match=match, ties=ties), first)
    with tempfile.TemporaryDirectory() as folder:
        truth, run = trec(folder, golds, ranked)
        assert_same(evaluate(truth, run, "R", match=match, ties=ties), first)


def contains(doc: str, gold: str) -> bool:
    return bool(doc.strip()) and doc in gold


TEXTS = st.sampled_from(
    ["Gold is soft", "is soft", "Gold", "soft", "Gold is", "Iron rusts", "rusts", "Iron", "x", "金"]
)


@pytest.mark.parametrize(
    ("match", "says"),
    [
        ("chunk(field=id)", contains),
        (contains, contains),
        (
            overlap(0.6, field="id"),
            lambda doc, gold: len(set(doc.split()) & set(gold.split())) / len(gold.split()) >= 0.6,
        ),
    ],
    ids=["chunk", "function", "overlap"],
)
@given(data=st.data(), ties=ties_asked)
@settings(max_examples=50)
def test_ties_between_texts_are_ordered_like_ties_between_ids(
    match: Any, says: Says, data: st.DataObject, ties: Ties
) -> None:
    golds: Golds = {
        query: {gold: float(data.draw(st.integers(0, 2))) for gold in ("Gold is soft", "Iron rusts", "Gold")}
        for query in ("0", "1")
    }
    ranked: Ranked = {
        query: {doc: float(data.draw(st.integers(0, 1))) for doc in data.draw(st.lists(TEXTS, min_size=1, unique=True))}
        for query in golds
    }
    first = evaluate(golds, ranked, "R", match=match, ties=ties)
    assert found(first) == expected(golds, ranked, says, ties)
    assert_same(evaluate(frame(golds, "grade"), frame(ranked, "score"), "R", match=match, ties=ties), first)


@pytest.mark.parametrize(
    ("separator", "hits"),
    [
        (" - ", [("q", 1, "d\n"), ("q", 2, "d"), ("q", 3, "d\n")]),
        ("\n", [("q", 1, "d"), ("q", 3, "d"), ("q", 3, "d\n")]),
    ],
)
def test_ids_with_blanks_and_line_breaks_match_by_prefix(separator: str, hits: list[tuple[str, int, str]]) -> None:
    golds, ranked = {"q": {"d": 1.0, "d\n": 1.0}}, {"q": {"d\n - 1": 3.0, "d - 2": 2.0, "d\n": 1.0}}
    assert found(evaluate(golds, ranked, "R", match=prefix(separator))) == hits
    assert found(evaluate(golds, frame(ranked, "score"), "R", match=prefix(separator))) == hits


@pytest.mark.parametrize("golds", [{"d": 1.0}, {"d": 1.0, "d::": 1.0, "e": 1.0, "d:::": 1.0}])
def test_an_id_with_many_separators_is_matched_fast_in_a_table(golds: dict[str, float]) -> None:
    ranked = {"q": {"d" + ":" * 100_000: 2.0, ":" * 100_000: 1.0}}
    wanted = expected({"q": golds}, ranked, belongs("::"), "trec")
    assert found(evaluate({"q": golds}, frame(ranked, "score"), "R", match="prefix")) == wanted


@given(case=cases())
@settings(max_examples=30)
@example(case=("::", {"0": {"a": 1.0, "a:": 2.0, "a::b": 1.0}}, {"0": {"a:::b::c": 1.0, "a::b::::": 1.0, "a::b": 1.0}}))
def test_ids_with_many_separators_match_the_same_golds_as_ids_with_few(case: tuple[str, Golds, Ranked]) -> None:
    separator, golds, ranked = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joiner, "_MOST_SEPARATORS", 1)
        scores = evaluate(golds, frame(ranked, "score"), "R", match=prefix(separator))
    assert found(scores) == expected(golds, ranked, belongs(separator), "trec")


def test_a_gold_id_with_many_separators_is_found_in_a_table() -> None:
    gold = "::".join(["part"] * 2_000)
    ranked = {"q": {f"{gold}::1": 3.0, gold: 2.0, f"x{gold}": 1.0}}
    scores = evaluate({"q": {gold: 1.0, "part": 1.0}}, frame(ranked, "score"), "R", match="prefix")
    assert found(scores) == [("q", 1, "part"), ("q", 1, gold), ("q", 2, "part"), ("q", 2, gold)]


def test_a_query_whose_rows_are_scattered_over_a_file_is_ranked_as_a_whole(tmp_path: Path) -> None:
    rows = [f"q{number % 3} Q0 d{number % 7}::{number} 0 {100 - number} x\n" for number in range(60)]
    (tmp_path / "run").write_text("".join(rows))
    with gzip.open(tmp_path / "run.gz", "wt") as file:
        file.write("".join(rows))
    golds = {f"q{query}": {f"d{doc}": 1.0 for doc in range(query, 5)} for query in range(3)}
    ranked: Ranked = {query: {} for query in golds}
    for row in rows:
        query, _, doc, _, score, _ = row.split()
        ranked[query][doc] = float(score)
    first = evaluate(golds, ranked, "R", match="prefix")
    assert found(first) == expected(golds, ranked, belongs("::"), "trec")
    for path in (tmp_path / "run", tmp_path / "run.gz"):
        with block_size(100):
            assert_same(evaluate(golds, path, "R", match="prefix"), first)


def test_a_query_without_hits_is_still_in_the_run() -> None:
    run = frame({"1": {"x::1": 1.0}, "2": {"a::1": 1.0}, "other": {"a::1": 1.0}}, "score")
    scores = evaluate({"1": ["a"], "2": ["a"], "3": ["a"]}, run, "R", match="prefix")
    judged = judged_of(scores)
    assert judged.in_run.tolist() == [True, True, False]
    assert judged.retrieved.tolist() == [1, 1, 0]
    assert scores.column("R").tolist() == [0.0, 1.0, 0.0]


def test_a_document_listed_twice_is_an_error_or_kept_at_its_best_rank() -> None:
    rows = pl.DataFrame({"query": ["q"] * 3, "doc": ["a::1", "b", "a::1"], "score": [1.0, 2.0, 3.0]})
    with pytest.raises(KaratError, match="document a::1 is listed twice for query q"):
        evaluate({"q": ["a"]}, rows, "RR", match="prefix")
    assert evaluate({"q": ["a"]}, rows, "RR", match="prefix", duplicates="first")["RR"] == 1


def test_two_chunks_of_one_document_are_not_duplicates() -> None:
    rows = pl.DataFrame({"query": ["q"] * 3, "doc": ["a::1", "A::1", "a::2"], "score": [3.0, 2.0, 1.0]})
    scores = evaluate({"q": ["a", "b"]}, rows, ["R", "P@3"], match="prefix(normalize=case)")
    assert (scores["R"], scores["P@3"]) == (0.5, 1.0)


def test_golds_that_are_equal_after_normalization_keep_the_larger_grade(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q 0 Doc 1\nq 0 doc 3\nq 0 DOC 2\nq 0 other 1\n")
    golds = {"q": {"Doc": 1, "doc": 3, "DOC": 2, "other": 1}}
    for truth in (golds, tmp_path / "qrels", frame(golds, "grade")):  # type: ignore[arg-type]
        scores = evaluate(truth, {"q": ["dOC"]}, ["DCG", "NumRel", "R"], match="id(normalize=case)")
        assert dict(scores) == {"DCG": 3.0, "NumRel": 2.0, "R": 0.5}


@pytest.mark.parametrize("match", ["prefix", "id(normalize=all)", same("id", normalize=("space",))], ids=str)
def test_equal_ids_are_hits_by_prefix_and_after_normalization(match: Any) -> None:
    golds = {"q": {"a": 1.0, "b": 0.0}}
    plain = evaluate(golds, frame({"q": {"b": 2.0, "x": 1.0, "a": 0.0}}, "score"), ["AP", "nDCG", "RR"])
    other = evaluate(golds, frame({"q": {"b": 2.0, "x": 1.0, "a": 0.0}}, "score"), ["AP", "nDCG", "RR"], match=match)
    assert matcher_of(match) != matcher_of("id")
    assert_same(plain, other)
    assert dict(plain) == dict(other)
