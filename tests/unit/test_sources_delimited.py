"""CSV and TSV files of ground truth and runs."""

from __future__ import annotations

import pytest

from karat.sources.delimited import looks_delimited


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (b"query-id\tcorpus-id\tscore\nq1\td\t1\n", "tsv"),
        (b",qid,docno,score\n0,q,d,1.0\n", "csv"),
        (b'"query";"doc";"score"\n"a";"b\nc";1\n', "csv"),
        (b"frage,dokument,wert\na,b,1\n", "csv"),
        (b"q1\td1\t1\nq1\td2\t2\n", "tsv"),
        (b"1\t5\t1\t0.4\n1\t7\t2\t0.3\n", "tsv"),
        (b"what is it,d1,0.5\n", "csv"),
        (b"q1 0 d,1 1\n", None),
        (b"q1 Q0 d1 1 0,5 t\n", None),
        (b"q1\t0\td1\t1\n", None),
        (b"q1\tQ0\td1\t1\t0.5\ttag\n", None),
        (b"# made by us, today\nq1 0 d1 1\n", None),
        (b'{"q1": {"d1": 1, "d2": 2}}\n', None),
        (b"", None),
        (b"text\n", None),
    ],
)
def test_csv_and_tsv_are_told_apart_from_other_formats(start: bytes, expected: str | None) -> None:
    assert looks_delimited(start) == expected
