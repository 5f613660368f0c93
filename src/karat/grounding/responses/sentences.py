"""The sentences of a text, as people and language models write it: prose, lists, headings and code, in many scripts.

A citation behind a full stop belongs to the sentence before it: "Gold is soft.[1] It is yellow. [2]" has two sentences
with a citation each. A full stop does not end a sentence within numbers, addresses and code, after abbreviations
("e.g.", "Dr.", "No. 5", "J. Smith"), or before a lowercase letter. After "U.S." and "Inc.", it ends one only if the
next word often begins a sentence. A line break ends a sentence, unless the line goes on with a lowercase letter, as in
a text that was broken into lines. The number or the bullet of a list item belongs to its first sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from karat.grounding.responses.citations import CODE, Citation, find_citations

_STOPS = ".!?…‼⁇⁈⁉．"
_STOPS_WITHOUT_BLANK = "。！？｡।॥؟۔։።။។"  # of scripts that need no blank after them, or that use them for nothing else
_CLOSING = "\"'”’»›)]}」』）】》〉*_~"
_OPENING = "\"'“‘«‹([{「『（【《〈*_"
_BREAK = r"\r\n|[\n\r\v\f\x85\u2028\u2029]"
_CANDIDATE = re.compile(
    rf"(?P<code>{CODE.pattern})|(?P<line>(?:{_BREAK})\s*+)|(?P<stop>[{_STOPS}{_STOPS_WITHOUT_BLANK}]++)", re.DOTALL
)
_BREAKS = re.compile(_BREAK)
_WHITE = re.compile(r"\s*+")
_BLANKS = re.compile(r"[^\S\n\r\v\f\x85\u2028\u2029]*+")
_BETWEEN_CITATIONS = re.compile(rf"{_BLANKS.pattern},?{_BLANKS.pattern}")
_CLOSED = re.compile(rf"[{_STOPS}{_STOPS_WITHOUT_BLANK}{re.escape(_CLOSING)}]*+")
_OPENED = re.compile(rf"\s*+[{re.escape(_OPENING)}]*+")
# How a line begins that is a list item, a heading, a quotation, a row of a table, or code.
_NEW_BLOCK = re.compile(r"[-*+•‣▪●◦–]\s|#{1,6}\s|>|\||```|~~~|\(?(?:\d{1,3}|\w)[.)]\s")
_HEADING = re.compile(r"\s*+#{1,6}\s")
_ENUMERATOR = re.compile(r"\W{0,4}(?:\d{1,3}(?:\.\d{1,3}){0,3}|[^\W\d_]|[ivxIVX]{1,5})")
_FIRST_ENUMERATOR = re.compile(r":\s1$")  # "in two steps: 1. Mix. 2. Stir."
_WORD_BEFORE = re.compile(r"[^\W\d_](?:[^\W\d_]|[.&'’])*$")
_LONGEST_ABBREVIATION = 12
_NUMBER_BEFORE = re.compile(r"\d\s?°?$")
_DOTTED = re.compile(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}")  # U.S, Ph.D
_WORD = re.compile(r"[^\W\d_][\w’']{0,30}")
_LETTER_AND_STOP = re.compile(r"[^\W\d_]\.")
_LOWERCASE_WORD_BEFORE = re.compile(r"(?:^|[\s(\"“‘'])([^\W\d_]{2,})$")
_GLUED_WORD = re.compile(r"[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ]{0,30}(?=[\s,’']|$)")

_TITLES = frozenset(
    "adm capt cmdr col dr fr gen gov hon lt maj messrs mme mr mrs ms mx pres prof rep rev sen sgt".split()
)
_WITHIN_SENTENCES = frozenset("bzw cf d.h e.g eg i.e ie resp vgl viz vs z.b".split())
_BEFORE_NUMBERS = frozenset(
    "apr approx aug c ca ch chap dec ed eq eqs feb fig figs jan jul jun mar no nos nov nr oct p para pp pt ref refs sec"
    " sect sep sept v ver vol vols".split()
)
_SOMETIMES_LAST = frozenset("al assn ave blvd bros co corp dept inc jr llc ltd mt rd sr st univ".split())
_LAST_BEFORE_CAPITALS = frozenset(("a.m", "p.m"))
_FIRST_WORDS = frozenset(
    "A According Additionally After All Also Although An And Another Any As At Because Before Both But By Despite Due"
    " During Each Even Every Finally First For From Furthermore He Hence Her Here His How However I If In Instead Is It"
    " Its Many Meanwhile More Moreover Most Neither No Not Now Of On Once One Only Or Other Our Over Overall Second"
    " Several She Similarly Since So Some Still Such That The Their Then There Therefore These They This Those Though"
    " Through Thus To Today Two Under Unlike Until We What When Where Whether Which While Who Why With Within Without"
    " Yet You Your".split()
)


def split_sentences(text: str, passages: Sequence[str] = ()) -> list[str]:
    """The sentences of a text, without the white space between them.

    `passages` are the ids of what the text may cite, by rank.

    >>> split_sentences("Gold is soft.[1] It melts at 1064.18 °C, e.g. in a furnace.", ["d1"])
    ['Gold is soft.[1]', 'It melts at 1064.18 °C, e.g. in a furnace.']
    """
    return [text[start:end] for start, end in sentence_spans(text, find_citations(text, passages))]


def sentence_spans(text: str, citations: Sequence[Citation]) -> list[tuple[int, int]]:
    """Where each sentence of a text with these citations begins and ends."""
    cited = {each.start: each.end for each in citations}
    spans: list[tuple[int, int]] = []
    start = 0
    for end in (*_ends(text, cited), len(text)):
        first, last = _skip(_WHITE, text, start), start + len(text[start:end].rstrip())
        start = end
        if first < last:
            if spans and first in cited and _after_citations(text, first, cited) >= last:
                first = spans.pop()[0]  # a line of citations only
            spans.append((first, last))
    return spans


def _skip(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Where a pattern ends that may begin here; the same place if it does not."""
    match = pattern.match(text, at)
    return at if match is None else match.end()


def _ends(text: str, cited: Mapping[int, int]) -> Iterator[int]:
    """Where sentences end, in order; the white space after a sentence may come before its end or after it.

    `cited` are the ends of the citations, by their starts.
    """
    start = handled = 0
    is_cased = text.lower() != text  # in a text without capital letters, a lowercase letter may begin a sentence
    citations = iter(cited.items())
    citation = next(citations, None)
    for candidate in _CANDIDATE.finditer(text):
        at, end = candidate.span()
        while citation and citation[1] <= at:
            citation = next(citations, None)
        if at < handled or (citation and citation[0] <= at):
            continue
        if candidate.lastgroup == "line":
            ends = _line_ends(text, start, candidate)
        elif candidate.lastgroup == "stop":
            end, has_citation = _after_stop(text, end, cited)
            ends = _stop_ends(text, start, candidate, end, has_citation, is_cased)
        else:
            ends = _BREAKS.search(candidate[0]) is not None
            if ends:
                yield at
        handled = end
        if ends:
            start = _skip(_WHITE, text, end)
            yield end


def _line_ends(text: str, start: int, line_break: re.Match[str]) -> bool:
    """Whether a sentence that began at `start` ends at a line break."""
    after = line_break.end()
    if after == len(text) or len(_BREAKS.findall(line_break[0])) > 1:
        return True
    if _NEW_BLOCK.match(text, after) or _HEADING.match(text, start):
        return True
    return not text[after].islower()


def _after_stop(text: str, at: int, cited: Mapping[int, int]) -> tuple[int, bool]:
    """Where a sentence ends that has a stop: after closing quotes, brackets and citations; and if it has any."""
    has_citation = False
    while True:
        end = _skip(_CLOSED, text, at)
        after = _after_citations(text, end, cited)
        if after == end or (text[end].isspace() and _is_lowercase(text, after)):
            return end, has_citation  # in "Gold is soft. [1] shows it." the citation is the subject of a sentence
        at, has_citation = after, True


def _after_citations(text: str, at: int, cited: Mapping[int, int]) -> int:
    """Where a sequence of citations ends, which may begin after blanks; the same place if there are none."""
    begin = _skip(_BLANKS, text, at)
    while begin in cited:
        at = cited[begin]
        begin = _skip(_BETWEEN_CITATIONS, text, at)
    return at


def _is_lowercase(text: str, at: int) -> bool:
    """Whether the next word begins with a lowercase letter, and is not written like pH or iPhone."""
    first = _skip(_OPENED, text, at)
    return text[first : first + 1].islower() and not text[first + 1 : first + 2].isupper()


def _stop_ends(text: str, start: int, stops: re.Match[str], end: int, has_citation: bool, is_cased: bool) -> bool:
    """Whether a sentence that began at `start` ends with a stop; `end` is after what belongs to the stop."""
    at, stop = stops.start(), stops[0]
    if end == len(text) or any(each in _STOPS_WITHOUT_BLANK for each in stop):
        return True
    if text[at - 1 : at] in ("(", "[", "{") and text[stops.end()] in ")]}":
        return False  # [...] and (?)
    if not text[end].isspace():
        return _is_glued(text, stops, end, has_citation)
    if stop == "." and not has_citation:
        is_enumerator = _ENUMERATOR.fullmatch(text, start, at) or _FIRST_ENUMERATOR.search(text, max(start, at - 3), at)
        if is_enumerator or _is_abbreviation(text, max(start, at - _LONGEST_ABBREVIATION), at, end):
            return False
    is_last_of_line = _BREAKS.search(text, end, _skip(_WHITE, text, end)) is not None
    return is_last_of_line or not is_cased or not _is_lowercase(text, end)


def _is_abbreviation(text: str, start: int, at: int, end: int) -> bool:
    """Whether a full stop belongs to an abbreviation, and the sentence goes on after it."""
    before = _WORD_BEFORE.search(text, start, at)
    if before is None:
        return False
    word, folded = before[0], before[0].casefold()
    after = _skip(_OPENED, text, end)
    if folded in _WITHIN_SENTENCES or (folded in _TITLES and word[0].isupper()):
        return True
    if folded in _BEFORE_NUMBERS and text[after : after + 1].isdigit():
        return True
    if folded in _LAST_BEFORE_CAPITALS:
        return False
    if len(word) == 1 and _LETTER_AND_STOP.match(text, after):
        return True  # z. B., J. R. Smith
    following = _WORD.match(text, after)
    if following is not None and following[0] in _FIRST_WORDS:
        return False
    if _DOTTED.fullmatch(word) or folded in _SOMETIMES_LAST:
        return True
    is_unit = _NUMBER_BEFORE.search(text, max(0, before.start() - 3), before.start()) is not None  # 20 °C, 5 V
    return len(word) == 1 and word.isupper() and following is not None and not is_unit


def _is_glued(text: str, stops: re.Match[str], end: int, has_citation: bool) -> bool:
    """Whether a sentence begins right after a stop, without a blank: "Gold is soft.It is yellow"."""
    following, before = text[end], text[stops.start() - 1 : stops.start()]
    if not following.isalpha() or following.islower():
        return False
    if has_citation or not following.isupper():  # a letter of a script without capitals
        return has_citation or before.isalpha()
    word = _GLUED_WORD.match(text, end)
    if word is None or len(stops[0]) > 1 or not before.isalnum():
        return False
    if word[0] in _FIRST_WORDS or stops[0] != ".":
        return True
    left = _LOWERCASE_WORD_BEFORE.search(text, max(0, stops.start() - 30), stops.start())
    return left is not None and left[1].islower()
