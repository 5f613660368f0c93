"""Anything at all into a truth and a run: TREC files, mappings, lists and data frames."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from karat.documents.key import Key
from karat.errors import KaratError, shown
from karat.sources.containers import InMemoryRun, Run, ScoredRows, Truth
from karat.sources.mappings import mapping_from_lists, run_from_mapping, truth_from_mapping
from karat.sources.text_file import Progress, TextFile

__all__ = ["Run", "Truth", "read_run", "read_truth"]

_TRUTH_HINT = "A truth is a path, {query: {doc: grade}}, {query: [doc, ...]}, [[doc, ...], ...] or a data frame."
_RUN_HINT = "A run is a path, {query: {doc: score}}, {query: [doc, ...]}, [[doc, ...], ...] or a data frame."


_BY_ID = Key()


def read_truth(
    source: Any, *, columns: Mapping[str, str] | None = None, key: Key = _BY_ID, name: str = "the truth"
) -> Truth:
    """The judged documents of each query, from whatever holds them."""
    if isinstance(source, Truth):
        return source
    _refuse_columns(source, columns, "truth_columns")
    if isinstance(source, str | os.PathLike | TextFile):
        from karat.sources.trec import read_qrels

        text = source if isinstance(source, TextFile) else TextFile(os.fspath(source))
        _refuse_texts(key, text.name)
        truth = _truth_of_table(read_qrels(text)).normalized_by(key)
    elif isinstance(source, Mapping):
        truth = truth_from_mapping(source, key, name)
    elif hasattr(source, "__arrow_c_stream__"):
        from karat.sources.frames import FrameColumns, read_frame

        truth = _truth_of_table(read_frame(source, FrameColumns.of("grade", columns), name, finite=True)).normalized_by(
            key
        )
    elif isinstance(source, Sequence):
        # The queries are called 0, 1, 2, … as Python counts them.
        names = [str(at) for at in range(len(source))]
        truth = truth_from_mapping(mapping_from_lists(source, names, name), key, name)
    else:
        raise KaratError(f"{shown(source)} is no truth", hint=_collect_first(source) + _TRUTH_HINT)
    if not truth.queries:
        raise KaratError("the truth is empty", hint=_TRUTH_HINT)
    return truth


def read_run(
    source: Any,
    truth: Truth,
    *,
    columns: Mapping[str, str] | None = None,
    key: Key = _BY_ID,
    progress: Progress | None = None,
    name: str = "the run",
) -> Run:
    """A run, from whatever holds it; a file is not read before it is ranked."""
    _refuse_columns(source, columns, "run_columns")
    if isinstance(source, str | os.PathLike):
        from karat.sources.trec import TrecRun

        _refuse_texts(key, os.fspath(source))
        return TrecRun(TextFile(os.fspath(source)), progress)
    if isinstance(source, Mapping):
        return run_from_mapping(source, key, name)
    if hasattr(source, "__arrow_c_stream__"):
        from karat.sources.frames import FrameColumns, read_frame

        return InMemoryRun(name, (read_frame(source, FrameColumns.of("score", columns), name),))
    if isinstance(source, Sequence):
        if len(source) != len(truth.queries):
            raise KaratError(
                f"the truth has {len(truth.queries)} queries and {name} has {len(source)} lists",
                hint="Lists are matched by position: give one per query of the truth, empty where nothing came back.",
            )
        return run_from_mapping(mapping_from_lists(source, truth.queries, name), key, name)
    raise KaratError(f"{shown(source)} is no run", hint=_collect_first(source) + _RUN_HINT)


def _refuse_texts(key: Key, path: str) -> None:
    if key.field != "id":
        raise KaratError(
            f"a TREC file has ids alone, and no {key.field} to match by",
            where=path,
            hint="Match by id or prefix, or give documents: a mapping, lists, or a file of results (JSON lines).",
        )


def _collect_first(source: Any) -> str:
    return "Call its collect() first. " if hasattr(source, "collect") else ""


def _refuse_columns(source: Any, columns: Mapping[str, str] | None, option: str) -> None:
    if columns and not hasattr(source, "__arrow_c_stream__"):
        raise KaratError(f"{option} is for data frames", hint="Leave it out: here the columns are known.")


def _truth_of_table(table: ScoredRows) -> Truth:
    from karat.sources.hashing import repeated_rows, row_hashes

    repeated = repeated_rows(table, row_hashes(table))
    if len(repeated):
        segment = int(table.segments(repeated[:1])[0])
        query, doc = table.queries[segment], table.docs[int(repeated[0])].as_py()
        raise KaratError(
            f"document {doc} is judged twice for query {query}",
            where=table.locate(query, doc),
            hint="Keep one judgment of each document.",
        )
    return Truth(tuple(table.queries), table.offsets, table.docs.to_pylist(), table.scores)
