"""Plain characters in place of those that an output's encoding lacks, such as ASCII or cp1252."""

from __future__ import annotations

from functools import cache

_PLAIN = {
    "─": "-", "–": "-", "−": "-", "→": "->", "…": "...", "·": "*", "²": "^2", "½": "1/2", "≤": "<=", "≥": ">=",
    "∞": "inf", "√": "sqrt", "Σ": "sum", "Π": "prod", "∩": "&", "∪": "U", "α": "alpha", "β": "beta", "ε": "epsilon",
}  # fmt: skip


def with_encoding(text: str, encoding: str) -> str:
    r"""A text in which typographic characters that an encoding lacks are replaced by plain ones.

    Other characters stay: the stream shows them as escapes.

    >>> with_encoding("a → b … 日", "ascii"), with_encoding("a → b … 日", "cp1252")
    ('a -> b ... 日', 'a -> b … 日')
    """
    return text if text.isascii() else text.translate(_replacements(encoding))


@cache
def _replacements(encoding: str) -> dict[int, str]:
    return {ord(character): plain for character, plain in _PLAIN.items() if not _can_encode(character, encoding)}


def _can_encode(character: str, encoding: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
