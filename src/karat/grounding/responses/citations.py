"""Citations in a text: `[1]`, `[2, 3]`, `[1-3]`, `[^1]`, `[1](url)`, `【1】`, `(doc 4)`, and ids of passages: `[d7]`.

A number is the rank of a passage, from 1; if no passage has this rank, it may be the id of one. What points to no
passage is an invalid citation, which is kept as it was written: any other number, such as `[7]` if there are five
passages, or the year in `[2019]`; and what is written like the ids of the passages, such as `[gold-999]` beside the
passage `gold-002`. Of a range, what lies outside of the passages is one invalid citation, whatever its length.

Not citations: other texts in brackets (`[sic]`), numbers alone in round brackets, lists with a zero (the interval
`[0, 1]`), and everything in code, as in "`row[1]`".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\r\n]*`", re.DOTALL)
"""code in Markdown: a block, also one that is not closed, or a part of a line"""

_INNER = r"([^\[\]【】()\r\n]{1,300})"  # longer texts in brackets are not citations, and would be slow to search
_LINK = r"(?:\((?:https?:|www\.|[#/])[^\s()]{0,500}\))?"
_GROUP = re.compile(rf"\[{{1,2}}{_INNER}\]{{1,2}}{_LINK}|【{_INNER}】|［{_INNER}］|\({_INNER}\)")
_ROUND = 4  # the group of round brackets
_SEPARATOR = re.compile(r"\s*(?:[,;|&]|\band\b)\s*", re.IGNORECASE)
_NUMBER = re.compile(
    r"(?P<noun>(?:(?:see|cf\.?|from)\s+)?(?:doc|document|passage|source|ref|reference|citation|context|chunk|snippet)s?"
    r"[\s_.:#-]{0,3})?"
    r"#?(?P<first>\d{1,9})(?:\s?[-–—−]\s?#?(?P<last>\d{1,9}))?(?:†.*)?",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True)
class Citation:
    """A place that cites passages, from `start` to `end`.

    `cites` are the ids of the passages, each once, in their order; an invalid citation is there as it was written.
    """

    start: int
    end: int
    cites: tuple[str, ...]


def find_citations(text: str, passages: Sequence[str]) -> list[Citation]:
    """The citations in a text. `passages` are the ids of what can be cited, by rank.

    >>> [citation.cites for citation in find_citations("Gold is soft [2, 1]. It is yellow (doc 2).", ["d7", "d3"])]
    [('d3', 'd7'), ('d3',)]
    """
    if not any(bracket in text for bracket in "[(【［"):
        return []
    known = _Passages(passages)
    code = [match.span() for match in CODE.finditer(text)] if "`" in text else []
    citations, at = [], 0
    for group in _GROUP.finditer(text):
        while at < len(code) and code[at][1] <= group.start():
            at += 1
        if at < len(code) and code[at][0] < group.end():
            continue
        inner = next(filter(None, group.groups()))
        if cites := known.cites(inner, is_round=group.lastindex == _ROUND):
            citations.append(Citation(group.start(), group.end(), cites))
    return citations


def cited_passages(citations: Sequence[Citation]) -> tuple[str, ...]:
    """What some citations cite, each passage once, in the order in which they are first cited."""
    return tuple(dict.fromkeys(each for citation in citations for each in citation.cites))


class _Passages:
    """What can be cited: passages by rank and by id, and the patterns of their ids, with 0 for each number."""

    def __init__(self, passages: Sequence[str]) -> None:
        self.by_rank = passages
        self.ids = frozenset(passages)
        self.patterns = {_DIGITS.sub("0", each) for each in self.ids if _DIGITS.search(each)}

    def cites(self, inner: str, *, is_round: bool) -> tuple[str, ...]:
        """What the text in a pair of brackets cites; nothing if any part of it is not a citation."""
        inner = inner.strip().removeprefix("^")
        if inner in self.ids and not (inner.isdecimal() and (is_round or 0 < int(inner[:9]) <= len(self.by_rank))):
            return (inner,)
        parts = _SEPARATOR.split(inner)
        cites: dict[str, None] = {}
        for at, part in enumerate(parts):
            number = _NUMBER.fullmatch(part)
            if number is not None and is_round and at == 0 and not number["noun"]:
                return ()
            if number is None:
                cited = self._by_id(part)
            elif len(parts) > 1 and int(number["first"]) == 0:
                return ()
            else:
                cited = self._by_number(int(number["first"]), int(number["last"] or number["first"]))
            if not cited:
                return ()
            cites.update(dict.fromkeys(cited))
        return tuple(cites)

    def _by_id(self, part: str) -> tuple[str, ...]:
        if part in self.ids:
            return (part,)
        return (f"[{part}]",) if _DIGITS.sub("0", part) in self.patterns else ()

    def _by_number(self, first: int, last: int) -> tuple[str, ...]:
        """The passages from one rank to another; if some ranks do not exist, also the range as it is written."""
        if first == last:
            if not 0 < first <= len(self.by_rank):
                return (str(first),) if str(first) in self.ids else (f"[{first}]",)
            return (self.by_rank[first - 1],)
        inside = tuple(self.by_rank[max(first, 1) - 1 : last]) if first <= last else ()
        return inside if len(inside) == last - first + 1 else (*inside, f"[{first}-{last}]")
