"""The model that compares answers if the command line names none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from karat.answers.similarity import SAS, STATIC
from karat.measures import meanings
from karat.registry.names import parse_name
from karat.scores import Finding, Scores

_FINDING = Finding(
    "default-model",
    f"SAS uses {STATIC} (static embeddings, no download) because no model is given",
    0,
    f"Choose a sentence-transformers model with {str(SAS(model='...'))!r} for better judgments.",
)


def with_static_model(names: Sequence[str]) -> tuple[list[str], list[Finding]]:
    """The names of measures, with the static model filled in for a SAS without a model, and a finding about that.

    >>> names, findings = with_static_model(["EM", "sas"])
    >>> names, [finding.code for finding in findings]
    (['EM', 'SAS(model=wordllama)'], ['default-model'])
    """
    chosen = [str(SAS(model=STATIC)) if _needs_model(name) else name for name in names]
    return chosen, [_FINDING] if chosen != list(names) else []


def _needs_model(name: str) -> bool:
    known = meanings(name)  # none if it is a column of saved scores, or misspelled, which is reported later
    return bool(known) and known[0].name == SAS.name and "model" not in parse_name(name).parameters


def with_findings(scores: Mapping[str, Scores], findings: Sequence[Finding]) -> dict[str, Scores]:
    """The same scores with more findings, which are shown under their table."""
    return {name: replace(each, findings=(*each.findings, *findings)) for name, each in scores.items()}
