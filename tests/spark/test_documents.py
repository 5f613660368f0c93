"""Documents on Spark: the scores, findings and errors are those of a local evaluation, whatever the partitions are."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pyarrow as pa
import pytest

import karat
from karat import KaratError, Scores
from karat.engines import spark as on_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MEASURES = [
    f"{each.name}@{each.example_at}" if each.at else each.name
    for each in karat.definitions()
    if each.subject == "documents" and each.takes == "judged"
]
OF_SPANS = [each.name for each in karat.definitions() if each.takes == "spans"]
FEW = ["nDCG@10", "AP", "P(rel=2)@3", "RR"]
WORDS = "gold is a soft metal that melts at one thousand and sixty four degrees and never rusts".split()


def pairs(seed: int = 1) -> tuple[pa.Table, pa.Table]:
    """Ground truth and a run, in shuffled rows: with ties, queries of one side only, and grades from -1 to 3."""
    draw = random.Random(seed)
    docs = [f"d{n}" for n in range(30)] + [f"D{n}::{n % 3}" for n in range(10)] + ["q3", "é", "007"]
    truth = [(f"q{q}", doc, draw.randint(-1, 3)) for q in range(20) for doc in draw.sample(docs, 6)]
    run = [(f"q{q}", doc, draw.randint(0, 9) / 4) for q in range(2, 24) for doc in draw.sample(docs, 12)]
    draw.shuffle(truth)
    draw.shuffle(run)
    columns = [dict(zip(("query", "doc", "number"), zip(*rows, strict=True), strict=True)) for rows in (truth, run)]
    names = (["query", "doc", "grade"], ["query", "doc", "score"])
    golds, found = (pa.table(each).rename_columns(of) for each, of in zip(columns, names, strict=True))
    return golds, found.append_column("position", pa.array(range(len(found))))


def lists(seed: int = 2) -> tuple[pa.Table, pa.Table]:
    """Ground truth and a run with a row per query, and documents with texts and metadata, some of them missing."""
    draw = random.Random(seed)

    def document(at: int, score: float | None) -> dict[str, Any]:
        start = draw.randrange(8)
        text = " ".join(WORDS[start : start + draw.randint(3, 9)])
        text = draw.choice([text, text.upper(), text.replace("metal", "meatl"), "", text])
        meta = {"source": draw.choice(["s1", "s2", "S1", None]), "of": f"d{draw.randrange(9)}"}
        return {"id": f"d{at}", "content": text or None, "meta": meta, "score": score}

    truth = [{"query": f"q{q}", "documents": [document(n, 1.0 + n) for n in range(q % 4)]} for q in range(15)]
    run = [{"query": f"q{q}", "documents": [document(n, None) for n in draw.sample(range(9), 7)]} for q in range(3, 18)]
    fields = [("id", pa.string()), ("content", pa.string()), ("score", pa.float64())]
    meta = pa.struct([("source", pa.string()), ("of", pa.string())])
    schema = pa.schema([("query", pa.string()), ("documents", pa.list_(pa.struct([*fields, ("meta", meta)])))])
    return pa.Table.from_pylist(truth, schema), pa.Table.from_pylist(run, schema)


def spans(seed: int = 3) -> tuple[pa.Table, pa.Table]:
    """Gold and retrieved spans, with a row per query."""
    draw = random.Random(seed)

    def span() -> dict[str, Any]:
        start = draw.randrange(50)
        content = " ".join(WORDS)[start:][: draw.randrange(20)]
        return {"document": draw.choice("abc"), "start": start, "content": content}

    tables = ([{"query": f"q{q}", "documents": [span() for _ in range(4)]} for q in queries] for queries in
              (range(12), range(2, 15)))  # fmt: skip
    golds, found = map(pa.Table.from_pylist, tables)
    return golds, found


PAIRS, LISTS, SPANS = pairs(), lists(), spans()


def frames(spark: SparkSession, tables: tuple[pa.Table, pa.Table]) -> tuple[DataFrame, DataFrame]:
    golds, found = (spark.createDataFrame(table).repartition(3) for table in tables)
    return golds, found


def outcome(evaluate: Callable[[], Scores]) -> Any:
    """All that scores say, with queries in the order of ids; or the error."""
    try:
        scores = evaluate()
    except KaratError as error:
        return str(error)
    scores = scores.take(scores.by_id)
    intervals = {name: scores.interval(name) for name in list(scores.values)[:2]}
    return scores.to_dict(), intervals, scores.fingerprint, scores.findings, scores.asked


def check(spark: SparkSession, tables: tuple[pa.Table, pa.Table], measures: Any, buckets: int = 2, **given: Any) -> Any:
    """Evaluate the same locally and on Spark; the outcome of both."""
    local = {name: value for name, value in given.items() if name != "order"}
    expected = outcome(lambda: karat.evaluate(*tables, measures, **local))
    found = frames(spark, tables)
    assert outcome(lambda: on_spark.evaluate(*found, measures, buckets=buckets, **given)) == expected
    return expected


@pytest.mark.parametrize("buckets", [1, 2, 7])
def test_every_measure_has_its_local_values_whatever_the_number_of_buckets_is(
    spark: SparkSession, buckets: int
) -> None:
    assert not isinstance(check(spark, PAIRS, MEASURES, buckets, name="bm25"), str)


def test_the_number_of_buckets_and_the_session_follow_from_the_data(spark: SparkSession) -> None:
    scores = on_spark.evaluate(*frames(spark, PAIRS), "map, P@5")
    assert scores.means == karat.evaluate(*PAIRS, ["AP", "P@5"]).means
    assert scores.queries == tuple(sorted(scores.queries))
    assert list(scores.asked) == ["map", "P@5"]


@pytest.mark.parametrize("match", ["id", "id(normalize=case)", "chunk"])
def test_measures_of_spans_have_their_local_values(spark: SparkSession, match: str) -> None:
    assert not isinstance(check(spark, SPANS, [*OF_SPANS, "R", "nDCG"], match=match), str)


def same_first_word(retrieved: Any, gold: Any) -> bool:
    one, other = ((each["content"] or "?").split()[0] for each in (retrieved, gold))
    return bool(one == other)


@pytest.mark.parametrize(
    "match",
    [
        "id",
        "content",
        "content(normalize=case+space)",
        "meta.source",
        "meta.of(gold=id)",
        "chunk",
        "chunk(normalize=case)",
        "fuzzy(threshold=85)",
        "overlap(threshold=0.4)",
        same_first_word,
    ],
)
def test_every_matcher_finds_what_it_finds_locally(spark: SparkSession, match: Any) -> None:
    found = check(spark, LISTS, [*FEW, "R", "ERR"], match=match)
    assert not isinstance(found, str), found


@pytest.mark.parametrize(
    "given",
    [
        {"match": "prefix", "missing": "skip", "rel": 2},
        {"match": lambda retrieved, gold: retrieved[-1] == gold[-1], "ties": "worst"},
        {"match": "id(normalize=case)", "ties": "best", "ignore_identical_ids": True},
        {"ties": "input", "order": "position", "missing": "skip"},
    ],
)
def test_every_option_has_its_local_effect(spark: SparkSession, given: Any) -> None:
    found = check(spark, PAIRS, FEW, **given)
    assert not isinstance(found, str), found


def test_json_lines_with_the_documents_of_a_query_have_their_local_scores(spark: SparkSession, tmp_path: Path) -> None:
    paths = tmp_path / "truth.jsonl", tmp_path / "run.jsonl"
    for table, path in zip(LISTS, paths, strict=True):
        path.write_text("".join(f"{json.dumps(row)}\n" for row in table.to_pylist()))
    expected = outcome(lambda: karat.evaluate(*paths, FEW, match="chunk"))
    assert not isinstance(expected, str), expected
    # Some of the buckets have ground truth only, and some a run only.
    assert outcome(lambda: on_spark.evaluate(*paths, FEW, match="chunk", session=spark, buckets=20)) == expected


def renamed(queries: pa.ChunkedArray) -> pa.Array:
    return pa.array([f"x{query}" for query in queries.to_pylist()])


@pytest.mark.parametrize(
    ("change", "given"),
    [
        (lambda golds, found: (golds, found.set_column(0, "query", renamed(found["query"]))), {}),
        (lambda golds, found: (golds, found.slice(0, 0)), {"missing": "skip"}),
        (lambda golds, found: (golds, found.slice(0, 0)), {}),
        (lambda golds, found: (golds.slice(0, 0), found), {}),
        (lambda golds, found: (golds, pa.concat_tables([found, found.slice(0, 1)])), {"duplicates": "first"}),
    ],
    ids=["no common query", "nothing answered", "an empty run", "empty ground truth", "duplicates"],
)
def test_what_is_true_of_the_whole_run_is_found_as_locally(spark: SparkSession, change: Any, given: Any) -> None:
    check(spark, change(*PAIRS), FEW, **given)


def test_a_field_that_no_document_has_is_an_error_as_locally(spark: SparkSession) -> None:
    assert "meta.sourc" in str(check(spark, LISTS, FEW, match="meta.sourc"))


def test_numbers_and_texts_as_ids_are_joined_with_the_local_note(spark: SparkSession) -> None:
    golds = pa.table({"qid": [7, 8], "doc": ["a", "b"], "grade": [1, 2]})
    found = pa.table({"query": ["7", "9"], "doc": ["a", "b"], "score": [0.5, 0.25]})
    check(spark, (golds, found), FEW)


def halved(function: Any) -> Any:
    @wraps(function)
    def half(*args: Any, **settings: Any) -> Any:
        return function(*args, **settings) / 2

    return half


def test_a_measure_that_was_registered_on_the_driver_is_known_to_executors(spark: SparkSession) -> None:
    @karat.register(combine="sum", aliases=("first_half",))
    @halved
    def HalfIfFirst(judged: Any, *, rel: Annotated[float, Literal[1]] = 1) -> Any:
        return judged.found(1, rel)

    check(spark, PAIRS, ["HalfIfFirst(rel=2)", "first_half(judged_only=true)", "AP"])


def test_a_run_with_ranks_has_one_note_on_its_columns(spark: SparkSession) -> None:
    run = pa.table({"qid": [f"q{q}" for q in range(5)], "doc": ["d1"] * 5, "rank": [1] * 5})
    check(spark, (PAIRS[0], run), FEW, buckets=3)


@pytest.mark.parametrize(
    ("buckets", "match"),
    [(1, "chunk"), (5, "content(normalize=case)"), (5, "fuzzy(threshold=85)"), (5, "overlap(threshold=0.4)")],
)
def test_texts_of_a_corpus_are_matched_as_locally(spark: SparkSession, buckets: int, match: str) -> None:
    ids = sorted({*PAIRS[0]["doc"].to_pylist(), *PAIRS[1]["doc"].to_pylist(), "unknown"})
    draw = random.Random(5)
    texts = [" ".join(WORDS[start : start + 4]) for start in (draw.randrange(8) for _ in ids)]
    texts[::7] = ["\u2003"] * len(texts[::7])
    corpus = pa.table({"docno": ids, "body": texts, "title": ["" if at % 2 else "Gold" for at in range(len(ids))]})
    corpus = corpus.slice(3)
    golds, run = PAIRS
    tables = golds.append_column("position", pa.array(range(len(golds)))), run
    expected = outcome(lambda: karat.evaluate(*tables, FEW, match=match, corpus=corpus))
    assert not isinstance(expected, str), expected
    found, on_it = frames(spark, tables), spark.createDataFrame(corpus)
    given: Any = {"match": match, "corpus": on_it, "buckets": buckets, "truth_order": "position"}
    assert outcome(lambda: on_spark.evaluate(*found, FEW, **given)) == expected


def test_a_corpus_that_does_not_fit_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    found = frames(spark, PAIRS)
    of_others = pa.table({"_id": ["x"], "text": ["gold"]})
    twice = pa.table({"_id": ["d1", "d1"], "text": ["gold", "iron"]})
    expected = outcome(lambda: karat.evaluate(*PAIRS, FEW, match="chunk", corpus=of_others))
    given: Any = {"match": "chunk", "buckets": 2}
    assert outcome(lambda: on_spark.evaluate(*found, FEW, corpus=spark.createDataFrame(of_others), **given)) == expected
    with pytest.raises(KaratError, match=r"the corpus: document 'd1' has several texts\. Give each"):
        on_spark.evaluate(*found, FEW, corpus=spark.createDataFrame(twice), **given)
    with pytest.raises(KaratError, match=r"here a row has all documents of its query\. Put the texts into"):
        on_spark.evaluate(*frames(spark, LISTS), FEW, corpus=spark.createDataFrame(of_others), **given)
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d1", "text": "gold"}\n')
    with pytest.raises(KaratError, match=r"a corpus is not read from JSON lines\. Write it as Parquet"):
        on_spark.evaluate(*found, FEW, corpus=tmp_path / "corpus.jsonl", **given)
    with pytest.raises(KaratError, match="verdicts and author are not supported on Spark"):
        on_spark.evaluate(*found, FEW, author="human")


def test_what_needs_an_order_of_rows_or_more_than_ids_is_refused(spark: SparkSession) -> None:
    golds, found = frames(spark, PAIRS)
    with pytest.raises(
        KaratError, match=r"the run: the rows of a table on Spark have no order, which ties=.input. needs"
    ):
        on_spark.evaluate(golds, found, FEW, ties="input")
    assert "contains only ids" in check(spark, PAIRS, FEW, match="chunk")
    with pytest.raises(KaratError, match="buckets=0 is not a number of buckets"):
        on_spark.evaluate(golds, found, FEW, buckets=0)


def test_of_several_matches_the_first_by_id_is_credited_or_the_first_in_the_order_of_the_ground_truth(
    spark: SparkSession,
) -> None:
    # a_1_2 matches both judged documents, a_3 only a: what a_1_2 is credited with decides about a_3.
    rows = [(query, doc, 1, -at) for query in ("q", "r") for at, doc in enumerate(("a", "a_1"))]
    truth = spark.createDataFrame(rows, ["query", "doc", "grade", "position"])
    run = spark.createDataFrame([(q, doc, score) for q in ("q", "r") for doc, score in (("a_1_2", 2.0), ("a_3", 1.0))],
                                ["query", "doc", "score"])  # fmt: skip
    found = {
        order: on_spark.evaluate(truth, run, "AP", match="prefix(separator=_)", truth_order=order, buckets=2)
        for order in (None, "position")
    }
    golds, retrieved = pa.Table.from_pylist(truth.toArrow().to_pylist()), run.toArrow()
    local = {
        order: karat.evaluate(golds.sort_by(order), retrieved, "AP", match="prefix(separator=_)")
        for order in ("doc", "position")
    }
    assert found[None].per_query == local["doc"].per_query != local["position"].per_query
    assert found["position"].per_query == local["position"].per_query
