"""The real peers, called from tests: trec_eval's C code, ERR of ir-measures, RBP of cwl-eval.

install_peers.py installs them. If one is missing, the calling test is skipped with the reason.
All take the truth as {query: {document: grade}} and the run as {query: {document: score}}, and return {query: value}.
"""

import atexit
import functools
import importlib.util
import json
import math
import multiprocessing
import shutil
import subprocess
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from tests.parity.install_peers import trec_eval_command

Truth = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]


def trec_eval(
    qrels: Truth, run: Run, measures: set[str], relevance_level: int = 1, *, judged_only: bool = False
) -> dict[str, dict[str, float]]:
    """Values by query and measure of trec_eval 9, through pytrec-eval-terrier.

    Measures are named as in trec_eval, with nicknames (`all_trec`) and parameters (`P_3`, `ndcg_cut.5,10`).

    - Grades are integers; a fraction is a TypeError. A grade of relevance_level (1 or more) or above is relevant;
      nDCG uses the grade itself as gain and ignores the level. 0 is judged and not relevant. -1 and below gain
      nothing; bpref treats them as unjudged and ignores them, infAP as pooled and counts them.
      If a query has only negative grades, trec_eval reads past its memory and may crash:
      here, the query gets an extra document of grade 0 that no run has, which changes no measure.
    - Scores become float32, so 1.00000001 and 1.0 tie. Ties are ordered by document id, descending.
    - Only queries of both truth and run have a result. `{query: {}}` in the run gives zeros. In the truth it would
      make trec_eval hang, so the query is left out here.
    - gm_map and gm_bpref are logarithms per query; set_F with a parameter is still named set_F; the values of runid
      and relstring are not numbers and mean nothing.
    """
    if max((grade for grades in qrels.values() for grade in grades.values()), default=0) > 10_000:
        raise ValueError("trec_eval's time grows with the square of the largest grade: keep it to 10,000")
    judged = {query: _without_crash(grades) for query, grades in qrels.items() if grades}
    request = {
        "qrels": judged,
        "run": run,
        "measures": sorted(measures),
        "relevance_level": relevance_level,
        "judged_only": judged_only,
    }
    return _request_trec_eval(json.dumps(request))


def in_pytrec_eval(work: Callable[[Any], Any]) -> Any:
    """The result of calls of pytrec_eval, or the type of their exception.

    They run in a fork: trec_eval corrupts its memory on some input, and ends the process on other.
    """
    if importlib.util.find_spec("pytrec_eval") is None:
        pytest.skip("pytrec-eval-terrier is not installed for this machine: run tests/parity/install_peers.py")
    receive, send = multiprocessing.Pipe(duplex=False)

    def in_fork() -> None:
        try:
            send.send(work(importlib.import_module("pytrec_eval")))
        except Exception as error:  # its type is the result
            send.send(type(error))

    process = multiprocessing.get_context("fork").Process(target=in_fork)
    process.start()
    send.close()
    try:
        return receive.recv()
    finally:
        process.join()


def err(qrels: Truth, run: Run, k: int) -> dict[str, float]:
    """ERR@k of ir-measures, which has TREC's gdeval.pl compute it, rounded to five places. Needs perl.

    - The largest grade is taken to be 4, whatever the data: a grade g stops with (2**g - 1) / 2**4. A grade above 4
      makes gdeval.pl fail (CalledProcessError), 0 and below are not relevant.
    - Scores are doubles. Ties are ordered by document id, descending by bytes.
    - Every query of the truth has a result, 0 where the run lacks it or nothing is relevant.

    gdeval.pl takes numbers alone for queries, and of `a-1` only what follows the dash; they are numbered here.
    """
    if not shutil.which("perl"):
        pytest.skip("ERR of ir-measures needs perl")
    ir_measures = _module("ir_measures")
    numbers = {query: str(number) for number, query in enumerate(qrels.keys() | run.keys())}
    measure = ir_measures.ERR @ k
    metrics = ir_measures.gdeval.iter_calc(
        [measure],
        {numbers[query]: grades for query, grades in qrels.items()},
        {numbers[query]: scores for query, scores in run.items()},
    )
    values: dict[str, float] = {metric.query_id: metric.value for metric in metrics}
    return {query: values[numbers[query]] for query, grades in qrels.items() if grades}


def rbp(qrels: dict[str, dict[str, float]], run: Run, p: float) -> dict[str, float]:
    """RBP of cwl-eval, with persistence p, for the queries of the run that the truth has.

    - A grade is a gain and is taken as it is, neither scaled nor cut to 0 … 1, negative ones too (cwl-eval's own
      command line refuses gains outside of 0 … 1; ir-measures gives it 1 from rel= upwards, and 0 below).
      Scale before calling. An unjudged document gains 0.
    - cwl-eval reads no scores: the order given is the ranking. Here it is score descending, then id descending.
    - Its weights are made to sum to 1 over the depth that it is told (1,000 on its command line), which is not RBP
      where p is large. Here the depth is such that the rest is below the precision of a double.
    """
    return {query: metric.expected_utility for query, metric in _cwl_eval(qrels, run, p).items()}


def rbp_residual(qrels: dict[str, dict[str, float]], run: Run, p: float) -> dict[str, float]:
    """The residual of RBP: its increase if all unjudged documents, and all ranks past the end, had gain 1.

    Unlike trec_eval 10's rbp_resid, it is not 0 where every retrieved document is judged: the tail p**n remains.
    """
    return {query: metric.residual_expected_utility for query, metric in _cwl_eval(qrels, run, p).items()}


def _cwl_eval(qrels: dict[str, dict[str, float]], run: Run, p: float) -> dict[str, Any]:
    rbp_metric = _module("cwl.ruler.measures.cwl_rbp").RBPCWLMetric
    ranking = _module("cwl.ruler.ranking").Ranking
    negligible = math.ceil(math.log(1e-17) / math.log(p))
    measured = {}
    for query in qrels.keys() & run.keys():
        ranked = sorted(run[query], key=lambda document: (run[query][document], document), reverse=True)
        gains = [qrels[query].get(document, math.nan) for document in ranked]
        measured[query] = rbp_metric(p)
        measured[query].residuals = True
        measured[query].measure(ranking(query, gains, [1.0] * len(gains), max_n=max(negligible, len(gains))))
    return measured


def _without_crash(grades: dict[str, int]) -> dict[str, int]:
    """Add a document of grade 0 if all grades are negative: it changes no measure, and trec_eval does not crash."""
    return grades if max(grades.values()) >= 0 else {**grades, "a stand-in that no run has": 0}


def _module(name: str) -> Any:
    with warnings.catch_warnings():  # warnings of the peers are not karat's
        warnings.simplefilter("ignore")
        return pytest.importorskip(name)


def _request_trec_eval(request: str) -> dict[str, dict[str, float]]:
    service = _trec_eval_service()
    assert service.stdin is not None
    assert service.stdout is not None
    service.stdin.write(request + "\n")
    service.stdin.flush()
    line = service.stdout.readline()
    if not line:
        _trec_eval_service.cache_clear()  # the next test starts a new one
        raise RuntimeError(f"trec_eval ended with status {service.wait()}")
    answer = json.loads(line)
    if "error" in answer:
        raise ValueError(answer["error"])
    scores: dict[str, dict[str, float]] = answer["scores"]
    return scores


@functools.cache
def _trec_eval_service() -> subprocess.Popen[str]:
    command = trec_eval_command()
    if command is None:
        pytest.skip("pytrec-eval-terrier is not installed: run tests/parity/install_peers.py")
    service = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(service.communicate)  # closes its standard input, which ends it
    return service
