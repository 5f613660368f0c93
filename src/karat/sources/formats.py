"""The format of a file: by its content first, and by its name where the content leaves a choice."""

from __future__ import annotations

from karat.errors import KaratError
from karat.files.input_file import InputFile
from karat.files.kinds import check_is_text
from karat.files.names import IN_PROSE, Format, format_of_name
from karat.sources.delimited import looks_delimited
from karat.sources.json_start import is_json, json_or_jsonl
from karat.sources.tables import Number
from karat.sources.trec_lines import QRELS, RUN, first_rows, fits

# Similar formats: if a file named as one of them has the other format, no note is needed.
_ALIKE: tuple[set[Format], ...] = ({"csv", "tsv"}, {"json", "jsonl"}, {"trec", "tsv"})
_MAGIC: dict[bytes, Format] = {b"PAR1": "parquet", b"ARROW1": "feather", b"\xff\xff\xff\xff": "feather"}
_START = 1 << 16  # bytes


def detect(file: InputFile, number: Number | None = None) -> Format:
    """The format of a file. `number` says whether it is ground truth (grades) or a run (scores), if that is known.

    Parquet and Feather begin with bytes of their own, and JSON with a bracket. Lines with the columns of a TREC file
    are TREC, whatever blanks or tabs separate them; other lines with the same number of tabs, commas or semicolons are
    TSV or CSV. If nothing fits, the name decides; a file without a known name is read as TREC.
    """
    start = file.start(_START)
    if of_magic := _of_magic(start):
        return of_magic
    check_is_text(start, file.name)
    if is_json(start):
        return json_or_jsonl(file)
    return _of_lines(start, number) or format_of_name(file.name) or "trec"


def check_content(file: InputFile, given: Format, number: Number) -> None:
    """Reject a file whose format was given as JSON, Parquet or Feather, but which clearly has another format."""
    start = file.start(_START)
    is_as_given = is_json(start) if given in ("json", "jsonl") else _of_magic(start) == given
    if given in ("trec", "csv", "tsv") or is_as_given:
        return
    found = _of_magic(start) or ("json" if is_json(start) else _of_lines(start, number))
    if found is not None:
        what = f"the file was to be read as {IN_PROSE[given]}, but it looks like {IN_PROSE[found]}"
        hint = f"Leave the format out, or use --input-format {found} (in Python truth_format= or run_format=)."
        raise KaratError(what, where=file.name, hint=hint)


def contradiction(file: InputFile, detected: Format) -> tuple[str, ...]:
    """A note if the name of a file promises another format; nothing otherwise."""
    by_name = format_of_name(file.name)
    if by_name in (None, detected) or any({by_name, detected} <= alike for alike in _ALIKE):
        return ()
    return (f"{file.name} is read as {IN_PROSE[detected]}: its content is not {IN_PROSE[by_name]}",)


def _of_magic(start: bytes) -> Format | None:
    return next((of_magic for magic, of_magic in _MAGIC.items() if start.startswith(magic)), None)


def _of_lines(start: bytes, number: Number | None) -> Format | None:
    """The format of a text in columns; None if it is not clear."""
    if _is_trec(start, number):
        return "trec"
    return looks_delimited(start) or ("trec" if _resembles_trec(start) else None)


def _is_trec(start: bytes, number: Number | None) -> bool:
    """Whether the first lines are valid in a TREC file."""
    if number is not None:
        return fits(start, RUN if number == "score" else QRELS)
    # Four columns may also be the query, document, rank and score of a run.
    return fits(start, RUN) or (fits(start, QRELS) and all(row[1] == b"0" for row in first_rows(start)))


def _resembles_trec(start: bytes) -> bool:
    """Whether most of the first lines have the columns of TREC qrels or of a TREC run."""
    rows = first_rows(start)
    return 2 * sum(len(row) == 4 or len(row) >= 6 for row in rows) > len(rows)
