"""Runs and ground truth from any source, in batches of rows to be written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from karat.errors import KaratError, Place
from karat.reading.bytes.input_file import InputFile, Progress, is_file
from karat.reading.pairs.any_source import Run, read_run, read_truth
from karat.reading.pairs.arrays import text_column
from karat.reading.pairs.containers import Batch, InMemoryRun, RankedLists, ScoredMappings, ScoredRows, Truth
from karat.reading.pairs.data_sets import named_data_set
from karat.reading.pairs.files import Reading, open_file
from karat.reading.pairs.tables import ByQuery, Number, TableRun


@dataclass(frozen=True)
class PairSource:
    """A run or ground truth: queries, their documents, and the number of each pair, which is a grade or a score."""

    run: Run
    number: Number
    by_rank: bool = False
    """whether a run has ranks and no scores: the number is minus the rank"""
    is_listed: bool = False
    """whether documents were listed in their order, without numbers; that of a gold document is 1"""
    has_objects: bool = False
    """whether any document was listed as an object, of which only the id is converted"""

    @property
    def name(self) -> str:
        return self.run.name

    def batches(self, *, grouped: bool) -> Iterator[Callable[[], ScoredRows]]:
        """The rows in batches of complete queries, or else in their own order, in which a query may appear again."""
        in_order = self.run.row_batches if isinstance(self.run, TableRun) else self.run.batches
        batches = self.run.grouped_batches() if grouped else in_order()
        return (partial(_rows, batch, self.name) for batch in batches)


def read_pairs(source: Any, reading: Reading, progress: Progress | None = None) -> PairSource:
    """Read a run or ground truth from a file or a Python object. Tables in files are read later, batch by batch."""
    if reading.number == "score":
        truth = _numbered_queries(len(source) if isinstance(source, Sequence) else 0)
        run = read_run(source, truth, columns=reading.columns, format=reading.format, progress=progress)
        parts = run.parts if isinstance(run, InMemoryRun) else ()
        lists = [part for part in parts if isinstance(part, RankedLists)]
        has_objects = not all(isinstance(each, str | int) for part in lists for docs in part.documents for each in docs)
        is_listed = bool(lists) and len(lists) == len(parts)
        by_rank = run.table.by_rank if isinstance(run, TableRun) else is_listed
        return PairSource(run, "score", by_rank, is_listed, has_objects)
    if is_file(source) and not named_data_set(source):
        content, notes = open_file(InputFile.of(source), reading)
        if not isinstance(content, ByQuery):
            return PairSource(TableRun(content, progress, notes), "grade")
        truth = read_truth(content.documents, name=InputFile.of(source).name)
        truth = replace(truth, notes=(*notes, *content.notes))
        return _of_truth(truth, InputFile.of(source).name)
    return _of_truth(read_truth(source, columns=reading.columns), "the ground truth")


def _of_truth(truth: Truth, name: str) -> PairSource:
    if truth.scores is not None:
        hint = "Write ground truth as {query: {doc: grade}}."
        raise KaratError("gold documents that are objects with scores cannot be converted", place=name, hint=hint)
    if truth.keyless:
        raise _without_id(name)
    rows = ScoredRows(list(truth.queries), truth.offsets, text_column(truth.docs), truth.grades, _locate_nothing(name))
    return PairSource(InMemoryRun(name, (rows,), truth.notes), "grade", is_listed=truth.only_relevant)


def _numbered_queries(n: int) -> Truth:
    """Queries without documents: lists of documents, which have no query ids, are numbered from 0."""
    return Truth(tuple(map(str, range(n))), np.zeros(n + 1, np.int64), [], np.empty(0))


def _rows(batch: Callable[[], Batch], name: str) -> ScoredRows:
    """A batch as columns."""
    content = batch()
    if isinstance(content, ScoredMappings):
        docs = text_column(list(chain.from_iterable(content.docs)))
        return ScoredRows(content.queries, content.offsets, docs, content.scores, _locate_nothing(name))
    if isinstance(content, RankedLists):
        sizes = np.fromiter(map(len, content.docs), np.int64, len(content.docs))
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        ids = [doc for doc in chain.from_iterable(content.docs) if doc]
        # The id of an object without one is a digest of its text.
        objects = (each for each in chain.from_iterable(content.documents) if isinstance(each, Mapping))
        if len(ids) < offsets[-1] or any(each.get("id") is None for each in objects):
            raise _without_id(name)
        ranks = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes) + 1
        return ScoredRows(content.queries, offsets, text_column(ids), -ranks.astype(float), _locate_nothing(name))
    return content


def _locate_nothing(name: str) -> Callable[[str, str], Place]:
    """A mapping and a list have no line numbers."""
    return lambda query, doc: Place(name, query=query)  # noqa: ARG005


def _without_id(name: str) -> KaratError:
    hint = "Runs and ground truth are converted by their ids; results files may contain whole documents."
    return KaratError("a document has no id", place=name, hint=hint)
