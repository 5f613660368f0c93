"""What the names and first values of records say about what a file contains."""

from __future__ import annotations

from collections.abc import Mapping

from karat.data.caching import cached_property
from karat.reading.columns.numbers import number_of
from karat.reading.columns.spellings import find_column, is_spelling
from karat.reading.contents.samples import Sample
from karat.reading.records.result_fields import names_by_field

_VERDICT_RECORDS = ("file", "item", "verdict", "task", "call")
_LABEL = {"query", "task", "item", "label"}
_MEANS = {"run", "system", "measure"}


class SampleFacts:
    """What the names and first values of records say. `fields` are given names of fields of results."""

    def __init__(self, start: Sample, fields: Mapping[str, str]) -> None:
        self.sample, self.fields = start, fields
        self.names = {name.strip().casefold().replace("-", "_") for name in start.names if isinstance(name, str)}
        self.query = find_column(start.names, "query")
        self.is_table = start.format in ("csv", "tsv")

    @cached_property
    def by_field(self) -> dict[str, set[str]]:
        return names_by_field([name for name in self.sample.names if isinstance(name, str)], self.fields)

    @cached_property
    def has_pairs(self) -> bool:
        """Whether there are a query, a document and a number."""
        doc = find_column(self.sample.names, "doc", (self.query,))
        return bool(self.query and doc and (self.has_grades or self.has_scores))

    @cached_property
    def has_grades(self) -> bool:
        return any(is_spelling(name, "grade") and not is_spelling(name, "score") for name in self.names)

    @cached_property
    def has_scores(self) -> bool:
        return any(is_spelling(name, role) for name in self.names for role in ("score", "rank"))

    @cached_property
    def is_beir(self) -> bool:
        """Whether these are BEIR's names: it writes grades into a column named score."""
        return {"query_id", "corpus_id", "score"} <= self.names

    @cached_property
    def has_texts(self) -> bool:
        return any(is_spelling(name, "text") for name in self.names - {"query", "question", "passage"})

    @cached_property
    def has_answers(self) -> bool:
        return bool(self.by_field["gold_answers"] or self.by_field["answer"])

    @cached_property
    def has_outputs(self) -> bool:
        """Whether there are answers, or texts of documents, and not numbers in a column that is named so."""
        names = (self.by_field["answer"] | self.by_field["retrieved"]) - {self.record_query}
        return any(number_of(record.get(name)) is None for record in self.sample.records for name in names)

    @cached_property
    def record_query(self) -> str | None:
        """The column of queries, if each record is about a query; beside a text, `_id` is the id of a document."""
        query = find_column(self.sample.names, "record_query")
        return None if query == "_id" and self.has_texts else query

    @cached_property
    def has_documents(self) -> bool:
        """Whether there is a column of documents besides that of queries."""
        return any(is_spelling(name, "doc") for name in self.sample.names if name != self.record_query)

    @cached_property
    def has_verdicts(self) -> bool:
        return self.names >= _LABEL or any(each.get("record") in _VERDICT_RECORDS for each in self.sample.records)

    @cached_property
    def has_values(self) -> bool:
        """Whether records have a column of queries and one of numbers, but none of documents or lists."""
        others = [name for name in self.sample.names if name != self.record_query]
        # A table of means has no queries; loading it as scores gives the better error.
        if (self.record_query is None and not _MEANS & {*others}) or self.has_documents:
            return False
        values = [record.get(name) for record in self.sample.records for name in others]
        if any(isinstance(value, list | dict) for value in values):
            return False
        # Texts in CSV may be numbers, and a table without rows may be anything.
        return self.is_table or any(isinstance(value, int | float) for value in values)
