"""What counts as a hit: the matchers that `match=` takes, by name or as objects.

A matcher either compares keys, which are read with the documents, or has a comparer, which compares texts in pairs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from karat.documents.fields import DocumentLike, check_field
from karat.documents.key import Key, WholeDocument
from karat.documents.normalization import Folds, format_folds, normalized
from karat.errors import KaratError, Message, Parameter, did_you_mean, shown
from karat.matching.containment import ContainmentComparer
from karat.matching.coverage import OverlapComparer, coverage
from karat.matching.function import Function, FunctionComparer, name_of
from karat.matching.matcher import Matcher
from karat.matching.similarity import FUZZY_FOLDS, FuzzyComparer, check_percentage
from karat.registry.names import check_length, format_name, format_value, parse_name, unquote
from karat.registry.parameters import Help, MeasureParameter


@dataclass(frozen=True)
class Same(Matcher):
    """The same id, content or field: `id`, `content`, `meta.source`, and `content(normalize=case+space)`.

    `meta.source_id(gold=id)` compares the `meta.source_id` of a retrieved document with the id of a gold document.
    """

    field: str = "id"
    normalize: Folds = ()
    gold: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gold is not None:
            check_field(self.gold)

    def __str__(self) -> str:
        normalize = [("normalize", format_folds(self.normalize))] if self.normalize else []
        field = format_value(self.field) if "(" in self.field else self.field
        return format_name(field, [*normalize, *([("gold", self.gold)] if self.gold else [])])

    @property
    def gold_key(self) -> Key:
        return Key(self.gold, self.normalize) if self.gold else self.key

    def reason(self, retrieved: str, gold: str) -> str:  # noqa: ARG002  # a hit has the same key
        field = f"{self.field} is the gold {self.gold}" if self.gold else f"same {self.field}"
        return field + (f" (normalize={format_folds(self.normalize)})" if self.normalize else "")


@dataclass(frozen=True)
class Prefix(Matcher):
    """An id that begins with a gold id and a separator belongs to that gold document: `doc17::chunk-3` to `doc17`.

    >>> from karat import evaluate
    >>> evaluate({"q": ["doc17"]}, {"q": ["doc4::0", "doc17::3"]}, "RR", match="prefix")["RR"]
    0.5
    """

    name: ClassVar[str] = "prefix"

    separator: str = "::"
    field: str = "id"
    normalize: Folds = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.separator, str) or not self.separator:
            raise KaratError(
                ["prefix: ", Parameter("separator", self.separator), " is not a separator"],
                hint='Use text such as "::".',
            )
        if any("\ud800" <= character <= "\udfff" for character in self.separator):
            raise KaratError("prefix: the separator contains a lone surrogate", hint="Use the whole character.")
        if {"'", '"'} <= set(self.separator):
            raise KaratError(
                "prefix: a separator cannot contain both kinds of quotation marks", hint="Match by a function."
            )
        if not self.folded_separator:
            raise KaratError(
                f"prefix: normalize={format_folds(self.normalize)} removes the separator",
                hint="Leave out the normalization that removes it.",
            )

    @property
    def folded_separator(self) -> str:
        """The separator as it appears in normalized ids, between two other characters."""
        return normalized(f"x{self.separator}x", self.normalize)[1:-1]

    def reason(self, retrieved: str, gold: str) -> str:
        return f"same {self.field}" if retrieved == gold else f"{self.field} begins with the gold {self.field}"


@dataclass(frozen=True)
class Chunk(Matcher):
    """A chunk is a hit for every gold document that contains it: see `is_chunk_from_original`.

    Here, a chunk that would be empty without its prefix keeps it, so that every text matches itself.
    `normalize=space` ignores differences in line breaks; `threshold=90` also accepts similar text (see `fuzzy`).

    >>> from karat import evaluate
    >>> evaluate({"q": ["Gold is soft. It melts at 1064 °C."]}, {"q": ["It melts"]}, "R", match="chunk")["R"]
    1.0
    """

    name: ClassVar[str] = "chunk"
    compares_text: ClassVar[bool] = True

    normalize: Folds = ()
    threshold: float | None = None
    field: str = "content"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.threshold is not None:
            object.__setattr__(self, "threshold", check_percentage(self.name, self.threshold))

    def comparer(self) -> ContainmentComparer:
        return ContainmentComparer(self.normalize, self.threshold, keep_bare_prefix=True)

    def reason(self, retrieved: str, gold: str) -> str:
        return self.comparer().reason(retrieved, gold)


@dataclass(frozen=True)
class Fuzzy(Matcher):
    """Similar text: rapidfuzz's partial ratio is at least the threshold, from 0 to 100.

    The ratio is the similarity of the shorter text and the best-matching part of the longer one. Both texts are
    normalized first. A text of fewer than 12 characters matches only an equal one, since `of` is 100% of any sentence.

    >>> from karat import evaluate
    >>> golds, retrieved = {"q": ["Yesterday the cat sat on the mat again"]}, {"q": ["the cta sat on teh mat"]}
    >>> evaluate(golds, retrieved, "R", match="fuzzy")["R"]
    1.0
    """

    name: ClassVar[str] = "fuzzy"
    compares_text: ClassVar[bool] = True

    threshold: float = 90.0
    normalize: Folds = FUZZY_FOLDS
    field: str = "content"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "threshold", check_percentage(self.name, self.threshold))

    def comparer(self) -> FuzzyComparer:
        return FuzzyComparer(self.threshold, self.normalize)

    def reason(self, retrieved: str, gold: str) -> str:
        return self.comparer().reason(retrieved, gold)


@dataclass(frozen=True)
class Overlap(Matcher):
    """A chunk is a hit for a gold passage if it contains at least this share of the passage's words.

    >>> from karat import evaluate
    >>> halves = ["… the price rose. Gold is soft,", "soft, and it melts at 1064 °C. Silver …"]
    >>> evaluate({"q": ["Gold is soft, and it melts at 1064 °C."]}, {"q": halves}, "P@2", match="overlap")["P@2"]
    0.5
    """

    name: ClassVar[str] = "overlap"
    compares_text: ClassVar[bool] = True

    threshold: float = 0.5
    normalize: Folds = ("unicode", "case")
    field: str = "content"

    def __post_init__(self) -> None:
        super().__post_init__()
        share = MeasureParameter("threshold", float, None, help=Help("", low=0, high=1))
        object.__setattr__(self, "threshold", share.value(self.threshold, self.name))
        if not self.threshold:
            raise KaratError("overlap: a threshold of 0 would match everything", hint="Use a larger one, up to 1.")

    def comparer(self) -> OverlapComparer:
        return OverlapComparer(self.threshold, self.normalize)

    def reason(self, retrieved: str, gold: str) -> str:
        share = coverage(normalized(retrieved, self.normalize), normalized(gold, self.normalize))
        return f"covers {100 * share:.0f}% of the gold words" if share >= self.threshold else "the same text"


@dataclass(frozen=True, eq=False)
class FunctionMatcher(Matcher):
    """A user-defined function of a retrieved and a gold document, both as they were given."""

    function: Function
    field: str = "id"
    normalize: Folds = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionMatcher) and self.function is other.function

    def __hash__(self) -> int:
        return hash((FunctionMatcher, id(self.function)))

    def __str__(self) -> str:
        return name_of(self.function)

    @property
    def key(self) -> Key:
        return WholeDocument()

    def comparer(self) -> FunctionComparer:
        return FunctionComparer(self.function)

    def reason(self, retrieved: DocumentLike, gold: DocumentLike) -> str:  # noqa: ARG002  # only the function knows why
        return f"{self} returned True"


Match = str | Matcher | Callable[[Any, Any], bool]
"""A matcher, its name, or a function `(retrieved, gold) -> bool`."""

_MATCHERS: dict[str, type[Prefix | Chunk | Fuzzy | Overlap]] = {
    matcher.name: matcher for matcher in (Prefix, Chunk, Fuzzy, Overlap)
}
_HINT = (
    "Use id, content, meta.name, prefix, chunk, fuzzy(threshold=90), overlap(threshold=0.5),"
    " or a function of a retrieved and a gold document."
)


def matcher_of(match: Match) -> Matcher:
    """The matcher for a name such as `chunk(normalize=space)`, or for a function; a matcher is returned as it is.

    >>> str(matcher_of("fuzzy(threshold=85.0, normalize=none)")), matcher_of("meta.source") == Same("meta.source")
    ('fuzzy(threshold=85, normalize=none)', True)
    """
    if isinstance(match, Matcher):
        return match
    if isinstance(match, str):
        return _parse(match)
    if isinstance(match, type) and match in (Same, *_MATCHERS.values()):
        # match=chunk instead of match=chunk().
        return match()
    if callable(match):
        return FunctionMatcher(match)
    raise KaratError([Parameter("match", match), " is not a valid match"], hint=_HINT)


def _parse(text: str) -> Matcher:
    # The name of a field may contain nearly any character, so only the parameters after it are parsed.
    check_length(text)
    shape = re.fullmatch(r"""("[^"]*"|'[^']*'|[^(]*?)\s*(\(.*\)\s*(?:@[^)]*)?)?""", text.strip(), re.DOTALL)
    name, parameters = shape.groups() if shape else (text, None)
    name = unquote(name)
    if parameters is None:
        return _MATCHERS[name]() if name in _MATCHERS else _same(name)
    try:
        _, settings, cutoff = parse_name(f"match{parameters}")
    except KaratError:
        raise KaratError([Parameter("match", text), " is not a valid match"], hint=_HINT) from None
    known = [each.name for each in fields(_MATCHERS[name])] if name in _MATCHERS else ["normalize", "gold"]
    if cutoff is not None:
        raise KaratError([Parameter("match", text), ": a match takes no cut-off"], hint=_HINT)
    for parameter in settings:
        if parameter not in known:
            near = did_you_mean(parameter, known) or did_you_mean(name, _MATCHERS)
            raise KaratError(
                f"match {name} has no parameter {shown(parameter)}",
                hint=f"{near} It takes {', '.join(known)}.".strip(),
            )
    # Every matcher converts its parameters.
    return _MATCHERS[name](**settings) if name in _MATCHERS else _same(name, **settings)  # type: ignore[arg-type]


def _same(field: str, normalize: Folds = (), gold: str | None = None) -> Same:
    try:
        check_field(field)
    except KaratError:
        near = did_you_mean(field, [*_MATCHERS, "content", "id", f"meta.{field}"])
        what: Message = [Parameter("match", field), " is not a valid match"]
        raise KaratError(what, hint=f"{near} {_HINT}".strip()) from None
    return Same(field, normalize, gold)
