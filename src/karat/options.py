"""Options by name, each declared once: choices, defaults and help, for the library and for the command line.

This module stays light, so that `karat --help` starts at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, get_args

from karat.errors import KaratError, Message, Parameter, did_you_mean
from karat.errors.arguments import as_count, as_number, check_switch

Ties = Literal["trec", "input", "best", "worst"]
Missing = Literal["zero", "skip"]
Names = Literal["canonical", "asked"]
Duplicates = Literal["error", "first"]
Unknown = Literal["bounds", "skip", "error"]
GateUnknown = Literal["bounds", "skip", "error", "worst"]
Order = Literal["score"]
Engine = Literal["local", "spark"]
Format = Literal["table", "tsv", "csv", "json", "jsonl", "markdown", "latex"]
Test = Literal["randomization", "t", "wilcoxon", "bootstrap", "tukey"]
Correction = Literal["holm", "bonferroni", "bh", "none"]
Family = Literal["measure", "all"]
PlotKind = Literal[
    "intervals", "differences", "scatter", "cutoffs", "precision-recall", "first", "bounds", "slices"
]  # fmt: skip
Recipe = Literal[
    "faithfulness", "context", "support", "citations", "nuggets", "coverage", "claims", "correctness",
    "answer_relevance", "abstention",
]  # fmt: skip
RELEVANCE = "relevance"
"""the task of labels about documents of runs, whatever the system; recipes are about answers"""

# What other tools, and people, call the choices of an option, without blanks, hyphens and capital letters.
SPELLINGS: Mapping[str, Mapping[str, str]] = {
    "test": {
        "fisher": "randomization", "fishersrandomization": "randomization", "permutation": "randomization",
        "randomisation": "randomization", "student": "t", "studentst": "t", "ttest": "t", "pairedt": "t",
        "pairedttest": "t", "ttestrel": "t", "wilcoxonsignedrank": "wilcoxon", "signedrank": "wilcoxon",
        "hsd": "tukey", "tukeyhsd": "tukey", "tukeyshsd": "tukey",
    },
    "correction": {
        "h": "holm", "holmbonferroni": "holm", "b": "bonferroni", "bonf": "bonferroni", "benjaminihochberg": "bh",
        "fdr": "bh", "fdrbh": "bh",
    },
}  # fmt: skip


@dataclass(frozen=True)
class Option:
    """An option: its default, its help, and either its choices or a placeholder for its value.

    A switch has neither: its default is False.
    """

    default: Any
    help: str
    choices: tuple[str, ...] = ()
    metavar: str = ""


class RankingOptions(TypedDict, total=False):
    """How a run is ranked and judged. `EVALUATION_OPTIONS` lists these and `match`, with their defaults and help."""

    missing: Missing
    ties: Ties
    duplicates: Duplicates
    ignore_identical_ids: bool
    rel: float | None


class GateOptions(TypedDict, total=False):
    """How a gate tests drops: keyword arguments of `gate` and `assert_scores`, and keys of karat.toml but `force`."""

    significant: bool
    test: Test | str
    correction: Correction | str | None
    level: float
    common_queries: bool
    force: bool
    lower_is_better: Iterable[str]
    unknown: GateUnknown
    correct: bool


EVALUATION_OPTIONS: Mapping[str, Option] = {
    "match": Option(
        "id",
        "What counts as a hit: id, content, meta.NAME, prefix, chunk, fuzzy or overlap, with parameters as in"
        " 'fuzzy(threshold=85)' or 'content(normalize=case+space)'.",
        metavar="MATCH",
    ),
    "missing": Option("zero", "Score queries missing from the run as 0, or skip them.", get_args(Missing)),
    "ties": Option(
        "trec",
        "How equal scores are ordered: by document id, descending, as in trec_eval; as in the input; or relevant"
        " documents first (best) or last (worst).",
        get_args(Ties),
    ),
    "duplicates": Option(
        "error",
        "If a document is listed twice for a query, raise an error or keep the higher rank.",
        get_args(Duplicates),
    ),
    "ignore_identical_ids": Option(False, "Ignore documents whose id is the id of the query."),
    "rel": Option(None, "The lowest grade that counts as relevant; 1 by default.", metavar="GRADE"),
}


UNKNOWN_LABELS = Option(
    "bounds",
    "If an answer lacks a label, leave it out and show what the mean could be (bounds), only leave it out (skip), or"
    " raise an error.",
    get_args(Unknown),
)
"""what is done about unknown labels"""
GATE_UNKNOWN_LABELS = Option(
    "bounds",
    "If an answer lacks a label, leave it out (bounds, skip), raise an error, or decide by the worst value that the"
    " missing labels allow (worst).",
    get_args(GateUnknown),
)


def check_names(options: Iterable[str], known: Iterable[str]) -> None:
    """Reject keyword arguments that are not options."""
    names = list(known)
    for name in options:
        if name not in names:
            near = did_you_mean(name, names)
            raise TypeError(f"unknown option {name!r}. {near} The options are {', '.join(names)}.".replace("  ", " "))


def complete_options(values: Mapping[str, Any]) -> dict[str, Any]:
    """The options of an evaluation with their defaults filled in; a wrong one is an error."""
    check_names(values, EVALUATION_OPTIONS)
    options = {name: values.get(name, option.default) for name, option in EVALUATION_OPTIONS.items()}
    for name, option in EVALUATION_OPTIONS.items():
        if option.choices:
            check_choice(name, options[name], option.choices)
        elif option.default is False:
            options[name] = check_switch(name, options[name])
    options["rel"] = check_grade(options["rel"])
    return options


def check_grade(rel: object) -> float | None:
    """The lowest grade that counts as relevant, as a float; None if it is not given."""
    grade = as_number(rel)
    if rel is not None and (grade is None or not math.isfinite(grade)):
        hint: Message = ["Pass a grade, for example ", Parameter("rel", 2), "."]
        raise KaratError([Parameter("rel", rel), " is not a number"], hint=hint)
    return grade


def check_order(order: object) -> None:
    """Reject an order of the documents of results that is not known."""
    hint: Message = ["Use ", Parameter("order", "score"), ", or leave it out: the order of a list is kept."]
    if order is not None and order not in get_args(Order):
        raise KaratError([Parameter("order", order), " is not an order of documents"], hint=hint)


def check_choice(option: str, value: object, choices: tuple[str, ...]) -> str:
    """The choice that a value stands for; a value that stands for none is refused."""
    choice = find_choice(option, value, choices)
    if choice is None:
        what: Message = [Parameter(option, value), f" is not one of {', '.join(choices)}"]
        raise KaratError(what, hint=did_you_mean(value, choices))
    return choice


def find_choice(option: str, value: object, choices: tuple[str, ...]) -> str | None:
    """The choice that a value stands for, in any spelling that is known; None if there is none.

    >>> find_choice("test", "fisher", ("randomization", "t")), find_choice("correction", "fdr_bh", ("holm", "bh"))
    ('randomization', 'bh')
    """
    if not isinstance(value, str):
        return None
    spellings = SPELLINGS.get(option)
    if value in choices or spellings is None:
        return value if value in choices else None
    squeezed = "".join(filter(str.isalnum, value.casefold()))
    choice = spellings.get(squeezed, squeezed)
    return choice if choice in choices else None


def check_random(option: str, value: object) -> int:
    """The number of permutations or resamples, or the seed of everything random, as an int."""
    least, most = {"permutations": (1, 10**9), "resamples": (1, 10**7), "seed": (0, math.inf)}[option]
    count = as_count(value, least)
    if count is None:
        raise KaratError([Parameter(option, value), f" is not a whole number of at least {least}"])
    if count > most:
        raise KaratError([Parameter(option, value), f" is too many: at most {most:,} are drawn"])
    return count


def check_level(level: object) -> float:
    """A confidence level as a float; one that is not between 0 and 1 is refused."""
    number = as_number(level)
    if number is None or not 0 < number < 1:
        hint: Message = ["For 95%, write ", Parameter("level", 0.95), "."]
        raise KaratError([Parameter("level", level), " is not between 0 and 1"], hint=hint)
    return number


def level_text(level: float, digits: int = 6) -> str:
    """A confidence level in percent, with so many significant digits, or with more if it would be shown as 100%.

    >>> level_text(0.95), level_text(1 - 0.05 / 3, 4), level_text(1 - 0.05 / 300_000, 4)
    ('95%', '98.33%', '99.99998%')
    """
    return f"{_text_below(100 * level, 100, digits)}%"


def alpha_text(alpha: float) -> str:
    """A significance level.

    >>> alpha_text(0.05), alpha_text(0.125), alpha_text(0.99999999)
    ('0.05', '0.125', '0.99999999')
    """
    return _text_below(alpha, 1, 6)


def _text_below(number: float, bound: float, digits: int) -> str:
    """A number with so many significant digits, or with as many more as show that it is below a bound."""
    texts = (f"{number:.{places}g}" for places in range(digits, 18))
    return next((text for text in texts if float(text) < bound), repr(number))
