"""Grades of documents from labels, for documents that ground truth does not judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from karat.errors import KaratError
from karat.labels.counting import choose_authors, label_status
from karat.labels.reading import VerdictRecords
from karat.labels.votes import ChosenLabels, chosen_labels


@dataclass(frozen=True)
class DocumentGrades:
    """The grade of each document by query, who gave it, and what became of the other labels."""

    grades: Mapping[str, Mapping[str, float]]
    by: str
    chosen: ChosenLabels


def document_grades(records: VerdictRecords, by: str | None = None) -> DocumentGrades:
    """The grades of documents by the chosen authors; by default by people, or by the only model.

    >>> from karat.labels.reading import read_verdict_records
    >>> row = {"query": "q1", "type": "document", "task": "relevance", "by": "a-model"}
    >>> labels = [{**row, "item": "d7", "label": 2}, {**row, "item": "d8", "label": None, "state": "failed"}]
    >>> document_grades(read_verdict_records(labels)).grades
    {'q1': {'d7': 2.0}}
    """
    rows = np.flatnonzero(records.about_documents())
    if not len(rows):
        hint = "`karat judge TRUTH RUN... --task relevance` grades documents; labels of answers are for results."
        raise KaratError("no label is about a document", place=records.name, hint=hint)
    authors = choose_authors(records.labels.by.take(rows).counts(), by, records.name)
    chosen = chosen_labels(records, authors, label_status(records), of_documents=True)
    task = records.tasks["relevance"]
    grades: dict[str, dict[str, float]] = {}
    for subject, label in chosen.labels.items():
        grades.setdefault(subject.query, {})[subject.item] = float(task.value(label))
    return DocumentGrades(grades, ", ".join(authors), chosen)
