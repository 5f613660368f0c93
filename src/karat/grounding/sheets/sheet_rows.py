"""What a sheet asks for: a row per label, and rows of items that need none but are part of what is measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from karat.data.verdicts import Relation
from karat.errors import KaratError, Message, Parameter, did_you_mean, shown
from karat.grounding.labels.counting import SubjectKey
from karat.grounding.labels.missing import sheet_measures
from karat.grounding.labels.recipes import RECIPES, WantedLabel, empty_set, recipe_items, task_of, wanted_labels
from karat.grounding.responses.responses import EXTRACTED, Response, items_of
from karat.grounding.verdict_file.records import Item, items_by_query
from karat.grounding.verdict_file.tasks import BUILT_IN, Task


@dataclass(frozen=True)
class SheetRow:
    """A row of a sheet; `label` is None if none is asked for."""

    response: Response
    item: Item | str
    """or the name of an implied item whose set of items is empty"""
    label: WantedLabel | None = None
    title: str = ""
    """that of a document"""

    @property
    def shown_text(self) -> str | None:
        """The text of the item, below its title."""
        text = None if isinstance(self.item, str) else self.item.text
        return f"{self.title}\n\n{text}" if self.title else text


class SheetLabel(NamedTuple):
    """A label that a sheet asks for, and what a measure knows of it."""

    subject: SubjectKey
    relation: Relation


def labels_of_sheet(
    recipe: str, responses: Sequence[Response], items: Sequence[Item] = (), tasks: Mapping[str, Task] | None = None
) -> tuple[dict[str, list[SheetLabel]], list[str]]:
    """The labels that a sheet of all responses asks for, by query, and the measures that they suffice for."""
    task_of_sheet(recipe, tasks or {})
    by_query = items_by_query(items)
    labels = {
        response.query: [
            label for row in rows_of(recipe, response, by_query.get(response.query, ())) if (label := sheet_label(row))
        ]
        for response in responses
    }
    relations = {each.relation for of_query in labels.values() for each in of_query}
    return labels, sheet_measures(recipe, relations)


def sheet_label(row: SheetRow) -> SheetLabel | None:
    """The label that a row asks for; None if it asks for none."""
    if row.label is None or isinstance(row.item, str):
        return None
    task, against = row.label.task, row.label.against
    compared = tuple(sorted(against)) if isinstance(against, tuple) else against
    subject = SubjectKey(
        row.response.query, row.response.system, task, row.item.id, compared if task == "support" else None
    )
    return SheetLabel(subject, row.label.relation)


def task_of_sheet(recipe: str, tasks: Mapping[str, Task]) -> Task:
    task = {**BUILT_IN, **tasks}.get(task_of(recipe)) if recipe in RECIPES or recipe in tasks else None
    if task is None:
        known = [*RECIPES, *(name for name in tasks if name not in BUILT_IN)]
        hint = f"{did_you_mean(recipe, known)} The tasks are {', '.join(known)}.".strip()
        raise KaratError(f"{shown(recipe)} is not a task that a sheet can ask for", hint=hint)
    return task


def rows_of(recipe: str, response: Response, items: Sequence[Item]) -> Iterator[SheetRow]:
    """The rows of a response: what is asked, by item; and items that nothing is asked about."""
    extracted = (item for item in items if item.type in EXTRACTED and item.system in (None, response.system))
    own = [*items_of(response), *extracted]
    about = recipe_items(recipe, response, own)
    if not about:
        _check_has_items(recipe, response)
        yield SheetRow(response, empty_set(recipe))
        return
    by_item: dict[str, list[SheetRow]] = {}
    for label in wanted_labels(recipe, response, own):
        by_item.setdefault(label.item.id, []).append(SheetRow(response, label.item, label))
    for item in about:
        yield from by_item.get(item.id, [SheetRow(response, item)])


def _check_has_items(recipe: str, response: Response) -> None:
    """Raise an error if there is nothing to label because nobody has listed it yet."""
    if recipe in ("nuggets", "coverage"):
        what, name = f"no nuggets are listed for query {shown(response.query)}", "nuggets"
    elif recipe == "claims" and (response.answer or "").strip():
        what, name = f"no claims are listed for query {shown(response.query)}", "claims"
    else:
        return
    hint: Message = [f"Write {name} as items of a verdict file, and add it with ", Parameter("items"), "."]
    raise KaratError(what, hint=hint)
