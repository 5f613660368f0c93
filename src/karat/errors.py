"""Every mistake a user can make, told in three parts: what is wrong, where, and the mend."""

from __future__ import annotations


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
            return f"{place}{self.what}"
        stop = "" if self.what.endswith((".", "?", "!")) else "."
        return f"{place}{self.what}{stop} {self.mend}"


def shown(value: object, width: int = 60) -> str:
    r"""A value as it can be printed in a message: quoted, one line, no control characters, cut to a width.

    >>> print(shown("a\x1b[2Jb"))
    'a\x1b[2Jb'
    """
    text = ascii(value) if isinstance(value, bytes) else repr(value)
    return text if len(text) <= width else f"{text[: width - 1]}…"
