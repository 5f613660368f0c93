"""The same rows in any format have the same scores and findings, or are an error in each."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

import karat
from karat import KaratError
from tests.block_size import block_size
from tests.compressions import COMPRESS

Rows = list[tuple[str, str, float]]
IDS = st.sampled_from(["1", "01", "1.0", "NaN", "null", "d,1", 'd"2', "'x", "=1", "é", "e\u0301", "日本", "\U0001f600"])
SCORES = st.sampled_from([1.0, 2.0, 0.1 + 0.2, 5e-324, -1e300, 0.0])


def encoded(rows: Rows, number: str, name: str) -> bytes:
    if name == "trec":
        form = "{} 0 {} {!r}\n" if number == "grade" else "{} Q0 {} 1 {!r} t\n"
        return "".join(form.format(*row) for row in rows).encode()
    if name in ("csv", "tsv"):
        text = io.StringIO()
        writer = csv.writer(text, delimiter="," if name == "csv" else "\t")
        writer.writerows([("query", "doc", number), *rows])
        return text.getvalue().encode()
    names = ("query", "doc", number)
    objects = [dict(zip(names, row, strict=True)) for row in rows]
    if name == "json":
        return json.dumps(objects).encode()
    if name == "jsonl":
        return "".join(json.dumps(each) + "\n" for each in objects).encode()
    table, sink = pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))), io.BytesIO()
    if name == "parquet":
        pq.write_table(table, sink, row_group_size=2)
    else:
        feather.write_feather(table, sink, chunksize=2)
    return sink.getvalue()


@settings(max_examples=25, deadline=None)
@given(
    truth=st.lists(st.tuples(IDS, IDS, st.sampled_from([0.0, 1.0, 2.0])), min_size=1, max_size=8),
    run=st.lists(st.tuples(IDS, IDS, SCORES), min_size=1, max_size=12),
    name=st.sampled_from(["csv", "tsv", "json", "jsonl", "parquet", "feather"]),
    compression=st.sampled_from([None, *COMPRESS]),
    size=st.sampled_from([8, 40, 1 << 20]),
    options=st.fixed_dictionaries({
        "ties": st.sampled_from(["trec", "input", "best", "worst"]),
        "duplicates": st.sampled_from(["error", "first"]),
        "missing": st.sampled_from(["zero", "skip"]),
    }),
)  # fmt: skip
def test_the_same_rows_have_the_same_scores_and_findings_in_every_format(
    truth: Rows, run: Rows, name: str, compression: str | None, size: int, options: dict[str, Any]
) -> None:
    def outcome(of_files: str) -> Any:
        with tempfile.TemporaryDirectory() as folder, block_size(size):
            paths = Path(folder, "truth"), Path(folder, "run")
            for path, rows, number in zip(paths, (truth, run), ("grade", "score"), strict=True):
                data = encoded(rows, number, of_files)
                path.write_bytes(COMPRESS[compression](data) if compression else data)
            try:
                scores = karat.evaluate(*paths, ["nDCG@3", "AP", "RR", "Judged@2"], **options)
            except KaratError as error:
                return next(
                    kind
                    for kind in ("judged twice", "listed twice", "in both the ground truth and the run")
                    if kind in str(error)
                )
            # Notes on reading are about the format: only in CSV do they say that ids end with .0.
            return scores.per_query, [finding.message for finding in scores.findings if finding.code != "reading"]

    assert outcome(name) == outcome("trec")
