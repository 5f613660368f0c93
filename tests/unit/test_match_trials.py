"""If nothing is found, the hint names the match that would find something, tried on the documents."""

import csv
from pathlib import Path
from typing import Any

import pytest

import karat
from karat import Document, evaluate
from karat.components.evaluators import DocumentRecallEvaluator
from karat.evaluation.facts import DocumentFacts
from karat.matching import matcher_of
from karat.matching.document_samples import MOST_QUERIES, sample_of_lists
from karat.matching.trials import try_matches


def hint(truth: Any, run: Any, **options: Any) -> str:
    findings = evaluate(truth, run, "R@1000", **options).findings
    return next((finding.hint for finding in findings if finding.code == "nothing-found"), "")


TEXT = "Gold is soft. It melts at 1064 °C."
CASES: dict[str, tuple[Any, Any, str]] = {
    "chunk ids": (["doc17"], ["doc4#1", "doc17#3"], "prefix(separator=#)"),
    "the usual separator": (["doc17"], ["doc17::3"], "prefix"),
    "a separator in the gold ids too": (["doc_17"], ["doc_17_3"], "prefix(separator=_)"),
    "a long separator": (["doc17"], ["doc17 - part 3"], 'prefix(separator=" - ")'),
    "other case": (["DOC17"], ["doc17"], "id(normalize=case)"),
    "spaces": (["doc17"], [" doc17 "], "id(normalize=space)"),
    "chunk ids in other case": (["DOC17"], ["doc17#3"], "prefix(separator=#, normalize=case)"),
    "ids in the metadata": (["a.pdf"], [{"id": "u1", "meta": {"page": 3, "source": "a.pdf"}}], "meta.source"),
    "ids in other fields": (["a.pdf"], [{"id": "u1", "text": "Gold", "source": "a.pdf"}], "meta.source"),
    "ids inside the metadata": (["a.pdf"], [{"id": "u1", "meta": {"file": {"name": "a.pdf"}}}], "meta.file.name"),
    "ids of gold documents in the metadata": (
        [{"id": "a.pdf", "content": "Gold"}], [{"id": "u1", "meta": {"source": "a.pdf"}}], "meta.source(gold=id)",
    ),
    "graded ids in the metadata": (
        {"a.pdf": 2}, [{"id": "u1", "meta": {"source": "a.pdf"}}], "meta.source(gold=id)",
    ),
    "the same metadata": (
        [{"id": "g1", "meta": {"url": "x.org"}}], [{"id": "u1", "meta": {"url": "x.org"}}], "meta.url",
    ),
    "ids in the metadata of gold documents": (
        [{"id": "g1", "meta": {"chunk": "u1"}}], [{"id": "u1", "content": "Gold"}], "id(gold=meta.chunk)",
    ),
    "chunk ids in the metadata": (
        ["a.pdf"], [{"id": "u1", "meta": {"source": "a.pdf#3"}}], "prefix(separator=#, field=meta.source)",
    ),
    "the same texts": ([{"id": "g1", "content": TEXT}], [{"id": "u1", "content": TEXT}], "content"),
    "texts with other spaces": ([{"id": "g", "content": TEXT}], [TEXT.replace(" ", "\n")], "content(normalize=all)"),
    "parts of texts": ([TEXT], ["Iron rusts.", "It melts at"], "chunk"),
    "parts of texts with other case": ([TEXT], ["it MELTS at"], "chunk(normalize=all)"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_hint_names_the_match_that_finds_gold_documents_and_it_does(name: str) -> None:
    golds, retrieved, match = CASES[name]
    text = hint({"q": golds}, {"q": retrieved})
    assert f"(in Python match={match!r}), 100% of the gold documents are found (tried on 1 query)" in text
    assert evaluate({"q": golds}, {"q": retrieved}, "R@1000", match=match).means == {"R@1000": 1.0}


@pytest.mark.parametrize(
    ("gold", "retrieved", "difference"), [("007", "7", "zeros at the beginning"), ("d7", "d7.0", "a .0 at the end")]
)
def test_ids_that_no_match_makes_the_same_are_shown_with_their_difference(
    gold: str, retrieved: str, difference: str
) -> None:
    text = hint({"q": {gold: 1}}, {"q": {retrieved: 0.5, "x": 0.1}})
    assert difference in text
    assert f"{gold!r} in the ground truth is {retrieved!r} in the run" in text
    assert "match" not in text


@pytest.mark.parametrize(
    ("truth", "run", "tried"),
    [
        ({"a": 1}, {"x-9": 0.5}, "ids in other spellings and prefix"),
        ([TEXT], ["Iron rusts in wet air."], "ids in other spellings, prefix, content and chunk"),
        (["a"], [{"id": "x", "meta": {"page": 1}}], "ids in other spellings, prefix and meta.page"),
    ],
)
def test_if_no_match_finds_any_the_hint_recommends_none_and_shows_both_sides(truth: Any, run: Any, tried: str) -> None:
    text = hint({"q": truth}, {"q": run})
    assert text.startswith(f"No other match finds one (tried on 1 query: {tried}). For query 'q', the ground truth has")
    assert "--match" not in text


def test_another_match_that_finds_nothing_does_not_recommend_itself() -> None:
    assert "--match chunk " in hint({"q": [TEXT]}, {"q": ["It melts"]}, match="content")
    assert hint({"q": [TEXT]}, {"q": ["Iron rusts."]}, match="chunk").startswith("No other match finds one")
    assert "--match 'prefix(separator=#)'" in hint({"q": ["d1"]}, {"q": ["d1#4"]}, match="prefix")
    assert "--match id " in hint({"q": ["d1"]}, {"q": [{"id": "d1", "content": "Gold"}]}, match="content")


def test_the_texts_of_a_corpus_are_tried() -> None:
    corpus = {"d1": TEXT, "d2": "It melts at"}
    assert "--match chunk " in hint({"q": {"d1": 1}}, {"q": {"d2": 0.5}}, match="content", corpus=corpus)


def test_the_match_that_finds_most_is_named_with_its_share() -> None:
    truth = {"q1": ["a", "b"], "q2": ["c", "d"]}
    run = {"q1": ["a#1", "b#1"], "q2": ["c#1", "d/1"]}
    assert "--match 'prefix(separator=#)' (in Python match='prefix(separator=#)'), 75% of" in hint(truth, run)


def test_files_of_ids_get_the_same_hint_but_no_match_by_text(tmp_path: Path) -> None:
    (tmp_path / "t.qrels").write_text("".join(f"q{at} 0 d{at} 1\nq{at} 0 e{at} 0\n" for at in range(120)))
    (tmp_path / "r.trec").write_text("".join(f"q{at} Q0 d{at}#{n} 1 {n} x\n" for at in range(120) for n in range(9)))
    with open(tmp_path / "r.csv", "w", newline="") as file:
        csv.writer(file).writerows([("query", "doc", "score"), *((f"q{at}", f"d{at}#0", 1) for at in range(120))])
    for run in ("r.trec", "r.csv"):
        text = hint(tmp_path / "t.qrels", tmp_path / run)
        assert f"100% of the gold documents are found (tried on {MOST_QUERIES} queries)" in text
        assert "--match 'prefix(separator=#)'" in text
        assert evaluate(tmp_path / "t.qrels", tmp_path / run, "R", match="prefix(separator=#)").means == {"R": 1.0}


def test_nothing_is_tried_if_a_document_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karat.evaluation.documents.sample_of_run", None)
    assert not hint({"q": ["a", "d1"]}, {"q": ["a", "d1#1"]})


def test_long_texts_and_lists_are_cut() -> None:
    text = " ".join(f"word{at}" for at in range(4_000))
    golds = {f"q{at:03}": [{"id": "g", "content": text}] for at in range(100)}
    run = {query: [{"id": f"u{at}", "content": text[at : at + 20_000]} for at in range(300)] for query in golds}
    sampled = sample_of_lists(golds, run)
    assert 0 < sum(each.size for each in sampled) < 2_500_000
    assert [each.query for each in sampled] == sorted(golds)[: len(sampled)]
    best = try_matches(sampled).best
    assert best is not None
    assert matcher_of(best.match) == matcher_of("content")  # by their beginnings
    assert best.found == len(sampled)


def test_documents_of_other_frameworks_and_odd_values_are_tried() -> None:
    class Node:
        id_ = "u1"
        metadata = {"source": "a.pdf", "tags": ["x"], "score": 0.5, "a.b": "c", "": "d", "none": None}  # noqa: RUF012

        def get_content(self) -> str:
            return TEXT

    assert "--match meta.source " in hint({"q": ["a.pdf"]}, {"q": [Node()]})


def test_the_warning_of_an_evaluator_names_the_match_too(caplog: pytest.LogCaptureFixture) -> None:
    golds = [[Document(content=TEXT)]]
    DocumentRecallEvaluator().run(ground_truth_documents=golds, retrieved_documents=[[Document(content="It melts at")]])
    assert "With --match chunk (in Python match='chunk'), 100%" in caplog.text


def test_results_get_the_hint() -> None:
    log = [{"query": "How soft?", "truth": ["a.pdf"], "retrieved": [{"id": "1", "metadata": {"source": "a.pdf"}}]}]
    findings = karat.evaluate_results(log).findings
    assert "--match meta.source " in next(finding.hint for finding in findings if finding.code == "nothing-found")


def test_samples_of_parts_of_the_queries_are_merged_in_the_order_of_their_ids() -> None:
    parts = [DocumentFacts(unmatched=sample_of_lists({query: ["x"]}, {query: ["y"]})) for query in ("b", "a")]
    assert [each.query for each in DocumentFacts.merged(parts).unmatched] == ["a", "b"]
