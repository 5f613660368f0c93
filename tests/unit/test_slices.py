"""Slices: the groups of queries, their order and labels, and the test for a weak group."""

from __future__ import annotations

import math
from collections import defaultdict
from decimal import Decimal
from fractions import Fraction
from io import StringIO
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from karat import Finding, KaratError, Scores, evaluate, evaluate_answers
from karat.analysis.slices import Slices, slices
from karat.stats import weak_group


def scored(*values: float, measure: str = "nDCG@10") -> Scores:
    return Scores(tuple(f"q{at}" for at in range(len(values))), {measure: np.array(values, np.float64)})


def sizes(found: Slices) -> dict[str, int]:
    return {label: len(scores.queries) for label, scores in found.groups.items()}


FOUR = scored(0.1, 0.2, 0.3, 0.4)
TOPICS = ["law", "news", "law", None]


@pytest.mark.parametrize(
    "by",
    [
        TOPICS,
        tuple(TOPICS),
        np.array(TOPICS, object),
        pd.Series(TOPICS),
        pd.Series(TOPICS, dtype="category"),
        pd.Series(TOPICS, dtype="string"),
        pl.Series(TOPICS),
        pa.array(TOPICS),
        pa.chunked_array([TOPICS[:1], TOPICS[1:]]),
        {"q0": "law", "q2": "law", "q1": "news"},
        {"q0": "law", "q2": "law", "q1": "news", "q3": math.nan, "other": "art"},
        defaultdict(lambda: "?", {"q0": "law", "q2": "law", "q1": "news"}),
        lambda query: TOPICS[int(query[1:])],
    ],
    ids=lambda by: type(by).__name__,
)
def test_values_are_accepted_in_any_form(by: Any) -> None:
    found = slices(FOUR, by)
    assert {label: scores.queries for label, scores in found.groups.items()} == {
        "law": ("q0", "q2"),
        "news": ("q1",),
        "(none)": ("q3",),
    }
    assert found.groups["law"]["nDCG@10"] == pytest.approx(0.2)
    assert found.valueless == 1
    assert found.by == "group"
    assert "note: 1 query without a value to group by, in (none)." in str(found)


@pytest.mark.parametrize("series", [pd.Series([1, 2, 1, 2], name="topic"), pl.Series("topic", [1, 2, 1, 2])])
def test_the_name_of_a_series_is_the_header_of_the_first_column(series: Any) -> None:
    assert slices(FOUR, series).by == "topic"
    assert str(slices(FOUR, series)).startswith("topic   queries")
    assert slices(FOUR, pd.Series([1, 2, 1, 2], name=7)).by == "group"


def test_a_pandas_series_is_aligned_by_its_index() -> None:
    by_id = pd.Series(["d", "c", "b", "a", "z"], index=["q3", "q2", "q1", "q0", "other"])
    assert list(slices(FOUR, by_id).groups) == ["a", "b", "c", "d"]
    other = pd.Series(["a", "b", "c", "d"], index=["x", "y", "z", "q0"])
    found = {name: group.queries for name, group in slices(FOUR, other).groups.items()}
    assert found == {"d": ("q0",), "(none)": ("q1", "q2", "q3")}
    with pytest.raises(KaratError, match="by has no value for any of the queries"):
        slices(FOUR, pd.Series(["a", "b", "c", "d"], index=["w", "x", "y", "z"]))
    with pytest.raises(KaratError, match="the index of by contains 'q0' twice"):
        slices(FOUR, pd.Series(["a", "b"], index=["q0", "q0"]))
    from_one = Scores(("1", "2"), {"AP": np.array([0.1, 0.2])})
    assert slices(from_one, pd.Series(["a", "b", "c"]).iloc[1:]).groups["b"].queries == ("1",)


def test_a_range_index_of_a_pandas_series_is_not_used_to_align() -> None:
    numbered = Scores(("2", "0", "1"), {"AP": np.array([0.1, 0.2, 0.3])})
    assert slices(numbered, pd.Series(["a", "b", "c"])).groups["a"].queries == ("2",)
    assert slices(numbered, pd.Series(["a", "b", "c"], index=[0, 1, 2])).groups["a"].queries == ("0",)


def test_the_ids_in_a_mapping_may_be_numbers() -> None:
    numbered = Scores(("301", "302"), {"AP": np.array([0.1, 0.2])})
    assert sizes(slices(numbered, {301: "a", 302: "b"})) == {"a": 1, "b": 1}


def test_an_id_with_thousands_of_digits_among_the_texts_is_ignored() -> None:
    scores = evaluate({"q1": ["d1"]}, {"q1": ["d1"]}, "RR")
    assert sizes(scores.slices("length", queries={10**5000: "x", "q1": "how soft"})) == {"2": 1}
    with pytest.raises(KaratError):
        scores.slices("length", queries={"q1": {("a",): 1}})


def test_the_length_is_the_number_of_words() -> None:
    texts = {"q0": "What's gold – soft?", "q1": "金は重い？", "q2": "–", "q3": "one two three"}
    found = slices(FOUR, "length", queries=texts)
    assert found.by == "length"
    assert {label: scores.queries for label, scores in found.groups.items()} == {
        "0": ("q2",),
        "3": ("q0", "q3"),
        "4": ("q1",),
    }
    assert sizes(slices(FOUR, "length", queries={"q1": "gold"})) == {"1": 1, "(none)": 3}


def test_ids_that_are_questions_are_used_as_texts() -> None:
    questions = Scores(("how soft is gold", "gold"), {"AP": np.array([0.1, 0.2])})
    assert sizes(slices(questions, "length")) == {"1": 1, "4": 1}


def test_missing_or_unusable_texts_are_an_error() -> None:
    with pytest.raises(KaratError, match=r"only their ids are known.*such as queries="):
        slices(FOUR, "length")
    with pytest.raises(KaratError, match="the queries, 'q1': 5 is not the text of a query"):
        slices(FOUR, "length", queries={"q0": "a", "q1": 5})
    with pytest.raises(KaratError, match=r"no text found for any of the 4 queries\. Their ids are q0, q1"):
        slices(FOUR, "length", queries={"x": "a"})
    with pytest.raises(KaratError, match="queries is only used to group by length"):
        slices(FOUR, TOPICS, queries={"q0": "a"})


def test_relevant_counts_the_documents_of_grade_1_or_more() -> None:
    truth = {"q": {"a": 2, "b": 1, "c": 0, "d": -1}, "r": {"a": 0}, "s": {"a": 1, "b": 3}}
    scores = evaluate(truth, {"s": ["a"], "q": ["a"]}, "RR", missing="skip")
    assert {label: part.queries for label, part in slices(scores, "relevant").groups.items()} == {"2": ("q", "s")}
    everything = evaluate(truth, {"q": ["a"]}, "RR")
    assert sizes(slices(everything, "relevant")) == {"0": 1, "2": 2}


def test_relevant_needs_the_judged_documents() -> None:
    scores = evaluate({"q": ["a"]}, {"q": ["a"]}, "RR")
    for without in (scores.without_evidence(), evaluate_answers({"q": "a"}, {"q": "a"}, "EM")):
        with pytest.raises(KaratError, match=r"contain no judged documents.*Evaluate the runs again"):
            slices(without, "relevant")


def test_the_scores_of_a_group_can_be_explained() -> None:
    scores = evaluate({"q": ["a"], "r": ["b"]}, {"q": ["a"], "r": ["x", "b"]}, ["RR", "NumRet"], name="mine")
    part = slices(scores, ["one", "two"]).groups["two"]
    assert part.per_query == {"r": {"RR": 0.5, "NumRet": 2.0}}
    assert part.name == "mine"
    assert [row.rank for row in part.explain("r").rows] == [1, 2]


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("lenght", r"queries cannot be grouped by 'lenght'\. Did you mean length\? Use \"length\", \"relevant\""),
        ("topic", r"queries cannot be grouped by 'topic'\. Use \"length\", \"relevant\""),
        (None, "by=None does not have one value per query"),
        (7, "by=7 does not have one value per query"),
        (b"abcd", "does not have one value per query"),
        ({"a", "b"}, "A set has no order"),
        (iter(TOPICS), r"Wrap it in list\(\.\.\.\)"),
        (np.array(5), "does not have one value per query"),
        (pl.DataFrame({"a": [1, 2, 3, 4]}), "does not have one value per query"),
        ([1, 2, 3], "by has 3 values for 4 queries.*in the order of scores.queries"),
        (pd.Series([1, 2, 3, 4, 5]), "by has 5 values for 4 queries"),
        ({"x": 1}, r"by has no value for any of the queries\. The query ids are q0, q1, q2"),
        ([1, 2, [3], 4], r"query q2: queries cannot be grouped by \[3\]\. .*with str"),
        (np.eye(4), "query q0: queries cannot be grouped by"),
        (pa.table({"a": [1, 2, 3, 4]}), "query q0: queries cannot be grouped by"),
        ([1, 2, 10**400, 4], "query q2: queries cannot be grouped by"),
        ([1, 2, 1j, 4], "query q2: queries cannot be grouped by 1j"),
    ],
)
def test_values_that_cannot_be_grouped_by_are_an_error(by: Any, message: str) -> None:
    with pytest.raises(KaratError, match=message):
        slices(FOUR, by)


def test_an_exception_in_the_function_is_not_caught() -> None:
    with pytest.raises(ZeroDivisionError):
        slices(FOUR, lambda _: 1 / 0)


def test_a_few_different_numbers_are_a_group_each_in_ascending_order() -> None:
    by = [10, 2.5, np.int64(9), Fraction(5, 2), np.float32(0.5), Decimal("0.5"), math.nan, pd.NA, pd.NaT, -3, 1e20]
    found = slices(scored(*range(11)), by)
    assert list(sizes(found).items()) == [
        ("-3", 1),
        ("0.5", 2),
        ("2.5", 2),
        ("9", 1),
        ("10", 1),
        ("1e+20", 1),
        ("(none)", 3),
    ]


def test_booleans_are_groups_with_false_first() -> None:
    assert list(sizes(slices(FOUR, [True, np.True_, False, True])).items()) == [("false", 1), ("true", 3)]
    assert sizes(slices(FOUR, np.array([True, True, True, True]))) == {"true": 4}


def test_groups_of_texts_are_in_order_of_appearance_and_none_is_last() -> None:
    assert list(slices(FOUR, ["(none)", "z", "a", "z"]).groups) == ["z", "a", "(none)"]
    assert sizes(slices(FOUR, [None, "z", "(none)", "z"])) == {"z": 2, "(none)": 2}
    assert sizes(slices(FOUR, [None, None, None, None])) == {"(none)": 4}


def test_values_of_mixed_types_are_grouped_as_texts() -> None:
    assert sizes(slices(FOUR, ["b", 2, True, "2"])) == {"b": 1, "2": 2, "true": 1}


def test_the_empty_text_is_a_group_with_a_label() -> None:
    assert sizes(slices(FOUR, ["", "a", "", None])) == {"(empty)": 2, "a": 1, "(none)": 1}


def test_many_different_numbers_are_grouped_into_four_ranges_of_similar_size() -> None:
    found = slices(scored(*range(20)), list(range(1, 21)))
    assert sizes(found) == {"1–5": 5, "6–10": 5, "11–15": 5, "16–20": 5}
    gaps = slices(scored(*range(8)), [1, 2, 3, 5, 8, 13, 21, 34], bins=2)
    assert sizes(gaps) == {"1–5": 4, "8–34": 4}


def test_equal_numbers_are_in_one_range() -> None:
    by = [1] * 9 + [2, 3, 4, 5, 6, 7, 8]
    assert sizes(slices(scored(*range(16)), by)) == {"1": 9, "2–4": 3, "5–8": 4}
    by = [1, 2, 3, 4, 5, 6, 7] + [8] * 93
    assert sizes(slices(scored(*range(100)), by)) == {"1–7": 7, "8": 93}


def test_labels_of_ranges_are_short_but_distinct() -> None:
    by = [0.1, 0.25, 1 / 3, 0.5, 2 / 3, 0.75, 1, 1.5]
    assert list(slices(scored(*range(8)), by).groups) == ["0.1–0.25", "0.3333–0.5", "0.6667–0.75", "1–1.5"]
    close = [0.12341, 0.12342, 0.12343, 12]
    assert list(slices(FOUR, close).groups) == ["0.12341", "0.12342", "0.12343", "12"]
    closest = [1.0, math.nextafter(1, 2), 2, 3]
    assert list(slices(FOUR, closest).groups) == ["1", "1.0000000000000002", "2", "3"]
    large = [12345.5, 70000.25, math.inf, -math.inf]
    assert list(slices(FOUR, large[:2] * 2).groups) == ["12345.5", "70000.2"]
    assert list(slices(FOUR, large).groups) == ["-inf", "12345.5", "70000.25", "inf"]


def test_ranges_that_start_below_zero_are_written_with_to() -> None:
    assert list(slices(scored(*range(8)), range(-4, 4), bins=2).groups) == ["-4 to -1", "0–3"]


def test_groups_between_given_edges_are_labelled_by_the_edges() -> None:
    scores = scored(*range(8))
    assert sizes(slices(scores, [-1, 0, 4, 5, 9, 10, 10, 99], bins=[0, 5, 10, 11])) == {
        "< 0": 1,
        "0–4": 2,
        "5–9": 2,
        "10": 2,
        ">= 11": 1,
    }
    assert sizes(slices(scores, [0, 0.25, 0.5, 0.5, 0.5, 0.75, 1, math.inf], bins=[0.5, 1])) == {
        "< 0.5": 2,
        "0.5 to < 1": 4,
        ">= 1": 2,
    }
    assert sizes(slices(scores, [1, 2, 3, 4, 5, 6, 7, None], bins=(100,))) == {"< 100": 7, "(none)": 1}


@pytest.mark.parametrize("bins", [1, 0, 51, True, 4.0, "4", [], [2, 1], [1, 1], [1, math.nan], [[1, 2]], {}, range(50)])
def test_invalid_bins_are_an_error(bins: Any) -> None:
    with pytest.raises(KaratError, match=r"is neither a number of ranges nor a list of edges\. Pass a number"):
        slices(FOUR, [1, 2, 3, 4], bins=bins)


def test_bins_for_texts_are_an_error() -> None:
    with pytest.raises(KaratError, match="bins need numbers"):
        slices(FOUR, TOPICS, bins=2)


def test_too_many_groups_are_an_error() -> None:
    many = scored(*range(51))
    with pytest.raises(
        KaratError,
        match=r"51 groups are too many: the maximum is 50\. Group by something coarser, or by numbers with bins",
    ):
        slices(many, [f"topic {at}" for at in range(51)])
    assert len(slices(many, [f"topic {at}" for at in range(50)] + [None]).groups) == 51
    assert len(slices(many, list(range(51)), bins=50).groups) == 50


@pytest.mark.parametrize("level", [0, 1, 95, -0.5])
def test_an_invalid_level_is_an_error(level: float) -> None:
    with pytest.raises(KaratError, match="is not between 0 and 1"):
        slices(FOUR, TOPICS, level=level)


values_of_a_group = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 60), st.floats(), st.sampled_from(["", "a", "b", "(none)", "1", "\x1b"])
)
columns_of_values = st.one_of(
    st.lists(values_of_a_group, min_size=1, max_size=45),
    st.lists(st.none() | st.floats(), min_size=1, max_size=80),
    st.lists(st.integers(0, 12), min_size=1, max_size=80),
)


@given(columns_of_values, st.randoms(use_true_random=False), st.integers(0, 3))
@settings(deadline=None, derandomize=True, max_examples=30)
def test_every_query_is_in_one_group_and_the_groups_add_up(by: list[Any], random: Any, nulls: int) -> None:
    scores = scored(*(math.nan if random.randrange(5) < nulls else random.random() for _ in by))
    found = slices(scores, by, level=None)
    assert sorted(query for part in found.groups.values() for query in part.queries) == sorted(scores.queries)
    assert all(part.queries for part in found.groups.values())
    parts = [(part.combined("nDCG@10"), len(part.queries) - part.nulls("nDCG@10")) for part in found.groups.values()]
    total = math.fsum(mean * n for mean, n in parts if mean is not None)
    n = len(by) - scores.nulls("nDCG@10")
    assert scores.combined("nDCG@10") == (pytest.approx(total / n) if n else None)


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=60), st.integers(2, 8))
@settings(deadline=None, derandomize=True)
def test_ranges_do_not_overlap_and_are_in_ascending_order(by: list[float], bins: int) -> None:
    found = slices(scored(*[0.5] * len(by)), by, bins=bins)
    ranges = [[by[int(query[1:])] for query in part.queries] for part in found.groups.values()]
    assert all(max(low) < min(high) for low, high in pairwise(ranges))
    assert (len(set(by)) > 1) == (len(ranges) > 1)
    assert len(ranges) <= bins


def test_the_table_shows_each_group_with_its_interval_and_all_queries_last() -> None:
    scores = scored(0.25, 0.75, 0.5)
    found = slices(scores, ["a", "a", "b"], level=0.9)
    low, high = scores.interval("nDCG@10", 0.9)
    assert str(found).splitlines()[2:] == [
        "a             2   0.5000 [0.0140, 0.9860]",
        "b             1                    0.5000",
        f"all           3   0.5000 [{low:.4f}, {high:.4f}]",
        "3 queries in 2 groups, with 90% confidence intervals",
    ]


def test_the_weakest_value_of_a_column_is_marked_depending_on_the_direction_of_the_measure() -> None:
    columns = {"AP": [0.1, 0.2, 0.1], "Unjudged@10": [0.3, 0.9, 0.1], "NumRet": [1.0, 2.0, 3.0], "RR": [1.0, 1.0, 1.0]}
    scores = Scores(("q", "r", "s"), {name: np.array(column) for name, column in columns.items()})
    marked = [[cell.mark is not None for cell in row] for row in slices(scores, ["a", "b", "c"]).table().rows]
    assert marked[0] == [False, False, True, False, False, False]
    assert marked[1] == [False, False, False, True, False, False]
    assert marked[2] == [False, False, True, False, False, False]
    assert not any(marked[3])
    assert "* weakest in its column" in str(slices(scores, ["a", "b", "c"]))


def test_the_weakest_value_is_not_bold_in_latex_because_bold_means_best() -> None:
    scores = evaluate({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["a"], "r": ["x", "b"]}, "RR")
    latex = slices(scores, ["news", "law"], level=None).table().latex()
    assert r"law & 1 & \textit{0.5000} \\" in latex
    assert "textbf" not in latex
    assert "% italics: weakest in its column" in latex


def test_the_row_of_all_queries_is_never_marked() -> None:
    tiny = slices(scored(0.0, 0.0, 5e-324), ["a", "a", "b"])
    assert tiny.whole["nDCG@10"] == tiny.groups["a"]["nDCG@10"]
    assert [row[2].mark is not None for row in tiny.table().rows] == [True, False, False]


def test_nulls_are_left_out_counted_and_shown() -> None:
    nan = math.nan
    found = slices(scored(0.5, nan, nan, nan, 0.25, 0.75), ["a", "a", "b", "b", "c", "c"])
    rows = {row[0].text: row[2].text for row in found.table().rows}
    assert rows["a"] == "0.5000"
    assert rows["b"] == "–"
    low, high = scored(0.25, 0.75).interval("nDCG@10")
    assert rows["c"] == f"0.5000 [{low:.4f}, {high:.4f}]"
    assert "note: 3 queries without a value for nDCG@10 (left out): " in str(found)
    assert found.to_dict()["groups"][1]["scores"]["nDCG@10"] == {"mean": None, "low": None, "high": None}


def test_the_dictionary_has_mean_low_and_high_for_each_group() -> None:
    scores = scored(0.25, 0.75, 0.5)
    found = slices(scores, ["a", "a", "b"])
    low, high = scores.interval("nDCG@10")
    a_low, a_high = scores.take([0, 1]).interval("nDCG@10")
    assert found.to_dict() == {
        "by": "group",
        "level": 0.95,
        "groups": [
            {"group": "a", "queries": 2, "scores": {"nDCG@10": {"mean": 0.5, "low": a_low, "high": a_high}}},
            {"group": "b", "queries": 1, "scores": {"nDCG@10": {"mean": 0.5, "low": None, "high": None}}},
        ],
        "all": {"group": "all", "queries": 3, "scores": {"nDCG@10": {"mean": 0.5, "low": low, "high": high}}},
    }


def test_a_weak_group_is_reported_with_its_value_and_that_of_the_others() -> None:
    scores = Scores(
        tuple(f"q{at}" for at in range(40)),
        {"NumRet": np.ones(40), "AP": np.array([0.1, 0.2] * 5 + [0.7, 0.8] * 15)},
    )
    by = ["long"] * 10 + ["short"] * 26 + ["odd"] * 4
    text = str(slices(scores, pd.Series(by, name="kind")))
    assert "AP is significantly weaker for kind=long: 0.1500 (10 queries), others 0.7500 (p = 0.001, corrected" in text


def test_the_value_of_the_other_groups_is_combined_as_the_measure_defines() -> None:
    scores = scored(*[0.01] * 8, *[0.1, 0.4] * 8, measure="GMAP")
    assert "for group=a: 0.0100 (8 queries), others 0.2000" in str(slices(scores, ["a"] * 8 + ["b"] * 16))


def test_a_high_value_is_weak_if_lower_is_better() -> None:
    values = [0.1, 0.2] * 10 + [0.8, 0.9] * 5
    assert "for group=b: 0.8500" in str(slices(scored(*values, measure="Unjudged@10"), ["a"] * 20 + ["b"] * 10))


def test_a_small_group_is_not_tested_for_weakness() -> None:
    text = str(slices(scored(*[0.0] * 4, *[0.8, 0.9] * 20), ["small"] * 4 + ["large"] * 40))
    assert "nDCG@10: no group of 5 or more queries is significantly weaker than the others (p = 1)" in text


@pytest.mark.parametrize("values", [[0.5] * 20, [0.1, 0.9] * 4, [math.nan] * 20])
def test_no_test_is_reported_if_there_is_nothing_to_compare(values: list[float]) -> None:
    assert "significantly" not in str(slices(scored(*values), [at % 2 for at in range(len(values))]))
    assert "significantly" not in str(slices(scored(*values), ["one"] * len(values)))


def test_sums_are_neither_tested_nor_marked() -> None:
    text = str(slices(scored(*[1.0] * 10, *[9.0] * 10, measure="NumRet"), ["a"] * 10 + ["b"] * 10))
    assert "significantly" not in text
    assert "*" not in text


def test_infinite_values_are_not_tested() -> None:
    assert weak_group([np.array([math.inf] * 6), np.zeros(6)]) is None
    assert weak_group([]) is None


def test_random_groups_are_rarely_found_weak() -> None:
    claims = 0
    for seed in range(25):
        random = np.random.default_rng(seed)
        found = weak_group(np.split((random.random(120) < 0.5).astype(float), 12))
        assert found is not None
        claims += found[1] <= 0.05
    assert claims <= 2  # one is expected; uncorrected tests of each group would find four


@pytest.mark.parametrize("weakness", [0.0, 0.006, 0.011, 0.03])
def test_the_p_of_a_weak_group_of_very_many_queries_is_that_of_permutations(
    weakness: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(8)
    columns = [random.beta(1, 2, size) for size in (5000, 3000, 2500)]
    columns[1] -= weakness + columns[1].mean() - columns[2].mean()
    found = weak_group(columns)
    monkeypatch.setattr("karat.stats.groups.MAX_RESAMPLED", 20_000)
    monkeypatch.setattr("karat.stats.groups._PERMUTATIONS", 300)
    expected = weak_group(columns)
    assert found is not None
    assert expected is not None
    assert found[0] == expected[0]
    assert found[1] == pytest.approx(expected[1], abs=0.1)


def test_a_small_group_of_very_many_queries_is_compared_with_permutations() -> None:
    alternating = np.tile([0.0, 1.0], 5500)
    # 2 of 32 groups of five are as far from the mean. By the normal distribution, it would be 2 of 79.
    found = weak_group([np.zeros(5), alternating])
    assert found is not None
    assert found[1] == pytest.approx(2 / 32, abs=0.02)


def test_the_weak_group_is_the_most_significant_one_and_not_the_largest() -> None:
    spread = np.array([-0.1, 0.1])
    large, small, rest = np.tile(spread - 0.02, 25), np.tile(spread - 0.09, 5), np.tile(spread + 0.0475, 20)
    found = weak_group([large, np.empty(0), small, rest])
    assert found is not None
    assert found[0] == 2


def test_without_a_level_there_are_neither_intervals_nor_a_test() -> None:
    found = slices(scored(*[0.0] * 10, *[0.9] * 10), ["a"] * 10 + ["b"] * 10, level=None)
    assert str(found).splitlines()[2:] == [
        "a            10    0.0000*",
        "b            10    0.9000",
        "all          20    0.4500",
        "* weakest in its column",
        "20 queries in 2 groups",
    ]
    assert found.to_dict()["all"]["scores"]["nDCG@10"] == {"mean": 0.45, "low": None, "high": None}


def test_findings_are_shown_once_for_all_queries() -> None:
    scores = Scores(("q", "r"), {"AP": np.array([0.1, 0.2])}, (Finding("odd", "1 query is odd", 1),))
    found = slices(scores, ["a", "b"])
    assert "note: 1 query is odd." in str(found)
    assert found.groups["a"].findings == ()


def test_one_query_is_one_group() -> None:
    assert str(slices(scored(0.5), ["ä"])).splitlines()[2:] == [
        "ä             1    0.5000",
        "all           1    0.5000",
        "1 query in 1 group, with 95% confidence intervals",
    ]


def test_labels_with_markup_and_control_characters_are_printed_safely() -> None:
    hostile = ["\x1b[2J<script>", "a\nb", "[red]金\u202e", "\ud800"]
    found = slices(scored(*[0.0] * 6, *[0.9] * 18), [hostile[0]] * 6 + hostile[1:] * 6)
    console = Console(file=StringIO(), force_terminal=False, width=200)
    console.print(found)
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    page = found._repr_html_()
    for text in (str(found), printed, page):
        text.encode()
        assert not {"\x1b", "\u202e", "\ud800"} & set(text)
        assert r"\x1b[2J" in text
        assert "[red]金" in text
    assert r"nDCG@10 is significantly weaker for group=\x1b[2J<script>: 0.0000" in str(found)
    assert "<script>" not in page
    assert list(found.groups) == hostile


def test_a_hundred_thousand_queries_are_grouped() -> None:
    random = np.random.default_rng(7)
    scores = scored(*random.random(100_000))
    found = slices(scores, random.integers(0, 1000, 100_000), level=None)
    assert len(found.groups) == 4
    assert all(abs(size - 25_000) < 500 for size in sizes(found).values())
    assert "100,000 queries in 4 groups" in str(found)
