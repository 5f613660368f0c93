"""One-sided tests of a difference against a margin: drops beyond a limit, non-inferiority and equivalence.

A claim such as "the difference is above the margin" is tested by the paired test of differences from which the margin
is subtracted. The tests are symmetric, so that the one-sided p-value is half the two-sided one if the shifted
differences lie on the side that is claimed, and 1 minus that half if not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from karat.comparison.differences import MeasureValues, Pair, run_tests
from karat.comparison.method import MARGIN, WRITE_MARGINS, Margins, Method
from karat.errors import KaratError, Message, Parameter, require
from karat.errors.arguments import name_and_number, parse_number
from karat.options import Test
from karat.registry.registry import several_measures
from karat.scores import Scores
from karat.scores.combining import combination, known_range
from karat.stats import rank_sum


class Claim(NamedTuple):
    """That the combined value of a system minus that of its baseline is above a margin, or below it."""

    pair: Pair
    margin: float
    above: bool

    @property
    def shift(self) -> float:
        """The margin of one query; the margin of a sum is for all queries together."""
        return self.margin / max(1, self.pair.n) if self.pair.values.combination == "sum" else self.margin


class OneSided(NamedTuple):
    """The p-value of a claim, None if the test is undefined, and how many queries are not exactly at the margin."""

    p: float | None
    nonzero: int


def one_sided_tests(claims: Sequence[Claim], method: Method) -> list[OneSided]:
    """The test of each claim, uncorrected. A margin of a geometric mean must be 0: others are not shifts of logarithms.

    Wilcoxon's test compares ranks, which may favour another system than the mean. Its claims are about both.
    """
    columns = [column for claim in claims for column in (claim.pair.columns[0] - claim.shift, claim.pair.columns[1])]
    # All tests share the values, so that the number of exact tests is limited together.
    values = MeasureValues("", tuple(columns), higher_is_better=True)
    shifted = [Pair(values, 2 * at, 2 * at + 1) for at in range(len(claims))]
    method = replace(method, test=one_sided_form(method.test))
    results: list[OneSided] = []
    for claim, pair, test in zip(claims, shifted, run_tests(shifted, method), strict=True):
        if test.p is None:
            results.append(OneSided(None, pair.nonzero))
            continue
        sides = [pair.differences.sum(), *([rank_sum(pair.differences)] if method.test == "wilcoxon" else [])]
        as_claimed = all(side > 0 if claim.above else side < 0 for side in sides)
        results.append(OneSided(test.p / 2 if as_claimed else 1 - test.p / 2, pair.nonzero))
    return results


def one_sided_form(test: Test) -> Test:
    """The test of a claim about two systems; for these, Tukey's test is the randomization test."""
    return "randomization" if test == "tukey" else test


def equivalence_p_values(pairs: Sequence[Pair], margins: Mapping[str, float], method: Method) -> list[float | None]:
    """The p-value of each pair by two one-sided tests (Schuirmann 1987): the larger of that of both.

    It is for the claim that the difference is above -margin and below margin. None for measures without a margin, and
    if a test is undefined.
    """
    tested = [at for at, pair in enumerate(pairs) if pair.values.measure in margins]
    claims = [
        Claim(pairs[at], margins[pairs[at].values.measure] * (-1 if above else 1), above)
        for at in tested
        for above in (True, False)
    ]
    tests = one_sided_tests(claims, method) if claims else []
    ps: list[float | None] = [None] * len(pairs)
    for at, above, below in zip(tested, tests[::2], tests[1::2], strict=True):
        ps[at] = None if above.p is None or below.p is None else max(above.p, below.p)
    return ps


def margins_by_measure(margins: Margins | None, scores: Scores) -> tuple[dict[str, float], list[str]]:
    """The margin of each measure of these scores, and notes on the measures that a margin for all is not used for."""
    if margins is None:
        return {}, []
    notes: list[str] = []
    if isinstance(margins, Mapping):
        by_measure = {_column(scores, name, margin): margin for name, margin in margins.items()}
        what: Message = [Parameter("equivalence", margins), " has two margins for a measure"]
        require(len(by_measure) == len(margins), what, "Remove one of them.")
        for name, margin in by_measure.items():
            what = [Parameter("equivalence", {name: margin}), f": {_NOT_TESTED}"]
            require(combination(name) != "geometric", what, "Leave it out.")
    else:
        by_measure = {name: margins for name in scores.measures if combination(name) != "geometric"}
        notes = [f"{name}: {_NOT_TESTED}." for name in scores.measures if name not in by_measure]
    for name, margin in by_measure.items():
        low, high = known_range(name) or (0.0, float("inf"))
        argument = Parameter("equivalence", {name: margin} if isinstance(margins, Mapping) else margin)
        what = [argument, f" is out of range: {name} cannot differ by more than {high - low:g}"]
        require(margin <= high - low, what, _PER_MEASURE)
    return by_measure, notes


def _column(scores: Scores, name: str, margin: float) -> str:
    """The measure of a margin by its name in these scores."""
    try:
        return scores.column_name(name)
    except KaratError as error:
        raise error.but(what=[Parameter("equivalence", {name: margin}), ": ", *error.parts]) from None


def parse_margins(texts: Sequence[str]) -> Margins | None:
    """The margins of `--equivalence`: one for all measures, or one for each measure that is named.

    >>> parse_margins(["0.02"]), parse_margins(["nDCG@5,10=0.02", "RR=0.05"])
    (0.02, {'nDCG@5': 0.02, 'nDCG@10': 0.02, 'RR': 0.05})
    """
    margins: dict[str, float] = {}
    for text in texts:
        argument = Parameter("equivalence", text)
        if "=" not in text:
            require(len(texts) == 1, [argument, " is for all measures, and there are other margins"], _PER_MEASURE)
            return parse_number("equivalence", text, WRITE_MARGINS)
        measure, margin = name_and_number("equivalence", text, WRITE_MARGINS, "MEASURE=MARGIN")
        for name in several_measures(measure) or [measure]:
            require(name not in margins, [argument, f": {name} has two margins"], "Remove one of them.")
            margins[name] = margin
    return margins or None


_NOT_TESTED = "equivalence is not tested, because a margin cannot be subtracted from a geometric mean query by query"
_PER_MEASURE: Message = ["Write a margin for each measure: ", MARGIN, "."]
