"""Prompts: what a language model is told, as files with a version, and the messages that are sent.

The system message is the text of a prompt, unchanged in every request. The user message is one JSON object, so nothing
that a question, a passage or an answer says can be taken for anything but the content of a JSON string. Examples that
people labelled are a part of that object, because their texts are data, too.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from karat.errors import KaratError, Place, did_you_mean, require
from karat.grounding.judges.requests import Message
from karat.grounding.verdict_file.records import text_digest

NAMES = (
    "support", "claims", "nuggets", "importance", "relevance", "correctness", "answer_relevance", "abstention", "rubric"
)  # fmt: skip
EXAMPLES = "examples"
"""the prompt that is added to another one, if that shows examples"""
_FILES = (*NAMES, EXAMPLES)
_FOLDER = Path(__file__).parent / "prompts"
_VERSION = re.compile(r"version (\d+)\n\n")
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")


class LabelKind(NamedTuple):
    """What a prompt shows of what a label is about: the task, the type of the item, and what it is compared with."""

    task: str
    type: str
    compared: str


class Example(NamedTuple):
    """A label by people: a message that asks for it, and the reply that gives it."""

    message: Mapping[str, Any]
    reply: Mapping[str, Any]


class Examples(NamedTuple):
    """Labels of one kind by people, which a prompt shows."""

    examples: tuple[Example, ...]
    queries: tuple[str, ...]
    """those that they were chosen from"""
    introduction: Prompt


class Prompt(NamedTuple):
    """A prompt: its name, its version, and the text of the system message."""

    name: str
    version: str
    """a number, or the beginning of a digest of the text if the prompt is the user's own"""
    text: str
    examples: Mapping[LabelKind, Examples] = MappingProxyType({})
    """those that there are, for each kind of label"""
    shown: Examples | None = None
    """those that the messages show"""

    def about(self, kind: LabelKind) -> Prompt:
        """The prompt for labels of a kind, with the examples of that kind if there are some."""
        return self._replace(shown=self.examples.get(kind))

    @property
    def id(self) -> str:
        """What calls and their records name the prompt by, such as `support/1`, or `support/1+examples/1`."""
        return f"{self.name}/{self.version}" + (f"+{self.shown.introduction.id}" if self.shown else "")

    @property
    def example_queries(self) -> tuple[str, ...]:
        """The queries that the shown examples were chosen from."""
        return self.shown.queries if self.shown else ()

    def messages(self, data: Mapping[str, Any]) -> tuple[Message, ...]:
        """The messages of a request about some data; examples come first, as they are the same in many requests."""
        text = self.text
        if self.shown:
            text = f"{text}\n\n{self.shown.introduction.text}"
            data = {"examples": [example._asdict() for example in self.shown.examples], **data}
        return {"role": "system", "content": text}, {"role": "user", "content": message_json(data)}


def load_prompts(folder: str | os.PathLike[str] | None = None) -> dict[str, Prompt]:
    """The prompts by name; files such as `support.txt` in a folder of the user's own replace those of karat.

    >>> load_prompts()["support"].id
    'support/2'
    """
    prompts = {name: _built_in(name) for name in _FILES}
    if folder is None:
        return prompts
    place = Place(os.fspath(folder))
    require(os.path.isdir(folder), "this is not a folder with prompts", place=place)
    paths = sorted(Path(folder).glob("*.txt"))
    files = ", ".join(f"{name}.txt" for name in _FILES)
    require(paths, "the folder has no prompts", f"A prompt is one of {files}.", place=place)
    return prompts | {path.stem: _read_prompt(path) for path in paths}


def message_json(data: Any) -> str:
    r"""Data as JSON in one line; letters of all scripts stay as they are, and lone surrogates are escaped.

    >>> print(message_json({"text": "\"} Löte \ud800"}))
    {"text": "\"} Löte \ud800"}
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    return _LONE_SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def object_schema(**properties: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON schema of an object with exactly these properties, in this order, as OpenAI's strict mode needs it."""
    return {
        "type": "object", "properties": properties, "required": list(properties), "additionalProperties": False
    }  # fmt: skip


@cache
def _built_in(name: str) -> Prompt:
    return Prompt(name, *_version_and_text((_FOLDER / f"{name}.txt").read_text("utf-8")))


def _version_and_text(content: str) -> tuple[str, str]:
    """The version and the text of a prompt; the version is empty if the file does not begin with it."""
    content = content.removeprefix("\ufeff").replace("\r\n", "\n")
    version = _VERSION.match(content)
    return (version[1], content[version.end() :].strip()) if version else ("", content.strip())


def _read_prompt(path: Path) -> Prompt:
    """A prompt of the user's own."""
    place = Place(os.fspath(path))
    if path.stem not in _FILES:
        hint = f"{did_you_mean(path.stem, _FILES)} The prompts are {', '.join(_FILES)}.".strip()
        raise KaratError(f"{path.name} is not the name of a prompt", place=Place(os.fspath(path.parent)), hint=hint)
    try:
        _, text = _version_and_text(path.read_text("utf-8"))
    except UnicodeDecodeError:
        raise KaratError("the prompt is not UTF-8", place=place, hint="Save the file as UTF-8.") from None
    except OSError as error:
        raise KaratError(f"the prompt cannot be read: {error.strerror}", place=place) from None
    require(text, "the prompt is empty", place=place)
    built_in = _built_in(path.stem)
    return built_in if text == built_in.text else user_prompt(path.stem, text)


def user_prompt(name: str, text: str) -> Prompt:
    """A prompt that is not karat's: its version is the beginning of a digest of its text."""
    return Prompt(name, text_digest(text)[:8], text)
