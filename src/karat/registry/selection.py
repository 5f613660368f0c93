"""From the names a user lists to the measures to compute."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

from karat.errors import KaratError, did_you_mean, enumeration, plural, require, shown
from karat.errors.arguments import is_list_like
from karat.registry.measure import Measure, Subject
from karat.registry.names import parse_name
from karat.registry.peers import LISTS_IN_TREC_EVAL, IrMeasure, by_name, expand_names
from karat.registry.registry import is_name_of_measure, meanings, parse

Measures = str | Measure | IrMeasure | Iterable[str | Measure | IrMeasure]
Selection = Mapping[Measure, Sequence[str]]
"""The measures to compute, each with the names by which it was asked for, in this order."""
Rubrics = Mapping[str, Measure]
"""The measures of rubrics, by the name of the rubric."""

DEFAULT_MEASURES = ("nDCG@10", "AP", "RR", "P@10", "R@100")
DEFAULT_ANSWER_MEASURES = ("EM(normalize=true)", "TokenF1", "RougeL", "Contains")

_CUTOFFS = (5, 10)  # of lists of less than ten documents, and of ten
_HINT = "Measures are named like nDCG@10 or TokenF1."
_USE_INSTEAD = {
    "answers": "Use evaluate_answers (`karat answers`), or evaluate results that contain answers.",
    "documents": "Use evaluate (`karat evaluate`).",
    "preferences": "Use `karat trec -R prefs` (preferences) or `-R qrels_prefs` (qrels).",
    "verdicts": "Pass labels with the answers: evaluate_results(..., verdicts=...), or `karat evaluate results.jsonl"
    " --verdicts FILE`.",
}


def default_measures(longest: int) -> tuple[tuple[str, ...], str | None]:
    """The measures of the documents of logs, with cut-offs that fit the longest list, and a note if they are not usual.

    >>> default_measures(4)
    (('nDCG@5', 'AP', 'RR', 'P@5', 'R@5'), 'the cut-offs are 5, because no list has more than 4 documents')
    """
    if longest > max(_CUTOFFS):
        return DEFAULT_MEASURES, None
    cutoff = max(_CUTOFFS) if longest == max(_CUTOFFS) else min(_CUTOFFS)
    note = f"the cut-offs are {cutoff}, because no list has more than {plural(longest, 'document')}"
    return _with_cutoff(cutoff), note


def default_measures_among(columns: Collection[str]) -> tuple[str, ...] | None:
    """The measures of documents, with any cut-offs that are defaults, if these columns have all of them."""
    choices = (DEFAULT_MEASURES, *map(_with_cutoff, _CUTOFFS))
    return next((names for names in choices if all(name in columns for name in names)), None)


def _with_cutoff(cutoff: int) -> tuple[str, ...]:
    return tuple(f"{name.partition('@')[0]}@{cutoff}" if "@" in name else name for name in DEFAULT_MEASURES)


def select_measures(
    measures: Measures,
    rel: float | None = None,
    subjects: Sequence[Subject] = ("documents",),
    rubrics: Rubrics = MappingProxyType({}),
) -> Selection:
    """The measures with these names, with `rel` set for those whose name does not set it.

    `subjects` lists what there is to evaluate: documents, answers, or both. `rubrics` are names that the labels define.
    """
    selected: dict[Measure, dict[str, None]] = {}
    for named in dict.fromkeys(listed_measures(measures)):
        measure = _select(named, rel, subjects, rubrics)
        selected.setdefault(measure, {})[str(named)] = None
    example = DEFAULT_ANSWER_MEASURES[1] if subjects == ("answers",) else DEFAULT_MEASURES[0]
    require(selected, "no measures were given", f"Name at least one, for example {example}.")
    return {measure: tuple(names) for measure, names in selected.items()}


def asked_names(selection: Selection) -> dict[str, str]:
    """The names by which measures were asked for, and the canonical name of each.

    >>> asked_names(select_measures(["map", "P@5"], rel=2))
    {'map': 'AP(rel=2)', 'P@5': 'P(rel=2)@5'}
    """
    return {asked: str(measure) for measure, names in selection.items() for asked in names}


def notes_on_names(selection: Selection) -> list[str]:
    """Sentences about names that mean something else in trec_eval.

    >>> notes_on_names(select_measures(["success", "recall_5"]))
    ['success is Success of all retrieved documents; in trec_eval, it is success_1,5,10']
    """
    return [
        f"{name} is {measure} of all retrieved documents; in trec_eval, it is {name}_{LISTS_IN_TREC_EVAL[name]}"
        for measure, names in selection.items()
        for name in dict.fromkeys(parse_name(asked).name for asked in names)
        if name in LISTS_IN_TREC_EVAL and measure.cutoff is None and subject_of(measure) == "documents"
    ]


def listed_measures(measures: Measures) -> list[str | Measure]:
    """Measures one by one. Each of those given may be a measure, or a text with the names of several.

    >>> listed_measures(["nDCG@1,5", "AP"])
    ['nDCG@1', 'nDCG@5', 'AP']
    """
    if isinstance(measures, str):
        return list(expand_names(measures))
    listed: list[str | Measure] = []
    for measure in measure_list(measures):
        names = [measure] if isinstance(measure, Measure) else expand_names(measure)
        if not names:
            raise KaratError(f"{shown(measure)} is not a measure", hint=_HINT)
        listed += names
    return listed


def measure_list(measures: Measures) -> list[str | Measure]:
    """Measures, and texts with the names of one or several, as a list."""
    single = by_name(measures)
    if isinstance(single, str | Measure):
        return [single]
    if not is_list_like(single):
        raise KaratError(f"{shown(single)} is not a measure", hint=_HINT)
    listed = list(map(by_name, single))
    for measure in listed:
        if not isinstance(measure, str | Measure):
            raise KaratError(f"{shown(measure)} is not a measure", hint=_HINT)
    # A set of texts has another order in each process.
    return sorted(listed, key=str) if isinstance(measures, set | frozenset) else listed


def subject_of(measure: Measure) -> Subject:
    """Whether a measure evaluates documents, preferences, answers or verdicts."""
    return measure.definition.subject


def of_subject(measures: Selection, subject: Subject) -> Selection:
    """The measures that evaluate documents, answers or verdicts."""
    return {measure: names for measure, names in measures.items() if subject_of(measure) == subject}


def reject_without_labels(measure: Measure) -> None:
    """Reject a measure that needs labels, where there are none."""
    if measure.needs_labels:
        what = f"{measure} is computed from labels of answers, and there are none"
        raise KaratError(what, hint=_USE_INSTEAD["verdicts"])


def possible_measures(name: str, rubrics: Rubrics = MappingProxyType({})) -> list[Measure]:
    """The measures that a name can mean: that of a rubric, or those of the registry; an error if there are none."""
    if name in rubrics:
        hint = f"Write {rubrics[name]}, or give the rubric another name."
        require(not is_name_of_measure(name), f"{name} is the name of a measure, and also of a rubric", hint)
        return [rubrics[name]]
    if known := meanings(name):
        return known
    if (near := did_you_mean(name, rubrics)) and not is_name_of_measure(name):
        others = f" The rubrics are {enumeration([*rubrics], 'and')}." if len(rubrics) > 1 else ""
        raise KaratError(f"unknown measure {shown(name)}", hint=f"{near}{others}")
    return [parse(name)]


def _select(named: str | Measure, rel: float | None, subjects: Collection[Subject], rubrics: Rubrics) -> Measure:
    measure = named.check() if isinstance(named, Measure) else _parse_for(str(named), subjects, rubrics)
    subject = subject_of(measure)
    if "verdicts" not in subjects:
        reject_without_labels(measure)
    if subject not in subjects:
        hint = _USE_INSTEAD[subject]
        if subject == "verdicts":  # one that needs no labels
            hint = "Use evaluate_results (`karat evaluate results.jsonl`)."
        what = "generated answers" if subject == "verdicts" else subject
        raise KaratError(f"{measure} measures {what}, not {' and '.join(subjects)}", hint=hint)
    if rel is None:
        return measure
    # `AP(rel=1)` is the measure AP, because defaults are left out of the settings, but its name sets rel.
    sets_rel = "rel" in dict(measure.settings) or (isinstance(named, str) and "rel" in parse_name(named).parameters)
    return measure if sets_rel else with_level(measure, rel)


def with_level(measure: Measure, rel: float) -> Measure:
    """The measure with this lowest relevant grade, if it has one."""
    parameter = measure.definition.parameters.get("rel")
    # In graded measures, `rel` has another meaning, and its default is not 1.
    is_threshold = parameter is not None and (parameter.help.is_threshold or parameter.default == 1)
    return measure(rel=rel) if is_threshold else measure


def _parse_for(name: str, subjects: Collection[Subject], rubrics: Rubrics) -> Measure:
    """The measure with this name; if it means several, the one that fits the subjects."""
    if len(subjects) == 1 and name not in rubrics and (meanings(name) or not rubrics):
        return parse(name, next(iter(subjects)))
    known = possible_measures(name, rubrics)
    possible = [measure for measure in known if subject_of(measure) in subjects] or known
    if len(possible) > 1:
        which = " or ".join(f"{measure} of {subject_of(measure)}" for measure in possible)
        names = " or ".join(map(str, possible))
        raise KaratError(f"{name} is ambiguous: it can mean {which}", hint=f"Write {names}.")
    return possible[0]
