"""What a command line asks to be computed: the measures, the options of an evaluation, and groups of queries."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from karat.cli.inputs import Inputs, read_groups
from karat.measures import meanings, parse
from karat.measures.answers.similarity import SAS, STATIC
from karat.options import EVALUATION_OPTIONS
from karat.registry.names import parse_name
from karat.registry.selection import listed_measures
from karat.scores import Finding, Scores

if TYPE_CHECKING:
    from karat.analysis.query_groups import QueryColumn

_DEFAULT_MODEL = Finding(
    "default-model",
    f"SAS uses {STATIC} (static embeddings, no download) because no model is given",
    0,
    f"Choose a sentence-transformers model with {str(SAS(model='...'))!r} for better judgments.",
)


@dataclass(frozen=True)
class Settings:
    """How systems are evaluated. Saved scores are used as they are."""

    measures: Sequence[str] = ()
    options: Mapping[str, Any] = field(
        default_factory=lambda: {name: option.default for name, option in EVALUATION_OPTIONS.items()}
    )
    """the options of `EVALUATION_OPTIONS`, by name"""
    by: str | QueryColumn | None = None
    """how queries are grouped"""
    lower_is_better: Sequence[str] = ()
    """columns of saved scores"""
    rejects_unused_options: bool = True
    """whether options that change nothing, because all scores are saved, are an error"""

    @classmethod
    def of(cls, values: Mapping[str, Any], **others: Any) -> Settings:
        """What the options of a command ask for; a file of groups is read."""
        chosen = {
            "measures": values.get("measures", ()),
            "options": {name: values[name] for name in EVALUATION_OPTIONS},
            "by": read_groups(values.get("by"), has_labels=bool(values.get("verdicts"))),
            "lower_is_better": values.get("lower_is_better", ()),
        }
        return cls(**{**chosen, **others})

    def names(self, columns: Collection[str] = ()) -> list[str]:
        """The measures one by one: a text that is a column of saved scores names that column, whatever it contains."""
        listed = ([text] if text in columns else listed_measures([text]) for text in self.measures)
        return [str(name) for names in listed for name in names]

    def check_measures(self) -> None:
        """Reject the name of an unknown measure, before anything is evaluated."""
        for name in self.names():
            if not meanings(name):
                parse(name)

    def check_groups(self, systems: Mapping[str, Scores], inputs: Inputs) -> None:
        """Reject groups by length before systems are compared, if the texts of queries are not known."""
        if self.by == "length" and not inputs.queries:
            from karat.analysis.query_groups import query_values
            from karat.analysis.texts import questions_of

            questions = questions_of(systems.values())
            for scores in systems.values():
                query_values(replace(scores, questions=questions), self.by)


def with_static_model(names: Sequence[str]) -> tuple[list[str], list[Finding]]:
    """The names of measures, with the static model filled in for a SAS without a model, and a finding about that.

    >>> names, findings = with_static_model(["EM", "sas"])
    >>> names, [finding.code for finding in findings]
    (['EM', 'SAS(model=wordllama)'], ['default-model'])
    """
    chosen = [str(SAS(model=STATIC)) if _needs_model(name) else name for name in names]
    return chosen, [_DEFAULT_MODEL] if chosen != list(names) else []


def _needs_model(name: str) -> bool:
    known = meanings(name)  # none if it is a column of saved scores, or misspelled, which is reported later
    return bool(known) and known[0].name == SAS.name and "model" not in parse_name(name).parameters


def with_findings(scores: Mapping[str, Scores], findings: Sequence[Finding]) -> dict[str, Scores]:
    """The same scores with more findings, which are shown under their table."""
    return {name: replace(each, findings=(*each.findings, *findings)) for name, each in scores.items()}
