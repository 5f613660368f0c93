"""SparseEmbedding: a vector that is mostly zeros."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from dataclasses import dataclass
from typing import Any, Self

from karat.errors import KaratError, require, shown
from karat.errors.arguments import is_list_like


@dataclass
class SparseEmbedding:
    """The indices and the values of the elements that are not zero, like Haystack's SparseEmbedding."""

    indices: list[int]
    values: list[float]

    def __post_init__(self) -> None:
        for name in ("indices", "values"):
            given = getattr(self, name)
            is_list = isinstance(given, Sized) and is_list_like(given)
            require(is_list, f"the {name} of a SparseEmbedding must be a list, not {shown(given)}")
        indices, values = len(self.indices), len(self.values)
        require(indices == values, f"Length of indices ({indices}) and values ({values}) must be the same")

    def to_dict(self) -> dict[str, Any]:
        """A dictionary of `indices` and `values`."""
        return {"indices": list(self.indices), "values": list(self.values)}

    @classmethod
    def from_dict(cls, sparse_embedding_dict: Mapping[str, Any]) -> Self:
        """The SparseEmbedding from the dictionary that `to_dict` returned, here or in Haystack."""
        try:
            return cls(**sparse_embedding_dict)
        except TypeError:
            what = f"{shown(sparse_embedding_dict)} is not a SparseEmbedding"
            raise KaratError(what, hint="Pass what to_dict returned.") from None
