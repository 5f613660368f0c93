"""Large verdict files: they are divided by query, and evaluated in parts, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from karat.analysis.label_evidence import LabelEvidence
from karat.errors import KaratError
from karat.evaluation.verdict_parts import LabelChoice, PortableMeasure, SharedRecords, evaluate_parts
from karat.grounding.labels.selection import SelectedLabels, select_labels
from karat.grounding.verdict_file.file_lines import FilePart, lines_of_query
from karat.grounding.verdict_file.file_parts import DividedFiles
from karat.grounding.verdict_file.reading import name_of, read_part_of_verdicts, read_sources
from karat.grounding.verdict_file.records import Call
from karat.grounding.verdict_file.tasks import Task
from karat.options import Unknown
from karat.reading.bytes.input_file import InputFile
from karat.reading.records.records import Rereadable
from karat.registry import Measure
from karat.registry.selection import Measures
from karat.scores import Scores

Result = TypeVar("Result")


def scores_of_files(
    files: Sequence[InputFile],
    measures: Measures | None,
    *,
    system: str | None,
    author: str | None,
    unknown: Unknown,
    name: str,
) -> Scores:
    """The scores of JSON lines files with different names, as `evaluate_verdicts` computes them.

    An error need not be the one that reading the files as a whole gives.
    """
    with DividedFiles(files) as divided:
        shared = SharedRecords(name_of(files), has_order=True, in_file_order=True)
        for part in divided.shared():
            shared = shared.reading(part)
        shared = replace(shared, calls=Rereadable(partial(_calls, divided, shared)))
        scores, choice = evaluate_parts(
            partial(_run, divided, divided.parts), shared, measures, system=system, author=author, unknown=unknown,
            name=name, portable=_portable,
        )  # fmt: skip
    if len(set(scores.queries)) < len(scores.queries):
        raise KaratError("a record has two queries", place=shared.name)
    of_all, of_query = partial(_selected, files, choice), partial(_selected_of_query, files, choice, shared.tasks)
    return replace(scores, verdicts=LabelEvidence(scores.queries, of_all, of_query))


def _run(
    divided: DividedFiles,
    parts: Sequence[Sequence[int]],
    work: Callable[[Any], Result],
    wanted: Sequence[int] | None = None,
) -> Iterator[Result]:
    """The results of parts, which are in memory one by one."""
    return (work(divided.part(parts[at])) for at in (range(len(parts)) if wanted is None else wanted))


def _calls(divided: DividedFiles, shared: SharedRecords) -> Iterator[Call]:
    for part in divided.shared():
        yield from shared.read(part).calls


def _portable(measure: Measure) -> PortableMeasure:
    return lambda: measure


def _selected(files: Sequence[InputFile], choice: LabelChoice) -> SelectedLabels:
    """All labels, in memory."""
    return select_labels(read_sources(files), *choice)


def _selected_of_query(
    files: Sequence[InputFile], choice: LabelChoice, tasks: Sequence[Task], query: str
) -> SelectedLabels:
    lines = FilePart(tuple(lines_of_query(file, query) for file in files))
    return select_labels(read_part_of_verdicts(lines, name_of(files), tasks), *choice)
