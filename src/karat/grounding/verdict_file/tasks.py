"""What is labelled, and on which scale: the built-in tasks, and rubrics of the user's own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from karat.documents.ids import reject_lone_surrogates
from karat.errors import KaratError, Place, did_you_mean, shown
from karat.errors.arguments import as_number

NOTHING_TO_JUDGE = "nothing_to_judge"
"""the state of an item that has no label, because there is none to give"""


@dataclass(frozen=True)
class Task:
    """A task: its name, the number that each label stands for, and the question that is asked."""

    name: str
    scale: Mapping[str, float]
    question: str = ""

    def record(self) -> dict[str, object]:
        """The task as a record of a verdict file."""
        return {"record": "task", "name": self.name, "question": self.question, "scale": dict(self.scale)}

    def check_same_scale(self, known: Task | None, place: Place | str) -> None:
        """Raise an error if the task is known with another scale."""
        if known is not None and known.scale != self.scale:
            hint = "Give the changed rubric another name: labels on two scales cannot be compared."
            raise KaratError(f"the task {shown(self.name)} already has another scale", place=place, hint=hint)

    def label(self, value: object, place: Place | None) -> str:
        """A label as it is spelled on the scale, which has 2 for 2.0; a label that is not on it is an error."""
        number = int(value) if isinstance(value, float) and value.is_integer() else value
        text = str(number).strip()
        if text in self.scale:
            return text
        near = did_you_mean(text, self.scale)
        what = f"the label {shown(value)} is not on the scale of the task {shown(self.name)}"
        raise KaratError(what, place=place, hint=f"{near} The labels are {', '.join(self.scale)}.".strip())

    def value(self, label: str) -> float:
        """What measures read: the label from 0 to 1, and for `relevance` its grade."""
        if self.name == "relevance":
            return self.scale[label]
        lowest, highest = min(self.scale.values()), max(self.scale.values())
        return (self.scale[label] - lowest) / (highest - lowest)


BUILT_IN = {
    task.name: task
    for task in (
        Task(
            "support",
            {"none": 0, "partial": 0.5, "full": 1},
            "Is this stated in the text it is compared with: in full, in part, or not at all?",
        ),
        Task("relevance", {"0": 0, "1": 1, "2": 2, "3": 3}, "How relevant is this passage to the question?"),
        Task("correctness", {"incorrect": 0, "partial": 0.5, "correct": 1}, "Is this answer correct?"),
        Task(
            "answer_relevance",
            {"no": 0, "partly": 0.5, "fully": 1},
            "Does this answer address the question, whether right or wrong?",
        ),
        Task("abstention", {"answered": 0, "refused": 1}, "Does this answer the question, or refuse to?"),
    )
}


class UnknownTaskError(KaratError):
    """A label of a task that no record describes, at least not yet: the record may stand in another place."""

    def __init__(self, name: str, known: Iterable[str], place: Place) -> None:
        hint = f"{did_you_mean(name, known)} A rubric needs a record of its own:"
        hint += ' {"record": "task", "name": ..., "scale": {label: number, ...}}.'
        super().__init__(f"unknown task {shown(name)}", place=place, hint=hint.strip())


def read_task(record: Mapping[str, object], place: Place | str) -> Task:
    """A rubric from its record; a scale of fewer than two labels, or with wrong numbers, is an error."""
    name, question, scale = record.get("name"), record.get("question"), record.get("scale")
    if not isinstance(name, str) or not name:
        raise KaratError(f"the name of a task is {shown(name)}", place=place, hint="It must be a text.")
    if question is not None and not isinstance(question, str):
        raise KaratError(f"the question of the task {shown(name)} is {shown(question)}, not a text", place=place)
    if name in BUILT_IN:
        hint = "Give the rubric another name."
        raise KaratError(f"{name} is a built-in task, whose scale is fixed", place=place, hint=hint)
    example = 'For example {"rude": 0, "neutral": 1, "polite": 2}.'
    if not isinstance(scale, Mapping):
        raise KaratError(f"the scale of the task {shown(name)} is {shown(scale)}", place=place, hint=example)
    numbers = {str(label).strip(): as_number(number) for label, number in scale.items()}
    known = {label: number for label, number in numbers.items() if number is not None and math.isfinite(number)}
    if len(known) < len(scale) or not 0 < max(known.values(), default=0) - min(known.values(), default=0) < math.inf:
        what = f"the scale of the task {shown(name)} is {shown(scale)}"
        raise KaratError(what, place=place, hint=f"It maps at least two labels to different numbers. {example}")
    for label in ("", NOTHING_TO_JUDGE):
        if label in known:
            what = f"{shown(label)} is not a label that the scale of the task {shown(name)} can have"
            raise KaratError(what, place=place, hint=f"Give it another name. {example}")
    reject_lone_surrogates([name, *known], place)
    return Task(name, known, question or "")
