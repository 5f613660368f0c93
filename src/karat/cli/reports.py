"""The report that `karat report` writes, and `--report` of other commands."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from karat.cli.files import split_system
from karat.cli.terminal import print_error
from karat.errors import printable, size_text
from karat.sources.files import DescribedFile

if TYPE_CHECKING:
    from karat.cli.slices import Grouping
    from karat.cli.systems import SystemFiles
    from karat.report.subject import Reported


@dataclass(frozen=True)
class TextSources:
    """The files of `--queries` and `--corpus`: texts to show, or to group queries by and to match documents by."""

    queries: Sequence[DescribedFile] = ()
    corpus: Sequence[DescribedFile] = ()

    def queries_to_group(self, by: str | None, are_shown: bool) -> Sequence[DescribedFile]:
        """The texts of queries, if they are to be grouped by length; texts that are not shown must be."""
        return self.queries if by == "length" or not are_shown else ()

    def corpus_to_match(self, match: str, are_shown: bool) -> Sequence[DescribedFile]:
        """The texts of documents, if these are matched by their texts; texts that are not shown must be."""
        from karat.matching.matchers import matcher_of

        return self.corpus if not are_shown or matcher_of(match).field == "content" else ()

    def corpus_to_show(self, match: str) -> Sequence[DescribedFile] | None:
        """The texts of documents that are to be read to show them; None if they were read to match documents."""
        from karat.matching.matchers import matcher_of

        return None if matcher_of(match).field == "content" else self.corpus or None

    def files(self) -> list[str]:
        return [each.file.name for each in (*self.queries, *self.corpus)]


@dataclass(frozen=True)
class Report:
    """A report to write: its file, the files of texts, how queries are grouped, and the title."""

    file: str
    texts: TextSources = TextSources()
    grouping: Grouping | None = None
    title: str = ""

    def check(self) -> None:
        """Raise what prevents the report, before any work is done."""
        from karat.report import check_report

        check_report(self.file)

    def save(self, reported: Reported, files: SystemFiles, also_read: Sequence[str] = ()) -> None:
        """Write the report of the systems in some files, and say where it is."""
        from karat.report import Provenance, write_report
        from karat.report.subject import subject_of

        subject = subject_of(reported)
        read = [*(split_system(each)[0] for each in (*files.opened, *also_read)), *self.texts.files()]
        read += files.evaluation.labels.files
        write_report(
            subject,
            self.file,
            queries=list(self.texts.queries) or None,
            corpus=list(self.texts.corpus) or None,
            by={} if self.grouping is None else {self.grouping.name: self.grouping.by},
            title=self.title,
            provenance=Provenance(shlex.join(["karat", *sys.argv[1:]]), tuple(read)),
        )
        print_error(f"report: {printable(self.file)} ({size_text(os.path.getsize(self.file))})\n")
