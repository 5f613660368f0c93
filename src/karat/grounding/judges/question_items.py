"""The items of a question and of the answers to it: those of the verdict file as far as they hold, and new ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from karat.errors import Place
from karat.grounding.judges.journal import Journal
from karat.grounding.judges.requests import Record, RequestOutcome
from karat.grounding.responses.responses import EXTRACTED, Response, gold_text, items_of, items_of_other_answers
from karat.grounding.verdict_file.records import IMPLIED, Item, read_item

READ_PASSAGES = ("faithfulness", "context", "support", "citations", "coverage", "claims")
"""the recipes that read passages"""
READ_SENTENCES = ("support", "citations")
"""the recipes that read sentences, and only the passages that these cite"""
_READ_EXTRACTED = {"gold_claims": ("claims",), "nuggets": ("nuggets", "coverage")}
"""the recipes that read what was extracted from gold answers"""


def gold_answers(responses: Iterable[Response]) -> tuple[str, ...] | None:
    """The gold answers of a question; None if they are unknown."""
    return next((each.gold_answers for each in responses if each.gold_answers is not None), None)


class QuestionItems:
    """The items of a question and of the answers to it.

    Answers, sentences and passages are those of the results. Claims and nuggets are those of the verdict file, where
    people may have corrected them, unless they are from another answer. What does not hold any more, `records` remove.
    """

    def __init__(self, recipe: str, responses: Sequence[Response], known: Journal) -> None:
        self.recipe, self.responses = recipe, responses
        self.records: list[Record] = []
        """what has to be written: items that are new or have changed, and the removal of others"""
        query, gold = responses[0].query, gold_answers(responses)
        self.gold = None if gold is None else Item(query, "gold", "answer", text=gold_text(gold))
        self.answers = {
            each.system: Item(query, "answer", "answer", each.system, text=each.answer) for each in responses
        }
        self._items = {
            system: {item.id: item for item in known.items(query, system).values() if item.type != "document"}
            for system in dict.fromkeys([None, *self.answers])
        }
        for system, items in self._items.items():
            # Somebody has corrected them in the file. Now they are labelled with the text that they have.
            self._replace(system, [], [each for each in items.values() if each.is_corrected and each.type in EXTRACTED])
        for response in responses:
            for item in items_of_other_answers([*self._known(response)], response):
                if item.set == "claims" or recipe in _READ_EXTRACTED[item.set]:
                    self._replace(item.system, [item], [])
        if recipe == "claims" and self.gold is not None:
            self._replace(None, [], [self.gold])
        self._read = {each.system: self._of_response(each) for each in responses}

    def _of_response(self, response: Response) -> list[Item]:
        """The sentences and passages of a response; those that were in the file and are not in it are removed."""
        recipe, system, answer = self.recipe, response.system, self.answers[response.system]
        known = self._items[system]
        before = known.get("answer")
        is_changed = before is not None and before.labelled_digest not in (None, answer.current_digest)
        sentences = [each for each in items_of(response) if each.type == "sentence"]
        passages = [each for each in items_of(response) if each.type == "passage"]
        labelled = [each for each in known.values() if each.type == "sentence"]
        gone = []
        if recipe in READ_SENTENCES:
            gone += _without(labelled, sentences)
        elif is_changed:
            gone += labelled  # also those that are in the answer: they may not be all of its sentences
        if recipe in READ_PASSAGES:
            gone += _without((each for each in known.values() if each.type == "passage"), passages)
        new = [answer] if response.answer is not None else []
        new += sentences if recipe in READ_SENTENCES else []
        new += passages if recipe in READ_PASSAGES else []
        self._replace(system, gone, new)
        return [*(sentences if recipe in READ_SENTENCES else []), *passages]

    def _replace(self, system: str | None, gone: Iterable[Item], new: Iterable[Item]) -> None:
        items = self._items[system]
        for item in list(gone):
            del items[item.id]
            self.records.append(item.removal())
        for item in new:
            items[item.id] = item
            self.records.append(item.record())

    def add_extracted(self, outcomes: Iterable[RequestOutcome]) -> None:
        """Add the claims and nuggets of replies."""
        for record in (record for outcome in outcomes for record in outcome.records):
            if record["record"] == "item":
                item = read_item(record, Place("a reply", query=self.responses[0].query))
                self._items[item.system][item.id] = item

    @property
    def gold_claims(self) -> list[Item]:
        """The claims of the gold answers."""
        return [each for each in self._items[None].values() if each.type == "claim" and each.of == "gold"]

    @property
    def nuggets(self) -> list[Item]:
        """The nuggets of the question."""
        return [each for each in self._items[None].values() if each.type == "nugget"]

    def claims_of(self, response: Response) -> list[Item]:
        """The claims of an answer."""
        return [each for each in self._known(response) if each.type == "claim" and each.of != "gold"]

    def of(self, response: Response) -> list[Item]:
        """All items of a response, and those of its question."""
        extracted = [each for each in self._known(response) if each.type in ("claim", "nugget")]
        # In the file, claims of the gold answer may stand before or after those of the answer.
        return [*self._read[response.system], *sorted(extracted, key=lambda each: (each.type, each.of == "gold"))]

    def ids(self, response: Response | None = None) -> set[str]:
        """The ids that new items of a response cannot have; without a response, new items for all systems."""
        responses = self.responses if response is None else [response]
        known = {item.id for each in responses for item in self._known(each)}
        return {*IMPLIED, *known, *(item.id for each in responses for item in items_of(each))}

    def _known(self, response: Response) -> Iterator[Item]:
        yield from self._items[None].values()
        if response.system is not None:
            yield from self._items[response.system].values()


def _without(items: Iterable[Item], current: Iterable[Item]) -> list[Item]:
    ids = {each.id for each in current}
    return [each for each in items if each.id not in ids]
