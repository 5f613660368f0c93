"""The answers of a report: gold and predicted answers with the words that they share, and the labels of answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from karat.data.answers import Answers
from karat.data.judged import share
from karat.measures import meanings
from karat.measures.answers.overlap import word_overlap
from karat.measures.answers.shared_words import shared_words
from karat.report.budget import Budget
from karat.report.labels import SystemLabels
from karat.report.rankings import Documents
from karat.report.subject import ReportSubject, number
from karat.scores import Scores


def answers_part(subject: ReportSubject) -> dict[str, Any] | None:
    """The gold answers of each query, the predicted answers of each system, and what they share."""
    if all(scores.answers is None for scores in subject.systems.values()):
        return None
    normalize = _normalization(subject)
    golds: list[list[str] | None] = [None] * len(subject.queries)
    predicted: list[list[str | None] | None] = []
    shared: list[list[list[list[Any]] | None]] = []
    for answers in (scores.answers for scores in subject.systems.values()):
        texts: list[str | None] = [None] * len(subject.queries)
        spans: list[list[list[Any]] | None] = [None] * len(subject.queries)
        for query, own_golds, text, best in () if answers is None else _best_golds(answers, normalize):
            if (place := subject.places.get(query)) is None:
                continue
            golds[place] = golds[place] or own_golds
            texts[place] = text
            if best is not None and text is not None and golds[place] == own_golds:
                spans[place] = [[best, *shared_words(own_golds[best], text, normalize)]]
        predicted.append(None if answers is None else texts)
        shared.append(spans)
    return {"gold": golds, "predicted": predicted, "shared": shared}


def verdicts_part(subject: ReportSubject, documents: Documents, budget: Budget) -> dict[str, Any] | None:
    """The labels of all systems; None if there are none.

    `labels` has the items of each query, for each system; None stands for a query whose labels are left out, and for a
    system without labels of it. `support`, `unsupported` and `contradicted` count items by system and query, and
    `failed` labels that failed. `means` is what labels mean, by task.
    """
    evidence = [scores.verdicts for scores in subject.systems.values()]
    systems = [None if verdicts is None else SystemLabels(verdicts, documents) for verdicts in evidence]
    if not any(systems):
        return None
    tasks = [task for labels in systems if labels is not None for task in labels.selected.records.tasks.values()]

    def by_system(part: Callable[[SystemLabels], Any]) -> list[Any]:
        return [None if labels is None else part(labels) for labels in systems]

    def by_query(counts: Mapping[str, int]) -> list[int]:
        return [counts.get(query, 0) for query in subject.queries]

    return {
        "scales": {task.name: task.labels for task in tasks},
        "means": {task.name: dict(task.means) for task in tasks if task.means},
        "authors": by_system(lambda labels: list(labels.selected.authors)),
        "samples": by_system(lambda labels: len(labels.selected.samples)),
        "prompts": by_system(lambda labels: labels.failures.prompts),
        "relations": by_system(lambda labels: labels.relations),
        "labels": budget.labels(lambda place: by_system(lambda labels: labels.of_query(subject.queries[place]))),
        "support": by_system(lambda labels: list(map(labels.support.by_query().get, subject.queries))),
        "unsupported": by_system(lambda labels: by_query(labels.support.unsupported())),
        "contradicted": by_system(lambda labels: by_query(labels.support.contradicted())),
        "failed": by_system(
            lambda labels: by_query({query: len(rows) for query, rows in labels.failures.rows.items()})
        ),
    }


def passages_in_order(subject: ReportSubject, verdicts: Mapping[str, Any] | None) -> Iterator[int]:
    """The documents that are passages of a query, those of the largest changes first."""
    if verdicts is not None:
        for place in subject.by_change.tolist():
            for items in verdicts["labels"][place] or ():
                yield from (item["doc"] for item in (items or {}).get("passages", ()))


def label_bounds(subject: ReportSubject) -> list[dict[str, dict[str, Any]]] | None:
    """The bounds of the queries that lack labels, by system, measure and query, as positions; None if there are none.

    They are [low, high, whether they are exact], and None for a query with nothing to judge.
    """
    bounds = [_bounds(subject, scores) for scores in subject.systems.values()]
    return bounds if any(bounds) else None


def _bounds(subject: ReportSubject, scores: Scores) -> dict[str, dict[str, Any]]:
    places = subject.rows(scores)
    by_measure: dict[str, dict[str, Any]] = {}
    for measure, bounds in scores.label_bounds.items():
        by_query = by_measure[str(subject.measures.index(measure))] = {}
        for at in np.flatnonzero((bounds.unknown > 0) | np.isnan(bounds.low)).tolist():
            low, high = number(float(bounds.low[at])), number(float(bounds.high[at]))
            by_query[str(places[at])] = None if low is None else [low, high, bool(bounds.exact[at])]
    return by_measure


def _normalization(subject: ReportSubject) -> str:
    """How the first measure of answers that ignores any differences normalizes them."""
    for name in subject.measures:
        for measure in meanings(name)[:1]:
            value = measure.get("normalize")
            if measure.definition.takes == "answers" and value in ("true", "neutral"):
                return str(value)
    return "true"


def _best_golds(answers: Answers, normalize: str) -> Iterator[tuple[str, list[str], str | None, int | None]]:
    """Each question with its gold answers, the predicted one, and which gold answer shares most words with that."""
    words = word_overlap(answers, normalize)
    scores = share(2 * words.shared, words.gold + words.predicted)
    start = 0
    for query, golds, predicted in zip(answers.queries, answers.golds, answers.predicted, strict=True):
        size = 0 if predicted is None else len(golds)
        yield query, list(golds), predicted, int(np.argmax(scores[start : start + size])) if size else None
        start += size
