"""Ground truth and runs in CSV and TSV files: large files in blocks, with Arrow, and small files in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

from karat.errors import KaratError, Place
from karat.reading.bytes.delimited_text import TooLongError
from karat.reading.bytes.input_file import Block, InputFile, Progress
from karat.reading.pairs.delimited import Delimited, DelimitedLayout, empty_error, layout_of
from karat.reading.pairs.delimited_rows import guarded_ids, parse_rows, rows_of
from karat.reading.pairs.pair_checks import PairColumns
from karat.reading.pairs.tables import Columns, Number, by_query, first_two_lines, is_small_file


@dataclass(frozen=True)
class DelimitedTable:
    """A CSV or TSV file with a row per query and document."""

    source: InputFile
    number: Number
    layout: DelimitedLayout

    @classmethod
    def of(
        cls,
        source: InputFile,
        format: Delimited,  # noqa: A002
        number: Number,
        columns: Mapping[str, str] | None,
    ) -> DelimitedTable:
        """The table in a file; `columns` are the names or numbers of columns, by role."""
        return cls(source, number, layout_of(source, format, number, columns))

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def by_rank(self) -> bool:
        return self.layout.by_rank

    @property
    def notes(self) -> tuple[str, ...]:
        return self.layout.notes

    def parts(self, progress: Progress | None = None, *, whole_queries: bool = True) -> Iterator[Callable[[], Columns]]:
        """One part per block of the file."""
        from karat.reading.pairs.delimited_blocks import read_block

        for block in self._blocks(progress, self._last_row_end(whole_queries)):
            yield partial(read_block, block, self.layout, self.number, self._is_guarded)

    def small(self, progress: Progress | None = None) -> dict[str, dict[str, float]] | None:
        """The number of each document of each query in a small file."""
        if not is_small_file(self.source):
            return None
        blocks = self._blocks(progress, lambda _: 0)  # all rows are in one block
        try:
            pairs = [*map(self._pairs, blocks)]
        except TooLongError:
            return None
        return by_query(pairs[0]) if pairs else None

    def locate(self, query: str, doc: str) -> Place:
        """The first two lines with this query and document: `run.csv:3 and 7`."""
        # In the file, the id may be in quotation marks, and those that are part of it are doubled.
        part = max(doc.split('"'), key=len).encode()

        def lines_in(block: Block) -> list[int]:
            if part not in bytes(block.data):
                return []
            pairs = self._pairs(block)
            rows = zip(rows_of(block, self.layout), pairs.queries, pairs.docs, strict=True)
            return [row.line for row, *pair in rows if pair == [query, doc]]

        return first_two_lines(self.source, self._blocks(None, self._last_row_end(False)), lines_in)

    def empty_error(self) -> KaratError:
        """The error for a file without rows."""
        return empty_error(self.name, self.number)

    def _blocks(self, progress: Progress | None, last_end: Callable[[bytearray], int]) -> Iterator[Block]:
        """The rows in blocks, without the header; see `InputFile.blocks`."""
        first: int | None = None
        for block in self.source.blocks(progress, last_end=last_end):
            first = block.offset if first is None else first
            header = min(max(first + self.layout.start - block.offset, 0), len(block.data))
            yield Block(block.data[header:], self.source, block.offset + header)

    def _pairs(self, block: Block) -> PairColumns:
        return parse_rows(block, self.layout, self.number, self._is_guarded)

    def _last_row_end(self, whole_queries: bool) -> Callable[[bytearray], int]:
        from karat.reading.pairs.delimited_blocks import last_row_end

        return partial(last_row_end, layout=self.layout, whole_queries=whole_queries)

    def _is_guarded(self) -> bool:
        return self._guarded

    @cached_property
    def _guarded(self) -> bool:
        return guarded_ids(self._blocks(None, self._last_row_end(False)), self.layout)
