"""check(): a linter for evaluation data. Whatever makes scores wrong, or changes what they mean, is a finding.

    checked     the findings, and how they are shown
    many_findings   how many of one kind about one source are listed; the others are counted
    plan        what is checked, and how
    documents   ground truth and runs: the parts that are put together here are
        rows            rows that cannot be read, and documents that are listed twice
        batches         a run, which is read once
        run_checks      its depth, the order of its ranks, and queries that retrieve themselves
        candidates      what several systems have in common
    texts       the texts of documents and queries (text_sources, text_index), and ids that no text has (membership)
    ids         ids that differ only in how they are written (similar_rows: in a large run)
    logs        logs of RAG systems: log_records reads them, log_passages compares texts
    claims      scores that somebody claims, and which usual mistake gives them
                (claimed_scores: how they are written; mistakes: which are known; recomputing: what each gives)

The kinds of findings are declared in `scores/finding_kinds.md`. Files are read, matched and ranked by the functions of
an evaluation, and what an evaluation notices too is the same finding.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, Unpack

from karat.errors import KaratError, require
from karat.errors.arguments import is_remote
from karat.evaluation.check.checked import Checked, in_order
from karat.evaluation.check.claimed_scores import Claimed, read_claims
from karat.evaluation.check.documents import check_documents
from karat.evaluation.check.logs import check_log, is_log
from karat.evaluation.check.many_findings import Found, first_findings
from karat.evaluation.check.plan import CheckPlan, LogPlan
from karat.evaluation.check.text_sources import texts_of_plan
from karat.evaluation.check.texts import KnownTexts
from karat.evaluation.reading import EvaluationOptions, ReadingOptions, check_reading, paths_of
from karat.matching.matchers import matcher_of
from karat.options import complete_options
from karat.reading.bytes.input_file import InputFile, is_file
from karat.reading.columns import GivenNames
from karat.reading.pairs.files import DescribedFile
from karat.reading.pairs.objects import rereadable
from karat.reading.records.records import field_names
from karat.registry.selection import DEFAULT_MEASURES, Measures, select_measures
from karat.scores.finding_kinds import kinds_to_show

__all__ = ["Checked", "check"]


def check(
    truth: Any,
    *runs: Any,
    measures: Measures = DEFAULT_MEASURES,
    queries: Any = None,
    corpus: Any = None,
    claimed: Claimed | None = None,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    fields: Mapping[str, str] | None = None,
    input_format: str | None = None,
    records: str | None = None,
    truth_columns: GivenNames | None = None,
    run_columns: GivenNames | None = None,
    truth_format: str | None = None,
    run_format: str | None = None,
    split: str | None = None,
    **options: Unpack[EvaluationOptions],
) -> Checked:
    """Find what is wrong with evaluation data: with ground truth and runs, or with logs of RAG systems.

    `truth` and each run are what `evaluate` takes. If the first source is a log that `evaluate_results` takes (a file,
    a list of records, a data frame), all are logs, and each is checked by itself. A source that cannot be read, or has
    rows that cannot be, is a finding too, and the rest is still checked.

    - `queries`, `corpus`: the texts of queries and documents: a file in any format, the folder of a BEIR data set, or
      `{id: text}`. Ids that they lack, and texts that contradict each other, are found.
    - `claimed`: scores that somebody claims for the run, such as `{"nDCG@10": 0.4123}` or `"nDCG@10=0.4120"`, or a file
      of them: if karat computes another one, a finding names the usual mistake or convention that gives it, if any.
    - `select`, `ignore`: the kinds of findings to show or to leave out, such as `["K030", "unjudged"]`.
    - `measures` and the other options are those of `evaluate`: cut-offs, the lowest relevant grade and the match decide
      what is wrong. Documents that are listed twice are found whatever `duplicates` is. `fields`, `input_format` and
      `records` say how a log is read, as in `evaluate_results`.

    >>> found = check({"q1": {"d1": 1, "d2": 0}}, {"q1": {"d1": 0.5, "d2": 0.5}, "q7": {"d1": 0.3}}, measures="RR")
    >>> [finding.kind.number for finding in found]
    ['K023', 'K033']
    """
    inputs = ReadingOptions(truth_columns, run_columns, truth_format, run_format, split)
    check_reading(inputs, None)
    kinds_to_show(select, ignore)  # wrong arguments are errors before anything is read
    field_names(fields)
    settings = complete_options(options)
    selected, matcher = select_measures(measures, settings["rel"]), matcher_of(settings["match"])
    with suppress(KaratError):  # whoever reads it finds it again
        truth = rereadable(truth, "the ground truth")  # how it begins shows whether it is a log
    if is_log(truth, inputs, fields, input_format, records, is_alone=not runs):
        what = "queries, corpus and claimed scores belong to ground truth and runs, and this is a log"
        require(queries is None and corpus is None and claimed is None, what, "Leave them out.")
        how = selected, settings, matcher, fields, input_format, records
        plans = [LogPlan(log, name, *how) for name, log in _named([truth, *runs], "the results").items()]
        found: Iterator[Found] = chain.from_iterable(map(check_log, plans))
    else:
        named = _named(runs, "the run")
        claims = read_claims(claimed, named, settings["rel"])
        plan = CheckPlan(truth, named, selected, settings, matcher, inputs, queries, corpus, claims).with_qrels()
        truth, queries, corpus = plan.truth, texts_of_plan(plan, "queries"), texts_of_plan(plan, "corpus")
        texts = KnownTexts.read(plan)
        found = chain(texts.findings, check_documents(plan, texts))
    return Checked(in_order(first_findings(found)), _files(truth, *runs, queries, corpus)).only(select, ignore)


def _files(*sources: Any) -> tuple[str, ...]:
    """The names of those sources that are files; the texts of queries and documents may be in several."""
    files: list[str] = []
    for source in sources:
        described = isinstance(source, list) and all(isinstance(each, DescribedFile) for each in source)
        one_by_one = [each.file for each in source] if described else [source]
        files += [InputFile.of(each).name for each in one_by_one if is_file(each)]
    return tuple(dict.fromkeys(files))


def _named(runs: Sequence[Any], noun: str) -> dict[str, Any]:
    """Runs or logs by their names in messages: the path of a file, or `the run`, `run 2`. Each is given once."""
    named: dict[str, Any] = {}
    spellings: dict[str, str] = {}
    for number, run in enumerate(runs, 1):
        path = paths_of(run)
        name = noun if len(runs) == 1 else f"{noun.removeprefix('the ')} {number}"
        name = InputFile.of(path[0]).name if path else name
        first = spellings.setdefault(_resolved(name) if path else name, name)
        as_well = "" if first == name else f": also as {first}"
        require(name == first and name not in named, f"this file is given twice{as_well}", "Name it once.", place=name)
        named[name] = run
    return named


def _resolved(path: str) -> str:
    """The same for all spellings of a path, and for links to a file; a remote file has one spelling."""
    return path if is_remote(path) else os.path.normcase(os.path.realpath(path))
