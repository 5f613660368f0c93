"""Lists of gold and retrieved documents into Judged, whatever counts as a hit: for evaluators and pooled metrics."""

from __future__ import annotations

from karat.errors import KaratError
from karat.evaluation.findings import findings
from karat.matching.lists import DocumentLists, Matched, match_lists
from karat.matching.matchers import Matcher, Same
from karat.ranking import Observations, Rules, judge
from karat.sources import read_run, read_truth

_WORTH_A_WARNING = ("empty-truths", "nothing-found", "nothing-retrieved", "keyless-golds")


def match_documents(truth: DocumentLists, run: DocumentLists, match: Matcher, names: tuple[str, str]) -> Matched:
    """Which retrieved documents are gold documents; `names` are what errors call both inputs."""
    if isinstance(match, Same):
        return match_lists(truth, run, match.gold_key, match.key, names)
    judgments = read_truth(truth, key=match.gold_key, name=names[0])
    source = read_run(run, judgments, key=match.key, name=names[1])
    judged, noticed = judge(judgments, source, Rules(), match)
    sizes = dict(zip(judged.queries, judged.retrieved.tolist(), strict=True))
    keyless = {query: count for query, count in noticed.keyless.items() if count == sizes[query]}
    wrong_score = judgments.scores if isinstance(judgments.scores, KaratError) else None
    if judgments.scores is not None and not isinstance(judgments.scores, KaratError):
        judged = judged.regraded(judgments.scores)
    return Matched(judged, noticed.keyless_golds, keyless, wrong_score)


def warnings(matched: Matched, match: Matcher) -> str:
    """What a caller should hear about lists that were matched, every query named; nothing if all is well."""
    noticed = Observations(keyless_golds=matched.keyless_golds, keyless=matched.keyless)
    found = findings(matched.judged, noticed, (), "zero", match, listed=len(matched.judged.queries))
    return " ".join(str(finding) for finding in found if finding.code in _WORTH_A_WARNING)
