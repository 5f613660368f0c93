"""Facts about answers: those of parts, merged, are those of the whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat import KaratError, Scores
from karat.errors import Place
from karat.evaluation.answers import ComparedAnswers, check_answer_facts, score_answers, scores_of_answers
from karat.evaluation.facts import AnswerFacts
from karat.options import Missing
from karat.reading.records.list_texts import ListsAsText
from karat.registry.selection import select_measures

Golds = dict[str, tuple[str, ...] | None]
Predicted = dict[str, str | None]
MEASURES = select_measures(["EM", "TokenF1"], subjects=("answers",))
QUERIES = st.sampled_from([f"q{at}" for at in range(12)])
TEXTS = st.sampled_from(["", "a", "a b", "b c"])
GOLDS = st.dictionaries(QUERIES, st.none() | st.lists(TEXTS, min_size=1, max_size=2).map(tuple), max_size=9)
PREDICTED = st.dictionaries(QUERIES, st.none() | TEXTS, max_size=9)
MISSING: list[Missing] = ["zero", "skip"]


def outcome(compute: Callable[[], Scores]) -> Any:
    """What an evaluation returns, in the order of ids, or its error."""
    try:
        scores = compute()
    except KaratError as error:
        return str(error)
    assert scores.fingerprint is not None
    digests = dict(scores.fingerprint.truths["answers"])
    return sorted(scores.per_query.items()), scores.means, scores.findings, digests


@given(golds=GOLDS, predicted=PREDICTED, missing=st.sampled_from(MISSING), buckets=st.integers(1, 4))
def test_scores_of_parts_are_those_of_the_whole(
    golds: Golds, predicted: Predicted, missing: Missing, buckets: int
) -> None:
    def in_parts() -> Scores:
        numbers = {query: int(query[1:]) % buckets for query in (*golds, *predicted)}
        parts = [
            ComparedAnswers.of(
                {query: texts for query, texts in golds.items() if numbers[query] == each},
                {query: text for query, text in predicted.items() if numbers[query] == each},
                missing,
            )
            for each in range(buckets)
        ]
        facts = AnswerFacts.merged(part.facts for part in parts)
        check_answer_facts(facts, missing, "the predictions")
        queries = [query for part in parts for query in part.answers.queries]
        of_parts = [part.values(MEASURES) for part in parts]
        values = {str(each): np.concatenate([part[str(each)] for part in of_parts]) for each in MEASURES}
        digests = {query: digest for part in parts for query, digest in part.digests().items()}
        return scores_of_answers(queries, values, facts, digests, MEASURES, missing)

    assert outcome(in_parts) == outcome(
        lambda: score_answers(golds, predicted, MEASURES, missing, "", "the predictions")
    )


@pytest.mark.parametrize("missing", MISSING)
def test_findings_about_questions_do_not_depend_on_the_order_of_rows(missing: Missing) -> None:
    golds: Golds = {"q10": ("a",), "q9": ("b",), "q1": ("c",), "q2": None, "q11": None}
    predicted: Predicted = {"x2": "a", "q1": "c", "x1": "b"}
    backwards = dict(reversed(golds.items())), dict(reversed(predicted.items()))
    scores = score_answers(golds, predicted, MEASURES, missing, "", "")
    assert scores.findings == score_answers(*backwards, MEASURES, missing, "", "").findings
    assert [finding.queries for finding in scores.findings] == [("q9", "q10"), ("q2", "q11", "x1", "x2")]


def test_lists_written_as_text_are_recognized_only_if_all_values_are_such_lists() -> None:
    place = Place("the ground truth", row=0)
    first = ListsAsText.of("gold_answers", [(place, None), (place, "['a', 'b']"), (Place("row 1"), "[]")])
    with pytest.raises(KaratError, match=r"the text \"\['a', 'b'\]\" is a list that was written as text"):
        first.check()
    for other in ("a", "[5]", ["a"]):
        found = ListsAsText.of("gold_answers", [(place, "['a']"), (Place("row 1"), other)])
        assert found.has_others
        found.check()
        ListsAsText.merged([first, found], "").check()
    empty = ListsAsText.of("gold_answers", [(place, None)])
    empty.check()
    with pytest.raises(KaratError, match="is a list that was written as text"):
        ListsAsText.merged([empty, first], "").check()
