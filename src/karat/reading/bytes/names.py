"""The formats that are read, and what the name of a file says about its format and its compression."""

from __future__ import annotations

from pathlib import PurePath
from typing import Literal, TypeGuard, get_args

from karat.errors import KaratError, Parameter, did_you_mean, enumeration

Format = Literal["trec", "csv", "tsv", "json", "jsonl", "parquet", "feather"]
ArrowFormat = Literal["parquet", "feather"]
"""the formats that Arrow reads, which are not text"""

FORMATS: tuple[Format, ...] = get_args(Format)
IN_PROSE: dict[Format, str] = {
    "trec": "TREC", "csv": "CSV", "tsv": "TSV", "json": "JSON", "jsonl": "JSON lines", "parquet": "Parquet",
    "feather": "Feather",
}  # fmt: skip
COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst", ".lz4")
_BY_SUFFIX: dict[str, Format] = {
    ".trec": "trec", ".qrels": "trec", ".qrel": "trec", ".run": "trec", ".csv": "csv", ".tsv": "tsv", ".json": "json",
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".jsonlines": "jsonl", ".parquet": "parquet", ".pq": "parquet",
    ".parq": "parquet", ".feather": "feather", ".arrow": "feather", ".arrows": "feather", ".ipc": "feather",
}  # fmt: skip
# The suffixes of runs, which say nothing about the format.
_OTHERS = (".txt", ".res", ".out")


def check_format(name: object, parameter: str = "format") -> Format:
    """A format by its name, which is the value of a parameter."""
    if name not in FORMATS:
        hint = f"{did_you_mean(name, FORMATS)} The formats are {enumeration(FORMATS, 'and')}.".strip()
        raise KaratError([Parameter(parameter, name), " is not a format"], hint=hint)
    return name


def is_arrow(format: Format | None) -> TypeGuard[ArrowFormat]:  # noqa: A002
    """Whether Arrow reads files of this format."""
    return format in get_args(ArrowFormat)


def format_of_name(path: str) -> Format | None:
    """The format that the name of a file promises; None if it promises none.

    >>> format_of_name("run.jsonl.gz"), format_of_name("run.txt")
    ('jsonl', None)
    """
    return _BY_SUFFIX.get(suffix_of(path))


def suffix_of(path: str) -> str:
    """The suffix of a file name, without that of a compression.

    >>> suffix_of("runs/BM25.CSV.gz")
    '.csv'
    """
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    while suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def without_suffixes(path: str) -> str:
    """A path without the suffixes of formats and compressions.

    >>> without_suffixes("runs/bm25.v2.trec.gz")
    'runs/bm25.v2'
    """
    pure = PurePath(path)
    while pure.suffix.lower() in (*COMPRESSIONS, *_BY_SUFFIX, *_OTHERS) and pure.stem:
        pure = pure.with_suffix("")
    return pure.as_posix()
