"""The format of a file, judging by its content first and its name second."""

from __future__ import annotations

from typing import Literal, get_args

from karat.errors import KaratError, did_you_mean, enumeration, shown
from karat.sources.input_file import InputFile

Format = Literal["trec", "csv", "tsv", "json", "jsonl", "parquet", "feather"]


def detect(file: InputFile) -> Format:
    """The format of a file."""
    del file
    return "trec"


def check_format(name: object) -> Format:
    """A format by its name."""
    formats = get_args(Format)
    if name not in formats:
        hint = f"{did_you_mean(name, formats)} The formats are {enumeration(formats, 'and')}.".strip()
        raise KaratError(f"{shown(name)} is not a format", hint=hint)
    return name  # type: ignore[return-value]  # it is one of them
