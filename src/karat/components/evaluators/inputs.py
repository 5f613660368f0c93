"""What every evaluator asks of its inputs: lists, one element per question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from karat.errors import KaratError, shown


def check_lengths(inputs: Mapping[str, object]) -> None:
    """Refuse inputs that are no lists, have nothing in them, or do not have one element per question."""
    for name, values in inputs.items():
        if not isinstance(values, Sequence) or isinstance(values, str | bytes):
            raise KaratError(f"{name} is {shown(values)}, not a list", mend="Give one element per question.")
    lengths = {name: len(values) for name, values in inputs.items() if isinstance(values, Sequence)}
    if len(set(lengths.values())) > 1 or not all(lengths.values()):
        raise KaratError(
            " and ".join(f"{name} has length {length}" for name, length in lengths.items()),
            mend="Give one element per question to each, and at least one question.",
        )
