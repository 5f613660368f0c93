"""The verdicts of a report: the labels of each query, what is unsupported, and the bounds that unknown labels allow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from karat.report.budget import Budget
from karat.report.documents import Documents
from karat.report.labels import SystemLabels, unsupported
from karat.report.numbers import number
from karat.report.subject import ReportSubject
from karat.scores import Scores


def verdicts_part(subject: ReportSubject, documents: Documents, budget: Budget) -> dict[str, Any] | None:
    """The labels of all systems; None if there are none.

    `labels` has the items of each query, for each system; None stands for a query whose labels are left out, and for a
    system without labels of it. `unsupported` counts items by system and query, and `failed` labels that failed.
    """
    evidence = [scores.verdicts for scores in subject.systems.values()]
    systems = [None if each is None else SystemLabels(each, documents) for each in evidence]
    selected = [None if each is None else each.selected for each in evidence]
    if not any(systems):
        return None
    scales = {
        task.name: sorted(task.scale, key=task.scale.__getitem__)
        for each in selected
        if each is not None
        for task in each.records.tasks.values()
    }

    def of_query(place: int) -> list[Any]:
        query = subject.queries[place]
        return [None if labels is None else labels.of_query(query) for labels in systems]

    return {
        "scales": scales,
        "authors": [None if each is None else list(each.authors) for each in selected],
        "samples": [None if each is None else len(each.samples) for each in selected],
        "prompts": [None if labels is None else labels.failures.prompts for labels in systems],
        "relations": [None if labels is None else labels.relations for labels in systems],
        "labels": budget.labels(of_query),
        "unsupported": [_unsupported(subject, scores) for scores in subject.systems.values()],
        "failed": [None if labels is None else _failed(subject, labels) for labels in systems],
    }


def passages_in_order(subject: ReportSubject, verdicts: Mapping[str, Any] | None) -> Iterator[int]:
    """The documents that are passages of a query, those of the largest changes first."""
    for place in subject.by_change.tolist() if verdicts is not None else ():
        for shown in verdicts["labels"][place] or () if verdicts is not None else ():
            yield from (item["doc"] for item in (shown or {}).get("passages", ()))


def _unsupported(subject: ReportSubject, scores: Scores) -> list[int] | None:
    """How many claims and sentences of each query nothing supports."""
    if scores.verdicts is None:
        return None
    found = [0] * len(subject.queries)
    labelled = scores.verdicts.selected.samples[0].queries
    for query, count in zip(labelled, unsupported(scores.verdicts).tolist(), strict=True):
        if query in subject.places:
            found[subject.places[query]] = count
    return found


def _failed(subject: ReportSubject, labels: SystemLabels) -> list[int]:
    """How many labels of each query failed."""
    return [len(labels.failures.rows.get(query, ())) for query in subject.queries]


def label_bounds(subject: ReportSubject) -> list[dict[str, dict[str, Any]]] | None:
    """The bounds of the queries that lack labels, by system, measure and query, as positions; None if there are none.

    They are [low, high, whether they are exact], and None for a query with nothing to judge.
    """
    found = [_bounds(subject, scores) for scores in subject.systems.values()]
    return found if any(found) else None


def _bounds(subject: ReportSubject, scores: Scores) -> dict[str, dict[str, Any]]:
    places, found = subject.rows(scores), {}
    for measure, bounds in scores.label_bounds.items():
        of_measure: dict[str, Any] = {}
        for at in np.flatnonzero((bounds.unknown > 0) | np.isnan(bounds.low)).tolist():
            low, high = number(float(bounds.low[at])), number(float(bounds.high[at]))
            of_measure[str(places[at])] = None if low is None else [low, high, bool(bounds.exact[at])]
        found[str(subject.measures.index(measure))] = of_measure
    return found
