"""Which labels each recipe asks for."""

from __future__ import annotations

import pytest

from karat.grounding.labels.recipes import RECIPES, task_of, wanted_labels
from karat.grounding.responses.responses import items_of
from karat.grounding.responses.results import read_responses
from karat.grounding.verdict_file.records import Item
from karat.grounding.verdict_file.tasks import BUILT_IN

[RESPONSE] = read_responses(
    [{"query": "q", "answer": "A [1]. B [1][2][3]. C [9]. D.", "retrieved": ["a b", "c d", "e f"]}]
).responses
ITEMS = [
    *items_of(RESPONSE),
    Item("q", "n1", "nugget", text="soft", importance="vital"),
    Item("q", "c1", "claim", of="answer", text="A"),
    Item("q", "g1", "claim", of="gold", text="B"),
]


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        ("faithfulness", "c1:context"),
        ("context", "p1:question p2:question p3:question"),
        ("support", "s1:p1 s2:p1 s2:p2 s2:p3"),
        ("citations", "s1:p1 s2:p1,p2,p3 s2:p1 s2:p2 s2:p3 s2:p2,p3 s2:p1,p3 s2:p1,p2"),
        ("nuggets", "n1:answer"),
        ("coverage", "n1:p1 n1:p2 n1:p3"),
        ("claims", "c1:p1 c1:p2 c1:p3 c1:gold g1:p1 g1:p2 g1:p3 g1:answer"),
        ("correctness", "answer:"),
        ("answer_relevance", "answer:"),
        ("abstention", "answer:"),
        ("politeness", "answer:"),
    ],
)
def test_what_a_recipe_asks_for(recipe: str, expected: str) -> None:
    found = wanted_labels(recipe, RESPONSE, ITEMS)
    against = [each.against if isinstance(each.against, str) else ",".join(each.against or ()) for each in found]
    assert " ".join(f"{each.item.id}:{text}" for each, text in zip(found, against, strict=True)) == expected
    assert {each.task for each in found} == {task_of(recipe)}


def test_faithfulness_is_about_sentences_if_there_are_no_claims() -> None:
    assert [each.item.id for each in wanted_labels("faithfulness", RESPONSE, items_of(RESPONSE))] == [
        "s1",
        "s2",
        "s3",
        "s4",
    ]


def test_a_claim_is_one_of_the_answer_unless_it_says_otherwise() -> None:
    items = [Item("q", "c1", "claim", text="A"), Item("q", "g1", "claim", of="gold", text="B")]
    assert [each.item.id for each in wanted_labels("faithfulness", RESPONSE, items)] == ["c1"]


def test_every_recipe_asks_for_a_built_in_task() -> None:
    assert {task_of(recipe) for recipe in RECIPES} == set(BUILT_IN)
