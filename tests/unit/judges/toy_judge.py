"""A judge that decides by words: what it labels can be worked out by hand, and everything that it was asked is kept."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from karat.grounding.judges.asking import carry_out
from karat.grounding.judges.budget import Usage
from karat.grounding.judges.journal import Journal
from karat.grounding.judges.plans import Plans, plans
from karat.grounding.judges.prompts import load_prompts
from karat.grounding.judges.requests import Message, ModelSettings
from karat.grounding.judges.sending import Asker
from karat.grounding.responses.results import read_responses
from karat.grounding.verdict_file.tasks import Task
from tests.unit.judges.scripted import SETTINGS, FakeClock, ScriptedModel

_NAMES = {prompt.text: name for name, prompt in load_prompts().items()}
_COMMON = {"is", "a", "the"}
_LABELS = {"correctness": "partial", "answer_relevance": "partly", "abstention": "answered", "rubric": "fair"}
Rule = Callable[[str, Mapping[str, Any]], Any]


def toy_reply(name: str, data: Mapping[str, Any]) -> Any:
    """What the judge replies: a claim per sentence, a nugget per gold answer, and support by common words."""
    if name == "claims":
        texts = [data["answer"]] if "answer" in data else data["gold_answers"]
        return {"claims": [claim for text in texts for claim in re.findall(r"\w[^.[]*\w", text)]}
    if name == "nuggets":
        texts = data.get("gold_answers") or [each["text"] for each in data["passages"]]
        return {"nuggets": [*data.get("nuggets", ()), *texts]}
    if name == "importance":
        return {"labels": [{"item": each["item"], "label": "vital"} for each in data["items"]]}
    if name == "support":
        evidence = json.dumps([data.get(field) for field in ("passages", "answer", "gold_answers")])
        labels = [_support(each["text"], evidence) for each in data["items"]]
        return {"labels": [{"item": at, "why": f"{label}!", "label": label} for at, label in enumerate(labels, 1)]}
    if name == "relevance":
        return {"why": "Because.", "label": 3 if "gold" in data["passages"][0]["text"].lower() else 0}
    return {"why": "Because.", "label": _LABELS[name]}


def _support(text: str, evidence: str) -> str:
    text = re.sub(r"\[\d+\]", "", text).strip(" .").lower()
    if text.endswith("!"):
        return "nothing_to_judge"
    if "never" in text:
        return "contradicts"
    words = {*text.split()} - _COMMON
    found = words & {*re.findall(r"\w+", evidence.lower())}
    return "full" if text in evidence.lower() else "partial" if len(found) > 1 else "none"


class ToyJudge:
    """Judges results into a verdict file."""

    def __init__(self, path: Path, rule: Rule = toy_reply) -> None:
        self.path = path
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.messages: list[Sequence[Message]] = []
        self._rule = rule

    def judge(
        self, results: Any, recipe: str, *, system: str | None = "rag", samples: int = 1, rubric: Task | None = None
    ) -> Usage:
        """Ask for the labels of a recipe."""
        responses = results if isinstance(results, tuple) else read_responses(results, system=system).responses
        with Journal(self.path) as file:
            found = plans(recipe, responses, file, load_prompts(), by="tester", samples=samples, rubric=rubric)
            return self.carry_out(found, file)

    def carry_out(self, found: Plans, file: Journal) -> Usage:
        """Carry out plans, one call after the other; `asked` is what is asked this time."""
        self.asked, self.messages = [], []
        model = ScriptedModel(self._reply)
        return carry_out(found, Asker(model, SETTINGS, file, concurrency=1, clock=FakeClock()))

    def _reply(self, _: int, messages: Sequence[Message], __: ModelSettings) -> str | BaseException:
        name, data = _NAMES[messages[0]["content"]], json.loads(messages[1]["content"])
        self.asked.append((name, data))
        self.messages.append(messages)
        reply = self._rule(name, data)
        return reply if isinstance(reply, BaseException) else json.dumps(reply)


class SmallModel:
    """The toy judge as a function that refuses what is longer than `limit` characters, as servers do."""

    __name__ = "tester"

    def __init__(self, limit: int, rule: Rule = toy_reply) -> None:
        self.limit = limit
        self.rule = rule
        self.refused = 0
        self.asked: list[tuple[str, dict[str, Any]]] = []
        """what was not refused"""

    def __call__(self, messages: Sequence[Message]) -> str:
        prompt, content = messages[0]["content"], messages[1]["content"]
        if len(content) > self.limit:
            self.refused += 1
            raise ContextLengthError
        [name] = {name for text, name in _NAMES.items() if prompt.startswith(text)}
        self.asked.append((name, json.loads(content)))
        return json.dumps(self.rule(*self.asked[-1]))


class ContextLengthError(Exception):
    """The error of a server, as clients raise it."""

    status_code = 400

    def __str__(self) -> str:
        return "This model's maximum context length is 4096 tokens."
