"""What `karat evaluate --by` and `karat compare --by` print: scores and differences of each group of queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from karat.cli.files import split_column, split_texts
from karat.cli.inputs import check_texts
from karat.cli.output import Output, print_report
from karat.errors import KaratError, shown
from karat.output.tables import Table, note_line
from karat.scores import Scores

if TYPE_CHECKING:
    from karat.comparison import Comparison
    from karat.sources.files import DescribedFile
    from karat.sources.texts import FoundTexts

_BUILT_IN = ("length", "relevant")


@dataclass(frozen=True)
class Grouping:
    """How queries are grouped: by a built-in property, or by a value per query; with query texts for `length`."""

    name: str
    by: Any
    queries: Sequence[DescribedFile]
    notes: tuple[str, ...] = ()
    """on the columns that were read"""

    def texts(self, queries: Iterable[str]) -> FoundTexts | None:
        """The texts of queries; None if they are not given."""
        from karat.sources.texts import read_texts

        return read_texts(self.queries, set(queries), "queries") if self.queries else None

    def check(self, systems: Mapping[str, Scores]) -> None:
        """Raise an error if queries are to be grouped by length and their texts are not known."""
        if self.by == "length" and not self.queries:
            from karat.analysis.query_groups import query_values
            from karat.analysis.texts import questions_of

            questions = questions_of(systems.values())
            with naming_options(self):
                for scores in systems.values():
                    query_values(replace(scores, questions=questions), self.by)


def read_grouping(by: str | None, queries: Sequence[DescribedFile]) -> Grouping | None:
    """Read the file that `--by` names, and check those of `--queries`; None without `--by`."""
    if queries and by != "length":
        raise KaratError("--queries is only used to group by length", hint="Add --by length, or leave --queries out.")
    if by is None:
        return None
    values, notes = (by, ()) if by in _BUILT_IN else _read_column(by)
    check_texts(queries, "queries")
    return Grouping(split_column(by)[1], values, queries, notes)


def print_slices(runs: Mapping[str, Scores], grouping: Grouping, output: Output) -> None:
    """Print or write the scores of each group of queries."""
    from karat.analysis.texts import questions_of

    several = len(runs) > 1
    texts = grouping.texts(query for scores in runs.values() for query in scores.queries)
    questions = questions_of(runs.values())
    with naming_options(grouping):
        found = {
            name: replace(scores, questions=questions).slices(grouping.by, queries=texts)
            for name, scores in runs.items()
        }
    slices = {name: replace(each, by=grouping.name) for name, each in found.items()}
    tables = [_with_notes(each.table(output.decimals), grouping, texts) for each in slices.values()]
    if several:
        tables = [
            replace(table, notes=(f"{name}: {table.notes[0]}", *table.notes[1:]))
            for name, table in zip(slices, tables, strict=True)
        ]
    documents: dict[str, Any] = {name: each.to_dict() for name, each in slices.items()}
    rows = [
        {**({"run": name} if several else {}), "group": group["group"], "queries": group["queries"], "measure": measure,
         **values}
        for name, document in documents.items()
        for group in document["groups"]
        for measure, values in group["scores"].items()
    ]  # fmt: skip
    document = {"runs": documents} if several else next(iter(documents.values()))
    print_report(output, tables, document=lambda: document, rows=lambda: rows)


def print_comparison(comparison: Comparison, grouping: Grouping, output: Output) -> None:
    """Print or write a comparison within each group of queries."""
    texts = grouping.texts(comparison.queries)
    with naming_options(grouping):
        slices = replace(comparison.slices(grouping.by, queries=texts), by=grouping.name)
    table = _with_notes(slices.table(output.decimals), grouping, texts)
    print_report(output, [table], document=slices.to_dict, rows=slices.records)


def _with_notes(table: Table, grouping: Grouping, texts: FoundTexts | None) -> Table:
    """A table with the notes on reading the groups."""
    notes = (*grouping.notes, *(texts.notes if texts is not None else ()))
    return replace(table, notes=(*table.notes, *(note_line(f"{note}.") for note in notes)))


@contextmanager
def naming_options(grouping: Grouping) -> Iterator[None]:
    """Let errors on missing data name options of the command line."""
    try:
        yield
    except KaratError as error:
        if grouping.by == "length" and not grouping.queries:
            hint = "Add the query texts, such as --queries queries.jsonl."
        elif grouping.by == "relevant":
            hint = "Name the ground truth and the runs, or group by a column of a file, such as queries.csv:language."
        else:
            # The parameter of Python has the name of the option.
            what = f"--{error.what}" if error.what.startswith("by ") else error.what
            raise KaratError(what, place=error.place, hint=error.hint) from None
        raise KaratError(error.what, hint=hint) from None


def _read_column(text: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """A value for each query, as numbers if all of them are, and notes on what was read."""
    from karat.sources.text_files import read_values

    file, column = split_texts(text)
    if not column:
        hint = f"Use {', '.join(_BUILT_IN)}, or a file and one of its columns, such as queries.csv:language."
        raise KaratError(f"--by {shown(text)} is not of the form FILE:COLUMN", hint=hint)
    read = read_values(file, column)
    values: dict[str, Any] = {}
    for place, query, value in read.rows:
        if values.setdefault(query, value) != value:
            what = f"query {query} has the value {shown(value)} here, but {shown(values[query])} earlier"
            raise KaratError(what, place=place, hint="Give each query one value.")
    known = [value for value in values.values() if value is not None]
    with suppress(ValueError):
        if all(isinstance(value, str) for value in known):
            values = {query: None if value is None else float(value) for query, value in values.items()}
    return values, read.notes
