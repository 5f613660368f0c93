"""The requests of plans: claims and nuggets that have to be extracted first, and labels of items that are known."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count, product
from typing import Any, NamedTuple

from karat.grounding.judges.prompts import Prompt, object_schema
from karat.grounding.judges.replies import LabelReply, label_in, read_label, read_labels, read_texts
from karat.grounding.judges.requests import ModelRequest, ReadReply, Record
from karat.grounding.responses.responses import Passage, Response, has_text
from karat.grounding.responses.sentences import split_sentences
from karat.grounding.verdict_file.columns import Against
from karat.grounding.verdict_file.records import Item
from karat.grounding.verdict_file.tasks import BUILT_IN, NOTHING_TO_JUDGE, Task

MOST_ITEMS = 10
"""that a model is asked about at once"""
MOST_PASSAGES = 30
"""from which nuggets are extracted, if gold answers are not known"""
_MOST_NUGGETS = 20
_EXPECTED_NUGGETS = 8
_EXPECTED_LABEL = LabelReply("", "The passage says so in other words, but it does not say why.")
_SUPPORT = BUILT_IN["support"]
_IMPORTANCE = ("vital", "okay")
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
    def expected(self) -> Record:
        """The record of a label as it may be given."""
        return self.labelled(_EXPECTED_LABEL._replace(label=self.labels[0]))

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that may be given: a sentence may state nothing."""
        may_be_empty = self.task.name == "support" and self.item.type == "sentence"
        return (*self.task.scale, *([NOTHING_TO_JUDGE] if may_be_empty else []))


def nothing_in(item: Item) -> Record:
    """A verdict that an item, such as an answer, contains nothing to judge."""
    return LabelSubject(_SUPPORT, item, item.system).verdict(state=NOTHING_TO_JUDGE)


def claims_request(
    data: Mapping[str, Any], answer: Item, taken: Collection[str], expected: Sequence[str], prompt: Prompt
) -> ModelRequest:
    """The request for the claims of an answer, or of the gold answers of a question, which belong to all systems.

    `taken` are ids that claims cannot have; `expected` are texts that the claims may have.
    """
    prefix = "goldclaim" if answer.id == "gold" else "claim"

    def items(texts: Iterable[str]) -> tuple[Record, ...]:
        claim = Item(answer.query, "", "claim", answer.system, answer.id, of_digest=answer.current_digest)
        named = zip(_new_ids(prefix, taken), texts, strict=False)
        return tuple(claim._replace(id=name, text=text).record() for name, text in named)

    def read(reply: Any) -> ReadReply:
        texts, problem = read_texts(reply, "claims")
        return ReadReply(items(texts) if texts or problem else (nothing_in(answer),), problem)

    return ModelRequest(
        prompt.id,
        prompt.messages(data),
        object_schema(claims={"type": "array", "items": _TEXT}),
        read,
        failed=(LabelSubject(_SUPPORT, answer, answer.system, "context").failed,),
        expected=items(expected),
    )


def nuggets_request(
    question: str,
    gold: Sequence[str],
    passages: Sequence[Passage],
    query: str,
    taken: Collection[str],
    prompt: Prompt,
    of_digest: str | None = None,
) -> ModelRequest:
    """The request for the nuggets of a question: from its gold answers, or from passages if it has none.

    `of_digest` is that of the gold answers.
    """
    texts = list(gold) or [passage.text or "" for passage in passages]
    source = {"gold_answers": texts} if gold else {"passages": [{"id": at, "text": t} for at, t in enumerate(texts, 1)]}
    of_question = Item(query, "question", "answer", digest=of_digest)

    def items(nuggets: Iterable[tuple[str, str | None]]) -> tuple[Record, ...]:
        nugget = Item(query, "", "nugget", of_digest=of_digest)
        named = zip(_new_ids("nugget", taken), nuggets, strict=False)
        return tuple(nugget._replace(id=name, text=text, importance=kind).record() for name, (text, kind) in named)

    def read(reply: Any) -> ReadReply:
        nuggets, problem = _read_nuggets(reply)
        nothing = () if nuggets or problem else (nothing_in(of_question),)
        return ReadReply((*items(nuggets.items()), *nothing), problem)

    sentences = [sentence for text in texts for sentence in split_sentences(text)]
    nugget = object_schema(text=_TEXT, importance={"type": "string", "enum": list(_IMPORTANCE)})
    return ModelRequest(
        prompt.id,
        prompt.messages({"question": question, **source}),
        object_schema(nuggets={"type": "array", "items": nugget}),
        read,
        failed=(LabelSubject(_SUPPORT, of_question).failed,),
        expected=items((text, "vital") for text in sentences[:_EXPECTED_NUGGETS]),
    )


def nugget_passages(responses: Iterable[Response]) -> list[Passage]:
    """The passages of all systems that nuggets are extracted from: by rank, each text once."""
    passages = [passage for response in responses for passage in response.passages if has_text(passage.text)]
    by_text: dict[str | None, Passage] = {}
    for passage in sorted(passages, key=lambda passage: passage.rank):
        by_text.setdefault(passage.text, passage)
    return [*by_text.values()][:MOST_PASSAGES]


def _new_ids(prefix: str, taken: Collection[str]) -> Iterator[str]:
    """Ids such as claim1, claim2, ..., without those that other items have."""
    return (name for number in count(1) if (name := f"{prefix}{number}") not in taken)


def _read_nuggets(reply: Any) -> tuple[dict[str, str | None], str | None]:
    """The texts of nuggets with their importance, as far as it is valid, each once, and what is wrong."""
    texts, problem = read_texts(reply, "nuggets")
    nuggets = {text: label_in(fields.get("importance"), _IMPORTANCE) for text, fields in texts.items()}
    if None in nuggets.values():
        problem = problem or f"The importance of a nugget is not one of {', '.join(_IMPORTANCE)}."
    return dict(list(nuggets.items())[:_MOST_NUGGETS]), problem


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
        yield from (_support_request(part, response, prompt, sample) for sample, part in product(range(samples), parts))
        return
    for sample, subject in product(range(samples), subjects):
        if task.name == "relevance":
            passage = {"id": 1, "text": subject.item.text}
            yield relevance_request(subject, response.question, passage, prompt, sample)
        else:
            yield _answer_request(subject, response, prompt, sample)


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
    elif task.name not in _OF_THE_ANSWER_ALONE:
        passages = [{"id": each.rank, "text": each.text} for each in response.passages if each.text is not None]
        rubric = {"asks": task.question or f"Which label of {task.name} fits the answer?", "labels": dict(task.scale)}
        data = {"rubric": rubric, "question": response.question, "passages": passages, **gold, **data}
    return _request_for_one(subject, data, prompt, sample)


def _request_for_one(subject: LabelSubject, data: Mapping[str, Any], prompt: Prompt, sample: int) -> ModelRequest:
    def read(reply: Any) -> ReadReply:
        return ReadReply((subject.labelled(read_label(reply, subject.labels)),))

    allowed: Collection[Any] = _NUMBERS.get(subject.task.name, subject.labels)
    kind = "integer" if subject.task.name in _NUMBERS else "string"
    schema = object_schema(why=_TEXT, label={"type": kind, "enum": list(allowed)})
    messages = prompt.messages(data)
    return ModelRequest(prompt.id, messages, schema, read, (subject.failed,), (subject.expected,), sample)


def _support_request(subjects: Sequence[LabelSubject], response: Response, prompt: Prompt, sample: int) -> ModelRequest:
    """The request for the support of several items by the same texts."""

    def read(reply: Any) -> ReadReply:
        replies, problem = read_labels(reply, labels)
        records = [
            subject.labelled(replies[number]) if number in replies else subject.failed
            for number, subject in enumerate(subjects, 1)
        ]
        return ReadReply(tuple(records) if replies else (), problem)

    labels = [subject.labels for subject in subjects]
    items = [{"item": at, "type": one.item.type, "text": one.item.text} for at, one in enumerate(subjects, 1)]
    data = {"question": response.question, **_evidence(response, subjects[0].against), "items": items}
    allowed = list(dict.fromkeys(label for of_subject in labels for label in of_subject))
    label = object_schema(item={"type": "integer"}, why=_TEXT, label={"type": "string", "enum": allowed})
    schema = object_schema(labels={"type": "array", "items": label})
    failed, expected = tuple(each.failed for each in subjects), tuple(each.expected for each in subjects)
    return ModelRequest(prompt.id, prompt.messages(data), schema, read, failed, expected, sample)


def _evidence(response: Response, against: Against) -> dict[str, Any]:
    """The texts that items are compared with, as they are sent."""
    if against == "answer":
        return {"answer": response.answer}
    if against == "gold":
        return {"gold_answers": list(response.gold_answers or ())}
    passages = response.compared_passages(against)
    # A passage that is compared alone is always the first, so that systems that found it at other ranks share a call.
    ids = [1] if len(passages) == 1 else [passage.rank for passage in passages]
    return {"passages": [{"id": name, "text": each.text} for name, each in zip(ids, passages, strict=True)]}
