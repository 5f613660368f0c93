"""The files of a table in parts, as Spark writes them: those in a folder, or of a pattern such as `*.parquet`."""

from __future__ import annotations

import os
from glob import glob, has_magic
from pathlib import Path

from karat.errors import KaratError, enumeration
from karat.errors.arguments import is_remote
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.names import ArrowFormat, format_of_name, is_arrow
from karat.reading.bytes.remote import RemotePath, is_hidden, remote_files

METADATA = b"karat"  # in the schema of a Parquet file of saved scores
DESCRIPTION = "_karat.json"
"""in a folder of scores: what is known besides the values of each query; it is written last"""


def files_of_table(file: InputFile) -> list[InputFile]:
    """The files of a table in several files; of any other file, itself."""
    parts = part_files(file.path)
    return [file] if parts is None else [InputFile(path, rejected=file.rejected) for path in parts[1]]


def check_files(file: InputFile) -> None:
    """Raise an error if compressed data of a file, or of a table in several files, is damaged (`InputFile.check`)."""
    for part in files_of_table(file):
        part.check()


def part_files(path: str) -> tuple[ArrowFormat, list[str]] | None:
    """The format and the files of a table in several files, in the order of their names; None if it is one file."""
    files = files_of_path(path)
    if files is None:
        return None
    formats = {arrow_format_of_name(file) for file in files}
    if len(formats) == 1 and (only := formats.pop()):
        return only, files
    if formats == {"parquet", "feather"}:
        raise KaratError("these are Parquet and Feather files", place=path, hint="Name the files of one format.")
    if not os.path.isdir(path):
        others = enumeration([Path(file).name for file in files if arrow_format_of_name(file) is None][:3], "and")
        what = f"several files are one table only if they are Parquet or Feather files, but there is {others}"
        raise KaratError(what, place=path, hint="Name one file.")
    return None


def files_of_path(path: str) -> list[str] | None:
    """The files of a folder or of a pattern, in the order of their names; None if the path is that of one file.

    Files whose names begin with `_` or a dot, such as `_SUCCESS` and checksums, are left out.
    """
    if is_remote(path):
        files = remote_files(path)
        return None if files == [path] else files
    if os.path.isdir(path):
        return _files_in(path)
    if not has_magic(path) or os.path.lexists(path):
        return None
    matches = sorted(glob(path, recursive=True))
    files = [file for file in matches if os.path.isfile(file) and not is_hidden(Path(file).name)]
    if not files:
        raise KaratError("no file matches this pattern", place=path)
    return files


def is_partitioned(folder: str) -> bool:
    """Whether the folders in a folder are named by the values of a column, as in `day=1`."""
    with os.scandir(folder) as entries:
        return any("=" in entry.name and entry.is_dir() for entry in entries if not is_hidden(entry.name))


def _files_in(folder: str) -> list[str]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return []  # reading it as a file gives the error
    shown = [entry for entry in entries if not is_hidden(entry.name)]
    files = [entry.path for entry in shown if entry.is_file()]
    partition = next((entry for entry in shown if "=" in entry.name and entry.is_dir()), None)
    if partition and not files:
        what = f"the folder is partitioned: {partition.name} contains only a part of the table"
        raise KaratError(what, place=folder, hint=f"Name one of its folders, such as {partition.path}.")
    return files


def arrow_format_of_name(path: str) -> ArrowFormat | None:
    """Parquet or Feather, if the name of a file promises it: several such files may be one table."""
    by_name = format_of_name(RemotePath.of(path).path if is_remote(path) else path)
    return by_name if is_arrow(by_name) else None
