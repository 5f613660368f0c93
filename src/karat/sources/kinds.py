"""What a table, or records, contain, judging by the names of columns or fields; runs that are given as texts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from numbers import Real
from typing import Any, Literal

from karat.columns.spellings import find_column, is_spelling
from karat.errors import KaratError, Place
from karat.files.names import is_arrow
from karat.sources.result_fields import are_results, names_by_field
from karat.sources.samples import sample
from karat.sources.text_files import TextFile

Kind = Literal["run", "truth", "answers", "results", "texts"]

_EITHER = "this is ground truth or a run"
_KNOWN: dict[Kind | None, str] = {
    "run": "this is a run", "truth": "this is ground truth", "results": "these are results",
}  # fmt: skip
# By the number of columns of a table without a header, the place of the grade or the score, and what the table is.
_HEADERLESS = {3: (2, _EITHER), 4: (3, _KNOWN["truth"]), 6: (4, _KNOWN["run"])}
_FIRST = 20  # values of a mapping that show what it contains
_HINTS = {
    "queries": 'Each query needs its id and its text, such as {"_id": "q1", "text": "How soft is gold?"}.',
    "corpus": 'Each document needs its id and its text, such as {"_id": "d1", "text": "Gold is soft."}.',
}


def kind_of_columns(names: Iterable[str]) -> Kind | None:
    """What a table or records with these columns or fields contain; None if they leave it open."""
    plain = [name.strip().casefold().replace("-", "_") for name in names]
    query = find_column(plain, "query")
    doc = find_column(plain, "doc", (query,))
    has_grades = any(is_spelling(name, "grade") and not is_spelling(name, "score") for name in plain)
    has_scores = find_column(plain, "score") is not None or find_column(plain, "rank") is not None
    has_texts = any(name not in ("query", "question", "passage") and is_spelling(name, "text") for name in plain)
    by_field = names_by_field(plain)
    has_answers = bool(by_field["gold_answers"] or by_field["answer"])
    if {"truth", "retrieved"} & set(plain) or are_results(by_field):
        return "results"
    if query and doc and (has_grades or has_scores):
        # BEIR writes grades into a column named score, with these names of the other columns.
        is_beir = {"query_id", "corpus_id", "score"} <= set(plain)
        return None if has_grades == has_scores or is_beir else "truth" if has_grades else "run"
    if has_texts == has_answers:
        # PyTerrier's topics: an id, and the text of the query.
        is_topics = set(plain) == {"qid", "query"}
        return "texts" if is_topics else None
    return "answers" if has_answers else "texts"


def check_text_file(texts: TextFile, content: Literal["queries", "corpus"], given: Collection[str] = ()) -> None:
    """Reject a run, ground truth or results given as texts, judging by how the file begins; `given` are roles."""
    if texts.format is None or "text" in given:
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


def reject_pairs(names: Sequence[str], content: Literal["queries", "corpus"], place: Place | str) -> None:
    """Reject the columns of a run, of ground truth or of results, unless there are texts among them."""
    names = [name for name in names if isinstance(name, str)]
    found = _KNOWN.get(kind_of_columns(names)) or _headerless(names) or (_EITHER if _are_pairs(names) else None)
    if found is None:
        return
    if content == "corpus":
        text = find_column(names, "doc_text", [find_column(names, "doc_id")])
    else:
        query = find_column(names, "query_id")
        text = find_column(names, "query_text", [query])
        # Beside the documents of a query, a column such as text or title is about the documents.
        is_of_document = found != _KNOWN["results"] and find_column(names, "doc", [query, text])
        text = None if is_of_document and is_spelling(text, "doc_text") else text
    if text is None:
        raise _not_texts(found, content, place)


def reject_lists_and_numbers(values: Iterable[Any], content: Literal["queries", "corpus"], place: Place | str) -> None:
    """Reject the values of a mapping if these are documents with their grades or scores, or lists of documents."""
    first = list(islice(values, _FIRST))
    if first and all(map(_are_documents, first)):
        raise _not_texts(_EITHER, content, place)


def _headerless(names: Sequence[str]) -> str | None:
    """What a table is whose first row has these values in place of names, if it is a run or ground truth."""
    place, found = _HEADERLESS.get(len(names), (0, None))
    try:
        float(names[place] if found else "")
    except ValueError:
        return None
    return found


def _are_pairs(names: Sequence[str]) -> bool:
    """Whether columns are a query, a document and a number, or a query and its documents."""
    query = find_column(names, "query")
    by_field = names_by_field(names)
    has_number = any(find_column(names, role) for role in ("grade", "score", "rank"))
    of_query = by_field["truth"] or by_field["retrieved"]
    return query is not None and bool(of_query or (has_number and find_column(names, "doc", (query,))))


def _are_documents(value: Any) -> bool:
    """Whether a value is a list, numbers by name, or the numbers of each query of a run."""
    if not isinstance(value, Mapping):
        return isinstance(value, list | tuple) and not hasattr(value, "_fields")
    inner = value.values()
    return bool(value) and (_are_numbers(inner) or all(isinstance(each, Mapping) for each in inner))


def _are_numbers(values: Iterable[Any]) -> bool:
    return all(isinstance(each, Real) and not isinstance(each, bool) for each in values)


def _not_texts(found: str, content: Literal["queries", "corpus"], place: Place | str) -> KaratError:
    texts = {"queries": "the texts of queries", "corpus": "the texts of documents"}[content]
    return KaratError(f"{found}, not {texts}", place=place, hint=_HINTS[content])
