"""In which way ids that should be the same are written differently: in case, zeros, a suffix, and so on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

from karat.documents.normalization import normalized
from karat.errors import shown

_ZEROS = re.compile(r"(?<![0-9.])0+(?=[0-9])")
_SEPARATOR = re.compile(r"[\W_]+")
_WIDTH = 60  # characters of an id in a message
_COMPARED = 30  # ids whose beginnings and ends are compared with those of all others
_MOST_AFFIXES = 5
_MOST_ENDS = 100_000  # ids whose ends are searched for separators

# Differences that no match ignores.
OTHER_SPELLINGS: dict[str, Callable[[str], str]] = {
    "zeros at the beginning of numbers": lambda key: _ZEROS.sub("", key),
    "a .0 at the end": lambda key: key.removesuffix(".0"),
}
_SPELLINGS: dict[str, Callable[[str], str]] = {
    "case": str.casefold,
    "spaces": lambda key: normalized(key, ("space",)),
    "Unicode normalization": lambda key: normalized(key, ("unicode",)),
    "case and spaces": lambda key: normalized(key, ("unicode", "case", "space")),
    **OTHER_SPELLINGS,
}


@dataclass(frozen=True)
class IdDifference:
    """What some ids differ in from others, how many of them have a counterpart, and one that has, with it."""

    what: str
    found: int
    example: tuple[str, str]

    def sentence(self, of_first: str, of_second: str) -> str:
        """The difference in words; the ids are those of the ground truth, of a run, and so on.

        >>> IdDifference("case", 7, ("D1", "d1")).sentence("the ground truth", "the corpus")
        "Ids differ in case: 'D1' in the ground truth is 'd1' in the corpus."
        """
        first, second = visible(*self.example)
        return f"Ids differ in {self.what}: {first} in {of_first} is {second} in {of_second}."


def visible(first: str, second: str) -> tuple[str, str]:
    r"""Two ids for a message; if they look the same, as they are encoded.

    >>> print(*visible("caf\u00e9", "cafe\u0301"))
    'caf\xe9' 'cafe\u0301'
    """
    look_alike = normalized(first, ("unicode", "space")) == normalized(second, ("unicode", "space"))
    return (ascii(first[:_WIDTH]), ascii(second[:_WIDTH])) if look_alike else (shown(first), shown(second))


def difference_between(ids: Collection[str], others: Collection[str]) -> IdDifference | None:
    """What most of the ids differ in from others, of which none is the same; None if nothing is known.

    >>> difference_between(["001", "002"], ["1", "2", "3"])
    IdDifference(what='zeros at the beginning of numbers', found=2, example=('001', '1'))
    >>> difference_between(["1", "2"], ["q-1", "q-2"]).what, difference_between(["d1", "d2"], ["d1#0", "d2#4"]).what
    ("the prefix 'q-'", "a suffix after '#'")
    """
    found = chain(_in_spelling(ids, others), _in_affixes(ids, others), _in_ends(ids, others))
    return max(found, key=lambda difference: difference.found, default=None)


def counterparts(change: Callable[[str], str], ids: Iterable[str], others: Iterable[str]) -> list[tuple[str, str]]:
    """The ids that are the same as another one if both are changed, with this one."""
    changed = {change(other): other for other in others}
    return [(id_, changed[same]) for id_ in ids if (same := change(id_)) in changed]


def separators_in(ids: Iterable[str], beginnings: Collection[str]) -> Counter[str]:
    """What separates the beginning of an id, which is one of these, from the rest; each counts once for an id."""
    separators: Counter[str] = Counter()
    for id_ in ids:
        separators.update({end[0] for end in _SEPARATOR.finditer(id_) if id_[: end.start()] in beginnings})
    return separators


def _stems(id_: str, separator: str) -> Iterator[str]:
    """What is before each of these separators in an id."""
    return (id_[: end.start()] for end in _SEPARATOR.finditer(id_) if end[0] == separator)


def _in_spelling(ids: Collection[str], others: Collection[str]) -> Iterator[IdDifference]:
    for what, change in _SPELLINGS.items():
        if pairs := counterparts(change, ids, others):
            yield IdDifference(what, len(pairs), pairs[0])


def _in_affixes(ids: Collection[str], others: Collection[str]) -> Iterator[IdDifference]:
    """The same text before or after all ids of one side."""
    few = min(len(ids), len(others))
    for longer, shorter in ((others, set(ids)), (ids, set(others))):
        sample = [each for each in islice(longer, _COMPARED) if each]
        candidates = Counter(chain.from_iterable(_affixes(each, shorter) for each in sample))
        for (before, after), _ in candidates.most_common(_MOST_AFFIXES):
            end = -len(after) or None
            pairs = [
                (each[len(before) : end], each)
                for each in longer
                if each.startswith(before) and each.endswith(after) and each[len(before) : end] in shorter
            ]
            if 2 * len(pairs) >= few:
                what = f"the prefix {shown(before)}" if before else f"the suffix {shown(after)}"
                pair = pairs[0] if longer is others else pairs[0][::-1]
                yield IdDifference(what, len(pairs), pair)


def _affixes(longer: str, shorter: Collection[str]) -> Iterator[tuple[str, str]]:
    """What is before or after an id in a longer one, if it is not a part of the same number or word."""
    for at in range(1, len(longer)):
        if _kind(longer[at - 1]) != _kind(longer[at]) or not longer[at].isalnum():
            if longer[at:] in shorter:
                yield longer[:at], ""
            if longer[:at] in shorter:
                yield "", longer[at:]


def _kind(character: str) -> str:
    return "number" if character.isdecimal() else "word" if character.isalpha() else character


def _in_ends(ids: Collection[str], others: Collection[str]) -> Iterator[IdDifference]:
    """A separator and something after it at the end of the ids of one side, as chunks of documents have."""
    for longer, shorter in ((others, set(ids)), (ids, set(others))):
        some = list(islice(longer, _MOST_ENDS))
        for separator, count in separators_in(some, shorter).most_common(1):
            stems = ((stem, each) for each in some for stem in _stems(each, separator) if stem in shorter)
            pair = next(stems)
            yield IdDifference(f"a suffix after {shown(separator)}", count, pair if longer is others else pair[::-1])
