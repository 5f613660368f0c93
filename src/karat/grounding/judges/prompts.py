"""Prompts: what a language model is told, as files with a version, and the messages that are sent.

The system message is the text of a prompt, unchanged in every request. The user message is one JSON object, so nothing
that a question, a passage or an answer says can be taken for anything but the content of a JSON string.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from karat.errors import KaratError, Place, did_you_mean
from karat.grounding.judges.requests import Message

NAMES = ("support", "claims", "nuggets", "relevance", "correctness", "abstention", "rubric")
_FOLDER = Path(__file__).parent / "prompts"
_VERSION = re.compile(r"version (\d+)\n\n")
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")


class Prompt(NamedTuple):
    """A prompt: its name, its version, and the text of the system message."""

    name: str
    version: str
    """a number, or the beginning of a digest of the text if the prompt is the user's own"""
    text: str

    @property
    def id(self) -> str:
        """What calls and their records name the prompt by, such as `support/1`."""
        return f"{self.name}/{self.version}"

    def messages(self, data: Mapping[str, Any]) -> tuple[Message, ...]:
        """The messages of a request about some data."""
        return {"role": "system", "content": self.text}, {"role": "user", "content": message_json(data)}


def load_prompts(folder: str | os.PathLike[str] | None = None) -> dict[str, Prompt]:
    """The prompts by name; files such as `support.txt` in a folder of the user's own replace those of karat.

    >>> load_prompts()["support"].id
    'support/1'
    """
    prompts = {name: _built_in(name) for name in NAMES}
    if folder is None:
        return prompts
    if not os.path.isdir(folder):
        raise KaratError("this is not a folder with prompts", place=Place(os.fspath(folder)))
    paths = sorted(Path(folder).glob("*.txt"))
    if not paths:
        files = ", ".join(f"{name}.txt" for name in NAMES)
        raise KaratError(
            "the folder has no prompts", place=Place(os.fspath(folder)), hint=f"A prompt is one of {files}."
        )
    for path in paths:
        prompts[path.stem] = _own(path)
    return prompts


def message_json(data: Any) -> str:
    r"""Data as JSON in one line; letters of all scripts stay as they are, and lone surrogates are escaped.

    >>> print(message_json({"text": "\"} Löte \ud800"}))
    {"text": "\"} Löte \ud800"}
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    return _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def object_schema(**properties: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON schema of an object with exactly these properties, in this order, as OpenAI's strict mode needs it."""
    return {
        "type": "object", "properties": properties, "required": list(properties), "additionalProperties": False
    }  # fmt: skip


@cache
def _built_in(name: str) -> Prompt:
    version, text = _parted((_FOLDER / f"{name}.txt").read_text("utf-8"))
    return Prompt(name, version, text)


def _parted(content: str) -> tuple[str, str]:
    """The version and the text of a prompt; the version is empty if the file does not begin with it."""
    content = content.removeprefix("\ufeff").replace("\r\n", "\n")
    found = _VERSION.match(content)
    return (found[1], content[found.end() :].strip()) if found else ("", content.strip())


def _own(path: Path) -> Prompt:
    """A prompt of the user's own."""
    if path.stem not in NAMES:
        hint = f"{did_you_mean(path.stem, NAMES)} The prompts are {', '.join(NAMES)}.".strip()
        raise KaratError(f"{path.name} is not the name of a prompt", place=Place(os.fspath(path.parent)), hint=hint)
    try:
        _, text = _parted(path.read_text("utf-8"))
    except UnicodeDecodeError:
        raise KaratError(
            "the prompt is not UTF-8", place=Place(os.fspath(path)), hint="Save the file as UTF-8."
        ) from None
    except OSError as error:
        what = f"the prompt cannot be read: {error.strerror}"
        raise KaratError(what, place=Place(os.fspath(path))) from None
    if not text:
        raise KaratError("the prompt is empty", place=Place(os.fspath(path)))
    built_in = _built_in(path.stem)
    return built_in if text == built_in.text else Prompt(path.stem, text_version(text), text)


def text_version(text: str) -> str:
    """The version of a prompt of the user's own: the beginning of a digest of its text."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]
