"""Scores that executors write to a folder: the values of queries never come to the driver, only their exact sums."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from karat.engines.spark.buckets import Buckets, CollectedBuckets, WrittenBuckets
from karat.engines.spark.shipping import failure, message_of_java
from karat.engines.spark.worker import QUERY, BucketResult, Work
from karat.errors import KaratError, Message, Parameter, plural, require
from karat.errors.arguments import check_path
from karat.reading.bytes.part_files import DESCRIPTION
from karat.reading.bytes.remote import path_in_uri
from karat.scores import Scores, StoredScores
from karat.scores.combining import Totals
from karat.scores.stored_scores import digest_column

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_GLOB = re.compile(r"([*?\[\]{}\\])")


def scores_of_buckets(
    buckets: Buckets, scores_of: Callable[[CollectedBuckets], Scores], path: str | os.PathLike[str] | None
) -> Scores | StoredScores:
    """The scores that `scores_of` makes of buckets; with a path, their values are written to a new folder there."""
    return scores_of(buckets.collect()) if path is None else store_scores(buckets, path, scores_of)


def store_scores(
    buckets: Buckets, path: str | os.PathLike[str], scores_of: Callable[[CollectedBuckets], Scores]
) -> StoredScores:
    """Do the work on buckets, and write the values and digests of their queries to a new folder.

    `scores_of` makes scores of buckets. It is called with the facts of all buckets but without a query, before anything
    is written, so that whatever it refuses leaves no folder. The description of the scores is written last: a folder
    without it is not whole.
    """
    session = buckets.session
    folder = _Folder.new(session, check_path(path, "per_query_path"))
    values, kinds = buckets.work.values, buckets.work.texts
    for name in values:
        what = f"a measure is called {name}, which is the name of another column"
        require(name.lower() != QUERY, what, "Rename the measure.")
    work = replace(buckets.work, work=_WorkWithTotals(buckets.work.work), texts=tuple(map(digest_column, kinds)))
    scores: list[StoredScores] = []

    def assemble(written: WrittenBuckets) -> None:
        facts, totals = zip(*written.facts, strict=True)
        no_rows = {name: np.empty(0) for name in values}
        about = scores_of(CollectedBuckets((), no_rows, {kind: [] for kind in kinds}, list(facts), written.findings))
        scores.append(StoredScores(folder.path, sum(totals, Totals()), about))

    replace(buckets, work=work).write(folder.uri, assemble)
    (stored,) = scores
    _check_rows(session, folder, stored.query_count)
    folder.write(DESCRIPTION, stored.to_json())
    return stored


@dataclass(frozen=True)
class _WorkWithTotals:
    """Work whose facts are a pair: its own facts, and the totals of its values."""

    work: Work

    def __call__(self, *tables: pa.Table) -> BucketResult:
        result = self.work(*tables)
        texts = {digest_column(kind): digests for kind, digests in result.texts.items()}
        return replace(result, texts=texts, facts=(result.facts, Totals.of(result.queries, result.values)))


@dataclass(frozen=True)
class _Folder:
    """A folder in any file system that Spark can write to."""

    uri: str
    system: Any
    hadoop: Any

    @classmethod
    def new(cls, session: SparkSession, path: str) -> _Folder:
        """A folder that does not exist yet, and is not made here."""
        require(path, [Parameter("per_query_path"), " is empty"], "Name a folder.")
        of_java = getattr(session, "_jsparkSession", None)
        if of_java is None:
            hint: Message = [
                "Use a session that is not one of Spark Connect, or leave ",
                Parameter("per_query_path"),
                " out.",
            ]
            raise KaratError("a session of Spark Connect cannot write scores to a folder", place=path, hint=hint)
        hadoop = session._jvm.org.apache.hadoop.fs  # pyspark has no other way to file systems
        try:
            settings = of_java.sessionState().newHadoopConf()
            if ":" not in path and hadoop.FileSystem.getDefaultUri(settings).getScheme() == "file":
                path = os.path.abspath(path)  # Java may have been started in another folder
            folder = hadoop.Path(path)
            system = folder.getFileSystem(settings)
            if system.exists(folder):
                hint = ["Choose another ", Parameter("per_query_path"), ", or delete it first."]
                raise KaratError("this folder exists already", place=path, hint=hint)
            return cls(system.makeQualified(folder).toString(), system, hadoop)
        except KaratError:
            raise
        except Exception as error:  # of Java
            raise _cannot_be_written(error, path) from None

    @property
    def path(self) -> str:
        """The path that karat reads it by."""
        return path_in_uri(self.uri.removeprefix("file:"))

    def write(self, name: str, text: str) -> None:
        """Write a file."""
        try:
            stream = self.system.create(self.hadoop.Path(f"{self.uri}/{name}"), False)
            stream.write(bytearray(text.encode(errors="backslashreplace")))
            stream.close()
        except Exception as error:  # of Java
            raise _cannot_be_written(error, self.path) from None


def _cannot_be_written(error: Exception, path: str) -> KaratError:
    return KaratError(f"cannot be written: {message_of_java(error)}", place=path)


def _check_rows(session: SparkSession, folder: _Folder, expected: int) -> None:
    """An error if the driver does not find the rows: executors may have written to disks of their own."""
    try:
        # Only the number of rows of each file is read.
        # On Windows, Hadoop has no escapes.
        escaped = folder.uri if sys.platform == "win32" else _GLOB.sub(r"\\\1", folder.uri)
        rows = session.read.schema("query string").parquet(escaped).count()
    except Exception as error:
        raise failure(error) from None
    if rows != expected:
        what = f"the folder has {rows:,} of {plural(expected, 'query')} that executors have written"
        hint = "Pass a path that all machines share, such as s3a://bucket/folder or hdfs://host/folder."
        raise KaratError(what, place=folder.path, hint=hint)
