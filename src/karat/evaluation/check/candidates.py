"""What several systems have in common: relevant documents that none retrieves, and unjudged ones that all retrieve."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from karat.analysis.documents_to_judge import unjudged_documents
from karat.analysis.evidence import Evidence
from karat.errors import Place
from karat.evaluation.facts import LEAST_POSITIVE, thresholds
from karat.matching.matchers import FunctionMatcher
from karat.reading.pairs.containers import Truth
from karat.reading.pairs.places import Pair
from karat.registry import Measure
from karat.scores.finding import Finding, counted_finding

_TOP = 5
_LISTED = 3
_FEWEST_SYSTEMS = 2
"""what a single system does not retrieve is what its recall says"""


def across_systems(
    truth: Truth, systems: Sequence[Evidence], measures: Sequence[Measure], source: str
) -> Iterator[Finding]:
    """Candidates for a second look, if there are several systems; a query counts if all of them answer it."""
    if len(systems) < _FEWEST_SYSTEMS:
        return
    rel = min(thresholds(measures), default=LEAST_POSITIVE)
    yield from _never_retrieved(truth, systems, rel, source)
    match = systems[0].match
    # Where only relevant documents are listed, or documents are texts, nobody knows which of them were judged.
    if not truth.only_relevant and not isinstance(match, FunctionMatcher) and match.key.field == "id":
        yield from _perhaps_relevant(systems, source)


def _never_retrieved(truth: Truth, systems: Sequence[Evidence], rel: float, source: str) -> Iterator[Finding]:
    """The relevant documents of queries that all systems answer, which none retrieves."""
    missed = truth.grades >= rel
    for system in systems:
        missed &= system.judged.in_run[system.judged.gold_query]
        missed[system.judged.hit_gold] = False
    golds = np.flatnonzero(missed)
    queries = (np.searchsorted(truth.offsets, golds, side="right") - 1).tolist()
    pairs = [(truth.queries[query], truth.docs[gold]) for query, gold in zip(queries, golds.tolist(), strict=True)]
    what = f"that none of the {len(systems)} systems retrieves"
    yield from _candidates("never-retrieved", pairs, "relevant document", what, source)


def _perhaps_relevant(systems: Sequence[Evidence], source: str) -> Iterator[Finding]:
    """The unjudged documents at the top of every system."""
    of_systems = [
        {(query, document) for query, ranks in unjudged_documents(system, _TOP) for document in ranks}
        for system in systems
    ]
    pairs = sorted(set.intersection(*of_systems))
    what = f"in the top {_TOP} of each of the {len(systems)} systems"
    hint = "Judge them first: `karat verdicts template` writes a sheet."
    yield from _candidates("perhaps-relevant", pairs, "unjudged document", what, source, hint)


def _candidates(
    code: str, pairs: Sequence[Pair], noun: str, what: str, source: str, hint: str = ""
) -> Iterator[Finding]:
    if not pairs:
        return
    listed = ", ".join(f"{doc} (query {query})" for query, doc in pairs[:_LISTED])
    more = f": {listed}" + (f" and {len(pairs) - _LISTED:,} more" if len(pairs) > _LISTED else "")
    queries = tuple(dict.fromkeys(query for query, _ in pairs))
    finding = counted_finding(code, len(pairs), noun, what, more, hint, queries)
    yield Finding(finding.code, finding.message, finding.count, hint, queries, place=Place(source))
