"""Ground truth and runs as Python objects: which of them are rows, and those of other libraries.

Objects of other libraries are recognized by what they have, so none of these libraries is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from numbers import Number as AnyNumber
from typing import TYPE_CHECKING, Any

from karat.errors import KaratError, Place, enumeration, plural, shown
from karat.reading.bytes.file_objects import is_file_object
from karat.reading.bytes.input_file import InputFile, is_file
from karat.reading.bytes.rejected_rows import RejectedRows
from karat.reading.columns.spellings import Role, find_column
from karat.reading.pairs.data_sets import named_data_set, rows_of_data_set
from karat.reading.pairs.elasticsearch import reject_elasticsearch
from karat.reading.pairs.tables import ByQuery, Number
from karat.reading.records.paths import field_names_of

if TYPE_CHECKING:
    from karat.reading.pairs.frames import Frame

_RECORDS_AT_ONCE = 1 << 10
MOST_FIELDS = 1000  # of a row; a mapping with more keys maps documents to numbers


def adapted(source: Any, number: Number, name: str) -> Any:
    """Ground truth or a run of another library as a mapping, a data frame or an iterator of rows.

    Everything else is returned as it is.
    """
    if data_set := named_data_set(source):
        return rows_of_data_set(data_set, number)
    if is_hugging_face(source):
        return hugging_face_table(source, name)
    if isinstance(source, bytes):
        hint = "To read the content of a file, pass io.BytesIO(content)."
        raise KaratError(f"{shown(source)} is neither a path nor an open file", place=name, hint=hint)
    if isinstance(source, str | Mapping | Sequence):
        return source
    if is_series(source):
        return _frame_of_series(source, number, name)
    if hasattr(source, "__arrow_c_stream__") or is_file(source):
        return source
    if isinstance(source, Iterator):
        return _rows_or_lists(source, number, name)
    if {"qrels", "run"}.intersection(field_names_of(source)):
        return _from_ranx(source, number, name)
    if getattr(getattr(source, "dtype", None), "names", None):
        return _table_of_structured_array(source, name)
    return source


def read_object(
    source: Any, number: Number, by_role: Mapping[str, str] | None, name: str, rejected: RejectedRows | None
) -> Frame | ByQuery | None:
    """A data frame, or the rows of a list or an iterator, as columns; None if it is something else.

    Data frames with a row per query are documents by query. `by_role` are names of columns or fields.
    """
    if isinstance(source, dict):
        reject_elasticsearch(source, name)
        return None
    if hasattr(source, "__arrow_c_stream__"):
        from karat.reading.pairs.frames import Frame

        return Frame.of(source, number, by_role, name, rejected)
    if not isinstance(source, Iterator) and not (isinstance(source, Sequence) and _has_rows(source, number, by_role)):
        if isinstance(source, Sequence):
            _reject_rows_as_lists(source, number, name)
        return None
    from karat.reading.pairs.frames import read_rows

    return read_rows(source, number, by_role, name, rejected)


def records_of(source: Any, name: str) -> Iterable[Any] | None:
    """The records of a list, an iterator, a data frame or a data set of Hugging Face; None for anything else."""
    if is_hugging_face(source):
        source = hugging_face_table(source, name)
    if hasattr(source, "__arrow_c_stream__"):
        from karat.reading.pairs.frames import arrow_table

        batches = arrow_table(source, name, 'Pass frame.to_dict("records").').to_batches(_RECORDS_AT_ONCE)
        return chain.from_iterable(batch.to_pylist() for batch in batches)
    return source if isinstance(source, Sequence | Iterator) and not isinstance(source, str | bytes) else None


def rereadable(source: Any, name: str) -> Any:
    """An iterator as a list, an open file as an InputFile, a data set of Hugging Face as a table or a list.

    Everything else is returned as it is.
    """
    if (isinstance(source, str) and source == "-") or is_file_object(source):
        return InputFile.of(source)
    if is_hugging_face(source):
        source = hugging_face_table(source, name)
    is_stream = isinstance(source, Iterator) and not (is_file(source) or hasattr(source, "__arrow_c_stream__"))
    return list(source) if is_stream else source


def _has_rows(source: Sequence[Any], number: Number, by_role: Mapping[str, str] | None) -> bool:
    """Whether a list contains rows: any tuple is one, and if the first entry is another kind of row, all must be."""
    if isinstance(source, str | bytes) or not source:
        return False
    return any(issubclass(kind, tuple) for kind in set(map(type, source))) or is_row(source[0], number, by_role)


def _rows_or_lists(iterator: Iterator[Any], number: Number, name: str) -> Iterator[Any] | list[Any]:
    """An iterator of rows as it is, and a list of the lists of documents that another iterator gives."""
    nothing = object()
    first = next(iterator, nothing)
    if first is nothing:
        hint = "An iterator can be read only once: create a new one, or pass a list."
        raise KaratError("this iterator has nothing left", place=name, hint=hint)
    return chain((first,), iterator) if is_row(first, number) else [first, *iterator]


def is_row(entry: Any, number: Number, by_role: Mapping[str, str] | None = None) -> bool:
    """Whether an entry of a list is a row, rather than the documents of a query; `by_role` are names of fields."""
    if isinstance(entry, tuple):
        return True
    if isinstance(entry, str | list) or (isinstance(entry, Mapping) and len(entry) > MOST_FIELDS):
        return False
    names = field_names_of(entry)
    if by_role:
        return bool(names)
    roles: tuple[Role, ...] = ("query", "doc")
    if not all(find_column(names, role) for role in roles):
        return False
    if find_column(names, number) or (number == "score" and find_column(names, "rank")):
        return True
    # Without a number it is a row that lacks one, unless it maps documents to numbers.
    return not (isinstance(entry, Mapping) and all(isinstance(entry[name], AnyNumber) for name in names))


def _reject_rows_as_lists(source: Sequence[Any], number: Number, name: str) -> None:
    """Refuse `[["q1", "d1", 1], ...]`, as rows are in JSON: read as documents, they would give wrong scores."""
    if source and all(
        isinstance(row, list) and len(row) == 3 and isinstance(row[1], str) and isinstance(row[2], AnyNumber)
        for row in source
    ):
        hint = f"Write rows as tuples: [(query, doc, {number}), ...]. If these are documents, write all ids as texts."
        raise KaratError(f"{shown(source[0])} may be a row or documents", place=Place(name, row=0), hint=hint)


def hugging_face_table(source: Any, name: str) -> Any:
    """A data set of Hugging Face as an Arrow table, or as an iterator of rows if it is streamed."""
    if isinstance(source, Mapping):
        splits = enumeration([shown(split) for split in source], "and")
        hint = f"Pass one of them, such as dataset[{shown(next(iter(source), 'test'))}]."
        raise KaratError(f"this is a DatasetDict with {plural(len(source), 'split')}: {splits}", place=name, hint=hint)
    if not hasattr(source, "__len__"):
        return iter(source)
    # Slicing gives the rows that are selected, in their order; `data` has all rows.
    return source.with_format("arrow")[:]


def is_hugging_face(source: Any) -> bool:
    """Whether this is a data set of Hugging Face."""
    module = type(source).__module__
    return isinstance(module, str) and module.partition(".")[0] == "datasets" and hasattr(source, "with_format")


def _from_ranx(source: Any, number: Number, name: str) -> Any:
    """The mapping in ranx's Qrels or Run, as dictionaries: looking up keys in those of Numba is slow."""
    kind, expected = ("Qrels", "grade") if "qrels" in field_names_of(source) else ("Run", "score")
    queries = getattr(source, kind.lower())
    if not isinstance(queries, Mapping) or not all(isinstance(docs, Mapping) for docs in queries.values()):
        return source
    if number != expected:
        hint = "Pass the ground truth (Qrels) first, then the run (Run)."
        raise KaratError(f"this is a {kind} of ranx", place=name, hint=hint)
    return {query: dict(docs.items()) for query, docs in queries.items()}


def is_series(source: Any) -> bool:
    """Whether this is a Series of pandas."""
    return hasattr(source, "reset_index") and hasattr(source, "rename") and not hasattr(source, "columns")


def _frame_of_series(series: Any, number: Number, name: str) -> Any:
    """A pandas Series of numbers with an index of queries and documents as a data frame."""
    levels = list(series.index.names)
    if len(levels) != 2:
        hint = "Its index must have two levels: query and document. Or pass a data frame."
        raise KaratError(f"this Series has {plural(len(levels), 'level')} of index", place=name, hint=hint)
    names = [default if level is None else level for level, default in zip(levels, ("query", "doc"), strict=True)]
    return series.rename_axis(names).rename(number).reset_index()


def _table_of_structured_array(array: Any, name: str) -> Any:
    import pyarrow as pa

    if array.ndim != 1:
        raise KaratError(f"an array with {array.ndim} dimensions is not a list of rows", place=name)
    try:
        columns = {field: pa.array(array[field]) for field in array.dtype.names}
        texts = {
            field: values.cast(pa.string()) for field, values in columns.items() if pa.types.is_binary(values.type)
        }
        return pa.table(columns | texts)
    except (pa.ArrowInvalid, UnicodeError):
        what = "a text, or the name of a field, is not UTF-8"
        raise KaratError(what, place=name, hint="Convert the array to Unicode texts.") from None
