"""The shuffle: the rows of one or two tables are brought together by bucket, and each bucket goes to Python."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa

from karat.engines.spark.executor_results import Collect, ExecutorResults, collect_table
from karat.engines.spark.packing import PACKED, Packing, WorkOnPacked
from karat.engines.spark.shipping import for_executors
from karat.engines.spark.tables import SparkTable
from karat.engines.spark.worker import BUCKET, LARGE, BucketWork, schema_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MOST_BUCKETS = 1_000_000
_MOST_PARTITIONS = 10_000  # each costs the driver some milliseconds

_SHORT_ROWS = {
    # Exactly this number makes Spark skip a check after each row that takes longer than sending the row.
    "spark.sql.execution.arrow.maxBytesPerBatch": "2147483647",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "4000",
}
"""settings for tables that have only ids and numbers, of which a few thousand rows are never too large"""


@dataclass(frozen=True)
class ShuffledTables:
    """One or two tables, and into how many buckets they are divided; their size decides if it is None."""

    tables: tuple[SparkTable, ...]
    number: int | None

    def results(self, work: BucketWork, collect: Collect) -> ExecutorResults:
        """What executors return for all buckets."""
        from pyspark.sql import functions as F

        n = self.number or min(max(1, *(math.ceil(each.document_count / LARGE) for each in self.tables)), MOST_BUCKETS)
        packed = reduce(
            lambda left, right: left.union(right),
            (_packed(table, Packing(side, work.large_types), n) for side, table in enumerate(self.tables)),
        )
        partitions = min(n, _MOST_PARTITIONS)
        if hasattr(packed, "repartitionById"):  # since Spark 4.1: a partition per bucket, so that no core waits
            shuffled, has_several = packed.repartitionById(partitions, F.col(BUCKET)), n > partitions
        else:
            shuffled, has_several = packed.repartition(partitions, BUCKET), n > 1
        if has_several:
            shuffled = shuffled.sortWithinPartitions(BUCKET)
        schemas = [table.schema for table in self.without_rows()]
        return collect(shuffled.mapInArrow(for_executors(WorkOnPacked(work, schemas)), schema_text()))

    def without_rows(self) -> list[pa.Table]:
        """The tables without their rows."""
        return [collect_table(table.frame.limit(0)) for table in self.tables]

    def settings(self) -> Mapping[str, str]:
        """What Spark's settings should be meanwhile."""
        return settings_for(*self.tables)


def settings_for(*tables: SparkTable) -> Mapping[str, str]:
    """What Spark's settings should be while it sends the rows of these tables to Python."""
    return _SHORT_ROWS if all(table.has_short_rows for table in tables) else {}


@contextmanager
def changed_settings(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Change settings of a session for a while; those that cannot be changed stay as they are.

    A setting that has the value already is left alone: another thread has changed it, which also puts it back.
    """
    before: dict[str, str | None] = {}
    with suppress(Exception):  # a service may allow no changes: then it is slower
        known = session.conf.getAll if settings else {}
        for name, value in settings.items():
            if known.get(name) != value:
                session.conf.set(name, value)
                before[name] = known.get(name)
    try:
        yield
    finally:
        for name, previous in before.items():
            if previous is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, previous)


def _packed(table: SparkTable, packing: Packing, n: int) -> DataFrame:
    from pyspark.sql import functions as F

    bucket = F.pmod(F.xxhash64(table.key), F.lit(n)).cast("int")
    return table.frame.withColumn(BUCKET, bucket).mapInArrow(for_executors(packing), PACKED)
