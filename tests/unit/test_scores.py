"""Scores: means, confidence intervals, nulls, saving and loading, and printing."""

from __future__ import annotations

import json
import math
from contextlib import nullcontext, suppress
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from karat import Finding, KaratError, Scores, SystemScores, evaluate
from karat.stats import abc_interval_of_mean, bca_interval, bootstrap_means

TRUTH = {"q1": {"a": 2, "b": 1}, "q2": {"c": 1}, "007": {"d": 1}, 'später, "ja"': {"e": 1}}
RUN = {
    "q1": {"a": 3.0, "x": 2.0, "b": 1.0},
    "q2": {"x": 2.0, "c": 1.0},
    'später, "ja"': {"e": 1.0},
    "other": {"e": 1.0},
}


@pytest.fixture
def scores() -> Scores:
    return evaluate(TRUTH, RUN, ["nDCG@10", "AP", "NumRet", "nDCG(gain=exp, discount=jk)@3"], name="mine")


def test_a_value_is_found_by_any_spelling_of_the_measure(scores: Scores) -> None:
    assert scores["nDCG@10"] == scores["ndcg_cut_10"] == scores["NDCG@10"]
    with pytest.raises(KaratError, match=r"no 'nDCG@20'.*Did you mean nDCG@10.*The measures are nDCG@10, AP"):
        scores["nDCG@20"]
    with pytest.raises(KaratError, match="no 'nonsense'"):
        scores["nonsense"]


def test_the_table_has_the_queries_of_the_truth_and_the_measures_in_the_order_given(scores: Scores) -> None:
    assert scores.queries == tuple(TRUTH)
    assert scores.to_arrow().column_names == ["query", "nDCG@10", "AP", "NumRet", "nDCG(gain=exp, discount=jk)@3"]
    assert scores.per_query["007"] == {"nDCG@10": 0.0, "AP": 0.0, "NumRet": 0.0, "nDCG(gain=exp, discount=jk)@3": 0.0}


def test_a_missing_query_scores_zero_and_counts_are_summed(scores: Scores) -> None:
    assert scores["NumRet"] == 6
    assert scores["AP"] == pytest.approx(((1 + 2 / 3) / 2 + 0.5 + 0 + 1) / 4)


@given(st.permutations(list(TRUTH)))
def test_a_mean_does_not_depend_on_the_order_of_the_queries(order: list[str]) -> None:
    names = ["nDCG@10", "AP", "GMAP", "nDCG(gain=exp)"]
    assert evaluate({query: TRUTH[query] for query in order}, RUN, names).means == evaluate(TRUTH, RUN, names).means


def test_a_geometric_mean_replaces_values_below_0_00001() -> None:
    scores = evaluate({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["a"]}, ["GMAP", "AP"])
    assert scores["GMAP"] == pytest.approx(math.exp(math.log(0.00001) / 2))
    assert scores.per_query["r"]["GMAP"] == scores.per_query["r"]["AP"] == 0


def test_scores_are_a_mapping_of_names_to_means(scores: Scores) -> None:
    assert "AP" in scores
    assert "map" in scores
    assert "P@5" not in scores
    assert list(scores) == list(scores.measures)
    assert len(scores) == 4
    assert dict(scores) == scores.means


def test_intervals_of_tiny_and_of_very_skewed_values_are_computed() -> None:
    tiny = Scores(("q", "r"), {"RBP": np.array([0.0, 1e-136])})
    low, high = tiny.interval("RBP")
    assert 0 <= low <= 1e-136 < high <= 1
    low, high = Scores(("q", "r"), {"tiny": np.array([0.0, 1e-136])}).interval("tiny")
    assert 0 <= low < high <= 1e-136
    skewed = Scores(tuple(map(str, range(200))), {"AP": np.array([1.0] + [0.0] * 199)})
    low, high = skewed.interval("AP", level=0.9999999999)
    assert low <= 0.005 <= high


def test_columns_cannot_be_changed(scores: Scores) -> None:
    with pytest.raises(ValueError, match="read-only"):
        scores.column("AP")[0] = 1


# Intervals


@pytest.mark.parametrize("measure", ["AP", "NumRet"])
def test_an_interval_is_the_same_each_time_and_changes_with_the_level(measure: str, scores: Scores) -> None:
    assert scores.interval(measure) == scores.interval(measure) == scores.intervals()[measure]
    low, high = scores.interval(measure)
    narrow_low, narrow_high = scores.interval(measure, level=0.5)
    assert low < narrow_low < narrow_high < high


def test_only_an_interval_of_a_measure_without_a_range_depends_on_the_seed(scores: Scores) -> None:
    one, other = (scores.intervals(seed=seed, resamples=50) for seed in (1, 2))
    assert one["AP"] == other["AP"]
    values = np.random.default_rng(1).random(30)
    unknown = Scores(tuple(map(str, range(30))), {"latency": values})
    assert unknown.interval("latency", seed=1, resamples=500) != unknown.interval("latency", seed=2, resamples=500)


def test_an_interval_is_the_bca_interval_that_scipy_computes() -> None:
    values = np.random.default_rng(5).beta(0.6, 1.4, 200)
    ours = bca_interval(values, bootstrap_means(values[:, None], 20_000)[:, 0], 0.95)
    theirs = scipy_stats.bootstrap((values,), np.mean, n_resamples=20_000, method="BCa", rng=1).confidence_interval
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.002)


@settings(max_examples=25)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=40, unique=True))
def test_a_resampled_interval_is_within_the_range_of_the_values(values: list[float]) -> None:
    assume(np.ptp(values) > 1e-9)
    scores = Scores(tuple(map(str, range(len(values)))), {"latency": np.array(values)})
    low, high = scores.interval("latency", resamples=200)
    assert min(values) - 1e-12 <= low <= high <= max(values) + 1e-12


def test_an_interval_covers_the_true_mean_about_as_often_as_its_level() -> None:
    random = np.random.default_rng(11)
    covered = 0
    for _ in range(200):
        values = random.beta(0.5, 1.5, 50)
        low, high = bca_interval(values, bootstrap_means(values[:, None], 1000)[:, 0], 0.9)
        covered += low <= 0.25 <= high
    assert 165 <= covered <= 195


def test_intervals_of_more_than_10_000_queries_are_computed_without_resampling_unless_they_are_very_skewed() -> None:
    queries = tuple(map(str, range(10_001)))
    random = np.random.default_rng(6)
    rare = (np.arange(10_001) == 77) * 1.0
    scores = Scores(queries, {"DCG": random.beta(0.6, 1.4, 10_001), "GMAP": random.random(10_001), "rare": rare})
    one, other = (scores.intervals(resamples=20, seed=seed) for seed in (1, 2))
    assert one["DCG"] == other["DCG"] == abc_interval_of_mean(scores.column("DCG")[scores.by_id], 0.95)
    assert one["GMAP"] == other["GMAP"]
    low, high = one["GMAP"] or (0.0, 0.0)
    assert low < scores["GMAP"] < high
    assert one["rare"] != other["rare"]
    fewer = scores.take(range(10_000))
    assert fewer.interval("DCG", resamples=20, seed=1) != fewer.interval("DCG", resamples=20, seed=2)


@pytest.mark.parametrize(("queries", "steps"), [(30, {1.5, 2, 2.5, 3.5}), (10_002, {1, 2, 3, 4})])
def test_intervals_show_how_many_are_done(queries: int, steps: set[float], monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[tuple[float, int]] = []
    bar = nullcontext(lambda *done: shown.append(done))
    monkeypatch.setattr("karat.scores.intervals.progress_bar", lambda _: bar)
    values = np.random.default_rng(1).random((4, queries))
    values[3, 5] = np.nan  # which is resampled alone
    Scores(tuple(map(str, range(queries))), dict(zip("abcd", values, strict=True))).intervals(resamples=50)
    assert shown == sorted(shown)
    assert {total for _, total in shown} == {4}
    assert {done for done, _ in shown} == steps


def test_intervals_of_a_geometric_mean_and_of_a_sum_are_on_the_scale_of_the_combined_value(scores: Scores) -> None:
    low, high = scores.interval("NumRet")
    assert low < 6 < high
    assert high > 4
    gmap = evaluate(TRUTH, RUN, ["GMAP"])
    low, high = gmap.interval("GMAP")
    assert 0 < low <= gmap["GMAP"] <= high <= 1


def test_the_interval_of_the_largest_level_below_1_is_defined() -> None:
    low, high = math.nextafter(0.0, 1.0), math.nextafter(1.0, 0.0)
    for n in (3, 10_001):
        scores = Scores(tuple(map(str, range(n))), {"m": np.linspace(0, 1, n)})
        assert scores.interval("m", high, resamples=20)[0] < 0.5 < scores.interval("m", high, resamples=20)[1]
        assert scores.interval("m", low, resamples=20) == pytest.approx((0.5, 0.5), abs=0.2)


@pytest.mark.parametrize("level", [0, 1, 95, -1, float("nan")])
def test_a_level_that_is_not_between_0_and_1_is_an_error(scores: Scores, level: float) -> None:
    with pytest.raises(KaratError, match="level"):
        scores.interval("AP", level=level)


def test_too_few_resamples_are_an_error(scores: Scores) -> None:
    with pytest.raises(KaratError, match="resamples"):
        scores.interval("AP", resamples=0)


# Nulls


def test_nulls_are_left_out_of_means_and_intervals_and_counted() -> None:
    scores = Scores(("q", "r", "s"), {"AP": np.array([0.25, np.nan, 0.75]), "RR": np.full(3, np.nan)})
    assert scores["AP"] == 0.5
    assert scores.nulls("AP") == 1
    assert scores.interval("AP") == Scores(("q", "s"), {"AP": np.array([0.25, 0.75])}).interval("AP")
    assert scores.combined("RR") is None
    for ask in (scores.__getitem__, scores.interval):
        with pytest.raises(KaratError, match="no value for any query"):
            ask("RR")
    assert scores.intervals()["RR"] is None
    assert scores.to_arrow()["AP"].null_count == 1
    assert json.loads(scores.to_json())["queries"][1] == {"query": "r", "AP": None, "RR": None}
    assert "–" in str(scores)


# Saving and loading


def same(one: Scores, other: Scores) -> bool:
    return (
        one.queries == other.queries
        and list(one.values) == list(other.values)
        and all(np.array_equal(one.values[name], other.values[name], equal_nan=True) for name in one.values)
    )


def save(scores: Scores, path: Path) -> None:
    if path.suffix == ".json":
        scores.to_json(path)
    elif path.suffix == ".csv":
        scores.to_csv(path)
    else:
        scores.to_parquet(path)


@pytest.mark.parametrize("suffix", [".json", ".parquet", ".csv"])
def test_scores_loaded_from_a_file_are_identical_to_the_last_bit(tmp_path: Path, scores: Scores, suffix: str) -> None:
    path = tmp_path / f"scores{suffix}"
    save(scores, path)
    back = Scores.load(path)
    assert same(back, scores)
    assert back.means == scores.means
    if suffix != ".csv":
        assert (back.findings, back.name) == (scores.findings, "mine")


ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
cells = st.one_of(st.floats(0, 1), st.just(math.nan))


@settings(max_examples=50)
@given(st.dictionaries(ids, st.tuples(cells, cells), max_size=6), st.sampled_from([".json", ".parquet", ".csv"]))
def test_any_query_id_and_any_value_can_be_saved_and_loaded(
    tmp_path_factory: pytest.TempPathFactory, rows: dict[str, tuple[float, float]], suffix: str
) -> None:
    columns = np.array(list(rows.values()), np.float64).reshape(-1, 2)
    scores = Scores(tuple(rows), {"AP": columns[:, 0].copy(), "P@10": columns[:, 1].copy()})
    path = tmp_path_factory.mktemp("scores") / f"s{suffix}"
    save(scores, path)
    assert same(Scores.load(path), scores)


def test_data_frames_have_a_column_query_and_one_per_measure(scores: Scores) -> None:
    frame, other = scores.to_pandas(), scores.to_polars()
    assert isinstance(frame, pd.DataFrame)
    assert isinstance(other, pl.DataFrame)
    assert list(frame.columns) == other.columns == ["query", *scores.measures]
    assert frame["query"].tolist() == other["query"].to_list() == list(TRUTH)
    assert frame["AP"].mean() == pytest.approx(scores["AP"])


def test_findings_are_available_as_data(scores: Scores) -> None:
    codes = {finding.code: finding for finding in scores.findings}
    assert codes["missing-queries"].queries == ("007",)
    assert codes["unknown-queries"].queries == ("other",)
    assert isinstance(scores.findings[0], Finding)
    assert scores.to_dict()["findings"][0]["code"] == "missing-queries"


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("a.json", "{", "a.json: not JSON: .* at column 2"),
        ("a.json", "[]", "no column 'query'; the columns are"),
        ("a.json", "3", "scores cannot be read"),
        ("a.json", '{"runs": {"bm25": {}}}', "'means' is missing"),
        ("a.json", '{"runs": {}}', "no column contains scores"),
        ("a.json", '{"runs": []}', "scores cannot be read"),
        ("a.json", "[" * 100_000, "objects are nested too deeply"),
        ("a.json", '[{"query": 1, "AP": ' + "9" * 5000 + "}]", "a number has thousands of digits"),
        ("a.json", '[{"query": 1,\n "AP": 1,\n "AP": 0}]', "a.json: the key 'AP' appears twice in one object"),
        ("a.json", '{"q1": {"AP": 1}, "q1": {"AP": 0}}', "a.json: the key 'q1' appears twice in one object"),
        ("a.json", '[{"query": 1,\n "AP" 1}]', "a.json: not JSON: Expecting ':' delimiter at line 2, column 7"),
        ("a.jsonl", '{"query": 1, "AP": 1, "AP": 0}', "a.jsonl:1: the key 'AP' appears twice in one object"),
        ("a.json", '[{"query": 1, "AP": 1e999}]', "record 1: inf is not a finite number"),
        ("a.json", '[{"query": "q", "AP": 1}, 3]', "a.json, record 2: 3 is not an object"),
        ("a.json", '[{"query": "q", "AP": 1}, {"AP": 1}]', "a.json, record 2: the query is missing"),
        ("a.json", '{"name": 1, "means": {}, "queries": []}', "the name is 1"),
        ("a.json", '{"name": "", "means": 1, "queries": [], "findings": []}', "damaged"),
        ("a.json", '{"name": "", "means": [[]], "queries": [], "findings": []}', "damaged"),
        ("a.json", '{"name": "", "means": {}, "queries": {}, "findings": []}', "damaged"),
        ("a.json", '{"name": "", "means": {}, "queries": [], "findings": [1]}', "findings are damaged"),
        (
            "a.json",
            '{"name": "", "means": {}, "queries": [], "findings": [{"code": "", "message": "", "count": 1, "hint": "",'
            ' "queries": [[]]}]}',
            "findings are damaged",
        ),
        ("a.json", '{"name": "", "means": {"AP": 1}, "queries": [{"query": "q"}], "findings": []}', "AP"),
        (
            "a.json",
            '{"name": "", "means": {"AP": 1}, "queries": [{"query": "q", "AP": "x"}], "findings": []}',
            "column 'AP' is missing, or not numbers",
        ),
        ("a.csv", "", "the file is empty"),
        ("a.csv", "ticket,AP\nq,1\n", "the columns are 'ticket', 'AP'. Rename the column of query ids to query"),
        ("a.csv", "run,AP\nbm25,1\n", "this is a table of means.*--per-query"),
        ("a.csv", "query,AP\nq\n", "a.csv:2"),
        ("a.csv", "query,AP\nq,x\n", "no column contains scores"),
        ("a.csv", "query,AP\nq,1\nq,1\n", "query q appears 2 times"),
        ("a.csv", "run,query,AP\na,q,1\nb,q,1\na,q,1\n", "query q of a appears 2 times"),
        ("a.csv", "run,query,AP\n", "no rows"),
        ("a.json", "null", "it is not a list"),
        ("a.json", "hello", "not JSON: Expecting value at column 1"),
        ("a.jsonl", '{"query": "q", "AP": 1}\n{\n', "a.jsonl:2: not JSON"),
        ("a.jsonl", '\n{"query": "q", "AP": "x"}', "no column contains scores"),
        ("a.parquet", "nonsense", "the Parquet data is damaged or cut short"),
        ("a", "", "the file is empty"),
        ("a", "\ufeff\n \n", "the file is empty"),
        ("a", '""\n', "the file is empty"),
        ("a", 'query,AP\nq,"1', "a:2: a quotation mark is not closed"),
    ],
)
def test_loading_a_file_without_scores_is_an_error_with_the_problem(
    tmp_path: Path, name: str, content: str, complaint: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(KaratError, match=complaint):
        Scores.load(tmp_path / name)


def test_loading_a_missing_or_undecodable_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KaratError, match="no such file"):
        Scores.load(tmp_path / "none.json")
    (tmp_path / "latin.csv").write_bytes(b"query,AP\n\xff,1\n")
    with pytest.raises(KaratError, match=r"latin.csv:2: b'\\xff' is not UTF-8"):
        Scores.load(tmp_path / "latin.csv")


def test_names_of_folders_are_not_read_as_columns(tmp_path: Path, scores: Scores) -> None:
    (tmp_path / "run=3").mkdir()
    scores.save(tmp_path / "run=3" / "s.parquet")
    assert same(Scores.load(tmp_path / "run=3" / "s.parquet"), scores)
    (tmp_path / "folder.parquet").mkdir()
    with pytest.raises(KaratError, match=r"this folder has no _karat\.json"):
        Scores.load(tmp_path / "folder.parquet")


# Printing


def test_printed_scores_show_the_values_and_the_findings(scores: Scores) -> None:
    text = str(scores)
    assert "nDCG@10" in text
    assert f"{scores['AP']:.4f}" in text
    assert "4 queries" in text
    assert "1 query missing from the run (scored 0): 007" in text
    assert "1 query in the run but not in the ground truth (ignored): other" in text
    assert " are unjudged." in text
    assert repr(scores).startswith("<Scores of 4 queries: nDCG@10=")


def test_a_notebook_shows_escaped_html() -> None:
    scores = evaluate({"<script>alert(1)</script>": {"a": 1}}, {}, ["AP"], name="<b>")
    html = scores._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "<b>" not in html.replace("<b>0", "")


def test_files_with_a_byte_order_mark_and_blank_lines_are_read(tmp_path: Path) -> None:
    (tmp_path / "excel.csv").write_bytes(b"\xef\xbb\xbfquery,AP\r\nq,0.5\r\n\r\n")
    assert Scores.load(tmp_path / "excel.csv").per_query == {"q": {"AP": 0.5}}
    scores = Scores.load(tmp_path / "excel.csv")
    (tmp_path / "bom.json").write_bytes(b"\xef\xbb\xbf" + scores.to_json().encode())
    assert Scores.load(tmp_path / "bom.json").per_query == {"q": {"AP": 0.5}}


def test_a_parquet_or_csv_file_with_wrong_columns_is_an_error_with_the_problem(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    def with_metadata(text: str) -> pa.Table:
        return pa.table({"query": ["q"], "AP": [0.5]}).replace_schema_metadata({"karat": text})

    for problem, table in (
        ("no column contains scores", pa.table({"query": ["q"], "AP": [[0.5]]})),
        ("row 0: the query is .*, which is not text", pa.table({"query": [["q"]], "AP": [0.5]})),
        ("row 1: the query is missing", pa.table({"query": ["q", None], "AP": [0.5, 0.1]})),
        *(("damaged", with_metadata(text)) for text in ("{", "[]", "3", '{"runs": []}', '{"runs": {"a": 1}}')),
        ("damaged", with_metadata('{"runs": {"a": {"measures": 3}}}')),
        ("damaged", with_metadata('{"runs": {"a": {"measures": [[]]}}}')),
        ("lower_is_better is damaged", with_metadata('{"runs": {"a": {"lower_is_better": [3]}}}')),
        ("findings are damaged", with_metadata('{"runs": {"a": {"findings": [3]}}}')),
        ("column 'P' is missing", with_metadata('{"runs": {"a": {"measures": ["P"]}}}')),
        ("column run is missing", with_metadata('{"runs": {"a": {}, "b": {}}}')),
    ):
        pq.write_table(table, tmp_path / "x.parquet")
        with pytest.raises(KaratError, match=problem):
            Scores.load(tmp_path / "x.parquet")
    for problem, text in (
        ("column 'AP' appears 2 times", "query,AP,AP\nq,1,2\n"),
        ("x.csv:2: a value is longer than", f"query,AP\nq,{'1' * 200_000}\n"),
        ("x.csv:4, column 'AP': 'abc' is not a number", "query,AP\nq,1\ns,1\nr,abc\n"),
    ):
        (tmp_path / "x.csv").write_text(text)
        with pytest.raises(KaratError, match=problem):
            Scores.load(tmp_path / "x.csv")


@settings(max_examples=200)
@given(
    st.sampled_from([".json", ".jsonl", ".csv", ".tsv", ".parquet"]),
    st.one_of(
        st.binary(max_size=60),
        st.text(max_size=60).map(lambda text: text.encode(errors="surrogatepass")),
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(
                        ["query", "run", "AP", "runs", "queries", "means", "findings", "name", "asked", ""]
                    ),
                    inner,
                    max_size=4,
                )
            ),
        ).map(lambda data: json.dumps(data).encode()),
        st.lists(
            st.lists(st.sampled_from(["query", "run", "AP", "1", "x", "", "inf", '"', " "]), max_size=4), max_size=4
        ).map(lambda rows: "\n".join(map(",".join, rows)).encode()),
    ),
)
def test_no_content_of_a_file_leads_to_another_error_than_ours(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, content: bytes
) -> None:
    path = tmp_path_factory.mktemp("hostile") / f"scores{suffix}"
    path.write_bytes(content)
    with suppress(KaratError):
        assert str(SystemScores.load(path))


def test_the_mean_of_huge_values_does_not_overflow() -> None:
    assert Scores(("q", "r"), {"latency": np.array([1.7e308, 1.5e308])})["latency"] == pytest.approx(1.6e308)
