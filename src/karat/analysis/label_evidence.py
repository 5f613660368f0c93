"""The labels that scores of verdicts were computed from, and the bounds of measures with unknown labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from karat.analysis.label_bounds import LabelBounds
from karat.labels.selection import Selected


@dataclass(frozen=True, eq=False)
class LabelEvidence:
    """The labels of one system, and for each measure that lacks some, its bounds."""

    selected: Selected
    bounds: Mapping[str, LabelBounds]
