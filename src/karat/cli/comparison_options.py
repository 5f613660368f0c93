"""The options of comparisons, which several commands share, and the method that they ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, get_args

from karat.cli.completion import complete_file
from karat.cli.options import Function, choice_option, in_order, option
from karat.cli.parser import STATISTICS
from karat.options import Correction, Family, Test

if TYPE_CHECKING:
    from karat.comparison import Method


def baseline(by_default: str) -> Callable[[Function], Function]:
    """The option that names one of the systems of a comparison."""
    return option(
        "--baseline",
        group=STATISTICS,
        metavar="RUN",
        help=f"The run that the others are compared with. By default, {by_default}.",
        shell_complete=complete_file,
    )


test = choice_option(
    "test", get_args(Test), "randomization", "Significance test. Use tukey for many systems.", group=STATISTICS
)
correction = choice_option(
    "correction",
    get_args(Correction),
    None,
    "Correction of p for multiple comparisons. By default holm, but none for tukey, which needs no correction.",
    group=STATISTICS,
)
force = option(
    "--force",
    group=STATISTICS,
    is_flag=True,
    help="Compare systems even if they were evaluated against different ground truth or with different options.",
)
common_queries = option(
    "--common-queries",
    group=STATISTICS,
    is_flag=True,
    help="Compare only the queries that all systems have; without it, other queries are an error.",
)


def level(meaning: str) -> Callable[[Function], Function]:
    """`--level LEVEL`."""
    return option("--level", group=STATISTICS, default=0.95, metavar="LEVEL", show_default=True, help=meaning)


COMPARISON_OPTIONS: dict[str, Callable[[Any], Any]] = {
    "test": test,
    "correction": correction,
    "level": level("Confidence level of the intervals. A difference is significant if p is below 1 - LEVEL."),
    "equivalence": option(
        "--equivalence",
        group=STATISTICS,
        multiple=True,
        metavar="[MEASURE=]D",
        help="Test whether systems are equivalent: whether their difference is smaller than D, in both directions."
        " Repeatable, with a measure.",
    ),
    "detect": option(
        "--detect",
        group=STATISTICS,
        type=float,
        metavar="D",
        help="Estimate how many queries it takes to detect a difference D.",
    ),
    "family": choice_option(
        "family",
        get_args(Family),
        None,
        "Correct p over the comparisons of each measure (the default), or over all comparisons.",
        group=STATISTICS,
    ),
    "permutations": option(
        "--permutations",
        group=STATISTICS,
        type=int,
        metavar="N",
        help="Number of random permutations of the tests randomization, if an exact test would take too long, and"
        " tukey.  [default: 100000]",
    ),
    "common_queries": common_queries,
    "force": force,
}
"""the options of a comparison by the names that `choose_method` gives them"""
comparison_options = in_order(*COMPARISON_OPTIONS.values())


def method_of(values: Mapping[str, Any]) -> Method:
    """The method of a comparison that options ask for."""
    from karat.comparison import choose_method
    from karat.comparison.margins import parse_margins

    options = {name: values[name] for name in COMPARISON_OPTIONS}
    return choose_method(**{**options, "equivalence": parse_margins(options["equivalence"])})
