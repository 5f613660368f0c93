"""How wide texts are on a terminal, and texts that are cut to a width."""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import combining, east_asian_width

_MOST_CHARACTERS = 4  # for each column: characters without a width may follow each other endlessly


def width_of(text: str) -> int:
    """The number of columns that a text takes: none for a combining character, two for a wide character."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(letter) else 1 + (east_asian_width(letter) in "WF") for letter in text)


def shorten(text: str, width: int) -> str:
    r"""A text on one line, cut to a width.

    >>> shorten("Gold is\n soft.", 8), shorten("金は重い", 6)
    ('Gold is…', '金は…')
    """
    line = " ".join(text.split())
    if len(line) <= _MOST_CHARACTERS * width and width_of(line) <= width:
        return line
    start, taken = line[: _MOST_CHARACTERS * width], 0
    for at, letter in enumerate(start):
        taken += width_of(letter)
        if taken > width - 1:
            return f"{start[:at]}…"
    return f"{start}…"


def shared_widths(wanted: Sequence[int], available: int) -> list[int]:
    """How wide columns are that want these widths: what one does not need is left to the others.

    >>> shared_widths([10, 100, 60], 90)
    [10, 40, 40]
    """
    widths = [0] * len(wanted)
    left = available
    for place, at in enumerate(sorted(range(len(wanted)), key=wanted.__getitem__)):
        widths[at] = min(wanted[at], left // (len(wanted) - place))
        left -= widths[at]
    return widths
