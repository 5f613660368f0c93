"""Read generated answers from results: each answer, with what was retrieved for it and the gold answers, if any."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from karat.errors import KaratError
from karat.sources.records import Record
from karat.sources.result_fields import missing_fields_error
from karat.sources.results import HINT_ON_ANSWERS, Results, found_fields, questions_of, read_field

_READ = ("retrieved", "gold_answers", "answer")
# Unlike in an evaluation, each of these fields is of use without the others.
_NEEDED = {field: (field,) for field in ("truth", *_READ)}


def generated_results(
    name: str, source: Iterable[tuple[str, Record]], given: Mapping[str, str] | None, needed: Collection[str]
) -> tuple[Results, KaratError | None]:
    """The results in some records, each with its place, as far as they are about answers: without ground truth.

    `given` maps karat's field names to those of the records; `needed` are the fields that must be present. If there are
    no answers, the error for whoever needs them is returned too.
    """
    records, fields, found, without_query = found_fields(name, source, given, _READ, _NEEDED, hint=HINT_ON_ANSWERS)
    if missing := [field for field in ("query", *needed) if not found[field] and field not in without_query]:
        raise missing_fields_error(missing, fields, records[0][1], name)
    retrieved, golds, answers = (read_field(field, found, fields.names) for field in _READ)
    queries = tuple(found["query"])
    questions = questions_of(records, fields, queries)
    results = Results(name, queries, {}, retrieved, golds, answers, notes=fields.notes, questions=questions)
    return results, None if answers else missing_fields_error(["answer"], fields, records[0][1], name)
