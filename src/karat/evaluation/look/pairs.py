"""What is in ground truth and a run, or in one of the two: their columns and documents, and whether the ids meet."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Literal, NamedTuple

import numpy as np

from karat.errors import KaratError, shown
from karat.evaluation.documents import EvaluationPlan, score_documents
from karat.evaluation.look.commands import LookOptions
from karat.evaluation.look.screen import FieldRead, FieldSeen, Look, MeasureGroup, best_match, notes_of
from karat.evaluation.reading import CorpusMatcher, kind_of_documents, no_run_error
from karat.matching.document_samples import sample_of_run
from karat.matching.matchers import Same
from karat.matching.trials import Trials, try_matches
from karat.options import complete_options
from karat.reading.bytes.input_file import InputFile, is_file
from karat.reading.bytes.names import IN_PROSE
from karat.reading.columns import plain_names
from karat.reading.columns.spellings import find_column
from karat.reading.contents.samples import Sample, sample
from karat.reading.pairs.any_source import read_run, read_truth
from karat.reading.pairs.columns import columns_to_read
from karat.reading.pairs.containers import RankedLists, Run, ScoredMappings, Truth
from karat.reading.pairs.data_sets import is_data_set, named_data_set, qrels_of_split
from karat.registry.names import format_value
from karat.registry.selection import DEFAULT_MEASURES, select_measures
from karat.scores import Scores

_NO_TRUTH = Truth((), np.zeros(1, np.int64), [], np.zeros(0))
_DEFAULTS = complete_options({})


class _Source(NamedTuple):
    """Ground truth or a run: where it is, and how it is read."""

    source: Any
    number: Literal["grade", "score"]
    reading: LookOptions

    @property
    def name(self) -> str:
        """What it is called in messages."""
        if is_file(self.source):
            return InputFile.of(self.source).name
        return "the ground truth" if self.number == "grade" else "the run"

    def content(self) -> tuple[Truth | Run, dict[str, int]]:
        """What it contains, and how many queries and documents there are."""
        inputs = self.reading.inputs
        if self.number == "grade":
            truth = read_truth(self.source, columns=inputs.truth_columns, format=inputs.truth_format)
            return truth, {"query": len(truth.queries), "judged document": len(truth.grades)}
        run = read_run(self.source, _NO_TRUTH, columns=inputs.run_columns, format=inputs.run_format)
        return run, {"query": len({query for load in run.batches() for query in load().queries})}

    def fields(self, content: Truth | Run) -> list[FieldRead]:
        """The query, the document and the number of the first row, and the columns that they are in."""
        what = "truth" if self.number == "grade" else "run"
        start = self._start()
        places = [IN_PROSE[start.format] if start else "Python"] * 3
        if start is not None and start.names:
            lists = find_column(start.names, "truth_list" if self.number == "grade" else "run_list")
            places = [find_column(start.names, "list_query") or places[0], *([lists or places[0]] * 2)]
            with suppress(KaratError):  # a table without names, or records with lists of documents
                places = self._columns(start)
        values = _first_of_truth(content) if isinstance(content, Truth) else _first_of_run(content)
        roles = ("query", "doc", self.number)
        return [
            FieldRead(f"{role} of {what}", place, format_value(value) if isinstance(value, float) else shown(value))
            for role, place, value in zip(roles, places, values, strict=False)
        ]

    def seen(self) -> list[FieldSeen]:
        """The columns that exist, if they have names."""
        start = self._start()
        record = start.records[0] if start and start.records else {}
        return [FieldSeen(str(name), "column", shown(record.get(name))) for name in (start.names if start else ())]

    def _start(self) -> Sample | None:
        """How its file begins."""
        is_plain = is_file(self.source) and not named_data_set(self.source)
        form = self.reading.inputs.truth_format if self.number == "grade" else self.reading.inputs.run_format
        return sample(InputFile.of(self.source), form) if is_plain else None

    def _columns(self, start: Sample) -> list[str]:
        inputs = self.reading.inputs
        given = plain_names(inputs.truth_columns if self.number == "grade" else inputs.run_columns)
        present = {role: name for role, name in given.items() if name in start.names}
        return columns_to_read(start.names, self.number, present, self.name).names


def look_at_pair(truth: Any, run: Any, reading: LookOptions) -> Look:
    """What is in ground truth and a run; a line that cannot be read is an error."""
    inputs, named = reading.inputs, [truth, run]
    truth = _qrels(truth, reading)
    sources = _Source(truth, "grade", reading), _Source(run, "score", reading)
    name = " and ".join(source.name for source in sources)
    plan = EvaluationPlan(
        select_measures(DEFAULT_MEASURES[0]), _DEFAULTS, CorpusMatcher(Same()), inputs._replace(split=None)
    )
    try:
        scores = score_documents(truth, run, plan)
    except KaratError as error:
        return _cannot_be_evaluated(error, name, "ground truth and a run", sources)
    matches = _matches(scores)
    match = best_match(matches)
    call = f"karat.evaluate(truth, run{''.join(f', {option}={value!r}' for option, value in match.items())})"
    are_files = all(map(is_file, named))
    assert scores.evidence is not None  # noqa: S101  # it is there after every evaluation of documents
    judged = scores.evidence.judged
    return Look(
        name,
        "ground truth and a run",
        {
            "query": len(judged.queries),
            "judged document": len(judged.gold_grade),
            "retrieved document": int(judged.retrieved.sum()),
        },
        read=(*sources[0].fields(scores.evidence.truth), *sources[1].fields(scores.evidence.run)),
        matches=matches,
        measures=(MeasureGroup(DEFAULT_MEASURES),),
        notes=notes_of(scores.findings),
        commands={"to evaluate it": reading.command("evaluate", _paths(named), **match) if are_files else call},
    )


def look_at_documents(source: Any, reading: LookOptions) -> Look:
    """What is in ground truth without a run, or in a run without ground truth."""
    qrels = _qrels(source, reading)
    file, form = InputFile.of(qrels), reading.inputs.truth_format
    kind = kind_of_documents(file, form)
    is_run = kind == "run"
    what = "a run" if is_run else "ground truth" if kind == "truth" or qrels is not source else "ground truth, or a run"
    side = _Source(qrels, "score" if is_run else "grade", reading)
    try:
        content, counts = side.content()
    except KaratError as error:
        return _cannot_be_evaluated(error, file.name, what, [side])
    [path] = _paths([source])
    return Look(
        file.name,
        what,
        counts,
        read=tuple(side.fields(content)),
        measures=(MeasureGroup(DEFAULT_MEASURES, "ground truth" if is_run else "a run"),),
        commands={"to evaluate it": reading.command("evaluate", ["TRUTH", path] if is_run else [path, "RUN"])},
        error=no_run_error(file, form),
    )


def _cannot_be_evaluated(error: KaratError, name: str, what: str, sources: Iterable[_Source]) -> Look:
    """What can be read, the columns of what cannot, and the error; a line that cannot be read is an error here too."""
    if error.place is not None and (error.place.line is not None or error.place.row is not None):
        raise error
    read: list[FieldRead] = []
    seen: list[FieldSeen] = []
    for source in sources:
        try:
            content, _ = source.content()
            read += source.fields(content)
        except KaratError:
            seen += source.seen()
    if not read and not seen:
        raise error
    return Look(name, what, {}, read=tuple(read), paths=tuple(seen), error=error)


def _qrels(source: Any, reading: LookOptions) -> Any:
    """The file with the ground truth of a BEIR folder; anything else as it is."""
    path = source.path if isinstance(source, InputFile) else source
    is_path = isinstance(path, str) and (reading.inputs.split is not None or is_data_set(path))
    return qrels_of_split(path, reading.inputs.split) if is_path else source


def _paths(sources: Iterable[Any]) -> list[str]:
    return [source.path if isinstance(source, InputFile) else str(source) for source in sources]


def _matches(scores: Scores) -> Trials | None:
    evidence = scores.evidence
    if evidence is None:
        return None
    judged = evidence.judged
    sampled = sample_of_run(evidence.truth, evidence.run, judged.in_run & (judged.retrieved > 0))
    return try_matches(sampled) if sampled else None


def _first_of_truth(truth: Truth) -> tuple[Any, ...]:
    """A query, the first document that is judged for it, and the grade."""
    at = int(np.searchsorted(truth.offsets, 0, side="right")) - 1 if len(truth.grades) else 0
    if not len(truth.grades):
        return (truth.queries[0],)
    [document] = truth.original_documents(range(1))
    return truth.queries[at], document, float(truth.grades[0])


def _first_of_run(run: Run) -> tuple[Any, ...]:
    """A query, the first document that was retrieved for it, and the score, if it has one."""
    for load in run.batches():
        batch = load()
        for at, query in enumerate(batch.queries):
            if isinstance(batch, RankedLists):
                documents, scores = batch.documents[at][:1], []
            elif isinstance(batch, ScoredMappings):
                documents, scores = [*batch.docs[at]][:1], [*batch.docs[at].values()][:1]
            else:
                documents, scores = batch.of_query(at)[:1], batch.scores[batch.offsets[at] :][:1].tolist()
            if documents:
                return (query, *documents, *scores)
    return ()
