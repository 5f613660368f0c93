"""What has changed since it was labelled: in the verdict file itself, or in the results that are evaluated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from karat.errors import first_few, plural
from karat.judged import Ints
from karat.labels.categorical import pair_codes
from karat.labels.citations import without_citations
from karat.labels.items import items_of
from karat.labels.label_columns import Against, ItemKey
from karat.labels.reading import VerdictRecords
from karat.labels.records import Item, joint_digest, text_digest
from karat.labels.responses import Response

Items = dict[ItemKey, Item]
"""the items of one system"""


@dataclass(frozen=True)
class Changes:
    """How results differ from what was labelled."""

    stale: set[ItemKey]
    """items with another text, and passages that were not given to the system"""
    gone: set[ItemKey]
    """claims and sentences of answers that have changed"""
    notes: list[str]

    @property
    def queries(self) -> str:
        """The queries whose answers have changed, as examples."""
        return first_few(list(dict.fromkeys(query for query, _ in sorted(self.gone))))


def labels_of_earlier_texts(records: VerdictRecords) -> Ints:
    """The labels that were given before a text that they are about, or against, was changed in the files.

    The digests of a label count more than its place: they say which text of its item the label is about, and what it is
    against.
    """
    labels, histories = records.labels, _histories(records)
    queries = {query for query, _, _ in histories}
    found = _labels_against_other_texts(records).tolist()
    for row in np.flatnonzero(labels.query.where(queries.__contains__)).tolist() if queries else ():
        query, against = labels.query[row], labels.against[row]
        names: list[str | None] = [labels.item[row]] if labels.digest[row] is None else []
        if labels.against_digest[row] is None:
            names += against if isinstance(against, tuple) else (against,)
        keys = [(query, system, name) for system in (labels.system[row], None) for name in names]
        if any(_is_earlier(texts, row) for key in keys for texts in histories.get(key, ())):
            found.append(row)
    return np.array(found, np.int64)


_Texts = Sequence[tuple[int, str]]
"""the texts of an item, one after the other: how many labels were given before each, and its digest"""


def _histories(records: VerdictRecords) -> dict[tuple[str, str | None, str | None], list[_Texts]]:
    """The texts of items that have changed, by query, system and id; those of passages also belong to the context."""
    found: dict[tuple[str, str | None, str | None], list[_Texts]] = {}
    for (query, system, name), texts in records.text_history.items():
        found[query, system, name] = [texts]
        item = records.items.get((query, system, name))
        if item is not None and item.type == "passage":
            found.setdefault((query, system, "context"), []).append(texts)
    return found


def _is_earlier(texts: _Texts, row: int) -> bool:
    """Whether an item had another text than now when a label was given."""
    return [digest for labels, digest in texts if labels <= row][-1] != texts[-1][1]


def _labels_against_other_texts(records: VerdictRecords) -> Ints:
    """The labels that name the digest of other texts than those that they are against now."""
    labels = records.labels
    rows: Ints = np.flatnonzero(labels.against_digest.where(lambda each: each is not None))
    texts: dict[str | None, _ComparedTexts] = {}
    about = pair_codes(labels.query, labels.against)[rows] * len(labels.system.categories) + labels.system.codes[rows]
    about = about * len(labels.against_digest.categories) + labels.against_digest.codes[rows]
    _, first, place = np.unique(about, return_index=True, return_inverse=True)
    have_changed = []
    for row in rows[first].tolist():
        system = labels.system[row]
        if system not in texts:
            texts[system] = _ComparedTexts(item for key, item in records.items.items() if key[1] in (None, system))
        digest = texts[system].digest(labels.query[row], labels.against[row])
        have_changed.append(digest not in (None, labels.against_digest[row]))
    found: Ints = rows[np.array(have_changed, bool)[place]]
    return found


class _ComparedTexts:
    """The texts that labels of a system are against, as they are now."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._items: dict[str, dict[str, Item]] = {}
        for item in sorted(items, key=lambda item: item.rank or 0):
            if item.type in ("answer", "passage"):
                self._items.setdefault(item.query, {})[item.id] = item

    def digest(self, query: str, against: Against) -> str | None:
        """The digest of what a label is against, if it is known; several passages are in the order of their ranks."""
        items = self._items.get(query, {})
        chosen = [
            item for name, item in items.items() if name in (against if isinstance(against, tuple) else (against,))
        ]
        if against == "context":
            chosen = [item for item in items.values() if item.type == "passage"]
        digests = [item.labelled_digest for item in chosen]
        known = [each for each in digests if each is not None]
        return joint_digest(known) if len(known) == len(digests) > 0 else None


def add_items_of_responses(items: Items, responses: Sequence[Response]) -> Changes:
    """Add items of results that the records lack, and find out which others are not those of the results.

    If the digest of an answer says that it has changed, its claims are no longer known, and its sentences are those of
    the results.
    """
    labelled = ((each, items.get((each.query, "answer"))) for each in responses)
    changed = {each.query for each, known in labelled if known and known.is_about_other_text(each.answer)}
    gone = {key for key, item in items.items() if item.query in changed and item.set in ("claims", "sentences")}
    for key in gone:
        del items[key]
    sentences, passages = ([item for item in items.values() if item.type == kind] for kind in ("sentence", "passage"))
    stale = _add_given(items, (item for each in responses for item in (*items_of(each), *_answer(each))))
    stale |= _passages_not_given(passages, responses)
    notes = []
    current = (item for item in sentences if (item.query, item.id) not in stale)
    if others := _sentences_of_other_answers(current, responses):
        notes.append(f"labelled sentences of {plural(len(others), 'query')} not in the answer: {first_few(others)}")
    return Changes(stale, gone, notes)


def _answer(response: Response) -> list[Item]:
    """The answer of a response, if it is known."""
    item = Item(response.query, "answer", "answer", response.system, text=response.answer)
    return [] if response.answer is None else [item]


def _add_given(items: Items, given: Iterable[Item]) -> set[ItemKey]:
    """Add items of results that the records lack; return those whose text is not the one that was labelled."""
    labelled_sets = {(item.query, item.set) for item in items.values()}
    stale = set()
    for item in given:
        key = item.query, item.id
        known = items.get(key)
        if known is None:
            # Items that were labelled are all there are; a set without any is that of the results.
            if (item.query, item.set) not in labelled_sets or item.type == "answer":
                items[key] = item
        elif item.text is not None:
            if known.is_about_other_text(item.text):
                stale.add(key)
            elif known.text is None:
                items[key] = known._replace(text=item.text)
    return stale


def _passages_not_given(listed: Iterable[Item], responses: Iterable[Response]) -> set[ItemKey]:
    """The passages of the records that are not among those of the results, neither by their id nor by their text."""
    given: dict[str, set[str]] = {}
    for each in responses:
        texts = (text_digest(passage.text) for passage in each.passages if passage.text is not None)
        given[each.query] = {*(passage.id for passage in each.passages), *texts}
    return {
        (item.query, item.id)
        for item in listed
        if item.query in given and not {item.id, item.labelled_digest} & given[item.query]
    }


def _sentences_of_other_answers(listed: Iterable[Item], responses: Iterable[Response]) -> list[str]:
    """The queries with a sentence that is not in the answer, apart from its citations and punctuation."""
    sentences: dict[str, list[Item]] = {}
    for item in listed:
        sentences.setdefault(item.query, []).append(item)
    return [each.query for each in responses if not _has_all(each, sentences.get(each.query, ()))]


def _has_all(response: Response, sentences: Sequence[Item]) -> bool:
    """Whether an answer has all of these sentences, whoever has split it into sentences."""
    if not sentences or response.answer is None:
        return True
    own, whole = {_letters(each.text) for each in response.sentences}, _letters(response.answer)
    texts = ((item.text or "", item.cites) for item in sentences)
    return all(
        _letters(text) in own or _letters(text) in whole or _letters(without_citations(text, cites)) in whole
        for text, cites in texts
    )


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))
