"""Convert runs, ground truth and results from one file format to another."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from karat.errors import (
    KaratError,
    Parameter,
    Place,
    did_you_mean,
    enumeration,
    first_few,
    plural,
    require,
    shown,
    size_text,
)
from karat.errors.arguments import check_mapping, check_path, check_text
from karat.output.files import check_writable
from karat.reading.bytes.input_file import InputFile, Progress, is_file
from karat.reading.bytes.json_decoding import decode_json
from karat.reading.bytes.names import Format, check_format
from karat.reading.contents.contents import Kind, kind_of_columns, kind_of_file
from karat.reading.contents.formats import detect
from karat.reading.conversion.targets import Target, target_of
from karat.reading.pairs.data_sets import is_data_set, named_data_set, qrels_of_split
from karat.reading.pairs.files import Reading
from karat.reading.pairs.numeric_ids import notes_on_reading

__all__ = ["Conversion", "Converted", "convert", "target_of"]

_KINDS: tuple[Kind, ...] = ("run", "truth", "results")

_BY_SUFFIX: dict[str, Kind] = {".qrels": "truth", ".qrel": "truth", ".run": "run"}
_RANKS = "the run has ranks and no scores; scores that end with 1 keep the order of each query"


@dataclass(frozen=True)
class Converted:
    """What was written. As text, it is one sentence.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     converted = convert({"q1": {"d1": 0.9, "d2": 0.4}}, f"{folder}/run.trec", kind="run")
    >>> converted.kind, converted.rows, converted.queries
    ('run', 2, 1)
    """

    kind: Kind
    path: str
    rows: int
    queries: int | None = None
    """the number of distinct queries of a run or of ground truth"""
    size: int | None = None
    """the size of the file, in bytes"""
    notes: tuple[str, ...] = ()
    """what was assumed, and what the format of the output cannot contain"""

    @property
    def contents(self) -> str:
        """How many rows there are, of how many queries."""
        noun = "result" if self.kind == "results" else "row"
        of_queries = "" if self.queries is None else f" of {plural(self.queries, 'query')}"
        return f"{plural(self.rows, noun)}{of_queries}"

    def __str__(self) -> str:
        size = "" if self.size is None else f" ({size_text(self.size)})"
        return f"{self.contents} written to {self.path}{size}"


def convert(
    source: Any,
    path: str | os.PathLike[str],
    *,
    kind: str | None = None,
    columns: Mapping[str, str] | None = None,
    input_format: str | None = None,
    output_format: str | None = None,
    split: str | None = None,
    tag: str = "karat",
    progress: Progress | None = None,
) -> Converted:
    """Convert a file or a Python object to a file in the format that the suffix of its name says.

    `kind` is what the source contains, if that is not clear: `run`, `truth` or `results`. `columns` are the names of
    columns, as for `evaluate`, `split` is that of a BEIR data set, and `tag` is the name of the run in a TREC file.

    Numbers are read back exactly from what was written, and rows keep their order, also within ties.

    >>> import tempfile
    >>> from pathlib import Path
    >>> path = f"{tempfile.mkdtemp()}/truth.qrels"
    >>> convert({"q1": {"d1": 2, "d2": 0.5}}, path).rows
    2
    >>> print(Path(path).read_text(), end="")
    q1 0 d1 2
    q1 0 d2 0.5
    """
    target = target_of(check_path(path), output_format)
    check_writable(target.path)
    return Conversion(kind, columns, input_format, split, tag).apply(source, target, progress)


@dataclass(frozen=True)
class Conversion:
    """How a source is to be converted: the arguments of `convert`."""

    kind: str | None = None
    columns: Mapping[str, str] | None = None
    input_format: str | None = None
    split: str | None = None
    tag: str = "karat"

    def __post_init__(self) -> None:
        check_mapping("columns", self.columns, {"doc": "docno"})
        is_word = check_text("tag", self.tag).split() == [self.tag]
        require(is_word, f"the tag {shown(self.tag)} is not one word", "Blanks separate the columns of a TREC file.")
        if self.kind is not None:
            _check_kind(self.kind)

    def apply(self, source: Any, target: Target, progress: Progress | None = None) -> Converted:
        """Convert a source."""
        form, kind = None, self.kind
        if isinstance(source, str | os.PathLike) and (self.split is not None or is_data_set(source)):
            source, kind = qrels_of_split(source, self.split), kind or "truth"
        if is_file(source) and not named_data_set(source):
            source = InputFile.of(source)
            _check_is_not_output(source, target)
            form = check_format(self.input_format, "input_format") if self.input_format else detect(source)
            kind = kind or _kind_of_roles(self.columns or {}) or _kind_of_file(source, form, target.suffix)
        name = source.name if isinstance(source, InputFile) else None
        kind = _check_kind(kind or _kind_of_object(source, target.suffix), name)
        if not target.is_format_given:
            _check_suffix(kind, target.path, target.suffix)
        if kind in ("run", "truth"):
            return self._write_pairs(source, kind, target, progress)
        from karat.reading.conversion.results import write_results

        require(target.format != "trec", "results cannot be written as a TREC file", "Write JSON lines instead.")
        rows = write_results(source, form, target)
        return Converted(kind, target.path, rows, None, _size_of(target))

    def _write_pairs(self, source: Any, kind: Kind, target: Target, progress: Progress | None) -> Converted:
        from karat.reading.conversion.pairs import read_pairs, write_pairs

        reading = Reading("score" if kind == "run" else "grade", self.columns, self.input_format)
        pairs = read_pairs(source, reading, progress)
        written = write_pairs(pairs, target, self.tag)
        notes = notes_on_reading(pairs.run.notes, ())
        if pairs.by_rank and (target.format == "trec" or (target.format in ("json", "jsonl") and not pairs.is_listed)):
            notes.append(_RANKS)
        if pairs.has_objects:
            notes.append("documents that are objects are written by their ids, in the order in which they are listed")
        if written.without_documents and target.format not in ("json", "jsonl"):
            queries = plural(len(written.without_documents), "query")
            few = first_few(written.without_documents)
            notes.append(f"{queries} without documents cannot be written as {target.format}: {few}")
        return Converted(kind, target.path, written.rows, len(written.queries), _size_of(target), tuple(notes))


def _check_is_not_output(source: InputFile, target: Target) -> None:
    """Refuse to replace the file that is read."""
    if target.emit is None and os.path.isfile(source.path) and os.path.isfile(target.path):
        is_same = os.path.samefile(source.path, target.path)
        require(not is_same, "the output file is also an input", "Write to another file.", place=target.path)


def _size_of(target: Target) -> int | None:
    return os.path.getsize(target.path) if target.emit is None and os.path.isfile(target.path) else None


# What is converted: what the caller says, what the source contains, or what the name of the output says. If that is not
# clear, an error asks for it: a wrong guess would be written to a file.


def _check_kind(name: object, place: str | None = None) -> Kind:
    """A kind by its name."""
    if name in ("answers", "texts"):
        raise KaratError(f"{name} are not converted", place=place, hint="Runs, ground truth and results are.")
    if name not in _KINDS:
        hint = f"{did_you_mean(name, _KINDS)} It is one of {enumeration(_KINDS, 'and')}.".strip()
        raise KaratError(f"{shown(name)} is not a kind of content", hint=hint)
    return name


def _kind_of_file(file: InputFile, form: Format, suffix: str) -> Kind:
    """What a file of this format contains. If its content leaves that open, the suffix of the output may say it."""
    kind = kind_of_file(file, form) or _BY_SUFFIX.get(suffix)
    if kind is None:
        if form == "json":
            decode_json(file.read_all(), file.name, "Is the file complete?")  # invalid JSON is the better error
        raise _unknown_kind(file.name)
    return kind


def _check_suffix(kind: Kind, path: str, suffix: str) -> None:
    """Refuse to write a run to a file that is named as ground truth, and the other way round."""
    named = _BY_SUFFIX.get(suffix, kind)
    if named != kind:
        nouns = {"run": "a run", "truth": "ground truth"}
        what = f"the file is named as {nouns[named]}, but this is {nouns.get(kind, kind)}"
        raise KaratError(
            what, place=path, hint=["Use the suffix .trec, or choose a format with ", Parameter("output_format"), "."]
        )


def _kind_of_object(source: object, suffix: str) -> Kind:
    """What a Python object contains: a data frame is told by its columns; for others, the output may say it."""
    columns = getattr(source, "columns", ()) if hasattr(source, "__arrow_c_stream__") else ()
    kind = kind_of_columns(name for name in columns if isinstance(name, str)) or _BY_SUFFIX.get(suffix)
    if kind is None:
        raise _unknown_kind("the source")
    return kind


def _kind_of_roles(columns: Mapping[str, str]) -> Kind | None:
    """What a table contains if columns with these roles are named: grades are those of ground truth."""
    roles = set(columns)
    return "truth" if "grade" in roles else "run" if roles & {"score", "rank"} else None


def _unknown_kind(place: Place | str) -> KaratError:
    what = "cannot tell whether this is a run, ground truth or results"
    return KaratError(what, place=place, hint=["Say what it is, for example ", Parameter("kind", "run"), "."])
