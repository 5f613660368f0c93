"""Scores that somebody claims for a run: whether they are right and, if not, which usual mistake gives them.

Only what gives the claimed number is named: a way that only comes close may do so by chance. Two mistakes at once are
tried if no single one gives the number, if both are often made together, and only for numbers of four decimals or more:
so many ways would give a shorter one by chance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from karat.errors import KaratError, Place, plural
from karat.evaluation.check.claimed_scores import ClaimedScore
from karat.evaluation.check.mistakes import ALIKE, Mistake, mistakes_of
from karat.evaluation.check.recomputing import Attempt, Recomputing, every_query, queries_of_run
from karat.scores.finding import Finding
from karat.scores.value_texts import cell_text

_NAMED = 3
"""ways that a finding names"""
_DECIMALS = 4
"""of a number that two mistakes at once may explain, and the fewest of a value in a message"""
_HINT = "Report the score that was computed, or say that it is computed in another way."
_UNKNOWN_HINT = "Is it the score of this run, with this ground truth?"


def check_claims(
    claims: Sequence[ClaimedScore], recomputing: Recomputing, settings: Mapping[str, Any]
) -> Iterator[Finding]:
    """The claimed scores that are not those of this run. `settings` are the options of an evaluation."""
    average = queries_of_run if settings["missing"] == "skip" else every_query
    for claim in claims:
        rules = replace(recomputing.rules, ties=settings["ties"])
        attempt = Attempt(claim.measure, rules, average)
        try:
            value = recomputing.value(attempt)
        except KaratError as error:
            yield _finding(claim, f"cannot be computed: {error.what}", error.hint or "", recomputing)
            continue
        if not claim.agrees(value):
            grades = np.unique(recomputing.truth.grades).tolist()
            mistakes = list(mistakes_of(claim.measure, grades, settings["rel"]))
            yield _finding(claim, *_explained(claim, value, attempt, mistakes, recomputing), recomputing)


def _explained(
    claim: ClaimedScore, value: float | None, right: Attempt, mistakes: Sequence[Mistake], recomputing: Recomputing
) -> tuple[str, str]:
    """What the value is, and which mistakes give the claimed one; and what to do."""
    text = _claimed_text(claim)
    if value is None:
        return "has no value for any query", _UNKNOWN_HINT
    what = f"is {_value_text(value, claim)}"
    if claim.is_cut_off(value):
        return f"{what}; {text} comes out if the further digits are cut off, not rounded", "Round it."
    ways = _Ways(claim, right, recomputing)
    tried = ways.try_all([(mistake,) for mistake in mistakes])
    if not ways.found and claim.decimals >= _DECIMALS:
        both = combinations([mistake for mistake in mistakes if mistake.combines], 2)
        ways.try_all(pair for pair in both if pair[0].topic != pair[1].topic)
    if not ways.found:
        none = f"none of the {plural(tried, 'usual mistake')} and conventions that were tried gives {text}"
        return f"{what}; {none}", _UNKNOWN_HINT
    more = len(ways.found) - _NAMED
    others = f", and in {plural(more, 'other way')}" if more > 0 else ""
    return f"{what}; {text} comes out {', or '.join(f'if {way}' for way in ways.found[:_NAMED])}{others}", _HINT


class _Ways:
    """The ways that give a claimed number, in words."""

    def __init__(self, claim: ClaimedScore, right: Attempt, recomputing: Recomputing) -> None:
        self.claim, self.right, self.recomputing = claim, right, recomputing
        self.found: list[str] = []
        self._tried = {right}
        self._same: set[tuple[tuple[str, ...], float]] = set()

    def try_all(self, ways: Iterable[tuple[Mistake, ...]]) -> int:
        """Try mistakes, several at once if they are together; how many could be made."""
        before = len(self._tried)
        for mistakes in ways:
            attempt: Attempt | None = self.right
            for mistake in mistakes:
                attempt = attempt and mistake.applied(attempt)
            if attempt is None or attempt in self._tried:
                continue
            self._tried.add(attempt)
            value = None
            with suppress(KaratError):  # grades that do not fit another measure
                value = self.recomputing.value(attempt)
            if value is None or not self.claim.agrees(value):
                continue
            same = tuple(mistake.topic for mistake in mistakes), value
            if same not in self._same or not any(mistake.topic in ALIKE for mistake in mistakes):
                self._same.add(same)
                self.found.append(self._in_words(mistakes, attempt))
        return len(self._tried) - before

    def _in_words(self, mistakes: Sequence[Mistake], attempt: Attempt) -> str:
        words = " and, at the same time, ".join(mistake.words for mistake in mistakes)
        is_named = attempt.measure != self.right.measure and not attempt.changes
        return f"{words} ({attempt.measure})" if is_named else words


def _finding(claim: ClaimedScore, what: str, hint: str, recomputing: Recomputing) -> Finding:
    message = f"{claim.name} is claimed to be {_claimed_text(claim)}, but {what}"
    return Finding("other-score", message, 1, hint, place=Place(recomputing.run.name))


def _claimed_text(claim: ClaimedScore) -> str:
    return f"{claim.text.removesuffix('%').strip()}%" if claim.is_percent else claim.text


def _value_text(value: float, claim: ClaimedScore) -> str:
    digits = max(claim.decimals, _DECIMALS)
    return f"{100 * value:.{digits - 2}f}%" if claim.is_percent else cell_text(value, str(claim.measure), digits)
