"""The format of a file: by its content first, and by its name where the content leaves a choice.

An error about the content of a file whose format was guessed says so, because the guess may be wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from karat.errors import KaratError, Message, Parameter, Place
from karat.reading.bytes.input_file import InputFile, Progress
from karat.reading.bytes.json_decoding import InvalidJsonError, is_json, json_or_jsonl
from karat.reading.bytes.kinds import arrow_format
from karat.reading.bytes.names import IN_PROSE, Format, format_of_name, is_arrow
from karat.reading.bytes.part_files import part_files
from karat.reading.pairs.delimited_layout import looks_delimited
from karat.reading.pairs.numeric_ids import Note
from karat.reading.pairs.places import Pair, PlacedPair
from karat.reading.pairs.tables import Columns, Number, PairTable
from karat.reading.pairs.trec import QRELS, RUN, first_rows, fits, has_width_of_trec, layout_of_trec

# Similar formats: if a file named as one of them has the other format, no note is needed.
_ALIKE: tuple[set[Format], ...] = ({"csv", "tsv"}, {"json", "jsonl"}, {"trec", "tsv"})
_START = 1 << 16  # bytes


def detect(file: InputFile, number: Number | None = None) -> Format:
    """The format of a file, or of a table in several files.

    `number` says whether it is ground truth (grades) or a run (scores), if that is known. Parquet and Feather begin
    with bytes of their own, and JSON with a bracket. Lines with the columns of a TREC file are TREC, whatever blanks or
    tabs separate them; other lines with the same number of tabs, commas or semicolons are TSV or CSV. If nothing fits,
    the name decides. Without a known name, a file that begins with a bracket is invalid JSON, and any other file is
    read as TREC.
    """
    detected = _format_of_content(file, number) or format_of_name(file.name)
    return detected or ("json" if file.first_byte() in (b"{", b"[") else "trec")


def check_content(file: InputFile, wanted: Format, number: Number) -> None:
    """Reject a file that cannot have the format that is wanted, and clearly has another one."""
    detected = _format_of_content(file, number)
    if (
        detected in (None, wanted)
        or {wanted, detected} == {"json", "jsonl"}
        or (wanted in ("csv", "tsv") and detected in ("csv", "tsv", "trec") and _is_separated(file, wanted))
        or (wanted == "trec" and not is_arrow(detected) and fits(file.start(_START), layout_of_trec(number)))
    ):
        return
    what = f"the file was to be read as {IN_PROSE[wanted]}, but it looks like {IN_PROSE[detected]}"
    hint: Message = ["Leave the format out, or use ", Parameter(_format_option(number), detected), "."]
    raise KaratError(what, place=file.name, hint=hint)


def contradiction(file: InputFile, detected: Format) -> tuple[str, ...]:
    """A note if the name of a file promises another format; nothing otherwise."""
    by_name = format_of_name(file.name)
    if by_name in (None, detected) or any({by_name, detected} <= alike for alike in _ALIKE):
        return ()
    return (f"{file.name} is read as {IN_PROSE[detected]}: its content is not {IN_PROSE[by_name]}",)


def _format_of_content(file: InputFile, number: Number | None) -> Format | None:
    """The format, if the content leaves no choice."""
    if parts := part_files(file.path):
        return parts[0]
    start = file.start(_START)
    if of_arrow := arrow_format(start):
        return of_arrow
    file.check_is_text()
    if is_json(start):
        return json_or_jsonl(file)
    if _is_trec(start, number):
        return "trec"
    has_bracket = start.lstrip().startswith((b"{", b"["))
    return looks_delimited(start) or ("trec" if _resembles_trec(start) and not has_bracket else None)


def _is_trec(start: bytes, number: Number | None) -> bool:
    """Whether the first lines are valid in a TREC file."""
    if number is not None:
        return fits(start, layout_of_trec(number))
    # Four columns may also be the query, document, rank and score of a run.
    return fits(start, RUN) or (fits(start, QRELS) and all(row[1] == b"0" for row in first_rows(start)))


def _resembles_trec(start: bytes) -> bool:
    """Whether most of the first lines have the columns of TREC qrels or of a TREC run."""
    rows = first_rows(start)
    return 2 * sum(has_width_of_trec(row) and not row[0].startswith(b'{"') for row in rows) > len(rows)


def _is_separated(file: InputFile, form: Format) -> bool:
    """Whether the first line has a mark that separates columns in this format."""
    first = file.start(_START).lstrip().partition(b"\n")[0]
    return b"\t" in first or (form == "csv" and (b"," in first or b";" in first))


def _format_option(number: Number) -> str:
    """The parameter with which the format of a file is given."""
    return "truth_format" if number == "grade" else "run_format"


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
        by_name = format_of_name(self.file.name)
        if is_arrow(self.format) or self.format == by_name == _format_of_content(self.file, self.number):
            return ""
        read_as = f"The file is read as {IN_PROSE[self.format]}"
        return [f"{read_as}; if it has another format, use ", Parameter(_format_option(self.number)), "."]


@dataclass(frozen=True)
class GuessedTable:
    """A table in a file whose format was guessed."""

    table: PairTable
    guess: FormatGuess

    @property
    def name(self) -> str:
        return self.table.name

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

    def locate(self, pairs: Collection[Pair]) -> Iterator[PlacedPair]:
        """The places at which pairs of a query and a document are listed."""
        return self.table.locate(pairs)

    def empty_error(self) -> KaratError:
        """The error for a table without rows."""
        return self.table.empty_error()

    def _read(self, part: Callable[[], Columns]) -> Columns:
        with self.guess.explained():
            return part()
