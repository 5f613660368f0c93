"""Verdicts in parts: records that are evaluated in several places, with the scores of all of them together.

What depends on all records is decided between three passes over the parts: first which system and whose labels count,
then which samples and measures there are, and which labels were not used. The third pass computes the values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

from karat.evaluation.label_scores import LabelScores, Limits
from karat.evaluation.verdicts import label_digests, scores_of_verdicts, unscored
from karat.labels.failed_labels import FailedLabels
from karat.labels.label_facts import LabelCensus, LabelFacts
from karat.labels.missing import check_labels, labelled_measures, labelled_samples
from karat.labels.reading import no_verdicts, read_part_of_verdicts
from karat.labels.selection import choose_authors, choose_system, select_labels
from karat.options import Unknown
from karat.registry import Measure
from karat.registry.selection import Selection, select_measures
from karat.scores import Scores

Records = Sequence[Mapping[str, Any]]
Result = TypeVar("Result")


class RunInParts(Protocol):
    """Calls a function with the records of each part, and returns what it returns for each.

    There is at least one part. All records of a query are in the same one, and each part has all rubrics.
    """

    def __call__(self, work: Callable[[Records], Result], /) -> list[Result]: ...


def evaluate_parts(
    run: RunInParts,
    measures: Selection | None,
    *,
    system: str | None,
    by: str | None,
    unknown: Unknown,
    name: str,
    where: str,
) -> Scores:
    """The scores of all parts, as `evaluate_verdicts` computes them; `where` is the place of the records, for errors.

    The queries are in the order of their ids.
    """
    counted = run(_census)
    census = LabelCensus.merged(each for each, _ in counted)
    if all(is_empty for _, is_empty in counted):
        raise no_verdicts(where)
    system = choose_system(census.systems, system, where)
    choice = _Choice(system, choose_authors(census.authors(system), by, where))

    found = run(partial(_facts, choice))
    facts = LabelFacts.merged(each for each, _ in found)
    failed = FailedLabels.merged(each for _, each in found)
    listed = measures
    if listed is None:
        listed = select_measures(labelled_measures(facts, lambda: failed, where), subjects=("verdicts",))
    check_labels(facts, lambda: failed, listed, where)

    samples = {measure: labelled_samples(measure, facts) for measure in listed}
    compute = partial(_values, choice, tuple(facts.kinds), samples)
    computed = run(partial(compute, None))
    scored = LabelScores.merged(each for each, _ in computed)
    if scored.limits and len(computed) > 1:  # a part can try combinations that all parts together cannot
        computed = run(partial(compute, scored.limits))
        scored = LabelScores.merged(each for each, _ in computed)
    digests = {query: digest for _, each in computed for query, digest in each.items()}
    notes = facts.notes.sentences
    scores = scores_of_verdicts(scored, notes, choice.authors, digests, listed, unknown, name, where)
    return scores if measures is not None else replace(scores, findings=(*scores.findings, *unscored(failed)))


class _Choice(NamedTuple):
    """Which labels count."""

    system: str | None
    authors: tuple[str, ...]


def _census(records: Records) -> tuple[LabelCensus, bool]:
    read = read_part_of_verdicts(records)
    return LabelCensus.of(read), read.is_empty


def _facts(choice: _Choice, records: Records) -> tuple[LabelFacts, FailedLabels]:
    selected = select_labels(read_part_of_verdicts(records), *choice)
    return selected.facts, FailedLabels.of(selected)


def _values(
    choice: _Choice,
    numbers: Sequence[int],
    samples: Mapping[Measure, Sequence[int]],
    limits: Limits | None,
    records: Records,
) -> tuple[LabelScores, dict[str, str]]:
    selected = select_labels(read_part_of_verdicts(records), *choice, numbers=numbers)
    return LabelScores.of(selected, samples, limits), label_digests(selected)
