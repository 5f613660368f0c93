"""What was asked for is read back under the name that was asked, and exported under it where that is asked for."""

from __future__ import annotations

import copy
import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from karat import KaratError, Scores, SystemScores, evaluate, evaluate_answers, evaluate_results, evaluate_runs
from karat.measures import AP, P
from karat.registry.selection import Measures

TRUTH = {"q1": {"a": 2, "b": 1}, "q2": {"c": 2}}
RUN = {"q1": ["x", "a", "b"], "q2": ["c", "y"]}


def of(measures: Measures, **options: Any) -> Scores:
    return evaluate(TRUTH, RUN, measures, **options)


@pytest.mark.parametrize("name", ["map", "AP", "average_precision", "MAP", AP])
def test_a_score_is_found_by_every_name_of_its_measure(name: Any) -> None:
    scores = of(["map"], rel=2)
    assert scores.measures == ("AP(rel=2)",)
    assert scores[name] == scores["AP(rel=2)"] == 0.75
    assert scores.value_of("q1", name) == 0.5
    assert name in scores
    assert scores.only([name]).measures == scores.only(name).measures == ("AP(rel=2)",)
    assert scores.take([1])[name] == 1.0


def test_every_name_that_was_asked_for_is_known_and_the_canonical_ones_are_the_keys() -> None:
    scores = of(["P@1", P @ 1, "precision@1", "P_1"], rel=2)
    assert scores.asked == dict.fromkeys(["P@1", "precision@1", "P_1"], "P(rel=2)@1")
    assert dict(scores) == scores.means == {"P(rel=2)@1": 0.5}


def test_a_column_is_found_by_its_own_name_even_if_another_one_was_asked_for_by_it() -> None:
    scores = of(["AP(rel=1)", "AP"], rel=2)
    assert scores.measures == ("AP", "AP(rel=2)")
    assert dict(scores) == {"AP": scores["AP(rel=1)"], "AP(rel=2)": 0.75}
    assert scores.to_dict(names="asked")["means"] == {"AP(rel=1)": scores["AP"], "AP": 0.75}


def test_the_values_of_a_query_are_a_plain_dict_by_the_names_of_the_columns() -> None:
    scores = of(["map", "mrr"])
    assert type(scores.per_query["q2"]) is dict
    assert json.dumps(scores.per_query["q2"]) == '{"AP": 1.0, "RR": 1.0}'
    with pytest.raises(KaratError, match="these scores have no 'nDCG'"):
        scores.value_of("q2", "nDCG")
    with pytest.raises(KaratError, match=r"these scores have no query 'q21'\. Did you mean q"):
        scores.value_of("q21", "map")


def test_a_name_of_several_measures_selects_their_columns() -> None:
    scores = of("nDCG@1,5 AP")
    assert scores.only("ndcg_cut.1,5").measures == scores.only(["nDCG@1,5"]).measures == ("nDCG@1", "nDCG@5")
    with pytest.raises(KaratError, match="these scores have no 'nDCG@7'"):
        scores.only("nDCG@1,7")


@pytest.mark.parametrize("name", ["map", "AP", "AP(rel=2)", AP])
def test_bounds_are_of_the_measure_that_was_evaluated(name: Any) -> None:
    found = of("map", rel=2).bounds(name)
    assert (found.measure, found.mean) == ("AP(rel=2)", of("map").bounds("AP(rel=2)").mean)
    assert of("map", rel=2).bounds("RR").measure == "RR"  # it was not evaluated


@pytest.mark.parametrize("use", [Scores.__getitem__, Scores.column, Scores.nulls, Scores.interval, Scores.bounds])
def test_one_measure_is_never_silently_the_first_of_several(use: Callable[[Scores, str], Any]) -> None:
    with pytest.raises(KaratError, match="'nDCG@1,5' stands for 2 measures, but one is needed"):
        use(of("nDCG@1,5"), "nDCG@1,5")


def test_a_difference_is_of_one_measure() -> None:
    systems = evaluate_runs(TRUTH, {"one": RUN, "two": {"q1": ["a"], "q2": ["c"]}}, "nDCG@1,5")
    with pytest.raises(KaratError, match="stands for 2 measures, but one is needed"):
        systems.compare("one").diff("nDCG@1,5")
    assert systems.compare("one", measures="nDCG@1,5").measures == ("nDCG@1", "nDCG@5")


def test_the_name_of_a_column_may_contain_commas_and_spaces() -> None:
    values = {name: np.array([0.5, 1.0]) for name in ("answer relevancy", "cost, in EUR", "AP", "latency")}
    scores = Scores(("q1", "q2"), values)
    assert scores.only("cost, in EUR").measures == ("cost, in EUR",)
    assert scores.only(["answer relevancy", "latency, map"]).measures == ("answer relevancy", "latency", "AP")
    assert scores.only({"latency", "AP", "cost, in EUR"}).measures == ("AP", "cost, in EUR", "latency")
    with pytest.raises(KaratError, match="these scores have no 'answer length'"):
        scores.only(["answer length"])
    compared = SystemScores({"one": scores, "two": scores}).compare("one", measures=["cost, in EUR", "map"])
    assert compared.measures == ("cost, in EUR", "AP")


def test_a_name_that_means_two_columns_is_still_ambiguous() -> None:
    record = {"query": "q", "truth": ["a"], "retrieved": ["a"], "gold_answers": ["a"], "answer": "a"}
    scores = evaluate_results([record], ["F", "TokenF1"], match="content")
    with pytest.raises(KaratError, match=r"F1 is ambiguous: it can mean F or TokenF1\. Write F or TokenF1"):
        scores["F1"]
    assert evaluate_results([record], ["hit_rate", "squad_f1"], match="content").asked == {
        "hit_rate": "Success",
        "squad_f1": "TokenF1",
    }


def _first_cells(table: str, row: str) -> list[str]:
    return re.findall(row, table.replace("\\_", "_"), re.MULTILINE)


EXPORTS: dict[str, Callable[[Any, Any], list[str]]] = {
    "to_arrow": lambda scores, names: scores.to_arrow(names=names).column_names[1:],
    "to_pandas": lambda scores, names: list(scores.to_pandas(names=names).columns)[1:],
    "to_polars": lambda scores, names: scores.to_polars(names=names).columns[1:],
    "to_dict": lambda scores, names: list(scores.to_dict(names=names)["queries"][0])[1:],
    "to_json": lambda scores, names: list(json.loads(scores.to_json(names=names))["means"]),
    "to_csv": lambda scores, names: scores.to_csv(names=names).split("\n")[0].split(",")[1:],
    "to_markdown": lambda scores, names: _first_cells(scores.to_markdown(names=names), r"^\| (\S+) \| [\d.]+ \|$"),
    "to_latex": lambda scores, names: _first_cells(scores.to_latex(names=names), r"^(\S+) & [\d.]+ \\\\$"),
}


@pytest.mark.parametrize("export", EXPORTS)
def test_exports_have_canonical_names_unless_the_asked_ones_are_wanted(export: str) -> None:
    if export in ("to_pandas", "to_polars"):
        pytest.importorskip(export.removeprefix("to_"))
    scores = of(["map", "AP", "num_ret", "P_1"], rel=2)
    assert EXPORTS[export](scores, "canonical") == ["AP(rel=2)", "NumRet", "P(rel=2)@1"]
    assert EXPORTS[export](scores, "asked") == ["map", "num_ret", "P_1"]
    with pytest.raises(KaratError, match="names"):
        EXPORTS[export](scores, "given")


def test_tables_of_several_systems_have_the_asked_names_too() -> None:
    systems = evaluate_runs(TRUTH, {"one": RUN, "two": RUN}, ["map", "num_ret"], rel=2)
    assert systems.table(names="asked").header == ("run", "map", "num_ret")
    assert "| map " in systems.to_markdown(names="asked")
    assert systems.to_csv(names="asked").split("\n")[0] == "run,map,num_ret"
    assert systems.to_csv(names="asked", per_query=True).split("\n")[0] == "run,query,map,num_ret"
    assert systems.to_arrow(names="asked").column_names == ["run", "map", "num_ret"]
    assert list(systems.to_dict(names="asked")["runs"]["two"]["means"]) == ["map", "num_ret"]
    assert systems.only("map")["two"]["map"] == 0.75


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
@pytest.mark.parametrize("names", ["canonical", "asked"])
def test_loaded_scores_have_the_canonical_names_and_know_the_asked_ones(
    suffix: str, names: Any, tmp_path: Path
) -> None:
    scores = of(["map", "P@1", "AP(rel=1)", "AP"], rel=2)
    path = tmp_path / f"scores{suffix}"
    scores.save(path, names=names)
    loaded = Scores.load(path)
    assert loaded.means == scores.means
    assert loaded.asked == scores.asked
    assert loaded["map"] == 0.75
    systems = SystemScores({"one": scores, "two": scores})
    systems.save(path, names=names)
    assert SystemScores.load(path)["two"].means == scores.means


def test_scores_without_other_names_are_saved_without_them_and_damaged_names_are_an_error(tmp_path: Path) -> None:
    assert "asked" not in of(["AP", "P@1"]).to_dict()
    path = tmp_path / "scores.json"
    wrong: list[Any] = [[], {"map": 1}, "map"]
    for damaged in wrong:
        path.write_text(json.dumps({**of(["map"]).to_dict(), "asked": damaged}))
        with pytest.raises(KaratError, match="names of its measures are damaged"):
            Scores.load(path)


def test_a_column_of_a_file_is_found_by_the_canonical_name_of_its_measure(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(of(["map", "P_1"]).to_csv(names="asked"))
    loaded = Scores.load(path)
    assert loaded.measures == ("map", "P_1")
    assert loaded["AP"] == loaded["map"]
    assert loaded["P@1"] == 0.5


def test_pickled_and_copied_scores_know_the_asked_names() -> None:
    scores = of(["map"], rel=2)
    assert scores.per_query
    for other in (pickle.loads(pickle.dumps(scores)), copy.copy(scores), copy.deepcopy(scores)):
        assert other["map"] == 0.75
        assert other.value_of("q1", "map") == 0.5


def test_answer_measures_are_read_back_by_the_asked_name() -> None:
    scores = evaluate_answers({"q": "x y"}, {"q": "x"}, ["squad_f1", "exact_match"])
    assert scores["squad_f1"] == scores.value_of("q", "squad_f1") == pytest.approx(2 / 3)
    assert list(scores.to_dict(names="asked")["means"]) == ["squad_f1", "exact_match"]
