"""The texts of queries and documents: ids that have none, and texts that contradict or repeat each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, product
from typing import TYPE_CHECKING, Self

from karat.errors import Place, enumeration, plural, shown
from karat.evaluation.check.batches import RunCheck
from karat.evaluation.check.ids import SimilarIds, similar_documents, similar_queries
from karat.evaluation.check.many_findings import Found
from karat.evaluation.check.places import PairPlaces
from karat.evaluation.check.plan import CheckPlan
from karat.evaluation.check.text_sources import TextSource, texts_of_plan
from karat.evaluation.facts import LEAST_POSITIVE, thresholds
from karat.matching.matchers import Same
from karat.reading.pairs.containers import Run, Truth
from karat.reading.pairs.objects import rereadable
from karat.reading.pairs.places import together
from karat.registry.names import format_value
from karat.scores.finding import Finding

if TYPE_CHECKING:
    from karat.evaluation.check.membership import KnownIds

_NAMED = 3  # ids in a message
_KEEP_ONE = "Judge all copies alike, or keep one of them."
_ONE_ID = "Give a question one id."


@dataclass(frozen=True, eq=False)
class KnownTexts:
    """The ids that the corpus and the file of queries have, and what is wrong with their texts."""

    plan: CheckPlan
    queries: TextSource | None = None
    corpus: TextSource | None = None
    known_queries: KnownIds | None = None
    known_documents: KnownIds | None = None

    @classmethod
    def read(cls, plan: CheckPlan) -> Self:
        """Read the texts that are given, and those in the folder of a data set whose ground truth is checked."""
        if plan.matcher.key.field == "content":  # a match by texts reads the corpus again
            plan = replace(plan, corpus=rereadable(plan.corpus, "the corpus"))
        given, corpus_given = texts_of_plan(plan, "queries"), texts_of_plan(plan, "corpus")
        queries = None if given is None else TextSource.read(given, "queries")
        corpus = None if corpus_given is None else TextSource.read(corpus_given, "corpus")
        if queries is None and corpus is None:
            return cls(plan)
        from karat.evaluation.check.membership import KnownIds, documents_for

        # Of a source that was not read to its end, it is not known which ids it has.
        known_queries = KnownIds(queries) if queries and queries.is_whole else None
        known_documents = documents_for(corpus, plan.matcher) if corpus and corpus.is_whole else None
        return cls(plan, queries, corpus, known_queries, known_documents)

    @property
    def findings(self) -> Iterator[Found]:
        """What is wrong with the texts, whatever the ground truth says."""
        return chain.from_iterable(source.findings() for source in (self.queries, self.corpus) if source is not None)

    def about_truth(self, truth: Truth | None) -> Iterator[Finding]:
        """What the ground truth has that the texts lack, and what it says of texts that are the same.

        The ground truth is None if it cannot be read.
        """
        if self.queries is not None:
            yield from _same_questions(self.queries, truth)
        if self.corpus is not None:
            levels = thresholds(list(self.plan.measures)) or [LEAST_POSITIVE]
            yield from _same_documents(self.corpus, truth, levels)
        if truth is None:
            return
        pairs = PairPlaces.of_truth(self.plan)
        yield from similar_queries(truth, pairs)
        if self.plan.matcher == Same():
            yield from similar_documents(truth, pairs)
        if self.known_queries is not None:
            from karat.evaluation.check.membership import queries_not_in_file

            first = (truth.golds(at) for at in range(len(truth.queries)))
            documents = {
                query: truth.docs[golds.start] if golds else ""
                for query, golds in zip(truth.queries, first, strict=True)
            }
            yield from queries_not_in_file(documents, self.known_queries, pairs)
        if self.known_documents is not None:
            from karat.evaluation.check.membership import judged_not_in_corpus

            yield from judged_not_in_corpus(truth, self.known_documents, pairs)

    def checks_of_run(self, run: Run, truth: Truth) -> list[RunCheck]:
        """What is found out about the documents and queries of a run while it is read."""
        pairs = PairPlaces.of_run(run)
        checks: list[RunCheck] = [SimilarIds(truth, pairs)] if truth.queries and self.plan.matcher == Same() else []
        if self.known_documents or self.known_queries:
            from karat.evaluation.check.membership import NotInTexts

            checks.append(NotInTexts(pairs, self.known_documents, self.known_queries))
        return checks


def _same_documents(corpus: TextSource, truth: Truth | None, levels: Sequence[float]) -> Iterator[Finding]:
    """Documents of the corpus that have the same text, and those whose judgments differ.

    `levels` are the lowest grades that count as relevant.
    """
    groups = _groups(corpus)
    grades = _grades(truth, groups, by_query=False)
    for docs, place in groups:
        message = f"documents {_listed(docs)} have the same text"
        if judged := _judged_differently(docs, grades, levels):
            message = f"{message}, but {judged}"
        yield Finding("same-text", message, len(docs), _KEEP_ONE, place=place)


def _same_questions(queries: TextSource, truth: Truth | None) -> Iterator[Finding]:
    """Queries that ask the same, and those whose judgments differ."""
    groups = _groups(queries)
    grades = _grades(truth, groups, by_query=True)
    for group, place in groups:
        message = f"queries {_listed(group)} ask the same"
        if contradiction := _contradiction([query for query in group if query in grades], grades):
            message = f"{message}, with different judgments: {contradiction}"
        yield Finding("repeated-questions", message, len(group), _ONE_ID, tuple(group), place=place)


_Group = tuple[list[str], Place]
"""ids that share a text, and the place of the first two"""


def _groups(source: TextSource) -> list[_Group]:
    index = source.index
    return [
        ([index.id_of(row) for row in rows], together([index.place_of(row) for row in rows[:2]]))
        for rows in index.same_texts()
    ]


def _grades(truth: Truth | None, groups: Sequence[_Group], *, by_query: bool) -> dict[str, dict[str, float]]:
    """The grades of the queries in the groups by document, or of the documents in them by query."""
    wanted = {id_ for ids, _ in groups for id_ in ids}
    found: dict[str, dict[str, float]] = {}
    if truth is None or not wanted:
        return found
    judgments = zip(truth.docs, truth.grades.tolist(), strict=True)
    for at, query in enumerate(truth.queries):
        for doc, grade in islice(judgments, len(truth.golds(at))):
            id_, other = (query, doc) if by_query else (doc, query)
            if id_ in wanted:
                found.setdefault(id_, {})[other] = grade
    return found


def _judged_differently(
    docs: Sequence[str], grades: Mapping[str, Mapping[str, float]], levels: Sequence[float]
) -> str | None:
    """A query for which one of the documents is relevant, and another one is not relevant or not judged."""
    for level, doc in product(levels, docs):
        for query in [query for query, grade in grades.get(doc, {}).items() if grade >= level]:
            for other in docs:
                grade = grades.get(other, {}).get(query)
                if grade is None or grade < level:
                    why = "not judged for it" if grade is None else "judged as not relevant"
                    return f"{shown(doc)} is relevant for query {query}, and {shown(other)} is {why}"
    return None


def _contradiction(queries: Sequence[str], grades: Mapping[str, Mapping[str, float]]) -> str | None:
    """A document that is judged differently for the first query and for another one."""
    for query in queries[1:]:
        first, other = grades[queries[0]], grades[query]
        for doc in (*first, *other):
            if first.get(doc) != other.get(doc):
                judged = [
                    f"{_judged(each.get(doc))} for {shown(name)}"
                    for name, each in ((queries[0], first), (query, other))
                ]
                return f"document {shown(doc)} {' and '.join(judged)}"
    return None


def _judged(grade: float | None) -> str:
    return "is not judged" if grade is None else f"has grade {format_value(grade)}"


def _listed(ids: Sequence[str]) -> str:
    """The ids of a group, the first of many."""
    few = len(ids) <= _NAMED
    names = [*map(shown, ids if few else ids[: _NAMED - 1])]
    return enumeration(names if few else [*names, plural(len(ids) - len(names), "other")], "and")
