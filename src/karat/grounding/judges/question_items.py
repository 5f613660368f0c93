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
        self.responses = responses
        self.records: list[Record] = []
        """what has to be written: items that are new or have changed, and the removal of others"""
        query, gold = responses[0].query, gold_answers(responses)
        self.gold = None if gold is None else Item(query, "gold", "answer", text=gold_text(gold))
        self.answers = {one.system: Item(query, "answer", "answer", one.system, text=one.answer) for one in responses}
        self._of_results = {response.system: items_of(response) for response in responses}
        self._items = {
            system: {item.id: item for item in known.items(query, system).values() if item.type != "document"}
            for system in dict.fromkeys([None, *self.answers])
        }
        for system, items in self._items.items():
            # Somebody has corrected them in the file. Now they are labelled with the text that they have.
            self._replace(system, [], [item for item in items.values() if item.is_corrected and item.type in EXTRACTED])
        for response in responses:
            for item in items_of_other_answers([*self._known(response)], response):
                if item.set == "claims" or recipe in _READ_EXTRACTED[item.set]:
                    self._replace(item.system, [item], [])
        if recipe == "claims" and self.gold is not None:
            self._replace(None, [], [self.gold])
        self._read = {response.system: self._of_response(recipe, response) for response in responses}

    def _of_response(self, recipe: str, response: Response) -> list[Item]:
        """The sentences and passages of a response; those that were in the file and are not in it are removed."""
        system, answer, items = response.system, self.answers[response.system], self._of_results[response.system]
        known = self._items[system]
        before = known.get("answer")
        is_changed = before is not None and before.labelled_digest not in (None, answer.current_digest)
        gone, new = [], [answer] if response.answer is not None else []
        for kind, recipes in (("sentence", READ_SENTENCES), ("passage", READ_PASSAGES)):
            labelled = [item for item in known.values() if item.type == kind]
            current = {item.id: item for item in items if item.type == kind}
            if recipe in recipes:
                gone += [item for item in labelled if item.id not in current]
                new += current.values()
            elif kind == "sentence" and is_changed:
                gone += labelled  # also those that are in the answer: they may not be all of its sentences
        self._replace(system, gone, new)
        return items if recipe in READ_SENTENCES else [item for item in items if item.type == "passage"]

    def _replace(self, system: str | None, gone: Iterable[Item], new: Iterable[Item]) -> None:
        items = self._items[system]
        for item in gone:
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
                if not item.removed:  # by somebody, after it was extracted for the first time
                    self._items[item.system][item.id] = item

    @property
    def gold_claims(self) -> list[Item]:
        """The claims of the gold answers."""
        return [item for item in self._items[None].values() if item.set == "gold_claims"]

    @property
    def nuggets(self) -> list[Item]:
        """The nuggets of the question."""
        return [item for item in self._items[None].values() if item.type == "nugget"]

    def claims_of(self, response: Response) -> list[Item]:
        """The claims of an answer."""
        return [item for item in self._known(response) if item.set == "claims"]

    def of(self, response: Response) -> list[Item]:
        """All items of a response, and those of its question."""
        extracted = [item for item in self._known(response) if item.type in EXTRACTED]
        # In the file, claims of the gold answer may stand before or after those of the answer.
        return [*self._read[response.system], *sorted(extracted, key=lambda item: (item.type, item.of == "gold"))]

    def ids(self, response: Response | None = None) -> set[str]:
        """The ids that new items of a response cannot have; without a response, new items for all systems."""
        ids = {*IMPLIED}
        for one in self.responses if response is None else [response]:
            ids |= {item.id for item in (*self._known(one), *self._of_results[one.system])}
        return ids

    def _known(self, response: Response) -> Iterator[Item]:
        yield from self._items[None].values()
        if response.system is not None:
            yield from self._items[response.system].values()
