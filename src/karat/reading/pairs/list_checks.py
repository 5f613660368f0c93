"""Check the lists that evaluators and pooled metrics take: one element per query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from karat.documents.fields import DocumentLike
from karat.errors import KaratError, Place, shown
from karat.errors.arguments import list_hint

DocumentLists = Sequence[Sequence[DocumentLike]]
"""One list of documents per question."""


def check_same_length(inputs: Mapping[str, Sequence[object]], *, allow_empty: bool = False) -> None:
    """Reject inputs that are not lists of one length; `inputs` maps the name of each input to its value."""
    for name, values in inputs.items():
        check_list(values, name, "Pass one element per query.")
    lengths = {len(values) for values in inputs.values()}
    if len(lengths) > 1 or (lengths == {0} and not allow_empty):
        raise KaratError(
            " and ".join(f"{name} has length {len(values)}" for name, values in inputs.items()),
            hint="Pass lists with one element per query, and at least one query.",
        )


def check_document_lists(inputs: Mapping[str, Sequence[Sequence[object]]]) -> None:
    """Reject inputs that do not have one list of documents per query."""
    check_same_length(inputs)
    for name, lists in inputs.items():
        for query, documents in enumerate(lists):
            if type(documents) is not list:  # nearly all are lists, and there may be millions of them
                check_list(
                    documents, Place(name, query=str(query)), "Pass one list per query: [[doc, ...], [doc, ...]]."
                )


def check_list(values: object, place: Place | str, hint: str) -> None:
    """Reject a value that is not a list or a similar sequence."""
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        raise KaratError(f"{shown(values)} is not a list", place=place, hint=f"{list_hint(values)} {hint}".strip())
