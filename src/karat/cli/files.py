"""The files that a command line names: which are read, which are written, and that no output is an input."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import click
from click.shell_completion import CompletionItem
from click.types import StringParamType

from karat.cli.completion import complete_file
from karat.errors import KaratError, require
from karat.errors.arguments import is_remote
from karat.reading.bytes.names import suffix_of
from karat.reading.bytes.remote import RemotePath

_EXPANDED = "karat.expanded"  # in the context of a command: the folder or pattern by the first file it stands for


class FileType(StringParamType):
    """A parameter that names a file."""

    name = "file"

    def paths(self, value: str) -> list[str]:
        """The files that a value names."""
        return [value]

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return complete_file(ctx, param, incomplete)


class FileToRead(FileType):
    """A parameter that names a file to read, or a system in it, as in `runs.json:bm25`; `-` is standard input."""

    def paths(self, value: str) -> list[str]:
        from karat.reading.pairs.paths import files_read

        file = split_system(value)[0]
        return [file] if file == "-" else files_read(file)


class FileToWrite(FileType):
    """A parameter that names a file to write."""


class FileToExtend(FileToWrite):
    """A parameter that names a file to add to, or only to read; whoever opens it finds out whether that is possible."""


class ColumnToRead(FileToRead):
    """A parameter that names a file to read and one of its columns, as in `queries.csv:language`."""

    def paths(self, value: str) -> list[str]:
        file, _ = split_texts(value)
        return super().paths(file) if file == "-" or os.path.exists(file) else []


def expand_files(context: click.Context, expand: Callable[[str], list[str]]) -> None:
    """Replace a folder and a pattern on a command line by the files that they stand for, where it takes several files.

    The first file is one of several if it is saved scores or results. Ground truth may be a table in several files.
    """
    if context.params.get("engine") == "spark":
        return  # to Spark, they are one table
    lists = [each.name for each in context.command.params if each.nargs == -1 and isinstance(each.type, FileToRead)]
    values: dict[str, Any] = context.params
    for name in filter(None, lists):
        from karat.reading.bytes.part_files import arrow_format_of_name

        files = [file for each in values[name] for file in expand(each)]
        firsts = expand(values["truth"]) if values.get("truth") else []
        if len(firsts) > 1 and not (files and all(map(arrow_format_of_name, firsts))):
            context.meta[_EXPANDED] = {firsts[0]: values["truth"]}
            values["truth"], files = firsts[0], [*firsts[1:], *files]
        values[name] = tuple(files)


def named_with_others(path: str) -> str | None:
    """The folder or pattern on the command line that stands for this file, as the first one, and others."""
    context = click.get_current_context(silent=True)
    expanded: Mapping[str, str] = {} if context is None else context.meta.get(_EXPANDED, {})
    return expanded.get(path)


def split_column(text: str) -> tuple[str, str]:
    """The file and the column of `FILE:COLUMN`; either may contain colons, and the file is one that exists.

    The colons before the path of a remote file, as in `s3://key:secret@bucket/queries.csv`, do not end its name.

    >>> split_column("queries.csv:language"), split_column("length"), split_column("hdfs://host:8020/queries.csv")
    (('queries.csv', 'language'), ('', 'length'), ('', 'hdfs://host:8020/queries.csv'))
    """
    parts = text.split(":")
    splits = [(":".join(parts[:at]), ":".join(parts[at:])) for at in range(len(parts) - 1, _colons_before(text), -1)]
    existing = [split for split in splits if os.path.exists(split[0])]
    return next(iter(existing or splits), ("", text))


def _colons_before(text: str) -> int:
    """The number of colons in a URI before the path on its server, or after the letter of a drive of Windows."""
    if not is_remote(text):
        return os.path.splitdrive(text)[0].count(":")
    remote = RemotePath.of(text)
    return f"://{remote.user}{remote.path.partition('/')[0]}".count(":")


def split_texts(text: str) -> tuple[str, str | None]:
    """The file and the column of `FILE:COLUMN`, or the file alone.

    >>> split_texts("queries.csv:text"), split_texts("s3://data/queries.csv")
    (('queries.csv', 'text'), ('s3://data/queries.csv', None))
    """
    from karat.reading.pairs.data_sets import named_data_set

    file, column = split_column(text)
    is_file = not file or column.startswith("//") or os.path.exists(text)
    return (text, None) if is_file or named_data_set(text) else (file, column)


def split_system(text: str) -> tuple[str, str | None]:
    """The file and the system of `FILE:NAME`; if the file does not exist, the whole text is a file.

    A remote file is known by its suffix.

    >>> split_system("runs.json:bm25"), split_system("s3://bucket/runs.json:bm25")
    (('runs.json:bm25', None), ('s3://bucket/runs.json', 'bm25'))
    """
    file, name = split_column(text)
    is_local = os.path.isfile(file) and not os.path.exists(text)
    has_suffix = is_remote(file) and "?" not in file and suffix_of(file) != ""
    return (file, name) if is_local or has_suffix else (text, None)


def check_files(
    context: click.Context, also_read: Sequence[str] = (), also_written: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Reject, before any work is done, an output that is an input or another output, or that cannot be written.

    Every command calls this with the files that its parameters declare. Files that are named elsewhere, such as in a
    configuration file or, by the name of the variable, in the environment, are checked in addition.
    """
    inputs = [*(path for _, path in _named_files(context, FileToRead)), *(split_system(path)[0] for path in also_read)]
    require(inputs.count("-") <= 1, "standard input can be read only once", "Use - for one of the files.")
    read = {_identity(0 if path == "-" else path): path for path in reversed(inputs)}
    extended = {name for name, _ in _named_files(context, FileToExtend)}
    written: dict[object, str] = {}
    for name, path in (*_named_files(context, FileToWrite), *also_written.items()):
        require(path != "-", f"{name} takes a file, not standard output", "Write to a file.")
        identity = _identity(path)
        if identity is not None and identity in read:
            spelling = "" if read[identity] == path else f": {read[identity]}"
            hint = "Write to another file."
            raise KaratError(f"the output file is also an input{spelling}", place=path, hint=hint)
        # Windows takes the same name in other letters for the same file.
        other = written.setdefault(identity or os.path.normcase(os.path.realpath(path)), name)
        if other != name and (identity is not None or not os.path.exists(path)):
            raise KaratError(f"{other} and {name} name the same file", place=path, hint="Write to two files.")
        if name not in also_written and name not in extended:
            from karat.output.files import check_writable

            check_writable(path)


def _named_files(context: click.Context, kind: type[FileType]) -> Iterator[tuple[str, str]]:
    """Each file of this kind that a parameter names, with the name of the parameter."""
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if isinstance(parameter.type, kind) and value is not None:
            for text in value if isinstance(value, tuple) else (value,):
                yield from ((parameter.opts[0], path) for path in parameter.type.paths(text))


def _identity(file: str | int) -> object:
    """The device and inode of a file, which are equal for two names of it; None if it is not a regular file.

    Links and other spellings of a path have the identity of the file. A number is that of an open file.
    """
    try:
        status = os.stat(file)
    except (OSError, ValueError):
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None
