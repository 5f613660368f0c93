"""The content of a report: everything the page shows, as one document that can be written as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from karat.analysis.query_groups import query_values
from karat.analysis.slices import Slices
from karat.analysis.texts import questions_of
from karat.errors import plural, printable
from karat.measures import meanings
from karat.output.tables import note_text
from karat.reading.texts.entries import Text
from karat.reading.texts.texts import FoundTexts, read_texts
from karat.report.answers import answers_part, label_bounds, passages_in_order, verdicts_part
from karat.report.budget import Budget
from karat.report.moves import moves
from karat.report.overview import answer, missing_queries, table
from karat.report.people import people_part
from karat.report.plots.kinds import charts_for_page
from karat.report.plots.rows import first_ranks
from karat.report.plots.style import labels
from karat.report.provenance import Provenance
from karat.report.rankings import RANKS, Documents, Lists, read_lists
from karat.report.subject import Number, Reported, ReportSubject, numbers, subject_of, with_short_names
from karat.scores import Scores
from karat.scores.combining import combination
from karat.scores.summary import notes

_UNUSED_CORPUS = "the corpus was not read: the report has no documents that need a text"


def report_content(
    reported: Reported,
    *,
    queries: Any = None,
    corpus: Any = None,
    by: Mapping[str, Any] = MappingProxyType({}),
    title: str = "",
    provenance: Provenance | None = None,
) -> dict[str, Any]:
    """The content of a report.

    `queries` and `corpus` are sources of the texts of queries and documents, as `read_texts` takes them; `by` are
    properties to group queries by, as in `Scores.slices`, by name.
    """
    subject, cut_names = with_short_names(subject_of(reported))
    query_texts = None if queries is None else read_texts(queries, subject.queries, "queries")
    properties = _properties(subject, by, query_texts)
    slices = _slices(subject, properties)
    documents = Documents()
    lists = read_lists(subject, documents)
    budget = Budget(subject)
    verdicts = verdicts_part(subject, documents, budget)
    corpus_notes = _add_texts(subject, documents, corpus)
    names = _names(subject, _query_texts(subject, query_texts), budget)
    answers = budget.answers(answers_part(subject))
    budget.documents(documents, lists, passages_in_order(subject, verdicts))
    moved, cut_moves = moves(subject, lists)
    unjudged = _unjudged(subject)
    shares = None if unjudged is None else [share for share, _ in unjudged]
    return {
        "title": title or _title(subject),
        "answer": answer(subject, shares),
        "systems": list(subject.names),
        "baseline": subject.baseline,
        "measures": [_measure(subject, name) for name in subject.measures],
        "table": table(subject, shares),
        "people": people_part(subject),
        "findings": _findings(subject, [*(query_texts.notes if query_texts else ()), *corpus_notes]),
        "queries": {
            **names,
            "values": _values(subject, budget.measures_with_values()),
            "first": _first_relevant(subject),
            "unjudged": None if unjudged is None else [counts for _, counts in unjudged],
            "missing": _missing(subject),
            "bounds": label_bounds(subject),
            **_groups(subject, slices),
        },
        "documents": {**documents.to_dict(), "id": budget.ids(documents.ids, "document")},
        "lists": None if lists is None else lists.lists,
        "golds": None if lists is None else lists.golds_dict(),
        "moves": moved,
        "answers": answers,
        "verdicts": verdicts,
        "charts": charts_for_page(
            subject.systems, subject.comparison, properties, level=subject.level, measures=subject.detailed
        ),
        "made": (provenance or Provenance()).to_dict(subject),
        "cut": [*cut_names, *_cut_lists(subject, lists), *budget.cut, *cut_moves],
    }


def _add_texts(subject: ReportSubject, documents: Documents, corpus: Any) -> Sequence[str]:
    """Add the texts of documents that are known by id: those that they were matched by, then those of the corpus."""
    for scores in subject.systems.values():
        if scores.evidence is not None and scores.evidence.match.texts is not None:
            documents.add_texts({name: Text(text) for name, text in scores.evidence.match.texts.items()})
    if corpus is None:
        return ()
    wanted = documents.without_text()
    if not wanted:
        return [_UNUSED_CORPUS]
    texts = read_texts(corpus, wanted, "corpus")
    documents.add_texts(texts)
    return texts.notes


def _findings(subject: ReportSubject, text_notes: Sequence[str]) -> list[str]:
    """What was missing, ignored or assumed, each once."""
    findings = [*map(note_text, notes(subject.systems, with_intervals=True))]
    findings += [] if subject.comparison is None else subject.comparison.notes
    findings += [subject.obstacle] if subject.obstacle else []
    return [printable(text) for text in dict.fromkeys([*findings, *text_notes])]


def _title(subject: ReportSubject) -> str:
    systems = subject.names[0] if len(subject.names) == 1 else plural(len(subject.names), "system")
    return f"{systems}, {plural(len(subject.queries), 'query')}"


def _measure(subject: ReportSubject, name: str) -> dict[str, Any]:
    """The definition of a measure, as far as karat knows it."""
    measure = next(iter(meanings(name)), None)
    definition = None if measure is None else measure.definition
    details = "" if definition is None else "\n\n".join(filter(None, [definition.summary, definition.details]))
    return {
        "name": name,
        "higher": subject.higher_is_better(name),
        "count": combination(name) == "sum",
        "takes": "other" if definition is None else definition.takes,
        "partial": None if measure is None else measure.get("partial"),
        "formula": "" if definition is None else definition.formula,
        "definition": details,
        "reference": "" if definition is None else definition.reference,
    }


def _query_texts(subject: ReportSubject, texts: FoundTexts | None) -> dict[str, str]:
    """The texts of queries, if they are known beside their names; what is given comes before what results contain."""
    known = questions_of(subject.systems.values()) | {query: text.text for query, text in (texts or {}).items()}
    return {query: text for query, text in known.items() if text != query}


def _names(subject: ReportSubject, texts: Mapping[str, str], budget: Budget) -> dict[str, Any]:
    """How each query is named: by its id and its text, None if that is not known.

    Where questions serve as ids (`are_texts`), a query has a text only if it is shortened as an id.
    """
    are_texts = subject.are_texts and not texts
    ids = budget.ids(subject.queries, None if are_texts else "query")
    found = [texts.get(query) for query in subject.queries]
    if are_texts:
        found = [query if query != name else None for query, name in zip(subject.queries, ids, strict=True)]
    has_texts = any(text is not None for text in found)
    return {"id": ids, "are_texts": are_texts, "text": budget.questions(found) if has_texts else None}


def _values(subject: ReportSubject, measures: int) -> list[list[list[Number]]]:
    """The values of each system on each measure, by query; on later measures, none."""
    return [
        [numbers(subject.column(name, measure)) if at < measures else [] for at, measure in enumerate(subject.measures)]
        for name in subject.names
    ]


def _first_relevant(subject: ReportSubject) -> list[list[int | None] | None]:
    """The rank of the first relevant document of each query, None if there is none; None for saved scores."""
    ranks_by_system = []
    for scores in subject.systems.values():
        ranks = None if scores.evidence is None else dict(zip(scores.queries, first_ranks(scores), strict=True))
        ranks_by_system.append(None if ranks is None else [ranks.get(query) for query in subject.queries])
    return ranks_by_system


def _unjudged(subject: ReportSubject) -> list[tuple[float | None, list[int] | None]] | None:
    """For each system, the share of its first documents that nobody judged, and their number in each query.

    None if no measure is about documents, or all documents that are known are relevant.
    """
    if not any(measure.definition.takes == "judged" for name in subject.measures for measure in meanings(name)[:1]):
        return None
    by_system: list[tuple[float | None, list[int] | None]] = []
    for scores in subject.systems.values():
        evidence = scores.evidence
        if evidence is None or evidence.truth.only_relevant:
            by_system.append((None, None))
            continue
        judged = evidence.judged
        depth = judged.depth(subject.cutoff)
        unjudged = depth - judged.by_rank.graded(0).count(subject.cutoff)
        counts = dict(zip(judged.queries, unjudged.tolist(), strict=True))
        share = int(unjudged.sum()) / max(1, int(depth.sum()))
        by_system.append((share, [counts.get(query, 0) for query in subject.queries]))
    return by_system if any(counts is not None for _, counts in by_system) else None


def _missing(subject: ReportSubject) -> list[list[bool]] | None:
    missing = [missing_queries(subject, name) for name in subject.names]
    return [[query in queries for query in subject.queries] for queries in missing] if any(missing) else None


def _properties(subject: ReportSubject, by: Mapping[str, Any], texts: FoundTexts | None) -> dict[str, dict[str, Any]]:
    """The value of each query, for each property to group by."""
    properties: dict[str, dict[str, Any]] = {}
    questions = questions_of(subject.systems.values())
    for name, grouping in by.items():
        known = texts if isinstance(grouping, str) and grouping == "length" else None
        values = properties[name] = {}
        for scores in subject.systems.values():
            system_values, _ = query_values(replace(scores, questions=questions), grouping, known)
            values |= dict(zip(scores.queries, system_values, strict=True))
    return properties


def _slices(subject: ReportSubject, properties: Mapping[str, Mapping[str, Any]]) -> dict[str, Slices]:
    """The groups of queries, for each property."""
    everything = Scores(subject.queries, {})
    return {name: everything.slices(values) for name, values in properties.items()}


def _groups(subject: ReportSubject, slices: Mapping[str, Slices]) -> dict[str, dict[str, list[str]]]:
    """The labels of the groups of each property, and the group of each query."""
    groups, group_of_query = {}, {}
    for prop, sliced in slices.items():
        named = labels(sliced.groups)
        group = {query: named[name] for name, scores in sliced.groups.items() for query in scores.queries}
        groups[prop] = list(named.values())
        group_of_query[prop] = [group[query] for query in subject.queries]
    return {"groups": groups, "slices": group_of_query}


def _cut_lists(subject: ReportSubject, lists: Lists | None) -> list[str]:
    if lists is None:
        return []
    cut = []
    if any(ranked["total"] > RANKS for row in lists.lists for ranked in row if ranked is not None):
        cut.append(
            f"Lists show the first {RANKS} documents of each query, and the ranks of relevant documents below them;"
            " `karat evaluate --explain QUERY` shows more."
        )
    if any(golds.left_out > 0 for golds in lists.golds if golds is not None):
        cut.append(
            f"Of more than {lists.most_golds} relevant documents of a query, those with the highest grades are shown."
        )
    if len(lists.listed) < len(subject.queries):
        cut.append(
            f"Lists are shown for the {len(lists.listed):,} queries that changed most, of {len(subject.queries):,};"
            " a report of fewer systems shows more."
        )
    return cut
