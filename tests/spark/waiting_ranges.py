"""A program that evaluates a file on a cluster, when it may: python -m tests.spark.waiting_ranges MASTER FOLDER."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import karat
from karat.data.judged import Judged
from karat.engines.spark import evaluate
from karat.engines.spark.session import spark_session
from karat.reading.pairs import range_plan
from tests.spark.cluster import wait_for
from tests.spark.local_comparison import outcome

if __name__ == "__main__":
    folder = Path(sys.argv[2])
    range_plan._LEAST_BYTES = 1  # so that a small file has several ranges

    @karat.register
    def Waiting(judged: Judged) -> Any:
        """1 if the first document is relevant, else 0. A file says where it is computed; it waits for one named go."""
        (folder / f"{os.getpid()}-{time.monotonic_ns()}").write_text(os.getcwd())
        wait_for((folder / "go").exists)
        return judged.found(1, 1) > 0

    truth, run = folder / "truth.qrels", folder / "run.trec"
    truth.write_text("".join(f"q{query} 0 d{doc} {doc}\n" for query in range(62) for doc in (1, 2)))
    run.write_text("".join(f"q{row // 3} Q0 d{row % 7} 0 {row % 5} run\n" for row in range(180)))
    inputs = truth, run, ["AP", "nDCG@10", "Waiting"]
    with spark_session(master=sys.argv[1]) as spark:
        assert outcome(lambda: evaluate(*inputs, session=spark)) == outcome(lambda: karat.evaluate(*inputs))
    print("right")
