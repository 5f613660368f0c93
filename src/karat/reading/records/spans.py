"""Read spans of documents from Python objects: tuples, mappings, and chunks of any framework with a start position."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from karat.data.judged import Ints, place_in_query
from karat.data.spans import MAX_POSITION, Spans
from karat.documents.ids import identifier, reject_lone_surrogates
from karat.errors import KaratError, Place, plural, shown
from karat.errors.arguments import is_list_like
from karat.reading.columns import GivenNames, first_value, plain_names
from karat.reading.columns.spellings import SPELLINGS
from karat.reading.pairs.containers import Truth
from karat.reading.pairs.tables import ByQuery, Number

_FORMS = (
    "Spans are given as mappings or lists: {query: [(document, start, end), ...]} or [[(document, start, end), ...]];"
    " or as a data frame with a list of them in each row."
)
_SPAN = (
    "A span is (document, start, end), or an object with these fields, itself or in its metadata: "
    + "; ".join(" | ".join(SPELLINGS[role][0]) for role in ("span_document", "start", "end"))
    + ", or a content."
)
_POSITION = "Positions are whole numbers of characters, counted from 0."


class Span(NamedTuple):
    """The characters of a document from `start` up to, but not including, `end`."""

    document: str
    start: int
    end: int


@dataclass(frozen=True)
class SpansWithDocuments:
    """The spans of ground truth and run, and the documents they belong to, by query and in the order of the spans.

    A query that is only in the run is in `retrieved_documents`, but not in `spans`.
    """

    spans: Spans
    gold_documents: dict[str, list[str]]
    retrieved_documents: dict[str, list[str]]


def read_spans(
    truth: Any, run: Any, names: tuple[str, str] = ("the ground truth", "the run"), ignore_identical_ids: bool = False
) -> SpansWithDocuments:
    """Read the spans of ground truth and run, each a mapping by query or one list per query. Errors use `names`.

    If only some queries are evaluated, and none of them has ground truth, it is an empty `Truth`.
    The lists of a run are matched with the queries of the ground truth by position. `ignore_identical_ids` leaves out
    spans of documents whose id is that of their query.

    >>> read = read_spans({"q": [("a", 0, 10)]}, {"q": [("b", 0, 5), {"doc": "a", "start": 5, "end": 15}]})
    >>> read.retrieved_documents["q"], read.spans.characters().both.tolist()
    (['b', 'a'], [5.0])
    """
    is_part = isinstance(truth, Truth) and not truth.queries  # of which only the run has queries
    golds = {} if is_part else _by_query(truth, None, names[0])
    if not golds and not is_part:
        raise KaratError(f"{names[0]} is empty", hint=_FORMS)
    lists = _by_query(run, list(golds), names[1])
    gold = {query: _spans(listed, Place(names[0], query=query), "span") for query, listed in golds.items()}
    retrieved = {query: _spans(listed, Place(names[1], query=query), "rank") for query, listed in lists.items()}
    codes: dict[str, int] = {}
    of_truth = _columns(gold.values(), codes)
    kept = {
        query: [span for span in spans if not (ignore_identical_ids and span.document == query)]
        for query, spans in retrieved.items()
    }
    of_run = _columns([kept.get(query, []) for query in gold], codes)
    return SpansWithDocuments(
        Spans(
            queries=tuple(gold),
            gold_query=of_truth.query,
            gold_document=of_truth.document,
            gold_start=of_truth.start,
            gold_end=of_truth.end,
            retrieved_query=of_run.query,
            retrieved_rank=place_in_query(of_run.query),
            retrieved_document=of_run.document,
            retrieved_start=of_run.start,
            retrieved_end=of_run.end,
        ),
        {query: [span.document for span in spans] for query, spans in gold.items()},
        {query: [span.document for span in spans] for query, spans in retrieved.items()},
    )


def materialized(source: Any) -> Any:
    """The same mapping or lists, with iterators turned into lists so that they can be read more than once."""
    if isinstance(source, Mapping):
        return {query: list(spans) if isinstance(spans, Iterator) else spans for query, spans in source.items()}
    if isinstance(source, list | tuple):
        return [list(spans) if isinstance(spans, Iterator) else spans for spans in source]
    return source


def spans_of_frame(source: Any, number: Number, columns: GivenNames | None, name: str) -> ByQuery | None:
    """The spans of each query in a data frame with a row per query; None for anything else."""
    if not hasattr(source, "__arrow_c_stream__"):
        return None
    from karat.reading.pairs.frames import Frame

    frame = Frame.of(source, number, plain_names(columns), name)
    return frame if isinstance(frame, ByQuery) else None


def _by_query(source: Any, queries: Sequence[str] | None, name: str) -> dict[str, Any]:
    """The spans of each query as given. Lists are in the order of `queries`, or numbered from 0 without them."""
    if isinstance(source, Mapping):
        listed: dict[str, Any] = {}
        for key, spans in source.items():
            query = _id(key, name)
            if query in listed:
                raise KaratError(f"query {query} appears twice, once as text and once as a number", place=name)
            listed[query] = spans
        return listed
    if not isinstance(source, Sequence) or isinstance(source, str | bytes):
        path = getattr(source, "path", None)
        what = "a data frame" if hasattr(source, "__arrow_c_stream__") else shown(path or source)
        raise KaratError(f"spans cannot be read from {what}", place=name, hint=_FORMS)
    if queries is not None and len(source) != len(queries):
        raise KaratError(
            f"the ground truth has {plural(len(queries), 'query')} and {name} has {plural(len(source), 'list')}",
            hint="Lists are matched by position. Pass one list per query, an empty one if nothing was retrieved.",
        )
    return dict(zip(queries or map(str, range(len(source))), source, strict=True))


def _spans(listed: object, place: Place, noun: str) -> list[Span]:
    if isinstance(listed, Mapping) or not isinstance(listed, Iterable) or not is_list_like(listed):
        raise KaratError(f"{shown(listed)} is not a list of spans", place=place, hint=_FORMS)
    if isinstance(listed, set | frozenset):
        if noun == "rank":
            raise KaratError("a set has no order", place=place, hint=_FORMS)
        listed = sorted(listed, key=lambda span: shown(span, 1000))
    spans: list[Span] = []
    for at, span in enumerate(listed, 1):
        try:
            spans.append(_span(span, place))
        except KaratError as error:
            raise error.but(place=place.inside(f"{noun} {at}")) from error.__cause__
    return spans


def _span(span: Any, place: Place) -> Span:
    # A named tuple is read by the names of its fields, which may be in any order.
    if isinstance(span, tuple | list) and not hasattr(span, "_fields"):
        if len(span) != 3:
            raise KaratError(f"{shown(span)} is not a span", place=place, hint=_SPAN)
        document, start, end = span
    else:
        document, start, end = _parts(span, place)
    name, first, last = _id(document, place), _position(start, "start", place), _position(end, "end", place)
    if not name:
        raise KaratError("the document of a span is an empty text", place=place, hint=_SPAN)
    if last < first:
        raise KaratError(
            f"a span ends at {last}, before its start at {first}", place=place, hint="Write (document, start, end)."
        )
    return Span(name, first, last)


def _parts(span: Any, place: Place) -> tuple[object, object, object]:
    """The document, start and end of an object; a chunk without an end is as long as its text."""
    # LlamaIndex's retrievers wrap a node, and only some of its fields can be read from the wrapper.
    inner = getattr(span, "node", None)
    chunk = span if inner is None else inner
    holders = (chunk, first_value((chunk,), "meta"))
    document, start, end = (first_value(holders, role) for role in ("span_document", "start", "end"))
    content = first_value(holders, "content") if end is None else None
    if end is None and isinstance(content, str) and start is not None:
        end = _position(start, "start", place) + len(content)
    for part, value in (("document", document), ("start", start), ("end", end)):
        if value is None:
            raise KaratError(f"{shown(span)} is not a span: it has no {part}", place=place, hint=_SPAN)
    return document, start, end


def _position(value: object, what: str, place: Place) -> int:
    # Nearly all are plain integers, and isinstance with Integral is slower than everything else here.
    if type(value) is not int and (not isinstance(value, Integral) or isinstance(value, bool)):
        raise KaratError(f"the {what} of a span is {shown(value)}, not a whole number", place=place, hint=_POSITION)
    position = int(value)
    if position < 0:
        hint = f"{_POSITION} LangChain uses -1 for chunks that it did not find in their document."
        raise KaratError(f"the {what} of a span is {shown(position)}", place=place, hint=hint)
    if position > MAX_POSITION:
        raise KaratError(f"the {what} of a span is larger than 2**62", place=place, hint=_POSITION)
    return position


def _id(value: object, place: Place | str) -> str:
    """An id without lone surrogates."""
    text = identifier(value, place)
    reject_lone_surrogates([text], place)
    return text


class _Columns(NamedTuple):
    query: Ints
    document: Ints
    start: Ints
    end: Ints


def _columns(spans: Iterable[list[Span]], codes: dict[str, int]) -> _Columns:
    """The spans of all queries in one table; `codes` numbers the documents in order of first appearance."""
    listed = list(spans)
    query = np.repeat(np.arange(len(listed)), [len(of_query) for of_query in listed])
    rows = [(codes.setdefault(name, len(codes)), start, end) for name, start, end in chain.from_iterable(listed)]
    return _Columns(query, *np.array(rows, np.int64).reshape(-1, 3).T)
