"""From all records to the Verdicts of one system: whose labels count, and what is known about each query."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import numpy as np

from karat.data.caching import cached_property
from karat.data.judged import Ints
from karat.data.verdicts import Verdicts
from karat.errors import KaratError, Message, Parameter, Place, did_you_mean, first_few, plural, safe_line, shown
from karat.errors.arguments import check_text
from karat.grounding.labels.counting import Status, choose_authors, is_person, unreplaced_rows
from karat.grounding.labels.evaluated_items import EvaluatedItems, Fit
from karat.grounding.labels.facts import FailedLabel, FailedLabels, LabelFacts, LabelNotes, labelled_relations
from karat.grounding.labels.verdict_arrays import VerdictArrays
from karat.grounding.responses.responses import Response, name_in_files, note_on_name
from karat.grounding.verdict_file.columns import LabelColumns
from karat.grounding.verdict_file.reading import VerdictRecords, read_verdict_records
from karat.grounding.verdict_file.records import IMPLIED, Item, ItemKey, answered_calls
from karat.reading.records.records import without_collection

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class SelectedLabels:
    """The labels of one system by the chosen authors: the Verdicts of each sample, the items, and facts."""

    system: str | None
    samples: tuple[Verdicts, ...]
    items: tuple[Item | None, ...]
    """the item at each position of the Verdicts; None for an answer without a record of its own"""
    rows: Ints
    """the rows of the records that are about the evaluated queries, by the chosen authors"""
    stale: Ints
    """those of them that were given for other texts, so that they do not count"""
    authors: tuple[str, ...]
    facts: LabelFacts
    records: VerdictRecords
    known_items: tuple[Item, ...]
    """all items of the queries in the order of the records, also those with nothing to judge"""
    as_read: VerdictRecords
    """the records with the ids that items have in the files, where `records` has those that are evaluated"""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was odd about the labels."""
        return self.facts.notes.sentences

    @cached_property
    def author_places(self) -> Mapping[str, int]:
        """The position of each author: there may be as many as labels."""
        return {author: at for at, author in enumerate(self.authors)}

    @cached_property
    def unreplaced(self) -> Ints:
        """The rows that no other label of the same author replaces."""
        return unreplaced_rows(self.records.labels, self.rows, np.isin(self.rows, self.stale))

    @property
    def status(self) -> list[Status]:
        """The status of all labels of the records: those of other systems, queries and authors are not used."""
        status: list[Status] = ["replaced"] * len(self.records.labels)
        stale = {*self.stale.tolist()}
        for row in self.unreplaced.tolist():
            status[row] = "stale" if row in stale else "counts"
        return status

    @cached_property
    def failed(self) -> Ints:
        """The rows of labels that failed, without those that were given in another try."""
        labels = self.records.labels
        if "failed" not in labels.state.categories:
            return self.rows[:0]
        rows = self.unreplaced[labels.have_failed(self.unreplaced) & ~np.isin(self.unreplaced, self.stale)]
        answered = answered_calls(self.records.calls)
        return rows[~labels.call.take(rows).where(answered.__contains__)]

    @property
    def failures(self) -> FailedLabels:
        """The labels that failed, and what could not be extracted."""
        return FailedLabels.of(self.failed_labels, self.records.calls, self.known_sets)

    @property
    def failed_labels(self) -> list[FailedLabel]:
        """The labels that failed."""
        labels = self.records.labels
        columns = (column.take(self.failed) for column in (labels.query, labels.item, labels.task, labels.call))
        return list(map(FailedLabel, *columns))

    @property
    def known_sets(self) -> frozenset[str]:
        """The sets of items of which there are some."""
        of_each_kind = {(item.type, item.of): item for item in self.known_items}  # of which there are few
        return frozenset(item.set for item in of_each_kind.values())

    def file_order(self) -> list[tuple[bool, int, int]]:
        """For each query, what the queries are ordered by: the place of its first item, or else of its first label."""
        records, at = self.records, {source.name: at for at, source in enumerate(self.records.sources)}
        first: dict[str, tuple[bool, Place | None]] = {}
        for item in self.known_items:
            if item.query not in first:
                first[item.query] = False, records.first_places.get(item.system_key, item.place)
        queries = self.samples[0].queries
        if len(first) < len(queries):
            rows, _ = _labels_by(records, self.system, self.authors)
            codes, places = np.unique(records.labels.query.codes[rows], return_index=True)
            for code, row in zip(codes.tolist(), rows[places].tolist(), strict=True):
                first.setdefault(records.labels.query.categories[code], (True, records.place(row)))
        return [(is_label, at[place.source], place.line) for is_label, place in map(first.__getitem__, queries)]  # type: ignore[union-attr,misc]  # records of files have a place


_SYSTEM: Message = [Parameter("system")]
"""how a system is named"""


def choose_system(systems: Collection[str], system: str | None, place: str, named_by: Message = _SYSTEM) -> str | None:
    """The system whose labels count; without a choice, the only one. `place` is that of the labels."""
    if system is not None and (system in systems or not systems):
        return system
    names = sorted(systems)
    if system is None and len(names) < 2:
        return names[0] if names else None
    if system is None:
        hint: Message = ["Choose one with ", *named_by, f". Systems: {', '.join(names)}."]
        raise KaratError(f"the verdicts are about {plural(len(names), 'system')}", place=place, hint=hint)
    known = f"{did_you_mean(system, names)} Systems: {', '.join(names)}. Choose one with ".lstrip()
    hint = [known, *named_by, "."]
    raise KaratError(f"no verdict is about the system {shown(system)}", place=place, hint=hint)


@without_collection()
def select(
    records: VerdictRecords,
    system: str | None = None,
    author: str | None = None,
    responses: Sequence[Response] | None = None,
    *,
    named_by: Message = _SYSTEM,
) -> SelectedLabels:
    """The Verdicts of a system by the chosen authors.

    `responses` are what the system answered to the queries that are evaluated; without them, these are all queries with
    items or labels. Items of responses that the records lack are added, and labels of a text that has changed since do
    not count. If the records do not know the system, but another one with the same answers and passages, the labels of
    that one count, with a note: results may have been renamed. `named_by` is the argument that names the system, for
    errors.
    """
    name = system if responses is None else labelled_name(records, system, responses)
    note = note_on_name(system, name)
    name = choose_system(records.systems, name, records.name, named_by)
    counts = records.labels.by.take(_labels_of_answers(records, name)[0]).counts()
    _check_labelled(records, name, author, counts)
    selected = select_labels(records, name, choose_authors(counts, author, records.name), responses)
    if not note:
        return selected
    notes = replace(selected.facts.notes, reading=(*selected.facts.notes.reading, *note))
    return replace(selected, facts=replace(selected.facts, notes=notes))


def _check_labelled(records: VerdictRecords, system: str | None, author: str | None, counts: Collection[str]) -> None:
    """Raise an error if an author labelled other systems only; `counts` are the authors who labelled this one."""

    def is_author(name: str) -> bool:
        return name == author or (author == "human" and is_person(name))

    if author is None or any(map(is_author, counts)):
        return
    others = records.labels.system.take(np.flatnonzero(records.labels.by.where(is_author))).counts()
    if names := sorted(name for name in others if name is not None):
        who = "people" if author == "human" else author
        what = f"{who} labelled answers of {first_few(names)}, not of {shown(system)}"
        raise KaratError(what, place=records.name, hint=f"Give labels about the answers of {shown(system)}.")


def labelled_name(records: VerdictRecords, system: str | None, responses: Sequence[Response]) -> str | None:
    """The name that the system of these responses has in verdict files, where results may have had another name."""
    return system if system in records.systems else name_in_files(_ItemsOfFiles(records), system, responses)


class _ItemsOfFiles:
    """The items of records, by system and query."""

    def __init__(self, records: VerdictRecords) -> None:
        self.systems = records.systems
        self._items: dict[str | None, dict[str, dict[str, Item]]] = {}
        for item in records.items.values():
            self._items.setdefault(item.system, {}).setdefault(item.query, {})[item.id] = item

    def queries(self, system: str) -> Collection[str]:
        return self._items.get(system, {}).keys()

    def items(self, query: str, system: str | None) -> Mapping[str, Item]:
        return self._items.get(system, {}).get(query, {})


def _labels_of_answers(records: VerdictRecords, system: str | None) -> tuple[Ints, int]:
    """The rows of the labels of a system that are not about documents, and the number of those that are."""
    rows: Ints = np.flatnonzero(records.labels.system.where(lambda name: name is None or name == system))
    if not records.documents:
        return rows, 0
    of_answers = rows[~records.about_documents()[rows]]
    return of_answers, len(rows) - len(of_answers)


def _labels_by(records: VerdictRecords, system: str | None, authors: Collection[str]) -> tuple[Ints, int]:
    """The rows of the labels of a system by these authors, and the number of labels of documents by anyone."""
    rows, of_documents = _labels_of_answers(records, system)
    return rows[records.labels.by.take(rows).where(frozenset(authors).__contains__)], of_documents


def select_labels(
    records: VerdictRecords,
    system: str | None,
    authors: tuple[str, ...],
    responses: Sequence[Response] | None = None,
    numbers: Sequence[int] | None = None,
) -> SelectedLabels:
    """The Verdicts of a system by these authors; `numbers` are those of the samples, by default of all that there are.

    Nothing is decided that depends on other queries than those of the records.
    """
    rows, of_documents = _labels_by(records, system, authors)
    evaluated = _evaluated_items(records, system, responses)
    labelled = records.labels.query.take(rows).counts()
    queries = _query_positions(evaluated, labelled, responses)
    unevaluated = frozenset(labelled.keys() - queries.keys())
    if unevaluated:
        rows = rows[records.labels.query.take(rows).where(queries.__contains__)]
    rows, of_removed = _drop_labels_of(records.labels, rows, evaluated.rejected)
    rows, of_gone = _drop_labels_of(records.labels, rows, evaluated.gone)
    labels, fit = evaluated.fit(records.labels, rows)
    as_read, records, is_there = records, replace(records, labels=labels), fit != Fit.ABSENT
    rows, fit = rows[is_there], fit[is_there]
    stale = rows[fit == Fit.STALE]
    arrays = VerdictArrays(records, queries, evaluated.items, rows, stale)
    for response in responses or ():
        arrays.add_response(response)
    samples = arrays.samples(people=all(map(is_person, authors)), numbers=numbers)
    notes = LabelNotes(
        reading=tuple(records.notes),
        of_documents=of_documents,
        of_removed=of_removed,
        unevaluated=unevaluated,
        of_gone=of_gone,
        queries_of_gone=frozenset(query for query, _ in evaluated.gone),
        replaced=arrays.replaced,
        outdated=len(stale),
        not_cited=arrays.unused,
        not_given=int((~is_there).sum()),
        without_digest=int((fit == Fit.TRUSTED).sum()) if responses is not None else 0,
    )
    relations = {number: labelled_relations(verdicts) for number, verdicts in samples.items()}
    has_citations = len(arrays.items.cite_sentence) > 0
    by_authors = records.labels.by.where(frozenset(authors).__contains__)
    has_contradictions = bool((by_authors & records.labels.are_contradictions()).any())
    return SelectedLabels(
        system,
        tuple(samples.values()),
        tuple(arrays.items.item),
        np.sort(np.r_[arrays.rows, arrays.failed_lists]),
        stale,
        authors,
        LabelFacts(relations, has_citations, bool(records.documents), has_contradictions, records.rubrics, notes),
        records,
        tuple(evaluated.items.values()),
        as_read,
    )


def _query_positions(
    evaluated: EvaluatedItems, labelled: Iterable[str], responses: Sequence[Response] | None
) -> dict[str, int]:
    """The queries that are evaluated: those of the responses, or without them all that have items or labels."""
    if responses is None:
        names = dict.fromkeys([*map(itemgetter(0), evaluated.items), *labelled])
    else:
        names = dict.fromkeys(response.query for response in responses)
    return {query: at for at, query in enumerate(names)}


def load_verdicts(source: Any, system: str | None = None, author: str | None = None) -> Verdicts:
    """The labels of one system, by one author or the majority of people; `source` as in `evaluate_verdicts`.

    What was odd about them is logged as a warning.

    >>> label = {"query": "q", "item": "answer", "task": "correctness", "label": "correct"}
    >>> load_verdicts([label]).answer("correctness").tolist()
    [1.0]
    """
    for option, value in (("system", system), ("author", author)):
        if value is not None:
            check_text(option, value)
    selected = select(read_verdict_records(source), system, author)
    if len(selected.samples) > 1:
        hint = "evaluate_verdicts() computes the mean of the samples."
        raise KaratError(f"the labels are {len(selected.samples)} samples, and Verdicts contain one", hint=hint)
    if selected.notes:
        _log.warning("karat: %s.", safe_line("; ".join(selected.notes)))
    return selected.samples[0]


def _drop_labels_of(labels: LabelColumns, rows: Ints, items: Set[ItemKey]) -> tuple[Ints, int]:
    """The labels that are not about these items, or against them; and the number of those that are."""
    is_gone = labels.are_about(rows, items, {key for key in items if key[1] not in IMPLIED})
    return rows[~is_gone], int(is_gone.sum())


def _evaluated_items(
    records: VerdictRecords, system: str | None, responses: Sequence[Response] | None
) -> EvaluatedItems:
    """The items of a system and those of all systems that are evaluated."""
    items: dict[ItemKey, Item] = {}
    for item in records.items.values():
        if item.system is not None and item.system != system:
            continue
        other = items.setdefault(item.key, item)
        if other is not item:
            what = f"the item {shown(item.id)} of query {shown(item.query)} is also in "
            hint = "Give one of them another id."
            raise KaratError([what, other.place or "", ", for all systems"], place=item.place, hint=hint)
    removed = {item.key: item for item in records.removed.values() if item.system in (None, system)}
    removed = {key: item for key, item in removed.items() if key not in items}
    if responses is None:
        return EvaluatedItems.of_files(items, removed)
    return EvaluatedItems.of_responses(responses, items, removed)
