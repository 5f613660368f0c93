"""The requests for labels of items that are known.

Texts that are too long for a model are divided: it is asked about one part after the other, and the strongest label
that an item gets counts. An item is asked about until it has the strongest of all. Each label is written with the call
that decided it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from karat.grounding.judges.compared_texts import ComparedTexts, SampleOrder
from karat.grounding.judges.prompts import LabelKind, Prompt, object_schema
from karat.grounding.judges.replies import LabelReply, read_label, read_labels
from karat.grounding.judges.requests import ModelRequest, ReadReply, Record
from karat.grounding.judges.steps import Steps, single_step, together
from karat.grounding.labels.recipes import relation_of
from karat.grounding.responses.responses import Response
from karat.grounding.verdict_file.columns import Against
from karat.grounding.verdict_file.records import Item
from karat.grounding.verdict_file.tasks import BUILT_IN, CONTRADICTS, NOTHING_TO_JUDGE, Task

MOST_ITEMS = 10
"""that a model is asked about at once"""
STRONGEST_FIRST = ("full", "partial", CONTRADICTS, "none", NOTHING_TO_JUDGE)
"""labels of support: of those that parts of a text give an item, the first of these counts"""
_EXPECTED_WHY = "The passage says so in other words, but it does not say why."
_SUPPORT = BUILT_IN["support"]
_OF_THE_ANSWER_ALONE = ("answer_relevance", "abstention")
"""tasks for which a model is sent nothing but the question and the answer"""
_NUMBERS = {"relevance": (0, 1, 2, 3)}
"""the labels of tasks whose labels are numbers, as a model writes them"""
_TEXT = {"type": "string"}


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

    def labelled(self, reply: LabelReply) -> Record:
        """The record of a label."""
        if reply.label == NOTHING_TO_JUDGE:
            return self.verdict(state=NOTHING_TO_JUDGE, why=reply.why)
        return self.verdict(label=reply.label, why=reply.why)

    @property
    def failed(self) -> Record:
        """The record of a label that could not be given."""
        return self.verdict(state="failed")

    @property
    def kind(self) -> LabelKind:
        """What kind of label it is, by which examples are found."""
        relation = relation_of(self.task.name, self.item.set, self.against)
        return LabelKind(self.task.name, self.item.type, relation.against)

    def reply(self, label: str) -> dict[str, Any]:
        """The reply of a model that gives a label of the scale, and no reason."""
        if self.task.name == "support":
            return {"labels": [{"item": 1, "label": label}]}
        return {"label": int(label) if self.task.name in _NUMBERS else label}

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that may be given: a sentence may state nothing."""
        may_be_empty = self.task.name == "support" and self.item.type == "sentence"
        return (*self.task.scale, *([NOTHING_TO_JUDGE] if may_be_empty else []))


def nothing_in(item: Item) -> Record:
    """A verdict that an item, such as an answer, contains nothing to judge."""
    return LabelSubject(_SUPPORT, item, item.system).verdict(state=NOTHING_TO_JUDGE)


def label_steps(
    subjects: Sequence[LabelSubject], task: Task, response: Response, prompt: Prompt, samples: int, seed: int
) -> Iterator[Steps[None]]:
    """The requests for labels about a response."""
    for sample in range(samples):
        order = SampleOrder(seed, response.query, sample)
        if task.name == "support":
            by_against: dict[Against, list[LabelSubject]] = {}
            for subject in order.ordered(subjects, lambda subject: subject.item.text):
                by_against.setdefault(subject.against, []).append(subject)
            for against, group in by_against.items():
                texts = _compared_texts(response, against, order)
                comparison = _Comparison(response.question, prompt.about(group[0].kind), sample)
                batches = (group[at : at + MOST_ITEMS] for at in range(0, len(group), MOST_ITEMS))
                yield from (comparison.steps(batch, [texts]) for batch in batches)
        elif task.name == "relevance":
            for subject in subjects:
                passage = {"id": 1, "text": subject.item.text}
                yield single_step(relevance_request(subject, response.question, passage, prompt, sample))
        else:
            yield from (single_step(_answer_request(subject, response, prompt, order)) for subject in subjects)


def relevance_request(
    subject: LabelSubject, question: str, passage: Mapping[str, Any], prompt: Prompt, sample: int
) -> ModelRequest:
    """The request for the relevance of a passage or a document."""
    return _request_for_one(subject, {"question": question, "passages": [passage]}, prompt, sample)


def _answer_request(subject: LabelSubject, response: Response, prompt: Prompt, order: SampleOrder) -> ModelRequest:
    """The request for a label of an answer as a whole."""
    task = subject.task
    data: dict[str, Any] = {"question": response.question, "answer": response.answer}
    gold = {} if response.gold_answers is None else _compared_texts(response, "gold", order).data
    if task.name == "correctness":
        return _request_for_one(subject, data | gold, prompt, order.sample)
    if task.name in _OF_THE_ANSWER_ALONE:
        return _request_for_one(subject, data, prompt, order.sample)
    passages = ComparedTexts.of_passages([each for each in response.passages if each.text is not None], order)
    asks = task.question or f"Which label of {task.name} fits the answer?"
    rubric = {"asks": asks, "labels": task.described_scale}
    data = {"rubric": rubric, "question": response.question, **passages.data, **gold, **data}
    return _request_for_one(subject, data, prompt, order.sample, passages.with_ranks)


def _request_for_one(
    subject: LabelSubject,
    data: Mapping[str, Any],
    prompt: Prompt,
    sample: int,
    named: Callable[[str | None], str | None] = lambda why: why,
) -> ModelRequest:
    """The request for one label; `named` gives passages in its reason the names that people know them by."""

    def read(reply: Any) -> ReadReply:
        label = read_label(reply, subject.labels)
        return ReadReply((subject.labelled(label._replace(why=named(label.why))),))

    allowed: Collection[Any] = _NUMBERS.get(subject.task.name, subject.labels)
    kind = "integer" if subject.task.name in _NUMBERS else "string"
    schema = object_schema(why=_TEXT, label={"type": kind, "enum": list(allowed)})
    expected = {"why": _EXPECTED_WHY, "label": subject.labels[0]}
    prompt = prompt.about(subject.kind)
    request = ModelRequest(prompt.id, prompt.messages(data), schema, read, (subject.failed,), expected, sample)
    return replace(request, examples=prompt.example_queries)


def _compared_texts(response: Response, against: Against, order: SampleOrder) -> ComparedTexts:
    """The texts that items are compared with, as they are sent."""
    if against == "answer":
        return ComparedTexts("answer", (response.answer or "",))
    if against == "gold":
        return ComparedTexts("gold_answers", tuple(order.ordered(response.gold_answers or (), str)))
    return ComparedTexts.of_passages(response.compared_passages(against), order)


class _Comparison(NamedTuple):
    """The requests for the support of items by texts."""

    question: str
    prompt: Prompt
    sample: int

    def steps(
        self,
        subjects: Sequence[LabelSubject],
        parts: Sequence[ComparedTexts],
        labels: Sequence[LabelReply | None] | None = None,
        call: str | None = None,
    ) -> Steps[None]:
        """Ask about items, with one part of the texts after the other, until no label can become stronger.

        `labels` are those by the parts before, of which `call` was the last. Whatever is larger is divided if a request
        is too long: the texts or the items.
        """
        labels = labels or [None] * len(subjects)
        while subjects:
            part, *others = parts
            [outcome] = yield [self._request(subjects, part, labels, call, is_last=not others)]
            if outcome.state == "too_long":
                if len(subjects) > 1 and (_size(subjects) > part.size or not part.halves):
                    half = len(subjects) // 2
                    sides = (slice(half), slice(half, None))
                    yield from together(self.steps(subjects[side], parts, labels[side], call) for side in sides)
                    return
                parts = [*part.halves, *others]
            elif others and outcome.draft:
                at = sorted(outcome.draft)
                subjects, labels = [subjects[each] for each in at], [outcome.draft[each] for each in at]
                parts, call = others, outcome.key
            else:
                return

    def _request(
        self,
        subjects: Sequence[LabelSubject],
        part: ComparedTexts,
        before: Sequence[LabelReply | None],
        call: str | None,
        *,
        is_last: bool,
    ) -> ModelRequest:
        """The request about a part; a label that a later part may change is a draft."""

        def read(reply: Any) -> ReadReply:
            replies, problem = read_labels(reply, allowed)
            records, draft = [], {}
            for at, subject in enumerate(subjects):
                label = replies.get(at + 1)
                if label is not None:
                    label = stronger(before[at], label._replace(why=part.with_ranks(label.why)))
                if label is None:
                    records.append(subject.failed)
                elif is_last or label.label == STRONGEST_FIRST[0]:
                    records.append(subject.labelled(label))
                else:
                    draft[at] = label
            return ReadReply(tuple(records) if replies else (), problem, draft)

        allowed = [subject.labels for subject in subjects]
        items = [{"item": at, "type": one.item.type, "text": one.item.text} for at, one in enumerate(subjects, 1)]
        labels = list(dict.fromkeys(label for of_subject in allowed for label in of_subject))
        label = object_schema(item={"type": "integer"}, why=_TEXT, label={"type": "string", "enum": labels})
        expected = [{"item": each["item"], "why": _EXPECTED_WHY, "label": "none"} for each in items]
        return ModelRequest(
            self.prompt.id,
            self.prompt.messages({"question": self.question, **part.data, "items": items}),
            object_schema(labels={"type": "array", "items": label}),
            read,
            failed=tuple(each.failed for each in subjects),
            expected={"labels": expected},
            sample=self.sample,
            is_divisible=lambda: len(subjects) > 1 or bool(part.halves),
            after=None if call is None else {"call": call, "labels": [each and each.label for each in before]},
            examples=self.prompt.example_queries,
        )


def stronger(label: LabelReply | None, other: LabelReply) -> LabelReply:
    """The stronger one of two labels of an item by parts of a text; the first of equal ones."""
    return min([each for each in (label, other) if each], key=lambda each: STRONGEST_FIRST.index(each.label))


def _size(subjects: Sequence[LabelSubject]) -> int:
    return sum(len(subject.item.text or "") for subject in subjects)
