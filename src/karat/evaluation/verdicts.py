"""evaluate_verdicts(): evaluate generated answers by the labels that people or models gave them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, get_args

import numpy as np

from karat.analysis.label_evidence import LabelEvidence
from karat.errors import KaratError, Message, Parameter
from karat.errors.arguments import check_switch, check_text
from karat.evaluation.corrected import TwoJudges, with_corrected_labels
from karat.evaluation.label_scores import LabelScores
from karat.grounding.labels.facts import FailedLabels
from karat.grounding.labels.missing import (
    failed_extractions,
    labelled_measures,
    labelled_samples,
    notes_on_labels,
    readable_measure,
    readable_measures,
    reads_answers,
    rubric_measures,
    rubric_names,
)
from karat.grounding.labels.selection import SelectedLabels, select
from karat.grounding.responses.results import read_labelled_results
from karat.grounding.verdict_file.file_lines import are_large
from karat.grounding.verdict_file.reading import (
    VerdictRecords,
    is_json_lines,
    read_sources,
    read_verdict_records,
    sources_of,
)
from karat.options import Unknown, check_choice
from karat.reading.bytes.input_file import InputFile, is_file
from karat.reading.pairs.digests import LazyDigests, digest
from karat.reading.records.records import without_collection
from karat.reading.records.results import Results, WantedResults
from karat.registry import Measure
from karat.registry.selection import Measures, Selection, asked_names, listed_measures, of_subject, select_measures
from karat.scores import Finding, Scores
from karat.scores.fingerprint import Fingerprint

_NAMED_BY: Message = [Parameter("name"), ", or FILE:NAME on the command line"]
"""how a system of results is named"""


@without_collection()
def evaluate_verdicts(
    verdicts: Any,
    measures: Measures | None = None,
    *,
    system: str | None = None,
    author: str | None = None,
    unknown: Unknown = "bounds",
    name: str = "",
    correct: bool = False,
) -> Scores:
    """Evaluate generated answers by labels: a verdict file or several, a list of records, or a data frame.

    Without `measures`, those are computed that the labels suffice for. `system` and `author` choose a system and whose
    labels count; `author="human"` stands for all people, of whom the majority counts. A query that lacks a label is
    null, and beside the mean stands what it could be; `unknown="skip"` leaves that out, and `unknown="error"` refuses
    such queries. With `correct=True`, the scores are those of a model, and `corrected()` of them has their means
    corrected by people, who labelled queries that were drawn at random (`karat verdicts template --sample`).

    >>> row = {"query": "q", "type": "claim", "task": "support", "against": "context"}
    >>> labels = [{**row, "item": "c1", "label": "full"}, {**row, "item": "c2", "label": "none"}]
    >>> evaluate_verdicts(labels).means
    {'Faithfulness': 0.5}
    """
    check_choice("unknown", unknown, get_args(Unknown))
    check_text("name", name)
    for option, value in (("system", system), ("author", author)):
        if value is not None:
            check_text(option, value)
    asked = None if measures is None else listed_measures(measures)
    if isinstance(verdicts, VerdictRecords) or check_switch("correct", correct):
        records = read_verdict_records(verdicts)
    else:
        sources = sources_of(verdicts)
        in_parts = _scores_in_parts(sources, asked, system=system, author=author, unknown=unknown, name=name)
        if in_parts is not None:
            return in_parts
        records = read_sources(sources)
    rubrics = rubric_measures(records.rubrics)
    listed = None if asked is None else select_measures(asked, subjects=("verdicts",), rubrics=rubrics)
    judges = TwoJudges.of(records, author) if correct else None
    selected = select(records, system, judges.model if judges else author)
    found: list[Finding] = []
    if listed is None:
        listed = select_measures(_labelled_measures(selected), subjects=("verdicts",))
        found = unscored(selected.failures)
    scores = score_verdicts(selected, listed, unknown, name)
    if judges:
        scores = with_corrected_labels(scores, listed, select(records, system, judges.people), judges)
    return replace(scores, findings=(*scores.findings, *found))


def _scores_in_parts(verdicts: Sequence[Any], measures: Measures | None, **options: Any) -> Scores | None:
    """The scores of large files, without all of their labels in memory; None if they are read as a whole.

    That is also what finds out which of several errors is the first.
    """
    files = [InputFile.of(each) for each in verdicts if is_file(each)]
    if len({file.name for file in files}) < len(verdicts) or not all(map(is_json_lines, files)) or not are_large(files):
        return None
    from karat.evaluation.verdict_files import scores_of_files  # imports this module, and pyarrow

    with suppress(KaratError, OSError):
        return scores_of_files(files, measures, **options)
    return None


def _labelled_measures(selected: SelectedLabels) -> list[str]:
    return labelled_measures(selected.facts, lambda: selected.failures, selected.records.name)


@dataclass(frozen=True, eq=False)
class LabelledResults:
    """Results, and the labels of their answers."""

    results: Results
    selected: SelectedLabels
    no_answers: KaratError | None
    """the error for measures that are about answers, if the results have none"""
    people: SelectedLabels | None = None
    """the labels by people, if they correct those of a model"""
    judges: TwoJudges | None = None

    @classmethod
    def read(
        cls,
        results: Any,
        verdicts: Any,
        fields: Mapping[str, str] | None,
        wanted: WantedResults,
        input_format: str | None,
        records: str | None,
        name: str,
        author: str | None,
        correct: bool = False,
    ) -> LabelledResults:
        """Read results and verdicts, of which those about the system `name` by the chosen authors count.

        Without verdicts, measures can be computed that need only what the answers cite.
        """
        if author is not None:
            check_text("author", author)
        read, responses = read_labelled_results(
            results,
            system=name or None,
            fields=fields,
            wanted=wanted,
            format=input_format,
            records=records,
        )
        labels = VerdictRecords() if verdicts is None else read_verdict_records(verdicts)
        # A submission to TREC RAG names its run, which may have another name here.
        runs = responses.systems
        system = name if name in labels.systems or not runs else runs[0]
        judges = TwoJudges.of(labels, author) if correct else None

        def selected(by: str | None) -> SelectedLabels:
            return select(labels, system, by, responses.responses, named_by=_NAMED_BY)

        notes = read.notes if read.parts else (*responses.notes, *read.numbers.notes)
        read = replace(read, notes=notes)
        if judges is None:
            return cls(read, selected(author), responses.no_answers)
        return cls(read, selected(judges.model), responses.no_answers, selected(judges.people), judges)

    @property
    def measures(self) -> list[str]:
        """The measures that the labels suffice for."""
        return _labelled_measures(self.selected)

    def suffices_for(self, measure: Measure) -> bool:
        """Whether the labels suffice for a measure, or it needs none."""
        return readable_measure(measure, self.selected.facts) is not None

    @property
    def unscored(self) -> list[Finding]:
        """What the labels should have sufficed for."""
        return unscored(self.selected.failures)

    def readable(self, measures: Selection) -> Selection:
        """The measures to compute: those of labels as the labels allow it, and all others."""
        if self.no_answers and any(map(reads_answers, of_subject(measures, "verdicts"))):
            raise self.no_answers
        return readable_measures(
            self.selected.facts, lambda: self.selected.failures, measures, self.selected.records.name
        )

    def scores(self, measures: Selection, unknown: Unknown, name: str) -> Scores:
        """The scores of these measures by the labels."""
        check_choice("unknown", unknown, get_args(Unknown))
        scores = score_verdicts(self.selected, measures, unknown, name)
        if self.judges is None or self.people is None:
            return scores
        return with_corrected_labels(scores, measures, self.people, self.judges)


def score_verdicts(selected: SelectedLabels, measures: Selection, unknown: Unknown, name: str) -> Scores:
    """The scores of a system by its labels: of several samples, the mean of each measure."""
    facts, place = selected.facts, selected.records.name
    measures = readable_measures(facts, lambda: selected.failures, measures, place)
    scored = LabelScores.of(selected, {measure: labelled_samples(measure, facts) for measure in measures})
    digests = LazyDigests(partial(label_digests, selected))
    notes = notes_on_labels(facts, measures)
    scores = scores_of_verdicts(scored, notes, selected.authors, digests, measures, unknown, name, place)
    return replace(scores, verdicts=LabelEvidence.of(selected))


def scores_of_verdicts(
    scored: LabelScores,
    notes: Sequence[str],
    authors: Sequence[str],
    digests: Mapping[str, str],
    measures: Selection,
    unknown: Unknown,
    name: str,
    place: str,
) -> Scores:
    """The scores of all queries; `place` is that of the labels, for errors."""
    if unknown == "error":
        _reject_unknown(scored, place)
    return Scores(
        scored.queries,
        scored.values,
        tuple(Finding("reading", note, 0) for note in notes),
        name,
        label_bounds=scored.bounds if unknown == "bounds" else {},
        sample_variances=scored.variances,
        fingerprint=Fingerprint({"verdicts": digests}, options={"author": ", ".join(authors)}),
        asked={**rubric_names(measures), **asked_names(measures)},
    )


def unscored(failed: FailedLabels) -> list[Finding]:
    """What the labels should have sufficed for, but do not."""
    return [Finding("unscored", *what) for what in failed_extractions(failed)]


def label_digests(selected: SelectedLabels) -> dict[str, str]:
    """The digest of each query's nuggets and gold claims, which must be the same for systems that are compared."""
    golds: dict[str, set[tuple[str, str, str]]] = {query: set() for query in selected.samples[0].queries}
    for item in selected.items:
        if item is not None and item.set in ("nuggets", "gold_claims"):
            golds[item.query].add((item.id, item.text or "", item.importance or ""))
    return {query: digest(items) for query, items in golds.items()}


def _reject_unknown(scored: LabelScores, place: str) -> None:
    for measure, bounds in scored.bounds.items():
        lacking = np.flatnonzero(bounds.unknown).tolist()
        if lacking:
            query = min(scored.queries[at] for at in lacking)
            hint: Message = ["Label it, or use ", Parameter("unknown", "bounds"), "."]
            raise KaratError(f"{measure} of query {query} lacks a label", place=place, hint=hint)
