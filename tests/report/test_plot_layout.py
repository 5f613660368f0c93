"""The layout of plots: as wide as a column whatever the names, with shared scales, and labels at their ticks."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat import Scores, SystemScores, compare, evaluate_runs
from karat.cli import demo_data as demo
from karat.report.plots.kinds import KINDS
from karat.report.plots.pictures import picture

SVG = "{http://www.w3.org/2000/svg}"
LONG = "a very long name of a system, which has sixty characters: 60"
NAMES = {
    "short": ["overlap", "bm25", "bm25-rm3"],
    "long": [LONG, "bm25", "Größe 日本語の検索システム"],
    "wide": [f"{number} {'W' * 58}" for number in range(6)],
    "twelve": [f"{'system ' * (number % 4 + 1)}{number} é" for number in range(12)],
}


@pytest.fixture(scope="module")
def demo_scores() -> SystemScores:
    return evaluate_runs(demo.TRUTH, demo.runs(), ["nDCG@10", "AP", "DCG@10", "DCG@5"])


def named(scores: SystemScores, names: list[str]) -> SystemScores:
    values = list(scores.values())
    return SystemScores({name: values[at % len(values)] for at, name in enumerate(names)})


def plots(systems: SystemScores) -> Iterator[tuple[str, dict[str, Any]]]:
    """The specification of each kind of plot; six systems are compared with the first one."""
    groups = {query: f"{'group ' * (at % 5)}{at % 3}" for at, query in enumerate(next(iter(systems.values())).queries)}
    some = SystemScores(dict(list(systems.items())[:6]))
    for kind, each in KINDS.items():
        yield kind, (some if each.needs == "two systems" else systems).plot(kind, by=groups).to_dict()
    few = SystemScores(dict(list(systems.items())[:3]))
    yield "groups", compare(few, permutations=10).slices(groups).plot().to_dict()


def inches(data: bytes, form: str) -> float:
    """The width of a file."""
    if form == "png":
        return float(struct.unpack(">I", data[16:20])[0] / 300)
    pattern, per_inch = {"svg": (rb'width="([\d.]+)"', 96), "pdf": (rb"/MediaBox ?\[0 0 ([\d.]+)", 72)}[form]
    found = re.search(pattern, data)
    assert found
    return float(found[1]) / per_inch


@pytest.mark.parametrize("names", NAMES)
def test_every_plot_is_as_wide_as_a_column(names: str, demo_scores: SystemScores) -> None:
    for kind, spec in plots(named(demo_scores, NAMES[names])):
        for form in ("svg", "png", "pdf") if names == "long" else ("svg",):
            assert inches(picture(spec, form), form) == pytest.approx(3.3, abs=0.005), f"{kind} as {form}"


@pytest.mark.parametrize("scale", [1e-300, 1e-5, 1.0, 1e6, 1e12, 1e100])
def test_names_of_measures_and_large_numbers_do_not_change_the_width(scale: float) -> None:
    chance = np.random.default_rng(7)
    queries = tuple(f"q{at}" for at in range(30))
    columns = {"the time of the whole pipeline in milliseconds, at most": scale, "P@10": 1.0}
    systems = {
        name: Scores(queries, {measure: size * chance.random(30) for measure, size in columns.items()})
        for name in ("one", "two", LONG)
    }
    for kind in ("intervals", "differences", "scatter"):
        svg = picture(SystemScores(systems).plot(kind).to_dict(), "svg")
        assert inches(svg, "svg") == pytest.approx(3.3, abs=0.005), kind


TEXTS = st.text('aiW é金{}"\\', min_size=1, max_size=80)  # Vega takes long for characters that no font has


@settings(max_examples=8, deadline=None)
@given(names=st.lists(TEXTS, min_size=3, max_size=4, unique=True), measure=TEXTS)
def test_no_name_changes_the_width(names: list[str], measure: str) -> None:
    values = (np.array([0.25, 1.0, 0.5]), np.array([0.5, 0.25, 0.0]))
    scores = [Scores(("q1", "q2", "q3"), {measure: value}) for value in values]
    systems = SystemScores({name: scores[at % 2] for at, name in enumerate(names)})
    for kind in ("intervals", "differences", "scatter"):
        svg = picture(systems.plot(kind).to_dict(), "svg")
        assert inches(svg, "svg") == pytest.approx(3.3, abs=0.005)


def test_long_names_that_begin_alike_are_told_apart_and_tooltips_have_them_whole(demo_scores: SystemScores) -> None:
    names = [f"the same long beginning of all, then {number} and the same end" for number in range(4)]
    for kind, spec in plots(named(demo_scores, names + NAMES["twelve"][:3])):
        if kind not in ("differences", "scatter", "groups"):
            root = ElementTree.fromstring(picture(spec, "svg").decode())
            axis = "role-legend-label" if kind in ("cutoffs", "precision-recall", "slices") else "role-axis-label"
            texts = [text.text for group in groups_of(root, axis) for text in group.iter(f"{SVG}text")]
            shown = [text for text in texts if text and text.startswith("the")]
            panels = max(1, len(spec.get("concat", ())) if kind == "intervals" else 1)
            assert (kind, len(set(shown))) == (kind, len(shown) / panels)
            assert len(set(shown)) == 4
            rows = [row for data in spec["datasets"].values() for row in data]
            assert set(names) < {row["system"] for row in rows}


def domains(spec: dict[str, Any], channel: str) -> list[list[float]]:
    """The domain of an axis in each panel, which is the same in all its layers."""
    found = []
    for panel in spec["concat"]:
        channels = [layer["encoding"][channel] for layer in panel["layer"] if channel in layer["encoding"]]
        each = [channel["scale"]["domain"] for channel in channels if "value" not in channel]
        assert all(domain == each[0] for domain in each)
        found.append(each[0])
    return found


@pytest.mark.parametrize(
    ("kind", "channel"), [("differences", "y"), ("scatter", "x"), ("scatter", "y"), ("cutoffs", "x"), ("cutoffs", "y")]
)
def test_panels_share_their_scale(kind: str, channel: str, demo_scores: SystemScores) -> None:
    spec = demo_scores.plot(kind).to_dict()
    found = domains(spec, channel)
    assert len(found) == len(spec["concat"]) > 1
    assert all(domain == found[0] for domain in found)
    if kind != "cutoffs":
        rows = [row for data in spec["datasets"].values() for row in data]
        columns = ("difference",) if kind == "differences" else ("a", "b")
        values = [row[column] for row in rows for column in columns]
        assert found[0] == [min(0, *values), max(0, *values)]


def test_groups_of_several_pairs_share_their_scale(demo_scores: SystemScores) -> None:
    spec = compare(demo_scores, permutations=10).slices("relevant").plot().to_dict()
    found = domains(spec, "x")
    assert len(found) == 3
    assert found[0] == found[1] == found[2]
    assert found[0][0] < 0 < found[0][1]


def test_measures_share_a_scale_if_their_values_are_shares_or_differ_only_in_the_cutoff(
    demo_scores: SystemScores,
) -> None:
    spec = demo_scores.plot("intervals").to_dict()
    ndcg, ap, dcg_10, dcg_5 = domains(spec, "x")
    assert ndcg == ap
    assert dcg_10 == dcg_5 != ndcg
    rows = [row for data in spec["datasets"].values() for row in data]
    ends = [row[end] for row in rows if row["measure"].startswith("DCG") for end in ("low", "high")]
    assert dcg_5 == [min(ends), max(ends)]


def groups_of(root: ElementTree.Element, role: str) -> list[ElementTree.Element]:
    return [group for group in root.iter(f"{SVG}g") if role in group.get("class", "").split()]


def places(group: ElementTree.Element, at: int) -> list[float]:
    """Where the visible marks of a group are: left to right, or top to bottom."""
    marks = [mark for mark in group if mark.get("opacity") != "0"]
    return [float(re.findall(r"-?[\d.]+", mark.get("transform", ""))[at]) for mark in marks]


@pytest.mark.parametrize("names", ["short", "long"])
def test_every_label_of_an_axis_is_in_the_middle_of_its_tick(names: str, demo_scores: SystemScores) -> None:
    for kind, spec in plots(named(demo_scores, NAMES[names])):
        root = ElementTree.fromstring(picture(spec, "svg").decode())
        axes = [axis for axis in groups_of(root, "role-axis") if groups_of(axis, "role-axis-label")]
        assert axes
        for axis in axes:
            (labels,) = groups_of(axis, "role-axis-label")
            texts = labels.findall(f"{SVG}text")
            is_horizontal = texts[0].get("text-anchor") != "end"
            if is_horizontal:
                assert (kind, {text.get("text-anchor") for text in texts}) == (kind, {"middle"})
            ticks = groups_of(axis, "role-axis-tick")
            if ticks:
                at = 0 if is_horizontal else 1
                baseline = 0 if is_horizontal else 3  # of a text of 8 points, below its middle
                where = places(ticks[0], at)
                for place in places(labels, at):
                    assert min(abs(place - baseline - tick) for tick in where) <= 1
                assert len(places(labels, at)) == len(where)
