"""Gold documents and gold answers, or predicted answers, from another source than the log that they are joined to.

The source may be anything that is read as ground truth or as answers, or records with these fields under their usual
names. What it is, is decided by what it contains; `outputs` of the log (`retrieved`, `answer`) decide where a list of
texts may be documents or answers.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any, Literal

from karat.data.caching import cached_property
from karat.documents.ids import all_text, identifier, reject_lone_surrogates
from karat.errors import KaratError, Parameter, Place, plural, require
from karat.errors.arguments import sorted_set
from karat.reading.bytes.input_file import InputFile, is_file
from karat.reading.bytes.json_decoding import decode_json
from karat.reading.bytes.names import FORMATS
from karat.reading.columns import GivenNames, listed, missing_columns
from karat.reading.columns.spellings import find_column
from karat.reading.contents.contents import kind_of_columns, kind_of_file
from karat.reading.contents.formats import detect
from karat.reading.contents.samples import Sample, sample
from karat.reading.pairs.any_source import truth_by_query
from karat.reading.pairs.columns import lists_to_read
from karat.reading.pairs.data_sets import is_data_set, named_data_set
from karat.reading.pairs.files import DescribedFile
from karat.reading.pairs.objects import records_of, rereadable
from karat.reading.records.answer_rows import HINT, is_squad
from karat.reading.records.answers import read_gold_answers, read_predicted_answers
from karat.reading.records.field_readers import documents_of_record
from karat.reading.records.keyed import KeyedEntries, KeyedEntry, as_key, entries_of_records, key_columns
from karat.reading.records.likely_fields import may_be_results
from karat.reading.records.paths import Record, field_value
from karat.reading.records.result_fields import JOINED_FIELDS, fields_of_results, names_by_field
from karat.reading.records.sources import RecordSource, read_records
from karat.reading.shapes import tools
from karat.reading.texts.texts import read_texts

Kind = Literal["documents", "answers", "lists", "records", "squad"]
"""what a source contains; `lists` of texts may be documents or answers"""

_WANTED = {"truth": ("truth", "gold_answers"), "answers": ("answer",)}
_FIRST = 20  # records or values that show what a source contains
_WHAT_IS_GOLD = "Gold is ground truth, gold answers, or records with a query and its truth or gold_answers."


@dataclass(frozen=True, eq=False)
class OtherSource:
    """A source that is joined to logs. It is read once for all logs that have the same outputs."""

    source: Any
    content: Literal["truth", "answers"]
    fields: Mapping[str, str] = field(default_factory=dict)
    columns: GivenNames | None = None
    format: str | None = None
    split: str | None = None
    _read: dict[tuple[Any, ...], KeyedEntries] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        source: Any,
        content: Literal["truth", "answers"],
        fields: Mapping[str, str] | None,
        columns: GivenNames | None = None,
        format: str | None = None,  # noqa: A002
        split: str | None = None,
    ) -> OtherSource:
        """A source as a caller names it; an iterator is read into a list."""
        if isinstance(source, OtherSource):
            return source
        if isinstance(source, DescribedFile):
            source, columns, format = source.file, source.columns, source.format  # noqa: A001
        name = "the ground truth" if content == "truth" else "the answers"
        if not (isinstance(source, str) and (named_data_set(source) or is_data_set(source))):
            source = InputFile.of(source) if is_file(source) and split is None else rereadable(source, name)
        return cls(source, content, fields or {}, columns, format, split)

    @property
    def name(self) -> str:
        """The name of the source in messages."""
        default = "the ground truth" if self.content == "truth" else "the answers"
        return self.source.name if isinstance(self.source, InputFile) else default

    @property
    def folder(self) -> str | None:
        """The folder of the data set that it is, or that it is the ground truth of."""
        path = self.source if isinstance(self.source, str) else getattr(self.source, "path", "")
        folders = (path, os.path.dirname(os.path.dirname(path)))
        return next((each for each in folders if each and is_data_set(each)), None)

    @property
    def wanted(self) -> tuple[str, ...]:
        """The fields that it may have for a log."""
        return _WANTED[self.content]

    @cached_property
    def start(self) -> Sample:
        """How the source begins."""
        form = self.format if self.format in FORMATS else None
        if isinstance(self.source, InputFile):
            return sample(self.source, form)
        if isinstance(self.source, Mapping):
            return Sample("json", value=self.source)
        if isinstance(self.source, str):
            return Sample("trec")  # the ground truth of a data set
        listed = records_of(self.source, self.name)
        first = [*islice(listed or (), _FIRST)]
        records = tuple(each for each in first if isinstance(each, Mapping))
        return Sample("json", tuple(dict.fromkeys(name for each in records for name in each)), records, first)

    @property
    def names(self) -> Collection[str]:
        """The names of its fields, as far as they are known from its beginning."""
        return self.start.names or (self.start.value if isinstance(self.start.value, dict) else ())

    def read(self, outputs: Collection[str], log_names: Collection[str], queries: Sequence[str]) -> KeyedEntries:
        """What it says about queries; `queries` are those of the log in order, for lists, which are by position."""
        fields = {
            role: name
            for role, name in self.fields.items()
            if (top := name.partition(".")[0]) in self.names or (role in self.wanted and top not in log_names)
        }
        is_by_position = isinstance(self.start.value, list) and not self.start.records
        key = (frozenset(outputs), *fields.items(), *(queries if is_by_position else ()))
        if key not in self._read:
            self._read[key] = _GoldReader(self, fields, outputs, queries if is_by_position else None).read()
        return self._read[key]


def is_gold(file: InputFile, fields: Mapping[str, str]) -> bool:
    """Whether a file has gold documents or gold answers, and nothing that a system has written."""
    source = OtherSource.of(file, "truth", fields)
    by_field = names_by_field([name for name in source.names if isinstance(name, str)], fields)
    if by_field["retrieved"] or by_field["answer"] or may_be_results(sample(file).records):
        return False
    kind = _GoldReader(source, fields, (), None).kind()
    if kind == "documents":
        return kind_of_file(file, detect(file)) == "truth"
    return kind != "records" or bool(by_field["truth"] or by_field["gold_answers"])


@dataclass(frozen=True, eq=False)
class _GoldReader:
    """How a source is read for a log with these outputs; `queries` are given if its entries are by position."""

    of: OtherSource
    fields: Mapping[str, str]
    outputs: Collection[str]
    queries: Sequence[str] | None

    def read(self) -> KeyedEntries:
        kind = self.kind()
        if kind == "lists":
            is_answers = "answer" in self.outputs and "retrieved" not in self.outputs
            read = self._answers() if is_answers else self._documents()
            both = () if is_answers or "answer" not in self.outputs else (_note_on_lists(self.of.name),)
            return replace(read, notes=(*read.notes, *both))
        if kind == "squad":
            return _with_questions(self._answers(), self.of.source)
        return {"documents": self._documents, "answers": self._answers, "records": self._records}[kind]()

    def kind(self) -> Kind:
        """What the source contains, by how it begins."""
        source, start = self.of.source, self.of.start
        if self.of.content == "answers":
            return "records" if start.names or self.of.format in tools() else "answers"
        if self.of.format in tools():
            return "records"
        is_folder = isinstance(source, InputFile) and is_data_set(source.path)
        if is_folder or self.of.columns or start.format == "trec":
            return "documents"
        if isinstance(start.value, Mapping):
            return self._kind_of_object(start.value)
        if start.names:
            return self._kind_of_records(start.names, start.records)
        return _kind_of_values(start.value if isinstance(start.value, list) else [], (list,))

    def _kind_of_object(self, value: Mapping[Any, Any]) -> Kind:
        names = [name for name in islice(value, _FIRST) if isinstance(name, str)]
        by_field = names_by_field(names, self.fields)
        if is_squad(value):
            return "squad"
        if by_field["query"] and any(by_field[field] for field in JOINED_FIELDS):
            return "records"
        return _kind_of_values([each for each in islice(value.values(), _FIRST) if each is not None], (list, tuple))

    def _kind_of_records(self, names: Sequence[str], records: Sequence[Record]) -> Kind:
        by_field = names_by_field(names, self.fields)
        given = {"truth", "gold_answers"} & self.fields.keys() or {"truth", "gold_answers"} & {*names}
        golds = by_field["truth"] | by_field["gold_answers"]
        has_golds = any(_is_gold(each.get(name)) for each in records for name in golds)
        if not given and not has_golds and kind_of_columns(names) in ("truth", "run"):
            return "documents"
        if given or golds:
            return "records"
        has_lists = any(lists_to_read(record, "grade", None) for record in records[:1])
        return "documents" if has_lists or find_column(names, "doc", by_field["query"]) else "records"

    def _documents(self) -> KeyedEntries:
        of = self.of
        is_array = self.queries is not None and isinstance(of.source, InputFile)
        source = decode_json(of.source.read_all(), of.name, "") if is_array else of.source
        read = truth_by_query(source, columns=of.columns, format=of.format, split=of.split, name=of.name)
        documents = {
            (query := identifier(name, of.name)): _listed(docs, Place(of.name, query=query))
            for name, docs in read.documents.items()
        }
        keyed = self._keyed("truth", documents, [*map(str, read.notes)])
        folder = of.folder
        return keyed if folder is None else replace(keyed, with_texts=lambda: _with_texts(keyed, folder))

    def _answers(self) -> KeyedEntries:
        of = self.of
        if of.content == "answers":
            predicted = read_predicted_answers(of.source, self.queries or (), self.fields, of.name)
            return self._keyed("answer", predicted.by_query, predicted.notes)
        golds = read_gold_answers(of.source, self.fields, of.name)
        return self._keyed("gold_answers", golds.by_query, golds.notes)

    def _keyed(self, field: str, values: Mapping[str, Any], notes: Iterable[str]) -> KeyedEntries:
        """Entries whose only key is the query; those of a list are in the order of the queries of the log."""
        name = self.of.name
        queries: Sequence[str] = [*values] if self.queries is None else self.queries
        require(values, "it is empty", HINT["answer"] if field == "answer" else _WHAT_IS_GOLD, place=name)
        if len(queries) != len(values):
            what = f"the log has {plural(len(queries), 'query')}, and this list has {plural(len(values), 'entry')}"
            raise KaratError(what, place=name, hint="Lists are matched by position: one entry per query of the log.")
        reject_lone_surrogates(queries, name)
        entries = [
            KeyedEntry(Place(name, query=query), (query,), {field: value})
            for query, value in zip(queries, values.values(), strict=True)
            if value is not None
        ]
        return KeyedEntries(name, ("query",), entries, tuple(notes), by_position=self.queries is not None)

    def _records(self) -> KeyedEntries:
        of = self.of
        return read_records(of.source, self.fields, of.format, self._of_records, _WHAT_IS_GOLD, name=of.name)

    def _of_records(self, source: RecordSource) -> KeyedEntries:
        records = [*source.records]
        if not records:
            raise KaratError("it is empty", place=source.name, hint=_WHAT_IS_GOLD)
        only = [record for _, record in records]
        wanted = self.of.wanted
        fields = self.fields if self.of.content == "answers" else _with_gold_named_answer(only, self.fields)
        read = fields_of_results(only, fields, wanted, source.name, JOINED_FIELDS, outputs=self.outputs)
        present = {field: name for field in wanted if _has(only, name := read.names[field])}
        if missing := [field for field in wanted if field in fields and field not in present]:
            raise missing_columns([fields[field] for field in missing], read.present, source.name, "field")
        if not present:
            keys = key_columns(only[:_FIRST], read.names["query"], ())
            raise _nothing_to_join(wanted, read.present, [name for name in read.present if name not in keys], source)
        columns = key_columns(only[:_FIRST], read.names["query"], {*present.values()})
        return KeyedEntries(
            source.name, columns, entries_of_records(records, columns, present), (*source.notes, *read.notes)
        )


def _nothing_to_join(
    wanted: Sequence[str], present: Sequence[str], others: Sequence[str], source: RecordSource
) -> KaratError:
    """The error for records without gold or answers; `others` are the fields that do not identify a query."""
    named = Parameter("fields", {wanted[0]: others[0] if len(others) == 1 else "..."})
    what = "neither gold documents nor gold answers are" if len(wanted) > 1 else "no answers are"
    first = f"{_WHAT_IS_GOLD} If these have other names, use " if len(wanted) > 1 else "Name it with "
    fields = f"the fields are {listed(present)}"
    return KaratError(f"{what} in these records; {fields}", place=source.name, hint=[first, named, "."])


def _kind_of_values(values: Sequence[Any], lists: tuple[type[list[Any]] | type[tuple[Any, ...]], ...]) -> Kind:
    """What the values of an object or of a list are; `lists` are the types that documents or answers may be in."""
    if any(isinstance(each, str) for each in values) and not any(isinstance(each, Mapping) for each in values):
        return "answers"
    are_lists = bool(values) and all(isinstance(each, lists) and all_text(each) for each in values)
    return "lists" if are_lists else "documents"


def _with_gold_named_answer(records: Sequence[Record], fields: Mapping[str, str]) -> Mapping[str, str]:
    """The names of fields: in a file of gold answers alone, their field may be called answer."""
    names = [name for name in dict.fromkeys(name for each in records for name in each) if isinstance(name, str)]
    by_field = names_by_field(names, fields)
    if by_field["truth"] or by_field["gold_answers"] or by_field["retrieved"] or not by_field["answer"]:
        return fields
    return {**fields, "gold_answers": str(find_column(names, "answer"))}


def _listed(documents: Any, place: Place) -> Any:
    """The documents of a query as a list or by grade; what is neither is an error."""
    return documents_of_record(sorted_set(documents) if isinstance(documents, set | frozenset) else documents, place)


def _is_gold(value: Any) -> bool:
    """Whether a value may be gold documents or a gold answer, rather than a grade."""
    return isinstance(value, list | dict) or (isinstance(value, str) and not value.lstrip("-").isdecimal())


def _has(records: Iterable[Record], name: str) -> bool:
    return any(field_value(record, name) is not None for record in records)


def _with_questions(answers: KeyedEntries, source: Any) -> KeyedEntries:
    """The answers of a data set in SQuAD's format, with the texts of their questions as keys, too."""
    value = decode_json(source.read_all(), source.name, "") if isinstance(source, InputFile) else source
    paragraphs = chain.from_iterable(article["paragraphs"] for article in value["data"])
    questions = chain.from_iterable(paragraph["qas"] for paragraph in paragraphs)
    texts = {identifier(each["id"], answers.name): as_key(each.get("question")) for each in questions}
    return _with_second_key(answers, ("id", "question"), texts)


def _with_texts(truth: KeyedEntries, folder: str) -> KeyedEntries:
    """The ground truth of a data set, with the texts of its queries as keys, too."""
    texts = read_texts(folder, {str(entry.keys[0]) for entry in truth.entries}, "queries")
    keyed = _with_second_key(truth, (*truth.columns, "text"), {query: text.text for query, text in texts.items()})
    return replace(keyed, notes=(*truth.notes, *texts.notes), with_texts=None)


def _with_second_key(of: KeyedEntries, columns: tuple[str, ...], texts: Mapping[str, str | None]) -> KeyedEntries:
    entries = [entry._replace(keys=(*entry.keys, texts.get(str(entry.keys[0])))) for entry in of.entries]
    return replace(of, columns=columns, entries=entries)


def _note_on_lists(name: str) -> str:
    fields = '{"query": ..., "gold_answers": [...]}'
    return f"{name}: lists of texts are read as gold documents; if they are gold answers, write lines of {fields}"
