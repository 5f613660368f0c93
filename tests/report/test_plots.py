"""Plots: their rows are the scores, their specifications compile, and what cannot be drawn is a clear error."""

from __future__ import annotations

import re
from base64 import b64decode
from dataclasses import replace
from typing import Any

import altair as alt
import numpy as np
import pytest
import vl_convert

from karat import Comparison, KaratError, Scores, SystemScores, compare, evaluate_runs, parse
from karat.analysis.evidence import other_measures
from karat.cli import demo_data as demo
from karat.errors.installing import pip_install
from karat.report.plots.kinds import KINDS, charts_for_page

MEASURES = ["nDCG@10", "AP", "RR"]


@pytest.fixture(scope="module")
def systems() -> SystemScores:
    return evaluate_runs(demo.TRUTH, demo.runs(), MEASURES)


@pytest.fixture(scope="module")
def comparison(systems: SystemScores) -> Comparison:
    return compare({name: systems[name] for name in ("bm25", "bm25-rm3")}, "bm25")


@pytest.fixture(scope="module")
def groups(systems: SystemScores) -> dict[str, str]:
    return {query: "even" if int(query[1:]) % 2 == 0 else "odd" for query in systems["bm25"].queries}


def records(chart: Any) -> list[dict[str, Any]]:
    """The rows of a chart, of all its panels."""
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]


def compiles(spec: dict[str, Any]) -> str:
    svg: str = vl_convert.vegalite_to_svg(spec)
    return svg


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_can_be_drawn_of_the_demo(kind: str, systems: SystemScores, groups: dict[str, str]) -> None:
    svg = compiles(systems.plot(kind, by=groups).to_dict())
    assert svg.startswith("<svg")
    assert "bm25-rm3" in svg


def test_intervals_are_the_means_and_intervals_of_the_scores(systems: SystemScores) -> None:
    rows = records(systems.plot("intervals", level=0.9))
    assert len(rows) == len(systems) * len(MEASURES)
    for row in rows:
        scores = systems[row["system"]]
        assert row["mean"] == scores[row["measure"]]
        assert (row["low"], row["high"]) == scores.interval(row["measure"], 0.9)


def test_intervals_of_a_comparison_are_those_of_its_rows(comparison: Comparison) -> None:
    rows = records(comparison.plot("intervals", "AP"))
    expected = [(row.system, row.mean, row.low, row.high) for row in comparison.rows if row.measure == "AP"]
    assert [(row["system"], row["mean"], row["low"], row["high"]) for row in rows] == expected


def test_differences_are_sorted_and_say_which_queries_are_better(comparison: Comparison) -> None:
    rows = records(comparison.plot())
    before, after = comparison.systems.values()
    assert [row["difference"] for row in rows] == sorted((row["difference"] for row in rows), reverse=True)
    assert {row["query"]: (row["a"], row["b"]) for row in rows} == {
        query: (before.per_query[query]["nDCG@10"], after.per_query[query]["nDCG@10"]) for query in before.queries
    }
    changes = [row["change"] for row in rows]
    row = comparison.row("nDCG@10")
    assert [changes.count(change) for change in ("better", "same", "worse")] == [row.wins, row.ties, row.losses]


def test_a_lower_value_is_better_where_the_scores_say_so() -> None:
    slow, fast = (
        Scores(("q", "r"), {"latency": np.array([n, 2.0])}, lower_is_better=frozenset({"latency"})) for n in (3.0, 1.0)
    )
    rows = records(SystemScores({"slow": slow, "fast": fast}).plot("differences"))
    assert [(row["difference"], row["change"]) for row in rows] == [(0.0, "same"), (-2.0, "better")]


def test_cutoffs_and_precision_at_recall_are_the_measures_of_these_names(systems: SystemScores) -> None:
    rows = records(systems.plot("cutoffs"))
    assert {row["measure"] for row in rows} == {"nDCG@k", "R@k", "P@k"}
    for row in rows:
        measure = parse(f"{row['measure'][:-1]}{row['k']}")
        assert row["value"] == other_measures(systems[row["system"]], [measure])[measure]
    for row in records(systems.plot("precision-recall")):
        measure = parse(f"IPrec@{row['recall']}")
        assert row["precision"] == other_measures(systems[row["system"]], [measure])[measure]


def test_other_measures_are_those_of_an_evaluation(systems: SystemScores) -> None:
    names = ["P@5", "R@20", "IPrec@0.3"]
    again = evaluate_runs(demo.TRUTH, demo.runs(), names)
    for name, scores in systems.items():
        found = other_measures(scores.take([7, 3]), list(map(parse, names)))
        assert found.queries == (scores.queries[7], scores.queries[3])
        for measure in names:
            assert found.column(measure).tolist() == again[name].column(measure)[[7, 3]].tolist()


def test_the_first_relevant_documents_of_all_queries_are_counted(systems: SystemScores) -> None:
    rows = records(systems.plot("first"))
    for name, scores in systems.items():
        counts = {row["rank"]: row["queries"] for row in rows if row["system"] == name}
        reciprocal = scores.column("RR")
        assert counts["1"] == (reciprocal == 1).sum()
        assert counts["2–3"] == ((reciprocal < 1) & (reciprocal > 0.3)).sum()
        assert counts["none"] == (reciprocal == 0).sum()
        assert sum(counts.values()) == len(scores.queries)


def test_the_threshold_of_relevance_is_that_of_the_scores() -> None:
    scores = evaluate_runs({"q": {"a": 1, "b": 2}}, {"run": {"q": ["a", "b"]}}, ["AP"], rel=2)
    assert [row["rank"] for row in records(scores.plot("first")) if row["queries"]] == ["2–3"]


def test_bounds_are_those_of_the_scores(systems: SystemScores) -> None:
    for row in records(systems.plot("bounds", "AP")):
        assert (row["low"], row["high"]) == systems[row["system"]].bounds("AP").mean


def test_slices_are_those_of_the_scores(systems: SystemScores, groups: dict[str, str]) -> None:
    for row in records(systems.plot("slices", "RR", by=groups)):
        of_group = systems[row["system"]].slices(groups).groups[row["group"].split()[0]]
        assert row["mean"] == of_group["RR"]
        assert (row["low"], row["high"]) == of_group.interval("RR")


def test_an_unknown_kind_is_an_error_that_lists_the_kinds(systems: SystemScores) -> None:
    with pytest.raises(
        KaratError, match=r"'scater' is not a kind of plot. Did you mean scatter\? The kinds are intervals, differences"
    ):
        systems.plot("scater")


@pytest.mark.parametrize("kind", ["cutoffs", "precision-recall", "first", "bounds"])
def test_a_plot_that_needs_run_data_says_so(kind: str, systems: SystemScores) -> None:
    with pytest.raises(
        KaratError, match=f"overlap: the plot {kind} needs run data, which these scores do not contain. Evaluate"
    ):
        systems.without_evidence().plot(kind)


@pytest.mark.parametrize("kind", ["differences", "scatter"])
def test_a_plot_of_two_systems_needs_two(kind: str, systems: SystemScores) -> None:
    with pytest.raises(KaratError, match=f"the plot {kind} needs two systems, but there is only one"):
        systems["bm25"].plot(kind)


def test_slices_need_groups(systems: SystemScores) -> None:
    with pytest.raises(KaratError, match="the plot slices needs groups of queries"):
        systems.plot("slices")


def test_too_many_pairs_are_an_error_that_says_how_to_choose_one(systems: SystemScores) -> None:
    many = SystemScores({f"s{n}": systems["bm25"] for n in range(8)})
    with pytest.raises(KaratError, match=r"shows at most 6 pairs of systems, not 7\. Choose system and baseline"):
        many.plot("differences")
    assert {row["pair"] for row in records(many.plot("differences", system="s3", baseline="s5"))} == {"s3 − s5"}


def test_a_missing_extra_is_an_error_that_says_what_to_install(
    systems: SystemScores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "altair", None)
    with pytest.raises(KaratError, match=re.escape(f"plots need altair and vl-convert. {pip_install('report')}")):
        systems.plot()


def test_nulls_infinite_values_and_one_query_can_be_drawn() -> None:
    one = Scores(("q",), {"AP": np.array([0.5])})
    null = Scores(("q",), {"AP": np.array([np.nan])})
    endless = Scores(("q",), {"AP": np.array([np.inf])})
    rows = records(chart := SystemScores({"one": one, "null": null, "endless": endless}).plot())
    assert [row["mean"] for row in rows] == [0.5, None, None]
    assert "endless" in compiles(chart.to_dict())
    same = SystemScores({"a": one, "b": one})
    assert [row["change"] for row in records(same.plot("differences"))] == ["same"]
    for kind in ("differences", "scatter"):
        assert compiles(same.plot(kind).to_dict())
        assert compiles(SystemScores({"a": one, "b": null}).plot(kind).to_dict())


def test_queries_that_are_left_out_are_counted_in_the_title() -> None:
    values = np.array([0.5, np.nan, 0.25, 1.0])
    queries = ("q1", "q2", "q3", "q4")
    several = SystemScores({"a": Scores(queries, {"AP": values}), "b": Scores(queries, {"AP": values[::-1]})})
    note = "without 2 queries that have no value"
    assert several.plot("differences").to_dict()["title"] == {"text": "b − a", "subtitle": note}
    assert several.plot("scatter").to_dict()["title"] == note
    drawn = vl_convert.vegalite_to_svg(several.plot("scatter").to_dict())
    assert note in drawn
    whole = SystemScores({name: scores.take([0, 3]) for name, scores in several.items()})
    assert "title" not in whole.plot("scatter").to_dict()


def test_measures_have_the_names_that_were_asked_for() -> None:
    asked = evaluate_runs(demo.TRUTH, demo.runs(), ["map", "P_5"])
    assert [row["measure"] for row in records(asked.plot())[::3]] == ["AP", "P@5"]
    assert [row["measure"] for row in records(asked.plot(names="asked"))[::3]] == ["map", "P_5"]
    for kind in ("differences", "bounds", "scatter"):
        assert "map" in str(asked.plot(kind, "AP", system="bm25", names="asked").to_dict()["description"])
    with pytest.raises(KaratError, match="names='other' is not one of canonical, asked"):
        asked.plot(names="other")  # type: ignore[arg-type]


def test_groups_of_a_comparison_show_their_differences_and_means(comparison: Comparison) -> None:
    slices = comparison.slices("relevant")
    _, system = comparison.pairs()[0]
    found = records(slices.plot("differences", "AP", system=system))
    expected = [each.row("AP", system) for each in (*slices.groups.values(), comparison)]
    assert [row["difference"] for row in found] == pytest.approx([row.difference for row in expected])
    assert [row["low"] for row in found] == pytest.approx([row.difference_low for row in expected])
    assert found[-1]["group"] == "all (50)"
    compiles(slices.plot().to_dict())
    means = records(slices.plot("slices", "AP"))
    assert len(means) == len(slices.groups) * len(comparison.systems)
    of_scores = records(comparison.plot("slices", "AP", by="relevant"))
    assert {(row["group"], row["system"], row["mean"]) for row in means} == {
        (row["group"], row["system"], row["mean"]) for row in of_scores
    }
    with pytest.raises(KaratError, match="'pie' is not a kind of plot of groups"):
        slices.plot("pie")
    with pytest.raises(KaratError, match="is not a kind of plot of groups"):
        slices.plot(np.array(["differences", "slices"]))  # type: ignore[arg-type]


def test_names_are_texts_whatever_they_contain(systems: SystemScores) -> None:
    hostile = "{b}</script><b onclick='alert(1)'>\u202e\x00\"'\ufffe\ud800\\"
    two = SystemScores({hostile: systems["bm25"], "🥇" * 10_000: systems["overlap"]})
    for kind in KINDS:
        svg = compiles(two.plot(kind, by=dict.fromkeys(systems["bm25"].queries, hostile)).to_dict())
        assert "<b " not in svg
        assert "\u202e" not in svg
        assert "{b}" in svg


def test_a_hundred_systems_can_be_drawn(systems: SystemScores) -> None:
    many = SystemScores({f"system {n}": systems["bm25"] for n in range(100)})
    assert {row["measure"] for row in records(many.plot())} == {"nDCG@10"}
    rows = records(many.plot("precision-recall"))
    assert len({row["system"] for row in rows}) == 100
    assert len({row["system"] for row in rows if row["emphasized"]}) == 7


def test_a_notebook_shows_the_table_and_the_differences(comparison: Comparison) -> None:
    html = comparison._repr_html_()
    table, _, rest = html.partition('<img alt="How bm25-rm3 differs from bm25 on nDCG@10: a bar per query')
    assert table == comparison.table().html()
    data = rest.partition('src="data:image/svg+xml;base64,')[2].removesuffix('">')
    assert b64decode(data, validate=True).startswith(b"<svg")


def test_a_notebook_shows_only_the_table_of_many_pairs_and_without_the_extra(
    systems: SystemScores, comparison: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = compare({f"s{n}": systems["bm25"] for n in range(5)}, measures="RR")
    assert many._repr_html_() == many.table().html()
    monkeypatch.setattr("karat.report.plots.pictures.find_spec", {}.get)
    assert comparison._repr_html_() == comparison.table().html()


def test_the_page_gets_checked_specifications_with_named_data(
    systems: SystemScores, comparison: Comparison, groups: dict[str, str]
) -> None:
    found = charts_for_page(systems, comparison, {"parity": groups})
    assert list(found) == list(KINDS)
    for kind, chart in found.items():
        assert chart["spec"]["data"] == {"name": "rows"}
        alt.LayerChart.from_dict(chart["spec"])  # which checks it
        assert (chart["rows"] is None) == (kind in ("differences", "scatter"))
        columns = chart["rows"] or {name: [] for name in chart["columns"]}
        assert list(columns) == chart["columns"]
        assert len({len(column) for column in columns.values()}) == 1
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        assert compiles({**chart["spec"], "width": 400, "datasets": {"rows": rows}})


def test_the_page_has_no_charts_that_cannot_be_drawn(systems: SystemScores) -> None:
    saved = {"bm25": systems["bm25"].without_evidence()}
    assert list(charts_for_page(saved)) == ["intervals"]
    latency = {"a": Scores(("q", "r"), {"latency": np.array([1.0, 2.0])})}
    assert list(charts_for_page(latency)) == ["intervals"]


def test_the_rows_of_the_page_are_those_of_the_plots(systems: SystemScores, groups: dict[str, str]) -> None:
    found = charts_for_page(systems, None, {"parity": groups})
    for kind in ("intervals", "cutoffs", "precision-recall", "first"):
        columns = found[kind]["rows"]
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        assert rows == records(systems.plot(kind))


def test_scores_that_were_evaluated_against_other_queries_are_not_compared(systems: SystemScores) -> None:
    fewer = replace(systems["bm25"].take([0, 1]), findings=())
    with pytest.raises(KaratError, match="the systems have different queries"):
        SystemScores({"all": systems["overlap"], "two": fewer}).plot("scatter")


def test_names_with_braces_and_equal_labels_are_not_mixed_up() -> None:
    names = ["{a}", "{measure}", "x\n", "x\\n", "x\\n (2)"]
    systems = SystemScores({name: Scores(("q", "r"), {"RR": np.array([0.5, 1.0])}) for name in names})
    spec = systems.plot("intervals").to_dict()
    labels = [row["system"] for row in spec["datasets"]["rows"]]
    assert len(set(labels)) == len(names)
    assert spec["layer"][0]["encoding"]["y"]["scale"]["domain"] == labels
    assert labels[:2] == ["{a}", "{measure}"]
