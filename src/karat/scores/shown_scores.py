"""ShownScores: the scores of systems as they are shown, over all queries or per query, with intervals or without."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from karat.output.printable import Printable
from karat.output.tables import DIGITS, Table
from karat.scores.exports import mean_rows, query_rows
from karat.scores.scores import Scores
from karat.scores.summary import by_query, notes, summary
from karat.scores.system_scores import SystemScores


@dataclass(frozen=True)
class ShownScores(Printable):
    """The scores of one or several systems, with confidence intervals if their level is given."""

    systems: Mapping[str, Scores]
    level: float | None = None
    per_query: bool = False

    def tables(self, digits: int = DIGITS) -> list[Table]:
        return [(by_query if self.per_query else summary)(self.systems, self.level, digits)]

    def to_dict(self) -> dict[str, Any]:
        """The document of `Scores`, or that of `SystemScores` if there are several, with the intervals."""
        documents = {name: scores.to_dict() for name, scores in self.systems.items()}
        if self.level is not None:
            for name, scores in self.systems.items():
                intervals = scores.intervals(self.level).items()
                documents[name]["intervals"] = {measure: list(ends) if ends else None for measure, ends in intervals}
        return {"runs": documents} if len(documents) > 1 else next(iter(documents.values()))

    def records(self) -> list[dict[str, object]]:
        """A record per system or per query; a record per query names its system if there are several."""
        if self.per_query:
            return query_rows(self.systems, named=len(self.systems) > 1).records()
        records = mean_rows(self.systems).records()
        if self.level is not None:
            for scores, record in zip(self.systems.values(), records, strict=True):
                for measure, ends in scores.intervals(self.level).items():
                    record[f"{measure} low"], record[f"{measure} high"] = ends or (None, None)
        return records

    def remarks(self) -> list[str]:
        """The findings: what else stands below the table is known from the data."""
        return notes(self.systems, with_intervals=self.level is not None)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the values of all queries to a Parquet file."""
        several = len(self.systems) > 1
        (SystemScores(self.systems) if several else next(iter(self.systems.values()))).to_parquet(path)
