"""look(): what is in a log or another file, and what can be done with it.

    screen        the facts, and how they are shown
    logs          the results of a system: fields, whether gold documents are found, measures
    pairs         ground truth and runs
    other_files   saved scores and labels
    commands      what can be run next

Nothing is found out here that an evaluation does not find out: the same functions read the files, choose fields, try
matches and select measures, and what is wrong is the error of an evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from karat.errors import KaratError, Message, Parameter, require
from karat.errors.suggestions import SuggestedCall
from karat.evaluation.look.commands import LookOptions
from karat.evaluation.look.pairs import look_at_documents, look_at_pair
from karat.evaluation.look.screen import Look, Looks
from karat.evaluation.reading import ReadingOptions, check_reading
from karat.reading.bytes.input_file import InputFile, is_file
from karat.reading.columns import GivenNames, plain_names
from karat.reading.contents.contents import content_if_not_run
from karat.reading.records.records import field_names

__all__ = ["Look", "Looks", "look"]


def look(
    log: Any,
    run: Any = None,
    *,
    fields: Mapping[str, str] | None = None,
    input_format: str | None = None,
    records: str | None = None,
    truth: Any = None,
    answers: Any = None,
    truth_columns: GivenNames | None = None,
    run_columns: GivenNames | None = None,
    truth_format: str | None = None,
    run_format: str | None = None,
    split: str | None = None,
) -> Look:
    """What is in a log, and what can be done with it; or in ground truth and a run.

    `log` is what `evaluate_results` takes, or a file with ground truth, a run, saved scores or labels. With `run`, it
    is ground truth, as `evaluate` takes it. The result says which tool wrote a log, which field is read as what, which
    match finds gold documents, which measures can be computed, and what an evaluation says that cannot be done. The
    options are those of `evaluate_results` and `evaluate`; `truth` and `answers` are joined to a log.

    >>> found = look([{"question": "How soft?", "truth": ["d1"], "contexts": ["d2#0", "d1#4"]}])
    >>> found.can_be_evaluated, found.matches.best.match, [field.path for field in found.read]
    (True, 'prefix(separator=#)', ['question', 'truth', 'contexts'])
    """
    inputs = ReadingOptions(truth_columns, run_columns, truth_format, run_format, split)
    check_reading(inputs, None)
    field_names(fields)  # an invalid one is an error
    reading = LookOptions(inputs, dict(fields or {}), input_format, records, truth, answers)
    if run is not None:
        about_logs = {"fields": fields, "input_format": input_format, "records": records, "truth": truth}
        for name, value in {**about_logs, "answers": answers}.items():
            what: Message = [Parameter(name), " applies to a log, and these are ground truth and a run"]
            require(value is None or value == {}, what, "Leave it out.")
    try:
        found = look_at_pair(log, run, reading) if run is not None else _look(log, reading)
    except KaratError as error:
        raise SuggestedCall.without_look(error) from error.__cause__
    return found if found.error is None else replace(found, error=SuggestedCall.without_look(found.error))


def _look(log: Any, options: LookOptions) -> Look:
    """What is in a log or in one other source, by what it contains."""
    from karat.evaluation.look.logs import look_at_log  # which knows the measures of labels

    if not is_file(log) or options.truth is not None or options.answers is not None:
        return look_at_log(log, options)
    file, inputs = InputFile.of(log), options.inputs
    doc = plain_names(inputs.truth_columns).get("doc")
    content = content_if_not_run(file, options.input_format, options.fields, doc, options.records)
    if content == "scores":
        from karat.evaluation.look.other_files import look_at_scores

        return look_at_scores(file)
    if content == "verdicts":
        from karat.evaluation.look.other_files import look_at_verdicts

        return look_at_verdicts(file)
    is_documents = content in ("documents", "documents or scores") or inputs.split is not None
    return (look_at_documents if is_documents else look_at_log)(file, options)
