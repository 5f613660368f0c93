"""A program that computes sums on a cluster, when it may: python -m tests.spark.waiting_sums MASTER FOLDER."""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

from karat.engines.spark.session import spark_session
from tests.spark.toy_work import Waiting, assert_sums, buckets_of, table_of

if __name__ == "__main__":
    rows = [(f"q{number % 60}", float(number)) for number in range(200)]
    with spark_session(master=sys.argv[1]) as spark:
        left, right = table_of(spark, rows), table_of(spark, rows[:30])
        assert_sums(buckets_of(Waiting(Path(sys.argv[2])), left, right, buckets=12).collect(), rows, rows[:30])
    assert SparkSession.getActiveSession() is None, "karat stops a session that it started"
    print("right")
