"""The answers of a report: gold and predicted answers, and the words that they share."""

from __future__ import annotations

from typing import Any

from karat.report.subject import ReportSubject


def answers_part(subject: ReportSubject) -> dict[str, Any] | None:
    """The gold answers of each query, the predicted answers of each system, and what they share."""
    if all(scores.answers is None for scores in subject.systems.values()):
        return None
    golds: list[list[str] | None] = [None] * len(subject.queries)
    predicted: list[list[str | None]] = []
    for scores in subject.systems.values():
        row: list[str | None] = [None] * len(subject.queries)
        if scores.answers is not None:
            for query, of_query, text in zip(
                scores.answers.queries, scores.answers.golds, scores.answers.predicted, strict=True
            ):
                place = subject.places.get(query)
                if place is not None:
                    golds[place] = golds[place] or list(of_query)
                    row[place] = text
        predicted.append(row)
    return {"gold": golds, "predicted": predicted, "shared": [[None] * len(subject.queries) for _ in predicted]}
