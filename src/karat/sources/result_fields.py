"""The fields of results: which of them to read, by karat's names, given names or the usual spellings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from numbers import Real
from typing import Any, Literal

from karat.documents.answer import as_gold_answers
from karat.documents.ids import all_text
from karat.errors import KaratError, Place, enumeration, nearest, shown
from karat.files.kinds import JSON_IS_READ, QUERIES_TO_DOCUMENTS
from karat.sources.attributes import field_names_of
from karat.sources.columns import Guess, IfPresent, absence_note, guesses_note
from karat.sources.records import Record, field_names, field_value, rename_hint
from karat.sources.spellings import ALIASES, plain_fields, plain_name, with_plain_name

Part = Literal["documents", "answers"]
PARTS: dict[Part, tuple[str, str]] = {"documents": ("truth", "retrieved"), "answers": ("gold_answers", "answer")}
"""The parts of results that can be evaluated, and the two fields that each needs."""

_ELSEWHERE = {
    "query": "If gold answers and predicted answers are in two files, use `karat answers`.",
    "truth": "To evaluate only answers, the fields are gold_answers and answer.",
}
_EITHER = {*ALIASES["truth"]} & {*ALIASES["gold_answers"]}  # names of gold documents, and of gold answers
_CHECKED = 1000  # values of a field that show what it contains
_MAX_LISTED = 20  # names of fields in a message
_MAX_COMPARED = 1000  # names compared with a wrong one: an object keyed by document may have any number of keys


@dataclass(frozen=True)
class ResultFields:
    """The name of each field in the records, the names of all their fields, and notes on names that were guessed."""

    names: dict[str, str]
    present: list[str]
    notes: tuple[str, ...] = ()


def names_by_field(names: Collection[str], given: Mapping[str, str] | None = None) -> dict[str, set[str]]:
    """The names that each field of results may have here: the given one if it is there, otherwise the usual ones.

    >>> names_by_field(["qid", "Ground-Truth", "score"])["truth"]
    {'Ground-Truth'}
    """
    given = given or {}
    present = {*names, *(name for name in given.values() if name.partition(".")[0] in names)}
    usual = {field: {name for name in present if plain_name(name) in plain_fields(field)} for field in ALIASES}
    return usual | {field: {given[field]} for field in ALIASES if given.get(field) in present}


def are_results(by_field: Mapping[str, set[str]]) -> bool:
    """Whether records have both fields of a part: gold and retrieved documents, or gold answers and an answer."""
    return any(by_field[gold] and by_field[found] - by_field[gold] for gold, found in PARTS.values())


def fields_of_results(
    records: Iterable[Record],
    given: Mapping[str, str] | None,
    parts: Collection[str],
    place: Place | str,
    needed_by_part: Mapping[Any, tuple[str, ...]] = PARTS,
) -> ResultFields:
    """The fields to read: given names, karat's own, and for what has neither, usual names if all of a part are found.

    Which records have a field does not matter, as some may lack it. They are iterated over several times.
    """
    names = field_names(given)
    present = list(dict.fromkeys(chain.from_iterable(dict.fromkeys(map(tuple, records)))))
    texts = [name for name in present if isinstance(name, str)]
    absent = {
        field: name
        for field, name in (given or {}).items()
        if isinstance(name, IfPresent) and all(field_value(record, name) is None for record in records)
    }
    names |= {field: field for field in absent}
    chosen = {*(given or {})} - absent.keys()
    known = {field for field in ALIASES if field in chosen or field in texts}
    used = {names[field] for field in known}
    free = [name for name in texts if name not in used]
    fitting = {field: _fitting(field, free, records) for field in ALIASES if field not in known}
    _settle_either(fitting, known)
    guessed = {field: found for field, found in fitting.items() if found}
    for part, of_part in needed_by_part.items():
        if part not in parts or any(field not in known and field not in guessed for field in of_part):
            guessed = {field: found for field, found in guessed.items() if field not in of_part}
    notes = [absence_note(name, "field") for name in absent.values()]
    if guessed:
        guesses = [Guess(field, first, tuple(others)) for field, (first, *others) in guessed.items()]
        notes.append(guesses_note(guesses, "field"))
    return ResultFields(
        names | {field: found[0] for field, found in guessed.items()},
        texts,
        tuple(f"{place}: {each}" for each in notes),
    )


def _fitting(field: str, free: Sequence[str], records: Iterable[Record]) -> list[str]:
    """The usual names of a field among those that are free, if the field contains what it should."""
    found = [with_plain_name(alias, free) for alias in (field, *ALIASES[field])]
    candidates = dict.fromkeys(name for name in found if name is not None)
    return [name for name in candidates if _contains(field, name, records)]


def _contains(field: str, name: str, records: Iterable[Record]) -> bool:
    values = list(islice((value for each in records if (value := each.get(name)) is not None), _CHECKED))
    if not values:
        return False
    if field == "query":
        return all(isinstance(value, str | int) and not isinstance(value, bool) for value in values)
    if field == "answer":
        return all_text(values)
    if field == "gold_answers":
        return all(map(_is_answer_text if name in _EITHER else _is_gold_answer, values))
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


def _settle_either(fitting: dict[str, list[str]], known: Collection[str]) -> None:
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
    if "query" in missing and _maps_queries_to_documents(example):
        return KaratError(f"this is {QUERIES_TO_DOCUMENTS}, not results", place=place, hint=JSON_IS_READ)
    names, texts = fields.names, fields.present
    quoted = [shown(names[field]) for field in missing]
    if len(missing) > 1:
        what = f"no line has the fields {enumeration(quoted, 'and')}"
    elif names[missing[0]] in texts:
        what = f"the field {quoted[0]} is null on every line"
    else:
        what = f"no line has a field {quoted[0]}"
    shortened = [each if len(each) <= 60 else f"{each[:59]}…" for each in texts[:_MAX_LISTED]]
    more = f" and {len(texts) - _MAX_LISTED} more" if len(texts) > _MAX_LISTED else ""
    listed = f"The fields are {', '.join(shortened)}{more}." if texts else "The lines have no fields."
    free = [*texts, *(f"{each}.{key}" for each in texts for key in field_names_of(example.get(each)))]
    free = [each for each in free if each not in {names[field] for field in ALIASES}][:_MAX_COMPARED]
    renamed: dict[str, str] = {}
    for field in missing:
        if likely := _likely_names(field, names[field], free):
            renamed[field] = likely[0]
            free.remove(likely[0])
    other = "If it has another name" if len(missing) == 1 else "If they have other names"
    hint = f"{listed} {other}, use {rename_hint(renamed or {missing[0]: '...'})}"
    for field, instead, content in (("truth", "gold_answers", "answers"), ("gold_answers", "truth", "documents")):
        if instead not in missing and instead not in texts and renamed.get(field) in _EITHER:
            hint += f" If {renamed[field]} contains gold {content}, use {rename_hint({instead: renamed[field]})}"
    return KaratError(what, place=place, hint=f"{hint} {_ELSEWHERE.get(missing[0], '')}".rstrip())


def _maps_queries_to_documents(record: Record) -> bool:
    """Whether this is `{query: {doc: grade}}` or `{query: [doc, ...]}`, as BEIR and ranx save them."""
    return bool(record) and all(isinstance(each, Mapping | list) for each in record.values())


def _likely_names(field: str, name: str, free: Sequence[str]) -> list[str]:
    """The names that a field may have, the likeliest first."""
    known = [each for alias in ALIASES[field] for each in free if each.rpartition(".")[2].casefold() == alias]
    # A name that the user gave is probably misspelt; for a default name, the field probably has another name.
    return [*known, *nearest(name, free)] if name == field else [*nearest(name, free), *known]
