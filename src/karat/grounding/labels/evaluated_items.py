"""What is evaluated, and which labels are about it. Everything that asks whether a label still counts asks here.

Results bring their passages and the order of these, their answer, its sentences and what they cite; the files bring
claims and nuggets, and without results all items. A label counts for the texts that it was given for, which their
digests tell: of its item, of what it is compared with, and of the answer that a claim is from. If one of them is
another text now, the label is stale. If no digest tells which text it was, the label is trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import TypeVar

import numpy as np

from karat.data.caching import cached_property
from karat.data.judged import Bools, Ints
from karat.errors import KaratError, shown
from karat.grounding.responses.responses import (
    EXTRACTED,
    Response,
    answer_of,
    digest_of_answer,
    gold_of,
    items_of,
    keys_of_other_answers,
)
from karat.grounding.verdict_file.categorical import Categorical, joint_codes
from karat.grounding.verdict_file.columns import LISTS, Against, LabelColumns
from karat.grounding.verdict_file.reading import VerdictRecords
from karat.grounding.verdict_file.records import IMPLIED, Item, ItemKey, items_by_query, joint_digests

Value = TypeVar("Value")


class Fit(IntEnum):
    """Whether a label is about what is evaluated; of several texts, the last of these counts."""

    SAME = 0
    TRUSTED = 1
    """no digest tells which text was labelled"""
    STALE = 2
    """another text was labelled"""
    ABSENT = 3
    """the results have no such item"""


@dataclass(frozen=True, eq=False)
class EvaluatedItems:
    """The items that are evaluated, and how the items of the files, which labels name, relate to them."""

    items: Mapping[ItemKey, Item]
    """by query and id"""
    labelled: Mapping[ItemKey, Item]
    """the items of the files"""
    removed: Mapping[ItemKey, Item]
    """items that were in the files"""
    gone: frozenset[ItemKey]
    """claims and nuggets of the files that are from another answer than the one that is evaluated"""
    of_results: bool
    without_passages: frozenset[str] = frozenset()
    """the queries of which results do not say what the passages were"""
    _digests: dict[ItemKey, tuple[str, ...]] = field(default_factory=dict, init=False)
    """those that were computed already"""

    @classmethod
    def of_files(cls, items: Mapping[ItemKey, Item], removed: Mapping[ItemKey, Item]) -> EvaluatedItems:
        """What verdict files contain, without claims of other answers than theirs."""
        gone = keys_of_other_answers(items, items)
        kept = {key: item for key, item in items.items() if key not in gone}
        return cls(kept, items, removed, gone, of_results=False)

    @classmethod
    def of_responses(
        cls, responses: Sequence[Response], labelled: Mapping[ItemKey, Item], removed: Mapping[ItemKey, Item]
    ) -> EvaluatedItems:
        """The items of results, with the claims and nuggets that verdict files have of them."""
        items: dict[ItemKey, Item] = {}
        extracted = items_by_query(item for item in labelled.values() if item.type in EXTRACTED)
        for response in responses:
            own = extracted.get(response.query, ())
            in_results = [*answer_of(response), *gold_of(response), *items_of(response, [item.id for item in own])]
            items |= {item.key: _with_known_text(item, labelled) for item in in_results}
            if (gold := labelled.get((response.query, "gold"))) is not None:
                items.setdefault(gold.key, gold)
            for item in own:
                if item.key in items:
                    what = f"the {item.type} {shown(item.id)} of query {shown(item.query)} has the id of a passage"
                    raise KaratError(what, place=item.place, hint="Give it another id in the verdict file.")
        gone = keys_of_other_answers(labelled, items)
        for response in responses:
            items |= {item.key: item for item in extracted.get(response.query, ()) if item.key not in gone}
        without_passages = frozenset(each.query for each in responses if not each.knows_passages)
        return cls(items, labelled, removed, gone, of_results=True, without_passages=without_passages)

    @property
    def rejected(self) -> frozenset[ItemKey]:
        """The items that somebody removed: of results, these are claims and nuggets."""
        removed = (key for key, item in self.removed.items() if not self.of_results or item.type in EXTRACTED)
        return frozenset(key for key in removed if key not in self.items)

    def fit(self, labels: LabelColumns, rows: Ints) -> tuple[LabelColumns, Ints]:
        """Labels with the ids that their items and passages have in what is evaluated, and how each row fits it."""
        item, fit = self._fit_column(labels.query, labels.item, labels.digest, rows, self._subject)
        against, fit_of_against = self._fit_column(
            labels.query, labels.against, labels.against_digest, rows, self._against
        )
        fit = np.maximum(fit, fit_of_against)
        if self.of_results:
            # Only passages have a relevance, and those of other results may have no record.
            is_relevance = labels.task.take(rows).where(lambda task: task == "relevance")
            keys = zip(labels.query.take(rows[is_relevance]), item.take(rows[is_relevance]), strict=True)
            unknown = [key not in self.items and key[1] not in IMPLIED for key in keys]
            fit[np.flatnonzero(is_relevance)[unknown]] = Fit.ABSENT
        return replace(labels, item=item, against=against), fit

    def _fit_column(
        self,
        query: Categorical[str],
        column: Categorical[Value],
        digest: Categorical[str | None],
        rows: Ints,
        look_up: Callable[[str, Value, str | None], tuple[Value, Fit]],
    ) -> tuple[Categorical[Value], Ints]:
        """What a column of labels stands for in what is evaluated, and how it fits; distinct cases are tried once."""
        fit = np.full(len(rows), Fit.SAME, np.int64)
        checked: Bools = np.ones(len(rows), bool)
        if not self.of_results and not self._is_corrected:
            # Without its digest, a label is about the text that the files have.
            checked = digest.take(rows).where(lambda text: text is not None)
        rows = rows[checked]
        cases = joint_codes(query.codes[rows], column.codes[rows], digest.codes[rows])
        _, first, case = np.unique(cases, return_index=True, return_inverse=True)
        fitted = [look_up(query[row], column[row], digest[row]) for row in rows[first].tolist()]
        fit[checked] = np.array([fit for _, fit in fitted], np.int64)[case]
        code_of = {value: code for code, value in enumerate(column.categories)}
        new = np.array([code_of.setdefault(value, len(code_of)) for value, _ in fitted], np.int32)[case]
        if (new == column.codes[rows]).all():
            return column, fit
        codes = column.codes.copy()
        codes[rows] = new
        return Categorical(list(code_of), codes), fit

    def _subject(self, query: str, name: str, digest: str | None) -> tuple[str, Fit]:
        """What is evaluated of an item that was labelled with a text of this digest."""
        if name in LISTS:  # a label says that there are no passages, or no nuggets in the gold answer
            compare = self._context if name == "context" else self._gold
            return name, Fit.SAME if digest is None else compare(query, digest)
        key = query, name
        known, item = self.labelled.get(key), self.items.get(key)
        if digest is None and known is not None:
            digest = known.labelled_digest
        if item is not None and item is known:
            if _fit(digest, self._digests_of(item)) == Fit.STALE:
                return name, Fit.STALE
            return name, Fit.TRUSTED if self._is_from_unknown_answer(item) else Fit.SAME
        if item is not None and (fit := _fit(digest, self._digests_of(item))) != Fit.STALE:
            return name, fit
        record = known or item or self.removed.get(key)
        for kind in ("passage", "sentence") if record is None else (record.type,):
            if (other := self._by_text.get((query, kind, digest))) is not None:
                return other, Fit.SAME
        if record is None:
            return name, Fit.SAME  # one that needs no record, or an error
        return name, Fit.STALE if item is not None else Fit.ABSENT

    def _against(self, query: str, against: Against, digest: str | None) -> tuple[Against, Fit]:
        """What is evaluated of the texts that an item was compared with, which had this digest."""
        if against == "question" or (against is None and digest is None):
            return against, Fit.SAME
        if against is None:  # the answer as a whole, which may have been compared with the gold answer
            return against, self._gold(query, digest)
        if isinstance(against, str) and against != "context":
            item, known = self.items.get((query, against)), self.labelled.get((query, against))
            digest = digest or (None if known is None else known.labelled_digest)
            return against, _fit(digest, () if item is None else self._digests_of(item))
        if against == "context":
            return against, self._context(query, digest)
        alone = digest if len(against) == 1 else None
        passages = [self._passage(query, name, alone) for name in against]
        fit = max(fit for _, fit in passages)
        names = tuple(sorted({name for name, _ in passages}))
        if digest is None or alone:
            return names, fit
        are_there = all((query, name) in self.items for name in names)
        now = self._joint_digests(self.items[query, name] for name in names) if are_there else ()
        if digest not in now and (query, digest) in self._by_texts:
            return self._by_texts[query, digest], Fit.SAME
        return names, _fit(digest, now) if are_there else fit

    def _passage(self, query: str, name: str, digest: str | None) -> tuple[str, Fit]:
        current, fit = self._subject(query, name, digest)
        if self.of_results and (query, current) not in self.items:
            return current, Fit.ABSENT
        return current, fit

    def _gold(self, query: str, digest: str | None) -> Fit:
        """Whether the gold answer is the one that had this digest, if there is one."""
        gold = self.items.get((query, "gold"))
        return Fit.SAME if gold is None else _fit(digest, self._digests_of(gold))

    def _context(self, query: str, digest: str | None) -> Fit:
        """Whether all passages together are those that had this digest; without one, those that the files list."""
        passages, listed = self._passages.get(query, ()), self._labelled_passages.get(query)
        if query in self.without_passages or not (self.of_results or passages):
            return _fit(digest, ())
        now = self._joint_digests(passages)
        if digest is not None and now:
            return _fit(digest, now)
        if listed is None:
            return Fit.TRUSTED
        current = [self._passage(query, item.id, None) for item in listed]
        if {name for name, _ in current} != {item.id for item in passages}:
            return Fit.STALE
        return min(Fit.STALE, max(fit for _, fit in current))

    def _is_from_unknown_answer(self, item: Item) -> bool:
        """Whether nothing says which answer a claim is from."""
        return item.type == "claim" and digest_of_answer(item, self.labelled) is None

    @cached_property
    def _is_corrected(self) -> bool:
        """Whether somebody has changed a text in the files since it was labelled."""
        return any(item.is_corrected for item in self.labelled.values())

    @cached_property
    def _passages(self) -> Mapping[str, Sequence[Item]]:
        return items_by_query(item for item in self.items.values() if item.type == "passage")

    @cached_property
    def _labelled_passages(self) -> Mapping[str, Sequence[Item]]:
        return items_by_query(item for item in self.labelled.values() if item.type == "passage")

    @cached_property
    def _by_text(self) -> Mapping[tuple[str, str, str | None], str]:
        """The passages and sentences of results by their texts: their ids may be other ones than in the files."""
        by_text: dict[tuple[str, str, str | None], str] = {}
        for item in self.items.values() if self.of_results else ():
            if item.type in ("passage", "sentence") and item.text is not None:
                by_text.setdefault((item.query, item.type, item.current_digest), item.id)
        return by_text

    @cached_property
    def _by_texts(self) -> Mapping[tuple[str, str], tuple[str, ...]]:
        """What sentences of results cite together, and all but one of that, by the joint digest of the texts."""
        by_texts: dict[tuple[str, str], tuple[str, ...]] = {}
        for item in self.items.values() if self.of_results else ():
            cited = tuple(sorted(name for name in item.cites if (item.query, name) in self.items))
            for names in (cited, *(tuple(name for name in cited if name != other) for other in cited)):
                digests = self._joint_digests(self.items[item.query, name] for name in names)
                for digest in digests if len(names) > 1 else ():
                    by_texts.setdefault((item.query, digest), names)
        return by_texts

    def _joint_digests(self, passages: Iterable[Item]) -> tuple[str, ...]:
        by_rank = sorted(passages, key=lambda passage: passage.rank or 0)
        return joint_digests(next(iter(self._digests_of(passage)), None) for passage in by_rank)

    def _digests_of(self, item: Item) -> tuple[str, ...]:
        if item.key not in self._digests:
            self._digests[item.key] = item.digests
        return self._digests[item.key]


def stale_labels(records: VerdictRecords) -> Bools:
    """For each label of verdict files, whether it is about, or against, another text than the files have now.

    A label about an item that was removed is stale, too.
    """
    labels = records.labels
    of_documents = records.about_documents()
    stale: Bools = np.zeros(len(labels), bool)
    items, removed = _by_system(records.items.values()), _by_system(records.removed.values())
    for code, system in enumerate(labels.system.categories):
        rows = np.flatnonzero((labels.system.codes == code) & ~of_documents)
        owners = dict.fromkeys((None, system))
        known, rejected = (
            {key: item for each in owners for key, item in by.get(each, {}).items()} for by in (items, removed)
        )
        evaluated = EvaluatedItems.of_files(known, rejected)
        stale[rows] = evaluated.fit(labels, rows)[1] >= Fit.STALE
        stale[rows] |= labels.are_about(rows, evaluated.gone | evaluated.rejected, frozenset())
    rows = np.flatnonzero(of_documents)
    stale[rows] = EvaluatedItems.of_files(records.documents, {}).fit(labels, rows)[1] == Fit.STALE
    return stale


def _by_system(items: Iterable[Item]) -> dict[str | None, dict[ItemKey, Item]]:
    by_system: dict[str | None, dict[ItemKey, Item]] = {}
    for item in items:
        by_system.setdefault(item.system, {})[item.key] = item
    return by_system


def _with_known_text(item: Item, labelled: Mapping[ItemKey, Item]) -> Item:
    """An item of results; if these do not have its text, with the digest that the files have of it."""
    known = labelled.get(item.key)
    if item.text is not None or known is None or known.type != item.type:
        return item
    return item._replace(digest=known.current_digest)


def _fit(labelled: str | None, digests: Collection[str]) -> Fit:
    """How a text that was labelled fits the text that is evaluated, by their digests as far as these are known."""
    if labelled is None or not digests:
        return Fit.TRUSTED
    return Fit.SAME if labelled in digests else Fit.STALE
