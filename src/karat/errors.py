"""Every mistake a user can make, told in three parts: what is wrong, where, and the mend."""

from __future__ import annotations

import re

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class KaratError(ValueError):
    """What is wrong, where it is, and what to do about it.

    >>> print(KaratError("score 'abc' is not a number", where="run.trec:7", mend="Scores are numbers."))
    run.trec:7: score 'abc' is not a number. Scores are numbers.
    """

    def __init__(self, what: str, *, where: str | None = None, mend: str | None = None) -> None:
        super().__init__(what, where, mend)
        self.what = what
        self.where = where
        self.mend = mend

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        if not self.mend:
            return printable(f"{place}{self.what}")
        stop = "" if self.what.endswith((".", "?", "!")) else "."
        return printable(f"{place}{self.what}{stop} {self.mend}")


def printable(text: str) -> str:
    r"""A text that cannot move the cursor or ring the bell: control characters are shown, not sent.

    >>> print(printable("a\x1b[2Jb"))
    a\x1b[2Jb
    """
    return _UNPRINTABLE.sub(lambda found: ascii(found[0])[1:-1], text)


def shown(value: object, width: int = 60) -> str:
    r"""A value as it can be printed in a message: quoted, one line, no control characters, cut to a width.

    >>> print(shown("a\x1b[2Jb"))
    'a\x1b[2Jb'
    """
    try:
        text = ascii(value) if isinstance(value, bytes) else repr(value)
    except Exception:  # a repr may do anything, and this is for a message about something else
        text = f"a {type(value).__name__}"
    return text if len(text) <= width else f"{text[: width - 1]}…"
