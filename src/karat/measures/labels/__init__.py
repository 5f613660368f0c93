"""Measures of labels about generated answers, a file per family; and which labels a measure reads."""

from __future__ import annotations

from typing import cast

from karat.data.verdicts import Relation
from karat.registry import Measure


def relations_of(measure: Measure) -> dict[Relation, int]:
    """The relations that a measure reads, each with the direction in which a rising label moves the value.

    The first one is about the items without which there is nothing to judge. There are none if the measure does not
    say what it reads, or if it reads no labels.
    """
    declared = {} if measure.definition.labels is None else measure.definition.labels(measure)
    return {cast("Relation", relation): sign for relation, sign in declared.items()}
