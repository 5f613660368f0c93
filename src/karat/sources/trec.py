"""Read TREC qrels (ground truth) and runs: large files in blocks, with Arrow, and small files in plain Python."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from karat.errors import KaratError
from karat.files.input_file import Block, InputFile, Progress
from karat.files.kinds import PEEK, check_is_text
from karat.sources.tables import Columns, Number
from karat.sources.trec_lines import Layout, empty_error, layout_of_trec, parse_lines

# Plain Python reads a file of this many bytes in less time than it takes to load Arrow.
_SMALL = 1 << 19


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
        """The number of each document of each query in a small file; None if Arrow is loaded already."""
        if "pyarrow" in sys.modules or len(data := self.source.start(_SMALL + 1)) > _SMALL:
            return None
        check_is_text(data[:PEEK], self.source.name)
        by_query: dict[str, dict[str, float]] = {}
        block = Block(memoryview(data), self.source, 0)
        for query, doc, number in zip(*parse_lines(block, self._layout), strict=True):
            of_query = by_query.setdefault(query, {})
            if doc in of_query:
                return None
            of_query[doc] = number
        if progress:
            progress(len(data), len(data))
        return by_query

    def locate(self, query: str, doc: str) -> str:
        """The first two lines with this query and document: `run.trec:3 and 7`."""
        wanted = query.encode(), doc.encode()
        lines: list[int] = []
        for block in self.source.blocks():
            data = bytes(block.data)
            lines_of_block = data.splitlines() if wanted[1] in data else []
            found = [at for at, line in enumerate(lines_of_block) if tuple(line.split(None, 3)[:3:2]) == wanted]
            before = self.source.lines_before(block.offset) if found else 0
            lines += [before + at + 1 for at in found]
            if len(lines) > 1:
                return f"{self.name}:{lines[0]} and {lines[1]}"
        return self.name

    def empty_error(self) -> KaratError:
        """The error for a file without data lines."""
        return empty_error(self.source, self._layout)


def _read_block(block: Block, layout: Layout) -> Columns:
    from karat.sources.trec_blocks import read_block

    return read_block(block, layout)
