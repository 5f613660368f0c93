"""The answers of a report: gold and predicted answers, and the words that they share."""

from __future__ import annotations

from typing import Any

import numpy as np

from karat.data.answers import Answers
from karat.data.judged import share
from karat.measures import meanings
from karat.measures.answers.overlap import word_overlap
from karat.measures.answers.shared_words import shared_words
from karat.report.subject import ReportSubject


def answers_part(subject: ReportSubject) -> dict[str, Any] | None:
    """The gold answers of each query, the predicted answers of each system, and what they share."""
    if all(scores.answers is None for scores in subject.systems.values()):
        return None
    normalize = _normalization(subject)
    golds: list[list[str] | None] = [None] * len(subject.queries)
    predicted: list[list[str | None] | None] = []
    shared: list[list[list[list[Any]] | None]] = []
    for scores in subject.systems.values():
        texts: list[str | None] = [None] * len(subject.queries)
        spans: list[list[list[Any]] | None] = [None] * len(subject.queries)
        answers = scores.answers
        for row, best in enumerate([] if answers is None else _best_golds(answers, normalize)):
            place = None if answers is None else subject.places.get(answers.queries[row])
            if answers is None or place is None:
                continue
            of_query, text = list(answers.golds[row]), answers.predicted[row]
            golds[place] = golds[place] or of_query
            texts[place] = text
            if best is not None and text is not None and golds[place] == of_query:
                spans[place] = [[best, *shared_words(of_query[best], text, normalize)]]
        predicted.append(None if answers is None else texts)
        shared.append(spans)
    return {"gold": golds, "predicted": predicted, "shared": shared}


def _normalization(subject: ReportSubject) -> str:
    """How the first measure of answers that ignores any differences normalizes them."""
    for name in subject.measures:
        for measure in meanings(name)[:1]:
            value = measure.get("normalize")
            if measure.definition.takes == "answers" and value in ("true", "neutral"):
                return str(value)
    return "true"


def _best_golds(answers: Answers, normalize: str) -> list[int | None]:
    """For each question, the gold answer that shares most words with the predicted one; None if there is none."""
    words = word_overlap(answers, normalize)
    scores = share(2 * words.shared, words.gold + words.predicted)
    found: list[int | None] = []
    start = 0
    for golds, predicted in zip(answers.golds, answers.predicted, strict=True):
        size = 0 if predicted is None else len(golds)
        found.append(int(np.argmax(scores[start : start + size])) if size else None)
        start += size
    return found
