"""Scores in a folder of Parquet files: the same as those in memory, and errors if the folder is not whole."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import karat
from karat import KaratError, Scores, SystemScores
from karat.comparison.gate.gate import gate_by_rules
from karat.comparison.gate.rules import Rule
from karat.reading.bytes.part_files import DESCRIPTION
from karat.scores import StoredScores
from karat.scores.combining import Totals
from karat.scores.stored_scores import ShownStoredScores
from karat.testing import assert_scores
from tests.stored_scores import store

MEASURES = ["map", "nDCG@5", "GMAP", "NumRet", "recip_rank"]
RANDOM = random.Random(7)
QUERIES = [f"q{at}" for at in range(30)]
TRUTH = {query: {f"d{at}": RANDOM.choice([0, 1, 2]) for at in range(6)} for query in QUERIES}
RUNS = {
    name: {query: RANDOM.sample([f"d{at}" for at in range(9)], 7) for query in QUERIES[missing:]}
    for name, missing in (("one", 1), ("two", 0))
}
SYSTEMS = karat.evaluate_runs(TRUTH, RUNS, MEASURES)
ONE = SYSTEMS["one"]


def stored(name: str, values: dict[str, list[float]]) -> StoredScores:
    """Stored scores, with two parts, of which there is no folder."""
    columns = {measure: np.array(column) for measure, column in values.items()}
    scores = Scores(tuple(map(str, range(len(next(iter(columns.values())))))), columns, name=name)
    halves = [scores.take(range(len(scores.queries))[half::2]) for half in range(2)]
    totals = sum((Totals.of(half.queries, half.values) for half in halves), Totals())
    return StoredScores("folder", totals, scores.take([]))


def test_a_folder_is_loaded_as_the_scores_that_were_written(tmp_path: Path) -> None:
    store(ONE, tmp_path / "one")
    expected, loaded = ONE.take(ONE.by_id), Scores.load(tmp_path / "one")
    assert loaded.to_json() == expected.to_json()
    assert loaded.fingerprint == expected.without_evidence().fingerprint
    assert (loaded["MRR"], loaded.asked) == (ONE["MRR"], ONE.asked)
    assert loaded.intervals() == ONE.intervals()
    assert next(iter(SystemScores.load(tmp_path / "one"))) == "one"
    assert Scores.load(f"file://{tmp_path}/one").to_json() == expected.to_json()


def test_scores_of_spans_and_of_answers_keep_their_digests(tmp_path: Path) -> None:
    spans = karat.evaluate({"q": [("a", 0, 9)]}, {"q": [("a", 0, 5)]}, ["SpanRecall", "R"])
    answers = karat.evaluate_answers({"q": ["Gold"]}, {"q": "gold"}, ["F1"])
    for name, scores in (("spans", spans), ("answers", answers)):
        store(scores, tmp_path / name, parts=1)
        loaded = Scores.load(tmp_path / name)
        assert scores.fingerprint is not None
        assert loaded.fingerprint == scores.fingerprint.computed()


@pytest.mark.parametrize("parts", [1, 4])
def test_means_are_those_of_the_values_to_the_last_bit(parts: int, tmp_path: Path) -> None:
    scores = store(ONE, tmp_path / "one", parts)
    assert scores.means == ONE.means == scores.load().means
    assert (scores["MRR"], scores.query_count, scores.name) == (ONE["MRR"], 30, "one")
    assert dict(scores) == dict(ONE)
    assert "MRR" in scores
    assert "P@5" not in scores


@given(st.lists(st.floats(0, 1) | st.just(math.nan), max_size=12))
def test_means_of_any_values_do_not_depend_on_the_parts(values: list[float]) -> None:
    whole = Scores(tuple(map(str, range(len(values)))), {"AP": np.array(values), "GMAP": np.array(values)})
    assert stored("", {"AP": values, "GMAP": values}).means == whole.means


def test_intervals_are_those_of_the_values_if_the_measure_has_a_range() -> None:
    values = [0.0, 0.25, 0.5, 1.0]
    scores, whole = stored("", {"AP": values, "GMAP": values}), {"AP": np.array(values), "GMAP": np.array(values)}
    expected = Scores(tuple("abcd"), whole).intervals(0.9)
    for name, interval in scores.intervals(0.9).items():
        assert interval == pytest.approx(expected[name])


def test_intervals_of_other_measures_are_those_of_t() -> None:
    values = [3.0, 2.0, 5.0, 4.0]
    error = 2.3533634348 * np.std(values, ddof=1) / 2
    scores = stored("", {"NumRet": values, "DCG": [value - 2 for value in values]})
    assert scores.interval("NumRet", 0.9) == pytest.approx((4 * (3.5 - error), 4 * (3.5 + error)))
    assert scores.interval("DCG", 0.9) == pytest.approx((0, 1.5 + error))


def test_an_interval_needs_two_values_and_a_mean_needs_one() -> None:
    scores = stored("", {"AP": [0.5, math.nan], "RR": [math.nan, math.nan]})
    assert scores.intervals() == {"AP": None, "RR": None}
    with pytest.raises(KaratError, match="AP has no confidence interval: it needs two values"):
        scores.interval("AP")
    assert scores.means == {"AP": 0.5, "RR": None}
    for value in (lambda: scores["RR"], lambda: scores.interval("RR")):
        with pytest.raises(KaratError, match="RR has no value for any query"):
            value()


def test_with_many_queries_the_interval_is_close_to_that_of_the_values(tmp_path: Path) -> None:
    values = np.random.default_rng(1).beta(2, 3, 20_000)
    scores = Scores(tuple(map(str, range(len(values)))), {"AP": values, "DCG": values})
    of_folder = store(scores, tmp_path / "many").intervals()
    assert of_folder["AP"] == pytest.approx(scores.interval("AP"), rel=1e-12)
    assert of_folder["DCG"] == pytest.approx(scores.interval("DCG"), abs=2e-5)


def test_the_table_shows_intervals_and_says_which_values_are_null() -> None:
    scores = stored("bm25", {"AP": [0.5, 1.0, math.nan], "RR": [1.0, math.nan, 0.0], "P@5": [0.2, 0.2, 0.2]})
    assert str(scores) == (
        "measure     bm25\n────────────────\nAP        0.7500\nRR        0.5000\nP@5       0.2000\n3 queries\n"
        "note: queries without a value (left out): 1 for AP and RR."
    )
    with_intervals = scores.table(0.95).text()
    assert "P@5       0.2000 [0.0279, 0.8884]" in with_intervals
    assert "3 queries, with 95% confidence intervals\n" in with_intervals
    assert repr(scores) == "<StoredScores of 3 queries in folder: AP=0.7500, RR=0.5000, P@5=0.2000>"


def test_stored_scores_are_shown_as_a_table_a_document_and_one_record() -> None:
    scores = stored("bm25", {"AP": [0.5, 1.0, 0.25], "DCG": [2.0, 2.0, 2.0]})
    low, high = scores.interval("AP")
    shown = ShownStoredScores(scores, 0.95)
    (record,) = shown.records()
    assert list(record) == ["run", "AP", "DCG", "AP low", "AP high", "DCG low", "DCG high"]
    assert (record["run"], record["AP low"], record["AP high"]) == ("bm25", low, high)
    assert shown.tables() == [scores.table(0.95)]
    assert shown.to_dict() == scores.to_dict()
    assert [*ShownStoredScores(scores).records()[0]] == ["run", "AP", "DCG"]


def test_findings_are_those_of_the_evaluation(tmp_path: Path) -> None:
    scores = store(ONE, tmp_path / "one")
    assert scores.findings == ONE.findings
    assert str(scores) == str(ONE)


def test_comparing_folders_gives_what_comparing_scores_gives(tmp_path: Path) -> None:
    systems = {name: store(scores, tmp_path / name) for name, scores in SYSTEMS.items()}
    expected = karat.compare(SYSTEMS).to_json()
    assert karat.compare(systems).to_json() == expected
    assert karat.compare({name: tmp_path / name for name in systems}).to_json() == expected
    assert karat.compare({"one": str(tmp_path / "one"), "two": SYSTEMS["two"]}).to_json() == expected


def test_folders_of_different_ground_truth_are_not_compared(tmp_path: Path) -> None:
    changed = TRUTH | {"q3": {"d1": 1}}
    store(ONE, tmp_path / "one")
    store(karat.evaluate(changed, RUNS["two"], MEASURES), tmp_path / "two")
    with pytest.raises(KaratError, match=r"against different ground truth for 1 of 30 queries \(q3\)"):
        karat.compare({"one": tmp_path / "one", "two": tmp_path / "two"})


def test_folders_are_gated(tmp_path: Path) -> None:
    one, two = (store(scores, tmp_path / name) for name, scores in SYSTEMS.items())
    rules = [Rule("min", "AP", 0.1), Rule("max-drop", "RR", 0.01)]
    assert str(gate_by_rules(one, rules, tmp_path / "two")) == str(gate_by_rules(ONE, rules, SYSTEMS["two"]))
    assert assert_scores(two, max_drop={"RR": 1}, baseline=one).passed


def test_other_programs_read_the_rows(tmp_path: Path) -> None:
    store(ONE, tmp_path / "one")
    table = ds.dataset(tmp_path / "one").to_table()
    assert table.column_names == ["query", *ONE.measures, "digest of judged"]
    assert sorted(table["query"].to_pylist()) == sorted(QUERIES)


def test_null_is_null_in_the_files(tmp_path: Path) -> None:
    scores = Scores(("a", "b"), {"AP": np.array([0.5, math.nan])})
    store(scores, tmp_path / "nulls", parts=1)
    assert Scores.load(tmp_path / "nulls").per_query == {"a": {"AP": 0.5}, "b": {"AP": None}}
    assert Scores.load(tmp_path / "nulls").fingerprint is None


def test_values_that_are_too_large_are_refused() -> None:
    for value in (1e141, -math.inf):
        with pytest.raises(KaratError, match=r"query b: Cost is \S+, which is too large to be a score"):
            Totals.of(["a", "b"], {"Cost": np.array([math.nan, value])})


def _description(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], object]:
    def rewrite(folder: Path) -> None:
        data = json.loads((folder / DESCRIPTION).read_text())
        change(data)
        (folder / DESCRIPTION).write_text(json.dumps(data))

    return rewrite


def _first_part(change: Callable[[pa.Table], pa.Table]) -> Callable[[Path], object]:
    def rewrite(folder: Path) -> None:
        path = min(folder.glob("*.parquet"))
        pq.write_table(change(pq.read_table(path)), path)

    return rewrite


def _renamed(table: pa.Table, old: str, new: str) -> pa.Table:
    return table.rename_columns([new if name == old else name for name in table.column_names])


def _replaced(table: pa.Table, name: str, values: list[Any]) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, pa.array(values))


def _remove_parts(folder: Path) -> None:
    for path in folder.glob("*.parquet"):
        path.unlink()


NOT_A_DESCRIPTION = r"_karat\.json: this is not a description of scores, or it is damaged. Evaluate again\."
DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "no description": (
        lambda folder: (folder / DESCRIPTION).unlink(),
        r"one: this folder has no _karat\.json, which is written last\. The evaluation that writes it has not finished;"
        r" or these are not scores, and a file in it is meant\.",
    ),
    "no parts": (_remove_parts, "one: the Parquet files of this folder are missing"),
    "a part less": (
        lambda folder: (folder / "part-00001-c000.snappy.parquet").unlink(),
        r"one: the Parquet files have 20 queries, but _karat\.json says 30\. Was a file removed or added\?",
    ),
    "a part twice": (
        lambda folder: (folder / "part-9.parquet").write_bytes(min(folder.glob("*.parquet")).read_bytes()),
        "one: the Parquet files have 40 queries",
    ),
    "a text": (lambda folder: (folder / DESCRIPTION).write_text("x"), r"_karat\.json"),
    "a list": (lambda folder: (folder / DESCRIPTION).write_text("[]"), NOT_A_DESCRIPTION),
    "not text": (lambda folder: (folder / DESCRIPTION).write_bytes(b"\0\1"), r"_karat\.json"),
    "a newer format": (
        _description(lambda data: data.update(format=2)),
        r"_karat\.json: the scores have format 2, and this karat reads 1\. Install the version of karat that wrote it",
    ),
    "no format": (_description(lambda data: data.pop("format")), NOT_A_DESCRIPTION),
    "a name that is a number": (_description(lambda data: data.update(name=7)), NOT_A_DESCRIPTION),
    "queries that are a list": (_description(lambda data: data.update(queries=[])), NOT_A_DESCRIPTION),
    "means that are a list": (_description(lambda data: data.update(means=[])), NOT_A_DESCRIPTION),
    "no columns of digests": (_description(lambda data: data["fingerprint"].pop("truths")), NOT_A_DESCRIPTION),
    "digests in place of columns": (
        _description(lambda data: data["fingerprint"].update(truths={"judged": {}})), NOT_A_DESCRIPTION
    ),
    "a fingerprint without a version": (
        _description(lambda data: data["fingerprint"].pop("karat")), "one: its fingerprint is damaged"
    ),
    "findings that are a number": (_description(lambda data: data.update(findings=7)), "one: its findings are damaged"),
    "a measure without a column": (
        _description(lambda data: data["means"].update({"P@9": 1})), r"parquet: column 'P@9' is missing"
    ),
    "a part with other columns": (_first_part(lambda table: _renamed(table, "AP", "MAP")), "column 'AP' is missing"),
    "a column twice": (_first_part(lambda table: _renamed(table, "AP", "RR")), "column 'AP' is missing"),
    "a digest that is none": (
        _first_part(lambda table: _replaced(table, "digest of judged", ["x"] * 10)), "one: its fingerprint is damaged"
    ),
    "no query": (_first_part(lambda table: _replaced(table, "query", [None] * 10)), "the query is missing"),
    "queries that are lists": (
        _first_part(lambda table: _replaced(table, "query", [["q1"]] * 10)), "the query is .*, which is not text"
    ),
    "a query twice": (
        _first_part(lambda table: _replaced(table, "query", ["q1"] * 10)), "one: query q1 of one appears 11 times"
    ),
    "texts as values": (
        _first_part(lambda table: _replaced(table, "AP", ["x"] * 10)), "one, query .*, column 'AP': 'x' is not a number"
    ),
    "infinite values": (
        _first_part(lambda table: _replaced(table, "AP", [math.inf] * 10)), "one, query .*inf is not a finite number"
    ),
    "a part that is cut": (
        lambda folder: (folder / "part-00001-c000.snappy.parquet").write_bytes(b"PAR1"), "part-00001"
    ),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_folder_that_is_not_whole_is_an_error_that_says_so(damage: str, tmp_path: Path) -> None:
    change, message = DAMAGE[damage]
    store(ONE, tmp_path / "one")
    change(tmp_path / "one")
    with pytest.raises(KaratError, match=message):
        Scores.load(tmp_path / "one")


def test_values_of_another_type_are_read_as_numbers(tmp_path: Path) -> None:
    store(ONE, tmp_path / "one", parts=1)
    _first_part(lambda table: _replaced(table, "NumRet", table["NumRet"].cast("int32").to_pylist()))(tmp_path / "one")
    assert Scores.load(tmp_path / "one")["NumRet"] == ONE["NumRet"]
