"""The items of responses: the answer, its sentences, `s1`, `s2`, ..., and the passages that the system was given.

Claims and nuggets were extracted from an answer: whether it is the one of a response is decided here, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain, count

from karat.grounding.responses.responses import Response
from karat.grounding.verdict_file.label_columns import ItemKey
from karat.grounding.verdict_file.records import Item

EXTRACTED = ("claim", "nugget")
"""the items that are not in results, but were extracted from them"""


def items_of(response: Response, taken: Iterable[str] = ()) -> list[Item]:
    """The sentences and the passages of a response, in order; `taken` are ids that sentences cannot have.

    >>> from karat.grounding.responses.results import read_responses
    >>> results = [{"query": "q1", "retrieved": [{"id": "d7", "content": "Gold is soft."}], "answer": "Yes [1]. Very."}]
    >>> [(item.id, item.type, item.cites) for item in items_of(read_responses(results).responses[0])]
    [('s1', 'sentence', ('d7',)), ('s2', 'sentence', ()), ('d7', 'passage', ())]
    """
    query, system = response.query, response.system
    sentences = response.sentences
    passages = [Item(query, each.id, "passage", system, text=each.text, rank=each.rank) for each in response.passages]
    prefix = _prefix((*taken, *(each.id for each in passages)), len(sentences))
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
    text = response.gold_text
    return [] if text is None else [Item(response.query, "gold", "answer", text=text)]


def of_other_answers(items: Iterable[Item], response: Response) -> list[Item]:
    """The claims and nuggets among the items of verdict files that are from other answers than those of a response."""
    labelled = {(item.query, item.id): item for item in items if item.system in (None, response.system)}
    current = {(item.query, item.id): item for item in (*answer_of(response), *gold_of(response))}
    gone = keys_of_other_answers(labelled, current)
    return [item for key, item in labelled.items() if key in gone]


def keys_of_other_answers(labelled: Mapping[ItemKey, Item], items: Mapping[ItemKey, Item]) -> frozenset[ItemKey]:
    """The claims and nuggets that are from another answer, or another gold answer, than the one among the items."""
    found = []
    for key, item in labelled.items():
        if item.type in EXTRACTED and (answer := items.get((item.query, item.source))) is not None:
            digests = digest_of_answer(item, labelled), answer.current_digest
            if None not in digests and digests[0] != digests[1]:
                found.append(key)
    return frozenset(found)


def digest_of_answer(item: Item, labelled: Mapping[ItemKey, Item]) -> str | None:
    """The digest of the answer that a claim or a nugget is from, as far as it is known."""
    if item.of_digest is not None or item.type == "nugget":
        return item.of_digest
    answer = labelled.get((item.query, item.source))
    return None if answer is None else answer.labelled_digest


def _prefix(taken: Iterable[str], sentences: int) -> str:
    """How the ids of sentences begin: `s`, or a longer word if other items have such ids."""
    others = {*taken}
    prefixes = chain(("s", "sentence"), (f"sentence{at}-" for at in count(1)))
    return next(prefix for prefix in prefixes if not any(f"{prefix}{at}" in others for at in range(1, sentences + 1)))
