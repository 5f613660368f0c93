"""What a gate found: an outcome per rule, and all of them together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from karat.gating.rules import Rule
from karat.output.tables import Table
from karat.scores.summary import cell_text

if TYPE_CHECKING:
    from rich.console import Group


@dataclass(frozen=True)
class Worst:
    """A query that a failed rule owes most to: its value, and the baseline's if the rule is about a drop."""

    query: str
    value: float
    baseline: float | None = None


@dataclass(frozen=True)
class Outcome:
    """What became of a rule: the number, the limit and the verdict.

    `drop` is how much worse the value is than the baseline's, `p` says how likely chance alone makes such a
    difference (corrected for the number of rules), and `said` is the limit and what was found, in words.
    """

    rule: Rule
    passed: bool
    said: str
    value: float | None
    shown: str
    baseline: float | None = None
    drop: float | None = None
    p: float | None = None
    worst: tuple[Worst, ...] = ()

    @property
    def verdict(self) -> str:
        return "passed" if self.passed else "failed"

    @property
    def sentence(self) -> str:
        """The whole of it in one line, for where there is no table."""
        what = f"{self.rule.measure} {'has no value' if self.value is None else f'is {self.shown}'}"
        return f"{what}, {'' if self.passed else 'and must be '}{self.said}"

    def worst_line(self) -> str:
        """The queries to look at first."""
        name = self.rule.measure
        texts = [cell_text(each.value, name) for each in self.worst]
        if self.rule.kind == "max-drop":
            texts = [f"{cell_text(each.baseline, name)} → {text}" for each, text in zip(self.worst, texts, strict=True)]
        queries = [f"{_cut(each.query)} ({text})" for each, text in zip(self.worst, texts, strict=True)]
        what = {"min": "the lowest", "max": "the highest", "max-drop": "the largest losses"}[self.rule.kind]
        return f"{name}, {what}: {', '.join(queries)}"

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
            "said": self.said,
            "worst": [{"query": each.query, "value": each.value, "baseline": each.baseline} for each in self.worst],
        }


@dataclass(frozen=True)
class Gate:
    """Whether scores may pass: an outcome per rule, and what was noticed. It prints as a table.

    `origin` says which file the rules are from, if they are from one.
    """

    outcomes: tuple[Outcome, ...]
    notes: tuple[str, ...] = ()
    origin: str = ""

    @property
    def passed(self) -> bool:
        """Whether every rule is met."""
        return not self.failed

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """The outcomes that are not as demanded."""
        return tuple(outcome for outcome in self.outcomes if not outcome.passed)

    @property
    def verdict(self) -> str:
        """The last word: `gate passed: 3 rules` or `gate failed: 1 of 3 rules`."""
        count = len(self.outcomes)
        of_all = f"{len(self.failed)} of " if self.failed else ""
        return f"gate {'failed' if self.failed else 'passed'}: {of_all}{count} rule{'s' * (count > 1)}"

    def table(self) -> Table:
        """A row per rule; under them the worst queries of those that failed, what was noticed, and the verdict."""
        from karat.gating import outputs

        return outputs.table(self)

    def to_dict(self) -> dict[str, Any]:
        """`{"passed", "rules": [{"kind", "measure", "limit", "passed", "value", ...}], "notes", "origin"}`."""
        return {
            "passed": self.passed,
            "rules": [outcome.to_dict() for outcome in self.outcomes],
            "notes": list(self.notes),
            "origin": self.origin,
        }

    def junit(self) -> str:
        """The outcomes as JUnit XML, a test case per rule."""
        from karat.gating import outputs

        return outputs.junit(self)

    def __str__(self) -> str:
        from karat.gating import outputs

        return outputs.text(self).rstrip("\n")

    def __rich__(self) -> Group:
        from karat.gating import outputs

        return outputs.rich(self)

    def _repr_html_(self) -> str:
        return self.table().html()


def _cut(query: str, width: int = 40) -> str:
    return query if len(query) <= width else f"{query[: width - 1]}…"
