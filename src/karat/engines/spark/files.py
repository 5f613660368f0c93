"""The files of a path, as Spark lists them, and their format: by the content of the first one, as locally."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from karat.engines.spark.line_records import named_file
from karat.engines.spark.shipping import failure
from karat.errors import KaratError, Message, enumeration, require, shown
from karat.errors.arguments import is_remote
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.kinds import PEEK, compression_of
from karat.reading.bytes.names import COMPRESSIONS, IN_PROSE, Format, check_format, format_of_name
from karat.reading.bytes.remote import RemotePath, is_pattern, local_path, path_in_uri
from karat.reading.contents.formats import FormatGuess, check_content, contradiction, detect
from karat.reading.pairs.tables import Number

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_READ = "Spark reads Parquet, CSV, TSV, TREC and JSON lines."
_DECOMPRESSED = {".gz": "gzip", ".bz2": "bzip2", ".zst": "zstd"}
"""what Spark decompresses, by the names of files"""
_PATTERN = str.maketrans({each: f"\\{each}" for each in "\\*?[]{}"})
_ICEBERG = ["metadata", "data"]
_LINES = 1000  # of a remote file, from which its format and its columns are found
_LONGEST = 1 << 16  # bytes of each of these lines


class SparkFiles(NamedTuple):
    """The files of a path: its name in messages and for Spark, how they begin, and whether there are several."""

    name: str
    path: str
    first: InputFile
    has_others: bool

    def format(self, known: str | None, number: Number | None) -> FilesFormat:
        """The format of the files: the one that is known, or found as locally."""
        if known is not None:
            form = check_format(known)
            if number is not None:
                check_content(self.first, form, number)
            return FilesFormat(form)
        form = detect(self.first, number)
        hint = FormatGuess(self.first, form, number).hint() if number else ""
        return FilesFormat(form, contradiction(self.first, form), hint)


class FilesFormat(NamedTuple):
    """The format of files, what their name got wrong, and a hint for errors about lines if the format is a guess."""

    format: Format
    notes: tuple[str, ...] = ()
    hint: Message = ""


def spark_files(path: str, session: SparkSession) -> SparkFiles:
    """The files that Spark reads of a path. If it exists on this machine, these are files of this machine."""
    name = RemotePath.of(path).name if is_remote(path) else path
    require(path != "-", "Spark cannot read standard input", "Name a file.")
    local = local_path(path)
    is_local = os.path.exists(local)
    reject_table_formats(path)
    for_spark = _uri(os.path.abspath(local)) if is_local else path
    try:
        lines = session.read.text(for_spark)
        files = sorted(lines.inputFiles())
    except Exception as error:  # of Java, Hadoop or a remote server
        if "PATH_NOT_FOUND" in str(error) and not is_remote(path):
            InputFile(path).check_is_text()  # no such file
        raise _unreadable(error, name) from None
    if not files:
        what = "Spark finds no file here: it leaves out those whose names begin with _ or a dot"
        raise KaratError(what, place=name, hint="Name a file, or a folder of files.")
    _check_names(files, name)
    has_others = len(files) > 1 or os.path.isdir(local)
    on_disk = [each for each in map(_on_disk, files) if each]
    if len(on_disk) < len(files):
        return SparkFiles(name, for_spark, _first_lines(lines, name), has_others)
    filled = next((each for each in on_disk if os.path.getsize(each)), on_disk[0])
    first = InputFile(filled if has_others else path)
    _check_compression(filled)
    return SparkFiles(name, for_spark, first, has_others)


def _uri(path: str) -> str:
    """A local file for Spark, in whose name nothing is a pattern."""
    if sys.platform == "win32":  # Hadoop reads a backslash as a slash there, so that nothing can be escaped
        return "file:/" + path.replace("\\", "/")
    return f"file:{path}".translate(_PATTERN)


def reject_table_formats(path: str) -> None:
    """Reject the folder of a table, or files in it, that may have rows which are not in the table any more."""
    folder = path
    while is_pattern(os.path.basename(folder)) or "=" in os.path.basename(folder):
        folder = os.path.dirname(folder)
    for format_name, prose, folders in (("delta", "Delta Lake", ["_delta_log"]), ("iceberg", "Iceberg", _ICEBERG)):
        if all(_is_folder(folder, inside) for inside in folders):
            what = f"this is a table of {prose}, whose files may have rows that were deleted"
            hint = f"Pass a DataFrame: spark.read.format({format_name!r}).load({shown(folder)})."
            raise KaratError(what, place=path, hint=hint)


def _is_folder(path: str, name: str) -> bool:
    """Whether a path is a folder, or may be one, that contains a folder of this name."""
    local = local_path(path)
    if not is_remote(local):
        return os.path.isdir(os.path.join(local, name))
    remote = RemotePath.of(path)
    try:
        system, inside = remote.system()
        return bool(system.get_file_info(f"{inside.rstrip('/')}/{name}").type.name == "Directory")
    except (KaratError, OSError):
        return False  # whoever reads it says what is wrong


def not_read(name: str, of_files: Format) -> KaratError:
    """The error for a format that Spark does not read, or not in parts."""
    if of_files == "json":
        hint = "Write JSON lines, with one object per line, or use karat.evaluate, which reads it without Spark."
        return KaratError("a JSON value cannot be read in parts", place=name, hint=hint)
    hint = f"{_READ} Write it as Parquet, or use karat.evaluate, which reads it without Spark."
    return KaratError(f"Spark does not read {IN_PROSE[of_files]}", place=name, hint=hint)


def _unreadable(error: Exception, name: str) -> KaratError:
    reason = failure(error)
    return reason.but(what=["Spark cannot read this: ", *reason.parts], place=name)


def _check_names(files: list[str], name: str) -> None:
    """Reject files of several formats, and those that Spark would not decompress as karat does."""
    suffixes = {os.path.splitext(file)[1].lower() for file in files}
    if other := sorted(suffixes & {*COMPRESSIONS} - {*_DECOMPRESSED}):
        hint = f"Decompress it, or compress it so that its name ends with {enumeration([*_DECOMPRESSED], 'or')}."
        what = f"Spark, which has to read these rows, does not decompress {other[0]} files"
        raise KaratError(what, place=name, hint=hint)
    formats = {form for file in files if (form := format_of_name(file))}
    if len(formats) > 1:
        what = f"these are {enumeration(sorted(IN_PROSE[each] for each in formats), 'and')} files"
        raise KaratError(what, place=name, hint="Name the files of one format.")


def _check_compression(path: str) -> None:
    """Reject a file whose name does not say how it is compressed: Spark goes by the name."""
    with open(path, "rb") as file:
        compression = compression_of(file.read(PEEK))
    suffix = os.path.splitext(path)[1].lower()
    if compression != _DECOMPRESSED.get(suffix):
        state = f"compressed with {compression}" if compression else "not compressed"
        what = f"the file is {state}, and Spark goes by its name"
        wanted = next((each for each, of_name in _DECOMPRESSED.items() if of_name == compression), "")
        hint = (
            f"Give it a name that ends with {wanted}." if wanted else f"Give it a name that does not end with {suffix}."
        )
        raise KaratError(what, place=path, hint=hint)


def _on_disk(uri: str) -> str | None:
    """The path of a file on this machine; None if it is not on it."""
    path = path_in_uri(uri.removeprefix("file:").removeprefix("//")) if uri.startswith("file:") else ""
    return next((each for each in (unquote(path), path) if os.path.isfile(each)), None)


def _first_lines(lines: DataFrame, name: str) -> InputFile:
    """How the first file begins, of which Spark reads the lines."""
    from pyspark.sql import functions

    try:
        line = functions.substring(functions.col("value").cast("binary"), 1, _LONGEST)
        rows = lines.select(line, "_metadata.file_path").limit(_LINES).collect()
    except Exception as error:  # of Java, Hadoop or a remote server
        raise _unreadable(error, name) from None
    return named_file(b"".join(bytes(row[0]) + b"\n" for row in rows if row[1] == rows[0][1]), name)
