"""Keeps keys out of messages, notes and files, also where a server repeats them: whole, in part, escaped or encoded."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from karat.errors import KaratError, Message, Parameter

REPLACED = "[key]"

_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)  # of environment variables
# The same as whole words, for texts in which ordinary words must stay: not TOKENIZER or KEYBOARD_LAYOUT.
_SECRET_NAMES = re.compile(r"(?:.*_)?(?:API_?|ACCESS_?|SECRET_?)?(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)", re.I)
_GENERATED = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[A-Za-z0-9_~+=-][\w.~+/=-]{19,}", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SHORTEST = 8  # characters; what is shorter may be a word of a text
_SHORTEST_WITH_PARTS = 20  # characters of a key that is not shown in part either
_PART = 12  # characters of a key that are too many to be shown
_ENCODED_PART = 16  # the same in Base64
_HEX_PART = 2 * _PART  # the same in hexadecimal digits
_BLOCK = 6  # half a part, so that every part has one of the blocks that a text is cut into
_KEYS = re.compile(r"\b(?:sk|pk|rk|gsk|hf|xai)[-_][\w*.-]{8,}|(?i:\bbearer )[\w.~+/-]{16,}")
# What the keys of a provider have in common.
_PREFIX = re.compile(
    r"(?:sk|pk|rk|gsk|csk|hf|xai|r8|fw|tgp|pplx|nvapi|glpat|github)[-_](?:(?:[a-z]{2,7}\d{0,2}|v\d)[-_]){0,2}"
)
_ESCAPE = re.compile(
    r"\\+(?:u([0-9a-f]{4})|x([0-9a-f]{2})|(.))|%(?:25)*([0-9a-f]{2})|&#(?:x([0-9a-f]{2})|([0-9]{2,3}));", re.I | re.S
)
# What else is escaped is a quotation mark or a line break, which few keys have.
_ESCAPED_LETTER = re.compile(r"\\[ux/]|%[0-9a-f]{2}|&#", re.I)
_BASES = (16, 16, 0, 16, 16, 10)  # of the numbers in the groups; one is the character itself


class _Spelling(NamedTuple):
    """A key as it may stand in a text: a part of `least` characters is recognized, if it is not within the prefix."""

    text: str
    prefix: int
    least: int

    def span(self, text: str, at: int, start: int) -> tuple[int, int] | None:
        """The longest part around a block of it that stands at this position; None if it is too short."""
        before, after = 0, _BLOCK
        while before < min(at, start) and text[at - before - 1] == self.text[start - before - 1]:
            before += 1
        most = min(len(text) - at, len(self.text) - start)
        while after < most and text[at + after] == self.text[start + after]:
            after += 1
        of_prefix = max(0, self.prefix - (start - before))
        return (at - before, at + after) if before - of_prefix + after >= self.least else None


class Secrets:
    """The key of a server, and those in the environment, to be kept out of what a model replies."""

    def __init__(self, *keys: str) -> None:
        generated = {
            value for name, value in _environment().items()
            if _SECRET_NAMES.fullmatch(name) and _GENERATED.fullmatch(value)
        }  # fmt: skip
        self._short: list[str] = []  # which have no parts
        self._blocks: dict[str, list[tuple[_Spelling, int]]] = {}  # where each block is in which spelling
        secrets = {*filter(_is_secret, keys), *generated}
        self._has_quotes = any(character in key for key in secrets for character in "\"'\\")
        for key in secrets:
            for spelling in _spellings(key):
                if spelling.least < _PART:
                    self._short.append(spelling.text)
                for start in range(len(spelling.text) - _BLOCK + 1):
                    block = spelling.text[start : start + _BLOCK]
                    self._blocks.setdefault(block, []).append((spelling, start))

    def masked(self, text: str) -> str:
        r"""A text in which keys are replaced, also those in JSON or in an address within it.

        >>> secrets = Secrets("sk-proj-Zm9vYmFyYmF6cXV4")
        >>> secrets.masked("It begins with sk-proj-Zm9vYmFyYmF6, in JSON \\u005am9vYmFyYmF6cXV4.")
        'It begins with [key], in JSON [key].'
        """
        if not self._blocks:
            return text
        spans = {*self._spans(text)}
        if self._has_quotes or _ESCAPED_LETTER.search(text):
            plain, places = _unescaped(text)
            spans |= {(places[start], places[end]) for start, end in self._spans(plain)}
        for start, end in _joined(spans):
            text = f"{text[:start]}{REPLACED}{text[end:]}"
        return text

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where keys stand, or parts of them: every part has at least one of the blocks that a text is cut into."""
        for at in range(0, len(text), _BLOCK):
            for spelling, start in self._blocks.get(text[at : at + _BLOCK], ()):
                if (span := spelling.span(text, at, start)) is not None:
                    yield span
        for short in self._short:
            yield from ((found.start(), found.end()) for found in re.finditer(re.escape(short), text))


def without_secrets(text: str) -> str:
    """The message of an error, in which what is in the environment as a key, and what looks like one, is replaced.

    >>> without_secrets("Incorrect API key provided: sk-abc***********wxyz")
    'Incorrect API key provided: [key]'
    """
    text = Secrets().masked(text)
    values = {value for name, value in _environment().items() if _NAMES.search(name) and len(value) >= _SHORTEST}
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, REPLACED)
    return _KEYS.sub(REPLACED, text)


def check_key_variable(name: str) -> None:
    """Refuse what is not the name of an environment variable, without showing it: it may be the key itself."""
    is_key = _KEYS.search(name) or _PREFIX.match(name) or (_GENERATED.fullmatch(name) and not name.isupper())
    if name not in os.environ and (is_key or not _VARIABLE.fullmatch(name)):
        what: Message = [Parameter("api_key_env"), " is not the name of an environment variable"]
        hint = "Put the key into a variable such as OPENAI_API_KEY, and pass the name of the variable."
        raise KaratError(what, hint=hint)


def _environment() -> dict[str, str]:
    return {name: value.strip() for name, value in os.environ.items()}


def _is_secret(key: str) -> bool:
    """Whether a key is one, unlike `EMPTY` or `lm-studio` for a server that needs none."""
    is_mixed = any(map(str.isdigit, key)) or (key != key.lower() and key[1:] != key[1:].lower())
    return len(key) >= _SHORTEST_WITH_PARTS or (len(key) >= _SHORTEST and is_mixed)


def _spellings(key: str) -> Iterator[_Spelling]:
    """A key as it is, in hexadecimal digits, and in Base64, wherever it stands in what is encoded.

    A short one is recognized as a whole.
    """
    public = _PREFIX.match(key)
    prefix = public.end() if public and len(key) - public.end() >= _PART else 0
    has_parts = len(key) >= _SHORTEST_WITH_PARTS
    for text in {key, key.replace("\\", "")}:  # without backslashes, as `_unescaped` leaves it
        yield _Spelling(text, prefix, _PART if has_parts else len(text) - prefix)
    digits = key[prefix:].encode().hex()
    for text in (digits, digits.upper()):
        yield _Spelling(text, 0, _HEX_PART if has_parts else len(text))
    for offset in range(3):
        data = b"\0" * offset + key[prefix:].encode()
        encoded = base64.b64encode(data).decode()[(0, 2, 3)[offset] : len(data) * 8 // 6]
        for text in {encoded, encoded.replace("+", "-").replace("/", "_")}:
            yield _Spelling(text, 0, _ENCODED_PART if has_parts else len(text))


def _unescaped(text: str) -> tuple[str, list[int]]:
    """A text with the characters that are escaped in it, and where each of them begins; the end is the last place."""
    parts: list[str] = []
    places: list[int] = []
    end = 0
    for escape in _ESCAPE.finditer(text):
        group = escape.lastindex or 0
        character = escape[3] if group == 3 else chr(int(escape[group], _BASES[group - 1]))
        parts += [text[end : escape.start()], character]
        places += [*range(end, escape.start()), escape.start()]
        end = escape.end()
    parts.append(text[end:])
    return "".join(parts), [*places, *range(end, len(text) + 1)]


def _joined(spans: set[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans that do not overlap, the last one first."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start < joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined[::-1]
