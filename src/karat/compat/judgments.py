"""Ground truth in each of the formats that trec_eval reads (its option -R), and a run that is ranked against it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from karat.compat.measures import Judgments, PrintedMeasure
from karat.data.judged import Floats, Ints, Judged, share
from karat.data.preferences import Preferences
from karat.errors import KaratError, Parameter, Place
from karat.matching.matchers import Same
from karat.ranking import Observations, RankingRules, judged_by_group, preferences_by_group, rank_judged
from karat.reading.bytes.input_file import InputFile, Progress
from karat.reading.pairs.any_source import Truth, read_run, read_truth
from karat.reading.pairs.judgment_groups import JudgmentGroups, read_judgment_groups
from karat.reading.pairs.trec import GROUPED, PREFERENCES
from karat.registry.names import format_value


@dataclass(frozen=True)
class RankedJudgments:
    """The judged documents of each query, and what measures read.

    With judgment groups, `data` has the groups in the place of queries, and `group_query` the query of each of them.
    """

    judged: Judged
    data: Judged | Preferences
    group_query: Ints | None = None

    def values(self, column: PrintedMeasure) -> Floats:
        """What trec_eval adds up, for each query."""
        values = column.values(self.data)
        if self.group_query is None:
            return values
        n = len(self.judged.queries)
        total: Floats = np.bincount(self.group_query, weights=values, minlength=n)  # type: ignore[assignment]  # the stubs ignore weights
        return share(total, np.bincount(self.group_query, minlength=n))


def rank_run(
    truth: InputFile,
    run: InputFile,
    judgments: Judgments,
    *,
    single_precision: bool = False,
    depth: int | None = None,
    judged_only: bool = False,
    progress: Progress | None = None,
) -> tuple[RankedJudgments, Observations]:
    """Rank the first `depth` documents of a run against ground truth in this format.

    As in trec_eval, equal scores are ordered by ascending ids for preferences, which do not depend on `judged_only`.
    """
    groups: JudgmentGroups | None = None
    with _hint_on_options("karat evaluate reads other formats."):
        if judgments == "qrels":
            known = read_truth(truth, format="trec")
        else:
            groups = read_judgment_groups(truth, PREFERENCES if judgments == "prefs" else GROUPED)
            known = groups.truth
        source = read_run(run, known, format="trec", progress=progress)
    is_preferences = judgments in ("prefs", "qrels_prefs")
    if not is_preferences:
        _check_grades(known, groups, truth.name)
    rules = RankingRules("ascending" if is_preferences else "trec", single_precision=single_precision)
    with _hint_on_options("karat evaluate --duplicates first keeps the higher rank."):
        judged, observations = rank_judged(known, source, rules, Same())
    judged = judged if depth is None else judged.top(depth)
    if groups is None:
        judged = judged.judged_only if judged_only else judged
        return RankedJudgments(judged, judged), observations
    if is_preferences:
        return RankedJudgments(judged, preferences_by_group(groups, judged)), observations
    by_group = judged_by_group(groups, judged)
    return RankedJudgments(judged, by_group.judged_only if judged_only else by_group, groups.group_query), observations


@contextmanager
def _hint_on_options(hint: str) -> Iterator[None]:
    """Replace a hint that names an option, because trec_eval has no such options."""
    try:
        yield
    except KaratError as error:
        if any(isinstance(part, Parameter) for part in error.hint_parts):
            raise error.but(hint=hint) from None
        raise


def _check_grades(truth: Truth, groups: JudgmentGroups | None, name: str) -> None:
    """Reject grades that trec_eval would read as others."""
    grades = truth.grades if groups is None else groups.grade
    fractions = np.flatnonzero(grades != np.trunc(grades))
    if len(fractions):
        row = int(fractions[0])
        gold = row if groups is None else int(groups.gold[row])
        query = truth.queries[int(np.searchsorted(truth.offsets, gold, side="right")) - 1]
        what = f"grade {format_value(float(grades[row]))} of document {truth.docs[gold]} is not a whole number"
        hint = "karat evaluate computes with such grades." if groups is None else ""
        raise KaratError(what, place=Place(name, query=query), hint=hint)
