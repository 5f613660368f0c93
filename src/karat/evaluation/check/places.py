"""Where findings are: the lines of ground truth and runs in which queries and documents are listed."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from karat.errors import KaratError, Place
from karat.evaluation.check.many_findings import room
from karat.evaluation.check.plan import CheckPlan
from karat.reading.bytes.input_file import InputFile
from karat.reading.pairs.any_source import locate_judgments
from karat.reading.pairs.containers import Batch, RankedLists, Run, ScoredMappings, ScoredRows
from karat.reading.pairs.files import DescribedFile
from karat.reading.pairs.places import Locate, Pair, places_of
from karat.scores.finding import Finding


class AboutPair(NamedTuple):
    """A finding about a document of a query, or about the query; the document is then one that is listed for it."""

    finding: Finding
    pair: Pair


@dataclass(frozen=True)
class PairPlaces:
    """Ground truth or a run: where findings about its documents are."""

    name: str
    open: Callable[[], Locate]

    @classmethod
    def of_truth(cls, plan: CheckPlan) -> PairPlaces:
        """The ground truth."""
        name = _name(plan.truth, "the ground truth")
        return cls(
            name, partial(locate_judgments, plan.truth, plan.inputs.truth_columns, plan.inputs.truth_format, name)
        )

    @classmethod
    def of_run(cls, run: Run) -> PairPlaces:
        """A run."""
        return cls(run.name, lambda: run.locate)

    def placed(self, found: Iterable[AboutPair]) -> Iterator[Finding]:
        """The findings with their places. Of very many, those that are only counted have no line."""
        left = iter(found)
        first = [*islice(left, room(0))]
        places: dict[Pair, Place] = {}
        if first:
            with suppress(KaratError):  # whoever reads the source reports it
                places = places_of(self.open(), {each.pair for each in first}, most=1)
        for finding, pair in first:
            yield replace(finding, place=places.get(pair) or Place(self.name, query=pair[0]))
        for finding, _ in left:
            yield replace(finding, place=Place(self.name))


def documents_of(batch: Batch, at: int) -> Collection[str]:
    """The ids of the documents of a query, by its position in a batch."""
    if isinstance(batch, RankedLists):
        return [doc for doc in batch.docs[at] if doc]
    return batch.docs[at] if isinstance(batch, ScoredMappings) else batch.of_query(at)


def first_document(batch: Batch, at: int) -> str:
    """One of the documents of a query, which shows where the query is; empty if it has none."""
    if isinstance(batch, ScoredRows):
        start, stop = batch.offsets[at : at + 2].tolist()
        return batch.docs[start].as_py() if stop > start else ""
    return next(iter(documents_of(batch, at)), "")


def _name(source: Any, default: str) -> str:
    """The name of ground truth in messages."""
    source = source.file if isinstance(source, DescribedFile) else source
    return InputFile.of(source).name if isinstance(source, str | os.PathLike | InputFile) else default
