"""The texts that a request is about: passages, an answer or gold answers, their order, and parts of them.

The first sample reads passages and items in the order that they have. Further samples read them in another order, so
that a model that prefers what comes first does not do so in all samples. That order follows from the seed, the sample,
the question and the texts: it is the same each time, and for all systems that have the same texts.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Literal, NamedTuple, TypeVar

from karat.grounding.responses.citations import find_citations
from karat.grounding.responses.responses import Passage
from karat.grounding.responses.sentences import sentence_spans

T = TypeVar("T")
_LETTERS = "bcdfghjklmnpqrst"
"""of codes, one for each hexadecimal digit; without vowels, codes are not words of any language"""
_SHORTEST_CODE = 4
_LINE = re.compile(r"[\n\r\v\f\x85\u2028\u2029]+")


class SampleOrder(NamedTuple):
    """In which order a sample reads texts."""

    seed: int = 42
    query: str = ""
    sample: int = 0

    def ordered(self, elements: Iterable[T], text: Callable[[T], str | None]) -> list[T]:
        """The elements in the order of the sample; the first sample has them as they are."""
        if not self.sample:
            return [*elements]
        return sorted(elements, key=lambda element: self._digest(text(element)))

    def codes(self, texts: Sequence[str]) -> list[str]:
        """A name for each text that says nothing about its rank."""
        earlier: dict[str, int] = {}
        digests = []
        for text in texts:
            earlier[text] = earlier.get(text, 0) + 1
            digests.append(self._digest(f"{earlier[text]} {text}"))
        length = next(
            size for size in range(_SHORTEST_CODE, 65) if len({each[:size] for each in digests}) == len(texts)
        )
        return ["".join(_LETTERS[int(digit, 16)] for digit in each[:length]) for each in digests]

    def _digest(self, text: str | None) -> str:
        about = repr((self.seed, self.query, self.sample, text))
        return hashlib.sha256(about.encode(errors="surrogatepass")).hexdigest()


@dataclass(frozen=True)
class ComparedTexts:
    """Texts that are sent, in a field of the message. Passages have ids, and the ranks that these stand for."""

    field: Literal["passages", "answer", "gold_answers"]
    texts: tuple[str, ...]
    ids: tuple[int | str, ...] = ()
    ranks: tuple[int, ...] = ()

    @classmethod
    def of_passages(cls, passages: Sequence[Passage], order: SampleOrder) -> ComparedTexts:
        """Passages in the order of a sample: the first sample names them by their ranks, further ones by codes.

        A passage that is compared alone is always the first, so that systems that found it at other ranks share a call.
        """
        passages = order.ordered(passages, lambda passage: passage.text)
        texts, ranks = tuple(each.text or "" for each in passages), tuple(each.rank for each in passages)
        ids: Sequence[int | str] = [1] if len(texts) == 1 else order.codes(texts) if texts and order.sample else ranks
        return cls("passages", texts, tuple(ids), ranks)

    @property
    def data(self) -> dict[str, Any]:
        """The field of the message."""
        if self.field == "passages":
            pairs = zip(self.ids, self.texts, strict=True)
            return {"passages": [{"id": name, "text": text} for name, text in pairs]}
        return {self.field: self.texts[0] if self.field == "answer" else list(self.texts)}

    @property
    def size(self) -> int:
        """The characters of the texts."""
        return sum(map(len, self.texts))

    @property
    def halves(self) -> tuple[ComparedTexts, ...]:
        """The texts in two parts of about the same size; none if it is one text that cannot be cut.

        A text is cut between two sentences or lines. Both parts of a passage have its id.
        """
        if len(self.texts) > 1:
            ends = [*accumulate(map(len, self.texts))]
            at = min(range(1, len(ends)), key=lambda at: abs(2 * ends[at - 1] - ends[-1]))
            return self._from(0, at), self._from(at, len(ends))
        halves = halves_of(self.texts[0]) if self.texts else ()
        return tuple(replace(self, texts=(half,)) for half in halves)

    def windows(self, size: int) -> list[ComparedTexts]:
        """The texts in parts of so many each, in order; the last part may have fewer."""
        return [self._from(at, at + size) for at in range(0, len(self.texts), size)]

    def _from(self, start: int, end: int) -> ComparedTexts:
        return ComparedTexts(self.field, self.texts[start:end], self.ids[start:end], self.ranks[start:end])

    def with_ranks(self, why: str | None) -> str | None:
        """A reason that names passages by their ranks instead of their codes."""
        ranks = {name: str(rank) for name, rank in zip(self.ids, self.ranks, strict=True) if isinstance(name, str)}
        if why is None or not ranks:
            return why
        return re.sub(rf"(?<!\w)(?:{'|'.join(ranks)})(?!\w)", lambda match: ranks[match[0].lower()], why, flags=re.I)


def halves_of(text: str) -> tuple[str, ...]:
    """A text in two parts, cut between two sentences or lines, as near to its middle as possible; none if it has one.

    >>> halves_of("Gold is soft. Iron is hard. Lead is heavy.")
    ('Gold is soft. ', 'Iron is hard. Lead is heavy.')
    """
    starts = [start for start, _ in sentence_spans(text, find_citations(text, ()))][1:]
    if not starts:  # a line break does not always end a sentence
        ends = (line_break.end() for line_break in _LINE.finditer(text))
        starts = [at for at in ends if text[:at].strip() and text[at:].strip()]
    if not starts:
        return ()
    at = min(starts, key=lambda start: abs(2 * start - len(text)))
    return text[:at], text[at:]
