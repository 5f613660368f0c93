"""Verdicts: labels about generated answers, the data that measures of groundedness are computed from.

A label says how one item (a claim, a sentence, a nugget, a passage, the answer) stands to something else: whether a
passage supports a claim, whether the answer contains a nugget. People and language models give labels; measures only
count them. A label that is missing is unknown, which is not the same as 0: its value is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from karat.data.caching import cached_property
from karat.data.judged import Bools, Floats, Ints, Judged, place_in_query, ranges
from karat.data.verdicts.citations import Citations
from karat.data.verdicts.labels import (
    AGAINST,
    SETS,
    Against,
    ItemSet,
    Labels,
    PassagePairs,
    Relation,
    check_number_of_pairs,
    highest_of,
    rows_of,
)

Computed = TypeVar("Computed")
_SINGLE, _CITED, _OTHERS = map(AGAINST.index, ("passage", "cited", "others"))


@dataclass(frozen=True, eq=False)
class Verdicts:
    """The labels of one system's answers, by query: items, what they cite, and a row per label.

    The `item_` arrays have a row per item, ordered by query. `item_set` is a position in `SETS`, or -1 for an item that
    is left out; an item of the set `passages` has a rank, and a nugget may be vital. `listed` says, for each set and
    query, whether the items are known: an answer whose claims were never extracted is not an answer without claims.
    Every query has an item `answer` and an item `gold`.

    The `cite_` arrays have a row per citation: the position of the sentence, and that of the passage, or -1 if the
    citation points to no passage. The `label_` arrays have a row per label: its task (a position in `tasks`), item,
    what it is against (a position in `AGAINST`), the passage for `passage` and `others` (which stands for the cited
    passages without this one), its value, and whether it says that what it is against contradicts the item: 1 or 0.

    >>> from karat import load_verdicts
    >>> verdicts = load_verdicts([{"query": "q1", "item": "answer", "task": "correctness", "label": "correct"}])
    >>> verdicts.queries, verdicts.answer("correctness").tolist()
    (('q1',), [1.0])
    """

    kind: ClassVar[Literal["verdicts"]] = "verdicts"

    queries: tuple[str, ...]
    item_query: Ints
    item_set: Ints
    item_rank: Ints
    item_vital: Bools
    listed: Bools
    cite_sentence: Ints
    cite_passage: Ints
    tasks: tuple[str, ...]
    label_task: Ints
    label_item: Ints
    label_against: Ints
    label_passage: Ints
    label_value: Floats
    label_contradicts: Floats
    assumed: Mapping[Relation, float | Floats] = field(default_factory=dict)
    """what unknown labels of a relation are taken for: one value, or one per row"""
    _shared: dict[object, Any] = field(default_factory=dict, repr=False)
    """what does not depend on assumptions, computed when first needed"""

    def __post_init__(self) -> None:
        for column in fields(self):
            value = getattr(self, column.name)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    def assuming(self, assumed: Mapping[Relation, float | Floats]) -> Verdicts:
        """The same labels, with values for the unknown ones of some relations."""
        return replace(self, assumed={**self.assumed, **assumed})

    def are_listed(self, items: ItemSet) -> Bools:
        """For each query, whether it is known which items of this set it has."""
        listed: Bools = self.listed[SETS.index(items)]
        return listed

    def has_none(self, items: ItemSet) -> Bools:
        """For each query, whether it is known that it has no items of this set."""
        count = np.bincount(self.item_query[self._rows(items)], minlength=len(self.queries))
        empty: Bools = self.are_listed(items) & (count == 0)
        return empty

    def relation(self, relation: Relation) -> Labels:
        """The labels of a relation: a row per item; per item and passage if it is against single passages."""
        task, items, against = relation
        if against == "passage":
            return self.citations.alone if items == "sentences" else self.pairs(task, items).labels
        if against == "cited":
            return self.citations.together
        if against == "others":
            return self.citations.others
        return self.support(items, against) if task == "support" else self._of_items(relation)

    def support(self, items: ItemSet, against: Against) -> Labels:
        """How far each item is supported: 0 not at all, 1 in full.

        Without a label against the context as a whole, it is the highest label against a single passage. If there is
        one, but it is unknown (it failed, or people disagree), so is the support, unless a passage gives it in full.
        """
        relation, rows = Relation("support", items, against), self._rows(items)
        if against != "context":
            return self._of_items(relation)
        whole = self._item_values(relation)
        if not np.isnan(whole).any():
            return self._labels(rows, whole)  # without the pairs, of which there may be a great many
        pairs = self.pairs("support", items)
        # An unknown label may raise what the known ones say, but not lower it.
        known = replace(pairs.with_values(np.nan_to_num(pairs.value)), listed=np.ones(len(rows), bool)).best().value
        of_context = self.label_item[self.label_against == AGAINST.index(against)]
        is_unknown = np.isin(rows, of_context) & (known < 1) & ~self.has_none("passages")[pairs.query]
        best = np.where(is_unknown, np.nan, pairs.best().value)
        return self._labels(rows, self._assumed(relation, np.where(np.isnan(whole), best, whole), known))

    def contradiction(self, items: ItemSet) -> Labels:
        """Whether the context contradicts each item: 1 if it does, else 0.

        Without a label against the context as a whole, it does if a single passage does and none supports the item,
        not even in part. An unknown label of support that is assumed to be 0 is taken for a contradiction, the lowest
        label of its scale.
        """
        relation, rows = Relation("support", items, "context"), self._rows(items)
        values = self._item_values(relation, contradicts=True)
        if np.isnan(values).any():
            unassumed = replace(self, assumed={})
            pairs = unassumed.pairs("support", items)
            is_supported = highest_of(pairs.item, np.nan_to_num(pairs.value), len(rows), empty=0.0) > 0
            by_single = self._values("support", "passage", rows[pairs.item], pairs.passage, contradicts=True)
            by_any = np.where(is_supported, 0.0, pairs.with_values(by_single).best().value)
            # A passage without a label may support what another one contradicts.
            is_open = np.isnan(unassumed.support(items, "context").value)
            by_any = np.where(is_open & (by_any == 1), np.nan, by_any)
            of_context = np.isin(rows, self.label_item[self.label_against == AGAINST.index("context")])
            is_unknown = of_context & ~is_supported & ~self.has_none("passages")[pairs.query]
            values = np.where(np.isnan(values), np.where(is_unknown, np.nan, by_any), values)
        if relation in self.assumed:
            values = np.where(np.isnan(values), np.equal(self.assumed[relation], 0), values)
        return self._labels(rows, values)

    def answer(self, task: str, of: Literal["answer", "gold"] = "answer") -> Floats:
        """The label of each query's answer, or of its gold answer."""
        return self._of_items(Relation(task, of)).value

    @cached_property
    def relevance(self) -> Labels:
        """How relevant each passage is to the question, by rank."""
        return self._of_items(Relation("relevance", "passages", "question"))

    def pairs(self, task: str, items: ItemSet) -> PassagePairs:
        """Every item with every passage of its query, passages by rank, and the label of each pair."""
        pairs = self._once((task, items), lambda: self._find_pairs(task, items))
        return pairs.with_values(self._assumed(Relation(task, items, "passage"), pairs.value))

    def _find_pairs(self, task: str, items: ItemSet) -> PassagePairs:
        rows, passages = self._rows(items), self._rows("passages")
        query = self.item_query[rows]
        per_query = np.bincount(self.item_query[passages], minlength=len(self.queries))
        first = np.cumsum(per_query) - per_query
        lengths = per_query[query]
        check_number_of_pairs(self.queries, query, per_query, items.replace("_", " "))
        item = np.repeat(np.arange(len(rows)), lengths)
        passage = passages[ranges(first[query], lengths)]
        value = self._values(task, "passage", rows[item], passage)
        listed, rank = self.are_listed("passages")[query], self.item_rank[passage]
        return PassagePairs(len(self.queries), query, listed, item, passage, rank, value)

    def supporting_passages(self, items: ItemSet) -> Floats:
        """For each passage, 1 if it supports any of these items in full, else 0; a row per item of any set."""
        pairs, count = self.pairs("support", items).full(), len(self.item_query)
        supporting = highest_of(pairs.passage, pairs.value, count, empty=0.0)
        return np.where(self.are_listed(items)[self.item_query], supporting, np.nan)

    @cached_property
    def citations(self) -> Citations:
        """The sentences of each answer with what they cite."""
        return Citations(self)

    @cached_property
    def vital(self) -> Bools:
        """For each nugget, whether it is vital."""
        return self.item_vital[self._rows("nuggets")]

    def ranking(self, relevant: Labels) -> Judged:
        """The passages of each query as a ranking in which those with the value 1 are relevant."""
        passages = self._rows("passages")
        at, listed = np.arange(len(passages)), np.ones(len(passages), bool)
        rank = self.item_rank[passages]
        return self.retrieval(PassagePairs(relevant.n, relevant.query, listed, at, passages, rank, relevant.value))

    def retrieval(self, pairs: PassagePairs) -> Judged:
        """The passages of each query as a ranking in which its items are to be found.

        An item is found at the rank of each passage with which it has the value 1.
        """
        n, hits = len(self.queries), pairs.value == 1
        return Judged.from_hits(
            queries=self.queries,
            in_run=np.ones(n, bool),
            retrieved=np.bincount(self.item_query[self._rows("passages")], minlength=n),
            hit_query=pairs.query[pairs.item[hits]],
            hit_rank=pairs.rank[hits],
            hit_gold=pairs.item[hits],
            gold_grade=np.ones(len(pairs.query)),
            gold_offsets=np.r_[0, np.cumsum(np.bincount(pairs.query, minlength=n))],
        )

    def take(self, rows: Ints) -> Verdicts:
        """Some of the queries, given by their positions, in this order; a query may be taken several times."""
        counts = np.bincount(self.item_query, minlength=len(self.queries))
        first = np.cumsum(counts) - counts
        items = ranges(first[rows], counts[rows])
        # Where the items of each taken query begin, minus where they began.
        shift = np.cumsum(counts[rows]) - counts[rows] - first[rows]
        cites, cite_copy = rows_of(self.item_query[self.cite_sentence], rows, len(self.queries))
        labels, label_copy = rows_of(self.item_query[self.label_item], rows, len(self.queries))
        passage, cited = self.label_passage[labels], self.cite_passage[cites]
        return Verdicts(
            queries=tuple(self.queries[row] for row in rows.tolist()),
            item_query=np.repeat(np.arange(len(rows)), counts[rows]),
            item_set=self.item_set[items],
            item_rank=self.item_rank[items],
            item_vital=self.item_vital[items],
            listed=self.listed[:, rows],
            cite_sentence=self.cite_sentence[cites] + shift[cite_copy],
            cite_passage=np.where(cited < 0, -1, cited + shift[cite_copy]),
            tasks=self.tasks,
            label_task=self.label_task[labels],
            label_item=self.label_item[labels] + shift[label_copy],
            label_against=self.label_against[labels],
            label_passage=np.where(passage < 0, -1, passage + shift[label_copy]),
            label_value=self.label_value[labels],
            label_contradicts=self.label_contradicts[labels],
        )

    def without_items(self, items: Ints) -> Verdicts:
        """The same labels without those of some items and against them, and without citations of them.

        All items keep their positions, and those that are left out belong to no set. Passages below them move up.
        """
        is_out = np.zeros(len(self.item_query) + 1, bool)  # the last one stands for no passage, which is -1
        is_out[items] = True
        cites = ~(is_out[self.cite_sentence] | is_out[self.cite_passage])
        lost_of_item = np.bincount(self.cite_sentence[is_out[self.cite_passage]], minlength=len(self.item_query))
        against, passage, lost = self.label_against, self.label_passage, lost_of_item[self.label_item]
        # Without a passage, what a sentence cites besides it is all that it cites.
        is_rest = (against == _OTHERS) & is_out[passage] & (lost == 1)
        is_about_lost = np.where(against == _SINGLE, is_out[passage], np.isin(against, (_CITED, _OTHERS)) & (lost > 0))
        labels = ~is_out[self.label_item] & (is_rest | ~is_about_lost)
        item_set, rank = np.where(is_out[:-1], -1, self.item_set), self.item_rank.copy()
        passages = replace(self, item_set=item_set, _shared={})._rows("passages")
        rank[passages] = place_in_query(self.item_query[passages])
        return replace(
            self,
            item_set=item_set,
            item_rank=rank,
            cite_sentence=self.cite_sentence[cites],
            cite_passage=self.cite_passage[cites],
            label_task=self.label_task[labels],
            label_item=self.label_item[labels],
            label_against=np.where(is_rest, _CITED, against)[labels],
            label_passage=np.where(is_rest, -1, passage)[labels],
            label_value=self.label_value[labels],
            label_contradicts=self.label_contradicts[labels],
            _shared={},
        )

    def _rows(self, items: ItemSet) -> Ints:
        """The positions of the items of a set; passages are in the order of their ranks."""
        return self._once("positions", self._positions)[items]

    def _positions(self) -> dict[ItemSet, Ints]:
        positions = {name: np.flatnonzero(self.item_set == at) for at, name in enumerate(SETS)}
        passages = positions["passages"]
        order = np.lexsort((self.item_rank[passages], self.item_query[passages]))
        return {**positions, "passages": passages[order]}

    def _of_items(self, relation: Relation) -> Labels:
        rows = self._rows(relation.items)
        return self._labels(rows, self._assumed(relation, self._item_values(relation)))

    def _labels(self, rows: Ints, value: Floats) -> Labels:
        return Labels(len(self.queries), self.item_query[rows], value)

    def _item_values(self, relation: Relation, *, contradicts: bool = False) -> Floats:
        """The label of each item of a relation that is not about single passages, or whether it is a contradiction."""
        rows = self._rows(relation.items)
        return self._values(relation.task, relation.against, rows, np.full(len(rows), -1), contradicts=contradicts)

    def _values(self, task: str, against: Against, item: Ints, passage: Ints, *, contradicts: bool = False) -> Floats:
        """The labels of these items against these passages, or whether they are contradictions; NaN without a label."""
        table = self._once("tables", self._label_tables).get((task, against))
        if table is None:
            return np.full(len(item), np.nan)
        (keys, rows), wanted = table, self._key(item, passage)
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        values = self.label_contradicts if contradicts else self.label_value
        return np.where(keys[at] == wanted, values[rows[at]], np.nan)

    def _once(self, name: object, compute: Callable[[], Computed]) -> Computed:
        """What `compute` returns, computed once for all assumptions."""
        if name not in self._shared:
            self._shared[name] = compute()
        computed: Computed = self._shared[name]
        return computed

    def _label_tables(self) -> dict[tuple[str, Against], tuple[Ints, Ints]]:
        """The labels by task and by what they are against: sorted keys of item and passage, and the rows of these."""
        tables = {}
        kinds = self.label_task * len(AGAINST) + self.label_against
        for kind in np.flatnonzero(np.bincount(kinds)).tolist() if len(kinds) else []:
            rows = np.flatnonzero(kinds == kind)
            keys = self._key(self.label_item[rows], self.label_passage[rows])
            order = np.argsort(keys, kind="stable")
            task, against = divmod(kind, len(AGAINST))
            tables[self.tasks[task], AGAINST[against]] = keys[order], rows[order]
        return tables

    def _key(self, item: Ints, passage: Ints) -> Ints:
        return item * (len(self.item_query) + 1) + passage + 1

    def _assumed(self, relation: Relation, value: Floats, floor: Floats | float = 0.0) -> Floats:
        """The values, with what is assumed for unknown ones; it is never below `floor`."""
        if relation not in self.assumed:
            return value
        return np.where(np.isnan(value), np.maximum(self.assumed[relation], floor), value)
