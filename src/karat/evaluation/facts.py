"""Facts about documents and answers: what findings and checks need to know, for any part of the queries.

The facts of several parts can be merged. So a part can be evaluated anywhere, and the findings are about all queries.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from heapq import nsmallest
from itertools import chain
from typing import Any, NamedTuple, Self

import numpy as np

from karat.data.answers import Answers
from karat.data.judged import Bools, Judged
from karat.matching.document_samples import SampledQuery, first_queries
from karat.ranking import Observations
from karat.reading.pairs.numeric_ids import Note
from karat.registry import Measure
from karat.scores.finding import in_order_of_ids

LEAST_POSITIVE = math.ulp(0.0)
"""the lowest grade that counts in graded measures without a threshold"""
_EXAMPLES = 4  # one more than messages show, so that they can say whether there are others


class Share(NamedTuple):
    """How many of how many."""

    number: int = 0
    total: int = 0


@dataclass(frozen=True)
class DocumentFacts:
    """Facts about the documents of some queries. Queries are listed by their ids."""

    answered: int = 0
    """queries that are in the run"""
    examples: tuple[str, ...] = ()
    """queries of the ground truth: the first ones by id if no query is in the run, for an error that names them"""
    all_golds: int = 0
    """judged documents, of queries that are left out too"""
    all_retrieved: int = 0
    """retrieved documents, of queries that are left out too"""
    golds: int = 0
    retrieved: int = 0
    hits: int = 0
    missing: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    """queries without a judged document"""
    lacking: Mapping[float, tuple[str, ...]] = field(default_factory=dict)
    """for each grade: queries with judged documents, but none of this grade or a higher one"""
    nothing_retrieved: tuple[str, ...] = ()
    only_keyless: bool = False
    """whether one of these queries has documents, all without a key"""
    golds_without_key: int = 0
    without_key: int = 0
    duplicates: int = 0
    identical_ids: int = 0
    large_ties: int = 0
    slow: tuple[str, ...] = ()
    """queries with texts so long that comparing them took seconds"""
    unjudged: Mapping[int | None, Share] = field(default_factory=dict)
    """for each cut-off: the retrieved documents that are not judged"""
    only_relevant: bool = True
    """whether documents were listed, not graded"""
    labelled: Share = field(default_factory=Share)
    """the judged documents in the top of the largest cut-off that have a grade from labels"""
    unmatched: tuple[SampledQuery, ...] = ()
    """documents of some queries, if no judged document was retrieved, to find out why"""
    truth_notes: tuple[Note, ...] = ()
    run_notes: tuple[Note, ...] = ()

    @classmethod
    def of(
        cls,
        judged: Judged,
        observations: Observations,
        measures: Sequence[Measure] = (),
        *,
        before: Judged | None = None,
        labelled: Bools | None = None,
        only_relevant: bool = False,
        unmatched: tuple[SampledQuery, ...] = (),
        truth_notes: tuple[Note, ...] = (),
        run_notes: tuple[Note, ...] = (),
    ) -> Self:
        """The facts about judged documents.

        `before` is the same before queries were left out, if any were. `labelled` says which judged documents have a
        grade from labels.
        """
        before = before or judged
        nothing = _nothing_retrieved(judged, observations.without_key)
        answered = int(np.count_nonzero(before.in_run))
        examples = before.queries if answered else in_order_of_ids(before.queries)
        return cls(
            answered=answered,
            examples=tuple(examples[:_EXAMPLES]),
            all_golds=len(before.gold_grade),
            all_retrieved=int(before.retrieved.sum()),
            golds=len(judged.gold_grade),
            retrieved=int(judged.retrieved.sum()),
            hits=len(judged.hit_rank),
            missing=_where(before, ~before.in_run),
            unknown=tuple(observations.unknown_queries),
            empty=_where(judged, judged.golds == 0),
            lacking={rel: _lacking(judged, rel) for rel in thresholds(measures)},
            nothing_retrieved=nothing,
            only_keyless=any(query in observations.without_key for query in nothing),
            golds_without_key=observations.golds_without_key,
            without_key=sum(observations.without_key.values()),
            duplicates=observations.duplicates,
            identical_ids=observations.identical_ids,
            large_ties=observations.large_ties,
            slow=tuple(observations.slow_queries),
            unjudged=_unjudged(judged, measures),
            only_relevant=only_relevant or not before.queries,
            labelled=Share() if labelled is None else _labelled(judged, labelled, measures),
            unmatched=unmatched,
            truth_notes=truth_notes,
            run_notes=run_notes,
        )

    @classmethod
    def merged(cls, parts: Iterable[Self]) -> Self:
        """The facts about the queries of all parts, each of which has other queries."""
        all_parts = list(parts)
        names = [field.name for field in fields(cls)]
        return cls(**{name: _merged(name, [getattr(part, name) for part in all_parts]) for name in names})


def _merged(name: str, values: Sequence[Any]) -> Any:
    """A fact about all parts."""
    match values[0]:
        case bool():
            return all(values) if name == "only_relevant" else any(values)
        case int():
            return sum(values)
        case Share():
            return Share(*map(sum, zip(*values, strict=True)))
        case Mapping():
            return {key: _merged(name, [value[key] for value in values]) for key in values[0]}
    joined = chain.from_iterable(values)
    if name == "examples":
        return tuple(in_order_of_ids(tuple(joined))[:_EXAMPLES])
    if name == "unmatched":
        return first_queries(joined)
    # Parts may have the same notes, but not the same queries.
    return tuple(dict.fromkeys(joined) if name.endswith("_notes") else joined)


def thresholds(measures: Sequence[Measure]) -> list[float]:
    """The lowest grades that count as relevant in these measures, in ascending order."""
    grades = {float(rel) for measure in measures if isinstance(rel := measure.get("rel"), int | float) and rel > 0}
    if any(measure.definition.graded and not measure.get("rel") for measure in measures):
        grades.add(LEAST_POSITIVE)  # any positive grade counts in graded measures
    return sorted(grades)


def largest_cutoff(measures: Sequence[Measure]) -> int | None:
    """The largest cut-off of the measures; None if they have none."""
    return max((measure.cutoff for measure in measures if measure.cutoff), default=None)


def _where(judged: Judged, wanted: Bools) -> tuple[str, ...]:
    if not np.count_nonzero(wanted):
        return ()
    return tuple(query for query, is_wanted in zip(judged.queries, wanted.tolist(), strict=True) if is_wanted)


def _lacking(judged: Judged, rel: float) -> tuple[str, ...]:
    return _where(judged, (judged.relevant(rel) == 0) & (judged.golds > 0))


def _nothing_retrieved(judged: Judged, keyless: Mapping[str, int]) -> tuple[str, ...]:
    """The queries of the run without a document that can match."""
    rows = zip(judged.queries, judged.in_run.tolist(), judged.retrieved.tolist(), strict=True)
    return tuple(query for query, answered, count in rows if answered and count == keyless.get(query, 0))


def _unjudged(judged: Judged, measures: Sequence[Measure]) -> dict[int | None, Share]:
    """The unjudged documents at each cut-off of the measures, or of all documents without a cut-off.

    Of more than three cut-offs, these are the lowest and the highest. Measures with `judged_only` have none.
    """
    affected = [measure for measure in measures if not measure.get("judged_only")]
    if measures and not affected:
        return {}
    cutoffs = sorted({measure.cutoff for measure in affected if measure.cutoff})
    cutoffs = cutoffs if len(cutoffs) <= 3 else [cutoffs[0], cutoffs[-1]]
    return {k: unjudged_share(judged, k) for k in cutoffs or (None,)}


def unjudged_share(judged: Judged, k: int | None) -> Share:
    """The unjudged documents among those in the top k."""
    retrieved = int(judged.depth(k).sum())
    return Share(retrieved - int(judged.by_rank.graded(0).count(k).sum()), retrieved)


def _labelled(judged: Judged, rows: Bools, measures: Sequence[Measure]) -> Share:
    cutoff = largest_cutoff(measures)
    is_judged = judged.hit_grade >= 0
    if cutoff is not None:
        is_judged &= judged.hit_rank <= cutoff
    return Share(int(rows[judged.hit_gold[is_judged]].sum()), int(is_judged.sum()))


@dataclass(frozen=True)
class AnswerFacts:
    """Facts about the answers to some questions."""

    known: int = 0
    """questions with a gold answer"""
    absent: tuple[str, ...] = ()
    """those of them without a predicted answer"""
    unknown: tuple[str, ...] = ()
    """questions without a gold answer"""
    any_predicted: bool = False
    """whether any question is among the predictions"""
    any_common: bool = False
    """whether any question is in both the ground truth and the predictions"""
    truth_examples: tuple[str, ...] = ()
    """the first questions of the ground truth by id, if none is in both"""
    prediction_examples: tuple[str, ...] = ()
    """the first questions of the predictions by id, if none is in both"""

    @classmethod
    def of(
        cls, answers: Answers, golds: Mapping[str, Sequence[str] | None], predicted: Mapping[str, str | None]
    ) -> Self:
        """The facts about the answers to the questions that have gold answers."""
        rows = zip(answers.queries, answers.predicted, strict=True)
        absent = [query for query, answer in rows if answer is None]
        unknown = [query for query, texts in golds.items() if texts is None]
        unknown += [query for query in predicted if query not in golds]
        any_common = not golds.keys().isdisjoint(predicted)
        examples = [() if any_common else tuple(nsmallest(_EXAMPLES, each)) for each in (golds, predicted)]
        return cls(len(answers.queries), tuple(absent), tuple(unknown), bool(predicted), any_common, *examples)

    @classmethod
    def merged(cls, parts: Iterable[Self]) -> Self:
        """The facts about the questions of all parts, each of which has other questions."""
        all_parts = list(parts)

        def joined(name: str) -> Iterator[str]:
            return chain.from_iterable(getattr(part, name) for part in all_parts)

        return cls(
            sum(part.known for part in all_parts),
            tuple(joined("absent")),
            tuple(joined("unknown")),
            any(part.any_predicted for part in all_parts),
            any(part.any_common for part in all_parts),
            tuple(nsmallest(_EXAMPLES, joined("truth_examples"))),
            tuple(nsmallest(_EXAMPLES, joined("prediction_examples"))),
        )
