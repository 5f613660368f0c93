"""Convert lists of gold and retrieved documents to Judged, for all evaluators of documents."""

from __future__ import annotations

import logging

from karat.components.run_cache import cached
from karat.data.judged import Judged
from karat.errors import safe_line
from karat.evaluation.lists import JudgedLists, match_documents, warnings
from karat.matching.matchers import Matcher
from karat.reading.pairs.list_checks import DocumentLists, check_document_lists

_NAMES = ("ground_truth_documents", "retrieved_documents")
_log = logging.getLogger(__name__)


def judge_lists(truth: DocumentLists, run: DocumentLists, match: Matcher, graded: bool) -> Judged:
    """The ranks of the gold documents; if `graded`, their scores are their grades.

    Within a run of a pipeline, the same lists are matched once for all evaluators.
    """
    matched = cached(_match_and_warn, truth, run, match=match)
    return matched.graded if graded else matched.binary


def match_lists(truth: DocumentLists, run: DocumentLists, match: Matcher) -> JudgedLists:
    """The lists after matching, without warnings; lists of different lengths, or no lists, are an error."""
    check_document_lists(dict(zip(_NAMES, (truth, run), strict=True)))
    return match_documents(truth, run, match, _NAMES)


def _match_and_warn(truth: DocumentLists, run: DocumentLists, match: Matcher) -> JudgedLists:
    matched = match_lists(truth, run, match)
    if text := warnings(matched, match):
        _log.warning("karat: %s", safe_line(text))
    return matched
