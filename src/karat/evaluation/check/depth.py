"""How many documents the queries of a run have: cut at different depths, or not as deep as measures look."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress

import numpy as np

from karat.data.judged import Ints
from karat.errors import Place, enumeration, plural
from karat.evaluation.check.batches import SeenBatch
from karat.reading.pairs.containers import RankedLists
from karat.registry import Measure
from karat.scores.finding import Finding, finding_about_queries, in_order_of_ids

_MOST_QUERIES = 0.5
"""that have exactly the largest number of documents, if the run was cut there"""
_MANY_QUERIES, _LEAST_CUT = 0.2, 5
"""that have exactly another number of documents, if it was cut there too; small numbers are often equal by chance"""


@dataclass
class Depths:
    """The number of documents of each query; a `RunCheck`."""

    name: str
    measures: Sequence[Measure]
    _queries: list[str] = field(default_factory=list)
    _sizes: list[int] = field(default_factory=list)

    def see(self, seen: SeenBatch) -> None:
        """Count the documents of some queries."""
        batch = seen.batch
        self._sizes += map(len, batch.docs) if isinstance(batch, RankedLists) else np.diff(batch.offsets).tolist()
        self._queries += batch.queries

    def findings(self) -> Iterator[Finding]:
        """What is wrong with the depth of the run."""
        sizes = np.array(self._sizes, np.int64)
        most = int(sizes.max(initial=0))
        if not most:
            return
        yield from self._uneven(sizes, most)
        deeper = [str(measure) for measure in self.measures if measure.cutoff and measure.cutoff > most]
        if deeper:
            verb = "looks" if len(deeper) == 1 else "look"
            what = f"{enumeration(deeper, 'and')} {verb} deeper than the run: no query has more than"
            hint = "Retrieve more documents, or use a smaller cut-off."
            yield Finding(
                "shallow-run", f"{what} {plural(most, 'document')}", len(deeper), hint, place=Place(self.name)
            )

    def _uneven(self, sizes: Ints, most: int) -> Iterator[Finding]:
        """Queries share the largest number of documents, and others have less than half of them.

        Where a system retrieves whatever matches, the numbers differ, and few queries share one. Queries without
        documents are another finding.
        """
        few = (sizes > 0) & (2 * sizes < most)
        depths, times = np.unique(sizes[sizes > 0], return_counts=True)
        shares = times / times.sum()
        is_common = (shares >= _MANY_QUERIES) & (times > 1) & (depths >= _LEAST_CUT)
        has_two_cuts = is_common[-1] and is_common[2 * depths < most].any()
        if not few.any() or not (has_two_cuts or shares[-1] >= _MOST_QUERIES):
            return
        short = dict(zip(compress(self._queries, few.tolist()), sizes[few].tolist(), strict=True))
        first = in_order_of_ids([*short])[0]
        what = f"with fewer than half of the {plural(most, 'document')} that other queries have"
        finding = finding_about_queries("uneven-depth", [*short], what, "Was the run cut by a threshold or a time-out?")
        message = f"{finding.message} ({first}: {plural(short[first], 'document')})"
        yield replace(finding, message=message, place=Place(self.name))
