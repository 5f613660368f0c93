"""The files that a path names: one, those in a folder, or those that match a pattern such as `runs/*.trec`.

The system of a run has the name of its file.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from typing import Any

from karat.errors import KaratError, require, shown
from karat.errors.arguments import is_remote
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.names import without_suffixes
from karat.reading.bytes.part_files import DESCRIPTION, arrow_format_of_name
from karat.reading.bytes.remote import NAME_FILES, is_hidden, is_pattern, local_path, remote_files
from karat.reading.pairs.data_sets import is_data_set

_HINT = 'Pass {"bm25": run, "dense": run}, a list of paths, a folder, or a pattern such as "runs/*.trec".'


def named_runs(runs: object) -> Mapping[str, Any]:
    """Runs by the names of their systems: a mapping as it is; files are named after themselves."""
    if isinstance(runs, str | os.PathLike):
        runs = [runs]
    if isinstance(runs, Sequence) and runs and all(isinstance(run, str | os.PathLike) for run in runs):
        paths = [file for run in runs for file in expand(os.fsdecode(run))]
        return dict(zip(run_names(paths), paths, strict=True))
    if not isinstance(runs, Mapping) or not len(runs):
        raise KaratError(f"{shown(runs)} is not a mapping of runs", hint=_HINT)
    for name in runs:
        require(isinstance(name, str), f"{shown(name)} is not the name of a run", _HINT)
    return runs


def run_names(paths: Sequence[str]) -> list[str]:
    """A name for each run: the name of its file, with as many folders as it takes to tell the runs apart.

    >>> run_names(["runs/bm25.trec", "runs/dense.trec.gz"]), run_names(["a/run.txt", "b/run.txt"])
    (['bm25', 'dense'], ['a/run', 'b/run'])
    """
    paths = [InputFile(path).name if is_remote(path) else path for path in paths]
    parts = [name_of_file(path).split("/") for path in paths]
    for depth in range(1, max(map(len, parts)) + 1):
        names = ["/".join(part[-depth:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    return [f"{path} ({at})" if paths.count(path) > 1 else path for at, path in enumerate(paths, 1)]


def name_of_file(path: str) -> str:
    """The name of the system in a file: its path without the suffixes of formats and compressions.

    >>> name_of_file("runs/bm25.trec.gz"), name_of_file("runs/dense/*.parquet")
    ('runs/bm25', 'runs/dense')
    """
    name = "stdin" if path == "-" else without_suffixes(path)
    while name.endswith("/*"):  # the files of a table, which are named after their folder
        name = name.removesuffix("/*")
    return name


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
    matches = sorted(glob.glob(path, recursive=True))
    files = [file for file in matches if _is_listed(file, os.path.basename(path))]
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
    files = [path for name in names if _is_listed(path := os.path.join(folder, name))]
    unfinished = "Spark has not finished writing it, or was stopped." if "_temporary" in names else NAME_FILES
    require(files, "this folder has no files", unfinished, place=folder)
    return files


def _are_parts(paths: list[str]) -> bool:
    """Whether these are the part files of a table."""
    return bool(paths) and all(
        os.path.basename(path).startswith("part-") and arrow_format_of_name(path) for path in paths
    )


def _is_listed(path: str, pattern: str = "*") -> bool:
    """Whether a path is one of the files in a folder, or that match a pattern."""
    name = os.path.basename(path)
    if is_hidden(name, pattern):
        return False
    if os.path.isdir(path):
        return is_one_source(path)
    return not name.startswith("part-") or not os.path.exists(path) or os.path.getsize(path) > 0
