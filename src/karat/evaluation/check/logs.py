"""What is wrong with a log of a RAG system: its records, and the scores of its documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from karat.documents.normalization import normalized
from karat.errors import KaratError, Place, shown
from karat.evaluation.check.log_passages import check_passages
from karat.evaluation.check.log_records import LogRecord, ReadLog, read_log
from karat.evaluation.check.many_findings import Found
from karat.evaluation.check.plan import LogPlan
from karat.evaluation.check.rows import unreadable, unreadable_rows
from karat.evaluation.check.text_sources import SAME_QUESTION
from karat.evaluation.documents import EvaluationPlan, JudgedDocuments
from karat.evaluation.findings import findings
from karat.evaluation.reading import CorpusMatcher, ReadingOptions
from karat.reading.bytes.input_file import InputFile, is_file
from karat.reading.bytes.rejected_rows import RejectedRows
from karat.reading.contents.contents import content_if_not_run, content_in_memory, content_of
from karat.reading.contents.samples import sample_in_memory
from karat.reading.records.field_readers import READERS
from karat.reading.shapes import check_tool_or_format, tools
from karat.scores.finding import Finding

_OF_ALL_DOCUMENTS = ("nothing-found", "no-relevant", "keyless", "keyless-golds", "identical-ids", "large-ties")
"""what an evaluation finds out about all documents together; the rest is found record by record"""
_SKIPPED = 'It counts as 0; missing="skip" (--missing skip) leaves it out.'


def is_log(
    source: Any,
    inputs: ReadingOptions,
    fields: Mapping[str, str] | None,
    form: str | None,
    records: str | None,
    *,
    is_alone: bool = True,
) -> bool:
    """Whether a source is a log, not ground truth. Unless it is alone, a log without gold is taken for ground truth."""
    if form is not None:
        check_tool_or_format(form, "input_format")
    if inputs.split is not None or inputs.truth_format not in (None, form) or inputs.truth_columns:
        return False
    if records is not None or (form is not None and form in tools()):
        return True
    try:
        if is_file(source):
            content = (content_if_not_run if is_alone else content_of)(InputFile.of(source), form, fields)
        else:
            content = content_in_memory(sample_in_memory(source), fields, is_alone=is_alone)
    except KaratError:  # whoever reads it finds it again
        return bool(fields) or (form is not None and inputs.truth_format is None)
    return content == "results" or (is_alone and content == "records")


def check_log(plan: LogPlan) -> Iterator[Found]:
    """What is wrong with a log."""
    rejected = RejectedRows()
    try:
        log = read_log(plan, rejected)
    except KaratError as error:
        log = ReadLog(plan.name, (), (error,))
    yield from (unreadable(error) for error in log.faults)
    yield from unreadable_rows(rejected, log.name)
    yield from chain(_check_fields(log), _check_questions(log), check_passages(log))
    for system, records in _by_system(log).items():
        try:
            for finding in _about_documents(log, records, plan):
                yield finding if system is None else replace(finding, message=f"system {system}: {finding.message}")
        except KaratError as error:
            yield unreadable(error.but(place=Place(log.name)))


def _by_system(log: ReadLog) -> dict[str | None, dict[str, LogRecord]]:
    """The records of each system by query, of which the first one counts."""
    by_system: dict[str | None, dict[str, LogRecord]] = {}
    for record in log.records:
        by_system.setdefault(record.system, {}).setdefault(record.query, record)
    return by_system


def _about_documents(log: ReadLog, records: Mapping[str, LogRecord], plan: LogPlan) -> Iterator[Finding]:
    """What an evaluation finds out about the documents of one system."""
    truth, run = (
        {query: values[field] for query, record in records.items() if field in (values := record.values)}
        for field in ("truth", "retrieved")
    )
    if truth.keys().isdisjoint(run):
        return
    settings = {**plan.settings, "duplicates": "first"}
    evaluation = EvaluationPlan(plan.measures, settings, CorpusMatcher(plan.matcher))
    documents = JudgedDocuments.read(truth, run, evaluation)
    for finding in findings(documents.facts, list(plan.measures), settings["missing"], plan.matcher):
        if finding.code in _OF_ALL_DOCUMENTS:
            first = next((record.place for query, record in records.items() if query in finding.queries), None)
            yield replace(finding, place=first or Place(log.name))


def _check_fields(log: ReadLog) -> Iterator[Finding]:
    """What records lack."""
    has = {field: log.has(field) for field in READERS}
    for record in log.records:
        if not record.present:
            what = f"query {shown(record.query)} has nothing to evaluate: neither documents nor an answer"
            yield record.finding("empty-lines", what, "Was a request that failed logged?")
            continue
        if has["truth"]:
            yield from _check_gold_documents(record)
        if has["answer"]:
            yield from _check_answer(record, has_golds=has["gold_answers"])


def _check_gold_documents(record: LogRecord) -> Iterator[Finding]:
    """Gold documents, where other records have some."""
    if record.lacks("truth"):
        if not record.lacks("retrieved"):
            what = f"query {shown(record.query)} has no gold documents, and others have"
            yield record.finding("unknown-queries", what, "Its documents are not evaluated.")
    elif "truth" in record.values and not record.values["truth"]:
        what = f"the list of gold documents of query {shown(record.query)} is empty"
        yield record.finding("empty-truths", what, "Its documents score 0.")


def _check_answer(record: LogRecord, *, has_golds: bool) -> Iterator[Finding]:
    """The predicted answer, where other records have one. If some have a gold answer, only these are evaluated."""
    golds, answer = record.values.get("gold_answers"), record.values.get("answer")
    has_no_gold = has_golds and record.lacks("gold_answers")
    if answer is None and record.lacks("answer") and not has_no_gold:
        yield record.finding("missing-answers", f"question {shown(record.query)} has no answer", _SKIPPED)
    elif answer is not None and not answer.strip() and not has_no_gold and not _is_unanswerable(golds):
        yield record.finding("missing-answers", f"the answer to {shown(record.query)} is empty", "")
    elif answer is not None and has_no_gold:
        what = f"the answer to {shown(record.query)} has no gold answer, and others have"
        yield record.finding("unknown-answers", what, "It is not evaluated.")


def _is_unanswerable(golds: tuple[str, ...] | None) -> bool:
    """Whether an empty answer is right."""
    return golds is not None and any(not gold.strip() for gold in golds)


def _check_questions(log: ReadLog) -> Iterator[Finding]:
    """Questions that occur twice in the records of one system: by the same id, or by the same text."""
    places: dict[tuple[str | None, str], Place] = {}
    queries: dict[tuple[str | None, str], LogRecord] = {}
    for record in log.records:
        earlier = places.setdefault((record.system, record.query), record.place)
        first = queries.setdefault((record.system, normalized(record.question, SAME_QUESTION)), record)
        if earlier is not record.place:
            hint = "An evaluation stops here. Keep one record per query."
            yield record.finding("repeated-questions", f"query {shown(record.query)} was already in {earlier}", hint)
        elif first is not record:
            what = f"the question {shown(record.question)} was already asked in {first.place}"
            hint = f"It has the ids {shown(first.query)} and {shown(record.query)}, and counts twice in every mean."
            yield record.finding("repeated-questions", what, hint)
