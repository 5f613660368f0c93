"""Tables whose format was guessed: an error about a row says so, because the guess may be wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from karat.errors import KaratError, Message, Parameter, Place
from karat.reading.bytes.input_file import InputFile, Progress
from karat.reading.bytes.json_decoding import InvalidJsonError
from karat.reading.bytes.names import IN_PROSE, Format, is_arrow
from karat.reading.contents.formats import is_certain
from karat.reading.pairs.numeric_ids import Note
from karat.reading.pairs.tables import Columns, Number, PairTable


@dataclass(frozen=True)
class FormatGuess:
    """The format that a file is assumed to have."""

    file: InputFile
    format: Format
    number: Number

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Add the format to an error about the content of the file, unless the name and the content agree on it."""
        try:
            yield
        except KaratError as error:
            # Other errors are about the file as a whole, such as one that is damaged.
            if error.place != Place(self.file.name) or isinstance(error, InvalidJsonError):
                error.add_hint(self.hint())
            raise

    def hint(self) -> Message:
        """That the format was guessed; empty if the name and the content agree on it."""
        if is_arrow(self.format) or is_certain(self.file, self.format, self.number):
            return ""
        option = "truth_format" if self.number == "grade" else "run_format"
        read_as = f"The file is read as {IN_PROSE[self.format]}"
        return [f"{read_as}; if it has another format, use ", Parameter(option), "."]


@dataclass(frozen=True)
class GuessedTable:
    """A table in a file whose format was guessed."""

    table: PairTable
    guess: FormatGuess

    @property
    def name(self) -> str:
        return self.table.name

    @property
    def number(self) -> Number:
        return self.table.number

    @property
    def by_rank(self) -> bool:
        return self.table.by_rank

    @property
    def notes(self) -> tuple[Note, ...]:
        return self.table.notes

    def parts(self, progress: Progress | None = None, *, whole_queries: bool = True) -> Iterator[Callable[[], Columns]]:
        """The parts of the table."""
        with self.guess.explained():
            for part in self.table.parts(progress, whole_queries=whole_queries):
                yield partial(self._read, part)

    def small(self, progress: Progress | None = None) -> dict[str, dict[str, float]] | None:
        """The number of each document of each query in a small table."""
        with self.guess.explained():
            return self.table.small(progress)

    def locate(self, query: str, doc: str) -> Place:
        """The two places at which a document is listed for a query."""
        return self.table.locate(query, doc)

    def empty_error(self) -> KaratError:
        """The error for a table without rows."""
        return self.table.empty_error()

    def _read(self, part: Callable[[], Columns]) -> Columns:
        with self.guess.explained():
            return part()
