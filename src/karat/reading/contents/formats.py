"""The format of a file: by its content first, and by its name where the content leaves a choice."""

from __future__ import annotations

from karat.errors import KaratError, Message, Parameter
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.json_start import is_json, json_or_jsonl
from karat.reading.bytes.kinds import arrow_format
from karat.reading.bytes.names import IN_PROSE, Format, format_of_name, is_arrow
from karat.reading.bytes.part_files import part_files
from karat.reading.pairs.delimited import looks_delimited
from karat.reading.pairs.tables import Number
from karat.reading.pairs.trec_lines import QRELS, RUN, first_rows, fits, has_width_of_trec, layout_of_trec

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
    found = _format_of_content(file, number) or format_of_name(file.name)
    return found or ("json" if file.first_byte() in (b"{", b"[") else "trec")


def check_content(file: InputFile, given: Format, number: Number) -> None:
    """Reject a file that cannot have the given format, and clearly has another one."""
    found = _format_of_content(file, number)
    may_be_as_given = (
        found in (None, given)
        or (given in ("csv", "tsv") and found in ("csv", "tsv", "trec") and _is_separated(file.start(_START), given))
        or {given, found} == {"json", "jsonl"}
        or (given == "trec" and not is_arrow(found) and fits(file.start(_START), layout_of_trec(number)))
    )
    if found is not None and not may_be_as_given:
        what = f"the file was to be read as {IN_PROSE[given]}, but it looks like {IN_PROSE[found]}"
        option = Parameter("truth_format" if number == "grade" else "run_format", found)
        hint: Message = ["Leave the format out, or use ", option, "."]
        raise KaratError(what, place=file.name, hint=hint)


def is_certain(file: InputFile, found: Format, number: Number) -> bool:
    """Whether both the content and the name of a file say that it has the format that was detected."""
    start = file.start(_START)
    by_content = arrow_format(start) or (json_or_jsonl(file) if is_json(start) else _of_lines(start, number))
    return found == by_content == format_of_name(file.name)


def contradiction(file: InputFile, detected: Format) -> tuple[str, ...]:
    """A note if the name of a file promises another format; nothing otherwise."""
    by_name = format_of_name(file.name)
    if by_name in (None, detected) or any({by_name, detected} <= alike for alike in _ALIKE):
        return ()
    return (f"{file.name} is read as {IN_PROSE[detected]}: its content is not {IN_PROSE[by_name]}",)


def _format_of_content(file: InputFile, number: Number | None) -> Format | None:
    """The format, if the content leaves no choice."""
    if several := part_files(file.path):
        return several[0]
    start = file.start(_START)
    if of_arrow := arrow_format(start):
        return of_arrow
    file.check_is_text()
    return json_or_jsonl(file) if is_json(start) else _of_lines(start, number)


def _of_lines(start: bytes, number: Number | None) -> Format | None:
    """The format of a text in columns; None if it is not clear."""
    if _is_trec(start, number):
        return "trec"
    return looks_delimited(start) or ("trec" if _resembles_trec(start) and not _has_bracket(start) else None)


def _is_trec(start: bytes, number: Number | None) -> bool:
    """Whether the first lines are valid in a TREC file."""
    if number is not None:
        return fits(start, layout_of_trec(number))
    # Four columns may also be the query, document, rank and score of a run.
    return fits(start, RUN) or (fits(start, QRELS) and all(row[1] == b"0" for row in first_rows(start)))


def _resembles_trec(start: bytes) -> bool:
    """Whether most of the first lines have the columns of TREC qrels or of a TREC run."""
    rows = first_rows(start)
    return 2 * sum(has_width_of_trec(row) for row in rows) > len(rows)


def _is_separated(start: bytes, given: Format) -> bool:
    """Whether the first line has a mark that separates columns in this format."""
    first = start.lstrip().partition(b"\n")[0]
    return b"\t" in first or (given == "csv" and (b"," in first or b";" in first))


def _has_bracket(start: bytes) -> bool:
    return start.lstrip().startswith((b"{", b"["))
