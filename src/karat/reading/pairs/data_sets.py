"""Data sets: folders of BEIR, and names of the package ir_datasets, such as `ir_datasets:beir/scifact/test`.

The folder of a BEIR data set contains `corpus.jsonl`, `queries.jsonl`, and the ground truth of each split in `qrels/`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from karat.errors import KaratError, Message, Parameter, did_you_mean, enumeration, plural, shown
from karat.errors.installing import pip_install
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.names import COMPRESSIONS, suffix_of
from karat.reading.pairs.tables import Number

_DEFAULT = "test"
_PREFIX = "ir_datasets:"
_MAX_LISTED = 10  # names of data sets in a message
_CONTENTS = {"qrels": "ground truth", "scoreddocs": "run", "queries": "queries", "docs": "documents"}

Kind = Literal["qrels", "scoreddocs", "queries", "docs"]


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
        file = next((name for name in names if Path(os.fsdecode(path), name).is_file()), None)
    except (OSError, ValueError):
        return None
    return os.path.join(path, file or names[0]) if file or is_data_set(path) else None


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


def named_data_set(source: object) -> str | None:
    """The name of a data set, as it was given, such as `ir_datasets:beir/scifact/test`; None for anything else."""
    text = source.path if isinstance(source, InputFile) else source
    return text if isinstance(text, str) and text.startswith(_PREFIX) else None


def rows_of_data_set(text: str, number: Number) -> Iterator[tuple[Any, Any, Any]]:
    """The ground truth of a data set, or the run that comes with it, as rows."""
    if number == "grade":
        return ((row.query_id, row.doc_id, row.relevance) for row in _entries(text, "qrels"))
    return ((row.query_id, row.doc_id, row.score) for row in _entries(text, "scoreddocs"))


def texts_of_data_set(text: str, content: Literal["queries", "corpus"]) -> Iterator[dict[str, Any]]:
    """Each query, or each document, of a data set with its text; and with its title, if the text is another field."""
    if content == "queries":
        return ({"_id": query.query_id, "text": query.default_text()} for query in _entries(text, "queries"))
    return (
        {"_id": doc.doc_id, "title": getattr(doc, "title", None), "text": doc.text}
        if hasattr(doc, "text")
        else {"_id": doc.doc_id, "text": doc.default_text()}
        for doc in _entries(text, "docs")
    )


def _entries(text: str, kind: Kind) -> Iterator[Any]:
    """What a data set contains of a kind. It may be downloaded first."""
    data_set = _load(text, kind)
    try:
        yield from getattr(data_set, f"{kind}_iter")()
    except Exception as error:  # a download, or reading a file, may raise anything
        hint = "ir_datasets downloads a data set when it is first used. Check the connection, or download it by hand."
        what = f"ir_datasets cannot read this data set: {type(error).__name__}: {error}"
        raise KaratError(what, place=text, hint=hint) from error


def _load(text: str, kind: Kind) -> Any:
    """A data set that has entries of this kind."""
    try:
        import ir_datasets
    except ImportError:
        hint = pip_install("ir-datasets")
        raise KaratError("data sets by name need the package ir_datasets", place=text, hint=hint) from None
    name = text.removeprefix(_PREFIX)
    try:
        data_set = ir_datasets.load(name)
    except KeyError:
        hint = f"{did_you_mean(name, ir_datasets.registry)} https://ir-datasets.com lists all data sets.".strip()
        raise KaratError(f"ir_datasets has no data set {shown(name)}", place=text, hint=hint) from None
    if not getattr(data_set, f"has_{kind}")():
        parts = [each for each in ir_datasets.registry if each.startswith(f"{name}/")]
        having = [each for each in parts if getattr(ir_datasets.load(each), f"has_{kind}")()]
        more = f" and {plural(len(having) - _MAX_LISTED, 'other')}" if len(having) > _MAX_LISTED else ""
        listed = having[:_MAX_LISTED] if more else [enumeration(having, "and")]
        hint = f"Its parts {', '.join(listed)}{more} have {kind}." if having else "Use another data set."
        raise KaratError(f"this data set has no {kind} ({_CONTENTS[kind]})", place=text, hint=hint)
    return data_set
