"""What a file or a table contains, judging by how it begins: the one guesser, for everything that is read.

The content decides, not the name. `_RULES` lists, in this order, what makes records or the rows of a table scores,
verdicts, results, ground truth, a run, answers or texts. Whoever asks says which of them come into question: a command
that evaluates reads no texts, and a file of texts is never scores. `documents` are ground truth or a run: on a command
line, they are ground truth if they are in the first file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from numbers import Real
from typing import Any, Literal

from karat.errors import KaratError, Place
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.names import Format, is_arrow
from karat.reading.bytes.part_files import DESCRIPTION, METADATA
from karat.reading.columns.spellings import SPELLINGS, find_column, is_spelling
from karat.reading.contents.facts import SampleFacts
from karat.reading.contents.samples import Sample, sample
from karat.reading.pairs.data_sets import is_data_set, named_data_set
from karat.reading.pairs.elasticsearch import elasticsearch_content, reject_elasticsearch
from karat.reading.records.answer_rows import is_squad
from karat.reading.records.json_frames import reject_other_orients
from karat.reading.records.likely_fields import (
    has_outputs,
    maps_queries_to_documents,
    may_be_results,
    paths_of_records,
)
from karat.reading.records.result_fields import are_results
from karat.reading.shapes import recognize_records, tools
from karat.reading.texts.text_files import Content as TextContent
from karat.reading.texts.text_files import TextFile

Kind = Literal["run", "truth", "answers", "results", "texts"]
"""what can be converted"""

Content = Literal["documents", "results", "scores", "documents or scores", "verdicts", "records", "nothing"]
"""what a command is given; `records` have fields of unknown names"""

_INCOMPLETE = "incomplete results"  # only one field of two
_LIKELY = "likely results"  # by what fields with other names contain
_EVALUATED = ("scores", "verdicts", "results", _LIKELY, _INCOMPLETE, "documents")
_PART = "part of results"
_CONVERTED = ("run", "truth", "answers", "results", _PART, "texts")
_NOT_TEXTS = ("run", "truth", "results", _PART)

_SAVED = ({"name", "means"}, {"means", "queries"}, {"runs"})  # keys of the JSON that karat writes
_RETRIEVED_ONLY = {*SPELLINGS["retrieved"][0]} - {"documents", "docs"}
_EITHER = "this is ground truth or a run"
_KNOWN: dict[str | None, str] = {
    "run": "this is a run", "truth": "this is ground truth", "results": "these are results",
}  # fmt: skip
# By the number of columns of a table without a header, the place of the grade or the score, and what the table is.
_HEADERLESS = {3: (2, _EITHER), 4: (3, _KNOWN["truth"]), 6: (4, _KNOWN["run"])}
_TREC: dict[int, Kind] = {4: "truth", 6: "run"}
_FIRST = 20  # values of a mapping that show what it contains
_HINTS: dict[TextContent, str] = {
    "queries": 'Each query needs its id and its text, such as {"_id": "q1", "text": "How soft is gold?"}.',
    "corpus": 'Each document needs its id and its text, such as {"_id": "d1", "text": "Gold is soft."}.',
}


_RULES: tuple[tuple[str, Callable[[SampleFacts], object]], ...] = (
    ("scores", lambda facts: METADATA in facts.sample.metadata),
    ("verdicts", lambda facts: facts.has_verdicts),
    ("results", lambda facts: are_results(facts.by_field)),
    ("results", lambda facts: not facts.has_pairs and recognize_records(facts.sample.records)),
    ("results", lambda facts: _has_given({*facts.sample.names}, facts.fields)),
    (_LIKELY, lambda facts: not facts.has_pairs and may_be_results(facts.sample.records)),
    (_PART, lambda facts: facts.names & {"truth", "retrieved"} and not facts.has_pairs),
    ("truth", lambda facts: facts.has_pairs and facts.has_grades and not facts.has_scores),
    ("run", lambda facts: facts.has_pairs and facts.has_scores and not (facts.has_grades or facts.is_beir)),
    ("documents", lambda facts: facts.has_documents),
    ("results", lambda facts: facts.is_table and facts.record_query and facts.has_outputs),
    ("scores", lambda facts: facts.is_table and facts.has_values),
    ("documents", lambda facts: facts.is_table),
    ("texts", lambda facts: facts.names == {"qid", "query"}),  # PyTerrier's topics
    ("answers", lambda facts: not facts.has_pairs and facts.has_answers and not facts.has_texts),
    ("texts", lambda facts: not facts.has_pairs and facts.has_texts and not facts.has_answers),
    (_INCOMPLETE, lambda facts: facts.fields or facts.names & _RETRIEVED_ONLY or facts.by_field["answer"]),
    ("truth", lambda facts: "truth" in facts.names),
    ("documents", lambda facts: facts.by_field["truth"] or facts.by_field["retrieved"]),
    ("scores", lambda facts: facts.has_values),
)


def content_of(
    file: InputFile,
    form: str | None = None,
    fields: Mapping[str, str] | None = None,
    doc: str | None = None,
    records: str | None = None,
) -> Content:
    """What a file of a command line contains, given its format, the names of fields of results and that of documents.

    `records` is the path of results inside an object.

    A JSON object of queries with numbers may be either documents or scores.
    """
    if named_data_set(file) or is_data_set(file.path):
        return "documents"
    if os.path.isfile(os.path.join(file.path, DESCRIPTION)):
        return "scores"
    if records is not None or (form is not None and form in tools()):
        return "results"
    start = sample(file, form)
    if start.format == "trec":
        return "documents" if file.first_byte() else "nothing"
    if start.format == "json" and isinstance(start.value, dict):
        content = _content_of_object(start.value, fields or {}, file.name)
        if content == "documents":
            reject_elasticsearch(start.value, file.name)
        # The format of saved scores is never given.
        return "documents" if form is not None and content == "documents or scores" else content
    if not start.names:
        return "nothing"
    return "documents" if doc in start.names else _guess(start, _EVALUATED, fields) or "records"


def content_if_not_run(
    file: InputFile,
    form: str | None = None,
    fields: Mapping[str, str] | None = None,
    doc: str | None = None,
    records: str | None = None,
) -> Content:
    """What a file contains that is not a run, because it is alone, or because gold or answers are joined to it.

    A log without gold looks like a run. Where no run is expected, it is a log.
    """
    content = content_of(file, form, fields, doc, records)
    may_be_log = content == "documents" and not (named_data_set(file) or is_data_set(file.path))
    return "results" if may_be_log and _is_incomplete_log(file, form) else content


def _is_incomplete_log(file: InputFile, form: str | None) -> bool:
    """Whether a file that may be ground truth or a run has records with outputs or gold answers instead of pairs."""
    return _starts_incomplete_log(sample(file, form))


def _starts_incomplete_log(start: Sample) -> bool:
    facts = SampleFacts(start, {})
    texts = (record.get(name) for record in start.records for name in facts.by_field["gold_answers"])
    return not facts.has_pairs and (has_outputs(start.records) or any(isinstance(text, str) for text in texts))


def content_in_memory(start: Sample, fields: Mapping[str, str] | None = None, *, is_alone: bool = True) -> Content:
    """What objects in memory are, by the first of them; if it `is_alone`, a log without gold is one, too."""
    if not start.names:
        return "nothing"
    content: Content = _guess(start, _EVALUATED, fields) or "records"
    return "results" if is_alone and content == "documents" and _starts_incomplete_log(start) else content


def is_saved_scores(file: InputFile, form: str | None = None) -> bool:
    """Whether a file contains saved scores, or may do so, if it has this format."""
    return content_of(file, form) in ("scores", "documents or scores", "nothing")


def first_is_truth(contents: Sequence[Content], accepts_saved: bool) -> bool:
    """Whether the first file of a command line is ground truth, and the others runs, or their saved scores.

    What may be documents or scores is scores if no other file is a run.
    """
    first, *others = contents
    if first in ("documents or scores", "nothing"):
        return not accepts_saved or "documents" in others
    return first == "documents"


def kind_of_file(file: InputFile, form: Format) -> Kind | None:
    """What a file of this format contains, to convert it; None if that is not clear."""
    if not (is_arrow(form) or file.first_byte()):
        raise KaratError("the file is empty", place=file.name)
    if form == "trec":
        lines = (line for _, line in file.lines() if line and not line.startswith(b"#"))
        return _TREC.get(min(len(next(lines, b"").split()), 6))
    start = sample(file, form)
    names = names_in(start)
    if (kind := kind_of_columns(names)) or form not in ("csv", "tsv", "json"):
        return kind
    if form == "json":
        if isinstance(start.value, dict):
            reject_elasticsearch(start.value, file.name)
        return "answers" if _are_answers(start.value) else None
    rows = [names, *(list(record.values()) for record in start.records)]
    return "texts" if all(len(row) == 2 and len(row[1].split()) > 1 for row in rows) else None


def kind_of_columns(names: Iterable[str]) -> Kind | None:
    """What a table or records with these columns or fields contain, to convert it; None if they leave it open."""
    kind: Kind | None = _guess(Sample("jsonl", tuple(names)), _CONVERTED)
    return kind


def names_in(start: Sample) -> Sequence[str]:
    """The columns of a table, or the fields of the first records; nothing for a TREC file."""
    return tuple(start.value) if isinstance(start.value, dict) else start.names


def check_text_file(texts: TextFile, content: TextContent, by_role: Collection[str] = ()) -> None:
    """Reject a run, ground truth or results given as texts, judging by how the file begins.

    `by_role` has the columns that the caller names: a file whose column of texts is named contains texts.
    """
    if texts.format is None or "text" in by_role:
        return
    name = texts.file.name
    if texts.format == "trec":
        first = next((line for _, line in texts.file.lines() if line.strip()), b"")
        reject_pairs(first.decode(errors="replace").split(), content, name)
        return
    start = sample(texts.file, texts.format)
    if isinstance(start.value, dict):
        # The last value may be cut off.
        values = list(start.value.values())
        reject_lists_and_numbers(values[:-1] if start.is_cut else values, content, name)
    elif texts.has_header:
        records = start.records[:-1] if start.is_cut else start.records
        is_table = is_arrow(start.format) or start.format in ("csv", "tsv")
        names = start.names if is_table else tuple(dict.fromkeys(name for record in records for name in record))
        reject_pairs(names, content, name)


def reject_pairs(names: Sequence[str], content: TextContent, place: Place | str) -> None:
    """Reject the columns of a run, of ground truth or of results, unless there are texts among them."""
    names = [name for name in names if isinstance(name, str)]
    kind = _guess(Sample("jsonl", tuple(names)), _NOT_TEXTS)
    what = _KNOWN.get(kind) or _headerless(names) or (_EITHER if _are_pairs(names) else None)
    if what is None:
        return
    if content == "corpus":
        text = find_column(names, "doc_text", [find_column(names, "doc_id")])
    else:
        query = find_column(names, "query_id")
        text = find_column(names, "query_text", [query])
        # Beside the documents of a query, a column such as text or title is about the documents.
        is_of_document = what != _KNOWN["results"] and find_column(names, "doc", [query, text])
        text = None if is_of_document and is_spelling(text, "doc_text") else text
    if text is None:
        raise _not_texts(what, content, place)


def reject_lists_and_numbers(values: Iterable[Any], content: TextContent, place: Place | str) -> None:
    """Reject the values of a mapping if these are documents with their grades or scores, or lists of documents."""
    first = list(islice(values, _FIRST))
    if first and all(map(_are_documents, first)):
        raise _not_texts(_EITHER, content, place)


def _guess(start: Sample, among: Collection[str], fields: Mapping[str, str] | None = None) -> Any:
    """The first of the rules that holds, of those about what comes into question; None if none holds."""
    facts = SampleFacts(start, fields or {})
    kind = next((kind for kind, holds in _RULES if kind in among and holds(facts)), None)
    return "results" if kind in (_INCOMPLETE, _LIKELY, _PART) else kind


def _has_given(names: Collection[str], fields: Mapping[str, str]) -> bool:
    """Whether there is a field of results that has a name that was given."""
    return any(path.partition(".")[0].partition("[")[0] in names for path in fields.values())


def _content_of_object(value: Mapping[str, Any], fields: Mapping[str, str], name: str) -> Content:
    if any(keys <= value.keys() and isinstance(value.get("means", value.get("runs")), dict) for keys in _SAVED):
        return "scores"
    if _are_pairs_by_query(value):
        return _content_of_mappings(value)
    if recognize_records([value]) or paths_of_records(value) or _has_given({*value}, fields):
        return "results"
    if elasticsearch_content(value):
        return "documents"
    reject_other_orients(value, name)
    if maps_queries_to_documents(value):
        return _content_of_mappings(value)
    if not value:
        return "nothing"
    return _guess(Sample("json", tuple(value), (value,)), _EVALUATED, fields) or "records"


def _are_pairs_by_query(value: Mapping[str, Any]) -> bool:
    """Whether this is `{query: {doc: number}}`, whatever the queries are called."""
    rows = [*value.values()]
    return bool(rows) and all(
        isinstance(row, dict) and row and all(isinstance(number, int | float) for number in row.values())
        for row in rows
    )


def _content_of_mappings(value: Mapping[str, Any]) -> Content:
    """What an object contains whose values are objects and lists."""
    if len(value) == 1 and is_spelling(next(iter(value)), "query"):
        return "documents"  # the first column of a large data frame
    rows = [each for each in value.values() if isinstance(each, dict) and each]
    # The last row may be cut off.
    numbers = all(isinstance(number, int | float) for row in rows for number in row.values())
    same = len(rows) == len(value) and numbers and all(row.keys() == rows[0].keys() for row in rows[:-1])
    return "documents or scores" if same and rows[-1].keys() <= rows[0].keys() else "documents"


def _headerless(names: Sequence[str]) -> str | None:
    """What a table is whose first row has these values in place of names, if it is a run or ground truth."""
    position, what = _HEADERLESS.get(len(names), (0, None))
    try:
        float(names[position] if what else "")
    except ValueError:
        return None
    return what


def _are_pairs(names: Sequence[str]) -> bool:
    """Whether columns are a query, a document and a number, or a query and its documents."""
    facts = SampleFacts(Sample("jsonl", tuple(names)), {})
    return facts.has_pairs or bool(facts.query and (facts.by_field["truth"] or facts.by_field["retrieved"]))


def _are_documents(value: Any) -> bool:
    """Whether a value is a list, numbers by name, or the numbers of each query of a run."""
    if not isinstance(value, Mapping):
        return isinstance(value, list | tuple) and not hasattr(value, "_fields")
    inner = value.values()
    are_numbers = all(isinstance(each, Real) and not isinstance(each, bool) for each in inner)
    return bool(value) and (are_numbers or all(isinstance(each, Mapping) for each in inner))


def _are_answers(value: object) -> bool:
    """Whether a JSON value is `{query: "answer"}`, or in SQuAD's format."""
    if not isinstance(value, dict) or not value:
        return False
    return is_squad(value) or all(isinstance(each, str) for each in value.values())


def _not_texts(what: str, content: TextContent, place: Place | str) -> KaratError:
    texts = {"queries": "the texts of queries", "corpus": "the texts of documents"}[content]
    return KaratError(f"{what}, not {texts}", place=place, hint=_HINTS[content])
