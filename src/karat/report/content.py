"""The content of a report: everything the page shows, as one document that can be written as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from karat.analysis.query_groups import query_values
from karat.analysis.slices import Slices
from karat.analysis.texts import questions_of
from karat.errors import plural, printable
from karat.measures import meanings
from karat.reading.texts.texts import FoundTexts, Text, read_texts
from karat.report.answers import answers_part
from karat.report.budget import Budget
from karat.report.documents import Documents
from karat.report.moves import moves
from karat.report.numbers import Number, numbers
from karat.report.plots.kinds import charts_for_page
from karat.report.plots.rows import first_ranks
from karat.report.plots.style import labels
from karat.report.provenance import Provenance
from karat.report.rankings import RANKS, Lists, read_lists
from karat.report.sentences import answer
from karat.report.subject import Reported, ReportSubject, subject_of, with_short_names
from karat.report.table import missing_queries, table
from karat.report.verdicts import label_bounds, passages_in_order, verdicts_part
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
    _add_matched_texts(subject, documents)
    found = FoundTexts({})
    if corpus is not None:
        wanted = documents.without_text()
        found = read_texts(corpus, wanted, "corpus") if wanted else FoundTexts({}, notes=(_UNUSED_CORPUS,))
        documents.add_texts(found)
    questions = budget.questions(_query_texts(subject, query_texts))
    answers = budget.answers(answers_part(subject))
    budget.documents(documents, lists, passages_in_order(subject, verdicts))
    moved, cut_moves = moves(subject, lists)
    unjudged = _unjudged(subject)
    shares = None if unjudged is None else [share for share, _ in unjudged]
    findings = [note.removeprefix("note: ") for note in notes(subject.systems, with_intervals=True)]
    findings += [] if subject.comparison is None else list(subject.comparison.notes)
    findings += [f"{subject.obstacle}"] if subject.obstacle else []
    findings += [*(query_texts.notes if query_texts else ()), *found.notes]
    return {
        "title": title or _title(subject),
        "answer": answer(subject, shares),
        "systems": list(subject.names),
        "baseline": subject.baseline,
        "measures": [_measure(subject, name) for name in subject.measures],
        "table": table(subject, shares),
        "findings": [printable(text) for text in dict.fromkeys(findings)],
        "queries": {
            "id": budget.ids(subject.queries, "query"),
            "text": questions,
            "values": _values(subject, budget.measures_with_values()),
            "first": _first_relevant(subject),
            "unjudged": None if unjudged is None else [counts for _, counts in unjudged],
            "missing": _missing(subject),
            "bounds": label_bounds(subject),
            "groups": {name: list(labels(sliced.groups).values()) for name, sliced in slices.items()},
            "slices": {name: _group_of_each(subject, sliced) for name, sliced in slices.items()},
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


def _add_matched_texts(subject: ReportSubject, documents: Documents) -> None:
    """Add the texts that documents, which are known by id, were matched by."""
    for scores in subject.systems.values():
        if scores.evidence is not None and scores.evidence.match.texts is not None:
            documents.add_texts({name: Text(text) for name, text in scores.evidence.match.texts.items()})


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
        "formula": "" if definition is None else definition.formula,
        "definition": details,
        "reference": "" if definition is None else definition.reference,
    }


def _query_texts(subject: ReportSubject, texts: FoundTexts | None) -> list[str | None] | None:
    """The text of each query, None if it is not known; what is given comes before what results contain."""
    known = questions_of(subject.systems.values()) | {query: found.text for query, found in (texts or {}).items()}
    return [known.get(query) for query in subject.queries] if known else None


def _values(subject: ReportSubject, measures: int) -> list[list[list[Number]]]:
    """The values of each system on each measure, by query; on later measures, none."""
    return [
        [numbers(subject.column(name, each)) if at < measures else [] for at, each in enumerate(subject.measures)]
        for name in subject.names
    ]


def _first_relevant(subject: ReportSubject) -> list[list[int | None] | None]:
    """The rank of the first relevant document of each query, None if there is none; None for saved scores."""
    found: list[list[int | None] | None] = []
    for scores in subject.systems.values():
        if scores.evidence is None:
            found.append(None)
            continue
        row: list[int | None] = [None] * len(subject.queries)
        for place, rank in zip(subject.rows(scores).tolist(), first_ranks(scores), strict=True):
            row[place] = rank
        found.append(row)
    return found


def _unjudged(subject: ReportSubject) -> list[tuple[float | None, list[int] | None]] | None:
    """For each system, the share of its first documents that nobody judged, and their number in each query."""
    found: list[tuple[float | None, list[int] | None]] = []
    for scores in subject.systems.values():
        evidence = scores.evidence
        if evidence is None or evidence.truth.only_relevant:
            found.append((None, None))
            continue
        judged = evidence.judged
        depth = judged.depth(subject.cutoff)
        unjudged = depth - judged.by_rank.graded(0).count(subject.cutoff)
        counts = [0] * len(subject.queries)
        for query, count in zip(judged.queries, unjudged.tolist(), strict=True):
            if (place := subject.places.get(query)) is not None:
                counts[place] = count
        found.append((int(unjudged.sum()) / max(1, int(depth.sum())), counts))
    return found if any(counts is not None for _, counts in found) else None


def _missing(subject: ReportSubject) -> list[list[bool]] | None:
    lacking = [missing_queries(subject, name) for name in subject.names]
    return [[query in each for query in subject.queries] for each in lacking] if any(lacking) else None


def _properties(subject: ReportSubject, by: Mapping[str, Any], texts: FoundTexts | None) -> dict[str, dict[str, Any]]:
    """The value of each query, for each property to group by."""
    found: dict[str, dict[str, Any]] = {}
    questions = questions_of(subject.systems.values())
    for name, given in by.items():
        values: dict[str, Any] = {}
        for scores in subject.systems.values():
            known = texts if isinstance(given, str) and given == "length" else None
            of_system, _ = query_values(replace(scores, questions=questions), given, known)
            values |= dict(zip(scores.queries, of_system, strict=True))
        found[name] = values
    return found


def _slices(subject: ReportSubject, properties: Mapping[str, Mapping[str, Any]]) -> dict[str, Slices]:
    """The groups of queries, for each property."""
    everything = Scores(subject.queries, {})
    return {name: everything.slices(values) for name, values in properties.items()}


def _group_of_each(subject: ReportSubject, sliced: Slices) -> list[str]:
    named = labels(sliced.groups)
    group = {query: named[name] for name, scores in sliced.groups.items() for query in scores.queries}
    return [group[query] for query in subject.queries]


def _cut_lists(subject: ReportSubject, lists: Lists | None) -> list[str]:
    if lists is None:
        return []
    cut = []
    if any(each["total"] > RANKS for row in lists.lists for each in row if each is not None):
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
