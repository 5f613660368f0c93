"""The arrays of Verdicts, made from the records of one system: the items, and a row per label."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from karat.data.judged import Bools, Floats, Ints, distinct
from karat.data.verdicts import AGAINST, SETS, Verdicts
from karat.errors import KaratError, did_you_mean, shown
from karat.grounding.labels.counting import counting_rows, samples_of
from karat.grounding.labels.item_arrays import SET_AT, ItemArrays
from karat.grounding.labels.votes import are_most, majority, votes_on_nothing
from karat.grounding.responses.responses import Response, has_text
from karat.grounding.verdict_file.categorical import joint_codes
from karat.grounding.verdict_file.columns import LISTS, Against
from karat.grounding.verdict_file.reading import VerdictRecords
from karat.grounding.verdict_file.records import IMPLIED, Item, ItemKey
from karat.grounding.verdict_file.tasks import CONTRADICTS, NOTHING_TO_JUDGE

_AGAINST_AT: dict[str, int] = {name: at for at, name in enumerate(AGAINST)}
_PASSAGES = SET_AT["passages"]
_EMPTIED = {
    "answer": ("claims", "sentences"), "gold": ("gold_claims",), "question": ("nuggets",), "context": ("passages",),
}  # fmt: skip
"""the sets of items that an implied item has none of, if there is nothing to judge in it"""
_SEVERAL, _MISSING, _UNUSED = -1, -2, -3
"""what labels of support are against, besides positions in AGAINST"""


class LabelArrays(NamedTuple):
    """What labels are about, and what they say, a row per label.

    These are positions of the task, the item, what it is against, and the passage; the number that the label stands
    for, and whether it is a contradiction, which is 1 or 0. Both are NaN if the label failed, or is stale.
    """

    task: Ints
    item: Ints
    against: Ints
    passage: Ints
    value: Floats
    contradicts: Floats

    def take(self, rows: Ints | Bools) -> LabelArrays:
        """Some of the labels."""
        about = self.task[rows], self.item[rows], self.against[rows], self.passage[rows]
        return LabelArrays(*about, self.value[rows], self.contradicts[rows])


class VerdictArrays:
    """The arrays of Verdicts, made from records."""

    def __init__(
        self,
        records: VerdictRecords,
        queries: Mapping[str, int],
        items: Mapping[ItemKey, Item],
        rows: Ints,
        stale: Ints,
    ) -> None:
        labels = records.labels
        self.records, self.queries, self.tasks = records, queries, tuple(records.tasks)
        self.stale: Bools = np.zeros(len(labels), bool)
        self.stale[stale] = True
        self.listed: Bools = np.zeros((len(SETS), len(queries)), bool)
        self.nothing = votes_on_nothing(labels, rows, self.stale[rows])
        self._check_known(items, rows)
        left_out = self._left_out()
        self.items = ItemArrays(queries, items, left_out)
        self.listed[self.items.set, self.items.query] = True
        for key in left_out:
            self.listed[SET_AT[items[key].set], queries[key[0]]] = True
        rows = rows[labels.state.take(rows).where(lambda state: state != NOTHING_TO_JUDGE)]
        rows = rows[~labels.are_about(rows, left_out, self.items.left_out_passages)]
        # Nuggets or passages that could not be listed are unknown.
        is_failed_list = labels.have_failed(rows) & labels.item.take(rows).where(LISTS.__contains__)
        self.failed_lists, self.rows = rows[is_failed_list], rows[~is_failed_list]
        self.unused = self.replaced = 0
        self.gold_refusals: dict[int, float] = {}

    def add_response(self, response: Response) -> None:
        """What a response says without a label: which sentences and passages there are, and if there is an answer."""
        known = ["passages"] if response.knows_passages else []
        if response.answer is not None:
            known += ["sentences"] if has_text(response.answer) else ["sentences", "claims"]
        self.listed[[SET_AT[name] for name in known], self.queries[response.query]] = True
        if response.gold_answers is not None:
            gold = self.items.position[response.query, "gold"]
            self.gold_refusals[gold] = float(not any(map(str.strip, response.gold_answers)))

    def _check_known(self, items: Mapping[ItemKey, Item], rows: Ints) -> None:
        """Raise an error if somebody sees nothing to judge in an item that is unknown."""
        named = {key for key, votes in self.nothing.items() if key[1] not in IMPLIED and any(votes.values())}
        labels, unknown = self.records.labels, named - items.keys()
        for row in rows.tolist() if unknown else ():
            if (labels.query[row], labels.item[row]) in unknown and labels.state[row] == NOTHING_TO_JUDGE:
                raise self._unknown_item(row, ())

    def _left_out(self) -> set[ItemKey]:
        """The items that are left out, and their labels too; an implied item marks its sets as known.

        An item is left out if most of those who judged it see nothing to judge in it.
        """
        left_out = {key for key, votes in self.nothing.items() if are_most(sum(votes.values()), len(votes))}
        for query, name in left_out:
            self.listed[[SET_AT[items] for items in _EMPTIED.get(name, ())], self.queries[query]] = True
        return {key for key in left_out if key[1] not in IMPLIED}

    def samples(self, *, people: bool, numbers: Sequence[int] | None = None) -> dict[int, Verdicts]:
        """The Verdicts of each sample, in order; of people, one in which the majority counts.

        `numbers` are those of the samples, by default of all that there are.
        """
        labels, columns = self.records.labels, self._label_arrays()
        self.unused = int((columns.against < 0).sum())
        usable = (columns.against >= 0) & ~self._superseded(columns)
        columns, rows = columns.take(usable), self.rows[usable]
        sample, subject = samples_of(labels, rows), self._subject(columns)
        keys = joint_codes(subject, labels.by.codes[rows], sample)
        counting = counting_rows(keys, labels.have_failed(rows), self.stale[rows]) == np.arange(len(rows))
        self.replaced = int((~counting & ~np.isnan(columns.value)).sum())
        left_out = {} if people else self._left_out_of_samples(columns, sample)
        samples = {}
        for number in (distinct(sample).tolist() or [0]) if numbers is None else numbers:
            rows = np.flatnonzero(counting & (sample == number))
            kept, value, contradicts = majority(subject[rows], columns.value[rows], columns.contradicts[rows])
            verdicts = self._verdicts(columns.take(rows[kept])._replace(value=value, contradicts=contradicts))
            samples[number] = verdicts.without_items(np.array(left_out[number])) if number in left_out else verdicts
        return samples

    def _label_arrays(self) -> LabelArrays:
        """What each label is about, as positions; column by column, because there may be millions of rows."""
        labels, rows = self.records.labels, self.rows
        query = labels.query.take(rows).numbers(lambda name: self.queries.get(name, -1))
        item = self.items.find(query, labels.item.take(rows).numbers(self.items.code))
        for row in rows[item < 0][:1].tolist():
            known = [name for of_query, name in self.items.position if of_query == labels.query[row]]
            raise self._unknown_item(row, known)
        task_at = {name: at for at, name in enumerate(self.tasks)}
        task = labels.task.take(rows).numbers(task_at.__getitem__)
        by_task = np.array([_AGAINST_AT["question" if name == "relevance" else "nothing"] for name in self.tasks])
        compared = labels.against.take(rows)
        against = np.where(task == task_at["support"], compared.numbers(_against_at), by_task[task])
        for row in rows[against == _MISSING][:1].tolist():
            hint = 'Say what the item was compared with: "against": "context", or ["p1"] for passages.'
            raise KaratError("a label of support is against nothing", place=self.records.place(row), hint=hint)
        passage = np.full(len(rows), -1)
        single = np.flatnonzero(against == _AGAINST_AT["passage"])
        first = compared.numbers(lambda names: self.items.code(names[0]) if isinstance(names, tuple) else -1)
        passage[single] = self.items.find(query[single], first[single])
        is_passage = (passage[single] >= 0) & (self.items.set[passage[single]] == _PASSAGES)
        for row in rows[single[~is_passage]][:1].tolist():
            self._passages(row)
        for at in np.flatnonzero(against == _SEVERAL).tolist():
            cited = self.items.cited.get(int(item[at]), frozenset())
            against[at], passage[at] = _cited_together(cited, self._passages(rows[at]))
        return LabelArrays(task, item, against, passage, *self._values())

    def _passages(self, row: int) -> frozenset[int]:
        """The positions of the passages that a label is against; an unknown one is an error."""
        query, names = self.records.labels.query[row], self.records.labels.against[row] or ()
        positions = [self.items.passage(query, name) for name in names]
        if -1 in positions:
            what = f"the passage {shown(names[positions.index(-1)])} of query {shown(query)} is unknown"
            raise KaratError(what, place=self.records.place(row), hint="Add a record of the item, with its rank.")
        return frozenset(positions)

    def _unknown_item(self, row: int, known: Sequence[str]) -> KaratError:
        name, query = self.records.labels.item[row], self.records.labels.query[row]
        hint = f"{did_you_mean(name, known)} Add a record of the item, or give the label the item's type.".strip()
        what = f"the item {shown(name)} of query {shown(query)} is unknown"
        return KaratError(what, place=self.records.place(row), hint=hint)

    def _left_out_of_samples(self, columns: LabelArrays, sample: Ints) -> dict[int, list[int]]:
        """The items, by their positions, that are left out of each sample: it sees nothing to judge in them.

        A sample that says so of an implied item has none of its items that others labelled; if most say so, none has.
        """
        query, labelled = self.items.query[columns.item], defaultdict[tuple[int, int], set[int]](set)
        doubted = np.isin(query, [self.queries[name] for name, item in self.nothing if item in IMPLIED])
        by_passages = doubted & np.isin(columns.against, [_AGAINST_AT[name] for name in ("passage", "cited", "others")])
        for rows, sets in ((doubted, self.items.set[columns.item]), (by_passages, np.full(len(query), _PASSAGES))):
            for at in np.flatnonzero(rows).tolist():
                labelled[int(query[at]), int(sets[at])].add(int(sample[at]))
        left_out = defaultdict[int, list[int]](list)
        for (name, item), votes in self.nothing.items():
            samples = {number for (_, number), says_nothing in votes.items() if says_nothing}
            if item not in IMPLIED and (name, item) in self.items.position:
                for number in samples:
                    left_out[number].append(self.items.position[name, item])
            for emptied in _EMPTIED.get(item, ()):
                code = self.queries[name], SET_AT[emptied]
                without, every = samples - labelled[code], samples | labelled[code]
                if without and labelled[code]:
                    items = np.flatnonzero((self.items.query == code[0]) & (self.items.set == code[1])).tolist()
                    for number in every if are_most(len(without), len(every)) else without:
                        left_out[number] += items
        return left_out

    def _superseded(self, columns: LabelArrays) -> Bools:
        """Which stale labels are against other passages, while there are labels against single ones of the item."""
        stale: Bools = self.stale[self.rows] & (columns.against == _AGAINST_AT["context"])
        if stale.any():
            single = columns.item[(columns.against == _AGAINST_AT["passage"]) & ~self.stale[self.rows]]
            stale &= np.isin(columns.item, single)
        return stale

    def _subject(self, columns: LabelArrays) -> Ints:
        """A number for what each label is about, as in `counting.SubjectKey`."""
        items = len(self.items.item) + 1
        about = (columns.task * len(AGAINST) + columns.against) * items + columns.item
        return about * items + columns.passage + 1

    def _values(self) -> tuple[Floats, Floats]:
        """The number that each label stands for, and whether it is a contradiction."""
        labels, rows = self.records.labels, self.rows
        names = labels.label.categories
        codes = labels.task.codes[rows].astype(np.int64) * len(names) + labels.label.codes[rows]
        numbers, contradicts = np.full((2, len(labels.task.categories) * len(names)), np.nan)
        for code in np.flatnonzero(np.bincount(codes)).tolist():
            task = self.records.tasks[labels.task.categories[code // len(names)]]
            if (name := names[code % len(names)]) is not None:
                numbers[code], contradicts[code] = task.value(name), task.name == "support" and name == CONTRADICTS
        stale = self.stale[rows]
        return np.where(stale, np.nan, numbers[codes]), np.where(stale, np.nan, contradicts[codes])

    def _with_gold_refusals(self, columns: LabelArrays) -> LabelArrays:
        """Labels, with those that gold answers imply: without an answer, the question should be refused."""
        if not self.gold_refusals:
            return columns
        task, against = self.tasks.index("abstention"), _AGAINST_AT["nothing"]
        of_task = columns.task == task
        labelled = {*columns.item[of_task & ~np.isnan(columns.value)].tolist()}
        added = {item: value for item, value in self.gold_refusals.items() if item not in labelled}
        kept = columns.take(~(of_task & np.isin(columns.item, list(added))))
        more = np.array([(task, item, against, -1, value, 0) for item, value in added.items()]).reshape(-1, 6)
        return LabelArrays(*(np.r_[old, new.astype(old.dtype)] for old, new in zip(kept, more.T, strict=True)))

    def _verdicts(self, columns: LabelArrays) -> Verdicts:
        columns = self._with_gold_refusals(columns)
        return Verdicts(
            queries=tuple(self.queries),
            item_query=self.items.query,
            item_set=self.items.set,
            item_rank=self.items.rank,
            item_vital=self.items.vital,
            listed=self.listed,
            cite_sentence=self.items.cite_sentence,
            cite_passage=self.items.cite_passage,
            tasks=self.tasks,
            label_task=columns.task,
            label_item=columns.item,
            label_against=columns.against,
            label_passage=columns.passage,
            label_value=columns.value,
            label_contradicts=columns.contradicts,
        )


def _against_at(against: Against) -> int:
    """What a label of support is against, as a position in AGAINST."""
    if isinstance(against, tuple):
        return _AGAINST_AT["passage"] if len(against) == 1 else _SEVERAL
    return _MISSING if against is None else _AGAINST_AT[against]


def _cited_together(cited: frozenset[int], together: frozenset[int]) -> tuple[int, int]:
    """What a label against several passages is about: all that the sentence cites, or all but one."""
    if together == cited:
        return _AGAINST_AT["cited"], -1
    if together < cited and len(cited) == len(together) + 1:
        return _AGAINST_AT["others"], next(iter(cited - together))
    return _UNUSED, -1
