"""The files that a path names: one, those in a folder, or those that match a pattern such as `runs/*.trec`."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from fnmatch import fnmatchcase

from karat.arguments import is_remote
from karat.errors import KaratError, require
from karat.files.names import format_of_name, is_arrow
from karat.files.remote import RemotePath, local_path
from karat.sources.beir import is_data_set

_HINT = "Name a file, a folder of files, or a pattern such as runs/*.trec."


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
    if not _is_pattern(path) or os.path.lexists(path):
        return [path]
    files = [each for each in sorted(glob.glob(path, recursive=True)) if _is_listed(each, os.path.basename(path))]
    require(files, "no file matches this pattern", _HINT, where=path)
    return [path] if _are_parts(files) else files


def is_one_source(path: str) -> bool:
    """Whether a path is a folder that is read as a whole, and not file by file.

    It is a BEIR data set, which has a folder `qrels`, or the part files of a table: only Parquet or Feather files whose
    names begin with `part-`, as Spark writes them.
    """
    if not os.path.isdir(path):
        return False
    try:
        return is_data_set(path) or _are_parts([name for name in os.listdir(path) if not _is_hidden(name)])
    except OSError:
        return False


def remote_files(uri: str) -> list[str]:
    """The remote files of a folder, which ends with a slash, or of a pattern; any other file is itself."""
    remote = RemotePath.of(uri)
    if not _is_pattern(remote.path) and not remote.path.endswith("/"):
        return [uri]
    try:
        files = sorted(set(_matches(remote)))
    except OSError as error:
        raise remote.error(error) from None
    what = "no file matches this pattern" if _is_pattern(remote.path) else "this folder has no files"
    require(files, what, _HINT, where=remote.name)
    return [remote.with_path(file) for file in files]


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
    if _is_pattern(path) and not os.path.lexists(path):
        return glob.glob(path, recursive=True)
    return [path]


def _files_in(folder: str) -> list[str]:
    if is_one_source(folder):
        return [folder]
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise KaratError(f"cannot be read: {error.strerror}", where=folder) from None
    files = [each for name in names if _is_listed(each := os.path.join(folder, name))]
    require(files, "this folder has no files", _HINT, where=folder)
    return files


def _matches(remote: RemotePath) -> Iterator[str]:
    """The paths of the files that match a pattern, found folder by folder."""
    from pyarrow.fs import FileSelector, FileType

    system, path = remote.system()
    before = remote.path.removesuffix(path)  # the host, if the path is one on it
    parts = path.rstrip("/").split("/") + ([] if _is_pattern(path) else ["*"])
    first = next(at for at, part in enumerate(parts) if _is_pattern(part))
    require(first > 0, "the name of a bucket cannot be a pattern", "Name the bucket.", where=remote.name)
    folders = ["/".join(parts[:first])]
    for at in range(first, len(parts)):
        entries = [
            entry
            for folder in folders
            for entry in system.get_file_info(FileSelector(folder, allow_not_found=True))
            if fnmatchcase(entry.base_name, parts[at]) and not _is_hidden(entry.base_name, parts[at])
        ]
        folders = [entry.path for entry in entries if entry.type == FileType.Directory]
        if at == len(parts) - 1:
            yield from (
                before + entry.path
                for entry in entries
                if entry.type == FileType.File and (entry.size or not entry.base_name.startswith("part-"))
            )


def _is_pattern(path: str) -> bool:
    return any(character in path for character in "*?[")


def _are_parts(paths: list[str]) -> bool:
    """Whether these are the part files of a table."""
    return bool(paths) and all(os.path.basename(path).startswith("part-") and is_table_file(path) for path in paths)


def _is_listed(path: str, pattern: str = "*") -> bool:
    """Whether a path is one of the files in a folder, or that match a pattern."""
    name = os.path.basename(path)
    if _is_hidden(name, pattern):
        return False
    if os.path.isdir(path):
        return is_one_source(path)
    return not name.startswith("part-") or not os.path.exists(path) or os.path.getsize(path) > 0


def _is_hidden(name: str, pattern: str = "*") -> bool:
    return name.startswith((".", "_")) and not pattern.startswith(name[0])
