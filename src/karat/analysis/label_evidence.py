"""The labels that scores of verdicts were computed from."""

from __future__ import annotations

from dataclasses import dataclass

from karat.labels.selection import Selected


@dataclass(frozen=True, eq=False)
class LabelEvidence:
    """The labels of one system."""

    selected: Selected
