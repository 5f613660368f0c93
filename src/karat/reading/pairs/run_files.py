"""Several runs in files, and the names of their systems, which come from the names of the files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from karat.errors import KaratError, require, shown
from karat.errors.arguments import is_remote
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.names import without_suffixes
from karat.reading.pairs.paths import expand

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
