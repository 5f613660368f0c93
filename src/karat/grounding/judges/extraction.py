"""Requests for what has to be extracted first: the claims of an answer or a gold answer, the nuggets of a question."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import count
from typing import Any

from karat.grounding.judges.label_requests import LabelSubject
from karat.grounding.judges.prompts import Prompt, object_schema
from karat.grounding.judges.replies import label_in, read_texts
from karat.grounding.judges.requests import ModelRequest, ReadReply, Record
from karat.grounding.responses.responses import Passage, Response, has_text
from karat.grounding.responses.sentences import split_sentences
from karat.grounding.verdict_file.records import Item
from karat.grounding.verdict_file.tasks import BUILT_IN, NOTHING_TO_JUDGE

MOST_PASSAGES = 30
"""from which nuggets are extracted, if gold answers are not known"""
_MOST_NUGGETS = 20
_EXPECTED_NUGGETS = 8
_SUPPORT = BUILT_IN["support"]
_IMPORTANCE = ("vital", "okay")


def nothing_in(item: Item) -> Record:
    """A verdict that an item, such as an answer, contains nothing to judge."""
    return LabelSubject(_SUPPORT, item, item.system).verdict(state=NOTHING_TO_JUDGE)


def answer_claims_request(response: Response, answer: Item, taken: Collection[str], prompt: Prompt) -> ModelRequest:
    """The request for the claims of an answer; `taken` are ids that claims cannot have."""
    data = {"question": response.question, "answer": response.answer}
    expected = [sentence.text for sentence in response.sentences]
    return _claims_request(data, answer, "claim", taken, expected, prompt)


def gold_claims_request(
    question: str, answers: Sequence[str], gold: Item, taken: Collection[str], prompt: Prompt
) -> ModelRequest:
    """The request for the claims of the gold answers of a question, which belong to all systems."""
    return _claims_request(
        {"question": question, "gold_answers": list(answers)}, gold, "goldclaim", taken, answers, prompt
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
    texts = list(gold) or [each.text or "" for each in passages]
    found = {"gold_answers": texts} if gold else {"passages": [{"id": at, "text": t} for at, t in enumerate(texts, 1)]}
    kind = {"type": "string", "enum": list(_IMPORTANCE)}
    of = Item(query, "question", "answer", digest=of_digest)

    def items(nuggets: Iterable[tuple[str, str | None]]) -> tuple[Record, ...]:
        named = zip(_new_ids("nugget", taken), nuggets, strict=False)
        return tuple(
            Item(query, name, "nugget", text=text, importance=kind, of_digest=of_digest).record()
            for name, (text, kind) in named
        )

    def read(reply: Any) -> ReadReply:
        nuggets, problem = _read_nuggets(reply)
        nothing = () if nuggets or problem else (nothing_in(of),)
        return ReadReply((*items(nuggets.items()), *nothing), problem)

    expected = [sentence for text in texts for sentence in split_sentences(text)][:_EXPECTED_NUGGETS]
    return ModelRequest(
        prompt.id,
        prompt.messages({"question": question, **found}),
        object_schema(nuggets={"type": "array", "items": object_schema(text={"type": "string"}, importance=kind)}),
        read,
        failed=(LabelSubject(_SUPPORT, of).failed,),
        expected=items((text, "vital") for text in expected),
    )


def nugget_passages(responses: Sequence[Response]) -> list[Passage]:
    """The passages of all systems that nuggets are extracted from: by rank, each text once."""
    passages = sorted((each for response in responses for each in response.passages), key=lambda each: each.rank)
    by_text: dict[str, Passage] = {}
    for each in passages:
        if has_text(each.text):
            by_text.setdefault(each.text or "", each)
    return [*by_text.values()][:MOST_PASSAGES]


def _claims_request(
    data: dict[str, Any], of: Item, prefix: str, taken: Collection[str], expected: Sequence[str], prompt: Prompt
) -> ModelRequest:
    def items(texts: Sequence[str]) -> tuple[Record, ...]:
        named = zip(_new_ids(prefix, taken), texts, strict=False)
        claim = Item(of.query, "", "claim", of.system, of.id, of_digest=of.current_digest)
        return tuple(claim._replace(id=name, text=text).record() for name, text in named)

    def read(reply: Any) -> ReadReply:
        texts, problem = read_texts(reply, "claims")
        return ReadReply(items([*texts]) if texts or problem else (nothing_in(of),), problem)

    return ModelRequest(
        prompt.id,
        prompt.messages(data),
        object_schema(claims={"type": "array", "items": {"type": "string"}}),
        read,
        failed=(LabelSubject(_SUPPORT, of, of.system, "context").failed,),
        expected=items(expected),
    )


def _new_ids(prefix: str, taken: Collection[str]) -> Iterator[str]:
    """Ids such as claim1, claim2, ..., without those that other items have."""
    return (name for number in count(1) if (name := f"{prefix}{number}") not in taken)


def _read_nuggets(reply: Any) -> tuple[dict[str, str | None], str | None]:
    """The texts of nuggets with their importance, as far as it is valid, each once, and what is wrong."""
    texts, problem = read_texts(reply, "nuggets")
    found = {text: label_in(fields.get("importance"), _IMPORTANCE) for text, fields in texts.items()}
    if None in found.values():
        problem = problem or f"The importance of a nugget is not one of {', '.join(_IMPORTANCE)}."
    return dict(list(found.items())[:_MOST_NUGGETS]), problem
