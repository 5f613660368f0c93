"""Answers, results and texts (queries, a corpus) from any source, and how each is written in each format."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from karat.columns.spellings import SPELLINGS, find_column
from karat.conversion.kinds import other_fields
from karat.conversion.record_files import Record, Records, fields_of, write_object, write_records, write_without_header
from karat.conversion.targets import Target
from karat.errors import KaratError, first_few, list_hint, shown
from karat.files.input_file import InputFile
from karat.files.names import Format
from karat.sources.answers import read_gold_answers
from karat.sources.contents import names_in
from karat.sources.record_files import records_from_frame, records_of_file
from karat.sources.records import records_from_list
from karat.sources.samples import sample
from karat.sources.text_files import TextFile

_HINT = 'Each record is an object: {"query": "q1", "truth": [...], "retrieved": [...]}.'


def write_answers(
    source: Any, form: Format | None, target: Target, fields: Mapping[str, str] | None
) -> tuple[int, tuple[str, ...]]:
    """Write answers, of which a question may have several; returns the number of questions, and notes."""
    notes: tuple[str, ...] = ()
    if isinstance(source, InputFile) and form is not None:
        names = names_in(sample(source, form))
        # Without gold answers, these are predicted answers.
        usual = (*SPELLINGS["gold_answers"][0], *SPELLINGS["answer"][0])
        answers = next((name for name in usual if name in names), None)
        if answers in SPELLINGS["answer"][0][1:] and find_column(names, "query"):
            fields = {"gold_answers": answers, **(fields or {})}
        read = read_gold_answers(source, fields)
        others = [name for name in other_fields(names) if name not in (answers, *(fields or {}).values())]
        if others and not read.by_query.keys() & set(others):
            notes = (f"only answers are written, not the other fields of {source.name}: {first_few(others, 10)}",)
    else:
        read = read_gold_answers(source, fields, name="the answers")
    golds = read.by_query
    if target.format == "json":
        write_object(((query, _value(texts)) for query, texts in golds.items()), target)
    elif target.format in ("csv", "tsv"):
        write_records(lambda: _rows(golds), target)
    else:
        write_records(lambda: _objects(golds), target)
    return len(golds), (*read.notes, *notes)


def write_results(source: Any, form: Format | None, target: Target) -> int:
    """Write results; returns the number of records."""
    records = partial(_records, source, form)
    count = _count(records, source)
    write_records(records, target)
    return count


def write_texts(source: Any, form: Format | None, target: Target) -> tuple[int, tuple[str, ...]]:
    """Write texts (queries, a corpus); returns their number, and notes."""
    file = TextFile.of(source, form) if isinstance(source, InputFile) else None
    records: Records = partial(_texts, file) if file else partial(_records, source, form)
    count = _count(records, source)
    notes = file.notes if file else ()
    if target.format not in ("json", "jsonl"):
        # Such as the metadata of BEIR's queries: an empty object cannot be written to a table.
        filled = {name for record in records() for name, value in record.items() if value not in (None, "", {}, [])}
        if empty := [name for name in fields_of(records) if name not in filled]:
            notes = (*notes, f"fields without any value are left out: {first_few(empty)}")
        records = partial(_only, filled, records)
    names = _id_and_text(filled) if target.format == "tsv" else None
    if names:
        write_without_header(([record.get(name) or "" for name in names] for record in records()), target)
    else:
        write_records(records, target)
    return count, notes


def _only(names: Container[str], records: Records) -> Iterator[Record]:
    return ({name: value for name, value in record.items() if name in names} for record in records())


def _count(records: Records, source: Any) -> int:
    count = sum(1 for _ in records())
    if not count:
        raise KaratError("there is nothing to convert", place=source.name if isinstance(source, InputFile) else None)
    return count


def _texts(file: TextFile) -> Iterator[Record]:
    for _, record in file.records():
        # An empty cell of CSV or TSV is an empty text.
        is_table = file.format in ("csv", "tsv", "trec")
        yield {name: value or "" for name, value in record.items()} if is_table else record


def _value(texts: tuple[str, ...] | None) -> str | list[str] | None:
    return None if texts is None else texts[0] if len(texts) == 1 else list(texts)


def _rows(golds: Mapping[str, tuple[str, ...] | None]) -> Iterator[Record]:
    """A row per answer."""
    for query, texts in golds.items():
        for text in (None,) if texts is None else texts:
            if text == "":
                what = f"the answer to question {shown(query)} is empty, which CSV and TSV cannot tell from no answer"
                raise KaratError(what, hint="Write JSON or Parquet instead.")
            yield {"query": query, "answer": text}


def _objects(golds: Mapping[str, tuple[str, ...] | None]) -> Iterator[Record]:
    """A record per question; the answers are lists if any question has several."""
    if all(texts is None or len(texts) == 1 for texts in golds.values()):
        return ({"query": query, "answer": _value(texts)} for query, texts in golds.items())
    return ({"query": query, "gold_answers": None if texts is None else list(texts)} for query, texts in golds.items())


def _records(source: Any, form: Format | None) -> Iterable[Record]:
    """The records of a file, a list or a data frame."""
    if isinstance(source, InputFile):
        return (record for _, record in records_of_file(source, form, _HINT))
    if hasattr(source, "__arrow_c_stream__"):
        return (record for _, record in records_from_frame(source, "the records"))
    if isinstance(source, Sequence) and not isinstance(source, str | bytes):
        return (record for _, record in records_from_list(source, "the records"))
    raise KaratError(
        f"records cannot be read from {shown(source)}", hint=list_hint(source) or "Pass a list of dictionaries."
    )


def _id_and_text(names: Collection[str]) -> tuple[str, str] | None:
    """The names of the id field and the text field; None if the records have other fields, too."""
    id_name = find_column(names, "id")
    text_name = find_column(names, "text", (id_name,))
    return (id_name, text_name) if len(names) == 2 and id_name and text_name else None
