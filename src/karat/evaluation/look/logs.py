"""What is in a log: its tool, its fields, whether gold documents can be found, and which measures can be computed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Sized
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any

from karat.documents.fields import document_field
from karat.errors import KaratError, Place, plural, shown
from karat.evaluation.log_measures import measures_of_log
from karat.evaluation.look.commands import LookOptions
from karat.evaluation.look.screen import FieldRead, FieldSeen, Look, MeasureGroup, best_match, notes_of
from karat.evaluation.results import scores_of_parts
from karat.grounding.labels.missing import measures_of
from karat.grounding.labels.recipes import needed_fields
from karat.grounding.responses.citations import find_citations
from karat.grounding.responses.trec_rag import is_trec_rag, no_gold_error, paths_in_submission, read_trec_rag
from karat.matching.document_samples import sample_of_lists
from karat.matching.trials import Trials, try_matches
from karat.options import complete_options
from karat.reading.bytes.input_file import InputFile, is_file
from karat.reading.records.field_readers import READERS
from karat.reading.records.likely_fields import is_free
from karat.reading.records.paths import Record, field_value, inner_paths
from karat.reading.records.records import without_collection
from karat.reading.records.result_fields import PARTS, ROLES, ResultFields, fields_of_results
from karat.reading.records.results import Results, WantedResults, question_name, results_of
from karat.reading.records.sources import RecordSource, read_records
from karat.registry.selection import DEFAULT_ANSWER_MEASURES, default_measures, of_subject, select_measures

_FIRST = 100  # records that show what fields contain
_LONGEST = 100  # characters of an example
_TASKS = ("faithfulness", "context", "support", "answer_relevance", "correctness")
_EACH_ALONE = {field: (field,) for field in ROLES}
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
    if not any(record for _, record in records):
        results_of(log, reading.fields, wanted)  # which is the error of every command
    if is_trec_rag(records[0][1]):
        return _look_at_submission(log, reading, path)
    examples = [record for _, record in islice(records, _FIRST)]
    plain = [record for _, record in records]
    chosen = fields_of_results(plain, reading.fields, ROLES, log.name, _EACH_ALONE)
    of_parts = fields_of_results(plain, reading.fields, wanted.parts, log.name)
    names = _names(chosen, examples, log)
    results, findings, error = _evaluated(log, wanted, reading)
    read_notes = (*log.notes, *log.unused_notes(chosen, examples)) if results is None else results.notes
    # The screen shows where fields are read from.
    shown_above = {
        *chosen.notes,
        *of_parts.notes,
        *([] if log.shape is None else [log.shape.note(log.paths, log.name)]),
    }
    used = {**names, **log.paths}
    look = Look(
        log.name,
        log.shape.what if log.shape else "results",
        {"record": len(records)},
        None if log.shape is None else log.shape.tool,
        _read(names, used, examples),
        _unused(log, used, {} if results is None else results.numbers.columns),
        () if error is None else _seen(log, used),
        None if results is None else _matches(results),
        _measures(names, results, _longest(examples, names), has_citations=_has_citations(examples, names)),
        (*(note for note in read_notes if note not in shown_above), *findings),
        error=error,
    )
    return replace(look, commands=_commands(look, reading, path, _has_texts(examples, names)))


def _look_at_submission(log: RecordSource, reading: LookOptions, path: str | None) -> Look:
    """What is in a submission to TREC RAG: answers with citations, and no gold."""
    records = list(log.records)
    read_trec_rag(records)  # what is wrong with one of them is an error
    examples = [record for _, record in islice(records, _FIRST)]
    names = paths_in_submission(examples[0])
    look = Look(
        log.name,
        "a submission to TREC RAG",
        {"record": len(records)},
        read=_read(names, names, examples),
        unused=_unused(log, names, ()),
        measures=_measures(names, None, _longest(examples, names), has_citations=True),
        error=no_gold_error(log.name),
    )
    return replace(look, commands=_commands(look, reading, path, has_texts=False))


def _names(chosen: ResultFields, examples: Sequence[Record], log: RecordSource) -> dict[str, str]:
    """The names of the fields that are there, and that of the question beside the query."""
    names = {field: chosen.names[field] for field in ROLES if _example(examples, chosen.names[field]) is not None}
    asked = (str(record.get(names["query"])) for record in examples) if "query" in names else ()
    question = question_name(chosen, asked)
    if question and _example(examples, question) is not None and question != log.paths.get("query"):
        names["question"] = question
    return names


def _read(names: Mapping[str, str], used: Mapping[str, str], examples: Sequence[Record]) -> tuple[FieldRead, ...]:
    """Each field with where it is, and an example."""
    values = {field: _example(examples, name) for field, name in names.items()}
    return tuple(FieldRead(field, used[field], _shown_value(field, value)) for field, value in values.items())


def _longest(examples: Sequence[Record], names: Mapping[str, str]) -> int:
    """The length of the longest list of retrieved documents."""
    lists = (_example([record], names["retrieved"]) for record in examples) if "retrieved" in names else ()
    return max((len(each) for each in lists if isinstance(each, Sized)), default=0)


def _has_citations(examples: Sequence[Record], names: Mapping[str, str]) -> bool:
    """Whether answers cite anything."""
    answers = (_example([record], names["answer"]) for record in examples) if "answer" in names else ()
    return any(isinstance(answer, str) and find_citations(answer, ()) for answer in answers)


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
        return None, (), error
    findings = notes_of(finding for each in scores for finding in each.findings)
    unscored = [f"{message}. {hint}".strip() for message, _, hint in results.unscored]
    return results, (*findings, *unscored), None


def _matches(results: Results) -> Trials | None:
    sampled = sample_of_lists(results.truth, results.run) if "documents" in results.parts else ()
    return try_matches(sampled) if sampled else None


def _measures(
    names: Mapping[str, str], results: Results | None, longest: int, *, has_citations: bool
) -> tuple[MeasureGroup, ...]:
    """The measures of what is there, with what they need."""
    parts = () if results is None else results.parts
    computed = select_measures(measures_of_log(results), None, parts) if results and parts else {}
    of_parts = (tuple(map(str, of_subject(computed, part))) for part in parts)
    groups = [MeasureGroup(measures) for measures in of_parts if measures]
    if results and results.numbers.columns:
        groups.append(MeasureGroup(tuple(results.numbers.columns), "nothing: the log has them"))
    if has_citations and "retrieved" in names:
        groups.append(MeasureGroup(("CitationValid",), "nothing: -m CitationValid"))
    if "retrieved" in names and "truth" not in names:
        groups.append(MeasureGroup(default_measures(longest)[0], "gold documents"))
    if "answer" in names and "gold_answers" not in names:
        groups.append(MeasureGroup(DEFAULT_ANSWER_MEASURES, "gold answers"))
    possible = {"correctness": "gold_answers" in names, "support": has_citations}
    tasks = [task for task in _TASKS if all(field in names for field in ("query", *needed_fields(task)))]
    groups += [MeasureGroup(tuple(measures_of(task)), "labels", task) for task in tasks if possible.get(task, True)]
    return tuple(groups)


def _has_texts(examples: Sequence[Record], names: Mapping[str, str]) -> bool:
    """Whether retrieved documents have texts, which a judge reads, or only ids."""
    for record in examples if "retrieved" in names else ():
        with suppress(KaratError):  # whoever evaluates them says what is wrong
            for document in READERS["retrieved"](_example([record], names["retrieved"]), Place("")):
                text = document if isinstance(document, str) else document_field(document, "content")
                if isinstance(text, str) and len(text.split(maxsplit=1)) > 1:
                    return True
    return False


def _commands(look: Look, reading: LookOptions, path: str | None, has_texts: bool) -> dict[str, str]:
    """What can be done next."""
    match, commands = best_match(look.matches), {}
    tasks = [group.task for group in look.measures if group.task]
    if look.error is None:
        call = reading.call("evaluate_results", **match)
        commands["to evaluate it"] = call if path is None else reading.command("evaluate", [path], **match)
    if tasks:
        of_passages = any("retrieved" in needed_fields(task) for task in tasks)
        corpus = {"corpus": "CORPUS"} if of_passages and not has_texts else {}
        judging = reading.call("estimate_judging", task=tasks, **corpus)
        if path is not None:
            judging = reading.command("judge", [path], task=tasks, **corpus, estimate=True)
        commands["what labels cost"] = judging
    return commands


def _unused(log: RecordSource, used: Mapping[str, str], numbers: Collection[str]) -> tuple[str, ...]:
    """The fields of records that nothing is read from."""
    plain = [record for _, record in islice(log.plain, _FIRST)]
    present = dict.fromkeys(name for record in plain for name in record if isinstance(name, str))
    first = {path.partition(".")[0].partition("[")[0] for path in (*used.values(), *numbers)}
    for path in (path for path in used.values() if path.startswith("*.")):  # whatever leads there
        inside = path[1:].removesuffix(".first()").removesuffix(".last()")
        first |= {name for name in present if _example(plain, f"{name}{inside}") is not None}
    return tuple(name for name in present if name not in first)


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
    if field == "gold_answers" and isinstance(value, list | tuple) and len(value) == 1:
        return shown(value[0], _LONGEST)
    return shown(list(value) if isinstance(value, tuple) else value, _LONGEST)


def _shown_document(document: Any) -> str:
    parts = (
        (document_field(document, part) for part in ("id", "content")) if not isinstance(document, str | int) else ()
    )
    return " ".join(shown(part, _LONGEST) for part in parts if part is not None) or shown(document, _LONGEST)


def _seen(log: RecordSource, used: Mapping[str, str]) -> tuple[FieldSeen, ...]:
    """The fields that records have and that are not read, and what is inside them."""
    examples = [record for _, record in islice(log.plain, _FIRST)]
    paths = dict.fromkeys(path for record in examples for path in inner_paths(record) if ".0." not in path)
    values = ((path, _example(examples, path)) for path in paths if is_free(path, used.values()))
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
