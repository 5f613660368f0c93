"""Readers of the values of fields of results: documents and answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, Self

from karat.documents.answer import as_gold_answers, as_predicted_answer
from karat.errors import KaratError, Place, shown
from karat.errors.suggestions import SuggestedCall
from karat.reading.bytes.rejected_rows import RejectedRows
from karat.reading.columns.spellings import is_spelling
from karat.reading.records.document_parts import unknown_documents, unknown_parts_error
from karat.reading.records.list_texts import is_list_as_text, list_as_text_error
from karat.reading.records.paths import Record
from karat.reading.records.result_fields import PARTS

_CHECKED = 100  # lists of documents
_DOCUMENTS = "Use a list of texts, ids or documents, or {document: number}."


class FieldReader:
    """Reads a field of one record after the other. What is wrong with a value is an error when all are read.

    `given` are the names of fields that the caller gave, for hints. With `rejected`, which collects the errors of
    values, they are None, and only what is wrong with the whole field is an error when all are read.
    """

    def __init__(
        self,
        field: str,
        name: str,
        given: Mapping[str, str] = MappingProxyType({}),
        rejected: RejectedRows | None = None,
    ) -> None:
        self._field, self._name, self._given, self._rejected = field, name, given, rejected
        self._fault: KaratError | None = None
        self._list_as_text: KaratError | None = None
        self._has_others = field == "answer"
        """whether a value is not a list that was written as text"""
        self._example: Any = None
        self._unchecked = _CHECKED if field in PARTS["documents"] else 0
        """the number of lists whose documents are still to be looked at"""
        self._unknown: KaratError | None = None

    @classmethod
    def merged(cls, parts: Sequence[Self]) -> Self:
        """What was found out in all parts of the records, in their order."""
        whole = copy(parts[0])
        for part in parts[1:]:
            whole._fault = whole._fault or part._fault
            whole._list_as_text = whole._list_as_text or part._list_as_text
            whole._has_others |= part._has_others
            whole._example = part._example if whole._example is None else whole._example
            checked = _CHECKED - part._unchecked
            if whole._unknown is None and checked <= whole._unchecked:
                whole._unknown = part._unknown
            whole._unchecked = max(whole._unchecked - checked, 0)
        return whole

    def located(self, locate: Callable[[KaratError], KaratError]) -> Self:
        """The same, with the places of faults in the whole file."""
        whole = copy(self)
        for name in ("_fault", "_list_as_text", "_unknown"):
            if (fault := getattr(self, name)) is not None:
                setattr(whole, name, locate(fault))
        return whole

    def read(self, value: Any, place: Place) -> Any:
        """The value of a record, which is not None."""
        if not self._has_others:
            if not is_list_as_text(self._field, value):
                self._has_others = True
            elif self._list_as_text is None:
                self._list_as_text = list_as_text_error(value, place.inside(self._name))
        if self._example is None and (isinstance(value, Mapping) or _is_list_of_objects(value)):
            self._example = value
        if self._fault is None:
            try:
                read = READERS[self._field](value, place)
                if self._rejected is not None and (unknown := self._error_of_unknown(read, place)):
                    self._rejected.add(unknown)
                    return None
                if self._unchecked and not self._unknown:
                    self._unchecked -= 1
                    self._unknown = self._error_of_unknown(read, place)
                return read
            except KaratError:
                fault = self._error(value, place.inside(self._name))
                if self._rejected is None or fault is None:
                    self._fault = fault
                else:
                    self._rejected.add(self._with_path_of_text(fault))
        return None

    def _error_of_unknown(self, documents: Any, place: Place) -> KaratError | None:
        """The error for documents that have no usual field of a document, if any has none."""
        unknown = unknown_documents(documents) if self._field in PARTS["documents"] else []
        if not unknown:
            return None
        return unknown_parts_error(self._field, unknown, self._given, place.inside(self._name))

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
            if self._unknown is not None:
                raise self._unknown
            return
        raise self._with_path_of_text(self._fault)

    def _with_path_of_text(self, fault: KaratError) -> KaratError:
        """The fault with a hint at the text inside an example, if there is one."""
        inner = _path_of_text(self._example)
        if self._field in PARTS["documents"] or inner is None:
            return fault
        # In many logs the answer is an object, or a list of messages, of which it is the last one.
        fields = {**self._given, self._field: f"{self._name}.{inner}"}
        look = SuggestedCall.look(fault.place.source if fault.place else "")
        return fault.but(hint=["Use the text in it: ", SuggestedCall.again(fields=fields), ".", *look])


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[-1], Mapping)


def _path_of_text(value: Any) -> str | None:
    """Where an object, or the last one of a list, has a text."""
    if _is_list_of_objects(value):
        inner = _path_of_text(value[-1])
        return None if inner is None else f"-1.{inner}"
    texts = [key for key, text in value.items() if isinstance(text, str)] if isinstance(value, Mapping) else []
    usual = next((key for role in ("content", "answer") for key in texts if is_spelling(key, role)), None)
    return usual or next(iter(texts), None)


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
