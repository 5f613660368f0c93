"""Other measures of documents, computed from the evidence of scores, for the same queries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from karat.analysis.evidence import NO_RUN_DATA
from karat.data.judged import Floats
from karat.errors import KaratError
from karat.measures import RR, meanings
from karat.registry import Measure
from karat.scores import Scores


def other_measures(scores: Scores, measures: Iterable[Measure]) -> Scores:
    """The scores of these measures for the same queries; null for a query that has only answers.

    >>> from karat import evaluate, parse
    >>> scores = evaluate({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["a"], "r": ["x", "b"]}, "RR")
    >>> other_measures(scores, [parse("P@1"), parse("R@2")]).means
    {'P@1': 0.5, 'R@2': 1.0}
    """
    evidence = scores.evidence
    if evidence is None:
        what = "these scores contain no run data to compute other measures from"
        raise KaratError(what, place=scores.name or None, hint=NO_RUN_DATA)
    # A query that is not in the ground truth reads the null after the last value.
    places = [evidence.truth.positions.get(query, -1) for query in scores.queries]
    values: dict[str, Floats] = {}
    for measure in measures:
        computed = measure.compute(evidence.judged_for(measure))
        values[str(measure)] = np.append(computed, np.nan)[places]
    return replace(scores, values=values, findings=(), asked={})


def same_threshold(scores: Scores, measure: Measure) -> Measure:
    """A measure that counts documents as relevant from the same grade as the measures of the scores, if these set it.

    >>> from karat import evaluate, parse
    >>> scores = evaluate({"q": {"a": 2}}, {"q": ["a"]}, ["nDCG@10", "AP"], rel=2)
    >>> str(same_threshold(scores, parse("P@5")))
    'P(rel=2)@5'
    """
    settings = (dict(known.settings) for name in scores.measures for known in meanings(name)[:1])
    rel = next((given["rel"] for given in settings if "rel" in given), None)
    return measure if rel is None else measure(rel=rel)


def relevance_threshold(scores: Scores) -> float:
    """The grade from which documents count as relevant, as in `same_threshold`; 1 by default.

    >>> from karat import evaluate
    >>> relevance_threshold(evaluate({"q": {"a": 2}}, {"q": ["a"]}, "P(rel=2)@5"))
    2.0
    """
    rel = same_threshold(scores, RR).get("rel")
    return float(rel) if isinstance(rel, int | float) else 1.0
