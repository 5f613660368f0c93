"""The documents of a report, each once: the first ones of each system for each query, and the judged ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from karat.analysis.evidence import Evidence, relevance_threshold
from karat.analysis.rankings import Ranking, read_rankings
from karat.analysis.texts import id_and_text
from karat.documents.fields import DocumentLike, document_field
from karat.matching.containment import Locator, locator
from karat.matching.matcher import Matcher
from karat.matching.matchers import FunctionMatcher
from karat.reading.texts.entries import Text
from karat.report.subject import ReportSubject, number

RANKS = 20
"""the documents of a list that are shown"""
_MOST_LISTS = 25_000
# Relevant documents: of a query, and of all queries.
_MOST_GOLDS, _ALL_GOLDS, _LEAST_GOLDS = 200, 400_000, 10


@dataclass
class Documents:
    """Documents by index. Two documents are the same if they have the same id and the same text."""

    ids: list[str | None] = field(default_factory=list)
    texts: list[str | None] = field(default_factory=list)
    titles: list[str | None] = field(default_factory=list)
    _places: dict[tuple[str | None, str | None], int] = field(default_factory=dict)
    _places_of_texts: dict[bool, dict[str, int]] = field(default_factory=lambda: {False: {}, True: {}})
    """the indices of documents that are only a text, which are most: by whether it is their content"""

    def add(self, document: DocumentLike, by_content: bool) -> int:
        """The index of a document; a text alone is its content if documents are matched by content, else its id."""
        if type(document) is not str:
            return self._place(document, id_and_text(document))
        known = self._places_of_texts[by_content]
        place = known.get(document)
        if place is None:
            place = known[document] = self._place(document, (None, document) if by_content else (document, None))
        return place

    def _place(self, document: DocumentLike, identity: tuple[str | None, str | None]) -> int:
        place = self._places.setdefault(identity, len(self.ids))
        if place == len(self.ids):
            self.ids.append(identity[0])
            self.texts.append(identity[1])
            self.titles.append(_title(document))
        return place

    def without_text(self) -> list[str]:
        """The ids of the documents whose text is not known."""
        return [name for name, text in zip(self.ids, self.texts, strict=True) if text is None and name is not None]

    def add_texts(self, texts: Mapping[str, Text]) -> None:
        """Add texts, and titles, that were found by id."""
        for place, (name, known) in enumerate(zip(self.ids, self.texts, strict=True)):
            if known is None and name is not None and (text := texts.get(name)):
                self.texts[place] = text.text
                self.titles[place] = text.title or None

    def drop_texts(self, kept: Collection[int]) -> int:
        """Drop the texts and titles of all documents but some; return the number of texts that were dropped."""
        dropped = 0
        for place, text in enumerate(self.texts):
            if place not in kept:
                dropped += text is not None
                self.texts[place] = self.titles[place] = None
        return dropped

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.ids,
            "title": self.titles if any(self.titles) else None,
            "text": self.texts if any(text is not None for text in self.texts) else None,
        }


@dataclass
class QueryGolds:
    """The judged documents of a query that the report shows, by the key they are matched by."""

    documents: list[int] = field(default_factory=list)
    grades: list[float] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    relevant: int = 0
    """the number of documents that are relevant, which come first"""
    left_out: int = 0

    def add(self, key: str, document: int, grade: float, is_relevant: bool) -> None:
        self.places[key] = len(self.documents)
        self.documents.append(document)
        self.grades.append(grade)
        self.relevant += is_relevant

    def to_dict(self) -> dict[str, Any]:
        grades = [number(grade) for grade in self.grades]
        return {"docs": self.documents, "grades": grades, "relevant": self.relevant}


@dataclass
class Lists:
    """The lists of a report, by system and query; and the judged documents, by query."""

    lists: list[list[dict[str, Any] | None]]
    golds: list[QueryGolds | None]
    listed: Sequence[int]
    """the queries that have lists: those with the largest changes first"""
    most_golds: int
    """the relevant documents of a query that are shown"""

    def golds_dict(self) -> list[dict[str, Any] | None]:
        return [None if golds is None else golds.to_dict() for golds in self.golds]

    def clip_spans(self, documents: Collection[int], length: int) -> None:
        """Leave out the parts of the spans in some gold documents that are beyond a number of characters."""
        for row in self.lists:
            for shown, golds in zip(row, self.golds, strict=True):
                for hit in () if shown is None else shown["hits"]:
                    if hit[3] is not None and golds is not None and golds.documents[hit[1]] in documents:
                        hit[3] = next(iter(clip([hit[3]], length)), None)


def clip(spans: Sequence[Sequence[int]], length: int) -> list[list[int]]:
    """The parts of spans within the first characters."""
    return [[start, min(stop, length)] for start, stop in spans if start < length]


def read_lists(subject: ReportSubject, documents: Documents) -> Lists | None:
    """The ranked lists of all systems whose run is known; None if there are none."""
    evidence = {name: scores.evidence for name, scores in subject.systems.items() if scores.evidence is not None}
    if not evidence:
        return None
    most = max(1, _MOST_LISTS // len(evidence))
    listed = subject.by_change[:most].tolist()
    most_golds = min(_MOST_GOLDS, max(_LEAST_GOLDS, _ALL_GOLDS // max(1, len(listed))))
    lists = Lists([], [None] * len(subject.queries), listed, most_golds)
    rankings: dict[str, dict[str, Ranking]] = {}
    least = {name: relevance_threshold(subject.systems[name]) for name in evidence}
    for name, system_evidence in evidence.items():
        queries = [query for place in listed if (query := subject.queries[place]) in system_evidence.truth.positions]
        rankings[name] = read_rankings(system_evidence, queries, RANKS)
    for place in listed:
        query = subject.queries[place]
        by_system = {name: by_query[query] for name, by_query in rankings.items() if query in by_query}
        lists.golds[place] = _golds(query, evidence, by_system, least, documents, most_golds)
    for name in subject.names:
        row: list[dict[str, Any] | None] = [None] * len(subject.queries)
        locate = locator(evidence[name].match) if name in evidence else None
        by_content = name in evidence and matches_content(evidence[name].match)
        for query, ranking in rankings.get(name, {}).items():
            place = subject.places[query]
            golds = lists.golds[place]
            if golds is not None:
                row[place] = _list(evidence[name], ranking, golds, documents, by_content, locate)
        lists.lists.append(row)
    return lists


def matches_content(match: Matcher) -> bool:
    """Whether a document that is only a text is its content, not its id."""
    return match.key.field == "content" and match.texts is None and not isinstance(match, FunctionMatcher)


def _golds(
    query: str,
    evidence: Mapping[str, Evidence],
    rankings: Mapping[str, Ranking],
    least: Mapping[str, float],
    documents: Documents,
    most: int,
) -> QueryGolds:
    """The relevant documents of a query, best first, then the others that are in a list."""
    shown: dict[str, tuple[int, float, bool]] = {}
    left_out = 0
    for name, ranking in rankings.items():
        truth = evidence[name].truth
        rows = truth.golds(truth.positions[query])
        in_query = slice(rows.start, rows.stop)
        grades = evidence[name].judged.gold_grade[in_query].tolist()
        # Only graded measures read the scores of gold documents: to others, each of them is relevant.
        is_relevant = (truth.grades[in_query] >= least[name]).tolist()
        hits = {hit.gold - rows.start for hit in ranking.hits if hit.rank <= RANKS}
        best_first = sorted(range(len(grades)), key=[-grade for grade in grades].__getitem__)
        relevant = [row for row in best_first if is_relevant[row]]
        originals = truth.original_documents(rows)
        by_content = matches_content(evidence[name].match)
        for row in dict.fromkeys([*relevant[:most], *(row for row in best_first if row in hits)]):
            key = truth.docs[rows.start + row]
            if key not in shown:
                document = documents.add(originals[row], by_content)
                shown[key] = (document, grades[row], is_relevant[row])
        left_out = max(left_out, len(relevant) - most)
    golds = QueryGolds(left_out=left_out)
    for key, gold in sorted(shown.items(), key=lambda item: not item[1][2]):
        golds.add(key, *gold)
    return golds


def _list(
    evidence: Evidence,
    ranking: Ranking,
    golds: QueryGolds,
    documents: Documents,
    by_content: bool,
    locate: Locator | None,
) -> dict[str, Any]:
    """A list: its first documents, the hits among them, and the ranks of relevant documents below them."""
    first = [documents.add(document, by_content) for rank, document in ranking.documents.items() if rank <= RANKS]
    docs = evidence.truth.docs
    hits: list[list[Any]] = []
    below: list[list[int]] = []
    for hit in ranking.hits:
        gold = golds.places.get(docs[hit.gold])
        if gold is None:
            continue
        if hit.rank <= RANKS:
            span = None
            if locate is not None:
                retrieved = evidence.match.key.of_retrieved([ranking.documents[hit.rank]], "")[0]
                span = locate(retrieved or "", docs[hit.gold])
            hits.append([hit.rank - 1, gold, hit.reason, None if span is None else list(span)])
        else:
            below.append([hit.rank, gold])
    return {"docs": first, "total": ranking.retrieved, "hits": hits, "below": below}


def _title(document: DocumentLike) -> str | None:
    if isinstance(document, str):
        return None
    meta = document_field(document, "meta")
    title = document.get("title") if isinstance(document, Mapping) else getattr(document, "title", None)
    title = title or (meta.get("title") if isinstance(meta, Mapping) else None)
    return title if isinstance(title, str) else None
