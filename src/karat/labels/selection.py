"""From all records to the Verdicts of one system: whose labels count, and what is known about each query."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np

from karat.arguments import check_text
from karat.errors import KaratError, did_you_mean, enumeration, plural, safe_line, shown
from karat.judged import Ints
from karat.labels.arrays import VerdictArrays
from karat.labels.changes import add_items_of_responses
from karat.labels.label_columns import ItemKey, LabelColumns
from karat.labels.reading import VerdictRecords, read_verdict_records, without_collection
from karat.labels.records import IMPLIED, Item
from karat.labels.responses import Response
from karat.verdicts import Verdicts

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Selected:
    """The labels of one system by the chosen authors: the Verdicts of each sample, the items, and notes."""

    samples: tuple[Verdicts, ...]
    items: tuple[Item | None, ...]
    """the item at each position of the Verdicts; None for an answer without a record of its own"""
    rows: Ints
    """the rows of the records that are about the evaluated queries, by the chosen authors"""
    stale: Ints
    """those of them whose texts have changed since, so that they do not count"""
    authors: tuple[str, ...]
    notes: tuple[str, ...]
    records: VerdictRecords
    known_items: tuple[Item, ...]
    """all items of the queries in the order of the records, also those with nothing to judge"""


def is_person(author: str) -> bool:
    """Whether an author is a person: `human`, or `human:` and a name."""
    return author == "human" or author.startswith("human:")


def choose_authors(records: VerdictRecords, by: str | None, rows: Ints) -> tuple[str, ...]:
    """The authors whose labels count: the chosen ones, all people, or the only model; otherwise an error lists them."""
    counts = records.labels.by.take(rows).counts()
    people = tuple(author for author in counts if is_person(author))
    if by is not None:
        chosen = people if by == "human" else tuple(author for author in counts if author == by)
        if not chosen and counts:
            near = did_you_mean(by, counts)
            raise KaratError(
                f"no label is by {shown(by)}", where=records.name, hint=f"{near} Authors: {_listed(counts)}.".strip()
            )
        return chosen
    if len(people) == len(counts) or len(counts) == 1:
        return tuple(counts)
    hint = f"Choose one with by= (--author); human stands for all people. Authors: {_listed(counts)}."
    raise KaratError("the labels are by several authors", where=records.name, hint=hint)


def choose_system(records: VerdictRecords, system: str | None, named_by: str = "system=") -> str | None:
    """The system whose labels count; without a choice, the only one."""
    systems = records.systems
    if system is not None and (system in systems or not systems):
        return system
    if system is None and len(systems) < 2:
        return systems[0] if systems else None
    if system is None:
        hint = f"Choose one with {named_by}. Systems: {', '.join(systems)}."
        raise KaratError(f"the verdicts are about {plural(len(systems), 'system')}", where=records.name, hint=hint)
    hint = f"{did_you_mean(system, systems)} Systems: {', '.join(systems)}. Choose one with {named_by}.".strip()
    raise KaratError(f"no verdict is about the system {shown(system)}", where=records.name, hint=hint)


@without_collection()
def select(
    records: VerdictRecords,
    system: str | None = None,
    by: str | None = None,
    responses: Sequence[Response] | None = None,
    *,
    named_by: str = "system=",
) -> Selected:
    """The Verdicts of a system by the chosen authors.

    `responses` are what the system answered to the queries that are evaluated; without them, these are all queries with
    items or labels. Items of responses that the records lack are added, and labels of a text that has changed since do
    not count. `named_by` is the argument that names the system, for errors.
    """
    system = choose_system(records, system, named_by)
    labels = records.labels
    mine: Ints = np.flatnonzero(labels.system.where(lambda each: each is None or each == system))
    notes = list(records.notes)
    if records.documents:
        of_answers = mine[~records.about_documents()[mine]]
        if grades := len(mine) - len(of_answers):
            notes.append(f"{plural(grades, 'label')} of documents not used: grades for runs, not about answers")
        mine = of_answers
    authors = choose_authors(records, by, mine)
    mine = mine[labels.by.take(mine).where(authors.__contains__)]
    items = _items(records, system)
    removed = {(query, name) for query, of, name in records.removed if of in (None, system)} - items.keys()
    mine = _without(labels, mine, removed, "items that were removed", notes)
    stale = set()
    if responses is not None:
        changes = add_items_of_responses(items, responses)
        notes += changes.notes
        mine = _without(labels, mine, changes.gone, f"answers that have changed since ({changes.queries})", notes)
        stale = changes.stale
    stale |= {key for key, item in items.items() if item.digest is not None and item.is_changed}
    named = (each.query for each in responses) if responses is not None else map(itemgetter(0), items)
    labelled = labels.query.take(mine).counts()
    queries = dict.fromkeys([*named, *(labelled if responses is None else ())])
    position = {query: at for at, query in enumerate(queries)}
    if unknown := labelled.keys() - position.keys():
        some = enumeration(sorted(unknown)[:3], "and") if len(unknown) <= 3 else f"{sorted(unknown)[0]}, …"
        notes.append(f"{plural(len(unknown), 'query')} with verdicts not evaluated: {some}")
        mine = mine[labels.query.take(mine).where(position.__contains__)]
    building = VerdictArrays(records, position, items, mine, stale)
    for each in responses or ():
        building.add_response(each)
    samples = building.samples(people=all(map(is_person, authors)))
    return Selected(
        samples,
        tuple(building.items.item),
        building.rows,
        building.outdated,
        authors,
        (*notes, *building.notes()),
        records,
        tuple(items.values() if responses is None else (item for item in items.values() if item.query in position)),
    )


def load_verdicts(source: Any, system: str | None, by: str | None) -> Verdicts:
    """The Verdicts of a system from files or records; what was odd about them is logged as a warning."""
    for option, value in (("system", system), ("by", by)):
        value is None or check_text(option, value)
    selected = select(read_verdict_records(source), system, by)
    if len(selected.samples) > 1:
        hint = "evaluate_verdicts() computes the mean of the samples."
        raise KaratError(f"the labels are {len(selected.samples)} samples, and Verdicts contain one", hint=hint)
    if selected.notes:
        _log.warning("karat: %s.", safe_line("; ".join(selected.notes)))
    return selected.samples[0]


def _without(labels: LabelColumns, rows: Ints, items: Set[ItemKey], what: str, notes: list[str]) -> Ints:
    """The labels that are not about these items, or against them; a note says how many others there are."""
    is_gone = labels.are_about(rows, items, {key for key in items if key[1] not in IMPLIED})
    if is_gone.any():
        notes.append(f"{plural(int(is_gone.sum()), 'label')} not used: about {what}")
    return rows[~is_gone]


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({plural(count, 'label')})" for name, count in counts.items())


def _items(records: VerdictRecords, system: str | None) -> dict[tuple[str, str], Item]:
    """The items of a system and those of all systems, by query and id."""
    items: dict[tuple[str, str], Item] = {}
    for (query, of_system, name), item in records.items.items():
        if of_system is not None and of_system != system:
            continue
        other = items.setdefault((query, name), item)
        if other is not item:
            what = f"the item {shown(name)} of query {shown(query)} is also in {other.where}, for all systems"
            raise KaratError(what, where=item.where, hint="Give one of them another id.")
    return items
