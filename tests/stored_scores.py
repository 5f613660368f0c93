"""Writes scores as a folder, as Spark does, but without Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from karat import Scores
from karat.reading.bytes.part_files import DESCRIPTION
from karat.scores import StoredScores
from karat.scores.combining import Totals
from karat.scores.stored_scores import digest_column


def store(scores: Scores, folder: Path, parts: int = 3) -> StoredScores:
    """Write the scores of a system, in so many parts, whose rows are in any order."""
    folder.mkdir()
    (folder / "_SUCCESS").touch()
    fingerprint = scores.fingerprint
    totals = Totals()
    for part in range(parts):
        some = scores.take(range(len(scores.queries))[part::parts][::-1])
        digests = {} if fingerprint is None else fingerprint.to_dict(scores.queries)["truths"]
        texts = {digest_column(kind): [each.get(query) for query in some.queries] for kind, each in digests.items()}
        columns = {"query": pa.array(some.queries, pa.string())}
        columns |= {name: pa.array(values, pa.float64(), from_pandas=True) for name, values in some.values.items()}
        columns |= {name: pa.array(values, pa.string()) for name, values in texts.items()}
        pq.write_table(pa.table(columns), folder / f"part-{part:05}-c000.snappy.parquet")
        totals += Totals.of(some.queries, some.values)
    about = scores.take([])
    if fingerprint is not None:
        about = replace(about, fingerprint=replace(fingerprint, truths={kind: {} for kind in fingerprint.truths}))
    stored = StoredScores(str(folder), totals, about)
    stored.to_json(folder / DESCRIPTION)
    return stored
