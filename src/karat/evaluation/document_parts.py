"""Documents in parts: queries that are judged in several places, and the scores of all of them together.

No engine is known here. Parts are queries with all their rows, ranges of files, or some rows of a table. For ranges,
`judge_range` is a plain function of the ground truth, a range of a file, and what is computed; its results can be sent
and merged. Whoever has a way to call it for many ranges, in threads, processes or on a cluster, gets the scores in
three steps:

1. `judge_range` for each range. The first and the last query of a range may go on beside it: their rows come back as
   they are (`loose`).
2. `queries_in_several` finds other queries that have rows in several ranges. The ranges that have them are judged
   again without them, so that their rows are loose too. If they are many, the file is not grouped by query, and ranges
   are not the way to read it: a `NotGroupedError`, which `judge_range` raises too, if one range shows it.
3. `judge_rest` judges what is left: the loose rows, put together, and queries that are in no range.

`scores_of_parts` then makes the scores.

`judge_rows` is the same for rows of a table that follow each other. Whoever cannot read the same rows again, in the
same order, cannot take the second step: then a query in several parts means that they are not grouped by query.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from karat.data.judged import Floats
from karat.errors import KaratError
from karat.evaluation.documents import EvaluationPlan, JudgedDocuments, check_facts, scores_of_documents
from karat.evaluation.facts import DocumentFacts
from karat.reading.bytes.file_ranges import FileRange
from karat.reading.bytes.opened_ranges import opened_range
from karat.reading.pairs.any_source import Run, Truth, read_run, require_truth
from karat.reading.pairs.frames import FrameRun
from karat.reading.pairs.numeric_ids import Note, NumericIds
from karat.reading.pairs.places import Locate
from karat.reading.pairs.range_runs import LooseRows, LooseRun, NotGroupedError, RangeRun, most_apart
from karat.reading.pairs.tables import TableRun
from karat.scores import Scores

Digests = Mapping[str, Mapping[str, str]]
"""the digests of the ground truth, by kind and query"""

_MOST_LOOSE = 1 << 24
"""loose rows of all ranges, which are in memory together"""


class PartFacts(NamedTuple):
    """What has to be known about a part of the queries, besides values and digests of those that are scored."""

    documents: DocumentFacts
    skipped: Digests
    """of queries that are left out"""
    labels_by: str | None


@dataclass(frozen=True)
class PartResult:
    """The values of a part of the queries, the digests of their ground truth, and facts."""

    queries: tuple[str, ...]
    values: Mapping[str, Floats]
    digests: Mapping[str, Sequence[str]]
    """by kind, a digest for each query"""
    facts: PartFacts

    @classmethod
    def of(cls, documents: JudgedDocuments, plan: EvaluationPlan) -> PartResult:
        """The result of documents that were judged."""
        queries = documents.judged.queries
        scored = set(queries)
        skipped = {
            kind: {query: digest for query, digest in digests.items() if query not in scored}
            for kind, digests in documents.truths.items()
        }
        return cls(
            queries,
            documents.values(plan.measures),
            {kind: [digests[query] for query in queries] for kind, digests in documents.truths.items()},
            PartFacts(documents.facts, skipped, documents.labels_by),
        )


class RangeReport(NamedTuple):
    """What has to be known of a range before all ranges are put together."""

    queries: tuple[str, ...]
    """those that have all their rows in this range, as far as it can tell, with or without ground truth"""
    loose: LooseRows


class RangeResult(NamedTuple):
    """The result of a range, and the rows of its other queries."""

    part: PartResult
    loose: LooseRows

    @property
    def report(self) -> RangeReport:
        """What has to be known of it before the others are put together with it."""
        return RangeReport((*self.part.queries, *self.part.facts.documents.unknown), self.loose)


def judge_range(
    truth: Truth, at: FileRange, plan: EvaluationPlan, name: str = "", apart: frozenset[str] = frozenset()
) -> RangeResult:
    """Judge a range of a run, without the queries that are `apart`. An error names the line of the whole file.

    A `NotGroupedError` if its rows are not grouped by query.
    """
    with _opened(at, truth, plan, name) as run:
        return _judge_part(truth, RangeRun(run, apart, at.bounds is None) if isinstance(run, TableRun) else run, plan)


def judge_rows(
    truth: Truth,
    rows: pa.Table,
    plan: EvaluationPlan,
    name: str = "",
    *,
    first_is_whole: bool = False,
    last_is_whole: bool = False,
) -> RangeResult:
    """Judge rows of a run that follow each other. The first and the last query may go on beside them, or are whole.

    A `NotGroupedError` if they are not grouped by query. Rows with lists of documents have whole queries.
    """
    columns, key = plan.inputs.run_columns, plan.matching.matcher.key
    run = read_run(rows, truth, columns=columns, key=key, name=name or "the run")
    if isinstance(run, FrameRun):
        run = RangeRun(run, first_is_whole=first_is_whole, last_is_whole=last_is_whole)
    return _judge_part(truth, run, plan)


def _judge_part(truth: Truth, run: Run, plan: EvaluationPlan) -> RangeResult:
    """Judge a part of a run; of a `RangeRun`, the queries that are whole."""
    documents = JudgedDocuments.judge(truth, run, plan, is_part=True)
    loose = run.loose if isinstance(run, RangeRun) else LooseRows.of(())
    return RangeResult(PartResult.of(documents, plan), loose)


def queries_of_range(at: FileRange, plan: EvaluationPlan, name: str = "") -> frozenset[str]:
    """The queries that have rows in a range. No others are needed of the ground truth, if it is large."""
    with _opened(at, Truth.empty(), plan, name) as run:
        batches = run.row_batches() if isinstance(run, TableRun) else run.batches()
        return frozenset(query for load in batches for query in load().queries)


@contextmanager
def _opened(at: FileRange, truth: Truth, plan: EvaluationPlan, name: str) -> Iterator[Run]:
    """The run in a range."""
    inputs, key = plan.inputs, plan.matching.matcher.key
    columns, form = inputs.run_columns, inputs.run_format
    with opened_range(at) as file:
        yield read_run(file, truth, columns=columns, format=form, key=key, name=name or "the run")


def queries_in_several(reports: Collection[RangeReport]) -> frozenset[str]:
    """The queries that are whole in a range, as far as it can tell, but have rows in others.

    A `NotGroupedError` if there are so many of them, or of loose rows, that the run is not grouped by query.
    """
    if sum(len(report.loose) for report in reports) > _MOST_LOOSE:
        raise NotGroupedError
    times = Counter(query for report in reports for query in report.queries)
    times.update({query for report in reports for query in report.loose.queries.unique().to_pylist()})
    several = frozenset(query for query, count in times.items() if count > 1)
    if len(several) > most_apart(len(times)):
        raise NotGroupedError
    return several


def judge_rest(
    truth: Truth, done: Iterable[str], loose: Sequence[LooseRows], plan: EvaluationPlan, name: str, locate: Locate
) -> PartResult:
    """Judge the loose rows of all ranges together, with the queries of the ground truth that are in no range."""
    known = set(done)
    wanted = np.fromiter((query not in known for query in truth.queries), bool, len(truth.queries))
    rest = replace(truth.only(wanted), keyless=truth.keyless)
    return PartResult.of(JudgedDocuments.judge(rest, LooseRun(name, loose, locate), plan), plan)


class SourceSide(Protocol):
    """What is known of ground truth, or of a run, before it is read."""

    @property
    def name(self) -> str: ...

    @property
    def notes(self) -> tuple[Note, ...]: ...

    @property
    def empty_error(self) -> KaratError | None:
        """The error if it has no rows, if that is one."""


def scores_of_parts(
    queries: tuple[str, ...],
    values: Mapping[str, Floats],
    digests: Mapping[str, Sequence[str | None]],
    parts: Sequence[PartFacts],
    plan: EvaluationPlan,
    sides: tuple[SourceSide, SourceSide],
    name: str,
) -> Scores:
    """The scores of all parts. `sides` are ground truth and run; queries, values and digests are those of all parts."""
    truth, run = sides
    facts = _checked_facts(parts, plan, truth, run)
    truths = {
        kind: {query: digest for query, digest in zip(queries, texts, strict=True) if digest is not None}
        for kind, texts in digests.items()
    }
    for part in parts:
        for kind, skipped in part.skipped.items():
            truths[kind] |= skipped
    return scores_of_documents(queries, values, facts, truths, plan, name, parts[0].labels_by, run_name=run.name)


def _checked_facts(
    parts: Sequence[PartFacts], plan: EvaluationPlan, truth: SourceSide, run: SourceSide
) -> DocumentFacts:
    """The facts about all queries; an error if ground truth and run do not fit together."""
    facts = DocumentFacts.merged(each.documents for each in parts)
    for side, has_rows in ((truth, facts.examples), (run, facts.answered or facts.unknown)):
        if not has_rows and side.empty_error is not None:
            raise side.empty_error
    require_truth(facts.examples)
    check_facts(facts, plan.matching.matcher, plan.settings["missing"], run.name)
    return replace(
        facts,
        truth_notes=_with_numeric_ids(truth.notes, facts.truth_notes),
        run_notes=_with_numeric_ids(run.notes, facts.run_notes),
    )


def _with_numeric_ids(notes: Sequence[Note], of_parts: Iterable[Note]) -> tuple[Note, ...]:
    """The notes on a source, with those on its ids, which only the parts show: their others repeat some of these."""
    return (*notes, *(note for note in of_parts if isinstance(note, NumericIds) and note not in notes))
