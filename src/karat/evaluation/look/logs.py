"""What is in a log: its tool, its fields, whether gold documents can be found, and which measures can be computed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any

from karat.documents.fields import document_field
from karat.errors import KaratError, Place, plural, shown
from karat.errors.suggestions import SuggestedCall
from karat.evaluation.look.commands import LookOptions
from karat.evaluation.look.screen import FieldRead, FieldSeen, Look, MeasureGroup, best_match, notes_of
from karat.evaluation.results import measures_of_log, scores_of_parts
from karat.grounding.labels.missing import measures_of
from karat.grounding.labels.recipes import needed_fields
from karat.grounding.responses.trec_rag import is_trec_rag
from karat.matching.document_samples import sample_of_lists
from karat.matching.trials import Trials, try_matches
from karat.options import complete_options
from karat.reading.bytes.input_file import InputFile, is_file
from karat.reading.records.field_readers import READERS
from karat.reading.records.paths import Record, field_value, inner_paths
from karat.reading.records.records import without_collection
from karat.reading.records.result_fields import PARTS, ROLES, fields_of_results
from karat.reading.records.results import Results, WantedResults, question_name, results_of
from karat.reading.records.sources import RecordSource, read_records
from karat.registry.selection import DEFAULT_ANSWER_MEASURES, DEFAULT_MEASURES, of_subject, select_measures

_FIRST = 100  # records that show what fields contain
_LONGEST = 100  # characters of an example
_TASKS = ("faithfulness", "context", "answer_relevance", "correctness")
_NEED_GOLD = ("correctness",)
_TYPES = {bool: "boolean", int: "number", float: "number", str: "text", list: "list", tuple: "list"}
_ANY_MEASURE = "RR"


def look_at_log(source: Any, reading: LookOptions) -> Look:
    """What is in a log; a source that cannot be read as records is an error."""
    path = InputFile.of(source).path if is_file(source) else None
    wanted = WantedResults(numbers=None, joins=reading.joins)

    def read(log: RecordSource) -> Look:
        return _look(wanted.joined(log, reading.fields), wanted, reading, path)

    return read_records(source, reading.fields, reading.input_format, read, path=reading.records)


@without_collection()
def _look(log: RecordSource, wanted: WantedResults, reading: LookOptions, path: str | None) -> Look:
    records = list(log.records)
    log = replace(log, records=records)
    if not records:
        results_of(log, reading.fields, wanted)  # which is the error of every command
    examples = [record for _, record in islice(records, _FIRST)]
    each_alone = {field: (field,) for field in ROLES}
    chosen = fields_of_results([record for _, record in records], reading.fields, ROLES, log.name, each_alone)
    names = {field: chosen.names[field] for field in ROLES if _example(examples, chosen.names[field]) is not None}
    asked = (str(record.get(names["query"])) for record in examples) if "query" in names else ()
    question = question_name(chosen, asked)
    if question and _example(examples, question) is not None and question != log.paths.get("query"):
        names["question"] = question
    used = {**names, **log.paths}
    results, findings, error = _evaluated(log, wanted, reading)
    read_notes = (*log.notes, *log.unused_notes(chosen, examples)) if results is None else results.notes
    # The screen shows where fields are read from.
    shown_above = {*chosen.notes, *([] if log.shape is None else [log.shape.note(log.paths, log.name)])}
    notes = (*(note for note in read_notes if note not in shown_above), *findings)
    is_submission = bool(examples) and is_trec_rag(examples[0])
    what = "a submission to TREC RAG" if is_submission else log.shape.what if log.shape else "results"
    measures, tasks = _measures(names, results)
    look = Look(
        log.name,
        what,
        {"record": len(records)},
        None if log.shape is None else log.shape.tool,
        tuple(FieldRead(field, used[field], _shown_value(field, _example(examples, names[field]))) for field in names),
        _unused(chosen.present, used, log, examples, {} if results is None else results.numbers.columns),
        () if error is None else _seen(examples, log),
        None if results is None else _matches(results),
        measures,
        notes,
        error=error,
    )
    return replace(look, commands=_commands(look, tasks, reading, path))


def _evaluated(
    log: RecordSource, wanted: WantedResults, reading: LookOptions
) -> tuple[Results | None, tuple[str, ...], KaratError | None]:
    """The results in a log, what an evaluation finds out about them, and what is wrong, if anything is."""
    settings = {**complete_options({}), "corpus": None}
    try:
        results = results_of(log, reading.fields, wanted)
        selected = select_measures(_ANY_MEASURE) if "documents" in results.parts else {}
        scores = [*scores_of_parts(results, selected, settings, "")]
    except KaratError as error:
        return None, (), SuggestedCall.without_look(error)
    findings = notes_of(finding for each in scores for finding in each.findings)
    unscored = [f"{message}. {hint}".strip() for message, _, hint in results.unscored]
    return results, (*findings, *unscored), None


def _matches(results: Results) -> Trials | None:
    sampled = sample_of_lists(results.truth, results.run) if "documents" in results.parts else ()
    return try_matches(sampled) if sampled else None


def _measures(names: Mapping[str, str], results: Results | None) -> tuple[tuple[MeasureGroup, ...], list[str]]:
    """The measures of what is there, with what they need; and the tasks of a judge that can be asked for."""
    parts = () if results is None else results.parts
    computed = select_measures(measures_of_log(results), None, parts) if results and parts else {}
    of_parts = (tuple(map(str, of_subject(computed, part))) for part in parts)
    groups = [MeasureGroup(measures) for measures in of_parts if measures]
    if results and results.numbers.columns:
        groups.append(MeasureGroup(tuple(results.numbers.columns), "nothing: the log has them"))
    if "documents" not in parts and "retrieved" in names:
        groups.append(MeasureGroup(DEFAULT_MEASURES, "gold documents"))
    if "answers" not in parts and "answer" in names:
        groups.append(MeasureGroup(DEFAULT_ANSWER_MEASURES, "gold answers"))
    tasks = [task for task in _TASKS if all(field in names for field in ("query", *needed_fields(task)))]
    tasks = [task for task in tasks if task not in _NEED_GOLD or "gold_answers" in names]
    groups += [MeasureGroup(tuple(measures_of(task)), "labels", task) for task in tasks]
    return tuple(groups), tasks


def _commands(look: Look, tasks: Sequence[str], reading: LookOptions, path: str | None) -> dict[str, str]:
    """What can be done next."""
    match, commands = best_match(look.matches), {}
    if look.error is None:
        call = reading.call("evaluate_results", **match)
        commands["to evaluate it"] = call if path is None else reading.command("evaluate", [path], **match)
    if tasks:
        judging = reading.call("estimate_judging", task=[*tasks])
        if path is not None:
            judging = reading.command("judge", [path], task=[*tasks], estimate=True)
        commands["what labels cost"] = judging
    return commands


def _unused(
    present: Sequence[str],
    used: Mapping[str, str],
    log: RecordSource,
    examples: Sequence[Record],
    numbers: Collection[str],
) -> tuple[str, ...]:
    """The fields of records that nothing is read from."""
    first = {path.partition(".")[0].partition("[")[0] for path in used.values()}
    for path in (path for path in used.values() if path.startswith("*.")):  # whatever leads there
        inside = path[1:].removesuffix(".first()").removesuffix(".last()")
        first |= {name for name in present if _example(examples, f"{name}{inside}") is not None}
    first |= {path.partition(".")[0] for path in numbers}
    return tuple(name for name in present if name not in first | _added(log))


def _added(log: RecordSource) -> set[str]:
    """The names that records have only because karat gives them the names of its own fields."""
    return {name for name, path in log.paths.items() if path.partition(".")[0] != name}


def _example(examples: Sequence[Record], path: str) -> Any:
    """The first value of a field that is there."""
    with suppress(KaratError):  # an attribute that cannot be read
        return next((value for record in examples if (value := field_value(record, path)) not in (None, [], "")), None)
    return None


def _shown_value(field: str, value: Any) -> str:
    """A value of a field of results, in short."""
    if field in PARTS["documents"]:
        with suppress(KaratError):
            documents = READERS[field](value, Place(""))
            first = next(iter(documents), None)
            return f"{plural(len(documents), 'document')}: {_shown_document(first)}"
    return shown(value, _LONGEST)


def _shown_document(document: Any) -> str:
    parts = (
        (document_field(document, part) for part in ("id", "content")) if not isinstance(document, str | int) else ()
    )
    return " ".join(shown(part, _LONGEST) for part in parts if part is not None) or shown(document, _LONGEST)


def _seen(examples: Sequence[Record], log: RecordSource) -> tuple[FieldSeen, ...]:
    """The fields that records have, and what is inside them."""
    added = _added(log)
    paths = dict.fromkeys(path for record in examples for path in inner_paths(record) if ".0." not in path)
    values = ((path, _example(examples, path)) for path in paths if path.partition(".")[0] not in added)
    return tuple(
        FieldSeen(path, _type(value), shown(value, _LONGEST))
        for path, value in values
        if value is not None or "." not in path
    )


def _type(value: Any) -> str:
    if isinstance(value, list | tuple) and value:
        return f"list of {len(value)}"
    return next(
        (name for kind, name in _TYPES.items() if isinstance(value, kind)), "null" if value is None else "object"
    )
