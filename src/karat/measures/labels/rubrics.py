"""The answer as a whole: graded on a scale, about the question or not, or refused."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from karat.data.judged import Floats
from karat.data.verdicts import Relation, Verdicts
from karat.registry import Help, LabelRelation, Measure, register

Task = Annotated[str, Help("the task whose labels are read: correctness, or a rubric of your own")]
Questions = Annotated[
    Literal["all", "answerable", "unanswerable"],
    Help("which questions count: all, only those with a gold answer, or only those without one"),
]


def _label_of_answer(measure: Measure) -> dict[LabelRelation, int]:
    return {Relation(str(measure.get("task")), "answer"): 1}


@register(
    formula="Correctness = (label − lowest) / (highest − lowest) on the scale of the task",
    reference="a rubric, graded by a person or a model",
    takes="verdicts",
    aliases=("correctness",),
    labels=_label_of_answer,
)
def Correctness(verdicts: Verdicts, *, task: Task = "correctness") -> Floats:
    """Correctness: the grade of the answer on the scale of a rubric, from 0 to 1.

    >>> label = {"query": "q", "item": "answer", "task": "correctness", "label": "partial"}
    >>> evaluate_verdicts([label], "Correctness")["Correctness"]
    0.5
    """
    return verdicts.answer(task)


@register(
    formula="AnswerRelevance = 1 if the answer addresses the question fully, ½ if partly, 0 if not",
    reference="TruLens, Answer relevance (RAG triad); on a scale of three labels",
    takes="verdicts",
    aliases=("answer_relevance",),
    labels=lambda _: {Relation("answer_relevance", "answer"): 1},
)
def AnswerRelevance(verdicts: Verdicts) -> Floats:
    """Answer relevance: how far the answer addresses the question, whether it is right, supported or neither.

    A refusal and an empty answer do not address it. Whether a refusal was right is what `Abstention` measures.

    >>> row = {"task": "answer_relevance", "item": "answer"}
    >>> labels = [{**row, "query": "q", "label": "fully"}, {**row, "query": "r", "label": "partly"}]
    >>> evaluate_verdicts(labels, "AnswerRelevance")["AnswerRelevance"]
    0.75
    """
    return verdicts.answer("answer_relevance")


@register(
    formula="Abstention = 1 if the answer refuses an unanswerable question or answers an answerable one, else 0",
    reference="Rajpurkar et al. (2018), Know What You Don't Know: Unanswerable Questions for SQuAD, ACL",
    takes="verdicts",
    aliases=("abstention",),
    labels=lambda _: {Relation("abstention", "answer"): 0, Relation("abstention", "gold"): 0},
)
def Abstention(verdicts: Verdicts, *, questions: Questions = "all") -> Floats:
    """Abstention: whether the system refuses to answer exactly if the question cannot be answered.

    `Abstention(questions=unanswerable)` is the share of unanswerable questions that were refused, and
    `Abstention(questions=answerable)` that of answerable questions that were not; others are null.

    >>> row = {"task": "abstention", "item": "answer", "label": "refused"}
    >>> gold = {"task": "abstention", "item": "gold"}
    >>> labels = [{**row, "query": "q"}, {**gold, "query": "q", "label": "answered"}]
    >>> labels += [{**row, "query": "r"}, {**gold, "query": "r", "label": "refused"}]
    >>> evaluate_verdicts(labels, ["Abstention", "Abstention(questions=unanswerable)"]).means
    {'Abstention': 0.5, 'Abstention(questions=unanswerable)': 1.0}
    """
    refused, unanswerable = verdicts.answer("abstention"), verdicts.answer("abstention", "gold")
    right = 1 - np.abs(refused - unanswerable)
    counted = {"all": refused >= 0, "answerable": unanswerable == 0, "unanswerable": unanswerable == 1}[questions]
    return np.where(counted, right, np.nan)
