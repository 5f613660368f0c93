"""What a command line says about labels: the verdict files, whose labels count, and what to do about unknown ones."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from karat.cli.files import split_column
from karat.errors import KaratError, require
from karat.options import UNKNOWN_LABELS, Unknown

if TYPE_CHECKING:
    from karat.labels.reading import VerdictRecords


@dataclass(frozen=True)
class LabelOptions:
    """The options `--verdicts`, `--author` and `--unknown`."""

    files: tuple[str, ...] = ()
    author: str | None = None
    unknown: Unknown = "bounds"

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> LabelOptions:
        """What the options ask for; those that have no effect are an error."""
        unknown = given.get("unknown", UNKNOWN_LABELS.default)
        # A gate can also decide by the worst value of saved scores.
        unknown = UNKNOWN_LABELS.default if unknown == "worst" else unknown
        labels = cls(tuple(given.get("verdicts", ())), given.get("author"), unknown)
        for option, is_given in (("--author", labels.author), ("--unknown", labels.unknown != UNKNOWN_LABELS.default)):
            if is_given and not labels.files:
                hint = f"Add --verdicts FILE, or leave {option} out."
                raise KaratError(f"{option} is about labels, and there are none", hint=hint)
        return labels

    @cached_property
    def records(self) -> VerdictRecords:
        """The labels in the files, which are read once for all systems."""
        from karat.labels.reading import read_verdict_records

        return read_verdict_records(list(self.files))

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `evaluate_results`."""
        return {"verdicts": self.records, "by": self.author, "unknown": self.unknown} if self.files else {}

    @property
    def arguments_for_runs(self) -> dict[str, Any]:
        """The arguments of `evaluate_runs`, whose documents are unjudged if their labels are unknown."""
        what = "--unknown is about labels of answers, and these are ground truth and runs"
        require(self.unknown == UNKNOWN_LABELS.default, what, "Leave it out.")
        return {"verdicts": self.records, "by": self.author} if self.files else {}


def check_not_author(by: str | None, given: Mapping[str, Any]) -> None:
    """Reject the author of labels as a group of queries."""
    is_author = (
        by is not None and (by == "human" or by.startswith("human:")) and not os.path.exists(split_column(by)[0])
    )
    if is_author and given.get("verdicts"):
        hint = f"To choose whose labels count, use --author {by}."
        raise KaratError(f"--by {by} does not name a group of queries", hint=hint)
