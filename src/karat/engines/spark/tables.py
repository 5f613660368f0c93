"""SparkTable: a DataFrame of which karat knows the columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from karat.data.caching import cached_property
from karat.engines.spark.line_records import RecordsInLines
from karat.engines.spark.shipping import failure
from karat.engines.spark.worker import ROW_ERROR
from karat.errors import KaratError, Message, Place, enumeration, shown
from karat.reading.pairs.numeric_ids import Note

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True)
class SparkTable:
    """A DataFrame with the columns that are read, and no others; and what a local reader has to know to read them."""

    name: str
    """in messages: the path, "the ground truth", "the run" """
    frame: DataFrame
    query: str
    """the name of the column with the ids of queries; of answers, it may be a path such as `meta.id`"""
    key: Column
    """the ids of queries as text, spelled as the local readers spell them: it decides on the bucket of a row"""
    size: Column | None = None
    """how many documents a row has, if that is not 1"""
    order: str | None = None
    """the name of the column that gives the order of rows: the rows of a bucket are sorted by it"""
    counted: DataFrame | None = None
    """a DataFrame with as many rows that is faster to count, such as the lines of a text file"""
    notes: tuple[Note, ...] = ()
    """what was guessed; when a bucket is read, only a `NumericIds` may be new"""
    columns: Mapping[str, str] = field(default_factory=dict)
    """the names of the columns by role (of answers, by field), for the local reader: it reads all buckets alike"""
    by_query: bool = False
    """whether a row has all documents of its query, in their order"""
    empty_error: KaratError | None = None
    """the error for a table without rows, if that is one"""
    records: RecordsInLines | None = None
    """for lines of text: the local reader reads those of a bucket as a file"""

    @cached_property
    def document_count(self) -> int:
        """How many documents it has, which Spark counts once."""
        from pyspark.sql import functions as F

        try:
            if self.size is None:
                return int((self.frame if self.counted is None else self.counted).count())
            return int(self.frame.select(F.sum(self.size)).first()[0] or 0)
        except Exception as error:
            raise failure(error) from None

    @cached_property
    def byte_count(self) -> int:
        """About how many bytes its values take, if they are texts."""
        from pyspark.sql import functions as F

        try:
            sizes = F.expr("sum(octet_length(cast(struct(*) as string)))")
            return int(self.frame.select(sizes).first()[0] or 0)
        except Exception as error:
            raise failure(error) from None

    @property
    def has_short_rows(self) -> bool:
        """Whether a row has only ids and numbers, and not texts or several documents."""
        of_pairs = {*self.columns.values(), self.order, ROW_ERROR}
        return "doc" in self.columns and not self.by_query and not self.records and {*self.frame.columns} <= of_pairs


def check_case(names: Sequence[str], place: Place | str, hint: Message) -> None:
    """An error if names of columns differ in case only: Spark finds columns whatever their case is."""
    folded = Counter(name.lower() for name in names)
    if alike := [shown(name) for name in names if folded[name.lower()] > 1]:
        what = f"the names {enumeration(alike, 'and')} differ in case only, and Spark takes them for the same"
        raise KaratError(what, place=place, hint=hint)
