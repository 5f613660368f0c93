"""Finding: something noteworthy about the data, as a code, a message and a hint."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from karat.errors import for_log, printable


@dataclass(frozen=True)
class Finding:
    """Something noteworthy about the data that was evaluated.

    `code` identifies the kind of finding, `message` describes it, `count` is the number of queries or documents,
    `hint` says what to do, if anything, and `queries` lists the queries, if it is about queries.
    """

    code: str
    message: str
    count: int
    hint: str = ""
    queries: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # The texts are for people, and name queries and documents. What a program reads is in `queries`, unchanged.
        for name in ("message", "hint"):
            object.__setattr__(self, name, printable(getattr(self, name)))

    def __str__(self) -> str:
        return for_log(f"{self.message}. {self.hint}" if self.hint else f"{self.message}.")

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "queries": list(self.queries)}
