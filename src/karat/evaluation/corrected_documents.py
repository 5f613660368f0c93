"""Measures of documents that a model graded, and their values by the grades of people for drawn queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from karat.data.judged import Floats
from karat.errors import Message, Parameter, require
from karat.evaluation.corrected import PeoplesValues, TwoJudges, drawn_samples, queries_of, with_corrections
from karat.evaluation.documents import JudgedDocuments
from karat.evaluation.reading import require_labels
from karat.grounding.labels.votes import document_grades
from karat.grounding.verdict_file.reading import VerdictRecords, read_verdict_records
from karat.options import Ties
from karat.reading.pairs.containers import GradesFromLabels, Truth
from karat.registry.selection import Selection
from karat.scores import Scores


@dataclass(frozen=True, eq=False)
class GradesByPeople:
    """The grades that people gave to documents which a model graded, too."""

    records: VerdictRecords
    judges: TwoJudges
    grades: Mapping[str, Mapping[str, float]]
    authors: Sequence[str]
    divided: Set[str]
    outdated: Set[str]

    @classmethod
    def of(cls, verdicts: Any, author: str | None, ties: Ties) -> Self:
        """The grades in verdict files; `author` is the model that they correct, if there are several."""
        what: Message = [Parameter("ties", ties), " ranks documents by their grades, and those of people are others"]
        require(ties in ("trec", "input"), what, ["Leave it out, or leave out ", Parameter("correct"), "."])
        require_labels(verdicts)
        records = read_verdict_records(verdicts)
        judges = TwoJudges.of(records, author, of_documents=True)
        labels = document_grades(records, judges.people)
        divided, outdated = queries_of(labels.chosen.tied), queries_of(labels.chosen.stale)
        return cls(records, judges, labels.grades, labels.by.split(", "), divided, outdated)

    def correct(self, scores: Scores, documents: JudgedDocuments, measures: Selection) -> Scores:
        """Scores by the grades of the model, with the values by people for queries that were drawn at random.

        A value by people has their grades for exactly the documents that the model graded.
        """
        truth = documents.evidence.truth
        if truth.labels is None:
            return scores
        samples = drawn_samples(self.records, truth.queries, of_documents=True)
        queries = {query for sample in samples for query in sample}
        grades, unasked, not_by_model, incomplete = self._of_rows(truth, truth.labels, queries)
        by_people = documents.regraded(grades)
        without = not_by_model | incomplete
        values = {}
        for measure, column in by_people.values(measures).items():
            by_query = zip(by_people.judged.queries, column.tolist(), strict=True)
            known = {query: value for query, value in by_query if query in queries and query not in without}
            values[measure] = PeoplesValues(
                known, unasked, not_by_model=not_by_model, divided=self.divided, outdated=self.outdated
            )
        return with_corrections(scores, values, samples, self.records, self.authors, self.judges)

    def _of_rows(
        self, truth: Truth, labels: GradesFromLabels, queries: set[str]
    ) -> tuple[Floats, set[str], set[str], set[str]]:
        """The grades of people for the rows that the model graded, NaN for all others; and three sets of queries.

        Those in which there was nothing to grade, those of which people graded documents that the model did not, and
        those of which they did not grade all that it did.
        """
        grades = np.full(len(truth.grades), np.nan)
        unasked, not_by_model, incomplete = set(), set(), set()
        for query in queries:
            rows = truth.index(truth.positions[query])
            wanted = {doc: row for doc, row in rows.items() if labels.rows[row]}
            judged = {doc for doc, row in rows.items() if not labels.rows[row] and truth.grades[row] >= 0}
            by_people = {doc: grade for doc, grade in self.grades.get(query, {}).items() if doc not in judged}
            if not wanted and not by_people:
                unasked.add(query)
            elif by_people.keys() - wanted.keys():
                not_by_model.add(query)
            elif wanted.keys() - by_people.keys():
                incomplete.add(query)
            else:
                grades[[wanted[doc] for doc in by_people]] = [*by_people.values()]
        return grades, unasked, not_by_model, incomplete
