"""Dictionaries as pytrec_eval has them: judged as trec_eval 9 does, and the values of measures as dictionaries."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from karat.compat.measures import PrintedMeasure, printed_measures
from karat.compat.pytrec_eval_names import ArgumentTypeError
from karat.data.judged import Floats, Judged
from karat.errors import KaratError, Parameter, Place, shown
from karat.matching.matchers import Same
from karat.ranking import RankingRules, rank_judged
from karat.reading.pairs.containers import InMemoryRun, Truth
from karat.reading.pairs.mappings import run_from_mapping, truth_from_mapping
from karat.registry.trec_eval_names import CUTOFFS

Source = TypeVar("Source", Truth, InMemoryRun)

_MATCH = Same()
_RULES = RankingRules(single_precision=True)
_WHOLE = (int, np.integer, np.bool_)
_REAL = (float, np.floating, *_WHOLE)


@dataclass(frozen=True, eq=False)
class Judge:
    """Judges runs by ground truth, and computes measures of them."""

    truth: Truth
    measures: Mapping[str, PrintedMeasure]
    judged_only: bool

    @classmethod
    def of(cls, truth: Any, measures: Sequence[str], level: Any, judged_only: Any) -> Judge:
        """The judge by `{query: {document: grade}}`, which may change afterwards; as in pytrec_eval, any mapping."""
        lowest = _whole("relevance_level", level)
        if lowest < 1:
            raise ArgumentTypeError([Parameter("relevance_level", lowest), " is not at least 1"])
        only = bool(_whole("judged_docs_only_flag", judged_only))
        printed = printed_measures(measures, level=lowest, version=9)
        truth = dict(truth) if isinstance(truth, Mapping) else truth
        _check_dictionaries(truth, "query_relevance", "grade")
        truth = {query: docs for query, docs in truth.items() if docs}  # without judgments, a query is not evaluated
        read = _read(truth_from_mapping, truth, "query_relevance")
        if not set(map(type, chain.from_iterable(map(dict.values, truth.values())))) <= {int}:
            _check_numbers(truth, _WHOLE, Place("query_relevance"), "grade", "a whole number")
        # The parameters of other measures are not in the names of pytrec_eval.
        return cls(read, {each.name if each.stem in CUTOFFS else each.stem: each for each in printed}, only)

    def values(self, run: Any) -> dict[str, dict[str, float]]:
        """The values of each query that a run and the ground truth have, in the order of the run."""
        _check_dictionaries(run, "scores", "score")
        judged, _ = rank_judged(self.truth, self._read_run(run), _RULES, _MATCH)
        if not judged.in_run.all():
            judged = judged.select(judged.in_run)
        position = {query: at for at, query in enumerate(judged.queries)}
        queries = [query for query in run if query in position]
        order = np.fromiter(map(position.__getitem__, queries), np.int64, len(queries))
        rows = np.empty((len(queries), len(self.measures)))
        for at, measure in enumerate(self.measures.values()):
            rows[:, at] = self._column(measure, judged)[order]
        # Row by row: a dictionary that is filled measure by measure is fetched into the cache again for each of them.
        names = list(self.measures)
        return {query: dict(zip(names, row, strict=True)) for query, row in zip(queries, rows.tolist(), strict=True)}

    def _read_run(self, run: Any) -> InMemoryRun:
        read = _read(run_from_mapping, run, "scores")
        # Whatever is not a usual number is a new dictionary.
        if any(docs is not given for batch in read.parts for docs, given in zip(batch.docs, run.values(), strict=True)):
            _check_numbers(run, _REAL, Place("scores"), "score", "a number")
        return read

    def _column(self, measure: PrintedMeasure, judged: Judged) -> Floats:
        """The values of a measure; a text counts as 0, as in pytrec_eval."""
        if measure.measure is None:
            return np.zeros(len(judged.queries))
        return measure.values(judged.judged_only if self.judged_only else judged)


def _whole(name: str, value: Any) -> int:
    try:
        return operator.index(value.item() if isinstance(value, np.generic) else value)
    except TypeError:
        raise ArgumentTypeError([Parameter(name, value), " is not a whole number"]) from None


def _check_dictionaries(by_query: Any, name: str, number: str) -> None:
    """Reject what is not a dictionary of dictionaries: elsewhere, karat also reads lists and other mappings."""
    hint = f"Pass {{query: {{document: {number}}}}}."
    if not isinstance(by_query, dict):
        raise ArgumentTypeError(f"{shown(by_query)} is not a dictionary", place=name, hint=hint)
    for query, docs in by_query.items():
        if not isinstance(docs, dict):
            place = Place(name, query=query if isinstance(query, str) else shown(query))
            raise ArgumentTypeError(f"{shown(docs)} is not a dictionary", place=place, hint=hint)


def _read(reader: Callable[..., Source], by_query: Any, name: str) -> Source:
    """What a reader of karat makes of dictionaries; an id that is not a text is an error, and so is any other."""
    try:
        read = reader(by_query, _MATCH.key, name)
    except KaratError as error:
        raise ArgumentTypeError(error.parts, place=error.place, hint=error.hint_parts) from None
    if read.notes:
        raise ArgumentTypeError("an id is a number", place=name, hint="Ids are texts: str(id).")
    return read


def _check_numbers(
    by_query: Mapping[str, Mapping[str, Any]], kinds: tuple[type, ...], place: Place, number: str, wanted: str
) -> None:
    """Reject a grade or score that is not a number of Python or NumPy: elsewhere, karat reads numbers in texts, too."""
    for query, docs in by_query.items():
        for doc, value in docs.items():
            whole = isinstance(value, np.floating) and float(value).is_integer()  # as pandas has grades beside gaps
            if not (isinstance(value, kinds) or whole):
                at = place._replace(query=query, field=f"document {doc}")
                raise ArgumentTypeError(f"{number} {shown(value)} is not {wanted}", place=at)
