"""Which model compares answers, where the command line names none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from karat.answers.models import STATIC
from karat.answers.similarity import SAS
from karat.measures import meanings, parse
from karat.registry.names import parse_name
from karat.scores import Finding, Scores

_FINDING = Finding(
    "default-model",
    f"no model is named for SAS: {STATIC}, static embeddings that need no download",
    0,
    f"Name one with {str(SAS(model='...'))!r}: a model of sentence-transformers sees more.",
)


def with_static_model(names: Sequence[str]) -> tuple[list[str], list[Finding]]:
    """The names of measures, SAS with the model that is always there where none is named, and what to say of it.

    >>> names, findings = with_static_model(["EM", "sas"])
    >>> names, [finding.code for finding in findings]
    (['EM', 'SAS(model=wordllama)'], ['default-model'])
    """
    chosen = [str(SAS(model=STATIC)) if _is_open(name) else name for name in names]
    return chosen, [_FINDING] if chosen != list(names) else []


def _is_open(name: str) -> bool:
    return (meanings(name) or [parse(name)])[0].name == SAS.name and "model" not in parse_name(name).parameters


def noted(scores: Mapping[str, Scores], findings: Sequence[Finding]) -> dict[str, Scores]:
    """The same scores, with this said under them."""
    return {name: replace(each, findings=(*each.findings, *findings)) for name, each in scores.items()}
