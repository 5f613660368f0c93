"""Faults of JSON files of pairs, where wrong pairs are left out: which are found again as wrong pairs, and the others.

A score that is NaN is a pair whose number is wrong. A document that appears twice in a mapping is one that is judged or
listed twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from karat.errors import KaratError, Place, shown
from karat.reading.bytes.json_decoding import JsonFault, ToleratesFault
from karat.reading.bytes.rejected_rows import RejectedRows
from karat.reading.pairs.columns import ReadColumns
from karat.reading.pairs.pair_checks import ListedTwiceError, judged_twice_error
from karat.reading.pairs.tables import Number


def tolerates_all(_fault: JsonFault) -> bool:
    """For whoever only looks at the names of fields."""
    return True


def in_number_of(fields: ReadColumns) -> ToleratesFault:
    """Tolerates a grade, a score or a rank that is NaN or infinite, in an object with one pair."""
    return lambda fault: fault.is_constant and fault.path == (fields.number,)


def in_documents_of(fields: ReadColumns) -> ToleratesFault:
    """The same for an object with a mapping of the documents of a query."""
    return lambda fault: (
        fault.is_constant and len(fault.path) == 2 and fault.path[0] == fields.doc and isinstance(fault.path[1], str)
    )


def reject_in_mapping(
    value: dict[str, Any], faults: Iterable[JsonFault], number: Number, name: str, rejected: RejectedRows
) -> None:
    """Collect the errors of faults in a mapping of queries to documents, and leave out queries that cannot be read.

    A number that is NaN or infinite is found again, when the pairs are read.
    """
    for fault in faults:
        query, *inner = fault.path
        place = Place(name, query=str(query))
        match inner:
            case [] | [str()] if fault.is_constant:
                continue
            case []:
                rejected.add(fault.error.but(place=place))
            case [str(doc)]:
                first = value[str(query)][doc] if query in value else fault.value
                rejected.add(_repeated(str(query), doc, (first, fault.value), number, name))
            case _:
                rejected.add(fault.error.but(place=place))
                value.pop(str(query), None)


def _repeated(query: str, doc: str, numbers: tuple[Any, Any], number: Number, name: str) -> KaratError:
    """The error for a document that appears twice in a mapping of documents to numbers."""
    place = Place(name, query=query, field=f"document {doc or shown(doc)}")
    if number == "grade":
        return judged_twice_error(doc, numbers, place)
    what = f"document {doc} is listed twice for query {query}"
    return ListedTwiceError(what, place=place, hint="Keep one of them.")
