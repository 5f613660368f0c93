"""The arrays of Verdicts, made from the records of one system."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from karat.data.judged import Bools, Floats, Ints, distinct
from karat.data.verdicts import AGAINST, SETS, Verdicts
from karat.errors import KaratError, did_you_mean, shown
from karat.grounding.labels.counting import counting_rows, samples_of
from karat.grounding.labels.item_arrays import ItemArrays
from karat.grounding.labels.votes import are_most, majority, votes_on_nothing
from karat.grounding.responses.responses import Response, has_text
from karat.grounding.verdict_file.categorical import joint_codes, pair_codes
from karat.grounding.verdict_file.columns import Against
from karat.grounding.verdict_file.reading import VerdictRecords
from karat.grounding.verdict_file.records import IMPLIED, Item, ItemKey
from karat.grounding.verdict_file.tasks import NOTHING_TO_JUDGE

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
        items: Mapping[ItemKey, Item],
        rows: Ints,
        stale: Ints,
    ) -> None:
        self.records, self.queries, self.rows = records, queries, rows
        self.stale: Bools = np.zeros(len(records.labels), bool)
        self.stale[stale] = True
        labels = records.labels
        self.tasks = tuple(records.tasks)
        self.listed: Bools = np.zeros((len(SETS), len(queries)), bool)
        self.nothing = votes_on_nothing(labels, rows, self.stale[rows])
        self._check_known(items)
        left_out = self._left_out()
        self.items = ItemArrays(queries, items, left_out)
        self.listed[self.items.set, self.items.query] = True
        for key in left_out:
            self.listed[SETS.index(items[key].set), queries[key[0]]] = True
        self.rows = rows[labels.state.take(rows).where(lambda state: state != NOTHING_TO_JUDGE)]
        passages = {key for key in left_out if items[key].type == "passage"}
        self.rows = self.rows[~labels.are_about(self.rows, left_out, passages)]
        # Nuggets or passages that could not be listed are unknown.
        self.failed_lists = self.rows[labels.are_failed_lists(self.rows)]
        self.rows = self.rows[~labels.are_failed_lists(self.rows)]
        self.unused = self.replaced = 0
        self.gold_refusals: dict[int, float] = {}

    def add_response(self, response: Response) -> None:
        """What a response says without a label: which sentences and passages there are, and if there is an answer."""
        query, known = self.queries[response.query], ["passages"] if response.knows_passages else []
        if response.answer is not None:
            known += ["sentences"] if has_text(response.answer) else ["sentences", "claims"]
        for each in known:
            self.listed[SETS.index(each), query] = True
        if response.gold_answers is not None:
            gold = self.items.position[response.query, "gold"]
            self.gold_refusals[gold] = float(not any(map(str.strip, response.gold_answers)))

    def _left_out(self) -> set[ItemKey]:
        """The items that are left out, and their labels too; an implied item marks its sets as known.

        An item is left out if most of those who judged it see nothing to judge in it.
        """
        left_out = {key for key, votes in self.nothing.items() if are_most(sum(votes.values()), len(votes))}
        for query, name in left_out:
            for each in _EMPTIED.get(name, ()):
                self.listed[SETS.index(each), self.queries[query]] = True
        return {key for key in left_out if key[1] not in IMPLIED}

    def _check_known(self, items: Mapping[ItemKey, Item]) -> None:
        """Raise an error if somebody sees nothing to judge in an item that is unknown."""
        named = {key for key, votes in self.nothing.items() if key[1] not in IMPLIED and any(votes.values())}
        labels, unknown = self.records.labels, named - items.keys()
        for row in self.rows.tolist() if unknown else ():
            if (labels.query[row], labels.item[row]) in unknown and labels.state[row] == NOTHING_TO_JUDGE:
                raise self._unknown_item(row)

    def _label_columns(self) -> _LabelPositions:
        """What each label is about, as positions; column by column, because there may be millions of rows."""
        labels, rows = self.records.labels, self.rows
        against = labels.against.take(rows)
        query = labels.query.take(rows).numbers(lambda each: self.queries.get(each, -1))
        item = self.items.find(query, labels.item.take(rows).numbers(self.items.code))
        for at in np.flatnonzero(item < 0)[:1].tolist():
            raise self._unknown_item(rows[at])
        task_at, single = {name: at for at, name in enumerate(self.tasks)}, AGAINST.index("passage")
        task = labels.task.take(rows).numbers(task_at.__getitem__)
        by_task = np.array([AGAINST.index(_FIXED.get(name, "nothing")) for name in self.tasks])
        kind = np.where(task == task_at["support"], against.numbers(_kind), by_task[task])
        for at in np.flatnonzero(kind == _NOTHING_GIVEN)[:1].tolist():
            hint = 'Say what the item was compared with: "against": "context", or ["p1"] for passages.'
            raise KaratError("a label of support is against nothing", place=self.records.place(rows[at]), hint=hint)
        passage = np.full(len(rows), -1)
        alone = np.flatnonzero(kind == single)
        name = against.numbers(lambda each: self.items.code(each[0]) if isinstance(each, tuple) else -1)
        found = passage[alone] = self.items.find(query[alone], name[alone])
        is_passage = (found >= 0) & (self.items.set[found] == SETS.index("passages"))
        for bad in np.flatnonzero(~is_passage)[:1].tolist():
            list(self._passages(rows[alone[bad]]))
        for at in np.flatnonzero(kind == _SEVERAL).tolist():
            together = frozenset(self._passages(rows[at]))
            kind[at], passage[at] = _cited_together(self.items.cited.get(int(item[at]), frozenset()), together)
        return _LabelPositions(task, item, kind, passage)

    def _passages(self, row: int) -> Iterator[int]:
        """The positions of the passages that a label is against; an unknown one is an error."""
        query, against = self.records.labels.query[row], self.records.labels.against[row]
        for name in against or ():
            at = self.items.position.get((query, name))
            if at is None or not self.items.is_passage(at):
                what = f"the passage {shown(name)} of query {shown(query)} is unknown"
                raise KaratError(what, place=self.records.place(row), hint="Add a record of the item, with its rank.")
            yield at

    def _unknown_item(self, row: int) -> KaratError:
        labels = self.records.labels
        name, query = labels.item[row], labels.query[row]
        known = [each for other, each in self.items.position if other == query] if hasattr(self, "items") else []
        hint = f"{did_you_mean(name, known)} Add a record of the item, or give the label the item's type.".strip()
        return KaratError(
            f"the item {shown(name)} of query {shown(query)} is unknown", place=self.records.place(row), hint=hint
        )

    def samples(self, *, people: bool, numbers: Sequence[int] | None = None) -> dict[int, Verdicts]:
        """The Verdicts of each sample, in order; of people, one in which the majority counts.

        `numbers` are those of the samples, by default of all that there are.
        """
        labels, columns = self.records.labels, self._label_columns()
        values = self._values()
        self.unused = int((columns.against < 0).sum())
        usable = (columns.against >= 0) & ~self._stands_aside(columns)
        columns, values, rows = _LabelPositions(*(each[usable] for each in columns)), values[usable], self.rows[usable]
        sample, subject = samples_of(labels, rows), self._subject(columns)
        keys = joint_codes(subject, labels.by.codes[rows], sample)
        counting = counting_rows(keys, labels.have_failed(rows), self.stale[rows]) == np.arange(len(rows))
        self.replaced = int((~counting & ~np.isnan(values)).sum())
        left_out: dict[int, list[int]] = {}
        for items, dissenting in () if people else self._dissents(columns, sample):
            for each in dissenting:
                left_out.setdefault(each, []).extend(items)
        found = {}
        for each in (distinct(sample).tolist() or [0]) if numbers is None else numbers:
            rows = np.flatnonzero(counting & (sample == each))
            kept, chosen = majority(subject[rows], values[rows])
            found[each] = self._verdicts(_LabelPositions(*(column[rows[kept]] for column in columns)), chosen)
            if each in left_out:
                found[each] = found[each].without_items(np.array(left_out[each]))
        return found

    def _dissents(self, columns: _LabelPositions, sample: Ints) -> Iterator[tuple[list[int], set[int]]]:
        """Items, by their positions, and the samples that see nothing to judge in them, although most samples do.

        A sample that says so of an implied item has none of its items that others labelled; if most say so, none has.
        """
        of_label, labelled = self.items.query[columns.item], defaultdict[tuple[int, int], set[int]](set)
        doubted = np.isin(of_label, [self.queries[query] for query, name in self.nothing if name in IMPLIED])
        by_passages = doubted & np.isin(
            columns.against, [AGAINST.index(each) for each in ("passage", "cited", "others")]
        )
        passages = np.full(len(of_label), SETS.index("passages"))
        for rows, sets in ((doubted, self.items.set[columns.item]), (by_passages, passages)):
            for *key, each in zip(*(column[rows].tolist() for column in (of_label, sets, sample)), strict=True):
                labelled[key[0], key[1]].add(each)
        for (query, name), votes in self.nothing.items():
            samples = {sample for (_, sample), says_nothing in votes.items() if says_nothing}
            if name not in IMPLIED and (query, name) in self.items.position:
                yield [self.items.position[query, name]], samples
            for of in _EMPTIED.get(name, ()):
                code = self.queries[query], SETS.index(of)
                none, every = samples - labelled[code], samples | labelled[code]
                if none and labelled[code]:
                    items = np.flatnonzero((self.items.query == code[0]) & (self.items.set == code[1]))
                    yield items.tolist(), every if are_most(len(none), len(every)) else none

    def _stands_aside(self, columns: _LabelPositions) -> Bools:
        """Which stale labels are against other passages, while there are labels against single ones of the item."""
        stale: Bools = self.stale[self.rows] & (columns.against == AGAINST.index("context"))
        if not stale.any():
            return stale
        single = columns.item[(columns.against == AGAINST.index("passage")) & ~self.stale[self.rows]]
        return np.asarray(stale & np.isin(columns.item, single), bool)

    def _subject(self, columns: _LabelPositions) -> Ints:
        """A number for what each label is about, as in `counting.SubjectKey`."""
        items = len(self.items.item) + 1
        about = (columns.task * len(AGAINST) + columns.against) * items + columns.item
        return about * items + columns.passage + 1

    def _values(self) -> Floats:
        """The number that each label stands for; NaN if it failed, or is stale."""
        labels, tasks = self.records.labels, self.records.tasks
        task, label = labels.task.categories, labels.label.categories
        pair = pair_codes(labels.task, labels.label)[self.rows]
        numbers = np.full(len(task) * len(label), np.nan)
        is_given = np.zeros(len(numbers), bool)
        is_given[pair] = True
        for at in np.flatnonzero(is_given).tolist():
            name, given = task[at // len(label)], label[at % len(label)]
            numbers[at] = np.nan if given is None else tasks[name].value(given)
        values = numbers[pair]
        values[self.stale[self.rows]] = np.nan
        return values

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
            label_value=values,
        )


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
