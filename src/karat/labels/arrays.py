"""The arrays of Verdicts, made from the records of one system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from karat.errors import KaratError, did_you_mean, plural, shown
from karat.judged import Bools, Floats, Ints
from karat.labels.reading import Against, VerdictRecords
from karat.labels.records import IMPLIED, Item, text_digest
from karat.labels.votes import majority
from karat.verdicts import AGAINST, SETS, Verdicts

_EMPTIED = {
    "answer": ("claims", "sentences"), "gold": ("gold_claims",), "question": ("nuggets",), "context": ("passages",),
}  # fmt: skip
"""the sets of items that an implied item has none of, if there is nothing to judge in it"""


class _Key(NamedTuple):
    """What a label is about, as positions."""

    task: int
    item: int
    against: int
    passage: int


class VerdictArrays:
    """The arrays of Verdicts, made from records."""

    def __init__(
        self,
        records: VerdictRecords,
        queries: Mapping[str, int],
        items: Mapping[tuple[str, str], Item],
        rows: Sequence[int],
        stale: set[tuple[str, str]],
    ) -> None:
        self.records, self.queries, self.stale = records, queries, stale
        self.tasks = tuple(records.tasks)
        labels = records.labels
        dropped = self._nothing_to_judge(rows, items)
        implied: list[tuple[str, str, Item | None]] = [
            (query, name, items.get((query, name))) for query in queries for name in ("answer", "gold")
        ]
        kept: list[tuple[str, str, Item | None]] = [
            (query, name, item)
            for (query, name), item in items.items()
            if query in queries and (query, name) not in dropped and name not in ("answer", "gold")
        ]
        everything = sorted(implied + kept, key=lambda each: queries[each[0]])
        self.listed_items = [item for _, _, item in everything]
        self.at = {(query, name): at for at, (query, name, _) in enumerate(everything)}
        sets = [_set_of(name, item) for _, name, item in everything]
        self.item_set = np.array([SETS.index(each) for each in sets], np.int64)
        self.item_query = np.array([queries[query] for query, _, _ in everything], np.int64)
        ranks = [item.rank or 0 if item else 0 for item in self.listed_items]
        self.item_rank = np.array(ranks, np.int64)
        self._check_ranks()
        self.item_vital = np.array([bool(item and item.importance == "vital") for item in self.listed_items], bool)
        self.listed[self.item_set, self.item_query] = True
        for query, name in dropped:
            if item := items.get((query, name)):
                self.listed[SETS.index(item.set), queries[query]] = True
        self._add_citations()
        self.unused = self.outdated = self.replaced = 0
        self.rows = [
            row
            for row in rows
            if labels.state[row] != "nothing_to_judge" and (labels.query[row], labels.item[row]) not in dropped
        ]
        self.keys = self._keys()

    def _nothing_to_judge(self, rows: Sequence[int], items: Mapping[tuple[str, str], Item]) -> set[tuple[str, str]]:
        """The items that are left out; implied items without anything to judge mark their sets as known."""
        labels = self.records.labels
        self.listed: Bools = np.zeros((len(SETS), len(self.queries)), bool)
        dropped = set()
        for row in rows:
            if labels.state[row] != "nothing_to_judge":
                continue
            query, name = labels.query[row], labels.item[row]
            if name in IMPLIED:
                for each in _EMPTIED[name]:
                    self.listed[SETS.index(each), self.queries[query]] = True
            elif (query, name) in items:
                dropped.add((query, name))
            else:
                raise self._unknown_item(row)
        return dropped

    def _check_ranks(self) -> None:
        passages = np.flatnonzero(self.item_set == SETS.index("passages"))
        seen: dict[tuple[int, int], int] = {}
        for at in passages.tolist():
            key = int(self.item_query[at]), int(self.item_rank[at])
            if (other := seen.setdefault(key, at)) != at:
                names, item = list(self.at), self.listed_items[at]
                (query, first), (_, second) = names[other], names[at]
                what = f"the passages {shown(first)} and {shown(second)} of query {shown(query)} have the same rank"
                raise KaratError(what, where=item.where if item else None, hint="Ranks are 1, 2, 3, ….")

    def _add_citations(self) -> None:
        """The passages that sentences cite; -1 for what is no passage of the query."""
        sentences, passages = [], []
        self.cited: dict[int, frozenset[int]] = {}
        is_passage = (self.item_set == SETS.index("passages")).tolist()
        for at, item in enumerate(self.listed_items):
            if item is None or item.type != "sentence":
                continue
            found = [self.at.get((item.query, cited), -1) for cited in item.cites]
            found = [each if each >= 0 and is_passage[each] else -1 for each in found]
            self.cited[at] = frozenset(each for each in found if each >= 0)
            sentences += [at] * len(found)
            passages += found
        self.cite_sentence = np.array(sentences, np.int64)
        self.cite_passage = np.array(passages, np.int64)

    def _keys(self) -> list[_Key | None]:
        """What each label is about; None if no measure can use it."""
        labels, task_at = self.records.labels, {name: at for at, name in enumerate(self.tasks)}
        against_at = {name: at for at, name in enumerate(AGAINST)}
        fixed = {name: against_at["question" if name == "relevance" else "nothing"] for name in self.tasks}
        keys: list[_Key | None] = []
        for row in self.rows:
            query, task = labels.query[row], labels.task[row]
            item = self.at.get((query, labels.item[row]))
            if item is None:
                raise self._unknown_item(row)
            against = labels.against[row]
            if task != "support":
                keys.append(_Key(task_at[task], item, fixed[task], -1))
            elif type(against) is str:
                keys.append(_Key(task_at[task], item, against_at[against], -1))
            else:
                keys.append(self._against_passages(row, item, against))
        return keys

    def _against_passages(self, row: int, item: int, against: Against) -> _Key | None:
        labels, task = self.records.labels, self.tasks.index("support")
        if against is None:
            hint = 'Say what the item was compared with: "against": "context", or ["p1"] for passages.'
            raise KaratError("a label of support is against nothing", where=self.records.place(row), hint=hint)
        passages = [self.at.get((labels.query[row], name), -1) for name in against]
        if -1 in passages:
            name = against[passages.index(-1)]
            what = f"the passage {shown(name)} of query {shown(labels.query[row])} is unknown"
            raise KaratError(what, where=self.records.place(row), hint="Add a record of the item, with its rank.")
        if len(passages) == 1:
            return _Key(task, item, AGAINST.index("passage"), passages[0])
        cited, together = self.cited.get(item, frozenset()), frozenset(passages)
        if together == cited:
            return _Key(task, item, AGAINST.index("cited"), -1)
        if together < cited and len(cited) == len(together) + 1:
            return _Key(task, item, AGAINST.index("others"), next(iter(cited - together)))
        self.unused += 1
        return None

    def _unknown_item(self, row: int) -> KaratError:
        labels = self.records.labels
        name, query = labels.item[row], labels.query[row]
        known = [each for other, each in self.at if other == query] if hasattr(self, "at") else []
        hint = f"{did_you_mean(name, known)} Add a record of the item, or give the label the item's type.".strip()
        return KaratError(
            f"the item {shown(name)} of query {shown(query)} is unknown", where=self.records.place(row), hint=hint
        )

    def samples(self, *, people: bool) -> tuple[Verdicts, ...]:
        """The Verdicts of each sample, in order; of people, one in which the majority counts."""
        labels = self.records.labels
        usable = [(row, key) for row, key in zip(self.rows, self.keys, strict=True) if key is not None]
        values = np.array([self._value(row) for row, _ in usable], np.float64)
        positions = np.array([key for _, key in usable], np.int64).reshape(-1, 4)
        rows = [row for row, _ in usable]
        author_at = {name: at for at, name in enumerate(dict.fromkeys(labels.by))}
        authors = np.array([author_at[labels.by[row]] for row in rows], np.int64)
        sample = np.array([labels.sample[row] for row in rows], np.int64)
        if people:
            sample[:] = 0
        last = self._last_of_each(positions, authors, sample, values)
        positions, values, sample = positions[last], values[last], sample[last]
        found = []
        for each in sorted(set(sample.tolist())) or [0]:
            of_sample = sample == each
            found.append(self._verdicts(*majority(positions[of_sample], values[of_sample])))
        return tuple(found)

    def _value(self, row: int) -> float:
        labels = self.records.labels
        label = labels.label[row]
        if label is None:
            return np.nan
        key = labels.query[row], labels.item[row]
        if key in self.stale or self._is_outdated(labels.digest[row], key):
            self.outdated += 1
            return np.nan
        return self.records.tasks[labels.task[row]].value(label)

    def _is_outdated(self, digest: str | None, key: tuple[str, str]) -> bool:
        """Whether a label was given to another text than the item has now."""
        item = None if digest is None else self.listed_items[self.at[key]]
        return item is not None and item.text is not None and digest != text_digest(item.text)

    def _last_of_each(self, positions: Ints, authors: Ints, sample: Ints, values: Floats) -> Ints:
        """Of labels for one thing by one author, the last; a failure does not replace a label."""
        order = np.lexsort((np.arange(len(values)), ~np.isnan(values), sample, authors, *positions.T[::-1]))
        columns = np.column_stack([positions, authors, sample])[order]
        is_last = np.r_[(columns[1:] != columns[:-1]).any(axis=1), True][: len(order)]
        known = ~np.isnan(values[order])
        self.replaced = int((~is_last & known).sum())
        return np.sort(order[is_last])

    def _verdicts(self, positions: Ints, values: Floats) -> Verdicts:
        task, item, against, passage = positions.T
        return Verdicts(
            queries=tuple(self.queries),
            item_query=self.item_query,
            item_set=self.item_set,
            item_rank=self.item_rank,
            item_vital=self.item_vital,
            listed=self.listed,
            cite_sentence=self.cite_sentence,
            cite_passage=self.cite_passage,
            tasks=self.tasks,
            label_task=task,
            label_item=item,
            label_against=against,
            label_passage=passage,
            label_value=values,
        )

    def notes(self) -> list[str]:
        """What was odd about the labels."""
        found = []
        if self.replaced:
            found.append(f"{plural(self.replaced, 'label')} replaced by a later one of the same author")
        if self.outdated:
            found.append(f"{plural(self.outdated, 'label')} not used: the text has changed since")
        if self.unused:
            found.append(
                f"{plural(self.unused, 'label')} not used: about passages that the sentence does not cite together"
            )
        return found


def _set_of(name: str, item: Item | None) -> str:
    return name if item is None or item.type == "answer" else item.set
