"""What has to be extracted before it can be labelled: claims, and nuggets with their importance.

Claims and nuggets are written all at once, with the call that completes them: a list that is in the verdict file is
complete. Until then, the replies to the calls before are all that is in the file, and nothing of them is asked twice.

Nuggets are extracted and weighed like those of AutoNuggetizer (Pradeep et al. 2025): from ten passages at a time, with
the list so far, of which each reply is the new version. Then each is called vital or okay, ten at a time, and the first
20 are kept, vital ones before others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from karat.grounding.judges.compared_texts import ComparedTexts
from karat.grounding.judges.plan_requests import MOST_ITEMS, LabelSubject, nothing_in
from karat.grounding.judges.prompts import Prompt, object_schema
from karat.grounding.judges.replies import read_labels, read_texts
from karat.grounding.judges.requests import ModelRequest, ReadReply, Record, RequestOutcome
from karat.grounding.judges.steps import Steps, ask_about_next
from karat.grounding.responses.responses import Response, has_text
from karat.grounding.responses.sentences import split_sentences
from karat.grounding.verdict_file.records import Item
from karat.grounding.verdict_file.tasks import BUILT_IN

MOST_PASSAGES = 100
"""from which nuggets are extracted, if gold answers are not known"""
PASSAGES_AT_ONCE = 10
_MOST_DRAFTED = 30
_MOST_NUGGETS = 20
_IMPORTANCE = ("vital", "okay")
_SUPPORT = BUILT_IN["support"]
_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}


@dataclass(frozen=True)
class ClaimExtraction:
    """The requests for the claims of an answer, or of the gold answers of a question, which belong to all systems."""

    question: str
    answer: Item
    texts: ComparedTexts
    taken: Collection[str] = field(repr=False)
    """ids that claims cannot have"""
    prompt: Prompt = field(repr=False)

    def steps(self) -> Steps[RequestOutcome | None]:
        """Ask for the claims; those of parts of a long text are one list. Returns the outcome that has them, if any."""
        parts = deque([self.texts])
        claims: tuple[str, ...] = ()
        while True:
            outcome = yield from ask_about_next(parts, self.request, claims)
            if not parts:
                return outcome
            if outcome.state != "done":
                return None
            claims = outcome.draft

    def request(self, part: ComparedTexts, before: tuple[str, ...] = (), is_last: bool = True) -> ModelRequest:
        """The request for the claims of a part, of which the last one has the items, also those of the parts before."""

        def read(reply: Any) -> ReadReply:
            texts, problem = read_texts(reply, "claims")
            claims = merged([*before, *texts])
            if not is_last:
                return ReadReply((), problem, None if problem else claims)
            return ReadReply(tuple(self._items(claims)) if claims or problem else (nothing_in(self.answer),), problem)

        sentences = [sentence for text in part.texts for sentence in split_sentences(text) if has_text(sentence)]
        return ModelRequest(
            self.prompt.id,
            self.prompt.messages({"question": self.question, **part.data}),
            object_schema(claims=_TEXTS),
            read,
            failed=(LabelSubject(_SUPPORT, self.answer, self.answer.system, "context").failed,),
            expected={"claims": sentences},
            is_divisible=lambda: bool(part.halves),
        )

    def _items(self, texts: Iterable[str]) -> Iterator[Record]:
        answer = self.answer
        claim = Item(answer.query, "", "claim", answer.system, answer.id, of_digest=answer.current_digest)
        names = _new_ids("goldclaim" if answer.id == "gold" else "claim", self.taken)
        return (claim._replace(id=name, text=text).record() for name, text in zip(names, texts, strict=False))


@dataclass(frozen=True)
class NuggetExtraction:
    """The requests for the nuggets of a question: from its gold answers, or from passages if it has none."""

    question: str
    query: str
    texts: ComparedTexts
    taken: Collection[str] = field(repr=False)
    """ids that nuggets cannot have"""
    prompts: Mapping[str, Prompt] = field(repr=False)
    of_digest: str | None = None
    """of the gold answers"""

    def steps(self) -> Steps[RequestOutcome | None]:
        """Ask for the list, part by part, and then how important each nugget is. Returns the outcome with the items."""
        is_gold = self.texts.field == "gold_answers"
        parts = deque([self.texts] if is_gold else self.texts.windows(PASSAGES_AT_ONCE))
        nuggets: tuple[str, ...] = ()
        while parts:
            outcome = yield from ask_about_next(parts, self.request, nuggets)
            if outcome.state != "done":
                return None
            nuggets = outcome.draft
        return (yield from self._weighed(nuggets)) if nuggets else None

    def request(self, part: ComparedTexts, before: tuple[str, ...] = (), is_last: bool = True) -> ModelRequest:
        """The request for the list of nuggets after a part of the texts. A list that stays empty is written."""

        def read(reply: Any) -> ReadReply:
            texts, problem = read_texts(reply, "nuggets")
            nuggets = merged(texts)[:_MOST_DRAFTED] or before  # an empty list adds nothing
            if problem:
                return ReadReply((), problem)
            return ReadReply((nothing_in(self._of_question),) if is_last and not nuggets else (), None, nuggets)

        sentences = [sentence for text in part.texts for sentence in split_sentences(text) if has_text(sentence)]
        prompt = self.prompts["nuggets"]
        so_far = {"nuggets": list(before)} if before else {}
        return ModelRequest(
            prompt.id,
            prompt.messages({"question": self.question, **so_far, **part.data}),
            object_schema(nuggets=_TEXTS),
            read,
            failed=self._failed,
            expected={"nuggets": [*merged([*before, *sentences])][:_MOST_DRAFTED]},
            is_divisible=lambda: bool(part.halves),
        )

    def _weighed(self, nuggets: Sequence[str]) -> Steps[RequestOutcome | None]:
        """Ask how important nuggets are; only the last of several requests has the items."""
        *batches, last = (nuggets[at : at + MOST_ITEMS] for at in range(0, len(nuggets), MOST_ITEMS))
        importance: dict[str, str] = {}
        if batches:
            outcomes = yield [self.importance_request(batch) for batch in batches]
            if any(outcome.state != "done" for outcome in outcomes):
                return None
            for outcome in outcomes:
                importance |= outcome.draft
        [outcome] = yield [self.importance_request(last, importance)]
        return outcome

    def importance_request(self, nuggets: Sequence[str], before: Mapping[str, str] | None = None) -> ModelRequest:
        """The request for the importance of nuggets; with that of all nuggets before, it has the items."""

        def read(reply: Any) -> ReadReply:
            labels, problem = read_labels(reply, [_IMPORTANCE] * len(nuggets))
            if problem:
                return ReadReply((), problem)
            importance = {nugget: labels[number].label for number, nugget in enumerate(nuggets, 1)}
            if before is None:
                return ReadReply((), None, importance)
            return ReadReply(tuple(self._items({**before, **importance})))

        prompt = self.prompts["importance"]
        items = [{"item": number, "text": nugget} for number, nugget in enumerate(nuggets, 1)]
        label = object_schema(item={"type": "integer"}, label={"type": "string", "enum": list(_IMPORTANCE)})
        return ModelRequest(
            prompt.id,
            prompt.messages({"question": self.question, "items": items}),
            object_schema(labels={"type": "array", "items": label}),
            read,
            failed=self._failed,
            expected={"labels": [{"item": item["item"], "label": "vital"} for item in items]},
        )

    @property
    def _of_question(self) -> Item:
        return Item(self.query, "question", "answer", digest=self.of_digest)

    @property
    def _failed(self) -> tuple[Record, ...]:
        return (LabelSubject(_SUPPORT, self._of_question).failed,)

    def _items(self, importance: Mapping[str, str]) -> Iterator[Record]:
        """The nuggets that are kept: vital ones first, and otherwise in their order."""
        nugget = Item(self.query, "", "nugget", of_digest=self.of_digest)
        kept = sorted(importance, key=lambda text: _IMPORTANCE.index(importance[text]))[:_MOST_NUGGETS]
        for name, text in zip(_new_ids("nugget", self.taken), kept, strict=False):
            yield nugget._replace(id=name, text=text, importance=importance[text]).record()


def nugget_passages(responses: Iterable[Response]) -> ComparedTexts:
    """The passages of all systems that nuggets are extracted from: by rank, each text once."""
    passages = [passage for response in responses for passage in response.passages if has_text(passage.text)]
    ordered = sorted(passages, key=lambda passage: passage.rank)
    texts = tuple(dict.fromkeys(passage.text or "" for passage in ordered))[:MOST_PASSAGES]
    return ComparedTexts("passages", texts, tuple(range(1, len(texts) + 1)))


def merged(texts: Iterable[str]) -> tuple[str, ...]:
    """The texts, each once; case, white space and a full stop at the end do not matter.

    >>> merged(["Gold is soft.", "gold is  soft", "Gold melts"])
    ('Gold is soft.', 'Gold melts')
    """
    by_words: dict[str, str] = {}
    for text in texts:
        by_words.setdefault(" ".join(text.casefold().split()).rstrip(" ."), text)
    return tuple(by_words.values())


def _new_ids(prefix: str, taken: Collection[str]) -> Iterator[str]:
    """Ids such as claim1, claim2, ..., without those that other items have."""
    return (name for number in count(1) if (name := f"{prefix}{number}") not in taken)
