"""Which measures are meant by their names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from karat.errors import KaratError, shown
from karat.registry.measure import Measure
from karat.registry.names import spelling, split_names
from karat.registry.registry import Subject, meanings, parse

Measures = str | Measure | Iterable[str | Measure]

DEFAULT_MEASURES = ("nDCG@10", "AP", "RR", "P@10", "R@100")
DEFAULT_ANSWER_MEASURES = ("EM(normalize=true)", "TokenF1", "RougeL", "Contains")

_ELSEWHERE = {
    "answers": "Answers are evaluated by evaluate_answers (`karat answers`), or with the results that hold them.",
    "documents": "Documents are evaluated by evaluate (`karat evaluate`).",
}


def chosen_measures(
    measures: Measures, rel: float | None = None, subjects: Sequence[Subject] = ("documents",)
) -> list[Measure]:
    """The measures meant by names, each once, with the threshold set where it is left open.

    `subjects` are what is there to be evaluated: documents, answers, or both.
    """
    chosen = [_chosen(measure, rel, subjects) for measure in asked_for(measures)]
    if not chosen:
        example = DEFAULT_ANSWER_MEASURES[1] if subjects == ("answers",) else DEFAULT_MEASURES[0]
        raise KaratError("no measure was asked for", hint=f"Ask for one, for example {example}.")
    return list(dict.fromkeys(chosen))


def asked_for(measures: Measures) -> list[str | Measure]:
    """The measures of a list, or of a text that has several of them, as they are asked for."""
    if isinstance(measures, Measure):
        return [measures]
    if isinstance(measures, str):
        return list(split_names(measures))
    if not isinstance(measures, Iterable):
        raise KaratError(f"{shown(measures)} is no measure", hint="Measures are names, such as nDCG@10.")
    return list(measures)


def subject(measure: Measure) -> Subject:
    """What a measure is of."""
    return "answers" if measure.definition.takes == "answers" else "documents"


def _chosen(asked: str | Measure, rel: float | None, subjects: Collection[Subject]) -> Measure:
    """A measure, with the threshold set if its relevance is binary and its name does not say one."""
    measure = asked.check() if isinstance(asked, Measure) else _meant(str(asked), subjects)
    if subject(measure) not in subjects:
        raise KaratError(f"{measure} is a measure of {subject(measure)}", hint=_ELSEWHERE[subject(measure)])
    # A threshold that is the default is left out of the settings, but a name that gives it has said it.
    says_it = "rel" in dict(measure.settings) or (isinstance(asked, str) and "rel" in spelling(asked).parameters)
    parameter = measure.definition.parameters.get("rel")
    # Graded measures that take `rel` have another default than 1, and no threshold of relevance to set.
    takes_it = parameter is not None and parameter.default == 1
    return measure(rel=rel) if rel is not None and takes_it and not says_it else measure


def _meant(name: str, subjects: Collection[Subject]) -> Measure:
    """The measure of a name, of those that go by it the one that there is something for."""
    if len(subjects) == 1:
        return parse(name, next(iter(subjects)))
    known = meanings(name) or [parse(name)]
    possible = [measure for measure in known if subject(measure) in subjects] or known
    if len(possible) > 1:
        which = " and ".join(f"{measure} of {subject(measure)}" for measure in possible)
        names = " or ".join(map(str, possible))
        raise KaratError(f"{name} is {which}, and both are there", hint=f"Write {names}.")
    return possible[0]
