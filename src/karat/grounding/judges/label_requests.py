"""Requests for labels: what a language model is asked about items that are known, and the verdicts in its replies."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from karat.grounding.judges.prompts import Prompt, object_schema
from karat.grounding.judges.replies import LabelReply, read_label, read_labels
from karat.grounding.judges.requests import ModelRequest, ReadReply, Record
from karat.grounding.labels.recipes import WantedLabel
from karat.grounding.responses.responses import Response
from karat.grounding.verdict_file.columns import Against
from karat.grounding.verdict_file.records import Item
from karat.grounding.verdict_file.tasks import NOTHING_TO_JUDGE, Task

MOST_ITEMS = 10
"""that a model is asked about at once"""
_EXPECTED = LabelReply("", "The passage says so in other words, but it does not say why.")
_NUMBERS = {"relevance": (0, 1, 2, 3)}
"""the labels of tasks whose labels are numbers, as a model writes them"""


class LabelSubject(NamedTuple):
    """What a label is about: an item, what it is compared with, and whose answer it is about."""

    task: Task
    item: Item
    system: str | None = None
    against: Against = None
    against_digest: str | None = None

    def verdict(self, **fields: Any) -> Record:
        """The record of a verdict, with a label or a state."""
        against = list(self.against) if isinstance(self.against, tuple) else self.against
        about = {
            "record": "verdict", "query": self.item.query, "system": self.system, "task": self.task.name,
            "item": self.item.id, "against": against, **fields, "digest": self.item.current_digest,
            "against_digest": self.against_digest,
        }  # fmt: skip
        return {name: value for name, value in about.items() if value is not None}

    def labelled(self, given: LabelReply) -> Record:
        """The record of a label."""
        if given.label == NOTHING_TO_JUDGE:
            return self.verdict(state=NOTHING_TO_JUDGE, why=given.why)
        return self.verdict(label=given.label, why=given.why)

    @property
    def failed(self) -> Record:
        """The record of a label that could not be given."""
        return self.verdict(state="failed")

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that may be given: a sentence may state nothing."""
        may_be_empty = self.task.name == "support" and self.item.type == "sentence"
        return (*self.task.scale, *([NOTHING_TO_JUDGE] if may_be_empty else []))


def subject_of(wanted: WantedLabel, task: Task, response: Response) -> LabelSubject:
    """What a label is about, for a response."""
    return LabelSubject(task, wanted.item, response.system, wanted.against, wanted.against_digest(response))


def label_requests(
    subjects: Sequence[LabelSubject], task: Task, response: Response, prompt: Prompt, samples: int
) -> Iterator[ModelRequest]:
    """The requests for labels about a response."""
    if task.name == "support":
        by_against: dict[Against, list[LabelSubject]] = {}
        for subject in subjects:
            by_against.setdefault(subject.against, []).append(subject)
        groups = by_against.values()
        parts = [group[at : at + MOST_ITEMS] for group in groups for at in range(0, len(group), MOST_ITEMS)]
        for sample, part in product(range(samples), parts):
            yield _support_request(part, response, prompt, sample)
        return
    for sample, subject in product(range(samples), subjects):
        if task.name == "relevance":
            passage = {"id": 1, "text": subject.item.text}
            yield relevance_request(subject, response.question, passage, prompt, sample)
        else:
            yield _answer_request(subject, response, prompt, sample)


def _evidence(response: Response, against: Against) -> dict[str, Any]:
    """The texts that items are compared with, as they are sent."""
    if against == "answer":
        return {"answer": response.answer}
    if against == "gold":
        return {"gold_answers": list(response.gold_answers or ())}
    passages = response.compared_passages(against)
    # A passage that is compared alone is always the first, so that systems that found it at other ranks share a call.
    ids = [1] if len(passages) == 1 else [each.rank for each in passages]
    return {"passages": [{"id": name, "text": each.text} for name, each in zip(ids, passages, strict=True)]}


def relevance_request(
    subject: LabelSubject, question: str, passage: Mapping[str, Any], prompt: Prompt, sample: int
) -> ModelRequest:
    """The request for the relevance of a passage or a document."""
    return _request_for_one(subject, {"question": question, "passages": [passage]}, prompt, sample)


def _answer_request(subject: LabelSubject, response: Response, prompt: Prompt, sample: int) -> ModelRequest:
    """The request for a label of an answer as a whole."""
    task = subject.task
    data: dict[str, Any] = {"question": response.question, "answer": response.answer}
    gold = {"gold_answers": list(response.gold_answers)} if response.gold_answers is not None else {}
    if task.name == "correctness":
        data |= gold
    elif task.name != "abstention":
        passages = [{"id": each.rank, "text": each.text} for each in response.passages if each.text is not None]
        rubric = {"asks": task.question or f"Which label of {task.name} fits the answer?", "labels": dict(task.scale)}
        data = {"rubric": rubric, "question": response.question, "passages": passages, **gold, **data}
    return _request_for_one(subject, data, prompt, sample)


def _request_for_one(subject: LabelSubject, data: Mapping[str, Any], prompt: Prompt, sample: int) -> ModelRequest:
    labels = subject.labels

    def read(reply: Any) -> ReadReply:
        return ReadReply((subject.labelled(read_label(reply, labels)),))

    allowed: Collection[Any] = _NUMBERS.get(subject.task.name, labels)
    kind = "integer" if subject.task.name in _NUMBERS else "string"
    return ModelRequest(
        prompt.id,
        prompt.messages(data),
        object_schema(why={"type": "string"}, label={"type": kind, "enum": list(allowed)}),
        read,
        (subject.failed,),
        (subject.labelled(_EXPECTED._replace(label=labels[0])),),
        sample,
    )


def _support_request(subjects: Sequence[LabelSubject], response: Response, prompt: Prompt, sample: int) -> ModelRequest:
    """The request for the support of several items by the same texts."""
    items = [
        {"item": number, "type": each.item.type, "text": each.item.text} for number, each in enumerate(subjects, 1)
    ]
    data = {"question": response.question, **_evidence(response, subjects[0].against), "items": items}
    labels = [each.labels for each in subjects]
    allowed = list(dict.fromkeys(label for each in labels for label in each))
    label = object_schema(item={"type": "integer"}, why={"type": "string"}, label={"type": "string", "enum": allowed})
    return ModelRequest(
        prompt.id,
        prompt.messages(data),
        object_schema(labels={"type": "array", "items": label}),
        _reader(subjects, labels),
        tuple(each.failed for each in subjects),
        tuple(each.labelled(_EXPECTED._replace(label=each.labels[0])) for each in subjects),
        sample,
    )


def _reader(subjects: Sequence[LabelSubject], labels: Sequence[Collection[str]]) -> Callable[[Any], ReadReply]:
    def read(reply: Any) -> ReadReply:
        found, problem = read_labels(reply, labels)
        records = [
            subject.labelled(found[number]) if number in found else subject.failed
            for number, subject in enumerate(subjects, 1)
        ]
        return ReadReply(tuple(records) if found else (), problem)

    return read
