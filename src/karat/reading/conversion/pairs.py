"""Read a run or ground truth from any source, and write it to a file of any format.

Both are done batch by batch, so that memory stays flat. Parquet and Feather files are written in row groups of whole
queries, text as `pair_texts` gives it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, BinaryIO, Generic, TypeVar

import numpy as np
import pyarrow as pa

from karat.errors import KaratError
from karat.output.files import write_whole
from karat.reading.bytes.input_file import InputFile, Progress, is_file
from karat.reading.bytes.names import is_arrow
from karat.reading.bytes.threads import in_threads
from karat.reading.conversion import pair_texts
from karat.reading.conversion.targets import Target, write_to
from karat.reading.pairs.any_source import Run, read_run, read_truth
from karat.reading.pairs.arrays import text_column
from karat.reading.pairs.containers import Batch, InMemoryRun, RankedLists, ScoredMappings, ScoredRows, Truth
from karat.reading.pairs.data_sets import named_data_set
from karat.reading.pairs.files import Reading, open_file
from karat.reading.pairs.places import queries_in
from karat.reading.pairs.tables import ByQuery, Number, TableRun

Encoded = TypeVar("Encoded")

# Formats in which the documents of a query are in one place.
_GROUPED = ("trec", "json", "jsonl")
_DELIMITER = {"csv": ",", "tsv": "\t"}
# Threads read row groups in parallel; reading many small ones takes longer.
_ROWS_PER_GROUP = 1 << 17
_MOST_ROWS_PER_GROUP = 1 << 20


@dataclass(frozen=True)
class PairSource:
    """A run or ground truth: queries, their documents, and the number of each pair, which is a grade or a score."""

    run: Run
    number: Number
    by_rank: bool = False
    """whether a run has ranks and no scores: the number is minus the rank"""
    is_listed: bool = False
    """whether documents were listed in their order, without numbers; that of a gold document is 1"""
    has_objects: bool = False
    """whether any document was listed as an object, of which only the id is converted"""

    @property
    def name(self) -> str:
        return self.run.name

    def batches(self, *, grouped: bool) -> Iterator[Callable[[], ScoredRows]]:
        """The rows in batches of complete queries, or else in their own order, in which a query may appear again."""
        in_order = self.run.row_batches if isinstance(self.run, TableRun) else self.run.batches
        batches = self.run.grouped_batches() if grouped else in_order()
        return (partial(_rows, batch, self.name) for batch in batches)


def read_pairs(source: Any, reading: Reading, progress: Progress | None = None) -> PairSource:
    """Read a run or ground truth from a file or a Python object. Tables in files are read later, batch by batch."""
    if reading.number == "score":
        truth = _numbered_queries(len(source) if isinstance(source, Sequence) else 0)
        run = read_run(source, truth, columns=reading.columns, format=reading.format, progress=progress)
        parts = run.parts if isinstance(run, InMemoryRun) else ()
        lists = [part for part in parts if isinstance(part, RankedLists)]
        has_objects = not all(isinstance(each, str | int) for part in lists for docs in part.documents for each in docs)
        is_listed = bool(lists) and len(lists) == len(parts)
        by_rank = run.table.by_rank if isinstance(run, TableRun) else is_listed
        return PairSource(run, "score", by_rank, is_listed, has_objects)
    if is_file(source) and not named_data_set(source):
        file = InputFile.of(source)
        content, notes = open_file(file, reading)
        if not isinstance(content, ByQuery):
            return PairSource(TableRun(content, progress, notes), "grade")
        truth = read_truth(content.documents, name=file.name)
        return _of_truth(replace(truth, notes=(*notes, *content.notes)), file.name)
    return _of_truth(read_truth(source, columns=reading.columns), "the ground truth")


def _of_truth(truth: Truth, name: str) -> PairSource:
    if truth.scores is not None:
        hint = "Write ground truth as {query: {doc: grade}}."
        raise KaratError("gold documents that are objects with scores cannot be converted", place=name, hint=hint)
    if truth.keyless:
        raise _without_id(name)
    rows = ScoredRows(
        list(truth.queries), truth.offsets, text_column(truth.docs), truth.grades, partial(queries_in, name)
    )
    return PairSource(InMemoryRun(name, (rows,), truth.notes), "grade", is_listed=truth.only_relevant)


def _numbered_queries(n: int) -> Truth:
    """Queries without documents: lists of documents, which have no query ids, are numbered from 0."""
    return Truth(tuple(map(str, range(n))), np.zeros(n + 1, np.int64), [], np.empty(0))


def _rows(batch: Callable[[], Batch], name: str) -> ScoredRows:
    """A batch as columns."""
    content = batch()
    if isinstance(content, ScoredMappings):
        docs = text_column(list(chain.from_iterable(content.docs)))
        return ScoredRows(content.queries, content.offsets, docs, content.scores, partial(queries_in, name))
    if isinstance(content, RankedLists):
        sizes = np.fromiter(map(len, content.docs), np.int64, len(content.docs))
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        ids = [doc for doc in chain.from_iterable(content.docs) if doc]
        # The id of an object without one is a digest of its text.
        objects = (each for each in chain.from_iterable(content.documents) if isinstance(each, Mapping))
        if len(ids) < offsets[-1] or any(each.get("id") is None for each in objects):
            raise _without_id(name)
        ranks = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes) + 1
        return ScoredRows(content.queries, offsets, text_column(ids), -ranks.astype(float), partial(queries_in, name))
    return content


def _without_id(name: str) -> KaratError:
    hint = "Runs and ground truth are converted by their ids; results files may contain whole documents."
    return KaratError("a document has no id", place=name, hint=hint)


# Writing.


@dataclass
class Written:
    """What was written so far: the number of rows, and the queries."""

    rows: int = 0
    queries: set[str] = field(default_factory=set)
    without_documents: list[str] = field(default_factory=list)


class _NotGroupedError(Exception):
    """The rows of a query are not next to each other."""


@dataclass(frozen=True)
class _Encoding(Generic[Encoded]):
    """The rows of a batch in the format of the output."""

    content: Encoded
    rows: int
    queries: Sequence[str]
    without_documents: Sequence[str]


def write_pairs(pairs: PairSource, target: Target, tag: str) -> Written:
    """Write a run or ground truth."""
    grouped = target.format in _GROUPED
    try:
        if grouped and not _can_start_again(target):
            for _ in _chunks(pairs, target, tag, Written(), grouped=False):
                pass
        return _write(pairs, target, tag, grouped=False)
    except _NotGroupedError:
        return _write(pairs, target, tag, grouped=True)


def _write(pairs: PairSource, target: Target, tag: str, *, grouped: bool) -> Written:
    written = Written()
    if not is_arrow(target.format):
        write_to(target, _chunks(pairs, target, tag, written, grouped=grouped))
        return written
    by_rank = pairs.by_rank
    write_file = _write_parquet if target.format == "parquet" else _write_feather
    encode = partial(_arrow_table, number=pairs.number, by_rank=by_rank)
    tables = _encoded(pairs, encode, written, grouped=grouped, needs_groups=False)
    write_whole(target.path, lambda file: write_file(file, tables, pairs.number, by_rank=by_rank))
    return written


def _chunks(pairs: PairSource, target: Target, tag: str, written: Written, *, grouped: bool) -> Iterator[bytes]:
    """The text of the output, chunk by chunk."""
    needs_groups = target.format in _GROUPED and not grouped
    chunks = _encoded(pairs, _encoder(pairs, target, tag), written, grouped=grouped, needs_groups=needs_groups)
    if target.format in ("csv", "tsv"):
        header = ("query", "doc", "rank" if pairs.by_rank else pairs.number)
        yield (_DELIMITER[target.format].join(header) + "\n").encode()
    if target.format == "json":
        yield from _as_object(chunks)
    else:
        yield from chunks


def _as_object(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """A JSON object from its members, each of which is preceded by a comma and a line end."""
    before = b"{"
    for chunk in chunks:
        yield before + chunk.removeprefix(b",\n" if before else b"")
        before = b""
    yield before + b"}\n"


def _encoder(pairs: PairSource, target: Target, tag: str) -> Callable[[ScoredRows], bytes]:
    by_rank, is_listed = pairs.by_rank, pairs.is_listed
    if target.format == "trec":
        as_run = partial(pair_texts.trec_run, tag=tag, by_rank=by_rank)
        return as_run if pairs.number == "score" else pair_texts.trec_qrels
    if target.format == "json":
        return partial(pair_texts.json_members, by_rank=by_rank, is_listed=is_listed)
    if target.format == "jsonl":
        return partial(pair_texts.json_lines, by_rank=by_rank, is_listed=is_listed)
    return partial(pair_texts.delimited_lines, delimiter=_DELIMITER[target.format], by_rank=by_rank)


def _encoded(
    pairs: PairSource, encode: Callable[[ScoredRows], Encoded], written: Written, *, grouped: bool, needs_groups: bool
) -> Iterator[Encoded]:
    """Each batch in the format of the output, encoded in threads; counts what was written."""
    calls = (partial(_encode_batch, batch, encode) for batch in pairs.batches(grouped=grouped))
    for encoding in in_threads(calls):
        distinct = set(encoding.queries)
        if needs_groups and (len(distinct) < len(encoding.queries) or not distinct.isdisjoint(written.queries)):
            raise _NotGroupedError
        written.rows += encoding.rows
        written.queries |= distinct
        written.without_documents += encoding.without_documents
        if encoding.queries:
            yield encoding.content
    if not written.queries:
        raise pairs.run.empty_error() or KaratError("there is nothing to convert", place=pairs.name)


def _encode_batch(batch: Callable[[], ScoredRows], encode: Callable[[ScoredRows], Encoded]) -> _Encoding[Encoded]:
    rows = batch()
    sizes = (rows.offsets[1:] - rows.offsets[:-1]).tolist()
    empty = [query for query, size in zip(rows.queries, sizes, strict=True) if not size]
    return _Encoding(encode(rows), len(rows.docs), rows.queries, empty)


def _can_start_again(target: Target) -> bool:
    """Whether what was written can be replaced: not on standard output, and not in a pipe."""
    if target.emit is not None:
        return False
    try:
        return stat.S_ISREG(os.stat(target.path).st_mode)
    except OSError:
        return True


def _arrow_table(rows: ScoredRows, number: str, *, by_rank: bool) -> pa.Table:
    """Rows with the columns query, doc, and score, grade or rank."""
    numbers = np.repeat(np.arange(len(rows.queries), dtype=np.int32), np.diff(rows.offsets))
    indices = pa.Array.from_buffers(pa.int32(), len(numbers), [None, pa.py_buffer(numbers)])
    query = pa.DictionaryArray.from_arrays(indices, text_column(rows.queries).cast(pa.string()))
    values = pair_texts.ranks(rows) if by_rank else np.ascontiguousarray(rows.scores, np.float64)
    column = pa.Array.from_buffers(_kind(by_rank), len(values), [None, pa.py_buffer(values)])
    return pa.Table.from_arrays([query, rows.docs.cast(pa.large_string()), column], schema=_schema(number, by_rank))


def _write_parquet(file: BinaryIO, tables: Iterator[pa.Table], number: str, *, by_rank: bool) -> None:
    """Write a Parquet file whose row groups end where tables end, so that they contain whole queries."""
    import pyarrow.parquet as pq

    schema = _schema(number, by_rank)
    # Compressing scores makes them hardly smaller, and slower to read. Without Arrow's schema, queries are plain texts.
    compression = dict.fromkeys(("query", "doc"), "zstd") | {schema.names[2]: "none"}
    with pq.ParquetWriter(
        file, schema, use_dictionary=["query"], compression=compression, store_schema=False
    ) as writer:
        for table in _groups(tables):
            writer.write_table(table, _MOST_ROWS_PER_GROUP)


def _write_feather(file: BinaryIO, tables: Iterator[pa.Table], number: str, *, by_rank: bool) -> None:
    """Write a Feather file, which is Arrow's own format."""
    names = _schema(number, by_rank).names
    schema = pa.schema(zip(names, (pa.string(), pa.large_string(), _kind(by_rank)), strict=True))
    with pa.ipc.new_file(file, schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        for table in _groups(tables):
            writer.write_table(table.cast(schema), _MOST_ROWS_PER_GROUP)


def _groups(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Tables of enough rows, each made of one or several tables."""
    collected: list[pa.Table] = []
    for table in tables:
        collected.append(table)
        if sum(map(len, collected)) >= _ROWS_PER_GROUP:
            yield _one(collected)
            collected = []
    if collected:
        yield _one(collected)


def _one(tables: list[pa.Table]) -> pa.Table:
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def _schema(number: str, by_rank: bool) -> pa.Schema:
    kinds = (pa.dictionary(pa.int32(), pa.string()), pa.large_string(), _kind(by_rank))
    return pa.schema(zip(("query", "doc", "rank" if by_rank else number), kinds, strict=True))


def _kind(by_rank: bool) -> pa.DataType:
    return pa.int64() if by_rank else pa.float64()
