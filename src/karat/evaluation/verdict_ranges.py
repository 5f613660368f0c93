"""Verdicts in ranges of files, which are read in several places; records are in the order of their lines.

No engine is known here. Whoever has a way to call a function for many inputs gets the scores in three steps:

1. Each range is surveyed: the queries of its records, its number of lines, and the records about no query.
2. The records of each range are evaluated, without queries that have records in several ranges.
3. The records of these come back, and are one more part, which is evaluated here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate, chain
from typing import Any, Protocol, TypeVar

from karat.evaluation.verdict_parts import PortableMeasure, SharedRecords, evaluate_parts
from karat.grounding.verdict_file.file_lines import (
    ABOUT_QUERIES,
    LARGE,
    FilePart,
    FileRecords,
    RangeRecords,
    query_of,
)
from karat.grounding.verdict_file.range_survey import RangeSurvey, survey_range
from karat.grounding.verdict_file.reading import is_json_lines
from karat.options import Unknown
from karat.reading.bytes.file_ranges import FileRange
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.opened_ranges import opened_range
from karat.reading.pairs.range_plan import filled_files, ranges_of_lines
from karat.reading.pairs.range_runs import NotGroupedError, most_apart
from karat.registry import Measure
from karat.registry.selection import Measures
from karat.scores import Scores

Result = TypeVar("Result")

KINDS_WITH_QUERY = ABOUT_QUERIES
"""the kinds of records that are about a query; others may name one, too"""


def query_of_row(record: Mapping[str, Any]) -> str | None:
    """The query that a row of a table is about, if it is about one."""
    return query_of({name: value for name, value in record.items() if value is not None})


def plan_verdicts(path: str, ranges: int) -> list[FileRange] | None:
    """Divide verdict files into at least so many ranges, if possible; None if they are not in JSON lines."""
    files = filled_files(path)
    return ranges_of_lines(files, ranges) if all(is_json_lines(InputFile(each)) for each in files) else None


class InTasks(Protocol):
    """Calls a function with each input, wherever that is, and returns what it returns for each."""

    def __call__(self, work: Callable[[Any], Result], inputs: Sequence[Any], /) -> list[Result]: ...


def evaluate_ranges(
    path: str,
    ranges: Sequence[FileRange],
    in_tasks: InTasks,
    measures: Measures | None,
    *,
    system: str | None,
    author: str | None,
    unknown: Unknown,
    name: str,
    portable: Callable[[Measure], PortableMeasure],
) -> Scores:
    """The scores of verdict files in ranges; a `NotGroupedError` if large files are not grouped by query."""
    surveys = in_tasks(_surveyed, ranges)
    records = list(map(RangeRecords, ranges, _first_lines(ranges, surveys)))
    parts = VerdictParts(_parts(records, surveys), in_tasks)
    shared = _shared(records, surveys, InputFile(path).name)
    scores, _ = evaluate_parts(
        parts.run, shared, measures, system=system, author=author, unknown=unknown, name=name, portable=portable
    )
    if len(set(scores.queries)) < len(scores.queries):  # a record has two queries, one of them with escapes
        raise NotGroupedError
    return scores


def _first_lines(ranges: Sequence[FileRange], surveys: Sequence[RangeSurvey]) -> list[int]:
    """The number in its file of the first line of each range."""
    before = [0, *accumulate(survey.lines for survey in surveys)]
    start_of: dict[str, int] = {}
    return [1 + lines - start_of.setdefault(at.path, lines) for at, lines in zip(ranges, before, strict=False)]


def _parts(records: Sequence[RangeRecords], surveys: Sequence[RangeSurvey]) -> list[FilePart]:
    """The records of each range, with those queries apart that have records in several."""
    times = Counter(chain.from_iterable(survey.queries for survey in surveys))
    several = frozenset(query for query, count in times.items() if count > 1)
    if len(several) <= max(most_apart(len(times)), len(records)):  # a range may end within a query
        return [FilePart((replace(each, apart=several),)) for each in records]
    if sum(version.size for _, version in {each.at[:2] for each in records}) > LARGE:
        raise NotGroupedError
    return [FilePart(tuple(records))]


def _shared(records: Sequence[RangeRecords], surveys: Sequence[RangeSurvey], name: str) -> SharedRecords:
    """The records of all ranges that are about no query."""
    described = [
        survey.described._replace(numbers=[number + each.first_line - 1 for number in survey.described.numbers])
        for each, survey in zip(records, surveys, strict=True)
    ]
    shared = SharedRecords(name, has_order=True).reading(FilePart(tuple(described)))
    calls = [*chain.from_iterable(survey.calls for survey in surveys)]
    return replace(shared, calls=calls, is_empty=shared.is_empty and not calls)


@dataclass(frozen=True)
class VerdictParts:
    """The parts of verdicts: those that are read in tasks, and one with all records that these leave out."""

    in_ranges: Sequence[FilePart]
    in_tasks: InTasks
    loose: dict[int, FilePart] = field(default_factory=dict)
    """the records that were left out, by part"""

    def run(self, work: Callable[[Any], Result], wanted: Sequence[int] | None = None) -> Iterator[Result]:
        """What a function returns for each part, or for those that are wanted."""
        last = len(self.in_ranges)
        numbers = range(last + 1) if wanted is None else wanted
        numbers_in_ranges = [number for number in numbers if number < last]
        parts = [self.in_ranges[number] for number in numbers_in_ranges]
        results = self.in_tasks(partial(_evaluated, work), parts) if parts else []
        for number, (result, loose) in zip(numbers_in_ranges, results, strict=True):
            self.loose[number] = loose
            yield result
        if last in numbers:
            files = chain.from_iterable(self.loose[number].files for number in range(last))
            yield work(FilePart(tuple(files)))


def _evaluated(work: Callable[[Any], Result], part: FilePart) -> tuple[Result, FilePart]:
    """The result of a part, and the records that it leaves out."""
    ranges = [each for each in part.files if isinstance(each, RangeRecords)]
    try:
        result = work(part)
    finally:
        for each in ranges:
            each.at.check_version(each.name)
    loose = [FileRecords(each.name, [*each.loose], [*each.loose.values()]) for each in ranges]
    return result, FilePart(tuple(loose))


def _surveyed(at: FileRange) -> RangeSurvey:
    with opened_range(at) as file:
        return survey_range(file)
