"""The fields of results: how they are named in records, and the documents and answers in them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from numbers import Integral, Real
from typing import Any, Literal

from karat.documents.answer import as_gold_answers, as_predicted_answer
from karat.documents.ids import all_text
from karat.errors import KaratError, MessagePart, Parameter, Place, enumeration, nearest, shown
from karat.reading.bytes.kinds import JSON_IS_READ, QUERIES_TO_DOCUMENTS
from karat.reading.columns import ColumnRole, choose, listed, missing_columns
from karat.reading.columns.spellings import SPELLINGS, FieldRole, fitting_columns, is_spelling
from karat.reading.records.list_texts import is_list_as_text, list_as_text_error
from karat.reading.records.paths import Record, field_names_of
from karat.reading.records.records import field_names, rename_hint

Part = Literal["documents", "answers"]
PARTS: dict[Part, tuple[str, str]] = {"documents": ("truth", "retrieved"), "answers": ("gold_answers", "answer")}
"""The parts of results that can be evaluated, and the two fields that each needs."""

ROLES: dict[str, FieldRole] = {
    "query": "record_query", "truth": "truth", "retrieved": "retrieved", "gold_answers": "gold_answers",
    "answer": "answer",
}  # fmt: skip
"""The fields of results, and how they are usually named."""

_ROLES = [ColumnRole(field, spelling, required=False) for field, spelling in ROLES.items()]
_ELSEWHERE = {
    "query": "If gold answers and predicted answers are in two files, use `karat answers`.",
    "truth": "To evaluate only answers, the fields are gold_answers and answer.",
}
_AMBIGUOUS = {*SPELLINGS["truth"][0]} & {*SPELLINGS["gold_answers"][0]}  # names of gold documents, and of gold answers
_GOLD = {"truth", "gold_answers"}
_TASKS = {("answer", "retrieved"): "faithfulness", ("answer",): "answer_relevance", ("retrieved",): "context"}
_DOCUMENTS = "Use a list of texts, ids or documents, or {document: number}."
_CHECKED = 1000  # values of a field that show what it contains
_DEEPEST_RECORDS = 2  # objects around the list of records
_MAX_COMPARED = 1000  # names compared with a wrong one: an object keyed by document may have any number of keys


@dataclass(frozen=True)
class ResultFields:
    """The name of each field in the records, the names of all their fields, and notes on names that were guessed."""

    names: dict[str, str]
    present: list[str]
    notes: tuple[str, ...] = ()


def names_by_field(names: Collection[str], fields: Mapping[str, str] | None = None) -> dict[str, set[str]]:
    """The names that each field of results may have here: that in `fields` if it is there, otherwise the usual ones.

    >>> names_by_field(["qid", "Ground-Truth", "score"])["truth"]
    {'Ground-Truth'}
    """
    fields = fields or {}
    present = {*names, *(name for name in fields.values() if name.partition(".")[0] in names)}
    usual = {field: {name for name in present if is_spelling(name, role)} for field, role in ROLES.items()}
    return usual | {field: {fields[field]} for field in ROLES if fields.get(field) in present}


def list_names(names: Iterable[Any], fields: Mapping[str, str | Sequence[str]]) -> dict[str, set[str]]:
    """The names that the fields with lists may have here: those in `fields`, and the usual ones."""
    lists = {
        field: {name for name in names if is_spelling(name, ROLES[field])}
        for field in ("truth", "retrieved", "gold_answers")
    }
    for field, of_field in fields.items():
        if field in lists:
            lists[field] |= {of_field} if isinstance(of_field, str) else {*of_field}
    return lists  # where a name is usual for both, the last one counts: only texts in quotation marks are lists


def path_of_records(value: Record) -> str | None:
    """Where an object has the records, if it has one list of objects that may be results, and is none itself.

    >>> path_of_records({"run": {"id": 3, "items": [{"question": "How soft?", "answer": "Soft"}]}})
    'run.items'
    """
    lists = [*_lists_of_objects(value, _DEEPEST_RECORDS)]
    paths = [path for path, records in lists if (names := names_by_field(records[0]))["query"] and _has_output(names)]
    return paths[0] if len(paths) == 1 and not _has_output(names_by_field(value)) else None


def _has_output(names: Mapping[str, set[str]]) -> bool:
    return bool(names["retrieved"] or names["answer"])


def _lists_of_objects(value: Record, depth: int) -> Iterator[tuple[str, list[Record]]]:
    """The lists of objects inside an object, by their paths."""
    for name, inner in islice(value.items(), _MAX_COMPARED):
        if isinstance(inner, list) and inner and isinstance(inner[0], Mapping):
            yield name, inner
        elif isinstance(inner, Mapping) and depth:
            yield from ((f"{name}.{path}", records) for path, records in _lists_of_objects(inner, depth - 1))


def are_results(by_field: Mapping[str, set[str]]) -> bool:
    """Whether records have both fields of a part: gold and retrieved documents, or gold answers and an answer."""
    return any(by_field[gold] and by_field[output] - by_field[gold] for gold, output in PARTS.values())


def fields_of_results(
    records: Iterable[Record],
    fields: Mapping[str, str] | None,
    parts: Collection[str],
    place: Place | str,
    needed_by_part: Mapping[Any, tuple[str, ...]] = PARTS,
) -> ResultFields:
    """The names to read: those in `fields`, karat's own, and for what has neither, usual names if a part has them all.

    Which records have a field does not matter, as some may lack it. They are iterated over several times.
    """
    names = field_names(fields)
    fields = fields or {}
    present = list(dict.fromkeys(chain.from_iterable(dict.fromkeys(map(tuple, records)))))
    texts = [name for name in present if isinstance(name, str)]
    known = {field: field for field in ROLES if field in texts and field not in fields.values()}
    known |= {field: name for field, name in fields.items() if field in ROLES}
    fitting = {
        field: fitting_columns(texts, role, {*known.values()}, partial(_contains, field, records))
        for field, role in ROLES.items()
        if field not in known
    }
    _assign_ambiguous_names(fitting, known)
    choice = choose(
        texts, _ROLES, known, place, "field", fits=lambda role, name: name in fitting[role.name], has=lambda _: True
    )
    for part, of_part in needed_by_part.items():
        if part not in parts or any(field not in choice.columns for field in of_part):
            choice = choice.without(of_part)
    return ResultFields({**names, **choice.columns}, texts, choice.note(place))


def _contains(field: str, records: Iterable[Record], name: str) -> bool:
    """Whether the values of a field with a usual name are what it should contain."""
    values = list(islice((value for each in records if (value := each.get(name)) is not None), _CHECKED))
    if not values:
        return False
    if field == "query":
        return all(isinstance(value, str | int) and not isinstance(value, bool) for value in values)
    if field == "answer":
        return all_text(values)
    if field == "gold_answers":
        return all(map(_is_answer_text if name in _AMBIGUOUS else _is_gold_answer, values))
    return all(map(_is_documents, values))


def _is_documents(value: Any) -> bool:
    """Whether this is a list of documents, or maps documents to numbers."""
    if isinstance(value, Mapping):
        return all(isinstance(number, Real) for number in value.values())
    return isinstance(value, list | tuple)


def _is_answer_text(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list | tuple) and all_text(value))


def _is_gold_answer(value: Any) -> bool:
    try:
        as_gold_answers(value, "")
    except KaratError:
        return False
    return True


def _assign_ambiguous_names(fitting: dict[str, list[str]], known: Collection[str]) -> None:
    """Decide whether names such as `ground_truth`, of lists of texts, are gold documents or gold answers.

    They are the one that has no other name; otherwise, the one whose other field is there. If this does not decide,
    they are neither.
    """
    either = {*fitting.get("truth", ())} & {*fitting.get("gold_answers", ())}
    if not either:
        return
    only = {field: [name for name in fitting[field] if name not in either] for field in ("truth", "gold_answers")}
    if any(only.values()):
        wanted = {field for field in only if not only[field]}
    else:
        beside = {"truth": "retrieved", "gold_answers": "answer"}
        wanted = {field for field, other in beside.items() if other in known or fitting.get(other)}
    fitting |= {field: fitting[field] if wanted == {field} else only[field] for field in only}


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
        if instead not in missing and instead not in texts and renamed.get(field) in _AMBIGUOUS:
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


# Values.


class FieldReader:
    """Reads a field of one record after the other. What is wrong with a value is an error when all are read."""

    def __init__(self, field: str, name: str) -> None:
        self._field, self._name = field, name
        self._fault: KaratError | None = None
        self._list_as_text: KaratError | None = None
        self._has_others = field == "answer"
        """whether a value is not a list that was written as text"""
        self._example: Mapping[str, Any] | None = None

    def read(self, value: Any, place: Place) -> Any:
        """The value of a record, which is not None."""
        if not self._has_others:
            if not is_list_as_text(self._field, value):
                self._has_others = True
            elif self._list_as_text is None:
                self._list_as_text = list_as_text_error(value, place.inside(self._name))
        if self._example is None and isinstance(value, Mapping):
            self._example = value
        if self._fault is None:
            try:
                return READERS[self._field](value, place)
            except KaratError:
                self._fault = self._error(value, place.inside(self._name))
        return None

    def _error(self, value: Any, place: Place) -> KaratError | None:
        """What is wrong with a value at a place, which takes time to make, and is needed for an error only."""
        try:
            READERS[self._field](value, place)
        except KaratError as error:
            return error
        return None

    def check(self) -> None:
        """Raise the error, if there was one."""
        if self._list_as_text is not None and not self._has_others:
            raise self._list_as_text
        if self._fault is None:
            return
        inner = next((key for key, value in (self._example or {}).items() if isinstance(value, str)), None)
        if self._field in PARTS["documents"] or inner is None:
            raise self._fault
        # In many logs the answer is an object.
        # The error may become a finding, which is a text that is read in Python and on the command line.
        raise self._fault.but(hint=f"Use the text in it: {rename_hint({self._field: f'{self._name}.{inner}'})}")


def documents_of_record(value: object, place: Place | str) -> Any:
    """The documents of a query: a list, or a mapping of documents to numbers as it is."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        kinds = set(map(type, value.values()))
        if not all(issubclass(kind, Real) for kind in kinds):
            return [_unwrapped(value)]
        if bool in kinds:
            doc = next(doc for doc, number in value.items() if isinstance(number, bool))
            hint = "Grades and scores are numbers: write 1 and 0."
            raise KaratError(f"the grade or score of document {shown(doc)} is {value[doc]}", place=place, hint=hint)
        return value
    if isinstance(value, list | tuple):
        return [item if type(item) is str else _document(item, place, at) for at, item in enumerate(value)]
    raise KaratError(f"{shown(value)} is not a list of documents", place=place, hint=_DOCUMENTS)


def _document(item: object, place: Place | str, at: int) -> object:
    if type(item) is dict or isinstance(item, Mapping):  # nearly all are dicts, and isinstance with Mapping is slow
        return _unwrapped(item)
    if isinstance(item, list | tuple) and len(item) == 3 and isinstance(item[0], str) and item[0]:
        return item  # most likely a span: (document, start, end)
    number = isinstance(item, Real) and (isinstance(item, bool) or not isinstance(item, Integral))
    if item is None or number or isinstance(item, bytes | list | tuple | set | frozenset):
        hint = 'A document is a text, an id, or an object such as {"id": "...", "content": "..."}.'
        place = Place(place) if isinstance(place, str) else place
        raise KaratError(f"{shown(item)} is not a document", place=place.inside(f"[{at}]"), hint=hint)
    return item


def _unwrapped(item: Record) -> Record:
    """The document inside LlamaIndex's pair of node and score, or inside LangChain's serialized object."""
    if "node" in item and isinstance(node := item["node"], Mapping):
        return {**node, "score": item["score"]} if "score" in item else node
    if "lc" in item and isinstance(document := item.get("kwargs"), Mapping):
        return document
    return item


READERS: dict[str, Callable[[Any, Place], Any]] = {
    "truth": documents_of_record, "retrieved": documents_of_record, "gold_answers": as_gold_answers,
    "answer": as_predicted_answer,
}  # fmt: skip
