"""Records of a log that lack something which other records have; and questions that occur twice."""

from __future__ import annotations

from collections.abc import Iterator

from karat.documents.normalization import normalized
from karat.errors import Place, shown
from karat.evaluation.check.log_records import LogRecord, ReadLog
from karat.evaluation.check.text_sources import SAME_QUESTION
from karat.reading.records.field_readers import READERS
from karat.scores.finding import Finding

_SKIPPED = 'It counts as 0; missing="skip" (--missing skip) leaves it out.'


def check_fields(log: ReadLog) -> Iterator[Finding]:
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


def check_questions(log: ReadLog) -> Iterator[Finding]:
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
