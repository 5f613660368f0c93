"""Which measures of a log are computed, and what is read of the log for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from karat.errors import KaratError
from karat.evaluation.log_numbers import (
    AskedMeasures,
    WhatWasRead,
    measures_to_compute,
    names_of_numbers,
    possible_meanings,
    with_all_numbers,
)
from karat.evaluation.merged_scores import merged_scores
from karat.reading.records.result_fields import PARTS, Part
from karat.reading.records.results import WantedResults
from karat.registry import Measure, Subject
from karat.registry.selection import (
    DEFAULT_ANSWER_MEASURES,
    Rubrics,
    Selection,
    default_measures,
    listed_measures,
    reject_without_labels,
    select_measures,
    subject_of,
)
from karat.scores import Scores

if TYPE_CHECKING:
    from karat.evaluation.verdicts import LabelledResults


def wanted_of_log(
    listed: Sequence[str | Measure] | None, rubrics: Rubrics, has_verdicts: bool
) -> tuple[WantedResults, bool]:
    """What is read from results to compute the measures, and whether the responses in them are, for labels."""
    if listed is None:
        return WantedResults(numbers=None), has_verdicts
    possible = {name: possible_meanings(name, rubrics) for name in listed_measures(list(listed))}
    known = [fitting for fitting in possible.values() if fitting]
    if has_verdicts and len(known) == len(possible) and not any(map(_any_of_verdicts, known)):
        hint = "Add a measure such as Faithfulness, or leave the verdicts out."
        raise KaratError("none of these measures is computed from verdicts", hint=hint)
    required: dict[Part, list[str]] = {}
    needs_responses = has_verdicts
    for name, fitting in possible.items():
        subject = subject_of(fitting[0]) if len(fitting) == 1 else None
        if subject == "documents" or subject == "answers":
            required.setdefault(subject, []).append(str(name))
        elif subject == "verdicts":
            needs_responses |= not fitting[0].needs_labels
    # Some names fit documents and answers, as F1 does.
    optional = PARTS if any(len(fitting) > 1 for fitting in known) else ()
    ordered = {part: required[part] for part in PARTS if part in required}
    return WantedResults(ordered, tuple(optional), names_of_numbers(listed)), needs_responses


def _any_of_verdicts(measures: Iterable[Measure]) -> bool:
    return any(subject_of(measure) == "verdicts" for measure in measures)


def asked_measures(
    listed: Sequence[str | Measure],
    rubrics: Rubrics,
    read: WhatWasRead,
    labelled: LabelledResults | None = None,
    *,
    has_verdicts: bool,
) -> AskedMeasures:
    """The measures that are computed, and the numbers that are taken from the log."""

    def can_be_computed(measure: Measure) -> bool:
        if subject_of(measure) == "verdicts":
            return labelled is not None and labelled.suffices_for(measure)
        return subject_of(measure) in read.parts

    asked = measures_to_compute(listed, read, rubrics, can_be_computed)
    for name in asked.own if not has_verdicts else ():
        possible = possible_meanings(name, rubrics)
        if len(possible) == 1:
            reject_without_labels(possible[0])
    return asked


def selected_measures(
    asked: AskedMeasures, read: WhatWasRead, settings: Mapping[str, Any], rubrics: Rubrics, *, has_labels: bool = False
) -> Selection:
    """Karat's own measures among those that were asked for, which are about what was read."""
    if asked.numbers and not asked.own:
        return {}
    subjects: tuple[Subject, ...] = (*read.parts, "verdicts") if has_labels else read.parts
    return select_measures(asked.own, settings["rel"], subjects, rubrics)


def in_one_table(
    parts: Sequence[Scores], read: WhatWasRead, asked: AskedMeasures, selected: Selection, name: str
) -> Scores:
    """The scores of documents, answers, labels and numbers, in the order in which they were asked for."""
    columns = {asked_name: str(measure) for measure, names in selected.items() for asked_name in names}
    order = [columns.get(str(measure), str(measure)) for measure in asked.order]
    return merged_scores(parts, read.queries, list(dict.fromkeys(order)), name)


def all_measures(
    read: WhatWasRead, labelled: LabelledResults | None, of_documents: Sequence[str], notes: tuple[str, ...]
) -> AskedMeasures:
    """The measures of a log if none were chosen; with notes on those of documents."""
    asked = with_all_numbers(measures_of_log(read, labelled, of_documents), read.numbers)
    return replace(asked, notes=notes if "documents" in read.parts else ())


def measures_of_log(
    read: WhatWasRead, labelled: LabelledResults | None = None, of_documents: Sequence[str] | None = None
) -> list[str]:
    """The measures of what the results contain; `of_documents` are those of documents, if not by the longest list."""
    if of_documents is None:
        of_documents, _ = default_measures(read.longest_list)
    # Labels say more about a generated answer than words that it shares with a gold answer.
    names = [*(of_documents if "documents" in read.parts else ()), *(labelled.measures if labelled else ())]
    return [*names, *(DEFAULT_ANSWER_MEASURES if "answers" in read.parts else ())]
