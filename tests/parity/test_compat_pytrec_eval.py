"""karat.compat.pytrec_eval returns what pytrec_eval returns: the same dictionaries, to the last bit and in its order.

The same calls run against the real package, where it is installed for this machine.
"""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest

import karat.compat.pytrec_eval as ours
from tests.parity.peers import Run, in_pytrec_eval
from tests.parity.peers import Truth as Qrel

FOLDER = Path(__file__).parents[3] / "shared" / "conformance" / "trec_eval"

WITHOUT_NUMBER = {"runid", "relstring"}
PARAMETERS = (
    "P_5", "P.1,2,3", "P_10", "recall_5.0", "ndcg_cut_5", "ndcg_cut.5,10", "ndcg_cut_23.4", "map_cut_2,7", "success_3",
    "relative_P.2", "iprec_at_recall_0.10", "iprec_at_recall.0.333,0.75", "Rprec_mult_0.35,5.0", "set_F_0.7",
    "utility_3,0.5,1,2", "11pt_avg_0.25,0.5,0.99", "11pt_avg.0.1", "map_5", "num_ret.3", "P_5x",
)  # fmt: skip


def assert_same(mine: dict[str, dict[str, float]], other: dict[str, dict[str, float]], text: str = "") -> None:
    """Assert that dictionaries are equal with their order, and name the first value that is not."""
    assert list(mine) == list(other), text
    for query, values in other.items():
        assert list(mine[query]) == list(values), text
        for name, value in values.items():
            assert type(mine[query][name]) is float
            assert mine[query][name] == value, f"{text} {query} {name}"


def random_case(seed: int) -> tuple[Qrel, Run, set[str], int, bool]:
    """Ground truth with negative grades, and a run with ties, equal float32 scores, unjudged documents and queries."""
    rng = random.Random(seed)
    letters = ["d", "Ä", "文書", "🜚", "ﬁ"]
    qrel: Qrel = {}
    run: Run = {}
    for number in range(rng.choice([1, 3, 12])):
        query = f"{rng.choice(['q', '問'])}{number}"
        docs = [f"{rng.choice(letters)}{at}" for at in range(rng.choice([1, 4, 30, 200]))]
        grades = [-2, -1, 0, 0, 1, 1, 2, 3, rng.randint(0, 60)]
        judged = rng.sample(docs, rng.randint(1, len(docs)))
        # Of a query with negative grades only, trec_eval reads other memory.
        qrel[query] = {doc: rng.choice(grades) for doc in judged} | {"judged": 0}
        highest = rng.choice([4, 1000])
        scores = [rng.randint(-2, highest) / 4 * (1 + rng.choice([0, 0, 1e-9])) for _ in docs]
        run[query] = dict(zip(rng.sample(docs, rng.randint(1, len(docs))), scores, strict=False))
    # A run that has no documents for a query leaves the values of the one before in trec_eval's memory, if it has any.
    run["nothing"] = {}
    run["unjudged query"] = {"d0": 1.0}
    qrel["missing query"] = {"d0": 1}
    if rng.random() < 0.5:
        qrel["nothing"] = {"d0": 1, "d1": 0}
    measures = set(ours.supported_measures) - {"runid"}
    if seed % 2:
        measures |= set(rng.sample(PARAMETERS, 6))
    # With judged documents only, trec_eval divides by zero where none is left.
    return qrel, run, measures, rng.choice([1, 1, 2, 3]), seed % 3 == 0


@pytest.mark.parametrize("part", range(4))
def test_the_dictionaries_are_equal_to_the_last_bit_and_in_the_same_order(part: int) -> None:
    cases = {seed: random_case(seed) for seed in range(part * 40, part * 40 + 40)}

    def work(module: Any) -> Any:
        return {
            seed: module.RelevanceEvaluator(qrel, measures, level, judged_docs_only_flag=only).evaluate(run)
            for seed, (qrel, run, measures, level, only) in cases.items()
        }

    for (seed, other), mine in zip(in_pytrec_eval(work).items(), work(ours).values(), strict=True):
        for query, values in other.items():
            for name, value in values.items():
                if math.isnan(value):
                    assert mine[query][name] == 0, name
                    values[name] = 0.0
        assert_same(mine, other, f"seed {seed}:")


def test_deep_runs_agree() -> None:
    docs = [f"d{number}" for number in range(20_000)]
    rng = random.Random(7)
    qrel = {"q": {doc: rng.choice([0, 1, 1, 2, 7]) for doc in rng.sample(docs, 8000)}}
    run = {"q": {doc: rng.random() for doc in docs}}

    def work(module: Any) -> Any:
        return module.RelevanceEvaluator(qrel, module.supported_measures - WITHOUT_NUMBER).evaluate(run)

    assert_same(work(ours), in_pytrec_eval(work))


@pytest.mark.parametrize(
    "name", [*sorted(ours.supported_measures - {"runid"}), *PARAMETERS, "set_F_0", "official", "set", "all_trec"]
)
def test_every_measure_and_every_form_of_parameters_gives_the_same_names_and_values(name: str) -> None:
    qrel = {"q1": {"d1": 1, "d2": 0, "d4": 2}, "q2": {"d1": 2}}
    run = {"q1": {"d1": 1.0, "d3": 2.0, "d2": 1.5, "d4": 0.25}, "q2": {"d1": 1.0}}

    def work(module: Any) -> Any:
        return module.RelevanceEvaluator(qrel, {name}).evaluate(run)

    assert_same(work(ours), in_pytrec_eval(work))


def test_the_names_of_measures_and_of_their_sets_are_the_same() -> None:
    assert ours.supported_measures == in_pytrec_eval(lambda module: module.supported_measures)
    assert ours.supported_nicknames == in_pytrec_eval(lambda module: module.supported_nicknames)


# The calls of pytrec_eval's own tests.


@pytest.mark.parametrize(
    ("scores", "value"),
    [({"d1": 1.0, "d2": 0.0, "d3": 1.5}, 0.5), ({"d1": 1.0, "d2": 2.0, "d3": 1.5}, 1.0),
     ({"d1": 4.0, "d2": 2.0, "d3": 1.5}, 0.6309297535714575)],
)  # fmt: skip
@pytest.mark.parametrize("module", ["karat.compat.pytrec_eval", "pytrec_eval"])
def test_ndcg_of_a_document_at_each_rank(module: str, scores: dict[str, float], value: float) -> None:
    qrel = {"q1": {"d1": 0, "d2": 1, "d3": 0}, "q2": {"d2": 1, "d3": 1}}
    evaluator = pytest.importorskip(module).RelevanceEvaluator(qrel, {"map", "ndcg"})
    for run in ({"q1": scores}, {"q1": scores, "q2": {}}):
        assert evaluator.evaluate(run)["q1"]["ndcg"] == pytest.approx(value)


@pytest.mark.parametrize("module", ["karat.compat.pytrec_eval", "pytrec_eval"])
def test_cut_offs_of_ndcg(module: str) -> None:
    qrel = {"q1": {"d1": 0, "d2": 1, "d3": 0}, "q2": {"d2": 1, "d3": 1}}
    pytrec_eval = pytest.importorskip(module)
    low, high = {"q1": {"d1": 1.0, "d2": 0.0, "d3": 1.5}, "q2": {}}, {"q1": {"d1": 1.0, "d2": 2.0, "d3": 1.5}, "q2": {}}
    assert pytrec_eval.RelevanceEvaluator(qrel, {"ndcg_cut.3"}).evaluate(low)["q1"] == {"ndcg_cut_3": 0.5}
    assert pytrec_eval.RelevanceEvaluator(qrel, {"ndcg_cut.1"}).evaluate(high)["q1"] == {"ndcg_cut_1": 1.0}
    several = pytrec_eval.RelevanceEvaluator(qrel, {"ndcg_cut.1,2,3,1000"}).evaluate(low)["q1"]
    assert list(several.items()) == [("ndcg_cut_1", 0), ("ndcg_cut_2", 0), ("ndcg_cut_3", 0.5), ("ndcg_cut_1000", 0.5)]


@pytest.mark.parametrize("module", ["karat.compat.pytrec_eval", "pytrec_eval"])
def test_sets_of_measures_have_the_measures_of_trec_eval(module: str) -> None:
    pytrec_eval = pytest.importorskip(module)

    def names(*measures: str) -> set[str]:
        evaluator = pytrec_eval.RelevanceEvaluator({"q1": {"d2": 1}}, set(measures))
        return set(evaluator.evaluate({"q1": {}, "q2": {}})["q1"])

    assert len(names("all_trec")) == 95
    assert len(names("official")) == 30
    assert names("set") == pytrec_eval.supported_nicknames["set"]
    assert names("official", "set", "ndcg") == names("official") | names("set") | {"ndcg"}


@pytest.mark.parametrize(
    ("qrels", "output", "level"), [("qrels.test", "out.test", 1), ("qrels.rel_level", "out.test.aql", 2)]
)
def test_means_of_files_are_those_of_trec_eval(qrels: str, output: str, level: int) -> None:
    if not FOLDER.exists():
        pytest.skip("trec_eval's test data is not next to the repository (../shared/conformance/trec_eval)")
    with (FOLDER / qrels).open() as judged, (FOLDER / "results.test").open() as retrieved:
        qrel, run = ours.parse_qrel(judged), ours.parse_run(retrieved)
    lines = [line.split() for line in (FOLDER / output).read_text().splitlines()]
    expected = {name: value for name, query, value in lines if query == "all"}
    values = ours.RelevanceEvaluator(qrel, {"all_trec"}, level).evaluate(run)
    # The output is that of trec_eval 10, in which interpolated precision has another cut-off.
    same = {name for name in values["301"] if name not in WITHOUT_NUMBER and not name.startswith(("iprec", "11pt"))}
    for name in expected.keys() & same:
        mean = ours.compute_aggregated_measure(name, [of_query[name] for of_query in values.values()])
        assert mean == pytest.approx(float(expected[name]), abs=0.00006), name


# The calls of BEIR.


def test_beir_returns_the_same_means() -> None:
    rng = random.Random(5)
    docs = [f"d{number}" for number in range(300)]
    qrels = {f"q{at}": {doc: rng.choice([0, 1, 2]) for doc in rng.sample(docs, 5)} for at in range(100)}
    results = {f"q{at}": {doc: rng.random() for doc in rng.sample(docs, 120)} for at in range(10, 105)}

    def work(module: Any) -> Any:
        return means_of_beir(module, qrels, results, [1, 3, 5, 10, 100, 1000])

    assert work(ours) == in_pytrec_eval(work)


def means_of_beir(module: Any, qrels: Qrel, results: Run, k_values: list[int]) -> dict[str, float]:
    """The means that `EvaluateRetrieval.evaluate` of BEIR computes from the values of pytrec_eval."""
    families = {"NDCG": "ndcg_cut", "MAP": "map_cut", "Recall": "recall", "P": "P"}
    measures = {f"{name}.{','.join(map(str, k_values))}" for name in families.values()}
    scores = module.RelevanceEvaluator(qrels, measures).evaluate(results)
    means: dict[str, float] = {}
    for title, name in families.items():
        for k in k_values:
            total = 0.0
            for query_id in scores:
                total += scores[query_id][f"{name}_{k}"]
            means[f"{title}@{k}"] = round(total / len(scores), 5)
    return means
