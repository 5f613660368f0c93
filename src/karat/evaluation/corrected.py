"""Values of people for queries that were drawn at random, beside those of the model whose means they correct."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from karat.data.judged import Floats
from karat.errors import KaratError, Message, Parameter, enumeration, first_few, percent, plural
from karat.evaluation.label_scores import LabelScores
from karat.grounding.labels.counting import SubjectKey, is_person
from karat.grounding.labels.missing import labelled_samples, readable_measure
from karat.grounding.labels.selection import SelectedLabels
from karat.grounding.labels.votes import ChosenLabels, chosen_labels
from karat.grounding.verdict_file.drawn import DrawnQuery, draw, population_digest
from karat.grounding.verdict_file.reading import VerdictRecords
from karat.grounding.verdict_file.records import example_queries
from karat.options import RELEVANCE
from karat.registry import Measure
from karat.registry.selection import Selection
from karat.scores import Finding, Scores
from karat.scores.corrections import ValuesByPeople

_MOST_WITHOUT = 0.1
"""the share of the drawn queries that may lack a value: if these are the hard ones, the mean is wrong"""
_HOW_TO_DRAW = "`karat verdicts template RESULTS --task TASK --sample N` draws queries at random, for people to label."
_HOW_TO_DRAW_DOCUMENTS = (
    f"`karat verdicts template TRUTH RUN... --task {RELEVANCE} --sample N` draws queries at random, whose documents"
    " people label."
)


@dataclass(frozen=True)
class TwoJudges:
    """Whose labels are corrected, and by whose."""

    model: str
    people: str = "human"

    @classmethod
    def of(cls, records: VerdictRecords, author: str | None, *, of_documents: bool = False) -> TwoJudges:
        """The model that `author` names, or the only one; and all people. They labelled documents, or answers."""
        rows = np.flatnonzero(records.about_documents() == of_documents)
        authors = [*records.labels.by.take(rows).counts()]
        models = sorted(name for name in authors if not is_person(name))
        about = " of a document" if of_documents else ""
        if len(models) == len(authors):
            raise KaratError(f"no label{about} is by a person", place=records.name, hint=_how_to_draw(of_documents))
        if not models:
            hint: Message = "`karat judge` adds those of a model to a verdict file."
            raise KaratError(f"no label{about} is by a model", place=records.name, hint=hint)
        if author is not None and author not in models:
            hint = ["Leave ", Parameter("author"), f" out, or name a model: {', '.join(models)}."]
            raise KaratError(
                [Parameter("author", author), " is not a model whose labels could be corrected"], hint=hint
            )
        if author is None and len(models) > 1:
            hint = ["Choose one with ", Parameter("author"), f": {', '.join(models)}."]
            raise KaratError(f"the labels are by {len(models)} models", place=records.name, hint=hint)
        return cls(author or models[0])


def _how_to_draw(of_documents: bool) -> str:
    return _HOW_TO_DRAW_DOCUMENTS if of_documents else _HOW_TO_DRAW


@dataclass(frozen=True, eq=False)
class PeoplesValues:
    """The values of a measure by people: those that are known, and why other queries have none."""

    known: Mapping[str, float]
    unasked: Set[str] = frozenset()
    """queries whose value is known although people had nothing to label"""
    nothing: Set[str] = frozenset()
    """queries in which people found nothing to judge"""
    not_by_model: Set[str] = frozenset()
    """queries of which people labelled what the model did not"""
    divided: Set[str] = frozenset()
    """queries in which two labels by people are equally frequent"""
    outdated: Set[str] = frozenset()
    """queries of which people labelled other texts than those that are evaluated"""

    @classmethod
    def of_labels(cls, measure: Measure, people: SelectedLabels, chosen: ChosenLabels) -> PeoplesValues:
        """The values of a measure of labels, as far as the labels suffice; `chosen` are those of each subject."""
        readable = readable_measure(measure, people.facts)
        if readable is None or str(readable) != str(measure):
            return cls({})
        scored = LabelScores.of(people, {measure: labelled_samples(measure, people.facts)})
        column, bounds = scored.values[str(measure)], scored.bounds.get(str(measure))
        lows: Floats = column if bounds is None else bounds.low
        by_query = dict(zip(scored.queries, column.tolist(), strict=True))
        nothing = {query for query, low in zip(scored.queries, lows.tolist(), strict=True) if low != low}
        known = {query: value for query, value in by_query.items() if value == value}
        return cls(known, nothing=nothing, divided=queries_of(chosen.tied), outdated=queries_of(chosen.stale))


def queries_of(subjects: Iterable[SubjectKey]) -> set[str]:
    """The queries that these labels are about."""
    return {subject.query for subject in subjects}


def with_corrected_labels(scores: Scores, measures: Selection, people: SelectedLabels, judges: TwoJudges) -> Scores:
    """The scores of a model's labels of answers, with the values of people for queries that were drawn at random."""
    samples = drawn_samples(people.records, scores.queries, people.system)
    chosen = chosen_labels(people.records, people.authors, people.status, of_documents=False)
    values = {
        str(each): PeoplesValues.of_labels(each, people, chosen) for each in measures if str(each) in scores.values
    }
    return with_corrections(scores, values, samples, people.records, people.authors, judges)


def with_corrections(
    scores: Scores,
    values: Mapping[str, PeoplesValues],
    samples: Iterable[Sequence[str]],
    records: VerdictRecords,
    people: Iterable[str],
    judges: TwoJudges,
) -> Scores:
    """The scores of a model with the values of people, of the sample of which they labelled the most queries.

    Queries from which examples for the model were chosen are left out, of its values and of those by people, because
    it was shown labels of them. The others that were drawn are a random sample of the others that there are.
    """
    shown_queries = example_queries(records.calls, judges.model)
    scores, left_out = _without(scores, shown_queries, judges.model)
    scored = {*scores.queries}
    samples = [[query for query in sample if query in scored] for sample in samples]
    corrections: dict[str, ValuesByPeople] = {}
    measures_without: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    uncorrected: list[str] = []
    for measure, of_people in values.items():
        labelled = max((_LabelledSample.of(sample, of_people) for sample in samples), key=lambda each: len(each.known))
        column = np.array([labelled.known.get(query, np.nan) for query in scores.queries])
        by_model = scores.values[measure]
        if not labelled.reached and not of_people.not_by_model:
            uncorrected.append(measure)
            continue
        known = {query for query, value in zip(scores.queries, by_model.tolist(), strict=True) if value == value}
        for code, what, queries in labelled.without_value(measure, of_people, known, records.name):
            measures_without.setdefault((code, what, queries), []).append(measure)
        corrections[measure] = ValuesByPeople(column, ", ".join(people), judges.model, len(labelled.sample))
    if not corrections:
        what = f"no query has a value of {enumeration(uncorrected, 'or')} by both people and {judges.model}"
        what += ", besides those from which examples for it were chosen" if left_out else ""
        hint = "People and the model must have given all labels of a drawn query."
        raise KaratError(what, place=records.name, hint=hint)
    found = [
        Finding(code, f"{', '.join(measures)}: {what}", len(queries), queries=queries)
        for (code, what, queries), measures in measures_without.items()
    ]
    if uncorrected:
        message = f"not corrected, because people labelled no drawn query completely: {', '.join(uncorrected)}"
        found.append(Finding("uncorrected", message, len(uncorrected)))
    return replace(scores, corrections=corrections, findings=(*scores.findings, *left_out, *found))


def _without(scores: Scores, queries: Set[str], model: str) -> tuple[Scores, list[Finding]]:
    """The scores without some queries, and a finding about them."""
    rows = [row for row, query in enumerate(scores.queries) if query not in queries]
    left_out = tuple(query for query in scores.queries if query in queries)
    if not left_out:
        return scores, []
    message = examples_left_out(len(left_out), model)
    return scores.take(rows), [Finding("examples", message, len(left_out), queries=left_out)]


def examples_left_out(queries: int, model: str) -> str:
    """What is said about the queries of examples: so many are left out where a model is compared with people."""
    return f"{plural(queries, 'query')} left out, from which the examples for {model} were chosen"


def drawn_samples(
    records: VerdictRecords, population: Iterable[str], system: str | None = None, *, of_documents: bool = False
) -> list[list[str]]:
    """The samples of a system, or of documents: all queries of each, in the order in which they were drawn."""
    by_recipe: dict[str, list[DrawnQuery]] = {}
    others: dict[str, None] = {}
    for drawn in records.drawn.values():
        if (drawn.recipe == RELEVANCE) != of_documents:
            continue
        if drawn.system == system:
            by_recipe.setdefault(drawn.recipe, []).append(drawn)
        else:
            others[str(drawn.system)] = None
    if not by_recipe:
        what = "the queries that people labelled were not drawn at random, so their labels say nothing about the others"
        if others:
            what = f"people labelled drawn queries of {first_few(sorted(others))}, not of {system}"
        raise KaratError(what, place=records.name, hint=_how_to_draw(of_documents))
    queries = [*population]
    return [_redrawn(recipe, sample, queries, records.name) for recipe, sample in by_recipe.items()]


def _redrawn(recipe: str, sample: Sequence[DrawnQuery], queries: Sequence[str], place: str) -> list[str]:
    """All queries of a sample; an error if its records are not those that its seed draws from these queries."""
    digest = population_digest(queries)
    if of_others := [drawn for drawn in sample if drawn.population_digest != digest]:
        what = f"the sample for {recipe} was drawn from {plural(of_others[0].population, 'query')}, and the"
        what += f" {plural(len(queries), 'query')} that are evaluated are not the same"
        raise KaratError(what, place=place, hint="Evaluate what the sample was drawn from.")
    seeds = sorted({drawn.seed for drawn in sample})
    if len(seeds) > 1:
        of_seeds = enumeration([*map(str, seeds)], "and")
        what = f"the queries for {recipe} were drawn in {len(seeds)} ways, with the seeds {of_seeds}"
        raise KaratError(what, place=place, hint="Give the labels of one sample.")
    in_order = draw(queries, len(queries), seeds[0])
    others = [drawn.query for drawn in sample if in_order[drawn.number - 1 : drawn.number] != [drawn.query]]
    if others:
        what = f"the seed {seeds[0]} draws other queries for {recipe} than {first_few(others)}"
        raise KaratError(what, place=place, hint="Keep the records of samples as `karat verdicts template` wrote them.")
    return in_order[: max(drawn.drawn for drawn in sample)]


class _WithoutValue(NamedTuple):
    """Drawn queries without a value by people, and why."""

    code: str
    what: str
    queries: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _LabelledSample:
    """The values by people for a sample, down to the last query that they labelled."""

    sample: Sequence[str]
    known: Mapping[str, float]
    reached: Sequence[str]
    """the queries down to the last one that people labelled"""

    @classmethod
    def of(cls, sample: Sequence[str], values: PeoplesValues) -> _LabelledSample:
        given = (values.known.keys() | values.divided | values.outdated) - values.unasked
        reached = sample[: max((at for at, query in enumerate(sample, 1) if query in given), default=0)]
        return cls(sample, {query: values.known[query] for query in reached if query in values.known}, reached)

    def without_value(
        self, measure: str, values: PeoplesValues, by_model: Set[str], place: str
    ) -> Iterator[_WithoutValue]:
        """Drawn queries that have no value by people, or by the model; an error if they are too many."""
        yield from self._gaps(measure, values, place)
        # How many of these there are among the others is not known, but the mean of the model has them.
        nothing = [query for query in self.sample if query in values.nothing & by_model]
        judged = len(nothing) + len(self.known)
        queries = plural(len(nothing), "query")
        what = f"people found nothing to judge in {queries} of {judged:,} ({{}}), in which the model did"
        hint = "Both must judge the same: the mean of the model is about other queries."
        yield from _checked("nothing-for-people", measure, what, nothing, judged, hint, place)
        lacking = [query for query in self.sample if query in values.not_by_model]
        judged = len(lacking) + len(self.known)
        what = f"people labelled what the model did not in {plural(len(lacking), 'query')} of {judged:,} ({{}})"
        hint = "Let the model label the same documents, with the same depth."
        yield from _checked("not-by-model", measure, what, lacking, judged, hint, place)
        lacking = [query for query in self.known if query not in by_model]
        what = f"people give a value to {plural(len(lacking), 'query')} of {len(self.known):,} ({{}}) that have none by"
        what += " the model"
        hint = "Let the model label the same queries: its mean is about others."
        yield from _checked("not-by-model", measure, what, lacking, len(self.known), hint, place)

    def _gaps(self, measure: str, values: PeoplesValues, place: str) -> Iterator[_WithoutValue]:
        """Drawn queries down to the last one that people labelled, without a value of theirs."""
        explained = values.nothing | values.not_by_model
        gaps = [query for query in self.reached if query not in self.known and query not in explained]
        divided = [query for query in gaps if query in values.divided]
        outdated = [query for query in gaps if query in values.outdated and query not in divided]
        left_out = [query for query in gaps if query not in divided and query not in outdated]
        kinds = (
            ("people left out", left_out, "Label the drawn queries in their order"),
            ("people are divided about", divided, "Let another person label them"),
            ("people labelled earlier texts of", outdated, "Label them again"),
        )
        drawn = f"of the first {len(self.reached):,} that were drawn ({{}})"
        for what, queries, hint in kinds:
            text = f"{what} {plural(len(queries), 'query')} {drawn}"
            why = f"{hint}: if the hard ones are left out, the mean is wrong."
            yield from _checked("left-out", measure, text, queries, len(self.reached), why, place, len(gaps))


def _checked(
    code: str, measure: str, what: str, queries: Sequence[str], of: int, hint: str, place: str, more: int = 0
) -> Iterator[_WithoutValue]:
    """These queries, with what is said about them and their share; an error if they, or `more`, are too many."""
    if not queries:
        return
    what = what.format(percent(len(queries) / of))
    if max(len(queries), more) / of > _MOST_WITHOUT:
        raise KaratError(f"{measure} cannot be corrected: {what}: {first_few(queries)}", place=place, hint=hint)
    yield _WithoutValue(code, what, tuple(queries))
