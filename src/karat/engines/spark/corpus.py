"""The texts of documents that are known by id only: Spark joins those of a corpus to ground truth and run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from karat.data.caching import cached_property
from karat.engines.spark.columns import arrow_schema, numbered
from karat.engines.spark.files import spark_files
from karat.engines.spark.inputs import as_text, checked_frame
from karat.engines.spark.shipping import failure
from karat.engines.spark.tables import SparkTable
from karat.errors import KaratError, Place, require, shown
from karat.reading.bytes.names import IN_PROSE
from karat.reading.contents.contents import reject_pairs
from karat.reading.pairs.arrow_columns import text_ids
from karat.reading.texts.entries import numeric_ids
from karat.reading.texts.text_files import text_columns, without_id
from karat.reading.texts.texts import missing_texts, no_texts

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

TEXT = "__karat_text"
"""the column of ground truth and run with the text of the document of a row; null if it has none"""

_DOC, _VARIANTS, _IN_CORPUS = "__karat_doc", "__karat_variants", "__karat_in_corpus"
_NOT_BLANK = "[^" + "".join(f"\\x{{{c:x}}}" for c in range(0x3001) if chr(c).isspace()) + "]"
"""what `str.strip` leaves something of; the last blank of Unicode is U+3000"""
_EXAMPLES = 3  # ids in an error
_FEW = 4  # ids, so that a list of three says whether there are more


@dataclass(frozen=True)
class Corpus:
    """The documents of a corpus: their ids, texts and titles as text."""

    name: str
    frame: DataFrame
    notes: tuple[str, ...]

    @contextmanager
    def joined(self, truth: SparkTable, run: SparkTable) -> Iterator[JoinedCorpus]:
        """Ground truth and run with the texts of their documents."""
        from pyspark import StorageLevel

        for table in (truth, run):
            what = "a corpus has the texts of documents in rows, and here a row has all documents of its query"
            hint = "Put the texts into the documents, as their field content, and leave the corpus out."
            require(not table.by_query, what, hint, place=table.name)
            hint = "Write the table as Parquet, CSV or TREC, or pass a DataFrame."
            require(not table.records, "JSON lines cannot be joined with a corpus", hint, place=table.name)
        texts = _wanted(truth, run).join(self._texts(), _DOC, "left").persist(StorageLevel.DISK_ONLY)
        try:
            yield JoinedCorpus(self, texts, _with_texts(truth, texts), _with_texts(run, texts))
        finally:
            texts.unpersist()

    def _texts(self) -> DataFrame:
        """The text of each document, and how many different ones it has: 0 if all are blank."""
        from pyspark.sql import functions as F

        text, title = (F.when(F.col(each).rlike(_NOT_BLANK), F.col(each)) for each in ("text", "title"))
        text_or_title = F.coalesce(text, title)
        both = F.struct(text_or_title, F.when(text.isNotNull(), title))
        return (
            self.frame.groupBy(F.col("id").alias(_DOC))
            .agg(
                F.min(text_or_title).alias(TEXT),
                F.count_distinct(F.when(text_or_title.isNotNull(), both)).alias(_VARIANTS),
            )
            .withColumn(_IN_CORPUS, F.lit(1))
        )


@dataclass(frozen=True)
class JoinedCorpus:
    """Ground truth and run with a column of texts; and `texts`, a row for each of their documents."""

    corpus: Corpus
    texts: DataFrame
    truth: SparkTable
    run: SparkTable

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """The notes that a local reader makes; an error if it raises one."""
        try:
            return self._notes()
        except KaratError:
            raise
        except Exception as error:
            raise failure(error) from None

    def _notes(self) -> tuple[str, ...]:
        from pyspark.sql import functions as F

        name, frame = self.corpus.name, self.corpus.frame
        if frame.where(F.col("id").isNull()).limit(1).count():
            raise without_id("id", name)
        first = self.texts.agg(
            F.count("*"), F.count(TEXT), F.count(_IN_CORPUS), F.min(F.when(F.col(_VARIANTS) > 1, F.col(_DOC)))
        ).first()
        wanted, known, in_corpus, other = first or (0, 0, 0, None)
        if other is not None:
            raise KaratError(
                f"document {shown(other)} has several texts", place=name, hint="Give each document one text."
            )
        if wanted == known:
            return self.corpus.notes
        without = self.texts.where(F.col(TEXT).isNull()).orderBy(_DOC).limit(_FEW)
        missing = [row[0] for row in without.select(_DOC).collect()]
        if not in_corpus:
            examples = [row[0] for row in frame.select("id").orderBy("id").limit(_EXAMPLES).collect()]
            raise no_texts(name, "corpus", missing, wanted, examples)
        return (*self.corpus.notes, missing_texts(name, "corpus", missing, wanted - known, wanted))


def read_corpus(source: Any, session: SparkSession) -> Corpus:
    """The corpus in a DataFrame, or in Parquet files."""
    name = "the corpus"
    if isinstance(source, str | os.PathLike):
        files = spark_files(os.fsdecode(source), session)
        form = files.format(None, None).format
        if form != "parquet":
            hint = "Write it as Parquet, or pass a DataFrame with the ids and texts."
            raise KaratError(f"on Spark, a corpus is not read from {IN_PROSE[form]}", place=files.name, hint=hint)
        name, source = files.name, session.read.parquet(files.path)
    frame = checked_frame(source, name)
    schema = arrow_schema(frame)
    reject_pairs(schema.names, "corpus", name)
    columns = text_columns(schema.names, "corpus", None, name)
    of_id, of_text = (schema.field(each).type for each in (columns.id, columns.text))
    is_number = pa.types.is_integer(of_id)
    for column, kind, fits in (
        (columns.id, of_id, is_number or _is_text(of_id)), (columns.text, of_text, _is_text(of_text))
    ):  # fmt: skip
        require(fits, f"values of type {kind} are not texts", "Convert the column.", place=Place(name, column=column))
    has_title = columns.title is not None and _is_text(schema.field(columns.title).type)
    read = {"id": columns.id, "text": columns.text, "title": columns.title if has_title else None}
    notes = (*columns.choice.note(name), *([numeric_ids(name)] if is_number else []))
    return Corpus(name, _as_texts(frame, read), notes)


def texts_of_rows(table: pa.Table, doc: str) -> dict[str, str]:
    """The texts of the documents of a bucket, by id, in an executor."""
    known = table.select([doc, TEXT]).filter(table[TEXT].is_valid())
    return dict(zip(text_ids(known[doc], doc, 0).to_pylist(), known[TEXT].to_pylist(), strict=True))


def _as_texts(frame: DataFrame, read: dict[str, str | None]) -> DataFrame:
    from pyspark.sql import functions as F

    places = {role: None if name is None else frame.columns.index(name) for role, name in read.items()}
    columns = [
        (F.lit(None) if at is None else F.col(f"c{at}")).cast("string").alias(role) for role, at in places.items()
    ]
    return numbered(frame).select(*columns)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _wanted(truth: SparkTable, run: SparkTable) -> DataFrame:
    """The ids of the documents in ground truth, and in the run for its queries."""
    golds, retrieved = (table.frame.select(table.key.alias("query"), _doc(table).alias(_DOC)) for table in (truth, run))
    judged = golds.select("query").distinct()
    docs = golds.select(_DOC).union(retrieved.join(judged, "query", "left_semi").select(_DOC))
    return docs.dropna().distinct()


def _with_texts(table: SparkTable, texts: DataFrame) -> SparkTable:
    from pyspark.sql import functions as F

    # With an alias, the column is not the same one in both tables, which would be ambiguous.
    texts = texts.select(_DOC, F.col(TEXT).alias(TEXT))
    frame = table.frame.withColumn(_DOC, _doc(table)).join(texts, _DOC, "left").drop(_DOC)
    return replace(table, frame=frame, counted=table.counted or table.frame)


def _doc(table: SparkTable) -> Column:
    return as_text(table.frame, table.columns["doc"])
