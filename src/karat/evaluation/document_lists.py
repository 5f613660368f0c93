"""Lists of gold and of retrieved documents, one of each per question, for evaluators and pooled metrics."""

from __future__ import annotations

from dataclasses import dataclass

from karat.data.caching import cached_property
from karat.data.judged import Floats, Judged
from karat.errors import KaratError
from karat.evaluation.facts import DocumentFacts
from karat.evaluation.findings import findings
from karat.matching.document_samples import SampledQuery, sample_of_lists
from karat.matching.matcher import Matcher
from karat.ranking import Observations, rank_document_lists
from karat.reading.pairs.list_checks import DocumentLists

_WORTH_A_WARNING = ("empty-truths", "nothing-found", "nothing-retrieved", "keyless-golds")


@dataclass(frozen=True, eq=False)
class JudgedLists:
    """Lists of documents after matching: in `binary`, each gold document has grade 1; in `graded`, its score."""

    binary: Judged
    scores: Floats | KaratError | None
    observations: Observations
    unmatched: tuple[SampledQuery, ...] = ()
    """documents of some queries, if no gold document was retrieved"""

    @cached_property
    def graded(self) -> Judged:
        """The score of a gold document is its grade, and 1 in queries without scores; an error if a score is wrong."""
        if isinstance(self.scores, KaratError):
            raise self.scores
        return self.binary if self.scores is None else self.binary.regraded(self.scores)


def match_documents(truth: DocumentLists, run: DocumentLists, match: Matcher, names: tuple[str, str]) -> JudgedLists:
    """Find the gold documents of each question among its retrieved ones; errors call the two inputs by `names`."""
    judged, observations, scores = rank_document_lists(truth, run, match, names)
    by_query = (dict(zip(judged.queries, lists, strict=True)) for lists in (truth, run))
    unmatched = () if len(judged.hit_rank) else sample_of_lists(*by_query)
    return JudgedLists(judged, scores, observations, unmatched)


def warnings(lists: JudgedLists, match: Matcher) -> str:
    """Warnings about lists that were matched, which name all queries concerned; empty if there are none."""
    facts = DocumentFacts.of(lists.binary, lists.observations, unmatched=lists.unmatched)
    all_findings = findings(facts, match=match, listed=len(lists.binary.queries))
    return " ".join(str(finding) for finding in all_findings if finding.code in _WORTH_A_WARNING)
