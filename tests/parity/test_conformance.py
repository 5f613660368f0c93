"""On trec_eval 10's own test data, values equal those that trec_eval 10 prints, to its four digits."""

from __future__ import annotations

from pathlib import Path

import pytest

from karat import evaluate
from karat.measures import parse

SUMMED = {"num_ret", "num_rel", "num_rel_ret", "num_q"}


def printed(path: Path, known: set[str]) -> list[tuple[str, str, float]]:
    """The lines of trec_eval's output for the measures that karat has: measure, query, value."""
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    return [(name.strip(), query, float(value)) for name, query, value in lines if name.strip() in known]


def have(path: Path) -> set[str]:
    """The names in trec_eval's output that karat accepts."""
    names = {line.split("\t")[0].strip() for line in path.read_text().splitlines()}
    known = set()
    for name in names:
        try:
            parse(name)
        except ValueError:
            continue
        known.add(name)
    return known


CASES = [
    ("out.test", "qrels.test", "results.test", 1),
    ("out.test", "qrels.test.with-comments", "results.test", 1),
    ("out.test.a", "qrels.test", "results.test", 1),
    ("out.test.aq", "qrels.test", "results.test", 1),
    ("out.test.aqc", "qrels.test", "results.trunc", 1),
    ("out.test.aql", "qrels.rel_level", "results.test", 2),
]


@pytest.mark.parametrize(("output", "truth", "run", "level"), CASES)
def test_scores_equal_those_that_trec_eval_prints(
    conformance: Path, output: str, truth: str, run: str, level: int
) -> None:
    known = have(conformance / output)
    assert len(known) >= 28
    scores = evaluate(conformance / truth, conformance / run, sorted(known), rel=level)
    for name, query, value in printed(conformance / output, known):
        measure = parse(name)
        if "rel" in measure.definition.parameters and measure.definition.parameters["rel"].default == 1:
            measure = measure(rel=level)
        if query != "all":
            ours = scores.per_query[query][str(measure)]
        elif name == "num_rel" and "c" in output.removeprefix("out.test"):
            continue  # with -c, trec_eval's sum of num_rel counts every grade above 0, whatever the level
        else:
            ours = scores[measure]
        assert ours == pytest.approx(value, abs=0.5e-4 + 1e-12), (name, query)


def test_the_error_for_a_trec_eval_measure_that_karat_lacks_says_so(conformance: Path) -> None:
    names = {line.split("\t")[0].strip() for line in (conformance / "out.test.a").read_text().splitlines()}
    for name in names - have(conformance / "out.test.a"):
        with pytest.raises(ValueError, match="of trec_eval"):
            parse(name)
