"""What is labelled, and on which scale: the built-in tasks, and rubrics of the user's own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from karat.documents.ids import reject_lone_surrogates
from karat.errors import KaratError, Place, did_you_mean, shown
from karat.errors.arguments import as_number

NOTHING_TO_JUDGE = "nothing_to_judge"
"""the state of an item that has no label, because there is none to give"""
CONTRADICTS = "contradicts"
"""the label of support for what a text contradicts; its number is that of `none`"""
_EXAMPLE = 'For example {"rude": 0, "neutral": 1, "polite": {"value": 2, "means": "it is friendly"}}.'


@dataclass(frozen=True)
class Task:
    """A task: its name, the number that each label stands for, the question that is asked, and what labels mean.

    Two records with the same name are about the same task if their labels and numbers are the same: the words may be
    improved, and labels by the old and the new words count together.
    """

    name: str
    scale: Mapping[str, float]
    question: str = ""
    means: Mapping[str, str] = field(default_factory=dict)
    """what labels mean, in words; of a rubric, not all labels need it"""

    @property
    def labels(self) -> list[str]:
        """The labels from the lowest to the highest; those with the same number in the order of the scale."""
        return sorted(self.scale, key=self.scale.__getitem__)

    @property
    def described_scale(self) -> dict[str, object]:
        """The scale as it is written: the number of each label, with what the label means where that is known."""
        return {
            label: {"value": number, "means": self.means[label]} if label in self.means else number
            for label, number in self.scale.items()
        }

    def record(self) -> dict[str, object]:
        """The task as a record of a verdict file."""
        return {"record": "task", "name": self.name, "question": self.question, "scale": self.described_scale}

    def check_same_scale(self, known: Task | None, place: Place | str) -> None:
        """Raise an error if the task is known with other labels or numbers; the words may be others."""
        if known is not None and known.scale != self.scale:
            hint = "Give the changed rubric another name: labels on two scales cannot be compared."
            raise KaratError(f"the task {shown(self.name)} already has another scale", place=place, hint=hint)

    def label(self, value: object, place: Place | None) -> str:
        """A label as it is spelled on the scale, which has 2 for 2.0; a label that is not on it is an error."""
        number = int(value) if isinstance(value, float) and value.is_integer() else value
        size = as_number(value)
        is_written = isinstance(value, str) or (size is not None and math.isfinite(size))
        text = str(number).strip() if is_written else ""  # of an object, or of thousands of digits, there is no text
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
            {CONTRADICTS: 0, "none": 0, "partial": 0.5, "full": 1},
            "Is this stated in the text it is compared with: in full, in part, not at all, or does that contradict it?",
            {
                CONTRADICTS: "the text says otherwise",
                "none": "the text does not state it",
                "partial": "the text states a part of it",
                "full": "the text states all of it",
            },
        ),
        Task(
            "relevance",
            {"0": 0, "1": 1, "2": 2, "3": 3},
            "How relevant is this passage to the question?",
            {
                "0": "not relevant",
                "1": "on the topic, but answers no part of the question",
                "2": "contains something that answers the question",
                "3": "answers the question completely",
            },
        ),
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
    if not isinstance(scale, Mapping):
        raise KaratError(f"the scale of the task {shown(name)} is {shown(scale)}", place=place, hint=_EXAMPLE)
    entries = {str(label).strip(): _scale_entry(str(label), value, name, place) for label, value in scale.items()}
    known = {label: number for label, (number, _) in entries.items() if number is not None and math.isfinite(number)}
    if len(known) < len(scale) or not 0 < max(known.values(), default=0) - min(known.values(), default=0) < math.inf:
        what = f"the scale of the task {shown(name)} is {shown(scale)}"
        raise KaratError(what, place=place, hint=f"It maps at least two labels to different numbers. {_EXAMPLE}")
    for label in ("", NOTHING_TO_JUDGE):
        if label in known:
            what = f"{shown(label)} is not a label that the scale of the task {shown(name)} can have"
            raise KaratError(what, place=place, hint=f"Give it another name. {_EXAMPLE}")
    means = {label: text for label, (_, text) in entries.items() if text}
    reject_lone_surrogates([name, *known, *means.values()], place)
    return Task(name, known, question or "", means)


def _scale_entry(label: str, value: object, task: str, place: Place | str) -> tuple[float | None, str]:
    """The number of a label, and what the label means: `{"value": 0, "means": "..."}`, or the number alone."""
    if not isinstance(value, Mapping):
        return as_number(value), ""
    means = value.get("means")
    others = [name for name in value if name not in ("value", "means")]
    if others or "value" not in value or not (means is None or isinstance(means, str)):
        what = f"the label {shown(label)} of the task {shown(task)} is {shown(value)}"
        hint = f'Write its number, or {{"value": its number, "means": a text}}. {_EXAMPLE}'
        raise KaratError(what, place=place, hint=hint)
    return as_number(value["value"]), (means or "").strip()
