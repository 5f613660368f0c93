"""The results of a RAG system, one JSON object per question: its truth, and what was retrieved for it."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from karat.document import identifier, refuse_half_characters
from karat.errors import KaratError, shown
from karat.names import did_you_mean, nearest
from karat.sources.pieces import TextSource

__all__ = ["Results", "is_results", "read_results"]

Record = Mapping[str, Any]

ROLES = ("query", "truth", "retrieved", "gold_answers", "answer", "contexts")

# What other systems call the fields that have to be there.
_ALSO = {
    "query": ("question", "prompt", "input", "user_input"),
    "truth": (
        "ground_truth", "gold", "relevant", "reference_contexts", "expected", "gold_docs", "ground_truth_documents",
    ),
    "retrieved": (
        "source_nodes", "documents", "docs", "contexts", "retrieved_contexts", "results", "retrieved_documents",
        "retrieved_chunks",
    ),
}  # fmt: skip
_MEND = 'Each line is one object: {"query": "...", "truth": [...], "retrieved": [...]}.'
_DOCUMENTS = "Give a list of texts, of ids, or of documents, or {document: number}."
_LISTED = 20  # so many names of fields go into a message,
_COMPARED = 1000  # and so many are compared with a wrong one: objects keyed by document may have any number


@dataclass(frozen=True, eq=False)
class Results:
    """The truth and the run that one file of results holds, each by query.

    A query's documents are a list of texts, ids and mappings, or `{document: number}`, the number being the grade in
    the truth and the score in the run. `name` is what messages call the results.
    """

    name: str
    truth: dict[str, Any]
    run: dict[str, Any]


def read_results(
    source: str | os.PathLike[str] | TextSource | Sequence[Record], fields: Mapping[str, str] | None = None
) -> Results:
    """Results from a file of JSON lines, or from a list of records.

    `fields` has the names of fields that are called otherwise: `{"retrieved": "response.source_nodes"}`. A dot goes
    into an object. A query without a truth is in the run only; one for which nothing is logged, in the truth only.

    >>> results = read_results([{"query": "q1", "truth": ["a", "b"], "docs": ["b", "c"]}], {"retrieved": "docs"})
    >>> results.truth, results.run
    ({'q1': ['a', 'b']}, {'q1': ['b', 'c']})
    """
    if isinstance(source, str | os.PathLike):
        return read_results(TextSource(os.fspath(source)), fields)
    names = _names(fields)
    if isinstance(source, TextSource):
        try:
            return _collected(source.name, _records_of_file(source, names), names)
        except KaratError:
            source.check()
            raise
    if isinstance(source, Sequence) and not isinstance(source, str | bytes):
        return _collected("the results", _records_of_list(source), names)
    raise KaratError(f"{shown(source)} is no results", mend="Results are a path, or a list of records (dictionaries).")


def is_results(source: TextSource) -> bool:
    """Whether this is a file of results, as far as its first line that is not blank shows: it begins with `{`."""
    return source.first_byte() == b"{"


def _names(fields: Mapping[str, str] | None) -> dict[str, str]:
    """What each field is called."""
    for role, name in (fields or {}).items():
        if role not in ROLES:
            mend = f"{did_you_mean(str(role), ROLES)} The fields are {', '.join(ROLES)}.".strip()
            raise KaratError(f"{shown(role)} is no field of results", mend=mend)
        if not isinstance(name, str) or not name:
            raise KaratError(f"{shown(name)} is not the name of a field", mend=f"Give the name of {role} as text.")
    return {role: role for role in ROLES} | dict(fields or {})


def _value(record: Record, name: str) -> Any:
    """A field of a record, None where it has none; a dot goes into an object, unless a key is written so."""
    if name in record:
        return record[name]
    outer, dot, inner = name.partition(".")
    inside = record.get(outer) if dot else None
    return _value(inside, inner) if isinstance(inside, Mapping) else None


# Records, each with its place.


def _records_of_list(records: Sequence[Record]) -> Iterator[tuple[str, Record]]:
    for at, record in enumerate(records):
        where = f"the results[{at}]"
        if not isinstance(record, Mapping):
            raise KaratError(f"{shown(record)} is not a record", where=where, mend="A record is a dictionary.")
        yield where, record


def _records_of_file(source: TextSource, names: Mapping[str, str]) -> Iterator[tuple[str, Record]]:
    # A field that comes twice is looked for only where its name does: to look at every key of every object makes
    # parsing take half as long again. A quotation mark in a text is escaped, so that texts are not taken for names.
    last = [json.dumps(names[role].rpartition(".")[2], ensure_ascii=False) for role in _ALSO]
    quoted = [name.encode("utf-8", "surrogatepass") for name in last]
    first = True
    for number, line in source.lines():
        if not line:
            continue
        where = f"{source.name}:{number}"
        suspicious = any(line.count(name) > 1 for name in quoted)
        record = _parsed(line, _CAREFUL if suspicious else _QUICK, where, first)
        if not isinstance(record, dict):
            raise _no_object(line, f"{shown(record)} is not an object", where, first)
        yield where, record
        first = False


def _parsed(line: bytes, decoder: json.JSONDecoder, where: str, first: bool) -> Any:
    """What a line holds."""
    if b"\0" in line:
        mend = "This is binary data, or UTF-16: save the file as UTF-8."
        raise KaratError("there is a NUL byte in this line", where=where, mend=mend)
    try:
        text = line.decode()
        return decoder.decode(text)
    except UnicodeDecodeError as error:
        bad = shown(line[error.start : error.start + 1])
        mend = "Save the file as UTF-8."
        raise KaratError(f"not UTF-8: {bad} in column {error.start + 1}", where=where, mend=mend) from None
    except json.JSONDecodeError as error:
        what = f"not JSON: {error.msg} in column {error.colno}"
        raise _no_object(line, what, where, first, cut=error.pos >= len(text)) from None
    except RecursionError:
        raise KaratError("objects are nested too deeply", where=where, mend=_MEND) from None
    except KaratError as error:  # from the decoder's hooks, which do not know the place
        raise KaratError(error.what, where=where, mend=error.mend) from None
    except ValueError:
        mend = "Write it as text."
        raise KaratError("there is a number of thousands of digits", where=where, mend=mend) from None


def _no_object(line: bytes, what: str, where: str, first: bool, cut: bool = False) -> KaratError:
    """A line that holds no object. The first one shows whether this is JSON that is not in lines."""
    mend = _MEND
    if first and line.lstrip().startswith(b"["):
        what = "this is one list, not one object per line"
        mend = "Put each object on a line of its own: jq -c '.[]' results.json > results.jsonl"
    elif first and cut and line.lstrip().startswith(b"{"):
        what = "this object does not end on its line"
        mend = "Put each object on one line: jq -c . results.json > results.jsonl"
    return KaratError(what, where=where, mend=mend)


def _no_constant(name: str) -> None:
    raise KaratError(f"not JSON: {name} is no number there", mend="Write null, or leave it out.")


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise KaratError(f"the key {shown(key)} comes twice in one object", mend="Keep one of them.")
        found[key] = value
    return found


_QUICK = json.JSONDecoder(parse_constant=_no_constant)
_CAREFUL = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_each_key_once)


# Records into a truth and a run.


def _collected(name: str, records: Iterable[tuple[str, Record]], names: Mapping[str, str]) -> Results:
    truth: dict[str, Any] = {}
    run: dict[str, Any] = {}
    places: dict[str, str] = {}
    fields: dict[str, None] = {}
    example: Record | None = None
    lacking = None
    for where, record in records:
        example = record if example is None else example
        fields.update(dict.fromkeys(record))
        value = _value(record, names["query"])
        if value is None:
            lacking = lacking or where
        if lacking and (places or value is not None):
            raise KaratError(f"there is no {shown(names['query'])}", where=lacking, mend="Every line needs a query.")
        # Where not even the first line has a query, it has to be seen whether any has.
        if value is not None:
            query = _new_query(value, where, places)
            places[query] = where
            _take(record, names["truth"], truth, query, where)
            _take(record, names["retrieved"], run, query, where)
    if example is None:
        raise KaratError("there are no results", where=name, mend=_MEND)
    for role, found in (("query", places), ("truth", truth), ("retrieved", run)):
        if not found:
            raise _no_field(role, names, list(fields), example, name)
    return Results(name, truth, run)


def _new_query(value: object, where: str, places: Mapping[str, str]) -> str:
    query = identifier(value, where)
    refuse_half_characters([query], where)
    if query in places:
        raise KaratError(
            f"query {shown(query)} is in {places[query]} already",
            where=where,
            mend="Keep one line of each query, or take another field for it: " + _option("query", "..."),
        )
    return query


def _take(record: Record, name: str, into: dict[str, Any], query: str, where: str) -> None:
    value = _value(record, name)
    if value is not None:
        into[query] = _documents(value, f"{where}, {name}")


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
            mend = "Grades and scores are numbers: write 1 and 0."
            raise KaratError(f"document {shown(doc)} has {value[doc]} for its number", where=where, mend=mend)
        return value
    if isinstance(value, list | tuple):
        return [item if type(item) is str else _document(item, where, at) for at, item in enumerate(value)]
    raise KaratError(f"{shown(value)} is not a list of documents", where=where, mend=_DOCUMENTS)


def _document(item: object, where: str, at: int) -> object:
    if type(item) is dict or isinstance(item, Mapping):  # asking for a Mapping is slow, and mostly it is a dict
        return _unwrapped(item)
    if isinstance(item, list | tuple) and len(item) == 3 and isinstance(item[0], str) and item[0]:
        return item  # a span, (document, start, end), as far as it looks
    number = isinstance(item, Real) and (isinstance(item, bool) or not isinstance(item, Integral))
    if item is None or number or isinstance(item, bytes | list | tuple | set | frozenset):
        mend = 'A document is a text, an id, or an object such as {"id": "...", "content": "..."}.'
        raise KaratError(f"{shown(item)} is no document", where=f"{where}[{at}]", mend=mend)
    return item


def _unwrapped(item: Record) -> Record:
    """The document itself, where LlamaIndex put it beside its score, or LangChain with what makes an object of it."""
    if "node" in item and isinstance(node := item["node"], Mapping):
        return {**node, "score": item["score"]} if "score" in item else node
    if "lc" in item and isinstance(document := item.get("kwargs"), Mapping):
        return document
    return item


# What to say where a field is missing.


def _no_field(role: str, names: Mapping[str, str], fields: list[str], example: Record, where: str) -> KaratError:
    """No line has what is needed: which fields there are, and which of them it may be."""
    name = names[role]
    what = f"the field {shown(name)} is null on every line" if name in fields else f"no line has a field {shown(name)}"
    texts = [field for field in fields if isinstance(field, str)]
    shortened = [field if len(field) <= 60 else f"{field[:59]}…" for field in texts[:_LISTED]]
    more = f" and {len(texts) - _LISTED} more" if len(texts) > _LISTED else ""
    there = f"Its fields are {', '.join(shortened)}{more}." if texts else "It has no fields."
    inner = [
        f"{field}.{inside}" for field in texts if isinstance(found := example.get(field), Mapping) for inside in found
    ]
    taken = {names[other] for other in _ALSO}
    free = [field for field in [*texts, *inner] if field not in taken][:_COMPARED]
    known = [field for also in _ALSO[role] for field in free if field.rpartition(".")[2].casefold() == also]
    # A name that was given is most likely misspelt; our own is most likely another one there.
    likely = [*known, *nearest(name, free)] if name == role else [*nearest(name, free), *known]
    return KaratError(what, where=where, mend=f"{there} Name it: {_option(role, likely[0] if likely else '...')}")


def _option(role: str, name: str) -> str:
    """How to name a field, on the command line and in Python."""
    in_python = json.dumps({role: name}, ensure_ascii=False)
    return f"--field {shlex.quote(f'{role}={name}')} (in Python fields={in_python})."
