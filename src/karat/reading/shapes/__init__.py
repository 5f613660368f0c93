"""What the logs of other tools look like, and their records with karat's own names.

Each file `TOOL.toml` in this folder describes what one tool writes, and `TOOL.jsonl` or a file like it beside it is a
sample, which the tests read. A new tool is such a file and its sample. A shape says:

- `what`: what it is, for the note that says that it was recognized.
- `records`: the path of the records in an object, if they are not the objects of the file themselves.
- `spans`: the path of the id by which spans are grouped: the spans of a trace become one record with the fields
  `trace_id` and `spans`.
- `parents`: the paths of the id of a span, and of that of the span around it, which the span then has as `parent`.
- `needs`: the paths that records must have. Of several shapes that fit, the one that needs most is taken.
- `lacks`: the paths that they must not have, because another tool's records have them.
- `fields`: where karat's fields are: one path, or several, of which the first is taken that leads to something.
- `attributes`: whether spans have attributes as lists of keys and values, as OTLP writes them.
- `separator`: what is between the entries of a list that was written as text into a table.
- `texts`: the path of an object inside a document; if no path leads to a content, it is the longest text in it.
- `documents`: where the id, content, score and metadata of a document are, if they have other names than usual.
- `scores`: where scores are that the tool computed: see `karat.reading.shapes.scores`. Numbers that are fields of the
  records themselves need no such table.

Paths are those of `karat.reading.records.paths`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Self

from karat.errors import KaratError, Parameter, Place, did_you_mean, enumeration, shown
from karat.reading.bytes.names import FORMATS
from karat.reading.bytes.rejected_rows import RejectedRows, reject
from karat.reading.records.paths import Record, field_value
from karat.reading.shapes.scores import ScorePlaces

_FOLDER = Path(__file__).parent
_FIRST = 100  # records that show which tool wrote them
_ENTRY = re.compile(r"(?P<list>.+?)\.(?P<at>[0-9]{1,6})\.(?P<key>.+)")
_DEEPEST = 20  # lists inside lists in the keys of attributes
_TOP = re.compile(r"[^.\[]*")
_SIMPLE = re.compile(r"[\w.@*()]{1,40}")
_OWN = {"query", "retrieved", "answer"}
"""karat's names of what a system reads and writes: records that have two of them need no shape"""
_ADDED = {"query", "truth", "gold_answers"}
"""karat's names of what people add to a log: they count before the tool's"""


@dataclass(frozen=True)
class Shape:
    """What one tool writes."""

    tool: str
    what: str
    needs: tuple[str, ...]
    fields: Mapping[str, tuple[str, ...]]
    lacks: tuple[str, ...] = ()
    records: str | None = None
    spans: str | None = None
    parents: tuple[str, ...] = ()
    attributes: bool = False
    separator: str | None = None
    texts: str | None = None
    documents: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    scores: ScorePlaces = field(default_factory=ScorePlaces)
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """fields that are read from elsewhere"""

    @classmethod
    def of(cls, tool: str, table: Mapping[str, Any]) -> Self:
        """A shape as it is described in a file."""
        paths = {name: {key: _listed(path) for key, path in table.get(name, {}).items()} for name in _TABLES}
        others = {name: value for name, value in table.items() if name not in _TABLES}
        lists = {name: _listed(table.get(name, ())) for name in ("needs", "lacks", "parents")}
        scores: dict[str, Any] = others.pop("scores", {})
        scores |= {name: _listed(scores[name]) for name in ("inside", "value") if name in scores}
        return cls(tool, scores=ScorePlaces(**scores), **(others | lists | paths))

    def without(self, fields: Collection[str]) -> Self:
        """The same shape without fields that are read from elsewhere; the query of the tool is then the question."""
        others = {name: paths for name, paths in self.fields.items() if name not in fields}
        question = {"question": self.fields["query"]} if "query" in fields and "query" in self.fields else {}
        left_out = {name: paths for name, paths in self.fields.items() if name in fields}
        return replace(self, fields=question | others, left_out=left_out)

    @property
    def used(self) -> tuple[str, ...]:
        """The names of the fields of a record that are read, of which some parts may not be."""
        paths = [*self.needs, *(path for of_field in self.fields.values() for path in of_field)]
        return tuple(dict.fromkeys(_TOP.match(path)[0] for need in paths for path in need.split(" | ")))  # type: ignore[index]  # it matches any path

    def fits(self, record: Record) -> bool:
        """Whether a record has all that it needs."""
        if _first(record, self.lacks) is not None:
            return False
        return all(_first(record, need.split(" | ")) is not None for need in self.needs)

    def fits_any(self, source: Iterable[tuple[Place, Record]]) -> bool:
        """Whether any of the records in the objects of a file has all that it needs."""
        try:
            return any(self.fits(record) for _, record in self.records_of(source))
        except KaratError:  # there are no records where this tool has them, or an attribute cannot be read
            return False

    def records_of(
        self, source: Iterable[tuple[Place, Record]], rejected: RejectedRows | None = None
    ) -> Iterator[tuple[Place, Record]]:
        """The records in the objects of a file, with the names that the tool gives them."""
        inner = source if self.records is None else inner_records(source, self.records, rejected)
        inner = ((place, _with_attributes(record)) for place, record in inner) if self.attributes else inner
        records = iter(inner) if self.spans is None else _traces(inner, self.spans)
        return ((place, _with_parents(record, *self.parents)) for place, record in records) if self.parents else records

    def read(self, record: Record, place: Place | str = "") -> dict[str, Any]:
        """A record with karat's names, beside all other fields."""
        values = {name: _first(record, self._paths(name), place) for name in self.fields}
        if "query" in record and "query" in self.fields and "query" not in self.fields["query"]:
            values = {"question": _first(record, self.fields["query"], place)} | values
        documents = {name: self._with_documents(values[name], place) for name in _DOCUMENTS & values.keys()}
        return {**record, **{name: value for name, value in (values | documents).items() if value is not None}}

    def _paths(self, name: str) -> tuple[str, ...]:
        paths = self.fields[name]
        return (name, *paths) if name in _ADDED and name not in paths else paths

    def _with_documents(self, value: Any, place: Place | str) -> Any:
        if isinstance(value, str) and self.separator and not value.startswith("["):
            return value.split(self.separator)
        documents = with_parts(value, self.documents, place)
        if self.texts is None or not isinstance(documents, list):
            return documents
        return [_with_longest_text(document, self.texts, place) for document in documents]

    def paths_read(
        self, source: Iterable[tuple[Place, Record]], rejected: RejectedRows | None = None
    ) -> dict[str, str]:
        """Where each field of the first records is read from."""
        examples = [record for _, record in islice(self.records_of(source, rejected), _FIRST)]
        paths = {
            name: next(
                (path for example in examples for path in self._paths(name) if _first(example, [path]) is not None),
                None,
            )
            for name in self.fields
        }
        return {name: path for name, path in paths.items() if path is not None}

    def text_notes(
        self, source: Iterable[tuple[Place, Record]], place: Place | str, rejected: RejectedRows | None = None
    ) -> tuple[str, ...]:
        """That the contents of the first documents are read from texts whose names are not usual."""
        if self.texts is None or "retrieved" not in self.fields:
            return ()
        examples = islice(self.records_of(source, rejected), _FIRST)
        lists = [_first(record, self._paths("retrieved")) for _, record in examples]
        documents = [with_parts(entries, self.documents, place) for entries in lists if isinstance(entries, list)]
        names = (_longest_text(document, self.texts, place) for entries in documents for document in entries)
        name = next((name for name in names if name is not None), None)
        if name is None:
            return ()
        text = f"the longest text of {self.texts}, such as {shown(name)}, is the content of a document"
        return (f"{place}: {text}; --field retrieved.content={self.texts}.NAME reads another one",)

    def note(self, paths: Mapping[str, str], place: Place | str) -> str:
        """What was recognized, and where the fields are read from; long paths are left out."""
        read = [
            f"{name} from {path}" if _SIMPLE.fullmatch(path) and path != name else name for name, path in paths.items()
        ]
        return f"{place}: this is read as {self.what}: {enumeration(read, 'and')}"


_TABLES = ("fields", "documents")
_DOCUMENTS = {"retrieved", "truth"}


def inner_records(
    source: Iterable[tuple[Place, Record]], path: str, rejected: RejectedRows | None = None
) -> Iterator[tuple[Place, Record]]:
    """The records in a list inside the objects of a file; it is an error if an object has no such list.

    `rejected` collects the errors of such objects, and of entries that are not records; they are left out.
    """
    for place, value in source:
        inner = field_value(value, path, place)
        if not isinstance(inner, list):
            reject(KaratError(f"there are no records in {path}", place=place), rejected)
            continue
        for at, record in enumerate(inner):
            inside = place.inside(f"{path}.{at}".replace("*.", ""))
            if not isinstance(record, Mapping):
                what = f"{shown(record)} is not a record"
                reject(KaratError(what, place=inside, hint="A record is an object."), rejected)
                continue
            yield inside, record


def with_parts(value: Any, paths: Mapping[str, str | Sequence[str]], place: Place | str) -> Any:
    """A list of documents with karat's names, by the path of each part of a document."""
    if not paths or not isinstance(value, list):
        return value
    return [_document(entry, paths, place) if isinstance(entry, Mapping) else entry for entry in value]


def _document(entry: Record, paths: Mapping[str, str | Sequence[str]], place: Place | str) -> Record:
    parts = {name: _first(entry, _listed(of_part), place) for name, of_part in paths.items()}
    return {**entry, **{name: value for name, value in parts.items() if value is not None}}


def _with_longest_text(document: Any, path: str, place: Place | str) -> Any:
    """A document without a content, with the longest text of an object inside it as its content."""
    name = _longest_text(document, path, place)
    return document if name is None else {**document, "content": field_value(document, f"{path}.{name}", place)}


def _longest_text(document: Any, path: str, place: Place | str) -> str | None:
    """The name of the longest text of an object inside a document that has no content."""
    inner = field_value(document, path, place) if isinstance(document, Mapping) else None
    if not isinstance(inner, Mapping) or document.get("content") is not None:
        return None
    texts = {name: len(text) for name, text in inner.items() if isinstance(text, str) and " " in text.strip()}
    return max(texts, key=texts.__getitem__, default=None)


def recognize(source: Iterable[tuple[Place, Record]], tool: str | None = None) -> Shape | None:
    """The shape of the first records, if they are those of a tool whose names are not karat's own; or of this tool."""
    return recognize_records([record for _, record in islice(source, _FIRST)], tool)


def recognize_records(records: Sequence[Record], tool: str | None = None) -> Shape | None:
    """The shape of some records, if they are those of a tool whose names are not karat's own; or of this tool."""
    if not records or (tool is None and any(len(_OWN & record.keys()) > 1 for record in records)):
        return None
    source = [(Place(""), record) for record in records]
    known = [shape for shape in shapes() if tool in (None, shape.tool)]
    fitting = [shape for shape in known if shape.fits_any(source)]
    return max(fitting, key=lambda shape: len(shape.needs), default=None)


def tools() -> list[str]:
    """The tools whose logs are known."""
    return sorted({shape.tool for shape in shapes()})


def check_tool_or_format(name: str, parameter: str = "format") -> str:
    """The name of a tool or of a format of files, which is the value of a parameter."""
    if name not in FORMATS and name not in tools():
        formats = f"The formats are {enumeration(FORMATS, 'and')}, and for logs of tools {enumeration(tools(), 'and')}."
        hint = f"{did_you_mean(name, [*FORMATS, *tools()])} {formats}"
        raise KaratError([Parameter(parameter, name), " is not a format"], hint=hint.strip())
    return name


@cache
def shapes() -> tuple[Shape, ...]:
    """All shapes that are known."""
    files = sorted(_FOLDER.glob("*.toml"))
    return tuple(
        Shape.of(file.stem, table) for file in files for table in tomllib.loads(file.read_text("utf-8"))["shape"]
    )


def _traces(spans: Iterable[tuple[Place, Record]], key: str) -> Iterator[tuple[Place, Record]]:
    """The spans of each trace as one record. A span that belongs to no trace is a record of its own."""
    traces: dict[str | Place, tuple[Place, list[Record]]] = {}
    for place, span in spans:
        trace = field_value(span, key, place)
        traces.setdefault(place if trace is None else str(trace), (place, []))[1].append(span)
    return (
        (place, {"trace_id": trace if isinstance(trace, str) else None, "spans": of_trace})
        for trace, (place, of_trace) in traces.items()
    )


def _with_parents(record: Record, key: str, parent: str) -> Record:
    """A trace in which each span has the span around it as `parent`."""
    listed = _first(record, ("spans", "data.spans"))
    spans = [span for span in listed if isinstance(span, Mapping)] if isinstance(listed, list) else []
    by_id = {str(name): span for span in spans if (name := field_value(span, key)) is not None}
    return {**record, "spans": [{**span, "parent": by_id.get(str(field_value(span, parent)))} for span in spans]}


def _with_attributes(span: Record) -> Record:
    """A span of OTLP whose attributes are an object: a key `documents.0.id` is an object in a list."""
    attributes: dict[str, Any] = {}
    listed = span.get("attributes")
    for entry in listed if isinstance(listed, list) else ():
        if isinstance(entry, Mapping) and isinstance(key := entry.get("key"), str):
            attributes[key] = _attribute_value(entry.get("value"))
    return {**span, "attributes": _nested(attributes)}


def _attribute_value(value: Any) -> Any:
    """A value of OTLP: `{"stringValue": "gold"}`, or `{"arrayValue": {"values": [...]}}`."""
    if not isinstance(value, Mapping) or not value:
        return value
    [inner] = islice(value.values(), 1)
    if isinstance(inner, Mapping) and isinstance(inner.get("values"), list):
        return [_attribute_value(entry) for entry in inner["values"]]
    return inner


def _nested(flat: Mapping[str, Any], depth: int = _DEEPEST) -> dict[str, Any]:
    """Keys with numbers as lists: `{"documents.0.id": "d1"}` is `{"documents": [{"id": "d1"}]}`.

    >>> _nested({"input.value": "?", "documents.0.document.id": "d1", "documents.1.document.id": "d2"})
    {'input.value': '?', 'documents': [{'document.id': 'd1'}, {'document.id': 'd2'}]}
    """
    nested: dict[str, Any] = {}
    lists: dict[str, dict[int, dict[str, Any]]] = {}
    for key, value in flat.items():
        if depth and (entry := _ENTRY.fullmatch(key)):
            lists.setdefault(entry["list"], {}).setdefault(int(entry["at"]), {})[entry["key"]] = value
        else:
            nested[key] = value
    return nested | {
        name: [_nested(entries[at], depth - 1) for at in sorted(entries)] for name, entries in lists.items()
    }


def _first(record: Record, paths: Sequence[str], place: Place | str = "") -> Any:
    """The value of the first path that leads to something; an empty list is nothing."""
    values = (field_value(record, path, place) for path in paths)
    return next((value for value in values if value is not None and not (isinstance(value, list) and not value)), None)


def _listed(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)
