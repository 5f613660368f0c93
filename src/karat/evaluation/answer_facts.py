"""Facts about answers: what findings and checks need to know, for any part of the questions.

The facts of several parts can be merged. So a part can be evaluated anywhere, and the findings are about all questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import chain
from typing import Self

from karat.data.answers import Answers

_EXAMPLES = 4  # one more than messages show, so that they can say whether there are others


@dataclass(frozen=True)
class AnswerFacts:
    """Facts about the answers to some questions."""

    known: int = 0
    """questions with a gold answer"""
    absent: tuple[str, ...] = ()
    """those of them without a predicted answer"""
    unknown: tuple[str, ...] = ()
    """questions without a gold answer"""
    any_predicted: bool = False
    """whether any question is among the predictions"""
    any_common: bool = False
    """whether any question is in both the ground truth and the predictions"""
    truth_examples: tuple[str, ...] = ()
    """the first questions of the ground truth by id, if none is in both"""
    prediction_examples: tuple[str, ...] = ()
    """the first questions of the predictions by id, if none is in both"""

    @classmethod
    def of(
        cls, answers: Answers, golds: Mapping[str, Sequence[str] | None], predicted: Mapping[str, str | None]
    ) -> Self:
        """The facts about the answers to the questions that have gold answers."""
        absent: list[str] = []
        if None in answers.predicted:
            rows = zip(answers.queries, answers.predicted, strict=True)
            absent = [query for query, answer in rows if answer is None]
        unknown = (
            [query for query, texts in golds.items() if texts is None] if len(answers.queries) < len(golds) else []
        )
        if predicted.keys() - golds.keys():
            unknown += [query for query in predicted if query not in golds]
        any_common = not golds.keys().isdisjoint(predicted)
        examples = [() if any_common else tuple(nsmallest(_EXAMPLES, each)) for each in (golds, predicted)]
        return cls(len(answers.queries), tuple(absent), tuple(unknown), bool(predicted), any_common, *examples)

    @classmethod
    def merged(cls, parts: Iterable[Self]) -> Self:
        """The facts about the questions of all parts, each of which has other questions."""
        several = list(parts)
        return cls(
            sum(part.known for part in several),
            tuple(chain.from_iterable(part.absent for part in several)),
            tuple(chain.from_iterable(part.unknown for part in several)),
            any(part.any_predicted for part in several),
            any(part.any_common for part in several),
            tuple(nsmallest(_EXAMPLES, chain.from_iterable(part.truth_examples for part in several))),
            tuple(nsmallest(_EXAMPLES, chain.from_iterable(part.prediction_examples for part in several))),
        )
