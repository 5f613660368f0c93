"""Why people and a model have labelled nothing in common, and how they can."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self, cast

import numpy as np

from karat.data.verdicts import ItemSet, Relation
from karat.errors import KaratError, Message, Parameter, enumeration, first_few
from karat.errors.command_lines import command_line
from karat.grounding.labels.counting import is_person
from karat.grounding.labels.missing import in_words, recipe_of
from karat.grounding.labels.recipes import relation_of
from karat.grounding.responses.responses import EXTRACTED
from karat.grounding.verdict_file.reading import VerdictRecords
from karat.grounding.verdict_file.records import example_queries

_DOCUMENTS = "`karat judge TRUTH RUN... --task relevance --overlap N` grades documents that people judged."
_FILE = "verdicts.jsonl"
"""in a command, if the labels are not from a file"""


@dataclass(eq=False)
class _Labelled:
    """What people or models labelled in answers."""

    relations: Counter[Relation] = field(default_factory=Counter)
    systems: dict[str | None, None] = field(default_factory=dict)
    queries: dict[str, None] = field(default_factory=dict)
    authors: dict[str, None] = field(default_factory=dict)
    needed_items: dict[Relation, str] = field(default_factory=dict)
    """the file of claims, nuggets or a rubric, without which nobody else can label them"""

    @classmethod
    def of(cls, records: VerdictRecords, *, people: bool) -> Self:
        """What the labels are about that have a value."""
        labels, labelled = records.labels, cls()
        rows = labels.by.where(lambda author: is_person(author) == people) & ~records.about_documents()
        for row in np.flatnonzero(rows).tolist():
            item, name, task = records.item(row), labels.item[row], labels.task[row]
            items = item.set if item is not None else name if name in ("answer", "gold") else None
            if labels.label[row] is None or items is None:
                continue
            relation = relation_of(task, cast("ItemSet", items), labels.against[row])
            labelled.relations[relation] += 1
            labelled.systems[labels.system[row]] = labelled.queries[labels.query[row]] = None
            labelled.authors[labels.by[row]] = None
            if relation not in labelled.needed_items and (
                task in records.rubrics or (item is not None and item.type in EXTRACTED)
            ):
                place = records.place(row) if item is None or item.place is None else item.place
                labelled.needed_items[relation] = place.source if place.line is not None else _FILE
        return labelled

    @property
    def words(self) -> str:
        """What was labelled, in words."""
        relations = self.relations.most_common()
        return enumeration([f"{in_words(each)} ({recipe_of(each)})" for each, _ in relations], "and")


def nothing_in_common(records: VerdictRecords) -> KaratError:
    """The error if people and models have labelled nothing in common: what each labelled, and what to do."""
    people, models = (_Labelled.of(records, people=of_people) for of_people in (True, False))
    what = "people and models have labelled nothing in common"
    examples = {query for model in models.authors for query in example_queries(records.calls, model)}
    common = people.queries.keys() & models.queries.keys()
    if common and common <= examples:
        why = "but queries from which examples for the models were chosen"
        hint = "Let people label more queries than those of the examples."
        return KaratError(f"{what} {why}", place=records.name, hint=hint)
    if people.relations and models.relations:
        what = f"{what}: {_difference(people, models)}"
    return KaratError(what, place=records.name, hint=_how_to_label_the_same(models) or _DOCUMENTS)


def no_people(records: VerdictRecords) -> KaratError:
    """The error if there are only labels of models."""
    hint: Message = ["Add the ground truth that people judged with ", Parameter("truth"), ", or labels by people."]
    how = _how_to_label_the_same(_Labelled.of(records, people=False))
    return KaratError("no label is by a person", place=records.name, hint=how or hint)


def _how_to_label_the_same(models: _Labelled) -> str | None:
    """The command for a sheet in which people label what models have labelled; None if these labelled no answers."""
    if not models.relations:
        return None
    relation, _ = models.relations.most_common(1)[0]
    system = next((name for name in models.systems if name is not None), None)
    words = ["karat", "verdicts", "template", "RESULTS", "--task", recipe_of(relation)]
    if file := models.needed_items.get(relation):
        words += ["--items", file]
    words += [*(["--system", system] if system is not None else []), "-o", "todo.csv"]
    answers = "the results that were judged" if system is None else f"the results of {system}"
    return f"`{command_line(words)}` writes a sheet in which people label the same; RESULTS are {answers}."


def _difference(people: _Labelled, models: _Labelled) -> str:
    """The first of kind, system, query and item in which labels differ."""
    names = enumeration([*models.authors], "and")
    if not people.relations.keys() & models.relations.keys():
        return f"people labelled {people.words}; {names} labelled {models.words}"
    if None not in (*people.systems, *models.systems) and not people.systems.keys() & models.systems.keys():
        return f"people labelled answers of {_some(people.systems)}; {names} labelled those of {_some(models.systems)}"
    if not people.queries.keys() & models.queries.keys():
        return f"people labelled the queries {_some(people.queries)}; {names} labelled {_some(models.queries)}"
    return "the labels are about the same answers, but about other items, or about texts that have changed since"


def _some(names: Iterable[str | None]) -> str:
    return first_few([str(name) for name in names])
