"""A program whose executors run two Pythons, one after the other: python -m tests.spark.two_pythons MASTER PYTHON."""

from __future__ import annotations

import sys

from karat import KaratError
from karat.engines.spark import session as module
from tests.spark.toy_work import LEFT, RIGHT, assert_sums, buckets_of, sums, table_of

if __name__ == "__main__":
    with module.spark_session(master=sys.argv[1]) as spark:
        left, right = table_of(spark, LEFT), table_of(spark, RIGHT)
        assert_sums(buckets_of(sums, left, right, buckets=2).collect(), LEFT, RIGHT)
        print("right")
        masters = f"spark://127.0.0.1:1,{sys.argv[1].removeprefix('spark://')}"
        module._check_answer(masters, spark.sparkContext._jvm)  # the first is dead, and the second has no free cores
        spark.sparkContext.pythonExec = sys.argv[2]
        try:
            buckets_of(sums, left, right, buckets=2).collect()
        except KaratError as error:
            print(error)
