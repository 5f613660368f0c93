"""Folders of BEIR data sets: `corpus.jsonl`, `queries.jsonl`, and the ground truth of each split in `qrels/`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from karat.errors import KaratError, Message, Parameter, did_you_mean, enumeration, shown
from karat.reading.bytes.names import COMPRESSIONS, suffix_of

_DEFAULT = "test"


def is_data_set(path: str | os.PathLike[str]) -> bool:
    """Whether this is the folder of a BEIR data set."""
    try:
        return Path(os.fsdecode(path), "qrels").is_dir()
    except (OSError, ValueError):
        return False


def qrels_of_split(path: str | os.PathLike[str], split: str | None = None) -> str:
    """The file with the ground truth of a split: by default `test`, or the only one that there is."""
    folder = os.fspath(path)
    if not is_data_set(folder):
        if os.path.isdir(folder):
            hint = "Name a file in it, or the folder of a BEIR data set, which contains qrels/test.tsv."
            raise KaratError("this is a folder, not a file", place=folder, hint=hint)
        what = f"split {shown(split)} is given, and this is not the folder of a BEIR data set"
        raise KaratError(what, place=folder, hint="Leave the split out.")
    splits = _splits(folder)
    if not splits:
        hint = "The ground truth of a BEIR data set is in files such as qrels/test.tsv."
        raise KaratError("the folder qrels contains no ground truth", place=folder, hint=hint)
    wanted = split if split is not None else _DEFAULT if _DEFAULT in splits else next(iter(splits))
    if wanted in splits and (split is not None or wanted == _DEFAULT or len(splits) == 1):
        return splits[wanted]
    names = enumeration(list(splits), "and")
    if split is None:
        choose: Message = ["Choose one with ", Parameter("split", wanted), "."]
        raise KaratError(f"the data set has the splits {names}", place=folder, hint=choose)
    hint = f"{did_you_mean(split, splits)} The splits are {names}.".strip()
    raise KaratError(f"the data set has no split {shown(split)}", place=folder, hint=hint)


def texts_file(path: str | os.PathLike[str], content: Literal["queries", "corpus"]) -> str | None:
    """The file with the texts of the queries, or of the documents, in the folder of a data set; None if it is none."""
    names = [f"{content}.jsonl{suffix}" for suffix in ("", *COMPRESSIONS)]
    try:
        found = next((name for name in names if Path(os.fsdecode(path), name).is_file()), None)
    except (OSError, ValueError):
        return None
    return os.path.join(path, found or names[0]) if found or is_data_set(path) else None


def _splits(folder: str) -> dict[str, str]:
    """The file of each split, by name."""
    files: dict[str, str] = {}
    try:
        for entry in sorted(Path(folder, "qrels").iterdir()):
            if entry.is_file() and suffix_of(entry.name) == ".tsv":
                name = entry.name
                for suffix in (*COMPRESSIONS, ".tsv"):
                    name = name.removesuffix(suffix)
                files.setdefault(name, os.fspath(entry))
    except OSError as error:
        raise KaratError(f"cannot be read: {error.strerror or error}", place=folder) from None
    return files
