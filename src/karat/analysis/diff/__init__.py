"""diff(): the queries that changed from one system to another, and the documents that moved in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from karat.analysis.diff.attribution import ChangedQuery, Contribution, attribute, query_hits
from karat.analysis.diff.query_diff import LabelChange, Move, QueryDiff, label_changes
from karat.analysis.diff.tables import QueryInFull, table
from karat.analysis.evidence import Evidence
from karat.analysis.texts import ShownTexts, id_and_text, label
from karat.data.caching import cached_property
from karat.data.judged import Floats, Ints
from karat.documents.fields import DocumentLike
from karat.errors import KaratError, Parameter, did_you_mean, enumeration, plural, require, safe_line, shown
from karat.errors.arguments import as_count, check_switch
from karat.measures import meanings
from karat.output.printable import Tabular
from karat.output.tables import DIGITS, Table
from karat.registry import Measure
from karat.scores import Scores
from karat.scores.columns import unknown_directions
from karat.scores.combining import differences, wins_ties_losses
from karat.scores.value_texts import check_digits

__all__ = ["Diff", "Move", "QueryDiff", "diff"]


@dataclass(frozen=True, eq=False)
class Diff(Tabular):
    """The queries that changed most from one system to another, largest losses first; print it, or read `queries`.

    >>> import karat
    >>> truth = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}}
    >>> old = {"q1": ["x", "a"], "q2": ["b"], "q3": ["c"]}
    >>> new = {"q1": ["a"], "q2": ["b"], "q3": ["x", "c"]}
    >>> comparison = karat.evaluate_runs(truth, {"old": old, "new": new}, ["RR"]).compare("old")
    >>> [(query.query, query.difference) for query in comparison.diff("RR").queries]
    [('q3', -0.5), ('q1', 0.5)]
    """

    measure: str
    names: tuple[str, str]
    scores: tuple[Scores, Scores] = field(repr=False)
    n: int | None = 10
    losses: bool = False
    """whether to show only queries that became worse"""
    notes: tuple[str, ...] = ()
    """on queries that were left out, and on how the systems were evaluated"""
    texts: ShownTexts = field(default_factory=ShownTexts, repr=False)

    @cached_property
    def differences(self) -> Floats:
        """The difference of each query; NaN if either system has no value."""
        before, after = self.columns
        return differences(after, before)

    @property
    def columns(self) -> tuple[Floats, Floats]:
        return self.scores[0].values[self.measure], self.scores[1].values[self.measure]

    @cached_property
    def queries(self) -> tuple[QueryDiff, ...]:
        """The n queries that changed most, largest losses first."""
        sign = 1 if self.scores[0].higher_is_better(self.measure) else -1
        known = np.nan_to_num(self.differences)
        if self.losses:
            known = np.where(sign * known < 0, known, 0.0)
        most = np.argsort(-np.abs(known), kind="stable")[: self.n]
        worst_first = sorted((at for at in most.tolist() if known[at]), key=lambda at: sign * known[at])
        return tuple(self.query_diffs(worst_first))

    def __getitem__(self, query: str) -> QueryDiff:
        """The diff of any query, including those that changed little."""
        return self.query_diff(query)

    def query_diff(self, query: str, others: Iterable[DocumentLike] = ()) -> QueryDiff:
        """The diff of a query. The texts of other documents, which are to be shown with it, are looked up together."""
        queries = self.scores[0].queries
        if query not in queries:
            near = did_you_mean(query, queries)
            raise KaratError(f"query {shown(query)} is not in both systems", hint=near or None)
        at = queries.index(query)
        if np.isnan(self.differences[at]):
            raise KaratError(f"{self.measure} of query {shown(query)} is null in one of the systems")
        return self.query_diffs([at], others)[0]

    @cached_property
    def counts(self) -> tuple[int, int, int]:
        """The number of queries that are better, the same, and worse."""
        return wins_ties_losses(self.differences, self.scores[0].higher_is_better(self.measure))

    @property
    def limitation(self) -> str | None:
        """Why neither documents nor answers nor labels can be shown; None if they can."""
        measure = next(iter(meanings(self.measure)), None)
        if measure is None:
            return f"karat does not compute {self.measure}: the documents that moved cannot be shown."
        if measure.definition.takes == "answers":
            known = all(scores.answers is not None for scores in self.scores)
            return None if known else "these scores contain no answers: evaluate the answers again to see them."
        if measure.definition.takes == "verdicts":
            known = all(scores.verdicts is not None for scores in self.scores)
            return None if known else "these scores contain no labels: evaluate the answers again to see them."
        if measure.definition.takes != "judged":
            what = "spans" if measure.definition.takes == "spans" else "documents without a judgment"
            return f"{measure.name} measures {what}: differences cannot be attributed to judged documents."
        saved = [name for name, scores in zip(self.names, self.scores, strict=True) if scores.evidence is None]
        if saved:
            whose = f"the scores of {enumeration(saved, 'and')}"
            return f"{whose} contain no run data: evaluate the runs again to see the documents that moved."
        return None

    def to_dict(self) -> dict[str, Any]:
        """`{"measure", "systems", "better", "same", "worse", "queries": [{"query", "moves", ...}], "notes"}`."""
        counts = dict(zip(("better", "same", "worse"), self.counts, strict=True))
        queries = [query_diff.to_dict() for query_diff in self.queries]
        about = {"measure": self.measure, "systems": list(self.names), **counts}
        return {**about, "queries": queries, "notes": self.all_notes}

    @property
    def all_notes(self) -> list[str]:
        """The notes, those on how files and texts were read, and what cannot be shown or is not known."""
        limitation = [] if self.limitation is None else [self.limitation]
        findings = [finding for scores in self.scores for finding in scores.findings if finding.code == "reading"]
        reading = dict.fromkeys(map(str, findings))
        reading |= dict.fromkeys(f"{note}." for note in self.texts.notes)
        return [*self.notes, *reading, *unknown_directions(self.scores[0].only([self.measure])), *limitation]

    def table(self, digits: int = DIGITS) -> Table:
        """The largest contributions to the difference of each query."""
        return table(self, check_digits(digits))

    @property
    def fields(self) -> tuple[str, ...]:
        return "query", "before", "after", "difference"

    def records(self) -> list[dict[str, Any]]:
        """A record per query, without what changed in it."""
        return [query_diff.values() for query_diff in self.queries]

    def in_full(self, query: str) -> QueryInFull:
        """One query in full: every document that moved and both lists side by side, or both answers."""
        return QueryInFull(self, query)

    def __repr__(self) -> str:
        queries = plural(len(self.queries), "query")
        return safe_line(f"<Diff of {self.measure} from {self.names[0]} to {self.names[1]}: {queries}>")

    def query_diffs(self, places: Sequence[int], others: Iterable[DocumentLike] = ()) -> list[QueryDiff]:
        """The diffs of some queries, by their places; each has a value in both systems."""
        queries = [self.scores[0].queries[at] for at in places]
        columns = (*self.columns, self.differences)
        before, after, difference = (column[np.asarray(places, np.int64)].tolist() for column in columns)
        measure = next(iter(meanings(self.measure)), None)
        all_moves = self._moves(measure, queries, others)
        diffs = []
        for at, query in enumerate(queries):
            moves, unattributed = all_moves.get(query, ((), 0.0))
            answers, labels = self._answers(query, measure), self._labels(query, measure)
            numbers, text = (before[at], after[at], difference[at]), self.texts.questions.get(query)
            diffs.append(QueryDiff(query, *numbers, moves, unattributed, answers, text, labels))
        return diffs

    def _labels(self, query: str, measure: Measure | None) -> tuple[LabelChange, ...] | None:
        """The labels that differ, if the measure is of verdicts."""
        before, after = (scores.verdicts for scores in self.scores)
        if measure is None or measure.definition.takes != "verdicts" or before is None or after is None:
            return None
        return tuple(label_changes(before, after, query, self.measure))

    def _moves(
        self, measure: Measure | None, queries: Sequence[str], others: Iterable[DocumentLike]
    ) -> dict[str, tuple[tuple[Move, ...], float]]:
        """The documents of each query that moved, with their texts, and what is unattributed, if that is known."""
        before, after = (scores.evidence for scores in self.scores)
        of_documents = measure is not None and measure.definition.takes == "judged" and self.limitation is None
        if not of_documents or measure is None or before is None or after is None:
            self.texts.look_up(others)
            return {}
        changed = _changed_queries(measure, queries, before, after)
        attributed = dict(zip(changed, attribute(measure, list(changed.values())), strict=True))
        shown_documents = {
            query: _shown_documents(measure, query, before, changed[query].grades, contributions)
            for query, (contributions, _) in attributed.items()
        }
        listed = [document for documents in shown_documents.values() for _, document in documents]
        self.texts.look_up([*listed, *others])
        moves = {}
        for query, (_, unattributed) in attributed.items():
            pairs, grades = shown_documents[query], changed[query].grades
            moved = tuple(self._move(measure, query, before, grades, *pair) for pair in pairs)
            moves[query] = moved, unattributed
        return moves

    def _move(
        self, measure: Measure, query: str, before: Evidence, grades: Floats, moved: Contribution, gold: DocumentLike
    ) -> Move:
        golds = before.truth.golds(before.truth.positions[query])
        document = self.texts.with_text(gold)
        return Move(
            before.truth.docs[golds[moved.gold]],
            label(document),
            float(grades[moved.gold]),
            min(moved.before, default=None),
            min(moved.after, default=None),
            _change(moved.before, moved.after, measure.cutoff),
            moved.value,
            id_and_text(document)[1],
        )

    def _answers(self, query: str, measure: Measure | None) -> tuple[str | None, str | None] | None:
        """Both predicted answers, if the measure is of answers."""
        if measure is None or measure.definition.takes != "answers":
            return None
        before, after = (scores.answers for scores in self.scores)
        if before is None or after is None or query not in before.queries or query not in after.queries:
            return None
        return before.predicted[before.queries.index(query)], after.predicted[after.queries.index(query)]


def diff(
    before: Scores,
    after: Scores,
    measure: str,
    n: int | None = 10,
    names: tuple[str, str] = ("before", "after"),
    losses: bool = False,
    notes: tuple[str, ...] = (),
    *,
    queries: Any = None,
    corpus: Any = None,
) -> Diff:
    """The queries that changed most on a measure. Both scores have the same queries, in the same order.

    `queries` and `corpus` are sources of the texts of queries, and of documents that are known by id only.
    """
    shown_queries = as_count(n, least=1)
    valid = n is None or shown_queries is not None
    require(valid, [Parameter("n", n), " is not a number of queries"], "Pass a positive whole number, or None for all.")
    check_switch("losses", losses)
    name = before.column_name(measure)
    after.column_name(name)
    hint = "Pass a list, a mapping, a data frame or a file: the corpus is read again for each query that you look at."
    require(not isinstance(corpus, Iterator), "a corpus from an iterator can be read only once", hint)
    texts = ShownTexts.of((before, after), queries, corpus)
    return Diff(name, names, (before, after), shown_queries, losses, notes, texts)


def _changed_queries(
    measure: Measure, queries: Sequence[str], before: Evidence, after: Evidence
) -> dict[str, ChangedQuery]:
    """The hits of each query in both runs; not of a query whose ground truths are different."""
    judged, other_judged = before.judged_for(measure), after.judged_for(measure)
    changed: dict[str, ChangedQuery] = {}
    for query in queries:
        position, other_position = before.truth.positions[query], after.truth.positions.get(query)
        order = None if other_position is None else _same_golds(before, position, after, other_position)
        if other_position is None or order is None:
            # Different ground truths were compared on purpose, and the contributions of documents are not defined.
            continue
        golds = before.truth.golds(position)
        old = query_hits(judged, position, np.arange(len(golds)))
        new = query_hits(other_judged, other_position, order)
        changed[query] = ChangedQuery(judged.gold_grade[golds.start : golds.stop], old, new)
    return changed


def _shown_documents(
    measure: Measure, query: str, before: Evidence, grades: Floats, contributions: Sequence[Contribution]
) -> list[tuple[Contribution, DocumentLike]]:
    """The relevant documents that moved, and others with a contribution, topmost first, as they were given."""
    documents = before.truth.original_documents(before.truth.golds(before.truth.positions[query]))
    threshold = measure.get("rel")
    least = threshold if isinstance(threshold, int | float) and threshold > 0 else 0
    return [
        (moved, documents[moved.gold])
        for moved in contributions
        if moved.value or moved.value is None or (grades[moved.gold] > 0 and grades[moved.gold] >= least)
    ]


def _same_golds(before: Evidence, position: int, after: Evidence, other_position: int) -> Ints | None:
    """For each gold of a query in the second truth its index in the first; None if the golds are not the same."""
    golds, other_golds = before.truth.golds(position), after.truth.golds(other_position)
    if before.truth is after.truth:
        return np.arange(len(golds))
    keys, other_keys = _gold_keys(before, golds), _gold_keys(after, other_golds)
    if sorted(keys) != sorted(other_keys):
        return None
    places: dict[tuple[str, float, float], list[int]] = {}
    for at, key in enumerate(keys):
        places.setdefault(key, []).append(at)
    return np.array([places[key].pop(0) for key in other_keys], np.int64)


def _gold_keys(evidence: Evidence, golds: range) -> list[tuple[str, float, float]]:
    """The match key of each gold, and its grades for binary and for graded measures."""
    rows = slice(golds.start, golds.stop)
    grades, graded = evidence.truth.grades[rows].tolist(), evidence.judged.gold_grade[rows].tolist()
    return list(zip(evidence.truth.docs[rows], grades, graded, strict=True))


def _change(before: tuple[int, ...], after: tuple[int, ...], cutoff: int | None) -> str:
    """What happened to a document, in a word or two."""
    old, new = min(before, default=None), min(after, default=None)
    top = "" if cutoff is None else f" the top {cutoff}"
    was_in, is_in = (rank is not None and (cutoff is None or rank <= cutoff) for rank in (old, new))
    if was_in != is_in:
        return f"entered{top}" if is_in else f"fell out of{top}" if top else "fell out"
    if old is None or new is None or old == new:
        return "" if not was_in else "repeats moved"
    return "rose" if new < old else "fell"
