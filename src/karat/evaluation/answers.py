"""evaluate_answers(): evaluate predicted answers against gold answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from karat.answers import Answers
from karat.arguments import check_text
from karat.errors import require
from karat.evaluation.findings import SCORE_MISSING, answer_findings, no_common_queries
from karat.options import Missing, check_choice
from karat.registry.selection import DEFAULT_ANSWER_MEASURES, Measures, Selection, asked_names, select_measures
from karat.scores import Finding, Scores
from karat.scores.fingerprint import Fingerprint
from karat.sources.answer_rows import source_name
from karat.sources.answers import read_gold_answers, read_predicted_answers
from karat.sources.digests import LazyDigests, digest


def evaluate_answers(
    truth: Any,
    predictions: Any,
    measures: Measures = DEFAULT_ANSWER_MEASURES,
    *,
    missing: Missing = "zero",
    fields: Mapping[str, str] | None = None,
    name: str = "",
) -> Scores:
    """Evaluate predicted answers against gold answers.

    `truth` has one or several gold answers for each question, and the best match counts; `predictions` has one answer.
    Each is a mapping by question, answers or records in a list or from an iterator, a data frame, a data set of Hugging
    Face, or a path (JSON, JSON lines, CSV, TSV, Parquet, Feather).

    If a question should not be answered, its gold answer is "" or an empty list, and an empty predicted answer matches
    it. A question without a predicted answer (None) scores 0, or is left out (`missing="skip"`), and is listed in the
    findings. `fields` maps field or column names: `{"query": "id", "gold_answers": "labels", "answer": "out"}`.

    >>> truth = {"q1": "the Eiffel Tower", "q2": ["9", "nine"]}
    >>> evaluate_answers(truth, {"q1": "Eiffel Tower in Paris", "q2": "Nine."}, "TokenF1").per_query
    {'q1': {'TokenF1': 0.6666666666666666}, 'q2': {'TokenF1': 1.0}}
    """
    check_choice("missing", missing, get_args(Missing))
    check_text("name", name)
    selected = select_measures(measures, subjects=("answers",))
    twice = isinstance(truth, str) and isinstance(predictions, str) and truth == predictions == "-"
    require(
        not twice,
        "standard input can be read only once",
        "Use - for the ground truth or for the predictions, not for both.",
    )
    golds = read_gold_answers(truth, fields)
    where = source_name(predictions, name or "the predictions")
    predicted = read_predicted_answers(predictions, golds, fields, where)
    scores = score_answers(golds, predicted, selected, missing, name, where)
    notes = (Finding("reading", note, 0) for note in (*golds.notes, *predicted.notes))
    return replace(scores, findings=(*notes, *scores.findings))


def score_answers(
    golds: Mapping[str, Sequence[str] | None],
    predicted: Mapping[str, str | None],
    measures: Selection,
    missing: Missing,
    name: str,
    where: str,
) -> Scores:
    """The scores of the questions that have gold answers; `where` is the place of the predictions in errors."""
    if predicted and golds.keys().isdisjoint(predicted):
        raise no_common_queries(tuple(golds), tuple(predicted), where, "question")
    known = {query: texts for query, texts in golds.items() if texts is not None}
    require(known, "no question has a gold answer", "Pass at least one that is not None.", where="the ground truth")
    answers = Answers(tuple(known), tuple(known.values()), list(map(predicted.get, known)))
    absent: list[str] = []
    if None in answers.predicted:
        absent = [query for query, answer in zip(known, answers.predicted, strict=True) if answer is None]
    unknown = [query for query in golds if query not in known] if len(known) < len(golds) else []
    unknown += [query for query in predicted if query not in golds] if predicted.keys() - golds.keys() else []
    if missing == "skip" and absent:
        require(
            len(absent) < len(known),
            "no question of the ground truth has a predicted answer",
            SCORE_MISSING,
            where=where,
        )
        answers = answers.select([answer is not None for answer in answers.predicted])
    values = {str(measure): measure.compute(answers) for measure in measures}
    found = answer_findings(absent, unknown, len(answers.queries), missing)
    texts = dict(zip(answers.queries, answers.golds, strict=True))
    digests = LazyDigests(lambda: {query: digest(set(golds)) for query, golds in texts.items()})
    fingerprint = Fingerprint({"answers": digests}, options={"missing": missing})
    asked = asked_names(measures)
    return Scores(answers.queries, values, tuple(found), name, answers=answers, fingerprint=fingerprint, asked=asked)
