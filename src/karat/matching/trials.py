"""Which match would find gold documents among the retrieved ones: the usual ones, tried on some of the queries.

Ids of gold and retrieved documents are often written in two ways: `doc17` and `doc17#3`, `7` and `007`; or the id of a
gold document is in the metadata of a retrieved one, or there are only texts. Whoever finds nothing by ids needs to know
what would find something.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from karat.documents.fields import document_key
from karat.documents.normalization import Folds, normalized
from karat.errors import KaratError
from karat.matching.document_samples import LONGEST_GOLD, LONGEST_TEXT, MOST_DOCUMENTS, SampledQuery, text_of
from karat.matching.id_differences import (
    OTHER_SPELLINGS,
    IdDifference,
    counterparts,
    difference_between,
    separators_in,
)
from karat.matching.joiner import Joiner
from karat.matching.matcher import Matcher
from karat.matching.matchers import Chunk, Prefix, Same
from karat.reading.pairs.containers import RankedLists
from karat.reading.pairs.mappings import run_from_mapping, truth_from_mapping

_MOST_FIELDS = 12  # of the metadata
_MOST_SEPARATORS = 3
_CASES: tuple[Folds, ...] = (("case",), ("space",), ("case", "space"), ("unicode",))
_ALL: Folds = ("unicode", "case", "punctuation", "space")


@dataclass(frozen=True)
class Trial:
    """A match, how many of the gold documents it finds, and a gold document with the retrieved one that matches it.

    If no match finds them, but ids that are written differently in one way, `difference` says in which way.
    """

    match: str
    found: int
    example: tuple[str, str] | None = None
    difference: str = ""


@dataclass(frozen=True)
class Trials:
    """What matches find in the documents of some queries, the one that finds most first."""

    queries: int
    golds: int
    trials: tuple[Trial, ...]
    examples: tuple[str, str, str] = ("", "", "")
    """a query, one of its gold documents and one of its retrieved ones"""
    difference: IdDifference | None = None
    """what ids differ in, such as a prefix, if no match finds anything"""

    @property
    def tried(self) -> list[str]:
        """What was tried, in words."""
        names = [trial.match.partition("(")[0] for trial in self.trials]
        return list(dict.fromkeys(["ids in other spellings", "prefix", *(name for name in names if name != "id")]))

    @property
    def best(self) -> Trial | None:
        """The match that finds most, if one finds anything; of several, the strictest."""
        return next((trial for trial in self.trials if trial.found), None)

    def share(self, trial: Trial) -> float:
        """The share of the gold documents that a match finds."""
        return trial.found / max(1, self.golds)


def try_matches(sampled: Sequence[SampledQuery], match: Matcher | None = None) -> Trials:
    """Try the usual matches, but not `match`, on documents of some queries; with the texts of its corpus, if any."""
    if match is not None and match.texts is not None:
        sampled = [_with_texts(each, match.texts) for each in sampled]
    golds = sum(len(each.golds) for each in sampled)
    trials = []
    for matcher in _candidates(sampled):
        if matcher != match:
            with suppress(KaratError):  # documents that cannot be compared in this way
                trials.append(_trial(matcher, sampled))
    trials += _differently_written(sampled)
    # A .0 at the end looks like a separator and what is after it.
    in_order = sorted(trials, key=lambda trial: (-trial.found, "." not in trial.difference))
    first = next((each for each in sampled if each.golds and each.retrieved), None)
    examples = first and (first.query, _field_text(first.golds[0]), _field_text(first.retrieved[0]))
    difference = None if any(trial.found for trial in trials) else _difference(_ids(sampled, "id"))
    return Trials(len(sampled), golds, tuple(in_order), examples or ("", "", ""), difference)


def _difference(ids: Sequence[tuple[list[str], list[str]]]) -> IdDifference | None:
    """What the ids of gold documents differ in from those of retrieved ones, if none is the same, for any query."""
    golds, retrieved = (dict.fromkeys(chain.from_iterable(side)) for side in ([*zip(*ids, strict=True)] or [(), ()]))
    return difference_between(golds, retrieved) if golds.keys().isdisjoint(retrieved) else None


def _with_texts(sampled: SampledQuery, texts: Mapping[str, str]) -> SampledQuery:
    """A query whose documents, which are known by their ids, have the texts of a corpus."""

    def document(each: Any, longest: int) -> Any:
        text = texts.get(each) if isinstance(each, str) else None
        return each if text is None else {"id": each, "content": text[:longest], "meta": {}}

    golds = tuple(document(each, LONGEST_GOLD) for each in sampled.golds)
    retrieved = tuple(document(each, LONGEST_TEXT) for each in sampled.retrieved[:MOST_DOCUMENTS])
    return SampledQuery(sampled.query, golds, retrieved)


def _candidates(sampled: Sequence[SampledQuery]) -> Iterator[Matcher]:
    """The matches that may find something, from the strictest to the most lenient."""
    ids = _ids(sampled, "id")
    yield Same()
    changed = [folds for folds in _CASES if any(_changes(texts, folds) for pair in ids for texts in pair)]
    yield from (Same("id", folds) for folds in changed)
    yield from _prefixes("id", ids)
    if any(each.retrieved_are_ids for each in sampled):
        return
    golds_are_ids = any(each.golds_are_ids for each in sampled)
    have_fields = any(isinstance(gold, dict) for each in sampled for gold in each.golds)
    for field in _meta_fields(each.retrieved for each in sampled):
        yield from () if golds_are_ids else (Same(field),)
        if golds_are_ids or have_fields:
            yield Same(field, gold="id")
        else:
            yield from _prefixes(field, _ids(sampled, field))
    if golds_are_ids:
        return
    of_golds = _meta_fields(each.golds for each in sampled)
    yield from (Same("id", gold=field) for field in of_golds)
    if all(any(map(_is_text, documents)) for documents in _sides(sampled)):
        yield from (Same("content"), Same("content", _ALL), Chunk(), Chunk(_ALL))


def _sides(sampled: Sequence[SampledQuery]) -> tuple[Iterator[Any], Iterator[Any]]:
    """All gold documents, and all retrieved ones."""
    return (gold for each in sampled for gold in each.golds), (doc for each in sampled for doc in each.retrieved)


def _ids(sampled: Sequence[SampledQuery], field: str) -> list[tuple[list[str], list[str]]]:
    """The ids of the gold and of the retrieved documents of each query; `field` is that of retrieved ones."""
    pairs = []
    for each in sampled:
        golds = [document_key(gold, "id", "") for gold in each.golds]
        retrieved = [document_key(document, field, "") for document in each.retrieved]
        pairs.append(([key for key in golds if key], [key for key in retrieved if key]))
    return pairs


def _changes(texts: Iterable[str], folds: Folds) -> bool:
    texts = list(texts)
    return all(any(normalized(text, (fold,)) != text for text in texts) for fold in folds)


def _prefixes(field: str, ids: Sequence[tuple[list[str], list[str]]]) -> Iterator[Matcher]:
    """Matches by the part of an id before a separator, for those that follow a gold id."""
    for folds, fold in (((), str), (("case",), str.casefold)):
        separators: Counter[str] = Counter()
        for golds, retrieved in ids:
            separators.update(separators_in(map(fold, retrieved), {fold(gold) for gold in golds}))
        for separator, _ in separators.most_common(_MOST_SEPARATORS):
            with suppress(KaratError):  # a separator with quotation marks of both kinds
                yield Prefix(separator, field, folds)
        if separators:
            return


def _meta_fields(lists: Iterable[Iterable[Any]]) -> list[str]:
    """The fields of the metadata of documents, as they are named in a match."""
    names: dict[str, None] = {}
    for documents in lists:
        for document in documents:
            for name, value in document["meta"].items() if isinstance(document, dict) else ():
                inner = [f"{name}.{key}" for key in value] if isinstance(value, dict) else [name]
                names |= dict.fromkeys(f"meta.{path}" for path in inner)
    return list(names)[:_MOST_FIELDS]


def _is_text(document: Any) -> bool:
    """Whether a document has a text of more than one word."""
    return len(text_of(document).split(maxsplit=1)) > 1


def _trial(matcher: Matcher, sampled: Sequence[SampledQuery]) -> Trial:
    """What a match finds, as an evaluation would find it."""
    longest = None if isinstance(matcher, Chunk) else LONGEST_TEXT
    golds = {each.query: [_cut(gold, longest) for gold in each.golds] for each in sampled}
    truth = truth_from_mapping(golds, matcher.gold_key, "the ground truth")
    run = run_from_mapping({each.query: list(each.retrieved) for each in sampled}, matcher.key, "the run")
    joiner, found, example = Joiner(truth, matcher), set[int](), None
    for batch in (part for part in run.parts if isinstance(part, RankedLists)):
        positions = np.array([truth.positions[query] for query in batch.queries])
        segments, places, hits = joiner.find_in_lists(batch, positions)
        found |= set(hits.tolist())
        for segment, place, gold in zip(segments.tolist(), places.tolist(), hits.tolist(), strict=True):
            [original] = truth.original_documents(range(gold, gold + 1))
            document = batch.documents[segment][place]
            pair = (_field_text(original, matcher.gold_key.field), _field_text(document, matcher.key.field))
            example = example or pair
            if pair[0] != pair[1]:  # which shows what the match does
                example = pair
                break
    keys = {
        (query, truth.docs[gold]) for query, at in truth.positions.items() for gold in truth.golds(at) if gold in found
    }
    number = sum((query, key) in keys for query, of in golds.items() for key in matcher.gold_key.of(of, ""))
    return Trial(str(matcher), number, example)


def _cut(gold: Any, longest: int | None) -> Any:
    """A gold document whose text is as short as those of retrieved documents."""
    if longest is None or not isinstance(gold, str | dict):
        return gold
    if isinstance(gold, str):
        return gold[:longest]
    return {**gold, "content": gold["content"][:longest]} if "content" in gold else gold


def _field_text(document: Any, field: str = "id") -> str:
    """A field of a document; its text, if it has no id."""
    return document_key(document, field, "") or ""


def _differently_written(sampled: Sequence[SampledQuery]) -> Iterator[Trial]:
    """What would be found if ids were written in the same way, where no match ignores the difference."""
    for difference, change in OTHER_SPELLINGS.items():
        found, example = 0, None
        for golds, retrieved in _ids(sampled, "id"):
            hits = counterparts(change, golds, retrieved)
            found += len(hits)
            example = example or next((hit for hit in hits if hit[0] != hit[1]), None)
        if example:
            yield Trial("id", found, example, difference)
