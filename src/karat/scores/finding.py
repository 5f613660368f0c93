"""Finding: something worth knowing about the data, as a code, a sentence and a hint."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Finding:
    """One thing that was noticed.

    `code` says what kind, `message` how much of it and where, `count` how many queries or documents, `hint` what to
    do, if anything, and `queries` which ones, if it is about queries.
    """

    code: str
    message: str
    count: int
    hint: str = ""
    queries: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.message}. {self.hint}" if self.hint else f"{self.message}."

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "queries": list(self.queries)}
