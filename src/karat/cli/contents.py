"""What the files of a command line contain: pairs of queries and documents, results of RAG systems, or saved scores.

The content decides, not the name:

- scores: JSON, Parquet or a folder as karat saves it; or a table, or records, with a column of queries and one of
  numbers, but none of documents;
- verdicts: records of a verdict file, or labels with their task and item;
- results: records with the ground truth and the retrieved documents of a query, or its gold answers and its answer;
- documents: TREC; a table, or records, with a column of documents; a JSON object of queries; records with the
  documents of a query.

Documents are ground truth if they are in the first file, and runs otherwise. A JSON object of queries with numbers may
be either documents or scores: it is scores if all its queries have the same names, no other file is a run, and its
format is not given.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from karat.columns.spellings import SPELLINGS, is_spelling
from karat.files.input_file import InputFile
from karat.files.part_files import DESCRIPTION
from karat.scores.exports import METADATA
from karat.scores.score_table import query_column
from karat.sources.beir import is_data_set
from karat.sources.data_sets import named_data_set
from karat.sources.elasticsearch import elasticsearch_content
from karat.sources.result_fields import are_results, names_by_field
from karat.sources.samples import Sample, sample

Content = Literal["documents", "results", "scores", "documents or scores", "verdicts", "records", "nothing"]
"""`records` have fields of unknown names."""

_SAVED = ({"name", "means"}, {"means", "queries"}, {"runs"})  # keys of the JSON that karat writes
_VERDICT_RECORDS = ("file", "item", "verdict", "task", "call")
_LABEL = {"query", "task", "item", "label"}
_MEANS = {"run", "system", "measure"}
_RETRIEVED_ONLY = {*SPELLINGS["retrieved"][0]} - {"documents", "docs"}


def is_saved_scores(file: InputFile, given: str | None = None) -> bool:
    """Whether a file contains saved scores, or may do so, if this format is given."""
    return content_of(file, given) in ("scores", "documents or scores", "nothing")


def content_of(
    file: InputFile, given: str | None = None, fields: Mapping[str, str] | None = None, doc: str | None = None
) -> Content:
    """What a file contains, given its format, the names of fields of results and that of the column of documents."""
    if named_data_set(file) or is_data_set(file.path):
        return "documents"
    if os.path.isfile(os.path.join(file.path, DESCRIPTION)):
        return "scores"
    found = sample(file, given)
    if found.format == "trec":
        return "documents" if file.first_byte() else "nothing"
    if found.format == "json" and isinstance(found.value, dict):
        of_object = _of_object(found.value, fields or {})
        # The format of saved scores is never given.
        return "documents" if given is not None and of_object == "documents or scores" else of_object
    if not found.names:
        return "nothing"
    return "documents" if doc in found.names else _of_records(found, fields or {})


def _of_object(value: Mapping[str, Any], fields: Mapping[str, str]) -> Content:
    if any(keys <= value.keys() and isinstance(value.get("means", value.get("runs")), dict) for keys in _SAVED):
        return "scores"
    if elasticsearch_content(value):
        return "documents"
    if value and all(isinstance(each, dict | list) for each in value.values()):
        if len(value) == 1 and is_spelling(next(iter(value)), "query"):
            return "documents"  # the first column of a large data frame
        rows = [each for each in value.values() if isinstance(each, dict) and each]
        # The last row may be cut off.
        numbers = all(isinstance(number, int | float) for row in rows for number in row.values())
        same = len(rows) == len(value) and numbers and all(row.keys() == rows[0].keys() for row in rows[:-1])
        return "documents or scores" if same and rows[-1].keys() <= rows[0].keys() else "documents"
    return _of_records(Sample("json", tuple(value), (value,)), fields) if value else "nothing"


def _of_records(found: Sample, fields: Mapping[str, str]) -> Content:
    names = set(found.names)
    if METADATA in found.metadata:
        return "scores"
    if any(record.get("record") in _VERDICT_RECORDS for record in found.records) or names >= _LABEL:
        return "verdicts"
    by_field = names_by_field(names, fields)
    if are_results(by_field):
        return "results"
    if any(is_spelling(name, "doc") for name in names - {query_column(found.names)}) or found.format in ("csv", "tsv"):
        return "documents" if not _are_scores(found) else "scores"
    if fields or names & _RETRIEVED_ONLY or by_field["answer"]:
        return "results"
    if by_field["truth"] or by_field["retrieved"]:
        return "documents"
    return "scores" if _are_scores(found) else "records"


def _are_scores(found: Sample) -> bool:
    """Whether records have a column of queries and one of numbers, but none of documents or lists."""
    query = query_column(found.names)
    others = [name for name in found.names if name != query]
    # A table of means has no queries; loading it as scores gives the better error.
    if (query is None and not _MEANS & {*others}) or any(is_spelling(name, "doc") for name in others):
        return False
    values = [record.get(name) for record in found.records for name in others]
    if any(isinstance(value, list | dict) for value in values):
        return False
    # Texts in CSV may be numbers, and a table without rows may be anything.
    return found.format in ("csv", "tsv") or any(isinstance(value, int | float) for value in values)


def first_is_truth(contents: Sequence[Content], accepts_saved: bool) -> bool:
    """Whether the first file of a command line is ground truth, and the others runs, or their saved scores."""
    first, *others = contents
    if first in ("documents or scores", "nothing"):
        return not accepts_saved or "documents" in others
    return first == "documents"
