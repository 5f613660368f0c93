"""Read TREC qrels (ground truth) and runs: large files in blocks, with Arrow, and small files in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from karat.errors import KaratError, Place
from karat.reading.bytes.input_file import Block, InputFile, Progress
from karat.reading.pairs.tables import Columns, Number, by_query, first_two_lines, is_small_file
from karat.reading.pairs.trec_lines import Layout, empty_error, layout_of_trec, parse_lines


@dataclass(frozen=True)
class TrecTable:
    """A TREC file: qrels, whose rows have grades, or a run, whose rows have scores."""

    source: InputFile
    number: Number
    by_rank = False
    notes = ()

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def _layout(self) -> Layout:
        return layout_of_trec(self.number)

    def parts(self, progress: Progress | None = None, *, whole_queries: bool = True) -> Iterator[Callable[[], Columns]]:
        """One part per block of the file."""
        for block in self.source.blocks(progress, whole_queries=whole_queries):
            yield partial(_read_block, block, self._layout)

    def small(self, progress: Progress | None = None) -> dict[str, dict[str, float]] | None:
        """The number of each document of each query in a small file."""
        if not is_small_file(self.source):
            return None
        data = self.source.read_all()
        if progress:
            progress(len(data), len(data))
        return by_query(parse_lines(Block(memoryview(data), self.source, 0), self._layout))

    def locate(self, query: str, doc: str) -> Place:
        """The first two lines with this query and document: `run.trec:3 and 7`."""
        wanted = query.encode(), doc.encode()

        def lines_in(block: Block) -> list[int]:
            data = bytes(block.data)
            lines = data.splitlines() if wanted[1] in data else []
            return [at for at, line in enumerate(lines) if tuple(line.split(None, 3)[:3:2]) == wanted]

        return first_two_lines(self.source, self.source.blocks(), lines_in)

    def empty_error(self) -> KaratError:
        """The error for a file without data lines."""
        return empty_error(self.source, self._layout)


def _read_block(block: Block, layout: Layout) -> Columns:
    from karat.reading.pairs.trec_blocks import read_block

    return read_block(block, layout)
