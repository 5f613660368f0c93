"""Reportable: what a report can be written of, in Python."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from pathlib import Path

    from karat.report.subject import Reported


class Reportable:
    """The scores of one system or of several, or a comparison."""

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        queries: Any = None,
        corpus: Any = None,
        by: Any = None,
        title: str = "",
        level: float | None = None,
    ) -> Path:
        """Write a report: one HTML page with the table, charts, and every query (extra `karat-eval[report]`).

        `queries` and `corpus` are the texts of queries and documents that are known by id: a file, a mapping, or a data
        frame. `by` groups the queries, as in `Scores.slices`. `level` is the confidence level of the intervals, 0.95 by
        default; that of a comparison is chosen when systems are compared. The scores of several systems are compared
        with each other, or with those of the first one if there are more than ten; to choose, write the report of a
        comparison.
        """
        from karat.analysis.query_groups import named_groups
        from karat.report import check_report, write_report
        from karat.report.subject import subject_of

        check_report(path)
        reported = subject_of(cast("Reported", self), level)
        return write_report(reported, path, queries=queries, corpus=corpus, by=named_groups(by), title=title)
