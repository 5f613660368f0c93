"""evaluate_verdicts(): evaluate generated answers by the labels that people or models gave them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from karat.analysis.label_bounds import label_bounds
from karat.analysis.label_evidence import LabelEvidence
from karat.arguments import check_text
from karat.errors import KaratError
from karat.labels.missing import check_labels, failed_extractions, labelled_measures, labelled_samples, reads_answers
from karat.labels.reading import VerdictRecords, read_verdict_records, without_collection
from karat.labels.results import read_labelled_results
from karat.labels.selection import Selected, select
from karat.options import Unknown, check_choice
from karat.registry.selection import Measures, Selection, asked_names, select_measures
from karat.scores import Finding, Scores
from karat.scores.fingerprint import Fingerprint
from karat.scores.query_bounds import QueryBounds
from karat.scores.sample_variance import SampleVariance
from karat.sources.digests import LazyDigests, digest
from karat.sources.result_fields import Part
from karat.sources.results import Results


@without_collection()
def evaluate_verdicts(
    verdicts: Any,
    measures: Measures | None = None,
    *,
    system: str | None = None,
    by: str | None = None,
    unknown: Unknown = "bounds",
    name: str = "",
) -> Scores:
    """Evaluate generated answers by labels: a verdict file or several, a list of records, or a data frame.

    Without `measures`, those are computed that the labels suffice for. `system` and `by` choose a system and an author;
    `by="human"` stands for all people, of whom the majority counts. A query that lacks a label is null, and
    beside the mean stands what it could be; `unknown="skip"` leaves that out, and `unknown="error"` refuses such
    queries.

    >>> row = {"query": "q", "type": "claim", "task": "support", "against": "context"}
    >>> labels = [{**row, "item": "c1", "label": "full"}, {**row, "item": "c2", "label": "none"}]
    >>> evaluate_verdicts(labels).means
    {'Faithfulness': 0.5}
    """
    check_choice("unknown", unknown, get_args(Unknown))
    check_text("name", name)
    for option, value in (("system", system), ("by", by)):
        value is None or check_text(option, value)
    listed = None if measures is None else select_measures(measures, subjects=("verdicts",))
    records = _records(verdicts)
    selected = select(records, system, by)
    if listed is not None:
        return score_verdicts(selected, listed, unknown, name)
    listed = select_measures(labelled_measures(selected), subjects=("verdicts",))
    scores = score_verdicts(selected, listed, unknown, name)
    return replace(scores, findings=(*scores.findings, *_unscored(selected)))


def _records(verdicts: Any) -> VerdictRecords:
    return verdicts if isinstance(verdicts, VerdictRecords) else read_verdict_records(verdicts)


@dataclass(frozen=True, eq=False)
class LabelledResults:
    """Results, and the labels of their answers."""

    results: Results
    selected: Selected
    no_answers: KaratError | None
    """the error for measures that are about answers, if the results have none"""

    @classmethod
    def read(
        cls,
        results: Any,
        verdicts: Any,
        fields: Mapping[str, str] | None,
        required: Collection[Part],
        optional: Collection[Part],
        results_format: str | None,
        name: str,
        by: str | None,
    ) -> LabelledResults:
        """Read results and verdicts, of which those about the system `name` by the chosen authors count.

        Without verdicts, measures can be computed that need only what the answers cite.
        """
        by is None or check_text("by", by)
        read, responses = read_labelled_results(
            results, system=name or None, fields=fields, required=required, optional=optional, format=results_format
        )
        records = VerdictRecords() if verdicts is None else _records(verdicts)
        # A submission to TREC RAG names its run, which may have another name here.
        runs = responses.systems
        system = name if name in records.systems or not runs else runs[0]
        selected = select(records, system, by, responses.responses, named_by="name=, or FILE:NAME on the command line")
        notes = read.notes if read.parts else responses.notes
        return cls(replace(read, notes=notes), selected, responses.no_answers)

    @property
    def measures(self) -> list[str]:
        """The measures that the labels suffice for."""
        return labelled_measures(self.selected)

    @property
    def unscored(self) -> list[Finding]:
        """What the labels should have sufficed for."""
        return _unscored(self.selected)

    def scores(self, measures: Selection, unknown: Unknown, name: str) -> Scores:
        """The scores of these measures by the labels."""
        check_choice("unknown", unknown, get_args(Unknown))
        if self.no_answers and any(map(reads_answers, measures)):
            raise self.no_answers
        return score_verdicts(self.selected, measures, unknown, name)


def score_verdicts(selected: Selected, measures: Selection, unknown: Unknown, name: str) -> Scores:
    """The scores of a system by its labels: of several samples, the mean of each measure."""
    check_labels(selected, measures, selected.records.name)
    values, bounds, variances = {}, {}, {}
    for measure in measures:
        column, samples = str(measure), labelled_samples(measure, selected)
        of_samples = [measure.compute(sample) for sample in samples]
        values[column] = np.mean(of_samples, axis=0)
        if np.isnan(values[column]).any():
            each = [label_bounds(measure, *pair) for pair in zip(samples, of_samples, strict=True)]
            of_measure = bounds[column] = _mean_bounds(each)
            # Whatever the unknown labels are, the value may be the same.
            values[column] = np.where(of_measure.exact & ~of_measure.unknown, of_measure.low, values[column])
            of_samples = [np.where(np.isnan(values[column]), np.nan, of_sample.low) for of_sample in each]
        if len(of_samples) > 1:
            variances[column] = SampleVariance.of(of_samples)
    queries = selected.samples[0].queries
    if unknown == "error":
        _reject_unknown(queries, values, bounds, selected.records.name)
    found = [Finding("reading", note, 0) for note in selected.notes]
    return Scores(
        queries,
        values,
        tuple(found),
        name,
        verdicts=LabelEvidence(selected),
        label_bounds=bounds if unknown == "bounds" else {},
        sample_variances=variances,
        fingerprint=Fingerprint(
            {"verdicts": LazyDigests(lambda: _digests(selected))}, options={"by": ", ".join(selected.authors)}
        ),
        asked=asked_names(measures),
    )


def _unscored(selected: Selected) -> list[Finding]:
    return [Finding("unscored", *what) for what in failed_extractions(selected)]


def _digests(selected: Selected) -> dict[str, str]:
    """The digest of each query's nuggets and gold claims, which must be the same for systems that are compared."""
    golds: dict[str, set[tuple[str, str, str]]] = {query: set() for query in selected.samples[0].queries}
    for item in selected.items:
        if item is not None and item.set in ("nuggets", "gold_claims"):
            golds[item.query].add((item.id, item.text or "", item.importance or ""))
    return {query: digest(items) for query, items in golds.items()}


def _mean_bounds(each: Sequence[QueryBounds]) -> QueryBounds:
    """The mean of the bounds of all samples."""
    low, high = (np.mean([getattr(bounds, side) for bounds in each], axis=0) for side in ("low", "high"))
    exact = np.logical_and.reduce([bounds.exact for bounds in each])
    return QueryBounds(low, high, exact, np.logical_or.reduce([bounds.nullable for bounds in each]))


def _reject_unknown(
    queries: Sequence[str], values: Mapping[str, Any], bounds: Mapping[str, QueryBounds], where: str
) -> None:
    for measure, of_measure in bounds.items():
        for at in np.flatnonzero(of_measure.lacking(values[measure]))[:1].tolist():
            hint = 'Label it, or use unknown="bounds" (--unknown bounds).'
            raise KaratError(f"{measure} of query {queries[at]} lacks a label", where=where, hint=hint)
