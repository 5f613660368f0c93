"""What is checked, and how: the sources, and the options of an evaluation that decide what is wrong."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from karat.errors import KaratError
from karat.evaluation.check.claimed_scores import ClaimedScore
from karat.evaluation.reading import ReadingOptions
from karat.matching.matcher import Matcher
from karat.reading.pairs.data_sets import is_data_set, qrels_of_split
from karat.registry.selection import Selection


@dataclass(frozen=True)
class CheckPlan:
    """What is checked together."""

    truth: Any
    runs: Mapping[str, Any]
    """by their names in messages: the paths of files"""
    measures: Selection
    settings: Mapping[str, Any]
    """all options of `evaluate`"""
    matcher: Matcher
    inputs: ReadingOptions
    queries: Any = None
    """the texts of queries, if they are known"""
    corpus: Any = None
    """the texts of documents, if they are known"""
    claimed: Mapping[str, Sequence[ClaimedScore]] = field(default_factory=dict)
    """scores that somebody claims, by the names of runs in messages"""
    folder: str | os.PathLike[str] | None = None
    """the data set whose ground truth is checked"""

    def with_qrels(self) -> CheckPlan:
        """The plan with the file of ground truth in place of the folder of a data set."""
        if not (isinstance(self.truth, str | os.PathLike) and is_data_set(self.truth)):
            return self
        try:
            qrels = qrels_of_split(self.truth, self.inputs.split)
        except KaratError:  # whoever reads it finds it again
            return replace(self, folder=self.truth)
        return replace(self, truth=qrels, inputs=self.inputs._replace(split=None), folder=self.truth)


@dataclass(frozen=True)
class LogPlan:
    """Which log of a RAG system is checked, how it is read, and how its documents are matched."""

    log: Any
    name: str
    """in messages, if it is not a file"""
    measures: Selection
    settings: Mapping[str, Any]
    """all options of `evaluate`"""
    matcher: Matcher
    fields: Mapping[str, str] | None = None
    input_format: str | None = None
    records: str | None = None
