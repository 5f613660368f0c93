"""Documents with the same text, and queries that ask the same; what that means depends on how they are judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product

from karat.errors import Place, enumeration, plural, shown
from karat.evaluation.check.text_sources import TextSource
from karat.reading.pairs.containers import Truth
from karat.reading.pairs.places import together
from karat.registry.names import format_value
from karat.scores.finding import Finding

_NAMED = 3  # ids in a message
_KEEP_ONE = "Judge all copies alike, or keep one of them."
_ONE_ID = "Give a question one id."


def same_documents(corpus: TextSource, truth: Truth | None, levels: Sequence[float]) -> Iterator[Finding]:
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


def same_questions(queries: TextSource, truth: Truth | None) -> Iterator[Finding]:
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
