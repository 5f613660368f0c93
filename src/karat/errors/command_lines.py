"""Commands as people type them: words are quoted for the shell of the system."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable


def command_line(words: Iterable[str]) -> str:
    """Words as a command line.

    >>> command_line(["karat", "evaluate", "my run.trec"])  # doctest: +SKIP
    "karat evaluate 'my run.trec'"
    """
    return " ".join(map(quoted_word, words))


def quoted_word(word: str) -> str:
    """A word of a command line, with quotes if it needs them.

    On Windows, only double quotes are quotes for both of its shells, and a backslash is an escape only before them.
    """
    if sys.platform != "win32":
        return shlex.quote(word)
    if re.fullmatch(r"[\w:+=./\\*?-][\w@:+=./\\*?-]*", word):
        return word
    escaped = re.sub(r'(\\*)"', r'\1\1\\"', word)
    return '"' + re.sub(r"(\\+)$", r"\1\1", escaped) + '"'
