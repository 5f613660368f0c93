"""What evaluators of documents share: lists into Judged, matched once for all evaluators of a run."""

from __future__ import annotations

import logging

from karat.components.sharing import shared
from karat.evaluation.lists import match_documents, warnings
from karat.judged import Judged
from karat.matching.lists import DocumentLists, Matched
from karat.matching.matchers import Matcher
from karat.sources.list_checks import check_document_lists

_NAMES = ("ground_truth_documents", "retrieved_documents")
_log = logging.getLogger(__name__)


def judged(truth: DocumentLists, run: DocumentLists, match: Matcher, graded: bool) -> Judged:
    """Where the gold documents of each question were ranked; if graded, their scores are their grades."""
    matched = shared(_matched, truth, run, match=match)
    return matched.graded if graded else matched.binary


def _matched(truth: DocumentLists, run: DocumentLists, match: Matcher) -> Matched:
    check_document_lists(dict(zip(_NAMES, (truth, run), strict=True)))
    matched = match_documents(truth, run, match, _NAMES)
    if said := warnings(matched, match):
        _log.warning("karat: %s", said)
    return matched
