"""The result of a gate: the outcome of each rule, and all of them together."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from karat.comparison.gate.rules import Rule
from karat.errors import plural, printable
from karat.output.files import write_text
from karat.output.printable import Tabular
from karat.output.tables import DIGITS, Table
from karat.scores.summary import cell_text


@dataclass(frozen=True)
class WorstQuery:
    """A query that contributes most to a failed rule: its value, and the baseline's if the rule compares with it."""

    query: str
    value: float
    baseline: float | None = None


@dataclass(frozen=True)
class Outcome:
    """The outcome of a rule.

    `value_text` is the value as it is printed, `drop` is how much worse the value is than the baseline's, and `p` is
    the p-value, corrected for the number of rules of this kind: of a drop beyond the limit for `max-drop` with
    `significant`, of any difference without it, and of a smaller drop than the limit for `non-inferior`. `explanation`
    states the limit and what was found, in words.
    """

    rule: Rule
    passed: bool
    explanation: str
    value: float | None
    value_text: str
    baseline: float | None = None
    drop: float | None = None
    p: float | None = None
    worst: tuple[WorstQuery, ...] = ()

    @property
    def verdict(self) -> str:
        return "passed" if self.passed else "failed"

    @property
    def sentence(self) -> str:
        """The measure, its value and the explanation in one line."""
        value = "has no value" if self.value is None else f"is {self.value_text}"
        return printable(
            f"{self.rule.measure} {value}{'; rule: ' if self.passed else ', but must be '}{self.explanation}"
        )

    def worst_line(self) -> str:
        """The queries that contributed most to the failure, in one line."""
        name = self.rule.measure
        texts = [cell_text(each.value, name) for each in self.worst]
        if self.rule.compares:
            texts = [f"{cell_text(each.baseline, name)} → {text}" for each, text in zip(self.worst, texts, strict=True)]
        queries = [f"{_cut(each.query)} ({text})" for each, text in zip(self.worst, texts, strict=True)]
        what = {"min": "lowest scores", "max": "highest scores"}.get(self.rule.kind, "largest losses")
        return printable(f"{name}, {what}: {', '.join(queries)}")

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.rule.kind,
            "measure": self.rule.measure,
            "limit": float(self.rule.limit),
            "passed": self.passed,
            "value": self.value,
            "baseline": self.baseline,
            "drop": self.drop,
            "p": self.p,
            "explanation": self.explanation,
            "worst": [{"query": each.query, "value": each.value, "baseline": each.baseline} for each in self.worst],
        }


@dataclass(frozen=True)
class Gate(Tabular):
    """The result of `gate`: the outcome of each rule, and notes. It prints as a table.

    `origin` names the file that the rules come from, if any.
    """

    outcomes: tuple[Outcome, ...]
    notes: tuple[str, ...] = ()
    origin: str = ""

    @property
    def passed(self) -> bool:
        """Whether all rules passed."""
        return not self.failed

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """The outcomes of the rules that failed."""
        return tuple(outcome for outcome in self.outcomes if not outcome.passed)

    @property
    def verdict(self) -> str:
        """The result in one line: `gate passed: 3 rules` or `gate failed: 1 of 3 rules`."""
        rules = plural(len(self.outcomes), "rule")
        return f"gate failed: {len(self.failed)} of {rules}" if self.failed else f"gate passed: {rules}"

    def table(self, *, digits: int = DIGITS) -> Table:  # noqa: ARG002  # each value shows why its rule passed or failed
        """A row per rule, followed by the worst queries, the notes and the verdict."""
        from karat.comparison.gate import outputs

        return outputs.table(self)

    def to_markdown(self, path: str | os.PathLike[str] | None = None, *, digits: int = DIGITS) -> str:  # noqa: ARG002
        """The table in Markdown, with the verdict as its title; also written to `path` if given."""
        from karat.comparison.gate import outputs

        return write_text(outputs.markdown(self), path)

    def to_dict(self) -> dict[str, Any]:
        """`{"passed", "rules": [{"kind", "measure", "limit", "passed", "value", ...}], "notes", "origin"}`."""
        return {
            "passed": self.passed,
            "rules": [outcome.to_dict() for outcome in self.outcomes],
            "notes": list(self.notes),
            "origin": self.origin,
        }

    def junit(self) -> str:
        """The outcomes as JUnit XML, with a test case per rule."""
        from karat.comparison.gate import outputs

        return outputs.junit(self)


def _cut(query: str, width: int = 40) -> str:
    return query if len(query) <= width else f"{query[: width - 1]}…"
