"""Replies of language models: the JSON in a reply, and the labels and lists in it, with what is wrong about them.

Models write JSON in fences, with prose around it, with a comma too many or as Python would print it. What is certain is
repaired. What is not is a problem, in a sentence that the model can be told when it is asked again.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from karat.errors import enumeration, shown

_THOUGHTS = re.compile(r"(?:\s*<(think|thinking|thought|reasoning)>.*?</\1>)+", re.DOTALL)
_END_OF_THOUGHTS = "</think>"
_FENCED = re.compile(r"\s*(`{3,}|~{3,})[\w-]*\s(.*)\1\s*", re.DOTALL)
_OPENING = re.compile(r"[{\[]")
_BEGINNING = re.compile(r"""\{\s*["']|\[\s*["'{\[]""")  # of JSON rather than of something in brackets
_LONGEST_NUMBER = 400  # characters; a float has at most 309 digits before the point
_MOST_BRACKETS = 20  # around something else than JSON
_MOST_PROBLEMS = 3  # that a model is told at once
# What Python prints and JSON does not know, and commas before a closing bracket; whatever is in quotation marks stays.
_NOT_JSON = re.compile(
    r"""\\. | "(?:[^"\\]|\\.)*+" | '(?:[^'\\]|\\.)*+' | ,(?=\s*[}\]]) | \b(?:True|False|None)\b""",
    re.DOTALL | re.VERBOSE,
)
_AS_JSON = {",": " ", "True": "true", "False": "false", "None": "null"}


class UnreadableReplyError(Exception):
    """A reply that is not understood: a sentence that says why."""


class LabelReply(NamedTuple):
    """A label that a model gave, and its reason."""

    label: str
    why: str | None = None


def decode_reply(text: object) -> Any:
    r"""The JSON value in a reply: the whole reply, or the one object or list in it.

    Numbers too large for a float are infinite.

    >>> decode_reply('Here you are:\n```json\n{"label": "full",}\n```')
    {'label': 'full'}
    """
    if not isinstance(text, str):
        raise UnreadableReplyError("The reply is not a text.")
    text = text.strip().lstrip("\ufeff").lstrip()
    if not text:
        raise UnreadableReplyError("The reply is empty.")
    try:
        return _DECODER.decode(text)
    except _NOT_DECODED:
        pass
    if thoughts := _THOUGHTS.match(text):
        text = text[thoughts.end() :].strip()
    if fenced := _FENCED.fullmatch(text):
        try:
            return _DECODER.decode(fenced[2].strip())
        except _NOT_DECODED:
            pass
    try:
        return _value_in(text)
    except RecursionError:
        raise UnreadableReplyError("The JSON in the reply is nested too deeply.") from None
    except UnreadableReplyError:
        _, tag, rest = text.rpartition(_END_OF_THOUGHTS)  # some servers leave out where thoughts begin
        if not tag:
            raise
    return decode_reply(rest)


def _value_in(text: str) -> Any:
    """The only object in a text, or the only list if it has no object; the same value twice counts once."""
    objects: list[Any] = []
    lists: list[Any] = []
    at = brackets = 0
    while (opening := _OPENING.search(text, at)) and brackets < _MOST_BRACKETS:
        try:
            value, text, at = _decoded_at(text, opening.start())
        except json.JSONDecodeError as error:
            if _BEGINNING.match(text, opening.start()):
                raise UnreadableReplyError(_what_is_wrong(error)) from None
            at = opening.end()
            brackets += 1
        else:
            values = objects if isinstance(value, dict) else lists
            if len(values) < 2 and value not in values:
                values.append(value)
    values = objects or lists
    if not values:
        raise UnreadableReplyError("The reply is not JSON.")
    if len(values) > 1:
        kind = "objects" if objects else "lists"
        raise UnreadableReplyError(f"The reply has several different JSON {kind}: write one.")
    return values[0]


def _decoded_at(text: str, start: int) -> tuple[Any, str, int]:
    """The value that begins at a position, repaired if necessary; the text, as repaired; and where the value ends."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        repaired = _repaired(text[start:])
        try:
            value, end = _DECODER.raw_decode(repaired)
        except json.JSONDecodeError:
            raise error from None
        text = repaired
    return value, text, end


def _repaired(text: str) -> str:
    """The text without commas before closing brackets, and with what Python prints as JSON writes it."""
    return _NOT_JSON.sub(lambda match: _AS_JSON.get(match[0]) or _double_quoted(match[0]), text)


def _double_quoted(text: str) -> str:
    """A string in single quotation marks as one in double ones; anything else as it is."""
    if not text.startswith("'"):
        return text
    inner = re.sub(r"""(\\['\\])|(")""", lambda match: '\\"' if match[2] else match[1].replace("\\'", "'"), text[1:-1])
    return f'"{inner}"'


def _what_is_wrong(error: json.JSONDecodeError) -> str:
    if error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string"):
        return "The JSON in the reply is incomplete: it ends too early."
    return f"The reply is not JSON: {error.msg.lower()} at {shown(error.doc[error.pos : error.pos + 20])}."


def _whole_number(digits: str) -> float:
    return int(digits) if len(digits) <= _LONGEST_NUMBER else math.inf


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for key, value in pairs:
        if key in fields and fields[key] != value:
            raise UnreadableReplyError(f"The key {shown(key)} appears twice in one object.")
        fields[key] = value
    return fields


# Line breaks in strings, which are not allowed in JSON, are what models write and cannot be misunderstood.
_DECODER = json.JSONDecoder(strict=False, parse_int=_whole_number, object_pairs_hook=_object)
_NOT_DECODED = (json.JSONDecodeError, RecursionError)


def object_in(reply: Any) -> Mapping[str, Any]:
    """The object that a reply is, also if it is the only element of a list."""
    if isinstance(reply, list) and len(reply) == 1:
        reply = reply[0]
    if not isinstance(reply, dict):
        raise UnreadableReplyError(f"The reply is {_kind(reply)}, not a JSON object.")
    return reply


def list_in(reply: Any, field: str) -> list[Any]:
    """The list in a field of a reply, which is empty if the field is null; a reply that is a list is taken for it."""
    if isinstance(reply, list) and not (len(reply) == 1 and isinstance(reply[0], dict) and field in reply[0]):
        return reply
    fields = object_in(reply)
    if field not in fields:
        raise UnreadableReplyError(f"The field {field} is missing.")
    value = fields[field]
    if value is None:
        return []
    if not isinstance(value, list):
        raise UnreadableReplyError(f"The field {field} is {_kind(value)}, not a list.")
    return value


def label_in(value: object, labels: Collection[str]) -> str | None:
    """A label as it is spelled on its scale; None if it is not on it.

    Numbers may be strings or the other way around, true and false are 1 and 0, and case and a full stop do not matter.

    >>> label_in("Full.", ["none", "full"]), label_in(1.0, ["0", "1"]), label_in(True, ["0", "1"]), label_in(5, ["0"])
    ('full', '1', '1', None)
    """
    if isinstance(value, bool):
        spellings = [str(value).lower(), str(int(value))]
    elif isinstance(value, int | float):
        spellings = [str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)]
    elif isinstance(value, str):
        text = value.strip().strip("\"'`*.").strip()
        spellings = [value.strip(), text, text.removesuffix(".0"), text.replace(" ", "_")]
    else:
        return None
    for text in spellings:
        same = [text] if text in labels else [each for each in labels if each.casefold() == text.casefold()]
        if len(same) == 1:
            return same[0]
    return None


def read_label(reply: Any, labels: Collection[str]) -> LabelReply:
    """The label of a reply about one item: `{"why": ..., "label": ...}`."""
    fields = object_in(reply)
    if "label" not in fields:
        raise UnreadableReplyError("The field label is missing.")
    label = label_in(fields["label"], labels)
    if label is None:
        raise UnreadableReplyError(f"The label {shown(fields['label'])} is not one of {', '.join(labels)}.")
    return LabelReply(label, _why(fields))


def read_labels(reply: Any, labels: Sequence[Collection[str]]) -> tuple[dict[int, LabelReply], str | None]:
    """The labels of a reply about several items, by number from 1, and what is wrong with the others.

    `labels` are those that are allowed for each item. The reply is `{"labels": [{"item": 1, "why": ..., "label": ...},
    ...]}`. Labels that do not name their items are taken in order if there are as many as items.
    """
    rows = list_in(reply, "labels")
    rows = [row if isinstance(row, dict) else {"label": row} for row in rows]
    if len(rows) == len(labels) and not any("item" in row for row in rows):
        rows = [{**row, "item": number} for number, row in enumerate(rows, 1)]
    replies: dict[int, LabelReply] = {}
    problems: dict[str, None] = {}
    wrong = set()
    for row in rows:
        number = _item_number(row.get("item"))
        if number is None or not 1 <= number <= len(labels):
            only = "the only item is 1" if len(labels) == 1 else f"the items are 1 to {len(labels)}"
            problems[f"A label is about item {shown(row.get('item'))}, but {only}."] = None
            continue
        allowed = labels[number - 1]
        label = label_in(row.get("label"), allowed)
        if label is None:
            problems[f"The label {shown(row.get('label'))} of item {number} is not one of {', '.join(allowed)}."] = None
            wrong.add(number)
        elif number in replies and replies[number].label != label:
            problems[f"Item {number} has two different labels."] = None
            wrong.add(number)
        else:
            replies.setdefault(number, LabelReply(label, _why(row)))
    replies = {number: reply for number, reply in sorted(replies.items()) if number not in wrong}
    if missing := [str(at) for at in range(1, len(labels) + 1) if at not in replies and at not in wrong]:
        noun, verb = ("Item", "has") if len(missing) == 1 else ("Items", "have")
        problems[f"{noun} {enumeration(missing, 'and')} {verb} no label."] = None
    return replies, " ".join([*problems][:_MOST_PROBLEMS]) or None


def read_texts(reply: Any, field: str) -> tuple[dict[str, Mapping[str, Any]], str | None]:
    """The texts in a list of a reply, each once, with the objects that they are in, and what is wrong with the others.

    Only an empty list says that there are none: whatever else is not a text (null, NaN, a number) is a problem.

    >>> read_texts({"claims": [{"text": "Gold is soft.", "importance": "vital"}, None]}, "claims")[1]
    'The field claims has null in it where a text should be.'
    """
    texts: dict[str, Mapping[str, Any]] = {}
    problem = None
    for row in list_in(reply, field):
        fields = row if isinstance(row, dict) else {"text": row}
        text = fields.get("text", fields.get(field.removesuffix("s")))
        if isinstance(text, str) and text.strip():
            texts.setdefault(text.strip(), fields)
        else:
            kind = "an empty text" if isinstance(text, str) else _kind(text)
            problem = f"The field {field} has {kind} in it where a text should be."
    return texts, problem


def _item_number(value: object) -> int | None:
    """The number of an item, which may be written as a text such as "2" or "item 2"."""
    if isinstance(value, str):
        value = value.strip().casefold().removeprefix("item").strip(" #:.")
        return int(value) if value.isdecimal() and len(value) < 10 else None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _why(row: Mapping[str, Any]) -> str | None:
    why = row.get("why")
    return why.strip() or None if isinstance(why, str) else None


def _kind(value: object) -> str:
    if value is None:
        return "null"
    names = {bool: "true or false", str: "a text", list: "a list", dict: "an object"}
    return names.get(type(value), "a number")
