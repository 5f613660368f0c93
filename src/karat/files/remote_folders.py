"""The files in a remote folder, or that match a remote pattern such as `s3://bucket/runs/*.trec`."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from karat.errors import require
from karat.files.remote import RemotePath

NAME_FILES = "Name a file, a folder of files, or a pattern such as runs/*.trec."


def remote_files(uri: str) -> list[str]:
    """The remote files of a folder, which ends with a slash, or of a pattern; any other file is itself."""
    remote = RemotePath.of(uri)
    if not is_pattern(remote.path) and not remote.path.endswith("/"):
        return [uri]
    try:
        files = sorted(set(_matches(remote)))
    except OSError as error:
        raise remote.error(error) from None
    what = "no file matches this pattern" if is_pattern(remote.path) else "this folder has no files"
    require(files, what, NAME_FILES, place=remote.name)
    return [remote.with_path(file) for file in files]


def is_pattern(path: str) -> bool:
    """Whether a path has characters of a pattern."""
    return any(character in path for character in "*?[")


def is_hidden(name: str, pattern: str = "*") -> bool:
    """Whether a file is left out because of its name, unless the pattern begins in the same way."""
    return name.startswith((".", "_")) and not pattern.startswith(name[0])


def _matches(remote: RemotePath) -> Iterator[str]:
    """The paths of the files that match a pattern, found folder by folder."""
    from pyarrow.fs import FileSelector, FileType

    system, path = remote.system()
    before = remote.path.removesuffix(path)  # the host, if the path is one on it
    parts = path.rstrip("/").split("/") + ([] if is_pattern(path) else ["*"])
    first = next(at for at, part in enumerate(parts) if is_pattern(part))
    require(first > 0, "the name of a bucket cannot be a pattern", "Name the bucket.", place=remote.name)
    folders = ["/".join(parts[:first])]
    for at in range(first, len(parts)):
        entries = [
            entry
            for folder in folders
            for entry in system.get_file_info(FileSelector(folder, allow_not_found=True))
            if fnmatchcase(entry.base_name, parts[at]) and not is_hidden(entry.base_name, parts[at])
        ]
        folders = [entry.path for entry in entries if entry.type == FileType.Directory]
        if at == len(parts) - 1:
            yield from (
                before + entry.path
                for entry in entries
                if entry.type == FileType.File and (entry.size or not entry.base_name.startswith("part-"))
            )
