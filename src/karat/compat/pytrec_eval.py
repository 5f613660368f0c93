"""pytrec_eval, computed by karat: a program changes its import, and gets the same dictionaries.

    import karat.compat.pytrec_eval as pytrec_eval

The values are those of trec_eval 9, which pytrec_eval contains: scores are compared as float32, and queries that are
missing from the ground truth or from the run are left out. Numbers of NumPy are accepted as grades and scores. Where
trec_eval ends the process, or its values depend on what is in memory, there is an error, or the value by definition.

NumPy is imported when it is needed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from karat.compat.measures import OF_VERSION_9
from karat.compat.pytrec_eval_names import SETS, ArgumentTypeError, in_trec_eval
from karat.errors import KaratError, Place, plural, shown
from karat.errors.arguments import is_list_like

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "RelevanceEvaluator",
    "compute_aggregated_measure",
    "parse_qrel",
    "parse_run",
    "supported_measures",
    "supported_nicknames",
]

Number = TypeVar("Number", int, float)

supported_measures: set[str] = set(OF_VERSION_9)
supported_nicknames: dict[str, set[str]] = {name: set(measures) for name, measures in SETS.items()}

_NUMERIC = "biuf"  # NumPy's codes of the kinds of real numbers
_QRELS = ("query", "iteration", "document", "grade")
_RUN = ("query", "Q0", "document", "rank", "score", "tag")


class RepeatedDocumentError(KaratError, AssertionError):
    """A document is listed twice for a query; pytrec_eval has an assertion there."""


class RelevanceEvaluator:
    """Evaluates runs against ground truth, `{query: {document: grade}}`.

    `measures` are names as in trec_eval: `map`, `ndcg_cut_10` or `ndcg_cut.5,10`, and the sets `official`, `set` and
    `all_trec`. `relevance_level` is the lowest grade that counts as relevant. With `judged_docs_only_flag`, documents
    that are not judged are first removed from the run.

    >>> evaluator = RelevanceEvaluator({"q1": {"d1": 1, "d2": 0}}, {"map", "ndcg_cut_10"})
    >>> evaluator.evaluate({"q1": {"d1": 0.5, "d2": 0.75}})
    {'q1': {'map': 0.5, 'ndcg_cut_10': 0.6309297535714575}}
    """

    def __init__(
        self,
        query_relevance: Mapping[str, dict[str, int]],
        measures: Iterable[str],
        relevance_level: int = 1,
        judged_docs_only_flag: bool = False,
    ) -> None:
        names = in_trec_eval(measures)

        from karat.compat.judging import Judge

        self._judge = Judge.of(query_relevance, names, relevance_level, judged_docs_only_flag)

    def evaluate(self, scores: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
        """The value of each measure for each query, of a run `{query: {document: score}}`.

        Queries are in the order of the run; those that the ground truth does not have are left out.
        """
        try:
            is_empty = not scores
        except (TypeError, ValueError):  # such as a data frame
            is_empty = False
        return {} if is_empty else self._judge.values(scores)


def compute_aggregated_measure(measure: str, values: Iterable[float]) -> float:
    """The value over all queries: their sum, their geometric mean (of logarithms), or their mean, as in trec_eval.

    >>> compute_aggregated_measure("map", [0.5, 1.0]), compute_aggregated_measure("num_ret", [10.0, 5.0])
    (0.75, 15.0)
    """
    import numpy as np

    if not isinstance(measure, str):
        raise ArgumentTypeError(f"{shown(measure)} is not the name of a measure")
    of_queries = _numbers(values)
    total = np.sum(of_queries)
    if measure.startswith("num_"):
        return float(total)
    return float(np.exp(total / len(of_queries)) if measure.startswith("gm_") else np.mean(of_queries))


def parse_qrel(f_qrel: Iterable[str]) -> dict[str, dict[str, int]]:
    """The grade of each document of each query, from the lines of TREC qrels, such as an open file.

    >>> dict(parse_qrel(["q1 0 d1 1", "q1 0 d2 0"]))
    {'q1': {'d1': 1, 'd2': 0}}
    """
    return _parse(f_qrel, _QRELS, int, "the ground truth")


def parse_run(f_run: Iterable[str]) -> dict[str, dict[str, float]]:
    """The score of each document of each query, from the lines of a TREC run, such as an open file.

    >>> dict(parse_run(["q1 Q0 d1 1 0.75 tag", "q1 Q0 d3 2 0.5 tag"]))
    {'q1': {'d1': 0.75, 'd3': 0.5}}
    """
    return _parse(f_run, _RUN, float, "the run")


def _numbers(values: Any) -> NDArray[Any]:
    """Values of queries as an array of their own type, in which NumPy adds them up."""
    import numpy as np

    if is_list_like(values):
        try:
            of_queries = np.asarray(values if hasattr(values, "__array__") else [*values])
        except (TypeError, ValueError):  # lists of several lengths
            of_queries = np.empty(0, object)
        if of_queries.ndim == 1 and of_queries.dtype.kind in _NUMERIC:
            return of_queries
    hint = "Pass the values of a measure: [of_query[measure] for of_query in values.values()]."
    raise ArgumentTypeError(f"{shown(values)} is not a list of numbers", hint=hint)


def _parse(
    lines: Iterable[str], columns: tuple[str, ...], number: Callable[[str], Number], name: str
) -> dict[str, dict[str, Number]]:
    if not is_list_like(lines):
        raise ArgumentTypeError(f"{shown(lines)} is not an open file", place=name, hint="Pass lines of text.")
    by_query: defaultdict[str, dict[str, Number]] = defaultdict(dict)
    at = columns.index("grade" if number is int else "score")
    for row, line in enumerate(lines, 1):
        place = Place(f"line {row} of {name}")
        if not isinstance(line, str):
            raise ArgumentTypeError(f"{shown(line)} is not text", place=place, hint='Open the file with "r", as text.')
        fields = line.split()
        if len(fields) != len(columns):
            hint = f"A line has {len(columns)} columns: {' '.join(columns)}."
            raise KaratError(f"the line has {plural(len(fields), 'column')}", place=place, hint=hint)
        query, doc = fields[0], fields[2]
        docs = by_query[query]
        if doc in docs:
            raise RepeatedDocumentError(f"document {shown(doc)} of query {shown(query)} is listed twice", place=place)
        try:
            docs[doc] = number(fields[at])
        except ValueError:
            kind = "a whole number" if number is int else "a number"
            raise KaratError(f"{columns[at]} {shown(fields[at])} is not {kind}", place=place) from None
    return by_query
