"""evaluate_answers(): from gold answers and predicted ones to scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from karat.answers import Answers
from karat.errors import KaratError, shown
from karat.evaluation.choosing import DEFAULT_ANSWER_MEASURES, Measures, chosen_measures
from karat.findings import answer_findings
from karat.measure import Measure
from karat.options import Missing
from karat.scores import Scores
from karat.sources.answers import read_golds, read_predicted


def evaluate_answers(
    truth: Any,
    predictions: Any,
    measures: Measures = DEFAULT_ANSWER_MEASURES,
    *,
    missing: Missing = "zero",
    fields: Mapping[str, str] | None = None,
    name: str = "",
) -> Scores:
    """Measure how near predicted answers are to the gold ones.

    `truth` has one gold answer for each question, or several, of which the best counts; `predictions` one answer. Each
    is a mapping by question, a list, a list of records, a data frame, or a path (JSON, lines of JSON, CSV, TSV).

    Two empty answers agree: a question that should have no answer has "" (or no answer at all in its list) for its
    gold. None is no answer: such a question scores 0, or is left out (`missing="skip"`), and is counted and shown.
    `fields` says what fields and columns are called: `{"query": "id", "gold_answers": "labels", "answer": "output"}`.

    >>> truth = {"q1": "the Eiffel Tower", "q2": ["9", "nine"]}
    >>> evaluate_answers(truth, {"q1": "Eiffel Tower in Paris", "q2": "Nine."}, "TokenF1").per_query
    {'q1': {'TokenF1': 0.6666666666666666}, 'q2': {'TokenF1': 1.0}}
    """
    if missing not in get_args(Missing):
        raise KaratError(f"missing={shown(missing)} is not one of {', '.join(get_args(Missing))}")
    chosen = chosen_measures(measures, subjects=("answers",))
    golds = read_golds(truth, fields)
    predicted = read_predicted(predictions, golds, fields, name or "the predictions")
    return scored_answers(golds, predicted, chosen, missing, name)


def scored_answers(
    golds: Mapping[str, Sequence[str] | None],
    predicted: Mapping[str, str | None],
    measures: Sequence[Measure],
    missing: Missing,
    name: str,
) -> Scores:
    """The scores of the questions that have gold answers."""
    known = {query: texts for query, texts in golds.items() if texts is not None}
    absent = [query for query in known if predicted.get(query) is None]
    unknown = [query for query in {**golds, **predicted} if query not in known]
    if not known:
        raise KaratError("no question has a gold answer", where="the truth", mend="Give at least one that is not None.")
    if missing == "skip":
        if len(absent) == len(known):
            mend = "Compare the ids of the questions in both: are they written alike?"
            raise KaratError("no question of the truth has an answer", where=name or "the predictions", mend=mend)
        known = {query: known[query] for query in known if predicted.get(query) is not None}
    answers = Answers(tuple(known), tuple(known.values()), tuple(predicted.get(query) for query in known))
    values = {str(measure): measure.compute(answers) for measure in measures}
    found = answer_findings(absent, unknown, len(answers.queries), missing)
    return Scores(answers.queries, values, tuple(found), name, answers=answers)
