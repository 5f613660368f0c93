"""Errors about fields of results that no record has: which fields exist, and what to do."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from karat.errors import KaratError, MessagePart, Parameter, Place, enumeration, nearest, shown
from karat.reading.bytes.kinds import JSON_IS_READ, QUERIES_TO_DOCUMENTS
from karat.reading.columns import listed, missing_columns
from karat.reading.columns.spellings import SPELLINGS
from karat.reading.records.paths import Record, field_names_of
from karat.reading.records.result_fields import AMBIGUOUS, ROLES, ResultFields

_ELSEWHERE = {
    "query": "If gold answers and predicted answers are in two files, use `karat answers`.",
    "truth": "To evaluate only answers, the fields are gold_answers and answer.",
}
_GOLD = {"truth", "gold_answers"}
_TASKS = {("answer", "retrieved"): "faithfulness", ("answer",): "answer_relevance", ("retrieved",): "context"}
_MAX_COMPARED = 1000  # names compared with a wrong one: an object keyed by document may have any number of keys


def missing_fields_error(
    missing: Sequence[str], fields: ResultFields, example: Record, place: Place | str
) -> KaratError:
    """The error for fields that no line has: lists the fields that are present, and suggests some of them."""
    if "query" in missing and fields.names["query"] == "query" and _maps_queries_to_documents(example):
        return KaratError(f"this is {QUERIES_TO_DOCUMENTS}, not results", place=place, hint=JSON_IS_READ)
    names, texts = fields.names, fields.present
    free = [*texts, *(f"{each}.{key}" for each in texts for key in field_names_of(example.get(each)))]
    free = [each for each in free if each not in {names[field] for field in ROLES}][:_MAX_COMPARED]
    renamed: dict[str, str] = {}
    for field in missing:
        if likely := _likely_names(field, names[field], free):
            renamed[field] = likely[0]
            free.remove(likely[0])
    other = "If it has another name" if len(missing) == 1 else "If they have other names"
    hint: list[MessagePart] = [f"{other}, use ", Parameter("fields", renamed or {missing[0]: "..."}), "."]
    for field, instead, content in (("truth", "gold_answers", "answers"), ("gold_answers", "truth", "documents")):
        if instead not in missing and instead not in texts and renamed.get(field) in AMBIGUOUS:
            hint += [f" If {renamed[field]} contains gold {content}, use "]
            hint += [Parameter("fields", {instead: renamed[field]}), "."]
    hint += [f" {(not renamed and _without_gold(missing, fields, place)) or _ELSEWHERE.get(missing[0], '')}"]
    wanted = [names[field] for field in missing]
    absent = [name for name in wanted if name not in texts]
    if absent:
        return missing_columns(absent, texts, place, "field", hint, names.values())
    fields_are = (
        f"field {shown(wanted[0])} is"
        if len(wanted) == 1
        else f"fields {enumeration([*map(shown, wanted)], 'and')} are"
    )
    others = listed([name for name in texts if name not in wanted])
    return KaratError(f"the {fields_are} null on every line; the other fields are {others}", place=place, hint=hint)


def _without_gold(missing: Sequence[str], fields: ResultFields, place: Place | str) -> str:
    """What can be done with outputs that have neither gold documents nor gold answers: a model can judge them."""
    outputs = tuple(field for field in ("answer", "retrieved") if fields.names[field] in fields.present)
    if not outputs or not {*missing} <= _GOLD or any(fields.names[field] in fields.present for field in _GOLD):
        return ""
    command = f"karat judge {shlex.quote(str(place))} --task {_TASKS[outputs]} --model NAME -o verdicts.jsonl"
    return f"A language model can judge what has no gold: {command}."


def _maps_queries_to_documents(record: Record) -> bool:
    """Whether this is `{query: {doc: grade}}` or `{query: [doc, ...]}`, as BEIR and ranx save them."""
    return bool(record) and all(isinstance(each, Mapping | list) for each in record.values())


def _likely_names(field: str, name: str, free: Sequence[str]) -> list[str]:
    """The names that a field may have, the likeliest first."""
    aliases = SPELLINGS[ROLES[field]][0]
    known = [present for alias in aliases for present in free if present.rpartition(".")[2].casefold() == alias]
    # A name that the user gave is probably misspelt; for a default name, the field probably has another name.
    return [*known, *nearest(name, free)] if name == field else [*nearest(name, free), *known]
