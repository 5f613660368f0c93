"""evaluate_answers(): from gold answers and predicted ones to scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any, get_args

from karat.answers import Answers
from karat.errors import KaratError
from karat.evaluation.findings import answer_findings
from karat.options import Missing, check_choice
from karat.registry import Measure
from karat.registry.selection import DEFAULT_ANSWER_MEASURES, Measures, select_measures
from karat.scores import Scores
from karat.sources.answer_rows import source_name
from karat.sources.answers import read_gold_answers, read_predicted_answers


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
    check_choice("missing", missing, get_args(Missing))
    chosen = select_measures(measures, subjects=("answers",))
    if isinstance(truth, str) and isinstance(predictions, str) and truth == predictions == "-":
        raise KaratError("standard input can be read once", hint="Give - for the truth or for the predictions.")
    golds = read_gold_answers(truth, fields)
    where = source_name(predictions, name or "the predictions")
    predicted = read_predicted_answers(predictions, golds, fields, where)
    return score_answers(golds, predicted, chosen, missing, name, where)


def score_answers(
    golds: Mapping[str, Sequence[str] | None],
    predicted: Mapping[str, str | None],
    measures: Sequence[Measure],
    missing: Missing,
    name: str,
    where: str,
) -> Scores:
    """The scores of the questions that have gold answers; `where` is what errors call the answers."""
    known = {query: texts for query, texts in golds.items() if texts is not None}
    if not known:
        raise KaratError("no question has a gold answer", where="the truth", hint="Give at least one that is not None.")
    said = list(map(predicted.get, known))
    absent = [query for query, answer in zip(known, said, strict=True) if answer is None] if None in said else []
    unknown = [query for query in golds if query not in known] if len(known) < len(golds) else []
    unknown += [query for query in predicted if query not in golds] if predicted.keys() - golds.keys() else []
    answers = Answers(tuple(known), tuple(known.values()), said)
    if missing == "skip" and absent:
        if len(absent) == len(known):
            hint = "Compare the ids of the questions in both: are they written alike, and in the same field?"
            raise KaratError("no question of the truth has an answer", where=where, hint=hint)
        there = [answer is not None for answer in said]
        answers = Answers(
            tuple(compress(known, there)), tuple(compress(known.values(), there)), list(compress(said, there))
        )
    values = {str(measure): measure.compute(answers) for measure in measures}
    found = answer_findings(absent, unknown, len(answers.queries), missing)
    return Scores(answers.queries, values, tuple(found), name, answers=answers)
