"""What the caller of an evaluation says about its sources, and reading the ground truth and the matcher's texts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from karat.errors import Message, Parameter, first_few, plural, require
from karat.errors.arguments import check_mapping, check_text
from karat.evaluation.corpus import CorpusMatcher, check_corpus, with_corpus
from karat.matching.matchers import Match, Matcher, Same, matcher_of
from karat.options import AUTHOR, RankingOptions
from karat.reading.bytes.names import check_format
from karat.reading.columns import GivenNames
from karat.reading.pairs.any_source import Truth, read_run, read_truth

if TYPE_CHECKING:
    from karat.grounding.labels.votes import DocumentGrades


class EvaluationOptions(RankingOptions, total=False):
    """How a run is evaluated: keyword arguments of `evaluate`."""

    match: Match


class ReadingOptions(NamedTuple):
    """What the caller says about ground truth and runs."""

    truth_columns: GivenNames | None = None
    run_columns: GivenNames | None = None
    truth_format: str | None = None
    run_format: str | None = None
    split: str | None = None


def check_reading(inputs: ReadingOptions, progress: object) -> None:
    """Reject wrong arguments before anything is read."""
    for option, columns in (("truth_columns", inputs.truth_columns), ("run_columns", inputs.run_columns)):
        check_mapping(option, columns, {"doc": "docno"})
    for option, given in (("truth_format", inputs.truth_format), ("run_format", inputs.run_format)):
        if given is not None:
            check_format(given, option)
    split = Parameter("split", inputs.split)
    require(inputs.split is None or isinstance(inputs.split, str), [split, " is not a text"])
    require(progress is None or callable(progress), [Parameter("progress", progress), " is not a function"])


def paths_of(*sources: Any) -> tuple[str, ...]:
    """The paths of the sources that are given as paths."""
    return tuple(os.fsdecode(source) for source in sources if isinstance(source, str | os.PathLike))


def read_judgments(truth: Any, inputs: ReadingOptions, matcher: Matcher) -> Truth:
    """Read ground truth, with the keys that a matcher compares."""
    columns, given = inputs.truth_columns, inputs.truth_format
    return read_truth(truth, columns=columns, format=given, split=inputs.split, key=matcher.gold_key)


def read_labelled_judgments(
    truth: Any, inputs: ReadingOptions, matcher: Matcher, verdicts: Any, by: str | None
) -> Truth:
    """Read ground truth; with verdicts, their labels of documents are the grades of those that it does not judge."""
    if by is not None:
        check_text("by", by)
    if verdicts is None:
        hint: Message = ["Add ", Parameter("verdicts"), ", or leave it out."]
        require(by is None, [AUTHOR, " applies to verdicts, and there are none"], hint)
        return read_judgments(truth, inputs, matcher)
    from karat.grounding.labels.votes import document_grades
    from karat.grounding.verdict_file.reading import VerdictRecords, read_verdict_records
    from karat.reading.pairs.labelled_truth import with_labels

    what = f"labels grade documents by their ids, and documents are matched by {matcher}"
    require(matcher == Same(), what, ["Use ", Parameter("match", "id"), ", the default."])
    records = verdicts if isinstance(verdicts, VerdictRecords) else read_verdict_records(verdicts)
    found = document_grades(records, by)
    judgments = with_labels(read_judgments(truth, inputs, matcher), found.grades, found.by, records.calls)
    return replace(judgments, notes=(*judgments.notes, *records.notes, _note_on_labels(judgments, found)))


def _note_on_labels(truth: Truth, found: DocumentGrades) -> str:
    """How many documents have a grade from labels, and why others have none."""
    used = 0 if truth.labels is None else int(truth.labels.rows.sum())
    unknown = sorted(found.grades.keys() - truth.positions.keys())
    judged = len(found.chosen.labels) - used - sum(len(found.grades[query]) for query in unknown)
    others = [f"{plural(judged, 'label')} of judged documents not used"] if judged else []
    others += [f"{plural(count, 'document')} left unjudged ({why})" for why, count in found.chosen.without.items()]
    if unknown:
        others.append(f"{plural(len(unknown), 'query')} without ground truth ignored: {first_few(unknown)}")
    return "; ".join([f"labels by {found.by} grade {plural(used, 'unjudged document')}", *others])


def read_matcher(
    match: Match, corpus: Any, truth: Any, runs: Mapping[str, Any], inputs: ReadingOptions
) -> CorpusMatcher:
    """What counts as a hit; with a corpus, ground truth and runs are first read to find out which texts are needed."""
    matcher = matcher_of(match)
    if corpus is None:
        return CorpusMatcher(matcher)
    check_corpus(matcher)
    judgments = read_judgments(truth, inputs, Same())
    columns, given = inputs.run_columns, inputs.run_format
    by_id = (
        read_run(run, judgments, columns=columns, format=given, name=name or "the run") for name, run in runs.items()
    )
    return with_corpus(matcher, corpus, judgments, by_id)
