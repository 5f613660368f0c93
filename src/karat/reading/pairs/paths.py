"""The files that a path names: one, those in a folder, or those that match a pattern such as `runs/*.trec`."""

from __future__ import annotations

import glob
import os

from karat.errors import KaratError, require
from karat.errors.arguments import is_remote
from karat.reading.bytes.names import format_of_name, is_arrow
from karat.reading.bytes.part_files import DESCRIPTION
from karat.reading.bytes.remote import NAME_FILES, RemotePath, is_hidden, is_pattern, local_path, remote_files
from karat.reading.pairs.beir import is_data_set


def expand(path: str) -> list[str]:
    """The files that a path names, sorted; an error if a folder is empty, or if nothing matches a pattern.

    A path that exists, and a path without the characters of a pattern, is itself. So is a folder that is one source,
    and a pattern of the part files of a table. Of a folder, hidden files are left out, whose names begin with a dot or
    an underscore, and empty part files: Spark writes both.

    >>> expand("run.trec"), expand("-")
    (['run.trec'], ['-'])
    """
    if is_remote(path):
        files = remote_files(path)
        return [path] if _are_parts(files) else files
    path = local_path(path)
    if os.path.isdir(path):
        return _files_in(path)
    if not is_pattern(path) or os.path.lexists(path):
        return [path]
    files = [each for each in sorted(glob.glob(path, recursive=True)) if _is_listed(each, os.path.basename(path))]
    require(files, "no file matches this pattern", NAME_FILES, place=path)
    return [path] if _are_parts(files) else files


def is_one_source(path: str) -> bool:
    """Whether a path is a folder that is read as a whole, and not file by file.

    It is a BEIR data set, which has a folder `qrels`; scores, which have a description; or the part files of a table:
    only Parquet or Feather files whose names begin with `part-`, as Spark writes them.
    """
    if not os.path.isdir(path):
        return False
    try:
        names = os.listdir(path)
        is_whole = is_data_set(path) or DESCRIPTION in names
        return is_whole or _are_parts([name for name in names if not is_hidden(name)])
    except OSError:
        return False


def is_table_file(path: str) -> bool:
    """Whether a file is Parquet or Feather by its name: several of them may be one table."""
    return is_arrow(format_of_name(RemotePath.of(path).path if is_remote(path) else path))


def files_read(path: str) -> list[str]:
    """The local files that are read if this path is: those in a folder, in folders in it, or that match a pattern."""
    if is_remote(path):
        return []
    path = local_path(path)
    if os.path.isdir(path):
        return [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]
    if is_pattern(path) and not os.path.lexists(path):
        return glob.glob(path, recursive=True)
    return [path]


def _files_in(folder: str) -> list[str]:
    if is_one_source(folder):
        return [folder]
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise KaratError(f"cannot be read: {error.strerror}", place=folder) from None
    files = [each for name in names if _is_listed(each := os.path.join(folder, name))]
    unfinished = "Spark has not finished writing it, or was stopped." if "_temporary" in names else NAME_FILES
    require(files, "this folder has no files", unfinished, place=folder)
    return files


def _are_parts(paths: list[str]) -> bool:
    """Whether these are the part files of a table."""
    return bool(paths) and all(os.path.basename(path).startswith("part-") and is_table_file(path) for path in paths)


def _is_listed(path: str, pattern: str = "*") -> bool:
    """Whether a path is one of the files in a folder, or that match a pattern."""
    name = os.path.basename(path)
    if is_hidden(name, pattern):
        return False
    if os.path.isdir(path):
        return is_one_source(path)
    return not name.startswith("part-") or not os.path.exists(path) or os.path.getsize(path) > 0
