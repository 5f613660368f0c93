"""A matcher, and what compares texts for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import fields
from typing import Any, ClassVar, Protocol, Self

from karat.documents.fields import DocumentLike, check_field
from karat.documents.key import Key, TextOfId
from karat.documents.normalization import Folds, format_folds, parse_folds
from karat.registry.names import format_name


class Comparer(Protocol):
    """Compares retrieved documents with gold documents, one query at a time."""

    @property
    def slow_pairs(self) -> int:
        """How many pairs of texts were so long that comparing them took seconds."""

    def pairs(self, texts: Sequence[Any], golds: Sequence[Any]) -> Iterator[tuple[int, int]]:
        """Pairs of a text and a gold that match, by their positions in the two lists."""


class Matcher(ABC):
    """A rule for what counts as a hit. Its text, such as `fuzzy(threshold=85)`, parses back to an equal matcher."""

    name: ClassVar[str] = ""
    compares_text: ClassVar[bool] = False
    """Whether its comparer compares texts, and normalizes them; otherwise keys are normalized when they are read."""

    texts: ClassVar[Mapping[str, str] | None] = None
    """The texts of documents that are known by their ids only, by id. They do not change what the matcher is."""

    field: str
    normalize: Folds

    def __post_init__(self) -> None:
        check_field(self.field)
        object.__setattr__(self, "normalize", parse_folds(self.normalize))

    def __str__(self) -> str:
        parameters = (
            (field.name, format_folds(value) if field.name == "normalize" else value)
            for field in fields(self)  # type: ignore[arg-type]  # every matcher is a dataclass
            if (value := getattr(self, field.name)) != field.default
        )
        return format_name(self.name, parameters)

    @property
    def key(self) -> Key:
        """The key that is read from a retrieved document."""
        folds = () if self.compares_text else self.normalize
        return Key(self.field, folds) if self.texts is None else TextOfId(self.field, folds, self.texts)

    def with_texts(self, texts: Mapping[str, str]) -> Self:
        """This matcher, for documents that are known by their ids only."""
        matcher = copy(self)
        object.__setattr__(matcher, "texts", texts)
        return matcher

    @property
    def gold_key(self) -> Key:
        """The key that is read from a gold document."""
        return self.key

    def comparer(self) -> Comparer | None:
        """An object that compares texts; None if comparing keys is enough."""
        return None

    @abstractmethod
    def reason(self, retrieved: DocumentLike, gold: DocumentLike) -> str:
        """Why a retrieved document matches a gold one, in words; both are keys, or whole documents for a function."""
