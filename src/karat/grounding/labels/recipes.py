"""Recipes: which labels are asked for, as (task, item, against), of people and of language models.

`faithfulness`: the claims of the answer, or its sentences if it has no claims, against all passages together.
`context`: the relevance of each passage.
`support`: each sentence against each passage that it cites.
`citations`: each sentence against all passages that it cites, against each alone, and against all without each.
`nuggets`: each nugget against the answer. `coverage`: each nugget against each passage.
`claims`: the claims of the answer against each passage and the gold answer, and those of the gold answer against each
passage and the answer.
`correctness`, `answer_relevance`, `abstention`, and a rubric of the user's own: the answer as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, cast, get_args

from karat.data.verdicts import Against as RelatedTo
from karat.data.verdicts import ItemSet, Relation
from karat.grounding.responses.responses import Response
from karat.grounding.verdict_file.columns import Against
from karat.grounding.verdict_file.records import Item
from karat.options import Recipe

RECIPES: tuple[str, ...] = get_args(Recipe)

_TASKS = {"context": "relevance"} | {name: name for name in ("correctness", "answer_relevance", "abstention")}
_ITEM_TYPES = {
    "support": "sentence", "citations": "sentence", "context": "passage", "claims": "claim", "nuggets": "nugget",
    "coverage": "nugget",
}  # fmt: skip
_WITHOUT_ANSWERS = ("context", "coverage")
_OF_PASSAGES = (*_WITHOUT_ANSWERS, "faithfulness", "support", "citations")


class WantedLabel(NamedTuple):
    """A label to be given: the name of the task, the item, and what the item is compared with."""

    task: str
    item: Item
    against: Against = None

    @property
    def relation(self) -> Relation:
        """What a measure knows of the label."""
        return relation_of(self.task, self.item.set, self.against)

    def against_digest(self, response: Response) -> str | None:
        """The digest of what the item is compared with, by which a label notices that this has changed since."""
        if self.task == "correctness":
            return response.digest_of("gold")
        return response.digest_of(self.against) if self.task == "support" and self.against is not None else None


def relation_of(task: str, items: ItemSet, against: Against) -> Relation:
    """What a measure knows of a label of such items, given what they are compared with in a verdict file."""
    compared = "passage" if isinstance(against, tuple) else against or "nothing"
    return Relation(task, items, cast("RelatedTo", compared))


def task_of(recipe: str) -> str:
    """The task that a recipe asks for. A rubric is its own recipe."""
    return "support" if recipe in RECIPES and recipe not in _TASKS else _TASKS.get(recipe, recipe)


def needed_fields(recipe: str) -> tuple[str, ...]:
    """The fields of results without which a recipe, or a rubric, has nothing to ask.

    >>> needed_fields("context"), needed_fields("support"), needed_fields("correctness")
    (('retrieved',), ('answer', 'retrieved'), ('answer',))
    """
    answer = () if recipe in _WITHOUT_ANSWERS else ("answer",)
    return (*answer, "retrieved") if recipe in _OF_PASSAGES else answer


def recipe_items(recipe: str, response: Response, items: Sequence[Item]) -> list[Item]:
    """The items that a recipe is about, in order; it may ask for no label of some of them, or for several.

    `items` are those of the response, and the claims and nuggets of its query.
    """
    if recipe == "faithfulness":
        claims = [item for item in _of_type(items, "claim") if item.of != "gold"]
        return claims or _of_type(items, "sentence")
    if recipe in _ITEM_TYPES:
        return _of_type(items, _ITEM_TYPES[recipe])
    return [Item(response.query, "answer", "answer", response.system, text=response.answer)]


def wanted_labels(recipe: str, response: Response, items: Sequence[Item]) -> list[WantedLabel]:
    """The labels that a recipe asks for.

    >>> from karat.grounding.responses.responses import items_of
    >>> from karat.grounding.responses.results import read_responses
    >>> results = [{"query": "q1", "retrieved": ["Gold is soft.", "It melts."], "answer": "Soft [1][2]. Yes."}]
    >>> [response] = read_responses(results).responses
    >>> [(label.item.id, label.against) for label in wanted_labels("citations", response, items_of(response))]
    [('s1', ('p1', 'p2')), ('s1', ('p1',)), ('s1', ('p2',))]
    """
    task, passages = task_of(recipe), [item.id for item in _of_type(items, "passage")]
    return [
        WantedLabel(task, item, against)
        for item in recipe_items(recipe, response, items)
        for against in dict.fromkeys(_against(recipe, item, passages))
    ]


def empty_set(recipe: str) -> str:
    """The implied item whose set of items is empty if a recipe has no items: `answer`, `question` or `context`."""
    return "context" if recipe == "context" else "question" if recipe in ("nuggets", "coverage") else "answer"


def _of_type(items: Iterable[Item], kind: str) -> list[Item]:
    return [each for each in items if each.type == kind]


def _against(recipe: str, item: Item, passages: Sequence[str]) -> Iterator[Against]:
    """What an item is compared with, one after the other."""
    cited = tuple(each for each in item.cites if each in passages)
    if recipe == "faithfulness":
        yield "context"
    elif recipe == "context":
        yield "question"
    elif recipe == "nuggets":
        yield "answer"
    elif recipe in ("coverage", "claims"):
        yield from ((each,) for each in passages)
        if recipe == "claims":
            yield "answer" if item.of == "gold" else "gold"
    elif recipe == "support":
        yield from ((each,) for each in cited)
    elif recipe == "citations":
        yield from (cited, *((each,) for each in cited)) if cited else ()
        if len(cited) > 1:
            yield from (tuple(other for other in cited if other != each) for each in cited)
    else:
        yield None
