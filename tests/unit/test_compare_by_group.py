"""Comparisons within groups of queries: the same numbers as on those queries alone, corrected over all groups."""

from __future__ import annotations

import csv
import io
import json
import math

import numpy as np
import pytest

from karat import Scores, compare, evaluate_runs
from karat.cli import demo_data as demo
from karat.comparison import Comparison
from karat.errors import KaratError
from karat.stats import corrected

LANGUAGES = {f"q{at:02}": "de" if at < 20 else "fr" if at < 40 else "it" for at in range(43)}


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    """`new` is better on German queries, worse on French ones, and there are only three Italian ones."""
    chance = np.random.default_rng(4)
    old = chance.uniform(0.2, 0.4, 43)
    gain = np.where(np.arange(43) < 20, 0.2, np.where(np.arange(43) < 40, -0.15, 0.1)) + chance.normal(0, 0.03, 43)
    queries = tuple(LANGUAGES)
    other = old + chance.normal(0, 0.01, 43)
    columns = {"old": old, "new": old + gain, "other": other}
    systems = {name: Scores(queries, {"AP": column, "Unjudged@10": 1 - column}) for name, column in columns.items()}
    return compare(systems, "old", resamples=200)


def test_each_group_has_the_numbers_of_a_comparison_of_its_queries(comparison: Comparison) -> None:
    slices = comparison.slices(LANGUAGES)
    assert list(slices.groups) == ["de", "fr", "it"]
    for label in ("de", "fr"):
        rows = [at for at, query in enumerate(comparison.queries) if LANGUAGES[query] == label]
        alone = compare({name: each.take(rows) for name, each in comparison.systems.items()}, "old", resamples=200)
        for one, other in zip(slices.groups[label].rows, alone.rows, strict=True):
            assert one.__dict__ | {"p_corrected": None} == other.__dict__ | {"p_corrected": None}


@pytest.mark.parametrize("family", ["measure", "all"])
def test_p_is_corrected_over_all_groups(comparison: Comparison, family: str) -> None:
    whole = compare(comparison.systems, "old", resamples=9, family=family)  # type: ignore[arg-type]
    slices = whole.slices(LANGUAGES)
    measures = whole.measures if family == "all" else ("AP",)
    rows = [
        row
        for group in slices.groups.values()
        for row in group.rows
        if row.baseline is not None and row.measure in measures
    ]
    expected = corrected([row.p for row in rows], "holm")
    assert [row.p_corrected for row in rows] == expected
    tested = sum(row.p is not None for row in rows)
    assert slices.groups["de"].power("AP", "new").comparisons == tested == 4 * len(measures)


def test_sentences_name_the_groups_that_are_better_and_worse(comparison: Comparison) -> None:
    text = str(comparison.slices(LANGUAGES))
    assert "\nnew is significantly better than old on AP for group=de, by 0.2" in text
    assert "\nold is significantly better than new on AP for group=fr, by 0.1" in text
    assert "\nno significant difference between other and old on AP for group=de and fr" in text
    assert "20 queries)" in text
    assert "Holm-corrected over 4 comparisons per measure" in text


def test_a_group_of_few_queries_is_shown_and_said_not_to_be_tested(comparison: Comparison) -> None:
    slices = comparison.slices(LANGUAGES)
    row = slices.groups["it"].row("AP", "new")
    assert row.difference is not None
    assert (row.p, row.p_corrected, row.difference_low) == (None, None, None)
    assert "note: not tested, with fewer than 5 queries: group=it (3 queries)." in str(slices)
    assert not any("=it" in sentence for sentence in slices.sentences)


def test_a_group_in_which_no_result_could_be_significant_is_named(comparison: Comparison) -> None:
    slices = comparison.slices({query: "few" if at < 6 else "many" for at, query in enumerate(comparison.queries)})
    assert "note: too few queries differ for any significant result: group=few." in str(slices)


def test_a_system_without_a_significant_difference_has_its_losses_named() -> None:
    values = np.array([0.5, 0.4, 0.6, 0.5, 0.4, 0.6] * 2)
    queries = tuple(f"q{at:02}" for at in range(12))
    change = np.array([0.1, -0.05] * 3 + [-0.1, 0.05] * 3)
    systems = {"a": Scores(queries, {"AP": values}), "b": Scores(queries, {"AP": values + change})}
    slices = compare(systems, resamples=99).slices({query: "x" if at < 6 else "y" for at, query in enumerate(queries)})
    assert slices.sentences[-1] == (
        "no significant difference between b and a on AP for group=x and y; b has the worse mean for y (-0.0250)"
    )


def test_every_format_has_the_groups(comparison: Comparison) -> None:
    slices = comparison.slices(LANGUAGES)
    document = json.loads(slices.to_json())
    assert [group["group"] for group in document["groups"]] == ["de", "fr", "it"]
    assert document["groups"][2]["queries"] == 3
    assert document["all"] == comparison.to_dict()
    rows = list(csv.DictReader(io.StringIO(slices.to_csv())))
    assert [row["group"] for row in rows] == [name for name in ("de", "fr", "it", "all") for _ in range(6)]
    assert {row["queries"] for row in rows} == {"20", "3", "43"}
    frame = slices.to_pandas()
    assert list(frame.columns) == list(rows[0])
    assert slices.to_latex().count(r"\\") == len(slices.table().rows) + 1
    assert "| de |" in slices.to_markdown()


def test_built_in_groups_need_the_data_they_are_made_from() -> None:
    systems = evaluate_runs(demo.TRUTH, demo.runs(), "RR")
    comparison = compare(systems, "bm25", resamples=50)
    assert list(comparison.slices("relevant").groups) == ["1", "2", "3–4", "5–13"]
    saved = compare(systems.without_evidence(), "bm25", resamples=50)
    with pytest.raises(KaratError, match="no judged documents"):
        saved.slices("relevant")


def test_tukeys_test_is_refused_for_groups(comparison: Comparison) -> None:
    tukey = compare(comparison.systems, test="tukey", permutations=9, resamples=9)
    with pytest.raises(KaratError, match="Tukey's test does not correct over groups"):
        tukey.slices(LANGUAGES)


def test_one_group_of_all_queries_is_corrected_as_the_whole(comparison: Comparison) -> None:
    (group,) = comparison.slices(dict.fromkeys(comparison.queries, "x")).groups.values()
    assert group.rows == comparison.rows


def test_groups_may_have_no_values_at_all() -> None:
    queries = tuple(f"q{at}" for at in range(12))
    column = np.where(np.arange(12) < 6, math.nan, np.arange(12) / 12)
    systems = {"a": Scores(queries, {"AP": column}), "b": Scores(queries, {"AP": column / 2})}
    slices = compare(systems, resamples=99).slices({query: "x" if at < 6 else "y" for at, query in enumerate(queries)})
    assert slices.groups["x"].row("AP").difference is None
    assert "nan" not in str(slices)


def test_a_comparison_converts_to_data_frames(comparison: Comparison) -> None:
    import polars as pl

    frame = comparison.to_pandas()
    records = comparison.records()
    assert list(frame.columns) == list(records[0])
    assert frame["p"].tolist()[1] == records[1]["p"]
    assert math.isnan(frame["p"].tolist()[0])
    assert frame["wins"].dtype == frame["losses"].dtype == "Int64"
    assert frame["wins"].isna().tolist() == [record["wins"] is None for record in records]
    assert frame["wins"].dropna().tolist() == [record["wins"] for record in records if record["wins"] is not None]
    assert comparison.to_polars().to_dicts() == records
    assert comparison.to_polars().schema["wins"] == pl.Int64
    assert comparison.to_polars().schema["higher_is_better"] == pl.Boolean
    assert comparison.to_arrow().to_pylist() == records


def test_a_comparison_without_any_value_converts_to_data_frames() -> None:
    nothing = Scores(("q",), {"AP": np.array([math.nan])})
    comparison = compare({"a": nothing, "b": nothing})
    assert comparison.to_arrow().to_pylist() == comparison.records()
    assert str(comparison.to_arrow().schema.field("p").type) == "double"
    assert len(comparison.to_pandas()) == len(comparison.to_polars()) == 2


def test_names_of_groups_are_harmless_when_printed(comparison: Comparison) -> None:
    slices = comparison.slices(dict.fromkeys(comparison.queries, "a\x1b[2J\nb"))
    for text in (str(slices), *slices.sentences, repr(slices), slices.to_latex(), slices.to_markdown()):
        assert "\x1b" not in text
    assert all("\n" not in sentence for sentence in slices.sentences)


def test_groups_in_which_systems_are_the_same_are_said_to_be_so() -> None:
    queries = tuple(f"q{at:02}" for at in range(24))
    old = np.linspace(0.1, 0.6, 24)
    systems = {"a": Scores(queries, {"AP": old}), "b": Scores(queries, {"AP": old + 0.1 * (np.arange(24) < 12)})}
    half = {query: "x" if at < 12 else "y" for at, query in enumerate(queries)}
    slices = compare(systems, resamples=99).slices(half)
    assert slices.sentences[-1] == "b and a have the same AP on all queries for group=y"
    assert "too few queries differ" not in str(slices)
    same = compare({"a": systems["a"], "b": systems["a"]}, resamples=99).slices(half)
    assert same.sentences == ("b and a have the same AP on all 24 queries",)
