"""The parts of documents in records: which fields are likely their ids and texts, if they have unusual names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from karat.documents.fields import is_document
from karat.errors import KaratError, Message, MessagePart, Place, shown
from karat.errors.suggestions import SuggestedCall
from karat.reading.columns import listed
from karat.reading.columns.spellings import is_spelling, plain_name
from karat.reading.records.paths import Record, field_value, inner_paths, is_missing

_IDS = ("id", "uri", "url", "key", "path", "name", "source")
"""parts of the names of ids"""


def likely_parts(documents: Iterable[Record]) -> dict[str, str]:
    """The paths of the id and of the content that documents are likely to have.

    >>> likely_parts([{"uri": "d1", "fields": {"body": "Gold is soft."}}])
    {'id': 'uri', 'content': 'fields.body'}
    """
    entries = list(documents)
    values: dict[str, list[Any]] = {}
    for path in paths_of_documents(entries):
        values[path] = [value for entry in entries if not is_missing(value := field_value(entry, path))]
    texts = {path for path, of_path in values.items() if all(isinstance(value, str) for value in of_path)}
    content = longest_text(values, texts)
    ids = [
        path
        for path, of_path in values.items()
        if path != content
        and all(isinstance(value, str | int) and len(str(value).split()) == 1 for value in of_path)
        and (is_spelling(_last(path), "doc") or any(word in plain_name(_last(path)) for word in _IDS))
    ]
    parts = {"id": next(iter(ids), None), "content": content}
    return {part: path for part, path in parts.items() if path is not None}


def longest_text(values: Mapping[str, Sequence[Any]], texts: Iterable[str]) -> str | None:
    """The path of the texts of documents: one with a usual name, or else the one with the longest texts."""
    usual = [path for path in texts if is_spelling(_last(path), "doc_text") and values[path]]
    long = [path for path in texts if any(" " in str(value).strip() for value in values[path])]
    lengths = {path: sum(len(value) for value in values[path]) for path in (usual or long)}
    return max(sorted(lengths), key=lengths.__getitem__, default=None)


def paths_of_documents(documents: Iterable[Record]) -> list[str]:
    """The paths inside documents, without lists and objects."""
    paths = dict.fromkeys(path for document in documents for path in inner_paths(document, 2))
    around = {path.rpartition(".")[0].removesuffix(".*").removesuffix(".0") for path in paths}
    return [path for path in paths if path not in around and ".0." not in path and ".*." not in path]


def unknown_documents(value: Any) -> list[Record]:
    """The objects in a list of documents that have no usual field of a document."""
    entries = value if isinstance(value, list | tuple) else ()
    return [entry for entry in entries if isinstance(entry, Mapping) and not is_document(entry)]


def unknown_parts_error(field: str, documents: Sequence[Record], given: Mapping[str, str], place: Place) -> KaratError:
    """The error for documents that have no usual field of a document."""
    parts = {f"{field}.{part}": path for part, path in likely_parts(documents).items()}
    hint: list[MessagePart] = ["A document is an id, a text, or an object with an id or a content."]
    if parts:
        hint += [" If they have other names, use ", SuggestedCall.again(fields={**given, **parts}), "."]
    what = f"{shown(documents[0])} is not a document"
    return KaratError(what, place=place, hint=[*hint, *SuggestedCall.look(place.source)])


def wrong_part_error(
    wrong: Mapping[str, str], documents: Sequence[Record], given: Mapping[str, str], name: str
) -> KaratError:
    """The error for names of parts of documents that no document has."""
    likely = likely_parts(documents)
    fields = {field: path for field, path in given.items() if field not in wrong}
    fields |= {field: likely[part] for field in wrong if (part := field.rpartition(".")[2]) in likely}
    what = f"no document has a field {shown(next(iter(wrong.values())))}"
    hint: Message = ["Use ", SuggestedCall.again(fields=fields), ".", *SuggestedCall.look(name)]
    return KaratError(f"{what}; the fields are {listed(paths_of_documents(documents))}", place=name, hint=hint)


def _last(path: str) -> str:
    return path.rpartition(".")[2]
