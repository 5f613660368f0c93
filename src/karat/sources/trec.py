"""Read TREC qrels (ground truth) and runs: large files in blocks, with Arrow, and small files in plain Python."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from karat.documents.key import Key
from karat.errors import KaratError
from karat.sources.containers import Batch, ScoredRows
from karat.sources.input_file import Block, InputFile, Progress
from karat.sources.mappings import run_from_mapping
from karat.sources.trec_lines import QRELS, RUN, Layout, empty_error, parse_lines

# Plain Python reads a file of this many bytes in less time than it takes to load Arrow.
_SMALL = 1 << 19


@dataclass(frozen=True)
class TrecRun:
    """A run in a file, or on standard input."""

    source: InputFile
    progress: Progress | None = None

    @property
    def name(self) -> str:
        return self.source.name

    def batches(self) -> Iterator[Callable[[], Batch]]:
        """One batch per block of the file; the whole file if it is small."""
        if small := read_small(self.source, RUN, self.progress):
            yield from run_from_mapping(small, Key(), self.name).batches()
            return
        for block in self.source.blocks(self.progress):
            yield lambda block=block: self._batch(block)  # type: ignore[misc]  # the default argument binds the block

    def grouped_batches(self) -> Iterator[Callable[[], Batch]]:
        """The rows of the whole file, in memory, for a file whose lines are not grouped by query."""
        from karat.sources.grouping import as_batches
        from karat.sources.trec_blocks import read_all

        return as_batches(read_all(self.source, RUN, self.progress), self._locate)

    def empty_error(self) -> KaratError:
        """The error for a file without data lines."""
        return empty_error(self.source, RUN)

    def without_progress(self) -> TrecRun:
        """The same run, to be read again without reporting progress."""
        return TrecRun(self.source)

    def _batch(self, block: Block) -> ScoredRows:
        from karat.sources.grouping import group_consecutive
        from karat.sources.trec_blocks import read_block

        return group_consecutive(*read_block(block, RUN), self._locate)

    def _locate(self, query: str, doc: str) -> str:
        return _locate(self.source, query, doc)


def read_qrels(source: InputFile) -> ScoredRows:
    """Read the judgments of a qrels file, grouped by query."""
    from karat.sources.grouping import as_table
    from karat.sources.trec_blocks import read_all

    return as_table(read_all(source, QRELS), lambda query, doc: _locate(source, query, doc))


def read_small(
    source: InputFile, layout: Layout, progress: Progress | None = None
) -> dict[str, dict[str, float]] | None:
    """The number of each document of each query in a small file, if that takes less time than to load Arrow.

    None if the file is large or Arrow is loaded already, and if a document is listed twice for a query: what that means
    depends on options.
    """
    if "pyarrow" in sys.modules or len(data := source.start(_SMALL + 1)) > _SMALL:
        return None
    by_query: dict[str, dict[str, float]] = {}
    for query, doc, number in zip(*parse_lines(Block(memoryview(data), source, 0), layout), strict=True):
        of_query = by_query.setdefault(query, {})
        if doc in of_query:
            return None
        of_query[doc] = number
    if progress:
        progress(len(data), len(data))
    return by_query


def _locate(source: InputFile, query: str, doc: str) -> str:
    """The first two lines with this query and document: `run.trec:3 and 7`."""
    wanted = query.encode(), doc.encode()
    lines: list[int] = []
    for block in source.blocks():
        data = bytes(block.data)
        lines_of_block = data.splitlines() if wanted[1] in data else []
        found = [at for at, line in enumerate(lines_of_block) if tuple(line.split(None, 3)[:3:2]) == wanted]
        before = source.lines_before(block.offset) if found else 0
        lines += [before + at + 1 for at in found]
        if len(lines) > 1:
            return f"{source.name}:{lines[0]} and {lines[1]}"
    return source.name
