"""What the caller of an evaluation says about its sources; and reading the ground truth, its labels, and a corpus."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from itertools import islice
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

from karat.documents.fields import DocumentLike, document_field
from karat.documents.ids import identifier
from karat.errors import KaratError, Message, Parameter, Place, first_few, plural, require
from karat.errors.arguments import check_mapping, check_text
from karat.errors.suggestions import SuggestedCall
from karat.matching.matcher import Matcher
from karat.matching.matchers import FunctionMatcher, Match, Same, matcher_of
from karat.options import RankingOptions
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.names import check_format
from karat.reading.bytes.rejected_rows import RejectedRows
from karat.reading.columns import GivenNames
from karat.reading.contents.contents import Kind, kind_of_file
from karat.reading.contents.formats import detect
from karat.reading.pairs.any_source import Truth, read_run, read_truth
from karat.reading.pairs.containers import RankedLists, Run
from karat.reading.pairs.data_sets import named_data_set
from karat.reading.pairs.tables import RepeatedJudgments
from karat.reading.records.results import Results, WantedResults, results_of
from karat.reading.records.sources import RecordSource, read_records

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


class CorpusMatcher(NamedTuple):
    """A matcher that knows the texts of a corpus, and notes on reading them."""

    matcher: Matcher
    notes: tuple[str, ...] = ()


def check_reading(inputs: ReadingOptions, progress: object) -> None:
    """Reject wrong arguments before anything is read."""
    for option, columns in (("truth_columns", inputs.truth_columns), ("run_columns", inputs.run_columns)):
        check_mapping(option, columns, {"doc": "docno"})
    for option, name in (("truth_format", inputs.truth_format), ("run_format", inputs.run_format)):
        if name is not None:
            check_format(name, option)
    split = Parameter("split", inputs.split)
    require(inputs.split is None or isinstance(inputs.split, str), [split, " is not a text"])
    require(progress is None or callable(progress), [Parameter("progress", progress), " is not a function"])


def kind_of_documents(file: InputFile, form: str | None) -> Kind | None:
    """Whether a file with documents contains ground truth or a run; None if that is not clear."""
    if named_data_set(file):
        return None
    return kind_of_file(file, detect(file) if form is None else check_format(form))


def no_run_error(file: InputFile, form: str | None) -> KaratError:
    """The error for ground truth without a run, or for a run without ground truth."""
    if kind_of_documents(file, form) == "run":
        return KaratError("a run needs ground truth", place=file.name, hint="Name the ground truth before the runs.")
    hint = "Add a run after it, or name a results file, which contains its ground truth."
    look = SuggestedCall.look(file.name)
    return KaratError("this file is read as ground truth, but no run was given", place=file.name, hint=[hint, *look])


def read_unlabelled(
    results: Any, fields: Mapping[str, str] | None, wanted: WantedResults, form: str | None, records: str | None
) -> Results:
    """Results without labels. A submission to TREC RAG that lacks gold is an error of its own."""

    def read(log: RecordSource) -> Results:
        try:
            return results_of(wanted.joined(log, fields), fields, wanted)
        except KaratError as error:
            from karat.grounding.responses.trec_rag import is_trec_rag, no_gold_error

            [first] = [record for _, record in islice(log.plain, 1)] or [{}]
            if error.place == Place(log.name) and not any(wanted.joins) and is_trec_rag(first):
                raise no_gold_error(log.name) from None
            raise

    return read_records(results, fields, form, read, path=records)


def paths_of(*sources: Any) -> tuple[str, ...]:
    """The paths of the sources that are given as paths."""
    return tuple(os.fsdecode(source) for source in sources if isinstance(source, str | os.PathLike))


def read_judgments(
    truth: Any,
    inputs: ReadingOptions,
    matcher: Matcher,
    queries: Container[str] | None = None,
    rejected: RejectedRows | None = None,
    repeated: RepeatedJudgments | None = None,
) -> Truth:
    """Read ground truth, with the keys that a matcher compares; of a table, only some `queries`, if they are named.

    With `rejected`, rows that are wrong are left out, and it collects their errors. `repeated` does the same for
    documents that are judged twice.
    """
    return read_truth(
        truth,
        columns=inputs.truth_columns,
        format=inputs.truth_format,
        split=inputs.split,
        key=matcher.gold_key,
        queries=queries,
        rejected=rejected,
        repeated=repeated,
    )


def read_labelled_judgments(
    truth: Any, inputs: ReadingOptions, matcher: Matcher, verdicts: Any, author: str | None
) -> Truth:
    """Read ground truth; with verdicts, their labels of documents are the grades of those that it does not judge."""
    if author is not None:
        check_text("author", author)
    if verdicts is None:
        hint: Message = ["Add ", Parameter("verdicts"), ", or leave it out."]
        require(author is None, [Parameter("author"), " applies to verdicts, and there are none"], hint)
        return read_judgments(truth, inputs, matcher)
    from karat.grounding.labels.votes import document_grades
    from karat.grounding.verdict_file.reading import read_verdict_records
    from karat.reading.pairs.labelled_truth import with_labels

    what = f"labels grade documents by their ids, and documents are matched by {matcher}"
    require(matcher == Same(), what, ["Use ", Parameter("match", "id"), ", the default."])
    records = read_verdict_records(verdicts)
    labels = document_grades(records, author)
    judgments = with_labels(read_judgments(truth, inputs, matcher), labels.grades, labels.by, records)
    return replace(judgments, notes=(*judgments.notes, *records.notes, _note_on_labels(judgments, labels)))


def require_labels(verdicts: Any) -> None:
    """Reject a correction without labels."""
    hint: Message = ["Add ", Parameter("verdicts"), " with labels of a model and of people, or leave it out."]
    require(verdicts is not None, [Parameter("correct"), " needs labels"], hint)


def _note_on_labels(truth: Truth, labels: DocumentGrades) -> str:
    """How many documents have a grade from labels, and why others have none."""
    used = 0 if truth.labels is None else int(truth.labels.rows.sum())
    unknown = sorted(labels.grades.keys() - truth.positions.keys())
    judged = len(labels.chosen.labels) - used - sum(len(labels.grades[query]) for query in unknown)
    others = [f"{plural(judged, 'label')} of judged documents not used"] if judged else []
    others += [f"{plural(count, 'document')} left unjudged ({why})" for why, count in labels.chosen.without.items()]
    if unknown:
        others.append(f"{plural(len(unknown), 'query')} without ground truth ignored: {first_few(unknown)}")
    return "; ".join([f"labels by {labels.by} grade {plural(used, 'unjudged document')}", *others])


def read_matcher(
    match: Match, corpus: Any, truth: Any, runs: Mapping[str, Any], inputs: ReadingOptions
) -> CorpusMatcher:
    """What counts as a hit; with a corpus, ground truth and runs are first read to find out which texts are needed."""
    matcher = matcher_of(match)
    if corpus is None:
        return CorpusMatcher(matcher)
    check_corpus(matcher)
    judgments = read_judgments(truth, inputs, Same())
    columns, form = inputs.run_columns, inputs.run_format
    by_id = (
        read_run(run, judgments, columns=columns, format=form, name=name or "the run") for name, run in runs.items()
    )
    return _with_corpus(matcher, corpus, judgments, by_id)


def _with_corpus(matcher: Matcher, corpus: Any, truth: Truth, runs: Iterable[Run]) -> CorpusMatcher:
    """A matcher that knows the texts of the documents of ground truth and runs, which were read by id.

    Of documents with a content of their own, and of queries that are not evaluated, no texts are read.
    """
    from karat.reading.texts.texts import read_texts

    wanted = _without_content(truth.docs if truth.documents is None else truth.documents)
    for run in runs:
        for load in run.batches():
            batch = load()
            listed = batch.documents if isinstance(batch, RankedLists) else batch.by_query()
            for query, documents in zip(batch.queries, listed, strict=True):
                if query in truth.positions:
                    wanted |= _without_content(documents)
    texts = read_texts(corpus, wanted)
    return CorpusMatcher(matcher.with_texts({doc: text.text for doc, text in texts.items()}), texts.notes)


def check_corpus(matcher: Matcher) -> None:
    """Reject a corpus if documents are not matched by their texts."""
    if isinstance(matcher, FunctionMatcher) or not matcher.key.field == matcher.gold_key.field == "content":
        hint = "Match by content, chunk, fuzzy or overlap, or leave the corpus out."
        raise KaratError(f"the corpus has no effect if documents are matched by {matcher}", hint=hint)


def _without_content(documents: Iterable[DocumentLike]) -> set[str]:
    """The ids of documents that have no content of their own; a text is an id."""
    ids: set[str] = set()
    for document in documents:
        if isinstance(document, str):
            ids.add(document)
        elif isinstance(document, Integral):
            ids.add(identifier(document, "a document"))
        elif not document_field(document, "content") and (id_ := document_field(document, "id")) is not None:
            ids.add(identifier(id_, "a document"))
    return ids
