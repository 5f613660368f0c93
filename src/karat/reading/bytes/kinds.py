"""What a file is, judging by its first bytes: compressed, a table of Arrow's, or of a kind that is not read."""

from __future__ import annotations

import re
from pathlib import PurePath

from karat.errors import KaratError
from karat.reading.bytes.names import COMPRESSIONS, IN_PROSE, ArrowFormat, format_of_name, is_arrow

PEEK = 4096  # bytes

QUERIES_TO_DOCUMENTS = "a JSON object of queries and their documents"
QUERIES_TO_ANSWERS = "a JSON object of queries and their answers"
JSON_IS_READ = "It can be evaluated: as ground truth, or as a run with ground truth."

_SAVE_AS_TEXT = "Save it as text in UTF-8."
_EXTRACT = "Extract the file from it first."
_CONVERT_LOG = "Convert it: inspect log convert FILE --to json --output-dir FOLDER"
_DECOMPRESS = "Decompress it, or compress it with gzip, bzip2, xz, zstd or lz4."

# The first bytes of files that are not read, most of them binary; what such a file is, and what to do.
_BINARY = (
    (b"PAR1", "a Parquet file", "Give it a name that ends with .parquet."),
    (b"ARROW1", "an Arrow file", "Give it a name that ends with .feather."),
    (b"\xff\xff\xff\xff", "an Arrow stream", "Give it a name that ends with .feather."),
    (b"\x93NUMPY", "a NumPy array", "Save it as text."),
    (b"\x89HDF", "an HDF5 file", "In Python, read it with pandas and pass the data frame."),
    (b"ORC\n", "an ORC file", "In Python, read it with pandas and pass the data frame."),
    (b"Obj\x01", "an Avro file", "In Python, read it with polars and pass the data frame."),
    (b"SQLite format 3\0", "an SQLite database", "Export the table from it first."),
    (b"PK\x05\x06", "an empty ZIP archive", _EXTRACT),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", _EXTRACT),
    (b"Rar!\x1a\x07", "a RAR archive", _EXTRACT),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office file, such as Excel's .xls", "Save it as CSV."),
    (b"\x1f\x9d", "compressed with compress (.Z)", _DECOMPRESS),
    (b"\x02\x21\x4c\x18", "compressed in the legacy format of lz4", _DECOMPRESS),
    (b"\x5d\0\0", "compressed in the legacy format of xz (.lzma)", _DECOMPRESS),
    (b"LZIP\x01", "compressed with lzip", _DECOMPRESS),
    (b"\xff\x06\0\0sNaPpY", "compressed with Snappy", _DECOMPRESS),
    (b"%PDF-", "a PDF file", _SAVE_AS_TEXT),
    (b"\x89PNG", "an image", _SAVE_AS_TEXT),
    (b"\xff\xfe\0\0", "text in UTF-32", _SAVE_AS_TEXT),
    (b"\0\0\xfe\xff", "text in UTF-32", _SAVE_AS_TEXT),
    (b"\xff\xfe", "text in UTF-16", _SAVE_AS_TEXT),
    (b"\xfe\xff", "text in UTF-16", _SAVE_AS_TEXT),
    (b"version https://git-lfs.github.com/", "a pointer of Git LFS, not the file itself", "Run: git lfs pull"),
)
# How compressed data begins. BZh and a digit could also begin a text. That of pzstd begins with a frame without data.
_COMPRESSED = {
    "gzip": re.compile(rb"\x1f\x8b"),
    "bzip2": re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90|.{,5}\Z)", re.DOTALL),
    "xz": re.compile(rb"\xfd7zXZ\0"),
    "zstd": re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"),
    "lz4": re.compile(rb"\x04\x22\x4d\x18"),
}
_ARROW: dict[bytes, ArrowFormat] = {b"PAR1": "parquet", b"ARROW1": "feather", b"\xff\xff\xff\xff": "feather"}
_BY_SUFFIX = dict(zip(COMPRESSIONS, ("gzip", "bzip2", "xz", "zstd", "lz4"), strict=True))
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")  # in no text, whatever its encoding is
_PICKLES = tuple(b"\x80" + bytes([protocol]) for protocol in range(2, 6))
_TAR_AT = 257


def check_is_text(start: bytes, name: str, wanted: str = "text in UTF-8 is read here, plain or compressed") -> None:
    """Reject a binary file, or a text of the wrong kind, such as an HTML page, judging by its first bytes.

    `wanted` says what is read.
    """
    kind, hint = _recognized(start)
    if kind:
        raise KaratError(f"this file is {kind}; {wanted}", place=name, hint=hint)


def check_name(start: bytes, name: str, *, is_compressed: bool) -> None:
    """Reject data that is not text if it is not what the name of the file promises either.

    `start` is how the data begins, after decompression if the file `is_compressed`.
    """
    of_name = format_of_name(name)
    promised = IN_PROSE[of_name] if is_arrow(of_name) else ""
    if not is_compressed:
        promised = _BY_SUFFIX.get(PurePath(name).suffix.lower(), promised)
    if promised and _CONTROL.search(start):
        what = f"the name of the file says {promised}, but its content is neither {promised} nor text"
        raise KaratError(what, place=name, hint="Write or download the file again.")


def compression_of(start: bytes) -> str | None:
    """The compression of data that begins with these bytes, such as `gzip`; None if it is not compressed."""
    return next((name for name, pattern in _COMPRESSED.items() if pattern.match(start)), None)


def arrow_format(start: bytes) -> ArrowFormat | None:
    """The format of a table that begins with these bytes, if Arrow reads it; None for anything else."""
    return next((of_magic for magic, of_magic in _ARROW.items() if start.startswith(magic)), None)


def _recognized(start: bytes) -> tuple[str, str]:
    if start.startswith(b"PK\x03\x04"):
        return _recognized_archive(start)
    if compression := compression_of(start):
        return f"compressed with {compression}", "Decompress it first."
    for magic, kind, hint in _BINARY:
        if start.startswith(magic):
            return kind, hint
    if start.startswith(_PICKLES) and (b"\0" in start or start.rstrip().endswith(b".")):
        return "a pickle", "Save it as text: loading a pickle could run any code."
    if start[_TAR_AT : _TAR_AT + 5] == b"ustar":
        return "a tar archive", _EXTRACT
    if _is_utf16(start):
        return "text in UTF-16", _SAVE_AS_TEXT
    if start.lstrip().lower().startswith((b"<!doctype html", b"<html")):
        return "an HTML page", "Download the file itself, not the page that shows it."
    if _is_cbor(start):
        return "CBOR, as ranx saves runs", "In ranx, save the run as JSON or TREC: run.save('run.json')."
    return "", ""


def _recognized_archive(start: bytes) -> tuple[str, str]:
    """What a ZIP archive is, by the names of the first files in it."""
    if b"xl/" in start or b"[Content_Types].xml" in start:
        return "an Excel workbook or another Office file", "Save it as CSV."
    return ("an archive of Inspect", _CONVERT_LOG) if b"_journal/start.json" in start else ("a ZIP archive", _EXTRACT)


def _is_cbor(start: bytes) -> bool:
    """Whether data begins with a mapping of short texts to mappings. No text in UTF-8 begins with such a byte."""
    is_map, is_text = (range(kind << 5, (kind << 5) + 24) for kind in (5, 3))
    # A mapping may have more than 23 entries: their number then takes up to eight bytes.
    size = (0, 1, 2, 4, 8)[max(start[0] - 0xB7, 0)] if start and 0xA0 <= start[0] <= 0xBB else -1
    key = start[1 + size : 2 + size] if size >= 0 else b""
    if not key or key[0] not in is_text:
        return False
    following = start[2 + size + key[0] - is_text.start :][:1]
    return bool(following) and (following[0] in is_map or 0xB8 <= following[0] <= 0xBB)


def _is_utf16(start: bytes) -> bool:
    """Whether every second byte of a text is NUL, as it is in UTF-16 for Latin letters, without a byte order mark."""
    pairs = len(start) // 2
    return pairs > 8 and any(
        start[at : 2 * pairs : 2].count(0) > 0.9 * pairs and not start[1 - at : 2 * pairs : 2].count(0) for at in (0, 1)
    )
