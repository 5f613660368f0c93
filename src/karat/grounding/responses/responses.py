"""What a system answered to a question, and the items of that: the answer, its sentences and the passages.

Claims and nuggets were extracted from an answer: whether it is the one of a response is decided here, too; and which
system of verdict files has the answers and passages of responses, if it has another name there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain, count
from typing import Protocol

from karat.errors import KaratError, Parameter, shown
from karat.grounding.responses.citations import cited_passages, find_citations
from karat.grounding.responses.sentences import sentence_spans
from karat.grounding.verdict_file.records import Item, ItemKey, joint_digest, text_digest

EXTRACTED = ("claim", "nugget")
"""the items that are not in results, but were extracted from them"""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an answer, and what it cites: ids of passages, and invalid citations as they were written."""

    text: str
    cites: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage that a system was given, with its rank from 1; the text is None if only the id is known."""

    id: str
    rank: int
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """What a system answered to a question, and the passages that it was given, each once."""

    query: str
    system: str | None
    question: str
    answer: str | None
    """None if it is unknown: the results have no answers"""
    passages: tuple[Passage, ...] = ()
    gold_answers: tuple[str, ...] | None = None
    """None if they are unknown; an empty text means that the question has no answer"""
    knows_passages: bool = True
    """whether the results say which passages there were"""
    ranking: tuple[str, ...] | None = None
    """the ids of the passages by rank, if some are repeated: citations name ranks"""
    written_sentences: tuple[Sentence, ...] | None = None
    """the sentences, if the source is divided into them"""

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        """The sentences of the answer; those of a text are found each time, because keeping them takes much memory."""
        if self.written_sentences is not None:
            return self.written_sentences
        return _find_sentences(self.answer or "", self.ranking or [passage.id for passage in self.passages])

    @property
    def gold_text(self) -> str | None:
        """The gold answers as one text, if they are known."""
        return None if self.gold_answers is None else gold_text(self.gold_answers)

    def digest_of(self, against: tuple[str, ...] | str) -> str | None:
        """The digest of what items are compared with, by which a label notices that it has changed since."""
        if against in ("answer", "gold"):
            text = self.answer if against == "answer" else self.gold_text
            return None if text is None else text_digest(text)
        if not self.knows_passages:
            return None
        texts = (passage.text for passage in self._passages_of(against))
        return joint_digest(None if text is None else text_digest(text) for text in texts)

    def compared_passages(self, against: tuple[str, ...] | str | None) -> list[Passage]:
        """The passages that something is compared with: `context` stands for all. One without a text is an error."""
        passages = self._passages_of(against or ())
        for passage in passages:
            if passage.text is None:
                what = f"the text of passage {shown(passage.id)} of query {shown(self.query)} is not in the results"
                raise KaratError(what, hint=["Add the texts with ", Parameter("corpus"), "."])
        return passages

    def _passages_of(self, against: tuple[str, ...] | str) -> list[Passage]:
        return [each for each in self.passages if against == "context" or each.id in against]


@dataclass(frozen=True, slots=True)
class Responses:
    """The responses in a source, and notes on what was guessed about it."""

    responses: Sequence[Response]
    systems: tuple[str | None, ...]
    """those that have a response, in order"""
    notes: tuple[str, ...] = ()
    no_answers: KaratError | None = None
    """the error for whoever needs answers, if the source has none"""


def gold_text(answers: Iterable[str]) -> str:
    """The gold answers of a question as one text; their order does not matter."""
    return "\n".join(sorted(answers))


def has_text(text: str | None) -> bool:
    """Whether there is a text with a letter or a digit."""
    return any(map(str.isalnum, text or ""))


def _find_sentences(answer: str, ranking: Sequence[str]) -> tuple[Sentence, ...]:
    """The sentences of an answer, without those that have neither a letter nor a digit."""
    citations = find_citations(answer, ranking)
    sentences, at = [], 0
    for start, end in sentence_spans(answer, citations):
        first = at
        while at < len(citations) and citations[at].start < end:
            at += 1
        if has_text(answer[start:end]):
            sentences.append(Sentence(answer[start:end], cited_passages(citations[first:at])))
    return tuple(sentences)


def items_of(response: Response, taken: Iterable[str] = ()) -> list[Item]:
    """The sentences and the passages of a response, in order; `taken` are ids that sentences cannot have.

    >>> from karat.grounding.responses.results import read_responses
    >>> results = [{"query": "q1", "retrieved": [{"id": "d7", "content": "Gold is soft."}], "answer": "Yes [1]. Very."}]
    >>> [(item.id, item.type, item.cites) for item in items_of(read_responses(results).responses[0])]
    [('s1', 'sentence', ('d7',)), ('s2', 'sentence', ()), ('d7', 'passage', ())]
    """
    query, system, sentences = response.query, response.system, response.sentences
    passages = [Item(query, each.id, "passage", system, text=each.text, rank=each.rank) for each in response.passages]
    prefix = _prefix({*taken, *(each.id for each in passages)}, len(sentences))
    items = [
        Item(query, f"{prefix}{at}", "sentence", system, "answer", sentence.text, cites=sentence.cites)
        for at, sentence in enumerate(sentences, 1)
    ]
    return [*items, *passages]


def answer_of(response: Response) -> list[Item]:
    """The answer of a response, if it is known."""
    answer = Item(response.query, "answer", "answer", response.system, text=response.answer)
    return [] if response.answer is None else [answer]


def gold_of(response: Response) -> list[Item]:
    """The gold answers of a response, if they are known."""
    if response.gold_text is None or response.gold_answers is None:
        return []
    earlier = text_digest("\n".join(response.gold_answers))
    return [Item(response.query, "gold", "answer", text=response.gold_text, earlier_digest=earlier)]


def items_of_other_answers(items: Iterable[Item], response: Response) -> list[Item]:
    """The claims and nuggets among the items of verdict files that are from other answers than those of a response."""
    labelled = {item.key: item for item in items if item.system in (None, response.system)}
    current = {item.key: item for item in (*answer_of(response), *gold_of(response))}
    gone = keys_of_other_answers(labelled, current)
    return [item for key, item in labelled.items() if key in gone]


def keys_of_other_answers(labelled: Mapping[ItemKey, Item], items: Mapping[ItemKey, Item]) -> frozenset[ItemKey]:
    """The claims and nuggets that are from another answer, or another gold answer, than the one among the items."""
    keys = []
    for key, item in labelled.items():
        if item.type in EXTRACTED and (answer := items.get((item.query, item.source))) is not None:
            digest = digest_of_answer(item, labelled)
            if digest is not None and answer.digests and digest not in answer.digests:
                keys.append(key)
    return frozenset(keys)


def digest_of_answer(item: Item, labelled: Mapping[ItemKey, Item]) -> str | None:
    """The digest of the answer that a claim or a nugget is from, as far as it is known."""
    if item.of_digest is not None or item.type == "nugget":
        return item.of_digest
    answer = labelled.get((item.query, item.source))
    return None if answer is None else answer.labelled_digest


class KnownItems(Protocol):
    """The items of verdict files."""

    @property
    def systems(self) -> Collection[str]:
        """Those that labels or items name."""

    def queries(self, system: str) -> Collection[str]:
        """Those of which a system has items."""

    def items(self, query: str, system: str | None) -> Mapping[str, Item]:
        """The items of a system, by id."""


def name_in_files(known: KnownItems, system: str | None, responses: Sequence[Response]) -> str | None:
    """The name that a system has in verdict files: its own, or if these do not know it, that of the same answers.

    Results that were renamed are found by the digests of their answers and passages. One of the systems in the files
    must have the same for all queries of the results, or its own queries must all be among these. If there are several
    such systems, nothing is guessed.
    """
    if system is None or system in known.systems:
        return system
    by_query = {response.query: response for response in responses}
    fitting = [name for name in known.systems if _has_same_texts(known, name, by_query)]
    return fitting[0] if len(fitting) == 1 else system


def note_on_name(system: str | None, name: str | None) -> list[str]:
    """A note, if a system has another name in verdict files."""
    what = f"the labels of system {name} are used for {system}: answers and passages are the same"
    return [] if name == system else [what]


def _has_same_texts(known: KnownItems, system: str, responses: Mapping[str, Response]) -> bool:
    queries = known.queries(system)
    shared = [query for query in responses if query in queries]
    if len(shared) not in (len(queries), len(responses)):
        return False
    is_any_known = False
    for query in shared:
        is_same = _are_from(known.items(query, system).values(), responses[query])
        if is_same is False:
            return False
        is_any_known |= is_same is True
    return is_any_known


def _are_from(items: Collection[Item], response: Response) -> bool | None:
    """Whether items of a query are from a response, by its answer and its passages; None if nothing tells."""
    answers = {item.labelled_digest for item in items if item.id == "answer"}
    answers = answers or {item.of_digest for item in items if item.set == "claims"} - {None}
    passages = [item for item in items if item.type == "passage"]
    comparisons = []
    if response.answer is not None and answers:
        comparisons.append(answers == {text_digest(response.answer)})
    if response.knows_passages and passages:
        digests = joint_digest(item.labelled_digest for item in passages), response.digest_of("context")
        ids = {item.id for item in passages}, {passage.id for passage in response.passages}
        comparisons.append(ids[0] == ids[1] if None in digests else digests[0] == digests[1])
    return all(comparisons) if comparisons else None


def _prefix(taken: Set[str], sentences: int) -> str:
    """How the ids of sentences begin: `s`, or a longer word if other items have such ids."""
    prefixes = chain(("s", "sentence"), (f"sentence{at}-" for at in count(1)))
    return next(prefix for prefix in prefixes if not any(f"{prefix}{at}" in taken for at in range(1, sentences + 1)))
