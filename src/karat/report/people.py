"""The labels of people in a report: the means and differences that they correct, and how far models agree with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from karat.comparison.corrected import CorrectedDifferences
from karat.comparison.sentences import interval_of_difference, p_text
from karat.errors import KaratError, enumeration, plural
from karat.evaluation.label_agreement import label_agreement
from karat.grounding.labels.counting import is_person
from karat.grounding.verdict_file.reading import VerdictRecords
from karat.output.tables import DIGITS, Table
from karat.report.subject import ReportSubject
from karat.scores import Scores
from karat.scores.corrected import CorrectedScores, judges_of
from karat.scores.corrections import CorrectedValue
from karat.scores.value_texts import interval_text

_MOST_ROWS = 200
_AGREEMENT = "Agreement of models with people"


def people_part(subject: ReportSubject) -> list[dict[str, Any]]:
    """What labels of people say, each with a heading, sentences, and the tables that the commands print."""
    return [*_corrected(subject), *_agreement(subject)]


def _corrected(subject: ReportSubject) -> Iterator[dict[str, Any]]:
    if not any(scores.corrections for scores in subject.systems.values()):
        return
    yield _shown("Corrected means", [CorrectedScores(subject.systems, subject.level).table(with_notes=False)])
    if subject.comparison is not None:
        differences = CorrectedDifferences(subject.comparison)
        if differences.rows:
            yield _shown("Corrected differences", [differences.table(with_notes=False)])


def _agreement(subject: ReportSubject) -> list[dict[str, Any]]:
    """The agreement on the labels of the verdict files: once, if several systems were read from the same ones."""
    parts: list[dict[str, Any]] = []
    for records in _records_of_both(subject):
        try:
            part = _shown(_AGREEMENT, label_agreement(records).tables())
        except KaratError as error:
            part = _shown(_AGREEMENT, [], [f"{error.what}."])
        if part not in parts:
            parts.append(part)
    return parts


def _records_of_both(subject: ReportSubject) -> list[VerdictRecords]:
    """The verdict files with labels by people and by models."""
    return [each for each in subject.verdict_files if {True, False} == {is_person(name) for name in _authors(each)}]


def _authors(records: VerdictRecords) -> list[str]:
    return [name for name, number in records.labels.by.counts().items() if number]


def corrected_result(subject: ReportSubject) -> str | None:
    """The result of one system or two on the primary measure, as people correct it; None if they do not."""
    systems = _corrected_systems(subject, [subject.primary])
    found = _corrected_result(subject) if systems else None
    if found is None:
        return None
    result, value = found
    people, _ = judges_of(systems)
    return f"{result}, corrected by the labels of {people} for {value.labelled:,} of {plural(value.total, 'query')}."


def result_by_model(subject: ReportSubject, result: str | None) -> str:
    """The result on the primary measure by the labels of the model alone; without it, a remark that it is shown."""
    systems = _corrected_systems(subject, [subject.primary])
    if not systems:
        return ""
    people, model = judges_of(systems)
    if result is None:
        return f"This is by the labels of {model} alone. Values that {people} corrected are in a table below."
    return f"By the labels of {model} alone: {result}"


def values_by_model(subject: ReportSubject) -> str | None:
    """A sentence on the values in the table of results that people correct, if there are any."""
    systems = _corrected_systems(subject, subject.measures)
    if not systems:
        return None
    _, model = judges_of(systems)
    measures = [name for name in subject.measures if any(name in scores.corrections for scores in systems.values())]
    these = (
        "These values" if len(measures) == len(subject.measures) else f"The values of {enumeration(measures, 'and')}"
    )
    return f"{these} come from the labels of {model} alone; corrected ones are below, under Labels of people"


def _corrected_systems(subject: ReportSubject, measures: Sequence[str]) -> dict[str, Scores]:
    """The systems that people correct on any of these measures, with these measures alone."""
    systems = {}
    for name, scores in subject.systems.items():
        if corrected := [measure for measure in measures if measure in scores.corrections]:
            systems[name] = scores.only(corrected)
    return systems


def _corrected_result(subject: ReportSubject) -> tuple[str, CorrectedValue] | None:
    """The corrected mean of one system, or the corrected difference of two, in words."""
    measure, systems, comparison = subject.primary, subject.systems, subject.comparison
    if len(systems) == 1:
        [(name, scores)] = systems.items()
        value = CorrectedValue.of(measure, scores.values[measure], scores.corrections[measure])
        text = interval_text(value.mean, value.interval(subject.level), measure, DIGITS)
        return None if value.mean is None else (f"{name} has a {measure} of {text}", value)
    rows = CorrectedDifferences(comparison).rows if len(systems) == 2 and comparison is not None else ()
    row = next((row for row in rows if row.measure == measure), None)
    if comparison is None or row is None or row.value.mean is None or row.p_corrected is None:
        return None
    is_significant = row.p_corrected < comparison.method.alpha
    if is_significant and (row.value.mean > 0) != ((row.value.p_above() or 0.0) < 0.5):
        return None  # with few labels, p is that of people alone, who may say the opposite of the corrected mean
    size = interval_of_difference(row.value.mean, row.interval, signed=not is_significant)
    details = f"{size} ({p_text(row.p_corrected, comparison.method.alpha, named=True)})"
    better, worse = row.system, row.baseline
    if not is_significant:
        return f"No significant difference between {better} and {worse} on {measure}: {details}", row.value
    if (row.value.mean > 0) != subject.higher_is_better(measure):
        better, worse = worse, better
    return f"{better} is significantly better than {worse} on {measure}, by {details}", row.value


def _shown(heading: str, tables: Sequence[Table], sentences: Sequence[str] = ()) -> dict[str, Any]:
    """Tables as the page reads them; of long ones, the first rows."""
    return {"heading": heading, "sentences": list(sentences), "tables": [_table(table) for table in tables]}


def _table(table: Table) -> dict[str, Any]:
    rows = [[[cell.text, cell.mark.symbol if cell.mark else ""] for cell in row] for row in table.rows[:_MOST_ROWS]]
    notes = [note.removeprefix("note: ") for note in (*table.legend, *table.notes, *table.sentences)]
    more = len(table.rows) - len(rows)
    left_out = [f"{plural(more, 'more row')} left out of the report."] if more > 0 else []
    return {"header": list(table.header), "labels": table.labels, "rows": rows, "notes": [*notes, *left_out]}
