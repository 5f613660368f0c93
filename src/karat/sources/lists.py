"""Lists with one element per question, as evaluators and pooled metrics take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from karat.errors import KaratError, list_hint, shown


def check_lengths(inputs: Mapping[str, Sequence[object]]) -> None:
    """Refuse inputs that are no lists, have nothing in them, or do not have one element per question."""
    check_equal_lengths(inputs)
    if not all(inputs.values()):
        raise _wrong_lengths(inputs)


def check_equal_lengths(inputs: Mapping[str, Sequence[object]]) -> None:
    """Refuse inputs that are no lists, or do not have one element per question; there may be no questions."""
    for name, values in inputs.items():
        check_list(values, name, "Give one element per question.")
    if len({len(values) for values in inputs.values()}) > 1:
        raise _wrong_lengths(inputs)


def _wrong_lengths(inputs: Mapping[str, Sequence[object]]) -> KaratError:
    return KaratError(
        " and ".join(f"{name} has length {len(values)}" for name, values in inputs.items()),
        hint="Give one element per question to each, and at least one question.",
    )


def check_lists(inputs: Mapping[str, Sequence[Sequence[object]]]) -> None:
    """Refuse inputs that do not have one list per question."""
    check_lengths(inputs)
    for name, lists in inputs.items():
        for query, documents in enumerate(lists):
            if type(documents) is not list:  # they mostly are, and there may be many
                check_list(documents, f"{name}, query {query}", "Give one list per question: [[doc, ...], [doc, ...]].")


def check_list(values: object, where: str, hint: str) -> None:
    """Refuse what is no list, and say how it becomes one."""
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        raise KaratError(f"{shown(values)} is not a list", where=where, hint=f"{list_hint(values)} {hint}".strip())
