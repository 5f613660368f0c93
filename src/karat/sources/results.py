"""The results of a RAG system, one JSON object per question: its truth, what was retrieved for it, and the answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

from karat.documents.answer import as_gold_answers, as_predicted_answer
from karat.documents.ids import identifier, reject_lone_surrogates
from karat.errors import KaratError, nearest, shown
from karat.sources.records import (
    ALIASES,
    Record,
    field_names,
    field_value,
    records_from_json_lines,
    records_from_list,
    rename_hint,
)
from karat.sources.text_file import TextFile

__all__ = ["Results", "is_results", "read_results"]

Part = Literal["documents", "answers"]
PARTS: dict[Part, tuple[str, str]] = {"documents": ("truth", "retrieved"), "answers": ("gold_answers", "answer")}
"""What can be evaluated, and the two fields that it takes."""

_HINT = 'Each line is one object: {"query": "...", "truth": [...], "retrieved": [...]}.'
_DOCUMENTS = "Give a list of texts, of ids, or of documents, or {document: number}."
_ELSEWHERE = {
    "query": "Gold answers and predicted ones in files of their own go into `karat answers`.",
    "truth": "Answers alone need gold_answers and answer instead.",
}
_LISTED = 20  # so many names of fields go into a message,
_COMPARED = 1000  # and so many are compared with a wrong one: objects keyed by document may have any number


@dataclass(frozen=True, eq=False)
class Results:
    """The truth and the run that one file of results holds, the gold answers and the predicted ones, each by query.

    A query's documents are a list of texts, ids and mappings, or `{document: number}`, the number being the grade in
    the truth and the score in the run. `name` is what messages call the results, `queries` are all there are, in order.
    """

    name: str
    queries: tuple[str, ...]
    truth: dict[str, Any]
    run: dict[str, Any]
    gold_answers: dict[str, tuple[str, ...]]
    answers: dict[str, str]
    unscored: tuple[tuple[str, int, str], ...] = ()
    """what is there and cannot be scored: in words, in how many lines it is, and the hint"""
    empty: tuple[str, ...] = ()
    """queries with nothing else"""

    @property
    def parts(self) -> tuple[Part, ...]:
        """What can be evaluated: `documents`, `answers`, or both."""
        there = {"documents": bool(self.truth and self.run), "answers": bool(self.gold_answers and self.answers)}
        return tuple(part for part in PARTS if there[part])


def read_results(
    source: str | os.PathLike[str] | TextFile | Sequence[Record],
    fields: Mapping[str, str] | None = None,
    required: Collection[Part] = (),
    optional: Collection[Part] = tuple(PARTS),
) -> Results:
    """Results from a file of JSON lines, or from a list of records.

    `fields` has the names of fields that are called otherwise: `{"retrieved": "response.source_nodes"}`. A dot goes
    into an object. A query without a truth is in the run only; one for which nothing is logged, in the truth only.
    `required` are the parts that have to be there, `documents` or `answers`, and `optional` those that are read if they
    are there; one has to be.

    >>> results = read_results([{"query": "q1", "truth": ["a", "b"], "docs": ["b", "c"]}], {"retrieved": "docs"})
    >>> results.truth, results.run
    ({'q1': ['a', 'b']}, {'q1': ['b', 'c']})
    """
    if isinstance(source, str | os.PathLike):
        return read_results(TextFile(os.fspath(source)), fields, required, optional)
    names = field_names(fields)
    if isinstance(source, TextFile):
        try:
            records = records_from_json_lines(source, (names[role] for role in ALIASES), _HINT)
            return _collected(source.name, records, names, required, optional)
        except KaratError:
            source.check()
            raise
    if isinstance(source, Sequence) and not isinstance(source, str | bytes):
        return _collected("the results", records_from_list(source, "the results"), names, required, optional)
    raise KaratError(f"{shown(source)} is no results", hint="Results are a path, or a list of records (dictionaries).")


def is_results(source: TextFile) -> bool:
    """Whether this is a file of results, as far as its first line that is not blank shows: it begins with `{`."""
    return source.first_byte() == b"{"


def _collected(
    name: str,
    records: Iterable[tuple[str, Record]],
    names: Mapping[str, str],
    required: Collection[Part],
    optional: Collection[Part],
) -> Results:
    found, fields, example = _gathered(records, names)
    places = found["query"]
    if example is None:
        raise KaratError("there are no results", where=name, hint=_HINT)
    used = _used(found, required, optional)
    for role in ("query", *used):
        if not found[role]:
            raise _no_field(role, names, list(fields), example, name)
    read = {role: _read(role, found, names) for role in used if role in PARTS["documents"]}
    unscored = list(_halves(found, names))
    try:
        read |= {role: _read(role, found, names) for role in used if role in PARTS["answers"]}
    except KaratError as error:
        if "answers" in required or not read:
            raise
        unscored.append((f"answers not scored: {error.where}: {error.what}", len(found["answer"]), error.hint or ""))
    truth, run, golds, answers = (read.get(role, {}) for role in _READ)
    empty = [query for query in places if not any(query in found[role] for role in _READ)]
    return Results(name, tuple(places), truth, run, golds, answers, tuple(unscored), tuple(empty))


def _gathered(
    records: Iterable[tuple[str, Record]], names: Mapping[str, str]
) -> tuple[dict[str, dict[str, Any]], dict[str, None], Record | None]:
    """The fields of each query as they are, with its place for the query; all names of fields; and the first record."""
    found: dict[str, dict[str, Any]] = {role: {} for role in ALIASES}
    places = found["query"]
    fields: dict[str, None] = {}
    example: Record | None = None
    lacking = None
    for where, record in records:
        example = record if example is None else example
        fields.update(dict.fromkeys(record))
        value = field_value(record, names["query"])
        if value is None:
            lacking = lacking or where
        if lacking and (places or value is not None):
            raise KaratError(f"there is no {shown(names['query'])}", where=lacking, hint="Every line needs a query.")
        # Where not even the first line has a query, it has to be seen whether any has.
        if value is not None:
            query = _new_query(value, where, places)
            places[query] = where
            for role in _READ:
                if (value := field_value(record, names[role])) is not None:
                    found[role][query] = value
    return found, fields, example


def _read(role: str, found: Mapping[str, Mapping[str, Any]], names: Mapping[str, str]) -> dict[str, Any]:
    """A field of each query. What is not evaluated is not read, and may look as it likes."""
    name = names[role]
    try:
        return {query: _READ[role](value, f"{found['query'][query]}, {name}") for query, value in found[role].items()}
    except KaratError as error:
        example = next((value for value in found[role].values() if isinstance(value, Mapping)), {})
        inner = next((key for key, value in example.items() if isinstance(value, str)), None)
        if role in PARTS["documents"] or inner is None:
            raise
        # Many logs have an object for the answer.
        hint = f"Name the text in it: {rename_hint(role, f'{name}.{inner}')}"
        raise KaratError(error.what, where=error.where, hint=hint) from None


def _halves(found: Mapping[str, Mapping[str, Any]], names: Mapping[str, str]) -> Iterator[tuple[str, int, str]]:
    """Fields that are there, and cannot be scored for want of another."""
    for one, other in PARTS.values():
        for there, lacking in ((one, other), (other, one)):
            if found[there] and not found[lacking]:
                count = len(found[there])
                queries = f"{count:,} quer{'y' if count == 1 else 'ies'}"
                message = f"{names[there]} of {queries} not scored: no line has a field {names[lacking]}"
                yield message, count, f"Where it is called otherwise, name it: {rename_hint(lacking, '...')}"


def _used(found: Mapping[str, Mapping[str, Any]], required: Collection[Part], optional: Collection[Part]) -> list[str]:
    """The fields to read: those of required parts and of complete optional ones; if none, of the most complete part."""
    whole = [part for part in optional if all(found[role] for role in PARTS[part])]
    most = max(PARTS, key=lambda part: sum(bool(found[role]) for role in PARTS[part]))
    wanted = {*required, *whole} or {most}
    return [role for part in PARTS if part in wanted for role in PARTS[part]]


def _new_query(value: object, where: str, places: Mapping[str, str]) -> str:
    query = identifier(value, where)
    reject_lone_surrogates([query], where)
    if query in places:
        raise KaratError(
            f"query {shown(query)} is in {places[query]} already",
            where=where,
            hint="Keep one line of each query, or take another field for it: " + rename_hint("query", "..."),
        )
    return query


def _documents(value: object, where: str) -> Any:
    """The documents of a query: a list, or as it is what maps documents to numbers."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        kinds = set(map(type, value.values()))
        if not all(issubclass(kind, Real) for kind in kinds):
            return [_unwrapped(value)]
        if bool in kinds:
            doc = next(doc for doc, number in value.items() if isinstance(number, bool))
            hint = "Grades and scores are numbers: write 1 and 0."
            raise KaratError(f"document {shown(doc)} has {value[doc]} for its number", where=where, hint=hint)
        return value
    if isinstance(value, list | tuple):
        return [item if type(item) is str else _document(item, where, at) for at, item in enumerate(value)]
    raise KaratError(f"{shown(value)} is not a list of documents", where=where, hint=_DOCUMENTS)


def _document(item: object, where: str, at: int) -> object:
    if type(item) is dict or isinstance(item, Mapping):  # asking for a Mapping is slow, and mostly it is a dict
        return _unwrapped(item)
    if isinstance(item, list | tuple) and len(item) == 3 and isinstance(item[0], str) and item[0]:
        return item  # a span, (document, start, end), as far as it looks
    number = isinstance(item, Real) and (isinstance(item, bool) or not isinstance(item, Integral))
    if item is None or number or isinstance(item, bytes | list | tuple | set | frozenset):
        hint = 'A document is a text, an id, or an object such as {"id": "...", "content": "..."}.'
        raise KaratError(f"{shown(item)} is not a document", where=f"{where}[{at}]", hint=hint)
    return item


def _unwrapped(item: Record) -> Record:
    """The document itself, where LlamaIndex put it beside its score, or LangChain with what makes an object of it."""
    if "node" in item and isinstance(node := item["node"], Mapping):
        return {**node, "score": item["score"]} if "score" in item else node
    if "lc" in item and isinstance(document := item.get("kwargs"), Mapping):
        return document
    return item


_READ: dict[str, Callable[[Any, str], Any]] = {
    "truth": _documents, "retrieved": _documents, "gold_answers": as_gold_answers, "answer": as_predicted_answer,
}  # fmt: skip


# What to say where a field is missing.


def _no_field(role: str, names: Mapping[str, str], fields: list[str], example: Record, where: str) -> KaratError:
    """No line has what is required: which fields there are, and which of them it may be."""
    name = names[role]
    what = f"the field {shown(name)} is null on every line" if name in fields else f"no line has a field {shown(name)}"
    texts = [field for field in fields if isinstance(field, str)]
    shortened = [field if len(field) <= 60 else f"{field[:59]}…" for field in texts[:_LISTED]]
    more = f" and {len(texts) - _LISTED} more" if len(texts) > _LISTED else ""
    there = f"Its fields are {', '.join(shortened)}{more}." if texts else "It has no fields."
    inner = [
        f"{field}.{inside}" for field in texts if isinstance(found := example.get(field), Mapping) for inside in found
    ]
    taken = {names[other] for other in ALIASES}
    free = [field for field in [*texts, *inner] if field not in taken][:_COMPARED]
    known = [field for also in ALIASES[role] for field in free if field.rpartition(".")[2].casefold() == also]
    # A name that was given is most likely misspelt; our own is most likely another one there.
    likely = [*known, *nearest(name, free)] if name == role else [*nearest(name, free), *known]
    hint = f"{there} Name it: {rename_hint(role, likely[0] if likely else '...')}"
    return KaratError(what, where=where, hint=f"{hint} {_ELSEWHERE.get(role, '')}".rstrip())
