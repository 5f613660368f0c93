"""Fields that look like a field of results: by their names, wherever they are in a record, and by what they contain.

Errors about missing fields suggest them, and a note names those that are not used.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from numbers import Real
from types import MappingProxyType
from typing import Any, NamedTuple

from karat.documents.answer import as_gold_answers
from karat.documents.fields import is_document
from karat.documents.ids import all_text
from karat.errors import KaratError, Place, nearest, shown
from karat.reading.columns import first_value
from karat.reading.columns.spellings import is_spelling, plain_name
from karat.reading.records.field_readers import documents_of_record
from karat.reading.records.list_texts import is_list_as_text, parsed_list
from karat.reading.records.paths import Record, field_value, inner_paths, is_missing
from karat.reading.records.records import rename_options
from karat.reading.records.result_fields import PARTS, ROLES, names_by_field

_EXAMPLES = 100  # records that show what a field contains
_MOST = 500  # paths that are looked at
_FIRST = 20  # records that show whether they may be results
_DEEPEST_RECORDS = 2  # objects around a list of records
_IDS = {"id", "_id"}
_GOLD = ("gold", "truth", "relevant", "reference", "expected", "ideal", "target", "qrel", "correct", "positive", "judg")
_WORDS = {
    "query": ("query", "question", "prompt", "input", "topic", "user"),
    "retrieved": (
        "retriev", "context", "doc", "passage", "chunk", "source", "hits", "node", "result", "search", "snippet",
        "evidence", "ranking",
    ),
    "truth": _GOLD,
    "gold_answers": _GOLD,
    "answer": ("answer", "response", "output", "generat", "pred", "completion", "reply", "result", "assistant",
               "choices"),
}  # fmt: skip
"""parts of names, by field"""
_SHORT = {
    "query": ("q",), "answer": ("a", "ans"), "truth": ("gt", "ref", "refs"), "gold_answers": ("gt", "ref", "refs"),
}  # fmt: skip
"""whole names, by field"""
LOOKS_LIKE = {
    "query": "a query",
    "retrieved": "retrieved documents",
    "truth": "gold documents",
    "gold_answers": "gold answers",
    "answer": "an answer",
}
"""what a field of results is called in a sentence"""
_ORDER = ("query", "retrieved", "answer", "truth", "gold_answers")


class UnusedField(NamedTuple):
    """A field of the records that is not read: its path, and the field of results that it looks like."""

    path: str
    field: str

    def note(self, place: Place | str) -> str:
        """What it looks like, and how to use it.

        >>> UnusedField("out.docs", "retrieved").note("log.jsonl").partition(";")[0]
        "log.jsonl: the field 'out.docs' looks like retrieved documents, and is not used"
        """
        looks = f"the field {shown(self.path)} looks like {LOOKS_LIKE[self.field]}"
        return f"{place}: {looks}, and is not used; {rename_options({self.field: self.path})} reads it"


def unused_fields(records: Iterable[Record], names: Mapping[str, str], used: Collection[str] = ()) -> list[UnusedField]:
    """The fields that look like documents, gold or an answer, and are neither in `names`, by field, nor `used`.

    Those that only have what is also in a field that is used are left out.

    >>> record = {"query": "q1", "answer": "Soft.", "found": [{"text": "Gold is soft."}], "tags": ["metal"]}
    >>> unused_fields([record], {"query": "query", "answer": "answer"})
    [UnusedField(path='found', field='retrieved')]
    """
    examples = list(islice(records, _EXAMPLES))
    paths = [path for path in _paths(examples) if is_free(path, [*names.values(), *used]) and ".0." not in path]
    missing = {field for field in _ORDER[1:] if field not in names}
    unused: list[UnusedField] = []
    for path in paths:
        if not is_free(path, [field.path for field in unused]):
            continue
        values = _values(examples, path)
        # Inside of other objects, a usual name means little if there is another field.
        fields = [field for field in _ORDER[1:] if "." not in path or field in missing]
        by_name = [field for field in fields if is_spelling(_last(path), ROLES[field]) and _fits(field, path, values)]
        if by_name:
            unused.append(UnusedField(path, next((field for field in by_name if field in missing), by_name[0])))
        elif values and all(map(_are_texts_of_documents, values)):
            unused.append(UnusedField(path, "truth" if _has_word(path, "truth") else "retrieved"))
    return [field for field in unused if not _is_copy(examples, field.path, names.get(field.field))]


def _is_copy(examples: Iterable[Record], path: str, used: str | None) -> bool:
    """Whether all that a field contains is also in a field that is used."""
    if used is None:
        return False
    return all(_texts(field_value(record, path)) <= _texts(field_value(record, used)) for record in examples)


def _texts(value: Any) -> set[str]:
    """The ids and texts of documents, or answers."""
    entries = value if isinstance(value, list | tuple) else [] if value is None else [value]
    parts = [
        first_value((entry,), role) if isinstance(entry, Mapping) else entry
        for entry in entries
        for role in ("content", "doc")
    ]
    return {str(part) for part in parts if part is not None}


def likely_fields(
    records: Iterable[Record],
    missing: Collection[str],
    used: Collection[str],
    wrong: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str]:
    """The paths that missing fields of results most likely have; those that are `used` are not among them.

    `wrong` has the names that they do not have, and which may be misspelt.

    >>> record = {"ask": "How soft?", "out": {"docs": [{"id": "d1"}], "text": "Soft."}, "gold_docs": ["d1"]}
    >>> likely_fields([record, {**record, "ask": "How hard?"}], ["query", "retrieved", "truth", "answer"], [])
    {'query': 'ask', 'retrieved': 'out.docs', 'truth': 'gold_docs'}
    """
    examples = list(islice(records, _EXAMPLES))
    paths = _paths(examples)
    likely: dict[str, str] = {}
    for field in (field for field in _ORDER if field in missing):
        taken = [*used, *likely.values()]
        free = [path for path in paths if is_free(path, taken)]
        close = nearest(wrong.get(field, field), free)
        ranked = sorted(free, key=lambda path: (-_affinity(field, path), path.count(".")))
        by_name = [path for path in close if _fits(field, path, _values(examples, path))]
        by_content = (path for path in ranked if _is_likely(field, path, _values(examples, path)))
        # A name that the user gave is probably misspelt; for a default name, the field probably has another name.
        is_given = wrong.get(field, field) != field
        found = next(iter(by_name if is_given else ()), None) or next(by_content, None) or next(iter(by_name), None)
        if found:
            likely[field] = found
    if "query" in missing and "query" not in likely:
        free = [path for path in paths if "." not in path and is_free(path, [*used, *likely.values()])]
        free = [path for path in free if not _has_word(path, "truth")]
        distinct = [path for path in free if _fits("query", path, _values(examples, path))]
        if len(distinct) == 1 and (len(examples) > 1 or all_text(_values(examples, distinct[0]))):
            likely = {"query": distinct[0], **likely}
    return likely


def paths_of_records(value: Record) -> list[str]:
    """Where an object has lists of records that may be results, unless it is a record itself.

    Those whose fields have usual names count before others.

    >>> paths_of_records({"run": {"id": 3, "items": [{"question": "How soft?", "answer": "Soft"}]}})
    ['run.items']
    """
    names = names_by_field(value)
    if _has_output(names) and names["query"] - _IDS:
        return []
    lists = [*_lists_of_objects(value, _DEEPEST_RECORDS)]
    usual = [path for path, records in lists if (names := names_by_field(records[0]))["query"] and _has_output(names)]
    if usual or _has_output(names_by_field(value)):
        return usual
    complete = [path for path, records in lists if may_be_results(records)]
    return complete or [path for path, records in lists if _are_outputs(records)]


def maps_queries_to_documents(value: Record) -> bool:
    """Whether this may be `{query: {doc: number}}` or `{query: [doc, ...]}`, as BEIR and ranx save them.

    >>> maps_queries_to_documents({"q1": ["d1"]}), maps_queries_to_documents({"run": {"items": [{"q": "How soft?"}]}})
    (True, False)
    """
    rows = [*value.values()]
    are_lists = all(isinstance(row, Mapping | list) for row in rows)
    return are_lists and 2 * sum(map(_may_be_documents, rows)) > len(rows)  # values may be wrong, or cut off


def _may_be_documents(row: Mapping[str, Any] | list[Any]) -> bool:
    if isinstance(row, list):
        return all(is_document(entry) if isinstance(entry, Mapping) else not isinstance(entry, list) for entry in row)
    return not any(isinstance(number, Mapping | list) for number in row.values())


def may_be_results(records: Iterable[Record]) -> bool:
    """Whether both fields of a part are likely to be in records: gold and retrieved documents, or two answers."""
    examples = list(islice(records, _FIRST))
    return any(len(likely_fields(examples, of_part, ())) == len(of_part) for of_part in PARTS.values())


def has_outputs(records: Iterable[Record]) -> bool:
    """Whether records are likely to have retrieved documents or answers."""
    return bool(likely_fields(islice(records, _FIRST), ("retrieved", "answer"), ()))


def _are_outputs(records: Iterable[Record]) -> bool:
    """Whether records are likely to have a query and an output."""
    likely = likely_fields(islice(records, _FIRST), ("query", "retrieved", "answer"), ())
    return "query" in likely and len(likely) > 1


def _has_output(names: Mapping[str, set[str]]) -> bool:
    return bool(names["retrieved"] or names["answer"])


def _lists_of_objects(value: Record, depth: int) -> Iterator[tuple[str, list[Record]]]:
    """The lists of objects inside an object, by their paths."""
    for name, inner in islice(value.items(), _MOST):
        if isinstance(inner, list) and inner and all(isinstance(entry, Mapping) for entry in inner[:_FIRST]):
            yield name, inner
        elif isinstance(inner, Mapping) and depth:
            yield from ((f"{name}.{path}", records) for path, records in _lists_of_objects(inner, depth - 1))


def _paths(examples: Sequence[Record]) -> list[str]:
    return list(islice(dict.fromkeys(path for example in examples for path in inner_paths(example)), _MOST))


def is_free(path: str, taken: Iterable[str]) -> bool:
    """Whether a path is none of these, and neither inside nor around any of them."""
    return not any(f"{path}.".startswith(f"{other}.") or f"{other}.".startswith(f"{path}.") for other in taken)


def _values(examples: Iterable[Record], path: str) -> list[Any]:
    values = []
    with suppress(KaratError):  # an attribute that cannot be read
        values = [value for example in examples if not is_missing(value := field_value(example, path))]
    return values


def _is_likely(field: str, path: str, values: Sequence[Any]) -> bool:
    if not _fits(field, path, values):
        return False
    return bool(_affinity(field, path)) or (
        field == "retrieved" and not _has_word(path, "truth") and any(values) and all(map(_are_objects, values))
    )


def _affinity(field: str, path: str) -> int:
    """How well the name of a path fits a field: 0 if not at all."""
    is_gold = field in ("truth", "gold_answers")
    if is_gold != _has_word(path, "truth"):
        return 2 * is_spelling(_last(path), ROLES[field])
    return 3 if is_spelling(_last(path), ROLES[field]) else int(_has_word(path, field))


def _has_word(path: str, field: str) -> bool:
    is_short = any(plain_name(step) in _SHORT.get(field, ()) for step in path.split("."))
    return is_short or any(word in plain_name(path) for word in _WORDS[field])


def _last(path: str) -> str:
    return path.rpartition(".")[2]


def _fits(field: str, path: str, values: Sequence[Any]) -> bool:
    """Whether some values can be read as a field."""
    if not values or (field == "query" and ".*." in path):
        return False
    if field == "query":
        are_ids = all(isinstance(value, str | int) and not isinstance(value, bool) for value in values)
        return are_ids and len({*map(str, values)}) == len(values)
    if field == "answer":
        return all_text(values)
    values = [_as_list(field, value) for value in values]
    is_usual = is_spelling(_last(path), "retrieved")
    if field == "retrieved" and not is_usual and any(isinstance(value, str) for value in values):
        return False
    if field == "truth" and not is_spelling(_last(path), "truth") and any(map(_is_sentence, values)):
        return False  # an answer
    if any(isinstance(value, Mapping) and not _are_numbers(value) for value in values):
        return False
    read = as_gold_answers if field == "gold_answers" else documents_of_record
    try:
        for value in values:
            read(value, "")
    except KaratError:
        return False
    return True


def _is_sentence(value: Any) -> bool:
    return isinstance(value, str) and len(value.split(maxsplit=1)) > 1


def _as_list(field: str, value: Any) -> Any:
    """A list that was written as text; any other value as it is."""
    with suppress(KaratError):
        return parsed_list(value, "") if is_list_as_text(field, value) else value
    return value


def _are_numbers(value: Mapping[Any, Any]) -> bool:
    return all(isinstance(number, Real) and not isinstance(number, bool) for number in value.values())


def _are_objects(value: Any) -> bool:
    """Whether this is a list of objects that may be documents: they have a text or an id, and no speaker."""
    if not isinstance(value, list | tuple):
        return False
    return all(
        isinstance(entry, Mapping)
        and "role" not in entry
        and any(first_value((entry,), role) is not None for role in ("content", "doc"))
        for entry in value
    )


def _are_texts_of_documents(value: Any) -> bool:
    """Whether this is a list of objects with texts."""
    if not value or not _are_objects(value):
        return False
    texts = [first_value((entry,), "content") for entry in value]
    return all(map(_is_sentence, texts))
