"""The arrays of Verdicts, made from the records of one system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from karat.errors import KaratError, did_you_mean, plural, shown
from karat.judged import Bools, Floats, Ints, distinct, place_in_query
from karat.labels.label_columns import Against
from karat.labels.reading import VerdictRecords
from karat.labels.records import IMPLIED, Item
from karat.labels.responses import Response
from karat.labels.votes import majority
from karat.verdicts import AGAINST, SETS, Verdicts

_EMPTIED = {
    "answer": ("claims", "sentences"), "gold": ("gold_claims",), "question": ("nuggets",), "context": ("passages",),
}  # fmt: skip
"""the sets of items that an implied item has none of, if there is nothing to judge in it"""


_FIXED = {"relevance": "question"}
"""what labels of a task other than support are always against"""
_SEVERAL, _NOTHING_GIVEN, _UNUSED = -1, -2, -3


class _LabelPositions(NamedTuple):
    """What labels are about, a row per label: positions of the task, the item, what it is against, and the passage."""

    task: Ints
    item: Ints
    against: Ints
    passage: Ints


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
        self.records, self.queries = records, queries
        self.stale = stale | {(key[0], "context") for key in stale if items[key].type == "passage"}
        self.tasks = tuple(records.tasks)
        labels = records.labels
        dropped = self._nothing_to_judge(rows, items)
        self.left_out_passages = {key for key in dropped if items[key].type == "passage"}
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
        # Passages may be left out, and the others move up.
        passages = np.flatnonzero(self.item_set == SETS.index("passages"))
        passages = passages[np.lexsort((self.item_rank[passages], self.item_query[passages]))]
        self.item_rank[passages] = place_in_query(self.item_query[passages])
        self.item_vital = np.array([bool(item and item.importance == "vital") for item in self.listed_items], bool)
        self.listed[self.item_set, self.item_query] = True
        for query, name in dropped:
            if item := items.get((query, name)):
                self.listed[SETS.index(item.set), queries[query]] = True
        self._add_citations()
        self.rows = rows
        if "nothing_to_judge" in self.states:
            judged = [row for row in rows if labels.state[row] != "nothing_to_judge"]
            self.rows = [row for row in judged if (labels.query[row], labels.item[row]) not in dropped]
        if self.left_out_passages:
            self.rows = [row for row in self.rows if not self._has_left_out_passage(row)]
        self.unused = self.outdated = self.replaced = 0
        self.gold_refusals: dict[int, float] = {}

    def add_response(self, response: Response) -> None:
        """What a response says without a label: which sentences and passages there are, and if there is an answer."""
        query = self.queries[response.query]
        for each in ("sentences", "passages", *(() if any(map(str.isalnum, response.answer)) else ("claims",))):
            self.listed[SETS.index(each), query] = True
        if response.gold_answers is not None:
            self.gold_refusals[self.at[response.query, "gold"]] = float(not any(map(str.strip, response.gold_answers)))

    def _nothing_to_judge(self, rows: Sequence[int], items: Mapping[tuple[str, str], Item]) -> set[tuple[str, str]]:
        """The items that are left out; implied items without anything to judge mark their sets as known.

        An item is left out if most of those who judged it say so. Whoever labels it later has changed their mind.
        """
        labels = self.records.labels
        self.listed: Bools = np.zeros((len(SETS), len(self.queries)), bool)
        self.states = set(labels.state)
        doubted: dict[tuple[str, str], set[str]] = {}
        for row in rows if "nothing_to_judge" in self.states else ():
            if labels.state[row] == "nothing_to_judge":
                doubted.setdefault((labels.query[row], labels.item[row]), set()).add(labels.task[row])
        latest: dict[tuple[object, ...], int] = {}
        for row in rows if doubted else ():
            if self._is_vote(row, doubted, items):
                about = labels.query[row], labels.item[row], labels.task[row], labels.against[row]
                latest[*about, labels.by[row], labels.sample[row]] = row
        judges: dict[tuple[str, str], dict[tuple[str, int], bool]] = {key: {} for key in doubted}
        for row in latest.values():
            query, name = key = labels.query[row], labels.item[row]
            nothing, judge = labels.state[row] == "nothing_to_judge", (labels.by[row], labels.sample[row])
            judges[key][judge] = judges[key].get(judge, False) or nothing
            if nothing and name not in IMPLIED and key not in items:
                raise self._unknown_item(row)
        left_out = {key for key, votes in judges.items() if 2 * sum(votes.values()) > len(votes)}
        for query, name in left_out:
            for each in _EMPTIED.get(name, ()):
                self.listed[SETS.index(each), self.queries[query]] = True
        return {key for key in left_out if key[1] not in IMPLIED}

    def _is_vote(
        self, row: int, doubted: Mapping[tuple[str, str], set[str]], items: Mapping[tuple[str, str], Item]
    ) -> bool:
        """Whether a label says if there is anything to judge in an item about which somebody says that there is not.

        A label of the answer, such as its correctness, does not say whether it has claims.
        """
        labels, key = self.records.labels, (self.records.labels.query[row], self.records.labels.item[row])
        tasks = doubted.get(key)
        if tasks is None or labels.state[row] == "failed" or (key[1] in IMPLIED and labels.task[row] not in tasks):
            return False
        item = items.get(key)
        return item is None or not item.has_other_text_than(labels.digest[row])

    def _has_left_out_passage(self, row: int) -> bool:
        query, against = self.records.labels.query[row], self.records.labels.against[row]
        return isinstance(against, tuple) and any((query, name) in self.left_out_passages for name in against)

    def _check_ranks(self) -> None:
        passages = np.flatnonzero(self.item_set == SETS.index("passages"))
        order = passages[np.lexsort((self.item_rank[passages], self.item_query[passages]))]
        query, rank = self.item_query[order], self.item_rank[order]
        for at in np.flatnonzero((query[1:] == query[:-1]) & (rank[1:] == rank[:-1]))[:1].tolist():
            names, item = list(self.at), self.listed_items[order[at + 1]]
            (of_query, first), (_, second) = names[order[at]], names[order[at + 1]]
            what = f"the passages {shown(first)} and {shown(second)} of query {shown(of_query)} have the same rank"
            raise KaratError(what, where=item.where if item else None, hint="Ranks are 1, 2, 3, ….")

    def _add_citations(self) -> None:
        """The passages that sentences cite; -1 for what is no passage of the query."""
        sentences, passages = [], []
        self.cited: dict[int, frozenset[int]] = {}
        self.is_passage = (self.item_set == SETS.index("passages")).tolist()
        for at, item in enumerate(self.listed_items):
            if item is None or item.type != "sentence":
                continue
            cites = [cited for cited in item.cites if (item.query, cited) not in self.left_out_passages]
            found = [self.at.get((item.query, cited), -1) for cited in cites]
            found = [each if each >= 0 and self.is_passage[each] else -1 for each in found]
            self.cited[at] = frozenset(each for each in found if each >= 0)
            sentences += [at] * len(found)
            passages += found
        self.cite_sentence = np.array(sentences, np.int64)
        self.cite_passage = np.array(passages, np.int64)

    def _label_columns(self) -> _LabelPositions:
        """What each label is about, as positions; column by column, because there may be millions of rows."""
        labels, rows = self.records.labels, self.rows
        queries, tasks = self._column(labels.query), self._column(labels.task)
        against = self._column(labels.against)
        items = [self.at.get(key, -1) for key in zip(queries, self._column(labels.item), strict=True)]
        if -1 in items:
            raise self._unknown_item(rows[items.index(-1)])
        task_at, single = {name: at for at, name in enumerate(self.tasks)}, AGAINST.index("passage")
        task = np.array(list(map(task_at.__getitem__, tasks)), np.int64)
        by_task = np.array([AGAINST.index(_FIXED.get(name, "nothing")) for name in self.tasks])
        by_against = {each: _kind(each) for each in dict.fromkeys(against)}
        given = np.array(list(map(by_against.__getitem__, against)), np.int64)
        kind = np.where(task == task_at["support"], given, by_task[task])
        passage = np.full(len(rows), -1)
        for at in np.flatnonzero(kind == _NOTHING_GIVEN)[:1].tolist():
            hint = 'Say what the item was compared with: "against": "context", or ["p1"] for passages.'
            raise KaratError("a label of support is against nothing", where=self.records.place(rows[at]), hint=hint)
        alone = np.flatnonzero(kind == single).tolist()
        found = np.array([self.at.get((queries[at], against[at][0]), -1) for at in alone], np.int64)
        for bad in np.flatnonzero((found < 0) | ~np.array([*self.is_passage, False])[found])[:1].tolist():
            self._passage(rows[alone[bad]], queries[alone[bad]], against[alone[bad]][0])
        passage[alone] = found
        for at in np.flatnonzero(kind == _SEVERAL).tolist():
            together = frozenset(self._passage(rows[at], queries[at], name) for name in against[at])
            kind[at], passage[at] = _cited_together(self.cited.get(items[at], frozenset()), together)
        return _LabelPositions(task, np.array(items, np.int64), kind, passage)

    def _column(self, values: list[Any]) -> list[Any]:
        """A column of the labels that count."""
        return values if len(self.rows) == len(values) else [values[row] for row in self.rows]

    def _passage(self, row: int, query: str, name: str) -> int:
        at = self.at.get((query, name))
        if at is None or not self.is_passage[at]:
            what = f"the passage {shown(name)} of query {shown(query)} is unknown"
            raise KaratError(what, where=self.records.place(row), hint="Add a record of the item, with its rank.")
        return at

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
        labels, columns = self.records.labels, self._label_columns()
        values = self._values()
        usable = columns.against >= 0
        self.unused = int((~usable).sum())
        author_at = {name: at for at, name in enumerate(dict.fromkeys(labels.by))}
        authors = np.array(list(map(author_at.__getitem__, self._column(labels.by))), np.int64)
        sample = np.zeros(len(self.rows), np.int64) if people else np.array(self._column(labels.sample), np.int64)
        columns, values = _LabelPositions(*(each[usable] for each in columns)), values[usable]
        thing = self._thing(columns)
        last = self._last_of_each(thing, authors[usable], sample[usable], values)
        found = []
        for each in sorted(set(sample[usable].tolist())) or [0]:
            rows = last[sample[usable][last] == each]
            kept, chosen = majority(thing[rows], values[rows])
            found.append(self._verdicts(_LabelPositions(*(column[rows[kept]] for column in columns)), chosen))
        return tuple(found)

    def _thing(self, columns: _LabelPositions) -> Ints:
        """A number for what each label is about: labels for the same thing have the same number."""
        items = len(self.listed_items) + 1
        about = (columns.task * len(AGAINST) + columns.against) * items + columns.item
        return about * items + columns.passage + 1

    def _values(self) -> Floats:
        """The number that each label stands for; NaN if it failed, or if its text has changed since."""
        labels = self.records.labels
        pairs = list(zip(self._column(labels.task), self._column(labels.label), strict=True))
        tasks = self.records.tasks
        numbers = {
            (task, label): np.nan if label is None else tasks[task].value(label) for task, label in dict.fromkeys(pairs)
        }
        values = np.array(list(map(numbers.__getitem__, pairs)), np.float64)
        if self.stale or set(labels.digest) != {None}:
            columns: list[list[Any]] = [labels.query, labels.item, labels.against, labels.digest]
            outdated = [self._is_outdated(*row) for row in zip(*map(self._column, columns), strict=True)]
            self.outdated = sum(outdated)
            values[outdated] = np.nan
        return values

    def _is_outdated(self, query: str, name: str, against: Against, digest: str | None) -> bool:
        """Whether the text of an item, or what it was compared with, has changed since."""
        compared = against if isinstance(against, tuple) else (against,)
        if self.stale and any((query, each) in self.stale for each in (name, *compared)):
            return True
        item = None if digest is None else self.listed_items[self.at[query, name]]
        return item is not None and item.has_other_text_than(digest)

    def _last_of_each(self, thing: Ints, authors: Ints, sample: Ints, values: Floats) -> Ints:
        """Of labels for one thing by one author, the last; a failure does not replace a label."""
        known = ~np.isnan(values)
        # Usually each thing has one label, which is seen without sorting all columns.
        if len(distinct(thing)) == len(thing):
            return np.arange(len(thing))
        order = np.lexsort((np.arange(len(values)), known, sample, authors, thing))
        keys = [column[order] for column in (thing, authors, sample)]
        is_last = np.r_[np.any([key[1:] != key[:-1] for key in keys], axis=0), True]
        self.replaced = int((~is_last & known[order]).sum())
        return np.sort(order[is_last])

    def _with_gold_refusals(self, columns: _LabelPositions, values: Floats) -> tuple[_LabelPositions, Floats]:
        """Labels, with those that gold answers imply: without an answer, the question should be refused."""
        if not self.gold_refusals:
            return columns, values
        of_task = columns.task == self.tasks.index("abstention")
        labelled = {*columns.item[of_task & ~np.isnan(values)].tolist()}
        added = {item: value for item, value in self.gold_refusals.items() if item not in labelled}
        kept = ~(of_task & np.isin(columns.item, list(added)))
        task, against = self.tasks.index("abstention"), AGAINST.index("nothing")
        more = np.array([(task, item, against, -1) for item in added], np.int64).reshape(-1, 4)
        found = (np.r_[old[kept], new] for old, new in zip(columns, more.T, strict=True))
        return _LabelPositions(*found), np.r_[values[kept], list(added.values())]

    def _verdicts(self, columns: _LabelPositions, values: Floats) -> Verdicts:
        columns, values = self._with_gold_refusals(columns, values)
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
            label_task=columns.task,
            label_item=columns.item,
            label_against=columns.against,
            label_passage=columns.passage,
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


def _kind(against: Against) -> int:
    """What a label of support is against, as a position in AGAINST."""
    if isinstance(against, tuple):
        return AGAINST.index("passage") if len(against) == 1 else _SEVERAL
    return _NOTHING_GIVEN if against is None else AGAINST.index(against)


def _cited_together(cited: frozenset[int], together: frozenset[int]) -> tuple[int, int]:
    """What a label against several passages is about: all that the sentence cites, or all but one."""
    if together == cited:
        return AGAINST.index("cited"), -1
    if together < cited and len(cited) == len(together) + 1:
        return AGAINST.index("others"), next(iter(cited - together))
    return _UNUSED, -1


def _set_of(name: str, item: Item | None) -> str:
    return name if item is None or item.type == "answer" else item.set
