"""SystemScores: the scores of several systems as a mapping, as a table, in data frames and in files."""

from __future__ import annotations

import copy
import csv
import io
import json
import math
import pickle
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from karat import KaratError, Scores, SystemScores, compare, evaluate, evaluate_runs
from karat.cli import demo_data as demo

MEASURES = ["nDCG@10", "RR"]


@pytest.fixture(scope="module")
def systems() -> SystemScores:
    return evaluate_runs(demo.TRUTH, demo.runs(), MEASURES)


def same(one: Mapping[str, Scores], other: Mapping[str, Scores]) -> bool:
    return list(one) == list(other) and all(
        one[name].queries == other[name].queries
        and list(one[name].values) == list(other[name].values)
        and all(
            np.array_equal(column, other[name].values[measure], equal_nan=True)
            for measure, column in one[name].values.items()
        )
        for name in one
    )


# A mapping


def test_several_runs_are_a_mapping_by_name(systems: SystemScores) -> None:
    assert isinstance(systems, Mapping)
    assert list(systems) == list(demo.runs())
    assert len(systems) == 3
    assert "bm25" in systems
    assert "BM25" not in systems
    assert systems.get("BM25") is None
    assert dict(systems) == systems
    assert dict(systems)["bm25"] is systems["bm25"]
    assert systems["bm25"]["RR"] == evaluate(demo.TRUTH, demo.runs()["bm25"], "RR")["RR"]
    with pytest.raises(KeyError, match="Did you mean bm25"):
        systems["BM25"]


def test_systems_that_are_not_scores_by_name_are_rejected(systems: SystemScores) -> None:
    for wrong, problem in (
        ([systems["bm25"]], "not a mapping"),
        ({"bm25": {"RR": 1}}, "bm25: .* is not a Scores object"),
        ({1: systems["bm25"]}, "1 is not a system name"),
        ({}, "no systems"),
    ):
        with pytest.raises(KaratError, match=problem):
            SystemScores(wrong)  # type: ignore[arg-type]


def test_some_measures_of_all_systems_can_be_chosen(systems: SystemScores) -> None:
    assert systems.measures == ("nDCG@10", "RR")
    assert systems.only(["mrr"]).measures == ("RR",)
    assert systems.means["bm25"] == systems["bm25"].means


def test_the_comparison_is_that_of_compare(systems: SystemScores) -> None:
    found = systems.compare("bm25", measures="RR", permutations=9, resamples=9)
    expected = compare(systems, "bm25", measures="RR", permutations=9, resamples=9)
    assert found.to_dict() == expected.to_dict()


def test_copies_and_pickles_have_the_same_scores(systems: SystemScores) -> None:
    for other in (copy.copy(systems), copy.deepcopy(systems), pickle.loads(pickle.dumps(systems))):
        assert isinstance(other, SystemScores)
        assert same(other, systems)


# Tables


def test_printed_systems_are_a_table_with_a_row_each(systems: SystemScores) -> None:
    lines = str(systems).splitlines()
    assert lines[0].split() == ["run", "nDCG@10", "RR"]
    assert [line.split()[0] for line in lines[2:5]] == list(systems)
    assert f"{systems['bm25']['RR']:.4f}" in lines[3]
    assert "50 queries" in str(systems)
    assert repr(systems) == "<SystemScores of overlap, bm25, bm25-rm3: nDCG@10, RR>"


def test_a_notebook_shows_an_escaped_table(systems: SystemScores) -> None:
    html = SystemScores({"<script>": systems["bm25"], "b": systems["overlap"]})._repr_html_()
    assert "<table>" in html
    assert "<script>" not in html


def test_documents_get_the_same_table_as_markdown_and_latex(systems: SystemScores, tmp_path: Path) -> None:
    latex, markdown = systems.to_latex(tmp_path / "t.tex"), systems.to_markdown(tmp_path / "t.md")
    assert (tmp_path / "t.tex").read_text("utf-8") == latex
    assert (tmp_path / "t.md").read_text("utf-8") == markdown
    best = f"{systems['bm25-rm3']['nDCG@10']:.4f}"
    assert rf"bm25-rm3 & \textbf{{{best}}}" in latex
    assert f"| bm25-rm3 | **{best}**\\*" in markdown
    assert r"\begin{tabular}{lr}" in systems["bm25"].to_latex()
    assert systems["bm25"].to_markdown().startswith("| measure | bm25 |")


def test_tables_have_as_many_decimals_as_asked_for(systems: SystemScores) -> None:
    best = systems["bm25-rm3"]["nDCG@10"]
    assert rf"\textbf{{{best:.2f}}}" in systems.to_latex(digits=2)
    assert f"**{best:.6f}**" in systems.to_markdown(digits=6)
    assert f"{best:.0f}" in systems["bm25-rm3"].table(digits=0).text()
    for wrong in (-1, 16, 2.5, True):
        with pytest.raises(KaratError, match=f"digits={wrong} is not a number of decimals. Use 0 to 15"):
            systems.to_latex(digits=wrong)  # type: ignore[arg-type]


def test_systems_are_sorted_by_a_measure_with_the_best_first(systems: SystemScores) -> None:
    assert list(systems.sorted("mrr")) == ["bm25-rm3", "bm25", "overlap"]
    part = SystemScores({"none": systems["bm25"].only(["RR"]), **systems})
    assert list(part.sorted("nDCG@10")) == ["bm25-rm3", "bm25", "overlap", "none"]
    unjudged = {"much": {"q": ["x", "y"]}, "little": {"q": ["a", "x"]}}
    assert list(evaluate_runs({"q": {"a": 1}}, unjudged, "Unjudged@2").sorted("Unjudged@2")) == ["little", "much"]
    with pytest.raises(KaratError, match="no 'AP'"):
        systems.sorted("AP")


# Data frames


def test_data_frames_have_a_row_per_system_or_per_system_and_query(systems: SystemScores) -> None:
    frame = systems.to_pandas()
    assert list(frame.columns) == ["run", "nDCG@10", "RR"]
    assert frame.set_index("run")["RR"].to_dict() == {name: scores["RR"] for name, scores in systems.items()}
    rows = systems.to_polars(per_query=True)
    assert rows.columns == ["run", "query", "nDCG@10", "RR"]
    assert len(rows) == 150
    assert systems.to_arrow(per_query=True)["run"].to_pylist()[50] == "bm25"
    assert systems.to_arrow().num_rows == systems.to_polars().height == 3


def test_a_measure_that_a_system_lacks_is_null(systems: SystemScores) -> None:
    mixed = SystemScores({"one": systems["bm25"].only(["RR"]), "two": systems["bm25"].only(["nDCG@10"])})
    assert mixed.measures == ("RR", "nDCG@10")
    assert mixed.to_arrow()["nDCG@10"].to_pylist() == [None, systems["bm25"]["nDCG@10"]]
    assert "–" in str(mixed)


def test_csv_has_the_means_or_the_values_of_every_query(systems: SystemScores, tmp_path: Path) -> None:
    means = list(csv.DictReader(io.StringIO(systems.to_csv(tmp_path / "means.csv"))))
    assert [(row["run"], float(row["RR"])) for row in means] == [(name, each["RR"]) for name, each in systems.items()]
    rows = list(csv.DictReader(io.StringIO(systems.to_csv(per_query=True))))
    assert len(rows) == 150
    with pytest.raises(KaratError, match=r"table of means.*`save` in Python"):
        SystemScores.load(tmp_path / "means.csv")


def test_a_measure_with_the_name_of_another_column_cannot_be_exported() -> None:
    scores = Scores(("q",), {"query": np.array([1.0])})
    with pytest.raises(KaratError, match="a measure is called query"):
        scores.to_csv()
    with pytest.raises(KaratError, match="a measure is called query"):
        scores.to_json()
    with pytest.raises(KaratError, match="a measure is called run"):
        SystemScores({"a": Scores(("q",), {"run": np.array([1.0])})}).to_pandas()


# Files


@pytest.mark.parametrize("suffix", [".json", ".csv", ".parquet"])
def test_systems_loaded_from_a_file_are_identical_to_the_last_bit(
    systems: SystemScores, tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"runs{suffix}"
    systems.save(path)
    back = SystemScores.load(path)
    assert same(back, systems)
    assert [scores.name for scores in back.values()] == list(systems)
    if suffix != ".csv":
        assert back.to_dict() == systems.to_dict()
    with pytest.raises(
        KaratError, match=r"scores of several systems: overlap, bm25 and bm25-rm3. Use SystemScores.load"
    ):
        Scores.load(path)


@pytest.mark.parametrize("suffix", [".json", ".csv", ".parquet"])
def test_one_system_is_read_by_both(systems: SystemScores, tmp_path: Path, suffix: str) -> None:
    systems["bm25"].save(tmp_path / f"mine{suffix}")
    name = "mine" if suffix == ".csv" else "bm25"
    assert same(SystemScores.load(tmp_path / f"mine{suffix}"), {name: systems["bm25"]})
    SystemScores({"bm25": systems["bm25"]}).save(tmp_path / f"one{suffix}")
    assert same({"bm25": Scores.load(tmp_path / f"one{suffix}")}, {"bm25": systems["bm25"]})


def test_a_file_of_another_kind_is_refused(systems: SystemScores, tmp_path: Path) -> None:
    for name in ("scores.md", "scores", "scores.xlsx"):
        with pytest.raises(KaratError, match=r"\.json, \.csv or \.parquet"):
            systems.save(tmp_path / name)
        assert not (tmp_path / name).exists()


def test_systems_with_other_measures_keep_them_in_json_and_parquet(systems: SystemScores, tmp_path: Path) -> None:
    mixed = SystemScores({"one": systems["bm25"].only(["RR"]), "two": systems["bm25"].only(["nDCG@10"])})
    for suffix in (".json", ".parquet"):
        mixed.save(tmp_path / f"mixed{suffix}")
        assert same(SystemScores.load(tmp_path / f"mixed{suffix}"), mixed)
    mixed.save(tmp_path / "mixed.csv")
    assert SystemScores.load(tmp_path / "mixed.csv")["one"].nulls("nDCG@10") == 50


names = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
values = st.one_of(st.floats(-1e300, 1e300), st.just(math.nan))  # larger ones are refused


@st.composite
def any_systems(draw: st.DrawFn) -> SystemScores:
    measures = draw(
        st.lists(names.filter(lambda name: name not in ("run", "query")), min_size=1, max_size=3, unique=True)
    )
    found = {}
    for name in draw(st.lists(names.filter(bool), min_size=1, max_size=3, unique=True)):
        queries = draw(st.lists(names, max_size=3, unique=True))
        columns = {measure: np.array([draw(values) for _ in queries], np.float64) for measure in measures}
        found[name] = Scores(tuple(queries), columns, name=name)
    return SystemScores(found)


@given(any_systems(), st.sampled_from([".json", ".parquet"]))
def test_any_names_and_values_can_be_saved_and_loaded(
    tmp_path_factory: pytest.TempPathFactory, systems: SystemScores, suffix: str
) -> None:
    path = tmp_path_factory.mktemp("systems") / f"s{suffix}"
    systems.save(path)
    assert same(SystemScores.load(path), systems)
    first = next(iter(systems.values()))
    first.save(path)
    assert same({"": Scores.load(path)}, {"": first})


@given(any_systems())
def test_any_names_and_values_can_be_saved_as_csv(
    tmp_path_factory: pytest.TempPathFactory, systems: SystemScores
) -> None:
    assume(all(scores.queries for scores in systems.values()) and "" not in systems.measures)
    path = tmp_path_factory.mktemp("systems") / "s.csv"
    systems.save(path)
    assert same(SystemScores.load(path), systems)


def test_a_tab_in_the_name_of_a_measure_does_not_separate_columns(tmp_path: Path) -> None:
    systems = SystemScores({'"': Scores(("",), {"\t0": np.array([0.0])}, name='"')})
    systems.save(tmp_path / "s.csv")
    assert same(SystemScores.load(tmp_path / "s.csv"), systems)


def test_a_lone_surrogate_is_saved_as_json_and_refused_by_parquet(tmp_path: Path) -> None:
    scores = Scores(("\ud800",), {"AP": np.array([0.5])}, name="\udfff")
    scores.save(tmp_path / "s.json")
    assert same({"": Scores.load(tmp_path / "s.json")}, {"": scores})
    with pytest.raises(KaratError, match=r"not valid Unicode.*Use to_json"):
        scores.save(tmp_path / "s.parquet")
    assert not (tmp_path / "s.parquet").exists()


def test_json_is_one_object_by_name(systems: SystemScores) -> None:
    data = json.loads(systems.to_json())
    assert list(data) == ["runs"]
    assert data["runs"]["bm25"] == systems["bm25"].to_dict()
