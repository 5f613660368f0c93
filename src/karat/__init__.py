"""karat measures how good search and question answering are.

>>> import karat
>>> scores = karat.evaluate({"q1": {"d1": 1}}, {"q1": {"d1": 0.9, "d2": 0.4}}, ["nDCG@10", "RR"])
>>> scores["nDCG@10"]
1.0
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers know it by its name; importing typing would take longer than all of this
__version__ = "0.2.0"

if TYPE_CHECKING:
    from karat import measures
    from karat.analysis.diff import Diff
    from karat.analysis.explain import Explanation
    from karat.analysis.label_agreement import LabelAgreement
    from karat.analysis.slices import Slices
    from karat.cli import demo_data as demo
    from karat.comparison import Comparison, ComparisonRow, compare
    from karat.comparison.gate.gate import gate
    from karat.comparison.gate.outcomes import Gate, Outcome
    from karat.comparison.power import Power
    from karat.comparison.slices import ComparisonSlices
    from karat.components.component import component
    from karat.components.pipeline import Pipeline
    from karat.components.serialization import default_from_dict, default_to_dict
    from karat.data.verdicts import Verdicts
    from karat.documents.document import Document
    from karat.errors import KaratError
    from karat.evaluation import (
        EvaluationRunResult,
        evaluate,
        evaluate_answers,
        evaluate_results,
        evaluate_runs,
        evaluate_verdicts,
    )
    from karat.evaluation.check import Checked, check
    from karat.evaluation.label_agreement import label_agreement
    from karat.evaluation.look import Look, look
    from karat.grounding.judges.estimates import Estimate
    from karat.grounding.judges.judge import Judging, estimate_judging, judge
    from karat.grounding.labels.selection import load_verdicts
    from karat.measures import Measure, answers, definitions, parse, register
    from karat.reading.conversion import Converted, convert
    from karat.registry import Definition
    from karat.scores import Finding, Scores, SystemScores
    from karat.scores.bounds import Bounds

_HOMES = {
    "Bounds": "karat.scores.bounds",
    "Checked": "karat.evaluation.check",
    "Comparison": "karat.comparison",
    "ComparisonRow": "karat.comparison",
    "ComparisonSlices": "karat.comparison.slices",
    "Converted": "karat.reading.conversion",
    "Definition": "karat.registry",
    "Diff": "karat.analysis.diff",
    "Document": "karat.documents.document",
    "Estimate": "karat.grounding.judges.estimates",
    "EvaluationRunResult": "karat.evaluation",
    "Explanation": "karat.analysis.explain",
    "Finding": "karat.scores",
    "Gate": "karat.comparison.gate.outcomes",
    "Judging": "karat.grounding.judges.judge",
    "KaratError": "karat.errors",
    "LabelAgreement": "karat.analysis.label_agreement",
    "Look": "karat.evaluation.look",
    "Measure": "karat.measures",
    "Outcome": "karat.comparison.gate.outcomes",
    "Pipeline": "karat.components.pipeline",
    "Power": "karat.comparison.power",
    "Scores": "karat.scores",
    "Slices": "karat.analysis.slices",
    "SystemScores": "karat.scores",
    "Verdicts": "karat.data.verdicts",
    "check": "karat.evaluation.check",
    "compare": "karat.comparison",
    "component": "karat.components.component",
    "convert": "karat.reading.conversion",
    "default_from_dict": "karat.components.serialization",
    "default_to_dict": "karat.components.serialization",
    "definitions": "karat.measures",
    "estimate_judging": "karat.grounding.judges.judge",
    "evaluate": "karat.evaluation",
    "evaluate_answers": "karat.evaluation",
    "evaluate_results": "karat.evaluation",
    "evaluate_runs": "karat.evaluation",
    "evaluate_verdicts": "karat.evaluation",
    "gate": "karat.comparison.gate.gate",
    "judge": "karat.grounding.judges.judge",
    "label_agreement": "karat.evaluation.label_agreement",
    "load_verdicts": "karat.grounding.labels.selection",
    "look": "karat.evaluation.look",
    "parse": "karat.measures",
    "register": "karat.measures",
}

_MODULES = {"answers": "karat.measures.answers", "demo": "karat.cli.demo_data", "measures": "karat.measures"}
"""modules that are also attributes: `from karat import demo`"""

__all__ = [
    "Bounds",
    "Checked",
    "Comparison",
    "ComparisonRow",
    "ComparisonSlices",
    "Converted",
    "Definition",
    "Diff",
    "Document",
    "Estimate",
    "EvaluationRunResult",
    "Explanation",
    "Finding",
    "Gate",
    "Judging",
    "KaratError",
    "LabelAgreement",
    "Look",
    "Measure",
    "Outcome",
    "Pipeline",
    "Power",
    "Scores",
    "Slices",
    "SystemScores",
    "Verdicts",
    "__version__",
    "answers",
    "check",
    "compare",
    "component",
    "convert",
    "default_from_dict",
    "default_to_dict",
    "definitions",
    "demo",
    "estimate_judging",
    "evaluate",
    "evaluate_answers",
    "evaluate_results",
    "evaluate_runs",
    "evaluate_verdicts",
    "gate",
    "judge",
    "label_agreement",
    "load_verdicts",
    "look",
    "measures",
    "parse",
    "register",
]


def __getattr__(name: str) -> object:
    """Load a public name when it is first used: `import karat` itself loads nothing."""
    from importlib import import_module

    if name in _MODULES:
        return import_module(_MODULES[name])
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
