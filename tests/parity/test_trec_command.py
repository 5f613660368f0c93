"""`karat trec` prints what trec_eval prints: version 10 on its own test data, version 9 on random data."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random

import pytest

from karat.compat.measures import OF_VERSION_9
from karat.compat.trec_eval import TrecOptions, run_trec_eval
from karat.registry.trec_eval_names import TEXTS
from tests.end_to_end.in_process import run_here
from tests.parity.peers import Run, Truth, trec_eval

WITH_PARAMETERS = (
    "-q -miprec_at_recall..10,.20,.25,.75,.50 -m P.5,7,3 -m recall.20,2000 -m Rprec_mult.5.0,0.2,0.35"
    " -mutility.2,-1,0,0 -m 11pt_avg..25,.5,.75 -mndcg.1=3,2=9,4=4.5 -mndcg_cut.10,20,23.4 -msuccess.2,5,20"
)
CASES = [
    ("qrels.test results.test", "out.test"),
    ("qrels.test.with-comments results.test", "out.test"),
    ("-m all_trec qrels.test results.test", "out.test.a"),
    ("-m all_trec -q qrels.test results.test", "out.test.aq"),
    ("-m all_trec -q -c qrels.test results.trunc", "out.test.aqc"),
    ("-m all_trec -q -c -M100 qrels.test results.trunc", "out.test.aqcM"),
    ("-m all_trec -mrelstring.20 -q -l2 qrels.rel_level results.test", "out.test.aql"),
    (f"{WITH_PARAMETERS} qrels.test results.test", "out.test.meas_params"),
]
COUNTS = ("num_q", "num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret")
LOGARITHMS = ("gm_map", "gm_bpref")
PARAMETERS = ["P.1,3,7", "Rprec_mult.0.5,3", "iprec_at_recall.0.15,0.7,0.95", "utility.0.5,1,2,3", "11pt_avg.0.3,0.7"]


@pytest.mark.parametrize(("words", "expected"), CASES)
def test_the_output_equals_that_of_trec_eval_10_to_the_byte(conformance: Path, words: str, expected: str) -> None:
    done = run_here(conformance, "trec", *words.split())
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.encode() == (conformance / expected).read_bytes()


def test_a_run_from_standard_input_gives_the_same_output(conformance: Path) -> None:
    run = (conformance / "results.test").read_bytes()
    done = run_here(conformance, "trec", "-m", "all_trec", "qrels.test", "-", stdin=run)
    assert done.stdout.encode() == (conformance / "out.test.a").read_bytes()


def collection(random: Random) -> tuple[Truth, Run]:
    """Ties, also between scores that are equal as float32; negative grades, unjudged documents, missing queries."""
    documents = [f"d{number}" for number in range(random.choice([3, 10, 40]))]
    grades = random.choice([(0, 1), (-1, 0, 0, 1, 1, 2, 3), (0, 0, 0, 1), (1, 5, 11), (-2, 2)])
    scores = random.choice([(1.0, 0.5), (0.1, 0.10000000001, -3.25), tuple(random.random() for _ in range(100))])
    queries = [f"q{number}" for number in range(12)]

    def some(values: tuple[float, ...], query: str) -> dict[str, float]:
        chosen = random.sample([*documents, f"only {query}".replace(" ", "-")], random.randint(1, len(documents)))
        return {document: random.choice(values) for document in chosen}

    truth = {query: some(grades, query) for query in random.sample(queries, 6)}
    run = {query: some(scores, query) for query in random.sample(queries, 9)}
    return truth, run  # type: ignore[return-value]  # grades are whole numbers


def write_files(folder: Path, truth: Truth, run: Run) -> tuple[str, str]:
    qrels = "".join(f"{query} 0 {doc} {grade}\n" for query, of in truth.items() for doc, grade in of.items())
    lines = "".join(f"{query} Q0 {doc} 0 {score!r} tag\n" for query, of in run.items() for doc, score in of.items())
    (folder / "qrels").write_text(qrels)
    (folder / "run").write_text(lines)
    return str(folder / "qrels"), str(folder / "run")


def printed(text: str) -> dict[tuple[str, str], str]:
    rows = [line.split("\t") for line in text.splitlines()]
    assert len({(query, name) for name, query, _ in rows}) == len(rows)
    return {(query, name.rstrip()): value for name, query, value in rows}


def as_printed(name: str, value: float) -> str:
    return f"{value:.0f}" if name in COUNTS else f"{value:6.4f}"


@pytest.mark.parametrize("seed", range(60))
def test_by_the_rules_of_version_9_every_line_has_the_value_of_pytrec_eval(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    truth, run = collection(random)
    level, judged_only, complete = random.choice([1, 1, 2, 3]), random.random() < 0.3, random.random() < 0.3
    # With parameters that are no cut-offs, pytrec_eval has the same names as without them.
    asked = PARAMETERS[: random.choice([0, 3])]
    values = trec_eval(truth, run, {*asked, *OF_VERSION_9} - {name.partition(".")[0] for name in asked}, level,
                       judged_only=judged_only)  # fmt: skip
    if judged_only:  # where no document is left, trec_eval divides 0 by 0
        values = {query: {name: value if value == value else 0.0 for name, value in of_query.items()}
                  for query, of_query in values.items()}  # fmt: skip
    options = TrecOptions((*asked, "all_trec"), per_query=True, level=level, judged_only=judged_only, version=9,
                          complete=complete)  # fmt: skip
    if not values and not complete:
        return
    lines = printed(run_trec_eval(*write_files(tmp_path, truth, run), options).text)
    expected: dict[tuple[str, str], str] = {}
    n = len(truth) if complete else len(values)
    for name in next(iter(values.values()), {}):
        if name in TEXTS:
            continue
        terms = [values[query][name] for query in sorted(values)]
        if name not in (*LOGARITHMS, "num_q"):
            expected |= {(query, name): as_printed(name, values[query][name]) for query in values}
        total = math.log(0.00001) * (n - len(terms)) if name in LOGARITHMS else 0.0
        for term in terms:  # in this order; Python's sum would be more accurate
            total += term
        combined = math.exp(total / n) if name in LOGARITHMS else total if name in COUNTS else total / n
        expected["all", name] = as_printed(name, combined)
    if complete:
        expected["all", "num_q"] = str(n)
        expected["all", "num_rel"] = str(sum(grade > 0 for grades in truth.values() for grade in grades.values()))
    texts = {key for key in lines if key[1] in TEXTS}
    assert {key: value for key, value in lines.items() if key not in texts} == expected


def test_a_large_file_is_read_by_the_rules_of_version_9_too(tmp_path: Path) -> None:
    random = Random(7)
    queries = [f"query-{number:03}" for number in range(30)]
    documents = [f"document-{number}" for number in range(900)]
    truth = {query: {doc: random.randint(-1, 3) for doc in random.sample(documents, 30)} for query in queries}
    # As float32, many of these scores are equal.
    run = {query: {doc: 20 + random.random() / 1e5 for doc in documents} for query in queries}
    files = write_files(tmp_path, truth, run)
    assert Path(files[1]).stat().st_size > 1 << 19  # which is read with Arrow
    values = trec_eval(truth, run, {"map", "ndcg", "bpref"})
    lines = printed(run_trec_eval(*files, TrecOptions(("map", "ndcg", "bpref"), per_query=True, version=9)).text)
    others = printed(run_trec_eval(*files, TrecOptions(("map", "ndcg", "bpref"), per_query=True)).text)
    for query, of_query in values.items():
        assert {name: lines[query, name] for name in of_query} == {
            name: as_printed(name, value) for name, value in of_query.items()
        }
    assert others != lines


@pytest.mark.parametrize("name", PARAMETERS[3:])
def test_measures_with_parameters_have_the_values_of_pytrec_eval(name: str, tmp_path: Path) -> None:
    stem = name.partition(".")[0]
    for seed in range(10):
        truth, run = collection(Random(seed))
        values = trec_eval(truth, run, {name})
        options = TrecOptions((name,), per_query=True, version=9)
        lines = printed(run_trec_eval(*write_files(tmp_path, truth, run), options).text)
        for query, of_query in values.items():
            assert lines[query, name.replace(".", "_", 1)] == as_printed(stem, of_query[stem]), (seed, query)
